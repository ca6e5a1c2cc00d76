"""Properties that are made once for each object, whatever other objects do meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from exhume.io.caching import cached_property


class Thing:
    """Counts how often its property is made."""

    def __init__(self, wait: Callable[[], object] = lambda: None) -> None:
        self.made = 0
        self._wait = wait

    @cached_property
    def value(self) -> int:
        """A number."""
        self.made += 1
        self._wait()
        return self.made + self.other

    @cached_property
    def other(self) -> int:
        return 10


def test_two_objects_do_not_wait_for_each_other() -> None:
    meeting = threading.Barrier(2)
    things = [Thing(lambda: meeting.wait(20)) for _ in range(2)]
    threads = [threading.Thread(target=lambda thing=thing: thing.value) for thing in things]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [thing.value for thing in things] == [11, 11]


def test_threads_that_want_one_property_make_it_once() -> None:
    go = threading.Event()
    thing = Thing(lambda: go.wait(20))
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(thing.value)) for _ in range(4)]
    for thread in threads:
        thread.start()
    go.set()
    for thread in threads:
        thread.join()
    assert found == [11] * 4
    assert thing.made == 1
    assert [name for name in vars(thing) if "lock" in name and "value" in name] == []


def test_errors_are_not_kept_and_the_class_has_the_property() -> None:
    answers = iter([ValueError("no"), None])

    def wait() -> None:
        if error := next(answers):
            raise error

    thing = Thing(wait)
    with pytest.raises(ValueError, match="no"):
        _ = thing.value
    assert thing.value == 12
    assert Thing.value.__doc__ == "A number."
