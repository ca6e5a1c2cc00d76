"""Which inputs a writer is given, and by which names it records them: lists, directories, URLs, parts of paths."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final

from exhume.errors import SourceError, SourceNotFoundError, Span, WriterError
from exhume.io.files import open_input
from exhume.io.opening import is_url
from exhume.redaction import redact

STDIN: Final = "-"
"""Names standard input among inputs, and in the range index what did not come from a file."""


@dataclass(frozen=True, slots=True)
class NamedInput:
    """A path or URL, the name that is recorded for it, and options of fsspec for a URL."""

    path: str
    name: str
    storage_options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_remote(self) -> bool:
        """Whether it is a URL."""
        return is_url(self.path)


@dataclass(frozen=True, slots=True)
class Naming:
    """How local paths become names; URLs are recorded without the secrets in them.

    Attributes:
        normalize: Whether paths become absolute, without links.
        prefix: A directory that all paths start with, which is removed (made absolute as well where paths are).
        remove_slash: Whether a slash at the beginning is removed.
    """

    normalize: bool = False
    prefix: str | None = None
    remove_slash: bool = False

    def name(self, path: str) -> str:
        """The name of a path.  Raises `WriterError` where it does not start with the prefix."""
        name = os.path.realpath(path) if self.normalize else path
        if self.prefix is not None:
            prefix = os.path.realpath(self.prefix) if self.normalize else self.prefix
            parts, lead = PurePosixPath(name).parts, PurePosixPath(prefix).parts
            if parts[: len(lead)] != lead:
                raise WriterError("a path does not start with the prefix", expected=prefix, actual=name)
            name = "/" + "/".join(parts[len(lead) :])
        return name.removeprefix("/") if self.remove_slash else name


def list_inputs(
    inputs: Iterable[str],
    files_from: str | None = None,
    naming: Naming | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> list[NamedInput]:
    """The inputs, then those that a list names, one path or URL a line; the files of a directory in order of names.

    Raises `SourceError` for what does not exist (`SourceNotFoundError` for the prefix), `WriterError` for a wrong
    prefix and where there is no input.
    """
    naming = naming or Naming()
    if naming.prefix is not None and not Path(naming.prefix).is_dir():
        raise SourceNotFoundError("the prefix to remove is not a directory", span=Span(naming.prefix, 0, 0))
    found = []
    for one in [*inputs, *_listed(files_from)]:
        remote = NamedInput(one, redact(one), storage_options or {})
        if one == STDIN or remote.is_remote:
            found.append(remote)
        else:
            found.extend(NamedInput(path, naming.name(path)) for path in _files(one))
    if not found:
        raise WriterError("there are no inputs")
    return found


def _listed(files_from: str | None) -> list[str]:
    if files_from is None:
        return []
    if files_from == STDIN:
        data = sys.stdin.buffer.read()
    else:
        with open_input(files_from) as file:
            data = file.read()
    return [os.fsdecode(line) for line in data.split(b"\n") if line]


def _files(path: str) -> Iterator[str]:
    """The path, or the files below a directory.  Raises `SourceError`."""
    if not os.path.isdir(path):  # noqa: PTH112 - the spelling of the path is kept
        yield path
        return

    def fail(error: OSError) -> None:
        raise SourceError(f"cannot list: {error.strerror or error}", span=Span(path, 0, 0)) from error

    for folder, folders, names in os.walk(path, onerror=fail):
        folders.sort()
        yield from (os.path.join(folder, name) for name in sorted(names))  # noqa: PTH118
