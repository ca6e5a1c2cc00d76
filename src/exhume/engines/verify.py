"""The verify engine: opens the archive where possible and collects findings of its rules; failures become findings.

A finding is one broken rule, with code, severity and place.  A format has a `verify` hook that works on the bytes, or
its open archive has a method `verify`.  Content of some formats has no checksums: a format that has them reports such
content by the finding `unsealed`, and an `ok` then says that only structure was checked.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from exhume.archive import Progress, no_progress
from exhume.choices import check_keywords
from exhume.engines.identify import recognize
from exhume.errors import ExhumeError, SourceError, UnrecognizedFormatError
from exhume.findings import (
    NO_CHECKSUMS,
    NOT_VERIFIED,
    PARTLY_STRUCTURE,
    STRUCTURE_ONLY,
    Check,
    Finding,
    Severity,
    Verdict,
    deduplicated,
    summarize,
)
from exhume.io import activity
from exhume.io.opening import Target, open_target
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.registry import get_format

if TYPE_CHECKING:
    from exhume.io.images import EvidenceSource

PIECE = 1 << 22
"""Bytes of an image that are read at a time."""


class Verification(Iterator[Finding]):
    """The findings of one target, each once, as they are made; `format` is known once the first was requested.

    `verdict` and `ok` read the remaining findings, and give the result.  `bool()` raises an error: it would be true for
    every archive.
    """

    def __init__(
        self,
        target: Target,
        *,
        format: str | None = None,
        limits: Limits = DEFAULT_LIMITS,
        quick: bool = False,
        jobs: int = 1,
        progress: Progress = no_progress,
        storage_options: Mapping[str, Any] | None = None,
        offset: int = 0,
        length: int | None = None,
    ) -> None:
        """Note the target and the options; it is opened when the first finding is requested."""
        self.target = target
        self.format = format and get_format(format).id
        self.counts: dict[Severity, int] = dict.fromkeys(Severity, 0)
        """Number of findings by severity so far."""
        self._options = {"quick": quick, "jobs": jobs, "progress": progress}  # of the format's `verify`
        self._limits = limits
        # How to open the target.
        self._storage: dict[str, Any] = {
            "storage_options": storage_options,
            "offset": offset,
            "length": length,
        }

        self._unsealed = False
        """Whether some content has no checksums, though the format has."""
        self._running = self._run()  # yields the findings
        self._failed = self._ended = False  # reading failed; all findings were taken

    def __next__(self) -> Finding:
        """The next finding.  Raises `SourceError` when reading itself fails."""
        try:
            return next(self._running)
        except StopIteration:
            self._ended = True
            raise
        except SourceError:
            self._failed = True
            raise

    def __repr__(self) -> str:
        """The target, its format once it is known, and the verdict once all findings were taken."""
        target = self.target
        name = str(target) if isinstance(target, (str, PathLike)) else getattr(target, "name", type(target).__name__)
        state = str(self._verdict_so_far()) if self._ended else "not finished"
        return f"<{type(self).__name__} {name!r}{f', {self.format}' if self.format else ''}: {state}>"

    def __bool__(self) -> bool:
        raise TypeError("a verification has no truth value: use its verdict or ok, or list its findings")

    @property
    def verdict(self) -> Verdict:
        """The verdict.  Iterates over the remaining findings first, and propagates their errors."""
        for _ in self:
            pass
        return self._verdict_so_far()

    def _verdict_so_far(self) -> Verdict:
        """The verdict that the findings so far amount to."""
        found = {severity for severity, count in self.counts.items() if count}
        return Verdict.of_severities(found | {Severity.UNCHECKED} if self._failed else found)

    @property
    def ok(self) -> bool:
        """Whether everything was checked and no rule is broken.  Iterates over the remaining findings first."""
        return self.verdict is Verdict.OK

    @property
    def note(self) -> str:
        """The checks that an `ok` does not include (after iteration): skipped by `quick`, or without a checksum."""
        if self.format is None or not self.ok:
            return ""
        if self.unchecked:
            return f"without the {', '.join(self.unchecked)}: --quick"
        if get_format(self.format).has_checksums:
            left_out = "payloads were not examined: --quick" if self._options["quick"] else ""
            return "; ".join(filter(None, (left_out, PARTLY_STRUCTURE if self._unsealed else "")))
        return f"payloads were not read: --quick; {NO_CHECKSUMS}" if self._options["quick"] else STRUCTURE_ONLY

    def summary(self) -> str:
        """The verdict in words, with the number of findings and the note (after iteration)."""
        return summarize(self.counts, self.note if self.format else "no known format")

    @property
    def checked(self) -> tuple[str, ...]:
        """The kinds of checksums that were compared: all of them when `ok`, else those that could be reached."""
        if self.format is None:
            return ()
        described = get_format(self.format)
        return described.checksums + (() if self._options["quick"] else described.payload_checksums)

    @property
    def unchecked(self) -> tuple[str, ...]:
        """The kinds of checksums that `quick` left out."""
        if self.format is None or not self._options["quick"]:
            return ()
        return get_format(self.format).payload_checksums

    def _run(self) -> Iterator[Finding]:
        """Open the target and yield its findings, which are counted and reported to `--audit` on the way."""
        source = open_target(self.target, **self._storage)
        try:
            for finding in self._findings(source):
                self.counts[finding.severity] += 1
                self._unsealed |= self.format is not None and finding.code == get_format(self.format).unsealed
                if activity.current is not None:
                    activity.current.on_result("finding", finding.to_dict())
                yield finding
            if activity.current is not None:
                verdict = str(self._verdict_so_far())
                activity.current.on_result(
                    "verdict", {"target": source.name, "format": self.format, "verdict": verdict}
                )
        finally:
            if source is not self.target:
                source.close()

    def _findings(self, source: Any) -> Iterator[Finding]:
        """Yield the findings of the format's rules; an error that ends the check becomes the last finding."""
        try:
            if self.format is None:
                try:
                    self.format = recognize(source)
                except UnrecognizedFormatError as error:  # nothing was checked: it may not be an archive
                    yield Finding.from_error(error)._replace(severity=Severity.UNCHECKED)
                    return
            described = get_format(self.format)
            if described.has("verify"):
                yield from deduplicated(described.hook("verify")(source, limits=self._limits, **self._options))
            else:
                archive = described.hook("open")(source, limits=self._limits)
                try:
                    yield from archive.verify(**self._options)
                finally:
                    if source is not self.target:  # what the caller opened stays open
                        archive.close()
        except ExhumeError as error:
            yield Finding.from_error(error)


