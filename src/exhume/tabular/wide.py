"""Tables with very many columns: rows as maps of the keys that they have, instead of a cell for each row and column.

A table of N rows with N different keys has N times N cells.  Above `WIDEST` columns, exports to targets that can hold
maps have one column for each type of value (`TYPES`) instead, a map from the name of a key to its value.  Each value is
in the map of its own type, so nothing is rounded, and nothing mixed becomes text; keys whose value is null are in no
map.  The note `NOTE` says that this was done.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from exhume.io.jsonout import dump_text, dumps
from exhume.tabular.arrow import BATCH_BYTES, import_pyarrow, plain_text

WIDEST: Final = 4_096
"""Columns of a table at most; with more, rows are maps."""

NOTE: Final = f"more than {WIDEST:,} columns: each row has maps of its keys, one map for each type of value"
"""Note in the report of an export."""

MARK: Final = {b"exhume.rows": b"maps"}
"""The metadata of the schema of such a table."""

TYPES: Final = ("integers", "floats", "booleans", "texts", "arrays")
"""The columns: maps to int64, float64, bool, large_string, and large_string with the JSON text of arrays."""

_INDEX: Final = {bool: 2, int: 0, float: 1, str: 3}
"""The number in `TYPES` of the column for values of a Python type; `_ARRAYS` is that for bytes."""
_INTEGERS, _TEXTS, _ARRAYS = 0, 3, 4
_INT64: Final = range(-(1 << 63), 1 << 63)
"""Integers that the column of integers can store; others are text."""

Pair = tuple[str, Any]
"""The name of a key, and its value: None, a bool, int, float or str, or the JSON text of an array as bytes in UTF-8."""


def schema() -> Any:
    """The `pyarrow.Schema` of the table."""
    pa = import_pyarrow()
    values = (pa.int64(), pa.float64(), pa.bool_(), pa.large_string(), pa.large_string())
    maps = [pa.field(name, pa.map_(pa.string(), value)) for name, value in zip(TYPES, values, strict=True)]
    return pa.schema(maps, metadata=MARK)


def is_wide(found: Any) -> bool:
    """Whether a schema is that of a table of maps."""
    return (found.metadata or {}).items() >= MARK.items()


class _Rows:
    """The rows of one batch."""

    def __init__(self) -> None:
        self.count = self.bytes = 0  # rows, and an estimate of their size
        # For each column, as Arrow stores maps: the keys and values of all rows, and where those of each row begin.
        self.offsets = [array("i", [0]) for _ in TYPES]
        self.keys: list[list[str]] = [[] for _ in TYPES]
        self.values: list[list[Any]] = [[] for _ in TYPES]

    def add(self, row: Iterable[Pair], losses: Counter[str]) -> None:
        """Add one row, each value to the column of its type: long integers as text, null values not at all."""
        for key, value in row:
            if value is None:
                continue
            kind = _INDEX.get(type(value), _ARRAYS)
            if kind == _ARRAYS:
                value, self.bytes = value.decode(), self.bytes + len(value)
            elif kind == _TEXTS:
                self.bytes += len(value)
                value = plain_text(value, losses)
            elif kind == _INTEGERS and value not in _INT64:
                kind, value = _TEXTS, str(value)
            self.bytes += len(key) + 12  # an offset of the key, and a value or its offset
            self.keys[kind].append(key)
            self.values[kind].append(value)
        for offsets, keys in zip(self.offsets, self.keys, strict=True):
            offsets.append(len(keys))
        self.count += 1
        self.bytes += 4 * len(TYPES)  # an offset of the row in each column

    def batch(self, pa: Any, made: Any) -> Any:
        """Return the rows as an Arrow batch with one map column per kind of value; `made` is `schema()`."""
        arrays = []
        for kind, field in enumerate(made):
            offsets = pa.array(self.offsets[kind], pa.int32())
            keys = pa.array(self.keys[kind], pa.string())
            values = pa.array(self.values[kind], field.type.item_type)
            arrays.append(pa.MapArray.from_arrays(offsets, keys, values))
        return pa.RecordBatch.from_arrays(arrays, schema=made)


def batches(rows: Iterable[Iterable[Pair]], batch_rows: int, losses: Counter[str]) -> Iterator[Any]:
    """Rows as record batches of `schema()`; each has at most `batch_rows` rows, and ends with the row that makes it 16
    MiB.  An error of `rows` is raised after a batch of the rows before it.

    Strings that Arrow cannot store as they are, because they are not UTF-8, are counted in `losses`.
    """
    pa = import_pyarrow()
    made, held, found = schema(), _Rows(), iter(rows)
    error: Exception | None = None
    while error is None:
        try:
            row = next(found, None)
        except Exception as problem:
            error, row = problem, None
        if row is None:
            break
        held.add(row, losses)
        if held.count >= batch_rows or held.bytes >= BATCH_BYTES:
            yield held.batch(pa, made)
            held = _Rows()
    if held.count:
        yield held.batch(pa, made)
    if error is not None:
        raise error


def lines_of(batch: Any) -> bytes:
    """The rows of a batch as JSON lines: objects of the keys that they have."""
    rows: list[list[str]] = [[] for _ in range(batch.num_rows)]
    for column in batch.columns:
        for row, pairs in zip(rows, column.to_pylist(), strict=True):
            row += (f"{dump_text(key)}:{dumps(value)}" for key, value in pairs)
    return "".join(f"{{{','.join(row)}}}\n" for row in rows).encode("ascii")
