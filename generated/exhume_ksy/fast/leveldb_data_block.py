"""Compiled from ksy/leveldb_data_block.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, numbers, short
from .leveldb_varint import read_leveldb_varint

_unpack0 = struct.Struct("<I").unpack_from
_unpack1 = struct.Struct("<H").unpack_from


class LeveldbDataBlock:
    """The layout of `leveldb_block` with the keys reassembled: entries sorted by internal key, each without the prefix
    that it shares with the previous key, except at a restart.
    """
    __slots__ = ('_packed_num_restarts', '_has_hash_index', '_is_uniform', '_num_restarts', '_num_buckets', '_ofs_restarts', '_entries', '_restarts', '_buckets', '_io')
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def packed_num_restarts(self) -> int:
        """The number of restarts, in RocksDB with flags in the four highest bits. Bit 28 means that keys and values are
        stored apart, bit 30 has no meaning yet: neither layout is this one.
        """
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
        if not (packed_num_restarts % 0x80000000 < 0x40000000 and packed_num_restarts % 0x20000000 < 0x10000000):
            raise LayoutError("packed_num_restarts", at - 4, at, '_ % 0x80000000 < 0x40000000 and _ % 0x20000000 < 0x10000000', packed_num_restarts)
        self._packed_num_restarts = packed_num_restarts
        return self._packed_num_restarts

    @property
    def has_hash_index(self) -> bool:
        """RocksDB; a table of buckets is stored between the restarts and their number."""
        try:
            return self._has_hash_index
        except AttributeError:
            pass
        self._has_hash_index = self.packed_num_restarts >= 0x80000000
        return self._has_hash_index

    @property
    def is_uniform(self) -> bool:
        """RocksDB; keys are spread so evenly that a position can be guessed."""
        try:
            return self._is_uniform
        except AttributeError:
            pass
        self._is_uniform = self.packed_num_restarts % 0x40000000 >= 0x20000000
        return self._is_uniform

    @property
    def num_restarts(self) -> int:
        try:
            return self._num_restarts
        except AttributeError:
            pass
        self._num_restarts = self.packed_num_restarts % 0x10000000
        return self._num_restarts

    @property
    def num_buckets(self) -> int | None:
        try:
            return self._num_buckets
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.has_hash_index):
            self._num_buckets = None
            return None
        at = base + end - base - 6
        if at < base:
            raise LayoutError("num_buckets", base, end, "a position in the stream", at - base)
        start = at
        if end - at < 2:
            raise short("num_buckets", at, end, 2)
        (num_buckets,) = _unpack1(view, at)
        at += 2
        if num_buckets > end - base - 6:
            raise LayoutError("num_buckets", start, at, f"at most {end - base - 6}", num_buckets)
        self._num_buckets = num_buckets
        return self._num_buckets

    @property
    def ofs_restarts(self) -> int:
        try:
            return self._ofs_restarts
        except AttributeError:
            pass
        view, base, end = self._io
        self._ofs_restarts = end - base - 4 - 4 * self.num_restarts - (2 + self.num_buckets if self.has_hash_index else 0)
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
            entries, _ = read_entry_list(view, at, stop, at)
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

    @property
    def buckets(self) -> View | None:
        """Per bucket the number of a restart, 254 for several, 255 for none."""
        try:
            return self._buckets
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.has_hash_index):
            self._buckets = None
            return None
        at = base + self.ofs_restarts + 4 * self.num_restarts
        if at < base:
            raise LayoutError("buckets", base, end, "a position in the stream", at - base)
        size = self.num_buckets
        if not 0 <= size <= max(0, end - at):
            raise short("buckets", at, end, size)
        buckets = view[at : at + size]
        at += size
        self._buckets = buckets
        return self._buckets


def read_leveldb_data_block(view: View, at: int, end: int, base: int | None = None) -> tuple[LeveldbDataBlock, int]:
    """`leveldb_data_block` at `at`, and where it ends. Raises `LayoutError`."""
    value = LeveldbDataBlock()
    if base is None:
        base = at
    value._io = (view, base, end)
    return value, at


class EntryList:
    """Entries back to back, up to the restarts."""
    __slots__ = ('entries',)
    entries: list[Entry]


def read_entry_list(view: View, at: int, end: int, base: int | None = None) -> tuple[EntryList, int]:
    """`leveldb_data_block::entry_list` at `at`, and where it ends. Raises `LayoutError`."""
    value = EntryList()
    if base is None:
        base = at
    entries = value.entries = []
    try:
        while at < end:
            one, at = read_entry(view, at, end, base, value, len(entries))
            entries.append(one)
    except LayoutError as error:
        del value.entries
        error.within(f"entries[{len(entries)}]")
        raise
    value.entries = entries
    return value, at


class Entry:
    """A version of a key, or the mark that it was deleted."""
    __slots__ = ('number', 'len_shared', 'len_key_suffix', 'len_value', 'key_suffix', 'value', '_key', '_user_key', '_key_parts', '_io', '_parent')
    number: int
    """Position of the entry in the block."""
    len_shared: int
    """Bytes that the key has in common with the one before."""
    len_key_suffix: int
    """Bytes of the key that follow here."""
    len_value: int
    """Bytes of the value."""
    key_suffix: KeySuffix
    """The rest of the key."""
    value: View
    """What the key stands for; empty when it was deleted."""
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def key(self) -> str:
        """The whole key, each byte as the character of that number."""
        try:
            return self._key
        except AttributeError:
            pass
        self._key = self.key_suffix.text if self.len_shared == 0 or self.number == 0 else self._parent.entries[self.number - 1].key[0:self.len_shared] + self.key_suffix.text
        return self._key

    @property
    def user_key(self) -> str:
        """The same without the eight bytes of type and sequence number."""
        try:
            return self._user_key
        except AttributeError:
            pass
        self._user_key = self.key if len(self.key) < 8 else self.key[0:len(self.key) - 8]
        return self._user_key

    @property
    def key_parts(self) -> LeveldbInternalKey | None:
        """Offset of the type and the sequence number, after the part of the user's key that is not shared."""
        try:
            return self._key_parts
        except AttributeError:
            pass
        from .leveldb_internal_key import read_leveldb_internal_key
        view, base, end = self._io
        if not (self.len_key_suffix >= 8):
            self._key_parts = None
            return None
        view, base, end = self.key_suffix._io
        at = base + 0
        try:
            key_parts, _ = read_leveldb_internal_key(view, at, end, at)
        except LayoutError as error:
            error.within("key_parts")
            raise
        at = max(at, end)
        self._key_parts = key_parts
        return self._key_parts


