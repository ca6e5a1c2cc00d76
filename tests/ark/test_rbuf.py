"""rbuf: registries, values, evolution, IDL, and everything that hostile bytes may try."""

from __future__ import annotations

import json
import math
import sys
import time
from array import array
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.errors import ExhumeError, LimitExceededError, Span, WriterError
from exhume.formats.ark.jsonform import from_json
from exhume.formats.ark.rbuf.decoder import decoder_for
from exhume.formats.ark.rbuf.encoder import encoder_for
from exhume.formats.ark.rbuf.idl import load_registry, parse_idl
from exhume.formats.ark.rbuf.registry import EnumType, Field, Group, Registry, Schema
from exhume.formats.ark.rbuf.wire import Note
from exhume.io.jsonout import dumps
from tests.ark.rbuf_strategies import registries, same, values


@given(registries(), st.data())
@settings(max_examples=60)
@pytest.mark.slow
def test_values_come_back(made: tuple[Registry, str], data: st.DataObject) -> None:
    registry, name = made
    value = data.draw(values(registry, name))
    raw = encoder_for(registry, name).encode(value)
    if not raw:  # a final type without fields
        assert registry.schema(name).final
        return
    notes: list[Note] = []
    assert same(decoder_for(registry, name).decode(raw, notes=notes), value)
    assert [note for note in notes if note.rule.code != "ARK-314"] == []
    # The same through JSON text of the registry, and through the JSON form of the value.
    again = Registry.from_json(registry.to_json())
    assert again == registry
    assert same(decoder_for(again, name).decode(raw), value)
    back = from_json(registry, name, json.loads(dumps(value)))
    assert encoder_for(registry, name).encode(back) == raw or _has_nan(value)
    closure = registry.closure(name)
    assert same(decoder_for(closure, name).decode(raw), value)


def _has_nan(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_nan(item) for item in value.values())
    if isinstance(value, (list, tuple)):
        return any(_has_nan(item) for item in value)
    return isinstance(value, float) and math.isnan(value)


@given(registries(), st.data())
@settings(max_examples=35)
@pytest.mark.slow
def test_damage_never_escapes(made: tuple[Registry, str], data: st.DataObject) -> None:
    registry, name = made
    raw = bytearray(encoder_for(registry, name).encode(data.draw(values(registry, name))))
    for _ in range(data.draw(st.integers(1, 4))):
        if raw:
            raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(raw)))
    for attempt in (bytes(raw), bytes(raw[:cut]), bytes(raw) + b"\xd1"):
        try:
            decoder_for(registry, name).decode(attempt, span=Span("x", 100, 100 + len(attempt)))
        except ExhumeError as error:
            assert error.code.startswith("ARK-")
            assert error.span is not None
            assert 100 <= error.span.start <= 100 + len(attempt)


@given(registries(), registries(), st.data())
@settings(max_examples=35)
@pytest.mark.slow
def test_groups_evolve(old: tuple[Registry, str], new: tuple[Registry, str], data: st.DataObject) -> None:
    """A reader that knows fewer groups skips them; one that knows more returns their defaults."""
    registry, name = old
    schema = registry.schema(name)
    if schema.final:
        return
    extra = [f._replace(name=f"new_{f.name}") for f in new[0].schema(new[1]).fields]
    number = next(n for n in range(256) if n not in {g.identifier for g in schema.groups})
    newer_schema = schema._replace(groups=(*schema.groups, Group(number, tuple(extra))))
    others = {f"x::{key}": value for key, value in _renamed(new[0]).items()}
    newer_schema = newer_schema._replace(groups=(*schema.groups, Group(number, tuple(_prefixed(f) for f in extra))))
    enums = {**registry.enums, **{f"x::{key}": enum._replace(name=f"x::{key}") for key, enum in new[0].enums.items()}}
    newer = Registry({**registry.schemas, **others, name: newer_schema}, enums)
    value = data.draw(values(newer, name))
    raw = encoder_for(newer, name).encode(value)
    known = {f.name for f in schema.visible_fields()}
    notes: list[Note] = []
    assert same(decoder_for(registry, name).decode(raw, notes=notes), {k: v for k, v in value.items() if k in known})
    assert "ARK-307" in [note.rule.code for note in notes]
    older_value = {k: v for k, v in value.items() if k in known}
    older_raw = encoder_for(registry, name).encode(older_value)
    found = decoder_for(newer, name).decode(older_raw)
    assert same({k: v for k, v in found.items() if k in known}, older_value)
    assert found.keys() == value.keys()


