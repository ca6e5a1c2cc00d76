# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from . import clp_s_msgpack
from . import utf8_text
from enum import IntEnum


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class ClpSMetadata(KaitaiStruct):
    """The packets that describe a clp-s archive: offsets of its sections, the range
    of its timestamps, and which input each range of records came from. Packets
    may come in any order; unknown kinds are skipped by their size.
    
    .. seealso::
       Metadata section - https://docs.yscope.com/clp/main/dev-docs/design-clp-s-single-file-archive.html
    """

    class PacketType(IntEnum):
        archive_info = 0
        archive_file_info = 1
        timestamp_dictionary = 2
        range_index = 3

    class TimestampEncoding(IntEnum):
        unknown = 0
        epoch = 1
        double_epoch = 2
    def __init__(self, _io, _parent=None, _root=None):
        super(ClpSMetadata, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.num_packets = self._io.read_u1()
        self.packets = []
        for i in range(self.num_packets):
            self.packets.append(ClpSMetadata.Packet(self._io, self, self._root))



    def _fetch_instances(self):
        pass
        for i in range(len(self.packets)):
            pass
            self.packets[i]._fetch_instances()


    class Packet(KaitaiStruct):
        """One typed, sized packet."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpSMetadata.Packet, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.type = KaitaiStream.resolve_enum(ClpSMetadata.PacketType, self._io.read_u1())
            self.len_body = self._io.read_u4le()
            if not self.len_body <= self._io.size() - self._io.pos():
                raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.len_body, self._io, u"/types/packet/seq/1")
            self._raw_body = self._io.read_bytes(self.len_body)
            _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
            self.body = ClpSMetadata.PacketBody(self.type, _io__raw_body, self, self._root)


        def _fetch_instances(self):
            pass
            self.body._fetch_instances()


    class PacketBody(KaitaiStruct):
        """Content of a packet, parsed when it is used: a packet that is broken
        or of an unknown kind does not hide the others.
        """
        def __init__(self, packet_type, _io, _parent=None, _root=None):
            super(ClpSMetadata.PacketBody, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self.packet_type = packet_type
            self._read()

        def _read(self):
            pass


        def _fetch_instances(self):
            pass
            _ = self.content
            if hasattr(self, '_m_content'):
                pass
                _on = self.packet_type
                if _on == ClpSMetadata.PacketType.archive_file_info:
                    pass
                    self._m_content._fetch_instances()
                elif _on == ClpSMetadata.PacketType.archive_info:
                    pass
                    self._m_content._fetch_instances()
                elif _on == ClpSMetadata.PacketType.range_index:
                    pass
                    self._m_content._fetch_instances()
                elif _on == ClpSMetadata.PacketType.timestamp_dictionary:
                    pass
                    self._m_content._fetch_instances()
                else:
                    pass


        @property
        def content(self):
            """Raw bytes when the kind is unknown."""
            if hasattr(self, '_m_content'):
                return self._m_content

            _pos = self._io.pos()
            self._io.seek(0)
            _on = self.packet_type
            if _on == ClpSMetadata.PacketType.archive_file_info:
                pass
                self._raw__m_content = self._io.read_bytes(self._io.size())
                _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                self._m_content = clp_s_msgpack.ClpSMsgpack(_io__raw__m_content)
            elif _on == ClpSMetadata.PacketType.archive_info:
                pass
                self._raw__m_content = self._io.read_bytes(self._io.size())
                _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                self._m_content = clp_s_msgpack.ClpSMsgpack(_io__raw__m_content)
            elif _on == ClpSMetadata.PacketType.range_index:
                pass
                self._raw__m_content = self._io.read_bytes(self._io.size())
                _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                self._m_content = clp_s_msgpack.ClpSMsgpack(_io__raw__m_content)
            elif _on == ClpSMetadata.PacketType.timestamp_dictionary:
                pass
                self._raw__m_content = self._io.read_bytes(self._io.size())
                _io__raw__m_content = KaitaiStream(BytesIO(self._raw__m_content))
                self._m_content = ClpSMetadata.TimestampDictionary(_io__raw__m_content, self, self._root)
            else:
                pass
                self._m_content = self._io.read_bytes(self._io.size())
            self._io.seek(_pos)
            return getattr(self, '_m_content', None)


    class TimestampDictionary(KaitaiStruct):
        """Ranges of the timestamp columns, and the patterns that turn stored
        epochs back into the text they came from.
        
        .. seealso::
           clp-s format description, TimestampDictionary packet
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpSMetadata.TimestampDictionary, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.num_ranges = self._io.read_u8le()
            if not self.num_ranges <= (self._io.size() - self._io.pos()):
                raise kaitaistruct.ValidationGreaterThanError((self._io.size() - self._io.pos()), self.num_ranges, self._io, u"/types/timestamp_dictionary/seq/0")
            self.ranges = []
            for i in range(self.num_ranges):
                self.ranges.append(ClpSMetadata.TimestampRange(self._io, self, self._root))

            self.num_patterns = self._io.read_u8le()
            if not self.num_patterns <= (self._io.size() - self._io.pos()):
                raise kaitaistruct.ValidationGreaterThanError((self._io.size() - self._io.pos()), self.num_patterns, self._io, u"/types/timestamp_dictionary/seq/2")
            self.patterns = []
            for i in range(self.num_patterns):
                self.patterns.append(ClpSMetadata.TimestampPattern(self._io, self, self._root))



        def _fetch_instances(self):
            pass
            for i in range(len(self.ranges)):
                pass
                self.ranges[i]._fetch_instances()

            for i in range(len(self.patterns)):
                pass
                self.patterns[i]._fetch_instances()



    class TimestampPattern(KaitaiStruct):
        """One pattern. Up to 0.4.1 percent signs start the specifiers, from 0.5.0
        on backslashes do and string patterns carry their quotes.
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpSMetadata.TimestampPattern, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.pattern_id = self._io.read_u8le()
            self.len_pattern = self._io.read_u8le()
            if not self.len_pattern <= (self._io.size() - self._io.pos()):
                raise kaitaistruct.ValidationGreaterThanError((self._io.size() - self._io.pos()), self.len_pattern, self._io, u"/types/timestamp_pattern/seq/1")
            self._raw_pattern = self._io.read_bytes(self.len_pattern)
            _io__raw_pattern = KaitaiStream(BytesIO(self._raw_pattern))
            self.pattern = utf8_text.Utf8Text(_io__raw_pattern)


        def _fetch_instances(self):
            pass
            self.pattern._fetch_instances()


    class TimestampRange(KaitaiStruct):
        """Inclusive bounds of one timestamp key."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ClpSMetadata.TimestampRange, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.len_key = self._io.read_u8le()
            if not self.len_key <= (self._io.size() - self._io.pos()):
                raise kaitaistruct.ValidationGreaterThanError((self._io.size() - self._io.pos()), self.len_key, self._io, u"/types/timestamp_range/seq/0")
            self._raw_key = self._io.read_bytes(self.len_key)
            _io__raw_key = KaitaiStream(BytesIO(self._raw_key))
            self.key = utf8_text.Utf8Text(_io__raw_key)
            self.num_column_ids = self._io.read_u8le()
            if not self.num_column_ids <= ((self._io.size() - self._io.pos()) // 4):
                raise kaitaistruct.ValidationGreaterThanError(((self._io.size() - self._io.pos()) // 4), self.num_column_ids, self._io, u"/types/timestamp_range/seq/2")
            self.column_ids = []
            for i in range(self.num_column_ids):
                self.column_ids.append(self._io.read_s4le())

            self.encoding = KaitaiStream.resolve_enum(ClpSMetadata.TimestampEncoding, self._io.read_u8le())
            if self.encoding == ClpSMetadata.TimestampEncoding.epoch:
                pass
                self.begin_epoch = self._io.read_s8le()

            if self.encoding == ClpSMetadata.TimestampEncoding.epoch:
                pass
                self.end_epoch = self._io.read_s8le()

            if self.encoding == ClpSMetadata.TimestampEncoding.double_epoch:
                pass
                self.begin_double = self._io.read_f8le()

            if self.encoding == ClpSMetadata.TimestampEncoding.double_epoch:
                pass
                self.end_double = self._io.read_f8le()



        def _fetch_instances(self):
            pass
            self.key._fetch_instances()
            for i in range(len(self.column_ids)):
                pass

            if self.encoding == ClpSMetadata.TimestampEncoding.epoch:
                pass

            if self.encoding == ClpSMetadata.TimestampEncoding.epoch:
                pass

            if self.encoding == ClpSMetadata.TimestampEncoding.double_epoch:
                pass

            if self.encoding == ClpSMetadata.TimestampEncoding.double_epoch:
                pass




