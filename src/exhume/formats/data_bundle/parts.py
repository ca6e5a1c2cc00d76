"""In parts: ranges of members; see `exhume.parts.members`."""

from exhume.parts.members import TAKES, items, plan, table, tally

__all__ = ["TAKES", "items", "plan", "table", "tally"]
