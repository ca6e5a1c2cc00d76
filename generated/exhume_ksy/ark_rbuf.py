# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class ArkRbuf(KaitaiStruct):
    """rbuf is the serialization of the Ark robotics framework. Everything is
    little-endian and packed. Which fields an object has is not on the wire: a
    schema registry (JSON) declares it, found in the manifest of the log.
    
    Read as a file, this schema shows what is known of any object without its
    registry: the header byte, and the bytes that hold fields and groups. The
    types below are what the other Ark schemas are made of.
    
    .. seealso::
       On-Disk Format - https://ark.tbdrobotics.com/docs/overviews/logging/format/
    """
    def __init__(self, _io, _parent=None, _root=None):
        super(ArkRbuf, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.header = ArkRbuf.ObjectHeader(self._io, self, self._root)


    def _fetch_instances(self):
        pass
        self.header._fetch_instances()
        _ = self.body
        if hasattr(self, '_m_body'):
            pass


    class ByteBuffer(KaitaiStruct):
        """Bytes, counted."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkRbuf.ByteBuffer, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.len_value = self._io.read_u4le()
            if not self.len_value <= self._io.size() - self._io.pos():
                raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.len_value, self._io, u"/types/byte_buffer/seq/0")
            self.value = self._io.read_bytes(self.len_value)


        def _fetch_instances(self):
            pass


    class Count(KaitaiStruct):
        """Opens an arraylist or a dictionary, whose elements or pairs follow."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkRbuf.Count, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.value = self._io.read_u4le()


        def _fetch_instances(self):
            pass


    class Group(KaitaiStruct):
        """A group whose number the schema does not know; readers skip it."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkRbuf.Group, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.header = ArkRbuf.GroupHeader(self._io, self, self._root)
            self.body = self._io.read_bytes(self.header.len_body)


        def _fetch_instances(self):
            pass
            self.header._fetch_instances()


    class GroupHeader(KaitaiStruct):
        """Opens a group of fields that was added to a schema after its first
        version. Its fields follow directly, without an object header.
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkRbuf.GroupHeader, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.magic = self._io.read_bits_int_be(4)
            if not self.magic == 14:
                raise kaitaistruct.ValidationNotEqualError(14, self.magic, self._io, u"/types/group_header/seq/0")
            self.reserved = self._io.read_bits_int_be(1) != 0
            self.has_more = self._io.read_bits_int_be(1) != 0
            self.reserved1 = self._io.read_bits_int_be(2)
            self.number = self._io.read_u1()
            self.len_body = self._io.read_u4le()
            if not self.len_body <= self._io.size() - self._io.pos():
                raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.len_body, self._io, u"/types/group_header/seq/5")


        def _fetch_instances(self):
            pass


    class GroupList(KaitaiStruct):
        """The groups of an object, in the order of its schema."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkRbuf.GroupList, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.groups = []
            i = 0
            while True:
                _ = ArkRbuf.Group(self._io, self, self._root)
                self.groups.append(_)
                if (not (_.header.has_more)):
                    break
                i += 1


        def _fetch_instances(self):
            pass
            for i in range(len(self.groups)):
                pass
                self.groups[i]._fetch_instances()



    class Guid(KaitaiStruct):
        """A GUID as two integers: the first eight bytes of its text form reversed,
        then the last eight bytes reversed. 00112233-4455-6677-8899-aabbccddeeff
        is stored as 77 66 55 44 33 22 11 00 ff ee dd cc bb aa 99 88.
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkRbuf.Guid, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.digits1 = self._io.read_u4le()
            self.digits0 = self._io.read_u4le()
            self.digits3 = self._io.read_u4le()
            self.digits2 = self._io.read_u4le()


        def _fetch_instances(self):
            pass

        @property
        def high(self):
            """The first 16 hexadecimal digits of the text form."""
            if hasattr(self, '_m_high'):
                return self._m_high

            self._m_high = (self.digits0 * 4294967296 + self.digits1)
            return getattr(self, '_m_high', None)

        @property
        def low(self):
            """The last 16 hexadecimal digits of the text form."""
            if hasattr(self, '_m_low'):
                return self._m_low

            self._m_low = (self.digits2 * 4294967296 + self.digits3)
            return getattr(self, '_m_low', None)


    class ObjectHeader(KaitaiStruct):
        """Opens every object but those of `final` schemas. 0xd1: no groups; 0xd5:
        at least one group follows the fields. The state is per object.
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkRbuf.ObjectHeader, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.magic = self._io.read_bits_int_be(4)
            if not self.magic == 13:
                raise kaitaistruct.ValidationNotEqualError(13, self.magic, self._io, u"/types/object_header/seq/0")
            self.reserved = self._io.read_bits_int_be(1) != 0
            self.has_groups = self._io.read_bits_int_be(1) != 0
            self.version = self._io.read_bits_int_be(2)
            if not self.version == 1:
                raise kaitaistruct.ValidationNotEqualError(1, self.version, self._io, u"/types/object_header/seq/3")


        def _fetch_instances(self):
            pass

        @property
        def groups_follow(self):
            """A group follows the fields, said by either bit."""
            if hasattr(self, '_m_groups_follow'):
                return self._m_groups_follow

            self._m_groups_follow =  ((self.has_groups) or (self.reserved)) 
            return getattr(self, '_m_groups_follow', None)


    class OptionalTime(KaitaiStruct):
        """A time that may be absent."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkRbuf.OptionalTime, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.is_present = self._io.read_u1()
            if self.is_present != 0:
                pass
                self.value = self._io.read_u8le()



        def _fetch_instances(self):
            pass
            if self.is_present != 0:
                pass



    class StringList(KaitaiStruct):
        """An arraylist of strings."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkRbuf.StringList, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.num_items = self._io.read_u4le()
            if not self.num_items <= (self._io.size() - self._io.pos()) // 4:
                raise kaitaistruct.ValidationGreaterThanError((self._io.size() - self._io.pos()) // 4, self.num_items, self._io, u"/types/string_list/seq/0")
            self.items = []
            for i in range(self.num_items):
                self.items.append(ArkRbuf.Text(self._io, self, self._root))



        def _fetch_instances(self):
            pass
            for i in range(len(self.items)):
                pass
                self.items[i]._fetch_instances()



    class Text(KaitaiStruct):
        """A string, counted in bytes, without a terminator."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkRbuf.Text, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.len_value = self._io.read_u4le()
            if not self.len_value <= self._io.size() - self._io.pos():
                raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.len_value, self._io, u"/types/text/seq/0")
            self.value = (self._io.read_bytes(self.len_value)).decode(u"UTF-8")


        def _fetch_instances(self):
            pass


    class VariantHeader(KaitaiStruct):
        """Opens an object of one of several types."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ArkRbuf.VariantHeader, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.index = self._io.read_u1()
            self.len_object = self._io.read_u4le()
            if not self.len_object <= self._io.size() - self._io.pos():
                raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.len_object, self._io, u"/types/variant_header/seq/1")


        def _fetch_instances(self):
            pass


    @property
    def body(self):
        """Fields in the order of the schema, then the groups."""
        if hasattr(self, '_m_body'):
            return self._m_body

        _pos = self._io.pos()
        self._io.seek(1)
        self._m_body = self._io.read_bytes(self._io.size() - 1)
        self._io.seek(_pos)
        return getattr(self, '_m_body', None)


