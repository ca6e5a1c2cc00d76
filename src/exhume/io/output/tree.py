"""Extraction: members become files below one directory, or a tar stream.

Names come from archives, so they may try to lead outside: every directory is opened as a descriptor (`folders`), each
component without following links.  A mark, the file `UNFINISHED`, is in the directory until everything was written.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tarfile
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any, Literal, Self

from exhume.errors import (
    ExhumeError,
    OutputExistsError,
    OutputLimitError,
    SourceError,
    Span,
    UnsafePathError,
    WriterError,
)
from exhume.io import folders
from exhume.io.caching import Lru
from exhume.io.files import NAME_MAX, PATH_MAX, WINDOWS_NAMES, foreign_to_windows, safe_parts
from exhume.io.folders import write_files
from exhume.io.output.atomic import UNFINISHED, exists_error, report_output
from exhume.io.output.scratch import stem
from exhume.io.output.stream import copy_range, write_all
from exhume.io.source import Source, close_quietly, source_error
from exhume.limits import DEFAULT_LIMITS, Limits

_DIR_CACHE = 256  # directories that are kept open

_NO_LEAF = frozenset((b"", b".", b".."))  # last components that cannot be names of files


class OutputTree:
    """A directory to extract into.  Every component is opened without following symbolic links, so nothing that is
    already in the target can redirect a write; existing files are replaced only with `overwrite`.

    What two names become is never one file, even where the file system takes them for the same: the second is refused.
    What `limits` say of output holds for the tree as a whole.

    A context manager: leaving it by an exception, or not at all, leaves the file `UNFINISHED` in the directory.
    """

    any_order: Literal[True] = True
    """Whether members may be written in any order."""

    def __init__(
        self, root: str | os.PathLike[str], *, overwrite: bool = False, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        """Create the directory `root` if it is missing, and open it.  Raises `SourceError` if that fails."""
        self.root: Path = Path(root)
        self.overwrite = overwrite
        self._quota = Quota(limits, Span(os.fspath(root), 0, 0))
        self._ours: set[tuple[int, int]] = set()
        """With `overwrite`, device and inode of each file that was made here: it is not an existing one to replace."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            self._top: folders.OpenFolder | None = folders.open_root(self.root)
        except OSError as error:
            raise source_error(error, os.fspath(self.root)) from error
        self._folders: Lru[tuple[str, ...], folders.OpenFolder] = Lru(_DIR_CACHE, drop=folders.leave)
        """Open directories, by the components of their names."""
        self._lock = threading.Lock()  # for the open directories and the mark
        self._marked = False
        """Whether the mark was made: something was written."""

    def close(self, *, finished: bool = True) -> None:
        """Release the directory handles, and with `finished` removes the mark of an unfinished directory."""
        with self._lock:
            self._folders.clear()
            if self._top is not None:
                top, self._top = self._top, None
                if finished:
                    _remove(UNFINISHED, top)
                if self._marked:
                    report_output(self.root)
                folders.leave(top)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: object, *exc: object) -> None:
        self.close(finished=exc_type is None)

    def make_directory(self, name: str) -> None:
        """Create a directory (and its parents).

        Raises `UnsafePathError`, `SourceError` and `OutputLimitError`.
        """
        self._quota.take(1, 0)
        folders.leave(self._open_folder(_parts(name)))

    def _mark(self) -> None:
        """Say in the directory that it is unfinished; the caller holds the lock."""
        if not self._marked:
            with contextlib.suppress(FileExistsError):  # of a run that was stopped
                close_quietly(folders.create(self._open_top(), UNFINISHED))
            self._marked = True

    def write(self, name: str, chunks: Iterable[bytes]) -> int:
        """Create a file from pieces; return its size.

        Raises `UnsafePathError`, `OutputExistsError`, `SourceError`, and `OutputLimitError` when all is too much.  A
        file whose pieces fail half-way is removed again.
        """
        self._quota.take(1, 0)
        with self._create(name) as fd:
            total = 0
            for chunk in chunks:
                self._quota.take(0, len(chunk))
                total += len(chunk)
                write_all(fd, chunk)
            return total

    def write_batch(self, files: Sequence[tuple[str, int, int]], data: bytes) -> list[ExhumeError | None]:
        """Create small files `(name, start, stop)` that hold `data[start:stop]`; return the error or None for each.

        They are refused for the same reasons as by `write`, at a fraction of its cost.  A failure of the output itself
        (disk full) raises `SourceError`.
        """
        self._quota.take(len(files), sum(stop - start for _, start, stop in files))
        opened: dict[str, folders.OpenFolder] = {}  # directories of these files
        try:
            jobs, quick = self._plan_batch(files, opened)
            errors = write_files(jobs, data)
        finally:
            for handle in opened.values():
                folders.leave(handle)
        if len(quick) == len(files) and not any(errors):
            return [None] * len(files)
        out: list[ExhumeError | None] = [None] * len(files)
        done = {number for number, error in zip(quick, errors, strict=True) if not error}
        for number, (name, start, stop) in enumerate(files):
            if number in done:
                continue
            try:  # the careful way, which overwrites where it may, or raises the right error
                with self._create(name) as fd:
                    write_all(fd, memoryview(data)[start:stop])
            except ExhumeError as error:
                if isinstance(error, SourceError) and not isinstance(error, OutputExistsError):
                    raise
                out[number] = error
        return out

    def _plan_batch(
        self, files: Sequence[tuple[str, int, int]], opened: dict[str, folders.OpenFolder]
    ) -> tuple[list[tuple[folders.OpenFolder, bytes, int, int]], list[int]]:
        """Return the files that `write_files` can create, as (directory, name in it, start, stop), and their indices.

        Their directories are added to `opened`.  Files with other names have to be created one by one, with care.
        """
        jobs: list[tuple[folders.OpenFolder, bytes, int, int]] = []
        quick: list[int] = []
        # Checked for all names at once, so that the loop need not examine each.
        names = [name for name, _, _ in files]
        everything = "".join(names)
        plain = everything.isascii() and "\0" not in everything and max(map(len, names), default=0) <= NAME_MAX
        for number, (name, start, stop) in enumerate(files):
            folder, slash, leaf = name.rpartition("/")
            folder += slash  # "x" is in the root, and "/x" must not be confused with it
            handle = opened.get(folder)
            try:
                spelled = leaf.encode("utf-8")
                if handle is None:
                    opened[folder] = handle = self._open_folder(_parts(name)[:-1])
            except (ExhumeError, UnicodeEncodeError):
                continue
            if spelled in _NO_LEAF or (WINDOWS_NAMES and foreign_to_windows(leaf)):
                continue
            # A character has up to four bytes.
            if not plain and (len(spelled) > NAME_MAX or b"\0" in spelled or len(name) * 4 > PATH_MAX):
                continue
            jobs.append((handle, spelled, start, stop))
            quick.append(number)
        return jobs, quick

    def copy(self, name: str, source: Source, start: int, end: int) -> int:
        """Create a file from a range of a source, inside the kernel where the system can; return its size."""
        self._quota.take(1, end - start)
        with self._create(name) as fd:
            copy_range(source, start, end, fd)
            return end - start

    @contextlib.contextmanager
    def _create(self, name: str) -> Any:
        """A context manager around the descriptor of the new file `name`; the file is removed if the block fails.

        A file that replaces another is written under a temporary name, and renamed when the block ends.  Raises
        `OutputExistsError` if the name is taken (with `overwrite`, by a file of this tree), `UnsafePathError` if a
        directory or a symbolic link has it, and `SourceError` if the system cannot create it.
        """
        parts = _parts(name)
        folder = self._open_folder(parts[:-1])
        leaf = parts[-1]
        target = leaf
        try:
            try:
                fd = folders.create(folder, leaf)
            except FileExistsError as error:
                there = folders.look(folder, leaf)
                if stat.S_ISDIR(there.st_mode):
                    raise self._clash(error, name) from None
                if not self.overwrite or (there.st_dev, there.st_ino) in self._ours:
                    raise exists_error(self.root / name) from None
                target = f".{stem(leaf)}.{os.getpid()}-{threading.get_ident()}.part"
                fd = folders.create(folder, target)
            try:
                try:
                    yield fd
                except BaseException:
                    close_quietly(fd)
                    raise
                # Files of this tree are never replaced by later ones.
                if self.overwrite:
                    made = os.fstat(fd)
                    self._ours.add((made.st_dev, made.st_ino))
                os.close(fd)
                if target != leaf:
                    folders.replace(folder, leaf, target)
            except BaseException:
                _remove(target, folder)
                raise
        except OSError as error:
            if isinstance(error, SourceError | WriterError):
                raise
            raise self._clash(error, name) from error
        finally:
            folders.leave(folder)

    def _open_top(self) -> folders.OpenFolder:
        """The root directory.  Raises `ValueError` after `close`."""
        if self._top is None:
            raise ValueError("the directory is closed")
        return self._top

    def _open_folder(self, parts: tuple[str, ...]) -> folders.OpenFolder:
        """A fresh handle of the directory `parts` below the root, made where missing; the caller leaves it."""
        with self._lock:
            known = self._folders.get(parts)
            if known is not None:
                return folders.again(known)
            handle = folders.again(self._open_top())
            try:
                self._mark()
                for part in parts:
                    inner = folders.enter(handle, part)
                    folders.leave(handle)
                    handle = inner
            except OSError as error:
                folders.leave(handle)
                raise self._clash(error, "/".join(parts)) from error
            self._folders.put(parts, folders.again(handle))
            return handle

    def _clash(self, error: OSError, name: str) -> UnsafePathError | SourceError:
        """Return the error for a member that cannot be written because of what exists in its place."""
        span = Span(os.fspath(self.root / name), 0, 0)
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.EEXIST):
            what = "a symbolic link is in the way" if error.errno == errno.ELOOP else "a file and a directory clash"
            if error.errno == errno.ENOTDIR and self._has_link(name):
                what = "a symbolic link is in the way"
            return UnsafePathError(f"refused member name ({what})", span=span, code="EX-504")
        return source_error(error, os.fspath(self.root / name))

    def _has_link(self, name: str) -> bool:
        """Return whether a directory on the way to a name is a symbolic link."""
        path = self.root
        for part in name.split("/"):
            path /= part
            if path.is_symlink():
                return True
        return False


