"""MCAP files of every kind that the official library writes, and damaged ones: nothing is lost without being named."""

from __future__ import annotations

import base64
import io
import itertools
import json
import struct
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.formats.ark import mcap_import
from exhume.formats.ark.mcap_pieces import Declared, DeclaredChannel, JoinedFile, head_piece, message_piece
from exhume.formats.ark.mcap_records import library
from exhume.formats.ark.reader import ArkArchive
from exhume.formats.ark.writer import ArkWriter
from tests.conftest import Ran
from tests.sizes import THOROUGH, size

pytest.importorskip("mcap")

Cli = Callable[..., Ran]
MAGIC = b"\x89MCAP0\r\n"


def record(kind: int, content: bytes) -> bytes:
    return struct.pack("<BQ", kind, len(content)) + content


def text(value: str) -> bytes:
    return struct.pack("<I", len(value.encode())) + value.encode()


def fill(writer: Any, messages: int = 40) -> None:
    """Everything that the library can write, once."""
    writer.start(profile="ros2", library="test 1.0")
    writer.add_attachment(5, 6, "cal.bin", "application/octet-stream", b"\0\1\2" * 5)
    writer.add_attachment(7, 8, "größe.txt", "text/plain", b"")
    writer.add_metadata("m", {"k": "v"})
    writer.add_metadata("m", {"k": "w"})
    writer.add_metadata("schemas", {"a": "b"})
    writer.add_metadata("site", {"name": "yard"})
    writer.add_metadata("", {"k": "v"})
    writer.add_metadata("2.imu", {"k": "v"})
    one = writer.register_schema("pkg/Same", "ros2msg", b"uint8 x")
    two = writer.register_schema("pkg/Same", "ros2msg", b"int64 y")
    writer.register_schema("pkg/Unused", "ros2msg", b"")
    ids = [
        writer.register_channel("/one", "cdr", one, {"offered_qos": "reliable"}),
        writer.register_channel("/two", "cdr", two),
        writer.register_channel("/json", "json", 0),
        writer.register_channel("/plain", "proto", 0),
        writer.register_channel("/empty", "cdr", two, {"a": "b"}),
        writer.register_channel("/latin", "json", 0),
    ]
    for number in range(messages):
        kind = number % 5
        data = [b"\1" * 9, b"\2" * number, b'{"i": %d}' % number, b"p", b"\xff\xfe"][kind]
        time = 1000 + number
        if kind == 3:
            writer.add_message(ids[3], time, data, time, 0)
        else:
            writer.add_message(ids[5 if kind == 4 else kind], time, data, time + 5, number)
    writer.finish()


def options() -> list[dict[str, Any]]:
    from mcap.writer import CompressionType, IndexType

    found = []
    for compression, chunks, index, repeat, statistics, crcs in itertools.product(
        CompressionType, (True, False), (IndexType.ALL, IndexType.NONE), (True, False), (True, False), (True, False)
    ):
        found.append(
            {
                "compression": compression,
                "use_chunking": chunks,
                "index_types": index,
                "repeat_channels": repeat,
                "repeat_schemas": repeat,
                "use_statistics": statistics,
                "use_summary_offsets": statistics,
                "enable_crcs": crcs,
                "enable_data_crcs": crcs,
            }
        )
    return found


def written(**chosen: Any) -> bytes:
    from mcap.writer import Writer

    out = io.BytesIO()
    fill(Writer(out, chunk_size=400, **chosen))
    return out.getvalue()


def content(path: Path) -> dict[str, Any]:
    """What a log made of an MCAP file contains, as the file had it."""
    with exhume.open(path) as log:
        assert isinstance(log, ArkArchive)
        metadata = {key: json.loads(value) for key, value in log.metadata.items()}
        channels = {one["identifier"]: one for one in metadata.get("mcap.channels", [])}
        rows = []
        for message in log.messages():
            value = message.value
            assert isinstance(value, dict)
            data = value["json"].encode() if "json" in value else bytes(value["data"])
            channel = channels[message.identifier]
            times = value.get("publish_time", message.time_ns), value.get("sequence", 0)
            rows.append((channel["id"], message.time_ns, *times, data))
        declared = {channel.identifier: channel.name for channel in log.channels()}
    assert {one["identifier"]: one["topic"] for one in channels.values()} == declared
    records = [(one["name"], one["metadata"]) for one in metadata.get("mcap.metadata", [])]
    own = {"mcap.header", "mcap.schemas", "mcap.channels", "mcap.metadata", "mcap.attachments"}
    records += [(key[5:], value) for key, value in metadata.items() if key not in own]
    return {
        "header": tuple(metadata.get("mcap.header", {}).values()),
        "messages": rows,
        "channels": sorted(
            (one["id"], one["topic"], one["message_encoding"], one["schema_id"], tuple(one["metadata"].items()))
            for one in channels.values()
        ),
        "schemas": sorted(
            (one["id"], one["name"], one["encoding"], base64.b64decode(one["base64"]))
            for one in metadata.get("mcap.schemas", [])
        ),
        "metadata": sorted((name, tuple(value.items())) for name, value in records),
        "attachments": [
            (one["name"], one["media_type"], one["log_time"], one["create_time"], base64.b64decode(one["base64"]))
            for one in metadata.get("mcap.attachments", [])
        ],
    }


