"""Writes the project's own sample files into `tests/samples/`.

    python -m tools.make_samples [FORMAT...]

Each `tests/<format>/make_samples.py` has a function `make(root: Path)` that writes what it owns below `root`
(`<format>/...` for archives, `ksy/<schema id>.bin` and `ksy/<schema id>-<what>.bin` for single specifications, with
`.args.json` next to them for those that take parameters).  Samples are made here, never copied from elsewhere.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def makers() -> list[str]:
    """Return the names of the folders in `tests/` that make samples."""
    return sorted(file.parent.name for file in (ROOT / "tests").glob("*/make_samples.py"))


def make(name: str, root: Path) -> None:
    """Write the samples of one folder below `root`."""
    (root / "ksy").mkdir(parents=True, exist_ok=True)
    importlib.import_module(f"tests.{name}.make_samples").make(root)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description="Write the project's own sample files into tests/samples/.")
    parser.add_argument("names", nargs="*", metavar="FORMAT", help=f"of: {', '.join(makers())} (default: all)")
    parser.add_argument("--root", type=Path, default=ROOT / "tests" / "samples", help="write somewhere else")
    options = parser.parse_args(argv)
    unknown = sorted(set(options.names) - set(makers()))
    if unknown:
        parser.error(f"no tests/{unknown[0]}/make_samples.py")
    for name in options.names or makers():
        make(name, options.root)
        print(f"made the samples of {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
