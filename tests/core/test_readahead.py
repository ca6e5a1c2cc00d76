"""Prefetching: the right bytes for any request, in few requests, never far past the needed range."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.io.remote import readahead
from exhume.io.remote.readahead import SMALL_READ, AdaptiveConcurrency, ReadAhead
from tests.sizes import some

DATA = bytes(range(251)) * 4000


class Requested:
    """Reads `DATA` through a `ReadAhead`, and keeps what was fetched."""

    def __init__(self, gap: int = 1000) -> None:
        self.ahead = ReadAhead(len(DATA), gap, self._fetch)
        self.fetched: list[tuple[int, int]] = []

    def read(self, start: int, end: int, *, guess: bool = True) -> bytes:
        run = self.ahead.find(start, end, guess=guess)
        if run is None:
            self.fetched.append((start, end))
            return DATA[start:end]
        return self.ahead.read(run, start, end)

    def _fetch(self, start: int, end: int, stop: int) -> bytes:
        assert start <= end <= stop <= len(DATA)
        self.fetched.append((start, stop))
        return DATA[start:stop]

    @property
    def size(self) -> int:
        return sum(stop - start for start, stop in self.fetched)


def test_small_reads_in_sequence_are_few_requests() -> None:
    requested = Requested()
    for start in range(0, 900_000, 1000):
        assert requested.read(start, start + 1000) == DATA[start : start + 1000]
    assert len(requested.fetched) < 15
    assert requested.size <= 2 * 900_000


def test_several_sequential_reads_do_not_end_each_other() -> None:
    requested = Requested()
    starts = range(0, readahead.RUNS * 200_000, 200_000)
    for step in range(0, 100_000, 1000):
        for start in starts:
            assert requested.read(start + step, start + step + 1000) == DATA[start + step : start + step + 1000]
    assert len(requested.fetched) < 15 * readahead.RUNS
    assert requested.read(900_000, 900_001) == DATA[900_000:900_001]
    assert len(requested.ahead._runs) == readahead.RUNS


def test_scattered_reads_fetch_little_more_than_they_want() -> None:
    requested = Requested()
    for start in range(0, 900_000, 900):
        assert requested.read(start, start + 10) == DATA[start : start + 10]
    assert requested.size <= 3 * 10 * 1000


def test_what_was_promised_is_not_passed() -> None:
    requested = Requested()
    requested.ahead.will_read(100_000, 300_000)
    for start in range(100_000, 300_000, 1000):
        assert requested.read(start, start + 1000) == DATA[start : start + 1000]
    assert requested.fetched == [(100_000, 300_000)]
    assert requested.read(150_000, 150_100, guess=False) == DATA[150_000:150_100]  # again, after it
    requested.fetched.clear()
    requested.ahead.load(500_000, 600_000)
    assert requested.fetched == [(500_000, 600_000)]
    assert requested.read(599_000, 600_000) == DATA[599_000:600_000]
    assert len(requested.fetched) == 1


def test_memory_is_bounded_over_all_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readahead._held, "limit", 300_000)
    many = [Requested() for _ in range(20)]
    for requested in many:
        requested.ahead.load(0, 100_000)
    assert sum(len(run.data) for requested in many for run in requested.ahead._runs) <= 300_000
    for requested in many:
        assert requested.read(5, 50_000) == DATA[5:50_000]
        requested.ahead.drop()
    assert not any(run.data for requested in many for run in requested.ahead._runs)


@given(
    st.lists(
        st.tuples(st.integers(0, len(DATA) - 1), st.integers(1, 5000), st.sampled_from(["read", "expect", "load"])),
        max_size=60,
    ),
    st.integers(0, 5000),
)
def test_the_bytes_are_right(steps: list[tuple[int, int, str]], gap: int) -> None:
    requested = Requested(gap)
    position = 0
    for place, size, what in steps:
        start = position if place % 3 else place  # mostly on from where the last read ended
        end = min(start + size, len(DATA))
        if what == "expect":
            requested.ahead.will_read(start, end)
        elif what == "load":
            requested.ahead.load(start, end)
        else:
            assert requested.read(start, end) == DATA[start:end]
            position = end if end < len(DATA) else 0
    assert requested.ahead.find(0, 1, guess=False) is None or requested.read(0, 1) == DATA[:1]


def test_threads_share_what_one_fetched() -> None:
    requested = Requested()
    requested.ahead.will_read(0, 500_000)
    wrong: list[int] = []

    def work(first: int) -> Callable[[], None]:
        def run() -> None:
            wrong.extend(
                at for at in range(first * 1000, 500_000, 4000) if requested.read(at, at + 1000) != DATA[at : at + 1000]
            )

        return run

    threads = [threading.Thread(target=work(number)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


LARGE = random.Random(7).randbytes(12 << 20)
PIECE = 1 << 20


class Several:
    """Reads `LARGE` with chunks of `PIECE`, several in flight; one in `fails` fails."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fails: int = 0, most: int = len(LARGE), width: int = 1) -> None:
        monkeypatch.setattr(readahead, "PREFETCH_SIZE", PIECE)
        self.fetched: list[tuple[int, int]] = []
        self.most_ahead, self.read_up_to = 0, 0
        self._fails, self._most, self._asked = fails, most, 0
        self.pace = AdaptiveConcurrency(clock=lambda: 0.0)  # no time passes: more is always faster
        self.pace.width = width
        self.ahead = ReadAhead(len(LARGE), 1000, self._fetch, self._later, self.pace)

    def read(self, start: int, end: int) -> bytes:
        self.read_up_to = end
        run = self.ahead.find(start, end, guess=False)
        return self.ahead.read(run, start, end) if run is not None else self._fetch(start, end, end)

    def _fetch(self, start: int, end: int, stop: int) -> bytes:
        self.fetched.append((start, stop))
        return LARGE[start:stop]

    def _later(self, start: int, stop: int) -> Callable[[], bytes] | None:
        self.most_ahead = max(self.most_ahead, stop - self.read_up_to)
        self._asked += 1
        if stop > self._most:
            return None
        if self._fails and self._asked % self._fails == 0:
            return lambda: LARGE[: 1 // 0]
        return lambda: self._fetch(start, stop, stop)


@pytest.mark.parametrize("step", [PIECE, PIECE // 16, 3 * PIECE, PIECE + 15, SMALL_READ])
@pytest.mark.parametrize("fails", [0, 3])
@pytest.mark.parametrize("most", [len(LARGE), 5 << 20])
def test_of_a_promise_several_pieces_are_under_way(
    monkeypatch: pytest.MonkeyPatch, step: int, fails: int, most: int
) -> None:
    requested = Several(monkeypatch, fails, most, width=16)  # from 1 it depends on the machine how soon it is more
    first, last = 1 << 19, len(LARGE) - 1000
    requested.ahead.will_read(first, last)
    parts = [requested.read(at, min(at + step, last)) for at in range(first, last, step)]
    assert b"".join(parts) == LARGE[first:last]
    spans = sorted(requested.fetched)
    assert [start for start, _ in spans] == [first, *(stop for _, stop in spans[:-1])]  # each byte once
    assert spans[-1][1] == last
    assert len(spans) <= -(-len(LARGE) // min(step, PIECE)) + 2
    assert requested.most_ahead > PIECE or fails or most < len(LARGE)


def test_no_more_is_fetched_ahead_than_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    requested = Several(monkeypatch)
    requested.ahead.will_read(0, len(LARGE))
    for at in range(0, 4 * PIECE, PIECE):
        requested.read(at, at + PIECE)
        assert requested.most_ahead <= at + PIECE
    requested.read(9 * PIECE, 10 * PIECE)  # elsewhere: begins again
    assert len(requested.fetched) <= 10
    requested.ahead.drop()
    assert not any(run.coming for run in requested.ahead._runs)


def test_one_large_read_is_several_pieces_of_a_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    requested = Several(monkeypatch)
    requested.ahead.will_read(0, len(LARGE))
    assert requested.read(0, len(LARGE)) == LARGE
    assert len(requested.fetched) == 12
    assert requested.pace.width > 1


def test_what_was_not_promised_is_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    requested = Several(monkeypatch)
    for at in range(0, len(LARGE), PIECE):
        assert requested.read(at, at + PIECE) == LARGE[at : at + PIECE]
    assert len(requested.fetched) == 12
    assert requested.most_ahead == 0


def test_memory_is_bounded_with_several_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readahead._held, "limit", 3 * PIECE)
    many = [Several(monkeypatch) for _ in range(3)]
    for requested in many:
        requested.ahead.will_read(0, len(LARGE))
    for at in some(range(0, len(LARGE), PIECE)):
        for requested in some(many):
            assert requested.read(at, at + PIECE) == LARGE[at : at + PIECE]
            assert sum(len(run.data) + run.ahead for one in many for run in one.ahead._runs) <= 3 * PIECE
    for requested in many:
        requested.ahead.drop()
