"""The checks of `verify` for streams (tables that are compressed together) and tables, as tasks that run in parallel.

A window is a block of rows of a large table, decompressed and checked on its own; `rows.window(columns)` decodes one.
`TableWindows.call` returns None if the table has to be read as a whole.

Spec: clp_s.txt, Files section; the rules are in `checks`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from operator import le
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from exhume.codecs import zstd
from exhume.counts import counted
from exhume.errors import CodecError, ExhumeError, LimitExceededError
from exhume.findings import Finding
from exhume.formats.clp_s import checks
from exhume.formats.clp_s.layout import NodeType
from exhume.formats.clp_s.read import windows as table_windows
from exhume.formats.clp_s.read.blocks import TableWindows
from exhume.formats.clp_s.read.tables import Tables
from exhume.formats.clp_s.read.windows import has_windows, is_large, is_too_large
from exhume.formats.clp_s.verify_values import bounds, order
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.formats.clp_s.read.places import StoredRange
    from exhume.formats.clp_s.read.tables import Table, TableArchive, TableData
    from exhume.formats.clp_s.read.template import SchemaLayout
    from exhume.formats.clp_s.read.windows import WindowRows
    from exhume.formats.clp_s.verify_values import SmallTables
    from exhume.limits import Limits


T = TypeVar("T")

CHECKED = frozenset(
    {
        NodeType.VAR_STRING,
        NodeType.DICTIONARY_FLOAT,
        NodeType.CLP_STRING,
        NodeType.UNSTRUCTURED_ARRAY,
        NodeType.DATE_STRING,
        NodeType.TIMESTAMP,
    }
)
"""Types of columns whose values may be wrong: ids, offsets and patterns.  Any bytes are a valid number or boolean."""


class Task(NamedTuple):
    """A unit of work that can run in parallel with others, and the number of records it completes."""

    work: Callable[[], Iterable[Finding]]
    records: int = 0


def check_table_list(archive: TableArchive, tables: Sequence[Table]) -> Iterator[Finding]:
    """Yield a finding if there are no tables, and for each one whose stream comes before that of the previous table."""
    if not tables:
        yield checks.NO_TABLES.finding(span=archive.section_span("/table_metadata"))
    ids = tables.entries.stream_ids if isinstance(tables, Tables) else None
    if ids is not None and all(map(le, ids, islice(ids, 1, None))):  # in order: no `Table` has to be made
        return
    previous = 0  # the highest number of a stream so far
    for table in tables:
        if table.entry.stream_id < previous and table.entry.problem is None:
            yield checks.STREAM_ORDER.finding(
                span=archive.section_span("/table_metadata"), field_path=f"tables[{table.index}].stream_id"
            )
        previous = max(previous, table.entry.stream_id)


def check_stream(archive: TableArchive, index: int, quick: bool) -> Iterator[Finding]:
    """Check that a stream consists of complete zstd frames and has the stated size.  With `quick`, only its place.

    The fast ways (the frames as shared with other checks, or one frame decoded in one call) can only confirm a stream.
    If they do not, `check_frames` finds the fault.
    """
    stream = archive.table_metadata.streams[index]
    try:
        place = archive.stream_place(index)
        span = place.span
        if index == 0 and stream.offset:
            yield checks.BAD_STREAM_OFFSET.finding(
                "stream 0 does not start the section", span=span, expected=0, actual=stream.offset
            )
        if quick or place.is_cut or not place.size:
            return
        parts = archive.stream_parts(index, whole=True)
        if parts is not None and parts.is_small:
            with suppress(CodecError):  # reported below
                parts.take()
                return
        if place.size <= archive.limits.payload_size and stream.size <= archive.limits.payload_size:
            stored = archive.fetched(place)
            payload = zstd.zstd_whole(stored, max_size=archive.limits.payload_size)
            if payload is not None and len(payload) == stream.size:
                archive.keep_stream(index, payload)
                return
            del payload, stored
    except ExhumeError as error:
        yield Finding.from_error(error)
        return
    size = yield from check_frames(f"stream {index}", place, archive.limits)
    if size is not None and size != stream.size:
        yield checks.BAD_STREAM_SIZE.finding(
            f"stream {index}", span=span, expected=counted(stream.size, "bytes"), actual=counted(size, "bytes")
        )


def check_frames(name: str, place: StoredRange, limits: Limits) -> Generator[Finding, None, int | None]:
    """Check the zstd frames stored at a place, up to the first that does not decode.

    Returns the decompressed size of those before it; None when there are none, or more than the limit.
    """
    last = size = 0  # of the frames that decode: where they end, and their decompressed size
    most = limits.expansion_budget(place.size)
    try:
        for stop, part in zstd.zstd_measured(place.source.chunks(place.start, place.end)):
            last, size = stop, size + part
            if size > most:
                yield checks.TOO_LARGE.finding(
                    f"{name} (raise the limit expansion)", span=place.span, expected=f"at most {counted(most, 'bytes')}"
                )
                return None
    except LimitExceededError as error:
        yield checks.TOO_LARGE.finding(f"{name}: {error.message}", span=place.span, expected=error.expected)
        return None
    except ExhumeError as error:
        if not last:
            yield checks.BAD_FRAME.finding(f"{name}: {error.message}", span=place.span, actual=error.actual)
            return None
        yield checks.TRAILING_PAYLOAD.finding(f"{name}: not a zstd frame", span=place.part(last).span)
    return size


class SharedLoad(Generic[T]):
    """Data that several tasks need: loaded by the first of them, dropped with the last.

    `share` is called by all tasks that wait for it.
    """

    def __init__(self, load: Callable[[], T], share: Callable[[], object], tasks: int) -> None:
        """Load data once for `tasks` tasks and release it after the last. `share` readies what the data needs."""
        self._load, self._share = load, share
        self._left = tasks
        self._lock = threading.Lock()
        self._data: T | None = None
        self._error: ExhumeError | None = None

    def take(self) -> T:
        """Return the data, for one of the tasks; the first call loads it. Propagates the error of loading to each."""
        if self._data is None and self._error is None:
            self._share()
        with self._lock:
            self._left -= 1
            if self._error is not None:  # do not load again: it failed, which may have taken long
                raise self._error
            if self._data is None:
                try:
                    self._data = self._load()
                except ExhumeError as error:
                    self._error = error
                    raise
            data = self._data
            if not self._left:
                self._data = None
            return data


def table_tasks(table: Table, quick: bool, *, counted: bool) -> Iterator[Task]:
    """Yield the checks of one table, one task per column. `counted`: add its records to the progress."""
    records = table.num_messages if counted else 0
    try:
        columns = checked_columns(table.layout)
    except ExhumeError:
        columns = []  # `_rows` reports the error
    if quick:
        yield Task(partial(_report, _quick_table, table), records)
        return
    if has_windows(table) and is_too_large(table):
        yield Task(partial(_report, _in_windows, table), records)
        return
    loaded = SharedLoad(table.load, table.share, len(columns) + 1)  # a task for each column, and one for the rows
    for index in columns:
        yield Task(partial(_report, _column, loaded, index))
    yield Task(partial(_report, _rows, loaded), records)


def run_tasks(
    tables: Sequence[Table], small: SmallTables, done: Collection[int], tried: Collection[int]
) -> Iterator[Task]:
    """Yield the checks of the tables that are not in the streams `done`; a run of small tables is one task.

    The records of the streams `tried` are not counted, because `WindowedCheck` added them to the progress already.
    """
    entries, rows, offset = small.kernel_tables.entries, small.kernel_tables.rows, small.first
    for first, stop, is_run in small.runs():
        stream = entries.stream_ids[first]
        if stream in done and first not in entries.problems:  # no window has a table with a problem
            continue
        if not is_run:
            yield from table_tasks(tables[first - offset], False, counted=stream not in tried)
            continue
        records = 0 if stream in tried else sum(rows[first:stop])
        yield Task(partial(_odd_tables, tables, small, first, stop), records)


def quick_tasks(tables: Sequence[Table], small: SmallTables) -> Iterator[Task]:
    """Yield the checks of tables that have an impossible place or a schema that may be invalid.

    A last task adds the records of all others to the progress.
    """
    entries, odd = small.kernel_tables.entries, small.odd_schemas()
    records = 0
    for place, index in enumerate(range(small.first, small.first + len(tables))):
        if index in entries.problems or entries.schema_ids[index] in odd or not small.knows(index):
            yield from table_tasks(tables[place], True, counted=True)
        else:
            records += entries.num_messages[index]
    yield Task(tuple, records)  # `tuple()`: no findings


def _odd_tables(tables: Sequence[Table], small: SmallTables, first: int, stop: int) -> Iterator[Finding]:
    """Check a run of small tables: in the kernel first, then those in Python that it found to be odd."""
    for index in small.kernel_tables.odd(first, stop):
        for task in table_tasks(tables[index - small.first], False, counted=False):
            yield from task.work()


def checked_columns(layout: SchemaLayout) -> list[int]:
    """Return the columns whose values may be wrong."""
    return [index for index, kind in enumerate(layout.node_types) if kind in CHECKED]


class _Windows:
    """A large table whose blocks of rows are checked by parallel tasks.

    The last task also checks the rest of its stream, which belongs to no window.
    """

    def __init__(self, table: Table) -> None:
        self._windowed = TableWindows(table)
        self.blocks = list(self._windowed.blocks())
        self._left = len(self.blocks)  # blocks that are not checked
        self._lock = threading.Lock()

    def open(self) -> tuple[()]:
        """Find the frames of the table."""
        self._windowed.get()
        return ()

    def are_sound(self, start: int, stop: int) -> bool:
        """Return whether rows `[start, stop)` have no fault; for the last block, also the rest of the stream.

        Called once for each block, until one has a fault.
        """
        sound = False
        with suppress(ExhumeError):  # raised if the table is too large to be read as a whole
            # With the row before, to check the order of records.
            sound = bool(self._windowed.call(_is_sound, max(0, start - 1), stop))
        with self._lock:
            self._left -= 1
            is_last = not self._left
        windows = self._windowed.get() if sound and is_last else None
        if windows is not None:
            try:
                windows.finish()  # decompresses the frames that no window used
            except CodecError:
                return False
        return sound


def _is_sound(rows: WindowRows) -> bool:
    """Whether a window of rows has no fault."""
    data = rows.window(range(len(rows.layout.nodes)))
    return next(chain(faults(data), bounds(data)), None) is None


def _has_frames(archive: TableArchive, index: int) -> bool:
    """Whether a stream consists of separate frames that can be decompressed one by one."""
    with suppress(ExhumeError):  # reported for the stream
        return archive.stream_frames(index) is not None
    return False


def _large_tables(tables: Sequence[Table]) -> dict[int, list[Table]]:
    """Return the tables of each stream that has only large ones, in order of the streams."""
    found: dict[int, list[Table]] = {}
    others: set[int] = set()
    for table in _possibly_large(tables, others) if isinstance(tables, Tables) else tables:
        if table.entry.problem is None:
            if is_large(table):
                found.setdefault(table.entry.stream_id, []).append(table)
            else:
                others.add(table.entry.stream_id)
    return {index: found[index] for index in sorted(found.keys() - others)}


def _possibly_large(tables: Tables, others: set[int]) -> Iterator[Table]:
    """Yield the tables that may be large, by their own or their stream's size; add the streams of others to `others`.

    No `Table` is made for those, since there may be hundreds of thousands.
    """
    entries, archive = tables.entries, tables.archive
    most = archive.limits.payload_size
    fits_limit = [stream.size <= most for stream in archive.table_metadata.streams]
    columns = (entries.stream_ids, entries.starts, entries.ends)
    for index, (stream, start, end) in enumerate(zip(*columns, strict=True)):
        if end - start < table_windows.WORTHWHILE and stream < len(fits_limit) and fits_limit[stream]:
            if index not in entries.problems:
                others.add(stream)
        else:
            yield tables[index]


class WindowedCheck:
    """Check of streams of large tables, window by window in parallel.  A stream is `done` if all its windows pass.

    Otherwise the caller checks the stream as a whole, which locates the fault.  Streams of remote archives are always
    checked as a whole, because they are fetched in sequence.
    """

    def __init__(self, archive: TableArchive, tables: Sequence[Table]) -> None:
        """Choose the streams to check in windows.

        These have only large tables, without gaps before, between or after them, and separate frames.
        """
        self._streams: dict[int, list[Table]] = {}
        streams = archive.table_metadata.streams
        for index, inside in () if archive.source.cost.wait else _large_tables(tables).items():  # `wait`: it is remote
            stream = streams[index]
            ends = [0, *(table.entry.end for table in inside)]
            is_at_start = index > 0 or stream.offset == 0  # the first stream starts its section
            has_no_gaps = [table.entry.start for table in inside] == ends[:-1] and ends[-1] == stream.size
            if is_at_start and has_no_gaps and _has_frames(archive, index):
                self._streams[index] = inside
        self.tried: Collection[int] = self._streams.keys()
        """The streams that are checked in windows."""
        self._windows = [(index, _Windows(table)) for index, inside in self._streams.items() for table in inside]
        self._unsound: set[int] = set()  # streams with a fault in a window

    def openings(self) -> Iterator[Task]:
        """Tasks to run first: they find the frames of each table, on which all its windows depend."""
        return (Task(windows.open) for _, windows in self._windows)

    def tasks(self) -> Iterator[Task]:
        """A task for each window.  They yield no findings; a fault only keeps its stream out of `done`."""
        for index, windows in self._windows:
            for start, stop in windows.blocks:
                yield Task(partial(self._check, index, windows, start, stop), stop - start)

    def _check(self, stream: int, windows: _Windows, start: int, stop: int) -> tuple[()]:
        """Check a window, unless its stream has a fault already; returns no findings."""
        if stream not in self._unsound and not windows.are_sound(start, stop):
            self._unsound.add(stream)
        return ()

    def done(self) -> Collection[int]:
        """The streams without a fault, once all tasks have run."""
        return self._streams.keys() - self._unsound


def _report(check: Callable[..., Iterable[Finding]], *about: Any) -> Iterator[Finding]:
    """Yield the findings of a check of a table, including the error that ends it."""
    try:
        yield from check(*about)
    except ExhumeError as error:
        yield Finding.from_error(error)


def _quick_table(table: Table) -> Iterable[Finding]:
    """Raise the error of a table whose place or schema is invalid; its rows are not read."""
    if table.entry.problem is not None:
        raise table.entry.problem
    table.layout  # noqa: B018 - raises if the schema is invalid
    return ()


def _column(loaded: SharedLoad[TableData], index: int) -> Iterator[Finding]:
    """Yield the faults in the values of a column."""
    yield from map(Finding.from_error, loaded.take().iter_faults(index))


def _rows(loaded: SharedLoad[TableData]) -> Iterator[Finding]:
    """Yield the faults in the order of the records, and in the ranges that the metadata states."""
    data = loaded.take()
    yield from order(data)
    yield from bounds(data)


def _in_windows(table: Table) -> Iterator[Finding]:
    """Yield the first fault of each column and of the order, for a table that is too large to be loaded."""
    windowed = TableWindows(table)
    reported: set[object] = set()
    for start, stop in windowed.blocks():
        first = max(0, start - 1)
        window = windowed.call(partial(_window_faults, first=first), first, stop)
        if window is None:  # its columns do not fit the table: check the whole to find out which
            try:
                table.load()
            except ExhumeError as error:
                yield Finding.from_error(error)
            return
        for what, finding in window:
            if what not in reported:
                reported.add(what)
                yield finding


def _window_faults(rows: WindowRows, first: int) -> list[tuple[object, Finding]]:
    """Return the faults of a window from row `first` on, each with the column or code by which they are counted."""
    data = rows.window(range(len(rows.layout.nodes)))
    found: list[tuple[object, Finding]] = []
    for index in checked_columns(rows.layout):
        found += ((index, Finding.from_error(error)) for error in data.iter_faults(index))
    return [*found, *((one.code, one) for one in chain(order(data, first), bounds(data)))]


def table_faults(table: Table) -> Iterator[Finding]:
    """Yield a fault in the columns or the order of a table, at most one for each window.  Metadata do not matter.

    Propagates the errors of a table that cannot be read.
    """
    windowed = TableWindows(table)

    def found(rows: WindowRows) -> list[Finding]:
        """The first fault in a window, if any."""
        return list(islice(faults(rows.window(range(len(rows.layout.nodes)))), 1))

    for start, stop in windowed.blocks():
        window = windowed.call(found, max(0, start - 1), stop)
        if window is None:
            yield from faults(table.load())
            return
        yield from window


def faults(data: TableData) -> Iterator[Finding]:
    """Yield the faults in the columns and in the order of loaded rows."""
    for index in checked_columns(data.layout):
        yield from map(Finding.from_error, data.iter_faults(index))
    yield from order(data)
