"""MCAP files as they are written: messages become pieces in several processes, and the pieces one file.

An MCAP file is a header, records of data, and a summary with indexes.  Messages are in chunks, which are compressed;
schemas and channels are declared before their first message.  A piece is some chunks with their part of the summary.
The official `mcap` library (extra `mcap`) writes the records.

Spec: none of ours; https://mcap.dev/spec.
"""

from __future__ import annotations

import io
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, BinaryIO, Final

import zstandard

from exhume import codecs
from exhume.formats.ark.mcap_records import CRC_SIZE, HEAD_SIZE, MESSAGE_SIZE, SIZE_BYTES, Kind, library
from exhume.io.output.scratch import Spool
from exhume.io.values import LargeValue
from exhume.tuples import NamedTuple

Row = tuple[int, int, bytes, int, int]
"""A message that is written: the number of its channel, its time, its bytes, its publish time, its sequence number."""


class LargeRow(NamedTuple):
    """A row like `Row` for a message that becomes a chunk by itself, compressed in a stream."""

    channel: int
    time_ns: int
    data: bytes | LargeValue
    publish_time: int
    sequence: int


class McapPiece(NamedTuple):
    """Part of the data section of a file, made as if it were a file of its own; `JoinedFile` moves its offsets."""

    data: Sequence[bytes | memoryview]  # consecutive bytes
    start: int
    """Offset of the data in the piece's own file, from which the offsets in `summary` count."""
    summary: Any
    channels: frozenset[int] = frozenset()
    """Numbers of the channels that the data declare."""


def head_piece(declare: Callable[[Any], None], profile: str, library_name: str) -> McapPiece:
    """The beginning of a file: its header, and the attachments and metadata (one record or more) that `declare` adds.

    The schemas and channels that it registers come with the pieces of messages, and in the summary.  `profile` and
    `library_name` are fields of the header.
    """
    stream = io.BytesIO()
    writer = library("writer").Writer(stream)
    writer.start(profile, library_name)
    declare(writer)
    writer.finish()
    stream.seek(0)
    summary = library("reader").make_reader(stream).get_summary()
    last = summary.metadata_indexes[-1]  # metadata come last; there is always a record
    return McapPiece([stream.getvalue()[: last.offset + last.length]], 0, summary)


# The library takes and returns the `Any` here: records, builders (which collect the bytes of records) and summaries.
CHUNK_BYTES: Final = 1 << 20
"""Bytes of records after which a chunk ends."""


class DeclaredChannel(NamedTuple):
    """A channel of a file; `schema` is the number of its schema, 0 if it has none."""

    topic: str
    encoding: str
    schema: int
    metadata: dict[str, str]


class Declared(NamedTuple):
    """The schemas and channels of a file, as the arguments of the library's records, by number from 1."""

    schemas: Sequence[tuple[str, str, bytes]]
    """Name, encoding and data of each."""
    channels: Sequence[DeclaredChannel]

    def write(self, builder: Any, channel: int, schemas: set[int]) -> None:
        """Add the record of a channel, and that of its schema if it is not in `schemas`, the numbers of those added."""
        records = library("records")
        topic, encoding, schema, metadata = self.channels[channel - 1]
        if schema and schema not in schemas:
            schemas.add(schema)
            name, schema_encoding, data = self.schemas[schema - 1]
            records.Schema(id=schema, name=name, encoding=schema_encoding, data=data).write(builder)
        made = records.Channel(id=channel, topic=topic, message_encoding=encoding, schema_id=schema, metadata=metadata)
        made.write(builder)


class _PieceSummary(NamedTuple):
    """The part of a file's summary that a batch of messages adds: records of the library."""

    chunk_indexes: list[Any]
    statistics: Any


def message_piece(declared: Declared, messages: Iterable[Row]) -> McapPiece:
    """Chunks of messages, each followed by the indexes of its channels.

    Before its first message in the piece, a channel and its schema are declared, so that a piece costs what it
    contains, and can be read by itself.
    """
    made = _Chunks(declared)
    for row in messages:
        made.add(*row)
    return made.piece()


def large_piece(declared: Declared, row: LargeRow) -> McapPiece:
    """The chunk of a large message, read once in windows; in a temporary file if the chunk is larger than `HELD`."""
    made = _Chunks(declared)
    made.add_large(row)
    return made.piece()


LEVEL: Final = 3
"""The level of zstd."""

