"""Large tables that are read a window of rows at a time: output and findings are those of whole tables."""

from __future__ import annotations

import datetime
import functools
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import exhume
from exhume.codecs.frames import FrameCache, FramedPayload, FrameIndex, frames_of
from exhume.codecs.layout import frame_places
from exhume.codecs.serial import Serial
from exhume.errors import CodecError, ExhumeError
from exhume.formats.clp_s.query.search import Search, resolve_projection
from exhume.formats.clp_s.read import blocks, windows
from exhume.formats.clp_s.reader import ClpSArchive, open_archive
from exhume.io.source import BytesSource
from exhume.limits import DEFAULT_LIMITS, Limits
from tests.clp_s.build import Built, clp, i64, tiny
from tests.clp_s.test_frames import frame, lying
from tests.sizes import THOROUGH, size, some

ROWS = size(1000, 6000)
CUT = 2_000
"""Bytes of a frame."""
SMALL_CUT = size(800, 2_000)
"""Bytes of a frame of the archives that a writer makes."""

PAYLOAD = bytes(range(251)) * 100


# ------------------------------------------------------------------------------------------------------- the frames


class Counted:
    """Frames of a payload, and which of them were read."""

    def __init__(self, sizes: list[int]) -> None:
        self.ends = [0, *accumulate(sizes)]
        frames = [frame(PAYLOAD[start:stop]) for start, stop in pairwise(self.ends)]
        stops = list(accumulate(map(len, frames), initial=0))
        self.stored = b"".join(frames)
        self.places = list(pairwise(stops))
        self.read: list[int] = []

    def frame_reader(self) -> FrameCache:
        def read(start: int, stop: int) -> bytes:
            if (start, stop) in self.places:  # else frames are looked for
                self.read.append(self.places.index((start, stop)))
            return self.stored[start:stop]

        return FrameCache(FrameIndex(read, len(self.stored), 1 << 20, (len(self.stored),), self.ends[-1]))


@given(st.lists(st.integers(1, 400), min_size=2, max_size=20), st.data())
def test_what_is_gathered_is_what_is_there(sizes: list[int], data: st.DataObject) -> None:
    frame_reader = Counted(sizes).frame_reader()
    for _ in range(4):
        wanted = [
            sorted(pair) for pair in data.draw(st.lists(st.tuples(*[st.integers(0, sum(sizes))] * 2), max_size=5))
        ]
        with frame_reader.stop() as here:
            room = here.buffer(sum(stop - start for start, stop in wanted))
            at = list(accumulate((stop - start for start, stop in wanted), initial=0))
            here.gather([(start, stop, place) for (start, stop), place in zip(wanted, at, strict=False)], room)
            assert room == b"".join(PAYLOAD[start:stop] for start, stop in wanted)


def test_frames_are_given_up_when_others_were_used_since() -> None:
    counted = Counted([100] * 20)
    frame_reader = counted.frame_reader()
    for start in range(0, 2000, 20):  # as rows are: each frame serves five windows
        with frame_reader.stop() as here:
            here.gather([(start, start + 20, 0)], here.buffer(20))
    assert counted.read == list(range(20)), "each of them once"
    with frame_reader.stop() as here:
        here.gather([(0, 20, 0)], here.buffer(20))
    assert counted.read == [*range(20), 0], "the first is not there any more"


def test_frames_stay_while_they_are_used() -> None:
    counted = Counted([100] * 4)
    frame_reader = counted.frame_reader()
    with frame_reader.stop() as first:
        first.gather([(0, 10, 0)], first.buffer(10))
        for start in (100, 200, 300):
            with frame_reader.stop() as other:
                other.gather([(start, start + 10, 0)], other.buffer(10))
        first.gather([(10, 20, 0)], first.buffer(10))
    assert counted.read == [0, 1, 2, 3]


