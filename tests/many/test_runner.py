"""The runner on this machine: order, retries, dead workers, bounded windows."""

from __future__ import annotations

import functools
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exhume.distributed import run, to_bag, to_dataframe, workers
from exhume.distributed.workers import Processes, is_scheduler_file
from exhume.errors import ChecksumError, MissingDependencyError, RangeNotSupportedError, SourceError


def double(unit: int) -> int:
    return 2 * unit


MEETING = threading.Barrier(4)


def meet(unit: int) -> int:
    """Wait for three other units of this process; some of them fail then."""
    MEETING.wait(20)
    if unit % 6 == 5:
        raise ChecksumError("no")
    return 2 * unit


def kill_some(unit: int) -> int:
    """Dies at every seventh unit."""
    if unit % 7 == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * unit


def kill_once(folder: str, unit: int) -> int:
    """Dies at the first attempt at some units."""
    mark = Path(folder) / str(unit)
    if unit % 5 == 1 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * unit


def fail_some(unit: int) -> int:
    if unit == 2:
        raise SourceError("the storage is away")
    if unit == 4:
        raise ChecksumError("the bytes are bad")
    if unit == 6:
        raise ZeroDivisionError("a bug")
    if unit == 8:
        raise RangeNotSupportedError("no ranges")
    return unit


def not_picklable(unit: int) -> Any:
    return (lambda: unit) if unit == 1 else unit


WAYS = [{"jobs": 1}, {"jobs": 3, "workers": "threads"}, {"jobs": 2}]
WAY = pytest.mark.parametrize("way", WAYS, ids=["caller", "threads", "processes"])


@WAY
def test_results_come_in_the_order_of_the_units(way: dict[str, Any]) -> None:
    done: list[tuple[int, int | None]] = []
    results = list(run(double, range(100), progress=lambda at, total, unit: done.append((at, total)), batch=3, **way))
    assert [(one.index, one.unit, one.value) for one in results] == [(n, n, 2 * n) for n in range(100)]
    assert done[-1] == (100, 100)
    assert sorted(done) == done


@WAY
def test_no_units(way: dict[str, Any]) -> None:
    assert list(run(double, [], **way)) == []


@WAY
@pytest.mark.slow
def test_failures_are_results(way: dict[str, Any]) -> None:
    results = list(run(fail_some, range(10), retries=2, retry_delay=0.001, **way))
    assert [one.value for one in results if one.ok] == [0, 1, 3, 5, 7, 9]
    reported = {one.unit: (one.error.code, one.attempts) for one in results if one.error}
    # What a retry cannot mend is not retried: the bytes stay bad, the server stays without ranges.
    assert reported == {2: ("EX-601", 3), 4: ("EX-201", 1), 6: ("EX-610", 3), 8: ("EX-602", 1)}
    assert "ZeroDivisionError: a bug" in str(next(one.error for one in results if one.unit == 6))


def test_a_missing_file_is_not_tried_again(tmp_path: Path) -> None:
    from exhume.io.opening import open_target

    def opened(name: str) -> int:
        with open_target(name) as source:
            return len(source.name)

    result = next(run(opened, [str(tmp_path / "none")], retries=3))
    assert result.error is not None
    assert (result.error.code, result.attempts) == ("EX-601", 1)


@pytest.mark.slow
def test_dead_processes_cost_their_own_units_only() -> None:
    results = list(run(kill_some, range(14), jobs=2, retries=1, retry_delay=0.001))
    assert [one.unit for one in results] == list(range(14))
    reported = {one.unit: str(one.error) for one in results if one.error}
    assert sorted(reported) == [3, 10]
    assert reported[3] == "worker process died: killed by signal 9 [EX-609]"
    assert all(one.value == 2 * one.unit for one in results if one.ok)


@pytest.mark.slow
def test_a_unit_whose_worker_died_is_tried_again(tmp_path: Path) -> None:
    results = list(run(functools.partial(kill_once, str(tmp_path)), range(8), jobs=2, batch=4, retry_delay=0.001))
    assert [one.value for one in results] == [2 * n for n in range(8)]


