"""Compiled from ksy/zs_index_block.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

from array import array

from ._layout import LayoutError, View, native
from .uleb128 import read_uleb128


class ZsIndexBlock:
    """The entries of one index block, after decompression with the codec that the file's header names: at least one,
    keys in ascending order. An index block of level n refers to blocks of level n - 1 only; data blocks have level
    0.
    """
    __slots__ = ('_entries', '_io')
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def entries(self) -> EntryColumns:
        """Back to back, to the end of the payload."""
        try:
            return self._entries
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + 0
        entries = scan_entry(view, at, end)
        if entries.problem is not None:
            entries.problem.within("entries")
            raise entries.problem
        at = entries.resume_at
        self._entries = entries
        return self._entries


def read_zs_index_block(view: View, at: int, end: int, base: int | None = None) -> tuple[ZsIndexBlock, int]:
    """`zs_index_block` at `at`, and where it ends. Raises `LayoutError`."""
    value = ZsIndexBlock()
    if base is None:
        base = at
    value._io = (view, base, end)
    return value, at


class Entry:
    """One reference to a block of the level below."""
    __slots__ = ('len_key', 'key', 'ofs_block', 'len_block')
    len_key: int
    """Bytes of the key, 0 included."""
    key: View
    """Not greater than the first record below the block referred to, and not smaller than any record before that one.
    Often the first record itself.
    """
    ofs_block: int
    """Offset of the length field of the block, from the start of the file."""
    len_block: int
    """Bytes of the whole block, its length field and checksum included."""


def read_entry(view: View, at: int, end: int) -> tuple[Entry, int]:
    """`zs_index_block::entry` at `at`, and where it ends. Raises `LayoutError`."""
    value = Entry()
    start = at
    if at < end and (len_key := view[at]) < 0x80:
        at += 1
    else:
        try:
            len_key, at = read_uleb128(view, at, end)
        except LayoutError as error:
            error.within("len_key")
            raise
    if len_key > end - at:
        raise LayoutError("len_key", start, at, f"at most {end - at}", len_key)
    value.len_key = len_key
    key = view[at : at + len_key]
    at += len_key
    value.key = key
    start = at
    if at < end and (ofs_block := view[at]) < 0x80:
        at += 1
    else:
        try:
            ofs_block, at = read_uleb128(view, at, end)
        except LayoutError as error:
            error.within("ofs_block")
            raise
    if ofs_block > 0x7fffffffffffffff:
        raise LayoutError("ofs_block", start, at, f"at most {0x7fffffffffffffff}", ofs_block)
    value.ofs_block = ofs_block
    start = at
    if at < end and (len_block := view[at]) < 0x80:
        at += 1
    else:
        try:
            len_block, at = read_uleb128(view, at, end)
        except LayoutError as error:
            error.within("len_block")
            raise
    if len_block > 0x7fffffffffffffff:
        raise LayoutError("len_block", start, at, f"at most {0x7fffffffffffffff}", len_block)
    value.len_block = len_block
    return value, at


class EntryColumns:
    """Many `zs_index_block::entry`, one column per field; see `scan_entry`."""
    __slots__ = ('view', 'end', 'at', 'problem', 'resume_at', 'key_start', 'key_end', 'ofs_block', 'len_block')

    def __init__(self, view: View, end: int) -> None:
        self.view: View = view
        self.end: int = end
        self.at: array[int] = array("q")
        """Where each element begins."""
        self.problem: LayoutError | None = None
        """What does not fit; None when all does."""
        self.resume_at: int = end
        """Where what follows the last element begins."""
        self.key_start: array[int] = array("q")
        self.key_end: array[int] = array("q")
        self.ofs_block: array[int] = array("Q")
        self.len_block: array[int] = array("Q")

    def __len__(self) -> int:
        return len(self.at)

    def __getitem__(self, index: int) -> Entry:
        """One element as an object."""
        return read_entry(self.view, self.at[index], self.end)[0]

    def key(self, index: int) -> View:
        """The bytes of one element."""
        return self.view[self.key_start[index] : self.key_end[index]]


def scan_entry(view: View, at: int, end: int, count: int | None = None) -> EntryColumns:
    """The `zs_index_block::entry` from `at` to `end`, or `count` of them, as columns; does not raise, see `problem`."""
    columns = EntryColumns(view, end)
    if native is not None:
        at = native.zs_index_block_entry(columns, view, at, end, -1 if count is None else min(count, end))
    first = at
    add_at = columns.at.append
    add_key_start = columns.key_start.append
    add_key_end = columns.key_end.append
    add_ofs_block = columns.ofs_block.append
    add_len_block = columns.len_block.append
    try:
        while at < end if count is None else len(columns.at) < count:
            first = at
            start = at
            if at < end and (len_key := view[at]) < 0x80:
                at += 1
            else:
                try:
                    len_key, at = read_uleb128(view, at, end)
                except LayoutError as error:
                    error.within("len_key")
                    raise
            if len_key > end - at:
                raise LayoutError("len_key", start, at, f"at most {end - at}", len_key)
            at_key = at
            at = end_key = at + len_key
            start = at
            if at < end and (ofs_block := view[at]) < 0x80:
                at += 1
            else:
                try:
                    ofs_block, at = read_uleb128(view, at, end)
                except LayoutError as error:
                    error.within("ofs_block")
                    raise
            if ofs_block > 0x7fffffffffffffff:
                raise LayoutError("ofs_block", start, at, f"at most {0x7fffffffffffffff}", ofs_block)
            start = at
            if at < end and (len_block := view[at]) < 0x80:
                at += 1
            else:
                try:
                    len_block, at = read_uleb128(view, at, end)
                except LayoutError as error:
                    error.within("len_block")
                    raise
            if len_block > 0x7fffffffffffffff:
                raise LayoutError("len_block", start, at, f"at most {0x7fffffffffffffff}", len_block)
            add_at(first)
            add_key_start(at_key)
            add_key_end(end_key)
            add_ofs_block(ofs_block)
            add_len_block(len_block)
    except LayoutError as error:
        error.within(f"[{len(columns.at)}]")
        columns.problem = error.with_traceback(None)  # a traceback holds this call, and so the columns
        columns.resume_at = first
    else:
        columns.resume_at = at
    return columns
