"""The documentation site: every page in its navigation, every link with an end.  `make site` builds it strictly."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

import exhume
from exhume.registry import formats, rules_of
from tests.conftest import ROOT
from tests.core.test_help import FORMATS, PUBLIC
from tests.sizes import some
from tools import layout_svg, site
from tools.gen_docs import core_codes


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML has no types
    """YAML with the tags of mkdocs, which name Python objects, read as nothing."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def leaves(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for one in nav.values() if isinstance(nav, dict) else nav:
            yield from leaves(one)


def test_the_navigation_contains_every_page() -> None:
    config = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader=_Loader)
    named = list(leaves(config["nav"]))
    assert len(named) == len(set(named))
    assert set(named) == {*site.sources().values(), *site.GENERATED}


def classes_of(module: ModuleType) -> list[type]:
    """The public classes of a format's module."""
    return [value for name in module.__all__ if inspect.isclass(value := getattr(module, name)) and name[0].isupper()]


def test_pages_are_assembled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "build" / "site-pages"
    monkeypatch.setattr(site, "OUT", out)
    site.main()
    found = {path.relative_to(out).as_posix() for path in out.rglob("*.md")}
    assert found == {*site.sources().values(), *site.GENERATED}
    assert "](formats/zs.md)" in (out / "index.md").read_text(encoding="utf-8")
    assert "](../json.md)" in (out / "reference" / "schemas.md").read_text(encoding="utf-8")
    assert len(list((out / "schemas").glob("*.json"))) > 20
    library = (out / "reference" / "api.md").read_text(encoding="utf-8")
    assert [name for name in (*PUBLIC, *FORMATS) if f" exhume.{name}\n" not in library] == []
    classes = {f"{one.__module__}.{one.__name__}" for name in FORMATS for one in classes_of(getattr(exhume, name))}
    assert {name for name in classes if f"::: {name}\n" not in library} == set()
    assert sum(name.endswith("Writer") for name in classes) == len(FORMATS) - 1  # LevelDB is not written
    assert (out / "copy.js").read_text(encoding="utf-8").count("clipboard") > 1
    limits = (out / "reference" / "limits.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in limits for name in exhume.Limits._fields)


def test_the_search_finds_every_code() -> None:
    """It shows sections by their headings first, and splits what is typed as it splits the pages: at dashes, too."""
    config = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader=_Loader)
    assert "search" in config["plugins"], "without options: one of them could split codes elsewhere"
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "findings").glob("*.md")]
    headings = Counter(line.removeprefix("### ") for page in pages for line in page.splitlines() if line[:4] == "### ")
    codes = [rule.code for one in formats().values() for rule in rules_of(one)] + list(core_codes())
    assert {"LDB-124", "EX-708"} <= set(codes)
    assert {code: headings[code] for code in codes if headings[code] != 1} == {}


def test_a_link_without_an_end_is_refused() -> None:
    known = site.sources()
    assert site.page("README.md", "[a](docs/cli.md#exhume)", known) == "[a](cli.md#exhume)"
    assert site.page("docs/ksy.md", "[a](../README.md)", known) == "[a](index.md)"
    assert site.page("docs/ksy.md", "```\n[a](nothing)\n```", known) == "```\n[a](nothing)\n```"
    with pytest.raises(ValueError, match="nothing"):
        site.page("README.md", "[a](nothing.md)", known)


@pytest.mark.parametrize("schema", [name for names in layout_svg.DRAWN.values() for name in names])
def test_a_layout_is_drawn_inside_its_picture(schema: str) -> None:
    made = layout_svg.boxes(schema)
    width, height = layout_svg._place(made, schema)
    assert schema in made
    for box in made.values():
        assert 0 <= box.x <= width - layout_svg.WIDTH
        assert 0 <= box.y <= height - box.height
        assert box.rows
    text = layout_svg.draw(schema)
    assert text.count("<svg") == text.count("</svg>") == 1


def test_every_format_has_a_diagram() -> None:
    for page in some((ROOT / "docs" / "formats").glob("*.md")):
        for schema in some(layout_svg.DRAWN[page.stem]):
            assert f"(../images/layout-{schema}.svg)" in page.read_text(encoding="utf-8")
