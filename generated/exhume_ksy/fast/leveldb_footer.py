"""Compiled from ksy/leveldb_footer.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, short
from .leveldb_block_handle import read_leveldb_block_handle

_unpack0 = struct.Struct("<I").unpack_from
_unpack1 = struct.Struct("<III").unpack_from


class LeveldbFooter:
    """The last 48 bytes (LevelDB) or 53 bytes (RocksDB) of a table: where its metaindex and its index are. Give it the
    last 53 bytes of the file, or more; it counts from the end.
    """
    __slots__ = ('_magic', '_is_leveldb', '_is_rocksdb', '_is_plain', '_is_old_plain', '_is_cuckoo', '_is_pebble', '_leveldb', '_version', '_checksum_type', '_rocksdb', '_rocksdb6', '_io')
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def magic(self) -> View:
        try:
            return self._magic
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + end - base - 8
        if at < base:
            raise LayoutError("magic", base, end, "a position in the stream", at - base)
        if max(0, end - at) < 8:
            raise short("magic", at, end, 8)
        magic = view[at : at + 8]
        at += 8
        self._magic = magic
        return self._magic

    @property
    def is_leveldb(self) -> bool:
        try:
            return self._is_leveldb
        except AttributeError:
            pass
        self._is_leveldb = self.magic == b'W\xfb\x80\x8b$uG\xdb'
        return self._is_leveldb

    @property
    def is_rocksdb(self) -> bool:
        try:
            return self._is_rocksdb
        except AttributeError:
            pass
        self._is_rocksdb = self.magic == b'\xf7\xcf\xf4\x85\xb7A\xe2\x88'
        return self._is_rocksdb

    @property
    def is_plain(self) -> bool:
        """RocksDB's plain tables, which have another layout."""
        try:
            return self._is_plain
        except AttributeError:
            pass
        self._is_plain = self.magic == b'd\x95\xbfc\x96"B\x82'
        return self._is_plain

    @property
    def is_old_plain(self) -> bool:
        try:
            return self._is_old_plain
        except AttributeError:
            pass
        self._is_old_plain = self.magic == b'\xb8\x13\x8fz\xeb\x184O'
        return self._is_old_plain

    @property
    def is_cuckoo(self) -> bool:
        """RocksDB's cuckoo tables, which have another layout."""
        try:
            return self._is_cuckoo
        except AttributeError:
            pass
        self._is_cuckoo = self.magic == b'sx\xf1\xc5\xd0\x89g\x92'
        return self._is_cuckoo

    @property
    def is_pebble(self) -> bool:
        """Pebble's own formats, whose blocks and footers differ from RocksDB's."""
        try:
            return self._is_pebble
        except AttributeError:
            pass
        self._is_pebble = self.magic == b'\xf0\x9f\xaa\xb3\xf0\x9f\xaa\xb3'
        return self._is_pebble

    @property
    def leveldb(self) -> Handles | None:
        try:
            return self._leveldb
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.is_leveldb):
            self._leveldb = None
            return None
        at = base + end - base - 48
        if at < base:
            raise LayoutError("leveldb", base, end, "a position in the stream", at - base)
        if max(0, end - at) < 40:
            raise short("leveldb", at, end, 40)
        stop = at + 40
        try:
            leveldb, _ = read_handles(view, at, stop)
        except LayoutError as error:
            error.within("leveldb")
            raise
        at = stop
        self._leveldb = leveldb
        return self._leveldb

    @property
    def version(self) -> int | None:
        """RocksDB's `format_version`; the LevelDB footer counts as version 0."""
        try:
            return self._version
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.is_rocksdb):
            self._version = None
            return None
        at = base + end - base - 12
        if at < base:
            raise LayoutError("version", base, end, "a position in the stream", at - base)
        if end - at < 4:
            raise short("version", at, end, 4)
        (version,) = _unpack0(view, at)
        at += 4
        self._version = version
        return self._version

    @property
    def checksum_type(self) -> int | None:
        """Kind of the checksum that follows each block."""
        try:
            return self._checksum_type
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.is_rocksdb):
            self._checksum_type = None
            return None
        at = base + end - base - 53
        if at < base:
            raise LayoutError("checksum_type", base, end, "a position in the stream", at - base)
        if at >= end:
            raise short("checksum_type", at, end, 1)
        checksum_type = view[at]
        at += 1
        self._checksum_type = checksum_type
        return self._checksum_type

    @property
    def rocksdb(self) -> Handles | None:
        try:
            return self._rocksdb
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.is_rocksdb and self.version < 6):
            self._rocksdb = None
            return None
        at = base + end - base - 52
        if at < base:
            raise LayoutError("rocksdb", base, end, "a position in the stream", at - base)
        if max(0, end - at) < 40:
            raise short("rocksdb", at, end, 40)
        stop = at + 40
        try:
            rocksdb, _ = read_handles(view, at, stop)
        except LayoutError as error:
            error.within("rocksdb")
            raise
        at = stop
        self._rocksdb = rocksdb
        return self._rocksdb

    @property
    def rocksdb6(self) -> SealedHandle | None:
        try:
            return self._rocksdb6
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.is_rocksdb and self.version >= 6):
            self._rocksdb6 = None
            return None
        at = base + end - base - 52
        if at < base:
            raise LayoutError("rocksdb6", base, end, "a position in the stream", at - base)
        if max(0, end - at) < 40:
            raise short("rocksdb6", at, end, 40)
        stop = at + 40
        try:
            rocksdb6, _ = read_sealed_handle(view, at, stop)
        except LayoutError as error:
            error.within("rocksdb6")
            raise
        at = stop
        self._rocksdb6 = rocksdb6
        return self._rocksdb6


