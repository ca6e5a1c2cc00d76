"""Pure-Python implementation of `together.pxi` and `merged.pxi`, and of the time functions of the kernel.

The tables (`ClpsTables`, `ClpsMerged`) have the interface of the compiled kernel, and document it, but print nothing:
they report each table as "odd", so that the caller prints it by its own program.  A table has the records with one set
of keys.  Epochs are printed by compiled timestamp patterns.

Import `exhume.formats.clp_s.read.kernel`, which chooses the compiled or the interpreted loops.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from exhume.formats.clp_s.read.program import BAD_PATTERN, BAD_TIME, DONE, ODD, STEP_CODES
from exhume.tuples import NamedTuple


class RowPrinter(Protocol):
    """A program that prints rows of one table (a `ClpsProgram`)."""

    def lines(self, rows: Sequence[int]) -> tuple[list[bytes], object]:
        """Return the text of each of the rows, and the fault that ended it or None."""


def merged(keys: Mapping[int, Sequence[int]]) -> array[int]:
    """Merge ascending sequences: for each number in merged order, return the key of the sequence it is from (uint32).

    Of equal numbers, that of the sequence with the lowest key comes first.
    """
    heap = [(numbers[0], key) for key, numbers in keys.items() if len(numbers)]
    heapq.heapify(heap)
    at = dict.fromkeys(keys, 0)  # numbers taken from each sequence
    out = array("I")
    while heap:
        _, key = heap[0]
        out.append(key)
        at[key] += 1
        if at[key] < len(keys[key]):
            heapq.heapreplace(heap, (keys[key][at[key]], key))
        else:
            heapq.heappop(heap)
    return out


class ClpsTables:
    """The tables of an archive: columns of the schema tree, the schemas and the tables.

    Args: parent, key (None: nothing is printed) and type of each node; the root of the records (-1: none); bytes per
    row by node type; the section of the schemas, and where in it the entries of each start, how many there are, and how
    many of them are ordered; by table its schema (negative: none), where it starts and ends in its stream, and how many
    rows it has (uint64).

    Raises `ValueError` where these do not fit each other.
    """

    def __init__(
        self, parents: Any, keys: Any, types: Any, root: int, widths: bytes, schemas: Any, entries: Any,
        num_entries: Any, num_ordered: Sequence[int], schema_of: Sequence[int], starts: Any, ends: Any,
        rows: Sequence[int],
    ) -> None:  # fmt: skip
        """Keep the numbers of rows, which is all that is used here; for the arguments see the class."""
        self.rows = rows
        self._num_schemas = len(num_ordered)
        if len(schema_of) != len(rows) or len(starts) != len(rows) or len(ends) != len(rows):
            raise ValueError("tables that do not fit")

    def supply_variables(self, raw: Any, escaped: Any) -> None:
        """Supply the variable dictionary, which `render` stopped for with `VARIABLES`."""

    def supply_log_types(self, types: Any) -> None:
        """Supply the log types, which `render` stopped for with `LOG_TYPES`, after the variables."""

    def supply_array_types(self, types: Any) -> None:
        """Supply the array types, which `render` stopped for with `ARRAY_TYPES`, after the variables."""

    def supply_patterns(self, patterns: Any) -> None:
        """Supply the patterns of timestamps, which `render` stopped for with `PATTERNS`."""

    def supply_checks(self, numbered: int, rule_of: Any, rules: Any) -> None:
        """Supply the numbers that `check` compares values with.

        `numbered`: the node that numbers the records (-1: none).  `rule_of`: by node, 0 for no rule, else 1 plus the
        index of its rule.  `rules`: three words for each: its kind (`Rule` in together.pxi), the least and the greatest
        value.  Raises `ValueError`, `TypeError`.
        """

    def odd_schema(self, first: int) -> int:
        """Return the index of the next schema, from `first` on, with unordered entries or nodes that do not exist.

        The number of schemas if there is none.  Raises `IndexError`.
        """
        if first < 0:
            raise IndexError(first)
        return min(first, self._num_schemas)

    def check(self, payload: Any, table: int, stop: int) -> tuple[bytes, int, int]:
        """Check the tables `[table, stop)`, all in one payload: each reference, and each number with a rule.

        Returns the tables left to the caller, damaged or unusual (array of uint32), the next table, and why it ends
        there: `DONE` or what has to be supplied.  Raises `IndexError`.
        """
        if not 0 <= table <= stop <= len(self.rows):
            raise IndexError(table)
        return array("I", range(table, stop)).tobytes(), stop, DONE

    def gather(
        self, payload: Any, first: int, stop: int, chosen: bytearray, wanted: bytes | bytearray
    ) -> tuple[bytes, bytes, bytes]:
        """The values of some nodes, all of one type, in the tables of one payload that have a 1 in `chosen`.

        `wanted` has a byte for each node, 1 for these.  Where the caller has to read a table, its byte becomes 2.
        Returns the values in sequence (deltas summed up), their formats, pattern ids or variables, and for each value
        its row (uint32) among those of all these tables.  Raises `IndexError`.
        """
        if not 0 <= first <= stop <= len(self.rows) or len(chosen) != stop - first:
            raise IndexError(first)
        chosen[:] = chosen.replace(b"\1", b"\2")
        return b"", b"", b""

    def render(
        self, payload: Any, table: int, row: int, stop: int, max_size: int, mask: Any = None
    ) -> tuple[bytes, int, int, int]:
        """Print the rows of tables up to the table `stop`, all in one payload, from row `row` of `table` on.

        `mask` has a byte for each of these rows: only those with a 1 are printed (None: all).  Returns the text, the
        table and row that come next, and why it ends there: `DONE`, `FULL` (`max_size` is passed), `ODD` (the caller
        has to print the table) or what has to be supplied.  Raises `IndexError`.
        """
        if not 0 <= table <= stop <= len(self.rows) or row < 0:
            raise IndexError(table)
        while table < stop and not self.rows[table]:
            table, row = table + 1, 0
        return b"", table, row, ODD if table < stop else DONE


class ClpsMerged:
    """The rows of tables in the order of their numbers.

    Args: the tables; the stream of each (uint64); the payload of each stream, None for one that is not here; the node
    that numbers the records (-1: none).
    """

    def __init__(self, tables: ClpsTables, stream_ids: Any, payloads: Sequence[Any], idx: int) -> None:
        self._tables = tables

    def odd(self) -> list[int]:
        """The tables with rows that the caller has to print."""
        return [table for table, count in enumerate(self._tables.rows) if count]

    def order(self, others: Mapping[int, Any]) -> array[int]:
        """Which table each row of the merged order comes from (uint32): always that whose next number is least.

        `others`: by table, the numbers of the rows (int64) of those that the caller prints; None: all are 0.

        Raises `ValueError` for more or fewer numbers than rows.
        """
        keys: dict[int, array[int]] = {}
        for table, found in others.items():
            count = self._tables.rows[table]
            keys[table] = array("q", [0] * count if found is None else [])
            if found is not None:
                keys[table].frombytes(bytes(found))
            if len(keys[table]) != count:
                raise ValueError("a buffer whose size does not match the table")
        return merged(keys)

    def advance(self, order: Sequence[int], start: int, stop: int, cursors: array[int]) -> None:
        """Count the rows `[start, stop)` of the order in the cursors of their tables."""
        for table in order[start:stop]:
            cursors[table] += 1

    def render(
        self,
        programs: Mapping[int, RowPrinter],
        order: Sequence[int],
        start: int,
        stop: int,
        cursors: array[int],
        max_size: int,
    ) -> tuple[bytes, int, int, int]:
        """Print rows `[start, stop)` of the merged order.

        Returns the text, the next position in the order, the table there, and why it ends there.  `max_size`: bytes of
        text after which it ends.

        `programs`: the programs of the tables that the kernel does not print.  `cursors` (int64): the next row of each
        table, updated here.  The reason is one of those of `ClpsTables.render`.
        """
        out: list[bytes] = []
        size, position, table = 0, start, 0
        while position < stop and size < max_size:
            table = order[position]
            lines, fault = programs[table].lines([cursors[table]])
            if fault is not None:
                return b"".join(out), position, table, ODD
            out += lines
            size += len(lines[0])
            cursors[table] += 1
            position += 1
        return b"".join(out), position, table, DONE


_MASK: Final = (1 << 64) - 1  # turns a negative id into the uint64 with the same bits
_WHOLE_EPOCHS: Final = STEP_CODES.index("epoch_s")
"""The steps from here on print an epoch truncated toward zero."""


class ClpsPatterns:
    """Compiled timestamp patterns by id.

    A pattern is `(id, unit, shift, steps)`: epochs count `unit` nanoseconds, `shift` seconds are added for civil time,
    and steps are `(code, text)` with the codes of `STEP_CODES`; `text` is the literal, or names joined by 0x00.
    """

    __slots__ = ("_patterns",)

    def __init__(self, patterns: Iterable[tuple[int, int, int, Sequence[tuple[int, bytes]]]]) -> None:
        self._patterns = {ident & _MASK: (unit, shift, list(steps)) for ident, unit, shift, steps in patterns}

    def render(self, ident: int, epoch: int) -> bytes | None | int:
        """Return the text of an epoch; a fault kind (`BAD_PATTERN`, `BAD_TIME`) if it cannot be printed."""
        found = self._patterns.get(ident & _MASK)
        if found is None:
            return BAD_PATTERN
        text = _render_time(epoch, *found)
        return BAD_TIME if text is None else text


def clps_civil(days: int) -> tuple[int, int, int]:
    """Return year, month and day of a day counted from 1970-01-01 (proleptic Gregorian).

    The usual algorithm: eras of 400 years (146,097 days), and years that start on 1 March, so that the leap day is the
    last day of a year.
    """
    days += 719468  # days from 0000-03-01 to 1970-01-01
    era, day = divmod(days, 146097)
    year = (day - day // 1460 + day // 36524 - day // 146096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153  # 0 is March; five months from March on have 153 days
    dom = day - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    return year + era * 400 + (month <= 2), month, dom


def _truncate(epoch: int, unit: int) -> int:
    """Return `epoch / unit`, rounded toward zero (`//` rounds down)."""
    return epoch // unit if epoch >= 0 else -(-epoch // unit)


class _SplitTime(NamedTuple):
    """A time split into its parts; `days` since the epoch, `nanos` of the second, `epoch` as it is stored."""

    epoch: int
    days: int
    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int
    nanos: int


def _year2(at: _SplitTime) -> bytes | None:
    """Return the last two digits of a year from 1900 to 2099; None for other years."""
    short = at.year - 2000 if at.year >= 2000 else at.year - 1900
    return b"%02d" % short if 0 <= short <= 99 else None


def _hour12(at: _SplitTime) -> int:
    """Return the hour of a 12-hour clock, 1 to 12."""
    return at.hour % 12 or 12


def _hour12_old(at: _SplitTime) -> int:
    """The hour of a 12-hour clock as clp-s up to 0.4.1 printed it: 13 stays 13."""
    if at.hour == 0:
        return 12
    return at.hour - 12 if at.hour > 13 else at.hour


def _epoch_point(at: _SplitTime) -> bytes | None:
    """Return the epoch with a point before its last nine digits; None if it has fewer."""
    text = b"%d" % at.epoch
    return text[:-9] + b"." + text[-9:] if len(text) >= 9 else None


_SHOWN: Final[dict[str, Callable[[_SplitTime], bytes | None]]] = {
    "year": lambda at: b"%04d" % at.year if 0 <= at.year <= 9999 else None,
    "year2": _year2,
    "month": lambda at: b"%02d" % at.month,
    "day": lambda at: b"%02d" % at.day,
    "day_space": lambda at: b"%2d" % at.day,
    "hour": lambda at: b"%02d" % at.hour,
    "hour_space": lambda at: b"%2d" % at.hour,
    "hour12": lambda at: b"%02d" % _hour12(at),
    "hour12_space": lambda at: b"%2d" % _hour12(at),
    "hour12_old": lambda at: b"%02d" % _hour12_old(at),
    "hour12_old_space": lambda at: b"%2d" % _hour12_old(at),
    "am_pm": lambda at: b"AM" if at.hour < 12 else b"PM",
    "minute": lambda at: b"%02d" % at.minute,
    "second": lambda at: b"%02d" % at.second,
    "milli": lambda at: b"%03d" % (at.nanos // 1_000_000),
    "micro": lambda at: b"%06d" % (at.nanos // 1_000),
    "nano": lambda at: b"%09d" % at.nanos,
    "trim_milli": lambda at: (b"%03d" % (at.nanos // 1_000_000)).rstrip(b"0") or b"0",
    "trim_nano": lambda at: (b"%09d" % at.nanos).rstrip(b"0") or None,
    "epoch": lambda at: b"%d" % at.epoch,
    "epoch_point": _epoch_point,
    "epoch_s": lambda at: b"%d" % _truncate(at.epoch, 1_000_000_000),
    "epoch_ms": lambda at: b"%d" % _truncate(at.epoch, 1_000_000),
    "epoch_us": lambda at: b"%d" % _truncate(at.epoch, 1_000),
    "epoch_ns": lambda at: b"%d" % at.epoch,
}
"""What each step of a pattern prints of a time; None where upstream has no way to print it."""


def _render_time(epoch: int, unit: int, shift: int, steps: Sequence[tuple[int, bytes]]) -> bytes | None:
    """The text of a time, `unit` nanoseconds to a tick, `shift` seconds east; None where a step cannot print it."""
    per_second = 1_000_000_000 // unit
    seconds, fraction = divmod(epoch, per_second)
    # Next to a truncated epoch, the fraction is that of the absolute value: -1.5 s are -1 and .5.
    if any(code >= _WHOLE_EPOCHS for code, _ in steps):
        fraction = abs(epoch) % per_second
    days, second_of_day = divmod(seconds + shift, 86400)
    hour, rest = divmod(second_of_day, 3600)
    year, month, day = clps_civil(days)
    minute, second = divmod(rest, 60)
    moment = _SplitTime(epoch, days, year, month, day, hour, minute, second, fraction * unit)
    out: list[bytes] = []
    for code, text in steps:
        step = STEP_CODES[code]
        if step == "literal":
            out.append(text)
        elif step == "month_name":
            out.append(text.split(b"\0")[moment.month - 1])
        elif step == "weekday_name":
            out.append(text.split(b"\0")[(days + 4) % 7])  # the epoch was a Thursday; names start on Sunday
        else:
            shown = _SHOWN[step](moment)
            if shown is None:
                return None
            if step in ("epoch", "epoch_point"):
                out.clear()  # as upstream, which puts the number in the place of what it has printed so far
            out.append(shown)
    return b"".join(out)
