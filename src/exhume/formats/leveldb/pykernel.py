"""Pure-Python implementation of the LevelDB part of the compiled kernel: versions of keys as columns.

Import `exhume.formats.leveldb.kernel`, which picks one of the two.  This one documents the functions of both.

A version is an entry of a key in a log or table.  `inverted` is 2^64 - 1 minus (sequence << 8 | type), so that newer
versions sort first; "packed" is the same number, not inverted.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from operator import itemgetter
from typing import TYPE_CHECKING, Any, overload

from exhume.codecs.checksums import masked_crc32c
from exhume.formats.leveldb.blocks import build_block
from exhume.formats.leveldb.layout import (
    BLOCK_TRAILER,
    LayoutError,
    OperationTypes,
    fills_block,
    flat_block_trailer,
    flat_fragment,
    flat_operation,
)
from exhume.formats.leveldb.layout_facts import BATCH, CHECKED, Compressions, FragmentTypes
from exhume.formats.leveldb.model import DELETIONS, ValueTypes
from exhume.formats.leveldb.wire import MAX_SEQUENCE, BlockIndex, InternalKey, build_bytes, key_text, log_rank
from exhume.io.jsonout import dump_bytes

if TYPE_CHECKING:
    from exhume.formats.leveldb.model import VersionExtra

_TOP = (1 << 64) - 1
(LIVE, REPLACED, DELETED, TOMBSTONE, BEYOND, UNREFERENCED, UNRESOLVED, OPERAND, PREPARED, ROLLED_BACK) = range(10)
"""Numbers of the statuses."""
NO_NEWER = -1
"""Stored in a row as the sequence number of the next newer version of its key, if there is none."""
_CHAINED = 256
"""Added to the type of a merge operand that contributes to the value of its key."""
KEY, VALUE, INVERTED, OFFSET, PLACE, STATUS, NEWER = range(7)
"""Index in a row of `LeveldbRows._rows`.  `NEWER`: sequence number of the next newer version of the key."""
_SEQUENCE, _KIND = 0, 1  # numbers of columns, see `numbers`; those of the others, with their index in a row:
_NUMBERS = {2: STATUS, 3: NEWER, 4: OFFSET, 5: PLACE}

State = tuple[bytes | None, int, int]
"""The key of the last version so far, and sequence number and type of its newest visible version (-1 without one)."""


class LeveldbRows:
    """Versions of keys of one column family.

    `extras` has additional facts on some versions, by key and sequence number; the caller that resolves their values
    fills it in.  `places` has their positions: a place for each number in their column of places, or `(table, handle,
    compression)` of a valid block.  `lengths` are the decompressed sizes of the blocks that were added.
    """

    def __init__(self, family: int = 0) -> None:
        """Start without rows, for one column family."""
        self.family = family
        self.extras: dict[tuple[bytes, int], VersionExtra] = {}
        self.places: list[Any] = []
        self.lengths: array[int] = array("q")
        self._rows: list[list[Any]] = []  # see `KEY` and the following

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def origins(self) -> list[tuple[BlockIndex | None, Any, bytearray | None]]:
        """The places as columns: blocks added together, their table and compressions; or None, a place and None."""
        return [(None, place, None) for place in self.places]

    def add_blocks(
        self,
        stored: bytes,
        base: int,
        blocks: BlockIndex,
        contents: list[tuple[bytes, int]] | None,
        table: Any,
        start: bytes | None,
        stop: bytes | None,
        kinds: bytes,
        limits: tuple[int, int, int, int, int, int],
    ) -> bool | None:
        """Add the entries with user keys in `[start, stop)` of some blocks as a sorted run.

        `stored` are the bytes of `table` from offset `base` on; or `contents` are (decompressed bytes, compression) of
        each block.  Returns False, with nothing added, if a block may have a finding: it is not right after the one
        before; checksum, compression, entries, restart points or order are wrong; the flag of a type in `kinds` is 0;
        its separator (key in the index) is not between it and the next block; or it is above `limits`.  Returns None if
        a codec other than Snappy compressed one.  `limits` are the most bytes of a decompressed block; the size that is
        allowed whatever the stored size is; beyond that, the most per stored byte; the most bytes of a block's keys,
        and of all keys or all values; and the sequence number of all entries, -1 if each has its own.
        This implementation always returns False, so that the caller reads the blocks one by one.
        """
        return False

    def add_items(self, items: list[tuple[bytes, int, int, int, bytes, Any]]) -> None:
        """Add items (see `table.Item`) as a sorted run."""
        for key, inverted, _, at, value, place in items:
            if not self.places or self.places[-1] is not place:
                self.places.append(place)
            self._rows.append([key, value, inverted, at, len(self.places) - 1, LIVE, NO_NEWER])

    def resolve(self, state: State, last_sequence: int, ranges: Sequence[tuple[bytes, bytes, int]]) -> State:
        """Merge the runs (among equals, those of earlier runs come first), and determine each status.

        `ranges` are range deletions, in order and without overlap: first key, key they end before, sequence number.
        `state` comes from the rows before, and is returned for those that follow.
        """
        self._rows.sort(key=itemgetter(KEY, INVERTED))
        return judge(self._rows, state, last_sequence, ranges)  # type: ignore[no-any-return]

    def chains(self) -> list[tuple[int, bytes, list[tuple[int, bytes]]]]:
        """The number and the key of each row without a value, and the versions that make its value, newest first.

        A version is its type and its bytes.  All but the last are merge operands.
        """
        out: list[tuple[int, bytes, list[tuple[int, bytes]]]] = []
        follows = False  # whether the last chain may continue
        for number, row in enumerate(self._rows):
            kind = (_TOP - row[INVERTED]) & 0xFF
            if row[STATUS] == UNRESOLVED:
                out.append((number, row[KEY], []))
                follows = True
            elif row[STATUS] != OPERAND:
                follows = follows and kind == ValueTypes.RANGE_DELETION
                continue
            if follows:
                _, _, versions = out[-1]
                versions.append((kind, row[VALUE]))
        return out

    def settle(self, values: list[tuple[int, bytes | None]], keep: bool) -> None:
        """Set the values of rows without one, by their numbers in order; None leaves a row unresolved and empty.

        With `keep`, a merge operand remains as a row of its own.
        """
        rows: list[list[Any]] = []
        done = 0
        for number, value in values:
            row = self._rows[number]
            rows += self._rows[done:number]
            rows.append([*row])
            rows[-1][VALUE], rows[-1][STATUS] = value or b"", UNRESOLVED if value is None else LIVE
            if keep and (_TOP - row[INVERTED]) & 0xFF == ValueTypes.MERGE:
                row[STATUS] = OPERAND
                rows.append(row)
            done = number + 1
        self._rows = rows + self._rows[done:]

    def mark(self, statuses: list[tuple[int, int]]) -> None:
        """Set a status for each row, and the sequence number of the next newer version (-1 without one)."""
        for row, (status, newer) in zip(self._rows, statuses, strict=True):
            row[STATUS], row[NEWER] = status, newer

    def choose(self, live: bool, start: bytes | None, stop: bytes | None, part: bytes | None) -> None:
        """Leave only rows with keys in `[start, stop)` whose values contain a part, with `live` only live ones.

        Unresolved rows are live.
        """
        self._rows = [
            row
            for row in self._rows
            if (not live or row[STATUS] in (LIVE, UNRESOLVED))
            and (start is None or row[KEY] >= start)
            and (stop is None or row[KEY] < stop)
            and (part is None or part in row[VALUE])
        ]

    def cut(self, kinds: bytes) -> tuple[int, int] | None:
        """Leave only the rows before the first whose type has no flag; return that one's place and type."""
        for number, row in enumerate(self._rows):
            kind = (_TOP - row[INVERTED]) & 0xFF
            if not kinds[kind]:
                del self._rows[number:]
                return row[PLACE], kind
        return None

    def facts(self) -> tuple[tuple[bytes, int], tuple[bytes, int], int] | None:
        """First and last `(user key, inverted)`, and the highest sequence number; None without rows."""
        if not self._rows:
            return None
        first, last = self._rows[0], self._rows[-1]
        return (first[KEY], first[INVERTED]), (last[KEY], last[INVERTED]), max(self._numbers(_SEQUENCE))

    def tally(self) -> tuple[dict[tuple[int, int], int], list[int]]:
        """The number of rows for each status and type, and for each place."""
        kinds = Counter((row[STATUS], (_TOP - row[INVERTED]) & 0xFF) for row in self._rows)
        at = Counter(row[PLACE] for row in self._rows)
        return dict(kinds), [at[number] for number in range(len(self.places))]

    def json(self) -> bytes:
        """A line of JSON for each row; the value of an unresolved one is null."""
        lines = []
        for row in self._rows:
            value = "null" if row[STATUS] == UNRESOLVED else dump_bytes(row[VALUE])
            lines.append(f'{{"key":{dump_bytes(row[KEY])},"value":{value}}}\n')
        return "".join(lines).encode()

    def text(self, values: bool, key_text: Callable[[bytes], str] = key_text) -> bytes:
        """A line of text for each row: its key, and its value after a tabulator, if wanted and resolved."""
        lines = []
        for row in self._rows:
            value = f"\t{key_text(row[VALUE])}" if values and row[STATUS] != UNRESOLVED else ""
            lines.append(f"{key_text(row[KEY])}{value}\n")
        return "".join(lines).encode()

    def pairs(self) -> list[tuple[bytes, bytes]]:
        """Keys and values."""
        return [(row[KEY], row[VALUE]) for row in self._rows]

    def column(self, values: bool) -> tuple[bytes, bytes]:
        """Keys or values as Arrow keeps byte strings: (all bytes, n + 1 offsets as 64-bit integers of this machine)."""
        found = [row[VALUE if values else KEY] for row in self._rows]
        return b"".join(found), array("q", accumulate(map(len, found), initial=0)).tobytes()

    def _numbers(self, which: int) -> list[int]:
        """A column of numbers; those of sequence numbers and types are unpacked first."""
        if which in (_SEQUENCE, _KIND):
            packed = [_TOP - row[INVERTED] for row in self._rows]
            return [one & 0xFF for one in packed] if which == _KIND else [one >> 8 for one in packed]
        return [row[_NUMBERS[which]] for row in self._rows]

    def numbers(self, which: int) -> bytes:
        """A column of numbers, as 64-bit integers of this machine; `ranges` names the columns."""
        return array("q", self._numbers(which)).tobytes()

    def versions(
        self,
        row_type: type[tuple[Any, ...]],
        statuses: tuple[Any, ...],
        places: list[Any],
        operation: Callable[[Any, int], int | None],
    ) -> list[Any]:
        """Tuples of `row_type`, with a value for each status and place.

        Each is `(key, value, sequence, kind, status, superseded by, offset, operation, place, family, None)`; where
        `place.operations` is not None, `operation(place, offset)` returns the number of an operation in its batch.
        """
        out: list[Any] = []
        for key, value, inverted, at, number, status, newer in self._rows:
            packed, place = _TOP - inverted, places[number]
            fields = (
                key, value, packed >> 8, packed & 0xFF, statuses[status], newer if newer >= 0 else None, at,
                None if place.operations is None else operation(place, at), place, self.family, None,
            )  # fmt: skip
            out.append(tuple.__new__(row_type, fields))
        return out


