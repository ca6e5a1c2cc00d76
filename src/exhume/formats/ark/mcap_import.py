"""MCAP files as Ark logs, with the official `mcap` library (extra `mcap`); `mcap_export` is the way back.

MCAP is the container of ROS for logged messages: channels with schemas, messages in compressed chunks, metadata and
attachments.  First `mcap_survey` finds everything in the file; then processes convert its units (chunks, or records
outside of chunks) to batches of messages, and this process adds them to the log.  An Ark channel belongs to a column,
which is a group of channels with one codec; messages are rbuf values.

Spec: none of ours; https://mcap.dev/spec.
"""

from __future__ import annotations

import base64
import functools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from itertools import chain, count
from pathlib import Path
from typing import Any, BinaryIO, Final

from exhume.archive import Progress, no_progress
from exhume.errors import ExhumeError, WriterError
from exhume.formats.ark.batches import MessageBatch, Messages
from exhume.formats.ark.jsonform import FOREIGN_IDL, PART_BYTES, from_json
from exhume.formats.ark.mcap_records import (
    ENCODING,
    LIBRARY,
    LOG_RECORD,
    METADATA_RECORD,
    Kind,
    records_in,
    unit_records,
)
from exhume.formats.ark.mcap_survey import McapSurvey, Unit, parts, read_attachment, survey
from exhume.formats.ark.messages import column_codec
from exhume.formats.ark.parallel_query import map_pieces
from exhume.formats.ark.rbuf.encoder import encoder_for
from exhume.formats.ark.rbuf.idl import load_registry
from exhume.formats.ark.rbuf.registry import Registry
from exhume.formats.ark.writer import ArkWriter, ChannelWriter, MessagePacking
from exhume.io.files import open_input
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.tabular import ExportReport
from exhume.tuples import NamedTuple

TIMED_IDL: Final = """namespace exhume;
schema TimedJson { string json; uint64 publish_time; uint32 sequence; }
schema TimedForeign { string encoding; string schema_name; byte_buffer data; uint64 publish_time; uint32 sequence; }
"""
"""Types for messages that have publish times of their own, or sequence numbers."""

ATTACHED: Final = 16 << 20
"""Bytes of all attachments of a file that become metadata of the log, at most."""

_OURS: Final = ("ark.identifier", "ark.latched", "ark.column", "ark.compression", "ark.type", "ark.registry")
"""Keys of a channel's metadata that `mcap_export` writes; the declaration of the Ark channel expresses them."""


def import_mcap(
    path: Path,
    log: ArkWriter,
    *,
    progress: Progress = no_progress,
    jobs: int = 1,
    limits: Limits = DEFAULT_LIMITS,
) -> ExportReport:
    """Write everything in an MCAP file to a log, messages in the file's order; return the report of losses.

    Channels with rbuf messages come back as they were (name, type, registry, GUID, column, latched).  Messages of other
    encodings are kept whole inside `exhume::Json` or `exhume::Foreign` values, or `exhume::TimedJson` or
    `exhume::TimedForeign` where they have publish times or sequence numbers.  Header, schemas, metadata of channels,
    metadata records and attachments become metadata of the log.  `jobs` processes share the chunks (0: one per core).

    A truncated file is read up to the cut. Whatever is damaged, not supported or has no place in a log is counted as
    lost, and so is a chunk that is larger than `limits` allow.  Raises `FormatError` for a file that is not MCAP or
    contradicts itself.
    """
    report = ExportReport()
    with open_input(path) as file:
        found = survey(file, str(path), report, jobs=jobs, part_bytes=PART_BYTES, limits=limits)
        channels = {number: _kind_of(found, number, report) for number in found.channels}
        make = _Chunks(found.channels, channels, _packings(log, found.channels), limits)
        adding = _BatchAdder(log, make)
        for batch, error in map_pieces(make, parts(file, found.units, PART_BYTES), jobs):
            adding.add(batch)
            report.written["messages"] += len(batch.numbers)
            if error is not None:
                raise error
            progress(report.written["messages"], None, "messages")
        for number in sorted(found.channels):
            adding.declare(number)
        _CarriedMetadata(log, found, adding, report).add_all(file)
    return report.without_zeros()


