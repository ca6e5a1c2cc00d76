# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class ArkStoredMessage(KaitaiStruct):
    """One message of a column whose compression type is not "none": the output of
    the codec, then a footer of 6 bytes. Messages of uncompressed columns have
    no footer. Parse with a window that holds exactly the bytes that the index
    entry names.
    
    .. seealso::
       footer of compressed messages, as lqs-client reads it - https://ark.tbdrobotics.com/docs/overviews/logging/format/
    """

    class Codec(IntEnum):
        none = 0
        lz4 = 1
        zstd = 2
        bz2 = 3
        lzma = 4
    SEQ_FIELDS = []
    def __init__(self, _io, _parent=None, _root=None):
        super(ArkStoredMessage, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        pass


    def _fetch_instances(self):
        pass
        _ = self.footer
        if hasattr(self, '_m_footer'):
            pass
            self._m_footer._fetch_instances()

        _ = self.payload
        if hasattr(self, '_m_payload'):
            pass


    class MessageFooter(KaitaiStruct):
        """The last six bytes of a compressed message."""
        SEQ_FIELDS = ["len_message", "codec", "magic"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkStoredMessage.MessageFooter, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['len_message']['start'] = self._io.pos()
            self.len_message = self._io.read_u4le()
            self._debug['len_message']['end'] = self._io.pos()
            self._debug['codec']['start'] = self._io.pos()
            self.codec = KaitaiStream.resolve_enum(ArkStoredMessage.Codec, self._io.read_u1())
            self._debug['codec']['end'] = self._io.pos()
            self._debug['magic']['start'] = self._io.pos()
            self.magic = self._io.read_u1()
            self._debug['magic']['end'] = self._io.pos()
            if not self.magic == 240:
                raise kaitaistruct.ValidationNotEqualError(240, self.magic, self._io, u"/types/message_footer/seq/2")


        def _fetch_instances(self):
            pass


    @property
    def footer(self):
        if hasattr(self, '_m_footer'):
            return self._m_footer

        _pos = self._io.pos()
        self._io.seek(self._io.size() - 6)
        self._debug['_m_footer']['start'] = self._io.pos()
        self._m_footer = ArkStoredMessage.MessageFooter(self._io, self, self._root)
        self._m_footer._read()
        self._debug['_m_footer']['end'] = self._io.pos()
        self._io.seek(_pos)
        return getattr(self, '_m_footer', None)

    @property
    def payload(self):
        """Output of the codec; lz4 is one raw block, zstd one standard frame."""
        if hasattr(self, '_m_payload'):
            return self._m_payload

        _pos = self._io.pos()
        self._io.seek(0)
        self._debug['_m_payload']['start'] = self._io.pos()
        self._m_payload = self._io.read_bytes(self._io.size() - 6)
        self._debug['_m_payload']['end'] = self._io.pos()
        self._io.seek(_pos)
        return getattr(self, '_m_payload', None)


