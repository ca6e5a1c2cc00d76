"""Rules and findings: a numbered rule makes the exception of readers and the finding of `verify`, in one wording.

A rule is a requirement of a format, with a code such as ZS-201; a finding is a place that breaks it.  The verdict on
an archive follows from its findings.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from exhume.counts import counted
from exhume.errors import (
    ExhumeError,
    LimitExceededError,
    MissingDependencyError,
    SourceError,
    Span,
    StructureError,
    UnsupportedFeatureError,
    describe,
    shorten,
)
from exhume.late import notebook_html
from exhume.tuples import NamedTuple

NOT_CHECKED = (LimitExceededError, UnsupportedFeatureError, MissingDependencyError, SourceError)
"""Errors that prevent a check and show no damage: a limit, an unsupported feature, a missing package, a failed read."""


class Severity(enum.StrEnum):
    """Severity of a finding, worst first.

    `error` breaks the specification; `unchecked` could not be checked (a limit, an unsupported feature, a missing
    package); `warning` is suspicious; `note` is worth knowing.

    Args:
        value: One of these words.

    Raises:
        ValueError: It is another one.

    Example:
        >>> exhume.Severity("error") is exhume.Severity.ERROR
        True
    """

    ERROR = "error"
    UNCHECKED = "unchecked"
    WARNING = "warning"
    NOTE = "note"


class Finding(NamedTuple):
    """One result of `exhume.verify`; `str()` is one line.

    Attributes:
        code: Code of the broken rule; stable, and documented with the sentence of the specification.
        severity: error, unchecked, warning or note.
        message: One sentence.
        span: The bytes at fault, absolute in the file it names.
        field_path: The field in the specification, or None.
        expected: What should be there.
        actual: The value found.
        spec_ref: The sentence of the format's specification.
        declared_at: Where the expected value is stored, when that is far from `span` (a checksum in an index).

    Example:
        >>> for finding in exhume.verify(Path("words.zs").read_bytes()[:-1]):
        ...     print(finding.severity, finding.code)
        error ZS-303
        error ZS-304
    """

    code: str
    severity: Severity
    message: str
    span: Span | None = None
    field_path: str | None = None
    expected: Any = None
    actual: Any = None
    spec_ref: str | None = None
    declared_at: Span | None = None

    @property
    def is_problem(self) -> bool:
        """Whether it is an error, or something could not be checked: the archive is not `ok`."""
        return self.severity in (Severity.ERROR, Severity.UNCHECKED)

    def __str__(self) -> str:
        return self.one_line()

    def one_line(self, remedy: str = "") -> str:
        """The finding as one line of text, with a remedy before its code, if there is one."""
        return describe(self.code, self.message, self.span, self.field_path, self.expected, self.actual, remedy)

    @property
    def summary(self) -> str:
        """The line without target and offset, for output that shows these next to it."""
        return describe(self.code, self.message, None, self.field_path, self.expected, self.actual)

    def _repr_html_(self) -> str:
        """HTML for a notebook."""
        return notebook_html("finding_html", self)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form documented for `exhume verify --json`."""
        return {
            "code": self.code,
            "severity": str(self.severity),
            "message": self.message,
            "span": self.span.to_dict() if self.span else None,
            "field_path": self.field_path,
            "expected": _plain(self.expected),
            "actual": _plain(self.actual),
            "spec_ref": self.spec_ref,
            "declared_at": self.declared_at.to_dict() if self.declared_at else None,
        }

    @classmethod
    def from_error(cls, error: ExhumeError, *, unread: bool = False) -> Finding:
        """The finding that reports the same as an exception; `unchecked` where that shows no damage (`NOT_CHECKED`).

        Raises a `SourceError` again, unless `unread`: a disk or server that fails says nothing about the archive.
        """
        if isinstance(error, SourceError) and not unread:
            raise error
        return cls(
            code=error.code,
            severity=severity_of(type(error)),
            message=error.message,
            span=error.span,
            field_path=error.field_path,
            expected=error.expected,
            actual=error.actual,
            spec_ref=error.spec_ref,
        )


def severity_of(error_type: type[ExhumeError]) -> Severity:
    """The severity of the finding that reports an error of that class."""
    return Severity.UNCHECKED if issubclass(error_type, NOT_CHECKED) else Severity.ERROR


