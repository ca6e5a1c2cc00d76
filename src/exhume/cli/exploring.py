"""The explorer's view of a target, and its records as tables.

`exhume explore` serves a page (`exhume.view`) that shows an archive.  The page has a table of records, or of those that
match a query.  They come from the format's own `cat` or `search`, which runs in a thread and pauses until the page
requests more (`_Cursor`).
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import click

from exhume.archive import Archive, MemberArchive
from exhume.cli.formatcli import contributed, format_cli, split_options
from exhume.cli.runtime import Run
from exhume.engines.identify import EVIDENT, identify_source
from exhume.errors import EntryNotFoundError, QueryError, UnrecognizedFormatError, shorten
from exhume.io.jsonout import jsonable
from exhume.io.source import Source, StoppedError
from exhume.io.tree import Tree, stoppable
from exhume.recovery import CarvedArchive
from exhume.registry import Format, get_format
from exhume.view.explored import PATIENCE, ExploredArchive
from exhume.view.server import ExploredImage

MOST_COLUMNS = 60  # of a table of records
LONGEST_CELL = 400  # characters
MOST_PAGES = 40
"""Pages of a table of records that are kept, so that going back does not search again."""

# The placeholder of the query field, by format: the kind of query.
HINTS = {
    "clp-s": "KQL, for example level: ERROR",
    "kv-ir": "KQL, for example level: ERROR",
    "clp-ir": "KQL, for example message: *failed*",
    "zs": "prefix",
    "leveldb": "key prefix",
    "ark": "topic, for example /robot/*",
}
"""For archives of members it is a pattern of names."""


def explored(
    run: Run, target: str, *, verifies: bool, image: bool, ksy: str | None, imports: tuple[str, ...]
) -> ExploredArchive:
    """Return what the page shows of a target: an archive, a file with its specification, or an image to search for
    archives.

    `image`, `ksy` and `imports` are the options of `exhume explore`; `verifies`: whether to verify without a request.
    Raises `UnrecognizedFormatError` for a directory of no known format, and `click.UsageError` for one as an image.
    """
    if ksy is not None:
        from exhume.layout.foreign import SpecifiedFile, compile_ksy
        from exhume.layout.ksy_files import one_file

        specification = compile_ksy(ksy, imports=imports)
        return ExploredArchive(SpecifiedFile(one_file(run.take_source(target)), specification), name=target)
    try:
        described = None if image else get_format(run.format_of(target))
    except UnrecognizedFormatError:
        if isinstance(run.source(target), Tree):
            raise
        run.note(f"{target}: format not recognized: it is searched for archives, as a disk image is")
        described = None
    # An image; a remote one is verified on request only, as that reads all of it.
    if described is None:
        source = run.take_source(target, is_image=True)
        if isinstance(source, Tree):
            source.close()
            raise click.UsageError("--image needs a file (a disk image, a dump), not a directory")
        return ExploredImage(source, limits=run.limits, verifies=verifies and not source.is_remote)
    # An archive, under the same rule.
    _note_doubt(run, target)
    opened = run.inspect(target)
    local = not (isinstance(opened.source, Source) and opened.source.is_remote) and "://" not in target
    rows = Records(run, opened.source, described)
    return ExploredArchive(opened, name=target, rows=rows, verifies=verifies and local)


def _note_doubt(run: Run, target: str) -> None:
    """Say on standard error that a file is only similar to its format: an image may contain part of an archive."""
    source = run.source(target)
    if run.as_format is None and isinstance(source, Source) and not source.is_remote:
        best = next(iter(identify_source(source)), None)
        if best is not None and best.confidence < EVIDENT:
            run.note(f"taken for {best.format} ({best.confidence:.0%} sure): --image searches it for archives instead")


def opener(run: Run, shown: ExploredArchive) -> Callable[[CarvedArchive], ExploredArchive] | None:
    """Return a function that opens an archive found in an image; None if `shown` is not an image."""
    if not isinstance(shown, ExploredImage):
        return None

    def open_carved(carved: CarvedArchive) -> ExploredArchive:
        """Open an archive found in the image, as a page of its own."""
        from exhume.engines.inspect import Inspection

        image = shown.source(0)
        source = image.window(carved.offset - image.origin, carved.end - image.origin)
        described = get_format(carved.format)
        opened = Inspection(source, described, limits=run.limits)
        name = f"{shown.name} at {carved.offset}"
        return ExploredArchive(opened, name=name, rows=Records(run, source, described), verifies=bool(shown.verifies))

    return open_carved


POLL = 0.2
"""Seconds after which a search looks whether anyone still waits for it."""


def _never() -> bool:
    """The client is still there (the default of `gone`)."""
    return False


class _Cursor:
    """The items of a search, which runs in a thread of its own, and only as far as they are requested."""

    def __init__(self, search: Callable[[Callable[[Any], None]], None]) -> None:
        """Start the thread; `search` is called there with the function that takes each item."""
        self._changed = threading.Condition()  # guards what follows, and signals its changes
        self._waiting: deque[Any] = deque()  # items that were found and not yet requested
        self._wanted = 0  # items the search may still put before it pauses
        self._asking = 0  # calls of `page` that are running
        self._ended = self._resting = False  # the search is over; it pauses until more is wanted
        self.closed = False
        """Whether the search was stopped, or will be at its next item or read."""
        self._error: Exception | None = None  # that ended the search
        self._turn = threading.Lock()  # one page at a time
        self._at = 0  # number of the first item in `_waiting`
        self.thread = threading.Thread(target=self._run, args=(search,), daemon=True)
        self.thread.start()

    def _run(self, search: Callable[[Callable[[Any], None]], None]) -> None:
        """Run the search, and keep its error for the caller of the next page."""
        try:
            self._wait_for_demand()
            search(self._put)
        except StoppedError:
            pass
        except click.UsageError as error:
            self._error = QueryError(error.message)
        except Exception as error:  # raised again where the item is requested
            self._error = error
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _put(self, item: Any) -> None:
        """Add an item to those that were found, then pause until more are wanted; called by the search's thread."""
        with self._changed:
            self._wanted -= 1
            self._waiting.append(item)
            self._changed.notify_all()
        self._wait_for_demand()

    def _wait_for_demand(self) -> None:
        """Wait until more items are wanted.  Raises `StoppedError` once the cursor is closed, which ends the search."""
        with self._changed:
            self._resting = True
            while self._wanted <= 0 and not self.closed:
                self._changed.wait()
            self._resting = False
            if self.closed:
                raise StoppedError

    def _wait_for_items(self, count: int, gone: Callable[[], bool]) -> bool:
        """Wait until `count` items are there or the search ends; return whether there are that many.

        Raises `QueryError` if `gone` reports that the client left.
        """
        with self._changed:
            self._wanted = max(0, count - len(self._waiting))
            self._changed.notify_all()
            while len(self._waiting) < count and not self._ended and not self.closed:
                if not self._changed.wait(POLL) and gone():
                    if self._asking == 1:  # no other page waits for the same search
                        self.close()
                    raise QueryError("the page no longer waits for this search")
            if self.closed:
                raise QueryError("another search began")
            return len(self._waiting) >= count

    def page(self, first: int, count: int, gone: Callable[[], bool] = _never) -> tuple[list[Any], bool] | None:
        """Return `count` items from number `first` on, and whether there are more; None if `first` was passed already.

        Propagates the error of the search.

        The search is stopped, and `QueryError` raised, once `gone()` says that no one waits for the items.
        """
        with self._changed:
            self._asking += 1
        try:
            return self._page(first, count, gone)
        finally:
            with self._changed:
                self._asking -= 1

    def _page(self, first: int, count: int, gone: Callable[[], bool]) -> tuple[list[Any], bool] | None:
        """Return items `[first, first + count)` and whether there are more; None if they were passed already.

        Raises the error of the search, and `QueryError` if `gone` reports that the client left.
        """
        with self._turn:
            if first < self._at:
                return None
            while self._at < first and self._wait_for_items(1, gone):  # skip items
                self._waiting.popleft()
                self._at += 1
            full = self._wait_for_items(count, gone)
            if self._error is not None and not self._waiting:
                raise self._error
            # After an error there is "more": the next page raises it.
            more = self._wait_for_items(count + 1, gone) or self._error is not None
            rows = [self._waiting.popleft() for _ in range(count if full else len(self._waiting))]
            self._at += len(rows)
            return rows, more

    def close(self) -> bool:
        """Let the search end at its next item or read; return whether it is not reading: its archive is usable then."""
        with self._changed:
            self.closed = True
            self._changed.notify_all()
            return self._ended or self._resting


