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
from exhume.testing.corrupt import flip
from exhume.view.page import write_page
from tools import nodejs

Cli = Callable[..., Any]
SCRIPT = Path(__file__).with_name("page_browser.mjs")


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


def test_the_page_holds_every_byte_and_needs_nothing_else(archive_path: Path) -> None:
    page = page_of(archive_path)
    contents = contents_of(page)
    space = contents["spaces"][0]
    data = archive_path.read_bytes()
    chunks = range(space["first"], space["first"] + -(-space["size"] // 65536))
    assert b"".join(chunk_of(page, index) for index in chunks) == data
    assert not re.search(r"(src|href)=", page)
    assert "<script>alert(1)</script>" not in page
    assert any(
        section["name"].endswith("alert(1)<|script>") or "alert(1)" in section["name"]
        for section in contents["sections"]
    )


def test_trees_are_embedded(archive_path: Path) -> None:
    page = page_of(archive_path)
    footer = next(section for section in contents_of(page)["sections"] if section["name"] == "footer")
    tree = json.loads(chunk_of(page, footer["tree"]))
    assert tree["k"][0]["n"] == "len_index"
    assert tree["k"][0]["d"]


def test_findings_are_shown(archive_path: Path) -> None:
    data = archive_path.read_bytes()
    damaged = flip(data, data.index(b'"start_byte":5') + len(b'"start_byte":'), 3)  # 5 becomes 6: a byte nobody claims
    contents = contents_of(page_of(damaged))
    assert contents["findings"]


def test_the_verb_writes_it(archive_path: Path, tmp_path: Path, exhume_cli: Cli) -> None:
    assert exhume_cli("explain", "--html", tmp_path / "p.html", archive_path).code == 0
    assert (tmp_path / "p.html").read_text() == page_of(archive_path)
    assert exhume_cli("explain", "--html", tmp_path / "p.html", archive_path).code == 1
    assert exhume_cli("explain", "--html", tmp_path / "p.html", "--overwrite", archive_path).code == 0


def run_browser(page: Path, *more: str) -> dict[str, Any]:
    browser = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if not browser:
        pytest.skip("no Chromium on PATH (or set CHROMIUM)")
    try:
        node = nodejs.ensure_packages(install=False, browser=True)
    except nodejs.NodeError as error:
        pytest.skip(f"{error} (`make test` installs it where there is a Chromium)")
    done = subprocess.run(
        [*node, str(SCRIPT), browser, str(page), *more], capture_output=True, text=True, check=False, timeout=180
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.node
@pytest.mark.slow
def test_a_person_can_use_it(archive_path: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(page_of(archive_path), encoding="utf-8")
    offset = archive_path.stat().st_size - 2
    result = run_browser(page, str(offset), "len_index")
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


@pytest.mark.node
@pytest.mark.slow
def test_ten_megabytes_open_at_once(tmp_path: Path) -> None:
    path = tmp_path / "large.caf"
    with exhume.create(path, "caf") as writer:
        members: Any = writer
        for number in range(40):
            members.add_bytes(f"member-{number:03d}", os.urandom(262_144))
    page = tmp_path / "page.html"
    page.write_text(page_of(path), encoding="utf-8")
    result = run_browser(page, str(5 << 20), "len_index")
    assert result["errors"] == []
    assert result["steps"]["hex_rows_drawn"] < 200
    assert result["steps"]["after_jump"]["cursor"] == 5 << 20
