"""clp-s archives in parts, which can be read by different processes (see `exhume.parts`).

A part is a range of tables.  The tables of one packed stream, which are compressed together, stay together; every part
reads the dictionaries.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from exhume.formats.clp_s.reader import ClpSArchive
from exhume.parts import Part, Selection, ranges


def plan(archive: ClpSArchive, size: int | None, options: dict[str, Any]) -> Iterator[Part]:
    """Yield parts of about `size` stored bytes; each selects a range of tables, by their numbers in stored order.

    One part is the whole archive (an empty selection) if no size is given, or records have to be put in order.
    """
    if size is None or options.get("ordered"):
        yield Part((), archive.header.archive_size)
        return
    firsts: list[int] = []  # the first table of each stream
    stops: list[int] = []  # and one past the last
    sizes: list[int] = []  # stored bytes of each
    for stream, group in groupby(archive.tables, key=lambda table: table.entry.stream_id):
        tables = list(group)
        firsts.append(tables[0].index)
        stops.append(tables[-1].index + 1)
        sizes.append(archive.stream_span(stream).size)
    for first, stop, stored in ranges(sizes, size):  # of consecutive streams, and their stored bytes
        yield Part((firsts[first], stops[stop - 1]), stored)


TAKES = ("query", "ordered", "with_source", "ignore_case", "begin_ms", "end_ms")
"""The options of `items`: those of `ClpSArchive.events`."""


def items(archive: ClpSArchive, part: Selection, options: dict[str, Any]) -> Iterator[Any]:
    """The events of a part."""
    _restrict(archive, part)
    return archive.events(**options)


def table(archive: ClpSArchive, part: Selection, options: dict[str, Any]) -> Any:
    """The events of a part, as `to_arrow` returns them."""
    _restrict(archive, part)
    return archive.to_arrow(**options)


def _restrict(archive: ClpSArchive, part: Selection) -> None:
    """Keep only the tables of a part; an empty selection is all."""
    if part:
        first, stop = part
        archive.tables = archive.tables[first:stop]


def tally(archive: ClpSArchive, jobs: int) -> int:
    """The number of records as the table metadata state it; verification has decoded as many values of each column."""
    return archive.num_messages
