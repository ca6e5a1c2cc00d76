"""Pure-Python twin of `exhume._kernel`: the hot loops, for machines without a compiler.

Import `exhume.kernel`, which picks one of the two.  Both raise the same errors at the same offsets; the tests in
`tests/zs/test_kernel.py` run against each of them.

Length-prefixed records: a payload is any number of records, each an unsigned LEB128 length in its shortest form
(at most 64 bits) and that many bytes.  Offsets are relative to the payload.
"""

from __future__ import annotations

from exhume.kerneltypes import OVERLONG, OVERRUN, TRUNCATED, MalformedRecordsError, Scan
from exhume.lighttyping import Any

Buffer = bytes | bytearray | memoryview


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


def frame_terminated(text: Buffer, terminator: bytes) -> tuple[bytes, int]:
    """The payload of the records in `text` that are followed by the terminator, and how many bytes these take.

    What comes after the last terminator is left alone.

    Raises:
        ValueError: the terminator is empty.
    """
    if not terminator:
        raise ValueError("the terminator is empty")
    records = bytes(text).split(terminator)
    rest = records.pop()
    return frame_records(records), len(text) - len(rest)


def take_records(data: Buffer, budget: int) -> int:
    """Where to cut a run of length-prefixed records: after the record that reaches or passes byte `budget`.

    When the data end first, the end of the last whole record is returned; so 0 means that not even one record is
    there.

    Raises:
        MalformedRecordsError: `overlong`.
    """
    size = len(data)
    offset = 0
    while offset < size:
        try:
            _, stop = _next(data, offset, size)
        except MalformedRecordsError as error:
            if error.reason == OVERLONG:
                raise
            return offset
        offset = stop
        if offset >= budget:
            break
    return offset


# LevelDB blocks: entries `varint shared, varint unshared, varint value length, key suffix, value`.

BLOCK_FINE, BLOCK_LENGTHS, BLOCK_SHARED, BLOCK_SHORT_KEY, BLOCK_BOMB = range(5)
"""Why splitting a block ended: at its end, lengths that pass the end, more shared bytes than the previous key has, an
internal key below 8 bytes, keys that expand beyond the budget."""

_TOP = (1 << 64) - 1


def _lenient_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """A varint of at most 64 bits in any length; the offset is -1 when there is none."""
    value = shift = 0
    for position in range(at, min(end, at + 10)):
        byte = data[position]
        if shift == 63 and byte > 1:
            break
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position + 1
        shift += 7
    return 0, -1


def block_entries(block: bytes, end: int, budget: int) -> tuple[list[tuple[bytes, bytes, int]], int, int]:
    """Splits the first `end` bytes of a LevelDB block into `(key, value, offset)`.

    Returns the entries before the first that is malformed, where that one starts (`end` if there is none), and why
    (`BLOCK_*`).  `budget` bounds the sum of key sizes, because shared prefixes expand.
    """
    out: list[tuple[bytes, bytes, int]] = []
    at, total = 0, 0
    key = b""
    while at < end:
        shared, p = _lenient_varint(block, at, end)
        unshared, p = _lenient_varint(block, p, end) if p >= 0 else (0, -1)
        size, p = _lenient_varint(block, p, end) if p >= 0 else (0, -1)
        if p < 0 or unshared > end - p or size > end - p - unshared:
            return out, at, BLOCK_LENGTHS
        if shared > len(key):
            return out, at, BLOCK_SHARED
        total += shared + unshared
        if total > budget:
            return out, at, BLOCK_BOMB
        key = key[:shared] + block[p : p + unshared]
        p += unshared
        out.append((key, block[p : p + size], at))
        at = p + size
    return out, at, BLOCK_FINE


def internal_entries(
    block: bytes, end: int, budget: int, rank: int, place: Any
) -> tuple[list[tuple[bytes, int, int, int, bytes, Any]], int, int, int]:
    """Like `block_entries` for internal keys: `(user key, ~packed, rank, offset, value, place)` per entry.

    `~packed` is 2^64 - 1 minus the packed sequence and type, so that plain tuples sort as LevelDB sorts: by user key,
    newest first; `rank` and `place` are passed through, for the caller's merge.  The fourth result is the offset of the
    first entry that does not sort after the one before it, -1 when there is none.
    """
    entries, stop, problem = block_entries(block, end, budget)
    out: list[tuple[bytes, int, int, int, bytes, Any]] = []
    disorder = -1
    previous, last = b"", -1
    for key, value, at in entries:
        if len(key) < 8:
            return out, at, BLOCK_SHORT_KEY, disorder
        user, inverted = key[:-8], _TOP - int.from_bytes(key[-8:], "little")
        if disorder < 0 and (user < previous or (user == previous and inverted <= last)):
            disorder = at
        out.append((user, inverted, rank, at, value, place))
        previous, last = user, inverted
    return out, stop, problem, disorder


