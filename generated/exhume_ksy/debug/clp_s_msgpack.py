# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class ClpSMsgpack(KaitaiStruct):
    """One MessagePack value with everything beneath it. Integers, strings, maps
    and arrays expose plain values, so that a container schema can follow the
    offsets that a clp-s archive stores this way. Big-endian, unlike the rest
    of the archive.
    
    .. seealso::
       Source - https://github.com/msgpack/msgpack/blob/master/spec.md
    """

    class Kinds(IntEnum):
        nil_value = 0
        boolean = 1
        unsigned_integer = 2
        signed_integer = 3
        real = 4
        text = 5
        binary = 6
        extension = 7
        array = 8
        map = 9
        reserved = 10
    SEQ_FIELDS = ["tag", "payload_uint1", "payload_uint2", "payload_uint4", "payload_uint8", "payload_int1", "payload_int2", "payload_int4", "payload_int8", "payload_float4", "payload_float8", "len_payload1", "len_payload2", "len_payload4", "extension_type", "str_value", "bin_value", "array_items", "map_items"]
    def __init__(self, _io, _parent=None, _root=None):
        super(ClpSMsgpack, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['tag']['start'] = self._io.pos()
        self.tag = self._io.read_u1()
        self._debug['tag']['end'] = self._io.pos()
        if self.tag == 204:
            pass
            self._debug['payload_uint1']['start'] = self._io.pos()
            self.payload_uint1 = self._io.read_u1()
            self._debug['payload_uint1']['end'] = self._io.pos()

        if self.tag == 205:
            pass
            self._debug['payload_uint2']['start'] = self._io.pos()
            self.payload_uint2 = self._io.read_u2be()
            self._debug['payload_uint2']['end'] = self._io.pos()

        if self.tag == 206:
            pass
            self._debug['payload_uint4']['start'] = self._io.pos()
            self.payload_uint4 = self._io.read_u4be()
            self._debug['payload_uint4']['end'] = self._io.pos()

        if self.tag == 207:
            pass
            self._debug['payload_uint8']['start'] = self._io.pos()
            self.payload_uint8 = self._io.read_u8be()
            self._debug['payload_uint8']['end'] = self._io.pos()

        if self.tag == 208:
            pass
            self._debug['payload_int1']['start'] = self._io.pos()
            self.payload_int1 = self._io.read_s1()
            self._debug['payload_int1']['end'] = self._io.pos()

        if self.tag == 209:
            pass
            self._debug['payload_int2']['start'] = self._io.pos()
            self.payload_int2 = self._io.read_s2be()
            self._debug['payload_int2']['end'] = self._io.pos()

        if self.tag == 210:
            pass
            self._debug['payload_int4']['start'] = self._io.pos()
            self.payload_int4 = self._io.read_s4be()
            self._debug['payload_int4']['end'] = self._io.pos()

        if self.tag == 211:
            pass
            self._debug['payload_int8']['start'] = self._io.pos()
            self.payload_int8 = self._io.read_s8be()
            self._debug['payload_int8']['end'] = self._io.pos()

        if self.tag == 202:
            pass
            self._debug['payload_float4']['start'] = self._io.pos()
            self.payload_float4 = self._io.read_f4be()
            self._debug['payload_float4']['end'] = self._io.pos()

        if self.tag == 203:
            pass
            self._debug['payload_float8']['start'] = self._io.pos()
            self.payload_float8 = self._io.read_f8be()
            self._debug['payload_float8']['end'] = self._io.pos()

        if  ((self.tag == 196) or (self.tag == 199) or (self.tag == 217)) :
            pass
            self._debug['len_payload1']['start'] = self._io.pos()
            self.len_payload1 = self._io.read_u1()
            self._debug['len_payload1']['end'] = self._io.pos()
            if not self.len_payload1 <= self._io.size() - self._io.pos():
                raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.len_payload1, self._io, u"/seq/11")

        if  ((self.tag == 197) or (self.tag == 200) or (self.tag == 218) or (self.tag == 220) or (self.tag == 222)) :
            pass
            self._debug['len_payload2']['start'] = self._io.pos()
            self.len_payload2 = self._io.read_u2be()
            self._debug['len_payload2']['end'] = self._io.pos()
            if not self.len_payload2 <= self._io.size() - self._io.pos():
                raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.len_payload2, self._io, u"/seq/12")

        if  ((self.tag == 198) or (self.tag == 201) or (self.tag == 219) or (self.tag == 221) or (self.tag == 223)) :
            pass
            self._debug['len_payload4']['start'] = self._io.pos()
            self.len_payload4 = self._io.read_u4be()
            self._debug['len_payload4']['end'] = self._io.pos()
            if not self.len_payload4 <= self._io.size() - self._io.pos():
                raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.len_payload4, self._io, u"/seq/13")

        if self.kind == ClpSMsgpack.Kinds.extension:
            pass
            self._debug['extension_type']['start'] = self._io.pos()
            self.extension_type = self._io.read_s1()
            self._debug['extension_type']['end'] = self._io.pos()

        if self.kind == ClpSMsgpack.Kinds.text:
            pass
            self._debug['str_value']['start'] = self._io.pos()
            self.str_value = (self._io.read_bytes((self.tag % 32 if self.tag < 192 else self.len_payload))).decode(u"UTF-8")
            self._debug['str_value']['end'] = self._io.pos()

        if  ((self.kind == ClpSMsgpack.Kinds.binary) or (self.kind == ClpSMsgpack.Kinds.extension)) :
            pass
            self._debug['bin_value']['start'] = self._io.pos()
            self.bin_value = self._io.read_bytes((1 if self.tag == 212 else (2 if self.tag == 213 else (4 if self.tag == 214 else (8 if self.tag == 215 else (16 if self.tag == 216 else self.len_payload))))))
            self._debug['bin_value']['end'] = self._io.pos()

        if self.kind == ClpSMsgpack.Kinds.array:
            pass
            self._debug['array_items']['start'] = self._io.pos()
            self._debug['array_items']['arr'] = []
            self.array_items = []
            if not self._io.passes(self, 'array_items', lambda i, io: ClpSMsgpack(io, self, self._root), times=self.num_items):
                for i in range(self.num_items):
                    self._debug['array_items']['arr'].append({'start': self._io.pos()})
                    _t_array_items = ClpSMsgpack(self._io, self, self._root)
                    try:
                        _t_array_items._read()
                    finally:
                        self.array_items.append(_t_array_items)
                    self._debug['array_items']['arr'][i]['end'] = self._io.pos()

            self._debug['array_items']['end'] = self._io.pos()

        if self.kind == ClpSMsgpack.Kinds.map:
            pass
            self._debug['map_items']['start'] = self._io.pos()
            self._debug['map_items']['arr'] = []
            self.map_items = []
            if not self._io.passes(self, 'map_items', lambda i, io: ClpSMsgpack.MapEntry(io, self, self._root), times=self.num_items):
                for i in range(self.num_items):
                    self._debug['map_items']['arr'].append({'start': self._io.pos()})
                    _t_map_items = ClpSMsgpack.MapEntry(self._io, self, self._root)
                    try:
                        _t_map_items._read()
                    finally:
                        self.map_items.append(_t_map_items)
                    self._debug['map_items']['arr'][i]['end'] = self._io.pos()

            self._debug['map_items']['end'] = self._io.pos()



    def _fetch_instances(self):
        pass
        if self.tag == 204:
            pass

        if self.tag == 205:
            pass

        if self.tag == 206:
            pass

        if self.tag == 207:
            pass

        if self.tag == 208:
            pass

        if self.tag == 209:
            pass

        if self.tag == 210:
            pass

        if self.tag == 211:
            pass

        if self.tag == 202:
            pass

        if self.tag == 203:
            pass

        if  ((self.tag == 196) or (self.tag == 199) or (self.tag == 217)) :
            pass

        if  ((self.tag == 197) or (self.tag == 200) or (self.tag == 218) or (self.tag == 220) or (self.tag == 222)) :
            pass

        if  ((self.tag == 198) or (self.tag == 201) or (self.tag == 219) or (self.tag == 221) or (self.tag == 223)) :
            pass

        if self.kind == ClpSMsgpack.Kinds.extension:
            pass

        if self.kind == ClpSMsgpack.Kinds.text:
            pass

        if  ((self.kind == ClpSMsgpack.Kinds.binary) or (self.kind == ClpSMsgpack.Kinds.extension)) :
            pass

        if self.kind == ClpSMsgpack.Kinds.array:
            pass
            for i in range(len(self.array_items)):
                pass
                self.array_items[i]._fetch_instances()


        if self.kind == ClpSMsgpack.Kinds.map:
            pass
            for i in range(len(self.map_items)):
                pass
                self.map_items[i]._fetch_instances()



    class MapEntry(KaitaiStruct):
        """One key and its value."""
        SEQ_FIELDS = ["key", "value"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpSMsgpack.MapEntry, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['key']['start'] = self._io.pos()
            self.key = ClpSMsgpack(self._io, self, self._root)
            self.key._read()
            self._debug['key']['end'] = self._io.pos()
            self._debug['value']['start'] = self._io.pos()
            self.value = ClpSMsgpack(self._io, self, self._root)
            self.value._read()
            self._debug['value']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()
            self.value._fetch_instances()


    @property
    def bool_value(self):
        """The value of a boolean."""
        if hasattr(self, '_m_bool_value'):
            return self._m_bool_value

        if self.kind == ClpSMsgpack.Kinds.boolean:
            pass
            self._m_bool_value = self.tag == 195

        return getattr(self, '_m_bool_value', None)

    @property
    def int_value(self):
        """The value of a signed integer of any width."""
        if hasattr(self, '_m_int_value'):
            return self._m_int_value

        if self.kind == ClpSMsgpack.Kinds.signed_integer:
            pass
            self._m_int_value = ((self.tag - 256) if self.tag >= 224 else (self.payload_int1 if self.tag == 208 else (self.payload_int2 if self.tag == 209 else (self.payload_int4 if self.tag == 210 else self.payload_int8))))

        return getattr(self, '_m_int_value', None)

    @property
    def kind(self):
        """Kind of the value, taken from the tag."""
        if hasattr(self, '_m_kind'):
            return self._m_kind

        self._m_kind = (ClpSMsgpack.Kinds.unsigned_integer if self.tag < 128 else (ClpSMsgpack.Kinds.map if self.tag < 144 else (ClpSMsgpack.Kinds.array if self.tag < 160 else (ClpSMsgpack.Kinds.text if self.tag < 192 else (ClpSMsgpack.Kinds.nil_value if self.tag == 192 else (ClpSMsgpack.Kinds.reserved if self.tag == 193 else (ClpSMsgpack.Kinds.boolean if self.tag < 196 else (ClpSMsgpack.Kinds.binary if self.tag < 199 else (ClpSMsgpack.Kinds.extension if self.tag < 202 else (ClpSMsgpack.Kinds.real if self.tag < 204 else (ClpSMsgpack.Kinds.unsigned_integer if self.tag < 208 else (ClpSMsgpack.Kinds.signed_integer if self.tag < 212 else (ClpSMsgpack.Kinds.extension if self.tag < 217 else (ClpSMsgpack.Kinds.text if self.tag < 220 else (ClpSMsgpack.Kinds.array if self.tag < 222 else (ClpSMsgpack.Kinds.map if self.tag < 224 else ClpSMsgpack.Kinds.signed_integer))))))))))))))))
        return getattr(self, '_m_kind', None)

    @property
    def len_payload(self):
        """Length or count that follows the tag."""
        if hasattr(self, '_m_len_payload'):
            return self._m_len_payload

        if  (( ((self.tag >= 196) and (self.tag <= 201)) ) or ( ((self.tag >= 217) and (self.tag <= 223)) )) :
            pass
            self._m_len_payload = (self.len_payload1 if  ((self.tag == 196) or (self.tag == 199) or (self.tag == 217))  else (self.len_payload2 if  ((self.tag == 197) or (self.tag == 200) or (self.tag == 218) or (self.tag == 220) or (self.tag == 222))  else self.len_payload4))

        return getattr(self, '_m_len_payload', None)

    @property
    def num_items(self):
        if hasattr(self, '_m_num_items'):
            return self._m_num_items

        if  ((self.kind == ClpSMsgpack.Kinds.array) or (self.kind == ClpSMsgpack.Kinds.map)) :
            pass
            self._m_num_items = (self.tag % 16 if self.tag < 160 else self.len_payload)

        return getattr(self, '_m_num_items', None)

    @property
    def uint_value(self):
        """The value of an unsigned integer of any width."""
        if hasattr(self, '_m_uint_value'):
            return self._m_uint_value

        if self.kind == ClpSMsgpack.Kinds.unsigned_integer:
            pass
            self._m_uint_value = (self.tag if self.tag < 128 else (self.payload_uint1 if self.tag == 204 else (self.payload_uint2 if self.tag == 205 else (self.payload_uint4 if self.tag == 206 else self.payload_uint8))))

        return getattr(self, '_m_uint_value', None)


