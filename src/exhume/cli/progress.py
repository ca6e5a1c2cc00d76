"""Progress on a terminal: how much is done, of how much, how fast."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from exhume.archive import Progress, no_progress
from exhume.cli.render import human_size
from exhume.counts import counting
from exhume.io import activity
from exhume.io.tree import Tree

if TYPE_CHECKING:
    from exhume.io.source import Source

PROGRESS_AFTER = 1.0
"""Seconds before a progress bar appears: short work needs none."""


LEAST = 1 << 20
"""Bytes that must have been read before they are shown next to another unit: those of small items say nothing."""

LABEL_WIDTH = 24
"""Characters of the label, such as the end of a path: 80 columns then have space for bar and numbers."""


class ProgressBar:
    """A rich progress bar that appears after `PROGRESS_AFTER` seconds, also if nothing is reported until then.

    It shows what the callback reports.  While that is not in bytes (`3 of 8 splits`) or nothing, it also shows how many
    bytes were read or copied, of how many, and how fast: one large item is not silent.

    A context manager that returns the callback, which any thread may call.
    """

    def __init__(self, label: str, *, shown: bool, total: Callable[[], int | None] | None = None) -> None:
        """Prepare a bar, which appears only if `shown`.

        `total` returns the bytes that will be read, None if unknown; it is called at most once, when the bar appears.
        """
        self._shown = shown
        self._label = label if len(label) <= LABEL_WIDTH else f"…{label[1 - LABEL_WIDTH :]}"
        self._start = time.monotonic()  # seconds
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None  # makes the bar appear
        self._bar: Any = None  # `rich.progress.Progress`, made when the bar appears
        self._task: Any = None  # rich's number of the only line of the bar
        self._last = 0.0  # when it was drawn last
        self._latest: tuple[int, int | None, str] | None = None  # (done, total, unit) as reported last
        self._total, self._size = total, 0  # the size is what `total` returned; 0: unknown
        self._moved = 0  # bytes read or copied so far, in all threads
        self._phase = self._start, 0
        """When the current unit was first reported, and the bytes that had been moved until then."""
        self._counting = ExitStack()  # while entered, reads and copies are counted by `_count`

    def __enter__(self) -> Progress:
        """Begin to count, and return the callback that takes reports."""
        if not self._shown:
            return no_progress
        self._timer = threading.Timer(PROGRESS_AFTER, self._appear)
        self._timer.daemon = True
        self._timer.start()
        self._counting.enter_context(activity.counting(self._count))
        return self._update

    def __exit__(self, *error: object) -> None:
        self._counting.close()
        self.end()

    def end(self) -> None:
        """Remove the bar for good."""
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            if self._bar is not None:
                self._show()
                self._bar.stop()
            self._shown = False

    def _appear(self) -> None:
        """Show the bar with the latest report, if there is one."""
        if self._total is not None:
            self._size = self._total() or 0
        with self._lock:
            self._show()

    def _update(self, done: int, total: int | None, unit: str) -> None:
        """Show the progress, at most ten times a second; `total` is None if it is unknown."""
        now, before = time.monotonic(), self._latest
        self._latest = done, total, unit
        # Another unit, or a count that starts again: the work has entered another phase.
        if before is not None:
            done_before, _, unit_before = before
            if unit_before != unit or done_before > done:
                self._phase = now, self._moved
                self._size = 0  # the total is that of the first phase
        self._show_at(now)

    def _count(self, size: int) -> None:
        """Add bytes that were read or copied."""
        with self._lock:
            self._moved += size
        self._show_at(time.monotonic())

    def _show_at(self, now: float) -> None:
        """Draw the bar if it is time for it to appear and it was not drawn in the last tenth of a second."""
        if now - self._start < PROGRESS_AFTER or now - self._last < 0.1:
            return
        with self._lock:
            self._last = now
            self._show()

    def _show(self) -> None:
        """Draw the bar, or update it."""
        if not self._shown:
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("{task.description}", markup=False),  # a path may contain brackets
                BarColumn(bar_width=None),
                TextColumn("{task.fields[text_shown]}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
                redirect_stdout=sys.stdout.isatty(),  # a file would lose output
            )
            self._bar.start()
            self._task = self._bar.add_task(self._label, total=None, text_shown="")
        self._bar.update(self._task, **self._state())

    def _state(self) -> dict[str, Any]:
        """State of the bar: `completed`, `total` and `text_shown`."""
        started, before = self._phase
        seconds, moved = max(time.monotonic() - started, 0.1), self._moved - before
        done, total, unit = self._latest or (0, None, "")
        # The report counts bytes itself, or too little was read to show it.
        if self._latest is not None and (unit.startswith("bytes") or moved < LEAST):
            text = f"{format_progress(done, total, unit)}, {rate(done, seconds, unit)}"
            return {"completed": done, "total": total, "text_shown": text}
        size = self._size if moved <= self._size else None
        text = f"{format_progress(moved, size, 'bytes read')}, {rate(moved, seconds, 'bytes')}" if moved else ""
        # Nothing is reported yet: only the bytes that were read.
        if self._latest is None:
            return {"completed": moved, "total": size, "text_shown": text}
        # Both: the bar, from 0 to 1, follows the larger share, since one item may be most of the bytes.
        shares = [part / whole for part, whole in ((done, total), (moved, size)) if whole]
        return {
            "completed": max(shares, default=0),
            "total": 1 if shares else None,
            "text_shown": f"{format_progress(done, total, unit)}, {text}",
        }


def format_progress(done: int, total: int | None, unit: str) -> str:
    """The progress so far: `2.0 MiB of 6.5 MiB`, `3 of 8 splits`, or without a known total `1,024 records`."""
    head, _, rest = unit.partition(" ")
    if head == "bytes":
        parts = [human_size(one) for one in (done, total) if one is not None]
        return " of ".join(parts) + (f" {rest}" if rest else "")
    return f"{done:,} {counting(unit, done)}" if total is None else f"{done:,} of {total:,} {counting(unit, total)}"


def rate(done: int, seconds: float, unit: str) -> str:
    """The speed of the work: `12.0 MiB/s`, `3.5 splits/s`, `1,024 records/s`."""
    per_second = done / seconds
    if unit.partition(" ")[0] == "bytes":
        return f"{human_size(round(per_second))}/s"
    return f"{per_second:,.0f} {unit}/s" if per_second >= 10 else f"{per_second:.1f} {unit}/s"


def total_size(names: Iterable[str]) -> int | None:
    """The bytes of these files together; None if one does not exist."""
    sizes = [_file_size(name) for name in names]
    return None if None in sizes else sum(size or 0 for size in sizes)


def with_total(progress: Progress, *names: str) -> Progress:
    """Return `progress` with the total size of these files filled in; unchanged if a file does not exist."""
    size = total_size(names)
    if size is None:
        return progress

    def report(done: int, total: int | None, unit: str) -> None:
        """Report progress in bytes with the total size, until more is done than that."""
        known = size if total is None and unit == "bytes" and done <= size else total
        progress(done, known, unit)

    return report


class Announcing(Protocol):
    """Output that calls `on_terminal` before it writes to a terminal."""

    on_terminal: Callable[[], object] | None


@contextmanager
def reading(out: Announcing, bar: ProgressBar) -> Iterator[None]:
    """Show a bar until output goes to the terminal."""
    with bar:
        out.on_terminal = bar.end
        try:
            yield
        finally:
            out.on_terminal = None


def size_of(opened: Source | Tree) -> int | None:
    """The bytes of a file, or of all files of a directory; None where that is not known without requests."""
    if not isinstance(opened, Tree):
        return opened.size
    sizes: list[int | None] = [opened.listed_size(name) for name in opened.names()]
    if opened.location is not None and not opened.is_remote:
        sizes = [_file_size(os.path.join(opened.location, name)) for name in opened.names()]  # noqa: PTH118
    return None if None in sizes else sum(size or 0 for size in sizes)


def _file_size(path: str) -> int | None:
    """Return the size of a file in bytes; None if it cannot be determined."""
    try:  # `pathlib` takes 3 % of a short command to load
        return os.stat(path).st_size  # noqa: PTH116
    except OSError:
        return None
