"""Temporary files and directories for work that does not fit into memory, and the removal of unfinished output."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from exhume.io.files import RawFile, naming
from exhume.io.portable import BINARY, CLOEXEC
from exhume.io.source import STREAM_CHUNK


def discard(path: Path) -> None:
    """Removes a file, or a directory with its content, if it exists; what cannot be removed at the second attempt
    stays.  Raises `KeyboardInterrupt` when the user interrupts it, but only once that is done.
    """
    interrupted = False
    for _ in range(2):
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
            break
        except OSError:
            continue
        except KeyboardInterrupt:
            interrupted = True
    if interrupted:
        raise KeyboardInterrupt


def scratch_file(folder: str | os.PathLike[str] | None = None) -> BinaryIO:
    """An unnamed file that vanishes when it is closed, in `folder` or in the system's temporary directory.

    Raises `SourceError`.
    """
    where = os.fspath(folder) if folder is not None else tempfile.gettempdir()
    with naming(where):
        try:
            fd = os.open(where, os.O_RDWR | os.O_TMPFILE | CLOEXEC, 0o600)
        except (OSError, AttributeError):  # this file system or this system does not have such files
            fd, name = tempfile.mkstemp(prefix=".exhume-", suffix=".part", dir=where)
            if hasattr(os, "O_TEMPORARY"):  # Windows removes no open file, but such a one when it is closed
                first, fd = fd, os.open(name, os.O_RDWR | os.O_TEMPORARY | BINARY | CLOEXEC)
                os.close(first)
            else:
                discard(Path(name))
    return io.BufferedRandom(RawFile(fd, where), STREAM_CHUNK)


def _unused(beside: Path) -> Path:
    while True:
        path = beside.parent / f".{beside.name[:40]}.{os.urandom(8).hex()}.part"
        if not os.path.lexists(path):
            return path


@contextlib.contextmanager
def scratch_directory(beside: Path) -> Iterator[Path]:
    """A temporary directory next to `beside`, removed with its content in the end.  Its name says what it belongs to,
    and that it is unfinished.  Raises `SourceError`.
    """
    folder = _unused(beside)
    try:  # its name is known before it is made: an interruption of `mkdir` itself leaves nothing either
        with naming(beside):
            folder.mkdir(0o700)
        yield folder
    finally:
        discard(folder)
