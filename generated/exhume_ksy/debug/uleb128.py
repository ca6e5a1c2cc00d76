# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class Uleb128(KaitaiStruct):
    """A variable-length unsigned integer of at most 64 bits: seven bits per byte,
    least significant group first, the top bit set on every byte but the last.
    
    Only the shortest form is accepted, as the formats that use it demand. A last
    byte of zero after others (`80 00`) and anything beyond 64 bits are refused.
    
    The groups are fields of their own, not an array, because a check of what an
    array repeats until its end does not compile in Java, C# and Perl. The value is
    summed by multiplication, because shifts are cut to 32 bits in JavaScript.
    There it is exact up to 2^53, everywhere else up to 2^64 - 1.
    
    .. seealso::
       Unsigned LEB128 - https://en.wikipedia.org/wiki/LEB128
    """
    SEQ_FIELDS = ["group0", "group1", "group2", "group3", "group4", "group5", "group6", "group7", "group8", "group9"]
    def __init__(self, _io, _parent=None, _root=None):
        super(Uleb128, self).__init__(_io)
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
            if not self.group1 >= 1:
                raise kaitaistruct.ValidationLessThanError(1, self.group1, self._io, u"/seq/1")

        if  ((self.group0 >= 128) and (self.group1 >= 128)) :
            pass
            self._debug['group2']['start'] = self._io.pos()
            self.group2 = self._io.read_u1()
            self._debug['group2']['end'] = self._io.pos()
            if not self.group2 >= 1:
                raise kaitaistruct.ValidationLessThanError(1, self.group2, self._io, u"/seq/2")

        if  ((self.group0 >= 128) and (self.group1 >= 128) and (self.group2 >= 128)) :
            pass
            self._debug['group3']['start'] = self._io.pos()
            self.group3 = self._io.read_u1()
            self._debug['group3']['end'] = self._io.pos()
            if not self.group3 >= 1:
                raise kaitaistruct.ValidationLessThanError(1, self.group3, self._io, u"/seq/3")

        if  ((self.group0 >= 128) and (self.group1 >= 128) and (self.group2 >= 128) and (self.group3 >= 128)) :
            pass
            self._debug['group4']['start'] = self._io.pos()
            self.group4 = self._io.read_u1()
            self._debug['group4']['end'] = self._io.pos()
            if not self.group4 >= 1:
                raise kaitaistruct.ValidationLessThanError(1, self.group4, self._io, u"/seq/4")

        if  ((self.group0 >= 128) and (self.group1 >= 128) and (self.group2 >= 128) and (self.group3 >= 128) and (self.group4 >= 128)) :
            pass
            self._debug['group5']['start'] = self._io.pos()
            self.group5 = self._io.read_u1()
            self._debug['group5']['end'] = self._io.pos()
            if not self.group5 >= 1:
                raise kaitaistruct.ValidationLessThanError(1, self.group5, self._io, u"/seq/5")

        if  ((self.group0 >= 128) and (self.group1 >= 128) and (self.group2 >= 128) and (self.group3 >= 128) and (self.group4 >= 128) and (self.group5 >= 128)) :
            pass
            self._debug['group6']['start'] = self._io.pos()
            self.group6 = self._io.read_u1()
            self._debug['group6']['end'] = self._io.pos()
            if not self.group6 >= 1:
                raise kaitaistruct.ValidationLessThanError(1, self.group6, self._io, u"/seq/6")

        if  ((self.group0 >= 128) and (self.group1 >= 128) and (self.group2 >= 128) and (self.group3 >= 128) and (self.group4 >= 128) and (self.group5 >= 128) and (self.group6 >= 128)) :
            pass
            self._debug['group7']['start'] = self._io.pos()
            self.group7 = self._io.read_u1()
            self._debug['group7']['end'] = self._io.pos()
            if not self.group7 >= 1:
                raise kaitaistruct.ValidationLessThanError(1, self.group7, self._io, u"/seq/7")

        if  ((self.group0 >= 128) and (self.group1 >= 128) and (self.group2 >= 128) and (self.group3 >= 128) and (self.group4 >= 128) and (self.group5 >= 128) and (self.group6 >= 128) and (self.group7 >= 128)) :
            pass
            self._debug['group8']['start'] = self._io.pos()
            self.group8 = self._io.read_u1()
            self._debug['group8']['end'] = self._io.pos()
            if not self.group8 >= 1:
                raise kaitaistruct.ValidationLessThanError(1, self.group8, self._io, u"/seq/8")

        if  ((self.group0 >= 128) and (self.group1 >= 128) and (self.group2 >= 128) and (self.group3 >= 128) and (self.group4 >= 128) and (self.group5 >= 128) and (self.group6 >= 128) and (self.group7 >= 128) and (self.group8 >= 128)) :
            pass
            self._debug['group9']['start'] = self._io.pos()
            self.group9 = self._io.read_u1()
            self._debug['group9']['end'] = self._io.pos()
            if not self.group9 == 1:
                raise kaitaistruct.ValidationNotEqualError(1, self.group9, self._io, u"/seq/9")



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


