"""How `salvage` states that its output was verified: for every format, in every mode, intact and damaged."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
import exhume.engines.salvage as engine
from exhume.errors import UnsupportedOperationError
from exhume.findings import Finding, Severity
from exhume.formats.ark.rbuf.encoder import encoder_for
from exhume.formats.zs.writer import ZsWriter
from exhume.io.tree import MemoryTree
from exhume.limits import DEFAULT_LIMITS
from exhume.recovery import SalvageMode, SalvageReport, VerifiedBy
from exhume.registry import get_format
from exhume.testing import damage
from tests.archives import OWN

Cli = Callable[..., Any]
ARCHIVE, FILES, RECORDS = SalvageMode.ARCHIVE, SalvageMode.FILES, SalvageMode.RECORDS
CHECKSUMS, REREAD, UNVERIFIABLE = VerifiedBy.CHECKSUMS, VerifiedBy.STRUCTURE, VerifiedBy.NONE

SOUND = [
    ("zs/words-deflate.zs", {ARCHIVE: CHECKSUMS, RECORDS: CHECKSUMS}),
    ("caf/sorted.caf", {ARCHIVE: UNVERIFIABLE, FILES: UNVERIFIABLE}),
    ("caf/empty.caf", {ARCHIVE: VerifiedBy.EMPTY, FILES: VerifiedBy.EMPTY}),
    ("clp_s/demo.clps", {ARCHIVE: REREAD, RECORDS: REREAD}),
    ("ark/log", {ARCHIVE: REREAD, RECORDS: REREAD}),
    ("data_bundle/zlib", {ARCHIVE: CHECKSUMS, FILES: CHECKSUMS, RECORDS: CHECKSUMS}),
    ("data_bundle/flat", {ARCHIVE: CHECKSUMS, FILES: CHECKSUMS, RECORDS: CHECKSUMS}),
    ("leveldb/snappy", {ARCHIVE: CHECKSUMS, RECORDS: CHECKSUMS}),
]


@pytest.mark.parametrize("mode", list(SalvageMode))
@pytest.mark.parametrize(("name", "expected"), SOUND, ids=[name for name, _ in SOUND])
def test_each_format_and_mode(
    name: str, expected: dict[SalvageMode, VerifiedBy], mode: SalvageMode, tmp_path: Path, exhume_cli: Cli
) -> None:
    if mode not in expected:
        with pytest.raises(UnsupportedOperationError):
            exhume.salvage(OWN / name, tmp_path / "out", mode=mode)
        return
    report = exhume.salvage(OWN / name, tmp_path / "out", mode=mode)
    assert (report.verified_by, report.complete, report.findings) == (expected[mode], True, [])
    units = [report.recovered[kind] for kind in get_format(report.format).units]
    assert report.read_back == sum(units)
    flags = {ARCHIVE: (), FILES: ("--as-files",), RECORDS: ("--jsonl",)}[mode]
    ran = exhume_cli("salvage", "--json", OWN / name, "-o", tmp_path / "again", *flags)
    assert (ran.code, json.loads(ran.out)["verified_by"]) == (0, str(expected[mode]))
    stated = exhume_cli("salvage", OWN / name, "-o", tmp_path / "third", *flags)
    assert stated.code == 0
    assert ("matches the original's checksums" in stated.text) is (expected[mode] is CHECKSUMS)
    assert "verified" not in stated.text
    assert (f"read back: {report.read_back} " in stated.text) is (report.read_back != 0)


LAST = b"quiet winter\t5"


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        (lambda data: data[: -len(LAST) - 1], "expected 30, found 29"),
        (lambda data: data[:-1] + b"9", "expected sha256:"),
    ],
    ids=["fewer", "others"],
)
def test_output_that_is_sound_but_lacks_what_was_recovered(
    change: Callable[[bytes], bytes], reported: str, tmp_path: Path, exhume_cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a fault of a writer, or of the memory, would leave it."""
    add = ZsWriter.add_payload

    def faulty(self: ZsWriter, payload: bytes, stored: bytes) -> None:
        add(self, *((change(payload),) if payload.endswith(LAST) else (payload, stored)))

    monkeypatch.setattr(ZsWriter, "add_payload", faulty)
    ran = exhume_cli("salvage", OWN / "zs/words-deflate.zs", "-o", tmp_path / "out.zs")
    assert (ran.code, "EX-708" in ran.text, reported in ran.text) == (1, True, True), ran.text
    assert exhume.verify(tmp_path / "out.zs").ok