def _parts(name: str) -> tuple[str, ...]:
    """The components of a safe name; the name of our own mark is refused."""
    parts = tuple(safe_parts(name))
    if parts[0] == UNFINISHED:
        raise UnsafePathError("member name not allowed: it marks an unfinished extraction", actual=UNFINISHED)
    return parts


def _remove(name: str, folder: folders.OpenFolder) -> None:
    """Remove a file if it is there; what resists twice stays."""
    for _ in range(2):
        try:
            folders.remove(folder, name)
        except FileNotFoundError:
            return
        except OSError:
            continue
        return


class Quota:
    """The bytes and files that may still be written; thread-safe."""

    def __init__(self, limits: Limits, span: Span) -> None:
        self._limits, self._span = limits, span
        self._files = self._bytes = 0
        self._lock = threading.Lock()

    def take(self, files: int, size: int) -> None:
        """Count what will be written.  Raises `OutputLimitError` when that is too much."""
        with self._lock:
            self._files += files
            self._bytes += size
            for name, value in (("output_files", self._files), ("output_size", self._bytes)):
                if value > getattr(self._limits, name):
                    raise OutputLimitError(
                        f"limit {name} exceeded",
                        span=self._span,
                        expected=f"at most {getattr(self._limits, name)}",
                        actual=value,
                    )


