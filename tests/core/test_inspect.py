"""What examiners bring: `explain`, `map`, `list --sections` and `info` of what does not open, or not whole.

Every broken sample of every format, every sample cut at many places: no verb refuses, every byte is in a section, what
is wrong is said, and the exit code is 3 wherever something could not be read.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.engines.explain import Selection, explain_archive
from exhume.engines.inspect import Inspection
from exhume.errors import ExhumeError
from exhume.findings import Severity
from exhume.registry import formats
from exhume.sections import SectionKind

Cli = Callable[..., Any]
SAMPLES = Path(__file__).resolve().parent.parent / "samples"
FORMATS = {"zs": "zs", "caf": "caf", "clp-s": "clp_s", "ark": "ark", "databundle": "data_bundle", "leveldb": "leveldb"}
TABLE = [["explain", "--json"], ["list", "--sections", "--json"], ["info", "--json"], ["map"]]


def samples(format: str) -> list[Path]:
    """The archives of a format: files, or directories."""
    folder = SAMPLES / FORMATS[format]
    if formats()[format].container == "directory":
        return sorted(path for path in folder.iterdir() if path.is_dir() and path.name != "broken")
    return sorted(path for path in folder.iterdir() if path.suffix in formats()[format].extensions)


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
    """Looks at an archive as the verbs do; whether it opened."""
    with exhume.engines.identify.open_archive(target, format=format, damaged=True) as archive:
        assert isinstance(archive, Inspection)
        found = archive.sections()
        size = sum(p.stat().st_size for p in target.rglob("*")) if target.is_dir() else target.stat().st_size
        assert sum(section.span.size for section in found.tiles()) >= found.coverage().total, label
        if format not in ("leveldb", "ark"):  # which pass over files that are not theirs
            assert found.coverage().total == size or target.is_dir(), label
        findings = list(archive.verify())
        items = list(explain_archive(archive, Selection(), findings))
        assert archive.info().to_dict(), label
        opened = not archive.problems
    assert opened == opens(target, format), label
    if not opened:
        errors = {f.code for f in findings if f.severity is Severity.ERROR}
        assert errors, f"{label}: verify says nothing of what does not open"
        assert items or not size, label
    return opened


@pytest.mark.parametrize("format", FORMATS)
def test_no_broken_sample_is_refused(format: str) -> None:
    for path in broken(format):
        check(path.name, path, format)


@pytest.mark.parametrize("format", FORMATS)
def test_no_cut_archive_is_refused(format: str, tmp_path: Path) -> None:
    opened = [check(label, target, format) for label, target in truncations(format, tmp_path)]
    assert opened
    assert format == "leveldb" or not all(opened), "some of them must not open, or this shows nothing"


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
            ran = exhume_cli(*verb, *more, "--as", format, target)
            assert ran.code == 3 or (opened and ran.code == 0), (label, verb, ran.err)
            if not opened:
                assert ran.err.splitlines()[0].startswith("exhume: error: "), (label, verb)
            if verb != ["map"]:
                body = json.loads(ran.out)
                assert body["format"] == format
                assert verb[0] != "info" or opened or body["findings"]
        if len(seen) == 2 or format == "leveldb":
            break
    assert (False in seen) == (format != "leveldb"), seen


def test_sound_samples_are_complete(tmp_path: Path, exhume_cli: Cli) -> None:
    for format in FORMATS:
        for path in samples(format):
            for verb in TABLE:
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
    text = exhume_cli("explain", path).text
    assert "CRC-64/XZ: matches" in text
    assert "SHA-256: not checked: ZS-304" in text
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
        assert exhume_cli("explain", "--as", format, tmp_path).code == 1
    assert exhume_cli("explain", tmp_path / "nothing").code == 1


def test_unread_bytes_are_no_gap_and_not_complete() -> None:
    data = (SAMPLES / "clp_s" / "demo.clps").read_bytes()[:-5]
    with exhume.engines.identify.open_archive(data, damaged=True) as archive:
        unread = [s for s in archive.sections() if s.kind is SectionKind.UNREAD]
        assert [s.note for s in unread] == ["cut short: 5 bytes are not there"]
        items = list(explain_archive(archive, Selection()))
        assert [item.section.name for item in items if not item.complete][:1] == [unread[0].name]
