"""Results of salvage and carve: the types that engines and formats share.

Salvage rebuilds what is intact of a damaged archive and accounts for every byte of it by an outcome for each span
(range of bytes).  Carve finds archives inside raw bytes, such as a disk image.
"""

from __future__ import annotations

import enum
import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from exhume.counts import counted
from exhume.errors import Span
from exhume.findings import STRUCTURE_ONLY, Finding, Verdict
from exhume.registry import get_format


class SalvageMode(enum.StrEnum):
    """Output of salvage: a clean archive of the same format, members as files, or records as JSON lines."""

    ARCHIVE = "archive"
    FILES = "files"
    RECORDS = "jsonl"


class VerifiedBy(enum.StrEnum):
    """How the content of an archive was checked, strongest first; the weakest part of an archive decides.

    `carve` uses the first three for an archive that it found, `salvage` all of them for its output.
    """

    CHECKSUMS = "checksums"  # checksums of every byte were computed; for `salvage`, those of the damaged archive
    STRUCTURE = "structure"  # decoded or parsed without an error, or each part begins or ends as it must
    NONE = "none"  # the format provides no way to check the content
    FAILED = "failed"  # the output was read again and breaks rules
    EMPTY = "empty"  # there is no content


class Outcome(enum.StrEnum):
    """Outcome of a span of the damaged input."""

    RECOVERED = "recovered"  # its content is in the output
    REBUILT = "rebuilt"  # structure that the output has again (indexes, headers, checksums)
    LOST = "lost"  # content that could not be recovered
    IGNORED = "ignored"  # held nothing to recover (padding, dead bytes, extension areas)


@dataclass(frozen=True, slots=True)
class SpanOutcome:
    """One span of the input: its `content` in words, what became of it, and for a lost one the reason.

    `code` is that of the error, such as ZS-201; None if there was none.
    """

    span: Span
    outcome: Outcome
    content: str
    reason: str = ""
    code: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        out: dict[str, Any] = {**self.span.to_dict(), "outcome": str(self.outcome), "content": self.content}
        if self.reason:
            out["reason"] = self.reason
        if self.code:
            out["code"] = self.code
        return out


