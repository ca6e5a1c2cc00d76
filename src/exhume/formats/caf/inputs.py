"""The inputs of a chunk: directory trees in a fixed order, tar streams, zip archives.

A CAF can hold regular files only.  Everything else (links to directories, sockets, devices, members that fail their own
checks) is left out and reported.  A chunk is a CAF file, a member a file in an archive; `skipped` lists omitted files,
as pairs of a path and the reason.
"""

from __future__ import annotations

import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO

from exhume.archive import Progress, no_progress
from exhume.errors import CodecError, ExhumeError, FormatError, Span, UnsafePathError, WriterError, shorten
from exhume.formats.caf.chunk import BUFFER, from_file_system
from exhume.formats.caf.writer import SMALL, CafWriter
from exhume.io.activity import stepping
from exhume.io.files import open_input, safe_parts
from exhume.io.folders import iter_folders, name_below, read_files
from exhume.io.source import STREAM_CHUNK, source_error
from exhume.tuples import NamedTuple

STEP = 256
"""Members between two calls of the progress callback."""

ESCAPED, ROOM = 8, 256
"""Bytes that a character of a name takes in the index at most, and that the rest of its entry and the footer take."""


EMPTY_DIRECTORY = "an empty directory: the format stores files only"
"""Reason for leaving one out."""


class PlannedFile(NamedTuple):
    """A file to add: its path, the name it will have, and its size in bytes when it was listed."""

    path: str
    name: str
    size: int


@dataclass(slots=True)
class Plan:
    """Files in the order in which they will be written, and the omitted ones with their reasons."""

    files: list[PlannedFile] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)

    @property
    def size(self) -> int:
        """The bytes of all files together."""
        return sum(file.size for file in self.files)


def plan_inputs(inputs: Iterable[str], *, base: str | None = None, exclude: Collection[tuple[int, int]] = ()) -> Plan:
    """List files and directories (recursively) without reading them.

    Inputs stay in their order; what is below a directory is sorted by the UTF-8 bytes of its name.  Stored names are
    relative to `base`; without one, an input keeps the path it was given by, or its last component if that path is
    absolute or leads up.  `exclude` holds `(device, inode)` pairs: the output must not archive itself.  Raises
    `SourceError` for an input that cannot be read and `WriterError` for one outside of `base`.
    """
    plan = Plan()
    for given in inputs:
        try:
            found = Path(given).stat()
        except OSError as error:
            raise source_error(error, given) from error
        name = stored_name(given, base)
        if stat.S_ISDIR(found.st_mode):
            plan.files += _by_bytes(_scan(given, name, exclude, plan.skipped))
        elif not stat.S_ISREG(found.st_mode):
            plan.skipped.append((given, "not a regular file"))
        elif (found.st_dev, found.st_ino) not in exclude:
            plan.files.append(PlannedFile(given, name, found.st_size))
    return plan


def _by_bytes(files: list[PlannedFile]) -> list[PlannedFile]:
    """The entries sorted by the bytes of their names; for ASCII names that is the order of the text."""
    if "".join([file.name for file in files]).isascii():
        return sorted(files, key=attrgetter("name"))
    return sorted(files, key=lambda file: os.fsencode(file.name))


def stored_name(given: str, base: str | None) -> str:
    """The name under which an input is stored ("" for the base directory itself).

    Raises `WriterError` for an input outside of `base`.
    """
    if base is not None:
        return name_below(given, base, "caf")
    name = os.path.normpath(given)
    if name.startswith(os.sep) or Path(name).parts[:1] == (os.pardir,):
        name = Path(os.path.abspath(given)).name  # noqa: PTH100 - resolve() would follow links
    return "" if name == os.curdir else name.replace(os.sep, "/")


_planned = partial(tuple.__new__, PlannedFile)
"""Makes a `PlannedFile` of a tuple of its fields at half the cost of a call, because trees have many."""


def _scan(
    root: str, name: str, exclude: Collection[tuple[int, int]], skipped: list[tuple[str, str]]
) -> list[PlannedFile]:
    """Return the files below a directory; what cannot be packed is added to `skipped` with a reason."""
    found: list[PlannedFile] = []
    for folder in iter_folders(root, name, exclude):
        if folder.is_empty:
            skipped.append((folder.path, EMPTY_DIRECTORY))
        skipped += folder.skipped
        files = folder.files
        found += map(_planned, zip(folder.paths(files), folder.names(files), folder.sizes, strict=True))
    return found


def write_plan(writer: CafWriter, plan: Plan, progress: Progress = no_progress) -> None:
    """Add every planned file.  Before the first one is written, all of them are checked to fit.

    Raises `WriterError` for a name that occurs twice (unless the writer replaces) or a file larger than a chunk.
    """
    names = [file.name for file in plan.files]
    if not writer.replace and len(set(names)) != len(names):
        seen: set[str] = set()  # `add` returns None, so each name is entered when it is compared
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise WriterError("two inputs have the same name", format="caf", actual=shorten(twice))
    # If even the largest file with the longest name fits a chunk, all do; else each is checked.
    longest, largest = max(map(len, names), default=0), max((file.size for file in plan.files), default=0)
    if largest + ESCAPED * longest + ROOM > writer.chunk_size:
        for file in plan.files:
            writer.check(from_file_system(file.name), file.size)
    total, done = plan.size, 0
    # Small files are read and written in groups.
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
            with stepping(progress, done, file.size, total):  # reports progress within the file
                done += writer.add_path(file.path, from_file_system(file.name), file.size)
        progress(done, total, "bytes")
    done += _add_small(writer, small)
    progress(done, total, "bytes")


