"""The records of MCAP files in memory, which the official `mcap` library (extra `mcap`) reads and writes.

Spec: none of ours; https://mcap.dev/spec.
"""

from __future__ import annotations

import importlib
import io
import struct
import zlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, BinaryIO, Final, NamedTuple

from exhume.errors import MissingDependencyError

ENCODING: Final = "rbuf"
LOG_RECORD: Final = "ark.log"
METADATA_RECORD: Final = "ark.metadata"
CRC_SIZE: Final = 4
"""Bytes of the checksum at the end of a footer, which it does not cover."""


def library(name: str) -> Any:
    """A module of the library.  Raises `MissingDependencyError` without it."""
    try:
        return importlib.import_module(f"mcap.{name}")
    except ImportError as error:
        raise MissingDependencyError("MCAP needs the extra `mcap`: pip install 'exhume[mcap]'") from error


def unreadable() -> tuple[type[Exception], ...]:
    """What the library raises for a file that is damaged."""
    return library("exceptions").McapError, struct.error, EOFError, ValueError, KeyError


def chunk_messages(data: bytes) -> list[Any]:
    """The messages of a chunk record.  Raises what the library raises for a damaged one."""
    records = library("records")
    chunk = records.Chunk.read(library("data_stream").ReadDataStream(io.BytesIO(data)))
    return [found for found in library("stream_reader").breakup_chunk(chunk) if isinstance(found, records.Message)]


class Piece(NamedTuple):
    """Part of the data section of a file, where in a file of its own it began, and the summary of that file."""

    data: bytes
    start: int
    summary: Any


def head_piece(declare: Callable[[Any], None]) -> Piece:
    """The beginning of a file: its header and the metadata that `declare` adds, one record or more.

    The schemas and channels that it registers come with the pieces of messages, and in the summary.
    """
    file, summary = _written(declare, ())
    last = summary.metadata_indexes[-1]
    return Piece(file[: last.offset + last.length], 0, summary)


def message_piece(declare: Callable[[Any], None], messages: Iterable[tuple[int, int, bytes]]) -> Piece:
    """Chunks of messages, each by the number of its channel, its time and its bytes, and the indexes of the chunks.

    `declare` registers the schemas and channels of the file.
    """
    file, summary = _written(declare, messages)
    chunks = summary.chunk_indexes
    start = chunks[0].chunk_start_offset
    end = chunks[-1].chunk_start_offset + chunks[-1].chunk_length + chunks[-1].message_index_length
    return Piece(file[start:end], start, summary)


def _written(declare: Callable[[Any], None], messages: Iterable[tuple[int, int, bytes]]) -> tuple[bytes, Any]:
    """A whole file, and its summary."""
    file = io.BytesIO()
    writer = library("writer").Writer(file)
    writer.start(library="exhume")
    declare(writer)
    for channel, time_ns, data in messages:
        writer.add_message(channel, time_ns, data, time_ns)
    writer.finish()
    file.seek(0)
    return file.getvalue(), library("reader").make_reader(file).get_summary()


class Joined:
    """A file made of pieces, with the summary of all of them."""

    def __init__(self, file: BinaryIO, head: Piece) -> None:
        self._file = file
        self._summary = head.summary
        self._size = 0
        self._put(head.data)

    def add(self, piece: Piece) -> None:
        """Adds messages behind those that are there."""
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
        self._put(piece.data)

    def finish(self) -> None:
        """Ends the file with its summary."""
        records, kinds, summary = library("records"), library("opcode").Opcode, self._summary
        builder = library("data_stream").RecordBuilder()
        records.DataEnd(0).write(builder)
        self._put(builder.end())
        groups = {
            kinds.SCHEMA: summary.schemas.values(),
            kinds.CHANNEL: summary.channels.values(),
            kinds.STATISTICS: [summary.statistics],
            kinds.CHUNK_INDEX: summary.chunk_indexes,
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

    def _put(self, data: bytes) -> None:
        self._file.write(data)
        self._size += len(data)
