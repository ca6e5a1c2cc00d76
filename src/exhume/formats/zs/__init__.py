"""ZS: a sorted, read-only multiset of byte records in compressed, checksummed blocks under a tree of index blocks.

`FORMAT` describes the format to exhume; its values of the form "module:name" are imported when they are used.
"""

from __future__ import annotations

from exhume_ksy.facts.zs import Zs

from exhume.registry import Format, Signature

FORMAT = Format(
    id="zs",
    title="ZS sorted record archive 0.10",
    package=__name__,
    container="file",
    content="records",
    extensions=(".zs",),
    signatures=(
        Signature(Zs.magic[0], Zs.at.magic[0], "complete file"),
        Signature(Zs.magic[1], Zs.at.magic[0], "file whose writing was never finished"),
    ),
    codecs=("none", "deflate", "lzma"),
    verify="verify:verify_source",
    create="writer:ZsWriter",
    salvage="salvage:salvage",
    salvages=("archive", "jsonl"),
    tally="parts:tally",
    units=("records",),
    locate="locate:locate",
    recode="recode:recode",
    checksums=("CRC-64 of the header", "CRC-64 of each block"),
    payload_checksums=("SHA-256 of the data",),
    inspect="sections:inspect",
    parts="parts",
)
