"""The run-time support of readers that record the position of each field (`exhume.compiler.emit.modules`).

These traced readers are for `explain`, which shows where each field is.  `Traced` is the base class of their
objects, and `Lazily` a long list whose elements are read again when they are shown.  `Places` has the positions of
the elements of an array: every start of a short one, one in a fixed number of a long one, so that memory is bounded.
"""

from __future__ import annotations

import copy
import keyword
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Self

from exhume_ksy.debug._stream import Position

from exhume.errors import shorten
from exhume.io.local import release
from exhume.layout.fast import LayoutError

if TYPE_CHECKING:
    from exhume.compiler.front.model import Enum, Type

STARTS = 1 << 17
"""Most starts of elements that are kept: with one more, every other is dropped."""

BLOCKS = 8
"""Most blocks (runs of elements between two kept starts) whose own starts stay known."""


class Places(Sequence[dict[str, Any]]):
    """Positions of the elements of an array, as the parsers note them."""

    known: int

    def __init__(self, stream: Any, first: int, width: int, walked: Callable[[int, int], Iterator[int]]) -> None:
        """An array at `first` in `stream`; `width` is the size of each element in bytes, 0 if they differ.

        `walked(index, at)` yields the end of each element from number `index` on, which starts at `at`.
        """
        self.stream = stream
        self._first = first
        self._width = width
        self._starts = array("q")  # of the elements 0, mask + 1, 2 * (mask + 1), ...
        self.mask: int = 0
        """One less than the distance of the elements with a kept start, which is a power of two."""
        self.known = 0
        """Number of elements with an end of their own; even ones (all of `width` bytes, or all empty) have none."""
        self.at: int = first
        """End of the last of them, as a position in the stream."""
        self._even = 0  # number of elements that are all of `width` bytes, or all empty
        self._open = False  # whether there is one more element, read in part
        self._walked = walked
        self._blocks: dict[int, list[int]] = {}  # all starts from a kept one to the next, by the index of the kept one

    @property
    def hidden(self) -> bool:
        """Whether all elements are empty where they are noted: their fields are instances at positions of their own, so
        that every element has to be parsed to show it.
        """
        return not self._width and not self.known and self._even > 0

    def end(self, ends: int | None = None, *, even: int = 0, open: bool = False) -> None:
        """Note where one more element ends, how many even ones there are, or (`open`) that one has no known end."""
        if ends is not None:
            if not self.known & self.mask:  # a multiple of `mask + 1`: its start is kept
                self.begin(self.at)
            self.known += 1
            self.at = ends
        self._even += even
        self._open = self._open or open

    def begin(self, at: int) -> None:
        """Keep the start of an element whose number has none of the bits of `mask`."""
        self._starts.append(at)
        if len(self._starts) > STARTS:
            del self._starts[1::2]
            self.mask = 2 * self.mask + 1
            self._blocks.clear()

    def extend(self, starts: Sequence[int], ends: int) -> None:
        """Note many elements that follow each other; the last ends at `ends`."""
        # From the first whose number is a multiple of `mask + 1` on, one in so many.
        self._starts.extend(starts[-self.known & self.mask :: self.mask + 1])
        self.known += len(starts)
        self.at = ends
        while len(self._starts) > STARTS:
            del self._starts[1::2]
            self.mask = 2 * self.mask + 1
        self._blocks.clear()

    def starting(self, at: int, find: Callable[[Sequence[int], int], int]) -> int:
        """Return how many elements start before a position (`find` is `bisect_left`), or up to it (`bisect_right`)."""
        number = find(self._starts, at) - 1
        return 0 if number < 0 else number * (self.mask + 1) + find(self._block(number), at)

    def start(self, index: int) -> int:
        """Return the position of an element."""
        if not self.known or not index:
            return self._first + index * self._width
        if index >= self.known:
            return self.at
        number, after = divmod(index, self.mask + 1)
        return self._block(number)[after] if after else self._starts[number]

    def _block(self, number: int) -> list[int]:
        """Return the starts of the `mask + 1` elements from a kept start to the next; they are found by reading these
        again.
        """
        known = self._blocks.get(number)
        if known is None:
            first = number * (self.mask + 1)
            count = min(self.mask + 1, self.known - first)
            ends = islice(self._walked(first, self._starts[number]), count - 1)
            known = [self._starts[number], *ends]
            if len(self._blocks) >= BLOCKS:
                self._blocks.clear()
            self._blocks[number] = known
        return known

    def _ended(self, at: int, find: Callable[[Sequence[int], int], int]) -> int:
        """Return how many elements end before a position, or up to it; see `starting` for `find`."""
        number = find(self._starts, at) - 1
        if number < 0:
            return 0
        block = self._block(number)
        after = self._starts[number + 1] if number + 1 < len(self._starts) else self.at
        ends = [*block[1:], after]  # of the elements of this block: each ends where the next starts
        return number * (self.mask + 1) + find(ends, at)

    def __len__(self) -> int:
        return self.known + self._even + self._open

    def __getitem__(self, index: Any) -> Any:
        """Return where an element is: its start, and its end if that is known."""
        at = range(len(self))[index]
        if not isinstance(at, int):
            return [self[one] for one in at]
        place: dict[str, Any] = {"start": Position(self.start(at), self.stream)}
        if at < len(self) - self._open:
            place["end"] = Position(self.start(at + 1), self.stream)
        return place

    def touching(self, start: int, end: int) -> range:
        """Return the numbers of the elements that have any of the bytes `[start, end)` of the stream."""
        if end <= start or not len(self):
            return range(0)
        if self._width:  # `end` is rounded up
            first, last = (start - self._first) // self._width, -((self._first - end) // self._width)
        else:
            first, last = self._ended(start, bisect_right), self._ended(end, bisect_left) + 1
            first = first if start >= self._first else 0
            last = last if end > self._first else 0
        return range(max(0, first), max(0, min(last, len(self))))


