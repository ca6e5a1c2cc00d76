"""The command as a process of its own: what it imports, closed streams, full disks."""

from __future__ import annotations

import os
import shlex
import site
import subprocess
import sys
from pathlib import Path

import pytest

from exhume.cli import ExitCode
from exhume.cli.main import invoke
from exhume.native.kernel import COMPILED

DEMO = "tests/samples/clp_s/demo.clps"

HEAVY = (
    "asyncio", "concurrent.futures", "dask", "exhume.compiler", "fsspec", "importlib.metadata", "kaitaistruct",
    "logging", "numpy", "pyarrow", "rich", "sqlalchemy", "unittest", "urllib.request",
)  # fmt: skip
"""What no short command on a local archive imports: each takes from some milliseconds to some hundred."""

SCRIPT = """
import sys
before = set(sys.modules)
from exhume.cli.main import invoke
for words in sys.argv[1:]:
    assert invoke(words.split()) == 0, words
print(*sorted(set(sys.modules) - before), file=sys.stderr)
"""
SMALL = {
    "zs": ("zs/words-deflate.zs", ()),
    "clp-s": ("clp_s/tiny.clps", ()),
    "ark": ("ark/log", ()),
    "caf": ("caf/sorted.caf", ()),
    "databundle": ("data_bundle/zlib", ()),
    "leveldb": ("leveldb/small", ()),
}
"""A small archive of each format, and what reading it needs of the heavy ones."""

SEARCHED = {"zs": "a", "clp-s": "*:*", "ark": "/*", "leveldb": "a"}
"""What is searched for, in the formats that can be searched."""


@pytest.fixture(autouse=True)
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])


@pytest.mark.parametrize("format", SMALL)
def test_nothing_heavy_is_imported(format: str) -> None:
    name, needed = SMALL[format]
    target = f"tests/samples/{name}"
    verbs = ["identify", "verify", "info", "list", "cat", *(["search"] if format in SEARCHED else [])]
    lines = [f"{verb} {target} {SEARCHED[format] if verb == 'search' else ''}" for verb in verbs]
    lines += [f"cat {target} --raw"] if format == "ark" else []
    done = subprocess.run([sys.executable, "-c", SCRIPT, *lines], capture_output=True, check=True)
    loaded = done.stderr.decode().splitlines()[-1].split()
    assert f"exhume.formats.{format.replace('-', '_').replace('databundle', 'data_bundle')}.reader" in loaded
    found = {one for one in HEAVY if any(name == one or name.startswith(f"{one}.") for name in loaded)}
    assert found == set(needed)


@pytest.mark.parametrize("format", SMALL)
def test_explain_compiles_nothing_of_our_own_specifications(format: str) -> None:
    target = f"tests/samples/{SMALL[format][0]}"
    command = [sys.executable, "-c", SCRIPT, f"explain {target}", f"explain {target} --all"]
    done = subprocess.run(command, capture_output=True, check=True)
    loaded = done.stderr.decode().splitlines()[-1].split()
    assert f"exhume.formats.{format.replace('-', '_').replace('databundle', 'data_bundle')}.layout" in loaded
    assert not [name for name in loaded if name.startswith("exhume.compiler.")]


COUNTING = """
import sys
from exhume.cli.main import invoke
invoke(sys.argv[1:])
print(*sorted(sys.modules), file=sys.stderr)
"""
COUNTED = {
    "zs": ("zs/words-deflate.zs", {"identify": 75, "info": 104, "cat": 100, "verify": 90, "explain": 103}),
    "clp-s": ("clp_s/tiny.clps", {"identify": 94, "info": 119, "cat": 122, "verify": 114, "explain": 126}),
    "ark": ("ark/log", {"identify": 88, "info": 124, "cat": 129, "verify": 122, "explain": 141}),
    "caf": ("caf/sorted.caf", {"identify": 84, "info": 97, "cat": 94, "verify": 85, "explain": 95}),
    "databundle": ("data_bundle/zlib", {"identify": 75, "info": 161, "cat": 159, "verify": 154, "explain": 164}),
    "leveldb": ("leveldb/small", {"identify": 75, "info": 139, "cat": 136, "verify": 130, "explain": 156}),
    "kv-ir": ("kv_ir/small.clp", {"identify": 92, "info": 96, "cat": 89, "verify": 81, "explain": 98}),
    "clp-ir": ("clp_ir/small.clp", {"identify": 97, "info": 103, "cat": 100, "verify": 90, "explain": 109}),
}
"""The most modules of exhume that a verb imports for a small archive: what it took when this was written, and 7 more.

Each takes 0.1 to 0.5 ms.  A verb that needs more should import them where they are used.
"""