_BLANK = tarfile.TarInfo().tobuf(tarfile.PAX_FORMAT)
"""The header of a file without name and bytes."""

_NAME, _SIZE, _SUM = slice(0, 100), slice(124, 135), slice(148, 154)
"""Where headers of files differ: the name, padded with zeros, octal digits of the size, and those of the checksum."""

_BLANK_SUM = int(_BLANK[_SUM], 8) - sum(_BLANK[_SIZE])
"""The checksum of a header (the sum of its bytes) without the digits of the size."""


class TarSink:
    """Members as a tar stream (pax headers, deterministic metadata: mode 0644, epoch times, no owner)."""

    any_order: Literal[False] = False

    def __init__(self, file: IO[bytes], *, limits: Limits = DEFAULT_LIMITS) -> None:
        self._file = file
        self._at = 0  # bytes written
        self._quota = Quota(limits, Span("", 0, 0))

    def write(self, name: str, size: int, chunks: Iterable[bytes | memoryview]) -> int:
        """Add one file of a known size; raise `UnsafePathError` for names that extraction would refuse here or on
        Windows, since a tar archive may be extracted anywhere, and `OutputLimitError` when the total is too large.

        For one that fails while it is written, the header with its size has been written already, so the stream cannot
        continue: raises `SourceError`.
        """
        safe_parts(name, portable=True)
        self._quota.take(1, size)
        try:
            self._put(_header(name, size))
            left = size
            for chunk in chunks:
                self._put(chunk)
                left -= len(chunk)
            if left:
                raise SourceError("unexpected end of data")
            self._put(bytes(-size % tarfile.BLOCKSIZE))
        except BrokenPipeError:  # the stream has no reader
            raise
        except (ExhumeError, OSError) as error:
            raise SourceError(
                "a damaged member broke the tar stream", actual=f"{name}: {error}", code="EX-707"
            ) from error
        return size

    def make_directory(self, name: str) -> None:
        """Add a directory entry."""
        safe_parts(name, portable=True)
        self._quota.take(1, 0)
        info = tarfile.TarInfo(name.rstrip("/") + "/")
        info.type = tarfile.DIRTYPE
        info.mode = 0o755
        self._put(info.tobuf(tarfile.PAX_FORMAT))

    def _put(self, data: bytes | memoryview) -> None:
        """Append bytes, counting them."""
        self._file.write(data)
        self._at += len(data)

    def close(self) -> None:
        """Write the end of the archive (the underlying file stays open)."""
        self._put(bytes(2 * tarfile.BLOCKSIZE))
        self._put(bytes(-self._at % tarfile.RECORDSIZE))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: object, *exc: object) -> None:
        if exc_type is None:
            self.close()


def _header(name: str, size: int) -> bytes:
    """The header of a file, as the library makes it, 10 times as fast if one block contains the whole name."""
    digits = b"%011o" % size
    if not name.isascii() or len(name) > _NAME.stop or len(digits) > 11:
        info = tarfile.TarInfo(name)
        info.size = size
        return info.tobuf(tarfile.PAX_FORMAT)
    # Put name, size and checksum into the blank header.
    spelled = name.encode()
    total = b"%06o" % (_BLANK_SUM + sum(spelled) + sum(digits))
    return b"".join(
        (
            spelled.ljust(_NAME.stop, b"\0"),
            _BLANK[_NAME.stop : _SIZE.start],
            digits,
            _BLANK[_SIZE.stop : _SUM.start],
            total,
            _BLANK[_SUM.stop :],
        )
    )
