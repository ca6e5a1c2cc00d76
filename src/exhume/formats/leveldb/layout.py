"""Converts bytes of the LevelDB family to values: the results of the generated readers in the terms of the format.

This module adds what a schema cannot express: which versions of a footer are read, and what the operations of a batch
mean.  A generated reader (`read_...`, `flat_...`) raises `LayoutError`; `with reading(where)` turns it into an error
with a place.  A handle is the position of a block in a table; a version edit is a record of the manifest, which lists
the tables; a write batch is a record of a log; a blob file has large values, which other files refer to.

Arguments: `data`, `payload` and `stored` are bytes to read, `where` is their place for errors; `raw` is what a
generated reader returned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise, starmap
from operator import le
from typing import Any, Final

from exhume_ksy.facts.leveldb_filter import LeveldbFilter
from exhume_ksy.facts.leveldb_footer import ChecksumTypes
from exhume_ksy.facts.leveldb_version_edit import AttributeTags
from exhume_ksy.facts.leveldb_write_batch import OperationTypes as OperationTypes
from exhume_ksy.fast import leveldb_version_edit as edits
from exhume_ksy.fast._layout import LayoutError as LayoutError
from exhume_ksy.fast.leveldb_block import read_leveldb_block, scan_entry
from exhume_ksy.fast.leveldb_block_handle import LeveldbBlockHandle, flat_leveldb_block_handle
from exhume_ksy.fast.leveldb_bytes import LeveldbBytes
from exhume_ksy.fast.leveldb_filter import read_leveldb_filter
from exhume_ksy.fast.leveldb_footer import read_leveldb_footer
from exhume_ksy.fast.leveldb_internal_key import read_leveldb_internal_key
from exhume_ksy.fast.leveldb_log import FragmentData, read_fragment_data
from exhume_ksy.fast.leveldb_log import flat_fragment as flat_fragment
from exhume_ksy.fast.leveldb_table import flat_block_trailer as flat_block_trailer
from exhume_ksy.fast.leveldb_varint import read_leveldb_varint as read_leveldb_varint
from exhume_ksy.fast.leveldb_write_batch import flat_operation as flat_operation

from exhume.codecs.checksums import masked_crc32c
from exhume.counts import counted
from exhume.errors import ExhumeError, Span, StructureError, TruncatedError, UnsupportedFeatureError
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.layout_facts import (
    BATCH,
    BLOB_FOOTER_CHECKED,
    BLOB_HEAD,
    LEVELDB_FOOTER,
    NUM_RESTARTS,
    RESTART,
    ROCKSDB_FOOTER,
    SEQUENCE_AT,
    TRAILER,
    FragmentTypes,
    Tags,
    ValueTypes,
)
from exhume.formats.leveldb.model import BlobCounts, Footer, TableFile, VersionEdit
from exhume.formats.leveldb.probe import UNREAD_TABLES
from exhume.formats.leveldb.wire import MAX_SEQUENCE, Handle, InternalKey, build_varint
from exhume.layout.fast import FAILURES, read, reading, refused
from exhume.tuples import NamedTuple

NEWEST_VERSION = 7
"""Newest `format_version` of RocksDB tables that is read."""
BLOCK_TRAILER = TRAILER.size
"""Bytes after a block: its compression and its checksum."""
MOST_RESTARTS = 1 << 28
"""The number of restart points is below this; the bits above are flags."""


def parse_footer(tail: bytes, where: Span, origin: int = 0) -> Footer | None:
    """The footer at the end of `tail` (the last 53 bytes of a table, or fewer); None when no magic number is there.

    `where` is the span of `tail`, and `origin` where the table starts.  Raises `StructureError` for handles that cannot
    be read, and the rule for an unsupported version or kind of table.  Spec: table_format.md, RocksDB
    table/format.h.
    """
    if len(tail) < LEVELDB_FOOTER:
        return None
    with reading(where):
        raw, _ = read_leveldb_footer(tail, 0, len(tail))
        if (handles := raw.leveldb) is not None:
            meta, index = _handle(handles.metaindex), _handle(handles.index)
            start = where.end - LEVELDB_FOOTER
            return Footer(
                family="leveldb", version=0, checksum="crc32c", metaindex=meta, index_handle=index,
                offset=start, size=LEVELDB_FOOTER, padding=bytes(handles.padding),
            )  # fmt: skip
        if (name := UNREAD_TABLES.get(bytes(raw.magic))) is not None:
            raise checks.TABLE_KIND.error(span=where, expected="a table of blocks", actual=name)
        # RocksDB: from version 6 the footer has a checksum and no index handle; before, it has two handles.
        if not raw.is_rocksdb or len(tail) < ROCKSDB_FOOTER:
            return None
        start = where.end - ROCKSDB_FOOTER
        version, number = raw.version or 0, raw.checksum_type or 0
        if version > NEWEST_VERSION:
            raise checks.BAD_VERSION.error(span=where, expected=f"0 to {NEWEST_VERSION}", actual=version)
        checksum = ChecksumTypes(number).name.lower() if number in tuple(ChecksumTypes) else f"type-{number}"
        if (sealed := raw.rocksdb6) is not None:
            size = sealed.len_metaindex  # the metaindex and its trailer are right before the footer
            meta = Handle(start - origin - BLOCK_TRAILER - size, size)
            return Footer(
                family="rocksdb", version=version, checksum=checksum, metaindex=meta, index_handle=None,
                offset=start, size=ROCKSDB_FOOTER, padding=bytes(sealed.padding),
                footer_checksum=sealed.footer_checksum, base_context=sealed.base_context_checksum,
            )  # fmt: skip
        handles = raw.rocksdb
        if handles is None:
            return None
        meta, index = _handle(handles.metaindex), _handle(handles.index)
        return Footer(
            family="rocksdb", version=version, checksum=checksum, metaindex=meta, index_handle=index,
            offset=start, size=ROCKSDB_FOOTER, padding=bytes(handles.padding),
        )  # fmt: skip


def _handle(raw: LeveldbBlockHandle) -> Handle:
    """Return a generated handle as a `Handle`."""
    return Handle(raw.ofs_block, raw.len_block)


def parse_handle(value: bytes, where: Span) -> Handle:
    """The block handle at the start of `value`; raises `StructureError` or `TruncatedError`."""
    with reading(where):
        return Handle(*flat_leveldb_block_handle(value, 0, len(value))[1:])


def whole_handle(value: bytes) -> Handle | None:
    """The block handle that fills `value`; None when it is anything else."""
    try:
        end, offset, size = flat_leveldb_block_handle(value, 0, len(value))
    except LayoutError:
        return None
    return Handle(offset, size) if end == len(value) else None


def leading_handle(value: bytes) -> Handle | None:
    """The block handle at the start of `value`, which a first key may follow; None when there is none."""
    try:
        return Handle(*flat_leveldb_block_handle(value, 0, len(value))[1:])
    except LayoutError:
        return None


def whole_number(value: bytes) -> int | None:
    """The variable-length integer that fills `value`; None when it is anything else."""
    try:
        number, end = read_leveldb_varint(value, 0, len(value))
    except LayoutError:
        return None
    return number if end == len(value) else None


def parse_internal_key(data: bytes) -> InternalKey:
    """Split an internal key, which has eight bytes or more."""
    raw, _ = read_leveldb_internal_key(data, 0, len(data))
    return InternalKey(bytes(raw.user_key), raw.sequence, raw.value_type)


def check_flags(block: Any, size: int, where: Span) -> None:
    """Raise `UnsupportedFeatureError` if the last number of a block of `size` bytes has flags of another layout.

    Its lower 28 bits are the number of restart points, the bits above are flags.  If the number does not fit the block,
    the block is damaged: the reader's error is raised.
    """
    try:
        block.packed_num_restarts  # noqa: B018 - it is read on request
    except LayoutError as error:
        # `short`: bytes are missing; `found`: the number with its flags, which `% MOST_RESTARTS` removes.
        if error.short or not 0 <= error.found % MOST_RESTARTS <= size // RESTART.size:
            raise
        raise UnsupportedFeatureError(
            "its keys and values are stored separately, or in a newer layout",
            span=where, field_path="packed_num_restarts", actual=error.found,
        ) from error  # fmt: skip


class Tail(NamedTuple):
    """Where the entries of a block end, and its restart points."""

    end: int
    restarts: Sequence[int]


def parse_tail(block: bytes, where: Span) -> Tail:
    """The tail of a decompressed block, which is at `where`.

    Raises `StructureError` when it does not fit, and `UnsupportedFeatureError` for a block of another layout.
    """
    with reading(where):
        raw, _ = read_leveldb_block(block, 0, len(block))
        check_flags(raw, len(block), where)
        end = raw.ofs_restarts
        if end < 0:
            raise StructureError(
                "the restart points exceed the block",
                span=where.sub(max(0, len(block) - NUM_RESTARTS.size), len(block)),
                field_path="num_restarts",
                expected=f"at most {(len(block) - NUM_RESTARTS.size) // RESTART.size}",
                actual=raw.num_restarts,
            )
        return Tail(end, raw.restarts)


def fills_block(block: bytes) -> bool:
    """Whether entries, restart points and the bytes between and after them make up the whole decompressed block.

    The content of keys and values is not examined.
    """
    try:
        raw, _ = read_leveldb_block(block, 0, len(block))
        raw.restarts, raw.buckets  # noqa: B018 - both are read on request, and fail if they do not fit
        columns = scan_entry(block, 0, raw.ofs_restarts)
    except FAILURES:
        return False
    return columns.problem is None and columns.resume_at == raw.ofs_restarts


def fills_filter(block: bytes) -> bool:
    """Whether the filters of a LevelDB filter block and their offsets make up the whole block."""
    try:
        raw, _ = read_leveldb_filter(block, 0, len(block))
        offsets = raw.offsets
    except FAILURES:
        return False
    # The last offset, the end of the last filter, is that of the array itself.  One byte follows the array: `base_lg`.
    end = raw.ofs_offsets + len(offsets) * LeveldbFilter.each.offsets
    tiled = offsets[0] == 0 and all(starmap(le, pairwise(offsets))) and offsets[-1] == raw.ofs_offsets
    return tiled and end == len(block) - 1


_NOT_SKIPPED = 64
"""A bit of the number of a table's attribute: a reader that does not know the attribute cannot read the table."""

