"""Docstrings say what is raised and cite the specification; the check finds those that do not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from exhume import registry
from tools import docstrings
from tools.blocks import ROOT

HEAD = '"""A module.\n\nSpec: zs.txt.\n"""\n'


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the check before an empty package with one format."""
    (tmp_path / "formats" / "one").mkdir(parents=True)
    monkeypatch.setattr(docstrings, "SRC", tmp_path)
    monkeypatch.setattr(docstrings, "EXEMPT", {})
    return tmp_path / "formats" / "one"


@pytest.mark.slow
def test_every_docstring_states_what_it_has_to() -> None:
    assert docstrings.faults() == []


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("def f():\n    raise WriterError('no')\n", "WriterError"),
        ("def f():\n    '''Raises when it fails.'''\n    raise WriterError('no')\n", "WriterError"),
        ("def f():\n    '''Raises `SourceError`.'''\n    raise errors.WriterError('no')\n", "WriterError"),
        ("def f():\n    '''Works.'''\n    raise checks.BAD_MAGIC.error(span=None)\n", "BAD_MAGIC"),
        ("def f():\n    '''Works.'''\n    raise source_error(error) from error\n", "source_error"),
        ("class A:\n    def f(self):\n        '''Works.'''\n        raise self._gone()\n", "_gone"),
        (
            "class A:\n    class B:\n        async def f(self):\n            raise EntryNotFoundError\n",
            "EntryNotFoundError",
        ),
    ],
)
def test_silence_is_found(package: Path, code: str, absent: str) -> None:
    (package / "reader.py").write_text(HEAD + code)
    (line,) = docstrings.faults()
    assert line.endswith(f"raises {absent} and does not document it")


@pytest.mark.parametrize(
    "code",
    [
        "def f():\n    '''Raises `WriterError`.'''\n    raise WriterError('no')\n",
        "def f():\n    '''Breaks BAD_MAGIC.'''\n    raise checks.BAD_MAGIC.error(span=None)\n",
        "def f():\n    '''Raises ZS-101.'''\n    raise checks.BAD_MAGIC.error(span=None)\n",
        "def f():\n    '''An error is raised in its place.'''\n    raise failure\n",
        "def f():\n    try:\n        pass\n    except OSError:\n        raise\n",
        "def f():\n    def g():\n        raise WriterError('no')\n    return g\n",
        "def f():\n    raise AssertionError('the subclass does it')\n",
        "def _f():\n    raise WriterError('no')\n",
        "class _A:\n    def f(self):\n        raise WriterError('no')\n",
        "@click.command('f')\ndef f():\n    '''Help for users.'''\n    raise click.UsageError('no')\n",
    ],
)
def test_what_is_sufficient_is_left_alone(package: Path, code: str) -> None:
    (package / "reader.py").write_text(HEAD + code)
    assert docstrings.faults() == []


@pytest.mark.parametrize("name", ["layout", "layout_table", "reader", "checks", "writer", "sections", "verify"])
def test_a_missing_specification_is_found(package: Path, name: str) -> None:
    (package / f"{name}.py").write_text('"""A module."""\n')
    (package / "other.py").write_text('"""A module."""\n')
    assert docstrings.faults() == [f"formats/one/{name}.py has no line `Spec:`"]


def test_a_section_that_is_not_there_is_found(package: Path) -> None:
    cited = '"""A module.\n\nSpec: `docs/formats/zs.md`, "{}".\n"""\n'
    (package / "reader.py").write_text(cited.format("Write"))
    assert docstrings.faults() == []
    (package / "reader.py").write_text(cited.format("Riddles"))
    assert docstrings.faults() == ['formats/one/reader.py cites "Riddles", which docs/formats/zs.md lacks']


def test_exceptions_are_few_and_needed(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (package / "reader.py").write_text(HEAD + "def f():\n    raise WriterError('no')\n")
    monkeypatch.setattr(docstrings, "EXEMPT", {"formats/one/reader.py:f": "a reason"})
    assert docstrings.faults() == []
    monkeypatch.setattr(
        docstrings, "EXEMPT", {"formats/one/reader.py:f": "a reason", "formats/one/reader.py:g": "none"}
    )
    assert docstrings.faults() == ["EXEMPT names formats/one/reader.py:g, which needs no exception"]
    many = {f"formats/one/reader.py:f{number}": "a reason" for number in range(11)}
    code = "".join(f"def f{number}():\n    raise WriterError('no')\n" for number in range(11))
    (package / "reader.py").write_text(HEAD + code)
    monkeypatch.setattr(docstrings, "EXEMPT", many)
    assert docstrings.faults() == ["EXEMPT has 11 exceptions; 10 are allowed"]


def test_rules_of_clp_ir_cite_sections_of_its_page() -> None:
    """Streams of text have no specification of their own but our page."""
    rules = registry.rules_of(registry.get_format("clp-ir"))
    page = (ROOT / "docs/formats/clp_ir.md").read_text(encoding="utf-8")
    headings = {f"CLP IR, {heading}" for heading in re.findall(r"^#+ (.*)$", page, re.MULTILINE)}
    assert {rule.spec for rule in rules} <= headings


@pytest.mark.slow
def test_rules_of_kv_ir_cite_sections_of_its_page() -> None:
    """KV-IR has no specification of its own but our page."""
    rules = registry.rules_of(registry.get_format("kv-ir"))
    page = (ROOT / "docs/formats/kv_ir.md").read_text(encoding="utf-8")
    headings = {f"KV-IR, {heading}" for heading in re.findall(r"^#+ (.*)$", page, re.MULTILINE)}
    assert {rule.code: rule.spec for rule in rules if rule.spec not in headings} == {}


def test_a_draw_is_the_same_for_the_same_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docstrings, "SRC", docstrings.SRC / "io")  # a part of the code, as the whole takes seconds
    first = [found.place for found in docstrings.draw(20, 7)]
    assert len(set(first)) == 20
    assert first == [found.place for found in docstrings.draw(20, 7)]
    assert first != [found.place for found in docstrings.draw(20, 8)]
