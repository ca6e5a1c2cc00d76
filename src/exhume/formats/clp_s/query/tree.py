"""Queries as trees of nodes, literals and column paths, and what KQL means in each format version.

KQL is the query language of clp-s.  The archive decides the meaning: a query returns the lines that the native search
(`clp-s s`) of the version that wrote the archive prints.  The parser is `kql`, and `condition` compiles the tree.
"""

from __future__ import annotations

import re
from typing import Final

from exhume.tuples import NamedTuple

Version = tuple[int, int, int]  # of the format: major, minor, patch


class Dialect(NamedTuple):
    """What KQL means in a format version.

    `core_text`: text encoding of 0.4.0 on.  `legacy_instants`: a time literal is an integer of milliseconds that
    compares as a plain number (and string).  `truncates`: a fraction in a range over integers is cut, not rounded
    towards the range.  `last_column`: of several columns that a path names in one record shape, the last one is
    searched, else the first.  `nanoseconds`: timestamp columns count nanoseconds.

    `question_mark_is_star`: inside strings with spaces `?` stands for any number of bytes.  `verifies_question_marks`:
    static text found with `?` taken as `*` is checked again with `?` as it is (native searches of 0.4 do or do not, by
    chance; later ones do not).  `raw_dictionary_lookup`: escapes are left in a variable before the dictionary is
    searched for it.
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
    """Return the rules for archives of a format version."""
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


EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL = ":", "<", "<=", ">", ">="
"""Operators, as queries write them."""

NAMESPACES: Final = "@$!#"
"""Signs before a path that select other columns than those of the records, such as `@` for auto-generated keys."""


class Key(NamedTuple):
    """One step of a column path: a key name (raw bytes as stored), or, with `any`, the wildcard for any number of
    levels."""

    name: bytes
    any: bool = False

    def __str__(self) -> str:
        """Return the key as a query would have it, special characters escaped."""
        if self.any:
            return "*"
        return re.sub(r'([\\.*():<>"{}@$!# ])', r"\\\1", self.name.decode("utf-8", "backslashreplace"))


class Column(NamedTuple):
    """A path of keys in a namespace (`""` for the records themselves); `position` is its column in the query text."""

    keys: tuple[Key, ...]
    namespace: str = ""
    position: int = 0

    @property
    def everything(self) -> bool:
        """Whether it is the single wildcard: any column of the record."""
        return len(self.keys) == 1 and self.keys[0].any

    @property
    def open(self) -> bool:
        """Whether any step is a wildcard."""
        return any(key.any for key in self.keys)

    def below(self, prefix: Column) -> Column:
        """Return the path that starts with `prefix` and continues with this one."""
        return Column(_collapse(prefix.keys + self.keys), prefix.namespace, self.position)

    def __str__(self) -> str:
        return self.namespace + ".".join(map(str, self.keys))


class Number(NamedTuple):
    """A literal that reads as a number; `text` is what string columns are compared with."""

    text: bytes
    value: float


class Boolean(NamedTuple):
    """`true` or `false`."""

    value: bool

    @property
    def text(self) -> bytes:
        """The form that strings are compared with."""
        return b"true" if self.value else b"false"


class Null(NamedTuple):
    """`null`."""

    text: bytes = b"null"


class Text(NamedTuple):
    """Any other literal: a pattern of bytes, `*` and `?`, with backslash before each literal `*`, `?` and backslash."""

    text: bytes

    @property
    def anything(self) -> bool:
        """Whether it is the lone `*`."""
        return self.text == b"*"

    @property
    def wild(self) -> bool:
        """Whether a wildcard is left in it."""
        return has_wildcard(self.text)


class Instant(NamedTuple):
    """`timestamp("…"[, "pattern"])` or `date("…")`, not yet interpreted: the archive's version decides how."""

    text: str
    pattern: str | None = None
    position: int = 0


Literal = Number | Boolean | Null | Text | Instant


class Filter(NamedTuple):
    """`column op literal`."""

    column: Column
    op: str
    literal: Literal


class Not(NamedTuple):
    """NOT of its operand."""

    child: Expression


class And(NamedTuple):
    """AND of its operands."""

    children: tuple[Expression, ...]


class Or(NamedTuple):
    """OR of its operands."""

    children: tuple[Expression, ...]


Expression = Filter | Not | And | Or


# --- text of literals and columns -------------------------------------------------------------------------------------

# libstdc++'s istream extraction, which decides what counts as a number: a sign, digits, a point, an exponent; no
# hexadecimal, no infinities.
_FLOAT: Final = rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
# First byte of a number after its sign: a cheap test before the expression.
_FLOAT_STARTS: Final = frozenset(bytes((code,)) for code in b".0123456789")
# Escapes in a query, by the character after the backslash: its bytes, or those that stand for themselves.
_SIMPLE_ESCAPES = {"t": b"\t", "r": b"\r", "n": b"\n", "b": b"\b", "f": b"\f"}
_LITERAL_ESCAPES = frozenset('"{}()<>@$!#:.')


