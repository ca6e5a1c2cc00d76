# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from . import leveldb_internal_key
from . import data_bundle_key
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class DataBundleRowKey(KaitaiStruct):
    """The key of a row as tables of the index file it: which row, then the eight bytes
    of LevelDB that say whether it was written or deleted, and when. The first part
    is as this project writes it; see `data_bundle_key`.
    
    .. seealso::
       Source - https://github.com/dennisss/dacha/tree/master/pkg/bundle
    """
    SEQ_FIELDS = ["row"]
    def __init__(self, _io, _parent=None, _root=None):
        super(DataBundleRowKey, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['row']['start'] = self._io.pos()
        self._raw_row = self._io.read_bytes(self._io.size() - 8)
        _io__raw_row = KaitaiStream(BytesIO(self._raw_row))
        self.row = data_bundle_key.DataBundleKey(_io__raw_row)
        self.row._read()
        self._debug['row']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass
        self.row._fetch_instances()
        _ = self.version
        if hasattr(self, '_m_version'):
            pass
            self._m_version._fetch_instances()


    @property
    def version(self):
        """Put or deleted, and the sequence number; the part for the user's key is empty."""
        if hasattr(self, '_m_version'):
            return self._m_version

        _pos = self._io.pos()
        self._io.seek(self._io.size() - 8)
        self._debug['_m_version']['start'] = self._io.pos()
        self._raw__m_version = self._io.read_bytes(8)
        _io__raw__m_version = KaitaiStream(BytesIO(self._raw__m_version))
        self._m_version = leveldb_internal_key.LeveldbInternalKey(_io__raw__m_version)
        self._m_version._read()
        self._debug['_m_version']['end'] = self._io.pos()
        self._io.seek(_pos)
        return getattr(self, '_m_version', None)


