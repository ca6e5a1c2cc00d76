"""Compiled from ksy/leveldb_log.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, native, short

_unpack0 = struct.Struct("<IH").unpack_from
_unpack1 = struct.Struct("<I").unpack_from


class LeveldbLog:
    """Write-ahead logs (`NNNNNN.log`) and manifests (`MANIFEST-NNNNNN`, opened by `leveldb_manifest.ksy`) share this
    framing: blocks of 32 KiB filled with fragments of records. A record that does not fit the rest of a block is
    split into a first, middle and last fragment.

    What the fragments of a record join up to is a write batch in a log (`leveldb_write_batch.ksy`) and a version
    edit in a manifest (`leveldb_version_edit.ksy`). A spec cannot join them; a record that fits one fragment is
    opened in place.
    """
    __slots__ = ('_blocks', '_io')
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def blocks(self) -> list[Block] | None:
        try:
            return self._blocks
        except AttributeError:
            pass
        view, base, end = self._io
        if not (end - base > 0):
            self._blocks = None
            return None
        at = base + 0
        blocks = []
        try:
            while at < end:
                size = end - at if end - at < 0x8000 else 0x8000
                if not 0 <= size <= max(0, end - at):
                    raise short("", at, end, size)
                stop = at + size
                one, _ = read_block(view, at, stop, at, False)
                at = stop
                blocks.append(one)
        except LayoutError as error:
            error.within(f"blocks[{len(blocks)}]")
            raise
        self._blocks = blocks
        return self._blocks


def read_leveldb_log(view: View, at: int, end: int, base: int | None = None) -> tuple[LeveldbLog, int]:
    """`leveldb_log` at `at`, and where it ends. Raises `LayoutError`."""
    value = LeveldbLog()
    if base is None:
        base = at
    value._io = (view, base, end)
    return value, at


class Block:
    """32 KiB of fragments; the last block ends where the file ends. Damage never spreads past the next block border."""
    __slots__ = ('is_manifest', 'fragments', 'trailer')
    is_manifest: bool
    """Whether records are version edits, else write batches."""
    fragments: list[Fragment] | None
    trailer: View
    """Fewer than seven bytes cannot hold a header and are zero; after a header of zeros the whole rest of the block is
    zero (a preallocated file).
    """


def read_block(view: View, at: int, end: int, base: int | None, is_manifest: bool) -> tuple[Block, int]:
    """`leveldb_log::block` at `at`, and where it ends. Raises `LayoutError`."""
    value = Block()
    if base is None:
        base = at
    value.is_manifest = is_manifest
    if end - base >= 7:
        fragments = []
        try:
            while True:
                one, at = read_fragment(view, at, end, is_manifest)
                fragments.append(one)
                if end - at < 7 or one.is_zero_fill:
                    break
        except LayoutError as error:
            error.within(f"fragments[{len(fragments)}]")
            raise
    else:
        fragments = None
    value.fragments = fragments
    trailer = view[at:end]
    at = max(at, end)
    value.trailer = trailer
    return value, at


class Fragment:
    """A record, or a fragment of one, after a header of 7 bytes (or 11)."""
    __slots__ = ('is_manifest', 'checksum', 'len_data', 'fragment_type', 'log_number', 'data', '_is_whole', '_is_zero_fill', '_is_recyclable')
    is_manifest: bool
    checksum: int
    """CRC-32C over the type byte and the data (over type, log number and data for the recyclable types), rotated right
    by 15 bits, plus 0xa282ead8.
    """
    len_data: int
    fragment_type: int
    """Which part of a record it is, and how long the header is."""
    log_number: int | None
    """Low 32 bits of the number of the log that wrote the fragment."""
    data: FragmentData
    """A whole record, or a piece of one."""

    @property
    def is_whole(self) -> bool:
        try:
            return self._is_whole
        except AttributeError:
            pass
        self._is_whole = self.fragment_type in (1, 5)
        return self._is_whole

    @property
    def is_zero_fill(self) -> bool:
        try:
            return self._is_zero_fill
        except AttributeError:
            pass
        self._is_zero_fill = self.fragment_type == 0 and self.len_data == 0
        return self._is_zero_fill

    @property
    def is_recyclable(self) -> bool:
        """The list in RocksDB's reader; a type that is not on it has the header of 7 bytes."""
        try:
            return self._is_recyclable
        except AttributeError:
            pass
        self._is_recyclable = self.fragment_type in (5, 6, 7, 8, 11, 131, 34)
        return self._is_recyclable


