"""How much of an archive is explained: the bytes that fields, data and padding claim, and those that nothing does.

A structure that leaves no byte out, whatever its content, is read by its fast reader; if that reaches the end, all of
it belongs to fields.  Only otherwise are the spans of the fields compared, to find the gaps between them.

`origin` of a source is the offset of its first byte in the outermost file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from exhume.archive import Archive
from exhume.engines.explained import explain_section
from exhume.engines.explanation import PARSED_SIZE
from exhume.errors import Span
from exhume.io.parallel import map_ordered
from exhume.layout.fast import claimed
from exhume.layout.sections import Section, SectionKind, SectionMap, SectionRun

if TYPE_CHECKING:
    from exhume.layout.foreign import SpecifiedFile
    from exhume.layout.trees import Field

PIECE = 4096
"""Sections of a run that are examined together."""


@dataclasses.dataclass(slots=True)
class FieldCoverage:
    """Byte totals over an archive, at the level of fields.

    `data` are opaque payloads, `padding` known fill bytes, `gap` bytes that nothing claims (listed in `unexplained`),
    `overlap` bytes that two sections claim; `total` is the size of all files.
    """

    fields: int = 0
    data: int = 0
    padding: int = 0
    gap: int = 0
    overlap: int = 0
    total: int = 0
    unexplained: list[Span] = dataclasses.field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form documented for `exhume explain --coverage --json`."""
        out: dict[str, Any] = {
            name: getattr(self, name) for name in ("fields", "data", "padding", "gap", "overlap", "total")
        }
        out["unexplained"] = [span.to_dict() for span in self.unexplained]
        return out


def coverage(archive: Archive | SpecifiedFile, jobs: int = 1) -> FieldCoverage:
    """Count what claims each byte: fields of a schema, opaque data, padding, or nothing.

    `jobs` threads find the sections and examine the numerous ones (0: one per core).
    """
    found = archive.sections(jobs=jobs)
    totals = found.coverage()
    parents = {part.parent for part in found.parts}  # names of sections whose payloads are divided into sections
    out = FieldCoverage(total=totals.total, overlap=totals.overlap)
    for section, size, is_claimed in _tiles(found, jobs):
        if section.kind is SectionKind.GAP or section.kind is SectionKind.UNREAD:
            out.gap += size
            out.unexplained.append(section.span)
        elif section.schema is not None:
            covered, holes = (size, []) if is_claimed else _claimed(found, section)
            out.fields += covered
            out.unexplained += holes
            out.gap += sum(hole.size for hole in holes)
        elif section.kind is SectionKind.PADDING:
            out.padding += size
        elif section.kind is SectionKind.DATA or section.payload_schema or section.name in parents:
            out.data += size
        elif section.note:  # text that a schema cannot describe (JSON, one-line files): its note says what it is
            out.fields += size
        elif size:
            out.gap += size
            out.unexplained.append(section.span)
    return out


def _tiles(found: SectionMap, jobs: int) -> Iterator[tuple[Section, int, bool]]:
    """Yield the sections that tile the files, as (section, bytes, whether fields claim all of them).

    In a run of similar sections that are claimed completely, one section stands for all, with the sum of their bytes.
    """
    for part in found.parts:
        if isinstance(part, Section):
            if part.parent is None:
                yield part, part.span.size, False
            continue
        if not isinstance(part, SectionRun):
            continue
        pieces = [(at, at + PIECE) for at in range(0, len(part), PIECE)]
        verdicts = map_ordered(partial(_claims, part), pieces, jobs)
        for (first, last), claims in zip(pieces, verdicts, strict=True):
            if claims:  # `sums`: (one section of a kind, their number, their bytes)
                yield from ((section, size, True) for section, _, size in part.sums(first, last))
            else:
                yield from ((section, section.span.size, False) for section in part[first:last])


def _claims(run: SectionRun, piece: tuple[int, int]) -> bool:
    """Return whether fields claim every byte of the sections `[first, last)` of a run."""
    return run.claims(*piece)


def _claimed(found: SectionMap, section: Section) -> tuple[int, list[Span]]:
    """Return how many bytes of a section fields claim, and the spans that no field claims."""
    size = section.span.size
    source = found.sources[section.span.source]
    # The cheap check: a fast reader, which exists for schemas without arguments, consumes the whole section.
    if (section.claims is not None and section.claims()) or (
        section.parse is None
        and not section.schema_args
        and claimed(
            section.schema or "", size, PARSED_SIZE, lambda: source.read_at(section.span.start - source.origin, size)
        )
    ):
        return size, []
    explained = explain_section(found, section, payload=False)
    if explained.stored is None:  # too large to parse in one piece: claimed by its schema as a whole
        return size, []
    # Else compare the places of all leaves: fields without parts that have a place of their own.
    spans = sorted(
        (min(node.span.start, section.span.end), min(node.span.end, section.span.end))  # an instance may be elsewhere
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
    """Whether no part of a field has a place of its own, because it has no parts or they are decoded from its bytes."""
    return all(child.span is None for child in node.children)