def test_output_that_is_missing(tmp_path: Path) -> None:
    report = SalvageReport("caf", str(tmp_path / "out"), recovered=Counter(files=2))
    found = engine.compare(report, tmp_path / "out", ARCHIVE, DEFAULT_LIMITS, 1)
    assert (report.read_back, [one.code for one in found]) == (0, ["EX-708"])


def salvaged(target: Any, tmp_path: Path, **options: Any) -> SalvageReport:
    return exhume.salvage(target, tmp_path / "out", **options)


def test_overwritten_data_of_a_chunk_are_not_called_verified(tmp_path: Path, exhume_cli: Cli) -> None:
    data = bytearray((OWN / "caf" / "sorted.caf").read_bytes())
    data[40:70] = b"?" * 30
    (tmp_path / "damaged.caf").write_bytes(data)
    ran = exhume_cli("salvage", tmp_path / "damaged.caf", "-o", tmp_path / "out.caf")
    assert ran.code == 0
    assert "lost: nothing that would show" in ran.text
    assert "the format provides no way to verify the content" in ran.text


def test_blocks_under_a_damaged_header_are_not_proved(tmp_path: Path) -> None:
    """The codec that they were decoded with, and the metadata, are the header's."""
    data = (OWN / "zs" / "words-deflate.zs").read_bytes()
    assert salvaged(damage.flip(data, 60), tmp_path, format="zs").verified_by is REREAD


def test_damaged_blocks_leave_the_others_proved(tmp_path: Path, exhume_cli: Cli) -> None:
    data = (OWN / "zs" / "words-deflate.zs").read_bytes()
    with exhume.open(data) as archive:
        first = next(entry for entry in archive.entries() if entry.kind == "data")
    report = salvaged(damage.flip(data, (first.offset or 0) + 4), tmp_path, format="zs")
    assert (report.verified_by, report.complete) == (CHECKSUMS, False)
    (tmp_path / "damaged.zs").write_bytes(damage.flip(data, (first.offset or 0) + 4))
    stated = exhume_cli("salvage", tmp_path / "damaged.zs", "-o", tmp_path / "saved.zs").text
    assert "written; the part that was recovered matches the original's checksums" in stated


def test_a_lost_header_is_named(tmp_path: Path, exhume_cli: Cli) -> None:
    (tmp_path / "x.clps").write_bytes(bytes(64) + (OWN / "clp_s" / "demo.clps").read_bytes()[64:])
    stated = exhume_cli("salvage", "--format", "clp-s", tmp_path / "x.clps", "-o", tmp_path / "y.clps")
    assert (stated.code, "lost: 1 header\n" in stated.text) == (3, True)


@pytest.mark.parametrize(("codec", "schema", "expected"), [
    ("lz4", True, REREAD), ("none", True, REREAD), ("lz4", False, REREAD), ("none", False, UNVERIFIABLE),
])  # fmt: skip
def test_messages_are_proved_by_what_can_decode_them(
    codec: Any, schema: bool, expected: VerifiedBy, tmp_path: Path
) -> None:
    from exhume.formats.ark.rbuf.idl import parse_idl
    from exhume.formats.ark.writer import ArkWriter

    registry = parse_idl("namespace test; schema Sample { uint64 number; }")
    with ArkWriter(tmp_path / "log", name="x") as log:
        channel = log.channel("/c", "test::Sample", registry if schema else None, column=log.column("column", codec))
        for number in range(5):
            channel.write(number + 1, encoder_for(registry, "test::Sample").encode({"number": number}))
    report = salvaged(tmp_path / "log", tmp_path)
    assert report.verified_by is expected
    assert any("/c" in note and "schema" in note for note in report.notes) is (expected is UNVERIFIABLE)


