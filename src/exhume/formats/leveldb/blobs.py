"""Blob files: large values that are stored outside the tables, and the references to them.

A blob file has a header, records (a key and its value each) and, if it was closed, a footer.  An entry of a table with
such a value has a blob index instead: the number of the file, and the place of the value in it.

Spec: RocksDB db/blob/blob_index.h, db/blob/blob_log_format.h, db/blob/blob_file_reader.cc.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from exhume.codecs.checksums import crc32c, mask_crc32c, masked_crc32c
from exhume.errors import CodecError, FormatError, LimitExceededError, Span, UnsupportedFeatureError
from exhume.findings import Check, CheckOutcome
from exhume.formats.leveldb import checks, layout
from exhume.formats.leveldb.batches import LoadedLog
from exhume.formats.leveldb.blocks import block_codec, codec_name, decode_block
from exhume.formats.leveldb.checks import Report
from exhume.formats.leveldb.files import DbFile
from exhume.formats.leveldb.kernel import LogItems
from exhume.formats.leveldb.large import HEAD, LARGE, large_content
from exhume.formats.leveldb.layout_facts import (
    BLOB_FOOTER,
    BLOB_FOOTER_CHECKED,
    BLOB_HEAD_CHECKED,
    BLOB_HEADER,
    BLOB_RECORD,
)
from exhume.formats.leveldb.model import Place, ValueTypes, Verdict
from exhume.io.caching import cached_property
from exhume.io.source import Source
from exhume.io.values import LargeValue
from exhume.limits import Limits
from exhume.tuples import NamedTuple

SIZED = 2
"""Values of blob files are compressed as blocks of tables of this version: with the decompressed size first."""
_WINDOW = 1 << 20  # bytes of a record that are read at a time
_TOP = (1 << 64) - 1  # minus a type: the sort key of an entry without a sequence number


class BlobRecord(NamedTuple):
    """A record of a blob file: its offset in the file, its key, the size of its value, and its parsed header.

    The value itself is read on request.
    """

    offset: int
    key: bytes
    len_value: int
    head: layout.BlobHead

    @property
    def value_at(self) -> int:
        """Offset of the value in the file."""
        return self.offset + BLOB_RECORD + len(self.key)

    @property
    def end(self) -> int:
        """Offset of the end of the record, which ends with the value."""
        return self.value_at + self.len_value


class BlobFile:
    """One blob file.  Thread-safe."""

    def __init__(self, source: Source, limits: Limits) -> None:
        self.source = source
        self.limits = limits

    @cached_property
    def header(self) -> layout.BlobHeader:
        """The header.  Raises LDB-341."""
        return layout.parse_blob_header(self.source.read_up_to(0, BLOB_HEADER), self.source.span(0, self.source.size))

    @cached_property
    def footer(self) -> layout.BlobFooter | None:
        """The footer, if its checksum matches; None for a file that was not closed."""
        size = self.source.size
        if size < BLOB_HEADER + BLOB_FOOTER:
            return None
        return layout.parse_blob_footer(self.source.read_at(size - BLOB_FOOTER, BLOB_FOOTER))

    @property
    def room(self) -> int:
        """Offset at which the records end: that of the footer, or the end of the file."""
        return self.source.size - (BLOB_FOOTER if self.footer is not None else 0)

    def value(self, key: bytes, index: layout.BlobIndex) -> bytes | LargeValue:
        """Return the value that an entry with the key `key` refers to.

        The key of the record may be longer than that of the entry, by a timestamp.  Raises LDB-211 if a checksum does
        not match, and LDB-341 if the entry does not refer to a record; propagates errors from `read`.
        """
        header, offset, size = self.header, index.offset, index.size
        span = self.source.span(min(offset, self.source.size), min(offset + size, self.source.size))
        if index.compression != header.compression:
            checks.raise_rule(checks.BLOB_FILE, "compression does not match the entry", span=span,
                        expected=codec_name(index.compression), actual=codec_name(header.compression))  # fmt: skip
        # The record of a value starts with three numbers and two checksums, then its key.
        start = offset - len(key) - BLOB_RECORD
        if start < BLOB_HEADER or offset + size > self.room:
            checks.raise_rule(checks.BLOB_FILE, "an entry refers to bytes outside its records", span=span,
                        expected=f"bytes from {BLOB_HEADER} to {self.room}",
                        actual=f"[{start}, {offset + size})")  # fmt: skip
        is_large = size > min(LARGE, self.limits.payload_size)  # such a value is checked and decompressed in chunks
        data = self.source.read_at(start, offset - start + (0 if is_large else size))
        head, stored = layout.parse_blob_head(data), data[BLOB_RECORD:]
        if (head.len_key, head.len_value) != (len(key), size) or not stored.startswith(key):
            checks.raise_rule(
                checks.BLOB_FILE, "an entry does not refer to its own record", span=self.source.span(start, offset)
            )
        self._compare(head.head_checksum, masked_crc32c(data[:BLOB_HEAD_CHECKED]), start, offset + size)
        if not is_large:
            self._compare(head.checksum, masked_crc32c(stored), start, offset + size)
            return self.read(offset, size, stored[len(key) :])
        check = self.check_record(BlobRecord(start, key, size, head))
        if check.outcome is CheckOutcome.MISMATCH:
            checks.raise_rule(checks.BLOB_CRC, span=self.source.span(start, offset + size),
                        expected=check.expected, actual=check.actual)  # fmt: skip
        return self.read(offset, size)

    def read(self, offset: int, size: int, stored: bytes | None = None) -> bytes | LargeValue:
        """Return the value whose `size` stored bytes start at `offset`; `stored` are these bytes, if already read.

        A large value is decompressed once as a check, and again in chunks when it is used.  Raises LDB-341, LDB-106 for
        an unsupported codec, and `LimitExceededError` above the limit `expansion`, or above `payload_size` if the value
        cannot be read in chunks.
        """
        span = self.source.span(offset, offset + size)
        try:
            return self._read(offset, size, stored, span)
        except UnsupportedFeatureError as error:
            raise checks.UNSUPPORTED_CODEC.error(error.message, span=span, actual=error.actual) from error
        except CodecError as error:
            raise checks.BLOB_FILE.error(error.message, span=span, actual=error.actual) from error

    def _read(self, offset: int, size: int, stored: bytes | None, span: Span) -> bytes | LargeValue:
        """Return the value stored in `size` bytes at `offset`.

        `stored` has these bytes if they were already read. A large value (see `large_content`), or one above the limit
        `payload_size`, becomes a `LargeValue`, which is read in chunks.
        """
        compression, limits = self.header.compression, self.limits
        if not compression and stored is not None:
            return stored
        head = self.source.read_at(offset, min(size, HEAD)) if stored is None else stored[:HEAD]
        codec = block_codec(head, compression, family="rocksdb", version=SIZED)
        content = large_content(self.source, (offset, size), head, codec, limits)
        # Three ways: in chunks if it is large, else at once, else in chunks after all.  `tail` reads the content to its
        # end and returns its size first.
        try:
            if content is not None:
                return LargeValue(content.tail(1)[0], content.pieces, limits, span)
        except LimitExceededError:  # above the limit `expansion`
            if size > limits.payload_size:
                raise
        if stored is None:
            stored = self.source.read_at(offset, size)
        try:
            most = limits.payload_budget(size)
            return decode_block(stored, compression, family="rocksdb", version=SIZED, max_size=most)
        except LimitExceededError:
            # Its few stored bytes expand above the limit `payload_size`.
            forced = large_content(self.source, (offset, size), head, codec, limits, forced=True)
            if content is not None or forced is None:  # in chunks it has failed already, or is not possible
                raise
            return LargeValue(forced.tail(1)[0], forced.pieces, limits, span)

    def _compare(self, stored: int, computed: int, start: int, end: int) -> None:
        """Raise LDB-211 for the bytes `[start, end)` of the file if these checksums differ."""
        if stored != computed:
            checks.raise_rule(checks.BLOB_CRC, span=self.source.span(start, end),
                        expected=f"{stored:08x}", actual=f"{computed:08x}")  # fmt: skip

    def records(self, report: Report) -> Iterator[BlobRecord]:
        """Every record up to the first that does not fit, which is reported.  Raises LDB-341 for a wrong header."""
        at, room = self.header and BLOB_HEADER, self.room  # `header` is read for its check
        while at < room:
            data = self.source.read_up_to(at, min(BLOB_RECORD, room - at))
            head = layout.parse_blob_head(data) if len(data) == BLOB_RECORD else None
            rest = room - at - BLOB_RECORD
            if head is None or head.len_key > rest or head.len_value > rest - head.len_key:
                cut = checks.BLOB_TAIL if self.footer is None else checks.BLOB_FILE
                report(cut, "a record passes its end", span=self.source.span(at, room))
                return
            if head.len_key > self.limits.payload_size:
                report(checks.TOO_LARGE, "a key in a blob file", span=self.source.span(at, room), actual=head.len_key)
                return
            key = self.source.read_at(at + BLOB_RECORD, head.len_key)
            record = BlobRecord(at, key, head.len_value, head)
            yield record
            at = record.end

    def sealed_records(self) -> Iterator[BlobRecord]:
        """The records up to the first whose three numbers do not match their checksum: in a disk image, the blob file
        ends there.  Raises LDB-341 for a wrong header.
        """
        at, size = self.header and BLOB_HEADER, self.source.size  # `header` is read for its check
        while at + BLOB_RECORD <= size:
            data = self.source.read_at(at, BLOB_RECORD)
            head = layout.parse_blob_head(data)
            end = at + BLOB_RECORD + head.len_key + head.len_value
            if head.head_checksum != masked_crc32c(data[:BLOB_HEAD_CHECKED]) or end > size:
                return
            self.limits.check("payload_size", head.len_key, self.source.span(at, end))
            yield BlobRecord(at, self.source.read_at(at + BLOB_RECORD, head.len_key), head.len_value, head)
            at = end

    def verify(self, report: Report, *, quick: bool = False) -> None:
        """Report every checksum that does not match, and a wrong number of values; `quick` compares no values.

        Raises LDB-341 for a wrong header.
        """
        count = 0
        for record in self.records(report):
            count += 1
            for name in ("head_checksum",) if quick else ("head_checksum", "checksum"):
                check = self.check_record(record, name)
                if check.outcome is CheckOutcome.MISMATCH:
                    span = self.source.span(record.offset, record.end)
                    report(checks.BLOB_CRC, span=span, field_path=name, expected=check.expected, actual=check.actual)
        if self.footer is not None and self.footer.num_blobs != count:
            span = self.source.span(self.room, self.source.size)
            report(checks.BLOB_FILE, "number of values does not match its footer", span=span,
                   expected=self.footer.num_blobs, actual=count)  # fmt: skip

    def check_footer(self) -> Check:
        """The checksum of the footer, computed and compared."""
        data = self.source.read_at(self.room, BLOB_FOOTER)
        stored = layout.blob_footer_checksum(data)
        return Check.compare(f"{stored:08x}", f"{masked_crc32c(data[:BLOB_FOOTER_CHECKED]):08x}")

    def check_record(self, record: BlobRecord, field: str = "checksum") -> Check:
        """A checksum of a record, computed and compared: that in its `field`, `head_checksum` or `checksum`."""
        if field == "head_checksum":
            data = self.source.read_at(record.offset, BLOB_HEAD_CHECKED)
            return Check.compare(f"{record.head.head_checksum:08x}", f"{masked_crc32c(data):08x}")
        # The value may be large: add it in chunks.
        total, at = crc32c(record.key), record.value_at
        while at < record.end:
            piece = self.source.read_at(at, min(_WINDOW, record.end - at))
            total, at = crc32c(piece, total), at + len(piece)
        return Check.compare(f"{record.head.checksum:08x}", f"{mask_crc32c(total):08x}")


def rows_of(source: Source, file: DbFile, limits: Limits) -> LoadedLog:
    """The records of a blob file without a database, as a log that refers to them.

    They have no sequence numbers: of several records of a key, the first counts, as files are written newest first.
    """
    log, blobs = LoadedLog(file.number, evidence="a blob file has no sequence numbers"), BlobFile(source, limits)
    # The constant fields of a place (file, number, checksum, referenced, operations), which only single writes use.
    items = LogItems(Place, (source.name, file.number, Verdict.GOOD, True, ()))
    try:
        for rank, record in enumerate(blobs.records(log.recorded)):
            limits.check("entries", rank + 1, source.span(record.offset, record.end))
            sound = blobs.check_record(record, "head_checksum").outcome is not CheckOutcome.MISMATCH
            place = Place(
                source.name, file.number, None, record.offset, record.end, Verdict.GOOD if sound else Verdict.BAD,
                codec=codec_name(blobs.header.compression),
            )  # fmt: skip
            # The value stays in the file: make the reference that an entry of a table would have.
            index = layout.build_blob_index(file.number, record.value_at, record.len_value, blobs.header.compression)
            # (key, inverted type, rank, offset in the record, value, place), see `table.Item`
            items.append((record.key, _TOP - ValueTypes.BLOB_INDEX, rank, 0, index, place))
    except (FormatError, UnsupportedFeatureError) as error:
        log.error = error
    items.sort()
    log.items, log.records, log.kinds = {0: items}, len(items), {int(ValueTypes.BLOB_INDEX)}
    return log


class BlobStore:
    """The blob files of a database, by their numbers.  Thread-safe."""

    def __init__(self, names: dict[int, str], source: Callable[[str], Source], limits: Limits) -> None:
        """Read blob files; `names` has their names by number, and each is opened when it is needed."""
        self._names = names
        self._source = source
        self._limits = limits
        self._files: dict[int, BlobFile] = {}
        self._lock = threading.Lock()

    def file(self, number: int) -> BlobFile:
        """A blob file.  Raises LDB-310 when it is missing."""
        with self._lock:
            found = self._files.get(number)
            if found is None:
                name = self._names.get(number)
                if name is None:
                    missing = f"{number:06d}.blob"
                    raise checks.MISSING_FILE.error("a blob file", span=Span(missing, 0, 0))
                found = self._files[number] = BlobFile(self._source(name), self._limits)
            return found

    def value(self, key: bytes, stored: bytes) -> bytes | LargeValue:
        """The value that an entry of type `blob_index` refers to.

        Raises LDB-123 for a reference in a form that is not read, LDB-342 for one that cannot be read, LDB-310 for a
        missing file; propagates errors from `BlobFile.value`.
        """
        index = layout.parse_blob_index(stored)
        return self.file(index.number).value(key, index)
