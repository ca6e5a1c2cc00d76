"""MCAP files as Ark logs, with the official `mcap` library (extra `mcap`); `mcap_export` is the way back.

Spec: none of ours; https://mcap.dev/spec.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from exhume.archive import Progress, no_progress
from exhume.errors import ExhumeError, FormatError, Span
from exhume.formats.ark.jsonform import FOREIGN_IDL, PART_BYTES, from_json
from exhume.formats.ark.mcap_records import (
    ENCODING,
    LOG_RECORD,
    METADATA_RECORD,
    chunk_messages,
    library,
    unreadable,
)
from exhume.formats.ark.pieces import map_pieces
from exhume.formats.ark.portions import Messages, Portion
from exhume.formats.ark.rbuf.encoder import encoder_for
from exhume.formats.ark.rbuf.idl import load_registry
from exhume.formats.ark.rbuf.registry import Registry
from exhume.formats.ark.writer import ArkWriter, ChannelWriter, Packing
from exhume.io.files import open_input

PROGRESS_STEP: Final = 4096


def import_mcap(path: Path, log: ArkWriter, *, progress: Progress = no_progress, jobs: int = 1) -> int:
    """Writes every message of an MCAP file to a log, in the file's order; returns their number.

    Channels with rbuf messages come back as they were (name, type, registry, GUID, column, latched).  Messages of other
    encodings are kept whole inside `exhume::Json` or `exhume::Foreign` values, their schemas in the log's metadata.
    `jobs` processes share the chunks of a file that has an index of them (0: one per core).  Raises `FormatError` for a
    file that `mcap` cannot read.
    """
    reading = library("reader")
    schemas: dict[str, dict[str, str]] = {}
    count = 0
    with open_input(path) as file:
        try:
            summary = reading.make_reader(file).get_summary()
            if summary is not None and summary.chunk_indexes:
                make = _Chunks(str(path), summary.channels, summary.schemas, _packings(log, summary.channels))
                made = map_pieces(make, _stored_chunks(file, summary.chunk_indexes), jobs)
            else:  # messages that no index tells of are read one after another
                make = _Chunks(str(path), {}, {}, {})
                file.seek(0)
                made = _one_by_one(reading.make_reader(file).iter_messages(log_time_order=False), make)
            adding = _Adding(log, make, schemas)
            for portion, error in made:
                adding.add(portion)
                count += len(portion.numbers)
                if error is not None:
                    raise error
                progress(count, None, "messages")
            file.seek(0)
            for record in reading.make_reader(file).iter_metadata():
                _import_metadata(log, record)
        except ExhumeError:
            raise
        except unreadable() as error:
            raise _not_read(str(path), error) from error
    if schemas:
        log.set_metadata("mcap.schemas", list(schemas.values()))
    return count


class _Adding:
    """Adds portions of messages to a log, and each channel in front of its first message."""

    def __init__(self, log: ArkWriter, make: _Chunks, schemas: dict[str, dict[str, str]]) -> None:
        self._log, self._make, self._schemas = log, make, schemas
        self._channels: dict[int, ChannelWriter] = {}
        self._unpacked: set[int] = set()  # channels whose messages come as they are, for columns that compress

    def add(self, portion: Portion) -> None:
        """Adds the messages of a portion.  Raises `WriterError` for one that fits into no split."""
        messages = Messages(portion)
        new = [(place, number) for number, place in messages.starting() if number not in self._channels]
        for (start, number), stop in zip(
            [(0, None), *new], [*(place for place, _ in new), len(portion.numbers)], strict=True
        ):
            if number is not None:
                self._declare(number)
            if start == stop:
                continue
            if self._unpacked.isdisjoint(messages.numbers[start:stop].tolist()):
                messages.add(self._channels, start, stop)
                continue
            for one, time_ns, data in messages.one_by_one(start, stop):
                channel = self._channels[one]
                add = channel.column.append if one in self._unpacked else channel.column.add
                add(channel.declaration, time_ns, data)

    def _declare(self, number: int) -> None:
        make = self._make
        found = make.channels[number]
        channel = _import_channel(self._log, make.schemas.get(found.schema_id), found, self._schemas)
        self._channels[number] = channel
        if make.packings.get(number) is None and channel.column.packing.codec is not None:
            self._unpacked.add(number)


def _not_read(name: str, error: Exception) -> FormatError:
    return FormatError("the MCAP file cannot be read", span=Span(name, 0, 0), actual=error)


def _packings(log: ArkWriter, channels: Mapping[int, Any]) -> dict[int, Packing | None]:
    """How the messages of each channel will be stored; None where that depends on which channel comes first."""
    wanted = {number: _column(channel) for number, channel in channels.items()}
    found: dict[str, set[Packing]] = {}
    for number, column in wanted.items():
        packing = log.packing(column, _compression(log, dict(channels[number].metadata)))
        found.setdefault(column, set()).add(packing)
    return {number: next(iter(found[column])) if len(found[column]) == 1 else None for number, column in wanted.items()}


def _stored_chunks(file: BinaryIO, indexes: Iterable[Any]) -> Iterator[list[bytes]]:
    """The records of chunks, in the order of their indexes, as many as a process takes at a time."""
    end = file.seek(0, os.SEEK_END)
    chunks: list[bytes] = []
    size = 0
    for index in indexes:
        file.seek(min(end, index.chunk_start_offset))
        stream = library("data_stream").ReadDataStream(file)
        stream.read1()
        chunks.append(file.read(min(stream.read8(), end)))
        size += index.uncompressed_size
        if size >= PART_BYTES:
            yield chunks
            chunks, size = [], 0
    if chunks:
        yield chunks


def _one_by_one(found: Iterator[Any], make: _Chunks) -> Iterator[tuple[Portion, None]]:
    """Messages as the library finds them, in portions; their channels and schemas become known to `make`."""
    while part := list(islice(found, PROGRESS_STEP)):
        for schema, channel, _ in part:
            make.channels.setdefault(channel.id, channel)
            if schema is not None:
                make.schemas.setdefault(schema.id, schema)
        rows = _Rows()
        make.add(rows, [message for _, _, message in part])
        yield rows.portion(), None


class _Rows:
    """Messages that were taken over: the numbers of their channels, their times, and their bytes."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.times: list[int] = []
        self.stored: list[bytes] = []

    def portion(self) -> Portion:
        """All of them."""
        return Portion.of(self.numbers, self.times, self.stored)


