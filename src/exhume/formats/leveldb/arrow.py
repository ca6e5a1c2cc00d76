"""Rows of a database as Arrow record batches: keys, values, and where each entry was found.

| column | type | |
|---|---|---|
| key, value | large_binary | the value is null where it cannot be determined, and the status `unresolved` |
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
| columns | map of large_binary | of an entity of wide columns, by name; only where `columns` requests it |

A live row is the newest version of a key that is not deleted.  A large value is one that is not kept in memory; it is
read in chunks when it is used (`LargeValue`).  An entity of wide columns is a value of RocksDB that consists of named
columns.  The rows of a batch come as one `LeveldbRows`, the kernel's table of versions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache
from itertools import groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Protocol

from exhume.errors import QueryError
from exhume.findings import Severity
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.kernel import LeveldbRows
from exhume.formats.leveldb.model import Place, Status, type_name
from exhume.formats.leveldb.ranges import beyond, has_large, operation_of, places_of, rows_of, tally_of, versions_of
from exhume.formats.leveldb.values import AT, KIND, NEWER, PLACE, SEQUENCE, STATUS, UNRESOLVED
from exhume.io.values import LargeValue
from exhume.tabular.arrow import BATCH_ROWS, TableOptions, check_rows, choose, import_pyarrow, plain_text, rebatched

if TYPE_CHECKING:
    from exhume.formats.leveldb.database import Database


_LOSSES: Final = {Severity.ERROR: "damaged blocks and log records", Severity.UNCHECKED: "parts above a limit"}
"""What a finding says is lost, by the severity of its rule; others lose nothing."""


def _types(pa: Any) -> dict[str, Any]:
    """Return the Arrow type of every column that a table can have, by name."""
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
        "columns": pa.map_(pa.large_binary(), pa.large_binary()),
    }


class DatabaseArchive(Protocol):
    """An archive with a database; see `reader.LevelDbArchive`."""

    @property
    def database(self) -> Database:
        """The opened database."""


class LevelDbTableOptions(TableOptions, total=False):
    """Options of `to_arrow`, which documents them."""

    start: bytes | None
    stop: bytes | None
    prefix: bytes | None
    all_versions: bool
    sequence: int | None
    jobs: int


def to_arrow(
    archive: DatabaseArchive,
    *,
    columns: Iterable[str] | None = None,
    start: bytes | None = None,
    stop: bytes | None = None,
    prefix: bytes | None = None,
    all_versions: bool = False,
    sequence: int | None = None,
    batch_rows: int = BATCH_ROWS,
    jobs: int = 1,
    losses: Counter[str] | None = None,
) -> Any:
    """A streaming `pyarrow.RecordBatchReader`, one row per entry.

    Live rows by column family and key, chosen by `start <= key < stop` and `prefix` through the index, raising at the
    first damage.  `losses` counts a log that is absent, and values above the limit `payload_size`, which are null;
    without it, such a value raises `LimitExceededError`.  `columns` are names of columns (default: all but `columns`);
    a batch has at most `batch_rows` rows.  `sequence` selects the state as of that sequence number, and
    `all_versions` every version that any file still holds; both read the whole database and skip what is damaged,
    which `losses` counts.  `jobs` threads share an undamaged database, with the same batches (0: one per core).  Raises
    `QueryError` when `all_versions` and `sequence` are both given, and `EntryNotFoundError` for an unknown column.
    """
    pa = import_pyarrow()
    check_rows(batch_rows)
    if all_versions and sequence is not None:
        raise QueryError("all_versions and sequence exclude each other")
    types = _types(pa)
    names = choose(types, [name for name in types if name != "columns"] if columns is None else columns)
    schema = pa.schema([pa.field(name, types[name]) for name in names])
    # Keys that start with `prefix` are a range, too: its bounds and those of the caller are combined.
    stop = _earlier(stop, prefix)
    start = max(start or b"", prefix or b"") or None

    def unread(finding: Any) -> None:
        """Count a finding that means lost rows."""
        # The severity of the rule: findings in files that are no longer used are milder, but lose rows, too.
        reason = _LOSSES.get(checks.RULES[finding.code].severity)
        if losses is not None and reason is not None:
            losses[reason] += 1

    def made(rows: LeveldbRows) -> tuple[Any, Any]:
        """Return (batch, row sizes) for these rows, without those outside the bounds."""
        rows.choose(False, start, stop, None)  # every status, `start <= key < stop`, any value
        if losses is not None and (count := tally_of(rows).statuses[Status.UNRESOLVED]):
            losses["values that cannot be determined"] += count
        return _batch(rows, names, losses)

    def pieces() -> Iterator[tuple[Any, Any]]:
        """Yield (batch, row sizes) for the selected rows, in order."""
        database, report = archive.database, checks.collector(unread)
        _count_problems(database, losses)
        if all_versions:
            yield from database.map_versions(made, report, jobs=jobs)
        elif sequence is None:
            yield from database.map_live(made, start, stop, jobs=jobs, lean=True)
        else:
            found = database.state(sequence, report=report, unreferenced=True)
            for family, versions in groupby(found, attrgetter("column_family")):
                while part := list(islice(versions, BATCH_ROWS)):
                    yield made(rows_of(family, part))

    def formed(batch: Any) -> Any:
        """Return a rebatched record batch with the final schema and canonical dictionaries."""
        # a batch without columns still has the keys, for its row count
        found = zip(schema, batch.columns, strict=bool(names))
        arrays = [_in_order(array) if pa.types.is_dictionary(field.type) else array for field, array in found]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, rebatched(pieces(), batch_rows, formed, jobs=jobs))


def _count_problems(database: Database, losses: Counter[str] | None) -> None:
    """Count as lost what the directory lacks or could not be read of it, if `losses` is given. Only an absent log does
    not keep the live state from being read: it is counted by name, everything else together.
    """
    if losses is not None:
        # Missing logs that are in another directory (`LOGS_ELSEWHERE`) are in `problems`, but not in `absent_logs`.
        absent = len(database.absent_logs)
        losses.update(f"log that is absent ({name})" for name in database.missing_logs[:absent])
        others = sum(one.is_problem for one in database.problems) - absent
        losses["files of the database that could not be read"] += others


def _batch(rows: LeveldbRows, names: list[str], losses: Counter[str] | None) -> tuple[Any, Any]:
    """Return a record batch of the columns `names`, and the size of each row (bytes of key and value, a NumPy array).
    See `to_arrow` for `losses`.
    """
    import numpy

    pa = import_pyarrow()
    types = _types(pa)
    places = _RowPlaces(rows)
    sizes = numpy.zeros(len(rows), numpy.int64)
    texts: dict[str, Any] = {}  # finished columns, by name
    absent = _absent(rows, names, losses)
    for name in ("key", "value"):
        # Arrow's layout of binaries: all bytes in one buffer, and n + 1 offsets of 64 bits. Both columns are needed for
        # `sizes`.
        data, ends = _values(rows, absent) if name == "value" else rows.column(False)
        begins = numpy.frombuffer(ends, numpy.int64)
        sizes += begins[1:] - begins[:-1]
        buffers = [_valid(rows, absent) if name == "value" else None, pa.py_buffer(ends), pa.py_buffer(data)]
        texts[name] = pa.Array.from_buffers(pa.large_binary(), len(rows), buffers)

    def numbers(which: int) -> Any:
        """Return the column `which` of the kernel's rows (a constant of `values`) as int64."""
        return numpy.frombuffer(rows.numbers(which), numpy.int64)

    texts |= {name: _entities(rows, types[name]) for name in names if name == "columns"}

    def column(name: str) -> Any:
        """Return the Arrow array of one column; negative numbers stand for null."""
        if name in texts:
            return texts[name]
        if name in _WORDS:
            return _coded(map(_WORDS[name], places.kinds), places.kind_of_row)
        if name in _NUMBERS:
            found = pa.array(list(map(_NUMBERS[name], places.kinds)), types[name])
            return found.take(pa.array(places.kind_of_row))
        match name:
            case "type":
                return _coded(_TYPES, numbers(KIND))
            case "status":
                return _coded(_STATUSES, numbers(STATUS))
            case "operation":
                return _operations(places, numbers(AT), types[name])
            case "column_family":
                return pa.array(numpy.full(len(rows), rows.family), types[name])
            case "block_offset":
                return pa.array(places.offset_of_row, types[name])
        # -1 stands for no number.
        found = numbers({"sequence": SEQUENCE, "superseded_by": NEWER, "entry_offset": AT}[name])
        return pa.array(found.astype(numpy.uint64), types[name], mask=found < 0 if found.min(initial=0) < 0 else None)

    # A batch without columns would have no number of rows: it gets the keys, which `to_arrow` leaves out in the end.
    arrays = [column(name) for name in names] or [texts["key"]]
    return pa.RecordBatch.from_arrays(arrays, names or ["key"]), sizes


