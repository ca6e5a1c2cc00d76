"""Section maps: the purpose of every byte of an archive.  A map tiles each of its files, gaps and overlaps included.

A section is a named range of bytes of one file, such as a header or a compressed block.  Sections that are alike and
too many for an object each are a run (`Run`), which makes a section when it is accessed.  The sections of a
decompressed payload are a `PayloadRun`: their stored bytes are those of the whole payload.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain, repeat
from operator import le, sub
from typing import TYPE_CHECKING, Any

from exhume.choices import hint
from exhume.counts import counted
from exhume.errors import EntryNotFoundError, Span, shorten
from exhume.findings import Check
from exhume.io.caching import cached_property
from exhume.io.source import Source
from exhume.late import notebook_html
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.layout.schema import Explainer
    from exhume.layout.trees import Field


class SectionKind(enum.StrEnum):
    """Purpose of a section."""

    STRUCTURE = "structure"  # headers, indexes, framing: described by a schema
    DATA = "data"  # payload bytes of the archive's users
    CHECKSUM = "checksum"
    PADDING = "padding"  # bytes that the format says are filler
    GAP = "gap"  # bytes that nothing claims
    UNREAD = "unread"  # bytes that cannot be read because of damage


class Section(NamedTuple):
    """A named span of one file.

    `schema` is the ksy id (optionally `id::type`) of the *stored* bytes, `payload_schema` of the decompressed ones,
    with `schema_args` / `payload_args` as parameters.  `load()` returns the decompressed payload.  `parent` names an
    enclosing section: only sections without one take part in the tiling.  `check` takes a chain of nested fields whose
    last one is a checksum, computes it and compares.  `parse` returns the field tree of stored bytes that no schema
    of exhume describes; `parse_lazily` means that it costs little for a large section.  `claims` determines without a
    field tree whether every stored byte belongs to a field; False says nothing.  `pieces` returns a payload of any size
    in chunks, where a format can have a large one; it raises what `load` does, but for the limit `payload_size`, and
    checksums of stored bytes before the first chunk.  `covers` takes what `check` does and returns how many bytes
    outside of the section the checksum is about.
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
    parse: Callable[[Explainer, Any], Field] | None = None
    parse_lazily: bool = False
    parent: str | None = None
    note: str = ""
    claims: Callable[[], bool] | None = None
    pieces: Callable[[], Iterator[bytes]] | None = None
    covers: Callable[[Sequence[Field]], int] | None = None

    @property
    def sort(self) -> tuple[object, ...]:
        """The attributes that are equal in sections that differ only in name, place, size and codec."""
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
            if value is not None:  # in the JSON documents of exhume, `schema` is the version of the document
                out["stored_schema" if key == "schema" else key] = value
        if self.note:
            out["note"] = self.note
        return out


class Run(Sequence[Section], ABC):
    """Many sections, each created when it is accessed; none of them is a gap, and none has others nested in it.

    `span` has the stored bytes of all, and `parent` is that of each.  `make` makes the section of a number (its
    index), and `names` returns the names of all without making them.
    """

    sorts: Sequence[int]
    """A number for each section: those with one number differ only in name, place and note."""

    def __init__(
        self, span: Span, count: int, make: Callable[[int], Section], names: Callable[[], Iterator[str]]
    ) -> None:
        self.span = span
        self.parent: str | None = None
        self.names = names
        self._count = count
        self._make = make

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, at: Any) -> Any:
        """Return the section at an index, or those of a slice; each is made again."""
        chosen = range(len(self))[at]
        return self._make(chosen) if isinstance(chosen, int) else list(map(self._make, chosen))

    def __iter__(self) -> Iterator[Section]:
        return map(self._make, range(len(self)))

    @abstractmethod
    def sizes(self, first: int = 0, last: int | None = None) -> Iterator[int]:
        """Yield the sizes in bytes of the sections `[first, last)`."""

    @abstractmethod
    def touching(self, start: int, end: int) -> range:
        """Return the numbers of the sections that overlap or adjoin `[start, end)`."""

    @abstractmethod
    def within(self, start: int, end: int) -> range:
        """Return the numbers of the sections that have any of the stored bytes `[start, end)`."""

    @cached_property
    def forms(self) -> dict[int, Section]:
        """The first section of each kind."""
        return self._forms(self.sorts)

    def _forms(self, sorts: Sequence[int]) -> dict[int, Section]:
        """Return the first section of each number in `sorts`."""
        return {sort: self[sorts.index(sort)] for sort in sorted(set(sorts))}

    def sums(self, first: int = 0, last: int | None = None) -> Iterator[tuple[Section, int, int]]:
        """Yield one section of each kind among the sections `[first, last)`, the number of such sections, and their
        bytes.
        """
        forms, sorts = self.forms, self.sorts[first:last]
        counts, sums = Counter(sorts), dict.fromkeys(forms, 0)
        for sort, size in zip(sorts, self.sizes(first, last), strict=True):
            sums[sort] += size
        return ((form, counts[sort], sums[sort]) for sort, form in forms.items() if sort in counts)


