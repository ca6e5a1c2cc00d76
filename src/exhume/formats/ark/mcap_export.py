"""Ark logs as MCAP files, with the official `mcap` library (extra `mcap`); `mcap_import` is the way back.

A channel becomes a channel, the indexed time the log time (nanoseconds of the log's steady clock, not of a calendar).
Messages stay rbuf (schema encoding and message encoding `rbuf`, the schema is the registry's JSON text), or become JSON
(`jsonschema`), which viewers can show.  A log numbers no messages, so their sequence is 0.  Its identifiers and
metadata become metadata records; other attributes of a channel become the metadata of the channel.  Data that came from
an MCAP file are written as they were: messages with their times and numbers, schemas, records, attachments.  `Origin`
finds them in the metadata of the log, where `mcap_import` keeps them.  An entry of another form is like any other.

An import wraps messages that are not rbuf in rbuf values; here they are unwrapped again.  A channel is a named series
of messages of one type, and a GUID identifies it in a log.

Spec: none of ours; https://mcap.dev/spec.
"""

from __future__ import annotations

import base64
import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

from exhume.archive import Progress, no_progress
from exhume.errors import ExhumeError, FormatError, WriterError
from exhume.findings import Finding
from exhume.formats.ark.export import Selection
from exhume.formats.ark.jsonform import to_bytes
from exhume.formats.ark.lines import ValueQuery, json_schema
from exhume.formats.ark.log import ArkLog, Channel
from exhume.formats.ark.mcap_pieces import (
    Declared,
    DeclaredChannel,
    JoinedFile,
    LargeRow,
    McapPiece,
    Row,
    head_piece,
    large_piece,
    message_piece,
)
from exhume.formats.ark.mcap_records import ENCODING, LIBRARY, LOG_RECORD, METADATA_RECORD, library
from exhume.formats.ark.parallel_query import read_query
from exhume.formats.ark.query import messages
from exhume.formats.ark.rbuf.decoder import decoder_for
from exhume.formats.ark.reader import ArkArchive
from exhume.io.output.stream import binary_output
from exhume.io.values import LargeValue
from exhume.tabular import ExportReport, refuse_options
from exhume.tuples import NamedTuple

WRAPPED: Final = frozenset(("exhume::Json", "exhume::Foreign", "exhume::TimedJson", "exhume::TimedForeign"))
"""Types of values that contain a message of another encoding."""

_KEY: Final = re.compile(r"mcap\.(?P<file>\d+\.)?(?P<kind>.+)", re.DOTALL)
"""A key that `mcap_import` writes; with several files, each has a number."""


class Attachment(NamedTuple):
    """The arguments of the library's `add_attachment`."""

    create_time: int
    log_time: int
    name: str
    media_type: str
    data: bytes


class OriginalChannel(NamedTuple):
    """A channel of the file: its message encoding, its schema (name, encoding, data; None: no schema), its metadata."""

    encoding: str
    schema: tuple[str, str, bytes] | None
    metadata: dict[str, str]


