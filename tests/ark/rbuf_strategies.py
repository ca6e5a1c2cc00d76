"""Random registries and values of their types."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st

from exhume.formats.ark.rbuf.registry import INTEGERS, EnumType, Field, Group, Registry, Schema

RANGES = {
    "uint8": (0, 2**8 - 1),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "duration": (-(2**63), 2**63 - 1),
    "steady_time_point": (0, 2**64 - 1),
    "system_time_point": (0, 2**64 - 1),
}
SIMPLE = (*RANGES, "float", "double", "bool", "string", "guid", "byte_buffer")
KEYS = ("string", "uint8", "int32", "guid", "bool")


@st.composite
def fields(draw: st.DrawFn, name: str, objects: tuple[str, ...], enums: tuple[str, ...], depth: int = 2) -> Field:
    """A field of any type; objects refer to schemas that exist already."""
    kinds = ["simple", "simple", "simple"]
    if depth:
        kinds += ["arraylist", "array", "dictionary"]
    if objects:
        kinds += ["object", "variant"]
    if enums:
        kinds.append("enum")
    kind = draw(st.sampled_from(kinds))
    optional = draw(st.integers(0, 4)) == 0
    inner = fields("", objects, enums, max(0, depth - 1))
    match kind:
        case "simple":
            return Field(name, draw(st.sampled_from(SIMPLE)), optional=optional)
        case "arraylist":
            return Field(name, "arraylist", value=draw(inner), optional=optional)
        case "array":
            return Field(name, "array", array_size=draw(st.integers(0, 3)), value=draw(inner), optional=optional)
        case "dictionary":
            key = Field("", draw(st.sampled_from(KEYS)))
            return Field(name, "dictionary", key=key, value=draw(inner), optional=optional)
        case "object":
            return Field(name, "object", object_type=draw(st.sampled_from(objects)), optional=optional)
        case "variant":
            names = draw(st.lists(st.sampled_from(objects), min_size=1, max_size=3))
            start = draw(st.integers(0, 3))
            return Field(
                name, "variant", variants=tuple((start + i, n) for i, n in enumerate(names)), optional=optional
            )
    return Field(name, "enum", object_type=draw(st.sampled_from(enums)), optional=optional)


@st.composite
def schemas(draw: st.DrawFn, name: str, objects: tuple[str, ...], enums: tuple[str, ...]) -> Schema:
    """A schema with groups, removed and constant fields, sometimes final."""
    final = draw(st.integers(0, 4)) == 0
    names = iter(f"f{i}" for i in range(100))

    def some(most: int) -> tuple[Field, ...]:
        out = []
        for _ in range(draw(st.integers(0, most))):
            field = draw(fields(next(names), objects, enums))
            special = draw(st.integers(0, 9))
            if special == 0:
                field = Field(field.name, "uint32", constant=True, constant_value="3")
            elif special == 1:
                field = _removed(field)
            out.append(field)
        return tuple(out)

    body = some(4)
    numbers = [] if final else draw(st.lists(st.integers(0, 255), unique=True, max_size=2))
    return Schema(name, body, tuple(Group(number, some(3)) for number in numbers), final)


def _removed(field: Field) -> Field:
    return field._replace(removed=True)


@st.composite
def registries(draw: st.DrawFn) -> tuple[Registry, str]:
    """A registry, and the name of the type to use."""
    enums: dict[str, EnumType] = {}
    for number in range(draw(st.integers(0, 2))):
        stored = draw(st.sampled_from(sorted(INTEGERS)))
        enums[f"n::E{number}"] = EnumType(f"n::E{number}", stored, bool(number % 2), {"A": 0, "B": 1})
    found: dict[str, Schema] = {}
    for number in range(draw(st.integers(1, 4))):
        name = f"n::T{number}"
        found[name] = draw(schemas(name, tuple(found), tuple(enums)))
    return Registry(found, enums), f"n::T{len(found) - 1}"


def values(registry: Registry, name: str) -> st.SearchStrategy[dict[str, Any]]:
    """Values of a type."""
    return st.fixed_dictionaries({f.name: value_of(registry, f) for f in registry.schema(name).visible_fields()})


def value_of(registry: Registry, field: Field) -> st.SearchStrategy[Any]:
    """Values of a field."""
    plain = _plain(registry, field)
    return st.none() | plain if field.optional else plain


def _plain(registry: Registry, field: Field) -> st.SearchStrategy[Any]:  # noqa: C901 - one case for each type
    match field.type:
        case "float":
            return st.floats(width=32)
        case "double":
            return st.floats()
        case "bool":
            return st.booleans()
        case "string":
            return st.text(max_size=8)
        case "guid":
            return st.uuids(version=4).map(str)
        case "byte_buffer":
            return st.binary(max_size=12)
        case "enum":
            low, high = RANGES[registry.enum(field.object_type or "").enum_class]
            return st.integers(low, high)
        case "object":
            return values(registry, field.object_type or "")
        case "variant":
            return st.sampled_from(field.variants).flatmap(
                lambda pair: st.fixed_dictionaries(
                    {"index": st.just(pair[0]), "type": st.just(pair[1]), "value": values(registry, pair[1])}
                )
            )
        case "arraylist":
            assert field.value is not None
            return st.lists(value_of(registry, field.value), max_size=12)
        case "array":
            assert field.value is not None
            return st.lists(value_of(registry, field.value), min_size=field.array_size, max_size=field.array_size)
        case "dictionary":
            return _dictionaries(registry, field)
    low, high = RANGES[field.type]
    return st.integers(low, high)


def _dictionaries(registry: Registry, field: Field) -> st.SearchStrategy[Any]:
    assert field.key is not None
    assert field.value is not None
    key, value = value_of(registry, field.key), value_of(registry, field.value)
    if field.key.type == "string":
        return st.dictionaries(key, value, max_size=4)
    return st.lists(st.tuples(key, value), max_size=4)


def same(first: Any, second: Any) -> bool:
    """Equality where NaN equals NaN, signed zeros differ, and tuples are lists."""
    if isinstance(first, float) and isinstance(second, float):
        if math.isnan(first) or math.isnan(second):
            return math.isnan(first) and math.isnan(second)
        return first == second and math.copysign(1, first) == math.copysign(1, second)
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(same(first[k], second[k]) for k in first)
    if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)):
        return len(first) == len(second) and all(same(a, b) for a, b in zip(first, second, strict=True))
    return type(first) is type(second) and bool(first == second)