def read_entry(view: View, at: int, end: int, base: int | None, parent: EntryList | None, number: int) -> tuple[Entry, int]:
    """`leveldb_data_block::entry` at `at`, and where it ends. Raises `LayoutError`."""
    value = Entry()
    if base is None:
        base = at
    value._io = (view, base, end)
    value._parent = parent
    value.number = number
    if at < end and (len_shared := view[at]) < 0x80:
        at += 1
    else:
        try:
            len_shared, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("len_shared")
            raise
    value.len_shared = len_shared
    start = at
    if at < end and (len_key_suffix := view[at]) < 0x80:
        at += 1
    else:
        try:
            len_key_suffix, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("len_key_suffix")
            raise
    if len_key_suffix > end - at:
        raise LayoutError("len_key_suffix", start, at, f"at most {end - at}", len_key_suffix)
    value.len_key_suffix = len_key_suffix
    start = at
    if at < end and (len_value := view[at]) < 0x80:
        at += 1
    else:
        try:
            len_value, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("len_value")
            raise
    if len_value > end - at - len_key_suffix:
        raise LayoutError("len_value", start, at, f"at most {end - at - len_key_suffix}", len_value)
    value.len_value = len_value
    if not 0 <= len_key_suffix <= end - at:
        raise short("key_suffix", at, end, len_key_suffix)
    stop = at + len_key_suffix
    try:
        key_suffix, _ = read_key_suffix(view, at, stop, at)
    except LayoutError as error:
        error.within("key_suffix")
        raise
    at = stop
    value.key_suffix = key_suffix
    if not 0 <= len_value <= end - at:
        raise short("value", at, end, len_value)
    value_ = view[at : at + len_value]
    at += len_value
    value.value = value_
    return value, at


class KeySuffix:
    """The bytes of a key that differ from the key before."""
    __slots__ = ('bytes', '_text', '_io')
    bytes: View
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def text(self) -> str:
        """The same, each byte as the character of that number."""
        try:
            return self._text
        except AttributeError:
            pass
        self._text = str(self.bytes, 'ISO-8859-1')
        return self._text


def read_key_suffix(view: View, at: int, end: int, base: int | None = None) -> tuple[KeySuffix, int]:
    """`leveldb_data_block::key_suffix` at `at`, and where it ends. Raises `LayoutError`."""
    value = KeySuffix()
    if base is None:
        base = at
    value._io = (view, base, end)
    bytes = view[at:end]
    at = max(at, end)
    value.bytes = bytes
    return value, at
