"""Pure-Python implementation of the CLP IR part of `exhume.native._kernel` (`native.pxi`).

Import `exhume.formats.clp_ir.kernel`, which picks one of the two; the tests in `tests/clp_ir` run against each.

A unit is an event, a change of the offset from UTC, or the end, and consists of tokens.  A message is encoded as a log
type (its text with a mark in place of each variable) and the variables.  Streams are wide (variables of eight bytes,
times since the epoch) or not (four bytes, times as differences).  A chosen event is one that matches the decoder's
bounds of time and patterns.
"""

from __future__ import annotations

import json
import re
import struct
from array import array
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TypeVar

from exhume.formats.clp_ir.layout import (
    DELTAS,
    LOG_TYPES,
    NUMBERS,
    VARIABLE_TEXTS,
    KeyedTags,
    LayoutError,
    Tags,
    flat_token,
)
from exhume.formats.clp_ir.patterns import Zone, print_time, read_program
from exhume.formats.clp_ir.units import DAY_MS, FIRST_MS, LAST_MS, MAX_MS, MIN_MS, EventForm, Wildcard
from exhume.formats.clp_s.write.texts import Dialect, VariableKind, encode_text
from exhume.formats.kv_ir.layout import (
    Marks,
    Variable,
    build_integer,
    build_key,
    build_log_type,
    build_variable,
    build_variable_text,
    join_text,
    pack_decimal,
    set_marks,
)
from exhume.formats.kv_ir.units import Status

MadeT = TypeVar("MadeT", bound=tuple[int, bytes])

Event = tuple[int, bytes]
"""`(time in milliseconds since the epoch, message)`."""


_OUTPUTS = EventForm.TEXT | EventForm.LINES | EventForm.OBJECTS | EventForm.COLUMNS | EventForm.KEYED
"""The forms with output; without any of them, events are only checked."""


class _StopError(Exception):
    """A unit that was not accepted: why, and at which token."""

    def __init__(self, status: Status, at: int) -> None:
        super().__init__(status)
        self.status, self.at = status, at


def _token(data: bytes, at: int, end: int) -> tuple[int, int, bytes, int]:
    """Return `(tag, number, bytes, end)` of the token at `at`.  Raises `_StopError` if it is incomplete or invalid."""
    try:
        after, tag, one, two, four, eight, _, _, _, start, stop = flat_token(data, at, end)
    except LayoutError:
        raise _StopError(Status.MORE, at) from None
    return tag, one + two + four + eight, bytes(data[start:stop]) if start else b"", after


