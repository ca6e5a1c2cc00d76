"""Many small tables searched together: matches and errors are those of each table on its own."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from exhume.errors import ExhumeError
from exhume.formats.clp_s.query import matches, search
from exhume.formats.clp_s.query.search import Search
from exhume.formats.clp_s.read.streams import Streams
from exhume.formats.clp_s.reader import open_archive
from exhume.io.source import BytesSource
from exhume.native import KERNEL
from tests.clp_s.test_together import SOME
from tests.clp_s.test_verify_values import TIMES, stored
from tests.sizes import some

MIXED: list[dict[str, Any]] = [
    {
        "n": number if number % 3 else number / 4,
        "s": f"word{number % 7}" if number % 2 else f"took {number} ms on host{number % 3}",
        "b": number % 4 == 0,
        f"k{number % 13}": [number, "a"] if number % 5 else None,
        "o": {f"z{number % 3}": f"{number}.50"},
    }
    for number in range(60)
]
QUERIES = (
    "*", "n > 20", "n > 20 AND NOT b: true", "*: 7", "*: 7*", 's: "took * ms on host1"', "s: word3 OR n: 2.5",
    "NOT s: word3", "k1: *", "NOT k1: *", "k*: a", '*: "*ms*"', "o.z1: *5*", "*: true", "x.y: a*", "f >= 3", "ts > 0",
)  # fmt: skip


def alone(*_: Any) -> bool:
    return False


def results(data: bytes, query: str, jobs: int = 1) -> tuple[bytes, str, int | str]:
    """The text of the matches and the error that ended it; and how many there are, or the error of counting them."""
    out: list[bytes] = []
    error = ""
    with open_archive(BytesSource(data, "x.clps")) as archive:
        try:
            out.extend(Search(archive, query, printing=True).chunks(jobs=jobs))
        except ExhumeError as found:
            error = str(found)
        try:
            return b"".join(out), error, Search(archive, query).count(jobs=jobs)
        except ExhumeError as found:
            return b"".join(out), error, str(found)


def kinds(folder: Path) -> dict[str, bytes]:
    return {
        "some": stored(folder, SOME[:90]),
        "opened": stored(folder, MIXED, structurize_arrays=True),
        "mixed": stored(folder, MIXED),
        "old": stored(folder, MIXED, version="0.3.1", allow_loss=True),
        "times": stored(folder, TIMES, timestamp_key="ts"),
        "wide": stored(folder, [{f"k{number}": number % 9 for number in range(300)}]),
    }


def test_matches_are_those_of_each_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(6)
    found = 0
    for data in kinds(tmp_path).values():
        for query in ("*", "*: 7", *rng.sample(QUERIES[1:], 5)):
            together = results(data, query, 3 if query == "*: 7" else 1)
            with monkeypatch.context() as patch:
                patch.setattr(search, "are_many", alone)
                assert together == results(data, query), query
            found += together[0].count(b"\n")
    assert found > 300


def test_damage_is_that_of_each_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(9)
    payload = Streams.stream_payload
    errors = 0
    for data in list(kinds(tmp_path).values())[1:5]:
        for _ in range(8):
            place, change = rng.randrange(1 << 30), rng.choice((1, 0x80, 0xFF))

            def hurt(archive: Streams, index: int, place: int = place, change: int = change) -> bytes:
                stream = bytearray(payload(archive, index))
                stream[place % len(stream)] ^= change
                return bytes(stream)

            query = rng.choice(QUERIES)
            with monkeypatch.context() as patch:
                patch.setattr(Streams, "stream_payload", hurt)
                together = results(data, query)
                patch.setattr(search, "are_many", alone)
                assert together == results(data, query), query
            errors += bool(together[1])
    assert errors


def test_tables_that_are_gathered_take_no_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if KERNEL is None:
        pytest.skip("the pure-Python kernel leaves every table to its caller")
    data = kinds(tmp_path)
    expected = {name: results(data[name], "n > 20 OR k7: 7") for name in ("mixed", "wide")}
    monkeypatch.setattr(matches, "LEAST_TABLES", 1)
    monkeypatch.setattr("exhume.formats.clp_s.read.tables.Table.load", None)
    for name, found in some(expected.items()):
        assert results(data[name], "n > 20 OR k7: 7") == found
        assert found[0]
