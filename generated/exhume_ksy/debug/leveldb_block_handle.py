# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from . import leveldb_varint
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class LeveldbBlockHandle(KaitaiStruct):
    """Offset and length of a block in its table. The length excludes the five bytes of
    compression and checksum that follow every block.
    
    .. seealso::
       Source - https://github.com/google/leveldb/blob/main/doc/table_format.md
    """
    SEQ_FIELDS = ["ofs_block", "len_block"]
    def __init__(self, _io, _parent=None, _root=None):
        super(LeveldbBlockHandle, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['ofs_block']['start'] = self._io.pos()
        self.ofs_block = leveldb_varint.LeveldbVarint(self._io)
        self.ofs_block._read()
        self._debug['ofs_block']['end'] = self._io.pos()
        _ = self.ofs_block
        if not _.value <= 9223372036854775807:
            raise kaitaistruct.ValidationExprError(self.ofs_block, self._io, u"/seq/0")
        self._debug['len_block']['start'] = self._io.pos()
        self.len_block = leveldb_varint.LeveldbVarint(self._io)
        self.len_block._read()
        self._debug['len_block']['end'] = self._io.pos()
        _ = self.len_block
        if not _.value <= 9223372036854775807:
            raise kaitaistruct.ValidationExprError(self.len_block, self._io, u"/seq/1")


    def _fetch_instances(self):
        pass
        self.ofs_block._fetch_instances()
        self.len_block._fetch_instances()


