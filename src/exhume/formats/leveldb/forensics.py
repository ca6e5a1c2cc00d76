"""Reading as much of a table as possible: through its index, or by searching for blocks when footer or index are lost.

A table is a file of sorted entries in blocks.  Its footer, at the end, leads to the index, which has the handle (offset
and size) of each data block.  After each block come its compression byte and a checksum.  The context of checksums is
a number of the table that newer RocksDB mixes into all of them.

Blocks that nothing leads to are found by their checksums.  A block has no start mark and no length.  It ends where a
checksum of its kind fits, and the next one starts there.  For CRC-32C without context the kernel finds every pair of
start and end; for other kinds, blocks are followed from the start of the table on, and from wherever one may start
after damage.

Spec: LevelDB doc/table_format.md; RocksDB table/format.h, ChecksumModifierForContext; `docs/formats/leveldb.md`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise

from exhume.codecs.checksums import RunningChecksum
from exhume.errors import ExhumeError
from exhume.formats.leveldb import checks, layout
from exhume.formats.leveldb.blocks import block_checksum, codec_name, context_modifier, decode_block, sealed_checksum
from exhume.formats.leveldb.checks import Report
from exhume.formats.leveldb.kernel import LeveldbRows
from exhume.formats.leveldb.large import LargeBlock
from exhume.formats.leveldb.layout import BLOCK_TRAILER, MOST_RESTARTS, flat_block_trailer
from exhume.formats.leveldb.layout_facts import CHECKSUMMED, RESTART, Compressions
from exhume.formats.leveldb.model import Verdict
from exhume.formats.leveldb.ranges import PIECE
from exhume.formats.leveldb.table import KNOWN_TYPES, Item, Table
from exhume.formats.leveldb.table_blocks import TableBlock
from exhume.formats.leveldb.wire import BlockIndex, Handle, Handles
from exhume.native import kernel
from exhume.tuples import NamedTuple

SMALLEST = 8
"""Bytes of a block without entries: a restart point, and how many there are."""

PAGE = 4096
"""Bytes to whose multiples RocksDB's option `block_align` moves the start of a block."""


class TableSurvey(NamedTuple):
    """Whether a table is in order throughout, and the first two parts of its first and last `Item` (None: no item)."""

    ordered: bool
    first: tuple[bytes, int] | None
    last: tuple[bytes, int] | None


def data_handles(table: Table, report: Report) -> Handles | None:
    """The places of the data blocks; None when footer or index cannot be trusted, so that blocks must be searched."""
    problems = 0

    def count(*args: object, **kwargs: object) -> None:
        """Count and pass on a finding."""
        nonlocal problems
        problems += 1
        report(*args, **kwargs)  # type: ignore[arg-type]

    index = table.index(count) if table.check_footer(report) is not None else BlockIndex.of(())
    footer = table.footer_or_none()
    # With some of the index left, its blocks are read and its damage is only reported.
    if problems and (not index or footer is None):
        return None
    return index.handles if footer is not None else None


def forensic_items(table: Table, rank: int, report: Report) -> Iterator[list[Item]]:
    """Yield the entries of each block that can be read and has any; `rank` is that of the table (see `Item`)."""
    last: Item | None = None
    for number, block in enumerate(readable_blocks(table, report)):
        items, _ = table.block_items(block, (rank << 33) + 2 * number, report)  # even, unlike that of `log_rank`
        if items:
            # An entry that is there twice is not disorder.
            if last is not None and last[:2] != items[0][:2] and not table.follows(last, items[0]):
                report(checks.KEY_ORDER, "a block starts before the end of the previous one", span=block.span)
            last = items[-1]
            yield table.shown(items)


def readable_blocks(table: Table, report: Report) -> Iterator[TableBlock | LargeBlock]:
    """Yield the data blocks that can be decompressed, even if their checksums do not match."""
    handles = data_handles(table, report)
    if handles is None:
        yield from find_data_blocks(table)
        return
    if handles:
        table.source.will_read(min(handles.offsets), table.source.size)
    yield from (block for block in table.read_blocks(handles, report) if block is not None)


