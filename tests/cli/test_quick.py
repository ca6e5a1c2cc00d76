"""The plain command lines that run without click give what click's way gives, and load next to nothing."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import exhume_ksy
import msgpack
import pytest
import zstandard
from click import Context, Option

import exhume
from exhume.cli import quick
from exhume.cli.formatcli import contributed
from exhume.cli.main import invoke, main
from exhume.cli.outcome import Outcome
from exhume.registry import formats

DEMO = "tests/samples/clp_s/demo.clps"
TINY = "tests/samples/clp_s/tiny.clps"

PLAIN = [
    ["search", DEMO, "level: ERROR"],
    ["search", DEMO, "nosuch: 1"],
    ["search", "-q", DEMO, "nosuch: 1"],
    ["search", "--quiet", DEMO, "nosuch: 1", "--exit-status"],
    ["search", DEMO, "*: *", "--count"],
    ["search", DEMO, "*: *", "--ordered"],
    ["search", "-i", DEMO, "level: error", "--count"],
    ["search", "--ignore-case", DEMO, "level: error"],
    ["search", DEMO, "*: *", "--tge", "1700000000000", "--tle=1900000000000"],
    ["search", DEMO, "*: *", "--tge", "17"],
    ["search", DEMO, "level: ERROR", "--explain-plan"],
    ["search", DEMO, "level:: ERROR"],
    ["search", "no/such/file", "a: 1"],
    ["search", "README.md", "a: 1"],
    ["cat", DEMO],
    ["cat", DEMO, TINY],
    ["cat", DEMO, TINY, "--ordered"],
    ["cat", "-j", "2", DEMO],
    ["cat", "--complete", "--jobs=2", DEMO],
    ["cat", "no/such/file"],
]

LEFT_TO_CLICK = [
    [],
    ["search"],
    ["search", DEMO],
    ["search", "--help"],
    ["search", DEMO, "a: 1", "--json"],
    ["search", DEMO, "a: 1", "--coun"],
    ["search", DEMO, "a: 1", "--count=1"],
    ["search", DEMO, "a: 1", "--tge"],
    ["search", DEMO, "a: 1", "--tge", "x"],
    ["search", DEMO, "a: 1", "--tge", "5", "--tle", "4"],
    ["search", DEMO, "a: 1", "--projection", "a"],
    ["search", "tests/samples/zs/extended.zs", "a"],
    ["search", DEMO, "tests/samples/zs/extended.zs", "a"],
    ["search", DEMO, TINY, "level: ERROR"],
    ["search", "memory://many/*.clps", "level: ERROR"],
    ["cat"],
    ["cat", "--jobs", "-1", DEMO],
    ["cat", "-j2", DEMO],
    ["cat", "--from", "1", DEMO],
    ["cat", "tests/samples/zs/extended.zs"],
    ["info", DEMO],
    ["--version"],
]


@pytest.fixture(autouse=True)
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])


@pytest.mark.parametrize("argv", PLAIN, ids=" ".join)
def test_the_answers_are_the_same(argv: list[str], capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    quickly = quick.run(argv)
    ours = capfdbinary.readouterr()
    assert quickly is not None
    slowly = invoke(argv)
    theirs = capfdbinary.readouterr()
    assert quickly == slowly
    assert ours == theirs
    assert ours.out or ours.err or quickly is not Outcome.DONE or "-q" in argv


@pytest.mark.parametrize("argv", LEFT_TO_CLICK, ids=" ".join)
def test_what_is_left_to_click_was_not_begun(argv: list[str], capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert quick.run(argv) is None
    assert capfdbinary.readouterr() == (b"", b"")


def test_people_get_click(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert quick.run(["cat", DEMO]) is None


@pytest.mark.parametrize("verb", quick.VERBS)
def test_the_options_are_those_of_click(verb: str) -> None:
    """Every option known here is one of the verb's, of the same kind; every default is click's."""
    command = main.get_command(Context(main), verb)
    assert command is not None
    params = {param.name: param for param in command.get_params(Context(command)) if isinstance(param, Option)}
    mine = [described for described in formats().values() if described.quick is not None]
    assert mine
    tables = [described.hook("quick").OPTIONS[verb] for described in mine]
    for table in [quick._COMMON, quick._OF_VERB[verb], *tables]:
        for flag, (name, kind) in table.items():
            assert flag in params[name].opts
            assert params[name].is_flag is (kind is None)
            assert not params[name].multiple
    for described in mine:
        contributions = {option.name: option for option in described.hook("cli").OPTIONS[verb]}
        assert set(contributions) <= set(contributed(verb))
        defaults = described.hook("quick").DEFAULTS[verb]
        assert set(defaults) == set(contributions)
        for name, option in contributions.items():
            default = option.get_default(Context(command))
            plain = None if type(default).__name__ == "Sentinel" else default
            assert (defaults[name] or None) == (plain or None)


NEEDLESS = (
    "click", "rich", "fsspec", "numpy", "pyarrow", "kaitaistruct", "exhume_ksy.debug", "inspect", "dataclasses", "json",
    "typing", "platform", "pathlib", "pkgutil", "importlib.util", "urllib", "uuid", "concurrent", "logging", "asyncio",
    "subprocess", "contextlib", "queue",
    "exhume.io.jsonout", "exhume.io.remote.opening", "exhume.cli.main", "exhume.cli.formatcli",
    "exhume.cli.cmd_search", "exhume.formats.clp_s.writer", "exhume.formats.clp_s.cli", "exhume.formats.clp_s.arrow",
    "exhume.formats.clp_s.write.timestamps",
)  # fmt: skip
SCRIPT = """
import json, sys
before = set(sys.modules) - {"json"}
for name in [name for name in sys.modules if name.split(".")[0] == "json"]:
    del sys.modules[name]
