"""The condition of a search: the form of a syntax tree before it is resolved against an archive's schemas.

A filter is one comparison, such as `level: ERROR`.  The passes are those of the native search (the reference
implementation, `clp-s s`), in its order, because each of them decides what matches:

1. `_push_down` and `distribute`: NOT moves down to the filters; then the condition becomes an OR of ANDs of filters,
unless that form is too large.

2. `_TypeNarrowing`: each filter keeps the column types that its literal can be compared with.

3. `_existence`: comparisons with `*` and `null` become tests whether a column exists.

A filter whose column a record lacks is false, negated or not: `NOT a: 1` finds records that have an `a`.

`dialect` is what KQL means in the archive's version; `query` is the text of the query, for errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from exhume.formats.clp_s.query import operand as types_of
from exhume.formats.clp_s.query.operand import ALL, ARRAYS, NULLS, STRINGS, TEXTS, Operand, instant_value, operand_of
from exhume.formats.clp_s.query.tree import EQUAL, And, Column, Dialect, Expression, Filter, Instant, Not, Or
from exhume.tuples import NamedTuple

EXISTS, MISSING = "exists", "missing"
"""Operators of a `ColumnTest` without an operand: whether the record has the column."""

MAX_CLAUSE_FILTERS: Final = 8192
"""Most filters of a condition as an OR of ANDs; if there were more, `distribute` leaves the condition as it is."""


class ColumnTest(NamedTuple):
    """One filter: `column op operand` over columns of `types`, negated when `inverted`.

    `op` is an operator of the query, `EXISTS` or `MISSING`; `types` is a set of bits (`operand.ALL` and others);
    `metadata`: the column is one of the archive's internal ones (`log_event_idx`).
    """

    column: Column
    op: str
    types: int
    operand: Operand | None = None
    inverted: bool = False
    metadata: bool = False

    def __str__(self) -> str:
        """Return the condition in a form for `--explain-plan`, such as `NOT level == ERROR`."""
        if self.op in (EXISTS, MISSING):
            return f"{self.column} {self.op}"
        assert self.operand is not None
        value = self.operand.text
        if value is None:
            number = self.operand.integer if self.operand.integer is not None else self.operand.real
            value = str(number).encode()
        shown = value.decode("utf-8", "backslashreplace")
        return f"{'NOT ' if self.inverted else ''}{self.column} {self.op} {shown}"


class AllOf(NamedTuple):
    """True if all children are (AND)."""

    children: tuple[Condition, ...]


class AnyOf(NamedTuple):
    """True if one child is (OR); without children it never is."""

    children: tuple[Condition, ...]


Condition = ColumnTest | AllOf | AnyOf

NEVER: Final = AnyOf(())
"""The condition that no record meets."""


def tests_of(condition: Condition) -> Iterator[ColumnTest]:
    """All tests of a condition, from left to right."""
    stack = [condition]
    while stack:
        condition = stack.pop()
        if isinstance(condition, ColumnTest):
            yield condition
        else:
            stack += reversed(condition.children)


def compile_condition(
    expression: Expression, dialect: Dialect, *, query: str = "", bounds: Sequence[ColumnTest] = ()
) -> Condition:
    """Return the condition after all passes; `bounds` are conditions on the timestamp column, put before the query.

    Raises `QueryError` for a time literal that cannot be read.
    """
    condition = _push_down(expression, False, dialect, query)
    if bounds:
        condition = AllOf((*bounds, condition))
    condition = distribute(condition)
    condition = _TypeNarrowing().run(condition)
    return _existence(condition)


def join(kind: type[AllOf | AnyOf], children: Sequence[Condition]) -> Condition:
    """Join conditions by AND (`AllOf`) or OR (`AnyOf`), simplified.

    Children of the same kind are merged into the new node; `NEVER` is dropped from an OR and makes an AND `NEVER`; a
    single child stands for itself.
    """
    flat: list[Condition] = []
    for child in children:
        if isinstance(child, kind) and child is not NEVER:
            flat += child.children
        elif child is not NEVER:
            flat.append(child)
        elif kind is AllOf:
            return NEVER
    if len(flat) == 1:
        return flat[0]
    return kind(tuple(flat)) if flat else NEVER


def _push_down(expression: Expression, inverted: bool, dialect: Dialect, query: str) -> Condition:
    """Return the condition for an expression (negated if `inverted`), with NOT at the filters only (De Morgan)."""
    while isinstance(expression, Not):
        expression, inverted = expression.child, not inverted
    if isinstance(expression, Filter):
        literal = expression.literal
        value = None
        if isinstance(literal, Instant):
            value = instant_value(literal, dialect, query)
        operand = operand_of(literal, expression.op, dialect, value)
        return ColumnTest(expression.column, expression.op, ALL, operand, inverted)
    children = []
    for child in expression.children:
        children.append(_push_down(child, inverted, dialect, query))  # noqa: PERF401 - a frame less per level
    # Whether the result is an AND.  De Morgan: a negated AND is an OR of negations, and vice versa.
    is_and = isinstance(expression, And) != inverted
    assert isinstance(expression, And | Or)
    if len(children) == 1:
        return children[0]
    return (AllOf if is_and else AnyOf)(tuple(children)) if children else NEVER


# --- alternatives of conjunctions ------------------------------------------------------------------------------------


def distribute(condition: Condition) -> Condition:
    """Return the condition as an OR of ANDs of filters; if that would be too large, only without needless nodes."""
    if isinstance(condition, ColumnTest):
        return condition
    _, filters = _size(condition)  # the number of filters that the result would have
    # A condition that is large as it is written may become twice as large.
    if filters > max(MAX_CLAUSE_FILTERS, 2 * _count(condition)):
        return flatten(condition)
    clauses = _clauses(condition)
    return join(AnyOf, [clause[0] if len(clause) == 1 else AllOf(tuple(clause)) for clause in clauses])


_LARGE: Final = 1 << 40
"""A number of filters that is too large in any case; `_size` counts no further."""


def _size(condition: Condition) -> tuple[int, int]:
    """Return the number of clauses, and of filters in all of them, that `_clauses` would make; at most `_LARGE`."""
    if isinstance(condition, ColumnTest):
        return 1, 1
    clauses, filters = (0, 0) if isinstance(condition, AnyOf) else (1, 0)  # of no children
    for child in condition.children:
        more_clauses, more_filters = _size(child)
        if isinstance(condition, AnyOf):
            clauses, filters = clauses + more_clauses, filters + more_filters
        else:
            # Each clause so far is joined with each clause of the child.
            clauses, filters = clauses * more_clauses, filters * more_clauses + more_filters * clauses
        clauses, filters = min(clauses, _LARGE), min(filters, _LARGE)
    return clauses, filters


def _clauses(condition: Condition) -> list[list[Condition]]:
    """Return the condition as alternatives (OR) of lists of filters that have to be true together (AND)."""
    if isinstance(condition, ColumnTest):
        return [[condition]]
    if isinstance(condition, AnyOf):
        out = []
        for child in condition.children:
            out += _clauses(child)
        return out
    # Order within a clause, as in the native search: nested conjunctions (the last one first), filters, one of each set
    # of alternatives.
    inner: list[Condition] = []
    filters: list[Condition] = []
    alternatives = []
    for child in condition.children:
        clauses = _clauses(child)
        if isinstance(child, ColumnTest):
            filters.append(child)
        elif len(clauses) == 1:
            inner[:0] = clauses[0]
        else:
            alternatives.append(clauses)
    out = [inner + filters]
    for clauses in alternatives:  # each combination of one clause from each
        out = [left + right for left in out for right in clauses]
    return out


def _count(condition: Condition) -> int:
    """Return the number of filters in a condition."""
    if isinstance(condition, ColumnTest):
        return 1
    total = 0
    for child in condition.children:
        total += _count(child)
    return total


def flatten(condition: Condition) -> Condition:
    """Return the condition without nodes inside nodes of the same kind (an AND inside an AND)."""
    if isinstance(condition, ColumnTest):
        return condition
    children = []
    for child in condition.children:
        children.append(flatten(child))  # noqa: PERF401 - a frame less per level
    return join(type(condition), children)


# --- types ------------------------------------------------------------------------------------------------------------


class _TypeNarrowing:
    """Keeps the types that a literal can be compared with.

    A negated comparison with a string concerns one of the two string types only (`TEXTS` have spaces, `STRINGS`
    do not).  Every value of the other type differs from it, so existence in that type is an alternative.  As in the
    native search the alternative is added once for each column within a conjunction: `NOT a: x AND NOT a: y` is false
    for an `a` with spaces.
    """

    def __init__(self) -> None:
        # The alternatives of the current conjunction: keys of the column, and the other string type.
        self.added: list[tuple[object, int]] = []

    def run(self, condition: Condition) -> Condition:
        """Return the condition with the types of its tests narrowed by their neighbors."""
        if isinstance(condition, ColumnTest):
            return self._test(condition)
        children = []
        for child in condition.children:
            children.append(self.run(child))  # noqa: PERF401 - a frame less per level
        self.added.clear()  # the conjunction ends here
        return join(type(condition), children)

    def _test(self, test: ColumnTest) -> Condition:
        """Return the filter with the types that its literal allows, or `NEVER` if there is none."""
        assert test.operand is not None
        types = test.types & test.operand.types
        if not types:
            return NEVER
        narrowed = test._replace(types=types)
        strings = types & (TEXTS | STRINGS)
        # A literal for both string types (with a wildcard and no space) is compared with both, negated or not.
        if test.inverted and test.op == EQUAL and strings in (TEXTS, STRINGS):
            other = (TEXTS | STRINGS) ^ strings
            key = (test.column.keys, other)
            if key not in self.added:
                self.added.append(key)
                return AnyOf((narrowed, ColumnTest(test.column, EXISTS, other)))
        return narrowed


def _existence(condition: Condition) -> Condition:
    """Return the condition with each comparison with `*` or `null` replaced by EXISTS or MISSING.

    A comparison with `null` also stays as one with the string "null".
    """
    if not isinstance(condition, ColumnTest):
        children = []
        for child in condition.children:
            children.append(_existence(child))  # noqa: PERF401 - a frame less per level
        return join(type(condition), children)
    operand = condition.operand
    if operand is None or condition.op != EQUAL:
        return condition
    if operand.anything:
        return ColumnTest(condition.column, MISSING if condition.inverted else EXISTS, condition.types)
    if operand.null:
        if condition.inverted:  # not null: there is a value of any other type
            return ColumnTest(condition.column, EXISTS, ALL & ~NULLS)
        found = ColumnTest(condition.column, EXISTS, NULLS)
        return AnyOf((found, condition._replace(types=condition.types & (ARRAYS | TEXTS | STRINGS))))
    return condition


__all__ = [
    "EXISTS",
    "MISSING",
    "NEVER",
    "AllOf",
    "AnyOf",
    "ColumnTest",
    "Condition",
    "compile_condition",
    "distribute",
    "join",
    "types_of",
]
