"""Pure-Python implementation of the search part of `exhume.native._kernel`: masks over the columns of a table.

Import `exhume.formats.clp_s.query.kernel`, which picks one of the two; the tests run against each.  A mask has one byte
per row, 0 or 1.  Values are buffers of numbers in the byte order of the machine.
"""

from __future__ import annotations

import operator
import re
from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from math import isfinite
from typing import Any

from exhume.formats.clp_s.layout_packed import ClpWord
from exhume.formats.clp_s.query.wildcard import Wildcard
from exhume.formats.clp_s.read.pykernel import _view

Buffer = bytes | bytearray | memoryview

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    ":": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

Constraint = tuple[int, bytes | None]
"""A variable that a string must have: `(word, None)` exactly that word, or `(base, table)` a word `w` for which
`table[w - base]` is set."""


def clps_find(strings: Any, codes: Sequence[int], fold: bool, unescape: bool) -> list[int]:
    """Positions of the entries that match a pattern (`Wildcard.codes`).

    `fold`: the case of ASCII letters does not matter (codes are lower case); `unescape`: a backslash in an entry only
    escapes the byte after it.
    """
    matcher = Wildcard.from_codes(list(codes), fold).matches
    if unescape:
        return [
            i
            for i, entry in enumerate(strings)
            if matcher(re.sub(rb"\\((?s:.)?)", rb"\1", entry) if b"\\" in entry else entry)
        ]
    return [i for i, entry in enumerate(strings) if matcher(entry)]


def clps_compare_int(values: Buffer, op: str, operand: int) -> bytes:
    """Mask of int64 `values[row] op operand`."""
    test = OPERATORS[op]
    return bytes([test(value, operand) for value in _view(values, "q")])


def clps_compare_float(values: Buffer, op: str, operand: float) -> bytes:
    """Mask of float64 `values[row] op operand`."""
    test = OPERATORS[op]
    return bytes([test(value, operand) for value in _view(values, "d")])


def clps_lookup(ids: Buffer, table: bytes, bits: int) -> bytes:
    """Mask of `table[ids[row] & (2**bits - 1)]` for uint64 ids; ids past the end of the table are not set."""
    low, size = (1 << bits) - 1, len(table)
    return bytes([table[i & low] if i & low < size else 0 for i in _view(ids, "Q")])


def clps_match_texts(
    words: Buffer,
    variables: Buffer,
    log_types: Any,
    strings: Any,
    table: bytes | None,
    constraints: Sequence[Constraint],
    codes: Sequence[int] | None,
    fold: bool,
    wanted: bytes,
) -> tuple[bytes, int]:
    """Mask of the wanted rows whose encoded text has a log type set in `table` (None: any), has variables that
    fulfil the constraints in this order, and matches the pattern `codes` (None: anything).

    Also the first wanted row that cannot be decoded, or -1; it is not set.
    """
    from exhume.formats.clp_s.read.pykernel import _text

    matcher = None if codes is None else Wildcard.from_codes(list(codes), fold).matches
    typed_words, typed_variables = _view(words, "Q"), _view(variables, "q")
    mask = bytearray(len(wanted))
    bad = -1
    for row, (word, want) in enumerate(zip(typed_words, wanted, strict=True)):
        if not want:
            continue
        log_type, at = ClpWord.log_type_id(word), ClpWord.ofs_variable(word)
        if table is not None and not (log_type < len(table) and table[log_type]):
            continue
        if constraints:
            holes = len(log_types.holes(log_type)) if log_type < len(log_types) else 0
            if not _fulfilled(typed_variables[at : at + holes], constraints):
                continue
        if matcher is not None:
            text = _text(int(word), typed_variables, log_types, strings)
            if not isinstance(text, bytes):
                bad = row if bad < 0 else bad
                continue
            if not matcher(text):
                continue
        mask[row] = 1
    return bytes(mask), bad


def _fulfilled(words: Sequence[Any], constraints: Sequence[Constraint]) -> bool:
    """Whether the constraints are met by the words, in order, with anything between."""
    left = iter(words)
    for base, table in constraints:
        for word in left:
            if word == base if table is None else 0 <= word - base < len(table) and table[word - base]:
                break
        else:
            return False
    return True


def clps_extreme(values: Any, mask: bytes | None, is_float: bool, largest: bool) -> int | float | None:
    """The smallest or the largest of integers, or of floats (items of eight bytes) that are finite; None: no value.

    With a mask, only of those whose byte is not 0.
    """
    numbers: Iterable[Any] = _view(values, "d" if is_float else "q")
    if mask is not None:
        numbers = compress(numbers, mask)
    if is_float:
        numbers = filter(isfinite, numbers)
    found: int | float | None = (max if largest else min)(numbers, default=None)
    return found


def clps_distinct(values: Any, mask: bytes | None) -> bytes:
    """The rows (uint64) of the first of each different item of eight bytes, of those that the mask chooses."""
    items = _view(values, "Q")
    rows: Iterable[int] = range(len(items)) if mask is None else compress(range(len(items)), mask)
    seen: dict[int, int] = {}
    for row in rows:
        seen.setdefault(items[row], row)
    return array("Q", seen.values()).tobytes()


class ClpsDistinct:
    """Different strings or items of eight bytes of columns, in the order of their first use."""

    def __init__(self) -> None:
        self._found: dict[bytes, None] = {}

    def add(self, program: Any, mask: bytes | None) -> Any:
        """Add what a program prints of each row that the mask chooses; return the fault of the first bad one."""
        rows = list(range(program.rows) if mask is None else compress(range(program.rows), mask))
        lines, fault = program.lines(rows)
        self._found.update(dict.fromkeys(lines))
        return fault

    def add_items(self, values: Any, mask: bytes | None) -> None:
        """Add the items of eight bytes that the mask chooses."""
        items: Iterable[Any] = _view(values, "Q")
        chosen = set(items if mask is None else compress(items, mask))
        self._found.update(dict.fromkeys(array("Q", (item,)).tobytes() for item in chosen))

    def put(self, text: bytes) -> None:
        """Add a string."""
        self._found[text] = None

    def values(self) -> list[bytes]:
        """The strings or items."""
        return list(self._found)
