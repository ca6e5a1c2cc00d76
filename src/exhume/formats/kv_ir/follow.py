"""Streams that a logger is still writing, read as they grow: what is complete is printed, then more is waited for.

`follow` is the command `exhume cat --follow`, `followed` the method of the library.  Both start over when the file is
replaced or truncated.  The formats KV-IR and CLP IR share this module; they differ in the rules and in the units
(events and what they depend on) that `begin` reads.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Protocol

import zstandard

from exhume.codecs.layout import FRAME_STARTS, ZSTD_MAGIC
from exhume.errors import ExhumeError, SourceError, Span
from exhume.formats.kv_ir.checks import StreamRules
from exhume.formats.kv_ir.passes import Units
from exhume.formats.kv_ir.stream import FIRST_STEP, Stream, new_engine
from exhume.io.local import GrowingFile

if TYPE_CHECKING:
    from exhume.formats.kv_ir.model import OpenStream


class Chunks(Protocol):
    """The output that followed events are written to."""

    def write(self, data: bytes) -> object:
        """Write bytes."""

    def flush(self) -> object:
        """Hand everything written to the reader."""


class Printer(Protocol):
    """The part of a command's run that `follow` uses."""

    @property
    def out(self) -> Chunks:
        """Standard output."""

    def note(self, text: str) -> None:
        """Print a line on standard error."""


def path_of(archive: OpenStream) -> str:
    """The path of a stream that can be followed: a local file, all of it.  Raises `SourceError` for another."""
    source = archive.source
    path = source.location
    if path is None or "://" in path or source.origin or archive.name != source.name:
        raise SourceError("only a whole local file can be followed", span=Span(archive.name, 0, 0))
    return path


class GrowingStream(Stream):
    """A stream in a file that grows.

    Attributes:
        file: The file.
        idle: Called whenever everything that is complete was read, before more is waited for.
    """

    size: int
    stored: int
    wrapped: bool

    live = True

    def __init__(self, archive: OpenStream, rules: StreamRules) -> None:
        super().__init__(archive.source, rules)
        self.file: GrowingFile = GrowingFile(path_of(archive))
        self.idle: Callable[[], object] = lambda: None
        self._all: Iterator[bytes] = iter(())  # what `pieces` filters: chunks, and empty ones before each wait

    def span(self, start: int, end: int) -> Span:
        """The span of the offsets `[start, end)` of the stream.  The size of the file is not known: it grows."""
        if self.wrapped:
            return Span(self.source.name, 0, self.stored).in_payload(start, end)
        return Span(self.source.name, start, end)

    def pieces(self) -> Iterator[bytes]:
        """The bytes, as they come; the iterator waits for more.  Raises the rule of a broken zstd frame."""
        self._all = self.pieces_and_pauses()
        return (piece for piece in self._all if piece)

    def rest(self, pieces: Iterator[bytes]) -> int:
        """Number of further bytes that are in the file already: stop at the first pause.

        `pieces`, which waits for more, is not used; any other stream counts the bytes in it.
        """
        return sum(map(len, takewhile(bool, self._all)))

    def after_frames(self) -> None:
        """Return None: `pieces` raises for bytes after the frames, which it decompresses as a further frame."""

    def pieces_and_pauses(self) -> Iterator[bytes]:
        """Yield the decompressed bytes as they arrive, and an empty chunk before each wait.

        Raises the rule of a broken zstd frame.
        """
        self.size = self.stored = 0
        engine = None  # of the current zstd frame; None between frames
        head = b""  # the first bytes, until they show whether the stream is inside zstd frames
        for chunk in self.file.chunks():
            if not chunk:
                yield b""
                self.idle()
                continue
            if len(head) < len(ZSTD_MAGIC):
                head = chunk = head + chunk
                if len(head) < len(ZSTD_MAGIC):
                    continue
                self.wrapped = head[: len(ZSTD_MAGIC)] in FRAME_STARTS
            if not self.wrapped:
                self.stored += len(chunk)
                self.size += len(chunk)
                yield chunk
                continue
            # Few bytes at a time, because they may decompress to thousands of times as many.
            for at in range(0, len(chunk), FIRST_STEP):
                left = chunk[at : at + FIRST_STEP]
                while left:  # again if a frame ends within these bytes
                    engine = engine or new_engine()
                    span = Span(self.source.name, self.stored, self.stored + len(left))
                    try:
                        out = engine.decompress(left)
                    except zstandard.ZstdError as error:
                        raise self.rules.frame_corrupt.error(span=span, actual=str(error)) from error
                    rest = engine.unused_data if engine.eof else b""
                    engine = None if engine.eof else engine
                    self.stored += len(left) - len(rest)
                    left = rest
                    self.size += len(out)
                    if out:
                        yield out


