"""Text logs: where events begin, what becomes of every byte, and that the interpreted encoder does the same."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

import exhume
from exhume.errors import UnsupportedOperationError, WriterError
from exhume.formats.clp_s.write.inputs import BadRecordError, InputKind, recognize
from exhume.formats.clp_s.write.pykernel import ClpsEncoder as PureEncoder
from exhume.formats.clp_s.write.stamps import FOLLOWS, FORMS, STRICT, Form
from exhume.formats.clp_s.write.textlog import PureTextLog, TextLog, original, text_log
from exhume.formats.clp_s.write.timestamps import TimeDialect, parse_timestamp
from exhume.formats.clp_s.writer import create
from exhume.formats.kv_ir.lines import write_lines
from exhume.formats.kv_ir.pykernel import KvIrEncoder as PureStreamEncoder
from exhume.formats.kv_ir.writer import create as create_stream
from exhume.native import KERNEL
from tests.clp_s.test_writer_encoders import NO_END, build, options, state
from tests.sizes import some
from tests.textlogs import SYSTEMS, WITHOUT_STAMPS
from tests.textlogs import text_log as log_of

Cli = Callable[..., Any]
ROOT = Path(__file__).parents[2]

MORE = {path.stem: path for path in sorted(Path(os.environ.get("EXHUME_TEXT_LOGS", os.devnull)).rglob("*.log"))}
"""Logs of other systems that are not in the repository."""

LOGS = [PureTextLog()] if KERNEL is None else [PureTextLog(), text_log()]

PIECES = st.sampled_from(
    [form.example.encode() for form in FORMS]
    + [b"\n", b"\n", b"\n", b"\r\n", b" ", b" INFO took 1.50 ms id=a1", b"\tat a.b(C.java:1)", b"\0", b"\x11\x12\x13\\"]
    + [b"\xff", b"\xe2\x82", b"\xef\xbf\xbd", "caf\u00e9 \U0001f600".encode(), b'"', b"{", b"2015-02-01 01:0", b"9"]
)
COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", *(bytes((low, 0x2A, 0x4D, 0x18)) for low in range(0x50, 0x60)))
"""How files begin that are decompressed first: gzip, and zstd frames, also skippable ones."""

LINES = st.lists(PIECES, max_size=30).map(b"".join) | st.binary(max_size=40)
LINES = LINES.filter(lambda data: not data.startswith(COMPRESSED))


def events(log: TextLog, data: bytes) -> list[dict[str, Any]]:
    lines, end = log.lines(data, 0, True)
    assert end == len(data)
    return [json.loads(line) for line in lines.splitlines()]


def archived(data: bytes, path: Path, **how: Any) -> bytes:
    """What comes back of a log."""
    source = path / "app.log"
    source.write_bytes(data)
    with create(path / "out.clps", overwrite=True, **{"input": "text", **how}) as writer:
        writer.add_files([source])
    found = []
    for one in writer.paths:
        with exhume.clps.open(one) as archive:
            found.append(b"".join(archive.text_chunks(jobs=how.get("jobs", 1))))
    return b"".join(found)


@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_each_form_begins_an_event(form: Form, log: TextLog) -> None:
    text = form.example.encode()
    data = b"before\n" + text + b" INFO first\n more\n" + text + b"\tsecond\nend"
    assert events(log, data) == [
        {"message": "before\n"},
        {"timestamp": form.example, "message": " INFO first\n more\n"},
        {"timestamp": form.example, "message": "\tsecond\nend"},
    ]
    assert log.last(data) == data.rindex(text)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_each_form_is_a_time(form: Form) -> None:
    assert parse_timestamp(form.example, TimeDialect.BACKSLASH) is not None


@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize(
    ("line", "stamp"),
    [
        ("2016-09-28 04:30:30, Info", "2016-09-28 04:30:30"),
        ("2015-02-01 01:02:03|x", "2015-02-01 01:02:03"),
        ("2015-02-01 01:02:03 +0200 x", "2015-02-01 01:02:03 +0200"),
        ("2015-02-01 01:02:03 Z x", "2015-02-01 01:02:03 Z"),
        ("2015-02-01 01:02:03 Zone", "2015-02-01 01:02:03"),
        ("2015-02-01 01:02:03 UTC [1]", "2015-02-01 01:02:03 UTC"),
        ("2015-02-01T01:02:03\u221204:30 x", "2015-02-01T01:02:03\u221204:30"),
        ("2015-02-01 01:02:03.1234567891 x", "2015-02-01 01:02:03"),
        ("1762445893.001 921 10.0.0.1", "1762445893.001"),
        ("1762445893, x", None),
        ("12345 x", None),
        ("2015-02-01 01:02x", None),
        ("2015-02-01 01:02:03x", None),
        (" 2015-02-01 01:02:03 x", None),
        ("May 01 01:02:03 host x", "May 01 01:02:03"),
        ("Thu, 21 Dec 2000 16:01:07 EST x", "Thu, 21 Dec 2000 16:01:07 EST"),
    ],
)
def test_what_may_follow_a_timestamp(line: str, stamp: str | None, log: TextLog) -> None:
    (event,) = events(log, line.encode())
    assert event.get("timestamp") == stamp


def test_the_docs_have_each_form() -> None:
    page = (ROOT / "docs" / "formats" / "clp_s.md").read_text("utf-8")
    rows = [f"| {form.name} | `{form.example}` | `{form.upstream}` |\n" for form in FORMS]
    assert "| form | example | upstream |\n|---|---|---|\n" + "".join(rows) + "\n" in page


def test_forms_that_look_like_numbers_are_strict() -> None:
    assert [form.example for form in FORMS if form.follows == STRICT] == ["1762445893.001", "1762445893001"]


_TWO = st.sampled_from(["01", " 1", "31", "99", "  ", "1", "001"])
_SIGN = st.sampled_from(["-", "/", " ", "", "  "])
_MONTH = st.sampled_from(["Jan", "February", "Sep", "Sept", "May", "Mayo", "jun", "02"])
_YEAR = st.sampled_from(["2015", "15", "015", "5", "20150"])
_FRACTION = st.sampled_from(["", ",004", ".1", ":123456789", ".1234567890", ".", ";1"])
_ZONE = st.sampled_from(
    [
        "",
        "Z",
        " Z",
        "+02",
        "-0200",
        " +02:00",
        " UTC",
        "UTC",
        " UTC+02:00",
        "UTC+02Z",
        "+2",
        "+02:0",
        "\u221202:00",
        "EST",
    ]
)
_CLOCK = st.tuples(st.sampled_from([" ", "T", ":", "-"]), _TWO, st.just(":"), _TWO, st.just(":"), _TWO).map("".join)
_NEAR = st.one_of(
    st.tuples(_YEAR, _SIGN, _TWO, _SIGN, _TWO, _CLOCK, _FRACTION, _ZONE).map("".join),
    st.tuples(_TWO, _SIGN, _MONTH, _SIGN, _YEAR, _CLOCK, _FRACTION, _ZONE).map("".join),
    st.sampled_from([form.example for form in FORMS]),
)


@st.composite
def near_stamps(draw: st.DrawFn) -> bytes:
    """A timestamp, or what differs from one in a byte or two, and what follows it in its line."""
    text = draw(_NEAR)
    if draw(st.booleans()):
        at = draw(st.integers(0, len(text) - 1))
        text = text[:at] + draw(st.sampled_from(["", "x", " ", "0", "[", text[at] * 2])) + text[at + 1 :]
    return text.encode() + draw(
        st.sampled_from([b"", b"\n", b"\r\n", b" x", b"\tx", b"x", b"_", b"9", b", x", b"]", b": x", b"(x"])
    )


FORM_PATTERNS = [(form, re.compile(form.expression.replace("#", "0-9").encode())) for form in FORMS]


def expected_stamp(line: bytes) -> bytes | None:
    """The longest beginning of a line that is a timestamp with what may follow it."""
    for end in range(min(len(line), 80), 0, -1):
        for form, pattern in FORM_PATTERNS:
            if (end == len(line) or FOLLOWS[line[end]] & form.follows) and pattern.fullmatch(line, 0, end):
                return line[:end]
    return None


_OFFSET = rb"([+-]\d\d(:?\d\d)?)?Z?"
UPSTREAM = re.compile(
    rb"(\d{2,4}[ /-]?[ \d]{2}[ /-][ \d]{2}"
    rb"|[ \d]{2}[ /-](Jan(uary)?|Feb(ruary)?|Mar(ch)?|Apr(il)?|May|June?|July?|Aug(ust)?|Sep(tember)?|Oct(ober)?"
    rb"|Nov(ember)?|Dec(ember)?)[ /-]\d{2,4})"
    rb"[ T:][ \d]{2}:[ \d]{2}:[ \d]{2}([,.:]\d{1,9})?((( UTC)?" + _OFFSET + rb")|((UTC)?" + _OFFSET + rb"))?"
)
"""The schema of upstream's `log-converter`: what begins an event where a space, a line end, `[`, `(` or `:` follows."""


