"""Field trees: a field, where the elements of lists are, and trees that are made when they are looked at."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from exhume_ksy.debug._stream import Position

from exhume.errors import Span
from exhume.findings import Check


@dataclass(slots=True)
class Field:
    """One field of a parsed structure, with everything known about it.

    `span` is absolute in the file (with the payload range when the bytes were decompressed first); None for values that
    a specification derives.  `children` are in the order of the specification; `omitted` counts the array elements that
    were left out.  `checksum` names the algorithm of a field that is a checksum, and `check` is its verdict.
    """

    name: str
    path: str
    type: str
    span: Span | None
    value: Any = None
    doc: str = ""
    doc_ref: str = ""
    meaning: str = ""
    checksum: str = ""
    check: Check | None = None
    note: str = ""
    children: list[Field] = field(default_factory=list)
    omitted: int = 0

    @property
    def shown(self) -> Any:
        """The value as a person reads it: a large number that identifies a format is in hexadecimal."""
        if "magic" not in self.name:
            return self.value
        number = re.match(r"(\d{5,})( \(\w+\))?$", str(self.value))
        return self.value if number is None else f"0x{int(number[1]):x}{number[2] or ''}"

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Field]]:
        """`(depth, field)` of this field and all below it, outermost first."""
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)


@dataclass(frozen=True, slots=True)
class Even(Sequence[Any]):
    """Positions of elements of one width."""

    start: int
    width: int
    many: int

    def __len__(self) -> int:
        return self.many

    def __getitem__(self, index: Any) -> Any:
        first = self.start + self.width * index
        return first, first + self.width


@dataclass(frozen=True, slots=True)
class Placed(Sequence[Any]):
    """The places of elements as the debug classes have them, made when they are looked at."""

    many: Sequence[Any]
    view: Any

    def __len__(self) -> int:
        return len(self.many)

    def __getitem__(self, index: Any) -> Any:
        first, last = self.many[index]
        return {"start": Position(first, self.view)} | ({} if last is None else {"end": last})


class Trees(list[Field]):
    """The trees of the elements of a list, each made when it is looked at and not kept."""

    def __init__(self, indexes: Sequence[int], make: Callable[[int], Field]) -> None:
        super().__init__()
        self._indexes = indexes
        self._make = make

    def __len__(self) -> int:
        return len(self._indexes)

    def __bool__(self) -> bool:
        return len(self._indexes) > 0

    def __iter__(self) -> Iterator[Field]:
        return map(self._make, self._indexes)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return list(map(self._make, self._indexes[index]))
        return self._make(self._indexes[index])


def held(node: Field) -> Iterator[Field]:
    """A field and all below it that are made already."""
    yield node
    if not isinstance(node.children, Trees):
        for child in node.children:
            yield from held(child)


def paged(page: tuple[str, int] | None, path: str, count: int, size: int) -> Sequence[int] | None:
    """The elements of an array to show for a page of `size` elements: those on the page, or the one that contains it.

    `page` is the path of an array and the number of the first element; None: the page is not about the array at `path`.
    """
    if page is None:
        return None
    wanted, first = page
    if path == wanted:
        return range(min(first, count), min(first + size, count))
    if not wanted.startswith(f"{path}["):
        return None
    number = wanted.removeprefix(f"{path}[").partition("]")[0]
    if not (number.isascii() and number.isdigit() and len(number) < 20):
        return None
    return [int(number)] if int(number) < count else []
