"""From a window of bytes to a generated object; Kaitai's many exceptions become ours, with absolute offsets.

Bytes that are too large to be held are a `Region`, the file that the parsers with positions read: one window of it is
in memory.  Values larger than `HELD` are `UnreadBytes`: they have their size and first bytes, and open as a region of
their own.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO, Self, TypeVar

import kaitaistruct
from kaitaistruct import BytesIO, KaitaiStream, KaitaiStruct

from exhume.counts import counted
from exhume.errors import ExhumeError, Span, StructureError, TruncatedError, shorten

T = TypeVar("T", bound=KaitaiStruct)

FAILURES = (
    kaitaistruct.KaitaiStructError,
    UnicodeDecodeError,
    RecursionError,
    AttributeError,
    OverflowError,
    EOFError,
    OSError,
    ValueError,
    IndexError,
    TypeError,
    struct.error,
    zlib.error,
    MemoryError,
)
"""Everything that generated code has been seen to raise on hostile input; it is caught here and nowhere else."""


def parse(cls: type[T], data: bytes | memoryview | BinaryIO, where: Span, *args: Any) -> T:
    """Parses `data`, which is at `where`, with the generated class `cls` (`args`: the schema's parameters).

    Raises `TruncatedError` when the bytes end too early and `StructureError` for every other way to fail; both carry
    the absolute offset and the ksy path of the field.
    """
    raw = BytesIO(bytes(data)) if isinstance(data, (bytes, bytearray, memoryview)) else data
    stream = KaitaiStream(raw)
    try:
        parsed: T = cls(*args, stream)
    except FAILURES as error:
        raise translate(error, stream, where) from error
    return parsed


def touch(value: Any, name: str, stream: Any, where: Span) -> Any:
    """Read the lazy instance `name` of a parsed object; raise the same errors as `parse`."""
    try:
        return getattr(value, name)
    except FAILURES as error:
        raise translate(error, stream, where, name) from error


def translate(error: BaseException, stream: Any, where: Span, field: str | None = None) -> ExhumeError:
    """Our exception for one of `FAILURES`."""
    if isinstance(error, ExhumeError):
        return error
    at = _position(stream)
    here = where.sub(min(at, max(0, _room(where))), _room(where)) if at is not None else where
    path = getattr(error, "src_path", None) or field
    if isinstance(error, kaitaistruct.EndOfStreamError | EOFError):
        needed = getattr(error, "bytes_needed", None)
        available = getattr(error, "bytes_available", None)
        return TruncatedError(
            "the data ends in the middle of a structure",
            span=here,
            field_path=path,
            expected=counted(needed, "bytes") if needed is not None else None,
            actual=counted(available, "bytes") if available is not None else None,
        )
    if isinstance(error, kaitaistruct.ValidationFailedError):
        return StructureError(
            "a value breaks the layout",
            span=here,
            field_path=path,
            expected=getattr(error, "expected", None),
            actual=_plain(getattr(error, "actual", None)),
        )
    if isinstance(error, RecursionError):
        return StructureError("structures nest too deeply", span=here, field_path=path)
    if isinstance(error, MemoryError):
        return StructureError("a size or count is impossible", span=here, field_path=path)
    return StructureError("the layout does not fit", span=here, field_path=path, actual=shorten(error))


def _plain(actual: Any) -> Any:
    """A value that a specification refuses; for a small structure (a variable-length integer), the value it encodes."""
    return getattr(actual, "value", None) if isinstance(actual, KaitaiStruct) else actual


def _position(stream: Any) -> int | None:
    try:
        return int(stream.pos())
    except (OSError, ValueError, AttributeError):
        return None


def _room(where: Span) -> int:
    return where.payload[1] - where.payload[0] if where.payload is not None else where.size


WINDOW = 1 << 20
"""Bytes that are read at a time."""

HELD = 16 << 20
"""Bytes of the largest value that is read as a whole."""

PARSED = 256 << 10
"""Bytes of the longest data whose parsed elements are all kept: they take some hundred bytes for each of them."""

FIRST = 1 << 12
"""Bytes that are kept of a larger value."""

Read = Callable[[int, int], bytes]
"""Returns bytes from a position on, at most the given number."""


class Region:
    """`size` bytes, which `read` returns piece by piece, as a file."""

    origin = 0
    """The position of the first byte, as that of a source."""

    def __init__(self, size: int, read: Read) -> None:
        self.size = size
        self._read = read
        self._at = 0
        self._data, self._from = b"", 0

    def seekable(self) -> bool:
        """Always."""
        return True

    def tell(self) -> int:
        """The position of the next byte."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a position; return it."""
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence]
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        """The next `size` bytes, or all that follow: `UnreadBytes` where they are more than `HELD`."""
        at, left = self._at, max(0, self.size - self._at)
        wanted = left if size is None or size < 0 else min(size, left)
        self._at += wanted
        if wanted > HELD:
            return UnreadBytes(
                self.read_at(at, min(FIRST, wanted)), wanted, lambda start, many: self.read_at(at + start, many)
            )
        return self.read_at(at, wanted)

    def read_at(self, at: int, size: int) -> bytes:
        """Up to `size` bytes from a position on."""
        view, base = self.window(at, size)
        return view[at - base : at - base + size]

    def window(self, at: int, least: int = WINDOW // 2) -> tuple[bytes, int]:
        """A window that has `least` bytes from a position on, if there are so many, and where it begins."""
        end = min(at + least, self.size)
        if not self._from <= at <= end <= self._from + len(self._data):
            self._data, self._from = b"".join(self._pieces(at, min(max(WINDOW, least), self.size - at))), at
        return self._data, self._from

    def _pieces(self, at: int, size: int) -> list[bytes]:
        """Return the bytes at `at` in the chunks in which they can be read."""
        found = []
        while size > 0 and (piece := self._read(at, size)):
            found.append(piece)
            at, size = at + len(piece), size - len(piece)
        return found


class UnreadBytes(bytes):
    """The first bytes of a value that is not held; its length is that of the whole value."""

    _size: int
    _read: Read

    def __new__(cls, first: bytes, size: int, read: Read) -> Self:
        made = super().__new__(cls, first)
        made._size, made._read = size, read
        return made

    def __len__(self) -> int:
        return self._size

    def opened(self) -> Region:
        """The value as a file."""
        return Region(self._size, self._read)


def region_of(data: bytes | Region) -> Region:
    """Bytes as a region."""
    return data if isinstance(data, Region) else Region(len(data), lambda at, size: data[at : at + size])
