"""The content of each format's table, and the counts of values that do not fit their columns."""

from __future__ import annotations

import datetime
import hashlib
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import exhume
from exhume.errors import (
    EntryNotFoundError,
    ExhumeError,
    QueryError,
    SourceError,
    StructureError,
    UnsupportedOperationError,
)
from exhume.formats.ark.log import Channel
from exhume.formats.ark.reader import ArkArchive
from exhume.formats.ark.writer import ArkWriter
from exhume.formats.clp_s.reader import ClpSArchive
from exhume.formats.clp_s.reader import open_archive as open_clp
from exhume.formats.data_bundle.reader import DataBundleArchive
from exhume.formats.leveldb.table_writer import build_log
from exhume.formats.zs.arrow import RecordFormat, _Split
from exhume.formats.zs.head import separated_values
from exhume.io.source import BytesSource
from exhume.io.tree import MemoryTree
from exhume.tabular import arrow
from tests.ark.make_samples import write_log
from tests.caf.make_samples import chunk, index_of
from tests.clp_s.build import Built, demo, f64, i64, tiny, u64
from tests.conftest import Ran
from tests.data_bundle.make_samples import MEMBERS, write_bundle
from tests.leveldb.make_samples import HISTORY, build_database, build_table, edit

pa = pytest.importorskip("pyarrow")


# --- zs ---------------------------------------------------------------------------------------------------------------


def zs(folder: Path, records: list[bytes], **metadata: Any) -> Any:
    with exhume.create(folder / "x.zs", "zs", codec="none", metadata=metadata) as writer:
        writer.add_records(sorted(records))
    return exhume.open(folder / "x.zs")


FORMAT = separated_values({"word": "utf8", "count": "int", "share": "float", "raw": "bytes"})
GOOD = [b"a\t-1\t0.5\t\xff", b"b\t\t\t", b"c\t9223372036854775807\t1e3\tx", "\u00e9\t007\t-inf\tx".encode()]


def test_zs_records_are_split_by_the_record_format(tmp_path: Path) -> None:
    with zs(tmp_path, GOOD, **{"record-format": FORMAT}) as archive:
        assert archive.to_arrow().schema == pa.schema([("record", pa.large_binary())])
        table = archive.to_arrow(split=True).read_all()
        types = [pa.large_string(), pa.int64(), pa.float64(), pa.large_binary()]
        assert table.schema == pa.schema(list(zip(FORMAT["column-names"], types, strict=True)))
        assert table.to_pylist() == [
            {"word": "a", "count": -1, "share": 0.5, "raw": b"\xff"},
            {"word": "b", "count": None, "share": None, "raw": b""},
            {"word": "c", "count": 2**63 - 1, "share": 1000.0, "raw": b"x"},
            {"word": "\u00e9", "count": 7, "share": float("-inf"), "raw": b"x"},
        ]
        chosen = archive.to_arrow(split=True, columns=["share", "word"], start=b"b", stop=b"c").read_all()
        assert chosen.to_pylist() == [{"share": None, "word": "b"}]
        assert archive.to_arrow(split=True, jobs=2).read_all().equals(table)
        with pytest.raises(QueryError):
            archive.to_arrow(split=True, text=True)


MISFITS = {
    "too few": b"z\t1\t2",
    "too many": b"z\t1\t2\t3\t4",
    "no integer": b"z\t0x10\t2\t3",
    "space": b"z\t 1\t2\t3",
    "underscore": b"z\t1_0\t2\t3",
    "too large": b"z\t9223372036854775808\t2\t3",
    "no float": b"z\t1\ttwo\t3",
    "thousands of digits": b"z\t" + b"9" * 5000 + b"\t2\t3",
}


@pytest.mark.parametrize("misfit", MISFITS.values(), ids=MISFITS.keys())
def test_zs_records_that_do_not_fit(tmp_path: Path, misfit: bytes) -> None:
    with zs(tmp_path, [*GOOD, misfit], **{"record-format": FORMAT}) as archive:
        with pytest.raises(StructureError, match="does not fit the record format") as caught:
            archive.to_arrow(split=True).read_all()
        assert caught.value.actual == misfit
        lost: Counter[str] = Counter()
        table = archive.to_arrow(split=True, errors="replace", losses=lost).read_all()
        assert table.num_rows == 5
        assert None in table["count"].to_pylist()[-2:] + table["share"].to_pylist()[-2:]
        assert +lost == Counter({"records that do not fit the record format": 1})


