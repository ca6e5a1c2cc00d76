# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class DataBundleKey(KaitaiStruct):
    """Keys are made of parts whose bytes sort as their values do. The first part is
    the number of a table: 1 configuration, 2 files, 3 records.
    
    The design of the format names the parts of a key without spelling bytes. These
    are as this project writes them, with encodings that dacha has for such keys.
    
    .. seealso::
       Source - https://github.com/dennisss/dacha/tree/master/pkg/bundle
    """

    class Tables(IntEnum):
        unknown = 0
        config = 1
        files = 2
        records = 3
    SEQ_FIELDS = ["table", "body"]
    def __init__(self, _io, _parent=None, _root=None):
        super(DataBundleKey, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['table']['start'] = self._io.pos()
        self.table = DataBundleKey.Varuint(self._io, self, self._root)
        self.table._read()
        self._debug['table']['end'] = self._io.pos()
        self._debug['body']['start'] = self._io.pos()
        _on = self.table_name
        if _on == DataBundleKey.Tables.config:
            pass
            self.body = DataBundleKey.ConfigKey(self._io, self, self._root)
            self.body._read()
        elif _on == DataBundleKey.Tables.files:
            pass
            self.body = DataBundleKey.FileKey(self._io, self, self._root)
            self.body._read()
        elif _on == DataBundleKey.Tables.records:
            pass
            self.body = DataBundleKey.RecordKey(self._io, self, self._root)
            self.body._read()
        else:
            pass
            self.body = DataBundleKey.UnknownKey(self._io, self, self._root)
            self.body._read()
        self._debug['body']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass
        self.table._fetch_instances()
        _on = self.table_name
        if _on == DataBundleKey.Tables.config:
            pass
            self.body._fetch_instances()
        elif _on == DataBundleKey.Tables.files:
            pass
            self.body._fetch_instances()
        elif _on == DataBundleKey.Tables.records:
            pass
            self.body._fetch_instances()
        else:
            pass
            self.body._fetch_instances()

    class Chunk(KaitaiStruct):
        """Bytes after a zero byte of the string, up to the next one."""
        SEQ_FIELDS = ["text", "marker"]
        def __init__(self, _io, _parent=None, _root=None):
            super(DataBundleKey.Chunk, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['text']['start'] = self._io.pos()
            self.text = self._io.read_bytes_term(0, False, True, True)
            self._debug['text']['end'] = self._io.pos()
            self._debug['marker']['start'] = self._io.pos()
            self.marker = self._io.read_u1()
            self._debug['marker']['end'] = self._io.pos()
            if not  ((self.marker == 0) or (self.marker == 255)) :
                raise kaitaistruct.ValidationNotAnyOfError(self.marker, self._io, u"/types/chunk/seq/1")


        def _fetch_instances(self):
            pass

        @property
        def content(self):
            """The same as text."""
            if hasattr(self, '_m_content'):
                return self._m_content

            self._m_content = (self.text).decode(u"UTF-8")
            return getattr(self, '_m_content', None)


    class ConfigKey(KaitaiStruct):
        """There is one such row; its key ends here."""
        SEQ_FIELDS = []
        def __init__(self, _io, _parent=None, _root=None):
            super(DataBundleKey.ConfigKey, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            pass


        def _fetch_instances(self):
            pass


    class Escaped(KaitaiStruct):
        """A byte string that ends with `00 00`; a zero byte in it is written as
        `00 ff`. Longer strings so sort after their prefixes.
        """
        SEQ_FIELDS = ["text", "marker", "more"]
        def __init__(self, _io, _parent=None, _root=None):
            super(DataBundleKey.Escaped, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['text']['start'] = self._io.pos()
            self.text = self._io.read_bytes_term(0, False, True, True)
            self._debug['text']['end'] = self._io.pos()
            self._debug['marker']['start'] = self._io.pos()
            self.marker = self._io.read_u1()
            self._debug['marker']['end'] = self._io.pos()
            if not  ((self.marker == 0) or (self.marker == 255)) :
                raise kaitaistruct.ValidationNotAnyOfError(self.marker, self._io, u"/types/escaped/seq/1")
            if self.marker != 0:
                pass
                self._debug['more']['start'] = self._io.pos()
                self._debug['more']['arr'] = []
                self.more = []
                if not self._io.passes(self, 'more', lambda i, io: DataBundleKey.Chunk(io, self, self._root), until=lambda _, io: _.marker == 0):
                    i = 0
                    while True:
                        self._debug['more']['arr'].append({'start': self._io.pos()})
                        _t_more = DataBundleKey.Chunk(self._io, self, self._root)
                        try:
                            _t_more._read()
                        finally:
                            _ = _t_more
                            self.more.append(_)
                        self._debug['more']['arr'][len(self.more) - 1]['end'] = self._io.pos()
                        if _.marker == 0:
                            break
                        i += 1
                self._debug['more']['end'] = self._io.pos()



        def _fetch_instances(self):
            pass
            if self.marker != 0:
                pass
                for i in range(len(self.more)):
                    pass
                    self.more[i]._fetch_instances()



        @property
        def content(self):
            """The same as text."""
            if hasattr(self, '_m_content'):
                return self._m_content

            self._m_content = (self.text).decode(u"UTF-8")
            return getattr(self, '_m_content', None)


    class FileKey(KaitaiStruct):
        """Where a file or directory is in the tree; the parts joined are its path."""
        SEQ_FIELDS = ["directory", "name"]
        def __init__(self, _io, _parent=None, _root=None):
            super(DataBundleKey.FileKey, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['directory']['start'] = self._io.pos()
            self.directory = DataBundleKey.Escaped(self._io, self, self._root)
            self.directory._read()
            self._debug['directory']['end'] = self._io.pos()
            self._debug['name']['start'] = self._io.pos()
            self.name = DataBundleKey.Escaped(self._io, self, self._root)
            self.name._read()
            self._debug['name']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.directory._fetch_instances()
            self.name._fetch_instances()


    class RecordKey(KaitaiStruct):
        """Where a record starts; rows sort by shard, then by offset."""
        SEQ_FIELDS = ["shard_index", "shard_uncompressed_offset"]
        def __init__(self, _io, _parent=None, _root=None):
            super(DataBundleKey.RecordKey, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['shard_index']['start'] = self._io.pos()
            self.shard_index = DataBundleKey.Varuint(self._io, self, self._root)
            self.shard_index._read()
            self._debug['shard_index']['end'] = self._io.pos()
            self._debug['shard_uncompressed_offset']['start'] = self._io.pos()
            self.shard_uncompressed_offset = DataBundleKey.Varuint(self._io, self, self._root)
            self.shard_uncompressed_offset._read()
            self._debug['shard_uncompressed_offset']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.shard_index._fetch_instances()
            self.shard_uncompressed_offset._fetch_instances()


    class UnknownKey(KaitaiStruct):
        """Rows of an undefined table."""
        SEQ_FIELDS = ["rest"]
        def __init__(self, _io, _parent=None, _root=None):
            super(DataBundleKey.UnknownKey, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['rest']['start'] = self._io.pos()
            self.rest = self._io.read_bytes_full()
            self._debug['rest']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    class Varuint(KaitaiStruct):
        """An unsigned integer in 1 to 9 bytes. As many one bits as there are further
        bytes, a zero bit, then the value, most significant bits first.
        
        The bytes are fields of their own, not an array, and the value is summed by
        multiplication, because shifts are cut to 32 bits in JavaScript. There it is
        exact up to 2^53, everywhere else up to 2^64 - 1.
        """
        SEQ_FIELDS = ["first", "byte1", "byte2", "byte3", "byte4", "byte5", "byte6", "byte7", "byte8"]
        def __init__(self, _io, _parent=None, _root=None):
            super(DataBundleKey.Varuint, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['first']['start'] = self._io.pos()
            self.first = self._io.read_u1()
            self._debug['first']['end'] = self._io.pos()
            if self.first >= 128:
                pass
                self._debug['byte1']['start'] = self._io.pos()
                self.byte1 = self._io.read_u1()
                self._debug['byte1']['end'] = self._io.pos()

            if self.first >= 192:
                pass
                self._debug['byte2']['start'] = self._io.pos()
                self.byte2 = self._io.read_u1()
                self._debug['byte2']['end'] = self._io.pos()

            if self.first >= 224:
                pass
                self._debug['byte3']['start'] = self._io.pos()
                self.byte3 = self._io.read_u1()
                self._debug['byte3']['end'] = self._io.pos()

            if self.first >= 240:
                pass
                self._debug['byte4']['start'] = self._io.pos()
                self.byte4 = self._io.read_u1()
                self._debug['byte4']['end'] = self._io.pos()

            if self.first >= 248:
                pass
                self._debug['byte5']['start'] = self._io.pos()
                self.byte5 = self._io.read_u1()
                self._debug['byte5']['end'] = self._io.pos()

            if self.first >= 252:
                pass
                self._debug['byte6']['start'] = self._io.pos()
                self.byte6 = self._io.read_u1()
                self._debug['byte6']['end'] = self._io.pos()

            if self.first >= 254:
                pass
                self._debug['byte7']['start'] = self._io.pos()
                self.byte7 = self._io.read_u1()
                self._debug['byte7']['end'] = self._io.pos()

            if self.first == 255:
                pass
                self._debug['byte8']['start'] = self._io.pos()
                self.byte8 = self._io.read_u1()
                self._debug['byte8']['end'] = self._io.pos()



        def _fetch_instances(self):
            pass
            if self.first >= 128:
                pass

            if self.first >= 192:
                pass

            if self.first >= 224:
                pass

            if self.first >= 240:
                pass

            if self.first >= 248:
                pass

            if self.first >= 252:
                pass

            if self.first >= 254:
                pass

            if self.first == 255:
                pass


        @property
        def value(self):
            """The integer itself."""
            if hasattr(self, '_m_value'):
                return self._m_value

            self._m_value = (self.first if self.first < 128 else ((self.first % 64) * 256 + self.byte1 if self.first < 192 else (((self.first % 32) * 256 + self.byte1) * 256 + self.byte2 if self.first < 224 else ((((self.first % 16) * 256 + self.byte1) * 256 + self.byte2) * 256 + self.byte3 if self.first < 240 else (((((self.first % 8) * 256 + self.byte1) * 256 + self.byte2) * 256 + self.byte3) * 256 + self.byte4 if self.first < 248 else ((((((self.first % 4) * 256 + self.byte1) * 256 + self.byte2) * 256 + self.byte3) * 256 + self.byte4) * 256 + self.byte5 if self.first < 252 else (((((((self.first % 2) * 256 + self.byte1) * 256 + self.byte2) * 256 + self.byte3) * 256 + self.byte4) * 256 + self.byte5) * 256 + self.byte6 if self.first < 254 else ((((((self.byte1 * 256 + self.byte2) * 256 + self.byte3) * 256 + self.byte4) * 256 + self.byte5) * 256 + self.byte6) * 256 + self.byte7 if self.first != 255 else ((((((self.byte1 * 256 + self.byte2) * 256 + self.byte3) * 256 + self.byte4) * 256 + self.byte5) * 256 + self.byte6) * 256 + self.byte7) * 256 + self.byte8))))))))
            return getattr(self, '_m_value', None)


    @property
    def table_name(self):
        """The number of the table by its name."""
        if hasattr(self, '_m_table_name'):
            return self._m_table_name

        self._m_table_name = KaitaiStream.resolve_enum(DataBundleKey.Tables, (self.table.value if self.table.value < 4 else 0))
        return getattr(self, '_m_table_name', None)


