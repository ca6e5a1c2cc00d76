# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from . import ark_rbuf


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class ArkSplit(KaitaiStruct):
    """Holds messages of one column of an Ark log: a header, an index in time order
    and the bytes of the messages, in any order and without framing. The
    manifest of the log says what the objects are and how they are compressed.
    
    Writers reserve space for the header and for an index of a fixed capacity
    before the messages, so the index usually starts at 1024.
    
    .. seealso::
       Split File Format - https://ark.tbdrobotics.com/docs/overviews/logging/format/
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(ArkSplit, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.header = ArkSplit.FileHeader(self._io, self, self._root)


    def _fetch_instances(self):
        pass
        self.header._fetch_instances()
        _ = self.index
        if hasattr(self, '_m_index'):
            pass
            for i in range(len(self._m_index)):
                pass
                self._m_index[i]._fetch_instances()


        _ = self.index_bytes
        if hasattr(self, '_m_index_bytes'):
            pass


    class EntryList(KaitaiStruct):
        """The bytes of the index on their own, as a section of the file."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkSplit.EntryList, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.entries = []
            i = 0
            while not self._io.is_eof():
                self.entries.append(ArkSplit.IndexEntry(self._io, self, self._root))
                i += 1



        def _fetch_instances(self):
            pass
            for i in range(len(self.entries)):
                pass
                self.entries[i]._fetch_instances()



    class FileHeader(KaitaiStruct):
        """The object ark::logging::SplitFileHeader at the start of the file.
        
        .. seealso::
           Split File Format - https://ark.tbdrobotics.com/docs/overviews/logging/format/
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkSplit.FileHeader, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.header = ark_rbuf.ArkRbuf.ObjectHeader(self._io)
            self.format_version = self._io.read_u2le()
            self.split_identifier = ark_rbuf.ArkRbuf.Guid(self._io)
            self.ofs_index = self._io.read_u4le()
            self.num_indexed_items = self._io.read_u4le()
            if not self.num_indexed_items <= 238609294:
                raise kaitaistruct.ValidationGreaterThanError(238609294, self.num_indexed_items, self._io, u"/types/file_header/seq/4")
            self.num_maximum_items = self._io.read_u4le()
            self.num_type_mappings = self._io.read_u4le()
            if not self.num_type_mappings <= 256:
                raise kaitaistruct.ValidationGreaterThanError(256, self.num_type_mappings, self._io, u"/types/file_header/seq/6")
            self.type_mappings = []
            for i in range(self.num_type_mappings):
                self.type_mappings.append(ArkSplit.TypeMapping(self._io, self, self._root))

            if self.header.groups_follow:
                pass
                self.groups = ark_rbuf.ArkRbuf.GroupList(self._io)



        def _fetch_instances(self):
            pass
            self.header._fetch_instances()
            self.split_identifier._fetch_instances()
            for i in range(len(self.type_mappings)):
                pass
                self.type_mappings[i]._fetch_instances()

            if self.header.groups_follow:
                pass
                self.groups._fetch_instances()



    class IndexEntry(KaitaiStruct):
        """The packed C structure SplitIndexEntry, 18 bytes."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkSplit.IndexEntry, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.timestamp_ns = self._io.read_u8le()
            self.ofs_data = self._io.read_u4le()
            self.len_data = self._io.read_u4le()
            self.object_identifier = self._io.read_u1()
            self.flags = self._io.read_u1()


        def _fetch_instances(self):
            pass
            _ = self.data
            if hasattr(self, '_m_data'):
                pass


        @property
        def data(self):
            """The message as stored."""
            if hasattr(self, '_m_data'):
                return self._m_data

            io = self._root._io
            _pos = io.pos()
            io.seek(self.ofs_data)
            self._m_data = io.read_bytes(self.len_data)
            io.seek(_pos)
            return getattr(self, '_m_data', None)


    class TypeMapping(KaitaiStruct):
        """The object ark::logging::SplitTypeMappingInfo."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkSplit.TypeMapping, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.header = ark_rbuf.ArkRbuf.ObjectHeader(self._io)
            self.object_identifier = ark_rbuf.ArkRbuf.Guid(self._io)
            self.short_identifier = self._io.read_u1()
            if self.header.groups_follow:
                pass
                self.groups = ark_rbuf.ArkRbuf.GroupList(self._io)



        def _fetch_instances(self):
            pass
            self.header._fetch_instances()
            self.object_identifier._fetch_instances()
            if self.header.groups_follow:
                pass
                self.groups._fetch_instances()



    @property
    def index(self):
        """The messages of this file in time order."""
        if hasattr(self, '_m_index'):
            return self._m_index

        _pos = self._io.pos()
        self._io.seek(self.header.ofs_index)
        self._m_index = []
        for i in range(self.header.num_indexed_items):
            self._m_index.append(ArkSplit.IndexEntry(self._io, self, self._root))

        self._io.seek(_pos)
        return getattr(self, '_m_index', None)

    @property
    def index_bytes(self):
        """The same index, for readers that take it as one array."""
        if hasattr(self, '_m_index_bytes'):
            return self._m_index_bytes

        _pos = self._io.pos()
        self._io.seek(self.header.ofs_index)
        self._m_index_bytes = self._io.read_bytes(self.header.num_indexed_items * 18)
        self._io.seek(_pos)
        return getattr(self, '_m_index_bytes', None)


