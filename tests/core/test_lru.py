"""What was used last is kept, up to a limit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from exhume.io.caching import Lru


def test_what_was_not_used_for_longest_leaves_first() -> None:
    gone: list[str] = []
    cache: Lru[int, str] = Lru(2, drop=gone.append)
    cache.put(1, "a")
    cache.put(2, "b")
    assert cache.get(1) == "a"
    cache.put(3, "c")
    assert (cache.get(2), cache.values(), gone) == (None, ["a", "c"], ["b"])


def test_a_value_that_is_replaced_or_too_large_is_dropped() -> None:
    gone: list[str] = []
    cache: Lru[int, str] = Lru(10, drop=gone.append)
    cache.put(1, "a", 4)
    cache.put(1, "b", 5)
    cache.put(2, "huge", 11)
    assert (cache.values(), gone) == (["b"], ["a", "huge"])
    assert cache.pop(1) == "b"
    cache.put(3, "c", 10)
    cache.clear()
    assert gone == ["a", "huge", "c"]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 7))), st.integers(0, 12))
def test_the_limit_applies_and_nothing_is_lost(puts: list[tuple[int, int]], limit: int) -> None:
    gone: list[tuple[int, int, int]] = []
    cache: Lru[int, tuple[int, int, int]] = Lru(limit, drop=gone.append)
    for number, (key, cost) in enumerate(puts):
        cache.put(key, (number, key, cost), cost)
        assert sum(value[2] for value in cache.values()) <= limit
    assert sorted([*gone, *cache.values()]) == [(number, key, cost) for number, (key, cost) in enumerate(puts)]
