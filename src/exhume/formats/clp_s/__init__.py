"""clp-s single-file archives: compressed, searchable JSON logs (format versions 0.2.0 to 0.5.1)."""

from __future__ import annotations

from exhume_ksy.facts.clp_s import FileHeader

from exhume.registry import Format, Signature

FORMAT = Format(
    id="clp-s",
    title="clp-s single-file archive",
    package=__name__,
    container="file",
    content="records",
    extensions=(".clps",),
    aliases=("clp", "clp_s"),
    signatures=(Signature(FileHeader.magic, FileHeader.at.magic[0], "magic number"),),
    codecs=("zstd",),
    locate="locate:locate",
    recode="recode:recode",
    salvage="salvage:salvage",
    verbs=("create", "cat", "list", "info", "verify", "payload", "explain", "carve", "recode", "salvage"),
    limitations=("the directory form (one file per section) is not read",),
    inspect="sections:inspect",
    parts="parts",
)
