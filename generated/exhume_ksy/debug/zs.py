# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from . import zs_index_block
from . import uleb128
from . import zs_data_block
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class Zs(KaitaiStruct):
    """A read-only, sorted multiset of byte records in compressed, checksummed blocks
    with a tree of index blocks over them, for fast lookup by prefix or range and
    for streaming.
    
    A file is a magic number, a header, and blocks without gaps until the end.
    Block payloads are compressed each on its own; `zs_data_block` and
    `zs_index_block` describe them decompressed. Where the codec is `none` they
    are opened in place.
    
    .. seealso::
       ZS 0.10, On-disk layout - https://zs.readthedocs.io/en/latest/format.html
    """
    SEQ_FIELDS = ["magic", "len_header", "header", "crc_header"]
    def __init__(self, _io, _parent=None, _root=None):
        super(Zs, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['magic']['start'] = self._io.pos()
        self.magic = self._io.read_bytes(8)
        self._debug['magic']['end'] = self._io.pos()
        if not  ((self.magic == b"\xAB\x5A\x53\x66\x69\x4C\x65\x01") or (self.magic == b"\xAB\x5A\x53\x74\x6F\x42\x65\x01")) :
            raise kaitaistruct.ValidationNotAnyOfError(self.magic, self._io, u"/seq/0")
        self._debug['len_header']['start'] = self._io.pos()
        self.len_header = self._io.read_u8le()
        self._debug['len_header']['end'] = self._io.pos()
        if not self.len_header <= (self._io.size() - self._io.pos()):
            raise kaitaistruct.ValidationGreaterThanError((self._io.size() - self._io.pos()), self.len_header, self._io, u"/seq/1")
        self._debug['header']['start'] = self._io.pos()
        self._raw_header = self._io.read_bytes(self.len_header)
        _io__raw_header = KaitaiStream(BytesIO(self._raw_header))
        self.header = Zs.FileHeader(_io__raw_header, self, self._root)
        self.header._read()
        self._debug['header']['end'] = self._io.pos()
        self._debug['crc_header']['start'] = self._io.pos()
        self.crc_header = Zs.Crc64(self._io, self, self._root)
        self.crc_header._read()
        self._debug['crc_header']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass
        self.header._fetch_instances()
        self.crc_header._fetch_instances()
        _ = self.blocks
        if hasattr(self, '_m_blocks'):
            pass
            for i in range(len(self._m_blocks)):
                pass
                self._m_blocks[i]._fetch_instances()


        _ = self.root
        if hasattr(self, '_m_root'):
            pass
            self._m_root._fetch_instances()


    class Block(KaitaiStruct):
        """One block with its framing."""
        SEQ_FIELDS = ["len_body", "body", "crc"]
        def __init__(self, _io, _parent=None, _root=None):
            super(Zs.Block, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['len_body']['start'] = self._io.pos()
            self.len_body = uleb128.Uleb128(self._io)
            self.len_body._read()
            self._debug['len_body']['end'] = self._io.pos()
            _ = self.len_body
            if not _.value <= (self._io.size() - self._io.pos()):
                raise kaitaistruct.ValidationExprError(self.len_body, self._io, u"/types/block/seq/0")
            self._debug['body']['start'] = self._io.pos()
            self._raw_body = self._io.read_bytes(self.len_body.value)
            _io__raw_body = KaitaiStream(BytesIO(self._raw_body))
            self.body = Zs.BlockBody(_io__raw_body, self, self._root)
            self.body._read()
            self._debug['body']['end'] = self._io.pos()
            self._debug['crc']['start'] = self._io.pos()
            self.crc = Zs.Crc64(self._io, self, self._root)
            self.crc._read()
            self._debug['crc']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.len_body._fetch_instances()
            self.body._fetch_instances()
            self.crc._fetch_instances()


    class BlockBody(KaitaiStruct):
        """What the block's checksum covers. Blocks of level 64 and above are
        reserved for extensions and are to be ignored.
        """
        SEQ_FIELDS = ["level", "payload"]
        def __init__(self, _io, _parent=None, _root=None):
            super(Zs.BlockBody, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['level']['start'] = self._io.pos()
            self.level = self._io.read_u1()
            self._debug['level']['end'] = self._io.pos()
            self._debug['payload']['start'] = self._io.pos()
            self.payload = self._io.read_bytes_full()
            self._debug['payload']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            _ = self.data_block
            if hasattr(self, '_m_data_block'):
                pass
                self._m_data_block._fetch_instances()

            _ = self.index_block
            if hasattr(self, '_m_index_block'):
                pass
                self._m_index_block._fetch_instances()


        @property
        def data_block(self):
            """The payload of a data block, where it is stored uncompressed."""
            if hasattr(self, '_m_data_block'):
                return self._m_data_block

            if  ((self.level == 0) and (self._root.header.is_stored)) :
                pass
                _pos = self._io.pos()
                self._io.seek(1)
                self._debug['_m_data_block']['start'] = self._io.pos()
                self._raw__m_data_block = self._io.read_bytes_full()
                _io__raw__m_data_block = KaitaiStream(BytesIO(self._raw__m_data_block))
                self._m_data_block = zs_data_block.ZsDataBlock(_io__raw__m_data_block)
                self._m_data_block._read()
                self._debug['_m_data_block']['end'] = self._io.pos()
                self._io.seek(_pos)

            return getattr(self, '_m_data_block', None)

        @property
        def index_block(self):
            """The payload of an index block, where it is stored uncompressed."""
            if hasattr(self, '_m_index_block'):
                return self._m_index_block

            if  ((self.level >= 1) and (self.level <= 63) and (self._root.header.is_stored)) :
                pass
                _pos = self._io.pos()
                self._io.seek(1)
                self._debug['_m_index_block']['start'] = self._io.pos()
                self._raw__m_index_block = self._io.read_bytes_full()
                _io__raw__m_index_block = KaitaiStream(BytesIO(self._raw__m_index_block))
                self._m_index_block = zs_index_block.ZsIndexBlock(_io__raw__m_index_block)
                self._m_index_block._read()
                self._debug['_m_index_block']['end'] = self._io.pos()
                self._io.seek(_pos)

            return getattr(self, '_m_index_block', None)


    class Crc64(KaitaiStruct):
        """A checksum of 64 bits, least significant byte first. Parts of 32 bits are
        exact in JavaScript too.
        """
        SEQ_FIELDS = ["low", "high"]
        def __init__(self, _io, _parent=None, _root=None):
            super(Zs.Crc64, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['low']['start'] = self._io.pos()
            self.low = self._io.read_u4le()
            self._debug['low']['end'] = self._io.pos()
            self._debug['high']['start'] = self._io.pos()
            self.high = self._io.read_u4le()
            self._debug['high']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass

        @property
        def value(self):
            """All 64 bits."""
            if hasattr(self, '_m_value'):
                return self._m_value

            self._m_value = (self.high * 4294967296 + self.low)
            return getattr(self, '_m_value', None)


    class FileHeader(KaitaiStruct):
        """What describes the file as a whole."""
        SEQ_FIELDS = ["ofs_root", "len_root", "len_file", "sha256_data", "codec", "len_metadata", "metadata", "extensions"]
        def __init__(self, _io, _parent=None, _root=None):
            super(Zs.FileHeader, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['ofs_root']['start'] = self._io.pos()
            self.ofs_root = self._io.read_u8le()
            self._debug['ofs_root']['end'] = self._io.pos()
            if not self.ofs_root <= 9223372036854775807:
                raise kaitaistruct.ValidationGreaterThanError(9223372036854775807, self.ofs_root, self._io, u"/types/file_header/seq/0")
            self._debug['len_root']['start'] = self._io.pos()
            self.len_root = self._io.read_u8le()
            self._debug['len_root']['end'] = self._io.pos()
            if not self.len_root <= 9223372036854775807:
                raise kaitaistruct.ValidationGreaterThanError(9223372036854775807, self.len_root, self._io, u"/types/file_header/seq/1")
            self._debug['len_file']['start'] = self._io.pos()
            self.len_file = self._io.read_u8le()
            self._debug['len_file']['end'] = self._io.pos()
            self._debug['sha256_data']['start'] = self._io.pos()
            self.sha256_data = self._io.read_bytes(32)
            self._debug['sha256_data']['end'] = self._io.pos()
            self._debug['codec']['start'] = self._io.pos()
            self.codec = self._io.read_bytes(16)
            self._debug['codec']['end'] = self._io.pos()
            self._debug['len_metadata']['start'] = self._io.pos()
            self.len_metadata = self._io.read_u8le()
            self._debug['len_metadata']['end'] = self._io.pos()
            if not self.len_metadata <= (self._io.size() - self._io.pos()):
                raise kaitaistruct.ValidationGreaterThanError((self._io.size() - self._io.pos()), self.len_metadata, self._io, u"/types/file_header/seq/5")
            self._debug['metadata']['start'] = self._io.pos()
            self.metadata = self._io.read_bytes(self.len_metadata)
            self._debug['metadata']['end'] = self._io.pos()
            self._debug['extensions']['start'] = self._io.pos()
            self.extensions = self._io.read_bytes_full()
            self._debug['extensions']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass

        @property
        def codec_name(self):
            """The same as text; any byte is a character."""
            if hasattr(self, '_m_codec_name'):
                return self._m_codec_name

            self._m_codec_name = (self.codec).decode(u"ISO-8859-1")
            return getattr(self, '_m_codec_name', None)

        @property
        def is_stored(self):
            """Whether payloads are stored as they are (codec `none`)."""
            if hasattr(self, '_m_is_stored'):
                return self._m_is_stored

            self._m_is_stored = self.codec == b"\x6E\x6F\x6E\x65\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
            return getattr(self, '_m_is_stored', None)

        @property
        def metadata_text(self):
            """The same as text."""
            if hasattr(self, '_m_metadata_text'):
                return self._m_metadata_text

            self._m_metadata_text = (self.metadata).decode(u"UTF-8")
            return getattr(self, '_m_metadata_text', None)


    @property
    def blocks(self):
        """Data, index and extension blocks until the end of the file."""
        if hasattr(self, '_m_blocks'):
            return self._m_blocks

        _pos = self._io.pos()
        self._io.seek(self.ofs_blocks)
        self._debug['_m_blocks']['start'] = self._io.pos()
        self._debug['_m_blocks']['arr'] = []
        self._m_blocks = []
        if not self._io.passes(self, '_m_blocks', lambda i, io: Zs.Block(io, self, self._root)):
            i = 0
            while not self._io.is_eof():
                self._debug['_m_blocks']['arr'].append({'start': self._io.pos()})
                _t__m_blocks = Zs.Block(self._io, self, self._root)
                try:
                    _t__m_blocks._read()
                finally:
                    self._m_blocks.append(_t__m_blocks)
                self._debug['_m_blocks']['arr'][len(self._m_blocks) - 1]['end'] = self._io.pos()
                i += 1

        self._debug['_m_blocks']['end'] = self._io.pos()
        self._io.seek(_pos)
        return getattr(self, '_m_blocks', None)

    @property
    def is_complete(self):
        """False in a file whose writing was never finished."""
        if hasattr(self, '_m_is_complete'):
            return self._m_is_complete

        self._m_is_complete = self.magic == b"\xAB\x5A\x53\x66\x69\x4C\x65\x01"
        return getattr(self, '_m_is_complete', None)

    @property
    def ofs_blocks(self):
        """Where the first block starts."""
        if hasattr(self, '_m_ofs_blocks'):
            return self._m_ofs_blocks

        self._m_ofs_blocks = (24 + self.len_header)
        return getattr(self, '_m_ofs_blocks', None)

    @property
    def root(self):
        """The index block with which every search starts. A file that was never
        finished has none.
        """
        if hasattr(self, '_m_root'):
            return self._m_root

        if self.is_complete:
            pass
            _pos = self._io.pos()
            self._io.seek(self.header.ofs_root)
            self._debug['_m_root']['start'] = self._io.pos()
            self._raw__m_root = self._io.read_bytes(self.header.len_root)
            _io__raw__m_root = KaitaiStream(BytesIO(self._raw__m_root))
            self._m_root = Zs.Block(_io__raw__m_root, self, self._root)
            self._m_root._read()
            self._debug['_m_root']['end'] = self._io.pos()
            _ = self._m_root
            if not _._io.size() == self.header.len_root:
                raise kaitaistruct.ValidationExprError(self._m_root, self._io, u"/instances/root")
            self._io.seek(_pos)

        return getattr(self, '_m_root', None)


