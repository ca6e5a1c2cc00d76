"""Writing ZS files: blocks, index and header, in parallel if requested; a half-written file never looks complete.

Data blocks have level 0; an index block has the keys and places of blocks one level below, and is written after them.
The last one, the root, refers to all others directly or not.  The header, which comes first, is written again at the
end.

Spec: zs.txt; order of writing: "Magic number".
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, BinaryIO

from exhume.archive import Progress, Writer, no_progress
from exhume.codecs.checksums import crc64_xz, sha256
from exhume.counts import counted
from exhume.errors import Span, WriterError
from exhume.formats.zs.encode import (
    Codec,
    Compressor,
    Encoded,
    compressor,
    encode_block,
    encode_data,
    is_smaller,
    shortest_key,
)
from exhume.formats.zs.framing import Framing, framing
from exhume.formats.zs.head import encode_metadata
from exhume.formats.zs.layout import (
    MAX_INDEX_LEVEL,
    Header,
    IndexEntry,
    build_checksum,
    build_header,
    build_index,
    build_preamble,
    codec_field,
)
from exhume.formats.zs.layout_facts import INCOMPLETE_MAGIC, MAGIC
from exhume.io.files import keep_freed_memory
from exhume.io.output.atomic import AtomicFile
from exhume.io.parallel import OrderedCalls
from exhume.limits import DEFAULT_LIMITS, cpu_count
from exhume.native.kernel import MalformedRecordsError, frame_records, scan_records

BLOCK_SIZE = 384 << 10
"""Usual size of a data block's payload in bytes."""

BRANCHING_FACTOR = 1024
"""Usual number of entries of an index block."""

LARGEST_BLOCK = DEFAULT_LIMITS.payload_size
"""Most bytes of a payload: as many as readers keep in memory by default (the limit `payload_size`)."""

LARGEST_INDEX = 64 << 20
"""Bytes of keys after which an index block of at least two entries ends: long keys must not make it too large."""

LARGEST_KEY = 1 << 16
"""Bytes of a first record above which its shortest sufficient prefix is the key."""

SHOWN = 200
"""Bytes of a record that an error shows."""

UNKNOWN_OFFSET = (1 << 63) - 1
"""Root offset of a file that is not finished: larger than any file."""


