"""An archive's table as a pyarrow dataset: DuckDB, Polars and pyarrow request the columns and rows they need.

The columns are passed on to the archive's reader, so that others are not decoded; rows are filtered batch by batch.
Columns that were read completely are kept, so that the next query does not decode them again.

This module is imported when it is used (extra `arrow`).
"""

from __future__ import annotations

import atexit
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn, Protocol

from exhume.errors import SourceError, UnsupportedOperationError
from exhume.io.caching import Lru
from exhume.tabular.arrow import import_pyarrow

pa: Any = import_pyarrow()  # says which extra is missing

CACHE_BYTES: Final = 256 << 20
"""Bytes of decoded columns that a dataset keeps, unless the caller says otherwise."""

from pyarrow import compute, dataset  # noqa: E402 - after that check


class Table(Protocol):
    """An archive as a dataset uses it."""

    @property
    def to_arrow(self) -> Callable[..., Any]:
        """Its table as a `pyarrow.RecordBatchReader`; see `exhume.archive.Archive.to_arrow`."""


class Scan:
    """The batches of a scan, requested by threads of Arrow, which read ahead of the caller.

    A thread of Arrow that runs Python code while the interpreter exits would end the process with SIGABRT, so
    unfinished scans fail before.
    """

    def __init__(self, batches: Iterator[Any]) -> None:
        """Give Arrow these batches, one thread at a time."""
        self._batches = batches
        self._turn = threading.Lock()
        self._ends = False  # no further batch may be read
        self.ended: bool = False
        """Whether Arrow knows that no more batches come."""
        _SCANS.add(self)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        """Return the next batch, for whichever thread asks."""
        with self._turn:
            try:
                if self._ends:
                    raise SourceError("the scan is unfinished: the interpreter exits")
                return next(self._batches)
            except BaseException:
                self.ended = True
                raise

    def end(self) -> None:
        """Wait for the batch being read.  The next one raises `SourceError`: a part must not pass for the table."""
        self._ends = True
        with self._turn:
            pass


_SCANS: Final[weakref.WeakSet[Scan]] = weakref.WeakSet()
"""Scans that Arrow or a caller still has."""
_STEP_S: Final = 0.01
"""Seconds of each wait for threads of Arrow when the interpreter exits."""
_PATIENCE: Final = 200
"""Waits at most while another thread is ready to run: on a busy machine it may get no processor for a while."""


@atexit.register
def _end_scans() -> None:
    """End all unfinished scans before the interpreter exits, as threads of Arrow may not enter Python afterwards."""
    scans = list(_SCANS)
    for scan in scans:
        scan.end()
    for _ in range(10):  # not until all know: Arrow requests no batch while no one takes any, so it may never know
        if all(scan.ended for scan in scans):
            break
        time.sleep(_STEP_S)
    if not scans:
        return
    time.sleep(5 * _STEP_S)  # time for its threads to leave Python
    for _ in range(_PATIENCE):
        if not _others_run():
            break
        time.sleep(_STEP_S)


def _others_run() -> bool:
    """Whether another thread of this process runs or waits for a processor; False where that is unknown."""
    own = str(threading.get_native_id())
    with suppress(OSError):
        for task in Path("/proc/self/task").iterdir():
            # The state follows the name, which is in parentheses and may contain some.
            if task.name != own and (task / "stat").read_bytes().rpartition(b")")[2].split()[:1] == [b"R"]:
                return True
    return False