@dataclass
class Origin:
    """The MCAP files that a log was made of, as its metadata describes them.

    `header` is (profile, library); `schemas` has (name, encoding, data) by (file, schema number), where a file is its
    prefix in the keys, such as `1.`; `channels` are by Ark identifier; `records` are (name, metadata); `rest` are the
    entries of the metadata that do not belong to an MCAP file.
    """

    header: tuple[str, str] | None = None
    schemas: dict[tuple[str, int], tuple[str, str, bytes]] = field(default_factory=dict)
    channels: dict[str, OriginalChannel] = field(default_factory=dict)
    records: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    rest: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, metadata: Mapping[str, str]) -> Origin:
        """Read the metadata of a log: JSON text under the keys `mcap.KIND` or `mcap.FILE.KIND`."""
        found = cls()
        adders: dict[str, Callable[[str, Any], None]] = {
            "header": found._header,
            "schemas": found._schemas,
            "metadata": found._records,
            "attachments": found._attachments,
        }
        channels: list[tuple[str, str, Any]] = []
        for key, text in metadata.items():
            match = _KEY.fullmatch(key)
            if match is None:
                found.rest[key] = text
                continue
            file, kind = match["file"] or "", match["kind"]
            try:
                value = json.loads(text)
                if kind == "channels":
                    channels.append((file, key, value))
                elif kind in adders:
                    adders[kind](file, value)
                else:
                    found.records.append((kind, _texts(value)))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):  # another program's entry
                found.rest[key] = text
        for file, key, value in channels:  # after the schemas, which they name
            try:
                found.channels |= found._channels(file, value)
            except (ValueError, KeyError, TypeError, AttributeError):
                found.rest[key] = metadata[key]
        return found

    # The methods that follow add one entry of the metadata; `prefix` names its file.  They raise what `of` catches if
    # the entry has another form.
    def _header(self, prefix: str, value: Any) -> None:
        """Take the header that the MCAP file had before it was imported.  Raises `ValueError` for a second one."""
        if prefix or self.header is not None:
            raise ValueError("a file has one header")
        self.header = _text(value["profile"]), _text(value["library"])

    def _schemas(self, prefix: str, value: Any) -> None:
        """Take the schemas that the imported file had, by the prefix of the file and their numbers."""
        self.schemas |= {
            (prefix, int(one["id"])): (_text(one["name"]), _text(one["encoding"]), _bytes(one["base64"]))
            for one in value
        }

    def _channels(self, prefix: str, value: Any) -> dict[str, OriginalChannel]:
        """Return the channels of the imported MCAP file, by their Ark identifiers, from the log's metadata."""
        return {
            _text(one["identifier"]): OriginalChannel(
                _text(one["message_encoding"]),
                self.schemas[prefix, one["schema_id"]] if one["schema_id"] else None,
                _texts(one["metadata"]),
            )
            for one in value
        }

    def _records(self, _prefix: str, value: Any) -> None:
        self.records += [(_text(one["name"]), _texts(one["metadata"])) for one in value]

    def _attachments(self, _prefix: str, value: Any) -> None:
        """Add attachments that the import kept in the log's metadata."""
        self.attachments += [
            Attachment(
                _time(one["create_time"]),
                _time(one["log_time"]),
                _text(one["name"]),
                _text(one["media_type"]),
                _bytes(one["base64"]),
            )
            for one in value
        ]

    def channel(self, channel: Channel) -> OriginalChannel | None:
        """The original channel in the MCAP file; None if its messages are not wrapped ones."""
        found = self.channels.get(channel.identifier)
        return found if channel.type in WRAPPED and channel.declaration.registry is not None else None


class Message(NamedTuple):
    """A message as an MCAP file has it; its time in the log is not a part of it."""

    data: bytes
    publish_time: int
    sequence: int


def unwrapper(channel: Channel, as_json: bool) -> Callable[[bytes, int], Message]:
    """Return a function from a stored message (rbuf, or JSON text if `as_json`) and its time to the original MCAP
    message.
    """
    registry = channel.declaration.registry
    assert registry is not None
    decode = json.loads if as_json else decoder_for(registry, channel.type).decode

    def unwrap(stored: bytes, time_ns: int) -> Message:
        """Return the original message from the wrapper that the import put around it."""
        value: Any = decode(stored)
        try:
            data = value["json"].encode() if "json" in value else value["data"]
            whole = to_bytes(data) if as_json and not isinstance(data, bytes) else bytes(data)
            return Message(whole, int(value.get("publish_time", time_ns)), int(value.get("sequence", 0)))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError("not a message of another encoding", actual=error) from error

    return unwrap


# Values of metadata, which raise `TypeError` or `ValueError` if they have another form.
def _text(value: Any) -> str:
    """Check that a value of the metadata is text that a file can have.  Raises `TypeError` and `UnicodeError`."""
    if not isinstance(value, str):
        raise TypeError(value)
    value.encode()  # a lone surrogate has no form in a file
    return value


def _texts(value: Any) -> dict[str, str]:
    return {_text(key): _text(one) for key, one in value.items()}


def _bytes(value: Any) -> bytes:
    return base64.b64decode(_text(value), validate=True)


def _time(value: Any) -> int:
    """A time of MCAP: 64 bits without a sign."""
    if type(value) is not int or not 0 <= value < 1 << 64:
        raise ValueError(value)
    return value


KEPT: Final = ("ark.identifier", "ark.latched", "ark.column", "ark.compression")
"""Keys of the metadata that a channel with its original messages gets from the log."""

PIECE_BYTES: Final = 8 << 20
"""Bytes of messages that become chunks at a time."""

MOST: Final = (1 << 16) - 1
"""Most channels, and most schemas, of an MCAP file: their numbers have 16 bits, and 0 stands for no schema."""

LARGE: Final = 16 << 20
"""Bytes of a message above which it is a chunk of its own."""


