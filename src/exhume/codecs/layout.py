"""The structure of zstd frames, read through their specification; libzstd decodes them.

A frame (RFC 8878) is a magic number, a descriptor (one byte of flags), further header fields and blocks, and optionally
a checksum.  A skippable frame has another magic number and bytes for other programs, which decoders ignore.  The
modules of `exhume_ksy` are generated from zstd_frame.ksy: `facts` has sizes, shifts and enums, `fast` the parsers.
"""

from __future__ import annotations

import struct
from itertools import pairwise

from exhume_ksy.facts.zstd_frame import (
    BlockHeader,
    BlockKind,
    Frame,
    FrameDescriptor,
    FrameKind,
    WindowDescriptor,
    ZstandardBody,
)
from exhume_ksy.fast._layout import LayoutError
from exhume_ksy.fast.zstd_frame import read_frame, read_skippable_body, scan_frame

from exhume.codecs.common import Buffer
from exhume.counts import counted
from exhume.errors import CodecError

DESCRIPTOR_AT = Frame.at.magic[1]
"""Offset of the descriptor in a frame: the end of the magic number, and so its size in bytes."""
ZSTD_MAGIC = FrameKind.ZSTANDARD.to_bytes(DESCRIPTOR_AT, "little")
"""The first bytes of a frame with content."""
HAS_CHECKSUM = 1 << FrameDescriptor.shift.has_checksum
"""The flag in the descriptor that says that a checksum ends the frame."""
BLOCK_MOST = 1 << 17
"""Most bytes that a compressed block becomes (RFC 8878, 3.1.1.2.4)."""
CHECKSUM_SIZE = 4
"""Bytes of the checksum at the end of a frame (RFC 8878, 3.1.1)."""
SKIPPABLE = frozenset(kind.to_bytes(DESCRIPTOR_AT, "little") for kind in FrameKind if kind != FrameKind.ZSTANDARD)
"""The first bytes of skippable frames."""
FRAME_STARTS = SKIPPABLE | {ZSTD_MAGIC}
"""The first bytes of a frame, one that is skipped included: pzstd begins with one."""

STORED_HEAD = ZSTD_MAGIC + bytes((0, 11 << WindowDescriptor.shift.exponent))
"""Header of a stored frame: a window of 2 MiB (2^(10 + 11)), no content size, no checksum, as clp-s itself writes."""


def raw_block_header(size: int, *, last: bool) -> bytes:
    """The header of a block that holds `size` bytes as they are."""
    shift = BlockHeader.shift
    number = last << shift.is_last | BlockKind.RAW << shift.kind | size << shift.len_block
    return number.to_bytes(BlockHeader.size, "little")


def skip_skippable(data: Buffer) -> int:
    """The offset where the skippable frames at the start of `data` end; raises `CodecError` when one is truncated."""
    at = 0
    while bytes(data[at : at + DESCRIPTOR_AT]) in SKIPPABLE:
        try:
            _, at = read_skippable_body(memoryview(data), at + DESCRIPTOR_AT, len(data))
        except LayoutError as error:
            if error.short:  # the header itself is incomplete: such bytes are left to the caller
                return at
            raise CodecError("zstd: truncated skippable frame", expected=counted(error.found, "bytes")) from error
    return at


def frame_end(data: Buffer) -> int | None:
    """Where the frame at the start of `data` ends, None where none is; the contents of its blocks are not examined."""
    try:
        found, end = read_frame(memoryview(data), 0, len(data))
    except LayoutError:
        return None
    return end if found.body is not None else None


def frames_most(data: Buffer) -> int:
    """The most bytes that the complete frames at the start of `data` decompress to, by the headers of their blocks."""
    view, at, most = memoryview(data), 0, 0
    while at < len(data):
        try:
            found, at = read_frame(view, at, len(data))
        except LayoutError:
            break
        for block in found.body.blocks if found.body is not None else ():
            most += BLOCK_MOST if block.header.kind == BlockKind.COMPRESSED else block.header.len_block
    return most


def frame_places(data: Buffer) -> list[tuple[int, int]]:
    """Start and end of each frame, up to the first skippable, truncated or invalid one."""
    found = scan_frame(memoryview(data), 0, len(data))
    to_skip = (number for number, kind in enumerate(found.magic) if kind != FrameKind.ZSTANDARD)
    return list(pairwise([*found.at, found.resume_at]))[: next(to_skip, None)]


def stored_checksum(end: bytes) -> int:
    """The checksum of a frame, in its last bytes."""
    (found,) = struct.unpack(ZstandardBody.format.checksum, end[-CHECKSUM_SIZE:])
    return int(found)