def oracle(data: bytes) -> dict[str, Any]:
    """The same as the library's stream reader finds it."""
    from mcap import records
    from mcap.stream_reader import StreamReader

    found: dict[type, list[Any]] = {}
    for one in StreamReader(io.BytesIO(data), validate_crcs=True).records:
        found.setdefault(type(one), []).append(one)
    messages = [(m.channel_id, m.log_time, m.publish_time, m.sequence, m.data) for m in found.get(records.Message, [])]
    channels = {one.id: one for one in found.get(records.Channel, [])}
    schemas = {one.id: one for one in found.get(records.Schema, [])}
    (header,) = found[records.Header]
    return {
        "header": (header.profile, header.library),
        "messages": messages,
        "channels": sorted(
            (one.id, one.topic, one.message_encoding, one.schema_id, tuple(one.metadata.items()))
            for one in channels.values()
        ),
        "schemas": sorted((one.id, one.name, one.encoding, one.data) for one in schemas.values()),
        "metadata": sorted((one.name, tuple(one.metadata.items())) for one in found.get(records.Metadata, [])),
        "attachments": [
            (one.name, one.media_type, one.log_time, one.create_time, one.data)
            for one in found.get(records.Attachment, [])
        ],
    }


NUMBERS = [number for number in range(96) if THOROUGH or number.bit_count() % 2 == 0]
"""Of `options`: each choice of five of the six, in half of the files as a rule."""


@pytest.mark.conformance("mcap")
@pytest.mark.bulk
@pytest.mark.parametrize("number", NUMBERS)
def test_nothing_is_lost(number: int, tmp_path: Path, exhume_cli: Cli) -> None:
    """Over the product of the writer's options, the log has what the library reads from the file."""
    chosen = options()
    assert len(chosen) == 96
    data = written(**chosen[number])
    (tmp_path / "x.mcap").write_bytes(data)
    ran = exhume_cli("create", "ark", tmp_path / "x.mcap", "-o", tmp_path / "log", "--compression", "zstd")
    assert ran.code == 0, ran.err
    assert content(tmp_path / "log") == oracle(data)
    assert exhume_cli("verify", tmp_path / "log").code == 0


def test_the_cases(tmp_path: Path, exhume_cli: Cli) -> None:
    from mcap.writer import Writer

    out = io.BytesIO()
    writer: Any = Writer(out, repeat_channels=False, repeat_schemas=False)
    writer.start()
    channel = writer.register_channel("/a", "json", writer.register_schema("S", "jsonschema", b"{}"))
    for number in range(10):
        writer.add_message(channel, number, b"{}", number, 0)
    writer.finish()
    (tmp_path / "x.mcap").write_bytes(out.getvalue())
    assert exhume_cli("create", "ark", tmp_path / "x.mcap", "-o", tmp_path / "log").code == 0
    assert [row[:4] for row in content(tmp_path / "log")["messages"]] == [(1, n, n, 0) for n in range(10)]
    with exhume.open(tmp_path / "log") as log:
        assert isinstance(log, ArkArchive)
        assert {channel.type for channel in log.channels()} == {"exhume::Json"}  # no times: the plain type


def test_two_files_in_one_log(tmp_path: Path, exhume_cli: Cli) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.mcap").write_bytes(written())
    ran = exhume_cli("create", "ark", tmp_path / "a.mcap", tmp_path / "b.mcap", "-o", tmp_path / "log")
    assert ran.code == 0, ran.err
    with exhume.open(tmp_path / "log") as log:
        assert isinstance(log, ArkArchive)
        for key in ("header", "schemas", "channels", "metadata", "attachments", "site"):
            assert f"mcap.{key}" in log.metadata
            assert f"mcap.2.{key}" in log.metadata


