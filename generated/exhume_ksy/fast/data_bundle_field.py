"""Compiled from ksy/data_bundle_field.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, short
from .leveldb_varint import read_leveldb_varint

_unpack0 = struct.Struct("<Q").unpack_from
_unpack1 = struct.Struct("<I").unpack_from


class DataBundleField:
    """One field of a Protocol Buffers message: a key that holds field number and wire type, then the value. A message
    is any number of them; what a number means depends on the message.
    """
    __slots__ = ('key', 'value', '_number', '_wire_type')
    key: int
    """Eight times the field number, which has 29 bits and starts at 1, plus the wire type. Groups (3, 4) are not used;
    6 and 7 mean nothing.
    """
    value: ByteString | Fixed32 | Fixed64 | None | int
    """Never raw bytes, for the key admits no other wire type."""

    @property
    def number(self) -> int:
        """Which field of its message it is."""
        try:
            return self._number
        except AttributeError:
            pass
        self._number = self.key // 8
        return self._number

    @property
    def wire_type(self) -> int:
        """How the value is stored, whatever it means."""
        try:
            return self._wire_type
        except AttributeError:
            pass
        self._wire_type = self.key % 8
        return self._wire_type


def read_data_bundle_field(view: View, at: int, end: int) -> tuple[DataBundleField, int]:
    """`data_bundle_field` at `at`, and where it ends. Raises `LayoutError`."""
    value = DataBundleField()
    start = at
    if at < end and (key := view[at]) < 0x80:
        at += 1
    else:
        try:
            key, at = read_leveldb_varint(view, at, end)
        except LayoutError as error:
            error.within("key")
            raise
    if not (key >= 8 and key < 0x100000000 and key % 8 != 3 and key % 8 != 4 and key % 8 < 6):
        raise LayoutError("key", start, at, '_.value >= 8 and _.value < 0x100000000 and _.value.as<s8> % 8 != 3 and _.value.as<s8> % 8 != 4 and _.value.as<s8> % 8 < 6', key)
    value.key = key
    on = key % 8
    if on == 0:
        if at < end and (value_ := view[at]) < 0x80:
            at += 1
        else:
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
            value_, at = read_byte_string(view, at, end)
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
        value_ = None
    value.value = value_
    return value, at


class ByteString:
    """Bytes, text or a message, preceded by their length."""
    __slots__ = ('len_data', 'data')
    len_data: int
    data: Content


def read_byte_string(view: View, at: int, end: int) -> tuple[ByteString, int]:
    """`data_bundle_field::byte_string` at `at`, and where it ends. Raises `LayoutError`."""
    value = ByteString()
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
    stop = at + len_data
    try:
        data, _ = read_content(view, at, stop, at)
    except LayoutError as error:
        error.within("data")
        raise
    at = stop
    value.data = data
    return value, at


class Content:
    """A stream of its own, so that a message can be opened in it."""
    __slots__ = ('bytes', '_io')
    bytes: View
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]


def read_content(view: View, at: int, end: int, base: int | None = None) -> tuple[Content, int]:
    """`data_bundle_field::content` at `at`, and where it ends. Raises `LayoutError`."""
    value = Content()
    if base is None:
        base = at
    value._io = (view, base, end)
    bytes = view[at:end]
    at = max(at, end)
    value.bytes = bytes
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
    (value_,) = _unpack0(view, at)
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
    (value_,) = _unpack1(view, at)
    at += 4
    value.value = value_
    return value, at