class Verdict(enum.StrEnum):
    """The result of checking an archive.

    `ok`: everything was checked, and no rule is broken; `damaged`: a rule is broken; `incomplete`: no broken rule was
    found, but something could not be checked.

    Args:
        value: One of these words.

    Raises:
        ValueError: It is another one.

    Example:
        >>> exhume.Verdict.of(exhume.verify("words.zs"))
        <Verdict.OK: 'ok'>
    """

    OK = "ok"
    DAMAGED = "damaged"
    INCOMPLETE = "incomplete"

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> Verdict:
        """The verdict that findings amount to; takes all of them."""
        return cls.of_severities({finding.severity for finding in findings})

    @classmethod
    def of_severities(cls, severities: Collection[Severity]) -> Verdict:
        """The verdict that findings of these severities amount to."""
        if Severity.ERROR in severities:
            return cls.DAMAGED
        return cls.INCOMPLETE if Severity.UNCHECKED in severities else cls.OK

    @classmethod
    def of_all(cls, verdicts: Collection[str]) -> Verdict | None:
        """The verdict on several archives together: the worst of theirs; None without any."""
        return next((one for one in (cls.DAMAGED, cls.INCOMPLETE, cls.OK) if one in verdicts), None)


NO_CHECKSUMS = "this format has no checksums for its content"
"""Note for every format without checksums: a changed value that decodes cannot be detected."""

STRUCTURE_ONLY = f"structure is sound; {NO_CHECKSUMS}"
"""The most that can be said of an archive of such a format."""

PARTLY_STRUCTURE = "structure is sound; part of the content has no checksums"
"""The most that can be said of an archive of another format some of whose content was written without them."""


NOT_VERIFIED = "not checked: --no-verify"
"""Shown instead of a verdict if the archive was not verified, as requested."""


def summarize(counts: Mapping[Severity, int], *notes: str) -> str:
    """The verdict in words: `damaged (2 errors, 1 warning)`; notes that are not empty follow the counts."""
    shown = [
        f"{count} not checked" if severity is Severity.UNCHECKED else counted(count, f"{severity}s")
        for severity, count in counts.items()
        if count
    ]
    more = ", ".join([*shown, *filter(None, notes)])
    verdict = Verdict.of_severities([severity for severity, count in counts.items() if count])
    return f"{verdict} ({more})" if more else str(verdict)


class CheckOutcome(enum.StrEnum):
    """The result of checking a stored checksum; `matches` and `mismatch` mean that it was computed and compared."""

    MATCHES = "matches"
    MISMATCH = "mismatch"
    NOT_CHECKED = "not_checked"


class Check(NamedTuple):
    """One stored checksum, computed again and compared, or not checked for a `reason`.

    `expected` is the stored value and `actual` the computed one, as text; `algorithm` names the computed checksum where
    the specification of the field leaves that open.
    """

    outcome: CheckOutcome
    expected: str = ""
    actual: str = ""
    reason: str = ""
    algorithm: str = ""

    @classmethod
    def compare(cls, stored: str, computed: str, algorithm: str = "") -> Check:
        """The result of comparing the stored value with the computed one; both have the same textual form."""
        outcome = CheckOutcome.MATCHES if stored == computed else CheckOutcome.MISMATCH
        return cls(outcome, stored, computed, algorithm=algorithm)

    @classmethod
    def skipped(cls, reason: str) -> Check:
        """A checksum that was not computed, or could not be."""
        return cls(CheckOutcome.NOT_CHECKED, reason=reason)

    def __str__(self) -> str:
        if self.outcome is CheckOutcome.MISMATCH:
            return f"MISMATCH, stored {self.expected}, computed {self.actual}"
        words = str(self.outcome).replace("_", " ")
        return f"{words}: {self.reason}" if self.reason else words

    def to_dict(self) -> dict[str, str]:
        """The JSON form; absent keys mean "nothing to say"."""
        out = {"outcome": str(self.outcome)}
        for key in ("expected", "actual", "reason"):
            if text := getattr(self, key):
                out[key] = text
        return out


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it; integers beyond 2**53 become strings, as JavaScript rounds them."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= 1 << 53 else str(value)
    if isinstance(value, float):
        return value
    return shorten(value, 200)


