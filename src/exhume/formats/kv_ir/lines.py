"""JSON lines, text logs and other streams as the events of a stream: the inputs of `exhume create kv-ir`.

Inputs are read in blocks of whole lines, which other threads can encode.  An event has pairs (key and value) of its
user, and may have pairs that the logger added (auto-generated ones).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, islice
from math import isinf
from typing import TYPE_CHECKING, Any

from exhume.archive import Progress, no_progress
from exhume.counts import counted
from exhume.errors import Span, UnsupportedOperationError, WriterError
from exhume.formats.clp_s.write.inputs import Input, InputKind, name_of, read_pieces, recognized
from exhume.formats.clp_s.write.kernel import clps_count_lines
from exhume.formats.clp_s.write.textlog import INVALID, KEYS, MESSAGE, original, text_log
from exhume.formats.kv_ir.passes import Event, Units
from exhume.formats.kv_ir.stream import Stream
from exhume.formats.kv_ir.units import AUTO, USER
from exhume.io.parallel import map_ordered
from exhume.io.source import BytesSource
from exhume.io.values import Gathering
from exhume.limits import DEFAULT_LIMITS, Limits, cpu_count
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.formats.kv_ir.line_encoders import Encoded, KeyCounts, LineEncoders
    from exhume.formats.kv_ir.writer import KvIrWriter

Pairs = dict[str, Any]
"""The pairs of an event, or any JSON object."""


class Lines(NamedTuple):
    """A block of whole lines of an input."""

    data: bytes
    span: Span  # in the decompressed input
    number: int  # of the first line, from 1; for messages


def write_lines(
    writer: KvIrWriter,
    inputs: Iterable[Input],
    *,
    both: bool = False,
    jobs: int = 1,
    input: str = "auto",
    progress: Progress = no_progress,
    limits: Limits = DEFAULT_LIMITS,
) -> None:
    """Write the inputs as events: lines of JSON (empty ones left out), text logs, and the events of other streams.

    Args:
        writer: The stream to write to.
        inputs: What to read.
        both: Whether lines have the pairs of the logger as well as those of the user, in members, as `exhume cat`
            prints them (`units.AUTO`, `units.USER`).  An event of a log has the pairs of `clp_s.write.textlog`.
        jobs: Threads that encode blocks of lines (0: one per core); the stream is identical for any number.
        input: The kind of all inputs, `text`, `json` or `ir`; `auto` determines it by the content of each.
        progress: Called with the number of decompressed bytes.
        limits: The limits of an event of a stream (`payload_size`) and of a line (`structure_size`).

    Raises `WriterError`, with the line, `SourceError`, and the fault in a stream.
    """
    encoders = None if (jobs or cpu_count()) == 1 else writer.line_encoders(both=both)
    # Whether a block was written.  The first one is not encoded in parallel: it declares most of the keys, and blocks
    # that are encoded before keys are declared cannot be adopted.
    is_begun = False
    count = _CountedInputs(progress)
    for one in _each(writer, inputs, count):
        name = name_of(one)
        content = count.pieces(read_pieces(one, as_is=input in ("text", "json"), limits=limits))
        try:
            kind, pieces = recognized(content, InputKind(input))
        except WriterError as error:
            error.span = error.span or Span(name, 0, 0)
            raise
        match kind:
            case InputKind.IR:
                _copy(writer, Units(_ChunkStream(name, pieces), limits))
                continue
            case InputKind.TEXT if both:
                raise WriterError(f"a plain-text log has no {AUTO}", span=Span(name, 0, 0), format="kv-ir")
            case InputKind.TEXT if encoders is None:
                for _ in _events(name, pieces, limits.structure_size, partial(_write_log, writer)):
                    pass  # written already
                continue
            case InputKind.TEXT:
                blocks = _events(name, pieces, limits.structure_size, _lines_of_log)
            case _:
                blocks = _cut(name, pieces, limits.structure_size)
        # In sequence: every block, or only the first one if other threads encode the rest.
        if encoders is None or not is_begun:
            for lines in blocks if encoders is None else islice(blocks, 1):
                _write(writer, lines, 0, both=both)
                is_begun = True
        if encoders is not None:
            _write_ahead(writer, encoders, blocks, both=both, jobs=jobs)


def _each(writer: KvIrWriter, inputs: Iterable[Input], count: _CountedInputs) -> Iterator[Input]:
    """Yield the inputs; name those that turn out to have bytes, but no events, in `writer.blank_inputs`."""
    for one in inputs:
        events, done = writer.events, count.done
        yield one
        if count.done > done and writer.events == events:
            writer.blank_inputs.append(name_of(one))


def _copy(writer: KvIrWriter, units: Units) -> None:
    """Write the events of another stream.  Raises the fault in it."""
    for auto, user in units.readable():
        writer.write(user, auto)


def _write_ahead(writer: KvIrWriter, encoders: LineEncoders, blocks: Iterator[Lines], *, both: bool, jobs: int) -> None:
    """Write blocks, encoding them in parallel; lines that could not be adopted are encoded again."""

    def encode(block: tuple[Lines, KeyCounts]) -> tuple[Lines, Encoded]:
        """Encode a block, given the numbers of keys that were declared when it was read."""
        lines, declared = block
        return lines, encoders.encode(lines.data, declared)

    for lines, encoded in map_ordered(encode, ((lines, encoders.declared()) for lines in blocks), jobs):
        _write(writer, lines, writer.write_encoded(encoded, encoders), both=both)


class _CountedInputs:
    """Reports how many bytes of all inputs together have been read."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.done: int = 0

    def pieces(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """The chunks of an input."""
        for piece in pieces:
            yield piece
            self.done += len(piece)
            self._progress(self.done, None, "bytes")


class _ChunkStream(Stream):
    """A stream whose decompressed bytes an iterator yields; there is no file to read."""

    def __init__(self, name: str, pieces: Iterator[bytes]) -> None:
        super().__init__(BytesSource(b"", name))
        self._given = pieces

    def span(self, start: int, end: int) -> Span:
        return Span(self.source.name, start, end)

    def pieces(self) -> Iterator[bytes]:
        return self._given


def _write_log(writer: KvIrWriter, data: bytes, final: bool) -> tuple[bytes, int]:
    """Write the complete events of a plain-text log; for `_events`, without lines of JSON."""
    return b"", writer.write_log(data, final=final)


def _lines_of_log(data: bytes, final: bool) -> tuple[bytes, int]:
    """The complete events of a plain-text log as lines of JSON, for `_events`."""
    return text_log().lines(data, 0, final)


def _events(
    name: str, pieces: Iterator[bytes], longest: int, take: Callable[[bytes, bool], tuple[bytes, int]]
) -> Iterator[Lines]:
    """Yield the events of a plain-text log in blocks; an event may consist of several lines of the log.

    `take` is called with bytes from the start of an event on, and whether the log ends after them.  It returns the
    complete events as the block has them, and where the first one begins that is not complete.

    Raises `WriterError` for an event of more than `longest` bytes.
    """
    held = Gathering()  # the bytes from the first event on that may be incomplete
    # How many bytes to gather before that event is examined, its offset in the log, and the number of its first line.
    wanted, begin, number = 0, 0, 1
    for piece in chain(pieces, (b"",)):  # an empty one at the end: the last event is complete then
        held.add(piece)
        if piece and held.size < wanted:
            continue
        data = held.take()
        lines, end = take(data, not piece)
        if end:
            yield Lines(lines, Span(name, begin, begin + end), number)
            number += clps_count_lines(data, 0, end)
            begin += end
        size = len(data) - end
        if size > longest:
            where = Span(name, begin, begin + size)
            raise _too_long(f"line {number}: an event is too long", where, longest, "kv-ir")
        # An event is examined again only when twice as much of it is there.
        held, wanted = Gathering(data[end:]), 2 * size


def cut_lines(inputs: Iterable[Input], progress: Progress, format: str, limits: Limits) -> Iterator[Lines]:
    """Yield the lines of all inputs in blocks; for the writers of other formats, whose id is `format`.

    Raises `WriterError` for a line that is too long, and `SourceError`.
    """
    count = _CountedInputs(progress)
    for one in inputs:
        yield from _cut(name_of(one), count.pieces(read_pieces(one, limits=limits)), limits.structure_size, format)


def _cut(name: str, pieces: Iterator[bytes], longest: int, format: str = "kv-ir") -> Iterator[Lines]:
    """Yield the lines of an input in blocks.  Raises `WriterError` for a line of more than `longest` bytes.

    The last block ends with the input, perhaps without a line end, and may be empty.
    """
    number, begin, held = 1, 0, Gathering()  # of the first line in `held`: its number and offset
    for piece in pieces:
        end = piece.rfind(b"\n") + 1
        if end:
            held.add(piece[:end])
            lines = held.take()
            yield Lines(lines, Span(name, begin, begin + len(lines)), number)
            number += clps_count_lines(lines, 0, len(lines))
            begin += len(lines)
        held.add(piece[end:])
        if held.size > longest:
            where = Span(name, begin, begin + held.size)
            raise _too_long(f"line {number}: too long", where, longest, format)
    lines = held.take()
    yield Lines(lines, Span(name, begin, begin + len(lines)), number)


def _too_long(message: str, where: Span, longest: int, format: str) -> WriterError:
    """The error of a line that is too long: input without line ends must not fill the memory."""
    return WriterError(
        message, span=where, expected=f"at most {counted(longest, 'bytes')} (limit structure_size)", format=format
    )


def _write(writer: KvIrWriter, lines: Lines, at: int, *, both: bool) -> None:
    """Write the lines from offset `at` on; those that the kernel does not take are parsed and written one by one."""
    data, span, number = lines
    seen = 0  # the offset of line `number`
    # The kernel stops before a line that is faulty or of a rare form (at `start`): parse it here, or raise.
    while (start := writer.write_lines(data, at, both=both)) < len(data):
        number += clps_count_lines(data, seen, start)
        end = data.find(b"\n", start)
        seen = start
        at = len(data) if end < 0 else end + 1
        line = data[start : at if end < 0 else end]
        if line and not line.isspace():
            try:
                found = parse_object(line)
                del line  # it may be large: free it before the event is encoded
                writer.write(*_pairs(found, both=both))
            except WriterError as error:
                error.message, error.span = f"line {number}: {error.message}", span.sub(start, at)
                raise


def _pairs(found: Pairs, *, both: bool) -> tuple[Pairs, Pairs]:
    """Return the pairs of the user and those of the logger; with `both`, a line has an object for each."""
    if not both:
        return found, {}
    if not set(found) <= {AUTO, USER} or not all(isinstance(one, dict) for one in found.values()):
        raise WriterError(f"not {AUTO} and {USER}", format="kv-ir")
    return found.get(USER, {}), found.get(AUTO, {})


def parse_object(text: bytes) -> Pairs:
    """Parse a JSON object.  Raises `WriterError` for anything else, a repeated key, and what a stream cannot store."""

    def members(pairs: list[tuple[str, Any]]) -> Pairs:
        """An object, which must not have a key twice."""
        out = dict(pairs)
        if len(out) < len(pairs):
            raise ValueError("the same key twice in one object")
        return out

    def refuse(constant: str) -> Any:
        """Reject NaN and Infinity, which `json` accepts otherwise."""
        raise ValueError(f"{constant} is not JSON")

    def real(number: str) -> float:
        """A float; one that is too large would become infinite."""
        if isinf(value := float(number)):
            raise ValueError("a number does not fit a double")
        return value

    try:
        found = json.loads(text.decode("utf-8"), object_pairs_hook=members, parse_constant=refuse, parse_float=real)
        if not isinstance(found, dict):
            raise ValueError("not a JSON object")
    except UnicodeDecodeError as error:
        what = f"not UTF-8 in column {error.start + 1}"
    except json.JSONDecodeError as error:
        what = f"not JSON in column {error.colno}: {error.msg}"
    except RecursionError:
        what = "nested too deeply"
    except ValueError as error:
        what = str(error)
    else:
        return found
    raise WriterError(what, actual=text[:80], format="kv-ir")


def text_of(event: Event) -> bytes:
    """The bytes of the log that an event was made of.  Raises `UnsupportedOperationError` for another event."""
    auto, user = event
    # Events of a plain-text log have only strings under `KEYS` (time stamp, message, invalid bytes), always a message.
    if (
        auto
        or MESSAGE not in user
        or not user.keys() <= set(KEYS)
        or not all(isinstance(value, str) for value in user.values())
    ):
        found = next((key for key in (*auto, *user) if key not in KEYS), None)
        raise UnsupportedOperationError("not a plain-text log", expected=f"events of {', '.join(KEYS)}", actual=found)
    stamp, message, invalid = (
        None if (v := user.get(key)) is None else v.encode("utf-8", "surrogateescape") for key in KEYS
    )
    try:
        return original(stamp or b"", message or b"", invalid)
    except ValueError:
        raise UnsupportedOperationError(
            f"not a plain-text log: {INVALID} does not fit the message", actual=invalid
        ) from None
