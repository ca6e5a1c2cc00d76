"""KQL: from the text of a query to the records that match; and the options of a query.

The options are here because exports take them too, which load nothing else of queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from exhume.errors import QueryError


class QueryOptions(TypedDict, total=False):
    """The keyword arguments that become `Options`."""

    ignore_case: bool
    begin_ms: int | None
    end_ms: int | None


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a query: `ignore_case` for values; only records between `begin_ms` and `end_ms` (inclusive, ms)."""

    ignore_case: bool = False
    begin_ms: int | None = None
    end_ms: int | None = None

    def __post_init__(self) -> None:
        """Raise `QueryError` if the begin time is after the end time, and for times outside 64 bits."""
        if self.begin_ms is not None and self.end_ms is not None and self.begin_ms > self.end_ms:
            raise QueryError("begin_ms is after end_ms", actual=f"{self.begin_ms} and {self.end_ms}")
        for time in (self.begin_ms, self.end_ms):
            if time is not None and not -(1 << 63) <= time < 1 << 63:
                raise QueryError("a time does not fit 64 bits", actual=time)
