"""Output that may be standard output: a new file that appears when complete, or `-`."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from exhume.errors import WriterError
from exhume.io.output.atomic import AtomicFile

_CONTROL = bytes(byte for byte in range(32) if byte not in (9, 10, 13)) + b"\x7f"


@contextmanager
def binary_output(output: str, *, overwrite: bool) -> Iterator[BinaryIO]:
    """A new file that appears when complete, or standard output for `-`; raises `WriterError` for a terminal."""
    if output == "-" and sys.stdout.isatty():
        raise WriterError("refusing to write binary data to a terminal: redirect it, or use -o FILE")
    with _opened(output, overwrite) as file:
        yield file


@contextmanager
def text_output(output: str, *, overwrite: bool) -> Iterator[BinaryIO]:
    """Like `binary_output` for text, which may go to a terminal unless it has control characters (`WriterError`)."""
    with _opened(output, overwrite) as file:
        yield cast("BinaryIO", _Guarded(file)) if output == "-" and sys.stdout.isatty() else file


@contextmanager
def _opened(output: str, overwrite: bool) -> Iterator[BinaryIO]:
    if output == "-":
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with AtomicFile(output, overwrite=overwrite) as file:
        yield file.file


class _Guarded(io.RawIOBase):
    """A terminal that receives text only, never control characters that it would act on."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        raw = bytes(data)
        if len(raw.translate(None, _CONTROL)) != len(raw):
            raise WriterError("refusing to write control characters to a terminal: redirect it, or use -o FILE")
        return self._file.write(raw)