class _Window(Run):
    """A `Run` (the output and options of a verb) that passes items to a cursor instead of printing them."""

    def __init__(self, arguments: Mapping[str, Any], put: Callable[[Any], None]) -> None:
        """Take the arguments of another `Run`; `put` gets each item."""
        super().__init__(**{**arguments, "json": True, "ndjson": False, "quiet": True})
        self._put = put

    def items(self, verb: str, head: Mapping[str, Any], key: str, items: Iterable[Any]) -> None:
        """Pass each item to the cursor, in place of printing it."""
        for item in items:
            self._put(_record(item))

    def document(self, verb: str, body: Mapping[str, Any]) -> None:
        """Print nothing."""

    def note(self, text: str) -> None:
        """Say nothing."""


class Records:
    """The records of an archive, or its members, as tables of those that match a query.

    The next page continues where the last one ended; the pages before are kept, `MOST_PAGES` of them.  A new query ends
    the search for the one before, at once: its next read fails.
    """

    def __init__(self, run: Run, source: Source | Tree, described: Format) -> None:
        """Prepare to read the rows of an archive of the format `described`; nothing is opened yet."""
        self._run, self._source, self._described = run, source, described
        self._archive: Archive | None = None  # opened by the first search, None after one was stopped while it read
        self._stop = threading.Event()  # set: the next read of the current archive fails
        self._lock = threading.Lock()  # guards the members below
        self._query = ""
        self._cursor: _Cursor | None = None  # items of the search for `_query`
        self._pages: OrderedDict[tuple[int, int], dict[str, Any]] = OrderedDict()  # (first, count): table, oldest first

    def __call__(self, query: str, first: int, count: int, gone: Callable[[], bool] = _never) -> dict[str, Any]:
        """Return rows `[first, first + count)` of the matches, as a table for the page.

        Raises `QueryError` for a wrong query, and propagates errors of reading. The search ends once `gone()` reports
        that the client left.
        """
        with self._lock:
            cursor = self._cursor
            if cursor is None or query != self._query:
                self._pages.clear()
                cursor = self._begin(query)
            elif (known := self._pages.get((first, count))) is not None:
                return known
            elif cursor.closed:
                cursor = self._begin(query)
        found = self._page(cursor, first, count, gone)
        if found is None:  # a page that is no longer kept
            with self._lock:
                cursor = self._begin(query)
            # (None again: another request has passed these rows meanwhile.)
            found = self._page(cursor, first, count, gone) or ([], False)
        hint = "name, for example *.txt" if self._described.content == "members" else HINTS.get(self._described.id, "")
        rows, more = found
        table = _table(rows, first, more, hint)
        with self._lock:
            if cursor is self._cursor:
                self._pages[first, count] = table
                while len(self._pages) > MOST_PAGES:
                    self._pages.popitem(last=False)
        return table

    def _page(self, cursor: _Cursor, first: int, count: int, gone: Callable[[], bool]) -> tuple[list[Any], bool] | None:
        """Return rows `[first, first + count)` and whether more follow; forget a cursor that was closed meanwhile."""
        try:
            return cursor.page(first, count, gone)
        finally:
            if cursor.closed:
                with self._lock:
                    self._end(cursor)

    def _begin(self, query: str) -> _Cursor:
        """Start the search for a query and return its cursor; the caller holds the lock."""
        if self._cursor is not None:
            self._end(self._cursor)
        if self._archive is None:
            self._stop = threading.Event()
            source = stoppable(self._source, self._stop.is_set)  # closing it leaves the source open
            self._archive = self._described.hook("open")(source, limits=self._run.limits)
        self._query = query
        self._cursor = _Cursor(partial(self._search, self._archive, query))
        return self._cursor

    def _end(self, cursor: _Cursor) -> None:
        """End a search; the caller holds the lock.

        A search that is reading is stopped inside the read.  Its archive may then be inconsistent and is dropped.
        """
        if not cursor.close() and cursor is self._cursor:
            self._stop.set()
            self._archive = None

    def _search(self, archive: Archive, query: str, put: Callable[[Any], None]) -> None:
        """Pass the records that match `query` (empty: all) to `put`, by the `search` or `cat` of the format."""
        if self._described.content == "members":
            for member in _members(archive, query):
                put(member)
            return
        window = _Window(self._run.arguments, put)
        verb = "search" if query else "cat"
        cli = format_cli(self._described)
        options = cli.verb_options(verb, _defaults(verb, self._described))
        if query and cli.search is not None:
            cli.search(window, [archive], query, options)
        elif cli.cat is not None:
            cli.cat(window, archive, (), options)

    def close(self) -> bool:
        """End the search; return whether its thread has ended within `PATIENCE` seconds."""
        with self._lock:
            cursor = self._cursor
            if cursor is None:
                return True
            self._end(cursor)
            self._cursor = None
        cursor.thread.join(PATIENCE)
        return not cursor.thread.is_alive()


