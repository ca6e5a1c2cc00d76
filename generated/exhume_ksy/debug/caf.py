# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class Caf(KaitaiStruct):
    """Many files in one "chunk": their bytes back to back, then an index with the
    byte range of each file, then the size of that index. Written by queue
    workers that collect small objects into pieces of about 30 GiB for
    distributed storage. Not related to Apple's Core Audio Format, which uses the
    same file extension.
    
    There is no magic number, so everything starts at the end of the file: the
    last four bytes give the size of the index, the index is one JSON object.
    What a schema cannot say is checked by the reader: that the index is JSON,
    that every range is in the data section, and that no two of them overlap.
    
    .. seealso::
       File Structure - https://github.com/JackalLabs/jackal-js-worker/blob/main/FORMAT.md
    """
    SEQ_FIELDS = []
    def __init__(self, _io, _parent=None, _root=None):
        super(Caf, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        pass


    def _fetch_instances(self):
        pass
        _ = self.data
        if hasattr(self, '_m_data'):
            pass

        _ = self.footer
        if hasattr(self, '_m_footer'):
            pass
            self._m_footer._fetch_instances()

        _ = self.index
        if hasattr(self, '_m_index'):
            pass


    class ChunkFooter(KaitaiStruct):
        """The last four bytes of the chunk."""
        SEQ_FIELDS = ["len_index"]
        def __init__(self, max_index, _io, _parent=None, _root=None):
            super(Caf.ChunkFooter, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.max_index = max_index
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['len_index']['start'] = self._io.pos()
            self.len_index = self._io.read_u4le()
            self._debug['len_index']['end'] = self._io.pos()
            if not self.len_index <= self.max_index:
                raise kaitaistruct.ValidationGreaterThanError(self.max_index, self.len_index, self._io, u"/types/chunk_footer/seq/0")


        def _fetch_instances(self):
            pass


    @property
    def data(self):
        """The files as they are, in the order of writing, without padding,
        separators, compression or checksums.
        
        .. seealso::
           CAF specification 1.0, "File Data Section"
        """
        if hasattr(self, '_m_data'):
            return self._m_data

        _pos = self._io.pos()
        self._io.seek(0)
        self._debug['_m_data']['start'] = self._io.pos()
        self._m_data = self._io.read_bytes(self.ofs_index)
        self._debug['_m_data']['end'] = self._io.pos()
        self._io.seek(_pos)
        return getattr(self, '_m_data', None)

    @property
    def footer(self):
        """
        .. seealso::
           CAF specification 1.0, "Footer Section"
        """
        if hasattr(self, '_m_footer'):
            return self._m_footer

        _pos = self._io.pos()
        self._io.seek(self._io.size() - 4)
        self._debug['_m_footer']['start'] = self._io.pos()
        self._m_footer = Caf.ChunkFooter((self._io.size() - 4), self._io, self, self._root)
        self._m_footer._read()
        self._debug['_m_footer']['end'] = self._io.pos()
        self._io.seek(_pos)
        return getattr(self, '_m_footer', None)

    @property
    def index(self):
        """One JSON object, without a final newline:
        `{"format_version":"1.0","files":{NAME:{"start_byte":N,"end_byte":N},...}}`.
        `start_byte` counts from the start of the chunk, `end_byte` is exclusive.
        Names are paths with `/`; the writers sort them by bytes (Go) or leave
        them in the order of writing (TypeScript), so their order is not that of
        the data. Any JSON white space is allowed, trailing commas are not.
        
        .. seealso::
           CAF specification 1.0, "File Index Section"
        """
        if hasattr(self, '_m_index'):
            return self._m_index

        _pos = self._io.pos()
        self._io.seek(self.ofs_index)
        self._debug['_m_index']['start'] = self._io.pos()
        self._m_index = (self._io.read_bytes(self.footer.len_index)).decode(u"UTF-8")
        self._debug['_m_index']['end'] = self._io.pos()
        self._io.seek(_pos)
        return getattr(self, '_m_index', None)

    @property
    def ofs_index(self):
        """Where the index starts, and so the size of the data section. In what the
        known writers make, it is also the end of the last file.
        """
        if hasattr(self, '_m_ofs_index'):
            return self._m_ofs_index

        self._m_ofs_index = (self._io.size() - 4) - self.footer.len_index
        return getattr(self, '_m_ofs_index', None)


