# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class Utf8Text(KaitaiStruct):
    """Text whose size is stored elsewhere. It is decoded on first use, so that
    bytes that are not UTF-8 do not prevent reading anything else.
    
    .. seealso::
       Source - https://www.rfc-editor.org/rfc/rfc3629
    """
    SEQ_FIELDS = ["bytes"]
    def __init__(self, _io, _parent=None, _root=None):
        super(Utf8Text, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['bytes']['start'] = self._io.pos()
        self.bytes = self._io.read_bytes_full()
        self._debug['bytes']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass

    @property
    def text(self):
        """The same as text."""
        if hasattr(self, '_m_text'):
            return self._m_text

        self._m_text = (self.bytes).decode(u"UTF-8")
        return getattr(self, '_m_text', None)


