"""The expression language of Kaitai Struct: text to a tree, and the tree with constants folded.

`parse` makes the tree, whose nodes are the classes below; `fold` computes its constant parts; `replaced`, `nodes`
and `names` work on trees.  See the user guide of Kaitai Struct, "Expression language".
"""

from __future__ import annotations

import functools
import math
import operator
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from exhume.compiler.refusal import UnsupportedError


@dataclass(frozen=True, slots=True)
class Literal:
    """An integer, float, text, truth value, or an array of bytes (`bytes`)."""

    value: Any


@dataclass(frozen=True, slots=True)
class Array:
    """A list whose elements are not constants."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Name:
    """A field, or one of `_`, `_index`, `_io`, `_parent`, `_root`."""

    id: str


@dataclass(frozen=True, slots=True)
class EnumValue:
    """`type::enum::value`; `path` is everything before the value."""

    path: tuple[str, ...]
    value: str


@dataclass(frozen=True, slots=True)
class SizeOf:
    """`sizeof<type>`, or `bitsizeof<type>`"""

    type: str
    bits: bool


@dataclass(frozen=True, slots=True)
class Format:
    """`f"text {expression}"`: the parts are joined, numbers in decimal."""

    parts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Member:
    """`of.name`"""

    of: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Index:
    """`of[at]`"""

    of: Expr
    at: Expr


@dataclass(frozen=True, slots=True)
class Call:
    """`of.name(arguments)`"""

    of: Expr
    name: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Cast:
    """`of.as<type>`"""

    of: Expr
    type: str


@dataclass(frozen=True, slots=True)
class Unary:
    """`-x`, `~x`, `not x`"""

    op: str
    of: Expr


@dataclass(frozen=True, slots=True)
class Binary:
    """Arithmetic, comparison, `and`, `or`."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Choice:
    """`condition ? then : otherwise`"""

    condition: Expr
    then: Expr
    otherwise: Expr


Expr = Literal | Array | Name | EnumValue | SizeOf | Format | Member | Index | Call | Cast | Unary | Binary | Choice