HELD: Final = 16 << 20
"""Bytes of a compressed chunk that are held in memory."""


class _Chunks:
    """The chunks of a piece."""

    def __init__(self, declared: Declared) -> None:
        self._declared = declared
        self._records = library("records")
        self._out: list[bytes | memoryview] = []  # finished chunks and indexes
        self._size = 0  # bytes of `_out`
        self._builder = library("data_stream").RecordBuilder()  # the records of the current chunk
        self._places: dict[int, list[tuple[int, int]]] = {}  # (time in ns, offset in the chunk) by channel
        self._channels: set[int] = set()  # numbers of what the piece has declared
        self._schemas: set[int] = set()
        self._indexes: list[Any] = []  # a `ChunkIndex` record for each chunk, for the summary
        self._counts: Counter[int] = Counter()  # messages by channel
        self._times: list[tuple[int, int]] = []  # first and last time of each chunk

    def _declare(self, channel: int, time_ns: int) -> None:
        """Add the records that precede the first message of a channel, and note the place of its next message."""
        if channel not in self._channels:
            self._channels.add(channel)
            self._declared.write(self._builder, channel, self._schemas)
        self._places.setdefault(channel, []).append((time_ns, self._builder.count))

    def add(self, channel: int, time_ns: int, data: bytes, publish_time: int, sequence: int) -> None:
        """Add a message."""
        self._declare(channel, time_ns)
        message = self._records.Message(
            channel_id=channel, log_time=time_ns, data=data, publish_time=publish_time, sequence=sequence
        )
        message.write(self._builder)
        if self._builder.count >= CHUNK_BYTES:
            self._end_chunk()

    def add_large(self, row: LargeRow) -> None:
        """Add a message as the last one of a chunk.

        The head of its record is written by hand, since the library would take all of its data in memory.
        """
        self._declare(row.channel, row.time_ns)
        value = LargeValue.of(row.data)
        builder = self._builder
        builder.write1(Kind.MESSAGE)
        builder.write8(MESSAGE_SIZE + len(value))
        builder.write2(row.channel)
        builder.write4(row.sequence)
        builder.write8(row.time_ns)
        builder.write8(row.publish_time)
        head = builder.end()  # all records of the chunk before the data
        size = len(head) + len(value)
        packed, checksum = Spool(HELD), 0
        engine = zstandard.ZstdCompressor(level=LEVEL).compressobj(size)
        for piece in chain([head], value):
            checksum = zlib.crc32(piece, checksum)
            packed.add(engine.compress(piece))
        packed.add(engine.flush())
        self._close(packed.take(), size, checksum)

    def _end_chunk(self) -> None:
        """Compress and put out the current chunk."""
        data = self._builder.end()
        self._close(codecs.compress("zstd", data, level=LEVEL), len(data), zlib.crc32(data))

    def _close(self, packed: bytes | memoryview, size: int, checksum: int) -> None:
        """Put a chunk out, with the content `packed` (compressed), and the indexes of its channels.

        `size` and `checksum` are those of the content before compression.
        """
        records = self._records
        times = [time for places in self._places.values() for time, _ in places]
        first, last = min(times), max(times)
        out = library("data_stream").RecordBuilder()
        chunk = records.Chunk(
            compression="zstd",
            data=b"",
            message_start_time=first,
            message_end_time=last,
            uncompressed_crc=checksum,
            uncompressed_size=size,
        )
        # The library would copy the data: the record is written without, and its end (the data's size, 0) replaced.
        chunk.write(out)
        content = out.end()[HEAD_SIZE:-SIZE_BYTES]
        out.write1(Kind.CHUNK)
        out.write8(len(content) + SIZE_BYTES + len(packed))
        out.write(content)
        out.write8(len(packed))
        self._out += out.end(), packed
        # The range of the chunk in the piece; the indexes of its channels follow it.
        start, end = self._size, self._size + HEAD_SIZE + len(content) + SIZE_BYTES + len(packed)
        offsets = {}
        for channel, places in self._places.items():
            offsets[channel] = end + out.count
            records.MessageIndex(channel_id=channel, records=places).write(out)
            self._counts[channel] += len(places)
        index = records.ChunkIndex(
            message_start_time=first,
            message_end_time=last,
            chunk_start_offset=start,
            chunk_length=end - start,
            message_index_offsets=offsets,
            message_index_length=out.count,
            compression="zstd",
            compressed_size=len(packed),
            uncompressed_size=size,
        )
        self._size = end + out.count
        self._out.append(out.end())
        self._indexes.append(index)
        self._times.append((first, last))
        self._places = {}

    def piece(self) -> McapPiece:
        """The piece of all messages that were added."""
        if self._places:
            self._end_chunk()
        statistics = self._records.Statistics(
            attachment_count=0,
            channel_count=0,
            channel_message_counts=dict(self._counts),
            chunk_count=len(self._indexes),
            message_count=self._counts.total(),
            message_start_time=min((first for first, _ in self._times), default=0),
            message_end_time=max((last for _, last in self._times), default=0),
            metadata_count=0,
            schema_count=0,
        )
        return McapPiece(self._out, 0, _PieceSummary(self._indexes, statistics), frozenset(self._channels))


