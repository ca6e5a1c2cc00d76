"""Everything that an MCAP file contains, found by reading all of its records, whatever its summary states.

The data section is the truth of an MCAP file: a summary may be missing, or repeat only some channels.  What cannot be
read is counted as lost, so that an import never drops anything in silence.

A file is a magic number, records (kind, size, content) and the magic number again.  The data section has the messages,
in chunks (compressed records) or as records of their own; the summary and the footer follow it.

Spec: none of ours; https://mcap.dev/spec.
"""

from __future__ import annotations

import os
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

from exhume.errors import ExhumeError, FormatError, Span
from exhume.formats.ark.mcap_records import (
    ATTACHMENT_SIZE,
    CRC_SIZE,
    FOOTER_CHECKED,
    HEAD_SIZE,
    MAGIC,
    Kind,
    parsed,
    read_head,
    read_number,
    records_in,
    unit_records,
)
from exhume.formats.ark.parallel_query import map_pieces
from exhume.limits import Limits
from exhume.tabular import ExportReport
from exhume.tuples import NamedTuple

SKIPPED: Final = frozenset(
    (Kind.MESSAGE_INDEX, Kind.CHUNK_INDEX, Kind.ATTACHMENT_INDEX, Kind.METADATA_INDEX, Kind.SUMMARY_OFFSET)
)
"""Records that only say where others are."""

LOOSE: Final = frozenset((Kind.SCHEMA, Kind.CHANNEL, Kind.MESSAGE))
"""Records that are usually in chunks."""
STEP: Final = 1 << 20
"""Bytes that are read at a time."""


class Unit(NamedTuple):
    """A range of the file with messages: the content of a chunk, possibly cut, or records outside of chunks."""

    is_chunk: bool
    start: int
    end: int
    is_cut: bool = False


@dataclass
class McapSurvey:
    """The content of a file; `units` are those that can be read, in the order of the file.

    Values of the type `Any` are records of the library; schemas and channels are by number, and so are the `counts` of
    the channels' messages.
    """

    name: str
    header: Any = None
    statistics: Any = None
    schemas: dict[int, Any] = field(default_factory=dict)
    channels: dict[int, Any] = field(default_factory=dict)
    metadata: list[Any] = field(default_factory=list)
    attachments: list[Any] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    counts: Counter[int] = field(default_factory=Counter)
    timed: set[int] = field(default_factory=set)
    """Channels with a message whose publish time is not its log time, or that has a sequence number."""
    not_text: set[int] = field(default_factory=set)
    """Channels with a message that is not UTF-8."""

    def enter(self, known: dict[int, Any], record: Any) -> None:
        """Add a schema or channel to `known`, those so far.  Raises `FormatError` if another has its number."""
        if known.setdefault(record.id, record) != record:
            kind = type(record).__name__.lower()
            raise FormatError(
                f"the MCAP file declares {kind} {record.id} twice, with different content", span=Span(self.name, 0, 0)
            )


class UnitFinds(NamedTuple):
    """The finds in some units, as in `McapSurvey`; for each unit that cannot be read, its place and the reason."""

    schemas: list[Any]
    channels: list[Any]
    counts: Counter[int]
    timed: set[int]
    not_text: set[int]
    lost: Counter[str]
    damaged: list[tuple[int, str]]


