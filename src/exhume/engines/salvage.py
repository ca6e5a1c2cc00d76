"""The salvage engine: a format rebuilds what survives, and the engine reads the output back.

The format's `salvage` hook writes the output and returns a `SalvageReport`: counts of units (records, members, blocks),
the outcome of every span of bytes, and a digest of the content.  The engine verifies the output and compares counts and
digest with what the ordinary reader finds in it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from exhume.archive import Progress, no_progress
from exhume.choices import check_choice, check_keywords
from exhume.engines.identify import identify_source, open_archive, recognize
from exhume.engines.verify import Verification
from exhume.errors import ExhumeError, Span, UnrecognizedFormatError, UnsupportedOperationError, WriterError
from exhume.findings import Finding, Verdict
from exhume.io import activity
from exhume.io.files import open_input
from exhume.io.opening import Target, open_target
from exhume.io.output.atomic import exists_error
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import SalvageMode, SalvageReport, VerifiedBy
from exhume.registry import Format, get_format


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
    jobs: int = 1,
    **options: Any,
) -> SalvageReport:
    """Write what survives of a damaged archive to `output`, never in place, and report what became of every byte.

    Args:
        target: Path, URL, bytes, binary file object, `Source` or `Tree`.
        output: Path that does not exist, or an empty directory for files.
        format: Id of the format, or another name for it; None: the best guess.
        mode: A clean archive of the same format, members as files below a directory, or records as JSON lines.
        limits: What hostile input may cost.
        progress: Called with (done, total or None, unit).
        storage_options: Options for the fsspec file system of a URL.
        offset: Where the archive starts inside a larger file, in bytes.
        length: How long it is there, in bytes; None: to the end.
        jobs: Threads or processes that share the work, including reading the output back (0: one per core).
        options: The format's own. ark: `log`; caf: `unreferenced`; clp-s: `partial`; databundle: `include_deleted`,
            `unreferenced`.

    Returns:
        Counts of what was recovered and lost, the outcome of every span, and in `verified_by` what the output, which
        is read again, was checked against.

    Raises:
        WriterError: The output is the input; `OutputExistsError` when it exists.
        UnrecognizedFormatError: The format cannot be recognized: pass `format`.
        UnsupportedOperationError: The mode makes no sense for the format.
        SourceError: Reading or writing itself fails.
        TypeError: The format has no such option.

    Example:
        >>> report = exhume.salvage("words.zs", "rescued.zs")
        >>> report.complete, dict(report.recovered)["records"], str(report.verified_by)
        (True, 3, 'checksums')
    """
    path = Path(output)
    check_choice("mode", mode, SalvageMode)
    mode = SalvageMode(mode)
    source = open_target(target, storage_options=storage_options, offset=offset, length=length)
    try:
        _refuse_in_place(source, path)
        if os.path.lexists(path) and not (mode is SalvageMode.FILES and path.is_dir() and not any(path.iterdir())):
            raise exists_error(path)
        id = get_format(format).id if format else _best_guess(source)
        hook = get_format(id).hook("salvage")
        _refuse_mode(get_format(id), source, mode)
        check_keywords(f"salvage() of {id} archives", options, hook, salvage)
        report: SalvageReport = hook(source, path, mode=mode, limits=limits, progress=progress, jobs=jobs, **options)
        report.settle(_files(source))
    finally:
        if source is not target:
            source.close()
    # Read the output back: what the ordinary reader finds decides the verdict.
    report.findings = list(_reread(path, id, mode, limits, progress, jobs)) if path.exists() else []
    report.findings += compare(report, path, mode, limits, jobs)
    if report.verdict is Verdict.DAMAGED:
        report.verified_by = VerifiedBy.FAILED
    elif report.verdict is Verdict.INCOMPLETE:
        report.set_verified_by(VerifiedBy.NONE)
    if activity.current is not None:  # `--audit` records the result
        activity.current.on_result("salvage", report.to_dict())
    return report


def _files(source: Source | Tree) -> Iterator[Span]:
    """The bytes that a report has to account for: the file, or every file of the directory that can be opened."""
    if isinstance(source, Source):
        yield source.span(0, source.size)
        return
    for name in source.names():
        try:
            with source.source(name) as file:
                yield file.span(0, file.size)
        except ExhumeError:
            continue  # the format has noted that it cannot be read


def _best_guess(source: Source | Tree) -> str:
    """Return the format that a source is most likely of, however damaged it is."""
    try:
        return recognize(source)
    except UnrecognizedFormatError:
        candidates = identify_source(source)
        if not candidates:
            raise
        return candidates[0].format


def _refuse_mode(described: Format, source: Source | Tree, mode: SalvageMode) -> None:
    """Refuse modes and inputs that a format does not support, here and not in the format's own code."""
    if isinstance(source, Tree) and described.container == "file":
        raise UnrecognizedFormatError(
            f"{described.id} archives are files, not directories", format=described.id, actual=source.name
        )
    if mode not in described.salvages:
        raise UnsupportedOperationError(
            f"{described.id} archives cannot be salvaged as {mode}", expected=f"one of {', '.join(described.salvages)}"
        )