class _BatchAdder:
    """Adds batches of messages to a log, and each channel before its first message."""

    def __init__(self, log: ArkWriter, make: _Chunks) -> None:
        self._log, self.make = log, make
        self._columns = log.columns
        self._used = {identifier for column in self._columns.values() for identifier in column.objects}  # GUIDs
        self.channels: dict[int, ChannelWriter] = {}  # by number in the MCAP file
        self._unpacked: set[int] = set()  # numbers of channels whose messages `make` left for the column to compress

    def add(self, batch: MessageBatch) -> None:
        """Add the messages of a batch.  Raises `WriterError` for one that fits into no split."""
        messages = Messages(batch)
        # Each new channel is declared right before its first message: the batch is cut there.
        new = [(place, number) for number, place in messages.starting() if number not in self.channels]
        stops = [*(place for place, _ in new), len(batch.numbers)]
        for (start, number), stop in zip([(0, None), *new], stops, strict=True):
            if number is not None:
                self.declare(number)
            if start == stop:
                continue
            if self._unpacked.isdisjoint(messages.numbers[start:stop].tolist()):
                messages.add(self.channels, start, stop)
                continue
            for one, time_ns, data in messages.one_by_one(start, stop):
                channel = self.channels[one]
                # `append` compresses the message, `add` takes it as it is stored.
                add = channel.column.append if one in self._unpacked else channel.column.add
                add(channel.declaration, time_ns, data)

    def declare(self, number: int) -> None:
        """Add the channel with this number in the MCAP file to the log, unless it is there."""
        if number in self.channels:
            return
        channel = self.channels[number] = self._imported(self.make.kinds[number], self.make.channels[number])
        self._used.add(channel.declaration.identifier)
        if self.make.packings.get(number) is None and channel.column.packing.codec is not None:
            self._unpacked.add(number)

    def _imported(self, kind: _Kind, channel: Any) -> ChannelWriter:
        """Declare an MCAP channel in the log and return its writer.

        Channels that were exported from a log keep their GUID, unless another channel has it already.
        """
        metadata = dict(channel.metadata)
        column = _column(channel)
        if column not in self._columns:
            self._columns[column] = self._log.column(column, _compression(self._log, metadata))
        identifier = metadata.get("ark.identifier")
        return self._log.channel(
            channel.topic,
            kind.type,
            kind.registry,
            column=self._columns[column],
            latched=metadata.get("ark.latched") == "true",
            identifier=None if identifier in self._used else identifier,
        )


def _packings(log: ArkWriter, channels: Mapping[int, Any]) -> dict[int, MessagePacking | None]:
    """How each channel's messages are stored.

    The first channel of a column decides on the codec of all.  If they differ, that is not known yet, and None.
    """
    wanted = {number: _column(channel) for number, channel in channels.items()}
    found: dict[str, set[MessagePacking]] = {}
    for number, column in wanted.items():
        packing = log.packing(column, _compression(log, dict(channels[number].metadata)))
        found.setdefault(column, set()).add(packing)
    return {number: next(iter(found[column])) if len(found[column]) == 1 else None for number, column in wanted.items()}


class _Rows:
    """Messages that were taken over: the numbers of their channels, their times, and their bytes."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.times: list[int] = []
        self.stored: list[bytes] = []

    def batch(self) -> MessageBatch:
        """All of them."""
        return MessageBatch.of(self.numbers, self.times, self.stored)


class _Chunks:
    """Task of a worker process: converts messages up to the first whose value does not fit its type, and that error.

    Messages are compressed as `packings` states for their channel; those of other channels are compressed later.
    """

    def __init__(
        self,
        channels: dict[int, Any],
        kinds: dict[int, _Kind],
        packings: dict[int, MessagePacking | None],
        limits: Limits,
    ) -> None:
        self.channels, self.kinds, self.packings, self._limits = channels, kinds, packings, limits
        self._convert: dict[int, Callable[[Any], bytes]] = {}  # results of `_converter`, by number of the channel

    def __reduce__(self) -> tuple[Any, ...]:
        return _Chunks, (self.channels, self.kinds, self.packings, self._limits)

    def __call__(self, units: list[tuple[Unit, bytes]]) -> tuple[MessageBatch, ExhumeError | None]:
        """Return the messages of some units, given with their bytes, and the error that ended the conversion."""
        rows = _Rows()
        try:
            for unit, data in units:
                self._add(rows, unit_records(unit.is_chunk, data, cut=unit.is_cut, limits=self._limits))
        except ExhumeError as error:
            return rows.batch(), error
        return rows.batch(), None

    def _add(self, rows: _Rows, records: bytes) -> None:
        """Append the messages of `records` to `rows`, converted to the bytes that the log stores."""
        numbers, times, stored = rows.numbers, rows.times, rows.stored
        known = self._convert
        for kind, message in records_in(records):
            if kind != Kind.MESSAGE or isinstance(message, bytes):  # bytes: too short to be parsed
                continue
            number = message.channel_id
            if number not in self.channels:  # the survey has counted it as lost
                continue
            if number not in known:
                known[number] = self._converter(number)
            stored.append(known[number](message))
            numbers.append(number)
            times.append(message.log_time)

    def _converter(self, number: int) -> Callable[[Any], bytes]:
        """Return a function that makes the stored bytes of a channel's messages."""
        kind, packing = self.kinds[number], self.packings.get(number)
        pack = packing.pack if packing is not None and packing.codec is not None else bytes
        if kind.form == Form.BYTES or kind.registry is None:
            return lambda message: pack(message.data)
        value, encode = kind.value, encoder_for(load_registry(kind.registry), kind.type).encode
        return lambda message: pack(encode(value(message)))


