"""Log text, variables and numbers as clp-s stores them: the encoding side, in both string dialects.

Everything here is a pure function of its arguments and works on UTF-8 bytes.  The writer uses it to build archives
(its compiled kernel is tested against these functions), the search to turn the strings of a query into what a
dictionary or a column would hold.

A log text becomes a *log type* (static text with one placeholder byte per variable) and its variables; each variable
is an integer, a float (both packed into an i64) or an entry of the variable dictionary.  The two dialects differ in
what separates tokens, in the placeholders and in the packing.
"""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from exhume.formats.clp_s.layout_packed import (
    I64_MAX,
    I64_MIN,
    ClassicDecimalVariable,
    ClassicMarks,
    ClassicVariable,
    DecimalVariable,
    ExponentSign,
    FloatFormat,
    FloatNotation,
    Marks,
)

ESCAPE: Final = int(Marks.ESCAPE)

MAX_FLOAT_DIGITS: Final = 16
"""Most digits of a float that is packed into an i64; more are kept as text."""


class Dialect(enum.Enum):
    """Encoding of strings; determined by the archive's format version alone."""

    CLASSIC = "classic"
    """Format versions before 0.4.0."""
    CORE = "core"
    """Format versions from 0.4.0 on."""

    @classmethod
    def of_version(cls, version: tuple[int, int, int]) -> Dialect:
        """The dialect that archives of format `version` (major, minor, patch) use."""
        return cls.CORE if version >= (0, 4, 0) else cls.CLASSIC


