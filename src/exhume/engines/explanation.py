"""The explanation of one section, and the findings that are shown at its fields.

A section is a range of bytes of an archive with one purpose; a run stands for many similar sections (of a decompressed
payload: a payload run).  An explanation may have no trees of fields, as on the first page of `explain`:
`exhume.engines.explained` makes them, and is imported only where they are shown.  The span of a finding is a range of a
file or, if its `payload` is set, of the payload that the stored bytes contain.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate, chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from exhume.errors import Span
from exhume.findings import Finding
from exhume.late import notebook_html
from exhume.layout.sections import PayloadRun, Run, Section, SectionMap
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.layout.kaitai import Region
    from exhume.layout.schema import Explainer
    from exhume.layout.trees import Field

PARSED_SIZE = 8 << 20
"""Larger sections and payloads are summarized, unless requested: debug objects take about 100 bytes per byte."""


@dataclass(slots=True)
class ExplainedSection:
    """One section explained: the tree of its stored bytes and that of its decompressed payload, where schemas exist."""

    section: Section
    stored: Field | None = None
    payload: Field | None = None
    note: str = ""  # about the section or how far it could be read
    skipped: int = 0  # number of sections of this kind left out, from this one on
    parsed: int = 0  # bytes, stored and decompressed, whose fields were parsed
    withheld: bool = False  # whether fields were left out because the section is large
    findings: list[Finding] = field(default_factory=list)  # findings that no single field holds
    data: bytes = field(default=b"", repr=False)  # the decompressed payload that `payload` describes
    region: Region | None = field(default=None, repr=False)  # the same where it is too large to be held
    explainer: Explainer | None = field(default=None, repr=False)  # makes elements that are shown later
    payload_explainer: Explainer | None = field(default=None, repr=False)  # the same for those of the payload

    def trees(self) -> Iterator[Field]:
        """The field trees that exist: of the stored bytes, of the payload."""
        if self.stored is not None:
            yield self.stored
        if self.payload is not None:
            yield self.payload

    stopped: int | None = None  # the byte at which parsing was stopped because it took too long; None: it was not
    complete: bool = True  # whether everything that was examined could be read, decoded and parsed

    @property
    def is_complete(self) -> bool:
        """Whether everything examined until now could be read, decoded and parsed."""
        return self.complete and not any(
            one is not None and one.broken for one in (self.explainer, self.payload_explainer)
        )

    def _repr_html_(self) -> str:
        """HTML for a notebook."""
        return notebook_html("explained_html", self)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form documented for `exhume explain --json`."""
        out: dict[str, Any] = {"section": self.section.to_dict()}
        for key, tree in (("fields", self.stored), ("payload", self.payload)):
            if tree is not None:
                from exhume.layout.trees import field_to_dict

                out[key] = field_to_dict(tree)
        return out | self._facts()

    def _facts(self) -> dict[str, Any]:
        """Keys of the JSON form other than the trees."""
        out: dict[str, Any] = {}
        if self.note:
            out["note"] = self.note
        if self.skipped:
            out["skipped"] = self.skipped
        if self.findings:
            out["findings"] = [finding.to_dict() for finding in self.findings]
        return out

    def json_pieces(self) -> Iterator[str]:
        """The text of `to_dict` in JSON, in chunks: elements that are created on access are not kept."""
        from exhume.io.jsonout import dumps
        from exhume.layout.trees import has_elements, tree_pieces

        if not any(map(has_elements, self.trees())):  # all fields exist: no need for chunks
            yield dumps(self.to_dict())
            return
        yield f'{{"section":{dumps(self.section.to_dict())}'
        for key, tree in (("fields", self.stored), ("payload", self.payload)):
            if tree is not None:
                yield f',"{key}":'
                yield from tree_pieces(tree)
        rest = dumps(self._facts())
        yield f",{rest[1:]}" if len(rest) > len("{}") else "}"


def schemas_of(found: SectionMap) -> Counter[str | None]:
    """Number of sections by schema."""
    schemas: Counter[str | None] = Counter()
    for section, count, _ in found.sums(tiles=True):
        schemas[section.schema] += count
    return schemas


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