class ZsWriter(Writer):
    """Writes one ZS file; records must come in ascending order of their bytes (see `exhume.formats.zs.sorting`).

    `add_records` and `add_file` fill blocks of about `block_size` bytes, `add_block` writes one block as given.  The
    file has the magic number of an unfinished one until everything is on disk, and its own name only after that.

    Args:
        target: path of the file to write.
        metadata: the JSON object for the header; `build-info` is added unless `default_metadata` is off.
        codec: `none`, `deflate` or `lzma`.
        level: `fast` (default), or one of libdeflate's (deflate, 1 to 12) or xz's (lzma, 0, 0e, 1, 1e); `isal`
            (deflate) is the quickest, and its bytes depend on the processor.
        block_size: payload bytes of a data block, approximately.
        branching_factor: the largest number of entries in an index block, at least 2.
        jobs: threads that check and compress (0: one per core).
        short_keys: index keys as short as the specification allows, instead of whole first records.
        default_metadata: add `build-info` to the metadata.
        overwrite: replace an existing file.

    Raises:
        WriterError: An option makes no sense, or a record is out of order; `OutputExistsError` when the file exists.

    Example:
        >>> with exhume.zs.create("sorted.zs", codec="deflate") as writer:
        ...     writer.add_records([b"apple", b"banana"])
        >>> list(exhume.zs.open("sorted.zs").records())
        [b'apple', b'banana']
    """

    def __init__(
        self,
        target: str | os.PathLike[str],
        *,
        metadata: Mapping[str, Any] | None = None,
        codec: Codec = "lzma",
        level: str | int | None = None,
        block_size: int = BLOCK_SIZE,
        branching_factor: int = BRANCHING_FACTOR,
        jobs: int = 1,
        short_keys: bool = False,
        default_metadata: bool = True,
        overwrite: bool = False,
    ) -> None:
        """Open the output and write the header of an unfinished file.

        `_levels` has the index entries of each level that no index block contains yet.
        """
        self._compress = compressor(codec, level)
        if block_size < 1:
            raise WriterError("the block size must be at least 1", actual=block_size)
        if branching_factor < 2:
            raise WriterError("the branching factor must be at least 2", actual=branching_factor)
        self.block_size = block_size
        self.branching_factor = branching_factor
        self.short_keys = short_keys
        self.records: int = 0
        self._header = Header(
            UNKNOWN_OFFSET,
            0,
            0,
            bytes(32),
            codec_field(codec),
            encode_metadata(metadata or {}, default_metadata=default_metadata),
        )
        self._jobs = jobs or cpu_count()
        self._encode = partial(_encode, self._compress)
        self._calls = OrderedCalls(self._encode, self._jobs)  # blocks that threads encode; results come in order
        self._digest = sha256()
        self._last: bytes | memoryview | None = None  # the last record written
        self._levels: list[list[IndexEntry]] = []
        self._keys: dict[int, int] = {}  # bytes of the keys of these entries, by level
        self._buffer: list[bytes] = []  # records of the next data block, from `add`
        self._buffered = 0  # their size in bytes
        self._closed = False
        self._failed = False  # aborted, because a block could not be written
        keep_freed_memory()  # for the buffers of the blocks, which are allocated and freed again
        self._output = AtomicFile(target, overwrite=overwrite)
        self.name: str = os.fspath(target)
        try:
            self._write_header(crc=0)  # a checksum that does not match, as the header is not final
        except BaseException:
            self.abort()
            raise
        self._offset = self._header.blocks_offset  # end of the file so far

    @property
    def size(self) -> int:
        """Bytes of the file so far."""
        return self._offset

    # What goes in

    def add(self, record: bytes) -> None:
        """Add one record, not smaller than the one before."""
        self._buffer.append(record)
        self._buffered += len(record)
        if self._buffered >= self.block_size or self._closed:
            self._flush_buffer()

    def add_records(self, records: Iterable[bytes]) -> None:
        """Add records in ascending order.

        Raises `WriterError`, which names the first record out of order, soon after that was given.
        """
        for record in records:
            self.add(record)

    def add_block(self, records: Iterable[bytes]) -> None:
        """Add records as one data block; do nothing when there are none."""
        self._flush_buffer()
        chosen = list(records)
        if chosen:
            self._submit(frame_records(chosen))

    def add_payload(self, payload: bytes, stored: bytes | None = None) -> None:
        """Add a data block's payload: records with uleb128 lengths.

        `stored` is its compressed form, by the codec of this file; without it, the payload is compressed.  Raises
        `WriterError` when the payload is malformed.
        """
        self._flush_buffer()
        try:
            scan_records(payload)
        except MalformedRecordsError as error:
            raise WriterError(f"a malformed payload: {error}") from error
        if payload:
            self._submit(payload, stored)

    def add_file(
        self,
        file: BinaryIO,
        *,
        terminator: bytes = b"\n",
        length_prefixed: str | None = None,
        progress: Progress = no_progress,
    ) -> None:
        """Add the records of a binary file object, each followed by the terminator or preceded by its length.

        `length_prefixed` is the form of the lengths, "uleb128" or "u64le".  Raises `WriterError` for records that are
        out of order, and for input that ends inside one.
        """
        self._flush_buffer()
        done = 0
        for payload, taken in iter_payloads(file, framing(terminator, length_prefixed), self.block_size):
            self._submit(payload)
            done += taken
            progress(done, None, "bytes")

    # Blocks

    def _flush_buffer(self) -> None:
        """Make a data block of the buffered records."""
        if self._buffer:
            records, self._buffer, self._buffered = self._buffer, [], 0
            self._submit(frame_records(records))

    def _submit(self, payload: bytes, stored: bytes | None = None) -> None:
        """Write a data block, compressed as `stored` or not yet, or queue it for `jobs` workers.

        At most two blocks for each worker wait in the queue. Raises `WriterError` for a block too large to read.
        """
        if self._closed:
            raise WriterError("the writer is closed", span=Span(self.name, 0, 0))
        try:
            if len(payload) > LARGEST_BLOCK:
                raise WriterError(
                    "a block is larger than readers hold in memory by default (limit payload_size)",
                    expected=f"at most {counted(LARGEST_BLOCK, 'bytes')}",
                    actual=counted(len(payload), "bytes"),
                )
            if self._jobs == 1:
                self._put_data(self._encode((payload, stored)))
                return
            self._calls.submit((payload, stored))
            self._drain(2 * self._jobs)  # so many may wait; the others are written
        except BaseException:  # the block is missing, or a part of it
            self._failed = True
            self.abort()
            raise

    def _drain(self, most: int = 0) -> None:
        """Write blocks until at most `most` are waiting."""
        while len(self._calls) > most:
            self._put_data(self._calls.next())

    def _put_data(self, encoded: Encoded) -> None:
        """Write an encoded data block and pass its key on to the index.

        Raises `WriterError` if records are not sorted.
        """
        if self._last is not None and is_smaller(encoded.first, self._last):
            self._refuse(0, self._last, encoded.first)
        if encoded.unsorted is not None:
            self._refuse(*encoded.unsorted)
        self._digest.update(encoded.payload)
        self.records += encoded.records
        before, self._last = self._last, encoded.last
        short = self.short_keys or len(encoded.first) > LARGEST_KEY
        key = shortest_key(encoded.first, before) if short else bytes(encoded.first)
        self._put(0, key, encoded.block)

    def _refuse(self, ordinal: int, before: bytes | memoryview, record: bytes | memoryview) -> None:
        """Raise the error for a record smaller than the one before it; `ordinal`: its number in its block, from 0.

        The error shows the first `SHOWN` bytes of both.
        """
        raise WriterError(
            f"the records are not sorted: record {self.records + ordinal + 1} is smaller than the one before it "
            "(sort them first)",
            expected=b"at least " + bytes(before[:SHOWN]),
            actual=bytes(record[:SHOWN]),
        )

    def _put(self, level: int, key: bytes, block: Sequence[bytes]) -> None:
        """Write a block and make an entry for it; an index block is written as soon as it is full."""
        self._output.file.writelines(block)
        size = sum(map(len, block))
        entry = IndexEntry(key, self._offset, size)
        self._offset += size
        if len(self._levels) <= level:
            self._levels.append([])
        self._levels[level].append(entry)
        self._keys[level] = self._keys.get(level, 0) + len(key)
        entries = len(self._levels[level])
        if entries >= self.branching_factor or (entries > 1 and self._keys[level] >= LARGEST_INDEX):
            self._put_index(level)

    def _put_index(self, level: int) -> None:
        """Write the index block for the blocks of `level` that are not referred to yet."""
        if level + 1 > MAX_INDEX_LEVEL:
            raise WriterError(f"more than {MAX_INDEX_LEVEL} index levels: raise the branching factor")
        entries, self._levels[level] = self._levels[level], []
        self._keys[level] = 0
        self._put(level + 1, entries[0].key, encode_block(level + 1, build_index(entries), self._compress))

    def _finish_index(self) -> IndexEntry:
        """Flush the lowest level until one index block remains: the root."""
        while True:
            waiting = [level for level, entries in enumerate(self._levels) if entries]  # with unreferenced blocks
            lowest = waiting[0]
            # The root is an index block, also in a file with a single data block.
            if lowest > 0 and waiting == [lowest] and len(self._levels[lowest]) == 1:
                (root,) = self._levels[lowest]
                return root
            self._put_index(lowest)

    # The end

    def _write_header(self, *, crc: int | None = None) -> None:
        """Write the start of an unfinished file: magic number, length, header, checksum; `crc` replaces the last."""
        file = self._output.file
        file.seek(0)
        raw = build_header(self._header)
        checksum = crc64_xz(raw) if crc is None else crc
        file.write(build_preamble(INCOMPLETE_MAGIC, len(raw)) + raw + build_checksum(checksum))

    def _sync(self) -> None:
        """Make sure that all written bytes are on the disk."""
        self._output.sync()

    def finish(self) -> None:
        """Write index and header, sync, then make the magic number and the name final.

        Raises `WriterError` when no record was added (the format has no empty file), or an earlier block could not be
        written.
        """
        if self._failed:
            raise WriterError("an earlier block could not be written", span=Span(self.name, 0, 0))
        if self._closed:
            return
        try:
            self._flush_buffer()
            self._drain()
            if not self._levels:  # no block was written
                raise WriterError("no records: a ZS file cannot be empty", span=Span(self.name, 0, 0))
            root = self._finish_index()
            self._header = self._header._replace(
                root_offset=root.offset,
                root_size=root.size,
                file_size=self._offset,
                data_sha256=self._digest.digest(),
            )
            # The file counts as incomplete until all else is on the disk: the magic number comes last.
            self._sync()
            self._write_header()
            self._sync()
            self._output.file.seek(0)
            self._output.file.write(MAGIC)
            self._output.commit()
        except BaseException:
            self.abort()
            raise
        self._close()

    def abort(self) -> None:
        """Remove the output written so far."""
        self._close()
        self._output.abort()

    def _close(self) -> None:
        """Reject further records, and end the threads."""
        self._closed = True
        self._calls.close()


