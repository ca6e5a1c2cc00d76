# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class LeveldbBlobFile(KaitaiStruct):
    """Large values (`NNNNNN.blob`), to which entries of tables refer: a header,
    records back to back, and a footer if the file was closed.
    
    Every checksum is a CRC-32C, rotated right by 15 bits, plus 0xa282ead8.
    
    .. seealso::
       Source - https://github.com/facebook/rocksdb/blob/main/db/blob/blob_log_format.h
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(LeveldbBlobFile, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.header = LeveldbBlobFile.FileHeader(self._io, self, self._root)
        self._raw_records = self._io.read_bytes((self._io.size() - 30) - (32 if self.has_footer else 0))
        _io__raw_records = KaitaiStream(BytesIO(self._raw_records))
        self.records = LeveldbBlobFile.RecordList(_io__raw_records, self, self._root)
        if self.has_footer:
            pass
            self.footer = LeveldbBlobFile.FileFooter(self._io, self, self._root)



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
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbBlobFile.Expiration, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.first = self._io.read_u8le()
            self.last = self._io.read_u8le()


        def _fetch_instances(self):
            pass


    class FileFooter(KaitaiStruct):
        """The footer, written when the file was closed."""
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbBlobFile.FileFooter, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.magic = self._io.read_bytes(4)
            if not self.magic == b"\x37\x8F\x24\x00":
                raise kaitaistruct.ValidationNotEqualError(b"\x37\x8F\x24\x00", self.magic, self._io, u"/types/file_footer/seq/0")
            self.num_blobs = self._io.read_u8le()
            self.expiration = LeveldbBlobFile.Expiration(self._io, self, self._root)
            self.checksum = self._io.read_u4le()


        def _fetch_instances(self):
            pass
            self.expiration._fetch_instances()


    class FileHeader(KaitaiStruct):
        """What kind of values the file has."""
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbBlobFile.FileHeader, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.magic = self._io.read_bytes(4)
            if not self.magic == b"\x37\x8F\x24\x00":
                raise kaitaistruct.ValidationNotEqualError(b"\x37\x8F\x24\x00", self.magic, self._io, u"/types/file_header/seq/0")
            self.version = self._io.read_u4le()
            if not self.version == 1:
                raise kaitaistruct.ValidationNotEqualError(1, self.version, self._io, u"/types/file_header/seq/1")
            self.column_family = self._io.read_u4le()
            self.flags = self._io.read_u1()
            self.compression = self._io.read_u1()
            self.expiration = LeveldbBlobFile.Expiration(self._io, self, self._root)


        def _fetch_instances(self):
            pass
            self.expiration._fetch_instances()


    class Record(KaitaiStruct):
        """A key and its value."""
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbBlobFile.Record, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.len_key = self._io.read_u8le()
            if not self.len_key <= (self._io.size() - 32):
                raise kaitaistruct.ValidationGreaterThanError((self._io.size() - 32), self.len_key, self._io, u"/types/record/seq/0")
            self.len_value = self._io.read_u8le()
            if not self.len_value <= (self._io.size() - 32) - self.len_key:
                raise kaitaistruct.ValidationGreaterThanError((self._io.size() - 32) - self.len_key, self.len_value, self._io, u"/types/record/seq/1")
            self.expiration = self._io.read_u8le()
            self.head_checksum = self._io.read_u4le()
            self.checksum = self._io.read_u4le()
            self.key = self._io.read_bytes(self.len_key)
            self.value = self._io.read_bytes(self.len_value)


        def _fetch_instances(self):
            pass


    class RecordList(KaitaiStruct):
        """Records back to back."""
        def __init__(self, _io, _parent=None, _root=None):
            super(LeveldbBlobFile.RecordList, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.records = []
            i = 0
            while not self._io.is_eof():
                self.records.append(LeveldbBlobFile.Record(self._io, self, self._root))
                i += 1



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
            self._m_last_magic = self._io.read_u4le()
            self._io.seek(_pos)

        return getattr(self, '_m_last_magic', None)


