"""KQL text to syntax tree: queries made by the grammar, and errors that point at the right column."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from exhume.errors import QueryError
from exhume.formats.clp_s.query import kql
from exhume.formats.clp_s.query.tree import (
    And,
    Boolean,
    Column,
    EscapeError,
    Expression,
    Filter,
    Instant,
    Key,
    Literal,
    Not,
    Null,
    Number,
    Or,
    Text,
    clean_pattern,
)


def column(*keys: str, namespace: str = "") -> Column:
    return Column(tuple(Key(b"*", any=True) if key == "*" else Key(key.encode()) for key in keys), namespace)


def form(part: Any) -> Any:
    """Nested tuples that name the class of each node, since named tuples of two classes may be equal; no positions."""
    if not isinstance(part, tuple):
        return part
    names = [name for name in getattr(part, "_fields", ()) if name != "position"]
    return (type(part).__name__, *(form(getattr(part, name)) for name in names)) if names else tuple(map(form, part))


def equal(name: str, literal: Literal) -> Filter:
    return Filter(column(*name.split(".")), ":", literal)


A, B, C = (equal(name, Number(b"1", 1)) for name in "abc")


@pytest.mark.parametrize(
    ("query", "tree"),
    [
        ("a: 1", A),
        ("a : 1", A),
        ('"a": "1"', A),
        ("a: 1 AND b: 1 OR c: 1", Or((And((A, B)), C))),
        ("a: 1 OR b: 1 AND c: 1", And((Or((A, B)), C))),
        ("a: 1 OR (b: 1 and c: 1)", Or((A, And((B, C))))),
        ("NOT a: 1 AND b: 1", And((Not(A), B))),
        ("not (a: 1 AND b: 1)", Not(And((A, B)))),
        ("NOT NOT a: 1", A),
        ("((a: 1))", A),
        ("a > 1.5", Filter(column("a"), ">", Number(b"1.5", 1.5))),
        ("a<=-2", Filter(column("a"), "<=", Number(b"-2", -2))),
        ("x", equal("*", Text(b"x"))),
        ("*: x", equal("*", Text(b"x"))),
        ("a.b.*: x", equal("a.b.*", Text(b"x"))),
        ("a.*.*.b: x", equal("a.*.b", Text(b"x"))),
        (r"a\.b: x", Filter(column("a.b"), ":", Text(b"x"))),
        (r"\@a: x", Filter(column("@a"), ":", Text(b"x"))),
        (r"\*: x", Filter(Column((Key(b"*"),)), ":", Text(b"x"))),
        ("@a: x", Filter(column("a", namespace="@"), ":", Text(b"x"))),
        ("$_filename: x", Filter(column("_filename", namespace="$"), ":", Text(b"x"))),
        ("a: {b: 1 OR c: {*.d: x}}", Or((equal("a.b", Number(b"1", 1)), equal("a.c.*.d", Text(b"x"))))),
        ("@a: {b: x}", Filter(column("a", "b", namespace="@"), ":", Text(b"x"))),
        ("a: {x}", equal("a.*", Text(b"x"))),
        ("a: (x y)", Or((equal("a", Text(b"x")), equal("a", Text(b"y"))))),
        ("a: (AND x y)", And((equal("a", Text(b"x")), equal("a", Text(b"y"))))),
        ("a: (NOT x y)", And((Not(equal("a", Text(b"x"))), Not(equal("a", Text(b"y")))))),
        ("a: ()", Or(())),
        ("a: true", equal("a", Boolean(True))),
        ("a: TRUE", equal("a", Text(b"TRUE"))),
        ("a: null", equal("a", Null())),
        ("a: 007", equal("a", Number(b"007", 7))),
        ("a: +5", equal("a", Number(b"+5", 5))),
        ("a: 1e3", equal("a", Number(b"1e3", 1000.0))),
        ("a: .5", equal("a", Number(b".5", 0.5))),
        ("a: 1e", equal("a", Text(b"1e"))),
        ("a: 0x10", equal("a", Text(b"0x10"))),
        ("a: inf", equal("a", Text(b"inf"))),
        ("a: 1e999", equal("a", Text(b"1e999"))),
        ("a: 9223372036854775808", equal("a", Number(b"9223372036854775808", 2.0**63))),
        ("a: *x**y*", equal("a", Text(b"*x*y*"))),
        (r'a: "x\*\\y\"z"', equal("a", Text(rb"x\*\\y" + b'"z'))),
        (r'a: "\u00e9\u002a\u005c"', equal("a", Text("é".encode() + rb"\*\\"))),
        (r"a: x\(y\:z\.w", equal("a", Text(b"x(y:z.w"))),
        ('a: "AND"', equal("a", Text(b"AND"))),
        ("a: android", equal("a", Text(b"android"))),
        ("ключ: знач", equal("ключ", Text("знач".encode()))),
        ('t > timestamp("2024")', Filter(column("t"), ">", Instant("2024"))),
        ('t: timestamp("x" , "\\Y")', Filter(column("t"), ":", Instant("x", "\\Y"))),
        ('t: date("a b")', Filter(column("t"), ":", Instant("a b"))),
        ("t: date(2024-01-02T03:04:05) OR a: 1", Or((Filter(column("t"), ":", Instant("2024-01-02T03:04:05")), A))),
        ("a: timestamp", equal("a", Text(b"timestamp"))),
        (r'a: "C:\\" OR b: "y"x', None),
        ('a: "x\\"', EscapeError),
    ],
)
def test_trees(query: str, tree: Any) -> None:
    if tree is None or tree is EscapeError:
        with pytest.raises(QueryError):
            kql.parse(query)
    else:
        assert form(kql.parse(query)) == form(tree)


@pytest.mark.parametrize(
    ("query", "position"),
    [
        ("", 0),
        ("   ", 3),
        ("a: ", 3),
        ("a: x AND", 8),
        ("a: x y", 5),
        ("b: 1 c: 2", 5),
        ("AND a", 0),
        ("(a: 1", 0),
        ("a: 1)", 4),
        ("a: {b: 1)", 8),
        ("a: {b: 1", 3),
        ("()", 1),
        ("a: (1 OR 2)", 6),
        ("a: (1", 3),
        ("a > (1)", 4),
        ("a: > 1", 3),
        ('a: "x', 3),
        (r"a: x\q", 4),
        (r'a: "x\q"', 5),
        (r'a: "\ud800"', 4),
        (r'a: "\u12"', 4),
        ("a..b: 1", 2),
        (".a: 1", 0),
        ("a.: 1", 2),
        ("@: 1", 1),
        ('"a..b": 1', 3),
        ("a: {@b: 1}", 4),
        ('timestamp("x")', 0),
        ("t: timestamp(x)", 13),
        ('t: timestamp("x",)', 17),
        ("t: date()", 3),
    ],
)
def test_errors_point_at_the_column(query: str, position: int) -> None:
    with pytest.raises(QueryError) as caught:
        kql.parse(query)
    assert caught.value.column == position
    assert caught.value.query == query
    if query:
        assert caught.value.pointer().split("\n")[1].index("^") == position
    assert f"(column {position + 1})" in str(caught.value)


def test_the_caret_stays_on_a_narrow_line() -> None:
    with pytest.raises(QueryError) as caught:
        kql.parse("a: 1 OR " * 100 + ")" + " OR b: 1" * 100)
    shown, mark = caught.value.pointer(60).split("\n")
    assert len(shown) == 60
    assert shown[mark.index("^")] == ")"


# --- queries made by the grammar, with the trees that they stand for --------------------------------------------------

Made = tuple[str, Callable[[Column | None], Expression]]
"""The text of a query, and its tree below the column that surrounds it."""

COLUMNS = {"a": column("a"), "b.*": column("b", "*"), '"c d"': column("c d"), r"x\.y": column("x.y"), "*": column("*")}
LITERALS: dict[str, Literal] = {
    "1": Number(b"1", 1),
    '"q) r"': Text(b"q) r"),
    "x*": Text(b"x*"),
    "true": Boolean(True),
    "null": Null(),
    '"AND"': Text(b"AND"),
    "timestamp": Text(b"timestamp"),
}
INSTANTS: dict[str, Literal] = {
    'timestamp("2024")': Instant("2024"),
    'timestamp( "x" , "\\Y" )': Instant("x", "\\Y"),
    'date("2024")': Instant("2024"),
    "date(2024:1)": Instant("2024:1"),
}


def below(target: Column, scope: Column | None) -> Column:
    return target.below(scope) if scope else target


def compared(name: str, op: str, value: str) -> Made:
    """A filter on one column."""
    literal = (LITERALS | INSTANTS)[value]
    return f"{name}{op} {value}", lambda scope: Filter(below(COLUMNS[name], scope), op, literal)


def among(name: str, mode: str, values: list[str]) -> Made:
    """A filter on a list of values."""

    def tree(scope: Column | None) -> Expression:
        parts: list[Expression] = [Filter(below(COLUMNS[name], scope), ":", LITERALS[value]) for value in values]
        if mode == "NOT":
            parts = [Not(part) for part in parts]
        if len(parts) == 1:
            return parts[0]
        return And(tuple(parts)) if mode in ("AND", "NOT") else Or(tuple(parts))

    return f"{name}: ({mode} {' '.join(values)})", tree


def negated(inner: Made) -> Made:
    def tree(scope: Column | None) -> Expression:
        child = inner[1](scope)
        return child.child if isinstance(child, Not) else Not(child)

    return f"NOT {inner[0]}", tree


def chained(first: Made, more: list[tuple[str, Made]]) -> Made:
    """Operands from left to right: neighbors under one operator are one node."""

    def tree(scope: Column | None) -> Expression:
        found, last = first[1](scope), ""
        for operator, operand in more:
            kind = And if operator.lower() == "and" else Or
            before = found.children if last == operator.lower() and isinstance(found, kind) else (found,)
            found, last = kind((*before, operand[1](scope))), operator.lower()
        return found

    return " ".join([first[0], *(f"{operator} {operand[0]}" for operator, operand in more)]), tree


def grouped(inner: Made) -> Made:
    return f"({inner[0]})", inner[1]


def nested(name: str, inner: Made) -> Made:
    return f"{name}: {{{inner[0]}}}", lambda scope: inner[1](below(COLUMNS[name], scope))


NAMES, VALUES = st.sampled_from(sorted(COLUMNS)), st.sampled_from(sorted(LITERALS))
OPERANDS: st.SearchStrategy[Made] = st.recursive(
    st.builds(compared, NAMES, st.just(":"), VALUES | st.sampled_from(sorted(INSTANTS)))
    | st.builds(compared, NAMES, st.sampled_from(["<", "<=", ">", ">="]), VALUES | st.sampled_from(sorted(INSTANTS)))
    | st.builds(among, NAMES, st.sampled_from(["", "AND", "OR", "NOT"]), st.lists(VALUES, max_size=3))
    | VALUES.map(lambda value: (value, lambda scope: Filter(below(column("*"), scope), ":", LITERALS[value]))),
    lambda inner: (
        st.builds(negated, inner)
        | st.builds(nested, NAMES, inner)
        | st.builds(
            chained, inner, st.lists(st.tuples(st.sampled_from(["AND", "and", "OR", "or"]), inner), max_size=3)
        ).map(grouped)
    ),
    max_leaves=8,
)


@given(OPERANDS)
def test_queries_of_the_grammar_have_their_trees(made: Made) -> None:
    text, tree = made
    assert form(kql.parse(text)) == form(tree(None))


PIECES = st.sampled_from(
    [
        *("a", "b.c", "*", "x*", "1", "-2.5", "true", "null", "and1", "@k", "$f", "\\@k", "\\*", "a\\.b", "timestamp"),
        *('"q r"', '"a\\"b"', '""', '"x', '"\\\\"', "\\u0041", "\\q", "\\u12", ",", "é"),
        *(":", ":", ":", "<", ">=", "(", ")", "{", "}", "AND", "or", "Not", " ", " ", "  "),
        *('timestamp("2024")', 'timestamp("x", "\\Y")', 'date("2024")', "date(2024:1)", "timestamp("),
    ]
)


@given(st.lists(PIECES, max_size=12).map(" ".join) | st.lists(PIECES, max_size=8).map("".join))
@example('a: "x\\" OR b: "y"')
def test_whatever_is_no_query_is_refused_at_a_column(query: str) -> None:
    try:
        kql.parse(query)
    except QueryError as error:
        assert error.column is not None
        assert 0 <= error.column <= len(query)


# --- hostile queries --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        " OR ".join(f"a: {i}" for i in range(10_000)),
        " AND ".join(f"NOT a: x{i}" for i in range(10_000)),
        "(" * 50_000 + "a: 1" + ")" * 50_000,
        "NOT " * 50_000 + "a: 1",
        "a: (" + "x " * 50_000 + ")",
        "a: " + "*?" * 50_000,
        "a: " + "\\*" * 50_000,
        ".".join(["a"] * 20_000) + ": 1",
    ],
    ids=["or", "and", "parentheses", "not", "list", "wildcards", "escapes", "path"],
)
@pytest.mark.slow
def test_long_queries_parse_in_no_time(query: str) -> None:
    start = time.process_time()
    assert kql.parse(query)
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    "query",
    [
        "(a OR b AND " * 50_000 + "c" + ")" * 50_000,
        "a: {" * 50_000 + "b: 1" + "}" * 50_000,
        "(" * 100_000,
        '"' + "\\" * 100_001,
        '"\\"' * 50_000,
        "a: {b: " * 50_000,
    ],
    ids=["alternating", "nested", "open", "backslashes", "quotes", "nested open"],
)
def test_deep_or_broken_queries_are_refused_in_no_time(query: str) -> None:
    start = time.process_time()
    with pytest.raises(QueryError):
        kql.parse(query)
    assert time.process_time() - start < 5


@given(st.binary(max_size=30))
def test_clean_patterns_stay_clean(raw: bytes) -> None:
    cleaned = clean_pattern(raw)
    assert clean_pattern(cleaned) == cleaned
    assert b"**" not in cleaned.replace(b"\\*", b"")
