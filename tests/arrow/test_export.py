"""`exhume export --to parquet|arrow|csv|jsonl`: outputs read back, losses are counted."""

from __future__ import annotations

import io
import itertools
import json
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import StructureError, WriterError
from exhume.export import _tables, table_files
from exhume.export._tables import flat_column, json_column
from exhume.formats.zs.head import separated_values
from exhume.io import jsonout
from exhume.tabular import ExportReport
from exhume.testing.damage import flip
from tests.archives import label, own_archives
from tests.arrow.test_tools import one_channel
from tests.clp_s.build import demo, tiny, u64
from tests.conftest import Ran
from tests.leveldb.make_samples import PUT, build_table

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")

Run = Callable[..., Ran]

ARCHIVES = [path for path in own_archives() if path.parent.name != "ark"] + [Path("ark")]


@pytest.fixture(params=ARCHIVES, ids=label)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return one_channel(tmp_path / "log") if request.param == Path("ark") else request.param


def table_of(path: Path, **options: Any) -> Any:
    with exhume.open(path) as archive:
        return archive.to_arrow(**options).read_all()


def plain(table: Any) -> Any:
    """A table with values for dictionaries, which differ from chunk to chunk."""
    types = [(field.name, getattr(field.type, "value_type", field.type)) for field in table.schema]
    keep = [
        field.type if pa.types.is_nested(field.type) else kind
        for field, (_, kind) in zip(table.schema, types, strict=True)
    ]
    return table.cast(pa.schema(list(zip(table.column_names, keep, strict=True)))).combine_chunks()


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_text_of_long_values_is_the_same(
    kind: str, path: Path, exhume_cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = exhume_cli("export", path, "--to", kind)
    monkeypatch.setattr(table_files, "LARGE", 0)
    monkeypatch.setattr(table_files, "LONG", 2)
    monkeypatch.setattr(jsonout, "PIECE", 3)
    ran = exhume_cli("export", path, "--to", kind)
    assert (ran.code, ran.out, ran.err) == (usual.code, usual.out, usual.err)


def test_parquet_and_arrow_read_back_equal(path: Path, tmp_path: Path, exhume_cli: Run) -> None:
    pq: Any = pytest.importorskip("pyarrow.parquet")
    ipc: Any = pa.ipc
    wanted = table_of(path)
    for kind in ("parquet", "arrow"):
        ran = exhume_cli("export", path, "--to", kind, "-o", tmp_path / f"x.{kind}", "--json")
        assert ran.code == 0, ran.err
        document = json.loads(ran.out)
        assert document["written"].get("rows", 0) == wanted.num_rows
        assert document["lost"] == {}
        out = tmp_path / f"x.{kind}"
        found = pq.ParquetFile(out).read() if kind == "parquet" else ipc.open_stream(out.read_bytes()).read_all()
        assert found.schema.equals(wanted.schema)
        assert plain(found).equals(plain(wanted))


def test_jsonl_and_csv_contain_the_same(path: Path, tmp_path: Path, exhume_cli: Run) -> None:
    from pyarrow import csv as pyarrow_csv

    wanted = table_of(path)
    ran = exhume_cli("export", path, "--to", "jsonl")
    assert ran.code == 0, ran.err
    lines = [json.loads(line) for line in ran.out.splitlines()]
    assert len(lines) == wanted.num_rows
    ran = exhume_cli("export", path, "--to", "csv", "-o", tmp_path / "x.csv")
    changed = path.name == "log" or "texts with control characters" in ran.err  # in the names of some samples
    assert ran.code == (3 if changed else 0), ran.err
    if wanted.num_columns > 1 and path.name != "log":
        found = pyarrow_csv.read_csv(
            tmp_path / "x.csv", parse_options=pyarrow_csv.ParseOptions(newlines_in_values=True)
        )
        assert found.num_rows == wanted.num_rows
        assert found.column_names == wanted.column_names


def test_clp_s_json_lines_are_the_native_text(samples: Path, exhume_cli: Run) -> None:
    file = samples / "clp_s/demo.clps"
    assert exhume_cli("export", file, "--to", "jsonl").out == exhume_cli("cat", file).out
    complete = exhume_cli("export", file, "--to", "jsonl", "--complete", "--ordered").out
    assert complete == exhume_cli("cat", file, "--complete", "--ordered").out
    query = exhume_cli("export", file, "--to", "jsonl", "--query", "n > 0", "--columns", "n,name")
    assert query.code == 0
    wanted = exhume_cli("search", file, "n > 0", "--projection", "n", "--projection", "name").out
    assert query.out == wanted != b""
    assert exhume_cli("export", file, "--to", "jsonl", "--query", "n > (").code == 1
    assert exhume_cli("export", file, "--to", "csv", "--ordered").code == 1, "only jsonl can"


def test_columns_and_filters_are_pushed_down(samples: Path, tmp_path: Path, exhume_cli: Run) -> None:
    from pyarrow import parquet as pq

    out = tmp_path / "x.parquet"

    def export(name: str, *options: object) -> Any:
        ran = exhume_cli("export", samples / name, "--to", "parquet", "-o", out, "--overwrite", *options)
        assert ran.code == 0, ran.err
        return pq.read_table(out).to_pylist()

    assert export("clp_s/demo.clps", "--query", "n < 0", "--columns", "n", "--columns", "name") == [
        {"n": -5, "name": "plain"}
    ]
    assert export("zs/words-none.zs", "--prefix", "calm h", "--text") == [{"record": "calm harbour\t0"}]
    assert export("leveldb/small", "--start", "b", "--columns", "key") == [{"key": b"damson"}, {"key": b"elder"}]
    assert export("leveldb/small", "--sequence", 0) == []
    assert len(export("leveldb/small", "--all-versions")) > 3
    digests = export("caf/sorted.caf", "--digest", "sha256", "--columns", "name,digest")
    assert all(row["digest"].startswith("sha256:") for row in digests)


def test_zs_is_split_on_request(samples: Path, exhume_cli: Run, tmp_path: Path) -> None:
    file = samples / "zs/words-none.zs"
    ran = exhume_cli("export", file, "--to", "csv", "--record-format", "word:utf8,count:int", "--prefix", "calm h")
    assert (ran.code, ran.text) == (0, '"word","count"\n"calm harbour",0\n')
    assert exhume_cli("export", file, "--to", "csv", "--split").code == 1, "its record format names no columns"
    with exhume.create(tmp_path / "x.zs", "zs", metadata={"record-format": separated_values({"n": "int"})}) as writer:
        writer.add_records([b"1", b"2", b"x"])
    ran = exhume_cli("export", tmp_path / "x.zs", "--to", "jsonl", "--split")
    assert (ran.code, ran.text) == (3, '{"n":1}\n{"n":2}\n{}\n')
    assert "lost: records that do not fit the record format: 1" in ran.err


def test_bytes_that_are_no_text(tmp_path: Path, exhume_cli: Run) -> None:
    data, _ = build_table([(b"k\xff", 1, PUT, b"v")])
    (tmp_path / "x.ldb").write_bytes(data)
    ran = exhume_cli("export", tmp_path / "x.ldb", "--to", "csv", "--columns", "key,value")
    assert (ran.code, ran.text) == (3, '"key","value"\n"k\ufffd","v"\n')
    assert "lost: texts that are not UTF-8: 1" in ran.err
    ran = exhume_cli("export", tmp_path / "x.ldb", "--to", "jsonl", "--columns", "key,value")
    assert ran.code == 0, "base64 loses nothing"
    assert json.loads(ran.out) == {"key": {"text": "k\ufffd", "base64": "a/8="}, "value": {"text": "v"}}
    ran = exhume_cli("export", tmp_path / "x.ldb", "--to", "parquet", "-o", tmp_path / "x.parquet")
    assert ran.code == 0


def test_texts_of_clp_s_that_are_not_utf8(tmp_path: Path, exhume_cli: Run) -> None:
    built = tiny(
        nodes=[(-1, b"", 5), (0, b"s", 3)], schemas=[(0, [1], [])], streams=[[(0, 1, u64(0))]], variables=[b"\xff"]
    )
    (tmp_path / "x.clps").write_bytes(built.build())
    for kind in ("parquet", "arrow", "csv"):
        ran = exhume_cli("export", tmp_path / "x.clps", "--to", kind, "-o", tmp_path / kind)
        assert ran.code == 3
        assert "lost: texts that are not UTF-8: 1" in ran.err
    ran = exhume_cli("export", tmp_path / "x.clps", "--to", "jsonl")
    assert (ran.code, ran.out) == (0, b'{"s":"\xff"}\n'), "the exact bytes"


def test_wrong_options_are_named(samples: Path, tmp_path: Path, exhume_cli: Run) -> None:
    caf, zs, clps = samples / "caf/sorted.caf", samples / "zs/words-none.zs", samples / "clp_s/demo.clps"
    log = samples / "ark/log"
    for target, options, code, words in (
        (zs, ["--to", "csv", "--query", "x"], 2, "--query does not apply to zs archives"),
        (zs, ["--to", "tar"], 2, "one of arrow, csv, jsonl, parquet"),
        (caf, ["--to", "parquet", "--url", "x"], 1, "url does not apply to parquet"),
        (caf, ["--to", "tar", "--columns", "name"], 1, "columns does not apply to tar"),
        (caf, ["--to", "fsspec-reference", "--digest", "sha256"], 1, "digest does not apply"),
        (caf, ["--to", "csv", "--columns", "nam"], 1, "expected one of name, kind, size"),
        (caf, ["--to", "csv", "--columns", "name,name"], 1, "named twice"),
        (clps, ["--to", "parquet", "--columns", "zzz"], 1, "no such column"),
        (clps, ["--to", "jsonl", "--columns", "n,zz"], 1, "no record has such a column: zz"),
        (log, ["--to", "jsonl", "--columns", "x"], 1, "columns does not apply to jsonl"),
        (log, ["--to", "mcap", "--columns", "x"], 1, "columns does not apply to mcap"),
        (log, ["--to", "parquet", "--payload", "json"], 1, "payload does not apply to parquet"),
        (log, ["--to", "parquet", "--topic", "/x"], 1, "no channel of that name"),
        (log, ["--to", "csv", "--columns", "x"], 1, "no such column"),
    ):
        ran = exhume_cli("export", target, *options, "-o", tmp_path / "out")
        assert words in ran.err.replace("\n", " "), (options, ran.err)
        assert ran.code == code, (options, ran.err)
        assert list(tmp_path.iterdir()) == []


def test_several_tables_need_a_directory(samples: Path, tmp_path: Path, exhume_cli: Run) -> None:
    ran = exhume_cli("export", samples / "ark/log", "--to", "parquet")
    assert ran.code == 1
    assert "/camera, /raw, /nav/pose" in ran.err
    ran = exhume_cli("export", samples / "ark/log", "--to", "arrow", "-o", tmp_path / "out", "--json")
    assert json.loads(ran.out)["written"]["files"] == 4
    assert sorted(file.name for file in (tmp_path / "out").iterdir())[0] == "camera.arrow"
    assert exhume_cli("export", samples / "ark/log", "--to", "arrow", "-o", tmp_path / "out").code == 1, "exists"


@pytest.mark.parametrize("at_once", [1, 2, 16])
def test_several_tables_replace_files_of_a_directory_on_request(
    at_once: int, samples: Path, tmp_path: Path, exhume_cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For any number of tables written in parallel."""
    monkeypatch.setattr(table_files.ArrowFile, "at_once", at_once)
    out = tmp_path / "out"
    command = ["export", samples / "ark/log", "--to", "arrow", "-o", out, "--overwrite"]
    assert exhume_cli(*command).code == 0, "a new directory"
    made = {file.name: file.read_bytes() for file in out.iterdir()}
    for name in made:
        (out / name).write_bytes(b"precious")
    (out / "notes.txt").write_bytes(b"of another")
    with monkeypatch.context() as patch:
        patch.setattr(_tables, "_count", _fails_at(3))
        assert exhume_cli(*command).code == 1
    assert {file.name: file.read_bytes() for file in out.iterdir()} == (
        dict.fromkeys(made, b"precious") | {"notes.txt": b"of another"}
    ), "none is replaced unless all are whole"
    assert exhume_cli(*command).code == 0
    assert {file.name: file.read_bytes() for file in out.iterdir()} == made | {"notes.txt": b"of another"}


def _fails_at(number: int) -> Callable[..., None]:
    """What counts the batches that were written until the one of this number."""
    count, calls = _tables._count, itertools.count(1)

    def counting(*arguments: Any) -> None:
        if next(calls) == number:
            raise WriterError("disk full")
        count(*arguments)

    return counting


def test_files_appear_whole_or_not_at_all(tmp_path: Path, exhume_cli: Run) -> None:
    built = demo()
    raw = bytearray(built.build())
    raw[-20] ^= 0xFF
    (tmp_path / "x.clps").write_bytes(raw)
    for kind in ("parquet", "arrow", "csv", "jsonl"):
        ran = exhume_cli("export", tmp_path / "x.clps", "--to", kind, "-o", tmp_path / "out")
        assert ran.code == 1
        assert "CLPS-" in ran.err
    assert [file.name for file in tmp_path.iterdir()] == ["x.clps"]
    for kind in ("parquet", "arrow"):
        ran = exhume_cli("export", tmp_path / "x.clps", "--to", kind)
        assert ran.code == 1
        assert len(ran.out) < 8 or not ran.out.endswith((b"PAR1", b"\xff\xff\xff\xff\0\0\0\0")), (
            "it does not look whole"
        )


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv", "jsonl"])
def test_existing_files_are_kept_unless_requested(samples: Path, tmp_path: Path, exhume_cli: Run, kind: str) -> None:
    out = tmp_path / "out"
    out.write_bytes(b"precious")
    command = ["export", samples / "caf/sorted.caf", "--to", kind, "-o", out]
    assert exhume_cli(*command).code == 1
    assert out.read_bytes() == b"precious"
    assert exhume_cli(*command, "--overwrite").code == 0
    assert out.read_bytes() != b"precious"
    assert exhume_cli(*command[:-2]).out == out.read_bytes(), "the same on standard output"


class Terminal(io.TextIOWrapper):
    """A standard output that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_terminals_get_text_only(samples: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with exhume.create(tmp_path / "x.zs", "zs") as writer:
        writer.add_records([b"\x1b[31mred"])
    raw = io.BytesIO()
    terminal = Terminal(raw, "utf-8", write_through=True)
    monkeypatch.setattr(sys, "stdout", terminal)
    with exhume.open(samples / "caf/sorted.caf") as archive:
        with pytest.raises(WriterError, match="terminal"):
            table_files.export_parquet(archive, "-")
        assert table_files.export_csv(archive, "-", columns=["name", "size"]).complete
        assert raw.getvalue().startswith(b'"name","size"\n"10",3\n')
        assert table_files.export_jsonl(archive, "-", columns=["name"]).written["rows"] == 8
    with exhume.open(tmp_path / "x.zs") as archive:
        assert table_files.export_csv(archive, "-").lost == {"texts with control characters": 1}
        assert table_files.export_jsonl(archive, "-").complete, "JSON escapes them"
    assert b"\x1b" not in raw.getvalue()
    terminal.detach()


def test_columns_that_csv_has_no_form_for() -> None:
    lost: Counter[str] = Counter()
    nested = pa.array([[1, 2], None, []], pa.list_(pa.int8()))
    assert flat_column(pa, nested, lost).to_pylist() == ["[1,2]", None, "[]"]
    assert lost == Counter({"nested values as JSON text": 2})
    assert flat_column(pa, pa.array([5], pa.duration("ns")), lost).to_pylist() == [5]
    words = pa.array([b"a", b"\xff", None]).dictionary_encode()
    assert flat_column(pa, words, lost).to_pylist() == ["a", "\ufffd", None]
    assert lost["texts that are not UTF-8"] == 1
    assert json_column(pa, pa.array([1, None], pa.timestamp("ns", "UTC"))) == ["1970-01-01 00:00:00.000000001Z", None]
    assert json_column(pa, pa.array([7], pa.duration("ns"))) == [7]


def test_times_that_pyarrow_prints_wrongly() -> None:
    first, last = -62_135_596_800_000, 253_402_300_799_999  # of the years 1 and 9999
    numbers = [0, None, first, last, first - 1, last + 1, 1 << 62, -(1 << 63)]
    times, lost = pa.array(numbers, pa.timestamp("ms", "UTC")), Counter[str]()
    assert flat_column(pa, times, lost).cast(pa.int64()).to_pylist() == [*numbers[:4], None, None, None, None]
    assert lost == Counter({"times outside the years 1 to 9999": 4})
    text = ["1970-01-01 00:00:00.000Z", None, "0001-01-01 00:00:00.000Z", "9999-12-31 23:59:59.999Z"]
    assert json_column(pa, times) == [*text, *numbers[4:]]
    assert json_column(pa, times[4:]) == numbers[4:]
    for unit in ("s", "us", "ns"):
        assert json_column(pa, pa.array([1 << 62], pa.timestamp(unit)))[0] == (
            1 << 62 if unit != "ns" else "2116-02-20 23:53:38.427387904"
        )


def test_row_groups_contain_many_batches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from pyarrow import parquet as pq

    monkeypatch.setattr(table_files, "GROUP_ROWS", 25)
    with exhume.create(tmp_path / "x.zs", "zs") as writer:
        writer.add_records(b"%03d" % number for number in range(100))
    seen: list[int] = []
    with exhume.open(tmp_path / "x.zs") as archive:
        report = table_files.export_parquet(
            archive, str(tmp_path / "x"), batch_rows=10, progress=lambda done, total, unit: seen.append(done)
        )
    file = pq.ParquetFile(tmp_path / "x")
    assert [file.metadata.row_group(n).num_rows for n in range(file.metadata.num_row_groups)] == [30, 30, 30, 10]
    assert seen == list(range(10, 101, 10))
    assert report.to_dict() == ExportReport(written=Counter(rows=100)).to_dict()


@pytest.fixture
def small_groups(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A file of a hundred records, three per row group."""
    monkeypatch.setattr(table_files, "GROUP_ROWS", 3)
    with exhume.create(tmp_path / "x.zs", "zs") as writer:
        writer.add_records(b"%03d" % number for number in range(100))
    return tmp_path / "x.zs"


@pytest.mark.parametrize(("size", "has_statistics"), [(9, True), (table_files.LONG_ROW + 9, False)])
def test_long_values_have_no_statistics(size: int, has_statistics: bool, tmp_path: Path, exhume_cli: Run) -> None:
    from pyarrow import parquet as pq

    with exhume.create(tmp_path / "x.zs", "zs") as writer:
        lines: Any = writer
        lines.add_records(b"%03d" % number + b"x" * size for number in range(3))
    assert exhume_cli("export", tmp_path / "x.zs", "--to", "parquet", "-o", tmp_path / "x.parquet").code == 0
    column = pq.ParquetFile(tmp_path / "x.parquet").metadata.row_group(0).column(0)
    assert (column.is_stats_set, column.has_dictionary_page) == (has_statistics, has_statistics)
    assert pq.read_table(tmp_path / "x.parquet").column(0).to_pylist()[2] == b"002" + b"x" * size


@pytest.mark.parametrize("export", [table_files.export_parquet, table_files.export_arrow], ids=["parquet", "arrow"])
def test_files_do_not_depend_on_what_is_written_next_to_them(export: Any, small_groups: Path, tmp_path: Path) -> None:
    written = []
    for jobs in (1, 2):
        with exhume.open(small_groups) as archive:
            report = export(archive, str(tmp_path / f"{jobs}"), batch_rows=1, jobs=jobs)
        written.append((report.to_dict(), (tmp_path / f"{jobs}").read_bytes()))
    assert written[0] == written[1]


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("export", [table_files.export_parquet, table_files.export_arrow], ids=["parquet", "arrow"])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_an_error_of_writing_comes_before_later_ones(
    export: Any, jobs: int, at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes = 0
    schema = pa.schema([("a", pa.int64())])

    def batches() -> Iterator[Any]:
        for number in range(9):
            yield pa.record_batch([[number]], schema)
        raise StructureError("damage after them")

    class Damaged:
        wide_tables = False

        def arrow_tables(self, **options: Any) -> Any:
            return {"one": lambda: pa.RecordBatchReader.from_batches(schema, batches())}

    def full(sink: Any, data: Any) -> int:
        nonlocal writes
        writes += 1
        if writes > at and sink.is_open:
            raise OSError(28, "No space left on device")
        return memoryview(data).nbytes

    monkeypatch.setattr(_tables._OutputFile, "write", full)
    monkeypatch.setattr(table_files, "GROUP_ROWS", 8)
    archive: Any = Damaged()
    with pytest.raises(OSError, match="No space left"):
        export(archive, str(tmp_path / "out"), jobs=jobs)
    monkeypatch.undo()
    with pytest.raises(StructureError, match="damage after them"):
        export(archive, str(tmp_path / "out"), jobs=jobs)
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_waits_for_what_is_being_written(
    small_groups: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    interrupted, put, close = threading.Event(), table_files.ParquetFile._put, table_files.ParquetFile.close

    def slow(target: Any, part: Any) -> None:
        events.append("begins")
        interrupted.wait(60)
        put(target, part)
        events.append("ends")

    def progress(done: int, total: int | None, unit: str) -> None:
        if events:
            threading.Timer(0.1, interrupted.set).start()
            raise KeyboardInterrupt

    def closing(target: Any) -> None:
        events.append("closes")
        close(target)

    monkeypatch.setattr(table_files.ParquetFile, "_put", slow)
    monkeypatch.setattr(table_files.ParquetFile, "close", closing)
    with exhume.open(small_groups) as archive, pytest.raises(KeyboardInterrupt):
        table_files.export_parquet(archive, str(tmp_path / "out"), batch_rows=1, jobs=2, progress=progress)
    assert events == ["begins", "ends", "closes"]
    assert [file.name for file in tmp_path.iterdir()] == ["x.zs"]


@pytest.mark.slow
def test_lines_do_not_depend_on_the_processes_that_make_them(
    tmp_path: Path, exhume_cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with exhume.create(tmp_path / "a.zs", "zs") as writer:
        archive: Any = writer
        archive.add_records(b"%05d" % number + b"\xff" * (number % 7) for number in range(3000))
    call = ("export", tmp_path / "a.zs", "--to", "jsonl")
    alone = exhume_cli(*call)
    assert alone.out.count(b"\n") == 3000
    for rows, most in ((100, 1 << 20), (700, 1 << 20), (700, 9000)):
        monkeypatch.setattr(_tables, "PART_ROWS", rows)
        monkeypatch.setattr(_tables, "PART_BYTES", most)
        assert exhume_cli(*call, "--jobs", 2).out == alone.out
    whole = (tmp_path / "a.zs").read_bytes()
    (tmp_path / "a.zs").write_bytes(flip(whole, len(whole) // 2))
    alone, together = exhume_cli(*call), exhume_cli(*call, "--jobs", 2)
    assert (together.code, together.out, together.err) == (alone.code, alone.out, alone.err)
    assert "ZS-202" in alone.err


def test_what_a_process_renders_is_what_is_written_here() -> None:
    batch = pa.RecordBatch.from_pydict({"a": [1, 1 << 60, None], "b": [b"x", b"\xff", b""]})
    part = next(text for _, text in _tables._rendered([batch], table_files.lines_of, 2))
    assert part == table_files.lines_of(batch)
    assert part.count(b"\n") == 3
    assert _tables._Renderer(table_files.lines_of).render(None) is None


def test_values_of_columns_are_printed_as_they_are_alone() -> None:
    big, texts = 1 << 53, ['a"b', "\u00e9\u2028", "", "nul\0"]
    columns = {
        "small": pa.array([-big, big, 0, 7]),
        "large": pa.array([-big - 1, big + 1, 0, None]),
        "unsigned": pa.array([(1 << 64) - 1, None, 0, 1], pa.uint64()),
        "real": pa.array([0.1, float("nan"), float("-inf"), 1e300]),
        "flag": pa.array([True, False, None, True]),
        "text": pa.array(texts),
        "wide text": pa.array(texts, pa.large_string()),
        "bytes": pa.array([b"x", b"\xff", b"", None]),
        "coded": pa.array(["x", None, "x", 'y"']).dictionary_encode(),
        "coded null": pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 1]), pa.array([None, "z"])),
        "when": pa.array([0, 1, 2, None], pa.timestamp("ns", "UTC")),
        "list": pa.array([[1, 2], [], None, [None]]),
    }
    batch = pa.RecordBatch.from_pydict(columns)
    for row, line in enumerate(table_files.lines_of(batch).splitlines()):
        alone = {
            name: json_column(pa, column.slice(row, 1))[0] for name, column in columns.items() if column[row].is_valid
        }
        assert line.decode() == jsonout.dumps(alone)
    assert table_files.lines_of(batch.slice(0, 0)) == b""
