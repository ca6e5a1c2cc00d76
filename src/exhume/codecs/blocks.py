"""Snappy and LZ4: raw blocks without a frame around them, and frames of LZ4.

Both formats are sequences of literals (bytes stored as they are) and copies (an offset back into the output, and a
length).  A raw block is such a sequence alone; an LZ4 frame adds a magic number, sizes and checksums.  The package
`cramjam` decodes the blocks; this module finds where they end and checks what it does not.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BytesIO
from typing import Any

from exhume.codecs.common import Buffer, Decoded, Decoder, over_budget
from exhume.counts import counted
from exhume.errors import CodecError, MissingDependencyError, UnsupportedFeatureError
from exhume.tuples import NamedTuple


def snappy_size(data: Buffer) -> tuple[int, int]:
    """Return the decompressed size that a raw Snappy block declares, and the bytes that this declaration takes.

    It is a varint of at most five bytes: 7 bits each, the lowest first; the top bit says that another follows.
    Raises `CodecError`.
    """
    value = shift = 0
    for index, byte in enumerate(data[:5]):
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, index + 1
        shift += 7
    raise CodecError("snappy: bad length prefix")


def snappy_end(data: Buffer) -> tuple[int, int]:
    """`(stored_size, decompressed_size)` of the raw Snappy block at the start of `data`, from its element headers.

    The block has no end marker: it ends when the declared length is reached, whatever follows.  Raises `CodecError`
    when the elements do not add up to that length.
    """
    size, at = snappy_size(data)
    end, out = len(data), 0
    while out < size:
        if at >= end:
            raise CodecError("snappy: truncated block", expected=counted(size, "bytes"), actual=counted(out, "bytes"))
        tag = data[at]
        at += 1
        kind = tag & 3
        # Literal: up to 60 bytes in the tag; 60 to 63 mean that 1 to 4 bytes of length follow.
        if kind == 0:
            length = tag >> 2
            if length >= 60:
                extra = length - 59
                length = int.from_bytes(data[at : at + extra], "little")
                at += extra
            length += 1
            at += length
        elif kind == 1:  # a copy of 4 to 11 bytes; one more byte of its offset follows
            length = ((tag >> 2) & 7) + 4
            at += 1
        else:  # a copy of 1 to 64 bytes; its offset follows in 2 bytes (kind 2) or 4 (kind 3)
            length = (tag >> 2) + 1
            at += 2 if kind == 2 else 4
        out += length
        if at > end:
            raise CodecError("snappy: truncated block", expected=counted(size, "bytes"), actual=counted(out, "bytes"))
    if out != size:
        raise CodecError(
            "snappy: elements exceed the declared length", expected=counted(size, "bytes"), actual=counted(out, "bytes")
        )
    return at, size


def snappy(data: Buffer, max_size: int, size: int | None) -> Decoded:
    """The raw Snappy block at the start of `data`.  Raises `CodecError`, or `LimitExceededError` beyond `max_size`.

    `size` is not used: `decompress_prefix` compares it with the result.
    """
    stated, _ = snappy_size(data)
    if stated > max_size:
        raise over_budget("snappy", max_size, stated)
    raw = bytes(data)
    # First as if nothing followed the block, which is the rule: finding its end takes as long as decompressing it.
    # If that fails, the block is tried again without the bytes after its end.
    with suppress(Exception):
        return Decoded(bytes(_cramjam().snappy.decompress_raw(raw)), len(raw))
    used, _ = snappy_end(raw)
    try:
        out = bytes(_cramjam().snappy.decompress_raw(raw[:used]))
    except Exception as error:  # cramjam.DecompressionError is not a stable name
        raise CodecError("snappy: corrupt block", actual=str(error)) from error
    return Decoded(out, used)


def lz4_block(data: Buffer, max_size: int, size: int | None) -> Decoded:
    """The raw LZ4 block that fills `data`; the caller has checked that `size` is within `max_size`.

    Raises `CodecError` for damage or another size, `UnsupportedFeatureError` when `size` is None.
    """
    if size is None:
        raise UnsupportedFeatureError("lz4: a block without its decompressed size cannot be decoded")
    if size == 0:
        # An empty block has zero bytes, or one token (see `_with_prefix`) without literals.
        if bytes(data) not in (b"", b"\0"):
            raise CodecError("lz4: corrupt block", expected="an empty block", actual=counted(len(data), "bytes"))
        return Decoded(b"", len(data))
    out = bytearray(size)
    try:
        # Not `decompress_block`: it hides a short block by filling up with zeros.
        written = _cramjam().lz4.decompress_block_into(bytes(data), out, output_len=size)
    except Exception as error:  # cramjam.DecompressionError is not a stable name
        raise CodecError("lz4: corrupt block", actual=str(error)) from error
    if written != size:
        raise CodecError(
            "lz4: wrong decompressed size", expected=counted(size, "bytes"), actual=counted(written, "bytes")
        )
    return Decoded(bytes(out), len(data))


_LZ4_REACH = (1 << 16) - 1
"""Bytes that a block of LZ4 can refer back."""

_LZ4_MORE = 15
"""The largest number of literals in a token of LZ4: bytes after the token are added to it."""

_LZ4_MORE_BYTES = 255
"""The largest value of such a byte: another one follows it."""


def primed_lz4(dictionary: bytes) -> Decoder:
    """Return a decoder of raw LZ4 blocks that refer back into a dictionary.

    A block starts with literals. The decoder puts the end of the dictionary before the block's own first literals,
    decodes both, and drops the dictionary from the result.
    """
    prefix = dictionary[-_LZ4_REACH:]

    def decode(data: Buffer, max_size: int, size: int | None) -> Decoded:
        """Decode the block with the dictionary as its first literals, and return its own content."""
        raw = bytes(data)
        if size is None or not raw or size == 0:
            return lz4_block(data, max_size, size)
        found = lz4_block(_with_prefix(raw, prefix), max_size + len(prefix), size + len(prefix))
        return Decoded(found.data[len(prefix) :], len(raw))

    return decode


def _with_prefix(raw: bytes, prefix: bytes) -> bytes:
    """Return a block that decodes to `prefix` and the content of `raw`, whose copies may refer back into the prefix.

    A block starts with a token: the upper 4 bits are the number of literals, the lower 4 the length of the copy after
    them.  If the number is 15, the bytes after the token are added to it, up to the first one below 255.  The result
    states a number that is larger by the prefix's length.
    """
    literals, at = raw[0] >> 4, 1
    if literals == _LZ4_MORE:
        while at < len(raw):
            literals += raw[at]
            at += 1
            if raw[at - 1] != _LZ4_MORE_BYTES:
                break
    literals += len(prefix)
    copy_length = raw[0] & 15
    token = bytes((min(_LZ4_MORE, literals) << 4 | copy_length,))
    if literals < _LZ4_MORE:
        return token + prefix + raw[at:]
    full, rest = divmod(literals - _LZ4_MORE, _LZ4_MORE_BYTES)
    return token + bytes((_LZ4_MORE_BYTES,)) * full + bytes((rest,)) + prefix + raw[at:]


LZ4_FRAME_MAGIC = b"\x04\x22\x4d\x18"
"""The first bytes of a frame: 0x184D2204, little-endian."""
LZ4_NAMES_DICTIONARY = 1
"""The flag of a frame, in the byte after the magic number, that says that it names the dictionary it needs."""


def lz4_frame(data: Buffer, max_size: int, size: int | None) -> Decoded:
    """The LZ4 frames that fill `data`.

    Raises `CodecError`, `LimitExceededError` beyond `max_size`, or `UnsupportedFeatureError` if a frame needs a
    dictionary.
    """
    found = bytearray()
    for block in lz4_frames(BytesIO(data).read):
        found += block
        if len(found) > max_size:
            raise over_budget("lz4", max_size)
    return Decoded(bytes(found), len(data))


_LZ4_BLOCK_SIZES = {4: 1 << 16, 5: 1 << 18, 6: 1 << 20, 7: 1 << 22}
"""The decompressed size of a block at most, by the number in the second byte of a frame's descriptor."""


