"""Events, sources, columns, subsets of rows, completeness, several archives."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import EntryNotFoundError
from exhume.formats.clp_s.layout import NodeType
from exhume.formats.clp_s.read import template
from exhume.formats.clp_s.read.dataset import Dataset, _file_order
from exhume.formats.clp_s.read.records import RecordWithOrigin
from exhume.formats.clp_s.reader import ClpSArchive, open_archive
from exhume.io.local import FileSource
from exhume.io.source import BytesSource
from tests.clp_s import build
from tests.clp_s.build import Built, clp, demo, i64, marker, tiny, u64
from tests.real import RealSamples
from tests.sizes import some


def opened(built: Built) -> ClpSArchive:
    return open_archive(BytesSource(built.build()))


def text(archive: Any, **options: Any) -> bytes:
    return b"".join(archive.json_chunks(**options))


def test_lines_chunks_and_jobs_agree() -> None:
    archive = opened(demo())
    assert text(archive) == build.DEMO_TEXT
    assert b"".join(archive.json_lines()) == build.DEMO_TEXT
    assert text(archive, jobs=3) == build.DEMO_TEXT
    lines = build.DEMO_TEXT.splitlines(keepends=True)
    assert text(archive, ordered=True) == lines[0] + lines[2] + lines[1]
    assert text(archive, ordered=True, jobs=2) == lines[0] + lines[2] + lines[1]
    assert b"".join(archive.json_lines(ordered=True)) == lines[0] + lines[2] + lines[1]


def test_events_are_the_text_as_objects() -> None:
    events = list(opened(demo()).events())
    assert events == [json.loads(line) for line in build.DEMO_TEXT.splitlines()]
    assert list(opened(demo()).events(ordered=True)) == [events[0], events[2], events[1]]


def test_events_do_not_share_containers() -> None:
    first, second, _ = opened(demo()).events()
    first["list"].append(1)
    first["o"]["new"] = 1
    first["arr"].append(2)
    assert second["list"] == [8, {"k": "plain"}, {}, [False], []]
    assert second["o"] == {"e": None}


def test_events_with_source() -> None:
    found = list(opened(demo()).events(with_source=True))
    assert all(isinstance(item, RecordWithOrigin) for item in found)
    assert [(item.log_event_idx, (item.properties or {}).get("_filename")) for item in found] == [
        (0, "a.jsonl"),
        (2, "b.jsonl"),
        (1, "a.jsonl"),
    ]
    uncovered = demo(range_index=[{"s": 1, "e": 2, "f": {"x": 1}}, {"s": 2, "e": 2, "f": {}}])
    assert [item.properties for item in opened(uncovered).events(with_source=True)] == [None, None, {"x": 1}]
    assert [item[1:] for item in opened(tiny()).events(with_source=True)] == [(None, None)] * 2


def test_nouns() -> None:
    archive = opened(demo(extra_packets=[(9, b"future")]))
    assert [packet.name for packet in archive.packets][-2:] == ["range_index", "type 9"]
    assert archive.packets[-1].body == b"future"
    assert [entry.name for entry in archive.files][-1] == "/0"
    assert archive.timestamp_ranges[0].key == b"ts"
    assert archive.range_index[1].properties["_filename"] == "b.jsonl"
    assert archive.schema_tree.path_text(17) == "list..k"
    assert archive.schema_tree.find("o.e") == [13]
    assert sorted(archive.schemas) == [0, 7]
    assert [table.num_messages for table in archive.tables] == [2, 1]
    assert list(archive.variables)[:2] == [b"a1", b"plain"]
    assert archive.log_types[1] == b"no variables"
    assert archive.array_types[1] == b"[]"
    info = archive.info().to_dict()
    assert info["version"] == "0.5.1"
    assert info["records"] == 3
    assert info["timestamp_ranges"][0]["begin_utc"] == "2023-11-14T22:13:20.500Z"
    assert info["ingestion_units"][0]["_filename"] == "a.jsonl"
    assert info["problems"] == []


def test_columns_without_records() -> None:
    archive = opened(demo())
    table = archive.tables[0]
    assert list(table.column("n").values) == [-5, 6]
    assert list(table.column("ts").values) == [1_700_000_000_500_000_000, 1_700_000_001_000_000_000]
    assert table.column("name").strings() == [b"plain", b'q"uote\\']
    assert table.column("msg").strings() == [b'took 3.14 ms for a1 "-7"', b"no variables"]
    assert table.column("ts").objects() == ["2023-11-14T22:13:20.500Z", 1700000001]
    assert table.column("ok").objects() == [True, False]
    assert table.column("big").objects() == [1.2345678901234567890123, 12e3]
    assert table.column(8).to_numpy().tolist() == [2.5, 1e-7]
    assert table.column("n").to_numpy().dtype.str == "<i8"
    assert [(t.index, c.type) for t, c in archive.columns("name")] == [
        (0, NodeType.VAR_STRING),
        (1, NodeType.VAR_STRING),
    ]
    assert list(archive.columns("nothing")) == []
    with pytest.raises(EntryNotFoundError):
        table.column("nothing")


def test_any_rows_and_a_projection() -> None:
    data = opened(demo()).tables[0].load()
    lines = build.DEMO_TEXT.splitlines(keepends=True)
    assert data.renderer().lines([1, 0, 1]) == [lines[1], lines[0], lines[1]]
    assert data.renderer().lines([]) == []
    tree = data.tree
    nodes = {*tree.find("n"), *tree.find("o.e"), *tree.find("list")}
    assert data.renderer(nodes=nodes).lines([0]) == [b'{"n":-5,"o":{"e":null},"list":[7,{"k":"a1"},{},[true],[]]}\n']
    assert data.renderer(nodes=()).lines([0]) == [b"{}\n"]
    assert b"".join(data.renderer().chunks(1, 2)) == lines[1]
    assert list(data.renderer().chunks(max_size=1)) == lines[:2]
    with pytest.raises(IndexError):
        data.renderer().lines([2])


ROOT_ARRAYS = Built(
    nodes=[(-1, b"", 9), (0, b"", 0), (-1, b"", 6), (-1, b"@", 5), (3, b"auto", 0), (-1, b"", 5), (5, b"@", 0)],
    schemas=[(0, [], [marker(9, 2), 1, 1]), (1, [2], []), (2, [4, 6], []), (3, [5], [])],
    streams=[
        [(0, 1, i64(1, 2)), (1, 1, clp([(0, 0)], [5])), (2, 1, i64(7, 8)), (3, 1, b"")],
    ],
    array_types=[b"[\x11, 2]"],
)


def test_what_upstream_hides_is_in_events_and_complete_text() -> None:
    archive = opened(ROOT_ARRAYS)
    assert text(archive) == b'{}\n{}\n{"@":8}\n{}\n'
    assert text(archive, complete=True) == b'[1,2]\n[5, 2]\n{"@":8,"@@":{"auto":7}}\n{}\n'
    assert list(archive.events()) == [[1, 2], [5, 2], {"@": 8, "@@": {"auto": 7}}, {}]


def test_empty_keys_of_containers_in_arrays() -> None:
    """Upstream leaves the key out, which is not JSON: `[{"":{"q":1}}]` is printed as `[{{"q":1}}]`."""
    built = tiny(
        nodes=[(-1, b"", 5), (0, b"l", 9), (1, b"", 5), (2, b"", 5), (3, b"q", 0)],
        schemas=[(0, [], [marker(9, 2), marker(5, 1), 4])],
        streams=[[(0, 1, i64(1))]],
    )
    assert text(opened(built)) == b'{"l":[{{"q":1}}]}\n'
    assert text(opened(built), complete=True) == b'{"l":[{"":{"q":1}}]}\n'
    assert list(opened(built).events()) == [{"l": [{"": {"q": 1}}]}]


def test_a_thousand_levels() -> None:
    depth = 3000
    nodes = [(-1, b"", 5), *((i, b"k", 5) for i in range(depth)), (depth, b"leaf", 0)]
    built = tiny(nodes=nodes, schemas=[(0, [depth + 1], [])], streams=[[(0, 1, i64(1))]])
    assert text(opened(built)) == b"{" + b'"k":{' * depth + b'"leaf":1' + b"}" * (depth + 1) + b"\n"
    event = next(opened(built).events())
    for _ in range(depth):
        event = event["k"]
    assert event == {"leaf": 1}


def test_templates_can_be_made_any_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound on work counts once per schema, not once per use."""
    monkeypatch.setattr(template, "MAX_STEPS", 200)
    nodes = [(-1, b"", 5), *((i, b"k", 5) for i in range(100)), (100, b"leaf", 0)]
    layout = opened(tiny(nodes=nodes, schemas=[(0, [101], [])])).tables[0].layout
    for _ in range(10):
        assert len(layout.tokens()) == 203


