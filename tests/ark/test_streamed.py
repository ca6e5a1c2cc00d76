"""Messages above the limit `payload_size`: read in windows, with the values and the faults of those in memory.

Spec: rbuf wire format.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exhume
from exhume.errors import ExhumeError, LimitExceededError, Span
from exhume.formats.ark.rbuf.decoder import Decoder, decoder_for
from exhume.formats.ark.rbuf.encoder import encoder_for
from exhume.formats.ark.rbuf.registry import Registry
from exhume.formats.ark.rbuf.streamed import check_value, value_pieces
from exhume.formats.ark.rbuf.wire import Note
from exhume.io.jsonout import dumps
from exhume.io.values import LargeValue
from exhume.limits import DEFAULT_LIMITS
from tests.ark.rbuf_strategies import registries, values

SMALL = DEFAULT_LIMITS._replace(payload_size=3)


def large(data: bytes, step: int) -> LargeValue:
    """Bytes in chunks; three of them may be in memory."""
    chunks = [data[at : at + step] for at in range(0, len(data), step)]
    return LargeValue(len(data), lambda: iter(chunks), SMALL, Span("x", 0, len(data)))


def outcome(read: Callable[[list[Note]], str]) -> tuple[Any, ...]:
    """The text and the notes, or the error."""
    notes: list[Note] = []
    try:
        text = read(notes)
    except ExhumeError as error:
        return error.code, error.span, error.field_path, error.expected, error.actual
    return text, [(note.rule.code, note.start, note.end, note.detail) for note in notes]


def streamed(decoder: Decoder, data: bytes, step: int, notes: list[Note]) -> str:
    span = Span("x", 0, len(data))
    check_value(decoder, large(data, step), span, notes)
    return "".join(value_pieces(decoder, large(data, step), span))


def agree(decoder: Decoder, data: bytes, step: int) -> None:
    usual = outcome(lambda notes: dumps(decoder.decode(data, span=Span("x", 0, len(data)), notes=notes)))
    found = outcome(lambda notes: streamed(decoder, data, step, notes))
    assert found == usual or found[0] == LimitExceededError("").code


@given(registries(), st.data(), st.integers(1, 40))
@settings(max_examples=60)
@pytest.mark.slow
def test_values_are_those_in_memory(made: tuple[Registry, str], data: st.DataObject, step: int) -> None:
    registry, name = made
    raw = encoder_for(registry, name).encode(data.draw(values(registry, name)))
    damaged = bytearray(raw)
    for _ in range(data.draw(st.integers(1, 4))):
        if damaged:
            damaged[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(raw)))
    for attempt in (raw, bytes(damaged), raw[:cut], bytes(damaged[:cut]), raw + b"\xd1"):
        agree(decoder_for(registry, name), attempt, step)


IDL = "namespace t; schema Part { int32 n; string t; } schema Pose { string name; byte_buffer image; Part part; }"
CODECS: tuple[Any, ...] = ("none", "zstd", "lz4", "bz2", "lzma")


def write(root: Path) -> None:
    """A log with messages of 7 bytes to 120 KB in columns of every codec, with a schema and without."""
    chance = random.Random(1)
    with exhume.ark.create(root) as writer:
        for codec in CODECS:
            writer.column(codec, codec)
            posed = writer.channel(f"/{codec}", "t::Pose", IDL, column=codec, latched=True)
            plain = writer.channel(f"/{codec}/plain", column=codec)
            for number, size in enumerate((1, 40_000, 2)):
                image = chance.randbytes(size)
                posed.write(number, {"name": "é" * size, "image": image, "part": {"n": number, "t": "end"}})
                plain.write(number, image)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("large") / "log"
    write(root)
    return root


LIMIT = ("--limit", "payload_size=32K")


@pytest.mark.parametrize("more", [(), ("--raw",), ("--jobs", "2"), ("--raw", "--jobs", "2"), ("--start-ns", "2")])
def test_messages_are_printed_in_chunks(more: tuple[str, ...], log: Path, exhume_cli: Callable[..., Any]) -> None:
    usual = exhume_cli("cat", log, *more)
    limited = exhume_cli("cat", log, *more, *LIMIT)
    assert (limited.code, limited.out) == (0, usual.out), limited.err
    assert len(usual.out) > 400_000


def test_messages_are_checked_and_recovered_in_windows(
    log: Path, tmp_path: Path, exhume_cli: Callable[..., Any]
) -> None:
    assert exhume_cli("verify", log, *LIMIT).code == 0
    assert exhume_cli("salvage", log, "-o", tmp_path / "whole", *LIMIT).code == 0
    assert exhume_cli("cat", tmp_path / "whole").out == exhume_cli("cat", log).out


@pytest.mark.parametrize("codec", CODECS)
def test_damage_in_a_large_message(codec: str, log: Path, tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    """It is reported as in memory, and salvage recovers the other messages."""
    root = tmp_path / "log"
    shutil.copytree(log, root)
    with exhume.open(root) as opened:
        sizes = [(one.stored_size, one.split, one.offset) for one in opened.messages(topics=f"/{codec}")]  # type: ignore[attr-defined]
    size, split, offset = max(sizes)
    with (root / "splits" / split).open("r+b") as file:
        file.seek(offset + size - 30 if codec in ("lzma", "zstd") else offset + 5)  # in the last bytes, or the first
        file.write(b"\xff" * 12)
    found = [json.loads(exhume_cli("verify", root, "--json", *more).out) for more in ((), LIMIT)]
    codes = [[finding["code"] for finding in one["findings"]] for one in found]
    assert codes[0] == codes[1]
    assert codes[0]
    shown = [exhume_cli("cat", root, "--skip-damaged", *more) for more in ((), LIMIT)]
    assert [one.code for one in shown] == [3, 3]
    assert shown[0].out == shown[1].out
    for number, more in enumerate(((), LIMIT)):
        ran = exhume_cli("salvage", root, "-o", tmp_path / f"saved{number}", *more)
        assert ran.code == 3
        assert exhume_cli("cat", tmp_path / f"saved{number}").out == shown[0].out


@pytest.mark.parametrize("jobs", [1, 2])
def test_messages_of_an_mcap_file_are_written_in_chunks_of_their_own(
    jobs: int, log: Path, tmp_path: Path, exhume_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above the limit, and above a size; compressed into a temporary file.  A damaged one is reported, or left out."""
    reader = pytest.importorskip("mcap.reader")
    monkeypatch.setattr("exhume.formats.ark.mcap_pieces.HELD", 1000)
    root = tmp_path / "log"
    shutil.copytree(log, root)

    def exported(*more: Any) -> tuple[int, str, list[Any], int]:
        out = tmp_path / "out.mcap"
        ran = exhume_cli("export", root, "--to", "mcap", "--overwrite", "-o", out, "--jobs", jobs, *more)
        if ran.code not in (0, 3):
            return ran.code, ran.err, [], 0
        with out.open("rb") as file:
            made = reader.make_reader(file, validate_crcs=True)
            found = [(channel.topic, *vars(one).items()) for _, channel, one in made.iter_messages()]
            return ran.code, ran.err, sorted(found), len(made.get_summary().chunk_indexes)

    usual, limited = exported(), exported(*LIMIT)
    assert (usual[0], limited[0], len(usual[2])) == (0, 0, 30)
    assert limited[2] == usual[2]
    assert limited[3] >= 2 * len(CODECS) > usual[3]
    if jobs == 1:  # other processes have modules of their own
        monkeypatch.setattr("exhume.formats.ark.mcap_export.LARGE", 36_000)
        assert exported()[2:] == limited[2:]
    with exhume.open(root) as opened:
        found = [(one.stored_size, one.split, one.offset) for one in opened.messages(topics="/zstd")]  # type: ignore[attr-defined]
    _, split, offset = max(found)
    with (root / "splits" / split).open("r+b") as file:
        file.seek(offset)
        file.write(bytes(4))
    code, stated, *_ = exported(*LIMIT)
    assert (code, "[ARK-404]" in stated) == (1, True), stated
    code, _, kept, _ = exported("--skip-damaged", *LIMIT)
    assert (code, len(kept)) == (3, 29)
