"""Shared by the table targets: writing batches of `to_arrow` to files, and counting values that a file cannot contain.

A target (CSV, Parquet ...) is a subclass of `TableFile`.  A batch is a `pyarrow.RecordBatch`; `pa` is the module
`pyarrow`, which is imported only when it is needed.  A wide table has more columns than a file can well hold: its rows
are maps (`exhume.tabular.wide`).

One table goes to one file or standard output, several (the channels of an Ark log) into a directory of one file each.
"""

from __future__ import annotations

import contextlib
import io
import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Self

from exhume.archive import Archive, Progress, no_progress
from exhume.errors import WriterError
from exhume.io.jsonout import dumps
from exhume.io.output.atomic import AtomicDirectory, AtomicFile, postponed
from exhume.io.output.stream import binary_output, text_output
from exhume.io.parallel import BackgroundRunner
from exhume.io.processes import map_processes
from exhume.limits import cpu_count
from exhume.tabular import CONTROLS, ESCAPED, ExportReport, escape_controls, wide
from exhume.tabular.arrow import NESTED, import_pyarrow, text_array
from exhume.tuples import NamedTuple

PART_ROWS = 1 << 15  # rows per part of a batch
PART_BYTES = 16 << 20
"""Largest batch from which a process makes a part of a file; the caller handles larger ones."""

MANY = 64
"""Up to this many tables, each has a pass over the archive of its own; more share passes."""

GATHERED = 256 << 20
"""Bytes that tables which share a pass gather together; the largest is then written."""

NO_COLUMNS = "rows without columns"
"""A kind of loss in the report."""

BAD_YEAR = "times outside the years 1 to 9999"
"""A kind of loss in the report: pyarrow prints other years wrongly, from 32768 on as different years."""

_YEARS = range(-62_135_596_800, 253_402_300_800)
"""Seconds since 1970 of the years 1 to 9999."""

_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000}
"""By unit of a timestamp, the number of them in a second.  Nanoseconds of 64 bits cannot leave `_YEARS`."""


class TableFile(ABC):
    """A file of one table: made with the schema, given batches, closed.  `report.lost` counts what it cannot hold.

    With several jobs, calls passed to `background` run while the next batches are made.
    """

    suffix: ClassVar[str]  # of its files, without the dot
    is_text: ClassVar[bool]  # whether standard output gets it as text
    maps: ClassVar[bool] = False
    """Whether it can hold rows as maps (`exhume.tabular.wide`)."""
    at_once: ClassVar[int] = 1
    """Number of tables that may be written in parallel: each keeps a batch, or the data that the target gathers."""
    many_at_once: ClassVar[int] = 256
    """Number for more than `MANY` tables: each further pass over the archive would read all of it again."""
    render: ClassVar[Any] = None
    """Function from a batch to its part of the file, for processes; None if that part depends on the other batches."""

    def __init__(self, pa: Any, file: BinaryIO, schema: Any, report: ExportReport, jobs: int) -> None:
        self.pa: Any = pa
        self.schema: Any = schema
        self.report: ExportReport = report
        self.file: _OutputFile = _OutputFile(file)
        self.background: BackgroundRunner = BackgroundRunner(jobs)

    @abstractmethod
    def write(self, batch: Any) -> None:
        """Add a `pyarrow.RecordBatch`."""

    gathered: int = 0
    """Bytes that are gathered until they are written."""

    def flush(self) -> None:  # noqa: B027 - most targets gather nothing
        """Write what is gathered."""

    @abstractmethod
    def close(self) -> None:
        """Complete the file; what was gathered is of no use when `file` is not open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: object, *exc: object) -> None:
        """Finish the file, or, after an error, close it without writing what would make it look complete."""
        is_whole = False
        try:
            self.background.wait()  # its error came before any other
            is_whole = exc_type is None
        finally:
            self.file.is_open = is_whole  # closing must not write anything that makes a broken file look whole
            self.close()


class _OutputFile(io.RawIOBase):
    """The output as a file for the writers of pyarrow; closing it leaves the output open."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file
        self.is_open = True  # False: further data are ignored

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        return self._file.write(data) if self.is_open else memoryview(data).nbytes


Exporter = Callable[..., ExportReport]