def judge(rows: list[list[Any]], state: Any, last_sequence: int, ranges: Sequence[tuple[Any, Any, int]]) -> Any:
    """Set the statuses of sorted rows (`LeveldbRows._rows`) as its `resolve` does; keys may be anything sortable."""
    key, newer, newer_kind = state
    at = 0  # of the next range deletion: those before it end before the row's key
    for row in rows:
        packed = _TOP - row[INVERTED]
        sequence, kind = packed >> 8, packed & 0xFF
        if row[KEY] != key:
            key, newer, newer_kind = row[KEY], -1, -1
        row[NEWER] = NO_NEWER
        if sequence > last_sequence or kind == ValueTypes.RANGE_DELETION:
            row[STATUS] = BEYOND if sequence > last_sequence else TOMBSTONE
            continue
        # `wiped`: the number of the newest range deletion that hides the row, -1 without one.
        while at < len(ranges) and ranges[at][1] <= key:
            at += 1
        start, _, deletion = ranges[at] if at < len(ranges) else (key, key, -1)
        wiped = deletion if start <= key and deletion > sequence else -1
        row[NEWER] = newer
        if kind in DELETIONS:
            row[STATUS] = TOMBSTONE
        # Replaced or deleted by the newer version, unless a range deletion came before that one, or with its number
        # (tables for ingestion).
        elif newer >= 0 and not 0 <= wiped <= newer:
            row[STATUS] = OPERAND if newer_kind & _CHAINED else DELETED if newer_kind in DELETIONS else REPLACED
        elif wiped >= 0:
            row[STATUS], row[NEWER] = DELETED, wiped
        else:
            row[STATUS] = LIVE if kind == ValueTypes.VALUE else UNRESOLVED
        if kind == ValueTypes.MERGE and row[STATUS] in (UNRESOLVED, OPERAND):
            kind |= _CHAINED
        newer, newer_kind = sequence, kind
    return key, newer, newer_kind


