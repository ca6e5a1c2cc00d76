# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from . import data_bundle_shard_header
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class DataBundleShard(KaitaiStruct):
    """A file `shard-NNNNNNNN` of a DataBundle: a header, then records. A record is a
    chunk of the concatenated contents of the shard's files, usually compressed,
    and padded with zeros to the alignment.
    
    Where records start, and which files they contain, is in the index only.
    
    .. seealso::
       Source - https://github.com/dennisss/dacha/tree/master/pkg/bundle
    """
    SEQ_FIELDS = ["magic", "len_header", "ofs_data", "header"]
    def __init__(self, _io, _parent=None, _root=None):
        super(DataBundleShard, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['magic']['start'] = self._io.pos()
        self.magic = self._io.read_bytes(4)
        self._debug['magic']['end'] = self._io.pos()
        if not self.magic == b"\x64\x61\x42\x53":
            raise kaitaistruct.ValidationNotEqualError(b"\x64\x61\x42\x53", self.magic, self._io, u"/seq/0")
        self._debug['len_header']['start'] = self._io.pos()
        self.len_header = self._io.read_u4le()
        self._debug['len_header']['end'] = self._io.pos()
        if not self.len_header <= (self._io.size() - self._io.pos()) - 4:
            raise kaitaistruct.ValidationGreaterThanError((self._io.size() - self._io.pos()) - 4, self.len_header, self._io, u"/seq/1")
        self._debug['ofs_data']['start'] = self._io.pos()
        self.ofs_data = self._io.read_u4le()
        self._debug['ofs_data']['end'] = self._io.pos()
        if not self.ofs_data >= 12 + self.len_header:
            raise kaitaistruct.ValidationLessThanError(12 + self.len_header, self.ofs_data, self._io, u"/seq/2")
        self._debug['header']['start'] = self._io.pos()
        self._raw_header = self._io.read_bytes(self.len_header)
        _io__raw_header = KaitaiStream(BytesIO(self._raw_header))
        self.header = data_bundle_shard_header.DataBundleShardHeader(_io__raw_header)
        self.header._read()
        self._debug['header']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass
        self.header._fetch_instances()
        _ = self.padding
        if hasattr(self, '_m_padding'):
            pass

        _ = self.records
        if hasattr(self, '_m_records'):
            pass


    @property
    def padding(self):
        """Zeros up to the first record."""
        if hasattr(self, '_m_padding'):
            return self._m_padding

        _pos = self._io.pos()
        self._io.seek(12 + self.len_header)
        self._debug['_m_padding']['start'] = self._io.pos()
        self._m_padding = self._io.read_bytes((self.ofs_data - 12) - self.len_header)
        self._debug['_m_padding']['end'] = self._io.pos()
        self._io.seek(_pos)
        return getattr(self, '_m_padding', None)

    @property
    def records(self):
        """All records with their padding."""
        if hasattr(self, '_m_records'):
            return self._m_records

        _pos = self._io.pos()
        self._io.seek(self.ofs_data)
        self._debug['_m_records']['start'] = self._io.pos()
        self._m_records = self._io.read_bytes_full()
        self._debug['_m_records']['end'] = self._io.pos()
        self._io.seek(_pos)
        return getattr(self, '_m_records', None)


