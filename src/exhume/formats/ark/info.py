"""Result of `info()` for a log: its table of channels, its columns and sections, and missing splits.

A channel is a named series of messages; it belongs to a column, which is a group of channels whose messages share split
files.  The index of a split, and the statistics in the manifest, both say how many messages of each channel it has.  A
`reference` is one mention of a split in the manifest; several sections may refer to one split with different filters.
Its `rank` is its number among all; its `acceptance` has the filters that apply to it.  A log `is_sound` if its manifest
was read with a schema, so that the statistics in it are those that were written.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exhume.archive import Info
from exhume.errors import ExhumeError
from exhume.findings import Finding
from exhume.formats.ark.log import ArkLog, SplitReference
from exhume.formats.ark.splits import ObjectStatistics

if TYPE_CHECKING:
    from exhume.formats.ark.log import Channel
    from exhume.formats.ark.manifest import ManifestSection

NOTHING = ObjectStatistics(0, 0, 0, 0)
"""The statistics of a channel without messages in a split."""


@dataclass(frozen=True, slots=True)
class ChannelInfo:
    """The visible part of one channel of one column, according to the indexes.

    `count`, `stored_size` (bytes) and times (ns) are after filters; a `hidden` channel is one that a filter hides as a
    whole.  `section` is a number.  `is_estimate`: part of it comes from incomplete
    statistics of the manifest, or from those of a missing or damaged split; objects with messages on both sides of a
    filter's limit then count in full.
    """

    name: str
    type: str
    identifier: str
    column: str
    compression: str
    section: int
    latched: bool
    hidden: bool
    count: int
    stored_size: int
    minimum_ns: int | None
    maximum_ns: int | None
    is_estimate: bool

    @property
    def rate_hz(self) -> float | None:
        """Messages per second between the first and the last."""
        if self.minimum_ns is None or self.maximum_ns is None or self.maximum_ns <= self.minimum_ns:
            return None
        return round((self.count - 1) * 1e9 / (self.maximum_ns - self.minimum_ns), 3)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "name": self.name,
            "count": self.count,
            "rate_hz": self.rate_hz,
            "minimum_ns": self.minimum_ns,
            "maximum_ns": self.maximum_ns,
            "stored_size": self.stored_size,
            "type": self.type,
            "column": self.column,
            "compression": self.compression,
            "section": self.section,
            "latched": self.latched,
            "hidden": self.hidden,
            "is_estimate": self.is_estimate,
            "identifier": self.identifier,
        }


@dataclass(frozen=True, slots=True)
class ArkInfo(Info):
    """A log in numbers; times are nanoseconds of the log's steady clock, which is not a calendar.

    `count` and the times are those of visible messages; `missing_splits` are GUIDs; `errors` are problems of reading.
    """

    log_identifier: str
    common_identifier: str
    name: str
    schema_source: str
    count: int
    minimum_ns: int | None
    maximum_ns: int | None
    split_count: int
    missing_splits: tuple[str, ...]
    sections: tuple[dict[str, Any], ...]
    metadata: dict[str, str]
    channels: tuple[ChannelInfo, ...]
    errors: tuple[Finding, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.errors

    def to_dict(self) -> dict[str, Any]:
        """Return the values for `exhume info --json`; `duration_s` is in seconds."""
        duration = None
        if self.minimum_ns is not None and self.maximum_ns is not None:
            duration = round((self.maximum_ns - self.minimum_ns) / 1e9, 6)
        return {
            "log_identifier": self.log_identifier,
            "common_identifier": self.common_identifier,
            "name": self.name,
            "schema_source": self.schema_source,
            "messages": self.count,
            "minimum_ns": self.minimum_ns,
            "maximum_ns": self.maximum_ns,
            "duration_s": duration,
            "splits": self.split_count,
            "missing_splits": list(self.missing_splits),
            "metadata": self.metadata,
            "sections": [dict(each) for each in self.sections],
            "channels": [each.to_dict() for each in self.channels],
        }


@dataclass(frozen=True, slots=True)
class DirectoryInfo(Info):
    """The logs of a directory, and problems of reading them."""

    logs: tuple[dict[str, Any], ...]
    errors: tuple[Finding, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.errors

    def to_dict(self) -> dict[str, Any]:
        return {"logs": [dict(each) for each in self.logs]}


class StatisticsTrust(enum.Enum):
    """Which of the manifest's statistics replace the indexes of splits, each of which costs a request when the log is
    remote.
    """

    NONE = "those of splits that are missing or damaged"
    EXACT = "also those of an intact manifest that states all that the indexes do"
    ALL = "all"


def build_info(reader: ArkLog, trust: StatisticsTrust = StatisticsTrust.NONE) -> ArkInfo:
    """Count messages by the indexes of splits, or by the manifest's statistics as far as `trust` allows.

    `verify` compares the two.
    """
    errors = [finding for finding in reader.loaded.findings if finding.is_problem]
    totals, missing = _add_up(reader, trust, errors)
    rows = tuple(_row(reader, channel, totals) for channel in reader.channels())
    visible = [row for row in rows if row.count and not row.hidden]
    return ArkInfo(
        log_identifier=reader.manifest.identifier,
        common_identifier=reader.manifest.common_identifier,
        name=reader.manifest.name,
        schema_source=reader.schema_source,
        count=sum(row.count for row in visible),
        minimum_ns=min((row.minimum_ns for row in visible if row.minimum_ns is not None), default=None),
        maximum_ns=max((row.maximum_ns for row in visible if row.maximum_ns is not None), default=None),
        split_count=len({reference.identifier for reference in reader.references}),
        missing_splits=tuple(dict.fromkeys(missing)),
        sections=tuple(_section(number, each) for number, each in enumerate(reader.manifest.sections)),
        metadata=reader.metadata,
        channels=rows,
        errors=tuple(errors),
    )


def _section(number: int, section: ManifestSection) -> dict[str, Any]:
    """Return the facts of a section of the manifest, with its filter if there is one."""
    facts = {
        "section": number,
        "columns": [column.name for column in section.columns],
        "splits": sum(len(column.splits) for column in section.columns),
        "original_log": section.original_identifier,
    }
    has_filter = not (section.filter.is_open and section.filter.is_understood)
    return {**facts, **(section.filter.to_dict() if has_filter else {})}


@dataclass(slots=True)
class _Total:
    """The messages of a channel in all splits that were added up."""

    count: int = 0
    size: int = 0
    minimum_ns: int | None = None
    maximum_ns: int | None = None
    is_estimate: bool = False

    def add(self, found: ObjectStatistics) -> None:
        """Add the messages of one split."""
        if found.item_count:
            self.count += found.item_count
            self.size += found.size
            low, high = found.minimum_ns, found.maximum_ns
            self.minimum_ns = low if self.minimum_ns is None else min(self.minimum_ns, low)
            self.maximum_ns = high if self.maximum_ns is None else max(self.maximum_ns, high)


_Totals = dict[tuple[int, str, str], _Total]
"""By section, column and GUID of the channel."""


def _add_up(reader: ArkLog, trust: StatisticsTrust, errors: list[Finding]) -> tuple[_Totals, list[str]]:
    """Return the totals of all channels, and the missing splits; damaged splits are added to `errors`."""
    totals: _Totals = {}
    missing: list[str] = []
    stated = {reference.rank: _stated(reference) for reference in reader.references}
    # The splits whose statistics in the manifest replace their indexes.
    trusted = {
        rank
        for rank, (_, are_exact) in stated.items()
        if trust is StatisticsTrust.ALL or (trust is StatisticsTrust.EXACT and reader.is_sound and are_exact)
    }
    reader.will_read(reference.identifier for reference in reader.references if reference.rank not in trusted)
    for reference in reader.references:
        found, are_exact = stated[reference.rank]
        is_exact = are_exact and reader.is_sound and reference.rank in trusted
        if reader.is_missing(reference.identifier):
            missing.append(reference.identifier)
            is_exact = False
        elif reference.rank not in trusted:
            try:
                found, is_exact = reader.statistics(reference), True
            except ExhumeError as error:
                if error.is_reading_failure:
                    raise
                errors.append(Finding.from_error(error))
        # For a missing or damaged split, `found` is what the manifest states.  If that is nothing, every channel of the
        # split is listed, with no messages, as an estimate.
        listed = found if found or is_exact else reference.channels
        for identifier in listed:
            total = totals.setdefault((reference.section, reference.column.name, identifier), _Total())
            total.add(found.get(identifier, NOTHING))
            total.is_estimate = total.is_estimate or not is_exact
    return totals, missing


def _stated(reference: SplitReference) -> tuple[dict[str, ObjectStatistics], bool]:
    """Return the statistics that the manifest has for the visible part of a split, and whether they are exact.

    They are not if the manifest omits some, or for objects with messages on both sides of a filter's time limit: all
    their messages are counted.
    """
    accepted = reference.acceptance
    out: dict[str, ObjectStatistics] = {}
    is_complete = bool(reference.declaration.statistics)
    for each in reference.declaration.statistics:
        count, size, low, high = each.item_count, each.size, each.minimum_ns, each.maximum_ns
        if count is None or size is None or low is None or high is None:
            is_complete = False
        elif high < accepted.minimum_ns or low > accepted.maximum_ns:
            count = size = low = high = 0
        elif count and (low < accepted.minimum_ns or high > accepted.maximum_ns):
            is_complete = False
            low, high = max(low, accepted.minimum_ns), min(high, accepted.maximum_ns)
        out[each.identifier] = ObjectStatistics(count or 0, size or 0, low or 0, high or 0)
    return out, is_complete


def _row(reader: ArkLog, channel: Channel, totals: _Totals) -> ChannelInfo:
    """Return the table row of a channel.  A hidden channel has no messages."""
    total = totals.get((channel.section, channel.column, channel.identifier), _Total())
    hidden = not reader.acceptance(channel.section).accepts_name(channel.name)
    shown = _Total() if hidden else total
    return ChannelInfo(
        name=channel.name,
        type=channel.type,
        identifier=channel.identifier,
        column=channel.column,
        compression=channel.compression,
        section=channel.section,
        latched=channel.latched,
        hidden=hidden,
        count=shown.count,
        stored_size=shown.size,
        minimum_ns=shown.minimum_ns,
        maximum_ns=shown.maximum_ns,
        is_estimate=total.is_estimate,
    )
