"""The explain page: self-contained, safe against hostile names, usable in a real browser."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import shutil
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.testing.damage import flip
from exhume.view.page import CHUNK, write_page
from tests.conftest import ROOT
from tools import nodejs

Cli = Callable[..., Any]
SCRIPTS = Path(__file__).parent


@pytest.fixture(scope="module")
def archive_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CAF whose names try to break out of the page, with one member of 200 kB."""
    path = tmp_path_factory.mktemp("page") / "sample.caf"
    with exhume.create(path, "caf") as writer:
        members: Any = writer
        members.add_bytes("</script><script>alert(1)</script>", b"hello")
        members.add_bytes("big.bin", bytes(range(256)) * 800)
    return path


def page_of(target: Path | bytes) -> str:
    out = io.StringIO()
    with exhume.open(target) as archive:
        write_page(archive, archive.verify(), out)
    return out.getvalue()


def contents_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="contents">(.*?)</script>', page)
    assert found
    loaded: dict[str, Any] = json.loads(found[1])
    return loaded


def chunk_of(page: str, index: int) -> bytes:
    found = re.search(rf'<script type="text/plain" id="c{index}">([^<]*)</script>', page)
    assert found
    return zlib.decompress(base64.b64decode(found[1]))


def bytes_on(page: str, space: dict[str, Any]) -> dict[int, bytes]:
    """The parts of an address space that a page holds, by where they begin."""
    return {index * CHUNK: chunk_of(page, chunk) for index, chunk in space["grid"]}


