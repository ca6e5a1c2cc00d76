# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from . import data_bundle_field
from . import data_bundle_any
from enum import IntEnum
import collections


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
    SEQ_FIELDS = ["fields"]
    def __init__(self, _io, _parent=None, _root=None):
        super(DataBundleFileMetadata, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['fields']['start'] = self._io.pos()
        self._debug['fields']['arr'] = []
        self.fields = []
        if not self._io.passes(self, 'fields', lambda i, io: DataBundleFileMetadata.Field(io, self, self._root)):
            i = 0
            while not self._io.is_eof():
                self._debug['fields']['arr'].append({'start': self._io.pos()})
                _t_fields = DataBundleFileMetadata.Field(self._io, self, self._root)
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
            super(DataBundleFileMetadata.Field, self).__init__(_io)
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
                self._debug['_m_user_data']['start'] = io.pos()
                self._raw__m_user_data = io.read_bytes_full()
                _io__raw__m_user_data = KaitaiStream(BytesIO(self._raw__m_user_data))
                self._m_user_data = data_bundle_any.DataBundleAny(_io__raw__m_user_data)
                self._m_user_data._read()
                self._debug['_m_user_data']['end'] = io.pos()
                io.seek(_pos)

            return getattr(self, '_m_user_data', None)



