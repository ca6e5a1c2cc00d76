"""The explain engine: every byte of an archive, section by section, from the generated debug classes.

A section is a range of bytes with one purpose; a run stands for many similar ones (of a payload: a payload run), which
are made when they are needed.  A section's sort is what it shares with similar ones (kind, schema, codec).  Debug
classes are parsers, generated from the specifications, that record where each field was read.

One section (or one decompressed payload) is in memory at a time.  Findings of `verify` are noted at the fields that
they concern.  The verdict on a checksum is not derived from findings, because their absence proves nothing: it is
computed from the archive when the checksum's field is explained.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from exhume.archive import Archive
from exhume.choices import check_keywords, hint
from exhume.engines.explanation import (
    PARSED_SIZE,
    ExplainedSection,
    FindingsByPlace,
    Near,
    place_findings,
    schemas_of,
    stored_range,
    touches,
)
from exhume.engines.inspect import inspect_archive
from exhume.errors import EntryNotFoundError, QueryError, Span, shorten
from exhume.findings import Finding
from exhume.io.opening import Target
from exhume.layout.sections import PayloadRun, Run, Section, SectionKind, SectionMap
from exhume.registry import formats

if TYPE_CHECKING:
    from exhume.engines.explained import SectionCache
    from exhume.layout.foreign import Specification, SpecifiedFile

BULK_SECTIONS = 16
"""Sections of one kind that are explained before the rest is summarized, unless all are requested."""

SMALL = 64 << 10
"""Sections and payloads up to this size are given with their fields even when `Selection.parsed_in_all` is used up."""

UNBOUNDED = 1 << 62  # sections or bytes: no limit


@dataclass(slots=True)
class Selection:
    """The part to explain: everything, one section, or the sections that touch `[start, end)`; and in how much detail.

    Arrays are shortened: a range has the elements that touch it, and one on either side.  A payload has no bytes in the
    file, so its arrays have the first elements.  One section, and everything with `whole`, has all elements.
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
    """Explain a file as one section, by the user's specification."""
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
        found.named(selection.section)  # raises if there is none
    if selection.source is not None and selection.source not in found.sources:
        raise EntryNotFoundError(
            f"no such file in the archive{hint(selection.source, found.sources)}",
            span=Span(archive.name, 0, 0),
            actual=shorten(selection.source),
        )
    note = findings is None  # whether a wrong checksum is noted at its field
    return _explain(
        found, selection, [finding for finding in findings or () if finding.span is not None], unchecked, note
    )


def _explain(
    found: SectionMap, selection: Selection, findings: Sequence[Finding], unchecked: str, note: bool
) -> Iterator[ExplainedSection]:
    """Yield the selected sections with their fields; those above a limit follow as one entry for all of one kind.

    `findings` are noted at their fields.  `unchecked`: why no checksum is computed; empty if they are.  `note`: whether
    a checksum that does not match is noted at its field, because there are no findings.
    """
    noted = FindingsByPlace(findings)
    shown: Counter[tuple[object, ...]] = Counter()  # sections that the loop met, by (has findings, *sort)
    omitted: dict[tuple[object, ...], ExplainedSection] = {}  # the entry that stands for all others of a sort
    begun: set[str] = set()  # files whose first section was explained
    schemas = schemas_of(found)
    # Bytes that may still be parsed, for sections with findings and for the others.
    left = {True: selection.parsed_in_all // 2, False: selection.parsed_in_all // 2}
    # Runs are summarized by `_selected_sections`, which reads `shown` as it grows; single sections are summarized here.
    for section in _selected_sections(found, selection, noted, shown, omitted):
        near = noted.near(section.span, first=section.span.source not in begun)  # the findings that concern it
        sort = (bool(near), *section.sort)
        shown[sort] += 1
        if shown[sort] > (selection.damaged if near else selection.bulk) and not selection.narrow:
            _leave_out(omitted.setdefault(sort, ExplainedSection(section)), section)
            continue
        # `limit`: the size of the largest section whose fields are parsed.
        if selection.narrow:
            limit = UNBOUNDED
        elif near or selection.fields:
            limit = min(selection.parsed, max(SMALL, left[bool(near)]))
        else:
            limit = -1  # none are parsed
        if limit < 0:
            explained = ExplainedSection(section, note=section.note)
        else:
            from exhume.engines.explained import explain_section  # what parses fields is imported for fields

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
        _judge(explained, schemas, near, unchecked, note, damage=not selection.fields)
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
    from exhume.engines.explained import explain_section

    near = FindingsByPlace(finding for finding in findings if finding.span is not None).near(section.span, first=first)
    marked = [*marks, *(span for _, span in near if span.size)]
    explained = explain_section(
        found, section, marks=marked, page=page, payload=payload, unchecked=unchecked, cache=cache
    )
    _judge(explained, schemas_of(found), near, unchecked)
    return explained


def _judge(
    explained: ExplainedSection,
    schemas: Mapping[str | None, int],
    near: Near,
    unchecked: str,
    note: bool = False,
    damage: bool = False,
) -> None:
    """Compute the checksums of a section, note each result at its field, and place the findings `near` it.

    Lists whose elements are sections of their own get the number of these: `schemas` has the number of sections by
    schema.  `unchecked` and `note` are those of `_explain`.  `damage`: only
    fields with damage are kept.
    """
    explained.complete = explained.complete and explained.section.kind is not SectionKind.UNREAD
    trees = list(explained.trees())
    if trees:
        from exhume.engines.explained import check_fields, count_elsewhere, only_damage, parsed_whole

        explained.complete = explained.complete and parsed_whole(explained)
        for tree in trees:
            check_fields(explained.section, tree, [], unchecked, note)
            count_elsewhere(tree, schemas)
    place_findings(explained, near)
    if damage and trees:
        only_damage(explained)


def _selected_sections(
    found: SectionMap,
    selection: Selection,
    noted: FindingsByPlace,
    shown: Mapping[tuple[object, ...], int],
    omitted: dict[tuple[object, ...], ExplainedSection],
) -> Iterator[Section]:
    """The sections that a selection includes; those of runs that would be summarized are counted in `omitted`.

    `noted`, `shown` and `omitted` are those of `_explain`.
    """
    for part in found.parts:
        if isinstance(part, Section):
            if selection.wants(part):
                yield part
        elif selection.source in (None, part.span.source):
            # Parts of a payload have no place of their own in the file: a range selects them by the payload as a whole.
            if isinstance(part, PayloadRun) and selection.window is not None:
                if selection.payloads and touches(selection.window, stored_range(part.span), first=None):
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
    # One entry, with the first that is left out, stands for all of them.
    for at in islice((at for at in range(BULK_SECTIONS, len(run)) if at not in near), 1):
        omitted[run.parent, "parts"] = ExplainedSection(run[at], skipped=len(run) - len(numbers))


def _chosen(run: Run, selection: Selection) -> Iterable[int]:
    """The numbers of the sections of a run that a narrow selection includes."""
    if selection.section not in (None, run.parent):
        return [number for number, name in enumerate(run.names()) if name == selection.section]
    # The name is that of the whole run, or none was requested.
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
    """The first sections of a run, and those `near` findings; the others are counted in `omitted`.

    `run.forms` has model sections by number; `run.sorts` has, for each section of the run, the number of its model.
    """
    sorts = {number: (False, *form.sort) for number, form in run.forms.items()}
    last: dict[tuple[object, ...], int] = {}  # number of the last section that was left out, by sort
    for number, kind in enumerate(run.sorts):
        sort = sorts[kind]
        # (Number 0 may be the first section of its file, where findings about the whole file are placed.)
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
