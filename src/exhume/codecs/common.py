"""The parameters and results that all decoders share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exhume.counts import counted
from exhume.errors import CodecError, LimitExceededError
from exhume.tuples import NamedTuple

Buffer = bytes | bytearray | memoryview


class Decoded(NamedTuple):
    """Decompressed bytes and how many stored bytes the stream used."""

    data: bytes
    consumed: int


Decoder = Callable[[Buffer, int, int | None], Decoded]
"""Takes the stored bytes, the output budget in bytes, and the stated decompressed size, if there is one."""


def over_budget(codec: str, max_size: int, actual: Any = None) -> LimitExceededError:
    """The error of a payload that would pass its output budget."""
    return LimitExceededError(
        f"{codec}: the payload decompresses to more than is allowed (raise the limit payload_size or expansion)",
        expected=f"at most {counted(max_size, 'bytes')}",
        actual=actual,
    )


def none(data: Buffer, max_size: int, size: int | None) -> Decoded:
    """Bytes stored as they are.  Raises `CodecError` when truncated, `LimitExceededError` beyond `max_size`."""
    length = len(data) if size is None else size
    if length > max_size:
        raise over_budget("none", max_size, length)
    if length > len(data):
        raise CodecError(
            "none: truncated payload", expected=counted(length, "bytes"), actual=counted(len(data), "bytes")
        )
    return Decoded(bytes(data[:length]), length)
