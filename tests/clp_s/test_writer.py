"""The writer: options, units, splits, refusals, atomicity, inputs; and the command line over it."""

from __future__ import annotations

import gzip
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

import exhume
from exhume.errors import CodecError, OutputExistsError, SourceError, TruncatedError, WriterError
from exhume.formats.clp_s.layout import NodeType
from exhume.formats.clp_s.reader import ClpSArchive, open_archive
from exhume.formats.clp_s.write.assemble import largest_first, plan_streams
from exhume.formats.clp_s.write.inputs import BadRecordError
from exhume.formats.clp_s.write.options import VERSIONS, WriterOptions, parse_key_path
from exhume.formats.clp_s.writer import ClpSWriter, create
from exhume.io.local import FileSource

RECORDS: list[dict[str, Any]] = [
    {"ts": "2024-01-02T03:04:05.678Z", "msg": "took 3.14 ms id=a1", "n": 7, "arr": [1, "x y"], "o": {"e": None}},
    {"ts": "2024-01-02T03:04:06.000Z", "msg": "took 0.50 ms id=b2", "n": -1, "f": 2.5, "t": True, "empty": {}},
    {"msg": "no time", "deep": {"a": {"b": {"c": "d"}}}, "list": [{"k": [1, {"z": []}]}, None]},
]