View = bytes | memoryview
Place = list[Any]
"""Place of a field: its view, start and end in it (None: reading failed), and `[start, end]` of each element."""
END = 2
"""Index of the end in a `Place`."""


class Traced:
    """A structure that remembers the place of each of its fields.

    `PLACES` has the places by field, in the order in which reading began; a field that failed has the problem as one
    more item.  `PARTIALS` has the parts that were read of fields that failed.  `TYPE` is its type in the
    specification.
    """

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


class Many(Sequence[Any]):
    """Values of an enum, each named when it is examined."""

    def __init__(self, values: Sequence[Any], name: Callable[[Any], Any]) -> None:
        """Name these values with `name`."""
        self._values = values
        self._name = name

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: Any) -> Any:
        return self._name(self._values[index])


RELEASED = 32 << 20
"""Bytes of a mapped file after which its pages are released, so that reading a long list takes little memory."""


class Lazily(Sequence[Any]):
    """A list of structures that keeps only some start positions; an element is read again when it is shown.

    If expressions of the specification use the elements, they are kept in addition, without the places of their fields.
    """

    def __init__(self, view: Any, at: int, run: Any, read: Callable[[int, int, Any], tuple[Any, int]]) -> None:
        """A list that begins at `at` in `view`; `read(at, index, run)` returns an element and where it ends.

        `run` has the budgets of the reading.
        """
        self.found: Places = Places(None, at, 0, self._walked)
        self.partial: Any = None
        """The readable part of one more element, which could not be read completely."""
        self.places: Beginnings = Beginnings(self)
        self._view = view
        self._released = at  # end of the bytes whose pages were released
        self._run = run  # the budget of the reading
        self._read = read
        self._held: list[Any] = []  # the elements, if expressions use them
        self.begun: bool = False
        """Whether one more element began, at `stop`, and did not end."""
        self.reaches = True
        """Whether elements may have fields outside of their own bytes."""

    @property
    def stop(self) -> int:
        """End of the last element, as a position in the view."""
        return self.found.at

    def _walked(self, index: int, at: int) -> Iterator[int]:
        """Yield the end of each element from `index` on, which starts at `at`."""
        run = type(self._run)(self._run.size)  # a fresh budget: these elements were paid for when they were read first
        while True:
            _, at = self._read(at, index, run)
            index += 1
            yield at

    def __len__(self) -> int:
        return self.found.known + (self.partial is not None)

    def __getitem__(self, index: Any) -> Any:
        """Return an element with the positions of its fields, which is parsed now unless it was kept."""
        if self._held:
            return self._held[index]
        return self.shown(range(len(self))[index])

    def shown(self, index: int) -> Any:
        """Return one element, read again with the places of its fields.

        The one after the last is the part that was read before an error.
        """
        if index == self.found.known:
            return self.partial
        # A second budget, as large as the first: showing elements does not use up that of the reading.
        return self._read(self.found.start(index), index, self._run.second())[0]

    def begin(self, at: int) -> None:
        """Note that one more element begins at `at`."""
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
        """Add many consecutive elements, which begin at `starts`; the last ends at `end`."""
        self.found.extend(starts, end)
        self._release()

    def _release(self) -> None:
        """Release the pages of a mapped file before `stop`."""
        release(self._view, self._released, self.stop)
        self._released = self.stop


