"""Arrays whose elements are parsed when they are used; fast readers find where each begins.

The parsers with positions (`exhume_ksy.debug`) ask before each array whether it is passed over (`passing`). If so, the
array is `Elements`. Memory is bounded: one start in so many is kept, none for numbers, and the elements examined last.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from exhume_ksy.debug._stream import PASSING, BytesIO, KaitaiStream

from exhume.errors import shorten
from exhume.layout.fast import FAILURES as FAST_FAILURES
from exhume.layout.kaitai import FAILURES, WINDOW, Region
from exhume.layout.specifications import camel
from exhume.layout.tracing import Places
from exhume.tuples import NamedTuple

KEPT = 64
"""Elements at the beginning of an array that stay parsed; a shorter array is never passed over."""

AT_ONCE = 256
"""Other elements that stay parsed, until there is one more."""

STEP = 4096
"""Elements between two readings of the clock."""

MARGIN = 1 << 16
"""Bytes that follow an element in a window; with fewer, the window moves on."""

PARSERS = "exhume_ksy.debug"

STOPPED = "parsing stops here"
"""The note of a field that could not be read completely."""

Make = Callable[[int, Any], Any]

_LAZILY: ContextVar[bool] = ContextVar("_LAZILY", default=False)


@contextmanager
def passing(*, lazily: bool = False) -> Iterator[None]:
    """Pass over long arrays that are parsed within: only the ends of their elements are found.

    With `lazily`, an array at the end of a `Region` is only begun: `Elements.read_on` continues.
    """
    before, lazy = PASSING.set(_pass), _LAZILY.set(lazily)
    try:
        yield
    finally:
        PASSING.reset(before)
        _LAZILY.reset(lazy)


class Elements(Sequence[Any]):
    """An array whose elements are parsed when they are accessed."""

    def __init__(self, stream: Any, make: Make, width: int, size: Callable[[], int] | None) -> None:
        """An array that begins where `stream` is; `width` is the size of each number in bytes, 0 for structures.

        `size` returns the size of the next element's own stream; None if they have none.
        """
        self.places: Places = Places(stream, int(stream.pos()), width, self._walked)
        self.stream = stream
        self._make = make
        self.size = size  # of the stream of the next element, where each has its own
        self._number = bool(width)
        self._kept: dict[int, Any] = {}
        self._recent: dict[int, Any] = {}
        self.reader: _Reader | None = None
        self.rest: Iterator[None] | None = None
        """Finds further elements; None: there are none, or reading failed."""
        self.failure: Exception | None = None

    def __len__(self) -> int:
        return len(self.places)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __getitem__(self, index: Any) -> Any:
        """The element at an index, or a list for a slice.  The elements that were parsed last are kept."""
        at = range(len(self))[index]
        if not isinstance(at, int):
            return [self[one] for one in at]
        if at in self._kept:
            return self._kept[at]
        if at not in self._recent:
            here = self.stream.pos()
            self.stream.seek(self.places.start(at))
            try:
                made = self.parse(at)
            finally:
                self.stream.seek(here)
            if len(self._recent) >= AT_ONCE:
                self._recent.clear()
            self._recent[at] = made
        return self._recent[at]

    def read_on(self, *, index: int = 0, at: int = 0, patience: float | None = None) -> None:
        """Find the elements up to number `index` and those that begin before position `at`, in `patience` seconds.

        With None, there is no limit of time.  An error ends it, and is kept in `failure`.
        """
        until = None if patience is None else time.monotonic() + patience
        here = self.stream.pos()
        try:
            while self.rest is not None and (len(self) <= index or self.places.at < at):
                if next(self.rest, self) is self:
                    self.rest = None
                elif until is not None and time.monotonic() > until:
                    break
        except FAILURES as error:
            self.failure, self.rest = error, None
        finally:
            self.stream.seek(here)

    def found(self, count: int, patience: float | None) -> Sequence[int] | None:
        """Find the elements up to a count, as `read_on` does; return the numbers of all, None if none is new."""
        before = len(self)
        self.read_on(index=count, patience=patience)
        return range(len(self)) if len(self) > before else None

    def window(self, at: int, least: int = MARGIN) -> tuple[Any, int]:
        """Return a view of bytes of the stream that contains position `at`, and the position where the view begins.

        A `Region` has at least `least` bytes in it from `at` on, unless it ends before.
        """
        io = self.stream._io  # noqa: SLF001 - without a copy
        return io.window(at, least) if isinstance(io, Region) else (io.getvalue(), 0)

    def _walked(self, index: int, at: int) -> Iterator[int]:
        """Yield where each element ends, from the one at `index` on, which starts at `at`."""
        here = self.stream.pos()
        try:
            for _, end in _ends(self, index, at, kept=True):
                yield end
        finally:
            self.stream.seek(here)

    def keep(self, index: int) -> Any:
        """Parse the element at the position of the stream, and keep it, even if only a part can be read."""
        return self.parse(index, kept=True)

    def drop(self, index: int) -> None:
        """Keep an element no longer."""
        del self._kept[index]

    def parse(self, index: int, *, kept: bool = False) -> Any:
        """Parse the element at the position of the stream."""
        if self._number:
            return self._make(index, self.stream)
        io = self.stream if self.size is None else KaitaiStream(BytesIO(self.stream.read_bytes(self.size())))
        made = self._make(index, io)
        if kept:
            self._kept[index] = made
        with passing():
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
    """Pass over the array `name` of `owner` and keep where its elements begin; `make` parses one when it is shown.

    Return False if the array is short or its elements depend on each other: the parser then reads it.  `times` is the
    number of elements, `until` the condition after the last, `width` the size of each if it is constant, `size` what
    computes it otherwise, `given` the arguments of `until`; with `indexed`, elements have instances only and
    take no bytes.
    """
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
            make(there, stream)  # the first element that is cut: raises the error
        return True
    if indexed:
        if times is None or until is not None or size is not None or make(0, stream).SEQ_FIELDS:
            return False
        places.end(even=times)
        _put(owner, name, found)
        return True
    _put(owner, name, found)
    rest = _walk(stream, found, times, until, given)
    if rest is None:
        return True
    if times is None and _LAZILY.get() and isinstance(stream._io, Region) and _is_last(stream, owner, name):  # noqa: SLF001
        found.rest = rest
        stream.seek(stream.size())
        return True
    for _ in rest:
        pass
    return True


def _is_last(stream: Any, owner: Any, name: str) -> bool:
    """Return whether nothing is read from the stream after the array `name` of `owner`."""
    # In each owner on this stream, the field being parsed must be the last of its sequence.  It is the last in `_debug`
    # without an end.  An array (it has `arr`) may continue with elements after the current one.
    while owner is not None and owner._io is stream:  # noqa: SLF001 - as the parsers do
        if name.startswith("_m_"):  # an instance, after which the position is restored
            return True
        if name != owner.SEQ_FIELDS[-1]:
            return False
        owner = owner._parent  # noqa: SLF001
        places = owner._debug if owner is not None else {}  # noqa: SLF001
        name = next((one for one, place in reversed(places.items()) if "end" not in place), "")
        if "arr" in places.get(name, ()):
            return False
    return True


def _put(owner: Any, name: str, found: Elements) -> None:
    """Replace the list that the parser made for a field by `found`, and its positions by those of `found`."""
    setattr(owner, name, found)
    owner._debug[name]["arr"] = found.places  # noqa: SLF001 - as the parser does


class _Position:
    """A position in a stream, with the methods of a stream that conditions of `repeat-until` call."""

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
) -> Iterator[None] | None:
    """Parse the first elements. Returns an iterator that finds the ends of the others, None if there are none."""
    places, index = found.places, 0
    while index < KEPT and (times is None or index < times):
        if times is None and until is None and stream.is_eof():
            return None
        one = _parsed(found, index)
        places.end(int(stream.pos()))
        index += 1
        if until is not None and until(one, stream):
            return None
    if times is not None and index >= times:
        return None
    found.reader = _fast_reader(type(one), given, whole=not isinstance(stream._io, Region))  # noqa: SLF001
    return _walk_on(found, times, until)


def _walk_on(found: Elements, times: int | None, until: Callable[[Any, Any], Any] | None) -> Iterator[None]:
    """Find the ends of the elements after the first ones; yields after every `STEP` of them."""
    places, stream, known = found.places, found.stream, until
    end, index, at = stream.size(), places.known, places.at
    here, ends = _Position(end), _ends(found, index, at)
    try:
        while index < times if times is not None else until is not None or at < end:
            start = at
            one, at = next(ends)
            if not index & places.mask:
                places.begin(start)
            index += 1
            if known is not None:
                here.at = at
                try:
                    over = known(one, here)
                except FAILURES:
                    # The condition does not apply to what the fast reader returns: from here on the parser reads.
                    places.known, places.at, found.reader = index, at, None
                    over, ends = known(found[index - 1], here), _ends(found, index, at)
                if over:
                    break
            if not index % STEP:
                places.known, places.at = index, at
                yield
    finally:
        places.known, places.at = index, at
    stream.seek(at)


def _ends(found: Elements, index: int, at: int, *, kept: bool = False) -> Iterator[tuple[Any, int]]:
    """Yield each element from `index` on, which starts at `at`, with its end.

    A fast reader is used where possible, else the parser. `kept`: their places are known already.
    """
    stream, reader, size = found.stream, found.reader, found.size
    end = stream.size()
    view, base = found.window(at)
    last = base + len(view)
    while True:
        if last - at < MARGIN and last < end:
            view, base = found.window(at)
            last = base + len(view)
        one = None
        if reader is not None:
            try:
                if size is None:
                    one, to = reader(view, at - base, last - base, 0)
                    to += base
                    if to >= last and last < end:
                        one = None  # it may be cut by the window
                else:
                    stream.seek(at)
                    to = at + size()
                    one = reader(view, at - base, to - base, at - base)[0] if to <= last else None
            except FAST_FAILURES:
                pass  # the parser reports the fault
            if one is None and base < at and last < end:
                view, base = found.window(at, WINDOW)
                last = base + len(view)
                continue
        if one is None:
            stream.seek(at)
            one = found.parse(index) if kept else _parsed(found, index)
            to = int(stream.pos())
        at = to
        index += 1
        yield one, at


def _parsed(found: Elements, index: int) -> Any:
    """Parse an element.  It stays parsed if it is one of the first, or if parsing fails, to show it in part."""
    try:
        made = found.keep(index)
    except FAILURES:
        found.places.end(open=True)  # its end is unknown
        raise
    if index >= KEPT:
        found.drop(index)
    return made


_Reader = Callable[[bytes, int, int, int], tuple[Any, int]]
"""Reads the element of some bytes at a position, given where its stream ends and where it begins."""


def _fast_reader(parser: Any, given: tuple[Any, ...], *, whole: bool) -> _Reader | None:
    """The fast reader of the structure that a parser with positions parses; None: it needs more than is known.

    One that takes the start of its stream needs the `whole` stream.
    """
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
    if based and not whole:
        return None
    if based:
        return lambda view, at, end, base: reader(view, at, end, base, *given)
    return lambda view, at, end, _: reader(view, at, end, *given)


@functools.cache
def _snake(name: str) -> str:
    """The name of a type in its specification."""
    return re.sub(r"(?<=.)(?=[A-Z])", "_", name).lower()


@functools.cache
def debug_class(name: str) -> Any:
    """The debug class of a ksy id, optionally `id::type::subtype`; raises `KeyError` for unknown ones."""
    id, *types = name.split("::")
    try:
        module = importlib.import_module(f"{PARSERS}.{id}")
    except ModuleNotFoundError:
        raise KeyError(name) from None
    found = getattr(module, camel(id))
    for type in types:
        found = getattr(found, camel(type))
    return found


class Reading(NamedTuple):
    """Bytes that were parsed; arrays at the end of a region are read on when more of them is shown."""

    schema: str
    made: Any
    note: str
    stream: Any


def read(schema: str, data: bytes | memoryview | Region, args: tuple[Any, ...]) -> Reading:
    """Parse `data` under a schema (`id` or `id::type`), as far as that goes."""
    stream = KaitaiStream(data if isinstance(data, Region) else BytesIO(bytes(data)))
    made = debug_class(schema)(*args, stream)
    note = ""
    try:
        made._read()  # noqa: SLF001 - the parsers with positions do not read themselves
    except FAILURES as error:
        note = f"{STOPPED}: {shorten(error, 160)}"
    return Reading(schema, made, note, stream)
