"""Outputs of several targets below one directory: their names, and the leftovers of earlier attempts."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import click

from exhume.errors import OutputExistsError, SourceError, Span
from exhume.io.source import source_error

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def prepare_directory(output: str, *, overwrite: bool = False) -> Path:
    """The directory for the outputs of several targets: new or empty, unless files may be replaced.

    Raises `click.UsageError` for standard output, `SourceError` for a file or a directory that cannot be made, and
    `OutputExistsError` when it is not empty.
    """
    from pathlib import Path

    path = Path(output)
    if "://" in output or output == "-":
        raise click.UsageError("several targets need -o DIR, a local directory")
    if path.exists() and not path.is_dir():
        raise SourceError("a file, where the outputs need a directory", span=Span(output, 0, 0))
    if not overwrite and path.is_dir() and any(path.iterdir()):
        raise OutputExistsError("the directory is not empty", span=Span(output, 0, 0))
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise source_error(error, output) from error
    return path


def synced_together(folder: Path, *, local: bool, overwrite: bool = False) -> contextlib.AbstractContextManager[bool]:
    """Whether the outputs of several targets wait for the disk together, at the end, instead of one by one.

    They do in a new directory if this machine writes all files (`local`).  The directory is marked as unfinished until
    then.
    """
    if overwrite or not local:
        return contextlib.nullcontext(False)
    return _together(folder)


@contextlib.contextmanager
def _together(folder: Path) -> Iterator[bool]:
    from exhume.io.output.atomic import several_outputs

    with several_outputs(folder):
        yield True


class OutputNames:
    """Names for outputs: the last part of the target, numbered where that is taken."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._numbers: dict[str, int] = {}

    def of(self, target: str, suffix: str = "", *, keep_extension: bool = True) -> str:
        """The name for a target's output."""
        base = target.partition("::")[0].partition("?")[0].rstrip("/").rpartition("/")[2] or "target"
        stem, dot, extension = base.rpartition(".")
        if not dot or not stem:
            stem, extension = base, ""
        ending = (f".{extension}" if extension and keep_extension else "") + suffix
        name = plain = stem + ending
        while name in self._taken:
            self._numbers[plain] = self._numbers.get(plain, 1) + 1
            name = f"{stem}-{self._numbers[plain]}{ending}"
        self._taken.add(name)
        return name


def sweep(folder: Path) -> None:
    """Remove the temporary files of workers that died."""
    from exhume.io.output.scratch import discard

    for path in folder.glob(".*.part"):
        discard(path)
