"""Pure-Python twin of the search part of `exhume.native._kernel`: masks over the columns of a table.

Import `exhume.formats.clp_s.query.kernel`, which picks one of the two; the tests run against each.  A mask has one byte
per row, 0 or 1.  Values are buffers of numbers in the byte order of the machine.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

from exhume.formats.clp_s.layout_words import ClpWord
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
"""A variable that a text must have: `(word, None)` exactly that word, or `(base, table)` a word `w` for which
`table[w - base]` is set."""


def clps_find(strings: Any, codes: Sequence[int], fold: bool, unescape: bool) -> list[int]:
    """Positions of the entries that match a pattern (`Wildcard.codes`).

    `fold`: the case of ASCII letters does not matter (codes are lower case); `unescape`: a backslash in an entry only
    protects the byte behind it.
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
    """Mask of `table[ids[row] & (2**bits - 1)]` for uint64 ids; ids behind the table are not set."""
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
