"""Compiled from ksy/leveldb_index_first_key.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, numbers, short
from .leveldb_bytes import read_leveldb_bytes
from .leveldb_index_delta import read_entry

_unpack0 = struct.Struct("<I").unpack_from


class LeveldbIndexFirstKey:
    """The index of a RocksDB table from version 4 whose type is `kBinarySearchWithFirstKey` (property
    `rocksdb.block.based.table.index.type`): `leveldb_index_delta.ksy` with the first key of the data block after
    each entry.
    """
    __slots__ = ('_packed_num_restarts', '_num_restarts', '_ofs_restarts', '_entries', '_restarts', '_io')
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def packed_num_restarts(self) -> int:
        """The number of restarts, with the flag of `leveldb_index_delta.ksy`."""
        try:
            return self._packed_num_restarts
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + end - base - 4
        if at < base:
            raise LayoutError("packed_num_restarts", base, end, "a position in the stream", at - base)
        if end - at < 4:
            raise short("packed_num_restarts", at, end, 4)
        (packed_num_restarts,) = _unpack0(view, at)
        at += 4
        if not (packed_num_restarts < 0x40000000 and packed_num_restarts % 0x20000000 < 0x10000000):
            raise LayoutError("packed_num_restarts", at - 4, at, '_ < 0x40000000 and _ % 0x20000000 < 0x10000000', packed_num_restarts)
        self._packed_num_restarts = packed_num_restarts
        return self._packed_num_restarts

    @property
    def num_restarts(self) -> int:
        try:
            return self._num_restarts
        except AttributeError:
            pass
        self._num_restarts = self.packed_num_restarts % 0x10000000
        return self._num_restarts

    @property
    def ofs_restarts(self) -> int:
        try:
            return self._ofs_restarts
        except AttributeError:
            pass
        view, base, end = self._io
        self._ofs_restarts = end - base - 4 - 4 * self.num_restarts
        return self._ofs_restarts

    @property
    def entries(self) -> EntryList:
        try:
            return self._entries
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + 0
        size = self.ofs_restarts
        if not 0 <= size <= max(0, end - at):
            raise short("entries", at, end, size)
        stop = at + size
        try:
            entries, _ = read_entry_list(view, at, stop)
        except LayoutError as error:
            error.within("entries")
            raise
        at = stop
        self._entries = entries
        return self._entries

    @property
    def restarts(self) -> memoryview[int]:
        """Offsets of entries that spell out their whole key; the first is 0."""
        try:
            return self._restarts
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + self.ofs_restarts
        if at < base:
            raise LayoutError("restarts", base, end, "a position in the stream", at - base)
        many = max(0, self.num_restarts)
        if many > (end - at) // 4:
            many = max(0, end - at) // 4
            raise short(f"restarts[{many}]", at + many * 4, end, 4)
        restarts = numbers(view, at, many * 4, "I", "little")
        at += many * 4
        self._restarts = restarts
        return self._restarts


def read_leveldb_index_first_key(view: View, at: int, end: int, base: int | None = None) -> tuple[LeveldbIndexFirstKey, int]:
    """`leveldb_index_first_key` at `at`, and where it ends. Raises `LayoutError`."""
    value = LeveldbIndexFirstKey()
    if base is None:
        base = at
    value._io = (view, base, end)
    return value, at


class EntryList:
    """Entries in sequence, up to the restarts."""
    __slots__ = ('entries',)
    entries: list[KeyedEntry]


def read_entry_list(view: View, at: int, end: int) -> tuple[EntryList, int]:
    """`leveldb_index_first_key::entry_list` at `at`, and where it ends. Raises `LayoutError`."""
    value = EntryList()
    entries = []
    try:
        while at < end:
            one, at = read_keyed_entry(view, at, end)
            entries.append(one)
    except LayoutError as error:
        error.within(f"entries[{len(entries)}]")
        raise
    value.entries = entries
    return value, at


class KeyedEntry:
    """An entry as without first keys, and the first key of its data block."""
    __slots__ = ('entry', 'first_key')
    entry: Entry
    first_key: LeveldbBytes
    """An internal key, which spares reading the block while files are merged."""


def read_keyed_entry(view: View, at: int, end: int) -> tuple[KeyedEntry, int]:
    """`leveldb_index_first_key::keyed_entry` at `at`, and where it ends. Raises `LayoutError`."""
    value = KeyedEntry()
    try:
        entry, at = read_entry(view, at, end)
    except LayoutError as error:
        error.within("entry")
        raise
    value.entry = entry
    try:
        first_key, at = read_leveldb_bytes(view, at, end)
    except LayoutError as error:
        error.within("first_key")
        raise
    value.first_key = first_key
    return value, at