class Rule(NamedTuple):
    """A numbered rule of a format: `code`, the sentence that a reader sees (`title`), and the line of the specification
    that it enforces (`spec`).

    Numbers: 1xx identity, 2xx checksums, 3xx structure and order, 4xx content, 5xx safety.
    """

    code: str
    title: str
    spec: str
    severity: Severity = Severity.ERROR  # of its finding
    error_type: type[ExhumeError] = StructureError  # class of the exception of readers
    hint: str = ""  # what a finding usually means, and what to do

    def error(
        self,
        detail: str = "",
        *,
        span: Span | None = None,
        field_path: str | None = None,
        expected: Any = None,
        actual: Any = None,
    ) -> ExhumeError:
        """The exception a strict reader raises for this rule."""
        return self.error_type(
            self._message(detail),
            code=self.code,
            span=span,
            field_path=field_path,
            expected=expected,
            actual=actual,
            spec_ref=self.spec,
        )

    def finding(
        self,
        detail: str = "",
        *,
        span: Span | None = None,
        field_path: str | None = None,
        expected: Any = None,
        actual: Any = None,
        severity: Severity | None = None,
    ) -> Finding:
        """The finding `verify` reports for this rule."""
        return Finding(
            code=self.code,
            severity=severity or self.severity,
            message=self._message(detail),
            span=span,
            field_path=field_path,
            expected=expected,
            actual=actual,
            spec_ref=self.spec,
        )

    def _message(self, detail: str) -> str:
        return f"{self.title}: {detail}" if detail else self.title


class RuleTable:
    """The rules of one format, in the order they were declared; a code can be declared once.

    `prefix` is the beginning of its codes, such as `ZS`.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self._rules: dict[str, Rule] = {}

    def rule(
        self,
        number: int,
        title: str,
        *,
        spec: str,
        severity: Severity | None = None,
        error: type[ExhumeError] = StructureError,
        hint: str = "",
    ) -> Rule:
        """Declare a rule; `hint` is a sentence for the findings page (what it usually means, what to do).

        `spec` is the line of the specification that it enforces, `error` the class of the exception of readers.
        Without `severity`, the class of the error decides (`severity_of`).
        """
        code = f"{self.prefix}-{number:03d}"
        if code in self._rules:
            raise AssertionError(f"rule {code} declared twice")
        rule = Rule(code, title, spec, severity or severity_of(error), error, hint)
        self._rules[code] = rule
        return rule

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules.values())

    def __getitem__(self, code: str) -> Rule:
        return self._rules[code]

    def __len__(self) -> int:
        return len(self._rules)


def with_error(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings, then the finding of the error that ends them; raises only `SourceError`."""
    try:
        yield from findings
    except ExhumeError as error:
        yield Finding.from_error(error)


MAX_PER_RULE = 100
"""At most this many findings of one rule are reported for one file; one further finding counts the rest."""


class CappedFindings:
    """The findings of one file, at most `MAX_PER_RULE` for each rule: a hostile file may break a rule any number of
    times.
    """

    def __init__(self, findings: Iterable[Finding] = ()) -> None:
        self._kept: list[Finding] = []  # the first ones of each rule
        self._counts: dict[str, int] = {}  # all findings, by code
        self._last: dict[str, Finding] = {}  # the last one that was only counted, by code
        for finding in findings:
            self.append(finding)

    def append(self, finding: Finding) -> None:
        """Keep a finding, or only count it when enough findings of its rule are kept."""
        count = self._counts[finding.code] = self._counts.get(finding.code, 0) + 1
        if count <= MAX_PER_RULE:
            self._kept.append(finding)
        else:
            self._last[finding.code] = finding

    def extend(self, other: CappedFindings) -> None:
        """Take over the findings of another part of the file, and the number of those that it only counted."""
        for finding in other._kept:
            self.append(finding)
        for code, finding in other._last.items():
            self._counts[code] += other._counts[code] - MAX_PER_RULE  # `append` has counted those that it kept
            self._last[code] = finding

    def findings(self) -> list[Finding]:
        """The findings that were kept, then one for each rule that has more: their number and the place of the last.

        Those are in the order in which the rules first failed, which does not depend on the parts of a file.
        """
        more = []
        for code in self._counts:
            if (one := self._last.get(code)) is None:
                continue
            message = f"{one.message.split(':')[0]}: {self._counts[code] - MAX_PER_RULE} more in this file"
            more.append(Finding(code, one.severity, message, one.span, spec_ref=one.spec_ref))
        return self._kept + more


MAX_REMEMBERED = 1 << 16
"""At most this many findings are remembered to recognize repetitions: a hostile archive may have any number."""


def deduplicated(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings without repetitions.

    Several checks may need the same structure, and each of them reports the fault in it; that is one fault.
    Findings repeat each other when code, span and message are the same, unless they name different fields.
    """
    seen: dict[tuple[str, Span | None, str], set[str | None]] = {}
    for finding in findings:
        fields = seen.setdefault((finding.code, finding.span, finding.message), set())
        if fields and finding.field_path in fields | {None}:
            continue
        fields.add(finding.field_path)
        yield finding
        if len(seen) > MAX_REMEMBERED:
            del seen[next(iter(seen))]  # the oldest
