"""Ark logs in other forms and back: MCAP, JSON lines, CSV, Arrow, Parquet."""

from __future__ import annotations

import csv
import importlib
import io
import json
import zlib
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import exhume
from exhume.errors import ExhumeError, FormatError, QueryError, WriterError
from exhume.formats.ark import export, mcap_export
from exhume.formats.ark.rbuf.idl import parse_idl
from exhume.formats.ark.reader import ArkArchive
from exhume.formats.ark.writer import ArkWriter
from tests.ark import make_samples
from tests.ark.logs import counted_guids
from tests.ark.test_rbuf import ALL_TYPES, everything
from tests.conftest import Ran


@pytest.fixture
def log(tmp_path: Path) -> Path:
    make_samples.write_log(tmp_path / "log")
    return tmp_path / "log"


@pytest.fixture
def rich_log(tmp_path: Path) -> Path:
    """A log with every type."""
    with ArkWriter(tmp_path / "rich", guids=counted_guids()) as log:
        channel = log.channel("/all", "demo::all::Everything", ALL_TYPES)
        for number in range(3):
            channel.write(2**63 + number, everything() | {"children": [everything()] * number})
    return tmp_path / "rich"


def messages(root: Path, **options: Any) -> list[tuple[int, str, bytes]]:
    with exhume.open(root) as log:
        assert isinstance(log, ArkArchive)
        return [(m.time_ns, m.channel, m.data) for m in log.messages(**options)]


def values(root: Path) -> list[Any]:
    with exhume.open(root) as log:
        assert isinstance(log, ArkArchive)
        return [(m.time_ns, m.channel, m.value) for m in log.messages()]


def test_mcap_and_back(log: Path, tmp_path: Path, exhume_cli: Callable[..., Ran]) -> None:
    reading = pytest.importorskip("mcap.reader")
    file = tmp_path / "log.mcap"
    assert exhume_cli("export", log, "--to", "mcap", "-o", file).code == 0
    with file.open("rb") as stream:
        reader = reading.make_reader(stream)
        found = [(m.log_time, c.topic, m.data) for _, c, m in reader.iter_messages()]
        assert found == messages(log)
        summary = reader.get_summary()
        topics = {c.topic: (c.message_encoding, dict(c.metadata)) for c in summary.channels.values()}
        assert topics["/nav/pose"][0] == "rbuf"
        assert topics["/drive/state"][1]["ark.latched"] == "true"
        assert topics["/camera"][1]["ark.compression"] == "zstd"
        schemas = {s.name: json.loads(s.data) for s in summary.schemas.values() if s.data}
        assert {"Pose", "Point"} == {s["name"] for s in schemas["yard::Pose"]["schemas"]}
        records = {record.name: dict(record.metadata) for record in reader.iter_metadata()}
        assert records["ark.metadata"]["site"] == '{"id":7}'
        assert records["ark.log"]["name"] == "yard"
    assert exhume_cli("create", "ark", file, "-o", tmp_path / "back").code == 0
    assert messages(tmp_path / "back") == messages(log)
    with exhume.open(log) as old, exhume.open(tmp_path / "back") as new:
        assert isinstance(old, ArkArchive)
        assert isinstance(new, ArkArchive)
        assert new.metadata == old.metadata
        assert {c.declaration for c in new.channels()} == {c.declaration for c in old.channels()}
        assert {(c.name, c.column, c.compression) for c in new.channels()} == {
            (c.name, c.column, c.compression) for c in old.channels()
        }


