"""Ordered maps over threads: what an interruption waits for."""

from __future__ import annotations

import threading

import pytest

from exhume.io.parallel import map_ordered


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


def test_an_interruption_while_a_thread_starts_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(thread: threading.Thread) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(map_ordered(str, range(10), 2))
