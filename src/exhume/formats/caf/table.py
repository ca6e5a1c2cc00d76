"""The index as a table: names and ranges in the order of the JSON text, and one name found without parsing all of it.

The form of the index that the reference writers make (canonical) has a fast reader.  The index is JSON at the end of a
chunk (CAF file), with an entry for each file: name, start and end.  A flaw makes an entry unusable; a problem is a
broken rule, whether it makes an entry unusable or not.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import le
from typing import Any, Protocol

from exhume.counts import counted
from exhume.errors import ExhumeError, Span, shorten
from exhume.findings import Finding, Rule
from exhume.formats.caf import checks
from exhume.formats.caf.kernel import caf_entries, walk
from exhume.io.source import Source
from exhume.tuples import NamedTuple


class Problem(NamedTuple):
    """A broken rule at `[start, end)` of the index text; `detail`, `expected` and `actual` are for its message."""

    rule: Rule
    start: int
    end: int
    detail: str = ""
    field_path: str | None = None
    """Where it is in the JSON, such as `files[3].start_byte`."""
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
        """Return the problem as a finding."""
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
    """Bytes of the text."""
    names: list[str] = field(default_factory=list)
    starts: Sequence[int] = field(default_factory=lambda: array("q"))
    ends: Sequence[int] = field(default_factory=lambda: array("q"))
    keys: Sequence[int] = field(default_factory=lambda: array("q"))
    key_sizes: Sequence[int] = field(default_factory=lambda: array("q"))
    table: dict[str, int] = field(default_factory=dict)
    flaws: dict[int, Problem] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    """Names in earlier objects `files`, where there are several: only the last one counts."""
    version: Any = None
    """The value of `format_version`, whatever its type."""
    version_span: tuple[int, int] = (0, 0)  # where it is in the text
    has_version: bool = False  # whether there is a `format_version`
    has_files: bool = False  # whether there is an object `files`
    canonical: bool = False
    """Whether the text has the form of the reference writers."""
    end: int = -1
    """Where the JSON object ends in the text (-1: it does not end); the same as `size` unless something follows it."""
    broken: ExhumeError | None = None
    """Why reading stopped (only set by `index.parse_partial`); the entries before it are complete."""

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
        return [ordinal for ordinal, name in enumerate(self.names) if self.table[name] != ordinal]

    def key_span(self, ordinal: int) -> tuple[int, int]:
        """The range of an entry's name in the index text, quotes included."""
        return self.keys[ordinal], self.keys[ordinal] + self.key_sizes[ordinal]

    def finish(self) -> None:
        """Build `table` and report names that occur twice."""
        self.table = dict(zip(self.names, range(len(self.names)), strict=True))
        if len(self.table) != len(self.names):
            last: dict[str, int] = {}  # the ordinal of each name's latest entry so far
            for ordinal, name in enumerate(self.names):
                if name in last:
                    start, end = self.key_span(ordinal)
                    first = self.key_span(last[name])[0]
                    self.problems.append(
                        Problem(
                            checks.DUPLICATE_NAME,
                            start,
                            end,
                            f"{shorten(name)!r} also stands {counted(start - first, 'bytes')} earlier",
                            f"files[{ordinal}]",
                        )
                    )
                last[name] = ordinal

    def check_ranges(self, data_size: int, file_size: int) -> None:
        """Mark every entry whose range is not inside the data section `[0, data_size)` as flawed."""
        starts, ends = self.starts, self.ends
        if not self.names or (
            min(starts) >= 0 and max(ends) <= data_size and all(map(le, starts, ends)) and not self.flaws
        ):
            return
        for ordinal, (start, end) in enumerate(zip(starts, ends, strict=True)):
            if ordinal in self.flaws or 0 <= start <= end <= data_size:
                continue
            rule, expected = _range_rule(start, end, data_size, file_size)
            span = self.key_span(ordinal)
            problem = Problem(
                rule, *span, shorten(self.names[ordinal], 60), f"files[{ordinal}]", expected, f"[{start}, {end})"
            )
            self.flaws[ordinal] = problem
            self.problems.append(problem)


def _range_rule(start: int, end: int, data_size: int, file_size: int) -> tuple[Rule, str]:
    """Return the rule that a range outside the data section breaks, and what was expected."""
    inside = f"a range in [0, {data_size})"
    if start < 0:
        return checks.NEGATIVE_START, inside
    if end < start:
        return checks.END_BEFORE_START, f"end_byte of at least {start}"
    if end > file_size and start != end:
        return checks.RANGE_PAST_END, inside
    return (checks.EMPTY_OUTSIDE if start == end else checks.RANGE_IN_INDEX), inside


