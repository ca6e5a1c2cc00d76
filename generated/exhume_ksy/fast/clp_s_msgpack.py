"""Compiled from ksy/clp_s_msgpack.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, short

_unpack0 = struct.Struct(">H").unpack_from
_unpack1 = struct.Struct(">I").unpack_from
_unpack2 = struct.Struct(">Q").unpack_from
_unpack3 = struct.Struct("<b").unpack_from
_unpack4 = struct.Struct(">h").unpack_from
_unpack5 = struct.Struct(">i").unpack_from
_unpack6 = struct.Struct(">q").unpack_from
_unpack7 = struct.Struct(">f").unpack_from
_unpack8 = struct.Struct(">d").unpack_from


class ClpSMsgpack:
    """One MessagePack value with everything beneath it. Integers, strings, maps and arrays expose plain values, so
    that a container schema can follow the offsets that a clp-s archive stores this way. Big-endian, unlike the rest
    of the archive.
    """
    __slots__ = ('tag', 'payload_uint1', 'payload_uint2', 'payload_uint4', 'payload_uint8', 'payload_int1', 'payload_int2', 'payload_int4', 'payload_int8', 'payload_float4', 'payload_float8', 'len_payload1', 'len_payload2', 'len_payload4', 'extension_type', 'str_value', 'bin_value', 'array_items', 'map_items', '_kind', '_len_payload', '_num_items', '_uint_value', '_int_value', '_bool_value')
    tag: int
    """Kind of the value, and for short values the value or the length."""
    payload_uint1: int | None
    """An unsigned integer, as wide as the tag says."""
    payload_uint2: int | None
    payload_uint4: int | None
    payload_uint8: int | None
    payload_int1: int | None
    """A signed integer, as wide as the tag says."""
    payload_int2: int | None
    payload_int4: int | None
    payload_int8: int | None
    payload_float4: float | None
    """A float, as wide as the tag says."""
    payload_float8: float | None
    len_payload1: int | None
    """Bytes of a string, of binary data or of an extension."""
    len_payload2: int | None
    """The same, or how many items follow."""
    len_payload4: int | None
    """The same, or how many items follow."""
    extension_type: int | None
    """Application-specific from 0 on, predefined below; -1 is a timestamp."""
    str_value: str | None
    """Text, whose length is in the tag or in the bytes after it."""
    bin_value: View | None
    """Bytes, or the content of an extension."""
    array_items: list[ClpSMsgpack] | None
    map_items: list[MapEntry] | None

    @property
    def kind(self) -> int:
        """Kind of the value, taken from the tag."""
        try:
            return self._kind
        except AttributeError:
            pass
        self._kind = 2 if self.tag < 0x80 else 9 if self.tag < 0x90 else 8 if self.tag < 0xa0 else 5 if self.tag < 0xc0 else 0 if self.tag == 0xc0 else 10 if self.tag == 0xc1 else 1 if self.tag < 0xc4 else 6 if self.tag < 0xc7 else 7 if self.tag < 0xca else 4 if self.tag < 0xcc else 2 if self.tag < 0xd0 else 3 if self.tag < 0xd4 else 7 if self.tag < 0xd9 else 5 if self.tag < 0xdc else 8 if self.tag < 0xde else 9 if self.tag < 0xe0 else 3
        return self._kind

    @property
    def len_payload(self) -> int | None:
        """Length or count that follows the tag."""
        try:
            return self._len_payload
        except AttributeError:
            pass
        if not (self.tag >= 0xc4 and self.tag <= 0xc9 or self.tag >= 0xd9 and self.tag <= 0xdf):
            self._len_payload = None
            return None
        self._len_payload = self.len_payload1 if self.tag in (0xc4, 0xc7, 0xd9) else self.len_payload2 if self.tag in (0xc5, 0xc8, 0xda, 0xdc, 0xde) else self.len_payload4
        return self._len_payload

    @property
    def num_items(self) -> int | None:
        try:
            return self._num_items
        except AttributeError:
            pass
        if not (self.kind in (8, 9)):
            self._num_items = None
            return None
        self._num_items = self.tag % 16 if self.tag < 0xa0 else self.len_payload
        return self._num_items

    @property
    def uint_value(self) -> int | None:
        """The value of an unsigned integer of any width."""
        try:
            return self._uint_value
        except AttributeError:
            pass
        if not (self.kind == 2):
            self._uint_value = None
            return None
        self._uint_value = self.tag if self.tag < 0x80 else self.payload_uint1 if self.tag == 0xcc else self.payload_uint2 if self.tag == 0xcd else self.payload_uint4 if self.tag == 0xce else self.payload_uint8
        return self._uint_value

    @property
    def int_value(self) -> int | None:
        """The value of a signed integer of any width."""
        try:
            return self._int_value
        except AttributeError:
            pass
        if not (self.kind == 3):
            self._int_value = None
            return None
        self._int_value = self.tag - 0x100 if self.tag >= 0xe0 else self.payload_int1 if self.tag == 0xd0 else self.payload_int2 if self.tag == 0xd1 else self.payload_int4 if self.tag == 0xd2 else self.payload_int8
        return self._int_value

    @property
    def bool_value(self) -> bool | None:
        """The value of a boolean."""
        try:
            return self._bool_value
        except AttributeError:
            pass
        if not (self.kind == 1):
            self._bool_value = None
            return None
        self._bool_value = self.tag == 0xc3
        return self._bool_value


def read_clp_s_msgpack(view: View, at: int, end: int) -> tuple[ClpSMsgpack, int]:
    """`clp_s_msgpack` at `at`, and where it ends. Raises `LayoutError`."""
    value = ClpSMsgpack()
    if at >= end:
        raise short("tag", at, end, 1)
    tag = view[at]
    at += 1
    value.tag = tag
    if tag == 0xcc:
        if at >= end:
            raise short("payload_uint1", at, end, 1)
        payload_uint1 = view[at]
        at += 1
    else:
        payload_uint1 = None
    value.payload_uint1 = payload_uint1
    if tag == 0xcd:
        if end - at < 2:
            raise short("payload_uint2", at, end, 2)
        (payload_uint2,) = _unpack0(view, at)
        at += 2
    else:
        payload_uint2 = None
    value.payload_uint2 = payload_uint2
    if tag == 0xce:
        if end - at < 4:
            raise short("payload_uint4", at, end, 4)
        (payload_uint4,) = _unpack1(view, at)
        at += 4
    else:
        payload_uint4 = None
    value.payload_uint4 = payload_uint4
    if tag == 0xcf:
        if end - at < 8:
            raise short("payload_uint8", at, end, 8)
        (payload_uint8,) = _unpack2(view, at)
        at += 8
    else:
        payload_uint8 = None
    value.payload_uint8 = payload_uint8
    if tag == 0xd0:
        if at >= end:
            raise short("payload_int1", at, end, 1)
        (payload_int1,) = _unpack3(view, at)
        at += 1
    else:
        payload_int1 = None
    value.payload_int1 = payload_int1
    if tag == 0xd1:
        if end - at < 2:
            raise short("payload_int2", at, end, 2)
        (payload_int2,) = _unpack4(view, at)
        at += 2
    else:
        payload_int2 = None
    value.payload_int2 = payload_int2
    if tag == 0xd2:
        if end - at < 4:
            raise short("payload_int4", at, end, 4)
        (payload_int4,) = _unpack5(view, at)
        at += 4
    else:
        payload_int4 = None
    value.payload_int4 = payload_int4
    if tag == 0xd3:
        if end - at < 8:
            raise short("payload_int8", at, end, 8)
        (payload_int8,) = _unpack6(view, at)
        at += 8
    else:
        payload_int8 = None
    value.payload_int8 = payload_int8
    if tag == 0xca:
        if end - at < 4:
            raise short("payload_float4", at, end, 4)
        (payload_float4,) = _unpack7(view, at)
        at += 4
    else:
        payload_float4 = None
    value.payload_float4 = payload_float4
    if tag == 0xcb:
        if end - at < 8:
            raise short("payload_float8", at, end, 8)
        (payload_float8,) = _unpack8(view, at)
        at += 8
    else:
        payload_float8 = None
    value.payload_float8 = payload_float8
    if tag in (0xc4, 0xc7, 0xd9):
        start = at
        if at >= end:
            raise short("len_payload1", at, end, 1)
        len_payload1 = view[at]
        at += 1
        if len_payload1 > end - at:
            raise LayoutError("len_payload1", start, at, f"at most {end - at}", len_payload1)
    else:
        len_payload1 = None
    value.len_payload1 = len_payload1
    if tag in (0xc5, 0xc8, 0xda, 0xdc, 0xde):
        start = at
        if end - at < 2:
            raise short("len_payload2", at, end, 2)
        (len_payload2,) = _unpack0(view, at)
        at += 2
        if len_payload2 > end - at:
            raise LayoutError("len_payload2", start, at, f"at most {end - at}", len_payload2)
    else:
        len_payload2 = None
    value.len_payload2 = len_payload2
    if tag in (0xc6, 0xc9, 0xdb, 0xdd, 0xdf):
        start = at
        if end - at < 4:
            raise short("len_payload4", at, end, 4)
        (len_payload4,) = _unpack1(view, at)
        at += 4
        if len_payload4 > end - at:
            raise LayoutError("len_payload4", start, at, f"at most {end - at}", len_payload4)
    else:
        len_payload4 = None
    value.len_payload4 = len_payload4
    if (2 if tag < 0x80 else 9 if tag < 0x90 else 8 if tag < 0xa0 else 5 if tag < 0xc0 else 0 if tag == 0xc0 else 10 if tag == 0xc1 else 1 if tag < 0xc4 else 6 if tag < 0xc7 else 7 if tag < 0xca else 4 if tag < 0xcc else 2 if tag < 0xd0 else 3 if tag < 0xd4 else 7 if tag < 0xd9 else 5 if tag < 0xdc else 8 if tag < 0xde else 9 if tag < 0xe0 else 3) == 7:
        if at >= end:
            raise short("extension_type", at, end, 1)
        (extension_type,) = _unpack3(view, at)
        at += 1
    else:
        extension_type = None
    value.extension_type = extension_type
    if (2 if tag < 0x80 else 9 if tag < 0x90 else 8 if tag < 0xa0 else 5 if tag < 0xc0 else 0 if tag == 0xc0 else 10 if tag == 0xc1 else 1 if tag < 0xc4 else 6 if tag < 0xc7 else 7 if tag < 0xca else 4 if tag < 0xcc else 2 if tag < 0xd0 else 3 if tag < 0xd4 else 7 if tag < 0xd9 else 5 if tag < 0xdc else 8 if tag < 0xde else 9 if tag < 0xe0 else 3) == 5:
        size = tag % 32 if tag < 0xc0 else (len_payload1 if tag in (0xc4, 0xc7, 0xd9) else len_payload2 if tag in (0xc5, 0xc8, 0xda, 0xdc, 0xde) else len_payload4) if tag >= 0xc4 and tag <= 0xc9 or tag >= 0xd9 and tag <= 0xdf else None
        if not 0 <= size <= end - at:
            raise short("str_value", at, end, size)
        str_value = view[at : at + size]
        try:
            str_value = str(str_value, "UTF-8")
        except UnicodeDecodeError as error:
            raise LayoutError("str_value", at, at + len(str_value), "text in UTF-8", str_value) from error
        at += size
    else:
        str_value = None
    value.str_value = str_value
    if (2 if tag < 0x80 else 9 if tag < 0x90 else 8 if tag < 0xa0 else 5 if tag < 0xc0 else 0 if tag == 0xc0 else 10 if tag == 0xc1 else 1 if tag < 0xc4 else 6 if tag < 0xc7 else 7 if tag < 0xca else 4 if tag < 0xcc else 2 if tag < 0xd0 else 3 if tag < 0xd4 else 7 if tag < 0xd9 else 5 if tag < 0xdc else 8 if tag < 0xde else 9 if tag < 0xe0 else 3) in (6, 7):
        size = 1 if tag == 0xd4 else 2 if tag == 0xd5 else 4 if tag == 0xd6 else 8 if tag == 0xd7 else 16 if tag == 0xd8 else (len_payload1 if tag in (0xc4, 0xc7, 0xd9) else len_payload2 if tag in (0xc5, 0xc8, 0xda, 0xdc, 0xde) else len_payload4) if tag >= 0xc4 and tag <= 0xc9 or tag >= 0xd9 and tag <= 0xdf else None
        if not 0 <= size <= end - at:
            raise short("bin_value", at, end, size)
        bin_value = view[at : at + size]
        at += size
    else:
        bin_value = None
    value.bin_value = bin_value
    if (2 if tag < 0x80 else 9 if tag < 0x90 else 8 if tag < 0xa0 else 5 if tag < 0xc0 else 0 if tag == 0xc0 else 10 if tag == 0xc1 else 1 if tag < 0xc4 else 6 if tag < 0xc7 else 7 if tag < 0xca else 4 if tag < 0xcc else 2 if tag < 0xd0 else 3 if tag < 0xd4 else 7 if tag < 0xd9 else 5 if tag < 0xdc else 8 if tag < 0xde else 9 if tag < 0xe0 else 3) == 8:
        array_items = []
        try:
            for _ in range((tag % 16 if tag < 0xa0 else (len_payload1 if tag in (0xc4, 0xc7, 0xd9) else len_payload2 if tag in (0xc5, 0xc8, 0xda, 0xdc, 0xde) else len_payload4) if tag >= 0xc4 and tag <= 0xc9 or tag >= 0xd9 and tag <= 0xdf else None) if (2 if tag < 0x80 else 9 if tag < 0x90 else 8 if tag < 0xa0 else 5 if tag < 0xc0 else 0 if tag == 0xc0 else 10 if tag == 0xc1 else 1 if tag < 0xc4 else 6 if tag < 0xc7 else 7 if tag < 0xca else 4 if tag < 0xcc else 2 if tag < 0xd0 else 3 if tag < 0xd4 else 7 if tag < 0xd9 else 5 if tag < 0xdc else 8 if tag < 0xde else 9 if tag < 0xe0 else 3) in (8, 9) else None):
                one, at = read_clp_s_msgpack(view, at, end)
                array_items.append(one)
        except LayoutError as error:
            error.within(f"array_items[{len(array_items)}]")
            raise
    else:
        array_items = None
    value.array_items = array_items
    if (2 if tag < 0x80 else 9 if tag < 0x90 else 8 if tag < 0xa0 else 5 if tag < 0xc0 else 0 if tag == 0xc0 else 10 if tag == 0xc1 else 1 if tag < 0xc4 else 6 if tag < 0xc7 else 7 if tag < 0xca else 4 if tag < 0xcc else 2 if tag < 0xd0 else 3 if tag < 0xd4 else 7 if tag < 0xd9 else 5 if tag < 0xdc else 8 if tag < 0xde else 9 if tag < 0xe0 else 3) == 9:
        map_items = []
        try:
            for _ in range((tag % 16 if tag < 0xa0 else (len_payload1 if tag in (0xc4, 0xc7, 0xd9) else len_payload2 if tag in (0xc5, 0xc8, 0xda, 0xdc, 0xde) else len_payload4) if tag >= 0xc4 and tag <= 0xc9 or tag >= 0xd9 and tag <= 0xdf else None) if (2 if tag < 0x80 else 9 if tag < 0x90 else 8 if tag < 0xa0 else 5 if tag < 0xc0 else 0 if tag == 0xc0 else 10 if tag == 0xc1 else 1 if tag < 0xc4 else 6 if tag < 0xc7 else 7 if tag < 0xca else 4 if tag < 0xcc else 2 if tag < 0xd0 else 3 if tag < 0xd4 else 7 if tag < 0xd9 else 5 if tag < 0xdc else 8 if tag < 0xde else 9 if tag < 0xe0 else 3) in (8, 9) else None):
                one, at = read_map_entry(view, at, end)
                map_items.append(one)
        except LayoutError as error:
            error.within(f"map_items[{len(map_items)}]")
            raise
    else:
        map_items = None
    value.map_items = map_items
    return value, at


class MapEntry:
    """One key and its value."""
    __slots__ = ('key', 'value')
    key: ClpSMsgpack
    value: ClpSMsgpack


def read_map_entry(view: View, at: int, end: int) -> tuple[MapEntry, int]:
    """`clp_s_msgpack::map_entry` at `at`, and where it ends. Raises `LayoutError`."""
    value = MapEntry()
    try:
        key, at = read_clp_s_msgpack(view, at, end)
    except LayoutError as error:
        error.within("key")
        raise
    value.key = key
    try:
        value_, at = read_clp_s_msgpack(view, at, end)
    except LayoutError as error:
        error.within("value")
        raise
    value.value = value_
    return value, at
