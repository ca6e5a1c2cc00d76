"""Decompressed sizes, noted where something is decompressed for another purpose.

`exhume map` shows how large each section is decompressed, which most formats do not state: it verifies the archive
first, and what that had to decompress is not decompressed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from exhume.errors import Span

Sizes = dict[tuple[str, int], int]
"""Decompressed bytes by the source and the start of what they were stored as."""

_sizes: ContextVar[Sizes | None] = ContextVar("sizes", default=None)


@contextmanager
def measuring() -> Iterator[Sizes]:
    """Collect the sizes that are noted until the end of the block, in this thread and those that it maps over."""
    found: Sizes = {}
    token = _sizes.set(found)
    try:
        yield found
    finally:
        _sizes.reset(token)


def note_payload(stored: Span, size: int) -> None:
    """Record that the payload stored at a span has `size` bytes decompressed."""
    found = _sizes.get()
    if found is not None:
        found[stored.source, stored.start] = size


def note_payloads(source: str, starts: Iterable[int], sizes: Iterable[int]) -> None:
    """The same for payloads at several places of a file."""
    found = _sizes.get()
    if found is not None:
        found.update(zip(((source, start) for start in starts), sizes, strict=True))
