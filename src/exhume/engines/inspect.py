"""Inspection: as much of an archive as can be understood, whatever is broken in it.

Reading is strict: an archive with a wrong header is not opened.  The verbs that show damage (`explain`, `map`,
`list --sections`, `info`) use an `Inspection` instead: the archive itself where it opens, and otherwise the sections
that the format's `inspect` hook finds in the remainder, with the reasons in `problems`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from exhume.archive import Archive, Entry, Info, Progress, no_progress
from exhume.choices import check_keywords
from exhume.errors import ExhumeError, MissingDependencyError, SourceError, UnsupportedOperationError
from exhume.findings import Finding, Severity, Verdict
from exhume.io.opening import Target
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.layout.sections import Section, SectionKind, SectionMap
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.registry import Format

if TYPE_CHECKING:
    from exhume.layout.trees import Field

T = TypeVar("T")

HEADERS = 4
"""The number of sections whose values `info` shows for an archive that does not open."""


def inspect_archive(
    target: Target,
    *,
    format: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    storage_options: dict[str, Any] | None = None,
    offset: int = 0,
    length: int | None = None,
    **options: Any,
) -> Inspection:
    """Open an archive as far as it can be understood, even if `exhume.open` would reject it.

    Args:
        target: Path, URL, bytes, binary file object, `Source` or `Tree`.
        format: Id of the format, or another name for it; None: recognized by its bytes.
        limits: What hostile input may cost.
        storage_options: Options for the fsspec file system of a URL.
        offset: Where the archive starts inside a larger file, in bytes.
        length: How long it is there, in bytes; None: to the end.
        options: Those of the format's own opener, such as `exhume.ark.open`, which explains them. ark: `log`,
            `on_missing`, `unfinished`, `by_manifest`; caf: `any_version`; databundle: `sequence_rule`, `check`;
            leveldb: `sequence_rule`.

    Returns:
        A context manager with the sections, values and entries that can be read; `problems` are the errors as findings.

    Raises:
        SourceError: The target cannot be read (`FileNotFoundError` and `PermissionError` where it is one).
        UnrecognizedFormatError: No format recognizes it, or none is called `format`.
        TypeError: The format does not have the option.

    Example:
        >>> with exhume.inspect("words.zs") as archive:
        ...     len(archive.sections()), archive.problems
        (4, [])
    """
    from exhume.engines.identify import closing_on_error, open_described  # verbs have opened their target already

    opened, described = open_described(target, format, storage_options, offset=offset, length=length)
    with closing_on_error(opened, target):
        check_keywords(f"inspect() of {described.id} archives", options, described.hook("open"), inspect_archive)
        return Inspection(opened, described, limits=limits, **options)


class PartialInfo(Info):
    """Result of `info` for a damaged archive: the values that could be read, and the reason for missing ones.

    The verdict of `verify` is part of it, if there were findings.
    """

    def __init__(
        self, facts: dict[str, Any], verdict: Verdict, findings: tuple[Finding, ...], omitted: str = ""
    ) -> None:
        """`facts` is the JSON form of the archive's own `info`, or of its header."""
        self.facts = facts
        self.verdict = verdict
        self._findings = findings
        self._omitted = omitted

    def to_dict(self) -> dict[str, Any]:
        """Return the facts, followed by verdict and findings if there are any."""
        if not self.findings:
            return dict(self.facts)
        return {
            **self.facts,
            "verdict": str(self.verdict),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self._findings

    @property
    def omitted(self) -> str:
        return self._omitted


class Inspection(Archive):
    """An archive that may not open.  `problems` are the reasons, as findings; later calls may add more."""

    def __init__(
        self, source: Source | Tree, described: Format, *, limits: Limits = DEFAULT_LIMITS, **options: Any
    ) -> None:
        """Raise only errors that do not concern the content, such as `SourceError` and `MissingDependencyError`."""
        super().__init__(source, limits=limits)
        self.format: str = described.id
        self.problems: list[Finding] = []
        self.unchecked: dict[str, list[Finding]] = {}
        """The checks that `verify` could not make, by code."""
        self.verdict: Verdict | None = None
        """The result of `verify`, once all of its findings were read."""
        self._described = described
        self._sections: SectionMap | None = None  # found by the first call of `sections`
        # A directory that cannot be of the format raises the error, which is then about the user's choice.
        self._archive: Archive | None = self._attempt(
            lambda: described.hook("open")(source, limits=limits, **options),
            final=isinstance(source, Tree) and not _may_be(source, described),
        )

    def _attempt(self, work: Callable[[], T], *, final: bool = False) -> T | None:
        """The result of `work`; None, with a problem noted, when the content is too damaged (`final`: never)."""
        try:
            return work()
        except (MissingDependencyError, UnsupportedOperationError):
            raise
        except ExhumeError as error:
            if final or error.is_reading_failure:
                raise
            finding = Finding.from_error(error)
            if finding not in self.problems:
                self.problems.append(finding)
            return None

    def sections(self, *, jobs: int = 1) -> SectionMap:
        """The archive's sections, else those that the format finds in the remainder, else one for each file."""
        if self._sections is None:
            archive, described = self._archive, self._described
            found = self._attempt(lambda: archive.sections(jobs=jobs)) if archive is not None else None
            if found is None and described.has("inspect"):
                found = self._attempt(lambda: described.hook("inspect")(self.source, limits=self.limits))
            self._sections = found if found is not None else _unread(self.source)
        return self._sections

    def outline(self) -> SectionMap:
        """Return the section map of the format's `outline` if it has one that works, else all sections."""
        archive = self._archive
        if self._sections is None and archive is not None and type(archive).outline is not Archive.outline:
            found = self._attempt(archive.outline)
            if found is not None:
                return found
        return self.sections()

    def info(self) -> PartialInfo:
        """Return the archive's own `info`, or size and header fields if it cannot be opened."""
        found = self._attempt(self._archive.info) if self._archive is not None else None
        if found is not None:
            self.problems += [finding for finding in found.findings if finding not in self.problems]
            return PartialInfo(found.to_dict(), self._known_verdict(), tuple(self.problems), found.omitted)
        sections = self.sections()
        facts = {"size": sum(source.size for source in sections.sources.values()), "fields": dict(_parsed(sections))}
        return PartialInfo(facts, self._known_verdict(), tuple(self.problems))

    def _known_verdict(self) -> Verdict:
        """The verdict of `verify`: the problems so far settle it only if one is an error, or there are none.

        Otherwise the archive is verified up to the first error.
        """
        from exhume.engines.verify import Verification

        verdict = Verdict.of(self.problems)
        if not self.problems or verdict is Verdict.DAMAGED:
            return verdict
        verification = Verification(self.source, format=self.format, limits=self.limits)
        try:
            if any(finding.severity is Severity.ERROR for finding in verification):
                return Verdict.DAMAGED
        except SourceError:
            return Verdict.INCOMPLETE
        return verification.verdict

    def stats(self, *, jobs: int = 1) -> dict[str, Any]:
        """Return the statistics of the archive; none if it does not open or they cannot be computed."""
        opened = self._archive
        return (self._attempt(lambda: opened.stats(jobs=jobs)) if opened is not None else None) or {}

    def entries(self) -> Iterator[Entry]:
        return iter(()) if self._archive is None else self._archive.entries()

    def verify(self, *, quick: bool = False, jobs: int = 1, progress: Progress = no_progress) -> Iterator[Finding]:
        """Verify the archive, keep the verdict, and remember rules that were not checked."""
        from exhume.engines.verify import Verification

        verification = Verification(
            self.source, format=self.format, limits=self.limits, quick=quick, jobs=jobs, progress=progress
        )
        for finding in verification:
            if finding.severity is Severity.UNCHECKED and finding not in self.problems:
                self.unchecked.setdefault(finding.code, []).append(finding)
            yield finding
        self.verdict = verification.verdict

    def close(self) -> None:
        if self._archive is not None:
            self._archive.close()
        super().close()


def _may_be(tree: Tree, described: Format) -> bool:
    """Whether a directory may be an archive of the format, judged by its names where archives may also be files."""
    if described.container != "either":
        return described.container == "directory"
    return any(map(described.hook("owns"), tree.files()))


def _unread(source: Source | Tree) -> SectionMap:
    """Every file as one section of unknown content."""
    files = [source.source(name) for name in sorted(source.names())] if isinstance(source, Tree) else [source]
    return SectionMap(
        [
            (file, [Section("unread", file.span(0, file.size), SectionKind.UNREAD)] if file.size else [])
            for file in files
        ]
    )


def _parsed(sections: SectionMap) -> Iterator[tuple[str, dict[str, Any]]]:
    """The values in the first headers and footers that a schema describes, by section, as far as they can be parsed."""
    from exhume.engines.explained import explain_section

    shown = [
        section
        for section in sections.tiles()
        if section.kind is SectionKind.STRUCTURE and section.schema and not section.payload_schema
    ]
    for section in shown[:HEADERS]:
        tree = explain_section(sections, section).stored
        if tree is not None and (values := dict(_values(tree))):
            yield section.name, values


def _values(node: Field) -> Iterator[tuple[str, Any]]:
    """Paths and values of the stored fields below one that have no fields of their own; arrays are left out."""
    for child in node.children:
        if child.type.endswith("[]"):
            continue
        if child.children and child.value is None:
            yield from _values(child)
        elif child.span is not None and child.span.size and child.value is not None:
            yield child.path.partition(".")[2], child.value
