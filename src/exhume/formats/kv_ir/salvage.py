"""Recovers the events of a damaged stream whose keys are known for certain.

Inside zstd frames, everything after the first block that does not decompress is lost.  In an uncompressed stream,
reading resumes at the next plausible units after the damage.  Keys are numbered in the order of declaration, so after a
gap their numbers are unknown.  A logger declares keys right before the first event that uses them, and the last of
these has the highest number in that event; this yields the numbers again.  Events whose keys stay unknown are omitted.

A unit is an event or a declaration of a key.  A group is the declarations before an event, and that event.  Fillers are
made-up declarations in place of those lost in a gap, so that later keys get the numbers that they had.  Keys form two
trees (auto: of the logger, or of its user), which are numbered separately.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import takewhile

from exhume.archive import Progress, no_progress
from exhume.errors import ExhumeError, SourceError
from exhume.findings import Rule
from exhume.formats.kv_ir import checks
from exhume.formats.kv_ir.layout import (
    END,
    INTEGERS,
    KEYS,
    LOG_TYPES,
    NODES,
    PARENTS,
    TEXTS,
    VARIABLE_TEXTS,
    Encodings,
    LayoutError,
    Preamble,
    Tags,
    build_node,
    build_preamble,
    default_metadata,
    parse_metadata,
    parse_token,
)
from exhume.formats.kv_ir.passes import Units
from exhume.formats.kv_ir.salvage_stream import TRIALS, WINDOW, StreamSalvage
from exhume.formats.kv_ir.stream import Stream
from exhume.formats.kv_ir.units import EventForm, HeldError, Status, UnitError
from exhume.io.output.atomic import AtomicFile
from exhume.io.source import Source
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import Outcome, SalvageMode, SalvageReport

EVENTS = 10_000
"""Events between two reports of progress."""

NO_TARGET = 1 << 62
"""A target of output that is never reached: decode all available bytes."""

UNKNOWN_KEYS = "which keys these are cannot be determined"
"""The reason in the report for events after a gap that are omitted."""


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

    Lines have the pairs of logger and user, as `exhume cat --pairs both` prints them.  Raises
    `UnsupportedOperationError` for the mode that writes files.
    """
    report = SalvageReport("kv-ir", os.fspath(output))
    with ExitStack() as stack:
        out = stack.enter_context(AtomicFile(output))
        if not _Salvage(source, limits, report, progress).write(out.file, lines=mode is SalvageMode.RECORDS):
            out.abort()
    return report


@dataclass(slots=True)
class Unit:
    """A unit, known by its tokens alone: a declaration of a key, an event, or the end of the stream."""

    at: int
    end: int
    node: bool = False  # a declaration of a key
    auto: bool = False  # of that key: whether it is one of the logger
    ends: bool = False  # the end of the stream
    keys: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))  # of an event: (logger's, user's)


_STARTS = re.compile(b"[" + re.escape(bytes(sorted({*KEYS, *NODES, Tags.EMPTY_OBJECT}))) + b"]", re.DOTALL)
"""A byte with which a declaration of a key or an event can start."""


