"""The Python of docs/distributed.md runs unchanged."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.many.conftest import make_zs


@pytest.mark.slow
def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("dask")
    monkeypatch.chdir(tmp_path)
    for name in ("one", "three"):
        make_zs(tmp_path / f"{name}.zs", 1, count=400)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/distributed.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 3
    space: dict[str, Any] = {}
    for block in blocks:
        exec(block, space)
    lines = capsys.readouterr().out.splitlines()
    parts = [line for line in lines if line.startswith("zs ")]
    assert len(parts) > 1
    assert sum(int(line.split()[-1]) for line in parts) == 400
    assert "800" in lines
    assert "True True" in lines
    counted = [line for line in lines if line.startswith(("one.zs ", "three.zs "))]
    assert [line.split()[0] for line in counted] == ["one.zs", "three.zs"]
