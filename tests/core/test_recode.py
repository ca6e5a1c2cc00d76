"""Recode: the same content stored otherwise, proved; `--stored` shows payloads in place and native decoders agree."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import OutputExistsError, UnsupportedOperationError, WriterError
from exhume.findings import Severity
from exhume.formats.clp_s.reader import ClpSArchive
from exhume.formats.clp_s.write.build import Framing, write_container
from exhume.testing.damage import flip
from tests.archives import label, own_archives, real_archives
from tests.zs.make_samples import no_data

Cli = Callable[..., Any]

VARIANTS: dict[str, list[dict[str, Any]]] = {
    "clp-ir": [{"codec": "zstd", "level": 19}, {"codec": "none"}, {"stored": True}],
    "kv-ir": [{"codec": "zstd", "level": 19}, {"codec": "none"}, {"stored": True}],
    "clp-s": [{"level": "19"}, {"level": "1"}, {"stored": True}],
    "zs": [
        {"codec": "none"},
        {"codec": "deflate", "level": "9", "block_size": 64},
        {"codec": "lzma", "branching_factor": 2, "short_keys": True},
        {"stored": True},
        {"codec": "deflate", "stored": True},
    ],
    "databundle": [
        {"codec": "none"},
        {"codec": "snappy", "record_size": 1000, "alignment": 1},
        {"codec": "zlib", "level": "9", "shards": 3, "jobs": 2},
        {"stored": True},
        {"codec": "zlib", "stored": True},
    ],
}


def format_of(path: Path) -> str:
    return exhume.identify(path)[0].format


CASES = [
    pytest.param(path, options, id=f"{label(path)}-{index}")
    for path in [*own_archives(), *real_archives()[::3]]
    if "archive.clps" not in path.name or path.stat().st_size < 20_000
    for index, options in enumerate(VARIANTS.get(format_of(path), []))
]


@pytest.mark.parametrize(("path", "options"), CASES)
@pytest.mark.bulk
def test_content_stays_the_same(path: Path, options: dict[str, Any], tmp_path: Path) -> None:
    if any(finding.severity is Severity.ERROR for finding in exhume.verify(path)):  # its producer's own defect
        with pytest.raises(WriterError, match="does not verify"):
            exhume.recode(path, tmp_path / "out", **options)
        assert list(tmp_path.iterdir()) == []
        return
    report = exhume.recode(path, tmp_path / "out", **options)
    with exhume.open(path) as before, exhume.open(tmp_path / "out") as after:
        assert report.content_digest == before.content_digest() == after.content_digest()
    assert [f for f in exhume.verify(tmp_path / "out") if f.severity is Severity.ERROR] == []
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_stored_payloads_stay_in_place(tmp_path: Path) -> None:
    with exhume.create(tmp_path / "a.zs", "zs", codec="deflate") as writer:
        records: Any = writer
        records.add_records(b"record %04d" % i for i in range(100))
    assert b"record 0042" not in (tmp_path / "a.zs").read_bytes()
    exhume.recode(tmp_path / "a.zs", tmp_path / "b.zs", stored=True)
    assert b"record 0042" in (tmp_path / "b.zs").read_bytes()


def test_damaged_archives_are_not_recoded(tmp_path: Path) -> None:
    with exhume.create(tmp_path / "a.zs", "zs", codec="none") as writer:
        records: Any = writer
        records.add_records([b"a", b"b"])
    data = (tmp_path / "a.zs").read_bytes()
    (tmp_path / "bad.zs").write_bytes(flip(data, data.index(b"\x01a\x01b") + 1))
    with pytest.raises(exhume.ExhumeError):
        exhume.recode(tmp_path / "bad.zs", tmp_path / "out")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.zs", "bad.zs"]


def test_refusals(tmp_path: Path) -> None:
    with exhume.create(tmp_path / "a.zs", "zs", codec="none") as writer:
        records: Any = writer
        records.add_records([b"a", b"b"])
    with pytest.raises(OutputExistsError):
        exhume.recode(tmp_path / "a.zs", tmp_path / "a.zs")
    with pytest.raises(WriterError):
        exhume.recode(tmp_path / "a.zs", tmp_path / "b.zs", codec="deflate", level="99")
    with exhume.create(tmp_path / "a.caf", "caf") as made:
        members: Any = made
        members.add_bytes("x", b"y")
    with pytest.raises(UnsupportedOperationError):
        exhume.recode(tmp_path / "a.caf", tmp_path / "b.caf")


def test_what_cannot_be_written_is_reported_by_the_name_of_the_output(tmp_path: Path) -> None:
    with pytest.raises(WriterError, match="no records") as caught:
        exhume.recode(no_data(), tmp_path / "out.zs")
    assert caught.value.span is not None
    assert caught.value.span.source == str(tmp_path / "out.zs")
    assert list(tmp_path.iterdir()) == []


def test_the_verb(tmp_path: Path, exhume_cli: Cli) -> None:
    with exhume.create(tmp_path / "a.zs", "zs") as writer:
        records: Any = writer
        records.add_records(b"%d" % i for i in range(1000, 2000))
    ran = exhume_cli("recode", "--json", tmp_path / "a.zs", "--codec", "deflate", "-o", tmp_path / "b.zs")
    assert ran.code == 0, ran.err
    body = json.loads(ran.out)
    assert body["schema"] == "exhume.recode/1"
    assert body["content_digest"].startswith("sha256:")
    assert exhume_cli("recode", tmp_path / "a.zs", "--record-size", "5", "-o", tmp_path / "c.zs").code == 2
    assert exhume_cli("recode", tmp_path / "a.zs", "-o", tmp_path / "b.zs").code == 1


def test_sections_of_a_clp_s_archive_may_have_any_name(tmp_path: Path) -> None:
    path = next(path for path in own_archives() if path.name == "tiny.clps")
    with exhume.open(path) as archive:
        assert isinstance(archive, ClpSArchive)
        pieces = [(entry.name, [archive.head.read_at(entry.start, entry.size)]) for entry in archive.files]
        packets = [(int(packet.type), packet.body) for packet in archive.packets]
        more = [("/n\udcffte", [b"kept as it is"])]
        write_container(tmp_path / "odd.clps", archive.header.version, 1, packets, pieces + more, Framing())
    exhume.recode(tmp_path / "odd.clps", tmp_path / "out", level="19")
    with exhume.open(tmp_path / "odd.clps") as before, exhume.open(tmp_path / "out") as after:
        assert before.content_digest() == after.content_digest()
        assert isinstance(after, ClpSArchive)
        last = after.files[-1]
        assert (last.name, after.head.read_at(last.start, last.size)) == ("/n\udcffte", b"kept as it is")
