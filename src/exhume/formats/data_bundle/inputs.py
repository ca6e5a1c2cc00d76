"""Directory trees as bundle members, in a fixed order; entries that the format cannot hold are reported."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from exhume.errors import WriterError
from exhume.formats.data_bundle.messages import UserData
from exhume.formats.data_bundle.writer import DataBundleWriter
from exhume.io.small_files import list_folder
from exhume.io.source import source_error


def add_inputs(
    writer: DataBundleWriter,
    inputs: list[str],
    *,
    base: str | None = None,
    user_data: Mapping[str, UserData] | None = None,
) -> list[tuple[str, str]]:
    """Queues files and directories (recursively); returns `(path, reason)` of the omitted ones.

    A single directory is added by its content; each of several inputs keeps its last component, or its path relative to
    `base`.  `user_data` is given by stored name.  Symbolic links to files are followed, those to directories are left
    out.  Raises `SourceError` for an input that cannot be read, and `WriterError` for one outside of `base` or a name
    in `user_data` that is not there.
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
            writer.add_path(given, name, user_data=attached.pop(name, None))
        else:
            skipped.append((given, "not a regular file"))
    if attached:
        raise WriterError("user data for a name that is not there", format="databundle", actual=next(iter(attached)))
    return skipped


def _stored_name(given: str, base: str | None, *, alone: bool) -> str:
    if base is not None:
        name = os.path.relpath(given, base)
        if Path(name).parts[:1] == (os.pardir,):
            raise WriterError("input is outside the base directory", format="databundle", expected=base, actual=given)
        return "" if name == os.curdir else name.replace(os.sep, "/")
    return "" if alone else Path(os.path.abspath(given)).name  # noqa: PTH100 - resolve() would follow links


def _add_folder(
    writer: DataBundleWriter, root: str, name: str, attached: dict[str, UserData], skipped: list[tuple[str, str]]
) -> None:
    if name:
        writer.add_directory(name, user_data=attached.pop(name, None))
    for kind, path, inner, size in walk(root, name):
        if kind == "file":
            writer.add_path(path, inner, size=size, user_data=attached.pop(inner, None) if attached else None)
        elif kind == "directory":
            writer.add_directory(inner, user_data=attached.pop(inner, None))
        else:
            skipped.append((path, kind))


class Found(NamedTuple):
    """What is at a path: its stored name; `kind`, which is file, directory, or the reason to leave it out; a file's
    size.
    """

    kind: str
    path: str
    name: str
    size: int = 0


def walk(root: str, name: str) -> Iterator[Found]:
    """Everything in and below a directory, sorted within each directory."""
    folders = [(root, name)]
    while folders:
        folder, prefix = folders.pop()
        lead = f"{prefix}/" if prefix else ""
        base = os.path.join(folder, "")  # noqa: PTH118 - names stay as the system spells them
        try:
            listing = list_folder(os.fsencode(folder))
        except OSError as error:
            yield Found(error.strerror or str(error), folder, prefix)
            continue
        sized = zip(listing.files, listing.sizes, strict=True)
        found = [Found("file", base + leaf, lead + leaf, size) for leaf, size in sized]
        found += [Found("directory", base + leaf, lead + leaf) for leaf in listing.folders]
        found += [_look_closer(base + leaf, lead + leaf) for leaf in listing.others]
        found.sort(key=_order)
        folders += [(entry.path, entry.name) for entry in found if entry.kind == "directory"]
        yield from found


def _order(found: Found) -> bytes:
    return os.fsencode(found.path)


def _look_closer(path: str, name: str) -> Found:
    """Examines what is not obviously a file or directory: links, and entries of unknown type."""
    try:
        kind = os.lstat(path).st_mode
        target = os.stat(path)  # noqa: PTH116 - as in the walk
    except OSError as error:
        is_link = os.path.islink(path)  # noqa: PTH114 - as in the walk
        broken = "symbolic link to a directory or to nothing"
        return Found(broken if is_link else error.strerror or str(error), path, name)
    if stat.S_ISREG(target.st_mode):
        return Found("file", path, name, target.st_size)
    if stat.S_ISDIR(kind):
        return Found("directory", path, name)
    if stat.S_ISLNK(kind):
        return Found("symbolic link to a directory or to nothing", path, name)
    return Found("not a regular file", path, name)
