"""Ordered maps over threads, and background calls: what an interruption waits for, where errors are raised."""

from __future__ import annotations

import contextvars
import gc
import io
import threading
import weakref
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

import exhume
from exhume.cli.cmd_cat import cat_members
from exhume.cli.main import ending
from exhume.cli.run import Run
from exhume.engines.extract import extract
from exhume.export.members import export_zip
from exhume.io.output.tree import OutputTree, TarSink
from exhume.io.parallel import BackgroundRunner, OrderedCalls, SpareThreads, iterate_ahead, map_ordered


@pytest.mark.parametrize("leave", [False, True], ids=["waits", "leaves"])
def test_an_interruption_waits_only_for_work_that_writes(leave: bool) -> None:
    begun, done, go_on = threading.Event(), threading.Event(), threading.Event()

    def work(item: int) -> int:
        if threading.current_thread() is threading.main_thread():
            begun.wait(60)
            if not leave:
                go_on.set()
            raise KeyboardInterrupt
        begun.set()
        go_on.wait(60)
        done.set()
        return item

    with pytest.raises(KeyboardInterrupt):
        list(map_ordered(work, range(2), 2, leave=leave))
    assert done.is_set() is not leave
    go_on.set()


def test_closing_from_within_does_not_wait_for_the_other_threads() -> None:
    """As the collector of garbage does, when it runs in one of the threads and finds the calls abandoned."""
    lock, held, closed, go_on = threading.Lock(), threading.Event(), threading.Event(), threading.Event()
    calls: list[Generator[int]] = []

    def work(item: int) -> int:
        if item == 0 or threading.current_thread() is threading.main_thread():
            return item
        with lock:  # which the other thread waits for
            held.set()
            assert go_on.wait(60)
            calls[0].close()
            closed.set()
        return item

    calls.append(map_ordered(work, range(20), 3))
    next(calls[0])
    assert held.wait(60)
    go_on.set()
    assert closed.wait(60)


@pytest.mark.parametrize("late", [False, True], ids=["of a call", "of the items"])
def test_an_error_does_not_keep_itself(late: bool) -> None:
    """Nor what is in the frames that it passes, until garbage is collected."""

    class Read:
        pass

    def items(read: Read) -> Iterator[int]:
        yield from range(3)
        if late:
            raise ValueError("items")

    def run() -> weakref.ref[Read]:
        read = Read()
        seen = weakref.ref(read)
        with pytest.raises(ValueError, match="items" if late else "a call"):
            list(map_ordered(lambda item: fail(item, read), items(read), 2))
        return seen

    def fail(item: int, read: Read) -> int:
        if not late:
            raise ValueError("a call")
        return item

    gc.disable()
    try:
        assert run()() is None
    finally:
        gc.enable()


def test_an_interruption_while_a_thread_starts_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(thread: threading.Thread) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(map_ordered(str, range(10), 2))


def test_calls_in_parallel_with_the_caller_follow_each_other() -> None:
    done: list[tuple[int, bool]] = []
    inside = threading.Lock()

    def work(item: int) -> None:
        assert inside.acquire(blocking=False), "one at a time"
        done.append((item, threading.current_thread() is threading.main_thread()))
        inside.release()

    for jobs in (1, 2):
        background = BackgroundRunner(jobs)
        for item in range(50):
            background.submit(work, item)
        background.wait()
        background.wait()
        assert done == [(item, jobs == 1) for item in range(50)]
        done.clear()


def test_a_call_continues_while_the_caller_does() -> None:
    go_on, done = threading.Event(), threading.Event()
    background = BackgroundRunner(2)
    background.submit(lambda item: done.set() if go_on.wait(item) else None, 60)
    assert not done.is_set()
    go_on.set()
    background.wait()
    assert done.is_set()


def test_the_error_of_a_call_is_raised_once_by_what_follows() -> None:
    called = []

    def work(item: int) -> None:
        called.append(item)
        if item == 1:
            raise OSError("full")

    background = BackgroundRunner(2)
    background.submit(work, 1)
    with pytest.raises(OSError, match="full"):
        background.submit(work, 2)
    background.wait()
    background.submit(work, 1)
    with pytest.raises(OSError, match="full"):
        background.wait()
    background.submit(work, 3)
    background.wait()
    assert called == [1, 1, 3]