class ClpIrDecoder:
    """Decodes the units of a stream: log events, and changes of the offset from UTC.

    Attributes:
        wide: Whether variables have eight bytes, and times are those since the epoch.
        time: Time of the last event, in milliseconds since the epoch; before the first one, what that counts from.
        events: How many events were decoded; `matched`: how many of these were chosen.
        first_time, last_time: The earliest and the latest time of a chosen event.
        utc_offset: The latest offset from UTC in milliseconds; it was set `utc_changes` times so far.
        event: The last event, if objects were requested; it is at `[start, end)` of the stream.
        stopped: What `run` would have returned at the point where `each` stopped.
    """

    time: int

    wide: bool
    events: int
    matched: int
    utc_offset: int
    utc_changes: int
    first_time: int
    last_time: int
    start: int
    end: int

    def __init__(self, wide: bool, time: int) -> None:
        """Start at `time` in milliseconds since the epoch, without bounds on the time, patterns or an output format."""
        self.wide, self.time = wide, time
        self.events = self.matched = self.utc_offset = self.utc_changes = 0
        self.first_time, self.last_time = MAX_MS, MIN_MS
        self.event: Event | None = None
        self.start = self.end = 0
        self.stopped: tuple[int, int, int, int] = (int(Status.MORE), 0, 0, -1)
        self._out = bytearray()  # output that was not taken: text, lines, or messages of columns
        self._times, self._ends = array("q"), array("q")  # of columns
        self._lower, self._upper = MIN_MS, MAX_MS
        self._patterns: list[re.Pattern[bytes]] = []
        self.print_times(b"", None)

    def print_times(self, form: bytes, zone: Zone | None) -> None:
        """Set how `TEXT` prints times: a program of `patterns`, and the offsets from UTC (none: UTC itself)."""
        self._form, self._zone = read_program(form), zone

    def choose(self, lower: int, upper: int, patterns: Iterable[Wildcard]) -> None:
        """Choose the events between two times, both included, with a message that any of the patterns matches.

        Without patterns, all messages match.
        """
        self._lower, self._upper = lower, upper
        self._patterns = [_compiled(pattern) for pattern in patterns]

    def take(self) -> bytes:
        """The text or the lines that were made since the last call."""
        found = bytes(self._out)
        self._out.clear()
        return found

    def take_columns(self) -> tuple[bytes, bytes, bytes]:
        """The columns since the last call: times and ends of messages as int64, and all messages."""
        times, ends = self._times.tobytes(), self._ends.tobytes()
        self._times, self._ends = array("q"), array("q")
        return times, ends, self.take()

    def take_events(self, made: type[MadeT]) -> list[MadeT]:
        """Return the events since the last call as tuples `made(time, message)`.

        Raises `TypeError` for another class.
        """
        if not issubclass(made, tuple):
            raise TypeError("not a kind of tuple")
        times, ends = list(self._times), list(self._ends)
        _, _, messages = self.take_columns()
        bounds = pairwise((0, *ends))
        return [
            tuple.__new__(made, (time, messages[start:end])) for time, (start, end) in zip(times, bounds, strict=True)
        ]

    def run(self, data: bytes, at: int, end: int, base: int, how: int, target: int) -> tuple[int, int, int, int]:
        """Decode the units of `data[at:end]`; `data` starts `base` bytes into the stream.

        `how` is an `EventForm`.  Stops when the output has `target` bytes; in forms without output, when `events` has
        reached `target`; and after each chosen event if objects are requested.

        Returns `(status, unit, place, after)`: a `Status`, and offsets in `data`: of the next unit (the faulty one, or
        the one after the last), of the token with the fault, and of the end of the faulty unit, -1 if unknown.

        Raises `ValueError` for a range outside of `data`.
        """
        if not 0 <= at <= end <= len(data):
            raise ValueError("outside of the data")
        while at < end:
            try:
                status, after = self._unit(data, at, end, base, how, target)
            except _StopError as stop:
                return stop.status, at, stop.at, -1
            if status is not None and status not in (Status.FULL, Status.END):
                return status, at, at, after
            at = after
            if status is not None:
                return status, at, at, at
        return Status.MORE, at, at, -1

    def each(self, data: bytes, at: int, end: int, base: int) -> Iterator[Event]:
        """The chosen events of `data[at:end]` one by one.  Raises `ValueError` as `run` does."""
        while True:
            self.stopped = self.run(data, at, end, base, EventForm.OBJECTS, 0)
            status, after, *_ = self.stopped
            if status != Status.FULL:
                return
            assert self.event is not None
            yield self.event
            at = after

    def _unit(self, data: bytes, at: int, end: int, base: int, how: int, target: int) -> tuple[Status | None, int]:
        """Decode the unit at `at`; return why decoding stops after it (None: it continues), and the next offset.

        The arguments are those of `run`.  Raises `_StopError` at a malformed token; a faulty value is returned as the
        reason.
        """
        tag, number, text, after = _token(data, at, end)
        if tag == Tags.UTC_OFFSET_CHANGE:
            self.utc_offset, self.utc_changes = number, self.utc_changes + 1
            return (Status.OFFSET if how == EventForm.CHECK and not -DAY_MS < number < DAY_MS else None), after
        if tag == Tags.END_OF_STREAM:
            return Status.END, after
        if tag == Tags.TIMESTAMP or tag in DELTAS:
            raise _StopError(Status.UNEXPECTED, at)
        # An event: its variables, its log type, then its time.
        variables: list[Variable] = []
        place = at
        while tag not in LOG_TYPES:
            if tag == (Tags.VARIABLE_8 if self.wide else Tags.VARIABLE_4):
                variables.append(number)
            elif tag in VARIABLE_TEXTS:
                variables.append(text)
            else:
                raise _StopError(Status.UNEXPECTED, place)
            place = after
            tag, number, text, after = _token(data, place, end)
        place = after
        tag, number, _, after = _token(data, place, end)
        if not (tag == Tags.TIMESTAMP if self.wide else tag in DELTAS):
            raise _StopError(Status.UNEXPECTED, place)
        fits = self._keep_time(number)
        before = self.matched
        fault = self._give(text, variables, how, fits, data[at:place])
        if fault is not None:
            return fault, after
        self.events += 1
        if how & EventForm.OBJECTS:
            is_chosen = self.matched > before
            if not is_chosen:
                return None, after
            self.start, self.end = base + at, base + after
            return Status.FULL, after
        size = len(self._out) + (self._times.itemsize * len(self._times) if how & EventForm.COLUMNS else 0)
        made = size if how & (EventForm.TEXT | EventForm.LINES | EventForm.COLUMNS | EventForm.KEYED) else self.events
        return (Status.FULL if made >= target else None), after

    def _keep_time(self, number: int) -> bool:
        """Set `time` to that of an event, whose token has `number`; return whether it is in the years 1 to 9999.

        A sum beyond 64 bits wraps around, and is not.
        """
        time = number if self.wide else self.time + number
        self.time = (time - MIN_MS) % (1 << 64) + MIN_MS  # as a signed number of 64 bits
        return self.time == time and FIRST_MS <= time <= LAST_MS

    def _give(self, log_type: bytes, variables: list[Variable], how: int, fits: bool, tokens: bytes) -> Status | None:
        """Add one event to the output in the form `how`, if its time and its message match.

        `fits`: whether its time is in the years 1 to 9999.  `tokens`: its encoded message, as it is stored before the
        time.  Return the fault that was found, or None.
        """
        # Events outside of the chosen times, or without a matching message, are skipped.
        if not self._lower <= self.time <= self._upper:
            return None
        message = join_text(log_type, variables, wide=self.wide)
        if message is None:
            return Status.LOG_TYPE
        if self._patterns and not any(pattern.fullmatch(message) for pattern in self._patterns):
            return None
        if how & _OUTPUTS:
            self._add(message, how, tokens)
        elif not how & EventForm.LENIENT:
            if not fits:
                return Status.TIME
            if not _is_utf8(message):
                return Status.UTF8
        self.matched += 1
        self.first_time, self.last_time = min(self.first_time, self.time), max(self.last_time, self.time)
        return None

    def _add(self, message: bytes, how: int, tokens: bytes) -> None:
        """Add an event, with the time `time`, to the output in the form `how`; `tokens`: see `_give`."""
        if how & EventForm.OBJECTS:
            self.event = self.time, message
        elif how & EventForm.LINES:
            text = json.dumps(message.decode("utf-8", "surrogateescape"), ensure_ascii=False)
            line = f'{{"timestamp":{self.time},"message":{text.replace(chr(127), _DELETE)}}}\n'
            self._out += line.encode("utf-8", "surrogateescape")
        elif how & EventForm.COLUMNS:
            self._out += message
            self._times.append(self.time)
            self._ends.append(len(self._out))
        elif how & EventForm.KEYED:
            encoding = KeyedTags.EIGHT_BYTE_ENCODING if self.wide else KeyedTags.FOUR_BYTE_ENCODING
            # Each tree has one key, number 1: the time of the logger, and the message of the user.
            self._out += build_key(1, auto=True) + build_integer(self.time) + build_key(1, auto=False)
            self._out += bytes((encoding,)) + tokens
        else:
            self._out += self._printed() + message

    def _printed(self) -> bytes:
        """Return the printed time of the event: empty without a format, a plain number outside of the calendar."""
        if not self._form:
            return b""
        if not FIRST_MS <= self.time <= LAST_MS:
            return b"%d" % self.time
        # The offset from UTC: that of the last change in the stream, else that of the time zone, else 0.
        offset, name = 0, b"UTC"
        if self.utc_changes and -DAY_MS < self.utc_offset < DAY_MS:
            offset = self.utc_offset
            minutes = abs(offset) // 60_000
            if minutes:
                name = b"GMT%s%02d:%02d" % (b"-" if offset < 0 else b"+", minutes // 60, minutes % 60)
        elif self._zone is not None:
            _, _, offset, name = self._zone(self.time)  # (first time, last time, offset, name)
        return print_time(self._form, self.time, offset, name)


_DELETE = json.dumps("\x7f")[1:-1]
"""The escape of the character DELETE, which the kernel writes in lines, though JSON does not require it."""


def _is_utf8(text: bytes) -> bool:
    """Return whether bytes are UTF-8."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _compiled(pattern: Wildcard) -> re.Pattern[bytes]:
    """Return a wildcard pattern as a regular expression for `fullmatch`."""
    parts = [
        b"".join(b"." if any_byte else re.escape(bytes((byte,))) for byte, any_byte in zip(letters, marks, strict=True))
        for letters, marks in pattern.parts
    ]
    # Between the parts and around them, any bytes: as few as possible, so that most messages match with little work.
    text = b".*?".join(parts)
    if not parts and pattern.open_start:  # asterisks only
        text = b".*"
    elif pattern.open_start or pattern.open_end:
        text = (b".*?" if pattern.open_start else b"") + text + (b".*" if pattern.open_end else b"")
    return re.compile(text, re.DOTALL | (re.IGNORECASE if pattern.fold else 0))


class ClpIrEncoder:
    """Encodes events.

    Attributes:
        wide: Whether variables have eight bytes, and times are those since the epoch.
        time: Time of the last event, from which the next one counts, in milliseconds since the epoch.
    """

    time: int

    wide: bool

    def __init__(self, wide: bool, time: int) -> None:
        self.wide, self.time = wide, time
        self._out = bytearray()

    @property
    def size(self) -> int:
        """Number of bytes to be taken."""
        return len(self._out)

    def take(self) -> bytes:
        """The units that were made since the last call."""
        found = bytes(self._out)
        self._out.clear()
        return found

    def add(self, time: int, message: bytes) -> None:
        """Encode an event: when, in milliseconds since the epoch, and the message."""
        encoded = encode_text(message, Dialect.CORE)
        marks = bytearray()
        for variable in encoded.variables:
            stored, kind = variable.encoded, variable.kind  # as eight bytes; None for text
            if not self.wide:
                if kind is VariableKind.FLOAT:
                    stored = pack_decimal(variable.text)
                elif stored is not None and not -(1 << 31) <= stored < 1 << 31:
                    stored = None
            if stored is None:
                kind = VariableKind.DICTIONARY
                self._out += build_variable_text(variable.text)
            else:
                self._out += build_number(stored) if self.wide else build_variable(stored)
            marks.append(_MARKS[kind])
        self._out += build_log_type(set_marks(encoded.log_type, marks))
        if self.wide:
            self._out += build_timestamp(time)
        else:
            self._out += build_delta((time - self.time - MIN_MS) % (1 << 64) + MIN_MS)  # wraps around as 64 bits do
        self.time = time


def build_number(value: int) -> bytes:
    """A variable of eight bytes."""
    return bytes((Tags.VARIABLE_8,)) + struct.pack(NUMBERS.number8, value)


def build_timestamp(time_ms: int) -> bytes:
    """The time of an event of an eight-byte stream, in milliseconds since the epoch."""
    return bytes((Tags.TIMESTAMP,)) + struct.pack(NUMBERS.number8, time_ms)


def build_delta(delta_ms: int) -> bytes:
    """The time of an event of a four-byte stream, in milliseconds since the event before, in the shortest form."""
    _, tag, form = next(form for form in _DELTAS if -(1 << form[0]) <= delta_ms < 1 << form[0])
    return bytes((tag,)) + struct.pack(form, delta_ms)


# The forms of a difference of times, narrowest first: (bits without the sign, tag, format for `struct`).
_DELTAS = (
    (7, Tags.DELTA_1, NUMBERS.number1), (15, Tags.DELTA_2, NUMBERS.number2), (31, Tags.DELTA_4, NUMBERS.number4),
    (63, Tags.DELTA_8, NUMBERS.number8),
)  # fmt: skip
_MARKS = {
    VariableKind.INTEGER: Marks.INTEGER, VariableKind.FLOAT: Marks.DECIMAL, VariableKind.DICTIONARY: Marks.TEXT
}  # fmt: skip
