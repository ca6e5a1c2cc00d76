"""The explain engine: every byte of an archive, section by section, from the generated debug classes.

One section (or one decompressed payload) is in memory at a time.  What `verify` found stands at the fields that it is
about.  The verdict on a checksum is not taken from there, where silence would have to be read as consent: it is
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
from exhume.engines.identify import open_archive
from exhume.errors import EntryNotFoundError, ExhumeError, Span, shorten
from exhume.findings import Check, Finding
from exhume.io.opening import Target
from exhume.layout.schema import Explainer, Field
from exhume.layout.sections import Section, SectionKind, SectionMap
from exhume.registry import formats

if TYPE_CHECKING:
    from exhume.layout.foreign import Specification, SpecifiedFile

BULK_SECTIONS = 16
"""Sections of one sort that are explained before the rest is summed up, unless all are asked for."""

PARSED_SIZE = 8 << 20
"""Sections and payloads above this are summed up unless asked for: debug objects take about 100 bytes per byte."""


@dataclass(slots=True)
class Explained:
    """One section explained: the tree of its stored bytes and that of its decompressed payload, where schemas exist."""

    section: Section
    stored: Field | None = None
    payload: Field | None = None
    note: str = ""
    skipped: int = 0  # how many further sections of this sort were left out
    findings: list[Finding] = field(default_factory=list)  # those that no single field holds

    def trees(self) -> Iterator[Field]:
        """The trees there are."""
        if self.stored is not None:
            yield self.stored
        if self.payload is not None:
            yield self.payload

    complete: bool = True  # whether everything could be read, decoded and parsed

    def to_dict(self) -> dict[str, Any]:
        """The JSON form documented for `exhume explain --json`."""
        out: dict[str, Any] = {"section": self.section.to_dict()}
        if self.stored is not None:
            out["fields"] = field_to_dict(self.stored)
        if self.payload is not None:
            out["payload"] = field_to_dict(self.payload)
        if self.note:
            out["note"] = self.note
        if self.skipped:
            out["skipped"] = self.skipped
        if self.findings:
            out["findings"] = [finding.to_dict() for finding in self.findings]
        return out


def field_to_dict(node: Field) -> dict[str, Any]:
    """A field tree as JSON-able values; absent keys mean "nothing to say"."""
    out: dict[str, Any] = {"name": node.name, "path": node.path, "type": node.type}
    if node.span is not None:
        out |= {"offset": node.span.start, "size": node.span.size}
        if node.span.payload is not None:
            start, end = node.span.payload
            out |= {"payload_offset": start, "payload_size": end - start}
    for key in ("doc", "doc_ref", "meaning", "note"):
        if text := getattr(node, key):
            out[key] = text
    if node.check is not None:
        out["checksum"] = {"algorithm": node.checksum, **node.check.to_dict()}
    if node.value is not None:
        out["value"] = _plain(node.value)
    if node.omitted:
        out["omitted"] = node.omitted
    if node.children:
        out["children"] = [field_to_dict(child) for child in node.children]
    return out


def _plain(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray)):
        return shorten(bytes(value), 200)
    if isinstance(value, (bool, int, float, str)):
        return value
    return shorten(value, 200)


@dataclass(slots=True)
class Selection:
    """What to explain: everything, or one section, or sections that touch `[start, end)`, or of the file `source`."""

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
        """Whether only a part was asked for: then nothing of it is summed up."""
        return self.whole or self.section is not None or self.start is not None


def explain(
    target: Target,
    *,
    selection: Selection | None = None,
    findings: Iterable[Finding] | None = None,
    ksy: Specification | None = None,
    **options: Any,
) -> Iterator[Explained]:
    """Explains an archive section by section, as far as it can be known; see `explain_archive`.

    With `ksy`, what `compile_ksy` gives, a file is explained by the specification of somebody else, as one section.
    `options` go to `exhume.open`.
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
    """Every section that `selection` wants, in file order, with `findings` where they belong.

    Each checksum is computed when its field is shown; `unchecked` is the reason why that is left out, where it is.
    Raises `EntryNotFoundError` when none has the name, or lies in the file, that was asked for.
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
        explained.complete = explained.complete and section.kind is not SectionKind.UNREAD and _parsed(explained)
        for tree in explained.trees():
            _check(section, tree, [], unchecked)
        _place(explained, findings, first=section.span.source not in begun)
        begun.add(section.span.source)
        yield explained
    yield from left_out.values()


def explain_section(found: SectionMap, section: Section, *, whole: bool = False) -> Explained:
    """Explains one section of a map: its stored bytes, then its payload."""
    out = Explained(section, note=section.note)
    limit = (1 << 62) if whole else PARSED_SIZE
    source = found.sources[section.span.source]
    if section.parse is not None and section.span.size > limit:
        out.note = f"more than {PARSED_SIZE >> 20} MiB: explained when all is asked for"
    if section.schema is not None and section.span.size <= limit:
        data = source.read_at(section.span.start - source.origin, section.span.size)
        explainer = Explainer(section.span, whole=whole)
        if section.parse is not None:
            out.stored = section.parse(explainer, data)
        else:
            out.stored = explainer.explain(section.schema, data, *section.schema_args)
    if section.payload_schema is not None and section.load is not None and (section.payload_size or 0) <= limit:
        try:
            payload = section.load()
        except ExhumeError as error:
            out.note = f"the payload cannot be decoded: {error}"
            out.complete = False
            return out
        if len(payload) <= limit:
            where = section.span.in_payload(0, len(payload))
            explainer = Explainer(where, whole=whole)
            out.payload = explainer.explain(section.payload_schema, payload, *section.payload_args)
    return out


def _parsed(item: Explained) -> bool:
    """Whether parsing went to the end of each structure: before findings are placed, nothing else leaves a note."""
    return not any(node.note for tree in item.trees() for _, node in tree.walk())


def _check(section: Section, node: Field, around: list[Field], unchecked: str) -> None:
    """Says of every checksum at and below a field what became of it."""
    chain = [*around, node]
    if node.checksum:
        node.check = _checked(section, chain, unchecked)
        node.checksum = node.check.algorithm or node.checksum
    for child in node.children:
        _check(section, child, chain, unchecked)


def _checked(section: Section, chain: Sequence[Field], unchecked: str) -> Check:
    if unchecked:
        return Check.skipped(unchecked)
    if chain[-1].value is None:
        return Check.skipped("the field itself is cut short")
    if section.check is None:
        return Check.skipped("exhume has no computation for this field")
    try:
        return section.check(chain)
    except ExhumeError as error:
        if error.code.startswith("EX-6"):
            raise
        return Check.skipped(str(error))


def _place(item: Explained, findings: Iterable[Finding], *, first: bool) -> None:
    """Notes each finding at the innermost field that holds all of its bytes, or else with the section it touches.

    What is about a file as a whole stands with the `first` of its sections that is explained.
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
    """Start and end of what a span is about: in the payload where it is about one."""
    return span.payload if span.payload is not None else (span.start, span.end)


def _touches(a: Span, section: Span, *, first: bool) -> bool:
    """Whether a span, or the place where an empty one is, lies in a section at least in part."""
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
    """Whether nothing within a field lies anywhere: it has no parts, or they come of bytes that are encoded."""
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
    """The stored fields just before and after one among its siblings."""
    placed: Sequence[Field] = [child for child in parent.children if child.span is not None]
    at = next((i for i, child in enumerate(placed) if child is node), None)
    if at is None:
        return None, None
    return (placed[at - 1] if at else None), (placed[at + 1] if at + 1 < len(placed) else None)
