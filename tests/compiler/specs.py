"""The specifications in `golden/`, one for each construct, and what the compiler makes of them.

    python -m tests.compiler.specs

writes the current output next to them: examine every change.
"""

from __future__ import annotations

import sys
from pathlib import Path

from exhume.layout.foreign import Specification, compile_ksy

GOLDEN = Path(__file__).parent / "golden"
EVERY = GOLDEN / "all_of_them.ksy"
"""What imports all others, so that one extension module has the readers of all."""


def files() -> list[Path]:
    """The specifications, each of one construct."""
    return sorted(one for one in GOLDEN.glob("*.ksy") if one != EVERY)


def readers(specification: Specification) -> str:
    """The readers of a specification, as its golden file has them."""
    return specification.texts[f"{specification.id}.py"]


def main() -> int:
    """Write every golden file; return how many changed."""
    changed = 0
    for file in files():
        golden, text = file.with_suffix(".golden"), readers(compile_ksy(file))
        if not golden.exists() or golden.read_text(encoding="utf-8") != text:
            golden.write_text(text, encoding="utf-8")
            changed += 1
    sys.stdout.write(f"{changed} of {len(files())} golden files changed\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
