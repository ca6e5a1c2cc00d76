"""How much of a long test runs: as a rule what a developer waits for, all of it under `make test-thorough`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TypeVar

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")
THOROUGH = PROFILE == "thorough"


def size(usual: int, thorough: int) -> int:
    """A number of cases, or a distance between them."""
    return thorough if THOROUGH else usual


T = TypeVar("T")


def some(items: Iterable[T]) -> Iterator[T]:
    """The items: there has to be one, for a loop over none proves nothing."""
    none = True
    for item in items:
        none = False
        yield item
    assert not none, "a loop over nothing"
