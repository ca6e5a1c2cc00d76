"""Threads that need the dictionaries of one archive at the same time."""

from __future__ import annotations

import gc
import io
import json
import random
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import ExhumeError
from exhume.formats.clp_s.query.search import Search
from exhume.formats.clp_s.read.blocks import BLOCK_BYTES
from exhume.formats.clp_s.read.columns import PrintContext
from exhume.formats.clp_s.reader import open_archive
from exhume.io.local import FileSource
from exhume.io.source import BytesSource
from exhume.limits import DEFAULT_LIMITS
from tests.broken import MOST, broken, golden
from tests.clp_s.build import clp, i64, tiny, zstd
from tests.sizes import some


class SlowLock:
    """A lock whose owner is slow, so that two threads always meet."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()
        time.sleep(0.05)

    def __exit__(self, *exc: object) -> None:
        self._lock.release()


def test_dictionaries_that_lean_on_each_other_are_read_by_two_threads(samples: Path) -> None:
    path = next(iter(sorted((samples / "clp_s").glob("*.clps"))))
    with open_archive(FileSource(path)) as archive:
        texts: Any = PrintContext(archive)
        texts.lock = SlowLock()
        found: dict[str, Any] = {}
        threads = [
            threading.Thread(target=lambda name=name: found.__setitem__(name, getattr(texts, name)), daemon=True)
            for name in ("escaped_variables", "variables", "escaped_variables", "log_types")
        ]
        for thread in threads:
            thread.start()
            time.sleep(0.01)
        for thread in threads:
            thread.join(20)
        assert not any(thread.is_alive() for thread in threads)
        assert found["variables"] is texts.variables
        assert found["escaped_variables"] is texts.escaped_variables


@pytest.mark.parametrize("name", sorted(broken("clp-s")))
@pytest.mark.bulk
def test_threads_find_what_one_finds(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    case = broken("clp-s")[name]
    with case.target(Path("archive")) as target:
        found = list(exhume.verify(target, format="clp-s", limits=case.limits, jobs=3))
    one = golden("clp-s")[name]
    assert json.loads(json.dumps([finding.to_dict() for finding in found[:MOST]])) == one["findings"]
    codes = Counter(finding["code"] for finding in one["findings"])
    assert Counter(finding.code for finding in found) == one.get("counts", codes)


@pytest.mark.parametrize("name", sorted(broken("clp-s"))[::5])
@pytest.mark.bulk
def test_threads_print_what_one_prints_up_to_the_same_error(name: str, tmp_path: Path) -> None:
    def printed(target: Any, limits: Any, jobs: int) -> tuple[bytes, str]:
        out: list[bytes] = []
        try:
            with exhume.open(target, format="clp-s", limits=limits) as archive:
                out.extend(archive.json_chunks(jobs=jobs))
        except ExhumeError as error:
            return b"".join(out), str(error)
        return b"".join(out), ""

    case = broken("clp-s")[name]
    with case.target(tmp_path / "made") as target:
        assert printed(target, case.limits, 1) == printed(target, case.limits, 3)


QUERIES = ("*", "level: INFO", "NOT level: INFO", "message: *a*", "status >= 300")


@pytest.mark.parametrize("query", QUERIES)
def test_a_search_by_threads_prints_what_one_prints(query: str, samples: Path) -> None:
    matched = 0
    for path in sorted((samples / "clp_s").glob("*.clps")):
        with exhume.open(path, format="clp-s") as archive:
            one = b"".join(archive.search(query).chunks())
            assert b"".join(archive.search(query).chunks(jobs=3)) == one
            assert b"".join(archive.search(query).lines()) == one
            counts = [archive.search(query).count(jobs=jobs) for jobs in (1, 3)]
            assert counts == [one.count(b"\n")] * 2
            matched += len(one)
    assert matched or query != "*"


@pytest.mark.parametrize("name", sorted(broken("clp-s"))[::5])
@pytest.mark.bulk
def test_a_search_by_threads_stops_where_one_stops(name: str, tmp_path: Path) -> None:
    def found(target: Any, limits: Any, jobs: int) -> tuple[bytes, str]:
        out: list[bytes] = []
        try:
            with exhume.open(target, format="clp-s", limits=limits) as archive:
                out.extend(archive.search("*").chunks(jobs=jobs))
        except ExhumeError as error:
            return b"".join(out), str(error)
        return b"".join(out), ""

    case = broken("clp-s")[name]
    with case.target(tmp_path / "made") as target:
        assert found(target, case.limits, 1) == found(target, case.limits, 3)


@pytest.mark.parametrize("name", ["CLPS-302", "CLPS-342", "directory: log.dict cut"])
def test_a_search_that_stops_leaves_no_thread(name: str, tmp_path: Path) -> None:
    """Even if no garbage is collected: the threads would hold the files of the archive."""
    case = broken("clp-s")[name]
    before = set(threading.enumerate())
    gc.disable()
    try:
        with case.target(tmp_path / "made") as target:
            with pytest.raises(ExhumeError), exhume.open(target, format="clp-s", limits=case.limits) as archive:
                list(archive.search("*").chunks(jobs=3))
            assert [one for one in set(threading.enumerate()) - before if one.name == "exhume"] == []
    finally:
        gc.enable()


def test_blocks_of_a_table_are_searched_alike(tmp_path: Path) -> None:
    """Conditions of every kind, on a table of several blocks."""
    rng = random.Random(3)
    rows = 30_000
    with exhume.clps.create(tmp_path / "x", creator_id="me") as writer:
        for n in range(rows):
            text = f"took {n} ms of user{rng.randrange(900)} in {rng.randrange(100) / 8}"
            record = {"n": n, "word": f"w{n % 7}", "x": n / 4, "ok": n % 3 == 0, "a": [n, f"e{n % 5}"], "m": text}
            writer.write(record)
    queries = {
        "n < 20000": 20_000,
        "word: w3": len(range(3, rows, 7)),
        "ok: true AND x >= 100": len(range(402, rows, 3)),
        "a: e2": rows // 5,
        'm: "took 1??? ms*"': 1000,
        'NOT m: "took 1??? ms*" AND NOT n >= 1500': 1000,
        "*: w6": len(range(6, rows, 7)),
    }
    with exhume.clps.open(tmp_path / "x") as archive:
        assert archive.tables[0].size > 2 * BLOCK_BYTES
        for query, count in queries.items():
            whole = b"".join(archive.search(query).lines())
            assert whole.count(b"\n") == count, query
            for jobs in (1, 3):
                search = Search(archive, query, printing=True, jobs=jobs)
                assert b"".join(search.chunks(jobs=jobs)) == whole
                assert Search(archive, query, jobs=jobs).count(jobs=jobs) == count


@pytest.mark.parametrize("jobs", [1, 3])
def test_matches_before_a_damaged_array_are_given(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The condition itself meets the damage, in the block of one row."""
    monkeypatch.setattr("exhume.formats.clp_s.read.blocks.BLOCK_BYTES", 16)
    words = [(9 if row == 5 else 0, 0) for row in range(8)]
    built = tiny(
        nodes=[(-1, b"", 5), (0, b"a", 6)],
        schemas=[(0, [1], [])],
        streams=[[(0, 8, clp(words, []))]],
        array_types=[b"[1]"],
    )
    with open_archive(BytesSource(built.build())) as archive:
        found = archive.search("a: 1").chunks(jobs=jobs)
        assert [next(found) for _ in range(5)] == [b'{"a":[1]}\n'] * 5
        with pytest.raises(ExhumeError, match="row 5, column 0"):
            next(found)


