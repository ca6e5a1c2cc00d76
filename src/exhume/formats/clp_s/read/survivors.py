"""The readable parts of a damaged archive: packed streams, and the positions of records in the input, some of them
missing.

A packed stream has several tables back to back (a table has the records with one set of keys, column by column) and is
compressed as a whole, in one or more zstd frames.  Salvage writes a new archive: an intact stream is copied as it is
stored; of a damaged one, the tables that decompress completely are compressed again.  The table that contains the
damage is called cut; on request, its complete columns are kept, too (partial).

Spec: clp_s.txt, Table segments.
"""

from __future__ import annotations

import mmap
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from exhume.archive import Progress
from exhume.codecs.common import over_budget
from exhume.codecs.zstd import zstd_measured, zstd_stream, zstd_survivors
from exhume.counts import counted
from exhume.errors import CodecError, ExhumeError, UnsupportedFeatureError
from exhume.formats.clp_s.layout import Schema, TableEntry
from exhume.formats.clp_s.layout_table import complete_columns
from exhume.formats.clp_s.read.blocks import BLOCK_BYTES, TableWindows
from exhume.formats.clp_s.read.fragments import STEP, WINDOW, Fragments, build_schema_map, span_of
from exhume.formats.clp_s.read.template import SchemaLayout
from exhume.formats.clp_s.read.together import READ, KernelTables, RunSource
from exhume.formats.clp_s.write.build import Framing, Payload, in_file, whole
from exhume.io.output.scratch import scratch_file
from exhume.io.parallel import map_ordered
from exhume.limits import Limits
from exhume.recovery import Outcome, SalvageReport
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.formats.clp_s.read.tables import Table, TableArchive


MEASURED = 8 << 20
"""Decompressed bytes of a stream from which on it is first decompressed without being held, as it may be intact."""


class Partial(NamedTuple):
    """The columns of a cut table that decompress completely, `[start, end)` of its stream, as a table of their own."""

    table: TableEntry
    end: int  # offset in the stream after the last complete column
    columns: int  # number of complete columns, which are the first
    all_columns: int  # number of columns of the table
    schema: Schema  # that of the table, reduced to these columns; still with its old id

    def entry(self, schema_id: int) -> TableEntry:
        """Return the table with these columns, for the new archive; `schema_id`: the new id of the reduced schema."""
        table = self.table
        return TableEntry(table.number, table.stream_id, table.start, self.end, schema_id, table.num_messages)


class _Place(NamedTuple):
    """Where a stream is stored: bytes `[start, end)` of the source."""

    start: int
    end: int
    is_last: bool  # the last stream: other bytes may follow it before `end`

    def ends_at(self, used: int) -> bool:
        """Whether frames of `used` stored bytes are all of the stream."""
        return self.is_last or self.start + used == self.end

    def end_after(self, used: int) -> int:
        """The end of the stored bytes, if frames of `used` bytes can be decompressed: the last stream ends there."""
        return self.start + used if self.is_last else self.end


class _Stream(NamedTuple):
    """A stream as far as it can be decompressed: its tables, and which of them are complete.

    An intact stream is kept as it is stored.
    """

    tables: list[TableEntry]
    whole: list[TableEntry]  # the complete ones of `tables`
    partial: Partial | None
    decoded: int  # bytes that could be decompressed
    end: int  # offset in the file after the stored bytes
    stored: Iterable[bytes] | None = None  # the stored bytes, if all are intact


_NOTHING: Payload = ([], lambda start, stop: b"")
"""Nothing to compress: the stream is copied as it is stored."""


def _are_back_to_back(tables: list[TableEntry], size: int) -> bool:
    """Whether the tables of a stream of this size have no gaps between them."""
    return [0, *(table.end for table in tables)] == [*(table.start for table in tables), size]


