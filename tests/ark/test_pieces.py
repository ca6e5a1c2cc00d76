"""Logs in chunks: with several processes everything is as with one, wherever the chunks end."""

from __future__ import annotations

import importlib.util
import random
import shutil
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import exhume
from exhume.errors import ExhumeError
from exhume.findings import Finding
from exhume.formats.ark import parallel_query
from exhume.formats.ark.lines import Lines, ValueQuery, counted_lines, lines_of, plain_json
from exhume.formats.ark.messages import ArkMessage
from exhume.formats.ark.parallel_query import make_each, read_each
from exhume.formats.ark.reader import ArkArchive

Cli = Callable[..., Any]

MCAP = ["mcap", "mcap --payload json"] if importlib.util.find_spec("mcap") else []

IDL = "namespace t; schema Pose { double x; string name; system_time_point at; } schema Plain { uint32 a; }"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1,200 messages of four channels in two columns of several splits, with many equal times."""
    rng = random.Random(4)
    root = tmp_path_factory.mktemp("pieces") / "log"
    with exhume.ark.create(root) as writer:
        writer.column("packed", "zstd", split_items=150)
        writer.column("plain", split_items=200)
        pose = writer.channel("/pose", "t::Pose", IDL, column="packed", latched=True)
        plain = writer.channel("/plain", "t::Plain", IDL, column="plain")
        raw = writer.channel("/raw", column="plain")
        other = writer.channel("/other", "t::Pose", IDL, column="plain")
        for number in range(300):
            time = 1000 + number // 7 * 5
            pose.write(time, {"x": rng.random(), "name": f"n{number}", "at": rng.choice([number, (1 << 64) - 1])})
            plain.write(time, {"a": number})
            raw.write(time + 1, rng.randbytes(30))
            other.write(time, {"x": 0.5, "name": "é" * (number % 9), "at": 1})
    return root


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of some messages, for a log that is not worth processes."""
    monkeypatch.setattr("exhume.formats.ark.query.BATCH_MESSAGES", 50)
    monkeypatch.setattr(parallel_query, "CHUNK_MESSAGES", 64)
    monkeypatch.setattr(parallel_query, "SAMPLE_STEP", 16)
    monkeypatch.setattr(parallel_query, "MIN_CHUNKS", 1)


def here(function: Callable[[Any], Any], items: Iterable[Any], jobs: int) -> Iterator[Any]:
    """Instead of processes: everything here, by a function that travelled."""
    import pickle

    assert jobs
    yield from map(pickle.loads(pickle.dumps(function)), items)


def reported(
    log: ArkArchive, jobs: int, make: Callable[[Iterable[ArkMessage]], Any] = counted_lines, **query: Any
) -> tuple[bytes, list[str], str]:
    """The output of a query, the findings, and the error."""
    findings: list[Finding] = []
    out: list[bytes] = []
    try:
        for text, number in make_each(log, make, query, findings=findings, jobs=jobs):
            assert text.count(b"\n") == number
            out.append(text)
    except ExhumeError as error:
        return b"".join(out), [str(each) for each in findings], str(error)
    return b"".join(out), [str(each) for each in findings], ""


@given(data=st.data())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pieces_are_those_of_one_job(
    log: Path, small: None, monkeypatch: pytest.MonkeyPatch, data: st.DataObject
) -> None:
    monkeypatch.setattr(parallel_query, "map_processes", here)
    monkeypatch.setattr(parallel_query, "CHUNK_MESSAGES", data.draw(st.integers(16, 400), label="messages"))
    monkeypatch.setattr(parallel_query, "SAMPLE_STEP", data.draw(st.integers(1, 50), label="sample"))
    times = st.one_of(st.none(), st.integers(990, 1230))
    query: dict[str, Any] = {
        "topics": data.draw(st.sampled_from([None, "/pose", "/p.*", ["/raw", "/other"]])),
        "start_ns": data.draw(times, label="start"),
        "stop_ns": data.draw(times, label="stop"),
        "latched": data.draw(st.booleans()),
        "reverse": data.draw(st.booleans()),
    }
    with exhume.ark.open(log) as opened:
        assert isinstance(opened, ArkArchive)
        assert reported(opened, 3, **query) == reported(opened, 1, **query)


