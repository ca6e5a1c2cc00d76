"""`--to tar`: members as a tar archive (pax headers, deterministic metadata)."""

from __future__ import annotations

from typing import Any

from exhume.archive import MemberArchive, Progress, no_progress
from exhume.engines.extract import extract
from exhume.export._members import lose, stored_order
from exhume.io.output.stream import binary_output
from exhume.io.output.tar import TarSink
from exhume.tabular.report import ExportReport, refuse_options

ACCEPTS = "members"


def export(
    archive: MemberArchive,
    output: str,
    *,
    overwrite: bool = False,
    progress: Progress = no_progress,
    jobs: int = 1,
    **options: Any,
) -> ExportReport:
    """Write every member to a tar archive at `output` (`-`: standard output); `jobs` threads read (0: one per core).

    Members that are damaged, or whose name extraction would refuse, here or on Windows, are left out and reported.
    """
    refuse_options("tar", options)
    report = ExportReport()
    with binary_output(output, overwrite=overwrite) as file, TarSink(file) as sink:
        result = extract(archive, sink, stored_order(archive), jobs=jobs, progress=progress)
    report.written["members"] = result.extracted
    for _, error in result.refused:
        lose(report, error)
    return report
