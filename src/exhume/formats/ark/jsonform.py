"""Converts JSON values back to rbuf values: the inverse of what `cat` and `export --to jsonl` print."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from exhume.archive import Progress, no_progress
from exhume.errors import FormatError, Span, WriterError, shorten
from exhume.formats.ark.rbuf.registry import Field, Registry
from exhume.formats.ark.writer import ArkWriter, ChannelWriter
from exhume.io.files import open_input
from exhume.limits import DEFAULT_LIMITS

FOREIGN_IDL: Final = """namespace exhume;
schema Json { string json; }
schema Foreign { string encoding; string schema_name; byte_buffer data; }
"""
"""The types for messages that are not rbuf: JSON text, or bytes with the name of their encoding."""

_FLOATS: Final = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf, "infinity": math.inf, "-infinity": -math.inf}


def from_json(registry: Registry, type_name: str, value: Any) -> dict[str, Any]:
    """The value of a type from its JSON form.

    Integers may be decimal text (beyond 2^53), floats `"NaN"` and infinities, bytes `{"text", "base64"}` or hexadecimal
    text; optional fields may be left out.  Raises `WriterError` where the form does not fit the type.
    """
    if not isinstance(value, Mapping):
        raise WriterError("not a JSON object", field_path=type_name, actual=shorten(value))
    out = dict(value)
    for each in registry.schema(type_name).visible_fields():
        if each.name in out:
            try:
                out[each.name] = _from_json(registry, each, out[each.name])
            except (ValueError, TypeError, binascii.Error) as error:
                path = f"{type_name}.{each.name}"
                raise WriterError("JSON that does not fit the type", field_path=path, actual=error) from error
        elif each.optional:
            out[each.name] = None
    return out


def _from_json(registry: Registry, each: Field, value: Any) -> Any:
    if value is None:
        return None
    if each.packed_timespec or each.type == "byte_buffer":
        return to_bytes(value)
    match each.type:
        case "string" | "guid" | "bool":
            return value
        case "float" | "double":
            return _FLOATS[value.lower()] if isinstance(value, str) else float(value)
        case "object":
            return from_json(registry, each.object_type or "", value)
        case "arraylist" | "array":
            assert each.value is not None
            return [_from_json(registry, each.value, item) for item in value]
        case "dictionary":
            assert each.key is not None
            assert each.value is not None
            if isinstance(value, Mapping):
                return {key: _from_json(registry, each.value, item) for key, item in value.items()}
            return [
                (_from_json(registry, each.key, key), _from_json(registry, each.value, item)) for key, item in value
            ]
        case "variant":
            return _variant(registry, each, value)
    return int(value)


def _variant(registry: Registry, each: Field, value: Any) -> dict[str, Any]:
    known = dict(each.variants)
    name = known.get(value["index"])
    if name is None:
        return {"index": value["index"], "raw": to_bytes(value["raw"])}
    return {"index": value["index"], "value": from_json(registry, name, value["value"])}


def to_bytes(value: Any) -> bytes:
    """Bytes from `{"text", "base64"}` or hexadecimal text."""
    if isinstance(value, Mapping):
        if "base64" in value:
            return base64.b64decode(value["base64"], validate=True)
        return str(value["text"]).encode()
    return bytes.fromhex(value)


LONGEST_LINE = DEFAULT_LIMITS.structure_size
"""The most bytes of one line."""


def import_jsonl(
    path: Path,
    log: ArkWriter,
    *,
    registry: Registry | None = None,
    types: Mapping[str, str] | None = None,
    progress: Progress = no_progress,
) -> int:
    """Writes the messages of a JSON-lines file to a log; returns their number.

    Each line has `time_ns`, `channel`, and `value` (JSON form) or `data` (bytes).  `types` maps channel names to types
    of `registry`; channels without one keep their values as JSON text (`exhume::Json`).  Raises `FormatError` with the
    number of a line that is not such an object, `WriterError` for a value that does not fit its type.
    """
    channels: dict[str, tuple[ChannelWriter, str | None]] = {}
    count = 0
    with open_input(path) as file:
        for number, line in enumerate(iter(partial(file.readline, LONGEST_LINE + 1), b""), 1):
            if len(line) > LONGEST_LINE:
                raise FormatError(
                    f"no end of line {number} in sight",
                    span=Span(str(path), 0, 0),
                    expected=f"at most {LONGEST_LINE} bytes",
                )
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                time_ns, name = int(row["time_ns"]), str(row["channel"])
                has_value = "value" in row
                body = row["value"] if has_value else to_bytes(row["data"])
            except (ValueError, KeyError, TypeError, RecursionError, binascii.Error) as error:
                where = Span(str(path), 0, 0)
                reason = f"no {error}" if isinstance(error, KeyError) else str(error)
                raise FormatError(
                    f"line {number} is not a message (time_ns, channel, value or data)", span=where, actual=reason
                ) from error
            known = channels.get(name)
            if known is None:
                type_name = (types or {}).get(name) if registry is not None else None
                if type_name is not None:
                    writer = log.channel(name, type_name, registry)
                elif has_value:
                    writer = log.channel(name, "exhume::Json", FOREIGN_IDL)
                else:
                    writer = log.channel(name)
                known = channels[name] = (writer, type_name)
            writer, type_name = known
            if not has_value:
                writer.write(time_ns, body)
            elif type_name is not None and registry is not None:
                writer.write(time_ns, from_json(registry, type_name, body))
            else:
                writer.write(time_ns, {"json": json.dumps(body, separators=(",", ":"), ensure_ascii=False)})
            count += 1
            if not count % 4096:
                progress(count, None, "messages")
    return count
