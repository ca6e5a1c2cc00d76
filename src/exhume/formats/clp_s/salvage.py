"""Rebuilding of a damaged archive: tables are kept, without rows that cannot be decoded; all else is rebuilt.

Tables (the records of one schema, column by column; several are compressed together as a stream) are independent of
each other, but not of the schema tree, the schema map and the table metadata: without these, no table can be read.
A draft of the new archive is written and verified, until it has no faults.  Lost dictionary entries become strings that
mark them as lost, so that no record shows the value of another one; in place of numbers or arrays, these are JSON
strings and arrays, so that records stay JSON.  The format has no checksums: damage that still decodes to something
well-formed cannot be distinguished from data.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import EllipsisType
from typing import BinaryIO

import numpy as np

from exhume.archive import Progress, no_progress
from exhume.codecs.zstd import zstd_stream
from exhume.counts import counted
from exhume.errors import ExhumeError, LimitExceededError, Span
from exhume.findings import Finding, Severity
from exhume.formats.clp_s import layout_packed as packed
from exhume.formats.clp_s.layout import NodeType, PacketType, TableEntry
from exhume.formats.clp_s.probe import owns
from exhume.formats.clp_s.read.blocks import each_part
from exhume.formats.clp_s.read.fragments import STEP, Dictionary, Finder, Fragments, span_of
from exhume.formats.clp_s.read.survivors import NumberRuns, Partial, Streams, all_positions, gaps
from exhume.formats.clp_s.read.tables import Table
from exhume.formats.clp_s.reader import ClpSArchive
from exhume.formats.clp_s.salvage_rows import FaultyRows, faulty_rows, mapped, tables_without
from exhume.formats.clp_s.verify_tables import table_faults
from exhume.formats.clp_s.write.build import (
    Framing,
    build_table_metadata,
    in_file,
    joined,
    pack_patterns,
    write_container,
)
from exhume.io.local import FileSource
from exhume.io.output.atomic import AtomicFile
from exhume.io.output.scratch import ScratchDirectory, discard, scratch_file
from exhume.io.parallel import map_ordered
from exhume.io.source import STREAM_CHUNK, Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import Outcome, SalvageMode, SalvageReport, VerifiedBy
from exhume.tuples import NamedTuple

SHOWN_GAPS = 50
"""Runs of missing records that a report names."""


def salvage(
    source: Source | Tree,
    output: str | os.PathLike[str],
    *,
    mode: SalvageMode = SalvageMode.ARCHIVE,
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress = no_progress,
    jobs: int = 1,
    partial: bool = False,
) -> SalvageReport:
    """Write the intact tables as a clean archive, or their records as JSON lines, and account for the rest.

    With `partial`, the complete columns of truncated tables are written, too, as records without the other columns.
    """
    report = SalvageReport("clp-s", os.fspath(output))
    if isinstance(source, Tree):
        _ignore_others(source, report)
    found = Finder(source, limits, report).find()
    if found.tables is None:
        report.add_lost("schema tree, schema map or table metadata")
        for span in _left(source, report):
            why = "without schema tree, schema map and table metadata no table can be read"
            report.add_span(span, Outcome.LOST, "all records", why)
        return report
    with ScratchDirectory(Path(output)) as scratch, scratch_file(scratch) as file:
        kept = _KeptTables(file)
        streams = Streams(found, scratch, limits, report, partial=partial)
        # The tables of each stream that can be read, and their frames.
        for tables, frames in streams.kept(progress, jobs):
            kept.add(tables, frames)
        draft = _Draft(scratch / "draft", found, kept, limits, report, jobs)
        if not draft.write_until_clean(streams.schema_map):
            _report_partial(report, streams.partial, kept, False)
            report.notes.append("no table is intact: nothing was written")
            return report
        _count(draft.path, limits, report, found)
        _report_partial(report, streams.partial, kept, partial)
        _deliver(draft.path, Path(output), mode, limits, jobs)
    # Every value was decoded, and the format has no checksums.  Next to bad rows, others may be wrong.
    report.set_verified_by(VerifiedBy.NONE if kept.has_damage else VerifiedBy.STRUCTURE)
    return report


def _ignore_others(tree: Tree, report: SalvageReport) -> None:
    """Account for the files of the directory that are not files of the archive."""
    for name in tree.names():
        if not owns(name):
            with tree.source(name) as file:
                report.add_span(file.span(0, file.size), Outcome.IGNORED, "not part of the archive")


class _KeptStream(NamedTuple):
    """Tables of one stream that are kept, and the stream's position in the scratch file."""

    tables: list[TableEntry]
    at: int
    stored_size: int

    @property
    def size(self) -> int:
        return sum(table.end - table.start for table in self.tables)


