"""What the library does and no verb, as a command: `python -m benchmarks.calls NAME ARCHIVE [--jobs N]`."""

from __future__ import annotations

import os
import sys

COLUMNS = {"to_arrow": None, "two_columns": ["timestamp", "level"]}
"""The columns that each call makes Arrow batches of; None: all."""


def main() -> int:
    """Do what is named."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does
    import exhume

    name, path, *more = sys.argv[1:]
    with exhume.clps.open(path) as archive:
        batches = archive.to_arrow(columns=COLUMNS[name], jobs=int(more[1]) if more else 1)
        return 0 if sum(batch.num_rows for batch in batches) else 1


if __name__ == "__main__":
    sys.exit(main())