class _Chunks:
    """What a process makes of chunks: messages up to the first that cannot be read, and what is wrong with that one.

    A message is packed where `packings` says how; elsewhere it has the bytes that are to be packed.
    """

    def __init__(
        self,
        name: str,
        channels: dict[int, Any],
        schemas: dict[int, Any],
        packings: dict[int, Packing | None],
    ) -> None:
        self.name, self.channels, self.schemas, self.packings = name, channels, schemas, packings
        self._convert: dict[int, Callable[[bytes], bytes] | None] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _Chunks, (self.name, self.channels, self.schemas, self.packings)

    def __call__(self, chunks: list[bytes]) -> tuple[Portion, ExhumeError | None]:
        rows, broken = _Rows(), unreadable()
        try:
            for data in chunks:
                try:
                    found = chunk_messages(data)
                except Exception as error:  # codecs raise what is none of the library's errors
                    raise _not_read(self.name, error) from error
                self.add(rows, found)
        except ExhumeError as error:
            return rows.portion(), error
        except broken as error:
            return rows.portion(), _not_read(self.name, error)
        return rows.portion(), None

    def add(self, rows: _Rows, messages: Iterable[Any]) -> None:
        """Adds what becomes of messages.  Raises `WriterError` for a value that does not fit its type."""
        numbers, times, stored = rows.numbers, rows.times, rows.stored
        known = self._convert
        for message in messages:
            number = message.channel_id
            data = message.data
            if number not in known:
                known[number] = self._converter(number)
            convert = known[number]
            stored.append(data if convert is None else convert(data))
            numbers.append(number)
            times.append(message.log_time)

    def _converter(self, number: int) -> Callable[[bytes], bytes] | None:
        """What makes the stored bytes of a channel's messages of those in the file; None where these are they."""
        channel, packing = self.channels[number], self.packings.get(number)
        kind = _kind(self.schemas[channel.schema_id] if channel.schema_id else None, channel)
        pack = packing.pack if packing is not None and packing.codec is not None else None
        if kind.value is None or kind.registry is None:
            return pack
        value, encode = kind.value, encoder_for(load_registry(kind.registry), kind.type).encode
        if pack is None:
            return lambda data: encode(value(data))
        return lambda data: pack(encode(value(data)))


class _Kind(NamedTuple):
    """What a channel of an MCAP file becomes: its type, its registry, and the value of a message (None: its bytes)."""

    type: str
    registry: str | None
    value: Callable[[bytes], Any] | None


def _column(channel: Any) -> str:
    return str(channel.metadata.get("ark.column", "main"))


def _import_channel(log: ArkWriter, schema: Any, channel: Any, schemas: dict[str, dict[str, str]]) -> ChannelWriter:
    metadata = dict(channel.metadata)
    column = _column(channel)
    identifier = metadata.get("ark.identifier")
    used = {each.identifier for writer in log.columns.values() for each in writer.objects}
    kind = _kind(schema, channel)
    if schema is not None and kind.registry == FOREIGN_IDL:
        raw = base64.b64encode(schema.data).decode()
        schemas[schema.name] = {"name": schema.name, "encoding": schema.encoding, "base64": raw}
    return log.channel(
        channel.topic,
        kind.type,
        kind.registry,
        column=log.columns.get(column) or log.column(column, _compression(log, metadata)),
        latched=metadata.get("ark.latched") == "true",
        identifier=None if identifier in used else identifier,
    )


def _kind(schema: Any, channel: Any) -> _Kind:
    metadata, encoding = dict(channel.metadata), channel.message_encoding
    if encoding == ENCODING:
        text = schema.data.decode() if schema is not None else ""
        return _Kind(metadata.get("ark.type", schema.name if schema is not None else ""), text or None, None)
    if encoding == "json" and "ark.registry" in metadata:
        text, name = metadata["ark.registry"], metadata["ark.type"]
        registry = Registry.from_json(text)
        return _Kind(name, text, lambda data: from_json(registry, name, json.loads(data)))
    if encoding == "json":
        return _Kind("exhume::Json", FOREIGN_IDL, lambda data: {"json": data.decode()})
    named = schema.name if schema is not None else ""
    return _Kind(
        "exhume::Foreign",
        FOREIGN_IDL,
        lambda data: {"encoding": encoding, "schema_name": named, "data": data},
    )


def _compression(log: ArkWriter, metadata: dict[str, str]) -> str | None:
    return log.compression or metadata.get("ark.compression") or None


def _import_metadata(log: ArkWriter, record: Any) -> None:
    if record.name == METADATA_RECORD:
        for key, text in record.metadata.items():
            log.set_metadata_text(key, text)
    elif record.name == LOG_RECORD:
        log.name = log.name or record.metadata.get("name", "")
    else:
        log.set_metadata(f"mcap.{record.name}", dict(record.metadata))
