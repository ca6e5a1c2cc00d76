"""Exports of tables with more columns than are wanted: rows of maps, with every value in its own type."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import FormatError
from exhume.export import table_files
from exhume.tabular import wide

pa = pytest.importorskip("pyarrow", reason="the extra arrow (pyarrow) is not installed")

EVENTS: list[dict[str, Any]] = [
    {"a": 1, "b": 1.5, "c": True, "d": "x"},
    {"a": "mixed", "e": {"f.g": {"h": -(1 << 63)}, "i": {}}, "j": None},
    {},
    {"k": [1, {"l": "m"}], "n": "\u00e9", "o": False},
]


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wide, "WIDEST", 3)


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    path = tmp_path / "a.clp"
    with exhume.create(path, "kv-ir") as writer:
        lines: Any = writer
        for event in EVENTS:
            lines.write(event)
        lines.write({"own": 1}, auto={"level": "INFO"})
    return path


FLAT = [
    {"a": 1, "b": 1.5, "c": True, "d": "x"},
    {"a": "mixed", r"e.f\.g.h": -(1 << 63)},
    {},
    {"k": '[1, {"l": "m"}]', "n": "\u00e9", "o": False},
    {"own": 1, "@level": "INFO"},
]


TARGETS: dict[str, Any] = {"arrow": table_files.export_arrow, "parquet": table_files.export_parquet}


def merged(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for values in row.values() for key, value in values}


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("target", TARGETS)
def test_rows_are_maps(stream: Path, target: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with exhume.open(stream) as archive:
        report = TARGETS[target](archive, str(out))
    assert report.notes == [wide.NOTE]
    assert report.complete
    if target == "arrow":
        table = pa.ipc.open_stream(out.read_bytes()).read_all()
    else:
        table = pytest.importorskip("pyarrow.parquet").read_table(out)
    assert wide.is_wide(table.schema)
    assert list(map(merged, table.to_pylist())) == FLAT
    assert table.column("integers").to_pylist()[1] == [(r"e.f\.g.h", -(1 << 63))]
    assert table.column("arrays").to_pylist()[3] == [("k", '[1, {"l": "m"}]')]


@pytest.mark.usefixtures("narrow")
def test_json_lines_have_the_keys_of_the_rows(stream: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with exhume.open(stream) as archive:
        report = table_files.export_jsonl(archive, str(out))
    assert report.notes == [wide.NOTE]
    expected = [*FLAT]
    expected[1] = {"a": "mixed", r"e.f\.g.h": str(-(1 << 63))}  # as all integers beyond 2^53
    assert [json.loads(line) for line in out.read_text().splitlines()] == expected


@pytest.mark.usefixtures("narrow")
def test_named_columns_and_csv_stay_columns(stream: Path, tmp_path: Path) -> None:
    with exhume.open(stream) as archive:
        report = table_files.export_csv(archive, str(tmp_path / "out"))
        assert report.notes == []
        assert (tmp_path / "out").read_text().splitlines()[0].count(",") > wide.WIDEST
        report = table_files.export_jsonl(archive, str(tmp_path / "one"), columns=["a"])
        assert report.notes == []
        assert archive.to_arrow().schema.names[0] == "@level"


@pytest.mark.usefixtures("narrow")
def test_rows_before_damage_are_written(stream: Path) -> None:
    data = stream.read_bytes()
    with exhume.kvir.open(data) as archive:
        whole = archive.to_arrow(widest=3, batch_rows=2)
        assert [batch.num_rows for batch in whole] == [2, 2, 1]
    from exhume.formats.kv_ir.stream import Stream
    from exhume.io.source import BytesSource

    plain = b"".join(Stream(BytesSource(data, "a")).pieces())
    with exhume.kvir.open(plain[:-3]) as archive:
        reader = archive.to_arrow(widest=3)
        assert reader.read_next_batch().num_rows == len(FLAT) - 1
        with pytest.raises(FormatError):
            reader.read_next_batch()


def test_large_rows_end_a_batch_and_bad_text_is_counted() -> None:
    from collections import Counter

    lost: Counter[str] = Counter()
    rows: list[list[wide.Pair]] = [
        [("a", "x" * (9 << 20))],
        [("a", "y" * (9 << 20))],
        [("b", "\udc80"), ("c", 1 << 70)],
    ]
    found = list(wide.batches(rows, 100, lost))
    assert [batch.num_rows for batch in found] == [2, 1]
    assert lost.total() == 1
    assert merged(found[1].to_pylist()[0]) == {"b": "\ufffd", "c": str(1 << 70)}
    assert wide.lines_of(found[1].slice(0, 1)) == b'{"b":"\\ufffd","c":"1180591620717411303424"}\n'
    assert wide.lines_of(found[0].slice(1, 1)).startswith(b'{"a":"yyy')