def test_zs_text(tmp_path: Path) -> None:
    with zs(tmp_path, [b"a", "\u00e9".encode(), b"\xff"]) as archive:
        assert archive.to_arrow(text=True, stop=b"\xff").read_all()["record"].to_pylist() == ["a", "\u00e9"]
        with pytest.raises(StructureError, match="not UTF-8"):
            archive.to_arrow(text=True).read_all()
        lost: Counter[str] = Counter()
        table = archive.to_arrow(text=True, errors="replace", losses=lost).read_all()
        assert table["record"].to_pylist() == ["a", "\u00e9", "\ufffd"]
        assert +lost == Counter({"texts that are not UTF-8": 1})


def test_zs_record_formats(tmp_path: Path) -> None:
    with zs(tmp_path, [b"1::x"], **{"record-format": {"type": "separated-values", "separator": "::"}}) as archive:
        with pytest.raises(QueryError, match="neither column-names nor column-types"):
            archive.to_arrow(split=True)
        given: dict[str, Any] = {"type": "separated-values", "separator": "::", "column-types": ["int", "utf8"]}
        assert archive.to_arrow(split=given).read_all().to_pylist() == [{"column_1": 1, "column_2": "x"}]
        given = {"type": "separated-values", "separator": "::", "column-names": ["a", "b"]}
        assert archive.to_arrow(split=given).read_all().to_pylist() == [{"a": "1", "b": "x"}]
        for bad in (
            {"type": "csv"},
            given | {"column-names": ["a", "a"]},
            given | {"column-types": ["int"]},
            given | {"column-types": "int"},
            given | {"separator": ""},
            given | {"separator": 1},
            given | {"column-names": [1]},
        ):
            with pytest.raises(QueryError):
                archive.to_arrow(split=bad)
    (tmp_path / "more").mkdir()
    with zs(tmp_path / "more", [b"x"]) as archive, pytest.raises(QueryError, match="no record-format"):
        archive.to_arrow(split=True)


TEXTS = (
    " 0 -0 007 12 -9223372036854775808 9223372036854775808 +5 0x1f 1_0 1.5 .5 5. . 1e5 1E+400 e5 nan -NaN nan(1) inf "
    "Infinity infinit - x \u00e9 --1 1e"
)
FIELDS = st.sampled_from([*(text.encode() for text in TEXTS.split(" ")), b" 1", b"1 ", b"\xff", b"9" * 500])
NUMBER = re.compile(r"[+-]?(\d+\.?\d*(e[+-]?\d+)?|\.\d+(e[+-]?\d+)?|nan|inf(inity)?)", re.ASCII | re.IGNORECASE)


def expected(kind: str, field: bytes) -> tuple[Any, bool]:
    """A field's value, and whether it fits."""
    text = field.decode("latin-1")
    if kind == "utf8":
        return field.decode("utf-8", "replace"), True
    if not field:
        return None, True
    if kind == "int":
        number = int(text) if re.fullmatch(r"-?\d+", text, re.ASCII) and len(text) < 400 else None
        return (number, True) if number is not None and -(2**63) <= number < 2**63 else (None, False)
    return (float(text), True) if NUMBER.fullmatch(text) and len(text) < 400 else (None, False)


@given(st.lists(st.lists(FIELDS, min_size=1, max_size=4), min_size=1, max_size=8), st.permutations("abc"))
def test_zs_splitting_is_as_stated(rows: list[list[bytes]], order: list[str]) -> None:
    kinds = {"a": "utf8", "b": "int", "c": "float"}
    form = _Split(pa, RecordFormat(b"::", kinds))
    lost: Counter[str] = Counter()
    arrays = form.arrays([b"::".join(row) for row in rows], list(order), lost)
    found = dict(zip(order, arrays, strict=True))
    misfits = 0
    for place, row in enumerate(rows):
        split = b"::".join(row).split(b"::")
        values = [expected(kind, field) for kind, field in zip(kinds.values(), split, strict=False)]
        whole = len(split) == len(kinds)
        misfits += not (whole and all(fits for _, fits in values))
        for name, (value, _) in zip(kinds, values, strict=False):
            got = found[name][place].as_py()
            assert repr(got) == repr(value if whole else None), (name, row)
    assert lost["records that do not fit the record format"] == misfits


