"""What specifications say of their fields: names, types, sentences and enumerations, for explain."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.resources
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exhume.compiler.front.model import Type

SPECS_PACKAGE = "exhume_ksy"


@dataclass(frozen=True, slots=True)
class FieldDoc:
    """What a specification says about a field or type."""

    type: str = ""
    doc: str = ""
    doc_ref: str = ""
    enum: str = ""
    checksum: str = ""
    unit: str = ""
    representation: str = ""
    is_scalar: bool = False
    parsed_as: str = ""


def camel(name: str) -> str:
    """`block_body` as the compiler names its class: `BlockBody`."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


@functools.cache
def spec(id: str) -> dict[str, Any]:
    """A whole specification as its JSON form; raises `KeyError` for unknown ids."""
    resource = importlib.resources.files(SPECS_PACKAGE) / "specs" / f"{id}.json"
    try:
        loaded: dict[str, Any] = json.loads(resource.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise KeyError(id) from None
    return loaded


@functools.cache
def _type_specs(id: str) -> dict[str, dict[str, Any]]:
    """Every type of a specification by the qualified name of its generated class."""
    found: dict[str, dict[str, Any]] = {}

    def add(qualname: str, content: dict[str, Any]) -> None:
        found[qualname] = content
        for name, inner in content.get("types", {}).items():
            add(f"{qualname}.{camel(name)}", inner)

    add(camel(id), spec(id))
    return found


def documented(name: str) -> str:
    """What the specification says about a type, `id` or `id::type::subtype`; raises `KeyError` for unknown ids."""
    id, *types = name.split("::")
    content = spec(id)
    for type in types:
        content = content.get("types", {}).get(type, {})
    return _text(content.get("doc"))


@functools.cache
def describe_type(cls: Any) -> dict[str, FieldDoc]:
    """What the specification says about each field and instance of a generated class; key "" is the type itself."""
    try:
        types = _type_specs(cls.__module__.rsplit(".", 1)[-1])
    except KeyError:
        return {}
    parts = cls.__qualname__.split(".")
    return _described([types.get(".".join(parts[:depth]), {}) for depth in range(1, len(parts) + 1)])


@functools.cache
def describe_traced(type: Type) -> dict[str, FieldDoc]:
    """The same as `describe_type` for a type of a specification that was compiled at run time."""
    around = [type]
    while around[0].parent is not None:
        around.insert(0, around[0].parent)
    return _described([one.raw for one in around])


def _described(around: Sequence[Mapping[str, Any]]) -> dict[str, FieldDoc]:
    """What the specification says in the last of several types, each of which encloses the next."""
    content, enums = around[-1], _enum_docs(around)
    described = {"": FieldDoc(doc=_text(content.get("doc")), doc_ref=_text(content.get("doc-ref")))}
    scalar = content.get("-scalar")
    line = f"{{{scalar}}}" if scalar else _text(content.get("-webide-representation"))
    described[""] = dataclasses.replace(described[""], representation=line, is_scalar=bool(scalar))
    attributes = [(item.get("id", ""), item) for item in content.get("seq", [])]
    attributes += list(content.get("instances", {}).items())
    for name, item in attributes:
        described[name] = FieldDoc(
            type=_type_text(item),
            doc=_text(item.get("doc")),
            doc_ref=_text(item.get("doc-ref")),
            enum=item.get("enum", ""),
            checksum=_text(item.get("-checksum")),
            unit=_text(item.get("-unit")),
            parsed_as=_text(item.get("-parsed-as")),
        )
    for enum_name, values in enums.items():
        for key, value in values.items():
            described[f"enum {enum_name} {key}"] = value
    return described


def _enum_docs(around: Sequence[Mapping[str, Any]]) -> dict[str, dict[int, FieldDoc]]:
    """The documentation of the enum values that a type can see: its own, those of enclosing types, and the file's."""
    found: dict[str, dict[int, FieldDoc]] = {}
    for content in around:
        for name, values in content.get("enums", {}).items():
            texts = {}
            for key, item in values.items():
                if isinstance(item, dict):
                    doc, checksum = _text(item.get("doc")), _text(item.get("-checksum"))
                    texts[int(str(key), 0)] = FieldDoc(doc=doc, checksum=checksum)
            found[name] = texts
    return found


def _text(value: Any) -> str:
    if isinstance(value, list):
        value = "; ".join(map(str, value))
    return " ".join(str(value).split()) if value else ""


def _type_text(item: dict[str, Any]) -> str:
    kind = item.get("type")
    if isinstance(kind, dict):
        kind = "switch on " + str(kind.get("switch-on"))
    if kind is None:
        kind = "value" if "value" in item else "contents" if "contents" in item else "bytes"
    if "enum" in item:
        kind = f"{kind} ({item['enum']})"
    return f"{kind}[]" if "repeat" in item else str(kind)