def test_threads_decompress_the_frames_that_they_all_need_once() -> None:
    counted = Counted([500] * 40)
    frame_reader = counted.frame_reader()
    begin = threading.Barrier(4)
    found: list[bool] = []

    def work() -> None:
        begin.wait(10)
        for _ in range(3):
            with frame_reader.stop() as here:
                room = here.buffer(20_000)
                here.gather([(0, 20_000, 0)], room)
                found.append(room == PAYLOAD[:20_000])

    threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert found == [True] * 12
    assert sorted(counted.read) == list(range(40))


def test_frames_that_others_use_stay_whenever_threads_change() -> None:
    frame_reader = Counted([100] * 60).frame_reader()
    wrong: list[object] = []

    def work(number: int) -> None:
        try:
            for start in range(number * 20, 5_900, 20):
                with frame_reader.stop() as here:
                    room = here.buffer(60)
                    here.gather([(start, start + 60, 0)], room)
                    if room != PAYLOAD[start : start + 60]:
                        wrong.append(start)
        except Exception as error:
            wrong.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    finally:
        sys.setswitchinterval(before)
    assert wrong == []


def test_who_would_wait_for_a_frame_decompresses_the_next() -> None:
    """While one thread decompresses the frame that both need, the other continues with the frames needed next, and
    no further."""
    counted = Counted([100] * 10)
    frame_reader = counted.frame_reader()
    began, go_on = threading.Event(), threading.Event()
    decompress = frame_reader._decompress

    def slow(number: int) -> None:
        if number == 0:
            began.set()
            assert go_on.wait(10)
        decompress(number)
        if number == 2:
            go_on.set()

    frame_reader._decompress = slow  # type: ignore[method-assign]
    found: list[bool] = []

    def work(start: int, stop: int) -> None:
        with frame_reader.stop() as here:
            room = here.buffer(stop - start)
            here.gather([(start, stop, 0)], room)
            found.append(room == PAYLOAD[start:stop])

    first = threading.Thread(target=work, args=(0, 100), daemon=True)
    first.start()
    assert began.wait(10)
    work(50, 150)
    first.join(10)
    assert found == [True, True]
    assert counted.read == [1, 2, 0], "frame 3 lies behind what comes next"
    work(200, 300)
    assert counted.read == [1, 2, 0], "it is there already"


def test_a_damaged_frame_is_reported_and_others_are_read() -> None:
    counted = Counted([100, 100, 400])
    bad = lying(PAYLOAD[200:599], 1)
    counted.stored = counted.stored[: counted.places[2][0]] + bad
    counted.places[2] = (counted.places[2][0], len(counted.stored))
    frame_reader = counted.frame_reader()
    with frame_reader.stop() as here, pytest.raises(CodecError, match="zstd"):
        here.gather([(150, 250, 0)], here.buffer(100))
    with frame_reader.stop() as here:
        room = here.buffer(200)
        here.gather([(0, 200, 0)], room)
        assert room == PAYLOAD[:200]


def test_large_frames_and_frames_all_taken_have_no_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exhume.codecs.frames.PASSING_MOST", 100)

    def frames(*pieces: bytes) -> FramedPayload:
        found = frames_of(b"".join(map(frame, pieces)), 1 << 30)
        assert found is not None
        return found

    small = frames(b"one", b"two")
    assert small.frame_reader() is not None
    small.take()
    assert small.frame_reader() is None
    assert frames(bytes(100), b"two").frame_reader() is not None
    assert frames(bytes(101), b"two").frame_reader() is None


