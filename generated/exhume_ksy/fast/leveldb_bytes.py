"""Compiled from ksy/leveldb_bytes.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations


from ._layout import LayoutError, View
from .leveldb_varint import read_leveldb_varint


class LeveldbBytes:
    """A byte string preceded by its length ("length-prefixed slice")."""
    __slots__ = ('len_data', 'data')
    len_data: int
    data: View
    """The bytes themselves."""


def read_leveldb_bytes(view: View, at: int, end: int) -> tuple[LeveldbBytes, int]:
    """`leveldb_bytes` at `at`, and where it ends. Raises `LayoutError`."""
    value = LeveldbBytes()
    start = at
    if at < end and (len_data := view[at]) < 0x80:
        at += 1
    else:
        try:
            len_data, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("len_data")
            raise
    if len_data > end - at:
        raise LayoutError("len_data", start, at, f"at most {end - at}", len_data)
    value.len_data = len_data
    data = view[at : at + len_data]
    at += len_data
    value.data = data
    return value, at