def lz4_frames(take: Callable[[int], bytes]) -> Iterator[bytes]:
    """Yield the content of consecutive LZ4 frames block by block: at most 4 MiB, whatever the size of the frame.

    `take(size)` returns the next bytes, fewer only at the end. Every checksum and size that a frame states is compared.
    Raises `CodecError` for damage, and `UnsupportedFeatureError` if a frame needs a dictionary.
    """
    magic = take(4)
    if magic != LZ4_FRAME_MAGIC:
        raise CodecError("lz4: not a frame")
    while magic:
        if magic == LZ4_FRAME_MAGIC:
            yield from _lz4_frame_blocks(take)
        elif len(magic) == 4 and magic[0] & 0xF0 == 0x50 and magic[1:] == b"\x2a\x4d\x18":
            # A skippable frame (magic numbers 0x184D2A50 to 0x184D2A5F): its size, and bytes for other programs.
            left = int.from_bytes(_exactly(take, 4), "little")
            while left:
                left -= len(_exactly(take, min(left, 1 << 20)))
        else:
            raise CodecError("lz4: bytes after the last frame", actual=magic)
        magic = take(4)


# The descriptor of an LZ4 frame: bits of the flags, whose two highest ones are the version, and of the byte after them.
_LZ4_VERSION = 1
_LZ4_INDEPENDENT_BLOCKS = 0x20  # else blocks refer back to earlier ones
_LZ4_BLOCK_CHECKSUMS = 0x10  # each block is followed by its checksum
_LZ4_CONTENT_SIZE = 0x08  # the descriptor has the size of the content
_LZ4_CONTENT_CHECKSUM = 0x04  # a checksum of the content ends the frame
_LZ4_RESERVED = 0x02  # zero
_LZ4_RESERVED_OF_BLOCK = 0x8F  # zero, of the byte after the flags; its other bits are the size of blocks


