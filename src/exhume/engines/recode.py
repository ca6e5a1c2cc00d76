"""The recode engine: the same logical content with other codec settings, verified before the output gets its name."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exhume.archive import Archive, Progress, no_progress
from exhume.choices import check_keywords
from exhume.engines.identify import open_archive
from exhume.errors import Span, WriterError
from exhume.findings import Severity
from exhume.io.files import naming
from exhume.io.opening import Target
from exhume.io.output.atomic import exists_error, report_output, sync_directory
from exhume.io.output.scratch import ScratchDirectory
from exhume.io.parallel import map_ordered
from exhume.io.source import Source
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.registry import get_format


@dataclass(frozen=True, slots=True)
class RecodeReport:
    """Result of recoding: sizes in bytes, and the digest that both archives share."""

    format: str
    output: str
    content_digest: str
    size_before: int
    size_after: int

    def to_dict(self) -> dict[str, Any]:
        """The JSON form documented for `exhume recode --json`."""
        return {name: getattr(self, name) for name in self.__slots__}


def recode(
    target: Target,
    output: str | os.PathLike[str],
    *,
    format: str | None = None,
    stored: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    jobs: int = 1,
    progress: Progress = no_progress,
    **options: Any,
) -> RecodeReport:
    """Rewrite the archive with other codec settings, and verify that its content is unchanged.

    Args:
        target: Path, URL, bytes, binary file object, `Source` or `Tree`.
        output: Path that does not exist.
        format: Id of the format, or another name for it; None: recognized by its bytes.
        stored: Whether to wrap every payload in raw blocks of its codec, so that native tools still read the archive
            while any hex tool shows the payload bytes in place.
        limits: What hostile input may cost.
        jobs: Threads (0: one per core); the copy is that of one.
        progress: Called with (done, total or None, unit).
        options: The format's own, as when it is created. clp-ir: `codec`, `level`; clp-s: `level`, `directory`;
            databundle: `codec`, `level`; kv-ir: `codec`, `level`; zs: `codec`, `level`, `block_size`.

    Returns:
        Sizes before and after, and the digest that both have.

    Raises:
        WriterError: An option makes no sense, or the copy differs or breaks a rule; `OutputExistsError` when the output
            exists.
        UnsupportedOperationError: The format cannot be recoded.
        FormatError: The archive is damaged.
        SourceError: Reading or writing itself fails.
        TypeError: The format has no such option.

    Example:
        >>> report = exhume.recode("words.zs", "words-stored.zs", stored=True)
        >>> report.format, list(exhume.zs.open("words-stored.zs").records())[0]
        ('zs', b'apple')
    """
    path = Path(output)
    if os.path.lexists(path):
        raise exists_error(path)
    if options.get("level") is not None and (stored or options.get("codec") == "none"):
        what = "stored payloads have" if stored else "the codec none has"
        raise WriterError(f"{what} no compression level", actual=options["level"])
    with open_archive(target, format=format, limits=limits) as archive:
        described = get_format(archive.format)
        hook = described.hook("recode")
        check_keywords(f"recode() of {described.id} archives", options, hook, recode)
        with ScratchDirectory(path) as scratch:  # next to the output, removed at the end
            made = scratch / path.name
            hook(archive, made, stored=stored, limits=limits, progress=progress, jobs=jobs, **options)
            digest = _compare_digests(archive, made, limits, jobs)
            report = RecodeReport(archive.format, str(path), digest, _size(archive), _size_on_disk(made))
            with naming(path):  # an error names the output
                made.rename(path)  # only a verified copy gets the name of the output
            report_output(path)  # to `--audit`
            sync_directory(path.parent)  # so that the new name lasts
    return report


def _compare_digests(archive: Archive, made: Path, limits: Limits, jobs: int) -> str:
    """The digest that both archives have; raises `WriterError` where the copy breaks a rule or has another."""
    with open_archive(made, format=archive.format, limits=limits) as copy:
        findings = [finding for finding in copy.verify(jobs=jobs) if finding.is_problem]
        if findings:
            first = next((finding for finding in findings if finding.severity is Severity.ERROR), findings[0])
            problem = "does not verify" if first.severity is Severity.ERROR else "could not be verified completely"
            raise WriterError(f"the recoded archive {problem}: {first.summary}", code="EX-706")
        digest, after = map_ordered(lambda each: each.content_digest(), (archive, copy), jobs)
    if after != digest:
        raise WriterError(
            "recoded content does not match",
            code="EX-706",
            span=Span(str(made), 0, 0),
            expected=digest,
            actual=after,
        )
    return digest


def _size(archive: Archive) -> int:
    """Return the size of an archive in bytes, over all its files."""
    source = archive.source
    if isinstance(source, Source):
        return source.size
    total = 0
    for name in source.names():
        with source.source(name) as file:
            total += file.size
    return total


def _size_on_disk(path: Path) -> int:
    """Return the size of a file, or of all files below a directory, in bytes."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)
