"""The command as a process of its own: what it imports, closed streams, full disks."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

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
