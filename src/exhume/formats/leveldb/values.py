"""Values that are not the bytes of one version: merge operands, entities of columns, references to blob files.

Spec: RocksDB db/merge_helper.cc, db/wide/wide_column_serialization.h, db/seqno_to_time_mapping.cc (timed puts).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from exhume.formats.leveldb.layout import LayoutError, read_leveldb_varint
from exhume.formats.leveldb.model import ValueTypes
from exhume.formats.leveldb.operators import Operator
from exhume.io.values import LargeValue, whole

Versions = Sequence[tuple[int, bytes | LargeValue]]
"""Types and bytes of versions of one key, newest first: merge operands, and last the version that they apply to."""
Resolver = Callable[[int, bytes, Versions], bytes | LargeValue | None]
"""Returns the value that versions of a key make in a column family; None when it cannot be determined."""
Blobs = Callable[[bytes, bytes], bytes | LargeValue]
"""Returns the value in a blob file that an entry of a key refers to; raises when it cannot be read."""

_WRITE_TIME = 8  # bytes
MOST_COLUMNS = 1 << 16


def resolver_of(operators: Mapping[int, Operator], blobs: Blobs) -> Resolver:
    """A resolver that knows the merge operators of the column families, by their numbers, and the blob files.

    It raises what keeps a value in a blob file from being read, and `LimitExceededError` for a value above the limit
    `payload_size` that merge operands apply to.
    """

    def resolve(family: int, key: bytes, versions: Versions) -> bytes | LargeValue | None:
        operands = [whole(value) for kind, value in versions if kind == ValueTypes.MERGE]
        base: bytes | LargeValue | None = None
        if len(operands) < len(versions):
            kind, stored = versions[-1]
            if kind == ValueTypes.BLOB_INDEX:
                base = blobs(key, whole(stored))
            else:
                base = stored if kind == ValueTypes.VALUE else plain_value(kind, whole(stored))
            if base is None or not operands:
                return base
        operator = operators.get(family)
        if operator is None or operator.merge is None:
            return None
        return operator.merge(None if base is None else whole(base), operands[::-1])

    return resolve


def plain_value(kind: int, stored: bytes) -> bytes | None:
    """The value of a version that is neither a merge operand nor in a blob file; None when it cannot be determined."""
    match kind:
        case ValueTypes.VALUE:
            return stored
        case ValueTypes.VALUE_PREFERRED_SEQNO:
            return stored[:-_WRITE_TIME] if len(stored) >= _WRITE_TIME else None
        case ValueTypes.WIDE_COLUMN_ENTITY:
            columns = entity_columns(stored)
            return None if columns is None else columns.get(b"", b"")
        case _:
            return None


def entity_columns(stored: bytes) -> dict[bytes, bytes] | None:
    """The columns of an entity by name; None if the version is not 1 or the entity cannot be read.

    The column without a name has the value that the key has for readers who know no columns.
    """
    end = len(stored)
    try:
        version, at = read_leveldb_varint(stored, 0, end)
        count, at = read_leveldb_varint(stored, at, end)
        if version != 1 or count > min(end, MOST_COLUMNS):
            return None
        names: list[bytes] = []
        sizes: list[int] = []
        for _ in range(count):
            size, at = read_leveldb_varint(stored, at, end)
            if size > end - at or (names and stored[at : at + size] <= names[-1]):
                return None
            names.append(stored[at : at + size])
            size, at = read_leveldb_varint(stored, at + size, end)
            sizes.append(size)
    except LayoutError:
        return None
    if sum(sizes) != end - at:
        return None
    out: dict[bytes, bytes] = {}
    for name, size in zip(names, sizes, strict=True):
        out[name] = stored[at : at + size]
        at += size
    return out
