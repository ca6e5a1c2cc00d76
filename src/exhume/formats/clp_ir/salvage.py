"""Recovers the events of a damaged stream.

Inside zstd frames, everything after the first block that does not decompress is lost; a stream that was cut, as after a
crash, keeps every whole event.  In an uncompressed stream, reading resumes after damage where several events in a row
can be read.  In streams with variables of four bytes, times are differences (deltas), so those after a gap are too
early by the sum of the deltas that were lost.  Streams with variables of eight bytes are called wide.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

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
from exhume.formats.kv_ir.salvage_stream import TRIALS, WINDOW, StreamSalvage
from exhume.formats.kv_ir.units import Status, UnitError
from exhume.io.output.atomic import AtomicFile
from exhume.io.source import Source
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import Outcome, SalvageMode, SalvageReport

BLOCK = 1 << 18
"""Bytes of the new stream that are written at once."""

EARLY = "times after lost events are too early: each counts from the event before it"
"""A note of the report."""

# A byte with which an event or a change of the offset from UTC can start.
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


class _Salvage(StreamSalvage[TextUnits]):
    """The recovery of one stream of text; the base class searches for events after damage and accounts for bytes."""

    starts = _STARTS
    no_end = checks.NO_END
    unit = "event"

    def __init__(self, source: Source, limits: Limits, report: SalvageReport, progress: Progress) -> None:
        """Prepare to recover the events of a stream."""
        super().__init__(begin(source), source, limits, report, progress)
        self.early = False
        """Whether times are sums of deltas that are partly lost."""

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
        except ExhumeError as error:  # with other faults the metadata can be used
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
        # With the wrong width, no events are credible: the right one is where they are found earlier.
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
        self.changes = 0  # changes of the offset from UTC that were written
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

    def _walk(self, start: int) -> None:
        """Write the events after `start`; at damage, continue where the next readable events begin."""
        units, decoder = self.units, self.units.decoder
        good = start  # start of the readable bytes that are not accounted for; -1 when nothing more can be read
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
        """Write events until the stream ends, or raise `UnitError` after those before a fault."""
        units, decoder, encoder = self.units, self.units.decoder, self.encoder
        if self.lines:
            try:
                while units.step(EventForm.LINES, WINDOW) and not units.ended:
                    self.out(decoder.take())
            finally:
                self.out(decoder.take())
            return
        # A stream: events are encoded again, because deltas count from the last event that was kept.
        for time, message in units.texts():
            if decoder.utc_changes != self.changes:
                self.changes = decoder.utc_changes
                self.out(encoder.take())
                self.out(build_utc_offset(decoder.utc_offset))
            encoder.add(time, message)
            if encoder.size >= BLOCK:
                self.out(encoder.take())
                self.progress(units.stream.stored, self.source.size, "bytes")

    def _lost_with(self, trouble: UnitError) -> str:
        """The word under which the report counts the unit.  Later times stay right: the lost event's time is known."""
        return "events"

    def _doubt(self) -> None:
        """Note that times may be too early from here on: four-byte streams store differences."""
        self.early = self.early or not self.units.decoder.wide

    def _is_credible(self, data: bytes, at: int) -> bool:
        """Whether credible events start there."""
        return _is_credible(self.units, data, at)


def _default_metadata(encoding: Encodings) -> bytes:
    """Metadata in place of lost ones; times count from the epoch."""
    wide = encoding is Encodings.EIGHT_BYTE
    return build_metadata(wide=wide, reference_ms=0, pattern=DEFAULT_PATTERN, zone=DEFAULT_ZONE)


def _is_credible(units: TextUnits, data: bytes, at: int) -> bool:
    """Whether credible events start at `at`: `TRIALS` in a row, or fewer if the data end after them."""
    decoder = ClpIrDecoder(units.decoder.wide, 0)  # 0: the reference time, which does not matter here
    # `place`: the token at which it stopped; `len(data)` if no bytes are left.
    status, _, place, _ = decoder.run(data, at, len(data), 0, EventForm.CHECK, TRIALS)
    if status == Status.FULL:
        return True
    return decoder.events > 0 and status in (Status.END, Status.MORE) and place == len(data)


def _first(units: TextUnits, data: bytes) -> int:
    """The offset of the first credible events; the size of the data if there are none."""
    return next(
        (found.start() for found in _STARTS.finditer(data) if _is_credible(units, data, found.start())), len(data)
    )
