"""JSONBench's five queries: DuckDB and Polars over an open clp-s archive, over Parquet, and over NDJSON in zstd.

    python -m benchmarks.jsonbench [--documents 1000000] [--dir DIR] [--repeat 5] [--write docs/arrow.md]

The documents have the shape of those of Bluesky's firehose on which JSONBench asks its queries; they are made up here,
the same every time.  The same documents are stored three times: as NDJSON in zstd, as a clp-s archive with the defaults
of `exhume create clp-s`, and as Parquet in zstd (nested, as DuckDB makes it of the NDJSON).  Each engine and source has
processes of its own that ask the five queries in each round; the first round after opening, the least of theirs,
is told apart from the median of the others.  All sources and engines have to give the same rows.
"""

from __future__ import annotations

import argparse
import base64
import importlib
import io
import json
import math
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import zstandard

import exhume
from benchmarks.machine import settle, warm
from benchmarks.scaling import write_page

ENGINES = ("duckdb", "polars")
SOURCES = ("clp-s", "parquet", "ndjson")
FILES = {"clp-s": "bluesky.clps", "parquet": "bluesky.parquet", "ndjson": "bluesky.ndjson.zst"}
TARGETS = {"parquet": 3.0, "ndjson": 0.1}
START_US = 1_732_206_349_000_000
USERS_PER_DOCUMENT = 0.3
PROCESSES = 3
Rows = list[tuple[Any, ...]]

# --------------------------------------------------------------------------------------------------- the documents

BASE32 = "234567abcdefghijklmnopqrstuvwxyz"
WORDS = 6000
COLLECTIONS = (
    ("feed.like", 440), ("graph.follow", 240), ("feed.post", 150), ("feed.repost", 95), ("graph.block", 25),
    ("actor.profile", 20), ("graph.listitem", 13), ("feed.threadgate", 8), ("graph.list", 5), ("feed.postgate", 4),
)  # fmt: skip
LANGUAGES = ('["en"]', '["en"]', '["en"]', '["ja"]', '["pt"]', '["de"]', '["en","es"]', "[]")

IDENTIFIERS = {
    "contents": re.compile(rb"bafyrei[a-z2-7]{52}"),
    "keys": re.compile(rb'(?:"rev":"|"rkey":"|/)[a-z2-7]{13}"'),
}
RANDOM_BITS = {"contents": 52 * 5, "keys": math.log2(2_000_000) + 10, "users": 24 * 5}
"""What `Bluesky` draws for an identifier of a content, for a key, and for a user, who is drawn once."""


