"""What salvage and carve report: the types that engines and formats share."""

from __future__ import annotations

import enum
import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from exhume.errors import Span
from exhume.findings import STRUCTURE_ONLY, Finding, Verdict
from exhume.registry import get_format


class SalvageMode(enum.StrEnum):
    """What salvage writes: a clean archive of the same format, members as files, or records as JSON lines."""

    ARCHIVE = "archive"
    FILES = "files"
    RECORDS = "jsonl"


class Verified(enum.StrEnum):
    """How the content of a salvaged output was verified, strongest first; its weakest part decides."""

    CHECKSUMS = "checksums"  # every byte was checked against a checksum that the damaged archive keeps of it
    REREAD = "reread"  # it was decoded, or parsed, without an error, but no checksum covers it
    UNVERIFIABLE = "unverifiable"  # bytes without any check in the format, copied as they are
    FAILED = "failed"  # the output was read again and breaks rules
    NOTHING = "nothing"  # there is no content in the output: nothing survives, or nothing was there


class Fate(enum.StrEnum):
    """What became of a span of the damaged input."""

    RECOVERED = "recovered"  # its content is in the output
    REBUILT = "rebuilt"  # structure that the output has again (indexes, headers, checksums)
    LOST = "lost"  # content that could not be recovered
    IGNORED = "ignored"  # held nothing to recover (padding, dead bytes, extension areas)


@dataclass(frozen=True, slots=True)
class SpanFate:
    """One span of the input: what it held, what became of it, and why when it was lost."""

    span: Span
    fate: Fate
    what: str
    why: str = ""
    code: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        out: dict[str, Any] = {**self.span.to_dict(), "fate": str(self.fate), "what": self.what}
        if self.why:
            out["why"] = self.why
        if self.code:
            out["code"] = self.code
        return out


@dataclass(slots=True)
class SalvageReport:
    """Accounts for every byte of the input: counts per kind and the fate of each span."""

    format: str
    output: str
    recovered: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    spans: list[SpanFate] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    verified: Verified = Verified.NOTHING
    findings: list[Finding] = field(default_factory=list)
    """What is wrong with the output, or could not be checked, when it was read again."""

    @property
    def verdict(self) -> Verdict:
        """The verdict on the output, which was read again."""
        return Verdict.of(self.findings)

    @property
    def complete(self) -> bool:
        """Whether nothing was lost."""
        return not sum(self.lost.values()) and not any(s.fate is Fate.LOST for s in self.spans)

    def vouch(self, verified: Verified) -> None:
        """Records how content that was written had been verified; the weakest of several parts counts."""
        order = list(Verified)
        if self.verified is Verified.NOTHING or order.index(verified) > order.index(self.verified):
            self.verified = verified

    def keep(self, kind: str, count: int = 1) -> None:
        """Counts recovered things."""
        self.recovered[kind] += count

    def lose(self, kind: str, count: int = 1) -> None:
        """Counts lost things."""
        self.lost[kind] += count

    def account(self, span: Span, fate: Fate, what: str, why: str = "", code: str | None = None) -> None:
        """Records the fate of a span; adjacent spans with the same content, fate and reason are joined."""
        if span.size <= 0:
            return
        if self.spans:
            last = self.spans[-1]
            same = (last.fate, last.what, last.why, last.code) == (fate, what, why, code)
            if same and last.span.source == span.source and last.span.end == span.start:
                joined = Span(span.source, last.span.start, span.end)
                self.spans[-1] = SpanFate(joined, fate, what, why, code)
                return
        self.spans.append(SpanFate(span, fate, what, why, code))

    def settle(self, files: Iterable[Span]) -> None:
        """Makes the account exact: each byte of `files` gets one fate, and none outside them has any.

        Where spans overlap, the best fate counts.  Bytes without a fate are lost, since no structure claims them; but
        those at the end of a file are not content if nothing else is missing.
        """
        complete = not self.lost.total()
        by_source: dict[str, list[SpanFate]] = {}
        for fate in self.spans:
            by_source.setdefault(fate.span.source, []).append(fate)
        self.spans = []
        for file in files:
            at = file.start
            for start, end, fate in _disjoint(by_source.get(file.source, [])):
                if start >= file.end:
                    break
                self._unclaimed(Span(file.source, at, max(at, start)))
                at = max(at, start)
                self.account(Span(file.source, at, min(end, file.end)), fate.fate, fate.what, fate.why, fate.code)
                at = max(at, min(end, file.end))
            rest = Span(file.source, at, file.end)
            if complete and at > file.start:
                self.account(rest, Fate.IGNORED, "bytes after the end")
            else:
                self._unclaimed(rest)

    def _unclaimed(self, span: Span) -> None:
        if span.size > 0:
            self.lose("unclaimed byte ranges")
            self.account(span, Fate.LOST, "unclaimed bytes", "no structure that can be read refers to them")

    def to_dict(self) -> dict[str, Any]:
        """The JSON form documented for `exhume salvage --json`."""
        return {
            "format": self.format,
            "output": self.output,
            "recovered": dict(self.recovered),
            "lost": dict(self.lost),
            "spans": [fate.to_dict() for fate in self.spans],
            "notes": list(self.notes),
            "verdict": str(self.verdict),
            "verified": str(self.verified),
            "findings": [finding.to_dict() for finding in self.findings],
        }