def _encoded(paths: Sequence[str]) -> list[bytes]:
    """Paths as bytes for the system; encoding them all at once is 10 times as fast."""
    together = os.fsencode("\0".join(paths)).split(b"\0")
    # A name with a NUL would be split, too; the system then refuses it.
    return together if len(together) == len(paths) else [os.fsencode(path) for path in paths]


def _add_small(writer: CafWriter, files: list[PlannedFile]) -> int:
    """Read and add small files together; those that differ from the plan are added one by one, with all checks."""
    if not files:
        return 0
    paths, names, sizes = zip(*files, strict=True)
    # The bytes of all files, each in a space of its planned size, and for each whether it has this size.
    data, whole = read_files(_encoded(paths), list(sizes))
    view = memoryview(data)
    total: int = sum(sizes)
    if all(whole) and writer.add_batch(names, sizes, view[:total]):
        return total
    at = added = 0
    for file, fits in zip(files, whole, strict=True):
        name = file.name if file.name.isascii() else from_file_system(file.name)
        if fits:  # it was read as planned
            writer.add_piece(name, view[at : at + file.size])
            added += file.size
        else:
            added += writer.add_path(file.path, name)
        at += file.size
    return added


def add_tar(
    writer: CafWriter, file: BinaryIO, name: str = "<tar>", progress: Progress = no_progress
) -> list[tuple[str, str]]:
    """Add the regular files of a tar stream (any compression tarfile knows), in its order; return the omitted ones.

    Hard links become copies when the file they point to is in the current chunk.  Nothing seeks in the stream, so pipes
    work.  Raises `FormatError` for a damaged stream and `SourceError` when reading fails.
    """
    skipped: list[tuple[str, str]] = []
    folders = _Folders()
    try:
        with tarfile.open(fileobj=file, mode="r|*", errors="surrogateescape") as tar:
            for number, member in enumerate(tar):
                folders.add(_clean(member.name), directory=member.isdir())
                # Progress within large members, and after every `STEP`th of the others.
                if member.size > SMALL:
                    with stepping(progress, member.offset_data, member.size, None):
                        _add_tar_member(writer, tar, member, skipped)
                    continue
                _add_tar_member(writer, tar, member, skipped)
                if number % STEP == 0:
                    progress(member.offset_data + member.size, None, "bytes")
    except ExhumeError:
        raise
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise FormatError("the tar archive is damaged", span=Span(name, 0, 0), actual=shorten(error)) from error
    except OSError as error:
        raise source_error(error, name) from error
    return skipped + folders.empty()


class _Folders:
    """The directories of a tar or zip archive, for those that nothing is in."""

    def __init__(self) -> None:
        """Begin without any directory."""
        self._named: dict[str, bool] = {}
        """Directories by name; whether something is in them."""

    def add(self, name: str, *, directory: bool) -> None:
        """Enter a member."""
        name = name.rstrip("/")
        if directory and name != ".":
            self._named.setdefault(name, False)
        if parent := name.rpartition("/")[0]:
            self._named[parent] = True

    def empty(self) -> list[tuple[str, str]]:
        """Return the omitted directories."""
        return [(name, EMPTY_DIRECTORY) for name, filled in self._named.items() if name and not filled]


def _add_tar_member(
    writer: CafWriter, tar: tarfile.TarFile, member: tarfile.TarInfo, skipped: list[tuple[str, str]]
) -> None:
    """Add one member of a tar archive, or append its name and the reason to `skipped`.

    A hard link becomes a second copy of its target, whose bytes are read back from the chunk.
    """
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
    """Add the files of a zip archive in the order of its directory; return the omitted ones.

    Sizes and CRC-32 are checked.  A member that is encrypted or uses an unknown method is an error.  Raises
    `FormatError` for a damaged archive, `CodecError` for a damaged member, and `SourceError` when reading fails.
    """
    name = path if isinstance(path, str) else "<zip>"
    skipped: list[tuple[str, str]] = []
    folders = _Folders()
    try:
        with ExitStack() as stack:
            file = stack.enter_context(open_input(path)) if isinstance(path, str) else path
            archive = stack.enter_context(zipfile.ZipFile(file))
            for info in archive.infolist():
                folders.add(_clean(info.filename), directory=info.is_dir())
            infos = [info for info in archive.infolist() if not info.is_dir()]
            # All names and sizes are checked before the first member is written.
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
    except (RuntimeError, NotImplementedError) as error:  # the member is encrypted; its compression method is unknown
        raise CodecError("the zip archive cannot be read", span=Span(name, 0, 0), actual=shorten(error)) from error
    except OSError as error:
        raise source_error(error, name) from error
    return skipped + folders.empty()


def _add_zip_member(
    writer: CafWriter, archive: zipfile.ZipFile, info: zipfile.ZipInfo, skipped: list[tuple[str, str]]
) -> None:
    """Add one member of a zip archive, or append its name and the reason to `skipped`."""
    name = _clean(info.filename)
    reason = _unsafe(name)
    mode = info.external_attr >> 16  # that of Unix, if the archive was made there; else 0
    if not reason and mode and stat.S_ISLNK(mode):
        reason = "symbolic link"
    if reason:
        skipped.append((info.filename, reason))
        return
    with archive.open(info) as data:
        stream: Any = data
        writer.add_pieces(name, iter(lambda: stream.read(STREAM_CHUNK), b""), info.file_size)


def _clean(name: str) -> str:
    """The name without the `./` that many tools put before every name."""
    while name.startswith("./"):
        name = name[2:].lstrip("/")
    return name


def _unsafe(name: str) -> str:
    """Return why a name cannot be used as a path; empty if it can."""
    try:
        safe_parts(os.fsencode(name).decode("utf-8", "replace"))
    except UnsafePathError as error:
        return error.message
    return ""
