"""Compiled from ksy/data_bundle_field.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, short
from .leveldb_bytes import read_leveldb_bytes
from .leveldb_varint import read_leveldb_varint

_STRUCT0 = struct.Struct("<Q")
_STRUCT1 = struct.Struct("<I")


class DataBundleField:
    """One field of a Protocol Buffers message: a key that holds field number and wire type, then the value. A message
    is any number of them; what a number means depends on the message.
    """
    __slots__ = ('key', 'check_key', 'value', '_number', '_wire_type')
    key: int
    check_key: View
    """Takes no space; field numbers have 29 bits and start at 1."""
    value: Fixed32 | Fixed64 | LeveldbBytes | Unsupported | int

    @property
    def number(self) -> int:
        try:
            return self._number
        except AttributeError:
            pass
        self._number = self.key // 8
        return self._number

    @property
    def wire_type(self) -> int:
        try:
            return self._wire_type
        except AttributeError:
            pass
        self._wire_type = self.key % 8
        return self._wire_type


def read_data_bundle_field(view: View, at: int, end: int) -> tuple[DataBundleField, int]:
    """`data_bundle_field` at `at`, and where it ends. Raises `LayoutError`."""
    value = DataBundleField()
    try:
        key, at = read_leveldb_varint(view, at, end)
    except LayoutError as error:
        error.within("key")
        raise
    value.key = key
    check_key = b""
    if not (key // 8 > 0 and key // 8 < 0x20000000):
        raise LayoutError("check_key", at, 'number > 0 and number < 536870912', check_key)
    value.check_key = check_key
    on = key % 8
    if on == 0:
        try:
            value_, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("value")
            raise
    elif on == 1:
        try:
            value_, at = read_fixed64(view, at, end)
        except LayoutError as error:
            error.within("value")
            raise
    elif on == 2:
        try:
            value_, at = read_leveldb_bytes(view, at, end)
        except LayoutError as error:
            error.within("value")
            raise
    elif on == 5:
        try:
            value_, at = read_fixed32(view, at, end)
        except LayoutError as error:
            error.within("value")
            raise
    else:
        try:
            value_, at = read_unsupported(view, at, end)
        except LayoutError as error:
            error.within("value")
            raise
    value.value = value_
    return value, at


class Fixed64:
    """Eight bytes."""
    __slots__ = ('value',)
    value: int


def read_fixed64(view: View, at: int, end: int) -> tuple[Fixed64, int]:
    """`data_bundle_field::fixed64` at `at`, and where it ends. Raises `LayoutError`."""
    value = Fixed64()
    if end - at < 8:
        raise short("value", at, end, 8)
    (value_,) = _STRUCT0.unpack_from(view, at)
    at += 8
    value.value = value_
    return value, at


class Fixed32:
    """Four bytes."""
    __slots__ = ('value',)
    value: int


def read_fixed32(view: View, at: int, end: int) -> tuple[Fixed32, int]:
    """`data_bundle_field::fixed32` at `at`, and where it ends. Raises `LayoutError`."""
    value = Fixed32()
    if end - at < 4:
        raise short("value", at, end, 4)
    (value_,) = _STRUCT1.unpack_from(view, at)
    at += 4
    value.value = value_
    return value, at


class Unsupported:
    """Groups (3, 4) are not used; 6 and 7 mean nothing."""
    __slots__ = ('check_supported',)
    check_supported: View


def read_unsupported(view: View, at: int, end: int) -> tuple[Unsupported, int]:
    """`data_bundle_field::unsupported` at `at`, and where it ends. Raises `LayoutError`."""
    value = Unsupported()
    check_supported = b""
    if not False:
        raise LayoutError("check_supported", at, 'false', check_supported)
    value.check_supported = check_supported
    return value, at
