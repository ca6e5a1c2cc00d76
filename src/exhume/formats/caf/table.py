"""The index as a table: names and ranges in the order of the JSON text, and what is wrong with them."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import le
from typing import Any, NamedTuple

from exhume.counts import counted
from exhume.errors import ExhumeError, Span, shorten
from exhume.findings import Finding, Rule
from exhume.formats.caf import checks


class Problem(NamedTuple):
    """A broken rule at `[start, end)` of the index text."""

    rule: Rule
    start: int
    end: int
    detail: str = ""
    field_path: str | None = None
    expected: Any = None
    actual: Any = None

    def error(self, where: Span) -> ExhumeError:
        """The exception; `where` is the span of the index in the file."""
        return self.rule.error(
            self.detail,
            span=where.sub(self.start, self.end),
            field_path=self.field_path,
            expected=self.expected,
            actual=self.actual,
        )

    def finding(self, where: Span) -> Finding:
        """The same problem as a finding."""
        return self.rule.finding(
            self.detail,
            span=where.sub(self.start, self.end),
            field_path=self.field_path,
            expected=self.expected,
            actual=self.actual,
        )


@dataclass(slots=True)
class Index:
    """The table of contents in the order of the JSON text, duplicates included.

    `names[i]` is at `[starts[i], ends[i])` unless `flaws` has an entry for `i`; `keys[i]` and `key_sizes[i]` are the
    offset and size of its name in the index text, quotes included.  `table` maps a name to its last (valid) entry.
    """

    size: int
    names: list[str] = field(default_factory=list)
    starts: Sequence[int] = field(default_factory=lambda: array("q"))
    ends: Sequence[int] = field(default_factory=lambda: array("q"))
    keys: Sequence[int] = field(default_factory=lambda: array("q"))
    key_sizes: Sequence[int] = field(default_factory=lambda: array("q"))
    table: dict[str, int] = field(default_factory=dict)
    flaws: dict[int, Problem] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    version: Any = None
    version_span: tuple[int, int] = (0, 0)
    has_version: bool = False
    has_files: bool = False
    canonical: bool = False
    end: int = -1
    """Where the JSON object ends in the text (-1: it does not end); the same as `size` unless something follows it."""
    broken: ExhumeError | None = None
    """Why reading stopped (only with `partial=True`); the entries before it are complete."""

    def __len__(self) -> int:
        return len(self.names)

    def items(self) -> Iterator[tuple[int, str]]:
        """Ordinal and name of the entries that count, in index order.

        A repeated name has the place of its first entry.
        """
        if len(self.table) == len(self.names):
            return iter(enumerate(self.names))
        return ((ordinal, name) for name, ordinal in self.table.items())

    def shadowed(self) -> list[int]:
        """Ordinals of entries that a later entry of the same name hides."""
        if len(self.table) == len(self.names):
            return []
        return [i for i, name in enumerate(self.names) if self.table[name] != i]

    def key_span(self, ordinal: int) -> tuple[int, int]:
        """The range of an entry's name in the index text, quotes included."""
        return self.keys[ordinal], self.keys[ordinal] + self.key_sizes[ordinal]

    def finish(self) -> None:
        """Build `table` and report names that occur twice."""
        self.table = dict(zip(self.names, range(len(self.names)), strict=True))
        if len(self.table) != len(self.names):
            last: dict[str, int] = {}
            for i, name in enumerate(self.names):
                if name in last:
                    start, end = self.key_span(i)
                    first = self.key_span(last[name])[0]
                    self.problems.append(
                        Problem(
                            checks.DUPLICATE_NAME,
                            start,
                            end,
                            f"{shorten(name)!r} also stands {counted(start - first, 'bytes')} earlier",
                            f"files[{i}]",
                        )
                    )
                last[name] = i

    def check_ranges(self, data_size: int, file_size: int) -> None:
        """Mark every entry whose range is not inside the data section `[0, data_size)` as flawed."""
        starts, ends = self.starts, self.ends
        if not self.names or (
            min(starts) >= 0 and max(ends) <= data_size and all(map(le, starts, ends)) and not self.flaws
        ):
            return
        for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
            if i in self.flaws or 0 <= start <= end <= data_size:
                continue
            rule, expected = _range_rule(start, end, data_size, file_size)
            span = self.key_span(i)
            problem = Problem(rule, *span, shorten(self.names[i], 60), f"files[{i}]", expected, f"[{start}, {end})")
            self.flaws[i] = problem
            self.problems.append(problem)


def _range_rule(start: int, end: int, data_size: int, file_size: int) -> tuple[Rule, str]:
    inside = f"a range in [0, {data_size})"
    if start < 0:
        return checks.NEGATIVE_START, inside
    if end < start:
        return checks.END_BEFORE_START, f"end_byte of at least {start}"
    if end > file_size and start != end:
        return checks.RANGE_PAST_END, inside
    return (checks.EMPTY_OUTSIDE if start == end else checks.RANGE_IN_INDEX), inside