@dataclass(slots=True)
class SalvageReport:
    """Accounts for every byte of the input: counts per kind and the outcome of each span."""

    format: str  # id
    output: str  # path
    recovered: Counter[str] = field(default_factory=Counter)  # by kind, such as "records"
    lost: Counter[str] = field(default_factory=Counter)  # the same
    spans: list[SpanOutcome] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # sentences for people
    verified_by: VerifiedBy = VerifiedBy.EMPTY
    findings: list[Finding] = field(default_factory=list)
    """What was wrong with the output, or could not be checked, when it was read again."""
    read_back: int | None = None
    """The number of records, messages, events, rows or files that were read in the output; None if it was not read."""
    digest: str = ""
    """The content digest that the output must have, where salvage knows it before it reads the output."""

    @property
    def verdict(self) -> Verdict:
        """The verdict on the output, which was read again."""
        return Verdict.of(self.findings)

    @property
    def complete(self) -> bool:
        """Whether nothing was lost."""
        return not sum(self.lost.values()) and not any(span.outcome is Outcome.LOST for span in self.spans)

    def set_verified_by(self, verified: VerifiedBy) -> None:
        """Record how content that was written had been verified; the weakest of several parts counts."""
        order = list(VerifiedBy)
        if self.verified_by is VerifiedBy.EMPTY or order.index(verified) > order.index(self.verified_by):
            self.verified_by = verified

    def add_recovered(self, kind: str, count: int = 1) -> None:
        """Count recovered things."""
        self.recovered[kind] += count

    def add_lost(self, kind: str, count: int = 1) -> None:
        """Count lost things."""
        self.lost[kind] += count

    def add_span(self, span: Span, outcome: Outcome, content: str, reason: str = "", code: str | None = None) -> None:
        """Record the outcome of a span; adjacent spans with the same content, outcome and reason are joined."""
        if span.size <= 0:
            return
        if self.spans:
            last = self.spans[-1]
            same = (last.outcome, last.content, last.reason, last.code) == (outcome, content, reason, code)
            if same and last.span.source == span.source and last.span.end == span.start:
                joined = Span(span.source, last.span.start, span.end)
                self.spans[-1] = SpanOutcome(joined, outcome, content, reason, code)
                return
        self.spans.append(SpanOutcome(span, outcome, content, reason, code))

    def settle(self, files: Iterable[Span]) -> None:
        """Make the account exact: each byte of `files` gets one outcome, and none outside them has any.

        Where spans overlap, the best outcome counts.  Bytes without an outcome are lost, as no structure claims them;
        but those at the end of a file are not content if nothing else is missing.
        """
        complete = not self.lost.total()
        by_source: dict[str, list[SpanOutcome]] = {}
        for outcome in self.spans:
            by_source.setdefault(outcome.span.source, []).append(outcome)
        self.spans = []
        for file in files:
            at = file.start
            for start, end, outcome in _disjoint(by_source.get(file.source, [])):
                if start >= file.end:
                    break
                self._unclaimed(Span(file.source, at, max(at, start)))
                at = max(at, start)
                self.add_span(
                    Span(file.source, at, min(end, file.end)),
                    outcome.outcome,
                    outcome.content,
                    outcome.reason,
                    outcome.code,
                )
                at = max(at, min(end, file.end))
            rest = Span(file.source, at, file.end)
            if complete and at > file.start:
                self.add_span(rest, Outcome.IGNORED, "bytes after the end")
                if rest.size > 0:
                    size, place = counted(rest.size, "bytes"), f"at {rest.start} of {rest.source}"
                    self.notes.append(f"not part of it: {size} after its end, {place}; carve finds archives in them")
            else:
                self._unclaimed(rest)
        if not self.lost.total():  # a span that is lost is always counted, such as a header that nothing replaces
            for outcome in self.spans:
                if outcome.outcome is Outcome.LOST:
                    self.add_lost(f"{outcome.content}s" if outcome.content.isalpha() else "byte ranges")

    def _unclaimed(self, span: Span) -> None:
        """Count a span that no outcome covers as lost."""
        if span.size > 0:
            self.add_lost("unclaimed byte ranges")
            self.add_span(span, Outcome.LOST, "unclaimed bytes", "no structure that can be read refers to them")

    def to_dict(self) -> dict[str, Any]:
        """The JSON form documented for `exhume salvage --json`."""
        return {
            "format": self.format,
            "output": self.output,
            "recovered": dict(self.recovered),
            "lost": dict(self.lost),
            "spans": [outcome.to_dict() for outcome in self.spans],
            "notes": list(self.notes),
            "verdict": str(self.verdict),
            "verified_by": str(self.verified_by),
            "read_back": self.read_back,
            "findings": [finding.to_dict() for finding in self.findings],
        }


def _disjoint(outcomes: list[SpanOutcome]) -> Iterator[tuple[int, int, SpanOutcome]]:
    """Yield ranges `(start, end, outcome)` in order that do not overlap, each with the best outcome of its spans.

    The order of `Outcome` is from best to worst.  This is a sweep from one change of the best outcome to the next.
    """
    rank_of = {outcome: rank for rank, outcome in enumerate(Outcome)}  # 0 is the best
    ordered = sorted(outcomes, key=lambda one: (one.span.start, rank_of[one.outcome], one.span.end))
    open_: list[tuple[int, int, int]] = []  # a heap of the spans that cover `at`: their rank, number and end
    at = number = 0
    while open_ or number < len(ordered):
        if not open_:
            at = ordered[number].span.start
        while number < len(ordered) and ordered[number].span.start <= at:
            one = ordered[number]
            heapq.heappush(open_, (rank_of[one.outcome], number, one.span.end))
            number += 1
        best_rank, best, end = open_[0]
        if end <= at:
            heapq.heappop(open_)
            continue
        following = number
        # The best span counts until it ends, or a better one starts.
        while following < len(ordered) and ordered[following].span.start < end:
            one = ordered[following]
            rank = rank_of[one.outcome]
            if rank < best_rank:
                end = one.span.start
                break
            heapq.heappush(open_, (rank, following, one.span.end))
            following += 1
        number = following
        yield at, end, ordered[best]
        at = end


