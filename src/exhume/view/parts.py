"""Data for a page or a picture of an archive: its sections as bands, and its fields as JSON-able values.

A section is a range of bytes with one purpose; a run (`SectionRun`) stands for many similar ones.  Both are tiles: they
cover a file without overlap.

The page that is a file (`view/page.py`) and the one that a local process serves (`view/explored.py`) are made of these,
and of the same script and style.

Sections that begin within one unit of a picture are one bar, and neighboring bars of one kind that are too narrow for
a name are one band with a count.  Gaps and unread bytes are never hidden by what is around them.
"""

from __future__ import annotations

import importlib.resources
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from exhume.engines.explanation import ExplainedSection
from exhume.errors import Span, shorten
from exhume.findings import CheckOutcome
from exhume.layout.schema import ARRAY_SHOWN
from exhume.layout.sections import Section, SectionKind, SectionMap, SectionRun, Tile
from exhume.layout.trees import Field

ATTENTION = (SectionKind.UNREAD, SectionKind.GAP)
"""Kinds that decide the color of a bar, however few of its bytes are of them, so that no damage is overlooked."""


@dataclass(slots=True)
class Bar:
    """One bar of a picture: a section, or `count` of them from `first` to the one named `last`."""

    first: Section
    last: str
    start: int  # offset in the file
    end: int  # the same
    count: int
    kinds: Counter[SectionKind]  # bytes of each kind

    @classmethod
    def of(cls, section: Section) -> Bar:
        """The bar of one section."""
        kinds = Counter({section.kind: section.span.size})
        return cls(section, section.name, section.span.start, section.span.end, 1, kinds)

    @classmethod
    def of_many(cls, run: SectionRun, first: int, last: int) -> Bar:
        """The bar of the sections `[first, last)` of a run; `run.bounds` has the offset where each section begins."""
        kinds: Counter[SectionKind] = Counter()
        for section, _, size in run.sums(first, last):
            kinds[section.kind] += size
        return cls(run[first], run[last - 1].name, run.bounds[first], run.bounds[last], last - first, kinds)

    def join(self, other: Bar) -> None:
        """Extend this bar by the one that follows it."""
        self.last = other.last
        self.end = max(self.end, other.end)
        self.count += other.count
        self.kinds += other.kinds

    @property
    def kind(self) -> SectionKind:
        """The kind of most of its bytes, or a kind of `ATTENTION` if any byte is of one."""
        troubled = (kind for kind in ATTENTION if self.kinds[kind])
        return next(troubled, max(self.kinds, key=lambda kind: self.kinds[kind], default=self.first.kind))

    @property
    def name(self) -> str:
        """The name of its only section, or those of the first and the last."""
        return self.first.name if self.count == 1 else f"{self.first.name} … {self.last}"


def bars(tiles: Iterable[Tile], scale: float, span: tuple[int, int] | None = None) -> Iterator[Bar]:
    """Yield the bars of a picture with `scale` units per byte.

    Neighbors narrower than one unit are one bar. With a `span` of the file, only sections that touch it.
    """
    waiting: Bar | None = None
    for part in tiles:
        if span is not None:
            start, end = span
            if part.span.end <= start or part.span.start >= end:
                continue
        for bar in _split(part, scale, span) if isinstance(part, SectionRun) else (Bar.of(part),):
            is_narrow = (bar.end - bar.start) * scale < 1
            if waiting is not None and is_narrow and (bar.start - waiting.start) * scale < 1:
                waiting.join(bar)
                continue
            if waiting is not None:
                yield waiting
            waiting = bar
    if waiting is not None:
        yield waiting


def _split(run: SectionRun, scale: float, span: tuple[int, int] | None) -> Iterator[Bar]:
    """Yield the bars of a run of sections; narrow ones that begin in the same unit are one bar."""
    at, end = 0, len(run)
    if span is not None:
        first, last = span
        at = max(0, bisect_right(run.bounds, first) - 1)
        end = min(end, bisect_left(run.bounds, last))
    while at < end:
        # The first section that begins at least a unit later; one before it that is a unit wide is a bar of its own.
        stop = bisect_left(run.bounds, run.bounds[at] + 1 / scale, at + 1, len(run))
        if stop > at + 1 and (run.bounds[stop] - run.bounds[stop - 1]) * scale >= 1:
            stop -= 1
        yield Bar.of_many(run, at, stop)
        at = stop


def bands(tiles: Iterable[Tile], scale: float, narrow: float, span: tuple[int, int] | None = None) -> Iterator[Bar]:
    """Yield bars as `bars` does, but neighbors of one kind are joined if they are narrower than `narrow` units."""
    waiting: Bar | None = None
    joins = False  # whether `waiting` is narrow, so that others can join it
    for bar in bars(tiles, scale, span):
        is_narrow = (bar.end - bar.start) * scale < narrow
        if waiting is not None and joins and is_narrow and bar.kind is waiting.kind and bar.start == waiting.end:
            waiting.join(bar)
            continue
        if waiting is not None:
            yield waiting
        waiting, joins = bar, is_narrow
    if waiting is not None:
        yield waiting