# --- clp-s ------------------------------------------------------------------------------------------------------------


def clp(built: Built) -> ClpSArchive:
    return open_clp(BytesSource(built.build()))


def test_clp_s_keeps_dictionaries() -> None:
    archive = clp(demo())
    words = pa.dictionary(pa.int32(), pa.string())
    table = archive.to_arrow().read_all()
    assert table.schema.field("name").type == words
    assert table.schema.field("msg").type == pa.large_string()
    plain = archive.to_arrow(dictionaries=False).read_all()
    assert plain.schema.field("name").type == pa.large_string()
    assert table["name"].cast(pa.large_string()).equals(plain["name"])
    first = next(iter(archive.to_arrow(columns=["name"])))
    assert sorted(first["name"].dictionary.to_pylist()) == ["plain", 'q"uote\\'], "only what occurs"


@pytest.mark.parametrize("query", ["n > 0", "n < 0", "name: plain", "msg: *ms*", "nothing: 1", "*"])
def test_clp_s_pushes_queries_down(query: str) -> None:
    archive = clp(demo())
    everything = archive.to_arrow(columns=["n", "name", "msg", "big", "ok", "list"]).read_all().to_pylist()
    wanted = [event.get("n") for event in archive.events(query)]
    found = archive.to_arrow(columns=["n", "name", "msg", "big", "ok", "list"], query=query).read_all().to_pylist()
    assert [row["n"] for row in found] == wanted
    assert all(row in everything for row in found)
    assert archive.to_arrow(query=query, batch_rows=1).read_all().num_rows == len(wanted)


def test_clp_s_counts_what_does_not_fit() -> None:
    nodes = [(-1, b"", 5), (0, b"a", 0), (0, b"a", 12), (0, b"b", 4), (0, b"b", 3), (0, b"s", 3)]
    built = tiny(
        nodes=nodes,
        schemas=[(0, [1, 3, 5], []), (1, [2, 4], []), (2, [3, 4], [])],
        streams=[
            [
                (0, 2, i64(2**53 + 1, 2**53) + b"\1\0" + u64(1, 0)),
                (1, 1, f64(2.5) + b"\x20\0" + u64(0)),
                (2, 1, b"\1" + u64(0)),
            ]
        ],
        variables=[b"text", b"\xff"],
    )
    lost: Counter[str] = Counter()
    table = clp(built).to_arrow(losses=lost).read_all()
    assert table.to_pylist() == [
        {"a": 2.0**53, "b": "true", "s": "\ufffd"},
        {"a": 2.0**53, "b": "false", "s": "text"},
        {"a": 2.5, "b": "text", "s": None},
        {"a": None, "b": "text", "s": None},
    ]
    assert +lost == Counter(
        {
            "integers rounded to floats": 1,
            "values of mixed types as text": 2,
            "texts that are not UTF-8": 1,
            "values of keys that a record has twice": 1,
        }
    )
    lost.clear()
    assert clp(built).to_arrow(losses=lost, query="s: text").read_all()["s"].to_pylist() == ["text"]
    assert +lost == Counter({"values of mixed types as text": 1})


@pytest.mark.parametrize("dictionaries", [True, False])
def test_clp_s_halves_of_characters_do_not_add_up(dictionaries: bool) -> None:
    built = tiny(
        nodes=[(-1, b"", 5), (0, b"s", 3)],
        schemas=[(0, [1], [])],
        streams=[[(0, 3, u64(0, 1, 2))]],
        variables=[b"\xc3", b"\xa9", "\u00e9".encode()],
    )
    lost: Counter[str] = Counter()
    table = clp(built).to_arrow(dictionaries=dictionaries, losses=lost).read_all()
    table.validate(full=True)
    assert table["s"].to_pylist() == ["\ufffd", "\ufffd", "\u00e9"]
    assert +lost == Counter({"texts that are not UTF-8": 2})


