# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from . import leveldb_bytes
from . import leveldb_index_delta
import collections


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
    SEQ_FIELDS = []
    def __init__(self, _io, _parent=None, _root=None):
        super(LeveldbIndexFirstKey, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

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
        SEQ_FIELDS = ["entries"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbIndexFirstKey.EntryList, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['entries']['start'] = self._io.pos()
            self._debug['entries']['arr'] = []
            self.entries = []
            if not self._io.passes(self, 'entries', lambda i, io: LeveldbIndexFirstKey.KeyedEntry(io, self, self._root)):
                i = 0
                while not self._io.is_eof():
                    self._debug['entries']['arr'].append({'start': self._io.pos()})
                    _t_entries = LeveldbIndexFirstKey.KeyedEntry(self._io, self, self._root)
                    try:
                        _t_entries._read()
                    finally:
                        self.entries.append(_t_entries)
                    self._debug['entries']['arr'][len(self.entries) - 1]['end'] = self._io.pos()
                    i += 1

            self._debug['entries']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            for i in range(len(self.entries)):
                pass
                self.entries[i]._fetch_instances()



    class KeyedEntry(KaitaiStruct):
        """An entry as without first keys, and the first key of its data block."""
        SEQ_FIELDS = ["entry", "first_key"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbIndexFirstKey.KeyedEntry, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['entry']['start'] = self._io.pos()
            self.entry = leveldb_index_delta.LeveldbIndexDelta.Entry(self._io)
            self.entry._read()
            self._debug['entry']['end'] = self._io.pos()
            self._debug['first_key']['start'] = self._io.pos()
            self.first_key = leveldb_bytes.LeveldbBytes(self._io)
            self.first_key._read()
            self._debug['first_key']['end'] = self._io.pos()


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
        self._debug['_m_entries']['start'] = self._io.pos()
        self._raw__m_entries = self._io.read_bytes(self.ofs_restarts)
        _io__raw__m_entries = KaitaiStream(BytesIO(self._raw__m_entries))
        self._m_entries = LeveldbIndexFirstKey.EntryList(_io__raw__m_entries, self, self._root)
        self._m_entries._read()
        self._debug['_m_entries']['end'] = self._io.pos()
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
        self._debug['_m_packed_num_restarts']['start'] = self._io.pos()
        self._m_packed_num_restarts = self._io.read_u4le()
        self._debug['_m_packed_num_restarts']['end'] = self._io.pos()
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
        self._debug['_m_restarts']['start'] = self._io.pos()
        self._debug['_m_restarts']['arr'] = []
        self._m_restarts = []
        if not self._io.passes(self, '_m_restarts', lambda i, io: io.read_u4le(), width=4, times=self.num_restarts):
            for i in range(self.num_restarts):
                self._debug['_m_restarts']['arr'].append({'start': self._io.pos()})
                self._m_restarts.append(self._io.read_u4le())
                self._debug['_m_restarts']['arr'][i]['end'] = self._io.pos()

        self._debug['_m_restarts']['end'] = self._io.pos()
        self._io.seek(_pos)
        return getattr(self, '_m_restarts', None)


