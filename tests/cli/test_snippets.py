"""The Python of the pages: every snippet passes mypy in strict mode, and those of the README run as printed."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.sizes import THOROUGH, some

PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    if re.search(r"^```(python|pycon)$", path.read_text(encoding="utf-8"), re.MULTILINE)
)


def blocks(page: str, kinds: str) -> list[tuple[str, str]]:
    """`(kind, text)` of a page's blocks of these kinds, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```({kinds})\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def program(page: str) -> str:
    """The Python of a page as one module: its snippets follow from each other."""
    parser = doctest.DocTestParser()
    parts = []
    for kind, text in blocks(page, "python|pycon"):
        parts.append(text if kind == "python" else "".join(one.source for one in parser.get_examples(text)))
    return "\n".join(parts)


def scripts(page: str) -> list[tuple[str, str]]:
    """`(name, text)` of the scripts that a page shows as files of their own."""
    return re.findall(
        r'^```python title="(\w+)\.py"\n(.*?)^```$', (ROOT / page).read_text("utf-8"), re.DOTALL | re.MULTILINE
    )


def modules() -> dict[str, str]:
    """The Python of each page, and of each script on it, by its name."""
    found = {page: program(page) for page in PAGES}
    for path in (ROOT / "docs").rglob("*.md"):
        page = path.relative_to(ROOT).as_posix()
        found |= {f"{page}_{name}": text for name, text in scripts(page)}
    return found


UNREAD = (
    "_duckdb", "dask", "distributed", "duckdb", "jinja2", "markdown_it", "polars", "pydantic", "pydantic_core",
    "rich", "sqlalchemy", "textual", "tornado", "upath", "xarray", "zarr",
)  # fmt: skip
"""Libraries whose types take most of the time of mypy: their values are `Any` in `make test`, as those of libraries
without types are.  `make pyright` and `make test-thorough` read them.
"""


def mypy(cache: Path, *words: str) -> list[str]:
    """A command line of mypy, with the options that all tests of the group `mypy` have, or its cache is of no use."""
    # Snippets show an expression for what it is, and import the libraries where they use them.  Functions of imported
    # modules are not examined, which `make types` does: half of the time would go to them.
    how = ["--strict", "--disable-error-code", "no-redef", "--follow-imports=silent"]
    config = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    if not THOROUGH:
        names = [f"{name}.*" for name in UNREAD]
        config += f'\n[[tool.mypy.overrides]]\nmodule = {names}\nfollow_imports = "skip"\n'
    (cache / "mypy.toml").write_text(config, encoding="utf-8")
    how += ["--config-file", f"{cache}/mypy.toml", "--cache-dir", str(cache)]
    return [sys.executable, "-m", "mypy", *how, *words]


@pytest.mark.slow
@pytest.mark.xdist_group("mypy")
def test_every_snippet_passes_mypy(tmp_path: Path, mypy_cache: Path) -> None:
    """And every script, all at once: most of the time goes to what they import.  `make pyright` checks them too."""
    pytest.importorskip("mypy")
    assert "README.md" in PAGES
    found = modules()
    assert "docs/start/examiner.md_report" in found
    for name, text in found.items():
        (tmp_path / (re.sub(r"\W", "_", name.removesuffix(".md")) + ".py")).write_text(text, encoding="utf-8")
    command = mypy(mypy_cache, *map(str, sorted(tmp_path.glob("*.py"))))
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_readme_runs_as_printed_and_again(tmp_path: Path) -> None:
    """A reader pastes one block after another, and begins again after lunch."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for _ in range(2):
        runs = []
        for kind, text in blocks("README.md", "python|console"):
            commands = [line[2:] for line in text.splitlines() if line.startswith("$ ")]
            if kind == "python":
                runs.append((text, [sys.executable, "-c", text]))
            else:
                shell = [["bash", "-c", f"set -o pipefail; {one}"] for one in commands if not one.startswith("make ")]
                runs += [(text, words) for words in shell]
        for text, words in some(runs):
            done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == 0, words[-1]
            assert [line for line in done.stderr.splitlines() if line not in text] == [], words[-1]


def test_the_readme_shows_its_formats_as_they_are_typed() -> None:
    assert "exhume.clps.open(" in program("README.md")
