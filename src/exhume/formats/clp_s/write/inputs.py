"""The inputs of a writer: files and standard input as decompressed pieces, read ahead in threads on request."""

from __future__ import annotations

import collections
import os
import queue
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, Final

from exhume.codecs.streams import inflate_file
from exhume.errors import SourceError, Span, WriterError
from exhume.formats.clp_ir.keyed import as_key_values
from exhume.formats.clp_s.write.jsonscan import REASONS, Status
from exhume.formats.clp_s.write.listing import STDIN, NamedInput
from exhume.io.opening import open_stream
from exhume.limits import cpu_count

PIECE: Final = 1 << 20
"""Bytes that are read, decompressed and encoded at a time."""


class BadRecordError(WriterError):
    """A record that was not written: `line` (1-based, in `name`), `reason` and `status`."""

    def __init__(self, name: str, line: int, status: Status, span: Span, snippet: bytes, detail: str = "") -> None:
        reason = REASONS[status] + detail
        where = f"line {line}: " if line else ""
        super().__init__(f"{where}{reason}", format="clp-s", span=span, actual=snippet)
        self.name, self.line, self.status, self.reason = name, line, status, reason


Input = str | os.PathLike[str] | BinaryIO | NamedInput


def name_of(source: Input) -> str:
    """The name of an input in the range index."""
    if isinstance(source, NamedInput):
        return source.name
    if isinstance(source, str | os.PathLike):
        return os.fsdecode(os.fspath(source))
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else STDIN


def read_pieces(source: Input, *, as_is: bool = False) -> Iterator[bytes]:
    """The content of one input, decompressed, and of an IR stream of text the KV-IR stream that holds the same (not
    `as_is`).

    Raises `SourceError` and `CodecError`, and what is wrong with a stream of text.
    """
    pieces = _decompressed(source)
    return pieces if as_is else as_key_values(name_of(source), pieces)


def _decompressed(source: Input) -> Iterator[bytes]:
    name, storage_options = name_of(source), source.storage_options if isinstance(source, NamedInput) else None
    if isinstance(source, NamedInput):
        source = source.path
    if not isinstance(source, str | os.PathLike):
        yield from inflate_file(source, name, PIECE)
        return
    try:
        if source == STDIN:
            yield from inflate_file(sys.stdin.buffer, name, PIECE)
        else:
            with open_stream(os.fspath(source), storage_options) as file:
                yield from inflate_file(file, name, PIECE)
    except OSError as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(f"cannot read: {error.strerror or error}", span=Span(name, 0, 0)) from error


_END: Final = object()
"""What a queue ends with when all has gone well."""


def _fill(source: Input, out: queue.Queue[Any], stop: threading.Event, as_is: bool) -> None:
    """Put the chunks of an input into a queue, followed by the end mark or the exception that was raised, until `stop`
    is set.
    """
    last: Any = _END
    try:
        for piece in read_pieces(source, as_is=as_is):
            if not _put(out, piece, stop):
                return
    except BaseException as error:
        last = error
    _put(out, last, stop)


def _put(out: queue.Queue[Any], item: Any, stop: threading.Event) -> bool:
    """Put an item into a queue; return False if `stop` was set before there was space."""
    while not stop.is_set():
        try:
            out.put(item, timeout=0.1)
        except queue.Full:
            continue
        return True
    return False


def read_ahead(sources: Iterable[Input], jobs: int, *, as_is: bool = False) -> Iterator[bytes | None]:
    """Yield the chunks of several inputs in order, as `read_pieces` does, read by other threads with bounded
    read-ahead.

    An error of an input is raised in its place.
    """
    stop = threading.Event()
    ahead: collections.deque[queue.Queue[Any]] = collections.deque()
    threads = max(1, (jobs or cpu_count()) - 1)
    waiting = iter(sources)

    def start_one() -> None:
        for source in waiting:
            out: queue.Queue[Any] = queue.Queue(maxsize=4)
            threading.Thread(target=_fill, args=(source, out, stop, as_is), name="exhume-input", daemon=True).start()
            ahead.append(out)
            return

    try:
        for _ in range(threads):
            start_one()
        while ahead:
            current = ahead.popleft()
            while (piece := current.get()) is not _END:
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
            start_one()
            yield None
    finally:
        stop.set()
