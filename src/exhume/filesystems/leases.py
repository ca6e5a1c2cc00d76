"""Open archives of file systems: only a few at a time, closed when idle, opened again when needed.

fsspec keeps every file system instance for the life of the process; a loop over ten thousand chunks must not keep ten
thousand files and indexes open.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar

from exhume.archive import Archive

MOST_OPEN = 32
"""Idle archives kept open in a process."""


class Closable(Protocol):
    """Anything that can be closed, and so be held open."""

    def close(self) -> None:
        """Release it."""


T = TypeVar("T", bound=Closable)


class Held(Generic[T]):
    """An open object, data read from it (`notes`), and the number of its users."""

    __slots__ = ("dropped", "identity", "item", "lock", "notes", "users")

    def __init__(self, item: T, identity: Any) -> None:
        self.item = item
        self.identity = identity
        self.notes: dict[str, Any] = {}
        self.lock = threading.RLock()
        self.users = 0
        self.dropped = False


class Leases(Generic[T]):
    """Open things by key; the least recently used is closed first, one in use when its last user is done."""

    def __init__(self, most: int = MOST_OPEN) -> None:
        self._most = most
        self._forget()
        if hasattr(os, "register_at_fork"):
            # Connections and their threads do not survive a fork: the child opens its own.
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._held: OrderedDict[object, Held[T]] = OrderedDict()
        self._lock = threading.RLock()  # a finalizer may come in at any time

    @contextmanager
    def lease(
        self, key: object, opener: Callable[[], T], identify: Callable[[T], Any] = lambda item: None
    ) -> Iterator[Held[T]]:
        """A context that holds the thing of that key open.

        It is opened again if `identify` no longer returns the value that it had when it was opened.
        """
        held = self._take(key)
        if held is not None and identify(held.item) != held.identity:
            self._give(held)
            self.drop(key)
            held = None
        if held is None:
            item = opener()
            held = self._put(key, Held(item, identify(item)))
        try:
            yield held
        finally:
            self._give(held)

    def _take(self, key: object) -> Held[T] | None:
        with self._lock:
            held = self._held.get(key)
            if held is not None:
                held.users += 1
                self._held.move_to_end(key)
            return held

    def _put(self, key: object, made: Held[T]) -> Held[T]:
        surplus: list[Held[T]] = []
        with self._lock:
            held = self._held.get(key)
            if held is not None:  # another thread was faster
                surplus.append(made)
            else:
                held = self._held[key] = made
                while len(self._held) > self._most:
                    _, oldest = self._held.popitem(last=False)
                    oldest.dropped = True
                    if not oldest.users:
                        surplus.append(oldest)
            held.users += 1
        for other in surplus:
            other.item.close()
        return held

    def _give(self, held: Held[T]) -> None:
        with self._lock:
            held.users -= 1
            done = held.dropped and not held.users
        if done:
            held.item.close()

    def drop(self, key: object) -> None:
        """Close the object of that key once it has no users; do nothing if there is none."""
        with self._lock:
            held = self._held.pop(key, None)
            if held is None:
                return
            held.dropped = True
            done = not held.users
        if done:
            held.item.close()

    def __len__(self) -> int:
        return len(self._held)


OPEN: Leases[Archive] = Leases()
"""The archives of all file systems of the process."""
