"""Writes one self-contained `.ksy` per specification into `build/web-ide/`, for the Kaitai Web IDE.

    python -m tools.web_ide [--out DIR]

Imports are inlined as nested types, so that one file and a sample are all one has to drop on the page.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from tools import nodejs


def write_bundles(out: Path, root: Path = nodejs.ROOT) -> list[Path]:
    """Writes the bundles into `out`, which is emptied first, and returns them.

    Raises:
        nodejs.NodeError: Node.js cannot be had, or a specification cannot be bundled.
    """
    node = nodejs.ensure_packages()
    files = sorted((root / "ksy").glob("*.ksy"))
    shutil.rmtree(out, ignore_errors=True)
    command = [*node, str(nodejs.ROOT / "tools" / "bundle.mjs"), "--out", str(out), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise nodejs.NodeError(done.stderr.strip())
    return [out / file.name for file in files]


def main(argv: list[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description="Write self-contained specifications for the Kaitai Web IDE.")
    parser.add_argument("--out", type=Path, default=nodejs.ROOT / "build" / "web-ide")
    options = parser.parse_args(argv)
    try:
        written = write_bundles(options.out)
    except nodejs.NodeError as error:
        print(f"web-ide: {error}", file=sys.stderr)
        return 1
    print(f"{len(written)} self-contained specifications in {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
