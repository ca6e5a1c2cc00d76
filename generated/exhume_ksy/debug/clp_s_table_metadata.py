# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class ClpSTableMetadata(KaitaiStruct):
    """Offset of each table. A table contains all records of one schema; tables are
    packed into streams that are compressed one by one.
    
    .. seealso::
       ArchiveWriter - https://github.com/y-scope/clp/tree/main/components/core/src/clp_s
    """
    SEQ_FIELDS = ["num_streams", "streams", "num_separate_column_schemas", "num_tables", "tables"]
    def __init__(self, _io, _parent=None, _root=None):
        super(ClpSTableMetadata, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['num_streams']['start'] = self._io.pos()
        self.num_streams = self._io.read_u8le()
        self._debug['num_streams']['end'] = self._io.pos()
        if not self.num_streams <= ((self._io.size() - self._io.pos()) // 16):
            raise kaitaistruct.ValidationGreaterThanError(((self._io.size() - self._io.pos()) // 16), self.num_streams, self._io, u"/seq/0")
        self._debug['streams']['start'] = self._io.pos()
        self._debug['streams']['arr'] = []
        self.streams = []
        if not self._io.passes(self, 'streams', lambda i, io: ClpSTableMetadata.Stream(io, self, self._root), times=self.num_streams):
            for i in range(self.num_streams):
                self._debug['streams']['arr'].append({'start': self._io.pos()})
                _t_streams = ClpSTableMetadata.Stream(self._io, self, self._root)
                try:
                    _t_streams._read()
                finally:
                    self.streams.append(_t_streams)
                self._debug['streams']['arr'][i]['end'] = self._io.pos()

        self._debug['streams']['end'] = self._io.pos()
        self._debug['num_separate_column_schemas']['start'] = self._io.pos()
        self.num_separate_column_schemas = self._io.read_u8le()
        self._debug['num_separate_column_schemas']['end'] = self._io.pos()
        self._debug['num_tables']['start'] = self._io.pos()
        self.num_tables = self._io.read_u8le()
        self._debug['num_tables']['end'] = self._io.pos()
        if not self.num_tables <= ((self._io.size() - self._io.pos()) // 28):
            raise kaitaistruct.ValidationGreaterThanError(((self._io.size() - self._io.pos()) // 28), self.num_tables, self._io, u"/seq/3")
        self._debug['tables']['start'] = self._io.pos()
        self._debug['tables']['arr'] = []
        self.tables = []
        if not self._io.passes(self, 'tables', lambda i, io: ClpSTableMetadata.Table(io, self, self._root), times=self.num_tables):
            for i in range(self.num_tables):
                self._debug['tables']['arr'].append({'start': self._io.pos()})
                _t_tables = ClpSTableMetadata.Table(self._io, self, self._root)
                try:
                    _t_tables._read()
                finally:
                    self.tables.append(_t_tables)
                self._debug['tables']['arr'][i]['end'] = self._io.pos()

        self._debug['tables']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass
        for i in range(len(self.streams)):
            pass
            self.streams[i]._fetch_instances()

        for i in range(len(self.tables)):
            pass
            self.tables[i]._fetch_instances()


    class Stream(KaitaiStruct):
        """One packed stream."""
        SEQ_FIELDS = ["ofs_stream", "len_uncompressed"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpSTableMetadata.Stream, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['ofs_stream']['start'] = self._io.pos()
            self.ofs_stream = self._io.read_u8le()
            self._debug['ofs_stream']['end'] = self._io.pos()
            self._debug['len_uncompressed']['start'] = self._io.pos()
            self.len_uncompressed = self._io.read_u8le()
            self._debug['len_uncompressed']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    class Table(KaitaiStruct):
        """One table."""
        SEQ_FIELDS = ["stream_id", "ofs_table", "schema_id", "num_messages"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpSTableMetadata.Table, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['stream_id']['start'] = self._io.pos()
            self.stream_id = self._io.read_u8le()
            self._debug['stream_id']['end'] = self._io.pos()
            self._debug['ofs_table']['start'] = self._io.pos()
            self.ofs_table = self._io.read_u8le()
            self._debug['ofs_table']['end'] = self._io.pos()
            self._debug['schema_id']['start'] = self._io.pos()
            self.schema_id = self._io.read_s4le()
            self._debug['schema_id']['end'] = self._io.pos()
            self._debug['num_messages']['start'] = self._io.pos()
            self.num_messages = self._io.read_u8le()
            self._debug['num_messages']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass



