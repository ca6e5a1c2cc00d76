"""The tree that the terminal browser shows: files, sections and fields, each made when it is unfolded.

A section is a range of bytes with one purpose; sections are numbered in the order of the archive's `SectionMap`.  A
payload is the decompressed content of a section, with fields and offsets of its own.  A `Region` reads bytes on demand,
`Trees` are the elements of a long array, parsed on demand.

A map of a million sections is folded into groups of `GROUP`, whose labels need only the two sections at their ends, so
that the time and memory of a view do not depend on the size of the archive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from exhume.archive import Archive
from exhume.cli.explained import field_value
from exhume.cli.render import printable
from exhume.counts import counted
from exhume.engines.explained import NEARBY, SectionCache, check_fields, checked_nearby, explain_section
from exhume.engines.explanation import ExplainedSection
from exhume.engines.payloads import Payloads
from exhume.errors import Span, shorten
from exhume.findings import CheckOutcome
from exhume.io.source import Source, StoppedError
from exhume.layout.kaitai import Region
from exhume.layout.sections import Run, Section, SectionMap
from exhume.layout.trees import Field, Trees

GROUP = 128
"""The most children of a node."""

WINDOW = 1 << 20
"""Bytes that a search reads at a time."""

WALKED = 64 << 20
"""Up to this many bytes, an archive is read completely to find its sections, before the first view."""

PATIENCE = 3.0
"""Seconds that one step into a long array takes at most."""

MOST_FILES = 128
"""With more files, sections are grouped by number, not by file."""


@dataclass(slots=True)
class Item:
    """A node of the tree; `make` returns its children and may read, decompress and parse."""

    label: str  # text of the node
    kind: str  # "file", "group", "section", "payload", "field" or "note"
    span: Span | None = None  # its bytes; None if it has no place
    section: Section | None = None  # that it is, or is in
    field: Field | None = None  # that it is
    make: Callable[[], list[Item]] | None = None
    first: int = 0  # number of the first section in it
    bad: bool = False  # shown in red: damaged, or not understood

    @property
    def place(self) -> tuple[int, int] | None:
        """The bytes `[start, end)`, in the payload for a field of one."""
        if self.span is None:
            return None
        return self.span.payload if self.span.payload is not None else (self.span.start, self.span.end)


class Outline:
    """An archive as a tree of items, and where each byte is in it.

    Sections are explained one at a time; the last `KEPT` of them are kept.  Not thread-safe: one thread unfolds.
    """

    KEPT = 32
    """Explained sections that are kept."""

    def __init__(self, found: SectionMap) -> None:
        """Group the sections by file: `_files` has `(file name, first section, one past the last section)`."""
        self.found = found
        self.sources: dict[str, Source] = found.sources
        self._explained: dict[int, ExplainedSection] = {}  # by number, least recently used first
        self._payloads = Payloads()  # decompressed payloads that are kept
        self._files: list[tuple[str, int, int]] = []
        at = 0
        for part in found.parts:
            if not self._files or self._files[-1][0] != part.span.source:
                self._files.append((part.span.source, at, at))
            at += len(part) if isinstance(part, Run) else 1  # a `Run` is many similar sections
            name, first, _ = self._files[-1]
            self._files[-1] = name, first, at

    def roots(self) -> list[Item]:
        """The items at the top: files, or the sections of the only one."""
        if 1 < len(self._files) <= MOST_FILES:
            return [self._file(*one) for one in self._files]
        return self._sections(0, len(self.found))

    def _file(self, name: str, first: int, last: int) -> Item:
        """Return the item of a file with the sections `[first, last)`."""
        source = self.sources[name]
        return Item(
            printable(name), "file", source.span(0, source.size), make=lambda: self._sections(first, last), first=first
        )

    def _sections(self, first: int, last: int) -> list[Item]:
        """The sections `[first, last)`, or groups of them."""
        step = _step(last - first)
        if step == 1:
            return [self._section(number) for number in range(first, last)]
        return [self._group(at, min(at + step, last)) for at in range(first, last, step)]

    def _group(self, first: int, last: int) -> Item:
        """Return the item of a group of sections `[first, last)`."""
        begin, end = self.found[first], self.found[last - 1]
        label = f"{begin.name} to {end.name}  ({counted(last - first, 'sections')})"
        span = begin.span._replace(end=max(begin.span.end, end.span.end))
        return Item(printable(label), "group", span, make=lambda: self._sections(first, last), first=first)

    def _section(self, number: int) -> Item:
        """Return the item of one section, whose children are made by `_content` when it is unfolded."""
        section = self.found[number]
        codec = f", {section.codec}" if section.codec else ""
        label = f"{'  ' if section.parent else ''}{section.name}  ({section.kind}{codec})"
        return Item(
            printable(label),
            "section",
            section.span,
            section=section,
            make=lambda: self._content(number),
            first=number,
            bad=str(section.kind) in ("unread", "gap"),
        )

    def explain(self, number: int) -> ExplainedSection:
        """The fields of a section, with its checksums computed.  Raises `SourceError` if reading fails."""
        known = self._explained.pop(number, None)
        if known is None:
            section = checked_nearby(self.found[number])
            cache = SectionCache(lambda: self.payload(number), PATIENCE)
            unchecked = ""
            if section.span.size > NEARBY:  # computing its checksum would take long
                unchecked = f"covers {counted(section.span.size, 'bytes')}: only `exhume verify` compares it"
            known = explain_section(self.found, section, whole=True, stream=True, unchecked=unchecked, cache=cache)
            for tree in known.trees():
                check_fields(section, tree, [], unchecked)
        self._explained[number] = known
        while len(self._explained) > self.KEPT:
            del self._explained[next(iter(self._explained))]
        return known

    def payload(self, number: int) -> bytes | Region:
        """The payload of a section: a large one as a region.  Propagates errors from decompressing."""
        return self._payloads.content(number, self.found[number])

    def _content(self, number: int) -> list[Item]:
        """Return the children of a section: notes, fields of its stored bytes, and its payload."""
        explained = self.explain(number)
        out = [Item(printable(text), "note", bad=not explained.complete) for text in _notes(explained)]
        if explained.stored is not None:
            out += _fields(explained.section, [explained.stored])
        if explained.payload is not None:
            payload = explained.payload
            size = len(explained.data) if explained.region is None else explained.region.size
            out.append(
                Item(
                    f"payload  ({counted(size, 'bytes')} decompressed)",
                    "payload",
                    payload.span,
                    section=explained.section,
                    field=payload,
                    make=lambda: _fields(explained.section, payload.children, payload.omitted),
                    bad=_is_bad(payload),
                )
            )
        return out

    def path_to(self, offset: int, source: str | None) -> tuple[list[int], int] | None:
        """Return the index of the child to unfold at each level for the innermost section of a byte, and its number."""
        numbers = self.found.numbers_at(offset, source)
        return (self.path_of(numbers[-1]), numbers[-1]) if numbers else None

    def path_of(self, number: int) -> list[int]:
        """Return the index of the child to unfold at each level to get to the section of a number."""
        path: list[int] = []
        first, last = 0, len(self.found)
        if 1 < len(self._files) <= MOST_FILES:
            at = next(at for at, (_, begin, end) in enumerate(self._files) if begin <= number < end)
            path.append(at)
            _, first, last = self._files[at]
        while (step := _step(last - first)) > 1:
            path.append((number - first) // step)
            first += path[-1] * step
            last = min(first + step, last)
        return [*path, number - first]

    def named(self, text: str, after: int) -> int | None:
        """The number of the next section after one whose name contains the text, ignoring case; None without any."""
        folded, before = text.casefold(), None
        for number, name in enumerate(self.found.names()):
            if folded in name.casefold():
                if number > after:
                    return number
                before = number if before is None else before  # the search continues at the first section
        return before


def sections_of(archive: Any) -> SectionMap:
    """Return the sections to browse; for a large or remote archive only its outline, as finding all takes long."""
    found: SectionMap = archive.outline() if isinstance(archive, Archive) else archive.sections()
    sources = found.sources.values()
    if sum(source.size for source in sources) > WALKED or any(source.is_remote for source in sources):
        return found
    walked: SectionMap = archive.sections()
    return walked


def _step(count: int) -> int:
    """Return how many sections each child of a group contains: a power of `GROUP`."""
    step = 1
    while count > GROUP * step:
        step *= GROUP
    return step


def _notes(explained: ExplainedSection) -> Iterator[str]:
    """Yield the notes on a section: the first about how it was read, then its findings."""
    if explained.note:
        yield explained.note
    yield from map(str, explained.findings)


def _fields(section: Section, fields: Sequence[Field], omitted: int = 0, first: int = 0, end: int = -1) -> list[Item]:
    """Return items of fields `[first, end)` (end -1: all), in groups if there are many.

    `omitted` is the number of further fields that were not parsed.
    """
    end = len(fields) if end < 0 else end
    step = _step(end - first)
    if step > 1:
        return [_group_of(section, fields, at, min(at + step, end)) for at in range(first, end, step)]
    out = [_field(section, fields[at]) for at in range(first, end)]
    if omitted:
        out.append(Item(f"… {omitted:,} more", "note"))
    return out


def _group_of(section: Section, fields: Sequence[Field], first: int, end: int) -> Item:
    """The elements `[first, end)` of an array."""
    span = _joined_span(fields[first].span, fields[end - 1].span)
    make = partial(_fields, section, fields, 0, first, end)
    return Item(f"[{first}] to [{end - 1}]", "group", span, section=section, make=make)


def _elements(section: Section, array: Field, fields: Trees, first: int = 0) -> list[Item]:
    """Return items of the elements of an array from number `first` on.

    A long array is parsed step by step: `fields.more` is not None if elements follow those parsed.  The last item then
    parses as many again when it is unfolded.
    """
    known = len(fields)
    out = _fields(section, fields, 0, first, known) if known > first else []
    if fields.more is None:
        return out

    def further() -> list[Item]:
        """Parse until twice as many elements are known, and return the new ones."""
        fields.read_on(2 * known)
        return _elements(section, array, fields, known)

    span = _joined_span(fields[known - 1].span, array.span)
    return [*out, Item(f"[{known}] and on", "group", span, section=section, make=further)]


def _joined_span(first: Span | None, last: Span | None) -> Span | None:
    """Return the span from the start of one to the end of another; the first if either is None."""
    if first is None or last is None:
        return first
    if first.payload is None or last.payload is None:
        return first._replace(end=last.end)
    return first._replace(payload=(first.payload[0], last.payload[1]))


def _field(section: Section, field: Field) -> Item:
    """Return a field as an item of the outline; its children are made when it is opened."""
    value = field_value(field)
    label = f"{field.name}: {shorten(value, 48)}" if value else field.name
    children = field.children
    make: Callable[[], list[Item]] | None = None
    if isinstance(children, Trees):
        make = partial(_elements, section, field, children)
    elif children or field.omitted:
        make = partial(_fields, section, children, field.omitted)
    return Item(printable(label), "field", field.span, section=section, field=field, make=make, bad=_is_bad(field))


def _is_bad(field: Field) -> bool:
    """Return whether a field is damaged: it has a note of a problem, or its checksum does not match."""
    return bool(field.note) or (field.check is not None and field.check.outcome is CheckOutcome.MISMATCH)


def details(item: Item) -> list[tuple[str, str]]:
    """The facts about an item, as names and values."""
    rows: list[tuple[str, Any]] = []
    if item.span is not None and item.place is not None:
        start, end = item.place
        payload = item.span.payload is not None
        rows.append(("payload offset" if payload else "offset", f"{start} (0x{start:x})"))
        rows.append(("size", f"{end - start:,}"))
        rows.append(("file", item.span.source))
    if item.field is not None:
        field = item.field
        rows += [("field", field.path), ("type", field.type), ("value", field_value(field))]
        rows += [("meaning", field.meaning or field.doc), ("specification", field.doc_ref), ("damage", field.note)]
        if field.check is not None:
            rows.append(("checksum", f"{field.checksum}: {field.check}"))
    elif item.section is not None:
        section = item.section
        rows += [("section", section.name), ("kind", section.kind), ("codec", section.codec), ("note", section.note)]
    return [(name, printable(str(text))) for name, text in rows if text not in (None, "")]


def find_bytes(source: Source | Region, wanted: bytes, start: int, stopped: Callable[[], bool] = bool) -> int | None:
    """The offset of bytes in a file, searched from an offset on, then from the beginning; None without any.

    Reads `WINDOW` bytes at a time, and nothing more once `stopped()` (default: never, as `bool()` is False).  Raises
    `SourceError` if reading fails, and `StoppedError`.
    """
    first = min(max(0, start - source.origin), source.size)
    # From `first` to the end, then from the beginning to `first`.  Windows overlap by the length of a match less 1.
    for begin, end in ((first, source.size), (0, min(first + len(wanted) - 1, source.size))):
        for at in range(begin, end, WINDOW):
            if stopped():
                raise StoppedError
            data = source.read_at(at, min(WINDOW + len(wanted) - 1, end - at))
            if (found := data.find(wanted)) >= 0:
                return source.origin + at + found
    return None