def test_clp_s_floats_that_are_no_numbers() -> None:
    built = tiny(
        nodes=[(-1, b"", 5), (0, b"f", 13)],
        schemas=[(0, [1], [])],
        streams=[[(0, 3, u64(0, 1, 0))]],
        variables=[b"1.50", b"1.x"],
    )
    lost: Counter[str] = Counter()
    assert clp(built).to_arrow(losses=lost).read_all()["f"].to_pylist() == [1.5, None, 1.5]
    assert +lost == Counter({"floats that are no numbers": 1})


def test_clp_s_records_without_columns(tmp_path: Path, exhume_cli: Callable[..., Ran]) -> None:
    with exhume.create(tmp_path / "x.clps", "clp-s") as writer:
        for _ in range(3):
            writer.write({})
    with exhume.open(tmp_path / "x.clps") as archive:
        assert archive.to_arrow().read_all().num_rows == 3
    ran = exhume_cli("export", tmp_path / "x.clps", "--to", "parquet", "-o", tmp_path / "out")
    assert ran.code == 3
    assert "lost: rows without columns: 3" in ran.err


def test_clp_s_refuses_bad_queries() -> None:
    with pytest.raises(QueryError):
        clp(demo()).to_arrow(query="a: (")
    with pytest.raises(EntryNotFoundError, match="one of ts, msg"):
        clp(demo()).to_arrow(columns=["nothing"])


# --- ark --------------------------------------------------------------------------------------------------------------


def ark(path: Path) -> ArkArchive:
    opened = exhume.open(path)
    assert isinstance(opened, ArkArchive)
    return opened


def test_ark_has_one_table_per_channel(tmp_path: Path) -> None:
    write_log(tmp_path / "log")
    with ark(tmp_path / "log") as log:
        for use in (log.to_arrow, log.__arrow_c_stream__):
            with pytest.raises(QueryError, match=r"choose one with topic=.*/camera, /raw, /nav/pose, /drive/state"):
                use()
        with pytest.raises(EntryNotFoundError, match="one of /camera, /raw"):
            log.to_arrow(topic="/nothing")
        for channel in log.channels():
            wanted = [message.time_ns for message in log.messages(channel.name)]
            for table in (pa.table(channel), log.to_arrow(topic=channel.identifier).read_all()):
                assert table["time_ns"].to_pylist() == wanted
            assert channel.to_arrow(columns=["time_ns"], batch_rows=1).read_next_batch().num_rows == 1
        assert list(log.arrow_tables()) == ["/camera", "/raw", "/nav/pose", "/drive/state"]
        assert list(log.arrow_tables(topic="/nav/*")) == ["/nav/pose"]
        stray = Channel(log.channels()[0].declaration, "c", "none", 0)
        with pytest.raises(UnsupportedOperationError):
            stray.to_arrow()


def test_ark_channels_of_one_name_and_two_types(tmp_path: Path) -> None:
    with ArkWriter(tmp_path / "log") as log:
        one = log.channel("/x", "A", "schema A { uint8 a; }")
        two = log.channel("/x", "B", "schema B { string b; }")
        for number in range(3):
            one.write(number, {"a": number})
            two.write(number, {"b": str(number)})
    with ark(tmp_path / "log") as opened:
        with pytest.raises(QueryError, match=r"/x \(A\), /x \(B\)"):
            opened.to_arrow(topic="/x")
        tables = opened.arrow_tables()
        assert [make().read_all().num_rows for make in tables.values()] == [3, 3]
        assert tables["/x (A)"]().read_all()["a"].to_pylist() == [0, 1, 2]
        assert tables["/x (B)"]().read_all()["b"].to_pylist() == ["0", "1", "2"]


def test_ark_counts_damage_and_times(tmp_path: Path) -> None:
    with ArkWriter(tmp_path / "log") as log:
        channel = log.channel("/t", "T", "schema T { system_time_point at; string text; }")
        for number in range(5):
            channel.write(number, {"at": 2**64 - 1 if number == 1 else number, "text": "x" * 9})
    (split,) = (tmp_path / "log/splits").iterdir()
    raw = split.read_bytes()
    split.write_bytes(raw[: raw.rindex(b"xxxxxxxxx")] + b"\xff" * 9 + raw[raw.rindex(b"xxxxxxxxx") + 9 :])
    with ark(tmp_path / "log") as opened:
        with pytest.raises(ExhumeError):
            opened.to_arrow().read_all()
        lost: Counter[str] = Counter()
        table = opened.to_arrow(skip_damaged=True, losses=lost).read_all()
        assert table["time_ns"].to_pylist() == [0, 1, 2, 3]
        assert table["at"].is_null().to_pylist() == [False, True, False, False]
        assert +lost == Counter({"damaged messages": 1, "times outside the range of Arrow": 1})