# Fields of `VersionEdit` that are numbers, by the tags of their records.
_COUNTERS: Final[Mapping[int, str]] = {
    Tags.LOG_NUMBER: "log_number",
    Tags.NEXT_FILE_NUMBER: "next_file_number",
    Tags.LAST_SEQUENCE: "last_sequence",
    Tags.PREVIOUS_LOG_NUMBER: "previous_log_number",
    Tags.MIN_LOG_NUMBER_TO_KEEP: "min_log_number",
    Tags.MAX_COLUMN_FAMILY: "max_column_family",
    Tags.IN_ATOMIC_GROUP: "atomic_group_left",
    Tags.COMPACTION_WATERLINE: "waterline",
}

_TRACKED_LOG, _TRACKED_LOGS_FROM = Tags.IGNORABLE + 7, Tags.IGNORABLE + 8
"""Tags of logs that RocksDB keeps track of; older readers skip them."""


def parse_version_edit(payload: bytes, where: Span) -> VersionEdit:
    """One record of a manifest; raises `StructureError` or `TruncatedError` for one that cannot be read completely."""
    try:
        raw, _ = edits.read_leveldb_version_edit(payload, 0, len(payload))
    except LayoutError as error:
        if error.path.endswith(".raw_tag"):
            error.expected = "a tag whose length is known"
        raise refused(error, where) from error
    # Collect the fields by kind; each edit is of one column family.
    values: dict[str, Any] = {}
    pointers: list[tuple[int, bytes]] = []
    deleted: list[tuple[int, int]] = []
    added: list[TableFile] = []
    blobs: dict[type, list[BlobCounts]] = {edits.BlobFileAddition: [], edits.BlobFileGarbage: []}
    family = next(
        (each.body for each in raw.fields if each.tag == Tags.COLUMN_FAMILY and isinstance(each.body, int)), 0
    )
    for field in raw.fields:
        match field.body:
            case int(number) if field.tag in _COUNTERS:
                values[_COUNTERS[field.tag]] = number
            case edits.NewFile() | edits.NewFile2() | edits.NewFile3() | edits.NewFile4() as file:
                _check_attributes(file, where)
                added.append(_table_file(file, family))
            case edits.BlobFileAddition() | edits.BlobFileGarbage() as file:
                blobs[type(file)].append(BlobCounts(file.number, file.num_blobs, file.len_blobs))
            case edits.DeletedFile() as file:
                deleted.append((file.level, file.number))
            case edits.CompactPointer() as pointer:
                pointers.append((pointer.level, bytes(pointer.internal_key.data)))
            case edits.NoPayload():
                values["column_family_drop"] = True
            case LeveldbBytes() as text if field.tag == Tags.COMPARATOR:
                values["comparator"] = bytes(text.data).decode("utf-8", "backslashreplace")
            case LeveldbBytes() as text if field.tag == Tags.COLUMN_FAMILY_ADD:
                values["column_family_add"] = bytes(text.data).decode("utf-8", "backslashreplace")
    return VersionEdit(
        compact_pointers=tuple(pointers), deleted=tuple(deleted), added=tuple(added), column_family=family,
        blobs_added=tuple(blobs[edits.BlobFileAddition]), blob_garbage=tuple(blobs[edits.BlobFileGarbage]),
        tags=tuple(field.raw_tag for field in raw.fields), **_tracked_logs(raw), **values,
    )  # fmt: skip


