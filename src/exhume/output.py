"""The only place that creates files: atomic files and directories, safe extraction trees, tar streams.

Nothing half-written ever carries its final name, and no member name leads outside the directory it is extracted to.
"""

from __future__ import annotations

import contextlib
import errno
import io
import itertools
import os
import shutil
import stat
import tarfile
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any, BinaryIO, Self

from exhume.batchio import write_files
from exhume.errors import ExhumeError, OutputExistsError, SourceError, Span, UnsafePathError, WriterError, shorten
from exhume.source import STREAM_CHUNK, Source, source_error

NAME_MAX = 255
"""Bytes in one path component that every common file system takes."""

PATH_MAX = 4095
"""Bytes in a whole member name."""

_DIR_CACHE = 256

_NO_LEAF = frozenset((b"", b".", b".."))


class AtomicFile:
    """A new file that appears under its name only when complete: temporary file, fsync, rename.

    A context manager around the binary `file`; an exception (or `abort`) removes the temporary file.  Raises
    `OutputExistsError` when the name is taken and `overwrite` is off.
    """

    def __init__(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        self.path = Path(path)
        self.overwrite = overwrite
        if not overwrite and os.path.lexists(self.path):
            raise exists_error(self.path)
        try:
            fd, name = tempfile.mkstemp(prefix=f".{self.path.name[:100]}.", suffix=".part", dir=self.path.parent)
        except OSError as error:
            raise source_error(error, os.fspath(self.path)) from error
        self._temporary = Path(name)
        self.file: BinaryIO = os.fdopen(fd, "w+b", buffering=STREAM_CHUNK)
        self._done = False

    def seal(self) -> None:
        """Flushes to disk and closes, but leaves the temporary name (several files to be named together)."""
        if self.file.closed:
            return
        self.file.flush()
        os.fchmod(self.file.fileno(), 0o666 & ~_umask())
        os.fsync(self.file.fileno())
        self.file.close()

    def commit(self) -> None:
        """Flushes to disk and gives the file its name; harmless to repeat."""
        if self._done:
            return
        self.seal()
        put_in_place(self._temporary, self.path, overwrite=self.overwrite)
        self._done = True
        sync_directory(self.path.parent)

    def abort(self) -> None:
        """Removes what was written; harmless to repeat and after `commit`."""
        if not self._done:
            self._done = True
            self.file.close()
            self._temporary.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: type[BaseException] | None, *exc: object) -> None:
        if exc_type is None:
            try:
                self.commit()
            except BaseException:
                self.abort()
                raise
        else:
            self.abort()


