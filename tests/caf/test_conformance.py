"""Chunks of the reference writers, and crafted broken ones: read, verified, rebuilt, extracted as expected."""

from __future__ import annotations

import hashlib
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.engines.extract import extract
from exhume.errors import ExhumeError
from exhume.findings import Severity
from exhume.formats.caf.reader import CafArchive, open_archive
from exhume.formats.caf.verify import live_ranges, unreferenced
from exhume.formats.caf.writer import create
from exhume.io.output.tree import OutputTree
from exhume.io.source import BytesSource
from tests.sizes import size, some

from .conftest import Corpus

pytestmark = pytest.mark.conformance


def tree(folder: Path, seed: int) -> None:
    """Files of drawn names, depths and sizes; several are empty, or have the same content."""
    rng = random.Random(seed)
    letters = "abc. -_äß日本\U0001f600'\"\\#%[]"
    for _ in range(rng.randrange(1, 40)):
        names = ("".join(rng.choices(letters, k=rng.randrange(1, 12))) for _ in range(rng.randrange(1, 5)))
        path = folder.joinpath(*(name for name in names if name.strip(".")), "file")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(rng.randbytes(rng.choice((0, 1, 9, 300, 5000))) if rng.random() < 0.8 else b"same")


@pytest.mark.bulk
@pytest.mark.conformance("diff")
@pytest.mark.parametrize("seed", range(size(8, 24)))
@pytest.mark.parametrize("format", ["caf", "databundle"])
def test_trees_come_back(tmp_path: Path, exhume_cli: Callable[..., Any], format: str, seed: int) -> None:
    if shutil.which("diff") is None:
        pytest.skip("diff is not installed")
    tree(tmp_path / "tree", seed)
    assert exhume_cli("create", format, tmp_path / "tree", "-o", tmp_path / "archive", "-q").code == 0
    assert exhume_cli("extract", tmp_path / "archive", "-o", tmp_path / "out", "-q").code == 0
    back = tmp_path / "out" / "tree" if format == "caf" else tmp_path / "out"
    reported = subprocess.run(["diff", "-r", tmp_path / "tree", back], capture_output=True, check=False)
    assert (reported.returncode, reported.stdout) == (0, b"")


