# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from . import leveldb_data_block
from . import leveldb_index_delta
from . import leveldb_block
from . import leveldb_filter
from . import leveldb_footer
from . import leveldb_properties
from . import leveldb_block_handle
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class LeveldbTable(KaitaiStruct):
    """An immutable sorted table of entries (`NNNNNN.ldb`, `NNNNNN.sst`): data blocks,
    then meta blocks (filter, properties), the metaindex, the index, and a footer
    at the end that says where the last two are.
    
    Blocks are compressed one by one as a rule. Those stored as they are open right
    here; the others are parsed by `leveldb_block.ksy` once decompressed.
    
    .. seealso::
       Source - https://github.com/google/leveldb/blob/main/doc/table_format.md
    """

    class Compressions(IntEnum):
        none = 0
        snappy = 1
        zlib = 2
        bzip2 = 3
        lz4 = 4
        lz4hc = 5
        xpress = 6
        zstd = 7
        early_zstd = 64

    class Kinds(IntEnum):
        unknown = 0
        handles = 1
        data = 2
        filter = 3
        properties = 4
        handle_deltas = 5
    SEQ_FIELDS = []
    def __init__(self, _io, _parent=None, _root=None):
        super(LeveldbTable, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        pass


    def _fetch_instances(self):
        pass
        _ = self.data_blocks
        if hasattr(self, '_m_data_blocks'):
            pass
            for i in range(len(self._m_data_blocks)):
                pass
                self._m_data_blocks[i]._fetch_instances()


        _ = self.delta_blocks
        if hasattr(self, '_m_delta_blocks'):
            pass
            for i in range(len(self._m_delta_blocks)):
                pass
                self._m_delta_blocks[i]._fetch_instances()


        _ = self.footer
        if hasattr(self, '_m_footer'):
            pass
            self._m_footer._fetch_instances()

        _ = self.index
        if hasattr(self, '_m_index'):
            pass
            self._m_index._fetch_instances()

        _ = self.magic
        if hasattr(self, '_m_magic'):
            pass

        _ = self.meta_blocks
        if hasattr(self, '_m_meta_blocks'):
            pass
            for i in range(len(self._m_meta_blocks)):
                pass
                self._m_meta_blocks[i]._fetch_instances()


        _ = self.metaindex
        if hasattr(self, '_m_metaindex'):
            pass
            self._m_metaindex._fetch_instances()

        _ = self.search
        if hasattr(self, '_m_search'):
            pass
            for i in range(len(self._m_search)):
                pass
                self._m_search[i]._fetch_instances()



    class Block(KaitaiStruct):
        """Contents, compression type and checksum of one block."""
        SEQ_FIELDS = []
        def __init__(self, ofs_block, len_block, kind, _io, _parent=None, _root=None):
            super(LeveldbTable.Block, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.ofs_block = ofs_block
            self.len_block = len_block
            self.kind = kind
            self._debug = collections.defaultdict(dict)

        def _read(self):
            pass


        def _fetch_instances(self):
            pass
            _ = self.content
            if hasattr(self, '_m_content'):
                pass
                _on = self.kind
                if _on == LeveldbTable.Kinds.data:
                    pass
                    self._m_content._fetch_instances()
                elif _on == LeveldbTable.Kinds.filter:
                    pass
                    self._m_content._fetch_instances()
                elif _on == LeveldbTable.Kinds.handle_deltas:
                    pass
                    self._m_content._fetch_instances()
                elif _on == LeveldbTable.Kinds.handles:
                    pass
                    self._m_content._fetch_instances()
                elif _on == LeveldbTable.Kinds.properties:
                    pass
                    self._m_content._fetch_instances()
                else:
                    pass

            _ = self.contents
            if hasattr(self, '_m_contents'):
                pass

            _ = self.trailer
            if hasattr(self, '_m_trailer'):
                pass
                self._m_trailer._fetch_instances()


        @property
        def content(self):
            """What is in it, if it is not compressed; never raw bytes."""
            if hasattr(self, '_m_content'):
                return self._m_content

            if  ((self.is_stored) and (self.kind != LeveldbTable.Kinds.unknown)) :
                pass
                _pos = self._io.pos()
                self._io.seek(self.ofs_block)
                self._debug['_m_content']['start'] = self._io.pos()
                _on = self.kind
                if _on == LeveldbTable.Kinds.data:
                    pass
                    self._raw__m_content = self._io.read_bytes(self.len_block)
                    _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                    self._m_content = leveldb_data_block.LeveldbDataBlock(_io__raw__m_content)
                    self._m_content._read()
                elif _on == LeveldbTable.Kinds.filter:
                    pass
                    self._raw__m_content = self._io.read_bytes(self.len_block)
                    _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                    self._m_content = leveldb_filter.LeveldbFilter(_io__raw__m_content)
                    self._m_content._read()
                elif _on == LeveldbTable.Kinds.handle_deltas:
                    pass
                    self._raw__m_content = self._io.read_bytes(self.len_block)
                    _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                    self._m_content = leveldb_index_delta.LeveldbIndexDelta(_io__raw__m_content)
                    self._m_content._read()
                elif _on == LeveldbTable.Kinds.handles:
                    pass
                    self._raw__m_content = self._io.read_bytes(self.len_block)
                    _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                    self._m_content = leveldb_block.LeveldbBlock(_io__raw__m_content)
                    self._m_content._read()
                elif _on == LeveldbTable.Kinds.properties:
                    pass
                    self._raw__m_content = self._io.read_bytes(self.len_block)
                    _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                    self._m_content = leveldb_properties.LeveldbProperties(_io__raw__m_content)
                    self._m_content._read()
                else:
                    pass
                    self._m_content = self._io.read_bytes(self.len_block)
                self._debug['_m_content']['end'] = self._io.pos()
                self._io.seek(_pos)

            return getattr(self, '_m_content', None)

        @property
        def contents(self):
            """The block as it is stored."""
            if hasattr(self, '_m_contents'):
                return self._m_contents

            _pos = self._io.pos()
            self._io.seek(self.ofs_block)
            self._debug['_m_contents']['start'] = self._io.pos()
            self._m_contents = self._io.read_bytes(self.len_block)
            self._debug['_m_contents']['end'] = self._io.pos()
            _ = self._m_contents
            if not len(_) == self.len_block:
                raise kaitaistruct.ValidationExprError(self._m_contents, self._io, u"/types/block/instances/contents")
            self._io.seek(_pos)
            return getattr(self, '_m_contents', None)

        @property
        def is_stored(self):
            if hasattr(self, '_m_is_stored'):
                return self._m_is_stored

            self._m_is_stored = self.trailer.compression == LeveldbTable.Compressions.none
            return getattr(self, '_m_is_stored', None)

        @property
        def trailer(self):
            if hasattr(self, '_m_trailer'):
                return self._m_trailer

            _pos = self._io.pos()
            self._io.seek((self.ofs_block + self.len_block))
            self._debug['_m_trailer']['start'] = self._io.pos()
            self._m_trailer = LeveldbTable.BlockTrailer(self._io, self, self._root)
            self._m_trailer._read()
            self._debug['_m_trailer']['end'] = self._io.pos()
            self._io.seek(_pos)
            return getattr(self, '_m_trailer', None)


    class BlockTrailer(KaitaiStruct):
        """The five bytes after every block."""
        SEQ_FIELDS = ["compression", "checksum"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbTable.BlockTrailer, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['compression']['start'] = self._io.pos()
            self.compression = KaitaiStream.resolve_enum(LeveldbTable.Compressions, self._io.read_u1())
            self._debug['compression']['end'] = self._io.pos()
            self._debug['checksum']['start'] = self._io.pos()
            self.checksum = self._io.read_u4le()
            self._debug['checksum']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    class DataBlock(KaitaiStruct):
        """A data block by way of its entry in the index."""
        SEQ_FIELDS = []
        def __init__(self, idx, _io, _parent=None, _root=None):
            super(LeveldbTable.DataBlock, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.idx = idx
            self._debug = collections.defaultdict(dict)

        def _read(self):
            pass


        def _fetch_instances(self):
            pass
            _ = self.block
            if hasattr(self, '_m_block'):
                pass
                self._m_block._fetch_instances()

            _ = self.handle
            if hasattr(self, '_m_handle'):
                pass
                self._m_handle._fetch_instances()


        @property
        def block(self):
            if hasattr(self, '_m_block'):
                return self._m_block

            io = self._root._io
            _pos = io.pos()
            io.seek(0)
            self._debug['_m_block']['start'] = io.pos()
            self._m_block = LeveldbTable.Block(self.handle.ofs_block.value, self.handle.len_block.value, LeveldbTable.Kinds.data, io, self, self._root)
            self._m_block._read()
            self._debug['_m_block']['end'] = io.pos()
            io.seek(_pos)
            return getattr(self, '_m_block', None)

        @property
        def handle(self):
            if hasattr(self, '_m_handle'):
                return self._m_handle

            io = self._parent.index.content.entries.entries[self.idx].value._io
            _pos = io.pos()
            io.seek(0)
            self._debug['_m_handle']['start'] = io.pos()
            self._m_handle = leveldb_block_handle.LeveldbBlockHandle(io)
            self._m_handle._read()
            self._debug['_m_handle']['end'] = io.pos()
            io.seek(_pos)
            return getattr(self, '_m_handle', None)


    class DeltaBlock(KaitaiStruct):
        """A data block by way of its entry in an index of deltas."""
        SEQ_FIELDS = []
        def __init__(self, idx, _io, _parent=None, _root=None):
            super(LeveldbTable.DeltaBlock, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.idx = idx
            self._debug = collections.defaultdict(dict)

        def _read(self):
            pass


        def _fetch_instances(self):
            pass
            _ = self.block
            if hasattr(self, '_m_block'):
                pass
                self._m_block._fetch_instances()


        @property
        def block(self):
            """A table starts with data; an index whose first block is elsewhere has
            two levels, and names parts of the index.
            """
            if hasattr(self, '_m_block'):
                return self._m_block

            _pos = self._io.pos()
            self._io.seek(0)
            self._debug['_m_block']['start'] = self._io.pos()
            self._m_block = LeveldbTable.Block(self.ofs_block, self.len_block, (LeveldbTable.Kinds.data if self._parent.delta_blocks[0].ofs_block == 0 else LeveldbTable.Kinds.handle_deltas), self._io, self, self._root)
            self._m_block._read()
            self._debug['_m_block']['end'] = self._io.pos()
            self._io.seek(_pos)
            return getattr(self, '_m_block', None)

        @property
        def len_block(self):
            if hasattr(self, '_m_len_block'):
                return self._m_len_block

            self._m_len_block = (self._parent.index.content.entries.entries[self.idx].handle.len_block.value if  ((self._parent.index.content.entries.entries[self.idx].len_shared.value == 0) or (self.idx == 0))  else (self._parent.delta_blocks[self.idx - 1].len_block + (self.raw_delta // 2 if self.raw_delta % 2 == 0 else -1 - self.raw_delta // 2)))
            return getattr(self, '_m_len_block', None)

        @property
        def ofs_block(self):
            """Right after the block before, except at a restart."""
            if hasattr(self, '_m_ofs_block'):
                return self._m_ofs_block

            self._m_ofs_block = (self._parent.index.content.entries.entries[self.idx].handle.ofs_block.value if  ((self._parent.index.content.entries.entries[self.idx].len_shared.value == 0) or (self.idx == 0))  else ((self._parent.delta_blocks[self.idx - 1].ofs_block + self._parent.delta_blocks[self.idx - 1].len_block) + 5))
            return getattr(self, '_m_ofs_block', None)

        @property
        def raw_delta(self):
            """How much longer the block is than the one before, as zigzag."""
            if hasattr(self, '_m_raw_delta'):
                return self._m_raw_delta

            if self._parent.index.content.entries.entries[self.idx].len_shared.value != 0:
                pass
                self._m_raw_delta = self._parent.index.content.entries.entries[self.idx].raw_delta.value

            return getattr(self, '_m_raw_delta', None)


    class IndexSearch(KaitaiStruct):
        """Whether an entry of the metaindex is that of the index, or the last."""
        SEQ_FIELDS = []
        def __init__(self, idx, _io, _parent=None, _root=None):
            super(LeveldbTable.IndexSearch, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.idx = idx
            self._debug = collections.defaultdict(dict)

        def _read(self):
            pass


        def _fetch_instances(self):
            pass

        @property
        def is_index(self):
            if hasattr(self, '_m_is_index'):
                return self._m_is_index

            self._m_is_index = self._parent.meta_blocks[self.idx].name == u"rocksdb.index"
            return getattr(self, '_m_is_index', None)

        @property
        def is_over(self):
            if hasattr(self, '_m_is_over'):
                return self._m_is_over

            self._m_is_over =  ((self.is_index) or (self.idx + 1 >= len(self._parent.meta_blocks))) 
            return getattr(self, '_m_is_over', None)


    class MetaBlock(KaitaiStruct):
        """A meta block by way of its entry in the metaindex; its key is the name."""
        SEQ_FIELDS = []
        def __init__(self, idx, _io, _parent=None, _root=None):
            super(LeveldbTable.MetaBlock, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.idx = idx
            self._debug = collections.defaultdict(dict)

        def _read(self):
            pass


        def _fetch_instances(self):
            pass
            _ = self.block
            if hasattr(self, '_m_block'):
                pass
                self._m_block._fetch_instances()

            _ = self.handle
            if hasattr(self, '_m_handle'):
                pass
                self._m_handle._fetch_instances()


        @property
        def block(self):
            if hasattr(self, '_m_block'):
                return self._m_block

            io = self._root._io
            _pos = io.pos()
            io.seek(0)
            self._debug['_m_block']['start'] = io.pos()
            self._m_block = LeveldbTable.Block(self.handle.ofs_block.value, self.handle.len_block.value, self.kind, io, self, self._root)
            self._m_block._read()
            self._debug['_m_block']['end'] = io.pos()
            io.seek(_pos)
            return getattr(self, '_m_block', None)

        @property
        def handle(self):
            if hasattr(self, '_m_handle'):
                return self._m_handle

            io = self._parent.metaindex.content.entries.entries[self.idx].value._io
            _pos = io.pos()
            io.seek(0)
            self._debug['_m_handle']['start'] = io.pos()
            self._m_handle = leveldb_block_handle.LeveldbBlockHandle(io)
            self._m_handle._read()
            self._debug['_m_handle']['end'] = io.pos()
            io.seek(_pos)
            return getattr(self, '_m_handle', None)

        @property
        def kind(self):
            """Filters of RocksDB have names of their own and are bits without a frame."""
            if hasattr(self, '_m_kind'):
                return self._m_kind

            self._m_kind = (LeveldbTable.Kinds.filter if  ((len(self.name) > 7) and (self.name[0:7] == u"filter."))  else (LeveldbTable.Kinds.properties if self.name == u"rocksdb.properties" else (LeveldbTable.Kinds.data if self.name == u"rocksdb.range_del" else (LeveldbTable.Kinds.handle_deltas if  ((self.name == u"rocksdb.index") and (self._root.footer.version >= 4))  else LeveldbTable.Kinds.unknown))))
            return getattr(self, '_m_kind', None)

        @property
        def name(self):
            """Without what it has in common with the name before, which in metaindexes
            is nothing.
            """
            if hasattr(self, '_m_name'):
                return self._m_name

            self._m_name = (self._parent.metaindex.content.entries.entries[self.idx].key_suffix).decode(u"ISO-8859-1")
            return getattr(self, '_m_name', None)


    @property
    def data_blocks(self):
        """Every block that the index names, if the index itself is not compressed."""
        if hasattr(self, '_m_data_blocks'):
            return self._m_data_blocks

        if  ((self.has_index) and (self.index.is_stored) and ( ((self.footer.is_leveldb) or (self.footer.version < 4)) )) :
            pass
            _pos = self._io.pos()
            self._io.seek(0)
            self._debug['_m_data_blocks']['start'] = self._io.pos()
            self._debug['_m_data_blocks']['arr'] = []
            self._m_data_blocks = []
            if not self._io.passes(self, '_m_data_blocks', lambda i, io: LeveldbTable.DataBlock(i, io, self, self._root), indexed=True, times=len(self.index.content.entries.entries)):
                for i in range(len(self.index.content.entries.entries)):
                    self._debug['_m_data_blocks']['arr'].append({'start': self._io.pos()})
                    _t__m_data_blocks = LeveldbTable.DataBlock(i, self._io, self, self._root)
                    try:
                        _t__m_data_blocks._read()
                    finally:
                        self._m_data_blocks.append(_t__m_data_blocks)
                    self._debug['_m_data_blocks']['arr'][i]['end'] = self._io.pos()

            self._debug['_m_data_blocks']['end'] = self._io.pos()
            self._io.seek(_pos)

        return getattr(self, '_m_data_blocks', None)

    @property
    def delta_blocks(self):
        """The same for an index of deltas."""
        if hasattr(self, '_m_delta_blocks'):
            return self._m_delta_blocks

        if  ((self.has_index) and (self.index.is_stored) and (self.footer.is_rocksdb) and (self.footer.version >= 4)) :
            pass
            _pos = self._io.pos()
            self._io.seek(0)
            self._debug['_m_delta_blocks']['start'] = self._io.pos()
            self._debug['_m_delta_blocks']['arr'] = []
            self._m_delta_blocks = []
            if not self._io.passes(self, '_m_delta_blocks', lambda i, io: LeveldbTable.DeltaBlock(i, io, self, self._root), indexed=True, times=len(self.index.content.entries.entries)):
                for i in range(len(self.index.content.entries.entries)):
                    self._debug['_m_delta_blocks']['arr'].append({'start': self._io.pos()})
                    _t__m_delta_blocks = LeveldbTable.DeltaBlock(i, self._io, self, self._root)
                    try:
                        _t__m_delta_blocks._read()
                    finally:
                        self._m_delta_blocks.append(_t__m_delta_blocks)
                    self._debug['_m_delta_blocks']['arr'][i]['end'] = self._io.pos()

            self._debug['_m_delta_blocks']['end'] = self._io.pos()
            self._io.seek(_pos)

        return getattr(self, '_m_delta_blocks', None)

    @property
    def footer(self):
        if hasattr(self, '_m_footer'):
            return self._m_footer

        _pos = self._io.pos()
        self._io.seek(self._io.size() - self.len_footer)
        self._debug['_m_footer']['start'] = self._io.pos()
        self._raw__m_footer = self._io.read_bytes(self.len_footer)
        _io__raw__m_footer = KaitaiStream(BytesIO(self._raw__m_footer))
        self._m_footer = leveldb_footer.LeveldbFooter(_io__raw__m_footer)
        self._m_footer._read()
        self._debug['_m_footer']['end'] = self._io.pos()
        self._io.seek(_pos)
        return getattr(self, '_m_footer', None)

    @property
    def has_handles(self):
        """False when nothing is known, or only where the metaindex is."""
        if hasattr(self, '_m_has_handles'):
            return self._m_has_handles

        self._m_has_handles =  ((self.footer.is_leveldb) or ( ((self.footer.is_rocksdb) and (self.footer.version < 6)) )) 
        return getattr(self, '_m_has_handles', None)

    @property
    def has_index(self):
        """The footer, or else the metaindex, has the offset of the index."""
        if hasattr(self, '_m_has_index'):
            return self._m_has_index

        self._m_has_index =  ((self.has_handles) or ( ((self.footer.is_rocksdb) and (self.footer.version >= 6) and (self.metaindex.is_stored) and (len(self.metaindex.content.entries.entries) > 0) and (self.search[-1].is_index)) )) 
        return getattr(self, '_m_has_index', None)

    @property
    def index(self):
        """One entry per data block, a key not below its last and its handle. From
        RocksDB version 4 in the form of `leveldb_index_delta.ksy`.
        """
        if hasattr(self, '_m_index'):
            return self._m_index

        if self.has_index:
            pass
            _pos = self._io.pos()
            self._io.seek(0)
            self._debug['_m_index']['start'] = self._io.pos()
            self._m_index = LeveldbTable.Block((self.footer.leveldb.index.ofs_block.value if self.footer.is_leveldb else (self.footer.rocksdb.index.ofs_block.value if self.footer.version < 6 else self.meta_blocks[len(self.search) - 1].handle.ofs_block.value)), (self.footer.leveldb.index.len_block.value if self.footer.is_leveldb else (self.footer.rocksdb.index.len_block.value if self.footer.version < 6 else self.meta_blocks[len(self.search) - 1].handle.len_block.value)), (LeveldbTable.Kinds.handles if  ((self.footer.is_leveldb) or (self.footer.version < 4))  else LeveldbTable.Kinds.handle_deltas), self._io, self, self._root)
            self._m_index._read()
            self._debug['_m_index']['end'] = self._io.pos()
            self._io.seek(_pos)

        return getattr(self, '_m_index', None)

    @property
    def len_footer(self):
        """RocksDB's own footer is five bytes longer than LevelDB's."""
        if hasattr(self, '_m_len_footer'):
            return self._m_len_footer

        self._m_len_footer = (48 if self.magic == b"\x57\xFB\x80\x8B\x24\x75\x47\xDB" else 53)
        return getattr(self, '_m_len_footer', None)

    @property
    def magic(self):
        if hasattr(self, '_m_magic'):
            return self._m_magic

        _pos = self._io.pos()
        self._io.seek(self._io.size() - 8)
        self._debug['_m_magic']['start'] = self._io.pos()
        self._m_magic = self._io.read_bytes(8)
        self._debug['_m_magic']['end'] = self._io.pos()
        self._io.seek(_pos)
        return getattr(self, '_m_magic', None)

    @property
    def meta_blocks(self):
        """Every block that the metaindex names, if that is not compressed."""
        if hasattr(self, '_m_meta_blocks'):
            return self._m_meta_blocks

        if  (( ((self.footer.is_leveldb) or (self.footer.is_rocksdb)) ) and (self.metaindex.is_stored)) :
            pass
            _pos = self._io.pos()
            self._io.seek(0)
            self._debug['_m_meta_blocks']['start'] = self._io.pos()
            self._debug['_m_meta_blocks']['arr'] = []
            self._m_meta_blocks = []
            if not self._io.passes(self, '_m_meta_blocks', lambda i, io: LeveldbTable.MetaBlock(i, io, self, self._root), indexed=True, times=len(self.metaindex.content.entries.entries)):
                for i in range(len(self.metaindex.content.entries.entries)):
                    self._debug['_m_meta_blocks']['arr'].append({'start': self._io.pos()})
                    _t__m_meta_blocks = LeveldbTable.MetaBlock(i, self._io, self, self._root)
                    try:
                        _t__m_meta_blocks._read()
                    finally:
                        self._m_meta_blocks.append(_t__m_meta_blocks)
                    self._debug['_m_meta_blocks']['arr'][i]['end'] = self._io.pos()

            self._debug['_m_meta_blocks']['end'] = self._io.pos()
            self._io.seek(_pos)

        return getattr(self, '_m_meta_blocks', None)

    @property
    def metaindex(self):
        """Names of meta blocks (filter, properties) and their handles; in RocksDB from
        version 6 the index is among them.
        """
        if hasattr(self, '_m_metaindex'):
            return self._m_metaindex

        if  ((self.footer.is_leveldb) or (self.footer.is_rocksdb)) :
            pass
            _pos = self._io.pos()
            self._io.seek(0)
            self._debug['_m_metaindex']['start'] = self._io.pos()
            self._m_metaindex = LeveldbTable.Block((self.footer.leveldb.metaindex.ofs_block.value if self.footer.is_leveldb else (self.footer.rocksdb.metaindex.ofs_block.value if self.footer.version < 6 else (((self._io.size() - 53) - 5) - self.footer.rocksdb6.len_metaindex))), (self.footer.leveldb.metaindex.len_block.value if self.footer.is_leveldb else (self.footer.rocksdb.metaindex.len_block.value if self.footer.version < 6 else self.footer.rocksdb6.len_metaindex)), LeveldbTable.Kinds.handles, self._io, self, self._root)
            self._m_metaindex._read()
            self._debug['_m_metaindex']['end'] = self._io.pos()
            self._io.seek(_pos)

        return getattr(self, '_m_metaindex', None)

    @property
    def search(self):
        """The entries of the metaindex one by one, up to that of the index."""
        if hasattr(self, '_m_search'):
            return self._m_search

        if  ((self.footer.is_rocksdb) and (self.footer.version >= 6) and (self.metaindex.is_stored) and (len(self.metaindex.content.entries.entries) > 0)) :
            pass
            _pos = self._io.pos()
            self._io.seek(0)
            self._debug['_m_search']['start'] = self._io.pos()
            self._debug['_m_search']['arr'] = []
            self._m_search = []
            if not self._io.passes(self, '_m_search', lambda i, io: LeveldbTable.IndexSearch(i, io, self, self._root), indexed=True, until=lambda _, io: _.is_over):
                i = 0
                while True:
                    self._debug['_m_search']['arr'].append({'start': self._io.pos()})
                    _t__m_search = LeveldbTable.IndexSearch(i, self._io, self, self._root)
                    try:
                        _t__m_search._read()
                    finally:
                        _ = _t__m_search
                        self._m_search.append(_)
                    self._debug['_m_search']['arr'][len(self._m_search) - 1]['end'] = self._io.pos()
                    if _.is_over:
                        break
                    i += 1
            self._debug['_m_search']['end'] = self._io.pos()
            self._io.seek(_pos)

        return getattr(self, '_m_search', None)