def follow(
    run: Printer, archive: OpenStream, rules: StreamRules, begin: Callable[[GrowingStream], Units], how: int
) -> None:
    """Print the decoder's output for a stream in the form `how` (an `EventForm`), until the stream ends.

    `begin` makes the units, with a decoder that is ready.  When the file is replaced or truncated, a note reports it,
    and the new file is followed from its beginning.  Raises `SourceError`, and the fault in the stream.
    """
    while True:
        stream = GrowingStream(archive, rules)
        units: list[Units] = []  # empty while `begin` still waits for the preamble

        noted: list[ExhumeError] = []

        def idle(units: list[Units] = units, noted: list[ExhumeError] = noted) -> None:
            """Print what was decoded before the wait, and the error of the first event that could not be, which the
            stream ends with: its end may be far away.
            """
            for one in units:
                if found := one.decoder.take():
                    run.out.write(found)
                if one.unreadable is not None and not noted:
                    noted.append(one.unreadable)
                    run.note(f"error: {one.unreadable.one_line()}; waiting for further events")
            run.out.flush()

        stream.idle = idle
        note_removed(run, stream)
        try:
            units.append(begin(stream))
            for chunk in units[0].printed(how):
                run.out.write(chunk)
        except ExhumeError:
            if stream.file.replaced is None:
                raise
            note_replaced(run, stream)  # the error is that of a stream without an end
            continue
        run.out.flush()
        return


class _QuietError(Exception):
    """Nothing new was written for too long."""


def followed(
    archive: OpenStream, rules: StreamRules, begin: Callable[[GrowingStream], Units], quiet_s: float | None
) -> Iterator[Any]:
    """The events of a stream one by one, as they are written, until it ends or `quiet_s` seconds bring nothing new.

    When the file is replaced or truncated, the new one is followed from its beginning.  Raises `SourceError`, and the
    fault in the stream.
    """
    path_of(archive)  # raises now, before the caller takes the first event
    while True:
        stream = GrowingStream(archive, rules)
        known, since = -1, time.monotonic()  # the stored bytes at the last change (none yet), and when that was

        def idle(stream: GrowingStream = stream) -> None:
            """Raise `_QuietError` if nothing was added for `quiet_s` seconds."""
            nonlocal known, since
            if stream.stored != known:
                known, since = stream.stored, time.monotonic()
            elif quiet_s is not None and time.monotonic() - since >= quiet_s:
                raise _QuietError

        stream.idle = idle
        try:
            units = begin(stream)
            yield from units.readable()
        except _QuietError:
            return
        except ExhumeError:
            if stream.file.replaced is None:
                raise
            continue
        return


def note_replaced(run: Printer, stream: GrowingStream) -> None:
    """Note that a file was replaced or truncated, and that the new one is followed."""
    run.note(f"{stream.source.name}: the file was {stream.file.replaced}: following the new one")


def note_removed(run: Printer, stream: GrowingStream) -> None:
    """Arrange a note for when the file is removed, that one of the same name is waited for."""
    stream.file.removed = lambda: run.note(f"{stream.source.name}: the file was removed: waiting for one of its name")
