"""What survives damage: salvage, repair, carving, the manifest ladder; nothing that is read is ever changed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exhume
from exhume.engines.carve import carve
from exhume.engines.salvage import salvage
from exhume.errors import ExhumeError
from exhume.formats.ark.collection import open_archive
from exhume.formats.ark.layout import ENTRY_FIELDS, HEADER_FIELDS
from exhume.formats.ark.reader import ArkArchive
from exhume.io.local import LocalTree
from exhume.io.tree import MemoryTree
from exhume.recovery import SalvageMode, SalvageReport, VerifiedBy
from tests.ark import make_samples
from tests.ark.samples import assert_message, load
from tests.ark.test_rules import Log, u32
from tests.conftest import Ran
from tests.real import REAL, RealSamples

CASES = REAL.cases("ark")


def read(path: Path, **options: Any) -> list[tuple[int, str, bytes]]:
    with exhume.open(path, **options) as log:
        assert isinstance(log, ArkArchive)
        return [(m.time_ns, m.channel, m.data) for m in log.messages()]


@pytest.mark.parametrize("case", CASES or ["none"])
def test_real_samples_are_salvaged(case: str, real_samples: RealSamples, tmp_path: Path) -> None:
    expected = load(real_samples.path("ark", case))
    report = salvage(real_samples.path("ark", case, expected["manifest"]), tmp_path / "out")
    bad = set(expected.get("bad_messages", ()))
    wanted = [message for position, message in enumerate(expected["messages"]) if position not in bad]
    with exhume.open(tmp_path / "out") as log:
        assert isinstance(log, ArkArchive)
        found = list(log.messages())
    assert len(found) == len(wanted)
    for message, one in zip(found, wanted, strict=True):
        place = {"split": message.split[:8], "offset": message.offset, "stored_size": message.stored_size}
        assert_message(message, {**one, **place})
    assert report.verified_by is VerifiedBy.STRUCTURE
    assert report.recovered["messages"] == len(wanted)


def salvaged(log: Log, tmp_path: Path, **options: Any) -> tuple[SalvageReport, list[tuple[int, str, bytes]]]:
    out = tmp_path / "salvaged"
    report = salvage(log.root, out, format="ark", **options)
    assert report.verified_by in (VerifiedBy.STRUCTURE, VerifiedBy.NONE), [str(finding) for finding in report.findings]
    return report, read(out)


WHOLE: list[Callable[[Log], Any]] = [
    lambda log: log.poke(0, b"\0"),  # header byte
    lambda log: log.poke_header("format_version", 9),
    lambda log: log.poke(5, b"\xff\xff"),  # the split's own GUID
    lambda log: log.poke_header("ofs_index", 7),
    lambda log: log.poke_header("ofs_index", 1 << 31),
    lambda log: log.poke_header("num_maximum_items", 0),
    lambda log: log.poke_header("num_type_mappings", 1 << 20),
    lambda log: log.poke_header("num_indexed_items", 3),
    lambda log: log.poke_header("num_indexed_items", 0),
    lambda log: log.poke(-20, b"\0", log.manifest_path),  # trailer
    lambda log: log.poke(35, b"\0"),  # header byte of a mapping
]


@pytest.mark.parametrize("damage", WHOLE)
def test_damage_around_the_messages_costs_none(tmp_path: Path, damage: Callable[[Log], Any]) -> None:
    log = Log(tmp_path / "log")
    before = read(log.root)
    damage(log)
    _, found = salvaged(log, tmp_path)
    assert found == before


def test_a_count_that_is_wrong_keeps_what_fits(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    before = read(log.root)
    log.poke_header("num_indexed_items", 1 << 24)
    _, found = salvaged(log, tmp_path)
    assert found == before


@pytest.mark.parametrize("offset", [2048, 8192])
def test_an_index_that_is_elsewhere_is_found(tmp_path: Path, offset: int) -> None:
    """The header does not lead to it: it is looked for where writers put it."""
    log = Log(tmp_path / "log")
    before = read(log.root)
    raw = log.split_path.read_bytes()
    log.split_path.write_bytes(raw[:1024].ljust(offset, b"\0") + raw[1024:])
    start, end = ENTRY_FIELDS.ofs_data
    for position in range(6):
        at = offset + 18 * position
        old = int.from_bytes(raw[1024 + 18 * position :][start:end], "little")
        log.poke(at + start, u32(old + offset - 1024))
    report, found = salvaged(log, tmp_path)
    assert found == before
    assert f"split {log.split_path.name}: the index is at offset {offset}, not at 1024" in report.notes


@pytest.mark.parametrize("size", range(0, 1500, 97))
def test_cut_splits_keep_what_is_there(tmp_path: Path, size: int) -> None:
    log = Log(tmp_path / "log")
    before = read(log.root)
    raw = log.split_path.read_bytes()
    log.split_path.write_bytes(raw[:size])
    out = tmp_path / "out"
    report = salvage(log.root, out, format="ark")
    found = read(out) if report.recovered["messages"] else []
    assert found == before[: len(found)]
    if size > 1168 + 2 * len(before[0][2]):
        assert len(found) >= 2


def test_one_bad_message_costs_one(tmp_path: Path) -> None:
    for compression in ("none", "lz4", "zstd"):
        log = Log(tmp_path / compression, compression)
        before = read(log.root)
        start, _ = HEADER_FIELDS.ofs_index
        assert log.split_path.read_bytes()[start : start + 4] == u32(1024)
        log.poke(1024 + 144, b"\xee")
        report = salvage(log.root, tmp_path / f"out-{compression}")
        assert read(tmp_path / f"out-{compression}") == before[1:]
        assert report.lost["messages"] == 1
        assert not report.complete
        assert {str(outcome.outcome) for outcome in report.spans} >= {"recovered", "lost", "rebuilt"}


def test_json_lines_and_what_is_refused(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    salvage(log.root, tmp_path / "lines.jsonl", mode=SalvageMode.RECORDS)
    lines = [json.loads(line) for line in (tmp_path / "lines.jsonl").read_text().splitlines()]
    assert [line["time_ns"] for line in lines] == [100, 101, 102, 103, 104, 105]
    with pytest.raises(ExhumeError):
        salvage(log.root, tmp_path / "files", mode=SalvageMode.FILES)


def test_messages_without_index_are_kept_without_times(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    log.poke(1024, bytes(144))  # the whole index
    report = salvage(log.root, tmp_path / "out")
    assert report.recovered["messages without time"] == 6
    assert report.lost["messages"] == 6
    (file,) = (tmp_path / "out/untimed").iterdir()
    assert [json.loads(line)["value"]["number"] for line in file.read_text().splitlines()] == list(range(6))
    assert read(tmp_path / "out") == []


def test_the_ladder_states_which_rung(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    before = read(log.root)
    with exhume.open(log.root) as opened:
        assert isinstance(opened, ArkArchive)
        assert opened.schema_source == "embedded registry"
    log.change_value(lambda value: None, registry=False)
    with exhume.open(log.root) as opened:
        assert isinstance(opened, ArkArchive)
        assert opened.schema_source == "built-in schemas"
        assert [(m.time_ns, m.channel, m.data) for m in opened] == before
    data = log.manifest_path.read_bytes()
    log.manifest_path.write_bytes(data[:-29].replace(b"column", b"column") + b"\xff\xff" + data[-29:-25] + b"rest")
    raw = bytearray(log.manifest_path.read_bytes())
    raw[60] ^= 0xFF  # a count in the middle: no schema fits any more
    log.manifest_path.write_bytes(raw)
    with exhume.open(log.root) as opened:
        assert isinstance(opened, ArkArchive)
        assert opened.schema_source == "salvage scan"
        assert [(m.time_ns, m.channel, m.data) for m in opened] == before
        assert {channel.name for channel in opened.channels()} == {"/a", "/b"}


def test_a_damaged_manifest_with_its_schema_is_refused_but_salvaged(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    before = read(log.root)
    log.poke(60, b"\xff\xff", log.manifest_path)
    with pytest.raises(ExhumeError) as caught:
        exhume.open(log.root)
    assert caught.value.code == "ARK-348"
    _, found = salvaged(log, tmp_path)
    assert found == before


def test_splits_without_any_manifest(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    before = read(log.root)
    log.manifest_path.unlink()
    _, found = salvaged(log, tmp_path)
    assert [(time, data) for time, _, data in found] == [(time, data) for time, _, data in before]
    with exhume.open(log.split_path) as split:
        assert isinstance(split, ArkArchive)
        assert split.schema_source == "split file alone"
        assert [m.data for m in split] == [data for _, _, data in before]


def test_carving_finds_manifests_and_splits(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    manifest, split = log.manifest_path.read_bytes(), log.split_path.read_bytes()
    rng = random.Random(5)
    noise = [rng.randbytes(700) for _ in range(3)]
    image = noise[0] + manifest + noise[1] + split + noise[2]
    found = {(c.offset, c.length): str(c.verdict) for c in carve(image, only=["ark"])}
    assert found[700, len(manifest)] == "complete"
    assert found[1400 + len(manifest), len(split)] == "complete"
    cut = {(c.offset, c.length): str(c.verdict) for c in carve(noise[0] + split[:1200], only=["ark"])}
    assert cut == {(700, 1200): "partial"}
    assert list(carve(bytes(5000) + b"\xd1\x01\x00" + bytes(5000), only=["ark"])) == []


@given(st.data())
@settings(max_examples=80)
def test_any_damage_is_reported_without_a_traceback(data: st.DataObject) -> None:
    files = dict(_sample_files())
    name = data.draw(st.sampled_from(sorted(files)))
    raw = bytearray(files[name])
    for _ in range(data.draw(st.integers(1, 3))):
        limit = len(raw) if data.draw(st.booleans()) else 300
        at = data.draw(st.integers(0, limit - 1))
        raw[at] = data.draw(st.integers(0, 255))
    if data.draw(st.integers(0, 5)) == 0:
        raw = raw[: data.draw(st.integers(0, len(raw)))]
    tree = MemoryTree({**files, name: bytes(raw)})
    try:
        with open_archive(tree) as log:
            assert isinstance(log, ArkArchive)
            list(log.verify())
            log.info().to_dict()
            list(log.sections())
            list(log.messages(on_error="skip", on_missing="skip"))
    except ExhumeError as error:
        assert "\n" not in str(error)


_FILES: dict[str, bytes] = {}


def _sample_files() -> dict[str, bytes]:
    if not _FILES:
        root = Path(__file__).parent.parent / "samples/ark/log"
        for path in sorted(root.rglob("*")):
            if path.is_file():
                _FILES[path.relative_to(root).as_posix()] = path.read_bytes()
    return _FILES


def test_reading_changes_nothing(tmp_path: Path, exhume_cli: Callable[..., Ran]) -> None:
    root = tmp_path / "log"
    make_samples.write_log(root)
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    for verb in (["info"], ["list", "--long"], ["list", "--sections"], ["verify"], ["cat"], ["explain"]):
        assert exhume_cli(verb[0], root, *verb[1:]).code == 0
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
    assert LocalTree(root).names("splits") == sorted(
        path.relative_to(root).as_posix() for path in before if path.parent.name == "splits"
    )
