"""Tables that a make target computes and writes into a page of `docs/`, between two marks.

    <!-- make mutation -->
    ...
    <!-- end -->

The text between the marks belongs to the target; the text around them is written by hand.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def write_block(page: str, target: str, text: str) -> None:
    """Put `text` between the marks of a make target in `docs/<page>`; raise `ValueError` when they are not there."""
    path = ROOT / "docs" / page
    whole = path.read_text(encoding="utf-8")
    marks = re.compile(rf"(<!-- make {re.escape(target)} -->\n).*?(<!-- end -->)", re.DOTALL)
    changed, count = marks.subn(lambda found: f"{found[1]}{text.strip()}\n{found[2]}", whole)
    if count != 1:
        raise ValueError(f"docs/{page} has {count} blocks for make {target}, not one")
    path.write_text(changed, encoding="utf-8")


def read_block(page: str, target: str) -> str:
    """Return the text between the marks of a make target; raise `ValueError` if the page has none."""
    whole = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found = re.search(rf"<!-- make {re.escape(target)} -->\n(.*?)<!-- end -->", whole, re.DOTALL)
    if found is None:
        raise ValueError(f"docs/{page} has no block for make {target}")
    return found[1]