class _Salvage(StreamSalvage[Units]):
    """The recovery of one KV-IR stream; the base class searches for events after damage and accounts for all bytes."""

    starts = _STARTS
    no_end = checks.NO_END
    unit = "unit"

    def __init__(self, source: Source, limits: Limits, report: SalvageReport, progress: Progress) -> None:
        """Prepare to recover the events of a stream."""
        super().__init__(Stream(source), source, limits, report, progress)
        self.unsure: set[bool] = set()
        """Trees (of the logger: True) for which declarations may be lost in a gap.

        While there is any, the decoder stops before each declaration (`hold`), and `_group` examines what follows.
        """
        self.fillers = 0  # how many were made so far, to give them different names

    def _write(self, out: Callable[[bytes], object], *, lines: bool) -> None:
        """Pass the recovered stream to `out` in chunks, or its events as JSON `lines`."""
        self.out, self.how = out, EventForm.BOTH if lines else EventForm.CHECK
        units = self.units
        start = units.at  # 0 if the preamble is lost
        if not lines:
            out(build_preamble(units.preamble.encoding, units.preamble.metadata))
            units.keep = out  # a stream gets the bytes of the intact units unchanged; nothing is decoded for it
        if start:
            self._account(0, start, Outcome.REBUILT, "preamble")
        self._walk(start)
        if not lines:
            out(END)

    def _open(self) -> Units | None:
        """Return the units, with a default preamble if it is damaged; None if a compressed stream lost its preamble."""
        try:
            units = Units(self.stream, self.limits)
            self._check_metadata(units)
            return units
        except SourceError:
            raise
        except ExhumeError as error:
            self.report.notes.append(f"{error.message}: rebuilt")
        if self.stream.wrapped:
            return None  # what precedes the damage of a frame is less than a preamble, and nothing follows it
        return Units(self.stream, self.limits, preamble=Preamble(Encodings.FOUR_BYTE, 0, default_metadata()))

    def _check_metadata(self, units: Units) -> None:
        """Replace metadata that cannot be read: what they state about the stream is lost, its events are not."""
        preamble = units.preamble
        try:
            parse_metadata(preamble, self.stream.span(0, preamble.size))
        except ExhumeError as error:
            if error.code not in (checks.METADATA_JSON.code, checks.USER_METADATA.code):
                return  # another version, which the copy states as well
            self.report.notes.append(f"{error.message}: rebuilt")
            self.report.add_lost("metadata")
            units.preamble = replace(preamble, metadata=default_metadata())

    def _walk(self, start: int) -> None:
        """Write the events after `start`; at damage, continue where the next readable units begin."""
        units, decoder = self.units, self.units.decoder
        good = start  # start of the readable bytes that are not accounted for; -1 when nothing more can be read
        if not start:
            good = self._skip_damage(0, 0, "the preamble is lost", None)
            if good < 0:
                return
        while True:
            before = decoder.events
            try:
                units.step(self.how, WINDOW if self.how else decoder.events + EVENTS)  # bytes of lines, or events
                trouble = None
            except HeldError:  # a declaration after a gap
                self._account(good, units.at, Outcome.RECOVERED, "events")
                good = self._group()
                trouble = None
            except UnitError as found:
                trouble = found
            self._write_events(decoder.events - before)
            if trouble is not None:
                self._account(good, trouble.at, Outcome.RECOVERED, "events")
                good = self._resume_offset(trouble)
            elif good >= 0 and units.ended:
                good = self._resume(good)
            elif good >= 0:
                self._account(good, units.at, Outcome.RECOVERED, "events")
                good = units.at
            if good < 0:
                break
            self.progress(units.stream.stored, self.source.size, "bytes")

    def _write_events(self, events: int) -> None:
        """Count recovered events, and write those decoded since the last call."""
        if events:
            self.report.add_recovered("events", events)
        if self.how:
            found = self.units.decoder.take()
            if found:
                self.out(found)

    def _resume_offset(self, trouble: UnitError) -> int:
        """Continue as for any stream; after a fault in a declaration, the numbers of later keys are unknown."""
        if trouble.status in checks.LOSES_COUNT:
            self._doubt()
        return super()._resume_offset(trouble)

    def _lost_with(self, trouble: UnitError) -> str:
        """Whether the unit was a declaration of a key, or an event: the word under which the report counts it."""
        return "keys" if trouble.status in checks.LOSES_COUNT else "events"

    def _doubt(self) -> None:
        """Note that the numbers of new keys are unknown from here on, since declarations may be lost."""
        self.unsure = {True, False}
        self.units.decoder.hold = True

    def _is_credible(self, data: bytes, at: int) -> bool:
        """Whether credible units start at `at`: `TRIALS` events in a row whose keys can be identified.

        Fewer are sufficient if the stream ends after them, exactly at the end of the data.
        """
        counts, unsure = self._counts(), {True, False}  # as after a gap before these units
        for seen, group in enumerate(_groups(data, at), 1):
            if group[-1].ends:
                return seen > 1 and group[-1].end == len(data)
            fillers = _fillers(group, counts, unsure)
            if fillers is None:
                return False
            if seen == TRIALS:
                return True
            # Count as if the group was accepted; its declarations show the numbers of their trees again.
            new = Counter(unit.auto for unit in group if unit.node)
            for auto in (True, False):
                counts[auto] += fillers[auto] + new[auto]
            unsure -= new.keys()
        return False

    def _counts(self) -> dict[bool, int]:
        """Number of declared keys of each tree, including the roots."""
        return {auto: len(self.units.decoder.nodes(auto)) + 1 for auto in (True, False)}

    def _group(self) -> int:
        """Keep declarations of keys and the event that uses them if it determines their numbers; else drop them.

        Returns the offset at which recovery continues; -1 when nothing follows.
        """
        units, decoder = self.units, self.units.decoder
        start = units.at
        data, group = self._next_group()
        if group is None:  # no event in the window could determine the numbers of these keys
            keys = list(takewhile(lambda unit: unit.node, _units(data, 0)))
            if not keys:
                return self._skip_damage(start, start + 1, UNKNOWN_KEYS, None)
            return self._leave(start + keys[-1].end, "keys", len(keys))
        if group[-1].ends:
            decoder.hold = False  # no event follows that could have them
            return start
        fillers = _fillers(group, self._counts(), self.unsure)
        if fillers is None:
            return self._leave(start + group[-1].end, "events")
        # Declare the fillers to the decoder and, if a stream is written, in it.
        decoder.hold = False
        for auto, count in fillers.items():
            for _ in range(count):
                self.fillers += 1
                raw = build_node(Tags.NODE_OBJECT, 0, b"lost key %d" % self.fillers, auto=auto)
                decoder.run(raw, 0, len(raw), start, EventForm.CHECK, NO_TARGET)
                if not self.how:
                    units.insert(raw)
        self.unsure -= {unit.auto for unit in group if unit.node}  # trees whose numbers are known again
        if not self.unsure:
            return start
        # One tree is still unsure: decode this group alone, whose keys are known, and stop before the next declaration.
        raw = data[: group[-1].end]
        status, done, *_ = decoder.run(raw, 0, len(raw), start, self.how, NO_TARGET)
        decoder.hold = True
        units.take(done)
        if status == Status.MORE:
            return start
        self._account(start, units.at, Outcome.RECOVERED, "events")
        return self._leave(start + len(raw), "events", rule=checks.OF_STATUS[status])

    def _next_group(self) -> tuple[bytes, list[Unit] | None]:
        """Return `(bytes from here on, first group in them)`; the group is None if a window of bytes has no event."""
        units = self.units
        while True:
            data = units.window(units.at, units.reach)
            group = next(_groups(data, 0), None)
            if group is not None or len(data) >= WINDOW or not units.more(units.at):
                return data, group

    def _leave(self, end: int, kind: str, count: int = 1, rule: Rule | None = None) -> int:
        """Leave out the bytes before `end`, and report `count` units of a `kind` as lost: by `rule`, or for their keys.

        Returns `end`, where recovery continues.
        """
        self.report.add_lost(kind, count)
        why, code = (rule.title, rule.code) if rule else (UNKNOWN_KEYS, None)
        self._account(self.units.at, end, Outcome.LOST, "unit", why, code)
        self.units.skip(end)
        return end