class _KeptTables:
    """The tables to write, with their streams, already compressed, in a scratch file."""

    def __init__(self, file: BinaryIO) -> None:
        self.streams: list[_KeptStream] = []
        self.has_damage = False
        """Whether a table is kept without some of its rows."""
        self._file = file

    def add(self, tables: list[TableEntry], frames: Iterable[bytes]) -> None:
        """Add the tables of one stream, and the frames of the stream."""
        if tables:
            at = self._file.seek(0, os.SEEK_END)
            self.streams.append(_KeptStream(tables, at, sum(map(self._file.write, frames))))

    def drop(self, bad: Mapping[int, FaultyRows | None], folder: Path) -> None:
        """Remove faulty tables and rows, and compress the streams with them again.

        `bad` has the faulty rows of a table, or None for the whole table, by the table's number among all tables.
        `folder` is for temporary files.
        """
        first = 0  # number of the stream's first table
        self.has_damage |= any(rows is not None for rows in bad.values())
        streams, self.streams = self.streams, []
        for stream in streams:
            numbers = range(first, first + len(stream.tables))
            first += len(stream.tables)
            if bad.keys().isdisjoint(numbers):
                self.streams.append(stream)
            else:
                self._add_without(stream, [bad.get(number, ...) for number in numbers], folder)

    def _add_without(self, stream: _KeptStream, faulty: list[FaultyRows | None | EllipsisType], folder: Path) -> None:
        """Add a stream without its faulty tables and rows.

        `faulty` is as for `tables_without`; `folder` is for temporary files.
        """
        with scratch_file(folder) as payload, scratch_file(folder) as file:
            payload.writelines(part for _, part, _ in zstd_stream(self.chunks(stream), STEP))
            payload.flush()
            with mapped(payload, stream.size) as data:
                tables = list(tables_without(stream.tables, data, faulty, file))
            file.flush()
            ends = itertools.accumulate((table.end - table.start for table in tables), initial=0)
            frames = next(Framing().several([in_file(list(itertools.pairwise(ends)), file)]))
            self.add(tables, frames)

    def chunks(self, stream: _KeptStream) -> Iterator[bytes]:
        """The stored bytes of a stream, in chunks."""
        for at in range(0, stream.stored_size, STREAM_CHUNK):
            self._file.seek(stream.at + at)
            yield self._file.read(min(STREAM_CHUNK, stream.stored_size - at))


def _left(source: Source | Tree, report: SalvageReport) -> Iterator[Span]:
    """The bytes that are not accounted for, of the file or of each file of the directory."""
    files = [source] if isinstance(source, Source) else [source.source(name) for name in source.files() if owns(name)]
    for file in files:
        done = [outcome.span.end - file.origin for outcome in report.spans if outcome.span.source == file.name]
        yield span_of(file, max(done, default=0), file.size)  # the search goes from the front: the rest is at the end


