# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from . import leveldb_bytes
from . import leveldb_index_delta


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class LeveldbIndexFirstKey(KaitaiStruct):
    """The index of a RocksDB table from version 4 whose type is
    `kBinarySearchWithFirstKey` (property `rocksdb.block.based.table.index.type`):
    `leveldb_index_delta.ksy` with the first key of the data block after each
    entry.
    
    .. seealso::
       IndexValue::EncodeTo - https://github.com/facebook/rocksdb/blob/main/table/format.cc
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(LeveldbIndexFirstKey, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        pass


    def _fetch_instances(self):
        pass
        _ = self.entries
        if hasattr(self, '_m_entries'):
            pass
            self._m_entries._fetch_instances()

        _ = self.packed_num_restarts
        if hasattr(self, '_m_packed_num_restarts'):
            pass

        _ = self.restarts
        if hasattr(self, '_m_restarts'):
            pass
            for i in range(len(self._m_restarts)):
                pass



    class EntryList(KaitaiStruct):
        """Entries in sequence, up to the restarts."""
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbIndexFirstKey.EntryList, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.entries = []
            i = 0
            while not self._io.is_eof():
                self.entries.append(LeveldbIndexFirstKey.KeyedEntry(self._io, self, self._root))
                i += 1



        def _fetch_instances(self):
            pass
            for i in range(len(self.entries)):
                pass
                self.entries[i]._fetch_instances()



    class KeyedEntry(KaitaiStruct):
        """An entry as without first keys, and the first key of its data block."""
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbIndexFirstKey.KeyedEntry, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.entry = leveldb_index_delta.LeveldbIndexDelta.Entry(self._io)
            self.first_key = leveldb_bytes.LeveldbBytes(self._io)


        def _fetch_instances(self):
            pass
            self.entry._fetch_instances()
            self.first_key._fetch_instances()


    @property
    def entries(self):
        if hasattr(self, '_m_entries'):
            return self._m_entries

        _pos = self._io.pos()
        self._io.seek(0)
        self._raw__m_entries = self._io.read_bytes(self.ofs_restarts)
        _io__raw__m_entries = KaitaiStream(BytesIO(self._raw__m_entries))
        self._m_entries = LeveldbIndexFirstKey.EntryList(_io__raw__m_entries, self, self._root)
        self._io.seek(_pos)
        return getattr(self, '_m_entries', None)

    @property
    def num_restarts(self):
        if hasattr(self, '_m_num_restarts'):
            return self._m_num_restarts

        self._m_num_restarts = self.packed_num_restarts % 268435456
        return getattr(self, '_m_num_restarts', None)

    @property
    def ofs_restarts(self):
        if hasattr(self, '_m_ofs_restarts'):
            return self._m_ofs_restarts

        self._m_ofs_restarts = (self._io.size() - 4) - 4 * self.num_restarts
        return getattr(self, '_m_ofs_restarts', None)

    @property
    def packed_num_restarts(self):
        """The number of restarts, with the flag of `leveldb_index_delta.ksy`."""
        if hasattr(self, '_m_packed_num_restarts'):
            return self._m_packed_num_restarts

        _pos = self._io.pos()
        self._io.seek(self._io.size() - 4)
        self._m_packed_num_restarts = self._io.read_u4le()
        _ = self._m_packed_num_restarts
        if not  ((_ < 1073741824) and (_ % 536870912 < 268435456)) :
            raise kaitaistruct.ValidationExprError(self._m_packed_num_restarts, self._io, u"/instances/packed_num_restarts")
        self._io.seek(_pos)
        return getattr(self, '_m_packed_num_restarts', None)

    @property
    def restarts(self):
        """Offsets of entries that spell out their whole key; the first is 0."""
        if hasattr(self, '_m_restarts'):
            return self._m_restarts

        _pos = self._io.pos()
        self._io.seek(self.ofs_restarts)
        self._m_restarts = []
        for i in range(self.num_restarts):
            self._m_restarts.append(self._io.read_u4le())

        self._io.seek(_pos)
        return getattr(self, '_m_restarts', None)


