"""`lqs-client`, an independent decoder of Ark messages, reads ours to the same values.

Its limits: no array, variant, optional, constant, final or bitmask types, no list in a list; enumerations come back as
names.  Its own registry loader refuses unsigned enumerations, so its `deserialize` is called directly.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exhume.errors import Span
from exhume.formats.ark.layout import parse_serializable_file
from exhume.formats.ark.manifest import Column, Manifest, ManifestSection, ObjectDeclaration, build_manifest
from exhume.formats.ark.rbuf.encoder import encoder_for
from exhume.formats.ark.rbuf.registry import EnumType, Field, Group, Registry, Schema
from tests.ark import vectors
from tests.ark.rbuf_strategies import RANGES, same, values
from tests.oracles import Oracle, apart

pytestmark = pytest.mark.conformance("lqs-client")


@pytest.fixture(scope="module")
def lqs() -> Iterator[Oracle]:
    with apart("lqs_client", Path(__file__).with_name("lqs_worker.py")) as oracle:
        yield oracle


def decode(lqs: Oracle, registry: Registry, name: str, raw: bytes) -> Any:
    """The oracle's value, in our words."""
    document = json.loads(registry.to_json())
    for schema in document["schemas"]:
        schema.setdefault("object_namespace", "")
    answer = lqs.ask(registry=document, name=name, data=raw.hex())
    assert answer["end"] == len(raw)
    return plain(answer["value"], registry, name)


def plain(value: Any, registry: Registry, name: str) -> dict[str, Any]:
    return {f.name: _plain(value[f.name], registry, f) for f in registry.schema(name).visible_fields()}


def _plain(value: Any, registry: Registry, field: Field) -> Any:
    match field.type:
        case "object":
            found = value[0] if isinstance(value, list) else value
            return plain(found, registry, field.object_type or "")
        case "byte_buffer":
            return bytes(value)
        case "guid":
            return str(value)
        case "arraylist":
            assert field.value is not None
            return [_plain(item, registry, field.value) for item in value]
        case "dictionary":
            assert field.value is not None
            return {key: _plain(item, registry, field.value) for key, item in value.items()}
    return value


SIMPLE = (*RANGES, "float", "double", "bool", "string", "guid", "byte_buffer")


@st.composite
def oracle_registries(draw: st.DrawFn) -> tuple[Registry, str]:
    """Registries within the oracle's limits."""
    enums = {"n::E": EnumType("n::E", draw(st.sampled_from(["int8", "uint16", "uint64"])), False, {"A": 0, "B": 5})}
    found: dict[str, Schema] = {}
    for number in range(draw(st.integers(1, 3))):
        names = iter(f"f{i}" for i in range(50))

        def field(objects: tuple[str, ...], names: Iterator[str] = names) -> Field:
            kind = draw(st.sampled_from(["simple", "simple", "enum", "list", "map", *(["object"] if objects else [])]))
            name = next(names)
            if kind == "simple":
                return Field(name, draw(st.sampled_from(SIMPLE)))
            if kind == "enum":
                return Field(name, "enum", object_type="n::E")
            if kind == "object":
                return Field(name, "object", object_type=draw(st.sampled_from(objects)))
            inner = Field("", draw(st.sampled_from(SIMPLE)))
            if kind == "list":
                if kind == "list" and objects and name.endswith(("1", "3")):
                    inner = Field("", "object", object_type=draw(st.sampled_from(objects)))
                return Field(name, "arraylist", value=inner)
            return Field(name, "dictionary", key=Field("", "string"), value=inner)

        objects = tuple(found)
        body = tuple(field(objects) for _ in range(draw(st.integers(1, 4))))
        numbers = draw(st.lists(st.integers(0, 9), unique=True, max_size=2))
        groups = tuple(Group(n, tuple(field(objects) for _ in range(draw(st.integers(1, 2))))) for n in numbers)
        found[f"n::T{number}"] = Schema(f"n::T{number}", body, groups)
    return Registry(found, enums), f"n::T{len(found) - 1}"


@given(oracle_registries(), st.data())
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@pytest.mark.slow
def test_the_oracle_reads_our_messages(lqs: Oracle, made: tuple[Registry, str], data: st.DataObject) -> None:
    registry, name = made
    value = data.draw(values(registry, name))
    raw = encoder_for(registry, name).encode(value)
    assert same(decode(lqs, registry, name, raw), value)


def test_the_oracle_reads_our_manifest(lqs: Oracle) -> None:
    channel = ObjectDeclaration("/a", "n::T", vectors.OBJECT, '{"schemas":[]}', latched=True)
    section = ManifestSection((Column("main", "lz4", (channel,)),), vectors.LOG)
    manifest = Manifest(vectors.LOG, vectors.COMMON, "demo", (section,), {"k": '"v"'})
    data = build_manifest(manifest)
    file = parse_serializable_file(data, Span("m", 0, len(data)))
    document = json.loads(file.registry)
    for schema in document["schemas"]:
        # It knows no optional fields: those of the filter are read as encoded, absent.
        for field in schema["fields"]:
            if field.get("attributes", {}).get("optional"):
                field["type"] = "bool"
    answer = lqs.ask(registry=document, name=file.type_name, data=file.content.hex())
    assert answer["end"] == len(file.content)
    value = answer["value"]
    assert str(value["log_identifier"]) == vectors.LOG
    assert value["name"] == "demo"
    found = value["sections"][0][0]["columns"][0][0]
    assert (found["name"], found["compression_type"]) == ("main", "lz4")
    assert found["object_types"][0][0]["latched"] is True
    assert value["metadata"][0]["entries"] == {"k": '"v"'}
