"""The error for a specification that the compiler does not accept."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def meant(found: str, known: Iterable[str]) -> str:
    """A suggestion, in parentheses, for a name that is none of those that are known."""
    near = difflib.get_close_matches(found[:100], known, 1)
    return f" (did you mean {near[0]!r}?)" if near else ""


class UnsupportedError(ValueError):
    """A specification is wrong, or uses what fast readers cannot do; `where` is the path of the field."""

    def __init__(self, why: str, where: str = "") -> None:
        super().__init__(f"{where}: {why}" if where else why)
        self.why = why
        self.where = where

    def within(self, where: str) -> UnsupportedError:
        """The same refusal with its place, where it has none yet."""
        return self if self.where else UnsupportedError(self.why, where)
