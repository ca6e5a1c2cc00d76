"""`Units`: one pass over the units of a stream, from front to back, with the error of each faulty unit.

A unit is an event, a declaration of a key, a change of the offset from UTC, or the end; it consists of tokens.  A pass
reads bytes into memory, lets the decoder run over the whole units in them, drops these and reads more.  A faulty unit
can be skipped.  The formats KV-IR and CLP IR (text messages) share this class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from exhume.archive import Progress, no_progress
from exhume.counts import counted
from exhume.errors import ExhumeError, LimitExceededError, SourceError, TruncatedError, UnsupportedOperationError
from exhume.formats.kv_ir import checks
from exhume.formats.kv_ir.kernel import KvIrDecoder
from exhume.formats.kv_ir.layout import (
    MAX_PREAMBLE,
    LayoutError,
    Preamble,
    has_preamble,
    misfit,
    parse_preamble,
    parse_token,
    token_name,
)
from exhume.formats.kv_ir.pytokens import Read, StopError, pass_event
from exhume.formats.kv_ir.stream import PIECE, FrameEnd, Stream
from exhume.formats.kv_ir.units import HeldError, Status, UnitError
from exhume.io.values import MANY, Gathering
from exhume.limits import DEFAULT_LIMITS, Limits

Event = tuple[dict[str, Any], dict[str, Any]]
"""`(auto, user)`: the pairs that the logger added, and those of its user."""

EVENTS = 10_000
"""Events between two reports of progress."""

TOKEN = 9
"""Size in bytes of the longest token, without its string: a tag and eight bytes."""

MOST_STATED = 1 << 62
"""End of the data, for parsing a token whose string is not in memory: more than it can state as its size."""


class Units:
    """One pass over the units of a stream; after each step, `decoder` has the output for the events.

    Attributes:
        preamble: What precedes the units.
        at: Where the next unit starts.
        ended: Whether the end of the stream was reached.
        passed: How many events `pass_over` left out; the decoder does not count them.
        unreadable: The error of the first event that `pass_over` left out, for `close` to raise.
        on_omitted: Called with the error of each event above a limit and of `trailing`; without it, `close` raises
            them.
        damage: The error at which reading the bytes stopped, raised after the units before it; None without one.
        keep: If set before the first step, it is called with the bytes of all units that are accepted, but not with
            the end of the stream.
    """

    def __init__(self, stream: Stream, limits: Limits = DEFAULT_LIMITS, *, preamble: Preamble | None = None) -> None:
        """Read the preamble, unless it is given.  Raises KVIR-101, KVIR-301, KVIR-302, KVIR-307, KVIR-308."""
        self.stream: Stream = stream
        self.limits: Limits = limits
        self._most = max(limits.payload_size, TOKEN)  # bytes of a unit; every limit lets one token pass
        self.ended: bool = False
        self.passed: int = 0
        self.unreadable: ExhumeError | None = None
        self.on_omitted: Callable[[ExhumeError], object] | None = None
        self.damage: ExhumeError | None = None
        self._pieces = stream.pieces()
        self.keep: Callable[[bytes], object] | None = None
        # The bytes in memory, the offset in the stream where they start, and the one up to which `keep` got the units.
        self._data, self._base, self._kept = b"", 0, 0
        self._exhausted = False  # whether `more` found no further bytes
        # A file that still grows is read only as far as the preamble: waiting for more would delay the first events.
        while len(self._data) < MAX_PREAMBLE and not (stream.live and has_preamble(self._data)) and self._more():
            pass
        try:
            found = preamble or parse_preamble(self._data, stream.span(0, len(self._data)), stream.rules)
        except TruncatedError:
            if self.damage is None:
                raise
            raise self.damage from None  # the preamble ends where reading stopped
        self.preamble: Preamble = found
        self.at: int = 0 if preamble else found.size
        self._kept = self.at
        self.decoder: KvIrDecoder = self.make_decoder()

    def make_decoder(self) -> KvIrDecoder:
        """A decoder for this stream, whose preamble is known; like the next four methods, CLP IR overrides it."""
        return KvIrDecoder()

    def parse_token(self, data: bytes, at: int, end: int) -> tuple[int, int, int]:
        """Return `(tag, number, end)` of the token at `at`.  Raises `LayoutError`."""
        return parse_token(data, at, end)

    def pass_unit(self, read: Read) -> int:
        """End of the event at `self.at`; `read` returns the token at an offset.  Raises `StopError` for other units."""
        return pass_event(read, self.at)

    def misfit(self, data: bytes, at: int) -> LayoutError | None:
        """Return the fault in the token at `at` (truncated, or invalid); None for a valid token."""
        return misfit(data, at)

    def token_name(self, data: bytes, at: int) -> str:
        """The kind of token at an offset, in words."""
        return token_name(data, at)

    def _more(self, missing: int = 0) -> bool:
        """Read more bytes into `_data`, and return whether there were any.  A failure to read is raised after them.

        `missing` is the number of bytes that the token at the end of the data lacks, 0 if that is not known.
        """
        if self.stream.live:
            wanted = max(1, missing)  # what follows a unit may not come for hours
        else:
            # An incomplete unit is decoded from its start again: double the data, or read all of a long token at once.
            wanted = max(PIECE, len(self._data))
            if missing > wanted:
                wanted = missing
            elif missing > wanted // 2:  # nearly as much: the token and a chunk of what follows, instead of the double
                wanted = missing + PIECE
        held, self._data, before = Gathering(self._data), b"", len(self._data)
        try:
            while wanted > 0 and (piece := next(self._pieces, b"")):
                held.add(piece)
                wanted -= len(piece)
        except ExhumeError as error:
            self.damage = error
        self._data = held.take()
        if len(self._data) > before:
            return True
        if isinstance(self.damage, SourceError):  # the file cannot be read: not a fault of a unit
            raise self.damage
        return False

    def _missing(self, at: int) -> int:
        """Number of bytes of the token at an offset of `_data` that are not in memory; 0 if that is not known."""
        head = self._data[at : at + TOKEN]
        if not head:
            return 0
        try:
            # Missing bytes of a length count as 0, so that the size is a lower bound.
            _, _, size = self.parse_token(head.ljust(TOKEN, b"\0"), 0, MOST_STATED)
        except LayoutError:
            return 0
        return max(0, min(at + size, self._most) - len(self._data))

    @property
    def reach(self) -> int:
        """The offset in the stream where the bytes in memory end."""
        return self._base + len(self._data)

    def more(self, at: int) -> bool:
        """Continue at a later position, as `skip` does, and read more bytes; False when there are none."""
        if self._exhausted:
            return False
        self.skip(at)
        self._drop()
        self._exhausted = not self._more()
        return not self._exhausted

    @property
    def held(self) -> tuple[bytes, int]:
        """`(data, base)`: the bytes in memory, and the offset in the stream where they start."""
        return self._data, self._base

    def window(self, start: int, end: int) -> bytes:
        """The bytes `[start, end)` of the stream, which must be in memory."""
        return self._data[start - self._base : end - self._base]

    def step(self, how: int, target: int) -> bool:
        """Decode units until the output has the size `target`, or the stream ends; False if it had ended before.

        `how` is an `EventForm`; it determines what `target` counts.  Raises `UnitError`, after which `skip` continues,
        and `HeldError` when a key is declared and the decoder is set to stop there.
        """
        while not self.ended:
            at = self.at - self._base
            if self._settle(*self.decoder.run(self._data, at, self._reach_of(at), self._base, how, target)):
                return True
        return False

    def events(self) -> Iterator[Event]:
        """The events one by one; meanwhile `decoder.start` is the offset of the current one.  Raises as `step`."""
        while not self.ended:
            at = self.at - self._base
            yield from self.decoder.each(self._data, at, self._reach_of(at), self._base)
            self._settle(*self.decoder.stopped)

    def readable(self) -> Iterator[Event]:
        """The events one by one, without those that cannot be read.  Raises as `steps`."""
        while not self.ended:
            try:
                yield from self.events()
            except UnitError as trouble:
                self.pass_over(trouble)
        self.close()

    def faults(self, how: int, progress: Progress = no_progress) -> Iterator[UnitError]:
        """Decode all units, yield the error of each faulty one, and skip it; end where its end is unknown."""
        while True:
            try:
                while self.step(how, self.decoder.events + EVENTS):
                    progress(self.stream.stored, self.stream.source.size, "bytes")
                return
            except UnitError as error:
                trouble = error
            yield trouble
            if trouble.after < 0:
                return
            self.skip(trouble.after)

    def printed(self, how: int, target: int = 1 << 20) -> Iterator[bytes]:
        """Output of the decoder for all units, in chunks of about `target` bytes.  Raises as `steps`."""
        for _ in self.steps(how, target):
            if found := self.decoder.take():
                yield found

    def steps(self, how: int, target: int) -> Iterator[None]:
        """Decode all units; yield whenever the output has the size `target`, and at the end, for the caller to take it.

        Raises the error of an unreadable event after all readable ones, and other errors after the events before them.
        """
        while not self.ended:
            trouble: UnitError | None = None
            try:
                self.step(how, target)
            except UnitError as error:
                trouble = error
            except (SourceError, UnsupportedOperationError):
                yield  # the output before the error
                raise
            yield
            if trouble is not None:
                self.pass_over(trouble)
        self.close()

    def _reach_of(self, at: int) -> int:
        """The end of the bytes in memory that a unit at `at` may use: no unit may exceed the limit `payload_size`."""
        return min(len(self._data), at + self._most)

    def _settle(self, status: int, after: int, place: int, stop: int) -> bool:
        """Continue where the decoder stopped; return whether it has enough output, or is at the end of the stream.

        `status` says why it stopped; the others are offsets in `_data`.  `after`: the end of the last unit that was
        decoded; `place`: the token in question; `stop`: the end of a faulty unit, -1 if that is unknown.  Raises
        `UnitError` for a unit that cannot be decoded, and `HeldError` as `step` does.
        """
        started, self.at = self.at, self._base + after
        if status == Status.FULL:
            if after >= MANY:
                self._drop()  # a large event: free its bytes before the caller takes its output, which is as large
            return True
        if status == Status.END:
            self.ended = True
            self.at -= 1  # `keep` does not get the byte that ends the stream
            self._flush()
            self.at = self._kept = self.at + 1
            return True
        if status == Status.HELD:
            raise HeldError
        if status == Status.MORE:
            if self.at > started and self._reach_of(started - self._base) < len(self._data):
                return False  # only the limit ended the run here: the same unit is tried alone, with all its bytes
            self._check_tag(place, self.at)
            self._drop()
            if len(self._data) > self._most:
                raise self._too_large()
            if not self._more(self._missing(place - after)):
                self._finish(place - after)
            return False
        # A faulty unit whose end is unknown: the fault is shown as the one byte of the token's tag.
        span = self.stream.span(self._base + place, self._base + (stop if stop >= 0 else place + 1))
        actual = None if stop >= 0 else self.token_name(self._data, place)
        error = self.stream.rules.of_status[status].error(span=span, actual=actual)
        raise UnitError(error, Status(status), self.at, self._base + stop if stop >= 0 else -1)

    def _too_large(self) -> UnitError:
        """Return the error of the next unit, which is above the limit `payload_size`, and read on to where it ends.

        Raises the error itself if the end cannot be found, or if the unit declares a key that later units need.
        """
        try:
            end = self.pass_unit(self._token)
        except (LayoutError, StopError):
            end = -1
        while self.reach < end and self._pull(end):
            pass
        is_whole = 0 <= end <= self.reach
        last = end if is_whole else self.reach
        most, span = self.limits.payload_size, self.stream.span(self.at, last)
        error = LimitExceededError(
            "limit payload_size exceeded", span=span, expected=f"at most {most}", actual=last - self.at
        )
        if not is_whole:
            raise error
        return UnitError(error, Status.MORE, self.at, end)

    def _token(self, at: int) -> tuple[int, int, int]:
        """Return `(tag, number, end)` of the token at an offset of the stream, reading up to it.

        Raises `LayoutError`, and `StopError` at the end of the stream.
        """
        while self.reach < at + TOKEN and self._pull(at):
            pass
        data, base = self._data, self._base
        try:
            tag, number, end = self.parse_token(data, at - base, len(data))
        except LayoutError:  # not all of its string is in memory: parse it as if that followed
            head = data[at - base : at - base + TOKEN]
            if not head:
                raise StopError(Status.MORE, at) from None
            tag, number, size = self.parse_token(head.ljust(TOKEN, b"\0"), 0, MOST_STATED)
            return tag, number, at + size
        return tag, number, base + end

    def _pull(self, at: int) -> bool:
        """Release the bytes before an offset of the stream, and read more; False when there are none."""
        drop = min(at, self.reach) - self._base
        self._data, self._base = self._data[drop:], self._base + drop
        return self._more()

    def count(self, other: KvIrDecoder) -> None:
        """Count the events that another decoder has decoded, and reset that decoder's count."""
        mine = self.decoder
        mine.events += other.events
        if other.utc_changes:
            mine.utc_offset, mine.utc_changes = other.utc_offset, mine.utc_changes + other.utc_changes
        other.events = other.utc_changes = 0

    def resume(self, decoder: KvIrDecoder, at: int, data: bytes) -> None:
        """Continue at a unit with a decoder that knows its keys; `data` are the bytes up to the old position."""
        mine, self.decoder = self.decoder, decoder
        decoder.events, decoder.utc_offset, decoder.utc_changes = mine.events, mine.utc_offset, mine.utc_changes
        self._data = data + self._data[self.at - self._base :]
        self._base = self.at = self._kept = at

    def left(self) -> int:
        """Number of bytes of the stream after the decoded units.  Raises `damage`, such as that of a zstd frame."""
        size = self.reach - self.at + self.stream.rest(self._pieces)
        if self.damage is not None:
            raise self.damage
        return size

    def frame_end(self) -> FrameEnd | None:
        """The end of the zstd frame with the byte before `at`; None if the frame is cut."""
        ends = self.stream.frame_ends
        while True:
            while ends and ends[0].in_stream < self.at:
                ends.popleft()
            if ends:
                return ends[0]
            try:
                if not next(self._pieces, b""):
                    return None
            except SourceError:
                raise
            except ExhumeError as error:
                self.damage = error

    def trailing(self) -> ExhumeError | None:
        """The error for bytes after the end of the stream or its zstd frames; None without any.  Raises `damage`."""
        if size := self.left():
            span = self.stream.span(self.at, self.at + size)
            return self.stream.rules.trailing_bytes.error(span=span, actual=counted(size, "bytes"))
        return self.stream.after_frames()

    def skip(self, to: int) -> None:
        """Continue at a later position within the bytes in memory; `keep` does not get the bytes before it."""
        self._flush()
        self.at = self._kept = to

    def pass_over(self, trouble: UnitError) -> None:
        """Continue after an event that cannot be read, or raise its error where the next unit cannot be found.

        Later, `close` raises the error of the first such event that `on_omitted` was not called with.
        """
        # Neither without its end, nor after a bad declaration: later keys would get wrong numbers.
        if trouble.after < 0 or trouble.status in checks.LOSES_COUNT:
            raise trouble.error from None
        self.passed += 1
        if self.on_omitted is not None and isinstance(trouble.error, LimitExceededError):
            self.on_omitted(trouble.error)
        elif self.unreadable is None:
            self.unreadable = trouble.error
        self.skip(trouble.after)

    def close(self) -> None:
        """End the pass: raise the error of the first event that was left out, or report or raise that of `trailing`."""
        if self.unreadable is not None:
            raise self.unreadable
        if self.ended and (error := self.trailing()) is not None:
            if self.on_omitted is None:
                raise error
            self.on_omitted(error)

    def insert(self, raw: bytes) -> None:
        """Pass bytes that are not in the stream to `keep`, before the next unit."""
        self._flush()
        if self.keep is not None:
            self.keep(raw)

    def take(self, size: int) -> None:
        """Pass the next `size` bytes, which another decoder has decoded, to `keep`."""
        self.at += size
        self._flush()

    def _flush(self) -> None:
        """Call `keep` with the units up to `at`."""
        if self.keep is not None and self._kept < self.at:
            self.keep(self.window(self._kept, self.at))
        self._kept = self.at

    def _drop(self) -> None:
        """Release the bytes before `at`, and the ends of frames before it, which `frame_end` no longer needs."""
        self._flush()
        self._data = self._data[self.at - self._base :]
        self._base = self.at
        ends = self.stream.frame_ends
        while ends and ends[0].in_stream < self.at:
            ends.popleft()

    def _check_tag(self, place: int, unit: int) -> None:
        """Raise KVIR-305 if the byte at `place` of `_data` is not a tag: then more bytes are of no use."""
        error = self.misfit(self._data, place)
        if error is not None and not error.short and error.path == "tag":
            span = self.stream.span(self._base + place, self._base + place + 1)
            raise UnitError(
                self.stream.rules.unknown_tag.error(span=span, field_path="tag", actual=f"0x{error.found:02x}"),
                Status.MORE, unit, -1,
            )  # fmt: skip

    def _finish(self, place: int) -> NoReturn:
        """Raise KVIR-303, or KVIR-304 for the incomplete token at `place` of `_data`, or `damage`: no bytes follow."""
        end = self._base + len(self._data)
        if self.damage is not None:
            raise UnitError(self.damage, Status.MORE, self.at, -1)
        if not self._data:
            raise UnitError(self.stream.rules.no_end.error(span=self.stream.span(end, end)), Status.MORE, self.at, -1)
        error = self.misfit(self._data, place)
        facts: dict[str, Any] = {}
        if error is not None:
            facts = {"field_path": error.path, "expected": error.expected, "actual": error.found}
        raise UnitError(
            self.stream.rules.unit_cut.error(span=self.stream.span(self.at, end), **facts), Status.MORE, self.at, -1
        )