def _prefixed(field: Field) -> Field:
    """A field whose types are those of the other registry, under their new names."""
    return field._replace(
        object_type=f"x::{field.object_type}" if field.object_type else None,
        key=_prefixed(field.key) if field.key else None,
        value=_prefixed(field.value) if field.value else None,
        variants=tuple((index, f"x::{name}") for index, name in field.variants),
    )


def _renamed(registry: Registry) -> dict[str, Schema]:
    return {
        key: schema._replace(
            name=f"x::{key}",
            fields=tuple(_prefixed(f) for f in schema.fields),
            groups=tuple(Group(g.identifier, tuple(_prefixed(f) for f in g.fields)) for g in schema.groups),
        )
        for key, schema in registry.schemas.items()
    }


ALL_TYPES = """
namespace demo::all;
// A comment, and an include that is not followed.
include "other.rbuf";
const uint32 answer = 42;
enum Mode : uint8 { Idle = 0, Manual, Auto = 7, Fault }
bitmask Flags : uint16 { Left = 1, Right = 2, Both = 3 }
[[final]] schema Point { double x; double y; }
schema Shape { string name; arraylist<Point> outline; }
schema Everything {
    uint8 a; uint16 b; uint32 c; uint64 d; int8 e; int16 f; int32 g; int64 h; float i; double j; bool k;
    string l; guid m; byte_buffer n; duration o; steady_time_point p; system_time_point q;
    Mode mode; demo::all::Flags flags;
    arraylist<uint16> numbers; array<float, 3> fixed; dictionary<string, arraylist<Point>> marks;
    dictionary<uint8, string> labels; variant<Point, 4: Shape> shape;
    [[optional]] string note; [[removed]] string gone; [[removed, optional]] uint32 also_gone;
    const uint32 version = 3; const string unit = "m/s";
    [[packed_timespec]] system_time_point stamp;
    /* groups came later */
    group 0 { arraylist<Everything> children; }
    group 3 { [[optional]] Everything twin; int32 late; }
};
"""


def everything() -> dict[str, Any]:
    return {
        "a": 1, "b": 2, "c": 3, "d": 2**64 - 1, "e": -1, "f": -2, "g": -3, "h": -(2**63), "i": 0.5, "j": -0.0,
        "k": True, "l": "größe", "m": "00112233-4455-6677-8899-aabbccddeeff", "n": b"\x00\xff", "o": -5, "p": 6, "q": 7,
        "mode": 8, "flags": 3, "numbers": list(range(20)), "fixed": [1.0, 2.0, 3.0],
        "marks": {"m": [{"x": 1.0, "y": 2.0}]}, "labels": [(1, "one"), (0, "zero")],
        "shape": {"index": 4, "type": "demo::all::Shape", "value": {"name": "s", "outline": []}},
        "note": None, "stamp": b"12345678", "children": [], "twin": None, "late": -1,
    }  # fmt: skip


def test_idl_yields_a_registry() -> None:
    registry = parse_idl(ALL_TYPES)
    name = "demo::all::Everything"
    schema = registry.schema(name)
    assert schema.constants() == {"version": 3, "unit": "m/s"}
    assert registry.enum("demo::all::Mode").values == {"Idle": 0, "Manual": 1, "Auto": 7, "Fault": 8}
    assert registry.enum("demo::all::Flags").bitmask
    assert registry.schema("demo::all::Point").final
    assert [g.identifier for g in schema.groups] == [0, 3]
    value = everything() | {"children": [everything()], "twin": everything()}
    raw = encoder_for(registry, name).encode(value)
    assert same(decoder_for(registry, name).decode(raw), value)
    assert load_registry(registry.to_json()) == registry
    assert load_registry(json.loads(registry.to_json())) == registry
    assert load_registry(ALL_TYPES.encode()) == registry


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("schema A { uint8 x }", "line 1"),
        ("schema A { nothing x; }", "no such type"),
        ("schema A { uint8 x; uint8 x; }", "two fields"),
        ("schema A {} schema A {}", "defined twice"),
        ("schema A { array<uint8, x> y; }", "something else"),
        ("schema A { [[strange]] uint8 y; }", "not an attribute"),
        ("schema A { group 300 { } }", "group numbers"),
        ("enum E : float { A }", "not an integer type"),
        ("schema A { variant<A, 0: A> v; }", "unique"),
        ("what is this", "not a declaration"),
        ("schema A {", "unexpected end"),
        ("schema A { uint8 \u00e9; }", "unexpected character"),
        ("schema A { " + "arraylist<" * 50 + "uint8" + ">" * 50 + " x; }", "too deeply"),
        ("schema B {} schema A { const B x = 1; }", "simple types"),
    ],
)
def test_idl_errors_name_the_line(text: str, words: str) -> None:
    with pytest.raises(WriterError, match=words):
        parse_idl(text)


