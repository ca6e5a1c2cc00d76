# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class LeveldbVarint(KaitaiStruct):
    """An unsigned integer of at most 64 bits: seven bits per byte, least significant
    group first, the top bit set on every byte but the last. Protocol Buffers use
    the same encoding.
    
    Unlike in some other formats a longer form than needed (`80 00`) is accepted,
    because every reader of the LevelDB family accepts it. Ten bytes hold 70 bits;
    what passes 64 is refused.
    
    The value is summed by multiplication, because shifts are cut to 32 bits in
    JavaScript. There it is exact up to 2^53, everywhere else up to 2^64 - 1.
    
    .. seealso::
       GetVarint64Ptr - https://github.com/google/leveldb/blob/main/util/coding.cc
    """
    SEQ_FIELDS = ["groups"]
    def __init__(self, _io, _parent=None, _root=None):
        super(LeveldbVarint, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['groups']['start'] = self._io.pos()
        self._debug['groups']['arr'] = []
        self.groups = []
        i = 0
        while True:
            self._debug['groups']['arr'].append({'start': self._io.pos()})
            _ = self._io.read_u1()
            self.groups.append(_)
            self._debug['groups']['arr'][len(self.groups) - 1]['end'] = self._io.pos()
            _ = self.groups[i]
            if not  ((i < 9) or ( ((i == 9) and (_ <= 1)) )) :
                raise kaitaistruct.ValidationExprError(self.groups[i], self._io, u"/seq/0")
            if _ < 128:
                break
            i += 1
        self._debug['groups']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass
        for i in range(len(self.groups)):
            pass


    @property
    def len(self):
        """Bytes taken, 1 to 10."""
        if hasattr(self, '_m_len'):
            return self._m_len

        self._m_len = len(self.groups)
        return getattr(self, '_m_len', None)

    @property
    def value(self):
        """The integer itself."""
        if hasattr(self, '_m_value'):
            return self._m_value

        self._m_value = ((((((((self.groups[0] % 128 + ((self.groups[1] % 128) * 128 if self.len > 1 else 0)) + ((self.groups[2] % 128) * 16384 if self.len > 2 else 0)) + ((self.groups[3] % 128) * 2097152 if self.len > 3 else 0)) + ((self.groups[4] % 128) * 268435456 if self.len > 4 else 0)) + ((self.groups[5] % 128) * 34359738368 if self.len > 5 else 0)) + ((self.groups[6] % 128) * 4398046511104 if self.len > 6 else 0)) + ((self.groups[7] % 128) * 562949953421312 if self.len > 7 else 0)) + ((self.groups[8] % 128) * 72057594037927936 if self.len > 8 else 0)) + ((self.groups[9] % 128) * 9223372036854775808 if self.len > 9 else 0)
        return getattr(self, '_m_value', None)


