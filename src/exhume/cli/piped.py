"""Piped input as a source that can be read at any offset, and more than once."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from typing import BinaryIO

from click import UsageError

from exhume.io.local import FileObjectSource
from exhume.io.output.scratch import scratch_file
from exhume.io.source import Source


def piped(target: str) -> Source | None:
    """Standard input for `-`, and the output of `<(command)`; None for anything else.

    It is kept in a file without a name, which vanishes with the source.  Closing the source does nothing: several
    openings of one target share it.  A pipe with a name of its own is not read: without a writer, opening it would wait
    without end.

    Raises `click.UsageError` when nothing is piped in, `SourceError` where it cannot be kept.
    """
    if target == "-":
        if sys.stdin.isatty():
            raise UsageError("- is standard input, but nothing is piped into it")
        return _kept(sys.stdin.buffer, target)
    try:
        if not stat.S_ISFIFO(os.stat(target).st_mode):  # noqa: PTH116 - the import of pathlib costs more
            return None
    except (OSError, ValueError):
        return None
    with open(target, "rb") as pipe:  # noqa: PTH123 - as above
        return _kept(pipe, target)


def _kept(pipe: BinaryIO, name: str) -> Source:
    """Copy the whole input to a temporary file and return a source that reads it."""
    file = scratch_file()
    shutil.copyfileobj(pipe, file)
    return FileObjectSource(file, name)