def entries_order(
    block: bytes, end: int, budget: int
) -> tuple[tuple[bytes, int] | None, tuple[bytes, int] | None, bool]:
    """First and last `(user key, ~packed)` of a block of internal keys, and whether it is whole and in order.

    What `internal_entries` would say about the same block, without making objects of its entries.
    """
    items, _, problem, disorder = internal_entries(block, end, budget, 0, None)
    if not items:
        return None, None, problem == BLOCK_FINE
    return items[0][:2], items[-1][:2], problem == BLOCK_FINE and disorder < 0


def resolve_items(
    items: list[tuple[bytes, int, int, int, bytes, Any]],
    state: tuple[bytes | None, int, int],
    last_sequence: int,
    family: int,
    row_type: type[tuple[Any, ...]],
    statuses: tuple[Any, Any, Any, Any, Any],
    operation: Any,
) -> tuple[list[Any], tuple[bytes | None, int, int]]:
    """Statuses of merged LevelDB items (newest version of a key first), as tuples of `row_type`.

    `state` is what the items before left: key, sequence and kind of its newest visible version so far (-1: none).
    `statuses` are live, replaced, deleted, tombstone, beyond.  where `place.operations` is not None, `operation(item)`
    gives the number of an operation in its batch.  Each result is `(key, value, sequence, kind, status, superseded by,
    offset, operation, place, family)`.
    """
    live, replaced, deleted, tombstone, beyond = statuses
    key, newer, newer_kind = state
    out: list[Any] = []
    for item in items:
        packed = _TOP - item[1]
        sequence, kind = packed >> 8, packed & 0xFF
        if item[0] != key:
            key, newer, newer_kind = item[0], -1, -1
        visible = sequence <= last_sequence
        gone = kind in (0, 7, 20)
        by: int | None = newer if newer >= 0 and visible and kind != 15 else None
        if not visible:
            status = beyond
        elif gone or kind == 15:
            status = tombstone
        elif by is None:
            status = live
        else:
            status = deleted if newer_kind in (0, 7, 20) else replaced
        number = None if item[5].operations is None else operation(item)
        fields = (item[0], item[4], sequence, kind, status, by, item[3], number, item[5], family)
        out.append(tuple.__new__(row_type, fields))
        if visible and kind != 15:
            newer, newer_kind = sequence, kind
    return out, (key, newer, newer_kind)


_POLYNOMIAL = 0x82F63B78
_U32 = 0xFFFFFFFF


def find_blocks(data: bytes) -> list[tuple[int, int]]:
    """Every `(start, end)` such that `data[start:end]`, a compression byte from 0 to 7 and the matching masked CRC-32C
    follow one another: LevelDB blocks, found by their checksums alone, wherever they start.

    Linear in the data: CRC states are carried back to position 0 (multiplied by x^-8i), where the state that a block
    starts with equals the one that its stored checksum demands.  Of several starts that fit one end the last is taken.
    A chance hit needs 2^32 pairs of positions.
    """
    out: list[tuple[int, int]] = []
    starts: dict[int, int] = {}
    carried, ones, unit = 0, _U32, 1  # the state after i zero-initialised bytes, ~0 and 1, each carried back to 0
    for at in range(len(data) - 4):
        starts[carried ^ ones] = at
        byte = data[at]
        for bit in range(8):
            if byte >> bit & 1:
                carried ^= unit
            unit = ((unit ^ _POLYNOMIAL) << 1 | 1) & _U32 if unit >> 31 else unit << 1
            ones = ((ones ^ _POLYNOMIAL) << 1 | 1) & _U32 if ones >> 31 else ones << 1
        if byte <= 7:
            rotated = (int.from_bytes(data[at + 1 : at + 5], "little") - 0xA282EAD8) & _U32
            wanted = ((rotated >> 17 | rotated << 15) & _U32) ^ _U32
            demand, power = carried, unit
            while wanted:
                if wanted & 1:
                    demand ^= power
                wanted >>= 1
                power = ((power ^ _POLYNOMIAL) << 1 | 1) & _U32 if power >> 31 else power << 1
            start = starts.get(demand, -1)
            if start >= 0:
                out.append((start, at))
    return out


def find_patterns(data: Buffer, patterns: list[bytes]) -> list[tuple[int, int]]:
    """Every occurrence of non-empty byte strings as `(offset, index of the pattern)`, in ascending order."""
    raw = bytes(data)
    hits: list[tuple[int, int]] = []
    for index, pattern in enumerate(patterns):
        at = raw.find(pattern)
        while at >= 0:
            hits.append((at, index))
            at = raw.find(pattern, at + 1)
    hits.sort()
    return hits
