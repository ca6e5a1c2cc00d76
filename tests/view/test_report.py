"""The case report: archives, groups and recoveries, the same bytes every time, on one safe page."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import exhume
from exhume.engines.case import CaseArchive
from exhume.engines.report import _grouped
from exhume.errors import SourceError
from exhume.io import opening
from exhume.recovery import ArchivePiece, SalvageReport
from exhume.testing.damage import flip
from exhume.view import report as page
from tests.conftest import ROOT

Cli = Callable[..., Any]
SAMPLES = ROOT / "tests/samples"


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A damaged ZS file, a clp-s archive, a bundle's shard and table, and an Ark log's split and manifest."""
    folder = tmp_path_factory.mktemp("report")
    with exhume.create(folder / "bundle", "databundle") as writer:
        members: Any = writer
        members.add("a/one.txt", b"hello " * 40)
        members.add("two.txt", b"world " * 90)
    ark = SAMPLES / "ark/log"
    words = (SAMPLES / "zs/words-none.zs").read_bytes()
    parts = [flip(words, 400, 1), (ROOT / "examples/clp_s/events.clps").read_bytes()]
    parts += [path.read_bytes() for path in sorted((folder / "bundle").rglob("*")) if path.name.startswith("shard-")]
    parts += [path.read_bytes() for path in sorted((folder / "bundle").rglob("*.sst"))]
    parts += [path.read_bytes() for path in sorted(ark.rglob("*")) if path.is_file()]
    path = folder / "disk.img"
    path.write_bytes(b"".join(bytes(4096) + part for part in parts) + bytes(512))
    return path


