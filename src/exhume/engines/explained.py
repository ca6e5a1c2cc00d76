"""One section explained: the field trees of its stored bytes and of its payload, and the verdicts on its checksums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from exhume.errors import ExhumeError, shorten
from exhume.findings import Check, Finding
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
    skipped: int = 0  # how many further sections of this sort were left out
    findings: list[Finding] = field(default_factory=list)  # those that no single field holds

    def trees(self) -> Iterator[Field]:
        """The field trees that exist: of the stored bytes, of the payload."""
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


def parsed_whole(item: Explained) -> bool:
    """Whether every structure was parsed to its end; call it before findings are placed, which are notes as well."""
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
