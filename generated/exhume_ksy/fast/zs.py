"""Compiled from ksy/zs.ksy by `make generated`; never edited by hand."""
# mypy: ignore-errors
# ruff: noqa

from __future__ import annotations

import struct

from ._layout import LayoutError, View, native, short
from .uleb128 import read_uleb128

_unpack0 = struct.Struct("<Q").unpack_from
_unpack1 = struct.Struct("<Q32s16sQ").unpack_from
_unpack2 = struct.Struct("<II").unpack_from


class Zs:
    """A read-only, sorted multiset of byte records in compressed, checksummed blocks with a tree of index blocks over
    them, for fast lookup by prefix or range and for streaming.

    A file is a magic number, a header, and blocks without gaps until the end. Block payloads are compressed each on
    its own; `zs_data_block` and `zs_index_block` describe them decompressed. Where the codec is `none` they are
    opened in place.
    """
    __slots__ = ('magic', 'len_header', 'header', 'crc_header', '_is_complete', '_ofs_blocks', '_blocks', '_root_', '_io')
    magic: View
    """`ZSfiLe` between 0xab and the version 1, or `ZStoBe` in a file whose writing was never finished (such a file is
    not valid).
    """
    len_header: int
    """Bytes of the header, without this field and the checksum."""
    header: FileHeader
    crc_header: int
    """CRC-64/XZ of the header's bytes, without the length field."""
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def is_complete(self) -> bool:
        """False in a file whose writing was never finished."""
        try:
            return self._is_complete
        except AttributeError:
            pass
        self._is_complete = self.magic == b'\xabZSfiLe\x01'
        return self._is_complete

    @property
    def ofs_blocks(self) -> int:
        """Where the first block starts."""
        try:
            return self._ofs_blocks
        except AttributeError:
            pass
        self._ofs_blocks = 24 + self.len_header
        return self._ofs_blocks

    @property
    def blocks(self) -> list[Block]:
        """Data, index and extension blocks until the end of the file."""
        try:
            return self._blocks
        except AttributeError:
            pass
        view, base, end = self._io
        at = base + self.ofs_blocks
        if at < base:
            raise LayoutError("blocks", base, end, "a position in the stream", at - base)
        blocks = []
        try:
            while at < end:
                one, at = read_block(view, at, end, base, self)
                blocks.append(one)
        except LayoutError as error:
            error.within(f"blocks[{len(blocks)}]")
            raise
        self._blocks = blocks
        return self._blocks

    @property
    def root(self) -> Block | None:
        """The index block with which every search starts. A file that was never finished has none."""
        try:
            return self._root_
        except AttributeError:
            pass
        view, base, end = self._io
        if not (self.is_complete):
            self._root_ = None
            return None
        at = base + self.header.ofs_root
        if at < base:
            raise LayoutError("root", base, end, "a position in the stream", at - base)
        start = at
        size = self.header.len_root
        if not 0 <= size <= max(0, end - at):
            raise short("root", at, end, size)
        stop = at + size
        try:
            root_, _ = read_block(view, at, stop, at, self)
        except LayoutError as error:
            error.within("root")
            raise
        at = stop
        if not (root_._io[2] - root_._io[1] == self.header.len_root):
            raise LayoutError("root", start, at, '_._io.size.as<u8> == header.len_root', root_)
        self._root_ = root_
        return self._root_


def read_zs(view: View, at: int, end: int, base: int | None = None) -> tuple[Zs, int]:
    """`zs` at `at`, and where it ends. Raises `LayoutError`."""
    value = Zs()
    if base is None:
        base = at
    value._io = (view, base, end)
    if end - at < 8:
        raise short((("magic", 8),), at, end, 8)
    magic = view[at : at + 8]
    at += 8
    value.magic = magic
    if not (magic in (b'\xabZSfiLe\x01', b'\xabZStoBe\x01',)):
        raise LayoutError("magic", at - 8, at, (b'\xabZSfiLe\x01', b'\xabZStoBe\x01',), magic)
    if end - at < 8:
        raise short("len_header", at, end, 8)
    (len_header,) = _unpack0(view, at)
    at += 8
    if len_header > end - at:
        raise LayoutError("len_header", at - 8, at, f"at most {end - at}", len_header)
    value.len_header = len_header
    stop = at + len_header
    try:
        header, _ = read_file_header(view, at, stop)
    except LayoutError as error:
        error.within("header")
        raise
    at = stop
    value.header = header
    try:
        crc_header, at = read_crc64(view, at, end)
    except LayoutError as error:
        error.within("crc_header")
        raise
    value.crc_header = crc_header
    return value, at


