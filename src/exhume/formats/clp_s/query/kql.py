"""KQL, the query language of clp-s: query text to syntax tree, with errors that point at a column.

    query    = operand { ( AND | OR ) operand }
    operand  = NOT operand | "(" query ")" | column ":" "{" query "}" | column ":" list | column ":" value
             | column ( "<" | "<=" | ">" | ">=" ) value | literal
    list     = "(" [ AND | OR | NOT ] { literal } ")"
    value    = literal | "timestamp(" QUOTED [ "," QUOTED ] ")" | "date(" ( QUOTED | text without quotes ) ")"
    column, literal = WORD | QUOTED

Keywords match in any case; a word is as long as it can be, and one that is exactly a keyword is the keyword.  AND and
OR have the same precedence and associate to the left; NOT binds tighter.  The parser keeps its own stack, so a query of
any length or nesting of parentheses parses in linear time.

What a parsed query *means* (types, schemas, versions) is `condition.py` and `plan.py`; this module knows the text only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NoReturn

from exhume.errors import QueryError
from exhume.formats.clp_s.query.tree import (
    EQUAL,
    And,
    Column,
    EscapeError,
    Expression,
    Filter,
    Instant,
    Key,
    Literal,
    Not,
    Or,
    parse_column,
    parse_literal,
)
from exhume.tuples import NamedTuple

MAX_DEPTH: Final = 250
"""Levels of AND inside OR inside AND (parentheses and NOT cost nothing): a bound for the recursive passes."""


# --- tokens -----------------------------------------------------------------------------------------------------------

_SPACE = frozenset(" \t\r\n")
# Characters that mean nothing else, and escapes; a backslash that escapes nothing ends the word.
_WORD = re.compile(r"""(?:[^\\():<>"{} \t\r\n]|\\[trn\\():<>"*?{}.@$!#]|\\u[0-9a-fA-F]{4})+""")
_FUNCTIONS = ("timestamp(", "date(")  # with the parenthesis: without it, they are words
_KEYWORDS = frozenset(("and", "or", "not"))

# Kinds of tokens, as error messages name them.
END, WORD, QUOTED, FUNCTION, RANGE, KEYWORD = "the end of the query", "word", "quoted", "function", "range", "keyword"


class Token(NamedTuple):
    """`kind` is one of the names above, or the punctuation mark itself; `text` has no quotes."""

    kind: str
    text: str
    position: int

    def __str__(self) -> str:
        """Return the token as error messages show it."""
        if self.kind == END:
            return END
        return f'"{self.text}"' if self.kind == QUOTED else f"{self.text!r}"


class _SyntaxFailureError(Exception):
    """An error at a position (0-based) of the query; `parse` turns it into a `QueryError`."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


_MEANT = {
    "=": "level: ERROR",
    "==": "level: ERROR",
    "!=": "NOT level: ERROR",
    "<>": "NOT level: ERROR",
    "&&": "AND",
    "&": "AND",
    "||": "OR",
    "|": "OR",
    ",": "AND, or OR",
}
"""For signs of other query languages, what KQL has."""


def _suggestion(token: Token) -> str:
    """Return the suggestion that follows an unexpected token in an error; "" without one."""
    meant = _MEANT.get(token.text) if token.kind != QUOTED else None
    return "" if meant is None else f" (did you mean {meant}?)"


def _fail(message: str, position: int) -> NoReturn:
    """Raise a syntax error at a position of the query."""
    raise _SyntaxFailureError(message, position)


def _closing_quote(query: str, start: int) -> int:
    """Return the position of the quote that closes the string that starts at `start`; -1 if there is none.

    It is the first quote that no backslash precedes; without one, the last quote at all (`"C:\\"`).
    """
    last = -1
    at = query.find('"', start)
    while at >= 0:
        if at == start or query[at - 1] != "\\":
            return at
        last = at
        at = query.find('"', at + 1)
    return last


def tokens(query: str) -> Iterator[Token]:
    """Yield the tokens of a query, the last of them `END`.  Raises `_SyntaxFailureError`."""
    at, size = 0, len(query)
    while True:
        while at < size and query[at] in _SPACE:
            at += 1
        if at >= size:
            yield Token(END, "", size)
            return
        char = query[at]
        if char == '"':
            end = _closing_quote(query, at + 1)
            if end < 0:
                _fail("the string that starts here is not closed", at)
            yield Token(QUOTED, query[at + 1 : end], at)
            at = end + 1
        elif char in ":{}()":
            yield Token(char, char, at)
            at += 1
        elif char in "<>":
            sign = query[at : at + 2] if query[at + 1 : at + 2] == "=" else char
            yield Token(RANGE, sign, at)
            at += len(sign)
        elif query.startswith(_FUNCTIONS, at):  # before words: the name is one, too
            name = query[at : query.index("(", at)]
            yield Token(FUNCTION, name, at)
            at += len(name) + 1
        elif word := _WORD.match(query, at):
            text = word[0]
            kind = KEYWORD if text.lower() in _KEYWORDS else WORD
            yield Token(kind, text.lower() if kind == KEYWORD else text, at)
            at = word.end()
        else:
            _fail("a backslash must be followed by a special character, t, r, n, or u and four hexadecimal digits", at)


# --- the parser -------------------------------------------------------------------------------------------------------


class _Frame:
    """State of one bracket level: the operands so far, the operator, and how the level was entered."""

    __slots__ = ("depth", "level", "negated", "opener", "operands", "operator", "position", "scope")

    def __init__(self, opener: str, position: int, scope: Column | None, parent: _Frame | None = None) -> None:
        """Open a level of the query: a parenthesis, a `column: { … }`, or the query itself.

        `opener`: its opening bracket at `position` of the query, "" for the query itself; `parent`: the level around.
        """
        self.opener = opener
        self.position = position
        self.scope = scope  # the column that surrounding `column: { … }` levels put before every path
        # Levels around it that have an operand already, each of which will become an AND or OR.
        self.level: int = parent.level + bool(parent.operands) if parent else 0
        if self.level > MAX_DEPTH:
            _fail(f"AND and OR are nested more than {MAX_DEPTH} levels deep", position)
        self.operands: list[Expression] = []
        self.operator = ""  # "and", "or"; "" before the first one
        self.negated = False  # whether an odd number of NOTs precedes the next operand
        self.depth = 0  # most levels of AND and OR in one of `operands`


class _Parser:
    """Shift-reduce with an explicit stack; AND and OR have one precedence and associate to the left.

    A `frame` is a bracket level; `scope` is the column of the surrounding `column: { … }`, None if there is none.
    """

    def __init__(self, query: str) -> None:
        self.query = query
        self.stream = tokens(query)
        self.token = next(self.stream)  # the next token, not consumed yet

    def advance(self) -> Token:
        """Consume the current token and return it; the last one, `END`, stays the current token."""
        token, self.token = self.token, next(self.stream, self.token)
        return token

    def expect(self, kind: str, what: str) -> Token:
        """Consume a token of this kind; for any other, raise an error that names `what` was expected."""
        if self.token.kind != kind:
            _fail(f"expected {what}, found {self.token}", self.token.position)
        return self.advance()

    def run(self) -> Expression:
        """Parse the whole query.  Raises `QueryError` with the column where it cannot be continued."""
        stack = [_Frame("", 0, None)]
        while True:
            self.operand(stack)
            while True:  # after an operand
                frame = stack[-1]
                token = self.token
                if token.kind == KEYWORD and token.text != "not":  # AND or OR: another operand follows
                    self.advance()
                    self.combine(frame, token)
                    break
                if token.kind in (")", "}"):
                    self.check_closing(frame, token)
                    self.advance()
                    stack.pop()
                    # The bracket is an operand of the level around it: the loop continues after that operand.
                    self.push(stack[-1], self.close(frame), self.depth(frame))
                    continue
                if token.kind != END:
                    _fail(
                        f"expected AND, OR or the end of the query, found {token}{_suggestion(token)}", token.position
                    )
                if frame.opener:
                    _fail(f"the {frame.opener} that opens here is not closed", frame.position)
                return self.close(frame)

    @staticmethod
    def check_closing(frame: _Frame, token: Token) -> None:
        """Raise a syntax error if a closing bracket is not that of the innermost level."""
        closing = {"(": ")", "{": "}"}.get(frame.opener)
        if closing is None:
            _fail(f"nothing is open here, found {token}", token.position)
        if token.kind != closing:
            where = f"the {frame.opener} at column {frame.position + 1}"
            _fail(f"expected {closing} for {where}, found {token}", token.position)

    def combine(self, frame: _Frame, token: Token) -> None:
        """Note the operator between two operands; a change of operator folds what came before into one operand."""
        if frame.operator and frame.operator != token.text:
            expression, depth = self.close(frame), self.depth(frame)
            frame.operands, frame.depth = [], 0
            self.push(frame, expression, depth)
        frame.operator = token.text

    @staticmethod
    def close(frame: _Frame) -> Expression:
        """Return the operands of a level as one expression, joined by its operator."""
        if len(frame.operands) == 1:
            return frame.operands[0]
        return (And if frame.operator == "and" else Or)(tuple(frame.operands))

    @staticmethod
    def depth(frame: _Frame) -> int:
        """Return the levels of AND and OR in what `close` returns: parentheses around one operand do not count."""
        return frame.depth + (len(frame.operands) > 1)

    def push(self, frame: _Frame, expression: Expression, depth: int = 0) -> None:
        """Add a finished operand to its level, below the NOTs that precede it; `depth`: levels of AND and OR in it."""
        if frame.negated:
            expression = expression.child if isinstance(expression, Not) else Not(expression)
            frame.negated = False
        frame.operands.append(expression)
        frame.depth = max(frame.depth, depth)
        if frame.depth > MAX_DEPTH:
            _fail(f"AND and OR are nested more than {MAX_DEPTH} levels deep", self.token.position)

    def operand(self, stack: list[_Frame]) -> None:
        """Read one operand and push it to its level.

        Each NOT before it negates it, and each opening bracket before it opens a level, which is pushed to `stack`.
        """
        while True:
            token = self.token
            frame = stack[-1]
            if token.kind == KEYWORD and token.text == "not":
                self.advance()
                frame.negated = not frame.negated
            elif token.kind == "(":
                self.advance()
                stack.append(_Frame("(", token.position, frame.scope, frame))
            elif token.kind in (WORD, QUOTED):
                self.advance()
                if self.token.kind == ":":
                    self.advance()
                    column = self.column(token, frame.scope)
                    if self.token.kind == "{":  # the query in it is about columns below this one
                        stack.append(_Frame("{", self.advance().position, column, frame))
                        continue
                    self.push(frame, self.values(column))
                elif self.token.kind == RANGE:
                    op = self.advance().text
                    self.push(frame, Filter(self.column(token, frame.scope), op, self.value(op)))
                else:  # a value without a column
                    self.push(frame, self.bare_value(token, frame.scope))
                return
            else:
                _fail(f"expected a column, a value, NOT or (, found {token}", token.position)

    def bare_value(self, token: Token, scope: Column | None) -> Expression:
        """A value alone stands for any column (of the surrounding path, if there is one)."""
        column = Column((Key(b"*", any=True),), "", token.position)
        return Filter(column.below(scope) if scope else column, EQUAL, self.literal(token))

    def values(self, column: Column) -> Expression:
        """Parse what follows `column:`: one value, or a list of values in parentheses."""
        if self.token.kind != "(":
            return Filter(column, EQUAL, self.value())
        opening = self.advance()
        mode = "or"  # how the values of a list are joined; "not": none of them may match
        if self.token.kind == KEYWORD:
            mode = self.advance().text
        operands: list[Expression] = []
        while self.token.kind in (WORD, QUOTED):
            token = self.advance()
            part: Expression = Filter(column, EQUAL, self.literal(token))
            operands.append(Not(part) if mode == "not" else part)
        if self.token.kind == END:
            _fail("the list that starts here is not closed", opening.position)
        self.expect(")", "a value or )")
        if len(operands) == 1:
            return operands[0]
        return Or(tuple(operands)) if mode == "or" else And(tuple(operands))

    def value(self, op: str = EQUAL) -> Literal:
        """Parse a value, which others are compared with by `op`: a literal or an instant (a point in time)."""
        token = self.token
        if token.kind == FUNCTION:
            return self.instant()
        if token.kind not in (WORD, QUOTED):
            _fail(f"expected a value, found {token}", token.position)
        self.advance()
        return self.literal(token, op)

    def instant(self) -> Instant:
        """Parse `timestamp("text"[, "pattern"])` or `date(text)` from its opening token.  Raises `QueryError`."""
        opening = self.token
        start = opening.position + len(opening.text) + 1  # after the name and its parenthesis
        pattern = None
        if self.query[start : start + 1] != '"' and opening.text == "date":
            # `date(2024-01-02T03:04:05)`: the text has colons, which are tokens anywhere else.
            end = self.query.find(")", start)
            if end < 0 or '"' in self.query[start:end] or end == start:
                _fail('expected date("…")', opening.position)
            text = self.query[start:end]
            # Continue with the tokens after the text, at their positions in the whole query.
            rest = tokens(self.query[end:])
            self.stream = (Token(token.kind, token.text, token.position + end) for token in rest)
            self.token = next(self.stream)
        else:
            self.advance()
            text = self.expect(QUOTED, "a quoted time").text
            if self.token.kind == WORD and self.token.text == ",":
                self.advance()
                pattern = self.expect(QUOTED, "a quoted pattern").text
        self.expect(")", ")")
        return Instant(text, pattern, opening.position)

    def literal(self, token: Token, op: str = EQUAL) -> Literal:
        """Return the value that a word or quoted string stands for, compared by `op`.  The error position skips the
        opening quote.
        """
        try:
            return parse_literal(token.text, op)
        except EscapeError as error:
            _fail(str(error), token.position + error.offset + (token.kind == QUOTED))

    def column(self, token: Token, scope: Column | None) -> Column:
        """Parse a column name, below `scope` if it is inside `scope: { ... }`.  Raises `QueryError`."""
        try:
            column = parse_column(token.text, token.position)
        except EscapeError as error:
            _fail(f"not a column: {error}", token.position + error.offset + (token.kind == QUOTED))
        if scope is None:
            return column
        if len(scope.keys) > MAX_DEPTH:
            _fail(f"a path of more than {MAX_DEPTH} keys", token.position)
        if column.namespace:
            _fail("a namespace cannot be given inside { }: escape the sign if it belongs to the key", token.position)
        return column.below(scope)


def parse(query: str) -> Expression:
    """Parse a query.  Raises `QueryError`, which states the column of the fault in the text."""
    try:
        return _Parser(query).run()
    except _SyntaxFailureError as failure:
        raise query_error(str(failure), query, failure.position) from None


def query_error(message: str, query: str, position: int) -> QueryError:
    """Return the error for a place in the query (`position` is 0-based, the column shown 1-based)."""
    return QueryError(f"{message} (column {position + 1})", format="clp-s", query=query, column=position)