PURE_ONES = 20
"""Modules that stand in for the compiled kernel where there is none, at most."""

SHARED = {"databundle": ("leveldb",), "clp-ir": ("kv_ir",)}
"""The other formats whose modules a format uses."""

LIGHT = ("assumptions", "cli", "cli_options", "layout_facts", "names", "probe")
"""Modules of formats that archives of other formats are examined with, or that add options to verbs."""


@pytest.mark.parametrize("verb", ["identify", "info", "cat", "verify", "explain"])
@pytest.mark.parametrize("format", COUNTED)
def test_few_modules_are_imported(format: str, verb: str) -> None:
    name, most = COUNTED[format]
    paths = ["src", "generated", *site.getsitepackages()]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(paths)
    }  # hooks of an editable installation import modules, too
    command = [sys.executable, "-S", "-c", COUNTING, verb, f"tests/samples/{name}"]
    done = subprocess.run(command, capture_output=True, check=True, env=environment)
    loaded = done.stderr.decode().splitlines()[-1].split()
    ours = [one for one in loaded if one.startswith(("exhume.", "exhume_ksy."))]
    assert len(ours) <= most[verb] + (0 if COMPILED else PURE_ONES), ours
    own = (format.replace("-", "_").replace("databundle", "data_bundle"), *SHARED.get(format, ()))
    parts = [one.split(".") for one in loaded if one.startswith("exhume.formats.") and one.count(".") > 2]
    others = {".".join(words) for words in parts if words[2] not in own and words[3] not in LIGHT}
    assert others <= {"exhume.formats.caf.layout"}
    if verb in ("cat", "verify"):
        assert not {"tarfile", "subprocess", "pickle"} & set(loaded)
    assert not {"pathlib", "shutil", "tempfile", "urllib.parse", "urllib.request"} & set(loaded)
    if verb == "explain" and format not in ("ark", "leveldb"):  # those samples have findings, which are shown at fields
        assert not {"exhume.layout.schema", "kaitaistruct"} & set(loaded)


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
    written = (0, 141) if closed.startswith("|") else (0,)  # the reader may leave before or after the last write
    assert done.returncode in written
    assert done.stderr == b""


@pytest.mark.parametrize(
    "verb", [["cat", DEMO], ["search", DEMO, "*: *"], ["info", DEMO], ["--help"]], ids=["cat", "search", "info", "help"]
)
def test_a_full_disk_is_an_error(verb: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "exhume", *verb]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert done.stderr == b"exhume: standard output: No space left on device [EX-601]\n"


@pytest.mark.parametrize("verb", ["recode", "salvage"])
def test_a_full_disk_names_the_output(verb: str, tmp_path: Path) -> None:
    """Not the temporary file that was written when the space ended."""
    out = tmp_path / "out.clps"
    limited = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)); import exhume.cli.main as c; c.run()"
    )
    done = subprocess.run([sys.executable, "-c", limited, verb, DEMO, "-o", str(out)], capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"exhume: {out}: File too large".encode())
    assert not list(tmp_path.iterdir())


def test_an_interrupt_while_an_error_is_printed_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("exhume.cli.main._print_error", interrupted)
    assert invoke(["cat", str(tmp_path / "nothing")]) is ExitCode.INTERRUPTED
    assert capsys.readouterr().err == "exhume: interrupted\n"
