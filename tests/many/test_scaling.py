"""The model of docs/scaling.md on a small scale; `benchmarks.simulation` is the same at full size."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import scaling
from benchmarks.simulation import GROWTH, simulate
from tests.conftest import ROOT


@pytest.mark.slow
def test_two_thousand_archives_on_slow_storage_that_fails() -> None:
    found = simulate(2000, workers=16, latency=0.0001)
    outcomes = found["outcomes"]
    assert set(outcomes) == {
        "missing, reported",
        "never answered, reported",
        "read",
        "read, damaged",
        "request retried, then read",
        "unit retried, then read",
    }
    assert sum(outcomes.values()) == 2000
    assert found["planned"] > 10
    assert 2.0 < found["requests_per_archive"] < 2.1
    assert found["growth_mib"] <= GROWTH / 2**20


def figure(verb: str) -> scaling.Figure:
    return scaling.Figure("zs", verb, stored=scaling.ARCHIVE, cpu=2.0, wall=2.0, peak=1 << 26, requests=10, read=1)


def test_whole_reads_grow_with_bytes_and_selections_with_archives() -> None:
    whole = scaling.Forecast.of(figure("verify"), 1000 * scaling.ARCHIVE)
    assert (whole.archives, whole.requests) == (1000, 10_000)
    assert whole.core_hours == pytest.approx(2000 / 3600)
    some = scaling.Forecast.of(figure("search"), 1000 * scaling.ARCHIVE)
    assert (some.archives, some.requests) == (1000, 10_000)
    half = scaling.Figure("zs", "search", stored=scaling.ARCHIVE // 2, cpu=2.0, wall=2.0, peak=0, requests=10)
    assert scaling.Forecast.of(half, 1000 * scaling.ARCHIVE) == some


def test_the_page_is_written_from_the_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures = tmp_path / "figures"
    one = {
        "format": "zs",
        "verb": "verify",
        "stored": 1000,
        "cpu": 1.0,
        "wall": 1.0,
        "peak": 1,
        "requests": 3,
        "read": 9,
    }
    figures.write_text("anything\n" + json.dumps({"figures": [one], "costs": {"dask": 0.001}}))
    page = tmp_path / "page.md"
    marks = "".join(f"# {n}\n<!-- {n} -->\nold\n<!-- end of {n} -->\n" for n in ("measured", "forecast", "scheduler"))
    page.write_text(marks + "the end\n")
    monkeypatch.setattr("sys.argv", ["scaling", "--figures", str(figures), "--write", str(page)])
    assert scaling.main() == 0
    text = page.read_text()
    assert "old" not in text
    assert text.endswith("<!-- end of scheduler -->\nthe end\n")
    assert "| zs | verify | 0.0 | 0 | 0 | 3 | 0.0 |" in text
    assert "| dask | 1000 |" in text


def test_the_page_has_its_tables() -> None:
    text = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    for name in ("measured", "forecast", "scheduler"):
        table = text.partition(f"<!-- {name} -->")[2].partition(f"<!-- end of {name} -->")[0]
        assert table.count("\n|") >= 4, name
    for volume in scaling.VOLUMES:
        assert f"| {volume} | zs | verify |" in text