class FileHeader:
    """What describes the file as a whole."""
    __slots__ = ('ofs_root', 'len_root', 'len_file', 'sha256_data', 'codec', 'len_metadata', 'metadata', 'extensions', '_codec_name', '_metadata_text', '_is_stored')
    ofs_root: int
    """Where the root index block starts."""
    len_root: int
    """Bytes of the root index block, its length field and checksum included."""
    len_file: int
    """Bytes of the file; the only guard against a cut at a block boundary."""
    sha256_data: View
    """SHA-256 of all data block payloads, decompressed and concatenated in file order, the lengths of the records
    included.
    """
    codec: View
    """How payloads are compressed, ASCII padded with NUL: `none`, `deflate` (RFC 1951 without any wrapper) or
    `lzma2;dsize=2^20` (raw LZMA2, at most 1 MiB of dictionary).
    """
    len_metadata: int
    metadata: View
    """A JSON object in UTF-8, about the records; any keys are allowed."""
    extensions: View
    """Reserved for compatible additions; readers ignore it."""

    @property
    def codec_name(self) -> str:
        """The same as text; any byte is a character."""
        try:
            return self._codec_name
        except AttributeError:
            pass
        self._codec_name = str(self.codec, 'ISO-8859-1')
        return self._codec_name

    @property
    def metadata_text(self) -> str:
        """The same as text."""
        try:
            return self._metadata_text
        except AttributeError:
            pass
        self._metadata_text = str(self.metadata, 'UTF-8')
        return self._metadata_text

    @property
    def is_stored(self) -> bool:
        """Whether payloads are stored as they are (codec `none`)."""
        try:
            return self._is_stored
        except AttributeError:
            pass
        self._is_stored = self.codec == b'none\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00'
        return self._is_stored


def read_file_header(view: View, at: int, end: int) -> tuple[FileHeader, int]:
    """`zs::file_header` at `at`, and where it ends. Raises `LayoutError`."""
    value = FileHeader()
    if end - at < 8:
        raise short("ofs_root", at, end, 8)
    (ofs_root,) = _unpack0(view, at)
    at += 8
    if ofs_root > 0x7fffffffffffffff:
        raise LayoutError("ofs_root", at - 8, at, f"at most {0x7fffffffffffffff}", ofs_root)
    value.ofs_root = ofs_root
    if end - at < 8:
        raise short("len_root", at, end, 8)
    (len_root,) = _unpack0(view, at)
    at += 8
    if len_root > 0x7fffffffffffffff:
        raise LayoutError("len_root", at - 8, at, f"at most {0x7fffffffffffffff}", len_root)
    value.len_root = len_root
    if end - at < 64:
        raise short((("len_file", 8), ("sha256_data", 40), ("codec", 56), ("len_metadata", 64),), at, end, 64)
    len_file, sha256_data, codec, len_metadata = _unpack1(view, at)
    at += 64
    value.len_file = len_file
    value.sha256_data = sha256_data
    value.codec = codec
    value.len_metadata = len_metadata
    if len_metadata > end - at:
        raise LayoutError("len_metadata", at - 8, at, f"at most {end - at}", len_metadata)
    metadata = view[at : at + len_metadata]
    at += len_metadata
    value.metadata = metadata
    extensions = view[at:end]
    at = max(at, end)
    value.extensions = extensions
    return value, at


class Block:
    """One block with its framing."""
    __slots__ = ('len_body', 'body', 'crc', '_io')
    len_body: int
    """Bytes of the level and the stored payload together; at least 1."""
    body: BlockBody
    crc: int
    """CRC-64/XZ of the body as it is stored, compression and all."""
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]


