"""Where the elements of an array are: every start of a short one, and one in a fixed number of a long one."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from exhume_ksy.debug._stream import Position

STARTS = 1 << 17
"""Starts of elements that are kept: with one more, every other is dropped."""

BLOCKS = 8
"""Runs of elements between kept starts whose own starts stay known."""


class Places(Sequence[dict[str, Any]]):
    """Positions of the elements of an array, as the parsers note them."""

    known: int

    def __init__(self, stream: Any, first: int, width: int, walked: Callable[[int, int], Iterator[int]]) -> None:
        """An array at `first` in `stream`; `width` is the size of each element in bytes, 0 if they differ.

        `walked(index, at)` yields where the elements end, from the one with that index on, which starts at `at`.
        """
        self.stream = stream
        self._first = first
        self._width = width
        self._starts = array("q")
        self.mask: int = 0
        self.known = 0
        """The elements that are not even and have a known end."""
        self.at: int = first
        """Where the last of them ends."""
        self._even = 0
        self._open = False  # whether there is one more element, read in part
        self._walked = walked
        self._blocks: dict[int, list[int]] = {}

    @property
    def hidden(self) -> bool:
        """Whether elements have no bytes of their own where they are noted: their fields are elsewhere."""
        return not self._width and not self.known and self._even > 0

    def end(self, ends: int | None = None, *, even: int = 0, open: bool = False) -> None:
        """Note where one more element ends, how many even ones there are, or that one does not end."""
        if ends is not None:
            if not self.known & self.mask:
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
        self._starts.extend(starts[-self.known & self.mask :: self.mask + 1])
        self.known += len(starts)
        self.at = ends
        while len(self._starts) > STARTS:
            del self._starts[1::2]
            self.mask = 2 * self.mask + 1
        self._blocks.clear()

    def starting(self, at: int, find: Callable[[Sequence[int], int], int]) -> int:
        """How many elements start before a position, or up to it, as `find` (`bisect_left`, `bisect_right`) says."""
        number = find(self._starts, at) - 1
        return 0 if number < 0 else number * (self.mask + 1) + find(self._block(number), at)

    def start(self, index: int) -> int:
        """The position of an element."""
        if not self.known or not index:
            return self._first + index * self._width
        if index >= self.known:
            return self.at
        number, after = divmod(index, self.mask + 1)
        return self._block(number)[after] if after else self._starts[number]

    def _block(self, number: int) -> list[int]:
        """The starts of the elements from a kept start to the next."""
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
        """Return how many elements end before a position, or up to it."""
        number = find(self._starts, at) - 1
        if number < 0:
            return 0
        block = self._block(number)
        after = self._starts[number + 1] if number + 1 < len(self._starts) else self.at
        return number * (self.mask + 1) + find([*block[1:], after], at)

    def __len__(self) -> int:
        return self.known + self._even + self._open

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
            first, last = self._ended(start, bisect_right), self._ended(end, bisect_left) + 1
            first = first if start >= self._first else 0
            last = last if end > self._first else 0
        return range(max(0, first), max(0, min(last, len(self))))
