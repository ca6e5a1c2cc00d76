"""The only place that computes checksums: thin, typed wrappers of the fast implementations.

`initial` is the checksum of the bytes before `data`, to continue with it.
"""

from __future__ import annotations

import zlib
from typing import Any, Protocol

import fastcrc


class Hasher(Protocol):
    """Result of `sha256()`: the methods of a `hashlib` object that are used."""

    def update(self, data: bytes | bytearray | memoryview, /) -> None: ...
    def digest(self) -> bytes: ...
    def hexdigest(self) -> str: ...


def crc64_xz(data: bytes | bytearray | memoryview, initial: int | None = None) -> int:
    """CRC-64/XZ (reflected, init and xorout all ones; check value 0x995dc9bbdf1939fa)."""
    return int(fastcrc.crc64.xz(data, initial))


def crc32c(data: bytes | bytearray | memoryview, initial: int | None = None) -> int:
    """CRC-32C, Castagnoli (check value 0xe3069283)."""
    return int(fastcrc.crc32.iscsi(data, initial))


_MASK_DELTA = 0xA282EAD8
"""The constant that LevelDB adds to a checksum that it stores."""


def mask_crc32c(crc: int) -> int:
    """LevelDB's masking: rotate right 15 bits, add a constant (so that CRCs of CRCs stay useful)."""
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF


def masked_crc32c(data: bytes | bytearray | memoryview) -> int:
    """The masked CRC-32C of `data`, as LevelDB stores it."""
    return mask_crc32c(crc32c(data))


def crc32(data: bytes | bytearray | memoryview, initial: int = 0) -> int:
    """CRC-32 (zip, gzip)."""
    return zlib.crc32(data, initial)


def adler32(data: bytes | bytearray | memoryview, initial: int = 1) -> int:
    """Adler-32 (zlib streams)."""
    return zlib.adler32(data, initial)


def sha256(data: bytes | bytearray | memoryview = b"") -> Hasher:
    """A SHA-256 hasher, fed with `data`."""
    import hashlib

    return hashlib.sha256(data)


def md5(data: bytes | bytearray | memoryview = b"") -> Hasher:
    """An MD5 hasher."""
    import hashlib

    return hashlib.md5(data, usedforsecurity=False)


def xxhash32(data: bytes | bytearray | memoryview) -> int:
    """xxHash-32 with seed 0."""
    import xxhash

    return xxhash.xxh32_intdigest(data)


def xxhash64(data: bytes | bytearray | memoryview) -> int:
    """xxHash-64 with seed 0."""
    import xxhash

    return xxhash.xxh64_intdigest(data)


def xxh3_64(data: bytes | bytearray | memoryview) -> int:
    """XXH3, 64 bits, with seed 0."""
    import xxhash

    return xxhash.xxh3_64_intdigest(data)


class RunningChecksum:
    """A checksum of bytes that come in chunks: `crc32c`, `xxhash32`, `xxhash64`, `xxh3`, or `none`, which is 0."""

    def __init__(self, kind: str) -> None:
        """Start a checksum of `kind`: xxhash32, xxhash64, xxh3, crc32c or none."""
        self._crc: int | None = 0  # the CRC-32C so far; None for `none`
        self._engine: Any = None  # the hasher of `xxhash`, if `kind` is one of its
        if kind.startswith("xx"):
            import xxhash

            self._engine = {"xxhash32": xxhash.xxh32, "xxhash64": xxhash.xxh64, "xxh3": xxhash.xxh3_64}[kind]()
        elif kind != "crc32c":
            self._crc = None

    def update(self, data: bytes) -> None:
        """Add bytes."""
        if self._engine is not None:
            self._engine.update(data)
        elif self._crc is not None and data:
            self._crc = crc32c(data, self._crc)

    def value(self, more: bytes = b"") -> int:
        """The checksum so far, as if `more` had been added."""
        if self._engine is None:
            return 0 if self._crc is None else crc32c(more, self._crc) if more else self._crc
        if not more:
            return int(self._engine.intdigest())
        engine = self._engine.copy()
        engine.update(more)
        return int(engine.intdigest())
