"""Compiled from ksy/leveldb_blob_file.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, short

_unpack0 = struct.Struct("<I").unpack_from
_unpack1 = struct.Struct("<IBB").unpack_from
_unpack2 = struct.Struct("<QQ").unpack_from
_unpack3 = struct.Struct("<Q").unpack_from
_unpack4 = struct.Struct("<QII").unpack_from


class LeveldbBlobFile:
    """Large values (`NNNNNN.blob`), to which entries of tables refer: a header, records back to back, and a footer if
    the file was closed.

    Every checksum is a CRC-32C, rotated right by 15 bits, plus 0xa282ead8.
    """
    __slots__ = ('header', 'records', 'footer', '_last_magic', '_has_footer', '_io')
    header: FileHeader
    records: RecordList
    footer: FileFooter | None
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def last_magic(self) -> int | None:
        """The magic number that a footer starts with."""
        try:
            return self._last_magic
        except AttributeError:
            pass
        view, base, end = self._io
        if not (end - base >= 62):
            self._last_magic = None
            return None
        at = base + end - base - 32
        if at < base:
            raise LayoutError("last_magic", base, end, "a position in the stream", at - base)
        if end - at < 4:
            raise short("last_magic", at, end, 4)
        (last_magic,) = _unpack0(view, at)
        at += 4
        self._last_magic = last_magic
        return self._last_magic

    @property
    def has_footer(self) -> bool:
        """A file that was not closed ends after a record."""
        try:
            return self._has_footer
        except AttributeError:
            pass
        view, base, end = self._io
        self._has_footer = end - base >= 62 and self.last_magic == 0x248f37
        return self._has_footer


def read_leveldb_blob_file(view: View, at: int, end: int, base: int | None = None) -> tuple[LeveldbBlobFile, int]:
    """`leveldb_blob_file` at `at`, and where it ends. Raises `LayoutError`."""
    value = LeveldbBlobFile()
    if base is None:
        base = at
    value._io = (view, base, end)
    try:
        header, at = read_file_header(view, at, end)
    except LayoutError as error:
        error.within("header")
        raise
    value.header = header
    size = end - base - 30 - (32 if end - base >= 62 and value.last_magic == 0x248f37 else 0)
    if not 0 <= size <= end - at:
        raise short("records", at, end, size)
    stop = at + size
    try:
        records, _ = read_record_list(view, at, stop, at)
    except LayoutError as error:
        error.within("records")
        raise
    at = stop
    value.records = records
    if end - base >= 62 and value.last_magic == 0x248f37:
        try:
            footer, at = read_file_footer(view, at, end)
        except LayoutError as error:
            error.within("footer")
            raise
    else:
        footer = None
    value.footer = footer
    return value, at


class FileHeader:
    """What kind of values the file has."""
    __slots__ = ('magic', 'version', 'column_family', 'flags', 'compression', 'expiration')
    magic: View
    version: int
    """The only version there is."""
    column_family: int
    """Number of the column family whose values these are."""
    flags: int
    """1 if values expire, as in the old BlobDB."""
    compression: int
    """How the values are compressed; the numbers are those of table blocks."""
    expiration: Expiration


def read_file_header(view: View, at: int, end: int) -> tuple[FileHeader, int]:
    """`leveldb_blob_file::file_header` at `at`, and where it ends. Raises `LayoutError`."""
    value = FileHeader()
    if end - at < 4:
        raise short("magic", at, end, 4)
    magic = view[at : at + 4]
    if magic != b'7\x8f$\x00':
        raise LayoutError("magic", at, at + 4, b'7\x8f$\x00', magic)
    at += 4
    value.magic = magic
    if end - at < 4:
        raise short("version", at, end, 4)
    (version,) = _unpack0(view, at)
    at += 4
    if version != 1:
        raise LayoutError("version", at - 4, at, 1, version)
    value.version = version
    if end - at < 6:
        raise short((("column_family", 4), ("flags", 5), ("compression", 6),), at, end, 6)
    column_family, flags, compression = _unpack1(view, at)
    at += 6
    value.column_family = column_family
    value.flags = flags
    value.compression = compression
    try:
        expiration, at = read_expiration(view, at, end)
    except LayoutError as error:
        error.within("expiration")
        raise
    value.expiration = expiration
    return value, at


class Expiration:
    """When the first and the last of the values expire, in seconds since 1970; 0 when they do not."""
    __slots__ = ('first', 'last')
    first: int
    """The earliest time."""
    last: int
    """The latest time."""


def read_expiration(view: View, at: int, end: int) -> tuple[Expiration, int]:
    """`leveldb_blob_file::expiration` at `at`, and where it ends. Raises `LayoutError`."""
    value = Expiration()
    if end - at < 16:
        raise short((("first", 8), ("last", 16),), at, end, 16)
    first, last = _unpack2(view, at)
    at += 16
    value.first = first
    value.last = last
    return value, at


class RecordList:
    """Records back to back."""
    __slots__ = ('records',)
    records: list[Record]


def read_record_list(view: View, at: int, end: int, base: int | None = None) -> tuple[RecordList, int]:
    """`leveldb_blob_file::record_list` at `at`, and where it ends. Raises `LayoutError`."""
    value = RecordList()
    if base is None:
        base = at
    records = []
    try:
        while at < end:
            one, at = read_record(view, at, end, base)
            records.append(one)
    except LayoutError as error:
        error.within(f"records[{len(records)}]")
        raise
    value.records = records
    return value, at


class Record:
    """A key and its value."""
    __slots__ = ('len_key', 'len_value', 'expiration', 'head_checksum', 'checksum', 'key', 'value')
    len_key: int
    len_value: int
    expiration: int
    """When the value expires; 0 when it does not."""
    head_checksum: int
    """CRC-32C of the three numbers before it."""
    checksum: int
    """CRC-32C of key and value."""
    key: View
    """The user's key."""
    value: View
    """Compressed as the file states, preceded by the decompressed size as in tables of version 2."""


