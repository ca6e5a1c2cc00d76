"""The explain engine: every byte of an archive, section by section, from the generated debug classes.

One section (or one decompressed payload) is in memory at a time.  Findings of `verify` are noted at the fields that
they concern.  The verdict on a checksum is not derived from findings, because their absence proves nothing: it is
computed from the archive when the checksum's field is explained.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from exhume.archive import Archive
from exhume.choices import check_keywords, hint
from exhume.engines.explained import Explained, check_fields, explain_section, parsed_whole
from exhume.engines.opening import open_archive
from exhume.errors import EntryNotFoundError, Span, shorten
from exhume.findings import Finding
from exhume.io.opening import Target
from exhume.layout.schema import Field
from exhume.layout.sections import Section, SectionKind, SectionMap
from exhume.registry import formats

if TYPE_CHECKING:
    from exhume.layout.foreign import Specification, SpecifiedFile

BULK_SECTIONS = 16
"""Sections of one kind that are explained before the rest is summarised, unless all are requested."""


@dataclass(slots=True)
class Selection:
    """What to explain: everything, one section, sections that touch `[start, end)`, or those of the file `source`."""

    section: str | None = None
    start: int | None = None
    end: int | None = None
    source: str | None = None
    whole: bool = False
    bulk: int = BULK_SECTIONS

    def wants(self, section: Section) -> bool:
        """Whether a section is to be explained."""
        if self.source not in (None, section.span.source):
            return False
        if self.section is not None:
            return self.section in (section.name, section.parent)
        if self.start is None or self.end is None:
            return True
        return section.span.start < self.end and section.span.end > self.start

    @property
    def narrow(self) -> bool:
        """Whether only a part was requested; nothing in it is then summarised."""
        return self.whole or self.section is not None or self.start is not None


def explain(
    target: Target,
    *,
    selection: Selection | None = None,
    findings: Iterable[Finding] | None = None,
    ksy: Specification | None = None,
    **options: Any,
) -> Iterator[Explained]:
    """Explains an archive section by section, in file order, as far as it can be understood.

    Args:
        target: Path, URL, bytes, binary file object, `Source` or `Tree`.
        selection: What to explain (`exhume.engines.explain.Selection`): a section, a range; None: everything.
        findings: Those to show at the fields they concern; None: `verify` is asked.
        ksy: The result of `compile_ksy`, to explain a file as one section by that specification.
        options: Those of `exhume.open`.

    Returns:
        The sections, lazily, each with its tree of fields: place, value, meaning, checksum verdict.

    Raises:
        EntryNotFoundError: No section has the requested name or lies in the requested range.
        SourceError: Reading itself fails.
        UnrecognizedFormatError: No format recognises the target.
        TypeError: There is no such option.

    Example:
        >>> [section.section.name for section in exhume.explain("words.zs")]
        ['header', 'metadata', 'data-0', 'index-0']
    """
    if ksy is not None:
        check_keywords("explain()", options, explain)
        return _explain_specified(target, ksy, selection or Selection())
    openers = [described.hook("open") for described in formats().values()] if options else []
    check_keywords("explain()", options, explain, open_archive, *openers)
    return _explain_target(target, selection or Selection(), findings, options)


def _explain_target(
    target: Target, selection: Selection, findings: Iterable[Finding] | None, options: Mapping[str, Any]
) -> Iterator[Explained]:
    with open_archive(target, damaged=True, **options) as archive:
        found = list(archive.verify()) if findings is None else findings
        yield from explain_archive(archive, selection, found)


def _explain_specified(target: Target, ksy: Specification, selection: Selection) -> Iterator[Explained]:
    with ksy.open(target) as file:
        yield from explain_archive(file, selection)


def explain_archive(
    archive: Archive | SpecifiedFile, selection: Selection, findings: Iterable[Finding] = (), *, unchecked: str = ""
) -> Iterator[Explained]:
    """Explains every section that `selection` includes, in file order, with `findings` at the fields they concern.

    Each checksum is computed when its field is shown; a reason in `unchecked` means that checksums are not computed.
    Raises `EntryNotFoundError` when no section has the requested name or lies in the requested file.
    """
    found = archive.sections()
    if selection.section is not None and not any(selection.wants(section) for section in found):
        found.named(selection.section)
    if selection.source is not None and selection.source not in found.sources:
        raise EntryNotFoundError(
            f"no such file in the archive{hint(selection.source, found.sources)}",
            span=Span(archive.name, 0, 0),
            actual=shorten(selection.source),
        )
    return _explain(found, selection, [f for f in findings if f.span is not None], unchecked)


def _explain(
    found: SectionMap, selection: Selection, findings: Sequence[Finding], unchecked: str
) -> Iterator[Explained]:
    shown: Counter[str] = Counter()
    left_out: dict[str, Explained] = {}
    begun: set[str] = set()
    for section in found:
        if not selection.wants(section):
            continue
        sort = re.sub(r"\d+", "#", section.name)
        shown[sort] += 1
        if shown[sort] > selection.bulk and not selection.narrow:
            summed = left_out.setdefault(sort, Explained(section, note="and more sections of this sort"))
            summed.skipped += 1
            continue
        explained = explain_section(found, section, whole=selection.narrow)
        explained.complete = explained.complete and section.kind is not SectionKind.UNREAD and parsed_whole(explained)
        for tree in explained.trees():
            check_fields(section, tree, [], unchecked)
        _place(explained, findings, first=section.span.source not in begun)
        begun.add(section.span.source)
        yield explained
    yield from left_out.values()


def _place(item: Explained, findings: Iterable[Finding], *, first: bool) -> None:
    """Notes each finding at the innermost field that holds all of its bytes, or else at the section that it touches.

    A finding about a file as a whole is noted at the `first` explained section of the file.
    """
    where = item.section.span
    near = [(f, f.span) for f in findings if f.span is not None and _touches(f.span, where, first=first)]
    near.sort(key=lambda one: _range(one[1]))
    starts = [_range(span)[0] for _, span in near]
    holders: dict[int, Field] = {}
    for tree in item.trees():
        for _, node in tree.walk():  # outermost first
            if near and node.span is not None:
                start, end = _range(node.span)
                for at in range(bisect_left(starts, start), bisect_left(starts, end)):
                    if _holds(node.span, near[at][1]):
                        holders[at] = node
    for at, (finding, _) in enumerate(near):
        if at in holders:
            node = holders[at]
            node.note = f"{node.note}; {finding}" if node.note else str(finding)
        else:
            item.findings.append(finding)


def _range(span: Span) -> tuple[int, int]:
    """Start and end of a span: inside the payload when it narrows one, else in the file."""
    return span.payload if span.payload is not None else (span.start, span.end)


def _touches(a: Span, section: Span, *, first: bool) -> bool:
    """Whether a span overlaps a section, or, if it is empty, lies in it."""
    if a.source != section.source:
        return False
    if a.start == a.end == 0:  # about the file as a whole, wherever it starts
        return first
    return (a.start < section.end and a.end > section.start) or section.start <= a.start == a.end <= section.end


def _holds(outer: Span, inner: Span) -> bool:
    """Whether bytes lie in a field, both of the file or both of the same payload."""
    if inner.start == inner.end or (inner.payload is None) != (outer.payload is None):
        return False
    if inner.payload is not None and (inner.start, inner.end) != (outer.start, outer.end):
        return False
    (a, b), (c, d) = _range(outer), _range(inner)
    return a <= c < d <= b


@dataclass(slots=True)
class FieldCoverage:
    """Byte totals over an archive, at the level of fields; `unexplained` lists what no field or known kind claims."""

    fields: int = 0
    data: int = 0
    padding: int = 0
    gap: int = 0
    overlap: int = 0
    total: int = 0
    unexplained: list[Span] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form documented for `exhume explain --coverage --json`."""
        out: dict[str, Any] = {
            name: getattr(self, name) for name in ("fields", "data", "padding", "gap", "overlap", "total")
        }
        out["unexplained"] = [span.to_dict() for span in self.unexplained]
        return out