class CarveVerdict(enum.StrEnum):
    """The result of checking a carved archive.

    `damaged` and `incomplete` mean the same as in `Verdict`; `complete` is its `ok`, of an archive that is present from
    beginning to end.
    """

    COMPLETE = "complete"
    PARTIAL = "partial"  # its beginning or its end is missing: truncated, unfinished, or elsewhere in the image
    DAMAGED = "damaged"  # from beginning to end, with errors in between
    INCOMPLETE = "incomplete"  # from beginning to end, without errors, but its content could not be checked

    @classmethod
    def of(cls, findings: Iterable[Finding], verified_by: VerifiedBy, *, partial: bool = False) -> CarveVerdict:
        """The verdict on an archive with these findings whose content was checked as `verified_by` states.

        `partial`: its beginning or its end is missing.
        """
        if partial:
            return cls.PARTIAL
        verdict = Verdict.of(findings)
        if verdict is Verdict.DAMAGED:
            return cls.DAMAGED
        return cls.COMPLETE if verdict is Verdict.OK and verified_by is not VerifiedBy.NONE else cls.INCOMPLETE


@dataclass(frozen=True, slots=True)
class ArchivePiece:
    """What shows to which archive a file belongs that is part of a directory, but was found by itself (in an image).

    Pieces belong together if one refers (`refers`) to the `key` of the other, or both to the same name.  `path` is the
    place in the directory; `ANY` in it stands for a number that no other piece has.  `archive` names the archive, and
    `basis` is the reason why the piece is taken for a part of it.
    """

    ANY: ClassVar[str] = "{number}"

    key: str
    refers: frozenset[str]
    path: str
    archive: str
    basis: str


LARGE = 4 << 20
"""Bytes of a found archive above which several threads verify it; below, each thread verifies another archive."""


@dataclass(frozen=True, slots=True)
class CarvedArchive:
    """An archive found inside raw bytes: which bytes of the outermost file it occupies, and whether it is intact.

    `confidence` (0 to 1) is the probability that the bytes are of this format; it does not describe their integrity.
    """

    format: str
    span: Span
    verdict: CarveVerdict
    confidence: float
    findings: tuple[Finding, ...] = ()
    verified_by: VerifiedBy = VerifiedBy.NONE
    nested_in: int | None = None  # number, in the results, of the archive that contains it

    @property
    def offset(self) -> int:
        """Where it starts."""
        return self.span.start

    @property
    def end(self) -> int:
        """One past its last byte."""
        return self.span.end

    @property
    def length(self) -> int:
        """Number of bytes of the archive that are present."""
        return self.span.size

    @property
    def intact_bytes(self) -> int:
        """Number of bytes before the first problem: the part of a fragmented or truncated archive that verifies."""
        errors = (finding.span.start for finding in self.findings if finding.is_problem and finding.span is not None)
        return min(self.length, max(0, min(errors, default=self.end) - self.offset))

    @property
    def note(self) -> str:
        """A limit of the verdict, because the format has no checksums for its content; else empty."""
        if get_format(self.format).has_checksums or self.verdict in (CarveVerdict.DAMAGED, CarveVerdict.PARTIAL):
            return ""
        return STRUCTURE_ONLY

    def to_dict(self) -> dict[str, Any]:
        """The JSON form documented for `exhume carve --json`."""
        return {
            "format": self.format,
            "offset": self.offset,
            "length": self.length,
            "verdict": str(self.verdict),
            "note": self.note or None,
            "verified_by": str(self.verified_by),
            "confidence": round(self.confidence, 3),
            "intact_bytes": self.intact_bytes,
            "nested_in": self.nested_in,
            "findings": [finding.to_dict() for finding in self.findings],
        }