def read_fragment(view: View, at: int, end: int, is_manifest: bool) -> tuple[Fragment, int]:
    """`leveldb_log::fragment` at `at`, and where it ends. Raises `LayoutError`."""
    value = Fragment()
    value.is_manifest = is_manifest
    if end - at < 6:
        raise short((("checksum", 4), ("len_data", 6),), at, end, 6)
    checksum, len_data = _unpack0(view, at)
    at += 6
    value.checksum = checksum
    value.len_data = len_data
    if len_data > end - at - 1:
        raise LayoutError("len_data", at - 2, at, f"at most {end - at - 1}", len_data)
    if at >= end:
        raise short("fragment_type", at, end, 1)
    fragment_type = view[at]
    at += 1
    value.fragment_type = fragment_type
    if fragment_type in (5, 6, 7, 8, 11, 131, 34):
        if end - at < 4:
            raise short("log_number", at, end, 4)
        (log_number,) = _unpack1(view, at)
        at += 4
    else:
        log_number = None
    value.log_number = log_number
    if not 0 <= len_data <= end - at:
        raise short("data", at, end, len_data)
    stop = at + len_data
    try:
        data, _ = read_fragment_data(view, at, stop, at, is_manifest, fragment_type in (1, 5), fragment_type)
    except LayoutError as error:
        error.within("data")
        raise
    at = stop
    value.data = data
    return value, at


def flat_fragment(view: View, at: int, end: int) -> tuple[int, int, int, int, int, int, int]:
    """Where the `leveldb_log::fragment` at `at` ends, and its fields: checksum, len_data, fragment_type, log_number,
    data_bytes_start, data_bytes_end. Raises `LayoutError`.
    """
    if native is not None and (found := native.flat_leveldb_log_fragment(view, at, end)) is not None:
        return found
    if end - at < 6:
        raise short((("checksum", 4), ("len_data", 6),), at, end, 6)
    checksum, len_data = _unpack0(view, at)
    at += 6
    if len_data > end - at - 1:
        raise LayoutError("len_data", at - 2, at, f"at most {end - at - 1}", len_data)
    if at >= end:
        raise short("fragment_type", at, end, 1)
    fragment_type = view[at]
    at += 1
    if fragment_type in (5, 6, 7, 8, 11, 131, 34):
        if end - at < 4:
            raise short("log_number", at, end, 4)
        (log_number,) = _unpack1(view, at)
        at += 4
    else:
        log_number = 0
    if not 0 <= len_data <= end - at:
        raise short("data", at, end, len_data)
    rest_data = end
    end = at + len_data
    at_data_bytes = at
    at = end_data_bytes = max(at, end)
    at = end
    end = rest_data
    return at, checksum, len_data, fragment_type, log_number, at_data_bytes, end_data_bytes


