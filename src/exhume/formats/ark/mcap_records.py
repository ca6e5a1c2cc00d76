"""The records of MCAP files in memory, which the official `mcap` library (extra `mcap`) reads and writes.

Spec: none of ours; https://mcap.dev/spec.
"""

from __future__ import annotations

import importlib
import io
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import IntEnum
from itertools import chain
from typing import Any, BinaryIO, Final

import zstandard

from exhume import codecs
from exhume.codecs.blocks import lz4_frames
from exhume.codecs.zstd import zstd_partial
from exhume.errors import CodecError, FormatError, MissingDependencyError, UnsupportedFeatureError, shorten
from exhume.io.output.scratch import Spool
from exhume.io.values import LargeValue
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.tuples import NamedTuple

MAGIC: Final = b"\x89MCAP0\r\n"
ENCODING: Final = "rbuf"
LIBRARY: Final = "exhume"
LOG_RECORD: Final = "ark.log"
METADATA_RECORD: Final = "ark.metadata"
CRC_SIZE: Final = 4
"""Bytes of the checksum of a footer or an attachment: its last field, which it does not cover."""
HEAD_SIZE: Final = 9
"""Bytes before the content of a record."""
SIZE_BYTES: Final = 8
"""Bytes of the size of a record, or of data in one."""
MESSAGE_SIZE: Final = 22
"""Bytes of the content of a message without data."""
ATTACHMENT_SIZE: Final = 32
"""Bytes of the fields of an attachment before its checksum, without name, media type and data."""
FOOTER_CHECKED: Final = 16
"""Bytes of a footer that its checksum covers."""


def library(name: str) -> Any:
    """A module of the library.  Raises `MissingDependencyError` without it."""
    try:
        return importlib.import_module(f"mcap.{name}")
    except ImportError as error:
        raise MissingDependencyError("MCAP needs the extra `mcap`: pip install 'exhume[mcap]'") from error


class Kind(IntEnum):
    """Kinds of records, as the library's `Opcode`, which is imported only where records are parsed."""

    TRUNCATED = 0x00
    """No record: the data end before the record does."""

    HEADER = 0x01
    FOOTER = 0x02
    SCHEMA = 0x03
    CHANNEL = 0x04
    MESSAGE = 0x05
    CHUNK = 0x06
    MESSAGE_INDEX = 0x07
    CHUNK_INDEX = 0x08
    ATTACHMENT = 0x09
    ATTACHMENT_INDEX = 0x0A
    STATISTICS = 0x0B
    METADATA = 0x0C
    METADATA_INDEX = 0x0D
    SUMMARY_OFFSET = 0x0E
    DATA_END = 0x0F


def parsed(name: str, content: bytes) -> Any:
    """A record of the library's class of that name, from the content of one; None if it is damaged."""
    try:
        return getattr(library("records"), name).read(library("data_stream").ReadDataStream(io.BytesIO(content)))
    except (library("exceptions").McapError, struct.error, EOFError, ValueError, OverflowError):
        return None


def unit_records(is_chunk: bool, data: bytes, *, cut: bool = False, limits: Limits = DEFAULT_LIMITS) -> bytes:
    """The records of the content of a chunk, or those outside of chunks, which are `data` itself.

    With `cut`, returns those that can be decompressed.  Raises `FormatError` for a damaged chunk,
    `UnsupportedFeatureError` for an unknown compression and `LimitExceededError` for one that is too large.
    """
    if not is_chunk:
        return data
    chunk = parsed("Chunk", data)
    if chunk is None:
        raise FormatError("damaged chunk")
    most = limits.payload_size
    codec = {"": "none", "zstd": "zstd", "lz4": "lz4-frame"}.get(chunk.compression)
    if codec is None:
        raise UnsupportedFeatureError(f"the compression {shorten(chunk.compression)!r} is not supported")
    if cut:
        return _beginning(codec, chunk.data, most)
    records = codecs.decompress(codec, chunk.data, max_size=most)
    if len(records) != chunk.uncompressed_size:
        raise FormatError("its size is not the stated one", expected=chunk.uncompressed_size, actual=len(records))
    if chunk.uncompressed_crc and chunk.uncompressed_crc != zlib.crc32(records):
        raise FormatError("its checksum does not match")
    return records


def _beginning(codec: str, data: bytes, most: int) -> bytes:
    """Decompress as much as possible of the beginning of a chunk, at most that many bytes."""
    if codec == "none":
        return data
    if codec == "zstd":
        return zstd_partial(data, max_size=most)[0]
    found = bytearray()
    with suppress(CodecError, UnsupportedFeatureError):
        for block in lz4_frames(io.BytesIO(data).read):
            found += block
            if len(found) >= most:
                break
    return bytes(found[:most])


def read_head(file: BinaryIO) -> tuple[int, int]:
    """The kind of the record at this place of a file and the size of its content; `Kind.TRUNCATED` at the end."""
    stream = library("data_stream").ReadDataStream(file)
    try:
        return stream.read1(), stream.read8()
    except (library("exceptions").McapError, struct.error):
        return Kind.TRUNCATED, 0


def read_number(data: bytes) -> int:
    """A number of four bytes."""
    number: int = library("data_stream").ReadDataStream(io.BytesIO(data)).read4()
    return number