class Form(Enum):
    """How the value of a message is made from its bytes."""

    BYTES = 0
    """Not at all: they are rbuf already, or stay bytes."""
    TYPED = 1
    """JSON is converted to the rbuf type that its channel had."""
    JSON = 2
    """JSON becomes a string in a value."""
    FOREIGN = 3
    """Bytes of another encoding become bytes in a value."""


class _Kind(NamedTuple):
    """The Ark channel for a channel of an MCAP file: its type, its registry, and how values are made; picklable."""

    type: str
    registry: str | None
    """JSON or IDL text."""
    form: Form
    encoding: str = ""
    schema_name: str = ""
    """These two are for `Form.FOREIGN`."""
    timed: bool = False
    """Whether values have publish time and sequence number."""

    def value(self, message: Any) -> dict[str, Any]:
        """The value of a message.  Raises `WriterError` for JSON that does not fit the type."""
        if self.form == Form.TYPED:
            try:
                parsed = json.loads(message.data)
            except (ValueError, RecursionError) as error:
                raise WriterError("a message that is not JSON", field_path=self.type, actual=error) from error
            return from_json(_registry(self.registry or ""), self.type, parsed)
        if self.form == Form.JSON:
            value: dict[str, Any] = {"json": message.data.decode()}
        else:
            value = {"encoding": self.encoding, "schema_name": self.schema_name, "data": message.data}
        return {**value, "publish_time": message.publish_time, "sequence": message.sequence} if self.timed else value


@functools.lru_cache(16)
def _registry(text: str) -> Registry:
    """The parsed registry, which is needed for each message and too large to send to a process."""
    return Registry.from_json(text)


def _column(channel: Any) -> str:
    """Name of the column for an MCAP channel: its earlier one if it was exported from a log, else `main`."""
    return str(channel.metadata.get("ark.column", "main"))


def _kind_of(found: McapSurvey, number: int, report: ExportReport) -> _Kind:
    """Return what an MCAP channel becomes in the log; one whose type its schema does not define stays bytes."""
    channel = found.channels[number]
    schema = found.schemas.get(channel.schema_id)
    metadata, encoding, timed = dict(channel.metadata), channel.message_encoding, number in found.timed
    named = schema.name if schema is not None else ""
    kind = None  # what the channel was in a log, if it was exported from one
    if encoding == ENCODING:
        text = schema.data.decode("utf-8", "surrogateescape") if schema is not None else ""
        kind = _Kind(metadata.get("ark.type", named), text or None, Form.BYTES, timed=timed)
    elif encoding == "json" and "ark.registry" in metadata and "ark.type" in metadata:
        kind = _Kind(metadata["ark.type"], metadata["ark.registry"], Form.TYPED, timed=timed)
    if kind is not None:
        why = _no_type(kind)
        if why is None:
            return kind
        report.notes.append(f"channel {channel.topic}: kept as bytes: its rbuf schema cannot be used ({why})")
    idl, prefix = (TIMED_IDL, "exhume::Timed") if timed else (FOREIGN_IDL, "exhume::")
    if encoding == "json" and number not in found.not_text:
        return _Kind(f"{prefix}Json", idl, Form.JSON, timed=timed)
    return _Kind(f"{prefix}Foreign", idl, Form.FOREIGN, encoding, named, timed)


def _compression(log: ArkWriter, metadata: dict[str, str]) -> Any:
    """The codec that is chosen, else that of the channel's column in the log that was exported; None for neither.

    Raises the error of rule ARK-406 for an unknown one.
    """
    if log.compression is not None:
        return log.compression
    exported = metadata.get("ark.compression")
    return None if exported is None else column_codec(exported)


def _no_type(kind: _Kind) -> str | None:
    """Why the type of a channel cannot be used; None if it can, or if the channel has none."""
    try:
        if kind.registry is not None:
            kind.registry.encode()
            encoder_for(load_registry(kind.registry), kind.type)
    except UnicodeEncodeError:
        return "not UTF-8"
    except ExhumeError as error:
        return error.message
    return None


