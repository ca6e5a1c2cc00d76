"""The value of a literal for a column of each type: the conversions that decide which columns a filter can match."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from exhume.formats.clp_s.query.dialect import Dialect
from exhume.formats.clp_s.query.tree import (
    EQUAL,
    GREATER,
    GREATER_EQUAL,
    LESS,
    LESS_EQUAL,
    Boolean,
    Instant,
    Literal,
    Null,
    Number,
    Text,
)

INTEGERS, FLOATS, TEXTS, STRINGS, BOOLEANS, ARRAYS, NULLS, TIMES = (1 << i for i in range(8))
ALL: Final = 255
TYPE_NAMES: Final = ("integer", "float", "text", "string", "boolean", "array", "null", "time")

_INT64_MIN: Final = -(1 << 63)
NANOSECONDS: Final = 1_000_000_000


def type_names(types: int) -> list[str]:
    """The names of the types in a set."""
    return [name for bit, name in enumerate(TYPE_NAMES) if types >> bit & 1]


@dataclass(frozen=True, slots=True)
class Operand:
    """A literal under one operator and dialect.

    `types`: the column types that it can be compared with.  `anything`: it is `*`.  `text`: the pattern for strings.
    `integer`: what integers (and times) are compared with; `array_integer` the same for array elements, where the
    native search also uses the value of a failed conversion.  `milliseconds`: for the timestamp ranges of an archive,
    when they differ from `integer`.
    """

    types: int
    text: bytes | None = None
    integer: int | None = None
    array_integer: int = 0
    real: float | None = None
    boolean: bool | None = None
    null: bool = False
    anything: bool = False
    milliseconds: int | None = None

    @property
    def number(self) -> bool:
        """Whether numbers can be compared with it at all."""
        return self.integer is not None or self.real is not None


def integer_of(value: float, op: str, dialect: Dialect) -> tuple[int | None, int]:
    """A number as an int64 for comparison with integers: None if nothing can equal it, and what a cast leaves.

    Values beyond int64 become its minimum, as the machine's conversion makes them.
    """
    if isinstance(value, int):
        return value, value
    if op != EQUAL and not dialect.truncates:
        rounded: float | int = math.ceil(value) if op in (LESS, GREATER_EQUAL) else math.floor(value)
    else:
        rounded = math.trunc(value)
    whole = int(rounded)
    if not _INT64_MIN <= whole < 1 << 63:
        whole = _INT64_MIN
    if op == EQUAL and float(whole) != value:
        return None, whole
    return whole, whole


def operand_of(literal: Literal, op: str, dialect: Dialect, instant: int | None = None) -> Operand:
    """The operand for a literal; `instant` is the value of a time literal: milliseconds in the dialects that have
    `legacy_instants`, else nanoseconds."""
    equal = op == EQUAL
    if isinstance(literal, Text):
        if not equal:
            return Operand(0)
        if literal.anything:
            return Operand(ALL, literal.text, anything=True)
        types = ARRAYS | (TEXTS if b" " in literal.text else STRINGS)
        return Operand(types | (TEXTS if literal.wild else 0), literal.text)
    if isinstance(literal, Number):
        whole, cast = integer_of(literal.value, op, dialect)
        types = FLOATS | TIMES | (INTEGERS if whole is not None else 0) | (STRINGS | ARRAYS if equal else 0)
        return Operand(types, literal.text if equal else None, whole, cast, float(literal.value))
    if isinstance(literal, Boolean):
        return Operand(STRINGS | BOOLEANS | ARRAYS, literal.text, boolean=literal.value) if equal else Operand(0)
    if isinstance(literal, Null):
        return Operand(STRINGS | NULLS | ARRAYS, literal.text, null=True) if equal else Operand(0)
    assert isinstance(literal, Instant)
    assert instant is not None
    return instant_operand(instant, op, dialect, literal.text.encode("utf-8", "surrogateescape"))


def instant_operand(instant: int, op: str, dialect: Dialect, text: bytes = b"") -> Operand:
    """The operand for a point in time (see `operand_of`); `text` is how the query writes it."""
    types = INTEGERS | FLOATS | TIMES
    if dialect.legacy_instants:
        if op == EQUAL:
            types |= ARRAYS | (TEXTS if b" " in text else STRINGS)
        return Operand(types, text if op == EQUAL else None, instant, instant, float(instant))
    milliseconds = truncate(instant, 1_000_000)
    whole = instant if dialect.nanoseconds else milliseconds
    # Two roundings, as the native search has them: an int64 becomes a double, then seconds.
    seconds = float(instant) / float(NANOSECONDS)
    return Operand(types, None, whole, whole, seconds, milliseconds=milliseconds)


def truncate(value: int, unit: int) -> int:
    """`value / unit` cut towards zero."""
    return value // unit if value >= 0 else -(-value // unit)


def compare(op: str, value: float, operand: float) -> bool:
    """`value op operand`."""
    if op == EQUAL:
        return value == operand
    if op == LESS:
        return value < operand
    if op == LESS_EQUAL:
        return value <= operand
    if op == GREATER:
        return value > operand
    return value >= operand
