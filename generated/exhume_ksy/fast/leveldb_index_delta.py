"""Compiled from ksy/leveldb_index_delta.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import sys
import struct
from array import array

from ._layout import LayoutError, View, short
from .leveldb_block_handle import read_leveldb_block_handle
from .leveldb_varint import read_leveldb_varint

_STRUCT0 = struct.Struct("<I")


class LeveldbIndexDelta:
    """The index of a RocksDB table from version 4 (property `rocksdb.index.value.is.delta.encoded`). Entries have no
    value length. At a restart the value is a whole block handle; elsewhere it is how much longer the block is than
    the one before, and the block starts right behind it.
    """
    __slots__ = ('_num_restarts', '_ofs_restarts', '_entries', '_restarts', '_io')

    @property
    def num_restarts(self) -> int:
        try:
            return self._num_restarts
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + end - base - 4
        if at < base:
            raise LayoutError("num_restarts", base, "a position in the stream", at - base)
        if end - at < 4:
            raise short("num_restarts", at, end, 4)
        (num_restarts,) = _STRUCT0.unpack_from(view, at)
        at += 4
        self._num_restarts = num_restarts
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
    def restarts(self) -> array[int]:
        try:
            return self._restarts
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + self.ofs_restarts
        if at < base:
            raise LayoutError("restarts", base, "a position in the stream", at - base)
        many = max(0, self.num_restarts)
        if many > (end - at) // 4:
            many = max(0, end - at) // 4
            raise short(f"restarts[{many}]", at + many * 4, end, 4)
        restarts = array("I", bytes(view[at : at + many * 4]))
        if sys.byteorder == "big":
            restarts.byteswap()
        at += many * 4
        self._restarts = restarts
        return self._restarts


def read_leveldb_index_delta(view: View, at: int, end: int, base: int | None = None) -> tuple[LeveldbIndexDelta, int]:
    """`leveldb_index_delta` at `at`, and where it ends. Raises `LayoutError`."""
    value = LeveldbIndexDelta()
    if base is None:
        base = at
    value._io = (view, base, end)
    return value, at


class EntryList:
    """Entries one after the other, up to the restarts."""
    __slots__ = ('entries',)
    entries: list[Entry]


def read_entry_list(view: View, at: int, end: int) -> tuple[EntryList, int]:
    """`leveldb_index_delta::entry_list` at `at`, and where it ends. Raises `LayoutError`."""
    value = EntryList()
    entries = []
    try:
        while at < end:
            one, at = read_entry(view, at, end)
            entries.append(one)
    except LayoutError as error:
        error.within(f"entries[{len(entries)}]")
        raise
    value.entries = entries
    return value, at


class Entry:
    """A key not below the last one of a data block, and where that block is."""
    __slots__ = ('len_shared', 'len_key_suffix', 'key_suffix', 'handle', 'raw_delta')
    len_shared: int
    len_key_suffix: int
    key_suffix: View
    handle: LeveldbBlockHandle | None
    raw_delta: int | None
    """Zigzag; 0, 1, 2, 3 stand for 0, -1, 1, -2."""


def read_entry(view: View, at: int, end: int) -> tuple[Entry, int]:
    """`leveldb_index_delta::entry` at `at`, and where it ends. Raises `LayoutError`."""
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
        raise LayoutError("len_key_suffix", start, '_.value <= _io.size - _io.pos', len_key_suffix)
    value.len_key_suffix = len_key_suffix
    key_suffix = view[at : at + len_key_suffix]
    at += len_key_suffix
    value.key_suffix = key_suffix
    if len_shared == 0:
        try:
            handle, at = read_leveldb_block_handle(view, at, end)
        except LayoutError as error:
            error.within("handle")
            raise
    else:
        handle = None
    value.handle = handle
    if len_shared != 0:
        if at < end and (raw_delta := view[at]) < 0x80:
            at += 1
        else:
            try:
                raw_delta, at = read_leveldb_varint(view, at, end)
            except LayoutError as error:
                error.within("raw_delta")
                raise
    else:
        raw_delta = None
    value.raw_delta = raw_delta
    return value, at
