"""What `info()` reports about a clp-s archive."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exhume.archive import Entry, Info
from exhume.errors import ExhumeError, Span
from exhume.findings import Finding, deduplicated
from exhume.io.tree import Tree

if TYPE_CHECKING:
    from exhume.formats.clp_s.layout import TimestampRange
    from exhume.formats.clp_s.read.tables import Table, TableArchive


@dataclass(frozen=True, slots=True)
class ClpSInfo(Info):
    """Versions, sizes, counts, time ranges and ingestion units of one archive.

    `damage` lists the parts that could not be read; counts that depend on them are None.
    """

    version: str
    original_size: int
    archive_size: int
    metadata_size: int
    num_records: int | None
    num_schemas: int | None
    num_nodes: int | None
    num_tables: int | None
    num_streams: int | None
    tables_size: int | None
    log_order: bool | None
    timestamp_ranges: Sequence[Mapping[str, Any]]
    timestamp_patterns: Mapping[str, str]
    ingestion_units: Sequence[Mapping[str, Any]]
    packets: Sequence[str]
    found: Sequence[Finding]

    @property
    def findings(self) -> Sequence[Finding]:
        return self.found

    @property
    def ratio(self) -> float | None:
        """Original bytes per archive byte."""
        return round(self.original_size / self.archive_size, 3) if self.archive_size else None

    def to_dict(self) -> dict[str, Any]:
        """The documented JSON of `exhume info --json`."""
        return {
            "version": self.version,
            "original_size": self.original_size,
            "archive_size": self.archive_size,
            "ratio": self.ratio,
            "metadata_size": self.metadata_size,
            "records": self.num_records,
            "tables": self.num_tables,
            "streams": self.num_streams,
            "schemas": self.num_schemas,
            "nodes": self.num_nodes,
            "tables_size": self.tables_size,
            "log_order": self.log_order,
            "timestamp_ranges": list(self.timestamp_ranges),
            "timestamp_patterns": dict(self.timestamp_patterns),
            "ingestion_units": list(self.ingestion_units),
            "packets": list(self.packets),
            "problems": [str(finding) for finding in self.found],
        }


def collect(archive: TableArchive) -> ClpSInfo:
    """The info of an archive; damaged parts are listed and left out."""
    problems: list[Finding] = [archive.cut] if archive.cut is not None else []

    def attempt(get: Any, default: Any = None) -> Any:
        try:
            return get()
        except ExhumeError as error:
            problems.append(Finding.from_error(error))
            return default

    header = archive.header
    with contextlib.suppress(ExhumeError):  # reported below
        problems += map(Finding.from_error, archive.section_problems.values())
    packets = attempt(lambda: [packet.name for packet in archive.packets], [])
    metadata = attempt(lambda: archive.table_metadata) if packets else None
    return ClpSInfo(
        version=header.version_text,
        original_size=header.original_size,
        archive_size=header.archive_size,
        metadata_size=header.metadata_size,
        num_records=archive.num_messages if metadata else None,
        num_schemas=attempt(lambda: len(archive.schemas)) if packets else None,
        num_nodes=attempt(lambda: len(archive.schema_tree)) if packets else None,
        num_tables=len(metadata.tables) if metadata else None,
        num_streams=len(metadata.streams) if metadata else None,
        tables_size=sum(stream.size for stream in metadata.streams) if metadata else None,
        log_order=attempt(lambda: archive.schema_tree.log_event_idx is not None) if packets else None,
        timestamp_ranges=attempt(lambda: [range_dict(archive, r) for r in archive.timestamp_ranges], []),
        timestamp_patterns=attempt(
            lambda: {
                str(ident): text.decode("utf-8", "backslashreplace")
                for ident, text in sorted(archive.timestamp_dictionary.patterns.items())
            },
            {},
        ),
        ingestion_units=attempt(
            lambda: [{"start": r.start, "end": r.end, **r.properties} for r in archive.range_index], []
        ),
        packets=packets,
        found=tuple(deduplicated(problems)),
    )


def range_dict(archive: TableArchive, found: TimestampRange) -> dict[str, Any]:
    """A timestamp range with its bounds as stored and, where the unit is known, as UTC text."""
    out: dict[str, Any] = {
        "key": found.key.decode("utf-8", "backslashreplace"),
        "nodes": sorted(found.column_ids),
        "begin": found.begin,
        "end": found.end,
    }
    if archive.header.has_nanosecond_timestamps and found.encoding == 1:
        out["unit"] = "ms"
        out["begin_utc"], out["end_utc"] = utc_text(found.begin), utc_text(found.end)
    return out


def utc_text(milliseconds: float | None) -> str | None:
    """Epoch milliseconds as ISO 8601, None outside the years 1 to 9999."""
    if milliseconds is None:
        return None
    try:
        moment = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(milliseconds=milliseconds)
    except (OverflowError, ValueError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def table_entries(archive: TableArchive) -> Iterator[Entry]:
    """The listing of the tables, in stored order: place, size, schema, rows and column paths."""
    last: tuple[int, Span] | None = None
    is_tree = isinstance(archive.source, Tree)
    for table in archive.tables:
        entry = table.entry
        details: dict[str, Any] = {
            "records": entry.num_messages,
            "schema_id": entry.schema_id,
            "stream": entry.stream_id,
            "stream_offset": entry.start,
        }
        offset, source = None, None
        try:
            if entry.problem is not None:
                raise entry.problem
            if last is None or last[0] != entry.stream_id:
                last = entry.stream_id, archive.stream_span(entry.stream_id)
            offset, source = last[1].start, last[1].source if is_tree else None
            details["columns"] = list(map(archive.schema_tree.path_text, _column_nodes(archive, table)))
        except ExhumeError as error:
            details["problem"] = str(error)
        yield Entry("table", None, table.index, offset, table.size, None, source, details)


def _column_nodes(archive: TableArchive, table: Table) -> Sequence[int]:
    """The node of each column of a table; its schema is laid out only if it has structured arrays or is not valid."""
    tree, schemas = archive.schema_tree, archive.schemas
    place = schemas.place(table.schema_id)
    if place >= 0 and schemas.columns.num_ordered[place] == schemas.columns.num_entries[place]:
        nodes = schemas.columns.entries_value(place)
        has_column, last = tree.has_column, len(tree)
        if all(0 <= node < last for node in nodes):
            return [node for node in nodes if has_column[node]]
    return table.layout.nodes
