"""Help and manual pages: whole sentences, examples that work, and options that the verb takes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import exhume
from exhume.cli.formatcli import format_cli
from exhume.cli.main import main
from exhume.cli.params import EXAMPLES, Jobs
from exhume.registry import formats
from tests.conftest import ROOT

Cli = Callable[..., Any]


def commands(command: click.Command = main, above: click.Context | None = None) -> Iterator[tuple[str, click.Context]]:
    """Every command by the words that name it, `exhume` left out."""
    context = click.Context(command, info_name=command.name if above else "exhume", parent=above)
    if above is not None:
        yield context.command_path.removeprefix("exhume "), context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from commands(found, context)


COMMANDS = dict(commands())
VERBS = {name: context for name, context in COMMANDS.items() if not isinstance(context.command, click.Group)}


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_no_sentence_is_cut(name: str, exhume_cli: Cli) -> None:
    text = exhume_cli(*name.split(), "--help").text
    assert "…" not in text
    assert not re.search(r"[a-z,:;]\.\.\.$", text, re.MULTILINE), "click cuts what it thinks is too long"
    for option in COMMANDS[name].command.get_params(COMMANDS[name]) if name else ():
        assert isinstance(option, click.Argument) or option.help, option.name


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_fits_80_columns(name: str, exhume_cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples are left as they are typed."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = exhume_cli(*name.split(), "--help").text.partition("\nExamples:")[0].splitlines()
    assert [line for line in lines if len(line) > 80] == []


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_names_what_an_option_takes(name: str, exhume_cli: Cli) -> None:
    """As `N`, not by the words that click has for numbers, such as `INTEGER RANGE`."""
    assert not re.search(r"\b(INTEGER|FLOAT) ", exhume_cli(*name.split(), "--help").text)


def test_jobs_is_the_same_everywhere() -> None:
    """One option, of verbs and of formats, with one short form."""
    taken = [option for context in VERBS.values() for option in context.command.get_params(context)]
    taken += [option for one in formats().values() for more in format_cli(one).options.values()
              for option in more]  # fmt: skip
    found = [option for option in taken if {"-j", "--jobs"} & set(option.opts)]
    assert len(found) > len(VERBS) // 2
    assert all(type(option) is Jobs and option.opts == ["--jobs", "-j"] for option in found)


INTERACTIVE = {"browse"}
"""Verbs that need a person at a terminal; `tests/cli/test_browser.py` runs them in one."""


def test_every_verb_has_an_example() -> None:
    assert set(EXAMPLES) == set(VERBS)
    assert all(name in line for name, lines in EXAMPLES.items() for line in lines[:1])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, served_path: str) -> Path:
    """What the examples are about."""
    folder = tmp_path_factory.mktemp("examples")
    examples = ROOT / "examples"
    shutil.copytree(examples / "files", folder / "files")
    shutil.copy(examples / "clp_s/events.jsonl", folder / "app.jsonl")
    shutil.copy(examples / "ark/robot.idl", folder)
    shutil.copy(examples / "ksy/readings.ksy", folder)
    lines = (examples / "ark/robot.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "messages.jsonl").write_text("".join(line for line in lines if "/robot/pose" in line), encoding="utf-8")
    (folder / "words.txt").write_text("cherry\napple\nbanana\n")
    shutil.copytree(ROOT / "tests/samples/leveldb/small", folder / "database")
    run = ["create zs words.txt -o words.zs --sort -q", "create caf files -o files.caf -q"]
    run += ["create clp-s app.jsonl -o events.clps -q", "create databundle files -o photos.bundle -q"]
    types = "--type /robot/pose=demo::Pose --type /robot/battery=demo::Battery"
    run += [f"create ark {examples}/ark/robot.jsonl -o robot --schema robot.idl {types} -q"]
    run += [f"export {examples}/clp_ir/server.clp.zst --to jsonl -o log.jsonl -q"]
    for line in run:
        subprocess.run(["exhume", *line.split()], cwd=folder, env={**os.environ, "PATH": served_path}, check=True)
    (folder / "image.dd").write_bytes(bytes(4096) + (folder / "words.zs").read_bytes() + bytes(4096))
    return folder


@pytest.mark.parametrize("group", ["catalog", "c", "[abd-l]", "[m-z]"])
@pytest.mark.slow
def test_the_examples_work(group: str, place: Path, tmp_path: Path, served_path: str) -> None:
    environment = {**os.environ, "PATH": served_path}
    chosen = {name: lines for name, lines in EXAMPLES.items() if belongs(name, group)}
    assert chosen
    for name, line in ((name, line) for name, lines in chosen.items() for line in lines if name not in INTERACTIVE):
        folder = tmp_path / ("catalog" if group == "catalog" else name.replace(" ", "-"))
        shutil.copytree(place, folder, dirs_exist_ok=True)
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {line} > /dev/null"],
            cwd=folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        # Nothing is lost of an archive that is in order; a verb may answer "no".
        assert done.returncode in (0, 4), (line, done.stderr)


def belongs(name: str, group: str) -> bool:
    """Whether the examples of a verb are among those of a group."""
    if group == "catalog" or name.startswith("catalog"):
        return group == "catalog" and name.startswith("catalog")
    return re.match(group, name) is not None


def test_verbs_that_read_no_archive_offer_no_options_of_reading() -> None:
    for name in ("formats", "schema", "compile", *(name for name in VERBS if name.startswith("create "))):
        options = {option for param in VERBS[name].command.params for option in param.opts}
        if name not in ("create clp-s", "create kv-ir", "create clp-ir"):  # whose inputs may be URLs
            assert "--storage" not in options, name
        if name not in ("create ark", "create clp-s", "create kv-ir", "create clp-ir"):  # whose inputs may be archives
            assert "--limit" not in options, name
        assert not options & {"--format", "--offset", "--length", "--allow-full-download"}, name
        assert {"--json", "--quiet"} <= options


def test_usage_errors_name_the_verb(samples: Path, exhume_cli: Cli) -> None:
    ran = exhume_cli("info", samples / "zs/words-none.zs", "--by-manifest")
    assert ran.code == 2
    assert "Usage: exhume info " in ran.err


def test_there_is_a_manual_page_for_every_verb(tmp_path: Path) -> None:
    """They are fresh (`make docs`), and in the wheel."""
    pages = {path.stem for path in (ROOT / "docs/man").glob("*.1")}
    assert pages == {"exhume"} | {f"exhume-{name.replace(' ', '-')}" for name in COMMANDS}
    config = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '"share/man/man1" = ["docs/man/*.1"]' in config
    assert exhume.__version__ in (ROOT / "docs/man/exhume.1").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_manual_pages_are_sound() -> None:
    program = shutil.which("groff")
    if program is None:
        pytest.skip("no groff on PATH")
    pages = sorted((ROOT / "docs/man").glob("*.1"))
    done = subprocess.run([program, "-man", "-Tutf8", "-ww", "-z", *pages], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_option_that_the_pages_name_is_there() -> None:
    """`--option` in a page is one of some verb; after the name of a verb, it is one of that verb."""
    known = {
        name: {o for p in c.command.get_params(c) for o in (*p.opts, *p.secondary_opts)} for name, c in VERBS.items()
    }
    everywhere = set().union(*known.values()) | {"--version", "--help", "--verbose"}
    wrong = []
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        if page.name == "cli.md":
            continue
        text = page.read_text(encoding="utf-8")
        prose = "\n".join(line for line in text.splitlines() if "|" not in line[:1])
        for verb, rest in re.findall(r"`(?:exhume )?(create [\w-]+|catalog \w+|[a-z]+) ([^`\n]*--[^`\n]*)`", prose):
            if verb in known:
                own = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", rest)) - known[verb]
                wrong += [f"{page.relative_to(ROOT)}: {verb} {option}" for option in sorted(own)]
        for line in re.findall(r"^\$? ?exhume (.*)$", text, re.MULTILINE):
            command = re.split(r"[|#;]| {3,}", line)[0]
            words = command.split()
            verb = " ".join(words[:2]) if words[0] in ("create", "catalog") else {"ls": "list"}.get(words[0], words[0])
            if verb in known:
                own = set(re.findall(r"(?<![\w'\"-])--[a-z][\w-]*", command)) - known[verb]
                wrong += [f"{page.relative_to(ROOT)}: exhume {verb} {option}" for option in sorted(own)]
        named = set(re.findall(r"`(--[a-z][\w-]*)[ `=]", prose)) - everywhere - OTHERS
        wrong += [f"{page.relative_to(ROOT)}: {option}" for option in sorted(named)]
    assert wrong == []


OTHERS = {"--memory", "--path", "--single-file-archive"}
"""Options of other programs that the pages name: of `benchmarks/ark.py`, of target-query, of clp-s."""
