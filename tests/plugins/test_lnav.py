"""lnav reads what its converter prints, in headless mode, by the format file that exhume has.

The lnav that Debian has (0.11) knows no converters, so the test pipes what lnav would: converter, then lnav.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.plugins.tools import ENVIRONMENT
from tests.real import ROOT

pytestmark = [pytest.mark.conformance("lnav"), pytest.mark.slow]

FORMAT = ROOT / "src/exhume/plugins/lnav"


def lnav() -> tuple[str, dict[str, str]]:
    """The command and the environment it needs: installed, or unpacked by `make plugins`."""
    unpacked = ENVIRONMENT / "debian"
    found = shutil.which("lnav") or (str(unpacked / "usr/bin/lnav") if (unpacked / "usr/bin/lnav").exists() else None)
    if found is None:
        pytest.skip("lnav is not installed, and `make plugins` found none in the packages of this system")
    folders = {str(library.parent) for library in unpacked.rglob("*.so*")}
    return found, {"LD_LIBRARY_PATH": ":".join([*sorted(folders), os.environ.get("LD_LIBRARY_PATH", "")])}


def convert(archive: Path) -> subprocess.CompletedProcess[bytes]:
    path = f"{ROOT / '.venv/bin'}:{os.environ['PATH']}"
    command: list[str | Path] = [FORMAT / "exhume_log-converter.sh", "application/x-clp-s", archive]
    return subprocess.run(command, capture_output=True, check=False, env={**os.environ, "PATH": path})


def test_lnav_shows_what_the_converter_prints(tmp_path: Path) -> None:
    import exhume

    command, environment = lnav()
    with exhume.create(tmp_path / "events.clps", "clp-s", timestamp_key="timestamp") as writer:
        writer.add_file(ROOT / "examples/clp_s/events.jsonl")
    converted = convert(tmp_path / "events.clps")
    assert converted.returncode == 0, converted.stderr
    (tmp_path / "converted").write_bytes(converted.stdout)
    (tmp_path / "configuration/formats").mkdir(parents=True)
    (tmp_path / "configuration/formats/exhume").symlink_to(FORMAT)
    requested = ";SELECT log_time, log_level, log_body FROM exhume_log"
    ran = subprocess.run(
        [
            command,
            "-n",
            "-q",
            "-I",
            tmp_path / "configuration",
            "-c",
            requested,
            "-c",
            ":write-csv-to -",
            tmp_path / "converted",
        ],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment, "HOME": str(tmp_path), "TERM": "dumb"},
    )
    assert ran.returncode == 0, ran.stderr
    rows = [(row["log_time"], row["log_level"], row["log_body"]) for row in csv.DictReader(ran.stdout.splitlines())]
    names = {"WARN": "warning"}
    with exhume.open(tmp_path / "events.clps") as archive:
        table = archive.to_arrow(columns=["timestamp", "level", "message"]).read_all()
    wanted = [
        (str(when.as_py())[:23], names.get(level.as_py(), level.as_py().lower()), message.as_py())
        for when, level, message in zip(*table.columns, strict=True)
    ]
    assert sorted(rows) == sorted(wanted)
    assert len(rows) == 80


def test_the_converter_reports_the_fault(samples: Path, tmp_path: Path) -> None:
    broken = convert(samples / "clp_s/demo.jsonl")
    assert broken.returncode == 1
    assert b"[EX-101]" in broken.stderr
    assert convert(samples / "clp_s/demo.clps").returncode == 0  # rows without a time are left out
