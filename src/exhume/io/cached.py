"""`cached_property` with a lock for each object.

That of `functools` has, up to Python 3.11, one lock for all objects of a class, so that archives that are read at the
same time would wait for each other's requests; and none from 3.12 on, so that two threads would make the same request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property
else:
    import threading

    class cached_property:  # noqa: N801 - named as what it stands for
        """A property that is made once for each object, and an attribute from then on; errors are not kept."""

        def __init__(self, make: Any) -> None:
            self._make = make
            self.__doc__ = make.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            known, name = instance.__dict__, self._name
            lock = known.setdefault(f"{name} lock", threading.RLock())
            with lock:
                if name not in known:
                    known[name] = self._make(instance)
                    known.pop(f"{name} lock", None)
                return known[name]


__all__ = ["cached_property"]
