"""Sections as bands: what a picture shows of a file when a section is narrower than what can be told apart.

Sections that begin within one unit of a picture are one bar, and neighboring bars of one kind that are too narrow for
a name are one band with a count.  Gaps and unread bytes are never hidden by what is around them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from exhume.layout.sections import Section, SectionItem, SectionKind, SectionRun, Tile

ATTENTION = (SectionKind.UNREAD, SectionKind.GAP)
"""Kinds that a bar has the color of, however few of its bytes are of them."""


@dataclass(slots=True)
class Bar:
    """One bar of a picture: a section, or `count` of them from `first` to the one named `last`."""

    first: Section
    last: str
    start: int
    end: int
    count: int
    kinds: Counter[SectionKind]

    @classmethod
    def of(cls, section: Section) -> Bar:
        """The bar of one section."""
        kinds = Counter({section.kind: section.span.size})
        return cls(section, section.name, section.span.start, section.span.end, 1, kinds)

    @classmethod
    def of_many(cls, run: SectionRun, first: int, last: int) -> Bar:
        """That of the sections `[first, last)` of a run."""
        kinds: Counter[SectionKind] = Counter()
        for section, _, size in run.sums(first, last):
            kinds[section.kind] += size
        return cls(run[first], run[last - 1].name, run.bounds[first], run.bounds[last], last - first, kinds)

    def join(self, other: Bar) -> None:
        """Take over one that follows."""
        self.last = other.last
        self.end = max(self.end, other.end)
        self.count += other.count
        self.kinds += other.kinds

    @property
    def kind(self) -> SectionKind:
        """The kind that most of its bytes are of, but always one that requests attention."""
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
        if span is not None and (part.span.end <= span[0] or part.span.start >= span[1]):
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
        at = max(0, bisect_right(run.bounds, span[0]) - 1)
        end = min(end, bisect_left(run.bounds, span[1]))
    while at < end:
        stop = bisect_left(run.bounds, run.bounds[at] + 1 / scale, at + 1, len(run))
        if stop > at + 1 and (run.bounds[stop] - run.bounds[stop - 1]) * scale >= 1:
            stop -= 1
        yield Bar.of_many(run, at, stop)
        at = stop


def bands(tiles: Iterable[Tile], scale: float, narrow: float, span: tuple[int, int] | None = None) -> Iterator[Bar]:
    """Yield bars as `bars` does, but neighbors of one kind are joined if they are narrower than `narrow` units."""
    waiting: Bar | None = None
    joins = False
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


def tiles_of(parts: Iterable[SectionItem], source: str) -> list[Tile]:
    """The parts of a map that tile one of its files: nested sections left out."""
    placed = (part for part in parts if part.span.source == source and part.parent is None)
    return [part for part in placed if isinstance(part, (Section, SectionRun))]
