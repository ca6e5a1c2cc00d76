"""CLP IR: streams of text messages with timestamps, as CLP's loggers write them, mostly inside Zstandard frames.

KV-IR (`exhume.formats.kv_ir`) is the younger format, of key-value pairs.  Both have the same framing: a preamble (magic
number and metadata), then units that consist of tokens.  So this package uses that one for everything but the units.
"""

from __future__ import annotations

from exhume_ksy.facts.clp_kv_ir import Encodings, Preamble
from exhume_ksy.facts.zstd_frame import Frame, FrameKind

from exhume.registry import Format, Signature

ZSTD_MAGIC = FrameKind.ZSTANDARD.to_bytes(Frame.at.magic[1], "little")
"""First bytes of a zstd frame; `codecs` has them as well, but takes time to import."""

FORMAT = Format(
    id="clp-ir",
    title="CLP IR stream of text messages",
    package=__name__,
    container="file",
    content="records",
    extensions=(".clp", ".clp.zst"),
    aliases=("clp_ir", "clpir"),
    signatures=(
        Signature(Preamble.magic_start + bytes((Encodings.FOUR_BYTE,)), note="variables of four bytes"),
        Signature(Preamble.magic_start + bytes((Encodings.EIGHT_BYTE,)), note="variables of eight bytes"),
        Signature(ZSTD_MAGIC, note="a Zstandard frame, looked into"),
    ),
    codecs=("none", "zstd"),
    verify="verify:verify_source",
    salvage="salvage:salvage",
    salvages=("archive", "jsonl"),
    tally="reader:tally",
    units=("events",),
    locate="locate:locate",
    recode="exhume.formats.kv_ir.recode:recode",
    inspect="reader:inspect",
    parts="exhume.parts.stream",
    limitations=(
        "times are printed in patterns of SimpleDateFormat without week numbers; others are printed as ISO 8601",
    ),
)