def upstream_stamp(line: bytes) -> bytes | None:
    ends = (end for end in range(min(len(line), 80), 0, -1) if end == len(line) or line[end] in b" \t\r\n[(:")
    return next((line[:end] for end in ends if UPSTREAM.fullmatch(line, 0, end)), None)


@pytest.mark.parametrize("log", LOGS)
@given(st.lists(near_stamps() | st.sampled_from([b"x", b"\tat a.b(C.java:1)", b"", b"]"]), min_size=1, max_size=6))
def test_lines_that_look_almost_like_timestamps(log: TextLog, lines: list[bytes]) -> None:
    data = b"\n".join(lines)
    whole = data.splitlines(keepends=True)
    begun = False
    want: list[tuple[bytes | None, bytes]] = []
    for line in whole:
        stamp = expected_stamp(line)
        theirs = upstream_stamp(line)
        assert theirs is None or (stamp or b"").startswith(theirs)
        if stamp is None and begun:
            want[-1] = want[-1][0], want[-1][1] + line
        else:
            begun = begun or stamp is not None
            want.append((stamp, line[len(stamp or b"") :]))
    found = events(log, data)
    assert [(one.get("timestamp"), one["message"]) for one in found] == [
        (None if stamp is None else stamp.decode(), rest.decode()) for stamp, rest in want
    ]


