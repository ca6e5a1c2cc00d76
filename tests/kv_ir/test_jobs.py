"""Chunks of a stream decoded in parallel: everything is as with one job."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from exhume_ksy.facts.clp_kv_ir import Tags

import exhume
from exhume.errors import ExhumeError, SourceError, Span
from exhume.formats.clp_s.write.encoder import Encoder
from exhume.formats.clp_s.write.kernel import ClpsEncoder
from exhume.formats.clp_s.write.options import WriterOptions
from exhume.formats.kv_ir import chunks, passes, pykernel, stream
from exhume.formats.kv_ir.kernel import KvIrDecoder, scan_units
from exhume.formats.kv_ir.layout import END, build_integer, build_text
from exhume.formats.kv_ir.passes import Units
from exhume.formats.kv_ir.stream import Stream
from exhume.formats.kv_ir.units import EventForm, Status
from exhume.formats.kv_ir.verify import verify_source
from exhume.io.source import BytesSource
from exhume.native import KERNEL
from exhume.testing.damage import every_bit
from exhume.testing.sources import MisreportingSource
from tests.kv_ir.broken import CASES, LONG
from tests.kv_ir.streams import HEAD, SMALL, TRUE, UNITS, event, user, wrapped
from tests.kv_ir.test_reading import STREAMS
from tests.sizes import some

KEYS = [user(Tags.NODE_INTEGER, b"key %d" % number) for number in range(300)]
NUMBERED = [unit for number, key in enumerate(KEYS, 1) for unit in (key, event([], [(number, build_integer(number))]))]
"""Each key is declared right before the only event that has it."""


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of a few units, read a few bytes at a time."""
    monkeypatch.setattr(chunks, "CHUNK_SIZE", 24)
    monkeypatch.setattr(stream, "PIECE", 100)
    monkeypatch.setattr(passes, "PIECE", 100)
    monkeypatch.setattr(passes, "MAX_PREAMBLE", 300)


def outcome(data: bytes, jobs: int) -> tuple[list[Any], list[str]]:
    """The lines of a stream with what ends them, for each choice of pairs, and the findings."""
    found: list[Any] = []
    try:
        archive = exhume.kvir.open(data)
    except ExhumeError as error:
        found.append(str(error))
    else:
        for pairs in ("user", "auto", "both"):
            made: list[bytes] = []
            try:
                made.extend(archive.json_chunks(pairs=pairs, jobs=jobs))
            except ExhumeError as error:
                found.append(str(error))
            found.append(b"".join(made))
    return found, [str(finding) for finding in verify_source(BytesSource(data), jobs=jobs)]


@pytest.mark.parametrize("name", CASES)
def test_what_is_wrong_is_so_with_any_number_of_jobs(name: str) -> None:
    assert outcome(CASES[name], 3) == outcome(CASES[name], 1)


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.name)
def test_streams_of_the_real_writer(path: Path) -> None:
    assert outcome(path.read_bytes(), 2) == outcome(path.read_bytes(), 1)


def test_keys_become_known_on_the_way() -> None:
    for data in (HEAD + b"".join(NUMBERED) + END, wrapped(HEAD + b"".join(NUMBERED) + END)):
        found, findings = outcome(data, 4)
        assert found[0] == b"".join(b'{"key %d":%d}\n' % (number, number + 1) for number in range(300))
        assert findings == []


@pytest.mark.bulk
@pytest.mark.parametrize("seed", range(20))
def test_damage_anywhere(seed: int) -> None:
    draw = random.Random(seed)
    data = bytearray(SMALL[:-1] + b"".join(UNITS[4:5] * 5 + [UNITS[8]] * 5) + END)
    for _ in range(draw.randrange(1, 4)):
        data[draw.randrange(len(HEAD), len(data))] = draw.randrange(256)
    assert outcome(bytes(data), 3) == outcome(bytes(data), 1)


def test_each_flipped_bit_is_scanned_alike() -> None:
    body = b"".join(UNITS) + END
    for damage in some(every_bit(body)):
        data = damage.change(body)
        for target in (0, 24, len(data)):
            assert scan_units(data, 0, target) == pykernel.scan_units(data, 0, target)


def test_the_scan_finds_units_and_declarations() -> None:
    data = b"".join(UNITS) + END
    starts = [sum(map(len, UNITS[:number])) for number in range(len(UNITS) + 1)]
    declared = [(starts[number], starts[number + 1]) for number in (0, 1, 2, 3, 5, 6, 7, 9)]
    assert scan_units(data, 0, len(data)) == (Status.END, starts[-1], starts[-1], declared)
    assert scan_units(data, starts[1], starts[2] + 1) == (Status.FULL, starts[3], starts[3], declared[1:3])
    assert scan_units(data[: starts[2]], 0, 1 << 20) == (Status.MORE, starts[2], starts[2], declared[:2])
    assert scan_units(build_integer(1), 0, 1) == (Status.UNEXPECTED, 0, 0, [])
    for at in (-1, len(data) + 1):
        with pytest.raises(ValueError, match="outside"):
            scan_units(data, at, len(data))


