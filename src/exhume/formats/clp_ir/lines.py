"""JSON lines with times and messages as the events of a stream."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from exhume.archive import Progress, no_progress
from exhume.errors import WriterError
from exhume.formats.clp_s.write.inputs import Input
from exhume.formats.kv_ir.lines import Lines, cut_lines, parse_object

if TYPE_CHECKING:
    from exhume.formats.clp_ir.writer import ClpIrWriter

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def write_lines(
    writer: ClpIrWriter,
    inputs: Iterable[Input],
    *,
    keys: tuple[str, str] = ("timestamp", "message"),
    progress: Progress = no_progress,
) -> None:
    """Write each line of the inputs as an event, empty lines left out.

    `keys` are those of the time, a number of milliseconds since the epoch or a string of ISO 8601, and of the message.
    Raises `WriterError`, with the line, for a line without them, with others, or that cannot be written; and
    `SourceError`.
    """
    for lines in cut_lines(inputs, progress, "clp-ir"):
        if lines.number == 1:
            _check_kind(lines)
        _write(writer, lines, keys)


def _check_kind(lines: Lines) -> None:
    """Refuse an input that does not begin with lines of JSON, by what it is."""
    from exhume.formats.clp_s.write.kinds import InputKind, recognize  # a search needs none of it

    try:
        kind = recognize(lines.data, InputKind.AUTO, final=True)
    except WriterError:
        return  # what is wrong with its first line says more
    if kind is InputKind.IR:
        what = "a stream of a CLP logger, not lines of JSON: recode writes it again"
    elif kind is InputKind.TEXT and lines.data.strip():
        what = "a plain-text log, not lines of JSON: create kv-ir and create clp-s read it"
    else:
        return
    raise WriterError(what, format="clp-ir", span=lines.span)


def _write(writer: ClpIrWriter, lines: Lines, keys: tuple[str, str]) -> None:
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
    found = parse_object(line)
    time, message = found.pop(keys[0], None), found.pop(keys[1], None)
    if time is None or message is None:
        raise WriterError(f"no {keys[0] if time is None else keys[1]!r} in it", actual=line[:80])
    if found:
        raise WriterError("a stream of text contains a time and a message only", actual=", ".join(sorted(found))[:80])
    if not isinstance(message, str):
        raise WriterError("a message must be a string", actual=repr(message)[:80])
    return milliseconds(time), message


def milliseconds(time: Any) -> int:
    """A time in milliseconds since the epoch: as such, or a string of ISO 8601, in UTC where it names no offset.

    Raises `WriterError` for anything else, and for fractions of a millisecond.
    """
    if isinstance(time, str):
        try:
            when = datetime.fromisoformat(time)
        except ValueError:
            raise WriterError("a time is not ISO 8601", actual=time[:80]) from None
        since = (when if when.tzinfo is not None else when.replace(tzinfo=UTC)) - _EPOCH
        if since % timedelta(milliseconds=1):
            raise WriterError("a stream stores whole milliseconds", actual=time[:80])
        return since // timedelta(milliseconds=1)
    if not isinstance(time, int) or isinstance(time, bool):
        raise WriterError("a time is a number of milliseconds or a string of ISO 8601", actual=repr(time)[:80])
    return time
