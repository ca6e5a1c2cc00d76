"""What ksy/clp_s_msgpack.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from builtins import type as fixed
    from enum import IntEnum
    from typing import Final

    class Kinds(IntEnum):
        """`clp_s_msgpack::kinds`"""
        NIL_VALUE = 0
        BOOLEAN = 1
        UNSIGNED_INTEGER = 2
        SIGNED_INTEGER = 3
        REAL = 4
        TEXT = 5
        BINARY = 6
        EXTENSION = 7
        ARRAY = 8
        MAP = 9
        RESERVED = 10

else:
    from exhume_ksy.facts._fixed import enums, fixed
    __getattr__ = enums(__name__, globals(), {
        "Kinds": (("NIL_VALUE", 0), ("BOOLEAN", 1), ("UNSIGNED_INTEGER", 2), ("SIGNED_INTEGER", 3), ("REAL", 4), ("TEXT", 5), ("BINARY", 6), ("EXTENSION", 7), ("ARRAY", 8), ("MAP", 9), ("RESERVED", 10),),
    })


class ClpSMsgpack(metaclass=fixed):
    """`clp_s_msgpack`"""

    prefix: Final = "<B"

    class at(metaclass=fixed):
        """Where fields start and end, in bytes from the start."""

        tag: Final = (0, 1)

    class format(metaclass=fixed):
        """Numbers by themselves."""

        tag: Final = "<B"
        payload_uint1: Final = "<B"
        payload_uint2: Final = ">H"
        payload_uint4: Final = ">I"
        payload_uint8: Final = ">Q"
        payload_int1: Final = "<b"
        payload_int2: Final = ">h"
        payload_int4: Final = ">i"
        payload_int8: Final = ">q"
        payload_float4: Final = ">f"
        payload_float8: Final = ">d"
        len_payload1: Final = "<B"
        len_payload2: Final = ">H"
        len_payload4: Final = ">I"
        extension_type: Final = "<b"