class UnitReader:
    """Reads units for what they declare and for how many messages they have; picklable, for processes."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def __call__(self, units: list[tuple[Unit, bytes]]) -> UnitFinds:
        """Return the finds in some units, given with their bytes."""
        seen = UnitFinds([], [], Counter(), set(), set(), Counter(), [])
        for unit, data in units:
            try:
                records = unit_records(unit.is_chunk, data, cut=unit.is_cut, limits=self._limits)
            except ExhumeError as error:
                seen.damaged.append((unit.start, error.message))
                continue
            self._records(records, seen)
        return seen

    def _records(self, records: bytes, seen: UnitFinds) -> None:
        """Add to `seen`: the counts of messages in `records` (decompressed), the declarations, and the losses."""
        for kind, record in records_in(records):
            if kind == Kind.MESSAGE and not isinstance(record, bytes):  # bytes: too short to be parsed
                seen.counts[record.channel_id] += 1
                if record.publish_time != record.log_time or record.sequence:
                    seen.timed.add(record.channel_id)
                if record.channel_id not in seen.not_text and not record.data.isascii():  # ASCII is UTF-8
                    try:
                        record.data.decode()
                    except UnicodeDecodeError:
                        seen.not_text.add(record.channel_id)
            elif kind in (Kind.SCHEMA, Kind.CHANNEL):
                found = parsed("Schema" if kind == Kind.SCHEMA else "Channel", record)
                if found is None:
                    seen.lost["damaged records"] += 1
                else:
                    (seen.schemas if kind == Kind.SCHEMA else seen.channels).append(found)
            elif kind == Kind.TRUNCATED:
                seen.lost["truncated messages"] += 1
            else:
                seen.lost["damaged records" if kind == Kind.MESSAGE else "records of unknown kinds"] += 1


def survey(
    file: BinaryIO, name: str, report: ExportReport, *, jobs: int, part_bytes: int, limits: Limits
) -> McapSurvey:
    """Read all records of a file; losses are counted in the report.

    `jobs` processes share the units, each at least `part_bytes` at a time.  Raises `FormatError` for a file that is not
    MCAP, and for one that contradicts itself.
    """
    end = file.seek(0, os.SEEK_END)
    file.seek(0)
    if file.read(len(MAGIC)) != MAGIC:
        raise FormatError("not an MCAP file", span=Span(name, 0, len(MAGIC)))
    found = McapSurvey(name)
    for kind, start, stop in _framed(file, end, found, report):
        # Units of work: each chunk, and runs of consecutive records outside of chunks.
        if kind == Kind.CHUNK:
            found.units.append(Unit(True, start, stop))
        elif kind in LOOSE:
            last = found.units[-1] if found.units else None
            begin = start - HEAD_SIZE  # of the record; `start` is where its content begins
            if last is not None and not last.is_chunk and last.end == begin and stop - last.start < STEP:
                found.units[-1] = Unit(False, last.start, stop)
            else:
                found.units.append(Unit(False, begin, stop))
        elif kind not in SKIPPED:
            _record(file, kind, start, stop, found, report)
    _look(found, parts(file, found.units, part_bytes), report, jobs, limits)
    # Losses that only the whole file shows: missing messages, channels and schemas.
    stated = found.statistics.message_count if found.statistics is not None else 0
    if (missing := stated - found.counts.total()) > 0:
        report.lost["messages that the summary counts"] += missing
    for number in sorted(found.counts.keys() - found.channels.keys()):
        report.lost["messages of undeclared channels"] += found.counts.pop(number)
    for channel in found.channels.values():
        if channel.schema_id and channel.schema_id not in found.schemas:
            report.lost["schemas that are missing"] += 1
            report.notes.append(f"channel {channel.topic}: schema {channel.schema_id} is missing")
    return found


def _framed(file: BinaryIO, end: int, found: McapSurvey, report: ExportReport) -> Iterator[tuple[int, int, int]]:
    """Kind, start and end of the content of each record, up to the footer or the place where the file is cut."""
    at = len(MAGIC)
    while True:
        file.seek(at)
        kind, size = read_head(file)
        start = at + HEAD_SIZE
        if kind == Kind.TRUNCATED or start + size > end:
            if kind == Kind.CHUNK:
                found.units.append(Unit(True, start, end, is_cut=True))
            report.lost["truncated files"] += 1
            report.notes.append(f"{found.name}: truncated or damaged at offset {at}: read up to there")
            return
        if kind == Kind.DATA_END:
            _check_data(file, at, start, size, report)
        elif kind == Kind.FOOTER:
            _check_end(file, start, size, end, report)
            return
        else:
            yield kind, start, start + size
        at = start + size


def _check_data(file: BinaryIO, at: int, start: int, size: int, report: ExportReport) -> None:
    """Compare the checksum of the data section, which its last record stores, with that of bytes `[0, at)`."""
    file.seek(start)
    record = parsed("DataEnd", file.read(size))
    if record is None:
        report.lost["damaged records"] += 1
    elif record.data_section_crc and record.data_section_crc != _checksum(file, 0, at):
        report.lost["checksums that do not match"] += 1
        report.notes.append("the checksum of the data section does not match: values may be damaged")


def _check_end(file: BinaryIO, start: int, size: int, end: int, report: ExportReport) -> None:
    """Check the footer (`size` bytes at `start`), its checksum and the magic after it; `end`: the file's size."""
    file.seek(start)
    record = parsed("Footer", file.read(size))
    if record is None:
        report.lost["damaged records"] += 1
        return
    begin = record.summary_start or start - HEAD_SIZE  # without a summary, it covers the footer alone
    if record.summary_crc and record.summary_crc != _checksum(file, begin, start + FOOTER_CHECKED):
        report.lost["checksums that do not match"] += 1
        report.notes.append("the checksum of the summary does not match")
    file.seek(start + size)
    if file.read(len(MAGIC)) != MAGIC:
        report.lost["truncated files"] += 1
        report.notes.append("the end of the file is missing")
    elif start + size + len(MAGIC) != end:
        report.lost["bytes after the end"] += end - start - size - len(MAGIC)


