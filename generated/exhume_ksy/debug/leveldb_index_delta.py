# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from . import leveldb_block_handle
from . import leveldb_varint
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class LeveldbIndexDelta(KaitaiStruct):
    """The index of a RocksDB table from version 4 (property
    `rocksdb.index.value.is.delta.encoded`). Entries have no value length. At a
    restart the value is a whole block handle; elsewhere it is how much longer the
    block is than the one before, and the block starts right after it.
    
    .. seealso::
       Source - https://github.com/facebook/rocksdb/blob/main/table/block_based/block_builder.cc
    """
    SEQ_FIELDS = []
    def __init__(self, _io, _parent=None, _root=None):
        super(LeveldbIndexDelta, self).__init__(_io)
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



    class Entry(KaitaiStruct):
        """A key not below the last one of a data block, and where that block is."""
        SEQ_FIELDS = ["len_shared", "len_key_suffix", "key_suffix", "handle", "raw_delta"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbIndexDelta.Entry, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['len_shared']['start'] = self._io.pos()
            self.len_shared = leveldb_varint.LeveldbVarint(self._io)
            self.len_shared._read()
            self._debug['len_shared']['end'] = self._io.pos()
            self._debug['len_key_suffix']['start'] = self._io.pos()
            self.len_key_suffix = leveldb_varint.LeveldbVarint(self._io)
            self.len_key_suffix._read()
            self._debug['len_key_suffix']['end'] = self._io.pos()
            _ = self.len_key_suffix
            if not _.value <= (self._io.size() - self._io.pos()):
                raise kaitaistruct.ValidationExprError(self.len_key_suffix, self._io, u"/types/entry/seq/1")
            self._debug['key_suffix']['start'] = self._io.pos()
            self.key_suffix = self._io.read_bytes(self.len_key_suffix.value)
            self._debug['key_suffix']['end'] = self._io.pos()
            if self.len_shared.value == 0:
                pass
                self._debug['handle']['start'] = self._io.pos()
                self.handle = leveldb_block_handle.LeveldbBlockHandle(self._io)
                self.handle._read()
                self._debug['handle']['end'] = self._io.pos()

            if self.len_shared.value != 0:
                pass
                self._debug['raw_delta']['start'] = self._io.pos()
                self.raw_delta = leveldb_varint.LeveldbVarint(self._io)
                self.raw_delta._read()
                self._debug['raw_delta']['end'] = self._io.pos()



        def _fetch_instances(self):
            pass
            self.len_shared._fetch_instances()
            self.len_key_suffix._fetch_instances()
            if self.len_shared.value == 0:
                pass
                self.handle._fetch_instances()

            if self.len_shared.value != 0:
                pass
                self.raw_delta._fetch_instances()



    class EntryList(KaitaiStruct):
        """Entries back to back, up to the restarts."""
        SEQ_FIELDS = ["entries"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbIndexDelta.EntryList, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['entries']['start'] = self._io.pos()
            self._debug['entries']['arr'] = []
            self.entries = []
            if not self._io.passes(self, 'entries', lambda i, io: LeveldbIndexDelta.Entry(io, self, self._root)):
                i = 0
                while not self._io.is_eof():
                    self._debug['entries']['arr'].append({'start': self._io.pos()})
                    _t_entries = LeveldbIndexDelta.Entry(self._io, self, self._root)
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



    @property
    def entries(self):
        if hasattr(self, '_m_entries'):
            return self._m_entries

        _pos = self._io.pos()
        self._io.seek(0)
        self._debug['_m_entries']['start'] = self._io.pos()
        self._raw__m_entries = self._io.read_bytes(self.ofs_restarts)
        _io__raw__m_entries = KaitaiStream(BytesIO(self._raw__m_entries))
        self._m_entries = LeveldbIndexDelta.EntryList(_io__raw__m_entries, self, self._root)
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
        """The number of restarts, with a flag: bit 29 says that keys are spread so
        evenly that a position can be guessed. The other high bits are not used in
        an index.
        """
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


