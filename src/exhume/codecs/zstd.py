"""zstd: one frame, all frames of a section, or the readable start of a damaged frame.

A frame is a complete compressed stream; a section (a part of an archive) may be several of them back to back.
A skippable frame has bytes for other programs and no content.  Callers pass the most bytes of content that they accept,
`max_size`; more is a `LimitExceededError`, so that a small file cannot fill the memory.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import zstandard

from exhume.codecs.common import Buffer, Decoded, Decoder, over_budget
from exhume.codecs.layout import (
    CHECKSUM_SIZE,
    DESCRIPTOR_AT,
    HAS_CHECKSUM,
    SKIPPABLE,
    frame_end,
    skip_skippable,
    stored_checksum,
)
from exhume.codecs.layout import ZSTD_MAGIC as ZSTD_MAGIC
from exhume.counts import counted
from exhume.errors import CodecError, LimitExceededError, UnsupportedFeatureError

ZSTD_WINDOW_MAX = 1 << 27
"""Largest zstd window accepted (128 MiB, the limit of the zstd command line without --long)."""


FULL_STEP, LEAST_STEP = 1 << 16, 1 << 10
"""Stored bytes of a frame that are decompressed at a time."""

GROWTH = 1 << 13
"""Assumed growth of a step; the content of constant bytes is 2^14 times as large, and more."""

AT_ONCE = 1 << 20
"""Bytes of content from which on a frame is decoded in one call, if its container states that size."""


def zstd_frame_size(data: Buffer, max_size: int, dictionary: int = 0) -> int | None:
    """The decompressed size in bytes that a zstd frame states, or None, after a check of its header; 0 for a skippable
    frame.

    Raises `CodecError` when this is not a frame, `UnsupportedFeatureError` when it needs a dictionary other than that
    of the given number, and `LimitExceededError` when its size or window is too large.
    """
    if bytes(data[: len(ZSTD_MAGIC)]) in SKIPPABLE:  # the library takes a part of its magic number for a dictionary's
        return 0
    try:
        header = zstandard.get_frame_parameters(data)
    except zstandard.ZstdError as error:
        raise CodecError("zstd: not a frame", actual=str(error)) from error
    if header.dict_id not in (0, dictionary):
        raise UnsupportedFeatureError("zstd: the frame needs a dictionary", actual=f"dictionary {header.dict_id}")
    stated = header.content_size
    known = stated not in (zstandard.CONTENTSIZE_UNKNOWN, zstandard.CONTENTSIZE_ERROR)
    if known and stated > max_size:
        raise over_budget("zstd", max_size, stated)
    if header.window_size > ZSTD_WINDOW_MAX and not (known and stated <= ZSTD_WINDOW_MAX):
        raise LimitExceededError(
            "zstd: window too large", expected=f"at most {ZSTD_WINDOW_MAX}", actual=header.window_size
        )
    return stated if known else None


def primed_zstd(dictionary: bytes) -> Decoder:
    """A decoder of single zstd frames that were made with a dictionary, a trained one or plain content."""
    known = zstandard.ZstdCompressionDict(dictionary)
    return lambda data, max_size, size: zstd_one(data, max_size, size, known)


def zstd_one(
    data: Buffer, max_size: int, size: int | None, dictionary: zstandard.ZstdCompressionDict | None = None
) -> Decoded:
    """One zstd frame (skippable frames before it are skipped).

    Raises `CodecError` for damage, `LimitExceededError` beyond `max_size`, and as `zstd_frame_size` does.
    """
    # In one call if that is worth it; it returns None if it fails, and the steps below find out why.
    if size is not None and size >= AT_ONCE and dictionary is None and (end := frame_end(data)) is not None:
        found = zstd_sized(memoryview(data)[:end], size)
        if found is not None:
            return Decoded(found, end)
    at = skip_skippable(data)
    zstd_frame_size(memoryview(data)[at : at + FRAME_HEADER_MOST], max_size, dictionary.dict_id() if dictionary else 0)
    primed = zstandard.ZstdDecompressor(dict_data=dictionary, max_window_size=ZSTD_WINDOW_MAX)
    engine = primed.decompressobj()
    parts: list[bytes] = []
    total = 0
    view = memoryview(data)
    step = FULL_STEP  # decompressobj has no output limit: feed it little enough that a bomb is seen in time
    while at < len(data):
        piece = view[at : at + step]
        try:
            out = engine.decompress(piece)
        except zstandard.ZstdError as error:
            raise CodecError("zstd: corrupt frame", actual=str(error)) from error
        total += len(out)
        if total > max_size:
            raise over_budget("zstd", max_size)
        if out:
            parts.append(out)
        at += len(piece)
        if engine.eof:
            return Decoded(b"".join(parts) if len(parts) != 1 else parts[0], at - len(engine.unused_data))
        step = max(LEAST_STEP, min(FULL_STEP, (max_size - total) // GROWTH))  # small when little of `max_size` is left
    raise CodecError("zstd: truncated frame", actual=f"{counted(len(data), 'bytes')} without an end")


def is_plausible(size: int, stored: int) -> bool:
    """Whether the stated size is plausible enough to allocate `size` bytes in advance, for `stored` bytes.

    A frame that states more than 1 MiB and 256 times its stored bytes is decoded in steps instead.
    """
    return size <= (1 << 20) + 256 * stored


def zstd_sized(data: Buffer, size: int) -> bytes | None:
    """Decode the zstd frame at the start of `data` in one call, for containers that state its decompressed size.

    This is faster than `zstd_frames`; bytes after the frame are ignored.  None when it fails (a different size, several
    frames, damage, an implausible size): `zstd_frames` then finds out why.
    """
    if not is_plausible(size, len(data)):
        return None
    try:
        stated = zstd_frame_size(memoryview(data)[:FRAME_HEADER_MOST], size)
        if stated is not None and stated != size:
            return None
        out = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_MAX).decompress(data, max_output_size=size)
    except (CodecError, LimitExceededError, UnsupportedFeatureError, zstandard.ZstdError):
        return None
    return out if len(out) == size else None


def zstd_start(data: Buffer, size: int) -> bytes:
    """Return the first `size` bytes of content of the frames at the start of `data`.

    Fewer if the frames have fewer, or `data` ends within them; none if they are damaged.
    """
    engine = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_MAX)
    try:
        with engine.stream_reader(data, read_across_frames=True) as reader:
            return reader.read(size)
    except zstandard.ZstdError:
        return b""


def zstd_whole(data: Buffer, *, max_size: int) -> bytes | None:
    """Decode the single zstd frame that fills `data` in one call; None if there are others, or that is not safe.

    Other threads can run during the whole call, while `zstd_frames` takes the interpreter back for every piece.  The
    decoder writes into one buffer of 16 times the stored size; only its used pages occupy memory.
    """
    room = min(max_size, (1 << 16) + 16 * len(data))
    if frame_end(data) != len(data):  # the decoder reports this only for frames that state their size
        return None
    try:
        if zstd_frame_size(memoryview(data)[:FRAME_HEADER_MOST], room) == 0:  # the library would decode nothing
            return None
        engine = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_MAX)
        return engine.decompress(data, max_output_size=room, allow_extra_data=False)
    except (CodecError, LimitExceededError, UnsupportedFeatureError, zstandard.ZstdError, MemoryError):
        return None


def zstd_frames(data: Buffer, *, max_size: int) -> Iterator[tuple[int, int, bytes]]:
    """Every concatenated zstd frame of `data` as `(start, end, decompressed)`; the sum stays within `max_size`."""
    at, total = 0, 0
    view = memoryview(data)
    while at < len(data):
        decoded = zstd_one(view[at:], max_size - total, None)
        yield at, at + decoded.consumed, decoded.data
        total += len(decoded.data)
        at += decoded.consumed


def zstd_sound(data: Buffer, max_size: int) -> bytes:
    """Return what the frames before the first damaged one decompress to.

    Raises `CodecError` if there are none, and `LimitExceededError`.
    """
    parts: list[bytes] = []
    try:
        parts.extend(part for _, _, part in zstd_frames(data, max_size=max_size))
    except CodecError:
        if not parts:
            raise
    return parts[0] if len(parts) == 1 else b"".join(parts)


FRAME_HEADER_MOST = 18
"""Bytes of the longest header of a frame, with its magic number."""

STREAM_STEP = 1 << 12
"""Stored bytes that are decompressed at a time; their content, at most 128 MiB, is in memory."""


def zstd_stream(pieces: Iterable[Buffer], step: int = STREAM_STEP) -> Iterator[tuple[int, bytes, bool]]:
    """Decompress the concatenated zstd frames of the pieces, `step` stored bytes at a time.

    Yield the number of stored bytes that were used so far, the content since the last yield, and whether a frame ends.
    Raises `CodecError` for damage and as `zstd_frame_size` does.
    """
    views = (memoryview(piece) for piece in pieces)
    small = (bytes(view[start : start + step]) for view in views for start in range(0, len(view), step))
    engine: Any = None
    at, held = 0, b""  # number of stored bytes used so far; bytes kept until a whole header is there
    for piece in chain(small, (b"",)):  # the empty piece marks the end
        held += piece
        while held and (engine is not None or len(held) >= FRAME_HEADER_MOST or not piece):
            if engine is None:
                zstd_frame_size(held, sys.maxsize)
                engine = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_MAX).decompressobj()
            try:
                content = engine.decompress(held)
            except zstandard.ZstdError as error:
                raise CodecError("zstd: corrupt frame", actual=str(error)) from error
            left = engine.unused_data if engine.eof else b""
            at, held = at + len(held) - len(left), left
            yield at, content, engine.eof
            engine = None if engine.eof else engine
    if engine is not None:
        raise CodecError("zstd: truncated frame", actual=f"{counted(at, 'bytes')} without an end")


def zstd_measured(pieces: Iterable[Buffer]) -> Iterator[tuple[int, int]]:
    """Yield the end of each concatenated zstd frame of the pieces, and the size of its content.

    No content is kept.  Raises `CodecError` as `zstd_stream` does.
    """
    size = 0
    for at, content, is_end in zstd_stream(pieces):
        size += len(content)
        if is_end:
            yield at, size
            size = 0


def zstd_checksum(stored: Iterable[Buffer], max_size: int) -> tuple[int, int]:
    """Return the checksum at the end of a frame, stored and computed: the low half of the content's XXH64.

    `stored` is the frame in chunks; one is held at a time.  The content is decoded as if the frame had no checksum,
    so that a wrong one is a result and not an error.  Raises `CodecError` for damage, which a frame without a checksum
    is, and `LimitExceededError` for more than `max_size` bytes of content.
    """
    from exhume.codecs.checksums import RunningChecksum  # no search needs it, and it loads much

    running, size, end = RunningChecksum("xxhash64"), 0, b""

    def bare() -> Iterator[bytes]:
        """Yield the frame without its checksum and the flag for it; leaves the checksum in `end`.

        The last bytes so far are held back in `end`, since they may be the checksum.
        """
        nonlocal end
        at = 0  # position in the frame of the first byte of `end`
        for piece in stored:
            held = bytearray(end) + piece
            if at <= DESCRIPTOR_AT < at + len(held):
                held[DESCRIPTOR_AT - at] &= ~HAS_CHECKSUM
            end = bytes(held[-CHECKSUM_SIZE:])
            at += len(held) - len(end)
            yield bytes(held[: len(held) - len(end)])

    for _, content, _ in zstd_stream(bare()):
        size += len(content)
        if size > max_size:
            raise over_budget("zstd", max_size)
        running.update(content)
    return stored_checksum(end), running.value() & 0xFFFFFFFF


PARTIAL_STEP = 256
"""Stored bytes of a damaged frame that are decompressed at a time: output of the same step as the damage is lost."""


def zstd_partial(data: Buffer, *, max_size: int) -> tuple[bytes, int, bool]:
    """Decode as much of a zstd frame as possible.

    Returns the output, the number of bytes used, and whether the frame is complete.  For salvage only:
    raises nothing but `LimitExceededError`; damage ends the output at the last whole block.
    """
    view, end = memoryview(data), frame_end(data)
    if end is not None and (out := zstd_whole(view[:end], max_size=max_size)) is not None:
        return out, end, True
    engine = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_MAX).decompressobj()
    parts: list[bytes] = []
    total, at = 0, 0
    while at < len(data):
        piece = view[at : at + PARTIAL_STEP]
        try:
            out = engine.decompress(piece)
        except zstandard.ZstdError:
            break
        at += len(piece)
        total += len(out)
        if total > max_size:
            raise over_budget("zstd", max_size)
        parts.append(out)
        if engine.eof:
            return b"".join(parts), at - len(engine.unused_data), True
    return b"".join(parts), at, False


def zstd_survivors(data: Buffer, *, max_size: int) -> Iterator[tuple[int, bytes, bool]]:
    """Decode the frames at the start of `data` as `zstd_partial` does; yield end, output, and whether it is complete.

    The first frame is tried whatever its bytes are, so that there is at least one result: `(0, b"", False)` if nothing
    can be decoded.  Stops after a damaged frame, or before bytes that do not begin with the magic number of another.
    """
    view, at, whole = memoryview(data), 0, True
    while whole and (not at or view[at : at + len(ZSTD_MAGIC)] == ZSTD_MAGIC):
        out, used, whole = zstd_partial(view[at:], max_size=max_size)
        at += used
        max_size -= len(out)
        yield at, out, whole


def zstd_all(data: Buffer, max_size: int, size: int | None) -> Decoded:
    """All frames of a section, joined (an empty section is an empty payload)."""
    parts = [part for _, _, part in zstd_frames(data, max_size=max_size)]
    return Decoded(b"".join(parts) if len(parts) != 1 else parts[0], len(data))


def zstd_frame(data: Buffer, level: int) -> bytes:
    """Compress data to one frame that states its size, with the parameters that zstd uses for an unknown size.

    Those that it chooses for a known size of up to 256 KiB make the dictionaries of an archive up to 10 % larger.
    """
    # An engine keeps its tables: a new one for each frame would have to allocate and clear them.
    engine = _ENGINES.by_level.get(level)
    if engine is None:
        how = zstandard.ZstdCompressionParameters.from_level(level, write_content_size=True)
        engine = _ENGINES.by_level[level] = zstandard.ZstdCompressor(compression_params=how)
    return bytes(memoryview(engine.compress(data)))  # a copy: the result keeps the memory for the worst case


class _Engines(threading.local):
    """The compressors of each thread, by level; one serves one thread at a time."""

    def __init__(self) -> None:
        self.by_level: dict[int, zstandard.ZstdCompressor] = {}


_ENGINES = _Engines()
