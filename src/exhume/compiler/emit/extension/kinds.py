"""Kinds of the variables and values of compiled readers: machine numbers or objects.

A kind determines the C type of a variable.  Integers are machine words if it is known how many bits they need, so
that no operation overflows 64 bits; others are Python objects.  The functions below are given code with its kind, such
as `v3` and `MachineWord(8)`, and return code that converts the value.
"""

from __future__ import annotations

import ast
import itertools
from dataclasses import dataclass


@dataclass(frozen=True)
class MachineWord:
    """A signed 64-bit number whose absolute value has at most `bits` bits."""

    bits: int


@dataclass(frozen=True)
class ReaderObject:
    """An object of one class of readers, by the module and the name of the class."""

    module: str
    name: str


# Kinds without details: any Python object; a condition; a number of [0, 2^64); a C double; ...
OBJECT, TRUTH, UNSIGNED, FLOAT = "object", "truth", "unsigned", "float"
# ... the runtime's classes for a stream and for the budgets of a reading; a Python list; a column being filled.
STREAM, RUN, LIST, COLUMN = "stream", "run", "list", "column"
Kind = MachineWord | ReaderObject | str
Code = tuple[str, Kind]
"""Cython code of a value, such as `(v3 + 1)`, and its kind."""

MOST = 62
"""Most bits of a number that is computed in machine words; larger ones are Python objects."""
PLACE = 58
"""Bits of a position in the data."""
PLACES = frozenset(("at", "end", "stop", "begin", "before", "base", "start", "first", "resume", "turn", "empty"))
"""Variables of readers that are positions in the data, sizes, or counts."""
BITS = 61
"""Bits of a position in the data that is counted in bits: 8 times as large."""

STEP = 20
"""Most bits of a constant that may be added to a position, which stays below its bound."""

LOADS: dict[str, tuple[int, Kind]] = {
    "B": (1, MachineWord(8)),
    "b": (1, MachineWord(8)),
    "H": (2, MachineWord(16)),
    "h": (2, MachineWord(16)),
    "I": (4, MachineWord(32)),
    "i": (4, MachineWord(32)),
    "Q": (8, UNSIGNED),
    "q": (8, MachineWord(63)),
    "f": (4, FLOAT),
    "d": (8, FLOAT),
    "s": (1, OBJECT),
}
"""Size in bytes of the value of a `struct` format letter, and its kind."""
AROUND = ("at", "end", "io", "parent", "root", "big", "run")
"""Parameters of every compiled reader, after the bytes."""
WIDTHS = {"B": 1, "b": 1, "H": 2, "h": 2, "I": 4, "i": 4, "Q": 8, "q": 8, "f": 4, "d": 8}
"""Bytes of a number in a column, by the code of the column's array."""

DECLARED = {
    OBJECT: "object",
    TRUTH: "bint",
    UNSIGNED: "uint64_t",
    FLOAT: "double",
    STREAM: "Stream",
    RUN: "Run",
    LIST: "list",
    COLUMN: "Column",
}
"""Type in Cython of a variable, by its kind."""
START = {
    OBJECT: "None",
    TRUTH: "False",
    UNSIGNED: "0",
    FLOAT: "0",
    STREAM: "None",
    RUN: "None",
    LIST: "None",
    COLUMN: "Column(NULL, NULL, 0, 0)",
}
"""First value of a variable, by its kind."""


OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Div: "/",
    ast.Mod: "%",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.USub: "-",
    ast.Invert: "~",
}
"""Sign of an operator in Cython, by its class in the syntax tree."""

ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
"""Operators that compare the order of two values."""


class UncoveredError(Exception):
    """Raised for code that has no compiled form; the interpreted reader stays in use."""


class UnknownError(Exception):
    """Raised for a variable whose kind is not known yet; a later pass over the function knows it."""


def declared(kind: Kind) -> str:
    """Return the C type that a variable of a kind is declared with."""
    if isinstance(kind, MachineWord):
        return "int64_t"
    return DECLARED[kind] if isinstance(kind, str) else "object"


