# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from . import leveldb_varint
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class DataBundleField(KaitaiStruct):
    """One field of a Protocol Buffers message: a key that holds field number and wire
    type, then the value. A message is any number of them; what a number means
    depends on the message.
    
    .. seealso::
       Source - https://protobuf.dev/programming-guides/encoding/
    """

    class WireTypes(IntEnum):
        varint = 0
        fixed64 = 1
        bytes = 2
        fixed32 = 5
    SEQ_FIELDS = ["key", "value"]
    def __init__(self, _io, _parent=None, _root=None):
        super(DataBundleField, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['key']['start'] = self._io.pos()
        self.key = leveldb_varint.LeveldbVarint(self._io)
        self.key._read()
        self._debug['key']['end'] = self._io.pos()
        _ = self.key
        if not  ((_.value >= 8) and (_.value < 4294967296) and (_.value % 8 != 3) and (_.value % 8 != 4) and (_.value % 8 < 6)) :
            raise kaitaistruct.ValidationExprError(self.key, self._io, u"/seq/0")
        self._debug['value']['start'] = self._io.pos()
        _on = self.wire_type
        if _on == DataBundleField.WireTypes.bytes:
            pass
            self.value = DataBundleField.ByteString(self._io, self, self._root)
            self.value._read()
        elif _on == DataBundleField.WireTypes.fixed32:
            pass
            self.value = DataBundleField.Fixed32(self._io, self, self._root)
            self.value._read()
        elif _on == DataBundleField.WireTypes.fixed64:
            pass
            self.value = DataBundleField.Fixed64(self._io, self, self._root)
            self.value._read()
        elif _on == DataBundleField.WireTypes.varint:
            pass
            self.value = leveldb_varint.LeveldbVarint(self._io)
            self.value._read()
        self._debug['value']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass
        self.key._fetch_instances()
        _on = self.wire_type
        if _on == DataBundleField.WireTypes.bytes:
            pass
            self.value._fetch_instances()
        elif _on == DataBundleField.WireTypes.fixed32:
            pass
            self.value._fetch_instances()
        elif _on == DataBundleField.WireTypes.fixed64:
            pass
            self.value._fetch_instances()
        elif _on == DataBundleField.WireTypes.varint:
            pass
            self.value._fetch_instances()

    class ByteString(KaitaiStruct):
        """Bytes, text or a message, preceded by their length."""
        SEQ_FIELDS = ["len_data", "data"]
        def __init__(self, _io, _parent=None, _root=None):
            super(DataBundleField.ByteString, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['len_data']['start'] = self._io.pos()
            self.len_data = leveldb_varint.LeveldbVarint(self._io)
            self.len_data._read()
            self._debug['len_data']['end'] = self._io.pos()
            _ = self.len_data
            if not _.value <= (self._io.size() - self._io.pos()):
                raise kaitaistruct.ValidationExprError(self.len_data, self._io, u"/types/byte_string/seq/0")
            self._debug['data']['start'] = self._io.pos()
            self._raw_data = self._io.read_bytes(self.len_data.value)
            _io__raw_data = KaitaiStream(BytesIO(self._raw_data))
            self.data = DataBundleField.Content(_io__raw_data, self, self._root)
            self.data._read()
            self._debug['data']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.len_data._fetch_instances()
            self.data._fetch_instances()


    class Content(KaitaiStruct):
        """A stream of its own, so that a message can be opened in it."""
        SEQ_FIELDS = ["bytes"]
        def __init__(self, _io, _parent=None, _root=None):
            super(DataBundleField.Content, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['bytes']['start'] = self._io.pos()
            self.bytes = self._io.read_bytes_full()
            self._debug['bytes']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    class Fixed32(KaitaiStruct):
        """Four bytes."""
        SEQ_FIELDS = ["value"]
        def __init__(self, _io, _parent=None, _root=None):
            super(DataBundleField.Fixed32, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['value']['start'] = self._io.pos()
            self.value = self._io.read_u4le()
            self._debug['value']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    class Fixed64(KaitaiStruct):
        """Eight bytes."""
        SEQ_FIELDS = ["value"]
        def __init__(self, _io, _parent=None, _root=None):
            super(DataBundleField.Fixed64, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['value']['start'] = self._io.pos()
            self.value = self._io.read_u8le()
            self._debug['value']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    @property
    def number(self):
        """Which field of its message it is."""
        if hasattr(self, '_m_number'):
            return self._m_number

        self._m_number = self.key.value // 8
        return getattr(self, '_m_number', None)

    @property
    def wire_type(self):
        """How the value is stored, whatever it means."""
        if hasattr(self, '_m_wire_type'):
            return self._m_wire_type

        self._m_wire_type = KaitaiStream.resolve_enum(DataBundleField.WireTypes, self.key.value % 8)
        return getattr(self, '_m_wire_type', None)


