"""What several jobs write is what one writes: the bytes, the archives of a series, what is refused, and errors."""

from __future__ import annotations

import random
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.archive import Progress
from exhume.formats.clp_s.write import series
from exhume.formats.clp_s.write.inputs import BadRecordError
from exhume.formats.clp_s.write.kernel import ClpsEncoder
from exhume.formats.clp_s.write.pykernel import ClpsEncoder as PureEncoder
from exhume.formats.clp_s.write.status import Status
from exhume.formats.clp_s.writer import ClpSWriter, create
from exhume.native import KERNEL
from tests.clp_s.strategies import dumps, records
from tests.clp_s.test_writer_encoders import NO_END, STAMPS, build, options, state

needs_kernel = pytest.mark.skipif(KERNEL is None, reason="no compiled kernel: blocks are not encoded ahead")
stamped = st.builds(lambda text, more: b'{"ts":%s,"m":%s}' % (text.encode(), dumps(more).encode()),
                    st.sampled_from(STAMPS), records)  # fmt: skip
lines = stamped | records.map(lambda record: dumps(record).encode())


@needs_kernel
@pytest.mark.slow
@given(options, st.lists(st.lists(lines, max_size=4).map(b"\n".join), max_size=5), st.integers(1, 3))
def test_pieces_taken_over_are_as_if_encoded_there(chosen: dict[str, Any], texts: list[bytes], several: int) -> None:
    whole, ids = build(PureEncoder, chosen)
    master, patterns = build(ClpsEncoder, chosen)
    workers = [build(ClpsEncoder, chosen) for _ in range(several)]
    for number, text in enumerate(texts):
        worker, local = workers[number % several]
        status, document, *_ = worker.feed(text, 0, True, NO_END, False)
        if status != Status.DONE:
            workers[number % several] = build(ClpsEncoder, chosen)
            text = text[:document]
            worker, local = workers[number % several]
            assert worker.feed(text, 0, True, NO_END, False)[0] == Status.DONE
        assert whole.feed(text, 0, True, NO_END, False)[0] == Status.DONE
        ids_here = dict(patterns.ids)
        numbers = [ids_here.setdefault(pattern, len(ids_here)) for pattern in local.ids]
        if KERNEL.clps_absorb(master, worker, numbers, NO_END):
            patterns.ids.update(ids_here)
            assert worker.records == 0
        else:  # met nodes in another order
            assert master.feed(text, 0, True, NO_END, False)[0] == Status.DONE
            workers[number % several] = build(ClpsEncoder, chosen)
    assert state(master, patterns) == state(whole, ids)


@needs_kernel
def test_a_piece_that_met_nodes_in_another_order_is_not_taken_over() -> None:
    """The strings of a record are numbered in the order of its nodes, and that is here `b`, `a`."""
    chosen = {"core": True, "structurize": False, "retain_floats": True, "time_nodes": True, "lossy": True}
    master, worker = (build(ClpsEncoder, {**chosen, "log_order_type": None})[0] for _ in range(2))
    whole = build(PureEncoder, {**chosen, "log_order_type": None})[0]
    first, second = b'{"b":"v"}', b'{"a":"z","b":"w"}'
    for encoder in (master, whole):
        assert encoder.feed(first, 0, True, NO_END, False)[0] == Status.DONE
    before = master.nodes_list(), master.dictionary(0)
    assert worker.feed(second, 0, True, NO_END, False)[0] == Status.DONE
    assert not KERNEL.clps_absorb(master, worker, [], NO_END)
    assert (master.nodes_list(), master.dictionary(0)) == before
    for encoder in (master, whole):
        assert encoder.feed(second, 0, True, NO_END, False)[0] == Status.DONE
    assert master.nodes_list() == whole.nodes_list()
    assert [master.dictionary(which) for which in range(3)] == [whole.dictionary(which) for which in range(3)]


@needs_kernel
def test_nothing_is_taken_over_where_encoding_might_have_stopped() -> None:
    chosen = {"core": True, "structurize": False, "retain_floats": True, "time_nodes": True, "lossy": False}
    master, other, worker = (build(ClpsEncoder, {**chosen, "log_order_type": 11})[0] for _ in range(3))
    worker.feed(b'{"a":"b c 17"}', 0, True, NO_END, False)
    assert not KERNEL.clps_absorb(master, worker, [], worker.size)
    assert (master.records, master.dictionary(0)[0], worker.records) == (0, 0, 1)
    assert KERNEL.clps_absorb(master, worker, [], worker.size + 1)
    assert master.records == 1
    worker.feed(b'{"a":"b c 18"}', 0, True, NO_END, False)
    assert not KERNEL.clps_absorb(other, worker, [], NO_END)  # its numbers are those of the first
    with pytest.raises(RuntimeError):
        KERNEL.clps_absorb(other, other, [], NO_END)