def run_of(creator: str, filename: str, split: int, seconds: list[int]) -> ClpSArchive:
    epochs = [second * 10**9 for second in seconds]
    deltas = [epochs[0], *(b - a for a, b in itertools.pairwise(epochs))]
    count = len(seconds)
    built = Built(
        nodes=[(-1, b"", 10), (0, b"log_event_idx", 11), (-1, b"", 5), (2, b"ts", 14)],
        schemas=[(0, [1, 3], [])],
        streams=[[(0, count, i64(0, *[1] * (count - 1)) + i64(*deltas) + u64(*[0] * count))]],
        patterns=[(0, rb"\E")],
        ranges=[(b"ts", [3], 1, min(seconds) * 1000, max(seconds) * 1000)],
        range_index=[
            {
                "s": 0,
                "e": count,
                "f": {"_archive_creator_id": creator, "_file_split_number": split, "_filename": filename},
            }
        ],
    )
    return opened(built)


def test_several_archives_are_merged() -> None:
    def shown(archives: list[ClpSArchive], **options: Any) -> list[int]:
        merged = Dataset(archives)
        chunks = b"".join(merged.json_chunks(**options)).splitlines()
        assert b"".join(merged.json_lines(**options)).splitlines() == chunks
        assert list(merged.events(ordered=options.get("ordered", False))) == [json.loads(line) for line in chunks]
        return [json.loads(line)["ts"] for line in chunks]

    one = run_of("one", "a", 0, [10, 30, 50])
    two = run_of("two", "b", 0, [20, 40])
    late = run_of("three", "c", 0, [90, 80])
    assert shown([late, one, two]) == [90, 80, 10, 30, 50, 20, 40]
    assert shown([late, one, two], ordered=True) == [10, 20, 30, 40, 50, 90, 80]
    # Splits of one run keep the order of the run, whatever their times are.
    first, second = run_of("one", "a", 0, [10, 30]), run_of("one", "a", 1, [20])
    assert shown([second, first], ordered=True) == [10, 30, 20]


