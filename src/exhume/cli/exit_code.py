"""The outcome of a verb.  Only `main.py` turns it into an exit code."""

from __future__ import annotations

import enum


class ExitCode(enum.IntEnum):
    """The documented exit codes."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    LOSS = 3
    NO = 4
    INTERRUPTED = 130
