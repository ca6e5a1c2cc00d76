# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class DataBundleKey(KaitaiStruct):
    """Keys are made of parts whose bytes sort as their values do. The first part is
    the number of a table: 1 configuration, 2 files, 3 records.
    
    .. seealso::
       Source - https://github.com/dennisss/dacha/tree/master/pkg/bundle
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(DataBundleKey, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.table = DataBundleKey.Varuint(self._io, self, self._root)
        _on = self.table.value
        if _on == 1:
            pass
            self.body = DataBundleKey.ConfigKey(self._io, self, self._root)
        elif _on == 2:
            pass
            self.body = DataBundleKey.FileKey(self._io, self, self._root)
        elif _on == 3:
            pass
            self.body = DataBundleKey.RecordKey(self._io, self, self._root)
        else:
            pass
            self.body = DataBundleKey.UnknownKey(self._io, self, self._root)


    def _fetch_instances(self):
        pass
        self.table._fetch_instances()
        _on = self.table.value
        if _on == 1:
            pass
            self.body._fetch_instances()
        elif _on == 2:
            pass
            self.body._fetch_instances()
        elif _on == 3:
            pass
            self.body._fetch_instances()
        else:
            pass
            self.body._fetch_instances()

    class Chunk(KaitaiStruct):
        """Bytes up to a zero byte, and what that zero byte means."""
        def __init__(self, _io, _parent=None, _root=None):
            super(DataBundleKey.Chunk, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.text = self._io.read_bytes_term(0, False, True, True)
            self.marker = self._io.read_u1()
            if not  ((self.marker == 0) or (self.marker == 255)) :
                raise kaitaistruct.ValidationNotAnyOfError(self.marker, self._io, u"/types/chunk/seq/1")


        def _fetch_instances(self):
            pass

        @property
        def content(self):
            if hasattr(self, '_m_content'):
                return self._m_content

            self._m_content = (self.text).decode(u"UTF-8")
            return getattr(self, '_m_content', None)


    class ConfigKey(KaitaiStruct):
        """There is one such row; its key ends here."""
        def __init__(self, _io, _parent=None, _root=None):
            super(DataBundleKey.ConfigKey, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            pass


        def _fetch_instances(self):
            pass


    class Escaped(KaitaiStruct):
        """A byte string that ends with `00 00`; a zero byte in it is written as
        `00 ff`. Longer strings so sort after their prefixes.
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(DataBundleKey.Escaped, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.chunks = []
            i = 0
            while True:
                _ = DataBundleKey.Chunk(self._io, self, self._root)
                self.chunks.append(_)
                if _.marker == 0:
                    break
                i += 1


        def _fetch_instances(self):
            pass
            for i in range(len(self.chunks)):
                pass
                self.chunks[i]._fetch_instances()



    class FileKey(KaitaiStruct):
        """Where a file or directory is in the tree; the parts joined are its path."""
        def __init__(self, _io, _parent=None, _root=None):
            super(DataBundleKey.FileKey, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.directory = DataBundleKey.Escaped(self._io, self, self._root)
            self.name = DataBundleKey.Escaped(self._io, self, self._root)


        def _fetch_instances(self):
            pass
            self.directory._fetch_instances()
            self.name._fetch_instances()


    class RecordKey(KaitaiStruct):
        """Where a record starts; rows sort by shard, then by offset."""
        def __init__(self, _io, _parent=None, _root=None):
            super(DataBundleKey.RecordKey, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.shard_index = DataBundleKey.Varuint(self._io, self, self._root)
            self.shard_uncompressed_offset = DataBundleKey.Varuint(self._io, self, self._root)


        def _fetch_instances(self):
            pass
            self.shard_index._fetch_instances()
            self.shard_uncompressed_offset._fetch_instances()


    class UnknownKey(KaitaiStruct):
        """Rows of a table that nobody defined."""
        def __init__(self, _io, _parent=None, _root=None):
            super(DataBundleKey.UnknownKey, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.rest = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class Varuint(KaitaiStruct):
        """An unsigned integer in 1 to 9 bytes. As many one bits as there are further
        bytes, a zero bit, then the value, most significant bits first.
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(DataBundleKey.Varuint, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.first = self._io.read_u1()
            self.rest = []
            for i in range(self.num_rest):
                self.rest.append(self._io.read_u1())



        def _fetch_instances(self):
            pass
            for i in range(len(self.rest)):
                pass


        @property
        def after1(self):
            if hasattr(self, '_m_after1'):
                return self._m_after1

            self._m_after1 = (self.high * 256 + self.rest[0] if self.num_rest > 0 else self.high)
            return getattr(self, '_m_after1', None)

        @property
        def after2(self):
            if hasattr(self, '_m_after2'):
                return self._m_after2

            self._m_after2 = (self.after1 * 256 + self.rest[1] if self.num_rest > 1 else self.after1)
            return getattr(self, '_m_after2', None)

        @property
        def after3(self):
            if hasattr(self, '_m_after3'):
                return self._m_after3

            self._m_after3 = (self.after2 * 256 + self.rest[2] if self.num_rest > 2 else self.after2)
            return getattr(self, '_m_after3', None)

        @property
        def after4(self):
            if hasattr(self, '_m_after4'):
                return self._m_after4

            self._m_after4 = (self.after3 * 256 + self.rest[3] if self.num_rest > 3 else self.after3)
            return getattr(self, '_m_after4', None)

        @property
        def after5(self):
            if hasattr(self, '_m_after5'):
                return self._m_after5

            self._m_after5 = (self.after4 * 256 + self.rest[4] if self.num_rest > 4 else self.after4)
            return getattr(self, '_m_after5', None)

        @property
        def after6(self):
            if hasattr(self, '_m_after6'):
                return self._m_after6

            self._m_after6 = (self.after5 * 256 + self.rest[5] if self.num_rest > 5 else self.after5)
            return getattr(self, '_m_after6', None)

        @property
        def after7(self):
            if hasattr(self, '_m_after7'):
                return self._m_after7

            self._m_after7 = (self.after6 * 256 + self.rest[6] if self.num_rest > 6 else self.after6)
            return getattr(self, '_m_after7', None)

        @property
        def high(self):
            """Bits of the value in the first byte."""
            if hasattr(self, '_m_high'):
                return self._m_high

            self._m_high = (self.first if self.num_rest == 0 else (self.first % 64 if self.num_rest == 1 else (self.first % 32 if self.num_rest == 2 else (self.first % 16 if self.num_rest == 3 else (self.first % 8 if self.num_rest == 4 else (self.first % 4 if self.num_rest == 5 else (self.first % 2 if self.num_rest == 6 else 0)))))))
            return getattr(self, '_m_high', None)

        @property
        def num_rest(self):
            if hasattr(self, '_m_num_rest'):
                return self._m_num_rest

            self._m_num_rest = (0 if self.first < 128 else (1 if self.first < 192 else (2 if self.first < 224 else (3 if self.first < 240 else (4 if self.first < 248 else (5 if self.first < 252 else (6 if self.first < 254 else (7 if self.first < 255 else 8))))))))
            return getattr(self, '_m_num_rest', None)

        @property
        def value(self):
            if hasattr(self, '_m_value'):
                return self._m_value

            self._m_value = (self.after7 * 256 + self.rest[7] if self.num_rest > 7 else self.after7)
            return getattr(self, '_m_value', None)



