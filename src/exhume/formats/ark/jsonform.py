"""Converts JSON values back to rbuf values: the inverse of what `cat` and `export --to jsonl` print.

rbuf is the serialization of Ark's messages; a registry has the schemas of types.  `import_jsonl` writes a log from a
file of such lines (`exhume create ark`).
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final

from exhume.archive import Progress, no_progress
from exhume.counts import counted
from exhume.errors import ExhumeError, FormatError, Span, WriterError, shorten
from exhume.formats.ark.parallel_query import map_pieces
from exhume.formats.ark.rbuf.encoder import Encoder, encoder_for
from exhume.formats.ark.rbuf.idl import load_registry
from exhume.formats.ark.rbuf.registry import Field, Registry
from exhume.formats.ark.writer import ArkWriter, ChannelWriter, MessagePacking, no_schema
from exhume.io.files import open_input
from exhume.limits import DEFAULT_LIMITS, Limits

FOREIGN_IDL: Final = """namespace exhume;
schema Json { string json; }
schema Foreign { string encoding; string schema_name; byte_buffer data; }
"""
"""The types for messages that are not rbuf: JSON text, or bytes with the name of their encoding."""

_FLOATS: Final = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf, "infinity": math.inf, "-infinity": -math.inf}
"""Floats that JSON has no numbers for, by their names in lower case."""


def from_json(registry: Registry, type_name: str, value: Any) -> dict[str, Any]:
    """The value of a type from its JSON form.

    Integers may be decimal text (beyond 2^53) or have a fraction of 0, floats `"NaN"` and infinities, bytes `{"text",
    "base64"}` or hexadecimal text; optional fields may be left out.  Raises `WriterError` where the form
    does not fit the type.
    """
    if not isinstance(value, Mapping):
        raise WriterError("not a JSON object", field_path=type_name, actual=shorten(value))
    out = dict(value)
    for each in registry.schema(type_name).visible_fields():
        if each.name in out:
            try:
                out[each.name] = _from_json(registry, each, out[each.name])
            except (KeyError, OverflowError, ValueError, TypeError, binascii.Error) as error:
                path = f"{type_name}.{each.name}"
                raise WriterError("JSON that does not fit the type", field_path=path, actual=error) from error
        elif each.optional:
            out[each.name] = None
    return out


def _from_json(registry: Registry, each: Field, value: Any) -> Any:
    """Convert one JSON value to the value that the encoder takes for the field `each`.

    Dictionaries with keys that are not strings are lists of [key, value] pairs in JSON. Errors such as `ValueError`
    become a `WriterError` in `from_json`.
    """
    if value is None:
        return None
    if each.packed_timespec or each.type == "byte_buffer":
        return to_bytes(value)
    match each.type:
        case "bool":
            return _boolean(value)
        case "string" | "guid":
            return value
        case "float" | "double":
            return _float(value)
        case "object":
            return from_json(registry, each.object_type or "", value)
        case "arraylist" | "array":
            assert each.value is not None
            return [_from_json(registry, each.value, item) for item in _list(value)]
        case "dictionary":
            assert each.key is not None
            assert each.value is not None
            if isinstance(value, Mapping):
                return {key: _from_json(registry, each.value, item) for key, item in value.items()}
            return [
                (_from_json(registry, each.key, key), _from_json(registry, each.value, item))
                for key, item in _list(value)
            ]
        case "variant":
            return _variant(registry, each, value)
    return _integer(value)  # integers, enumerations, times and durations


def _list(value: Any) -> list[Any]:
    """A list, not a string or an object, which have items, too.  Raises `TypeError`."""
    if not isinstance(value, list):
        raise TypeError("not a list")
    return value


def _boolean(value: Any) -> bool:
    """A boolean, no number.  Raises `TypeError`."""
    if not isinstance(value, bool):
        raise TypeError("not a boolean")
    return value


def _integer(value: Any) -> int:
    """An integer from a JSON number without a fraction, or decimal text.  Raises `TypeError` or `ValueError`."""
    if isinstance(value, bool):
        raise TypeError("a boolean is not an integer")
    if isinstance(value, float) and not value.is_integer():
        raise ValueError("not an integer")
    if isinstance(value, str) and not re.fullmatch("-?[0-9]+", value):
        raise ValueError("not the decimal digits of an integer")
    return int(value)


def _float(value: Any) -> float:
    """A float from a JSON number, or its name where JSON has none.  Raises `TypeError` or `ValueError`."""
    if isinstance(value, bool):
        raise TypeError("a boolean is not a number")
    if isinstance(value, str):
        if value.lower() not in _FLOATS:
            raise ValueError("text that is neither NaN nor an infinity")
        return _FLOATS[value.lower()]
    made = float(value)
    if isinstance(value, int) and int(made) != value:
        raise ValueError("an integer that a float cannot hold")
    return made


def _variant(registry: Registry, each: Field, value: Any) -> dict[str, Any]:
    """Return a variant from its JSON form; an alternative that the type does not have stays raw bytes."""
    known = dict(each.variants)
    name = known.get(value["index"])
    if name is None:
        return {"index": value["index"], "raw": to_bytes(value["raw"])}
    return {"index": value["index"], "value": from_json(registry, name, value["value"])}


def to_bytes(value: Any) -> bytes:
    """Bytes from hexadecimal text, or from an object with either `text` (they are UTF-8) or `base64`.

    Raises `TypeError`, `KeyError` or `ValueError` for anything else.
    """
    if isinstance(value, Mapping):
        if "base64" in value:
            return base64.b64decode(value["base64"], validate=True)
        if not isinstance(value["text"], str):
            raise TypeError("text that is not a string")
        return value["text"].encode()
    return bytes.fromhex(value)


PART_BYTES: Final = 2 << 20
"""Bytes of lines that a process converts to messages at a time."""


def import_jsonl(
    path: Path,
    log: ArkWriter,
    *,
    registry: Registry | None = None,
    types: Mapping[str, str] | None = None,
    progress: Progress = no_progress,
    jobs: int = 1,
    limits: Limits = DEFAULT_LIMITS,
) -> int:
    """Write the messages of a JSON-lines file to a log; return their number.

    Each line has `time_ns`, `channel`, and `value` (JSON form) or `data` (bytes).  `types` maps channel names to types
    of `registry`; channels without one keep their values as JSON text (`exhume::Json`).  `jobs` processes share the
    work (0: one per core).  `limits` bound a line (`structure_size`).  Raises `FormatError` with the number of a line
    that is not such an object, `WriterError` for a value that does not fit its type.
    """
    known = dict(types or {}) if registry is not None else {}
    channels: dict[str, ChannelWriter] = {}
    count = 0
    with open_input(path) as file:
        make = _Lines(str(path), registry, known, log.packing("main"))
        for rows, error in map_pieces(make, _parts(path, file, limits.structure_size), jobs):
            for name, has_value, time_ns, stored in rows:
                # The first row of a channel declares it, with the type that is known, or a general one.
                writer = channels.get(name)
                if writer is None:
                    if name in known:
                        writer = log.channel(name, known[name], registry)
                    elif has_value:
                        writer = log.channel(name, "exhume::Json", FOREIGN_IDL)
                    else:
                        writer = log.channel(name)
                    channels[name] = writer
                if has_value and writer.encoder is None:  # its first message was `data`, which declared it for bytes
                    raise no_schema(writer.name)
                writer.column.add(writer.declaration, time_ns, stored)
            count += len(rows)
            if error is not None:
                raise error
            progress(count, None, "messages")
    return count


def _parts(path: Path, file: BinaryIO, longest: int) -> Iterator[tuple[int, list[bytes]]]:
    """The lines of a file, in parts with the number of their first line.  Raises `FormatError` for an endless line."""
    lines: list[bytes] = []
    size = 0
    # Never more than `longest` + 1 bytes of a line are read.
    for number, line in enumerate(iter(partial(file.readline, longest + 1), b""), 1):
        if len(line) > longest:
            if lines:
                yield number - len(lines), lines
            raise FormatError(
                f"line {number} is too long",
                span=Span(str(path), 0, 0),
                expected=f"at most {counted(longest, 'bytes')} (limit structure_size)",
            )
        lines.append(line)
        size += len(line)
        if size >= PART_BYTES:
            yield number + 1 - len(lines), lines
            lines, size = [], 0
    if lines:
        yield number + 1 - len(lines), lines


Row = tuple[str, bool, int, bytes]
"""One line: the name of its channel, whether it has a value, its time, and its stored message."""


class _Lines:
    """A process's result for some lines: rows up to the first that cannot be written, and the problem with that one."""

    def __init__(self, name: str, registry: Registry | None, types: dict[str, str], packing: MessagePacking) -> None:
        # `name` is that of the file, `types` has those of channels, `packing` compresses messages.
        self._name, self._registry, self._types, self._packing = name, registry, types, packing
        self._texts: Encoder | None = None  # of JSON text, made when a channel without a type occurs

    def __call__(self, part: tuple[int, list[bytes]]) -> tuple[list[Row], ExhumeError | None]:
        """Convert a part of `_parts`: the number of the first line, and the lines."""
        first, lines = part
        rows: list[Row] = []
        try:
            for number, line in enumerate(lines, first):
                if line.strip():
                    rows.append(self._row(number, line))
        except ExhumeError as error:
            return rows, error
        return rows, None

    def _row(self, number: int, line: bytes) -> Row:
        """Convert one line to (channel name, whether it has a value, time in nanoseconds, stored bytes).

        Raises `FormatError` for a line that is not a message; `number` is the line number.
        """
        try:
            row = json.loads(line)
            time_ns, name = _integer(row["time_ns"]), str(row["channel"])
            has_value = "value" in row
            body = row["value"] if has_value else to_bytes(row["data"])
        except (ValueError, KeyError, TypeError, RecursionError, binascii.Error) as error:
            where = Span(self._name, 0, 0)
            reason = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise FormatError(
                f"line {number} is not a message (time_ns, channel, value or data)", span=where, actual=reason
            ) from error
        return name, has_value, time_ns, self._packing.pack(self._encoded(name, body) if has_value else body)

    def _encoded(self, name: str, value: Any) -> bytes:
        """Return a message as bytes of the channel's type, or as JSON text if the channel has none."""
        type_name = self._types.get(name)
        if type_name is not None and self._registry is not None:
            encoder = encoder_for(self._registry, type_name)
            return encoder.encode(from_json(self._registry, type_name, value))
        if self._texts is None:
            self._texts = encoder_for(load_registry(FOREIGN_IDL), "exhume::Json")
        return self._texts.encode({"json": json.dumps(value, separators=(",", ":"), ensure_ascii=False)})