class PlacedRun(Run):
    """Many sections of the file `source`, of one kind; `starts` and `ends` ascend and have the offsets of each."""

    def __init__(
        self,
        source: str,
        starts: Sequence[int],
        ends: Sequence[int],
        *,
        make: Callable[[int], Section],
        names: Callable[[], Iterator[str]],
        parent: str | None = None,
    ) -> None:
        super().__init__(Span(source, starts[0], ends[-1]), len(starts), make, names)
        self.parent: str | None = parent
        self.sorts: Sequence[int] = bytes(len(starts))
        self._starts, self._ends = starts, ends

    def sizes(self, first: int = 0, last: int | None = None) -> Iterator[int]:
        """Yield the sizes in bytes of the sections `[first, last)`."""
        return map(sub, self._ends[first:last], self._starts[first:last])

    def touching(self, start: int, end: int) -> range:
        """Return the numbers of the sections that overlap or adjoin the bytes `[start, end)` of the file."""
        return range(bisect_left(self._ends, start), bisect_right(self._starts, end))

    def within(self, start: int, end: int) -> range:
        """Return the numbers of the sections that have any of the bytes `[start, end)` of the file."""
        return range(bisect_right(self._ends, start), bisect_left(self._starts, end))


class SectionRun(PlacedRun):
    """Many consecutive sections of the file `source`, none of them unread or nested; see `Run` for the rest.

    `bounds` has the offset of each section, and the end of the last.  `claims(first, last)` returns whether every
    byte of the sections `[first, last)` whose stored bytes have a schema belongs to a field; False is not a verdict.
    With `given_names`, names are from the archive, and say more than kind and number.
    """

    def __init__(
        self,
        source: str,
        bounds: memoryview,
        sorts: Sequence[int],
        *,
        make: Callable[[int], Section],
        names: Callable[[], Iterator[str]],
        claims: Callable[[int, int], bool],
        given_names: bool = False,
    ) -> None:
        super().__init__(source, bounds[:-1], bounds[1:], make=make, names=names)
        self.given_names = given_names
        self.bounds = bounds
        self.sorts = sorts
        self.claims = claims


class PayloadRun(Run):
    """Many parts of the decompressed payload of one section, their `parent`; each is a section with its stored bytes.

    `starts` has the offset of each in the payload, in ascending order.  `sorts` returns 1 for each that is unread,
    else 0, and is called when kinds are requested, because it may have to decompress the payload.
    """

    def __init__(
        self,
        span: Span,
        parent: str,
        starts: Sequence[int],
        *,
        make: Callable[[int], Section],
        names: Callable[[], Iterator[str]],
        sorts: Callable[[], Sequence[int]],
    ) -> None:
        super().__init__(span, len(starts), make, names)
        self.parent: str | None = parent
        self._starts = starts
        self._sorts: Sequence[int] = b""
        self._find_sorts = sorts

    @property
    def sorts(self) -> Sequence[int]:  # type: ignore[override]
        """1 for each section that is unread, else 0; not kept where some are, for a later call may read more."""
        if not self._sorts:
            found = self._find_sorts()
            if any(found):
                return found
            self._sorts = found
        return self._sorts

    def unread(self) -> Iterator[Section]:
        """Yield the sections that are unread."""
        return (self[number] for number, sort in enumerate(self.sorts) if sort)

    @property
    def forms(self) -> dict[int, Section]:
        """The first section of each kind, as `sorts`."""
        return self._forms(self.sorts)

    def sizes(self, first: int = 0, last: int | None = None) -> Iterator[int]:
        """Yield the stored sizes of the sections `[first, last)`: for each, that of the whole payload."""
        return repeat(self.span.size, len(range(len(self))[first:last]))

    def touching(self, start: int, end: int) -> range:
        """Return the numbers of the sections that overlap or adjoin the bytes `[start, end)` of the payload."""
        first = bisect_left(self._starts, start) - 1  # the one before may extend to `start`: its end is not known
        return range(max(0, first), bisect_right(self._starts, end))

    def within(self, start: int, end: int) -> range:
        """Return all numbers if the payload has any of the stored bytes `[start, end)`: no part has stored bytes of its
        own.
        """
        return range(len(self) if start < self.span.end and self.span.start < end else 0)