class EscapeError(ValueError):
    """An unknown escape; `offset` counts from the start of the text."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


def unescape(text: str, *, value: bool) -> bytes:
    """Resolve the escapes of a value or of one key, keeping a backslash before each literal wildcard and backslash.

    Raises `EscapeError`.
    """
    out = bytearray()
    at = 0
    while True:
        # The text up to the next backslash, then the escape.
        cut = text.find("\\", at)
        if cut < 0:
            out += text[at:].encode("utf-8", "surrogateescape")
            return bytes(out)
        out += text[at:cut].encode("utf-8", "surrogateescape")
        escaped = text[cut + 1 : cut + 2]
        at = cut + 2
        if escaped in _SIMPLE_ESCAPES:
            out += _SIMPLE_ESCAPES[escaped]
        elif escaped == "u":
            digits = text[at : at + 4]
            if not re.fullmatch("[0-9a-fA-F]{4}", digits):
                raise EscapeError("\\u needs four hexadecimal digits", cut)
            character = chr(int(digits, 16))
            if "\ud800" <= character <= "\udfff":
                raise EscapeError("lone surrogate", cut)
            at += 4
            if character in "\\*" or (character == "?" and value):  # keys have no `?` wildcard
                out += b"\\"
            out += character.encode()
        elif escaped and (escaped in "\\*" or (escaped == "?" and value)):  # stay escaped in the pattern
            out += b"\\" + escaped.encode()
        elif escaped == "?":
            out += b"?"
        elif escaped in _LITERAL_ESCAPES:
            out += escaped.encode()
        else:
            raise EscapeError(f"unknown escape \\{escaped}" if escaped else "nothing follows the backslash", cut)


def clean_pattern(pattern: bytes) -> bytes:
    """Return a pattern without runs of `*` and without backslashes that escape nothing."""
    if b"\\" not in pattern and b"**" not in pattern:
        return pattern
    out = bytearray()
    for piece in re.findall(rb"\*+|\\(?s:.)|[^*\\]+", pattern):  # a run of stars, an escape, or other bytes
        if piece.startswith(b"*"):
            out += b"*"
        elif piece.startswith(b"\\") and piece[1:] not in b"*?\\":
            out += piece[1:]
        else:
            out += piece
    return bytes(out)


def has_wildcard(pattern: bytes) -> bool:
    """Whether an unescaped `*` or `?` is in the pattern."""
    if b"\\" in pattern:
        pattern = re.sub(rb"\\(?s:.)", b"", pattern)
    return b"*" in pattern or b"?" in pattern


def unescape_pattern(pattern: bytes) -> bytes:
    """Return the bytes that a pattern without wildcards stands for."""
    return re.sub(rb"\\((?s:.))", rb"\1", pattern) if b"\\" in pattern else pattern


def parse_literal(text: str, op: str = EQUAL) -> Literal:
    """Return the literal that a value of a query stands for; `text` has no quotes.  Raises `EscapeError`.

    `op`: how values are compared with it.  A number beyond a double, such as `1e400`, is infinite as the end of a
    range, and else a string.
    """
    token = unescape(text, value=True)
    # int() and float() bound what they accept themselves only by length; a 64-bit value needs few digits.
    digits = token[1:] if token[:1] in (b"+", b"-") else token
    if digits.isdigit() and len(token) < 400:
        number = int(token)
        if -(1 << 63) <= number < 1 << 63:
            return Number(token, number)
    if digits[:1] in _FLOAT_STARTS and len(token) < 400 and re.fullmatch(_FLOAT, token):
        real = float(token)
        if op != EQUAL or real not in (float("inf"), float("-inf")):
            return Number(token, real)
    if token in (b"true", b"false"):
        return Boolean(token == b"true")
    if token == b"null":
        return Null()
    return Text(clean_pattern(token))


def parse_column(text: str, position: int = 0) -> Column:
    """Parse a column path: keys between unescaped dots, after an optional namespace sign.

    `position`: that of the path in the query.  Raises `EscapeError`.
    """
    namespace = text[:1] if text[:1] and text[0] in NAMESPACES else ""
    keys: list[Key] = []
    start = len(namespace)
    while True:
        end = start  # of the key: the next dot without a backslash before it
        while end < len(text) and text[end] != ".":
            end += 2 if text[end] == "\\" else 1  # a backslash and what it escapes
        raw = text[start:end]
        if not raw:
            raise EscapeError("a key of the path is empty", start)
        try:
            token = unescape(raw.replace("\\.", "."), value=False)
        except EscapeError as error:
            raise EscapeError(str(error), start + error.offset) from None
        keys.append(Key(unescape_pattern(token), any=token == b"*"))
        if end >= len(text):
            break
        start = end + 1
    return Column(_collapse(tuple(keys)), namespace, position)


def _collapse(keys: tuple[Key, ...]) -> tuple[Key, ...]:
    """Return a path with one wildcard for each run of them, as they mean the same."""
    return tuple(key for number, key in enumerate(keys) if not (key.any and number and keys[number - 1].any))
