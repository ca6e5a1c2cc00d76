# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
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
    
    The groups are fields of their own, not an array, because a check of what an
    array repeats until its end does not compile in Java, C# and Perl. The value is
    summed by multiplication, because shifts are cut to 32 bits in JavaScript.
    There it is exact up to 2^53, everywhere else up to 2^64 - 1.
    
    .. seealso::
       GetVarint64Ptr - https://github.com/google/leveldb/blob/main/util/coding.cc
    """
    SEQ_FIELDS = ["group0", "group1", "group2", "group3", "group4", "group5", "group6", "group7", "group8", "group9"]
    def __init__(self, _io, _parent=None, _root=None):
        super(LeveldbVarint, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['group0']['start'] = self._io.pos()
        self.group0 = self._io.read_u1()
        self._debug['group0']['end'] = self._io.pos()
        if self.group0 >= 128:
            pass
            self._debug['group1']['start'] = self._io.pos()
            self.group1 = self._io.read_u1()
            self._debug['group1']['end'] = self._io.pos()

        if  ((self.group0 >= 128) and (self.group1 >= 128)) :
            pass
            self._debug['group2']['start'] = self._io.pos()
            self.group2 = self._io.read_u1()
            self._debug['group2']['end'] = self._io.pos()

        if  ((self.group0 >= 128) and (self.group1 >= 128) and (self.group2 >= 128)) :
            pass
            self._debug['group3']['start'] = self._io.pos()
            self.group3 = self._io.read_u1()
            self._debug['group3']['end'] = self._io.pos()

        if  ((self.group0 >= 128) and (self.group1 >= 128) and (self.group2 >= 128) and (self.group3 >= 128)) :
            pass
            self._debug['group4']['start'] = self._io.pos()
            self.group4 = self._io.read_u1()
            self._debug['group4']['end'] = self._io.pos()

        if  ((self.group0 >= 128) and (self.group1 >= 128) and (self.group2 >= 128) and (self.group3 >= 128) and (self.group4 >= 128)) :
            pass
            self._debug['group5']['start'] = self._io.pos()
            self.group5 = self._io.read_u1()
            self._debug['group5']['end'] = self._io.pos()

        if  ((self.group0 >= 128) and (self.group1 >= 128) and (self.group2 >= 128) and (self.group3 >= 128) and (self.group4 >= 128) and (self.group5 >= 128)) :
            pass
            self._debug['group6']['start'] = self._io.pos()
            self.group6 = self._io.read_u1()
            self._debug['group6']['end'] = self._io.pos()

        if  ((self.group0 >= 128) and (self.group1 >= 128) and (self.group2 >= 128) and (self.group3 >= 128) and (self.group4 >= 128) and (self.group5 >= 128) and (self.group6 >= 128)) :
            pass
            self._debug['group7']['start'] = self._io.pos()
            self.group7 = self._io.read_u1()
            self._debug['group7']['end'] = self._io.pos()

        if  ((self.group0 >= 128) and (self.group1 >= 128) and (self.group2 >= 128) and (self.group3 >= 128) and (self.group4 >= 128) and (self.group5 >= 128) and (self.group6 >= 128) and (self.group7 >= 128)) :
            pass
            self._debug['group8']['start'] = self._io.pos()
            self.group8 = self._io.read_u1()
            self._debug['group8']['end'] = self._io.pos()

        if  ((self.group0 >= 128) and (self.group1 >= 128) and (self.group2 >= 128) and (self.group3 >= 128) and (self.group4 >= 128) and (self.group5 >= 128) and (self.group6 >= 128) and (self.group7 >= 128) and (self.group8 >= 128)) :
            pass
            self._debug['group9']['start'] = self._io.pos()
            self.group9 = self._io.read_u1()
            self._debug['group9']['end'] = self._io.pos()
            if not self.group9 <= 1:
                raise kaitaistruct.ValidationGreaterThanError(1, self.group9, self._io, u"/seq/9")



    def _fetch_instances(self):
        pass
        if self.group0 >= 128:
            pass

        if  ((self.group0 >= 128) and (self.group1 >= 128)) :
            pass

        if  ((self.group0 >= 128) and (self.group1 >= 128) and (self.group2 >= 128)) :
            pass

        if  ((self.group0 >= 128) and (self.group1 >= 128) and (self.group2 >= 128) and (self.group3 >= 128)) :
            pass

        if  ((self.group0 >= 128) and (self.group1 >= 128) and (self.group2 >= 128) and (self.group3 >= 128) and (self.group4 >= 128)) :
            pass

        if  ((self.group0 >= 128) and (self.group1 >= 128) and (self.group2 >= 128) and (self.group3 >= 128) and (self.group4 >= 128) and (self.group5 >= 128)) :
            pass

        if  ((self.group0 >= 128) and (self.group1 >= 128) and (self.group2 >= 128) and (self.group3 >= 128) and (self.group4 >= 128) and (self.group5 >= 128) and (self.group6 >= 128)) :
            pass

        if  ((self.group0 >= 128) and (self.group1 >= 128) and (self.group2 >= 128) and (self.group3 >= 128) and (self.group4 >= 128) and (self.group5 >= 128) and (self.group6 >= 128) and (self.group7 >= 128)) :
            pass

        if  ((self.group0 >= 128) and (self.group1 >= 128) and (self.group2 >= 128) and (self.group3 >= 128) and (self.group4 >= 128) and (self.group5 >= 128) and (self.group6 >= 128) and (self.group7 >= 128) and (self.group8 >= 128)) :
            pass


    @property
    def value(self):
        """The integer itself."""
        if hasattr(self, '_m_value'):
            return self._m_value

        self._m_value = ((self.group0 % 128) + (0 if self.group0 < 128 else 128 * ((self.group1 % 128) + (0 if self.group1 < 128 else 128 * ((self.group2 % 128) + (0 if self.group2 < 128 else 128 * ((self.group3 % 128) + (0 if self.group3 < 128 else 128 * ((self.group4 % 128) + (0 if self.group4 < 128 else 128 * ((self.group5 % 128) + (0 if self.group5 < 128 else 128 * ((self.group6 % 128) + (0 if self.group6 < 128 else 128 * ((self.group7 % 128) + (0 if self.group7 < 128 else 128 * ((self.group8 % 128) + (0 if self.group8 < 128 else 128 * self.group9))))))))))))))))))
        return getattr(self, '_m_value', None)