class VariableKind(enum.Enum):
    """Kind of value that a placeholder represents."""

    INTEGER = "integer"
    FLOAT = "float"
    DICTIONARY = "dictionary"


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable of a log text.

    Attributes:
        kind: How it is stored.
        text: The token as it appears in the string.
        encoded: The i64 stored for an integer or float; None for a dictionary variable, whose stored value depends
            on the id that the dictionary assigns to `text` (see `encode_dictionary_id`).
    """

    kind: VariableKind
    text: bytes
    encoded: int | None


@dataclass(frozen=True, slots=True)
class EncodedText:
    """A log text split into the log type (escaped, with placeholders) and the variables in order."""

    log_type: bytes
    variables: tuple[Variable, ...]


# Runs of bytes that do not separate tokens, and the forms of tokens: see `is_variable` and the functions that encode.
_TOKENS: Final = {
    Dialect.CLASSIC: re.compile(rb"[+\-./0-9A-Z\\_a-z]+"),
    Dialect.CORE: re.compile(rb"[+\-.0-9A-Z\\_a-z]+"),
}
_HAS_DIGIT: Final = re.compile(rb"[0-9]")
_HAS_LETTER: Final = re.compile(rb"[A-Za-z]")
_ALL_HEX: Final = re.compile(rb"[0-9A-Fa-f]{2,}")
_INTEGER: Final = re.compile(rb"0|-?[1-9][0-9]*")
_FLOAT: Final = re.compile(rb"(-?)([0-9]*)\.([0-9]+)")
_PLACEHOLDERS: Final = {
    (Dialect.CLASSIC, VariableKind.INTEGER): bytes((ClassicMarks.INTEGER_OR_DICTIONARY_ENTRY,)),
    (Dialect.CLASSIC, VariableKind.DICTIONARY): bytes((ClassicMarks.INTEGER_OR_DICTIONARY_ENTRY,)),
    (Dialect.CLASSIC, VariableKind.FLOAT): bytes((ClassicMarks.DECIMAL,)),
    (Dialect.CORE, VariableKind.INTEGER): bytes((Marks.INTEGER,)),
    (Dialect.CORE, VariableKind.DICTIONARY): bytes((Marks.DICTIONARY_ENTRY,)),
    (Dialect.CORE, VariableKind.FLOAT): bytes((Marks.DECIMAL,)),
}
_ESCAPED: Final = {
    Dialect.CLASSIC: re.compile(b"[" + re.escape(bytes(ClassicMarks)) + b"]"),
    Dialect.CORE: re.compile(b"[" + re.escape(bytes(Marks)) + b"]"),
}
"""Characters that a backslash escapes in static text."""


def is_variable(token: bytes, *, after_equals: bool) -> bool:
    """Whether a whole token is a variable rather than static text.

    Args:
        token: One maximal run of token bytes.
        after_equals: Whether the byte just before the token is `=`.
    """
    if _HAS_DIGIT.search(token):
        return True
    if after_equals and _HAS_LETTER.search(token):
        return True
    return _ALL_HEX.fullmatch(token) is not None


def variable_spans(text: bytes, dialect: Dialect) -> Iterator[tuple[int, int]]:
    """Half-open spans of the variables in `text`, in order."""
    for match in _TOKENS[dialect].finditer(text):
        start = match.start()
        if is_variable(match.group(), after_equals=start > 0 and text[start - 1] == ord("=")):
            yield match.span()


def encode_integer_variable(token: bytes, dialect: Dialect) -> int | None:
    """The i64 that stores `token` as an integer variable, or None if it would not come back as the same text."""
    if len(token) > 20 or not _INTEGER.fullmatch(token):  # 20: a sign and 19 digits
        return None
    value = int(token)
    if dialect is Dialect.CLASSIC:  # numbers from `first_id` on stand for entries of the dictionary
        return value if I64_MIN <= value < ClassicVariable.first_id else None
    return value if I64_MIN <= value <= I64_MAX else None


def encode_float_variable(token: bytes, dialect: Dialect) -> int | None:
    """The i64 (signed) that stores `token` as a float variable, or None if it is not of that form.

    The form is an optional minus, at most 16 decimal digits, exactly one point with a digit after it.
    """
    match = _FLOAT.fullmatch(token)
    if match is None:
        return None
    sign, whole, fraction = match.groups()
    digits = len(whole) + len(fraction)
    if digits > MAX_FLOAT_DIGITS:
        return None
    return pack_float(bool(sign), int(whole + fraction), digits, len(fraction), dialect)


def pack_float(negative: bool, number: int, digits: int, point: int, dialect: Dialect) -> int:
    """Pack a float variable into a signed i64.

    Args:
        negative: Whether there is a minus sign.
        number: The digits without the point, as an integer.
        digits: How many decimal digits there are (1..16).
        point: How many of them are right of the point (1..16).
        dialect: Decides the bit order.
    """
    # By field: the position of its lowest bit.
    shift = ClassicDecimalVariable.shift if dialect is Dialect.CLASSIC else DecimalVariable.shift
    word = number << shift.digits | (digits - 1) << shift.num_digits | (point - 1) << shift.num_fraction_digits
    word |= negative << shift.sign
    return word - (1 << 64) if word >> 63 else word  # as a signed number


def encode_dictionary_id(var_id: int, dialect: Dialect) -> int:
    """The i64 that stores a dictionary variable whose text has id `var_id` in the variable dictionary."""
    return ClassicVariable.first_id + var_id if dialect is Dialect.CLASSIC else var_id


def encode_variable(token: bytes, dialect: Dialect) -> Variable:
    """Encode a token that is a variable: as an integer if it fits, else as a float, else for the dictionary."""
    number = encode_integer_variable(token, dialect)
    if number is not None:
        return Variable(VariableKind.INTEGER, token, number)
    number = encode_float_variable(token, dialect)
    if number is not None:
        return Variable(VariableKind.FLOAT, token, number)
    return Variable(VariableKind.DICTIONARY, token, None)


def placeholder(kind: VariableKind, dialect: Dialect) -> bytes:
    """The one byte that stands for a variable of `kind` in a log type."""
    return _PLACEHOLDERS[dialect, kind]


def escape_static_text(text: bytes, dialect: Dialect) -> bytes:
    """Static text as it is stored in a log type: placeholder bytes and backslashes preceded by a backslash."""
    return _ESCAPED[dialect].sub(rb"\\\g<0>", text)


def encode_text(text: bytes, dialect: Dialect) -> EncodedText:
    """Split a log text (or the source text of an array) into log type and variables, by the rules that clp-s search
    relies on.
    """
    log_type: list[bytes] = []
    variables: list[Variable] = []
    end = 0
    for start, stop in variable_spans(text, dialect):
        log_type.append(escape_static_text(text[end:start], dialect))
        variable = encode_variable(text[start:stop], dialect)
        log_type.append(_PLACEHOLDERS[dialect, variable.kind])
        variables.append(variable)
        end = stop
    log_type.append(escape_static_text(text[end:], dialect))
    return EncodedText(b"".join(log_type), tuple(variables))


# --- numbers with their spelling -------------------------------------------------------------------------------------

MAX_SIGNIFICANT_DIGITS: Final = 17
"""Most digits that a double can need, and that the format word can state."""
_SIGNS: Final = {b"": ExponentSign.NONE, b"+": ExponentSign.PLUS, b"-": ExponentSign.MINUS}
_JSON_FLOAT: Final = re.compile(rb"(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:([eE])([+-]?)([0-9]+))?")


def encode_formatted_float(text: bytes) -> tuple[float, int] | None:
    """Encode a JSON number as a double and a 16-bit format word, which states how the number was spelled.

    Returns:
        The value and the word, or None if no word brings back exactly `text` (more than 17 significant digits, a
        mantissa that is not normalized, more than four exponent digits, or no double that prints the same):
        such a number belongs in the variable dictionary (node type DictionaryFloat).
    """
    from exhume.formats.clp_s.read.pykernel import clps_format_float  # not at the top: searches import this module

    match = _JSON_FLOAT.fullmatch(text)
    if match is None:
        return None
    _, whole, fraction, exponent_mark, exponent_sign, exponent_digits = match.groups(b"")
    digits = whole + fraction
    if exponent_mark:
        # Scientific notation keeps one digit before the point, so only that spelling comes back.
        if len(whole) != 1 or not 1 <= len(exponent_digits) <= 4:
            return None
        significant = len(digits)
        notation = FloatNotation.LOWER_EXPONENT if exponent_mark == b"e" else FloatNotation.UPPER_EXPONENT
        word = notation << FloatFormat.shift.notation
        word |= _SIGNS[exponent_sign] << FloatFormat.shift.exponent_sign
        word |= (len(exponent_digits) - 1) << FloatFormat.shift.num_exponent_digits
    else:
        # Zeros before the first other digit are position, not precision; zero itself keeps all its digits.
        significant = len(digits.lstrip(b"0")) or len(digits)
        word = 0
    if not 1 <= significant <= MAX_SIGNIFICANT_DIGITS:
        return None
    word |= (significant - 1) << FloatFormat.shift.num_significant_digits
    value = float(text)
    if not math.isfinite(value) or clps_format_float(value, word) != text:
        return None
    return value, word
