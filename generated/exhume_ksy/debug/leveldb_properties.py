# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from . import leveldb_varint
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class LeveldbProperties(KaitaiStruct):
    """Facts about a table, by name, found under `rocksdb.properties` in the
    metaindex. A block in the common form. dacha and older RocksDB spell every name
    out; newer RocksDB leaves off what a name has in common with the one before.
    Numbers are varints, some RocksDB ones are little-endian integers of fixed
    size, the rest is text.
    
    .. seealso::
       Source - https://github.com/facebook/rocksdb/blob/main/include/rocksdb/table_properties.h
    """
    SEQ_FIELDS = []
    def __init__(self, _io, _parent=None, _root=None):
        super(LeveldbProperties, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        pass


    def _fetch_instances(self):
        pass
        _ = self.num_restarts
        if hasattr(self, '_m_num_restarts'):
            pass

        _ = self.properties
        if hasattr(self, '_m_properties'):
            pass
            self._m_properties._fetch_instances()

        _ = self.restarts
        if hasattr(self, '_m_restarts'):
            pass
            for i in range(len(self._m_restarts)):
                pass



    class Property(KaitaiStruct):
        """A name and a value."""
        SEQ_FIELDS = ["len_shared", "len_name", "len_value", "name", "value"]
        def __init__(self, number, _io, _parent=None, _root=None):
            super(LeveldbProperties.Property, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.number = number
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['len_shared']['start'] = self._io.pos()
            self.len_shared = leveldb_varint.LeveldbVarint(self._io)
            self.len_shared._read()
            self._debug['len_shared']['end'] = self._io.pos()
            self._debug['len_name']['start'] = self._io.pos()
            self.len_name = leveldb_varint.LeveldbVarint(self._io)
            self.len_name._read()
            self._debug['len_name']['end'] = self._io.pos()
            _ = self.len_name
            if not _.value <= (self._io.size() - self._io.pos()):
                raise kaitaistruct.ValidationExprError(self.len_name, self._io, u"/types/property/seq/1")
            self._debug['len_value']['start'] = self._io.pos()
            self.len_value = leveldb_varint.LeveldbVarint(self._io)
            self.len_value._read()
            self._debug['len_value']['end'] = self._io.pos()
            _ = self.len_value
            if not _.value <= (self._io.size() - self._io.pos()) - self.len_name.value:
                raise kaitaistruct.ValidationExprError(self.len_value, self._io, u"/types/property/seq/2")
            self._debug['name']['start'] = self._io.pos()
            self.name = (self._io.read_bytes(self.len_name.value)).decode(u"UTF-8")
            self._debug['name']['end'] = self._io.pos()
            self._debug['value']['start'] = self._io.pos()
            self.value = self._io.read_bytes(self.len_value.value)
            self._debug['value']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.len_shared._fetch_instances()
            self.len_name._fetch_instances()
            self.len_value._fetch_instances()

        @property
        def text(self):
            """The value, if the property is a string."""
            if hasattr(self, '_m_text'):
                return self._m_text

            if  ((self.whole_name == u"rocksdb.column.family.name") or (self.whole_name == u"rocksdb.comparator") or (self.whole_name == u"rocksdb.compression") or (self.whole_name == u"rocksdb.compression_options") or (self.whole_name == u"rocksdb.creating.db.identity") or (self.whole_name == u"rocksdb.creating.host.identity") or (self.whole_name == u"rocksdb.creating.session.identity") or (self.whole_name == u"rocksdb.filter.policy") or (self.whole_name == u"rocksdb.merge.operator") or (self.whole_name == u"rocksdb.prefix.extractor.name") or (self.whole_name == u"rocksdb.property.collectors")) :
                pass
                self._m_text = (self.value).decode(u"UTF-8")

            return getattr(self, '_m_text', None)

        @property
        def whole_name(self):
            """What it has in common with the one before, and the rest."""
            if hasattr(self, '_m_whole_name'):
                return self._m_whole_name

            self._m_whole_name = (self.name if  ((self.len_shared.value == 0) or (self.number == 0))  else self._parent.properties[self.number - 1].whole_name[0:self.len_shared.value] + self.name)
            return getattr(self, '_m_whole_name', None)


    class PropertyList(KaitaiStruct):
        """Properties back to back, up to the restarts."""
        SEQ_FIELDS = ["properties"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbProperties.PropertyList, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['properties']['start'] = self._io.pos()
            self._debug['properties']['arr'] = []
            self.properties = []
            if not self._io.passes(self, 'properties', lambda i, io: LeveldbProperties.Property(i, io, self, self._root), indexed=True):
                i = 0
                while not self._io.is_eof():
                    self._debug['properties']['arr'].append({'start': self._io.pos()})
                    _t_properties = LeveldbProperties.Property(i, self._io, self, self._root)
                    try:
                        _t_properties._read()
                    finally:
                        self.properties.append(_t_properties)
                    self._debug['properties']['arr'][len(self.properties) - 1]['end'] = self._io.pos()
                    i += 1

            self._debug['properties']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            for i in range(len(self.properties)):
                pass
                self.properties[i]._fetch_instances()



    @property
    def num_restarts(self):
        if hasattr(self, '_m_num_restarts'):
            return self._m_num_restarts

        _pos = self._io.pos()
        self._io.seek(self._io.size() - 4)
        self._debug['_m_num_restarts']['start'] = self._io.pos()
        self._m_num_restarts = self._io.read_u4le()
        self._debug['_m_num_restarts']['end'] = self._io.pos()
        self._io.seek(_pos)
        return getattr(self, '_m_num_restarts', None)

    @property
    def ofs_restarts(self):
        if hasattr(self, '_m_ofs_restarts'):
            return self._m_ofs_restarts

        self._m_ofs_restarts = (self._io.size() - 4) - 4 * self.num_restarts
        return getattr(self, '_m_ofs_restarts', None)

    @property
    def properties(self):
        if hasattr(self, '_m_properties'):
            return self._m_properties

        _pos = self._io.pos()
        self._io.seek(0)
        self._debug['_m_properties']['start'] = self._io.pos()
        self._raw__m_properties = self._io.read_bytes(self.ofs_restarts)
        _io__raw__m_properties = KaitaiStream(BytesIO(self._raw__m_properties))
        self._m_properties = LeveldbProperties.PropertyList(_io__raw__m_properties, self, self._root)
        self._m_properties._read()
        self._debug['_m_properties']['end'] = self._io.pos()
        self._io.seek(_pos)
        return getattr(self, '_m_properties', None)

    @property
    def restarts(self):
        """Offsets of properties that spell out their whole name; the first is 0."""
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


