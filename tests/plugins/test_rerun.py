"""Rerun runs the importer for a manifest, and has every number of the log; its reader of MCAP takes what we export."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from tests.plugins.tools import ENVIRONMENT, run, tool

pytestmark = [pytest.mark.conformance("rerun"), pytest.mark.slow]

MANIFEST = "ark/log/manifests/00000000-0000-4000-8000-000000000001"

IMPORT = """
import json, sys
import rerun
from rerun.chunk import RrdReader

recording = rerun.RecordingStream("exhume-test")
recording.save(sys.argv[2])
rerun.log_file_from_path(sys.argv[1], recording=recording)
recording.flush()
found = {}
for chunk in RrdReader(sys.argv[2]).stream():
    batch = chunk.to_record_batch()
    if "steady_time" in batch.schema.names:
        times = batch.column(batch.schema.names.index("steady_time")).cast("int64").to_pylist()
        values = [row[0] for row in batch.column(batch.schema.names.index("Scalars:scalars")).to_pylist()]
        found.setdefault(chunk.entity_path, []).extend(zip(times, values))
print(json.dumps(found))
"""

READ = """
import json, sys
from rerun.chunk import McapReader

found = {}
for chunk in McapReader(sys.argv[1]).stream():
    batch = chunk.to_record_batch()
    if "McapMessage:data" in batch.schema.names:
        found[chunk.entity_path] = found.get(chunk.entity_path, 0) + batch.num_rows
print(json.dumps(found))
"""


def importers(folder: Path) -> str:
    """A folder with the importer alone, run by the Python that has Rerun."""
    tool("rerun")
    script = folder / "rerun-importer-exhume"
    script.write_text(f'#!/bin/sh\nexec "{ENVIRONMENT}/bin/python" -m exhume.plugins.rerun "$@"\n')
    script.chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


def test_rerun_imports_a_log_by_its_manifest(samples: Path, tmp_path: Path) -> None:
    path = importers(tmp_path)
    (tmp_path / "import.py").write_text(IMPORT)
    made = tmp_path / "made.rrd"
    stated = run("python", tmp_path / "import.py", samples / MANIFEST, made, PATH=path, HOME=str(tmp_path))
    found: dict[str, Any] = json.loads(stated.stdout.splitlines()[-1])
    wanted: dict[str, list[list[float]]] = {}
    with exhume.ark.open(samples / "ark/log") as log:
        for message in log.messages(["/camera", "/nav/pose", "/drive/state"]):
            for name, value in leaves(message.value or {}):
                wanted.setdefault(f"{message.channel}/{name}", []).append([message.time_ns, float(value)])
    assert {name: sorted(rows) for name, rows in found.items()} == {n: sorted(rows) for n, rows in wanted.items()}
    assert len(found["/nav/pose/at/x"]) == 60


def leaves(value: dict[str, Any], lead: str = "") -> list[tuple[str, Any]]:
    """The numbers and booleans of a message by their path, without times and durations."""
    out: list[tuple[str, Any]] = []
    for name, inner in value.items():
        if isinstance(inner, dict) and "text" not in inner and "index" not in inner and name != "gauges":
            out += leaves(inner, f"{lead}{name}/")
        elif isinstance(inner, (bool, int, float)) and name != "uptime":
            out.append((lead + name, inner))
    return out


def test_other_paths_are_left_to_other_importers(samples: Path, tmp_path: Path) -> None:
    tool("rerun")
    for other in (samples / "zs/words-none.zs", Path(__file__)):
        assert run("python", "-m", "exhume.plugins.rerun", other, code=66).stdout == ""
    stated = run("python", "-m", "exhume.plugins.rerun", tmp_path / "nowhere", code=1)
    assert stated.stderr.startswith("exhume: ")
    assert "Traceback" not in stated.stderr


def test_rerun_reads_the_mcap(samples: Path, tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    tool("rerun")
    made = tmp_path / "log.mcap"
    assert exhume_cli("export", samples / "ark/log", "--to", "mcap", "--payload", "json", "-o", made).code == 0
    (tmp_path / "read.py").write_text(READ)
    found = json.loads(run("python", tmp_path / "read.py", made, HOME=str(tmp_path)).stdout.splitlines()[-1])
    with exhume.ark.open(samples / "ark/log") as log:
        counts = {channel.name: len(list(log.messages([channel.name]))) for channel in log.channels()}
    assert found == counts
