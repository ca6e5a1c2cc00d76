"""ZS files in parts: ranges between keys of the index, so that a part reads only the blocks of its range.

The bounds are shortened keys of the index: a bound need not be a record.  Copies of a record that equals a bound may
be at the end of the block before it, so a part reads that block as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from exhume.formats.zs.layout import IndexEntry
from exhume.formats.zs.reader import ZsArchive
from exhume.parts import Part, Selection

KEY = 128
"""Bytes of a key that are kept as a bound: the shortened key sorts before the whole one, so it is a bound, too."""

_BOUNDS = ("start", "stop", "prefix")  # options that select a range


def plan(archive: ZsArchive, size: int | None, options: dict[str, Any]) -> Iterator[Part]:
    """Yield parts of about `size` stored bytes, divided at the highest index level that is fine enough.

    One part if the file is small, or if the options select a range already.
    """
    total = archive.source.size
    if size is None or total <= size or any(options.get(name) is not None for name in _BOUNDS):
        yield Part((), total)
        return
    root = archive.index.root()
    cutter = _KeyCutter(archive, size)
    cutter.cut(root.entries, root.level, archive.header.blocks_offset)
    edges = [(None, archive.header.blocks_offset), *cutter.bounds, (None, total)]
    for (first, start), (stop, end) in pairwise(edges):  # (key, offset) of both bounds of a part
        # A part has its selection (see `_range`), its stored bytes, and its bounds: lower and upper key.
        yield Part((first, stop, end), end - start, first, stop)


class _KeyCutter:
    """Collects `bounds`: keys with about `size` stored bytes between them, and the offset that those bytes end at."""

    def __init__(self, archive: ZsArchive, size: int) -> None:
        self._archive, self._size = archive, size
        self._at = archive.header.blocks_offset  # offset of the last bound
        self.bounds: list[tuple[bytes, int]] = []

    def cut(self, entries: list[IndexEntry], level: int, before: int) -> None:
        """Go through the entries of an index block whose data starts at `before`; descends into large ones.

        Writers store an index block after the blocks it refers to, so the bytes of an entry end where its block ends.
        Where that is not so, parts have other sizes, but the same records.
        """
        for entry in entries:
            end = entry.offset + entry.size
            if level > 1 and end - before > 2 * self._size:  # more than two parts: divide it at the keys below it
                node = self._archive.index.node(entry, level - 1)
                self.cut(node.entries, node.level, before)
            elif end - self._at > self._size and before > self._at:
                key = entry.key[:KEY]
                # An empty key, or one that equals the last bound when it is cut, would make an empty part.
                last, _ = self.bounds[-1] if self.bounds else (b"", 0)
                if key > last and (start := self._first_block(entry, level)) > self._at:
                    self.bounds.append((key, start))
                    self._at = start
            before = end

    def _first_block(self, entry: IndexEntry, level: int) -> int:
        """Return the offset of the data block from which on no record is less than an entry's key."""
        while level > 1:
            level -= 1
            entry = self._archive.index.node(entry, level).entries[0]
        return entry.offset


def items(archive: ZsArchive, part: Selection, options: dict[str, Any]) -> Iterator[bytes]:
    """Return the records of a part."""
    return archive.records(**_range(archive, part, options))


def table(archive: ZsArchive, part: Selection, options: dict[str, Any]) -> Any:
    """Return the records of a part as `to_arrow` does."""
    return archive.to_arrow(**{**options, **_range(archive, part, options)})


def _range(archive: ZsArchive, part: Selection, options: dict[str, Any]) -> dict[str, Any]:
    """Return the bounds of a part, or those of the options if it is the whole file."""
    if part:
        start, stop, archive.stop_offset = part  # the offset: so that nothing after the part is read ahead
        return {"start": start, "stop": stop}
    return {name: options[name] for name in _BOUNDS if name in options}


def last_key(archive: ZsArchive) -> bytes:
    """Return the last record, found through the index."""
    node = archive.index.root()
    while node.level > 1:  # down to the index block of the last data blocks
        node = archive.index.node(node.entries[-1], node.level - 1)
    return max(archive.records(start=node.keys[-1]), default=b"")


def tally(archive: ZsArchive, jobs: int) -> int:
    """Return the number of records, which takes reading all of them: the format does not store it."""
    return archive.count(jobs=jobs)