def survey_table(table: Table) -> TableSurvey:
    """Survey a table: whether every readable block is in order, and the first and the last key."""
    with suppress(ExhumeError):  # damage is what the slower pass below is for
        if (found := _sound_survey(table)) is not None:
            return found
    troubled = False

    def note(*args: object, **kwargs: object) -> None:
        """Note that a block has a finding."""
        nonlocal troubled
        troubled = True

    ordered, first, last = True, None, None
    for block in readable_blocks(table, checks.ignore):
        troubled = False
        items, in_order = table.block_items(block, 0, note)
        if not items:
            continue
        low, high = items[0][:2], items[-1][:2]
        ordered = ordered and in_order and not troubled and (last is None or low > last)
        first = first if first is not None else low
        last = high if last is None else max(last, high)
    return TableSurvey(ordered, first, last)


def _sound_survey(table: Table) -> TableSurvey | None:
    """Survey a table whose blocks are all undamaged; None if one may be damaged.

    Raises an error for a damaged index.
    """
    first = last = None  # `facts`: (first key, last key, highest sequence number)
    for at in range(0, len(table.strict_index), PIECE):  # PIECE blocks, and the following one
        rows = LeveldbRows()
        found = rows.facts() if table.add_blocks(rows, table.strict_index[at : at + PIECE + 1]) else None
        if found is None:
            return None
        first, last = first or found[0], found[1]
    return TableSurvey(True, first, last)


def find_data_blocks(table: Table) -> Iterator[TableBlock]:
    """Yield data blocks found by their checksums alone, in file order; of the rest, only a footer is trusted.

    Index, metaindex and property blocks are recognized and left out. In a table of another kind nothing is searched
    for: its blocks have other contents.
    """
    if table.is_of_another_kind:
        return
    found = list(find_blocks(table))
    places = {block.handle for block in found}
    with_entries = [block for block in found if is_entries(table, block)]
    for block in with_entries:
        if not _is_index(table, block, places, is_last=block is with_entries[-1]):
            yield block


def _is_index(table: Table, block: TableBlock, places: set[Handle], *, is_last: bool) -> bool:
    """Return whether the values of a block are handles of other blocks, so that it is an index.

    They are if all of them are found blocks; or, since blocks may be damaged or moved, if they follow each other.
    `places` are the handles of all found blocks; `is_last`: no block with entries follows.
    """
    items, _, _, _ = kernel.internal_entries(block.data, block.tail.end, table.limits.structure_size, 0, None)
    handles = [layout.leading_handle(value) for _, _, _, _, value, _ in items]
    known = [handle for handle in handles if handle is not None]
    if len(known) < len(handles):
        return False
    if all(handle in places for handle in known):
        return True
    # Some of the blocks that it refers to were not found.
    if len(known) > 1:
        return all(_follows(one, other) for one, other in pairwise(known))
    # One handle may be chance: require the size of a found block, or that it fills its value in the last block.
    (only,) = known
    if any(only.size == place.size for place in places if place != block.handle):
        return True
    return is_last and layout.whole_handle(items[0][4]) is not None and SMALLEST <= only.size <= table.source.size


def _follows(one: Handle, other: Handle) -> bool:
    """Whether a block starts where another ends, or at the next page (`block_align` of RocksDB)."""
    gap = other.offset - one.stop
    return gap == 0 or (0 < gap < PAGE and other.offset % PAGE == 0)


