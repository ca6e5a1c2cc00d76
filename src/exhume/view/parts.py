"""What a page says about an archive, as JSON-able values: sections, fields, bands of a map.

The page that is a file (`view/page.py`) and the one that a local process serves (`view/explored.py`) are made of these,
and of the same script and style.
"""

from __future__ import annotations

import importlib.resources
from typing import Any

from exhume.engines.explained import ExplainedSection
from exhume.errors import Span, shorten
from exhume.findings import CheckOutcome
from exhume.layout.schema import ARRAY_SHOWN
from exhume.layout.sections import Section, SectionMap
from exhume.layout.trees import Field
from exhume.view.bands import bands, tiles_of

STRIPES = 1000
"""A map on a page has this many units for a file, or for the part of it that it shows."""

NARROW = 12
"""Neighbors of one kind that take fewer of these units each are one band."""

SCRIPTS = ("space.js", "source.js", "list.js", "rows.js", "fields.js", "records.js", "map.js", "page.js")


def script() -> str:
    """The script of the page."""
    return "".join(map(asset, SCRIPTS))


def style() -> str:
    """The style of the page."""
    return asset("page.css")


def asset(name: str) -> str:
    """The text of a file of this package."""
    return (importlib.resources.files("exhume.view") / name).read_text(encoding="utf-8")


def stripes(found: SectionMap, name: str, span: tuple[int, int] | None = None) -> list[tuple[int, int, str, int, str]]:
    """Start, end, kind, count of sections, and name of each band of a file, or of a part of it."""
    source = found.sources[name]
    size = source.size if span is None else span[1] - span[0]
    scale = STRIPES / size if size > 0 else 1.0
    drawn = bands(tiles_of(found.parts, name), scale, NARROW, span)
    return [
        (bar.start, bar.end, str(bar.kind), bar.count, shorten(bar.name, 160)) for bar in drawn if bar.end > bar.start
    ]


def section_values(section: Section, space: int) -> dict[str, Any]:
    """Name, kind and place of a section in the address space of its file."""
    return {
        "name": section.name,
        "kind": str(section.kind),
        "space": space,
        "start": section.span.start,
        "end": section.span.end,
        "codec": section.codec or "",
        "note": section.note,
        "skipped": 0,
        "nested": section.parent is not None,
        "bad": False,
    }


def note_of(item: ExplainedSection) -> str:
    """What there is to say about an explained section as a whole."""
    return "; ".join(dict.fromkeys(filter(None, (item.note, *map(str, item.findings)))))  # the note may be a finding


def is_bad(item: ExplainedSection) -> bool:
    """Whether a checksum in a section does not match."""
    return any(_has_mismatch(tree) for tree in item.trees())


def node_values(node: Field, space: int) -> dict[str, Any]:
    """A field and those in it, with keys of one letter."""
    out: dict[str, Any] = {"n": node.name, "t": node.type}
    if node.span is not None:
        out["s"], out["e"] = _range(node.span)
        out["p"] = space
    if node.value is not None:
        value = node.shown
        out["v"] = shorten(value, 160) if not isinstance(value, (bool, int, float)) else value
    texts = {"d": node.meaning or node.doc, "r": node.doc_ref, "o": node.note}
    out |= {key: text for key, text in texts.items() if text}
    if node.check is not None:
        out |= {"c": f"{node.checksum}: {node.check}", "w": str(node.check.outcome)}
    children = [node_values(child, space) for child in node.children]
    if node.omitted:
        out["a"] = node.path
        children += more_values(min(len(node.children), ARRAY_SHOWN), node.omitted, unread=node.unread)
    if children:
        out["k"] = children
    return out


def more_values(first: int, count: int, which: str = "more", *, unread: bool = False) -> list[dict[str, Any]]:
    """A placeholder for the elements of an array that are left out; a page continues with them at element `first`."""
    return [{"n": f"… {which}" if unread else f"… {count} {which}", "t": "", "g": first}] if count else []


def _range(span: Span) -> tuple[int, int]:
    return span.payload if span.payload is not None else (span.start, span.end)


def _has_mismatch(tree: Field) -> bool:
    return any(node.check is not None and node.check.outcome is CheckOutcome.MISMATCH for _, node in tree.walk())
