# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class ClpSSchemaIds(KaitaiStruct):
    """The schemas of an archive: for each the leaf nodes of the schema tree that
    its records have, in column order, followed by the layout of their
    structured arrays.
    
    .. seealso::
       SchemaMap - https://github.com/y-scope/clp/tree/main/components/core/src/clp_s
    """

    class ContainerTypes(IntEnum):
        object = 5
        structured_array = 9
    SEQ_FIELDS = ["num_schemas", "schemas"]
    def __init__(self, _io, _parent=None, _root=None):
        super(ClpSSchemaIds, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['num_schemas']['start'] = self._io.pos()
        self.num_schemas = self._io.read_u8le()
        self._debug['num_schemas']['end'] = self._io.pos()
        if not self.num_schemas <= ((self._io.size() - self._io.pos()) // 12):
            raise kaitaistruct.ValidationGreaterThanError(((self._io.size() - self._io.pos()) // 12), self.num_schemas, self._io, u"/seq/0")
        self._debug['schemas']['start'] = self._io.pos()
        self._debug['schemas']['arr'] = []
        self.schemas = []
        if not self._io.passes(self, 'schemas', lambda i, io: ClpSSchemaIds.Schema(io, self, self._root), times=self.num_schemas):
            for i in range(self.num_schemas):
                self._debug['schemas']['arr'].append({'start': self._io.pos()})
                _t_schemas = ClpSSchemaIds.Schema(self._io, self, self._root)
                try:
                    _t_schemas._read()
                finally:
                    self.schemas.append(_t_schemas)
                self._debug['schemas']['arr'][i]['end'] = self._io.pos()

        self._debug['schemas']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass
        for i in range(len(self.schemas)):
            pass
            self.schemas[i]._fetch_instances()


    class Entry(KaitaiStruct):
        """A node of the schema tree or, among the unordered entries, a marker that
        opens a container.
        """
        SEQ_FIELDS = ["value"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpSSchemaIds.Entry, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['value']['start'] = self._io.pos()
            self.value = self._io.read_s4le()
            self._debug['value']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            _ = self.word
            if hasattr(self, '_m_word'):
                pass


        @property
        def container_type(self):
            """What the marker opens, by its number among the types of nodes."""
            if hasattr(self, '_m_container_type'):
                return self._m_container_type

            if self.is_marker:
                pass
                self._m_container_type = KaitaiStream.resolve_enum(ClpSSchemaIds.ContainerTypes, (self.word // 16777216))

            return getattr(self, '_m_container_type', None)

        @property
        def is_marker(self):
            """Only meaningful past the ordered entries.
            """
            if hasattr(self, '_m_is_marker'):
                return self._m_is_marker

            self._m_is_marker = self.word >= 16777216
            return getattr(self, '_m_is_marker', None)

        @property
        def num_beneath(self):
            """How many of the entries that follow belong to the container."""
            if hasattr(self, '_m_num_beneath'):
                return self._m_num_beneath

            if self.is_marker:
                pass
                self._m_num_beneath = self.word % 16777216

            return getattr(self, '_m_num_beneath', None)

        @property
        def word(self):
            """The same four bytes without a sign."""
            if hasattr(self, '_m_word'):
                return self._m_word

            _pos = self._io.pos()
            self._io.seek(0)
            self._debug['_m_word']['start'] = self._io.pos()
            self._m_word = self._io.read_u4le()
            self._debug['_m_word']['end'] = self._io.pos()
            self._io.seek(_pos)
            return getattr(self, '_m_word', None)


    class Schema(KaitaiStruct):
        """One schema."""
        SEQ_FIELDS = ["schema_id", "num_entries", "num_ordered", "entries"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpSSchemaIds.Schema, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['schema_id']['start'] = self._io.pos()
            self.schema_id = self._io.read_s4le()
            self._debug['schema_id']['end'] = self._io.pos()
            self._debug['num_entries']['start'] = self._io.pos()
            self.num_entries = self._io.read_u4le()
            self._debug['num_entries']['end'] = self._io.pos()
            if not self.num_entries <= (self._io.size() - self._io.pos()) // 4:
                raise kaitaistruct.ValidationGreaterThanError((self._io.size() - self._io.pos()) // 4, self.num_entries, self._io, u"/types/schema/seq/1")
            self._debug['num_ordered']['start'] = self._io.pos()
            self.num_ordered = self._io.read_u4le()
            self._debug['num_ordered']['end'] = self._io.pos()
            if not self.num_ordered <= self.num_entries:
                raise kaitaistruct.ValidationGreaterThanError(self.num_entries, self.num_ordered, self._io, u"/types/schema/seq/2")
            self._debug['entries']['start'] = self._io.pos()
            self._debug['entries']['arr'] = []
            self._raw_entries = []
            self.entries = []
            if not self._io.passes(self, 'entries', lambda i, io: ClpSSchemaIds.Entry(io, self, self._root), times=self.num_entries, size=lambda: 4):
                for i in range(self.num_entries):
                    self._debug['entries']['arr'].append({'start': self._io.pos()})
                    self._raw_entries.append(self._io.read_bytes(4))
                    _io__raw_entries = KaitaiStream(BytesIO(self._raw_entries[i]))
                    _t_entries = ClpSSchemaIds.Entry(_io__raw_entries, self, self._root)
                    try:
                        _t_entries._read()
                    finally:
                        self.entries.append(_t_entries)
                    self._debug['entries']['arr'][i]['end'] = self._io.pos()

            self._debug['entries']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            for i in range(len(self.entries)):
                pass
                self.entries[i]._fetch_instances()