VERSION = "1.0"
"""The only version that the specification defines."""
PREFIX = b'{"format_version":"1.0","files":{'
SUFFIX = b"}}"
"""The canonical text before and after the entries."""
VERSION_SPAN = (18, 23)
"""Where the version is in it, quotes included."""


def parse_canonical(data: bytes) -> Index | None:
    """The index in the reference writers' form, or None when it has another form (broken ones included)."""
    if not (data.startswith(PREFIX) and data.endswith(SUFFIX)):
        return None
    index = Index(len(data), version=VERSION, has_version=True, has_files=True, canonical=True)
    index.version_span = VERSION_SPAN
    index.end = len(data)
    if len(data) == len(PREFIX) + len(SUFFIX):
        return index
    try:
        found = caf_entries(data, len(PREFIX))
    except UnicodeDecodeError:
        return None
    if found is None:
        return None
    index.names, index.starts, index.ends, index.keys, index.key_sizes, escaped = found
    for ordinal in escaped:
        index.names[ordinal] = json.loads(f'"{index.names[ordinal]}"')
    index.finish()
    return index


WINDOW = 1 << 20
"""Bytes of index text held at a time."""


class Lookup(NamedTuple):
    """The walk's answer for a name: its range (not checked against the data section), or None when it is absent.

    `below` says whether other names continue it, so that it is a directory.
    """

    found: tuple[int, int] | None
    below: bool


def find_member(source: Source, ofs_index: int, index_size: int, name: str) -> Lookup | None:
    """Look a name up in the index text, `index_size` bytes at `ofs_index` of the file.

    None when the text is broken or not in the form of the reference writers.
    """
    end = ofs_index + index_size
    if index_size < len(PREFIX) + len(SUFFIX) or source.read_at(ofs_index, len(PREFIX)) != PREFIX:
        return None
    needle = name.encode("utf-8", "surrogatepass")
    found: tuple[int, int] | None = None
    below = False
    at = ofs_index + len(PREFIX)
    if end - at == len(SUFFIX):
        return Lookup(None, False) if source.read_at(at, len(SUFFIX)) == SUFFIX else None
    while at < end:
        size = min(WINDOW, end - at)
        text = source.read_at(at, size)
        seen = walk(text, 0, needle)
        # No entry in a window, or an end that is not that of the index: the text has another form.
        if not seen.stop or seen.ended != (at + size == end):
            return None
        if not seen.ascii:
            try:
                text[: seen.stop].decode("utf-8")
            except UnicodeDecodeError:
                return None
        found = seen.found or found
        below = below or seen.below
        for start, stop, first, last in seen.escaped:
            spelled = json.loads(b'"%b"' % text[start:stop])
            if spelled == name:
                found = first, last
            elif spelled.startswith(f"{name}/"):
                below = True
        at += seen.stop  # an entry that the window cut off is read again as a whole
    return Lookup(found, below)


class OpenChunk(Protocol):
    """An open chunk; see `reader.CafArchive`."""

    source: Source

    @property
    def index(self) -> Index:
        """The whole index.  Raises the rules' errors if it is broken."""

    @property
    def index_size(self) -> int:
        """Size of the index in bytes."""

    @property
    def data_size(self) -> int:
        """Size of the data section in bytes; the index starts at that offset."""


MAX_ARRAY_INDEX = 4294967294
"""Names that are canonical integers up to this come first in a JavaScript object."""


def sort_key(name: str) -> bytes:
    """Go's order of names: their UTF-8 bytes (a lone surrogate sorts as its three-byte form)."""
    return name.encode("utf-8", "surrogatepass")


def is_array_index(name: str) -> bool:
    """Whether JavaScript treats the name as an array index, and so sorts it before all others."""
    return (
        name.isascii()
        and name.isdigit()
        and (name == "0" or name[0] != "0")
        and (len(name) < 10 or (len(name) == 10 and int(name) <= MAX_ARRAY_INDEX))
    )


def insertion_order(names: Iterable[str]) -> list[str]:
    """The order in which a JavaScript object lists keys that were added in this order."""
    integers: list[str] = []
    others: list[str] = []
    for name in names:
        (integers if is_array_index(name) else others).append(name)
    return sorted(integers, key=int) + others
