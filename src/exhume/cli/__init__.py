"""The command line: `main.py` runs it, `cmd_<verb>.py` holds one verb each and is found by its name.

A verb returns its outcome, an `ExitCode`; only `main.py` makes it that of the process.
"""

from __future__ import annotations

import enum
import sys
from typing import TextIO


class ExitCode(enum.IntEnum):
    """The documented exit codes."""

    DONE = 0
    """The verb did what was requested."""
    FAILED = 1
    """An error: a target cannot be read, an output cannot be written."""
    USAGE = 2
    """The command line is wrong."""
    LOSS = 3
    """A partial result: something was lost, omitted or could not be checked."""
    NO = 4
    """A negative result: damage, no match, a difference, an unknown format."""
    INTERRUPTED = 130
    """Ctrl-C; as a shell reports death by SIGINT."""
    CLOSED = 141
    """The reader of the output left before everything was written; as a shell reports death by SIGPIPE."""


def is_closed(stream: TextIO) -> bool:
    """Whether the reader of an output stream has left; where the system cannot determine it, True.

    Called only after a broken pipe: the question is whose pipe it was.
    """
    import select

    if not hasattr(select, "poll"):
        return True
    try:
        poller = select.poll()
        poller.register(stream.fileno(), 0)  # no events requested: only errors, such as a closed pipe, are reported
        return bool(poller.poll(0))
    except (OSError, ValueError):  # it has no descriptor
        return False


def output_is_closed() -> bool:
    """Whether a broken pipe is that of this program's output, rather than one to a server or a process."""
    return is_closed(sys.stdout) or is_closed(sys.stderr)
