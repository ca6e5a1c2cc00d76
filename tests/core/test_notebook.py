"""What a notebook shows: self-contained, escaped, and not longer than one reads."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

import exhume
from exhume.errors import Span
from exhume.findings import Finding, Severity
from exhume.formats.caf.writer import CafWriter
from exhume.view.notebook import MOST_ROWS
from tests.archives import label, own_archives
from tests.sizes import some

HOSTILE = "<script>alert(1)</script>\" onload='x' \x1b[31m\u202e & more"


class Page(HTMLParser):
    """Tags and text; only those of a table, well nested, without links and scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.rows = 0
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ("table", "caption", "tr", "th", "td")
        assert {name for name, _ in attrs} <= {"style", "colspan"}
        self.open.append(tag)
        self.rows += tag == "tr"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.parametrize("path", own_archives(), ids=label)
def test_every_format(path: Path) -> None:
    with exhume.open(path) as archive:
        page = Page(archive._repr_html_())
        assert page.texts[0].startswith(f"{archive.format} archive ")
        assert next(iter(archive.info().to_dict())) in page.texts
        sections = archive.sections()
        listed = Page(sections._repr_html_())
        assert sections[0].name in listed.texts
        assert listed.rows == 1 + min(len(sections), MOST_ROWS + 1)
        assert f"{sections[0].span.size:,}" in listed.texts


@pytest.mark.parametrize("path", own_archives()[::4], ids=label)
def test_an_explained_section_shows_its_fields(path: Path) -> None:
    for count, section in some(enumerate(exhume.explain(path))):
        page = Page(section._repr_html_())
        fields = [node for tree in section.trees() for _, node in tree.walk()]
        if not section.findings:
            assert page.rows == 1 + min(len(fields), MOST_ROWS + 1)
        assert any(section.section.name in text for text in page.texts)
        if count == 20:
            break


def test_an_explained_section_shows_its_findings(samples: Path) -> None:
    data = bytearray((samples / "zs/words-none.zs").read_bytes())
    data[-1] ^= 1
    pages = "".join(section._repr_html_() for section in exhume.explain(data, format="zs"))
    assert "ZS-2" in pages or "ZS-3" in pages


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    finding = Finding("EX-1", Severity.ERROR, HOSTILE, Span(HOSTILE, 1, 2), HOSTILE, HOSTILE, HOSTILE * 100)
    page = Page(finding._repr_html_())
    shown = HOSTILE.replace("\x1b", "\\x1b").replace("\u202e", "\\u202e")
    assert page.texts[0] == f"EX-1 error: {shown}"
    assert page.texts.count(shown) == 2
    assert max(map(len, page.texts)) < 300
    path = tmp_path / f"{HOSTILE.replace('/', '|')}.caf"
    with CafWriter(path) as writer:
        for number in range(MOST_ROWS + 5):
            writer.add_bytes(f"{number}{HOSTILE.replace('/', '|')}", b"x")
    with exhume.open(path) as archive:
        assert Page(archive._repr_html_()).rows
        page = Page(archive.sections()._repr_html_())
        assert page.rows == MOST_ROWS + 2
        assert page.texts[-2].endswith(" more")


def test_an_archive_that_cannot_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with exhume.open(own_archives()[-1]) as archive:

        def fail() -> None:
            raise exhume.ExhumeError("no <info>")

        monkeypatch.setattr(archive, "info", fail)
        assert "no <info>" in Page(archive._repr_html_()).texts[-2]