@pytest.mark.parametrize("payload", ["rbuf", "json"])
@pytest.mark.parametrize("size", [1, 300, 1 << 30])
def test_an_mcap_file_of_pieces_has_its_summary(
    log: Path, tmp_path: Path, payload: str, size: int, monkeypatch: pytest.MonkeyPatch, exhume_cli: Callable[..., Ran]
) -> None:
    """For any size of chunks, each index has the right offsets, and the numbers are those of the whole."""
    reading = pytest.importorskip("mcap.reader")
    monkeypatch.setattr("exhume.formats.ark.mcap_export.PIECE_BYTES", size)
    file = tmp_path / "log.mcap"
    assert exhume_cli("export", log, "--to", "mcap", "--payload", payload, "-o", file).code == 0
    data = file.read_bytes()
    whole = reading.NonSeekingReader(io.BytesIO(data), validate_crcs=True)
    logged = [(m.log_time, c.topic) for _, c, m in whole.iter_messages(log_time_order=False)]
    assert logged == [(time_ns, channel) for time_ns, channel, _ in messages(log)]
    summary = reading.make_reader(io.BytesIO(data)).get_summary()
    kinds, at = {}, 8
    while at < len(data) - 8:
        kinds[at] = data[at]
        at += 9 + int.from_bytes(data[at + 1 : at + 9], "little")
    chunks = [at for at, kind in kinds.items() if kind == 6]
    assert [index.chunk_start_offset for index in summary.chunk_indexes] == chunks
    assert (len(chunks) == 1) == (size > 300)
    indexes = [at for index in summary.chunk_indexes for at in index.message_index_offsets.values()]
    assert sorted(indexes) == [at for at, kind in kinds.items() if kind == 7]
    statistics = summary.statistics
    assert statistics.message_count == sum(statistics.channel_message_counts.values()) == len(logged)
    assert (statistics.message_start_time, statistics.message_end_time) == (logged[0][0], max(logged)[0])
    assert (statistics.chunk_count, statistics.metadata_count) == (len(chunks), len(summary.metadata_indexes))
    assert (statistics.schema_count, statistics.channel_count) == (len(summary.schemas), len(summary.channels))
    for group in (at for at, kind in kinds.items() if kind == 14):
        assert kinds[int.from_bytes(data[group + 10 : group + 18], "little")] == data[group + 9]
    footer = next(at for at, kind in kinds.items() if kind == 2)
    start = int.from_bytes(data[footer + 9 : footer + 17], "little")
    assert zlib.crc32(data[start:-12]) == int.from_bytes(data[-12:-8], "little")


def test_an_mcap_file_without_messages_names_the_channels(
    log: Path, tmp_path: Path, exhume_cli: Callable[..., Ran]
) -> None:
    reading = pytest.importorskip("mcap.reader")
    file = tmp_path / "log.mcap"
    ran = exhume_cli("export", log, "--to", "mcap", "--stop-ns", 0, "-o", file)
    assert ran.code == 0, ran.err
    with file.open("rb") as stream:
        summary = reading.make_reader(stream).get_summary()
    assert summary.statistics.message_count == 0
    assert summary.chunk_indexes == []
    assert "/nav/pose" in {channel.topic for channel in summary.channels.values()}


