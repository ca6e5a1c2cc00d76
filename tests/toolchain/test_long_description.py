"""What a package index shows: the README without what only the repository has."""

from __future__ import annotations

import importlib
import re
import runpy
import sys
import tomllib
from typing import Any

import pytest

from tests.conftest import ROOT


@pytest.fixture
def description(monkeypatch: pytest.MonkeyPatch) -> str:
    stated: dict[str, Any] = {}
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(importlib.import_module("setuptools"), "setup", lambda **words: stated.update(words))
    monkeypatch.setitem(sys.modules, "Cython.Build", None)  # nothing is compiled for this
    runpy.run_path("setup.py")
    assert stated["long_description_content_type"] == "text/markdown"
    text: str = stated["long_description"]
    return text


def test_it_has_no_link_that_leads_nowhere(description: str) -> None:
    links = re.findall(r"\]\(([^)]*)\)", description)
    assert links
    assert [link for link in links if not link.startswith("https://")] == []
    assert "![" not in description


def test_it_states_what_the_readme_states(description: str) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for block in re.findall(r"^```.*?^```$", readme, re.DOTALL | re.MULTILINE):
        assert block in description
    words = [re.findall(r"\w+", re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)) for text in (readme, description)]
    missing = set(words[0]) - set(words[1])
    pictures = re.findall(r"!\[([^\]]*)\]", readme)
    assert pictures
    assert missing <= set(re.findall(r"\w+", " ".join(pictures))), "only what pictures show is left out"


def test_it_is_what_goes_into_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "readme" in project["dynamic"]
    assert "readme" not in project


def test_every_requirement_has_a_least_version() -> None:
    """Without one an installer that looks for versions which fit together may take one of years ago."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    assert len(wanted) > 25
    assert [one for one in wanted if not re.search(r">=|==", one) and not one.startswith("exhume[")] == []
