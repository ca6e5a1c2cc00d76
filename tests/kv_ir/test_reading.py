"""Reading streams: those of the real writer event by event, those by hand, cut and damaged ones."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import zstandard
from exhume_ksy.facts.clp_kv_ir import Tags

import exhume
from exhume.errors import ExhumeError, Span, TruncatedError, UnsupportedFeatureError, UnsupportedOperationError
from exhume.formats.kv_ir import passes, pykernel
from exhume.formats.kv_ir.kernel import KvIrDecoder
from exhume.formats.kv_ir.layout import END, build_integer, build_real, build_text, parse_preamble
from exhume.formats.kv_ir.reader import KvIrArchive
from exhume.formats.kv_ir.stream import Stream
from exhume.formats.kv_ir.units import AUTO, USER, EventForm, Status
from exhume.io.source import BytesSource
from exhume.limits import Limits
from exhume.testing.damage import every_bit
from tests.clp_ir import broken as text_broken
from tests.real import REAL
from tests.sizes import size, some

from .broken import CASES
from .streams import EMPTY, EVENTS, HEAD, SMALL, TRUE, UNITS, apart, auto, event, user, wrapped


def open_stream(target: Any, **options: Any) -> KvIrArchive:
    """The stream, opened."""
    archive = exhume.open(target, **options)
    assert isinstance(archive, KvIrArchive)
    return archive


STREAMS = sorted(path for pattern in ("kv_ir/*.clp", "kv_ir/*.clp.zst") for path in REAL.glob(pattern))


def expected(path: Path) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """What was given to the writer; floats in arrays have six digits, for it prints arrays so."""
    lines = path.with_name(path.name.partition(".")[0] + ".expected.jsonl").read_text(encoding="utf-8").splitlines()
    return [(_six(one["auto"]), _six(one["user"])) for one in map(json.loads, lines)]


def _six(value: Any, *, inside: bool = False) -> Any:
    if isinstance(value, dict):
        return {key: _six(item, inside=inside) for key, item in value.items()}
    if isinstance(value, list):
        return [_six(item, inside=True) for item in value]
    return float(f"{value:.6g}") if inside and isinstance(value, float) else value


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.name)
def test_events_of_the_real_writer(path: Path) -> None:
    with open_stream(path) as archive:
        assert list(archive.events()) == expected(path)
        assert archive.info().to_dict()["complete"]
    assert [str(finding) for finding in exhume.verify(path)] == []


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.name)
def test_both_decoders_are_one(path: Path) -> None:
    data = path.read_bytes()
    if path.suffix == ".zst":
        data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    assert_same(data)


@pytest.mark.parametrize("name", CASES)
def test_both_decoders_stop_alike(name: str) -> None:
    assert_same(CASES[name])


def assert_same(data: bytes) -> None:
    """Both decoders make the same of a stream, whatever is requested."""
    try:
        start = parse_preamble(data, Span("", 0, len(data))).size
    except ExhumeError:
        start = 0
    for how in range(8):
        found: list[Any] = []
        for make in (KvIrDecoder, pykernel.KvIrDecoder):
            decoder = make()
            at, answers = start, list[Any]()
            while at >= 0:  # the events after a rejected one are read
                answers.append((decoder.run(data, at, len(data), 5, how, 1 << 60), repr(decoder.event), decoder.start))
                _, unit, _, after = answers[-1][0]
                at = max(unit, after) if after >= 0 else -1
            found.append((answers, decoder.take(), decoder.events,
                          decoder.nodes(True), decoder.nodes(False), decoder.encodings,
                          decoder.utc_offset))  # fmt: skip
        assert found[0] == found[1]
    one_by_one: list[Any] = []
    for make in (KvIrDecoder, pykernel.KvIrDecoder):
        decoder = make()
        events = [(repr(event), decoder.start) for event in decoder.each(data, start, len(data), 5)]
        one_by_one.append((events, decoder.stopped, decoder.events))
    assert one_by_one[0] == one_by_one[1]


def test_an_event_that_is_refused_leaves_the_following_alone() -> None:
    bad = [event([], [(4, TRUE), (1, TRUE)]), event([], [(4, TRUE), (1, apart(b"\x11"))])]
    good = event([], [(4, TRUE), (5, apart(b"[]")), (1, build_text(b"x"))])
    data = HEAD + b"".join(UNITS[:8]) + bad[0] + good + bad[1] + good + END
    assert [finding.code for finding in exhume.verify(data)] == ["KVIR-324", "KVIR-403"]
    assert_same(data)


def test_events_by_hand() -> None:
    for data in (SMALL, wrapped(SMALL), wrapped(SMALL[:100]) + wrapped(SMALL[100:])):
        with open_stream(data) as archive:
            assert list(archive) == EVENTS
            assert [json.loads(line) for line in archive.json_lines(pairs="both")] == [
                {AUTO: auto, USER: user} for auto, user in EVENTS
            ]
            assert [json.loads(line) for line in archive.json_lines(pairs="auto")] == [auto for auto, _ in EVENTS]
            assert archive.user_metadata == {"host": "a1"}


def test_lines_keep_what_is_not_json_and_the_order_of_the_event() -> None:
    nan = build_real(float("nan"))
    units = [user(Tags.NODE_REAL, b"b"), user(Tags.NODE_REAL, b"a"), user(Tags.NODE_TEXT, b"\xff\n")]
    units += [event([], [(2, nan), (1, build_real(-float("inf"))), (3, build_text(b"\xfe\x01"))])]
    with open_stream(HEAD + b"".join(units) + END) as archive:
        assert list(archive.json_lines()) == [b'{"a":NaN,"b":-Infinity,"\xff\\n":"\xfe\\u0001"}\n']
        ((_, found),) = archive.events()
        assert found["\udcff\n"] == "\udcfe\x01"


def test_members_that_are_separate_come_together() -> None:
    units = [user(Tags.NODE_OBJECT, b"o"), user(Tags.NODE_INTEGER, b"x", 1), user(Tags.NODE_INTEGER, b"y", 1)]
    units += [user(Tags.NODE_OBJECT, b"p", 1), user(Tags.NODE_INTEGER, b"z", 4), user(Tags.NODE_INTEGER, b"q")]
    one = build_integer(1)
    data = HEAD + b"".join(units) + 2 * event([], [(2, one), (6, one), (5, one), (3, one)]) + END
    assert_same(data)
    with open_stream(data) as archive:
        assert list(archive.json_lines()) == 2 * [b'{"o":{"x":1,"p":{"z":1},"y":1},"q":1}\n']


def test_offsets_from_utc_are_reported() -> None:
    change = b"\x3f" + (3_600_000).to_bytes(8, "big")
    data = HEAD + UNITS[2] + change + event([], [(1, build_text(b""))]) + END
    assert_same(data)
    with open_stream(data) as archive:
        assert archive.info().to_dict()["utc_offset_ms"] == 3_600_000
        assert list(archive) == [({}, {"message": ""})]


@pytest.mark.parametrize("wrap", [bytes, wrapped])
def test_cut_at_every_byte(wrap: Callable[[bytes], bytes]) -> None:
    """Every event that is whole comes before the error; nothing else does."""
    ends = [len(HEAD) + len(b"".join(UNITS[: number + 1])) for number in range(len(UNITS))]
    whole = [end for end, unit in zip(ends, UNITS, strict=True) if unit[0] < Tags.NODE_INTEGER]
    assert len(whole) == len(EVENTS)
    for length in range(len(SMALL)):
        data = wrap(SMALL[:length])
        if length < len(HEAD):
            with pytest.raises(TruncatedError):
                open_stream(data, format="kv-ir")
            continue
        with open_stream(data, format="kv-ir") as archive:
            found: list[Any] = []
            with pytest.raises(TruncatedError) as caught:
                found.extend(archive.events())
            assert caught.value.code == ("KVIR-303" if length in (len(HEAD), *ends) else "KVIR-304")
            lines: list[bytes] = []
            with pytest.raises(TruncatedError):
                lines.extend(archive.json_lines(pairs="both"))
        assert [({}, {}) for _ in found] == [({}, {}) for end in whole if end <= length]
        assert found == EVENTS[: len(found)]
        assert len(lines) == len(found)
        assert [f.code for f in exhume.verify(data, format="kv-ir")] == [caught.value.code]


@pytest.mark.slow
def test_every_bit_flipped() -> None:
    """Only our own errors, and both decoders agree; `tests/flips` checks the findings of `verify` for each."""
    bits = [one for one in every_bit(SMALL) if one.offset >= len(HEAD)]
    for damage in some(bits[:: size(3, 1)]):
        assert_same(damage.change(SMALL))


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("KVIR")])
def test_every_rule_is_reported(name: str) -> None:
    assert name[:8] in {finding.code for finding in exhume.verify(CASES[name], format="kv-ir")}


def test_unstructured_streams_are_named() -> None:
    data = CASES["KVIR-102"]
    assert exhume.identify(data)[0].format == "clp-ir"
    with pytest.raises(UnsupportedFeatureError, match="an IR stream of text messages"):
        open_stream(data, format="kv-ir")


@pytest.mark.parametrize("name", ["kv_ir/small.clp", "clp_ir/small.clp"])
def test_frames_that_are_skipped_may_come_first(name: str, samples: Path, tmp_path: Path) -> None:
    data = (samples / name).read_bytes()
    path = tmp_path / "made.clp.zst"
    path.write_bytes(b"\x5d\x2a\x4d\x18\x05\0\0\0notes" + b"\x50\x2a\x4d\x18\0\0\0\0" + wrapped(data))
    found: list[Any] = []
    for target in (data, path):
        with exhume.open(target) as archive:
            found.append((archive.format, list(cast("Any", archive).events())))
            if target is path:
                assert list(cast("Any", archive).follow(quiet_s=0)) == found[0][1]
    assert found[0] == found[1]
    assert exhume.verify(path).ok


@pytest.mark.parametrize("name", ["kv_ir/small.clp", "clp_ir/small.clp"])
def test_a_stream_cut_before_its_kind_is_known_is_not_guessed(
    name: str, exhume_cli: Callable[..., Any], samples: Path, tmp_path: Path
) -> None:
    whole = (samples / name).read_bytes()
    known = whole.index(b'"VERSION"') + 20
    cut = {"cut.clp.zst": wrapped(whole)[:30], "head.clp": whole[:8], "metadata.clp": whole[:24]}
    for file, data in cut.items():
        (tmp_path / file).write_bytes(data)
        refused = exhume_cli("info", tmp_path / file)
        assert refused.code == 1
        assert "ambiguous format: clp-ir (20%: too short to tell: " in refused.err
        found = exhume.identify(tmp_path / file)
        assert [(one.format, one.confidence) for one in found] == [("clp-ir", 0.2), ("kv-ir", 0.2)]
        assert exhume_cli("cat", tmp_path / file, "--format", "kv-ir").code == 1
    assert exhume.identify(whole[:known])[0].format == name[:6].rstrip("/").replace("_", "-")


def test_other_zstd_frames_are_not_recognized() -> None:
    noise = bytes(range(256)) * 2000
    for other in (wrapped(b""), wrapped(noise), wrapped(noise)[:-5]):
        assert exhume.identify(other) == []


def test_a_unit_that_never_ends_is_bounded() -> None:
    data = HEAD + UNITS[2] + b"\x65\x01\x43\xff\xff\xff\xf0" + bytes(300_000)
    with open_stream(data, limits=Limits(payload_size=100_000)) as archive, pytest.raises(ExhumeError) as caught:
        list(archive.events())
    assert caught.value.code == "EX-501"


@pytest.mark.parametrize(("jobs", "text"), [(1, "x" * 700_000), (2, "word1 7 2.5 " * 12_000)], ids=["plain", "apart"])
def test_a_unit_above_the_limit_is_passed_over(
    jobs: int, text: str, tmp_path: Path, exhume_cli: Callable[..., Any]
) -> None:
    """By the lengths of its tokens; everything after it is read, checked and recovered."""
    path, few = tmp_path / "made.clp", ("--limit", "payload_size=100_000")
    with exhume.kvir.create(path, codec="none") as writer:
        for row in range(6):
            writer.write({"row": row, "text": text if row in (1, 4) else "small", "more": {"a": [row]}})
    usual = exhume_cli("cat", path).out.splitlines()
    limited = exhume_cli("cat", path, "--jobs", jobs, *few)
    assert (limited.code, limited.out.splitlines()) == (3, [usual[row] for row in (0, 2, 3, 5)])
    assert "payload_size" in limited.err
    checked = json.loads(exhume_cli("verify", path, "--jobs", jobs, "--json", *few).out)
    assert checked["verdict"] == "incomplete"
    assert [one["severity"] for one in checked["findings"]] == ["unchecked"] * 2
    saved = exhume_cli("salvage", path, "-o", tmp_path / "saved.clp", *few)
    assert saved.code == 3
    assert exhume_cli("cat", tmp_path / "saved.clp").out == limited.out


def test_a_token_too_many_is_left_alone() -> None:
    decoder = KvIrDecoder()
    assert decoder.run(END, 0, 1, 0, EventForm.CHECK, 1)[0] == Status.END
    with pytest.raises(ValueError, match="outside"):
        decoder.run(END, 0, 2, 0, EventForm.CHECK, 1)


def test_keys_are_listed() -> None:
    with open_stream(SMALL) as archive:
        listed = [entry.name for entry in archive.entries()]
    assert listed == ["@level", "@level.num", "message", "took", "ctx", "ctx.ok", "ctx.tags", "none"]
    assert auto(Tags.NODE_OBJECT, b"level") in SMALL


def test_bytes_that_become_many_are_decompressed_in_small_pieces() -> None:
    content = HEAD + END + bytes(64 << 20)
    stored = zstandard.compress(content)
    stream = Stream(BytesSource(stored, "x.clp"))
    sizes = [len(piece) for piece in stream.pieces()]
    assert (sum(sizes), stream.stored) == (len(content), len(stored))
    assert max(sizes) < 16 << 20
    with KvIrArchive(BytesSource(stored, "x.clp")) as archive:
        (section,) = archive.sections()
        assert (section.payload_size, section.span.size) == (len(content), len(stored))
    with KvIrArchive(BytesSource(stored[:-1], "x.clp")) as archive:
        assert [section.payload_size for section in archive.sections()] == [None], "the frame is cut"


NOT_JSON = (b"[1,inf]", b'[nan,-inf,"nan, inf",{"a":-nan}]', b"[null,true,false]")
"""Arrays as the reference writer prints them; JSON has no name for some of their numbers."""


def test_numbers_that_json_does_not_have() -> None:
    data = HEAD + b"".join(UNITS) + b"".join(event([], [(5, apart(text))]) for text in NOT_JSON) + UNITS[-1] + END
    with exhume.kvir.open(data) as archive:
        found = [users["ctx"]["tags"] for _, users in archive.events() if "tags" in users.get("ctx", {})][1:]
        assert str(found) == "[[1, inf], [nan, -inf, 'nan, inf', {'a': nan}], [None, True, False]]"
        printed = b"".join(archive.json_lines()).splitlines()
        assert printed[-4:-1] == [b'{"ctx":{"tags":' + text + b"}}" for text in NOT_JSON]
        assert [str(one) for one in archive.verify()] == []


@pytest.mark.parametrize("name", ["KVIR-403", "KVIR-404", "KVIR-324"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_event_that_cannot_be_read_hides_no_other(name: str, jobs: int) -> None:
    """All other events come, then the error."""
    with exhume.kvir.open(CASES[name]) as archive:
        assert [one.code for one in archive.verify() if one.is_problem] == [name]
        events: list[Any] = []
        lines: list[bytes] = []
        with pytest.raises(ExhumeError, match=name):
            events.extend(archive.events())
        with pytest.raises(ExhumeError, match=name):
            lines.extend(archive.json_lines(pairs="both", jobs=jobs))
        assert events == [*EVENTS, EVENTS[-1]]
        assert len(lines) == len(events)


@pytest.mark.parametrize("name", ["KVIR-403", "KVIR-404", "KVIR-404 an object", "KVIR-324"])
def test_an_event_that_cannot_be_read_is_reported_by_all(name: str, tmp_path: Path, exhume_cli: Any) -> None:
    """Also where events become records of clp-s archives, whose arrays are any text."""
    path = tmp_path / "bad.clp"
    path.write_bytes(CASES[name])
    code = name[:8]
    for command in (("cat", path), ("search", path, "*"), ("search", path, "*", "--count"), ("export", path)):
        more = ("--to", "jsonl", "-o", tmp_path / "out.jsonl") if command[0] == "export" else ()
        ran = exhume_cli(*command, *more)
        assert (ran.code, code in ran.err) == (1, True), command
    made = ("create", "clp-s", path, "-o", tmp_path / "made.clps")
    ran = exhume_cli(*made)
    assert (ran.code, code in ran.err) == (1, True)
    assert exhume_cli(*made, "--on-error", "skip").code == 3
    with exhume.open(tmp_path / "made.clps") as archive:
        assert archive.num_messages == len(EVENTS) + 1  # type: ignore[attr-defined]


STAMPED = [
    user(Tags.NODE_TEXT, b"timestamp"),
    user(Tags.NODE_TEXT, b"message"),
    user(Tags.NODE_TEXT, b"invalid_utf8"),
]
STAMP, MESSAGE, INVALID = 1, 2, 3
LINE = [(STAMP, build_text(b"2024-01-01 ")), (MESSAGE, apart(b"a \x12 b \x11\n", b"x1y", -7))]
LOG_LINES: dict[bytes, bytes] = {
    event([], LINE): b"2024-01-01 a x1y b -7\n",
    event([], LINE[::-1]): b"2024-01-01 a x1y b -7\n",
    event([], LINE[1:]): b"a x1y b -7\n",
    event([], [(MESSAGE, build_text(b'\xff "\\\n'))]): b'\xff "\\\n',
    event([], [*LINE[:1], (MESSAGE, build_text("a\ufffdb".encode())), (INVALID, build_text(b"ff"))]):
        b"2024-01-01 a\xffb",
}  # fmt: skip


@pytest.mark.parametrize("make", [KvIrDecoder, pykernel.KvIrDecoder])
def test_lines_of_a_text_log(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "KvIrDecoder", make)
    printed = b"".join(LOG_LINES.values())
    with open_stream(HEAD + b"".join([*STAMPED, *LOG_LINES, END])) as archive:
        assert b"".join(archive.text_chunks()) == printed
    broken = event([], [(MESSAGE, apart(b"\x11"))])  # passed over, and reported at the end
    with open_stream(HEAD + b"".join([*STAMPED, broken, *LOG_LINES, END])) as archive:
        chunks = archive.text_chunks()
        assert next(chunks) == printed
        with pytest.raises(ExhumeError, match="KVIR-403"):
            next(chunks)


@pytest.mark.parametrize("make", [KvIrDecoder, pykernel.KvIrDecoder])
@pytest.mark.parametrize(
    ("other", "why"),
    [
        (event([], LINE[:1]), "not a plain-text log"),
        (event([(1, apart(b"[]"))], LINE), "not a plain-text log"),
        (event([], [*LINE, (4, apart(b"[]"))]), "not a plain-text log"),
        (event([], [(6, build_text(b"x"))]), "not a plain-text log"),
        (event([], [(MESSAGE, build_text(b"a")), (INVALID, build_text(b"ff"))]), "does not fit the message"),
        (EMPTY, "not a plain-text log"),
    ],
)
def test_what_is_no_text_log_is_refused_after_the_lines_before_it(
    make: Any, other: bytes, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "KvIrDecoder", make)
    others = [
        user(Tags.NODE_ARRAY, b"tags"),
        user(Tags.NODE_OBJECT, b"within"),
        user(Tags.NODE_TEXT, b"message", 5),
        auto(Tags.NODE_ARRAY, b"more"),
    ]
    with open_stream(HEAD + b"".join([*STAMPED, *others, *LOG_LINES, other, END])) as archive:
        chunks = archive.text_chunks()
        assert next(chunks) == b"".join(LOG_LINES.values())
        with pytest.raises(UnsupportedOperationError, match=why):
            next(chunks)


def test_the_limit_decides_by_size_alone(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    """An event is left out wherever it is: the first is in memory as a whole, followed by others."""
    path, few = tmp_path / "made.clp", ("--limit", "payload_size=64K")
    with exhume.kvir.create(path, codec="none") as writer:
        for row in range(5):
            writer.write({"row": row, "text": "x" * 135_000 if row in (0, 3) else "small"})
        writer.write({"row": 5, "text": "y" * 60_000})
    usual = exhume_cli("cat", path).out.splitlines()
    limited = exhume_cli("cat", path, *few)
    assert (limited.code, limited.out.splitlines()) == (3, [usual[row] for row in (1, 2, 4, 5)])
    assert [one["severity"] for one in json.loads(exhume_cli("verify", path, "--json", *few).out)["findings"]] == (
        ["unchecked"] * 2
    )
    with exhume.kvir.open(path, limits=Limits(payload_size=1 << 16)) as stream, pytest.raises(ExhumeError) as caught:
        list(stream.events())
    assert caught.value.code == "EX-501"
    assert "EX-501" in exhume_cli("create", "clp-s", path, "-o", tmp_path / "no.clps", *few).err
    assert exhume_cli("create", "clp-s", path, "-o", tmp_path / "all.clps", "--limit", "payload_size=1M").code == 0


@pytest.mark.bulk
@pytest.mark.parametrize(
    ("format", "case", "data"),
    [(format, *one) for format, cases in (("kv-ir", CASES), ("clp-ir", text_broken.CASES)) for one in cases.items()],
)
def test_a_list_of_a_broken_stream_ends_as_its_events_do(
    format: str, case: str, data: bytes, tmp_path: Path, exhume_cli: Callable[..., Any]
) -> None:
    """What comes after damage may have further keys and events: a list without them is not the whole list."""
    path = tmp_path / "broken.clp"
    path.write_bytes(data)
    listed = exhume_cli("list", path, "--format", format)
    printed = exhume_cli("cat", path, "--format", format)
    rules = [re.findall(r"\[((?:KV|CLP)IR-[0-9]+)\]", ran.err) for ran in (listed, printed)]
    is_about_a_value = format == "kv-ir" and re.match("KVIR-40[345]", case)  # which is not read for the keys
    assert is_about_a_value or (listed.code, rules[0]) == (printed.code, rules[1])
    document = exhume_cli("list", path, "--format", format, "--json")
    assert document.code == listed.code
    if listed.code in (0, 3):
        assert len(json.loads(document.out)["entries"]) == len(listed.out.splitlines())
