"""`make skips` writes down which tests are skipped and why, and fails when they are too many."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

TESTS = """
import pytest

@pytest.mark.skip(reason="there is no moon | tonight")
@pytest.mark.parametrize("number", range(%d))
def test_moon(number): ...

@pytest.mark.xfail(reason="known", strict=True)
def test_known(): assert False

def test_sun(): assert %s
"""


def run(folder: Path, skips: int, sound: bool = True) -> tuple[int, str]:
    """Run the plugin in a project of its own; its exit status and the page afterwards."""
    (folder / "docs").mkdir()
    (folder / "docs" / "testing.md").write_text("a\n<!-- make skips -->\nold\n<!-- end -->\nb\n")
    (folder / "tools").mkdir()
    for name in ("blocks.py", "skips.py"):
        shutil.copy(ROOT / "tools" / name, folder / "tools")
    (folder / "test_it.py").write_text(TESTS % (skips, sound))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tools.skips", "-p", "no:cacheprovider", "-c", "/dev/null"]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # other plugins take most of the time
    ran = subprocess.run([*command, "--rootdir", folder], cwd=folder, capture_output=True, check=False, env=alone)
    return ran.returncode, (folder / "docs" / "testing.md").read_text()


@pytest.mark.slow
def test_the_table(tmp_path: Path) -> None:
    code, page = run(tmp_path, 3)
    assert code == 0
    assert page.startswith("a\n<!-- make skips -->\n3 tests are skipped; at most 60 may be.\n")
    assert page.endswith("| 3 | `test_it.py` | there is no moon &#124; tonight |\n<!-- end -->\nb\n")


@pytest.mark.parametrize(("skips", "sound", "written"), [(61, True, True), (3, False, False)])
@pytest.mark.slow
def test_too_many_and_failures_fail(tmp_path: Path, skips: int, sound: bool, written: bool) -> None:
    code, page = run(tmp_path, skips, sound)
    assert code == 1
    assert ("old" not in page) == written
