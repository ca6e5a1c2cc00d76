"""Compiled from ksy/clp_s_msgpack.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, short

_STRUCT0 = struct.Struct(">H")
_STRUCT1 = struct.Struct(">I")
_STRUCT2 = struct.Struct(">Q")
_STRUCT3 = struct.Struct("<b")
_STRUCT4 = struct.Struct(">h")
_STRUCT5 = struct.Struct(">i")
_STRUCT6 = struct.Struct(">q")
_STRUCT7 = struct.Struct(">f")
_STRUCT8 = struct.Struct(">d")


class ClpSMsgpack:
    """One MessagePack value with everything beneath it. Integers, strings, maps and arrays expose plain values, so
    that a container schema can follow the offsets that a clp-s archive stores this way. Big-endian, unlike the rest
    of the archive.
    """
    __slots__ = ('tag', 'payload_uint1', 'payload_uint2', 'payload_uint4', 'payload_uint8', 'payload_int1', 'payload_int2', 'payload_int4', 'payload_int8', 'payload_float4', 'payload_float8', 'len_payload1', 'len_payload2', 'len_payload4', 'extension_type', 'str_value', 'bin_value', 'array_items', 'map_items', '_is_positive_fixint', '_is_negative_fixint', '_is_nil', '_is_bool', '_is_uint', '_is_str', '_is_bin', '_is_fixed_extension', '_is_extension', '_is_array', '_is_map', '_len_any', '_len_text', '_len_bytes', '_num_items', '_uint_value')
    tag: int
    """Kind of the value, and for short values the value or the length."""
    payload_uint1: int | None
    payload_uint2: int | None
    payload_uint4: int | None
    payload_uint8: int | None
    payload_int1: int | None
    payload_int2: int | None
    payload_int4: int | None
    payload_int8: int | None
    payload_float4: float | None
    payload_float8: float | None
    len_payload1: int | None
    len_payload2: int | None
    len_payload4: int | None
    extension_type: int | None
    str_value: str | None
    bin_value: View | None
    array_items: list[ClpSMsgpack] | None
    map_items: list[MapEntry] | None

    @property
    def is_positive_fixint(self) -> bool:
        try:
            return self._is_positive_fixint
        except AttributeError:
            pass
        self._is_positive_fixint = self.tag < 0x80
        return self._is_positive_fixint

    @property
    def is_negative_fixint(self) -> bool:
        try:
            return self._is_negative_fixint
        except AttributeError:
            pass
        self._is_negative_fixint = self.tag >= 0xe0
        return self._is_negative_fixint

    @property
    def is_nil(self) -> bool:
        try:
            return self._is_nil
        except AttributeError:
            pass
        self._is_nil = self.tag == 0xc0
        return self._is_nil

    @property
    def is_bool(self) -> bool:
        try:
            return self._is_bool
        except AttributeError:
            pass
        self._is_bool = self.tag in (0xc2, 0xc3)
        return self._is_bool

    @property
    def is_uint(self) -> bool:
        try:
            return self._is_uint
        except AttributeError:
            pass
        self._is_uint = self.tag < 0x80 or self.tag >= 0xcc and self.tag <= 0xcf
        return self._is_uint

    @property
    def is_str(self) -> bool:
        try:
            return self._is_str
        except AttributeError:
            pass
        self._is_str = self.tag >= 0xa0 and self.tag < 0xc0 or self.tag >= 0xd9 and self.tag <= 0xdb
        return self._is_str

    @property
    def is_bin(self) -> bool:
        try:
            return self._is_bin
        except AttributeError:
            pass
        self._is_bin = self.tag >= 0xc4 and self.tag <= 0xc6
        return self._is_bin

    @property
    def is_fixed_extension(self) -> bool:
        try:
            return self._is_fixed_extension
        except AttributeError:
            pass
        self._is_fixed_extension = self.tag >= 0xd4 and self.tag <= 0xd8
        return self._is_fixed_extension

    @property
    def is_extension(self) -> bool:
        try:
            return self._is_extension
        except AttributeError:
            pass
        self._is_extension = self.tag >= 0xc7 and self.tag <= 0xc9 or self.is_fixed_extension
        return self._is_extension

    @property
    def is_array(self) -> bool:
        try:
            return self._is_array
        except AttributeError:
            pass
        self._is_array = self.tag >= 0x90 and self.tag < 0xa0 or self.tag == 0xdc or self.tag == 0xdd
        return self._is_array

    @property
    def is_map(self) -> bool:
        try:
            return self._is_map
        except AttributeError:
            pass
        self._is_map = self.tag >= 0x80 and self.tag < 0x90 or self.tag == 0xde or self.tag == 0xdf
        return self._is_map

    @property
    def len_any(self) -> int | None:
        """Length or count that stands after the tag."""
        try:
            return self._len_any
        except AttributeError:
            pass
        if not (self.tag >= 0xc4 and self.tag <= 0xc9 or self.tag >= 0xd9 and self.tag <= 0xdf):
            self._len_any = None
            return None
        self._len_any = self.len_payload1 if self.tag in (0xd9, 0xc4, 0xc7) else self.len_payload2 if self.tag in (0xda, 0xc5, 0xc8, 0xdc, 0xde) else self.len_payload4
        return self._len_any

    @property
    def len_text(self) -> int:
        try:
            return self._len_text
        except AttributeError:
            pass
        self._len_text = self.tag & 31 if self.tag < 0xc0 else self.len_any
        return self._len_text

    @property
    def len_bytes(self) -> int:
        try:
            return self._len_bytes
        except AttributeError:
            pass
        self._len_bytes = 1 << self.tag - 0xd4 if self.is_fixed_extension else self.len_any
        return self._len_bytes

    @property
    def num_items(self) -> int:
        try:
            return self._num_items
        except AttributeError:
            pass
        self._num_items = self.tag & 15 if self.tag < 0xa0 else self.len_any
        return self._num_items

    @property
    def uint_value(self) -> int | None:
        try:
            return self._uint_value
        except AttributeError:
            pass
        if not (self.is_uint):
            self._uint_value = None
            return None
        self._uint_value = self.tag if self.tag < 0x80 else self.payload_uint1 if self.tag == 0xcc else self.payload_uint2 if self.tag == 0xcd else self.payload_uint4 if self.tag == 0xce else self.payload_uint8
        return self._uint_value


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
        (payload_uint2,) = _STRUCT0.unpack_from(view, at)
        at += 2
    else:
        payload_uint2 = None
    value.payload_uint2 = payload_uint2
    if tag == 0xce:
        if end - at < 4:
            raise short("payload_uint4", at, end, 4)
        (payload_uint4,) = _STRUCT1.unpack_from(view, at)
        at += 4
    else:
        payload_uint4 = None
    value.payload_uint4 = payload_uint4
    if tag == 0xcf:
        if end - at < 8:
            raise short("payload_uint8", at, end, 8)
        (payload_uint8,) = _STRUCT2.unpack_from(view, at)
        at += 8
    else:
        payload_uint8 = None
    value.payload_uint8 = payload_uint8
    if tag == 0xd0:
        if at >= end:
            raise short("payload_int1", at, end, 1)
        (payload_int1,) = _STRUCT3.unpack_from(view, at)
        at += 1
    else:
        payload_int1 = None
    value.payload_int1 = payload_int1
    if tag == 0xd1:
        if end - at < 2:
            raise short("payload_int2", at, end, 2)
        (payload_int2,) = _STRUCT4.unpack_from(view, at)
        at += 2
    else:
        payload_int2 = None
    value.payload_int2 = payload_int2
    if tag == 0xd2:
        if end - at < 4:
            raise short("payload_int4", at, end, 4)
        (payload_int4,) = _STRUCT5.unpack_from(view, at)
        at += 4
    else:
        payload_int4 = None
    value.payload_int4 = payload_int4
    if tag == 0xd3:
        if end - at < 8:
            raise short("payload_int8", at, end, 8)
        (payload_int8,) = _STRUCT6.unpack_from(view, at)
        at += 8
    else:
        payload_int8 = None
    value.payload_int8 = payload_int8
    if tag == 0xca:
        if end - at < 4:
            raise short("payload_float4", at, end, 4)
        (payload_float4,) = _STRUCT7.unpack_from(view, at)
        at += 4
    else:
        payload_float4 = None
    value.payload_float4 = payload_float4
    if tag == 0xcb:
        if end - at < 8:
            raise short("payload_float8", at, end, 8)
        (payload_float8,) = _STRUCT8.unpack_from(view, at)
        at += 8
    else:
        payload_float8 = None
    value.payload_float8 = payload_float8
    if tag in (0xd9, 0xc4, 0xc7):
        if at >= end:
            raise short("len_payload1", at, end, 1)
        len_payload1 = view[at]
        at += 1
    else:
        len_payload1 = None
    value.len_payload1 = len_payload1
    if tag in (0xda, 0xc5, 0xc8, 0xdc, 0xde):
        if end - at < 2:
            raise short("len_payload2", at, end, 2)
        (len_payload2,) = _STRUCT0.unpack_from(view, at)
        at += 2
    else:
        len_payload2 = None
    value.len_payload2 = len_payload2
    if tag in (0xdb, 0xc6, 0xc9, 0xdd, 0xdf):
        if end - at < 4:
            raise short("len_payload4", at, end, 4)
        (len_payload4,) = _STRUCT1.unpack_from(view, at)
        at += 4
    else:
        len_payload4 = None
    value.len_payload4 = len_payload4
    if tag >= 0xc7 and tag <= 0xc9 or tag >= 0xd4 and tag <= 0xd8:
        if at >= end:
            raise short("extension_type", at, end, 1)
        (extension_type,) = _STRUCT3.unpack_from(view, at)
        at += 1
    else:
        extension_type = None
    value.extension_type = extension_type
    if tag >= 0xa0 and tag < 0xc0 or tag >= 0xd9 and tag <= 0xdb:
        size = tag & 31 if tag < 0xc0 else (len_payload1 if tag in (0xd9, 0xc4, 0xc7) else len_payload2 if tag in (0xda, 0xc5, 0xc8, 0xdc, 0xde) else len_payload4) if tag >= 0xc4 and tag <= 0xc9 or tag >= 0xd9 and tag <= 0xdf else None
        if not 0 <= size <= end - at:
            raise short("str_value", at, end, size)
        str_value = view[at : at + size]
        try:
            str_value = str(str_value, "UTF-8")
        except UnicodeDecodeError as error:
            raise LayoutError("str_value", at, "text in UTF-8", str_value) from error
        at += size
    else:
        str_value = None
    value.str_value = str_value
    if tag >= 0xc4 and tag <= 0xc6 or tag >= 0xc7 and tag <= 0xc9 or tag >= 0xd4 and tag <= 0xd8:
        size = 1 << tag - 0xd4 if tag >= 0xd4 and tag <= 0xd8 else (len_payload1 if tag in (0xd9, 0xc4, 0xc7) else len_payload2 if tag in (0xda, 0xc5, 0xc8, 0xdc, 0xde) else len_payload4) if tag >= 0xc4 and tag <= 0xc9 or tag >= 0xd9 and tag <= 0xdf else None
        if not 0 <= size <= end - at:
            raise short("bin_value", at, end, size)
        bin_value = view[at : at + size]
        at += size
    else:
        bin_value = None
    value.bin_value = bin_value
    if tag >= 0x90 and tag < 0xa0 or tag == 0xdc or tag == 0xdd:
        array_items = []
        try:
            for _ in range(tag & 15 if tag < 0xa0 else (len_payload1 if tag in (0xd9, 0xc4, 0xc7) else len_payload2 if tag in (0xda, 0xc5, 0xc8, 0xdc, 0xde) else len_payload4) if tag >= 0xc4 and tag <= 0xc9 or tag >= 0xd9 and tag <= 0xdf else None):
                one, at = read_clp_s_msgpack(view, at, end)
                array_items.append(one)
        except LayoutError as error:
            error.within(f"array_items[{len(array_items)}]")
            raise
    else:
        array_items = None
    value.array_items = array_items
    if tag >= 0x80 and tag < 0x90 or tag == 0xde or tag == 0xdf:
        map_items = []
        try:
            for _ in range(tag & 15 if tag < 0xa0 else (len_payload1 if tag in (0xd9, 0xc4, 0xc7) else len_payload2 if tag in (0xda, 0xc5, 0xc8, 0xdc, 0xde) else len_payload4) if tag >= 0xc4 and tag <= 0xc9 or tag >= 0xd9 and tag <= 0xdf else None):
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
