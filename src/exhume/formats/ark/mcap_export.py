"""Ark logs as MCAP files, with the official `mcap` library (extra `mcap`); `mcap_import` is the way back.

A channel becomes a channel, the indexed time the log time (nanoseconds of the log's steady clock, not of a calendar).
Messages stay rbuf (schema encoding and message encoding `rbuf`, the schema is the registry's JSON text), or become JSON
(`jsonschema`), which viewers can show.  A log numbers no messages, so their sequence is 0.  Its identifiers and
metadata become metadata records; other attributes of a channel become the metadata of the channel.  What came from
an MCAP file (`mcap_origin`) is written as it was: messages with their times and numbers, schemas, records, attachments.

Spec: none of ours; https://mcap.dev/spec.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final

from exhume.archive import Progress, no_progress
from exhume.errors import ExhumeError
from exhume.findings import Finding
from exhume.formats.ark.export import Selection
from exhume.formats.ark.jsonschema import json_schema
from exhume.formats.ark.lines import ValueQuery
from exhume.formats.ark.log import ArkLog, Channel
from exhume.formats.ark.mcap_origin import Origin, unwrapper
from exhume.formats.ark.mcap_records import (
    ENCODING,
    LIBRARY,
    LOG_RECORD,
    METADATA_RECORD,
    Declared,
    Joined,
    Piece,
    Row,
    head_piece,
    library,
    message_piece,
)
from exhume.formats.ark.parallel_query import read_query
from exhume.formats.ark.query import messages
from exhume.formats.ark.reader import ArkArchive
from exhume.io.output.stream import binary_output
from exhume.tabular.report import ExportReport, refuse_options

KEPT: Final = ("ark.identifier", "ark.latched", "ark.column", "ark.compression")
"""What a channel with its original messages keeps of the log in its metadata."""

PIECE_BYTES: Final = 8 << 20
"""Bytes of messages that become chunks at a time."""


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

    Raises `MissingDependencyError` without the extra, and the error of the broken rule for damaged messages (unless
    they are skipped).
    """
    library("writer")
    as_json = payload == "json"
    refuse_options("mcap", {"columns": options.get("columns")})
    selection = Selection(log, options, ExportReport(), progress)
    pieces = Pieces(log, as_json)
    with binary_output(output, overwrite=overwrite) as file:
        joined = Joined(file, head_piece(pieces.declare_all, *pieces.header), pieces.declared())
        for piece in selection.spans(pieces, jobs, decode=as_json):
            joined.add(piece)
        joined.finish()
    if pieces.has_rbuf:
        selection.report.notes.append("messages are rbuf, which viewers do not know: --payload json gives them JSON")
    return selection.finish()


class Pieces:
    """Makes chunks of an MCAP file from the messages of a log; other processes do so too."""

    def __init__(self, log: ArkArchive, as_json: bool) -> None:
        self._as_json = as_json
        origin = Origin.of(log.manifest.metadata)
        self.header = origin.header or ("", LIBRARY)
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
        self._schemas: dict[tuple[str, str, bytes] | None, int] = {None: 0}
        self._channels: dict[str, tuple[str, str, int, dict[str, str]]] = {}
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
                self._channels[channel.identifier] = (channel.name, encoding, number, metadata)
        for schema in origin.schemas.values():
            self._schemas.setdefault(schema, len(self._schemas))
        self._numbers = {identifier: number for number, identifier in enumerate(self._channels, 1)}
        self.has_rbuf = not as_json and len(self._wrapped) < len(self._channels)

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

    def __call__(self, log: ArkLog, query: dict[str, Any], findings: list[Finding]) -> Iterator[tuple[Piece, int]]:
        """The messages of a query as chunks of the file, with their number.

        Raises the error of a damaged message after the chunk of those before it.
        """
        held: list[Row] = []
        size, damage = 0, None
        declared = self.declared()
        try:
            for message in self._messages(log, query, findings):
                held.append(message)
                size += len(message[2])
                if size >= PIECE_BYTES:
                    yield message_piece(declared, held), len(held)
                    held, size = [], 0
        except ExhumeError as error:
            damage = error
        if held:
            yield message_piece(declared, held), len(held)
        if damage is not None:
            raise damage

    def _messages(self, log: ArkLog, query: dict[str, Any], findings: list[Finding]) -> Iterable[Row]:
        numbers = self._numbers
        unwrap = {number: unwrapper(channel, self._as_json) for number, channel in self._wrapped.items()}
        for number, time_ns, data in self._stored(log, query, findings, numbers):
            if number in unwrap:
                message = unwrap[number](data, time_ns)
                yield number, time_ns, message.data, message.publish_time, message.sequence
            else:
                yield number, time_ns, data, time_ns, 0

    def _stored(
        self, log: ArkLog, query: dict[str, Any], findings: list[Finding], numbers: dict[str, int]
    ) -> Iterable[tuple[int, int, bytes]]:
        if self._as_json:
            parts = read_query(ValueQuery, log, query, findings)
            values = chain.from_iterable(values for values, _ in parts)
            return ((numbers[identifier], time_ns, value) for identifier, time_ns, value in values)
        found = messages(log, **query, findings=findings)
        return ((numbers[message.identifier], message.time_ns, message.data) for message in found)


def _metadata(channel: Channel, as_json: bool) -> dict[str, str]:
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