class _Draft:
    """The rebuilt archive in a scratch directory: it is written and verified until it has no faults.

    Recovered tables are copied; all other sections are built from the fragments found.
    """

    def __init__(
        self, path: Path, found: Fragments, kept: _KeptTables, limits: Limits, report: SalvageReport, jobs: int
    ) -> None:
        self.path = path
        self._found, self._kept, self._limits, self._report, self._jobs = found, kept, limits, report, jobs
        self._dropped: frozenset[int] = frozenset()  # types of the metadata packets that are left out
        # Replacements of lost variables by their id, see `_unquoted`; None: not yet searched for.
        self._bare: dict[int, bytes] | None = None

    def write_until_clean(self, schema_map: Callable[[], bytes]) -> bool:
        """Write the archive, each time without what was at fault before; False if no table is left.

        `schema_map` returns the payload of the schema map.
        """
        while self._kept.streams:
            discard(self.path)
            self._write(schema_map())
            if not self._mend():
                return True
        return False

    def _mend(self) -> bool:
        """Verify the draft, and leave out next time whatever its findings are about; False if it has no faults."""
        findings = _findings(self.path, self._limits, self._jobs)
        codes = {code for code, severity in findings if severity in (Severity.ERROR, Severity.UNCHECKED)}
        wrong = frozenset(int(kind) for kind, rules in PACKET_RULES.items() if codes & rules) - self._dropped
        if wrong:
            self._dropped |= wrong
            self._report.add_lost("metadata packets", len(wrong))
            self._report.notes.append(
                "damaged metadata packets were rebuilt: their bounds, patterns or file names are lost"
            )
            return True
        if findings and (bad := _faulty(self.path, self._limits, self._report, self._jobs)):
            self._kept.drop(bad, self.path.parent)
            return True
        if self._bare is None:
            self._bare = _unquoted(self.path, self._limits, self._found)
            return bool(self._bare)  # as it is, records are not valid JSON
        return False

    def _write(self, schema_ids: bytes) -> None:
        """Write the draft; `schema_ids` is the payload of the section with this name."""
        framing, found, kept = Framing(), self._found, self._kept
        write_container(
            self.path,
            found.version(),
            found.header.original_size if found.header is not None else 0,
            list(_packets(found, self._dropped)),
            [
                ("/schema_tree", [framing.one(found.tree)]),
                ("/schema_ids", [framing.one(schema_ids)]),
                ("/table_metadata", [framing.one(_table_metadata(kept.streams))]),
                *((one.name, _dictionary(one, self._bare or {}, self._jobs)) for one in found.dictionaries),
                ("/0", itertools.chain.from_iterable(map(kept.chunks, kept.streams))),
            ],
            framing,
        )


def _table_metadata(streams: list[_KeptStream]) -> bytes:
    """Return the payload of `/table_metadata` for the kept streams, whose tables are placed back to back."""
    places: list[tuple[int, int]] = []
    tables: list[tuple[int, int, int, int]] = []
    offset = 0
    for number, stream in enumerate(streams):
        at = 0
        for table in stream.tables:
            tables.append((number, at, table.schema_id, table.num_messages))
            at += table.end - table.start
        places.append((offset, at))
        offset += stream.stored_size
    return build_table_metadata(places, tables)


def _dictionary(dictionary: Dictionary, bare: dict[int, bytes], jobs: int) -> Iterable[bytes]:
    """Return the stored bytes of a dictionary section, as chunks; the lost entries are replaced by placeholder text.

    `bare`: by id, the replacement of each lost variable that is printed outside of a JSON string.
    """
    place = dictionary.place
    if dictionary.intact:
        return place.source.chunks(place.start, place.end)
    lost = range(dictionary.kept, dictionary.count)
    match dictionary.name:
        case "/var.dict":
            rebuilt = [bare.get(number, _lost_variable(number)) for number in lost]
        case "/log.dict":
            rebuilt = [f"<lost log type {number}>".encode() for number in lost]
        case _:
            rebuilt = [f'["<lost array {number}>"]'.encode() for number in lost]
    frames = next(Framing().several([joined(dictionary.payload, packed.pack_dictionary(rebuilt))], jobs))
    return itertools.chain([packed.NUM_ENTRIES.pack(dictionary.count)], frames)


