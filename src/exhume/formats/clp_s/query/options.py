"""The options of a query, and what KQL means in each format version.

The archive decides the meaning: a query returns the lines that the native search of the version that wrote the archive
prints.  What compiles queries is not imported here.
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
        """Raise `QueryError` if the begin time is after the end time."""
        if self.begin_ms is not None and self.end_ms is not None and self.begin_ms > self.end_ms:
            raise QueryError("begin_ms is after end_ms", actual=f"{self.begin_ms} and {self.end_ms}")


Version = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Dialect:
    """`core_text`: text encoding of 0.4.0 on.  `legacy_instants`: a time literal is an integer of milliseconds that
    compares as a plain number (and string).  `truncates`: a fraction in a range over integers is cut, not rounded
    towards the range.  `last_column`: of several columns that a path names in one record shape, the last one is
    searched, else the first.  `nanoseconds`: timestamp columns count nanoseconds.  `question_mark_is_star`: inside
    strings with spaces `?` stands for any number of bytes; `verifies_question_marks`: static text found with `?` taken
    as `*` is checked again with `?` as it is (native searches of 0.4 do or do not, by chance; later ones do not).
    `raw_dictionary_lookup`: escapes are left in a variable before the dictionary is asked for it.
    """

    core_text: bool
    legacy_instants: bool
    truncates: bool
    last_column: bool
    nanoseconds: bool
    question_mark_is_star: bool
    verifies_question_marks: bool
    raw_dictionary_lookup: bool


def dialect_of(version: Version) -> Dialect:
    """The rules for archives of that format version."""
    core_text = version >= (0, 4, 0)
    recent = version >= (0, 4, 1)
    nanoseconds = version >= (0, 5, 0)
    return Dialect(
        core_text=core_text,
        legacy_instants=not recent,
        truncates=not recent,
        last_column=not nanoseconds,
        nanoseconds=nanoseconds,
        question_mark_is_star=not core_text,
        verifies_question_marks=core_text and not nanoseconds,
        raw_dictionary_lookup=not recent,
    )
