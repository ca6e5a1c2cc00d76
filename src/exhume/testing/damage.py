"""Damage for tests: helpers that always change the bytes, every damage of a kind, and how a reader deals with each.

`Disk` simulates a failing disk in this process: one system call fails, is truncated, or is the last one.  Whatever
Python code does with files goes through functions of `os` while a `Disk` is entered: `open` is the standard library's
own Python form of it.  What extension modules do by themselves (SQLite, the compiled kernel) does not.
"""

from __future__ import annotations

import _pyio  # type: ignore[import-not-found]
import builtins
import enum
import errno
import functools
import gc
import hashlib
import io
import json
import os
import random
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import itemgetter
from typing import Any, Self

import exhume
from exhume.archive import MemberArchive
from exhume.errors import ExhumeError
from exhume.findings import Severity, Verdict
from exhume.io.jsonout import jsonable
from exhume.io.tree import MemoryTree
from exhume.tuples import NamedTuple


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
    (start, end), (later, last) = first, second
    if not start <= end <= later <= last <= len(data):
        raise ValueError("ranges overlap or are out of order")
    return data[:start] + data[later:last] + data[end:later] + data[start:end] + data[last:]


def duplicate(data: bytes, start: int, end: int) -> bytes:
    """A range written twice in a row."""
    return data[:end] + data[start:end] + data[end:]


def every_flip(data: bytes, mask: int = 0xFF, step: int = 1) -> Iterator[tuple[int, bytes]]:
    """`(offset, damaged)` for each byte, or for one in `step` bytes."""
    for offset in range(0, len(data), step):
        yield offset, flip(data, offset, mask)


def every_truncation(data: bytes, step: int = 1) -> Iterator[tuple[int, bytes]]:
    """`(length, cut)` for each shorter length, or for one in `step` lengths."""
    for length in range(0, len(data), step):
        yield length, data[:length]


def sample_offsets(size: int, count: int, seed: int = 0) -> list[int]:
    """`count` distinct, reproducible offsets below `size` (all of them when there are fewer)."""
    if size <= count:
        return list(range(size))
    return sorted(random.Random(seed).sample(range(size), count))  # noqa: S311 - reproducible is what is wanted


SECTOR = 512
"""Bytes of a sector of a disk."""


class Damage(NamedTuple):
    """One change of a file: its kind, its offset, and a function that applies it."""

    kind: str
    offset: int
    change: Callable[[bytes], bytes]


class DamageOutcome(enum.StrEnum):
    """Outcome of a damage."""

    FOUND = "found"  # verify, or reading all of it, says that something is wrong or could not be checked
    WARNED = "warned"  # verify warns, but calls it ok: the bytes may be meant so
    HARMLESS = "harmless"  # nothing is reported, and everything that is read is unchanged
    UNNOTICED = "unnoticed"  # nothing is reported, and something that is read differs
    CRASHED = "crashed"  # an error other than one of exhume's came out


def every_bit(data: bytes) -> Iterator[Damage]:
    """Each bit flipped."""
    for offset in range(len(data)):
        for bit in range(8):
            yield Damage("bit", offset, partial(flip, offset=offset, mask=1 << bit))


def every_cut(data: bytes) -> Iterator[Damage]:
    """The file cut at each byte."""
    for offset in range(len(data)):
        yield Damage("cut", offset, itemgetter(slice(offset)))


def every_sector(data: bytes, size: int = SECTOR) -> Iterator[Damage]:
    """Each sector zeroed, then exchanged with the next one; changes without effect are left out."""
    for offset in range(0, len(data), size):
        changes = {"zeroed sector": partial(zero_sector, offset=offset, size=size)}
        end = min(offset + 2 * size, len(data))
        if offset + size < end:
            changes["swapped sectors"] = partial(swap, first=(offset, offset + size), second=(offset + size, end))
        for kind, change in changes.items():
            if change(data) != data:
                yield Damage(kind, offset, change)


def every_damage(data: bytes) -> Iterator[Damage]:
    """All of these, one kind after the other."""
    yield from every_bit(data)
    yield from every_cut(data)
    yield from every_sector(data)


Files = Mapping[str, bytes]
"""The files of an archive by name; one that is a single file has the name ""."""


