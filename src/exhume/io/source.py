"""Reading bytes: positional, thread-safe, exact; never a shared file position, never opened for writing.

`Source` is one file-like object, `Tree` a directory of them.  `open_target` turns what a caller has (path, URL, bytes,
file object, `Source`, `Tree`) into one of the two.
"""

from __future__ import annotations

import abc
import io
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from exhume.errors import EntryNotFoundError, ShortReadError, SourceError, Span, TruncatedError, UnsafePathError
from exhume.lighttyping import TYPE_CHECKING, Any, BinaryIO, Self

if TYPE_CHECKING:
    from pathlib import Path  # imported where it is used: one file is opened without it

COALESCE_GAP = 64 << 10
"""Ranges closer than this are fetched in one request: nearly everywhere a request costs more than 64 KiB do."""

COALESCE_SIZE = 8 << 20
"""A merged request stays below this, so that a plan over a whole file still streams."""

STREAM_CHUNK = 1 << 20
"""Bytes per read wherever a span is copied or hashed in pieces."""


class Source(abc.ABC):
    """A readable byte string with absolute positions.

    `name` is what people call it (a path, a URL, a name inside a `Tree`); `origin` is where its byte 0 lies in the
    outermost file, so that `span()` can speak in absolute offsets.
    """

    name: str
    origin: int = 0

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """Total bytes."""

    @abc.abstractmethod
    def _read(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`, which is inside the source; may be called from any thread."""

    @property
    def location(self) -> str | None:
        """The path or URL that opens this source again, or None when there is no such thing."""
        return None

    @property
    def outermost(self) -> Source:
        """The file that `origin` counts in: of a window the one that it looks into."""
        return self

    @property
    def is_remote(self) -> bool:
        """Whether a read costs a network round trip."""
        return False

    def fileno(self) -> int | None:
        """A file descriptor whose byte `origin` is this source's byte 0, for in-kernel copies; None without one."""
        return None

    def read_at(self, offset: int, size: int) -> bytes:
        """Exactly `size` bytes from `offset`.

        Raises `TruncatedError` when the source ends before, `ShortReadError` when bytes that must exist do not come.
        """
        if offset < 0 or size < 0 or offset + size > self.size:
            raise TruncatedError(
                "the file ends too early",
                span=self.span(max(0, min(offset, self.size)), self.size),
                expected=f"{size} bytes at offset {self.origin + offset}",
                actual=f"{max(0, self.size - offset)} bytes",
            )
        if size == 0:
            return b""
        data = self._read(offset, size)
        if len(data) != size:
            raise ShortReadError(
                "short read",
                span=self.span(offset, offset + size),
                expected=f"{size} bytes",
                actual=f"{len(data)} bytes",
            )
        return data

    def read_up_to(self, offset: int, size: int) -> bytes:
        """Like `read_at`, but clipped at the end of the source (empty beyond it)."""
        if offset < 0:
            offset, size = 0, size + offset
        return self.read_at(offset, max(0, min(size, self.size - offset))) if offset < self.size else b""

    def read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes of several half-open ranges, in their order; neighbouring ranges are read together."""
        return [self.read_at(start, end - start) for start, end in ranges]

    def expect(self, start: int, stop: int) -> None:  # noqa: B027 - most sources are at hand
        """Tells that `[start, stop)` will be read in small pieces, mostly in order: a remote one fetches more at once.

        Nothing is read yet, and nothing behind `stop` is read for it.
        """

    def chunks(self, start: int = 0, end: int | None = None, size: int = STREAM_CHUNK) -> Iterator[bytes]:
        """The bytes of `[start, end)` in pieces of `size`."""
        stop = self.size if end is None else end
        while start < stop:
            step = min(size, stop - start)
            yield self.read_at(start, step)
            start += step

    def span(self, start: int, end: int) -> Span:
        """The absolute `Span` of a range of this source."""
        return Span(self.name, self.origin + start, self.origin + end)

    def window(self, start: int, end: int | None = None, name: str | None = None) -> Source:
        """The part `[start, end)` as a source of its own; raises `TruncatedError` when it reaches past the end."""
        return WindowSource(self, start, self.size if end is None else end, name)

    def reader(self) -> SourceReader:
        """A seekable, readable raw file object over this source, with its own position."""
        return SourceReader(self)

    def parent(self, levels: int = 1) -> Tree | None:
        """The directory that holds this file (`levels` up), for formats whose files refer to their neighbours."""
        return None

    def close(self) -> None:  # noqa: B027 - most sources hold nothing
        """Releases what the source holds; harmless to repeat."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} {self.size} bytes>"


class PositionedFile(io.RawIOBase):
    """A seekable raw binary file over something that is read by position (not thread-safe; make one per user)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size
        self._position = 0

    @abc.abstractmethod
    def _read_span(self, start: int, end: int) -> bytes:
        """The bytes `[start, end)`, a span inside the file that is not empty."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}.get(whence)
        if base is None:
            raise ValueError(f"invalid whence ({whence})")
        if base + offset < 0:
            raise ValueError(f"negative seek position {base + offset}")
        self._position = base + offset
        return self._position

    def read(self, size: int = -1, /) -> bytes:
        left = max(0, self._size - self._position)
        size = left if size is None or size < 0 else min(size, left)
        data = self._read_span(self._position, self._position + size) if size else b""
        self._position += len(data)
        return data

    def readall(self) -> bytes:
        return self.read(-1)

    def readinto(self, buffer: Any, /) -> int:
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)


class SourceReader(PositionedFile):
    """A `Source`, or a span of it, as a raw file."""

    def __init__(self, source: Source, start: int = 0, end: int | None = None) -> None:
        super().__init__((source.size if end is None else end) - start)
        self._source = source
        self._start = start

    def _read_span(self, start: int, end: int) -> bytes:
        return self._source.read_at(self._start + start, end - start)


class BytesSource(Source):
    """Bytes in memory (or an `mmap`)."""

    def __init__(self, data: bytes | bytearray | memoryview, name: str = "<bytes>") -> None:
        self.name = name
        self._data = memoryview(data).cast("B") if not isinstance(data, bytes) else data

    @property
    def size(self) -> int:
        return len(self._data)

    def _read(self, offset: int, size: int) -> bytes:
        return bytes(self._data[offset : offset + size])


class FileSource(Source):
    """A local file, read with `pread`; a change of size or time while it is open is noticed on failing reads."""

    def __init__(self, path: str | os.PathLike[str], name: str | None = None) -> None:
        self._path = os.fspath(path)
        self.name = self._path if name is None else name
        try:
            self._fd = os.open(self._path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
        except OSError as error:
            raise source_error(error, self.name) from error
        try:
            self._size = os.lseek(self._fd, 0, os.SEEK_END)
        except OSError as error:
            os.close(self._fd)
            raise SourceError("not a seekable file", span=Span(self.name, 0, 0), actual=error.strerror) from error

    @property
    def size(self) -> int:
        return self._size

    @property
    def location(self) -> str | None:
        return self._path

    def fileno(self) -> int | None:
        return self._fd if self._fd >= 0 else None

    def _read(self, offset: int, size: int) -> bytes:
        if self._fd < 0:
            raise SourceError("the file is closed", span=self.span(offset, offset + size), code="EX-605")
        try:
            data = os.pread(self._fd, size, offset)
            if len(data) == size or not data:
                return data
            parts = [data]  # Linux returns at most 2 GiB - 4 KiB at once
            got = len(data)
            while got < size and (more := os.pread(self._fd, size - got, offset + got)):
                parts.append(more)
                got += len(more)
            return b"".join(parts)
        except OSError as error:
            raise source_error(error, self.name, offset, offset + size) from error

    def parent(self, levels: int = 1) -> Tree | None:
        from pathlib import Path

        path = Path(os.path.abspath(self._path))  # noqa: PTH100 - resolve() would follow symlinks
        return LocalTree(path.parents[levels - 1]) if len(path.parents) >= levels else None

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        # As a file object does: a long run over many archives must not run out of descriptors for one that was dropped.
        if getattr(self, "_fd", -1) >= 0:
            os.close(self._fd)


class FileObjectSource(Source):
    """A seekable binary file object of the caller's, which keeps owning it; reads are serialised by a lock."""

    def __init__(self, file: BinaryIO, name: str | None = None) -> None:
        given = getattr(file, "name", None)
        self.name = name if name is not None else given if isinstance(given, str) else "<file>"
        import threading

        self._file = file
        self._lock = threading.Lock()
        try:
            self._size = file.seek(0, io.SEEK_END)
        except (OSError, ValueError, AttributeError) as error:
            raise SourceError("not a seekable binary file object", span=Span(self.name, 0, 0), actual=error) from error

    @property
    def size(self) -> int:
        return self._size

    def _read(self, offset: int, size: int) -> bytes:
        with self._lock:
            try:
                self._file.seek(offset)
                parts: list[bytes] = []
                while size > 0 and (part := self._file.read(size)):
                    parts.append(part)
                    size -= len(part)
            except (OSError, ValueError) as error:
                raise SourceError("read failed", span=self.span(offset, offset + size), actual=error) from error
        return b"".join(parts)


class WindowSource(Source):
    """A range of another source; `origin` keeps offsets absolute."""

    def __init__(self, base: Source, start: int, end: int, name: str | None = None) -> None:
        if not 0 <= start <= end <= base.size:
            raise TruncatedError(
                "the window reaches outside the file",
                span=base.span(0, base.size),
                expected=f"a range within {base.size} bytes",
                actual=f"[{start}, {end})",
            )
        self._base, self._start, self._end = base, start, end
        self.name = base.name if name is None else name
        self.origin = base.origin + start

    @property
    def size(self) -> int:
        return self._end - self._start

    @property
    def outermost(self) -> Source:
        return self._base.outermost

    @property
    def is_remote(self) -> bool:
        return self._base.is_remote

    def fileno(self) -> int | None:
        return self._base.fileno()

    def _read(self, offset: int, size: int) -> bytes:
        return self._base.read_at(self._start + offset, size)

    def read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        for start, end in ranges:
            if not 0 <= start <= end <= self.size:
                self.read_at(start, end - start)  # raises, with the window's own words
        return self._base.read_many([(self._start + start, self._start + end) for start, end in ranges])

    def expect(self, start: int, stop: int) -> None:
        self._base.expect(self._start + start, self._start + min(stop, self.size))

    def close(self) -> None:
        self._base.close()


def plan_reads(ranges: Sequence[tuple[int, int]], *, max_gap: int, max_size: int) -> list[tuple[int, int, list[int]]]:
    """Merges half-open ranges into fewer reads.

    Returns `(start, end, indexes)` per read, in file order, where `indexes` are the positions in `ranges` that it
    serves.  Ranges join when the gap is at most `max_gap` bytes and the joined read stays within `max_size`.
    """
    plan: list[tuple[int, int, list[int]]] = []
    for index in sorted(range(len(ranges)), key=lambda i: ranges[i]):
        start, end = ranges[index]
        if plan:
            last_start, last_end, members = plan[-1]
            if start - last_end <= max_gap and max(end, last_end) - last_start <= max(max_size, last_end - last_start):
                plan[-1] = (last_start, max(end, last_end), [*members, index])
                continue
        plan.append((start, end, [index]))
    return plan


def check_relative(name: str, root: str = "") -> str:
    """A `/`-separated name below a root, or `UnsafePathError`: nothing outside a target directory is ever opened."""
    parts = name.split("/")
    if not name or name.startswith("/") or "\0" in name or any(part in ("", ".", "..") for part in parts):
        raise UnsafePathError("a name leads outside the directory", code="EX-503", span=Span(root, 0, 0), actual=name)
    return name


class Tree(abc.ABC):
    """A directory of sources, addressed by relative `/`-separated names."""

    name: str

    @abc.abstractmethod
    def names(self, prefix: str = "") -> list[str]:
        """All files below `prefix` (a directory name or ""), relative to the root, sorted."""

    def files(self) -> list[str]:
        """The files directly in the directory, sorted."""
        return [name for name in self.names() if "/" not in name]

    @property
    def is_remote(self) -> bool:
        """Whether each file that is read costs a request."""
        return False

    def listed_size(self, name: str) -> int | None:
        """The size of a file if it is known without asking for the file; 0 when it is known to be missing."""
        return None

    @abc.abstractmethod
    def exists(self, name: str) -> bool:
        """Whether a file of that name is there."""

    @abc.abstractmethod
    def source(self, name: str) -> Source:
        """Opens one file; the source is called by its relative name.  Raises `EntryNotFoundError`."""

    def prefetch(  # noqa: B027 - most trees are at hand
        self,
        names: Iterable[str] = (),
        *,
        tails: Iterable[str] = (),
        sizes: Iterable[str] = (),
        spans: Mapping[str, tuple[int, int]] = MappingProxyType({}),
    ) -> None:
        """Tells what will be read soon, so that a remote tree can ask for all of it at the same time.

        `names`: files whose beginning will be read; `tails`: files whose end and beginning will be; `sizes`: files
        whose size will be asked; `spans`: ranges that will be read in small pieces, see `Source.expect`.  Whatever
        goes wrong shows when the files are read.
        """

    @abc.abstractmethod
    def subtree(self, name: str) -> Tree:
        """The directory `name` as a tree of its own (whether or not it exists)."""

    @property
    def location(self) -> str | None:
        """The path or URL that opens this tree again, or None."""
        return None

    def close(self) -> None:  # noqa: B027
        """Releases what the tree holds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"


class LocalTree(Tree):
    """A local directory.  Symbolic links that lead outside it are refused."""

    def __init__(self, path: str | os.PathLike[str], prefix: str = "") -> None:
        from pathlib import Path

        self.path = Path(path)
        self.name = os.fspath(path)
        self._prefix = prefix

    @property
    def location(self) -> str | None:
        return os.fspath(self.path)

    def names(self, prefix: str = "") -> list[str]:
        from pathlib import Path

        base = self.path / check_relative(prefix, self.name) if prefix else self.path
        out: list[str] = []
        for folder, _, files in os.walk(base):
            out.extend((Path(folder) / file).relative_to(self.path).as_posix() for file in files)
        return sorted(out)

    def files(self) -> list[str]:
        try:
            with os.scandir(self.path) as found:
                return sorted(entry.name for entry in found if not entry.is_dir())
        except OSError:  # as `names`: what cannot be listed is not there
            return []

    def _resolve(self, name: str) -> Path:
        path = self.path / check_relative(name, self.name)
        if not path.resolve().is_relative_to(self.path.resolve()):
            raise UnsafePathError(
                "a link leads outside the directory", code="EX-503", span=Span(self.name, 0, 0), actual=name
            )
        return path

    def exists(self, name: str) -> bool:
        return self._resolve(name).is_file()

    def source(self, name: str) -> Source:
        path = self._resolve(name)
        if not path.is_file():
            raise EntryNotFoundError("no such file in the directory", span=Span(self.name, 0, 0), actual=name)
        return FileSource(path, self._prefix + name)

    def subtree(self, name: str) -> Tree:
        return LocalTree(self._resolve(name), f"{self._prefix}{name}/")


class MemoryTree(Tree):
    """Files held in memory, by name (tests, carving, remote staging)."""

    def __init__(self, files: Mapping[str, bytes | Source], name: str = "<memory>", prefix: str = "") -> None:
        self.name = name
        self._files = {check_relative(key): value for key, value in files.items()}
        self._prefix = prefix

    def names(self, prefix: str = "") -> list[str]:
        lead = f"{prefix}/" if prefix else ""
        return sorted(name for name in self._files if name.startswith(lead))

    def exists(self, name: str) -> bool:
        return check_relative(name, self.name) in self._files

    def source(self, name: str) -> Source:
        data = self._files.get(check_relative(name, self.name))
        if data is None:
            raise EntryNotFoundError("no such file in the directory", span=Span(self.name, 0, 0), actual=name)
        return data if isinstance(data, Source) else BytesSource(data, self._prefix + name)

    def subtree(self, name: str) -> Tree:
        lead = check_relative(name, self.name) + "/"
        files = {key[len(lead) :]: value for key, value in self._files.items() if key.startswith(lead)}
        return MemoryTree(files, f"{self.name}/{name}", self._prefix + lead)


def source_error(error: OSError, name: str, start: int = 0, end: int = 0) -> SourceError:
    """An operating system error as ours, naming the file."""
    return SourceError(error.strerror or str(error), span=Span(name, start, end))


Target = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO | Source | Tree


def open_target(
    target: Target,
    *,
    storage_options: Mapping[str, Any] | None = None,
    offset: int = 0,
    length: int | None = None,
    size: int | None = None,
    tail_first: bool = False,
) -> Source | Tree:
    """A `Source` (file, bytes, file object, URL) or `Tree` (directory) for what the caller has.

    `offset` and `length` (bytes) select an archive inside a larger file; offsets in messages stay those of the larger
    file.  `size` is what the caller knows a remote object's size to be, which may spare the question (a wrong one is a
    `SourceChangedError` when it is read); `tail_first` says that the end of the file is needed first.  Raises
    `SourceError` when it cannot be opened.
    """
    opened = _open_target(target, storage_options, size, tail_first)
    if not offset and length is None:
        return opened
    if isinstance(opened, Tree):
        raise SourceError("an offset or length needs a file, not a directory", span=Span(opened.name, 0, 0))
    end = opened.size if length is None else offset + length
    return opened.window(offset, end)


def _open_target(
    target: Target, storage_options: Mapping[str, Any] | None, size: int | None = None, tail_first: bool = False
) -> Source | Tree:
    if isinstance(target, (Source, Tree)):
        return target
    if isinstance(target, (bytes, bytearray, memoryview)):
        return BytesSource(target)
    if isinstance(target, (str, os.PathLike)):
        text = os.fspath(target)
        if "://" in text or "::" in text:
            from exhume.io.remote.opening import open_url

            return open_url(text, storage_options, size, tail_first)
        kind = _file_type(text)
        if kind == stat.S_IFDIR:
            return LocalTree(text)
        if kind not in (0, stat.S_IFREG, stat.S_IFBLK):
            raise SourceError("not a regular file or directory", span=Span(text, 0, 0))
        return FileSource(text)
    if hasattr(target, "read") and hasattr(target, "seek"):
        return FileObjectSource(target)
    raise TypeError(f"cannot open {type(target).__name__}: give a path, URL, bytes, binary file object, Source or Tree")


def _file_type(path: str) -> int:
    """What a path leads to, as in `stat.S_IFREG`; 0 when that cannot be told (opening it will say why)."""
    try:
        return stat.S_IFMT(os.stat(path).st_mode)  # noqa: PTH116 - pathlib is not worth its import for this
    except (OSError, ValueError):
        return 0
