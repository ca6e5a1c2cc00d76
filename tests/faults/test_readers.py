"""Reading from a failing disk: every read fails or is short once, and is reported; all other data is right.

Spec: none; docs/testing.md, "Failing disks".
"""

from __future__ import annotations

import errno
import gc
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import ExhumeError
from exhume.testing.damage import EMPTY, SHORT, Disk
from tests.archives import descriptors
from tests.faults.methods import ARCHIVES, every_method, methods
from tests.sizes import size

WAYS = ("EIO", EMPTY, SHORT)


def about(archive: Path, error: ExhumeError) -> bool:
    """Whether an error names the file of an archive and the bytes that could not be read."""
    span = error.span
    if span is None or span.end <= span.start:
        return False
    return span.source in (str(archive), archive.name) or (archive.is_dir() and (archive / span.source).is_file())


def outcome(archive: Path, method: Any, opened: Any, usual: Any, disk: Disk) -> str | None:
    """The problem with the result of a method on a failing disk."""
    try:
        with disk:
            got = method(opened)
    except ExhumeError as error:
        if disk.how == SHORT:
            return f"gave up after less than it requested: {error}"
        return None if about(archive, error) else f"does not name the bytes: {error}"
    if got == usual:
        return None
    reported = any(words in str(got) for words in ("EX-6", os.strerror(errno.EIO), "short read"))  # the cause
    return None if reported else "gives something else, and says nothing"


@pytest.mark.parametrize(("archive", "name"), every_method(), ids=lambda value: value)
@pytest.mark.bulk
def test_every_read_fails_once(archive: str, name: str, samples: Path) -> None:
    """The error names the bytes, and a second call succeeds: nothing was kept of the failed read."""
    path, method = samples / ARCHIVES[archive], methods(archive)[name]
    for _ in range(2):  # the first may import
        with exhume.open(path) as opened, Disk() as disk:
            usual = method(opened)
    reads = disk.calls["read"]
    step = max(1, reads // size(4, 10**6))
    wrong = []
    for number in range(0, reads, step):
        for how in WAYS:
            with exhume.open(path) as opened:
                broken = Disk("read", number, how)
                problem = outcome(path, method, opened, usual, broken)
                assert broken.struck
                if method(opened) != usual:
                    problem = "the second time it is wrong"
            if problem:
                wrong.append(f"read {number} of {reads}, {how}: {problem}")
    assert not wrong


@pytest.mark.parametrize("archive", sorted(ARCHIVES))
@pytest.mark.slow
def test_every_read_of_opening_fails_once(archive: str, samples: Path, tmp_path: Path) -> None:
    """No archive comes of it, or one that is right; and no file stays open."""
    path = tmp_path / Path(ARCHIVES[archive]).name  # a copy: other tests may have the sample open
    (shutil.copytree if (samples / ARCHIVES[archive]).is_dir() else shutil.copy)(samples / ARCHIVES[archive], path)
    with Disk() as disk, exhume.open(path) as opened:
        pass
    with exhume.open(path) as opened:
        usual = opened.info().to_dict()
    for number in range(disk.calls["read"]):
        for how in WAYS:
            broken = Disk("read", number, how)
            try:
                with broken, exhume.open(path) as opened:
                    reported = opened.info().to_dict()
            except ExhumeError as error:
                assert how != SHORT, error
                assert about(path, error), error
            else:
                assert reported == usual
            assert broken.struck
    gc.collect()
    assert descriptors(path) == 0
