"""The mutants of a module: small changes of its source, each of which some test ought to notice.

`tools/mutation.py` runs the tests against each.

A mutant is named by the function it is in, what was done, and the text before and after, so that its name survives
edits elsewhere.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
"""Comparisons that are not exchanged for their opposite: `<` becomes `<=`, not `>=`."""
SEVERITIES = {"ERROR": "WARNING", "UNCHECKED": "ERROR", "WARNING": "NOTE", "NOTE": "ERROR"}
"""The member that each one of `exhume.findings.Severity` is exchanged for, as `OPERATORS` has it for operators."""


@dataclass(frozen=True)
class Mutant:
    """One change: its name, and the lines whose tests can notice it."""

    name: str
    first: int
    last: int
    tree: ast.Module
    edit: Callable[[], None]

    def module(self) -> ast.Module:
        """The module with the change, permanently: for another mutant of the same source, parse it again."""
        self.edit()
        return self.tree


def find_mutants(source: str) -> list[Mutant]:
    """All mutants of a module."""
    finder = _Finder(ast.parse(source))
    seen: Counter[str] = Counter()
    found = []
    for name, node, edit in finder.found:
        seen[name] += 1
        full = name if seen[name] == 1 else f"{name} #{seen[name]}"
        found.append(Mutant(full, node.lineno, node.end_lineno or node.lineno, finder.tree, edit))
    return found


def _text(node: ast.AST, limit: int = 110) -> str:
    """Return the source of a node on one line, for the name of a mutant."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


