"""The outcome of a verb.  Only `main.py` turns it into an exit code."""

from __future__ import annotations

import enum
import sys
from typing import TextIO


class ExitCode(enum.IntEnum):
    """The documented exit codes."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    LOSS = 3
    NO = 4
    INTERRUPTED = 130
    CLOSED = 141
    """The reader of the output left before everything was written: as a shell reports death by SIGPIPE."""


def is_closed(stream: TextIO) -> bool:
    """Whether the reader of an output stream has left; where the system cannot determine it, True."""
    import select

    if not hasattr(select, "poll"):
        return True
    try:
        poller = select.poll()
        poller.register(stream.fileno(), 0)
        return bool(poller.poll(0))
    except (OSError, ValueError):  # it has no descriptor
        return False


def output_is_closed() -> bool:
    """Whether a broken pipe is that of this program's output, rather than one to a server or a process."""
    return is_closed(sys.stdout) or is_closed(sys.stderr)