# The next token of an expression, after spaces.
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<float>\d*\.\d+(?:[eE][+-]?\d+)?|\d+(?:\.(?![\w.])|[eE][+-]?\d+))
  | (?P<int>0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|0|[1-9][\d_]*)
  | (?P<format>f")
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<text>"(?:[^"\\]|\\.)*"|'[^']*')
  | (?P<op>::|<<|>>|<=|>=|==|!=|[-+*/%&|^~<>?:.,()\[\]])
  )""",
    re.VERBOSE,
)
_STORED = re.compile(r"([usf][1248](le|be)|strz)(\[\])?|.*\[\]\[\]")
"""Types in `as<...>` and `sizeof<...>` that only stored values have, or none."""
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("<", "<=", ">", ">=", "==", "!="),
    ("|",),
    ("^",),
    ("&",),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
"""Binary operators by precedence, those that bind least first."""
MOST_DIGITS = 200
"""Most digits of a number in an expression: no layout needs so many, and Python is slow for very long ones."""

# Characters by the letter of their escape in double-quoted strings.
_ESCAPES = {"a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b"}
_ESCAPES |= {one: one for one in "\"'\\"}


SPECIAL = frozenset(("_", "_index", "_io", "_parent", "_root", "_sizeof"))
"""Names that begin with `_`."""


def is_private(name: str) -> bool:
    """Return whether a name begins or ends with `__`, as those that Python reserves; no specification needs one."""
    return name.startswith("__") or name.endswith("__")


class _Parser:
    """Recursive descent over the tokens of one expression: a method for each level of precedence.

    `tokens` are pairs of kind (the names of the groups in `_TOKEN`, or "end") and text; `at` is the index of the
    next one.
    """

    def __init__(self, text: str) -> None:
        """Split `text` into tokens. Raises `UnsupportedError` at a character that starts none."""
        self.text = text
        self.tokens: list[tuple[str, str]] = []
        at = 0
        text = text.rstrip()
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None or found.lastgroup is None:
                raise UnsupportedError(f"expression {self.text!r}: cannot read {text[at : at + 10]!r}")
            end = _format_end(text, found.end()) if found.lastgroup == "format" else found.end()
            self.tokens.append((found.lastgroup, text[found.start(found.lastgroup) : end]))
            if found.lastgroup == "name" and is_private(found["name"]):
                raise UnsupportedError(f"expression {self.text!r}: {found['name']:.60} begins or ends with `__`")
            at = end
        self.tokens.append(("end", ""))
        self.at = 0

    @property
    def next_kind(self) -> str:
        """The kind of the next token."""
        return self.tokens[self.at][0]

    @property
    def next_text(self) -> str:
        """The text of the next token."""
        return self.tokens[self.at][1]

    def whole(self) -> Expr:
        """Parse all of the text as one expression."""
        parsed = self.choice()
        if self.next_kind != "end":
            raise UnsupportedError(f"expression {self.text!r}: {self.found()} was not expected")
        return parsed

    def listed(self) -> tuple[Expr, ...]:
        """Parse all of the text as expressions separated by commas; one comma may follow the last."""
        found = [self.choice()]
        while self.take(",") and self.next_kind != "end":
            found.append(self.choice())
        if self.next_kind != "end":
            raise UnsupportedError(f"expression {self.text!r}: {self.found()} was not expected")
        return tuple(found)

    def take(self, *wanted: str) -> str | None:
        """Consume the next token and return its text if it is one of `wanted`; else return None."""
        kind, text = self.tokens[self.at]
        if text in wanted and kind in ("op", "name"):
            self.at += 1
            return text
        return None

    def need(self, wanted: str) -> None:
        """Consume the next token, which has to be `wanted`."""
        if self.take(wanted) is None:
            raise UnsupportedError(f"expression {self.text!r}: {wanted!r} is missing before {self.found()}")

    def found(self) -> str:
        """Return the next token, for messages."""
        kind, text = self.tokens[self.at]
        return "its end" if kind == "end" else repr(text)

    def choice(self) -> Expr:
        """Parse `condition ? then : otherwise`, or an expression of higher precedence."""
        condition = self.either()
        if self.take("?") is None:
            return condition
        then = self.choice()
        self.need(":")
        return Choice(condition, then, self.choice())

    def either(self) -> Expr:
        """Parse `a or b`, or an expression of higher precedence."""
        left = self.both()
        while self.take("or"):
            left = Binary("or", left, self.both())
        return left

    def both(self) -> Expr:
        """Parse `a and b`, or an expression of higher precedence."""
        left = self.negated()
        while self.take("and"):
            left = Binary("and", left, self.negated())
        return left

    def negated(self) -> Expr:
        """Parse `not a`, or an expression of higher precedence."""
        return Unary("not", self.negated()) if self.take("not") else self.level(0)

    def level(self, depth: int) -> Expr:
        """Parse binary operators from precedence level `depth` (an index of `_LEVELS`) upwards."""
        if depth == len(_LEVELS):
            return self.signed()
        left = self.level(depth + 1)
        while op := self.take(*_LEVELS[depth]):
            left = Binary(op, left, self.level(depth + 1))
            if depth == 0:  # `a < b < c` means nothing
                break
        return left

    def signed(self) -> Expr:
        """Parse `-a`, `~a` or `+a`, or an expression of higher precedence."""
        if op := self.take("-", "~"):
            return _signed(Unary(op, self.signed()))
        self.take("+")
        return self.postfix()

    def postfix(self) -> Expr:
        """Parse a primary and all of `[index]`, `.name`, `.name(arguments)` and `.as<type>` that follow it."""
        of = self.primary()
        while True:
            if self.take("["):
                of = Index(of, self.choice())
                self.need("]")
            elif self.take("."):
                kind, name = self.tokens[self.at]
                if kind != "name":
                    raise UnsupportedError(f"expression {self.text!r}: a name is missing after the dot")
                self.at += 1
                if name == "as":
                    of = Cast(of, self.type_name())
                elif self.take("("):
                    of = Call(of, name, self.arguments(")"))
                else:
                    of = Member(of, name)
            else:
                return of

    def type_name(self) -> str:
        """Parse the type in `as<type>`."""
        self.need("<")
        name = ""
        while self.next_text != ">":
            if self.next_kind == "end":
                raise UnsupportedError(f"expression {self.text!r}: `as<` is not closed")
            name += self.next_text
            self.at += 1
        self.at += 1
        if not name:
            raise UnsupportedError(f"expression {self.text!r}: a type is missing in `<>`")
        if _STORED.fullmatch(name):
            raise UnsupportedError(f"expression {self.text!r}: `{name:.60}` is not the type of a value")
        return name

    def arguments(self, close: str) -> tuple[Expr, ...]:
        """Parse expressions separated by commas up to `close`."""
        found: list[Expr] = []
        if self.take(close):
            return ()
        while True:
            found.append(self.choice())
            if self.take(close):
                return tuple(found)
            self.need(",")
            if close == "]" and self.take(close):  # one comma may follow the last of a list
                return tuple(found)

    def primary(self) -> Expr:
        """Parse a literal, a name, a list, `sizeof<type>`, or an expression in parentheses; a list of bytes is a
        literal.
        """
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind in ("int", "float"):
            return Literal(_number(text.replace("_", "").lower(), kind))
        if kind == "format":
            return Format(tuple(_format_parts(text[2:-1])))
        if kind == "text":
            return Literal(text[1:-1] if text[0] == "'" else _unescape(text[1:-1]))
        if text in ("sizeof", "bitsizeof") and self.next_text == "<":
            return SizeOf(self.type_name(), text == "bitsizeof")
        if kind == "name" or (text == "::" and self.next_kind == "name"):
            return self.named(text)
        if text == "(":
            inner = self.choice()
            self.need(")")
            return inner
        if text == "[":
            return _list(self.arguments("]"))
        self.at -= 1
        raise UnsupportedError(f"expression {self.text!r}: {self.found()} was not expected")

    def named(self, text: str) -> Expr:
        """Parse what starts with the name `text`: a boolean, a name, or a value of an enumeration (`a::b`)."""
        if text in ("true", "false"):
            return Literal(text == "true")
        if text.startswith("_") and text not in SPECIAL:
            raise UnsupportedError(f"expression {self.text!r}: {text:.60} is not a name")
        if text == "::":  # from the root on: an empty name, and `::` is read again below
            self.at, text = self.at - 1, ""
        if self.next_text != "::":
            return Name(text)
        path = [text]
        while self.take("::"):
            path.append(self.next_text)
            self.at += 1
        return EnumValue(tuple(path[:-1]), path[-1])


def _number(digits: str, kind: str) -> int | float:
    """Return the value of a number (`int` or `float`) without underscores, in lower case."""
    if kind == "float":
        value = float(digits)
        if math.isinf(value):
            raise UnsupportedError("a number that is too large")
        return value
    if len(digits) > MOST_DIGITS:
        raise UnsupportedError("a number of too many digits")
    return int(digits, 0) if digits.startswith(("0x", "0b", "0o")) else int(digits)


def _list(items: tuple[Expr, ...]) -> Expr:
    """Return a list that is written out; one of constants that fit bytes is a literal of bytes."""
    values = [one.value for one in items if isinstance(one, Literal) and type(one.value) is int]
    if items and len(values) == len(items) and all(0 <= value < 256 for value in values):
        return Literal(bytes(values))
    return Array(items)


def _format_end(text: str, at: int) -> int:
    """Return the position after the quotation mark that closes a format string; `at` is inside it."""
    while at < len(text) and text[at] != '"':
        # An escape is two characters.
        at = _braces_end(text, at) if text[at] == "{" else at + 1 + (text[at] == "\\")
    if at >= len(text):
        raise UnsupportedError(f"format string {text!r}: it is not closed")
    return at + 1


def _braces_end(text: str, at: int) -> int:
    """Return the position after the brace that closes an expression in a format string; `at` is that of the opening
    one.
    """
    at += 1
    while text[at : at + 1] != "}":
        found = _TOKEN.match(text, at) or re.compile(r"\s+(?=\})").match(text, at)
        if found is None:
            raise UnsupportedError(f"format string {text!r}: cannot read {text[at : at + 10]!r}")
        at = _format_end(text, found.end()) if found.lastgroup == "format" else found.end()
    return at + 1


def _format_parts(text: str) -> Iterator[Expr]:
    """Yield the parts inside a format string: expressions in braces, which may have strings in them, and text."""
    at = 0
    while at < len(text):
        if text[at] == "{":
            end = _braces_end(text, at)
            yield _Parser(text[at + 1 : end - 1]).whole()
        else:
            found = re.compile(r"(?:[^{\\]|\\.)+", re.DOTALL).match(text, at)
            if found is None:
                raise UnsupportedError(f"format string {text!r}: an escape is not complete")
            yield Literal(_unescape(found[0]))
            end = found.end()
        at = end


def _unescape(text: str) -> str:
    """Return a quoted string with its escapes replaced: `u` and four digits, octal digits, or a letter."""

    def one(found: re.Match[str]) -> str:
        """Return the character of one escape."""
        code = found[1]
        if code[0] == "u" and len(code) == 5:
            return chr(int(code[1:], 16))
        if code[0] in "01234567":
            if int(code, 8) > sys.maxunicode:
                raise UnsupportedError(f"text {text!r}: there is no character {found[0]!r}")
            return chr(int(code, 8))
        if code not in _ESCAPES:
            raise UnsupportedError(f"text {text!r}: no escape begins with {found[0]!r}")
        return _ESCAPES[code]

    return re.sub(r"\\(u[0-9a-fA-F]{4}|[0-7]{1,20}|.)", one, text, flags=re.DOTALL)


def parse(text: Any) -> Expr:
    """Return the tree of an expression in YAML: text, a number or a truth value.  Raises `UnsupportedError` for
    others.
    """
    if isinstance(text, float) and not math.isfinite(text):
        raise UnsupportedError(f"{text} is not a number to calculate with")
    if isinstance(text, (bool, int, float)):
        return Literal(text)
    if isinstance(text, list):
        text = "[" + ", ".join(map(str, text)) + "]"
    return _parsed(str(text))


@functools.lru_cache(maxsize=10_000)
def _parsed(text: str) -> Expr:
    """Return the tree of an expression; the most recent ones are kept."""
    try:
        return _Parser(text).whole()
    except RecursionError:
        raise UnsupportedError("an expression is nested too deeply") from None


def parse_list(text: str) -> tuple[Expr, ...]:
    """Return the trees of expressions between commas.  Raises `UnsupportedError` for others."""
    try:
        return _Parser(text).listed() if text.strip() else ()
    except RecursionError:
        raise UnsupportedError("an expression is nested too deeply") from None


_INTEGERS = frozenset({"u1", "u2", "u4", "u8", "s1", "s2", "s4", "s8"})
"""Types to which a cast of a number changes nothing, as numbers are unlimited."""

_OPERANDS: dict[str, tuple[type, ...]] = {"not": (bool,), "-": (int, float), "~": (int,)}
"""Classes of the constants that unary operators take."""

OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
"""The comparison that is true when a comparison is false."""

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
"""Functions of Python for binary operators."""


def replaced(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Return a tree with `change` applied to every node, innermost first."""
    values: list[Any] = []
    for name in expr.__match_args__:
        value = getattr(expr, name)
        if isinstance(value, tuple) and value and not isinstance(value[0], str):  # strings are the path of an enum
            value = tuple(replaced(one, change) for one in value)
        elif isinstance(value, Expr):
            value = replaced(value, change)
        values.append(value)
    return change(type(expr)(*values))