def _fillers(group: list[Unit], counts: dict[bool, int], unsure: set[bool]) -> dict[bool, int] | None:
    """Number of keys of each tree that were declared in the gap before a group; None if that cannot be determined.

    `counts`: by tree, the number of declared keys, with the root; `unsure`: the trees whose declarations may have
    been lost in the gap.
    """
    event = group[-1]
    logger_keys, user_keys = event.keys
    out: dict[bool, int] = {}
    for auto, keys in ((True, logger_keys), (False, user_keys)):
        highest = max(keys, default=0)
        new = sum(unit.node and unit.auto == auto for unit in group)
        if not new:
            if highest >= counts[auto]:
                return None  # the event has a key whose declaration is lost
            out[auto] = 0
            continue
        # The last declaration of the group has the highest number in its event.  Without loss, that would be `expected`
        # (the root has number 0); what is missing up to it was lost.
        expected = counts[auto] + new - 1
        if highest < expected:
            return None  # the event does not use the last of the new keys, or has no keys
        if highest > expected and auto not in unsure:
            return None  # no declaration can be missing in this tree
        out[auto] = highest - expected
    return out


def _groups(data: bytes, at: int) -> Iterator[list[Unit]]:
    """Yield groups: declarations of keys with the event, or the end of the stream, that follows them."""
    group: list[Unit] = []
    for unit in _units(data, at):
        group.append(unit)
        if not unit.node:
            yield group
            group = []


