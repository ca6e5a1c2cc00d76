"""Rows that are unpacked together are those that the reader of one row makes, and fail as it does."""

from __future__ import annotations

import random
import struct
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from exhume.layout.foreign import Specification, compile_ksy
from tests.compiler import specs

POINTS = b"".join(struct.pack("<Bh", number, -number) for number in range(4))
GOOD, BAD = (struct.pack("<h4sxx", 5, text) for text in (b"abcd", b"a\xffcd"))


@cache
def together() -> Specification:
    return compile_ksy(specs.GOLDEN / "packed.ksy")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Specification:
    """The same specification, with a condition that is always met, so that nothing is unpacked together."""
    file = tmp_path_factory.mktemp("alone") / "packed.ksy"
    text = (specs.GOLDEN / "packed.ksy").read_text(encoding="utf-8")
    for field in ("{id: x,", "{id: value, type"):
        assert field in text
        text = text.replace(field, field.replace(",", ", if: 1 == 1,", 1))
    file.write_text(text, encoding="utf-8")
    found = compile_ksy(file)
    assert "fill" not in specs.readers(found)
    return found


def tree(value: Any) -> Any:
    """Everything that is in a structure: fields, streams, and which structures are around it."""
    if isinstance(value, list):
        return [tree(one) for one in value]
    if not hasattr(value, "_fields"):
        return value
    io, parent = value._io, type(value._parent).__name__
    within = [getattr(value, name) for name in value._fields]
    held = [one for part in within for one in (part if isinstance(part, list) else [part]) if hasattr(one, "_parent")]
    assert all(one._parent is value for one in held)
    side = value.side if hasattr(type(value), "side") else None
    return type(value).__name__, (io.base, io.at, io.end), parent, side, [tree(one) for one in within]


def read(specification: Specification, data: bytes | memoryview) -> Any:
    try:
        value, at = specification.module.read_packed(data, 0, len(data))
    except specification.module.LayoutError as error:
        return type(error).__name__, error.path, error.offset, error.stop, str(error.expected)
    assert all(one._root is value for one in value.corners)
    return tree(value), at


@pytest.mark.parametrize(
    ("data", "stated"),
    [
        (b"\2" + POINTS * 2 + GOOD * 3, ""),
        (b"\2" + POINTS * 2, ""),
        (b"\0" + GOOD, ""),
        (b"\2" + POINTS * 2 + GOOD * 2 + BAD + GOOD, "labels[2].text"),
        (b"\2" + POINTS * 2 + BAD, "labels[0].text"),
        (b"\2" + POINTS * 2 + GOOD + GOOD[:7], "labels[1]"),
        (b"\3" + POINTS * 2 + GOOD[:5], "corners[2].points[1].y"),
        (b"\2" + POINTS + POINTS[:9], "corners[1].middle.x"),
        (b"\2", "corners[0].points[0].x"),
    ],
)
def test_rows_are_those_of_the_reader_of_one(alone: Specification, data: bytes, stated: str) -> None:
    found = read(together(), data)
    assert found == read(alone, data)
    assert found == read(together(), memoryview(data))
    assert (stated in found[1]) if stated else isinstance(found[0], tuple)


def test_rows_of_random_bytes_are_those_of_the_reader_of_one(alone: Specification) -> None:
    draw = random.Random(45)
    for _ in range(300):
        count = draw.randrange(4)
        data = bytes([count]) + draw.randbytes(12 * count)
        data += b"".join(draw.choice((GOOD, GOOD, GOOD, BAD, draw.randbytes(8))) for _ in range(draw.randrange(5)))
        data = data[: draw.choice((len(data), draw.randrange(1, len(data) + 1)))]
        assert read(together(), data) == read(alone, data)


def test_rows_are_paid_for(tmp_path: Path) -> None:
    file = tmp_path / "again.ksy"
    fields = "{id: a, type: u1}, {id: b, type: str, size: 3}"
    file.write_text(
        "meta: {id: again, endian: le, encoding: UTF-8}\n"
        "seq: [{id: all, type: view_of_all, repeat: expr, repeat-expr: 3000}]\n"
        "types:\n"
        "  view_of_all: {seq: [], instances: {some: {pos: 0, type: row, repeat: eos}}}\n"
        f"  row: {{seq: [{fields}], instances: {{first: {{pos: 0, type: u1}}}}}}\n",  # so they are not columns
        encoding="utf-8",
    )
    specification = compile_ksy(file)
    assert "fill_row(some, view, at, fits" in specs.readers(specification)
    data = b"abcd" * 1000
    value, _ = specification.module.read_again(data, 0, len(data))
    with pytest.raises(specification.module.LayoutError, match="at most 66000 structures") as caught:
        for one in value.all:
            assert len(one.some) == 1000
    assert caught.value.path.startswith("some[")
