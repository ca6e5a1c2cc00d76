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

class DataBundleConfig(KaitaiStruct):
    """Value of the one `BUNDLE_CONFIG` row of the index, a Protocol Buffers message.
    
    Upstream left the message out of its code, and the compression method out of
    the message; field 4 is where this project writes it.
    
    .. seealso::
       Source - https://github.com/dennisss/dacha/tree/master/pkg/bundle
    """

    class CompressionMethods(IntEnum):
        unknown = 0
        none = 1
        snappy = 2
        zlib = 3

    class Names(IntEnum):
        version_magic = 1
        block_size = 2
        record_size = 3
        compression_method = 4
        raw_packed = 6
    SEQ_FIELDS = ["fields"]
    def __init__(self, _io, _parent=None, _root=None):
        super(DataBundleConfig, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['fields']['start'] = self._io.pos()
        self._debug['fields']['arr'] = []
        self.fields = []
        if not self._io.passes(self, 'fields', lambda i, io: DataBundleConfig.Field(io, self, self._root)):
            i = 0
            while not self._io.is_eof():
                self._debug['fields']['arr'].append({'start': self._io.pos()})
                _t_fields = DataBundleConfig.Field(self._io, self, self._root)
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
            super(DataBundleConfig.Field, self).__init__(_io)
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
        def compression_method(self):
            """The value by its name."""
            if hasattr(self, '_m_compression_method'):
                return self._m_compression_method

            if self.wire.key.value == 32:
                pass
                self._m_compression_method = KaitaiStream.resolve_enum(DataBundleConfig.CompressionMethods, self.wire.value.value)

            return getattr(self, '_m_compression_method', None)

        @property
        def name(self):
            """The number of the field by its name."""
            if hasattr(self, '_m_name'):
                return self._m_name

            self._m_name = KaitaiStream.resolve_enum(DataBundleConfig.Names, self.wire.number)
            return getattr(self, '_m_name', None)

        @property
        def version_magic(self):
            """The value as text; 10 is the key of field 1 with a value of bytes."""
            if hasattr(self, '_m_version_magic'):
                return self._m_version_magic

            if self.wire.key.value == 10:
                pass
                self._m_version_magic = (self.wire.value.data.bytes).decode(u"UTF-8")

            return getattr(self, '_m_version_magic', None)



