"""Compiled from ksy/leveldb_table.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, native, short

_unpack0 = struct.Struct("<BI").unpack_from


class LeveldbTable:
    """An immutable sorted table of entries (`NNNNNN.ldb`, `NNNNNN.sst`): data blocks, then meta blocks (filter,
    properties), the metaindex, the index, and a footer at the end that says where the last two are.

    Blocks are compressed one by one as a rule. Those stored as they are open right here; the others are parsed by
    `leveldb_block.ksy` once decompressed.
    """
    __slots__ = ('_magic', '_len_footer', '_footer', '_has_handles', '_metaindex', '_meta_blocks', '_search', '_has_index', '_index', '_data_blocks', '_delta_blocks', '_io')
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
        from .leveldb_footer import read_leveldb_footer
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
    def metaindex(self) -> Block | None:
        """Names of meta blocks (filter, properties) and their handles; in RocksDB from version 6 the index is among them."""
        try:
            return self._metaindex
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.footer.is_leveldb or self.footer.is_rocksdb):
            self._metaindex = None
            return None
        at = base + 0
        try:
            metaindex, at = read_block(view, at, end, base, self.footer.leveldb.metaindex.ofs_block if self.footer.is_leveldb else self.footer.rocksdb.metaindex.ofs_block if self.footer.version < 6 else end - base - 53 - 5 - self.footer.rocksdb6.len_metaindex, self.footer.leveldb.metaindex.len_block if self.footer.is_leveldb else self.footer.rocksdb.metaindex.len_block if self.footer.version < 6 else self.footer.rocksdb6.len_metaindex, 1)
        except LayoutError as error:
            error.within("metaindex")
            raise
        self._metaindex = metaindex
        return self._metaindex

    @property
    def meta_blocks(self) -> list[MetaBlock] | None:
        """Every block that the metaindex names, if that is not compressed."""
        try:
            return self._meta_blocks
        except AttributeError:
            pass
        view, base, end = self._io
        if not ((self.footer.is_leveldb or self.footer.is_rocksdb) and self.metaindex.is_stored):
            self._meta_blocks = None
            return None
        at = base + 0
        meta_blocks = self._meta_blocks = []
        try:
            for _ in range(len(self.metaindex.content.entries.entries)):
                one, at = read_meta_block(view, at, end, base, self, self, len(meta_blocks))
                meta_blocks.append(one)
        except LayoutError as error:
            del self._meta_blocks
            error.within(f"meta_blocks[{len(meta_blocks)}]")
            raise
        self._meta_blocks = meta_blocks
        return self._meta_blocks

    @property
    def search(self) -> list[IndexSearch] | None:
        """The entries of the metaindex one by one, up to that of the index."""
        try:
            return self._search
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.footer.is_rocksdb and self.footer.version >= 6 and self.metaindex.is_stored and len(self.metaindex.content.entries.entries) > 0):
            self._search = None
            return None
        at = base + 0
        search = self._search = []
        try:
            while True:
                one, at = read_index_search(view, at, end, self, len(search))
                search.append(one)
                if one.is_over:
                    break
        except LayoutError as error:
            del self._search
            error.within(f"search[{len(search)}]")
            raise
        self._search = search
        return self._search

    @property
    def has_index(self) -> bool:
        """The footer, or else the metaindex, has the offset of the index."""
        try:
            return self._has_index
        except AttributeError:
            pass
        self._has_index = self.has_handles or self.footer.is_rocksdb and self.footer.version >= 6 and self.metaindex.is_stored and len(self.metaindex.content.entries.entries) > 0 and self.search[-1].is_index
        return self._has_index

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
        if not (self.has_index):
            self._index = None
            return None
        at = base + 0
        try:
            index, at = read_block(view, at, end, base, self.footer.leveldb.index.ofs_block if self.footer.is_leveldb else self.footer.rocksdb.index.ofs_block if self.footer.version < 6 else self.meta_blocks[len(self.search) - 1].handle.ofs_block, self.footer.leveldb.index.len_block if self.footer.is_leveldb else self.footer.rocksdb.index.len_block if self.footer.version < 6 else self.meta_blocks[len(self.search) - 1].handle.len_block, 1 if self.footer.is_leveldb or self.footer.version < 4 else 5)
        except LayoutError as error:
            error.within("index")
            raise
        self._index = index
        return self._index

    @property
    def data_blocks(self) -> list[DataBlock] | None:
        """Every block that the index names, if the index itself is not compressed."""
        try:
            return self._data_blocks
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.has_index and self.index.is_stored and (self.footer.is_leveldb or self.footer.version < 4)):
            self._data_blocks = None
            return None
        at = base + 0
        data_blocks = self._data_blocks = []
        try:
            for _ in range(len(self.index.content.entries.entries)):
                one, at = read_data_block(view, at, end, base, self, self, len(data_blocks))
                data_blocks.append(one)
        except LayoutError as error:
            del self._data_blocks
            error.within(f"data_blocks[{len(data_blocks)}]")
            raise
        self._data_blocks = data_blocks
        return self._data_blocks

    @property
    def delta_blocks(self) -> list[DeltaBlock] | None:
        """The same for an index of deltas."""
        try:
            return self._delta_blocks
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.has_index and self.index.is_stored and self.footer.is_rocksdb and self.footer.version >= 4):
            self._delta_blocks = None
            return None
        at = base + 0
        delta_blocks = self._delta_blocks = []
        try:
            for _ in range(len(self.index.content.entries.entries)):
                one, at = read_delta_block(view, at, end, base, self, len(delta_blocks))
                delta_blocks.append(one)
        except LayoutError as error:
            del self._delta_blocks
            error.within(f"delta_blocks[{len(delta_blocks)}]")
            raise
        self._delta_blocks = delta_blocks
        return self._delta_blocks


def read_leveldb_table(view: View, at: int, end: int, base: int | None = None) -> tuple[LeveldbTable, int]:
    """`leveldb_table` at `at`, and where it ends. Raises `LayoutError`."""
    value = LeveldbTable()
    if base is None:
        base = at
    value._io = (view, base, end)
    return value, at


class BlockTrailer:
    """The five bytes after every block."""
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
    compression, checksum = _unpack0(view, at)
    at += 5
    value.compression = compression
    value.checksum = checksum
    return value, at


def flat_block_trailer(view: View, at: int, end: int) -> tuple[int, int, int]:
    """Where the `leveldb_table::block_trailer` at `at` ends, and its fields: compression, checksum. Raises
    `LayoutError`.
    """
    if native is not None and (found := native.flat_leveldb_table_block_trailer(view, at, end)) is not None:
        return found
    if end - at < 5:
        raise short((("compression", 1), ("checksum", 5),), at, end, 5)
    compression, checksum = _unpack0(view, at)
    at += 5
    return at, compression, checksum


class Block:
    """Contents, compression type and checksum of one block."""
    __slots__ = ('ofs_block', 'len_block', 'kind', '_contents', '_trailer', '_is_stored', '_content', '_io')
    ofs_block: int
    len_block: int
    kind: int
    """Kind of the block, known only from the reference to it."""
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def contents(self) -> View:
        """The block as it is stored."""
        try:
            return self._contents
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + self.ofs_block
        if at < base:
            raise LayoutError("contents", base, end, "a position in the stream", at - base)
        start = at
        size = self.len_block
        if not 0 <= size <= max(0, end - at):
            raise short("contents", at, end, size)
        contents = view[at : at + size]
        at += size
        if not (len(contents) == self.len_block):
            raise LayoutError("contents", start, at, '_.length.as<u8> == len_block', contents)
        self._contents = contents
        return self._contents

    @property
    def trailer(self) -> BlockTrailer:
        try:
            return self._trailer
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + self.ofs_block + self.len_block
        if at < base:
            raise LayoutError("trailer", base, end, "a position in the stream", at - base)
        try:
            trailer, at = read_block_trailer(view, at, end)
        except LayoutError as error:
            error.within("trailer")
            raise
        self._trailer = trailer
        return self._trailer

    @property
    def is_stored(self) -> bool:
        try:
            return self._is_stored
        except AttributeError:
            pass
        self._is_stored = self.trailer.compression == 0
        return self._is_stored

    @property
    def content(self) -> LeveldbBlock | LeveldbDataBlock | LeveldbFilter | LeveldbIndexDelta | LeveldbProperties | View | None:
        """What is in it, if it is not compressed; never raw bytes."""
        try:
            return self._content
        except AttributeError:
            pass
        from .leveldb_block import read_leveldb_block
        from .leveldb_data_block import read_leveldb_data_block
        from .leveldb_filter import read_leveldb_filter
        from .leveldb_index_delta import read_leveldb_index_delta
        from .leveldb_properties import read_leveldb_properties
        view, base, end = self._io
        if not (self.is_stored and self.kind != 0):
            self._content = None
            return None
        at = base + self.ofs_block
        if at < base:
            raise LayoutError("content", base, end, "a position in the stream", at - base)
        size = self.len_block
        if not 0 <= size <= max(0, end - at):
            raise short("content", at, end, size)
        stop = at + size
        on = self.kind
        if on == 1:
            try:
                content, _ = read_leveldb_block(view, at, stop, at)
            except LayoutError as error:
                error.within("content")
                raise
        elif on == 2:
            try:
                content, _ = read_leveldb_data_block(view, at, stop, at)
            except LayoutError as error:
                error.within("content")
                raise
        elif on == 3:
            try:
                content, _ = read_leveldb_filter(view, at, stop, at)
            except LayoutError as error:
                error.within("content")
                raise
        elif on == 4:
            try:
                content, _ = read_leveldb_properties(view, at, stop, at)
            except LayoutError as error:
                error.within("content")
                raise
        elif on == 5:
            try:
                content, _ = read_leveldb_index_delta(view, at, stop, at)
            except LayoutError as error:
                error.within("content")
                raise
        else:
            content = view[at:stop]
        at = stop
        self._content = content
        return self._content


def read_block(view: View, at: int, end: int, base: int | None, ofs_block: int, len_block: int, kind: int) -> tuple[Block, int]:
    """`leveldb_table::block` at `at`, and where it ends. Raises `LayoutError`."""
    value = Block()
    if base is None:
        base = at
    value._io = (view, base, end)
    value.ofs_block = ofs_block
    value.len_block = len_block
    value.kind = kind
    return value, at


class MetaBlock:
    """A meta block by way of its entry in the metaindex; its key is the name."""
    __slots__ = ('idx', '_name', '_handle', '_kind', '_block', '_io', '_parent', '_root')
    idx: int
    """Position of its entry in the metaindex."""
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def name(self) -> str:
        """Without what it has in common with the name before, which in metaindexes is nothing."""
        try:
            return self._name
        except AttributeError:
            pass
        self._name = str(self._parent.metaindex.content.entries.entries[self.idx].key_suffix, 'ISO-8859-1')
        return self._name

    @property
    def handle(self) -> LeveldbBlockHandle:
        try:
            return self._handle
        except AttributeError:
            pass
        from .leveldb_block_handle import read_leveldb_block_handle
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
    def kind(self) -> int:
        """Filters of RocksDB have names of their own and are bits without a frame."""
        try:
            return self._kind
        except AttributeError:
            pass
        self._kind = 3 if len(self.name) > 7 and self.name[0:7] == 'filter.' else 4 if self.name == 'rocksdb.properties' else 2 if self.name == 'rocksdb.range_del' else 5 if self.name == 'rocksdb.index' and self._root.footer.version >= 4 else 0
        return self._kind

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
            block, at = read_block(view, at, end, base, self.handle.ofs_block, self.handle.len_block, self.kind)
        except LayoutError as error:
            error.within("block")
            raise
        self._block = block
        return self._block


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


class IndexSearch:
    """Whether an entry of the metaindex is that of the index, or the last."""
    __slots__ = ('idx', '_is_index', '_is_over', '_parent')
    idx: int
    """Position of the entry in the metaindex."""

    @property
    def is_index(self) -> bool:
        try:
            return self._is_index
        except AttributeError:
            pass
        self._is_index = self._parent.meta_blocks[self.idx].name == 'rocksdb.index'
        return self._is_index

    @property
    def is_over(self) -> bool:
        try:
            return self._is_over
        except AttributeError:
            pass
        self._is_over = self.is_index or self.idx + 1 >= len(self._parent.meta_blocks)
        return self._is_over


def read_index_search(view: View, at: int, end: int, parent: LeveldbTable | None, idx: int) -> tuple[IndexSearch, int]:
    """`leveldb_table::index_search` at `at`, and where it ends. Raises `LayoutError`."""
    value = IndexSearch()
    value._parent = parent
    value.idx = idx
    return value, at


class DataBlock:
    """A data block by way of its entry in the index."""
    __slots__ = ('idx', '_handle', '_block', '_io', '_parent', '_root')
    idx: int
    """Position of its entry in the index."""
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
        from .leveldb_block_handle import read_leveldb_block_handle
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
            block, at = read_block(view, at, end, base, self.handle.ofs_block, self.handle.len_block, 2)
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


class DeltaBlock:
    """A data block by way of its entry in an index of deltas."""
    __slots__ = ('idx', '_ofs_block', '_len_block', '_raw_delta', '_block', '_io', '_parent')
    idx: int
    """Position of its entry in the index."""
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def ofs_block(self) -> int:
        """Right after the block before, except at a restart."""
        try:
            return self._ofs_block
        except AttributeError:
            pass
        self._ofs_block = self._parent.index.content.entries.entries[self.idx].handle.ofs_block if self._parent.index.content.entries.entries[self.idx].len_shared == 0 or self.idx == 0 else self._parent.delta_blocks[self.idx - 1].ofs_block + self._parent.delta_blocks[self.idx - 1].len_block + 5
        return self._ofs_block

    @property
    def len_block(self) -> int:
        try:
            return self._len_block
        except AttributeError:
            pass
        self._len_block = self._parent.index.content.entries.entries[self.idx].handle.len_block if self._parent.index.content.entries.entries[self.idx].len_shared == 0 or self.idx == 0 else self._parent.delta_blocks[self.idx - 1].len_block + (self.raw_delta // 2 if self.raw_delta % 2 == 0 else -1 - self.raw_delta // 2)
        return self._len_block

    @property
    def raw_delta(self) -> int | None:
        """How much longer the block is than the one before, as zigzag."""
        try:
            return self._raw_delta
        except AttributeError:
            pass
        if not (self._parent.index.content.entries.entries[self.idx].len_shared != 0):
            self._raw_delta = None
            return None
        self._raw_delta = self._parent.index.content.entries.entries[self.idx].raw_delta
        return self._raw_delta

    @property
    def block(self) -> Block:
        """A table starts with data; an index whose first block is elsewhere has two levels, and names parts of the index."""
        try:
            return self._block
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + 0
        try:
            block, at = read_block(view, at, end, base, self.ofs_block, self.len_block, 2 if self._parent.delta_blocks[0].ofs_block == 0 else 5)
        except LayoutError as error:
            error.within("block")
            raise
        self._block = block
        return self._block


def read_delta_block(view: View, at: int, end: int, base: int | None, parent: LeveldbTable | None, idx: int) -> tuple[DeltaBlock, int]:
    """`leveldb_table::delta_block` at `at`, and where it ends. Raises `LayoutError`."""
    value = DeltaBlock()
    if base is None:
        base = at
    value._io = (view, base, end)
    value._parent = parent
    value.idx = idx
    return value, at
