"""Compiled from ksy/leveldb_table.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, short
from .leveldb_block import read_leveldb_block
from .leveldb_block_handle import read_leveldb_block_handle
from .leveldb_footer import read_leveldb_footer

_STRUCT0 = struct.Struct("<BI")
_STRUCT1 = struct.Struct("<I")


class LeveldbTable:
    """An immutable sorted table of entries (`NNNNNN.ldb`, `NNNNNN.sst`): data blocks, then meta blocks (filter,
    properties), the metaindex, the index, and a footer at the end that says where the last two are.

    Blocks are compressed one by one as a rule. Those stored as they are open right here; the others are parsed by
    `leveldb_block.ksy` once decompressed.
    """
    __slots__ = ('_magic', '_len_footer', '_footer', '_has_handles', '_handles', '_metaindex', '_metaindex6', '_index', '_num_meta_blocks', '_meta_blocks', '_num_data_blocks', '_data_blocks', '_io')
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
    def len_footer(self) -> int:
        """RocksDB's own footer is five bytes longer than LevelDB's."""
        try:
            return self._len_footer
        except AttributeError:
            pass
        self._len_footer = 48 if self.magic == b'W\xfb\x80\x8b$uG\xdb' else 53
        return self._len_footer

    @property
    def footer(self) -> LeveldbFooter:
        try:
            return self._footer
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + end - base - self.len_footer
        if at < base:
            raise LayoutError("footer", base, end, "a position in the stream", at - base)
        size = self.len_footer
        if not 0 <= size <= max(0, end - at):
            raise short("footer", at, end, size)
        stop = at + size
        try:
            footer, _ = read_leveldb_footer(view, at, stop, at)
        except LayoutError as error:
            error.within("footer")
            raise
        at = stop
        self._footer = footer
        return self._footer

    @property
    def has_handles(self) -> bool:
        """False when nothing is known, or only where the metaindex is."""
        try:
            return self._has_handles
        except AttributeError:
            pass
        self._has_handles = self.footer.is_leveldb or self.footer.is_rocksdb and self.footer.version < 6
        return self._has_handles

    @property
    def handles(self) -> Handles | None:
        try:
            return self._handles
        except AttributeError:
            pass
        if not (self.has_handles):
            self._handles = None
            return None
        self._handles = self.footer.leveldb if self.footer.is_leveldb else self.footer.rocksdb
        return self._handles

    @property
    def metaindex(self) -> Block | None:
        """Names of meta blocks (filter, properties) and their handles."""
        try:
            return self._metaindex
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.has_handles):
            self._metaindex = None
            return None
        at = base + 0
        try:
            metaindex, at = read_block(view, at, end, base, self.handles.metaindex.ofs_block, self.handles.metaindex.len_block, True)
        except LayoutError as error:
            error.within("metaindex")
            raise
        self._metaindex = metaindex
        return self._metaindex

    @property
    def metaindex6(self) -> Block | None:
        """RocksDB from version 6; names the index among the rest."""
        try:
            return self._metaindex6
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.footer.is_rocksdb and self.footer.version >= 6):
            self._metaindex6 = None
            return None
        at = base + 0
        try:
            metaindex6, at = read_block(view, at, end, base, end - base - 53 - 5 - self.footer.rocksdb6.len_metaindex, self.footer.rocksdb6.len_metaindex, True)
        except LayoutError as error:
            error.within("metaindex6")
            raise
        self._metaindex6 = metaindex6
        return self._metaindex6

    @property
    def index(self) -> Block | None:
        """One entry per data block, a key not below its last and its handle. From RocksDB version 4 in the form of
        `leveldb_index_delta.ksy`.
        """
        try:
            return self._index
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.has_handles):
            self._index = None
            return None
        at = base + 0
        try:
            index, at = read_block(view, at, end, base, self.handles.index.ofs_block, self.handles.index.len_block, self.footer.is_leveldb or self.footer.version < 4)
        except LayoutError as error:
            error.within("index")
            raise
        self._index = index
        return self._index

    @property
    def num_meta_blocks(self) -> int | None:
        try:
            return self._num_meta_blocks
        except AttributeError:
            pass
        if not (self.footer.is_leveldb and self.metaindex.is_stored):
            self._num_meta_blocks = None
            return None
        self._num_meta_blocks = len(self.metaindex.content.entries.entries)
        return self._num_meta_blocks

    @property
    def meta_blocks(self) -> list[MetaBlock] | None:
        """Every block that the metaindex names, if it is not compressed."""
        try:
            return self._meta_blocks
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.footer.is_leveldb and self.metaindex.is_stored):
            self._meta_blocks = None
            return None
        at = base + 0
        meta_blocks = self._meta_blocks = []
        try:
            for _ in range(self.num_meta_blocks):
                one, at = read_meta_block(view, at, end, base, self, self, len(meta_blocks))
                meta_blocks.append(one)
        except LayoutError as error:
            del self._meta_blocks
            error.within(f"meta_blocks[{len(meta_blocks)}]")
            raise
        self._meta_blocks = meta_blocks
        return self._meta_blocks

    @property
    def num_data_blocks(self) -> int | None:
        try:
            return self._num_data_blocks
        except AttributeError:
            pass
        if not (self.footer.is_leveldb and self.index.is_stored):
            self._num_data_blocks = None
            return None
        self._num_data_blocks = len(self.index.content.entries.entries)
        return self._num_data_blocks

    @property
    def data_blocks(self) -> list[DataBlock] | None:
        """Every block that the index names, if the index itself is not compressed."""
        try:
            return self._data_blocks
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.footer.is_leveldb and self.index.is_stored):
            self._data_blocks = None
            return None
        at = base + 0
        data_blocks = self._data_blocks = []
        try:
            for _ in range(self.num_data_blocks):
                one, at = read_data_block(view, at, end, base, self, self, len(data_blocks))
                data_blocks.append(one)
        except LayoutError as error:
            del self._data_blocks
            error.within(f"data_blocks[{len(data_blocks)}]")
            raise
        self._data_blocks = data_blocks
        return self._data_blocks


def read_leveldb_table(view: View, at: int, end: int, base: int | None = None) -> tuple[LeveldbTable, int]:
    """`leveldb_table` at `at`, and where it ends. Raises `LayoutError`."""
    value = LeveldbTable()
    if base is None:
        base = at
    value._io = (view, base, end)
    return value, at


class BlockTrailer:
    """The five bytes behind every block."""
    __slots__ = ('compression', 'checksum')
    compression: int
    """How the contents before it are compressed."""
    checksum: int
    """Over contents and compression byte; of the kind that the footer names, CRC-32C rotated right by 15 bits plus
    0xa282ead8 in LevelDB.
    """


def read_block_trailer(view: View, at: int, end: int) -> tuple[BlockTrailer, int]:
    """`leveldb_table::block_trailer` at `at`, and where it ends. Raises `LayoutError`."""
    value = BlockTrailer()
    if end - at < 5:
        raise short((("compression", 1), ("checksum", 5),), at, end, 5)
    compression, checksum = _STRUCT0.unpack_from(view, at)
    at += 5
    value.compression = compression
    value.checksum = checksum
    return value, at


class Block:
    """Contents, compression type and checksum of one block."""
    __slots__ = ('ofs_block', 'len_block', 'has_common_form', '_contents', '_compression', '_checksum', '_is_stored', '_content', '_io')
    ofs_block: int
    len_block: int
    has_common_form: bool
    """False for an index of deltas."""
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def contents(self) -> View:
        try:
            return self._contents
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + self.ofs_block
        if at < base:
            raise LayoutError("contents", base, end, "a position in the stream", at - base)
        size = self.len_block
        if not 0 <= size <= max(0, end - at):
            raise short("contents", at, end, size)
        contents = view[at : at + size]
        at += size
        self._contents = contents
        return self._contents

    @property
    def compression(self) -> int:
        try:
            return self._compression
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + self.ofs_block + self.len_block
        if at < base:
            raise LayoutError("compression", base, end, "a position in the stream", at - base)
        if at >= end:
            raise short("compression", at, end, 1)
        compression = view[at]
        at += 1
        self._compression = compression
        return self._compression

    @property
    def checksum(self) -> int:
        """Over contents and compression byte; of the kind that the footer names, CRC-32C rotated right by 15 bits plus
        0xa282ead8 in LevelDB.
        """
        try:
            return self._checksum
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + self.ofs_block + self.len_block + 1
        if at < base:
            raise LayoutError("checksum", base, end, "a position in the stream", at - base)
        if end - at < 4:
            raise short("checksum", at, end, 4)
        (checksum,) = _STRUCT1.unpack_from(view, at)
        at += 4
        self._checksum = checksum
        return self._checksum

    @property
    def is_stored(self) -> bool:
        try:
            return self._is_stored
        except AttributeError:
            pass
        self._is_stored = self.compression == 0
        return self._is_stored

    @property
    def content(self) -> LeveldbBlock | None:
        """The entries, if they are not compressed and no index of deltas."""
        try:
            return self._content
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.is_stored and self.has_common_form):
            self._content = None
            return None
        at = base + self.ofs_block
        if at < base:
            raise LayoutError("content", base, end, "a position in the stream", at - base)
        size = self.len_block
        if not 0 <= size <= max(0, end - at):
            raise short("content", at, end, size)
        stop = at + size
        try:
            content, _ = read_leveldb_block(view, at, stop, at)
        except LayoutError as error:
            error.within("content")
            raise
        at = stop
        self._content = content
        return self._content


def read_block(view: View, at: int, end: int, base: int | None, ofs_block: int, len_block: int, has_common_form: bool) -> tuple[Block, int]:
    """`leveldb_table::block` at `at`, and where it ends. Raises `LayoutError`."""
    value = Block()
    if base is None:
        base = at
    value._io = (view, base, end)
    value.ofs_block = ofs_block
    value.len_block = len_block
    value.has_common_form = has_common_form
    return value, at


class MetaBlock:
    """A meta block by way of its entry in the metaindex; its key is the name."""
    __slots__ = ('idx', '_handle', '_contents', '_compression', '_checksum', '_io', '_parent', '_root')
    idx: int
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def handle(self) -> LeveldbBlockHandle:
        try:
            return self._handle
        except AttributeError:
            pass
        view, base, end = self._io
        view, base, end = self._parent.metaindex.content.entries.entries[self.idx].value._io
        at = base + 0
        try:
            handle, at = read_leveldb_block_handle(view, at, end)
        except LayoutError as error:
            error.within("handle")
            raise
        self._handle = handle
        return self._handle

    @property
    def contents(self) -> View:
        try:
            return self._contents
        except AttributeError:
            pass
        view, base, end = self._io
        view, base, end = self._root._io
        at = base + self.handle.ofs_block
        if at < base:
            raise LayoutError("contents", base, end, "a position in the stream", at - base)
        size = self.handle.len_block
        if not 0 <= size <= max(0, end - at):
            raise short("contents", at, end, size)
        contents = view[at : at + size]
        at += size
        self._contents = contents
        return self._contents

    @property
    def compression(self) -> int:
        try:
            return self._compression
        except AttributeError:
            pass
        view, base, end = self._io
        view, base, end = self._root._io
        at = base + self.handle.ofs_block + self.handle.len_block
        if at < base:
            raise LayoutError("compression", base, end, "a position in the stream", at - base)
        if at >= end:
            raise short("compression", at, end, 1)
        compression = view[at]
        at += 1
        self._compression = compression
        return self._compression

    @property
    def checksum(self) -> int:
        try:
            return self._checksum
        except AttributeError:
            pass
        view, base, end = self._io
        view, base, end = self._root._io
        at = base + self.handle.ofs_block + self.handle.len_block + 1
        if at < base:
            raise LayoutError("checksum", base, end, "a position in the stream", at - base)
        if end - at < 4:
            raise short("checksum", at, end, 4)
        (checksum,) = _STRUCT1.unpack_from(view, at)
        at += 4
        self._checksum = checksum
        return self._checksum


def read_meta_block(view: View, at: int, end: int, base: int | None, parent: LeveldbTable | None, root: LeveldbTable | None, idx: int) -> tuple[MetaBlock, int]:
    """`leveldb_table::meta_block` at `at`, and where it ends. Raises `LayoutError`."""
    value = MetaBlock()
    if base is None:
        base = at
    value._io = (view, base, end)
    value._parent = parent
    value._root = root
    value.idx = idx
    return value, at


class DataBlock:
    """A data block by way of its entry in the index."""
    __slots__ = ('idx', '_handle', '_block', '_io', '_parent', '_root')
    idx: int
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def handle(self) -> LeveldbBlockHandle:
        try:
            return self._handle
        except AttributeError:
            pass
        view, base, end = self._io
        view, base, end = self._parent.index.content.entries.entries[self.idx].value._io
        at = base + 0
        try:
            handle, at = read_leveldb_block_handle(view, at, end)
        except LayoutError as error:
            error.within("handle")
            raise
        self._handle = handle
        return self._handle

    @property
    def block(self) -> Block:
        try:
            return self._block
        except AttributeError:
            pass
        view, base, end = self._io
        view, base, end = self._root._io
        at = base + 0
        try:
            block, at = read_block(view, at, end, base, self.handle.ofs_block, self.handle.len_block, True)
        except LayoutError as error:
            error.within("block")
            raise
        self._block = block
        return self._block


def read_data_block(view: View, at: int, end: int, base: int | None, parent: LeveldbTable | None, root: LeveldbTable | None, idx: int) -> tuple[DataBlock, int]:
    """`leveldb_table::data_block` at `at`, and where it ends. Raises `LayoutError`."""
    value = DataBlock()
    if base is None:
        base = at
    value._io = (view, base, end)
    value._parent = parent
    value._root = root
    value.idx = idx
    return value, at
