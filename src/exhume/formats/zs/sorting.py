"""Sorting records that do not fit in memory: sorted runs in temporary files, then a merge.

A run is a part of the records that fits in memory.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import IO, BinaryIO, Self

from exhume.archive import Progress, no_progress
from exhume.formats.zs.framing import Framing
from exhume.formats.zs.writer import BLOCK_SIZE, iter_payloads
from exhume.io.output.scratch import scratch_file
from exhume.native.kernel import frame_records, split_records, take_records

SORT_MEMORY = 64 << 20
"""Bytes of records, and of the objects that hold them, that are sorted at once."""

RECORD_OVERHEAD = 64
"""Bytes of memory that a record takes beyond its own bytes: the header of the object, and its place in a list."""

FAN_IN = 64
"""Runs merged at once; more are merged in several passes."""

RUN_CHUNK = 128 << 10
"""Bytes read from a run at a time."""


class ExternalSorter:
    """Collects records in any order and yields them in ascending order; equal ones are all kept.

    It is a context manager: leaving it removes the temporary files (which have no names).
    """

    def __init__(self, memory: int = SORT_MEMORY) -> None:
        self._memory = memory
        self._records: list[bytes] = []  # records that are not in a run yet
        self._cost = 0  # bytes of memory that they take
        self._runs: list[IO[bytes]] = []  # temporary files

    def add(self, records: Iterable[bytes]) -> None:
        """Add records."""
        for record in records:
            self._records.append(record)
            self._cost += len(record) + RECORD_OVERHEAD
            if self._cost >= self._memory:
                self._spill()

    def __iter__(self) -> Iterator[bytes]:
        """Yield all records, sorted.  They can be iterated once."""
        if not self._runs:
            self._records.sort()
            yield from self._records
            return
        if self._records:
            self._spill()
        while len(self._runs) > FAN_IN:  # merge the oldest ones into one run
            part, self._runs = self._runs[:FAN_IN], self._runs[FAN_IN:]
            merged = self._write_run(heapq.merge(*map(_read_run, part)))
            for run in part:
                run.close()
            self._runs.append(merged)
        yield from heapq.merge(*map(_read_run, self._runs))

    def _spill(self) -> None:
        """Write the records in memory as a run."""
        self._records.sort()
        self._runs.append(self._write_run(self._records))
        self._records = []
        self._cost = 0

    @staticmethod
    def _write_run(records: Iterable[bytes]) -> IO[bytes]:
        """Write sorted records to a temporary file, framed as in a data block, and return it at its start."""
        run: IO[bytes] = scratch_file()
        part: list[bytes] = []
        size = 0
        for record in records:
            part.append(record)
            size += len(record) + RECORD_OVERHEAD
            if size >= RUN_CHUNK:
                run.write(frame_records(part))
                part, size = [], 0
        run.write(frame_records(part))
        run.seek(0)
        return run

    def close(self) -> None:
        """Remove the temporary files."""
        for run in self._runs:
            run.close()
        self._runs = []
        self._records = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _read_run(run: IO[bytes]) -> Iterator[bytes]:
    """Yield the records of a sorted run from its temporary file."""
    rest = b""
    want = RUN_CHUNK
    while fresh := run.read(want):
        data = rest + fresh
        end = take_records(data, len(data))
        if end:
            yield from split_records(data[:end])
            rest, want = data[end:], RUN_CHUNK
        else:
            rest, want = data, len(data)  # a record larger than a chunk: read twice as much


def feed(sorter: ExternalSorter, file: BinaryIO, shape: Framing, *, progress: Progress = no_progress) -> None:
    """Add the records of a file object, in the framing `shape`, to a sorter.  Raises `WriterError` as
    `iter_payloads`."""
    done = 0
    for payload, taken in iter_payloads(file, shape, BLOCK_SIZE):
        sorter.add(split_records(payload))
        done += taken
        progress(done, None, "bytes")