def test_a_directory_of_logs_has_no_table(samples: Path) -> None:
    with exhume.open(samples / "ark/amended") as logs, pytest.raises(ExhumeError, match="ARK-"):
        logs.to_arrow()


# --- leveldb ----------------------------------------------------------------------------------------------------------


def test_leveldb_versions(samples: Path) -> None:
    with exhume.leveldb.open(samples / "leveldb/small") as archive:
        live = archive.to_arrow().read_all()
        entries = list(archive.entries())
        for row, entry in zip(live.to_pylist(), entries, strict=True):
            assert row["key"] == entry.details["key"]
            for name in ("sequence", "type", "status", "level", "block_offset", "entry_offset", "checksum"):
                assert row[name] == entry.details[name]
            assert row["file"] == entry.source
        assert live.schema.field("status").type == pa.dictionary(pa.int32(), pa.string())
        every = archive.to_arrow(all_versions=True).read_all()
        assert set(every["status"].to_pylist()) >= {"live", "replaced", "tombstone", "unreferenced"}
        old = archive.to_arrow(sequence=2, columns=["key", "value"]).read_all()
        assert old.to_pylist() == [{"key": b"apple", "value": b"green"}, {"key": b"banana", "value": b"yellow"}]
        some = archive.to_arrow(start=b"b", stop=b"e", all_versions=True, columns=["key"]).read_all()
        assert set(some["key"].to_pylist()) == {b"banana", b"cherry", b"damson"}
        assert archive.to_arrow(prefix=b"ap").read_all()["key"].to_pylist() == [b"apple"]
        assert archive.to_arrow(prefix=b"\xff").read_all().num_rows == 0
        with pytest.raises(QueryError):
            archive.to_arrow(all_versions=True, sequence=1)


def test_leveldb_damage() -> None:
    files = build_database()
    table = bytearray(files["000005.ldb"])
    table[30] ^= 0xFF
    files["000005.ldb"] = bytes(table)
    with exhume.open(MemoryTree(files), format="leveldb") as archive:
        with pytest.raises(ExhumeError, match="LDB-"):
            archive.to_arrow().read_all()
        lost: Counter[str] = Counter()
        rows = archive.to_arrow(all_versions=True, losses=lost).read_all()
        assert rows.num_rows > 3
        assert lost["damaged blocks and log records"] >= 1


def test_leveldb_numbers_of_any_size() -> None:
    table, writer = build_table(HISTORY)
    huge = edit(log=6, last=6, following=7, tables=[(2**64 - 1, 5, len(table), writer.smallest, writer.largest)])
    files = build_database() | {"MANIFEST-000004": build_log([huge])}
    with exhume.open(MemoryTree(files), format="leveldb") as archive:
        assert 2**64 - 1 in archive.to_arrow(all_versions=True).read_all()["level"].to_pylist()


# --- members ----------------------------------------------------------------------------------------------------------


def sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def test_caf_members() -> None:
    data = chunk(index_of(("a.txt", 0, 20), ("gone", 60, 4000), ("dir/b.txt", 20, 64)))
    with exhume.caf.open(data) as archive:
        rows = {row["name"]: row for row in archive.to_arrow().read_all().to_pylist()}
        assert rows["a.txt"] == {
            "name": "a.txt",
            "kind": "file",
            "size": 20,
            "offset": 0,
            "stored_size": 20,
            "digest": None,
            "problem": None,
            "reason": None,
        }
        assert rows["gone"]["problem"].startswith("CAF-")
        assert rows["gone"]["size"] is None
        lost: Counter[str] = Counter()
        hashed = {row["name"]: row for row in archive.to_arrow(digest="sha256", losses=lost).read_all().to_pylist()}
        assert hashed["dir/b.txt"]["digest"] == sha256(data[20:64])
        assert hashed["gone"]["digest"] is None
        assert +lost == Counter({"digests of damaged members": 1})
        with pytest.raises(QueryError, match="stored, sha256"):
            archive.to_arrow(digest="md5")