class Streams:
    """The streams of a damaged archive.  `partial`: columns of cut tables are kept, too."""

    def __init__(
        self, found: Fragments, scratch: Path, limits: Limits, report: SalvageReport, *, partial: bool = False
    ) -> None:
        """Group the listed tables by stream; `scratch` is a directory for temporary files of large payloads."""
        assert found.tables is not None
        assert found.streams is not None
        self._found, self._scratch, self._limits, self._report = found, scratch, limits, report
        self._is_partial = partial
        # The section of the streams: `_base` to `_end` of `_source`.
        self._source, self._base, self._end = found.streams.source, found.streams.start, found.streams.end
        self._streams = found.tables.streams
        self._tables: dict[int, list[TableEntry]] = {}
        for table in found.tables.tables:
            self._tables.setdefault(table.stream_id, []).append(table)
        self._spools: dict[int, BinaryIO] = {}  # by stream: temporary file with the payload of a large one
        # Schemas of partial tables with their new ids, by (old id, number of columns).
        self._reduced: dict[tuple[int, int], Schema] = {}
        self.partial: list[Partial] = []
        """Truncated tables with columns that remain."""

    def schema_map(self) -> bytes:
        """Return the payload of the schema map for the new archive, with the schemas of partial tables."""
        if not self._reduced:
            return self._found.schema_ids
        return build_schema_map([*self._found.schemas.values(), *self._reduced.values()])

    def kept(self, progress: Progress, jobs: int) -> Iterator[tuple[list[TableEntry], Iterable[bytes]]]:
        """Yield for each stream the tables that are kept, and the frames to write.

        The frames are those that are stored if nothing else is in the stream, else they are compressed again.  Up to
        `jobs` threads read and compress; the outcome of each stream is reported when the next one is requested.
        """
        in_progress: deque[_Stream] = deque()  # streams that were read and are being compressed, in order

        def payloads() -> Iterator[Payload]:
            """Yield the payloads to compress, and note the stream of each in `in_progress`."""
            for one, payload in map_ordered(self._read, range(len(self._streams)), jobs, ahead=jobs):
                in_progress.append(one)
                yield payload

        for number, frames in enumerate(Framing().several(payloads(), jobs)):
            one = in_progress.popleft()
            yield self._entries(one), frames if one.stored is None else one.stored
            deque(frames, maxlen=0)  # takes the frames that the caller did not, so that the next stream can follow
            if number in self._spools:
                self._spools.pop(number).close()
            self._account(number, one)
            progress(number + 1, len(self._streams), "streams")

    def _entries(self, one: _Stream) -> list[TableEntry]:
        """Return the tables to keep from a stream: the intact ones, and with `partial` also the columns of a cut one.

        A cut table has fewer columns than its schema, so it gets a new schema with an unused id (see `_reduced`).
        """
        if one.partial is None:
            return one.whole
        self.partial.append(one.partial)
        if not self._is_partial:
            return one.whole
        known, schema = self._reduced, one.partial.schema
        key = (schema.schema_id, one.partial.columns)
        if key not in known:
            number = max((*self._found.schemas, *(other.schema_id for other in known.values()))) + 1
            known[key] = schema._replace(schema_id=number)
        return [*one.whole, one.partial.entry(known[key].schema_id)]

    def _account(self, number: int, one: _Stream) -> None:
        """Report one stream as recovered, or as lost with the number of records and tables that are missing."""
        report = self._report
        where = span_of(self._source, self._base + self._streams[number].offset, one.end)
        if len(one.whole) == len(one.tables):
            report.add_span(where, Outcome.RECOVERED, f"stream {number}")
            return
        lost = sum(table.num_messages for table in one.tables) - sum(table.num_messages for table in one.whole)
        size = counted(self._streams[number].size, "bytes")
        why = f"{one.decoded} of {size} decoded: {counted(lost, 'records')} lost"
        report.add_span(where, Outcome.LOST, f"stream {number}", why)
        report.add_lost("records", lost)
        report.add_lost("tables", len(one.tables) - len(one.whole))

    def _read(self, number: int) -> tuple[_Stream, Payload]:
        """Return the stream `number`, as far as it decompresses, and the payload to write for it.

        The payload is empty if all bytes are intact: the stream is then copied as it is stored.
        """
        stream, source = self._streams[number], self._source
        place = self._place(number)
        most = stream.size + WINDOW  # stored bytes are hardly more than their content
        is_large = max(stream.size, min(place.end - place.start, most)) > self._limits.payload_size
        if is_large or stream.size >= MEASURED:
            limits = self._limits
            budget = limits.expansion_budget(place.end - place.start) if is_large else limits.payload_size
            found = self._intact(number, place, budget)
            if found is not None:
                return found, _NOTHING
        if is_large:
            return self._read_large(number, place)
        parts: list[bytes] = []
        data, used, end, intact = b"", 0, place.end, False
        if place.start < source.size:
            # `used` and `intact` of the last part count: stored bytes that were decompressed, and whether no damage
            # follows.
            data = source.read_up_to(place.start, min(max(0, place.end - place.start), most))
            for used, part, intact in zstd_survivors(data, max_size=most):  # noqa: B007 - those of the last are needed
                parts.append(part)
            end = place.end_after(used)
        size = sum(map(len, parts))
        tables = self._tables.get(number, [])
        if intact and place.ends_at(used) and self._is_complete(tables, size):
            return _Stream(tables, tables, None, size, end, [data[:used]]), _NOTHING
        payload = memoryview(b"".join(parts))
        kept, cut = self._whole(tables, size), self._cut(tables, size)
        partial = None if cut is None else self._columns(cut, payload[cut.start :])
        ranges = self._ranges(kept, partial)
        content = b"".join(payload[start:stop] for start, stop in ranges)
        made = [stop - start for start, stop in ranges], whole(content)[1]
        return _Stream(tables, kept, partial, size, end), made

    def _place(self, number: int) -> _Place:
        """Return where the stream `number` is stored: up to the next one, or to the end of the section."""
        is_last = number + 1 == len(self._streams)
        end = self._end if is_last else self._base + self._streams[number + 1].offset
        return _Place(self._base + self._streams[number].offset, end, is_last)

    def _intact(self, number: int, place: _Place, most: int) -> _Stream | None:
        """Return a stream that decompresses without errors to at most `most` bytes, without keeping them; else None."""
        source, start, used, size = self._source, place.start, 0, 0
        try:
            for used, part in zstd_measured(source.chunks(start, min(place.end, source.size))):  # noqa: B007
                size += part
                if size > most:
                    return None
        except ExhumeError:  # reported where the remainder is decompressed
            return None
        tables = self._tables.get(number, [])
        if not place.ends_at(used) or not self._is_complete(tables, size):
            return None
        return _Stream(tables, tables, None, size, start + used, source.chunks(start, start + used))

    def _read_large(self, number: int, place: _Place) -> tuple[_Stream, Payload]:
        """Decompress a damaged stream that is too large for memory into a file, as far as possible (see `_read`).

        Raises `LimitExceededError` above the limit `expansion`.
        """
        source, start, most = self._source, place.start, self._limits.expansion_budget(place.end - place.start)
        spool = self._spools[number] = scratch_file(self._scratch)
        used = size = 0
        intact = False
        with suppress(CodecError, UnsupportedFeatureError):
            # Damage ends the loop: the file keeps the bytes before it.
            for at, part, intact in zstd_stream(source.chunks(start, min(place.end, source.size)), STEP):  # noqa: B007
                used, size = at, size + spool.write(part)
                if size > most:
                    raise over_budget("zstd", most)
        spool.flush()
        tables, end = self._tables.get(number, []), place.end_after(used)
        if intact and place.ends_at(used) and self._is_complete(tables, size):
            return _Stream(tables, tables, None, size, end, source.chunks(start, start + used)), _NOTHING
        kept, cut = self._whole(tables, size), self._cut(tables, size)
        partial = None
        if cut is not None:
            with mmap.mmap(spool.fileno(), size, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as data:
                partial = self._columns(cut, data[cut.start :])
        return _Stream(tables, kept, partial, size, end), in_file(self._ranges(kept, partial), spool)

    def _is_complete(self, tables: list[TableEntry], size: int) -> bool:
        """Whether all tables of a stream can be read, and nothing else is in its `size` bytes."""
        return self._whole(tables, size) == tables and _are_back_to_back(tables, size)

    def _sound(self, tables: list[TableEntry]) -> Iterator[TableEntry]:
        """Yield the tables with a valid place whose schema survived."""
        return (table for table in tables if table.problem is None and table.schema_id in self._found.schemas)

    def _whole(self, tables: list[TableEntry], size: int) -> list[TableEntry]:
        """Return the tables that are complete in the first `size` bytes of the stream."""
        return [table for table in self._sound(tables) if table.end <= size]

    def _cut(self, tables: list[TableEntry], size: int) -> TableEntry | None:
        """Return the table that is only partly in the first `size` bytes of the stream; None if there is none."""
        return next((table for table in self._sound(tables) if table.start < size < table.end), None)

    def _ranges(self, kept: list[TableEntry], partial: Partial | None) -> list[tuple[int, int]]:
        """Return the ranges of the payload to write: the kept tables, and the columns of a partial one if wanted."""
        ranges = [(table.start, table.end) for table in kept]
        if partial is not None and self._is_partial:
            ranges.append((partial.table.start, partial.end))
        return ranges

    def _columns(self, table: TableEntry, data: memoryview) -> Partial | None:
        """Return the complete columns of a cut table as a table of their own.

        `data` starts at the table and ends with what was decompressed.  None if no column with content of the records
        is complete (the number in the input, `log_event_idx`, alone is of no use).
        """
        found, schema = self._found, self._found.schemas[table.schema_id]
        if found.parsed_tree is None:
            return None
        tree = found.parsed_tree
        try:
            described = SchemaLayout(tree, schema)
        except ExhumeError:
            return None
        ends = complete_columns(described.node_types[: described.num_ordered], table.num_messages, data)
        nodes = described.nodes[: len(ends)]
        if not any(node != tree.log_event_idx for node in nodes):
            return None
        left = len(ends)  # complete columns to come
        entries = []
        for node in schema.ordered:
            if tree.has_column[node]:
                left -= 1
            # Nodes without a column, such as null values, take no bytes, so they are not lost.
            if left >= 0 or not tree.has_column[node]:
                entries.append(node)
        reduced = Schema(schema.schema_id, entries, len(entries))
        return Partial(table, table.start + ends[-1], len(ends), len(described.nodes), reduced)


Numbers = np.ndarray[Any, np.dtype[np.int64]]  # positions of records in the input

MOST_RUNS = 1 << 16
"""Runs (of consecutive numbers) from which on adjacent ones are joined; also numbers that wait to be made into runs."""


def all_positions(archive: TableArchive, node: int | None) -> Iterator[memoryview[Any] | None]:
    """Yield the positions in the input of the records of all tables, some at a time; None for a table without.

    `node`: the schema tree node of the positions (`log_event_idx`); None if they were not recorded.
    """
    tables, tree = archive.tables, archive.schema_tree
    if node is None:
        yield from (None for _ in tables)
        return
    together, wanted = KernelTables(archive, prints=False), bytearray(len(tree))
    wanted[node] = 1
    for first, stop in together.runs(BLOCK_BYTES, MOST_RUNS):  # by most bytes and most rows of a run
        count, chosen = sum(together.rows[first:stop]), bytearray([READ]) * (stop - first)
        if stop - first > 1:
            source = RunSource(archive, tables[first].span, count)
            column = together.gathered(source, first, stop, chosen, tree.types[node], wanted).column
            # Else some table of the run could not be read in this way: read all of them alone.
            if column.rows == count:
                yield column.integers
                continue
        for table in tables[first:stop]:
            yield from _positions(table, node)


def _positions(table: Table, node: int) -> Iterator[memoryview[Any] | None]:
    """Yield the positions of the records of a table, some at a time; None if it has none."""
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
    """A set of numbers, kept as runs of consecutive ones.

    Runs take little memory, as most records are there: their positions have few gaps.
    """

    def __init__(self) -> None:
        """Start without numbers."""
        self._firsts: list[Numbers] = []  # of each run, its first number ...
        self._lasts: list[Numbers] = []  # ... and its last; both in batches that were added together
        self._waiting: list[Numbers] = []  # numbers that are not in runs yet
        self._held = self._num_waiting = 0  # runs; numbers that wait
        self._most = MOST_RUNS  # runs at which batches are joined

    def add(self, numbers: Numbers) -> None:
        """Add numbers in any order."""
        self._waiting.append(numbers)
        self._num_waiting += len(numbers) + 1  # plus 1, so that empty arrays do not collect without end
        if self._num_waiting > MOST_RUNS:
            self._take()
        if self._held > self._most:
            first, last = self.joined()
            self._firsts, self._lasts, self._held = [first], [last], len(first)
            self._most = MOST_RUNS + 2 * self._held  # twice what remains, so that joining stays rare if it saves little

    def _take(self) -> None:
        """Merge the waiting numbers into runs of consecutive ones; negative numbers are dropped."""
        numbers = np.sort(np.concatenate(self._waiting)) if self._waiting else np.array([], np.int64)
        numbers = numbers[numbers >= 0]
        self._waiting, self._num_waiting = [], 0
        if len(numbers):
            breaks = np.flatnonzero(numbers[1:] - 1 > numbers[:-1])  # indices of the last number before each gap
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
        # A run may contain others: the greatest end so far counts.
        firsts, lasts = firsts[order], np.maximum.accumulate(lasts[order])
        breaks = np.flatnonzero(firsts[1:] - 1 > lasts[:-1])
        return firsts[np.concatenate(([0], breaks + 1))], lasts[np.concatenate((breaks, [len(lasts) - 1]))]


def gaps(firsts: Numbers, lasts: Numbers, total: int) -> Iterator[tuple[int, int]]:
    """Yield the runs `(first, last)` of the numbers from 0 on, below `total`, that are missing.

    `firsts` and `lasts` are the runs that are present, ascending.
    """
    following = 0
    for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
        if first > following:
            yield following, first - 1
        following = last + 1
    if following < total:
        yield following, total - 1
