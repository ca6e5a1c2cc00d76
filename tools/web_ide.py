"""Writes one self-contained `.ksy` per specification into `build/web-ide/`, for the Kaitai Web IDE.

    python -m tools.web_ide [--out DIR]

Imports are inlined as nested types, so that one file and a sample are all one has to drop on the page.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from exhume.errors import ExhumeError
from exhume.layout.specifications import bundled
from tools.blocks import ROOT


def write_bundles(out: Path, root: Path = ROOT) -> list[Path]:
    """Write the bundles into `out`, which is emptied first, and return them.

    Raises:
        ExhumeError: a specification cannot be bundled.
    """
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    written = []
    for file in sorted((root / "ksy").glob("*.ksy")):
        written.append(out / file.name)
        written[-1].write_text(bundled(file), encoding="utf-8")
    return written


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description="Write self-contained specifications for the Kaitai Web IDE.")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "web-ide")
    options = parser.parse_args(argv)
    try:
        written = write_bundles(options.out)
    except ExhumeError as error:
        print(f"web-ide: {error}", file=sys.stderr)
        return 1
    print(f"{len(written)} self-contained specifications in {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