def nodes(expr: Expr) -> list[Expr]:
    """Return every node of a tree, innermost first."""
    found: list[Expr] = []
    for name in expr.__match_args__:
        value = getattr(expr, name)
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, Expr):
                found += nodes(one)
    found.append(expr)
    return found


def names(expr: Expr) -> set[str]:
    """Return every name that an expression begins a path with."""
    return {one.id for one in nodes(expr) if isinstance(one, Name)}


def items_of(expr: Expr) -> tuple[Expr, ...] | None:
    """Return the items of a list that is written out, None for anything else; small numbers are parsed as bytes."""
    if isinstance(expr, Literal) and isinstance(expr.value, bytes):
        return tuple(map(Literal, expr.value))
    return expr.items if isinstance(expr, Array) else None


def fold(expr: Expr, known: Mapping[Expr, Expr] | None = None, below: Mapping[Expr, int] | None = None) -> Expr:
    """Return a tree with its constant parts computed.

    `known` maps expressions to their values; `below` maps integers to a bound: they are at least 0 and less than
    that.
    """
    known, below = known or {}, below or {}

    def one(node: Expr) -> Expr:
        """Return a node simplified: known values put in, operators on literals computed, casts of numbers removed."""
        node = known.get(node, node)
        if isinstance(node, Unary):
            return _signed(node)
        if isinstance(node, Cast) and node.type in _INTEGERS:
            return node.of
        if isinstance(node, Choice) and isinstance(node.condition, Literal) and known:
            # Without the other branch, which may be a float, `/` could mean something else: see `varint` for `known`.
            return node.then if node.condition.value else node.otherwise
        return _folded(node, below) if isinstance(node, Binary) else node

    return replaced(expr, one)