class AtomicDirectory:
    """A new directory that appears under its name only when complete; the same contract as `AtomicFile`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if os.path.lexists(self.path) and not (self.path.is_dir() and not any(self.path.iterdir())):
            raise exists_error(self.path)
        try:
            self.temporary = Path(
                tempfile.mkdtemp(prefix=f".{self.path.name[:100]}.", suffix=".part", dir=self.path.parent)
            )
        except OSError as error:
            raise source_error(error, os.fspath(self.path)) from error
        self._done = False

    def create(self, name: str) -> BinaryIO:
        """A new file of the directory, under the name that it keeps; the caller closes it, `commit` syncs it."""
        path = self.temporary / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("xb", buffering=STREAM_CHUNK)

    def commit(self) -> None:
        """Flushes every file to disk and gives the directory its name; harmless to repeat."""
        if self._done:
            return
        for folder, _, files in os.walk(self.temporary, topdown=False):
            for file in files:
                fd = os.open(Path(folder) / file, os.O_RDONLY)
                try:
                    os.fsync(fd)
                finally:
                    os.close(fd)
            sync_directory(Path(folder))
        self.temporary.chmod(0o777 & ~_umask())
        if self.path.is_dir():
            self.path.rmdir()  # empty, checked at the start; fails if somebody filled it meanwhile
        self.temporary.rename(self.path)
        self._done = True
        sync_directory(self.path.parent)

    def abort(self) -> None:
        """Removes what was written; harmless to repeat and after `commit`."""
        if not self._done:
            self._done = True
            shutil.rmtree(self.temporary, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: type[BaseException] | None, *exc: object) -> None:
        if exc_type is None:
            try:
                self.commit()
            except BaseException:
                self.abort()
                raise
        else:
            self.abort()


class GrowingFile:
    """A new file that is written in place, by position, for formats that must survive a stop at any moment.

    It has its final name from the start (what refers to it appears later).  Raises `OutputExistsError` when the name is
    taken.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        try:
            self._fd = os.open(self.path, flags, 0o666)
        except FileExistsError:
            raise exists_error(self.path) from None
        except OSError as error:
            raise source_error(error, os.fspath(self.path)) from error

    def write_at(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        """Writes all of `data` at `offset` (bytes in between read as zeros)."""
        view = memoryview(data)
        try:
            while view:
                done = os.pwrite(self._fd, view, offset)
                view, offset = view[done:], offset + done
        except OSError as error:
            raise source_error(error, os.fspath(self.path), offset, offset + len(view)) from error

    def sync(self) -> None:
        """Waits until what was written is on the disk."""
        os.fsync(self._fd)

    def close(self) -> None:
        """Closes the file; harmless to repeat."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def remove(self) -> None:
        """Closes and deletes the file."""
        self.close()
        self.path.unlink(missing_ok=True)


def put_in_place(temporary: Path, path: Path, *, overwrite: bool) -> None:
    """Renames a finished temporary file; without `overwrite` a name taken meanwhile is an error, never replaced."""
    if overwrite:
        temporary.replace(path)
        return
    try:
        os.link(temporary, path)
    except FileExistsError:
        temporary.unlink()
        raise exists_error(path) from None
    except OSError:  # no hard links here: the check and the rename are then two steps
        if os.path.lexists(path):
            temporary.unlink()
            raise exists_error(path) from None
        temporary.rename(path)
    else:
        temporary.unlink()


def exists_error(path: str | os.PathLike[str]) -> OutputExistsError:
    """The one wording for "will not overwrite"."""
    return OutputExistsError(
        "the output exists already (use --overwrite to replace it)", span=Span(os.fspath(path), 0, 0)
    )


def sync_directory(path: Path) -> None:
    """Makes a rename durable; file systems that cannot fsync a directory are left alone."""
    with contextlib.suppress(OSError):
        fd = os.open(path or Path(), os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


_umask_lock = threading.Lock()


def _umask() -> int:
    with _umask_lock:
        mask = os.umask(0o077)
        os.umask(mask)
    return mask


def safe_parts(name: str) -> list[str]:
    """A member name as path components, or `UnsafePathError`: what is refused here is never written anywhere.

    Refused: empty names and components, absolute names, `.` and `..`, NUL, components over 255 bytes, names over 4095
    bytes, names that the file system's encoding cannot hold.
    """
    parts = name.split("/")
    reason = ""
    if not name:
        reason = "empty name"
    elif "\0" in name:
        reason = "NUL in the name"
    elif name.startswith("/"):
        reason = "absolute name"
    elif ".." in parts:
        reason = "leads out of its directory"
    elif any(part in ("", ".") for part in parts):
        reason = "empty or '.' path component"
    else:
        try:
            sizes = [len(part.encode("utf-8")) for part in parts]
        except UnicodeEncodeError:
            reason = "not representable in UTF-8"
        else:
            if max(sizes) > NAME_MAX or sum(sizes) + len(sizes) - 1 > PATH_MAX:
                reason = "name too long"
    if reason:
        raise UnsafePathError(f"refused member name ({reason})", actual=shorten(name))
    return parts


class OutputTree:
    """A directory to extract into.  Every component is opened without following symbolic links, so nothing that is
    already in the target can redirect a write; existing files are replaced only with `overwrite`.
    """

    def __init__(self, root: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        self.root = Path(root)
        self.overwrite = overwrite
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            self._root_fd = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise source_error(error, os.fspath(self.root)) from error
        self._folders: OrderedDict[tuple[str, ...], int] = OrderedDict()
        self._lock = threading.Lock()

    def close(self) -> None:
        """Releases the directory handles."""
        with self._lock:
            for fd in self._folders.values():
                os.close(fd)
            self._folders.clear()
            if self._root_fd >= 0:
                os.close(self._root_fd)
                self._root_fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def make_directory(self, name: str) -> None:
        """Creates a directory (and its parents)."""
        os.close(self._open_folder(tuple(safe_parts(name))))

    def write(self, name: str, chunks: Iterable[bytes]) -> int:
        """Creates a file from pieces; returns its size.  Raises `UnsafePathError`, `OutputExistsError`, `SourceError`.

        A file whose pieces fail half-way is removed again.
        """
        with self._create(name) as fd:
            total = 0
            for chunk in chunks:
                total += len(chunk)
                _write_all(fd, chunk)
            return total

    def write_batch(self, files: Sequence[tuple[str, int, int]], data: bytes) -> list[ExhumeError | None]:
        """Creates small files `(name, start, stop)` that hold `data[start:stop]`; says for each what went wrong, if so.

        The same refusals as `write`, at a fraction of its cost; failures of the output itself (disk full) are raised.
        """
        folders: dict[str, int] = {}
        jobs: list[tuple[int, bytes, int, int]] = []
        quick: list[int] = []
        # Checked for all names at once, so that the loop need not look at each.
        names = [name for name, _, _ in files]
        everything = "".join(names)
        plain = everything.isascii() and "\0" not in everything and max(map(len, names), default=0) <= NAME_MAX
        try:
            for i, (name, start, stop) in enumerate(files):
                folder, slash, leaf = name.rpartition("/")
                folder += slash  # "x" lies in the root, "/x" must not be taken for it
                fd = folders.get(folder)
                try:
                    spelled = leaf.encode("utf-8")
                    if fd is None:
                        parts = safe_parts(name)
                        folders[folder] = fd = self._open_folder(tuple(parts[:-1]))
                except (ExhumeError, UnicodeEncodeError):
                    continue
                if spelled in _NO_LEAF:
                    continue
                if not plain and (len(spelled) > NAME_MAX or b"\0" in spelled or len(name) * 4 > PATH_MAX):
                    continue
                jobs.append((fd, spelled, start, stop))
                quick.append(i)
            errors = write_files(jobs, data)
        finally:
            for fd in folders.values():
                os.close(fd)
        if len(quick) == len(files) and not any(errors):
            return [None] * len(files)
        out: list[ExhumeError | None] = [None] * len(files)
        done = {i for i, error in zip(quick, errors, strict=True) if not error}
        for i, (name, start, stop) in enumerate(files):
            if i in done:
                continue
            try:  # the careful way: finds the right words, or the way to do it (overwriting, say)
                self.write(name, [data[start:stop]])
            except ExhumeError as error:
                if isinstance(error, SourceError) and not isinstance(error, OutputExistsError):
                    raise
                out[i] = error
        return out

    def copy(self, name: str, source: Source, start: int, end: int) -> int:
        """Creates a file from a range of a source, inside the kernel where the system can; returns its size."""
        with self._create(name) as fd:
            copy_range(source, start, end, fd)
            return end - start

    @contextlib.contextmanager
    def _create(self, name: str) -> Any:
        parts = safe_parts(name)
        folder = self._open_folder(tuple(parts[:-1]))
        leaf = parts[-1]
        target = leaf
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            try:
                fd = os.open(leaf, flags, 0o666, dir_fd=folder)
            except FileExistsError as error:
                if stat.S_ISDIR(os.stat(leaf, dir_fd=folder, follow_symlinks=False).st_mode):
                    raise self._clash(error, name) from None
                if not self.overwrite:
                    raise exists_error(self.root / name) from None
                target = f".{leaf[:100]}.{os.getpid()}-{threading.get_ident()}.part"
                fd = os.open(target, flags, 0o666, dir_fd=folder)
            try:
                yield fd
            except BaseException:
                os.close(fd)
                os.unlink(target, dir_fd=folder)
                raise
            os.close(fd)
            if target != leaf:
                try:
                    os.replace(target, leaf, src_dir_fd=folder, dst_dir_fd=folder)
                except OSError:
                    os.unlink(target, dir_fd=folder)
                    raise
        except OSError as error:
            if isinstance(error, SourceError | WriterError):
                raise
            raise self._clash(error, name) from error
        finally:
            os.close(folder)

    def _open_folder(self, parts: tuple[str, ...]) -> int:
        """A fresh descriptor of a directory below the root, made where missing; the caller closes it."""
        with self._lock:
            known = self._folders.get(parts)
            if known is not None:
                self._folders.move_to_end(parts)
                return os.dup(known)
            fd = os.dup(self._root_fd)
            try:
                for part in parts:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(part, 0o777, dir_fd=fd)
                    inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
                    os.close(fd)
                    fd = inner
            except OSError as error:
                os.close(fd)
                raise self._clash(error, "/".join(parts)) from error
            self._folders[parts] = os.dup(fd)
            if len(self._folders) > _DIR_CACHE:
                os.close(self._folders.popitem(last=False)[1])
            return fd

    def _clash(self, error: OSError, name: str) -> UnsafePathError | SourceError:
        span = Span(os.fspath(self.root / name), 0, 0)
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.EEXIST):
            what = "a symbolic link is in the way" if error.errno == errno.ELOOP else "a file and a directory clash"
            if error.errno == errno.ENOTDIR and self._has_link(name):
                what = "a symbolic link is in the way"
            return UnsafePathError(f"refused member name ({what})", span=span, code="EX-504")
        return source_error(error, os.fspath(self.root / name))

    def _has_link(self, name: str) -> bool:
        path = self.root
        for part in name.split("/"):
            path /= part
            if path.is_symlink():
                return True
        return False


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def copy_range(source: Source, start: int, end: int, out_fd: int) -> None:
    """Copies `[start, end)` of a source to a descriptor: `copy_file_range`, else `sendfile`, else read and write."""
    in_fd = source.fileno()
    if in_fd is not None and start >= 0 and end <= source.size:
        at, stop = source.origin + start, source.origin + end
        for copier in (_kernel_copy, _kernel_send):
            try:
                while at < stop and (done := copier(in_fd, out_fd, at, min(stop - at, 1 << 30))):
                    at += done
            except (OSError, AttributeError):
                continue
            if at == stop:
                return
        start += at - (source.origin + start)
    for chunk in source.chunks(start, end):
        _write_all(out_fd, chunk)


def copy_between(in_fd: int, out_fd: int, size: int, offset: int | None = None) -> int:
    """Appends up to `size` bytes of one file to another, at the latter's position; returns how many there were.

    Reads from `offset`, or from the former's position (which then moves).  In the kernel where the system can.
    """
    done = 0
    if offset is None:
        offset = os.lseek(in_fd, 0, os.SEEK_CUR)
    for copier in (_kernel_copy, _kernel_send):
        try:
            while done < size and (step := copier(in_fd, out_fd, offset + done, min(size - done, 1 << 30))):
                done += step
        except (OSError, AttributeError) as error:
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                raise
            continue
        break
    while done < size and (data := os.pread(in_fd, min(STREAM_CHUNK, size - done), offset + done)):
        _write_all(out_fd, data)
        done += len(data)
    return done


def _kernel_copy(in_fd: int, out_fd: int, offset: int, count: int) -> int:
    return os.copy_file_range(in_fd, out_fd, count, offset_src=offset)


def _kernel_send(in_fd: int, out_fd: int, offset: int, count: int) -> int:
    return os.sendfile(out_fd, in_fd, offset, count)


class TarSink:
    """Members as a tar stream (pax headers, deterministic metadata: mode 0644, epoch times, no owner)."""

    def __init__(self, file: IO[bytes]) -> None:
        self._tar = tarfile.open(fileobj=file, mode="w|", format=tarfile.PAX_FORMAT)

    def write(self, name: str, size: int, chunks: Iterable[bytes]) -> int:
        """Adds one file of a known size; raises `UnsafePathError` for names that extraction would refuse.

        A member whose first piece cannot be read is left out whole; one that breaks later has announced its size
        already, so the stream cannot go on: `SourceError`.
        """
        safe_parts(name)
        info = tarfile.TarInfo(name)
        info.size = size
        pieces = iter(chunks)
        first = next(pieces, b"")
        try:
            self._tar.addfile(info, _ChunkReader(itertools.chain((first,), pieces)))
        except (ExhumeError, OSError) as error:
            raise SourceError(
                "a damaged member broke the tar stream", actual=f"{name}: {error}", code="EX-606"
            ) from error
        return size

    def make_directory(self, name: str) -> None:
        """Adds a directory entry."""
        safe_parts(name)
        info = tarfile.TarInfo(name.rstrip("/") + "/")
        info.type = tarfile.DIRTYPE
        info.mode = 0o755
        self._tar.addfile(info)

    def close(self) -> None:
        """Writes the end of the archive (the underlying file stays open)."""
        self._tar.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: object, *exc: object) -> None:
        if exc_type is None:
            self.close()


class _ChunkReader(io.RawIOBase):
    """Pieces of bytes as a readable file."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        super().__init__()
        self._chunks = iter(chunks)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        while len(self._rest) < size or size < 0:
            chunk = next(self._chunks, None)
            if chunk is None:
                break
            self._rest = self._rest + chunk if self._rest else chunk
        out, self._rest = (self._rest, b"") if size < 0 else (self._rest[:size], self._rest[size:])
        return out
