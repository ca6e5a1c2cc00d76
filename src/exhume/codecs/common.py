"""The parameters and results that all decoders share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exhume.counts import counted
from exhume.errors import CodecError, LimitExceededError
from exhume.tuples import NamedTuple

Buffer = bytes | bytearray | memoryview
"""Bytes as every decoder takes them."""


class Decoded(NamedTuple):
    """Decompressed bytes and how many stored bytes the stream used."""

    data: bytes
    consumed: int
    """Stored bytes of the stream: those of the input without what follows it."""


Decoder = Callable[[Buffer, int, int | None], Decoded]
"""Takes the stored bytes, the output budget in bytes, and the stated decompressed size, if there is one."""


def over_budget(codec: str, max_size: int, actual: Any = None) -> LimitExceededError:
    """The error of a payload that would pass its output budget, `max_size` bytes; `actual` is its size, if known."""
    return LimitExceededError(
        f"{codec}: the payload decompresses to more than is allowed (raise the limit payload_size or expansion)",
        expected=f"at most {counted(max_size, 'bytes')}",
        actual=actual,
    )


def none(data: Buffer, max_size: int, size: int | None) -> Decoded:
    """The decoder of the codec `none`: bytes stored as they are, `size` of them or all.

    Raises `CodecError` when truncated, `LimitExceededError` beyond `max_size`.
    """
    length = len(data) if size is None else size
    if length > max_size:
        raise over_budget("none", max_size, length)
    if length > len(data):
        raise CodecError(
            "none: truncated payload", expected=counted(length, "bytes"), actual=counted(len(data), "bytes")
        )
    return Decoded(bytes(data[:length]), length)
