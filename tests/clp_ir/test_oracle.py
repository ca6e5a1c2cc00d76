"""The real serializer, deserializer and search (clp-ffi-py) on drawn events."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import exhume
from exhume.formats.clp_ir.reader import ClpIrArchive, choose
from exhume.formats.clp_ir.writer import ClpIrWriter
from tests.clp_ir.streams import wrapped
from tests.oracles import Oracle, apart
from tests.sizes import size

WORDS = st.one_of(
    st.sampled_from([
        "alpha", "größe", "日本", "0x1f", "task_12", "3.14", "-5", "7", "1234567890123", "delta=0.5", "u@host:/p/q?x=1",
        "a\\b", "\x01", "-1234567.8", "99999999.9", "0.12345678", "1.", ".5", "--3", "007", "\x11\x12\x13", "\\",
        "2147483648", "-2147483648", "e1", "=abc", "33554431.0", "3355443.3", "\n", "\0", "*", "?", "x" * 300, "9" * 20,
    ]),
    st.text(max_size=6),
    st.integers().map(str),
    st.floats(allow_nan=False).map(str),
    st.from_regex(r"-?[0-9]{0,10}\.[0-9]{0,10}", fullmatch=True),
)  # fmt: skip
MESSAGES = st.lists(st.tuples(WORDS, st.sampled_from([" ", "", "=", ", ", "/"])), max_size=8).map(
    lambda parts: "".join(word + blank for word, blank in parts)
)
TIMES = st.integers(0, 2_000_000_000_000) | st.integers(1_700_000_000_000, 1_700_000_100_000)
"""Until 2033: dateutil, which clp-ffi-py prints times with, knows no zone after 2037."""
EVENTS = st.lists(st.tuples(TIMES, MESSAGES), max_size=12)
ZONES = st.sampled_from(["UTC", "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Pacific/Apia"])
ASCII = st.text(st.characters(max_codepoint=127), max_size=20)
"""clp-ffi-py writes any text into the metadata, and fails to read what is not ASCII there."""
DRAWN = settings(
    max_examples=size(30, 2000),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with apart("clp_ffi_py", Path(__file__).with_name("ffi_worker.py")) as found:
        yield found


def ours(path: Path, events: list[tuple[int, str]], **options: Any) -> bytes:
    """The stream that exhume writes."""
    with ClpIrWriter(path, overwrite=True, **options) as writer:
        for time, message in events:
            writer.write(time, message)
    return path.read_bytes()


def opened(data: bytes) -> ClpIrArchive:
    archive = exhume.open(data)
    assert isinstance(archive, ClpIrArchive)
    return archive


@pytest.mark.conformance("clp_ffi_py")
@DRAWN
@given(reference=TIMES, pattern=ASCII, zone=ZONES, events=EVENTS)
def test_the_same_bytes_both_ways(
    reference: int, pattern: str, zone: str, events: list[tuple[int, str]], oracle: Oracle, tmp_path: Path
) -> None:
    plain = [(time, base64.b64encode(message.encode()).decode()) for time, message in events]
    question = {"reference": reference, "pattern": pattern, "zone": zone, "events": plain}
    stream = base64.b64decode(oracle.ask(write=question))
    assert ours(tmp_path / "ours.clp", events, pattern=pattern, zone=zone, reference_ms=reference) == stream
    for data in (stream, wrapped(stream)):
        with opened(data) as archive:
            assert [(one.time_ms, one.text) for one in archive] == events
            assert (archive.pattern, archive.zone) == (pattern, zone)
            shown = b"".join(archive.text_chunks(times="iso")).decode()
        found = oracle.ask(read={"stream": base64.b64encode(data).decode()})
        if "\0" not in shown:  # it returns a message only up to the first one
            assert [(time, message) for time, message, _ in found] == events
            assert "".join(printed for _, _, printed in found) == shown


PATTERNS = st.lists(
    st.sampled_from(["a", "A", "*", "?", "\\*", "\\?", "\\\\", "\\", "7", " ", "task", "ö"]), max_size=6
)


@pytest.mark.conformance("clp_ffi_py")
@DRAWN
@given(pattern=st.text(max_size=20), zone=st.text(max_size=20), reference=st.integers(-62_135_596_800_000, 1 << 47))
def test_the_same_preamble(pattern: str, zone: str, reference: int, oracle: Oracle, tmp_path: Path) -> None:
    question = {"reference": reference, "pattern": pattern, "zone": zone, "events": []}
    stream = base64.b64decode(oracle.ask(write=question))
    assert ours(tmp_path / "ours.clp", [], pattern=pattern, zone=zone, reference_ms=reference) == stream


@pytest.mark.conformance("clp_ffi_py")
@DRAWN
@given(
    events=EVENTS,
    texts=st.lists(PATTERNS.map("".join), min_size=1, max_size=3),
    whole=st.booleans(),
    fold=st.booleans(),
    first=TIMES,
    last=TIMES,
)
def test_the_same_matches(
    events: list[tuple[int, str]],
    texts: list[str],
    whole: bool,
    fold: bool,
    first: int,
    last: int,
    oracle: Oracle,
    tmp_path: Path,
) -> None:
    events = [(time, message.replace("\0", "")) for time, message in events]
    begin, end = min(first, last), max(first, last)
    data = ours(tmp_path / "ours.clp", events)
    query = {"texts": texts, "whole": whole, "fold": fold, "begin": begin, "end": end}
    found = oracle.ask(read={"stream": base64.b64encode(data).decode(), "query": query})
    choice = choose(texts, begin_ms=begin, end_ms=end, ignore_case=fold, whole=whole)
    with opened(data) as archive:
        matches = [(one.time_ms, one.text) for one in archive.events(choice=choice)]
    theirs = [(time, message) for time, message, _ in found]
    if any(re.search(r"\\.+\?", text) for text in texts):  # see `test_a_question_mark_after_an_escape`
        remaining = iter(matches)
        assert all(one in remaining for one in theirs)
    else:
        assert matches == theirs


@pytest.mark.conformance("clp_ffi_py")
def test_a_question_mark_after_an_escape(oracle: Oracle, tmp_path: Path) -> None:
    """`clp-ffi-py` takes it for the character itself, unless the escape follows a `*`; it is any character."""
    data = ours(tmp_path / "ours.clp", [(0, "a\\b"), (0, "a\\?")])
    for text, expected in (("a\\\\?", ["a\\?"]), ("\\\\?", ["a\\b", "a\\?"])):
        query = {"texts": [text], "whole": False, "fold": False, "begin": 0, "end": 0}
        found = oracle.ask(read={"stream": base64.b64encode(data).decode(), "query": query})
        assert [message for _, message, _ in found] == expected
        choice = choose([text], begin_ms=0, end_ms=0, ignore_case=False, whole=False)
        with opened(data) as archive:
            assert [one.text for one in archive.events(choice=choice)] == ["a\\b", "a\\?"]


@pytest.mark.conformance("clp_ffi_py")
@DRAWN
@given(events=EVENTS.filter(len), data=st.data())
def test_cut_streams_end_where_the_real_reader_ends(
    events: list[tuple[int, str]], data: st.DataObject, oracle: Oracle, tmp_path: Path
) -> None:
    events = [(time, message.replace("\0", "")) for time, message in events]
    whole = ours(tmp_path / "ours.clp", events)
    with opened(whole) as archive:
        start = archive.preamble.size
    cut = whole[: data.draw(st.integers(start, len(whole) - 1))]
    found = oracle.ask(read={"stream": base64.b64encode(cut).decode()})
    (tmp_path / "cut.clp").write_bytes(cut)
    (tmp_path / "saved.clp").unlink(missing_ok=True)
    report = exhume.salvage(tmp_path / "cut.clp", tmp_path / "saved.clp")
    with opened((tmp_path / "saved.clp").read_bytes()) as archive:
        assert [(one.time_ms, one.text) for one in archive] == [(time, message) for time, message, _ in found]
    assert report.recovered.get("events", 0) == len(found)


@DRAWN
@given(events=EVENTS)
def test_eight_bytes_contain_the_same(events: list[tuple[int, str]], tmp_path: Path) -> None:
    """clp-ffi-py does not read these: the same events come back, and one stream becomes the other."""
    data = ours(tmp_path / "ours.clp", events, encoding="eight-byte")
    with opened(data) as archive:
        assert [(one.time_ms, one.text) for one in archive] == events
        assert archive.info().to_dict()["encoding"] == "eight-byte"