_SCAN_WINDOW = 4 << 20
"""Bytes that are searched at a time for blocks with CRC-32C."""
_SCAN_OVERLAP = 1 << 20
"""Bytes that two windows share, so that a block of up to this size is completely in one of them."""
_LONGEST = 16 << 20
"""Most bytes of a block that starts where the block before it ended."""
_LONGEST_AFTER_DAMAGE = 64 << 10
"""Most bytes of a block whose start is guessed."""
_FIRST = 256 << 10
"""Bytes at the start of a table from which `_guessed` finds out the kind of its checksums."""
_MOST_GUESSED = 100_000
"""Most likely blocks that `_guessed` decompresses."""
_MOST_ENDS = 1_000_000
"""Most ends of blocks that `_guessed` examines, in a second or two: among zeros, each byte may be such an end."""
_LEAST_COMPRESSED = 16
"""Fewest bytes of a compressed block that `_guessed` tries."""
_MOST_TRIED = 10_000_000
"""Most ends that a `_Chain` tries in one table, which takes some seconds."""
_KINDS = ("xxh3", "xxhash64", "xxhash32", "crc32c", "none")
"""Kinds of checksums that `_guessed` tries in this order; before it, `_linear` tried CRC-32C without a context."""
# Compression bytes that may end a block.
_CODES = bytes(kind for kind in Compressions if kind != Compressions.EARLY_ZSTD)
_FAMILIES = (("rocksdb", 5), ("leveldb", 0))
"""(family, version) by which a block is decompressed in turn if no footer states them."""
_U32 = 0xFFFFFFFF


class FoundBlock(NamedTuple):
    """A block found by its checksum: position, stored bytes, compression byte, and verdict."""

    handle: Handle
    stored: bytes
    compression: int
    verdict: Verdict


def find_blocks(table: Table) -> Iterator[TableBlock]:
    """Every block of a table that can be found by its checksum and decompressed, in file order."""
    footer = table.footer_or_none()
    if footer is not None and (footer.checksum != "crc32c" or footer.base_context):
        found = list(_Chain(table, footer.checksum, footer.base_context).blocks())
    else:
        found = list(_linear(table))
        if not found and footer is None:
            found = list(_guessed(table))
    yield from _decoded(table, found)


def _guessed(table: Table) -> Iterator[FoundBlock]:
    """Yield the blocks of a table without a readable footer, so that the kind and context of its checksums are unknown.

    Bytes that decompress to entries are taken for a block.  For each kind of checksum, there is a context in which the
    value stored after them would match; it is the right one if a following block matches in that context too.  If none
    is, the first likely block is yielded alone.
    """
    head = table.source.read_up_to(0, _FIRST)
    alone: FoundBlock | None = None
    looked = 0  # likely blocks that were tried
    tries = [_MOST_ENDS]  # a list, as `_likely` counts it down
    for start in range(len(head)):
        # A block starts at 0 or after the trailer of another, which starts with a compression byte.
        if start and bytes(head[start - BLOCK_TRAILER : start - BLOCK_TRAILER + 1]) not in _CODE_BYTES:
            continue
        for found, checksum in _likely(head, start, len(head) if start == 0 else start + _LONGEST_AFTER_DAMAGE, tries):
            looked += 1
            block = _decode(table, found)
            if block is None or not is_entries(table, block):
                continue
            alone = alone or found
            for kind in _KINDS:
                value = block_checksum(kind, found.stored + bytes((found.compression,))) or 0
                modifier = (checksum - value) & _U32
                # Solve `context_modifier` for the context.
                base = modifier ^ ((start & _U32) + (start >> 32)) & _U32 if modifier else 0
                chain = _Chain(table, kind, base)
                if chain.block_at(found.handle.stop, _FIRST) is not None:
                    yield from chain.blocks(start)
                    return
        if looked > _MOST_GUESSED or tries[0] <= 0:
            break
    if alone is not None:
        yield alone


