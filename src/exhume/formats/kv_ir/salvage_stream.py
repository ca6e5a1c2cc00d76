"""Recovery of damaged streams, of KV-IR and of text: search for events, and accounts of all bytes.

A unit is an event, or something that later events depend on, such as the declaration of a key.  Bytes can be accounted
for only in an uncompressed stream; of a stream inside zstd frames, the frames are reported.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import BinaryIO, ClassVar, Generic, TypeVar

import zstandard

from exhume.archive import Progress
from exhume.errors import LimitExceededError
from exhume.findings import Rule
from exhume.formats.kv_ir.passes import Units
from exhume.formats.kv_ir.stream import Stream
from exhume.formats.kv_ir.units import UnitError
from exhume.io.source import Source
from exhume.limits import Limits
from exhume.recovery import Outcome, SalvageReport, VerifiedBy

WINDOW = 1 << 20
"""Bytes after damage that are searched before more are read."""

TRIALS = 3
"""Events in a row that have to be valid for an offset to be credible: random bytes can form one."""

U = TypeVar("U", bound=Units)


class StreamSalvage(ABC, Generic[U]):
    """The recovery of one stream; `units` is the pass over it, from `write` on."""

    starts: ClassVar[re.Pattern[bytes]]
    """A byte with which a unit can start; the search examines each such byte."""
    no_end: ClassVar[Rule]
    """The rule that a stream without an end breaks."""
    unit: ClassVar[str]
    """Name in reports of a unit that cannot be decoded."""

    units: U

    def __init__(self, stream: Stream, source: Source, limits: Limits, report: SalvageReport, progress: Progress):
        """Prepare to recover the events of a stream."""
        self.stream: Stream = stream
        self.source: Source = source
        self.limits: Limits = limits
        self.report: SalvageReport = report
        self.progress: Progress = progress

    def write(self, file: BinaryIO, *, lines: bool) -> bool:
        """Write everything that survives and account for each byte; return False when there is nothing to write."""
        units = self._open()
        if units is None:
            self.report.add_span(
                self.source.span(0, self.source.size), Outcome.LOST, "stream", "nothing of it can be read"
            )
            self.report.add_lost("streams")
            return False
        self.units = units
        if self.stream.wrapped and not lines:
            with zstandard.ZstdCompressor().stream_writer(file, closefd=False) as frame:
                self._write(frame.write, lines=False)
        else:
            self._write(file.write, lines=lines)
        if self.report.recovered:
            self.report.set_verified_by(VerifiedBy.STRUCTURE)
        if self.stream.wrapped:
            self._account_frames()
        return True

    def _account(
        self, start: int, end: int, outcome: Outcome, what: str, why: str = "", code: str | None = None
    ) -> None:
        """Report the outcome of a range of an uncompressed stream; see `SalvageReport.add_span`.

        `what` is there, in words; `why` and `code` state the reason of a loss.
        """
        if not self.stream.wrapped and start < end:
            self.report.add_span(self.stream.span(start, end), outcome, what, why, code)

    def _account_frames(self) -> None:
        """Account for the stored bytes: the frames read, then lost or ignored bytes."""
        stored, size = self.units.stream.stored, self.source.size
        damage = self.units.damage
        self.report.add_span(self.source.span(0, stored), Outcome.RECOVERED, "zstd frames")
        if damage is not None:
            self.report.add_span(
                self.source.span(stored, size), Outcome.LOST, "zstd frames", damage.message, damage.code
            )
        else:
            self.report.add_span(self.source.span(stored, size), Outcome.IGNORED, "bytes after the stream")

    def _resume(self, start: int) -> int:
        """Search for events after a byte that marks the end of the stream, because damage can make such a byte.

        `start` is where the events before it begin.  Returns the offset where events continue; -1 if there are none.
        """
        units = self.units
        end = units.at  # one past that byte
        found = self._search(end)
        self._account(start, end if found is None else end - 1, Outcome.RECOVERED, "events")
        if found is None:
            if units.reach > end:
                self.report.add_lost("byte ranges")
                why = "no events are found here; zeros can be padding, or events that were overwritten"
                self._account(end, units.reach, Outcome.LOST, "bytes after the end of the stream", why)
            return -1
        self.report.notes.append("events follow what looks like the end of the stream")
        self.report.add_lost("byte ranges")
        self._account(end - 1, found, Outcome.LOST, "unreadable bytes", "events follow this end of the stream")
        units.ended = False
        units.skip(found)
        self._doubt()
        return found

    def _resume_offset(self, trouble: UnitError) -> int:
        """The offset at which reading resumes after a unit that could not be decoded; -1 when nothing follows."""
        units, error = self.units, trouble.error
        if trouble.after >= 0:  # the end of the unit is known: only this unit is lost
            if isinstance(error, LimitExceededError) and error.message not in self.report.notes:
                self.report.notes.append(error.message)
            self.report.add_lost(self._lost_with(trouble))
            self._account(trouble.at, trouble.after, Outcome.LOST, self.unit, error.message, error.code)
            units.skip(trouble.after)
            return trouble.after
        if error.code == self.no_end.code:
            self.report.notes.append(error.message)
            self.report.add_lost("ends of streams")
            return -1
        if units.damage is not None:
            self.report.add_lost("ends of streams")
            return -1
        return self._skip_damage(trouble.at, trouble.at + 1, error.message, error.code)

    def _skip_damage(self, start: int, at: int, why: str, code: str | None) -> int:
        """Search from `at` on for units that can be read, and report the bytes from `start` to them as lost.

        Returns the offset where reading resumes; -1 when nothing follows.  `why`, `code`: the reason in the report.
        """
        units = self.units
        found = self._search(at)
        end = units.reach if found is None else found
        self.report.add_lost("byte ranges")
        self._account(start, end, Outcome.LOST, "unreadable bytes", why, code)
        units.skip(end)
        if found is None:
            return -1
        self._doubt()
        return end

    def _search(self, at: int) -> int | None:
        """The offset of the next credible units, None if there are none.

        Bytes that were searched without success are dropped.
        """
        units = self.units
        while True:
            data = units.window(at, units.reach)
            for match in self.starts.finditer(data):
                place = at + match.start()
                # A candidate is examined with a whole window of bytes after it, unless the stream ends before.
                if place + WINDOW > units.reach and units.more(place):
                    at = place  # search again, with more bytes
                    break
                if self._is_credible(data, match.start()):
                    return place
            else:
                at += len(data)
                if not units.more(at):
                    return None

    @abstractmethod
    def _open(self) -> U | None:
        """Return the units of the stream; None if nothing of it can be read."""

    @abstractmethod
    def _write(self, out: Callable[[bytes], object], *, lines: bool) -> None:
        """Pass the recovered stream to `out` in chunks, or its events as JSON `lines`."""

    @abstractmethod
    def _lost_with(self, trouble: UnitError) -> str:
        """The loss, in the words of a report, with a unit whose end is known."""

    @abstractmethod
    def _doubt(self) -> None:
        """Note that units from here on may depend on lost ones, for example on declarations of keys."""

    @abstractmethod
    def _is_credible(self, data: bytes, at: int) -> bool:
        """Whether credible units, not bytes that form some by chance, start at the offset `at` of `data`."""