def export(
    log: ArkArchive,
    output: str,
    *,
    overwrite: bool = False,
    progress: Progress = no_progress,
    payload: str | None = None,
    jobs: int = 1,
    **options: Any,
) -> ExportReport:
    """Write the chosen messages as an MCAP file; `payload` is `rbuf` (default: bytes unaltered) or `json`.

    `jobs` processes share the work (0: one per core); the file is that of one.

    Raises `MissingDependencyError` without the extra, `WriterError` for more channels than MCAP can number, and the
    error of the broken rule for damaged messages (unless they are skipped).
    """
    library("writer")
    as_json = payload == "json"
    refuse_options("mcap", {"columns": options.get("columns")})
    selection = Selection(log, options, ExportReport(), progress)
    pieces = McapChunkMaker(log, as_json)
    with binary_output(output, overwrite=overwrite) as file:
        joined = JoinedFile(file, head_piece(pieces.declare_all, *pieces.header), pieces.declared())
        for piece in selection.spans(pieces, jobs, decode=as_json):
            joined.add(large_piece(pieces.declared(), piece) if isinstance(piece, LargeRow) else piece)
        joined.finish()
    if pieces.has_rbuf:
        selection.report.notes.append("messages are rbuf, which viewers do not know: --payload json gives them JSON")
    return selection.finish()


class McapChunkMaker:
    """Makes chunks of an MCAP file from the messages of a log; other processes do so too."""

    def __init__(self, log: ArkArchive, as_json: bool) -> None:
        """Number the schemas and channels of the output, and collect its metadata and attachments.

        Channels that came from an MCAP file (`mcap_import`) get their original encoding, schema and metadata back.
        Schema number 0 means that a channel has none.  Raises `WriterError` for more than MCAP can number.
        """
        self._as_json = as_json
        origin = Origin.of(log.manifest.metadata)
        self.header: tuple[str, str] = origin.header or ("", LIBRARY)
        own = {
            "log_identifier": log.manifest.identifier,
            "common_identifier": log.manifest.common_identifier,
            "name": log.manifest.name,
            "clock": "steady",
        }
        self._metadata: list[tuple[str, dict[str, str]]] = [(LOG_RECORD, own), *origin.records]
        if origin.rest:
            self._metadata.append((METADATA_RECORD, origin.rest))
        self._attachments = origin.attachments
        # Numbers of the schemas (name, encoding, data).
        self._schemas: dict[tuple[str, str, bytes] | None, int] = {None: 0}
        self._channels: dict[str, DeclaredChannel] = {}  # by GUID; numbers count from 1 in this order
        # By number: channels with messages of other encodings in rbuf values.
        self._wrapped: dict[int, Channel] = {}
        for channel in log.channels():
            if channel.identifier not in self._channels:
                original = origin.channel(channel)
                schema = original.schema if original is not None else _schema(channel, as_json)
                number = self._schemas.setdefault(schema, len(self._schemas))
                encoding = "json" if as_json else ENCODING
                metadata = _metadata(channel, as_json)
                if original is not None:
                    encoding = original.encoding
                    metadata = original.metadata | {key: metadata[key] for key in KEPT}
                    self._wrapped[len(self._channels) + 1] = channel
                self._channels[channel.identifier] = DeclaredChannel(channel.name, encoding, number, metadata)
        for schema in origin.schemas.values():
            self._schemas.setdefault(schema, len(self._schemas))
        for what, count in (("channels", len(self._channels)), ("schemas", len(self._schemas) - 1)):
            if count > MOST:
                raise WriterError(f"too many {what} for an MCAP file", expected=f"at most {MOST}", actual=count)
        self._numbers = {identifier: number for number, identifier in enumerate(self._channels, 1)}
        self.has_rbuf: bool = not as_json and len(self._wrapped) < len(self._channels)

    def declared(self) -> Declared:
        """All schemas and channels."""
        return Declared([schema for schema in self._schemas if schema is not None], list(self._channels.values()))

    def declare_all(self, writer: Any) -> None:
        """Add all that a file contains besides messages."""
        for attachment in self._attachments:
            writer.add_attachment(*attachment)
        for name, metadata in self._metadata:
            writer.add_metadata(name, metadata)
        schemas, channels = self.declared()
        for schema in schemas:
            writer.register_schema(*schema)
        for channel in channels:
            writer.register_channel(*channel)

    def __call__(
        self, log: ArkLog, query: dict[str, Any], findings: list[Finding]
    ) -> Iterator[tuple[McapPiece | LargeRow, int]]:
        """Yield the messages of a query as parts of the file, each with its number of messages.

        `query` has the arguments of `messages`; skipped messages add to `findings`.  Messages are collected up to
        `PIECE_BYTES`.  A large one, above `LARGE` or the limit `payload_size`, is a part by itself.  The error of a
        damaged message is raised after the part with the messages before it.
        """
        held: list[Row] = []
        held_size, damage = 0, None
        declared = self.declared()
        largest_held = min(LARGE, log.limits.payload_size)
        check_from = min(largest_held, PIECE_BYTES)  # below this, neither a large message nor a full part is possible
        try:
            for message in self._messages(log, query, findings):
                _, _, data, _, _ = message
                held.append(message)  # also if it is large: it is taken out again below
                held_size += len(data)
                if held_size < check_from:
                    continue
                # A large message comes after the part with the messages before it.
                large = held.pop() if len(data) > largest_held else None
                if held and (large is not None or held_size >= PIECE_BYTES):
                    yield message_piece(declared, held), len(held)
                    held, held_size = [], 0
                if large is not None:
                    held_size = 0
                    yield LargeRow(*large), 1
        except ExhumeError as error:
            damage = error
        if held:
            yield message_piece(declared, held), len(held)
        if damage is not None:
            raise damage

    def _messages(
        self, log: ArkLog, query: dict[str, Any], findings: list[Finding]
    ) -> Iterator[tuple[int, int, Any, int, int]]:
        """Yield (MCAP channel number, time in ns, data, publish time in ns, sequence number) of each message.

        Messages that were imported from MCAP are unwrapped to their original bytes.
        """
        numbers = self._numbers
        unwrap = {number: unwrapper(channel, self._as_json) for number, channel in self._wrapped.items()}
        for number, time_ns, data in self._stored(log, query, findings, numbers):
            if isinstance(data, LargeValue) and not _is_readable(data, number not in unwrap, query, findings):
                continue
            if number in unwrap:
                message = unwrap[number](data, time_ns)
                yield number, time_ns, message.data, message.publish_time, message.sequence
            else:
                yield number, time_ns, data, time_ns, 0

    def _stored(
        self, log: ArkLog, query: dict[str, Any], findings: list[Finding], numbers: dict[str, int]
    ) -> Iterable[tuple[int, int, Any]]:
        """Return `(channel number, time in ns, data)` of each selected message; data is JSON if that is wanted.

        `numbers` are the channel numbers of the MCAP file, by GUID.
        """
        if self._as_json:
            parts = read_query(ValueQuery, log, query, findings)
            values = chain.from_iterable(values for values, _ in parts)
            return ((numbers[identifier], time_ns, value) for identifier, time_ns, value in values)
        found = messages(log, **query, findings=findings, large=True)
        return ((numbers[message.identifier], message.time_ns, message.data) for message in found)


