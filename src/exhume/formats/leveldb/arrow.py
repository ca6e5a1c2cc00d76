"""Rows of a database as Arrow record batches: keys, values, and where each entry was found.

| column | type | |
|---|---|---|
| key, value | large_binary | |
| sequence | uint64 | |
| type, status | dictionary of strings | `value`, `deletion`, …; `live` and the rest, see `Status` |
| superseded_by | uint64 | sequence number of the next newer version |
| column_family | uint64 | |
| file | dictionary of strings | |
| level | uint64 | null for logs |
| block_offset | uint64 | of the block or log record in the file |
| entry_offset | uint64 | in the decompressed block, or in the write batch |
| checksum | dictionary of strings | verdict on the block or log record: `good`, `bad`, `none` |
| codec | dictionary of strings | null for logs |
| operation, batch_sequence, batch_count | uint32, uint64, uint32 | of the write batch; null for tables |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from exhume.errors import QueryError
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.model import Version, type_name
from exhume.tabular.arrow import BATCH_ROWS, batched, check_rows, choose, import_pyarrow, plain_text

if TYPE_CHECKING:
    from exhume.formats.leveldb.reader import LevelDbArchive


def _types(pa: Any) -> dict[str, Any]:
    words = pa.dictionary(pa.int32(), pa.string())
    return {
        "key": pa.large_binary(),
        "value": pa.large_binary(),
        "sequence": pa.uint64(),
        "type": words,
        "status": words,
        "superseded_by": pa.uint64(),
        "column_family": pa.uint64(),
        "file": words,
        "level": pa.uint64(),
        "block_offset": pa.uint64(),
        "entry_offset": pa.uint64(),
        "checksum": words,
        "codec": words,
        "operation": pa.uint32(),
        "batch_sequence": pa.uint64(),
        "batch_count": pa.uint32(),
    }


def to_arrow(
    archive: LevelDbArchive,
    *,
    columns: Iterable[str] | None = None,
    start: bytes | None = None,
    stop: bytes | None = None,
    prefix: bytes | None = None,
    all_versions: bool = False,
    sequence: int | None = None,
    batch_rows: int = BATCH_ROWS,
    lost: Counter[str] | None = None,
) -> Any:
    """A streaming `pyarrow.RecordBatchReader`, one row per entry.

    Live rows by column family and key, chosen by `start <= key < stop` and `prefix` through the index, raising at the
    first damage.  `sequence` gives the state as of that sequence number, and `all_versions` every version that any file
    still holds; both read the whole database and skip what is damaged, which `lost` counts.  Raises `QueryError` when
    `all_versions` and `sequence` are both given, and `EntryNotFoundError` for an unknown column.
    """
    pa = import_pyarrow()
    check_rows(batch_rows)
    if all_versions and sequence is not None:
        raise QueryError("all_versions and sequence exclude each other")
    types = _types(pa)
    names = choose(types, columns)
    schema = pa.schema([pa.field(name, types[name]) for name in names])
    stop = _earlier(stop, prefix)
    start = max(start or b"", prefix or b"") or None

    def damaged(finding: Any) -> None:
        if lost is not None and finding.severity == "error":
            lost["damaged blocks and log records"] += 1

    def versions() -> Iterator[Version]:
        database, report = archive.database, checks.collector(damaged)
        if not all_versions and sequence is None:
            yield from database.live_versions(start, stop)
            return
        found = (
            database.versions(report) if all_versions else database.state(sequence, report=report, unreferenced=True)
        )
        for version in found:
            if (start is None or version.key >= start) and (stop is None or version.key < stop):
                yield version

    def batches() -> Iterator[Any]:
        for part in batched(versions(), batch_rows, lambda version: len(version.key) + len(version.value)):
            arrays = [pa.array(list(map(_VALUES[name], part)), types[name]) for name in names]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


_VALUES: Final[dict[str, Callable[[Version], Any]]] = {
    "key": attrgetter("key"),
    "value": attrgetter("value"),
    "sequence": attrgetter("sequence"),
    "type": lambda version: type_name(version.value_type),
    "status": lambda version: str(version.status),
    "superseded_by": attrgetter("superseded_by"),
    "column_family": attrgetter("column_family"),
    "file": lambda version: plain_text(version.place.file),
    "level": attrgetter("place.level"),
    "block_offset": attrgetter("place.offset"),
    "entry_offset": attrgetter("entry_offset"),
    "checksum": lambda version: str(version.place.checksum),
    "codec": attrgetter("place.codec"),
    "operation": attrgetter("operation"),
    "batch_sequence": attrgetter("place.batch_sequence"),
    "batch_count": attrgetter("place.batch_count"),
}


def _earlier(stop: bytes | None, prefix: bytes | None) -> bytes | None:
    """The smaller of `stop` and the first key after all keys that start with `prefix`."""
    cut = (prefix or b"").rstrip(b"\xff")
    beyond = cut[:-1] + bytes([cut[-1] + 1]) if cut else None
    return stop if beyond is None else beyond if stop is None else min(stop, beyond)