def test_members_under_a_damaged_index_are_not_proved(tmp_path: Path) -> None:
    """Rows of a block whose checksum does not fit may name other files; pieces have no row at all."""
    files = tree(OWN / "data_bundle" / "zlib")
    table = next(name for name in files if name.endswith(".sst"))
    report = salvaged(MemoryTree({**files, table: damage.flip(files[table], 20)}), tmp_path, format="databundle")
    assert report.verified_by is REREAD
    assert report.findings == []  # of the output: spans and notes report the damage of the input
    assert any("DBND-" in note or "LEVELDB" in note or "checksum" in note for note in report.notes)


def test_pieces_of_a_flat_shard_are_bytes_that_nothing_proves(tmp_path: Path) -> None:
    files = tree(OWN / "data_bundle" / "flat")
    shard = next(name for name in files if name.startswith("shard"))
    longer = MemoryTree({**files, shard: files[shard] + b"stray bytes"})
    report = salvaged(longer, tmp_path, format="databundle", unreferenced=True)
    assert report.recovered["pieces without a name"]
    assert report.verified_by is UNVERIFIABLE


def test_versions_of_blocks_with_a_bad_checksum(tmp_path: Path) -> None:
    """Lines have every readable version, even those of damaged blocks; a new database has none of them."""
    files = tree(OWN / "leveldb" / "small")
    log = "000006.log"  # the live one
    damaged = MemoryTree({**files, log: damage.flip(files[log], 0)})
    report = salvaged(damaged, tmp_path, format="leveldb", mode=RECORDS)
    lines = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert {line["checksum"] for line in lines} >= {"bad"}
    assert report.verified_by is UNVERIFIABLE
    again = exhume.salvage(damaged, tmp_path / "again", format="leveldb")
    assert again.verified_by in (CHECKSUMS, VerifiedBy.EMPTY)
    assert again.lost["versions with a bad checksum"]


@pytest.mark.parametrize("mode", [ARCHIVE, RECORDS])
def test_what_was_written_is_read_again(mode: SalvageMode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An output that breaks rules is said to have failed, however well its content was proved."""
    from exhume.formats.zs import salvage as module

    write = module._write_lines if mode is RECORDS else module._write_archive

    def spoil(recovery: Any, output: Path, jobs: int) -> None:
        write(recovery, output, jobs)
        data = bytearray(output.read_bytes())
        data[-30] = 0xFF
        output.write_bytes(data)

    monkeypatch.setattr(module, write.__name__, spoil)
    report = salvaged(OWN / "zs" / "words-deflate.zs", tmp_path, mode=mode)
    assert report.verified_by is VerifiedBy.FAILED
    assert [type(finding) for finding in report.findings] == [Finding] * len(report.findings)
    assert {finding.severity for finding in report.findings} == {Severity.ERROR}


def test_exit_codes(tmp_path: Path, exhume_cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """0: nothing is known to be lost; 3: something is; 1: nothing survives, or the output is broken."""
    data = (OWN / "zs" / "words-deflate.zs").read_bytes()
    (tmp_path / "noise").write_bytes(b"nothing of use here" * 30)
    ran = exhume_cli("salvage", "--format", "zs", "--json", tmp_path / "noise", "-o", tmp_path / "a")
    assert (ran.code, json.loads(ran.out)["verified_by"], (tmp_path / "a").exists()) == (1, "empty", False)
    (tmp_path / "cut").write_bytes(data[:-80])
    assert exhume_cli("salvage", tmp_path / "cut", "-o", tmp_path / "b").code in (0, 3)
    monkeypatch.setattr(
        "exhume.engines.salvage.Verification", lambda *_, **__: [Finding("ZS-202", Severity.ERROR, "broken", None)]
    )
    ran = exhume_cli("salvage", OWN / "zs" / "words-deflate.zs", "-o", tmp_path / "c")
    assert ran.code == 1
    assert "written, but it does not verify" in ran.text


def tree(path: Path) -> dict[str, bytes]:
    return {p.relative_to(path).as_posix(): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}