@pytest.mark.parametrize("payload", ["rbuf", "json"])
def test_messages_before_damage_are_in_the_mcap_file_that_ends_there(
    tmp_path: Path, payload: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Output to a pipe keeps everything before the damage."""
    reading = pytest.importorskip("mcap.reader")
    with ArkWriter(tmp_path / "log") as log:
        plain = log.channel("/plain", "t::A", "namespace t; schema A { uint32 a; }")
        for number in range(20):
            plain.write(number, {"a": number})
    with exhume.open(tmp_path / "log") as opened:
        assert isinstance(opened, ArkArchive)
        places = [message.offset for message in opened.messages()]
    (split,) = (tmp_path / "log" / "splits").iterdir()
    index = split.read_bytes().index((places[7]).to_bytes(4, "little"), 1024)
    data = bytearray(split.read_bytes())
    data[index : index + 4] = b"\xff" * 4
    split.write_bytes(data)
    written = io.BytesIO()
    monkeypatch.setattr(mcap_export, "binary_output", lambda *_, **__: nullcontext(written))
    with exhume.open(tmp_path / "log") as opened, pytest.raises(ExhumeError, match="ARK-325"):
        assert isinstance(opened, ArkArchive)
        mcap_export.export(opened, "-", payload=payload)
    times = []
    with suppress(importlib.import_module("mcap.exceptions").EndOfFile):
        for _, _, message in reading.NonSeekingReader(io.BytesIO(written.getvalue())).iter_messages(
            log_time_order=False
        ):
            times.append(message.log_time)
    assert times == list(range(7))


def assert_plain(schema: dict[str, Any]) -> None:
    """A schema is what viewers read: a single type everywhere, every type in its place."""
    assert schema.keys() <= {"title", "type", "properties", "items", "contentEncoding"}
    assert schema["type"] in ("boolean", "integer", "number", "string", "object", "array")
    assert (schema["type"] == "object") == ("properties" in schema)
    assert (schema["type"] == "array") == ("items" in schema)
    for inner in [*schema.get("properties", {}).values(), *filter(None, [schema.get("items")])]:
        assert_plain(inner)


def test_mcap_as_json_and_back(log: Path, rich_log: Path, tmp_path: Path, exhume_cli: Callable[..., Ran]) -> None:
    reading = pytest.importorskip("mcap.reader")
    for root in (log, rich_log):
        file = tmp_path / f"{root.name}.mcap"
        ran = exhume_cli("export", root, "--to", "mcap", "-o", file, "--payload", "json", "--topic", "/[and]*")
        assert ran.code == 0, ran.err
        with file.open("rb") as stream:
            rows = [(c.topic, c.message_encoding, s, m) for s, c, m in reading.make_reader(stream).iter_messages()]
        for _, encoding, schema, message in rows:
            assert encoding == "json"
            assert schema.encoding == "jsonschema"
            form, value = json.loads(schema.data), json.loads(message.data)
            assert set(value) & set(form["properties"])
            jsonschema.Draft202012Validator(form).validate(value)
            assert_plain(form)
        ran = exhume_cli("create", "ark", file, "-o", tmp_path / f"{root.name}-back")
        assert ran.code == 0, ran.err
        assert messages(tmp_path / f"{root.name}-back") == messages(root, topics="/[and]*")


def test_foreign_mcap_is_kept_whole(tmp_path: Path, exhume_cli: Callable[..., Ran]) -> None:
    writing = pytest.importorskip("mcap.writer")
    file = tmp_path / "foreign.mcap"
    with file.open("wb") as stream:
        writer = writing.Writer(stream)
        writer.start()
        schema = writer.register_schema("pkg/Type", "ros2msg", b"uint8 x")
        ros = writer.register_channel("/ros", "cdr", schema)
        text = writer.register_channel("/json", "json", 0)
        writer.add_message(ros, 5, b"\0\1\2", 5)
        writer.add_message(text, 6, b'{"a": 1}', 6)
        writer.add_metadata("site", {"name": "yard"})
        writer.finish()
    assert exhume_cli("create", "ark", file, "-o", tmp_path / "log", "--compression", "lz4").code == 0
    assert values(tmp_path / "log") == [
        (5, "/ros", {"encoding": "cdr", "schema_name": "pkg/Type", "data": b"\0\1\2"}),
        (6, "/json", {"json": '{"a": 1}'}),
    ]
    with exhume.open(tmp_path / "log") as log:
        assert isinstance(log, ArkArchive)
        assert json.loads(log.metadata["mcap.site"]) == {"name": "yard"}
        assert json.loads(log.metadata["mcap.schemas"])[0]["name"] == "pkg/Type"
        assert {c.compression for c in log.channels()} == {"lz4"}
    (tmp_path / "bad.mcap").write_bytes(b"no mcap")
    assert exhume_cli("create", "ark", tmp_path / "bad.mcap", "-o", tmp_path / "bad").code == 1
    assert not (tmp_path / "bad").exists()


def test_json_lines_and_back(log: Path, rich_log: Path, tmp_path: Path, exhume_cli: Callable[..., Ran]) -> None:
    for root, idl, types in (
        (log, make_samples.IDL, ["/nav/pose=yard::Pose", "/drive/state=yard::State", "/camera=yard::Picture"]),
        (rich_log, ALL_TYPES, ["/all=demo::all::Everything"]),
    ):
        lines = tmp_path / f"{root.name}.jsonl"
        assert exhume_cli("export", root, "--to", "jsonl", "-o", lines).code == 0
        assert lines.read_bytes() == exhume_cli("cat", root).out
        schema = tmp_path / "types.rbuf"
        schema.write_text(idl)
        back = tmp_path / f"{root.name}-back"
        options = [option for pair in types for option in ("--type", pair)]
        ran = exhume_cli("create", "ark", lines, "-o", back, "--schema", schema, *options)
        assert ran.code == 0, ran.err
        assert messages(back) == messages(root)
        plain = tmp_path / f"{root.name}-plain"
        assert exhume_cli("create", "ark", lines, "-o", plain, "--name", "n", "--metadata", "a=1").code == 0
        assert len(messages(plain)) == len(messages(root))


@pytest.mark.parametrize("line", ["{", "[]", '{"time_ns": 1}', '{"time_ns": "x", "channel": "/a", "value": {}}', "1"])
def test_bad_json_lines_name_the_line(tmp_path: Path, line: str) -> None:
    from exhume.formats.ark.jsonform import import_jsonl

    file = tmp_path / "in.jsonl"
    file.write_text('{"time_ns": 1, "channel": "/a", "value": {}}\n\n' + line + "\n")
    with pytest.raises(FormatError, match="line 3"), ArkWriter(tmp_path / "log") as log:
        import_jsonl(file, log)
    assert not (tmp_path / "log").exists()


def test_create_wants_sensible_options(tmp_path: Path, exhume_cli: Callable[..., Ran]) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text('{"time_ns": 1, "channel": "/a", "value": {"x": "y"}}\n')
    (tmp_path / "s.rbuf").write_text("schema A { uint8 x; }")
    for options, code in (
        (["--type", "/a=A"], 2),
        (["--metadata", "a"], 2),
        (["--schema", tmp_path / "s.rbuf", "--type", "A"], 2),
        (["--schema", tmp_path / "s.rbuf", "--type", "/a=A"], 1),
        (["--schema", tmp_path / "s.rbuf", "--type", "/a=B"], 1),
    ):
        assert exhume_cli("create", "ark", file, "-o", tmp_path / "log", *options).code == code
        assert not (tmp_path / "log").exists()


def test_csv(log: Path, exhume_cli: Callable[..., Ran]) -> None:
    ran = exhume_cli("export", log, "--to", "csv", "--topic", "/nav/pose", "--topic", "/drive/*")
    assert ran.code == 3, "lists as JSON text"
    assert "nested values as JSON text" in ran.err
    flat = exhume_cli("export", log, "--to", "csv", "--topic", "/nav/pose", "--columns", "at.x,time_ns")
    assert flat.code == 0
    assert flat.text.startswith("at.x,time_ns")
    rows = list(csv.DictReader(io.StringIO(ran.text)))
    assert list(rows[0])[:6] == ["time_ns", "channel", "at.x", "at.y", "heading", "sequence"]
    wanted = [m for m in values(log) if m[1] in ("/nav/pose", "/drive/state")]
    assert len(rows) == len(wanted)
    for row, (time, channel, value) in zip(rows, wanted, strict=True):
        assert (row["time_ns"], row["channel"]) == (str(time), channel)
        if channel == "/nav/pose":
            assert float(row["at.x"]) == value["at"]["x"]
            assert row["valid"] == str(value["valid"]).lower()
            assert row["session"] == ""
        else:
            assert json.loads(row["faults"]) == value["faults"]
            assert json.loads(row["gauges"]) == value["gauges"]


def test_fields_of_csv_do_not_replace_others(tmp_path: Path, exhume_cli: Callable[..., Ran]) -> None:
    idl = (
        "namespace t; schema In { string x; uint64 time_ns; } schema A { uint64 time_ns; string time_ns_; In channel; }"
    )
    plain = "namespace t; schema B { string channel; }"
    with ArkWriter(tmp_path / "log", guids=counted_guids()) as made:
        value = {"time_ns": 7, "time_ns_": "u", "channel": {"x": "x", "time_ns": 8}}
        made.channel("/a", "t::A", idl).write(1, value)
        made.channel("/b", "t::B", plain).write(2, {"channel": "c"})
    ran = exhume_cli("export", tmp_path / "log", "--to", "csv", "-o", tmp_path / "log.csv")
    rows = list(csv.DictReader((tmp_path / "log.csv").read_text().splitlines()))
    assert ran.code == 0
    assert [(row["time_ns"], row["channel"]) for row in rows] == [("1", "/a"), ("2", "/b")]
    assert [rows[0][name] for name in ("time_ns__", "time_ns_", "channel.x", "channel.time_ns")] == ["7", "u", "x", "8"]
    assert rows[1]["channel_"] == "c"
    paths = [("a", "b"), ("a.b",), ("a\\", "b"), ("a\\.b",)]
    assert len(set(export.column_names(paths).values())) == len(paths)


def test_rows_of_long_cells_are_the_same(tmp_path: Path, exhume_cli: Callable[..., Ran], monkeypatch: Any) -> None:
    texts = ["", "a,b", 'say "so"', "one\r", "two\n", " blank ", "größe", "\x1b[1m", "plain"]
    with ArkWriter(tmp_path / "log", name="a") as made:
        made.column("c")
        schema = parse_idl("namespace a; schema P { uint16 n; string s; double d; [[optional]] string o; }")
        channel = made.channel("/a", "a::P", schema, column="c")
        for number, text in enumerate(texts):
            channel.write(1000 + number, {"n": number, "s": text, "d": 0.5, "o": None if number % 2 else text})
    usual = exhume_cli("export", tmp_path / "log", "--to", "csv")
    monkeypatch.setattr(export, "LONG", 2)
    again = exhume_cli("export", tmp_path / "log", "--to", "csv")
    assert (again.code, again.out, again.err) == (usual.code, usual.out, usual.err)
    assert [row["s"] for row in csv.DictReader(io.StringIO(again.text, newline=""))][:7] == texts[:7]


def test_arrow(log: Path, rich_log: Path, tmp_path: Path, exhume_cli: Callable[..., Ran]) -> None:
    pa = pytest.importorskip("pyarrow")
    with exhume.open(log) as reader:
        assert isinstance(reader, ArkArchive)
        table = reader.to_arrow(topic="/nav/pose", start_ns=1_100_000_000).read_all()
        wanted = list(reader.messages("/nav/pose", start_ns=1_100_000_000))
        assert table["time_ns"].to_pylist() == [m.time_ns for m in wanted]
        assert [row["at"] for row in table.select(["at"]).to_pylist()] == [
            m.value["at"] for m in wanted if m.value is not None
        ]
        assert pa.types.is_struct(table.schema.field("at").type)
        with pytest.raises(QueryError):
            reader.to_arrow()
        raw = reader.to_arrow(topic="/raw").read_all()
        assert raw["data"].to_pylist() == [m.data for m in reader.messages("/raw")]
    with exhume.open(rich_log) as reader:
        assert isinstance(reader, ArkArchive)
        table = reader.to_arrow().read_all()
        row = table.drop_columns(["o", "q"]).to_pylist()[0]
        value = next(iter(reader.messages())).value
        assert value is not None
        for name in ("a", "h", "l", "m", "n", "numbers", "fixed", "mode", "flags", "stamp", "p", "note"):
            assert row[name] == value[name], name
        assert dict(row["marks"]) == value["marks"]
        assert row["labels"] == [(1, "one"), (0, "zero")]
        assert row["shape"]["type"] == "demo::all::Shape"
        assert table.schema.field("o").type == pa.duration("ns")
        assert table.schema.field("q").type == pa.timestamp("ns", tz="UTC")
        assert table.schema.field("fixed").type.list_size == 3
    out = tmp_path / "one.arrow"
    assert exhume_cli("export", rich_log, "--to", "arrow", "-o", out).code == 0
    assert pa.ipc.open_stream(out.read_bytes()).read_all().num_rows == 3


def test_parquet_per_channel(log: Path, tmp_path: Path, exhume_cli: Callable[..., Ran]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "tables"
    ran = exhume_cli("export", log, "--to", "parquet", "-o", out)
    assert ran.code == 0, ran.err
    names = ["camera.parquet", "drive_state.parquet", "nav_pose.parquet", "raw.parquet"]
    assert sorted(path.name for path in out.iterdir()) == names
    found = parquet.read_table(out / "drive_state.parquet").to_pylist()
    wanted = [value for _, channel, value in values(log) if channel == "/drive/state"]
    assert [row["session"] for row in found] == [value["session"] for value in wanted]
    assert [row["faults"] for row in found] == [value["faults"] for value in wanted]
    assert exhume_cli("export", log, "--to", "parquet", "-o", "-").code == 1
    assert exhume_cli("export", log, "--to", "parquet", "--topic", "/none", "-o", tmp_path / "x").code == 1


def test_times_outside_arrow_are_counted_as_lost(tmp_path: Path, exhume_cli: Callable[..., Ran]) -> None:
    pytest.importorskip("pyarrow")
    with ArkWriter(tmp_path / "log") as log:
        channel = log.channel("/t", "T", "schema T { system_time_point at; }")
        channel.write(1, {"at": 5})
        channel.write(2, {"at": 2**64 - 1})
    assert exhume_cli("export", tmp_path / "log", "--to", "parquet", "-o", tmp_path / "t.parquet").code == 3


def test_export_of_a_damaged_log_reports_it(log: Path, tmp_path: Path, exhume_cli: Callable[..., Ran]) -> None:
    split = sorted((log / "splits").iterdir())[0]
    raw = bytearray(split.read_bytes())
    raw[-3] ^= 0xFF
    split.write_bytes(raw)
    whole = len(exhume_cli("cat", log, "--skip-damaged").text.splitlines())
    assert exhume_cli("export", log, "--to", "jsonl", "-o", tmp_path / "a").code in (0, 1)
    ran = exhume_cli("export", log, "--to", "jsonl", "-o", tmp_path / "b", "--skip-damaged")
    assert ran.code in (0, 3)
    assert len((tmp_path / "b").read_bytes().splitlines()) == whole


def test_an_import_that_does_not_fit_is_refused() -> None:
    from exhume.formats.ark.jsonform import from_json
    from exhume.formats.ark.rbuf.idl import parse_idl

    registry = parse_idl("schema A { uint8 x; byte_buffer b; double d; }")
    assert from_json(registry, "A", {"x": "7", "b": "00ff", "d": "NaN"})["x"] == 7
    bad: Any
    for bad in ([], {"x": "y"}, {"b": 5}, {"d": "many"}):
        with pytest.raises(ExhumeError):
            from_json(registry, "A", bad)


@pytest.mark.parametrize(
    ("type_", "good", "bad"),
    [
        ("int32", ["7", "7.0", '"-7"'], ["1.5", "true", '"1_0"', '" 5 "', '"1.0"', "NaN", "[]"]),
        ("duration", ["1e3"], ["1.5", "1e400"]),
        ("double", ["1", "0.1", '"-Infinity"'], ["true", '"1.5"', "9007199254740993", "1" + "0" * 400]),
        ("bool", ["true"], ["1", "0", "2", '"true"', "null"]),
        ("byte_buffer", ['{"text": "a"}'], ['{"text": 5}']),
        ("arraylist<int8>", ["[1]", "[]"], ["{}", '"12"', "[1.5]"]),
    ],
)
def test_values_that_a_type_cannot_hold_are_not_changed(type_: str, good: list[str], bad: list[str]) -> None:
    from exhume.formats.ark.jsonform import from_json
    from exhume.formats.ark.rbuf.encoder import encoder_for
    from exhume.formats.ark.rbuf.idl import parse_idl

    registry = parse_idl(f"schema A {{ {type_} x; }}")

    def fits(text: str) -> bool:
        try:
            return bool(encoder_for(registry, "A").encode(from_json(registry, "A", {"x": json.loads(text)})))
        except WriterError:
            return False

    assert [text for text in (*good, *bad) if fits(text)] == good
