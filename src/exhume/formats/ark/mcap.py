"""Ark logs as MCAP files, and MCAP files as Ark logs, with the official `mcap` library (extra `mcap`).

A channel becomes a channel, the indexed time the log time (nanoseconds of the log's steady clock, not of a calendar).
Messages stay rbuf (schema encoding and message encoding `rbuf`, the schema is the registry's JSON text), or become JSON
(`jsonschema`), which viewers can show.  Log identifiers and metadata become metadata records; other attributes of a
channel become the metadata of the channel.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from exhume.archive import Progress, no_progress
from exhume.errors import FormatError, MissingDependencyError, Span
from exhume.formats.ark.export import Selection
from exhume.formats.ark.jsonform import FOREIGN_IDL
from exhume.formats.ark.jsonschema import json_schema, message_json
from exhume.formats.ark.rbuf.registry import Registry
from exhume.formats.ark.reader import ArkReader, Channel
from exhume.formats.ark.writer import ArkWriter, ChannelWriter
from exhume.io.files import open_input
from exhume.io.output.stream import binary_output
from exhume.tabular.report import ExportReport, refuse_options

ENCODING: Final = "rbuf"
LOG_RECORD: Final = "ark.log"
METADATA_RECORD: Final = "ark.metadata"
LIBRARY: Final = "exhume"
PROGRESS_STEP: Final = 4096


def _mcap(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(f"mcap.{name}")
    except ImportError as error:
        raise MissingDependencyError("MCAP needs the extra `mcap`: pip install 'exhume[mcap]'") from error


def export(
    log: ArkReader,
    output: str,
    *,
    overwrite: bool = False,
    progress: Progress = no_progress,
    payload: str | None = None,
    **options: Any,
) -> ExportReport:
    """Writes the chosen messages as an MCAP file; `payload` is `rbuf` (default: bytes unaltered) or `json`.

    Raises `MissingDependencyError` without the extra, and the error of the broken rule for damaged messages (unless
    they are skipped).
    """
    writing = _mcap("writer")
    as_json = payload == "json"
    refuse_options("mcap", {"columns": options.get("columns")})
    selection = Selection(log, options, ExportReport(), progress)
    with binary_output(output, overwrite=overwrite) as file:
        writer = writing.Writer(file)
        writer.start(profile="", library=LIBRARY)
        manifest = log.manifest
        writer.add_metadata(
            LOG_RECORD,
            {
                "log_identifier": manifest.identifier,
                "common_identifier": manifest.common_identifier,
                "name": manifest.name,
                "clock": "steady",
            },
        )
        if manifest.metadata:
            writer.add_metadata(METADATA_RECORD, dict(manifest.metadata))
        ids = _register(log, writer, as_json)
        counts: dict[int, int] = {}
        for message in selection.messages(decode=as_json):
            channel = ids[message.identifier]
            counts[channel] = sequence = counts.get(channel, -1) + 1
            data = message.data
            if as_json:
                data = message_json(message.value if message.value is not None else {"data": message.data})
            writer.add_message(channel, message.time_ns, data, message.time_ns, sequence & 0xFFFF_FFFF)
        writer.finish()
    if not as_json:
        selection.report.notes.append("messages are rbuf, which viewers do not know: --payload json gives them JSON")
    return selection.finish()


def _register(log: ArkReader, writer: Any, as_json: bool) -> dict[str, int]:
    """Registers every channel; returns the MCAP channel numbers by the channel's GUID."""
    schemas: dict[tuple[str, str], int] = {}
    ids: dict[str, int] = {}
    for channel in log.channels():
        if channel.identifier in ids:
            continue
        key = (channel.type, channel.declaration.schema_registry)
        if key not in schemas:
            schemas[key] = _schema(writer, channel, as_json)
        metadata = {
            "ark.identifier": channel.identifier,
            "ark.latched": "true" if channel.latched else "false",
            "ark.column": channel.column,
            "ark.compression": channel.compression,
            "ark.type": channel.type,
        }
        if as_json and channel.declaration.schema_registry:
            metadata["ark.registry"] = channel.declaration.schema_registry
        ids[channel.identifier] = writer.register_channel(
            channel.name, "json" if as_json else ENCODING, schemas[key], metadata
        )
    return ids


