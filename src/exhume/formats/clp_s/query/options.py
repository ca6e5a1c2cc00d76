"""The options of a query: apart from what compiles one, which is not loaded where there is none."""

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
        """Raise `QueryError` if the begin time is after the end time."""
        if self.begin_ms is not None and self.end_ms is not None and self.begin_ms > self.end_ms:
            raise QueryError("begin_ms is after end_ms", actual=f"{self.begin_ms} and {self.end_ms}")