def _checksum(file: BinaryIO, start: int, end: int) -> int | None:
    """The CRC-32 of a range of the file; None if it is not one."""
    if start > end:
        return None
    file.seek(start)
    crc = 0
    while start < end and (data := file.read(min(STEP, end - start))):
        crc = zlib.crc32(data, crc)
        start += len(data)
    return crc


def _record(file: BinaryIO, kind: int, start: int, stop: int, found: McapSurvey, report: ExportReport) -> None:
    """Enter a record that is neither a chunk nor part of one."""
    names = {Kind.HEADER: "Header", Kind.STATISTICS: "Statistics", Kind.METADATA: "Metadata"}
    if kind == Kind.ATTACHMENT:
        found.attachments.append(Unit(False, start, stop))
        return
    if kind not in names:
        report.lost["records of unknown kinds"] += 1
        return
    file.seek(start)
    record = parsed(names[Kind(kind)], file.read(stop - start))
    if record is None:
        report.lost["damaged records"] += 1
        report.notes.append(f"the {names[Kind(kind)].lower()} record at offset {start} is damaged")
    elif kind == Kind.HEADER:
        found.header = record
    elif kind == Kind.STATISTICS:
        found.statistics = record
    else:
        found.metadata.append(record)


def _look(
    found: McapSurvey, read: Iterable[list[tuple[Unit, bytes]]], report: ExportReport, jobs: int, limits: Limits
) -> None:
    """Read all units and merge their results into `found`; units that cannot be read are removed from it."""
    damaged: dict[int, str] = {}
    for seen in map_pieces(UnitReader(limits), read, jobs):
        for schema in seen.schemas:
            found.enter(found.schemas, schema)
        for channel in seen.channels:
            found.enter(found.channels, channel)
        found.counts.update(seen.counts)
        found.timed |= seen.timed
        found.not_text |= seen.not_text
        report.lost.update(seen.lost)
        damaged.update(seen.damaged)
    found.units = [unit for unit in found.units if unit.start not in damaged]
    report.lost["chunks that cannot be read"] += len(damaged)
    for start, reason in damaged.items():
        report.notes.append(f"the chunk at offset {start} cannot be read: {reason}")


def parts(file: BinaryIO, units: Iterable[Unit], most: int) -> Iterator[list[tuple[Unit, bytes]]]:
    """Yield units with their bytes, in lists that end with the unit that reaches `most` bytes."""
    part: list[tuple[Unit, bytes]] = []
    size = 0
    for unit in units:
        file.seek(unit.start)
        part.append((unit, file.read(unit.end - unit.start)))
        size += unit.end - unit.start
        if size >= most:
            yield part
            part, size = [], 0
    if part:
        yield part


def read_attachment(file: BinaryIO, unit: Unit) -> Any:
    """An attachment; None if it is damaged."""
    file.seek(unit.start)
    data = file.read(unit.end - unit.start)
    record = parsed("Attachment", data)
    if record is None:
        return None
    texts = len(record.name.encode()) + len(record.media_type.encode())
    size = ATTACHMENT_SIZE + texts + len(record.data)  # a record may have more after its fields
    stored = data[size : size + CRC_SIZE]  # 0: the writer computed none
    if len(stored) < CRC_SIZE or read_number(stored) not in (0, zlib.crc32(memoryview(data)[:size])):
        return None
    return record