def _tracked_logs(raw: edits.LeveldbVersionEdit) -> dict[str, Any]:
    """The fields `logs` and `logs_from` of an edit, as far as it has them; what may be skipped is never refused."""
    logs: list[int] = []
    out: dict[str, Any] = {}
    for field in raw.fields:
        match field.body:
            case edits.WalAddition() as log:
                logs.append(log.number)
            case int(number) if field.tag == Tags.WAL_DELETION:
                out["logs_from"] = number
            case LeveldbBytes() as text if field.raw_tag in (_TRACKED_LOG, _TRACKED_LOGS_FROM):
                with suppress(LayoutError):
                    data = bytes(text.data)
                    number, _ = read_leveldb_varint(data, 0, len(data))
                    if field.raw_tag == _TRACKED_LOG:
                        logs.append(number)
                    else:
                        out["logs_from"] = number
    return out | {"logs": tuple(logs)} if logs else out


def _check_attributes(raw: edits.NewFile | edits.NewFile2 | edits.NewFile3 | edits.NewFile4, where: Span) -> None:
    """Raise `UnsupportedFeatureError` for an attribute of a table that is not known and may not be skipped."""
    for one in raw.attributes if isinstance(raw, edits.NewFile4) else ():  # the only form with attributes
        if one.tag & _NOT_SKIPPED and one.tag not in tuple(AttributeTags):
            raise UnsupportedFeatureError(
                "an unknown attribute of a table", span=where, field_path="attributes.tag", actual=one.tag
            )


