"""The run-time support of readers that remember where each field lies (`exhume.compiler.traced`)."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from exhume.compiler.kinds import Bits, Integer
from exhume.compiler.model import Type
from exhume.errors import shorten
from exhume.layout.fast import LayoutError

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
    """A number with the name that an enum gives it."""

    name: str


@dataclass(frozen=True, slots=True)
class Many(Sequence[Any]):
    """Values of an enum, each named when it is looked at."""

    values: Sequence[Any]
    name: Callable[[Any], Any]

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Any) -> Any:
        return self.name(self.values[index])


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
    """Keeps what was read of a field before reading failed, and passes the structure on to the enclosing one."""
    places, partials = value.PLACES, value.PARTIALS
    open_ = (id for id, place in reversed(places.items()) if place[2] is None or id in partials)
    id = next(open_, None)
    if id is not None:
        _begun(value, error, id, getattr(value, slot(id), None))
    error.partial = value  # type: ignore[attr-defined]


def keep_instance(value: Traced, error: Exception, id: str, kept: str) -> None:
    """The same as `keep` for an instance, which may be read from anywhere: nothing is passed on."""
    begun = getattr(value, kept, None)
    if hasattr(value, kept):
        delattr(value, kept)
    _begun(value, error, id, begun)
    error.partial = None  # type: ignore[attr-defined]


def _begun(value: Traced, error: Exception, id: str, begun: Any) -> None:
    places, partials = value.PLACES, value.PARTIALS
    if not hasattr(error, "partial") and id in places:
        told = f"expected {error.expected}, found {error.actual}" if isinstance(error, LayoutError) else str(error)
        places[id].append(shorten(told, 160))
    partial = partials.get(id, getattr(error, "partial", None))
    if isinstance(begun, list):
        partial = begun if partial is None else [*begun, partial]
    partials[id] = partial
