"""Findings by the place that they are about, to show each at its section and field.

A section is a range of bytes of an archive with one purpose; a run stands for many similar sections (of a decompressed
payload: a payload run).  The span of a finding is a range of a file or, if its `payload` is set, of the payload that
the stored bytes contain.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from itertools import accumulate, chain
from operator import attrgetter
from typing import TYPE_CHECKING

from exhume.errors import Span
from exhume.findings import Finding
from exhume.layout.sections import PayloadRun, Run
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.engines.explanation import ExplainedSection
    from exhume.layout.trees import Field


class PlacedFinding(NamedTuple):
    """A finding, and the bytes that it is about."""

    finding: Finding
    span: Span


Near = list[PlacedFinding]
"""The findings about a section."""


class FindingsByPlace:
    """Findings by the place that they are about."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        """Sort findings by file; those inside payloads are sorted when their section is explained."""
        by_file: dict[str, Near] = {}
        for finding in findings:
            if finding.span is not None:
                by_file.setdefault(finding.span.source, []).append(PlacedFinding(finding, finding.span))
        # By file, and by stored bytes: those inside their payload.
        self._of = {name: _FindingRanges(placed, stored_range) for name, placed in by_file.items()}
        self._within: dict[Span, _FindingRanges] = {}

    def _in_payload(self, place: Span) -> _FindingRanges:
        """The findings about parts of the payload of these stored bytes, without those about the stored bytes."""
        stored = Span(place.source, place.start, place.end)
        if stored not in self._within:
            # Those whose span is the same stored bytes, narrowed to a part of the payload.
            found = self.near(stored, first=False)
            of_it = (placed for placed in found if placed.span._replace(payload=None) == stored != placed.span)
            self._within[stored] = _FindingRanges(of_it, attrgetter("local"))
        return self._within[stored]

    def numbers(self, run: Run) -> frozenset[int]:
        """The numbers of the sections of a run that findings may touch."""
        placed = self._in_payload(run.span) if isinstance(run, PayloadRun) else self._of.get(run.span.source)
        return frozenset() if placed is None else placed.numbers(run)

    def near(self, section: Span, *, first: bool) -> Near:
        """The findings that touch a section, sorted by range; those about a whole file belong to its `first` section.

        For a part of a payload, the places of its findings count from the start of that part.
        """
        if section.payload is not None:
            base, _ = section.payload
            found = self._in_payload(section).touching(section, first=None)
            return [
                PlacedFinding(finding, span.in_payload(*(at - base for at in span.local))) for finding, span in found
            ]
        return self._of[section.source].touching(section, first=first) if section.source in self._of else []


class _FindingRanges:
    """Findings in the order of their ranges: all those of a file, or of a payload."""

    def __init__(self, placed: Iterable[PlacedFinding], range_of: Callable[[Span], tuple[int, int]]) -> None:
        """Sort findings by where they start.

        `range_of` returns the range of a span, stored or in a payload.
        """
        self._range = range_of
        self.found = sorted(placed, key=lambda one: range_of(one.span)[0])
        ranges = [range_of(one.span) for one in self.found]
        self._starts = [start for start, _ in ranges]
        self._ends = list(accumulate((end for _, end in ranges), max))  # the largest end so far: sorted as well

    def numbers(self, run: Run) -> frozenset[int]:
        """The numbers of the sections of a run that they may touch."""
        return frozenset(chain.from_iterable(run.touching(*self._range(span)) for _, span in self.found))

    def touching(self, section: Span, *, first: bool | None) -> Near:
        """Return the findings that touch a section, sorted by range.

        `first`: whether findings about the whole file belong to this section; None if there are none (in a payload).
        """
        place = start, stop = self._range(section)
        # Those that end before the section are at the front of the list, those that start after it at its end; those
        # about the whole file, whose range is (0, 0), are the very first.
        candidates = range(0 if first else bisect_left(self._ends, start), bisect_right(self._starts, stop))
        near = filter(
            lambda one: touches(self._range(one.span), place, first=first), map(self.found.__getitem__, candidates)
        )
        return sorted(near, key=lambda one: one.span.local)


def place_findings(item: ExplainedSection, near: Near) -> None:
    """Note each finding at the innermost field that holds all of its bytes, or else at the section."""
    if not near:
        return
    starts = [start for start, _ in (one.span.local for one in near)]  # sorted, as `near` is
    holders: dict[int, Field] = {}  # number of a finding: innermost field that holds its bytes
    for tree in item.trees():
        for _, node in tree.walk():  # outermost first
            if node.span is not None:
                start, end = node.span.local
                for at in range(bisect_left(starts, start), bisect_left(starts, end)):
                    if _holds(node.span, near[at].span):
                        holders[at] = node
    for at, (finding, _) in enumerate(near):
        if at in holders:
            node = holders[at]
            node.note = f"{node.note}; {finding.summary}" if node.note else finding.summary
        else:
            item.findings.append(finding)


def stored_range(span: Span) -> tuple[int, int]:
    """Start and end of a span in the file."""
    return span.start, span.end


def touches(span: tuple[int, int], section: tuple[int, int], *, first: bool | None) -> bool:
    """Whether a range of the same file or payload overlaps a section, or, if it is empty, is inside it."""
    if span == (0, 0) and first is not None:  # about the file as a whole, wherever it starts
        return first
    (start, end), (begin, stop) = span, section
    return (start < stop and end > begin) or begin <= start == end <= stop


def _holds(outer: Span, inner: Span) -> bool:
    """Whether bytes are inside a field, both of the file or both of the same payload."""
    if inner.start == inner.end or (inner.payload is None) != (outer.payload is None):
        return False
    if inner.payload is not None and (inner.start, inner.end) != (outer.start, outer.end):
        return False
    (outer_start, outer_end), (start, end) = outer.local, inner.local
    return outer_start <= start < end <= outer_end
