"""Bundles of dacha's own code and of the reference writer, as their expected.json says."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import ChecksumError, CodecError, ExhumeError
from exhume.findings import Severity
from exhume.formats.data_bundle.reader import DataBundleArchive
from exhume.formats.leveldb.model import type_name
from exhume.io.local import LocalTree
from tests.real import REAL, RealSamples

GOOD = [case for case in REAL.cases("data_bundle") if not case.startswith("bad")]


def load(real_samples: RealSamples, case: str) -> tuple[Path, dict[str, Any]]:
    folder = real_samples.path("data_bundle", case)
    return folder / "bundle", json.loads((folder / "expected.json").read_text("utf-8"))


@pytest.mark.parametrize("case", GOOD or ["none"])
def test_members_and_records(real_samples: RealSamples, case: str) -> None:
    path, expected = load(real_samples, case)
    with DataBundleArchive(LocalTree(path)) as archive:
        files = {e.name or "": e for e in archive.entries() if e.kind == "file"}
        assert sorted(files) == sorted(expected["files"])
        assert sorted(e.name or "" for e in archive.entries() if e.kind == "directory") == sorted(
            expected["directories"]
        )
        for name, facts in expected["files"].items():
            data = archive.read_member(name)
            assert len(data) == facts["size"] == files[name].size
            assert hashlib.sha256(data).hexdigest() == facts["sha256"]
            assert files[name].details["crc32c"] == f"{facts['crc32c']:08x}"
            assert files[name].details["shard_offset"] == facts["shard_uncompressed_offset"]
            if "user_data" in facts:
                assert files[name].details["user_data"] == facts["user_data"]
            assert archive.read_member(name, 5, 300) == data[5:300]
        records = [
            (number, start, place)
            for number in archive.shard_files()
            for start, place in zip(archive.view.shard(number).starts, archive.view.shard(number).places, strict=True)
        ]
        assert records == [
            (r.get("shard", 0), r["uncompressed_offset"], None if r["zeros"] else r["byte_offset"])
            for r in expected["records"]
        ]
        stored = sum((path / name).stat().st_size for name in archive.tree.names())
        assert stored == expected["total_bytes"]


@pytest.mark.parametrize("case", GOOD or ["none"])
def test_verifies_clean(real_samples: RealSamples, case: str) -> None:
    path, _ = load(real_samples, case)
    assert [str(f) for f in exhume.verify(path) if f.severity is not Severity.NOTE] == []
    assert exhume.identify(path)[0].format == "databundle"


def test_damaged_record_is_refused_and_found(real_samples: RealSamples, exhume_cli: Callable[..., Any]) -> None:
    path, expected = load(real_samples, "bad_record_flip")
    assert expected["must_fail"]
    errors = [f for f in exhume.verify(path) if f.severity is Severity.ERROR]
    assert [f.code for f in errors] == ["DBND-202"]
    assert errors[0].span is not None
    assert (errors[0].span.source, errors[0].span.start) == ("shard-00000000", 4096)
    with exhume.open(path) as archive:
        assert isinstance(archive, DataBundleArchive)
        for name, facts in expected["files"].items():
            if facts["size"]:
                with pytest.raises((CodecError, ChecksumError)) as caught:
                    archive.read_member(name)
                assert caught.value.code == "DBND-202"
    assert exhume_cli("verify", path).code == 4


def test_forensic_index(real_samples: RealSamples) -> None:
    path, expected = load(real_samples, "ref_forensic_index")
    with DataBundleArchive(LocalTree(path)) as archive:
        mine: list[dict[str, Any]] = [
            {
                "file": v.place.file.removeprefix("index/"),
                "offset": v.place.offset,
                **({"in_block": v.entry_offset} if v.operation is None else {}),
                "key_hex": v.key.hex(),
                "seq": v.sequence,
                "type": type_name(v.value_type),
                **({"value_hex": v.value.hex()} if v.value_type else {}),
            }
            for v in archive.database.versions()
        ]

        def order(entry: dict[str, Any]) -> tuple[Any, ...]:
            return entry["file"], entry["offset"], entry.get("in_block", 0)

        assert sorted(mine, key=order) == sorted(expected["index_raw_entries"], key=order)
        history = [
            {
                "key_hex": m["key_hex"],
                "seq": m["seq"],
                "type": m["type"],
                **({"value_hex": m["value_hex"]} if "value_hex" in m else {}),
            }
            for m in sorted(mine, key=lambda m: m["seq"])
        ]
        assert history == expected["index_history"]
        versions = {
            (v.path, v.version.sequence): (str(v.version.status), v.checksum_status) for v in archive.versions()
        }
        assert versions["deleted/secret.txt", 1] == ("deleted", "good")
        assert versions["deleted/secret.txt", 7] == ("tombstone", None)
        assert versions["keep.txt", 8] == ("replaced", "bad")
        assert versions["keep.txt", 9] == ("live", "good")


def test_deleted_bytes_come_back(real_samples: RealSamples, exhume_cli: Callable[..., Any]) -> None:
    path, _ = load(real_samples, "ref_forensic_index")
    assert exhume_cli("cat", "--sequence", 5, path, "deleted/secret.txt").out == b"SECRT"
    assert exhume_cli("cat", "--sequence", 5, "--range", "1:3", path, "deleted/secret.txt").out == b"EC"
    gone = exhume_cli("cat", path, "deleted/secret.txt")
    assert gone.code == 1
    assert gone.out == b""
    listing = json.loads(exhume_cli("list", "--all-versions", "--json", path).out)
    secret = [e for e in listing["entries"] if e["name"] == "deleted/secret.txt" and e["kind"] == "file"]
    assert [(e["status"], e["checksum_status"], e["superseded_by"], e["size"]) for e in secret] == [
        ("deleted", "good", 7, 5)
    ]
    assert "deleted/secret.txt" in exhume_cli("list", "--sequence", 5, path).text.splitlines()


def test_a_flat_shard_yields_ranges_without_decoding(real_samples: RealSamples) -> None:
    path, _ = load(real_samples, "ref_none_flat")
    with DataBundleArchive(LocalTree(path)) as archive:
        assert archive.view.shard(0).is_flat
        assert archive.read_member("d/z", 1) == archive.read_member("d/z")[1:]


def test_unknown_bundles_are_refused(tmp_path: Path) -> None:
    (tmp_path / "index").mkdir()
    (tmp_path / "shard-00000000").write_bytes(b"daBS")
    with pytest.raises(ExhumeError) as caught:
        exhume.open(tmp_path, format="databundle")
    assert caught.value.code == "LDB-101"
