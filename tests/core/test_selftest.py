"""`exhume selftest`: what it makes, what it counts, that it can fail, and its report."""

from __future__ import annotations

import gc
import json
import random
import tracemalloc
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.io.local import FileSource
from exhume.testing import selftest
from exhume.testing.damage import (
    Damage,
    DamageOutcome,
    Disk,
    content,
    every_bit,
    every_cut,
    every_damage,
    every_sector,
    flip,
    judge,
)

Cli = Callable[..., Any]


def test_every_damage_is_one() -> None:
    data = random.Random(1).randbytes(1280)
    assert sum(1 for _ in every_bit(data)) == 8 * len(data)
    assert [damage.change(data) for damage in every_cut(data[:4])] == [data[:n] for n in range(4)]
    sectors = list(every_sector(data))
    assert [damage.kind for damage in sectors].count("zeroed sector") == 3
    assert all(damage.change(data) != data for damage in sectors)
    assert {damage.kind for damage in every_damage(data)} == {"bit", "cut", "zeroed sector", "swapped sectors"}
    assert list(every_sector(bytes(2000))) == []


def test_draws_keep_no_more_than_they_yield() -> None:
    data = bytes(1 << 20)
    chance = random.Random(1)
    drawn = selftest.draw(islice(every_bit(data), 200_000), 5, chance)
    assert len({damage.offset for damage in drawn}) == 5
    assert len(selftest.draw(every_cut(data[:3]), 5, chance)) == 3
    tracemalloc.start()
    selftest.draw(islice(every_bit(data), 20_000), 5, chance)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < len(data)


def test_the_judge(tmp_path: Path) -> None:
    selftest.MAKERS["caf"](tmp_path / "a")
    files = selftest.files_of(tmp_path / "a")
    with exhume.open(files[""]) as archive:
        usual = content(archive)
    data = files[""]
    at = data.index(b"member 1")
    assert judge(files, "", Damage("none", 0, bytes), "caf", usual) is DamageOutcome.HARMLESS
    assert judge(files, "", next(every_cut(data)), "caf", usual) is DamageOutcome.FOUND
    assert judge(files, "", Damage("bit", at, partial(flip, offset=at)), "caf", usual) is DamageOutcome.UNNOTICED


def test_a_crash_and_a_lie_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*rest: object, **more: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(exhume, "verify", crash)
    rows = list(selftest.check_damage(tmp_path, 1, random.Random(1)))
    assert not any(row.ok for row in rows)
    assert all(set(row.results) == {"crashed"} for row in rows)
    monkeypatch.undo()
    monkeypatch.setattr(exhume, "verify", lambda *rest, **more: iter(()))
    monkeypatch.setattr(selftest, "judge", lambda *rest: DamageOutcome.UNNOTICED)
    (tmp_path / "again").mkdir()
    rows = list(selftest.check_damage(tmp_path / "again", 1, random.Random(1)))
    assert {row.name.partition(":")[0] for row in rows if not row.ok} == selftest.CHECKSUMMED


def test_a_writer_that_is_not_atomic_is_seen(tmp_path: Path) -> None:
    def naive(path: Path) -> None:
        with path.open("wb", buffering=0) as file:
            file.write(b"first")
            file.write(b"second")

    row = selftest._faults(tmp_path / "naive", "naive", naive, 100, random.Random(1))
    assert not row.ok
    assert row.results["crashed"]  # its errors are not ours

    def silent(path: Path) -> None:
        path.mkdir()
        for name in "ab":
            try:
                (path / name).write_bytes(b"x")
            except OSError:
                (path / name).unlink(missing_ok=True)

    usual = {"a": b"x", "b": b"x"}
    (tmp_path / "place").mkdir()
    assert selftest._one_fault(tmp_path / "place", silent, usual, Disk("write", 0)) == "incomplete in silence"


def test_what_others_left_open_is_not_closed_while_calls_are_counted(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    left: list[Any] = [FileSource(tmp_path / "file")]
    left.append(left)
    del left
    with Disk() as disk:
        assert len([[] for _ in range(100_000)]) == 100_000  # more than the collector waits for
        assert not gc.isenabled()
    assert disk.calls["close"] == 0
    assert gc.isenabled()
    gc.disable()
    try:
        with Disk():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.slow
@pytest.mark.parametrize("format", selftest.MAKERS)
def test_what_is_opened_is_closed_when_it_is_done_with(format: str, tmp_path: Path) -> None:
    selftest.MAKERS[format](tmp_path / "made")

    def verify(number: int) -> None:
        list(exhume.verify(tmp_path / "made"))

    def salvage(number: int) -> None:
        exhume.salvage(tmp_path / "made", tmp_path / f"saved-{number}")

    for work in (verify, salvage):
        work(1)  # the first may import
        with Disk() as disk:
            work(2)
        assert disk.calls["open"] == disk.calls["close"] > 0


def test_the_verb(tmp_path: Path, exhume_cli: Cli) -> None:
    ran = exhume_cli("selftest", "--count", 2, "-o", tmp_path / "report", "--json")
    document = json.loads(ran.text)
    assert (ran.code, document["ok"]) == (0, True), [row for row in document["checks"] if not row["ok"]]
    assert {row["part"] for row in document["checks"]} == {"damage", "carving", "failing disk"}
    names = {row["name"] for row in document["checks"]}
    for case in ("contiguous", "fragmented", "interleaved", "truncated", "decoys"):
        assert f"zs: {case}" in names
    assert "zs in caf: nested" in names
    assert json.loads((tmp_path / "report/report.json").read_text())["checks"] == document["checks"]
    page = (tmp_path / "report/report.html").read_text()
    assert "zstandard" in page
    assert page.count("as it must be") == len(document["checks"]) + 1
    again = json.loads(exhume_cli("selftest", "--count", 2, "--json").text)
    both = zip(document["checks"], again["checks"], strict=True)
    assert not [(one, other) for one, other in both if one != other]


def test_an_output_that_exists_is_refused_before_the_work(
    tmp_path: Path, exhume_cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selftest, "run", lambda **_: pytest.fail("the checks were run"))
    (tmp_path / "report").write_text("kept")
    ran = exhume_cli("selftest", "-o", tmp_path / "report")
    assert (ran.code, "[EX-702]" in ran.err) == (1, True), ran.err
