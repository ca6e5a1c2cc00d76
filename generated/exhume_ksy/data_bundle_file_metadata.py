# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from . import data_bundle_field
from . import data_bundle_any
from enum import IntEnum


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class DataBundleFileMetadata(KaitaiStruct):
    """`BundleFileMetadata`, value of a `FILE_METADATA` row of the index, a Protocol
    Buffers message.
    
    .. seealso::
       Source - https://github.com/dennisss/dacha/tree/master/pkg/bundle
    """

    class FileTypes(IntEnum):
        unknown = 0
        regular_file = 1
        directory = 2

    class Names(IntEnum):
        file_type = 1
        shard_index = 2
        shard_uncompressed_offset = 3
        uncompressed_size = 4
        crc32c = 5
        user_data = 6
    def __init__(self, _io, _parent=None, _root=None):
        super(DataBundleFileMetadata, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.fields = []
        i = 0
        while not self._io.is_eof():
            self.fields.append(DataBundleFileMetadata.Field(self._io, self, self._root))
            i += 1



    def _fetch_instances(self):
        pass
        for i in range(len(self.fields)):
            pass
            self.fields[i]._fetch_instances()


    class Field(KaitaiStruct):
        """One field, with its number as a name."""
        def __init__(self, _io, _parent=None, _root=None):
            super(DataBundleFileMetadata.Field, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.wire = data_bundle_field.DataBundleField(self._io)


        def _fetch_instances(self):
            pass
            self.wire._fetch_instances()
            _ = self.user_data
            if hasattr(self, '_m_user_data'):
                pass
                self._m_user_data._fetch_instances()


        @property
        def file_type(self):
            """The value by its name."""
            if hasattr(self, '_m_file_type'):
                return self._m_file_type

            if self.wire.key.value == 8:
                pass
                self._m_file_type = KaitaiStream.resolve_enum(DataBundleFileMetadata.FileTypes, self.wire.value.value)

            return getattr(self, '_m_file_type', None)

        @property
        def name(self):
            """The number of the field by its name."""
            if hasattr(self, '_m_name'):
                return self._m_name

            self._m_name = KaitaiStream.resolve_enum(DataBundleFileMetadata.Names, self.wire.number)
            return getattr(self, '_m_name', None)

        @property
        def user_data(self):
            """The message in it; 50 is the key of field 6 with a value of bytes."""
            if hasattr(self, '_m_user_data'):
                return self._m_user_data

            if self.wire.key.value == 50:
                pass
                io = self.wire.value.data._io
                _pos = io.pos()
                io.seek(0)
                self._raw__m_user_data = io.read_bytes_full()
                _io__raw__m_user_data = KaitaiStream(BytesIO(self._raw__m_user_data))
                self._m_user_data = data_bundle_any.DataBundleAny(_io__raw__m_user_data)
                io.seek(_pos)

            return getattr(self, '_m_user_data', None)



