# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from . import leveldb_block
from . import leveldb_block_handle
from . import leveldb_footer
from enum import IntEnum


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
    def __init__(self, _io, _parent=None, _root=None):
        super(LeveldbTable, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

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

        _ = self.metaindex6
        if hasattr(self, '_m_metaindex6'):
            pass
            self._m_metaindex6._fetch_instances()


    class Block(KaitaiStruct):
        """Contents, compression type and checksum of one block."""
        def __init__(self, ofs_block, len_block, has_common_form, _io, _parent=None, _root=None):
            super(LeveldbTable.Block, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.ofs_block = ofs_block
            self.len_block = len_block
            self.has_common_form = has_common_form
            self._read()

        def _read(self):
            pass


        def _fetch_instances(self):
            pass
            _ = self.checksum
            if hasattr(self, '_m_checksum'):
                pass

            _ = self.compression
            if hasattr(self, '_m_compression'):
                pass

            _ = self.content
            if hasattr(self, '_m_content'):
                pass
                self._m_content._fetch_instances()

            _ = self.contents
            if hasattr(self, '_m_contents'):
                pass


        @property
        def checksum(self):
            """Over contents and compression byte; of the kind that the footer names,
            CRC-32C rotated right by 15 bits plus 0xa282ead8 in LevelDB.
            """
            if hasattr(self, '_m_checksum'):
                return self._m_checksum

            _pos = self._io.pos()
            self._io.seek((self.ofs_block + self.len_block) + 1)
            self._m_checksum = self._io.read_u4le()
            self._io.seek(_pos)
            return getattr(self, '_m_checksum', None)

        @property
        def compression(self):
            if hasattr(self, '_m_compression'):
                return self._m_compression

            _pos = self._io.pos()
            self._io.seek(self.ofs_block + self.len_block)
            self._m_compression = KaitaiStream.resolve_enum(LeveldbTable.Compressions, self._io.read_u1())
            self._io.seek(_pos)
            return getattr(self, '_m_compression', None)

        @property
        def content(self):
            """The entries, if they are not compressed and no index of deltas."""
            if hasattr(self, '_m_content'):
                return self._m_content

            if  ((self.is_stored) and (self.has_common_form)) :
                pass
                _pos = self._io.pos()
                self._io.seek(self.ofs_block)
                self._raw__m_content = self._io.read_bytes(self.len_block)
                _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                self._m_content = leveldb_block.LeveldbBlock(_io__raw__m_content)
                self._io.seek(_pos)

            return getattr(self, '_m_content', None)

        @property
        def contents(self):
            if hasattr(self, '_m_contents'):
                return self._m_contents

            _pos = self._io.pos()
            self._io.seek(self.ofs_block)
            self._m_contents = self._io.read_bytes(self.len_block)
            self._io.seek(_pos)
            return getattr(self, '_m_contents', None)

        @property
        def is_stored(self):
            if hasattr(self, '_m_is_stored'):
                return self._m_is_stored

            self._m_is_stored = self.compression == LeveldbTable.Compressions.none
            return getattr(self, '_m_is_stored', None)


    class BlockTrailer(KaitaiStruct):
        """The five bytes behind every block."""
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbTable.BlockTrailer, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.compression = KaitaiStream.resolve_enum(LeveldbTable.Compressions, self._io.read_u1())
            self.checksum = self._io.read_u4le()


        def _fetch_instances(self):
            pass


    class DataBlock(KaitaiStruct):
        """A data block by way of its entry in the index."""
        def __init__(self, idx, _io, _parent=None, _root=None):
            super(LeveldbTable.DataBlock, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.idx = idx
            self._read()

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
            self._m_block = LeveldbTable.Block(self.handle.ofs_block.value, self.handle.len_block.value, True, io, self, self._root)
            io.seek(_pos)
            return getattr(self, '_m_block', None)

        @property
        def handle(self):
            if hasattr(self, '_m_handle'):
                return self._m_handle

            io = self._parent.index.content.entries.entries[self.idx].value._io
            _pos = io.pos()
            io.seek(0)
            self._m_handle = leveldb_block_handle.LeveldbBlockHandle(io)
            io.seek(_pos)
            return getattr(self, '_m_handle', None)


    class MetaBlock(KaitaiStruct):
        """A meta block by way of its entry in the metaindex; its key is the name."""
        def __init__(self, idx, _io, _parent=None, _root=None):
            super(LeveldbTable.MetaBlock, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.idx = idx
            self._read()

        def _read(self):
            pass


        def _fetch_instances(self):
            pass
            _ = self.checksum
            if hasattr(self, '_m_checksum'):
                pass

            _ = self.compression
            if hasattr(self, '_m_compression'):
                pass

            _ = self.contents
            if hasattr(self, '_m_contents'):
                pass

            _ = self.handle
            if hasattr(self, '_m_handle'):
                pass
                self._m_handle._fetch_instances()


        @property
        def checksum(self):
            if hasattr(self, '_m_checksum'):
                return self._m_checksum

            io = self._root._io
            _pos = io.pos()
            io.seek((self.handle.ofs_block.value + self.handle.len_block.value) + 1)
            self._m_checksum = io.read_u4le()
            io.seek(_pos)
            return getattr(self, '_m_checksum', None)

        @property
        def compression(self):
            if hasattr(self, '_m_compression'):
                return self._m_compression

            io = self._root._io
            _pos = io.pos()
            io.seek(self.handle.ofs_block.value + self.handle.len_block.value)
            self._m_compression = KaitaiStream.resolve_enum(LeveldbTable.Compressions, io.read_u1())
            io.seek(_pos)
            return getattr(self, '_m_compression', None)

        @property
        def contents(self):
            if hasattr(self, '_m_contents'):
                return self._m_contents

            io = self._root._io
            _pos = io.pos()
            io.seek(self.handle.ofs_block.value)
            self._m_contents = io.read_bytes(self.handle.len_block.value)
            io.seek(_pos)
            return getattr(self, '_m_contents', None)

        @property
        def handle(self):
            if hasattr(self, '_m_handle'):
                return self._m_handle

            io = self._parent.metaindex.content.entries.entries[self.idx].value._io
            _pos = io.pos()
            io.seek(0)
            self._m_handle = leveldb_block_handle.LeveldbBlockHandle(io)
            io.seek(_pos)
            return getattr(self, '_m_handle', None)


    @property
    def data_blocks(self):
        """Every block that the index names, if the index itself is not compressed."""
        if hasattr(self, '_m_data_blocks'):
            return self._m_data_blocks

        if  ((self.footer.is_leveldb) and (self.index.is_stored)) :
            pass
            _pos = self._io.pos()
            self._io.seek(0)
            self._m_data_blocks = []
            for i in range(self.num_data_blocks):
                self._m_data_blocks.append(LeveldbTable.DataBlock(i, self._io, self, self._root))

            self._io.seek(_pos)

        return getattr(self, '_m_data_blocks', None)

    @property
    def footer(self):
        if hasattr(self, '_m_footer'):
            return self._m_footer

        _pos = self._io.pos()
        self._io.seek(self._io.size() - self.len_footer)
        self._raw__m_footer = self._io.read_bytes(self.len_footer)
        _io__raw__m_footer = KaitaiStream(BytesIO(self._raw__m_footer))
        self._m_footer = leveldb_footer.LeveldbFooter(_io__raw__m_footer)
        self._io.seek(_pos)
        return getattr(self, '_m_footer', None)

    @property
    def handles(self):
        if hasattr(self, '_m_handles'):
            return self._m_handles

        if self.has_handles:
            pass
            self._m_handles = (self.footer.leveldb if self.footer.is_leveldb else self.footer.rocksdb)

        return getattr(self, '_m_handles', None)

    @property
    def has_handles(self):
        """False when nothing is known, or only where the metaindex is."""
        if hasattr(self, '_m_has_handles'):
            return self._m_has_handles

        self._m_has_handles =  ((self.footer.is_leveldb) or ( ((self.footer.is_rocksdb) and (self.footer.version < 6)) )) 
        return getattr(self, '_m_has_handles', None)

    @property
    def index(self):
        """One entry per data block, a key not below its last and its handle. From
        RocksDB version 4 in the form of `leveldb_index_delta.ksy`.
        """
        if hasattr(self, '_m_index'):
            return self._m_index

        if self.has_handles:
            pass
            _pos = self._io.pos()
            self._io.seek(0)
            self._m_index = LeveldbTable.Block(self.handles.index.ofs_block.value, self.handles.index.len_block.value,  ((self.footer.is_leveldb) or (self.footer.version < 4)) , self._io, self, self._root)
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
        self._m_magic = self._io.read_bytes(8)
        self._io.seek(_pos)
        return getattr(self, '_m_magic', None)

    @property
    def meta_blocks(self):
        """Every block that the metaindex names, if it is not compressed."""
        if hasattr(self, '_m_meta_blocks'):
            return self._m_meta_blocks

        if  ((self.footer.is_leveldb) and (self.metaindex.is_stored)) :
            pass
            _pos = self._io.pos()
            self._io.seek(0)
            self._m_meta_blocks = []
            for i in range(self.num_meta_blocks):
                self._m_meta_blocks.append(LeveldbTable.MetaBlock(i, self._io, self, self._root))

            self._io.seek(_pos)

        return getattr(self, '_m_meta_blocks', None)

    @property
    def metaindex(self):
        """Names of meta blocks (filter, properties) and their handles."""
        if hasattr(self, '_m_metaindex'):
            return self._m_metaindex

        if self.has_handles:
            pass
            _pos = self._io.pos()
            self._io.seek(0)
            self._m_metaindex = LeveldbTable.Block(self.handles.metaindex.ofs_block.value, self.handles.metaindex.len_block.value, True, self._io, self, self._root)
            self._io.seek(_pos)

        return getattr(self, '_m_metaindex', None)

    @property
    def metaindex6(self):
        """RocksDB from version 6; names the index among the rest."""
        if hasattr(self, '_m_metaindex6'):
            return self._m_metaindex6

        if  ((self.footer.is_rocksdb) and (self.footer.version >= 6)) :
            pass
            _pos = self._io.pos()
            self._io.seek(0)
            self._m_metaindex6 = LeveldbTable.Block(((self._io.size() - 53) - 5) - self.footer.rocksdb6.len_metaindex, self.footer.rocksdb6.len_metaindex, True, self._io, self, self._root)
            self._io.seek(_pos)

        return getattr(self, '_m_metaindex6', None)

    @property
    def num_data_blocks(self):
        if hasattr(self, '_m_num_data_blocks'):
            return self._m_num_data_blocks

        if  ((self.footer.is_leveldb) and (self.index.is_stored)) :
            pass
            self._m_num_data_blocks = len(self.index.content.entries.entries)

        return getattr(self, '_m_num_data_blocks', None)

    @property
    def num_meta_blocks(self):
        if hasattr(self, '_m_num_meta_blocks'):
            return self._m_num_meta_blocks

        if  ((self.footer.is_leveldb) and (self.metaindex.is_stored)) :
            pass
            self._m_num_meta_blocks = len(self.metaindex.content.entries.entries)

        return getattr(self, '_m_num_meta_blocks', None)


