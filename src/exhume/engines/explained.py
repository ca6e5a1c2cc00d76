"""One section explained: the field trees of its stored bytes and of its payload, and the verdicts on its checksums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from exhume.errors import ExhumeError, Span, shorten
from exhume.findings import Check, CheckOutcome, Finding
from exhume.layout.schema import Explainer, Field
from exhume.layout.sections import Section, SectionMap

PARSED_SIZE = 8 << 20
"""Larger sections and payloads are summarised, unless requested: debug objects take about 100 bytes per byte."""


@dataclass(slots=True)
class Explained:
    """One section explained: the tree of its stored bytes and that of its decompressed payload, where schemas exist."""

    section: Section
    stored: Field | None = None
    payload: Field | None = None
    note: str = ""
    skipped: int = 0  # number of sections of this kind left out, from this one on
    parsed: int = 0  # bytes, stored and decompressed, whose fields were parsed
    withheld: bool = False  # whether fields were left out because the section is large
    findings: list[Finding] = field(default_factory=list)  # findings that no single field holds
    data: bytes = field(default=b"", repr=False)  # the decompressed payload that `payload` describes

    def trees(self) -> Iterator[Field]:
        """The field trees that exist: of the stored bytes, of the payload."""
        if self.stored is not None:
            yield self.stored
        if self.payload is not None:
            yield self.payload

    complete: bool = True  # whether everything could be read, decoded and parsed

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from exhume.notebook import explained_html

        return explained_html(self)

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


def explain_section(
    found: SectionMap,
    section: Section,
    *,
    whole: bool = False,
    limit: int = PARSED_SIZE,
    marks: Sequence[Span] = (),
    window: tuple[int, int] | None = None,
    payload: bool = True,
) -> Explained:
    """Explains one section of a map: its stored bytes, then its payload, unless they are larger than `limit`.

    Array elements that touch `marks` are included at any index.  With a `window` of the file, arrays of the stored
    bytes have only the elements that touch it and one on either side, and those of the payload the first.
    """
    out = Explained(section, note=section.note)
    if section.schema is not None:
        if section.span.size <= limit:
            out.stored = _stored(found, section, Explainer(section.span, whole=whole, marks=marks, window=window))
            out.parsed += section.span.size
        else:
            _too_large(out, limit)
    if not payload or section.payload_schema is None or section.load is None:
        return out
    if limit < 0 or (section.payload_size or 0) > limit:
        _too_large(out, limit)
        return out
    try:
        data = section.load()
    except ExhumeError as error:
        out.note = f"the payload cannot be decoded: {error}"
        out.complete = False
        return out
    if len(data) > limit:
        _too_large(out, limit)
        return out
    out.data = data
    explainer = Explainer(section.span.in_payload(0, len(data)), whole=whole, marks=marks)
    out.payload = explainer.explain(section.payload_schema, data, *section.payload_args)
    out.parsed += len(data)
    return out


def _stored(found: SectionMap, section: Section, explainer: Explainer) -> Field:
    source = found.sources[section.span.source]
    data = source.read_at(section.span.start - source.origin, section.span.size)
    if section.parse is not None:
        return section.parse(explainer, data)
    return explainer.explain(section.schema or "", data, *section.schema_args)


def _too_large(out: Explained, limit: int) -> None:
    """Notes once how to get the fields left out; a negative limit means that they are not wanted."""
    if limit >= 0 and not out.withheld:
        out.withheld = True
        said = "large: its fields are given when this section, or all, is asked for"
        out.note = f"{out.note}; {said}" if out.note else said


def only_damage(item: Explained) -> None:
    """Reduces the field trees to what leads to a note or to a checksum that does not match."""
    for tree in item.trees():
        _prune(tree)


def _prune(node: Field) -> bool:
    node.children, node.omitted = [child for child in node.children if _prune(child)], 0
    mismatch = node.check is not None and node.check.outcome is CheckOutcome.MISMATCH
    return bool(node.children or node.note or mismatch)


def parsed_whole(item: Explained) -> bool:
    """Whether every structure was parsed completely; call it before findings are placed, which are notes as well."""
    return not any(node.note for tree in item.trees() for _, node in tree.walk())


def check_fields(section: Section, node: Field, around: list[Field], unchecked: str) -> None:
    """Sets the result of checking every checksum at and below a field."""
    chain = [*around, node]
    if node.checksum:
        node.check = _checked(section, chain, unchecked)
        node.checksum = node.check.algorithm or node.checksum
    for child in node.children:
        check_fields(section, child, chain, unchecked)


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