def test_enum_labels() -> None:
    mode = EnumType("M", "uint8", False, {"Idle": 0, "Auto": 2})
    flags = EnumType("F", "uint8", True, {"Left": 1, "Right": 2, "None": 0})
    assert (mode.label(2), mode.label(3)) == ("Auto", None)
    assert (flags.label(3), flags.label(0), flags.label(4)) == ("Left | Right", "None", None)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("nonsense", "not JSON"),
        ("[1]", "not an object"),
        ('{"schemas": 1}', "not a list"),
        ('{"schemas": [{"fields": []}]}', "no usable name"),
        ('{"schemas": [{"name": "A", "fields": [{"type": "uint8"}]}]}', "without a name"),
        ('{"schemas": [{"name": "A", "fields": [{"name": "x", "type": "strange"}]}]}', "unknown type"),
        ('{"schemas": [{"name": "A", "fields": [{"name": "x", "type": "object"}]}]}', "object_type"),
        ('{"schemas": [{"name": "A", "fields": [{"name": "x", "type": "arraylist"}]}]}', "not an object"),
        ('{"schemas": [{"name": "A", "fields": [{"name": "x", "type": "array", "array_size": -1}]}]}', "array_size"),
        ('{"schemas": [{"name": "A", "groups": [{"identifier": 256, "fields": []}]}]}', "identifier"),
        ('{"schemas": [{"name": "A", "groups": [{"identifier": 1}, {"identifier": 1}]}]}', "two groups"),
        ('{"schemas": [{"name": "A"}, {"name": "A", "attributes": {"final": true}}]}', "two schemas"),
        ('{"enums": [{"name": "E", "enum_class": "float"}]}', "enum_class"),
        ('{"enums": [{"name": "E", "enum_class": "uint8", "values": {"A": "x"}}]}', "not integers"),
        (
            '{"schemas": [{"name": "A", "fields": [{"name": "x", "type": "bool"}, {"name": "x", "type": "bool"}]}]}',
            "two fields",
        ),
        (
            '{"schemas": [{"name": "A", "fields": [{"name": "x", "type": "variant", "variant_types": [1]}]}]}',
            "no pairs",
        ),
        ("[" * 100_000, "JSON"),
        (b"\xff", "UTF-8"),
    ],
)
def test_registry_errors(document: Any, words: str) -> None:
    with pytest.raises(ExhumeError, match=words) as caught:
        Registry.from_json(document)
    assert caught.value.code == "ARK-410"


def test_registry_is_tolerant_where_it_may_be() -> None:
    registry = Registry.from_json(
        json.dumps(
            {
                "schemas": [
                    {
                        "name": "::a::T",
                        "fields": [
                            {"name": "x", "type": "object", "object_type": "::U", "more": 1},
                            {"name": "y", "type": "uint8", "attributes": ["optional", "unknown"]},
                        ],
                        "source_location": {"filename": "f", "line_number": 1},
                    },
                    {"name": "U", "fields": None, "attributes": {"final": True}},
                ],
                "unknown": True,
            }
        )
    )
    assert decoder_for(registry, "::a::T").decode(b"\xd1\0") == {"x": {}, "y": None}


def fail(registry: Registry, name: str, raw: bytes) -> ExhumeError:
    with pytest.raises(ExhumeError) as caught:
        decoder_for(registry, name).decode(raw, span=Span("m", 10, 10 + len(raw)))
    return caught.value


REG = parse_idl(
    """schema S { string s; } schema L { arraylist<uint32> l; } schema B { byte_buffer b; } schema E { }
    schema G { group 1 { uint8 x; uint16 y; } } schema V { variant<E, 1: S> v; } [[final]] schema Z { }
    schema D { dictionary<string, uint8> d; } schema A { arraylist<Z> z; } schema R { arraylist<R> r; }
    schema AA { arraylist<array<Z, 4000000000>> z; } schema T { uint32 a; string s; }"""
)


