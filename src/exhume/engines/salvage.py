"""The salvage engine: lets a format rebuild what survives, then proves that what was written is clean."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from exhume.archive import Progress, no_progress
from exhume.engines.identify import identify_source, recognise
from exhume.engines.verify import Verification
from exhume.errors import ExhumeError, Span, UnrecognizedFormatError, WriterError
from exhume.findings import Finding, Severity
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.output.atomic import exists_error
from exhume.recovery import SalvageMode, SalvageReport
from exhume.registry import get_format
from exhume.source import Source, Target, Tree, open_target


def salvage(
    target: Target,
    output: str | os.PathLike[str],
    *,
    format: str | None = None,
    mode: SalvageMode = SalvageMode.ARCHIVE,
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress = no_progress,
    storage_options: dict[str, Any] | None = None,
    offset: int = 0,
    length: int | None = None,
    **options: Any,
) -> SalvageReport:
    """Writes what survives of a damaged archive to `output`, never in place, and reports what became of every byte.

    `mode` chooses a clean archive of the same format, members as files below a directory, or records as JSON lines.
    The output is verified before `report.verified` is set.  Raises `WriterError` when the output exists or is the
    input, `UnrecognizedFormatError` when no format can be told (pass `format`).
    """
    path = Path(output)
    source = open_target(target, storage_options=storage_options, offset=offset, length=length)
    try:
        _refuse_in_place(source, path)
        if os.path.lexists(path) and not (mode is SalvageMode.FILES and path.is_dir() and not any(path.iterdir())):
            raise exists_error(path)
        id = format or _best_guess(source)
        hook = get_format(id).hook("salvage")
        report: SalvageReport = hook(source, path, mode=mode, limits=limits, progress=progress, **options)
    finally:
        if source is not target:
            source.close()
    _prove(report, path, id, mode, limits)
    return report


def _best_guess(source: Source | Tree) -> str:
    try:
        return recognise(source)
    except UnrecognizedFormatError:
        candidates = identify_source(source)
        if not candidates:
            raise
        return candidates[0].format


def _refuse_in_place(source: Source | Tree, output: Path) -> None:
    location = source.location if isinstance(source, Tree) else source.outermost.location
    if location is None or "://" in location:
        return
    evidence, out = Path(location).resolve(), output.resolve()
    if out == evidence or out.is_relative_to(evidence):
        raise WriterError(
            "salvage never writes in place: choose another output", span=Span(str(output), 0, 0), code="EX-705"
        )


def _prove(report: SalvageReport, path: Path, id: str, mode: SalvageMode, limits: Limits) -> None:
    """Verifies the written archive; files and JSON lines were checked as they were decoded."""
    if mode is not SalvageMode.ARCHIVE:
        report.verified = True
        return
    if not path.exists():  # nothing survived that makes an archive
        report.verified = False
        return
    try:
        report.findings = [f for f in Verification(path, format=id, limits=limits) if f.severity is Severity.ERROR]
    except ExhumeError as error:
        report.findings = [Finding.from_error(error)]
    report.verified = not report.findings
