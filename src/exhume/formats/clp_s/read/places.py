"""The places of stored bytes: in the one file of an archive, or in the files of a directory.

The metadata section names them in MessagePack packets (list of sections, archive info, range index), read here too.
The range index lists ingestion units (such as the input files), each with the range of records that came from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import msgpack

from exhume.counts import counted
from exhume.errors import EntryNotFoundError, ExhumeError, Span
from exhume.findings import Rule
from exhume.formats.clp_s import checks
from exhume.formats.clp_s.layout import Header, Packet, RangeEntry
from exhume.formats.clp_s.names import FILES, HEADER_FILE, SECTION_NAMES, STRUCTURES
from exhume.io.source import BytesSource, Source
from exhume.io.tree import Tree
from exhume.tuples import NamedTuple


class StoredRange(NamedTuple):
    """A named range of stored bytes, such as a section or a stream: `[start, end)` of `source`.

    `source` is the archive's file, or the file of that name where the archive is a directory.
    """

    name: str
    source: Source
    start: int
    end: int

    @property
    def size(self) -> int:
        """Stored bytes."""
        return self.end - self.start

    @property
    def span(self) -> Span:
        """The same range as a span, for findings and errors."""
        return self.source.span(self.start, self.end)

    @property
    def is_cut(self) -> bool:
        """Whether the file ends before they do."""
        return self.end > self.source.size

    def part(self, start: int, end: int | None = None) -> StoredRange:
        """Return the bytes `[start, end)` (by default to the end), counted from the first byte here."""
        return StoredRange(self.name, self.source, self.start + start, self.end if end is None else self.start + end)

    def read(self) -> bytes:
        """The stored bytes.  Raises `TruncatedError` where the file ends before they do."""
        return self.source.read_at(self.start, self.size)


def read_together(places: Sequence[StoredRange]) -> list[bytes]:
    """The stored bytes of several places; those of a remote archive are requested at the same time."""
    if all(place.source is places[0].source for place in places):
        return places[0].source.read_many([(place.start, place.end) for place in places])
    # Files of a directory: one request each, all in parallel.
    from exhume.io.parallel import map_ordered

    return list(map_ordered(StoredRange.read, places, len(places)))


def files_of(tree: Tree) -> frozenset[str]:
    """The archive's files among those of a directory.

    For a remote directory, the listing also states the sizes, and the files needed to open and describe it are fetched
    together.
    """
    names = FILES.intersection(tree.files())
    if HEADER_FILE in names:
        tree.will_read(sorted(names & {HEADER_FILE, *(name.removeprefix("/") for name in STRUCTURES)}))
    return names


def header_or_nothing(tree: Tree) -> Source:
    """Return the header file of a directory; an empty one if it is missing."""
    return tree.source(HEADER_FILE) if tree.exists(HEADER_FILE) else BytesSource(b"", HEADER_FILE)


def section_files(tree: Tree) -> dict[str, StoredRange]:
    """Return the sections of a directory by name, each the whole file of that name; missing ones are empty.

    For salvage, which does not rely on the list in the header.
    """
    names = ["/tables" if name == "/0" and not tree.exists("0") else name for name in SECTION_NAMES]
    files = [name.removeprefix("/") for name in names]
    sources = [tree.source(file) if tree.exists(file) else BytesSource(b"", file) for file in files]
    return {name: StoredRange(name, source, 0, source.size) for name, source in zip(names, sources, strict=True)}


def in_directory(
    tree: Tree, listed: Sequence[StoredRange], problems: dict[str, ExhumeError], span: Span
) -> tuple[list[StoredRange], dict[str, ExhumeError]]:
    """Return the sections as files of a directory, each from its file's first byte, and the problems by name.

    `listed` and `problems` are the result of `section_list`.  A missing file, or one longer than listed, is a problem;
    a shorter one is noticed when it is read.  Raises CLPS-313 if the sizes of most files do not match `listed`; `span`
    is where the list is stored.
    """
    found: list[StoredRange] = []
    wrong_sizes: list[StoredRange] = []
    problems = dict(problems)
    for place in listed:
        file = place.name.removeprefix("/")
        try:
            source = tree.source(file)
        except EntryNotFoundError:
            problems[place.name] = checks.MISSING_SECTION.error(place.name, span=Span(file, 0, 0), expected=file)
            continue
        found.append(StoredRange(place.name, source, 0, place.size))
        if source.size != place.size:
            wrong_sizes.append(found[-1])
        if source.size > place.size:
            problems.setdefault(
                place.name,
                checks.FILE_TOO_LONG.error(
                    place.name,
                    span=source.span(place.size, source.size),
                    expected=counted(place.size, "bytes"),
                    actual=counted(source.size, "bytes"),
                ),
            )
    # If most sizes differ, the header belongs to other files.
    if len(wrong_sizes) > max(1, len(found) // 2):
        raise checks.FOREIGN_HEADER.error(
            span=span,
            expected=", ".join(f"{place.source.name} {place.size}" for place in wrong_sizes),
            actual=", ".join(f"{place.source.name} {place.source.size}" for place in wrong_sizes),
        )
    return found, problems


def unpack(packet: Packet, rule: Rule) -> Any:
    """Return the MessagePack value of a packet, whose maps have strings as keys.  Raises `rule` for anything else.

    No length in it can exceed the size of the packet, so that a wrong length does not allocate memory.
    """
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
        # A remark about an option of the library, which says nothing to a user.
        detail = (str(error) or type(error).__name__).removesuffix(" when strict_map_key=True")
        raise rule.error(f"not MessagePack: {detail}", span=packet.span) from error


def _is_count(value: Any) -> TypeGuard[int]:
    """Return whether a value is a non-negative integer (in Python, a bool is an integer, too)."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def section_list(
    packets: Sequence[Packet], header: Header, source: Source
) -> tuple[list[StoredRange], dict[str, ExhumeError]]:
    """Return the sections that the ArchiveFileInfo packets list, as parts of one file, and the problems by name.

    A section ends where the next one starts, and the last one with the archive.  Raises CLPS-306.
    """
    found = _listed_offsets(packets)
    room = max(0, header.archive_size - header.files_base)  # size of all sections
    entries: list[StoredRange] = []
    problems: dict[str, ExhumeError] = {}
    span = packets[0].span
    for index, (name, offset) in enumerate(found):
        end = found[index + 1][1] if index + 1 < len(found) else room
        # Only the first problem of a section that is listed twice is kept.
        if not offset <= end <= room and name not in problems:
            problems[name] = checks.BAD_SECTION_OFFSET.error(
                name, span=span, field_path=f"files[{index}].o", expected=f"at most {min(end, room)}", actual=offset
            )
            end = max(offset, end)
        entries.append(StoredRange(name, source, header.files_base + offset, header.files_base + end))
    return entries, problems


def _listed_offsets(packets: Sequence[Packet]) -> list[tuple[str, int]]:
    """Return the name and offset of each section that the packets list, at least one.

    Like upstream, takes the value of the first pair of the map, whatever its key is: a list of maps with name `n` and
    offset `o`.  Raises CLPS-306.
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
    return found


def check_segment_count(packet: Packet) -> None:
    """Check that `num_segments` of an ArchiveInfo packet is 1.  Raises CLPS-104, CLPS-305."""
    value = unpack(packet, checks.BAD_METADATA)
    count = value.get("num_segments") if isinstance(value, dict) else None
    if not _is_count(count) or count != 1:
        raise checks.BAD_SEGMENT_COUNT.error(span=packet.span, expected=1, actual=count if _is_count(count) else "none")


def range_entries(packets: Sequence[Packet]) -> list[RangeEntry]:
    """Return the range index: one entry per ingestion unit, in stored order.  Raises CLPS-409."""
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
