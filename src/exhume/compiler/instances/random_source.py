"""Where drawn values come from: Hypothesis, or a generator of random numbers."""

from __future__ import annotations

import random
from collections.abc import Sequence as Many
from typing import Protocol, TypeVar

T = TypeVar("T")


class Chance(Protocol):
    """Where values come from: Hypothesis, or a generator of random numbers."""

    def integer(self, low: int, high: int) -> int: ...
    def choice(self, options: Many[T]) -> T: ...
    def data(self, size: int) -> bytes: ...


class SeededRandom:
    """Chance from a generator of random numbers, for what needs many instances fast and none to shrink."""

    def __init__(self, seed: object) -> None:
        self.random = random.Random(repr(seed))  # noqa: S311 - the same instances every time is what it is for

    def integer(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def choice(self, options: Many[T]) -> T:
        return self.random.choice(options)

    def data(self, size: int) -> bytes:
        return self.random.randbytes(size)
