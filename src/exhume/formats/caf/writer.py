"""Writing chunks: members stream in, a full chunk is closed and the next one begun, files appear only when whole.

A chunk is a CAF file: the bytes of its members (files), then an index in JSON, whose form is that of one of two
reference writers (`order`), then a footer.  A chunk has a temporary name until it is published.

Spec: caf.txt, Creating a CAF File.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from exhume.archive import Progress, Writer, no_progress
from exhume.counts import counted
from exhume.errors import SourceError, Span, WriterError, shorten
from exhume.formats.caf.chunk import ORDERS, Chunk, IndexOrder, MemberName, are_plain, entry_size, member_name
from exhume.formats.caf.layout import DEFAULT_CHUNK, FOOTER_SIZE, HARD_LIMIT, MAX_INDEX, MIN_INDEX
from exhume.io.files import NONBLOCK, READ
from exhume.io.source import STREAM_CHUNK, source_error

SMALL = 128 << 10
"""Files up to this size are read whole; larger ones are copied inside the kernel."""

_OPEN = READ | NONBLOCK
"""Flags for opening an input; a FIFO does not block."""


@dataclass(frozen=True, slots=True)
class ChunkSummary:
    """A finished chunk; sizes in bytes, `unreferenced_bytes` are data bytes that no member covers."""

    path: str
    size: int
    files: int
    data_size: int
    index_size: int
    unreferenced_bytes: int
    tail_sha256: str


def create(
    target: str | os.PathLike[str],
    *,
    order: IndexOrder = "sorted",
    chunk_size: int = DEFAULT_CHUNK,
    replace: bool = False,
    overwrite: bool = False,
    publish_each: bool = False,
    on_chunk: Callable[[ChunkSummary], None] | None = None,
    progress: Progress = no_progress,
) -> CafWriter:
    """A writer for one or more chunks, the first at `target`, later ones at `target-0002.caf` and so on.

    Args:
        target: Path of the file to write.
        order: The order of the index: `sorted` (as the Go writer) or `insertion` (as the TypeScript writer).
        chunk_size: Bytes that one chunk may take, index and footer included; at most 32 GiB.
        replace: Whether a name added twice replaces the earlier member; otherwise it is refused.
        overwrite: Whether existing files may be replaced.
        publish_each: Whether a chunk gets its name as soon as it is full, instead of all together at the end.
        on_chunk: Called with each chunk once it has its name.
        progress: Called with (done, total or None, unit).

    Returns:
        A context manager; its `add_bytes`, `add_path` and `add_stream` take members.

    Raises:
        WriterError: An option makes no sense, or (later) a member does not fit.
        OutputExistsError: The name is taken, and not `overwrite`.

    Example:
        >>> with exhume.caf.create("letters.caf") as chunk:
        ...     entry = chunk.add_bytes("a.txt", b"hello")
        >>> list(exhume.caf.open("letters.caf").names())
        ['a.txt']
    """
    return CafWriter(
        target,
        order=order,
        chunk_size=chunk_size,
        replace=replace,
        overwrite=overwrite,
        publish_each=publish_each,
        on_chunk=on_chunk,
        progress=progress,
    )


class CafWriter(Writer):
    """Adds members in the order of the calls, to one chunk or several; see `create` for the arguments.

    With `replace`, the bytes of the earlier member stay as dead data; names that differ, but are stored as the same
    text because they are not UTF-8, are always refused.  Names are text, or file system bytes (those that are not UTF-8
    become U+FFFD, and `lossy_names` counts them).  Not thread-safe.  Every method raises `WriterError` before anything
    of the member is kept.
    """

    def __init__(
        self,
        target: str | os.PathLike[str],
        *,
        order: IndexOrder = "sorted",
        chunk_size: int = DEFAULT_CHUNK,
        replace: bool = False,
        overwrite: bool = False,
        publish_each: bool = False,
        on_chunk: Callable[[ChunkSummary], None] | None = None,
        progress: Progress = no_progress,
        max_index: int = MAX_INDEX,
    ) -> None:
        """Start the first chunk; see `create` for the arguments; the index of a chunk may have `max_index` bytes."""
        if order not in ORDERS:
            raise WriterError("unknown index order", format="caf", expected=" or ".join(ORDERS), actual=order)
        if not FOOTER_SIZE + MIN_INDEX <= chunk_size <= HARD_LIMIT:
            raise WriterError(
                "chunk size out of range",
                format="caf",
                expected=f"{counted(FOOTER_SIZE + MIN_INDEX, 'bytes')} to 32 GiB",
                actual=counted(chunk_size, "bytes"),
            )
        self.target: Path = Path(target)
        self.order: IndexOrder = order
        self.chunk_size = chunk_size
        self.replace = replace
        self.overwrite = overwrite
        self.publish_each = publish_each
        self.lossy_names: int = 0
        self.added: int = 0  # members
        self._on_chunk = on_chunk
        self._progress = progress
        self._max_index = max_index
        self._full: list[Chunk] = []  # sealed, with their temporary names
        self._summaries: list[ChunkSummary] = []  # of published chunks
        self._earlier: set[str] = set()  # names in all chunks before the current one
        self._done = False  # finished or aborted
        self._failed = False  # aborted, because a chunk could not be completed
        self._chunk = self._open_chunk(1)

    # -- chunks

    @property
    def chunks(self) -> list[ChunkSummary]:
        """The chunks that have their name, in order."""
        return list(self._summaries)

    def chunk_path(self, number: int) -> Path:
        """The path of chunk `number` (1-based)."""
        if number == 1:
            return self.target
        return self.target.with_name(f"{self.target.stem}-{number:04d}{self.target.suffix}")

    def _open_chunk(self, number: int) -> Chunk:
        """Return a new chunk with this number."""
        return Chunk(
            self.chunk_path(number),
            order=self.order,
            limit=self.chunk_size,
            max_index=self._max_index,
            overwrite=self.overwrite,
        )

    def _next_chunk(self) -> Chunk:
        return self._open_chunk(len(self._full) + len(self._summaries) + 2)  # the current one is not among them

    def _roll(self, following: Chunk | None = None) -> Chunk:
        """Close the current chunk; `following`, or a new one, becomes current."""
        full, self._chunk = self._chunk, following or self._next_chunk()
        self._full.append(full)
        try:
            full.seal(self._progress)
            self._earlier.update(full.files)
            if self.publish_each:
                self._publish()
        except BaseException:  # the chunk may have a part of its index
            self._failed = True
            self.abort()
            raise
        return self._chunk

    def _publish(self) -> None:
        """Rename the finished chunks to their names, in order, and report each to `on_chunk`."""
        while self._full:
            chunk = self._full[0]
            chunk.commit()
            del self._full[0]
            summary = ChunkSummary(
                path=os.fspath(chunk.path),
                size=chunk.size,
                files=len(chunk.files),
                data_size=chunk.size - chunk.index_size - FOOTER_SIZE,
                index_size=chunk.index_size,
                unreferenced_bytes=chunk.unreferenced_bytes,
                tail_sha256=chunk.tail_sha256,
            )
            self._summaries.append(summary)
            if self._on_chunk is not None:
                self._on_chunk(summary)

    # -- members

    def check(self, name: str | bytes, size: int | None = None) -> None:
        """Raise `WriterError` when a member could not be added: name taken or too long, larger than any chunk."""
        self._check(member_name(name, self.order), size)

    def _check(self, name: MemberName, size: int | None) -> Chunk:
        """Return the current chunk; raise `WriterError` if the member cannot be added to it or to a new chunk."""
        if self._done:
            raise WriterError("the writer is finished", format="caf")
        chunk = self._chunk
        if name.text in self._earlier or (name.text in chunk.files and not self.replace):
            where = "an earlier chunk" if name.text in self._earlier else "this archive"
            raise WriterError(f"the name is in {where} already", format="caf", actual=shorten(name.text))
        if name.text in chunk.files and chunk.raw.get(name.text) != name.raw:  # None: valid UTF-8
            raise WriterError(
                "two names that differ only in invalid UTF-8 would be stored under one name",
                format="caf",
                actual=shorten(name.text),
            )
        if size is not None and not self._fits_alone(name, size):
            raise WriterError(
                "the member is larger than a chunk may be",
                format="caf",
                expected=f"at most {counted(self.chunk_size, 'bytes')} with index and footer",
                actual=f"{counted(size, 'bytes')} in {shorten(name.text)!r}",
            )
        return chunk

    def _fits_alone(self, name: MemberName, size: int) -> bool:
        """Whether a chunk with this member alone is within the limits."""
        index = MIN_INDEX + entry_size(name.spelled, 0, size) - 1  # no comma before the first entry
        return index <= self._max_index and size + index + FOOTER_SIZE <= self.chunk_size

    def _room(self, name: MemberName, size: int) -> Chunk:
        """Return the chunk that has space for a member: the current one, or a new one."""
        chunk = self._check(name, size)
        if chunk.fits(name, size):
            return chunk
        if name.text in chunk.files:
            raise WriterError("a name cannot be replaced across chunks", format="caf", actual=shorten(name.text))
        return self._roll()

    def add_bytes(self, name: str | bytes, data: bytes | bytearray | memoryview) -> None:
        """Add a member from memory."""
        stored = member_name(name, self.order)
        chunk = self._room(stored, len(data))
        start = chunk.position
        chunk.write(bytes(data))
        self._enter(chunk, stored, start)

    def add_piece(self, name: str | bytes, data: memoryview) -> None:
        """`add_bytes` without a copy, for many small members; the memory must not change before `finish`."""
        stored = member_name(name, self.order)
        if self._done or stored.text in self._earlier or not self._chunk.append(stored, data):
            self.add_bytes(name, data)
            return
        self.added += 1
        if stored.raw is not None:
            self.lossy_names += 1

    def add_batch(self, names: Sequence[str], sizes: Sequence[int], data: memoryview) -> bool:
        """Add many small members stored back to back in `data`, all or none; return whether it did.

        It adds none if a name is taken or not plain ASCII, or the chunk would become too large.  The memory must not
        change before `finish`.
        """
        if self._done or not are_plain(names) or len(set(names)) != len(names) or not self._earlier.isdisjoint(names):
            return False
        if names and not self._chunk.append_batch(names, sizes, data):
            return False
        self.added += len(names)
        return True

    def add_stream(self, name: str | bytes, file: BinaryIO, length: int | None = None) -> int:
        """Add what a binary file object yields; return its size.

        With `length`, the announced size in bytes, more or fewer bytes raise `WriterError`, and nothing of the member
        is kept.  Without it, a member that turns out not to fit moves to the next chunk.
        """
        return self.add_pieces(name, iter(lambda: file.read(STREAM_CHUNK), b""), length)

    def add_pieces(self, name: str | bytes, pieces: Iterable[bytes], length: int | None = None) -> int:
        """`add_stream` for an iterable of bytes."""
        return self._add_pieces(member_name(name, self.order), pieces, length)

    def _add_pieces(self, stored: MemberName, pieces: Iterable[bytes], length: int | None) -> int:
        """Write a member from chunks of bytes and return its size; `length` is its size if known before.

        A member of unknown size that no longer fits is moved to the next chunk. After an error the bytes written are
        taken back.
        """
        # A member of unknown size begins in the current chunk, since it may fit.
        chunk = self._check(stored, length) if length is None else self._room(stored, length)
        start, size = chunk.position, 0
        try:
            for piece in pieces:
                size += len(piece)
                if length is not None and size > length:
                    raise stored.wrong_length(length, f"more than {counted(length, 'bytes')}")
                if length is None and not chunk.fits_at(stored, start, size):
                    chunk, start = self._move_on(chunk, stored, start, size)
                chunk.write(piece)
            if length is not None and size != length:
                raise stored.wrong_length(length, counted(size, "bytes"))
            if length is None and size == 0 and not chunk.fits_at(stored, start, 0):  # empty: the loop did not run
                chunk, start = self._move_on(chunk, stored, start, 0)
        except BaseException:
            if not self._done and self._chunk is chunk:  # neither aborted nor closed meanwhile
                chunk.take_back(start)
            raise
        self._enter(chunk, stored, start)
        return size

    def _move_on(self, chunk: Chunk, name: MemberName, start: int, size: int) -> tuple[Chunk, int]:
        """Move the bytes of a member that were written so far to the next chunk; return it and their offset there.

        `size` is that of the member so far, which may include bytes that are not written yet.
        """
        if not self._fits_alone(name, size):
            self._check(name, size)  # raises the error
        if name.text in chunk.files:
            raise WriterError("a name cannot be replaced across chunks", format="caf", actual=shorten(name.text))
        following = self._next_chunk()
        try:
            chunk.move_tail(start, following)
        except BaseException:
            following.abort()
            raise
        return self._roll(following), 0

    def add_path(self, path: str | bytes | os.PathLike[str], name: str | bytes | None = None, size: int = -1) -> int:
        """Add a regular file (symbolic links are followed); return its size.

        `name` defaults to the path as given.  `size`, if the caller knows it, saves a system call for small files.
        Raises `SourceError` when it cannot be read, `WriterError` when it is not a regular file.
        """
        text = os.fspath(path)
        stored = member_name(text if name is None else name, self.order)
        try:
            fd = os.open(text, _OPEN)
        except OSError as error:
            raise source_error(error, os.fsdecode(text)) from error
        try:
            if 0 <= size <= SMALL:
                data = os.read(fd, size + 1)  # one more shows that the file has grown
                if len(data) == size:
                    chunk = self._room(stored, size)
                    start = chunk.position
                    chunk.write(data)
                    self._enter(chunk, stored, start)
                    return size
                os.lseek(fd, 0, os.SEEK_SET)
            return self._add_fd(stored, fd, os.fsdecode(text))
        except OSError as error:
            if isinstance(error, SourceError | WriterError):
                raise
            raise source_error(error, os.fsdecode(text)) from error
        finally:
            os.close(fd)

    def _add_fd(self, name: MemberName, fd: int, path: str) -> int:
        """Write the open regular file `fd` as a member and return its size; `path` is for errors."""
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise WriterError("not a regular file", format="caf", span=Span(path, 0, 0))
        size = found.st_size
        if size == 0:  # the file is empty, or only claims to be (as those in /proc do)
            return self._add_pieces(name, iter(lambda: os.read(fd, STREAM_CHUNK), b""), None)
        chunk = self._room(name, size)
        start = chunk.position
        try:
            done = chunk.copy_from(fd, size)
            if done != size:
                raise WriterError(
                    "the file shrank while it was read",
                    format="caf",
                    span=Span(path, done, size),
                    expected=counted(size, "bytes"),
                    actual=counted(done, "bytes"),
                )
        except BaseException:
            chunk.take_back(start)
            raise
        self._enter(chunk, name, start)
        return size

    def add_copy(self, name: str | bytes, of: str) -> bool:
        """Add a second copy of a member of the current chunk (hard links in tar); False when it is not there."""
        place = self._chunk.files.get(of)
        if place is None:
            return False
        source, (start, end) = self._chunk, place
        stored = member_name(name, self.order)
        if not source.fits(stored, end - start):
            return False
        self.add_pieces(name, source.read_back(start, end), end - start)
        return True

    def add_unreferenced(self, data: bytes) -> None:
        """Add bytes that no member covers, so that a chunk with dead data can be rebuilt exactly.

        Raises `WriterError` when the writer is finished.
        """
        if self._done:
            raise WriterError("the writer is finished", format="caf")
        if self._chunk.position + len(data) + self._chunk.index_size + FOOTER_SIZE > self.chunk_size:
            self._roll()
        self._chunk.write(data)
        self._chunk.unreferenced_bytes += len(data)

    def _enter(self, chunk: Chunk, name: MemberName, start: int) -> None:
        """Add the bytes from `start` on to the index, and count the member."""
        chunk.add(name, start)
        self.added += 1
        if name.raw is not None:
            self.lossy_names += 1

    # -- the end

    def finish(self) -> None:
        """Complete the last chunk and rename every chunk to its name.

        Raises `WriterError` if that failed with an earlier chunk.
        """
        if self._failed:
            raise WriterError("an earlier chunk could not be completed", format="caf")
        if self._done:
            return
        try:
            self._chunk.seal(self._progress)
            self._full.append(self._chunk)
            for chunk in reversed(self._full):  # the requested name comes last: then the others exist
                chunk.commit()
            self._publish()
        except BaseException:
            self.abort()
            raise
        self._done = True

    def abort(self) -> None:
        """Drop every chunk, except those that have already been published."""
        if not self._done:
            self._done = True
            self._chunk.abort()
            for chunk in self._full:
                chunk.abort()
