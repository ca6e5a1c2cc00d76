# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from . import leveldb_log
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class LeveldbManifest(KaitaiStruct):
    """A manifest (`MANIFEST-NNNNNN`): version edits, each a record in the framing of
    `leveldb_log`. Replayed in order they give the files that make up the database.
    
    .. seealso::
       Source - https://github.com/google/leveldb/blob/main/doc/log_format.md
    """
    SEQ_FIELDS = []
    def __init__(self, _io, _parent=None, _root=None):
        super(LeveldbManifest, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        pass


    def _fetch_instances(self):
        pass
        _ = self.blocks
        if hasattr(self, '_m_blocks'):
            pass
            for i in range(len(self._m_blocks)):
                pass
                self._m_blocks[i]._fetch_instances()



    @property
    def blocks(self):
        if hasattr(self, '_m_blocks'):
            return self._m_blocks

        if self._io.size() > 0:
            pass
            _pos = self._io.pos()
            self._io.seek(0)
            self._debug['_m_blocks']['start'] = self._io.pos()
            self._debug['_m_blocks']['arr'] = []
            self._raw__m_blocks = []
            self._m_blocks = []
            if not self._io.passes(self, '_m_blocks', lambda i, io: leveldb_log.LeveldbLog.Block(True, io), given=(True,), size=lambda: ((self._io.size() - self._io.pos()) if self._io.size() - self._io.pos() < 32768 else 32768)):
                i = 0
                while not self._io.is_eof():
                    self._debug['_m_blocks']['arr'].append({'start': self._io.pos()})
                    self._raw__m_blocks.append(self._io.read_bytes(((self._io.size() - self._io.pos()) if self._io.size() - self._io.pos() < 32768 else 32768)))
                    _io__raw__m_blocks = KaitaiStream(BytesIO(self._raw__m_blocks[-1]))
                    _t__m_blocks = leveldb_log.LeveldbLog.Block(True, _io__raw__m_blocks)
                    try:
                        _t__m_blocks._read()
                    finally:
                        self._m_blocks.append(_t__m_blocks)
                    self._debug['_m_blocks']['arr'][len(self._m_blocks) - 1]['end'] = self._io.pos()
                    i += 1

            self._debug['_m_blocks']['end'] = self._io.pos()
            self._io.seek(_pos)

        return getattr(self, '_m_blocks', None)