def _disjoint(fates: list[SpanFate]) -> Iterator[tuple[int, int, SpanFate]]:
    """Yields ranges in order that do not overlap, each with the best fate of the spans that cover it."""
    rank = list(Fate)
    ordered = sorted(fates, key=lambda one: (one.span.start, rank.index(one.fate), one.span.end))
    open_: list[tuple[int, int, int]] = []  # rank, number and end of the spans that cover `at`; the best first
    at = number = 0
    while open_ or number < len(ordered):
        if not open_:
            at = ordered[number].span.start
        while number < len(ordered) and ordered[number].span.start <= at:
            one = ordered[number]
            heapq.heappush(open_, (rank.index(one.fate), number, one.span.end))
            number += 1
        _, best, end = open_[0]
        if end <= at:
            heapq.heappop(open_)
            continue
        following = number
        while following < len(ordered) and ordered[following].span.start < end:
            if rank.index(ordered[following].fate) < open_[0][0]:
                end = ordered[following].span.start
                break
            heapq.heappush(open_, (rank.index(ordered[following].fate), following, ordered[following].span.end))
            following += 1
        number = following
        yield at, end, ordered[best]
        at = end


class Proof(enum.StrEnum):
    """What the verdict on a carved archive is based on: what would have revealed foreign bytes in its content."""

    CHECKSUMS = "checksums"  # those of its contents were computed
    STRUCTURE = "structure"  # its contents were decoded, or each of their parts begins or ends as it must
    NOTHING = "nothing"  # the format provides no way to check its contents


class CarveVerdict(enum.StrEnum):
    """The result of checking a carved archive.

    `damaged` and `incomplete` mean the same as in `Verdict`; `whole` is its `ok`, of an archive that is present from
    beginning to end.
    """

    WHOLE = "whole"
    PARTIAL = "partial"  # its beginning or its end is missing: truncated, unfinished, or elsewhere in the image
    DAMAGED = "damaged"  # from beginning to end, with errors in between
    INCOMPLETE = "incomplete"  # from beginning to end, without errors, but its content could not be checked

    @classmethod
    def of(cls, findings: Iterable[Finding], proof: Proof, *, partial: bool = False) -> CarveVerdict:
        """The verdict on an archive with these findings whose content was checked by `proof`."""
        if partial:
            return cls.PARTIAL
        verdict = Verdict.of(findings)
        if verdict is Verdict.DAMAGED:
            return cls.DAMAGED
        return cls.WHOLE if verdict is Verdict.OK and proof is not Proof.NOTHING else cls.INCOMPLETE


LARGE = 4 << 20
"""Stored bytes above which several threads look into one archive that is found: smaller ones are spread themselves."""


@dataclass(frozen=True, slots=True)
class Carved:
    """An archive found inside raw bytes: which bytes of the outermost file it occupies, and whether it is intact.

    `confidence` (0 to 1) is the probability that the bytes are of this format; it does not describe their integrity.
    """

    format: str
    span: Span
    verdict: CarveVerdict
    confidence: float
    findings: tuple[Finding, ...] = ()
    proved_by: Proof = Proof.NOTHING
    nested_in: int | None = None

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
        """How many of its bytes are present."""
        return self.span.size

    @property
    def intact(self) -> int:
        """How many of its bytes precede the first problem: the part of a fragmented or truncated one that verifies."""
        errors = (f.span.start for f in self.findings if f.is_problem and f.span is not None)
        return min(self.length, max(0, min(errors, default=self.end) - self.offset))

    @property
    def note(self) -> str:
        """What the verdict cannot say, because the format has no checksums for its content; else empty."""
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
            "proved_by": str(self.proved_by),
            "confidence": round(self.confidence, 3),
            "intact": self.intact,
            "nested_in": self.nested_in,
            "findings": [finding.to_dict() for finding in self.findings],
        }