def exporter(kind: type[TableFile]) -> Exporter:
    """The `export` function of a target that writes files of this kind.

    It raises `WriterError` when several tables would go to one stream.
    """

    def export(
        archive: Archive,
        output: str,
        *,
        overwrite: bool = False,
        progress: Progress = no_progress,
        columns: Sequence[str] | None = None,
        **options: Any,
    ) -> ExportReport:
        """Write the tables of an archive; `options` are those of its `to_arrow`.

        Several tables become files in the directory `output`.  Without `overwrite`, it must be new or empty; with it,
        files of the same names are replaced, and others are left as they are.

        Raises `WriterError` for several tables that would go to one stream, and what `to_arrow` and its batches raise;
        no file is left then.
        """
        report = ExportReport()
        jobs = options.get("jobs", 1)
        if kind.maps and archive.wide_tables and not columns:  # chosen columns are columns however many there are
            options["widest"] = wide.WIDEST
        tables = archive.arrow_tables(columns=columns or None, losses=report.lost, **options)
        if len(tables) == 1:
            (make,) = tables.values()
            opened = text_output if kind.is_text else binary_output
            with opened(output, overwrite=overwrite) as file:
                _copy(make, file, kind, report, progress, jobs)
            return report.without_zeros()
        if output == "-":
            names = ", ".join(list(tables)[:20])
            raise WriterError(f"one stream contains only one table: choose one, or name a directory: {names}")
        with contextlib.ExitStack() as stack:  # at its end, all files get their names, or none does
            existing = Path(output) if overwrite and Path(output).is_dir() else None
            folder = existing or stack.enter_context(AtomicDirectory(output)).temporary
            if existing is None:
                stack.enter_context(postponed())  # the directory is flushed to disk as a whole
            files = list(zip(tables, file_names(tables, kind.suffix), strict=True))
            at_once = kind.at_once if len(files) <= MANY else kind.many_at_once
            for at in range(0, len(files), at_once):
                part = dict(files[at : at + at_once])
                opened_files = {
                    table: stack.enter_context(AtomicFile(folder / name, overwrite=overwrite))
                    for table, name in part.items()
                }
                found = None  # None: the tables are read one by one, as an archive may require
                if len(part) > 1:
                    found = archive.read_arrow_tables(
                        list(part), columns=columns or None, losses=report.lost, **options
                    )
                if found is not None:
                    into = {table: atomic.file for table, atomic in opened_files.items()}
                    _copy_together(*found, into, kind, report, progress, jobs)
                for table, atomic in opened_files.items():
                    if found is None:
                        _copy(tables[table], atomic.file, kind, report, progress, jobs)
                    atomic.seal()
                    report.written["files"] += 1
        return report.without_zeros()

    return export


def _copy_together(
    schemas: Mapping[str, Any],
    read: Callable[[], Iterator[tuple[str, Any]]],
    files: Mapping[str, BinaryIO],
    kind: type[TableFile],
    report: ExportReport,
    progress: Progress,
    jobs: int,
) -> None:
    """Write the tables of one pass, each to its file in the form `kind`.

    `read` yields (table, batch); `schemas` and `files` are by table.
    """
    pa = import_pyarrow()
    with contextlib.ExitStack() as stack:
        targets = {  # by table
            table: stack.enter_context(kind(pa, file, schemas[table], report, jobs)) for table, file in files.items()
        }
        total = 0  # bytes that all targets gather
        for table, batch in read():
            total -= targets[table].gathered  # writing may gather more, or write what was gathered
            targets[table].write(batch)
            total += targets[table].gathered
            if total > GATHERED:
                largest = max(targets.values(), key=attrgetter("gathered"))
                total -= largest.gathered
                largest.flush()
            _count(report, schemas[table], batch, progress)


def _count(report: ExportReport, schema: Any, batch: Any, progress: Progress) -> None:
    """Count the rows of a batch that was written."""
    report.written["rows"] += batch.num_rows
    if not schema.names:
        report.lost[NO_COLUMNS] += batch.num_rows  # no target can store rows without columns
    progress(report.written["rows"], None, "rows")


def _copy(
    make: Callable[[], Any],
    file: BinaryIO,
    kind: type[TableFile],
    report: ExportReport,
    progress: Progress,
    jobs: int,
) -> None:
    """Write the table that `make` reads to `file` in the form `kind`; up to `jobs` processes render its batches."""
    reader = make()
    if wide.is_wide(reader.schema):
        report.notes.append(wide.NOTE)
    with kind(import_pyarrow(), file, reader.schema, report, jobs) as target:
        for batch, part in _rendered(reader, kind.render, jobs):
            if part is None:
                target.write(batch)
            else:
                target.file.write(part)
            _count(report, reader.schema, batch, progress)


