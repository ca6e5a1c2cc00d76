"""Pure-Python implementation of the search part of `exhume.native._kernel`: masks over the columns of a table.

Import `exhume.formats.clp_s.query.kernel`, which picks one of the two; the tests run against each.  A mask has one byte
per row, 0 or 1.  Values are buffers of numbers in the byte order of the machine.
"""

from __future__ import annotations

import operator
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from json.encoder import encode_basestring
from math import isfinite
from typing import Any

from exhume.formats.clp_s.layout_packed import ClassicMarks, ClassicVariable, ClpWord, Marks
from exhume.formats.clp_s.query.wildcard import Wildcard
from exhume.formats.clp_s.read.pykernel import ClpsLogTypes, _view

# JSON that needs no parser: strings without escapes, and integers that surely fit int64.
_PLAIN_STRING = re.compile(rb'"[^"\\]*"')
_INTEGER = re.compile(rb"0|-?[1-9][0-9]{0,17}")

Buffer = bytes | bytearray | memoryview

# Operators of a query, as it spells them.
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
            number
            for number, entry in enumerate(strings)
            if matcher(re.sub(rb"\\((?s:.)?)", rb"\1", entry) if b"\\" in entry else entry)
        ]
    return [number for number, entry in enumerate(strings) if matcher(entry)]


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
    return bytes([table[number & low] if number & low < size else 0 for number in _view(ids, "Q")])


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
    """Return the mask of the wanted rows whose encoded text matches, and the first wanted row that cannot be decoded
    (-1: none).

    A row matches if its log type is set in `table` (None: any), its variables fulfill the constraints in this order,
    and its text matches the pattern `codes` (None: anything; `fold`: the case of ASCII letters does not matter).

    `words` (uint64) and `variables` (int64) are those of the column; `wanted` has a byte per row.  A row that cannot be
    decoded does not match.
    """
    from exhume.formats.clp_s.read.pykernel import _text

    # The tests of a row, the cheapest first: log type, variables, decoded text.
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
    """Return whether the constraints are met by words in this order; other words may be in between."""
    left = iter(words)  # the words after the one that met the last constraint
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


def clps_last_entry(words: Any, variables: Any, log_types: ClpsLogTypes, mask: bytes | None) -> int:
    """The largest id of the dictionary entries that encoded strings have as variables; -1 if they have none.

    `words` (uint64) have the log type of each string and the offset of its first variable in `variables` (int64); those
    that name what does not exist are left out.  With a mask, only the strings whose byte is not 0 count.
    """
    encoded, last = _view(variables, "q"), -1
    chosen: Iterable[int] = _view(words, "Q")
    for word in chosen if mask is None else compress(chosen, mask):
        ident, at = ClpWord.log_type_id(word), ClpWord.ofs_variable(word)
        holes = log_types.holes(ident) if ident < len(log_types) else b""
        if at + len(holes) > len(encoded):
            continue
        for hole, value in zip(holes, encoded[at : at + len(holes)], strict=True):
            if log_types.core:
                entry = value if hole == Marks.DICTIONARY_ENTRY else -1
            else:
                is_entry = hole == ClassicMarks.INTEGER_OR_DICTIONARY_ENTRY and ClassicVariable.is_id(value)
                entry = value - ClassicVariable.first_id if is_entry else -1
            last = max(last, entry)
    return last


def clps_spans(values: Any, mask: bytes | None, width: int) -> bytes:
    """Count integers by span: value `v` is in the span number `v // width`.

    Returns pairs (number of the span, number of values in it) as int64, in ascending order of the spans.  With a mask,
    only the values whose byte is not 0 count.
    """
    numbers: Iterable[int] = _view(values, "q")
    if mask is not None:
        numbers = compress(numbers, mask)
    spans = Counter(value // width for value in numbers)
    return array("q", (number for span in sorted(spans) for number in (span, spans[span]))).tobytes()


class ClpsDistinct:
    """Different integers, floats and strings of columns; of 0.0 and -0.0 the first."""

    def __init__(self) -> None:
        # Dicts as ordered sets.
        self._numbers: tuple[dict[Any, None], dict[Any, None]] = ({}, {})  # integers, floats
        self._found: dict[bytes, None] = {}  # strings
        self._rest: dict[bytes, None] = {}  # JSON for `rest_of`

    def add(self, program: Any, mask: bytes | None, is_json: bool = False, has_strings: bool = True) -> Any:
        """Add what a program prints of each row that the mask chooses; return the fault of the first bad one.

        With `is_json` each row is JSON: numbers that are exact and strings without a backslash (only if `has_strings`)
        are added, other values are kept for `rest_of`.
        """
        rows = list(range(program.rows) if mask is None else compress(range(program.rows), mask))
        lines, fault = program.lines(rows)
        if not is_json:
            self._found.update(dict.fromkeys(lines))
            return fault
        for text in dict.fromkeys(lines):
            if _PLAIN_STRING.fullmatch(text):
                if has_strings:
                    self._found[text[1:-1]] = None
            elif _INTEGER.fullmatch(text):
                self._numbers[False][int(text)] = None
            else:
                self._rest[text] = None
        return fault

    def add_numbers(self, values: Any, mask: bytes | None, is_float: bool) -> None:
        """Add the integers or finite floats (items of eight bytes) that the mask chooses."""
        numbers: Iterable[Any] = _view(values, "d" if is_float else "q")
        if mask is not None:
            numbers = compress(numbers, mask)
        self._numbers[is_float].update(dict.fromkeys(filter(isfinite, numbers) if is_float else numbers))

    def add_entries(self, strings: Any, ids: Any, mask: bytes | None) -> int:
        """Add the entries of the dictionary `strings` whose ids (uint64, one per row) the mask chooses.

        Returns the first chosen row whose id no entry has, or -1.
        """
        items = _view(ids, "Q")
        for row in range(len(items)) if mask is None else compress(range(len(items)), mask):
            if items[row] >= len(strings):
                return row
            self._found[strings[items[row]]] = None
        return -1

    def put(self, text: bytes) -> None:
        """Add a string."""
        self._found[text] = None

    def rest_of(self) -> list[bytes]:
        """Return the JSON values that `add` kept for the caller to parse, and forget them."""
        rest, self._rest = list(self._rest), {}
        return rest

    def numbers_of(self, is_float: bool) -> bytes:
        """The numbers (items of eight bytes) in ascending order."""
        return array("d" if is_float else "q", sorted(self._numbers[is_float])).tobytes()

    def texts_of(self) -> list[bytes]:
        """The strings in the order of their bytes."""
        return sorted(self._found)

    def lines(self, kind: int, start: int, target: int) -> tuple[bytes, int]:
        """Return lines of JSON, up to the one that passes `target` bytes, and the position of the next value.

        `kind`: 1 for integers, 2 for floats, 3 for strings.  `start`: 0, or the position that the last call returned.
        """
        items = self.texts_of() if kind == 3 else sorted(self._numbers[kind == 2])
        out, size = [], 0
        for item in items[start:]:
            if size >= target:
                break
            shown = encode_basestring(item.decode("utf-8", "surrogateescape")) if kind == 3 else repr(item)
            out.append(f"{shown}\n".encode("utf-8", "surrogateescape"))
            size += len(out[-1])
        return b"".join(out), start + len(out)