def tiles_of(found: SectionMap, source: str) -> list[Tile]:
    """The parts of a map that tile one of its files: nested sections left out."""
    placed = (part for part in found.parts_of(source) if part.parent is None)
    return [part for part in placed if isinstance(part, (Section, SectionRun))]


STRIPES = 1000
"""A map on a page has this many units for a file, or for the part of it that it shows."""

NARROW = 12
"""Neighbors of one kind that take fewer of these units each are one band."""

SHOWN = 160
"""Characters of a name or value that a page has."""

SCRIPTS = ("space.js", "source.js", "list.js", "rows.js", "fields.js", "records.js", "map.js", "page.js")
"""The parts of the page's script, in the order in which they need each other."""


def script() -> str:
    """The script of the page."""
    return "".join(map(asset, SCRIPTS))


def style() -> str:
    """The style of the page."""
    return asset("page.css")


def asset(name: str) -> str:
    """The text of a file of this package."""
    return (importlib.resources.files("exhume.view") / name).read_text(encoding="utf-8")


def stripes(found: SectionMap, name: str, span: tuple[int, int] | None = None) -> list[tuple[int, int, str, int, str]]:
    """Start, end, kind, count of sections, and name of each band of a file, or of a part of it."""
    source = found.sources[name]
    start, end = span or (0, source.size)
    size = end - start
    scale = STRIPES / size if size > 0 else 1.0
    drawn = bands(tiles_of(found, name), scale, NARROW, span)
    return [
        (bar.start, bar.end, str(bar.kind), bar.count, shorten(bar.name, SHOWN)) for bar in drawn if bar.end > bar.start
    ]


def section_values(section: Section, space: int) -> dict[str, Any]:
    """Name, kind and place of a section in the address space of its file."""
    return {
        "name": section.name,
        "kind": str(section.kind),
        "space": space,
        "start": section.span.start,
        "end": section.span.end,
        "codec": section.codec or "",
        "note": section.note,
        "skipped": 0,
        "nested": section.parent is not None,
        "bad": False,
    }


def note_of(item: ExplainedSection) -> str:
    """The description of an explained section as a whole."""
    return "; ".join(dict.fromkeys(filter(None, (item.note, *map(str, item.findings)))))  # the note may be a finding


def is_bad(item: ExplainedSection) -> bool:
    """Whether a checksum in a section does not match."""
    return any(_has_mismatch(tree) for tree in item.trees())


def node_values(node: Field, space: int) -> dict[str, Any]:
    """Return a field and those in it, with keys of one letter, since a page may have thousands.

    n name, t type, s start, e end, p number of the address space, v value, d description, r reference, o note,
    c checksum, w outcome of its check, a path of an array that has more elements, k fields in it, g first element left
    out (see `more_values`).
    """
    out: dict[str, Any] = {"n": node.name, "t": node.type}
    if node.span is not None:
        out["s"], out["e"] = _range(node.span)
        out["p"] = space
    if node.value is not None:
        value = node.shown
        out["v"] = shorten(value, SHOWN) if not isinstance(value, (bool, int, float)) else value
    texts = {"d": node.meaning or node.doc, "r": node.doc_ref, "o": node.note}
    out |= {key: text for key, text in texts.items() if text}
    if node.check is not None:
        out |= {"c": f"{node.checksum}: {node.check}", "w": str(node.check.outcome)}
    children = [node_values(child, space) for child in node.children]
    if node.omitted:
        out["a"] = node.path
        children += more_values(min(len(node.children), ARRAY_SHOWN), node.omitted, unread=node.unread)
    if children:
        out["k"] = children
    return out


def more_values(first: int, count: int, which: str = "more", *, unread: bool = False) -> list[dict[str, Any]]:
    """A placeholder for `count` elements of an array that are left out; a page continues with them at element `first`.

    `which` is what it calls them; with `unread`, their number is not known exactly and not shown.
    """
    return [{"n": f"… {which}" if unread else f"… {count} {which}", "t": "", "g": first}] if count else []


def _range(span: Span) -> tuple[int, int]:
    """Return start and end of a span: in the payload if it is in one, else in the file."""
    return span.payload if span.payload is not None else (span.start, span.end)


def _has_mismatch(tree: Field) -> bool:
    """Return whether a checksum in a field does not match."""
    return any(node.check is not None and node.check.outcome is CheckOutcome.MISMATCH for _, node in tree.walk())
