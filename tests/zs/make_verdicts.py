"""Asks the reference implementation, which `EXHUME_ZS_PYTHON` names, about our samples again.

python -m tests.zs.make_verdicts
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from .test_conformance import PYTHON, VERDICTS, make_verdicts

if __name__ == "__main__":
    if not PYTHON:
        sys.exit("EXHUME_ZS_PYTHON names no Python that has the reference implementation of ZS")
    with tempfile.TemporaryDirectory() as folder:
        VERDICTS.write_text(json.dumps(make_verdicts(Path(folder)), indent=1) + "\n", encoding="utf-8")
