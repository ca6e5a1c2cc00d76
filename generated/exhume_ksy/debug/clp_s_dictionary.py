# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from . import clp_s_dictionary_entries
from . import zstd_frame
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class ClpSDictionary(KaitaiStruct):
    """A dictionary as stored in the file: the number of its entries in the clear,
    then the compressed entries, or nothing when there are none.
    
    .. seealso::
       DictionaryWriter - https://github.com/y-scope/clp/tree/main/components/core/src/clp_s
    """
    SEQ_FIELDS = ["num_entries", "compressed"]
    def __init__(self, _io, _parent=None, _root=None):
        super(ClpSDictionary, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['num_entries']['start'] = self._io.pos()
        self.num_entries = self._io.read_u8le()
        self._debug['num_entries']['end'] = self._io.pos()
        self._debug['compressed']['start'] = self._io.pos()
        self._raw_compressed = self._io.read_bytes_full()
        _io__raw_compressed = KaitaiStream(BytesIO(self._raw_compressed))
        self.compressed = zstd_frame.ZstdFrame(_io__raw_compressed)
        self.compressed._read()
        self._debug['compressed']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass
        self.compressed._fetch_instances()
        _ = self.entries
        if hasattr(self, '_m_entries'):
            pass
            self._m_entries._fetch_instances()


    @property
    def entries(self):
        """The entries, in place, when they are stored uncompressed."""
        if hasattr(self, '_m_entries'):
            return self._m_entries

        if self.compressed.is_stored:
            pass
            io = self.compressed.frames[0].body.blocks[0].content._io
            _pos = io.pos()
            io.seek(0)
            self._debug['_m_entries']['start'] = io.pos()
            self._raw__m_entries = io.read_bytes_full()
            _io__raw__m_entries = KaitaiStream(BytesIO(self._raw__m_entries))
            self._m_entries = clp_s_dictionary_entries.ClpSDictionaryEntries(_io__raw__m_entries)
            self._m_entries._read()
            self._debug['_m_entries']['end'] = io.pos()
            io.seek(_pos)

        return getattr(self, '_m_entries', None)