def _lost_variable(number: int) -> bytes:
    """The text in place of a lost entry of the variable dictionary."""
    return f"<lost variable {number}>".encode()


_LOST_VARIABLE = re.compile(rb"<lost variable (\d+)>")
_JSON_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')


def _unquoted(draft: Path, limits: Limits, found: Fragments) -> dict[int, bytes]:
    """The replacements of lost variables that are printed without quotes, as numbers are: their text in quotes.

    Those that array text also has within quotes are replaced by `null`, because no other text fits both places.
    """
    if not any(dictionary.name == "/var.dict" and dictionary.lost for dictionary in found.dictionaries):
        return {}
    bare: set[int] = set()  # lost variables outside of JSON strings
    quoted: set[int] = set()  # those inside
    with FileSource(draft) as source:
        for text in _texts_with_numbers(ClpSArchive(source, limits=limits)):
            within = b"".join(_JSON_STRING.findall(text))
            quoted.update(map(int, _LOST_VARIABLE.findall(within)))
            bare.update(map(int, _LOST_VARIABLE.findall(_JSON_STRING.sub(b"", text))))
    return {number: b"null" if number in quoted else b'"' + _lost_variable(number) + b'"' for number in bare}


def _texts_with_numbers(archive: ClpSArchive) -> Iterator[bytes]:
    """Yield the text of all values that may have a dictionary variable outside of a JSON string, some at a time."""
    for table in archive.tables:
        for data, _ in each_part(table):
            for column in data.columns:
                if column.type in (NodeType.DICTIONARY_FLOAT, NodeType.UNSTRUCTURED_ARRAY):
                    yield from column.pieces()


PACKET_RULES = {
    PacketType.ARCHIVE_INFO: {"CLPS-104", "CLPS-305"},
    PacketType.TIMESTAMP_DICTIONARY: {"CLPS-406", "CLPS-408", "CLPS-412", "CLPS-417"},
    PacketType.RANGE_INDEX: {"CLPS-409", "CLPS-410"},
}
"""Findings that mark a packet as unreliable: it is rebuilt then."""


def _findings(draft: Path, limits: Limits, jobs: int) -> set[tuple[str, Severity]]:
    """The kinds of findings that `verify` has about the draft; empty if no table can have a fault."""
    with FileSource(draft) as source:
        found = ClpSArchive(source, limits=limits).verify(jobs=jobs)
        return {(finding.code, finding.severity) for finding in found}


def _packets(found: Fragments, dropped: frozenset[int]) -> Iterator[tuple[int, bytes]]:
    """Yield type and body of the metadata packets of the new archive: those found, or defaults."""
    kept = {packet.type for packet in found.packets} - dropped
    made = dict(_default_packets(found))
    for kind in sorted({*kept, *made}):
        bodies = [packet.body for packet in found.packets if packet.type == kind and kind in kept]
        yield from ((kind, body) for body in bodies or [made[PacketType(kind)]])


def _default_packets(found: Fragments) -> Iterator[tuple[int, bytes]]:
    """Yield type and body of packets that stand for lost ones."""
    yield PacketType.ARCHIVE_INFO, b"\x81\xacnum_segments\x01"  # MessagePack of {"num_segments": 1}
    yield PacketType.ARCHIVE_FILE_INFO, b""
    types = set(found.parsed_tree.types) if found.parsed_tree is not None else set()
    # The patterns are gone with the packets: whatever their id (64 are defined), times come out as stored numbers.
    pattern = b"\\N" if NodeType.TIMESTAMP in types else b"%E"
    patterns = range(64) if types & {NodeType.TIMESTAMP, NodeType.DATE_STRING} else range(0)
    body = packed.NUM_RANGES.pack(0) + pack_patterns([(number, pattern) for number in patterns])
    yield PacketType.TIMESTAMP_DICTIONARY, body


