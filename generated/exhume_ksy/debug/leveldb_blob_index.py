# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from . import leveldb_varint
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class LeveldbBlobIndex(KaitaiStruct):
    """The value of an entry of type `blob_index`: where the value itself is. The
    forms with a time of expiry are those of the old BlobDB, which kept its values
    next to the database.
    
    .. seealso::
       Source - https://github.com/facebook/rocksdb/blob/main/db/blob/blob_index.h
    """

    class Kinds(IntEnum):
        inlined_ttl = 0
        blob = 1
        blob_ttl = 2
    SEQ_FIELDS = ["kind", "expiration", "inlined", "file_number", "ofs_value", "len_value", "compression"]
    def __init__(self, _io, _parent=None, _root=None):
        super(LeveldbBlobIndex, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['kind']['start'] = self._io.pos()
        self.kind = KaitaiStream.resolve_enum(LeveldbBlobIndex.Kinds, self._io.read_u1())
        self._debug['kind']['end'] = self._io.pos()
        if not isinstance(self.kind, LeveldbBlobIndex.Kinds):
            raise kaitaistruct.ValidationNotInEnumError(self.kind, self._io, u"/seq/0")
        if self.kind != LeveldbBlobIndex.Kinds.blob:
            pass
            self._debug['expiration']['start'] = self._io.pos()
            self.expiration = leveldb_varint.LeveldbVarint(self._io)
            self.expiration._read()
            self._debug['expiration']['end'] = self._io.pos()

        if self.kind == LeveldbBlobIndex.Kinds.inlined_ttl:
            pass
            self._debug['inlined']['start'] = self._io.pos()
            self.inlined = self._io.read_bytes_full()
            self._debug['inlined']['end'] = self._io.pos()

        if self.kind != LeveldbBlobIndex.Kinds.inlined_ttl:
            pass
            self._debug['file_number']['start'] = self._io.pos()
            self.file_number = leveldb_varint.LeveldbVarint(self._io)
            self.file_number._read()
            self._debug['file_number']['end'] = self._io.pos()

        if self.kind != LeveldbBlobIndex.Kinds.inlined_ttl:
            pass
            self._debug['ofs_value']['start'] = self._io.pos()
            self.ofs_value = leveldb_varint.LeveldbVarint(self._io)
            self.ofs_value._read()
            self._debug['ofs_value']['end'] = self._io.pos()

        if self.kind != LeveldbBlobIndex.Kinds.inlined_ttl:
            pass
            self._debug['len_value']['start'] = self._io.pos()
            self.len_value = leveldb_varint.LeveldbVarint(self._io)
            self.len_value._read()
            self._debug['len_value']['end'] = self._io.pos()

        if self.kind != LeveldbBlobIndex.Kinds.inlined_ttl:
            pass
            self._debug['compression']['start'] = self._io.pos()
            self.compression = self._io.read_u1()
            self._debug['compression']['end'] = self._io.pos()



    def _fetch_instances(self):
        pass
        if self.kind != LeveldbBlobIndex.Kinds.blob:
            pass
            self.expiration._fetch_instances()

        if self.kind == LeveldbBlobIndex.Kinds.inlined_ttl:
            pass

        if self.kind != LeveldbBlobIndex.Kinds.inlined_ttl:
            pass
            self.file_number._fetch_instances()

        if self.kind != LeveldbBlobIndex.Kinds.inlined_ttl:
            pass
            self.ofs_value._fetch_instances()

        if self.kind != LeveldbBlobIndex.Kinds.inlined_ttl:
            pass
            self.len_value._fetch_instances()

        if self.kind != LeveldbBlobIndex.Kinds.inlined_ttl:
            pass