@given(st.lists(near_stamps(), min_size=1, max_size=6), st.booleans())
def test_near_timestamps_come_back(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], has_times: bool
) -> None:
    how: dict[str, Any] = {"timestamp_key": "timestamp", "allow_loss": True} if has_times else {}
    data = b"\n".join(lines)
    found = archived(data, tmp_path_factory.mktemp("near"), **how)
    is_beyond = has_times and any(not 1678 <= int(year) <= 2261 for year in re.findall(rb"\d{4}", data))
    assert found == data or is_beyond
    if found != data:  # times are nanoseconds of 64 bits: a loss that was allowed, and is refused otherwise
        with pytest.raises(WriterError):
            archived(data, tmp_path_factory.mktemp("refused"), timestamp_key="timestamp")


@pytest.mark.parametrize("log", LOGS)
@given(LINES)
def test_events_are_the_bytes_of_the_log(log: TextLog, data: bytes) -> None:
    keys = ("timestamp", "message", "invalid_utf8")
    found = [
        [None if (text := event.get(key)) is None else text.encode() for key in keys] for event in events(log, data)
    ]
    assert b"".join(original(stamp or b"", message or b"", invalid) for stamp, message, invalid in found) == data


@pytest.mark.skipif(KERNEL is None, reason="no compiled kernel: there is only one")
@given(LINES, st.booleans(), options)
def test_the_pure_form_does_the_same(data: bytes, final: bool, chosen: dict[str, Any]) -> None:
    pure, compiled = LOGS
    assert pure.lines(data, 0, final) == compiled.lines(data, 0, final)
    assert pure.last(data) == compiled.last(data)
    makers: list[tuple[TextLog, Callable[..., Any]]] = [(pure, PureEncoder), (compiled, KERNEL.ClpsEncoder)]
    states = []
    for log, make in makers:
        encoder, patterns = build(make, chosen, (b"timestamp",))
        states.append((log.feed(encoder, data, 0, final, NO_END), state(encoder, patterns)))
    assert states[0] == states[1]


@given(
    LINES, st.sampled_from([{}, {"jobs": 2}, {"target_encoded_size": 60}, {"version": "0.3.1"}, {"version": "0.4.1"}])
)
def test_a_log_comes_back_byte_for_byte(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, how: dict[str, Any]
) -> None:
    assert archived(data, tmp_path_factory.mktemp("log"), **how) == data


def streamed(source: Path, jobs: int) -> bytes:
    """The stream of a plain-text log."""
    target = source.with_suffix(".clp")
    with create_stream(target, overwrite=True) as writer:
        write_lines(writer, [source, source], input="text", jobs=jobs)
    return target.read_bytes()


@given(LINES)
def test_a_log_comes_back_from_a_stream(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    """The stream is the same with any number of jobs, and without the compiled encoder."""
    source = tmp_path_factory.mktemp("log") / "app.log"
    source.write_bytes(data)
    made = streamed(source, 1)
    with exhume.open(made) as archive:
        assert b"".join(archive.text_chunks()) == data * 2  # type: ignore[attr-defined]
    assert streamed(source, 2) == made
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("exhume.formats.kv_ir.writer.KvIrEncoder", PureStreamEncoder)
        assert streamed(source, 1) == made


@pytest.mark.parametrize("format", ["clp-s", "kv-ir"])
@pytest.mark.parametrize("system", [*SYSTEMS, *MORE])
def test_logs_of_systems_come_back(exhume_cli: Cli, system: str, format: str, tmp_path: Path) -> None:
    data = MORE[system].read_bytes() if system in MORE else log_of(system, 300)
    packed = {"plain": data, "gzip": gzip.compress(data), "zstd": zstandard.compress(data)}
    for name, stored in some(packed.items()):
        source, target = tmp_path / f"{name}.log", str(tmp_path / f"{name}.out")
        source.write_bytes(stored)
        made = exhume_cli("create", format, source, "-o", target)
        assert made.code == 0, made.err
        assert exhume_cli("cat", "--text", target).out == data
        assert exhume_cli("verify", target).code == 0


@pytest.mark.parametrize("system", sorted(SYSTEMS.keys() - WITHOUT_STAMPS))
def test_times_of_systems_are_stored_as_times(system: str, tmp_path: Path) -> None:
    data = log_of(system, 200)
    assert archived(data, tmp_path, timestamp_key="timestamp") == data
    with exhume.clps.open(tmp_path / "out.clps") as archive:
        (found,) = archive.timestamp_ranges
        assert found.key == b"timestamp"
        assert archive.num_messages == len(events(text_log(), data)) == 200
        assert sum(1 for event in archive.events() if "timestamp" in event) == 200


@pytest.mark.parametrize("jobs", [1, 3])
def test_jobs_do_not_matter(jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from exhume.formats.clp_s.write import inputs

    monkeypatch.setattr(inputs, "PIECE", 1 << 12)
    names = []
    for system in ("java", "apache", "windows"):
        names.append(str(tmp_path / f"{system}.log"))
        Path(names[-1]).write_bytes(log_of(system, 200) + b"\xff no end")
    how: dict[str, Any] = {"creator_id": "x", "overwrite": True, "input": "text"}
    made = []
    for number in (1, jobs):
        with create(tmp_path / "made.clps", jobs=number, **how) as writer:
            writer.add_files(names)
        made.append((tmp_path / "made.clps").read_bytes())
    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b'{"a":1}', InputKind.JSON),
        (b' \n{"a":1}', InputKind.JSON),
        (b"[1,2]\n", InputKind.JSON),
        (b'[{"a":1},\n', InputKind.JSON),
        (b'"text"\n', InputKind.JSON),
        (b"", InputKind.JSON),
        (b"\n\n", InputKind.JSON),
        (b"\xfd\x2f\xb5\x29....", InputKind.IR),
        (b"[2015-02-01 01:02:03] x\n", InputKind.TEXT),
        (b"2015-02-01 01:02:03 x\n", InputKind.TEXT),
        (b"plain\n{}\n", InputKind.TEXT),
        (b"one NUL \0 among others, which are many, in a line of more than fifty bytes", InputKind.TEXT),
    ],
)
def test_kinds_of_input(head: bytes, kind: InputKind) -> None:
    assert recognize(head, InputKind.AUTO, final=True) is kind
    assert recognize(head, InputKind.TEXT, final=True) is InputKind.TEXT


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "photo.jpg"
    source.write_bytes(b"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\1\0\x48" + bytes(range(256)) * 40)
    for jobs in (1, 2):
        with (
            pytest.raises(WriterError, match="neither JSON nor text"),
            create(tmp_path / "x.clps", jobs=jobs) as writer,
        ):
            writer.add_files([source])
    assert not (tmp_path / "x.clps").exists()


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    "data", [b"2024-01-01 00:00:00 a\0b\n", b"\0\1\n2024-01-01 00:00:00 \0\0\0\n", b"\x7f" * 4 + b"\nJan 21 11:56:42 x"]
)
def test_control_bytes_in_lines_with_timestamps_are_text(data: bytes, jobs: int, tmp_path: Path) -> None:
    assert archived(data, tmp_path, input="auto", jobs=jobs) == data


