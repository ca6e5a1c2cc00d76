"""Targets for archives of members: a tar archive, a zip archive, and an index as a reference file system of fsspec.

A member is a named byte string of an archive (a file in it).

With the references, fsspec reads members straight from the archive:

    fsspec.filesystem("reference", fo="refs.json").cat("dir/member")
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Generator, Iterable
from contextlib import closing
from itertools import repeat
from typing import Any

from exhume.archive import Entry, MemberArchive, Progress, no_progress
from exhume.engines.extract import checked_pieces, extract, read_ahead
from exhume.errors import ExhumeError, OutputExistsError, SourceError, WriterError, shorten
from exhume.io.files import safe_parts
from exhume.io.output.stream import binary_output
from exhume.redaction import redact
from exhume.tabular import ExportReport, refuse_options

ZIP64 = 1 << 30
"""Members from this size on get 64-bit fields from the start."""

FILE_ATTRIBUTES = 0o100644 << 16
FOLDER_ATTRIBUTES = 0o40755 << 16 | 0x10
"""The attributes of zip members: the Unix mode in the upper half, the flags of DOS below it (0x10: a directory)."""


def export_tar(
    archive: MemberArchive,
    output: str,
    *,
    overwrite: bool = False,
    progress: Progress = no_progress,
    jobs: int = 1,
    **options: Any,
) -> ExportReport:
    """Write every member to a tar archive at `output` (`-`: standard output), with pax headers and fixed metadata.

    `jobs` threads read (0: one per core).  Members that are damaged, or whose name extraction would refuse, here or on
    Windows, are left out and reported.
    """
    from exhume.io.output.tree import TarSink

    refuse_options("tar", options)
    report = ExportReport()
    with binary_output(output, overwrite=overwrite) as file, TarSink(file) as sink:
        result = extract(archive, sink, stored_order(archive), jobs=jobs, progress=progress)
    report.written["members"] = result.extracted
    for _, error in result.refused:
        lose(report, error)
    return report


def export_zip(
    archive: MemberArchive,
    output: str,
    *,
    overwrite: bool = False,
    progress: Progress = no_progress,
    jobs: int = 1,
    **options: Any,
) -> ExportReport:
    """Write every member to a zip archive at `output` (`-`: standard output), uncompressed, dated 1980-01-01.

    `jobs` threads read (0: one per core).  Members that are damaged, or whose name extraction would refuse, here or on
    Windows, are left out and reported.  Raises `ExhumeError` for a large member whose damage is found only after its
    first bytes were written.
    """
    import zipfile

    refuse_options("zip", options)
    report = ExportReport()
    with (
        binary_output(output, overwrite=overwrite) as file,
        zipfile.ZipFile(file, "w") as target,
        closing(each_member(archive, report, progress, jobs)) as members,
    ):
        for entry, data in members:
            name, size = entry.name or "", entry.size or 0
            folder = entry.kind == "directory"
            try:
                safe_parts(name.rstrip("/") if folder else name, portable=True)  # raises for an unsafe name
                if folder:
                    found: Iterable[bytes | memoryview] = ()
                elif data is None:  # too large for memory
                    found = checked_pieces(archive, name, size, jobs)
                else:
                    found = (data,)
            except ExhumeError as error:
                lose(report, error)
                continue
            info = zipfile.ZipInfo(name.rstrip("/") + "/" if folder else name)
            info.external_attr = FOLDER_ATTRIBUTES if folder else FILE_ATTRIBUTES
            with target.open(info, "w", force_zip64=size >= ZIP64) as into:
                for piece in found:
                    into.write(piece)
            report.written["members"] += 1
    return report


def export_references(
    archive: MemberArchive,
    output: str,
    *,
    overwrite: bool = False,
    progress: Progress = no_progress,
    url: str | None = None,
    **options: Any,
) -> ExportReport:
    """Write references (version 1) to `output`: for each member the archive's URL, offset and size in bytes.

    `url` is the URL in the references, if it is not the one that the archive was read from.  Members that are not
    stored uncompressed, and empty names, get no reference and are reported.  Raises `WriterError` when there is no URL.
    """
    refuse_options("fsspec-reference", options)
    report = ExportReport()
    with binary_output(output, overwrite=overwrite) as file:
        text = io.TextIOWrapper(file, "utf-8", write_through=True)
        text.write('{"version":1,"refs":{')
        comma = "\n"  # before the first reference
        for entry, _ in each_member(archive, report, progress):
            name = entry.name or ""
            if entry.kind == "directory":
                continue
            try:
                stored = archive.stored_range(name)
            except ExhumeError as error:
                lose(report, error)
                continue
            if stored is None or not name:
                report.lost["members"] += 1
                report.notes.append(f"no reference for {shorten(name)!r}")
                continue
            source, start, end = stored
            place: Any = ""  # an empty member is its own content
            if end > start:
                # `origin`: where the archive starts in the outermost file.
                place = [url or redact(_url(source.outermost.location)), source.origin + start, end - start]
            text.write(f"{comma}{json.dumps(name)}:{json.dumps(place)}")
            comma = ",\n"
            report.written["references"] += 1
        text.write("\n}}\n")
        text.detach()
    return report


def _url(location: str | None) -> str:
    """Return the URL of an archive, for references to its bytes; raises `WriterError` for one in memory."""
    if location is None:
        raise WriterError("references need the URL of the archive: open it by path or URL, or name its URL")
    if "://" in location or "::" in location:
        return location
    return "file://" + os.path.abspath(location)  # noqa: PTH100 - resolve() would follow links


def stored_order(archive: MemberArchive) -> list[str]:
    """Names in the order of their bytes, so that the input is read sequentially and repacking keeps the order.

    Members without an offset of their own follow in the archive's order.
    """
    places = {
        entry.name: (entry.source or "", entry.offset, entry.size or 0)
        for entry in archive.entries()
        if entry.name and entry.offset is not None
    }
    names = list(archive.names())
    return sorted(names, key=lambda name: (name not in places, places.get(name, ("", 0, 0))))


def each_member(
    archive: MemberArchive, report: ExportReport, progress: Progress, jobs: int | None = None
) -> Generator[tuple[Entry, memoryview | None]]:
    """Yield every readable member, with its bytes if it is small (read by `jobs` threads), else None.

    With `jobs` None, no bytes are read.  Members that cannot be read are counted as lost, with a note each.
    """
    names = stored_order(archive)
    with closing(read_ahead(archive, [] if jobs is None else names, jobs or 1)) as ahead:
        found = repeat(None) if jobs is None else ahead
        # (`repeat` has no end, so only `ahead` must be as long as the names.)
        for done, (name, data) in enumerate(zip(names, found, strict=jobs is not None)):
            progress(done, len(names), "members")
            try:
                entry = archive.stat(name)
            except ExhumeError as error:
                lose(report, error)
                continue
            yield entry, data
    progress(len(names), len(names), "members")


def lose(report: ExportReport, error: ExhumeError) -> None:
    """Count a member as lost; raise the error again when it is not the member's fault."""
    if isinstance(error, SourceError) and not isinstance(error, OutputExistsError):
        raise error
    report.lost["members"] += 1
    report.notes.append(str(error))