def broken_off(data: bytes) -> bytes:
    """A frame whose last quarter is lost: some empty blocks, then bytes that are not blocks."""
    frame = zstd(data)
    whole = len(frame) * 3 // 4 if len(data) > 1 << 20 else len(frame)
    return frame[:whole] + (bytes(999) + b"\xff" * len(frame))[: len(frame) - whole]


@pytest.mark.parametrize("jobs", [1, 2])
def test_columns_before_damage_are_read_without_those_after_it(jobs: int) -> None:
    rng, rows = random.Random(5), 80_000
    first, second = ([rng.getrandbits(62) for _ in range(rows)] for _ in range(2))
    built = tiny(
        nodes=[(-1, b"", 5), (0, b"a", 0), (0, b"b", 0)],
        schemas=[(0, [1, 2], [])],
        streams=[[(0, rows, i64(*first, *second))]],
        compress=broken_off,
    )

    def column(name: str, **options: Any) -> list[int]:
        with open_archive(BytesSource(built.build())) as archive:
            batches = archive.to_arrow(columns=[name], jobs=jobs, **options)
            return [value for batch in batches for value in batch.column(0).to_pylist()]

    assert column("a") == first
    with open_archive(BytesSource(built.build())) as archive:
        assert Search(archive, f"a <= {first[0]}", jobs=jobs).count(jobs=jobs) == sum(n <= first[0] for n in first)
    assert column("a", query=f"a <= {first[0]}") == [n for n in first if n <= first[0]]
    for name, options in (("b", {}), ("a", {"query": "b > 0"})):
        with pytest.raises(ExhumeError, match="CLPS-309"):
            column(name, **options)


