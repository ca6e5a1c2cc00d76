"""DataBundle: files packed into shards of compressed records, with a LevelDB-style index.

A bundle is a directory: `shard-NNNNNNNN` files with content, and `index/`, a LevelDB database that says where each file
is. What this module imports is loaded for every command, so it has only the description of the format.
"""

from __future__ import annotations

from exhume_ksy.facts.data_bundle_shard import DataBundleShard

from exhume.registry import Format, Signature

FORMAT = Format(
    id="databundle",
    title="DataBundle (sharded file archive with a LevelDB-style index)",
    package=__name__,
    container="directory",
    content="members",
    aliases=("bundle", "data_bundle"),
    signatures=(Signature(DataBundleShard.magic, note="start of a shard"),),
    codecs=("none", "snappy", "zlib"),
    verify="reader:verify_source",
    create="writer:DataBundleWriter",
    salvage="salvage:salvage",
    salvages=("archive", "files", "jsonl"),
    tally="exhume.parts.members:tally",
    units=("files", "versions", "pieces without a name"),
    owns="probe:owns",
    locate="locate:locate",
    piece="locate:piece",
    recode="recode:recode",
    limitations=(
        "metadata inside a shard (inline or at its end) was never defined upstream and is not read",
        "no modes, owners, times or links: the format has no place for them",
    ),
    checksums=("CRC-32C of each fragment of a log or manifest", "checksum of each block of the index"),
    payload_checksums=("CRC-32C of each file",),
    inspect="reader:inspect",
    parts="exhume.parts.members",
)