def test_chunks_are_decoded_before_one_decoder_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    units = Units(Stream(BytesSource(HEAD + b"".join(NUMBERED) + END)))
    assert list(chunks.decode_ahead(units, EventForm.USER, 1)) == []
    found = list(chunks.decode_ahead(units, EventForm.USER, 2))
    assert len(found) > 100
    assert b"".join(found).count(b"\n") == units.decoder.events == 300
    assert units.window(units.at, units.reach) == END
    assert [name for _, _, name, _ in units.decoder.nodes(False)] == [b"key %d" % number for number in range(300)]


def test_counts_continue_after_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    offset = bytes((Tags.UTC_OFFSET_CHANGE,)) + (3_600_000).to_bytes(8, "big", signed=True)
    for bad in (event([], [(4, TRUE), (1, TRUE)]), b"\x55"):
        units = Units(Stream(BytesSource(HEAD + b"".join(UNITS) + offset + UNITS[-1] + bad)))
        assert b"".join(chunks.decode_ahead(units, EventForm.USER, 2)).count(b"\n") == 5
        decoder = units.decoder
        assert (decoder.events, decoder.utc_offset, decoder.utc_changes) == (5, 3_600_000, 1)
        assert units.window(units.at, units.reach) == bad
        assert [place for *_, place in decoder.nodes(True)] == [len(HEAD), len(HEAD) + len(UNITS[0])]


def test_few_bytes_that_name_a_long_key_fill_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CHUNK_SIZE", 1 << 12)
    monkeypatch.setattr(chunks, "MOST_MADE", 1 << 16)
    data = HEAD + user(Tags.NODE_BOOLEAN, b"k" * 4000) + event([], [(1, TRUE)]) * 3000 + END
    units = Units(Stream(BytesSource(data)))
    sizes = [len(made) for made in chunks.decode_ahead(units, EventForm.USER, 2)]
    assert sum(sizes) == 3000 * len(b'{"":true}\n') + 3000 * 4000
    assert max(sizes) < (1 << 16) + 5000


def test_many_keys_and_large_units_are_left_to_one_decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "MOST_DECLARED", 1000)
    monkeypatch.setattr(chunks, "LARGE", 1000)
    large = user(Tags.NODE_TEXT, b"text") + event([], [(2, build_text(b"x" * 5000))])
    for body, least, most in ((NUMBERED, 50, 200), ([*NUMBERED[:2], large, NUMBERED[1]], 1, 1)):
        data = HEAD + b"".join(body) + END
        units = Units(Stream(BytesSource(data)))
        assert least <= b"".join(chunks.decode_ahead(units, EventForm.USER, 2)).count(b"\n") <= most
        assert outcome(data, 2) == outcome(data, 1)


def test_a_failing_disk_ends_it_after_the_events_before() -> None:
    def fail(offset: int, size: int, data: bytes) -> bytes:
        if offset + size > 2000:
            raise SourceError("read failed", span=Span("disk", offset, offset + size))
        return data

    found: list[bytes] = []
    for jobs in (1, 3):
        archive = exhume.kvir.open(MisreportingSource(BytesSource(HEAD + b"".join(NUMBERED) + END), fail))
        made: list[bytes] = []
        with pytest.raises(SourceError, match="read failed"):
            made.extend(archive.json_chunks(jobs=jobs))
        found.append(b"".join(made))
    assert found[0] == found[1] != b""


def test_a_long_stream_inside_a_frame_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    for jobs in (1, 2):
        reported: list[int] = []

        def progress(done: int, total: int | None, unit: str, reported: list[int] = reported) -> None:
            reported.append(done)

        assert list(verify_source(BytesSource(LONG), jobs=jobs, progress=progress)) == []
        assert reported == sorted(reported)
        assert reported[-1] == len(LONG)


@pytest.mark.skipif(KERNEL is None, reason="only compiled, several threads can get in")
def test_a_decoder_serves_one_thread_at_a_time() -> None:
    decoder = KvIrDecoder()

    def resolve(text: bytes, quoted: bool) -> None:
        with pytest.raises(RuntimeError, match="one thread"):
            decoder.run(units, 0, len(units), 0, EventForm.CHECK, 99)
        requested.append(text)

    requested: list[bytes] = []
    units = user(Tags.NODE_INTEGER, b"n") + event([], [(1, build_integer(7))])
    decoder.encode_into(begin(WriterOptions(timestamp_key="n"), resolve), False)
    assert decoder.run(units, 0, len(units), 0, EventForm.ENCODE, chunks.ALL)[0] == Status.RECORD
    assert requested == [b"7"]


def begin(options: WriterOptions, resolve: Any) -> Encoder:
    """An encoder with a function of ours for times."""
    return ClpsEncoder(
        core=True, structurize=False, retain_floats=True, time_nodes=True, lossy=False, max_document=1 << 20,
        log_order_type=None, path=options.key_path, root=options.key_root, resolve_timestamp=resolve,
        encode_float=lambda text: None,
    )  # fmt: skip