def read_leveldb_footer(view: View, at: int, end: int, base: int | None = None) -> tuple[LeveldbFooter, int]:
    """`leveldb_footer` at `at`, and where it ends. Raises `LayoutError`."""
    value = LeveldbFooter()
    if base is None:
        base = at
    value._io = (view, base, end)
    return value, at


class Handles:
    """Where the two blocks are that lead to all others."""
    __slots__ = ('metaindex', 'index', 'padding')
    metaindex: LeveldbBlockHandle
    index: LeveldbBlockHandle
    padding: View
    """Zeros."""


def read_handles(view: View, at: int, end: int) -> tuple[Handles, int]:
    """`leveldb_footer::handles` at `at`, and where it ends. Raises `LayoutError`."""
    value = Handles()
    try:
        metaindex, at = read_leveldb_block_handle(view, at, end)
    except LayoutError as error:
        error.within("metaindex")
        raise
    value.metaindex = metaindex
    try:
        index, at = read_leveldb_block_handle(view, at, end)
    except LayoutError as error:
        error.within("index")
        raise
    value.index = index
    padding = view[at:end]
    at = max(at, end)
    value.padding = padding
    return value, at


class SealedHandle:
    """Form of version 6. The metaindex block directly precedes the footer, and names the index block under
    `rocksdb.index`.
    """
    __slots__ = ('extended_magic', 'footer_checksum', 'base_context_checksum', 'len_metaindex', 'padding')
    extended_magic: View
    footer_checksum: int
    """Checksum over the 53 bytes of the footer with this field zero, then modified by the base context and the offset
    of the footer.
    """
    base_context_checksum: int
    """Mixed with a block's offset into its checksum, so that a block that ended up elsewhere is found out. 0 switches
    that off.
    """
    len_metaindex: int
    padding: View
    """Zeros."""


def read_sealed_handle(view: View, at: int, end: int) -> tuple[SealedHandle, int]:
    """`leveldb_footer::sealed_handle` at `at`, and where it ends. Raises `LayoutError`."""
    value = SealedHandle()
    if end - at < 4:
        raise short("extended_magic", at, end, 4)
    extended_magic = view[at : at + 4]
    if extended_magic != b'>\x00z\x00':
        raise LayoutError("extended_magic", at, at + 4, b'>\x00z\x00', extended_magic)
    at += 4
    value.extended_magic = extended_magic
    if end - at < 12:
        raise short((("footer_checksum", 4), ("base_context_checksum", 8), ("len_metaindex", 12),), at, end, 12)
    footer_checksum, base_context_checksum, len_metaindex = _unpack1(view, at)
    at += 12
    value.footer_checksum = footer_checksum
    value.base_context_checksum = base_context_checksum
    value.len_metaindex = len_metaindex
    padding = view[at:end]
    at = max(at, end)
    value.padding = padding
    return value, at
