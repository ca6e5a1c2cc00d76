# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from . import data_bundle_config
from . import data_bundle_file_metadata
from . import data_bundle_record_metadata
from . import data_bundle_row_key
from . import leveldb_varint
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class DataBundleIndexBlock(KaitaiStruct):
    """A data block of the index: the layout of `leveldb_block`, with the values read
    as the rows that they are. Keys are as this project writes them; see
    `data_bundle_key`.
    
    .. seealso::
       Source - https://github.com/dennisss/dacha/tree/master/pkg/bundle
    """

    class Tables(IntEnum):
        unknown = 0
        config = 1
        files = 2
        records = 3
    SEQ_FIELDS = []
    def __init__(self, _io, _parent=None, _root=None):
        super(DataBundleIndexBlock, self).__init__(_io)
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


        _ = self.rows
        if hasattr(self, '_m_rows'):
            pass
            self._m_rows._fetch_instances()


    class KeySuffix(KaitaiStruct):
        """The bytes of a key that differ from the key before."""
        SEQ_FIELDS = ["bytes"]
        def __init__(self, _io, _parent=None, _root=None):
            super(DataBundleIndexBlock.KeySuffix, self).__init__(_io)
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


    class Row(KaitaiStruct):
        """An internal key, which may share its first bytes with the previous key,
        and its value.
        """
        SEQ_FIELDS = ["len_shared", "len_key_suffix", "len_value", "key_suffix", "value"]
        def __init__(self, number, _io, _parent=None, _root=None):
            super(DataBundleIndexBlock.Row, self).__init__(_io)
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
                raise kaitaistruct.ValidationExprError(self.len_key_suffix, self._io, u"/types/row/seq/1")
            self._debug['len_value']['start'] = self._io.pos()
            self.len_value = leveldb_varint.LeveldbVarint(self._io)
            self.len_value._read()
            self._debug['len_value']['end'] = self._io.pos()
            _ = self.len_value
            if not _.value <= (self._io.size() - self._io.pos()) - self.len_key_suffix.value:
                raise kaitaistruct.ValidationExprError(self.len_value, self._io, u"/types/row/seq/2")
            self._debug['key_suffix']['start'] = self._io.pos()
            self._raw_key_suffix = self._io.read_bytes(self.len_key_suffix.value)
            _io__raw_key_suffix = KaitaiStream(BytesIO(self._raw_key_suffix))
            self.key_suffix = DataBundleIndexBlock.KeySuffix(_io__raw_key_suffix, self, self._root)
            self.key_suffix._read()
            self._debug['key_suffix']['end'] = self._io.pos()
            self._debug['value']['start'] = self._io.pos()
            _on = self.table
            if _on == DataBundleIndexBlock.Tables.config:
                pass
                self._raw_value = self._io.read_bytes(self.len_value.value)
                _io__raw_value = KaitaiStream(BytesIO(self._raw_value))
                self.value = data_bundle_config.DataBundleConfig(_io__raw_value)
                self.value._read()
            elif _on == DataBundleIndexBlock.Tables.files:
                pass
                self._raw_value = self._io.read_bytes(self.len_value.value)
                _io__raw_value = KaitaiStream(BytesIO(self._raw_value))
                self.value = data_bundle_file_metadata.DataBundleFileMetadata(_io__raw_value)
                self.value._read()
            elif _on == DataBundleIndexBlock.Tables.records:
                pass
                self._raw_value = self._io.read_bytes(self.len_value.value)
                _io__raw_value = KaitaiStream(BytesIO(self._raw_value))
                self.value = data_bundle_record_metadata.DataBundleRecordMetadata(_io__raw_value)
                self.value._read()
            else:
                pass
                self.value = self._io.read_bytes(self.len_value.value)
            self._debug['value']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.len_shared._fetch_instances()
            self.len_key_suffix._fetch_instances()
            self.len_value._fetch_instances()
            self.key_suffix._fetch_instances()
            _on = self.table
            if _on == DataBundleIndexBlock.Tables.config:
                pass
                self.value._fetch_instances()
            elif _on == DataBundleIndexBlock.Tables.files:
                pass
                self.value._fetch_instances()
            elif _on == DataBundleIndexBlock.Tables.records:
                pass
                self.value._fetch_instances()
            else:
                pass
            _ = self.whole_key
            if hasattr(self, '_m_whole_key'):
                pass
                self._m_whole_key._fetch_instances()


        @property
        def key(self):
            """The whole key, each byte as the character of that number."""
            if hasattr(self, '_m_key'):
                return self._m_key

            self._m_key = (self.key_suffix.text if  ((self.len_shared.value == 0) or (self.number == 0))  else self._parent.rows[self.number - 1].key[0:self.len_shared.value] + self.key_suffix.text)
            return getattr(self, '_m_key', None)

        @property
        def table(self):
            """First byte of the whole key; a key that shares bytes with the one before
            shares this one too.
            """
            if hasattr(self, '_m_table'):
                return self._m_table

            self._m_table = KaitaiStream.resolve_enum(DataBundleIndexBlock.Tables, (KaitaiStream.byte_array_index(self.key_suffix.bytes, 0) if  ((self.len_shared.value == 0) and (self.len_key_suffix.value > 0))  else (int(self._parent.rows[self.number - 1].table) if self.number > 0 else 0)))
            return getattr(self, '_m_table', None)

        @property
        def whole_key(self):
            """The key where it is spelled out."""
            if hasattr(self, '_m_whole_key'):
                return self._m_whole_key

            if  ((self.len_shared.value == 0) and (self.len_key_suffix.value > 8)) :
                pass
                io = self.key_suffix._io
                _pos = io.pos()
                io.seek(0)
                self._debug['_m_whole_key']['start'] = io.pos()
                self._raw__m_whole_key = io.read_bytes_full()
                _io__raw__m_whole_key = KaitaiStream(BytesIO(self._raw__m_whole_key))
                self._m_whole_key = data_bundle_row_key.DataBundleRowKey(_io__raw__m_whole_key)
                self._m_whole_key._read()
                self._debug['_m_whole_key']['end'] = io.pos()
                io.seek(_pos)

            return getattr(self, '_m_whole_key', None)


    class RowList(KaitaiStruct):
        """Rows back to back, up to the restarts."""
        SEQ_FIELDS = ["rows"]
        def __init__(self, _io, _parent=None, _root=None):
            super(DataBundleIndexBlock.RowList, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['rows']['start'] = self._io.pos()
            self._debug['rows']['arr'] = []
            self.rows = []
            if not self._io.passes(self, 'rows', lambda i, io: DataBundleIndexBlock.Row(i, io, self, self._root), indexed=True):
                i = 0
                while not self._io.is_eof():
                    self._debug['rows']['arr'].append({'start': self._io.pos()})
                    _t_rows = DataBundleIndexBlock.Row(i, self._io, self, self._root)
                    try:
                        _t_rows._read()
                    finally:
                        self.rows.append(_t_rows)
                    self._debug['rows']['arr'][len(self.rows) - 1]['end'] = self._io.pos()
                    i += 1

            self._debug['rows']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            for i in range(len(self.rows)):
                pass
                self.rows[i]._fetch_instances()



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
    def has_hash_index(self):
        """RocksDB; a table of buckets is stored between the restarts and their number."""
        if hasattr(self, '_m_has_hash_index'):
            return self._m_has_hash_index

        self._m_has_hash_index = self.packed_num_restarts >= 2147483648
        return getattr(self, '_m_has_hash_index', None)

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

        self._m_num_restarts = self.packed_num_restarts % 2147483648
        return getattr(self, '_m_num_restarts', None)

    @property
    def ofs_restarts(self):
        if hasattr(self, '_m_ofs_restarts'):
            return self._m_ofs_restarts

        self._m_ofs_restarts = ((self._io.size() - 4) - 4 * self.num_restarts) - (2 + self.num_buckets if self.has_hash_index else 0)
        return getattr(self, '_m_ofs_restarts', None)

    @property
    def packed_num_restarts(self):
        """The number of restarts, in RocksDB with a flag in the highest bit."""
        if hasattr(self, '_m_packed_num_restarts'):
            return self._m_packed_num_restarts

        _pos = self._io.pos()
        self._io.seek(self._io.size() - 4)
        self._debug['_m_packed_num_restarts']['start'] = self._io.pos()
        self._m_packed_num_restarts = self._io.read_u4le()
        self._debug['_m_packed_num_restarts']['end'] = self._io.pos()
        self._io.seek(_pos)
        return getattr(self, '_m_packed_num_restarts', None)

    @property
    def restarts(self):
        """Offsets of rows that spell out their whole key; the first is 0."""
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

    @property
    def rows(self):
        if hasattr(self, '_m_rows'):
            return self._m_rows

        _pos = self._io.pos()
        self._io.seek(0)
        self._debug['_m_rows']['start'] = self._io.pos()
        self._raw__m_rows = self._io.read_bytes(self.ofs_restarts)
        _io__raw__m_rows = KaitaiStream(BytesIO(self._raw__m_rows))
        self._m_rows = DataBundleIndexBlock.RowList(_io__raw__m_rows, self, self._root)
        self._m_rows._read()
        self._debug['_m_rows']['end'] = self._io.pos()
        self._io.seek(_pos)
        return getattr(self, '_m_rows', None)


