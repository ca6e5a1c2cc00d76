"""`benchmarks.jobs`: rows are measured only on an idle machine, kept in a file, and told by Amdahl's law."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from benchmarks import jobs
from benchmarks.jobs import Row


def row(ratio: float, several: int = 2) -> Row:
    return Row("zs cat", several, 2.0, 2.0, 2.0 * ratio, 2.2, 0.01)


def test_what_stays_serial_is_serial_on_more_cores() -> None:
    assert row(0.5).serial == 0
    assert row(0.5).on(16) == pytest.approx(1 / 16)
    assert row(0.75).serial == pytest.approx(0.5)
    assert row(0.75).on(2) == pytest.approx(0.75)
    assert row(0.4, several=4).serial == pytest.approx(0.2)
    assert row(0.4, several=4).on(4) == pytest.approx(0.4)
    assert row(1.3).serial == 1, "several jobs that take longer are no more than serial"


def test_a_row_measured_under_load_is_measured_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    loads = iter([0.5, 0.01])
    runs: list[int] = []

    def timed(command: list[str], several: int, out: Path) -> tuple[float, float]:
        runs.append(several)
        return 1.0 / several, 1.0

    monkeypatch.setattr(jobs, "wait_for_idle", lambda until: True)
    monkeypatch.setattr(jobs.Watch, "others", lambda self: next(loads))
    monkeypatch.setattr(jobs, "timed", timed)
    found = jobs.measure("zs cat", ["cat"], 2, 1, tmp_path / "out", 1e18)
    assert runs == [2, 1, 2, 1, 2], "one to warm up, two that were thrown away, two that count"
    assert found is not None
    assert (found.ratio, found.others) == (0.5, 0.01)
    monkeypatch.setattr(jobs, "wait_for_idle", lambda until: False)
    assert jobs.measure("zs cat", ["cat"], 2, 1, tmp_path / "out", 0) is None


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the rows that are measured; nothing is run."""
    names: list[str] = []

    def measure(name: str, *_: Any) -> Row | None:
        names.append(name)
        return None if name == "c" else Row(name, 2, 1.0, 1.0, 0.5, 1.0, 0.0)

    monkeypatch.setattr(jobs, "commands", lambda folder, size: {"a": ["x"], "b": ["y"], "c": ["z"]})
    monkeypatch.setattr(jobs, "measure", measure)
    return names


def test_slices_add_up_to_one_table(measured: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = tmp_path / "build" / "jobs.json"
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- jobs -->\n<!-- end of jobs -->\nafter\n")
    results.parent.mkdir()
    results.write_text(json.dumps({"a": asdict(row(0.6))}))
    assert jobs.main(["--results", str(results), "--dir", str(tmp_path / "made"), "b"]) == 0
    assert measured == ["b"]
    assert "| b | 2 | 1.00 | 0.50 | 0.50 | 1.00 | 0% | 0.06 |" in capsys.readouterr().out
    assert jobs.main(["--results", str(results), "--dir", str(tmp_path / "made"), "--write", str(page)]) == 1
    assert measured == ["b", "c"], "what is there is not measured again"
    assert "not idle" in capsys.readouterr().err
    assert [line.split(" | ")[0] for line in page.read_text().splitlines() if line.startswith("| ")][2:] == [
        "| zs cat",
        "| b",
    ]
    assert jobs.main(["--results", str(tmp_path / "none.json"), "--dir", str(tmp_path / "made"), "--seconds", "0"]) == 1
    assert measured == ["b", "c"], "no row is begun after its time"


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="needs /proc/stat")
def test_the_share_of_others_is_a_share() -> None:
    watch = jobs.Watch()
    assert watch.others() >= 0
    assert jobs.machine_busy() > 0
    assert jobs.own_cpu() > 0
