"""What goes into a chunk: directory trees in a fixed order, tar streams, zip archives.

Only regular files have a place in a CAF.  Everything else (links to directories, sockets, devices, members that fail
their own checks) is left out and told, never silently.
"""

from __future__ import annotations

import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from exhume.archive import Progress, no_progress
from exhume.batchio import read_files
from exhume.errors import CodecError, ExhumeError, FormatError, Span, UnsafePathError, WriterError, shorten
from exhume.formats.caf.chunk import BUFFER
from exhume.formats.caf.names import from_file_system
from exhume.formats.caf.writer import SMALL, CafWriter
from exhume.output import safe_parts
from exhume.source import STREAM_CHUNK, source_error

STEP = 256
"""Members between two calls of the progress callback."""


class PlannedFile(NamedTuple):
    """A file to add: where it is, what it will be called, its size in bytes when it was looked at."""

    path: str
    name: str
    size: int


@dataclass(slots=True)
class Plan:
    """Files in the order in which they will be written, and what was left out with the reason."""

    files: list[PlannedFile] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


def plan_inputs(inputs: Iterable[str], *, base: str | None = None, exclude: Collection[tuple[int, int]] = ()) -> Plan:
    """Looks at files and directories (recursively) without reading them.

    Inputs stay in their order; what is below a directory is sorted by the UTF-8 bytes of its name.  Stored names are
    relative to `base`; without one, an input keeps the path it was given by, or its last component if that path is
    absolute or leads up.  `exclude` holds `(device, inode)` pairs: the output must not archive itself.
    """
    plan = Plan()
    for given in inputs:
        try:
            found = Path(given).stat()
        except OSError as error:
            raise source_error(error, given) from error
        name = stored_name(given, base)
        if stat.S_ISDIR(found.st_mode):
            plan.files += _by_bytes(list(_scan(given, name, exclude, plan.skipped)))
        elif not stat.S_ISREG(found.st_mode):
            plan.skipped.append((given, "not a regular file"))
        elif (found.st_dev, found.st_ino) not in exclude:
            plan.files.append(PlannedFile(given, name, found.st_size))
    return plan


def _by_bytes(files: list[PlannedFile]) -> list[PlannedFile]:
    """Sorted by the bytes of the names, which for ASCII is the order of the text."""
    if all(file.name.isascii() for file in files):
        return sorted(files, key=attrgetter("name"))
    return sorted(files, key=lambda file: os.fsencode(file.name))


def stored_name(given: str, base: str | None) -> str:
    """The name below which an input is stored ("" for the base directory itself)."""
    if base is not None:
        name = os.path.relpath(given, base)
        if Path(name).parts[:1] == (os.pardir,):
            raise WriterError("an input lies outside the base directory", format="caf", expected=base, actual=given)
    else:
        name = os.path.normpath(given)
        if name.startswith(os.sep) or Path(name).parts[:1] == (os.pardir,):
            name = Path(os.path.abspath(given)).name  # noqa: PTH100 - resolve() would follow links
    return "" if name == os.curdir else name.replace(os.sep, "/")


def _scan(
    root: str, name: str, exclude: Collection[tuple[int, int]], skipped: list[tuple[str, str]]
) -> Iterator[PlannedFile]:
    folders = [(root, name)]
    while folders:
        folder, prefix = folders.pop()
        lead = f"{prefix}/" if prefix else ""
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    try:
                        if entry.is_dir(follow_symlinks=False):
                            folders.append((entry.path, lead + entry.name))
                            continue
                        found = entry.stat()
                    except OSError as error:
                        skipped.append((entry.path, error.strerror or str(error)))
                        continue
                    if stat.S_ISREG(found.st_mode):
                        if not exclude or (found.st_dev, found.st_ino) not in exclude:
                            yield PlannedFile(entry.path, lead + entry.name, found.st_size)
                    elif stat.S_ISDIR(found.st_mode):
                        skipped.append((entry.path, "symbolic link to a directory"))
                    else:
                        skipped.append((entry.path, "not a regular file"))
        except OSError as error:
            skipped.append((folder, error.strerror or str(error)))


def write_plan(writer: CafWriter, plan: Plan, progress: Progress = no_progress) -> None:
    """Adds every planned file.  Before the first one is written, all of them are checked to have a place.

    Raises `WriterError` for a name that occurs twice (unless the writer replaces) or a file larger than a chunk.
    """
    if not writer.replace and len({file.name for file in plan.files}) != len(plan.files):
        seen: set[str] = set()
        twice = next(file.name for file in plan.files if file.name in seen or seen.add(file.name))  # type: ignore[func-returns-value]
        raise WriterError("two inputs have the same name", format="caf", actual=shorten(twice))
    for file in plan.files:
        if file.size + 8 * len(file.name) + 256 > writer.chunk_size:
            writer.check(from_file_system(file.name), file.size)
    total, done = plan.size, 0
    small: list[PlannedFile] = []
    held = 0
    for file in plan.files:
        if file.size <= SMALL:
            small.append(file)
            held += file.size
            if held < BUFFER and len(small) < STEP:
                continue
        done += _add_small(writer, small)
        small, held = [], 0
        if file.size > SMALL:
            done += writer.add_path(file.path, from_file_system(file.name), file.size)
        progress(done, total, "bytes")
    done += _add_small(writer, small)
    progress(done, total, "bytes")


