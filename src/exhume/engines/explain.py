"""The explain engine: every byte of an archive, section by section, from the generated debug classes.

One section (or one decompressed payload) is in memory at a time.  Findings of `verify` are noted at the fields that
they concern.  The verdict on a checksum is not derived from findings, because their absence proves nothing: it is
computed from the archive when the checksum's field is explained.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, islice
from typing import TYPE_CHECKING, Any

from exhume.archive import Archive
from exhume.choices import check_keywords, hint
from exhume.engines.explained import (
    PARSED_SIZE,
    ExplainedSection,
    SectionCache,
    check_fields,
    count_elsewhere,
    explain_section,
    only_damage,
    parsed_whole,
    schemas_of,
)  # fmt: skip
from exhume.engines.inspect import inspect_archive
from exhume.errors import EntryNotFoundError, QueryError, Span, shorten
from exhume.findings import Finding
from exhume.io.opening import Target
from exhume.layout.sections import PayloadRun, Run, Section, SectionKind, SectionMap
from exhume.layout.trees import Field
from exhume.registry import formats

if TYPE_CHECKING:
    from exhume.layout.foreign import Specification, SpecifiedFile

BULK_SECTIONS = 16
"""Sections of one kind that are explained before the rest is summarized, unless all are requested."""

SMALL = 64 << 10
"""Sections and payloads up to this size are given with their fields even when `Selection.parsed_in_all` is used up."""

UNBOUNDED = 1 << 62  # sections or bytes: no limit

_Near = list[tuple[Finding, Span]]


@dataclass(slots=True)
class Selection:
    """The part to explain: everything, one section, or the sections that touch `[start, end)`; and in how much detail.

    Arrays are shortened: a range has the elements that touch it and one on either side (in a payload, which has no
    bytes in the file, the first ones).  One section, and everything with `whole`, has all elements.
    """

    section: str | None = None
    start: int | None = None
    end: int | None = None
    source: str | None = None
    """The file whose sections are explained; None: all."""
    whole: bool = False
    """Whether nothing is summarized or shortened, also the many payloads that a section may consist of."""
    bulk: int = BULK_SECTIONS
    """Sections of a kind that are explained; the others are summarized, except those with findings."""
    damaged: int = UNBOUNDED
    """Most sections with findings that are explained in addition."""
    fields: bool = True
    """Whether sections have fields; otherwise only those with findings, and only the fields that findings concern."""
    parsed: int = PARSED_SIZE
    """Bytes of a section above which its fields are left out."""
    parsed_in_all: int = UNBOUNDED
    """Bytes of all sections with fields, half of them for sections with findings; then only `SMALL` ones have any."""
    payloads: bool = True  # whether payloads are decompressed
    stream: bool = False
    """Whether long lists of a file with a foreign specification are made while they are viewed, which is possible once
    (`exhume.layout.trees`)."""

    def wants(self, section: Section) -> bool:
        """Whether a section is to be explained."""
        if self.source not in (None, section.span.source):
            return False
        if self.section is not None:
            return self.section in (section.name, section.parent)
        if self.start is None or self.end is None:
            return True
        return section.span.start < self.end and section.span.end > self.start

    def __post_init__(self) -> None:
        """Raise `QueryError` for a section and a range at once."""
        if self.section is not None and (self.start, self.end) != (None, None):
            raise QueryError("section and a range exclude each other")
        if self.start is not None or self.end is not None:
            self.start, self.end = self.start or 0, UNBOUNDED if self.end is None else self.end

    @property
    def window(self) -> tuple[int, int] | None:
        """The range that elements of arrays have to touch; None: all elements that are shown at all."""
        return None if self.whole or self.start is None or self.end is None else (self.start, self.end)

    @property
    def narrow(self) -> bool:
        """Whether only a part was requested; nothing in it is then summarized."""
        return self.whole or self.section is not None or self.start is not None


def explain(
    target: Target,
    *,
    selection: Selection | None = None,
    findings: Iterable[Finding] | None = None,
    ksy: Specification | None = None,
    **options: Any,
) -> Iterator[ExplainedSection]:
    """Explain an archive section by section, in file order, as far as it can be understood.

    Args:
        target: Path, URL, bytes, binary file object, `Source` or `Tree`.
        selection: What to explain (`exhume.engines.explain.Selection`): a section, a range; None: everything.
        findings: Those to show at the fields they concern; None: `verify` is asked.
        ksy: The result of `compile_ksy`, to explain a file as one section by that specification.
        options: Those of `exhume.open`: `format`, `limits`, `storage_options`, `offset`, `length`, the format's own.

    Returns:
        The sections, lazily, each with its tree of fields: place, value, meaning, checksum verdict.

    Raises:
        EntryNotFoundError: No section has the requested name or is in the requested range.
        SourceError: Reading itself fails.
        UnrecognizedFormatError: No format recognizes the target.
        TypeError: An option does not exist.

    Example:
        >>> [section.section.name for section in exhume.explain("words.zs")]
        ['header', 'metadata', 'data-0', 'index-0']
    """
    if "damaged" in options:
        raise TypeError("explain() takes no argument 'damaged': it always opens what is damaged, too")
    if ksy is not None:
        if findings is not None:
            raise TypeError("explain() takes findings or ksy: a file read by a specification has no findings")
        check_keywords("explain()", options, explain)
        return _explain_specified(target, ksy, selection or Selection())
    openers = [described.hook("open") for described in formats().values()] if options else []
    check_keywords("explain()", options, explain, inspect_archive, *openers)
    return _explain_target(target, selection or Selection(), findings, options)


def _explain_target(
    target: Target, selection: Selection, findings: Iterable[Finding] | None, options: Mapping[str, Any]
) -> Iterator[ExplainedSection]:
    """Open a target, verify it unless `findings` are given, and explain the selected sections."""
    with inspect_archive(target, **options) as archive:
        found = list(archive.verify()) if findings is None else findings
        yield from explain_archive(archive, selection, found)


def _explain_specified(target: Target, ksy: Specification, selection: Selection) -> Iterator[ExplainedSection]:
    with ksy.open(target) as file:
        yield from explain_archive(file, selection)


def explain_archive(
    archive: Archive | SpecifiedFile,
    selection: Selection,
    findings: Iterable[Finding] | None = (),
    *,
    unchecked: str = "",
) -> Iterator[ExplainedSection]:
    """Explain every section that `selection` includes, in file order, with `findings` at the fields they concern.

    Each checksum is computed when its field is shown; a reason in `unchecked` means that checksums are not computed.
    With None as `findings` nothing has looked for any: a checksum that does not match is then noted where a finding
    would be.
    Raises `EntryNotFoundError` if no section has the requested name or is in the requested file.
    """
    found = archive.sections()
    if selection.section is not None and not any(part.parent == selection.section for part in found.parts):
        found.named(selection.section)
    if selection.source is not None and selection.source not in found.sources:
        raise EntryNotFoundError(
            f"no such file in the archive{hint(selection.source, found.sources)}",
            span=Span(archive.name, 0, 0),
            actual=shorten(selection.source),
        )
    note = findings is None
    return _explain(found, selection, [f for f in findings or () if f.span is not None], unchecked, note)


def _explain(
    found: SectionMap, selection: Selection, findings: Sequence[Finding], unchecked: str, note: bool
) -> Iterator[ExplainedSection]:
    """Yield the selected sections with their fields; those above a limit follow as one entry for each kind.

    `findings` are noted at their fields.  `unchecked`: why no checksum is computed; empty if they are.
    """
    noted = FindingsByPlace(findings)
    shown: Counter[tuple[object, ...]] = Counter()
    omitted: dict[tuple[object, ...], ExplainedSection] = {}
    begun: set[str] = set()
    schemas = schemas_of(found)
    left = {True: selection.parsed_in_all // 2, False: selection.parsed_in_all // 2}
    for section in _selected_sections(found, selection, noted, shown, omitted):
        near = noted.near(section.span, first=section.span.source not in begun)
        sort = (bool(near), *section.sort)
        shown[sort] += 1
        if shown[sort] > (selection.damaged if near else selection.bulk) and not selection.narrow:
            _leave_out(omitted.setdefault(sort, ExplainedSection(section)), section)
            continue
        fields = bool(near) or selection.fields
        limit = UNBOUNDED if selection.narrow else min(selection.parsed, max(SMALL, left[bool(near)])) if fields else -1
        explained = explain_section(
            found,
            section,
            whole=selection.narrow and selection.window is None,
            limit=limit,
            marks=[span for _, span in near if span.size],
            window=selection.window,
            payload=selection.payloads,
            stream=selection.stream,
            unchecked=unchecked,
        )
        left[bool(near)] -= explained.parsed
        _judge(explained, schemas, near, unchecked, note)
        if not selection.fields:
            only_damage(explained)
        begun.add(section.span.source)
        yield explained
    yield from omitted.values()


def explain_one(
    found: SectionMap,
    section: Section,
    findings: Iterable[Finding] = (),
    *,
    marks: Sequence[Span] = (),
    first: bool = False,
    page: tuple[str, int] | None = None,
    payload: bool = True,
    unchecked: str = "",
    cache: SectionCache | None = None,
) -> ExplainedSection:
    """Explain one section of a map, with the first elements of long arrays and those that touch `marks`.

    `findings` are placed at the fields they concern, and those about a whole file at its `first` section.  With
    `payload` unset, none is decompressed.  `page` is that of `exhume.layout.schema.Explainer`, and `cache` that of
    `explain_section`.
    """
    near = FindingsByPlace(finding for finding in findings if finding.span is not None).near(section.span, first=first)
    marked = [*marks, *(span for _, span in near if span.size)]
    explained = explain_section(
        found, section, marks=marked, page=page, payload=payload, unchecked=unchecked, cache=cache
    )
    _judge(explained, schemas_of(found), near, unchecked)
    return explained


def _judge(
    explained: ExplainedSection, schemas: Mapping[str | None, int], near: _Near, unchecked: str, note: bool = False
) -> None:
    """Compute the checksums of a section, and note each result at its field."""
    section = explained.section
    explained.complete = explained.complete and section.kind is not SectionKind.UNREAD and parsed_whole(explained)
    for tree in explained.trees():
        check_fields(section, tree, [], unchecked, note)
        count_elsewhere(tree, schemas)
    _place(explained, near)


def _selected_sections(
    found: SectionMap,
    selection: Selection,
    noted: FindingsByPlace,
    shown: Mapping[tuple[object, ...], int],
    omitted: dict[tuple[object, ...], ExplainedSection],
) -> Iterator[Section]:
    """The sections that a selection includes; those of runs that would be summarized are counted in `omitted`."""
    for part in found.parts:
        if isinstance(part, Section):
            if selection.wants(part):
                yield part
        elif selection.source in (None, part.span.source):
            if isinstance(part, PayloadRun) and selection.window is not None:
                if selection.payloads and _touches(selection.window, _stored(part.span), first=None):
                    yield from _first(part, noted.numbers(part), omitted)
            elif isinstance(part, PayloadRun) and selection.section == part.parent and not selection.whole:
                yield from _first(part, noted.numbers(part), omitted)
            elif selection.narrow:
                yield from map(part.__getitem__, _chosen(part, selection))
            else:
                yield from _summarized(part, selection, noted.numbers(part), shown, omitted)


def _first(run: Run, near: Collection[int], omitted: dict[tuple[object, ...], ExplainedSection]) -> Iterator[Section]:
    """The first parts of a payload, and those `near` findings; the others are counted in `omitted`: there may be
    hundreds of thousands, and which of them are in a range of stored bytes is not known."""
    numbers = sorted({*range(min(len(run), BULK_SECTIONS)), *near})
    yield from map(run.__getitem__, numbers)
    for at in islice((at for at in range(BULK_SECTIONS, len(run)) if at not in near), 1):
        omitted[run.parent, "parts"] = ExplainedSection(run[at], skipped=len(run) - len(numbers))


def _chosen(run: Run, selection: Selection) -> Iterable[int]:
    """The numbers of the sections of a run that a narrow selection includes."""
    if selection.section not in (None, run.parent):
        return [number for number, name in enumerate(run.names()) if name == selection.section]
    if selection.start is None or selection.end is None:
        return range(len(run))
    return run.within(selection.start, selection.end)


def _summarized(
    run: Run,
    selection: Selection,
    near: frozenset[int],
    shown: Mapping[tuple[object, ...], int],
    omitted: dict[tuple[object, ...], ExplainedSection],
) -> Iterator[Section]:
    """The first sections of a run, and those `near` findings; the others are counted in `omitted`."""
    sorts = {number: (False, *form.sort) for number, form in run.forms.items()}
    last: dict[tuple[object, ...], int] = {}
    for number, kind in enumerate(run.sorts):
        sort = sorts[kind]
        if not number or number in near or shown.get(sort, 0) < selection.bulk:
            yield run[number]
            continue
        if sort not in omitted:
            omitted[sort] = ExplainedSection(run[number])
        omitted[sort].skipped += 1
        last[sort] = number
    for sort, number in last.items():
        summed = omitted[sort]
        summed.note = f"{summed.section.name} to {run[number].name}" if summed.skipped > 1 else ""


def _leave_out(summed: ExplainedSection, section: Section) -> None:
    """Count one more section that is summarized by the first of its sort that is left out."""
    summed.skipped += 1
    summed.note = f"{summed.section.name} to {section.name}" if summed.skipped > 1 else ""


class FindingsByPlace:
    """Findings by the place that they are about."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        """Sort findings by file; those inside payloads are sorted when their section is explained."""
        by_file: dict[str, _Near] = {}
        for finding in findings:
            if finding.span is not None:
                by_file.setdefault(finding.span.source, []).append((finding, finding.span))
        self._of = {name: _FindingRanges(placed, _stored) for name, placed in by_file.items()}
        self._within: dict[Span, _FindingRanges] = {}

    def _in_payload(self, place: Span) -> _FindingRanges:
        """The findings about a part of the payload of these stored bytes; others are about what holds the payload."""
        stored = Span(place.source, place.start, place.end)
        if stored not in self._within:
            of_it = (one for one in self.near(stored, first=False) if one[1]._replace(payload=None) == stored != one[1])
            self._within[stored] = _FindingRanges(of_it, _range)
        return self._within[stored]

    def numbers(self, run: Run) -> frozenset[int]:
        """The numbers of the sections of a run that findings may touch."""
        placed = self._in_payload(run.span) if isinstance(run, PayloadRun) else self._of.get(run.span.source)
        return frozenset() if placed is None else placed.numbers(run)

    def near(self, section: Span, *, first: bool) -> _Near:
        """The findings that touch a section, by range (of a part of a payload: in its own bytes); those about a whole
        file belong to its `first` section."""
        if section.payload is not None:
            touching, base = self._in_payload(section).touching(section, first=None), section.payload[0]
            return [(finding, span.in_payload(*(at - base for at in _range(span)))) for finding, span in touching]
        return self._of[section.source].touching(section, first=first) if section.source in self._of else []


class _FindingRanges:
    """Findings in the order of their ranges: all those of a file, or of a payload."""

    def __init__(self, placed: Iterable[tuple[Finding, Span]], range_of: Callable[[Span], tuple[int, int]]) -> None:
        """Sort findings by where they start. `range_of` returns the range of a span, stored or in a payload."""
        self._range = range_of
        self.found = sorted(placed, key=lambda one: range_of(one[1])[0])
        ranges = [range_of(span) for _, span in self.found]
        self._starts = [start for start, _ in ranges]
        self._ends = list(accumulate((end for _, end in ranges), max))

    def numbers(self, run: Run) -> frozenset[int]:
        """The numbers of the sections of a run that they may touch."""
        return frozenset(chain.from_iterable(run.touching(*self._range(span)) for _, span in self.found))

    def touching(self, section: Span, *, first: bool | None) -> _Near:
        """Return the findings that touch a section."""
        place = self._range(section)
        candidates = range(0 if first else bisect_left(self._ends, place[0]), bisect_right(self._starts, place[1]))
        near = filter(
            lambda one: _touches(self._range(one[1]), place, first=first), map(self.found.__getitem__, candidates)
        )
        return sorted(near, key=lambda one: _range(one[1]))


def _place(item: ExplainedSection, near: _Near) -> None:
    """Note each finding at the innermost field that holds all of its bytes, or else at the section."""
    if not near:
        return
    starts = [_range(span)[0] for _, span in near]
    holders: dict[int, Field] = {}
    for tree in item.trees():
        for _, node in tree.walk():  # outermost first
            if node.span is not None:
                start, end = _range(node.span)
                for at in range(bisect_left(starts, start), bisect_left(starts, end)):
                    if _holds(node.span, near[at][1]):
                        holders[at] = node
    for at, (finding, _) in enumerate(near):
        if at in holders:
            node = holders[at]
            node.note = f"{node.note}; {finding.summary}" if node.note else finding.summary
        else:
            item.findings.append(finding)


def _range(span: Span) -> tuple[int, int]:
    """Start and end of a span: inside the payload when it narrows one, else in the file."""
    return span.payload if span.payload is not None else (span.start, span.end)


def _stored(span: Span) -> tuple[int, int]:
    """Start and end of a span in the file."""
    return span.start, span.end


def _touches(span: tuple[int, int], section: tuple[int, int], *, first: bool | None) -> bool:
    """Whether a range of the same file or payload overlaps a section, or, if it is empty, is inside it."""
    if span == (0, 0) and first is not None:  # about the file as a whole, wherever it starts
        return first
    return (span[0] < section[1] and span[1] > section[0]) or section[0] <= span[0] == span[1] <= section[1]


def _holds(outer: Span, inner: Span) -> bool:
    """Whether bytes are inside a field, both of the file or both of the same payload."""
    if inner.start == inner.end or (inner.payload is None) != (outer.payload is None):
        return False
    if inner.payload is not None and (inner.start, inner.end) != (outer.start, outer.end):
        return False
    (a, b), (c, d) = _range(outer), _range(inner)
    return a <= c < d <= b
