"""The small encodings of the LevelDB family, both ways: varints, length-prefixed bytes, handles, internal keys.

Pure functions over bytes.  `parse_*` take `(data, at, end)` and return the value and the offset behind it; they raise
`WireError`, which the callers turn into a finding with an absolute offset.  `tests/leveldb/test_twins.py` compares
them with the generated parsers.

Spec: LevelDB util/coding.cc, db/dbformat.h.
"""

from __future__ import annotations

from typing import NamedTuple

MAX_U64 = (1 << 64) - 1
MAX_SEQUENCE = (1 << 56) - 1
"""Largest sequence number: 56 bits, the other eight hold the value type."""


class WireError(ValueError):
    """Bytes that do not hold what they should; `offset` is where it starts, relative to the data."""

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


def parse_varint(data: bytes | memoryview, at: int, end: int) -> tuple[int, int]:
    """An unsigned LEB128 integer of at most 64 bits, longer forms than needed accepted."""
    value = shift = 0
    for position in range(at, min(end, at + 10)):
        byte = data[position]
        if shift == 63 and byte > 1:
            raise WireError("an integer passes 64 bits", at)
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position + 1
        shift += 7
    raise WireError("the data end inside an integer", at)


def build_varint(value: int) -> bytes:
    """The shortest form of an unsigned integer; raises `ValueError` beyond 64 bits."""
    if not 0 <= value <= MAX_U64:
        raise ValueError(f"{value} does not fit an unsigned 64-bit integer")
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def parse_bytes(data: bytes, at: int, end: int) -> tuple[bytes, int]:
    """A byte string with its varint length in front."""
    size, start = parse_varint(data, at, end)
    if size > end - start:
        raise WireError("a byte string passes the end of the data", at)
    return data[start : start + size], start + size


def build_bytes(value: bytes) -> bytes:
    """A byte string with its varint length in front."""
    return build_varint(len(value)) + value


class Handle(NamedTuple):
    """Where a block lies: file offset and size without the five bytes of trailer."""

    offset: int
    size: int

    def build(self) -> bytes:
        """The two varints."""
        return build_varint(self.offset) + build_varint(self.size)


def parse_handle(data: bytes, at: int = 0, end: int | None = None) -> tuple[Handle, int]:
    """A block handle."""
    stop = len(data) if end is None else end
    offset, at = parse_varint(data, at, stop)
    size, at = parse_varint(data, at, stop)
    return Handle(offset, size), at


class InternalKey(NamedTuple):
    """User key, sequence number (56 bits) and value type (8 bits) of an entry."""

    user_key: bytes
    sequence: int
    value_type: int

    def build(self) -> bytes:
        """User key and the packed number, little-endian."""
        return self.user_key + ((self.sequence << 8) | self.value_type).to_bytes(8, "little")


def parse_internal_key(data: bytes) -> InternalKey:
    """Splits an internal key; raises `WireError` when it is shorter than its eight bytes of trailer."""
    if len(data) < 8:
        raise WireError("an internal key is shorter than 8 bytes", 0)
    packed = int.from_bytes(data[-8:], "little")
    return InternalKey(data[:-8], packed >> 8, packed & 0xFF)