def _add_small(writer: CafWriter, files: list[PlannedFile]) -> int:
    """Reads and adds small files in one go; those that are not as they were planned go the careful way."""
    data, whole = read_files([os.fsencode(file.path) for file in files], [file.size for file in files])
    view = memoryview(data)
    at = added = 0
    for file, fits in zip(files, whole, strict=True):
        name = file.name if file.name.isascii() else from_file_system(file.name)
        if fits:
            writer.add_piece(name, view[at : at + file.size])
            added += file.size
        else:
            added += writer.add_path(file.path, name)
        at += file.size
    return added


def add_tar(
    writer: CafWriter, file: BinaryIO, name: str = "<tar>", progress: Progress = no_progress
) -> list[tuple[str, str]]:
    """Adds the regular files of a tar stream (any compression tarfile knows), in its order; returns what was left out.

    Hard links become copies when the file they point to is in the current chunk.  Nothing is seeked, so pipes work.
    """
    skipped: list[tuple[str, str]] = []
    try:
        with tarfile.open(fileobj=file, mode="r|*", errors="surrogateescape") as tar:
            for number, member in enumerate(tar):
                _add_tar_member(writer, tar, member, skipped)
                if number % STEP == 0:
                    progress(member.offset_data + member.size, None, "bytes")
    except ExhumeError:
        raise
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise FormatError("the tar archive is damaged", span=Span(name, 0, 0), actual=shorten(error)) from error
    except OSError as error:
        raise source_error(error, name) from error
    return skipped


def _add_tar_member(
    writer: CafWriter, tar: tarfile.TarFile, member: tarfile.TarInfo, skipped: list[tuple[str, str]]
) -> None:
    name = _clean(member.name)
    if member.isdir():
        return
    reason = _unsafe(name)
    if reason:
        skipped.append((member.name, reason))
    elif member.isreg():
        data = tar.extractfile(member)
        assert data is not None  # a regular member always has data
        with data:
            pieces = iter(lambda: data.read(STREAM_CHUNK), b"")
            writer.add_pieces(from_file_system(name), pieces, member.size)
    elif member.islnk():
        if not writer.add_copy(from_file_system(name), _clean(member.linkname)):
            skipped.append((member.name, f"hard link to {member.linkname!r}, which is not in this chunk"))
    else:
        skipped.append((member.name, "symbolic link" if member.issym() else "not a regular file"))


def add_zip(writer: CafWriter, path: str | BinaryIO, progress: Progress = no_progress) -> list[tuple[str, str]]:
    """Adds the files of a zip archive in the order of its directory; returns what was left out.

    Sizes and CRC-32 are checked.  A member that is encrypted or uses an unknown method is an error.
    """
    name = path if isinstance(path, str) else "<zip>"
    skipped: list[tuple[str, str]] = []
    try:
        with zipfile.ZipFile(path) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
            for info in infos:
                if not _unsafe(_clean(info.filename)):
                    writer.check(_clean(info.filename), info.file_size)
            for number, info in enumerate(infos):
                _add_zip_member(writer, archive, info, skipped)
                progress(number + 1, len(infos), "files")
    except ExhumeError:
        raise
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError) as error:
        raise FormatError("the zip archive is damaged", span=Span(name, 0, 0), actual=shorten(error)) from error
    except (RuntimeError, NotImplementedError) as error:  # encrypted; unknown compression method
        raise CodecError("the zip archive cannot be read", span=Span(name, 0, 0), actual=shorten(error)) from error
    except OSError as error:
        raise source_error(error, name) from error
    return skipped


def _add_zip_member(
    writer: CafWriter, archive: zipfile.ZipFile, info: zipfile.ZipInfo, skipped: list[tuple[str, str]]
) -> None:
    name = _clean(info.filename)
    reason = _unsafe(name)
    mode = info.external_attr >> 16
    if not reason and mode and stat.S_ISLNK(mode):
        reason = "symbolic link"
    if reason:
        skipped.append((info.filename, reason))
        return
    with archive.open(info) as data:
        stream: Any = data
        writer.add_pieces(name, iter(lambda: stream.read(STREAM_CHUNK), b""), info.file_size)


def _clean(name: str) -> str:
    """Without the `./` that many tools put before every name."""
    while name.startswith("./"):
        name = name[2:].lstrip("/")
    return name


def _unsafe(name: str) -> str:
    try:
        safe_parts(os.fsencode(name).decode("utf-8", "replace"))
    except UnsafePathError as error:
        return error.message
    return ""
