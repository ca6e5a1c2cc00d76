"""Result of `info()` for a clp-s archive: versions, sizes, counts, time ranges and ingestion units.

Spec: clp_s.txt; what it leaves open: `docs/formats/clp_s.md`.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exhume.archive import Info
from exhume.errors import ExhumeError
from exhume.findings import Finding, deduplicated
from exhume.formats.clp_s.layout import TimestampEncoding

if TYPE_CHECKING:
    from exhume.formats.clp_s.layout import TimestampRange
    from exhume.formats.clp_s.read.tables import TableArchive


@dataclass(frozen=True, slots=True)
class ClpSInfo(Info):
    """Versions, sizes, counts, time ranges and ingestion units of one archive.

    `findings` lists the parts that could not be read; counts that depend on them are None.
    """

    version: str
    original_size: int  # bytes of input
    archive_size: int
    metadata_size: int
    num_records: int | None
    num_schemas: int | None
    num_nodes: int | None
    num_tables: int | None
    num_streams: int | None
    tables_size: int | None  # bytes of all tables, uncompressed
    log_order: bool | None  # whether the position of each record in the input is stored
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
        """Original bytes per archive byte; None if the stated size of the archive is 0."""
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
    problems: list[Finding] = [archive.cut] if archive.cut is not None else []  # CLPS-302: the file is truncated

    def attempt(get: Any, default: Any = None) -> Any:
        """Return `get()`; if that part is damaged, note the problem and return `default`."""
        try:
            return get()
        except ExhumeError as error:
            problems.append(Finding.from_error(error))
            return default

    header = archive.header
    with contextlib.suppress(ExhumeError):  # the metadata section is damaged, which `packets` notes
        problems += map(Finding.from_error, archive.section_problems.values())
    # Without packets, no section can be found: the counts are None, and the problem is noted once.
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
        timestamp_ranges=attempt(lambda: [range_dict(archive, one) for one in archive.timestamp_ranges], []),
        timestamp_patterns=attempt(
            lambda: {
                str(ident): text.decode("utf-8", "backslashreplace")
                for ident, text in sorted(archive.timestamp_dictionary.patterns.items())
            },
            {},
        ),
        ingestion_units=attempt(
            lambda: [{"start": one.start, "end": one.end, **one.properties} for one in archive.range_index], []
        ),
        packets=packets,
        found=tuple(deduplicated(problems)),
    )


def range_dict(archive: TableArchive, found: TimestampRange) -> dict[str, Any]:
    """A timestamp range for JSON: its bounds as stored and, if the unit is known, as UTC text."""
    out: dict[str, Any] = {
        "key": found.key.decode("utf-8", "backslashreplace"),
        "nodes": sorted(found.column_ids),
        "begin": found.begin,
        "end": found.end,
    }
    # From 0.5.0 on, timestamps are nanoseconds, but ranges are milliseconds; before, the unit of a range is unknown.
    if archive.header.has_nanosecond_timestamps and found.encoding == TimestampEncoding.EPOCH:
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
