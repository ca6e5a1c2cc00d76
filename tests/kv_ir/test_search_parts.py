"""A stream that is searched in parts has the answers of the whole, whichever part has a key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import QueryError
from exhume.formats.kv_ir import rows
from exhume.formats.kv_ir.reader import KvIrArchive
from exhume.io.local import GrowingFile
from tests.clp_s.oracle import ORACLES, Oracle

Cli = Callable[..., Any]

COMMANDS = [
    ("NOT a: *", "--count"),
    ("NOT *.b: *", "--count"),
    ("NOT a: * OR n: 5", "--count"),
    ("n: 5", "--projection", "a"),
    ("n: 5", "--projection", "n", "a"),
    ("n: 5", "--projection", "@timestamp.unix_millisecs"),
    ("*", "--tge", "1700000000100", "--count"),
    ("n: 5", "--tle", "1700000000100", "--projection", "n"),
    ("*", "--count-by-time", "1000"),
    ("*", "--min", "a"),
    ("*", "--unique", "c.b"),
    ("zzz: 1 OR a: 1", "--count"),
]
"""Each names something that not every part has."""


def written(path: Path) -> Path:
    """A stream with a middle part of other keys than the rest, and with times."""
    with exhume.create(path, "kv-ir") as writer:
        for n in range(100):
            writer.write({"n": n, "m": "x" * 50 + str(n)})
        for n in range(100):
            time = {"timestamp": {"unix_millisecs": 1_700_000_000_000 + n * 10}}
            writer.write({"n": n, "a": n % 7, "c": {"b": "one"}, "m": "y" * 50 + str(n)}, time)
        for n in range(100):
            writer.write({"n": n, "d": {"b": "o n e"}, "m": "z" * 50 + str(n)})
    return path


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Called, it makes the parts of streams small."""
    return lambda: monkeypatch.setattr(rows, "SIZE", 1 << 11)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("jobs", [1, 3])
def test_parts_answer_as_the_whole(
    command: tuple[str, ...], jobs: int, small_parts: Callable[[], None], exhume_cli: Cli, tmp_path: Path
) -> None:
    path = written(tmp_path / "made.clp")
    whole = exhume_cli("search", path, *command, "--jobs", jobs)
    assert whole.code == 0
    small_parts()
    with exhume.open(path) as stream:
        assert isinstance(stream, KvIrArchive)
        assert sum(1 for _ in rows.archives(stream)) > 4
    parts = exhume_cli("search", path, *command, "--jobs", jobs)
    assert (parts.code, parts.out, parts.err) == (whole.code, whole.out, whole.err)


@pytest.mark.parametrize("command", [("*", "--projection", "nothing"), ("*", "--tge", "5", "--timestamp-key", "no")])
def test_what_no_part_has_is_refused(
    command: tuple[str, ...], small_parts: Callable[[], None], exhume_cli: Cli, tmp_path: Path
) -> None:
    path = written(tmp_path / "made.clp")
    whole = exhume_cli("search", path, *command)
    assert whole.code not in (0, 4)
    small_parts()
    parts = exhume_cli("search", path, *command)
    assert (parts.code, parts.out, parts.err) == (whole.code, whole.out, whole.err)


def test_damage_is_reported_once(small_parts: Callable[[], None], exhume_cli: Cli, tmp_path: Path) -> None:
    """The pass for the keys passes over what the search reports: a second stream, and a stream that ends early."""
    path = written(tmp_path / "made.clp")
    data = path.read_bytes()
    small_parts()
    for broken, code in ((data + data, 3), (data[:-40], 1)):
        path.write_bytes(broken)
        ran = exhume_cli("search", path, "NOT a: *", "--pairs", "user")
        assert ran.code == code
        assert ran.out.count(b"\n") == 200 - (code == 1)
        assert ran.err.count("KVIR-") == 1, ran.err


@pytest.mark.parametrize("oracle", ORACLES)
def test_parts_answer_as_the_native_search_of_the_whole(
    oracle: Oracle, small_parts: Callable[[], None], tmp_path: Path
) -> None:
    path = written(tmp_path / "made.clp.zst")
    assert oracle.run("c", "--single-file-archive", tmp_path / "out", path).returncode == 0
    (native,) = (tmp_path / "out").iterdir()
    small_parts()
    with exhume.open(path) as stream:
        assert isinstance(stream, KvIrArchive)
        for query in ("NOT a: *", "NOT *.b: *", "NOT c.b: * AND n > 50", "NOT nothing: *", "NOT (a: * AND d.b: *)"):
            theirs = oracle.run("s", native, query).stdout.splitlines()
            assert len(list(stream.search(query))) == len(theirs), query


def test_a_key_of_the_events_to_come_ends_no_search_that_follows(
    monkeypatch: pytest.MonkeyPatch, exhume_cli: Cli, tmp_path: Path
) -> None:
    """Each piece that the logger adds is searched alone, with the keys of those before it."""
    data = written(tmp_path / "made.clp").read_bytes()
    path = tmp_path / "growing.clp"
    for command, lines in (
        (("n: 5", "--projection", "a", "--pairs", "user"), [b"{}", b'{"a":5}', b"{}"]),
        (("n: 5", "--tge", "1", "--projection", "n", "--pairs", "user"), [b'{"n":5}']),
        (("NOT a: * AND n: 5", "--projection", "n", "--pairs", "user"), [b'{"n":5}']),
    ):
        path.write_bytes(data[:2000])
        rest = [data[at : at + 3000] for at in range(2000, len(data), 3000)]

        def wait(self: GrowingFile, seconds: float, rest: list[bytes] = rest) -> None:
            with path.open("ab") as file:
                file.write(rest.pop(0))

        monkeypatch.setattr(GrowingFile, "wait", wait)
        ran = exhume_cli("search", "--follow", path, *command)
        assert ran.code == 0
        assert ran.out.splitlines() == lines, command


def test_bounds_without_times_in_python(small_parts: Callable[[], None], tmp_path: Path) -> None:
    small_parts()
    with exhume.open(written(tmp_path / "made.clp")) as stream:
        assert isinstance(stream, KvIrArchive)
        found = stream.search("*", timestamp_key="@timestamp.unix_millisecs", begin_ms=1_700_000_000_500)
        assert len(list(found)) == 50
        with pytest.raises(QueryError, match="no timestamp column"):
            list(stream.search("*", timestamp_key="@nothing", begin_ms=5))
