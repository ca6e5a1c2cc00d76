"""Compiled from ksy/leveldb_bytes.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations


from ._layout import LayoutError, View, short
from .leveldb_varint import read_leveldb_varint


class LeveldbBytes:
    """A byte string with its length in front ("length-prefixed slice")."""
    __slots__ = ('len_data', 'check_len_data', 'data')
    len_data: int
    check_len_data: View
    """Takes no space; refuses a length that passes the end of the data."""
    data: View


def read_leveldb_bytes(view: View, at: int, end: int) -> tuple[LeveldbBytes, int]:
    """`leveldb_bytes` at `at`, and where it ends. Raises `LayoutError`."""
    value = LeveldbBytes()
    try:
        len_data, at = read_leveldb_varint(view, at, end)
    except LayoutError as error:
        error.within("len_data")
        raise
    value.len_data = len_data
    check_len_data = b""
    if len_data > end - at:
        raise LayoutError("check_len_data", at, 'len_data.value <= _io.size - _io.pos', check_len_data)
    value.check_len_data = check_len_data
    if not 0 <= len_data <= end - at:
        raise short("data", at, end, len_data)
    data = view[at : at + len_data]
    at += len_data
    value.data = data
    return value, at
