# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from . import uleb128


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class ZsIndexBlock(KaitaiStruct):
    """The entries of one index block, after decompression with the codec that the
    file's header names: at least one, keys in ascending order. An index block of
    level n refers to blocks of level n - 1 only; data blocks have level 0.
    
    .. seealso::
       ZS 0.10, Index block payload - https://zs.readthedocs.io/en/latest/format.html
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(ZsIndexBlock, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

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
        def __init__(self, _io, _parent=None, _root=None):
            super(ZsIndexBlock.Entry, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.len_key = uleb128.Uleb128(self._io)
            _ = self.len_key
            if not _.value <= (self._io.size() - self._io.pos()):
                raise kaitaistruct.ValidationExprError(self.len_key, self._io, u"/types/entry/seq/0")
            self.key = self._io.read_bytes(self.len_key.value)
            self.ofs_block = uleb128.Uleb128(self._io)
            _ = self.ofs_block
            if not _.value <= 9223372036854775807:
                raise kaitaistruct.ValidationExprError(self.ofs_block, self._io, u"/types/entry/seq/2")
            self.len_block = uleb128.Uleb128(self._io)
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
        self._m_entries = []
        i = 0
        while not self._io.is_eof():
            self._m_entries.append(ZsIndexBlock.Entry(self._io, self, self._root))
            i += 1

        self._io.seek(_pos)
        return getattr(self, '_m_entries', None)


