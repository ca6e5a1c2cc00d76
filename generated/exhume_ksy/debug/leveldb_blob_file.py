# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class LeveldbBlobFile(KaitaiStruct):
    """Large values (`NNNNNN.blob`), to which entries of tables refer: a header,
    records back to back, and a footer if the file was closed.
    
    Every checksum is a CRC-32C, rotated right by 15 bits, plus 0xa282ead8.
    
    .. seealso::
       Source - https://github.com/facebook/rocksdb/blob/main/db/blob/blob_log_format.h
    """
    SEQ_FIELDS = ["header", "records", "footer"]
    def __init__(self, _io, _parent=None, _root=None):
        super(LeveldbBlobFile, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['header']['start'] = self._io.pos()
        self.header = LeveldbBlobFile.FileHeader(self._io, self, self._root)
        self.header._read()
        self._debug['header']['end'] = self._io.pos()
        self._debug['records']['start'] = self._io.pos()
        self._raw_records = self._io.read_bytes((self._io.size() - 30) - (32 if self.has_footer else 0))
        _io__raw_records = KaitaiStream(BytesIO(self._raw_records))
        self.records = LeveldbBlobFile.RecordList(_io__raw_records, self, self._root)
        self.records._read()
        self._debug['records']['end'] = self._io.pos()
        if self.has_footer:
            pass
            self._debug['footer']['start'] = self._io.pos()
            self.footer = LeveldbBlobFile.FileFooter(self._io, self, self._root)
            self.footer._read()
            self._debug['footer']['end'] = self._io.pos()



    def _fetch_instances(self):
        pass
        self.header._fetch_instances()
        self.records._fetch_instances()
        if self.has_footer:
            pass
            self.footer._fetch_instances()

        _ = self.last_magic
        if hasattr(self, '_m_last_magic'):
            pass


    class Expiration(KaitaiStruct):
        """When the first and the last of the values expire, in seconds since 1970; 0
        when they do not.
        """
        SEQ_FIELDS = ["first", "last"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbBlobFile.Expiration, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['first']['start'] = self._io.pos()
            self.first = self._io.read_u8le()
            self._debug['first']['end'] = self._io.pos()
            self._debug['last']['start'] = self._io.pos()
            self.last = self._io.read_u8le()
            self._debug['last']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    class FileFooter(KaitaiStruct):
        """The footer, written when the file was closed."""
        SEQ_FIELDS = ["magic", "num_blobs", "expiration", "checksum"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbBlobFile.FileFooter, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['magic']['start'] = self._io.pos()
            self.magic = self._io.read_bytes(4)
            self._debug['magic']['end'] = self._io.pos()
            if not self.magic == b"\x37\x8F\x24\x00":
                raise kaitaistruct.ValidationNotEqualError(b"\x37\x8F\x24\x00", self.magic, self._io, u"/types/file_footer/seq/0")
            self._debug['num_blobs']['start'] = self._io.pos()
            self.num_blobs = self._io.read_u8le()
            self._debug['num_blobs']['end'] = self._io.pos()
            self._debug['expiration']['start'] = self._io.pos()
            self.expiration = LeveldbBlobFile.Expiration(self._io, self, self._root)
            self.expiration._read()
            self._debug['expiration']['end'] = self._io.pos()
            self._debug['checksum']['start'] = self._io.pos()
            self.checksum = self._io.read_u4le()
            self._debug['checksum']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.expiration._fetch_instances()


    class FileHeader(KaitaiStruct):
        """What kind of values the file has."""
        SEQ_FIELDS = ["magic", "version", "column_family", "flags", "compression", "expiration"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbBlobFile.FileHeader, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['magic']['start'] = self._io.pos()
            self.magic = self._io.read_bytes(4)
            self._debug['magic']['end'] = self._io.pos()
            if not self.magic == b"\x37\x8F\x24\x00":
                raise kaitaistruct.ValidationNotEqualError(b"\x37\x8F\x24\x00", self.magic, self._io, u"/types/file_header/seq/0")
            self._debug['version']['start'] = self._io.pos()
            self.version = self._io.read_u4le()
            self._debug['version']['end'] = self._io.pos()
            if not self.version == 1:
                raise kaitaistruct.ValidationNotEqualError(1, self.version, self._io, u"/types/file_header/seq/1")
            self._debug['column_family']['start'] = self._io.pos()
            self.column_family = self._io.read_u4le()
            self._debug['column_family']['end'] = self._io.pos()
            self._debug['flags']['start'] = self._io.pos()
            self.flags = self._io.read_u1()
            self._debug['flags']['end'] = self._io.pos()
            self._debug['compression']['start'] = self._io.pos()
            self.compression = self._io.read_u1()
            self._debug['compression']['end'] = self._io.pos()
            self._debug['expiration']['start'] = self._io.pos()
            self.expiration = LeveldbBlobFile.Expiration(self._io, self, self._root)
            self.expiration._read()
            self._debug['expiration']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.expiration._fetch_instances()


    class Record(KaitaiStruct):
        """A key and its value."""
        SEQ_FIELDS = ["len_key", "len_value", "expiration", "head_checksum", "checksum", "key", "value"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbBlobFile.Record, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['len_key']['start'] = self._io.pos()
            self.len_key = self._io.read_u8le()
            self._debug['len_key']['end'] = self._io.pos()
            if not self.len_key <= (self._io.size() - 32):
                raise kaitaistruct.ValidationGreaterThanError((self._io.size() - 32), self.len_key, self._io, u"/types/record/seq/0")
            self._debug['len_value']['start'] = self._io.pos()
            self.len_value = self._io.read_u8le()
            self._debug['len_value']['end'] = self._io.pos()
            if not self.len_value <= (self._io.size() - 32) - self.len_key:
                raise kaitaistruct.ValidationGreaterThanError((self._io.size() - 32) - self.len_key, self.len_value, self._io, u"/types/record/seq/1")
            self._debug['expiration']['start'] = self._io.pos()
            self.expiration = self._io.read_u8le()
            self._debug['expiration']['end'] = self._io.pos()
            self._debug['head_checksum']['start'] = self._io.pos()
            self.head_checksum = self._io.read_u4le()
            self._debug['head_checksum']['end'] = self._io.pos()
            self._debug['checksum']['start'] = self._io.pos()
            self.checksum = self._io.read_u4le()
            self._debug['checksum']['end'] = self._io.pos()
            self._debug['key']['start'] = self._io.pos()
            self.key = self._io.read_bytes(self.len_key)
            self._debug['key']['end'] = self._io.pos()
            self._debug['value']['start'] = self._io.pos()
            self.value = self._io.read_bytes(self.len_value)
            self._debug['value']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    class RecordList(KaitaiStruct):
        """Records back to back."""
        SEQ_FIELDS = ["records"]
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbBlobFile.RecordList, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['records']['start'] = self._io.pos()
            self._debug['records']['arr'] = []
            self.records = []
            if not self._io.passes(self, 'records', lambda i, io: LeveldbBlobFile.Record(io, self, self._root)):
                i = 0
                while not self._io.is_eof():
                    self._debug['records']['arr'].append({'start': self._io.pos()})
                    _t_records = LeveldbBlobFile.Record(self._io, self, self._root)
                    try:
                        _t_records._read()
                    finally:
                        self.records.append(_t_records)
                    self._debug['records']['arr'][len(self.records) - 1]['end'] = self._io.pos()
                    i += 1

            self._debug['records']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            for i in range(len(self.records)):
                pass
                self.records[i]._fetch_instances()



    @property
    def has_footer(self):
        """A file that was not closed ends after a record."""
        if hasattr(self, '_m_has_footer'):
            return self._m_has_footer

        self._m_has_footer =  ((self._io.size() >= 62) and (self.last_magic == 2395959)) 
        return getattr(self, '_m_has_footer', None)

    @property
    def last_magic(self):
        """The magic number that a footer starts with."""
        if hasattr(self, '_m_last_magic'):
            return self._m_last_magic

        if self._io.size() >= 62:
            pass
            _pos = self._io.pos()
            self._io.seek(self._io.size() - 32)
            self._debug['_m_last_magic']['start'] = self._io.pos()
            self._m_last_magic = self._io.read_u4le()
            self._debug['_m_last_magic']['end'] = self._io.pos()
            self._io.seek(_pos)

        return getattr(self, '_m_last_magic', None)


