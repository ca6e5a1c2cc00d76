"""One chunk being written: the data as it arrives, then the index and the footer.

The writer decides on names and roll-over.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from pathlib import Path

from exhume.archive import Progress
from exhume.counts import counted
from exhume.errors import WriterError
from exhume.formats.caf.build import IndexOrder, MemberName, entry_size, iter_index, member_name
from exhume.formats.caf.layout import FOOTER_SIZE, MAX_INDEX, MIN_INDEX, build_footer
from exhume.formats.caf.pykernel import PUNCTUATION
from exhume.io.files import naming, write_pieces
from exhume.io.output.atomic import AtomicFile
from exhume.io.output.stream import copy_between, read_all, write_all
from exhume.io.source import STREAM_CHUNK

BUFFER = 1 << 20
"""Small members are collected up to this many bytes before they are written."""

MAX_PIECES = 1024
"""Pieces that one system call takes (IOV_MAX on Linux)."""

DIGEST_WINDOW = 64 << 10
"""Bytes at the end of a chunk whose SHA-256 identifies it: always the footer, and all of most indexes."""


class Chunk:
    """An `AtomicFile` with members; keeps its own position, so that a failed member can be taken back."""

    def __init__(self, path: Path, *, order: IndexOrder, limit: int, max_index: int, overwrite: bool) -> None:
        """Start a chunk of at most `limit` bytes at `path`, which appears when it is published."""
        self.path = path
        self.order: IndexOrder = order
        self.limit = limit
        self.max_index: int = min(max_index, MAX_INDEX)
        self.files: dict[str, tuple[int, int]] = {}
        """Range `[start, end)` of each member in the chunk, by name."""
        self.raw: dict[str, bytes] = {}
        """Original bytes of the names that are not UTF-8."""
        self.position: int = 0
        self.unreferenced_bytes: int = 0
        """Bytes of the data section that no member covers."""
        self.index_size: int = MIN_INDEX
        """Bytes that the index will take, were it written now."""
        self.size: int = 0
        self.tail_sha256: str = ""
        self._atomic = AtomicFile(path, overwrite=overwrite)
        self._fd = self._atomic.file.fileno()
        self._buffer: list[bytes | memoryview] = []
        self._held = 0

    # -- sizes

    def index_size_with(self, name: MemberName, start: int, end: int) -> int:
        """Bytes of the index after `name` is added at `[start, end)`."""
        size = self.index_size + entry_size(name.spelled, start, end)
        old = self.files.get(name.text)
        if old is not None:
            earlier = self.raw.get(name.text)
            size -= entry_size(member_name(earlier or name.text, self.order).spelled, *old)
        elif not self.files:
            size -= 1  # no comma before the first entry
        return size

    def fits(self, name: MemberName, size: int) -> bool:
        """Whether a member of `size` bytes leaves the chunk, index and footer included, within its limits."""
        return self.fits_at(name, self.position, size)

    def fits_at(self, name: MemberName, start: int, size: int) -> bool:
        """`fits` for a member that starts at `start`."""
        index = self.index_size_with(name, start, start + size)
        return index <= self.max_index and start + size + index + FOOTER_SIZE <= self.limit

    # -- data

    def append(self, name: MemberName, data: bytes | memoryview) -> bool:
        """Add a new member if it fits; this is the fast path for many small members."""
        start, size = self.position, len(data)
        end = start + size
        index = self.index_size + name.spelled + PUNCTUATION + len(str(start)) + len(str(end)) - (not self.files)
        if name.text in self.files or index > self.max_index or end + index + FOOTER_SIZE > self.limit:
            return False
        self.index_size = index
        self.files[name.text] = (start, end)
        if name.raw is not None:
            self.raw[name.text] = name.raw
        self.position = end
        self._held += size
        self._buffer.append(data)
        if self._held >= BUFFER:
            self.flush()
        return True

    def append_batch(self, names: Sequence[str], sizes: Sequence[int], data: memoryview) -> bool:
        """Add members with plain names, all different, whose bytes follow each other in `data`, if all of them fit."""
        edges = list(accumulate(sizes, initial=self.position))
        digits = list(map(len, map(str, edges)))
        index = self.index_size + sum(map(len, names)) + PUNCTUATION * len(names) - (not self.files)
        index += 2 * sum(digits) - digits[0] - digits[-1]
        if (
            index > self.max_index
            or edges[-1] + index + FOOTER_SIZE > self.limit
            or not self.files.keys().isdisjoint(names)
        ):
            return False
        self.index_size = index
        self.files.update(zip(names, pairwise(edges), strict=True))
        self.position = edges[-1]
        self._held += len(data)
        self._buffer.append(data)
        if self._held >= BUFFER:
            self.flush()
        return True

    def write(self, data: bytes) -> None:
        """Append bytes to the data section."""
        self.position += len(data)
        self._held += len(data)
        self._buffer.append(data)
        if self._held >= BUFFER:
            self.flush()

    def flush(self) -> None:
        """Pass the buffered bytes to the system."""
        if self._held:
            pieces, held = self._buffer, self._held
            self._buffer, self._held = [], 0
            with naming(self.path):
                done = write_pieces(self._fd, pieces) if len(pieces) <= MAX_PIECES else 0
                if done < held:
                    write_all(self._fd, memoryview(b"".join(pieces))[done:])

    def copy_from(self, fd: int, size: int, offset: int | None = None) -> int:
        """Append up to `size` bytes of another file, in the kernel where possible; return how many it copied."""
        self.flush()
        done = copy_between(fd, self._fd, size, offset)
        self.position += done
        return done

    def read_back(self, start: int, end: int) -> Iterable[bytes]:
        """Bytes of the data section that have already been written."""
        self.flush()
        for at in range(start, end, STREAM_CHUNK):
            with naming(self.path):
                piece = read_all(self._fd, min(STREAM_CHUNK, end - at), at)
            yield piece

    def take_back(self, start: int) -> None:
        """Forget everything from `start` on (a member that failed half-way)."""
        self.flush()
        with naming(self.path):
            os.ftruncate(self._fd, start)
            os.lseek(self._fd, start, os.SEEK_SET)
        self.position = start

    def move_tail(self, start: int, other: Chunk) -> None:
        """Move the bytes from `start` on to the end of another chunk.

        Raises `WriterError` when the temporary file has shrunk.
        """
        self.flush()
        size = self.position - start
        if other.copy_from(self._fd, size, start) != size:
            raise WriterError("the temporary file shrank while it was written", format="caf")
        self.take_back(start)

    def add(self, name: MemberName, start: int) -> None:
        """Add the bytes between `start` and the current position to the index as a member."""
        end = self.position
        self.index_size = self.index_size_with(name, start, end)
        old = self.files.get(name.text)
        if old is not None:
            self.unreferenced_bytes += old[1] - old[0]
        self.files[name.text] = (start, end)
        if name.raw is not None:
            self.raw[name.text] = name.raw
        elif old is not None:
            self.raw.pop(name.text, None)

    # -- the end

    def seal(self, progress: Progress) -> None:
        """Write index and footer, flush the file to disk and close it; it still has its temporary name.

        Raises `WriterError` when the index is larger than the footer can state.
        """
        self.flush()
        data_size = self.position
        for piece in iter_index(self.files, self.order, self.raw):
            self.write(piece)
            progress(self.position - data_size, self.index_size, "bytes of index")
        index_size = self.position - data_size
        if index_size != self.index_size or index_size > self.max_index:
            raise WriterError(
                "the index is larger than the footer can state",
                format="caf",
                expected=counted(self.index_size, "bytes"),
                actual=counted(index_size, "bytes"),
            )
        self.write(build_footer(index_size))
        self.flush()
        self.size = self.position
        window = min(DIGEST_WINDOW, self.size)
        with naming(self.path):
            self.tail_sha256 = hashlib.sha256(read_all(self._fd, window, self.size - window)).hexdigest()
        self._atomic.seal()

    def commit(self) -> None:
        """Rename a sealed chunk to its name."""
        self._atomic.commit()

    def abort(self) -> None:
        """Remove the file, whether it has its temporary or its final name."""
        self._atomic.roll_back()
