"""Directory trees as bundle members, in a fixed order; what the format cannot hold is told, never left out silently."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from exhume.errors import WriterError
from exhume.formats.data_bundle.messages import UserData
from exhume.formats.data_bundle.writer import DataBundleWriter
from exhume.source import source_error


def add_inputs(
    writer: DataBundleWriter,
    inputs: list[str],
    *,
    base: str | None = None,
    user_data: Mapping[str, UserData] | None = None,
) -> list[tuple[str, str]]:
    """Queues files and directories (recursively); returns `(path, reason)` of what was left out.

    A single directory gives its content; of several inputs each keeps its last component, or its path relative to
    `base`.  `user_data` by stored name.  Symbolic links to files are followed, those to directories are left out.
    """
    attached = dict(user_data or {})
    skipped: list[tuple[str, str]] = []
    for given in inputs:
        try:
            found = Path(given).stat()
        except OSError as error:
            raise source_error(error, given) from error
        folder = stat.S_ISDIR(found.st_mode)
        name = _stored_name(given, base, alone=folder and len(inputs) == 1)
        if folder:
            _add_folder(writer, given, name, attached, skipped)
        elif stat.S_ISREG(found.st_mode):
            writer.add_path(name, given, user_data=attached.pop(name, None))
        else:
            skipped.append((given, "not a regular file"))
    if attached:
        raise WriterError("user data for a name that is not there", format="databundle", actual=next(iter(attached)))
    return skipped


def _stored_name(given: str, base: str | None, *, alone: bool) -> str:
    if base is not None:
        name = os.path.relpath(given, base)
        if Path(name).parts[:1] == (os.pardir,):
            raise WriterError(
                "an input lies outside the base directory", format="databundle", expected=base, actual=given
            )
        return "" if name == os.curdir else name.replace(os.sep, "/")
    return "" if alone else Path(os.path.abspath(given)).name  # noqa: PTH100 - resolve() would follow links


def _add_folder(
    writer: DataBundleWriter, root: str, name: str, attached: dict[str, UserData], skipped: list[tuple[str, str]]
) -> None:
    if name:
        writer.add_directory(name, user_data=attached.pop(name, None))
    for kind, path, inner in walk(root, name):
        if kind == "directory":
            writer.add_directory(inner, user_data=attached.pop(inner, None))
        elif kind == "file":
            writer.add_path(inner, path, user_data=attached.pop(inner, None))
        else:
            skipped.append((path, kind))


def walk(root: str, name: str) -> Iterator[tuple[str, str, str]]:
    """`(file, directory or the reason against it, path, stored name)`, sorted within each directory."""
    folders = [(root, name)]
    while folders:
        folder, prefix = folders.pop()
        lead = f"{prefix}/" if prefix else ""
        try:
            with os.scandir(folder) as scan:
                entries = sorted(scan, key=lambda entry: os.fsencode(entry.name))
        except OSError as error:
            yield error.strerror or str(error), folder, prefix
            continue
        for entry in entries:
            inner = lead + entry.name
            if entry.is_dir(follow_symlinks=False):
                folders.append((entry.path, inner))
                yield "directory", entry.path, inner
            elif entry.is_file():
                yield "file", entry.path, inner
            elif entry.is_symlink():
                yield "symbolic link to a directory or to nothing", entry.path, inner
            else:
                yield "not a regular file", entry.path, inner
