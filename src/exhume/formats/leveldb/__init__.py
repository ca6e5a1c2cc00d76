"""LevelDB: a read-only forensic reader for databases of the LevelDB family (LevelDB, RocksDB, dacha EmbeddedDB), and a
writer of sorted tables."""

from __future__ import annotations

from exhume_ksy.facts.leveldb_blob_file import FileHeader as BlobHeader
from exhume_ksy.facts.leveldb_footer import LeveldbFooter

from exhume.registry import Format, Signature

FORMAT = Format(
    id="leveldb",
    title="LevelDB and RocksDB database directory (read only, every version of every key)",
    package=__name__,
    container="directory",
    content="records",
    extensions=("ldb", "sst", "log", "blob"),
    aliases=("rocksdb",),
    signatures=(
        Signature(LeveldbFooter.means.is_leveldb, note="last eight bytes of a LevelDB table"),
        Signature(LeveldbFooter.means.is_rocksdb, note="last eight bytes of a RocksDB table"),
        Signature(
            BlobHeader.magic
            + BlobHeader.version.to_bytes(BlobHeader.at.version[1] - BlobHeader.at.version[0], "little"),
            note="first eight bytes of a RocksDB blob file",
        ),
    ),
    codecs=("none", "snappy", "zlib", "deflate", "bz2", "lz4", "zstd"),
    create=None,
    salvage="salvage:salvage",
    salvages=("archive", "jsonl"),
    tally="parts:tally",
    units=("rows", "versions"),
    owns="probe:owns",
    locate="locate:locate",
    limitations=(
        "RocksDB merge operands are applied for its built-in operators only",
        "plain and cuckoo tables of RocksDB, and Pebble's own formats, are not decoded",
        "of databases of Pebble, only tables in the form of RocksDB are read",
        "keys of databases with a comparator that is not known are ordered bytewise",
    ),
    checksums=("CRC-32C of each fragment of a log or manifest", "checksum of each block, in tables that have them"),
    # The note of a table without checksums: its content counts as not verified.
    unsealed="LDB-407",
    parts="parts",
)
