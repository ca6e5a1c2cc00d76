"""`benchmarks.jobs`: rows are measured only on an idle machine, kept in a file, and evaluated by Amdahl's law."""

from __future__ import annotations

import json
import mmap
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchmarks import jobs, machine
from benchmarks.floors import floor
from benchmarks.jobs import JobsRefusedError, Row
from benchmarks.rivals import Rival
from benchmarks.rows import EXHUME, Floor, Work, rows


def row(ratio: float, several: int = 2) -> Row:
    return Row("zs cat", 300_000_000, several, 2.0, 2.0, 2.0 * ratio, 2.2, 0.01)


def test_what_stays_serial_is_serial_on_more_cores() -> None:
    assert row(0.5).serial == 0
    assert row(0.5).on(16) == pytest.approx(1 / 16)
    assert row(0.75).serial == pytest.approx(0.5)
    assert row(0.75).on(2) == pytest.approx(0.75)
    assert row(0.4, several=4).serial == pytest.approx(0.2)
    assert row(0.4, several=4).on(4) == pytest.approx(0.4)
    assert row(1.3).serial == 1, "several jobs that take longer are no more than serial"


def test_a_row_measured_under_load_is_measured_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    loads, cores = iter([0.5, 0.01, 0.01]), iter([False, True])
    runs: list[tuple[str, int]] = []

    def timed(command: list[str], out: Path, copies: int = 1) -> tuple[float, float]:
        runs.append((command[-1], copies))
        return 1.2 if copies > 1 else 1.0 / int(command[-1]), 1.0

    monkeypatch.setattr(jobs, "wait_for_idle", lambda until, cores: True)
    monkeypatch.setattr(jobs, "has_cores", lambda count: next(cores))
    monkeypatch.setattr(machine.Watch, "others", lambda self: next(loads))
    monkeypatch.setattr(jobs, "timed", timed)
    work = Work(["cat"], tmp_path)
    found = jobs.measure("zs cat", work, 2, 1, tmp_path / "out", 1e18, True)
    assert runs == [("1", 1), ("2", 1), ("1", 2)] * 3, "twice those that were thrown away, and those that count"
    assert found is not None
    assert (found.ratio, found.others, found.ceiling) == (0.5, 0.01, 0.6)
    monkeypatch.setattr(jobs, "wait_for_idle", lambda until, cores: False)
    assert jobs.measure("zs cat", work, 2, 1, tmp_path / "out", 0, True) is None


def test_a_row_has_its_rival_and_its_floor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def timed(command: list[str], out: Path, copies: int = 1) -> tuple[float, float]:
        if "--jobs" in command:
            raise JobsRefusedError
        return (4.0, 2.0) if command == ["theirs"] else (2.0, 1.0)

    monkeypatch.setattr(jobs, "timed", timed)
    monkeypatch.setattr(jobs, "floor", lambda *_: 0.5)
    work = Work(["recode"], tmp_path, Rival("the other", ["theirs"]), Floor("zs", "read", tmp_path), 2_000_000)
    found = jobs.measure("zs recode", work, 2, 3, tmp_path / "out", 0, False)
    assert found is not None
    assert list(jobs.table([found]))[-1] == (
        "| zs recode | 2 | - | 2.00 | - | - | - | - | - | - | the other | 0.50 | 0.50 | 2.00 |"
    )


def test_one_job_and_several_take_turns() -> None:
    walls = iter([3.0, 2.0, 1.0, 1.5, 2.0, 1.75, 9.0, 9.0, 9.5, 4.0, 9.0, 4.5])
    runs: list[str] = []

    def trial(name: str) -> tuple[float, float]:
        runs.append(name)
        return next(walls), 1.0

    trials = [partial(trial, "one"), partial(trial, "two")]
    assert jobs.best(trials, 3) == [(1.0, 1.0), (1.5, 1.0)]
    assert runs == ["one", "two"] * 3
    assert jobs.best(trials, 1) == [(9.0, 1.0), (9.0, 1.0)]
    assert jobs.best(trials, 3) == [(9.0, 1.0), (4.0, 1.0)], "what takes long runs less often"


def test_copies_run_in_parallel_and_write_to_places_of_their_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(jobs, "settle", lambda: None)
    out, log = tmp_path / "out", tmp_path / "log"
    script = """
import pathlib, sys, time
log, out = map(pathlib.Path, sys.argv[1:])
out.mkdir()
with log.open("a") as file:
    file.write(out.name + "\\n")
until = time.monotonic() + 30
while len(log.read_text().split()) < 3:
    assert time.monotonic() < until, "nothing runs beside this"
"""
    for _ in range(2):
        log.unlink(missing_ok=True)
        jobs.timed([sys.executable, "-c", script, str(log), str(out)], out, 3)
        assert sorted(log.read_text().split()) == ["out", "out-1", "out-2"]
        assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "out"], "copies are not kept"