def start(kind: Kind) -> str:
    """Return the value, as code, that a variable is declared with."""
    if isinstance(kind, MachineWord):
        return "0"
    return START[kind] if isinstance(kind, str) else "None"


def joined(one: Kind | None, other: Kind | None) -> Kind | None:
    """Return the kind of a variable that is assigned values of two kinds; None: not known yet."""
    if one is None or other is None or one == other:
        return one if other is None else other
    if isinstance(one, MachineWord) and isinstance(other, MachineWord):
        return MachineWord(max(one.bits, other.bits))
    return OBJECT


def boxed(text: str, kind: Kind) -> str:
    """Return code for a value as a Python object: `(<object> v3)` for a number `v3`."""
    if isinstance(kind, MachineWord) or kind in (UNSIGNED, FLOAT):
        return f"(<object> {text})" if not text.lstrip("-").isdigit() else text
    return f"(<object> (<bint> {text}))" if kind == TRUTH and text not in ("True", "False") else text


def as_place(text: str, kind: Kind) -> str:
    """Return code for a value as a position in the data, or a size: `checked_place(v3)` if `v3` may be too large."""
    if kind == TRUTH:
        return f"(<int64_t> {text})"
    if isinstance(kind, MachineWord):
        return text if kind.bits <= PLACE else f"checked_place({text})"
    return f"checked_place(saturated_unsigned({text}))" if kind == UNSIGNED else f"place_of({boxed(text, kind)})"


def as_word(text: str, kind: Kind) -> str:
    """Return code for a value as a machine word; numbers outside of its range become the nearest word."""
    if kind == TRUTH:
        return f"(<int64_t> {text})"
    if isinstance(kind, MachineWord) and kind.bits <= MOST:
        return text
    return f"saturated_unsigned({text})" if kind == UNSIGNED else f"saturated({boxed(text, kind)})"


def bits_after(op: ast.operator, one: MachineWord, other: MachineWord, right: ast.expr) -> int | None:
    """Return the bits of the result of an operator on two numbers; None if it may not fit, or may raise.

    `right` is the second operand: with a constant, the result is often known to be smaller.
    """
    constant = right.value if isinstance(right, ast.Constant) and isinstance(right.value, int) else None
    most = max(one.bits, other.bits)
    match op:
        case ast.Add() | ast.Sub() if constant is not None and one.bits >= PLACE - 2 and other.bits <= STEP:
            return one.bits  # data has no position so large that a step this small would exceed the bound
        case ast.Add() | ast.Sub():
            return most + 1
        case ast.Mult():
            return one.bits + other.bits
        case ast.FloorDiv() if constant is not None and constant > 0:
            return one.bits + 1  # rounding down may add 1 to the absolute value of a negative number
        case ast.Mod() if constant is not None and constant > 0:
            return other.bits  # below the constant
        case ast.LShift() if constant is not None and 0 <= constant < 64:
            return one.bits + constant
        case ast.RShift() if constant is not None and 0 <= constant < 63:
            return one.bits
        case ast.BitAnd() if constant is not None and constant >= 0:
            return other.bits  # at most the constant
        case ast.BitAnd() | ast.BitOr() | ast.BitXor():
            return most
    return None


def can_be_words(kinds: list[Kind]) -> bool:
    """Return whether values in a comparison can be compared as machine words.

    `word` replaces a number that does not fit by the nearest word.  That is right unless both neighbors may be
    replaced.
    """
    if not all(kind in (OBJECT, UNSIGNED) or isinstance(kind, MachineWord) for kind in kinds):
        return False
    fits = [isinstance(kind, MachineWord) and kind.bits <= MOST for kind in kinds]
    for (one, other), (one_fits, other_fits) in zip(itertools.pairwise(kinds), itertools.pairwise(fits), strict=True):
        if not one_fits and not other_fits and {one, other} & {OBJECT, UNSIGNED}:
            return False
    return True