def content(archive: Any) -> str:
    """SHA-256 over an archive's whole content, in its order, and over its `info` except file sizes."""
    facts = json.dumps(_without_sizes(jsonable(archive.info().to_dict())), sort_keys=True)
    found = hashlib.sha256(facts.encode("utf-8", "surrogatepass"))
    for item in _items(archive):
        found.update(b"%d\0" % len(item) + item)
    return found.hexdigest()


def _without_sizes(value: Any) -> Any:
    """Return JSON values without the sizes of files, which damage that adds or removes bytes changes."""
    if isinstance(value, dict):
        return {key: _without_sizes(item) for key, item in value.items() if key not in ("size", "stored_size")}
    return [_without_sizes(item) for item in value] if isinstance(value, list) else value


def _items(archive: Any) -> Iterator[bytes]:
    """Everything in an archive, in its order: members with names, keys and values, records, messages or lines."""
    if isinstance(archive, MemberArchive):
        for name in sorted(archive.names()):
            yield name.encode("utf-8", "surrogatepass")
            if archive.stat(name).kind != "directory":
                yield archive.read_member(name)
    elif archive.format == "leveldb":
        yield from (part for row in archive.database.live_versions() for part in (row.key, row.value))
    elif archive.format == "zs":
        yield from archive.records()
    elif archive.format == "ark":
        for message in archive.messages():
            yield f"{message.time_ns} {message.channel}".encode() + bytes(message.data)
    else:
        yield from archive.json_lines()


def target_of(files: Files) -> Any:
    """A target that opens as the archive that consists of the files."""
    return files[""] if set(files) == {""} else MemoryTree(files)


def judge(files: Files, name: str, damage: Damage, format: str, usual: str) -> DamageOutcome:
    """Determine the outcome of a damage of the file `name`; `usual` is the `content` of the undamaged archive."""
    damaged = {**files, name: damage.change(files[name])}
    try:
        severities = {one.severity for one in exhume.verify(target_of(damaged), format=format)}
        if Verdict.of_severities(severities) is not Verdict.OK:
            return DamageOutcome.FOUND
        with exhume.open(target_of(damaged), format=format) as archive:
            same = content(archive) == usual
        return (
            DamageOutcome.WARNED
            if Severity.WARNING in severities
            else DamageOutcome.HARMLESS
            if same
            else DamageOutcome.UNNOTICED
        )
    except ExhumeError:
        return DamageOutcome.FOUND
    except Exception:  # the test is that nothing else is raised
        return DamageOutcome.CRASHED


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
"""Groups of calls that are counted together, with the functions of `os` that make them."""

_PROGRAM = (os.path.dirname(exhume.__file__), sys.prefix, sys.base_prefix)  # noqa: PTH120 - compared as text
"""Directories of exhume and of the interpreter; opening their files is not part of a test."""

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
    """Ways in which a kind of call can fail, `KILL` aside."""
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
        self._where = (kind, number)  # the call that fails
        self.how = how
        self._real: dict[str, Callable[..., Any]] = {}  # the functions of `os` that were replaced
        self._own: set[int] = set()  # descriptors of files of the program

    def __enter__(self) -> Self:
        """Replace the functions of `os` and `open`, until `__exit__`."""
        self._thread = threading.get_ident()  # calls of others are not counted
        self._collects = gc.isenabled()  # whether to enable the collector of garbage again
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
        """Put the real functions back."""
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
            return bool(args) and args[0] in self._own  # a descriptor
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
            return b"" if real.__name__ in ("read", "pread") else 0  # those that fill a buffer return their number
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
    fd, what, *more = args  # `what`: a size, a buffer, or buffers
    if name in ("read", "pread"):
        return fd, (what + 1) // 2, *more
    if name in ("write", "pwrite"):
        data = memoryview(what).cast("B")
        return fd, data[: max(1, len(data) // 2)], *more
    if name in ("writev", "readv", "preadv"):
        first = memoryview(what[0]).cast("B")
        return fd, [first[: max(1, len(first) // 2)]], *more
    # `sendfile` and `copy_file_range`: index of the number of bytes among the arguments.
    count = 3 if name == "sendfile" else 2
    return *args[:count], max(1, args[count] // 2), *args[count + 1 :]
