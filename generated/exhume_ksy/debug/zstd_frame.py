# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct
from ._stream import BytesIO, KaitaiStream
from enum import IntEnum
import collections


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class ZstdFrame(KaitaiStruct):
    """The framing of a Zstandard stream: frame headers, block headers and
    skippable frames, back to back to the end. Compressed blocks stay opaque;
    the bytes of raw blocks are the payload itself, which is how an archive
    recoded with stored payloads shows them in place.
    
    .. seealso::
       Source - https://www.rfc-editor.org/rfc/rfc8878
    """

    class BlockKind(IntEnum):
        raw = 0
        rle = 1
        compressed = 2

    class FrameKind(IntEnum):
        skippable0 = 407710288
        skippable1 = 407710289
        skippable2 = 407710290
        skippable3 = 407710291
        skippable4 = 407710292
        skippable5 = 407710293
        skippable6 = 407710294
        skippable7 = 407710295
        skippable8 = 407710296
        skippable9 = 407710297
        skippable10 = 407710298
        skippable11 = 407710299
        skippable12 = 407710300
        skippable13 = 407710301
        skippable14 = 407710302
        skippable15 = 407710303
        zstandard = 4247762216
    SEQ_FIELDS = ["frames"]
    def __init__(self, _io, _parent=None, _root=None):
        super(ZstdFrame, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._debug = collections.defaultdict(dict)

    def _read(self):
        self._debug['frames']['start'] = self._io.pos()
        self._debug['frames']['arr'] = []
        self.frames = []
        if not self._io.passes(self, 'frames', lambda i, io: ZstdFrame.Frame(io, self, self._root)):
            i = 0
            while not self._io.is_eof():
                self._debug['frames']['arr'].append({'start': self._io.pos()})
                _t_frames = ZstdFrame.Frame(self._io, self, self._root)
                try:
                    _t_frames._read()
                finally:
                    self.frames.append(_t_frames)
                self._debug['frames']['arr'][len(self.frames) - 1]['end'] = self._io.pos()
                i += 1

        self._debug['frames']['end'] = self._io.pos()


    def _fetch_instances(self):
        pass
        for i in range(len(self.frames)):
            pass
            self.frames[i]._fetch_instances()


    class Block(KaitaiStruct):
        """One block: three header bytes, then its content.
        """
        SEQ_FIELDS = ["header", "content"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ZstdFrame.Block, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['header']['start'] = self._io.pos()
            self.header = ZstdFrame.BlockHeader(self._io, self, self._root)
            self.header._read()
            self._debug['header']['end'] = self._io.pos()
            self._debug['content']['start'] = self._io.pos()
            self._raw_content = self._io.read_bytes(self.len_content)
            _io__raw_content = KaitaiStream(BytesIO(self._raw_content))
            self.content = ZstdFrame.BlockContent(_io__raw_content, self, self._root)
            self.content._read()
            self._debug['content']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass
            self.header._fetch_instances()
            self.content._fetch_instances()

        @property
        def is_raw(self):
            if hasattr(self, '_m_is_raw'):
                return self._m_is_raw

            self._m_is_raw = self.header.kind == ZstdFrame.BlockKind.raw
            return getattr(self, '_m_is_raw', None)

        @property
        def len_content(self):
            if hasattr(self, '_m_len_content'):
                return self._m_len_content

            self._m_len_content = (1 if self.header.kind == ZstdFrame.BlockKind.rle else self.header.len_block)
            return getattr(self, '_m_len_content', None)


    class BlockContent(KaitaiStruct):
        """Content of a block; a stream of its own, so that other schemas can open a
        raw block.
        """
        SEQ_FIELDS = ["data"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ZstdFrame.BlockContent, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['data']['start'] = self._io.pos()
            self.data = self._io.read_bytes_full()
            self._debug['data']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    class BlockHeader(KaitaiStruct):
        """Little-endian 24 bits: last flag, two bits of type, 21 bits of size.
        """
        SEQ_FIELDS = ["is_last", "kind", "len_block"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ZstdFrame.BlockHeader, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['is_last']['start'] = self._io.pos()
            self.is_last = self._io.read_bits_int_le(1) != 0
            self._debug['is_last']['end'] = self._io.pos()
            self._debug['kind']['start'] = self._io.pos()
            self.kind = KaitaiStream.resolve_enum(ZstdFrame.BlockKind, self._io.read_bits_int_le(2))
            self._debug['kind']['end'] = self._io.pos()
            if not isinstance(self.kind, ZstdFrame.BlockKind):
                raise kaitaistruct.ValidationNotInEnumError(self.kind, self._io, u"/types/block_header/seq/1")
            self._debug['len_block']['start'] = self._io.pos()
            self.len_block = self._io.read_bits_int_le(21)
            self._debug['len_block']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    class Frame(KaitaiStruct):
        """One Zstandard frame or one skippable frame."""
        SEQ_FIELDS = ["magic", "skippable", "body"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ZstdFrame.Frame, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['magic']['start'] = self._io.pos()
            self.magic = KaitaiStream.resolve_enum(ZstdFrame.FrameKind, self._io.read_u4le())
            self._debug['magic']['end'] = self._io.pos()
            if not isinstance(self.magic, ZstdFrame.FrameKind):
                raise kaitaistruct.ValidationNotInEnumError(self.magic, self._io, u"/types/frame/seq/0")
            if self.magic != ZstdFrame.FrameKind.zstandard:
                pass
                self._debug['skippable']['start'] = self._io.pos()
                self.skippable = ZstdFrame.SkippableBody(self._io, self, self._root)
                self.skippable._read()
                self._debug['skippable']['end'] = self._io.pos()

            if self.magic == ZstdFrame.FrameKind.zstandard:
                pass
                self._debug['body']['start'] = self._io.pos()
                self.body = ZstdFrame.ZstandardBody(self._io, self, self._root)
                self.body._read()
                self._debug['body']['end'] = self._io.pos()



        def _fetch_instances(self):
            pass
            if self.magic != ZstdFrame.FrameKind.zstandard:
                pass
                self.skippable._fetch_instances()

            if self.magic == ZstdFrame.FrameKind.zstandard:
                pass
                self.body._fetch_instances()


        @property
        def is_stored(self):
            """The payload of this frame is exactly one raw block."""
            if hasattr(self, '_m_is_stored'):
                return self._m_is_stored

            self._m_is_stored =  ((self.magic == ZstdFrame.FrameKind.zstandard) and (self.body.is_stored)) 
            return getattr(self, '_m_is_stored', None)


    class FrameDescriptor(KaitaiStruct):
        """Which header fields follow."""
        SEQ_FIELDS = ["content_size_flag", "is_single_segment", "unused", "reserved", "has_checksum", "dictionary_id_flag"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ZstdFrame.FrameDescriptor, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['content_size_flag']['start'] = self._io.pos()
            self.content_size_flag = self._io.read_bits_int_be(2)
            self._debug['content_size_flag']['end'] = self._io.pos()
            self._debug['is_single_segment']['start'] = self._io.pos()
            self.is_single_segment = self._io.read_bits_int_be(1) != 0
            self._debug['is_single_segment']['end'] = self._io.pos()
            self._debug['unused']['start'] = self._io.pos()
            self.unused = self._io.read_bits_int_be(1) != 0
            self._debug['unused']['end'] = self._io.pos()
            self._debug['reserved']['start'] = self._io.pos()
            self.reserved = self._io.read_bits_int_be(1) != 0
            self._debug['reserved']['end'] = self._io.pos()
            self._debug['has_checksum']['start'] = self._io.pos()
            self.has_checksum = self._io.read_bits_int_be(1) != 0
            self._debug['has_checksum']['end'] = self._io.pos()
            self._debug['dictionary_id_flag']['start'] = self._io.pos()
            self.dictionary_id_flag = self._io.read_bits_int_be(2)
            self._debug['dictionary_id_flag']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    class SkippableBody(KaitaiStruct):
        """Bytes that a decoder skips.
        
        .. seealso::
           RFC 8878, 3.1.2
        """
        SEQ_FIELDS = ["len_data", "data"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ZstdFrame.SkippableBody, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['len_data']['start'] = self._io.pos()
            self.len_data = self._io.read_u4le()
            self._debug['len_data']['end'] = self._io.pos()
            if not self.len_data <= self._io.size() - self._io.pos():
                raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.len_data, self._io, u"/types/skippable_body/seq/0")
            self._debug['data']['start'] = self._io.pos()
            self.data = self._io.read_bytes(self.len_data)
            self._debug['data']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass


    class WindowDescriptor(KaitaiStruct):
        """Size of the window, that is of the memory a decoder needs."""
        SEQ_FIELDS = ["exponent", "mantissa"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ZstdFrame.WindowDescriptor, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['exponent']['start'] = self._io.pos()
            self.exponent = self._io.read_bits_int_be(5)
            self._debug['exponent']['end'] = self._io.pos()
            self._debug['mantissa']['start'] = self._io.pos()
            self.mantissa = self._io.read_bits_int_be(3)
            self._debug['mantissa']['end'] = self._io.pos()


        def _fetch_instances(self):
            pass

        @property
        def log_window(self):
            """Binary logarithm of the base size."""
            if hasattr(self, '_m_log_window'):
                return self._m_log_window

            self._m_log_window = 10 + self.exponent
            return getattr(self, '_m_log_window', None)


    class ZstandardBody(KaitaiStruct):
        """What follows the magic of a Zstandard frame.
        
        .. seealso::
           RFC 8878, 3.1.1
        """
        SEQ_FIELDS = ["descriptor", "window", "dictionary_id1", "dictionary_id2", "dictionary_id4", "content_size1", "content_size2", "content_size4", "content_size8", "blocks", "checksum"]
        def __init__(self, _io, _parent=None, _root=None):
            super(ZstdFrame.ZstandardBody, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._debug = collections.defaultdict(dict)

        def _read(self):
            self._debug['descriptor']['start'] = self._io.pos()
            self.descriptor = ZstdFrame.FrameDescriptor(self._io, self, self._root)
            self.descriptor._read()
            self._debug['descriptor']['end'] = self._io.pos()
            if (not (self.descriptor.is_single_segment)):
                pass
                self._debug['window']['start'] = self._io.pos()
                self.window = ZstdFrame.WindowDescriptor(self._io, self, self._root)
                self.window._read()
                self._debug['window']['end'] = self._io.pos()

            if self.descriptor.dictionary_id_flag == 1:
                pass
                self._debug['dictionary_id1']['start'] = self._io.pos()
                self.dictionary_id1 = self._io.read_u1()
                self._debug['dictionary_id1']['end'] = self._io.pos()

            if self.descriptor.dictionary_id_flag == 2:
                pass
                self._debug['dictionary_id2']['start'] = self._io.pos()
                self.dictionary_id2 = self._io.read_u2le()
                self._debug['dictionary_id2']['end'] = self._io.pos()

            if self.descriptor.dictionary_id_flag == 3:
                pass
                self._debug['dictionary_id4']['start'] = self._io.pos()
                self.dictionary_id4 = self._io.read_u4le()
                self._debug['dictionary_id4']['end'] = self._io.pos()

            if  ((self.descriptor.content_size_flag == 0) and (self.descriptor.is_single_segment)) :
                pass
                self._debug['content_size1']['start'] = self._io.pos()
                self.content_size1 = self._io.read_u1()
                self._debug['content_size1']['end'] = self._io.pos()

            if self.descriptor.content_size_flag == 1:
                pass
                self._debug['content_size2']['start'] = self._io.pos()
                self.content_size2 = self._io.read_u2le()
                self._debug['content_size2']['end'] = self._io.pos()

            if self.descriptor.content_size_flag == 2:
                pass
                self._debug['content_size4']['start'] = self._io.pos()
                self.content_size4 = self._io.read_u4le()
                self._debug['content_size4']['end'] = self._io.pos()

            if self.descriptor.content_size_flag == 3:
                pass
                self._debug['content_size8']['start'] = self._io.pos()
                self.content_size8 = self._io.read_u8le()
                self._debug['content_size8']['end'] = self._io.pos()

            self._debug['blocks']['start'] = self._io.pos()
            self._debug['blocks']['arr'] = []
            self.blocks = []
            if not self._io.passes(self, 'blocks', lambda i, io: ZstdFrame.Block(io, self, self._root), until=lambda _, io: _.header.is_last):
                i = 0
                while True:
                    self._debug['blocks']['arr'].append({'start': self._io.pos()})
                    _t_blocks = ZstdFrame.Block(self._io, self, self._root)
                    try:
                        _t_blocks._read()
                    finally:
                        _ = _t_blocks
                        self.blocks.append(_)
                    self._debug['blocks']['arr'][len(self.blocks) - 1]['end'] = self._io.pos()
                    if _.header.is_last:
                        break
                    i += 1
            self._debug['blocks']['end'] = self._io.pos()
            if self.descriptor.has_checksum:
                pass
                self._debug['checksum']['start'] = self._io.pos()
                self.checksum = self._io.read_u4le()
                self._debug['checksum']['end'] = self._io.pos()



        def _fetch_instances(self):
            pass
            self.descriptor._fetch_instances()
            if (not (self.descriptor.is_single_segment)):
                pass
                self.window._fetch_instances()

            if self.descriptor.dictionary_id_flag == 1:
                pass

            if self.descriptor.dictionary_id_flag == 2:
                pass

            if self.descriptor.dictionary_id_flag == 3:
                pass

            if  ((self.descriptor.content_size_flag == 0) and (self.descriptor.is_single_segment)) :
                pass

            if self.descriptor.content_size_flag == 1:
                pass

            if self.descriptor.content_size_flag == 2:
                pass

            if self.descriptor.content_size_flag == 3:
                pass

            for i in range(len(self.blocks)):
                pass
                self.blocks[i]._fetch_instances()

            if self.descriptor.has_checksum:
                pass


        @property
        def is_stored(self):
            """The payload of this frame is exactly one raw block."""
            if hasattr(self, '_m_is_stored'):
                return self._m_is_stored

            self._m_is_stored =  ((len(self.blocks) == 1) and (self.blocks[0].is_raw)) 
            return getattr(self, '_m_is_stored', None)


    @property
    def is_stored(self):
        """The whole payload is one raw block of one frame."""
        if hasattr(self, '_m_is_stored'):
            return self._m_is_stored

        self._m_is_stored =  ((len(self.frames) == 1) and (self.frames[0].is_stored)) 
        return getattr(self, '_m_is_stored', None)