class Overlap(NamedTuple):
    """Two sections that claim the same bytes."""

    first: Section
    second: Section
    span: Span


class Coverage(NamedTuple):
    """Numbers of bytes in a map: claimed by sections, padding, unclaimed (gap), claimed twice (overlap), and of all
    files.
    """

    claimed: int
    padding: int
    gap: int
    overlap: int
    total: int

    def to_dict(self) -> dict[str, int]:
        """The JSON form."""
        return {name: getattr(self, name) for name in ("claimed", "padding", "gap", "overlap", "total")}


Tile = Section | SectionRun
"""Element of a map before nested sections: a section, or a run that is expanded on request."""
SectionItem = Section | PlacedRun | PayloadRun
"""Element of any map: a section, or a run of sections."""


def _clipped(parts: Iterable[SectionItem], end: int) -> Iterator[SectionItem]:
    """Yield the sections, cut at the end of the file: a section that reaches past it is truncated."""
    for section in parts:
        span = section.span
        if span.end <= end:
            yield section
        elif isinstance(section, Run):
            yield from _clipped(section, end)
        elif span.start < end:
            note = f"truncated: {counted(span.end - end, 'bytes')} missing"
            note = f"{section.note}; {note}" if section.note else note
            yield section._replace(span=span._replace(end=end), kind=SectionKind.UNREAD, note=note)


def _each(parts: Iterable[SectionItem]) -> Iterator[Section]:
    """Return all sections of `parts`, those of runs one by one."""
    return chain.from_iterable(part if isinstance(part, Run) else (part,) for part in parts)


def _place(part: SectionItem) -> tuple[int, int]:
    """Return start and end of a section or run (`part`), for sorting."""
    return part.span.start, part.span.end


