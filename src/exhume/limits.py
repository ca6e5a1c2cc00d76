"""Every cap on what hostile input may cost, in one place, each with its reason.

An incorrect or malicious archive may claim any size; a cap is what exhume allocates or decodes at most.
"""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Self

from exhume.choices import hint
from exhume.errors import LimitExceededError, Span, WriterError
from exhume.tuples import NamedTuple

KIB = 1 << 10  # bytes
MIB = 1 << 20
GIB = 1 << 30


class _Caps(NamedTuple):
    """The fields of `Limits`."""

    payload_size: int = 1 * GIB
    """Decompressed bytes in memory at once: of a block, record, message or dictionary, or of a window of a table."""

    expansion: int = 32_768
    """Decompressed bytes per stored byte above `expansion_floor`; zstd stores 128 KiB of one byte in four bytes."""

    expansion_floor: int = 64 * MIB
    """Payloads up to this size are never refused for their ratio."""

    structure_size: int = 256 * MIB
    """Size of one header, index or metadata structure that has to be parsed as a whole."""

    index_size: int = 4 * GIB
    """Size of an index that is scanned, not parsed as a whole (CAF: the format's own 32-bit limit)."""

    entries: int = 50_000_000
    """Entries of one table of contents held in memory."""

    depth: int = 100
    """Nesting in the index of a CAF chunk, 100 at most; rbuf values have a bound of their own, of that size, and other
    nesting is bounded by the interpreter's recursion limit, and reported as too deep.
    """

    name_size: int = 64 * KIB
    """Length of one member name: how far before a broken index carving looks for where it begins."""

    output_size: int = 1024 * GIB
    """Bytes that one extraction may write: members can overlap, so the content of a small archive has no bound."""

    output_files: int = 50_000_000
    """Files and directories that one extraction makes: as many as a table of contents may name."""


class Limits(_Caps):
    """Caps in bytes or counts; passing one raises `LimitExceededError`, which names the cap to raise.

    They bound what a *claim* in a file can make exhume allocate, not what a file may contain.  A negative cap raises
    `ValueError`.

    Attributes:
        payload_size: Decompressed bytes of one payload (block, record, message, dictionary) that are held in memory.
        expansion: Decompressed bytes per stored byte above `expansion_floor`.
        expansion_floor: Payloads up to this size are never refused for their ratio.
        structure_size: Bytes of one header, index or metadata structure that has to be parsed as a whole.
        index_size: Bytes of an index that is scanned, not parsed as a whole.
        entries: Entries of one table of contents held in memory.
        depth: Nesting in the index of a CAF chunk, 100 at most.
        name_size: Bytes of one member name of a CAF chunk that is looked for in an image.
        output_size: Bytes that one extraction writes.
        output_files: Files and directories that one extraction makes.

    Example:
        >>> exhume.open("words.zs", limits=exhume.Limits(payload_size=1 << 20)).limits.payload_size
        1048576
    """

    __slots__ = ()

    if not TYPE_CHECKING:  # type checkers see the fields

        @functools.wraps(_Caps.__new__)
        def __new__(cls, *caps: int, **named: int) -> Self:
            made = super().__new__(cls, *caps, **named)
            for name, cap in zip(cls._fields, made, strict=True):
                if cap < 0:
                    raise ValueError(f"the limit {name} cannot be negative: {cap}")
            return made

        _Caps.__new__.__annotations__.update(dict.fromkeys(_Caps._fields, int))  # what `help()` shows
        __new__.__doc__ = "Create limits; raise `ValueError` for a negative cap."

    def __repr__(self) -> str:
        """Only the caps that are not the default: signatures and `help()` show `Limits()`."""
        changed = [f"{name}={cap}" for name, cap in self._asdict().items() if cap != self._field_defaults[name]]
        return f"{type(self).__name__}({', '.join(changed)})"

    def check(self, name: str, value: int, span: Span | None = None) -> None:
        """Raise `LimitExceededError` when `value` passes the cap `name`."""
        cap = getattr(self, name)
        if value > cap:
            raise LimitExceededError(
                f"limit {name} exceeded",
                span=span,
                expected=f"at most {cap}",
                actual=value,
            )

    def expansion_budget(self, stored_size: int) -> int:
        """Return the most bytes that `stored_size` stored bytes may decompress to, in windows."""
        return max(self.expansion_floor, stored_size * self.expansion)

    def payload_budget(self, stored_size: int) -> int:
        """Return the most bytes that a payload of `stored_size` stored bytes may decompress to, in memory."""
        return min(self.payload_size, self.expansion_budget(stored_size))

    def with_overrides(self, assignments: list[str]) -> Limits:
        """Apply `NAME=VALUE` strings (decimal, optional K/M/G suffix); raise `WriterError` for anything else."""
        known = set(self._fields)
        out = self
        for text in assignments:
            name, eq, value = text.partition("=")
            name = name.strip().replace("-", "_")
            if not eq or name not in known:
                suggestion = hint(name, known) if eq else " (it takes NAME=VALUE)"
                raise WriterError(
                    f"unknown limit {text!r}{suggestion}: one of {', '.join(sorted(known))}", code="EX-703"
                )
            out = out._replace(**{name: parse_size(value)})
        return out


def parse_size(text: str) -> int:
    """A count or size such as `384K`, `32GiB`, `1_000`; suffixes are powers of 1024.  Raises `WriterError`."""
    raw = text.strip()
    scale = 1
    upper = raw.upper().removesuffix("IB").removesuffix("B")
    if upper and upper[-1] in "KMGT":
        scale = 1 << (10 * ("KMGT".index(upper[-1]) + 1))  # K: 1 << 10, M: 1 << 20 ...
        upper = upper[:-1]
    try:
        number = float(upper) if "." in upper else int(upper)
        size = int(number * scale)
    except (ValueError, OverflowError):  # the latter: beyond the range of a double
        raise WriterError(f"not a size: {text!r} (examples: 4096, 384K, 32G)", code="EX-704") from None
    if number < 0:
        raise WriterError(f"not a size: {text!r} is negative", code="EX-704")
    return size


DEFAULT_LIMITS = Limits()
"""The caps unless the caller chooses others."""


def cpu_count() -> int:
    """Usable cores: the most threads that make sense (`--jobs 0`)."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
