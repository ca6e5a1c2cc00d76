"""An archive as a dataset: tools say which columns and rows they want, and nothing else is decoded."""

from __future__ import annotations

import hashlib
import pickle
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.dataset
import pytest

import exhume
from exhume.errors import EntryNotFoundError, SourceError, UnsupportedOperationError
from exhume.tabular.dataset import Scan, _others_run
from tests.archives import label, own_archives


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Any]:
    with exhume.create(tmp_path / "a.clps", "clp-s", min_table_size=1 << 12) as writer:
        made: Any = writer
        for number in range(3000):
            made.write(
                {
                    "n": number,
                    "level": ("INFO", "ERROR")[number % 10 == 0],
                    "o": {"e f": number / 2},
                    "m": f"a b {number}",
                }
            )
    with exhume.open(tmp_path / "a.clps") as opened:
        yield opened


@pytest.fixture
def requested(archive: Any, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The columns of each scan."""
    requested: list[list[str]] = []
    plain = type(archive).to_arrow

    def to_arrow(self: Any, **options: Any) -> Any:
        requested.append(sorted(options.get("columns") or []))
        return plain(self, **options)

    monkeypatch.setattr(type(archive), "to_arrow", to_arrow)
    return requested


def test_duckdb_pushes_columns_down(archive: Any, requested: list[list[str]]) -> None:
    import duckdb

    events = archive.to_dataset()
    assert "o.e f" in events.schema.names
    requested.clear()
    found = duckdb.execute("SELECT count(*), max(\"o.e f\") FROM events WHERE level = 'ERROR' AND n >= 1000").fetchall()
    assert found == [(200, 1495.0)]
    assert duckdb.execute("SELECT sum(n) FROM events").fetchall() == [(3000 * 2999 // 2,)]
    assert requested == [["level", "n", "o.e f"]], "what a query read to its end is kept for the next"


def test_polars_pushes_columns_down(archive: Any, requested: list[list[str]]) -> None:
    import polars

    events = archive.to_dataset()
    requested.clear()
    frame = polars.scan_pyarrow_dataset(events).filter(polars.col("n") < 25).select("o.e f").collect()
    assert frame["o.e f"].to_list() == [number / 2 for number in range(25)]
    assert requested == [["n", "o.e f"]]


def test_datafusion_pushes_columns_down(archive: Any, requested: list[list[str]]) -> None:
    import datafusion

    context = datafusion.SessionContext()
    context.register_dataset("events", archive.to_dataset())
    requested.clear()
    found = context.sql("SELECT count(*) AS c, max(\"o.e f\") AS m FROM events WHERE level = 'ERROR' AND n >= 1000")
    assert found.to_pylist() == [{"c": 200, "m": 1495.0}]
    assert context.sql("SELECT sum(n) AS s FROM events").to_pylist() == [{"s": 3000 * 2999 // 2}]
    assert requested[0] == ["level", "n", "o.e f"]
    assert ["n"] not in requested, "it was kept"


@pytest.mark.skipif(sys.platform != "linux", reason="states of threads are those of Linux")
def test_a_thread_that_is_ready_to_run_is_noticed() -> None:
    ended = threading.Event()

    def work() -> None:
        digest = hashlib.sha256()
        while not ended.is_set():
            digest.update(bytes(1 << 20))  # without the interpreter's lock

    thread = threading.Thread(target=work, name="a) R (b")
    thread.start()
    try:
        assert any(_others_run() for _ in range(10_000))
    finally:
        ended.set()
        thread.join()
    assert not all(_others_run() for _ in range(10_000))


@pytest.mark.parametrize("unused", ["s", "s.to_reader().close()", "next(iter(s.to_batches()))", "s.head(1)"])
@pytest.mark.slow
def test_the_interpreter_exits_with_a_scan_unfinished(archive: Any, unused: str) -> None:
    """A reader that was never advanced is the exception: pyarrow waits for it unless it is closed."""
    code = f"import exhume; a = exhume.open({archive.name!r}); kept = []"
    for options in ("", "batch_rows=10", "batch_rows=10, cache_bytes=0"):  # the latter read ahead while it exits
        code += f"; s = a.to_dataset({options}).scanner(); kept.append(({unused}, s))"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_scan_that_is_ended_is_not_taken_for_a_whole_one(archive: Any) -> None:
    """What reads it at the exit of the interpreter gets an error, not the first rows as if they were all."""
    scan = Scan(archive.to_arrow(batch_rows=10))
    assert next(scan).num_rows == 10
    scan.end()
    with pytest.raises(SourceError, match="the scan is unfinished"):
        next(scan)
    with pytest.raises(SourceError, match="the scan is unfinished"):
        pyarrow.RecordBatchReader.from_batches(archive.to_arrow().schema, scan).read_all()


def test_pyarrow(archive: Any, requested: list[list[str]]) -> None:
    events = archive.to_dataset(query="n < 100")
    field = pyarrow.dataset.field
    assert events.schema.equals(archive.to_arrow().schema)
    requested.clear()
    table = events.to_table(columns={"twice": field("n") * 2}, filter=field("level") == "ERROR")
    assert table["twice"].to_pylist() == [20 * number for number in range(10)]
    assert events.count_rows() == 100
    assert events.count_rows(filter=field("n") > 89) == 10
    assert events.head(3)["n"].to_pylist() == [0, 1, 2]
    assert sum(batch.num_rows for batch in events.to_batches(columns=["n"])) == 100
    assert requested[0] == ["level", "n"]
    assert events.to_table().equals(pyarrow.table(archive.to_arrow(query="n < 100")))


def test_columns_are_kept_with_those_that_are_read(archive: Any, requested: list[list[str]]) -> None:
    whole = pyarrow.table(archive)
    events = archive.to_dataset(batch_rows=700)
    requested.clear()
    assert events.to_table(columns=["n"])["n"].to_pylist() == whole["n"].to_pylist()
    for _ in range(2):
        assert events.to_table(columns=["m", "n", "level"]).equals(whole.select(["m", "n", "level"]))
    assert requested == [["n"], ["level", "m"]]
    assert events.to_table(columns=["m", "n"], filter=pyarrow.dataset.field("n") == 2999)["m"].to_pylist() == [
        "a b 2999"
    ]
    assert len(requested) == 2


def test_what_was_not_read_to_its_end_is_not_kept(archive: Any, requested: list[list[str]]) -> None:
    events = archive.to_dataset(batch_rows=10)
    requested.clear()
    scanner = events.scanner(columns=["n"])
    assert scanner.head(5)["n"].to_pylist() == [0, 1, 2, 3, 4]
    del scanner
    assert events.to_table(columns=["n"]).num_rows == 3000
    assert requested == [["n"], ["n"]]


@pytest.mark.parametrize("options", [{"cache_bytes": 0}, {"cache_bytes": 8 * 2999}, {"losses": Counter()}])
def test_nothing_is_kept_beyond_the_room_for_it(
    archive: Any, requested: list[list[str]], options: dict[str, Any]
) -> None:
    events = archive.to_dataset(**options)
    requested.clear()
    for _ in range(2):
        assert events.to_table(columns=["n"])["n"].to_pylist() == list(range(3000))
    assert requested == [["n"], ["n"]]


def test_the_column_used_longest_ago_makes_room(archive: Any, requested: list[list[str]]) -> None:
    events = archive.to_dataset(cache_bytes=8 * 3000 + 8 * 3000 + 1000)
    for name in ("n", "o.e f", "n", "level", "n", "o.e f"):
        requested.clear()
        assert events.to_table(columns=[name]).num_rows == 3000
    assert requested == [["o.e f"]]


def test_the_columns_are_reported_without_decompressing_any(archive: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exhume.formats.clp_s.arrow.Prefetcher", None)
    assert archive.to_dataset(jobs=2).to_table(columns=["n"]).num_rows == 3000


def test_columns_by_number_are_those_of_the_whole_table(archive: Any) -> None:
    import pyarrow.compute as pc

    events = archive.to_dataset()
    place = events.schema.names.index("n")
    for by_number, by_name in ((pc.field(place) == 7, pc.field("n") == 7), (pc.field(place + 1), pc.field("level"))):
        if by_name.equals(pc.field("level")):
            found = [events.to_table(columns={"x": one}) for one in (by_number, by_name)]
        else:
            found = [events.to_table(columns=["m"], filter=one) for one in (by_number, by_name)]
            assert events.count_rows(filter=by_number) == 1
        assert found[0].to_pylist() == found[1].to_pylist()


def test_what_makes_no_sense_is_refused(archive: Any) -> None:
    events = archive.to_dataset()
    for call in (
        lambda: next(iter(events.get_fragments())).scanner(pyarrow.schema([])),
        lambda: events.filter(None),
        lambda: pickle.dumps(events),
        lambda: events.sort_by("n"),
    ):
        with pytest.raises(UnsupportedOperationError):
            call()
    with pytest.raises(EntryNotFoundError):
        archive.to_dataset(columns=["nothing"])


@pytest.mark.parametrize("path", [p for p in own_archives() if p.parent.name != "ark"], ids=label)
def test_every_format(path: Path) -> None:
    import duckdb

    with exhume.open(path) as archive:
        table = pyarrow.table(archive)
        rows = archive.to_dataset()
        assert rows.to_table().num_rows == rows.count_rows() == table.num_rows
        for name in table.schema.names:
            assert rows.to_table(columns=[name])[name].to_pylist() == table[name].to_pylist()
        assert duckdb.execute("SELECT count(*) FROM rows").fetchall() == [(table.num_rows,)]
