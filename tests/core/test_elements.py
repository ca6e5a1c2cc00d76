"""Arrays that are passed over have the fields that Kaitai's own loops give them, and cost what is shown of them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from exhume_ksy.debug._stream import BytesIO, KaitaiStream

import exhume
from exhume.engines.explain import Selection
from exhume.errors import Span
from exhume.layout import elements, kaitai, schema, tracing
from exhume.layout.elements import Elements
from exhume.layout.schema import Explainer
from exhume.layout.trees import field_to_dict
from tests.sizes import THOROUGH

MANY = 200


def tokens() -> bytes:
    """Tokens of a KV-IR stream: a repetition until a condition holds."""
    return b"".join(b"\x51" + bytes([number % 128]) + b"\x41\x03abc" for number in range(MANY)) + b"\0"


def fragments() -> bytes:
    """A LevelDB log of 71 blocks: elements of a size of their own, with a parameter."""
    one = struct.pack("<IHB", 0, 8185, 1) + b"x" * 8185
    return one * 4 * 70 + one * 3


def columns() -> bytes:
    """Numbers of one width, counted: the ids of the columns of a timestamp range of a clp-s archive."""
    ids = struct.pack(f"<Q{MANY}i", MANY, *range(MANY))
    return struct.pack("<Q1s", 1, b"t") + ids + struct.pack("<Bqq", 1, 5, 6)


def entries() -> bytes:
    """Rows of an Ark split: structures to the end of the stream."""
    return b"".join(struct.pack("<HQQ", number % 7, number, number * 3) for number in range(MANY))


SHAPES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "until": ("clp_kv_ir::units", tokens),
    "sized": ("leveldb_log", fragments),
    "numbers": ("clp_s_metadata::timestamp_range", columns),
    "rows": ("ark_split::entry_list", entries),
}


def tree(name: str, data: bytes, **options: Any) -> dict[str, Any]:
    explainer = Explainer(Span("x", 0, len(data)), **options)
    return field_to_dict(explainer.explain(name, data))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("cut", "whole"),
    [
        pytest.param(cut, whole, id=f"{name}-{'all' if whole else 'first'}")
        for number, (cut, name) in enumerate([(0, "whole"), (1, "cut by 1"), (5, "cut by 5")])
        for whole in (True, False)
        if THOROUGH or not number or (number == 1) == whole
    ],
)
def test_the_fields_are_those_of_the_loops(shape: str, cut: int, whole: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    name, make = SHAPES[shape]
    data = make()
    data = data[: len(data) - cut]
    window = (0, len(data)) if whole else None
    found = tree(name, data, window=window)
    monkeypatch.setattr(schema, "passing", lambda **_: nullcontext())
    assert found == tree(name, data, window=window)


@pytest.mark.parametrize("shape", SHAPES)
def test_damage_in_an_element_stops_where_the_loops_stop(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, make = SHAPES[shape]
    data = bytearray(make())
    for at in range(len(data) - len(data) // 4, len(data) - len(data) // 4 + 20):
        data[at] = 0xFF
    window = (0, len(data))
    found = tree(name, bytes(data), window=window)
    monkeypatch.setattr(schema, "passing", lambda **_: nullcontext())
    assert found == tree(name, bytes(data), window=window)


def test_elements_are_parsed_when_they_are_looked_at() -> None:
    data = tokens()
    with elements.passing():
        made = elements.debug_class("clp_kv_ir::units")(KaitaiStream(BytesIO(data)))
        made._read()
    found = made.tokens
    assert isinstance(found, Elements)
    assert len(found) == 2 * MANY + 1
    assert found[-1].tag == 0
    assert [one.tag for one in found[2:4]] == [0x51, 0x41]
    for _ in range(2):  # parsed once more after others have taken their places
        assert [one.number1 for one in found if one.tag == 0x51] == [number % 128 for number in range(MANY)]
    assert found.places[301]["start"] == 150 * 7 + 2
    assert found.places.touching(150 * 7 + 2, 150 * 7 + 8) == range(301, 303)
    assert list(found.places.touching(10**6, 10**6 + 1)) == []


def test_a_range_has_the_elements_that_touch_it_and_their_neighbors() -> None:
    data = tokens()
    found = tree("clp_kv_ir::units", data, window=(150 * 7 + 2, 150 * 7 + 3))
    (array,) = found["children"]
    assert [child["name"] for child in array["children"]] == ["[300]", "[301]", "[302]"]
    assert array["omitted"] == 2 * MANY + 1 - 3
    numbers = tree("clp_s_metadata::timestamp_range", columns(), window=(17 + 4 * 100, 17 + 4 * 100 + 4))
    ids = next(child for child in numbers["children"] if child["name"] == "column_ids")
    assert [child["name"] for child in ids["children"]] == ["[99]", "[100]", "[101]"]


def test_a_byte_is_reported_without_the_payload(tmp_path: Path) -> None:
    path = tmp_path / "a.zs"
    with exhume.create(path, "zs") as writer:
        records: Any = writer
        records.add_records(b"%05d" % number for number in range(500))
    at = next(one.section.span.start for one in exhume.explain(path) if one.section.name == "data-0") + 9
    (found,) = exhume.explain(path, selection=Selection(start=at, end=at + 1, payloads=False))
    assert found.stored is not None
    assert found.payload is None
    (found,) = exhume.explain(path, selection=Selection(start=at, end=at + 1))
    assert found.payload is not None
    assert found.payload.children[0].omitted > 0


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("cut", "starts"),
    [
        pytest.param(cut, starts, id=f"{name}-{kept}")
        for number, (cut, name) in enumerate([(0, "whole"), (1, "cut by 1"), (5, "cut by 5")])
        for starts, kept in [(1 << 17, "all starts"), (4, "few starts")]
        if THOROUGH or not number or (number == 1) == (starts == 4)
    ],
)
def test_fields_are_the_same_in_windows(shape: str, cut: int, starts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    name, make = SHAPES[shape]
    data = make()
    data = data[: len(data) - cut]
    found = tree(name, data, window=(0, len(data)))
    monkeypatch.setattr(tracing, "STARTS", starts)
    monkeypatch.setattr(elements, "WINDOW", 100)
    monkeypatch.setattr(elements, "MARGIN", 20)
    monkeypatch.setattr(kaitai, "WINDOW", 100)
    monkeypatch.setattr(kaitai, "HELD", 1000)
    region = kaitai.Region(len(data), lambda at, size: data[at : at + min(size, 60)])
    explainer = Explainer(Span("x", 0, len(data)), window=(0, len(data)))
    assert field_to_dict(explainer.explain(name, region)) == found
    region.seek(0)
    explainer = Explainer(Span("x", 0, len(data)), window=(0, len(data)), lazily=True)
    begun = field_to_dict(explainer.explain(name, region))
    if shape == "numbers":
        assert begun == found
        return
    last, known = begun["children"][-1], found["children"][-1]
    reported, expected = (bool(one.get("note") or array.get("note")) for one, array in ((begun, last), (found, known)))
    assert (reported, begun["children"][:-1]) == (expected, found["children"][:-1])
    assert (last["value"], last["children"]) == (known["value"], known["children"])


def test_an_array_at_the_end_is_found_as_far_as_it_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elements, "STEP", 1)
    data, reads = tokens(), list[int]()

    def read(at: int, size: int) -> bytes:
        reads.append(at)
        return data[at : at + size]

    monkeypatch.setattr(kaitai, "WINDOW", 100)
    monkeypatch.setattr(elements, "MARGIN", 20)
    explainer = Explainer(Span("x", 0, len(data)), lazily=True)
    array = explainer.explain("clp_kv_ir::units", kaitai.Region(len(data), read)).children[0]
    assert (array.value, array.unread, array.omitted) == ("more than 129 elements", True, 129 - schema.ARRAY_SHOWN)
    assert max(reads) < 600


def test_a_large_value_is_not_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kaitai, "HELD", 64)
    monkeypatch.setattr(kaitai, "FIRST", 8)
    region = kaitai.Region(1000, lambda at, size: bytes(range(at % 251, at % 251 + min(size, 4))))
    value = region.read()
    assert (len(value), bytes(value[:3]), region.tell()) == (1000, b"\0\1\2", 1000)
    opened = BytesIO(value)
    assert (opened.seek(0, 2), opened.seek(4), opened.read(2), opened.tell()) == (1000, 4, b"\4\5", 6)
