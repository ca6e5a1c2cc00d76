"""Sums and products in Python code: the checks of their size, written in place of calls.

Numbers that an instance computes of another could double from each to the next and fill the memory, so readers compute
them by `multiplied` and `joined` (`exhume.compiler.emit.layout.bounded`), which refuse numbers of too many bits.
Nearly all numbers are small: for these, two comparisons take a fraction of the time of such a call.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

SUM_CALLS = re.compile(r"\b(?:multiplied|joined)\(")
"""The beginning of such a call, in the text of a function or class."""

SMALL = 1 << 29
"""Numbers below it, and above its negative, need no check, and Python compares them fastest."""

MOST_CALLS = 4
"""Calls within each other that are replaced: each occurs twice in the code of the one around it."""

_PLACES = frozenset(("lineno", "offset"))
"""Last six letters of the attributes that say where a node was in a text, such as `col_offset` and `end_lineno`."""


def write_sums(tree: ast.AST) -> bool:
    """Write the checks into all expressions of a function or class; return whether there were any."""
    numbers = _Numbers()
    numbers.visit(tree)
    return numbers.changed


def copied(node: Any) -> Any:
    """Return a copy of a node (or of a list, or of any other attribute of a node), faster than `copy.deepcopy`."""
    if isinstance(node, list):
        return [copied(one) for one in node]
    if not isinstance(node, ast.AST):
        return node
    return type(node)(**{name: copied(value) for name, value in node.__dict__.items() if name[-6:] not in _PLACES})


class _Numbers(ast.NodeTransformer):
    """Writes the checks of sums and products into expressions, for operands that can be computed twice.

    `multiplied(a, b)` becomes `_made if -SMALL < (_made := a * b) and _made < SMALL else multiplied(a, b)`.
    """

    def __init__(self) -> None:
        self.changed = False

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Write the check in place of its call."""
        called = [one.func.id if isinstance(one.func, ast.Name) else "" for one in _calls(node)]  # `node` is the first
        if called[0] not in ("multiplied", "joined") or len(called) > MOST_CALLS:
            self.generic_visit(node)
            return node
        plain = copied(node)
        self.generic_visit(node)
        if not {"multiplied", "joined", "len"}.issuperset(called):  # computing the operands twice could take long
            return node
        match node:
            case ast.Call(func=ast.Name(id="multiplied"), args=[left, right]):
                made, more = ast.BinOp(left, ast.Mult(), right), list[ast.expr]()
            case ast.Call(func=ast.Name(id="joined"), args=[_, left, right]) if _is_number(plain.args[2]):
                first = ast.NamedExpr(ast.Name("_first", ast.Store()), left)
                made, more = ast.BinOp(first, ast.Add(), right), _is_small("_first")
            case _:
                return node
        self.changed = True
        test = ast.BoolOp(ast.And(), [*_is_small("_made", made), *more])
        return ast.fix_missing_locations(ast.IfExp(test, ast.Name("_made", ast.Load()), plain))


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls in a node, itself first."""
    return (one for one in ast.walk(node) if isinstance(one, ast.Call))


def _is_number(node: ast.expr) -> bool:
    """Return whether an operand is certainly a number, not a string, and contains no sum."""
    if any(isinstance(one.func, ast.Name) and one.func.id == "joined" for one in _calls(node)):
        return False
    match node:
        case ast.UnaryOp(op=ast.USub()) | ast.Constant(value=int()) | ast.Call(func=ast.Name(id="multiplied")):
            return True
    return False


def _is_small(name: str, value: ast.expr | None = None) -> list[ast.expr]:
    """Return `-SMALL < name` and `name < SMALL`; with a value, `-SMALL < (name := value)` and `name < SMALL`."""
    loaded: ast.expr = ast.Name(name, ast.Load())
    first = loaded if value is None else ast.NamedExpr(ast.Name(name, ast.Store()), value)
    least, most = ast.Constant(-SMALL), ast.Constant(SMALL)
    return [ast.Compare(least, [ast.Lt()], [first]), ast.Compare(loaded, [ast.Lt()], [most])]
