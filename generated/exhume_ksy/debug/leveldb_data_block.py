# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from . import leveldb_internal_key
from . import leveldb_varint
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class LeveldbDataBlock(KaitaiStruct):
    """The layout of `leveldb_block` with the keys reassembled: entries sorted by
    internal key, each without the prefix that it shares with the previous key,
    except at a restart.
    
    .. seealso::
       Source - https://github.com/google/leveldb/blob/main/table/block_builder.cc
    """
    SEQ_FIELDS = []
    def __init__(self, _io, _parent=None, _root=None):
        super(LeveldbDataBlock, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        pass


    def _fetch_instances(self):
        pass
        _ = self.buckets
        if hasattr(self, '_m_buckets'):
            pass

        _ = self.entries
        if hasattr(self, '_m_entries'):
            pass
            self._m_entries._fetch_instances()

        _ = self.num_buckets
        if hasattr(self, '_m_num_buckets'):
            pass

        _ = self.packed_num_restarts
        if hasattr(self, '_m_packed_num_restarts'):
            pass

        _ = self.restarts
        if hasattr(self, '_m_restarts'):
            pass
            for i in range(len(self._m_restarts)):
                pass



    class Entry(KaitaiStruct):
        """A version of a key, or the mark that it was deleted."""
        SEQ_FIELDS = ["len_shared", "len_key_suffix", "len_value", "key_suffix", "value"]
        def __init__(self, number, _io, _parent=None, _root=None):
            super(LeveldbDataBlock.Entry, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.number = number
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
            self._debug['len_value']['start'] = self._io.pos()
            self.len_value = leveldb_varint.LeveldbVarint(self._io)
            self.len_value._read()
            self._debug['len_value']['end'] = self._io.pos()
            _ = self.len_value
            if not _.value <= (self._io.size() - self._io.pos()) - self.len_key_suffix.value:
                raise kaitaistruct.ValidationExprError(self.len_value, self._io, u"/types/entry/seq/2")
            self._debug['key_suffix']['start'] = self._io.pos()
            self._raw_key_suffix = self._io.read_bytes(self.len_key_suffix.value)
            _io__raw_key_suffix = KaitaiStream(BytesIO(self._raw_key_suffix))
            self.key_suffix = LeveldbDataBlock.KeySuffix(_io__raw_key_suffix, self, self._root)
            self.key_suffix._read()
            self._debug['key_suffix']['end'] = self._io.pos()
            self._debug['value']['start'] = self._io.pos()
            self.value = self._io.read_bytes(self.len_value.value)
            self._debug['value']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.len_shared._fetch_instances()
            self.len_key_suffix._fetch_instances()
            self.len_value._fetch_instances()
            self.key_suffix._fetch_instances()
            _ = self.key_parts
            if hasattr(self, '_m_key_parts'):
                pass
                self._m_key_parts._fetch_instances()


        @property
        def key(self):
            """The whole key, each byte as the character of that number."""
            if hasattr(self, '_m_key'):
                return self._m_key

            self._m_key = (self.key_suffix.text if  ((self.len_shared.value == 0) or (self.number == 0))  else self._parent.entries[self.number - 1].key[0:self.len_shared.value] + self.key_suffix.text)
            return getattr(self, '_m_key', None)

        @property
        def key_parts(self):
            """Offset of the type and the sequence number, after the part of the
            user's key that is not shared.
            """
            if hasattr(self, '_m_key_parts'):
                return self._m_key_parts

            if self.len_key_suffix.value >= 8:
                pass
                io = self.key_suffix._io
                _pos = io.pos()
                io.seek(0)
                self._debug['_m_key_parts']['start'] = io.pos()
                self._raw__m_key_parts = io.read_bytes_full()
                _io__raw__m_key_parts = KaitaiStream(BytesIO(self._raw__m_key_parts))
                self._m_key_parts = leveldb_internal_key.LeveldbInternalKey(_io__raw__m_key_parts)
                self._m_key_parts._read()
                self._debug['_m_key_parts']['end'] = io.pos()
                io.seek(_pos)

            return getattr(self, '_m_key_parts', None)

        @property
        def user_key(self):
            """The same without the eight bytes of type and sequence number."""
            if hasattr(self, '_m_user_key'):
                return self._m_user_key

            self._m_user_key = (self.key if len(self.key) < 8 else self.key[0:len(self.key) - 8])
            return getattr(self, '_m_user_key', None)


    class EntryList(KaitaiStruct):
        """Entries back to back, up to the restarts."""
        SEQ_FIELDS = ["entries"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbDataBlock.EntryList, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['entries']['start'] = self._io.pos()
            self._debug['entries']['arr'] = []
            self.entries = []
            if not self._io.passes(self, 'entries', lambda i, io: LeveldbDataBlock.Entry(i, io, self, self._root), indexed=True):
                i = 0
                while not self._io.is_eof():
                    self._debug['entries']['arr'].append({'start': self._io.pos()})
                    _t_entries = LeveldbDataBlock.Entry(i, self._io, self, self._root)
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



    class KeySuffix(KaitaiStruct):
        """The bytes of a key that differ from the key before."""
        SEQ_FIELDS = ["bytes"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbDataBlock.KeySuffix, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['bytes']['start'] = self._io.pos()
            self.bytes = self._io.read_bytes_full()
            self._debug['bytes']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass

        @property
        def text(self):
            """The same, each byte as the character of that number."""
            if hasattr(self, '_m_text'):
                return self._m_text

            self._m_text = (self.bytes).decode(u"ISO-8859-1")
            return getattr(self, '_m_text', None)


    @property
    def buckets(self):
        """Per bucket the number of a restart, 254 for several, 255 for none."""
        if hasattr(self, '_m_buckets'):
            return self._m_buckets

        if self.has_hash_index:
            pass
            _pos = self._io.pos()
            self._io.seek(self.ofs_restarts + 4 * self.num_restarts)
            self._debug['_m_buckets']['start'] = self._io.pos()
            self._m_buckets = self._io.read_bytes(self.num_buckets)
            self._debug['_m_buckets']['end'] = self._io.pos()
            self._io.seek(_pos)

        return getattr(self, '_m_buckets', None)

    @property
    def entries(self):
        if hasattr(self, '_m_entries'):
            return self._m_entries

        _pos = self._io.pos()
        self._io.seek(0)
        self._debug['_m_entries']['start'] = self._io.pos()
        self._raw__m_entries = self._io.read_bytes(self.ofs_restarts)
        _io__raw__m_entries = KaitaiStream(BytesIO(self._raw__m_entries))
        self._m_entries = LeveldbDataBlock.EntryList(_io__raw__m_entries, self, self._root)
        self._m_entries._read()
        self._debug['_m_entries']['end'] = self._io.pos()
        self._io.seek(_pos)
        return getattr(self, '_m_entries', None)

    @property
    def has_hash_index(self):
        """RocksDB; a table of buckets is stored between the restarts and their number."""
        if hasattr(self, '_m_has_hash_index'):
            return self._m_has_hash_index

        self._m_has_hash_index = self.packed_num_restarts >= 2147483648
        return getattr(self, '_m_has_hash_index', None)

    @property
    def is_uniform(self):
        """RocksDB; keys are spread so evenly that a position can be guessed."""
        if hasattr(self, '_m_is_uniform'):
            return self._m_is_uniform

        self._m_is_uniform = self.packed_num_restarts % 1073741824 >= 536870912
        return getattr(self, '_m_is_uniform', None)

    @property
    def num_buckets(self):
        if hasattr(self, '_m_num_buckets'):
            return self._m_num_buckets

        if self.has_hash_index:
            pass
            _pos = self._io.pos()
            self._io.seek(self._io.size() - 6)
            self._debug['_m_num_buckets']['start'] = self._io.pos()
            self._m_num_buckets = self._io.read_u2le()
            self._debug['_m_num_buckets']['end'] = self._io.pos()
            if not self._m_num_buckets <= self._io.size() - 6:
                raise kaitaistruct.ValidationGreaterThanError(self._io.size() - 6, self._m_num_buckets, self._io, u"/instances/num_buckets")
            self._io.seek(_pos)

        return getattr(self, '_m_num_buckets', None)

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

        self._m_ofs_restarts = ((self._io.size() - 4) - 4 * self.num_restarts) - (2 + self.num_buckets if self.has_hash_index else 0)
        return getattr(self, '_m_ofs_restarts', None)

    @property
    def packed_num_restarts(self):
        """The number of restarts, in RocksDB with flags in the four highest bits. Bit
        28 means that keys and values are stored apart, bit 30 has no meaning yet:
        neither layout is this one.
        """
        if hasattr(self, '_m_packed_num_restarts'):
            return self._m_packed_num_restarts

        _pos = self._io.pos()
        self._io.seek(self._io.size() - 4)
        self._debug['_m_packed_num_restarts']['start'] = self._io.pos()
        self._m_packed_num_restarts = self._io.read_u4le()
        self._debug['_m_packed_num_restarts']['end'] = self._io.pos()
        _ = self._m_packed_num_restarts
        if not  ((_ % 2147483648 < 1073741824) and (_ % 536870912 < 268435456)) :
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


