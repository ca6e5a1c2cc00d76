"""Several archives as one: the archives of a compression run in the order of writing, and runs merged by time.

A run is one call of the compressor.  It may write several archives, each the continuation of the one before.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import isnan
from typing import Any

from exhume.formats.clp_s.layout import NodeType
from exhume.formats.clp_s.read.blocks import each_part
from exhume.formats.clp_s.read.columns import Column
from exhume.formats.clp_s.read.records import line_stream, merge_order, table_events
from exhume.formats.clp_s.read.tables import Table
from exhume.formats.clp_s.reader import ClpSArchive

_PER_UNIT = ((31_536 * 10**12, 1), (31_536 * 10**9, 1_000), (31_536 * 10**6, 1_000_000))
"""Pairs of a bound and nanoseconds per unit: a timestamp beyond the bound is taken to have this unit.

These are nanoseconds, microseconds and milliseconds; smaller numbers are seconds.  Upstream guesses so from 0.5.0 on:
each bound is one year (31,536,000 seconds) in that unit.
"""

_BEFORE_ALL = -(1 << 80)
"""A time in nanoseconds before all others, far below the least int64."""


def to_nanoseconds(value: float) -> int:
    """An epoch of unknown unit in nanoseconds, by upstream's guess."""
    for bound, factor in _PER_UNIT:
        if abs(value) > bound:
            return int(value * factor)
    return int(value * 1_000_000_000)


class Dataset:
    """Several archives read as one.

    Without `ordered` they come in the given sequence.  With it, archives of one compression run (the same
    `_archive_creator_id`) come in the order of the run; where the times of different runs overlap, their records are
    merged by the timestamp key (records without one stay after their predecessor), else the earlier run comes first.
    If one of two runs has no timestamp range, they come in the given order.
    """

    def __init__(self, archives: Sequence[ClpSArchive]) -> None:
        self.archives: list[ClpSArchive] = list(archives)

    def json_chunks(self, *, ordered: bool = False, complete: bool = False, jobs: int = 1) -> Iterator[bytes]:
        """The text of all records in chunks of whole records.

        `ordered`: see the class; `complete`: with what upstream does not print, such as auto-generated keys; `jobs`
        threads print.  Propagates errors of the archives.
        """
        for group in self._groups(ordered):
            if len(group) == 1:
                (run,) = group
                for archive in run:
                    yield from archive.json_chunks(ordered=ordered, complete=complete, jobs=jobs)
            else:
                yield from _merged(group, lambda table: line_stream(table, complete))

    def json_lines(self, *, ordered: bool = False, complete: bool = False) -> Iterator[bytes]:
        """Yield all records as JSON lines, one by one; the options are those of `json_chunks`."""
        for group in self._groups(ordered):
            if len(group) == 1:
                (run,) = group
                for archive in run:
                    yield from archive.json_lines(ordered=ordered, complete=complete)
            else:
                yield from _merged(group, lambda table: line_stream(table, complete))

    def events(self, *, ordered: bool = False) -> Iterator[Any]:
        """Yield all records as Python objects."""
        for group in self._groups(ordered):
            if len(group) == 1:
                (run,) = group
                for archive in run:
                    yield from archive.events(ordered=ordered)
            else:
                yield from _merged(group, lambda table: table_events(table, None))

    def _groups(self, ordered: bool) -> list[list[list[ClpSArchive]]]:
        """Return groups of runs whose times overlap; a run is a list of archives in its order.

        The records of a group have to be merged by time; groups follow each other.
        """
        if not ordered:
            return [[[archive]] for archive in self.archives]
        runs = self._runs()
        bounded = [(bounds, run) for run in runs if (bounds := _bounds(run)) is not None]
        if len(bounded) < len(runs):  # the order of a run without times is unknown
            return [[run] for run in runs]
        groups: list[list[list[ClpSArchive]]] = []
        last = 0  # latest time of the last group
        for (begin, end), run in sorted(bounded, key=lambda pair: pair[0]):
            if groups and begin <= last:
                groups[-1].append(run)
                last = max(last, end)
            else:
                groups.append([run])
                last = end
        return groups

    def _runs(self) -> list[list[ClpSArchive]]:
        """Group the archives by the run that wrote them, each group in order of writing.

        An archive that does not name its run (in its range index) is a run of its own.
        """
        runs: dict[Any, list[ClpSArchive]] = {}
        for number, archive in enumerate(self.archives):
            ranges = archive.range_index
            creator = ranges[0].properties.get("_archive_creator_id") if ranges else None
            runs.setdefault(creator if isinstance(creator, str) else number, []).append(archive)
        return [_in_run_order(run) for run in runs.values()]


