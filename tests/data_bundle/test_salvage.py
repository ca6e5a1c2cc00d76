"""What salvage keeps of a bundle: which version of a path, what has lost its name, the outcome of every span, notes."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.codecs.checksums import crc32c
from exhume.errors import ExhumeError, LimitExceededError, SourceError, Span
from exhume.formats.data_bundle.history import History
from exhume.formats.data_bundle.layout import CONFIG_KEY, build_escaped, build_record_key, file_key
from exhume.formats.data_bundle.messages import BundleConfig, FileMetadata, RecordMetadata, ShardHeader
from exhume.formats.data_bundle.reader import DataBundleArchive
from exhume.formats.data_bundle.salvage import salvage
from exhume.formats.leveldb.table_writer import build_log
from exhume.io.local import LocalTree
from exhume.io.output.tree import OutputTree
from exhume.limits import Limits
from exhume.recovery import SalvageMode, SalvageReport, VerifiedBy
from exhume.testing.damage import flip
from tests.data_bundle.make_samples import MEMBERS, USER, add_history, write_bundle
from tests.data_bundle.test_damage import CRC, HEAD, Bundle, F, R, bundle
from tests.leveldb.crafted import build_batch

__all__ = ["bundle"]
FILES, RECORDS = SalvageMode.FILES, SalvageMode.RECORDS
Seen = list[tuple[int, int | None, str]]


def salvaged(path: Path, out: Path, **options: Any) -> SalvageReport:
    with LocalTree(path) as tree:
        return salvage(tree, out, **options)


def content(path: Path) -> dict[str, bytes]:
    """The files of a bundle or of a directory."""
    if not (path / "index").is_dir():
        return {p.relative_to(path).as_posix(): p.read_bytes() for p in path.rglob("*") if p.is_file()}
    with exhume.open(path, format="databundle") as archive:
        assert isinstance(archive, DataBundleArchive)
        return {n: archive.read_member(n) for n in archive.names() if archive.stat(n).kind == "file"}


def reported(report: SalvageReport, source: str = "shard") -> list[tuple[int, int, str, str]]:
    files: dict[str, Span] = {}
    for one in report.spans:
        known = files.get(one.span.source, one.span)
        files[one.span.source] = Span(known.source, min(known.start, one.span.start), max(known.end, one.span.end))
    report.settle(files.values())  # as the engine does
    return [
        (s.span.start, s.span.end, str(s.outcome), s.content) for s in report.spans if s.span.source.startswith(source)
    ]


def append(path: Path, *operations: tuple[int, bytes, bytes]) -> int:
    """Append versions of rows, as a database would write them; return the next sequence number."""
    with DataBundleArchive(LocalTree(path)) as archive:
        last = archive.database.last_sequence()
    batches = [build_batch(last + n, [one]) for n, one in enumerate(operations, 1)]
    (path / "index" / "000003.log").write_bytes(build_log(batches))
    return last + 1 + len(batches)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    write_bundle(tmp_path / "b", shards=2)
    return tmp_path / "b"


def test_a_sound_bundle(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[History] = []
    close = History.close

    def noting(self: History) -> None:
        closed.append(self)
        close(self)

    monkeypatch.setattr(History, "close", noting)
    seen: dict[str, Seen] = {}
    for mode in (SalvageMode.ARCHIVE, FILES):
        steps: Seen = seen.setdefault(mode, [])
        report = salvaged(written, tmp_path / mode, mode=mode, progress=lambda *step, to=steps: to.append(step))
        assert content(tmp_path / mode) == MEMBERS
        assert report.recovered == {"files": 5, "directories": 4}
        assert (dict(report.lost), report.notes, report.verified_by) == ({}, [], VerifiedBy.CHECKSUMS)
        assert {row[2:] for row in reported(report)} <= {
            ("rebuilt", "shard header"), ("recovered", "record"), ("ignored", "no record")
        }  # fmt: skip
        assert {(str(s.outcome), s.content) for s in report.spans if "shard" not in s.span.source} == {
            ("rebuilt", "index")
        }
    assert seen[FILES] == [(n, 9, "files") for n in range(1, 10)]
    assert seen[SalvageMode.ARCHIVE]
    assert (tmp_path / FILES / "nothing here").is_dir()
    assert len(closed) == 2
    with exhume.open(tmp_path / "archive") as archive:
        assert isinstance(archive, DataBundleArchive)
        assert archive.rows()["readme.txt"].meta.user_data == USER
        assert archive.rows()["data/empty"].meta.user_data is None


def test_user_data_of_a_directory(bundle: Bundle, tmp_path: Path) -> None:
    bundle.rows[file_key("d").build()] = FileMetadata(2, user_data=USER).build()
    report = salvaged(bundle.build(), tmp_path / "out")
    assert report.recovered == {"files": 1, "directories": 1}
    with exhume.open(tmp_path / "out") as archive:
        assert isinstance(archive, DataBundleArchive)
        assert archive.rows()["d"].meta.user_data == USER


def test_what_was_deleted_on_purpose(written: Path, tmp_path: Path) -> None:
    add_history(written)
    rest = {name: data for name, data in MEMBERS.items() if name != "readme.txt"}
    report = salvaged(written, tmp_path / "kept")
    assert content(tmp_path / "kept") == {**rest, "data/mixed.bin": b""}
    assert (report.recovered["files"], dict(report.lost), report.notes) == (4, {}, [])
    report = salvaged(written, tmp_path / "all", include_deleted=True)
    assert content(tmp_path / "all") == {**MEMBERS, "data/mixed.bin": b""}
    assert report.lost == {}
    assert [note[: note.index("(")] for note in report.notes] == ["readme.txt: an older version "]


def test_an_older_version_that_proves_good(written: Path, tmp_path: Path) -> None:
    """The newest row of `data/mixed.bin` leads to bytes that do not match; the one before it leads to matching ones."""
    key = file_key("data/mixed.bin").build()
    with exhume.open(written) as archive:
        assert isinstance(archive, DataBundleArchive)
        sequence = next(v.sequence for v in archive.database.state() if v.key == key)
    append(written, (1, key, FileMetadata(1, 0, 0, 5, 1).build()), (1, file_key("new").build(), b"\x08"))
    report = salvaged(written, tmp_path / "out", mode=FILES)
    assert content(tmp_path / "out") == MEMBERS
    assert f"data/mixed.bin: an older version (sequence {sequence}) was taken" in report.notes
    assert report.lost["files"] == 1  # the row of `new` is garbage
    assert [note for note in report.notes if note.endswith("no version can be read")]


def test_deleted_and_made_again(written: Path, tmp_path: Path) -> None:
    """A deletion under a newer version deletes nothing, whether or not that one proves good."""
    key = file_key("readme.txt").build()
    append(written, (0, key, b""), (1, key, FileMetadata(1, 0, 0, 5, 1).build()))
    report = salvaged(written, tmp_path / "out", mode=FILES)
    assert content(tmp_path / "out") == MEMBERS
    assert report.lost == {}


def test_lines_report_every_version(written: Path, tmp_path: Path) -> None:
    add_history(written)
    report = salvaged(written, tmp_path / "lines", mode=RECORDS)
    lines = [json.loads(line) for line in (tmp_path / "lines").read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 11 == report.recovered["versions"]
    assert report.verified_by is VerifiedBy.CHECKSUMS
    found = sorted((line["path"], line["status"], line["checksum_status"]) for line in lines)
    assert [one for one in found if one[0] in ("readme.txt", "data/mixed.bin")] == [
        ("data/mixed.bin", "live", "good"), ("data/mixed.bin", "replaced", "good"),
        ("readme.txt", "deleted", "good"), ("readme.txt", "tombstone", None),
    ]  # fmt: skip


@pytest.mark.parametrize("mode", [SalvageMode.ARCHIVE, FILES])
def test_bytes_without_a_name(bundle: Bundle, tmp_path: Path, mode: SalvageMode) -> None:
    """`raw` keeps what no row names, though the index is sound; without it nothing is kept."""
    bundle.rows[F] = FileMetadata(1, 0, 0, 5, 0x9A71BB4C).build()
    path = bundle.build()
    assert "pieces without a name" not in salvaged(path, tmp_path / "plain", mode=mode).recovered
    report = salvaged(path, tmp_path / "out", mode=mode, unreferenced=True)
    pieces = {name: data for name, data in content(tmp_path / "out").items() if name.startswith("unreferenced/")}
    (name,) = pieces
    start, end = (int(one) for one in name.removesuffix(".bin").rsplit("/", 1)[1].split("-"))
    assert name.startswith("unreferenced/shard-00000000/")
    stream = (b"hello world" + bytes(16))[start:end]
    assert (start, pieces[name]) == (5, stream)
    assert report.recovered["pieces without a name"] == 1
    assert report.lost["names of pieces"] == 1
    assert "bytes that no row of the index names were kept below unreferenced/" in report.notes
    assert report.verified_by is VerifiedBy.STRUCTURE


def test_a_flat_shard(bundle: Bundle, tmp_path: Path) -> None:
    del bundle.rows[R]
    path = bundle.build()
    report = salvaged(path, tmp_path / "out")
    assert content(tmp_path / "out")["f"] == b"hello world"
    assert reported(report) == [
        (0, 32, "rebuilt", "shard header"),
        (32, 43, "recovered", "data"),
        (43, 48, "ignored", "bytes that no row names"),
    ]
    assert report.lost == {}
    report = salvaged(path, tmp_path / "raw", unreferenced=True)
    assert content(tmp_path / "raw")["unreferenced/shard-00000000/11-16.bin"] == bytes(5)
    assert report.verified_by is VerifiedBy.NONE


def test_the_outcome_of_a_shard(bundle: Bundle, tmp_path: Path) -> None:
    """Header, bytes before the first record, records one by one, bytes after the last one."""
    stored = [zlib.compress(b"hello "), zlib.compress(b"world")]
    first = 64
    second = first + len(stored[0].ljust(32, b"\0"))
    bundle.header = ShardHeader(0, 1, 1000, 16, 3)
    head = bundle.header.build_file_start()
    bundle.shards["shard-00000000"] = head.ljust(first, b"\0") + stored[0].ljust(32, b"\0") + stored[1]
    bundle.rows[CONFIG_KEY] = BundleConfig(block_size=16, record_size=1000, compression=3).build()
    for offset, place in ((0, first), (6, second)):
        bundle.rows[build_record_key(0, offset)] = RecordMetadata(0, offset, place).build()
    end = second + len(stored[1])
    path = bundle.build()
    report = salvaged(path, tmp_path / "out")
    assert content(tmp_path / "out") == {"f": b"hello world"}
    size = len(head)
    assert reported(report) == [
        (0, size, "rebuilt", "shard header"), (size, first, "ignored", "no record"), (first, end, "recovered", "record")
    ]  # fmt: skip
    shard = path / "shard-00000000"
    shard.write_bytes(shard.read_bytes()[:second] + b"?" * len(stored[1]))
    report = salvaged(path, tmp_path / "damaged")
    assert reported(report)[-2:] == [(first, second, "recovered", "record"), (second, end, "lost", "record")]
    assert all(s.reason and s.code for s in report.spans if str(s.outcome) == "lost")
    assert (report.lost["records"], report.lost["files"]) == (1, 1)
    assert "f: no version can be read" in report.notes


def test_shards_that_cannot_be_read(bundle: Bundle, tmp_path: Path) -> None:
    bundle.shards["shard-00000000"] = b"PK\3\4" + bytes(60)
    bundle.shards["shard-00000001"] = HEAD
    bundle.shards["notes.txt"] = b"not ours"
    bundle.rows[file_key("empty").build()] = FileMetadata(1).build()
    report = salvaged(bundle.build(), tmp_path / "out")
    assert reported(report) == [(0, 64, "lost", "shard"), (0, 32, "lost", "shard")]
    assert [s.code for s in report.spans[:2]] == ["DBND-103", "DBND-306"]
    assert all(s.reason for s in report.spans[:2])
    assert (report.lost["shards"], report.lost["files"]) == (2, 1)
    assert reported(report, "notes") == [(0, 8, "ignored", "not part of the bundle")]


def test_unsafe_names_are_not_written(bundle: Bundle, tmp_path: Path) -> None:
    bundle.rows[b"\x02" + build_escaped(b"/../") + build_escaped(b"evil")] = FileMetadata(1).build()
    for mode in (SalvageMode.ARCHIVE, FILES):
        report = salvaged(bundle.build() if mode != FILES else bundle.folder, tmp_path / mode, mode=mode)
        assert content(tmp_path / mode) == {"f": b"hello world"}
        assert report.lost == {"files": 1}
        assert len([note for note in report.notes if "evil" in note]) == 1


def test_a_name_that_is_in_the_way(bundle: Bundle, tmp_path: Path) -> None:
    """A file cannot be a directory as well: one of them is lost, and said to be."""
    bundle.rows[file_key("f/below").build()] = FileMetadata(1, 0, 0, 11, CRC).build()
    report = salvaged(bundle.build(), tmp_path / "out", mode=FILES)
    assert content(tmp_path / "out") == {"f": b"hello world"}
    assert (report.recovered, report.lost) == ({"files": 1}, {"files": 1})
    assert [note for note in report.notes if note.startswith("f/below: ")]


def test_a_full_disk_is_no_damage(bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise SourceError("no space left")

    monkeypatch.setattr(OutputTree, "write", full)
    with pytest.raises(ExhumeError, match="no space left"):
        salvaged(bundle.build(), tmp_path / "out", mode=FILES)


def test_the_limits_apply(bundle: Bundle, tmp_path: Path) -> None:
    with pytest.raises(LimitExceededError):
        salvaged(bundle.build(), tmp_path / "out", limits=Limits(payload_size=10))


def compressed(bundle: Bundle) -> None:
    bundle.header = ShardHeader(0, 1, 1000, 16, 3)
    bundle.data = zlib.compress(b"hello world")
    bundle.rows[CONFIG_KEY] = BundleConfig(block_size=16, record_size=1000, compression=3).build()


def test_records_that_no_row_places_are_found(bundle: Bundle, tmp_path: Path) -> None:
    compressed(bundle)
    del bundle.rows[R]
    report = salvaged(bundle.build(), tmp_path / "out")
    assert content(tmp_path / "out") == {"f": b"hello world"}
    assert (report.recovered, report.lost) == ({"files": 1}, {})


def test_long_bytes_without_a_name(bundle: Bundle, tmp_path: Path) -> None:
    """More than a record of the output; and a second shard of the same kind is reported as well."""
    del bundle.rows[R], bundle.rows[F]
    bundle.data = bytes(range(256)) * 4500
    bundle.header = ShardHeader(0, 2, 1000, 16, 1)
    bundle.rows[file_key("f").build()] = FileMetadata(1, 0, 0, 5, crc32c(bundle.data[:5])).build()
    bundle.shards["shard-00000001"] = ShardHeader(1, 2, 1000, 16, 1).build_file_start() + b"second one      "
    report = salvaged(bundle.build(), tmp_path / "out", unreferenced=True)
    size = len(bundle.data)
    assert content(tmp_path / "out") == {
        "f": bundle.data[:5], f"unreferenced/shard-00000000/5-{size}.bin": bundle.data[5:],
        "unreferenced/shard-00000001/0-16.bin": b"second one      ",
    }  # fmt: skip
    assert reported(report) == [
        (0, 32, "rebuilt", "shard header"), (32, 32 + size, "recovered", "data"),
        (0, 32, "rebuilt", "shard header"), (32, 48, "recovered", "data"),
    ]  # fmt: skip


def test_a_file_without_proof_displaces_no_other(tmp_path: Path) -> None:
    """Files that are in the directory of those without proof already are other files."""
    members = {"readme.txt": b"a text", "unproven/f": b"of the bundle"}
    with exhume.databundle.create(tmp_path / "bundle") as writer:
        for name, data in members.items():
            writer.add(name, data)
    with exhume.open(tmp_path / "bundle") as archive:
        assert isinstance(archive, DataBundleArchive)
        meta = archive.rows()["readme.txt"].meta.build()
    rows = [(1, file_key(name).build(), meta) for name in ("f", "unproven/g")]
    batch = build_batch(append(tmp_path / "bundle"), rows)
    (tmp_path / "bundle" / "index" / "000003.log").write_bytes(flip(build_log([batch]), 0))
    report = salvaged(tmp_path / "bundle", tmp_path / "out", mode=FILES)
    more = {"unproven/unproven/f": b"a text", "unproven/unproven/g": b"a text"}
    assert content(tmp_path / "out") == {**members, **more}
    assert report.lost["names of files"] == 2


def test_rows_of_a_damaged_block(written: Path, tmp_path: Path) -> None:
    """A name that no checksum covers is not given back as one: the bytes, proved by their CRC-32C, go elsewhere."""
    key = file_key("f").build()
    with exhume.open(written) as archive:
        assert isinstance(archive, DataBundleArchive)
        meta = archive.rows()["readme.txt"].meta
    readme, mixed = file_key("readme.txt").build(), file_key("data/mixed.bin").build()
    sequence = append(written)
    batch = build_batch(sequence, [(0, readme, b""), (1, mixed, meta.build()), (1, key, meta.build())])
    (written / "index" / "000003.log").write_bytes(build_log([batch]))
    log = written / "index" / "000003.log"
    log.write_bytes(flip(log.read_bytes(), 0))
    report = salvaged(written, tmp_path / "out", mode=FILES)
    assert content(tmp_path / "out") == {**MEMBERS, "unproven/f": MEMBERS["readme.txt"]}
    assert report.lost["names of files"] == 1
    assert "files named by an index block with a bad checksum were put below unproven/" in report.notes
    assert report.verified_by is VerifiedBy.STRUCTURE
    for value in (FileMetadata(1).build(), FileMetadata(1, 0, 0, 5, 1).build(), b"\x08"):
        log.unlink()
        append(written, (1, key, value))
        log.write_bytes(flip(log.read_bytes(), 0))
        report = salvaged(written, tmp_path / value.hex(), mode=FILES)
        assert content(tmp_path / value.hex()) == MEMBERS
        assert report.lost == {"rows of files": 1}
        assert not [note for note in report.notes if "unproven" in note]