def tables(target: Any, limits: Any, jobs: int) -> tuple[list[Any], dict[str, int], str]:
    """The batches of an archive, what they lose, and the error that ends them."""
    batches: list[Any] = []
    lost: Counter[str] = Counter()
    try:
        with exhume.open(target, format="clp-s", limits=limits) as archive:
            reader = archive.to_arrow(batch_rows=50, losses=lost, jobs=jobs)
            batches.extend([reader.schema.names])
            batches.extend(batch.to_pylist() for batch in reader)
    except ExhumeError as error:
        return batches, dict(lost), str(error)
    return batches, dict(lost), ""


def test_threads_make_the_batches_of_one(samples: Path) -> None:
    for path in some(sorted((samples / "clp_s").glob("*.clps"))[::3]):
        one = tables(path, DEFAULT_LIMITS, 1)
        assert repr(tables(path, DEFAULT_LIMITS, 3)) == repr(one)  # NaN differs from itself
        assert one[0]


@pytest.mark.parametrize("name", sorted(broken("clp-s"))[::5])
@pytest.mark.bulk
def test_threads_make_the_batches_of_one_up_to_the_same_error(name: str, tmp_path: Path) -> None:
    case = broken("clp-s")[name]
    with case.target(tmp_path / "made") as target:
        assert repr(tables(target, case.limits, 1)) == repr(tables(target, case.limits, 3))


def test_the_beginning_of_a_dictionary_is_enough_for_columns_that_repeat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, count = random.Random(1), 80_000
    levels = (b"low", b"high")
    lines = (b'{"level":"%s","id":"%016x"}\n' % (levels[number % 2], rng.getrandbits(64)) for number in range(count))
    with exhume.clps.create(tmp_path / "x") as writer:
        writer.add_file(io.BytesIO(b"".join(lines)))

    def columns(names: list[str]) -> tuple[list[Any], int]:
        with open_archive(FileSource(tmp_path / "x")) as archive:
            rows = list(archive.to_arrow(columns=names))
            return rows, -1 if "variables" not in archive.__dict__ else len(archive.variables)

    whole, read = columns(["level"])
    assert (whole[0].column(0)[1].as_py(), read) == ("high", count + 2)
    monkeypatch.setattr("exhume.formats.clp_s.read.container.LARGE_DICTIONARY", 1 << 17)
    assert columns(["level"]) == (whole, -1)
    assert columns(["id", "level"])[1] == count + 2
    with open_archive(FileSource(tmp_path / "x")) as archive:
        end = archive.file_entry("/var.dict").end
    data = bytearray((tmp_path / "x").read_bytes())
    data[end - 100 : end] = bytes(100)
    with open_archive(BytesSource(bytes(data))) as archive:
        with pytest.raises(ExhumeError):
            b"".join(archive.json_chunks())
        assert list(archive.to_arrow(columns=["level"])) == whole, "the beginning is there, whatever its end is"
