# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from enum import IntEnum


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
    def __init__(self, _io, _parent=None, _root=None):
        super(ZstdFrame, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        self.frames = []
        i = 0
        while not self._io.is_eof():
            self.frames.append(ZstdFrame.Frame(self._io, self, self._root))
            i += 1



    def _fetch_instances(self):
        pass
        for i in range(len(self.frames)):
            pass
            self.frames[i]._fetch_instances()


    class Block(KaitaiStruct):
        """One block: three header bytes, then its content.
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(ZstdFrame.Block, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.header = ZstdFrame.BlockHeader(self._io, self, self._root)
            self._raw_content = self._io.read_bytes(self.len_content)
            _io__raw_content = KaitaiStream(BytesIO(self._raw_content))
            self.content = ZstdFrame.BlockContent(_io__raw_content, self, self._root)


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
        def __init__(self, _io, _parent=None, _root=None):
            super(ZstdFrame.BlockContent, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.data = self._io.read_bytes_full()


        def _fetch_instances(self):
            pass


    class BlockHeader(KaitaiStruct):
        """Little-endian 24 bits: last flag, two bits of type, 21 bits of size.
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(ZstdFrame.BlockHeader, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.is_last = self._io.read_bits_int_le(1) != 0
            self.kind = KaitaiStream.resolve_enum(ZstdFrame.BlockKind, self._io.read_bits_int_le(2))
            if not isinstance(self.kind, ZstdFrame.BlockKind):
                raise kaitaistruct.ValidationNotInEnumError(self.kind, self._io, u"/types/block_header/seq/1")
            self.len_block = self._io.read_bits_int_le(21)


        def _fetch_instances(self):
            pass


    class Frame(KaitaiStruct):
        """One Zstandard frame or one skippable frame."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ZstdFrame.Frame, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.magic = KaitaiStream.resolve_enum(ZstdFrame.FrameKind, self._io.read_u4le())
            if not isinstance(self.magic, ZstdFrame.FrameKind):
                raise kaitaistruct.ValidationNotInEnumError(self.magic, self._io, u"/types/frame/seq/0")
            if self.magic != ZstdFrame.FrameKind.zstandard:
                pass
                self.skippable = ZstdFrame.SkippableBody(self._io, self, self._root)

            if self.magic == ZstdFrame.FrameKind.zstandard:
                pass
                self.body = ZstdFrame.ZstandardBody(self._io, self, self._root)



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
        def __init__(self, _io, _parent=None, _root=None):
            super(ZstdFrame.FrameDescriptor, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.content_size_flag = self._io.read_bits_int_be(2)
            self.is_single_segment = self._io.read_bits_int_be(1) != 0
            self.unused = self._io.read_bits_int_be(1) != 0
            self.reserved = self._io.read_bits_int_be(1) != 0
            self.has_checksum = self._io.read_bits_int_be(1) != 0
            self.dictionary_id_flag = self._io.read_bits_int_be(2)


        def _fetch_instances(self):
            pass


    class SkippableBody(KaitaiStruct):
        """Bytes that a decoder skips.
        
        .. seealso::
           RFC 8878, 3.1.2
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(ZstdFrame.SkippableBody, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.len_data = self._io.read_u4le()
            if not self.len_data <= self._io.size() - self._io.pos():
                raise kaitaistruct.ValidationGreaterThanError(self._io.size() - self._io.pos(), self.len_data, self._io, u"/types/skippable_body/seq/0")
            self.data = self._io.read_bytes(self.len_data)


        def _fetch_instances(self):
            pass


    class WindowDescriptor(KaitaiStruct):
        """Size of the window, that is of the memory a decoder needs."""
        def __init__(self, _io, _parent=None, _root=None):
            super(ZstdFrame.WindowDescriptor, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.exponent = self._io.read_bits_int_be(5)
            self.mantissa = self._io.read_bits_int_be(3)


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
        def __init__(self, _io, _parent=None, _root=None):
            super(ZstdFrame.ZstandardBody, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.descriptor = ZstdFrame.FrameDescriptor(self._io, self, self._root)
            if (not (self.descriptor.is_single_segment)):
                pass
                self.window = ZstdFrame.WindowDescriptor(self._io, self, self._root)

            if self.descriptor.dictionary_id_flag == 1:
                pass
                self.dictionary_id1 = self._io.read_u1()

            if self.descriptor.dictionary_id_flag == 2:
                pass
                self.dictionary_id2 = self._io.read_u2le()

            if self.descriptor.dictionary_id_flag == 3:
                pass
                self.dictionary_id4 = self._io.read_u4le()

            if  ((self.descriptor.content_size_flag == 0) and (self.descriptor.is_single_segment)) :
                pass
                self.content_size1 = self._io.read_u1()

            if self.descriptor.content_size_flag == 1:
                pass
                self.content_size2 = self._io.read_u2le()

            if self.descriptor.content_size_flag == 2:
                pass
                self.content_size4 = self._io.read_u4le()

            if self.descriptor.content_size_flag == 3:
                pass
                self.content_size8 = self._io.read_u8le()

            self.blocks = []
            i = 0
            while True:
                _ = ZstdFrame.Block(self._io, self, self._root)
                self.blocks.append(_)
                if _.header.is_last:
                    break
                i += 1
            if self.descriptor.has_checksum:
                pass
                self.checksum = self._io.read_u4le()



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


