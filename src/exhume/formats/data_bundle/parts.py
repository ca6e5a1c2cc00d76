"""In parts: ranges of members; see `exhume.parts.members`."""

from exhume.parts.members import items, plan, table

__all__ = ["items", "plan", "table"]