def read_record(view: View, at: int, end: int, base: int | None = None) -> tuple[Record, int]:
    """`leveldb_blob_file::record` at `at`, and where it ends. Raises `LayoutError`."""
    value = Record()
    if base is None:
        base = at
    if end - at < 8:
        raise short("len_key", at, end, 8)
    (len_key,) = _unpack3(view, at)
    at += 8
    if len_key > end - base - 32:
        raise LayoutError("len_key", at - 8, at, f"at most {end - base - 32}", len_key)
    value.len_key = len_key
    if end - at < 8:
        raise short("len_value", at, end, 8)
    (len_value,) = _unpack3(view, at)
    at += 8
    if len_value > end - base - 32 - len_key:
        raise LayoutError("len_value", at - 8, at, f"at most {end - base - 32 - len_key}", len_value)
    value.len_value = len_value
    if end - at < 16:
        raise short((("expiration", 8), ("head_checksum", 12), ("checksum", 16),), at, end, 16)
    expiration, head_checksum, checksum = _unpack4(view, at)
    at += 16
    value.expiration = expiration
    value.head_checksum = head_checksum
    value.checksum = checksum
    if not 0 <= len_key <= end - at:
        raise short("key", at, end, len_key)
    key = view[at : at + len_key]
    at += len_key
    value.key = key
    if not 0 <= len_value <= end - at:
        raise short("value", at, end, len_value)
    value_ = view[at : at + len_value]
    at += len_value
    value.value = value_
    return value, at


class FileFooter:
    """The footer, written when the file was closed."""
    __slots__ = ('magic', 'num_blobs', 'expiration', 'checksum')
    magic: View
    num_blobs: int
    expiration: Expiration
    checksum: int
    """CRC-32C of the footer before it."""


def read_file_footer(view: View, at: int, end: int) -> tuple[FileFooter, int]:
    """`leveldb_blob_file::file_footer` at `at`, and where it ends. Raises `LayoutError`."""
    value = FileFooter()
    if end - at < 4:
        raise short("magic", at, end, 4)
    magic = view[at : at + 4]
    if magic != b'7\x8f$\x00':
        raise LayoutError("magic", at, at + 4, b'7\x8f$\x00', magic)
    at += 4
    value.magic = magic
    if end - at < 8:
        raise short("num_blobs", at, end, 8)
    (num_blobs,) = _unpack3(view, at)
    at += 8
    value.num_blobs = num_blobs
    try:
        expiration, at = read_expiration(view, at, end)
    except LayoutError as error:
        error.within("expiration")
        raise
    value.expiration = expiration
    if end - at < 4:
        raise short("checksum", at, end, 4)
    (checksum,) = _unpack0(view, at)
    at += 4
    value.checksum = checksum
    return value, at