def test_a_long_event_is_refused(tmp_path: Path) -> None:
    data = b"2015-02-01 01:02:03 a\n" + b"more\n" * 400 + b"2015-02-01 01:02:04 b\n"
    for jobs in (1, 2):
        with pytest.raises(BadRecordError, match="too large"):
            archived(data, tmp_path, max_document_size=1000, jobs=jobs)
    source = tmp_path / "app.log"
    with create(tmp_path / "y.clps", max_document_size=1000, on_error="skip") as writer:
        writer.add_files([source])
    assert writer.skipped == 1
    with exhume.clps.open(tmp_path / "y.clps") as archive:
        assert b"".join(archive.text_chunks()) == b"2015-02-01 01:02:04 b\n"


def test_a_time_that_is_none_is_refused_with_its_line(tmp_path: Path) -> None:
    data = b"2015-02-01 01:02:03 a\nx\n2015-02-30 01:02:03 b\n"
    with pytest.raises(BadRecordError, match="line 3: the value of the timestamp key is no known timestamp"):
        archived(data, tmp_path, timestamp_key="timestamp")
    assert archived(data, tmp_path, timestamp_key="timestamp", allow_loss=True) == data


def test_other_records_are_no_text_log(tmp_path: Path) -> None:
    for record in ({"a": 1}, {"message": 1}, {"message": "x", "level": "y"}, {"timestamp": "x"}):
        with create(tmp_path / "x.clps", overwrite=True) as writer:
            writer.write(record)
        with (
            exhume.clps.open(tmp_path / "x.clps") as archive,
            pytest.raises(UnsupportedOperationError, match="plain-text log"),
        ):
            list(archive.text_chunks())
    with create(tmp_path / "x.clps", overwrite=True) as writer:
        writer.write({"message": "\ufffd", "invalid_utf8": "zz"})
    with (
        exhume.clps.open(tmp_path / "x.clps") as archive,
        pytest.raises(UnsupportedOperationError, match="does not fit"),
    ):
        list(archive.text_chunks())


def test_without_log_order_a_log_of_several_tables_does_not_come_back(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOperationError, match="log order"):
        archived(b"x\n2015-02-01 01:02:03 a\n", tmp_path, log_order=False)


