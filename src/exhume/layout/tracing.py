"""The run-time support of readers that record the position of each field (`exhume.compiler.emit.modules`)."""

from __future__ import annotations

import copy
import keyword
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from exhume.compiler.front.kinds import Bits, Integer
from exhume.compiler.front.model import Type
from exhume.errors import shorten
from exhume.io.local import release
from exhume.layout.fast import LayoutError
from exhume.layout.places import Places

View = bytes | memoryview
Place = list[Any]
"""The view, where a field starts and ends in it (None: it did not end), and the same for each element."""


class Traced:
    """A structure that remembers the place of each of its fields."""

    PLACES: dict[str, Place]
    PARTIALS: dict[str, Any]
    TYPE: ClassVar[Type]

    def __new__(cls) -> Self:
        made = super().__new__(cls)
        made.PLACES, made.PARTIALS = {}, {}
        return made


class Named(int):
    """A number with its name in an enum."""

    name: str


@dataclass(frozen=True, slots=True)
class Many(Sequence[Any]):
    """Values of an enum, each named when it is examined."""

    values: Sequence[Any]
    name: Callable[[Any], Any]

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Any) -> Any:
        return self.name(self.values[index])


RELEASED = 32 << 20
"""Bytes of a mapped file whose pages are let go at a time."""


class Lazily(Sequence[Any]):
    """A list of structures that keeps only some start positions; `read` reads one that is shown, with notes.

    Where expressions request elements, they are held as the fast readers give them: what is shown is read again.
    """

    def __init__(self, view: Any, at: int, run: Any, read: Callable[[int, int, Any], tuple[Any, int]]) -> None:
        """A list that begins at `at` in `view`; `read(at, index, run)` returns an element and where it ends."""
        self.found = Places(None, at, 0, self._walked)
        self.partial: Any = None
        """The readable part of one more element, which could not be read completely."""
        self.places: Beginnings = Beginnings(self)
        self._view = view
        self._released = at
        self._run = run
        self._read = read
        self._held: list[Any] = []
        self.begun: bool = False
        """Whether one more began, at `stop`, and did not end."""
        self.reaches = True
        """Whether elements may have fields outside of their own bytes."""

    @property
    def stop(self) -> int:
        """Where the last element ends."""
        return self.found.at

    def _walked(self, index: int, at: int) -> Iterator[int]:
        """Where the elements from a number and its start on end."""
        run = type(self._run)(self._run.size)  # they were read before: these do not count
        while True:
            _, at = self._read(at, index, run)
            index += 1
            yield at

    def __len__(self) -> int:
        return self.found.known + (self.partial is not None)

    def __getitem__(self, index: Any) -> Any:
        if self._held:
            return self._held[index]
        return self.shown(range(len(self))[index])

    def shown(self, index: int) -> Any:
        """Return one element, read again with the places of its fields.

        The one after the last is the part that was read before an error.
        """
        if index == self.found.known:
            return self.partial
        return self._read(self.found.start(index), index, self._run.second())[0]

    def begin(self, at: int) -> None:
        """One more begins."""
        self.found.at, self.begun = at, True

    def add(self, start: int, end: int, value: Any = None) -> None:
        """Note that an element begins at `start` and ends at `end`."""
        self.found.at = start
        self.found.end(end)
        self.begun = False
        if value is not None:
            self._held.append(value)
        if end - self._released > RELEASED:
            self._release()

    def add_rows(self, starts: Sequence[int], end: int) -> None:
        """Add many consecutive elements."""
        self.found.extend(starts, end)
        self._release()

    def _release(self) -> None:
        """Release the pages of a mapped file before `stop`."""
        release(self._view, self._released, self.stop)
        self._released = self.stop


class Beginnings(Sequence[tuple[int, int | None]]):
    """Start and end of each element of a list; the end is None for one that was not read completely."""

    def __init__(self, of: Lazily) -> None:
        self._of = of

    def __len__(self) -> int:
        return self._of.found.known + self._of.begun

    def __getitem__(self, index: Any) -> Any:
        index, found = range(len(self))[index], self._of.found
        return found.start(index), found.start(index + 1) if index < found.known else None

    def touching(self, start: int, end: int) -> range:
        """The elements that have a byte in `[start, end)`, or begin there."""
        found = self._of.found
        first = max(0, found.starting(start, bisect_right) - 1)
        return range(first, min(len(self), found.starting(end, bisect_left) + self._of.begun))


def type_of(value: Traced) -> Type:
    """The type of a structure in its specification."""
    return value.TYPE


def slot(id: str) -> str:
    """The attribute that holds a field."""
    return f"{id}_" if keyword.iskeyword(id) else id


def named(value: Any, type: Type, id: str) -> Any:
    """A value, or each of several, with its name if the field's enum has one for it."""
    kind = type.field(id).one
    names: Mapping[int, str] = kind.enum.values if isinstance(kind, (Integer, Bits)) and kind.enum is not None else {}

    def one(number: Any) -> Any:
        if number not in names:
            return number
        found = Named(number)
        found.name = names[number]
        return found

    if not names or value is None:
        return value
    return Many(value, one) if type.field(id).repeat else one(value)


def keep(value: Traced, error: Exception) -> None:
    """Keep the part of a field that was read before reading failed, and passes the structure on to the enclosing
    one."""
    places, partials = value.PLACES, value.PARTIALS
    open_ = (id for id, place in reversed(places.items()) if place[2] is None or id in partials)
    id = next(open_, None)
    if id is not None:
        _begun(value, error, id, getattr(value, slot(id), None))
    error.partial = value  # type: ignore[attr-defined]


def keep_instance(value: Traced, error: Exception, id: str, kept: str) -> None:
    """Note why an instance was not read, as `keep` does; nothing is passed on to the parent, as it may be read from
    anywhere.
    """
    begun = getattr(value, kept, None)
    if hasattr(value, kept):
        delattr(value, kept)
    _begun(value, error, id, begun)
    error.partial = None  # type: ignore[attr-defined]


def _refused_end(value: Traced, error: Exception, id: str) -> int | None:
    """Where a field ends whose value the specification does not allow; None for one whose bytes were not all read."""
    if not isinstance(error, LayoutError) or error.short or error.path != id:
        return None
    has_rule = not {"contents", "valid"}.isdisjoint(type_of(value).field(id).raw)
    return error.stop if has_rule and error.expected != "a size of at least 0" else None


def _begun(value: Traced, error: Exception, id: str, begun: Any) -> None:
    """Note why the field `id` of `value` was not read completely, and keep the part of it (`begun`) that was."""
    places, partials = value.PLACES, value.PARTIALS
    if not hasattr(error, "partial") and id in places:
        problem = f"expected {error.expected}, found {error.found}" if isinstance(error, LayoutError) else str(error)
        if places[id][2] is None:
            places[id][2] = _refused_end(value, error, id)
        places[id].append(shorten(problem, 160))
    partial = partials.get(id, getattr(error, "partial", None))
    if isinstance(begun, Lazily):
        begun = copy.copy(begun)  # what expressions see has no part of an element
        begun.partial, partial = partial, begun
    elif isinstance(begun, list):
        partial = begun if partial is None else [*begun, partial]
    partials[id] = partial