def _large(rows: LeveldbRows) -> dict[int, LargeValue]:
    """Return the large values (see the module) by the index of their row."""
    if not has_large(rows):
        return {}
    found = [(row, one.content) for row, one in enumerate(versions_of(rows)) if one.known_value is not None]
    return {row: value for row, value in found if isinstance(value, LargeValue)}


def _absent(rows: LeveldbRows, names: list[str], losses: Counter[str] | None) -> list[int]:
    """Return the indices of rows whose value is above the limit `payload_size`: it becomes null and, with `losses`, is
    counted as lost.
    """
    if losses is None and "value" in names:
        return []  # reading such a value raises the error
    # Also if the column is not wanted, since `_batch` computes the sizes of rows from all values.
    above = [(row, value) for row, value in _large(rows).items() if not value.fits]
    if losses is not None and "value" in names:
        losses.update(f"values above the limit payload_size [{value.refusal().code}]" for _, value in above)
    return [row for row, _ in above]


def _values(rows: LeveldbRows, absent: Collection[int]) -> tuple[Any, bytes]:
    """Return the values of rows in one buffer, and the bounds of each, as int64.

    Large values, which the kernel's buffer does not have, are copied to their places, except those of the rows
    `absent`.  Raises `LimitExceededError` for a value above the limit `payload_size`.
    """
    import numpy

    data, ends = rows.column(True)
    large = {row: value for row, value in _large(rows).items() if row not in absent}
    if not large:
        return data, ends
    bounds = numpy.frombuffer(ends, numpy.int64)
    sizes = numpy.diff(bounds)
    for row, value in large.items():
        sizes[row] = len(value)
    made = numpy.concatenate(([0], numpy.cumsum(sizes)))  # the new bounds: running sums of the sizes
    out, source, before = memoryview(bytearray(int(made[-1]))), memoryview(data), 0
    for row in (*large, len(sizes)):
        # The rows from `before` to the next large value, at once; then that value.
        start, stop = int(bounds[before]), int(bounds[row])
        out[int(made[before]) : int(made[before]) + stop - start] = source[start:stop]
        if row < len(sizes):
            large[row].fill(out[int(made[row]) : int(made[row + 1])])
        before = row + 1
    return out, made.astype(numpy.int64).tobytes()


