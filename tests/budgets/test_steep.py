"""Archives whose cost grew with the square of a count, or with a window for each hit: bounded by counting work."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import exhume
from exhume.engines.carve import join
from exhume.errors import Span
from exhume.formats.caf.verify import clashes
from exhume.recovery import CarvedArchive, CarveVerdict

NAMES = st.lists(
    st.lists(st.sampled_from(["a", "b", "a!", "~", "\x01", "é"]), min_size=1, max_size=4).map("/".join), unique=True
)


@given(NAMES)
def test_clashes_are_those_of_all_prefixes(names: list[str]) -> None:
    ordinals = {name: ordinal for ordinal, name in enumerate(names)}
    first: dict[str, int] = {}
    for ordinal, name in enumerate(names):
        parts = name.split("/")
        for depth in range(len(parts) - 1, 0, -1):
            first.setdefault("/".join(parts[:depth]), ordinal)
    wanted = [(inner, ordinals[folder]) for folder, inner in first.items() if folder in ordinals]
    assert clashes([(name, ordinal) for ordinal, name in enumerate(names)]) == wanted


SPANS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 8), st.booleans(), st.sampled_from("ab")), max_size=12)


@given(SPANS)
@example([(0, 6, False, "a"), (4, 2, False, "a"), (4, 2, False, "b")])
@example([(0, 6, False, "a"), (4, 2, False, "a"), (4, 2, False, "b"), (4, 2, False, "c"), (5, 1, False, "a")])
def test_nesting_is_that_of_all_pairs(spans: list[tuple[int, int, bool, str]]) -> None:
    finds = [
        CarvedArchive(name, Span("x", at, at + size), CarveVerdict.DAMAGED if bad else CarveVerdict.COMPLETE, 0.5)
        for at, size, bad, name in spans
    ]
    found = list(join(finds))
    open_ones: list[tuple[int, CarvedArchive]] = []
    nested = []
    for number, one in enumerate(found):
        open_ones = [(i, c) for i, c in open_ones if c.end > one.offset and c.verdict is not CarveVerdict.DAMAGED]
        around = [i for i, c in open_ones if c.end >= one.end and (c.offset, c.end) != (one.offset, one.end)]
        nested.append(around[-1] if around else None)
        open_ones.append((number, one))
    assert [one.nested_in for one in found] == nested


def calls(work: Callable[[], Any]) -> int:
    """The calls of Python and C functions that some work takes."""
    count = 0

    def one(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(one)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


HEADS = [
    b'{"format_version":',
    b'{"format_version":[',
    b'{"format_version":"1.0",',
    b'{"format_version":"1.0","files":{',
    b'{"format_version":"1.0","files":{"a":{"start_byte":0,"end_byte":1},',
    b'{"format_version":"1.0","files":{"a":{"start_byte":0,"end_byte":999999999}},',
    b'{"format_version":"1.0","files":{"a":{"start_byte":0,"end_byte":1},"b":{"x":',
    b'{"format_version":"1.0","x":' * 6 + b"[" + b"1," * 5000,
]


@pytest.mark.parametrize("unit", HEADS, ids=range(len(HEADS)))
def test_heads_of_an_index_cost_what_they_are(unit: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    from exhume.io.source import BytesSource

    read = 0
    real = BytesSource.read_at

    def read_at(self: BytesSource, offset: int, size: int) -> bytes:
        nonlocal read
        read += size
        return real(self, offset, size)

    monkeypatch.setattr(BytesSource, "read_at", read_at)
    image = unit * (100_000 // len(unit))
    list(exhume.carve(image, only=["caf"]))
    hits = image.count(b'"format_version"')
    assert read < 20 * len(image) + hits * 5000


def caf(path: Path, names: list[str]) -> Path:
    files = ",".join(f'{json.dumps(name)}:{{"start_byte":0,"end_byte":0}}' for name in names)
    index = f'{{"format_version":"1.0","files":{{{files}}}}}'.encode()
    path.write_bytes(index + len(index).to_bytes(4, "little"))
    return path


def test_names_of_many_components(tmp_path: Path) -> None:
    import tracemalloc

    path = caf(tmp_path / "deep.caf", [f"{number}/" + "a/" * 1990 + "z" for number in range(40)])
    tracemalloc.start()
    try:
        assert not [one for one in exhume.verify(path) if one.is_problem]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20 * path.stat().st_size


def test_columns_of_many_schemas(tmp_path: Path) -> None:
    """Batches of records that all have other keys: work for the values, and little for each cell."""
    pytest.importorskip("pyarrow", reason="the extra arrow (pyarrow) is not installed")
    counts = []
    for number in (200, 400, 800):
        lines = "".join(json.dumps({f"k{key}": key, f"s{key}": str(key)}) + "\n" for key in range(number))
        (tmp_path / "lines.jsonl").write_text(lines)
        path = tmp_path / f"{number}.clps"
        with exhume.create(path, "clp-s") as writer:
            for line in lines.splitlines():
                writer.write_json_line(line)
        with exhume.open(path) as archive:
            counts.append(calls(lambda: [batch.num_rows for batch in archive.to_arrow()]))
    assert max(after / before for before, after in pairwise(counts)) < 2.4, counts
