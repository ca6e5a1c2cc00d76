"""Writes IR streams of text, byte for byte as the serializer of CLP does, from JSON lines with times and messages.

A stream is four-byte (variables of four bytes, times as differences) or eight-byte (wide: variables of eight bytes,
times since the epoch).

Spec: `docs/formats/clp_ir.md`, "Bytes".
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, timedelta
from typing import Any, Final, Literal

from exhume.archive import Progress, no_progress
from exhume.errors import WriterError
from exhume.formats.clp_ir.kernel import ClpIrEncoder
from exhume.formats.clp_ir.layout import DEFAULT_PATTERN, DEFAULT_ZONE, Encodings, build_metadata
from exhume.formats.clp_ir.units import FIRST_MS, LAST_MS
from exhume.formats.clp_s.write.inputs import Input
from exhume.formats.kv_ir.layout import build_preamble
from exhume.formats.kv_ir.lines import Lines, cut_lines, parse_object
from exhume.formats.kv_ir.writer import Codec, StreamWriter, chosen_codec
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.times import EPOCH, iso_time

Encoding = Literal["four-byte", "eight-byte"]
"""The names of the two kinds of streams, as options have them."""

ENCODINGS: Final[dict[Encoding, Encodings]] = {"four-byte": Encodings.FOUR_BYTE, "eight-byte": Encodings.EIGHT_BYTE}

BLOCK: Final = 1 << 18
"""Bytes of units that are written at once."""

MAX_MESSAGE: Final = 1 << 30
"""Most bytes of a message: its log type, in which each byte may need an escape, must fit 31 bits."""


class ClpIrWriter(StreamWriter):
    """Builds one stream; see `create`.

    Attributes:
        events: Events written.
    """

    events: int

    def __init__(
        self,
        target: str | os.PathLike[str],
        *,
        pattern: str = DEFAULT_PATTERN,
        zone: str = DEFAULT_ZONE,
        reference_ms: int = 0,
        encoding: Encoding = "four-byte",
        codec: Codec | None = None,
        level: int | None = None,
        overwrite: bool = False,
    ) -> None:
        """Check the options and build the preamble.  Raises `WriterError`; the parameters are those of `create`."""
        _check_encoding(encoding)
        codec = chosen_codec(target, codec, level)
        check_time(reference_ms)
        wide = encoding == "eight-byte"
        try:
            raw = build_metadata(wide=wide, reference_ms=reference_ms, pattern=pattern, zone=zone)
        except UnicodeEncodeError:
            raise WriterError("a lone surrogate, which UTF-8 cannot encode") from None
        head = build_preamble(ENCODINGS[encoding], raw)
        self._encoder: Any = ClpIrEncoder(wide, reference_ms)
        super().__init__(target, head, codec=codec, level=level, overwrite=overwrite)

    def write(self, time_ms: int, message: str | bytes) -> None:
        """Add an event: when, in milliseconds since the epoch, and its message, line end included.

        Raises `WriterError` for times outside the years 1 to 9999, messages over 1 GiB and lone surrogates.  Then
        nothing is written.
        """
        if not self._open:
            raise WriterError("the writer is finished")
        check_time(time_ms)
        if isinstance(message, str):
            try:
                message = message.encode("utf-8", "surrogateescape")
            except UnicodeEncodeError:
                raise WriterError("a lone surrogate, which UTF-8 cannot encode", actual=ascii(message)) from None
        if len(message) > MAX_MESSAGE:
            raise WriterError("a message is too long", expected=f"at most {MAX_MESSAGE} bytes", actual=len(message))
        self._encoder.add(time_ms, message)
        self.events += 1
        if self._encoder.size >= BLOCK:
            self._out.write(self._encoder.take())

    def _last_units(self) -> bytes:
        """Return the units that were encoded and not written."""
        return bytes(self._encoder.take())


def _check_encoding(encoding: str) -> None:
    """Raise `WriterError` for a name that is not in `ENCODINGS`."""
    if encoding not in ENCODINGS:
        raise WriterError("no such encoding", expected=" or ".join(ENCODINGS), actual=encoding)


def check_time(time_ms: Any) -> None:
    """Raise `WriterError` for what is not a time in the years 1 to 9999."""
    if not isinstance(time_ms, int) or isinstance(time_ms, bool):
        raise WriterError("a time is a number of milliseconds", actual=repr(time_ms)[:80])
    if not FIRST_MS <= time_ms <= LAST_MS:
        raise WriterError("time outside the years 1 to 9999", actual=time_ms)


def create(
    target: str | os.PathLike[str],
    *,
    pattern: str = DEFAULT_PATTERN,
    zone: str = DEFAULT_ZONE,
    reference_ms: int = 0,
    encoding: Encoding = "four-byte",
    codec: Codec | None = None,
    level: int | None = None,
    overwrite: bool = False,
) -> ClpIrWriter:
    """A writer for a new stream.

    Args:
        target: Path of the file to write.
        pattern: How readers print times, a pattern of Java's `SimpleDateFormat`.
        zone: The time zone of the logger, by its name in the IANA database.
        reference_ms: The time that the first event counts from, where variables have four bytes.
        encoding: `four-byte` or `eight-byte`: how wide variables are, and whether times are differences.
        codec: `none`, or `zstd` for one zstd frame around it; the latter is the default for names that end in `.zst`.
        level: zstd level, 1 to 19.
        overwrite: Whether an existing file may be replaced.

    Returns:
        A context manager; its `write` takes a time in milliseconds since the epoch, and a message.

    Raises:
        WriterError: An option makes no sense, or (later) an event does not fit.
        OutputExistsError: The name is taken, and not `overwrite`.

    Example:
        >>> with exhume.clpir.create("new.clp.zst", zone="Europe/Berlin") as stream:
        ...     stream.write(1704067200000, " INFO Task 7 done\\n")
    """
    return ClpIrWriter(
        target,
        pattern=pattern,
        zone=zone,
        reference_ms=reference_ms,
        encoding=encoding,
        codec=codec,
        level=level,
        overwrite=overwrite,
    )


def write_lines(
    writer: ClpIrWriter,
    inputs: Iterable[Input],
    *,
    keys: tuple[str, str] = ("timestamp", "message"),
    progress: Progress = no_progress,
    limits: Limits = DEFAULT_LIMITS,
) -> None:
    """Write each line of the inputs as an event, empty lines left out.

    `keys` are those of the time, a number of milliseconds since the epoch or a string of ISO 8601, and of the message.
    `limits` bound a line (`structure_size`).  Raises `WriterError`, with the line, for a line without them, with
    others, or that cannot be written; and `SourceError`.
    """
    for lines in cut_lines(inputs, progress, "clp-ir", limits):
        if lines.number == 1:
            _check_kind(lines)
        _write(writer, lines, keys)


def _check_kind(lines: Lines) -> None:
    """Raise `WriterError` for an input that is another stream or no JSON: the message names the right command."""
    from exhume.formats.clp_s.write.inputs import InputKind, recognize  # not at the top: it imports much

    try:
        kind = recognize(lines.data, InputKind.AUTO, final=True)
    except WriterError:
        return  # `_write` raises the fault in the first line, which is more precise
    if kind is InputKind.IR:
        what = "a stream of a CLP logger, not lines of JSON: recode writes it again"
    elif kind is InputKind.TEXT and lines.data.strip():
        what = "a plain-text log, not lines of JSON: create kv-ir and create clp-s read it"
    else:
        return
    raise WriterError(what, format="clp-ir", span=lines.span)


def _write(writer: ClpIrWriter, lines: Lines, keys: tuple[str, str]) -> None:
    """Write JSON lines; `keys` names the fields of time and message.  Raises `WriterError` with the line number."""
    at = 0
    for number, line in enumerate(lines.data.split(b"\n"), lines.number):
        start, at = at, at + len(line) + 1
        if not line.strip():
            continue
        try:
            writer.write(*_event(line, keys))
        except WriterError as error:
            error.message, error.format = f"line {number}: {error.message}", "clp-ir"
            error.span = lines.span.sub(start, start + len(line))
            raise


def _event(line: bytes, keys: tuple[str, str]) -> tuple[int, str]:
    """Return time in ms and message of a JSON line; `keys` are their names."""
    found = parse_object(line)
    time_key, message_key = keys
    time, message = found.pop(time_key, None), found.pop(message_key, None)
    if time is None or message is None:
        raise WriterError(f"no {time_key if time is None else message_key!r} in it", actual=line[:80])
    if found:
        raise WriterError("a stream of text contains a time and a message only", actual=", ".join(sorted(found))[:80])
    if not isinstance(message, str):
        raise WriterError("a message must be a string", actual=repr(message)[:80])
    return milliseconds(time), message


def milliseconds(time: Any) -> int:
    """Return a time in milliseconds since the epoch, given as such or as ISO 8601 (in UTC, unless it has an offset).

    Raises `WriterError` for anything else, and for fractions of a millisecond.
    """
    if isinstance(time, str):
        try:
            when, is_cut = iso_time(time)
        except ValueError:
            raise WriterError("a time is not ISO 8601", actual=time[:80]) from None
        since = (when if when.tzinfo is not None else when.replace(tzinfo=UTC)) - EPOCH
        if is_cut or since % timedelta(milliseconds=1):
            raise WriterError("a stream stores whole milliseconds", actual=time[:80])
        return since // timedelta(milliseconds=1)
    if not isinstance(time, int) or isinstance(time, bool):
        raise WriterError("a time must be a number of milliseconds or an ISO 8601 string", actual=repr(time)[:80])
    return time