def number_range(columns: list[bytes]) -> tuple[int, int, int] | None:
    """(lowest, highest, count of different ones) of numbers in columns of 64-bit integers; None without any."""
    found = {number for column in columns for number in array("q", column)}
    return (min(found), max(found), len(found)) if found else None


def table_blocks(
    pairs: list[tuple[bytes, bytes]], before: bytes | None, packed: int, size: int, interval: int, whole: bool
) -> tuple[list[tuple[bytes, bytes, bytes]], int, int]:
    """Return (blocks, used, wrong) for sorted pairs of user key and value.

    A block is (its bytes, its first, its last internal key) and ends when it has about `size` bytes; `interval` entries
    are between restart points.  `before` is the last user key before these pairs, and `packed` sequence number and type
    of the first; the sequence numbers of the others follow it.  `used` pairs are in the blocks (with `whole` all), and
    `wrong` is the first that does not sort after the one before it, -1 without any.
    """
    out: list[tuple[bytes, bytes, bytes]] = []
    entries: list[tuple[bytes, bytes]] = []
    used = pending = 0
    for number, (key, value) in enumerate(pairs):
        if before is not None and key <= before:
            return out, used, number
        before = key
        sequence, kind = divmod(packed + (number << 8), 256)
        internal_key = InternalKey(key, sequence, kind).build()
        entries.append((internal_key, value))
        pending += len(internal_key) + len(value) + 3  # the three lengths mostly take a byte each
        if pending >= size or (whole and number == len(pairs) - 1):
            out.append((build_block(entries, interval), entries[0][0], internal_key))
            entries, used, pending = [], number + 1, 0
    return out, used, -1