def _rendered(reader: Any, render: Callable[[Any], bytes] | None, jobs: int) -> Iterator[tuple[Any, bytes | None]]:
    """The batches of a table (`reader`), each with its part of the file where processes make that, by `render`."""
    if render is None or (jobs or cpu_count()) == 1:
        yield from ((batch, None) for batch in reader)
        return
    sent: deque[Any] = deque()  # parts whose results are awaited, in order

    def streams() -> Iterator[bytes | None]:
        """Yield parts of the batches as Arrow streams for other processes; None for a part too large to send."""
        import pyarrow as pa

        for batch in reader:
            for at in range(0, batch.num_rows, PART_ROWS):
                sent.append(part := batch.slice(at, PART_ROWS))
                if part.nbytes > PART_BYTES:
                    yield None
                    continue
                buffer = pa.BufferOutputStream()
                with pa.ipc.new_stream(buffer, part.schema) as stream:  # a pickled slice would contain the whole batch
                    stream.write_batch(part)
                yield buffer.getvalue().to_pybytes()

    for part in map_processes(_Renderer(render).render, streams(), jobs):
        yield sent.popleft(), part


class _Renderer(NamedTuple):
    """Renders a batch that comes as an Arrow stream, on a worker; picklable."""

    function: Callable[[Any], bytes]

    def render(self, stream: bytes | None) -> bytes | None:
        """The part of the file; None for a batch that is too large to travel."""
        import pyarrow as pa

        return None if stream is None else self.function(pa.ipc.open_stream(stream).read_next_batch())


def file_names(tables: Mapping[str, Callable[[], Any]], suffix: str) -> dict[str, Callable[[], Any]]:
    """A safe file name for each table: its name with `_` for everything unusual, numbered when two are alike."""
    out: dict[str, Callable[[], Any]] = {}
    taken: set[str] = set()
    numbers: dict[str, int] = {}  # the last number of each name; both are compared in small letters
    for table, make in tables.items():
        base = re.sub(r"[^A-Za-z0-9.-]+", "_", table).strip("_.")[:100] or "table"
        name, number = f"{base}.{suffix}", numbers.get(base.lower(), 1)
        while name.lower() in taken:
            number += 1
            name = f"{base}_{number}.{suffix}"
        numbers[base.lower()] = number
        taken.add(name.lower())
        out[name] = make
    return out


# --- columns as text --------------------------------------------------------------------------------------------------


def flat_column(pa: Any, column: Any, losses: Any) -> Any:
    """A column as CSV can hold it.

    Dictionaries become their values, bytes become text (U+FFFD for what is not UTF-8), durations integers, times
    outside the years 1 to 9999 null, and nested values JSON text; control characters in text are escaped.  Losses are
    counted.
    """
    types, kind = pa.types, column.type
    if types.is_dictionary(kind):
        return flat_column(pa, column.dictionary_decode(), losses)
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return _escaped(pa, text_array(pa, column.to_pylist(), losses), losses)
    if types.is_string(kind) or types.is_large_string(kind):
        return _escaped(pa, column, losses)
    if types.is_duration(kind):
        return column.cast(pa.int64())
    if types.is_timestamp(kind) and (rows := _rows_of_odd_years(pa, column)):
        losses[BAD_YEAR] += len(rows)
        numbers = column.cast(pa.int64()).to_pylist()
        for row in rows:
            numbers[row] = None
        return pa.array(numbers, kind)
    if types.is_nested(kind):
        losses[NESTED] += len(column) - column.null_count
        return pa.array([None if value is None else dumps(value) for value in column.to_pylist()], pa.large_string())
    return column


def _escaped(pa: Any, column: Any, losses: Any) -> Any:
    """Return a column of strings with control characters escaped, counting those changed in `losses`."""
    import pyarrow.compute as pc

    count = pc.sum(pc.match_substring_regex(column, CONTROLS)).as_py()
    if not count:
        return column
    losses[ESCAPED] += count
    values = column.to_pylist()
    return pa.array([None if value is None else escape_controls(value) for value in values], column.type)


def json_column(pa: Any, column: Any) -> list[Any]:
    """The values of a column as `exhume.io.jsonout` prints them; dates and times are text with all their digits.

    A time outside the years 1 to 9999 is its number.
    """
    types, kind = pa.types, column.type
    odd = _rows_of_odd_years(pa, column) if types.is_timestamp(kind) else []
    numbers = column.take(pa.array(odd)).cast(pa.int64()).to_pylist() if odd else []
    if types.is_duration(kind):
        column = column.cast(pa.int64())
    elif types.is_temporal(kind):
        column = column.cast(pa.string())
    values: list[Any] = column.to_pylist()
    for row, number in zip(odd, numbers, strict=True):
        values[row] = number
    return values


def _rows_of_odd_years(pa: Any, column: Any) -> list[int]:
    """Return the rows of a column of timestamps whose time is outside the years 1 to 9999."""
    import pyarrow.compute as pc

    scale = _PER_SECOND.get(column.type.unit)
    if scale is None:
        return []
    numbers = column.cast(pa.int64())
    odd = pc.or_(pc.less(numbers, _YEARS.start * scale), pc.greater_equal(numbers, _YEARS.stop * scale))
    rows: list[int] = pc.indices_nonzero(odd).to_pylist()
    return rows
