"""Compiled from ksy/leveldb_block.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct
from array import array

from ._layout import LayoutError, View, native, numbers, short
from .leveldb_varint import read_leveldb_varint

_unpack0 = struct.Struct("<I").unpack_from
_unpack1 = struct.Struct("<H").unpack_from


class LeveldbBlock:
    """Sorted entries with shared key prefixes, and offsets where the sharing starts again. Data, index, metaindex and
    properties blocks have this form; filter blocks have their own, and so have RocksDB's index blocks from version
    4.

    Keys are internal keys in data blocks and, as a rule, in index blocks; plain names in metaindex and properties
    blocks. An index entry's value is a block handle.
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


def read_leveldb_block(view: View, at: int, end: int, base: int | None = None) -> tuple[LeveldbBlock, int]:
    """`leveldb_block` at `at`, and where it ends. Raises `LayoutError`."""
    value = LeveldbBlock()
    if base is None:
        base = at
    value._io = (view, base, end)
    return value, at


class EntryList:
    """Entries back to back, up to the restarts."""
    __slots__ = ('entries',)
    entries: EntryColumns


def read_entry_list(view: View, at: int, end: int) -> tuple[EntryList, int]:
    """`leveldb_block::entry_list` at `at`, and where it ends. Raises `LayoutError`."""
    value = EntryList()
    entries = scan_entry(view, at, end)
    if entries.problem is not None:
        entries.problem.within("entries")
        raise entries.problem
    at = entries.resume_at
    value.entries = entries
    return value, at


class Entry:
    """A key, which may share its first bytes with the previous key, and a value."""
    __slots__ = ('len_shared', 'len_key_suffix', 'len_value', 'key_suffix', 'value')
    len_shared: int
    """Bytes that the key has in common with the one before."""
    len_key_suffix: int
    len_value: int
    key_suffix: View
    """The rest of the key."""
    value: EntryValue


def read_entry(view: View, at: int, end: int) -> tuple[Entry, int]:
    """`leveldb_block::entry` at `at`, and where it ends. Raises `LayoutError`."""
    value = Entry()
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
    key_suffix = view[at : at + len_key_suffix]
    at += len_key_suffix
    value.key_suffix = key_suffix
    if not 0 <= len_value <= end - at:
        raise short("value", at, end, len_value)
    stop = at + len_value
    try:
        value_, _ = read_entry_value(view, at, stop, at)
    except LayoutError as error:
        error.within("value")
        raise
    at = stop
    value.value = value_
    return value, at


class EntryColumns:
    """Many `leveldb_block::entry`, one column per field; see `scan_entry`."""
    __slots__ = ('view', 'end', 'at', 'problem', 'resume_at', 'len_shared', 'len_value', 'key_suffix_start', 'key_suffix_end', 'value_data_start', 'value_data_end')

    def __init__(self, view: View, end: int) -> None:
        self.view: View = view
        self.end: int = end
        self.at: array[int] = array("q")
        """Where each element begins."""
        self.problem: LayoutError | None = None
        """What does not fit; None when all does."""
        self.resume_at: int = end
        """Where what follows the last element begins."""
        self.len_shared: array[int] = array("Q")
        self.len_value: array[int] = array("Q")
        self.key_suffix_start: array[int] = array("q")
        self.key_suffix_end: array[int] = array("q")
        self.value_data_start: array[int] = array("q")
        self.value_data_end: array[int] = array("q")

    def __len__(self) -> int:
        return len(self.at)

    def __getitem__(self, index: int) -> Entry:
        """One element as an object."""
        return read_entry(self.view, self.at[index], self.end)[0]

    def key_suffix(self, index: int) -> View:
        """The bytes of one element."""
        return self.view[self.key_suffix_start[index] : self.key_suffix_end[index]]

    def value_data(self, index: int) -> View:
        """The bytes of one element."""
        return self.view[self.value_data_start[index] : self.value_data_end[index]]


def scan_entry(view: View, at: int, end: int, count: int | None = None) -> EntryColumns:
    """The `leveldb_block::entry` from `at` to `end`, or `count` of them, as columns; does not raise, see `problem`."""
    columns = EntryColumns(view, end)
    if native is not None:
        at = native.leveldb_block_entry(columns, view, at, end, -1 if count is None else min(count, end))
    first = at
    add_at = columns.at.append
    add_len_shared = columns.len_shared.append
    add_len_value = columns.len_value.append
    add_key_suffix_start = columns.key_suffix_start.append
    add_key_suffix_end = columns.key_suffix_end.append
    add_value_data_start = columns.value_data_start.append
    add_value_data_end = columns.value_data_end.append
    try:
        while at < end if count is None else len(columns.at) < count:
            first = at
            if at < end and (len_shared := view[at]) < 0x80:
                at += 1
            else:
                try:
                    len_shared, at = read_leveldb_varint(view, at, end)
                except LayoutError as error:
                    error.within("len_shared")
                    raise
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
            at_key_suffix = at
            if not 0 <= len_key_suffix <= end - at:
                raise short("key_suffix", at, end, len_key_suffix)
            at = end_key_suffix = at + len_key_suffix
            if not 0 <= len_value <= end - at:
                raise short("value", at, end, len_value)
            rest_value_ = end
            end = at + len_value
            at_value_data = at
            at = end_value_data = max(at, end)
            at = end
            end = rest_value_
            add_at(first)
            add_len_shared(len_shared)
            add_len_value(len_value)
            add_key_suffix_start(at_key_suffix)
            add_key_suffix_end(end_key_suffix)
            add_value_data_start(at_value_data)
            add_value_data_end(end_value_data)
    except LayoutError as error:
        error.within(f"[{len(columns.at)}]")
        columns.problem = error.with_traceback(None)  # a traceback holds this call, and so the columns
        columns.resume_at = first
    else:
        columns.resume_at = at
    return columns


class EntryValue:
    """A stream of its own, so that other schemas can open it."""
    __slots__ = ('data', '_io')
    data: View
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]


def read_entry_value(view: View, at: int, end: int, base: int | None = None) -> tuple[EntryValue, int]:
    """`leveldb_block::entry_value` at `at`, and where it ends. Raises `LayoutError`."""
    value = EntryValue()
    if base is None:
        base = at
    value._io = (view, base, end)
    data = view[at:end]
    at = max(at, end)
    value.data = data
    return value, at
