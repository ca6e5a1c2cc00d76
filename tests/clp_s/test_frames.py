"""Archives whose streams and dictionaries consist of several zstd frames that state their sizes."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgpack
import pytest
import zstandard

import exhume
from exhume.codecs.frames import FRAME_WINDOWS, FramedPayload, frames_at, frames_of
from exhume.codecs.layout import frame_places
from exhume.codecs.serial import PayloadPrefix
from exhume.errors import CodecError, ExhumeError, LimitExceededError, SourceError
from exhume.formats.clp_s.layout import DICTIONARY_HEAD, HEADER_SIZE, PacketType
from exhume.formats.clp_s.names import DICTIONARIES, TABLE_SECTIONS
from exhume.formats.clp_s.query.search import Search, resolve_projection
from exhume.formats.clp_s.read.columns import PrintContext
from exhume.formats.clp_s.reader import ClpSArchive, open_archive
from exhume.formats.clp_s.recode import dictionary_payload, with_stream_offsets
from exhume.formats.clp_s.write.build import build_header, pack_packets
from exhume.io.local import FileSource
from exhume.io.source import BytesSource
from exhume.limits import Limits

PIECE = 300_000
ROWS = 60_000
PAYLOAD = bytes(range(256)) * 40
CUTS = (0, 3000, 3001, 9000, len(PAYLOAD))


def frame(data: bytes, *, sized: bool = True, checksum: bool = False) -> bytes:
    return zstandard.ZstdCompressor(write_content_size=sized, write_checksum=checksum).compress(data)


def stored(cuts: tuple[int, ...] = CUTS) -> bytes:
    return b"".join(frame(PAYLOAD[start:stop]) for start, stop in itertools.pairwise(cuts))


def lying(data: bytes, change: int) -> bytes:
    """A frame whose stated size does not match its content."""
    honest = frame(data)
    width, less = (2, 256) if len(data) < 1 << 16 else (4, 0)
    at = honest.index((len(data) - less).to_bytes(width, "little"))
    assert at < 10
    return honest[:at] + (len(data) - less + change).to_bytes(width, "little") + honest[at + width :]


# ------------------------------------------------------------------------------------------------------- the payload


def test_only_the_frames_that_are_requested_are_decompressed() -> None:
    frames = frames_of(stored(), 1 << 20)
    assert frames is not None
    assert frames.size == len(PAYLOAD)
    assert frames.take(3000, 3001) == PAYLOAD[3000:3001]
    assert frames.view[:3000] == bytes(3000), "the frame before it was not requested"
    assert frames.view[3001:9000] == bytes(5999), "nor the one behind it"
    assert frames.take(2999, 3001) == PAYLOAD[2999:3001]
    assert frames.view[3001:] == bytes(len(PAYLOAD) - 3001)
    assert frames.take(0, len(PAYLOAD)) == PAYLOAD
    assert frames.take(0, len(PAYLOAD) + 9) == PAYLOAD
    assert frames.view.readonly


def test_frames_are_taken_in_steps_while_others_take_later_ones() -> None:
    frames = frames_of(stored(), 1 << 20)
    assert frames is not None
    steps, ends = frames.steps(), list(CUTS[1:])
    for end in ends:
        assert next(steps) == end
        assert frames.view[:end] == PAYLOAD[:end]
        assert frames.view[end:] == bytes(len(PAYLOAD) - end), "nothing is decompressed before its turn"
    assert list(steps) == []
    assert list(frames.steps()) == [len(PAYLOAD)], "all is there"


def test_a_step_does_not_wait_for_another_thread_as_long_as_frames_follow() -> None:
    begun, go_on = threading.Event(), threading.Event()
    data, second = stored(), frame_places(stored())[1]

    def read(start: int, end: int) -> bytes:
        if (start, end) == second and threading.current_thread() is other:
            begun.set()
            assert go_on.wait(60)
        return data[start:end]

    frames = frames_at(read, len(data), 1 << 20, windows=(len(data),))
    assert frames is not None
    other = threading.Thread(target=lambda: frames.take(CUTS[1], CUTS[2]))
    other.start()
    assert begun.wait(60)
    steps = frames.steps()
    assert next(steps) == CUTS[1]
    waiting = threading.Thread(target=lambda: next(steps))
    waiting.start()
    until = time.monotonic() + 60
    while frames.view[CUTS[2] :] != PAYLOAD[CUTS[2] :] and time.monotonic() < until:
        time.sleep(0.001)
    assert frames.view[CUTS[2] :] == PAYLOAD[CUTS[2] :]
    assert frames.view[CUTS[1] : CUTS[2]] == bytes(CUTS[2] - CUTS[1])
    go_on.set()
    waiting.join()
    other.join()
    assert list(steps) == list(CUTS[3:])
    assert frames.take() == PAYLOAD


def test_what_is_not_several_frames_that_state_their_sizes_is_left_to_others() -> None:
    def found(*pieces: bytes, most: int = 1 << 20) -> FramedPayload | None:
        return frames_of(b"".join(pieces), most)

    one, two = frame(b"a" * 100), frame(b"b" * 100)
    assert found(one, two) is not None
    assert found(one, two, most=200) is not None
    assert found(one, two, most=199) is None
    assert found() is None
    assert found(one) is None
    assert found(one, two[:-1]) is None
    assert found(one, two, b"\0") is None
    assert found(one, frame(b"b" * 100, sized=False)) is None
    assert found(frame(b"a" * 100, sized=False), two) is None
    assert found(one, b"\x50\x2a\x4d\x18\0\0\0\0", two) is None, "a skippable frame"
    assert found(one, frame(b"")) is None
    bomb = frame(bytes(1 << 24))
    assert found(bomb, bomb, most=(1 << 24) - 1) is None, "a frame that is too large"
    assert frames_of(bomb + bomb, 1 << 24, 1 << 24) is None, "too much in all"
    large = frames_of(bomb + bomb, 1 << 24, 1 << 25)
    assert large is not None
    assert not large.is_small
    assert bytes(large.take(0, 1)) == b"\0"
    with pytest.raises(LimitExceededError):
        large.take()


def test_frames_are_looked_for_as_far_as_anybody_asks() -> None:
    data, requested = stored(), list[tuple[int, int]]()
    places = frame_places(data)
    largest = max(stop - start for start, stop in places)

    def opened(data: bytes, size: int) -> FramedPayload | None:
        def read(start: int, end: int) -> bytes:
            requested.append((start, end))
            return data[start:end]

        return frames_at(read, len(data), 1 << 20, size, windows=(largest,))

    frames = opened(data, len(PAYLOAD))
    assert frames is not None
    assert frames.size == len(PAYLOAD)
    assert max(end for _, end in requested) < places[-1][1], "not to the end"
    assert frames.take(0, 10) == PAYLOAD[:10]
    assert max(end for _, end in requested) < places[-1][1]
    assert frames.take() == PAYLOAD
    broken = bytearray(data)
    broken[places[-1][0]] ^= 1
    for stored_bytes, size in ((bytes(broken), len(PAYLOAD)), (data, len(PAYLOAD) + 1), (data, len(PAYLOAD) - 1)):
        frames = opened(stored_bytes, size)
        assert frames is not None
        assert frames.take(0, 10) == PAYLOAD[:10], "what lies in front of it is there"
        for _ in range(2):
            with pytest.raises(CodecError):
                frames.take()


def test_frames_are_read_when_they_are_needed() -> None:
    data, requested = stored(), list[tuple[int, int]]()
    places = frame_places(data)

    def read(start: int, end: int) -> bytes:
        requested.append((start, end))
        if len(requested) > 10:
            raise SourceError("gone")
        return data[start:end]

    largest = max(stop - start for start, stop in places)
    assert frames_at(read, len(data), 1 << 20, windows=(8, largest - 1)) is None
    requested.clear()
    frames = frames_at(read, len(data), 1 << 20, windows=(8, largest))
    assert frames is not None
    assert all(stop - start <= largest for start, stop in requested)
    requested.clear()
    assert frames.take(3000, 3001) == PAYLOAD[3000:3001]
    assert requested == [places[1]]
    requested[:] = [(0, 0)] * 10
    for _ in range(2):
        with pytest.raises(SourceError):
            frames.take(0, frames.size)
    assert frames.take(3000, 3001) == PAYLOAD[3000:3001]
    requested.clear()
    assert frames.take(0, frames.size) == PAYLOAD
    assert requested == [places[0], *places[2:]]


def test_of_an_archive_at_hand_the_frames_are_read_when_they_are_needed(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reframed(made, tmp_path / "many.clps").close()
    requested: list[int] = []
    read_at = FileSource.read_at

    def counting(file: FileSource, offset: int, size: int) -> bytes:
        requested.append(size)
        return read_at(file, offset, size)

    with open_archive(FileSource(tmp_path / "many.clps")) as archive:
        [table], place = archive.tables, archive.stream_place(0)
        monkeypatch.setattr(FileSource, "read_at", counting)
        [node] = archive.schema_tree.find("z")
        assert list(table.load({node}).column("z").values) == [number % 5 for number in range(ROWS)]
    assert place.size > FRAME_WINDOWS[0]
    assert 0 < max(requested) <= FRAME_WINDOWS[0]


@pytest.mark.parametrize("change", [-1, 1, 200])
def test_a_frame_that_is_wrong_about_its_size_is_damage(change: int) -> None:
    data = frame(PAYLOAD[:3000]) + lying(PAYLOAD[3000:9000], change)
    frames = frames_of(data, 1 << 20)
    assert frames is not None
    assert frames.take(0, 3000) == PAYLOAD[:3000]
    for _ in range(2):
        with pytest.raises(CodecError):
            frames.take(2999, 3001)


def test_a_wrong_checksum_and_damage_are_found() -> None:
    good = frame(PAYLOAD[:3000], checksum=True)
    for bad in (good[:-1] + bytes([good[-1] ^ 1]), good[:20] + bytes([good[20] ^ 0xFF]) + good[21:]):
        frames = frames_of(good + bad, 1 << 20)
        assert frames is not None
        with pytest.raises(CodecError):
            frames.take(0, frames.size)


def test_threads_share_the_work() -> None:
    data = stored((*range(0, len(PAYLOAD), 64), len(PAYLOAD)))
    for _ in range(20):
        frames = frames_of(data, 1 << 20)
        assert frames is not None
        got: list[bytes] = []

        def take(frames: FramedPayload = frames, got: list[bytes] = got) -> None:
            got.append(bytes(frames.take(0, frames.size)))

        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert got == [PAYLOAD] * 4


def test_a_beginning_grows() -> None:
    data = frame(PAYLOAD[:6000], sized=False) + frame(PAYLOAD[6000:], sized=False)
    beginning = PayloadPrefix(data, len(PAYLOAD))
    assert beginning.take(10, 20) == PAYLOAD[10:20]
    assert beginning.view[20:] == bytes(len(PAYLOAD) - 20)
    assert beginning.take(5990, 6010) == PAYLOAD[5990:6010], "across frames"
    assert beginning.take(0, 5) == PAYLOAD[:5]
    for short in (PayloadPrefix(data[:-4], len(PAYLOAD)), PayloadPrefix(data, len(PAYLOAD) + 1)):
        with pytest.raises(CodecError):
            short.take(0, short.size)
    with pytest.raises(CodecError):
        PayloadPrefix(data[:40] + bytes(200), len(PAYLOAD)).take(0, 6000)


# ------------------------------------------------------------------------------------------------------- the archive

Frame = Callable[[bytes], bytes]


def reframed(path: Path, out: Path, last: Frame = frame, size: int = PIECE) -> ClpSArchive:
    """The same archive with frames of `size` bytes; the last one of each payload is made by `last`."""

    def wrap(payload: bytes) -> bytes:
        if len(payload) <= size:
            return frame(payload, sized=False) if payload else b""
        pieces = [payload[start : start + size] for start in range(0, len(payload), size)]
        return b"".join([*map(frame, pieces[:-1]), last(pieces[-1])])

    with exhume.clps.open(path) as archive:
        streams = [wrap(bytes(archive.stream_payload(number))) for number in range(len(archive.table_metadata.streams))]
        sections: list[bytes] = []
        files = []
        for entry in archive.files:
            files.append({"n": entry.name, "o": sum(map(len, sections))})
            if entry.name in DICTIONARIES:
                count, payload = dictionary_payload(archive, entry)
                sections.append(count + wrap(bytes(payload)))
            elif entry.name in TABLE_SECTIONS:
                sections += streams
            else:
                payload = archive.structure(entry.name)[0]
                if entry.name == "/table_metadata":
                    payload = with_stream_offsets(payload, list(map(len, streams)))
                sections.append(frame(payload, sized=False))
        listed: dict[int, bytes] = {PacketType.ARCHIVE_FILE_INFO: msgpack.packb({"files": files})}
        packets = [(packet.type, listed.get(packet.type, packet.body)) for packet in archive.packets]
        metadata = frame(pack_packets(packets), sized=False)
        size = HEADER_SIZE + len(metadata) + sum(map(len, sections))
        head = build_header(archive.header.version, archive.header.original_size, size, len(metadata))
    out.write_bytes(b"".join([head, metadata, *sections]))
    return open_archive(BytesSource(out.read_bytes()))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("frames") / "one.clps"
    texts = ("one two", "took {} ms for the job", "took {} ms for the job")
    rows = [(number, f"x{number * 7919:09d}", texts[number % 3].format(number), number % 5) for number in range(ROWS)]
    lines = (f'{{"a": {a}, "name": "{name}", "text": "{text}", "z": {z}}}\n' for a, name, text, z in rows)
    path.with_suffix(".jsonl").write_text("".join(lines), encoding="ascii")
    with exhume.clps.create(path) as writer:
        writer.add_file(path.with_suffix(".jsonl"))
    return path


def test_archives_of_frames_read_alike(made: Path, tmp_path: Path) -> None:
    with exhume.clps.open(made) as one:
        text = b"".join(one.json_chunks())
        matching = b"".join(one.search("z: 3").chunks())
        digest = one.content_digest()
    archive = reframed(made, tmp_path / "many.clps")
    assert isinstance(archive.stream_parts(0), FramedPayload)
    assert archive.content_digest() == digest
    for jobs in (1, 2, 4):
        fresh = open_archive(BytesSource((tmp_path / "many.clps").read_bytes()))
        assert b"".join(fresh.json_chunks(jobs=jobs)) == text
        fresh = open_archive(BytesSource((tmp_path / "many.clps").read_bytes()))
        assert b"".join(fresh.search("z: 3").chunks(jobs=jobs)) == matching
        fresh = open_archive(BytesSource((tmp_path / "many.clps").read_bytes()))
        assert list(fresh.verify(jobs=jobs)) == []
        assert list(fresh.verify(jobs=jobs, quick=True)) == []


def test_columns_take_the_frames_that_contain_them(made: Path, tmp_path: Path) -> None:
    """Including those after columns whose size depends on their bytes."""
    archive = reframed(made, tmp_path / "many.clps")
    [table] = archive.tables
    [node] = archive.schema_tree.find("z")
    data = table.load({node})
    assert list(data.column("z").values) == [number % 5 for number in range(ROWS)]
    parts = archive.stream_parts(0)
    assert isinstance(parts, FramedPayload)
    assert parts.view[:PIECE] == bytes(PIECE), "the first frame has nothing of it"
    with pytest.raises(AssertionError, match="not requested"):
        data.column("a")
    assert list(table.load().column("a").values) == list(range(ROWS))
    whole = archive.stream_payload(0)
    with exhume.clps.open(made) as one:
        assert bytes(whole) == bytes(one.stream_payload(0))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_projection_takes_the_frames_that_contain_it(jobs: int, made: Path, tmp_path: Path) -> None:
    archive = reframed(made, tmp_path / "many.clps")
    nodes = resolve_projection(archive, ["z"])
    search = Search(archive, "z: 3", printing=True, projection=["z"], jobs=jobs)
    assert b"".join(search.chunks(nodes, jobs=jobs)) == b'{"z":3}\n' * (ROWS // 5)
    parts = archive.stream_parts(0)
    assert isinstance(parts, FramedPayload)
    assert parts.view[:PIECE] == bytes(PIECE), "the first frame has nothing of it"


@pytest.mark.parametrize("ask", [lambda texts: texts.first_variables(1), lambda texts: texts.escaped_variables])
def test_threads_decompress_the_dictionary_together(
    ask: Callable[[PrintContext], object], made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = []

    def share(archive: ClpSArchive) -> None:
        def enter() -> None:
            free.append(archive.texts.lock.acquire(blocking=False))
            if free[-1]:
                archive.texts.lock.release()

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()

    monkeypatch.setattr(ClpSArchive, "share_variables", share)
    with exhume.open(made) as archive:
        assert isinstance(archive, ClpSArchive)
        ask(archive.texts)
    assert free == [True]


def test_the_first_thread_reads_the_dictionary_and_others_help(made: Path) -> None:
    with exhume.open(made) as archive:
        assert isinstance(archive, ClpSArchive)
        place = archive.file_entry("/var.dict").part(DICTIONARY_HEAD)
        archive.share_variables()
        frames = archive.shared_frames(place)
        assert frames is not None
        assert not any(frames.view), "left to the reading"
        archive.share_variables()
        assert frames.view == archive.inflate(place), "which others help with"
        assert len(archive.variables) > 0


def stated(archive: ClpSArchive, jobs: int) -> object:
    try:
        return b"".join(archive.json_chunks(jobs=jobs))
    except ExhumeError as error:
        return str(error)


@pytest.mark.parametrize(
    "last",
    [
        lambda data: lying(data, 1),
        lambda data: lying(data, -1),
        lambda data: frame(data)[:60] + bytes(40) + frame(data)[100:],
        lambda data: frame(data)[:-1],
        lambda data: frame(data[:-1]),
        lambda data: frame(data) + b"more",
    ],
    ids=["too much stated", "too little stated", "damaged", "cut", "short", "trailing"],
)
def test_damage_is_reported_as_where_no_frame_states_its_size(
    made: Path, tmp_path: Path, last: Frame, monkeypatch: pytest.MonkeyPatch
) -> None:
    reframed(made, tmp_path / "bad.clps", last)
    data = (tmp_path / "bad.clps").read_bytes()

    def reported(jobs: int) -> tuple[object, ...]:
        findings = list(open_archive(BytesSource(data)).verify(jobs=jobs))
        return findings, stated(open_archive(BytesSource(data)), jobs)

    found = [reported(1), reported(2)]
    for name in ("frames_of", "frames_at"):
        monkeypatch.setattr(f"exhume.formats.clp_s.read.container.{name}", lambda *given, **named: None)
    assert found == [reported(1)] * 2


def test_stated_sizes_stay_within_the_limits(made: Path, tmp_path: Path) -> None:
    reframed(made, tmp_path / "many.clps")
    small = Limits(payload_size=1 << 20, expansion_floor=1 << 10)
    archive = open_archive(BytesSource((tmp_path / "many.clps").read_bytes()), limits=small)
    parts = archive.stream_parts(0)
    assert parts is None or not parts.is_small
    with pytest.raises(ExhumeError, match="CLPS-501"):
        archive.stream_payload(0)