def test_a_name_that_is_no_text_is_counted() -> None:
    data = chunk(b'{"format_version":"1.0","files":{"a\\ud800":{"start_byte":0,"end_byte":1}}}')
    lost: Counter[str] = Counter()
    with exhume.open(data) as archive:
        assert archive.to_arrow(losses=lost).read_all()["name"].to_pylist() == ["a\ufffd"]
    assert +lost == Counter({"texts that are not UTF-8": 1})


def test_bundle_members(tmp_path: Path) -> None:
    write_bundle(tmp_path / "b", shards=2)
    with exhume.databundle.open(tmp_path / "b") as archive:
        rows = {row["name"]: row for row in archive.to_arrow().read_all().to_pylist()}
        for name, data in MEMBERS.items():
            entry = archive.stat(name)
            assert rows[name]["size"] == len(data)
            assert rows[name]["digest"] == f"crc32c:{entry.details['crc32c']}"
            assert (rows[name]["shard"], rows[name]["shard_offset"]) == (
                entry.details["shard"],
                entry.details["shard_offset"],
            )
        assert rows["readme.txt"]["user_data_type"] == "type.googleapis.com/google.protobuf.StringValue"
        assert rows["readme.txt"]["user_data"] == b"\n\x05hello"
        assert rows["nothing here"]["kind"] == "directory"
        assert rows["nothing here"]["digest"] is None
        hashed = archive.to_arrow(digest="sha256", columns=["name", "digest"]).read_all().to_pylist()
        found = {row["name"]: row["digest"] for row in hashed if row["digest"]}
        assert found == {name: sha256(data) for name, data in MEMBERS.items()}


@pytest.mark.parametrize("members", [1, 3, 512])
def test_a_damaged_member_has_no_digest(tmp_path: Path, members: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow, "PIECE_MEMBERS", members)
    write_bundle(tmp_path / "b", compression="zlib")
    (shard,) = (path for path in (tmp_path / "b").iterdir() if path.is_file() and path.stat().st_size > 200)
    raw = bytearray(shard.read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    shard.write_bytes(raw)
    lost: Counter[str] = Counter()
    with exhume.databundle.open(tmp_path / "b") as archive:
        rows = archive.to_arrow(digest="sha256", losses=lost).read_all().to_pylist()
        for jobs in (2, 3, 0):
            again: Counter[str] = Counter()
            assert archive.to_arrow(digest="sha256", losses=again, jobs=jobs).read_all().to_pylist() == rows
            assert again == lost
    bad = [row for row in rows if row["problem"]]
    assert bad
    assert all(row["digest"] is None and row["problem"].startswith("DBND-") for row in bad)
    assert lost["digests of damaged members"] == len(bad)


@pytest.mark.parametrize("jobs", [1, 3])
def test_rows_before_a_source_that_fails_are_given(tmp_path: Path, jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow, "PIECE_MEMBERS", 3)
    write_bundle(tmp_path / "b")
    with exhume.databundle.open(tmp_path / "b") as archive:
        names = [entry.name for entry in archive.entries()]
        read = DataBundleArchive.iter_member

        def failing(self: DataBundleArchive, name: str, *args: Any, **more: Any) -> Any:
            if name == names[4]:
                raise SourceError("the disk is gone")
            return read(self, name, *args, **more)

        monkeypatch.setattr(DataBundleArchive, "iter_member", failing)
        reader = archive.to_arrow(digest="sha256", columns=["name", "digest"], batch_rows=2, jobs=jobs)
        assert [reader.read_next_batch()["name"].to_pylist() for _ in range(2)] == [names[:2], names[2:4]]
        with pytest.raises(SourceError, match="the disk is gone"):
            reader.read_next_batch()


def test_times_are_times() -> None:
    row = (
        clp(demo())
        .to_arrow(columns=["ts"])
        .read_all()
        .cast(pa.schema([("ts", pa.timestamp("ms", "UTC"))]))
        .to_pylist()[0]
    )
    assert row["ts"] == datetime.datetime(2023, 11, 14, 22, 13, 20, 500_000, tzinfo=datetime.UTC)
