# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class LeveldbInternalKey(KaitaiStruct):
    """The key under which tables and manifests file an entry: the key the user gave,
    then eight bytes that hold the sequence number of the write and what it was.
    
    Sorted by user key ascending, then by sequence descending, so that the newest
    version of a key comes first.
    
    .. seealso::
       Source - https://github.com/google/leveldb/blob/main/db/dbformat.h
    """

    class ValueTypes(IntEnum):
        deletion = 0
        value = 1
        merge = 2
        single_deletion = 7
        range_deletion = 15
        blob_index = 17
        deletion_with_timestamp = 20
        wide_column_entity = 22
        value_preferred_seqno = 24
    SEQ_FIELDS = ["user_key", "value_type", "sequence_lo", "sequence_hi", "sequence_top"]
    def __init__(self, _io, _parent=None, _root=None):
        super(LeveldbInternalKey, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['user_key']['start'] = self._io.pos()
        self.user_key = self._io.read_bytes(self._io.size() - 8)
        self._debug['user_key']['end'] = self._io.pos()
        self._debug['value_type']['start'] = self._io.pos()
        self.value_type = KaitaiStream.resolve_enum(LeveldbInternalKey.ValueTypes, self._io.read_u1())
        self._debug['value_type']['end'] = self._io.pos()
        self._debug['sequence_lo']['start'] = self._io.pos()
        self.sequence_lo = self._io.read_u4le()
        self._debug['sequence_lo']['end'] = self._io.pos()
        self._debug['sequence_hi']['start'] = self._io.pos()
        self.sequence_hi = self._io.read_u2le()
        self._debug['sequence_hi']['end'] = self._io.pos()
        self._debug['sequence_top']['start'] = self._io.pos()
        self.sequence_top = self._io.read_u1()
        self._debug['sequence_top']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass

    @property
    def sequence(self):
        """Number of the write, growing by one per operation in LevelDB and RocksDB,
        by one per batch in dacha.
        """
        if hasattr(self, '_m_sequence'):
            return self._m_sequence

        self._m_sequence = ((self.sequence_lo + self.sequence_hi * 4294967296) + self.sequence_top * 281474976710656)
        return getattr(self, '_m_sequence', None)


