"""Any damaged byte of three small archives: no traceback, no hang, no memory that the input does not warrant.

`make test` damages every seventh byte.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import sizes
from tests.clp_s import build
from tests.conftest import ROOT

ARCHIVES = {
    "compressed": build.tiny(variables=[b"one"], log_types=[b"a \x12"], range_index=[{"s": 0, "e": 2, "f": {}}]),
    "stored": build.demo(compress=build.stored),
    "old": build.old(compress=build.stored),
}


@pytest.mark.slow
def test_a_damaged_byte_takes_neither_time_nor_memory(tmp_path: Path) -> None:
    for name, built in ARCHIVES.items():
        (tmp_path / name).write_bytes(built.build())
    command = [sys.executable, "-m", "tests.clp_s.mutate", sizes.PROFILE, *(str(tmp_path / name) for name in ARCHIVES)]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=600, check=True)
    result = json.loads(ran.stdout)
    assert result["failures"] == []
    assert result["slowest"] < 5
    assert result["peak"] < 256