def coverage(archive: Archive | SpecifiedFile) -> FieldCoverage:
    """Counts what claims each byte: fields of a schema, opaque data, padding, or nothing."""
    found = archive.sections()
    out = FieldCoverage(total=found.coverage().total, overlap=found.coverage().overlap)
    for section in found.tiles():
        size = section.span.size
        if section.kind is SectionKind.GAP or section.kind is SectionKind.UNREAD:
            out.gap += size
            out.unexplained.append(section.span)
        elif section.schema is not None:
            covered, holes = _leaf_coverage(found, section)
            out.fields += covered
            out.unexplained += holes
            out.gap += sum(hole.size for hole in holes)
        elif section.kind is SectionKind.PADDING:
            out.padding += size
        elif section.kind is SectionKind.DATA or section.payload_schema or any(s.parent == section.name for s in found):
            out.data += size
        elif section.note:  # text that a schema cannot describe (JSON, one-line files): its note says what it is
            out.fields += size
        elif size:
            out.gap += size
            out.unexplained.append(section.span)
    return out


def _leaf_coverage(found: SectionMap, section: Section) -> tuple[int, list[Span]]:
    explained = explain_section(found, section)
    if explained.stored is None:  # too large to parse in one piece: claimed by its schema as a whole
        return section.span.size, []
    spans = sorted(
        (min(node.span.start, section.span.end), min(node.span.end, section.span.end))  # an instance may lie elsewhere
        for _, node in explained.stored.walk()
        if node.span is not None and (_is_leaf(node) or node.omitted) and node.path != explained.stored.path
    )
    holes: list[Span] = []
    at, covered = section.span.start, 0
    for start, end in spans:
        if start > at:
            holes.append(Span(section.span.source, at, start))
        covered += max(0, end - max(at, start))
        at = max(at, end)
    if at < section.span.end:
        holes.append(Span(section.span.source, at, section.span.end))
    return covered, holes


def _is_leaf(node: Field) -> bool:
    """Whether no part of a field has a place of its own: it has no parts, or they are decoded from its bytes."""
    return all(child.span is None for child in node.children)


def innermost(trees: Iterable[Field], offset: int, payload_offset: int | None = None) -> list[Field]:
    """The chain of fields that hold a byte, outermost first (the deepest chain when instances overlap)."""
    best: list[Field] = []
    for tree in trees:
        chain = _chain(tree, offset, payload_offset)
        if len(chain) > len(best):
            best = chain
    return best


def _chain(node: Field, offset: int, payload_offset: int | None) -> list[Field]:
    if node.span is None or not node.span.start <= offset < node.span.end:
        return []
    if payload_offset is not None and node.span.payload is not None:
        if not node.span.payload[0] <= payload_offset < node.span.payload[1]:
            return []
    elif node.span.payload is not None:
        return []
    deepest: list[Field] = []
    for child in node.children:
        chain = _chain(child, offset, payload_offset)
        if len(chain) > len(deepest):
            deepest = chain
    return [node, *deepest]


def neighbours(parent: Field, node: Field) -> tuple[Field | None, Field | None]:
    """The stored fields just before and just after `node` among the children of `parent`."""
    placed: Sequence[Field] = [child for child in parent.children if child.span is not None]
    at = next((i for i, child in enumerate(placed) if child is node), None)
    if at is None:
        return None, None
    return (placed[at - 1] if at else None), (placed[at + 1] if at + 1 < len(placed) else None)
