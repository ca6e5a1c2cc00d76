"""Where the `exhume` command starts: the plain forms of a few verbs at once, everything else through click."""

from __future__ import annotations

import sys


def run() -> None:
    """The console script."""
    from exhume.cli import quick

    outcome = quick.run(sys.argv[1:])
    if outcome is None:
        from exhume.cli.main import invoke

        outcome = invoke()
    sys.exit(int(outcome))
