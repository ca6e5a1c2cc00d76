# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from . import leveldb_varint
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class LeveldbBytes(KaitaiStruct):
    """A byte string preceded by its length ("length-prefixed slice").
    
    .. seealso::
       GetLengthPrefixedSlice - https://github.com/google/leveldb/blob/main/util/coding.cc
    """
    SEQ_FIELDS = ["len_data", "data"]
    def __init__(self, _io, _parent=None, _root=None):
        super(LeveldbBytes, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['len_data']['start'] = self._io.pos()
        self.len_data = leveldb_varint.LeveldbVarint(self._io)
        self.len_data._read()
        self._debug['len_data']['end'] = self._io.pos()
        _ = self.len_data
        if not _.value <= (self._io.size() - self._io.pos()):
            raise kaitaistruct.ValidationExprError(self.len_data, self._io, u"/seq/0")
        self._debug['data']['start'] = self._io.pos()
        self.data = self._io.read_bytes(self.len_data.value)
        self._debug['data']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass
        self.len_data._fetch_instances()


