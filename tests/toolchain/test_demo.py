"""`make demo`: every command of the demo works as described."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.sizes import some
from tests.toolchain import reads
from tools import nodejs

ROOT = nodejs.ROOT


def demo(root: Path, out: Path, path: str, *parts: str) -> subprocess.CompletedProcess[str]:
    """Run the demo of a project with the `exhume` of a PATH."""
    environment = {**os.environ, "PATH": path, "DEMO_DIR": str(out)}
    script = root / "examples" / "demo.sh"
    return subprocess.run(["bash", str(script), *parts], capture_output=True, text=True, check=False, env=environment)


PARTS = sorted(path.stem for path in (ROOT / "examples" / "demo").glob("*.sh"))


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_the_demo_runs_to_its_end(tmp_path: Path, part: str, served_path: str) -> None:
    done = demo(ROOT, tmp_path / "demo", served_path, part)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert "(chapters: 1)" in done.stdout
    assert done.stdout.count("$ exhume ") > 3
    assert "Traceback" not in done.stdout + done.stderr
    written = shares(tmp_path / "demo")
    assert written or part in ("image", "leveldb"), "the chapter wrote no archive"
    assert {format: share for format, share in written.items() if share < reads.recorded_of_demo().get(format, 0)} == {}


def shares(folder: Path) -> dict[str, int]:
    """Percent of the described bytes that generated code reads of the archives that a chapter wrote, by format."""
    found = reads.by_format(reads.measure(reads.demo_archives(folder)))
    return {format: share.percent for format, share in found.items()}


def test_the_demo_shows_every_common_verb() -> None:
    text = "".join((ROOT / "examples" / "demo" / f"{part}.sh").read_text(encoding="utf-8") for part in PARTS)
    common = {"create", "identify", "list", "verify", "cat", "search", "explain", "carve", "map", "recode", "salvage"}
    for verb in some(common):
        assert f"exhume {verb} " in text


def test_the_demo_ends_at_the_first_surprise(tmp_path: Path) -> None:
    out, path = tmp_path / "out", os.environ["PATH"]
    (tmp_path / "examples" / "demo").mkdir(parents=True)
    (tmp_path / "examples" / "demo.sh").write_bytes((ROOT / "examples" / "demo.sh").read_bytes())
    part = tmp_path / "examples" / "demo" / "x.sh"
    for line, status in (("run false", 1), ("run_for 4 true", 1), ("run_for 4 'exit_with 4'", 0), ("run true", 0)):
        part.write_text(f'exit_with() {{ return "$1"; }}\n{line}\n')
        assert demo(tmp_path, out, path).returncode == status, line
    (tmp_path / "examples" / "demo" / "y.sh").write_text("title Y\n")
    both, one = demo(tmp_path, out, path), demo(tmp_path, out, path, "y")
    assert ("(chapters: 2)" in both.stdout, "(chapters: 1)" in one.stdout) == (True, True)
    for part in (tmp_path / "examples" / "demo").iterdir():
        part.unlink()
    assert demo(tmp_path, out, path).returncode == 1
