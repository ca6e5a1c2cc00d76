"""What an Ark log says about itself: the channel table, columns, sections, missing splits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exhume.archive import Info
from exhume.formats.ark.filters import TIME_MAX
from exhume.formats.ark.splits import ObjectStatistics

if TYPE_CHECKING:
    from exhume.formats.ark.reader import ArkReader, Channel, SplitReference


@dataclass(frozen=True, slots=True)
class ChannelInfo:
    """One channel of one column: what of it can be seen, from the indexes.

    `count`, `stored_size` (bytes) and times (ns) are after filters.  `is_estimate`: part of it comes from the
    manifest's statistics, because a split is missing or damaged; those are before filters.
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
    """A log in numbers; times are nanoseconds of the log's steady clock, which is not a calendar."""

    log_identifier: str
    common_identifier: str
    name: str
    rung: str
    count: int
    minimum_ns: int | None
    maximum_ns: int | None
    split_count: int
    missing_splits: tuple[str, ...]
    sections: tuple[dict[str, Any], ...]
    metadata: dict[str, str]
    channels: tuple[ChannelInfo, ...]

    def to_dict(self) -> dict[str, Any]:
        duration = None
        if self.minimum_ns is not None and self.maximum_ns is not None:
            duration = round((self.maximum_ns - self.minimum_ns) / 1e9, 6)
        return {
            "log_identifier": self.log_identifier,
            "common_identifier": self.common_identifier,
            "name": self.name,
            "manifest_read_with": self.rung,
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


def build_info(reader: ArkReader) -> ArkInfo:
    """Counts everything the indexes say; splits that cannot be used are counted from the manifest's statistics.

    So are all others over a network, where each index is a request: `verify` compares the two.
    """
    from exhume.errors import ExhumeError

    totals: dict[tuple[int, str, str], list[Any]] = {}
    missing: list[str] = []
    stated = {reference.rank: _stated(reference) for reference in reader.references if reader.counts_by_manifest}
    reader.prefetch(reference.identifier for reference in reader.references if not stated.get(reference.rank))
    for reference in reader.references:
        found: dict[str, ObjectStatistics] = {}
        estimated = False
        try:
            known = stated.get(reference.rank)
            if known and reader.split_name(reference.identifier) is not None:
                found = known
            else:
                found = reader.statistics(reference)
        except ExhumeError as error:
            if error.code.startswith("EX-6"):
                raise
            estimated = True
            if error.code == "ARK-340":
                missing.append(reference.identifier)
            found = _estimates(reference)
        for identifier, stats in found.items():
            total = totals.setdefault((reference.section, reference.column.name, identifier), [0, 0, None, None, False])
            if stats.count:
                total[0] += stats.count
                total[1] += stats.size
                total[2] = stats.minimum_ns if total[2] is None else min(total[2], stats.minimum_ns)
                total[3] = stats.maximum_ns if total[3] is None else max(total[3], stats.maximum_ns)
            total[4] = total[4] or estimated
    rows = tuple(_row(reader, channel, totals) for channel in reader.channels())
    visible = [row for row in rows if row.count and not row.hidden]
    return ArkInfo(
        log_identifier=reader.manifest.identifier,
        common_identifier=reader.manifest.common_identifier,
        name=reader.manifest.name,
        rung=reader.rung,
        count=sum(row.count for row in visible),
        minimum_ns=min((row.minimum_ns for row in visible if row.minimum_ns is not None), default=None),
        maximum_ns=max((row.maximum_ns for row in visible if row.maximum_ns is not None), default=None),
        split_count=len({reference.identifier for reference in reader.references}),
        missing_splits=tuple(dict.fromkeys(missing)),
        sections=tuple(
            {
                "section": number,
                "columns": [column.name for column in section.columns],
                "splits": sum(len(column.splits) for column in section.columns),
                "original_log": section.original_identifier,
                **({} if section.filter.is_open and section.filter.is_understood else section.filter.to_dict()),
            }
            for number, section in enumerate(reader.manifest.sections)
        ),
        metadata=reader.metadata,
        channels=rows,
    )


def _stated(reference: SplitReference) -> dict[str, ObjectStatistics] | None:
    """The manifest's statistics of a split, None where they do not say all that its index would."""
    out: dict[str, ObjectStatistics] = {}
    if reference.acceptance.minimum_ns > 0 or reference.acceptance.maximum_ns < TIME_MAX:
        return None
    for each in reference.declaration.statistics:
        if each.count is None or each.size is None or each.minimum_ns is None or each.maximum_ns is None:
            return None
        out[each.identifier] = ObjectStatistics(each.count, each.size, each.minimum_ns, each.maximum_ns)
    return out or None


def _estimates(reference: SplitReference) -> dict[str, ObjectStatistics]:
    return {
        each.identifier: ObjectStatistics(each.count or 0, each.size or 0, each.minimum_ns or 0, each.maximum_ns or 0)
        for each in reference.declaration.statistics
    }


def _row(reader: ArkReader, channel: Channel, totals: dict[tuple[int, str, str], list[Any]]) -> ChannelInfo:
    count, size, low, high, estimated = totals.get(
        (channel.section, channel.column, channel.identifier), [0, 0, None, None, False]
    )
    hidden = not reader.acceptance(channel.section).accepts_name(channel.name)
    return ChannelInfo(
        name=channel.name,
        type=channel.type,
        identifier=channel.identifier,
        column=channel.column,
        compression=channel.compression,
        section=channel.section,
        latched=channel.latched,
        hidden=hidden,
        count=0 if hidden else count,
        stored_size=0 if hidden else size,
        minimum_ns=None if hidden else low,
        maximum_ns=None if hidden else high,
        is_estimate=estimated,
    )