@pytest.mark.parametrize("started", [False, True])
def test_a_call_that_is_interrupted_while_its_thread_starts_is_waited_for(
    started: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, done = threading.Event(), list[int]()
    start = threading.Thread.start

    def work(item: int) -> None:
        go_on.wait(60)
        done.append(item)

    def interrupted(thread: threading.Thread) -> None:
        if started:
            start(thread)
            while not background._last or not thread.is_alive():
                pass
        raise KeyboardInterrupt

    background = BackgroundRunner(2)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            background.submit(work, 1)
    go_on.set()
    background.wait()
    assert done in ([[1], []] if started else [[]])


def test_threads_have_the_context_of_their_caller() -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)
    variable.set(7)
    both = threading.Barrier(2, timeout=60)

    def work(item: int) -> tuple[bool, int]:
        both.wait()
        return threading.current_thread() is threading.main_thread(), variable.get()

    assert sorted(map_ordered(work, range(2), 2)) == [(False, 7), (True, 7)]


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_submitted_calls_return_in_order_and_raise_in_their_place(jobs: int) -> None:
    calls = OrderedCalls[int, int](lambda item: 60 // item, jobs)
    for item in (1, 2, 0, 3):
        calls.submit(item)
    assert [calls.next(), calls.next(), len(calls)] == [60, 30, 2]
    with pytest.raises(ZeroDivisionError):
        calls.next()
    assert calls.next() == 20
    calls.submit(4)
    calls.close()
    calls.close()
    assert len(calls) == 0


class FullDisk(io.BytesIO):
    def write(self, data: object) -> int:
        raise OSError(28, "disk full")


def cat(bundle: exhume.MemberArchive, output: Path) -> None:
    run = Run()
    run.out = FullDisk()  # type: ignore[assignment]
    cat_members(run, bundle, (), 0, None, jobs=3)


def to_tar(bundle: exhume.MemberArchive, output: Path) -> None:
    extract(bundle, TarSink(io.BufferedWriter(FullDisk(), 1)), jobs=3)


def to_folder(bundle: exhume.MemberArchive, output: Path) -> None:
    with OutputTree(output) as tree:
        extract(bundle, tree, jobs=3, progress=stop)


def to_zip(bundle: exhume.MemberArchive, output: Path) -> None:
    export_zip(bundle, str(output), jobs=3, progress=stop)


def stop(done: int, total: int | None, unit: str) -> None:
    if done:
        raise OSError(28, "disk full")


@pytest.mark.parametrize("write", [cat, to_tar, to_folder, to_zip])
def test_an_output_that_fails_leaves_no_thread(
    write: Callable[[exhume.MemberArchive, Path], None], tmp_path: Path, samples: Path
) -> None:
    """Even while the error is kept, with the frames that it passed."""
    before = set(threading.enumerate())
    with exhume.databundle.open(samples / "data_bundle/zlib") as bundle:
        with pytest.raises((OSError, exhume.ExhumeError), match="disk full") as caught:
            write(bundle, tmp_path / "output")
        assert [one for one in set(threading.enumerate()) - before if one.name == "exhume"] == []
        assert caught.tb is not None


def counting(up_to: int, error: Exception | None = None) -> Iterator[int]:
    """Numbers, then the error if there is one."""
    yield from range(up_to)
    if error is not None:
        raise error


@pytest.mark.parametrize("threads", [1, 2, 9])
def test_sources_are_read_ahead_one_after_another(threads: int) -> None:
    found = [list(items) for items in iterate_ahead(map(counting, (3, 0, 7, 1)), threads)]
    assert found == [list(range(count)) for count in (3, 0, 7, 1)]
    assert list(iterate_ahead([], threads)) == []


def test_an_error_of_a_source_is_raised_in_its_place() -> None:
    sources = [counting(2), counting(1, OSError("cut")), counting(2)]
    found: list[int] = []
    with pytest.raises(OSError, match="cut"):
        for items in iterate_ahead(sources, 3):
            found.extend(items)
    assert found == [0, 1, 0]


def test_reading_ahead_is_bounded_and_ends_with_the_reader() -> None:
    taken: list[int] = []
    ended = threading.Event()

    def endless() -> Iterator[int]:
        try:
            while True:
                taken.append(len(taken))
                yield taken[-1]
        finally:
            ended.set()

    sources = iterate_ahead([endless()], 1, ahead=2)
    assert isinstance(sources, Generator)
    assert next(next(sources)) == 0
    sources.close()
    assert ended.wait(10)
    assert len(taken) <= 5


def test_spare_threads_are_used_only_while_they_are_free() -> None:
    go_on, done = threading.Event(), threading.Event()
    spare = SpareThreads(1)
    assert spare.start(lambda: go_on.wait(10))
    assert not spare.start(done.set)
    go_on.set()
    while not spare.start(done.set):
        pass
    assert done.wait(10)
    assert not SpareThreads(0).start(done.set)


def test_the_error_of_a_command_does_not_keep_itself() -> None:
    """Or the threads and files in its frames would stay until garbage is collected."""

    class Kept(exhume.ExhumeError):
        pass

    def failed() -> weakref.ref[Kept]:
        error = Kept("disk full")
        seen = weakref.ref(error)
        assert ending(error, []) == 1
        del error
        return seen

    gc.disable()
    try:
        assert failed()() is None
    finally:
        gc.enable()