def _units(data: bytes, at: int) -> Iterator[Unit]:
    """Yield the units in sequence, up to the first that does not fit."""
    while (unit := _unit(data, at)) is not None:
        yield unit
        at = unit.end


def _unit(data: bytes, start: int) -> Unit | None:
    """Parse the unit at `start`; None if the tokens there are not a unit, or are a change of the UTC offset."""
    try:
        # A declaration of a key: type, parent (negative in the logger's tree), name.
        tag, _, at = parse_token(data, start, len(data))
        if tag in NODES:
            tag, parent, at = parse_token(data, at, len(data))
            name, _, at = parse_token(data, at, len(data)) if tag in PARENTS else (-1, 0, 0)
            return Unit(start, at, node=True, auto=parent < 0) if name in TEXTS else None
        if tag == Tags.END_OF_STREAM:
            return Unit(start, at, ends=True)
        # An event: pairs of the logger (key and value), then the user's keys, then their values.
        auto: list[int] = []
        user: list[int] = []
        at = start
        while True:
            tag, key, after = parse_token(data, at, len(data))
            if tag not in KEYS:
                break
            at = after
            if key >= 0:
                user.append(key)
            elif user:
                return None  # a key of the logger after one of the user
            else:
                auto.append(-1 - key)  # the logger's keys are stored as -1 - number
                at = _value(data, at)
        if not user:
            return Unit(start, after, keys=(auto, user)) if tag == Tags.EMPTY_OBJECT else None
        for _ in user:
            at = _value(data, at)
    except (LayoutError, _NoValueError):
        return None
    return Unit(start, at, keys=(auto, user))


class _NoValueError(Exception):
    """The tokens where a value should be are not one."""


_SIMPLE = INTEGERS | TEXTS | {Tags.REAL, Tags.TRUE_VALUE, Tags.FALSE_VALUE, Tags.NULL_VALUE, Tags.EMPTY_OBJECT}
"""Values of one token."""

_APART = {Tags.FOUR_BYTE_ENCODING: Tags.VARIABLE_4, Tags.EIGHT_BYTE_ENCODING: Tags.VARIABLE_8}
"""The first token of an encoded string, and the token of its numeric variables."""


def _value(data: bytes, at: int) -> int:
    """The end of the value at `at`.  Raises `_NoValueError`, and `LayoutError` for bytes that are not a token."""
    tag, _, at = parse_token(data, at, len(data))
    if tag in _SIMPLE:
        return at
    # An encoded string: any number of variables, then the log type.
    number = _APART.get(Tags(tag))
    while number is not None:
        tag, _, at = parse_token(data, at, len(data))
        if tag in LOG_TYPES:
            return at
        if tag != number and tag not in VARIABLE_TEXTS:
            break
    raise _NoValueError
