"""A failing disk, simulated in this process: one system call fails, is truncated, or is the last one.

Whatever Python code does with files goes through functions of `os` while a `Disk` is entered: `open` is the standard
library's own Python form of it.  What extension modules do by themselves (SQLite, the compiled kernel) does not.
"""

from __future__ import annotations

import _pyio  # type: ignore[import-not-found]  # the standard library, which is not annotated
import builtins
import errno
import functools
import gc
import io
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, Self

import exhume

CALLS: dict[str, tuple[str, ...]] = {
    "open": ("open",),
    "read": ("read", "pread", "readv", "preadv"),
    "write": ("write", "pwrite", "writev", "sendfile", "copy_file_range"),
    "sync": ("fsync", "fdatasync"),
    "rename": ("rename", "replace", "link"),
    "close": ("close",),
    "mkdir": ("mkdir",),
    "unlink": ("unlink", "remove", "rmdir"),
    "truncate": ("ftruncate", "truncate"),
    "mode": ("chmod", "fchmod"),
}
"""What is counted together, with the functions of `os` that do it."""

_PROGRAM = (os.path.dirname(exhume.__file__), sys.prefix, sys.base_prefix)  # noqa: PTH120 - compared as text

ERRORS = ("EIO", "ENOSPC", "EINTR")
"""Errors that every kind of call is tried with."""

SHORT = "short"
"""A read or write of half the requested bytes, which is not an error."""

EMPTY = "empty"
"""A read that says that the file ends here, although it does not."""

FULL = "full"
"""A write that finds the disk full; later writes fail too, until the context ends."""

KILL = "kill"
"""The process ends here, in the middle of the call if that is a write."""


def ways(kind: str) -> tuple[str, ...]:
    """How a kind of call can fail, `KILL` aside."""
    return (*ERRORS, *{"read": (SHORT, EMPTY), "write": (SHORT, FULL)}.get(kind, ()))


class Disk:
    """A context manager that counts calls by kind (`calls`) and makes call `number` of `kind`, from 0, fail as
    requested.

    `struck` is the name of the function that failed, None as long as none has.  Calls of other threads, and files of
    the interpreter and its packages, are not examined.  The collector of garbage does not run meanwhile: it would
    close what others left open, and that would count.  Only one may be entered at a time.
    """

    def __init__(self, kind: str | None = None, number: int = 0, how: str = "EIO") -> None:
        """Fail call `number` of `kind` (None: only count calls) in the manner `how`."""
        self.calls: Counter[str] = Counter()
        self.struck: str | None = None
        self._where = (kind, number)
        self.how = how
        self._real: dict[str, Callable[..., Any]] = {}
        self._own: set[int] = set()

    def __enter__(self) -> Self:
        """Replace the functions of `os` and `open`, until `__exit__`."""
        self._thread = threading.get_ident()
        self._collects = gc.isenabled()
        gc.disable()
        for kind, names in CALLS.items():
            for name in names:
                if hasattr(os, name):
                    self._real[name] = getattr(os, name)
                    setattr(os, name, self._counted(kind, self._real[name]))
        self._open = io.open
        io.open = builtins.open = _pyio.open
        return self

    def __exit__(self, *exc: object) -> None:
        io.open = builtins.open = self._open
        for name, real in self._real.items():
            setattr(os, name, real)
        if self._collects:
            gc.enable()

    def _counted(self, kind: str, real: Callable[..., Any]) -> Callable[..., Any]:
        """A function in place of `real` that counts its calls in this thread and lets the chosen one fail."""

        @functools.wraps(real)
        def call(*args: Any, **more: Any) -> Any:
            """Count the call, and let it fail if it is the chosen one. Other threads pass."""
            if threading.get_ident() != self._thread:
                return real(*args, **more)
            if self._is_own(kind, args):
                return self._pass(kind, real, args, more)
            here = (kind, self.calls[kind])
            self.calls[kind] += 1
            if here == self._where or (self.how == FULL and self.struck and kind == "write"):
                return self._strike(kind, real, args, more)
            return real(*args, **more)

        return call

    def _is_own(self, kind: str, args: tuple[Any, ...]) -> bool:
        """Whether a call is about a file of the program itself."""
        if not args or isinstance(args[0], int):
            return bool(args) and args[0] in self._own
        return kind == "open" and isinstance(args[0], str | os.PathLike) and os.fspath(args[0]).startswith(_PROGRAM)

    def _pass(self, kind: str, real: Callable[..., Any], args: tuple[Any, ...], more: dict[str, Any]) -> Any:
        """Make the call, and keep track of descriptors that are not part of the test."""
        result = real(*args, **more)
        if kind == "open":
            self._own.add(result)
        elif kind == "close":
            self._own.discard(args[0])
        return result

    def _strike(self, kind: str, real: Callable[..., Any], args: tuple[Any, ...], more: dict[str, Any]) -> Any:
        """Fail as `how` requests: return nothing or a part, end the process, or raise `OSError`."""
        self.struck = real.__name__
        if self.how == EMPTY:
            return b"" if real.__name__ in ("read", "pread") else 0
        if self.how == SHORT:
            return real(*_half(real.__name__, args), **more)
        if kind == "write":
            real(*_half(real.__name__, args), **more)  # data on its way to the disk may arrive, or a part of it
        if self.how == KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == "close":
            real(*args)  # as on Linux: whatever close returns, the descriptor is gone
        code = errno.ENOSPC if self.how == FULL else getattr(errno, self.how)
        raise OSError(code, os.strerror(code))


def _half(name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a read or write for half of its bytes, but at least one."""
    if name in ("read", "pread"):
        return args[0], (args[1] + 1) // 2, *args[2:]
    if name in ("write", "pwrite"):
        data = memoryview(args[1]).cast("B")
        return args[0], data[: max(1, len(data) // 2)], *args[2:]
    if name in ("writev", "readv", "preadv"):
        first = memoryview(args[1][0]).cast("B")
        return args[0], [first[: max(1, len(first) // 2)]], *args[2:]
    count = 3 if name == "sendfile" else 2
    return *args[:count], max(1, args[count] // 2), *args[count + 1 :]