@pytest.mark.slow
def test_what_cannot_be_pickled_is_reported() -> None:
    results = list(run(not_picklable, range(3), jobs=2, retries=0))
    assert [one.value for one in results if one.ok] == [0, 2]
    assert results[1].error is not None
    assert results[1].error.code == "EX-610"


def test_units_are_taken_as_they_are_needed() -> None:
    """One slow unit delays the results after it; no more than the window is taken meanwhile."""
    taken = 0
    slow = threading.Event()

    def units() -> Iterator[int]:
        nonlocal taken
        for number in range(1000):
            taken += 1
            yield number

    def work(unit: int) -> int:
        if unit == 0:
            slow.wait(20)
        return unit

    results = run(work, units(), jobs=4, workers="threads", window=20)
    threading.Timer(0.3, slow.set).start()
    assert next(results).value == 0
    assert taken == 20
    assert sum(1 for _ in results) == 999
    assert taken == 1000


def test_batches_grow_while_the_number_of_units_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    submit = workers.Inline.submit

    def spy(self: workers.Inline, task: int, function: Any, units: list[Any], delay: float) -> None:
        sizes.append(len(units))
        submit(self, task, function, units, delay)

    monkeypatch.setattr(workers.Inline, "submit", spy)
    assert [one.value for one in run(double, iter(range(500)))] == [2 * n for n in range(500)]
    assert sizes == sorted(sizes[:-1]) + sizes[-1:]
    assert (sizes[0], max(sizes) > 4, max(sizes) <= 32) == (1, True, True)
    sizes.clear()
    assert len(list(run(double, range(5000)))) == 5000
    assert set(sizes[:-1]) == {32}