LARGEST_RECORD = LARGEST_BLOCK
"""Larger records could not be read back.  Input without any terminator, such as a device, is rejected early."""


READ_SIZE = 1 << 20
"""Bytes that are read at a time."""

LEAST_READ = 4096
"""Bytes that are read however few are missing."""


def _encode(compress_payload: Compressor, block: tuple[bytes, bytes | None]) -> Encoded:
    """Make a data block of a payload and its compressed form; without one, the payload is compressed."""
    payload, stored = block
    return encode_data(payload, compress_payload if stored is None else lambda _: stored)


def iter_payloads(file: BinaryIO, shape: Framing, block_size: int) -> Iterator[tuple[bytes, int]]:
    """Yield the records of a file as payloads of about `block_size` bytes, with the number of input bytes each took.

    `shape` is the framing of the records in the file.

    Raises `WriterError` for input that ends inside a record, for lengths not in their shortest form, and for a record
    above `LARGEST_RECORD`.
    """
    held = bytearray()  # grows in place, unlike bytes: one record may be large
    want = block_size  # bytes to have before the next try to take records
    offset = 0  # of `held` in the input
    while True:
        is_end = not _read_more(file, held, max(want - len(held), LEAST_READ))
        try:
            payload, taken = shape.take(held, block_size)
        except MalformedRecordsError as error:
            where = offset + error.offset
            raise WriterError(f"a length in the input is not a shortest-form uleb128 at byte {where}") from error
        if taken:
            del held[:taken]
            yield payload, taken
            del payload
            offset += taken
            want = block_size
        elif is_end:
            if held:
                raise shape.rest_error(bytes(held))
            return
        else:
            if len(held) > LARGEST_RECORD:
                raise WriterError(
                    "a record is too long",
                    expected=f"at most {LARGEST_RECORD} bytes",
                    actual=counted(len(held), "bytes"),
                )
            want = len(held) + len(held) // 4  # the end of a large record is searched for in growing steps


def _read_more(file: BinaryIO, held: bytearray, count: int) -> int:
    """Append the next `count` bytes of a file, fewer only at its end; return how many were there."""
    before = len(held)
    while (missing := before + count - len(held)) and (piece := file.read(min(missing, READ_SIZE))):
        held += piece
    return len(held) - before
