"""Turns what a caller has (path, URL, bytes, file object, `Source`, `Tree`) into a `Source` or a `Tree`.

A `Source` is one readable file, a `Tree` a directory of them. Modules for URLs and disk images are imported only when
they are needed.  `storage_options` are for the file system of a URL (fsspec).
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from exhume.errors import SourceError, SourceNotFoundError, Span
from exhume.io.local import FileObjectSource, FileSource, open_path
from exhume.io.source import BytesSource, Source, StoppableSource
from exhume.io.tree import StoppableTree, Tree

Target = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO | Source | Tree


def is_url(target: str) -> bool:
    """Whether a target is a URL, possibly a chain of them, and not a path: a path that exists is one."""
    return ("://" in target or "::" in target) and not os.path.lexists(target)


@contextlib.contextmanager
def open_stream(target: str, storage_options: Mapping[str, Any] | None = None) -> Iterator[BinaryIO]:
    """The content of a file or URL, from front to back.  All of a URL is fetched, whatever its budget is.

    Raises `SourceError`, for directories too.
    """
    from exhume.io.files import open_input
    from exhume.io.source import STREAM_CHUNK, SourceReader

    if not is_url(target):
        with open_input(target) as file:
            yield file
        return
    with open_target(target, storage_options={**(storage_options or {}), "allow_full_download": True}) as opened:
        if isinstance(opened, Tree):
            raise SourceError("a directory: pass its files", span=Span(opened.name, 0, 0))
        opened.will_read(0, opened.size)
        yield io.BufferedReader(SourceReader(opened), STREAM_CHUNK)


def open_target(
    target: Target,
    *,
    storage_options: Mapping[str, Any] | None = None,
    offset: int = 0,
    length: int | None = None,
    size: int | None = None,
    tail_first: bool = False,
    is_image: bool = False,
) -> Source | Tree:
    """A `Source` (file, bytes, file object, URL) or `Tree` (directory) for what the caller has.

    `offset` and `length` (bytes) select an archive inside a larger file; offsets in messages stay those of the larger
    file.  `size` is the size of a remote object in bytes where the caller knows it, which can save a request (reading
    raises `SourceChangedError` if it is wrong); `tail_first` says that the end of the file is needed first.  With
    `is_image`, or an offset or length, the first segment of a split raw image (`.000`, `.001`, `.aa`) stands for all of
    them.  Raises `SourceError` when the target cannot be opened.
    """
    if is_image or offset or length is not None:
        target = _joined(target)
    opened = _open_target(target, storage_options, size, tail_first)
    if not offset and length is None:
        return opened
    if isinstance(opened, Tree):
        raise SourceError("an offset or length needs a file, not a directory", span=Span(opened.name, 0, 0))
    end = max(offset, opened.size) if length is None else offset + length
    return opened.window(offset, end)


def _joined(target: Target) -> Target:
    """The split image that a local path begins, else the target."""
    if not isinstance(target, (str, os.PathLike)):
        return target
    from exhume.io.images import SplitSource, split_set

    if pieces := split_set(os.fspath(target)).pieces:
        return SplitSource(pieces)
    return target


def _open_target(
    target: Target, storage_options: Mapping[str, Any] | None, size: int | None = None, tail_first: bool = False
) -> Source | Tree:
    """The source or tree of a target, by its type; `size` and `tail_first` are for URLs.

    Raises `TypeError` for a type that is none of these, and `SourceError` if the target cannot be opened.
    """
    if isinstance(target, str) and not target:
        raise SourceNotFoundError("the name of the target is empty")
    if isinstance(target, (Source, Tree)):
        return target
    if isinstance(target, (bytes, bytearray, memoryview)):
        return BytesSource(target)
    if isinstance(target, (str, os.PathLike)):
        text = os.fspath(target)
        if is_url(text):
            from exhume.io.remote.opening import open_url

            return open_url(text, storage_options, size, tail_first)
        if text.endswith("01"):  # a name such as image.E01; other names need no import
            from exhume.io.images import EvidenceSource, is_evidence

            if is_evidence(text):
                return EvidenceSource(text)
        return open_path(text)
    if hasattr(target, "read") and hasattr(target, "seek"):
        return FileObjectSource(target)
    raise TypeError(f"cannot open {type(target).__name__}: give a path, URL, bytes, binary file object, Source or Tree")


def parent_tree(source: Source, levels: int = 1) -> Tree | None:
    """The directory that holds a file (`levels` up), for formats whose files refer to their neighbors.

    None for bytes, file objects of the caller and windows into a larger file.
    """
    if isinstance(source, FileSource):
        return source.parent(levels)
    if isinstance(source, StoppableSource):
        above = parent_tree(source.base, levels)
        return None if above is None else StoppableTree(above, source.stopped)
    if not source.is_remote:
        return None
    from exhume.io.remote.tree import parent_tree as remote_parent

    return remote_parent(source, levels)
