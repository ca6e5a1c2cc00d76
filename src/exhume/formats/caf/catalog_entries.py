"""A catalog's entry for each chunk, and the location of each path.

A catalog is a database of many chunks (CAF files) and of the files in them, their members.  Here are the values that it
stores and returns, the reading of a chunk for it, and the rules about where it may read chunks.  `storage_options` are
fsspec's, for chunks at URLs.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Any
from urllib.parse import unquote

from exhume.counts import counted
from exhume.errors import SourceChangedError, SourceError, Span, shorten
from exhume.formats.caf.chunk import DIGEST_WINDOW
from exhume.formats.caf.reader import CafArchive, open_archive
from exhume.io.opening import open_target
from exhume.io.parallel import map_ordered
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits

LISTERS = 8
"""Targets that are examined at the same time: each may cost a round trip."""


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """A chunk as the catalog knows it.  Sizes are in bytes; `location` is a path or URL that opens it.

    `data_size` is that of the bytes of all members; `tail_sha256` and the size identify the chunk (`tail_digest`).
    """

    caf_file_id: str
    location: str
    chunk_size: int
    data_size: int
    tail_sha256: str
    num_files: int


@dataclass(frozen=True, slots=True)
class Location:
    """The location of one member: `size` bytes at `start_byte` of a chunk; other fields are as in `ChunkRecord`."""

    file_path: str
    caf_file_id: str
    location: str
    start_byte: int
    size: int
    chunk_size: int
    tail_sha256: str

    def to_dict(self) -> dict[str, Any]:
        """The JSON form documented for `exhume catalog find --json`."""
        return {
            "file_path": self.file_path,
            "caf_file_id": self.caf_file_id,
            "location": self.location,
            "start_byte": self.start_byte,
            "end_byte": self.start_byte + self.size,
            "size": self.size,
            "chunk_size": self.chunk_size,
            "tail_sha256": self.tail_sha256,
        }


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference found by `check`: `kind` is missing, moved, extra (files), chunk-missing, -changed or -extra.

    `expected` is what the catalog has, `actual` what is in the chunk, as text; None if there is nothing.
    """

    kind: str
    caf_file_id: str
    file_path: str | None = None
    expected: str | None = None
    actual: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form documented for `exhume catalog check --json`."""
        return {
            "kind": self.kind,
            "caf_file_id": self.caf_file_id,
            "file_path": self.file_path,
            "expected": self.expected,
            "actual": self.actual,
        }

    def __str__(self) -> str:
        """Return the difference as a line of text."""
        what = shorten(self.file_path) if self.file_path is not None else f"chunk {self.caf_file_id}"
        line = f"{self.kind}: {what}"
        if self.expected is not None:
            line += f": catalog says {self.expected}"
        return line + (f", found {self.actual}" if self.actual is not None else "")


class Places:
    """Where a catalog may read chunks: below folders and URL prefixes, and at the places that its caller named.

    What a catalog stores as a chunk's place is data: it could be `/etc/passwd`, or the URL of a server that
    records who asks.
    """

    def __init__(self, below: Iterable[str]) -> None:
        """Allow locations below these folders and URL prefixes."""
        self._folders: list[str] = []  # without links
        self._prefixes: list[str] = []  # of URLs, each with a slash at its end
        self._named: set[str] = set()  # places that were admitted
        for one in below:
            if is_remote(one):
                self._prefixes.append(f"{one.rstrip('/')}/")
            else:
                self._folders.append(_real(one))

    def add(self, location: str) -> None:
        """Admit this place."""
        self._named.add(location)

    def check(self, location: str) -> None:
        """Raise `SourceError` (EX-613) if chunks may not be read here; links are followed, and nothing is requested."""
        if location not in self._named and not self._below(location):
            raise SourceError(
                "the catalog names a chunk outside the folders from which chunks may be read (by default only its own)",
                code="EX-613",
                span=Span(location, 0, 0),
            )

    def _below(self, location: str) -> bool:
        """Return whether a location is below one of the allowed folders or prefixes, without `..` that leave them."""
        if is_remote(location):
            parts = unquote(location).replace("\\", "/").split("/")
            heads = [one for one in self._prefixes if location.startswith(one) and ".." not in parts]
            # `::` chains file systems (fsspec): what follows the prefix could name any other place.
            return any("::" not in location[len(one) :] for one in heads)
        try:
            real = _real(location)
        except (OSError, ValueError):
            return False
        return any(real == one or real.startswith(os.path.join(one, "")) for one in self._folders)  # noqa: PTH118


def is_remote(location: str) -> bool:
    """Whether a place is a URL of anything but a local file."""
    return ("://" in location and not location.startswith("file://")) or "::" in location


def _real(path: str) -> str:
    """A local path or `file://` URL as an absolute path without links."""
    return os.path.realpath(path.removeprefix("file://"))


def encode_path(name: str) -> tuple[str, str | None]:
    """A member name as `(file_path, name_json)`: databases cannot hold NUL or lone surrogates.

    `name_json` is None for every ordinary name; otherwise it is the exact name as JSON, and `file_path` is its escaped
    form.
    """
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        pass
    else:
        if "\0" not in name:
            return name, None
    exact = json.dumps(name)
    return exact[1:-1], exact


def decode_path(file_path: str, name_json: str | None) -> str:
    """The exact member name.  Raises `ValueError` if `name_json` is not a string in JSON."""
    if name_json is None:
        return file_path
    name = json.loads(name_json)
    if not isinstance(name, str):
        raise ValueError("not a string in JSON")
    return name


def list_chunks(targets: Iterable[str], storage_options: Mapping[str, Any] | None = None) -> list[str]:
    """Paths or URLs of chunks: files are taken as they are; directories and prefixes are searched for `*.caf`, in
    sorted order.
    """
    found: dict[str, None] = {}
    for names in map_ordered(functools.partial(_chunks_of, storage_options), targets, LISTERS):
        found.update(dict.fromkeys(names))
    return list(found)


def _chunks_of(storage_options: Mapping[str, Any] | None, target: str) -> list[str]:
    """Return the `.caf` files of a directory or prefix, or the target itself if it is a file."""
    with open_target(target, storage_options=storage_options) as opened:
        if not isinstance(opened, Tree):
            return [target]
        root = (opened.location or target).rstrip("/")
        return [f"{root}/{name}" for name in opened.names() if name.lower().endswith(".caf")]


def tail_digest(source: Source) -> str:
    """SHA-256 of the last `DIGEST_WINDOW` bytes: the footer and at least the end of the index."""
    window = min(DIGEST_WINDOW, source.size)
    return hashlib.sha256(source.read_at(source.size - window, window)).hexdigest()


@dataclass(frozen=True, slots=True)
class ChunkEntry:
    """The catalog's data about one chunk, picklable: `rows` are (ordinal, file_path, start_byte, size, name_json).

    An ordinal is the number of an entry in the index; the other fields are as in `ChunkRecord`.
    """

    location: str
    chunk_size: int
    data_size: int
    tail_sha256: str
    num_files: int
    rows: tuple[tuple[int, str, int, int, str | None], ...]


def read_entry(
    location: str, limits: Limits = DEFAULT_LIMITS, storage_options: Mapping[str, Any] | None = None
) -> ChunkEntry:
    """Read the index of a chunk for the catalog.  Propagates errors from opening the chunk."""
    with open_chunk(location, limits, storage_options) as archive:
        index = archive.index
        live = [ordinal for ordinal, _ in index.items() if ordinal not in index.flaws]
        names = [index.names[ordinal] for ordinal in live]
        everything = "".join(names)
        plain = everything.isascii() and "\0" not in everything  # as a rule; no name has to be examined alone
        # As `encode_path` returns them.
        spelled: Iterable[tuple[str, str | None]] = zip(names, repeat(None)) if plain else map(encode_path, names)
        rows = tuple(
            (ordinal, path, index.starts[ordinal], index.ends[ordinal] - index.starts[ordinal], exact)
            for ordinal, (path, exact) in zip(live, spelled, strict=True)
        )
        return ChunkEntry(
            location, archive.source.size, archive.data_size, tail_digest(archive.source), len(index.table), rows
        )


def place_text(caf_file_id: str, start: int, end: int) -> str:
    """The text that shows a range of a chunk in a difference."""
    return f"[{start}, {end}) of {caf_file_id}"


def open_chunk(location: str, limits: Limits, storage_options: Mapping[str, Any] | None = None) -> CafArchive:
    """The chunk at a location, opened.  Propagates errors from `open_archive`."""
    source = open_target(location, storage_options=storage_options)
    try:
        return open_archive(source, limits=limits)
    except BaseException:
        source.close()
        raise


def open_location(place: Location, storage_options: Mapping[str, Any] | None = None) -> Source:
    """The chunk that a location is in; an HTTP or S3 object is not requested before it is read.

    Raises `SourceChangedError` when its size is not the cataloged one.
    """
    source = open_target(place.location, storage_options=storage_options, size=place.chunk_size)
    if isinstance(source, Tree) or source.size != place.chunk_size:
        actual = "a directory" if isinstance(source, Tree) else counted(source.size, "bytes")
        source.close()
        raise SourceChangedError(
            "the chunk has changed since it was cataloged (see: exhume catalog check)",
            span=Span(place.location, 0, 0),
            expected=counted(place.chunk_size, "bytes"),
            actual=actual,
        )
    return source


def read_location(
    place: Location, start: int = 0, stop: int | None = None, storage_options: Mapping[str, Any] | None = None
) -> bytes:
    """Bytes `[start, stop)` of a cataloged member; raises `SourceChangedError` when the chunk's size is another."""
    first, last, _ = slice(start, stop).indices(place.size)
    with open_location(place, storage_options) as source:
        return source.read_at(place.start_byte + first, max(0, last - first))


def chunk_difference(archive: CafArchive, record: ChunkRecord | None, caf_file_id: str) -> Difference | None:
    """Return the difference between a chunk and its row in the catalog, by size and digest of the tail, if any."""
    size, digest = archive.source.size, tail_digest(archive.source)
    if record is None:
        return Difference("chunk-extra", caf_file_id, actual=counted(size, "bytes"))
    if (size, digest) == (record.chunk_size, record.tail_sha256):
        return None
    return Difference(
        "chunk-changed",
        caf_file_id,
        expected=f"{counted(record.chunk_size, 'bytes')}, tail {record.tail_sha256[:12]}",
        actual=f"{counted(size, 'bytes')}, tail {digest[:12]}",
    )
