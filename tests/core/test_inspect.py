"""What examiners bring: `explain`, `map`, `list --sections` and `info` of what does not open, or not whole.

Every broken sample of every format, every sample cut at many places: no verb refuses, every byte is in a section,
damage is reported, and the exit code is 3 wherever something could not be read.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.engines.explain import Selection, explain_archive
from exhume.engines.inspect import Inspection
from exhume.errors import ExhumeError
from exhume.layout.sections import SectionKind
from exhume.registry import formats
from exhume.testing.damage import flip
from tests.sizes import some

Cli = Callable[..., Any]
SAMPLES = Path(__file__).resolve().parent.parent / "samples"
FORMATS = {
    "zs": "zs",
    "caf": "caf",
    "clp-s": "clp_s",
    "ark": "ark",
    "databundle": "data_bundle",
    "leveldb": "leveldb",
    "clp-ir": "clp_ir",
    "kv-ir": "kv_ir",
}
TABLE = [["explain", "--json", "--depth", "99"], ["list", "--sections", "--json"], ["info", "--json"], ["map"]]


def samples(format: str) -> list[Path]:
    """The archives of a format: files, or directories."""
    folder = SAMPLES / FORMATS[format]
    directories = [path for path in folder.iterdir() if path.is_dir() and path.name != "broken"]
    if formats()[format].container == "directory":
        return sorted(directories)
    files = [path for path in folder.iterdir() if path.suffix in formats()[format].extensions]
    return sorted([*files, *(directories if formats()[format].container == "either" else [])])


def broken(format: str) -> list[Path]:
    folder = SAMPLES / FORMATS[format] / "broken"
    return sorted(folder.iterdir()) if folder.is_dir() else []


THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"


def cuts(size: int, few: bool) -> list[int]:
    """Where a file of that size is cut."""
    here = {0, 24, size // 2, size - 8}
    if not few:
        here |= {1, 4, 8, 16, 40, 64, 88, 200, size // 3, size - 60, size - 17, size - 4, size - 1}
    return sorted(here & set(range(size)))


def truncations(format: str, at: Path) -> Iterator[tuple[str, Path]]:
    """A sample cut at many offsets: in each of its files."""
    for sample in samples(format)[0 if THOROUGH else -1 :]:
        for file in sorted(p for p in sample.rglob("*") if p.is_file()) if sample.is_dir() else [sample]:
            data = file.read_bytes()
            for cut in cuts(len(data), sample.is_dir() and not THOROUGH):
                target = at / "cut"
                if sample.is_dir():
                    shutil.rmtree(target, ignore_errors=True)
                    shutil.copytree(sample, target)
                    (target / file.relative_to(sample)).write_bytes(data[:cut])
                else:
                    target.write_bytes(data[:cut])
                yield f"{file.relative_to(SAMPLES)} cut at {cut}", target


def opens(target: Path, format: str) -> bool:
    """Whether strict reading takes it."""
    try:
        with exhume.open(target, format=format) as archive:
            archive.sections()
            archive.info()
    except ExhumeError:
        return False
    return True


def check(label: str, target: Path, format: str) -> bool:
    """Examine an archive as the verbs do; whether it opened."""
    with exhume.inspect(target, format=format) as archive:
        assert isinstance(archive, Inspection)
        found = archive.sections()
        size = sum(p.stat().st_size for p in target.rglob("*")) if target.is_dir() else target.stat().st_size
        assert sum(section.span.size for section in found.tiles()) >= found.coverage().total, label
        if format not in ("leveldb", "ark"):  # which pass over files that are not theirs
            assert found.coverage().total == size or target.is_dir(), label
        findings = list(archive.verify())
        items = list(explain_archive(archive, Selection(), findings))
        opened = not archive.problems
        assert archive.info().to_dict(), label
        damage = {finding.code for finding in archive.problems}
    assert opened == opens(target, format), label
    errors = {f.code for f in findings if f.is_problem}
    if opened:
        assert damage <= errors, f"{label}: info says what verify does not"
    else:
        assert errors, f"{label}: verify says nothing of what does not open"
        assert items or not size, label
    return opened


@pytest.mark.parametrize("format", [format for format in FORMATS if broken(format)])
def test_no_broken_sample_is_refused(format: str) -> None:
    for path in some(broken(format)):
        check(path.name, path, format)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.slow
def test_no_cut_archive_is_refused(format: str, tmp_path: Path) -> None:
    opened = [check(label, target, format) for label, target in truncations(format, tmp_path)]
    assert opened
    assert format == "leveldb" or not all(opened), "some of them must not open, or this shows nothing"


@pytest.mark.parametrize(
    ("format", "name", "size", "code"),
    [
        ("clp-s", "tiny.clps", 65, "CLPS-302"),
        ("clp-s", "tiny.clps", 337, "CLPS-302"),
        ("ark", "log/splits/00000000-0000-4000-8000-000000000007", 35, "ARK-320"),
        ("ark", "log/splits/00000000-0000-4000-8000-000000000007", 900, "ARK-322"),
        ("ark", "log/manifests/00000000-0000-4000-8000-000000000001", 3600, "ARK-105"),
        ("leveldb", "snappy/MANIFEST-000004", 8, "LDB-308"),
    ],
)
def test_info_states_what_it_came_upon(
    format: str, name: str, size: int, code: str, tmp_path: Path, exhume_cli: Cli
) -> None:
    """Archives that open, though something that `info` reads is cut: the facts, the errors, exit code 3."""
    shutil.copytree(SAMPLES / FORMATS[format], tmp_path / "samples")
    file = tmp_path / "samples" / name
    file.write_bytes(file.read_bytes()[:size])
    target = file if file.parent.name == "samples" else tmp_path / "samples" / Path(name).parts[0]
    assert opens(target, format)
    ran = exhume_cli("info", "--format", format, target, "--json")
    body = json.loads(ran.out)
    assert ran.code == 3
    assert body["findings"][0]["code"] == code
    assert "fields" not in body
    assert re.search(rf"exhume: error: .* \[{code}\]\n", ran.err)
    plain = exhume_cli("info", "--format", format, target)
    assert (plain.code, plain.err) == (3, ran.err)
    assert exhume_cli("list", "--sections", "--format", format, target).code == 3
    assert exhume_cli("map", "--svg", tmp_path / "a.svg", "--format", format, target).code == 3


def test_a_scan_of_versions_states_what_it_came_upon(tmp_path: Path, exhume_cli: Cli) -> None:
    """`info --stats` reads tables and logs; damage in files that are no longer used is not an error."""
    target = tmp_path / "db"
    for name, code in (("000005.ldb", 3), ("000003.log", 0)):
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(SAMPLES / "leveldb/snappy", target)
        file = target / name
        file.write_bytes(flip(file.read_bytes(), 20))
        assert exhume_cli("info", target).code == 0
        ran = exhume_cli("info", "--stats", "--json", target)
        assert (ran.code, "findings" in json.loads(ran.out)) == (code, code == 3)


@pytest.mark.parametrize("size", [3, 41, 72])
def test_the_end_of_a_log_that_is_cut_is_unread(size: int, tmp_path: Path, exhume_cli: Cli) -> None:
    """Where a writer was stopped: no error, but bytes that say nothing."""
    target = tmp_path / "cut"
    shutil.copytree(SAMPLES / "leveldb/snappy", target)
    log = target / "000006.log"
    log.write_bytes(log.read_bytes()[:size])
    with exhume.open(target, format="leveldb") as archive:
        assert not archive.info().findings
        unread = [s for s in archive.sections() if s.kind is SectionKind.UNREAD]
    whole = 40 if size > 40 else 0
    assert [(s.name, s.span.start, s.span.end, s.parent) for s in unread] == [
        (f"000006.log/unread@{whole}", whole, size, "000006.log")
    ]
    assert unread[0].note
    for verb in (["list", "--sections"], ["map", "--svg", tmp_path / "a.svg"], ["explain"]):
        assert exhume_cli(*verb, target).code == 3
    assert exhume_cli("verify", target).code == 0


@pytest.mark.parametrize("format", FORMATS)
def test_the_verbs(format: str, tmp_path: Path, exhume_cli: Cli) -> None:
    """One that opens, and one that does not: exit codes, one document, the reason on standard error."""
    seen: dict[bool, str] = {}
    for label, target in itertools.chain(((p.name, p) for p in broken(format)), truncations(format, tmp_path)):
        opened = opens(target, format)
        if opened in seen:
            continue
        seen[opened] = label
        for verb in TABLE:
            more = ["--svg", tmp_path / f"{opened}.svg"] if verb == ["map"] else []
            ran = exhume_cli(*verb, *more, "--format", format, target)
            assert ran.code == 3 or (opened and ran.code == 0), (label, verb, ran.err)
            if not opened:
                assert ran.err.splitlines()[0].startswith(("exhume: error: ", "exhume: unchecked: ")), (label, verb)
            if verb != ["map"]:
                body = json.loads(ran.out)
                assert body["format"] == format
                assert verb[0] != "info" or opened or body["findings"]
        if len(seen) == 2 or format == "leveldb":
            break
    assert (False in seen) == (format != "leveldb"), seen


@pytest.mark.slow
def test_sound_samples_are_complete(tmp_path: Path, exhume_cli: Cli) -> None:
    for format in some(FORMATS):
        for path in some(samples(format)):
            for verb in some(TABLE):
                more = ["--svg", tmp_path / "sound.svg", "--overwrite"] if verb == ["map"] else []
                ran = exhume_cli(*verb, *more, path)
                assert (ran.code, [line for line in ran.err.splitlines() if "written" not in line]) == (0, []), (
                    path,
                    verb,
                )


def test_what_is_left_of_a_zs_file(tmp_path: Path, exhume_cli: Cli) -> None:
    path = tmp_path / "cut.zs"
    path.write_bytes((SAMPLES / "zs" / "words-deflate.zs").read_bytes()[:700])
    body = json.loads(exhume_cli("list", "--sections", "--json", path).out)
    kinds = [(s["name"], s["kind"]) for s in body["sections"]]
    assert kinds[0] == ("header", "structure")
    assert kinds[-1] == ("unread", "unread")
    assert [name for name, _ in kinds].count("data-0") == 1
    info = json.loads(exhume_cli("info", "--json", path).out)
    assert info["size"] == 700
    assert info["fields"]["header"]["header.len_file"] == 705
    assert [finding["code"] for finding in info["findings"]] == ["ZS-303"]
    text = exhume_cli("explain", "--all", path).text
    assert "CRC-64/XZ: matches" in text
    assert re.search(r"SHA-256: not checked: .*\[ZS-304\]", text)
    path.write_bytes(path.read_bytes()[:60])
    info = json.loads(exhume_cli("info", "--json", path).out)
    assert info["fields"]["header"] == {"ofs_root": 664, "len_root": 41, "len_file": 705}


def test_what_is_left_of_a_chunk(exhume_cli: Cli) -> None:
    for name, files in (("nested-deep", 2), ("trailing-newline", 2), ("version-3", 2), ("footer-missing", 0)):
        body = json.loads(exhume_cli("list", "--sections", "--json", SAMPLES / "caf" / "broken" / f"{name}.caf").out)
        assert sum(s["name"].startswith("file ") for s in body["sections"]) == files, name


def test_what_is_left_of_a_log_without_its_manifest(tmp_path: Path, exhume_cli: Cli) -> None:
    log = tmp_path / "log"
    shutil.copytree(SAMPLES / "ark" / "log", log)
    (manifest,) = (log / "manifests").iterdir()
    manifest.write_bytes(manifest.read_bytes()[:9])
    ran = exhume_cli("list", "--sections", "--json", log)
    assert ran.code == 3
    names = [s["name"] for s in json.loads(ran.out)["sections"]]
    assert sum(name.endswith(" index") and "spare" not in name for name in names) == 3, (
        "the splits say by themselves where messages are"
    )


def test_a_source_that_fails_and_a_wrong_kind_are_refused(tmp_path: Path, exhume_cli: Cli) -> None:
    for format in ("zs", "caf", "clp-s"):
        assert exhume_cli("explain", "--format", format, tmp_path).code == 1
    assert exhume_cli("explain", tmp_path / "nothing").code == 1


def test_unread_bytes_are_no_gap_and_not_complete() -> None:
    data = (SAMPLES / "clp_s" / "demo.clps").read_bytes()[:-5]
    with exhume.inspect(data) as archive:
        unread = [s for s in archive.sections() if s.kind is SectionKind.UNREAD]
        assert [s.note for s in unread] == ["truncated: 5 bytes missing"]
        items = list(explain_archive(archive, Selection()))
        assert [item.section.name for item in items if not item.complete][:1] == [unread[0].name]