class ArchiveDataset(dataset.Dataset):  # type: ignore[misc]
    """The table of `archive.to_arrow(**options)`.  Valid while the archive is open.

    A scan is one pass over the table, or a part of it, for a query.

    A scan reads the columns that no earlier scan has read completely; those are kept up to `cache_bytes` (as Arrow
    counts them), and the least recently used are dropped first.  With 0, and with `losses=`, which counts the losses of
    each scan, every scan reads the archive again.
    """

    def __init__(self, archive: Table, options: Mapping[str, Any], cache_bytes: int = CACHE_BYTES) -> None:
        self._archive = archive
        self._options = dict(options)
        self._schema = archive.to_arrow(**options).schema
        self._kept: Lru[str, Any] = Lru(0 if options.get("losses") is not None else cache_bytes)  # columns by name

    @property
    def schema(self) -> Any:
        """The columns and their types."""
        return self._schema

    def scanner(
        self,
        columns: Sequence[str] | Mapping[str, Any] | None = None,
        filter: Any = None,
        **options: Any,
    ) -> Any:
        """A `pyarrow.dataset.Scanner` of some columns and of the rows that meet an expression.

        `columns`: names, or expressions by name; other options are those of a scanner.  A reader that is taken from it
        and never advanced has to be closed: pyarrow's read-ahead waits for it, and the interpreter does not exit.
        """
        needed = self._needed(columns, filter)
        options = {
            name: value for name, value in options.items() if name in ("batch_size", "use_threads", "memory_pool")
        }
        kept = {name: found for name in needed if (found := self._kept.get(name)) is not None}  # read before
        if kept and len(kept) == len(needed):  # no need to read the archive
            table = pa.table(kept, schema=self._schema_of(needed))
            return dataset.InMemoryDataset(table).scanner(columns=columns, filter=filter, **options)
        reader = self._archive.to_arrow(**{**self._options, "columns": [name for name in needed if name not in kept]})
        if needed and self._kept.limit:
            reader = self._scan_and_cache(reader, needed, kept)
        reader = pa.RecordBatchReader.from_batches(self._schema_of(needed), Scan(reader))
        return dataset.Scanner.from_batches(reader, columns=columns, filter=filter, **options)

    def _schema_of(self, names: Sequence[str]) -> Any:
        """Return the schema of some columns."""
        return pa.schema([self._schema.field(name) for name in names])

    def _scan_and_cache(self, reader: Any, needed: Sequence[str], kept: Mapping[str, Any]) -> Iterator[Any]:
        """The batches of a reader joined with the kept columns; its own columns are kept at the end."""
        # `room`: bytes that may still be kept; `row`: rows read so far.
        schema, room, row = self._schema_of(needed), self._kept.limit, 0
        held: dict[str, list[Any]] = {name: [] for name in reader.schema.names}  # arrays read so far, by column
        for batch in reader:
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            for name in list(held):
                room -= columns[name].nbytes
                if room < 0:  # too large to keep all of them: the scan continues without keeping any
                    held.clear()
                    break
                held[name].append(columns[name])
            kept_slices = {name: found.slice(row, batch.num_rows) for name, found in kept.items()}
            row += batch.num_rows
            yield from pa.table([{**columns, **kept_slices}[name] for name in needed], schema=schema).to_batches()
        for name, arrays in held.items():
            self._kept.put(name, column := pa.chunked_array(arrays, self._schema.field(name).type), column.nbytes)

    def _needed(self, columns: Sequence[str] | Mapping[str, Any] | None, filter: Any) -> list[str]:
        """The columns to read: those requested, and those whose names occur in the text of an expression."""
        names = list(self._schema.names)
        if columns is None:
            return names
        texts = [str(each) for each in columns.values()] if isinstance(columns, Mapping) else []
        texts += [] if filter is None else [str(filter)]
        if any("FieldPath(" in text for text in texts):  # a column by its number in the whole table: `field(2)`
            return names
        requested = set() if isinstance(columns, Mapping) else set(columns)

        def named(name: str) -> bool:  # the text of an expression contains names without quotes or escapes
            return any(name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for text in texts)

        # Without any column (to count rows), the first one is read.
        return [name for name in names if name in requested or named(name)] or names[:1]

    def count_rows(self, filter: Any = None, **options: Any) -> int:
        """Rows that meet an expression; reads the columns that it names."""
        count: int = self.scanner(columns=self._schema.names[:1], filter=filter, **options).count_rows()
        return count

    def _refuse(self, *args: Any, **options: Any) -> NoReturn:
        """Refuse the call: the archive is not a set of files."""
        raise UnsupportedOperationError("an archive's table is scanned as a whole: use to_table(columns=, filter=)")

    def get_fragments(self, filter: Any = None) -> Iterator[ArchiveFragment]:
        """One fragment, the whole table, because an archive is not a set of files.  DataFusion scans fragments."""
        yield ArchiveFragment(self)

    filter: Callable[..., NoReturn] = _refuse
    join: Callable[..., NoReturn] = _refuse
    join_asof: Callable[..., NoReturn] = _refuse
    replace_schema: Callable[..., NoReturn] = _refuse
    sort_by: Callable[..., NoReturn] = _refuse

    @property
    def partition_expression(self) -> Any:
        """The expression that is true of every row: nothing more is known about all rows."""
        return compute.scalar(True)

    def __reduce__(self) -> NoReturn:
        self._refuse()


class ArchiveFragment:
    """The one fragment of an `ArchiveDataset`."""

    def __init__(self, table: ArchiveDataset) -> None:
        self._table = table

    def scanner(self, schema: Any = None, **options: Any) -> Any:
        """The scanner of the dataset; raises `UnsupportedOperationError` for a `schema` other than the dataset's."""
        if schema is not None and not schema.equals(self._table.schema):
            raise UnsupportedOperationError("an archive's table is scanned in its own schema")
        return self._table.scanner(**options)
