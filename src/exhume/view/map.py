"""A picture of an archive: each file as a strip of its sections, with sizes, compression ratio and damage.

The drawing is a list of rectangles and labels, rendered as SVG (no dependency) or PNG (extra `picture`).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from xml.sax.saxutils import escape, quoteattr

from exhume.archive import Archive
from exhume.counts import counted, counting
from exhume.engines.payloads import payload_chunks
from exhume.engines.verify import describe_verdict
from exhume.errors import ExhumeError, MissingDependencyError, SourceError, Span
from exhume.findings import Finding, Severity
from exhume.io.activity import Sizes, measuring
from exhume.io.source import Source
from exhume.layout.sections import Section, SectionKind, SectionMap, SectionRun, Tile
from exhume.view.parts import Bar, bands, tiles_of

WIDTH = 1200  # of the page, in pixels, as all lengths here
MARGIN = 20
STRIP = 64  # height of a strip
ROW = 18  # height of a line of text
TABLE_ROWS = 14  # kinds of sections in the table
CHARACTER = 7.2  # average width of a character of a name
BAR = 7  # height of the bars of problems above and below a strip
LABELLED = 60
"""Neighboring sections of one kind that are narrower, and so too small for a name, are drawn as one band."""

VISIBLE = 3.0
"""The least width of what is drawn of a problem, however small its part of the file."""

DAMAGED_NAMES = 4  # sections with problems that are named below a strip
ENDS = (590, 740, 820, 980, 1060)
"""Right edges of the columns of numbers in the table."""

COLORS = {
    SectionKind.STRUCTURE: "#5b8fd9",
    SectionKind.DATA: "#9fb0c2",
    SectionKind.CHECKSUM: "#6dbb82",
    SectionKind.PADDING: "#dddddd",
    SectionKind.GAP: "#e8b25c",
    SectionKind.UNREAD: "#d9776f",
}
DAMAGE = "#c62828"  # red
UNCHECKED = "#6a1b9a"  # purple
INK, DIM, PAPER, EMPTY, ON_DARK = "#1c1e21", "#5d636a", "#ffffff", "#f1f2f4", "#fefefe"  # EMPTY: an empty strip
DARK = {
    INK: "#e3e6ea", DIM: "#aab1b9", PAPER: "#16181b", EMPTY: "#23272c", DAMAGE: "#ff7b72", UNCHECKED: "#ce93d8",
    "#5b8fd9": "#2f5f9f", "#9fb0c2": "#47525e", "#6dbb82": "#2f6e40", "#dddddd": "#3a3d42", "#e8b25c": "#8a6526",
    "#d9776f": "#8a3b37", "#1a7f37": "#5fce7c",
}  # fmt: skip
"""The colors that replace those of an SVG in a dark scheme."""
VERDICT_COLORS = {"ok": "#1a7f37", "structure": INK, "damaged": DAMAGE, "incomplete": UNCHECKED, "": DIM}
"""The colors of what `describe_verdict` says: green only if checksums confirm the content."""


@dataclass(frozen=True, slots=True)
class Rect:
    """A filled rectangle at (`x`, `y`), its upper left corner; `title` is shown when the pointer is over it (SVG)."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """One line of text, `y` at its baseline."""

    x: float
    y: float
    text: str
    color: str = INK
    size: int = 13
    bold: bool = False
    ends: bool = False  # whether `x` is its right end


@dataclass(slots=True)
class Drawing:
    """Shapes in drawing order on a white page of `width` x `height`."""

    width: int = WIDTH
    height: int = 0
    shapes: list[Rect | Text] = field(default_factory=list)


@dataclass(slots=True)
class _SectionTotals:
    """The totals of sections of one kind, whose names differ only in numbers."""

    first: str  # name of the first section
    last: str  # name of the last one
    kind: SectionKind
    count: int = 0  # of sections
    stored: int = 0  # bytes
    packed: int = 0  # stored bytes of those whose decompressed size is known
    payload: int = 0  # decompressed bytes of these

    @property
    def name(self) -> str:
        """The name of the only section, or of the first and the last."""
        return self.first if self.count == 1 else f"{self.first} … {self.last}"

    @property
    def ratio(self) -> str:
        """Decompressed divided by stored size, of those whose decompressed size is known."""
        return f"{self.payload / self.packed:.2f}x" if self.packed else "-"

    def add(self, section: Section, payload: int | None) -> None:
        """Count one more section, and its decompressed size if that is known."""
        self.last = section.name
        self.count += 1
        self.stored += section.span.size
        if payload is not None:
            self.packed += section.span.size
            self.payload += payload


def draw_map(archive: Archive, findings: Iterable[Finding] | None, *, jobs: int = 1) -> Drawing:
    """The picture of an archive; errors among `findings`, and what could not be checked, are drawn at their place.
    None means that it was not verified.  Sections are found by `jobs` threads (0: one per core).

    If the archive was verified, sections that do not state their decompressed size are decompressed to measure it,
    except for those that verifying has measured already.
    Raises `SourceError` if a section that verifying could read cannot be read now.
    """
    # Findings; verifying may also show the sizes of payloads.
    counts = dict.fromkeys(Severity, 0)
    problems = []
    codes = set()
    with measuring() as sizes:
        for finding in findings or ():
            counts[finding.severity] += 1
            codes.add(finding.code)
            if finding.is_problem:
                problems.append(finding)
    in_file: dict[str, list[Finding]] = {}
    for finding in problems:
        if finding.span is not None:
            in_file.setdefault(finding.span.source, []).append(finding)
    found = archive.sections(jobs=jobs)
    # Title and verdict.
    drawing = Drawing()
    total = found.coverage()
    y: float = MARGIN + 14  # the baseline of the title; each line adds its height
    verdict, words = describe_verdict(archive.format, None if findings is None else counts, codes)
    color = VERDICT_COLORS[verdict]
    size = f"{total.total:,} {counting('bytes', total.total)}"
    title = f"{PurePosixPath(archive.name).name or archive.name}   {archive.format}   {size}"
    drawing.shapes.append(Text(MARGIN, y, title, size=16, bold=True))
    y += 20
    drawing.shapes.append(Text(MARGIN, y, words, color, bold=True))
    y += 12
    # A strip for each file, then the legend and the table of kinds.
    tiles = [part for part in found.parts if isinstance(part, (Section, SectionRun)) and part.parent is None]
    for name, source in found.sources.items():
        y = _strip(drawing, y, name, source, tiles_of(found, name), in_file.get(name, ()))
    y = _legend(drawing, y + 8)
    # (While a damaged archive is verified, sizes of payloads may be noted that cannot be loaded: measure again.)
    known = sizes if not problems else {}
    sorts = _sorts(tiles, known, decode=findings is not None, sound=not problems)
    y = _table(drawing, y + 8, sorts, total.total)
    drawing.height = int(y + MARGIN)
    return drawing


def draw_strip(source: Source, found: SectionMap, problems: Sequence[Finding]) -> Drawing:
    """The picture of one file as a strip: an image, whose sections are the archives in it."""
    drawing = Drawing()
    y = _strip(drawing, 0, source.name, source, tiles_of(found, source.name), problems)
    drawing.height = int(y)
    return drawing


def _strip(
    drawing: Drawing, y: float, name: str, source: Source, tiles: Sequence[Tile], problems: Sequence[Finding]
) -> float:
    """Draw one file as a strip of its sections with its problems; returns the position below it."""
    drawing.shapes.append(Text(MARGIN, y + 14, f"{name}  {source.size:,} {counting('bytes', source.size)}", DIM))
    y += 20 + BAR
    inner = WIDTH - 2 * MARGIN
    scale = inner / source.size if source.size else 0.0
    drawing.shapes.append(Rect(MARGIN, y, inner, STRIP, EMPTY))
    for bar in bands(tiles, scale, LABELLED) if scale else ():
        _draw(drawing, y, MARGIN + (bar.start - source.origin) * scale, (bar.end - bar.start) * scale, bar)
    return _problems(drawing, y, name, source, tiles, problems)


def _problems(
    drawing: Drawing, y: float, name: str, source: Source, tiles: Sequence[Tile], problems: Sequence[Finding]
) -> float:
    """Draw problems as bars above and below the strip, so that names stay readable; list the sections they touch."""
    inner = WIDTH - 2 * MARGIN
    scale = inner / source.size if source.size else 0.0
    touched: dict[bool, set[int]] = {True: set(), False: set()}  # offsets of errors, and of what is unchecked
    marks: dict[tuple[bool, int, int], list[Finding]] = {}  # (is error, x, width): findings drawn as one bar
    for finding in problems:
        span = finding.span
        if span is None or span.source != name:
            continue
        is_error = finding.severity is Severity.ERROR
        x = min((span.start - source.origin) * scale, inner - VISIBLE)
        width = min(max(VISIBLE, span.size * scale), inner - x)
        marks.setdefault((is_error, round(x), round(width)), []).append(finding)
        touched[is_error].add(span.start)
    # Later bars cover earlier ones: errors, sorted last, are above what is unchecked.
    for (is_error, x, width), found in sorted(marks.items(), key=lambda mark: mark[0]):
        title = str(found[0]) + (f" (and {len(found) - 1:,} more)" if len(found) > 1 else "")
        for top in (y - BAR, y + STRIP):
            drawing.shapes.append(Rect(MARGIN + x, top, width, BAR, DAMAGE if is_error else UNCHECKED, title))
    y += STRIP + BAR + 6
    for is_error, word, color in ((True, "damaged", DAMAGE), (False, "not checked", UNCHECKED)):
        if sections := _touched(tiles, sorted(touched[is_error])):
            more = f" and {len(sections) - DAMAGED_NAMES:,} more" if len(sections) > DAMAGED_NAMES else ""
            named = ", ".join(f"{one.name} ({one.span.start:,}..{one.span.end:,})" for one in sections[:DAMAGED_NAMES])
            drawing.shapes.append(Text(MARGIN, y + 12, _fit(f"{word}: {named}{more}", 160), color, 12))
            y += ROW
    return y + 8


def _touched(tiles: Iterable[Tile], starts: Sequence[int]) -> list[Section]:
    """The sections that contain any of these places."""
    found = []
    for part in tiles:
        within = starts[bisect_left(starts, part.span.start) : bisect_left(starts, part.span.end)]
        if isinstance(part, SectionRun):
            found += [part[number] for number in sorted({bisect_right(part.bounds, at) - 1 for at in within})]
        elif within:
            found.append(part)
    return found


def _draw(drawing: Drawing, y: float, x: float, width: float, bar: Bar) -> None:
    """Draw one bar of a strip at (`x`, `y`), with as much of its label as fits in `width` pixels."""
    if width <= 0:
        return
    section = bar.first
    ratio, codec, more = "", "", ""
    if bar.count == 1:
        codec = f", {section.codec}" if section.codec else ""
        if section.payload_size and section.span.size:
            ratio = f", {section.payload_size / section.span.size:.2f}x"
    else:
        more = f" ({counted(bar.count, 'sections')})"
    title = f"{bar.name}{more}: {bar.start}..{bar.end}{codec}{ratio}"
    drawn = max(width - (0.6 if width > 3 else 0), 0.4)  # leaves a gap to the next bar, if that is visible
    drawing.shapes.append(Rect(x, y, drawn, STRIP, COLORS[bar.kind], title))
    if width > LABELLED:
        room = int((width - 8) / CHARACTER)  # characters that fit
        color = ON_DARK if _dark(bar.kind) else INK
        drawing.shapes.append(Text(x + 5, y + 22, _fit(bar.name, room), color, 12))
        drawing.shapes.append(Text(x + 5, y + 40, _fit(f"{bar.end - bar.start:,} B{ratio}", room), color, 11))
        if more:
            drawing.shapes.append(Text(x + 5, y + 56, _fit(more.strip(" ()"), room), color, 11))


def _dark(kind: SectionKind) -> bool:
    return kind in (SectionKind.STRUCTURE, SectionKind.UNREAD)


def _fit(text: str, room: int) -> str:
    """Return text, cut to `room` characters; those that are not printable become dots."""
    shown = "".join(char if char.isprintable() else "·" for char in text)
    return shown if len(shown) <= room else shown[: max(0, room - 1)] + "…"


def _legend(drawing: Drawing, y: float) -> float:
    """Draw the colors with their meaning; returns the position below."""
    x: float = MARGIN
    problems = (("error", DAMAGE), ("not checked", UNCHECKED))
    for label, color in [*((str(kind), color) for kind, color in COLORS.items()), *problems]:
        drawing.shapes.append(Rect(x, y, 12, 12, color))
        drawing.shapes.append(Text(x + 17, y + 11, label, DIM, 12))
        x += 34 + 8 * len(label)  # the square and the gaps, and the characters
    return y + 20


def _sorts(tiles: Iterable[Tile], known: Sizes, *, decode: bool, sound: bool) -> list[_SectionTotals]:
    """The totals of sections whose kinds and names, apart from numbers, are the same; largest first.

    `known` has decompressed sizes, by file and offset; `decode` and `sound` are those of `_payload_size`.
    """
    found: dict[str, _SectionTotals] = {}
    digits = re.compile(r"\d+")

    def totals(name: str, kind: SectionKind) -> _SectionTotals:
        key = f"{kind} {digits.sub('#', name)}"
        return found.get(key) or found.setdefault(key, _SectionTotals(name, name, kind))

    def payload(section: Section) -> int | None:
        size = known.get((section.span.source, section.span.start)) if section.load is not None else None
        return _payload_size(section, decode=decode, sound=sound) if size is None else size

    for part in tiles:
        if isinstance(part, SectionRun) and part.given_names:  # names are from the archive: of any kind each
            for name, form, size in zip(part.names(), part.sorts, part.sizes(), strict=True):
                each = totals(name, part.forms[form].kind)
                each.last = name
                each.count += 1
                each.stored += size
        elif isinstance(part, SectionRun):
            # `forms` has a model section by its number; `sorts` has the number of the model of each section.
            forms = sorted(part.forms.items(), key=lambda form: form[1].span.start)
            by_form = {form: totals(section.name, section.kind) for form, section in forms}
            for form, (_, count, stored) in zip(part.forms, part.sums(), strict=True):
                by_form[form].count += count
                by_form[form].stored += stored
            last_of_form = {form: number for number, form in enumerate(part.sorts)}
            for number in sorted(last_of_form.values()):
                by_form[part.sorts[number]].last = part[number].name
            for number, size in _decompressed(part, known, payload, decode=decode):
                sort = by_form[part.sorts[number]]
                sort.packed += part.bounds[number + 1] - part.bounds[number]
                sort.payload += size
        else:
            totals(part.name, part.kind).add(part, payload(part))
    return sorted(found.values(), key=lambda sort: (-sort.stored, sort.name))


def _decompressed(
    run: SectionRun, known: Sizes, payload: Callable[[Section], int | None], *, decode: bool
) -> Iterator[tuple[int, int]]:
    """The decompressed sizes of the sections of a run that have one, by their numbers."""
    kinds = {
        kind
        for kind, section in run.forms.items()
        if section.payload_size is not None or (decode and section.load is not None)
    }
    for number, kind in enumerate(run.sorts):
        if kind in kinds:
            size = known.get((run.span.source, run.bounds[number]))
            size = payload(run[number]) if size is None else size
            if size is not None:
                yield number, size


def _payload_size(section: Section, *, decode: bool, sound: bool) -> int | None:
    """The decompressed size of a section; None when it has none, or when it is not known.

    A section of an archive in which no error was found (`sound`) is read or raises `SourceError`.
    """
    if section.payload_size is not None or section.load is None or not decode:
        return section.payload_size
    try:
        return sum(map(len, payload_chunks(section)))
    except ExhumeError as error:
        if sound and isinstance(error, SourceError):
            raise
        return None


def _table(drawing: Drawing, y: float, sorts: Sequence[_SectionTotals], total: int) -> float:
    """Draw the table of section kinds at `y`, the first `TABLE_ROWS` of them, and return the y below it."""
    for at, label in zip(
        (MARGIN, *ENDS), ("sections", "count", "stored bytes", "share", "decompressed", "ratio"), strict=True
    ):
        drawing.shapes.append(Text(at, y + 13, label, DIM, 12, bold=True, ends=at != MARGIN))
    y += ROW + 4
    for sort in sorts[:TABLE_ROWS]:
        drawing.shapes.append(Rect(MARGIN, y + 2, 10, 10, COLORS[sort.kind]))
        drawing.shapes.append(Text(MARGIN + 16, y + 12, _fit(sort.name, 62), INK, 12))
        share = f"{sort.stored / total:.1%}" if total else "-"
        payload = f"{sort.payload:,}" if sort.packed else "-"
        for at, text in zip(ENDS, (f"{sort.count:,}", f"{sort.stored:,}", share, payload, sort.ratio), strict=True):
            drawing.shapes.append(Text(at, y + 12, text, INK, 12, ends=True))
        y += ROW
    if len(sorts) > TABLE_ROWS:
        rest = sum(sort.stored for sort in sorts[TABLE_ROWS:])
        drawing.shapes.append(
            Text(
                MARGIN + 16,
                y + 12,
                f"{counted(len(sorts) - TABLE_ROWS, 'more sorts')}, {rest:,} {counting('bytes', rest)}",
                DIM,
                12,
            )
        )
        y += ROW
    return y


def to_svg(drawing: Drawing) -> str:
    """The drawing as one SVG document; it needs no fonts or files."""
    dark = " ".join(f".{_class(light)} {{ fill: {color} }}" for light, color in DARK.items())
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{drawing.width}" height="{drawing.height}" '
        f'viewBox="0 0 {drawing.width} {drawing.height}" font-family="system-ui, sans-serif">',
        f"<style>@media (prefers-color-scheme: dark) {{ {dark} }}</style>",
        f'<rect width="100%" height="100%" fill="{PAPER}" class="{_class(PAPER)}"/>',
    ]
    for shape in drawing.shapes:
        if isinstance(shape, Rect):
            title = f"<title>{_xml(shape.title)}</title>" if shape.title else ""
            box = f'x="{shape.x:.2f}" y="{shape.y:.2f}" width="{shape.width:.2f}" height="{shape.height:.2f}"'
            out.append(f"<rect {box} fill={quoteattr(shape.fill)} class={quoteattr(_class(shape.fill))}>{title}</rect>")
        else:
            weight = ' font-weight="600"' if shape.bold else ""
            place = f'x="{shape.x:.2f}" y="{shape.y:.2f}" font-size="{shape.size}"'
            weight += ' text-anchor="end"' if shape.ends else ""
            fill = f'fill="{shape.color}" class="{_class(shape.color)}"'
            out.append(f"<text {place} {fill}{weight}>{_xml(shape.text)}</text>")
    return "\n".join([*out, "</svg>", ""])


def _class(color: str) -> str:
    """The class of what has a color, by which a dark scheme changes it."""
    return f"map-{color.removeprefix('#')}"


def _xml(text: str) -> str:
    """Text that XML can hold: control characters and lone surrogates become dots."""
    return escape("".join(char if char.isprintable() else "·" for char in text))


def to_png(drawing: Drawing, scale: int = 2) -> bytes:
    """The drawing as a PNG at `scale` times its size; raises `MissingDependencyError` without Pillow."""
    import io

    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError as error:
        raise MissingDependencyError(
            "PNG pictures need the extra: pip install 'exhume[picture]'", span=Span("", 0, 0)
        ) from error
    image = Image.new("RGB", (drawing.width * scale, drawing.height * scale), PAPER)
    pen = ImageDraw.Draw(image)
    for shape in drawing.shapes:
        if isinstance(shape, Rect):
            right = max(shape.x, shape.x + shape.width - 1 / scale) * scale
            pen.rectangle(
                (shape.x * scale, shape.y * scale, right, (shape.y + shape.height) * scale - 1), fill=shape.fill
            )
        else:
            font = ImageFont.load_default(shape.size * scale)
            anchor = "rs" if shape.ends else "ls"  # right or left end of the baseline
            pen.text((shape.x * scale, shape.y * scale), shape.text, fill=shape.color, font=font, anchor=anchor)
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()
