"""The pages of the documentation: every console example prints what the page says."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from exhume.registry import formats
from tests.conftest import ROOT, Ran
from tests.sizes import some

PAGES = ["docs/forensics.md", "docs/arrow.md", "docs/distributed.md", "docs/ksy.md", "README.md"]


def examples(page: str) -> list[tuple[str, str]]:
    """`(command, output)` of every `$` line of a page's console blocks, in order."""
    found: list[tuple[str, str]] = []
    for block in re.findall(r"```console\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ make "):
                continue  # what `make` does is tested by running it
            if line.startswith("$ "):
                found.append((line[2:], ""))
            else:
                command, output = found[-1]
                found[-1] = (command, output + line + "\n")
    return found


@pytest.mark.slow
def test_the_python_examples_of_the_arrow_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served_path: str
) -> None:
    for module in ("pyarrow", "duckdb", "polars", "pandas"):
        pytest.importorskip(module)
    text = (ROOT / "docs/arrow.md").read_text(encoding="utf-8")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    environment = {**os.environ, "PATH": served_path}
    for command, _ in 2 * examples("docs/arrow.md"):  # a page can be followed again
        if "exhume create " in command:
            subprocess.run(["bash", "-c", command], cwd=tmp_path, env=environment, check=True)
    monkeypatch.chdir(tmp_path)
    blocks = "\n".join(re.findall(r"```pycon\n(.*?)```", text, re.DOTALL))
    test = doctest.DocTestParser().get_doctest(blocks, {}, "docs/arrow.md", "docs/arrow.md", 0)
    reported: list[str] = []
    result = doctest.DocTestRunner().run(test, out=reported.append)
    assert result.attempted > 15
    assert result.failed == 0, "".join(reported)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.slow
def test_the_examples_print_what_the_page_states(page: str, tmp_path: Path, served_path: str) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    environment = {**os.environ, "PATH": served_path, "COLUMNS": "100"}
    commands = examples(page)
    assert commands
    for command, expected in commands:
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert "Traceback" not in done.stderr
        printed = "".join(f"{line}\n" for line in (done.stdout + done.stderr).splitlines() if line)
        assert printed == expected, command


def test_the_hook_for_pre_commit_fails_for_damage(tmp_path: Path, exhume_cli: Callable[..., Ran]) -> None:
    yaml = pytest.importorskip("yaml")
    page = (ROOT / "docs/packages.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    (hook,) = yaml.safe_load(text)["repos"][0]["hooks"]
    program, *words = hook["entry"].split()
    sound = [ROOT / "examples/zs/phrases.zs", ROOT / "examples/clp_s/events.clps"]
    damaged = tmp_path / "damaged.zs"
    damaged.write_bytes(sound[0].read_bytes()[:-50] + bytes(50))
    assert (program, exhume_cli(*words, *sound).code) == ("exhume", 0)
    assert exhume_cli(*words, *sound, damaged).code == 4
    assert all(re.search(hook["files"], path.name) for path in (*sound, damaged))
    for format in some(formats().values()):
        assert format.container != "file" or any(re.search(hook["files"], f"a{one}") for one in format.extensions)


def test_every_page_is_linked() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    pages = [path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md")]
    for folder in ("formats", "start"):
        pages += [path.relative_to(ROOT).as_posix() for path in (ROOT / "docs" / folder).glob("*.md")]
    assert [page for page in pages if page not in readme] == []


LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)(?:#([^)\s]+))?\)")


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower().replace("`", "")).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "ksy/README.md", "benchmarks/README.md", "docs"]
)
def test_links_lead_somewhere(page: str) -> None:
    """Every link to a file, and to a heading of a page, has its end in the project."""
    pages = [ROOT / page] if page.endswith(".md") else sorted((ROOT / page).rglob("*.md"))
    texts = {path: re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL) for path in pages}
    assert texts
    for path, target, anchor in ((path, *link) for path, text in texts.items() for link in LINK.findall(text)):
        found = path.parent / target
        assert found.exists(), f"{path.relative_to(ROOT)}: {target}"
        if anchor and found.suffix == ".md":
            assert anchor in anchors(found), f"{path.relative_to(ROOT)}: {target}#{anchor}"


TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


def test_each_promise_of_the_threat_model_names_a_test() -> None:
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith(("| promise", "| ---"))]
    assert len(rows) > 15
    assert [row for row in rows if not TEST.search(row) and "`make " not in row] == []
    for name, function in TEST.findall(page):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert f"def {function}(" in text if function else "def test_" in text, f"{name}::{function}"
