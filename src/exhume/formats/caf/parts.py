"""In parts: ranges of members; see `exhume.memberparts`."""

from exhume.memberparts import items, plan, table

__all__ = ["items", "plan", "table"]