def _likely(head: bytes, start: int, stop: int, tries: list[int]) -> Iterator[tuple[FoundBlock, int]]:
    """Yield the blocks that may start at `start`, each with the checksum stored after it; only cheap tests are made.

    `head` are the first bytes of the table; `tries[0]` is how many more ends may be tried, over several calls.
    """
    for at in _ends(head[start:stop], min(stop, len(head)) - start - BLOCK_TRAILER + 1):
        if tries[0] <= 0:
            return
        tries[0] -= 1
        end = start + at
        _, compression, checksum = flat_block_trailer(head, end, len(head))
        if compression == Compressions.NONE:
            # The last number is the count of the restart points before it; the first of these is 0.
            if at < 2 * RESTART.size:
                continue
            (count,) = RESTART.unpack_from(head, end - RESTART.size)
            first = end - RESTART.size * (count % MOST_RESTARTS + 1)
            if not count or first < start or RESTART.unpack_from(head, first)[0]:
                continue
        elif at < _LEAST_COMPRESSED:
            continue
        yield FoundBlock(Handle(start, at), head[start:end], compression, Verdict.NONE), checksum


def _linear(table: Table) -> Iterator[FoundBlock]:
    """Yield the blocks found in one pass over a table: each range whose checksum matches and whose content decodes."""
    at, size = 0, table.source.size
    while at < size:
        window = table.source.read_up_to(at, _SCAN_WINDOW)
        clear = 0  # offset in the window after the last block: blocks do not overlap
        for start, end in sorted(kernel.find_blocks(window)):
            if start < clear:
                continue
            found = FoundBlock(Handle(at + start, end - start), window[start:end], window[end], Verdict.GOOD)
            if _decode(table, found) is not None:
                yield found
                clear = end + BLOCK_TRAILER
        if at + len(window) >= size:
            break
        # The next window overlaps this one, so that no block is cut, but starts after the last block found.
        at += max(clear, len(window) - _SCAN_OVERLAP)


def _decoded(table: Table, found: list[FoundBlock]) -> Iterator[TableBlock]:
    """Yield the blocks that can be decompressed; a found block without entries may be the dictionary of the others."""
    dictionaries = [b""]
    dictionaries += [
        one.stored for one in found if one.compression == Compressions.NONE and _decode(table, one) is None
    ]
    for one in found:
        for dictionary in dictionaries[-2:]:  # none, or the last candidate, which may be wrong
            block = _decode(table, one, dictionary)
            if block is not None:
                yield block
                break


def _decode(table: Table, found: FoundBlock, dictionary: bytes = b"") -> TableBlock | None:
    """Return a block, if it decompresses (primed by `dictionary`) to bytes with restart points inside it, or None."""
    footer = table.footer_or_none()
    families = _FAMILIES if footer is None else ((footer.family, footer.version),)
    known = table.dictionary if footer is not None else None
    for family, version in families:
        try:
            data = decode_block(
                found.stored, found.compression, family=family, version=version,
                max_size=table.limits.payload_budget(len(found.stored)), dictionary=known or dictionary,
            )  # fmt: skip
            block = TableBlock(found.handle, table.source, codec_name(found.compression), found.verdict, data)
            end, restarts = block.tail
        except ExhumeError:
            continue
        if restarts and max(restarts) <= end:  # restart points are offsets of entries
            return block
    return None


def is_entries(table: Table, block: TableBlock) -> bool:
    """Whether a block has entries with internal keys of known types."""
    try:
        end, _ = block.tail
    except ExhumeError:
        return False
    items, _, problem, _ = kernel.internal_entries(block.data, end, table.limits.structure_size, 0, None)
    return bool(items) and not problem and all((~inverted & 0xFF) in KNOWN_TYPES for _, inverted, *_ in items)