def _defaults(verb: str, described: Format) -> dict[str, Any]:
    """The options of a format's verb as they are when none is given."""
    values = dict.fromkeys(contributed(verb))  # none is given, so that `split_options` takes the defaults
    mine, _ = split_options(click.Context(click.Command(verb)), verb, described, values, frozenset())
    return mine


def _members(archive: Archive, query: str) -> Iterator[dict[str, Any]]:
    """Yield the members whose name contains or matches `query`, all of them if it is empty."""
    if not isinstance(archive, MemberArchive):
        raise EntryNotFoundError("this archive has no members")
    for entry in archive.entries():
        if not query or fnmatchcase(entry.label, query) or query in entry.label:
            yield entry.to_dict()


def _record(item: Any) -> dict[str, Any]:
    """Return the columns of one record: its keys, and its place in the archive.

    The keys are in the item's `record` (or `user`, for KV-IR), unless that is a string or bytes.
    """
    values: dict[str, Any] = dict(jsonable(item))
    values.pop("target", None)  # the same for all records
    key = next((one for one in ("record", "user") if one in values), None)
    if key is None:
        return values
    inner = values.pop(key)
    if isinstance(item[key], Mapping):  # bytes are an object in JSON only
        return {**inner, **{name: one for name, one in values.items() if name not in inner}}
    return values if inner is None else {key: inner, **values}


def _table(rows: list[dict[str, Any]], first: int, more: bool, hint: str) -> dict[str, Any]:
    """Return rows of different keys as a table of at most `MOST_COLUMNS` columns, in order of first appearance.

    `first` is the number of the first row, `more` whether others follow, `hint` the placeholder of the query field.
    """
    columns = list(dict.fromkeys(name for row in rows for name in row))[:MOST_COLUMNS]
    return {
        "columns": columns,
        "rows": [[_cell(row.get(name)) for name in columns] for row in rows],
        "first": first,
        "more": more,
        "hint": hint,
    }


def _cell(value: Any) -> Any:
    """A value as a number or text."""
    if isinstance(value, dict) and "text" in value and value.keys() <= {"text", "base64"}:  # bytes in JSON
        value = value["text"]
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value if len(value) <= LONGEST_CELL else value[: LONGEST_CELL - 1] + "…"
    from exhume.io.jsonout import dumps

    return shorten(dumps(value), LONGEST_CELL)
