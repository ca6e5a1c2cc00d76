"""Damage for tests: every helper changes the bytes, always."""

from __future__ import annotations

import random
from collections.abc import Iterator


def flip(data: bytes, offset: int, mask: int = 0xFF) -> bytes:
    """Return the data with one byte XORed.  Raises `ValueError` for a `mask` of 0, which would change nothing."""
    if not mask & 0xFF:
        raise ValueError("a mask of 0 changes nothing")
    out = bytearray(data)
    out[offset] ^= mask & 0xFF
    return bytes(out)


def overwrite(data: bytes, offset: int, new: bytes) -> bytes:
    """Return the data with bytes replaced in place.  Raises `ValueError` when that changes nothing."""
    out = data[:offset] + new + data[offset + len(new) :]
    if out == data:
        raise ValueError("the new bytes equal the old ones")
    return out


def zero_sector(data: bytes, offset: int, size: int = 512) -> bytes:
    """A run of zeros where a bad sector was (clipped at the end)."""
    end = min(len(data), offset + size)
    return data[:offset] + bytes(end - offset) + data[end:]


def swap(data: bytes, first: tuple[int, int], second: tuple[int, int]) -> bytes:
    """Return the data with two half-open ranges exchanged.

    Raises `ValueError` unless `first` ends before `second` starts.
    """
    (a, b), (c, d) = first, second
    if not a <= b <= c <= d <= len(data):
        raise ValueError("ranges overlap or are out of order")
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def duplicate(data: bytes, start: int, end: int) -> bytes:
    """A range written twice in a row."""
    return data[:end] + data[start:end] + data[end:]


def every_flip(data: bytes, mask: int = 0xFF, step: int = 1) -> Iterator[tuple[int, bytes]]:
    """`(offset, damaged)` for each byte."""
    for offset in range(0, len(data), step):
        yield offset, flip(data, offset, mask)


def every_truncation(data: bytes, step: int = 1) -> Iterator[tuple[int, bytes]]:
    """`(length, cut)` for each shorter length."""
    for length in range(0, len(data), step):
        yield length, data[:length]


def sample_offsets(size: int, count: int, seed: int = 0) -> list[int]:
    """`count` distinct, reproducible offsets below `size` (all of them when there are fewer)."""
    if size <= count:
        return list(range(size))
    return sorted(random.Random(seed).sample(range(size), count))  # noqa: S311 - reproducible is what is wanted
