# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from . import leveldb_bytes
from . import leveldb_varint
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class LeveldbWideColumns(KaitaiStruct):
    """The value of an entry of type `wide_column_entity`: named columns, sorted by
    name. First come all names, each with the length of its value, then all values.
    The column with the empty name is what a reader gets that requests one value.
    
    .. seealso::
       Source - https://github.com/facebook/rocksdb/blob/main/db/wide/wide_column_serialization.h
    """
    SEQ_FIELDS = ["version", "num_columns", "columns", "values"]
    def __init__(self, _io, _parent=None, _root=None):
        super(LeveldbWideColumns, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['version']['start'] = self._io.pos()
        self.version = leveldb_varint.LeveldbVarint(self._io)
        self.version._read()
        self._debug['version']['end'] = self._io.pos()
        _ = self.version
        if not _.value == 1:
            raise kaitaistruct.ValidationExprError(self.version, self._io, u"/seq/0")
        self._debug['num_columns']['start'] = self._io.pos()
        self.num_columns = leveldb_varint.LeveldbVarint(self._io)
        self.num_columns._read()
        self._debug['num_columns']['end'] = self._io.pos()
        _ = self.num_columns
        if not _.value <= (self._io.size() - self._io.pos()):
            raise kaitaistruct.ValidationExprError(self.num_columns, self._io, u"/seq/1")
        self._debug['columns']['start'] = self._io.pos()
        self._debug['columns']['arr'] = []
        self.columns = []
        if not self._io.passes(self, 'columns', lambda i, io: LeveldbWideColumns.Column(io, self, self._root), times=self.num_columns.value):
            for i in range(self.num_columns.value):
                self._debug['columns']['arr'].append({'start': self._io.pos()})
                _t_columns = LeveldbWideColumns.Column(self._io, self, self._root)
                try:
                    _t_columns._read()
                finally:
                    self.columns.append(_t_columns)
                self._debug['columns']['arr'][i]['end'] = self._io.pos()

        self._debug['columns']['end'] = self._io.pos()
        self._debug['values']['start'] = self._io.pos()
        self._debug['values']['arr'] = []
        self.values = []
        if not self._io.passes(self, 'values', lambda i, io: LeveldbWideColumns.Value(i, io, self, self._root), indexed=True, times=self.num_columns.value):
            for i in range(self.num_columns.value):
                self._debug['values']['arr'].append({'start': self._io.pos()})
                _t_values = LeveldbWideColumns.Value(i, self._io, self, self._root)
                try:
                    _t_values._read()
                finally:
                    self.values.append(_t_values)
                self._debug['values']['arr'][i]['end'] = self._io.pos()

        self._debug['values']['end'] = self._io.pos()


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
        SEQ_FIELDS = ["name", "len_value"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbWideColumns.Column, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['name']['start'] = self._io.pos()
            self.name = leveldb_bytes.LeveldbBytes(self._io)
            self.name._read()
            self._debug['name']['end'] = self._io.pos()
            self._debug['len_value']['start'] = self._io.pos()
            self.len_value = leveldb_varint.LeveldbVarint(self._io)
            self.len_value._read()
            self._debug['len_value']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.name._fetch_instances()
            self.len_value._fetch_instances()


    class Value(KaitaiStruct):
        """Value of the column with the same position."""
        SEQ_FIELDS = ["data"]
        def __init__(self, idx, _io, _parent=None, _root=None):
            super(LeveldbWideColumns.Value, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.idx = idx
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['data']['start'] = self._io.pos()
            self.data = self._io.read_bytes(self._parent.columns[self.idx].len_value.value)
            self._debug['data']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass



