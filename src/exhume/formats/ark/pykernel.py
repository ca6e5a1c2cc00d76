"""Pure-Python form of the Ark part of `exhume.native._kernel` (`native.pxi`, `rbuf/native.pxi`): reads indexes as
columns, determines the layout of messages, checks and prints them.

Import `exhume.formats.ark.kernel`, which picks one of the two; `tests/ark/test_kernel.py` runs against each.  An index
is passed as bytes: whole entries, back to back.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise, repeat
from typing import Any, TypeAlias, TypeVar

from exhume.formats.ark.layout import ENTRY_SIZE, iter_entries

Buffer = bytes | bytearray | memoryview

Numbers: TypeAlias = "array[int]"
"""64-bit integers; times are unsigned, all others signed."""

Columns = tuple["Numbers | None", Numbers, Numbers, Numbers, bytes, bytes]
"""Numbers of the entries (None: all of them), times, offsets, sizes, objects, and flags of those that are bad."""

M = TypeVar("M", bound=tuple[Any, ...])

Run = tuple[int, int, int, int]
"""Start and end of a run of messages in the file, its first message, and one past its last."""


def ark_entries(index: Buffer, file_size: int, known: bytes, wanted: bytes) -> Columns:
    """Return the wanted entries of an index as columns: positions (None: all of them), times, offsets, sizes, short
    identifiers, and whether each is bad.

    `known` and `wanted` have a flag for each of the 256 short identifiers.  An entry is bad when its message is empty
    or reaches outside the file of `file_size` bytes, or its identifier is not known; bad entries are always included.
    """
    numbers, times, offsets, sizes = array("q"), array("Q"), array("q"), array("q")
    objects, faults = bytearray(), bytearray()
    for number, (time, offset, size, short, _) in enumerate(iter_entries(index)):
        bad = offset + size > file_size or not known[short] or not size
        if bad or wanted[short]:
            numbers.append(number)
            times.append(time)
            offsets.append(offset)
            sizes.append(size)
            objects.append(short)
            faults.append(bad)
    kept = None if len(numbers) == len(index) // ENTRY_SIZE else numbers
    return kept, times, offsets, sizes, bytes(objects), bytes(faults)


def ark_scan(index: Buffer, last: int) -> tuple[bool, int, int, int]:
    """Return whether the times ascend, starting with `last`; and the lowest, the highest and the last of them.

    Raises `ValueError` for an index without entries.
    """
    times = [time for time, _, _, _, _ in iter_entries(index)]
    if not times:
        raise ValueError("no entries")
    is_sorted = times[0] >= last and all(one <= other for one, other in pairwise(times))
    return is_sorted, min(times), max(times), times[-1]


def ark_statistics(index: Buffer, low: int, high: int) -> list[tuple[int, int, int, int, int]]:
    """Return (short identifier, count, stored bytes, lowest and highest time) for times in `[low, high]`."""
    found: dict[int, tuple[int, int, int, int]] = {}  # by short identifier, the other four
    for time, _, size, short, _ in iter_entries(index):
        if low <= time <= high:
            count, stored, lowest, highest = found.get(short, (0, 0, time, time))
            found[short] = count + 1, stored + size, min(lowest, time), max(highest, time)
    return [(short, *found[short]) for short in sorted(found)]


def ark_faults(
    index: Buffer, file_size: int, known: bytes, header_size: int, index_start: int, index_stop: int
) -> tuple[list[int], list[int], list[int], list[int], list[int], list[int] | None]:
    """Return the positions of the faulty entries of a whole index, as a list for each fault.

    The faults: bad (see `ark_entries`); earlier than the entry before; with flags; and for entries that are not bad:
    the message overlaps the header, which ends at `header_size`; it overlaps the index, which is the bytes
    `[index_start, index_stop)`; it begins before another one ends.  The last list is None if messages are not stored in
    the order of the index, so that a sort would be needed.
    """
    bad, late, flagged = [], [], []
    over_header, over_index = [], []
    overlapping: list[int] | None = []
    last = before = reach = 0  # the last time; the last offset; the end of the messages so far
    for number, (time, offset, size, short, flags) in enumerate(iter_entries(index)):
        if time < last:
            late.append(number)
        last = time
        if flags:
            flagged.append(number)
        if offset + size > file_size or not known[short] or not size:
            bad.append(number)
            continue
        if offset < header_size:
            over_header.append(number)
        if index_start < index_stop and offset < index_stop and offset + size > index_start:
            over_index.append(number)
        if offset < before:
            overlapping = None
        if overlapping is not None and offset < reach:
            overlapping.append(number)
        before, reach = offset, max(reach, offset + size)
    return bad, late, flagged, over_header, over_index, overlapping


def ark_runs(offsets: Numbers, sizes: Numbers, gap: int, window: int) -> list[Run] | None:
    """Divide messages into runs that are each read at once: at most `gap` bytes apart, and all of them starting in the
    same aligned window of 2^`window` bytes.

    Returns (start offset, end offset, first message, one past the last) of each run; None if the offsets do not ascend.
    """
    runs: list[Run] = []
    first = start = end = reach = before = 0
    for number, (offset, size) in enumerate(zip(offsets, sizes, strict=True)):
        if offset < before:
            return None
        if not number:
            start = offset
        elif offset - reach > gap or offset >> window != before >> window:
            runs.append((start, end, first, number))
            first, start, end = number, offset, 0
        before, end = offset, max(end, offset + size)
        reach = max(reach, end)
    if offsets:
        runs.append((start, end, first, len(offsets)))
    return runs


def ark_total(sizes: Numbers) -> int:
    """Return the sum of sizes, which must be below 2^64."""
    return sum(sizes)


def ark_portions(sizes: Numbers, most: int) -> list[tuple[int, int]]:
    """Divide messages into half-open ranges of at most `most` bytes together, or of a single larger message."""
    out = []
    first = total = 0
    for number, size in enumerate(sizes):
        if number > first and total + size > most:
            out.append((first, number))
            first, total = number, 0
        total += size
    if first < len(sizes):
        out.append((first, len(sizes)))
    return out


def ark_cut(data: bytes, start: int, offsets: Numbers, sizes: Numbers, first: int, stop: int) -> list[bytes]:
    """Messages `[first, stop)`, cut out of the bytes of their run, which start at `start`.

    Raises `ValueError` for a message that is incomplete.
    """
    out = []
    for offset, size in zip(offsets[first:stop], sizes[first:stop], strict=True):
        if offset < start or offset + size - start > len(data):
            raise ValueError("a message outside its run")
        out.append(data[offset - start : offset - start + size])
    return out


def ark_stored(blobs: list[bytes], runs: list[Run], offsets: Numbers, sizes: Numbers) -> Sequence[bytes]:
    """The messages of runs; `blobs` are the bytes of the runs.

    The compiled kernel keeps their offsets, for `ark_check`, `ark_json` and `ark_columns`, and makes an object only of
    requested ones.  Raises `ValueError` for a message that is incomplete.
    """
    out: list[bytes] = []
    for blob, (start, _, first, stop) in zip(blobs, runs, strict=True):
        out += ark_cut(blob, start, offsets, sizes, first, stop)
    if not (runs[-1][3] if runs else 0) == len(out) == len(offsets) == len(sizes):
        raise ValueError("not as many messages as the runs have")
    return out


def ark_messages(
    made: type[M],
    times: Numbers,
    objects: bytes,
    stored: list[bytes],
    offsets: Numbers,
    sizes: Numbers,
    names: list[str],
    identifiers: list[str],
    split: str,
) -> Iterator[M]:
    """Messages that are neither decompressed nor decoded, as tuples of the type `made`, one for each entry.

    `names` and `identifiers` (GUIDs) are those of the 256 short identifiers; `stored` are the messages' bytes.
    """
    shown = zip(
        times,
        map(names.__getitem__, objects),
        stored,
        repeat(None),
        repeat(False),
        map(identifiers.__getitem__, objects),
        repeat(split),
        offsets,
        sizes,
    )
    return map(partial(tuple.__new__, made), shown)


def ark_merge(keys: list[Numbers]) -> list[int]:
    """Merge sorted lists; return, for each key in the merged order, the number of its list.

    Among equal keys, those of the first list come first.
    """
    sources: list[int] = []
    joined: list[int] = []
    for number, some in enumerate(keys):
        sources += [number] * len(some)
        joined += some
    return list(map(sources.__getitem__, sorted(range(len(joined)), key=joined.__getitem__)))


class RbufProgram:
    """The description of a type, as `rbuf.program` writes it: rows of eight numbers, and the strings to print.

    `budget` and `objects` bound what one message may hold.  Raises `ValueError` for rows that are not whole.
    """

    def __init__(self, rows: bytes, texts: bytes, budget: int, objects: int) -> None:
        if not rows or len(rows) % 64:
            raise ValueError("not whole rows")


Piece = tuple[Sequence[bytes | None], Numbers, bytes, list[RbufProgram | None], list[bytes | None]]
"""Messages (None: not available), their times and short identifiers; by these, programs and the text printed first."""


def ark_check(messages: Sequence[bytes | None], objects: bytes, programs: list[RbufProgram | None]) -> list[int]:
    """Numbers of the messages that are not accepted: these are for the readers that `rbuf.compiler` makes.

    The compiled kernel accepts messages that those readers decode without a note.  The interpreted one has nothing
    that is faster than they are, and accepts none that has a program.  Messages without one are any bytes.
    """
    pairs = enumerate(zip(messages, objects, strict=True))
    return [number for number, (data, short) in pairs if data is None or programs[short] is not None]


def ark_json(
    order: list[int], pieces: list[Piece], form: int, tail: bytes
) -> tuple[bytes | memoryview, list[int], list[int]]:
    """The JSON of messages, each followed by `tail`, in an order that names the piece of each.

    Also the numbers of those not accepted, as in `ark_check` or because they have no program, and where in the text
    theirs is missing.  `form` is 0 for objects that begin with the time of a message and the text before its value;
    or 1 for the value alone, with integers of any size as numbers and objects without absent values.

    This and the next two do their work in the compiled kernel only; here they accept no message.
    """
    return b"", list(range(len(order))), [0] * len(order)


ColumnParts = tuple[int, int, Buffer, Buffer, Buffer]
"""The length of a column, the number of absent values, and its buffers: validity, offsets, values."""


def ark_columns(
    order: list[int], pieces: list[Piece], shapes: bytes, texts: bytes, room: int
) -> tuple[Buffer, Buffer, int, list[ColumnParts]] | None:
    """Messages in the columns of `columns.Shape`; None if any is not accepted, or they take more than `room` bytes.

    Times and sizes of the messages (64 bits each), the number of times that are too late for Arrow, and the columns.
    `order` and `pieces` are those of `ark_json`.
    """
    return None


def ark_tables(
    order: list[int], pieces: list[Piece], tables: list[tuple[bytes, bytes]], room: int
) -> list[tuple[Buffer, Buffer, int, list[ColumnParts]] | None]:
    """Run `ark_columns` for the messages of each of several tables, given by their `shapes` and `texts`.

    The text before a message's value in `ark_json` is one byte here: the number of its table.  The tables share the
    `room`.
    """
    return [None] * len(tables)
