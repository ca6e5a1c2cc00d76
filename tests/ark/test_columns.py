"""Arrow columns that the kernel fills: those that are made of decoded messages, to the byte."""

from __future__ import annotations

import io
import shutil
import struct
from array import array
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import exhume
from exhume.errors import ExhumeError
from exhume.formats.ark import columns, kernel, query
from exhume.formats.ark.columns import columns_of
from exhume.formats.ark.rbuf.decoder import decoder_for
from exhume.formats.ark.rbuf.encoder import encoder_for
from exhume.formats.ark.rbuf.program import data_program, program_for
from exhume.formats.ark.rbuf.registry import Field, Group, Registry, Schema
from exhume.formats.ark.reader import ArkArchive
from exhume.native import KERNEL
from tests.ark.rbuf_strategies import registries, values

pa = pytest.importorskip("pyarrow")

ITSELF = Registry(
    {
        "T": Schema(
            "T",
            (
                Field("next", "object", object_type="T", optional=True),
                Field("kids", "arraylist", value=Field("", "object", object_type="T")),
                Field("name", "string"),
                Field("nothing", "object", object_type="N", optional=True),
            ),
        ),
        "N": Schema("N", (Field("old", "uint8", removed=True),), final=True),
    },
    {},
)
TIMES = Registry(
    {
        "T": Schema(
            "T",
            (
                Field("spec", "uint64", packed_timespec=True),
                Field("by_time", "dictionary", key=Field("", "system_time_point"), value=Field("", "bool")),
                Field("by_name", "dictionary", key=Field("", "guid", optional=True), value=Field("", "string")),
            ),
        )
    },
    {},
)


def streamed(batch: Any) -> bytes:
    """A batch with its schema, as bytes."""
    buffer = pa.BufferOutputStream()
    with pa.ipc.new_stream(buffer, batch.schema) as stream:
        stream.write_batch(batch)
    made: bytes = buffer.getvalue().to_pybytes()
    return made


def filled(registry: Registry, name: str, schema: Any, messages: list[bytes]) -> Any:
    """The columns that the kernel makes of messages; None if it does not accept all of them."""
    made = columns_of(registry, name, schema.names)
    assert made is not None
    programs = [program_for(registry, name)] + [None] * 255
    piece = (messages, array("Q", range(len(messages))), bytes(len(messages)), programs, [None] * 256)
    return made.batch(schema, [0] * len(messages), [piece])


