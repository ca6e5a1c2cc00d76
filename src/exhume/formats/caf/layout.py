"""Bytes <-> values of the chunk's frame: the footer.  The only module here that knows the generated parser."""

from __future__ import annotations

import struct

from exhume_ksy.caf import Caf

from exhume.errors import Span
from exhume.kaitai import parse

FOOTER_SIZE = 4
MAX_INDEX = 0xFFFFFFFF
"""Largest size the footer can hold, in bytes."""

MIN_INDEX = 35
"""Bytes of the shortest index, `{"format_version":"1.0","files":{}}`."""

DEFAULT_CHUNK = 30 << 30
HARD_LIMIT = 32 << 30
"""What the specification recommends and allows as the size of a whole chunk, in bytes."""


def parse_footer(data: bytes, where: Span) -> int:
    """The index size in bytes that the four bytes at `where` claim (not yet compared with anything)."""
    size: int = parse(Caf.ChunkFooter, data, where, MAX_INDEX).len_index
    return size


def build_footer(index_size: int) -> bytes:
    """The four bytes that end a chunk."""
    return struct.pack("<I", index_size)