class JoinedFile:
    """A file made of pieces, with the summary of all of them."""

    def __init__(self, file: BinaryIO, head: McapPiece, declared: Declared) -> None:
        self._file = file
        self._summary = head.summary  # the library's `Summary`, which grows with each piece
        self._declared = declared
        self._channels: set[int] = set()  # numbers of the channels that the pieces declared
        self._size = 0  # bytes written
        self._put(*head.data)

    def add(self, piece: McapPiece) -> None:
        """Append messages."""
        self._channels |= piece.channels
        shift = self._size - piece.start
        for index in piece.summary.chunk_indexes:
            places = {channel: place + shift for channel, place in index.message_index_offsets.items()}
            shifted = replace(index, chunk_start_offset=index.chunk_start_offset + shift, message_index_offsets=places)
            self._summary.chunk_indexes.append(shifted)
        total, more = self._summary.statistics, piece.summary.statistics
        for channel, count in more.channel_message_counts.items():
            total.channel_message_counts[channel] = total.channel_message_counts.get(channel, 0) + count
        if more.message_count:  # without messages, times are 0 and mean nothing
            first, last = more.message_start_time, more.message_end_time
            if total.message_count:
                first, last = min(first, total.message_start_time), max(last, total.message_end_time)
            total.message_start_time, total.message_end_time = first, last
        total.message_count += more.message_count
        total.chunk_count += more.chunk_count
        self._put(*piece.data)

    def finish(self) -> None:
        """End the file with the channels and schemas that have no messages, and its summary."""
        records, kinds, summary = library("records"), library("opcode").Opcode, self._summary
        builder = library("data_stream").RecordBuilder()
        # The rest of the data section: what no piece declares, and its end (0: without a checksum).
        schemas = {self._declared.channels[channel - 1].schema for channel in self._channels}
        for channel in range(1, len(self._declared.channels) + 1):
            if channel not in self._channels:  # without messages
                self._declared.write(builder, channel, schemas)
        for number, (name, encoding, data) in enumerate(self._declared.schemas, 1):
            if number not in schemas:
                records.Schema(id=number, name=name, encoding=encoding, data=data).write(builder)
        records.DataEnd(0).write(builder)
        self._put(builder.end())
        # The summary: records grouped by kind, and then the place of each group.
        groups = {
            kinds.SCHEMA: summary.schemas.values(),
            kinds.CHANNEL: summary.channels.values(),
            kinds.STATISTICS: [summary.statistics],
            kinds.CHUNK_INDEX: summary.chunk_indexes,
            kinds.ATTACHMENT_INDEX: summary.attachment_indexes,
            kinds.METADATA_INDEX: summary.metadata_indexes,
        }
        offsets = []
        for kind, group in groups.items():
            start = builder.count
            for record in group:
                record.write(builder)
            if builder.count > start:
                offsets.append(records.SummaryOffset(kind, self._size + start, builder.count - start))
        start = builder.count
        for offset in offsets:
            offset.write(builder)
        # The checksum covers the summary and the footer up to the checksum itself, so the footer is written twice.
        # It states where the summary starts (`_size`), and where the places of the groups do.
        footer = records.Footer(self._size, self._size + start, summary_crc=0)
        data = builder.end()
        footer.write(builder)
        footer.summary_crc = zlib.crc32(builder.end()[:-CRC_SIZE], zlib.crc32(data))
        footer.write(builder)
        self._put(data + builder.end() + library("writer").MCAP0_MAGIC)

    def _put(self, *data: bytes | memoryview) -> None:
        """Write to the file, counting the bytes."""
        for piece in data:
            self._file.write(piece)
            self._size += len(piece)