def test_splits_in_any_order(real_samples: RealSamples) -> None:
    """Archives of one run are put back in its order: the second holds the end of one file and the start of the next."""
    for case in some(real_samples.glob("clp_s/*/multi-input-split")):
        paths = sorted(case.glob("*.clps"))
        for order in itertools.permutations(paths):
            archives = [open_archive(FileSource(path)) for path in order]
            shown = b"".join(Dataset(archives).json_chunks(ordered=True))
            assert shown == (case / "expected.ordered.jsonl").read_bytes()


def test_file_order_survives_contradictions() -> None:
    assert _file_order([["b", "c"], ["a", "b"]]) == ["a", "b", "c"]
    assert _file_order([["b", "a"], ["a", "b"]]) == ["b", "a"]
    assert _file_order([]) == []


def test_opening_by_the_library(tmp_path: Path) -> None:
    path = tmp_path / "demo.clps"
    path.write_bytes(demo().build())
    with exhume.open(path) as archive:
        assert archive.format == "clp-s"
        assert isinstance(archive, ClpSArchive)
        assert archive.read_section("/var.dict").startswith(u64(2) + b"a1")
        assert archive.read_section("table-1") == bytes(archive.tables[1].load().data)
        assert archive.read_section("stream-0") == archive.read_section("table-0")


def test_carving() -> None:
    whole = demo().build()
    image = bytes(100) + b"\xfd\x2f\xc5\x30" + bytes(80) + whole + bytes(50) + whole[:-10]
    found = list(exhume.carve(image, only=["clp-s"]))
    assert [(c.offset, c.length, str(c.verdict)) for c in found] == [
        (184, len(whole), "complete"),
        (184 + len(whole) + 50, len(whole) - 10, "partial"),
    ]
    damaged = whole[:-3] + b"\xff\xff\xff"
    assert [str(c.verdict) for c in exhume.carve(damaged, only=["clp-s"])] == ["damaged"]