@pytest.fixture
def made(image: Path, tmp_path: Path, exhume_cli: Cli, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, dict[str, Any]]:
    """The page and the document of a report in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    shutil.copy(image, "disk.img")
    ran = exhume_cli("report", "disk.img", "-o", "case.html", "--json", "-q")
    assert ran.code == 3, ran.err
    return tmp_path, json.loads(ran.text)


def test_everything_is_hashed_copied_and_judged(made: tuple[Path, dict[str, Any]], image: Path) -> None:
    folder, reported = made
    data = image.read_bytes()
    assert reported["images"] == [{"name": "disk.img", "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}]
    assert reported["created"] == "2023-11-14T22:13:20Z"
    assert reported["verdict"] == "damaged"
    for one in reported["archives"]:
        part = data[one["offset"] : one["offset"] + one["length"]]
        assert (folder / "case" / one["file"]).read_bytes() == part
        assert one["sha256"] == hashlib.sha256(part).hexdigest()
    first = reported["archives"][0]
    assert (first["format"], first["verdict"], first["findings"][0]["code"]) == ("zs", "damaged", "ZS-202")
    assert first["findings_total"] == len(first["findings"])


def test_pieces_are_put_together_and_salvaged(made: tuple[Path, dict[str, Any]]) -> None:
    folder, reported = made
    by_format = {group["format"]: group for group in reported["groups"]}
    formats = {
        name: [reported["archives"][n]["format"] for n in group["archives"]] for name, group in by_format.items()
    }
    assert formats["databundle"] == ["databundle", "leveldb"]
    assert set(formats["ark"]) == {"ark"}
    assert len(formats["ark"]) > 1
    bundle = next(one for one in reported["recovered"] if one["group"] == by_format["databundle"]["number"])
    assert {file["name"].partition("/")[2]: file["size"] for file in bundle["files"]} == {
        "a/one.txt": 240,
        "two.txt": 540,
    }
    assert bundle["verified_by"] == "checksums"
    assert (folder / "case" / bundle["output"] / "two.txt").read_bytes() == b"world " * 90
    zs = next(one for one in reported["recovered"] if one["archives"] == [0])
    assert zs["verified_by"] == "checksums"
    assert exhume.verify(folder / "case" / zs["output"]).ok
    for file in (file for one in reported["recovered"] for file in one.get("files", ())):
        assert hashlib.sha256((folder / "case" / file["name"]).read_bytes()).hexdigest() == file["sha256"]


def test_the_same_image_yields_the_same_bytes(
    made: tuple[Path, dict[str, Any]], tmp_path: Path, exhume_cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, reported = made

    def everything(place: Path) -> dict[str, bytes]:
        return {
            path.relative_to(place).as_posix(): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()
        }

    before = everything(folder)
    again = tmp_path / "again"
    again.mkdir()
    monkeypatch.chdir(again)
    shutil.copy(folder / "disk.img", "disk.img")
    ran = exhume_cli("report", "disk.img", "-o", "case.html", "--json", "-q")
    assert json.loads(ran.text) == reported
    assert everything(again) == before
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000001")
    assert exhume_cli("report", "disk.img", "-o", "other.html", "--folder", "c2", "-q").code == 3
    one, two = (again / "case.html").read_text(), (again / "other.html").read_text()
    assert two.replace("22:13:21Z", "22:13:20Z").replace("<code>c2</code>", "<code>case</code>") == one


def test_the_page_states_what_the_document_states(made: tuple[Path, dict[str, Any]]) -> None:
    folder, reported = made
    page = (folder / "case.html").read_text(encoding="utf-8")
    assert not re.search(r"<script|(src|href)=['\"](?!#)", page)
    assert "default-src 'none'" in page
    for one in reported["archives"]:
        assert one["sha256"] in page
        assert f"id='a{one['number']}'" in page
    assert "structure is sound; this format has no checksums for its content" in page
    assert "ZS-202" in page
    assert page.count("<svg") > 2
    assert all(file["sha256"] in page for one in reported["recovered"] for file in one.get("files", ()))
    assert reported["installation"]["version"] in page


def test_a_hostile_name_is_only_text(tmp_path: Path, exhume_cli: Cli) -> None:
    target = tmp_path / "<script>alert(1)<!-- x.img"
    target.write_bytes(bytes(600) + (SAMPLES / "zs/words-none.zs").read_bytes())
    assert exhume_cli("report", target, "-o", tmp_path / "case.html", "-q").code == 0
    page = (tmp_path / "case.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_audit_records_are_the_timeline(image: Path, tmp_path: Path, exhume_cli: Cli) -> None:
    records = tmp_path / "case.jsonl"
    assert exhume_cli("carve", image, "-q", "--audit", records).code == 0
    assert exhume_cli("identify", SAMPLES / "zs/words-none.zs", "-q", "--audit", records).code == 0
    ran = exhume_cli("report", image, "-o", tmp_path / "case.html", "--records", records, "--json", "-q")
    reported = json.loads(ran.text)
    assert [run["verb"] for run in reported["timeline"]] == ["carve", "identify"]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:]+\.\d+Z", run["started"]) for run in reported["timeline"])
    assert reported["problems"] == []
    page = (tmp_path / "case.html").read_text()
    assert all(run["started"] in page and run["digest"] in page for run in reported["timeline"])
    lines = records.read_bytes().splitlines(keepends=True)
    records.write_bytes(lines[1])
    ran = exhume_cli("report", image, "-o", tmp_path / "b.html", "--records", records, "--json", "-q")
    assert ran.code == 3
    assert json.loads(ran.text)["problems"] != []


def test_the_exit_codes(tmp_path: Path, exhume_cli: Cli) -> None:
    (tmp_path / "none.img").write_bytes(bytes(5000))
    ran = exhume_cli("report", tmp_path / "none.img", "-o", tmp_path / "none.html")
    assert ran.code == 4
    assert "no archives found" in ran.out.decode()
    assert "nothing was copied" in ran.err
    text = (tmp_path / "none.html").read_text()
    assert "None was found" in text
    assert "Nothing was copied." in text
    assert not (tmp_path / "none").exists()
    (tmp_path / "given").mkdir()
    for folder, stays in (("given", True), ("new/below", False)):
        named = ("--folder", tmp_path / folder)
        assert exhume_cli("report", tmp_path / "none.img", "-o", tmp_path / f"{stays}.html", *named).code == 4
        assert (tmp_path / folder).exists() is stays
    assert not (tmp_path / "new").exists()
    (tmp_path / "one.img").write_bytes(bytes(5000) + (SAMPLES / "zs/words-none.zs").read_bytes())
    arguments = ("report", tmp_path / "one.img", "-o", tmp_path / "one.html")
    ran = exhume_cli(*arguments)
    assert ran.code == 0
    assert f"files below {tmp_path / 'one'}" in ran.err
    assert "Files are below" in (tmp_path / "one.html").read_text()
    assert exhume_cli(*arguments).code == 1, "the page is there"
    assert exhume_cli(*arguments, "--overwrite").code == 1, "the folder is not empty"
    assert exhume_cli("report", tmp_path / "one.img", "-o", tmp_path / "page").code == 2
    assert exhume_cli("report", tmp_path, "-o", tmp_path / "dir.html").code in (1, 2)
    assert exhume_cli("report", tmp_path / "missing", "-o", tmp_path / "m.html").code == 1
    assert not (tmp_path / "m").exists()


def test_a_missing_target_among_others_is_named(tmp_path: Path, exhume_cli: Cli) -> None:
    (tmp_path / "one.img").write_bytes((SAMPLES / "zs/words-none.zs").read_bytes())
    targets = tmp_path / "missing", tmp_path / "one.img"
    ran = exhume_cli("report", *targets, "-o", tmp_path / "case.html")
    assert ran.code == 1
    assert ran.err.count("missing: ") == 1
    assert f"unreadable: {tmp_path / 'missing'}: " in ran.out.decode()
    assert "1 archive found: 1 complete" in ran.out.decode()
    assert f"{tmp_path / 'missing'}" in (tmp_path / "case.html").read_text()
    gone = tmp_path / "gone", tmp_path / "missing"
    assert exhume_cli("report", *gone, "-o", tmp_path / "none.html").code == 1
    assert not (tmp_path / "none.html").exists(), "nothing can be read"


def test_several_images_have_a_folder_each(tmp_path: Path, exhume_cli: Cli) -> None:
    words = (SAMPLES / "zs/words-none.zs").read_bytes()
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(bytes(700) + words)
    ran = exhume_cli("report", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "two.html", "--json", "-q")
    reported = json.loads(ran.text)
    assert [one["image"] for one in reported["archives"]] == [0, 1]
    assert [one["file"] for one in reported["archives"]] == ["image-1/0000000002bc.zs", "image-2/0000000002bc.zs"]
    assert ran.code == 0


def test_a_file_where_the_folder_belongs_is_named(tmp_path: Path, exhume_cli: Any) -> None:
    (tmp_path / "image").write_bytes(b"nothing" * 99)
    (tmp_path / "case").touch()
    ran = exhume_cli("report", tmp_path / "image", "-o", tmp_path / "case.html", "--overwrite")
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert f"{tmp_path / 'case'}: a file, where the outputs need a directory" in ran.err
    assert not (tmp_path / "case.html").exists()


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with archives of both kinds, an image, a split image, links, and files of no format."""
    top = tmp_path_factory.mktemp("folder") / "ev"
    shutil.copytree(SAMPLES / "ark/log", top / "logs/ark")
    words = (SAMPLES / "zs/words-none.zs").read_bytes()
    (top / "words.zs").write_bytes(words)
    (top / "bad.zs").write_bytes(flip(words, 400, 1))
    for number in range(70):  # more files than the descriptors of the test below
        (top / f"logs/{number:03d}.txt").write_bytes(b"nothing\n" * number)
    image = bytes(4096) + (ROOT / "examples/clp_s/events.clps").read_bytes() + bytes(404)
    (top / "dump.bin").write_bytes(image)
    for number in range(3):
        (top / f"split.{number:03d}").write_bytes(image[number * 2500 : (number + 1) * 2500])
    (top / "outside").symlink_to("/etc", target_is_directory=True)
    (top / "again.zs").symlink_to("words.zs")
    return top


