"""The results and errors of both kernels, and what only Python has: the compiled one need not import the other."""

from __future__ import annotations

from typing import NamedTuple

# Values of `MalformedRecordsError.reason`, which documents them.
TRUNCATED = "truncated"
OVERLONG = "overlong"
OVERRUN = "overrun"

BLOCK_FINE, BLOCK_LENGTHS, BLOCK_SHARED, BLOCK_SHORT_KEY, BLOCK_BOMB = range(5)
"""Why splitting a block of LevelDB ended: at its end, lengths that pass the end, more shared bytes than the previous
key has, an internal key below 8 bytes, keys that expand beyond the budget."""


class MalformedRecordsError(ValueError):
    """A length-prefixed payload cannot be split.

    Attributes:
        reason: `truncated` (the data ends inside a length), `overlong` (a length not in its shortest form or beyond
            64 bits) or `overrun` (a record passes the end of the data).
        offset: where the length of the offending record starts, relative to the payload.
        length: the claimed length for `overrun`, else -1.
    """

    def __init__(self, reason: str, offset: int, length: int = -1) -> None:
        super().__init__(f"{reason} at byte {offset}")
        self.reason = reason
        self.offset = offset
        self.length = length


def malformed_records(payload: bytes | bytearray | memoryview, offset: int) -> MalformedRecordsError:
    """The error for the record whose length starts at `offset` and that does not fit, as the generated reader found."""
    from exhume_ksy.fast._layout import LayoutError
    from exhume_ksy.fast.zs_data_block import read_record

    view = memoryview(payload)
    try:
        read_record(view, offset, len(view))
    except LayoutError as error:
        if error.short:
            return MalformedRecordsError(TRUNCATED, offset)
        if error.path == "len_data":
            return MalformedRecordsError(OVERRUN, offset, error.found)
    return MalformedRecordsError(OVERLONG, offset)


class Scan(NamedTuple):
    """Result of one pass over a payload; each record is given by its content's half-open range in the payload.

    Attributes:
        records: how many there are.
        first: content of the first record, (0, 0) without records.
        last: content of the last record, (0, 0) without records.
        unsorted: ordinal of the first record smaller than the one before it, -1 when there is none.
        previous: content of the record before `unsorted`.
        current: content of the record `unsorted`.
    """

    records: int
    first: tuple[int, int]
    last: tuple[int, int]
    unsorted: int
    previous: tuple[int, int]
    current: tuple[int, int]


def build_uleb128(value: int) -> bytes:
    """The shortest form of `value`.

    Raises:
        ValueError: negative, or beyond 64 bits.
    """
    if not 0 <= value < 1 << 64:
        raise ValueError(f"{value} does not fit an unsigned 64-bit integer")
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