def _signed(node: Unary) -> Expr:
    """Return `node` computed if it is an operator on a literal, else as it is."""
    if not isinstance(node.of, Literal) or type(node.of.value) not in _OPERANDS[node.op]:
        return node
    value = node.of.value
    if node.op == "not":
        return Literal(not value)
    return Literal(-value if node.op == "-" else ~value)


def _folded(node: Binary, below: Mapping[Expr, int]) -> Expr:
    """Return `node` computed if both sides are constant, or simplified (`a + 0`); as it is if it fails or is too
    large.
    """
    left, right = node.left, node.right
    if isinstance(left, Literal) and isinstance(right, Literal) and node.op in OPERATORS:
        return _computed(node, left.value, right.value)
    # One side is constant: it may decide, or change nothing.
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Literal):
            if node.op in ("and", "or"):
                return other if bool(one.value) is (node.op == "and") else Literal(node.op == "or")
            is_neutral = (node.op, one.value) in (("+", 0), ("*", 1))
            if is_neutral and type(one.value) is int:
                return other
    # The left side is known to be below a bound: a remainder or a comparison may be decided by that.
    if isinstance(right, Literal) and isinstance(right.value, int) and left in below and below[left] <= right.value:
        if node.op == "%":
            return left
        if node.op in ("<", ">=", "=="):
            return Literal(node.op == "<")
    return node


def _computed(node: Binary, left: Any, right: Any) -> Expr:
    """Return `node`, an operator on constants, computed; as it is if that fails or the result is too large."""
    # A number of this many bits has about as many digits as a number may have.
    if node.op == "<<" and not (isinstance(right, int) and right < 4 * MOST_DIGITS):
        return node
    are_integers = type(left) is int and type(right) is int
    compute = OPERATORS[node.op] if are_integers or node.op != "/" else operator.truediv
    try:
        return Literal(compute(left, right))
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return node