def test_a_directory_is_taken_file_by_file(evidence: Path, tmp_path: Path) -> None:
    limits = "import resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40)); "
    limits += "from exhume.cli.main import run; run()"
    page = tmp_path / "case.html"
    command = [sys.executable, "-c", limits, "report", str(evidence), "-o", str(page), "--json", "-q"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 3, ran.stderr
    reported = json.loads(ran.stdout)
    assert reported["targets"] == [str(evidence)]
    found = {Path(one["target"]).name: one for one in reported["archives"]}
    assert {name: one["verdict"] for name, one in found.items()} == {
        "bad.zs": "damaged", "dump.bin": "complete", "split.000": "complete", "words.zs": "complete", "ark": "complete",
    }  # fmt: skip
    log = found["ark"]
    assert (log["image"], log["offset"], log["sha256"], log["file"]) == (None, None, None, None)
    parts = sorted(path for path in (evidence / "logs/ark").rglob("*") if path.is_file())
    assert sorted(file["name"] for file in log["files"]) == [str(path) for path in parts]
    assert {file["sha256"] for file in log["files"]} == {
        hashlib.sha256(path.read_bytes()).hexdigest() for path in parts
    }
    assert log["length"] == sum(path.stat().st_size for path in parts)
    assert found["words.zs"]["file"] is None, "it is where it is"
    assert (tmp_path / "case" / found["dump.bin"]["file"]).read_bytes() == (
        ROOT / "examples/clp_s/events.clps"
    ).read_bytes()
    assert reported["counts"] == {"archive": 5, "unrecognized": 70, "part": 2, "link": 2, "unreadable": 0}
    links = {Path(one["name"]).name for one in reported["others"] if one["kind"] == "link"}
    assert links == {"outside", "again.zs"}
    assert len(reported["images"]) == 70 + 4
    text = page.read_text(encoding="utf-8")
    assert all(one["name"] in text for one in reported["others"])
    assert all(file["sha256"] in text for file in log["files"])


def test_a_report_stays_outside_of_what_it_is_about(evidence: Path, tmp_path: Path, exhume_cli: Cli) -> None:
    before = sorted(evidence.rglob("*"))
    for output in ("case.html", "logs/case.html"):
        ran = exhume_cli("report", evidence, "-o", evidence / output)
        assert (ran.code, "which the report is about" in ran.err) == (2, True)
    ran = exhume_cli("report", evidence, "-o", evidence.with_suffix(".html"))
    assert "is one of the inputs: give another place with --folder DIR" in ran.err
    copy = tmp_path / "words.zs"
    shutil.copy(evidence / "words.zs", copy)
    assert exhume_cli("report", copy, "-o", copy, "--overwrite").code == 2
    assert copy.read_bytes() == (evidence / "words.zs").read_bytes()
    assert sorted(evidence.rglob("*")) == before


def test_what_cannot_be_read_is_named(
    evidence: Path, tmp_path: Path, exhume_cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = opening.open_target

    def refuse(target: Any, **options: Any) -> Any:
        if str(target).endswith("dump.bin"):
            raise SourceError("Permission denied")
        return opened(target, **options)

    monkeypatch.setattr(opening, "open_target", refuse)
    ran = exhume_cli("report", evidence, "-o", tmp_path / "case.html", "--json", "-q")
    reported = json.loads(ran.text)
    assert ran.code == 1
    assert [one for one in reported["others"] if one["kind"] == "unreadable"] == [
        {"name": str(evidence / "dump.bin"), "kind": "unreadable", "message": "Permission denied"}
    ]
    assert len(reported["archives"]) == 4


@pytest.mark.parametrize("names", [("words.zs", "locked.bin"), ("locked.bin",), ("words.zs",)])
def test_a_verdict_is_not_ok_where_a_file_was_not_read(
    names: tuple[str, ...], tmp_path: Path, exhume_cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    evidence = tmp_path / "evidence"
    evidence.mkdir()
    for name in names:
        shutil.copy(ROOT / "tests/samples/zs/words-deflate.zs", evidence / name)
    opened = opening.open_target

    def refuse(target: Any, **options: Any) -> Any:
        if str(target).endswith("locked.bin"):
            raise SourceError("Permission denied")
        return opened(target, **options)

    monkeypatch.setattr(opening, "open_target", refuse)
    ran = exhume_cli("report", evidence, "-o", tmp_path / "case.html", "--json", "-q")
    is_read = "locked.bin" not in names
    assert (json.loads(ran.text)["verdict"], ran.code) == (("ok", 0) if is_read else ("incomplete", 1))


def test_pieces_in_a_directory_are_put_together(tmp_path: Path, exhume_cli: Cli) -> None:
    """Two bundles whose files are loose in a folder each: no table takes the place of another, nor a shard."""
    ev = tmp_path / "ev"
    for name, size in (("one", 40), ("two", 90)):
        with exhume.create(tmp_path / name, "databundle") as writer:
            members: Any = writer
            members.add(f"{name}.txt", b"hello " * size)
        (ev / name).mkdir(parents=True)
        for path in (tmp_path / name).rglob("*"):
            if path.suffix == ".sst" or path.name.startswith("shard-"):
                shutil.copy(path, ev / name / f"{path.name}.bin")
    ran = exhume_cli("report", ev, "-o", tmp_path / "case.html", "--json", "-q")
    reported = json.loads(ran.text)
    assert len(reported["groups"]) == 2
    for group in reported["groups"]:
        assert {Path(reported["archives"][number]["target"]).parent for number in group["archives"]} in (
            {ev / "one"}, {ev / "two"},
        )  # fmt: skip
    written = {Path(file["name"]).name: file["size"] for one in reported["recovered"] for file in one["files"]}
    assert written == {"one.txt": 240, "two.txt": 540}


def test_pieces_are_grouped_by_what_they_refer_to() -> None:
    def groups(*known: tuple[str, str, str, str]) -> list[list[int]]:
        carved: Any = None
        pieces = [
            (
                CaseArchive(at, f"{folder}/{at}", at, carved, ""),
                ArchivePiece(key, frozenset(refers.split()), path, "", ""),
            )
            for at, (key, refers, path, folder) in enumerate(known, 1)
        ]
        return [[found.number for found, _ in group] for group in _grouped(pieces)]

    assert groups(("s", "", "s", ""), ("x", "", "x", ""), ("m", "s t", "m", "")) == [[1, 3], [2]]
    alike = [("shard 0", "small", "0", ""), ("shard 0", "large", "0", "")]
    assert groups(*alike) == [[1], [2]], "a key that nothing refers to ties nothing"
    folders = [("a", "kind", path, folder) for folder in "xy" for path in ("0", f"index/{ArchivePiece.ANY}")]
    assert groups(*folders) == [[1, 2], [3, 4]], "two claim one place: each folder is one archive"
    assert groups(("a", "k", "0", ""), ("b", "k", "0", ""), ("c", "k", ArchivePiece.ANY, "")) == [[1, 3]]


@pytest.mark.parametrize("count", [1, 3, 4, 64])
def test_many_notes_are_a_list_of_their_own(count: int) -> None:
    report = SalvageReport("zs", "out")
    report.notes += [f"note <{number}>" for number in range(count)]
    one: Any = SimpleNamespace(group=None, archives=[7], report=report)
    cell, listed = page._outcome(one)[-1], page._long_notes(one)
    if count <= page.NOTES:
        assert (cell.count("note <"), listed) == (count, "")
    else:
        assert (cell, listed.count("<li>note &lt;")) == (f"{count} notes: see below", count)
        assert f"<summary>{count} notes on #7</summary>" in listed
