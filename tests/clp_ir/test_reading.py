"""Reading streams: by hand, cut, damaged; the compiled decoder and the pure-Python one; patterns, zones, searches,
tables."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import exhume
from exhume.errors import ExhumeError, QueryError, TruncatedError, UnsupportedFeatureError
from exhume.formats.clp_ir import kernel, pykernel
from exhume.formats.clp_ir.patterns import ISO, compile_pattern, find_zone, print_time, read_program
from exhume.formats.clp_ir.reader import ClpIrArchive, choose
from exhume.formats.clp_ir.units import MAX_MS, MIN_MS, EventForm, parse_wildcard
from exhume.formats.kv_ir.layout import END
from exhume.formats.kv_ir.units import Status
from exhume.io.source import BytesSource
from tests.sizes import THOROUGH, some

from .broken import CASES
from .streams import EVENTS, SMALL, START_MS, STREAMS, UNITS, at, delta, event, flushed, head, offset

DECODERS = [kernel.ClpIrDecoder, pykernel.ClpIrDecoder]


def open_stream(target: Any, **options: Any) -> ClpIrArchive:
    """The stream, opened."""
    archive = exhume.open(target, **options)
    assert isinstance(archive, ClpIrArchive)
    return archive


@pytest.mark.parametrize("data", STREAMS.values(), ids=STREAMS)
def test_events(data: bytes) -> None:
    assert [one.format for one in exhume.identify(data)] == ["clp-ir"]
    with open_stream(data) as archive:
        assert list(archive.events()) == EVENTS
        assert list(archive) == EVENTS
        assert [event for _, _, event in archive.events_with_place()] == EVENTS
        assert b"".join(archive.text_chunks(times="none")) == b"".join(message for _, message in EVENTS)
        assert [json.loads(line) for line in archive.json_lines()] == [
            {"timestamp": time, "message": message.decode()} for time, message in EVENTS
        ]
        found = archive.info().to_dict()
    assert (found["events"], found["complete"], found["problems"]) == (5, True, [])
    assert (found["begin_ms"], found["end_ms"]) == (min(EVENTS)[0], max(EVENTS)[0])
    assert list(exhume.verify(data)) == []


def test_where_events_lie() -> None:
    with open_stream(SMALL) as archive:
        spans = [span for span, _, _ in archive.events_with_place()]
    assert [SMALL[span.start : span.end] for span in spans] == UNITS


def test_text_is_printed_in_the_pattern_and_zone_of_the_stream() -> None:
    with open_stream(SMALL) as archive:
        text = b"".join(archive.text_chunks())
        iso = b"".join(archive.text_chunks(times="iso"))
    assert text.startswith(b"2023-11-14 23:13:20,000 INFO Task task_1 took 3.14 s, -7 left\n2023-11-14 23:13:20,300gr")
    assert text.endswith(b" ERROR \\x\n2024-02-22 09:35:43,468 INFO done\nat a1\n")
    assert iso.startswith(b"2023-11-14 23:13:20.000+01:00 INFO Task")


def test_a_change_of_the_offset_from_utc_applies_from_then_on() -> None:
    one = event(delta(0), b"\n")
    with open_stream(head() + one + offset(-5_400_000) + one + offset(0) + one + END) as archive:
        assert b"".join(archive.text_chunks(times="iso")).splitlines() == [
            b"2023-11-14 23:13:20.000+01:00",
            b"2023-11-14 20:43:20.000-01:30",
            b"2023-11-14 22:13:20.000+00:00",
        ]
        assert archive.info().to_dict()["utc_offset_ms"] == 0


@pytest.mark.parametrize("name", CASES)
def test_both_decoders_state_the_same_of_broken_streams(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[list[Any]] = []
    for decoder in DECODERS:
        monkeypatch.setattr("exhume.formats.clp_ir.stream.ClpIrDecoder", decoder)
        reported.append([])
        for finding in exhume.verify(CASES[name], format="clp-ir"):
            reported[-1].append(finding.to_dict())
        try:
            with open_stream(CASES[name], format="clp-ir") as archive:
                for chunk in archive.text_chunks():
                    reported[-1].append(chunk)
        except ExhumeError as error:
            reported[-1].append(str(error))
    assert reported[0] == reported[1]
    if name.startswith("CLPIR"):
        assert name[:9] in {one["code"] for one in reported[0] if isinstance(one, dict)}


@pytest.mark.parametrize("data", [SMALL, STREAMS["eight"]], ids=["four", "eight"])
@pytest.mark.parametrize(
    "how", [EventForm.CHECK, EventForm.TEXT, EventForm.LINES, EventForm.COLUMNS, EventForm.LENIENT]
)
def test_both_decoders_are_one(data: bytes, how: EventForm) -> None:
    """For every prefix and every single changed byte: the same output, state and verdict.

    As a rule, half of these are read with a choice of events, and the others without.
    """
    body = data[data.index(b"}") + 1 :]
    inputs = [body[:size] for size in range(len(body) + 1)]
    for place in range(len(body)):
        inputs += [
            body[:place] + bytes((byte,)) + body[place + 1 :] for byte in (0, 0x11, 0x18, 0x21, 0x30, 0x34, 0xFF)
        ]
    choice = choose(["t?sk", "*done*", "größe"], ignore_case=True)
    for number, picked in enumerate(((MIN_MS, MAX_MS, ()), choice)):
        for one in some(inputs if THOROUGH else inputs[number::2]):
            reported = []
            for decoder in DECODERS:
                made = decoder(data is STREAMS["eight"], START_MS)
                made.print_times(ISO, find_zone("America/New_York"))
                made.choose(*picked)
                stop = made.run(one, 0, len(one), 7, how, 50 if how & EventForm.TEXT else 1 << 40)
                state = (made.events, made.matched, made.time, made.utc_offset, made.utc_changes)
                output = made.take_columns() if how & EventForm.COLUMNS else made.take()
                reported.append((stop, output, state, made.first_time, made.last_time))
            assert reported[0] == reported[1], one


def test_a_cut_stream_yields_what_is_whole() -> None:
    for data in (SMALL, flushed(SMALL[:-20], SMALL[-20:])):
        cut = data[:-9]
        with open_stream(cut) as archive:
            found: list[Any] = []
            with pytest.raises(TruncatedError):
                found.extend(archive.events())
        assert found == EVENTS[:4]


def test_an_event_that_cannot_be_read_is_reported_after_the_others() -> None:
    with open_stream(CASES["CLPIR-403"]) as archive:
        found: list[Any] = []
        with pytest.raises(ExhumeError, match="CLPIR-403"):
            found.extend(archive.events())
    assert [message for _, message in found] == [message for _, message in [*EVENTS, *EVENTS[:3]]]
    assert found[5].time_ms == EVENTS[-1][0] + 50_000  # its time counts


def test_key_value_streams_are_left_to_their_format(samples: Path) -> None:
    with pytest.raises(UnsupportedFeatureError, match="CLPIR-102"):
        exhume.open(samples / "kv_ir/small.clp", format="clp-ir")
    with pytest.raises(UnsupportedFeatureError, match="KVIR-102"):
        exhume.open(samples / "clp_ir/small.clp", format="kv-ir")


# -- times -------------------------------------------------------------------------------------------------------------

SHOWN = 1_706_692_150_123  # 2024-01-31 09:09:10.123 UTC, a Wednesday
PATTERNS = {
    "yyyy-MM-dd HH:mm:ss,SSS": b"2024-01-31 09:09:10,123",
    "yy/M/d H:m:s.S": b"24/1/31 9:9:10.123",
    "EEE, dd MMM yyyy hh:mm:ss a": b"Wed, 31 Jan 2024 09:09:10 AM",
    "EEEE d MMMM y G": b"Wednesday 31 January 2024 AD",
    "yyyy-MM-dd'T'HH:mm:ss.SSSXXX": b"2024-01-31T09:09:10.123Z",
    "D u k K": b"31 3 9 9",
    "Z z X": b"+0000 UTC Z",
    "'o''clock' ''": b"o'clock '",
    "SSSSSS": b"000123",
    "": b"",
}


@pytest.mark.parametrize(("pattern", "shown"), PATTERNS.items())
def test_patterns(pattern: str, shown: bytes) -> None:
    form = compile_pattern(pattern)
    assert form is not None
    assert print_time(read_program(form), SHOWN, 0, b"UTC") == shown
    for decoder in DECODERS:
        made = decoder(False, SHOWN)
        made.print_times(form, None)
        made.run(event(delta(0), b"\n"), 0, 4 + 1, 0, EventForm.TEXT, 1 << 40)
        assert made.take() == shown + b"\n"


@pytest.mark.parametrize("pattern", ["yyyy-MM-d H:m:s.A", "w", "Y", "'open", "XXXX", "zzzz", "y" * 21, "y" * 2000])
def test_patterns_that_are_not_supported(pattern: str) -> None:
    assert compile_pattern(pattern) is None


@pytest.mark.parametrize(
    ("name", "offset_ms"),
    [("GMT+01:00", 3_600_000), ("UTC-5", -18_000_000), ("+0130", 5_400_000), ("Asia/Kolkata", 19_800_000), ("Z", 0)],
)
def test_zones(name: str, offset_ms: int) -> None:
    zone = find_zone(name)
    assert zone is not None
    assert zone(SHOWN)[2] == offset_ms


@pytest.mark.parametrize("name", ["Europe/Atlantis", "../etc/passwd", "/etc/localtime", "GMT+25", "\0", "a" * 5000])
def test_zones_that_are_not_known(name: str) -> None:
    assert find_zone(name) is None


@given(st.integers(-62_135_596_800_000, 253_402_300_799_999), st.sampled_from(["UTC", "America/New_York", "+05:45"]))
def test_times_are_those_of_the_standard_library(time: int, name: str) -> None:
    zone = find_zone(name)
    assert zone is not None
    form = compile_pattern("yyyy MM dd D HH mm ss SSS u")
    assert form is not None
    start, stop, offset_ms, shown = zone(time)
    assert start <= time <= stop
    printed = print_time(read_program(form), time, offset_ms, shown)
    for decoder in DECODERS:
        made = decoder(False, time)
        made.print_times(form, zone)
        made.run(event(delta(0), b""), 0, 4, 0, EventForm.TEXT, 1 << 40)
        assert made.take() == printed
    local = (time + offset_ms) // 1000
    if 0 < local < 250_000_000_000:
        there = datetime.fromtimestamp(local, UTC)
        assert printed.decode().split()[:3] == there.strftime("%Y %m %d").split()
        assert printed.decode().split()[4:7] == there.strftime("%H %M %S").split()
        assert int(printed.split()[3]) == int(there.strftime("%j"))
        assert int(printed.split()[-1]) == there.isoweekday()


# -- searches ----------------------------------------------------------------------------------------------------------


def test_search() -> None:
    with open_stream(SMALL) as archive:
        assert [one.text for one in archive.search("task_? took")] == [EVENTS[0][1].decode()]
        assert list(archive.search("TASK")) == []
        assert len(list(archive.search("TASK", ignore_case=True))) == 1
        assert len(list(archive.search("info*", ignore_case=True))) == 2
        assert list(archive.search("INFO", whole=True)) == []
        assert [one.message for one in archive.search("* INFO*\n", whole=True)] == [EVENTS[0][1], EVENTS[4][1]]
        assert [one.message for one in archive.search("", whole=True)] == [b""]
        assert list(archive.search("*", begin_ms=START_MS, end_ms=START_MS + 300)) == EVENTS[:2]
        assert archive.count(choose(["INFO"])) == 2
        assert archive.count_by_time(1 << 33, choose(["INFO"])) == Counter(
            {START_MS >> 33 << 33: 1, EVENTS[4][0] >> 33 << 33: 1}
        )
        with pytest.raises(QueryError, match="after"):
            archive.search("x", begin_ms=2, end_ms=1)
        with pytest.raises(QueryError, match="64 bits"):
            archive.search("x", end_ms=1 << 64)
        with pytest.raises(QueryError, match="64 bits"):
            archive.search("x", begin_ms=1 << 64)


PIECES = st.sampled_from(["a", "b", "B", "ab", "*", "?", "\\*", "\\?", "\\\\", "\\", "x", "ä"])


@given(st.lists(PIECES, max_size=7).map("".join), st.lists(st.sampled_from("abAB*?\\xä"), max_size=9).map("".join),
       st.booleans(), st.booleans())  # fmt: skip
def test_wildcards_are_those_of_a_regular_expression(pattern: str, message: str, whole: bool, fold: bool) -> None:
    found = parse_wildcard(pattern, whole=whole, fold=fold)
    expression, at = b"", 0
    raw = pattern.encode() if whole else b"*" + pattern.encode() + b"*"
    while at < len(raw):
        letter = raw[at : at + 1]
        at += 1
        if letter == b"\\":
            letter, at = raw[at : at + 1], at + 1
            expression += re.escape(letter)
        else:
            expression += {b"*": b".*", b"?": b"."}.get(letter, re.escape(letter))
    flags = re.DOTALL | (re.IGNORECASE if fold else 0)
    expected = re.fullmatch(expression, message.encode(), flags) is not None
    encoder = kernel.ClpIrEncoder(False, 0)
    encoder.add(0, message.encode())
    unit = encoder.take()
    for decoder in DECODERS:
        made = decoder(False, 0)
        made.choose(MIN_MS, MAX_MS, [found])
        made.run(unit, 0, len(unit), 0, EventForm.LENIENT, 1 << 40)
        assert made.matched == expected


MARKS = [b"\x11", b"\x12", b"\x13", b"\\a", b"\\\x12", b"\\"]
LOG_TYPE_BITS = st.lists(st.sampled_from([b"a", b"b", b"B", b"1", b".", *MARKS]), max_size=8).map(b"".join)
TEXT_VARIABLES = st.lists(st.sampled_from([b"a", b"b", b"A", b"1", b"-"]), max_size=4).map(b"".join)
NUMBER_VARIABLES = st.integers(-12, 12) | st.integers(-(1 << 31), (1 << 31) - 1)
QUERIES = st.lists(st.sampled_from(["a", "b", "B", "1", "-", ".", "*", "?", "\\?", "ab", "a1"]), min_size=1, max_size=5)


@given(st.data(), st.booleans())
def test_searches_look_across_variables(data: st.DataObject, wide: bool) -> None:
    """A match may begin and end anywhere in a variable, and variables that do not fit are reported all the same."""
    types = data.draw(st.lists(LOG_TYPE_BITS, min_size=1, max_size=3))
    time = at(START_MS) if wide else delta(1)
    units = []
    for _ in range(data.draw(st.integers(1, 8))):
        log_type = data.draw(st.sampled_from(types))
        kinds = [TEXT_VARIABLES if mark == 0x12 else NUMBER_VARIABLES for mark in re.sub(rb"\\.?", b"", log_type)
                 if mark in b"\x11\x12\x13"]  # fmt: skip
        if data.draw(st.integers(0, 9)) == 0:
            kinds = data.draw(st.permutations([*kinds, TEXT_VARIABLES]))
        variables: list[Any] = [data.draw(kind) for kind in kinds]
        units.append(event(time, log_type, *variables, wide=wide))
    queries = data.draw(st.lists(QUERIES.map("".join), min_size=1, max_size=2))
    choice = choose(queries, ignore_case=data.draw(st.booleans()), whole=data.draw(st.booleans()))
    stream, reported = b"".join(units), []
    for decoder in DECODERS:
        made = decoder(wide, START_MS)
        made.choose(*choice)
        place, stops = 0, []
        while place < len(stream):
            stops.append(made.run(stream, place, len(stream), 0, EventForm.COLUMNS, 1 << 40))
            assert stops[-1][0] in (Status.MORE, Status.LOG_TYPE)
            place = max(stops[-1][1], stops[-1][3])
        reported.append((stops, made.take_columns(), made.events, made.matched))
    assert reported[0] == reported[1]


# -- tables and the command line ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", STREAMS.values(), ids=STREAMS)
def test_tables(data: bytes) -> None:
    pa = pytest.importorskip("pyarrow")
    with open_stream(data) as archive:
        table = archive.to_arrow(batch_rows=2).read_all()
        assert table.schema.types == [pa.timestamp("ms", "UTC"), pa.large_string()]
        assert table["timestamp"].cast(pa.int64()).to_pylist() == [time for time, _ in EVENTS]
        assert table["message"].to_pylist() == [message.decode() for _, message in EVENTS]
        assert archive.to_arrow(columns=["message"]).read_all().column_names == ["message"]
        assert archive.to_arrow(columns=[]).read_all().num_rows == 5


def test_tables_count_what_is_not_utf_8() -> None:
    pytest.importorskip("pyarrow")
    lost: Counter[str] = Counter()
    with open_stream(CASES["CLPIR-405"]) as archive:
        table = archive.to_arrow(losses=lost).read_all()
    assert table["message"][5].as_py() == "\ufffd \ufffd\n"
    assert sum(lost.values()) == 1


def test_the_command_line(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    path = tmp_path / "a.clp"
    path.write_bytes(SMALL)
    assert exhume_cli("cat", path).text.startswith("2023-11-14 23:13:20,000 INFO Task")
    assert exhume_cli("cat", path, "--times", "none").text.startswith(" INFO Task")
    assert exhume_cli("search", path, "error", "-i", "--times", "none").text == " ERROR \\x\n"
    assert exhume_cli("search", path, "INFO", "--count").text == "2\n"
    assert exhume_cli("search", path, "INFO", "--tle", START_MS, "--count").text == "1\n"
    assert len(exhume_cli("search", path, "INFO", "--count-by-time", 1000).text.splitlines()) == 2
    nothing = exhume_cli("search", path, "nothing", "--exit-code")
    assert (nothing.code, nothing.text) == (4, "")
    (match,) = json.loads(exhume_cli("search", path, "größe", "--json").text)["matches"]
    assert (match["timestamp"], match["ordinal"]) == (START_MS + 300, 1)
    assert len(json.loads(exhume_cli("cat", path, "--json").text)["records"]) == 5
    assert len(json.loads(exhume_cli("list", path, "--json").text)["entries"]) == 5


def test_what_the_command_line_refuses_and_reports(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    path = tmp_path / "a.clp"
    path.write_bytes(SMALL)
    named, turned = exhume_cli("cat", path, "a"), exhume_cli("search", path, "a", "--tge", "2", "--tle", "1")
    assert (named.code, turned.code) == (2, 2)
    assert "names" in named.err
    assert "after" in turned.err
    path.write_bytes(CASES["CLPIR-406"])
    assert "unsupported pattern" in exhume_cli("cat", path).err
    path.write_bytes(CASES["CLPIR-407"])
    assert "unknown time zone" in exhume_cli("cat", path).err


def test_times_are_bounded_in_two_spellings(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    path = tmp_path / "a.clp"
    path.write_bytes(SMALL)
    times = ("1700000000300", "2023-11-14T22:13:20.3Z", "2023-11-14T23:13:20,300+01:00")
    for bound in times:
        assert exhume_cli("search", path, "*", "--tge", bound, "--count").text == "3\n"
        assert exhume_cli("search", path, "*", "--tle", bound, "--count").text == "3\n"
    assert exhume_cli("search", path, "*", "--tge", "-1", "--tle", "1969-12-31T23:59:59.999Z", "--count").text == "0\n"
    for bound, reported in (
        ("2023-11-14T22:13:20", "has no time zone: append Z (UTC) or an offset"),
        ("2023-11-14T22:13:20.3001Z", "is not a whole number of milliseconds"),
        ("2023-11-14T22:13:20.3000001Z", "is not a whole number of milliseconds"),
        ("yesterday", "is neither epoch milliseconds nor a time such as"),
    ):
        ran = exhume_cli("search", path, "*", "--tge", bound)
        assert ran.code == 2
        assert reported in " ".join(ran.err.split())


def test_a_directory_is_no_stream(tmp_path: Path) -> None:
    with pytest.raises(ExhumeError, match="CLPIR-101"):
        exhume.open(tmp_path, format="clp-ir")


def test_a_small_window_of_a_source() -> None:
    with open_stream(BytesSource(b"xx" + SMALL + b"yy"), offset=2, length=len(SMALL)) as archive:
        assert list(archive.events()) == EVENTS


@pytest.mark.parametrize("wide", [False, True])
def test_an_event_above_the_limit_is_passed_over(wide: bool, tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    """Times of later events, which count from its own, are right; a stream that ends inside it names the limit."""
    path, few = tmp_path / "made.clp", ("--limit", "payload_size=100_000")
    with exhume.clpir.create(path, codec="none", encoding="eight-byte" if wide else "four-byte") as writer:
        for row in range(6):
            writer.write(START_MS + row * 1000, "word1 7 2.5 " * 12_000 if row in (1, 4) else f"small{row}")
    usual = exhume_cli("export", path, "--to", "jsonl", "-o", "-").out.splitlines()
    limited = exhume_cli("export", path, "--to", "jsonl", "-o", "-", *few)
    assert (limited.code, limited.out.splitlines()) == (3, [usual[row] for row in (0, 2, 3, 5)])
    assert "payload_size" in limited.err
    checked = json.loads(exhume_cli("verify", path, "--json", *few).out)
    assert (checked["verdict"], len(checked["findings"])) == ("incomplete", 2)
    cut = tmp_path / "cut.clp"
    cut.write_bytes(path.read_bytes()[:-100_000])
    assert "payload_size" in exhume_cli("verify", cut, *few).text


def test_the_limit_decides_by_size_alone(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    path, few = tmp_path / "made.clp", ("--limit", "payload_size=64K")
    with exhume.clpir.create(path, codec="none") as writer:
        for row in range(4):
            writer.write(START_MS + row, "word1 7 2.5 " * 12_000 if row in (0, 2) else f"small{row}")
    usual = exhume_cli("export", path, "--to", "jsonl", "-o", "-").out.splitlines()
    limited = exhume_cli("export", path, "--to", "jsonl", "-o", "-", *few)
    assert (limited.code, limited.out.splitlines()) == (3, usual[1::2])
