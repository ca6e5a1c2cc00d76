"""The explanation of one section, which may have no trees of fields; `exhume.engines.explained` makes those.

The first page of `explain` shows sections without fields: what parses and prints fields is imported by what has any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from exhume.findings import Finding
from exhume.late import notebook_html
from exhume.layout.sections import Section, SectionMap

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
