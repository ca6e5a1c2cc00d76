"""Directory trees as bundle members, in a fixed order; entries that the format cannot hold are reported."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from exhume.errors import WriterError
from exhume.formats.data_bundle.messages import UserData
from exhume.formats.data_bundle.writer import DataBundleWriter
from exhume.io.folders import iter_folders, name_below
from exhume.io.source import source_error
from exhume.tuples import NamedTuple


def add_inputs(
    writer: DataBundleWriter,
    inputs: list[str],
    *,
    base: str | None = None,
    user_data: Mapping[str, UserData] | None = None,
) -> list[tuple[str, str]]:
    """Queue files and directories (recursively); return `(path, reason)` of the omitted ones.

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
    """The name under which the input at the path `given` is stored: relative to `base`, if there is one, else its last
    component; empty for a directory that is the only input, `alone`.
    """
    if base is not None:
        return name_below(given, base, "databundle")
    return "" if alone else Path(os.path.abspath(given)).name  # noqa: PTH100 - resolve() would follow links


def _add_folder(
    writer: DataBundleWriter, root: str, name: str, attached: dict[str, UserData], skipped: list[tuple[str, str]]
) -> None:
    """Add the directory `root` as `name` ("" for the top) with everything below it.

    `attached` has user data by path and loses the entries that are used; omitted paths are added to `skipped`.
    """
    if name:
        writer.add_directory(name, user_data=attached.pop(name, None))
    for kind, path, inner, size in walk(root, name):
        if kind == "file":
            writer.add_path(path, inner, size=size, user_data=attached.pop(inner, None) if attached else None)
        elif kind == "directory":
            writer.add_directory(inner, user_data=attached.pop(inner, None))
        else:
            skipped.append((path, kind))


class InputPath(NamedTuple):
    """What is at a path: its stored name; `kind`, which is file, directory, or the reason to leave it out; a file's
    size.
    """

    kind: str
    path: str
    name: str
    size: int = 0


def walk(root: str, name: str) -> Iterator[InputPath]:
    """Everything in and below the directory `root`, which is stored as `name`, sorted within each directory."""
    for folder in iter_folders(root, name):
        if not folder.is_listed:
            yield from (InputPath(reason, path, folder.name) for path, reason in folder.skipped)
            continue
        files = zip(folder.paths(folder.files), folder.names(folder.files), folder.sizes, strict=True)
        found = [InputPath("file", path, stored, size) for path, stored, size in files]
        found += map(partial(InputPath, "directory"), folder.paths(folder.folders), folder.names(folder.folders))
        # Skipped entries get stored names too, to be sorted with the others.
        left_out = folder.names([Path(path).name for path, _ in folder.skipped])
        found += [InputPath(reason, path, at) for (path, reason), at in zip(folder.skipped, left_out, strict=True)]
        found.sort(key=_order)
        yield from found


def _order(found: InputPath) -> bytes:
    """Sort key: the bytes of the path, which do not depend on the locale."""
    return os.fsencode(found.path)
