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
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exhume.errors import QueryError
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.database import Database
from exhume.formats.leveldb.model import Place, Status, Version, type_name
from exhume.formats.leveldb.ranges import KeyRange, is_sound, plan_ranges, versions_in
from exhume.io.local import LocalTree
from exhume.io.processes import map_processes
from exhume.limits import cpu_count
from exhume.tabular.arrow import BATCH_ROWS, batched, check_rows, choose, import_pyarrow, plain_text, rebatched

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
    still holds; both read the whole database and skip what is damaged, which `lost` counts.  Otherwise `jobs` processes
    share an undamaged local database, with the same batches (0: one per core).  Raises `QueryError` when
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
        alone = all_versions or sequence is not None or not names or (jobs or cpu_count()) == 1
        ranges = None if alone else _ranges(archive.database, start, stop)
        if ranges is None:
            parts = batched(versions(), batch_rows, lambda version: len(version.key) + len(version.value))
            made: Iterator[Any] = (_batch(part, names) for part in parts)
        else:
            made = rebatched(map_processes(_Piece(archive.database, names).made, ranges, jobs), batch_rows)
        for batch in made:
            found = zip(schema, batch.columns, strict=True)
            arrays = [array if field.type == array.type else array.dictionary_encode() for field, array in found]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _ranges(database: Database, start: bytes | None, stop: bytes | None) -> list[KeyRange] | None:
    """The ranges of keys that several processes read, in order; None where one has to read all."""
    if not isinstance(database.tree, LocalTree) or not is_sound(database):
        return None
    families, low, high = database.live_families(), start or b"", stop
    chosen = []
    for family, first, last in plan_ranges(database):
        first = max(low, first or b"")
        last = high if last is None else last if high is None else min(high, last)
        if family in families and (last is None or first < last):
            chosen.append(KeyRange(family, first or None, last))
    return chosen if len(chosen) > 1 else None


class _Piece(NamedTuple):
    """Makes the columns of these names of the live rows in a range of keys; picklable."""

    database: Database
    names: list[str]

    def made(self, keys: KeyRange) -> tuple[Any, Any]:
        """A batch, and the sizes of its rows."""
        import numpy

        rows = [row for row in versions_in(self.database, keys) if row.status is Status.LIVE]
        sizes = numpy.fromiter((len(row.key) + len(row.value) for row in rows), numpy.int64, len(rows))
        return _batch(rows, self.names), sizes


def _batch(rows: list[Version], names: list[str]) -> Any:
    """A batch of these columns, words as plain texts: the dictionaries of batches are made of all their rows."""
    import numpy

    pa = import_pyarrow()
    types = {name: kind.value_type if pa.types.is_dictionary(kind) else kind for name, kind in _types(pa).items()}
    fields = dict(zip(Version._fields, zip(*rows, strict=True), strict=True)) if rows else {}
    # Most columns say where rows lie, and those of a block lie in one place: they are made for each place.
    _, firsts, places = numpy.unique(
        numpy.fromiter(map(id, fields.get("place", ())), numpy.int64, len(rows)), return_index=True, return_inverse=True
    )
    at = pa.array(places)
    arrays = []
    for name in names:
        if name in _PLACES:
            distinct = [_PLACES[name](fields["place"][first]) for first in firsts.tolist()]
            arrays.append(pa.array(distinct, types[name]).take(at))
        else:
            field, convert = _FIELDS[name]
            values = fields.get(field, ())
            arrays.append(pa.array(values if convert is None else list(map(convert, values)), types[name]))
    return pa.RecordBatch.from_arrays(arrays, names)


_FIELDS: Final[dict[str, tuple[str, Callable[[Any], Any] | None]]] = {
    "key": ("key", None),
    "value": ("value", None),
    "sequence": ("sequence", None),
    "type": ("value_type", type_name),
    "status": ("status", str),
    "superseded_by": ("superseded_by", None),
    "column_family": ("column_family", None),
    "entry_offset": ("entry_offset", None),
    "operation": ("operation", None),
}
"""Columns by the field of a version that they have, and what becomes of its value."""

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
    cut = (prefix or b"").rstrip(b"\xff")
    beyond = cut[:-1] + bytes([cut[-1] + 1]) if cut else None
    return stop if beyond is None else beyond if stop is None else min(stop, beyond)
