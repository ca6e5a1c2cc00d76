"""Large values: read in chunks, as often as requested, or gathered from them; small ones joined to chunks.

A large value is a byte string that is not kept in memory, such as a value in a database or a member of an archive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from exhume.errors import LimitExceededError, Span
from exhume.limits import DEFAULT_LIMITS, Limits

CHUNK = 1 << 20
"""Bytes of a value in memory that are passed on at a time."""

MANY = 4 << 20
"""Bytes from which on gathered chunks are joined: many freed objects of their size would leave holes in memory."""


class Gathering:
    """Bytes that are added in chunks and taken as one string.

    From `MANY` bytes on, memory has them once, and twice while they are taken.  `size` is their number.
    """

    __slots__ = ("_many", "_pieces", "size")

    def __init__(self, first: bytes = b"") -> None:
        self._pieces = [first]  # chunks that were not joined yet
        self._many = bytearray()  # the joined ones before them
        self.size: int = len(first)

    def add(self, piece: bytes | memoryview) -> None:
        """Append a piece."""
        self._pieces.append(bytes(piece))
        self.size += len(piece)
        if self.size >= MANY:
            self._join()

    def _join(self) -> None:
        """Move the chunks to the joined bytes."""
        for one in self._pieces:
            self._many += one
        self._pieces.clear()

    def take(self) -> bytes:
        """Return all bytes, and empty the buffer."""
        if self._many:
            self._join()
            found = bytes(self._many)
        else:
            found = b"".join(self._pieces)
        self._pieces, self._many, self.size = [], bytearray(), 0
        return found


class LargeValue:
    """A byte string of `len()` bytes that `open` yields in chunks, each time it is called; `span` is its place.

    Iterating yields the chunks.
    """

    limits: Limits
    span: Span

    __slots__ = ("_open", "_size", "limits", "span")

    def __init__(self, size: int, open: Callable[[], Iterator[bytes]], limits: Limits, span: Span) -> None:
        self._size, self._open, self.limits, self.span = size, open, limits, span

    @classmethod
    def of(cls, value: bytes | LargeValue) -> LargeValue:
        """A value that may be in memory, as one that is read in chunks."""
        if isinstance(value, LargeValue):
            return value
        view = memoryview(value)
        chunks = range(0, len(view), CHUNK)
        return cls(len(value), lambda: (bytes(view[at : at + CHUNK]) for at in chunks), DEFAULT_LIMITS, Span("", 0, 0))

    @property
    def most(self) -> int:
        """Bytes of a value that may be in memory: the limit `payload_size`."""
        return self.limits.payload_size

    @property
    def fits(self) -> bool:
        """Whether the value may be in memory as a whole."""
        return self._size <= self.most

    def refusal(self) -> LimitExceededError:
        """The error for a value that may not be in memory, where it would have to be."""
        limit = f"at most {self.most}"
        return LimitExceededError("limit payload_size exceeded", span=self.span, expected=limit, actual=self._size)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[bytes]:
        return self._open()

    def blocks(self, size: int) -> Iterator[bytes]:
        """The bytes in blocks of one size; the last may be shorter."""
        held = bytearray()
        for piece in self._open():
            held += piece
            for at in range(0, len(held) - size + 1, size):
                yield bytes(held[at : at + size])
            del held[: len(held) - len(held) % size]
        if held:
            yield bytes(held)

    def contains(self, part: bytes) -> bool:
        """Whether the bytes contain these, which are few."""
        last = b""  # the end of the chunks so far, where the part may begin
        for piece in self._open():
            last += piece
            if part in last:
                return True
            last = last[max(0, len(last) - len(part) + 1) :]
        return not part

    def fill(self, room: memoryview) -> None:
        """Copy the bytes into `room`, of their size.  Raises `LimitExceededError` above the limit `payload_size`."""
        self.limits.check("payload_size", self._size, self.span)
        at = 0
        for piece in self._open():
            room[at : at + len(piece)] = piece
            at += len(piece)

    def whole(self) -> bytes:
        """The bytes.  Raises `LimitExceededError` above the limit `payload_size`."""
        self.limits.check("payload_size", self._size, self.span)
        return b"".join(self._open())


def whole(value: bytes | LargeValue) -> bytes:
    """A value as bytes.  Raises `LimitExceededError` for a large one above the limit `payload_size`."""
    return value.whole() if isinstance(value, LargeValue) else value


def joined(parts: Iterable[bytes], count: int) -> Iterator[bytes]:
    """Join `count` parts at a time.  The parts before an error are yielded before it is raised."""
    remaining = iter(parts)
    while True:
        batch: list[bytes] = []
        try:
            batch.extend(islice(remaining, count))
        except Exception:
            if batch:
                yield b"".join(batch)
            raise
        if not batch:
            return
        yield b"".join(batch)
