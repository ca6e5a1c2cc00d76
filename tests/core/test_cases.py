"""Small inputs of situations that public bug reports describe, each read as the program that made it reads it.

`tests/samples/cases/` has them; the `*.expected.json` and `expected.json` are what the named program says.  Cases in a
`shared/cases` next to the repository are tested as well.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import SpecificationError
from exhume.findings import Verdict
from exhume.formats.leveldb.model import Status
from exhume.formats.leveldb.reader import LevelDbArchive
from tests.conftest import Ran
from tests.real import MORE, ROOT

FOLDERS = [folder for folder in (ROOT / "tests" / "samples" / "cases", Path(MORE).parent / "cases") if folder.is_dir()]


def cases(pattern: str) -> list[Path]:
    """Every case that matches; of two with the same name, the one of the repository."""
    found: dict[Path, Path] = {}
    for folder in FOLDERS:
        for path in sorted(folder.glob(pattern)):
            found.setdefault(path.relative_to(folder), path)
    return list(found.values())


def name_of(path: Path) -> str:
    return path.name.removesuffix(".expected.json")


@pytest.mark.parametrize("expected", cases("leveldb/*.expected.json"), ids=name_of)
def test_databases(expected: Path, tmp_path: Path) -> None:
    rows = {base64.b64decode(k): base64.b64decode(v) for k, v in json.loads(expected.read_text())["rows"]}
    path = expected.parent / name_of(expected)
    with exhume.open(path) as archive:
        assert isinstance(archive, LevelDbArchive)
        assert dict(archive.database.scan()) == rows
        assert {v.key: v.value for v in archive.database.versions() if v.status is Status.LIVE} == rows
    assert exhume.verify(path).verdict is Verdict.OK
    report = exhume.salvage(path, tmp_path / "saved")
    assert report.complete, report.lost
    with exhume.open(tmp_path / "saved") as archive:
        assert isinstance(archive, LevelDbArchive)
        assert dict(archive.database.scan()) == rows


def test_blocks_of_raw_deflate() -> None:
    (path,) = cases("leveldb/bedrock")
    with exhume.open(path) as archive:
        assert isinstance(archive, LevelDbArchive)
        assert len(dict(archive.database.scan())) == 12
    assert exhume.verify(path).verdict is Verdict.OK


def test_a_missing_blob_file_is_a_finding(tmp_path: Path) -> None:
    (path,) = cases("leveldb/blob-files")
    copy = tmp_path / "db"
    copy.mkdir()
    for file in path.iterdir():
        if file.suffix != ".blob":
            (copy / file.name).write_bytes(file.read_bytes())
    for quick in (False, True):
        checked = exhume.verify(copy, quick=quick)
        assert "LDB-310" in {found.code for found in checked}
        assert checked.verdict is Verdict.DAMAGED


@pytest.mark.parametrize("path", cases("mcap/*.mcap"), ids=lambda path: path.stem)
def test_nothing_of_mcap_is_dropped_in_silence(path: Path, tmp_path: Path, exhume_cli: Callable[..., Ran]) -> None:
    made = exhume_cli("create", "ark", path, "-o", tmp_path / "log")
    assert made.code == 0, made.err
    with exhume.open(tmp_path / "log") as log:
        archive: Any = log
        assert len(list(archive.messages())) == 10
        kept = {key: json.loads(value) for key, value in archive.metadata.items()}
    if path.stem == "attachments":
        assert [one["metadata"] for one in kept["mcap.metadata"]] == [{"k": "v"}, {"k": "w"}]
        assert [one["name"] for one in kept["mcap.attachments"]] == ["cal.bin"]
    assert exhume_cli("export", tmp_path / "log", "--to", "mcap", "-o", tmp_path / "back.mcap").code == 0
    assert _mcap(tmp_path / "back.mcap") == _mcap(path)


def _mcap(path: Path) -> dict[str, Any]:
    """The records of an MCAP file by the `mcap` package."""
    records = pytest.importorskip("mcap.records")
    stream = pytest.importorskip("mcap.stream_reader")
    topics: dict[int, str] = {}
    found: dict[str, Any] = {"messages": [], "attachments": [], "metadata": []}
    with path.open("rb") as file:
        for one in stream.StreamReader(file).records:
            if isinstance(one, records.Channel):
                topics[one.id] = one.topic
            elif isinstance(one, records.Message):
                times = one.log_time, one.publish_time, one.sequence
                found["messages"].append((topics[one.channel_id], *times, one.data))
            elif isinstance(one, records.Attachment):
                found["attachments"].append((one.name, one.media_type, one.log_time, one.create_time, one.data))
            elif isinstance(one, records.Metadata) and one.name != "ark.log":  # the identifiers of the log
                found["metadata"].append((one.name, one.metadata))
    return found


@pytest.mark.parametrize("expected", cases("kaitai/*/expected.json"), ids=lambda path: path.parent.name)
def test_specifications(expected: Path) -> None:
    case = json.loads(expected.read_text())
    (data,) = expected.parent.glob("*.bin")
    root = exhume.compile_ksy(expected.parent / case["ksy"]).read(data)
    assert eval(case["expression"], {"r": root}) == case["value"]


@pytest.mark.parametrize("path", cases("security/*.ksy"), ids=lambda path: path.stem)
def test_hostile_specifications(path: Path, exhume_cli: Callable[..., Ran]) -> None:
    one_byte = path.with_name("one.bin")
    refused = path.stem in ("dunder", "format_string", "multiply")
    if refused:
        with pytest.raises(SpecificationError) as raised:
            exhume.compile_ksy(path)
        assert "\n" not in str(raised.value)
    explained = exhume_cli("explain", one_byte, "--ksy", path)
    assert explained.code in ((1,) if refused else (0, 3)), explained.err  # 3: more nesting than is shown
    assert "Traceback" not in explained.err