def _table_file(raw: edits.NewFile | edits.NewFile2 | edits.NewFile3 | edits.NewFile4, column_family: int) -> TableFile:
    """The fields that all four forms have in common; later forms contain earlier ones, or repeat their fields."""
    blob = None
    if isinstance(raw, edits.NewFile4):
        named = (one.data for one in raw.attributes if one.tag == AttributeTags.OLDEST_BLOB_FILE_NUMBER)
        blob = next((whole_number(bytes(data.data)) for data in named if data is not None), None)
    ranged = raw.file if isinstance(raw, edits.NewFile4) else raw  # a `NewFile`, `NewFile2` or `NewFile3`
    file = ranged.file if isinstance(ranged, edits.NewFile2) else ranged
    bounds: tuple[int | None, int | None] = (None, None)
    if not isinstance(ranged, edits.NewFile):
        bounds = (ranged.smallest_sequence, ranged.largest_sequence)
    keys = bytes(file.smallest.data), bytes(file.largest.data)
    return TableFile(file.level, file.number, file.len_file, *keys, *bounds, column_family, blob)


def parse_filter(payload: bytes, where: Span) -> tuple[int, list[bytes]]:
    """`(base_lg, filters)` of a LevelDB filter block; raises `StructureError`."""
    with reading(where):
        raw, _ = read_leveldb_filter(payload, 0, len(payload))
        if (len(payload) - LeveldbFilter.before_end.ofs_offsets[0] - raw.ofs_offsets) % LeveldbFilter.each.offsets:
            raise StructureError("a filter block without whole offsets", span=where)
        return raw.base_lg, [bytes(one.raw or b"") for one in raw.filters]


def parse_compression(data: bytes) -> int | None:
    """The number of the compression that a log states in a fragment of its own; None if it is too short."""
    return _note(data, FragmentTypes.SET_COMPRESSION).compression


