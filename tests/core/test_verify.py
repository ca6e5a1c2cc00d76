"""`verify` for every format: a failing disk is not damage; progress ends; jobs change nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import SourceError
from exhume.io.source import BytesSource, Source
from exhume.io.tree import MemoryTree
from exhume.testing.sources import MisreportingSource, failing

SAMPLES = {
    "ark": "ark/log", "caf": "caf/sorted.caf", "clp-s": "clp_s/demo.clps", "databundle": "data_bundle/zlib",
    "leveldb": "leveldb/snappy", "zs": "zs/words-deflate.zs",
}  # fmt: skip


def target(path: Path, after: int) -> tuple[Any, Callable[[], bool]]:
    """A sample whose reads fail from the `after`-th on, in whichever file, and whether one has."""
    lie, failed = failing(after), []

    def counted(offset: int, size: int, data: bytes) -> bytes:
        try:
            return lie(offset, size, data)
        except SourceError:
            failed.append(offset)
            raise

    def source(file: Path) -> Source:
        return MisreportingSource(BytesSource(file.read_bytes(), file.name), counted)

    if path.is_file():
        return source(path), lambda: bool(failed)
    files = {file.relative_to(path).as_posix(): source(file) for file in sorted(path.rglob("*")) if file.is_file()}
    return MemoryTree(files), lambda: bool(failed)


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("format", SAMPLES)
def test_a_failing_disk_is_not_a_finding(samples: Path, format: str, quick: bool) -> None:
    clean = list(exhume.verify(target(samples / SAMPLES[format], 1 << 30)[0], format=format, quick=quick))
    for after in itertools.count():
        archive, failed = target(samples / SAMPLES[format], after)
        try:
            found = list(exhume.verify(archive, format=format, quick=quick))
        except SourceError as error:
            assert error.code.startswith("EX-6")
            continue
        assert not failed(), [str(finding) for finding in found if finding not in clean]
        assert found == clean
        assert after > 0
        break


@pytest.mark.parametrize("format", SAMPLES)
def test_progress_goes_up_to_the_end(samples: Path, format: str) -> None:
    reported: list[tuple[int, int, str]] = []
    for _ in exhume.verify(samples / SAMPLES[format], format=format, progress=lambda *at: reported.append(at)):
        pass
    assert reported
    assert reported[-1][0] == reported[-1][1] > 0
    assert [done for done, _, _ in reported] == sorted(done for done, _, _ in reported)
    assert {total for _, total, _ in reported} == {reported[-1][0]}
    assert len({unit for _, _, unit in reported}) == 1


@pytest.mark.parametrize("format", SAMPLES)
def test_jobs_change_nothing(samples: Path, format: str) -> None:
    path = samples / SAMPLES[format]
    assert list(exhume.verify(path, format=format, jobs=3)) == list(exhume.verify(path, format=format))
    with exhume.open(path, format=format) as archive:
        reported = [section.to_dict() for section in archive.sections()]
    with exhume.open(path, format=format) as archive:
        assert [section.to_dict() for section in archive.sections(jobs=3)] == reported