def _lz4_frame_blocks(take: Callable[[int], bytes]) -> Iterator[bytes]:
    """Yield the decompressed blocks of a frame whose magic number has been read.

    The frame continues with a descriptor.  Each block follows its size, 0 ends them.  Raises `CodecError` and
    `UnsupportedFeatureError`.
    """
    from exhume.codecs.checksums import RunningChecksum, xxhash32

    flags, most, stated = _lz4_descriptor(take)
    linked = not flags & _LZ4_INDEPENDENT_BLOCKS
    content = RunningChecksum("xxhash32")
    total, window = 0, b""  # the window is the content that the next block may refer back to
    while size := int.from_bytes(_exactly(take, 4), "little"):
        is_plain, size = size >> 31, size & 0x7FFFFFFF  # the top bit: the block is not compressed
        if size > most:
            raise CodecError("lz4: corrupt frame", expected=f"a block of at most {counted(most, 'bytes')}", actual=size)
        raw = _exactly(take, size)
        if flags & _LZ4_BLOCK_CHECKSUMS and int.from_bytes(_exactly(take, 4), "little") != xxhash32(raw):
            raise CodecError("lz4: the checksum of a block does not match")
        block = raw if is_plain else _lz4_up_to(raw, most, window)
        total += len(block)
        if flags & _LZ4_CONTENT_CHECKSUM:
            content.update(block)
        if linked:
            window = (window + block)[-_LZ4_REACH:] if len(block) < _LZ4_REACH else block[-_LZ4_REACH:]
        yield block
    if stated is not None and total != stated:
        raise CodecError(
            "lz4: wrong decompressed size", expected=counted(stated, "bytes"), actual=counted(total, "bytes")
        )
    if flags & _LZ4_CONTENT_CHECKSUM and int.from_bytes(_exactly(take, 4), "little") != content.value():
        raise CodecError("lz4: the checksum of the frame's content does not match")


class _Lz4Descriptor(NamedTuple):
    """What the start of a frame states."""

    flags: int
    most: int
    """Greatest size of a block's content."""
    content_size: int | None
    """Size of the whole content, if it is stated."""


def _lz4_descriptor(take: Callable[[int], bytes]) -> _Lz4Descriptor:
    """Read a frame's descriptor: two bytes of flags, the size of the content (optional) and a checksum of one byte."""
    from exhume.codecs.checksums import xxhash32

    head = _exactly(take, 2)
    flags, block_flags = head
    if flags & LZ4_NAMES_DICTIONARY:
        raise UnsupportedFeatureError("lz4: the frame needs a dictionary")
    content_size = None
    if flags & _LZ4_CONTENT_SIZE:
        size = _exactly(take, 8)
        head += size
        content_size = int.from_bytes(size, "little")
    most = _LZ4_BLOCK_SIZES.get(block_flags >> 4, 0)
    if flags >> 6 != _LZ4_VERSION or flags & _LZ4_RESERVED or not most or block_flags & _LZ4_RESERVED_OF_BLOCK:
        raise CodecError("lz4: corrupt frame", actual=f"descriptor {head.hex()}")
    if _exactly(take, 1)[0] != xxhash32(head) >> 8 & 0xFF:  # of the four bytes, only the second lowest is stored
        raise CodecError("lz4: the checksum of the frame's descriptor does not match")
    return _Lz4Descriptor(flags, most, content_size)


def _lz4_up_to(raw: bytes, most: int, window: bytes) -> bytes:
    """Decode a raw block of at most `most` bytes that may refer back into `window`.  Raises `CodecError`."""
    out = bytearray(len(window) + most)
    try:
        whole = _with_prefix(raw, window) if window and raw else raw
        written = _cramjam().lz4.decompress_block_into(whole, out, output_len=len(out))
    except Exception as error:  # cramjam.DecompressionError is not a stable name
        raise CodecError("lz4: corrupt frame", actual=str(error)) from error
    return bytes(memoryview(out)[len(window) : written])


def _exactly(take: Callable[[int], bytes], size: int) -> bytes:
    """Return the next `size` bytes.  Raises `CodecError` if there are fewer."""
    found = take(size)
    if len(found) != size:
        raise CodecError("lz4: truncated frame", expected=counted(size, "bytes"), actual=counted(len(found), "bytes"))
    return found


@functools.cache
def _cramjam() -> Any:
    """Return the module `cramjam`, imported on first use."""
    try:
        import cramjam
    except ImportError as error:
        raise MissingDependencyError("snappy and lz4 need the package cramjam") from error
    return cramjam


def snappy_compress(data: Buffer) -> bytes:
    """A raw Snappy block."""
    return bytes(_cramjam().snappy.compress_raw(bytes(data)))


def lz4_compress(data: Buffer) -> bytes:
    """A raw LZ4 block, without its decompressed size."""
    return bytes(_cramjam().lz4.compress_block(bytes(data), store_size=False))
