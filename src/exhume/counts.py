"""Words for counts: `1 record`, `2 records`."""

from __future__ import annotations

import re

TAIL = re.compile(r"( (?:of|in|with|without|that)\b.*)")
"""The part of a phrase that follows its noun, as in `files of other formats`."""


def counting(plural: str, count: int) -> str:
    """The word for this many things, from its plural: `record` for 1, `records` for others.

    In a phrase such as `files of other formats`, the noun before the `TAIL` changes.
    """
    if count != 1:
        return plural
    head, *rest = TAIL.split(plural, maxsplit=1)
    for many, one in (("ies", "y"), ("ches", "ch"), ("sses", "ss"), ("xes", "x"), ("s", "")):
        if head.endswith(many) and not head.endswith("ss"):
            return "".join([head.removesuffix(many), one, *rest])
    return plural


def counted(count: int, plural: str) -> str:
    """A count with its word: `1 record`, `2 records`."""
    return f"{count} {counting(plural, count)}"
