"""Writes one sorted table and the files around it, so that LevelDB, RocksDB and dacha open the directory.

The layout is deterministic: one table `000004.sst` on level 2 with sequence numbers 1 to n, a manifest of one edit, an
empty log, an empty LOCK, CURRENT.  Rows must come sorted by key, each key once.

Spec: LevelDB doc/table_format.md, doc/impl.md; `docs/formats/leveldb.md`, "Writing".
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import BinaryIO

from exhume.codecs.checksums import RunningChecksum, crc32c, mask_crc32c
from exhume.errors import WriterError
from exhume.formats.leveldb.blocks import block_parts, build_block, seal_block
from exhume.formats.leveldb.kernel import table_blocks
from exhume.formats.leveldb.layout_facts import (
    FIRST,
    FRAGMENT,
    FULL,
    KEY_TAIL,
    LAST,
    LEVELDB_FOOTER,
    LEVELDB_MAGIC,
    MIDDLE,
    TRAILER,
    Compressions,
    Tags,
    ValueTypes,
)
from exhume.formats.leveldb.log import BLOCK, HEADER
from exhume.formats.leveldb.model import BYTEWISE
from exhume.formats.leveldb.wire import Handle, InternalKey, build_bytes, build_varint
from exhume.io.values import LargeValue

BLOCK_SIZE = 4096
"""Uncompressed bytes after which a block ends, as in LevelDB."""
RESTART_INTERVAL = 16
"""Entries from one complete key to the next, as in LevelDB; keys between omit what they share with the one before."""
ROWS = 4096
"""Rows to build blocks from in one call."""
# The table that `write_database` writes.
TABLE_NUMBER = 4
TABLE_LEVEL = 2
LARGEST = (1 << 32) - 1
"""Bytes of a value at most."""
Row = tuple[bytes, bytes | LargeValue]
"""A user key and its value."""
_DELETION = int(ValueTypes.DELETION)
CODECS = ("none", "snappy")
"""Compressions that every reader of the family understands."""


class TableWriter:
    """Writes a table to a binary file, block by block.

    `add` takes internal keys in order.  `finish` writes properties, metaindex, index and footer.  After it `smallest`
    and `largest` (internal keys), `count` and `size` describe the table.
    """

    def __init__(self, file: BinaryIO, codec: str = "none", block_size: int = BLOCK_SIZE) -> None:
        """Start a table; `block_size` is in bytes, before compression."""
        if codec not in CODECS:
            raise WriterError(
                "tables are written with none or snappy", expected=f"one of {', '.join(CODECS)}", actual=codec
            )
        self._file = file
        self._codec = codec
        self._block_size = block_size
        self._block: list[tuple[bytes, bytes]] = []
        """(internal key, value) of the block that is not written yet."""
        self._pending = 0
        """Its bytes, about."""
        self._index: list[tuple[bytes, bytes]] = []
        """(last internal key, handle) of each block, as it is stored in the index."""
        self._last: tuple[bytes, int] | None = None
        """Sort key of the last entry: user key, and minus (sequence << 8 | type)."""
        # For the properties: deletions, and bytes of all keys and values.
        self._deleted = self._key_bytes = self._value_bytes = 0
        self.count: int = 0
        """Entries so far."""
        self.smallest: bytes = b""
        """The first internal key."""
        self.largest: bytes = b""
        """The last internal key."""
        self.size: int = 0
        """Bytes written so far."""

    def add(self, key: InternalKey, value: bytes) -> None:
        """Append an entry; raise `WriterError` when it does not sort after the one before it."""
        order = (key.user_key, -((key.sequence << 8) | key.value_type))
        if self._last is not None and order <= self._last:
            raise WriterError("table entries must be sorted and unique", actual=key.user_key)
        self._last = order
        packed = key.build()
        if not self.count:
            self.smallest = packed
        self.largest = packed
        self._block.append((packed, value))
        self._pending += len(packed) + len(value) + 3  # the three lengths mostly take a byte each
        self.count += 1
        self._key_bytes += len(packed)
        self._value_bytes += len(value)
        self._deleted += key.value_type == _DELETION
        if self._pending >= self._block_size:
            self._flush()

    def add_values(self, rows: Iterable[Row]) -> None:
        """Append values by user keys, which get the next sequence numbers, and end the last block.

        A block that ends with a value that is read in chunks is not compressed.  Raises `WriterError` when a key does
        not sort after the one before it.
        """
        ordered, waiting, ended = iter(rows), list[tuple[bytes, bytes]](), False
        self._flush()
        while not ended:
            part = list(itertools.islice(ordered, ROWS))
            ended = not part
            for key, value in part:
                if isinstance(value, LargeValue) and len(value) >= self._block_size:
                    self._put_values(waiting, whole=False)
                    self._put_large(waiting, key, value)
                else:
                    waiting.append((key, b"".join(value) if isinstance(value, LargeValue) else value))
            self._put_values(waiting, whole=ended)

    def _put_values(self, waiting: list[tuple[bytes, bytes]], *, whole: bool) -> None:
        """Write the full blocks that the pairs `waiting` make, with `whole` all of them, and remove these pairs from
        the list.

        Raises `WriterError` for a key that is not above the one before.
        """
        before = self._last[0] if self._last else None
        packed = self.count + 1 << 8 | ValueTypes.VALUE  # sequence numbers count from 1
        blocks, used, wrong = table_blocks(waiting, before, packed, self._block_size, RESTART_INTERVAL, whole)
        if wrong >= 0:
            raise WriterError("table entries must be sorted and unique", actual=waiting[wrong][0])
        for contents, first, last in blocks:
            self.smallest = self.smallest or first
            self.largest = last
            self._index.append((last, self._put(contents, self._codec).build()))
        for key, value in waiting[:used]:
            self._key_bytes += len(key) + KEY_TAIL.size
            self._value_bytes += len(value)
            self._last = key, 0  # the order within a key does not matter: each comes once
        self.count += used
        del waiting[:used]

    def _put_large(self, waiting: list[tuple[bytes, bytes]], key: bytes, value: LargeValue) -> None:
        """Write the block that ends with this value: it is the one that `table_blocks` would make of the pairs
        `waiting` and this one.

        The value goes to the file in chunks. Raises `WriterError`, and what reading the value raises.
        """
        before = waiting[-1][0] if waiting else self._last[0] if self._last else None
        if before is not None and key <= before:
            raise WriterError("table entries must be sorted and unique", actual=key)
        if len(value) > LARGEST:
            raise WriterError("a value of a table is at most 4 GiB long", actual=len(value))
        # The block without the large value, which is written between its entries and its restart points.
        entries = [
            (InternalKey(one, number, ValueTypes.VALUE).build(), stored)
            for number, (one, stored) in enumerate([*waiting, (key, b"")], self.count + 1)
        ]
        head, restarts = block_parts(entries, RESTART_INTERVAL, len(value))
        running, size = RunningChecksum("crc32c"), 0
        for piece in itertools.chain((bytes(head),), value, (restarts,)):
            running.update(piece)
            self._file.write(piece)
            size += len(piece)
        if size != len(head) + len(value) + len(restarts):
            raise WriterError("a value changed while it was read", expected=len(value))
        # The trailer, the index entry, and the facts about the table.
        kind = bytes((Compressions.NONE,))
        self._file.write(TRAILER.pack(Compressions.NONE, mask_crc32c(running.value(kind))))
        self._index.append((entries[-1][0], Handle(self.size, size).build()))
        self.size += size + TRAILER.size
        (first, _), (last, _) = entries[0], entries[-1]
        self.smallest, self.largest = self.smallest or first, last
        self._key_bytes += sum(len(one) for one, _ in entries)
        self._value_bytes += len(value) + sum(len(stored) for _, stored in waiting)
        self._last = key, 0
        self.count += len(entries)
        waiting.clear()

    def _flush(self) -> None:
        """Write the block of the entries so far, if there are any."""
        if self._block:
            handle = self._put(build_block(self._block, RESTART_INTERVAL), self._codec)
            self._index.append((self._block[-1][0], handle.build()))
            self._block, self._pending = [], 0

    def _put(self, contents: bytes, codec: str) -> Handle:
        """Write a block with these contents, compressed by `codec`, and return where it is."""
        sealed = seal_block(contents, codec)
        handle = Handle(self.size, len(sealed) - TRAILER.size)
        self._file.write(sealed)
        self.size += len(sealed)
        return handle

    def finish(self) -> None:
        """Write what follows the data blocks: properties, index, metaindex and footer."""
        self._flush()
        facts = [
            (b"rocksdb.deleted.keys", build_varint(self._deleted)),
            (b"rocksdb.num.entries", build_varint(self.count)),
            (b"rocksdb.raw.key.size", build_varint(self._key_bytes)),
            (b"rocksdb.raw.value.size", build_varint(self._value_bytes)),
        ]
        properties = self._put(build_block(facts, 1), "none")
        index = self._put(build_block(self._index, 1), self._codec)
        metaindex = self._put(build_block([(b"rocksdb.properties", properties.build())], 1), "none")
        handles = metaindex.build() + index.build()
        self._file.write(handles.ljust(LEVELDB_FOOTER - len(LEVELDB_MAGIC), b"\0") + LEVELDB_MAGIC)
        self.size += LEVELDB_FOOTER


def write_database(
    create: Callable[[str], BinaryIO],
    rows: Iterable[Row],
    *,
    codec: str = "none",
    identity: str | None = None,
) -> int:
    """Write a database of sorted `(key, value)` rows; return the number of rows.

    `create(name)` opens a new file of the directory; it is up to the caller that the files appear together
    (`AtomicDirectory.create`), but the directory is not valid before CURRENT, which comes last.  `identity`: text of
    the IDENTITY file, None for no such file.  Raises `WriterError` for rows out of order.
    """
    table = b""
    ordered = iter(rows)
    first = next(ordered, None)
    count = 0
    # The table, if there is any row.
    if first is not None:
        with create(f"{TABLE_NUMBER:06d}.sst") as file:
            writer = TableWriter(file, codec)
            writer.add_values(itertools.chain([first], ordered))
            writer.finish()
        count = writer.count
        table = (
            b"".join(map(build_varint, (Tags.NEW_FILE, TABLE_LEVEL, TABLE_NUMBER, writer.size)))
            + build_bytes(writer.smallest) + build_bytes(writer.largest)
        )  # fmt: skip
    # The manifest: one edit with the comparator, the counters and the table.
    edit = build_varint(Tags.COMPARATOR) + build_bytes(BYTEWISE.encode())
    for tag, number in (
        (Tags.LOG_NUMBER, 3),  # that of the empty log below
        (Tags.PREVIOUS_LOG_NUMBER, 0),
        (Tags.NEXT_FILE_NUMBER, TABLE_NUMBER + 1),
        (Tags.LAST_SEQUENCE, count),
    ):
        edit += build_varint(tag) + build_varint(number)
    edit += table
    # CURRENT comes last: it makes the directory a database.
    small = {"MANIFEST-000002": build_log([edit]), "000003.log": b"", "LOCK": b""}
    if identity is not None:
        small["IDENTITY"] = identity.encode()
    small["CURRENT"] = b"MANIFEST-000002\n"
    for name, data in small.items():
        with create(name) as file:
            file.write(data)
    return count


def build_log(records: Iterable[bytes]) -> bytes:
    """Return records framed as a log or manifest: in fragments, none of which crosses the end of a 32 KiB block."""
    out = bytearray()
    for record in records:
        at, first = 0, True  # offset in the record, whether no fragment of it was written
        while True:
            space = BLOCK - len(out) % BLOCK
            if space < HEADER:  # filler
                out += bytes(space)
                space = BLOCK
            part = record[at : at + space - HEADER]
            at += len(part)
            last = at == len(record)
            kind = (FULL if last else FIRST) if first else (LAST if last else MIDDLE)
            out += FRAGMENT.pack(mask_crc32c(crc32c(bytes((kind,)) + part)), len(part), kind) + part
            first = False
            if last:
                break
    return bytes(out)
