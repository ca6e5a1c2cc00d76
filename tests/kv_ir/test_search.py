"""Searching streams: against a loop over the events, and against the native `clp-s s` on the same stream or on the
archive that it makes of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from exhume_ksy.facts.clp_kv_ir import Tags

import exhume
from exhume.errors import QueryError
from exhume.formats.kv_ir.layout import END, build_real
from exhume.formats.kv_ir.reader import KvIrArchive
from exhume.formats.kv_ir.units import AUTO, USER
from tests.clp_s.oracle import ORACLES, Oracle
from tests.real import REAL, REPOSITORY
from tests.sizes import size

from .broken import CASES
from .streams import EVENTS, HEAD, SMALL, event, user
from .test_oracle import events as drawn

Cli = Callable[..., Any]

LOGGER = REPOSITORY / "kv_ir" / "logger-0.clp.zst"
STREAMS = sorted(REAL.glob("kv_ir/*.clp.zst"))
TIME = "@timestamp.unix_millisecs"

QUERIES = [
    *("*", "NOT *", "a: *", "NOT a: *", "@a: *", "*: alpha", "*: 7", "a: null", "*: null", "a: true", "@a: false"),
    *("a: 0.5", "a > 0", "a >= 127 AND a < 40000", "@a <= -129 OR a > 32767", "b.a: *", "@b.a: *", "a.*: *", "*.a: *"),
    *('message: "*task_12*"', 'message: "*3.14*"', "message: *größe*", 'level: "* *"', "NOT message: *a*", "ü: *日本*"),
    *("user_id > 90", "@level.name: WARN", "@level.name: WARN AND user_id > 80", "NOT @level.num: 20", "@*: INFO"),
    *("u1 < 0", "u3: *alpha*", "g0: *", "@g0: *", "@g0.*: *", "u5.b: null", "k.x: *", "k\\.x: *", "key0007: 7"),
]

ON_STREAMS = ("@level.name: WARN", "@level.name: WARN AND user_id > 80", "user_id: 5 OR @level.num > 20", "@*: INFO",
              'message: "*done in 2.5*"', "@source_location.line: 12", "user_id > 1000", "@level.num: 20")  # fmt: skip
"""Queries that `clp-s` answers on a stream as on an archive of it.  On a stream it takes no event that lacks a key of
the query, not even for `NOT`."""


def named(value: Any) -> Any:
    """Pairs without empty keys: in `clp-s` these match any key; which of several, its tables decide."""
    if isinstance(value, dict):
        return {key or "e": named(one) for key, one in value.items()}
    return value


def canonical(lines: list[bytes]) -> list[str]:
    """Records in no order, with the six digits after the point that `clp-s` prints."""

    def six(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: six(one) for key, one in value.items()}
        return f"{value:.6f}" if isinstance(value, float) else value

    return sorted(json.dumps(six(json.loads(line)), sort_keys=True) for line in lines)


def opened(target: Any) -> KvIrArchive:
    """The stream."""
    archive = exhume.open(target)
    assert isinstance(archive, KvIrArchive)
    return archive


@pytest.fixture(scope="module", params=ORACLES)
def oracle(request: pytest.FixtureRequest) -> Oracle:
    """The real clp-s."""
    found: Oracle = request.param
    return found


def archived(oracle: Oracle, stream: Path, folder: Path, *options: str) -> Path:
    """The archive that the real clp-s makes of a stream."""
    ran = oracle.run("c", "--single-file-archive", *options, folder, stream)
    assert ran.returncode == 0, ran.stderr
    (made,) = folder.iterdir()
    return made


@pytest.mark.bulk
@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.name)
def test_samples_are_searched_as_clp_s_searches_its_archive_of_them(oracle: Oracle, path: Path, tmp_path: Path) -> None:
    native = archived(oracle, path, tmp_path / "out")
    with opened(path) as archive:
        for query in QUERIES[STREAMS.index(path) % 3 :: size(3, 1)]:
            lines = oracle.run("s", native, query).stdout.splitlines()
            assert canonical(list(archive.search(query, pairs="user"))) == canonical(lines), query


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(size(6, 12)))
def test_drawn_streams_are_searched_as_clp_s_searches_its_archive_of_them(
    oracle: Oracle, seed: int, tmp_path: Path
) -> None:
    with exhume.create(tmp_path / "drawn.clp.zst", "kv-ir") as writer:
        for number, (of_logger, of_user) in enumerate(drawn(seed)):
            writer.write({**named(of_user), "number": number}, named(of_logger))
    native = archived(oracle, tmp_path / "drawn.clp.zst", tmp_path / "out")
    matched = 0
    with opened(tmp_path / "drawn.clp.zst") as archive:
        for query in QUERIES[seed % 3 :: size(3, 1)]:
            theirs = [json.loads(line)["number"] for line in oracle.run("s", native, query).stdout.splitlines()]
            ours = [json.loads(line)[USER]["number"] for line in archive.search(query)]
            assert ours == sorted(theirs), query
            matched += len(ours)
    assert matched


def test_a_stream_is_printed_as_by_clp_s(oracle: Oracle, exhume_cli: Cli) -> None:
    """Both sets of pairs, in the order of the stream."""
    for query in ON_STREAMS:
        ran = oracle.run("s", LOGGER, query)
        ours = exhume_cli("search", LOGGER, query).out.splitlines()
        assert [json.loads(line) for line in ours] == [json.loads(line) for line in ran.stdout.splitlines()], query


def test_times_and_projections_are_those_of_clp_s(oracle: Oracle, exhume_cli: Cli, tmp_path: Path) -> None:
    native = archived(oracle, LOGGER, tmp_path / "out", "--timestamp-key", TIME)
    with opened(LOGGER) as archive:
        times = [of_logger["timestamp"]["unix_millisecs"] for of_logger, _ in archive.events()]
    for begin, end in ((times[0], times[-1]), (times[30], times[60]), (times[60] + 1, times[60] + 1), (0, times[3])):
        within = ("user_id > 3", "--tge", str(begin), "--tle", str(end))
        theirs = oracle.run("s", native, *within).stdout.splitlines()
        ours = exhume_cli("search", LOGGER, *within, "--pairs", "user").out.splitlines()
        assert [json.loads(line) for line in ours] == [json.loads(line) for line in theirs]
        assert exhume_cli("search", LOGGER, *within, "--count").out == b"%d\n" % len(theirs)
        assert len(theirs) == sum(begin <= one <= end for one in times[4:])
    theirs = oracle.run("s", native, "user_id > 90", "--projection", "user_id", "@level.name").stdout.splitlines()
    ours = exhume_cli("search", LOGGER, "user_id > 90", "--projection", "user_id", "@level.name").out.splitlines()
    assert [json.loads(line)[USER] for line in ours] == [json.loads(line) for line in theirs] != []
    assert {json.dumps(list(json.loads(line)[AUTO]["level"])) for line in ours} == {'["name"]'}


def test_searches_find_what_a_loop_finds(exhume_cli: Cli) -> None:
    with opened(LOGGER) as archive:
        events = list(archive.events())
        wanted = [{AUTO: a, USER: u} for a, u in events if a["level"]["name"] == "WARN" and u["user_id"] > 80]
        lines = list(archive.search("@level.name: WARN and user_id > 80"))
        assert [json.loads(line) for line in lines] == wanted != []
        lines = list(archive.search("@level.name: WARN and user_id > 80", pairs="auto"))
        assert [json.loads(line) for line in lines] == [one[AUTO] for one in wanted]
    half = events[60][0]["timestamp"]["unix_millisecs"]
    counted = exhume_cli("search", LOGGER, "*", "--tge", half, "--count-by-time", "10000").out
    assert sum(int(line.split(b"\t")[1]) for line in counted.splitlines()) == 60
    assert exhume_cli("search", LOGGER, "user_id: 5", "--pairs", "user", "--projection", "message").out == (
        b'{"message":"Task task_5 done in 2.5 ms"}\n'
    )


def ordered(lines: list[bytes]) -> list[str]:
    """Lines with their keys in order; as text, for NaN is not equal to itself."""
    return [json.dumps(json.loads(line), sort_keys=True) for line in lines]


def test_matches_are_printed_as_events_are(exhume_cli: Cli, tmp_path: Path) -> None:
    """Every digit of consecutive floats, and those that JSON does not have, as `cat` prints them."""
    floats = [0.1 + 0.2, 1 / 3, 1e300, float("nan"), float("inf"), -float("inf"), -0.0, 12345678.9012345678]
    units = [user(Tags.NODE_REAL, b"x%d" % number) for number in range(len(floats))]
    units += 2 * [event([], [(number, build_real(one)) for number, one in enumerate(floats, 1)])]
    units += [event([], [(number, build_real(one)) for number, one in enumerate(floats[::-1], 1)])]
    (tmp_path / "a.clp").write_bytes(HEAD + b"".join(units) + END)
    (tmp_path / "b.clp").write_bytes(SMALL)
    for name in ("a.clp", "b.clp"):
        for pairs in ("user", "auto", "both"):
            shown = exhume_cli("cat", tmp_path / name, "--pairs", pairs).out.splitlines()
            searched = exhume_cli("search", tmp_path / name, "*", "--pairs", pairs).out.splitlines()
            assert ordered(searched) == ordered(shown)
    assert len(shown) == len(EVENTS)


def test_what_is_wrong_with_a_query_is_reported(exhume_cli: Cli) -> None:
    with opened(LOGGER) as archive, pytest.raises(QueryError):
        list(archive.search("a: ("))
    done = exhume_cli("search", LOGGER, "no_such_key: 1")
    assert done.out == b""
    assert "no record has a column no_such_key" in done.err
    assert exhume_cli("search", LOGGER, "*", "--tge", "2", "--tle", "1").code == 2


@pytest.mark.bulk
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("case", CASES)
def test_damage_hides_no_event_from_a_search(case: str, jobs: int, tmp_path: Path, exhume_cli: Cli) -> None:
    """It finds what `cat` prints, and ends with the same rule."""
    path = tmp_path / "broken.clp"
    path.write_bytes(CASES[case])
    printed = exhume_cli("cat", path, "--format", "kv-ir", "--pairs", "both")
    found = exhume_cli("search", path, "*", "--format", "kv-ir", "--jobs", jobs)
    lines = [ran.out.decode("utf-8", "surrogateescape").splitlines() for ran in (found, printed)]
    assert list(map(json.loads, lines[0])) == list(map(json.loads, lines[1]))
    codes = [re.findall(r"\[(KVIR-[0-9]+)\]", ran.err) for ran in (found, printed)]
    assert (found.code, codes[0]) == (printed.code, codes[1])
    assert codes[0] or "KVIR-405" in case  # which is printed as it is
