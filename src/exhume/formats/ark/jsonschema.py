"""Messages as JSON for viewers of MCAP, with JSON Schemas of the plain kind that viewers read.

A schema has one `type` everywhere, and holds the types that it uses where they are used: no references, no
alternatives.  So integers are numbers whatever their size, and an optional field without a value is left out.  A type
inside itself and a dictionary are objects that are not described any further (a dictionary whose keys are not strings
is a list of pairs and not in the schema).  Only floats for which JSON has no number are text nevertheless.

Spec: none; JSON Schema 2020-12.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from exhume.formats.ark.rbuf.registry import Field, Registry
from exhume.io.jsonout import bytes_value

BYTES: dict[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "base64": {"type": "string", "contentEncoding": "base64"}},
}


def json_schema(registry: Registry, type_name: str) -> dict[str, Any]:
    """The JSON Schema of the messages of a type."""
    return {"title": type_name, **_object(registry, type_name.removeprefix("::"), ())}


def _object(registry: Registry, name: str, inside: tuple[str, ...]) -> dict[str, Any]:
    fields = () if name in inside else tuple(registry.schema(name).visible_fields())
    known = {f.name: _field(registry, f, (*inside, name)) for f in fields}
    return {"type": "object", "properties": {key: schema for key, schema in known.items() if schema is not None}}


def _field(registry: Registry, each: Field, inside: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the JSON Schema of a field; None if viewers have no plain schema for it.

    `inside` has the names of the object types around it, to detect recursion.
    """
    if each.packed_timespec or each.type == "byte_buffer":
        return BYTES
    match each.type:
        case "bool":
            return {"type": "boolean"}
        case "float" | "double":
            return {"type": "number"}
        case "string" | "guid":
            return {"type": "string"}
        case "object":
            return _object(registry, each.object_type or "", inside)
        case "variant":
            properties = {"index": {"type": "integer"}, "type": {"type": "string"}}
            return {"type": "object", "properties": {**properties, "value": {"type": "object", "properties": {}}}}
        case "arraylist" | "array":
            assert each.value is not None
            items = _field(registry, each.value, inside)
            return None if items is None else {"type": "array", "items": items}
        case "dictionary":
            assert each.key is not None
            return {"type": "object", "properties": {}} if each.key.type == "string" else None
    return {"type": "integer"}


def message_json(value: Any) -> bytes:
    """The JSON text of a message, in the form that its schema describes."""
    return json.dumps(_plain(value), allow_nan=False, separators=(",", ":")).encode("ascii")


def _plain(value: Any) -> Any:
    """Return a decoded value as JSON can hold it."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes_value(bytes(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
