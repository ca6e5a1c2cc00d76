"""`benchmarks.jsonbench` on a small scale: engines and sources return the same rows as a loop over the documents."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
import zstandard

from benchmarks import jsonbench
from benchmarks.jsonbench import ENGINES, SOURCES, SQL, ask_all, make, random_bytes, sizes, table

DOCUMENTS = 1500
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("jsonbench")
    return make(folder, DOCUMENTS)


def documents(path: Path) -> list[dict[str, Any]]:
    with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
        return [json.loads(line) for line in stream.read().splitlines()]


def expected(docs: list[dict[str, Any]]) -> dict[str, list[list[Any]]]:
    """The five answers, by the wording of the queries."""

    def ranked(found: dict[Any, Any]) -> list[tuple[Any, Any]]:
        return sorted(found.items(), key=lambda item: (-item[1], item[0] is None, item[0] or ""))

    events = Counter(doc.get("commit", {}).get("collection") for doc in docs)
    created = [doc for doc in docs if doc["kind"] == "commit" and doc["commit"]["operation"] == "create"]
    users = defaultdict(set)
    hours: Counter[tuple[str, int]] = Counter()
    times = defaultdict(list)
    for doc in created:
        collection = doc["commit"]["collection"]
        users[collection].add(doc["did"])
        if collection.removeprefix("app.bsky.feed.") in ("post", "repost", "like"):
            hours[collection, doc["time_us"] // 3_600_000_000 % 24] += 1
        if collection == "app.bsky.feed.post":
            times[doc["did"]].append(doc["time_us"])
    counts = Counter(doc["commit"]["collection"] for doc in created)
    first = sorted((min(found), did) for did, found in times.items())
    spans = ranked({did: (max(found) - min(found)) // 1000 for did, found in times.items()})
    return {
        "events by type": [list(row) for row in ranked(events)],
        "and their users": [[name, count, len(users[name])] for name, count in ranked(counts)],
        "by hour": [[name, hour, count] for (name, hour), count in sorted(hours.items(), key=lambda i: i[0][::-1])],
        "first posters": [[did, at] for at, did in first[:3]],
        "longest active": [list(row) for row in spans[:3]],
    }


def test_documents_are_the_same_every_time(made: dict[str, Path]) -> None:
    docs = documents(made["ndjson"])
    again = [json.loads(line) for _, line in zip(range(DOCUMENTS), jsonbench.Bluesky(DOCUMENTS), strict=False)]
    assert docs == again
    assert {doc["kind"] for doc in docs} == {"commit", "identity", "account"}
    assert {doc["commit"]["operation"] for doc in docs if "commit" in doc} == {"create", "delete", "update"}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_and_source_yields_the_same_rows(made: dict[str, Path], engine: str, source: str) -> None:
    found = ask_all(engine, source, made[source], 2)
    assert found["rows"] == expected(documents(made["ndjson"]))
    assert all(len(costs) == 2 for costs in found["costs"].values())


def test_tables(made: dict[str, Path]) -> None:
    costs = {name: [[0.4, 0.2], [0.1, 0.1], [0.2, 0.2]] for name in SQL}
    found = {f"{engine} {source}": {"costs": costs} for engine in ENGINES for source in SOURCES}
    lines = list(table(found))
    assert lines[2].startswith("| events by type | duckdb | 400 (200) | 150 (150) | 400 (200) | 150 (150) | 150 (150)")
    assert lines[2].endswith("| 1.00 | 1.00 | 2.67 | 1.00 |")
    assert len(lines) == 2 + len(SQL) * len(ENGINES)
    assert len(list(sizes(made))) == 2 + len(SOURCES) + 1


def test_the_bits_of_identifiers_are_those_that_were_drawn(made: dict[str, Path]) -> None:
    drawn: Counter[str] = Counter()

    class Counting(jsonbench.Bluesky):
        def _cid(self) -> str:
            drawn["contents"] += 1
            return super()._cid()

        def _key(self) -> str:
            drawn["keys"] += 1
            return super()._key()

    text = "".join(line for _, line in zip(range(DOCUMENTS), Counting(DOCUMENTS), strict=False))
    drawn["users"] = len({did[:24] for did in text.split("did:plc:")[1:]})
    bits = {"contents": 260, "keys": math.log2(2_000_000) + 10, "users": 120}
    assert random_bytes(made["ndjson"]) == round(sum(count * bits[name] for name, count in drawn.items()) / 8)
    assert drawn["contents"] > DOCUMENTS
    assert drawn["keys"] > DOCUMENTS