class Bluesky:
    """A sequence of documents of the firehose; the number of users depends on `count`."""

    def __init__(self, count: int) -> None:
        self._rng = rng = random.Random(20)
        self._at = START_US
        self._users = [f"did:plc:{self._word(24)}" for _ in range(max(10, int(count * USERS_PER_DOCUMENT)))]
        letters = "eeeaaaiioountsrhldcmfpgbvkwyj"
        words = ["".join(rng.choices(letters, k=rng.randint(1, 9))) for _ in range(WORDS)]
        self._words = [*words, "😀", 'say "yes"', "line\nbreak", "日本語", "https://example.com/a/b?c=d"]
        self._chosen = [f"app.bsky.{name}" for name, share in COLLECTIONS for _ in range(share)]

    def __iter__(self) -> Iterator[str]:
        while True:
            yield self._document()

    def _word(self, size: int) -> str:
        return base64.b32encode(self._rng.randbytes(size * 5 // 8 + 1))[:size].decode().lower()

    def _user(self) -> str:
        """Few users do most of it."""
        return self._users[int(len(self._users) * self._rng.random() ** 2.5)]

    def _cid(self) -> str:
        return f"bafyrei{self._word(52)}"

    def _key(self) -> str:
        """A key of Bluesky's: the time in base 32, and the number of a clock."""
        number = (self._at - self._rng.randrange(2_000_000)) << 10 | self._rng.randrange(1024)
        return "".join(BASE32[number >> shift & 31] for shift in range(60, -1, -5))

    def _time(self) -> str:
        seconds, rest = divmod(self._at - self._rng.randrange(3_000_000), 1_000_000)
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest // 1000:03}Z"

    def _text(self, most: int) -> str:
        words, size = self._words, len(self._words)
        count = self._rng.randint(1, most)
        return json.dumps(" ".join(words[int(size * self._rng.random() ** 3)] for _ in range(count)))

    def _subject(self, kind: str = "post") -> str:
        return f'{{"cid":"{self._cid()}","uri":"at://{self._user()}/app.bsky.feed.{kind}/{self._key()}"}}'

    def _document(self) -> str:
        rng = self._rng
        self._at += rng.randrange(28_000)
        head = f'{{"did":"{self._user()}","time_us":{self._at},"kind":'
        drawn = rng.random()
        if drawn < 0.012:
            kind = "identity" if drawn < 0.006 else "account"
            more = f'"handle":"{self._word(9)}.bsky.social"' if kind == "identity" else '"active":true'
            seq = f'"seq":{rng.randrange(10**9)},"time":"{self._time()}"'
            return f'{head}"{kind}","{kind}":{{{more},"did":"{self._user()}",{seq}}}}}'
        collection = rng.choice(self._chosen)
        commit = f'"rev":"{self._key()}","operation":'
        if drawn < 0.07:
            return f'{head}"commit","commit":{{{commit}"delete","collection":"{collection}","rkey":"{self._key()}"}}}}'
        operation = "update" if collection.endswith("profile") else "create"
        record = f'{{"$type":"{collection}","createdAt":"{self._time()}",{self._record(collection)}}}'
        return (
            f'{head}"commit","commit":{{{commit}"{operation}","collection":"{collection}","rkey":"{self._key()}",'
            f'"record":{record},"cid":"{self._cid()}"}}}}'
        )

    def _record(self, collection: str) -> str:
        rng = self._rng
        match collection.rpartition(".")[2]:
            case "like" | "repost":
                return f'"subject":{self._subject()}'
            case "follow" | "block":
                return f'"subject":"{self._user()}"'
            case "post":
                parts = [f'"langs":{rng.choice(LANGUAGES)}', f'"text":{self._text(30)}']
                if rng.random() < 0.45:
                    parts.append(f'"reply":{{"parent":{self._subject()},"root":{self._subject()}}}')
                if rng.random() < 0.2:
                    image = f'{{"$type":"blob","ref":{{"$link":"{self._cid()}"}},"mimeType":"image/jpeg",'
                    image += f'"size":{rng.randrange(10**6)}}}'
                    parts.append(f'"embed":{{"$type":"app.bsky.embed.images","images":[{{"alt":"","image":{image}}}]}}')
                elif rng.random() < 0.1:
                    parts.append(f'"embed":{{"$type":"app.bsky.embed.record","record":{self._subject()}}}')
                return ",".join(parts)
            case "profile":
                return f'"description":{self._text(20)},"displayName":{self._text(2)}'
            case "listitem":
                return f'"list":"at://{self._user()}/app.bsky.graph.list/{self._key()}","subject":"{self._user()}"'
            case "list":
                return f'"name":{self._text(3)},"purpose":"app.bsky.graph.defs#curatelist"'
        return f'"post":"at://{self._user()}/app.bsky.feed.post/{self._key()}"'


def make(folder: Path, documents: int) -> dict[str, Path]:
    """The three forms of the same documents; existing files are reused."""
    made = {source: folder / name for source, name in FILES.items()}
    if not made["ndjson"].exists():
        part = folder / "part"
        with part.open("wb") as file, zstandard.ZstdCompressor(level=3).stream_writer(file) as stream:
            for _, line in zip(range(documents), Bluesky(documents), strict=False):
                stream.write(line.encode() + b"\n")
        part.rename(made["ndjson"])
    if not made["clp-s"].exists():
        command = [
            sys.executable,
            "-m",
            "exhume",
            "create",
            "clp-s",
            "-q",
            str(made["ndjson"]),
            "-o",
            str(made["clp-s"]),
        ]
        subprocess.run(command, check=True)
    if not made["parquet"].exists():
        subprocess.run([sys.executable, "-m", "benchmarks.jsonbench", "--parquet", str(folder)], check=True)
    return made


def make_parquet(folder: Path) -> None:
    """Parquet as DuckDB makes it of JSON by itself, in its row groups: objects nested, JSON text where types differ."""
    import duckdb

    documents = f"read_json('{folder / FILES['ndjson']}', format = 'newline_delimited', sample_size = -1)"
    connection = duckdb.connect(config={"threads": 2, "memory_limit": "2GB", "preserve_insertion_order": True})
    connection.execute(f"COPY (SELECT * FROM {documents}) TO '{folder / 'part'}' (FORMAT parquet, COMPRESSION zstd)")
    (folder / "part").rename(folder / FILES["parquet"])


# ----------------------------------------------------------------------------------------------------- the queries

CREATED = "kind = 'commit' AND operation = 'create'"
POSTED = f"{CREATED} AND collection = 'app.bsky.feed.post'"
THREE = "('app.bsky.feed.post', 'app.bsky.feed.repost', 'app.bsky.feed.like')"
SQL = {
    "events by type": "SELECT collection, count(*) AS n FROM docs GROUP BY ALL ORDER BY n DESC, collection",
    "and their users": f"SELECT collection, count(*) AS n, count(DISTINCT did) FROM docs WHERE {CREATED} "
    "GROUP BY collection ORDER BY n DESC, collection",
    "by hour": "SELECT collection, hour(make_timestamp(time_us)) AS hour, count(*) FROM docs "
    f"WHERE {CREATED} AND collection IN {THREE} GROUP BY ALL ORDER BY hour, collection",
    "first posters": f"SELECT did, min(time_us) AS first FROM docs WHERE {POSTED} "
    "GROUP BY did ORDER BY first, did LIMIT 3",
    "longest active": f"SELECT did, (max(time_us) - min(time_us)) // 1000 AS span FROM docs WHERE {POSTED} "
    "GROUP BY did ORDER BY span DESC, did LIMIT 3",
}
"""JSONBench's queries, with an order that leaves nothing open."""

Ask = Callable[[str], Rows]


def duckdb_asker(source: str, path: Path) -> Ask:
    """Ask DuckDB, with two threads."""
    import duckdb

    connection = duckdb.connect(config={"threads": 2})
    nested = "did, time_us, kind, commit.operation AS operation, commit.collection AS collection"
    if source == "clp-s":
        archive: Any = exhume.clps.open(path).to_dataset(jobs=2)
        connection.register("archive", archive)
        flat = 'did, time_us, kind, "commit.operation" AS operation, "commit.collection" AS collection'
        connection.execute(f"CREATE VIEW docs AS SELECT {flat} FROM archive")
    elif source == "parquet":
        connection.execute(f"CREATE VIEW docs AS SELECT {nested} FROM read_parquet('{path}')")
    else:
        types = "{did: 'VARCHAR', time_us: 'BIGINT', kind: 'VARCHAR', "
        types += "commit: 'STRUCT(operation VARCHAR, collection VARCHAR)'}"
        json_lines = f"read_json('{path}', format = 'newline_delimited', columns = {types})"
        connection.execute(f"CREATE VIEW docs AS SELECT {nested} FROM {json_lines}")
    return lambda name: connection.execute(SQL[name]).fetchall()


def polars_asker(source: str, path: Path) -> Ask:
    """Ask Polars, lazily where the source can be scanned."""
    import polars as pl

    names = {"operation": pl.String, "collection": pl.String}
    nested = [pl.col("commit").struct.field(name) for name in names]
    if source == "clp-s":
        archive: Any = exhume.clps.open(path).to_dataset(jobs=2)

    def docs() -> Any:
        if source == "clp-s":
            flat = [pl.col(f"commit.{name}").cast(pl.String).alias(name) for name in names]
            return pl.scan_pyarrow_dataset(archive).select("did", "time_us", "kind", *flat)
        if source == "parquet":
            return pl.scan_parquet(path).select("did", "time_us", "kind", *nested)
        schema: Any = {"did": pl.String, "time_us": pl.Int64, "kind": pl.String, "commit": pl.Struct(names)}
        with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
            return pl.read_ndjson(stream.read(), schema=schema).lazy().select("did", "time_us", "kind", *nested)

    collection, did, at = pl.col("collection"), pl.col("did"), pl.col("time_us")
    created = (pl.col("kind") == "commit") & (pl.col("operation") == "create")
    posted = created & (collection == "app.bsky.feed.post")
    three = collection.is_in(["app.bsky.feed.post", "app.bsky.feed.repost", "app.bsky.feed.like"])
    hour = pl.from_epoch(at, "us").dt.hour().cast(pl.Int64).alias("hour")

    def query(name: str, lazy: Any) -> Any:
        match name:
            case "events by type":
                return lazy.group_by(collection).agg(n=pl.len()).sort("n", "collection", descending=[True, False])
            case "and their users":
                found = lazy.filter(created).group_by(collection).agg(n=pl.len(), users=did.n_unique())
                return found.sort("n", "collection", descending=[True, False])
            case "by hour":
                found = lazy.filter(created & three).group_by(collection, hour).agg(n=pl.len())
                return found.sort("hour", "collection")
            case "first posters":
                return lazy.filter(posted).group_by(did).agg(first=at.min()).sort("first", "did").head(3)
        spans = lazy.filter(posted).group_by(did).agg(span=(at.max() - at.min()) // 1000)
        return spans.sort("span", "did", descending=[True, False]).head(3)

    return lambda name: query(name, docs()).collect().rows()


ASKERS: dict[str, Callable[[str, Path], Ask]] = {"duckdb": duckdb_asker, "polars": polars_asker}


def ask_all(engine: str, source: str, path: Path, repeat: int) -> dict[str, Any]:
    """Rows and `[wall, CPU]` of each query and round, in this process."""
    for module in (engine, "pyarrow.dataset", "exhume.formats.clp_s.arrow"):  # loaded before the clock starts
        importlib.import_module(module)
    begin, cpu = time.perf_counter(), time.process_time()
    ask = ASKERS[engine](source, path)
    opened = [time.perf_counter() - begin, time.process_time() - cpu]
    rows: dict[str, Rows] = {}
    costs: dict[str, list[list[float]]] = {name: [] for name in SQL}
    for _ in range(repeat):
        for name in SQL:
            begin, cpu = time.perf_counter(), time.process_time()
            found = ask(name)
            costs[name].append([time.perf_counter() - begin, time.process_time() - cpu])
            assert rows.setdefault(name, found) == found, f"{name}: another answer than before"
    return {"opened": opened, "rows": {name: list(map(list, found)) for name, found in rows.items()}, "costs": costs}


# --------------------------------------------------------------------------------------------------- output


def compare(made: dict[str, Path], repeat: int) -> dict[str, dict[str, Any]]:
    """All engines and sources, each in several processes that take turns; raises `SystemExit` when two of them differ.

    What a first round takes is the least of these processes, for all of it is new to each of them.
    """
    found: dict[str, dict[str, Any]] = {}
    for turn in range(PROCESSES):
        for engine in ENGINES:
            for source in SOURCES:
                name = f"{engine} {source}"
                if source == "ndjson" and turn:  # whose first round is not shown
                    continue
                done = requested(engine, source, made[source], repeat if source != "ndjson" else min(repeat, 2))
                found[name] = done if name not in found else merged(found[name], done)
    answers = {json.dumps(one["rows"]): name for name, one in found.items()}
    if len(answers) > 1:
        raise SystemExit(f"the answers differ: {', '.join(answers.values())}")
    return found


def requested(engine: str, source: str, path: Path, repeat: int) -> dict[str, Any]:
    """What `ask_all` finds in a process of its own."""
    settle()
    warm(path)
    command = [
        sys.executable,
        "-m",
        "benchmarks.jsonbench",
        "--ask",
        engine,
        source,
        str(path),
        "--repeat",
        str(repeat),
    ]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The rounds of two processes as those of one: the shorter first round, and all others."""
    if one["rows"] != other["rows"]:
        raise SystemExit("two processes have different answers")
    costs = {
        name: [min(mine[0], theirs[0]), *mine[1:], *theirs[1:]]
        for (name, mine), theirs in zip(one["costs"].items(), other["costs"].values(), strict=True)
    }
    return {**one, "costs": costs}


def _first(costs: list[list[float]], which: int) -> float:
    return costs[0][which]


def _again(costs: list[list[float]], which: int) -> float:
    return statistics.median(one[which] for one in costs[1:] or costs)


def table(found: dict[str, dict[str, Any]]) -> Iterator[str]:
    """One line for each query and engine: milliseconds of wall (CPU), ratios of wall."""
    yield (
        "| query | engine | archive, first | again | Parquet, first | again | NDJSON | first, of Parquet | again "
        "| first, of NDJSON | again |"
    )
    yield "| --- | --- " + "| --: " * 9 + "|"
    for name in SQL:
        for engine in ENGINES:
            costs = {source: found[f"{engine} {source}"]["costs"][name] for source in SOURCES}
            own, parquet, ndjson = (costs[source] for source in SOURCES)
            shown = [
                f"{1000 * pick(one, 0):.0f} ({1000 * pick(one, 1):.0f})"
                for one, pick in ((own, _first), (own, _again), (parquet, _first), (parquet, _again), (ndjson, _again))
            ]
            ratios = [pick(own, 0) / pick(parquet, 0) for pick in (_first, _again)]
            ratios += [pick(own, 0) / _again(ndjson, 0) for pick in (_first, _again)]
            yield f"| {name} | {engine} | {' | '.join(shown)} | {' | '.join(f'{ratio:.2f}' for ratio in ratios)} |"


def random_bytes(path: Path) -> int:
    """Bytes that the identifiers of the documents take in any form, since random data cannot be compressed."""
    found: Counter[str] = Counter()
    users: set[bytes] = set()
    with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
        for line in io.BufferedReader(stream, 1 << 20):
            users.update(re.findall(rb"did:plc:([a-z2-7]{24})", line))
            for name, pattern in IDENTIFIERS.items():
                found[name] += len(pattern.findall(line))
    found["users"] = len(users)
    return round(sum(count * RANDOM_BITS[name] for name, count in found.items()) / 8)


def sizes(made: dict[str, Path]) -> Iterator[str]:
    """Stored megabytes, and their ratio to Parquet."""
    found = {source: made[source].stat().st_size for source in SOURCES}
    found["random identifiers alone"] = random_bytes(made["ndjson"])
    yield "| | MB | of Parquet |"
    yield "| --- | --: | --: |"
    for name, size in found.items():
        yield f"| {name} | {size / 1e6:.1f} | {size / found['parquet']:.2f} |"


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--dir", type=Path, help="where the three forms are made and kept")
    parser.add_argument("--repeat", type=int, default=5, help="rounds; of NDJSON two at most")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="the page whose tables to write")
    parser.add_argument("--ask", nargs=3, metavar=("ENGINE", "SOURCE", "PATH"), help=argparse.SUPPRESS)
    parser.add_argument("--parquet", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.parquet:
        make_parquet(options.parquet)
        return 0
    if options.ask:
        engine, source, path = options.ask
        print(json.dumps(ask_all(engine, source, Path(path), options.repeat)))
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.dir or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        made = make(folder, options.documents)
        found = compare(made, options.repeat)
        tables = {"jsonbench sizes": list(sizes(made)), "jsonbench": list(table(found))}
    for lines in tables.values():
        print("\n".join(lines), "\n")
    if options.write:
        write_page(options.write, {name: iter(lines) for name, lines in tables.items()})
    return 0


if __name__ == "__main__":
    sys.exit(main())