def parse_timestamp_sizes(data: bytes) -> dict[int, int] | None:
    """The sizes of timestamps by column family that a log states in a fragment; None if they cannot be read."""
    try:
        sizes = _note(data, FragmentTypes.USER_DEFINED_TIMESTAMP_SIZE).timestamp_sizes
    except LayoutError:
        return None
    return {one.column_family: one.len_timestamp for one in sizes or ()}


def _note(data: bytes, kind: int) -> FragmentData:
    """Parse a fragment of this type that is about the log itself."""
    # Three parameters of the schema matter for fragments of records only: base of offsets, is a manifest, is complete.
    return read_fragment_data(data, 0, len(data), 0, False, False, kind)[0]


class BlobHeader(NamedTuple):
    """The header of a blob file: column family, compression, and whether its values expire."""

    column_family: int
    compression: int
    flags: int


class BlobFooter(NamedTuple):
    """The footer of a blob file."""

    num_blobs: int


class BlobHead(NamedTuple):
    """The numbers before the key and the value of a record in a blob file."""

    len_key: int
    len_value: int
    expiration: int
    """Time at which the value expires; 0 in today's files."""
    head_checksum: int
    """The checksum of the three numbers before it."""
    checksum: int
    """The checksum of key and value."""


class BlobIndex(NamedTuple):
    """A reference to a value in a blob file: number of the file, offset and stored size of the value, compression."""

    number: int
    offset: int
    size: int
    compression: int


def parse_blob_header(data: bytes, where: Span) -> BlobHeader:
    """The header at the start of a blob file at `where`; raises LDB-341."""
    from exhume_ksy.fast.leveldb_blob_file import read_file_header

    raw, _ = read(read_file_header, data, where, checks.BLOB_FILE)
    return BlobHeader(raw.column_family, raw.compression, raw.flags)


def parse_blob_footer(data: bytes) -> BlobFooter | None:
    """The footer of a blob file; None for other bytes, such as the end of a value."""
    from exhume_ksy.fast.leveldb_blob_file import read_file_footer

    try:
        raw, _ = read_file_footer(data, 0, len(data))
    except LayoutError:
        return None
    return BlobFooter(raw.num_blobs) if masked_crc32c(data[:BLOB_FOOTER_CHECKED]) == raw.checksum else None


def blob_footer_checksum(data: bytes) -> int:
    """The checksum that a footer has."""
    from exhume_ksy.fast.leveldb_blob_file import read_file_footer

    return read_file_footer(data, 0, len(data))[0].checksum


def parse_blob_head(data: bytes) -> BlobHead:
    """The numbers at the start of a record, not yet checked."""
    return BlobHead(*BLOB_HEAD.unpack_from(data))


def build_blob_index(number: int, offset: int, size: int, compression: int) -> bytes:
    """The reference to a value that does not expire: the number of its file, its place there, and its codec."""
    from exhume_ksy.facts.leveldb_blob_index import Kinds

    places = b"".join(map(build_varint, (number, offset, size)))
    return bytes([Kinds.BLOB]) + places + bytes([compression])


def parse_blob_index(stored: bytes) -> BlobIndex:
    """A reference to a value; raises LDB-123 for the forms of the old BlobDB, and LDB-342."""
    from exhume_ksy.facts.leveldb_blob_index import Kinds
    from exhume_ksy.fast.leveldb_blob_index import read_leveldb_blob_index

    try:
        raw, end = read_leveldb_blob_index(stored, 0, len(stored))
    except LayoutError as error:
        raise checks.VALUE.error(
            str(error.path), field_path=error.path, expected=error.expected, actual=error.found
        ) from error
    # The forms of the old BlobDB are not read: values with an expiry, or in the table itself.
    if raw.kind != Kinds.BLOB:
        raise checks.VALUE_FORM.error("a value that expires", actual=Kinds(raw.kind).name.lower())
    if not raw.file_number:
        raise checks.VALUE_FORM.error("a value in the table itself, outside its blocks")
    if end != len(stored):
        raise checks.VALUE.error("bytes after a reference", actual=len(stored) - end)
    return BlobIndex(raw.file_number, raw.ofs_value or 0, raw.len_value or 0, raw.compression or 0)