def _refuse_in_place(source: Source | Tree, output: Path) -> None:
    """Raise `WriterError` if the output is the evidence, or a file inside its directory."""
    location = source.location if isinstance(source, Tree) else source.outermost.location
    if location is None or "://" in location:
        return
    evidence, out = Path(location).resolve(), output.resolve()
    if out == evidence or out.is_relative_to(evidence):
        raise WriterError("output must differ from the input", span=Span(str(output), 0, 0), code="EX-705")


def _reread(path: Path, id: str, mode: SalvageMode, limits: Limits, progress: Progress, jobs: int) -> Iterator[Finding]:
    """The problems of the output: an archive (of the format `id`) is verified, lines are parsed; plain files have no
    rules to break.
    """
    try:
        if mode is SalvageMode.ARCHIVE:
            found = Verification(path, format=id, limits=limits, progress=_verifying(progress), jobs=jobs)
            yield from (finding for finding in found if finding.is_problem)
        elif mode is SalvageMode.RECORDS:
            _parse_lines(path, _verifying(progress))
    except ExhumeError as error:
        yield Finding.from_error(error)


def compare(report: SalvageReport, path: Path, mode: SalvageMode, limits: Limits, jobs: int) -> list[Finding]:
    """Count what the ordinary reader finds in the output, and compare it with what was recovered."""
    described = get_format(report.format)
    # The kinds that the format counts, such as records; its hook `tally` counts the same in the output.
    recovered = sum(report.recovered[kind] for kind in described.units)
    digest = report.digest
    try:
        if not path.exists():
            report.read_back = 0
        elif mode is SalvageMode.FILES:
            report.read_back = sum(len(names) for _, _, names in os.walk(path))
        elif mode is SalvageMode.RECORDS:
            with open_input(path) as file:
                report.read_back = sum(1 for _ in file)
        else:
            with open_archive(path, format=report.format, limits=limits) as archive:
                report.read_back = described.hook("tally")(archive, jobs)
                digest = digest and archive.content_digest()  # only if the report has one to compare with
    except ExhumeError as error:
        finding = Finding.from_error(error)
        return [] if any(one.is_problem for one in report.findings) else [finding]
    # Different counts, or else different digests.
    expected, actual = (recovered, report.read_back) if report.read_back != recovered else (report.digest, digest)
    if expected == actual:
        return []
    difference = WriterError(
        f"{described.units[0]} in the output are not those recovered",
        code="EX-708",
        span=Span(str(path), 0, 0),
        expected=expected,
        actual=actual,
    )
    return [Finding.from_error(difference)]


def _verifying(progress: Progress) -> Progress:
    """Return a progress callback whose unit says that the output is verified."""
    return lambda done, total, unit: progress(done, total, f"{unit} verified")


def _parse_lines(path: Path, progress: Progress) -> None:
    """Check that each line of a JSON lines file parses. Raises `WriterError` at the first that does not."""
    at, size = 0, path.stat().st_size
    with open_input(path) as file:
        for line in file:
            try:
                json.loads(line)
            except ValueError as error:
                span = Span(str(path), at, at + len(line))
                raise WriterError("line is not valid JSON", code="EX-706", span=span, actual=str(error)) from error
            at += len(line)
            progress(at, size, "bytes")