def _faulty(draft: Path, limits: Limits, report: SalvageReport, jobs: int) -> dict[int, FaultyRows | None]:
    """Tables of the draft with rows that do not decode, or contradict each other; None for one that cannot be read."""
    bad: dict[int, FaultyRows | None] = {}

    def examine(table: Table) -> tuple[Finding, FaultyRows | None] | None:
        """Return the fault of a table, and its faulty rows (None: it cannot be read); None for a table without."""
        try:
            fault = next(table_faults(table), None)
            return None if fault is None else (fault, faulty_rows(table))
        except LimitExceededError:
            raise
        except ExhumeError as caught:
            return Finding.from_error(caught), None

    with FileSource(draft) as source:
        tables = ClpSArchive(source, limits=limits).tables
        for number, (table, found) in enumerate(zip(tables, map_ordered(examine, tables, jobs), strict=True)):
            if found is None:
                continue
            fault, rows = found
            all_rows = table.num_messages
            left = 0 if rows is None else rows.remaining()
            bad[number] = rows if 0 < left < all_rows else None
            if bad[number] is None:
                report.add_lost("records", all_rows)
                report.add_lost("tables")
                report.notes.append(f"a table of {counted(all_rows, 'records')} is left out: {fault.message}")
            else:
                report.add_lost("records", all_rows - left)
                lost = counted(all_rows - left, "records")
                report.notes.append(
                    f"{lost} of a table of {all_rows} left out: {fault.message}; its other records may be wrong"
                )
    return bad


def _count(draft: Path, limits: Limits, report: SalvageReport, found: Fragments) -> None:
    """Count the kept records and, if the log order was recorded, report the missing ones."""
    with FileSource(draft) as source:
        archive = ClpSArchive(source, limits=limits)
        report.add_recovered("tables", len(archive.tables))
        report.add_recovered("records", archive.num_messages)
        if not found.packets:
            report.notes.append("timestamp patterns and file names were in the lost packets")
        position = archive.schema_tree.log_event_idx
        runs = NumberRuns()
        for column in all_positions(archive, position):
            if column is None:  # a table without positions: which records are missing is unknown
                return
            runs.add(np.array(column))  # not a view that keeps the stream
        assert found.tables is not None
        total = sum(found.tables.tables.num_messages)
        missing = gaps(*runs.joined(), total)  # (first, last) of each run of missing positions
        shown = [
            f"{first}" if first == last else f"{first}..{last}" for first, last in itertools.islice(missing, SHOWN_GAPS)
        ]
        if shown:
            further = sum(1 for _ in missing)
            more = f" and {counted(further, 'more gaps')}" if further else ""
            report.notes.append(f"missing records by their position in the input: {', '.join(shown)}{more}")


def _report_partial(report: SalvageReport, found: list[Partial], kept: _KeptTables, written: bool) -> None:
    """Count the records with only some of their columns, or report that there are such records."""
    rows = {(table.stream_id, table.start): table.num_messages for stream in kept.streams for table in stream.tables}
    if written:  # of these, those that are still kept
        found = [one for one in found if (one.table.stream_id, one.table.start) in rows]
    for one in found:
        records = rows[one.table.stream_id, one.table.start] if written else one.table.num_messages
        columns = f"{one.columns} of {counted(one.all_columns, 'columns')}"
        if written:  # count them as partial records, not as records
            report.recovered["records"] -= records
            report.recovered["tables"] -= 1
            report.add_recovered("partial records", records)
            report.notes.append(f"a table of {counted(records, 'records')} was cut: they have {columns}")
        else:
            report.notes.append(
                f"a table of {counted(records, 'records')} was cut: {columns} are complete, which --partial keeps"
            )


def _deliver(draft: Path, output: Path, mode: SalvageMode, limits: Limits, jobs: int) -> None:
    """Write the draft archive to the output, as it is or as JSON lines."""
    with AtomicFile(output) as file, FileSource(draft) as source:
        if mode is SalvageMode.RECORDS:
            chunks = ClpSArchive(source, limits=limits).json_chunks(jobs=jobs)
        else:
            chunks = source.chunks()
        for chunk in chunks:
            file.file.write(chunk)