def digest(data: bytes) -> dict[str, Any]:
    return {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def open_bytes(data: bytes) -> CafArchive:
    return open_archive(BytesSource(data))


def test_valid_chunks_read_as_expected(valid_corpus: Corpus) -> None:
    assert valid_corpus.expected
    for name, expected in valid_corpus.expected.items():
        data = valid_corpus.read(name)
        assert hashlib.sha256(data).hexdigest() == expected["archive_sha256"]
        archive = open_bytes(data)
        assert (archive.data_size, archive.index_size) == (expected["data_size"], expected["index_size"])
        assert archive.index.canonical, name
        found = {member: digest(archive.read_member(member)) for member in archive.names()}
        if "files" in expected:
            assert found == expected["files"], name
            assert archive.index.names == expected["index_order"], name
        else:
            assert len(found) == expected["count"]
            assert {key: found[key] for key in expected["files_sample"]} == expected["files_sample"]
            lines = "".join(f"{k}\t{v['size']}\t{v['sha256']}\n" for k, v in sorted(found.items()))
            assert hashlib.sha256(lines.encode()).hexdigest() == expected["listing_sha256"]
        assert archive.info().unreferenced == expected.get("unreferenced_bytes", 0), name
        assert not [f for f in exhume.verify(data) if f.severity is Severity.ERROR], name


def test_members_stream_and_coalesce(valid_corpus: Corpus) -> None:
    for name in some(valid_corpus.expected):
        archive = open_bytes(valid_corpus.read(name))
        names = list(archive.names())
        assert dict(archive.read_members(names)) == {member: archive.read_member(member) for member in names}
        for member in names[:20]:
            with archive.open_member(member) as file:
                assert file.read() == archive.read_member(member)


def test_rebuilt_byte_for_byte(valid_corpus: Corpus, tmp_path: Path) -> None:
    """From their members, in the order of their bytes, dead data included."""
    for name, expected in some(valid_corpus.expected.items()):
        data = valid_corpus.read(name)
        archive = open_bytes(data)
        steps: list[tuple[int, int, str | bytes | None]] = [
            (start, end, archive.index.names[i]) for start, end, i in live_ranges(archive.index)
        ]
        dead = "log.txt" if "re-added" in name else None  # the name whose first version these bytes were
        steps += [(start, end, dead) for start, end in unreferenced(archive.index, archive.data_size)]
        steps.sort(key=lambda step: step[:2])
        target = tmp_path / name
        order: Any = "insertion" if expected["producer"] == "ts" else "sorted"
        with create(target, order=order, replace=True) as writer:
            for start, end, member in steps:
                if member is None:
                    writer.add_unreferenced(data[start:end])
                    continue
                if "non-utf8" in name:  # the original names had other bytes in place of each sign
                    member = str(member).replace("\ufffd", "\udcff").encode("utf-8", "surrogateescape")
                writer.add_bytes(member, data[start:end])
        assert target.read_bytes() == data, name
        assert writer.chunks[0].unreferenced_bytes == expected.get("unreferenced_bytes", 0)


def test_malformed_chunks_are_reported(malformed_corpus: Corpus) -> None:
    assert malformed_corpus.expected
    for name, expected in malformed_corpus.expected.items():
        path = malformed_corpus.root / name
        findings = list(exhume.verify(path))
        assert findings, name
        assert all("\n" not in str(finding) for finding in findings)
        severities = {finding.severity for finding in findings}
        if expected["verdict"] == "reject":
            # Another version is not damage, and a few bytes cannot be identified as a CAF.
            unknown = name in ("version-2.caf", "zero-bytes.caf", "three-bytes.caf")
            assert (Severity.UNCHECKED if unknown else Severity.ERROR) in severities, name
            with pytest.raises(ExhumeError) as caught:
                exhume.open(path, format="caf")
            assert "\n" not in str(caught.value)
            continue
        if expected["verdict"] == "partial":
            assert Severity.ERROR in severities, name
        else:
            assert severities & {Severity.ERROR, Severity.WARNING}, name
        with exhume.open(path) as archive:
            assert isinstance(archive, CafArchive)
            bad = set(expected.get("bad_entries", ()))
            assert set(archive.names()) == set(expected["files"]) | bad
            for member, size_and_hash in expected["files"].items():
                assert digest(archive.read_member(member)) == size_and_hash
            for member in bad:
                assert member in archive
                for use in (archive.read_member, archive.stat, archive.open_member, archive.stored_range):
                    with pytest.raises(ExhumeError) as caught:
                        use(member)
                    assert caught.value.code.startswith("CAF-3")


def test_malformed_chunks_extract_safely(
    malformed_corpus: Corpus, tmp_path: Path, exhume_cli: Callable[..., Any]
) -> None:
    read = {name: facts for name, facts in malformed_corpus.expected.items() if facts["verdict"] != "reject"}
    for name, expected in some(read.items()):
        target = tmp_path / name
        inside = target / "in" / "side"
        with exhume.open(malformed_corpus.root / name) as archive, OutputTree(inside) as output:
            assert isinstance(archive, CafArchive)
            report = extract(archive, output)
        made = {path.relative_to(inside).as_posix() for path in inside.rglob("*") if path.is_file()}
        everything = [path for path in target.rglob("*") if path.is_file()]
        assert len(everything) == len(made)  # nothing outside
        refused = {member for member, _ in report.refused}
        assert refused | made == set(expected["files"]) | set(expected.get("bad_entries", ()))
        demands = expected.get("extract", {})
        assert set(demands.get("must_refuse", ())) <= refused
        assert set(demands.get("must_refuse_or_neutralise", ())) <= refused
        assert set(demands.get("must_extract", ())) <= made
        if "one_of" in demands:
            assert len(set(demands["one_of"]) & made) == 1
        ran = exhume_cli("extract", malformed_corpus.root / name, "-o", tmp_path / "cli" / name)
        assert ran.code == (3 if refused else 0)
        assert ran.err.count("not extracted") == len(refused)
