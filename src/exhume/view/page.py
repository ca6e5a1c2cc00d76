"""The explain page: one self-contained HTML file with hex, fields, verdicts and a map of the whole archive.

A section is a range of bytes of an archive with one purpose; its payload is its decompressed content.  An address space
is a file or a payload, whose offsets the page shows.

Bytes and field trees are embedded as small deflate chunks that the page decompresses when they are shown, so that it
opens at once.  Nothing is loaded from anywhere else.  For a large archive the page contains the first sections of each
kind and the damaged ones, and lists what it omits.
"""

from __future__ import annotations

import base64
import html
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import IO, Any

from exhume import __version__
from exhume.archive import Archive, Progress, no_progress
from exhume.codecs import compress
from exhume.engines.explain import UNBOUNDED, Selection, explain_archive
from exhume.engines.explanation import ExplainedSection, FindingsByPlace
from exhume.engines.verify import describe_verdict
from exhume.errors import Span, shorten
from exhume.findings import Finding
from exhume.io.jsonout import jsonable
from exhume.io.source import Source
from exhume.layout.foreign import SpecifiedFile
from exhume.layout.kaitai import region_of
from exhume.layout.sections import SectionMap
from exhume.layout.trees import Field
from exhume.view.parts import is_bad, node_values, note_of, script, section_values, stripes, style

CHUNK = 16 << 10
"""Bytes of a file or payload per embedded chunk: one is inflated when it scrolls into view."""

ROOM = 4_500_000
"""Characters of bytes and field trees on a page, unless parts are requested; half of them for damaged sections."""

SMALL = 1 << 20
"""Archives up to this size have all their bytes on the page."""

FIRST_BYTES = 128 << 10
"""Bytes of each section, stored and decompressed, that are on the page of a larger archive."""

BOUNDED = Selection(bulk=16, damaged=64, parsed=1 << 20, parsed_in_all=2 << 20)
"""Sections shown on a page without a request: parsing a mebibyte of tiny records takes seconds."""

MOST_FINDINGS = 500
"""Findings on a page; the number of problems counts all."""


