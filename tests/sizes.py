"""How much of a long test runs: as a rule what a developer waits for, all of it under `make test-thorough`."""

from __future__ import annotations

import os

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")
THOROUGH = PROFILE == "thorough"


def size(usual: int, thorough: int) -> int:
    """A number of cases, or a distance between them."""
    return thorough if THOROUGH else usual
