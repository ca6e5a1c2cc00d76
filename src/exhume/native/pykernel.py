"""Pure-Python implementation of `exhume.native._kernel`: the hot loops, for machines without a compiler.

Import `exhume.native.kernel`, which picks one of the two.  Both raise the same errors at the same offsets; the tests in
`tests/zs/test_kernel.py` run against each of them.

Layouts are read by the readers generated from `ksy/`: single elements in the compiled kernel, columns here.  Offsets
are relative to the payload: the content of a ZS block, which is records, each after its length (ULEB128: 7 bits per
byte, lowest first; the upper bit says that more follow).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from exhume_ksy.facts.leveldb_table import BlockTrailer, Compressions
from exhume_ksy.fast._layout import LayoutError
from exhume_ksy.fast.leveldb_block import scan_entry
from exhume_ksy.fast.leveldb_internal_key import read_leveldb_internal_key
from exhume_ksy.fast.zs import flat_block
from exhume_ksy.fast.zs_data_block import RecordColumns, scan_record

from exhume.native.types import (
    BLOCK_BOMB,
    BLOCK_FINE,
    BLOCK_LENGTHS,
    BLOCK_SHARED,
    BLOCK_SHORT_KEY,
    OVERLONG,
    Scan,
    build_uleb128,
    malformed_records,
)

Buffer = bytes | bytearray | memoryview
"""What the functions read from."""


def _records(data: bytes) -> RecordColumns:
    """The offsets of all records.  Raises `MalformedRecordsError`."""
    found = scan_record(data, 0, len(data))
    if found.problem is not None:
        raise malformed_records(data, found.resume_at)
    return found


def split_records(payload: Buffer) -> list[bytes]:
    """Return the content of every record of a payload.

    Raises: MalformedRecordsError: the payload cannot be split into records.
    """
    data = bytes(payload)
    found = _records(data)
    return [data[start:end] for start, end in zip(found.data_start, found.data_end, strict=True)]


def scan_records(payload: Buffer) -> Scan:
    """Count the records of a payload and check their order.

    Raises: MalformedRecordsError: the payload cannot be split into records.
    """
    data = bytes(payload)
    found = _records(data)
    places = list(zip(found.data_start, found.data_end, strict=True))
    nowhere = (0, 0)
    first, last = (places[0], places[-1]) if places else (nowhere, nowhere)
    for number, (before, here) in enumerate(pairwise(places), 1):
        if data[slice(*here)] < data[slice(*before)]:
            return Scan(len(places), first, last, unsorted=number, previous=before, current=here)
    return Scan(len(places), first, last, unsorted=-1, previous=nowhere, current=nowhere)


def find_range(payload: Buffer, start: bytes | None, stop: bytes | None) -> tuple[int, int]:
    """Half-open range of the payload that holds the records with start <= record < stop.

    The end is that of the payload when no record reaches `stop`.  `None` means that side has no bound.

    Raises:
        MalformedRecordsError: in the part that had to be examined.
    """
    data = bytes(payload)
    low = _skip_below(data, 0, start) if start else 0
    return low, len(data) if stop is None else _skip_below(data, low, stop)


def _skip_below(data: bytes, offset: int, bound: bytes) -> int:
    """Where the first record at or after `offset` that is not below the bound begins; the end if there is none."""
    found = scan_record(data, offset, len(data))
    for at, start, end in zip(found.at, found.data_start, found.data_end, strict=True):
        if data[start:end] >= bound:
            return at
    if found.problem is not None:
        raise malformed_records(data, found.resume_at)
    return len(data)


def terminate_records(payload: Buffer, terminator: bytes) -> bytes:
    """Return every record of a payload, each followed by the terminator.

    Raises: MalformedRecordsError: the payload cannot be split into records.
    """
    records = split_records(payload)
    if not records:
        return b""
    records.append(b"")
    return terminator.join(records)


def record_values(payload: Buffer) -> tuple[bytes, bytes]:
    """Return every record of a payload as Arrow keeps byte strings: (their bytes back to back, n + 1 bounds).

    The bounds are the start of each and the end of the last, 64-bit integers of this machine.

    Raises:
        MalformedRecordsError: the payload cannot be split into records.
    """
    from array import array

    records = split_records(payload)
    return b"".join(records), array("q", accumulate(map(len, records), initial=0)).tobytes()


def frame_records(records: list[bytes]) -> bytes:
    """Return the payload of these records: each after its length."""
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

    When the data ends first, the end of the last whole record is returned; so 0 means that there is not even one whole
    record.

    Raises:
        MalformedRecordsError: `overlong`.
    """
    found = scan_record(bytes(data), 0, len(data))
    for end in found.data_end:
        if end >= budget:
            return end
    if found.problem is not None and (error := malformed_records(data, found.resume_at)).reason == OVERLONG:
        raise error
    return found.resume_at


def next_block(data: Buffer, start: int, stop: int, largest: int, highest: int) -> int:
    """The first position in `[start, stop)` where a ZS block could start; `stop` if there is none.

    The block must be entirely in `data`, with 2 to `largest` bytes of body and a level of at most `highest`.
    """
    view = memoryview(data)
    for at in range(start, stop):
        try:
            _, size, level, _, _, _ = flat_block(view, at, len(view))
        except LayoutError:
            continue
        if 2 <= size <= largest and level <= highest:
            return at
    return stop


