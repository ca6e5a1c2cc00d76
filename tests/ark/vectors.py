"""The check vectors of the format's description: bytes worked out by hand."""

from __future__ import annotations


def unhex(text: str) -> bytes:
    """Bytes of spaced hexadecimal text (`|` separates parts)."""
    return bytes.fromhex(text.replace("|", " "))


GUID_TEXT = "00112233-4455-6677-8899-aabbccddeeff"
GUID_WIRE = unhex("77 66 55 44 33 22 11 00 ff ee dd cc bb aa 99 88")

MY_MESSAGE_IDL = "schema MyMessage { uint32 number; string text; }"
MY_MESSAGE = unhex("d1 07 00 00 00 02 00 00 00 68 69")
GROUPS = unhex("d5 07 00 00 00 | e4 00 04 00 00 00 6d 6f 72 65 | e0 01 02 00 00 00 6f 6b")
"""An object of one number and two groups."""

SPLIT = "b0a1c2d3-e4f5-4a6b-8c7d-9e8f7a6b5c4d"
OBJECT = "11111111-2222-4333-8444-555555555555"
SPLIT_HEADER = unhex(
    "d1 01 00 6b 4a f5 e4 d3 c2 a1 b0 4d 5c 6b 7a 8f 9e 7d 8c 00 04 00 00 02 00 00 00 04 00 00 00 01 00 00 00"
    "d1 33 43 22 22 11 11 11 11 55 55 55 55 55 55 44 84 00"
)
INDEX_ENTRY = unhex("00 f2 05 2a 01 00 00 00 48 04 00 00 09 00 00 00 00 00")

LZ4_MESSAGE = unhex("bf d1 07 00 00 00 02 00 00 00 68 69 0b 00 35 50 00 00 00 68 69 | 58 00 00 00 01 f0")
ZSTD_MESSAGE = unhex(
    "28 b5 2f fd 20 58 95 00 00 58 d1 07 00 00 00 02 00 00 00 68 69 01 00 6a b4 78 01 | 58 00 00 00 02 f0"
)

LOG = "391d3934-1d10-4000-a4d3-98c2e90d553e"
COMMON = "aee21401-b25f-4bbb-9d97-c51e8d5bf5f2"
MANIFEST = unhex(
    "d5 00 40 10 1d 34 39 1d 39 3e 55 0d e9 c2 98 d3 a4 bb 4b 5f b2 01 14 e2 ae f2 f5 5b 8d 1e c5 97 9d"
    "04 00 00 00 64 65 6d 6f 00 00 00 00"
    "e4 00 04 00 00 00 00 00 00 00 | e0 01 11 00 00 00 d1 01 00 00 00 01 00 00 00 6b 03 00 00 00 22 76 22"
)

MAGIC = unhex("b6 48 f0 e8 fc e9 eb 53 1f ea 4c 6b 29 ab 81 bc")