def _schema(writer: Any, channel: Channel, as_json: bool) -> int:
    registry = channel.declaration.registry
    if registry is None and as_json:
        return 0
    if as_json and registry is not None:
        text = json.dumps(json_schema(registry, channel.type), separators=(",", ":"))
        number: int = writer.register_schema(channel.type, "jsonschema", text.encode())
    else:
        number = writer.register_schema(channel.type, ENCODING, channel.declaration.schema_registry.encode())
    return number


def import_mcap(path: Path, log: ArkWriter, *, progress: Progress = no_progress) -> int:
    """Writes every message of an MCAP file to a log, in the file's order; returns their number.

    Channels with rbuf messages come back as they were (name, type, registry, GUID, column, latched).  Messages of other
    encodings are kept whole inside `exhume::Json` or `exhume::Foreign` values, their schemas in the log's metadata.
    Raises `FormatError` for a file that `mcap` cannot read.
    """
    reading = _mcap("reader")
    exceptions = _mcap("exceptions")
    channels: dict[int, tuple[ChannelWriter, Callable[[bytes], Any]]] = {}
    schemas: dict[str, dict[str, str]] = {}
    count = 0
    try:
        with open_input(path) as file:
            reader = reading.make_reader(file)
            for schema, channel, message in reader.iter_messages(log_time_order=False):
                known = channels.get(channel.id)
                if known is None:
                    known = channels[channel.id] = _import_channel(log, schema, channel, schemas)
                writer, convert = known
                writer.write(message.log_time, convert(message.data))
                count += 1
                if not count % PROGRESS_STEP:
                    progress(count, None, "messages")
            file.seek(0)
            for record in reading.make_reader(file).iter_metadata():
                _import_metadata(log, record)
    except (exceptions.McapError, struct.error, EOFError, UnicodeDecodeError) as error:
        raise FormatError("the MCAP file cannot be read", span=Span(str(path), 0, 0), actual=error) from error
    if schemas:
        log.set_metadata("mcap.schemas", list(schemas.values()))
    return count


def _import_channel(
    log: ArkWriter, schema: Any, channel: Any, schemas: dict[str, dict[str, str]]
) -> tuple[ChannelWriter, Callable[[bytes], Any]]:
    metadata = dict(channel.metadata)
    column = metadata.get("ark.column", "main")
    identifier = metadata.get("ark.identifier")
    used = {each.identifier for writer in log.columns.values() for each in writer.objects}
    known: dict[str, Any] = {
        "latched": metadata.get("ark.latched") == "true",
        "identifier": None if identifier in used else identifier,
        "column": log.columns.get(column) or log.column(column, _compression(log, metadata)),
    }
    if channel.message_encoding == ENCODING:
        text = schema.data.decode() if schema is not None else ""
        name = metadata.get("ark.type", schema.name if schema is not None else "")
        return log.channel(channel.topic, name, text or None, **known), lambda data: data
    if channel.message_encoding == "json" and "ark.registry" in metadata:
        from exhume.formats.ark.jsonform import from_json

        registry = Registry.from_json(metadata["ark.registry"])
        name = metadata["ark.type"]
        writer = log.channel(channel.topic, name, metadata["ark.registry"], **known)
        return writer, lambda data: from_json(registry, name, json.loads(data))
    if schema is not None:
        raw = base64.b64encode(schema.data).decode()
        schemas[schema.name] = {"name": schema.name, "encoding": schema.encoding, "base64": raw}
    if channel.message_encoding == "json":
        writer = log.channel(channel.topic, "exhume::Json", FOREIGN_IDL, **known)
        return writer, lambda data: {"json": data.decode()}
    writer = log.channel(channel.topic, "exhume::Foreign", FOREIGN_IDL, **known)
    named = schema.name if schema is not None else ""
    return writer, lambda data: {"encoding": channel.message_encoding, "schema_name": named, "data": data}


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
