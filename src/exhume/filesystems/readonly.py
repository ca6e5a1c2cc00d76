"""Reading by path and refusing to write, which all the file systems share.

`AbstractFileSystem` of fsspec has many methods; those that matter are implemented here, by means of three methods that
a subclass has: `_entry`, `_children` and `_fetch`.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any, ClassVar, Never

from fsspec.spec import AbstractBufferedFile, AbstractFileSystem
from fsspec.utils import stringify_path, tokenize

from exhume.errors import Span, UnsupportedOperationError

BLOCK_SIZE = 1 << 20
"""Bytes that an open file reads ahead."""

Info = dict[str, Any]
"""fsspec's entry for a path: `name`, `size` in bytes (None: unknown), `type` (`file` or `directory`), and details."""

UNKNOWN_TIME = datetime.fromtimestamp(0, UTC)
"""The result of `modified` for an unknown time: callers expect some time and cannot handle None."""


def file_time(path: str | None) -> datetime | None:
    """When a local file was last written; None for anything else."""
    if path is None or "://" in path:
        return None
    try:
        return datetime.fromtimestamp(os.stat(path).st_mtime, UTC)  # noqa: PTH116 - path is text
    except OSError:
        return None


def is_path(name: str) -> bool:
    """Whether a name can be a path: no empty, `.` or `..` part, which would leave a directory it is copied to."""
    return "\0" not in name and not any(part in ("", ".", "..") for part in name.split("/"))


def folder_info(path: str) -> Info:
    """The entry of a directory."""
    return {"name": path, "size": 0, "type": "directory"}


class Paths:
    """Paths in sorted order, so that a directory is a range of them; `omitted` counts names that are not paths."""

    def __init__(self, names: Iterable[str]) -> None:
        listed = list(names)
        self.paths: list[str] = sorted(name for name in listed if is_path(name))
        self.omitted: int = len(listed) - len(self.paths)

    def is_folder(self, path: str) -> bool:
        """Whether anything is below a path."""
        at = bisect_left(self.paths, f"{path}/")
        return not path or (at < len(self.paths) and self.paths[at].startswith(f"{path}/"))

    def children(self, folder: str) -> Iterator[tuple[str, bool]]:
        """The entries of a directory: `(path, whether it is a directory)`, in sorted order."""
        lead = f"{folder}/" if folder else ""
        at = bisect_left(self.paths, lead)
        while at < len(self.paths) and self.paths[at].startswith(lead):
            path = self.paths[at]
            cut = path.find("/", len(lead))
            if cut < 0:
                yield path, False
                at += 1
            else:
                yield path[:cut], True
                at = bisect_left(self.paths, path[:cut] + "0", at)  # "0" follows "/": past everything below


class ReadOnlyFile(AbstractBufferedFile):  # type: ignore[misc]
    """An open member: seekable, buffered, read in ranges."""

    DEFAULT_BLOCK_SIZE = BLOCK_SIZE

    def _fetch_range(self, start: int, end: int) -> bytes:
        """Read bytes `[start, end)` for the buffer; fsspec calls it."""
        data: bytes = self.fs.cat_file(self.path, start=start, end=end)
        return data


class ReadOnlyFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """Reading by path, built on three methods: what is at a path, what is below it, and which bytes it has."""

    root_marker = ""
    protocol: ClassVar[str]
    cachable = True  # fsspec returns the same instance for the same arguments

    # What a subclass answers.  Paths are stripped.

    @abstractmethod
    def _entry(self, path: str) -> Info | None:
        """The entry at a path; None when there is none."""

    @abstractmethod
    def _children(self, path: str) -> list[Info] | None:
        """The entries directly below a path; None when it is not a directory."""

    @abstractmethod
    def _fetch(self, requests: Sequence[tuple[str, int | None, int | None]]) -> list[bytes | Exception]:
        """Byte ranges of files, each clipped like a slice, or the error for each that cannot be read."""

    # Asking

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        """Return the path inside the archive, without protocol and slashes at its ends."""
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        text = stringify_path(path)
        for head in (f"{cls.protocol}://", f"{cls.protocol}::"):
            text = text.removeprefix(head)
        return text.strip("/")

    def info(self, path: Any, **kwargs: Any) -> Info:
        """Name, size in bytes, type and other details of one path.  Raises `FileNotFoundError`."""
        stripped = self._strip_protocol(path)
        found = self._entry(stripped)
        if found is None:
            raise FileNotFoundError(stripped)
        return found

    def ls(self, path: Any, detail: bool = True, **kwargs: Any) -> list[Any]:
        """The entries directly below a directory, or the one entry of a file.  Raises `FileNotFoundError`."""
        stripped = self._strip_protocol(path)
        found = self._children(stripped)
        if found is None:
            found = [self.info(stripped)]
        found.sort(key=itemgetter("name"))
        return found if detail else [info["name"] for info in found]

    def exists(self, path: Any, **kwargs: Any) -> bool:
        """Whether something is at the path; a damaged archive raises its error instead of giving False."""
        return self._kind(path) is not None

    def isdir(self, path: Any) -> bool:
        """Whether the path is a directory."""
        return self._kind(path) == "directory"

    def isfile(self, path: Any) -> bool:
        """Whether the path is a file."""
        return self._kind(path) == "file"

    def _kind(self, path: Any) -> str | None:
        """Return `file` or `directory`; None if the path does not exist."""
        try:
            found = self._entry(self._strip_protocol(path))
        except FileNotFoundError:  # the archive itself
            return None
        return None if found is None else str(found["type"])

    def checksum(self, path: Any) -> int:
        """A number that changes when the file does."""
        return int(self.ukey(path), 16)

    def ukey(self, path: Any) -> str:
        """A string that changes when the file does."""
        key: str = tokenize(self._identity(), self.info(path))
        return key

    def _identity(self) -> Any:
        """A value that changes when the archive does."""
        return self.storage_args, self.storage_options

    def modified(self, path: Any) -> datetime:
        """When the archive was stored, since members have no times; `UNKNOWN_TIME` where the storage does not say."""
        self.info(path)
        return self._stored_at() or UNKNOWN_TIME

    @abstractmethod
    def _stored_at(self) -> datetime | None:
        """When the archive was stored; None when unknown."""

    # Reading

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | str | None = None,
        autocommit: bool = True,
        cache_options: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> ReadOnlyFile:
        """Open a file to read; `mode` is "rb".  fsspec passes the arguments; `autocommit` is for writing, and unused.

        Raises `IsADirectoryError` for folders, and as `_refuse` for other modes.
        """
        if mode != "rb":
            self._refuse(path)
        info = self.info(path)
        if info["type"] == "directory":
            raise IsADirectoryError(path)
        kwargs["size"] = info["size"]
        return ReadOnlyFile(self, info["name"], mode, block_size or "default", cache_options=cache_options, **kwargs)

    def cat_file(self, path: Any, start: int | None = None, end: int | None = None, **kwargs: Any) -> bytes:
        """The bytes `[start, end)` of a file, clipped like a slice; all of it without them.

        Raises `FileNotFoundError`, and the archive's own errors for damage.
        """
        (data,) = self._fetch([(self._strip_protocol(path), start, end)])
        if isinstance(data, Exception):
            raise data
        return data

    def cat_ranges(
        self,
        paths: list[str],
        starts: Any,
        ends: Any,
        max_gap: int | None = None,
        on_error: str = "return",
        **kwargs: Any,
    ) -> list[Any]:
        """The bytes of many ranges; neighboring ones are read together, others concurrently where the storage can.

        `starts` and `ends` are lists, one for each path, or one value for all; `max_gap` of fsspec has no effect.
        Failures are returned in place of the bytes, or, if `on_error` is not "return", the first one is raised.  Raises
        `TypeError` when `paths` is not a list, and `ValueError` when the lists differ in length.
        """
        if not isinstance(paths, list):
            raise TypeError("paths must be a list")
        starts = starts if isinstance(starts, list) else [starts] * len(paths)
        ends = ends if isinstance(ends, list) else [ends] * len(paths)
        if not len(paths) == len(starts) == len(ends):
            raise ValueError("paths, starts and ends differ in length")
        names = [self._strip_protocol(path) for path in paths]
        out = self._fetch(list(zip(names, starts, ends, strict=True)))
        if on_error != "return":
            for data in out:
                if isinstance(data, Exception):
                    raise data
        return list(out)

    def cat(self, path: Any, recursive: bool = False, on_error: str = "raise", **kwargs: Any) -> Any:
        """Whole files: bytes for one path, a dictionary by path for several (a list, a glob, a directory).

        Raises as `cat_file` does; with `on_error` "return" or "omit", failures are returned or left out instead.
        """
        paths = self.expand_path(path, recursive=recursive)
        if len(paths) == 1 and not recursive and not isinstance(path, list) and self._strip_protocol(path) == paths[0]:
            return self.cat_file(paths[0])
        files = [one for one in paths if not self.isdir(one)]
        out: dict[str, Any] = {}
        for one, data in zip(files, self._fetch([(one, None, None) for one in files]), strict=True):
            if isinstance(data, Exception):
                if on_error == "raise":
                    raise data
                if on_error == "omit":
                    continue
            out[one] = data
        return out

    # Writing: never

    def _refuse(self, path: object = "", *args: object, **kwargs: object) -> Never:
        """Raise `UnsupportedOperationError`: archives are not changed through a file system."""
        raise UnsupportedOperationError(
            f"{self.protocol}:// is read-only: archives are written whole, with exhume.create or exhume create",
            span=Span(str(path), 0, 0),
        )

    _rm: Callable[..., Never] = _refuse
    copy: Callable[..., Never] = _refuse
    cp_file: Callable[..., Never] = _refuse
    makedirs: Callable[..., Never] = _refuse
    mkdir: Callable[..., Never] = _refuse
    mv: Callable[..., Never] = _refuse
    pipe_file: Callable[..., Never] = _refuse
    put_file: Callable[..., Never] = _refuse
    rm: Callable[..., Never] = _refuse
    rm_file: Callable[..., Never] = _refuse
    rmdir: Callable[..., Never] = _refuse
    touch: Callable[..., Never] = _refuse
