# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO


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
    def __init__(self, _io, _parent=None, _root=None):
        super(ClpSMsgpack, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.tag = self._io.read_u1()
        if self.tag == 204:
            pass
            self.payload_uint1 = self._io.read_u1()

        if self.tag == 205:
            pass
            self.payload_uint2 = self._io.read_u2be()

        if self.tag == 206:
            pass
            self.payload_uint4 = self._io.read_u4be()

        if self.tag == 207:
            pass
            self.payload_uint8 = self._io.read_u8be()

        if self.tag == 208:
            pass
            self.payload_int1 = self._io.read_s1()

        if self.tag == 209:
            pass
            self.payload_int2 = self._io.read_s2be()

        if self.tag == 210:
            pass
            self.payload_int4 = self._io.read_s4be()

        if self.tag == 211:
            pass
            self.payload_int8 = self._io.read_s8be()

        if self.tag == 202:
            pass
            self.payload_float4 = self._io.read_f4be()

        if self.tag == 203:
            pass
            self.payload_float8 = self._io.read_f8be()

        if  ((self.tag == 217) or (self.tag == 196) or (self.tag == 199)) :
            pass
            self.len_payload1 = self._io.read_u1()

        if  ((self.tag == 218) or (self.tag == 197) or (self.tag == 200) or (self.tag == 220) or (self.tag == 222)) :
            pass
            self.len_payload2 = self._io.read_u2be()

        if  ((self.tag == 219) or (self.tag == 198) or (self.tag == 201) or (self.tag == 221) or (self.tag == 223)) :
            pass
            self.len_payload4 = self._io.read_u4be()

        if self.is_extension:
            pass
            self.extension_type = self._io.read_s1()

        if self.is_str:
            pass
            self.str_value = (self._io.read_bytes(self.len_text)).decode(u"UTF-8")

        if  ((self.is_bin) or (self.is_extension)) :
            pass
            self.bin_value = self._io.read_bytes(self.len_bytes)

        if self.is_array:
            pass
            self.array_items = []
            for i in range(self.num_items):
                self.array_items.append(ClpSMsgpack(self._io, self, self._root))


        if self.is_map:
            pass
            self.map_items = []
            for i in range(self.num_items):
                self.map_items.append(ClpSMsgpack.MapEntry(self._io, self, self._root))




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

        if  ((self.tag == 217) or (self.tag == 196) or (self.tag == 199)) :
            pass

        if  ((self.tag == 218) or (self.tag == 197) or (self.tag == 200) or (self.tag == 220) or (self.tag == 222)) :
            pass

        if  ((self.tag == 219) or (self.tag == 198) or (self.tag == 201) or (self.tag == 221) or (self.tag == 223)) :
            pass

        if self.is_extension:
            pass

        if self.is_str:
            pass

        if  ((self.is_bin) or (self.is_extension)) :
            pass

        if self.is_array:
            pass
            for i in range(len(self.array_items)):
                pass
                self.array_items[i]._fetch_instances()


        if self.is_map:
            pass
            for i in range(len(self.map_items)):
                pass
                self.map_items[i]._fetch_instances()



    class MapEntry(KaitaiStruct):
        """One key and its value."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpSMsgpack.MapEntry, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.key = ClpSMsgpack(self._io, self, self._root)
            self.value = ClpSMsgpack(self._io, self, self._root)


        def _fetch_instances(self):
            pass
            self.key._fetch_instances()
            self.value._fetch_instances()


    @property
    def is_array(self):
        if hasattr(self, '_m_is_array'):
            return self._m_is_array

        self._m_is_array =  (( ((self.tag >= 144) and (self.tag < 160)) ) or (self.tag == 220) or (self.tag == 221)) 
        return getattr(self, '_m_is_array', None)

    @property
    def is_bin(self):
        if hasattr(self, '_m_is_bin'):
            return self._m_is_bin

        self._m_is_bin =  ((self.tag >= 196) and (self.tag <= 198)) 
        return getattr(self, '_m_is_bin', None)

    @property
    def is_bool(self):
        if hasattr(self, '_m_is_bool'):
            return self._m_is_bool

        self._m_is_bool =  ((self.tag == 194) or (self.tag == 195)) 
        return getattr(self, '_m_is_bool', None)

    @property
    def is_extension(self):
        if hasattr(self, '_m_is_extension'):
            return self._m_is_extension

        self._m_is_extension =  (( ((self.tag >= 199) and (self.tag <= 201)) ) or (self.is_fixed_extension)) 
        return getattr(self, '_m_is_extension', None)

    @property
    def is_fixed_extension(self):
        if hasattr(self, '_m_is_fixed_extension'):
            return self._m_is_fixed_extension

        self._m_is_fixed_extension =  ((self.tag >= 212) and (self.tag <= 216)) 
        return getattr(self, '_m_is_fixed_extension', None)

    @property
    def is_map(self):
        if hasattr(self, '_m_is_map'):
            return self._m_is_map

        self._m_is_map =  (( ((self.tag >= 128) and (self.tag < 144)) ) or (self.tag == 222) or (self.tag == 223)) 
        return getattr(self, '_m_is_map', None)

    @property
    def is_negative_fixint(self):
        if hasattr(self, '_m_is_negative_fixint'):
            return self._m_is_negative_fixint

        self._m_is_negative_fixint = self.tag >= 224
        return getattr(self, '_m_is_negative_fixint', None)

    @property
    def is_nil(self):
        if hasattr(self, '_m_is_nil'):
            return self._m_is_nil

        self._m_is_nil = self.tag == 192
        return getattr(self, '_m_is_nil', None)

    @property
    def is_positive_fixint(self):
        if hasattr(self, '_m_is_positive_fixint'):
            return self._m_is_positive_fixint

        self._m_is_positive_fixint = self.tag < 128
        return getattr(self, '_m_is_positive_fixint', None)

    @property
    def is_str(self):
        if hasattr(self, '_m_is_str'):
            return self._m_is_str

        self._m_is_str =  (( ((self.tag >= 160) and (self.tag < 192)) ) or ( ((self.tag >= 217) and (self.tag <= 219)) )) 
        return getattr(self, '_m_is_str', None)

    @property
    def is_uint(self):
        if hasattr(self, '_m_is_uint'):
            return self._m_is_uint

        self._m_is_uint =  ((self.tag < 128) or ( ((self.tag >= 204) and (self.tag <= 207)) )) 
        return getattr(self, '_m_is_uint', None)

    @property
    def len_any(self):
        """Length or count that stands after the tag."""
        if hasattr(self, '_m_len_any'):
            return self._m_len_any

        if  (( ((self.tag >= 196) and (self.tag <= 201)) ) or ( ((self.tag >= 217) and (self.tag <= 223)) )) :
            pass
            self._m_len_any = (self.len_payload1 if  ((self.tag == 217) or (self.tag == 196) or (self.tag == 199))  else (self.len_payload2 if  ((self.tag == 218) or (self.tag == 197) or (self.tag == 200) or (self.tag == 220) or (self.tag == 222))  else self.len_payload4))

        return getattr(self, '_m_len_any', None)

    @property
    def len_bytes(self):
        if hasattr(self, '_m_len_bytes'):
            return self._m_len_bytes

        self._m_len_bytes = (1 << self.tag - 212 if self.is_fixed_extension else self.len_any)
        return getattr(self, '_m_len_bytes', None)

    @property
    def len_text(self):
        if hasattr(self, '_m_len_text'):
            return self._m_len_text

        self._m_len_text = (self.tag & 31 if self.tag < 192 else self.len_any)
        return getattr(self, '_m_len_text', None)

    @property
    def num_items(self):
        if hasattr(self, '_m_num_items'):
            return self._m_num_items

        self._m_num_items = (self.tag & 15 if self.tag < 160 else self.len_any)
        return getattr(self, '_m_num_items', None)

    @property
    def uint_value(self):
        if hasattr(self, '_m_uint_value'):
            return self._m_uint_value

        if self.is_uint:
            pass
            self._m_uint_value = (self.tag if self.tag < 128 else (self.payload_uint1 if self.tag == 204 else (self.payload_uint2 if self.tag == 205 else (self.payload_uint4 if self.tag == 206 else self.payload_uint8))))

        return getattr(self, '_m_uint_value', None)


