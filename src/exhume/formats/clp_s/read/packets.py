"""The MessagePack packets of the metadata section: list of sections, archive info, range index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import msgpack

from exhume.errors import ExhumeError
from exhume.findings import Rule
from exhume.formats.clp_s import checks
from exhume.formats.clp_s.layout import Header, Packet, RangeEntry
from exhume.formats.clp_s.read.places import StoredRange
from exhume.io.source import Source


def unpack(packet: Packet, rule: Rule) -> Any:
    """The MessagePack value of a packet, with keys that are strings, bounded by its size; raises the given rule."""
    size = len(packet.body)
    try:
        return msgpack.unpackb(
            packet.body,
            raw=False,
            unicode_errors="surrogateescape",
            max_str_len=size,
            max_bin_len=size,
            max_array_len=size,
            max_map_len=size,
            max_ext_len=size,
        )
    except (ValueError, TypeError, RecursionError, msgpack.exceptions.UnpackException) as error:
        detail = (str(error) or type(error).__name__).removesuffix(" when strict_map_key=True")
        raise rule.error(f"not MessagePack: {detail}", span=packet.span) from error


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def section_list(
    packets: Sequence[Packet], header: Header, source: Source
) -> tuple[list[StoredRange], dict[str, ExhumeError]]:
    """Sections by the ArchiveFileInfo packets as parts of one file, and the problem with the place of each.

    Like upstream, takes the value of the first pair of the map, whatever its key is.  Raises CLPS-306.
    """
    found: list[tuple[str, int]] = []
    for packet in packets:
        value = unpack(packet, checks.BAD_FILE_INFO)
        items = next(iter(value.values()), None) if isinstance(value, dict) else None
        if not isinstance(items, list) or not items:
            raise checks.BAD_FILE_INFO.error("not a list of sections", span=packet.span)
        for item in items:
            name = item.get("n") if isinstance(item, dict) else None
            offset = item.get("o") if isinstance(item, dict) else None
            if not isinstance(name, str) or not _is_count(offset):
                raise checks.BAD_FILE_INFO.error(
                    "an entry without name or offset", span=packet.span, field_path=f"files[{len(found)}]"
                )
            found.append((name, offset))
    if not found:
        raise checks.BAD_FILE_INFO.error("no packet lists the sections")
    room = max(0, header.archive_size - header.files_base)
    entries: list[StoredRange] = []
    problems: dict[str, ExhumeError] = {}
    span = packets[0].span
    for index, (name, offset) in enumerate(found):
        end = found[index + 1][1] if index + 1 < len(found) else room
        if not offset <= end <= room and name not in problems:
            problems[name] = checks.BAD_SECTION_OFFSET.error(
                name, span=span, field_path=f"files[{index}].o", expected=f"at most {min(end, room)}", actual=offset
            )
            end = max(offset, end)
        entries.append(StoredRange(name, source, header.files_base + offset, header.files_base + end))
    return entries, problems


def segment_count(packet: Packet) -> int | None:
    """`num_segments` of an ArchiveInfo packet, None when it does not say.  Raises CLPS-305."""
    value = unpack(packet, checks.BAD_METADATA)
    count = value.get("num_segments") if isinstance(value, dict) else None
    return count if _is_count(count) else None


def range_entries(packets: Sequence[Packet]) -> list[RangeEntry]:
    """The range index: one entry per ingestion unit, in stored order.  Raises CLPS-409."""
    entries: list[RangeEntry] = []
    for packet in packets:
        value = unpack(packet, checks.BAD_RANGE_INDEX)
        if not isinstance(value, list):
            raise checks.BAD_RANGE_INDEX.error("not an array", span=packet.span)
        for item in value:
            start, end = (item.get("s"), item.get("e")) if isinstance(item, dict) else (None, None)
            properties = item.get("f") if isinstance(item, dict) else None
            if not (_is_count(start) and _is_count(end) and isinstance(properties, Mapping) and start <= end):
                raise checks.BAD_RANGE_INDEX.error(
                    "a range needs s <= e and properties f", span=packet.span, field_path=f"ranges[{len(entries)}]"
                )
            entries.append(RangeEntry(start, end, properties))
    return entries
