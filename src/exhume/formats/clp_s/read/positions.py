"""The positions of records in the input of an archive, and which of them are missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from exhume.formats.clp_s.read.blocks import BLOCK_BYTES, TableWindows
from exhume.formats.clp_s.read.together import KernelTables, RunSource

if TYPE_CHECKING:
    from exhume.formats.clp_s.read.tables import Table, TableArchive

Numbers = np.ndarray[Any, np.dtype[np.int64]]

MOST_RUNS = 1 << 16
"""Runs of numbers from which on those that touch are joined."""


def all_positions(archive: TableArchive, node: int | None) -> Iterator[memoryview[Any] | None]:
    """The positions of the records of all tables, some at a time; None where they were not recorded."""
    tables, tree = archive.tables, archive.schema_tree
    if node is None:
        yield from (None for _ in tables)
        return
    together, wanted = KernelTables(archive, prints=False), bytearray(len(tree))
    wanted[node] = 1
    for first, stop in together.runs(BLOCK_BYTES, MOST_RUNS):
        count, chosen = sum(together.rows[first:stop]), bytearray(b"\1" * (stop - first))
        if stop - first > 1:
            source = RunSource(archive, tables[first].span, count)
            column = together.gathered(source, first, stop, chosen, tree.types[node], wanted).column
            if column.rows == count:
                yield column.integers
                continue
        for table in tables[first:stop]:
            yield from _positions(table, node)


def _positions(table: Table, node: int) -> Iterator[memoryview[Any] | None]:
    """The positions of the records of a table, some at a time; None where they were not recorded."""
    windowed = TableWindows(table)
    index = table.layout.by_node.get(node)
    if index is None:
        yield None
        return
    done = 0
    for rows in windowed.each():
        data = None if rows is None else windowed.of(rows, [index])
        if data is None:
            column = table.load((node,)).log_event_idx
            yield None if column is None else column[done:]
            return
        yield data.log_event_idx
        done += data.num_messages


class NumberRuns:
    """Numbers as runs of those that follow each other: they take little memory, as most records are there."""

    def __init__(self) -> None:
        """Start without numbers."""
        self._firsts: list[Numbers] = []
        self._lasts: list[Numbers] = []
        self._waiting: list[Numbers] = []
        self._held = self._num_waiting = 0
        self._most = MOST_RUNS

    def add(self, numbers: Numbers) -> None:
        """Add numbers in any order."""
        self._waiting.append(numbers)
        self._num_waiting += len(numbers) + 1
        if self._num_waiting > MOST_RUNS:
            self._take()
        if self._held > self._most:
            first, last = self.joined()
            self._firsts, self._lasts, self._held = [first], [last], len(first)
            self._most = MOST_RUNS + 2 * self._held

    def _take(self) -> None:
        """Merge the waiting numbers into runs of consecutive ones; negative numbers are dropped."""
        numbers = np.sort(np.concatenate(self._waiting)) if self._waiting else np.array([], np.int64)
        numbers = numbers[numbers >= 0]
        self._waiting, self._num_waiting = [], 0
        if len(numbers):
            breaks = np.flatnonzero(numbers[1:] - 1 > numbers[:-1])
            self._firsts.append(numbers[np.concatenate(([0], breaks + 1))])
            self._lasts.append(numbers[np.concatenate((breaks, [len(numbers) - 1]))])
            self._held += len(breaks) + 1

    def joined(self) -> tuple[Numbers, Numbers]:
        """The first and the last number of each run, ascending."""
        self._take()
        nothing: Numbers = np.array([], np.int64)
        firsts, lasts = np.concatenate([nothing, *self._firsts]), np.concatenate([nothing, *self._lasts])
        if not len(firsts):
            return firsts, lasts
        order = np.argsort(firsts, kind="stable")
        firsts, lasts = firsts[order], np.maximum.accumulate(lasts[order])
        breaks = np.flatnonzero(firsts[1:] - 1 > lasts[:-1])
        return firsts[np.concatenate(([0], breaks + 1))], lasts[np.concatenate((breaks, [len(lasts) - 1]))]


def gaps(firsts: Numbers, lasts: Numbers, total: int) -> Iterator[tuple[int, int]]:
    """Run `(first, last)` of the numbers from 0 to `total` that are missing; `total` itself is not verified.

    The others are given as their runs, ascending.
    """
    following = 0
    for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
        if first > following:
            yield following, first - 1
        following = last + 1
    if following < total:
        yield following, total - 1