def block_handles(block: bytes, end: int, budget: int, internal: bool) -> tuple[bytes, bytes, bytes, bytes] | None:
    """The keys (with `internal` the user's part of them) and handles in the first `end` bytes of an index block as
    columns: the bytes of all keys, where each begins and the last ends, offsets, sizes (64-bit integers of this
    machine).

    None for a block that has to be read entry by entry: its entries pass the end, its keys are malformed or larger than
    `budget` together, or a value is not exactly a handle.  This implementation always returns None.
    """
    return None


def block_codecs(window: bytes, begin: int, offsets: memoryview, sizes: memoryview) -> bytes:
    """Compression byte of each block before the first whose trailer is not in `window`, the table from `begin` on."""
    out = bytearray()
    for offset, size in zip(offsets, sizes, strict=True):
        at = offset + size - begin
        if not 0 <= at <= len(window) - BLOCK_TRAILER:
            break
        _, compression, _ = flat_block_trailer(window, at, len(window))
        out.append(compression)
    return bytes(out)


def filled_blocks(stored: bytes, begin: int, offsets: memoryview, sizes: memoryview) -> int:
    """Number of blocks before the first that is not completely in `stored`, the table from `begin` on.

    0 if one of these blocks is not compressed and not `fills_block`: it has to be checked by itself.
    """
    found = 0
    for offset, size in zip(offsets, sizes, strict=True):
        at = offset - begin
        if not 0 <= at <= len(stored) - size - BLOCK_TRAILER:
            break
        _, compression, _ = flat_block_trailer(stored, at + size, len(stored))
        if compression == Compressions.NONE and not fills_block(stored[at : at + size]):
            return 0
        found += 1
    return found


