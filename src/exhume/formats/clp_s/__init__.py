"""clp-s archives, single files and directories: compressed, searchable JSON logs (format versions 0.2.0 to 0.5.1).

Each key path and type of value is a node of the schema tree.  Records with the same nodes share a schema, and form a
table, stored column by column; tables are compressed together as packed streams.  Strings are split into a log type and
variables, which are kept in dictionaries.  Upstream is `clp-s`, the program whose format this is.
"""

from __future__ import annotations

from exhume_ksy.facts.clp_s import FileHeader

from exhume.registry import Format, Signature

FORMAT = Format(
    id="clp-s",
    title="clp-s archive (single file or directory)",
    package=__name__,
    container="either",
    content="records",
    extensions=(".clps",),
    aliases=("clp", "clp_s"),
    signatures=(Signature(FileHeader.magic, FileHeader.at.magic[0], "magic number"),),
    codecs=("zstd",),
    locate="locate:locate",
    owns="probe:owns",
    recode="recode:recode",
    salvage="salvage:salvage",
    salvages=("archive", "jsonl"),
    tally="parts:tally",
    units=("records", "partial records"),
    limitations=("directories without a header file (written before January 2025) are not read",),
    inspect="sections:inspect",
    parts="parts",
)
