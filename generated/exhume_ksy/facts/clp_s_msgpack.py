"""What ksy/clp_s_msgpack.ksy fixes.  Written by `make generated`; never edited by hand."""
# ruff: noqa

from __future__ import annotations

from enum import IntEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
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


class ClpSMsgpack:
    """`clp_s_msgpack`"""

    prefix: Final = "<B"

    class at:
        """Where fields start and end, in bytes from the start."""

        tag: Final = (0, 1)
