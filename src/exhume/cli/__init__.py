"""The command line: `main.py` runs it, `cmd_<verb>.py` holds one verb each and is found by its name."""

from __future__ import annotations

import gc

# Imports make many objects and no garbage: collecting while they run is a tenth of the time of a short command.
gc.set_threshold(100_000)
