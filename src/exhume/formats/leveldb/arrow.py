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
from itertools import groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from exhume.errors import QueryError
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.kernel import LeveldbRows
from exhume.formats.leveldb.model import Place, Status, type_name
from exhume.formats.leveldb.ranges import (
    AT,
    KIND,
    NEWER,
    PLACE,
    SEQUENCE,
    STATUS,
    beyond,
    operation_of,
    places_of,
    rows_of,
)
from exhume.tabular.arrow import BATCH_ROWS, check_rows, choose, import_pyarrow, plain_text, rebatched

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
    jobs: int = 1,
    lost: Counter[str] | None = None,
) -> Any:
    """A streaming `pyarrow.RecordBatchReader`, one row per entry.

    Live rows by column family and key, chosen by `start <= key < stop` and `prefix` through the index, raising at the
    first damage.  `sequence` gives the state as of that sequence number, and `all_versions` every version that any file
    still holds; both read the whole database and skip what is damaged, which `lost` counts.  `jobs` threads share an
    undamaged database, with the same batches (0: one per core).  Raises `QueryError` when
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

    def made(rows: LeveldbRows) -> tuple[Any, Any]:
        rows.choose(False, start, stop, None)
        return _batch(rows, names)

    def pieces() -> Iterator[tuple[Any, Any]]:
        database, report = archive.database, checks.collector(damaged)
        if all_versions:
            yield from database.map_versions(made, report, jobs=jobs)
        elif sequence is None:
            yield from database.map_live(made, start, stop, jobs=jobs)
        else:
            found = database.state(sequence, report=report, unreferenced=True)
            for family, versions in groupby(found, attrgetter("column_family")):
                while part := list(islice(versions, BATCH_ROWS)):
                    yield made(rows_of(family, part))

    def batches() -> Iterator[Any]:
        for batch in rebatched(pieces(), batch_rows):
            found = zip(schema, batch.columns, strict=bool(names))
            arrays = [array if field.type == array.type else array.dictionary_encode() for field, array in found]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _batch(rows: LeveldbRows, names: list[str]) -> tuple[Any, Any]:
    """A batch of these columns, words as plain texts (the dictionaries of batches are made of all their rows), and the
    sizes of the rows.
    """
    import numpy

    pa = import_pyarrow()
    types = {name: kind.value_type if pa.types.is_dictionary(kind) else kind for name, kind in _types(pa).items()}
    places = places_of(rows)
    sizes = numpy.zeros(len(rows), numpy.int64)
    texts: dict[str, Any] = {}
    for name in ("key", "value"):
        data, ends = rows.column(name == "value")
        begins = numpy.frombuffer(ends, numpy.int64)
        sizes += begins[1:] - begins[:-1]
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(data)]
        texts[name] = pa.Array.from_buffers(pa.large_binary(), len(rows), buffers)

    def numbers(which: int) -> Any:
        return numpy.frombuffer(rows.numbers(which), numpy.int64)

    def column(name: str) -> Any:
        if name in texts:
            return texts[name]
        if name in _PLACES:  # made for each place: those of a block lie in one
            distinct = [_PLACES[name](place) for place in places]
            return pa.array(distinct, types[name]).take(pa.array(numbers(PLACE)))
        if name == "type":
            return pa.array(list(map(type_name, range(256))), types[name]).take(pa.array(numbers(KIND)))
        if name == "status":
            return pa.array(list(map(str, Status)), types[name]).take(pa.array(numbers(STATUS)))
        if name == "operation" and any(place.operations is not None for place in places):
            at = zip(numbers(AT).tolist(), map(places.__getitem__, numbers(PLACE).tolist()), strict=True)
            return pa.array([operation_of(place, offset) for offset, place in at], types[name])
        if name == "operation":
            return pa.nulls(len(rows), types[name])
        if name == "column_family":
            return pa.array(numpy.full(len(rows), rows.family), types[name])
        found = numbers({"sequence": SEQUENCE, "superseded_by": NEWER, "entry_offset": AT}[name])
        return pa.array(found.astype(numpy.uint64), types[name], mask=found < 0)

    # A batch without columns has rows all the same, which only `rebatched` asks for.
    arrays = [column(name) for name in names] or [texts["key"]]
    return pa.RecordBatch.from_arrays(arrays, names or ["key"]), sizes


_PLACES: Final[dict[str, Callable[[Place], Any]]] = {
    "file": lambda place: plain_text(place.file),
    "level": attrgetter("level"),
    "block_offset": attrgetter("offset"),
    "checksum": lambda place: str(place.checksum),
    "codec": attrgetter("codec"),
    "batch_sequence": attrgetter("batch_sequence"),
    "batch_count": attrgetter("batch_count"),
}
"""Columns that say where a row lies."""


def _earlier(stop: bytes | None, prefix: bytes | None) -> bytes | None:
    """The smaller of `stop` and the first key after all keys that start with `prefix`."""
    after = beyond(prefix or b"")
    return stop if after is None else after if stop is None else min(stop, after)