class _Finder:
    """Finds the places; an edit changes the tree in place."""

    def __init__(self, tree: ast.Module) -> None:
        self.found: list[tuple[str, ast.expr | ast.stmt, Callable[[], None]]] = []  # (name, place, edit)
        self.scope: list[str] = []  # names of the classes and functions around
        self.tree = tree
        self._block(tree.body)

    def add(self, node: ast.expr | ast.stmt, change: str, edit: Callable[[], None]) -> None:
        """Add a mutant: `edit` makes the change in place."""
        self.found.append((f"{'.'.join(self.scope) or 'module'} | {change}", node, edit))

    def swap(self, owner: ast.AST, field: str, index: int | None, new: ast.expr, change: str = "") -> None:
        """Put another expression into a field (or place of a list) of a node."""
        held = getattr(owner, field)
        old = held if index is None else held[index]
        ast.fix_missing_locations(ast.copy_location(new, old))

        def edit() -> None:
            """Put the changed expression into the tree."""
            if index is None:
                setattr(owner, field, new)
            else:
                held[index] = new

        self.add(old, change or f"{_text(old)} -> {_text(new)}", edit)

    # Statements

    def _block(self, body: list[ast.stmt]) -> None:
        """Add the mutants of statements, except for those whose change no test could see."""
        for index, one in enumerate(body):
            docstring = isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)
            if docstring or isinstance(one, (ast.Import, ast.ImportFrom, ast.Assert, ast.Pass, ast.Global)):
                continue
            if isinstance(one, ast.If) and "TYPE_CHECKING" in ast.unparse(one.test):
                continue
            if isinstance(one, ast.Assign) and _text(one.targets[0]) == "__all__":
                continue
            self._statement(body, index, one)

    def _statement(  # noqa: C901 - one case for each kind of statement
        self, body: list[ast.stmt], index: int, one: ast.stmt
    ) -> None:
        """Add the mutants of one statement: without it, with another jump or no result, and those of what is in it."""

        def instead(new: ast.stmt, change: str) -> None:
            """Offer a mutant that has another statement here."""
            ast.copy_location(new, one)
            ast.fix_missing_locations(new)

            self.add(one, change, lambda: body.__setitem__(index, new))

        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if one.name not in ("__repr__", "__str__"):
                self._function(one)
            return
        if isinstance(one, ast.ClassDef):
            if not any("Protocol" in ast.unparse(base) for base in one.bases):
                self.scope.append(one.name)
                self._block(one.body)
                self.scope.pop()
            return
        store = isinstance(one, ast.Assign) and isinstance(one.targets[0], (ast.Attribute, ast.Subscript))
        if isinstance(one, (ast.Expr, ast.Raise, ast.AugAssign, ast.Delete)) or store:
            instead(ast.Pass(), f"{_text(one)} -> removed")
        elif isinstance(one, ast.Continue):
            instead(ast.Break(), "continue -> break")
            instead(ast.Pass(), "continue -> removed")
        elif isinstance(one, ast.Break):
            instead(ast.Continue(), "break -> continue")
        elif isinstance(one, ast.Return):
            bare = one.value is None or (isinstance(one.value, ast.Constant) and one.value.value is None)
            if bare:
                instead(ast.Pass(), f"{_text(one)} -> removed")
            else:
                instead(ast.Return(ast.Constant(None)), f"{_text(one)} -> return None")
        for field, value in ast.iter_fields(one):
            if field == "annotation":
                continue
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                self._block(value)
            elif isinstance(value, list):
                for place, item in enumerate(value):
                    if isinstance(item, (ast.ExceptHandler, ast.match_case)):
                        self._block(item.body)
                    elif isinstance(item, ast.withitem):
                        self._expression(item, "context_expr", None, item.context_expr)
                    elif isinstance(item, ast.expr):
                        self._expression(one, field, place, item)
            elif isinstance(value, ast.expr):
                self._expression(one, field, None, value)
                if field == "test":
                    self.negate(one, field, None, value)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Add the mutants of a function: of its defaults and its body."""
        self.scope.append(node.name)
        for field in ("defaults", "kw_defaults"):
            for place, item in enumerate(getattr(node.args, field)):
                if item is not None:
                    self._expression(node.args, field, place, item)
        self._block(node.body)
        self.scope.pop()

    # Expressions

    def _expression(  # noqa: C901 - one case for each kind of expression
        self, owner: ast.AST, field: str, index: int | None, node: ast.expr
    ) -> None:
        """Add the mutants of an expression, and of those within it; `field` of `owner` has it, in a list at `index`."""
        if isinstance(node, ast.Constant):
            self._constant(owner, field, index, node)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.swap(owner, field, index, node.operand)
        elif isinstance(node, ast.BoolOp):
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            self.swap(owner, field, index, ast.BoolOp(other, node.values))
        elif isinstance(node, ast.Compare):
            for place, operator in enumerate(node.ops):
                changed = list(node.ops)
                changed[place] = COMPARISONS[type(operator)]()
                self.swap(owner, field, index, ast.Compare(node.left, changed, node.comparators))
        elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS and not _is_text(node):
            self.swap(owner, field, index, ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right))
        elif isinstance(node, ast.Attribute) and _text(node.value) == "Severity":
            new = ast.Attribute(node.value, SEVERITIES[node.attr], ast.Load())
            self.swap(owner, field, index, new)
        elif isinstance(node, ast.IfExp):
            self.negate(node, "test", None, node.test)
        elif isinstance(node, ast.Call):
            self._call(node)
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                self._expression(node, name, None, value)
            elif isinstance(value, list):
                for place, item in enumerate(value):
                    if isinstance(item, ast.expr):
                        self._expression(node, name, place, item)
                    elif isinstance(item, ast.keyword):
                        self._expression(item, "value", None, item.value)
                    elif isinstance(item, ast.comprehension):
                        self._expression(item, "iter", None, item.iter)
                        for number, test in enumerate(item.ifs):
                            self.negate(item, "ifs", number, test)
                            self._expression(item, "ifs", number, test)

    def negate(self, owner: ast.AST, field: str, index: int | None, test: ast.expr) -> None:
        """Negates a condition, unless another mutant does: a lost `not`, an exchanged comparison."""
        opposite = isinstance(test, ast.Compare) and len(test.ops) == 1 and not isinstance(test.ops[0], ORDERED)
        if not opposite and not (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)):
            self.swap(owner, field, index, ast.UnaryOp(ast.Not(), test))

    def _call(self, node: ast.Call) -> None:
        """Add the mutants of a call: without a keyword argument, or without the detail of a finding."""
        for place, keyword in enumerate(node.keywords):
            if keyword.arg is not None:
                argument = f"{keyword.arg}={_text(keyword.value)}"
                self.drop(node, "keywords", place, f"{_text(node.func)}(… {argument}) dropped")
        detail = node.args and isinstance(node.args[0], (ast.Constant, ast.JoinedStr)) and not node.args[1:]
        if detail and isinstance(node.func, ast.Attribute) and node.func.attr in ("finding", "error"):
            self.drop(node, "args", 0, f"{_text(node.func)}({_text(node.args[0])} …) dropped")

    def drop(self, node: ast.Call, field: str, place: int, change: str) -> None:
        """Drop an argument of a call."""
        held = getattr(node, field)
        old = held[place]

        self.add(old.value if isinstance(old, ast.keyword) else old, change, lambda: held.__delitem__(place))

    def _constant(self, owner: ast.AST, field: str, index: int | None, node: ast.Constant) -> None:
        """Add the mutants of a constant: the other truth value, or one more and one less."""
        if isinstance(node.value, bool):
            self.swap(owner, field, index, ast.Constant(not node.value), f"{_within(owner, node)}{node.value} flipped")
        elif isinstance(node.value, int):
            for new in (node.value + 1, node.value - 1):
                self.swap(owner, field, index, ast.Constant(new), f"{_within(owner, node)}{node.value} -> {new}")


def _within(owner: ast.AST, node: ast.AST) -> str:
    """Return the source around a constant, for the name of its mutant."""
    return f"{_text(owner)}: " if owner is not node and isinstance(owner, (ast.expr, ast.stmt)) else ""


def _is_text(node: ast.BinOp) -> bool:
    """Return whether an operation joins or formats strings, where another operator would only fail."""
    texts = (side for side in (node.left, node.right) if isinstance(side, (ast.Constant, ast.JoinedStr)))
    return any(isinstance(side, ast.JoinedStr) or isinstance(side.value, str) for side in texts)
