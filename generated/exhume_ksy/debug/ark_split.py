# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from . import ark_rbuf
import collections


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
    SEQ_FIELDS = ["header"]
    def __init__(self, _io, _parent=None, _root=None):
        super(ArkSplit, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['header']['start'] = self._io.pos()
        self.header = ArkSplit.FileHeader(self._io, self, self._root)
        self.header._read()
        self._debug['header']['end'] = self._io.pos()


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
        SEQ_FIELDS = ["entries"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkSplit.EntryList, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['entries']['start'] = self._io.pos()
            self._debug['entries']['arr'] = []
            self.entries = []
            if not self._io.passes(self, 'entries', lambda i, io: ArkSplit.IndexEntry(io, self, self._root)):
                i = 0
                while not self._io.is_eof():
                    self._debug['entries']['arr'].append({'start': self._io.pos()})
                    _t_entries = ArkSplit.IndexEntry(self._io, self, self._root)
                    try:
                        _t_entries._read()
                    finally:
                        self.entries.append(_t_entries)
                    self._debug['entries']['arr'][len(self.entries) - 1]['end'] = self._io.pos()
                    i += 1

            self._debug['entries']['end'] = self._io.pos()


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
        SEQ_FIELDS = ["header", "format_version", "split_identifier", "ofs_index", "num_indexed_items", "num_maximum_items", "num_type_mappings", "type_mappings", "groups"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkSplit.FileHeader, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['header']['start'] = self._io.pos()
            self.header = ark_rbuf.ArkRbuf.ObjectHeader(self._io)
            self.header._read()
            self._debug['header']['end'] = self._io.pos()
            self._debug['format_version']['start'] = self._io.pos()
            self.format_version = self._io.read_u2le()
            self._debug['format_version']['end'] = self._io.pos()
            self._debug['split_identifier']['start'] = self._io.pos()
            self.split_identifier = ark_rbuf.ArkRbuf.Guid(self._io)
            self.split_identifier._read()
            self._debug['split_identifier']['end'] = self._io.pos()
            self._debug['ofs_index']['start'] = self._io.pos()
            self.ofs_index = self._io.read_u4le()
            self._debug['ofs_index']['end'] = self._io.pos()
            self._debug['num_indexed_items']['start'] = self._io.pos()
            self.num_indexed_items = self._io.read_u4le()
            self._debug['num_indexed_items']['end'] = self._io.pos()
            if not self.num_indexed_items <= 238609294:
                raise kaitaistruct.ValidationGreaterThanError(238609294, self.num_indexed_items, self._io, u"/types/file_header/seq/4")
            self._debug['num_maximum_items']['start'] = self._io.pos()
            self.num_maximum_items = self._io.read_u4le()
            self._debug['num_maximum_items']['end'] = self._io.pos()
            self._debug['num_type_mappings']['start'] = self._io.pos()
            self.num_type_mappings = self._io.read_u4le()
            self._debug['num_type_mappings']['end'] = self._io.pos()
            if not self.num_type_mappings <= 256:
                raise kaitaistruct.ValidationGreaterThanError(256, self.num_type_mappings, self._io, u"/types/file_header/seq/6")
            self._debug['type_mappings']['start'] = self._io.pos()
            self._debug['type_mappings']['arr'] = []
            self.type_mappings = []
            if not self._io.passes(self, 'type_mappings', lambda i, io: ArkSplit.TypeMapping(io, self, self._root), times=self.num_type_mappings):
                for i in range(self.num_type_mappings):
                    self._debug['type_mappings']['arr'].append({'start': self._io.pos()})
                    _t_type_mappings = ArkSplit.TypeMapping(self._io, self, self._root)
                    try:
                        _t_type_mappings._read()
                    finally:
                        self.type_mappings.append(_t_type_mappings)
                    self._debug['type_mappings']['arr'][i]['end'] = self._io.pos()

            self._debug['type_mappings']['end'] = self._io.pos()
            if self.header.groups_follow:
                pass
                self._debug['groups']['start'] = self._io.pos()
                self.groups = ark_rbuf.ArkRbuf.GroupList(self._io)
                self.groups._read()
                self._debug['groups']['end'] = self._io.pos()



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
        SEQ_FIELDS = ["timestamp_ns", "ofs_data", "len_data", "object_identifier", "flags"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkSplit.IndexEntry, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['timestamp_ns']['start'] = self._io.pos()
            self.timestamp_ns = self._io.read_u8le()
            self._debug['timestamp_ns']['end'] = self._io.pos()
            self._debug['ofs_data']['start'] = self._io.pos()
            self.ofs_data = self._io.read_u4le()
            self._debug['ofs_data']['end'] = self._io.pos()
            self._debug['len_data']['start'] = self._io.pos()
            self.len_data = self._io.read_u4le()
            self._debug['len_data']['end'] = self._io.pos()
            self._debug['object_identifier']['start'] = self._io.pos()
            self.object_identifier = self._io.read_u1()
            self._debug['object_identifier']['end'] = self._io.pos()
            self._debug['flags']['start'] = self._io.pos()
            self.flags = self._io.read_u1()
            self._debug['flags']['end'] = self._io.pos()


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
            self._debug['_m_data']['start'] = io.pos()
            self._m_data = io.read_bytes(self.len_data)
            self._debug['_m_data']['end'] = io.pos()
            io.seek(_pos)
            return getattr(self, '_m_data', None)


    class TypeMapping(KaitaiStruct):
        """The object ark::logging::SplitTypeMappingInfo."""
        SEQ_FIELDS = ["header", "object_identifier", "short_identifier", "groups"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkSplit.TypeMapping, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['header']['start'] = self._io.pos()
            self.header = ark_rbuf.ArkRbuf.ObjectHeader(self._io)
            self.header._read()
            self._debug['header']['end'] = self._io.pos()
            self._debug['object_identifier']['start'] = self._io.pos()
            self.object_identifier = ark_rbuf.ArkRbuf.Guid(self._io)
            self.object_identifier._read()
            self._debug['object_identifier']['end'] = self._io.pos()
            self._debug['short_identifier']['start'] = self._io.pos()
            self.short_identifier = self._io.read_u1()
            self._debug['short_identifier']['end'] = self._io.pos()
            if self.header.groups_follow:
                pass
                self._debug['groups']['start'] = self._io.pos()
                self.groups = ark_rbuf.ArkRbuf.GroupList(self._io)
                self.groups._read()
                self._debug['groups']['end'] = self._io.pos()



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
        self._debug['_m_index']['start'] = self._io.pos()
        self._debug['_m_index']['arr'] = []
        self._m_index = []
        if not self._io.passes(self, '_m_index', lambda i, io: ArkSplit.IndexEntry(io, self, self._root), times=self.header.num_indexed_items):
            for i in range(self.header.num_indexed_items):
                self._debug['_m_index']['arr'].append({'start': self._io.pos()})
                _t__m_index = ArkSplit.IndexEntry(self._io, self, self._root)
                try:
                    _t__m_index._read()
                finally:
                    self._m_index.append(_t__m_index)
                self._debug['_m_index']['arr'][i]['end'] = self._io.pos()

        self._debug['_m_index']['end'] = self._io.pos()
        self._io.seek(_pos)
        return getattr(self, '_m_index', None)

    @property
    def index_bytes(self):
        """The same index, for readers that take it as one array."""
        if hasattr(self, '_m_index_bytes'):
            return self._m_index_bytes

        _pos = self._io.pos()
        self._io.seek(self.header.ofs_index)
        self._debug['_m_index_bytes']['start'] = self._io.pos()
        self._m_index_bytes = self._io.read_bytes(self.header.num_indexed_items * 18)
        self._debug['_m_index_bytes']['end'] = self._io.pos()
        self._io.seek(_pos)
        return getattr(self, '_m_index_bytes', None)