class _CarriedMetadata:
    """The contents of a file besides messages as metadata of the log; entries that do not fit are counted as lost."""

    def __init__(self, log: ArkWriter, found: McapSurvey, adding: _BatchAdder, report: ExportReport) -> None:
        # `found` is what the file contains, `adding` has the channels that were made of its channels.
        self._log, self._found, self._adding, self._report = log, found, adding, report
        taken = log.metadata
        # A log made of several files: `mcap.` for the first, `mcap.2.` for the second and so on.
        prefixes = chain(("mcap.",), (f"mcap.{number}." for number in count(2)))
        self._prefix = next(one for one in prefixes if not any(key.startswith(one) for key in taken))

    def add_all(self, file: BinaryIO) -> None:
        """Add the header, schemas, channels, metadata records and attachments."""
        header = self._found.header
        if header is not None and (header.profile or header.library != LIBRARY):
            self._set("header", {"profile": header.profile, "library": header.library})
        self._channels()
        self._records()
        self._attachments(file)

    def _set(self, key: str, value: Any) -> None:
        self._log.set_metadata(self._prefix + key, value)

    def _channels(self) -> None:
        """Keep schemas and channel metadata that the log's own declarations cannot express."""
        found, kept = self._found, []
        declared = set()  # schemas that the declaration of a channel has, or that follow from its registry
        for number, channel in sorted(found.channels.items()):
            kind = self._adding.make.kinds[number]
            more = {key: text for key, text in channel.metadata.items() if key not in _OURS}
            if kind.form in (Form.BYTES, Form.TYPED):
                declared.add(channel.schema_id)
                if kind.timed:
                    self._report.lost["publish times and sequence numbers of channels with rbuf types"] += 1
                    self._report.notes.append(
                        f"channel {channel.topic}: a log has no place for publish times and sequence numbers"
                    )
            if more or kind.form not in (Form.BYTES, Form.TYPED):
                entry = {"topic": channel.topic, "identifier": self._adding.channels[number].declaration.identifier}
                entry |= {"id": number, "schema_id": channel.schema_id, "message_encoding": channel.message_encoding}
                kept.append({**entry, "metadata": more})
        self._keep_schemas(schema for number, schema in sorted(found.schemas.items()) if number not in declared)
        if kept:
            self._set("channels", kept)

    def _keep_schemas(self, schemas: Iterable[Any]) -> None:
        """Keep MCAP schemas as metadata of the log."""
        listed = [
            {"id": one.id, "name": one.name, "encoding": one.encoding, "base64": _base64(one.data)} for one in schemas
        ]
        if listed:
            self._set("schemas", listed)

    def _records(self) -> None:
        """Keep metadata records as log metadata, under a key of their own if their name is unique and plain.

        Records of an exported log (`METADATA_RECORD`, `LOG_RECORD`) become its entries and its name again.
        """
        times = Counter(record.name for record in self._found.metadata)
        several = []
        for record in self._found.metadata:
            if record.name == METADATA_RECORD and times[record.name] == 1:
                for key, text in record.metadata.items():
                    if self._log.metadata.get(key, text) != text:
                        self._report.lost["metadata entries that were replaced"] += 1
                    self._log.set_metadata_text(key, text)
            elif record.name == LOG_RECORD and times[record.name] == 1:
                self._log.name = self._log.name or record.metadata.get("name", "")
            elif times[record.name] == 1 and record.name not in _KEYS and _PLAIN.match(record.name):
                self._set(record.name, dict(record.metadata))
            else:
                several.append({"name": record.name, "metadata": dict(record.metadata)})
        if several:
            self._set("metadata", several)

    def _attachments(self, file: BinaryIO) -> None:
        """Keep attachments as metadata, base64-encoded, up to `ATTACHED` bytes in total; count the others as lost."""
        kept: list[dict[str, Any]] = []
        left = ATTACHED
        for unit in self._found.attachments:
            record = read_attachment(file, unit) if unit.end - unit.start <= left else None
            if record is None:
                fits = unit.end - unit.start <= left
                why = "is damaged" if fits else f"does not fit: a log keeps {ATTACHED} bytes of attachments in total"
                self._report.lost["attachments"] += 1
                self._report.notes.append(f"the attachment at offset {unit.start} {why}")
                continue
            left -= unit.end - unit.start
            times = {"log_time": record.log_time, "create_time": record.create_time}
            entry = {"name": record.name, "media_type": record.media_type, **times, "base64": _base64(record.data)}
            kept.append(entry)
        if kept:
            self._set("attachments", kept)


_PLAIN: Final = re.compile(r"(?!\d+\.).", re.DOTALL)
"""Names of metadata records that can be keys of the log: a number and a dot would mean a second file."""

_KEYS: Final = frozenset(("header", "schemas", "channels", "metadata", "attachments"))
"""Keys of our own (after the prefix), which no record may take."""


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
