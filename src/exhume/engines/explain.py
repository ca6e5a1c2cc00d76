"""The explain engine: every byte of an archive, section by section, from the generated debug classes.

One section (or one decompressed payload) is in memory at a time.  Findings of `verify` are laid over the fields, so
that a checksum's verdict stands on the checksum's own line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from exhume.archive import Archive
from exhume.engines.identify import open_archive
from exhume.errors import EntryNotFoundError, ExhumeError, Span, shorten
from exhume.findings import Finding
from exhume.schema import Explainer, Field
from exhume.sections import Section, SectionKind, SectionMap
from exhume.source import Target

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

    def trees(self) -> Iterator[Field]:
        """The trees there are."""
        if self.stored is not None:
            yield self.stored
        if self.payload is not None:
            yield self.payload

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
        return out


def field_to_dict(node: Field) -> dict[str, Any]:
    """A field tree as JSON-able values; absent keys mean "nothing to say"."""
    out: dict[str, Any] = {"name": node.name, "path": node.path, "type": node.type}
    if node.span is not None:
        out |= {"offset": node.span.start, "size": node.span.size}
        if node.span.payload is not None:
            start, end = node.span.payload
            out |= {"payload_offset": start, "payload_size": end - start}
    for key in ("doc", "doc_ref", "meaning", "checksum", "note"):
        if text := getattr(node, key):
            out[key] = text
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
    **options: Any,
) -> Iterator[Explained]:
    """Explains an archive section by section; see `explain_archive`.  `options` go to `exhume.open`."""
    with open_archive(target, **options) as archive:
        found = list(archive.verify()) if findings is None else findings
        yield from explain_archive(archive, selection or Selection(), found)


def explain_archive(archive: Archive, selection: Selection, findings: Iterable[Finding] = ()) -> Iterator[Explained]:
    """Every section that `selection` wants, in file order, with `findings` laid over its fields.

    Raises `EntryNotFoundError` when none has the name, or lies in the file, that was asked for.
    """
    found = archive.sections()
    if selection.section is not None and not any(selection.wants(section) for section in found):
        found.named(selection.section)
    if selection.source is not None and selection.source not in found.sources:
        raise EntryNotFoundError(
            "no such file in the archive", span=Span(archive.name, 0, 0), actual=shorten(selection.source)
        )
    return _explain(found, selection, findings)


def _explain(found: SectionMap, selection: Selection, findings: Iterable[Finding]) -> Iterator[Explained]:
    overlay = _Overlay(findings)
    shown: Counter[str] = Counter()
    left_out: dict[str, Explained] = {}
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
        for tree in explained.trees():
            overlay.apply(tree)
        yield explained
    yield from left_out.values()


def explain_section(found: SectionMap, section: Section, *, whole: bool = False) -> Explained:
    """Explains one section of a map: its stored bytes, then its payload."""
    out = Explained(section, note=section.note)
    limit = (1 << 62) if whole else PARSED_SIZE
    source = found.sources[section.span.source]
    if section.schema is not None and section.span.size <= limit:
        data = source.read_at(section.span.start - source.origin, section.span.size)
        explainer = Explainer(section.span, whole=whole)
        out.stored = explainer.explain(section.schema, data, *section.schema_args)
    if section.payload_schema is not None and section.load is not None and (section.payload_size or 0) <= limit:
        try:
            payload = section.load()
        except ExhumeError as error:
            out.note = f"the payload cannot be decoded: {error}"
            return out
        if len(payload) <= limit:
            where = section.span.in_payload(0, len(payload))
            explainer = Explainer(where, whole=whole)
            out.payload = explainer.explain(section.payload_schema, payload, *section.payload_args)
    return out


class _Overlay:
    """Findings laid over fields: the verdict of a checksum, and whatever else is wrong with a field's bytes."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self._findings = [f for f in findings if f.span is not None and f.span.end > f.span.start]

    def apply(self, tree: Field) -> None:
        """Writes verdicts and notes into a tree."""
        if tree.span is None:
            return
        near = [f for f in self._findings if f.span is not None and _touches(f.span, tree.span)]
        elsewhere = [(f, _declaring(tree, f.declared)) for f in self._findings if f.declared is not None]
        for _, node in tree.walk():
            if node.span is None:
                continue
            if node.checksum:
                bad = [f for f in near if f.code[-3] == "2" and f.span is not None and _touches(f.span, node.span)]
                bad += [f for f, declaring in elsewhere if declaring is node]
                node.checksum = f"{node.checksum}: {'MISMATCH, ' + str(bad[0]) if bad else 'ok'}"
            if not node.children:
                for finding in near:
                    if finding.span is not None and _inside(finding.span, node.span) and not node.checksum:
                        node.note = f"{node.note}; {finding}" if node.note else str(finding)


def _declaring(tree: Field, place: Span) -> Field | None:
    """The checksum of the smallest structure that begins at `place` and has one."""
    found = None
    here = [tree]
    while here:
        node = here.pop()
        if node.span is None or not _covers(node.span, place):
            continue
        here += node.children
        if _starts(node.span, place):
            inside = [child for _, child in node.walk() if child.checksum]
            if inside:
                found = inside[0] if len(inside) == 1 else None
    return found


def _at(span: Span, place: Span) -> tuple[int, int, int] | None:
    """Start and end of `span`, and `place`, in the bytes that both count in; None when they have none in common."""
    at = place.payload[0] if place.payload is not None else 0
    if span.source != place.source:
        return None
    if span.payload is None:  # a payload that is stored as it is
        inside = place.start <= span.start and span.end <= place.end
        return (span.start, span.end, place.start + at) if inside else None
    same = span.start == place.start and span.end <= place.end  # `place` may count what frames the payload
    return (*span.payload, at) if same else None


def _covers(span: Span, place: Span) -> bool:
    found = _at(span, place)
    return found is not None and found[0] <= found[2] < found[1]


def _starts(span: Span, place: Span) -> bool:
    found = _at(span, place)
    return found is not None and found[0] == found[2]


def _touches(a: Span, b: Span) -> bool:
    if a.source != b.source or a.start >= b.end or b.start >= a.end:
        return False
    if a.payload is None or b.payload is None:
        return a.payload is None and b.payload is None
    return a.payload[0] < b.payload[1] and b.payload[0] < a.payload[1]


def _inside(a: Span, b: Span) -> bool:
    if a.source != b.source or (a.payload is None) != (b.payload is None):
        return False
    if a.payload is not None and b.payload is not None:
        return (a.start, a.end) == (b.start, b.end) and b.payload[0] <= a.payload[0] < a.payload[1] <= b.payload[1]
    return b.start <= a.start and a.end <= b.end


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


def coverage(archive: Archive) -> FieldCoverage:
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
        (node.span.start, node.span.end)
        for _, node in explained.stored.walk()
        if node.span is not None and (not node.children or node.omitted) and node.path != explained.stored.path
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