class LogItems:
    """Items of a log (see `table.Item`), in the order in which they are added until they are sorted.

    An item is (user key, inverted sequence and type, rank, offset in block, value, place).  Its place says where in the
    log it is: an instance of `made` with the constant fields in `place` (file, number, checksum, referenced and
    operations).  The compiled kernel has bytes instead of this list, and makes items and places on request: a single
    write, which has a batch and a fragment of its own, takes about 22 bytes there, besides its key and its value.
    """

    def __init__(self, made: type, place: tuple[str, int, Any, bool, tuple[int, ...]]) -> None:
        self._made, self._place = made, place
        self._items: list[tuple[bytes, int, int, int, Any, Any]] = []

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, chosen: int) -> tuple[bytes, int, int, int, Any, Any]: ...

    @overload
    def __getitem__(self, chosen: slice) -> list[tuple[bytes, int, int, int, Any, Any]]: ...

    def __getitem__(self, chosen: int | slice) -> Any:
        return self._items[chosen]

    def __iter__(self) -> Iterator[tuple[bytes, int, int, int, Any, Any]]:
        return iter(self._items)

    def add_writes(self, block: bytes, at: int, base: int) -> tuple[int, int, int, int, int]:
        """Add single writes, from the fragment at `at` of a block on: the first ones that are intact puts or deletions
        in the column family 0, with sizes in their shortest form.

        Returns how many they are, and where the fragment after them begins; the first of their sequence numbers (-1
        without one), the highest, and a bit for each of their types.  `base` is the offset of the block in the file.
        Raises `ValueError` for a negative `at` or `base`.
        """
        name, number, sound, referenced, operations = self._place
        end, first, highest, kinds, before = len(block), -1, 0, 0, len(self)
        if at < 0 or base < 0:
            raise ValueError("an offset outside the block")
        # Stop at the first fragment that is anything else: the caller reads it, and reports what is damaged.
        while at < end:
            try:
                stop, stored, _, kind, _, begin, _ = flat_fragment(block, at, end)
                if kind != FragmentTypes.FULL or stop - begin <= BATCH.size:
                    break
                sequence, count = BATCH.unpack_from(block, begin)
                if count != 1 or sequence > MAX_SEQUENCE:
                    break
                begin += BATCH.size
                done, kind, _, key, key_end, value, value_end, _, _, _, _ = flat_operation(block, begin, stop)
            except LayoutError:
                break
            if done != stop or kind not in (OperationTypes.VALUE, OperationTypes.DELETION):
                break
            # The shortest form of the operation, from which the compiled kernel makes the place again.
            shown = build_bytes(block[key:key_end])
            if kind == OperationTypes.VALUE:
                shown += build_bytes(block[value:value_end])
            if stop - begin - 1 != len(shown) or masked_crc32c(block[at + CHECKED : stop]) != stored:
                break
            where = self._made(
                name, number, None, base + at, base + stop, sound, referenced, None, sequence, 1, 0, operations
            )
            inverted, rank = _TOP - (sequence << 8 | kind), log_rank(number, base + at)
            self._items.append((block[key:key_end], inverted, rank, BATCH.size, block[value:value_end], where))
            first = sequence if first < 0 else first
            highest, kinds, at = max(highest, sequence), kinds | 1 << kind, stop
        return len(self) - before, at, first, highest, kinds

    def cuts(self, low: int, high: int, size: int) -> list[tuple[int, int]]:
        """Where to divide items `[low, high)` into ranges of at least `size` bytes: (position, bytes before, in it)."""
        out, held = [], 0
        for at in range(max(low, 0), min(high, len(self))):
            if held >= size:
                out.append((at, held))
                held = 0
            key, _, _, _, value, _ = self._items[at]
            held += 48 + len(key) + (len(value) if type(value) is bytes else 0)
        return out

    def append(self, item: tuple[bytes, int, int, int, Any, Any]) -> None:
        """Add an item, with a place of its own."""
        self._items.append(item)

    def extend(self, other: LogItems) -> None:
        """Add the items of others."""
        self._items += other._items

    def sort(self) -> None:
        """Sort by key, newest first, rank and offset."""
        self._items.sort(key=itemgetter(0, 1, 2, 3))
