"""The number of ranges in flight: against simulated servers with a clock of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from exhume.io.remote.readahead import BACKOFF_ROUNDS, MAX_IN_FLIGHT, AdaptiveConcurrency, RequestToken

PIECE = 8_000_000


class Reported(NamedTuple):
    """What came of a simulated run."""

    seconds: float
    widths: list[int]
    refused: int


class Server:
    """Sends `each(n)` bytes a second on each of `n` connections, after `latency`; refuses more than `most` of them."""

    def __init__(self, each: Callable[[int], float], latency: float = 0.03, most: int = 1000) -> None:
        self._each, self._latency, self._most = each, latency, most

    def read(self, pieces: int, reader: float = 0.0) -> Reported:
        """Read so many pieces in order, for each of which the reader itself takes so many seconds."""
        now = 0.0
        pace = AdaptiveConcurrency(clock=lambda: now)
        under_way: dict[int, tuple[RequestToken, float, float]] = {}  # token, start of the response, bytes left
        here: set[int] = set()
        wanted = next_one = refused = 0
        busy_until = 0.0
        widths = [pace.width]
        again: list[int] = []
        while wanted < pieces:
            if wanted in here and now >= busy_until:
                here.remove(wanted)
                wanted, busy_until = wanted + 1, now + reader
                continue
            while len(under_way) < pace.width and (again or next_one < min(pieces, wanted + pace.width)):
                piece = again.pop(0) if again else next_one
                next_one = max(next_one, piece + 1)
                ticket = pace.begin()
                if len(under_way) >= self._most:
                    refused += 1
                    pace.end(ticket, 0)
                    again.append(piece)
                    break
                under_way[piece] = ticket, now + self._latency, float(PIECE)
            rate = self._each(len(under_way)) if under_way else 1.0
            ends = {piece: max(begin, now) + left / rate for piece, (_, begin, left) in under_way.items()}
            step = min([*ends.values(), *([busy_until] if busy_until > now else [])])
            for piece, (ticket, begin, left) in list(under_way.items()):
                under_way[piece] = ticket, begin, left - rate * max(0.0, step - max(begin, now))
            now = step
            for piece in [piece for piece, end in ends.items() if end <= now]:
                pace.end(under_way.pop(piece)[0], PIECE)
                here.add(piece)
            widths.append(pace.width)
        return Reported(now, widths, refused)


def test_where_each_connection_is_slow_there_are_as_many_as_may_be() -> None:
    reported = Server(lambda n: 20e6).read(200)
    assert reported.widths[-1] == MAX_IN_FLIGHT
    assert reported.seconds < 2 * 200 * PIECE / (MAX_IN_FLIGHT * 20e6)


def test_a_line_that_all_share_is_not_crowded() -> None:
    reported = Server(lambda n: min(60e6, 100e6 / n)).read(300)
    assert reported.widths[-1] == 2
    assert max(reported.widths) == 4  # tried, and left
    assert reported.widths.count(4) < 0.3 * len(reported.widths)
    assert reported.seconds < 1.2 * 300 * PIECE / 100e6


def test_one_connection_that_takes_all_of_the_line_remains_alone() -> None:
    reported = Server(lambda n: 100e6 / n, latency=0.0).read(100)
    assert reported.widths[-1] == 1
    assert max(reported.widths) == 2


@pytest.mark.parametrize("most", [1, 3, 6])
def test_a_server_that_refuses_more_gets_smaller_requests(most: int) -> None:
    reported = Server(lambda n: 20e6, most=most).read(300)
    assert reported.refused
    assert reported.refused < 300 / BACKOFF_ROUNDS  # one for each time that more is tried
    assert sum(width > most for width in reported.widths) < 0.1 * len(reported.widths)
    assert reported.seconds < 2.2 * 300 * PIECE / (most * 20e6)


def test_a_reader_that_is_slower_than_its_source_needs_no_more() -> None:
    reported = Server(lambda n: 100e6).read(60, reader=1.0)
    assert max(reported.widths) == 2
    assert reported.seconds < 62


def test_what_began_at_another_width_shows_nothing() -> None:
    pace = AdaptiveConcurrency(clock=lambda: 0.0)
    first, late = pace.begin(), pace.begin()
    pace.end(first, PIECE)
    assert pace.width == 2
    pace.end(late, 0)
    assert pace.width == 2
    pace.end(pace.begin(), 0)
    assert pace.width == 1
