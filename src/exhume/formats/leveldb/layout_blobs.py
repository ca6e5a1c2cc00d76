"""Blob files of RocksDB: header, footer and records of a file, and the references of tables to their values.

Spec: RocksDB db/blob/blob_log_format.h, db/blob/blob_index.h.
"""

from __future__ import annotations

from typing import NamedTuple

from exhume_ksy.fast._layout import LayoutError

from exhume.codecs.checksums import masked_crc32c
from exhume.errors import Span
from exhume.formats.leveldb import checks
from exhume.formats.leveldb.layout_facts import BLOB_FOOTER_CHECKED, BLOB_HEAD
from exhume.layout.fast import read


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
    head_checksum: int
    checksum: int


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
    if raw.kind != Kinds.BLOB:
        raise checks.VALUE_FORM.error("a value that expires", actual=Kinds(raw.kind).name.lower())
    if not raw.file_number:
        raise checks.VALUE_FORM.error("a value in the table itself, outside its blocks")
    if end != len(stored):
        raise checks.VALUE.error("bytes after a reference", actual=len(stored) - end)
    return BlobIndex(raw.file_number, raw.ofs_value or 0, raw.len_value or 0, raw.compression or 0)
