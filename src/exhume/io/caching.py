"""The one cache of the project (`Lru`), and `cached_property` with a lock for each object."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Lru(Generic[K, V]):
    """Values by key; the least recently used are dropped first.  Thread-safe.

    `limit` is what the costs of all values may add up to (their number, where each costs 1).  `drop` is called, outside
    the lock, with every value that leaves.
    """

    def __init__(self, limit: int, drop: Callable[[V], object] | None = None) -> None:
        """Keep values whose costs are at most `limit` in all; `drop` is called with each that is removed."""
        self.limit = limit
        self._drop = drop
        self._held = 0  # the costs of all values
        self._items: OrderedDict[K, tuple[V, int]] = OrderedDict()  # (value, cost), least recently used first
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        """The value of a key, which is marked as used; None when it is not held."""
        with self._lock:
            found = self._items.get(key)
            if found is None:
                return None
            self._items.move_to_end(key)
            value, _ = found
            return value

    def put(self, key: K, value: V, cost: int = 1) -> None:
        """Store a value, replacing the previous one; a value that costs more than the limit is dropped at once."""
        gone: list[V] = []
        with self._lock:
            old = self._items.pop(key, None)
            if old is not None:
                before, paid = old
                self._held -= paid
                if before is not value:
                    gone.append(before)
            self._items[key] = (value, cost)
            self._held += cost
            if cost > self.limit:  # evict only this item: evicting all others would not make it fit
                del self._items[key]
                gone.append(value)
                self._held -= cost
            while self._held > self.limit:
                _, (oldest, paid) = self._items.popitem(last=False)
                self._held -= paid
                gone.append(oldest)
        self._dropped(gone)

    def pop(self, key: K) -> V | None:
        """Remove and return a value without dropping it; None when it is not held."""
        with self._lock:
            found = self._items.pop(key, None)
            if found is None:
                return None
            value, cost = found
            self._held -= cost
            return value

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            gone = [value for value, _ in self._items.values()]
            self._items.clear()
            self._held = 0
        self._dropped(gone)

    @property
    def room(self) -> int:
        """Cost that may be added before something is dropped."""
        with self._lock:
            return self.limit - self._held

    def values(self) -> list[V]:
        """All values, least recently used first."""
        with self._lock:
            return [value for value, _ in self._items.values()]

    def _dropped(self, gone: list[V]) -> None:
        """Call `drop` with the values `gone`, which have left."""
        if self._drop is not None:
            for value in gone:
                self._drop(value)


if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:

    class cached_property:  # noqa: N801 - named as what it stands for
        """A property that is made once for each object, and an attribute from then on; errors are not kept.

        That of `functools` has, up to Python 3.11, one lock for all objects of a class, so that archives that are read
        at the same time would wait for each other's requests; and none from 3.12 on, so that two threads would make
        the same request.
        """

        def __init__(self, make: Any) -> None:
            self._make = make
            self.__doc__ = make.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            """Return the value, which the first access computes."""
            if instance is None:
                return self
            # The value becomes an attribute of the instance, so this is not called again; until then, so is its lock.
            known, name = instance.__dict__, self._name
            lock = known.setdefault(f"{name} lock", threading.RLock())
            with lock:
                if name not in known:
                    known[name] = self._make(instance)
                    known.pop(f"{name} lock", None)
                return known[name]
