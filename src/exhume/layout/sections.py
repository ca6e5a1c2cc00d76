"""Section maps: what every byte of an archive is for.  A map tiles each of its files, gaps and overlaps included."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from exhume.choices import hint
from exhume.counts import counted
from exhume.errors import EntryNotFoundError, Span, shorten
from exhume.findings import Check
from exhume.io.source import Source

if TYPE_CHECKING:
    from exhume.layout.schema import Explainer, Field


class SectionKind(enum.StrEnum):
    """What a span is for."""

    STRUCTURE = "structure"  # headers, indexes, framing: described by a schema
    DATA = "data"  # payload bytes of the archive's users
    CHECKSUM = "checksum"
    PADDING = "padding"  # bytes that the format says are filler
    GAP = "gap"  # bytes that nothing claims
    UNREAD = "unread"  # bytes that damage keeps from being understood


class Section(NamedTuple):
    """A named span of one file.

    `schema` is the ksy id (optionally `id::type`) of the *stored* bytes, `payload_schema` of the decompressed ones,
    with `schema_args` / `payload_args` as parameters.  `load()` returns the decompressed payload.  `parent` names an
    enclosing section: only sections without one take part in the tiling.  `check` takes a chain of nested fields, of
    which the last is a checksum, computes it and compares.  `parse` gives the field tree of stored bytes that no schema
    of exhume describes.  `claims` tells without a field tree whether every stored byte belongs to a field; False says
    nothing.
    """

    name: str
    span: Span
    kind: SectionKind = SectionKind.STRUCTURE
    codec: str | None = None
    schema: str | None = None
    schema_args: tuple[Any, ...] = ()
    payload_schema: str | None = None
    payload_args: tuple[Any, ...] = ()
    payload_size: int | None = None
    load: Callable[[], bytes] | None = None
    check: Callable[[Sequence[Field]], Check] | None = None
    parse: Callable[[Explainer, bytes], Field] | None = None
    parent: str | None = None
    note: str = ""
    claims: Callable[[], bool] | None = None

    @property
    def sort(self) -> tuple[object, ...]:
        """What sections that differ only in name, place, size and codec have in common."""
        return self.kind, self.schema, self.payload_schema, self.parent is None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: name, kind, span, stored and decompressed size, codec, schemas."""
        out: dict[str, Any] = {
            "name": self.name,
            "kind": str(self.kind),
            "offset": self.span.start,
            "stored_size": self.span.size,
            "source": self.span.source,
        }
        for key in ("codec", "schema", "payload_schema", "payload_size", "parent"):
            value = getattr(self, key)
            if value is not None:  # `schema` alone is the name of the document's own form
                out["stored_schema" if key == "schema" else key] = value
        if self.note:
            out["note"] = self.note
        return out


class Overlap(NamedTuple):
    """Two sections that claim the same bytes."""

    first: Section
    second: Section
    span: Span


class Coverage(NamedTuple):
    """Totals in bytes over a map."""

    claimed: int
    padding: int
    gap: int
    overlap: int
    total: int

    def to_dict(self) -> dict[str, int]:
        """The JSON form."""
        return {name: getattr(self, name) for name in ("claimed", "padding", "gap", "overlap", "total")}


def _clipped(sections: Iterable[Section], end: int) -> Iterator[Section]:
    """The sections, cut at the end of the file; one that reaches further is only partly there."""
    for section in sections:
        span = section.span
        if span.end <= end:
            yield section
        elif span.start < end:
            note = f"cut short: {counted(span.end - end, 'bytes')} are not there"
            note = f"{section.note}; {note}" if section.note else note
            yield section._replace(span=span._replace(end=end), kind=SectionKind.UNREAD, note=note)


class SectionMap(Sequence[Section]):
    """Sections of one archive in file order, gaps filled in: each file is tiled from its first to its last byte.

    A section that reaches past the end of its file is cut there, and its payload is not read.
    """

    def __init__(self, files: Iterable[tuple[Source, Iterable[Section]]]) -> None:
        self._sections: list[Section] = []
        self.overlaps: list[Overlap] = []
        self.sources: dict[str, Source] = {}
        self._total = 0
        for source, sections in files:
            self.sources[source.name] = source
            self._total += source.size
            self._add_file(source, list(sections))
        self._by_name = {section.name: section for section in self._sections}

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from exhume.notebook import sections_html

        return sections_html(self)

    def _add_file(self, source: Source, sections: list[Section]) -> None:
        file_start, file_end = source.origin, source.origin + source.size
        nested: dict[str, list[Section]] = {}
        tiles: list[Section] = []
        for section in _clipped(sections, file_end):
            if section.parent is None:
                tiles.append(section)
            else:
                nested.setdefault(section.parent, []).append(section)
        tiles.sort(key=lambda s: (s.span.start, s.span.end))
        at = file_start
        last: Section | None = None
        for section in tiles:
            if section.span.start > at:
                self._gap(source, at, min(section.span.start, file_end))
            elif section.span.start < at and last is not None and section.span.size:
                shared = Span(source.name, section.span.start, min(at, section.span.end))
                if shared.size > 0:
                    self.overlaps.append(Overlap(last, section, shared))
            self._push(section, nested)
            if section.span.end >= at:
                at, last = section.span.end, section
        if at < file_end:
            self._gap(source, at, file_end)

    def _push(self, section: Section, nested: dict[str, list[Section]]) -> None:
        self._sections.append(section)
        for child in sorted(nested.pop(section.name, ()), key=lambda s: (s.span.start, s.span.end)):
            self._push(child, nested)

    def _gap(self, source: Source, start: int, end: int) -> None:
        if end > start:
            span = Span(source.name, start, end)
            self._sections.append(
                Section(f"gap@{start}", span, SectionKind.GAP, note="no structure claims these bytes")
            )

    def __len__(self) -> int:
        return len(self._sections)

    def __getitem__(self, index: Any) -> Any:
        return self._sections[index]

    def __iter__(self) -> Iterator[Section]:
        return iter(self._sections)

    def tiles(self) -> Iterator[Section]:
        """The sections that tile the files (nested ones left out)."""
        return (section for section in self._sections if section.parent is None)

    def gaps(self) -> list[Section]:
        """Spans that nothing claims."""
        return [section for section in self._sections if section.kind is SectionKind.GAP]

    def named(self, name: str) -> Section:
        """The section of that name; raises `EntryNotFoundError`."""
        try:
            return self._by_name[name]
        except KeyError:
            said = hint(name, self._by_name) or ""
            raise EntryNotFoundError(f"no such section{said}", actual=shorten(name)) from None

    def at(self, offset: int, source: str | None = None) -> list[Section]:
        """Sections that hold a byte, outermost first."""
        return [s for s in self._sections if s.span.start <= offset < s.span.end and source in (None, s.span.source)]

    def coverage(self) -> Coverage:
        """The numbers of bytes that are claimed, padding, gaps, and claimed twice."""
        padding = sum(s.span.size for s in self.tiles() if s.kind is SectionKind.PADDING)
        gap = sum(s.span.size for s in self.gaps())
        overlap = sum(o.span.size for o in self.overlaps)
        return Coverage(self._total - padding - gap, padding, gap, overlap, self._total)