# LevelDB blocks: sorted entries, whose keys omit the bytes that they share with the key before.

_TOP = (1 << 64) - 1  # minus (sequence << 8 | type): newer versions sort first


def block_entries(block: bytes, end: int, budget: int) -> tuple[list[tuple[bytes, bytes, int]], int, int]:
    """Split the first `end` bytes of a LevelDB block into `(key, value, offset)`.

    Returns the entries before the first that is malformed, where that one starts (`end` if there is none), and why
    (`BLOCK_*`).  `budget` bounds the sum of key sizes, because shared prefixes expand.
    """
    out: list[tuple[bytes, bytes, int]] = []
    found = scan_entry(block, 0, max(0, end))
    suffixes = zip(found.key_suffix_start, found.key_suffix_end, strict=True)
    values = zip(found.value_data_start, found.value_data_end, strict=True)
    key, total = b"", 0
    for at, shared, suffix, value in zip(found.at, found.len_shared, suffixes, values, strict=True):
        if shared > len(key):
            return out, at, BLOCK_SHARED
        key = key[:shared] + block[slice(*suffix)]
        total += len(key)
        if total > budget:
            return out, at, BLOCK_BOMB
        out.append((key, block[slice(*value)], at))
    return out, found.resume_at, BLOCK_FINE if found.problem is None else BLOCK_LENGTHS


def internal_entries(
    block: bytes, end: int, budget: int, rank: int, place: Any
) -> tuple[list[tuple[bytes, int, int, int, bytes, Any]], int, int, int]:
    """Like `block_entries` for internal keys: `(user key, ~packed, rank, offset, value, place)` per entry.

    `~packed` is 2^64 - 1 minus the packed sequence and type, so that plain tuples sort as LevelDB sorts: by user key,
    newest first; `rank` and `place` are passed through for the caller's merge.  The fourth result is the offset of the
    first entry that does not sort after the one before it, or -1.
    """
    entries, stop, problem = block_entries(block, end, budget)
    out: list[tuple[bytes, int, int, int, bytes, Any]] = []
    disorder = -1
    previous, last = b"", -1
    for key, value, at in entries:
        try:
            parts, _ = read_leveldb_internal_key(key, 0, len(key))
        except LayoutError:
            return out, at, BLOCK_SHORT_KEY, disorder
        user, inverted = bytes(parts.user_key), _TOP - (parts.sequence << 8 | parts.value_type)
        if disorder < 0 and (user < previous or (user == previous and inverted <= last)):
            disorder = at
        out.append((user, inverted, rank, at, value, place))
        previous, last = user, inverted
    return out, stop, problem, disorder


_POLYNOMIAL = 0x82F63B78  # of CRC-32C, its bits reversed
_U32 = 0xFFFFFFFF  # CRCs have 32 bits


def find_blocks(data: bytes) -> list[tuple[int, int]]:
    """Every `(start, end)` such that `data[start:end]`, a compression byte from 0 to 7 and the matching masked CRC-32C
    follow one another: LevelDB blocks, found by their checksums alone, wherever they start.

    Linear in the data: CRC states are carried back to position 0 (multiplied by x^-8i), where the state that a block
    starts with equals the one that its stored checksum demands.  If several starts fit one end, the last is taken.
    A chance hit is expected once in 2^32 pairs of positions.
    """
    out: list[tuple[int, int]] = []
    starts: dict[int, int] = {}
    trailer = struct.Struct(BlockTrailer.packed).unpack_from
    # The state after `at` bytes that began with state 0; all ones; and 1: each carried back to position 0.  A state is
    # carried back by one bit by undoing a step of the CRC: `(state ^ _POLYNOMIAL) << 1 | 1` if its top bit is set, else
    # `state << 1`.
    carried, ones, unit = 0, _U32, 1
    for at in range(len(data) - BlockTrailer.size + 1):
        starts[carried ^ ones] = at  # the state that a block starting here has
        byte, checksum = trailer(data, at)
        for bit in range(8):
            if byte >> bit & 1:
                carried ^= unit
            unit = ((unit ^ _POLYNOMIAL) << 1 | 1) & _U32 if unit >> 31 else unit << 1
            ones = ((ones ^ _POLYNOMIAL) << 1 | 1) & _U32 if ones >> 31 else ones << 1
        if byte <= Compressions.ZSTD:
            rotated = (checksum - 0xA282EAD8) & _U32  # undo the mask of LevelDB: a constant and a rotation
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


def copy_parts(room: bytearray | memoryview, parts: Sequence[tuple[int, Buffer, int, int]]) -> None:
    """Copies bytes `[start, stop)` of each buffer to offset `at` of the target: `(at, buffer, start, stop)`.

    Raises:
        ValueError: for a part outside its buffer, or outside the target (`room`); those before it were copied.
    """
    view = memoryview(room)
    for at, data, start, stop in parts:
        if not 0 <= start <= stop <= len(data) or not 0 <= at <= len(view) - (stop - start):
            raise ValueError("a part outside its buffer")
        view[at : at + stop - start] = memoryview(data)[start:stop]
