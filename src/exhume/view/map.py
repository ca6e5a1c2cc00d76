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
INNER = WIDTH - 2 * MARGIN  # width of a strip
STRIP = 64  # height of a strip
ON_STRIP = (22, 40, 56)  # baselines of a bar's name, size and number of sections below its top
ROW = 18  # height of a line of text
TITLE, SMALL, SMALLEST = 16, 12, 11  # sizes of text, besides that of most
BASELINE = 12  # of a small text, below its top
SQUARE, INSET, AFTER_SQUARE = 12, 2, 16  # side of a colored square, how much smaller it is in the table, text after it
LONGEST_NAME, LONGEST_LIST = 62, 160  # characters of a name in the table, and of the names of damaged sections
PNG_SCALE = 2
TABLE_ROWS = 14  # kinds of sections in the table
CHARACTER = 7.2  # average width of a character of a name
BAR, AFTER_BARS, AFTER_LIST = 7, 6, 8  # height of the bars of problems at a strip, space below them, and their list
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
    drawing.shapes.append(Text(MARGIN, y, title, size=TITLE, bold=True))
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
    scale = INNER / source.size if source.size else 0.0
    drawing.shapes.append(Rect(MARGIN, y, INNER, STRIP, EMPTY))
    for bar in bands(tiles, scale, LABELLED) if scale else ():
        _draw(drawing, y, MARGIN + (bar.start - source.origin) * scale, (bar.end - bar.start) * scale, bar)
    return _problems(drawing, y, name, source, tiles, problems)


def _problems(
    drawing: Drawing, y: float, name: str, source: Source, tiles: Sequence[Tile], problems: Sequence[Finding]
) -> float:
    """Draw problems as bars above and below the strip, so that names stay readable; list the sections they touch."""
    scale = INNER / source.size if source.size else 0.0
    touched: dict[bool, set[int]] = {True: set(), False: set()}  # offsets of errors, and of what is unchecked
    marks: dict[tuple[bool, int, int], list[Finding]] = {}  # (is error, x, width): findings drawn as one bar
    for finding in problems:
        span = finding.span
        if span is None or span.source != name:
            continue
        is_error = finding.severity is Severity.ERROR
        x = min((span.start - source.origin) * scale, INNER - VISIBLE)
        width = min(max(VISIBLE, span.size * scale), INNER - x)
        marks.setdefault((is_error, round(x), round(width)), []).append(finding)
        touched[is_error].add(span.start)
    # Later bars cover earlier ones: errors, sorted last, are above what is unchecked.
    for (is_error, x, width), found in sorted(marks.items(), key=lambda mark: mark[0]):
        title = str(found[0]) + (f" (and {len(found) - 1:,} more)" if len(found) > 1 else "")
        for top in (y - BAR, y + STRIP):
            drawing.shapes.append(Rect(MARGIN + x, top, width, BAR, DAMAGE if is_error else UNCHECKED, title))
    y += STRIP + BAR + AFTER_BARS
    for is_error, word, color in ((True, "damaged", DAMAGE), (False, "not checked", UNCHECKED)):
        if sections := _touched(tiles, sorted(touched[is_error])):
            more = f" and {len(sections) - DAMAGED_NAMES:,} more" if len(sections) > DAMAGED_NAMES else ""
            named = ", ".join(f"{one.name} ({one.span.start:,}..{one.span.end:,})" for one in sections[:DAMAGED_NAMES])
            text = _fit(f"{word}: {named}{more}", LONGEST_LIST)
            drawing.shapes.append(Text(MARGIN, y + BASELINE, text, color, SMALL))
            y += ROW
    return y + AFTER_LIST


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
        texts = (bar.name, SMALL), (f"{bar.end - bar.start:,} B{ratio}", SMALLEST), (more.strip(" ()"), SMALLEST)
        for below, (text, height) in zip(ON_STRIP, texts, strict=True):
            if text:
                drawing.shapes.append(Text(x + 5, y + below, _fit(text, room), color, height))


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
        drawing.shapes.append(Rect(x, y, SQUARE, SQUARE, color))
        drawing.shapes.append(Text(x + AFTER_SQUARE + 1, y + BASELINE - 1, label, DIM, SMALL))
        x += 34 + 8 * len(label)  # the square and the gaps, and the characters
    return y + 20


def _sorts(tiles: Iterable[Tile], known: Sizes, *, decode: bool, sound: bool) -> list[_SectionTotals]:
    """The totals of sections whose kinds and names, apart from numbers, are the same; largest first.

    `known` has decompressed sizes, by file and offset; `decode` and `sound` are those of `_payload_size`.
    """
    found: dict[str, _SectionTotals] = {}
    digits = re.compile(r"\d+")

    def totals(name: str, kind: SectionKind) -> _SectionTotals:
        """Return the totals for sections of this kind whose names differ only in numbers."""
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
        drawing.shapes.append(Text(at, y + BASELINE + 1, label, DIM, SMALL, bold=True, ends=at != MARGIN))
    y += ROW + 4
    for sort in sorts[:TABLE_ROWS]:
        side = SQUARE - INSET
        drawing.shapes.append(Rect(MARGIN, y + INSET, side, side, COLORS[sort.kind]))
        drawing.shapes.append(Text(MARGIN + AFTER_SQUARE, y + BASELINE, _fit(sort.name, LONGEST_NAME), INK, SMALL))
        share = f"{sort.stored / total:.1%}" if total else "-"
        payload = f"{sort.payload:,}" if sort.packed else "-"
        for at, text in zip(ENDS, (f"{sort.count:,}", f"{sort.stored:,}", share, payload, sort.ratio), strict=True):
            drawing.shapes.append(Text(at, y + BASELINE, text, INK, SMALL, ends=True))
        y += ROW
    if len(sorts) > TABLE_ROWS:
        rest = sum(sort.stored for sort in sorts[TABLE_ROWS:])
        words = f"{counted(len(sorts) - TABLE_ROWS, 'more sorts')}, {rest:,} {counting('bytes', rest)}"
        drawing.shapes.append(Text(MARGIN + AFTER_SQUARE, y + BASELINE, words, DIM, SMALL))
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


def to_png(drawing: Drawing) -> bytes:
    """The drawing as a PNG at `PNG_SCALE` times its size; raises `MissingDependencyError` without Pillow."""
    import io

    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError as error:
        raise MissingDependencyError(
            "PNG pictures need the extra: pip install 'exhume[picture]'", span=Span("", 0, 0)
        ) from error
    image = Image.new("RGB", (drawing.width * PNG_SCALE, drawing.height * PNG_SCALE), PAPER)
    pen = ImageDraw.Draw(image)
    for shape in drawing.shapes:
        x, y = shape.x * PNG_SCALE, shape.y * PNG_SCALE
        if isinstance(shape, Rect):
            right, bottom = x + max(0, shape.width * PNG_SCALE - 1), y + shape.height * PNG_SCALE - 1
            pen.rectangle((x, y, right, bottom), fill=shape.fill)
        else:
            font = ImageFont.load_default(shape.size * PNG_SCALE)
            anchor = "rs" if shape.ends else "ls"  # right or left end of the baseline
            pen.text((x, y), shape.text, fill=shape.color, font=font, anchor=anchor)
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()
