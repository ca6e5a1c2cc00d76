"""Where zstd frames are looked into rather than decoded, by their specification; libzstd decodes them."""

from __future__ import annotations

from exhume_ksy.facts.zstd_frame import Frame, FrameDescriptor, FrameKind
from exhume_ksy.fast._layout import LayoutError
from exhume_ksy.fast.zstd_frame import read_skippable_body

from exhume.codecs.common import Buffer
from exhume.errors import CodecError

DESCRIPTOR_AT = Frame.at.magic[1]
ZSTD_MAGIC = FrameKind.ZSTANDARD.to_bytes(DESCRIPTOR_AT, "little")
HAS_CHECKSUM = 1 << FrameDescriptor.shift.has_checksum


def skip_skippable(data: Buffer, at: int) -> int:
    """Where the skippable frames that start at `at` end."""
    while FrameKind.SKIPPABLE0 <= int.from_bytes(data[at : at + DESCRIPTOR_AT], "little") <= FrameKind.SKIPPABLE15:
        try:
            _, at = read_skippable_body(memoryview(data), at + DESCRIPTOR_AT, len(data))
        except LayoutError as error:
            if error.short:
                return at
            raise CodecError("zstd: a skippable frame is cut short", expected=f"{error.actual} bytes") from error
    return at
