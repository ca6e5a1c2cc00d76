"""Compiled from ksy/leveldb_block_handle.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations


from ._layout import LayoutError, View, native
from .leveldb_varint import read_leveldb_varint


class LeveldbBlockHandle:
    """Offset and length of a block in its table. The length excludes the five bytes of compression and checksum that
    follow every block.
    """
    __slots__ = ('ofs_block', 'len_block')
    ofs_block: int
    len_block: int


def read_leveldb_block_handle(view: View, at: int, end: int) -> tuple[LeveldbBlockHandle, int]:
    """`leveldb_block_handle` at `at`, and where it ends. Raises `LayoutError`."""
    value = LeveldbBlockHandle()
    start = at
    if at < end and (ofs_block := view[at]) < 0x80:
        at += 1
    else:
        try:
            ofs_block, at = read_leveldb_varint(view, at, end)
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
            len_block, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("len_block")
            raise
    if len_block > 0x7fffffffffffffff:
        raise LayoutError("len_block", start, at, f"at most {0x7fffffffffffffff}", len_block)
    value.len_block = len_block
    return value, at


def flat_leveldb_block_handle(view: View, at: int, end: int) -> tuple[int, int, int]:
    """Where the `leveldb_block_handle` at `at` ends, and its fields: ofs_block, len_block. Raises `LayoutError`."""
    if native is not None and (found := native.flat_leveldb_block_handle(view, at, end)) is not None:
        return found
    start = at
    if at < end and (ofs_block := view[at]) < 0x80:
        at += 1
    else:
        try:
            ofs_block, at = read_leveldb_varint(view, at, end)
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
            len_block, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("len_block")
            raise
    if len_block > 0x7fffffffffffffff:
        raise LayoutError("len_block", start, at, f"at most {0x7fffffffffffffff}", len_block)
    return at, ofs_block, len_block
