# Written by `make generated` of the module beside it.
import enum
from typing import Any

from ._struct import KaitaiStruct

class ClpSMsgpack(KaitaiStruct):
    class Kinds(enum.IntEnum):
        nil_value = 0
        boolean = 1
        unsigned_integer = 2
        signed_integer = 3
        real = 4
        text = 5
        binary = 6
        extension = 7
        array = 8
        map = 9
        reserved = 10
    def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
    class MapEntry(KaitaiStruct):
        def __init__(self, _io: Any, _parent: Any = ..., _root: Any = ...) -> None: ...
        key: ClpSMsgpack
        value: ClpSMsgpack
    tag: int
    payload_uint1: int
    payload_uint2: int
    payload_uint4: int
    payload_uint8: int
    payload_int1: int
    payload_int2: int
    payload_int4: int
    payload_int8: int
    payload_float4: float
    payload_float8: float
    len_payload1: int
    len_payload2: int
    len_payload4: int
    extension_type: int
    str_value: str
    bin_value: bytes
    array_items: list[ClpSMsgpack]
    map_items: list[ClpSMsgpack.MapEntry]
    bool_value: bool | None
    int_value: int | None
    kind: Any
    len_payload: int | None
    num_items: int | int | None | None
    uint_value: int | None
