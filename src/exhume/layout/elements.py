"""Arrays whose elements are parsed when they are looked at; fast readers find where each begins.

The parsers with positions (`exhume_ksy.debug`) ask before each array whether it is passed over (`passing`). If so, the
array is `Elements`: eight bytes for each element, none for numbers, and those that were looked at last.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from exhume_ksy.debug._stream import PASSING, KaitaiStream, Position
from kaitaistruct import BytesIO

from exhume.layout.fast import FAILURES as FAST_FAILURES
from exhume.layout.kaitai import FAILURES

KEPT = 64
"""Elements at the beginning of an array that stay parsed; a shorter array is never passed over."""

AT_ONCE = 256
"""Other elements that stay parsed, until there is one more."""

Make = Callable[[int, Any], Any]


@contextmanager
def passing() -> Iterator[None]:
    """Have arrays passed over that are parsed within."""
    before = PASSING.set(_pass)
    try:
        yield
    finally:
        PASSING.reset(before)


class Places(Sequence[dict[str, Any]]):
    """Positions of the elements of an array, as the parsers note them."""

    def __init__(self, stream: Any, first: int, width: int) -> None:
        self.stream = stream
        self._first = first
        self._width = width
        self.ends = array("q")
        """Where each element ends that is not even."""
        self._even = 0
        self._open = False  # whether there is one more element, read in part

    @property
    def hidden(self) -> bool:
        """Whether elements have no bytes of their own where they are noted: their fields are elsewhere."""
        return not self._width and not len(self.ends) and self._even > 0

    def end(self, ends: int | None = None, *, even: int = 0, open: bool = False) -> None:
        """Note where one more element ends, how many even ones there are, or that one does not end."""
        if ends is not None:
            self.ends.append(ends)
        self._even += even
        self._open = self._open or open

    def start(self, index: int) -> int:
        """The position of an element."""
        if not len(self.ends) or not index:
            return self._first + index * self._width
        return self.ends[index - 1]

    def __len__(self) -> int:
        return len(self.ends) + self._even + self._open

    def __getitem__(self, index: Any) -> Any:
        at = range(len(self))[index]
        if not isinstance(at, int):
            return [self[one] for one in at]
        place: dict[str, Any] = {"start": Position(self.start(at), self.stream)}
        if at < len(self) - self._open:
            place["end"] = Position(self.start(at + 1), self.stream)
        return place

    def touching(self, start: int, end: int) -> range:
        """The elements that hold any of the bytes `[start, end)` of the stream."""
        if end <= start or not len(self):
            return range(0)
        if self._width:
            first, last = (start - self._first) // self._width, -((self._first - end) // self._width)
        else:
            first, last = bisect_right(self.ends, start), bisect_left(self.ends, end) + 1
            first = first if start >= self._first else 0
            last = last if end > self._first else 0
        return range(max(0, first), max(0, min(last, len(self))))


class Elements(Sequence[Any]):
    """An array whose elements are parsed when they are accessed."""

    def __init__(self, stream: Any, make: Make, width: int, size: Callable[[], int] | None) -> None:
        self.places = Places(stream, int(stream.pos()), width)
        self._stream = stream
        self._make = make
        self.size = size  # of the stream of the next element, where each has its own
        self._number = bool(width)
        self._kept: dict[int, Any] = {}
        self._recent: dict[int, Any] = {}

    def __len__(self) -> int:
        return len(self.places)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __getitem__(self, index: Any) -> Any:
        at = range(len(self))[index]
        if not isinstance(at, int):
            return [self[one] for one in at]
        if at in self._kept:
            return self._kept[at]
        if at not in self._recent:
            here = self._stream.pos()
            self._stream.seek(self.places.start(at))
            try:
                made = self.parse(at)
            finally:
                self._stream.seek(here)
            if len(self._recent) >= AT_ONCE:
                self._recent.clear()
            self._recent[at] = made
        return self._recent[at]

    def keep(self, index: int) -> Any:
        """Parse the element at the position of the stream, and keep it, even if only a part can be read."""
        return self.parse(index, kept=True)

    def drop(self, index: int) -> None:
        """Keep an element no longer."""
        del self._kept[index]

    def parse(self, index: int, *, kept: bool = False) -> Any:
        """Parse the element at the position of the stream."""
        if self._number:
            return self._make(index, self._stream)
        io = self._stream if self.size is None else KaitaiStream(BytesIO(self._stream.read_bytes(self.size())))
        made = self._make(index, io)
        if kept:
            self._kept[index] = made
        made._read()  # noqa: SLF001 - the parsers with positions do not read themselves
        return made


def _pass(
    stream: Any,
    owner: Any,
    name: str,
    make: Make,
    *,
    times: int | None = None,
    until: Callable[[Any, Any], Any] | None = None,
    width: int = 0,
    size: Callable[[], int] | None = None,
    given: tuple[Any, ...] = (),
    indexed: bool = False,
) -> bool:
    """Pass over an array of `owner`, unless it is short or its elements depend on each other."""
    if (times is not None and times <= KEPT) or (times is None and until is None and stream.is_eof()):
        return False
    found = Elements(stream, make, width, size)
    places = found.places
    if width:
        if times is None or until is not None:
            return False
        there = min(times, (stream.size() - stream.pos()) // width)
        places.end(even=there)
        stream.seek(places.start(there))
        _put(owner, name, found)
        if there < times:
            make(there, stream)  # raises what is wrong
        return True
    if indexed:
        if times is None or until is not None or size is not None or make(0, stream).SEQ_FIELDS:
            return False
        places.end(even=times)
        _put(owner, name, found)
        return True
    _put(owner, name, found)
    _walk(stream, found, times, until, given)
    return True


def _put(owner: Any, name: str, found: Elements) -> None:
    """Put the elements in place of the list that the parser made."""
    setattr(owner, name, found)
    owner._debug[name]["arr"] = found.places  # noqa: SLF001 - as the parser does


class _Here:
    """A position, as far as conditions of the parsers ask streams for it."""

    __slots__ = ("_end", "at")

    def __init__(self, end: int) -> None:
        self.at = 0
        self._end = end

    def is_eof(self) -> bool:
        return self.at >= self._end

    def pos(self) -> int:
        return self.at

    def size(self) -> int:
        return self._end


def _walk(
    stream: Any, found: Elements, times: int | None, until: Callable[[Any, Any], Any] | None, given: tuple[Any, ...]
) -> None:
    """Find where each element ends: the first are parsed, the others read by a fast reader if there is one."""
    places, index = found.places, 0
    while index < KEPT and (times is None or index < times):
        if times is None and until is None and stream.is_eof():
            return
        one = _parsed(stream, found, index)
        places.end(int(stream.pos()))
        index += 1
        if until is not None and until(one, stream):
            return
    if index == KEPT:
        _walk_on(stream, found, times, until, _fast_reader(type(one), given))


def _walk_on(
    stream: Any,
    found: Elements,
    times: int | None,
    until: Callable[[Any, Any], Any] | None,
    reader: _Reader | None,
) -> None:
    """Find where the elements after the first end."""
    end, index, at = stream.size(), KEPT, int(stream.pos())
    view = stream._io.getvalue()  # noqa: SLF001 - without a copy
    here, ends = _Here(end), found.places.ends
    while index < times if times is not None else until is not None or at < end:
        one = None
        if reader is not None:
            try:
                one, at = _read(reader, view, stream, found, at, end)
            except FAST_FAILURES:
                pass  # the parser says what is wrong
        if one is None:
            stream.seek(at)
            one = _parsed(stream, found, index)
            at = int(stream.pos())
        ends.append(at)
        index += 1
        if until is not None:
            here.at = at
            try:
                over = until(one, here)
            except FAILURES:  # the fast reader returns it in another form
                reader, over = None, until(found[index - 1], here)
            if over:
                break
    stream.seek(at)


def _read(reader: _Reader, view: bytes, stream: Any, found: Elements, at: int, end: int) -> tuple[Any, int]:
    """An element by its fast reader, and where it ends."""
    if found.size is None:
        return reader(view, at, end, 0)
    stream.seek(at)
    stop = at + found.size()
    return reader(view, at, stop, at)[0], stop


def _parsed(stream: Any, found: Elements, index: int) -> Any:
    """Parse an element, which is kept if it is one of the first or only a part of it can be read."""
    try:
        made = found.keep(index)
    except FAILURES:
        found.places.end(open=True)
        raise
    if index >= KEPT:
        found.drop(index)
    return made


_Reader = Callable[[bytes, int, int, int], tuple[Any, int]]
"""Reads the element of some bytes at a position, given where its stream ends and where it begins."""


def _fast_reader(parser: Any, given: tuple[Any, ...]) -> _Reader | None:
    """The fast reader of the structure that a parser with positions parses; None: it needs more than is known."""
    names = parser.__qualname__.split(".")
    try:
        module = importlib.import_module(f"exhume_ksy.fast.{parser.__module__.rpartition('.')[2]}")
    except ModuleNotFoundError:
        return None
    words = [_snake(name) for name in (names[1:] or names)]
    reader = getattr(module, f"read_{'_'.join(words)}", None)
    if reader is None:
        return None
    _, _, _, *more = inspect.signature(reader).parameters.values()
    based = bool(more) and more[0].name == "base"
    wanted = [one for one in more[based:] if one.default is inspect.Parameter.empty]
    if len(wanted) != len(given) or not {"base", "parent", "root"}.isdisjoint(one.name for one in wanted):
        return None
    if based:
        return lambda view, at, end, base: reader(view, at, end, base, *given)
    return lambda view, at, end, _: reader(view, at, end, *given)


@functools.cache
def _snake(name: str) -> str:
    """The name of a type in its specification."""
    return re.sub(r"(?<=.)(?=[A-Z])", "_", name).lower()