class _Chain:
    """Follows the blocks of a table from one to the next: a block ends where a checksum fits, and the next starts."""

    def __init__(self, table: Table, kind: str, base: int) -> None:
        """Follow blocks of a table whose checksums are of `kind`; `base` is the checksum's context."""
        self.table = table
        self.kind = kind
        self.base = base
        self.room = table.source.size
        """Bytes of the file."""
        self.left = _MOST_TRIED
        """Ends that may still be tried."""
        self._window = b""
        """Bytes of the table that were read last."""
        self._first = 0
        """Offset of the window in the file."""

    def blocks(self, at: int = 0) -> Iterator[FoundBlock]:
        """Yield the blocks from the offset `at` on, in order.

        A block that starts where the one before it ends may be long; at a guessed start, only a short one is tried.
        """
        longest = _LONGEST
        # What precedes a start after damage is not known to be a block, so only short ones are tried there.
        while at < self.room - BLOCK_TRAILER and self.left > 0:
            found = self.block_at(at, longest)
            if found is not None:
                yield found
                at, longest = found.handle.stop, _LONGEST
            else:
                at, longest = self._next_start(at), _LONGEST_AFTER_DAMAGE

    def _next_start(self, at: int) -> int:
        """The next place where a block may start: preceded by a compression byte and a checksum."""
        while at + 1 < self.room:
            at += 1
            if at < BLOCK_TRAILER or self._bytes(at - BLOCK_TRAILER, 1) in _CODE_BYTES:
                return at
        return self.room

    def _bytes(self, start: int, size: int) -> bytes:
        """Bytes of the table, from a window that is kept."""
        if not self._first <= start or start + size > self._first + len(self._window):
            self._first = start
            self._window = self.table.source.read_up_to(start, max(size, _SCAN_OVERLAP))
        return self._window[start - self._first : start - self._first + size]

    def block_at(self, start: int, longest: int) -> FoundBlock | None:
        """Return the block that starts at `start` and has at most about `longest` bytes; None when no checksum fits.

        The checksum of all bytes from `start` is computed as they go by, and compared at every possible end.
        """
        running = RunningChecksum(self.kind)
        done = start
        step = 1 << 16  # bytes per chunk
        while done < min(self.room, start + longest) and self.left > 0:
            piece = self._bytes(done, step + BLOCK_TRAILER)
            fed = 0  # bytes of the chunk that are in the checksum
            for at in _ends(piece, min(step, len(piece) - BLOCK_TRAILER + 1)):
                self.left -= 1
                running.update(piece[fed:at])
                _, compression, checksum = flat_block_trailer(piece, at, len(piece))
                value = sealed_checksum(self.kind, running, compression)
                # `sealed_checksum` does not add the compression byte: it is content if the block does not end here.
                running.update(piece[at : at + CHECKSUMMED])
                fed = at + CHECKSUMMED
                end = done + at
                if self._fits(start, end, compression, checksum, value):
                    stored = self.table.source.read_at(start, end - start)
                    verdict = Verdict.NONE if self.kind == "none" else Verdict.GOOD
                    return FoundBlock(Handle(start, end - start), stored, compression, verdict)
            running.update(piece[fed:step])
            done += step
        return None

    def _fits(self, start: int, end: int, compression: int, checksum: int, value: int) -> bool:
        """Whether the computed `value`, in context, is the stored `checksum`; without checksums, entries decide."""
        if (value + context_modifier(self.base, start)) & _U32 != checksum:
            return False
        return self.kind != "none" or self._is_block(start, end, compression)

    def _is_block(self, start: int, end: int, compression: int) -> bool:
        """Whether the bytes `[start, end)` of the table decompress to entries."""
        stored = self.table.source.read_at(start, end - start)
        block = _decode(self.table, FoundBlock(Handle(start, end - start), stored, compression, Verdict.NONE))
        return block is not None and is_entries(self.table, block)


# `_CODES` as single bytes, and as a translation table to 1 (a compression byte) and 0.
_CODE_BYTES = frozenset(bytes((code,)) for code in _CODES)
_MARKED = bytes(1 if code in _CODES else 0 for code in range(256))


def _ends(piece: bytes, stop: int) -> Iterator[int]:
    """Yield the offsets in `piece` below `stop` at which a block may end: those of known compression bytes."""
    marks = piece[: max(0, stop)].translate(_MARKED)
    at = marks.find(1)
    while at >= 0:
        yield at
        at = marks.find(1, at + 1)
