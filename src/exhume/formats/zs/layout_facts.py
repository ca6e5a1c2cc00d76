"""Constants of the ZS specification: magic numbers, sizes, formats of what is packed, names of codecs.

Spec: zs.txt, "Integer representations" to "Index block payload".
"""

from __future__ import annotations

import struct
from typing import Final

from exhume_ksy.facts import zs as facts

MAGIC, INCOMPLETE_MAGIC = facts.Zs.magic

PREAMBLE: Final = struct.Struct(facts.Zs.prefix)
"""Magic number and header length: what has to be read before the header can be."""

FIXED_HEADER: Final = struct.Struct(facts.FileHeader.prefix)
"""The header up to the metadata: 80 bytes."""

CRC: Final = struct.Struct(facts.Crc64.packed)  # a CRC-64, as its low and high 32 bits
ENVELOPE_SIZE: Final = PREAMBLE.size + CRC.size
"""Bytes around the header data; the first block starts this much plus the header length into the file."""

STORED_CODECS = {"none": "none", "deflate": "deflate", "lzma": "lzma2;dsize=2^20"}
"""Codec names for people, and as the header spells them."""

DECODERS = {"none": "none", "deflate": "deflate", "lzma2;dsize=2^20": "lzma2"}
"""Codecs as the header spells them, and the names that `exhume.codecs` uses."""


def parse_preamble(data: bytes) -> tuple[bytes, int]:
    """Magic number and header length, from the first 16 bytes at least."""
    magic, size = PREAMBLE.unpack_from(data)
    return magic, size