def test_the_page_contains_every_byte_and_needs_nothing_else(archive_path: Path) -> None:
    page = page_of(archive_path)
    contents = contents_of(page)
    parts = bytes_on(page, contents["spaces"][0])
    assert b"".join(parts[at] for at in sorted(parts)) == archive_path.read_bytes()
    assert not re.search(r"(src|href)=", page.partition('<script type="application/json"')[0])
    assert "<script>alert(1)</script>" not in page
    assert any("alert(1)" in section["name"] for section in contents["sections"])


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of more than 3 MB in 400 blocks."""
    path = tmp_path_factory.mktemp("large") / "large.zs"
    with exhume.create(path, "zs", codec="none", block_size=8192) as writer:
        records: Any = writer
        records.add_records(b"%08d %s" % (number, b"x" * 90) for number in range(32_000))
    return path


@pytest.fixture(scope="module")
def large(sound: Path) -> Path:
    """The same archive with damage in the middle of its 251st data block."""
    path = sound.with_name("damaged.zs")
    path.write_bytes(sound.read_bytes())
    with exhume.open(path) as archive:
        span = archive.sections().named("data-250").span
    with path.open("r+b") as file:
        file.seek(span.start + 4000)
        file.write(b"\0")
    return path


def test_a_page_of_a_large_archive_is_bounded(large: Path) -> None:
    page = page_of(large)
    contents = contents_of(page)
    assert len(page) < 5_000_000
    (finding,) = contents["findings"]
    sections = {section["name"]: section for section in contents["sections"] if not section["skipped"]}
    assert {"header", "data-0", "data-15", "data-250", "index-0"} <= set(sections)
    assert "data-16" not in sections
    (left,) = [one for one in contents["sections"] if one["skipped"] and one["kind"] == "data"]
    assert left["note"].startswith("data-16 to data-")
    damaged, data = sections["data-250"], large.read_bytes()
    parts = bytes_on(page, contents["spaces"][0])
    assert sum(map(len, parts.values())) < len(data) / 4
    for at, part in parts.items():
        assert data[at : at + CHUNK] == part
    assert "tree" in damaged
    assert "payload" in sections["index-0"], "what is small has its fields, however much there is before it"
    assert {at // CHUNK for at in (damaged["start"], finding["start"], damaged["end"] - 1)} <= {
        at // CHUNK for at in parts
    }
    assert contents["stripes"][0][0][0] == 0
    assert contents["stripes"][0][-1][1] == len(data)
    assert len(contents["stripes"][0]) < 2100


def test_the_rest_is_on_request(large: Path, tmp_path: Path, exhume_cli: Cli) -> None:
    page = tmp_path / "page.html"
    assert exhume_cli("explain", "--html", page, "--section", "data-99", large).code == 0
    (section,) = contents_of(page.read_text())["sections"]
    assert section["name"] == "data-99"
    assert len(json.loads(chunk_of(page.read_text(), section["payload"]))["k"][0]["k"]) > 64, "every record"
    assert exhume_cli("explain", "--html", page, "--overwrite", "--range", "0x100000:0x100010", large).code == 0
    contents = contents_of(page.read_text())
    assert contents["open"] == 0x100000
    assert bytes_on(page.read_text(), contents["spaces"][0]).keys() == {0x100000}


def test_trees_are_embedded(archive_path: Path) -> None:
    page = page_of(archive_path)
    footer = next(section for section in contents_of(page)["sections"] if section["name"] == "footer")
    tree = json.loads(chunk_of(page, footer["tree"]))
    assert tree["k"][0]["n"] == "len_index"
    assert tree["k"][0]["d"]


def test_findings_are_shown(archive_path: Path) -> None:
    data = archive_path.read_bytes()
    damaged = flip(data, data.index(b'"start_byte":5') + len(b'"start_byte":'), 3)  # 5 becomes 6: an unclaimed byte
    contents = contents_of(page_of(damaged))
    assert contents["findings"]


def test_the_verb_writes_it(archive_path: Path, tmp_path: Path, exhume_cli: Cli) -> None:
    assert exhume_cli("explain", "--html", tmp_path / "p.html", archive_path).code == 0
    assert (tmp_path / "p.html").read_text() == page_of(archive_path)
    assert exhume_cli("explain", "--html", tmp_path / "p.html", archive_path).code == 1
    assert exhume_cli("explain", "--html", tmp_path / "p.html", "--overwrite", archive_path).code == 0


def run_browser(script: str, page: Path | str, *more: str) -> dict[str, Any]:
    browser = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if not browser:
        pytest.skip("no Chromium on PATH (or set CHROMIUM)")
    try:
        node = nodejs.ensure_packages(install=False, browser=True)
    except nodejs.NodeError as error:
        pytest.skip(f"{error} (`make test` installs it where there is a Chromium)")
    done = subprocess.run(
        [*node, str(SCRIPTS / script), browser, str(page), *more],
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.node
@pytest.mark.slow
def test_a_person_can_use_it(archive_path: Path, sound: Path, tmp_path: Path) -> None:
    """Everything that needs a browser, so that a machine without one skips it once."""
    use(archive_path, tmp_path)
    use_damaged(tmp_path)
    page = tmp_path / "large.html"
    page.write_text(page_of(sound), encoding="utf-8")
    with exhume.open(sound) as archive:
        shown = archive.sections().named("data-3").span
    result = run_browser("page_browser.mjs", page, str(shown.start + 2), "len_file")
    assert result["errors"] == []
    assert result["steps"]["hex_rows_drawn"] < 200
    assert result["steps"]["after_jump"]["cursor"] == shown.start + 2


def use(archive_path: Path, tmp_path: Path) -> None:
    """Clicks, hovers, jumps and searches on the page of a sound archive."""
    page = tmp_path / "page.html"
    page.write_text(page_of(archive_path), encoding="utf-8")
    offset = archive_path.stat().st_size - 2
    result = run_browser("page_browser.mjs", page, str(offset), "len_index")
    steps = result["steps"]
    assert result["errors"] == []
    assert result["requests"] == [page.as_uri()]
    assert steps["selected_bytes"] > 0
    assert steps["after_click"]["cursor"] == 3
    assert steps["hovered_detail"]
    assert steps["after_jump"] == {
        "space": 0,
        "cursor": offset,
        "selected": "len_index",
        "rows": steps["after_jump"]["rows"],
    }
    assert steps["jump_visible"]
    assert steps["after_search"]["selected"] == "len_index"
    assert "4 bytes" in steps["search_detail"]
    assert {steps["theme"], steps["other_theme"]} == {"dark", "light"}
    assert steps["hex_rows_drawn"] < 200


def use_damaged(tmp_path: Path) -> None:
    """Examine the page of a damaged archive in light, dark, on a telephone, and by keyboard alone."""
    data = (ROOT / "tests/samples/zs/words-none.zs").read_bytes()
    with exhume.open(data) as archive:
        span = archive.sections().named("data-4").span
    page = tmp_path / "damaged.html"
    page.write_text(page_of(flip(data, span.start + 16, 1)), encoding="utf-8")
    result = run_browser("page_damaged.mjs", page, str(tmp_path), "data-4")
    for mode in ("light", "dark", "telephone"):
        seen = result[mode]
        assert (seen["errors"], seen["verdict"]) == ([], "damaged (1 error)"), mode
        assert seen["elsewhere"]["selected"] == "header"
        assert seen["axe"] == [], mode
        for shown in (seen["opened"], seen["clicked"]):
            assert (shown["selected"], shown["cursor"]) == ("block", span.start), "the error is where it opens"
            assert shown["finding"].endswith("[ZS-202]")
            assert shown["whole"], "nothing of the finding is cut off"
            assert shown["marked"] == span.size or mode == "telephone"
            assert shown["both"] not in (shown["damaged"], shown["panel"], None), "selected and damaged is told apart"
            assert (shown["current"], shown["overflow"]) == (1, 0)
            assert "damaged" in shown["legend"]
        assert seen["swatches"] == 10
        assert seen["copied"] == seen["address"] == f"{page.as_uri()}#{span.start:#x}"
        assert (tmp_path / f"{mode}.png").stat().st_size > 5000
    links = result["links"]
    assert all(one["errors"] == [] for one in links.values())
    assert links["#0x1f4"]["cursor"] == 0x1F4
    assert (links["#data-4"]["selected"], links["#data-4"]["cursor"]) == ("data-4", span.start)
    assert links["#nowhere"]["detail"].startswith("no section nowhere")
    assert "outside" in links["#0xffffffffff"]["detail"]
    keyboard = result["keyboard"]
    assert keyboard["errors"] == []
    assert keyboard["finding"]["selected"] == "block"
    assert keyboard["finding"]["whole"]
    assert keyboard["focused"] == "tree"
    assert keyboard["below"]["selected"] == "block"
    assert keyboard["copied"] == f"{page.as_uri()}#{span.start:#x}"
    assert {"verdict", "space", "search", "theme", "legend", "hex", "tree"} <= set(keyboard["reached"])
    switched = result["switched"]
    assert switched["from"] != switched["space"] == 0, "an address that only the file has"
    assert switched["cursor"] == switched["last"]
    assert not any("0 elements" in row for row in result["rows"])


def test_a_list_of_sections_is_counted() -> None:
    page = page_of(ROOT / "tests/samples/zs/words-none.zs")
    header = contents_of(page)["sections"][0]
    (blocks,) = [one for one in json.loads(chunk_of(page, header["tree"]))["k"] if one["n"] == "blocks"]
    assert blocks["v"] == "9 elements, each a section of its own"


def test_progress_reports_the_sections_done() -> None:
    reported: list[tuple[int, int | None, str]] = []
    with exhume.open(ROOT / "tests/samples/zs/words-none.zs") as archive:
        write_page(archive, None, io.StringIO(), progress=lambda *one: reported.append(one))
        assert reported == [(number, None, "sections") for number in range(1, len(archive.sections()) + 1)]


def test_a_finding_without_a_place_leads_nowhere() -> None:
    from exhume.findings import Finding, Severity

    out = io.StringIO()
    with exhume.open(ROOT / "tests/samples/zs/words-none.zs") as archive:
        write_page(archive, [Finding("ZS-201", Severity.ERROR, "somewhere")], out)
    (finding,) = contents_of(out.getvalue())["findings"]
    assert (finding["code"], finding["space"]) == ("ZS-201", None)
