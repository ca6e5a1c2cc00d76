"""The section map: valid SVG and PNG, every tile drawn, damage in its place, hostile names harmless."""

from __future__ import annotations

import io
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import Span
from exhume.findings import STRUCTURE_ONLY
from exhume.formats.leveldb.table_writer import write_database
from exhume.layout.sections import Section, SectionKind, SectionMap, SectionRun
from exhume.testing.damage import flip
from exhume.view.map import (
    COLORS,
    DAMAGE,
    MARGIN,
    STRIP,
    TABLE_ROWS,
    VISIBLE,
    WIDTH,
    Rect,
    Text,
    draw_map,
    to_png,
    to_svg,
)
from exhume.view.parts import Bar, bands
from tests.sizes import some

Cli = Callable[..., Any]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("map") / "sample.caf"
    with exhume.create(path, "caf") as writer:
        members: Any = writer
        members.add_bytes("<a&b>\x01\ud800.txt", b"hello" * 100)
        for number in range(3000):
            members.add_bytes(f"small/{number}", b"x")
        members.add_bytes("large", bytes(100_000))
    return path.read_bytes()


def test_tiles_lie_inside_the_strip(data: bytes) -> None:
    with exhume.open(data) as archive:
        drawing = draw_map(archive, archive.verify())
    rects = [shape for shape in drawing.shapes if isinstance(shape, Rect)]
    assert all(r.x >= MARGIN - 0.01 and r.x + r.width <= WIDTH - MARGIN + 0.5 for r in rects)
    assert len(rects) < 200, "slivers of one kind are drawn as one"
    assert any(
        re.fullmatch(rf"ok \((\d.*, )?{STRUCTURE_ONLY}\)", shape.text)
        for shape in drawing.shapes
        if isinstance(shape, Text)
    )
    with exhume.open(data) as archive:
        drawing = draw_map(archive, None)
    assert any(shape.text == "not checked: --no-verify" for shape in drawing.shapes if isinstance(shape, Text))


def test_svg_is_well_formed_whatever_the_names(data: bytes) -> None:
    with exhume.open(data) as archive:
        text = to_svg(draw_map(archive, []))
    root = ET.fromstring(text)
    assert root.tag.endswith("svg")
    assert text == text.encode("utf-8").decode("utf-8")


def test_damage_is_drawn_where_it_is(data: bytes) -> None:
    at = data.index(b'"start_byte":500') + len(b'"start_byte":')
    with exhume.open(flip(data, at, 1)) as archive:
        drawing = draw_map(archive, archive.verify())
    assert any(isinstance(shape, Rect) and shape.fill == DAMAGE and "CAF-" in shape.title for shape in drawing.shapes)


