"""Creating a log with several processes: the bytes and the errors of one, whatever the input and the codec."""

from __future__ import annotations

import base64
import functools
import io
import json
import pickle
import random
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from exhume.errors import ExhumeError
from exhume.formats.ark import jsonform, mcap_import, parallel_query
from exhume.formats.ark.jsonform import import_jsonl
from exhume.formats.ark.mcap_import import import_mcap
from exhume.formats.ark.rbuf.idl import load_registry
from exhume.formats.ark.writer import ArkWriter, Compression
from exhume.limits import DEFAULT_LIMITS
from tests.sizes import THOROUGH

Cli = Callable[..., Any]

IDL = "namespace t; schema Pose { double x; string name; byte_buffer raw; arraylist<uint32> many; }"
TYPES = {"/pose": "t::Pose"}
CODECS = ["none", "lz4", "zstd", "bz2", "lzma"]


def json_lines(rows: int = 400) -> str:
    """Messages of a channel with a type, one with values of any kind, and one with bytes."""
    rng = random.Random(7)
    lines = []
    for number in range(rows):
        raw = {"base64": base64.b64encode(rng.randbytes(5)).decode()}
        pose = {"x": rng.random(), "name": f"n{number}", "raw": raw, "many": [number] * (number % 5)}
        bodies: list[dict[str, Any]] = [
            {"channel": "/pose", "value": pose},
            {"channel": "/any", "value": [number, None, "\u00e9"]},
            {"channel": "/raw", "data": rng.randbytes(9).hex()},
        ]
        lines.append(json.dumps({"time_ns": 1000 + number // 2, **bodies[number % 3]}))
    return "\n".join(lines) + "\n"


@functools.cache
def mcap_file(*, chunks: bool = True, columns: tuple[str, ...] = ("main", "main", "main", "main")) -> bytes:
    """Messages of each kind that an MCAP file can have, in many chunks or in none."""
    from mcap.writer import Writer

    out = io.BytesIO()
    writer: Any = Writer(out, chunk_size=900, use_chunking=chunks)
    writer.start()
    writer.add_metadata("ark.metadata", {"site": '"yard"'})
    registry = load_registry(IDL).to_json()
    schema = writer.register_schema("t::Pose", "rbuf", registry.encode())
    other = writer.register_schema("pkg/Msg", "ros1msg", b"int32 x")
    codecs = ["zstd", "lz4", "", "zstd"]
    named = [{"ark.column": column, "ark.compression": codec} for column, codec in zip(columns, codecs, strict=True)]
    ids = [
        writer.register_channel("/rbuf", "rbuf", schema, named[0]),
        writer.register_channel("/json", "json", 0, named[1]),
        writer.register_channel("/ros", "ros1", other, named[2]),
        writer.register_channel("/typed", "json", 0, {**named[3], "ark.registry": registry, "ark.type": "t::Pose"}),
    ]
    value = {"x": 1.5, "name": "b", "raw": {"text": "r"}, "many": [1, 2]}
    for number in range(300):
        text = json.dumps({**value, "name": f"b{number}"}).encode()
        data = [b"\x2a" + bytes([number % 256] * 9), text, b"ros" * (number % 7 + 1), text][number % 4]
        writer.add_message(ids[number % 4], 5000 + number, data, 0, number)
    writer.finish()
    return out.getvalue()


def guids() -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"{next(numbers):08x}-0000-4000-8000-000000000000"


def here(function: Callable[[Any], Any], items: Iterable[Any], jobs: int) -> Iterator[Any]:
    """Instead of processes: everything here, by functions, items and results that travelled."""
    function = pickle.loads(pickle.dumps(function))
    for item in items:
        yield pickle.loads(pickle.dumps(function(pickle.loads(pickle.dumps(item)))))


def made(root: Path, source: Path, jobs: int, codec: Compression | None = None, **more: Any) -> dict[str, bytes] | str:
    """The files of a log by name; or the error, when it cannot be made (nothing is left then)."""
    try:
        with ArkWriter(root, compression=codec, split_items=90, guids=guids()) as log:
            if source.suffix == ".mcap":
                written = import_mcap(source, log, jobs=jobs, **more).written["messages"]
            else:
                written = import_jsonl(source, log, registry=load_registry(IDL), types=TYPES, jobs=jobs, **more)
    except ExhumeError as error:
        assert not root.exists()
        return str(error)
    files = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    assert written
    assert len(files) > 3
    return files


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small parts, which travel and are worked on here."""
    for module in (jsonform, mcap_import):
        monkeypatch.setattr(module, "PART_BYTES", 1500)
    monkeypatch.setattr(parallel_query, "MIN_CHUNKS", 3)
    monkeypatch.setattr(parallel_query, "map_processes", here)


def same(
    tmp_path: Path, source: Path, codec: Compression | None, monkeypatch: pytest.MonkeyPatch, **more: Any
) -> dict[str, bytes] | str:
    """The output made in parts, which equals the output made at once."""
    parts = made(tmp_path / "parts", source, 2, codec, **more)
    for module in (jsonform, mcap_import):
        monkeypatch.setattr(module, "PART_BYTES", 1 << 30)
    assert made(tmp_path / "one", source, 1, codec, **more) == parts
    return parts


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("codec", CODECS)
def test_json_lines(codec: Compression, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text(json_lines())
    assert isinstance(same(tmp_path, source, codec, monkeypatch), dict)


COLUMNS = {"one column": ("main",) * 4, "two": ("a", "b", "b", "a")}
CHOICES = [(codec, columns) for codec in (None, *CODECS) for columns in COLUMNS]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("codec", "columns"), CHOICES if THOROUGH else [*CHOICES[:2], *CHOICES[2::4], *CHOICES[5::4]])
def test_mcap(codec: Compression | None, columns: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A column that channels of several codecs share has that of its first channel."""
    pytest.importorskip("mcap")
    for number, chunks in enumerate((True, False)):
        source = tmp_path / f"{number}.mcap"
        source.write_bytes(mcap_file(chunks=chunks, columns=COLUMNS[columns]))
        (tmp_path / str(number)).mkdir()
        assert isinstance(same(tmp_path / str(number), source, codec, monkeypatch), dict)
        monkeypatch.setattr(mcap_import, "PART_BYTES", 1500)


@pytest.mark.parametrize("kind", ["jsonl", "mcap"])
def test_processes(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (jsonform, mcap_import):
        monkeypatch.setattr(module, "PART_BYTES", 3000)
    monkeypatch.setattr(parallel_query, "MIN_CHUNKS", 1)
    source = tmp_path / f"in.{kind}"
    if kind == "mcap":
        pytest.importorskip("mcap")
        source.write_bytes(mcap_file())
    else:
        source.write_text(json_lines())
    one, three = (made(tmp_path / str(jobs), source, jobs, "zstd") for jobs in (1, 3))
    assert isinstance(one, dict)
    assert one == three


BROKEN = {
    "no JSON": "{",
    "no time": '{"channel": "/any", "value": 1}',
    "a time beyond 64 bits": '{"time_ns": 18446744073709551616, "channel": "/any", "value": 1}',
    "a field that is missing": '{"time_ns": 1, "channel": "/pose", "value": {"x": 1}}',
    "a value for bytes": '{"time_ns": 1, "channel": "/raw", "value": 1}',
    "an empty message": '{"time_ns": 1, "channel": "/raw", "data": ""}',
    "too long a line": '{"time_ns": 1, "channel": "/raw", "data": "%s"}' % ("00" * 5000),
}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("what", BROKEN)
def test_the_first_error_is_reported(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where lines that follow, perhaps in the same part, are broken in another way."""
    lines = json_lines(200).splitlines()
    for number, row in enumerate((20, 120, 121, 126, 170)):
        broken = [
            *lines[:row],
            BROKEN[what],
            "neither",
            *lines[row : row + 20],
            BROKEN["too long a line"],
            *lines[row + 20 :],
        ]
        source = tmp_path / "in.jsonl"
        source.write_text("\n".join(broken))
        (tmp_path / str(number)).mkdir()
        reported = same(
            tmp_path / str(number), source, None, monkeypatch, limits=DEFAULT_LIMITS._replace(structure_size=9000)
        )
        assert isinstance(reported, str)
        assert "line " not in reported or f"line {row + 1} " in reported
        monkeypatch.setattr(jsonform, "PART_BYTES", 1500)


@pytest.mark.usefixtures("small")
def test_a_damaged_chunk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mcap")
    whole = mcap_file()
    at = whole.rindex(b"\x28\xb5\x2f\xfd")  # the zstd frame of the last chunk
    source = tmp_path / "in.mcap"
    source.write_bytes(whole[: at + 4] + b"\xff" * 8 + whole[at + 12 :])
    assert isinstance(same(tmp_path, source, None, monkeypatch), dict)
    with ArkWriter(tmp_path / "log", guids=guids()) as log:
        report = import_mcap(source, log)
    assert report.lost["chunks that cannot be read"] == 1
    assert 250 < report.written["messages"] < 300


def test_the_command(tmp_path: Path, exhume_cli: Cli) -> None:
    (tmp_path / "in.jsonl").write_text(json_lines())
    (tmp_path / "types").write_text(IDL)
    words = ["--schema", tmp_path / "types", "--type", "/pose=t::Pose", "--compression", "zstd"]
    for jobs in (1, 2):
        ran = exhume_cli("create", "ark", tmp_path / "in.jsonl", *words, "-j", jobs, "-o", tmp_path / f"log{jobs}")
        assert ran.code == 0, ran.err
    one, two = (exhume_cli("cat", tmp_path / f"log{jobs}") for jobs in (1, 2))
    assert (one.code, one.out) == (0, two.out)
    assert one.out.count(b"\n") == 400