@pytest.mark.conformance("mcap")
@pytest.mark.parametrize("chunks", [True, False])
@pytest.mark.parametrize("compression", ["NONE", "ZSTD", "LZ4"])
def test_a_truncated_file_is_read_to_the_cut(chunks: bool, compression: str, tmp_path: Path, exhume_cli: Cli) -> None:
    from mcap.writer import CompressionType

    data = written(use_chunking=chunks, compression=CompressionType[compression], enable_crcs=False)
    whole = oracle(data)["messages"]
    counts = []
    for number, cut in enumerate(range(len(MAGIC), len(data) - 1, max(1, len(data) // size(24, 40)))):
        (tmp_path / "x.mcap").write_bytes(data[:cut])
        ran = exhume_cli("create", "ark", tmp_path / "x.mcap", "-o", tmp_path / f"log{number}", "--json")
        assert ran.code == 3, (cut, ran.err)
        document = json.loads(ran.text)
        assert document["lost"]["truncated files"] == 1
        rows = content(tmp_path / f"log{number}")["messages"]
        assert rows == whole[: len(rows)]
        assert len(rows) == document["messages"]
        counts.append(len(rows))
    assert counts == sorted(counts)
    assert counts[0] == 0
    assert counts[-1] == len(whole)
    if not chunks or compression == "NONE":
        assert len(set(counts)) >= 9


def padded(data: bytes) -> bytes:
    """The same file with bytes after the fields of each record outside of chunks, as later versions may have."""
    out, at = MAGIC, len(MAGIC)
    while at < len(data) - len(MAGIC):
        kind, size = struct.unpack_from("<BQ", data, at)
        out += record(kind, data[at + 9 : at + 9 + size] + b"\1\xff\xff")
        at += 9 + size
    return out + MAGIC


def test_bytes_after_the_fields_of_a_record_are_passed_over(tmp_path: Path, exhume_cli: Cli) -> None:
    data = written(enable_crcs=False)
    for name, content_of in (("plain", data), ("padded", padded(data))):
        (tmp_path / f"{name}.mcap").write_bytes(content_of)
        ran = exhume_cli("create", "ark", tmp_path / f"{name}.mcap", "-o", tmp_path / name)
        assert (ran.code, "lost" in ran.err) == (0, False), ran.err
    assert content(tmp_path / "plain") == content(tmp_path / "padded")
    at = padded(data).index(b"cal.bin") + 60
    broken = padded(data)[:at] + b"\xee" + padded(data)[at + 1 :]
    found, _ = lost(broken, tmp_path / "broken", exhume_cli)
    assert found == {"attachments": 1}


def lost(data: bytes, folder: Path, exhume_cli: Cli) -> tuple[dict[str, int], int]:
    """What is named as lost of a file, and how many messages are in the log."""
    folder.mkdir()
    (folder / "x.mcap").write_bytes(data)
    ran = exhume_cli("create", "ark", folder / "x.mcap", "-o", folder / "log", "--json")
    assert ran.code == 3, ran.err
    document = json.loads(ran.text)
    return document["lost"], document["messages"]


def test_damage_and_what_is_unknown(tmp_path: Path, exhume_cli: Cli) -> None:
    from mcap.writer import CompressionType

    data = written(compression=CompressionType.NONE)
    count = len(oracle(data)["messages"])
    at = data.index(b'{"i": 12}')
    found, left = lost(data[:at] + b'{"i": 13}' + data[at + 9 :], tmp_path / "crc", exhume_cli)
    assert found["chunks that cannot be read"] == 1
    assert 0 < count - left == found["messages that the summary counts"]
    at = data.index(b"cal.bin") + 60
    found, left = lost(data[:at] + b"\xee" + data[at + 1 :], tmp_path / "attachment", exhume_cli)
    assert (found, left) == ({"attachments": 1}, count)
    data = written(compression=CompressionType.LZ4)
    at = data.index(b"\x03\0\0\0lz4")
    found, left = lost(data[:at] + b"\x03\0\0\0lz5" + data[at + 7 :], tmp_path / "codec", exhume_cli)
    assert found["chunks that cannot be read"] == 1
    assert left < count
    data = written(use_chunking=False)
    head = data.index(b"\x05", data.index(b"/latin"))
    found, left = lost(data[:head] + record(0x7F, b"?") + record(0x80, b"") + data[head:], tmp_path / "k", exhume_cli)
    assert found["records of unknown kinds"] == 2
    assert left == count
    found, left = lost(data + b"more", tmp_path / "after", exhume_cli)
    assert (found, left) == ({"bytes after the end": 4}, count)
    data = written(use_chunking=False, enable_data_crcs=True)
    found, left = lost(data.replace(b"\1" * 9, b"\3" * 9, 1), tmp_path / "data", exhume_cli)
    assert (found, left) == ({"checksums that do not match": 1}, count)


def test_contradictions_are_refused(tmp_path: Path, exhume_cli: Cli) -> None:
    header = MAGIC + record(1, text("") + text("t"))
    end = record(15, bytes(4)) + record(2, bytes(20)) + MAGIC

    def channel(number: int, topic: str) -> bytes:
        return record(4, struct.pack("<HH", number, 0) + text(topic) + text("json") + bytes(4))

    def message(number: int) -> bytes:
        return record(5, struct.pack("<HIQQ", number, 0, 1, 1) + b"{}")

    twice = header + channel(1, "/a") + channel(1, "/b") + message(1) + end
    (tmp_path / "x.mcap").write_bytes(twice)
    ran = exhume_cli("create", "ark", tmp_path / "x.mcap", "-o", tmp_path / "log")
    assert (ran.code, "declares channel 1 twice" in ran.err) == (1, True)
    assert not (tmp_path / "log").exists()
    found, left = lost(header + channel(1, "/a") + message(1) + message(2) + end, tmp_path / "undeclared", exhume_cli)
    assert (found, left) == ({"messages of undeclared channels": 1}, 1)
    (tmp_path / "x.mcap").write_bytes(header + end)
    ran = exhume_cli("create", "ark", tmp_path / "x.mcap", "-o", tmp_path / "nothing")
    assert ran.code == 0, ran.err


def test_nothing_is_allocated_on_the_word_of_the_file(tmp_path: Path, exhume_cli: Cli) -> None:
    header = MAGIC + record(1, text("") + text("t"))
    huge = header + struct.pack("<BQ", 6, 1 << 62) + bytes(40)
    found, _ = lost(huge, tmp_path / "length", exhume_cli)
    assert found["truncated files"] == 1
    chunk = struct.pack("<QQQI", 0, 1, 1 << 60, 0) + text("zstd") + struct.pack("<Q", 1 << 60) + b"\x28\xb5\x2f\xfd"
    found, _ = lost(header + record(6, chunk), tmp_path / "size", exhume_cli)
    assert found["chunks that cannot be read"] == 1
    chunk = struct.pack("<QQQI", 0, 1, 1, 0) + text("") + struct.pack("<Q", (1 << 64) - 1)
    found, _ = lost(header + record(6, chunk), tmp_path / "data", exhume_cli)
    assert found["chunks that cannot be read"] == 1
    footer = record(15, bytes(4)) + record(2, struct.pack("<QQI", (1 << 64) - 1, 0, 1)) + MAGIC
    found, _ = lost(header + footer, tmp_path / "footer", exhume_cli)
    assert found == {"checksums that do not match": 1}
    name = struct.pack("<I", 0xFFFFFFFF)
    found, _ = lost(header + record(4, bytes(4) + name) + record(12, name), tmp_path / "text", exhume_cli)
    assert found["damaged records"] == 2


def test_attachments_that_are_too_large_are_named(
    tmp_path: Path, exhume_cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcap_import, "ATTACHED", 60)
    found, left = lost(written(), tmp_path / "x", exhume_cli)
    assert (found["attachments"], left) == (1, 40)
    ran = exhume_cli("create", "ark", tmp_path / "x" / "x.mcap", "-o", tmp_path / "log")
    assert "does not fit: a log keeps 60 bytes of attachments in total" in ran.text + ran.err


def test_rbuf_messages_have_no_place_for_times(tmp_path: Path, exhume_cli: Cli) -> None:
    from mcap.writer import Writer

    from exhume.formats.ark.rbuf.idl import load_registry

    out = io.BytesIO()
    writer: Any = Writer(out)
    writer.start()
    registry = load_registry("namespace t; schema A { uint32 a; }").to_json()
    channel = writer.register_channel("/a", "rbuf", writer.register_schema("t::A", "rbuf", registry.encode()))
    writer.add_message(channel, 1, b"\xd1\1\0\0\0", 2, 3)
    writer.finish()
    found, left = lost(out.getvalue(), tmp_path / "x", exhume_cli)
    assert left == 1
    assert Counter(found).total() == 1
    assert "publish times" in next(iter(found))


@pytest.mark.parametrize(("spelled", "codec"), [("LZ4", "lz4"), ("None", "none"), ("null", "none"), ("", "none")])
def test_codecs_may_be_spelled_as_in_other_logs(spelled: str, codec: str, tmp_path: Path, exhume_cli: Cli) -> None:
    """Logs spell the compression types of their columns in either case, and an export keeps the spelling."""
    from mcap.writer import Writer

    from exhume.formats.ark.rbuf.idl import load_registry

    writer: Any = Writer(str(tmp_path / "x.mcap"))
    writer.start()
    registry = load_registry("namespace t; schema A { uint32 a; }").to_json()
    schema = writer.register_schema("t::A", "rbuf", registry.encode())
    channel = writer.register_channel("/a", "rbuf", schema, {"ark.compression": spelled})
    writer.add_message(channel, 1, b"\xd1\1\0\0\0", 1, 0)
    writer.finish()
    assert exhume_cli("create", "ark", tmp_path / "x.mcap", "-o", tmp_path / "log").code == 0
    with exhume.open(tmp_path / "log") as log:
        assert isinstance(log, ArkArchive)
        assert [(one.name, one.compression) for one in log.channels()] == [("/a", codec)]
        assert [message.value for message in log.messages()] == [{"a": 1}]


@pytest.mark.parametrize("schema", [b"not a registry", b"\xff\xfe", b"{}", b'{"schemas": 1}'])
def test_a_channel_that_is_not_rbuf_as_it_claims(schema: bytes, tmp_path: Path, exhume_cli: Cli) -> None:
    """Its messages are kept as bytes, and those of the other channels as they are; a file of the log has all again."""
    from mcap.writer import Writer

    from exhume.formats.ark.rbuf.idl import load_registry

    out = io.BytesIO()
    writer: Any = Writer(out)
    writer.start()
    registry = load_registry("namespace t; schema A { uint32 a; }").to_json()
    wrong = writer.register_channel("/wrong", "rbuf", writer.register_schema("t::A", "rbuf", schema))
    typed = writer.register_channel("/typed", "rbuf", writer.register_schema("t::A", "rbuf", registry.encode()))
    writer.add_message(wrong, 1, b"anything", 1, 0)
    writer.add_message(typed, 2, b"\xd1\1\0\0\0", 2, 0)
    writer.finish()
    (tmp_path / "x.mcap").write_bytes(out.getvalue())
    ran = exhume_cli("create", "ark", tmp_path / "x.mcap", "-o", tmp_path / "log")
    assert ran.code == 0, ran.err
    assert "channel /wrong: kept as bytes" in ran.err
    assert exhume_cli("verify", tmp_path / "log").code == 0
    assert exhume_cli("export", tmp_path / "log", "--to", "mcap", "-o", tmp_path / "y.mcap").code == 0
    found = by_name((tmp_path / "y.mcap").read_bytes())
    expected = by_name(out.getvalue())
    assert {key: found[key] for key in ("messages", "channels", "schemas")} == {
        key: expected[key] for key in ("messages", "channels", "schemas")
    }


def test_the_checksum_of_the_summary(tmp_path: Path, exhume_cli: Cli) -> None:
    data = bytearray(written())
    at = data.rindex(b"/empty")
    data[at : at + 6] = b"/emptY"
    assert zlib.crc32(data)
    (tmp_path / "x.mcap").write_bytes(data)
    ran = exhume_cli("create", "ark", tmp_path / "x.mcap", "-o", tmp_path / "log")
    assert ran.code == 1  # the summary declares another channel with that number
    assert "twice" in ran.err


def by_name(data: bytes) -> dict[str, Any]:
    """The content of a file without the numbers that a writer assigns, and without additions of an export."""
    found = oracle(data)
    schemas = {0: None} | {number: tuple(rest) for number, *rest in found["schemas"]}
    topics = {number: topic for number, topic, *_ in found["channels"]}
    channels = [
        (topic, encoding, schemas[schema], tuple((k, v) for k, v in metadata if not k.startswith("ark.")))
        for _, topic, encoding, schema, metadata in found["channels"]
    ]
    return {
        "header": found["header"],
        "messages": [(topics[number], *rest) for number, *rest in found["messages"]],
        "channels": sorted(channels),
        "schemas": sorted(filter(None, schemas.values())),
        "metadata": [one for one in found["metadata"] if one[0] != "ark.log"],
        "attachments": found["attachments"],
    }


@pytest.mark.conformance("mcap")
@pytest.mark.parametrize("payload", ["rbuf", "json"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_there_and_back(payload: str, jobs: int, tmp_path: Path, exhume_cli: Cli) -> None:
    """An export of an imported file has everything that the file had, and imports to the same log."""
    from mcap.reader import make_reader

    data = written()
    (tmp_path / "x.mcap").write_bytes(data)
    assert exhume_cli("create", "ark", tmp_path / "x.mcap", "-o", tmp_path / "log").code == 0
    out = tmp_path / "y.mcap"
    words = ["--to", "mcap", "--payload", payload, "--jobs", jobs]
    ran = exhume_cli("export", tmp_path / "log", *words, "-o", out)
    assert ran.code == 0, ran.err
    assert by_name(out.read_bytes()) == by_name(data)
    with out.open("rb") as file:
        reader = make_reader(file)
        summary = reader.get_summary()
        assert summary is not None
        assert summary.statistics is not None
        assert summary.statistics.attachment_count == len(summary.attachment_indexes) == 2
        assert [one.name for one in reader.iter_attachments()] == ["cal.bin", "größe.txt"]
        assert len(list(reader.iter_metadata())) == len(summary.metadata_indexes) == 7
    assert exhume_cli("create", "ark", out, "-o", tmp_path / "again").code == 0
    first, again = content(tmp_path / "log"), content(tmp_path / "again")
    for key in ("header", "metadata", "attachments"):
        assert first[key] == again[key], key
    assert [row[1:] for row in first["messages"]] == [row[1:] for row in again["messages"]]


@pytest.mark.parametrize(("channels", "schemas"), [(3, 1), (1, 3)])
def test_more_than_mcap_can_number(
    channels: int, schemas: int, tmp_path: Path, exhume_cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The numbers of MCAP have 16 bits."""
    from mcap.writer import Writer

    writer: Any = Writer(str(tmp_path / "x.mcap"))
    writer.start()
    ids = [writer.register_schema(f"s{number}", "ros2msg", b"") for number in range(schemas)]
    for number in range(channels):
        writer.add_message(writer.register_channel(f"/{number}", "cdr", ids[0]), number, b"x", number, 0)
    writer.finish()
    assert exhume_cli("create", "ark", tmp_path / "x.mcap", "-o", tmp_path / "log").code == 0
    monkeypatch.setattr("exhume.formats.ark.mcap_export.MOST", 3)
    assert exhume_cli("export", tmp_path / "log", "--to", "mcap", "-o", tmp_path / "y.mcap").code == 0
    monkeypatch.setattr("exhume.formats.ark.mcap_export.MOST", 2)
    ran = exhume_cli("export", tmp_path / "log", "--to", "mcap", "-o", tmp_path / "z.mcap")
    assert ran.code == 1
    what = "channels" if channels == 3 else "schemas"
    assert f"too many {what} for an MCAP file: expected at most 2, found 3" in ran.err
    assert not (tmp_path / "z.mcap").exists()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("mcap.header", 5),
        ("mcap.header", {"profile": 1}),
        ("mcap.schemas", [{"id": 1}]),
        ("mcap.schemas", {"id": 1}),
        ("mcap.channels", [{"identifier": "x", "message_encoding": "y", "schema_id": 7, "metadata": {}}]),
        ("mcap.channels", None),
        ("mcap.metadata", [[]]),
        ("mcap.attachments", [{"name": "x", "media_type": "", "log_time": -1, "create_time": 0, "base64": ""}]),
        ("mcap.attachments", [{"name": "x", "media_type": "", "log_time": 1, "create_time": 0, "base64": "?"}]),
        ("mcap.site", {"a": 1}),
        ("mcap.site", {"a": "\ud800"}),
        ("mcap.", "x"),
    ],
)
def test_entries_of_another_form_are_ordinary(key: str, value: Any, tmp_path: Path, exhume_cli: Cli) -> None:
    lines = tmp_path / "x.jsonl"
    lines.write_text('{"time_ns": 1, "channel": "/a", "value": {"x": 1}}\n')
    words = ["--metadata", f"{key}={json.dumps(value)}"]
    if "\\ud800" in words[1]:
        with ArkWriter(tmp_path / "log") as log:
            log.set_metadata_text(key, json.dumps(value))
    else:
        assert exhume_cli("create", "ark", lines, "-o", tmp_path / "log", *words).code == 0
    ran = exhume_cli("export", tmp_path / "log", "--to", "mcap", "-o", tmp_path / "y.mcap")
    assert ran.code == 0, ran.err
    metadata = dict(oracle((tmp_path / "y.mcap").read_bytes())["metadata"])
    assert json.loads(dict(metadata["ark.metadata"])[key]) == value


def test_names_in_notes_are_on_one_line(tmp_path: Path, exhume_cli: Cli) -> None:
    """A name cannot send commands to a terminal, nor look like a line of its own."""
    from mcap.writer import Writer

    writer: Any = Writer(str(tmp_path / "x.mcap"))
    writer.start()
    writer.register_channel("/\x1b[31m\nexhume: all is well", "rbuf", writer.register_schema("S", "x", b"1"))
    writer.finish()
    ran = exhume_cli("create", "ark", tmp_path / "x.mcap", "-o", tmp_path / "log")
    assert r"channel /\x1b[31m\nexhume: all is well: " in ran.err
    assert all(line.isprintable() for line in ran.err.splitlines())


def test_a_piece_declares_the_channels_that_it_contains(
    tmp_path: Path, exhume_cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mcap.reader import NonSeekingReader, make_reader
    from mcap.stream_reader import StreamReader
    from mcap.writer import Writer

    from exhume.formats.ark import mcap_export, mcap_pieces

    monkeypatch.setattr(mcap_export, "PIECE_BYTES", 40)
    monkeypatch.setattr(mcap_pieces, "CHUNK_BYTES", 200)
    with (tmp_path / "in.mcap").open("wb") as file:
        writer: Any = Writer(file)
        writer.start()
        schema = writer.register_schema("S", "jsonschema", b"{}")
        unused = writer.register_schema("Unused", "jsonschema", b"[]")
        ids = [writer.register_channel(f"/c{number}", "json", schema) for number in range(12)]
        writer.register_channel("/silent", "json", unused)
        for number in range(24):
            writer.add_message(ids[number % 12], number, b'{"a":%d}' % number, number)
        writer.finish()
    assert exhume_cli("create", "ark", tmp_path / "in.mcap", "-o", tmp_path / "log").code in (0, 3)
    assert exhume_cli("export", tmp_path / "log", "--to", "mcap", "-o", tmp_path / "out.mcap").code == 0
    data = (tmp_path / "out.mcap").read_bytes()
    topics = {*(f"/c{number}" for number in range(12)), "/silent"}
    kinds = Counter(type(one).__name__ for one in StreamReader(io.BytesIO(data)).records)
    assert kinds["Channel"] < 2 * 24 + 2 * len(topics)  # once for each message at most, those without, and the summary
    summary = make_reader(io.BytesIO(data)).get_summary()
    assert summary is not None
    assert {one.topic for one in summary.channels.values()} == topics
    for reader in (make_reader(io.BytesIO(data)), NonSeekingReader(io.BytesIO(data))):
        found = [(channel.topic, message.log_time, message.data) for _, channel, message in reader.iter_messages()]
        assert found == [(f"/c{number % 12}", number, b'{"a":%d}' % number) for number in range(24)]
    before = data[: data.rindex(b"\x0f" + (4).to_bytes(8, "little"))]  # up to the end of the data section
    assert b"/silent" in before


def test_a_piece_without_messages_changes_no_times() -> None:
    """All messages of a piece can be damaged, and skipped."""
    declared = Declared([], [DeclaredChannel("t", "json", 0, {})])

    def declare(writer: Any) -> None:
        writer.add_metadata("about", {})
        writer.register_channel("t", "json", 0, {})

    out = io.BytesIO()
    joined = JoinedFile(out, head_piece(declare, "", ""), declared)
    for rows in ([], [(1, 50, b"{}", 50, 0)], []):
        joined.add(message_piece(declared, rows))
    joined.finish()
    found = library("reader").make_reader(io.BytesIO(out.getvalue())).get_summary()
    statistics = found.statistics
    assert (statistics.message_count, statistics.message_start_time, statistics.message_end_time) == (1, 50, 50)
