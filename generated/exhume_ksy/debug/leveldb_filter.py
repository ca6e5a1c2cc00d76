# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class LeveldbFilter(KaitaiStruct):
    """One bloom filter for the keys of each 2 KiB of the table, so that a lookup can
    skip blocks. Named `filter.` and the policy in the metaindex.
    
    .. seealso::
       Filter Meta Block - https://github.com/google/leveldb/blob/main/doc/table_format.md
    """
    SEQ_FIELDS = []
    def __init__(self, _io, _parent=None, _root=None):
        super(LeveldbFilter, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        pass


    def _fetch_instances(self):
        pass
        _ = self.base_lg
        if hasattr(self, '_m_base_lg'):
            pass

        _ = self.filters
        if hasattr(self, '_m_filters'):
            pass
            for i in range(len(self._m_filters)):
                pass
                self._m_filters[i]._fetch_instances()


        _ = self.offsets
        if hasattr(self, '_m_offsets'):
            pass
            for i in range(len(self._m_offsets)):
                pass


        _ = self.ofs_offsets
        if hasattr(self, '_m_ofs_offsets'):
            pass


    class Filter(KaitaiStruct):
        """The Bloom filter of one range of the table."""
        SEQ_FIELDS = []
        def __init__(self, idx, _io, _parent=None, _root=None):
            super(LeveldbFilter.Filter, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.idx = idx
            self._debug = collections.defaultdict(dict)

        def _read(self):
            pass


        def _fetch_instances(self):
            pass
            _ = self.raw
            if hasattr(self, '_m_raw'):
                pass


        @property
        def raw(self):
            """Bits of the filter, then one byte with the number of probes. Empty when
            no block starts in the range.
            """
            if hasattr(self, '_m_raw'):
                return self._m_raw

            if self._parent.offsets[self.idx + 1] > self._parent.offsets[self.idx]:
                pass
                _pos = self._io.pos()
                self._io.seek(self._parent.offsets[self.idx])
                self._debug['_m_raw']['start'] = self._io.pos()
                self._m_raw = self._io.read_bytes(self._parent.offsets[self.idx + 1] - self._parent.offsets[self.idx])
                self._debug['_m_raw']['end'] = self._io.pos()
                self._io.seek(_pos)

            return getattr(self, '_m_raw', None)


    @property
    def base_lg(self):
        """Filter i covers blocks that start in [i << base_lg, (i + 1) << base_lg)."""
        if hasattr(self, '_m_base_lg'):
            return self._m_base_lg

        _pos = self._io.pos()
        self._io.seek(self._io.size() - 1)
        self._debug['_m_base_lg']['start'] = self._io.pos()
        self._m_base_lg = self._io.read_u1()
        self._debug['_m_base_lg']['end'] = self._io.pos()
        self._io.seek(_pos)
        return getattr(self, '_m_base_lg', None)

    @property
    def filters(self):
        if hasattr(self, '_m_filters'):
            return self._m_filters

        _pos = self._io.pos()
        self._io.seek(0)
        self._debug['_m_filters']['start'] = self._io.pos()
        self._debug['_m_filters']['arr'] = []
        self._m_filters = []
        if not self._io.passes(self, '_m_filters', lambda i, io: LeveldbFilter.Filter(i, io, self, self._root), indexed=True, times=self.num_filters):
            for i in range(self.num_filters):
                self._debug['_m_filters']['arr'].append({'start': self._io.pos()})
                _t__m_filters = LeveldbFilter.Filter(i, self._io, self, self._root)
                try:
                    _t__m_filters._read()
                finally:
                    self._m_filters.append(_t__m_filters)
                self._debug['_m_filters']['arr'][i]['end'] = self._io.pos()

        self._debug['_m_filters']['end'] = self._io.pos()
        self._io.seek(_pos)
        return getattr(self, '_m_filters', None)

    @property
    def num_filters(self):
        if hasattr(self, '_m_num_filters'):
            return self._m_num_filters

        self._m_num_filters = ((self._io.size() - 5) - self.ofs_offsets) // 4
        return getattr(self, '_m_num_filters', None)

    @property
    def offsets(self):
        """Start of each filter, and the end of the last, which is `ofs_offsets`."""
        if hasattr(self, '_m_offsets'):
            return self._m_offsets

        _pos = self._io.pos()
        self._io.seek(self.ofs_offsets)
        self._debug['_m_offsets']['start'] = self._io.pos()
        self._debug['_m_offsets']['arr'] = []
        self._m_offsets = []
        if not self._io.passes(self, '_m_offsets', lambda i, io: io.read_u4le(), width=4, times=self.num_filters + 1):
            for i in range(self.num_filters + 1):
                self._debug['_m_offsets']['arr'].append({'start': self._io.pos()})
                self._m_offsets.append(self._io.read_u4le())
                self._debug['_m_offsets']['arr'][i]['end'] = self._io.pos()

        self._debug['_m_offsets']['end'] = self._io.pos()
        self._io.seek(_pos)
        return getattr(self, '_m_offsets', None)

    @property
    def ofs_offsets(self):
        if hasattr(self, '_m_ofs_offsets'):
            return self._m_ofs_offsets

        _pos = self._io.pos()
        self._io.seek(self._io.size() - 5)
        self._debug['_m_ofs_offsets']['start'] = self._io.pos()
        self._m_ofs_offsets = self._io.read_u4le()
        self._debug['_m_ofs_offsets']['end'] = self._io.pos()
        if not self._m_ofs_offsets <= self._io.size() - 5:
            raise kaitaistruct.ValidationGreaterThanError(self._io.size() - 5, self._m_ofs_offsets, self._io, u"/instances/ofs_offsets")
        self._io.seek(_pos)
        return getattr(self, '_m_ofs_offsets', None)