def decoded(registry: Registry, name: str, schema: Any, messages: list[bytes]) -> tuple[Any, list[int], Counter[str]]:
    """The same, made of the values that the readers give."""
    from exhume.formats.ark.arrow import ArrowForm

    form = ArrowForm(registry, name)
    found = [decoder_for(registry, name).decode(message) for message in messages]
    own = {"time_ns": list(range(len(messages))), "latched": [False] * len(messages)}
    arrays = [
        pa.array(form.column(field.name, found) if field.name in form else own[field.name], field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema), list(map(len, messages)), +form.lost


def schema_of(registry: Registry, name: str, names: list[str] | None = None) -> Any:
    from exhume.formats.ark.arrow import ArrowForm

    fields = [field for field in ArrowForm(registry, name).fields if names is None or field.name in names]
    return pa.schema([pa.field("time_ns", pa.uint64()), *fields, pa.field("latched", pa.bool_())])


def compare(registry: Registry, name: str, schema: Any, messages: list[bytes]) -> bool:
    """Whether the kernel accepts all of the messages; its columns are then as they should be."""
    made = filled(registry, name, schema, messages)
    if made is None:
        return False
    batch, sizes, lost = made
    expected, all_sizes, all_lost = decoded(registry, name, schema, messages)
    batch.validate(full=True)
    assert streamed(batch) == streamed(expected)
    assert (sizes.tolist(), +lost) == (all_sizes, all_lost)
    return True


@given(registries(), st.data())
def test_columns_are_those_of_decoded_messages(made: tuple[Registry, str], data: st.DataObject) -> None:
    registry, name = made
    encode = encoder_for(registry, name).encode
    messages = [encode(value) for value in data.draw(st.lists(values(registry, name), max_size=12))]
    names = data.draw(st.none() | st.lists(st.sampled_from([f.name for f in registry.schema(name).fields] or [""])))
    schema = schema_of(registry, name, names)
    assert compare(registry, name, schema, messages) == (KERNEL is not None)
    if messages:
        broken = bytearray(messages[-1])
        place = data.draw(st.integers(0, max(0, len(broken) - 1)))
        broken[place : place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
        compare(registry, name, schema, [*messages[:-1], bytes(broken)])


def nodes(depth: int = 3) -> st.SearchStrategy[dict[str, Any]]:
    """Values of a type that contains itself."""
    inner = nodes(depth - 1) if depth else st.nothing()
    return st.fixed_dictionaries(
        {
            "next": st.none() | inner,
            "kids": st.lists(inner, max_size=2 if depth else 0),
            "name": st.text(max_size=5),
            "nothing": st.none() | st.just({}),
        }
    )


@given(st.lists(nodes(), max_size=4))
def test_a_type_that_contains_itself_is_text_from_there_on(found: list[dict[str, Any]]) -> None:
    messages = [encoder_for(ITSELF, "T").encode(value) for value in found]
    assert compare(ITSELF, "T", schema_of(ITSELF, "T"), messages) == (KERNEL is not None)


def test_keys_that_arrow_cannot_contain_are_left_to_the_readers() -> None:
    schema = schema_of(TIMES, "T")
    encode = encoder_for(TIMES, "T").encode
    whole = {"spec": b"12345678", "by_time": [(1, True), (5, False)], "by_name": []}
    assert compare(TIMES, "T", schema, [encode(whole)] * 9) == (KERNEL is not None)
    for odd in ({"by_time": [(1 << 63, True)]}, {"by_name": [(None, "x")]}):
        message = encode({**whole, **odd})
        assert filled(TIMES, "T", schema, [encode(whole), message]) is None
        with pytest.raises(pa.ArrowInvalid):
            decoded(TIMES, "T", schema, [message])


@pytest.mark.parametrize("keys", [["a", "b", "c"], ["c", "a", "b"], ["a", "b", "a"], ["b", "a", "b"], ["a", "a"]])
def test_invalid_text_and_repeated_keys_verify_nothing(keys: list[str]) -> None:
    pairs = Field("pairs", "dictionary", key=Field("", "string"), value=Field("", "uint8"))
    registry = Registry({"T": Schema("T", (pairs, Field("name", "string")))}, {})
    value = {"pairs": {f"key {number}": 7 for number in range(len(keys))}, "name": "--"}
    message = encoder_for(registry, "T").encode(value)
    for number, key in enumerate(keys):
        message = message.replace(f"key {number}".encode(), f"key {key}".encode())
    schema = schema_of(registry, "T")
    distinct = len(set(keys)) == len(keys)
    made = filled(registry, "T", schema, [message.replace(b"--", "é".encode())])
    assert (made is not None) == (KERNEL is not None and distinct)
    assert filled(registry, "T", schema, [message.replace(b"--", b"\xc3-")]) is None


@pytest.mark.parametrize("large", [("name",), ("data",), ("list",), ("name", "data", "list")])
def test_large_buffers_are_passed_on_without_a_copy(large: tuple[str, ...]) -> None:
    numbers = Field("list", "arraylist", value=Field("", "uint8", optional=True))
    fields = (Field("data", "byte_buffer"), numbers, Field("name", "string"), Field("last", "string"))
    registry = Registry({"T": Schema("T", fields)}, {})
    size = (1 << 20) + 5
    value = {
        "data": b"ab" * size if "data" in large else b"ab",
        "list": [None if one % 7 else one % 251 for one in range(size if "list" in large else 9)],
        "name": "né" * size if "name" in large else "é",
        "last": "z",
    }
    messages = [encoder_for(registry, "T").encode(one) for one in (value, {**value, "name": "n", "last": "y"})]
    assert compare(registry, "T", schema_of(registry, "T"), messages) == (KERNEL is not None)


def test_absent_values_take_no_more_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    large = Field("a", "array", array_size=1 << 20, value=Field("", "double"), optional=True)
    registry = Registry({"T": Schema("T", (large,))}, {})
    messages = [encoder_for(registry, "T").encode({"a": None})] * 3
    schema = schema_of(registry, "T")
    assert compare(registry, "T", schema, messages) == (KERNEL is not None)
    monkeypatch.setattr(columns, "ROOM", 3 << 20)
    assert filled(registry, "T", schema, messages) is None


def test_a_type_that_is_too_large_has_no_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    assert columns_of(ITSELF, "T", ["kids"]) is not None
    monkeypatch.setattr(columns, "MAX_ROWS", 4)
    assert columns_of(ITSELF, "T", ["kids"]) is None


@pytest.mark.skipif(KERNEL is None, reason="the compiled kernel alone takes shapes")
def test_the_kernel_refuses_columns_that_do_not_fit() -> None:
    def requested(*shapes: tuple[str, int, int, int, int, int], texts: bytes = b"") -> Any:
        packed = b"".join(struct.pack("<6q", ord(kind), *rest) for kind, *rest in shapes)
        piece: Any = ([b"\xd1"], array("Q", [0]), b"\0", [data_program()] * 256, [None] * 256)
        return kernel.ark_columns([0], [piece], packed, texts, 1000)

    assert requested(("o", 1, 1, 0, 0, 0), ("s", 0, 0, 0, 0, 0)) is not None
    assert requested(("o", 1, 1, 0, 0, 0), ("w", 0, 0, 8, 0, 0)) is None
    assert requested(("o", 1, 0, 0, 0, 0)) is None
    for odd in (
        (),
        (("o", 0, 1, 0, 0, 0),),
        (("o", 1, 2, 0, 0, 0), ("s", 0, 0, 0, 0, 0)),
        (("o", 1, 1, 0, 0, 0), ("l", 1, 0, 0, 0, 0)),
        (("o", 1, 1, 0, 0, 0), ("m", 2, 0, 0, 0, 0), ("s", 0, 0, 0, 0, 0)),
        (("o", 1, 1, 0, 0, 0), ("w", 0, 0, 1 << 40, 0, 0)),
        (("o", 1, 1, 0, 0, 0), ("s", 0, 0, 0, 0, 1)),
        (("o", 1, -1, 0, 0, 0),),
    ):
        with pytest.raises(ValueError, match="column"):
            requested(*odd)
    with pytest.raises(ValueError, match="whole columns"):
        kernel.ark_columns([], [], b"12345678", b"", 1)


IDL = "namespace t; schema Pose { double x; string name; system_time_point at; arraylist<uint16> some; }"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Messages of two channels; every hundredth of one lacks a group, which the kernel does not accept."""
    grouped = Registry({"g::T": Schema("g::T", (Field("a", "uint8"),), (Group(3, (Field("b", "string"),)),))}, {})
    root = tmp_path_factory.mktemp("columns") / "log"
    with exhume.ark.create(root) as writer:
        writer.column("packed", "zstd", split_items=150)
        pose = writer.channel("/pose", "t::Pose", IDL, column="packed", latched=True)
        some = writer.channel("/some", "g::T", grouped)
        for number in range(900):
            at = (1 << 64) - 1 if number % 50 == 49 else number
            pose.write(number * 10, {"x": number / 8, "name": f"n{number}", "at": at, "some": [number] * (number % 4)})
            if number % 100 == 99:
                some.write(number * 10, b"\xd1\x07")
            else:
                some.write(number * 10, {"a": number % 256, "b": "é" * (number % 3)})
    return root


def reported(log: ArkArchive, topic: str, **options: Any) -> tuple[bytes, Counter[str], str]:
    """The batches, the losses, and the error."""
    lost: Counter[str] = Counter()
    found, error = [], ""
    reader = log.to_arrow(topic=topic, losses=lost, batch_rows=20, **options)
    try:
        for batch in reader:
            found.append(streamed(batch))  # noqa: PERF401 - an error may follow
    except ExhumeError as raised:
        error = str(raised)
    return b"".join(found), +lost, error


@pytest.mark.parametrize("topic", ["/pose", "/some"])
@pytest.mark.parametrize("options", [{}, {"start_ns": 3005, "columns": ["time_ns", "latched"]}, {"skip_damaged": True}])
@pytest.mark.parametrize("damaged", [False, True])
def test_tables_are_those_of_decoded_messages_for_any_number_of_jobs(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, topic: str, options: dict[str, Any], damaged: bool
) -> None:
    monkeypatch.setattr(query, "BATCH_MESSAGES", 64)
    root = shutil.copytree(log, tmp_path / "log")
    if damaged:
        for split in sorted((root / "splits").iterdir()):
            data = bytearray(split.read_bytes())
            data[len(data) // 2] ^= 0x55
            data[-40] ^= 0x55
            split.write_bytes(data)
    with exhume.open(root) as opened:
        assert isinstance(opened, ArkArchive)
        one, several = reported(opened, topic, **options), reported(opened, topic, jobs=3, **options)
        monkeypatch.setattr(columns, "ark_columns", lambda *arguments: None)
        plain = reported(opened, topic, **options)
    assert one == several == plain
    assert one[0]
    assert bool(one[2]) == (damaged and "skip_damaged" not in options)
    if topic == "/pose" and not damaged and not options:
        assert one[1]["times outside the range of Arrow"] == 18


def damage(root: Path) -> None:
    for split in sorted((root / "splits").iterdir()):
        data = bytearray(split.read_bytes())
        data[len(data) // 2] ^= 0x55
        data[-40] ^= 0x55
        split.write_bytes(data)


def reported_together(log: ArkArchive, **options: Any) -> tuple[dict[str, bytes], Counter[str], str]:
    """The batches of each table that one pass makes, the losses, and the error."""
    lost: Counter[str] = Counter()
    found = log.read_arrow_tables(list(log.arrow_tables()), losses=lost, batch_rows=20, **options)
    assert found is not None
    schemas, read = found
    files = {name: io.BytesIO() for name in schemas}
    error = ""
    streams = {name: pa.ipc.new_stream(files[name], schema) for name, schema in schemas.items()}
    try:
        for name, batch in read():
            streams[name].write_batch(batch)
    except ExhumeError as raised:
        error = str(raised)
    for stream in streams.values():
        stream.close()
    return {name: file.getvalue() for name, file in files.items()}, +lost, error


@pytest.mark.parametrize("options", [{}, {"start_ns": 3005, "columns": ["time_ns", "latched"]}])
@pytest.mark.parametrize("damaged", [False, True])
def test_one_pass_makes_the_tables_of_several(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], damaged: bool
) -> None:
    """Equal to the batches of each by itself, with either reader of messages, and in small chunks."""
    monkeypatch.setattr(query, "BATCH_MESSAGES", 64)
    root = shutil.copytree(log, tmp_path / "log")
    if damaged:
        damage(root)
        options = {**options, "skip_damaged": True}
    with exhume.open(root) as opened:
        assert isinstance(opened, ArkArchive)
        one = reported_together(opened, **options)
        lost: Counter[str] = Counter()
        for topic in ("/pose", "/some"):
            reader = opened.to_arrow(topic=topic, losses=lost, batch_rows=20, **options)
            batches = pa.ipc.open_stream(one[0][topic])
            assert all(mine.equals(other) for mine, other in zip(batches, reader, strict=True))
        assert one[1] == +lost
        assert bool(one[1]["damaged messages"]) == damaged
        assert reported_together(opened, jobs=3, **options) == one
        monkeypatch.setattr("exhume.formats.ark.multi_table.ark_tables", lambda *arguments: [None, None])
        assert reported_together(opened, **options) == one
        monkeypatch.setattr("exhume.tabular.arrow.MOST_PIECES", 2)
        monkeypatch.setattr(query, "BATCH_MESSAGES", 5)
        small = reported_together(opened, **options)
        assert small[1:] == one[1:]
        for topic, found in small[0].items():  # joined of other pieces, they may differ in what Arrow pads them with
            assert list(pa.ipc.open_stream(found)) == list(pa.ipc.open_stream(one[0][topic]))


def test_one_pass_raises_what_is_wrong_with_the_first_message(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = shutil.copytree(log, tmp_path / "log")
    damage(root)
    with exhume.open(root) as opened:
        assert isinstance(opened, ArkArchive)
        findings: list[Any] = []
        list(opened.messages(on_error="skip", findings=findings))
        assert len(findings) > 1
        for size in (7, 64, 1 << 14):
            monkeypatch.setattr(query, "BATCH_MESSAGES", size)
            for jobs in (1, 3):
                error = reported_together(opened, jobs=jobs)[2]
                assert findings[0].code in error
                assert findings[0].span is not None
                assert f"at {findings[0].span.position}" in error


def test_tables_that_share_messages_are_read_by_themselves(tmp_path: Path) -> None:
    with exhume.ark.create(tmp_path / "log") as writer:
        first = writer.channel("/a", "t::Pose", IDL, column="a")
        second = writer.channel("/b", "t::Pose", IDL, column="b", identifier=first.declaration.identifier)
        for channel in (first, second):
            channel.write(1, {"x": 1.0, "name": channel.name, "at": 1, "some": []})
    with exhume.open(tmp_path / "log") as opened:
        assert isinstance(opened, ArkArchive)
        assert opened.read_arrow_tables(["/a", "/b"]) is None


@pytest.mark.parametrize("at_once", [1, 2, 16])
def test_files_are_those_of_one_table_after_the_other(
    at_once: int, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from exhume.export import table_files

    monkeypatch.setattr(table_files.ArrowFile, "at_once", at_once)
    with exhume.open(log) as opened:
        assert isinstance(opened, ArkArchive)
        report = table_files.export_arrow(opened, str(tmp_path / "out"), jobs=2)
        assert dict(report.written) == {"files": 2, "rows": 1800}
        for topic, name in (("/pose", "pose.arrow"), ("/some", "some.arrow")):
            table = pa.ipc.open_stream((tmp_path / "out" / name).read_bytes()).read_all()
            assert table.equals(opened.to_arrow(topic=topic).read_all())