class Operation(NamedTuple):
    """One operation of a write batch: value type, key and value, its offset in the batch, column family."""

    value_type: int
    key: bytes
    value: Any
    """`bytes` or a `LargeValue`."""
    offset: int
    column_family: int


class TransactionMark(NamedTuple):
    """A mark of a transaction in a write batch: its type, how many operations precede it, name, commit timestamp."""

    kind: int
    at: int
    name: bytes
    timestamp: bytes


class Batch(NamedTuple):
    """A write batch: the first sequence number, the stated number of operations, and those that could be read.

    `problem` is where and why reading stopped; `marks` are those of transactions among the operations.
    """

    sequence: int
    stated: int
    operations: list[Operation]
    problem: ExhumeError | None
    marks: tuple[TransactionMark, ...] = ()

    @property
    def is_unknown(self) -> bool:
        """Whether it ends at an operation of an unknown type."""
        return self.problem is not None and (self.problem.field_path or "").endswith(".operation_type")


_WRITES: Final[Mapping[int, int]] = {
    operation: int(ValueTypes[name])
    for operation in OperationTypes
    if (name := operation.name.removeprefix("CF_")) in ValueTypes.__members__
}
"""Value types of the operations that write; the others are marks and notes."""


def parse_write(payload: bytes) -> Batch | None:
    """A log record that is a single write, as most are; None for any other, which is for `parse_batch`."""
    end = len(payload)
    if end <= BATCH.size:
        return None
    sequence, stated = BATCH.unpack_from(payload)
    try:
        # The end, type and column family of an operation; (start, end) of its key, value, timestamp and name.
        at, kind, family, key, key_end, value, value_end, _, _, _, _ = flat_operation(payload, BATCH.size, end)
    except LayoutError:
        return None
    value_type = _WRITES.get(kind)
    if at != end or value_type is None or sequence > MAX_SEQUENCE:
        return None
    one = Operation(value_type, payload[key:key_end], payload[value:value_end], BATCH.size, family)
    return Batch(sequence, stated, [one], None)


Made = Callable[[int, int, bool], Any]
"""Returns the bytes of a payload between two offsets; for a value that is put or merged, also a `LargeValue`."""


def parse_batch(payload: bytes | memoryview, where: Span, made: Made | None = None) -> Batch:
    """Split the log record at `where` into operations; the first unreadable one ends the list and sets `problem`.

    `made` makes keys and values; it is required for a payload that is not in memory.  Operations are read one by one,
    since most batches are a single write, for which columns cost more than they save.

    Spec: LevelDB db/write_batch.cc; RocksDB db/write_batch.cc for types beyond 1.
    """
    problem: ExhumeError | None = None
    end = len(payload)
    # The header: sequence number and stated count.
    if end < BATCH.size:
        inside = where.in_payload(0, end)
        return Batch(
            0, 0, [], TruncatedError("it is shorter than its header", span=inside, actual=counted(end, "bytes"))
        )
    sequence, stated = BATCH.unpack_from(payload)
    operations: list[Operation] = []
    marks: list[TransactionMark] = []
    at, number = BATCH.size, 0
    text: Any
    stored: Any
    try:
        # The operations; `made` makes keys and values that are not in memory.
        while at < end:
            start = at
            at, kind, family, key, key_end, value, value_end, when, when_end, name, name_end = flat_operation(
                payload, at, end
            )
            number += 1
            value_type = _WRITES.get(kind)
            if value_type is not None:
                if made is None:
                    text, stored = payload[key:key_end], payload[value:value_end]
                else:
                    text = made(key, key_end, False)
                    stored = made(value, value_end, value_type in (ValueTypes.VALUE, ValueTypes.MERGE))
                operations.append(Operation(value_type, text, stored, start, family))
            elif kind != OperationTypes.LOG_DATA:
                marks.append(
                    TransactionMark(kind, len(operations), bytes(payload[name:name_end]), bytes(payload[when:when_end]))
                )
    except LayoutError as error:
        error.within(f"operations[{number}]")
        problem = refused(error, where.in_payload(0, end))
    if problem is None and sequence > MAX_SEQUENCE:
        problem = StructureError(
            "its sequence number passes 56 bits",
            span=where.in_payload(*SEQUENCE_AT),
            field_path="sequence",
            expected=f"at most {MAX_SEQUENCE}",
            actual=sequence,
        )
    return Batch(sequence, stated, operations, problem, tuple(marks))