class Beginnings(Sequence[tuple[int, int | None]]):
    """Start and end of each element of a list (`of`); the end is None for one that was not read completely."""

    def __init__(self, of: Lazily) -> None:
        self._of = of

    def __len__(self) -> int:
        return self._of.found.known + self._of.begun

    def __getitem__(self, index: Any) -> Any:
        """Return start and end of an element; None for an end that is not known yet."""
        index, found = range(len(self))[index], self._of.found
        return found.start(index), found.start(index + 1) if index < found.known else None

    def touching(self, start: int, end: int) -> range:
        """Return the numbers of the elements that have a byte in `[start, end)`, or begin there."""
        found = self._of.found
        first = max(0, found.starting(start, bisect_right) - 1)
        return range(first, min(len(self), found.starting(end, bisect_left) + self._of.begun))


def type_of(value: Traced) -> Type:
    """Return the type of a structure in its specification."""
    return value.TYPE


def slot(id: str) -> str:
    """Return the attribute for a field; names that are keywords of Python get an underscore."""
    return f"{id}_" if keyword.iskeyword(id) else id


def named(value: Any, type: Type, id: str) -> Any:
    """Return the value of the field `id`, or each of several, with its name if the field's enum has one for it."""
    enum: Enum | None = getattr(type.field(id).value_kind, "enum", None)  # an integer or bits
    names: Mapping[int, str] = {} if enum is None else enum.values

    def one(number: Any) -> Any:
        """Return one number with its name, if it has one."""
        if number not in names:
            return number
        found = Named(number)
        found.name = names[number]
        return found

    if not names or value is None:
        return value
    return Many(value, one) if type.field(id).repeat else one(value)


def keep(value: Traced, error: Exception) -> None:
    """Keep the part of a field that was read before `error`, and attach the structure to the error.

    The structure around it then keeps this part of its own field.
    """
    places, partials = value.PLACES, value.PARTIALS
    # The field being read is the last one without an end, or whose checks have not passed.
    open_ = (id for id, place in reversed(places.items()) if place[END] is None or id in partials)
    id = next(open_, None)
    if id is not None:
        _begun(value, error, id, getattr(value, slot(id), None))
    error.partial = value  # type: ignore[attr-defined]


def keep_instance(value: Traced, error: Exception, id: str, kept: str) -> None:
    """Note why an instance was not read, as `keep` does; `kept` is the attribute that keeps its value.

    Nothing is attached to the error, because the code that requested the instance may be in any structure.
    """
    begun = getattr(value, kept, None)
    if hasattr(value, kept):
        delattr(value, kept)
    _begun(value, error, id, begun)
    error.partial = None  # type: ignore[attr-defined]


def _refused_end(value: Traced, error: Exception, id: str) -> int | None:
    """Return the end of a field whose value breaks `valid` or `contents`; None if its bytes were not all read."""
    if not isinstance(error, LayoutError) or error.short or error.path != id:
        return None
    # A negative size is reported in this form, too, but before any byte of the field is read.
    has_rule = not {"contents", "valid"}.isdisjoint(type_of(value).field(id).raw)
    return error.stop if has_rule and error.expected != "a size of at least 0" else None


def _begun(value: Traced, error: Exception, id: str, begun: Any) -> None:
    """Note why the field `id` of `value` was not read completely, and keep the part of it (`begun`) that was."""
    places, partials = value.PLACES, value.PARTIALS
    # An error with `partial` is that of a structure within the field, which has noted the problem.
    if not hasattr(error, "partial") and id in places:
        problem = f"expected {error.expected}, found {error.found}" if isinstance(error, LayoutError) else str(error)
        if places[id][END] is None:
            places[id][END] = _refused_end(value, error, id)
        places[id].append(shorten(problem, 160))
    partial = partials.get(id, getattr(error, "partial", None))
    if isinstance(begun, Lazily):
        begun = copy.copy(begun)  # what expressions see has no part of an element
        begun.partial, partial = partial, begun
    elif isinstance(begun, list):
        partial = begun if partial is None else [*begun, partial]
    partials[id] = partial