def describe_verdict(format: str, counts: Mapping[Severity, int] | None, codes: Container[str] = ()) -> tuple[str, str]:
    """Return the verdict on an archive and the words to print for it.

    `counts` are its findings by severity (None: it was not verified), `codes` those that occurred.  The verdict is
    empty if the archive was not verified, and `structure` in place of `ok` if no checksum can confirm the content.
    """
    if counts is None:
        return "", NOT_VERIFIED
    verdict = Verdict.of_severities([severity for severity, count in counts.items() if count])
    if verdict is Verdict.OK and not get_format(format).has_checksums:
        return "structure", summarize(counts, STRUCTURE_ONLY)
    if verdict is Verdict.OK and get_format(format).unsealed in codes:
        return "structure", summarize(counts, PARTLY_STRUCTURE)
    return verdict, summarize(counts)


def verify(
    target: Target,
    *,
    format: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    quick: bool = False,
    jobs: int = 1,
    progress: Progress = no_progress,
    storage_options: Mapping[str, Any] | None = None,
    offset: int = 0,
    length: int | None = None,
    **unknown: Any,
) -> Verification:
    """Every broken rule of an archive as findings, as they are made, and the verdict that they amount to.

    Args:
        target: Path, URL, bytes, binary file object, `Source` or `Tree`.
        format: Id of the format, or another name for it; None: recognized by its bytes.
        limits: What hostile input may cost.
        quick: Whether to leave out what needs the payloads.
        jobs: Threads; 0: one per core.
        progress: Called with (done, total or None, unit).
        storage_options: Options for the fsspec file system of a URL.
        offset: Where the archive starts inside a larger file, in bytes.
        length: How long it is there, in bytes; None: to the end.
        unknown: Must be empty: a misspelt argument is a `TypeError` that suggests the right one.

    Returns:
        The findings, lazily, in the order of the file where that is possible, each once.  Its `verdict` (`ok`,
        `damaged`, `incomplete`) and `ok` take all that are left; it is itself neither true nor false.

    Raises:
        SourceError: Reading itself fails, which says nothing about the archive.
        UnrecognizedFormatError: No format is called `format`.  (An archive of no known format is a finding.)

    Example:
        >>> damaged = bytearray(Path("words.zs").read_bytes())
        >>> damaged[40] ^= 1
        >>> for finding in exhume.verify(damaged, format="zs"):
        ...     print(finding.code, finding.severity, finding.span and finding.span.start)
        ZS-201 error 8
        ZS-203 error 40
    """
    check_keywords("verify()", unknown, verify)
    how: dict[str, Any] = {"storage_options": storage_options, "offset": offset, "length": length}
    return Verification(target, format=format, limits=limits, quick=quick, jobs=jobs, progress=progress, **how)


def check_evidence(source: EvidenceSource, progress: Progress = no_progress) -> Check:
    """Read the whole content and compare its MD5 with the one that the container stores.

    libewf reads past chunks whose checksum does not match, so only this check detects damage to the container itself.
    Raises `SourceError` where it cannot be read.
    """
    if not source.digest:
        return Check.skipped("the EWF image stores no MD5 of its content")
    from exhume.codecs.checksums import md5

    computed = md5()
    for start in range(0, source.size, PIECE):
        computed.update(source.read_at(start, min(PIECE, source.size - start)))
        progress(min(start + PIECE, source.size), source.size, "bytes")
    return Check.compare(source.digest.lower(), computed.hexdigest(), "MD5")
