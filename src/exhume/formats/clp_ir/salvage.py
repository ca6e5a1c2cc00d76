"""Recovers the events of a damaged stream.

Inside zstd frames, everything after the first block that does not decompress is lost; a stream that was cut, as after a
crash, keeps every whole event.  In an uncompressed stream, reading resumes after damage where several events in a row
can be read.  In streams with variables of four bytes times are differences, so those after a gap are too early by what
the lost events add.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, BinaryIO

import zstandard

from exhume.archive import Progress, no_progress
from exhume.errors import ExhumeError, SourceError
from exhume.formats.clp_ir import checks
from exhume.formats.clp_ir.kernel import ClpIrDecoder, ClpIrEncoder
from exhume.formats.clp_ir.layout import (
    DEFAULT_PATTERN,
    DEFAULT_ZONE,
    LOG_TYPES,
    VARIABLE_TEXTS,
    Encodings,
    Preamble,
    Tags,
    build_metadata,
    build_utc_offset,
    parse_metadata,
    reference_time,
)
from exhume.formats.clp_ir.stream import TextUnits, begin
from exhume.formats.clp_ir.units import EventForm
from exhume.formats.kv_ir.layout import END, build_preamble
from exhume.formats.kv_ir.passes import UnitError
from exhume.formats.kv_ir.units import Status
from exhume.io.output.atomic import AtomicFile
from exhume.io.source import Source
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import Outcome, SalvageMode, SalvageReport, VerifiedBy

BLOCK = 1 << 18
"""Bytes of the new stream that are written at once."""

WINDOW = 1 << 20
"""Bytes after damage that are searched before more are read."""

TRIALS = 3
"""Events in a row that have to fit for a place to be believed."""

EARLY = "times after lost events are too early: each counts from the event before it"

_STARTS = re.compile(
    b"["
    + re.escape(bytes(sorted({*VARIABLE_TEXTS, *LOG_TYPES, Tags.VARIABLE_4, Tags.VARIABLE_8, Tags.UTC_OFFSET_CHANGE})))
    + b"]",
    re.DOTALL,
)


def salvage(
    source: Source,
    output: str | os.PathLike[str],
    *,
    mode: SalvageMode = SalvageMode.ARCHIVE,
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress = no_progress,
    jobs: int = 1,
) -> SalvageReport:
    """Write the surviving events as a clean stream (inside a zstd frame where the damaged one was), or as JSON lines.

    Raises `UnsupportedOperationError` for the mode that writes files.
    """
    report = SalvageReport("clp-ir", os.fspath(output))
    with ExitStack() as stack:
        out = stack.enter_context(AtomicFile(output))
        if not _Salvage(source, limits, report, progress).write(out.file, lines=mode is SalvageMode.RECORDS):
            out.abort()
    return report


class _Salvage:
    def __init__(self, source: Source, limits: Limits, report: SalvageReport, progress: Progress) -> None:
        self.source, self.limits, self.report, self.progress = source, limits, report, progress
        self.stream = begin(source)
        self.early = False
        """Whether times are sums of deltas that are partly lost."""

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

    def _open(self) -> TextUnits | None:
        """Return the units of the stream, with default metadata if its own is damaged.

        Return None if the preamble of a compressed stream is lost.
        """
        try:
            units = TextUnits(self.stream, self.limits)
        except SourceError:
            raise
        except ExhumeError as error:
            self.report.notes.append(f"{error.message}: rebuilt")
            return None if self.stream.wrapped else self._guessed()
        preamble = units.preamble
        try:
            parse_metadata(preamble, self.stream.span(0, preamble.size))
        except ExhumeError as error:
            if error.code in (checks.METADATA_JSON.code, checks.REFERENCE_TIME.code):
                self.report.notes.append(f"{error.message}: rebuilt")
                self.report.add_lost("metadata")
                units.preamble = replace(preamble, metadata=_default_metadata(preamble.encoding))
        return units

    def _guessed(self) -> TextUnits:
        """A pass over a stream without a preamble; where the first events are found shows how wide variables are."""
        found: dict[Encodings, TextUnits] = {}
        for encoding in Encodings:
            preamble = Preamble(encoding, 0, _default_metadata(encoding))
            found[encoding] = TextUnits(begin(self.source), self.limits, preamble=preamble)
        heads = {encoding: _first(units, units.window(0, units.reach)) for encoding, units in found.items()}
        best = min(Encodings, key=lambda encoding: heads[encoding])
        self.report.add_lost("metadata")
        self.stream = found[best].stream
        return found[best]

    def _write(self, out: Callable[[bytes], object], *, lines: bool) -> None:
        """Pass the recovered stream to `out` in chunks, or its events as JSON `lines`."""
        self.out, self.lines = out, lines
        units = self.units
        preamble, start = units.preamble, units.at
        self.encoder: Any = ClpIrEncoder(units.decoder.wide, reference_time(preamble))
        self.changes = 0
        if not lines:
            out(build_preamble(preamble.encoding, preamble.metadata))
        if start:
            self._account(0, start, Outcome.REBUILT, "preamble")
        self._walk(start)
        if not lines:
            out(self.encoder.take())
            out(END)
        if self.early:
            self.report.notes.append(EARLY)

    def _account(
        self, start: int, end: int, outcome: Outcome, what: str, why: str = "", code: str | None = None
    ) -> None:
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

    def _walk(self, start: int) -> None:
        """Write the events after `start`; at damage, continue where the next readable events begin."""
        units, decoder = self.units, self.units.decoder
        good = start
        if not start:
            good = self._skip_damage(0, 0, "the preamble is lost", None)
        while good >= 0:
            before = decoder.events
            trouble: UnitError | None = None
            try:
                self._write_events()
            except UnitError as found:
                trouble = found
            if decoder.events > before:
                self.report.add_recovered("events", decoder.events - before)
                if self.early:
                    self.report.add_lost("times", decoder.events - before)
            if trouble is not None:
                self._account(good, trouble.at, Outcome.RECOVERED, "events")
                good = self._resume_offset(trouble)
            else:
                good = self._resume(good)
            self.progress(units.stream.stored, self.source.size, "bytes")

    def _write_events(self) -> None:
        """Write events until the stream ends or something is wrong."""
        units, decoder, encoder = self.units, self.units.decoder, self.encoder
        if self.lines:
            try:
                while units.step(EventForm.LINES, WINDOW) and not units.ended:
                    self.out(decoder.take())
            finally:
                self.out(decoder.take())
            return
        for time, message in units.texts():
            if decoder.utc_changes != self.changes:
                self.changes = decoder.utc_changes
                self.out(encoder.take())
                self.out(build_utc_offset(decoder.utc_offset))
            encoder.add(time, message)
            if encoder.size >= BLOCK:
                self.out(encoder.take())
                self.progress(units.stream.stored, self.source.size, "bytes")

    def _resume(self, start: int) -> int:
        """The offset at which events follow the end of the stream, which damage can imitate; -1 when none do.

        `start` is where the events before that end begin.
        """
        units = self.units
        end = units.at
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
        if trouble.after >= 0:  # its time is known, so those of later events are right
            self.report.add_lost("events")
            self._account(trouble.at, trouble.after, Outcome.LOST, "event", error.message, error.code)
            units.skip(trouble.after)
            return trouble.after
        if error.code == checks.NO_END.code:
            self.report.notes.append(error.message)
            self.report.add_lost("ends of streams")
            return -1
        if units.damage is not None:
            self.report.add_lost("ends of streams")
            return -1
        return self._skip_damage(trouble.at, trouble.at + 1, error.message, error.code)

    def _skip_damage(self, start: int, at: int, why: str, code: str | None) -> int:
        """Look for events after the damage and resume there."""
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

    def _doubt(self) -> None:
        self.early = self.early or not self.units.decoder.wide

    def _search(self, at: int) -> int | None:
        """The offset of the next credible events; bytes that were searched without success are dropped."""
        units = self.units
        while True:
            data = units.window(at, units.reach)
            for match in _STARTS.finditer(data):
                place = at + match.start()
                if place + WINDOW > units.reach and units.more(place):
                    at = place  # look again, with more after it
                    break
                if _is_credible(units, data, match.start()):
                    return place
            else:
                at += len(data)
                if not units.more(at):
                    return None


def _default_metadata(encoding: Encodings) -> bytes:
    wide = encoding is Encodings.EIGHT_BYTE
    return build_metadata(wide=wide, reference_ms=0, pattern=DEFAULT_PATTERN, zone=DEFAULT_ZONE)


def _is_credible(units: TextUnits, data: bytes, at: int) -> bool:
    """Whether credible events start there: several, or fewer with the end of the stream after them."""
    decoder = ClpIrDecoder(units.decoder.wide, 0)
    status, _, place, _ = decoder.run(data, at, len(data), 0, EventForm.CHECK, TRIALS)
    if status == Status.FULL:
        return True
    return decoder.events > 0 and status in (Status.END, Status.MORE) and place == len(data)


def _first(units: TextUnits, data: bytes) -> int:
    """Where the first credible events are; after the data when there are none."""
    return next(
        (found.start() for found in _STARTS.finditer(data) if _is_credible(units, data, found.start())), len(data)
    )