def test_dask_is_imported_by_those_who_need_it() -> None:
    code = (
        "import sys, exhume, exhume.distributed as d; d.run, d.partitions, d.carve, d.to_bag; "
        "list(d.run(abs, [1])); print(sorted({'dask', 'distributed', 'pyarrow', 'fsspec'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_leaving_a_run_ends_its_processes() -> None:
    before = set(threading.enumerate())  # those of other tests
    results = run(time.sleep, [0.01] * 50, jobs=2)
    next(results)
    backend_processes = [one for one in set(threading.enumerate()) - before if "exhume" in one.name]
    results.close()  # type: ignore[attr-defined]
    import multiprocessing

    assert backend_processes == []
    assert [one for one in multiprocessing.active_children() if one.name == "exhume-worker"] == []


@pytest.mark.slow
def test_a_process_that_dies_idle_is_replaced() -> None:
    pool = Processes(1)
    try:
        pool.submit(0, double, [1], 0.0)
        assert pool.next()[0] == 0
        worker = pool._idle[0].process
        os.kill(worker.pid or 0, signal.SIGKILL)
        worker.join()
        pool.submit(1, double, [4], 0.0)
        answers: Any = pool.next()[1]
        assert answers[0].value == 8
    finally:
        pool.close()


def served(*messages: bytes) -> list[Any]:
    """The replies of a worker process to messages, in order, until its pipe closes or it is dismissed."""
    ours, theirs = multiprocessing.Pipe()
    for message in messages:
        ours.send_bytes(message)
    before = signal.getsignal(signal.SIGINT)
    try:
        workers.serve(theirs)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # the parent ends the run
    finally:
        signal.signal(signal.SIGINT, before)
    answers = []
    while ours.poll():
        answers.append(pickle.loads(ours.recv_bytes()))
    return answers


def test_the_life_of_a_worker() -> None:
    """It answers, whatever is asked, until it is dismissed; what does not pickle costs the units of that message."""

    def message(count: int, function: Any) -> bytes:
        return pickle.dumps((count, pickle.dumps((function, list(range(count)), 0.0))))

    garbage = pickle.dumps((3, b"no pickle"))
    good, lost, bad = served(message(2, double), garbage, message(4, not_picklable), b"", message(1, double))
    assert [one.value for one in good] == [0, 2]
    assert [one.error.code for one in lost] == ["EX-610"] * 3
    assert [one.error.code for one in bad] == ["EX-610"] * 4
    ours, theirs = multiprocessing.Pipe()
    ours.close()
    before = signal.getsignal(signal.SIGINT)
    workers.serve(theirs)
    signal.signal(signal.SIGINT, before)


class Stubborn:
    """A process that does not end when it is asked to."""

    exitcode: int | None = None

    def __init__(self) -> None:
        self.calls: list[str] = []

    def join(self, timeout: float | None = None) -> None:
        self.calls.append(f"join {timeout}")

    def kill(self) -> None:
        self.calls.append("kill")
        self.exitcode = -signal.SIGKILL

    def close(self) -> None:
        self.calls.append("close")


def test_a_process_that_does_not_end_is_killed() -> None:
    worker = object.__new__(workers._Worker)
    worker.pipe, theirs = multiprocessing.Pipe()
    worker.process = stubborn = Stubborn()
    theirs.close()
    worker.stop()  # the other end is closed
    assert stubborn.calls == ["join 5", "kill", "join None", "close"]
    worker.pipe, _ = multiprocessing.Pipe()
    assert worker.kill() == "killed by signal 9"
    stubborn.exitcode = 3
    worker.pipe, _ = multiprocessing.Pipe()
    assert worker.kill() == "exit code 3"


def give_up(unit: int) -> int:
    raise SystemExit(unit)


def run_out(unit: int) -> int:
    raise MemoryError


def test_what_ends_a_thread_is_a_failure_of_its_units() -> None:
    results = list(run(give_up, range(3), jobs=2, workers="threads", retries=0))
    assert [one.error.code for one in results if one.error] == ["EX-610"] * 3
    assert "SystemExit" in str(results[0].error)
    (result,) = run(run_out, [1], retries=0)
    assert result.error is not None
    assert str(result.error) == "out of memory while working on a unit: MemoryError [EX-610]"


def test_threads_that_are_closed_do_no_more() -> None:
    pool = workers.Threads(1)
    begun, go = threading.Event(), threading.Event()
    done: list[int] = []

    def work(unit: int) -> int:
        begun.set()
        go.wait(20)
        done.append(unit)
        return unit

    pool.submit(0, work, [1], 0.0)
    begun.wait(20)
    pool.submit(1, work, [2], 0.0)
    threading.Timer(0.1, go.set).start()
    pool.close()
    assert done == [1]
    pool._work(2, work, [3], 0.0)
    assert done == [1]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_worker_has_several_units_under_way_at_once(jobs: int) -> None:
    found = list(run(meet, range(16), jobs=jobs, at_once=4))
    assert [one.index for one in found] == list(range(16))
    assert [one.value for one in found if one.ok] == [2 * unit for unit in range(16) if unit % 6 != 5]
    assert [one.unit for one in found if not one.ok] == [5, 11]


def test_a_unit_that_kills_its_worker_costs_the_others_nothing() -> None:
    found = list(run(kill_some, range(12), jobs=2, at_once=3, retries=1, retry_delay=0.01))
    assert [one.value for one in found] == [None if unit % 7 == 3 else 2 * unit for unit in range(12)]


def test_a_caller_who_leaves_does_no_more() -> None:
    backend = workers.Inline()
    backend.submit(0, double, [1], 0.0)
    backend.close()
    with pytest.raises(IndexError):
        backend.next()


def test_clusters_and_frames_want_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingDependencyError, match=r"a cluster needs the extra dask"):
        list(run(double, [1], cluster="tcp://127.0.0.1:9"))
    for module, call in (("dask.bag", to_bag), ("dask.dataframe", to_dataframe)):
        name = module.rpartition(".")[2]
        monkeypatch.setitem(sys.modules, module, None)
        if "dask" in sys.modules:
            monkeypatch.delattr(sys.modules["dask"], name, raising=False)
        with pytest.raises(MissingDependencyError, match=r"exhume\[dask\]"):
            call(["x.zs"])


def test_scheduler_files_are_distinguished_from_addresses(tmp_path: Path) -> None:
    assert not is_scheduler_file("tcp://127.0.0.1:8786")
    assert not is_scheduler_file("127.0.0.1:8786")
    assert is_scheduler_file(str(tmp_path / "scheduler"))
    assert is_scheduler_file("scheduler.json")