class SectionMap(Sequence[Section]):
    """Sections of one archive in file order, gaps filled in: each file is tiled from its first to its last byte.

    A section that reaches past the end of its file is cut there, and its payload is not read.  `parts` are the
    sections as they were given, with runs unexpanded.
    """

    def __init__(self, files: Iterable[tuple[Source, Iterable[SectionItem]]]) -> None:
        self.parts: list[SectionItem] = []
        self.overlaps: list[Overlap] = []
        self.sources: dict[str, Source] = {}
        self._ranges: dict[str, tuple[int, int]] = {}  # where the parts of each file are in `parts`
        self._total = 0
        for source, sections in files:
            self.sources[source.name] = source
            self._total += source.size
            first = len(self.parts)
            self._add_file(source, sections)
            self._ranges[source.name] = first, len(self.parts)
        counts = (len(part) if isinstance(part, Run) else 1 for part in self.parts)
        self._firsts = list(accumulate(counts, initial=0))  # number of the first section of each part

    def _repr_html_(self) -> str:
        """HTML for a notebook."""
        return notebook_html("sections_html", self)

    def _add_file(self, source: Source, sections: Iterable[SectionItem]) -> None:
        """Add the sections of one file in file order, with a gap for each range without section; note overlaps."""
        file_start, file_end = source.origin, source.origin + source.size
        nested: dict[str, list[SectionItem]] = {}
        tiles: list[SectionItem] = []
        for part in _clipped(sections, file_end):
            if part.parent is None:
                tiles.append(part)
            else:
                nested.setdefault(part.parent, []).append(part)
        placed = sorted(tiles, key=_place)
        ends = accumulate((part.span.end for part in placed), max)
        # If a run overlaps other sections, its sections have to be sorted one by one.
        if not all(map(le, ends, [part.span.start for part in placed[1:]])):
            placed = sorted(_each(tiles), key=_place)
        at = file_start
        last: SectionItem | None = None
        for part in placed:
            start, end = part.span.start, part.span.end
            # Bytes before the section are a gap; bytes before `at` were claimed by the last one.
            if start > at:
                self._gap(source, at, min(start, file_end))
            # Runs that overlap were split into sections above; an empty section claims no byte.
            elif start < min(at, end) and isinstance(last, Section) and isinstance(part, Section):
                self.overlaps.append(Overlap(last, part, Span(source.name, start, min(at, end))))
            self._push(part, nested)
            if end >= at:
                at, last = end, part
        if at < file_end:
            self._gap(source, at, file_end)

    def _push(self, part: SectionItem, nested: dict[str, list[SectionItem]]) -> None:
        """Add a section and, after it, those that are nested in it."""
        self.parts.append(part)
        for child in sorted(nested.pop(part.name, ()), key=_place) if isinstance(part, Section) else ():
            self._push(child, nested)

    def _gap(self, source: Source, start: int, end: int) -> None:
        """Add a section for bytes that no other section has."""
        if end > start:
            span = Span(source.name, start, end)
            self.parts.append(Section(f"gap@{start}", span, SectionKind.GAP, note="no structure claims these bytes"))

    def __len__(self) -> int:
        return self._firsts[-1]

    def __getitem__(self, index: Any) -> Any:
        """Return the section at an index, or those of a slice."""
        chosen = range(len(self))[index]
        return self._section(chosen) if isinstance(chosen, int) else list(map(self._section, chosen))

    def _section(self, number: int) -> Section:
        """Return section `number` of the map; one of a run is made now."""
        at = bisect_right(self._firsts, number) - 1
        part = self.parts[at]
        found: Section = part[number - self._firsts[at]] if isinstance(part, Run) else part
        return found

    def __iter__(self) -> Iterator[Section]:
        return _each(self.parts)

    def parts_of(self, source: str) -> list[SectionItem]:
        """Return the parts that are in one file."""
        first, last = self._ranges[source]
        return self.parts[first:last]

    def tiles(self) -> Iterator[Section]:
        """Yield the sections that tile the files (nested ones left out)."""
        return _each(part for part in self.parts if part.parent is None)

    def sums(self, *, tiles: bool = False) -> Iterator[tuple[Section, int, int]]:
        """Yield a section, how many such sections there are, and their bytes: for each kind in a run, and each other
        section.

        With `tiles`, nested ones are left out.
        """
        parts = (part for part in self.parts if not tiles or part.parent is None)
        runs = (part.sums() if isinstance(part, Run) else ((part, 1, part.span.size),) for part in parts)
        return chain.from_iterable(runs)

    def gaps(self) -> list[Section]:
        """Return the sections of bytes that nothing claims."""
        return [part for part in self.parts if isinstance(part, Section) and part.kind is SectionKind.GAP]

    def named(self, name: str) -> Section:
        """Return the section of that name, the last one if there are several; raises `EntryNotFoundError`."""
        found = max((number for number, known in enumerate(self.names()) if known == name), default=None)
        if found is None:
            where = Span(next(iter(self.sources)), 0, 0) if len(self.sources) == 1 else None
            message = f"no such section{hint(name, self.names()) or ''}"
            raise EntryNotFoundError(message, span=where, actual=shorten(name))
        return self._section(found)

    def stored(self, section: Section) -> Iterator[bytes]:
        """Yield the stored bytes of a section in chunks."""
        source = self.sources[section.span.source]
        start = section.span.start - source.origin
        return source.chunks(start, start + section.span.size)

    def names(self) -> Iterator[str]:
        """Yield the names of all sections."""
        return chain.from_iterable(part.names() if isinstance(part, Run) else (part.name,) for part in self.parts)

    def at(self, offset: int, source: str | None = None) -> list[Section]:
        """Return the sections that contain a byte, outermost first."""
        return list(map(self._section, self.numbers_at(offset, source)))

    def numbers_at(self, offset: int, source: str | None = None, *, payload: int | None = None) -> list[int]:
        """Return the numbers of the sections that contain a byte, outermost first.

        A part of a payload has no stored bytes of its own: it is found by the offset `payload` in the decompressed
        payload.
        """
        found = []
        for first, part in zip(self._firsts, self.parts, strict=False):
            if not part.span.start <= offset < part.span.end or source not in (None, part.span.source):
                continue
            if isinstance(part, Section):
                found.append(first)
            elif not isinstance(part, PayloadRun):
                found += [first + number for number in part.within(offset, offset + 1)]
            elif payload is not None:  # the last part that begins at the offset or before it
                found += [first + number for number in part.touching(payload, payload)[-1:]]
        return found

    def coverage(self) -> Coverage:
        """Return the numbers of bytes that are claimed, padding, gaps, and claimed twice."""
        padding = sum(size for section, _, size in self.sums(tiles=True) if section.kind is SectionKind.PADDING)
        gap = sum(section.span.size for section in self.gaps())
        overlap = sum(overlap.span.size for overlap in self.overlaps)
        return Coverage(self._total - padding - gap, padding, gap, overlap, self._total)