def test_names_and_ratios_are_real(samples: Path) -> None:
    with exhume.open(samples / "zs" / "words-deflate.zs") as archive:
        decompressed = sum(len(s.load()) for s in archive.sections() if s.load and s.name.startswith("data-"))
        stored = sum(s.span.size for s in archive.sections() if s.name.startswith("data-"))
        texts = [shape.text for shape in draw_map(archive, []).shapes if isinstance(shape, Text)]
        unknown = [shape.text for shape in draw_map(archive, None).shapes if isinstance(shape, Text)]
    assert "data-0 … data-5" in texts
    assert not any("#" in text for text in texts)
    assert f"{decompressed / stored:.2f}x" in texts
    assert f"{decompressed / stored:.2f}x" not in unknown, "nothing is decompressed that nobody verified"


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("name", ["zs/words-deflate.zs", "clp_s/*.clps", "leveldb/snappy"])
def test_what_was_decompressed_to_be_verified_is_not_decompressed_again(
    name: str, jobs: int, samples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def payload_size(section: Section, **how: Any) -> int | None:
        assert section.load is None or section.codec is None or section.payload_size is not None, section
        return section.payload_size

    for path in some(sorted(samples.glob(name))[:6]):
        with exhume.open(path) as archive:
            plain = draw_map(archive, list(archive.verify()))
            assert any(s.codec and s.load is not None and s.payload_size is None for s in archive.sections().tiles())
        with monkeypatch.context() as patched, exhume.open(path) as archive:
            patched.setattr("exhume.view.map._payload_size", payload_size)
            assert draw_map(archive, archive.verify(jobs=jobs), jobs=jobs).shapes == plain.shapes


def test_the_name_of_a_damaged_section_is_readable(samples: Path) -> None:
    data = (samples / "zs" / "words-none.zs").read_bytes()
    with exhume.open(data) as archive:
        span = archive.sections().named("data-4").span
    with exhume.open(flip(data, span.start + 16, 1)) as archive:
        drawing = draw_map(archive, archive.verify())
    (name,) = [shape for shape in drawing.shapes if isinstance(shape, Text) and shape.text == "data-4"]
    above = drawing.shapes[drawing.shapes.index(name) :]
    covering = [
        r
        for r in above
        if isinstance(r, Rect) and r.y <= name.y - 6 <= r.y + r.height and r.x <= name.x <= r.x + r.width
    ]
    assert covering == []
    reported = f"damaged: data-4 ({span.start}..{span.end})"
    assert any(isinstance(shape, Text) and shape.text == reported for shape in drawing.shapes)


def test_png(data: bytes) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow (extra picture) is not installed")
    with exhume.open(data) as archive:
        drawing = draw_map(archive, [])
    opened = image.open(io.BytesIO(to_png(drawing)))
    assert opened.size == (drawing.width * 2, drawing.height * 2)
    assert len(opened.getcolors(1 << 20)) > 5


def test_the_verb(data: bytes, tmp_path: Path, exhume_cli: Cli) -> None:
    target = tmp_path / "a.caf"
    target.write_bytes(data)
    assert exhume_cli("map", target).code == 2
    assert exhume_cli("map", target, "--svg", tmp_path / "a.svg").code == 0
    assert exhume_cli("map", target, "--svg", tmp_path / "a.svg").code == 1
    assert (tmp_path / "a.svg").read_text().startswith("<svg")


def test_many_sorts_are_summed_up(tmp_path: Path) -> None:
    """Members of names that have nothing in common are a sort each: the table ends with what the others take."""
    names = ["".join(chr(97 + (number // 26**place) % 26) for place in range(3)) for number in range(40)]
    with exhume.create(tmp_path / "many.caf", "caf") as writer:
        members: Any = writer
        for name in names:
            members.add_bytes(name, name.encode() * 9)
    with exhume.open(tmp_path / "many.caf") as archive:
        texts = [shape.text for shape in draw_map(archive, []).shapes if isinstance(shape, Text)]
    (rest,) = [text for text in texts if "more sorts" in text]
    number, stored = (int(one.split()[0]) for one in rest.split(", "))
    assert number == len(names) + 2 - TABLE_ROWS, "members, index and footer"
    assert stored == 27 * (number - 1) + 4, "the index is the largest, the footer the smallest"


@pytest.mark.parametrize("verified", [False, True])
def test_a_run_of_sections_is_summed_up_as_its_sections_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verified: bool
) -> None:
    """Blocks and their trailers take turns, and there are several of both in each unit of the strip."""
    made = tmp_path / "made"
    made.mkdir()
    rows = ((b"%08d" % number, b"%d" % number * 90) for number in range(40_000))
    write_database(lambda name: (made / name).open("wb"), rows, codec="snappy")
    texts = []
    for flat in (False, True):
        with exhume.open(made) as archive:
            parts = archive.sections().parts
            assert sum(len(part) for part in parts if isinstance(part, SectionRun)) > 6 * WIDTH
            if flat:
                files = {source: [s for s in archive.sections() if s.span.source == source.name] for source in
                         archive.sections().sources.values()}  # fmt: skip
                found = SectionMap(files.items())
                monkeypatch.setattr(type(archive), "sections", lambda *_, found=found, jobs=1: found)
            drawing = draw_map(archive, archive.verify() if verified else None)
        texts.append([shape.text for shape in drawing.shapes if isinstance(shape, Text)])
        bars = [shape for shape in drawing.shapes if isinstance(shape, Rect) and "data@" in shape.title]
        assert len(bars) == 1, "neighbors of one kind without room for a name are one band"
        assert "… " in bars[0].title
        assert re.search(r"\(\d,?\d{3} sections\)", bars[0].title)
        assert {bar.fill for bar in bars} == {COLORS[SectionKind.DATA]}, "trailers are the smaller part of each bar"
    assert texts[0] == texts[1]
    assert any("data@0 … " in text for text in texts[0])


def test_a_sliver_that_asks_for_attention_has_its_color() -> None:
    bars = [Bar.of(Section(str(at), Span("x", at, at + size), kind)) for at, size, kind in
            ((0, 90, SectionKind.DATA), (90, 1, SectionKind.GAP), (91, 5, SectionKind.CHECKSUM))]  # fmt: skip
    kinds = []
    for other in (bars[2], bars[1]):
        bars[0].join(other)
        kinds.append(bars[0].kind)
    assert kinds == [SectionKind.DATA, SectionKind.GAP]
    assert (bars[0].count, bars[0].kinds.total()) == (3, 96)


def test_one_kind_is_one_band_and_a_gap_in_it_is_seen() -> None:
    sizes = [10] * 500 + [1] + [10] * 500
    sections, at = [], 0
    for number, size in enumerate(sizes):
        kind = SectionKind.GAP if size == 1 else SectionKind.DATA
        sections.append(Section(f"data-{number}", Span("x", at, at + size), kind))
        at += size
    found = list(bands(sections, 1000 / at, 60))
    assert [bar.kind for bar in found] == [SectionKind.DATA, SectionKind.GAP, SectionKind.DATA]
    assert sum(bar.count for bar in found) == len(sections)
    assert found[1].count <= 3
    assert (found[0].first.name, found[-1].last) == ("data-0", "data-1000")
    part = list(bands(sections, 1000 / 200, 12, (4900, 5100)))
    assert part[0].start <= 4900
    assert part[-1].end >= 5100
    assert sum(bar.count for bar in part) < 30


def test_damage_of_a_thousandth_is_seen_and_numbers_end_where_they_should(data: bytes) -> None:
    at = data.index(b'"start_byte":500') + len(b'"start_byte":')
    with exhume.open(flip(data, at, 1)) as archive:
        drawing = draw_map(archive, archive.verify())
    marks = [shape for shape in drawing.shapes if isinstance(shape, Rect) and shape.fill == DAMAGE and shape.title]
    assert marks
    assert all(mark.width >= VISIBLE and mark.x + mark.width <= WIDTH - MARGIN + 0.01 for mark in marks)
    numbers = [shape for shape in drawing.shapes if isinstance(shape, Text) and shape.ends]
    assert len({shape.x for shape in numbers}) == 5
    svg = to_svg(drawing)
    assert "prefers-color-scheme: dark" in svg
    assert 'text-anchor="end"' in svg


def test_labels_do_not_collide(data: bytes) -> None:
    with exhume.open(data) as archive:
        drawing = draw_map(archive, [])
    bars = {rect.x: rect for rect in drawing.shapes if isinstance(rect, Rect) and rect.height == STRIP}
    labels = [shape for shape in drawing.shapes if isinstance(shape, Text) and shape.x - 5 in bars]
    assert labels
    assert all(len(label.text) * 7.2 <= bars[label.x - 5].width for label in labels)


def test_without_pillow_the_extra_is_named(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with exhume.open(data) as archive, pytest.raises(exhume.ExhumeError, match=r"exhume\[picture\]"):
        to_png(draw_map(archive, []))
