"""Writes the small encodings of the LevelDB family: varints, length-prefixed bytes, handles, internal keys.

`layout` reads them.  Spec: LevelDB util/coding.cc, db/dbformat.h.
"""

from __future__ import annotations

from typing import NamedTuple

from exhume.formats.leveldb.layout_facts import KEY_TAIL, TRAILER

_pack_tail = KEY_TAIL.pack
MAX_U64 = (1 << 64) - 1
MAX_SEQUENCE = (1 << 56) - 1
"""Largest sequence number: 56 bits, the other eight hold the value type."""


class WireError(ValueError):
    """Bytes that do not hold what they should; `offset` is where it starts, relative to the data."""

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


def add_varint(out: bytearray, value: int) -> None:
    """Adds the shortest form of an unsigned integer; raises `ValueError` beyond 64 bits."""
    if not 0 <= value <= MAX_U64:
        raise ValueError(f"{value} does not fit an unsigned 64-bit integer")
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def build_varint(value: int) -> bytes:
    """The shortest form of an unsigned integer; raises `ValueError` beyond 64 bits."""
    if 0 <= value < 0x80:
        return bytes((value,))
    out = bytearray()
    add_varint(out, value)
    return bytes(out)


def build_bytes(value: bytes) -> bytes:
    """A byte string after its varint length."""
    return build_varint(len(value)) + value


class Handle(NamedTuple):
    """Position of a block: file offset and size without the five bytes of trailer."""

    offset: int
    size: int

    @property
    def stop(self) -> int:
        """Where its trailer ends."""
        return self.offset + self.size + TRAILER.size

    def build(self) -> bytes:
        """The two varints."""
        return build_varint(self.offset) + build_varint(self.size)


class InternalKey(NamedTuple):
    """User key, sequence number (56 bits) and value type (8 bits) of an entry."""

    user_key: bytes
    sequence: int
    value_type: int

    def build(self) -> bytes:
        """User key and the packed number, little-endian."""
        number = self.sequence
        return self.user_key + _pack_tail(self.value_type, number & 0xFFFFFFFF, number >> 32 & 0xFFFF, number >> 48)
