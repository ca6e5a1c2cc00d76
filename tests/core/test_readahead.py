"""Reading ahead: the right bytes whatever is asked, in few requests, never far past what is wanted."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.io.remote import readahead
from exhume.io.remote.readahead import ReadAhead

DATA = bytes(range(251)) * 4000


class Asked:
    """Reads `DATA` through a `ReadAhead`, and keeps what was fetched."""

    def __init__(self, gap: int = 1000) -> None:
        self.ahead = ReadAhead(len(DATA), gap)
        self.fetched: list[tuple[int, int]] = []

    def read(self, start: int, end: int, *, guess: bool = True) -> bytes:
        run = self.ahead.find(start, end, guess=guess)
        if run is None:
            self.fetched.append((start, end))
            return DATA[start:end]
        return self.ahead.read(run, start, end, self._fetch)

    def _fetch(self, start: int, end: int, stop: int) -> bytes:
        assert start <= end <= stop <= len(DATA)
        self.fetched.append((start, stop))
        return DATA[start:stop]

    @property
    def size(self) -> int:
        return sum(stop - start for start, stop in self.fetched)


def test_small_reads_in_sequence_are_few_requests() -> None:
    asked = Asked()
    for start in range(0, 900_000, 1000):
        assert asked.read(start, start + 1000) == DATA[start : start + 1000]
    assert len(asked.fetched) < 15
    assert asked.size <= 2 * 900_000


def test_scattered_reads_fetch_little_more_than_they_want() -> None:
    asked = Asked()
    for start in range(0, 900_000, 900):
        assert asked.read(start, start + 10) == DATA[start : start + 10]
    assert asked.size <= 3 * 10 * 1000


def test_what_was_promised_is_not_passed() -> None:
    asked = Asked()
    asked.ahead.promise(100_000, 300_000)
    for start in range(100_000, 300_000, 1000):
        assert asked.read(start, start + 1000) == DATA[start : start + 1000]
    assert asked.fetched == [(100_000, 300_000)]
    assert asked.read(150_000, 150_100, guess=False) == DATA[150_000:150_100]  # again, from behind
    asked.fetched.clear()
    asked.ahead.load(500_000, 600_000, asked._fetch)
    assert asked.fetched == [(500_000, 600_000)]
    assert asked.read(599_000, 600_000) == DATA[599_000:600_000]
    assert len(asked.fetched) == 1


def test_memory_is_bounded_over_all_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readahead._held, "limit", 300_000)
    many = [Asked() for _ in range(20)]
    for asked in many:
        asked.ahead.load(0, 100_000, asked._fetch)
    assert sum(len(run.data) for asked in many for run in asked.ahead._runs) <= 300_000
    for asked in many:
        assert asked.read(5, 50_000) == DATA[5:50_000]
        asked.ahead.drop()
    assert not any(run.data for asked in many for run in asked.ahead._runs)


@given(
    st.lists(
        st.tuples(st.integers(0, len(DATA) - 1), st.integers(1, 5000), st.sampled_from(["read", "expect", "load"])),
        max_size=60,
    ),
    st.integers(0, 5000),
)
def test_the_bytes_are_right(steps: list[tuple[int, int, str]], gap: int) -> None:
    asked = Asked(gap)
    position = 0
    for place, size, what in steps:
        start = position if place % 3 else place  # mostly on from where the last read ended
        end = min(start + size, len(DATA))
        if what == "expect":
            asked.ahead.promise(start, end)
        elif what == "load":
            asked.ahead.load(start, end, asked._fetch)
        else:
            assert asked.read(start, end) == DATA[start:end]
            position = end if end < len(DATA) else 0
    assert asked.ahead.find(0, 1, guess=False) is None or asked.read(0, 1) == DATA[:1]


def test_threads_share_what_one_fetched() -> None:
    asked = Asked()
    asked.ahead.promise(0, 500_000)
    wrong: list[int] = []

    def work(first: int) -> Callable[[], None]:
        def run() -> None:
            wrong.extend(
                at for at in range(first * 1000, 500_000, 4000) if asked.read(at, at + 1000) != DATA[at : at + 1000]
            )

        return run

    threads = [threading.Thread(target=work(number)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