def test_memory_is_written_on(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    room = mmap.mmap

    def counting(file: int, size: int, **options: Any) -> mmap.mmap:
        made.append(size)
        return room(file, size, **options)

    monkeypatch.setattr(mmap, "mmap", counting)
    machine.settle(1 << 20)
    machine.settle(0)
    assert made == [1 << 20, mmap.PAGESIZE]


def test_a_command_that_takes_no_jobs_is_distinguished_from_one_that_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(jobs, "settle", lambda: None)
    (tmp_path / "a.zs").write_bytes(b"")
    with pytest.raises(JobsRefusedError):
        jobs.timed([*EXHUME, "payload", str(tmp_path / "a.zs"), "header", "--jobs", "2"], tmp_path / "out")
    with pytest.raises(SystemExit, match="failed"):
        jobs.timed([*EXHUME, "verify", str(tmp_path / "a.zs")], tmp_path / "out")


@pytest.mark.slow
def test_rows_have_what_they_read_and_floors(tmp_path: Path) -> None:
    found = rows(tmp_path, 1 << 16, tmp_path / "out")
    assert {name.partition(" ")[0] for name in found} > {
        "zs",
        "clp-s",
        "kv-ir",
        "clp-ir",
        "ark",
        "caf",
        "databundle",
        "leveldb",
    }
    assert all(work.reads.exists() for work in found.values())
    assert found["zs cat"].content == found["clp-s verify"].content == 8 * (1 << 16), "what takes a second has more"
    assert found["zs recode"].content == found["ark typed cat"].content == 4 * (1 << 16)
    assert found["zs create, lzma"].content == found["ark typed create"].content == 1 << 16
    assert found["carve"].content == found["carve"].reads.stat().st_size
    floors = {work.floor: floor(*work.floor) for work in found.values() if work.floor is not None}
    assert all(seconds is None or seconds >= 0 for seconds in floors.values())
    compressed = {one.format for one, seconds in floors.items() if one.work == "write" and seconds is not None}
    assert compressed == {"zs", "clp-s", "kv-ir", "clp-ir", "databundle"}


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the rows that are measured; nothing is run."""
    names: list[str] = []

    def measure(name: str, *_: Any) -> Row | None:
        names.append(name)
        return None if name == "c" else Row(name, 7_000_000, 2, 1.0, 1.0, 0.5, 1.0, 0.0)

    monkeypatch.setattr(jobs, "rows", lambda folder, size, out: dict.fromkeys("abc", Work(["x"], folder)))
    monkeypatch.setattr(jobs, "measure", measure)
    return names


def test_slices_add_up_to_one_table(measured: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = tmp_path / "build" / "jobs.json"
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- jobs -->\n<!-- end of jobs -->\nafter\n")
    results.parent.mkdir()
    made = {"size": 256 << 20, "jobs": 2, "rows": {"a": asdict(row(0.6))}}
    results.write_text(json.dumps(made))
    assert jobs.main(["--results", str(results), "--dir", str(tmp_path / "made"), "b"]) == 0
    assert measured == ["b"]
    assert "| b | 7 | 2 | 1.00 | 0.50 | 0.50 | - | 1.00 | 0% | 0.06 | - | - | - | - |" in capsys.readouterr().out
    assert jobs.main(["--results", str(results), "--dir", str(tmp_path / "made"), "--write", str(page)]) == 1
    assert measured == ["b", "c"], "what is there is not measured again"
    assert "not idle" in capsys.readouterr().err
    assert [line.split(" | ")[0] for line in page.read_text().splitlines() if line.startswith("| ")][2:] == [
        "| zs cat",
        "| b",
    ]
    assert jobs.main(["--results", str(tmp_path / "none.json"), "--dir", str(tmp_path / "made"), "--seconds", "0"]) == 1
    assert measured == ["b", "c"], "no row is begun after its time"
    with pytest.raises(SystemExit, match="another --size"):
        jobs.main(["--results", str(results), "--dir", str(tmp_path / "made"), "--size", "16M"])


def test_nothing_of_a_busy_machine_is_kept(measured: list[str], tmp_path: Path) -> None:
    results = tmp_path / "jobs.json"
    page = tmp_path / "page.md"
    page.write_text("<!-- jobs -->\n<!-- end of jobs -->\n")
    arguments = ["--results", str(results), "--dir", str(tmp_path / "made"), "--unwatched", "b"]
    assert jobs.main(arguments) == 0
    assert measured == ["b"]
    assert not results.exists()
    with pytest.raises(SystemExit):
        jobs.main([*arguments, "--write", str(page)])
    assert page.read_text() == "<!-- jobs -->\n<!-- end of jobs -->\n"


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="needs /proc/stat")
def test_the_share_of_others_is_a_share() -> None:
    watch = machine.Watch()
    assert watch.others() >= 0
    assert machine.machine_busy() > 0
    assert machine.own_cpu() > 0


def test_cores_are_whole_where_loops_do_not_slow_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    walls = {1: 2.0, 2: 2.2, 4: 3.0}
    loops = machine._loops
    monkeypatch.setattr(machine, "_loops", walls.__getitem__)
    assert machine.has_cores(1)
    assert machine.has_cores(2)
    assert not machine.has_cores(4)
    monkeypatch.setattr(machine, "has_cores", lambda count: False)
    assert not machine.wait_for_idle(0, 2)
    monkeypatch.setattr(machine, "LOOP", "pass")
    assert loops(2) > 0
