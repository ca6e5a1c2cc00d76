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

class DataBundleAny(KaitaiStruct):
    """`google.protobuf.Any`: what the creator of a bundle attached to a file, with the
    name of its type.
    
    .. seealso::
       Source - https://protobuf.dev/programming-guides/proto3/#any
    """

    class Names(IntEnum):
        type_url = 1
        value = 2
    SEQ_FIELDS = ["fields"]
    def __init__(self, _io, _parent=None, _root=None):
        super(DataBundleAny, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['fields']['start'] = self._io.pos()
        self._debug['fields']['arr'] = []
        self.fields = []
        if not self._io.passes(self, 'fields', lambda i, io: DataBundleAny.Field(io, self, self._root)):
            i = 0
            while not self._io.is_eof():
                self._debug['fields']['arr'].append({'start': self._io.pos()})
                _t_fields = DataBundleAny.Field(self._io, self, self._root)
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
            super(DataBundleAny.Field, self).__init__(_io)
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

            self._m_name = KaitaiStream.resolve_enum(DataBundleAny.Names, self.wire.number)
            return getattr(self, '_m_name', None)

        @property
        def type_url(self):
            """The value as text; 10 is the key of field 1 with a value of bytes."""
            if hasattr(self, '_m_type_url'):
                return self._m_type_url

            if self.wire.key.value == 10:
                pass
                self._m_type_url = (self.wire.value.data.bytes).decode(u"UTF-8")

            return getattr(self, '_m_type_url', None)



