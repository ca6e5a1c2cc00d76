"""What verify reports of crafted bundles, as whole lists: places, expected and stored values, progress, and silence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.findings import Finding, Verdict
from exhume.formats.data_bundle.layout import build_escaped
from exhume.formats.data_bundle.messages import FileMetadata, ShardHeader
from exhume.formats.data_bundle.reader import DataBundleArchive
from exhume.formats.leveldb.manifest import replay
from exhume.formats.leveldb.table_writer import build_log
from exhume.formats.leveldb.wire import build_bytes
from exhume.io.local import LocalTree
from exhume.io.source import BytesSource, Source
from exhume.io.tree import MemoryTree
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.testing.damage import overwrite
from tests.data_bundle.make_samples import add_history, write_bundle
from tests.data_bundle.test_damage import (
    CRC,
    SPLIT,
    Bundle,
    F,
    R,
    both,
    config,
    data,
    drop_row,
    file_of,
    load,
    records,
    set_header,
    set_row,
    set_shard,
)
from tests.leveldb.make_samples import edit

Change = Callable[[Bundle], None]
Row = tuple[str, str, int, Any, Any]
"""Code, file, offset, expected and actual value of a finding."""

SHARD = "shard-00000000"
TWOS = ShardHeader(0, 1, 1000, 2, 1).build_file_start()
"""A header that states an alignment of two."""
TABLE = "index/000004.sst"
PAIR = build_bytes(b"\x12" + build_bytes(bytes(300)))
NAMED = set_row(F, FileMetadata(1, 0, 0, 11, CRC ^ 1).build() + b"\x32" + PAIR)
"""A row of more than 300 bytes, about a file whose checksum differs."""
UNKNOWN_ROW = set_row(b"\x07", b"?")


def verified(path: Path, limits: Limits = DEFAULT_LIMITS, *, quick: bool = False) -> list[Finding]:
    return list(exhume.verify(path, format="databundle", limits=limits, quick=quick))


def rows(found: list[Finding]) -> list[Row]:
    return [(f.code, f.span.source, f.span.start, f.expected, f.actual) for f in found if f.span is not None]


CASES: dict[str, tuple[Change, list[Row]]] = {
    "data that is not aligned": (
        both(set_header(record_alignment=2), config(block_size=2), drop_row(R),
             set_shard(overwrite(TWOS, 8, b"\x21\0\0\0").ljust(33, b"\0") + b"hello world")),
        [("DBND-312", SHARD, 0, 2, 33)]),
    "a first record that starts late": (
        both(data(b"lo wo".ljust(16, b"\0") + b"rld"), records((3, 32), (8, 48))),
        [("DBND-321", SHARD, 0, None, "starts at 3"), ("DBND-315", SHARD, 0, "at least 3", 0)]),
    "compressed records without rows": (both(set_header(compression=3), config(compression=3), drop_row(R)), [
        ("DBND-315", SHARD, 0, "rows of compressed records", "none")]),
    "files up to the last record, and behind it": (
        both(data(SPLIT), records((0, 32), (6, 48)), file_of(0, 6, "f", 0x7E627E58), file_of(6, 40, "g", 0)),
        [("DBND-315", SHARD, 0, "at most 22", 46)]),
    "a name without a slash before it": (
        both(set_row(b"\x02" + build_escaped(b"etc/") + build_escaped(b"passwd"), FileMetadata(1).build())),
        [("DBND-401", TABLE, 0, None, b"etc/passwd")]),
    "a name without a slash behind it": (
        both(set_row(b"\x02" + build_escaped(b"/etc") + build_escaped(b"passwd"), FileMetadata(1).build())),
        [("DBND-401", TABLE, 0, None, b"/etcpasswd")]),
    "a name that is not UTF-8": (
        both(set_row(b"\x02" + build_escaped(b"/") + build_escaped(b"\xff"), FileMetadata(1).build())),
        [("DBND-401", TABLE, 0, None, b"/\xff")]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_exactly_this_is_reported(name: str, tmp_path: Path) -> None:
    change, expected = CASES[name]
    bundle = Bundle(tmp_path / "b")
    change(bundle)
    assert rows(verified(bundle.build())) == expected


@pytest.mark.parametrize("quick", [False, True])
def test_rows_above_a_limit_are_reported(tmp_path: Path, quick: bool) -> None:
    """What they state cannot be checked: nothing is reported as missing for their lack, and the verdict is not `ok`."""
    bundle = Bundle(tmp_path / "b")
    both(NAMED, UNKNOWN_ROW, drop_row(R))(bundle)
    path = bundle.build()
    found = verified(path, Limits(payload_size=200), quick=quick)
    assert [one.code for one in found] == ["DBND-304", "LDB-503"]
    assert Verdict.of(found) is Verdict.INCOMPLETE
    assert "DBND-201" in [one.code for one in verified(path)]


def test_an_index_without_its_log_says_nothing_of_the_shards(tmp_path: Path) -> None:
    """Rows that seem to be missing may be in the log, which is elsewhere or lost."""
    bundle = Bundle(tmp_path / "b")
    drop_row(F)(bundle)
    index = bundle.build() / "index"
    assert [one.code for one in verified(index.parent)] == []
    [manifest] = index.glob("MANIFEST-*")
    with LocalTree(index).source(manifest.name) as source:
        [table] = replay(source).tables
    named = (table.level, table.number, table.size, table.smallest, table.largest)
    manifest.write_bytes(build_log([edit(log=9, last=9, following=10, tables=[named])]))
    found = verified(index.parent)
    assert [one.code for one in found if one.is_problem or one.code != "LDB-401"] == ["LDB-115"]
    assert Verdict.of(found) is Verdict.INCOMPLETE


@pytest.mark.parametrize(("change", "expected"), [
    (lambda bundle: None, [(1, 1)]),
    (file_of(0, 5, "g"), [(0, 2), (1, 2), (2, 2)]),
], ids=["all proven by their records", "two to be read"])  # fmt: skip
def test_progress_counts_every_file(tmp_path: Path, change: Change, expected: list[tuple[int, int]]) -> None:
    bundle = Bundle(tmp_path / "b")
    change(bundle)
    seen: list[tuple[int, int | None, str]] = []
    with exhume.open(bundle.build(), format="databundle") as archive:
        assert isinstance(archive, DataBundleArchive)
        list(archive.verify(progress=lambda *step: seen.append(step)))
    assert [step for step in seen if step[2] == "files"] == [(*step, "files") for step in expected]


class Counted(BytesSource):
    """A file that counts how often it is open."""

    def __init__(self, files: CountedTree, name: str, content: bytes) -> None:
        super().__init__(content, name)
        self.files = files
        files.open.append(name)

    def close(self) -> None:
        self.files.open.remove(self.name)


class CountedTree(MemoryTree):
    """A directory that knows which of its files are open."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(files)
        self.content = files
        self.open: list[str] = []

    def source(self, name: str) -> Source:
        return Counted(self, name, self.content[name])


def test_every_shard_is_closed_again(tmp_path: Path) -> None:
    """Those that old rows are read through too."""
    write_bundle(tmp_path / "b", shards=2)
    add_history(tmp_path / "b")
    tree = CountedTree(load(tmp_path / "b"))
    with DataBundleArchive(tree) as archive:
        assert "DBND-402" in {finding.code for finding in archive.verify()}
        assert [name for name in tree.open if name.startswith("shard-")] == []