def _in_run_order(run: list[ClpSArchive]) -> list[ClpSArchive]:
    """Sort archives of one run by the input file that they start with, and its split number.

    An archive with the end of one file and the start of the next determines the order of the two; files that no archive
    connects are in the given order.
    """
    names = {  # by archive: its input files, in order
        id(archive): [str(entry.properties.get("_filename")) for entry in archive.range_index] or [""]
        for archive in run
    }
    position = {name: number for number, name in enumerate(_file_order([names[id(archive)] for archive in run]))}

    def key(archive: ClpSArchive) -> tuple[int, int]:
        """Return the place of the archive's first file in the order, and the split number of that file (0: none)."""
        ranges = archive.range_index
        split = ranges[0].properties.get("_file_split_number") if ranges else 0
        return position[names[id(archive)][0]], split if isinstance(split, int) else 0

    return sorted(run, key=key)


def _file_order(sequences: Sequence[Sequence[str]]) -> list[str]:
    """All names, in an order that agrees with each sequence (a topological sort).

    If the sequences contradict each other, the first of the remaining names comes next.
    """
    later: dict[str, set[str]] = {name: set() for names in sequences for name in names}
    for names in sequences:
        for before, after in pairwise(names):
            if before != after:
                later[before].add(after)
    out: list[str] = []
    while later:
        blocked = set().union(*later.values())  # names that have to come after a remaining one
        name = next((name for name in later if name not in blocked), next(iter(later)))
        out.append(name)
        del later[name]
    return out


def _bounds(run: list[ClpSArchive]) -> tuple[int, int] | None:
    """Return earliest and latest timestamp of a run in nanoseconds; None if an archive does not state one."""
    begins, ends = [], []
    for archive in run:
        if not archive.num_messages:
            continue
        ranges = archive.timestamp_ranges
        if not ranges:
            return None
        begin, end = ranges[0].begin, ranges[0].end  # the first range is the authoritative one
        if begin is None or end is None:
            return None
        if archive.header.has_nanosecond_timestamps:  # values are nanoseconds, but the range is in milliseconds
            begins.append(int(begin) * 1_000_000)
            ends.append(int(end) * 1_000_000)
        else:
            begins.append(to_nanoseconds(begin))
            ends.append(to_nanoseconds(end))
    return (min(begins), max(ends)) if begins else None


def _merged(runs: list[list[ClpSArchive]], stream: Callable[[Table], Iterator[Any]]) -> Iterator[Any]:
    """Yield the records of all runs by time; `stream` yields the records of a table."""
    timed = [_timed(run, stream) for run in runs]
    return (record for _, record in heapq.merge(*timed, key=lambda pair: pair[0]))


def _timed(run: list[ClpSArchive], stream: Callable[[Table], Iterator[Any]]) -> Iterator[tuple[int, Any]]:
    """Yield `(time, record)` of a run in order of writing; `stream` yields the records of a table.

    A record without a time gets the time of the record before it.
    """
    last = _BEFORE_ALL
    for archive in run:
        tables = [table for table in archive.tables if table.num_messages]
        nodes = set(archive.timestamp_ranges[0].column_ids) if archive.timestamp_ranges else set()
        times = [_times(table, nodes) for table in tables]
        records = [stream(table) for table in tables]
        for index in merge_order(tables):
            when = next(times[index])
            last = last if when is None else when
            yield last, next(records[index])


def _times(table: Table, nodes: set[int]) -> Iterator[int | None]:
    """Yield the time of each row of a table in nanoseconds, from the first column among `nodes`; None without one."""
    for data, rows in each_part(table):
        found = (column for column in data.columns if column.node in nodes and not column.spec.unordered)
        column = next(found, None)
        times = [None] * data.num_messages if column is None else _column_times(column)
        yield from times if rows is None else times[rows[0] :]  # the rows that no window had are the last ones


def _column_times(column: Column) -> list[int | None]:
    """Return the time of each row in nanoseconds since the epoch; None if the row or the column has none.

    Numbers have no stated unit, so it is guessed.
    """
    match column.type:
        case NodeType.TIMESTAMP:
            return list(column.values)
        case NodeType.DATE_STRING:
            # Epochs are milliseconds, except those printed as numbers, whose pattern is %F (nanoseconds) or %E (the
            # number as it was written, of unknown unit).
            patterns = column.texts.patterns.texts
            out: list[int | None] = []
            for epoch, ident in zip(column.values, column.pattern_ids, strict=True):
                pattern = patterns.get(ident, b"")
                if pattern == b"%F":
                    out.append(epoch)
                else:
                    out.append(to_nanoseconds(epoch) if pattern == b"%E" else epoch * 1_000_000)
            return out
        case NodeType.INTEGER | NodeType.DELTA_INTEGER | NodeType.FLOAT | NodeType.FORMATTED_FLOAT:
            return [None if isnan(value) else to_nanoseconds(value) for value in column.values]
        case NodeType.DICTIONARY_FLOAT:
            return [to_nanoseconds(float(text)) for text in column.strings()]
        case _:
            return [None] * column.rows
