"""`make demo`: every command of the demo does what it says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tools import nodejs

ROOT = nodejs.ROOT


def demo(root: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """Runs the demo of a project with this Python's `exhume`."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "DEMO_DIR": str(out),
    }
    script = root / "examples" / "demo.sh"
    return subprocess.run(["bash", str(script)], capture_output=True, text=True, check=False, env=environment)


def test_the_demo_runs_to_its_end(tmp_path: Path) -> None:
    done = demo(ROOT, tmp_path / "demo")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    parts = list((ROOT / "examples" / "demo").glob("*.sh"))
    assert f"(formats: {len(parts)})" in done.stdout
    for verb in ("create", "identify", "list", "verify", "cat", "search"):
        assert f"$ exhume {verb} " in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_the_demo_ends_at_the_first_surprise(tmp_path: Path) -> None:
    (tmp_path / "examples" / "demo").mkdir(parents=True)
    (tmp_path / "examples" / "demo.sh").write_bytes((ROOT / "examples" / "demo.sh").read_bytes())
    part = tmp_path / "examples" / "demo" / "x.sh"
    for line, status in (("run false", 1), ("run_for 4 true", 1), ("run_for 4 'exit_with 4'", 0), ("run true", 0)):
        part.write_text(f'exit_with() {{ return "$1"; }}\n{line}\n')
        assert demo(tmp_path, tmp_path / "out").returncode == status, line
    part.unlink()
    assert demo(tmp_path, tmp_path / "out").returncode == 1
