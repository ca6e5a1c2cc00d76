"""Repair: the new manifest names a log that reads and verifies, and every message that it lacks is reported."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exhume
from exhume.errors import ExhumeError, SourceError
from exhume.formats.ark import repair
from exhume.formats.ark.collection import open_archive
from exhume.formats.ark.layout import ENTRY_FIELDS, HEADER_FIELDS
from exhume.formats.ark.reader import ArkArchive
from exhume.formats.ark.repair import RepairReport, repair_log
from exhume.formats.ark.writer import Compression
from exhume.io.local import LocalTree
from tests.ark import make_samples
from tests.ark.logs import Plan, plans, write_plan
from tests.ark.test_recovery import read
from tests.ark.test_rules import DATA, Log, u32
from tests.conftest import Ran


def repaired(target: Path) -> RepairReport:
    with LocalTree(target) as tree, open_archive(tree, salvage=True, unfinished=True) as log:
        assert isinstance(log, ArkArchive)
        return repair_log(log)


def errors(target: Path) -> list[str]:
    with exhume.open(target) as log:
        return [str(finding) for finding in log.verify() if finding.severity == "error"]


def test_missing_and_unclosed_splits(tmp_path: Path, exhume_cli: Callable[..., Ran]) -> None:
    root = tmp_path / "log"
    made = make_samples.write_log(root)
    before = read(root)
    splits = sorted((root / "splits").iterdir())
    raw = bytearray(splits[1].read_bytes())
    start, end = HEADER_FIELDS.num_indexed_items
    counted = int.from_bytes(raw[start:end], "little")
    raw[start:end] = u32(counted - 3)
    splits[1].write_bytes(raw)
    gone = splits[2].name
    with exhume.open(root) as opened:
        assert isinstance(opened, ArkArchive)
        lost = [(m.time_ns, m.channel, m.data) for m in opened.messages() if m.split == gone]
    splits[2].unlink()
    names = {path.name for path in (root / "splits").iterdir()}
    ran = exhume_cli("repair", root, "--json")
    assert ran.code == 3
    report = json.loads(ran.text)
    assert list(report["dropped"]) == [gone]
    assert report["recovered_messages"] == 3
    found = read(Path(report["manifest"]))
    assert Counter(found) == Counter(before) - Counter(lost)
    assert names < {path.name for path in (root / "splits").iterdir()}
    assert report["common_identifier"] == made.common_identifier
    assert report["log_identifier"] != made.identifier
    assert exhume_cli("verify", report["manifest"]).code == 0


def test_a_whole_log_stays_as_it_is(tmp_path: Path) -> None:
    root = tmp_path / "log"
    make_samples.write_log(root)
    report = repaired(root)
    assert (report.dropped, report.rebuilt, report.lost_messages) == ({}, {}, 0)
    assert read(report.path) == read(next(p for p in (root / "manifests").iterdir() if p != report.path))


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_a_message_that_cannot_be_read_is_left_out(
    compression: Compression, tmp_path: Path, exhume_cli: Callable[..., Ran]
) -> None:
    log = Log(tmp_path / "log", compression=compression)
    before = read(log.root)
    raw = bytearray(log.split_path.read_bytes())
    raw[DATA] ^= 0xFF  # the first byte of the first message
    log.split_path.write_bytes(raw)
    ran = exhume_cli("repair", log.root, "--json")
    report = json.loads(ran.text)
    assert (ran.code, report["lost_messages"], list(report["rebuilt"])) == (3, 1, [log.split_path.name])
    assert Counter(read(Path(report["manifest"]))) == Counter(before[1:])


def test_a_repair_that_fails_leaves_no_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(tmp_path / "log")
    raw = bytearray(log.split_path.read_bytes())
    raw[DATA] ^= 0xFF
    log.split_path.write_bytes(raw)
    before = sorted(log.root.rglob("*"))

    def fail(*args: object, **options: object) -> bytes:
        assert len(list((log.root / "splits").iterdir())) == 2  # the copy is there
        raise SourceError("no space left")

    monkeypatch.setattr(repair, "derived_file", fail)
    with pytest.raises(SourceError, match="no space left"):
        repaired(log.root)
    assert sorted(log.root.rglob("*")) == before


def test_an_object_that_no_column_declares_is_not_mapped(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    raw = bytearray(log.split_path.read_bytes())
    raw[36] ^= 0xFF  # in the GUID of the first mapping
    log.split_path.write_bytes(raw)
    report = repaired(log.root)
    assert report.lost_messages == 3
    assert errors(report.path) == []


def test_a_count_that_the_manifest_contradicts(tmp_path: Path) -> None:
    """The statistics are those of the split then, and the difference is reported."""
    log = Log(tmp_path / "log")
    raw = bytearray(log.split_path.read_bytes())
    index = int.from_bytes(raw[slice(*HEADER_FIELDS.ofs_index)], "little")
    raw[index + ENTRY_FIELDS.timestamp_ns[0]] ^= 1  # the time of the first message
    log.split_path.write_bytes(raw)
    report = repaired(log.root)
    assert (report.kept, report.lost_messages) == ([log.split_path.name], 0)
    assert [finding.code for finding in report.findings] == ["ARK-343"]
    assert errors(report.path) == []


DAMAGE = ("remove", "cut", "flip", "zero", "header", "index", "count", "append", "empty")


def damage(data: st.DataObject, path: Path) -> str:
    """Damage a split in some way, and return which."""
    kind = data.draw(st.sampled_from(DAMAGE))
    raw = bytearray(path.read_bytes())
    if kind == "remove":
        path.unlink()
        return kind
    at = data.draw(st.integers(0, len(raw) - 1))
    index = int.from_bytes(raw[slice(*HEADER_FIELDS.ofs_index)], "little")
    start, end = HEADER_FIELDS.num_indexed_items
    if kind == "cut":
        del raw[at:]
    elif kind == "flip":
        raw[at] ^= 1 << data.draw(st.integers(0, 7))
    elif kind == "zero":
        raw[at : at + 40] = bytes(len(raw[at : at + 40]))
    elif kind == "header":
        raw[at % 60] ^= 1 << data.draw(st.integers(0, 7))
    elif kind == "index":
        raw[min(index + at % 54, len(raw) - 1)] ^= 1 << data.draw(st.integers(0, 7))
    elif kind == "count":
        count = int.from_bytes(raw[start:end], "little") + data.draw(st.sampled_from([-2, -1, 1, 1 << 31]))
        raw[start:end] = u32(max(0, count))
    elif kind == "append":
        raw += bytes(range(at % 256))
    else:
        raw.clear()
    path.write_bytes(raw)
    return kind


@given(plans(), st.data())
@settings(max_examples=60)
def test_what_is_repaired_reads_and_nothing_is_lost_in_silence(
    tmp_path_factory: pytest.TempPathFactory, plan: Plan, data: st.DataObject
) -> None:
    root = tmp_path_factory.mktemp("repair") / "log"
    *_, written = write_plan(plan, root)
    kinds = {damage(data, path) for path in sorted((root / "splits").glob("*")) if data.draw(st.booleans())}
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    try:
        report = repaired(root)
    except ExhumeError as error:
        assert "\n" not in str(error)
        return
    assert {path: path.read_bytes() for path in before} == before
    found = Counter(read(report.path))
    assert errors(report.path) == []
    missing = Counter(written) - found
    changed = found - Counter(written)  # with a time or bytes that no rule can tell from others
    assert report.lost_messages >= missing.total() - changed.total()
    if kinds <= {"remove", "cut", "empty", "count", "append"}:
        assert not changed
    if not kinds:
        assert (missing, report.lost_messages, report.dropped, report.rebuilt) == (Counter(), 0, {}, {})
