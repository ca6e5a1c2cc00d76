"""The bytes of a stream, with or without zstd frames around them, read from front to back in bounded memory.

Offsets are of two kinds: in the stream (decompressed) and in the file (stored).  For an uncompressed stream both are
the same.  In a stored frame that is damaged, everything before the damage is decompressed, almost to the byte.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import zstandard

from exhume.codecs.layout import FRAME_STARTS, ZSTD_MAGIC
from exhume.codecs.zstd import ZSTD_WINDOW_MAX, zstd_frame_size
from exhume.counts import counted
from exhume.errors import CodecError, ExhumeError, LimitExceededError, SourceError, Span, UnsupportedFeatureError
from exhume.formats.kv_ir import checks
from exhume.io.source import Source
from exhume.tuples import NamedTuple

FIRST_BLOCK = 1 << 17
"""Bytes of the file to announce before the first block of a zstd frame is read: a block takes at most about that."""

FRAME_HEADER = 18
"""Most bytes of the header of a zstd frame, with its magic number."""

ANY_SIZE = 1 << 62
"""No limit for the size that a frame states: its content is not kept in memory."""

HEAD = 1 << 10
"""Size in bytes that most preambles do not exceed: so much is read first, to parse the preamble."""

STEP = 8 << 10
"""Most stored bytes that are decompressed at a time: constant bytes grow by a factor of 16,000, then to 128 MiB."""

AHEAD = 64 << 10
"""Stored bytes that are read at a time once steps are large."""

FIRST_STEP = 512
"""Stored bytes of the first step in a frame.  Steps double up to `STEP`, and halve after one that yields `MUCH`."""

MUCH = 1 << 20
"""Decompressed bytes of one step that make the next steps smaller."""

PIECE = 1 << 18
"""Bytes of an uncompressed stream that are read at a time."""

FINE = 64
"""Stored bytes that are decompressed at a time near damage, so that little before it is lost."""


class FrameEnd(NamedTuple):
    """Where a zstd frame ends: its offset in the decompressed stream, and in the file."""

    in_stream: int
    in_file: int


class Stream:
    """A stream in a file, either uncompressed or inside zstd frames.

    Attributes:
        wrapped: Whether it is inside zstd frames.
        rules: The rules of this kind of stream.
        size: Number of bytes of the stream that were read so far.
        stored: Number of bytes of the file in which these are stored.
        short: Whether damage kept `head` from returning as many bytes as requested.
        frame_ends: The end of each zstd frame that was read.
    """

    stored: int

    source: Source
    size: int

    live = False
    """Whether the file may still grow (`follow`): then every byte is passed on as soon as it is available."""

    def __init__(self, source: Source, rules: checks.StreamRules = checks.STREAM) -> None:
        """Read a stream, decompressing it if it starts with a zstd frame. `rules` are those of its format."""
        self.source: Source = source
        self.rules: checks.StreamRules = rules
        # The first bytes of a file that grows may be gone: `pieces` finds out.
        self.wrapped: bool = not self.live and source.read_up_to(0, len(ZSTD_MAGIC)) in FRAME_STARTS
        self.size = self.stored = 0
        self.short: bool = False
        self.frame_ends: deque[FrameEnd] = deque()

    def span(self, start: int, end: int) -> Span:
        """The span of the offsets `[start, end)` of the stream: a range of the file, or of its decompressed payload."""
        whole = self.source.span(0, self.source.size)
        if self.wrapped:
            return whole.in_payload(start, end)
        return self.source.span(min(start, self.source.size), min(end, self.source.size))

    def head(self, size: int) -> bytes:
        """The first bytes of the stream: at least `size`, unless it is shorter or damaged."""
        found = b""
        if self.wrapped:
            self.source.will_read(0, FIRST_BLOCK)
        try:
            for piece in self._decompressed() if self.wrapped else self.source.chunks(size=size):
                found += piece
                if len(found) >= size:
                    break
        except SourceError:
            raise
        except ExhumeError:
            self.short = True
        return found

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes of the stream from the beginning on, in chunks of any size.

        Raises KVIR-307, KVIR-308 (or those of another format's `rules`) after the bytes before the damage.
        """
        self.size = self.stored = 0
        source = self.source
        source.will_read(0, source.size)
        found = self._decompressed() if self.wrapped else source.chunks(size=PIECE)
        for piece in found:
            self.size += len(piece)
            if not self.wrapped:
                self.stored = self.size
            yield piece

    def rest(self, pieces: Iterator[bytes]) -> int:
        """Number of bytes left in an iterator of `pieces`; a stream that is followed does not wait for more."""
        return sum(map(len, pieces))

    def after_frames(self) -> ExhumeError | None:
        """The error for bytes after the zstd frames, once all of `pieces` were taken; None without any."""
        if not self.wrapped or self.stored >= self.source.size:
            return None
        span = self.source.span(self.stored, self.source.size)
        return self.rules.trailing_bytes.error("after the zstd frames", span=span, actual=counted(span.size, "bytes"))

    def _decompressed(self) -> Iterator[bytes]:
        """Yield the content of consecutive zstd frames in chunks, and note where each frame ends (`frame_ends`).

        Raises the rules `frame_corrupt` and `frame_cut`, after the bytes before the damage.
        """
        source = self.source
        at = total = 0  # offset in the file; bytes of the stream in the frames before
        self.frame_ends.clear()
        while at < source.size:
            try:
                zstd_frame_size(source.read_up_to(at, FRAME_HEADER), ANY_SIZE)  # for what it raises
            except (LimitExceededError, UnsupportedFeatureError):
                raise
            except CodecError as error:
                if at:
                    return  # bytes that are not a frame: `after_frames` reports them
                raise self.rules.frame_corrupt.error(span=source.span(at, source.size), actual=error.actual) from error
            yield from self._frame(at, total)
            last = self.frame_ends[-1]
            total, at = last.in_stream, last.in_file

    def _frame(self, start: int, before: int) -> Iterator[bytes]:
        """Yield the content of the zstd frame at `start`; `before`: bytes of the stream before it.

        Adds its end to `frame_ends` before the last chunk.  Raises as `_decompressed` does.
        """
        source, engine = self.source, new_engine()
        done = 0  # bytes of its content so far
        # The next stored bytes, at most `step` at a time, are taken from `ahead`, which was read at the offset `place`.
        at, step = start, FIRST_STEP
        ahead, place = memoryview(b""), at
        while not engine.eof:
            size = min(step, STEP - (at - start) % STEP)  # never across a multiple of STEP: full steps are aligned
            if at - place + size > len(ahead):
                ahead, place = memoryview(self._read(at, size)), at
            piece = ahead[at - place : at - place + size]
            if not piece:
                raise self.rules.frame_cut.error(span=source.span(start, source.size))
            try:
                out = engine.decompress(piece)
            except zstandard.ZstdError as error:
                yield from self._near(start, at, done)
                span = source.span(at, min(at + len(piece), source.size))
                raise self.rules.frame_corrupt.error(span=span, actual=str(error)) from error
            at += len(piece)
            done += len(out)
            # Shrink the steps as long as they yield much, so that the chunks stay small.
            step = min(2 * step, STEP) if len(out) < MUCH else max(step // 2, FINE)
            if engine.eof:
                at -= len(engine.unused_data)  # they are of the next frame
                self.frame_ends.append(FrameEnd(before + done, at))
            self.stored = at
            if out:
                yield out

    def _read(self, at: int, size: int) -> bytes:
        """Read `size` stored bytes; once steps are large, also those of the next steps."""
        if size == STEP:
            try:
                return self.source.read_up_to(at, AHEAD)
            except SourceError:
                pass  # perhaps only the bytes after the first `size` are unreadable
        return self.source.read_up_to(at, size)

    def _near(self, start: int, stop: int, done: int) -> Iterator[bytes]:
        """Decompress as much as possible after the first `done` bytes of a frame that fails at `stop`."""
        engine = new_engine()
        for piece in self.source.chunks(start, stop, STEP):
            engine.decompress(piece)
        for piece in self.source.chunks(stop, min(stop + STEP, self.source.size), FINE):
            try:
                out = engine.decompress(piece)
            except zstandard.ZstdError:
                return
            if out:
                yield out


def new_engine() -> Any:
    """A decompressor of one zstd frame, in chunks."""
    return zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_MAX).decompressobj()
