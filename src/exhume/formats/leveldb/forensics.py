"""Reading as much of a table as possible: through its index, or by searching for blocks when footer or index are lost.

Spec: LevelDB doc/table_format.md; `docs/formats/leveldb.md`, "Read".
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from typing import NamedTuple

from exhume.errors import ExhumeError
from exhume.formats.leveldb import checks, layout
from exhume.formats.leveldb.checks import Report
from exhume.formats.leveldb.kernel import LeveldbRows
from exhume.formats.leveldb.large import LargeBlock
from exhume.formats.leveldb.ranges import PIECE
from exhume.formats.leveldb.table import Item, Table
from exhume.formats.leveldb.table_blocks import TableBlock
from exhume.formats.leveldb.wire import BlockIndex, Handle, Handles
from exhume.native import kernel

SMALLEST = 8
"""Bytes of a block without entries: a restart point, and how many there are."""

PAGE = 4096


class TableSurvey(NamedTuple):
    """What one pass over a table shows: whether it is in order throughout, and its first and last
    `(user key, inverted packed)`.
    """

    ordered: bool
    first: tuple[bytes, int] | None
    last: tuple[bytes, int] | None


def data_handles(table: Table, report: Report) -> Handles | None:
    """The places of the data blocks; None when footer or index cannot be trusted, so that blocks must be searched."""
    problems = 0

    def count(*args: object, **kwargs: object) -> None:
        nonlocal problems
        problems += 1
        report(*args, **kwargs)  # type: ignore[arg-type]

    index = table.index(count) if table.check_footer(report) is not None else BlockIndex.of(())
    footer = table.footer_or_none()
    if problems and (not index or footer is None):
        return None
    return index.handles if footer is not None else None


def forensic_items(table: Table, rank: int, report: Report) -> Iterator[list[Item]]:
    """The entries of each block that can be read and has any."""
    last: Item | None = None
    for number, block in enumerate(readable_blocks(table, report)):
        items, _ = table.block_items(block, (rank << 33) + 2 * number, report)
        if items:
            if last is not None and last[:2] != items[0][:2] and not table.follows(last, items[0]):
                report(checks.KEY_ORDER, "a block starts before the end of the previous one", span=block.span)
            last = items[-1]
            yield items


def readable_blocks(table: Table, report: Report) -> Iterator[TableBlock | LargeBlock]:
    """The data blocks that can be decompressed, whatever their checksums say."""
    handles = data_handles(table, report)
    if handles is None:
        yield from find_data_blocks(table)
        return
    if handles:
        table.source.will_read(min(handles.offsets), table.source.size)
    yield from (block for block in table.read_blocks(handles, report) if block is not None)


def survey_table(table: Table) -> TableSurvey:
    """Survey a table: whether every readable block is in order, and the first and the last key."""
    with suppress(ExhumeError):
        if (found := _sound_survey(table)) is not None:
            return found
    troubled = False

    def note(*args: object, **kwargs: object) -> None:
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
    """The survey of a table with nothing to say of its blocks, else None.  Raises at damage of its index."""
    first = last = None
    for at in range(0, len(table.strict_index), PIECE):
        rows = LeveldbRows()
        found = rows.facts() if table.add_blocks(rows, table.strict_index[at : at + PIECE + 1]) else None
        if found is None:
            return None
        first, last = first or found[0], found[1]
    return TableSurvey(True, first, last)


def find_data_blocks(table: Table) -> Iterator[TableBlock]:
    """Data blocks found by their checksums alone, in file order; nothing but the footer is trusted, if there is one.

    Index, metaindex and property blocks are recognized and left out.  In a table of another kind nothing is searched
    for: its blocks have other contents.
    """
    if table.is_of_another_kind:
        return
    from exhume.formats.leveldb.finder import find_blocks, is_entries

    found = list(find_blocks(table))
    places = {block.handle for block in found}
    with_entries = [block for block in found if is_entries(table, block)]
    for block in with_entries:
        if not _is_index(table, block, places, is_last=block is with_entries[-1]):
            yield block


def _is_index(table: Table, block: TableBlock, places: set[Handle], *, is_last: bool) -> bool:
    """Whether the values of a block are the places of other blocks: of those that were found; or, if blocks are damaged
    or have moved, of blocks that follow each other.
    """
    items, _, _, _ = kernel.internal_entries(block.data, block.tail.end, table.limits.structure_size, 0, None)
    handles = [layout.leading_handle(item[4]) for item in items]
    known = [handle for handle in handles if handle is not None]
    if len(known) < len(handles):
        return False
    if all(handle in places for handle in known):
        return True
    if len(known) > 1:
        return all(_follows(one, other) for one, other in pairwise(known))
    (only,) = known
    if any(only.size == place.size for place in places if place != block.handle):
        return True
    return is_last and layout.whole_handle(items[0][4]) is not None and SMALLEST <= only.size <= table.source.size


def _follows(one: Handle, other: Handle) -> bool:
    """Whether a block starts where another ends, or at the next page (`block_align` of RocksDB)."""
    gap = other.offset - one.stop
    return gap == 0 or (0 < gap < PAGE and other.offset % PAGE == 0)