def _valid(rows: LeveldbRows, absent: Collection[int]) -> Any:
    """Return the validity bitmap of the values (bit 1: has a value, least significant bit first), in which the rows
    `absent` have none; None if all rows have one.
    """
    import numpy

    known = numpy.frombuffer(rows.numbers(STATUS), numpy.int64) != UNRESOLVED
    if any(extra.unresolved is not None for extra in rows.extras.values()):
        # Values that could not be read, although their status is not "unresolved".
        known = numpy.array([one.known_value is not None for one in versions_of(rows)])
    if absent:
        known = known & ~numpy.isin(numpy.arange(len(known)), list(absent))
    return None if known.all() else import_pyarrow().py_buffer(numpy.packbits(known, bitorder="little").tobytes())


def _entities(rows: LeveldbRows, kind: Any) -> Any:
    """The columns of entities by name, as an Arrow array of the type `kind`; null for other rows."""
    found = [one.columns for one in versions_of(rows)]
    return import_pyarrow().array([None if one is None else list(one.items()) for one in found], kind)


class _RowPlaces:
    """Places of rows, where few differ: `kinds` has the distinct places, `kind_of_row` an index into it per row.

    A kind stands for all blocks of a table that are stored with the same codec; a record of a log is a kind of its own.
    `offset_of_row` is the offset in the file of each row's block or record.
    """

    def __init__(self, rows: LeveldbRows) -> None:
        """Collect the distinct places of `rows` (a list) and the kind and offset of each row (NumPy arrays).

        Each origin is a run of blocks of a table with one codec number per block, or a single place in a log (then
        `blocks` is None).
        """
        import numpy

        known: dict[object, int] = {}
        firsts: list[Any] = []
        kinds: list[int] = []
        offsets: list[int] = []

        def kind(what: object, first: Any) -> int:
            """Return the number of the kind that is identified by `what`; `first` is its first place."""
            if what not in known:
                known[what] = len(firsts)
                firsts.append(first)
            return known[what]

        for blocks, origin, codecs in rows.origins:
            if blocks is None or codecs is None:  # a place in a log: both are None
                # Comparing by `id` is safe: each origin exists as long as the rows that refer to it.
                kinds.append(kind(id(origin), origin))
                offsets.append(origin.offset)
                continue
            handles = blocks.handles
            # The kind of each codec; its first place is (table, handle, codec), from which `places_of` makes a `Place`.
            numbers = {
                codec: kind((id(origin), codec), (origin, handles[codecs.index(codec)], codec))
                for codec in dict.fromkeys(codecs)
            }
            kinds += map(numbers.__getitem__, codecs)
            offsets += map(
                origin.source.origin.__add__, handles.offsets
            )  # offsets in the table become those in its file
        # per row: its block or record, numbered across all origins
        which = numpy.frombuffer(rows.numbers(PLACE), numpy.int64)
        self.kinds = places_of(firsts)
        self.kind_of_row = numpy.array(kinds, numpy.int64)[which]
        self.offset_of_row = numpy.array(offsets, numpy.uint64)[which]


