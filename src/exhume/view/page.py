"""The explain page: one self-contained HTML file with hex, fields, verdicts and a map of the whole archive.

Bytes and field trees are embedded as small deflate chunks that the page decompresses when they are shown, so that it
opens at once, however large the archive is.  Nothing is loaded from anywhere else.
"""

from __future__ import annotations

import base64
import html
import importlib.resources
import json
from collections.abc import Iterable
from typing import IO, Any

from exhume import __version__
from exhume.archive import Archive
from exhume.codecs import compress
from exhume.engines.explain import Selection, explain_archive
from exhume.engines.explained import Explained
from exhume.errors import Span, shorten
from exhume.findings import CheckOutcome, Finding
from exhume.io.jsonout import jsonable
from exhume.layout.foreign import SpecifiedFile
from exhume.layout.schema import Field

CHUNK = 64 << 10
"""Bytes of a file or payload per embedded chunk: one is inflated when it scrolls into view."""


BULK = 1000
"""Sections of one kind that the page lists before it summarises the rest."""


class PageWriter:
    """Writes the page piece by piece: chunks first, the small table of contents last."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._chunks = 0
        self._spaces: list[dict[str, Any]] = []
        self._by_name: dict[str, int] = {}
        self.complete = True
        """Whether everything on the page could be read, decoded and parsed."""

    def write(self, archive: Archive | SpecifiedFile, findings: list[Finding] | None) -> None:
        """Writes the whole page for an archive; with None as findings, no checksum is computed either."""
        title = html.escape(shorten(archive.name, 200))
        self._file.write(_PAGE_HEAD.format(title=title, css=_asset("page.css")))
        found = archive.sections()
        for name, source in found.sources.items():
            self._space(name, "file", source.origin, source.size, source.chunks(size=CHUNK))
        unchecked = "" if findings is not None else "the page was made without verifying"
        explained = explain_archive(archive, Selection(bulk=BULK), findings or (), unchecked=unchecked)
        sections = [self._section(item) for item in explained]
        contents = {
            "version": __version__,
            "target": archive.name,
            "format": archive.format,
            "spaces": self._spaces,
            "sections": sections,
            "verified": findings is not None,
            "findings": [self._finding(finding) for finding in findings or ()],
        }
        text = _script_safe(json.dumps(jsonable(contents), ensure_ascii=True, separators=(",", ":")))
        self._file.write(f'<script type="application/json" id="contents">{text}</script>\n')
        self._file.write(f"<script>\n{_asset('page.js')}</script>\n</body>\n</html>\n")

    def _space(self, name: str, kind: str, base: int, size: int, pieces: Iterable[bytes]) -> int:
        """Embeds an address space; offsets in it count from `base`."""
        first = self._chunks
        for piece in pieces:
            self._chunk(piece)
        self._by_name[name] = len(self._spaces)
        self._spaces.append({"name": name, "kind": kind, "base": base, "size": size, "first": first})
        return len(self._spaces) - 1

    def _chunk(self, data: bytes) -> int:
        text = base64.b64encode(compress("zlib", data)).decode("ascii")
        self._file.write(f'<script type="text/plain" id="c{self._chunks}">{text}</script>\n')
        self._chunks += 1
        return self._chunks - 1

    def _section(self, item: Explained) -> dict[str, Any]:
        section = item.section
        self.complete = self.complete and item.complete
        out: dict[str, Any] = {
            "name": section.name,
            "kind": str(section.kind),
            "space": self._by_name[section.span.source],
            "start": section.span.start,
            "end": section.span.end,
            "codec": section.codec or "",
            "note": "; ".join([item.note, *map(str, item.findings)] if item.note else map(str, item.findings)),
            "skipped": item.skipped,
            "nested": section.parent is not None,
        }
        if item.stored is not None:
            out["tree"] = self._tree(item.stored, out["space"])
            out["bad"] = _has_mismatch(item.stored)
        if item.payload is not None and section.load is not None:
            payload = section.load()
            pieces = (payload[at : at + CHUNK] for at in range(0, len(payload), CHUNK))
            space = self._space(f"payload of {section.name}", "payload", 0, len(payload), pieces)
            out["payload"] = self._tree(item.payload, space)
            out["payload_space"] = space
            out["bad"] = out.get("bad", False) or _has_mismatch(item.payload)
        return out

    def _tree(self, tree: Field, space: int) -> int:
        """Embeds a field tree; returns its chunk."""
        text = json.dumps(jsonable(_node(tree, space)), ensure_ascii=True, separators=(",", ":"))
        return self._chunk(text.encode("ascii"))

    def _finding(self, finding: Finding) -> dict[str, Any]:
        span = finding.span
        return {
            "code": finding.code,
            "severity": str(finding.severity),
            "text": str(finding),
            "space": self._by_name.get(span.source) if span else None,
            "start": span.start if span else None,
            "end": span.end if span else None,
        }


def _node(node: Field, space: int) -> dict[str, Any]:
    out: dict[str, Any] = {"n": node.name, "t": node.type}
    if node.span is not None:
        out["s"], out["e"] = _range(node.span)
        out["p"] = space
    if node.value is not None:
        out["v"] = shorten(node.value, 160) if not isinstance(node.value, (bool, int, float)) else node.value
    texts = {"d": node.meaning or node.doc, "r": node.doc_ref, "o": node.note}
    out |= {key: text for key, text in texts.items() if text}
    if node.check is not None:
        out |= {"c": f"{node.checksum}: {node.check}", "w": str(node.check.outcome)}
    children = [_node(child, space) for child in node.children]
    if node.omitted:
        children.append({"n": f"… {node.omitted} more", "t": ""})
    if children:
        out["k"] = children
    return out


def _range(span: Span) -> tuple[int, int]:
    return span.payload if span.payload is not None else (span.start, span.end)


def _has_mismatch(tree: Field) -> bool:
    return any(node.check is not None and node.check.outcome is CheckOutcome.MISMATCH for _, node in tree.walk())


def _script_safe(text: str) -> str:
    """JSON that cannot end the script element it stands in, whatever names an archive holds."""
    return text.replace("<", "\\u003c")


def _asset(name: str) -> str:
    return (importlib.resources.files("exhume.view") / name).read_text(encoding="utf-8")


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


def write_page(archive: Archive | SpecifiedFile, findings: Iterable[Finding] | None, file: IO[str]) -> bool:
    """Writes the explain page of an archive; returns whether all of it could be read, decoded and parsed.

    With None as `findings`, nothing was verified, and the page says so.
    """
    writer = PageWriter(file)
    writer.write(archive, list(findings) if findings is not None else None)
    return writer.complete
