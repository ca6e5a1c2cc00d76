"""Compiled from ksy/leveldb_index_delta.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct
from array import array

from ._layout import LayoutError, View, native, numbers, short
from .leveldb_block_handle import read_leveldb_block_handle
from .leveldb_varint import read_leveldb_varint

_unpack0 = struct.Struct("<I").unpack_from


class LeveldbIndexDelta:
    """The index of a RocksDB table from version 4 (property `rocksdb.index.value.is.delta.encoded`). Entries have no
    value length. At a restart the value is a whole block handle; elsewhere it is how much longer the block is than
    the one before, and the block starts right after it.
    """
    __slots__ = ('_packed_num_restarts', '_num_restarts', '_ofs_restarts', '_entries', '_restarts', '_io')
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def packed_num_restarts(self) -> int:
        """The number of restarts, with a flag: bit 29 says that keys are spread so evenly that a position can be guessed.
        The other high bits are not used in an index.
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


def read_leveldb_index_delta(view: View, at: int, end: int, base: int | None = None) -> tuple[LeveldbIndexDelta, int]:
    """`leveldb_index_delta` at `at`, and where it ends. Raises `LayoutError`."""
    value = LeveldbIndexDelta()
    if base is None:
        base = at
    value._io = (view, base, end)
    return value, at


class EntryList:
    """Entries back to back, up to the restarts."""
    __slots__ = ('entries',)
    entries: EntryColumns


def read_entry_list(view: View, at: int, end: int) -> tuple[EntryList, int]:
    """`leveldb_index_delta::entry_list` at `at`, and where it ends. Raises `LayoutError`."""
    value = EntryList()
    entries = scan_entry(view, at, end)
    if entries.problem is not None:
        entries.problem.within("entries")
        raise entries.problem
    at = entries.resume_at
    value.entries = entries
    return value, at


class Entry:
    """A key not below the last one of a data block, and where that block is."""
    __slots__ = ('len_shared', 'len_key_suffix', 'key_suffix', 'handle', 'raw_delta')
    len_shared: int
    len_key_suffix: int
    key_suffix: View
    """The rest of the key."""
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
        raise LayoutError("len_key_suffix", start, at, f"at most {end - at}", len_key_suffix)
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


class EntryColumns:
    """Many `leveldb_index_delta::entry`, one column per field; see `scan_entry`."""
    __slots__ = ('view', 'end', 'at', 'problem', 'resume_at', 'len_shared', 'key_suffix_start', 'key_suffix_end', 'handle_ofs_block', 'handle_len_block', 'raw_delta')

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
        self.key_suffix_start: array[int] = array("q")
        self.key_suffix_end: array[int] = array("q")
        self.handle_ofs_block: array[int] = array("Q")
        self.handle_len_block: array[int] = array("Q")
        self.raw_delta: array[int] = array("Q")

    def __len__(self) -> int:
        return len(self.at)

    def __getitem__(self, index: int) -> Entry:
        """One element as an object."""
        return read_entry(self.view, self.at[index], self.end)[0]

    def key_suffix(self, index: int) -> View:
        """The bytes of one element."""
        return self.view[self.key_suffix_start[index] : self.key_suffix_end[index]]


def scan_entry(view: View, at: int, end: int, count: int | None = None) -> EntryColumns:
    """The `leveldb_index_delta::entry` from `at` to `end`, or `count` of them, as columns; does not raise, see
    `problem`.
    """
    columns = EntryColumns(view, end)
    if native is not None:
        at = native.leveldb_index_delta_entry(columns, view, at, end, -1 if count is None else min(count, end))
    first = at
    add_at = columns.at.append
    add_len_shared = columns.len_shared.append
    add_key_suffix_start = columns.key_suffix_start.append
    add_key_suffix_end = columns.key_suffix_end.append
    add_handle_ofs_block = columns.handle_ofs_block.append
    add_handle_len_block = columns.handle_len_block.append
    add_raw_delta = columns.raw_delta.append
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
            at_key_suffix = at
            at = end_key_suffix = at + len_key_suffix
            if len_shared == 0:
                start = at
                if at < end and (handle_ofs_block := view[at]) < 0x80:
                    at += 1
                else:
                    try:
                        handle_ofs_block, at = read_leveldb_varint(view, at, end)
                    except LayoutError as error:
                        error.within("handle.ofs_block")
                        raise
                if handle_ofs_block > 0x7fffffffffffffff:
                    raise LayoutError("handle.ofs_block", start, at, f"at most {0x7fffffffffffffff}", handle_ofs_block)
                start = at
                if at < end and (handle_len_block := view[at]) < 0x80:
                    at += 1
                else:
                    try:
                        handle_len_block, at = read_leveldb_varint(view, at, end)
                    except LayoutError as error:
                        error.within("handle.len_block")
                        raise
                if handle_len_block > 0x7fffffffffffffff:
                    raise LayoutError("handle.len_block", start, at, f"at most {0x7fffffffffffffff}", handle_len_block)
            else:
                handle_ofs_block = handle_len_block = 0
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
                raw_delta = 0
            add_at(first)
            add_len_shared(len_shared)
            add_key_suffix_start(at_key_suffix)
            add_key_suffix_end(end_key_suffix)
            add_handle_ofs_block(handle_ofs_block)
            add_handle_len_block(handle_len_block)
            add_raw_delta(raw_delta)
    except LayoutError as error:
        error.within(f"[{len(columns.at)}]")
        columns.problem = error.with_traceback(None)  # a traceback holds this call, and so the columns
        columns.resume_at = first
    else:
        columns.resume_at = at
    return columns
