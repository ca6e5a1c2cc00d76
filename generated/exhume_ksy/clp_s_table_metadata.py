# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class ClpSTableMetadata(KaitaiStruct):
    """Offset of each table. A table contains all records of one schema; tables are
    packed into streams that are compressed one by one.
    
    .. seealso::
       ArchiveWriter - https://github.com/y-scope/clp/tree/main/components/core/src/clp_s
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(ClpSTableMetadata, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.num_streams = self._io.read_u8le()
        if not self.num_streams <= ((self._io.size() - self._io.pos()) // 16):
            raise kaitaistruct.ValidationGreaterThanError(((self._io.size() - self._io.pos()) // 16), self.num_streams, self._io, u"/seq/0")
        self.streams = []
        for i in range(self.num_streams):
            self.streams.append(ClpSTableMetadata.Stream(self._io, self, self._root))

        self.num_separate_column_schemas = self._io.read_u8le()
        self.num_tables = self._io.read_u8le()
        if not self.num_tables <= ((self._io.size() - self._io.pos()) // 28):
            raise kaitaistruct.ValidationGreaterThanError(((self._io.size() - self._io.pos()) // 28), self.num_tables, self._io, u"/seq/3")
        self.tables = []
        for i in range(self.num_tables):
            self.tables.append(ClpSTableMetadata.Table(self._io, self, self._root))



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
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpSTableMetadata.Stream, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.ofs_stream = self._io.read_u8le()
            self.len_uncompressed = self._io.read_u8le()


        def _fetch_instances(self):
            pass


    class Table(KaitaiStruct):
        """One table."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpSTableMetadata.Table, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.stream_id = self._io.read_u8le()
            self.ofs_table = self._io.read_u8le()
            self.schema_id = self._io.read_s4le()
            self.num_messages = self._io.read_u8le()


        def _fetch_instances(self):
            pass