# --------------------------------------------------------------------------------------------------------- the tables


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table counts as large, and windows have few rows."""
    monkeypatch.setattr("exhume.formats.clp_s.read.streams.PARTS_LEAST", 1)
    monkeypatch.setattr(windows, "WORTHWHILE", 1)
    monkeypatch.setattr(windows, "SUMMED_ROWS", 100)
    monkeypatch.setattr(windows, "SUMS_AT_A_TIME", 3)
    monkeypatch.setattr(blocks, "WINDOW_BYTES", 1 << 14)


def lines() -> Iterator[str]:
    begin = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    for row in range(ROWS):
        record: dict[str, Any] = {
            "at": (begin + datetime.timedelta(milliseconds=row * 7919 % 100_000)).isoformat(timespec="milliseconds"),
            "number": row * 7919 % 1000 - 500,
            "real": row / 8,
            "flag": row % 3 == 0,
            "name": f"n{row % 77}",
            "text": f"job {row} of host-{row % 9} took {row % 1000}.5 ms" + " again and again" * (row % 50 == 0),
            "list": [row % 5, "x", {"y": row}],
            "nothing": None,
        }
        record["at"] = record["at"].replace("+00:00", "Z")
        yield json.dumps(record)


@pytest.fixture(scope="module", params=["0.3.1", "0.4.1", "0.5.1", "0.5.1 arrays"])
def stored(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """An archive with every type of column, in many frames."""
    return written(request.param, tmp_path_factory.mktemp("windows"), SMALL_CUT)


def written(version_and_arrays: str, folder: Path, cut: int) -> bytes:
    """An archive with every type of column, in frames of `cut` bytes."""
    version, _, arrays = version_and_arrays.partition(" ")
    path = folder / "one.clps"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("exhume.formats.clp_s.write.build.LEAST", cut)
        patch.setattr("exhume.formats.clp_s.write.build.MOST", cut)
        options: dict[str, Any] = {"version": version, "structurize_arrays": bool(arrays), "allow_loss": True}
        with exhume.clps.create(path, timestamp_key="at", creator_id="x", **options) as writer:
            for line in lines():
                writer.write_json_line(line)
    return path.read_bytes()


def everything(stored: bytes, jobs: int, limits: Limits = DEFAULT_LIMITS) -> list[Any]:
    """What the verbs that go through tables find; each of an archive that was opened for it."""

    def opened() -> ClpSArchive:
        return open_archive(BytesSource(stored), limits=limits)

    queries = ("number > 480", "name: n5 AND flag: true", "text: *again*", "list: *3*", "number > 1000", "real < 12.5")
    found: list[Any] = [b"".join(opened().json_chunks(jobs=jobs, complete=complete)) for complete in (False, True)]
    found += [b"".join(opened().search(query).chunks(jobs=jobs)) for query in queries]
    found += [opened().search(query).count(jobs=jobs) for query in queries]
    archive = opened()
    search = Search(archive, "flag: false", printing=True, projection=["name"], jobs=jobs)
    found += [b"".join(search.chunks(resolve_projection(archive, ["name"]), jobs=jobs))]
    for columns in (None, ["text", "at"], ["real"]):
        found.append(
            [batch.to_pydict() for batch in opened().to_arrow(columns=columns, jobs=jobs, batch_rows=ROWS // 2)]
        )
    return [*found, verified(stored, jobs, limits)]


def one_by_one(stored: bytes, limits: Limits = DEFAULT_LIMITS) -> list[Any]:
    """The results of reading record by record, in both orders; each from a newly opened archive."""

    def opened() -> ClpSArchive:
        return open_archive(BytesSource(stored), limits=limits)

    query = "number > 300 AND flag: true"
    found: list[Any] = [batch.to_pydict() for batch in opened().to_arrow(query=query, batch_rows=300)]
    for ordered in (False, True):
        found += [b"".join(opened().json_chunks(ordered=ordered)), list(opened().json_lines(ordered=ordered))]
        found += [list(opened().events(ordered=ordered)), list(opened().events(query, ordered=ordered))]
        found += [list(opened().json_lines(query, ordered=ordered))]
    return found


def verified(stored: bytes, jobs: int, limits: Limits = DEFAULT_LIMITS) -> list[str]:
    """The findings of `verify`, and the last number of records that it reports as done."""
    reported = [0]
    with open_archive(BytesSource(stored), limits=limits) as archive:
        found = [
            str(one) for one in archive.verify(jobs=jobs, progress=lambda done, _total, _unit: reported.append(done))
        ]
        assert sorted(reported) == reported
        assert reported[-1] <= archive.num_messages
    return [*found, str(reported[-1])]


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.usefixtures("small")
def test_windows_contain_what_tables_contain(stored: bytes, jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    init = windows.Window.__init__

    def counting(self: windows.Window, *args: Any) -> None:
        init(self, *args)
        made.append(self.num_messages)

    monkeypatch.setattr(windows.Window, "__init__", counting)
    found = everything(stored, jobs)
    assert sum(made) > 10 * ROWS, "windows were read"
    monkeypatch.setattr(windows, "WORTHWHILE", 1 << 40)
    before = len(made)
    assert everything(stored, jobs) == found
    assert len(made) == before, "whole tables"


@pytest.mark.parametrize(
    ("wide", "jobs"),
    [
        pytest.param(wide, jobs, id=f"{name}-{jobs}")
        for wide, name, jobs in [
            (8, "frames kept", 3),
            (1 << 30, "frames not kept", 1),
            *([(8, "frames kept", 1), (1 << 30, "frames not kept", 3)] if THOROUGH else []),
        ]
    ],
)
@pytest.mark.usefixtures("small")
def test_tables_larger_than_the_limit_are_read_in_windows(
    stored: bytes, jobs: int, wide: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows, "WIDE", wide)
    with open_archive(BytesSource(stored)) as archive:
        limits = Limits(payload_size=max(table.size for table in archive.tables) - 1)
        assert max(archive.variables.size, archive.log_types.size) <= limits.payload_size
    with open_archive(BytesSource(stored), limits=limits) as archive, pytest.raises(ExhumeError, match="CLPS-501"):
        for table in archive.tables:
            table.load()
    whole, records = without_limits(stored)
    assert everything(stored, jobs, limits) == whole
    if jobs == 1:
        assert one_by_one(stored, limits) == records


@functools.cache
def without_limits(stored: bytes) -> tuple[list[Any], list[Any]]:
    """The results of reading an archive within the default limits: those of all verbs, and record by record."""
    return everything(stored, 1), one_by_one(stored)


CYCLE = """
import gc, sys
import exhume

limits = exhume.Limits(payload_size=10)
archive = exhume.clps.open(sys.argv[1], limits=limits)
held = [archive.texts.log_types]
held.append(held)
del archive, held
gc.collect()
"""


def test_log_types_in_files_are_freed_by_the_collector(samples: Path) -> None:
    """It clears them before they are freed; what is in a mapped file is not memory to be freed."""
    done = subprocess.run([sys.executable, "-c", CYCLE, str(samples / "clp_s/old.clps")], check=False)
    assert done.returncode == 0


@pytest.mark.usefixtures("small")
def test_log_types_are_made_in_one_form(stored: bytes) -> None:
    """They are some times as large as the dictionary, and windows need only the number of their variables."""

    def forms(work: Callable[[ClpSArchive], object]) -> set[str]:
        with open_archive(BytesSource(stored)) as archive:
            work(archive)
            return {"log_types", "raw_log_types"} & archive.texts.__dict__.keys()

    assert forms(lambda archive: list(archive.json_chunks())) == {"log_types"}
    assert forms(lambda archive: list(archive.to_arrow())) == {"raw_log_types"}
    assert forms(lambda archive: list(archive.verify())) == {"raw_log_types"}


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.usefixtures("small")
def test_rows_of_very_many_variables_are_read_in_windows(jobs: int, tmp_path: Path) -> None:
    path = tmp_path / "one.clps"
    lines = [
        json.dumps({"text": " ".join(map(str, range(row, row + 3000)))}, separators=(",", ":")) for row in range(40)
    ]
    with exhume.clps.create(path) as writer:
        for line in lines:
            writer.write_json_line(line)
    with exhume.clps.open(path, limits=Limits(payload_size=500_000)) as archive:
        assert archive.tables[0].size > archive.limits.payload_size
        assert b"".join(archive.json_chunks(jobs=jobs)).decode().splitlines() == lines


def test_every_limit_reads_a_table_of_some_frames(tmp_path: Path) -> None:
    """Frames that are decompressed to find the columns need not fit into memory together."""
    path = tmp_path / "one.clps"
    with exhume.clps.create(path) as writer:
        for row in range(15_000):
            writer.write({"text": f"job {row} took {row % 7}.5 ms", "row": row, "tags": [row % 3, "x"]})
    with exhume.clps.open(path) as archive:
        expected = b"".join(archive.json_chunks())
    for limit in (64, 200, 400, 500, 600, 700, 800):
        with exhume.clps.open(path, limits=Limits(payload_size=limit << 10)) as archive:
            assert windows.is_too_large(archive.tables[0])
            assert b"".join(archive.json_chunks()) == expected, limit


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("version", ["0.4.1", "0.5.1 arrays"])
@pytest.mark.usefixtures("small")
def test_one_frame_larger_than_the_limit_is_read_in_passes(version: str, jobs: int, tmp_path: Path) -> None:
    """As `clp-s` writes each stream: windows are decompressed from the beginning of the frame."""
    stored = written(version, tmp_path, 1 << 40)
    with open_archive(BytesSource(stored)) as archive:
        largest = max(archive.tables, key=lambda table: table.size)
        limits = Limits(payload_size=largest.size - 1)
    with open_archive(BytesSource(stored), limits=limits) as archive:
        assert isinstance(archive.stream_parts(largest.entry.stream_id), Serial)
        with pytest.raises(ExhumeError, match="CLPS-501"):
            archive.tables[largest.index].load()
    whole, records = without_limits(stored)
    assert everything(stored, jobs, limits) == whole
    if jobs == 1:
        assert one_by_one(stored, limits) == records
        with open_archive(BytesSource(stored)) as archive:
            place = archive.stream_place(largest.entry.stream_id)
        damaged = bytearray(stored)
        damaged[place.end - 40 : place.end - 8] = bytes(32)
        assert [one for one in verified(bytes(damaged), 1, limits) if "CLPS-309" in one]


@pytest.mark.usefixtures("small")
def test_memory_is_that_of_a_few_frames(stored: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []
    gather = FrameCache.gather

    def counting(self: FrameCache, *args: Any) -> None:
        gather(self, *args)
        held.append(len(self._made))

    monkeypatch.setattr(FrameCache, "gather", counting)
    monkeypatch.setattr(blocks, "WINDOW_BYTES", 8 * SMALL_CUT)
    with open_archive(BytesSource(stored)) as archive:
        table = max(archive.tables, key=lambda one: one.size)
        assert table.size // SMALL_CUT > 120
        for _ in archive.json_chunks():
            pass
    assert max(held) < 70, "two for each array of a column, and some of what variables take"


# -------------------------------------------------------------------------------------------------- the fault


def in_frames(data: bytes) -> bytes:
    return b"".join(frame(data[start : start + CUT]) for start in range(0, len(data), CUT))


def texts(words: list[tuple[int, int]], variables: list[int], **changes: Any) -> Built:
    """A table of one column of strings with one integer each."""
    return tiny(
        nodes=[(-1, b"", 5), (0, b"a", 2)],
        schemas=[(0, [1], [])],
        streams=[[(0, len(words), clp(words, variables))]],
        log_types=[b"took \x11 ms", b"nothing"],
        **{"compress": lambda data: in_frames(data) if len(data) > CUT else frame(data, sized=False), **changes},
    )


def reported(stored: bytes, jobs: int) -> list[Any]:
    found: list[Any] = []
    with open_archive(BytesSource(stored)) as archive:
        for pieces in (archive.json_chunks(jobs=jobs), archive.search("a: took*").chunks(jobs=jobs)):
            text = b""
            try:
                for piece in pieces:
                    text += piece
            except ExhumeError as error:
                found.append(str(error))
            found.append(text)
    with open_archive(BytesSource(stored)) as archive:
        rows = 0
        try:
            for batch in archive.to_arrow(jobs=jobs, batch_rows=500):
                rows += batch.num_rows
        except ExhumeError as error:
            found.append(str(error))
        found.append(rows)
    return found


GOOD = [(0, row) for row in range(3000)]
DAMAGED = {
    "no such log type": ([*GOOD[:2000], (7, 2000), *GOOD[2001:]], None),
    "variables past the end": ([*GOOD[:2000], (0, 9000), *GOOD[2001:]], None),
    "variables anywhere": ([(0, row * 7919 % 3000) for row in range(3000)], None),
    "texts without variables that point anywhere": (
        [(1, 1 << 30) if row % 2 else (0, row) for row in range(3000)],
        None,
    ),
    "a frame that does not decode": (GOOD, 9),
    "a frame of variables that does not decode": (GOOD, 20),
}


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("kind", DAMAGED)
@pytest.mark.usefixtures("small")
def test_damage_is_reported_as_if_the_table_was_read_whole(
    kind: str, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "WINDOW_BYTES", 1 << 11)
    words, bad = DAMAGED[kind]
    stored = bytearray(texts(words, list(range(3000))).build())
    if bad is not None:
        with open_archive(BytesSource(bytes(stored))) as archive:
            place = archive.stream_place(0)
            start, stop = (place.start + at for at in frame_places(place.read())[bad])
        stored[start + 12 : stop] = b"\xff" * (stop - start - 12)
    found, findings = reported(bytes(stored), jobs), verified(bytes(stored), jobs)
    monkeypatch.setattr(windows, "WORTHWHILE", 1 << 40)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 11)
    whole = reported(bytes(stored), jobs)
    assert findings[:-1] == verified(bytes(stored), jobs)[:-1]
    assert bool(findings[:-1]) == (bad is not None or kind in list(DAMAGED)[:2])
    if bad is None:
        assert found == whole
        assert any(isinstance(one, str) for one in found) == (kind in list(DAMAGED)[:2])
        return
    assert [one for one in found if isinstance(one, str)] == [one for one in whole if isinstance(one, str)]
    assert whole[1::2] == [b"", b"", 0], "nothing of a table that cannot be decompressed"
    good = "".join(f'{{"a":"took {row} ms"}}\n' for row in range(len(GOOD))).encode()
    for text in found[1:4:2]:
        assert good.startswith(text)
        assert text.count(b"\n") > 500, "all rows in front of the damage"
    assert found[5] >= 500


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("kind", DAMAGED)
@pytest.mark.usefixtures("small")
def test_what_is_wrong_in_a_table_larger_than_the_limit(kind: str, jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Damage is found in windows too; where windows do not suffice, the limit is named, and nothing is wrong."""
    monkeypatch.setattr(blocks, "WINDOW_BYTES", 1 << 11)
    words, bad = DAMAGED[kind]
    stored = bytearray(texts(words, list(range(3000))).build())
    if bad is not None:
        with open_archive(BytesSource(bytes(stored))) as archive:
            place = archive.stream_place(0)
            start, stop = (place.start + at for at in frame_places(place.read())[bad])
        stored[start + 12 : stop] = b"\xff" * (stop - start - 12)
    limits = Limits(payload_size=40_000)
    with open_archive(BytesSource(bytes(stored)), limits=limits) as archive:
        assert archive.tables[0].size > limits.payload_size
    whole, found = verified(bytes(stored), jobs)[:-1], verified(bytes(stored), jobs, limits)[:-1]
    if kind == "no such log type":
        assert found == whole
    elif bad is not None:
        assert any("CLPS-309" in one for one in found)
    elif kind == "variables past the end":
        assert found
        assert all("CLPS-501" in one and "payload_size" in one for one in found)
    else:
        assert found == whole == []


