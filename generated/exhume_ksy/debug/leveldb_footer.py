# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from . import leveldb_block_handle
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class LeveldbFooter(KaitaiStruct):
    """The last 48 bytes (LevelDB) or 53 bytes (RocksDB) of a table: where its
    metaindex and its index are. Give it the last 53 bytes of the file, or more;
    it counts from the end.
    
    .. seealso::
       Source - https://github.com/google/leveldb/blob/main/doc/table_format.md
    
    
    .. seealso::
       Source - https://github.com/facebook/rocksdb/blob/main/table/format.h
    """

    class ChecksumTypes(IntEnum):
        none = 0
        crc32c = 1
        xxhash32 = 2
        xxhash64 = 3
        xxh3 = 4
    SEQ_FIELDS = []
    def __init__(self, _io, _parent=None, _root=None):
        super(LeveldbFooter, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        pass


    def _fetch_instances(self):
        pass
        _ = self.checksum_type
        if hasattr(self, '_m_checksum_type'):
            pass

        _ = self.leveldb
        if hasattr(self, '_m_leveldb'):
            pass
            self._m_leveldb._fetch_instances()

        _ = self.magic
        if hasattr(self, '_m_magic'):
            pass

        _ = self.rocksdb
        if hasattr(self, '_m_rocksdb'):
            pass
            self._m_rocksdb._fetch_instances()

        _ = self.rocksdb6
        if hasattr(self, '_m_rocksdb6'):
            pass
            self._m_rocksdb6._fetch_instances()

        _ = self.version
        if hasattr(self, '_m_version'):
            pass


    class Handles(KaitaiStruct):
        """Where the two blocks are that lead to all others."""
        SEQ_FIELDS = ["metaindex", "index", "padding"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbFooter.Handles, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['metaindex']['start'] = self._io.pos()
            self.metaindex = leveldb_block_handle.LeveldbBlockHandle(self._io)
            self.metaindex._read()
            self._debug['metaindex']['end'] = self._io.pos()
            self._debug['index']['start'] = self._io.pos()
            self.index = leveldb_block_handle.LeveldbBlockHandle(self._io)
            self.index._read()
            self._debug['index']['end'] = self._io.pos()
            self._debug['padding']['start'] = self._io.pos()
            self.padding = self._io.read_bytes_full()
            self._debug['padding']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.metaindex._fetch_instances()
            self.index._fetch_instances()


    class SealedHandle(KaitaiStruct):
        """Form of version 6. The metaindex block directly precedes the footer, and
        names the index block under `rocksdb.index`.
        """
        SEQ_FIELDS = ["extended_magic", "footer_checksum", "base_context_checksum", "len_metaindex", "padding"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbFooter.SealedHandle, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['extended_magic']['start'] = self._io.pos()
            self.extended_magic = self._io.read_bytes(4)
            self._debug['extended_magic']['end'] = self._io.pos()
            if not self.extended_magic == b"\x3E\x00\x7A\x00":
                raise kaitaistruct.ValidationNotEqualError(b"\x3E\x00\x7A\x00", self.extended_magic, self._io, u"/types/sealed_handle/seq/0")
            self._debug['footer_checksum']['start'] = self._io.pos()
            self.footer_checksum = self._io.read_u4le()
            self._debug['footer_checksum']['end'] = self._io.pos()
            self._debug['base_context_checksum']['start'] = self._io.pos()
            self.base_context_checksum = self._io.read_u4le()
            self._debug['base_context_checksum']['end'] = self._io.pos()
            self._debug['len_metaindex']['start'] = self._io.pos()
            self.len_metaindex = self._io.read_u4le()
            self._debug['len_metaindex']['end'] = self._io.pos()
            self._debug['padding']['start'] = self._io.pos()
            self.padding = self._io.read_bytes_full()
            self._debug['padding']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    @property
    def checksum_type(self):
        """Kind of the checksum that follows each block."""
        if hasattr(self, '_m_checksum_type'):
            return self._m_checksum_type

        if self.is_rocksdb:
            pass
            _pos = self._io.pos()
            self._io.seek(self._io.size() - 53)
            self._debug['_m_checksum_type']['start'] = self._io.pos()
            self._m_checksum_type = KaitaiStream.resolve_enum(LeveldbFooter.ChecksumTypes, self._io.read_u1())
            self._debug['_m_checksum_type']['end'] = self._io.pos()
            self._io.seek(_pos)

        return getattr(self, '_m_checksum_type', None)

    @property
    def is_cuckoo(self):
        """RocksDB's cuckoo tables, which have another layout."""
        if hasattr(self, '_m_is_cuckoo'):
            return self._m_is_cuckoo

        self._m_is_cuckoo = self.magic == b"\x73\x78\xF1\xC5\xD0\x89\x67\x92"
        return getattr(self, '_m_is_cuckoo', None)

    @property
    def is_leveldb(self):
        if hasattr(self, '_m_is_leveldb'):
            return self._m_is_leveldb

        self._m_is_leveldb = self.magic == b"\x57\xFB\x80\x8B\x24\x75\x47\xDB"
        return getattr(self, '_m_is_leveldb', None)

    @property
    def is_old_plain(self):
        if hasattr(self, '_m_is_old_plain'):
            return self._m_is_old_plain

        self._m_is_old_plain = self.magic == b"\xB8\x13\x8F\x7A\xEB\x18\x34\x4F"
        return getattr(self, '_m_is_old_plain', None)

    @property
    def is_pebble(self):
        """Pebble's own formats, whose blocks and footers differ from RocksDB's."""
        if hasattr(self, '_m_is_pebble'):
            return self._m_is_pebble

        self._m_is_pebble = self.magic == b"\xF0\x9F\xAA\xB3\xF0\x9F\xAA\xB3"
        return getattr(self, '_m_is_pebble', None)

    @property
    def is_plain(self):
        """RocksDB's plain tables, which have another layout."""
        if hasattr(self, '_m_is_plain'):
            return self._m_is_plain

        self._m_is_plain = self.magic == b"\x64\x95\xBF\x63\x96\x22\x42\x82"
        return getattr(self, '_m_is_plain', None)

    @property
    def is_rocksdb(self):
        if hasattr(self, '_m_is_rocksdb'):
            return self._m_is_rocksdb

        self._m_is_rocksdb = self.magic == b"\xF7\xCF\xF4\x85\xB7\x41\xE2\x88"
        return getattr(self, '_m_is_rocksdb', None)

    @property
    def leveldb(self):
        if hasattr(self, '_m_leveldb'):
            return self._m_leveldb

        if self.is_leveldb:
            pass
            _pos = self._io.pos()
            self._io.seek(self._io.size() - 48)
            self._debug['_m_leveldb']['start'] = self._io.pos()
            self._raw__m_leveldb = self._io.read_bytes(40)
            _io__raw__m_leveldb = KaitaiStream(BytesIO(self._raw__m_leveldb))
            self._m_leveldb = LeveldbFooter.Handles(_io__raw__m_leveldb, self, self._root)
            self._m_leveldb._read()
            self._debug['_m_leveldb']['end'] = self._io.pos()
            self._io.seek(_pos)

        return getattr(self, '_m_leveldb', None)

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
    def rocksdb(self):
        if hasattr(self, '_m_rocksdb'):
            return self._m_rocksdb

        if  ((self.is_rocksdb) and (self.version < 6)) :
            pass
            _pos = self._io.pos()
            self._io.seek(self._io.size() - 52)
            self._debug['_m_rocksdb']['start'] = self._io.pos()
            self._raw__m_rocksdb = self._io.read_bytes(40)
            _io__raw__m_rocksdb = KaitaiStream(BytesIO(self._raw__m_rocksdb))
            self._m_rocksdb = LeveldbFooter.Handles(_io__raw__m_rocksdb, self, self._root)
            self._m_rocksdb._read()
            self._debug['_m_rocksdb']['end'] = self._io.pos()
            self._io.seek(_pos)

        return getattr(self, '_m_rocksdb', None)

    @property
    def rocksdb6(self):
        if hasattr(self, '_m_rocksdb6'):
            return self._m_rocksdb6

        if  ((self.is_rocksdb) and (self.version >= 6)) :
            pass
            _pos = self._io.pos()
            self._io.seek(self._io.size() - 52)
            self._debug['_m_rocksdb6']['start'] = self._io.pos()
            self._raw__m_rocksdb6 = self._io.read_bytes(40)
            _io__raw__m_rocksdb6 = KaitaiStream(BytesIO(self._raw__m_rocksdb6))
            self._m_rocksdb6 = LeveldbFooter.SealedHandle(_io__raw__m_rocksdb6, self, self._root)
            self._m_rocksdb6._read()
            self._debug['_m_rocksdb6']['end'] = self._io.pos()
            self._io.seek(_pos)

        return getattr(self, '_m_rocksdb6', None)

    @property
    def version(self):
        """RocksDB's `format_version`; the LevelDB footer counts as version 0."""
        if hasattr(self, '_m_version'):
            return self._m_version

        if self.is_rocksdb:
            pass
            _pos = self._io.pos()
            self._io.seek(self._io.size() - 12)
            self._debug['_m_version']['start'] = self._io.pos()
            self._m_version = self._io.read_u4le()
            self._debug['_m_version']['end'] = self._io.pos()
            self._io.seek(_pos)

        return getattr(self, '_m_version', None)


