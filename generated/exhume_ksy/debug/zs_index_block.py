# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from . import uleb128
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class ZsIndexBlock(KaitaiStruct):
    """The entries of one index block, after decompression with the codec that the
    file's header names: at least one, keys in ascending order. An index block of
    level n refers to blocks of level n - 1 only; data blocks have level 0.
    
    .. seealso::
       ZS 0.10, Index block payload - https://zs.readthedocs.io/en/latest/format.html
    """
    SEQ_FIELDS = []
    def __init__(self, _io, _parent=None, _root=None):
        super(ZsIndexBlock, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        pass


    def _fetch_instances(self):
        pass
        _ = self.entries
        if hasattr(self, '_m_entries'):
            pass
            for i in range(len(self._m_entries)):
                pass
                self._m_entries[i]._fetch_instances()



    class Entry(KaitaiStruct):
        """One reference to a block of the level below."""
        SEQ_FIELDS = ["len_key", "key", "ofs_block", "len_block"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ZsIndexBlock.Entry, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['len_key']['start'] = self._io.pos()
            self.len_key = uleb128.Uleb128(self._io)
            self.len_key._read()
            self._debug['len_key']['end'] = self._io.pos()
            _ = self.len_key
            if not _.value <= (self._io.size() - self._io.pos()):
                raise kaitaistruct.ValidationExprError(self.len_key, self._io, u"/types/entry/seq/0")
            self._debug['key']['start'] = self._io.pos()
            self.key = self._io.read_bytes(self.len_key.value)
            self._debug['key']['end'] = self._io.pos()
            self._debug['ofs_block']['start'] = self._io.pos()
            self.ofs_block = uleb128.Uleb128(self._io)
            self.ofs_block._read()
            self._debug['ofs_block']['end'] = self._io.pos()
            _ = self.ofs_block
            if not _.value <= 9223372036854775807:
                raise kaitaistruct.ValidationExprError(self.ofs_block, self._io, u"/types/entry/seq/2")
            self._debug['len_block']['start'] = self._io.pos()
            self.len_block = uleb128.Uleb128(self._io)
            self.len_block._read()
            self._debug['len_block']['end'] = self._io.pos()
            _ = self.len_block
            if not _.value <= 9223372036854775807:
                raise kaitaistruct.ValidationExprError(self.len_block, self._io, u"/types/entry/seq/3")


        def _fetch_instances(self):
            pass
            self.len_key._fetch_instances()
            self.ofs_block._fetch_instances()
            self.len_block._fetch_instances()


    @property
    def entries(self):
        """Back to back, to the end of the payload."""
        if hasattr(self, '_m_entries'):
            return self._m_entries

        _pos = self._io.pos()
        self._io.seek(0)
        self._debug['_m_entries']['start'] = self._io.pos()
        self._debug['_m_entries']['arr'] = []
        self._m_entries = []
        if not self._io.passes(self, '_m_entries', lambda i, io: ZsIndexBlock.Entry(io, self, self._root)):
            i = 0
            while not self._io.is_eof():
                self._debug['_m_entries']['arr'].append({'start': self._io.pos()})
                _t__m_entries = ZsIndexBlock.Entry(self._io, self, self._root)
                try:
                    _t__m_entries._read()
                finally:
                    self._m_entries.append(_t__m_entries)
                self._debug['_m_entries']['arr'][len(self._m_entries) - 1]['end'] = self._io.pos()
                i += 1

        self._debug['_m_entries']['end'] = self._io.pos()
        self._io.seek(_pos)
        return getattr(self, '_m_entries', None)


