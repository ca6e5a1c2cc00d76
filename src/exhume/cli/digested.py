"""Standard input and output whose bytes are counted and hashed while a record of the run is kept."""

from __future__ import annotations

import contextlib
import hashlib
import io
import sys
from collections.abc import Iterator
from typing import Any, TextIO


class HashingStream(io.RawIOBase):
    """A binary stream that hashes what passes.  It has no descriptor, so that nothing goes past it in the kernel."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self._stream = stream
        self._hash = hashlib.sha256()
        self.size = 0

    def facts(self) -> dict[str, Any] | None:
        """Size and SHA-256 of what has passed; None when nothing has."""
        return {"size": self.size, "sha256": self._hash.hexdigest()} if self.size else None

    def readable(self) -> bool:
        return bool(self._stream.readable())

    def writable(self) -> bool:
        return bool(self._stream.writable())

    def isatty(self) -> bool:
        return bool(self._stream.isatty())

    def readinto(self, buffer: Any, /) -> int:
        view = memoryview(buffer).cast("B")
        read = getattr(self._stream, "read1", self._stream.read)
        data: bytes = read(len(view))
        view[: len(data)] = data
        self._passed(data)
        return len(data)

    def write(self, data: Any, /) -> int:
        view = memoryview(data).cast("B")
        self._stream.write(view)
        self._passed(view)
        return len(view)

    def flush(self) -> None:
        if self.writable():
            self._stream.flush()

    def _passed(self, data: bytes | memoryview) -> None:
        self._hash.update(data)
        self.size += len(data)


@contextlib.contextmanager
def digested() -> Iterator[tuple[HashingStream | None, HashingStream | None]]:
    """Hashes standard input and output while it is entered; None for one that has no bytes, or is closed."""
    real = sys.stdin, sys.stdout
    given, made = (HashingStream(one.buffer) if hasattr(one, "buffer") else None for one in real)
    if given is not None and not given.readable():  # descriptor 0 is a file that is written
        given = None
    try:
        if given is not None:
            sys.stdin = _text(io.BufferedReader(given), real[0])
        if made is not None:
            real[1].flush()
            sys.stdout = _text(made, real[1], write_through=True)
        yield given, made
    finally:
        sys.stdin, sys.stdout = real


def _text(stream: Any, like: TextIO, *, write_through: bool = False) -> TextIO:
    return io.TextIOWrapper(stream, like.encoding, like.errors, write_through=write_through)
