"""A writer whose disk fails once, and whose caller continues: it finishes a complete archive, or none."""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import exhume
from exhume.errors import ExhumeError, WriterError
from exhume.formats.zs.writer import ZsWriter

SIZE = 70_000


def members(path: Path) -> set[int]:
    with exhume.open(path) as archive:
        assert not [finding for finding in archive.verify() if finding.severity == "error"]
        return {int(name) for name in archive.names() if len(archive.read_member(name)) == SIZE}  # type: ignore[attr-defined]


def records(path: Path) -> set[int]:
    with exhume.open(path, format="zs") as archive:
        assert not [finding for finding in archive.verify() if finding.severity == "error"]
        return {int(record[:5]) for record in archive.records()}


WRITERS: dict[str, tuple[Callable[[Path], Any], Callable[[Any, int], None], Callable[[Path], set[int]]]] = {
    "zs": (
        lambda path: ZsWriter(path, codec="none", block_size=1000, jobs=1),
        lambda writer, number: writer.add(b"%05d" % number + bytes(SIZE)),
        records,
    ),
    "zs in threads": (
        lambda path: ZsWriter(path, codec="none", block_size=1000, jobs=2),
        lambda writer, number: writer.add(b"%05d" % number + bytes(SIZE)),
        records,
    ),
    "caf": (
        lambda path: exhume.create(path, "caf", chunk_size=10 << 20),
        lambda writer, number: writer.add_bytes(str(number), bytes(SIZE)),
        members,
    ),
    "databundle": (
        lambda path: exhume.create(path, "databundle", compression="none", record_size=4096),
        lambda writer, number: writer.add(str(number), bytes([number + 1]) * SIZE),
        members,
    ),
}


@pytest.mark.parametrize("name", WRITERS)
def test_an_archive_that_is_finished_is_complete(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create, add, read = WRITERS[name]
    finished = 0
    for number in itertools.count():
        calls = itertools.count()

        def failing(real: Callable[..., int], calls: Any = calls, number: int = number) -> Callable[..., int]:
            def write(fd: int, data: Any) -> int:
                if fd > 2 and next(calls) == number:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                return real(fd, data)

            return write

        path, kept = tmp_path / str(number), set()
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", failing(os.write))
            patch.setattr(os, "writev", failing(os.writev))
            with suppress(ExhumeError), create(path) as writer:
                for each in range(30):
                    with suppress(ExhumeError):
                        add(writer, each)
                        kept.add(each)
        if path.exists():
            finished += 1
            assert read(path) >= kept
        if next(calls) <= number:  # no call failed
            break
    assert finished
    assert number > 0


def test_records_that_were_refused_end_a_zs_file(tmp_path: Path) -> None:
    """The block with the record out of order is missing, and so are others in it."""
    writer = ZsWriter(tmp_path / "x.zs", jobs=1)
    writer.add(b"b")
    with pytest.raises(WriterError, match="not sorted"):
        writer.add_block([b"d", b"c"])
    with pytest.raises(WriterError, match="the writer is closed"):
        writer.add_block([b"e"])
    with pytest.raises(WriterError, match="an earlier block could not be written"):
        writer.finish()
    assert list(tmp_path.iterdir()) == []