@pytest.mark.usefixtures("small")
def test_tables_without_windows() -> None:
    """Those whose stream is one frame, and those whose columns take more or less than their bytes."""
    rows = 3000
    one = tiny(streams=[[(0, rows, i64(*range(rows)))]])
    with open_archive(BytesSource(one.build())) as archive:
        assert windows.open_windows(archive.tables[0]) is None
        assert not windows.has_windows(archive.tables[0])
        assert b"".join(archive.json_chunks()).count(b"\n") == rows
    more = tiny(streams=[[(0, rows, i64(*range(rows + 1)))]], compress=in_frames)
    with open_archive(BytesSource(more.build())) as archive:
        assert windows.open_windows(archive.tables[0]) is None
        with pytest.raises(ExhumeError, match="CLPS-348"):
            list(archive.json_chunks())


def ordered(positions: list[int], moments: list[int], **changes: Any) -> Built:
    """A table with the places of its records in their input, and their timestamps."""
    rows = len(positions)
    return tiny(
        version=(0, 3, 1),
        nodes=[(-1, b"", 10), (0, b"log_event_idx", 0), (-1, b"", 5), (2, b"t", 8)],
        schemas=[(0, [1, 3], [])],
        streams=[[(0, rows, i64(*positions) + i64(*moments) + i64(*[0] * rows))]],
        ranges=[(b"t", [3], 1, 0, 10**6)],
        patterns=[(0, b"%Y-%m-%d %H:%M:%S,%3")],
        original_size=16,
        compress=lambda data: in_frames(data) if len(data) > CUT else frame(data, sized=False),
        **changes,
    )


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.usefixtures("small")
def test_verify_finds_what_is_between_windows(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of records across two windows, bounds of timestamps, and frames that no window had anything of."""
    monkeypatch.setattr(blocks, "WINDOW_BYTES", 1 << 11)
    rows = list(range(3000))
    size = len(ordered(rows, rows).streams[0][0][2])
    step = (1 << 11) * len(rows) // size
    swapped = list(rows)
    swapped[step * 4 - 1], swapped[step * 4] = swapped[step * 4], swapped[step * 4 - 1]
    late = [*rows[:-1], 10**7]
    unused = bytearray(texts([(0, row % 10) for row in rows], [*range(10), *rows]).build())
    with open_archive(BytesSource(bytes(unused))) as archive:
        place = archive.stream_place(0)
        start, stop = (place.start + at for at in frame_places(place.read())[-2])
    unused[start + 12 : stop] = b"\xff" * (stop - start - 12)

    def following(data: bytes) -> bytes:
        return in_frames(data) + b"bytes behind it" if len(data) > CUT else frame(data, sized=False)

    cases = [
        ("", ordered(rows, rows).build()),
        ("CLPS-413", ordered(swapped, rows).build()),
        ("CLPS-412", ordered(rows, late).build()),
        ("stream 0", bytes(unused)),
        ("CLPS-310", texts([(0, row) for row in rows], rows, compress=following).build()),
    ]
    for code, stored in some(cases):
        found = verified(stored, jobs)
        assert any(code in one for one in found[:-1]) == bool(code), found
        with monkeypatch.context() as patch:
            patch.setattr(windows, "WORTHWHILE", 1 << 40)
            assert verified(stored, jobs)[:-1] == found[:-1]


@pytest.mark.usefixtures("small")
def test_verify_keeps_few_frames_of_a_table_without_damage(stored: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    whole: list[object] = []

    def counting(*args: Any) -> tuple[()]:
        whole.append(args)
        return ()

    monkeypatch.setattr("exhume.formats.clp_s.verify.check_stream", counting)
    with open_archive(BytesSource(stored)) as archive:
        large = [table for table in archive.tables if windows.has_windows(table)]
        list(archive.verify())
        assert large
        assert len(whole) == len(archive.table_metadata.streams) - len({table.entry.stream_id for table in large})