def lines(records: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def read(path: Path) -> ClpSArchive:
    return open_archive(FileSource(path))


def events(path: Path) -> list[Any]:
    with read(path) as archive:
        assert [str(finding) for finding in archive.verify()] == []
        return list(archive.events(ordered=True))


def write(path: Path, records: list[dict[str, Any]], **options: Any) -> ClpSWriter:
    with create(path, **options) as writer:
        for record in records:
            writer.write(record)
    return writer


@pytest.mark.parametrize("structurize", [False, True])
@pytest.mark.parametrize("version", list(VERSIONS))
def test_python_records_come_back(tmp_path: Path, version: str, structurize: bool) -> None:
    target = tmp_path / "x.clps"
    with exhume.create(target, "clp-s", version=version, timestamp_key="ts", structurize_arrays=structurize) as writer:
        assert isinstance(writer, ClpSWriter)
        for record in RECORDS:
            writer.write(record)
    assert writer.records == len(RECORDS)
    assert events(target) == RECORDS
    with read(target) as archive:
        assert archive.header.version == VERSIONS[version]
        types = set(archive.schema_tree.types)
        assert (NodeType.TIMESTAMP in types) == (version >= "0.5")
        assert (NodeType.DATE_STRING in types) == (version < "0.5")
        assert (NodeType.FORMATTED_FLOAT in types) == (version >= "0.4.1")
        assert (NodeType.STRUCTURED_ARRAY in types) == structurize
        (span,) = archive.timestamp_ranges
        assert (span.key, span.begin, span.end) == (b"ts", 1704164645678, 1704164646000)


def test_json_lines_and_dicts_yield_the_same_archive(tmp_path: Path) -> None:
    write(tmp_path / "a", RECORDS, creator_id="me")
    with create(tmp_path / "b", creator_id="me") as writer:
        for line in lines(RECORDS).replace(b", ", b",").replace(b": ", b":").splitlines():
            writer.write_json_line(line)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_key_paths() -> None:
    assert parse_key_path("a.b") == (b"a", b"b")
    assert parse_key_path(r"a.t\.x") == (b"a", b"t.x")
    assert parse_key_path(r"\@timestamp") == (b"@timestamp",)
    assert parse_key_path(r"t.\$date") == (b"t", b"$date")
    assert parse_key_path(r"\u00e9\n") == ("é\n".encode(),)
    assert parse_key_path("@a.b") == (b"a", b"b")
    for bad in ("", "a..b", ".a", "a.", "@@a", "@", "$a", "a*", "a\\", r"\ud800"):
        with pytest.raises(WriterError):
            parse_key_path(bad)


def test_nested_escaped_timestamp_key(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [{"a": {"t.x": 1_700_000_000_123}, "t": {"x": 5}}, {"a": {"t": {"x": "no"}}}]
    write(tmp_path / "x", records, timestamp_key=r"a.t\.x")
    assert events(tmp_path / "x") == records
    with read(tmp_path / "x") as archive:
        assert [r.begin for r in archive.timestamp_ranges] == [1_700_000_000_123]
        assert list(archive.schema_tree.types).count(NodeType.TIMESTAMP) == 1


@pytest.mark.parametrize(
    "options",
    [
        {"version": "0.2.0"},
        {"level": 0},
        {"level": 20},
        {"target_encoded_size": 0},
        {"jobs": -1},
        {"on_error": "ignore"},
        {"timestamp_key": ""},
        {"properties": {"_mine": 1}},
        {"properties": {"x": {1, 2}}},
        {"properties": {"x": float("nan")}},
        {"properties": {"x": 1 << 70}},
        {"properties": {"x": 1}, "log_order": False},
    ],
)
def test_options_that_make_no_sense(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(WriterError):
        create(tmp_path / "x", **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"a":}', "not valid JSON"),
        (b'{"a":1,}', "not valid JSON"),
        (b'{"a":01}', "malformed number"),
        (b'{"a":1.}', "malformed number"),
        (b'{"a":nan}', "not valid JSON"),
        (b'{"a":"\x01"}', "control character"),
        (b'{"a":"\\x"}', "unknown escape"),
        (b'{"a":"\xff"}', "not valid UTF-8"),
        (b'{"a":"\xed\xa0\x80"}', "not valid UTF-8"),
        (b'{"a":["\xc0\x80"]}', "not valid UTF-8"),
        (b'{"a":"\\ud800"}', "half of a surrogate pair"),
        (b'{"\\udc00":1}', "half of a surrogate pair"),
        (b"[1]", "not a JSON object"),
        (b"42", "not a JSON object"),
        (b'"text"', "not a JSON object"),
        (b'{"a":18446744073709551615}', "does not fit 64 bits"),
        (b'{"a":-9223372036854775809}', "does not fit 64 bits"),
        (b'{"a":1e400}', "does not fit a double"),
        (b'{"a":1,"a":2}', "the same key twice"),
        (b'{"a":1,"a":"x"}', "the same key twice"),
        (b'{"a":{"b":1,"c":{},"b":null}}', "the same key twice"),
        (b'{"a":{"b":1}', "truncated"),
        (b'{"a":"b', "truncated|control character"),
        (b'{"a":' + b'{"a":' * 10_001, "nested deeper"),
        (b'{"t":"yesterday"}', "timestamp"),
        (b'{"t":-0}', "timestamp"),
        (b'{"t":9999999999999}', "timestamp"),
    ],
)
def test_bad_records_are_refused_with_line_and_reason(tmp_path: Path, line: bytes, reason: str) -> None:
    source = tmp_path / "in.jsonl"
    source.write_bytes(b'{"a":1}\n\n' + line + b"\n")
    with pytest.raises(BadRecordError, match=reason) as caught, create(tmp_path / "x", timestamp_key="t") as writer:
        writer.add_files([source])
    assert (caught.value.line, caught.value.name) == (3, str(source))
    assert caught.value.span is not None
    assert caught.value.span.start == 9
    with pytest.raises(BadRecordError, match=reason), create(tmp_path / "x", timestamp_key="t") as writer:
        writer.write({"a": 1})
        writer.write_json_line(line)
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_a_line_is_one_document(tmp_path: Path) -> None:
    with create(tmp_path / "x", on_error="skip") as writer:
        for line in (b'{"a":1}{"a":2}', b'{"a":3} x', b"", b"  ", b' {"a":4}\r\n', '{"é":5}'):
            writer.write_json_line(line)
    assert writer.skipped == 4
    assert events(tmp_path / "x") == [{"a": 4}, {"é": 5}]


@pytest.mark.parametrize("event", [[1], "x", {"a": {1, 2}}, {"a": float("nan")}, {"a": 1 << 64}, {"a": "\ud800"}])
def test_bad_python_records(tmp_path: Path, event: Any) -> None:
    with pytest.raises(BadRecordError), create(tmp_path / "x") as writer:
        writer.write(event)
    with create(tmp_path / "x", on_error="skip") as writer:
        writer.write({"good": 1})
        writer.write(event)
        writer.write({"good": 2})
    assert writer.skipped == 1
    assert events(tmp_path / "x") == [{"good": 1}, {"good": 2}]


def test_skipping_continues_after_the_bad_line(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    good = [{"i": number} for number in range(5)]
    rows = lines(good).splitlines(keepends=True)
    dup = b'{\n"new": 1,\n"deep": {"x": 1, "x": 2}\n} '
    source.write_bytes(
        rows[0] + b'{"a":\n' + rows[1] + b"\xff\n" + rows[2] + b'"x" {"lost":1}\n' + dup + rows[3] + b"{\n" + rows[4]
    )
    seen: list[tuple[int, str]] = []
    with create(tmp_path / "x", on_error="skip") as writer:
        writer.on_bad_record = lambda error: seen.append((error.line, error.reason))
        writer.add_files([source])
    assert events(tmp_path / "x") == good
    assert [line for line, _ in seen] == [2, 4, 6, 7, 11]
    assert writer.skipped == 5
    assert sum(writer.reasons.values()) == 5
    with read(tmp_path / "x") as archive:  # a rejected record adds no key
        assert {bytes(key) for key in archive.schema_tree.keys} == {b"", b"log_event_idx", b"i"}
        assert archive.header.original_size == source.stat().st_size


def test_what_is_lost_is_counted(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_bytes(
        b'{"a":18446744073709551615}\n{"b":"\\ud800"}\n[1,2]\n{"t":"soon"}\n{"t":"1600-01-01T00:00:00Z"}\n{"c":1,"c":"x"}\n'
    )
    with create(tmp_path / "x", allow_loss=True, timestamp_key="t") as writer:
        writer.add_files([source])
    assert writer.losses == 6
    with read(tmp_path / "x") as archive:
        printed = b"".join(archive.json_chunks(ordered=True)).splitlines()
    assert printed[:3] == [b'{"a":-1}', b'{"b":"\xef\xbf\xbd"}', b"{}"]
    assert printed[3] == b'{"t":"soon"}'
    assert printed[5] == b'{"c":1,"c":"x"}'


@pytest.mark.parametrize("log_order", [True, False])
def test_of_two_simple_values_of_one_key_the_last_is_kept(tmp_path: Path, log_order: bool) -> None:
    with create(tmp_path / "x", allow_loss=True, log_order=log_order) as writer:
        writer.write_json_line(b'{"a":1,"n":null,"b":"u","a":2,"b":"x y","n":null,"b":"v"}')
        writer.write_json_line(b'{"a":{"x":18446744073709551615,"z":[]},"a":{"x":1}}')
    assert writer.losses == 6
    with read(tmp_path / "x") as archive:
        assert list(archive.verify()) == []
        found = sorted(b"".join(archive.json_chunks()).splitlines())
    assert found == [b'{"a":2,"n":null,"b":"v","b":"x y"}', b'{"a":{"x":1,"z":[]}}']


@pytest.mark.parametrize(
    "text", ["[1,2]", '{"a":1,"a":2}', '{"a":1,"a":"x"}', '{"a":{"x":1},"a":{"y":1}}', '{"b":[{"k":1,"k":"x"}]}']
)
def test_a_record_that_comes_back_otherwise_ends_with_3(
    text: str, tmp_path: Path, exhume_cli: Callable[..., Any]
) -> None:
    source, options = tmp_path / "in.jsonl", ["--allow-loss", "--structurize-arrays"]
    source.write_text(text + "\n")
    assert exhume_cli("create", "clp-s", *options, source, "-o", tmp_path / "x").code == 3
    source.write_text('{"a":1,"b":{"a":1}}\n')
    assert exhume_cli("create", "clp-s", *options, source, "-o", tmp_path / "y").code == 0


def test_units_and_properties(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(lines(RECORDS[:2]))
    (tmp_path / "empty").write_bytes(b"\n")
    (tmp_path / "b").write_bytes(lines(RECORDS[2:]))
    with create(tmp_path / "x", properties={"team": "core", "n": [1, {"b": None}]}, creator_id="it is me") as writer:
        writer.add_files([tmp_path / name for name in ("a", "empty", "b")])
        writer.unit("more", {"team": "other"})
        writer.write({"z": 1})
    with read(tmp_path / "x") as archive:
        units = archive.range_index
        assert [(u.start, u.end, Path(u.properties["_filename"]).name) for u in units] == [
            (0, 2, "a"), (2, 2, "empty"), (2, 3, "b"), (3, 4, "more"),
        ]  # fmt: skip
        assert [u.properties["team"] for u in units] == ["core", "core", "core", "other"]
        assert {u.properties["_archive_creator_id"] for u in units} == {"it is me"}
        assert {u.properties["_file_split_number"] for u in units} == {0}
        assert archive.header.original_size == sum(
            len(data) for data in (lines(RECORDS[:2]), b"\n", lines(RECORDS[2:]), b'{"z":1}')
        )


def test_without_log_order(tmp_path: Path) -> None:
    for version, indexed in (("0.3.1", True), ("0.5.1", False)):
        write(tmp_path / version, RECORDS, log_order=False, version=version)
        with read(tmp_path / version) as archive:
            assert bool(archive.range_index) == indexed
            assert archive.schema_tree.log_event_idx is None
            assert sorted(map(str, archive.events())) == sorted(map(str, RECORDS))


def test_nothing_but_empty_records_needs_log_order(tmp_path: Path) -> None:
    with pytest.raises(WriterError, match="log order"):
        write(tmp_path / "x", [{}, {"a": None}], log_order=False)
    assert not list(tmp_path.iterdir())
    write(tmp_path / "x", [{}, {"a": None}])
    assert events(tmp_path / "x") == [{}, {"a": None}]
    # With other records they share a stream, so that none is empty.
    write(tmp_path / "y", [{}, {"a": None}, {"b": "x" * 9}], log_order=False, min_table_size=1)
    with read(tmp_path / "y") as archive:
        assert archive.table_metadata.streams[-1].size > 0


def test_splits(tmp_path: Path) -> None:
    records = [{"i": number, "text": f"record number {number} of many"} for number in range(500)]
    (tmp_path / "a.jsonl").write_bytes(lines(records[:300]))
    (tmp_path / "b.jsonl").write_bytes(lines(records[300:]))
    with create(tmp_path / "x.clps", target_encoded_size=4000) as writer:
        writer.add_files([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])
    assert [path.name for path in writer.paths[:3]] == ["x.clps", "x.1.clps", "x.2.clps"]
    assert len(writer.paths) > 4
    found: list[Any] = []
    splits: dict[str, list[int]] = {}
    total = 0
    for path in writer.paths:
        found += events(path)
        with read(path) as archive:
            total += archive.header.original_size
            assert archive.range_index[0].start == 0
            for unit in archive.range_index:
                name = Path(unit.properties["_filename"]).name
                splits.setdefault(name, []).append(unit.properties["_file_split_number"])
                assert unit.end > unit.start
    assert found == records
    assert all(numbers == list(range(len(numbers))) for numbers in splits.values())
    # What is between the last record and the end of input belongs to no archive.
    assert total == len(lines(records))
    by_line = write(tmp_path / "y.clps", records, target_encoded_size=4000)
    assert [len(events(path)) for path in by_line.paths] == [len(events(path)) for path in writer.paths]


def test_many_splits_leave_nothing_when_they_fail(tmp_path: Path) -> None:
    with pytest.raises(BadRecordError), create(tmp_path / "x.clps", target_encoded_size=1) as writer:
        for number in range(130):
            writer.write({"i": number})
        writer.write({"i": 1 << 64})
    assert list(tmp_path.iterdir()) == []
    writer = write(tmp_path / "x.clps", [{"i": number} for number in range(130)], target_encoded_size=1)
    assert len(writer.paths) == 130
    assert all(events(path) == [{"i": number}] for number, path in enumerate(writer.paths))


def test_nothing_appears_before_the_end(tmp_path: Path) -> None:
    target = tmp_path / "x.clps"
    with create(target) as writer:
        writer.write({"a": 1})
        assert not target.exists()
    assert target.exists()
    before = target.read_bytes()
    with pytest.raises(OutputExistsError):
        create(target)
    with pytest.raises(RuntimeError, match="mine"), create(target, overwrite=True) as writer:
        writer.write({"a": 2})
        raise RuntimeError("mine")
    assert target.read_bytes() == before
    assert list(tmp_path.iterdir()) == [target]
    with pytest.raises(WriterError, match="aborted"):
        writer.write({})
    writer.abort()
    with pytest.raises(WriterError, match="aborted"):
        writer.finish()


def test_without_records(tmp_path: Path) -> None:
    with create(tmp_path / "x"):
        pass
    with read(tmp_path / "x") as archive:
        assert list(archive.events()) == []
        assert [finding for finding in archive.verify() if finding.severity == "error"] == []


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_compressed_inputs(tmp_path: Path, jobs: int) -> None:
    text = lines(RECORDS * 50)
    half = len(text) // 2
    packed = {
        "plain": text,
        "gz": gzip.compress(text[:half]) + gzip.compress(text[half:]),
        "zst": zstandard.compress(text[:half]) + zstandard.compress(text[half:]),
        "none": b"",
        "short": b"{}",
    }
    for name, data in packed.items():
        (tmp_path / name).write_bytes(data)
    target = tmp_path / "x"
    with create(target, jobs=jobs, creator_id="me") as writer:
        writer.add_files([tmp_path / name for name in packed])
        writer.add_file(io.BytesIO(gzip.compress(b'{"last":1}')), name="object")
    assert events(target) == RECORDS * 150 + [{}, {"last": 1}]
    with create(tmp_path / "y", creator_id="me") as writer:
        writer.add_files([tmp_path / name for name in packed])
        writer.add_file(io.BytesIO(gzip.compress(b'{"last":1}')), name="object")
    assert (tmp_path / "y").read_bytes() == target.read_bytes()


@pytest.mark.parametrize("jobs", [1, 2])
def test_damaged_inputs(tmp_path: Path, jobs: int) -> None:
    packed = zstandard.ZstdCompressor(write_checksum=True).compress(lines(RECORDS * 9))
    for data, kind in (
        (gzip.compress(lines(RECORDS))[:-9], CodecError),
        (packed[:40] + b"\xff\xff" + packed[42:], CodecError),
        (packed[:-20], CodecError),
        (packed[:10], CodecError),
        (packed + packed[:-1], CodecError),
    ):
        (tmp_path / "in").write_bytes(data)
        with pytest.raises(kind), create(tmp_path / "x", jobs=jobs) as writer:
            writer.add_files([tmp_path / "in"])
    with pytest.raises(SourceError), create(tmp_path / "x", jobs=jobs) as writer:
        writer.add_files([tmp_path / "in.missing", tmp_path / "in"])
    with pytest.raises(TruncatedError, match="KVIR-301"), create(tmp_path / "x", jobs=jobs) as writer:
        (tmp_path / "in").write_bytes(b"\xfd\x2f\xb5\x30\x01")
        writer.add_files([tmp_path / "in"])
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_pieces_may_end_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    text = (
        '{"a":"é\\n\\ud83d\\ude00\\\\","b":[1,[2,"]"]],"c":-1.5e3,"d":true}\r\n{"d":false,"e":null,"f":{}}{"a":"x y"} '
    )
    (tmp_path / "in").write_text(text * 3, encoding="utf-8", newline="")
    monkeypatch.setattr("exhume.formats.clp_s.write.inputs.PIECE", size)
    with create(tmp_path / "x", creator_id="me", max_document_size=80) as writer:
        writer.add_files([tmp_path / "in"])
    monkeypatch.undo()
    with create(tmp_path / "y", creator_id="me") as writer:
        writer.add_files([tmp_path / "in"])
    assert (tmp_path / "x").read_bytes() == (tmp_path / "y").read_bytes()
    assert len(events(tmp_path / "x")) == 9
    monkeypatch.setattr("exhume.formats.clp_s.write.inputs.PIECE", size)
    with create(tmp_path / "z", max_document_size=40, on_error="skip") as writer:
        writer.add_files([tmp_path / "in"])
    assert writer.skipped == 3


def test_records_larger_than_allowed(tmp_path: Path) -> None:
    with create(tmp_path / "x", max_document_size=20, on_error="skip") as writer:
        writer.write({"a": "x" * 30})
        writer.write({"a": "x"})
    assert writer.skipped == 1
    assert events(tmp_path / "x") == [{"a": "x"}]


class _Counted(io.BytesIO):
    """A file that counts the bytes that are read from it."""

    taken = 0

    def read(self, size: int | None = -1, /) -> bytes:
        found = super().read(size)
        self.taken += len(found)
        return found


@pytest.mark.parametrize("begin", [b'{"a":"', b"2026-01-01 00:00:01.000 INFO "], ids=["JSON", "text"])
def test_a_record_above_the_limit_is_refused_when_that_much_was_read(tmp_path: Path, begin: bytes) -> None:
    file = _Counted(begin + b"x" * (20 << 20))
    with (
        pytest.raises(BadRecordError, match="too large or never ends"),
        create(tmp_path / "x", max_document_size=5 << 20) as writer,
    ):
        writer.add_file(file, name="x")
    assert file.taken < 7 << 20


def test_the_name_of_an_input_that_is_not_utf8_is_kept(tmp_path: Path) -> None:
    """Its bytes are stored, as clp-s stores them."""
    source, name = tmp_path / "in.jsonl", os.fsdecode(b"in\xff.jsonl")
    source.write_bytes(b'{"a":1}\n')
    with create(tmp_path / "x") as writer, source.open("rb") as file:
        writer.add_file(file, name=name)
    with read(tmp_path / "x") as archive:
        assert [part.properties["_filename"] for part in archive.range_index] == [name]
        assert [one.code for one in archive.verify()] == ["CLPS-414"]


def test_streams() -> None:
    assert plan_streams([], 10) == []
    assert plan_streams([5, 50, 7, 0], 10) == [([1], 50), ([2, 0, 3], 12)]
    assert plan_streams([0, 0], 10) == [([0, 1], 0)]
    assert plan_streams([3, 11, 0], 10) == [([1], 11), ([0, 2], 3)]


@pytest.mark.parametrize("count", [0, 1, 2, 16, 17, 43, 300])
def test_table_order_is_by_size(count: int) -> None:
    sizes = [(number * 7919) % 13 for number in range(count)]
    ordered = largest_first(sizes)
    assert sorted(ordered) == list(range(count))
    assert [sizes[number] for number in ordered] == sorted(sizes, reverse=True)
    if count <= 16:
        assert ordered == sorted(range(count), key=lambda number: -sizes[number])


@pytest.mark.parametrize("count", [17, 18, 19, 33, 64, 100, 301])
def test_tables_of_equal_size_are_in_the_order_of_an_introsort(count: int) -> None:
    numbers = list(range(count))
    assert largest_first([16] * count) == _introsort(numbers)


def _introsort(numbers: list[int]) -> list[int]:
    """Numbers of equal rank, as a quicksort down to 16 items leaves them: it exchanges all that are equal."""
    ranges = [(0, len(numbers))]
    while ranges:
        first, last = ranges.pop()
        while last - first > 16:
            middle = first + (last - first) // 2
            numbers[first], numbers[middle] = numbers[middle], numbers[first]
            low, high = first + 1, last - 1
            while low < high:
                numbers[low], numbers[high] = numbers[high], numbers[low]
                low, high = low + 1, high - 1
            ranges.append((low, last))
            last = low
    return numbers


def test_options_are_what_create_takes() -> None:
    assert WriterOptions().version == "0.5.1"
    assert WriterOptions().creator_id is None
    assert len(WriterOptions().new_creator_id()) == 36


# --- command line ----------------------------------------------------------------------------------------------------


def test_command_line(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    source, target = tmp_path / "in.jsonl", tmp_path / "x.clps"
    source.write_bytes(lines(RECORDS))
    ran = exhume_cli("create", "clp-s", source, "-o", target, "--timestamp-key", "ts", "--property", "team=core")
    assert (ran.code, ran.out) == (0, b"")
    assert "3 records in 1 archive" in ran.err
    assert events(target) == RECORDS
    again = exhume_cli("create", "clp-s", source, "-o", target)
    assert again.code == 1
    assert "overwrite" in again.err
    ran = exhume_cli(
        *("create", "clp-s", "-", "-o", target, "--overwrite", "--json", "--format-version", "0.3.1", "-j", 2),
        *("--disable-log-order", "--structurize-arrays", "--no-retain-float-format", "--compression-level", 1),
        *("--min-table-size", "1K", "--target-encoded-size", "1M", "--max-document-size", "1M", "--creator-id", "me"),
        *("--property", "n=7"),
        input=gzip.compress(lines(RECORDS)),
    )
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    assert document["schema"] == "exhume.create/1"
    assert (document["version"], document["records"], document["skipped"]) == ("0.3.1", 3, 0)
    with read(target) as archive:
        assert archive.header.version == (0, 3, 1)
        assert archive.range_index[0].properties["n"] == 7
        assert archive.range_index[0].properties["_filename"] == "-"


def test_command_line_states_what_it_left_out(tmp_path: Path, exhume_cli: Callable[..., Any]) -> None:
    source, target = tmp_path / "in.jsonl", tmp_path / "x.clps"
    source.write_bytes(b'{"a":1}\nnonsense\n{"a":18446744073709551615}\n')
    ran = exhume_cli("create", "clp-s", source, "-o", target)
    assert ran.code == 1
    assert "line 2" in ran.err
    assert not target.exists()
    ran = exhume_cli("create", "clp-s", source, "-o", target, "--on-error", "skip")
    assert ran.code == 3
    assert "line 2: not a JSON object" in ran.err
    assert "2 records were skipped" in ran.err
    ran = exhume_cli(
        "create", "clp-s", source, "-o", target, "--on-error", "skip", "--allow-loss", "--overwrite", "--json"
    )
    assert ran.code == 3
    document = json.loads(ran.out)
    assert (document["records"], document["skipped"], document["changed_values"]) == (2, 1, 1)
    assert document["reasons"] == {"not a JSON object": 1}
    assert exhume_cli("create", "clp-s", "-o", target).code == 2
    assert exhume_cli("create", "clp-s", source, "-o", target, "--property", "x").code == 2
    empty = exhume_cli("create", "clp-s", "-", "-o", tmp_path / "e", input=b"")
    assert empty.code == 0
    assert "no records" in empty.err
