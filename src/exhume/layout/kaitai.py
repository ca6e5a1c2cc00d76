"""From a window of bytes to a generated object; Kaitai's many exceptions become ours, with absolute offsets.

Bytes that are too large to be held are a `Region`, the file that the parsers with positions read: one window of it
is in memory.  Values larger than `HELD` are `UnreadBytes`: they have their size and first bytes, and open as a
region of their own.  `where` is the span of the bytes in the file, or in a decompressed payload.
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
"""Exceptions that generated code raises on invalid data; they are caught in this package only."""


def parse(cls: type[T], data: bytes | memoryview | BinaryIO, where: Span, *args: Any) -> T:
    """Parse `data`, which is at `where`, with the generated class `cls`; `args` are the schema's parameters.

    Raises `TruncatedError` if the bytes end too early and `StructureError` for every other failure; both have the
    absolute offset and the path of the field in the specification.
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
    """Return our exception for one of `FAILURES`; `stream` has the position at which reading failed.

    `where` is the span of the stream's bytes, `field` the path in the specification for an error that has none.
    """
    if isinstance(error, ExhumeError):
        return error
    at = _position(stream)
    # From that position to the end of the bytes.
    here = where.sub(min(at, max(0, _local_size(where))), _local_size(where)) if at is not None else where
    path = getattr(error, "src_path", None) or field
    if isinstance(error, kaitaistruct.EndOfStreamError | EOFError):
        # A plain `EOFError` does not state these.
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
    """Return the invalid value of a field; for a small structure (a variable-length integer), the value it encodes."""
    return getattr(actual, "value", None) if isinstance(actual, KaitaiStruct) else actual


def _position(stream: Any) -> int | None:
    """Return the position of a stream; None if it has none."""
    try:
        return int(stream.pos())
    except (OSError, ValueError, AttributeError):
        return None


def _local_size(where: Span) -> int:
    """Return the size of the bytes that a parser gets for a span: of its part of a payload, if it is in one."""
    start, end = where.local
    return end - start


WINDOW = 1 << 20
"""Bytes that are read at a time."""

HELD = 16 << 20
"""Largest value in bytes that is read as a whole."""

PARSED = 256 << 10
"""Largest data in bytes whose parsed elements are all kept: each byte of it takes some hundred bytes of memory."""

FIRST = 1 << 12
"""Bytes that are kept of a larger value."""

Read = Callable[[int, int], bytes]
"""Returns bytes from a position on, at most the given number."""


class Region:
    """`size` bytes as a file; `read` returns them in chunks."""

    origin = 0
    """The position of the first byte, as that of a source."""

    def __init__(self, size: int, read: Read) -> None:
        self.size = size
        self._read = read
        self._at = 0
        self._data, self._from = b"", 0  # the window, and its position

    def seekable(self) -> bool:
        """Return True: the methods are those of a file."""
        return True

    def tell(self) -> int:
        """Return the position of the next byte."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a position; return it."""
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence]
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        """Return the next `size` bytes, or all that follow: `UnreadBytes` if they are more than `HELD`."""
        at, left = self._at, max(0, self.size - self._at)
        wanted = left if size is None or size < 0 else min(size, left)
        self._at += wanted
        if wanted > HELD:
            return UnreadBytes(
                self.read_at(at, min(FIRST, wanted)), wanted, lambda start, many: self.read_at(at + start, many)
            )
        return self.read_at(at, wanted)

    def read_at(self, at: int, size: int) -> bytes:
        """Return up to `size` bytes from a position on."""
        view, base = self.window(at, size)
        return view[at - base : at - base + size]

    def window(self, at: int, least: int = WINDOW // 2) -> tuple[bytes, int]:
        """Return a window that has `least` bytes from a position on, if there are that many, and its own position."""
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
    """The first bytes of a value that is not held in memory; its length is that of the whole value."""

    _size: int
    _read: Read

    def __new__(cls, first: bytes, size: int, read: Read) -> Self:
        made = super().__new__(cls, first)
        made._size, made._read = size, read
        return made

    def __len__(self) -> int:
        return self._size

    def opened(self) -> Region:
        """Return the value as a file."""
        return Region(self._size, self._read)


def region_of(data: bytes | Region) -> Region:
    """Return bytes as a region."""
    return data if isinstance(data, Region) else Region(len(data), lambda at, size: data[at : at + size])
