"""Pure-Python twin of `exhume._kernel`: the hot loops, for machines without a compiler.

Import `exhume.kernel`, which picks one of the two.  Both raise the same errors at the same offsets; the tests in
`tests/zs/test_kernel.py` run against each of them.

Length-prefixed records: a payload is any number of records, each an unsigned LEB128 length in its shortest form
(at most 64 bits) and that many bytes.  Offsets are relative to the payload.
"""

from __future__ import annotations

from typing import NamedTuple

Buffer = bytes | bytearray | memoryview

TRUNCATED = "truncated"
OVERLONG = "overlong"
OVERRUN = "overrun"


class MalformedRecordsError(ValueError):
    """A length-prefixed payload cannot be split.

    Attributes:
        reason: `truncated` (the data end inside a length), `overlong` (a length not in its shortest form or beyond
            64 bits) or `overrun` (a record passes the end of the data).
        offset: where the length of the offending record starts, relative to the payload.
        length: the claimed length for `overrun`, else -1.
    """

    def __init__(self, reason: str, offset: int, length: int = -1) -> None:
        super().__init__(f"{reason} at byte {offset}")
        self.reason = reason
        self.offset = offset
        self.length = length


class Scan(NamedTuple):
    """What one pass over a payload found; each record is given by its content's half-open range in the payload.

    Attributes:
        count: number of records.
        first: content of the first record, (0, 0) without records.
        last: content of the last record, (0, 0) without records.
        unsorted: ordinal of the first record smaller than the one before it, -1 when there is none.
        previous: content of the record before `unsorted`.
        current: content of the record `unsorted`.
    """

    count: int
    first: tuple[int, int]
    last: tuple[int, int]
    unsorted: int
    previous: tuple[int, int]
    current: tuple[int, int]


def read_uleb128(data: Buffer, offset: int) -> tuple[int, int]:
    """The value at `offset` and the offset after it.

    Raises:
        MalformedRecordsError: `truncated` or `overlong`.
    """
    size = len(data)
    if offset >= size:
        raise MalformedRecordsError(TRUNCATED, offset)
    value = data[offset]
    if value < 0x80:
        return value, offset + 1
    value &= 0x7F
    shift = 7
    position = offset + 1
    while position < size:
        byte = data[position]
        position += 1
        if byte == 0 or (shift == 63 and byte != 1):
            raise MalformedRecordsError(OVERLONG, offset)
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise MalformedRecordsError(TRUNCATED, offset)


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


def _next(data: Buffer, offset: int, size: int) -> tuple[int, int]:
    """Content range of the record whose length starts at `offset`."""
    length = data[offset]
    start = offset + 1
    if length >= 0x80:
        length, start = read_uleb128(data, offset)
    stop = start + length
    if stop > size:
        raise MalformedRecordsError(OVERRUN, offset, length)
    return start, stop


def split_records(payload: Buffer) -> list[bytes]:
    """Every record of a payload.

    Raises:
        MalformedRecordsError: see there.
    """
    data = bytes(payload)
    size = len(data)
    out: list[bytes] = []
    append = out.append
    offset = 0
    while offset < size:
        length = data[offset]
        start = offset + 1
        if length >= 0x80:
            length, start = read_uleb128(data, offset)
        stop = start + length
        if stop > size:
            raise MalformedRecordsError(OVERRUN, offset, length)
        append(data[start:stop])
        offset = stop
    return out


def scan_records(payload: Buffer) -> Scan:
    """Counts the records of a payload and checks their order.

    Raises:
        MalformedRecordsError: see there.
    """
    data = bytes(payload)
    size = len(data)
    count = 0
    first = last = before = here = (0, 0)
    unsorted = -1
    previous = b""
    offset = 0
    while offset < size:
        start, stop = _next(data, offset, size)
        record = data[start:stop]
        if record < previous and unsorted < 0:
            unsorted, before, here = count, last, (start, stop)
        if count == 0:
            first = (start, stop)
        last = (start, stop)
        previous = record
        count += 1
        offset = stop
    return Scan(count, first, last, unsorted, before, here)


def find_range(payload: Buffer, start: bytes | None, stop: bytes | None) -> tuple[int, int]:
    """Half-open range of the payload that holds the records with start <= record < stop.

    The end is that of the payload when no record reaches `stop`.  A `None` does not bound.

    Raises:
        MalformedRecordsError: in the part that had to be looked at.
    """
    data = bytes(payload)
    size = len(data)
    offset = 0
    if start:
        while offset < size:
            content, end = _next(data, offset, size)
            if data[content:end] >= start:
                break
            offset = end
    low = offset
    if stop is None:
        return low, size
    while offset < size:
        content, end = _next(data, offset, size)
        if data[content:end] >= stop:
            return low, offset
        offset = end
    return low, size


def terminate_records(payload: Buffer, terminator: bytes) -> bytes:
    """Every record of a payload, each followed by the terminator.

    Raises:
        MalformedRecordsError: see there.
    """
    records = split_records(payload)
    if not records:
        return b""
    records.append(b"")
    return terminator.join(records)


def frame_records(records: list[bytes]) -> bytes:
    """The payload of these records."""
    out: list[bytes] = []
    for record in records:
        length = len(record)
        out.append(bytes((length,)) if length < 0x80 else build_uleb128(length))
        out.append(record)
    return b"".join(out)


def frame_terminated(text: Buffer, terminator: bytes) -> bytes:
    """The payload of records that are each followed by the terminator.

    Raises:
        ValueError: the terminator is empty, or the text does not end with one.
    """
    if not terminator:
        raise ValueError("the terminator is empty")
    if not text:
        return b""
    records = bytes(text).split(terminator)
    if records.pop():
        raise ValueError("the text does not end with the terminator")
    return frame_records(records)


def take_records(data: Buffer, budget: int) -> int:
    """Where to cut a run of length-prefixed records: after the record whose content brings the sum to `budget`.

    When the data end first, the end of the last whole record is returned; so 0 means that not even one record is
    there.  Prefixes do not count towards the budget.

    Raises:
        MalformedRecordsError: `overlong`.
    """
    size = len(data)
    offset = total = 0
    while offset < size:
        try:
            start, stop = _next(data, offset, size)
        except MalformedRecordsError as error:
            if error.reason == OVERLONG:
                raise
            return offset
        total += stop - start
        offset = stop
        if total >= budget:
            break
    return offset
