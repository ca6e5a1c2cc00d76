"""A picture of an archive: each file as a strip of its sections, with sizes, compression ratio and damage.

The drawing is a list of rectangles and labels, rendered as SVG (no dependency) or PNG (extra `picture`).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from xml.sax.saxutils import escape, quoteattr

from exhume.archive import Archive
from exhume.counts import counted, counting
from exhume.engines.verify import describe_verdict
from exhume.errors import ExhumeError, MissingDependencyError, SourceError, Span
from exhume.findings import Finding, Severity
from exhume.io.source import Source
from exhume.layout.measured import Sizes, measuring
from exhume.layout.sections import Section, SectionItem, SectionKind, SectionRun

WIDTH = 1200
MARGIN = 20
STRIP = 64
ROW = 18
TABLE_ROWS = 14
BAR = 7
DAMAGED_NAMES = 4

COLOURS = {
    SectionKind.STRUCTURE: "#5b8fd9",
    SectionKind.DATA: "#9fb0c2",
    SectionKind.CHECKSUM: "#6dbb82",
    SectionKind.PADDING: "#dddddd",
    SectionKind.GAP: "#e8b25c",
    SectionKind.UNREAD: "#d9776f",
}
DAMAGE = "#c62828"
UNCHECKED = "#6a1b9a"
INK, DIM, PAPER = "#1c1e21", "#6b7178", "#ffffff"
VERDICT_COLOURS = {"ok": "#1a7f37", "structure": INK, "damaged": DAMAGE, "incomplete": UNCHECKED, "": DIM}
"""The colours of what `describe_verdict` says: green only if checksums confirm the content."""


@dataclass(frozen=True, slots=True)
class Rect:
    """A filled rectangle; `title` is shown when the pointer is over it (SVG only)."""

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
    colour: str = INK
    size: int = 13
    bold: bool = False


@dataclass(slots=True)
class Drawing:
    """Shapes in drawing order on a white page of `width` x `height`."""

    width: int = WIDTH
    height: int = 0
    shapes: list[Rect | Text] = field(default_factory=list)


@dataclass(slots=True)
class _Sort:
    """The totals of sections of one kind, whose names differ only in numbers."""

    first: str
    last: str
    kind: SectionKind
    count: int = 0
    stored: int = 0
    packed: int = 0
    payload: int = 0

    @property
    def name(self) -> str:
        """The name of the only section, or of the first and the last."""
        return self.first if self.count == 1 else f"{self.first} … {self.last}"

    @property
    def ratio(self) -> str:
        """Decompressed divided by stored size, of those whose decompressed size is known."""
        return f"{self.payload / self.packed:.2f}x" if self.packed else "-"

    def add(self, section: Section, payload: int | None) -> None:
        """Counts one more section, and its decompressed size if that is known."""
        self.last = section.name
        self.count += 1
        self.stored += section.span.size
        if payload is not None:
            self.packed += section.span.size
            self.payload += payload


@dataclass(slots=True)
class _Bar:
    """One bar of the drawing: a section, or several that begin within one unit, represented by the first."""

    first: Section
    start: int
    end: int
    count: int
    kinds: Counter[SectionKind]

    @classmethod
    def of(cls, section: Section) -> _Bar:
        """The bar of one section."""
        return cls(section, section.span.start, section.span.end, 1, Counter({section.kind: section.span.size}))

    @classmethod
    def of_many(cls, run: SectionRun, first: int, last: int) -> _Bar:
        """That of the sections `[first, last)` of a run."""
        kinds: Counter[SectionKind] = Counter()
        for section, _, size in run.sums(first, last):
            kinds[section.kind] += size
        return cls(run[first], run.bounds[first], run.bounds[last], last - first, kinds)

    def join(self, other: _Bar) -> None:
        """Takes over one that follows."""
        self.end = other.end
        self.count += other.count
        self.kinds += other.kinds

    @property
    def kind(self) -> SectionKind:
        """The kind that most of its bytes are of, but always one that asks for attention."""
        troubled = (kind for kind in (SectionKind.UNREAD, SectionKind.GAP) if self.kinds[kind])
        return next(troubled, max(self.kinds, key=lambda kind: self.kinds[kind]))


def draw_map(archive: Archive, findings: Iterable[Finding] | None, *, jobs: int = 1) -> Drawing:
    """The picture of an archive; errors among `findings`, and what could not be checked, are drawn at their place.
    None means that it was not verified.  Sections are found by `jobs` threads (0: one per core).

    If the archive was verified, sections that do not state their decompressed size are decompressed to measure it,
    except for those that verifying has measured already.
    Raises `SourceError` if a section that verifying could read cannot be read now.
    """
    counts = dict.fromkeys(Severity, 0)
    problems = []
    with measuring() as sizes:
        for finding in findings or ():
            counts[finding.severity] += 1
            if finding.is_problem:
                problems.append(finding)
    found = archive.sections(jobs=jobs)
    drawing = Drawing()
    total = found.coverage()
    y: float = MARGIN + 14
    verdict, words = describe_verdict(archive.format, None if findings is None else counts)
    colour = VERDICT_COLOURS[verdict]
    size = f"{total.total:,} {counting('bytes', total.total)}"
    title = f"{PurePosixPath(archive.name).name or archive.name}   {archive.format}   {size}"
    drawing.shapes.append(Text(MARGIN, y, title, size=16, bold=True))
    y += 20
    drawing.shapes.append(Text(MARGIN, y, words, colour, bold=True))
    y += 12
    tiles = [part for part in found.parts if isinstance(part, SectionRun) or part.parent is None]
    by_file: dict[str, list[SectionItem]] = {name: [] for name in found.sources}
    for part in tiles:
        by_file[part.span.source].append(part)
    for name, source in found.sources.items():
        y = _strip(drawing, y, name, source, by_file[name], problems)
    y = _legend(drawing, y + 8)
    known = sizes if not problems else {}
    sorts = _sorts(tiles, known, decode=findings is not None, sound=not problems)
    y = _table(drawing, y + 8, sorts, total.total)
    drawing.height = int(y + MARGIN)
    return drawing


def _strip(
    drawing: Drawing, y: float, name: str, source: Source, tiles: Sequence[SectionItem], problems: Sequence[Finding]
) -> float:
    drawing.shapes.append(Text(MARGIN, y + 14, f"{name}  {source.size:,} {counting('bytes', source.size)}", DIM))
    y += 20
    inner = WIDTH - 2 * MARGIN
    scale = inner / source.size if source.size else 0.0
    drawing.shapes.append(Rect(MARGIN, y, inner, STRIP, "#f1f2f4"))
    for bar in _bars(tiles, scale):
        _draw(drawing, y, MARGIN + (bar.start - source.origin) * scale, (bar.end - bar.start) * scale, bar)
    return _problems(drawing, y, name, source, tiles, problems)


def _bars(tiles: Iterable[SectionItem], scale: float) -> Iterator[_Bar]:
    """What a strip shows that has `scale` units for each byte: sections of less than one unit together."""
    waiting: _Bar | None = None
    for part in tiles:
        for bar in _split(part, scale) if isinstance(part, SectionRun) else (_Bar.of(part),):
            is_narrow = (bar.end - bar.start) * scale < 1
            if waiting is not None and is_narrow and (bar.start - waiting.start) * scale < 1:
                waiting.join(bar)
                continue
            if waiting is not None:
                yield waiting
            waiting = bar
    if waiting is not None:
        yield waiting


def _split(run: SectionRun, scale: float) -> Iterator[_Bar]:
    """The bars of a run: those of its sections that are narrow and begin in the same unit are one."""
    at = 0
    while at < len(run):
        stop = bisect_left(run.bounds, run.bounds[at] + 1 / scale, at + 1, len(run))
        if stop > at + 1 and (run.bounds[stop] - run.bounds[stop - 1]) * scale >= 1:
            stop -= 1
        yield _Bar.of_many(run, at, stop)
        at = stop


def _problems(
    drawing: Drawing, y: float, name: str, source: Source, tiles: Sequence[SectionItem], problems: Sequence[Finding]
) -> float:
    """Draws problems as bars above and below the strip, so that names stay readable; lists the sections they touch."""
    inner = WIDTH - 2 * MARGIN
    scale = inner / source.size if source.size else 0.0
    touched: dict[bool, set[int]] = {True: set(), False: set()}
    for finding in problems:
        span = finding.span
        if span is None or span.source != name:
            continue
        is_error = finding.severity is Severity.ERROR
        x = MARGIN + (span.start - source.origin) * scale
        width = min(max(2.0, span.size * scale), MARGIN + inner - x)
        for top in (y - BAR, y + STRIP):
            drawing.shapes.append(Rect(x, top, width, BAR, DAMAGE if is_error else UNCHECKED, str(finding)))
        touched[is_error].add(span.start)
    y += STRIP + BAR + 6
    for is_error, word, colour in ((True, "damaged", DAMAGE), (False, "not checked", UNCHECKED)):
        if sections := _touched(tiles, sorted(touched[is_error])):
            more = f" and {len(sections) - DAMAGED_NAMES:,} more" if len(sections) > DAMAGED_NAMES else ""
            named = ", ".join(f"{s.name} ({s.span.start:,}..{s.span.end:,})" for s in sections[:DAMAGED_NAMES])
            drawing.shapes.append(Text(MARGIN, y + 12, _fit(f"{word}: {named}{more}", 160), colour, 12))
            y += ROW
    return y + 8


def _touched(tiles: Iterable[SectionItem], starts: Sequence[int]) -> list[Section]:
    """The sections that contain any of these places."""
    found = []
    for part in tiles:
        within = starts[bisect_left(starts, part.span.start) : bisect_left(starts, part.span.end)]
        if isinstance(part, SectionRun):
            found += [part[number] for number in sorted({bisect_right(part.bounds, at) - 1 for at in within})]
        elif within:
            found.append(part)
    return found


def _draw(drawing: Drawing, y: float, x: float, width: float, bar: _Bar) -> None:
    if width <= 0:
        return
    section, count = bar.first, bar.count
    more = f" and {count - 1} more" if count > 1 else ""
    ratio = ""
    if count == 1 and section.payload_size and section.span.size:
        ratio = f", {section.payload_size / section.span.size:.2f}x"
    codec = f", {section.codec}" if section.codec else ""
    title = f"{section.name}{more}: {bar.start}..{bar.end}{codec}{ratio}"
    drawing.shapes.append(Rect(x, y, max(width - (0.6 if width > 3 else 0), 0.4), STRIP, COLOURS[bar.kind], title))
    if width > 60 and count == 1:
        room = int(width / 7.2)
        drawing.shapes.append(Text(x + 5, y + 22, _fit(section.name, room), PAPER if _dark(section.kind) else INK, 12))
        drawing.shapes.append(Text(x + 5, y + 40, _fit(f"{section.span.size:,} B{ratio}", room), INK, 11))


def _dark(kind: SectionKind) -> bool:
    return kind in (SectionKind.STRUCTURE, SectionKind.UNREAD)


def _fit(text: str, room: int) -> str:
    shown = "".join(c if c.isprintable() else "·" for c in text)
    return shown if len(shown) <= room else shown[: max(0, room - 1)] + "…"


def _legend(drawing: Drawing, y: float) -> float:
    x: float = MARGIN
    problems = (("error", DAMAGE), ("not checked", UNCHECKED))
    for label, colour in [*((str(kind), colour) for kind, colour in COLOURS.items()), *problems]:
        drawing.shapes.append(Rect(x, y, 12, 12, colour))
        drawing.shapes.append(Text(x + 17, y + 11, label, DIM, 12))
        x += 34 + 8 * len(label)
    return y + 20


def _sorts(tiles: Iterable[SectionItem], known: Sizes, *, decode: bool, sound: bool) -> list[_Sort]:
    """The totals of the sections by kind, largest first."""
    found: dict[str, _Sort] = {}

    def sort_of(section: Section) -> _Sort:
        pattern = re.sub(r"\d+", "#", section.name)
        return found.setdefault(f"{section.kind} {pattern}", _Sort(section.name, section.name, section.kind))

    def payload(section: Section) -> int | None:
        size = known.get((section.span.source, section.span.start)) if section.load is not None else None
        return _payload_size(section, decode=decode, sound=sound) if size is None else size

    for part in tiles:
        if isinstance(part, SectionRun):
            forms = sorted(part.forms.items(), key=lambda form: form[1].span.start)
            sorts = {kind: sort_of(section) for kind, section in forms}
            for kind, (_, count, stored) in zip(part.forms, part.sums(), strict=True):
                sorts[kind].count += count
                sorts[kind].stored += stored
            for number in sorted({kind: number for number, kind in enumerate(part.sorts)}.values()):
                sorts[part.sorts[number]].last = part[number].name
            for number, size in _decompressed(part, known, payload, decode=decode):
                sort = sorts[part.sorts[number]]
                sort.packed += part.bounds[number + 1] - part.bounds[number]
                sort.payload += size
        else:
            sort_of(part).add(part, payload(part))
    return sorted(found.values(), key=lambda s: (-s.stored, s.name))


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
        return len(section.load())
    except ExhumeError as error:
        if sound and isinstance(error, SourceError):
            raise
        return None


def _table(drawing: Drawing, y: float, sorts: Sequence[_Sort], total: int) -> float:
    columns = (
        (MARGIN, "sections"),
        (520, "count"),
        (610, "stored bytes"),
        (760, "share"),
        (850, "decompressed"),
        (1010, "ratio"),
    )
    for x, label in columns:
        drawing.shapes.append(Text(x, y + 13, label, DIM, 12, bold=True))
    y += ROW + 4
    for sort in sorts[:TABLE_ROWS]:
        drawing.shapes.append(Rect(MARGIN, y + 2, 10, 10, COLOURS[sort.kind]))
        share = f"{sort.stored / total:.1%}" if total else "-"
        payload = f"{sort.payload:,}" if sort.packed else "-"
        cells = (_fit(sort.name, 62), f"{sort.count:,}", f"{sort.stored:,}", share, payload, sort.ratio)
        for (x, _), text in zip(columns, cells, strict=True):
            drawing.shapes.append(Text(x + (16 if x == MARGIN else 0), y + 12, text, INK, 12))
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
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{drawing.width}" height="{drawing.height}" '
        f'viewBox="0 0 {drawing.width} {drawing.height}" font-family="system-ui, sans-serif">',
        f'<rect width="100%" height="100%" fill="{PAPER}"/>',
    ]
    for shape in drawing.shapes:
        if isinstance(shape, Rect):
            title = f"<title>{_xml(shape.title)}</title>" if shape.title else ""
            box = f'x="{shape.x:.2f}" y="{shape.y:.2f}" width="{shape.width:.2f}" height="{shape.height:.2f}"'
            out.append(f"<rect {box} fill={quoteattr(shape.fill)}>{title}</rect>")
        else:
            weight = ' font-weight="600"' if shape.bold else ""
            place = f'x="{shape.x:.2f}" y="{shape.y:.2f}" font-size="{shape.size}"'
            out.append(f'<text {place} fill="{shape.colour}"{weight}>{_xml(shape.text)}</text>')
    return "\n".join([*out, "</svg>", ""])


def _xml(text: str) -> str:
    """Text that XML can hold: control characters and lone surrogates become dots."""
    return escape("".join(c if c.isprintable() else "·" for c in text))


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
            pen.text((shape.x * scale, shape.y * scale), shape.text, fill=shape.colour, font=font, anchor="ls")
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()
