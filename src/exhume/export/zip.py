"""`--to zip`: members as a zip archive, stored, with deterministic metadata."""

from __future__ import annotations

import zipfile
from typing import Any

from exhume.archive import MemberArchive, Progress, no_progress
from exhume.engines.extract import checked_pieces
from exhume.errors import ExhumeError
from exhume.export._members import each_member, lose
from exhume.io.output.names import safe_parts
from exhume.io.output.stream import binary_output
from exhume.tabular.report import ExportReport, refuse_options

ACCEPTS = "members"

ZIP64 = 1 << 30
"""Members from this size on get 64-bit fields from the start."""


def export(
    archive: MemberArchive,
    output: str,
    *,
    overwrite: bool = False,
    progress: Progress = no_progress,
    jobs: int = 1,
    **options: Any,
) -> ExportReport:
    """Write every member to a zip archive at `output` (`-`: standard output), uncompressed, dated 1980-01-01.

    `jobs` threads read (0: one per core).  Members that are damaged, or whose name extraction would refuse, here or
    on Windows, are left out and reported.  Raises `ExhumeError` for a large one whose damage comes after its beginning.
    """
    refuse_options("zip", options)
    report = ExportReport()
    with binary_output(output, overwrite=overwrite) as file, zipfile.ZipFile(file, "w") as target:
        for entry, data in each_member(archive, report, progress, jobs):
            name, size = entry.name or "", entry.size or 0
            folder = entry.kind == "directory"
            try:
                safe_parts(name.rstrip("/") if folder else name, portable=True)
                found = () if folder else checked_pieces(archive, name, size, jobs) if data is None else (data,)
            except ExhumeError as error:
                lose(report, error)
                continue
            info = zipfile.ZipInfo(name.rstrip("/") + "/" if folder else name)
            info.external_attr = (0o40755 << 16 | 0x10) if folder else 0o100644 << 16
            with target.open(info, "w", force_zip64=size >= ZIP64) as into:
                for piece in found:
                    into.write(piece)
            report.written["members"] += 1
    return report