def _operations(places: _RowPlaces, offsets: Any, kind: Any) -> Any:
    """Return the number of each row's operation in its write batch, which is found from its offset in the batch; null
    for rows of tables.

    `offsets` are those of the rows' entries (in the batch or block), `kind` is the Arrow type of the result.
    """
    pa = import_pyarrow()
    if all(place.operations is None for place in places.kinds):
        return pa.nulls(len(offsets), kind)
    at = zip(map(places.kinds.__getitem__, places.kind_of_row.tolist()), offsets.tolist(), strict=True)
    return pa.array([operation_of(place, offset) for place, offset in at], kind)


def _coded(words: Iterable[str | None], which: Any) -> Any:
    """Return a dictionary array that has `words[which[i]]` in row i; `which` is a NumPy array."""
    pa = import_pyarrow()
    codes, mask, distinct = _codes(tuple(words))
    return pa.DictionaryArray.from_arrays(pa.array(codes[which], mask=None if mask is None else mask[which]), distinct)


# Batches of one archive mostly have the same few words.
@lru_cache(maxsize=64)
def _codes(words: tuple[str | None, ...]) -> tuple[Any, Any, Any]:
    """The number of each word in a dictionary, which of them are null (None: none), and the dictionary."""
    import numpy

    pa = import_pyarrow()
    distinct = list(dict.fromkeys(word for word in words if word is not None))
    numbers: dict[str | None, int] = {word: number for number, word in enumerate(distinct)}
    codes = numpy.array([numbers.get(word, 0) for word in words], numpy.int32)
    mask = numpy.array([word is None for word in words]) if None in words else None
    return codes, mask, pa.array(distinct, pa.string())


def _in_order(array: Any) -> Any:
    """Return a dictionary array whose dictionary has only the used words, in order of first use.

    This makes the output independent of how batches were joined.
    """
    used = array.indices.dictionary_encode()
    return type(array).from_arrays(used.indices, array.dictionary.take(used.dictionary))


_TYPES: Final = tuple(map(type_name, range(256)))
"""The text of each value type, by its byte."""
_STATUSES: Final = tuple(map(str, Status))
"""The text of each status, by the number that the kernel has for it."""

_WORDS: Final[dict[str, Callable[[Place], str | None]]] = {
    "file": lambda place: plain_text(place.file),
    "checksum": lambda place: str(place.checksum),
    "codec": attrgetter("codec"),
}
"""Text columns that are taken from the place of a row."""
_NUMBERS: Final[dict[str, Callable[[Place], int | None]]] = {
    "level": attrgetter("level"),
    "batch_sequence": attrgetter("batch_sequence"),
    "batch_count": attrgetter("batch_count"),
}
"""Number columns that are taken from the place of a row."""


def _earlier(stop: bytes | None, prefix: bytes | None) -> bytes | None:
    """The smaller of `stop` and the first key after all keys that start with `prefix`."""
    after = beyond(prefix or b"")
    return stop if after is None else after if stop is None else min(stop, after)
