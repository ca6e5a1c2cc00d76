"""What one input may do: raise `ExhumeError`, take 2 s of the processor and 64 MB, and write into its own folder."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from exhume.errors import ExhumeError
from tests.sizes import peak_memory

SECONDS = 2.0
"""Time of the processor for one input of at most `SIZE` bytes, without instrumentation."""
MEMORY = 64 << 20
"""Bytes that one input may make the process grow by."""
SIZE = 4096
"""Bytes of one input."""


class BoundError(AssertionError):
    """An input passed a bound; names which."""


class Guard:
    """Runs a function on inputs, and judges what it did.

    `factor` widens the bounds of time, for code that is instrumented; memory is not judged under AddressSanitizer,
    which keeps what was freed.
    """

    def __init__(self, function: Callable[[bytes], object], folder: Path, *, factor: float = 1.0) -> None:
        self._function, self._folder = function, folder
        self._seconds = SECONDS * factor
        self._memory = sys.platform == "linux" and "asan" not in os.environ.get("LD_PRELOAD", "")
        self._floor = 0
        tempfile.tempdir = os.fspath(folder)
        self._escaped: list[str] = []
        if not _WATCHING:
            _WATCHING.append(None)
            sys.addaudithook(_watch)  # for good: there is no taking one away

    def __call__(self, data: bytes) -> None:
        """Raise what the function raised and must not, and `BoundError`."""
        before = time.process_time()
        self._run(data)
        took = time.process_time() - before
        if took > self._seconds:
            raise BoundError(f"took {took:.1f} s of the processor")
        if self._memory and peak_memory() - self._floor > MEMORY:
            self._measure(data)

    def _run(self, data: bytes) -> None:
        _WATCHING[0] = self
        compiled, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:
            self._function(data)
        except ExhumeError:
            pass
        finally:
            _WATCHING[0], sys.dont_write_bytecode = None, compiled
        if self._escaped:
            raise BoundError(f"outside of its folder: {self._escaped.pop()}")

    def _measure(self, data: bytes) -> None:
        """Run once more, to separate the memory of this input from that of earlier ones."""
        if self._floor:
            _forget_peak()
            start = peak_memory()
            self._run(data)
            if (grown := peak_memory() - start) > MEMORY:
                raise BoundError(f"took {grown >> 20} MB")
        _forget_peak()
        self._floor = peak_memory()

    def note(self, event: str, args: tuple[Any, ...]) -> None:
        """Note what touches files elsewhere, start a process or open a connection."""
        if (positions := _PATHS.get(event)) is None or (event == "open" and not _writes(args)):
            return
        if not positions or any(_is_outside(args[at], self._folder) for at in positions):
            self._escaped.append(f"{event} {args!r:.300}")


_WATCHING: list[Guard | None] = []
"""The guard of the input that runs; empty before the first guard."""


def _watch(event: str, args: tuple[Any, ...]) -> None:
    """The audit hook of the process."""
    if _WATCHING[0] is not None:
        _WATCHING[0].note(event, args)


_PATHS = {
    "open": (0,), "os.mkdir": (0,), "os.rename": (0, 1), "os.remove": (0,), "os.rmdir": (0,), "os.link": (1,),
    "os.symlink": (1,), "os.truncate": (0,), "os.chmod": (0,), "os.utime": (0,), "os.system": (), "os.exec": (),
    "os.posix_spawn": (), "subprocess.Popen": (), "socket.connect": (), "socket.getaddrinfo": (),
}  # fmt: skip
"""Events of the interpreter that change something outside of it, and which arguments are paths; none: never allowed."""


def _writes(args: tuple[Any, ...]) -> bool:
    _, mode, flags = args
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return bool((flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC))


def _is_outside(path: Any, folder: Path) -> bool:
    """Whether an absolute path leads elsewhere; paths relative to an open directory are judged by its content."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        return False
    place = Path(os.path.normpath(os.fsdecode(path)))
    return place.is_absolute() and place != Path(os.devnull) and folder not in (place, *place.parents)


def _forget_peak() -> None:
    """Reset the peak to the current memory (Linux)."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