@pytest.mark.slow
def test_processes_print_the_same(log: Path, small: None) -> None:
    with exhume.ark.open(log) as opened:
        assert isinstance(opened, ArkArchive)
        assert parallel_query._spans(opened, {}) is not None
        assert reported(opened, 2) == reported(opened, 1)


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_damage_is_reported_as_by_one_job(
    log: Path, small: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, on_error: str
) -> None:
    import shutil

    monkeypatch.setattr(parallel_query, "map_processes", here)
    shutil.copytree(log, tmp_path / "log")
    for number, split in enumerate(sorted((tmp_path / "log" / "splits").iterdir())):
        raw = bytearray(split.read_bytes())
        raw[-200 - 37 * number] ^= 0x55
        raw[-3] ^= 0x11
        split.write_bytes(raw)
    with exhume.ark.open(tmp_path / "log") as opened:
        assert isinstance(opened, ArkArchive)
        one, several = (reported(opened, jobs, on_error=on_error) for jobs in (1, 2))
    assert several == one
    assert one[2] if on_error == "raise" else one[1]


@pytest.mark.parametrize("batch_rows", [1, 7, 64, 1000])
def test_record_batches_are_those_of_one_job(
    log: Path, small: None, monkeypatch: pytest.MonkeyPatch, batch_rows: int
) -> None:
    pytest.importorskip("pyarrow")
    from collections import Counter

    monkeypatch.setattr(parallel_query, "map_processes", here)
    for topic in ("/pose", "/raw"):
        both = []
        for jobs in (1, 2):
            lost: Counter[str] = Counter()
            with exhume.ark.open(log) as opened:
                found = opened.to_arrow(topic=topic, batch_rows=batch_rows, losses=lost, jobs=jobs)
                both.append(([batch.to_pydict() for batch in found], +lost))
        assert both[0] == both[1]
        assert len(both[0][0]) == -(-300 // batch_rows)


def test_exports_are_those_of_one_job(
    log: Path, small: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, exhume_cli: Cli
) -> None:
    monkeypatch.setattr(parallel_query, "map_processes", here)
    for kind, lines in ({"jsonl": 1200, "csv": 1201} | dict.fromkeys(MCAP, 0)).items():
        written = []
        for jobs in (1, 2):
            output = tmp_path / f"{jobs}.{kind}"
            ran = exhume_cli("export", log, "--to", *kind.split(), "--jobs", jobs, "-o", output)
            assert ran.code == 0, ran.err
            written.append((output.read_bytes(), ran.err))
        assert written[0] == written[1]
        assert len(written[0][0].splitlines()) == lines or kind in MCAP


def test_the_verbs_take_jobs(log: Path, small: None, monkeypatch: pytest.MonkeyPatch, exhume_cli: Cli) -> None:
    monkeypatch.setattr(parallel_query, "map_processes", here)
    for verb in (["cat", log], ["cat", log, "--raw"], ["search", log, "/p.*"], ["cat", log, "--start-ns", 1100]):
        one, several = exhume_cli(*verb), exhume_cli(*verb, "--jobs", 2)
        assert (one.code, several.code, several.out) == (0, 0, one.out)


def test_a_log_in_memory_or_of_one_file_is_read_by_one_job(log: Path, small: None) -> None:
    split = next((log / "splits").iterdir())
    with exhume.ark.open(split) as opened:
        assert isinstance(opened, ArkArchive)
        assert not parallel_query.is_reopenable(opened)
        assert reported(opened, 2, decode=False) == reported(opened, 1, decode=False)


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize(
    "query", [{}, {"start_ns": 1050, "stop_ns": 1150}, {"start_ns": 1050, "reverse": True}, {"topics": "/raw"}]
)
@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.usefixtures("small")
def test_lines_are_those_of_decoded_messages(
    log: Path, tmp_path: Path, jobs: int, query: dict[str, Any], damaged: bool
) -> None:
    root = shutil.copytree(log, tmp_path / "log")
    if damaged:
        for split in sorted((root / "splits").iterdir()):
            data = bytearray(split.read_bytes())
            for place in range(len(data) * 2 // 3, len(data), 97):
                data[place] ^= 0x55
            split.write_bytes(data)
    for on_error in ("skip", "raise"):
        requested = {**query, "on_error": on_error}
        with exhume.open(root) as opened:
            assert isinstance(opened, ArkArchive)
            plain = lines_reported(partial(plain_lines, opened, requested))
            assert lines_reported(partial(kernel_lines, opened, requested, jobs)) == plain
            values = lines_reported(partial(plain_values, opened, requested))
            assert lines_reported(partial(kernel_values, opened, requested, jobs)) == values
            errors = plain[1]
            assert values[1] == errors
            assert bool(errors) == damaged or "topics" in query


@pytest.mark.parametrize("held", [0, 1, 200])
def test_messages_that_may_not_be_held_together_are_read_one_by_one(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    def reported_of(root: Path, out: Path) -> tuple[Any, ...]:
        with exhume.open(log) as opened:
            assert isinstance(opened, ArkArchive)
            lines = lines_reported(partial(kernel_lines, opened, {}, 1))
        salvaged = exhume.salvage(root, out).to_dict()
        del salvaged["output"]
        return lines, list(exhume.verify(root)), salvaged

    root = shutil.copytree(log, tmp_path / "log")
    for split in (root / "splits").iterdir():
        data = bytearray(split.read_bytes())
        data[-40] ^= 0x55
        split.write_bytes(data)
    expected = reported_of(root, tmp_path / "one")
    monkeypatch.setattr("exhume.formats.ark.messages.MOST_PAYLOADS", held)
    assert reported_of(root, tmp_path / "other") == expected
    assert expected[1]


def kernel_lines(log: ArkArchive, query: dict[str, Any], jobs: int, findings: list[Finding]) -> Iterator[Lines]:
    """The lines that the kernel prints."""
    return lines_of(log, query, findings=findings, jobs=jobs)


def plain_lines(log: ArkArchive, query: dict[str, Any], findings: list[Finding]) -> Iterator[Lines]:
    """The lines of messages that are decoded one by one."""
    return (counted_lines([message]) for message in log.messages(**query, findings=findings))


def kernel_values(
    log: ArkArchive, query: dict[str, Any], jobs: int, findings: list[Finding]
) -> Iterator[tuple[bytes, int]]:
    """The JSON of values that the kernel prints, with their channels and times, message by message."""
    for some, count in read_each(log, ValueQuery, query, findings=findings, jobs=jobs):
        assert count == len(some)
        for one in some:
            yield repr(one).encode(), 1


def plain_values(log: ArkArchive, query: dict[str, Any], findings: list[Finding]) -> Iterator[tuple[bytes, int]]:
    """The same of messages that are decoded one by one."""
    for one in log.messages(**query, findings=findings):
        value = one.value if one.value is not None else {"data": one.data}
        yield repr((one.identifier, one.time_ns, plain_json(value))).encode(), 1


def lines_reported(lines: Callable[[list[Finding]], Iterator[Lines]]) -> tuple[tuple[bytes, int], list[str]]:
    """All lines and their number, and the findings of damage."""
    findings: list[Finding] = []
    text, count, errors = b"", 0, []
    try:
        for some, number in lines(findings):
            text, count = text + some, count + number
    except ExhumeError as error:
        errors.append(str(error))
    return (text, count), [*map(str, findings), *errors]