HOSTILE: list[tuple[str, bytes, str, int]] = [
    ("S", b"", "ARK-301", 0),
    ("S", b"\xd1\1\0\0", "ARK-301", 1),
    ("S", b"\xd1\2\0\0\0a", "ARK-309", 1),
    ("S", b"\xd1\1\0\0\0\xff", "ARK-310", 5),
    ("S", b"\xd2\0\0\0\0", "ARK-302", 0),
    ("S", b"\x00", "ARK-302", 0),
    ("S", b"\xd1\0\0\0\0\0", "ARK-413", 5),
    ("L", b"\xd1\xff\xff\xff\xff\0\0\0\0", "ARK-309", 1),
    ("B", b"\xd1\xff\xff\xff\x7f", "ARK-309", 1),
    ("D", b"\xd1\xff\xff\xff\xff", "ARK-309", 1),
    ("G", b"\xd5", "ARK-301", 1),
    ("G", b"\xd5\xd1\1\0\0\0\0", "ARK-304", 1),
    ("G", b"\xd5\xe0\1\xff\0\0\0\1", "ARK-305", 3),
    ("G", b"\xd5\xe4\1\3\0\0\0\1\2\0\xe0\1\3\0\0\0\1\2\0", "ARK-308", 11),
    ("G", b"\xd5\xe0\1\2\0\0\0\1\2", "ARK-301", 8),
    ("V", b"\xd1\0\2\0\0\0\xd1\0", "ARK-312", 2),
    ("V", b"\xd1\0\xff\0\0\0\xd1", "ARK-312", 2),
    ("A", b"\xd1\xff\xff\xff\xff", "ARK-502", 1),
    ("AA", b"\xd1\1\0\0\0", "ARK-502", 5),
    ("R", b"\xd1\1\0\0\0" * 300, "ARK-501", 500),
]


@pytest.mark.parametrize(("name", "raw", "code", "start"), HOSTILE)
def test_hostile_bytes(name: str, raw: bytes, code: str, start: int) -> None:
    error = fail(REG, name, raw)
    assert error.code == code
    assert error.span is not None
    assert error.span.start == 10 + start


@pytest.mark.parametrize("name", ["S", "L"])
def test_a_long_string_is_read_as_a_short_one(name: str) -> None:
    registry = parse_idl("schema S { string s; } schema L { arraylist<string> s; }")
    text = "aé" * (1 << 20)
    raw = encoder_for(registry, name).encode({"s": text if name == "S" else ["b", text, "c"]})
    assert decoder_for(registry, name).decode(raw) == {"s": text if name == "S" else ["b", text, "c"]}
    errors = [fail(registry, name, raw[:-40] + b"\xff" + raw[-39:]), fail(registry, name, raw[:-40])]
    assert [error.code for error in errors] == ["ARK-310", "ARK-309"]
    assert errors[0].span is not None
    assert 10 + len(raw) - 40 - errors[0].span.start in (0, 1)  # the byte, or the character that it breaks


def test_field_path_names_the_place() -> None:
    registry = parse_idl("schema In { string s; } schema Out { arraylist<In> items; dictionary<string, In> map; }")
    error = fail(registry, "Out", b"\xd1\2\0\0\0\xd1\0\0\0\0\xd1\1\0\0\0\xff")
    assert error.field_path == "Out.items[1].s"
    error = fail(registry, "Out", b"\xd1\0\0\0\0\1\0\0\0\1\0\0\0k\xd1\1\0\0\0\xff")
    assert error.field_path == "Out.map[0].s"


TOLERATED: list[tuple[str, bytes, dict[str, Any], str | None]] = [
    ("G", b"\xd1", {"x": 0, "y": 0}, None),
    ("G", b"\xd5\xe0\1\0\0\0\0", {"x": 0, "y": 0}, "ARK-306"),
    ("G", b"\xd5\xe0\1\1\0\0\0\7", {"x": 7, "y": 0}, "ARK-306"),
    ("G", b"\xd5\xe0\1\4\0\0\0\7\1\0\xff", {"x": 7, "y": 1}, "ARK-306"),
    ("G", b"\xd5\xe4\5\2\0\0\0\xff\xff\xe0\1\3\0\0\0\7\1\0", {"x": 7, "y": 1}, "ARK-307"),
    ("G", b"\xd9\xe0\1\3\0\0\0\7\1\0", {"x": 7, "y": 1}, "ARK-303"),
    ("G", b"\xdd\xe0\1\3\0\0\0\7\1\0", {"x": 7, "y": 1}, "ARK-303"),
    ("V", b"\xd1\5\2\0\0\0\xab\xcd", {"v": {"index": 5, "type": None, "raw": b"\xab\xcd"}}, "ARK-311"),
    ("D", b"\xd1\2\0\0\0\1\0\0\0a\1\1\0\0\0a\2", {"d": {"a": 2}}, "ARK-314"),
]


