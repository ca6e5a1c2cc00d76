"""KV-IR: streams of structured log events as CLP's loggers write them, mostly inside Zstandard frames.

A stream is a preamble (magic number and metadata) and units: declarations of keys, and events that refer to these keys.
"""

from __future__ import annotations

from exhume_ksy.facts.clp_kv_ir import Encodings, Preamble
from exhume_ksy.facts.zstd_frame import Frame, FrameKind

from exhume.registry import Format, Signature

ZSTD_MAGIC = FrameKind.ZSTANDARD.to_bytes(Frame.at.magic[1], "little")
FRAME_STARTS = tuple(kind.to_bytes(Frame.at.magic[1], "little") for kind in FrameKind)
"""First bytes of zstd frames, also of skippable ones (which contain no data of the stream).

`codecs` has the same constants, but it takes time to import, and this module is imported whenever formats are listed.
"""

MAGICS = tuple(Preamble.magic_start + bytes((one,)) for one in (Encodings.FOUR_BYTE, Encodings.EIGHT_BYTE))
"""First bytes of an uncompressed stream, by the width of its encoded variables."""

FORMAT = Format(
    id="kv-ir",
    title="CLP key-value pair IR stream",
    package=__name__,
    container="file",
    content="records",
    extensions=(".clp", ".clp.zst"),
    aliases=("kv_ir", "kvir"),
    signatures=(
        Signature(MAGICS[0], note="variables of four bytes"),
        Signature(MAGICS[1], note="variables of eight bytes"),
        Signature(ZSTD_MAGIC, note="a Zstandard frame, looked into"),
    ),
    codecs=("none", "zstd"),
    verify="verify:verify_source",
    salvage="salvage:salvage",
    salvages=("archive", "jsonl"),
    tally="info:tally",
    units=("events",),
    locate="locate:locate",
    recode="recode:recode",
    inspect="sections:inspect",
    parts="exhume.parts.stream",
)