@dataclass(slots=True)
class _AddressSpace:
    """A file or a decompressed payload whose offsets count from `base`; `grid` maps each embedded part to its chunk."""

    name: str
    kind: str
    base: int
    size: int
    grid: dict[int, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the facts about a file that the page's script needs."""
        return {
            "name": self.name,
            "kind": self.kind,
            "base": self.base,
            "size": self.size,
            "grid": [*self.grid.items()],
        }


class PageWriter:
    """Writes the page piece by piece: chunks first, the small table of contents last."""

    def __init__(self, file: IO[str], selection: Selection, progress: Progress = no_progress) -> None:
        """Start an empty page; `_room` is how many characters damaged and other sections may still take on it."""
        self._file = file
        self._progress = progress
        self._selection = selection if selection.narrow else replace(BOUNDED, source=selection.source)
        self._chunks = 0  # written so far
        self._spaces: list[_AddressSpace] = []  # by number
        self._by_name: dict[str, int] = {}  # number of the space of a file
        self._by_place: dict[
            tuple[str, int, int], int
        ] = {}  # (file, start, end) of a section: number of its payload's space
        room = UNBOUNDED if selection.narrow else ROOM // 2
        self._room = {True: room, False: room}  # by whether a section is damaged
        self.complete: bool = True
        """Whether everything on the page could be read, decoded and parsed."""

    def write(self, archive: Archive | SpecifiedFile, findings: list[Finding] | None) -> None:
        """Write the whole page for an archive; with None as findings, no checksum is computed either."""
        title = html.escape(shorten(archive.name, 200))
        self._file.write(_PAGE_HEAD.format(title=title, css=style()))
        found = archive.sections()
        for name, source in found.sources.items():
            self._space(_AddressSpace(name, "file", source.origin, source.size))
        # Embed the bytes of small files as a whole, and the sections that the selection includes.
        if sum(source.size for source in found.sources.values()) <= SMALL:
            for source in found.sources.values():
                self._stored(source, source.origin, source.origin + source.size, damaged=False)
        unchecked = "" if findings is not None else "the page was made without verifying"
        explained = explain_archive(archive, self._selection, findings or (), unchecked=unchecked)
        sections, noted = [], FindingsByPlace(findings or ())
        for done, item in enumerate(explained, 1):
            sections.append(self._section(found, item, noted))
            self._progress(done, None, "sections")
        # The contents, as the script of the page reads them.
        counts = None if findings is None else Counter(finding.severity for finding in findings)
        verdict, words = describe_verdict(archive.format, counts, {finding.code for finding in findings or ()})
        contents = {
            "version": __version__,
            "target": archive.name,
            "format": archive.format,
            "spaces": [space.to_dict() for space in self._spaces],
            "sections": sections,
            "stripes": [stripes(found, name) for name in found.sources],
            "verdict": verdict,
            "summary": words,
            "problems": sum(finding.is_problem for finding in findings or ()),
            "findings": [self._finding(finding) for finding in (findings or ())[:MOST_FINDINGS]],
            "open": self._selection.start,
        }
        text = _script_safe(json.dumps(jsonable(contents), ensure_ascii=True, separators=(",", ":")))
        self._file.write(f'<script type="application/json" id="contents">{text}</script>\n')
        self._file.write(f"<script>\n{script()}</script>\n</body>\n</html>\n")

    def _space(self, space: _AddressSpace) -> int:
        """Add an address space; return its number."""
        self._by_name[space.name] = len(self._spaces)
        self._spaces.append(space)
        return len(self._spaces) - 1

    def _stored(self, source: Source, start: int, end: int, *, damaged: bool) -> None:
        """Embed the chunks of a file that touch a range, up to the size of the page."""
        space = self._spaces[self._by_name[source.name]]
        first, last = start - space.base, min(end - space.base, space.size)
        for index in range(first // CHUNK, -(-last // CHUNK)):  # the end is rounded up
            if index not in space.grid and self._room[damaged] > 0:
                at = index * CHUNK
                space.grid[index] = self._chunk(source.read_at(at, min(CHUNK, space.size - at)), damaged=damaged)

    def _chunk(self, data: bytes, *, damaged: bool) -> int:
        """Write bytes, compressed and in base64, as a script element; returns its number."""
        text = base64.b64encode(compress("zlib", data)).decode("ascii")
        self._file.write(f'<script type="text/plain" id="c{self._chunks}">{text}</script>\n')
        self._room[damaged] -= len(text)
        self._chunks += 1
        return self._chunks - 1

    def _section(self, found: SectionMap, item: ExplainedSection, noted: FindingsByPlace) -> dict[str, Any]:
        """Embed bytes and field trees of one section, as far as `_room` allows; return its entry in the contents.

        `noted` are all findings, by their place.
        """
        section = item.section
        self.complete = self.complete and item.complete
        out = section_values(section, self._by_name[section.span.source])
        out |= {"note": note_of(item), "skipped": item.skipped, "bad": is_bad(item)}
        if item.skipped:
            return out
        # The bytes of the section, or those near its findings, then its two trees.
        damaged = bool(item.findings) or any(node.note for tree in item.trees() for _, node in tree.walk())
        near = [span for _, span in noted.near(section.span, first=False)] if damaged else []
        self._bytes_of(found.sources[section.span.source], item, near, damaged=damaged)
        if item.stored is not None and self._room[damaged] > 0:
            out["tree"] = self._tree(item.stored, out["space"], damaged=damaged)
        if item.payload is not None and self._room[damaged] > 0:
            out["payload_space"] = self._payload(item, near, damaged=damaged)
            out["payload"] = self._tree(item.payload, out["payload_space"], damaged=damaged)
        return out

    def _payload(self, item: ExplainedSection, near: Iterable[Span], *, damaged: bool) -> int:
        """Add the payload of a section as an address space, and embed its first bytes and those near findings.

        Returns the number of the address space.
        """
        span = item.section.span
        content = region_of(item.data) if item.region is None else item.region
        space = _AddressSpace(f"payload of {item.section.name}", "payload", 0, content.size)
        number = self._by_place[span.source, span.start, span.end] = self._space(space)
        for start, end in self._parts(0, space.size, [one.payload for one in near if one.payload is not None]):
            for index in range(start // CHUNK, -(-end // CHUNK)):  # as in `_stored`
                if index not in space.grid and self._room[damaged] > 0:
                    part = content.read_at(index * CHUNK, min(CHUNK, space.size - index * CHUNK))
                    space.grid[index] = self._chunk(part, damaged=damaged)
        return number

    def _bytes_of(self, source: Source, item: ExplainedSection, near: Iterable[Span], *, damaged: bool) -> None:
        """Embed the bytes of a section, or those near its fields if the page has no space for all."""
        start, end = item.section.span.start, item.section.span.end
        if self._selection.start is not None and self._selection.end is not None:
            start, end = max(start, self._selection.start), min(end, self._selection.end)
        for first, last in self._parts(start, end, [(span.start, span.end) for span in near]):
            self._stored(source, first, last, damaged=damaged)

    def _parts(self, start: int, end: int, near: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the parts of `[start, end)` that are on the page: the first bytes, and those near findings."""
        if self._selection.narrow:
            return [(start, end)]
        parts = [(start, min(end, start + FIRST_BYTES))]
        for first, last in near:
            if first < end and last >= start:  # with a quarter of a chunk on either side
                parts.append((max(start, first - CHUNK // 4), min(end, min(last, first + FIRST_BYTES) + CHUNK // 4)))
        return parts

    def _tree(self, tree: Field, space: int, *, damaged: bool) -> int:
        """Embed a field tree; return its chunk."""
        text = json.dumps(jsonable(node_values(tree, space)), ensure_ascii=True, separators=(",", ":"))
        return self._chunk(text.encode("ascii"), damaged=damaged)

    def _finding(self, finding: Finding) -> dict[str, Any]:
        """Return a finding as the page's script reads it, with the address space that it is in."""
        span = finding.span
        out = {"code": finding.code, "severity": str(finding.severity), "text": str(finding), "space": None}
        if span is None:
            return out
        start, end, space = span.start, span.end, self._by_name.get(span.source)
        payload = self._by_place.get((span.source, span.start, span.end))
        if span.payload is not None and payload is not None:
            (start, end), space = span.payload, payload
        return {**out, "space": space, "start": start, "end": end}


def _script_safe(text: str) -> str:
    """JSON that cannot end its script element, whatever names an archive contains."""
    return text.replace("<", "\\u003c")


_PAGE_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} – exhume explain</title>
<style>
{css}</style>
</head>
<body>
"""


def write_page(
    archive: Archive | SpecifiedFile,
    findings: Iterable[Finding] | None,
    file: IO[str],
    selection: Selection | None = None,
    progress: Progress = no_progress,
) -> bool:
    """Write the explain page of an archive; return whether all of it could be read, decoded and parsed.

    With None as `findings`, nothing was verified, as the page then states.  Without a `selection` of a part
    or of all, the page is bounded: at most 5 MB, whatever the size of the archive.  `progress` gets the sections done.
    """
    writer = PageWriter(file, selection or Selection(), progress)
    writer.write(archive, list(findings) if findings is not None else None)
    return writer.complete