from exhume.cli import quick
outcome = quick.run(sys.argv[1:])
print(json.dumps([outcome, sorted(set(sys.modules) - before)]), file=sys.stderr)
"""


@pytest.mark.parametrize("query", ["nosuch: 1", "level: ERROR", 'message: "*nothing like it*"'])
def test_a_search_loads_only_what_it_needs(query: str) -> None:
    """Imports are most of what a short search costs; each of these is a millisecond or more."""
    command = [sys.executable, "-S", "-c", SCRIPT, "search", "-q", DEMO, query]
    # Without `site`, whose hooks (editable installs among them) import half of what is looked for.
    packages = [exhume.__path__[0], exhume_ksy.__path__[0], zstandard.__path__[0], msgpack.__path__[0]]
    paths = list(dict.fromkeys(str(Path(path).parent) for path in packages))
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    )
    outcome, loaded = json.loads(done.stderr)
    assert outcome == 0
    found = [name for name in loaded if any(name == one or name.startswith(f"{one}.") for one in NEEDLESS)]
    found += [name for name in loaded if name.startswith("exhume_ksy.") and name.split(".")[1] not in ("fast", "facts")]
    assert found == []
    others = [described.package for described in formats().values() if described.id != "clp-s"]
    assert [name for name in loaded if any(name.startswith(f"{package}.") for package in others)] == []
    generated = [name for name in loaded if name.startswith("exhume_ksy.")]
    assert len(generated) < 30
    assert len(loaded) - len(generated) < 105


@pytest.mark.parametrize("closed", [">&-", "2>&-", "| head -c 1"])
@pytest.mark.parametrize(
    "verb", [["cat", DEMO], ["search", DEMO, "*: *"], ["info", DEMO]], ids=["cat", "search", "info"]
)
@pytest.mark.slow
def test_closed_streams_are_no_trouble(verb: list[str], closed: str) -> None:
    command = shlex.join([sys.executable, "-m", "exhume", *verb])
    done = subprocess.run(
        ["bash", "-c", f"{command} {closed}; exit ${{PIPESTATUS[0]}}"], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("verb", [["cat", DEMO], ["search", DEMO, "*: *"]], ids=["cat", "search"])
def test_a_full_disk_is_an_error(verb: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "exhume", *verb]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert b"No space left" in done.stderr
    assert b"Traceback" not in done.stderr