def records_in(data: bytes) -> Iterator[tuple[int, Any]]:
    """Records: the kind of each, and the message, or the content of another kind; the last may be `Kind.TRUNCATED`."""
    read_message, make_stream = library("records").Message.read, library("data_stream").ReadDataStream
    short, size = (library("exceptions").McapError, struct.error), len(data)
    stream = make_stream(io.BytesIO(data))
    while (at := stream.count) < size:
        try:
            kind, length = stream.read1(), stream.read8()
        except short:
            kind, length = Kind.TRUNCATED, 0
        if kind == Kind.TRUNCATED or at + HEAD_SIZE + length > size:
            yield Kind.TRUNCATED, None
            return
        yield (
            kind,
            read_message(stream, length) if kind == Kind.MESSAGE and length >= MESSAGE_SIZE else stream.read(length),
        )


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

    The schemas and channels that it registers come with the pieces of messages, and in the summary.
    """
    stream = io.BytesIO()
    writer = library("writer").Writer(stream)
    writer.start(profile, library_name)
    declare(writer)
    writer.finish()
    stream.seek(0)
    summary = library("reader").make_reader(stream).get_summary()
    last = summary.metadata_indexes[-1]
    return McapPiece([stream.getvalue()[: last.offset + last.length]], 0, summary)


CHUNK_BYTES: Final = 1 << 20
"""Bytes of records after which a chunk ends."""


class Declared(NamedTuple):
    """The schemas and channels of a file, as the arguments of the library's records, by number from 1."""

    schemas: Sequence[tuple[str, str, bytes]]
    channels: Sequence[tuple[str, str, int, dict[str, str]]]

    def write(self, builder: Any, channel: int, schemas: set[int]) -> None:
        """Add the record of a channel, and that of its schema if it is not among those that were added."""
        records = library("records")
        topic, encoding, schema, metadata = self.channels[channel - 1]
        if schema and schema not in schemas:
            schemas.add(schema)
            name, schema_encoding, data = self.schemas[schema - 1]
            records.Schema(id=schema, name=name, encoding=schema_encoding, data=data).write(builder)
        made = records.Channel(id=channel, topic=topic, message_encoding=encoding, schema_id=schema, metadata=metadata)
        made.write(builder)


class _PieceSummary(NamedTuple):
    """The part of a file's summary that a batch of messages adds."""

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


HELD: Final = 16 << 20
"""Bytes of a compressed chunk that are held in memory."""


class _Chunks:
    """The chunks of a piece."""

    def __init__(self, declared: Declared) -> None:
        self._declared = declared
        self._records = library("records")
        self._out: list[bytes | memoryview] = []
        self._size = 0
        self._builder = library("data_stream").RecordBuilder()
        self._places: dict[int, list[tuple[int, int]]] = {}  # (time in ns, offset in the chunk) by channel
        self._channels: set[int] = set()
        self._schemas: set[int] = set()
        self._indexes: list[Any] = []
        self._counts: Counter[int] = Counter()
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
        """Add a message as the last one of a chunk."""
        self._declare(row.channel, row.time_ns)
        value = LargeValue.of(row.data)
        builder = self._builder
        builder.write1(Kind.MESSAGE)
        builder.write8(MESSAGE_SIZE + len(value))
        builder.write2(row.channel)
        builder.write4(row.sequence)
        builder.write8(row.time_ns)
        builder.write8(row.publish_time)
        head = builder.end()
        size = len(head) + len(value)
        packed, checksum = Spool(HELD), 0
        engine = zstandard.ZstdCompressor(level=3).compressobj(size)
        for piece in chain([head], value):
            checksum = zlib.crc32(piece, checksum)
            packed.add(engine.compress(piece))
        packed.add(engine.flush())
        self._close(packed.take(), size, checksum)

    def _end_chunk(self) -> None:
        data = self._builder.end()
        self._close(codecs.compress("zstd", data), len(data), zlib.crc32(data))

    def _close(self, packed: bytes | memoryview, size: int, checksum: int) -> None:
        """Put a chunk out, its content compressed, and the indexes of its channels."""
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
        chunk.write(out)  # a copy of the data would be in it
        content = out.end()[HEAD_SIZE:-SIZE_BYTES]
        out.write1(Kind.CHUNK)
        out.write8(len(content) + SIZE_BYTES + len(packed))
        out.write(content)
        out.write8(len(packed))
        self._out += out.end(), packed
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
        self._summary = head.summary
        self._declared = declared
        self._channels: set[int] = set()
        self._size = 0
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
        if total.message_count:
            more.message_start_time = min(total.message_start_time, more.message_start_time)
            more.message_end_time = max(total.message_end_time, more.message_end_time)
        total.message_start_time, total.message_end_time = more.message_start_time, more.message_end_time
        total.message_count += more.message_count
        total.chunk_count += more.chunk_count
        self._put(*piece.data)

    def finish(self) -> None:
        """End the file with the channels and schemas that have no messages, and its summary."""
        records, kinds, summary = library("records"), library("opcode").Opcode, self._summary
        builder = library("data_stream").RecordBuilder()
        schemas = {self._declared.channels[channel - 1][2] for channel in self._channels}
        for channel in range(1, len(self._declared.channels) + 1):
            if channel not in self._channels:  # without messages
                self._declared.write(builder, channel, schemas)
        for number, (name, encoding, data) in enumerate(self._declared.schemas, 1):
            if number not in schemas:
                records.Schema(id=number, name=name, encoding=encoding, data=data).write(builder)
        records.DataEnd(0).write(builder)
        self._put(builder.end())
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
        footer = records.Footer(self._size, self._size + start, summary_crc=0)
        data = builder.end()
        footer.write(builder)
        footer.summary_crc = zlib.crc32(builder.end()[:-CRC_SIZE], zlib.crc32(data))
        footer.write(builder)
        self._put(data + builder.end() + library("writer").MCAP0_MAGIC)

    def _put(self, *data: bytes | memoryview) -> None:
        for piece in data:
            self._file.write(piece)
            self._size += len(piece)
