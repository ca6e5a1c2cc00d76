"""Text logs as events: lines that begin with a timestamp, each with the following lines that do not.

A line before the first timestamp is an event of its own, as upstream's `log-converter` has it.  An event becomes a record
of at most three strings:

| key | value |
|---|---|
| `timestamp` | the timestamp as it is spelled; not in events without one |
| `message` | the bytes after it, line ends included; U+FFFD stands for each byte that is not UTF-8 |
| `invalid_utf8` | only where there are such bytes: for each U+FFFD of the message, in order, the bytes as hexadecimal digits, with dots between them (`efbfbd` for one that was in the log) |

`timestamp` and `message`, joined, are the bytes of the log.

Timestamps are found by an automaton (`stamps`): a table of states, which reads one byte after another.
"""  # noqa: E501 - a table

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, Protocol

from exhume.formats.clp_s.write.stamps import FOLLOWS, automaton, kernel_table
from exhume.formats.clp_s.write.status import Status
from exhume.native import KERNEL

TIMESTAMP: Final = "timestamp"
MESSAGE: Final = "message"
INVALID: Final = "invalid_utf8"
KEYS: Final = (TIMESTAMP, MESSAGE, INVALID)
"""The keys of the records."""

_REPLACED: Final = "\ufffd".encode()
"""What stands for invalid bytes in a message."""


class TextLog(Protocol):
    """Finds events in the bytes of text logs; `start` is always the start of an event."""

    def feed(self, encoder: Any, data: bytes, start: int, final: bool, target: int) -> tuple[int, int, int, bool]:
        """Encode the events that are complete (all, when `final`), until the encoder has `target` bytes.

        Returns `(status, start, stop, is_complete)` as `Encoder.feed` does: why it stopped, and start and end of the
        event at which it did.
        """

    def lines(self, data: bytes, start: int, final: bool) -> tuple[bytes, int]:
        """Return `(JSON lines, end)`: the events that are complete (all, if `final`), and where the next one begins."""

    def last(self, data: bytes) -> int:
        """The offset of the last line that is certain to begin with a timestamp; -1 if there is none."""


class PureTextLog:
    """The pure-Python implementation of `TextLog`."""

    def __init__(self) -> None:
        self._found = automaton()

    def feed(self, encoder: Any, data: bytes, start: int, final: bool, target: int) -> tuple[int, int, int, bool]:
        """See `TextLog.feed`."""
        # The limit is about the bytes of the log: check it here, not for the lines of JSON, which are longer.
        longest, encoder.max_document = encoder.max_document, sys.maxsize
        try:
            for at, stamp, stop in self._events(data, start, final):
                if stop - at > longest:
                    return Status.TOO_LARGE, at, stop, True
                status, *_ = encoder.feed(_line(data[at : at + stamp], data[at + stamp : stop]), 0, True, target, True)
                if status != Status.DONE:  # with SPLIT, the event was encoded; otherwise it is the one to report
                    return status, stop if status == Status.SPLIT else at, stop, True
                start = stop
        finally:
            encoder.max_document = longest
        is_whole = start == len(data)
        return Status.DONE if is_whole else Status.MORE, start, len(data), is_whole

    def lines(self, data: bytes, start: int, final: bool) -> tuple[bytes, int]:
        """See `TextLog.lines`."""
        out = []
        for at, stamp, stop in self._events(data, start, final):
            out.append(_line(data[at : at + stamp], data[at + stamp : stop]))
            start = stop
        return b"".join(out), start

    def last(self, data: bytes) -> int:
        """See `TextLog.last`."""
        end = len(data)
        while end > 0:
            end = data.rfind(b"\n", 0, end)  # -1 before the first line
            if (self._stamp(data, end + 1, False) or 0) > 0:  # None, an incomplete one, is not certain
                return end + 1
        return -1

    def _events(self, data: bytes, start: int, final: bool) -> Iterator[tuple[int, int, int]]:
        """Yield `(start, size of the timestamp, end)` of each complete event."""
        while start < len(data):
            stamp = self._stamp(data, start, final)
            if stamp is None:
                return
            stop = start
            while True:
                stop = data.find(b"\n", stop) + 1
                # The line has no end, or more lines of the event may follow the data.
                if stop == 0 or (stamp and stop == len(data)):
                    if not final:
                        return
                    stop = len(data)
                    break
                if not stamp:
                    break  # an event without a timestamp has one line
                following = self._stamp(data, stop, final)
                if following is None:
                    return
                if following:
                    break
            yield start, stamp, stop
            start = stop

    def _stamp(self, data: bytes, at: int, final: bool) -> int | None:
        """Size in bytes of the timestamp at the beginning of a line, 0 without one; None if more bytes are needed.

        The longest one counts that is followed by a byte which may follow it.
        """
        table, classes, accepts, width = (
            self._found.table,
            self._found.classes,
            self._found.accepts,
            self._found.num_classes,
        )
        # State 1 is the first one, 0: no timestamp can continue so.  `accepts` has for each state, and `FOLLOWS` for
        # each byte, bits for the kinds of timestamps (`stamps.LOOSE` and `STRICT`) that end there, or may precede it.
        start, best, state = at, 0, 1
        while at < len(data):
            byte = data[at]
            if accepts[state] & FOLLOWS[byte]:
                best = at - start
            state = table[state * width + classes[byte]]
            if not state:
                return best
            at += 1
        if not final:
            return None
        return at - start if accepts[state] else best


@cache
def text_log() -> TextLog:
    """Return the compiled implementation if it was built, else the pure-Python one."""
    if KERNEL is None:
        return PureTextLog()
    found = automaton()
    made: TextLog = KERNEL.ClpsTextLog(found.classes, kernel_table(), found.accepts, FOLLOWS)
    return made


def _line(stamp: bytes, message: bytes) -> bytes:
    """An event as a line of JSON; the module lists its keys."""
    record = {TIMESTAMP: stamp.decode("utf-8")} if stamp else {}
    try:
        record[MESSAGE] = message.decode("utf-8")
    except UnicodeDecodeError:
        kept = message.decode("utf-8", "surrogateescape")  # bytes that are not UTF-8 become U+DC80 to U+DCFF
        record[MESSAGE] = re.sub("[\udc80-\udcff]", "\ufffd", kept)
        record[INVALID] = ".".join(
            char.encode("utf-8", "surrogateescape").hex() for char in re.findall("[\udc80-\udcff\ufffd]", kept)
        )
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def original(stamp: bytes, message: bytes, invalid: bytes | None = None) -> bytes:
    """Return the bytes of an event in the log, given the values of its keys (`invalid_utf8` may be absent).

    Raises `ValueError` if `invalid` does not have one item for each U+FFFD of the message.
    """
    if invalid is not None:
        kept = [bytes.fromhex(item) for item in invalid.decode("ascii").split(".")]
        parts = message.split(_REPLACED)
        if len(parts) != len(kept) + 1 or not all(kept):  # no item may be empty
            raise ValueError("not one item for each U+FFFD")
        message = b"".join(part + end for part, end in zip(parts, [*kept, b""], strict=True))
    return stamp + message