def _is_readable(data: LargeValue, as_it_is: bool, query: Mapping[str, Any], findings: list[Finding]) -> bool:
    """Whether a message can be written: it decompresses, and is not a value that contains the message (`as_it_is`).

    Otherwise the error is added to the findings if `query` skips damaged messages, else raised.
    """
    try:
        deque(data, 0)  # read all chunks and drop them: damage is found before any of it is written
        if not as_it_is:  # a value that contains it has to be in memory
            raise data.refusal()
    except ExhumeError as error:
        if query.get("on_error") != "skip":
            raise
        findings.append(Finding.from_error(error))
        return False
    return True


def _metadata(channel: Channel, as_json: bool) -> dict[str, str]:
    """Return the metadata of an exported channel, by which an import restores it."""
    found = {
        "ark.identifier": channel.identifier,
        "ark.latched": "true" if channel.latched else "false",
        "ark.column": channel.column,
        "ark.compression": channel.compression,
        "ark.type": channel.type,
    }
    if as_json and channel.declaration.schema_registry:
        found["ark.registry"] = channel.declaration.schema_registry
    return found


def _schema(channel: Channel, as_json: bool) -> tuple[str, str, bytes] | None:
    """The name, the encoding and the data of the schema of a channel, if it has one."""
    if not as_json:
        return channel.type, ENCODING, channel.declaration.schema_registry.encode()
    registry = channel.declaration.registry
    if registry is None:
        return None
    text = json.dumps(json_schema(registry, channel.type), separators=(",", ":"))
    return channel.type, "jsonschema", text.encode()
