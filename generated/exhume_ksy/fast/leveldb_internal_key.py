"""Compiled from ksy/leveldb_internal_key.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import View, native, short

_unpack0 = struct.Struct("<BIHB").unpack_from


class LeveldbInternalKey:
    """The key under which tables and manifests file an entry: the key the user gave, then eight bytes that hold the
    sequence number of the write and what it was.

    Sorted by user key ascending, then by sequence descending, so that the newest version of a key comes first.
    """
    __slots__ = ('user_key', 'value_type', 'sequence_lo', 'sequence_hi', 'sequence_top', '_sequence')
    user_key: View
    """What the user of the database calls the entry."""
    value_type: int
    """The low eight bits of the packed number."""
    sequence_lo: int
    """Bits 0 to 31 of the sequence number."""
    sequence_hi: int
    """Bits 32 to 47 of the sequence number."""
    sequence_top: int
    """Bits 48 to 55 of the sequence number."""

    @property
    def sequence(self) -> int:
        """Number of the write, growing by one per operation in LevelDB and RocksDB, by one per batch in dacha."""
        try:
            return self._sequence
        except AttributeError:
            pass
        self._sequence = self.sequence_lo + self.sequence_hi * 0x100000000 + self.sequence_top * 0x1000000000000
        return self._sequence


def read_leveldb_internal_key(view: View, at: int, end: int, base: int | None = None) -> tuple[LeveldbInternalKey, int]:
    """`leveldb_internal_key` at `at`, and where it ends. Raises `LayoutError`."""
    value = LeveldbInternalKey()
    if base is None:
        base = at
    size = end - base - 8
    if not 0 <= size <= end - at:
        raise short("user_key", at, end, size)
    user_key = view[at : at + size]
    at += size
    value.user_key = user_key
    if end - at < 8:
        raise short((("value_type", 1), ("sequence_lo", 5), ("sequence_hi", 7), ("sequence_top", 8),), at, end, 8)
    value_type, sequence_lo, sequence_hi, sequence_top = _unpack0(view, at)
    at += 8
    value.value_type = value_type
    value.sequence_lo = sequence_lo
    value.sequence_hi = sequence_hi
    value.sequence_top = sequence_top
    return value, at


def flat_leveldb_internal_key(view: View, at: int, end: int) -> tuple[int, int, int, int, int, int, int]:
    """Where the `leveldb_internal_key` at `at` ends, and its fields: user_key_start, user_key_end, value_type,
    sequence_lo, sequence_hi, sequence_top. Raises `LayoutError`.
    """
    base = at
    if native is not None and (found := native.flat_leveldb_internal_key(view, at, end)) is not None:
        return found
    at_user_key = at
    size = end - base - 8
    if not 0 <= size <= end - at:
        raise short("user_key", at, end, size)
    at = end_user_key = at + size
    if end - at < 8:
        raise short((("value_type", 1), ("sequence_lo", 5), ("sequence_hi", 7), ("sequence_top", 8),), at, end, 8)
    value_type, sequence_lo, sequence_hi, sequence_top = _unpack0(view, at)
    at += 8
    return at, at_user_key, end_user_key, value_type, sequence_lo, sequence_hi, sequence_top
