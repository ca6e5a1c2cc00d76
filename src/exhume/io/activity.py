"""Record of a run's activity for observers: files and objects for `--audit`, decompressed sizes for `exhume map`.

`map` shows how large each section is decompressed, which most formats do not state: it verifies the archive first, and
what that had to decompress is not decompressed again.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from exhume.errors import Span

Path = str | os.PathLike[str]


class RunObserver:
    """Is called for everything and does nothing: `--audit` installs a subclass that keeps records."""

    def on_open(self, path: Path) -> None:
        """A file or directory will be read."""

    def on_read(self, path: Path, start: int, end: int) -> None:
        """Bytes `[start, end)` of a file that was opened are read."""

    def on_fetch(self, name: str, facts: Mapping[str, Any], start: int, data: bytes) -> None:
        """A store sent the bytes of a remote object that begin at `start`; `facts` are the object's metadata."""

    def on_write(self, path: Path) -> None:
        """A file or directory was written, under the name that it keeps."""

    def on_result(self, what: str, facts: Mapping[str, Any]) -> None:
        """Something was found out: a finding, an archive that was carved, what was salvaged."""


current: RunObserver | None = None
"""The observer of this process; one at most."""

counted: Callable[[int], object] | None = None
"""Called by any thread with the number of bytes of each read of a file or object, and of each step of a copy that the
system makes, for progress; nothing is read in another way for it."""


def count(size: int) -> None:
    """Report the number of bytes that are read or copied."""
    report = counted  # once: another thread may reset it
    if report is not None:
        report(size)


@contextmanager
def counting(report: Callable[[int], object]) -> Iterator[None]:
    """Call `report` for each read and step of a copy in the body of a `with`."""
    global counted  # noqa: PLW0603 - one for all threads
    before, counted = counted, report
    try:
        yield
    finally:
        counted = before


@contextmanager
def stepping(
    progress: Callable[[int, int | None, str], None], done: int, size: int, total: int | None, unit: str = "bytes"
) -> Iterator[None]:
    """Report the progress within one large item of `size` bytes, which the body of a `with` reads or copies.

    `done` are the bytes before it, `total` those of all items.  At its end, all of the item is done.
    """
    moved, lock = 0, threading.Lock()

    def step(more: int) -> None:
        """Report `more` bytes of the item, never more than its size."""
        nonlocal moved
        with lock:
            moved = min(moved + more, size)
            progress(done + moved, total, unit)

    with counting(step):
        yield
    progress(done + size, total, unit)


Sizes = dict[tuple[str, int], int]
"""Decompressed bytes by the source and the start of what they were stored as."""

_sizes: ContextVar[Sizes | None] = ContextVar("sizes", default=None)  # None: sizes are not collected


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
    """Note the sizes of several decompressed payloads of a file, as `note_payload` does for one."""
    found = _sizes.get()
    if found is not None:
        found.update(zip(((source, start) for start in starts), sizes, strict=True))
