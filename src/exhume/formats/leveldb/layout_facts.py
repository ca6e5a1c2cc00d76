"""Constants of the specifications of the LevelDB family: magic numbers, sizes, types, and formats of packed values.

They come from the facts that are generated from the Kaitai specifications: `at` has the (start, end) of a field, and
`before_end` the same counted from the end; `prefix`, `suffix` and `packed` are formats for `struct`.  `means.is_x` is
the value for which a condition `is_x` of a specification is true; `form` is the format of a number.

Spec: LevelDB doc/table_format.md, doc/log_format.md, db/dbformat.h; RocksDB table/format.h.
"""

from __future__ import annotations

import struct
from typing import Final

from exhume_ksy.facts import leveldb_blob_file as blob_file
from exhume_ksy.facts.leveldb_block import LeveldbBlock
from exhume_ksy.facts.leveldb_footer import LeveldbFooter, SealedHandle
from exhume_ksy.facts.leveldb_internal_key import LeveldbInternalKey
from exhume_ksy.facts.leveldb_internal_key import ValueTypes as ValueTypes
from exhume_ksy.facts.leveldb_log import Compressions as _LogCompressions
from exhume_ksy.facts.leveldb_log import Fragment
from exhume_ksy.facts.leveldb_log import FragmentTypes as FragmentTypes
from exhume_ksy.facts.leveldb_table import BlockTrailer
from exhume_ksy.facts.leveldb_table import Compressions as Compressions
from exhume_ksy.facts.leveldb_version_edit import Tags as Tags
from exhume_ksy.facts.leveldb_write_batch import LeveldbWriteBatch
from exhume_ksy.facts.zstd_frame import Frame, FrameKind

# The last bytes of a table show its family, LevelDB or RocksDB.  `before_end...[0]` is the distance of a field's start
# from the end, so that of the first field is the size of the footer.
LEVELDB_MAGIC: Final = LeveldbFooter.means.is_leveldb
ROCKSDB_MAGIC: Final = LeveldbFooter.means.is_rocksdb
MAGIC_SIZE: Final = LeveldbFooter.before_end.magic[0]
LEVELDB_FOOTER: Final = LeveldbFooter.before_end.leveldb[0]
ROCKSDB_FOOTER: Final = LeveldbFooter.before_end.checksum_type[0]
"""Bytes of the footers."""

# A footer of RocksDB has the type of checksums (1 byte), 40 bytes, version and magic number.  From version 6 on, the
# 40 bytes are a `SealedHandle` (`rocksdb6`) with the checksum of the footer: `_SEALED` is its offset there, 1.
_SEALED = ROCKSDB_FOOTER - LeveldbFooter.before_end.rocksdb6[0]
FOOTER_CHECKSUM: Final = SealedHandle.at.footer_checksum[0] + _SEALED, SealedHandle.at.footer_checksum[1] + _SEALED
"""Position of the checksum in a footer of RocksDB version 6 and later: after the checksum's type."""

KEY_TAIL: Final = struct.Struct(LeveldbInternalKey.suffix)
"""The part of an internal key after the user's key: value type, and the sequence number in three parts."""

TRAILER: Final = struct.Struct(BlockTrailer.packed)
"""Compression and checksum after a block."""

CHECKSUMMED: Final = BlockTrailer.at.checksum[0]
"""Number of bytes of the trailer that the checksum covers, in addition to the block."""

FRAGMENT: Final = struct.Struct(Fragment.prefix)
"""Checksum, length and type before a fragment of a log; the checksum covers the type and what follows."""
CHECKED: Final = Fragment.at.fragment_type[0]
"""Offset in the fragment of the bytes that the checksum covers."""

# Types of fragments 1 to 4: a complete record, or its first, a further, its last fragment.
_WHOLE: Final = FragmentTypes.FULL, FragmentTypes.FIRST, FragmentTypes.MIDDLE, FragmentTypes.LAST
FULL, FIRST, MIDDLE, LAST = map(int, _WHOLE)
RECYCLABLE: Final = FragmentTypes.RECYCLABLE_FULL - FragmentTypes.FULL
"""The difference between a fragment type of a recycled log and the same type of any other log."""
KNOWN_FRAGMENTS: Final = frozenset(FragmentTypes) - {FragmentTypes.ZERO}
"""Types of fragments that engines write; the type 0 is filler."""
RECORD_FRAGMENTS: Final = frozenset(range(FragmentTypes.FULL, FragmentTypes.RECYCLABLE_LAST + 1))
"""Types of fragments that hold parts of records; the others are about the log itself."""
TIMESTAMP_FRAGMENTS: Final = frozenset(
    {FragmentTypes.USER_DEFINED_TIMESTAMP_SIZE, FragmentTypes.RECYCLABLE_USER_DEFINED_TIMESTAMP_SIZE}
)
"""Types of fragments that state how long the timestamps in keys are."""
NUMBERED_FRAGMENTS: Final = frozenset(one for one in FragmentTypes if "RECYCLABLE" in one.name)
"""Types of fragments that state the number of the log that wrote them."""
NUMBERED_HEADER: Final = FRAGMENT.size + struct.calcsize(Fragment.format.log_number)
"""Bytes of the header of such a fragment."""
MAY_SKIP: Final = 128
"""From here on RocksDB lets a reader skip types that it does not know."""

LogCompressions: Final = _LogCompressions
"""Compressions of logs; those of tables are `Compressions`."""

BATCH: Final = struct.Struct(LeveldbWriteBatch.prefix)
"""Sequence number and count of operations before a write batch."""
SEQUENCE_AT: Final = LeveldbWriteBatch.at.sequence
"""(start, end) of the sequence number in a write batch."""

NUM_RESTARTS: Final = struct.Struct(LeveldbBlock.form.packed_num_restarts)
"""The last number of a block: the number of restart points before it."""
RESTART: Final = struct.Struct(LeveldbBlock.form.restarts)
"""A restart point: the offset of an entry in its block."""

# Bytes of the header and footer of a blob file, and its first bytes.
BLOB_HEADER: Final = blob_file.FileHeader.size
BLOB_FOOTER: Final = blob_file.FileFooter.size
BLOB_MAGIC: Final = blob_file.FileHeader.magic
BLOB_RECORD: Final = blob_file.Record.at.checksum[1]
"""Bytes of a record in a blob file before its key."""
BLOB_HEAD_CHECKED: Final = blob_file.Record.at.head_checksum[0]
"""Bytes of a record that its first checksum covers."""
BLOB_FOOTER_CHECKED: Final = blob_file.FileFooter.at.checksum[0]
"""Bytes of the footer of a blob file that its checksum covers."""
BLOB_HEAD: Final = struct.Struct(blob_file.Record.prefix)
"""The numbers before the key of a record; see `layout.BlobHead`."""

ZSTD_MAGIC: Final = struct.pack(Frame.prefix, FrameKind.ZSTANDARD)
"""The first bytes of a zstd frame."""


def user_key(key: bytes) -> bytes:
    """An internal key without sequence number and type."""
    return key[: -KEY_TAIL.size]