class FragmentData:
    """The bytes of a fragment; those of a whole record open."""
    __slots__ = ('is_manifest', 'is_whole', 'kind', 'bytes', '_stored_magic', '_is_compressed', '_batch', '_compression', '_timestamp_sizes', '_version_edit', '_io')
    is_manifest: bool
    is_whole: bool
    kind: int
    """The type of the fragment."""
    bytes: View
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def stored_magic(self) -> int | None:
        """The magic number of zstd, where the log is compressed."""
        try:
            return self._stored_magic
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.is_whole and end - base >= 4):
            self._stored_magic = None
            return None
        at = base + 0
        if end - at < 4:
            raise short("stored_magic", at, end, 4)
        (stored_magic,) = _unpack1(view, at)
        at += 4
        self._stored_magic = stored_magic
        return self._stored_magic

    @property
    def is_compressed(self) -> bool:
        """The record is a frame of zstd, whose content is a write batch."""
        try:
            return self._is_compressed
        except AttributeError:
            pass
        view, base, end = self._io
        self._is_compressed = self.is_whole and end - base >= 4 and self.stored_magic == 0xfd2fb528
        return self._is_compressed

    @property
    def batch(self) -> LeveldbWriteBatch | None:
        try:
            return self._batch
        except AttributeError:
            pass
        from .leveldb_write_batch import read_leveldb_write_batch
        view, base, end = self._io
        if not (self.is_whole and not self.is_manifest and not self.is_compressed):
            self._batch = None
            return None
        at = base + 0
        try:
            batch, _ = read_leveldb_write_batch(view, at, end)
        except LayoutError as error:
            error.within("batch")
            raise
        at = max(at, end)
        self._batch = batch
        return self._batch

    @property
    def compression(self) -> int | None:
        """How the records that follow are compressed, each by itself."""
        try:
            return self._compression
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.kind == 9 and end - base >= 4):
            self._compression = None
            return None
        at = base + 0
        if end - at < 4:
            raise short("compression", at, end, 4)
        (compression,) = _unpack1(view, at)
        at += 4
        self._compression = compression
        return self._compression

    @property
    def timestamp_sizes(self) -> list[TimestampSize] | None:
        try:
            return self._timestamp_sizes
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.kind in (10, 11)):
            self._timestamp_sizes = None
            return None
        at = base + 0
        timestamp_sizes = []
        try:
            while at < end:
                one, at = read_timestamp_size(view, at, end)
                timestamp_sizes.append(one)
        except LayoutError as error:
            error.within(f"timestamp_sizes[{len(timestamp_sizes)}]")
            raise
        self._timestamp_sizes = timestamp_sizes
        return self._timestamp_sizes

    @property
    def version_edit(self) -> LeveldbVersionEdit | None:
        try:
            return self._version_edit
        except AttributeError:
            pass
        from .leveldb_version_edit import read_leveldb_version_edit
        view, base, end = self._io
        if not (self.is_whole and self.is_manifest):
            self._version_edit = None
            return None
        at = base + 0
        try:
            version_edit, _ = read_leveldb_version_edit(view, at, end)
        except LayoutError as error:
            error.within("version_edit")
            raise
        at = max(at, end)
        self._version_edit = version_edit
        return self._version_edit


def read_fragment_data(view: View, at: int, end: int, base: int | None, is_manifest: bool, is_whole: bool, kind: int) -> tuple[FragmentData, int]:
    """`leveldb_log::fragment_data` at `at`, and where it ends. Raises `LayoutError`."""
    value = FragmentData()
    if base is None:
        base = at
    value._io = (view, base, end)
    value.is_manifest = is_manifest
    value.is_whole = is_whole
    value.kind = kind
    bytes = view[at:end]
    at = max(at, end)
    value.bytes = bytes
    return value, at


class TimestampSize:
    """Keys of a column family end in a timestamp of the application."""
    __slots__ = ('column_family', 'len_timestamp')
    column_family: int
    """Number of the column family."""
    len_timestamp: int
    """Size of the timestamps."""


def read_timestamp_size(view: View, at: int, end: int) -> tuple[TimestampSize, int]:
    """`leveldb_log::timestamp_size` at `at`, and where it ends. Raises `LayoutError`."""
    value = TimestampSize()
    if end - at < 6:
        raise short((("column_family", 4), ("len_timestamp", 6),), at, end, 6)
    column_family, len_timestamp = _unpack0(view, at)
    at += 6
    value.column_family = column_family
    value.len_timestamp = len_timestamp
    return value, at
