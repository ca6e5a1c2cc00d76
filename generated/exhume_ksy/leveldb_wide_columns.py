# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from . import leveldb_bytes
from . import leveldb_varint


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class LeveldbWideColumns(KaitaiStruct):
    """The value of an entry of type `wide_column_entity`: named columns, sorted by
    name. First come all names, each with the length of its value, then all values.
    The column with the empty name is what a reader gets that requests one value.
    
    .. seealso::
       Source - https://github.com/facebook/rocksdb/blob/main/db/wide/wide_column_serialization.h
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(LeveldbWideColumns, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.version = leveldb_varint.LeveldbVarint(self._io)
        _ = self.version
        if not _.value == 1:
            raise kaitaistruct.ValidationExprError(self.version, self._io, u"/seq/0")
        self.num_columns = leveldb_varint.LeveldbVarint(self._io)
        _ = self.num_columns
        if not _.value <= (self._io.size() - self._io.pos()):
            raise kaitaistruct.ValidationExprError(self.num_columns, self._io, u"/seq/1")
        self.columns = []
        for i in range(self.num_columns.value):
            self.columns.append(LeveldbWideColumns.Column(self._io, self, self._root))

        self.values = []
        for i in range(self.num_columns.value):
            self.values.append(LeveldbWideColumns.Value(i, self._io, self, self._root))



    def _fetch_instances(self):
        pass
        self.version._fetch_instances()
        self.num_columns._fetch_instances()
        for i in range(len(self.columns)):
            pass
            self.columns[i]._fetch_instances()

        for i in range(len(self.values)):
            pass
            self.values[i]._fetch_instances()


    class Column(KaitaiStruct):
        """Name of a column, and how long its value is."""
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbWideColumns.Column, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.name = leveldb_bytes.LeveldbBytes(self._io)
            self.len_value = leveldb_varint.LeveldbVarint(self._io)


        def _fetch_instances(self):
            pass
            self.name._fetch_instances()
            self.len_value._fetch_instances()


    class Value(KaitaiStruct):
        """Value of the column with the same position."""
        def __init__(self, idx, _io, _parent=None, _root=None):
            super(LeveldbWideColumns.Value, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.idx = idx
            self._read()

        def _read(self):
            self.data = self._io.read_bytes(self._parent.columns[self.idx].len_value.value)


        def _fetch_instances(self):
            pass



