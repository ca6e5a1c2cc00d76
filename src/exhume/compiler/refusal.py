"""The error for a specification that the compiler does not accept."""

from __future__ import annotations


class RefusedError(ValueError):
    """A specification is wrong, or uses what fast readers cannot do; `where` is the path of the field."""

    def __init__(self, why: str, where: str = "") -> None:
        super().__init__(f"{where}: {why}" if where else why)
        self.why = why
        self.where = where

    def within(self, where: str) -> RefusedError:
        """The same refusal with its place, where it has none yet."""
        return self if self.where else RefusedError(self.why, where)
