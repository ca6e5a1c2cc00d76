"""Draws the layout that a specification describes: a box per type, a row per field, a line to the type of a field.

`make docs` writes `docs/images/layout-<schema>.svg` for the container schemas of the formats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import escape

from exhume.layout.specifications import spec

DRAWN = {
    "clp_s": ("clp_s",),
    "clp_ir": ("clp_ir",),
    "kv_ir": ("clp_kv_ir",),
    "zs": ("zs",),
    "ark": ("ark_manifest", "ark_split"),
    "caf": ("caf",),
    "data_bundle": ("data_bundle_shard",),
    "leveldb": ("leveldb_table", "leveldb_log"),
}
"""The pages of `docs/formats/` and the schemas that are drawn on them."""

MOST_BOXES = 16  # of a picture
MOST_ROWS = 14  # of a box
WIDTH, ROW, COLUMN, GAP, MARGIN = 300, 19, 380, 22, 12
"""Pixels: width of a box, height of a row, distance of columns, space between boxes, and around them all."""
TITLE_LEFT, SIZE_LEFT, NAME_LEFT, TYPE_LEFT = 8, 8, 76, 200
"""Pixels from the left of a box to its title, and to the columns of a row: size, name and type of a field."""
TITLE_ROOM, SIZE_ROOM, NAME_ROOM, TYPE_ROOM = 38, 9, 17, 13
"""Characters that fit into these."""
TITLE_BASE, ROW_BASE, LINE_START, LINE_END = 15, 17, 13, 10
"""Pixels from the top of a row to the base line of its text, to where a line begins, and to where one ends."""
SIZES = {"1": 1, "2": 2, "4": 4, "8": 8}  # bytes, by the digit in u2, s4, f8 ...
STYLE = (
    "text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#1c1e21}.t{font-weight:600}.d{fill:#6b7178}"
    ".box{fill:#fff;stroke:#9fb0c2}.head{fill:#dce7f7}.line{fill:none;stroke:#5b8fd9}"
)


@dataclass(slots=True)
class Box:
    """A type: its fields as (size, name, type), and where it is drawn."""

    title: str
    rows: list[tuple[str, str, str]]
    targets: list[tuple[int, str]] = field(default_factory=list)  # (row, type that a line from it leads to)
    x: int = 0
    y: int = 0

    @property
    def height(self) -> int:
        """Pixels that the box takes."""
        return ROW * (len(self.rows) + 1) + 8


def _size(attribute: Mapping[str, Any]) -> str:
    """The bytes of one element of a field; an expression where it depends on others."""
    if "contents" in attribute:
        return str(len(attribute["contents"]))
    if "size" in attribute:
        text = str(attribute["size"])
        return text if len(text) <= 12 else "…"
    if attribute.get("size-eos"):
        return "rest"
    kind = str(attribute.get("type", ""))
    return kind[1] if kind[:1] in "usf" and kind[1:2] in SIZES and kind[2:] in ("", "le", "be") else ""


def _kinds(kind: Any) -> list[str]:
    """The types that a field may have."""
    if isinstance(kind, dict):
        return list(dict.fromkeys(str(one) for one in kind.get("cases", {}).values()))
    return [str(kind)] if kind else []


def _rows(content: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield the stored fields of a type with their labels: those in sequence, then instances, marked by `@`."""
    for attribute in content.get("seq", ()):
        yield attribute, str(attribute.get("id", ""))
    for name, attribute in content.get("instances", {}).items():
        if "value" not in attribute:
            yield attribute, f"@ {name}"


def boxes(schema: str) -> dict[str, Box]:
    """The root type and what it leads to within the specification, in the order in which it leads there."""
    whole = spec(schema)
    known = dict(whole.get("types", {}))
    waiting, made = [(schema, whole)], dict[str, Box]()
    while waiting and len(made) < MOST_BOXES:
        name, content = waiting.pop(0)
        if name in made:
            continue
        box = made[name] = Box(name, [])
        inner = known | content.get("types", {})
        known = inner
        rows = list(_rows(content))
        for attribute, label in rows[:MOST_ROWS]:
            kinds = [kind.partition("(")[0].rpartition("::")[2] for kind in _kinds(attribute.get("type"))]
            reported = " | ".join(kinds[:2]) + (" | …" if len(kinds) > 2 else "") or "bytes"
            box.rows.append((_size(attribute), label, reported + ("[]" if "repeat" in attribute else "")))
            for kind in kinds[:3]:
                if any(_rows(inner.get(kind, {}))):
                    box.targets.append((len(box.rows) - 1, kind))
                    waiting.append((kind, inner[kind]))
        if len(rows) > MOST_ROWS:
            box.rows.append(("", f"… {len(rows) - MOST_ROWS} more", ""))
    return made


def _place(made: dict[str, Box], schema: str) -> tuple[int, int]:
    """Put each box into the column after the first that leads to it; return width and height of the picture."""
    column = {schema: 0}
    for name, box in made.items():
        for _, target in box.targets:
            column.setdefault(target, column[name] + 1)
    filled: dict[int, int] = {}
    for name, box in made.items():
        box.x = MARGIN + column[name] * COLUMN
        box.y = filled.get(column[name], MARGIN)
        filled[column[name]] = box.y + box.height + GAP
    return MARGIN + max(filled) * COLUMN + WIDTH + MARGIN, max(filled.values()) - GAP + MARGIN


def _fit(text: str, room: int) -> str:
    """Return text cut to so many characters, escaped for XML."""
    return escape(text if len(text) <= room else text[: room - 1] + "…")


def draw(schema: str) -> str:
    """The layout of a schema as SVG."""
    made = boxes(schema)
    width, height = _place(made, schema)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        f' role="img" aria-label="layout of {schema}">',
        f"<style>{STYLE}</style>",
        f'<rect width="{width}" height="{height}" fill="#fbfbfa"/>',
    ]
    for box in made.values():
        for row, name in box.targets:
            if name not in made or made[name] is box:
                continue
            target = made[name]
            x, y = box.x + WIDTH, box.y + ROW * (row + 1) + LINE_START
            end = target.y + LINE_END
            if target.x > box.x:
                bend = (x + target.x) // 2
                out.append(f'<path class="line" d="M{x} {y}C{bend} {y} {bend} {end} {target.x} {end}"/>')
    for box in made.values():
        out.append(f'<rect class="box" x="{box.x}" y="{box.y}" width="{WIDTH}" height="{box.height}" rx="4"/>')
        out.append(f'<rect class="head" x="{box.x}" y="{box.y}" width="{WIDTH}" height="{ROW + 2}" rx="4"/>')
        title = _fit(box.title, TITLE_ROOM)
        out.append(f'<text class="t" x="{box.x + TITLE_LEFT}" y="{box.y + TITLE_BASE}">{title}</text>')
        for number, (size, name, kind) in enumerate(box.rows, 1):
            y = box.y + ROW * number + ROW_BASE
            out.append(f'<text class="d" x="{box.x + SIZE_LEFT}" y="{y}">{_fit(size, SIZE_ROOM)}</text>')
            out.append(f'<text x="{box.x + NAME_LEFT}" y="{y}">{_fit(name, NAME_ROOM)}</text>')
            out.append(f'<text class="d" x="{box.x + TYPE_LEFT}" y="{y}">{_fit(kind, TYPE_ROOM)}</text>')
    return "\n".join([*out, "</svg>", ""])