def log(rng: random.Random, count: int) -> bytes:
    """Lines of several shapes, some of them over several lines, and two that cannot be stored."""
    out = []
    for number in range(count):
        at, level, took = 1_700_000_000_000 + number * 7, rng.choice(("INFO", "WARN")), rng.randrange(50)
        out.append(f'{{"t":{at},"level":"{level}","m":"took {took} ms, id={rng.getrandbits(32):08x}"}}')
        if number % 5 == 0:
            text = f'"2024-01-02T03:04:{number % 60:02}.5Z"'
            out.append(f'{{"t":{text},"a":[1,"x {number}"],"o":{{"k{number % 3}":null}}}}')
        if number % 9 == 0:
            out.append('{\n  "m": "spread over\\n lines",\n  "f": 1.50\n}{"g":true}')
        if number in (count // 3, count // 2):
            out.append('{"a": nonsense}')
    return "\n".join(out).encode()


def written(folder: Path, inputs: list[Path], jobs: int, **how: Any) -> tuple[dict[str, bytes], Any]:
    """The archives of a run, and what it refused or failed with."""
    refused: list[tuple[str, int, str, str]] = []

    def note(error: BadRecordError) -> None:
        refused.append((error.name, error.line, str(error.span), error.reason))

    folder.mkdir()
    try:
        with create(folder / "x", creator_id="me", timestamp_key="t", jobs=jobs, **how) as writer:
            writer.on_bad_record = note
            writer.add_files(inputs)
    except BadRecordError as error:
        note(error)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}, refused


@pytest.mark.parametrize("how", [
    {"on_error": "skip"},
    {"on_error": "fail"},
    {"on_error": "skip", "target_encoded_size": 6_000},
    {"on_error": "skip", "version": "0.4.1", "structurize_arrays": True},
    {"on_error": "skip", "version": "0.3.1", "log_order": False},
])  # fmt: skip
def test_several_jobs_write_what_one_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any]
) -> None:
    rng = random.Random(3)
    inputs = [tmp_path / name for name in ("one", "two", "empty", "three")]
    for path, count in zip(inputs, (300, 40, 0, 7), strict=True):
        path.write_bytes(log(rng, count) if count else b"")
    inputs[3].write_bytes(b'{"t":1}\n{"t":')
    monkeypatch.setattr("exhume.formats.clp_s.write.inputs.PIECE", 900)
    one = written(tmp_path / "1", inputs, 1, **how)
    assert one[0] or how["on_error"] == "fail"
    assert one[1]
    for jobs in (2, 3):
        assert written(tmp_path / str(jobs), inputs, jobs, **how) == one


@needs_kernel
def test_blocks_are_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without this, the test above would pass even if all is encoded in one thread."""
    taken: list[bool] = []
    real = series.BlockEncoders.adopt

    def adopt(self: Any, part: Any, block: Any) -> bool:
        taken.append(real(self, part, block))
        return taken[-1]

    monkeypatch.setattr(series.BlockEncoders, "adopt", adopt)
    monkeypatch.setattr("exhume.formats.clp_s.write.inputs.PIECE", 300)
    (tmp_path / "in").write_bytes(b'{"a":"b 1"}\n' * 200)
    with create(tmp_path / "x", jobs=2) as writer:
        writer.add_files([tmp_path / "in"])
    assert len(taken) > 5
    assert all(taken)
    assert writer.records == 200


def test_frames_do_not_depend_on_jobs(tmp_path: Path) -> None:
    rng = random.Random(5)
    (tmp_path / "in").write_bytes(b"".join(b'{"a":"%016x"}\n' % rng.getrandbits(64) for _ in range(60_000)))
    found = [written(tmp_path / str(jobs), [tmp_path / "in"], jobs)[0] for jobs in (1, 2, 3)]
    assert found[0] == found[1] == found[2]


def test_an_interruption_leaves_no_thread_and_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exhume.formats.clp_s.write.inputs.PIECE", 1 << 12)
    (tmp_path / "in").write_bytes(b'{"a":"b 1"}\n' * 50_000)

    def interrupt(done: int, total: int | None, unit: str) -> None:
        if done > 1 << 15:
            raise KeyboardInterrupt

    progress: Progress = interrupt
    writer: ClpSWriter
    before = set(threading.enumerate())  # those of other tests
    with pytest.raises(KeyboardInterrupt), create(tmp_path / "x", jobs=3) as writer:
        writer.add_files([tmp_path / "in"], progress=progress)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    left = [thread.name for thread in threading.enumerate() if thread not in before]
    assert "exhume" not in left