def read_block(view: View, at: int, end: int, base: int | None = None, root: Zs | None = None) -> tuple[Block, int]:
    """`zs::block` at `at`, and where it ends. Raises `LayoutError`."""
    value = Block()
    if base is None:
        base = at
    value._io = (view, base, end)
    start = at
    if at < end and (len_body := view[at]) < 0x80:
        at += 1
    else:
        try:
            len_body, at = read_uleb128(view, at, end)
        except LayoutError as error:
            error.within("len_body")
            raise
    if len_body > end - at:
        raise LayoutError("len_body", start, at, f"at most {end - at}", len_body)
    value.len_body = len_body
    stop = at + len_body
    try:
        body, _ = read_block_body(view, at, stop, at, root)
    except LayoutError as error:
        error.within("body")
        raise
    at = stop
    value.body = body
    try:
        crc, at = read_crc64(view, at, end)
    except LayoutError as error:
        error.within("crc")
        raise
    value.crc = crc
    return value, at


def flat_block(view: View, at: int, end: int) -> tuple[int, int, int, int, int, int]:
    """Where the `zs::block` at `at` ends, and its fields: len_body, body_level, body_payload_start, body_payload_end,
    crc. Raises `LayoutError`.
    """
    if native is not None and (found := native.flat_zs_block(view, at, end)) is not None:
        return found
    start = at
    if at < end and (len_body := view[at]) < 0x80:
        at += 1
    else:
        try:
            len_body, at = read_uleb128(view, at, end)
        except LayoutError as error:
            error.within("len_body")
            raise
    if len_body > end - at:
        raise LayoutError("len_body", start, at, f"at most {end - at}", len_body)
    rest_body = end
    end = at + len_body
    if at >= end:
        raise short("body.level", at, end, 1)
    body_level = view[at]
    at += 1
    at_body_payload = at
    at = end_body_payload = max(at, end)
    at = end
    end = rest_body
    try:
        crc, at = read_crc64(view, at, end)
    except LayoutError as error:
        error.within("crc")
        raise
    return at, len_body, body_level, at_body_payload, end_body_payload, crc


def read_crc64(view: View, at: int, end: int) -> tuple[int, int]:
    """`zs::crc64` at `at`: its value, and where it ends. Raises `LayoutError`."""
    if end - at < 8:
        raise short((("low", 4), ("high", 8),), at, end, 8)
    low, high = _unpack2(view, at)
    at += 8
    return high * 0x100000000 + low, at


class BlockBody:
    """What the block's checksum covers. Blocks of level 64 and above are reserved for extensions and are to be
    ignored.
    """
    __slots__ = ('level', 'payload', '_data_block', '_index_block', '_io', '_root')
    level: int
    """0 for a data block, 1 to 63 for an index block."""
    payload: View
    """Compressed with the codec that the header names."""
    _io: tuple[View, int, int]

    @property
    def extent(self) -> tuple[int, int]:
        """Where its stream starts and ends in the view."""
        return self._io[1], self._io[2]

    @property
    def data_block(self) -> ZsDataBlock | None:
        """The payload of a data block, where it is stored uncompressed."""
        try:
            return self._data_block
        except AttributeError:
            pass
        from .zs_data_block import read_zs_data_block
        view, base, end = self._io
        if not (self.level == 0 and self._root.header.is_stored):
            self._data_block = None
            return None
        at = base + 1
        try:
            data_block, _ = read_zs_data_block(view, at, end, at)
        except LayoutError as error:
            error.within("data_block")
            raise
        at = max(at, end)
        self._data_block = data_block
        return self._data_block

    @property
    def index_block(self) -> ZsIndexBlock | None:
        """The payload of an index block, where it is stored uncompressed."""
        try:
            return self._index_block
        except AttributeError:
            pass
        from .zs_index_block import read_zs_index_block
        view, base, end = self._io
        if not (self.level >= 1 and self.level <= 63 and self._root.header.is_stored):
            self._index_block = None
            return None
        at = base + 1
        try:
            index_block, _ = read_zs_index_block(view, at, end, at)
        except LayoutError as error:
            error.within("index_block")
            raise
        at = max(at, end)
        self._index_block = index_block
        return self._index_block


def read_block_body(view: View, at: int, end: int, base: int | None = None, root: Zs | None = None) -> tuple[BlockBody, int]:
    """`zs::block_body` at `at`, and where it ends. Raises `LayoutError`."""
    value = BlockBody()
    if base is None:
        base = at
    value._io = (view, base, end)
    value._root = root
    if at >= end:
        raise short("level", at, end, 1)
    level = view[at]
    at += 1
    value.level = level
    payload = view[at:end]
    at = max(at, end)
    value.payload = payload
    return value, at