def test_what_salvage_keeps_of_a_text_log(exhume_cli: Cli, tmp_path: Path) -> None:
    data = b"before\n" + log_of("hadoop", 6000)
    assert archived(data, tmp_path) == data
    whole = (tmp_path / "out.clps").read_bytes()
    at = len(whole) * 3 // 4
    broken = tmp_path / "broken.clps"
    broken.write_bytes(whole[:at] + b"\xff" * 8 + whole[at + 8 :])
    stated = exhume_cli("cat", "--text", broken)
    row = re.search(r"row (\d+)", stated.err)
    assert stated.code == 1
    assert row is not None
    assert len(events(text_log(), stated.out)) == 1 + int(row[1])  # all before it
    cut = tmp_path / "cut.clps"
    cut.write_bytes(whole[:at])
    kept, partial = tmp_path / "kept.clps", tmp_path / "partial.clps"
    made = exhume_cli("salvage", broken, "-o", kept)
    assert made.code == 3
    lost = re.search(r"(\d+) records of a table of 6000 left out: .*; its other records may be wrong", made.text)
    assert lost is not None
    found = events(text_log(), exhume_cli("cat", "--text", kept).out)
    assert len(found) == 6001 - int(lost[1])
    assert found[: 1 + int(row[1])] == events(text_log(), stated.out), "all before the first bad row"
    made = exhume_cli("salvage", "--partial", cut, "-o", partial)
    assert made.code == 3
    assert "6000 partial records" in made.err + made.out.decode()
    printed = exhume_cli("cat", partial).out.splitlines()
    stamps = [event for event in events(text_log(), data) if "timestamp" in event]
    assert [json.loads(line) for line in printed] == [{"timestamp": event["timestamp"]} for event in stamps]
    stated = exhume_cli("cat", "--text", partial)
    assert stated.code == 1
    assert stated.out == b""
    assert "not a plain-text log: records without a message" in stated.err


def test_a_cut_stream_of_a_text_log_prints_its_beginning(exhume_cli: Cli, tmp_path: Path) -> None:
    data = log_of("java", 3000)
    (tmp_path / "app.log").write_bytes(data)
    assert exhume_cli("create", "kv-ir", tmp_path / "app.log", "-o", tmp_path / "a.clp").code == 0
    cut = tmp_path / "cut.clp"
    cut.write_bytes((tmp_path / "a.clp").read_bytes()[:100_000])
    assert exhume_cli("salvage", cut, "-o", tmp_path / "kept.clp").code == 3
    printed = exhume_cli("cat", "--text", cut)
    assert printed.code == 1
    assert len(printed.out) > 50_000
    assert data.startswith(printed.out)
    assert exhume_cli("cat", "--text", tmp_path / "kept.clp").out == printed.out


def test_text_has_no_json_document(exhume_cli: Cli, tmp_path: Path) -> None:
    archived(b"x\n", tmp_path)
    stated = exhume_cli("cat", "--text", "--json", tmp_path / "out.clps")
    assert stated.code == 2
    assert "--text prints bytes" in stated.err


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(("format", "ending"), [("clp-s", "clps"), ("kv-ir", "clp")])
def test_inputs_of_white_space_alone_are_named(
    tmp_path: Path, exhume_cli: Callable[..., Any], format: str, ending: str, jobs: int
) -> None:
    """Their bytes are in no record, so `cat --text` does not print them; an empty input has no bytes to miss."""
    log = "2024-01-02 03:04:05 INFO started\n"
    inputs = {"a.log": log, "blank.log": "\n \n", "empty.log": "", "b.log": log}
    for name, text in inputs.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    made = tmp_path / f"made.{ending}"
    ran = exhume_cli("create", format, *(tmp_path / name for name in inputs), "-o", made, "--jobs", jobs)
    assert [line for line in ran.err.splitlines() if "no records" in line] == [
        f"exhume: {tmp_path / 'blank.log'}: there are no records in this input"
    ]
    assert exhume_cli("cat", "--text", made).out == 2 * log.encode()


@pytest.mark.parametrize("text", ['{"a":1}\n', '\r\n {\n "a": 1\n}', "{"])
def test_a_byte_order_mark_before_json_is_named(text: str) -> None:
    """JSON has none, and as text each line would be an event."""
    data = text.encode("utf-8-sig")
    with pytest.raises(WriterError, match="JSON begins with a byte order mark"):
        recognize(data, InputKind.AUTO, final=True)
    assert recognize(data, InputKind.TEXT, final=True) is InputKind.TEXT
    assert recognize("[x] {}".encode("utf-8-sig"), InputKind.AUTO, final=True) is InputKind.TEXT
