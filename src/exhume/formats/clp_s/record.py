"""Small immutable-by-convention values of the search.

A frozen dataclass takes about a millisecond to define, and every search defines the two dozen of these before it reads
a byte: plain classes take a twentieth of that.
"""

from __future__ import annotations

from exhume.lighttyping import Any, ClassVar, Self


class Record:
    """Compares and prints by `fields`, which are the names of the constructor's arguments too.

    Fields in `notes` (positions in the query text) are for messages and do not take part in comparisons.
    """

    __slots__ = ()
    fields: ClassVar[tuple[str, ...]] = ()
    notes: ClassVar[tuple[str, ...]] = ()

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.fields if name not in self.notes)

    def changed(self, **values: Any) -> Self:
        """A copy with other values for some fields."""
        return type(self)(**({name: getattr(self, name) for name in self.fields} | values))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), self._values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.fields)})"
