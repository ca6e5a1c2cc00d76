"""What the explorer shows of a target, and its records as tables, by the `cat` and `search` of its format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any

import click

from exhume.archive import Archive, MemberArchive
from exhume.cli.formatcli import contributed, format_cli, split_options
from exhume.cli.runtime import Run
from exhume.errors import EntryNotFoundError, QueryError, UnrecognizedFormatError, shorten
from exhume.io.jsonout import jsonable
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.recovery import CarvedArchive
from exhume.registry import Format, get_format
from exhume.view.explored import Explored, Rows
from exhume.view.image import ExploredImage

MOST_COLUMNS = 60
LONGEST_CELL = 400

HINTS = {
    "clp-s": "KQL, for example level: ERROR",
    "kv-ir": "KQL, for example level: ERROR",
    "clp-ir": "KQL, for example message: *failed*",
    "zs": "prefix",
    "leveldb": "key prefix",
    "ark": "topic, for example /robot/*",
}
"""What a query is, by format; of members it is a pattern of names."""


def explored(
    run: Run, target: str, *, verifies: bool, image: bool, ksy: str | None, imports: tuple[str, ...]
) -> Explored:
    """What is shown of a target: an archive, a file by a specification, or an image in which archives are found.

    Raises `UnrecognizedFormatError` for a directory of no known format, and `click.UsageError` for one as an image.
    """
    if ksy is not None:
        from exhume.layout.foreign import SpecifiedFile, compile_ksy
        from exhume.layout.ksy_files import one_file

        specification = compile_ksy(ksy, imports=imports)
        return Explored(SpecifiedFile(one_file(run.take_source(target)), specification), name=target)
    try:
        described = None if image else get_format(run.format_of(target))
    except UnrecognizedFormatError:
        if isinstance(run.source(target), Tree):
            raise
        described = None
    if described is None:
        source = run.take_source(target, is_image=True)
        if isinstance(source, Tree):
            source.close()
            raise click.UsageError("--image needs a file (a disk image, a dump), not a directory")
        return ExploredImage(source, limits=run.limits, verifies=verifies and not source.is_remote)
    opened = run.inspect(target)
    local = not (isinstance(opened.source, Source) and opened.source.is_remote) and "://" not in target
    rows = rows_of(run, opened.source, described)
    return Explored(opened, name=target, rows=rows, verifies=verifies and local)


def opener(run: Run, shown: Explored) -> Callable[[CarvedArchive], Explored] | None:
    """What opens an archive that was found in an image; None for anything else."""
    if not isinstance(shown, ExploredImage):
        return None

    def open_carved(carved: CarvedArchive) -> Explored:
        from exhume.engines.inspect import Inspection

        image = shown.source(0)
        source = image.window(carved.offset - image.origin, carved.end - image.origin)
        described = get_format(carved.format)
        opened = Inspection(source, described, limits=run.limits)
        name = f"{shown.name} at {carved.offset}"
        return Explored(opened, name=name, rows=rows_of(run, source, described), verifies=bool(shown.verifies))

    return open_carved


class _Window(Run):
    """A run whose items are not printed: some of them, from one on, are kept."""

    def __init__(self, arguments: Mapping[str, Any], first: int, count: int) -> None:
        super().__init__(**{**arguments, "json": True, "ndjson": False, "quiet": True})
        self._first, self._count = first, count
        self.kept: list[Any] = []
        self.more = False

    def items(self, verb: str, head: Mapping[str, Any], key: str, items: Iterable[Any]) -> None:
        rows = islice(items, self._first, self._first + self._count + 1)
        self.kept = list(rows)
        self.more = len(self.kept) > self._count
        del self.kept[self._count :]

    def document(self, verb: str, body: Mapping[str, Any]) -> None:
        """Print nothing."""

    def note(self, text: str) -> None:
        """Say nothing."""


def rows_of(run: Run, source: Source | Tree, described: Format) -> Rows:
    """The records of an archive, or its members, as tables of what matches a query."""
    opened: list[Archive] = []

    def archive() -> Archive:
        if not opened:
            opened.append(described.hook("open")(source, limits=run.limits))
        return opened[0]

    def rows(query: str, first: int, count: int) -> dict[str, Any]:
        if described.content == "members":
            found = _members(archive(), query)
            kept = list(islice(found, first, first + count + 1))
            return _table(kept[:count], first, len(kept) > count, "name, for example *.txt")
        window = _Window(run.arguments, first, count)
        verb = "search" if query else "cat"
        options = _defaults(verb, described)
        cli = format_cli(described)
        try:
            if query:
                cli.search(window, [archive()], query, options)
            else:
                cli.cat(window, archive(), (), options)
        except click.UsageError as error:
            raise QueryError(error.message) from error
        return _table([_record(one) for one in window.kept], first, window.more, HINTS.get(described.id, ""))

    return rows


def _defaults(verb: str, described: Format) -> dict[str, Any]:
    """The options of a format's verb as they are when none is given."""
    values = dict.fromkeys(contributed(verb))
    return split_options(click.Context(click.Command(verb)), verb, described, values, frozenset())[0]


def _members(archive: Archive, query: str) -> Iterator[dict[str, Any]]:
    if not isinstance(archive, MemberArchive):
        raise EntryNotFoundError("this archive has no members")
    for entry in archive.entries():
        if not query or fnmatchcase(entry.label, query) or query in entry.label:
            yield entry.to_dict()


def _record(item: Any) -> dict[str, Any]:
    """The columns of one record: its keys, and where it is."""
    values = dict(jsonable(item))
    values.pop("target", None)
    for key in ("record", "user"):
        inner = values.pop(key, None)
        if isinstance(inner, dict) and not inner.keys() <= {"text", "base64"}:
            values = inner | {name: one for name, one in values.items() if name not in inner}
        elif inner is not None:
            values = {key: inner, **values}
    return values


def _table(rows: list[dict[str, Any]], first: int, more: bool, hint: str) -> dict[str, Any]:
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
    if isinstance(value, dict) and "text" in value and value.keys() <= {"text", "base64"}:
        value = value["text"]
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value if len(value) <= LONGEST_CELL else value[: LONGEST_CELL - 1] + "…"
    from exhume.io.jsonout import dumps

    return shorten(dumps(value), LONGEST_CELL)