@pytest.mark.parametrize(("name", "raw", "value", "code"), TOLERATED)
def test_what_is_tolerated_is_noted(name: str, raw: bytes, value: dict[str, Any], code: str | None) -> None:
    notes: list[Note] = []
    assert decoder_for(REG, name).decode(raw, notes=notes) == value
    assert [note.rule.code for note in notes] == ([code] if code else [])
    assert decoder_for(REG, name).decode(raw) == value


def test_registries_that_explode_are_refused() -> None:
    start = time.process_time()
    chain = {
        f"T{i}": Schema(
            f"T{i}", (Field("a", "object", object_type=f"T{i + 1}"), Field("b", "object", object_type=f"T{i + 1}"))
        )
        for i in range(40)
    }
    chain["T40"] = Schema("T40", (), (Group(0, (Field("x", "uint8"),)),))
    wide = Registry(chain, {})
    with pytest.raises(ExhumeError):
        decoder_for(wide, "T0").decode(b"\xd1" * 50)
    lazy = Registry({**chain, "Top": Schema("Top", (), (Group(0, (Field("t", "object", object_type="T0"),)),))}, {})
    with pytest.raises(LimitExceededError) as caught:
        decoder_for(lazy, "Top").decode(b"\xd1")
    assert caught.value.code == "ARK-502"
    deep = {f"D{i}": Schema(f"D{i}", (Field("a", "object", object_type=f"D{i + 1}"),)) for i in range(5000)}
    deep["D5000"] = Schema("D5000", ())
    with pytest.raises(ExhumeError) as caught_deep:
        decoder_for(Registry(deep, {}), "D0")
    assert caught_deep.value.code == "ARK-501"
    itself = Registry({"I": Schema("I", (Field("i", "object", object_type="I"),), final=True)}, {})
    with pytest.raises(ExhumeError):
        decoder_for(itself, "I").decode(b"\xd1")
    missing = Registry({"M": Schema("M", (Field("m", "object", object_type="Nowhere"),))}, {})
    with pytest.raises(ExhumeError) as caught_missing:
        decoder_for(missing, "M")
    assert caught_missing.value.code == "ARK-411"
    assert time.process_time() - start < 20
    assert sys.getrecursionlimit() <= 10_000


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("S", {}),
        ("S", {"s": 1}),
        ("S", {"s": "\ud800"}),
        ("S", {"s": "x", "t": 1}),
        ("S", ["s"]),
        ("L", {"l": [1, -1]}),
        ("L", {"l": [1, 2, 3, 2**32]}),
        ("L", {"l": "text"}),
        ("L", {"l": 5}),
        ("B", {"b": "text"}),
        ("D", {"d": 5}),
        ("D", {"d": [1]}),
        ("D", {"d": {"k": 256}}),
        ("V", {"v": None}),
        ("V", {"v": {"type": "nothing"}}),
        ("V", {"v": {"index": 9}}),
        ("T", {"a": 1}),
        ("T", {"a": "1", "s": ""}),
    ],
)
def test_encoder_refuses(name: str, value: Any) -> None:
    with pytest.raises(WriterError) as caught:
        encoder_for(REG, name).encode(value)
    assert caught.value.field_path is not None
    assert caught.value.field_path.startswith(name)


def test_variants_by_type_name_and_unknown_ones_survive() -> None:
    raw = encoder_for(REG, "V").encode({"v": {"type": "S", "value": {"s": "x"}}})
    assert decoder_for(REG, "V").decode(raw)["v"]["index"] == 1
    unknown = {"v": {"index": 7, "type": None, "raw": b"\xd1\xd1"}}
    assert decoder_for(REG, "V").decode(encoder_for(REG, "V").encode(unknown)) == unknown


def test_bytes_may_be_views_of_any_shape() -> None:
    encoder = encoder_for(parse_idl("namespace t; schema B { byte_buffer b; uint8 after; }"), "t::B")
    wide = array("H", [1, 2])
    for view, stored in ((memoryview(wide), wide.tobytes()), (memoryview(b"abcd")[::2], b"ac")):
        assert encoder.encode({"b": view, "after": 7}) == encoder.encode({"b": stored, "after": 7})
    variant = encoder_for(REG, "V")
    raw = memoryview(b"abcd")[::2]
    assert variant.encode({"v": {"index": 9, "raw": raw}}) == variant.encode({"v": {"index": 9, "raw": b"ac"}})
