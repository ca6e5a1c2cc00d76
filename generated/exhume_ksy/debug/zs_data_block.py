# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from . import uleb128
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class ZsDataBlock(KaitaiStruct):
    """The records of one data block, after decompression with the codec that the
    file's header names: at least one, in ascending order of their bytes (equal
    ones may follow each other). No record is smaller than any record of an
    earlier data block.
    
    .. seealso::
       ZS 0.10, Data block payload - https://zs.readthedocs.io/en/latest/format.html
    """
    SEQ_FIELDS = []
    def __init__(self, _io, _parent=None, _root=None):
        super(ZsDataBlock, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        pass


    def _fetch_instances(self):
        pass
        _ = self.records
        if hasattr(self, '_m_records'):
            pass
            for i in range(len(self._m_records)):
                pass
                self._m_records[i]._fetch_instances()



    class Record(KaitaiStruct):
        """One record, an uninterpreted byte string."""
        SEQ_FIELDS = ["len_data", "data"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ZsDataBlock.Record, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['len_data']['start'] = self._io.pos()
            self.len_data = uleb128.Uleb128(self._io)
            self.len_data._read()
            self._debug['len_data']['end'] = self._io.pos()
            _ = self.len_data
            if not _.value <= (self._io.size() - self._io.pos()):
                raise kaitaistruct.ValidationExprError(self.len_data, self._io, u"/types/record/seq/0")
            self._debug['data']['start'] = self._io.pos()
            self.data = self._io.read_bytes(self.len_data.value)
            self._debug['data']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.len_data._fetch_instances()


    @property
    def records(self):
        """Back to back, to the end of the payload."""
        if hasattr(self, '_m_records'):
            return self._m_records

        _pos = self._io.pos()
        self._io.seek(0)
        self._debug['_m_records']['start'] = self._io.pos()
        self._debug['_m_records']['arr'] = []
        self._m_records = []
        if not self._io.passes(self, '_m_records', lambda i, io: ZsDataBlock.Record(io, self, self._root)):
            i = 0
            while not self._io.is_eof():
                self._debug['_m_records']['arr'].append({'start': self._io.pos()})
                _t__m_records = ZsDataBlock.Record(self._io, self, self._root)
                try:
                    _t__m_records._read()
                finally:
                    self._m_records.append(_t__m_records)
                self._debug['_m_records']['arr'][len(self._m_records) - 1]['end'] = self._io.pos()
                i += 1

        self._debug['_m_records']['end'] = self._io.pos()
        self._io.seek(_pos)
        return getattr(self, '_m_records', None)


