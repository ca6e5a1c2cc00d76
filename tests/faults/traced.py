"""Whether a tracer is active while the tests run."""

from __future__ import annotations

import sys


def is_traced() -> bool:
    """Whether coverage is measured or a debugger looks on: then a line takes longer than a microsecond."""
    monitored = getattr(sys, "monitoring", None)  # Python 3.12 and later
    return sys.gettrace() is not None or (
        monitored is not None and any(map(monitored.get_tool, (monitored.DEBUGGER_ID, monitored.COVERAGE_ID)))
    )
