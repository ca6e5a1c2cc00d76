"""Search: the results of native search on real archives, the bytes read for them, and bounds on hostile queries."""

from __future__ import annotations

import json
import math
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import ExhumeError, LimitExceededError, QueryError
from exhume.formats.clp_s.layout import NodeType, SchemaTree
from exhume.formats.clp_s.query import Options, condition, resolve
from exhume.formats.clp_s.query.evaluate import Evaluator
from exhume.formats.clp_s.query.operand import ALL
from exhume.formats.clp_s.query.requirement import AnyPart, Check, EveryPart
from exhume.formats.clp_s.query.resolve import Resolver
from exhume.formats.clp_s.query.search import Search, resolve_projection
from exhume.formats.clp_s.query.tree import parse_column
from exhume.formats.clp_s.reader import ClpSArchive, open_archive
from exhume.formats.clp_s.writer import create
from exhume.io.local import FileSource
from exhume.io.source import BytesSource
from exhume.testing.sources import CountingSource
from tests.real import RealSamples
from tests.sizes import THOROUGH, size, some


def queries(root: RealSamples) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Archive and query of each sample query that the native search ran."""
    for path in sorted(root.glob("clp_s/*/*/queries.json")):
        for query in json.loads(path.read_text("utf-8")):
            if query["rc"] == 0:
                yield path.parent / query["archive"], query


def options_of(args: list[str]) -> tuple[Options, list[str]]:
    columns: list[str] = []
    if "--projection" in args:
        at = args.index("--projection")
        args, columns = args[:at], args[at + 1 :]
    bounds = [int(args[args.index(flag) + 1]) if flag in args else None for flag in ("--tge", "--tle")]
    return Options("-i" in args, *bounds), columns


def open_sample(path: Path) -> ClpSArchive:
    return open_archive(FileSource(path))


def test_the_same_lines_in_the_same_order(real_samples: RealSamples) -> None:
    seen = 0
    for path, query in queries(real_samples):
        options, columns = options_of(query["args"])
        with open_sample(path) as archive:
            search = Search(archive, query["query"], options)
            nodes = resolve_projection(archive, columns) if columns else None
            lines = b"".join(search.chunks(nodes)).decode("utf-8", "surrogateescape").split("\n")
            expected = [*query["stdout"], ""]
            assert lines == expected, (path, query["query"], query["args"])
            assert search.count() == len(expected) - 1
        seen += 1
    assert seen > 220


def test_the_command_line_prints_the_same(real_samples: RealSamples, exhume_cli: Callable[..., Any]) -> None:
    folders = ("mixed", "ts-iso-z", "multi-input")
    for path, query in some(one for one in queries(real_samples) if one[0].parent.name in folders):
        ran = exhume_cli("search", path, query["query"], *query["args"])
        assert ran.code == 0, ran.err
        assert ran.text.split("\n")[:-1] == query["stdout"], query


def test_refused_queries_are_refused(real_samples: RealSamples) -> None:
    """What the native search refuses and we do not: time literals of the other versions only."""
    refused = 0
    for path in real_samples.glob("clp_s/*/*/queries.json"):
        for query in json.loads(path.read_text("utf-8")):
            if query["rc"] > 0 and "mismatched input '('" not in "".join(query["stderr"]):
                options, _ = options_of(query["args"])
                with open_sample(path.parent / query["archive"]) as archive, pytest.raises(QueryError):
                    Search(archive, query["query"], options)
                refused += 1
    assert refused


# --- the API ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def mixed(real_samples: RealSamples) -> Iterator[ClpSArchive]:
    with open_sample(real_samples.path("clp_s", "0.5.1", "mixed", "archive.clps")) as archive:
        yield archive


def test_events_and_lines_of_a_query(mixed: ClpSArchive) -> None:
    query = "level: ERROR AND err.code: E0002"
    lines = list(mixed.json_lines(query))
    assert [json.loads(line) for line in lines] == list(mixed.events(query))
    assert len(lines) == 6
    assert all(line.endswith(b"\n") for line in lines)
    assert list(mixed.events(query="level: error", ignore_case=True)) == list(mixed.events("level: ERROR"))
    everything = list(mixed.events())
    assert list(mixed.events("*: *")) == everything
    assert [e for e in everything if e["level"] == "ERROR"] == list(mixed.events("level: ERROR"))


def test_ordered_answers(mixed: ClpSArchive) -> None:
    ordered = [json.loads(line) for line in mixed.json_lines("level: ERROR", ordered=True)]
    assert ordered == [e for e in mixed.events(ordered=True) if e["level"] == "ERROR"]
    assert ordered == list(mixed.events("level: ERROR", ordered=True))
    assert [e["ts"] for e in ordered] == sorted(e["ts"] for e in ordered)


def test_ingestion_units_of_hits(real_samples: RealSamples) -> None:
    with open_sample(real_samples.path("clp_s", "0.5.1", "multi-input", "archive.clps")) as archive:
        hits = list(archive.events("$_filename: b.jsonl AND level: ERROR", with_source=True))
        assert hits
        assert {(hit.properties or {})["_filename"] for hit in hits} == {"b.jsonl"}
        assert list(archive.events("$_filename: b.jsonl AND level: ERROR")) == [hit.event for hit in hits]


def test_time_bounds(mixed: ClpSArchive) -> None:
    times = [e["ts"] for e in mixed.events()]
    begin, end = sorted(times)[100], sorted(times)[200]
    found = [e["ts"] for e in mixed.events("*: *", begin_ms=begin, end_ms=end)]
    assert sorted(found) == sorted(t for t in times if begin <= t <= end)
    assert not list(mixed.events("*: *", begin_ms=10**13))


@pytest.mark.parametrize("version", ["0.5.1", "0.4.1"])
def test_time_bounds_beyond_nanoseconds_of_64_bits(tmp_path: Path, version: str) -> None:
    """Bounds are milliseconds of 64 bits; times of 0.5 are nanoseconds of 64 bits."""
    path = tmp_path / "a.clps"
    with create(path, timestamp_key="t", version=version) as writer:
        for time in ("1678-01-01T00:00:00.000Z", "2024-01-01T00:00:00.000Z", "2261-12-31T00:00:00.000Z"):
            writer.write({"t": time})
    with open_sample(path) as archive:
        for bound in (-(1 << 63), -9_223_372_036_855, 9_223_372_036_855, (1 << 63) - 1):
            all_or_none = (3, 0) if bound < 0 else (0, 3)
            found = [archive.search("*", begin_ms=bound), archive.search("*", end_ms=bound)]
            assert tuple(search.count() for search in found) == all_or_none
            assert tuple(len(list(search.events())) for search in found) == all_or_none
        for beyond in (-(1 << 63) - 1, 1 << 63, 10**400):
            with pytest.raises(QueryError, match="does not fit 64 bits"):
                archive.search("*", begin_ms=beyond)


# --- bytes read -------------------------------------------------------------------------------------------------------


def reads_tables(path: Path, query: str, **options: Any) -> tuple[bool, int]:
    """Whether a search touches the section of the tables, and how many lines it finds."""
    source = CountingSource(FileSource(path))
    with open_archive(source) as archive:
        found = sum(1 for _ in archive.json_lines(query, **options))
        start, end = archive.file_entry("/0").start, archive.file_entry("/0").end
        return any(a < end and b > start for a, b in source.requests), found


@pytest.mark.parametrize("version", ["0.3.1", "0.5.1"])
@pytest.mark.parametrize(
    "query",
    [
        "level: NOSUCHLEVEL",
        "level: nosuch*",
        "level: ERROR AND level: NOSUCHLEVEL",
        "msg: *worker-77*",
        'msg: "no such text"',
        "nosuch: 1",
        "nosuch.column: *",
        "level > 5",
        "NOT nosuch: *",
        "$_filename: nosuch.jsonl",
        "err.code: * AND http.status: 200",
    ],
)
def test_what_cannot_match_reads_no_table(real_samples: RealSamples, version: str, query: str) -> None:
    path = real_samples.path("clp_s", version, "mixed", "archive.clps")
    assert reads_tables(path, query) == (False, 0)


def test_time_outside_the_archive_reads_no_table(real_samples: RealSamples) -> None:
    path = real_samples.path("clp_s", "0.5.1", "mixed", "archive.clps")
    assert reads_tables(path, "level: ERROR", begin_ms=1_900_000_000_000) == (False, 0)
    assert reads_tables(path, 'ts < timestamp("2001-02-03T04:05:06Z")') == (False, 0)
    assert reads_tables(path, "level: ERROR")[0]


def test_existence_is_counted_without_reading_tables(real_samples: RealSamples) -> None:
    source = CountingSource(FileSource(real_samples.path("clp_s", "0.5.1", "mixed", "archive.clps")))
    with open_archive(source) as archive:
        assert Search(archive, "err.code: *").count() == 120
        start = archive.file_entry("/0").start
        assert not any(b > start and a < archive.file_entry("/0").end for a, b in source.requests)


def test_only_tables_that_can_match_are_loaded(mixed: ClpSArchive) -> None:
    plan = Search(mixed, "http.status: 404").plan
    assert [table.entry.num_messages for table in plan.tables] == [120]
    assert plan.num_tables == 5
    explained = plan.explain()
    assert explained["dropped"] == {"the shape of the records cannot match": 4}
    assert "http.status" in explained["tables"][0]["checks"][0]


# --- hostile queries --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        " OR ".join(f"level: L{i}" for i in range(4_000)),
        " AND ".join(f"NOT level: L{i}" for i in range(4_000)),
        " OR ".join(f"msg: *{i}*" for i in range(2_000)),
        " AND ".join(f"(level: L{i} OR ts > {i})" for i in range(2_000)),
        "(" * 20_000 + "level: ERROR" + ")" * 20_000,
        " OR (level: ERROR AND ".join(["ts > 0"] * 200) + ")" * 199,
        "msg: " + "*?" * 2_000,
        "*: " + "*?" * 200,
        "msg: " + "*a?" * 2_000,
        "msg: " + "*e*" * 30,
        "msg: " + " ".join(["*e*"] * 30).replace(" ", "\\u0020"),
        'msg: "' + "* *" * 40 + '"',
        'msg: "' + "a* *b " * 40 + '"',
        "tags: " + "*?" * 500,
        ".*.".join(["*"] * 60) + ": x",
        ".".join(["*", "a"] * 40) + ": x",
    ],
    ids=lambda query: query[:24],
)
@pytest.mark.bulk
def test_hostile_queries_end_soon(mixed: ClpSArchive, query: str) -> None:
    start = time.process_time()
    Search(mixed, query).count()
    assert time.process_time() - start < 10


def tree_of(shape: str, size: int) -> SchemaTree:
    """A tree of integers below keys `a`: a chain, a fan of objects, or a chain of empty keys."""
    parents, keys, types = [-1], [b""], [int(NodeType.OBJECT)]
    for i in range(1, size):
        parents.append(0 if shape == "fan" else i - 1)
        keys.append(b"%d" % i if shape == "fan" else b"" if shape == "empty" else b"a")
        types.append(int(NodeType.OBJECT))
    for i in range(1, size):
        parents.append(i)
        keys.append(b"x")
        types.append(int(NodeType.INTEGER))
    return SchemaTree(parents, keys, types)


@pytest.mark.parametrize("shape", ["chain", "fan", "empty"])
@pytest.mark.parametrize("path", ["*.x", "a.a.x", "*.a.*.a.*.nosuch"])
@pytest.mark.slow
def test_hostile_trees_end_soon(shape: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not THOROUGH:
        monkeypatch.setattr(resolve, "MAX_STEPS", 100_000)
    resolver = Resolver(tree_of(shape, size(600, 2_500)))
    start, refused = time.process_time(), ""
    try:
        resolver.run(condition.ColumnTest(parse_column(path), condition.EXISTS, ALL))
    except LimitExceededError as error:
        refused = str(error)
    assert ("too large" in refused) == (path == "*.x" and shape != "fan")
    assert time.process_time() - start < 30


# --- the command line -------------------------------------------------------------------------------------------------


def test_counts_on_the_command_line(real_samples: RealSamples, exhume_cli: Callable[..., Any]) -> None:
    path = real_samples.path("clp_s", "0.5.1", "mixed", "archive.clps")
    assert exhume_cli("search", path, "level: ERROR", "--count").text == "150\n"
    body = json.loads(exhume_cli("search", path, path, "level: ERROR", "--count", "--json").text)
    assert body["schema"] == "exhume.search/1"
    assert body["count"] == 300
    ran = exhume_cli("search", path, "level: ERROR", "--count-by-time", "20000")
    rows = [tuple(map(int, line.split("\t"))) for line in ran.text.splitlines()]
    assert sum(count for _, count in rows) == 150
    assert all(start % 20000 == 0 for start, _ in rows)
    assert rows == sorted(rows)


def test_counts_by_time_without_a_time(real_samples: RealSamples, exhume_cli: Callable[..., Any]) -> None:
    path = real_samples.path("clp_s", "0.5.1", "ints", "archive.clps")
    ran = exhume_cli("search", path, "n: *", "--count-by-time", 5)
    assert ran.code == 1
    assert "no timestamp column" in ran.err


def test_counts_by_time_of_a_time_that_is_no_number(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    """Only damage makes one: writers refuse it."""
    made, stored = tmp_path / "x", tmp_path / "stored"
    with exhume.create(made, "clp-s", timestamp_key="t", version="0.4.1", retain_float_format=False) as writer:
        writer.write({"t": 1.5})
        writer.write({"t": -0.5})
    assert exhume_cli("search", made, "*", "--count-by-time", 1).text == "-1\t1\n1\t1\n"
    assert exhume_cli("recode", made, "--stored", "-o", stored).code == 0
    data, number = stored.read_bytes(), struct.pack("<d", 1.5)
    assert number in data
    for wrong in (math.nan, math.inf):
        stored.write_bytes(data.replace(number, struct.pack("<d", wrong)))
        found = exhume_cli("search", stored, "*", "--count-by-time", 1)
        assert (found.code, f"a time is not a finite number: {wrong}" in found.err) == (1, True)


def test_what_a_projection_leaves_out_is_named(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    """The lines are those of `clp-s s`, which are `{}` for arrays in columns."""
    with exhume.create(tmp_path / "x", "clp-s", structurize_arrays=True) as writer:
        writer.write({"u": [1, "a"], "o": {"a": [2]}})
        writer.write({"u": "x"})
    found = exhume_cli("search", tmp_path / "x", "*: *", "--projection", "u")
    assert (found.code, sorted(found.text.splitlines())) == (0, ['{"u":"x"}', "{}"])
    assert "leaves out the arrays that are stored as columns in column u" in found.err
    for column, words in (("o.a", "arrays that are stored as columns"), ("o", "objects")):
        found = exhume_cli("search", tmp_path / "x", "*: *", "--projection", column)
        assert (found.code, f"column {column} has nothing but {words}" in found.err) == (1, True)


def test_projection_takes_several_columns(real_samples: RealSamples, exhume_cli: Callable[..., Any]) -> None:
    path = real_samples.path("clp_s", "0.5.1", "mixed", "archive.clps")
    following = exhume_cli("search", path, "http.status: 500", "--projection", "level", "http.path", "--tge", 0)
    before = exhume_cli("search", "--projection", "level", "--projection", "http.path", path, "http.status: 500")
    assert following.code == before.code == 0
    assert following.text == before.text
    assert json.loads(following.text.splitlines()[0]).keys() == {"level", "http"}
    for columns in (["level", "level"], ["http.*"], ["a..b"]):
        assert exhume_cli("search", path, "*: *", "--projection", *columns).code == 1


def test_notes_and_errors(real_samples: RealSamples, exhume_cli: Callable[..., Any]) -> None:
    path = real_samples.path("clp_s", "0.5.1", "mixed", "archive.clps")
    ran = exhume_cli("search", path, "nosuch: 1 OR level: ERROR", "--exit-code")
    assert (ran.code, ran.text.count("\n")) == (0, 150)
    assert "nosuch" in ran.err
    ran = exhume_cli("search", path, "nosuch: 1", "--exit-code")
    assert (ran.code, ran.out) == (4, b"")
    assert "nosuch" in ran.err
    ran = exhume_cli("search", path, "level: (ERROR OR INFO)")
    assert ran.code == 1
    assert ran.out == b""
    assert ran.err.splitlines()[-1].index("^") == ran.err.splitlines()[-2].index(" OR ") + 1
    ran = exhume_cli("search", real_samples.path("clp_s", "0.5.1", "ts-absent", "archive.clps"), "x: 1", "--tge", "0")
    assert ran.code == 1
    assert "no timestamp column" in ran.err


def test_the_plan_is_explained(real_samples: RealSamples, exhume_cli: Callable[..., Any]) -> None:
    path = real_samples.path("clp_s", "0.5.1", "mixed", "archive.clps")
    ran = exhume_cli("search", path, "level: ERROR AND http.status: 404", "--explain-plan")
    assert ran.code == 0
    assert "1 of 5 tables to read" in ran.text
    assert "4 tables dropped: the shape of the records cannot match" in ran.text
    body = json.loads(exhume_cli("search", path, "level: NOSUCH", "--explain-plan", "--json").text)
    assert body["plans"][0]["reason"] == "no dictionary holds the strings"
    assert body["plans"][0]["tables"] == []


def test_matches_as_json(real_samples: RealSamples, exhume_cli: Callable[..., Any]) -> None:
    path = real_samples.path("clp_s", "0.5.1", "mixed", "archive.clps")
    body = json.loads(exhume_cli("search", path, "err.code: E0002", "--json").text)
    lines = exhume_cli("search", path, "err.code: E0002").text.splitlines()
    assert body["schema"] == "exhume.search/1"
    assert [match["record"] for match in body["matches"]] == [json.loads(line) for line in lines]
    rows = [json.loads(row) for row in exhume_cli("search", path, "err.code: E0002", "--ndjson").text.splitlines()]
    assert [row["record"] for row in rows] == [match["record"] for match in body["matches"]]


def test_several_archives(real_samples: RealSamples, exhume_cli: Callable[..., Any]) -> None:
    folder = real_samples.path("clp_s", "0.5.1", "multi-input-split")
    archives = sorted(folder.glob("archive*.clps"))
    expected = [
        line
        for query in json.loads((folder / "queries.json").read_text())
        if query["query"] == "level: ERROR"
        for line in query["stdout"]
    ]
    assert exhume_cli("search", "-h", *archives, "level: ERROR").text.splitlines() == expected


def test_arrays_are_looked_through_before_they_are_parsed(tmp_path: Path) -> None:
    """The short cut past the JSON parser decides nothing: escapes, wildcards, numbers and case still count."""
    texts = [
        '["ab\\u0063",1]',
        '["abc"]',
        '["xabc"]',
        '["ABC"]',
        '[{"k":"abc"}]',
        '["a\\"c"]',
        "[3,null,true]",
        '["3"]',
    ]
    path = tmp_path / "arrays.clps"
    with create(path) as writer:
        for number, text in enumerate(texts):
            writer.write_json_line(b'{"n":%d,"a":%s}' % (number, text.encode()))
    with open_archive(FileSource(path)) as archive:

        def found(query: str, **options: Any) -> list[int]:
            return [event["n"] for event in archive.events(query, **options)]

        assert found("a: abc") == [0, 1]
        assert found("*: abc") == [0, 1, 4]
        assert found("*: *abc") == [0, 1, 2, 4]
        assert found("a: ABC", ignore_case=True) == [0, 1, 3]
        assert found("a.k: abc") == [4]
        assert found('a: "a\\"c"') == [5]
        assert found("a: 3") == [6, 7]
        assert found("a: true") == [6]
        assert found("a: nothing-like-it") == []


def test_reading_ahead_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One job and several print the same lines, even before damage, which is raised in its place."""
    path = tmp_path / "streams.clps"
    with create(path, min_table_size=1) as writer:
        for number in range(6000):
            writer.write(
                {f"shape{number // 1000}": f"value-{number}", "n": number % 7, "text": f"line {number} a{number}"}
            )

    def lines(data: bytes, jobs: int) -> tuple[list[bytes], str]:
        found: list[bytes] = []
        with open_archive(BytesSource(data)) as archive:
            try:
                found.extend(Search(archive, "n: 3", printing=True, jobs=jobs).chunks())
            except ExhumeError as error:
                return found, error.code
        return found, ""

    monkeypatch.setattr("exhume.formats.clp_s.read.blocks.PREFETCHED", 1)
    data = path.read_bytes()
    with open_archive(BytesSource(data)) as archive:
        assert len(archive.table_metadata.streams) == 6
        middle = (archive.stream_span(3).start + archive.stream_span(3).end) // 2
        dictionary = archive.section_span("/var.dict")
    started: list[str] = []
    start = threading.Thread.start

    def counted(self: threading.Thread) -> None:
        started.append(self.name)
        start(self)

    monkeypatch.setattr(threading.Thread, "start", counted)
    whole = lines(data, 8)
    assert len(started) == 6, "five streams behind the first one, and the dictionary"
    assert whole == lines(data, 1)
    assert len(started) == 6
    assert whole == lines(data, 2)
    assert len(started) > 6
    assert b"".join(whole[0]).count(b"\n") == 857
    for offset in (middle, (dictionary.start + dictionary.end) // 2):
        damaged = data[:offset] + bytes([data[offset] ^ 0xFF] * 4) + data[offset + 4 :]
        assert lines(damaged, 2) == lines(damaged, 1)
    assert lines(data[:middle] + bytes(8) + data[middle + 8 :], 2)[1] != ""


def test_a_projection_tells_that_it_leaves_out_auto_generated_keys(
    samples: Path, exhume_cli: Callable[..., Any]
) -> None:
    """As `clp-s s` does: only KV-IR streams have an option for them."""
    archive, stream = (samples / f"real/kv_ir/logger-0.{ending}" for ending in ("clps", "clp.zst"))
    for target, options in ((archive, []), (stream, ["--pairs", "user"])):
        found = exhume_cli("search", target, "user_id: 0", "--projection", "@level.num", "user_id", *options)
        assert found.out == b'{"user_id":0}\n'
        assert "a projection leaves out the auto-generated keys in column @level.num" in found.err
    found = exhume_cli("search", stream, "user_id: 0", "--projection", "@level.num")
    both = b'{"auto_generated_kv_pairs":{"level":{"num":20}},"user_generated_kv_pairs":{}}\n'
    assert (found.out, found.err) == (both, "")


def test_a_check_of_any_column_is_kept_only_if_all_rows_were_compared(tmp_path: Path) -> None:
    with create(tmp_path / "a.clps") as writer:
        writer.write({"a": 10, "b": 0, "x": 1, "y": 0})
        writer.write({"a": 0, "b": 10, "x": 0, "y": 2})
    with exhume.clps.open(tmp_path / "a.clps") as archive:
        search = Search(archive, "x: 1 and y: 2 and * > 5")
        (planned,) = search.plan.tables
        assert isinstance(planned.part, EveryPart)
        checks = {one.node: one for one in planned.part.parts if isinstance(one, Check)}
        any_column = checks.pop(None)
        parts = [EveryPart((one, any_column)) for one in checks.values()]
        assert len(parts) == 2
        for order in (parts, parts[::-1]):
            found = Evaluator(archive.tables[0].load(), search.plan).run(AnyPart(tuple(order)))
            assert found == b"\1\1"
