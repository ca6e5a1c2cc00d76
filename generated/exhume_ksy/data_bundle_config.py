# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from . import data_bundle_field
from enum import IntEnum


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
    def __init__(self, _io, _parent=None, _root=None):
        super(DataBundleConfig, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.fields = []
        i = 0
        while not self._io.is_eof():
            self.fields.append(DataBundleConfig.Field(self._io, self, self._root))
            i += 1



    def _fetch_instances(self):
        pass
        for i in range(len(self.fields)):
            pass
            self.fields[i]._fetch_instances()


    class Field(KaitaiStruct):
        """One field, with its number as a name."""
        def __init__(self, _io, _parent=None, _root=None):
            super(DataBundleConfig.Field, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.wire = data_bundle_field.DataBundleField(self._io)


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



