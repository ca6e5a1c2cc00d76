"""Converts the footer, which frames a chunk, from bytes to values and back; only this module uses the generated reader.

The index is JSON, which a schema cannot describe: `index.py` reads it.  A chunk is a CAF file; its footer is the size
of the index, which is before it.

Spec: caf.txt, Footer Section, Size Limits and Constraints.
"""

from __future__ import annotations

import struct
from functools import partial
from typing import Final

from exhume_ksy.facts.caf import ChunkFooter
from exhume_ksy.fast.caf import read_chunk_footer

from exhume.errors import Span
from exhume.layout.fast import read

_FOOTER = struct.Struct(ChunkFooter.packed)
FOOTER_SIZE: Final = ChunkFooter.size
"""Bytes of the footer."""
MAX_INDEX = (1 << (FOOTER_SIZE << 3)) - 1
"""The largest size of an index that the footer can state, in bytes."""

MIN_INDEX = 35
"""Bytes of the shortest index, `{"format_version":"1.0","files":{}}`."""

DEFAULT_CHUNK = 30 << 30
"""Recommended size of a whole chunk, in bytes."""
HARD_LIMIT = 32 << 30
"""Largest size of a whole chunk that the specification allows, in bytes."""


def parse_footer(data: bytes, where: Span) -> int:
    """The index size in bytes that the four bytes at `where` claim (not yet compared with anything)."""
    footer, _ = read(partial(read_chunk_footer, max_index=MAX_INDEX), data, where)
    return footer.len_index


def build_footer(index_size: int) -> bytes:
    """The four bytes that end a chunk."""
    return _FOOTER.pack(index_size)
