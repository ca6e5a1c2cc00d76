# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class ClpSDictionaryEntries(KaitaiStruct):
    """Variables, log types or array log types. The id of an entry is its position.
    
    In a log type some bytes stand for variables (`marks`), and a backslash takes
    the special meaning from the next byte.
    
    .. seealso::
       DictionaryWriter - https://github.com/y-scope/clp/tree/main/components/core/src/clp_s
    """

    class ClassicMarks(IntEnum):
        integer_or_dictionary_entry = 17
        decimal = 18
        escape = 92

    class Marks(IntEnum):
        integer = 17
        dictionary_entry = 18
        decimal = 19
        escape = 92
    SEQ_FIELDS = ["entries"]
    def __init__(self, _io, _parent=None, _root=None):
        super(ClpSDictionaryEntries, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['entries']['start'] = self._io.pos()
        self._debug['entries']['arr'] = []
        self.entries = []
        if not self._io.passes(self, 'entries', lambda i, io: ClpSDictionaryEntries.Entry(io, self, self._root)):
            i = 0
            while not self._io.is_eof():
                self._debug['entries']['arr'].append({'start': self._io.pos()})
                _t_entries = ClpSDictionaryEntries.Entry(self._io, self, self._root)
                try:
                    _t_entries._read()
                finally:
                    self.entries.append(_t_entries)
                self._debug['entries']['arr'][len(self.entries) - 1]['end'] = self._io.pos()
                i += 1

        self._debug['entries']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass
        for i in range(len(self.entries)):
            pass
            self.entries[i]._fetch_instances()


    class ClassicLogTypeByte(KaitaiStruct):
        """A byte of a log type that is not text, before 0.4.0."""
        SEQ_FIELDS = ["mark"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpSDictionaryEntries.ClassicLogTypeByte, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['mark']['start'] = self._io.pos()
            self.mark = KaitaiStream.resolve_enum(ClpSDictionaryEntries.ClassicMarks, self._io.read_u1())
            self._debug['mark']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    class Entry(KaitaiStruct):
        """One dictionary value."""
        SEQ_FIELDS = ["len_value", "value"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpSDictionaryEntries.Entry, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['len_value']['start'] = self._io.pos()
            self.len_value = self._io.read_u8le()
            self._debug['len_value']['end'] = self._io.pos()
            if not self.len_value <= (self._io.size() - self._io.pos()):
                raise kaitaistruct.ValidationGreaterThanError((self._io.size() - self._io.pos()), self.len_value, self._io, u"/types/entry/seq/0")
            self._debug['value']['start'] = self._io.pos()
            self.value = self._io.read_bytes(self.len_value)
            self._debug['value']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass

        @property
        def text(self):
            """The same as text."""
            if hasattr(self, '_m_text'):
                return self._m_text

            self._m_text = (self.value).decode(u"UTF-8")
            return getattr(self, '_m_text', None)


    class LogTypeByte(KaitaiStruct):
        """A byte of a log type that is not text, from 0.4.0 on."""
        SEQ_FIELDS = ["mark"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpSDictionaryEntries.LogTypeByte, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['mark']['start'] = self._io.pos()
            self.mark = KaitaiStream.resolve_enum(ClpSDictionaryEntries.Marks, self._io.read_u1())
            self._debug['mark']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass



