# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from . import data_bundle_field
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class DataBundleInlineTable(KaitaiStruct):
    """`BundleInlineTable`, a Protocol Buffers message in the header of a shard, for
    bundles without an `index/`. No program is known that writes it; its rows
    presumably are those of the index.
    
    .. seealso::
       Source - https://github.com/dennisss/dacha/tree/master/pkg/bundle
    """

    class Names(IntEnum):
        row = 1

    class RowNames(IntEnum):
        key = 1
        value = 2
    SEQ_FIELDS = ["fields"]
    def __init__(self, _io, _parent=None, _root=None):
        super(DataBundleInlineTable, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['fields']['start'] = self._io.pos()
        self._debug['fields']['arr'] = []
        self.fields = []
        if not self._io.passes(self, 'fields', lambda i, io: DataBundleInlineTable.Field(io, self, self._root)):
            i = 0
            while not self._io.is_eof():
                self._debug['fields']['arr'].append({'start': self._io.pos()})
                _t_fields = DataBundleInlineTable.Field(self._io, self, self._root)
                try:
                    _t_fields._read()
                finally:
                    self.fields.append(_t_fields)
                self._debug['fields']['arr'][len(self.fields) - 1]['end'] = self._io.pos()
                i += 1

        self._debug['fields']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass
        for i in range(len(self.fields)):
            pass
            self.fields[i]._fetch_instances()


    class Field(KaitaiStruct):
        """One field, with its number as a name."""
        SEQ_FIELDS = ["wire"]
        def __init__(self, _io, _parent=None, _root=None):
            super(DataBundleInlineTable.Field, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['wire']['start'] = self._io.pos()
            self.wire = data_bundle_field.DataBundleField(self._io)
            self.wire._read()
            self._debug['wire']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.wire._fetch_instances()
            _ = self.row
            if hasattr(self, '_m_row'):
                pass
                self._m_row._fetch_instances()


        @property
        def name(self):
            """The number of the field by its name."""
            if hasattr(self, '_m_name'):
                return self._m_name

            self._m_name = KaitaiStream.resolve_enum(DataBundleInlineTable.Names, self.wire.number)
            return getattr(self, '_m_name', None)

        @property
        def row(self):
            """The message in it; 10 is the key of field 1 with a value of bytes."""
            if hasattr(self, '_m_row'):
                return self._m_row

            if self.wire.key.value == 10:
                pass
                io = self.wire.value.data._io
                _pos = io.pos()
                io.seek(0)
                self._debug['_m_row']['start'] = io.pos()
                self._raw__m_row = io.read_bytes_full()
                _io__raw__m_row = KaitaiStream(BytesIO(self._raw__m_row))
                self._m_row = DataBundleInlineTable.Row(_io__raw__m_row, self, self._root)
                self._m_row._read()
                self._debug['_m_row']['end'] = io.pos()
                io.seek(_pos)

            return getattr(self, '_m_row', None)


    class Row(KaitaiStruct):
        """One row of the index."""
        SEQ_FIELDS = ["fields"]
        def __init__(self, _io, _parent=None, _root=None):
            super(DataBundleInlineTable.Row, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['fields']['start'] = self._io.pos()
            self._debug['fields']['arr'] = []
            self.fields = []
            if not self._io.passes(self, 'fields', lambda i, io: DataBundleInlineTable.RowField(io, self, self._root)):
                i = 0
                while not self._io.is_eof():
                    self._debug['fields']['arr'].append({'start': self._io.pos()})
                    _t_fields = DataBundleInlineTable.RowField(self._io, self, self._root)
                    try:
                        _t_fields._read()
                    finally:
                        self.fields.append(_t_fields)
                    self._debug['fields']['arr'][len(self.fields) - 1]['end'] = self._io.pos()
                    i += 1

            self._debug['fields']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            for i in range(len(self.fields)):
                pass
                self.fields[i]._fetch_instances()



    class RowField(KaitaiStruct):
        """One field of a row, with its number as a name."""
        SEQ_FIELDS = ["wire"]
        def __init__(self, _io, _parent=None, _root=None):
            super(DataBundleInlineTable.RowField, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['wire']['start'] = self._io.pos()
            self.wire = data_bundle_field.DataBundleField(self._io)
            self.wire._read()
            self._debug['wire']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.wire._fetch_instances()

        @property
        def name(self):
            """The number of the field by its name."""
            if hasattr(self, '_m_name'):
                return self._m_name

            self._m_name = KaitaiStream.resolve_enum(DataBundleInlineTable.RowNames, self.wire.number)
            return getattr(self, '_m_name', None)



