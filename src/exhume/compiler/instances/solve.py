"""Solving expressions backwards: from a wanted result to stored values that lead to it.

For `len * 2 + 1 == 9` the solution is `len = 4`.  A solver does not find every solution: it tries the simple ones,
and `yields` tests each.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import BYTES, TEXT, Bits, Integer, Kind
from exhume.compiler.front.model import Field
from exhume.compiler.instances.roles import encoding_of, expression
from exhume.compiler.instances.tree import Node, Raw, Scope, Stream, UnknownError
from exhume.compiler.instances.walk import Walk
from exhume.compiler.ir.fixed import varint

Key = tuple[str, str]
"""A variable: `("value", path)` is a number, `("bytes", path)` the content of a field, `("count", path)` the number of
elements of a list, and `("size", path)` the size of a field's stream.
"""

Solution = dict[Key, Any]
"""Values of variables, which together give an expression the wanted value."""

LARGEST = 1 << 14
"""Most bytes of an instance."""

TRIED = 40
"""Most solutions of one expression that are examined."""

SEVERAL, FEW = 8, 4
"""Most solutions of a part of an expression that are combined with those of another part: all would take too long."""

DEEPEST_SOLVED = 40
"""Most expressions within each other that are followed backwards."""


def joined(*parts: Solution) -> Solution | None:
    """Return several solutions as one; None if they contradict one another."""
    out: Solution = {}
    for part in parts:
        for key, value in part.items():
            if out.setdefault(key, value) != value:
                return None
    return out


class Solver(Walk):
    """A walk that knows which values would make expressions true.

    `scope` is the context of an expression, `wanted` the value that it has to get; `depth` counts the expressions that
    led to it, and is limited.  `one` is a field, `here` the context of its expressions, `seen` has the fields that were
    followed.
    """

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.known: dict[str, tuple[Node, str]] = {}
        """The structure and the field name of each value that was read, by its path."""
        self.streams: dict[str, Stream] = {}  # by path
        self.computed: list[tuple[Node, str]] = []  # computed instances whose values are kept

    def fields(self, node: Node, at: int) -> int:
        """Read the fields of a structure; its stream is noted."""
        self.streams.setdefault(node.stream.path, node.stream)
        return super().fields(node, at)

    def instance(self, node: Node, one: Field) -> Any:
        """Read or compute an instance; computed ones are noted, to be discarded when values change."""
        if one.value is not None:
            self.computed.append((node, one.id))
        return super().instance(node, one)

    def forget(self) -> None:
        """Discard the values of computed instances, which may depend on values that change now."""
        for node, id in self.computed:
            if id not in node.running:
                node.values.pop(id, None)
        self.computed.clear()

    # Which variables an expression has.

    def variables(self, expr: ex.Expr, scope: Scope) -> list[Key]:
        """Return the variables that an expression depends on, directly or by computed values."""
        return list(dict.fromkeys(self._variables(expr, scope, set())))

    def _variables(  # noqa: C901 - one case for each form of expression
        self, expr: ex.Expr, scope: Scope, seen: set[Any]
    ) -> Iterator[Key]:
        """Yield the variables that an expression depends on, with repetitions; `seen` has the fields that were
        followed.
        """
        match expr:
            case ex.Name("_"):
                yield "value", scope.path
                if isinstance(scope.item, Node):
                    yield from (("value", scope.item.below(one.id)) for one in scope.item.type.seq)
            case ex.Name(id) if not id.startswith("_"):
                yield from self._of_field(scope.node, id, seen)
            case ex.Member(of, name):
                # The size of a stream is a variable; other members of a stream are not.  If it is not known what `of`
                # is, its own variables count.
                if of == ex.Name("_io"):
                    if name == "size":
                        yield "size", scope.node.stream.path
                    return
                try:
                    above = self.value(of, scope)
                except UnknownError:
                    above = None
                if isinstance(above, Stream):
                    yield "size", above.path
                elif isinstance(above, Node) and not name.startswith("_"):
                    yield from self._of_field(above, name, seen)
                if not isinstance(above, (Node, Stream)):
                    yield from self._variables(of, scope, seen)
            case ex.Choice(condition, then, otherwise):
                yield from self._variables(condition, scope, seen)
                for _, branch in self._branches(condition, then, otherwise, scope)[:1]:  # the one that now applies
                    yield from self._variables(branch, scope, seen)
            case ex.Index(one, other) | ex.Binary(_, one, other):
                yield from self._variables(one, scope, seen)
                yield from self._variables(other, scope, seen)
            case ex.Call(of, _, arguments):
                for one in (of, *arguments):
                    yield from self._variables(one, scope, seen)
            case ex.Cast(of, _) | ex.Unary(_, of):
                yield from self._variables(of, scope, seen)

    def _of_field(self, node: Node, id: str, seen: set[Any]) -> Iterator[Key]:
        """Yield the variables that a field depends on: its own, and those of its condition, size and count."""
        if (node.path, node.type, id) in seen:
            return
        seen.add((node.path, node.type, id))
        if varint(node.type):
            yield "value", node.path
            return
        if id in node.given:
            given, scope = node.given[id]
            yield from self._variables(given, scope, seen)
            return
        # A field that is read: its bytes, value and count can be chosen, and what decides about it.
        one = next((one for one in (*node.type.fields(), *node.type.params) if one.id == id), None)
        if one is None:
            return
        here = Scope(node, node.stream.base, path=node.below(id))
        if one.condition is not None:
            yield from self._variables(one.condition, here, seen)
        if one.value is not None:
            yield from self._variables(one.value, here, seen)
            return
        yield "value", here.path
        yield "bytes", here.path
        if one.repeat:
            yield "count", here.path
            if (count := expression(one, "repeat-expr")) is not None:
                yield from self._variables(count, here, seen)
        if one.size is not None:
            yield from self._variables(one.size, here, seen)

    # Which values they must have.

    def solution(self, expr: ex.Expr, scope: Scope, wanted: Any, *, free: bool = True) -> Solution | None:
        """Return stored values with which an expression has the value `wanted`, or None.

        If `free`, the solution only sets values that nothing has determined yet.
        """
        for found in itertools.islice(self.solve(expr, scope, wanted), TRIED):
            if any(key[0] == "size" and not 0 <= value <= LARGEST for key, value in found.items()):
                continue
            if (not free or all(self.is_free(key) for key in found)) and self.yields(expr, scope, wanted, found):
                return found
        return None

    def is_free(self, key: Key) -> bool:
        """Return whether nothing has determined a value yet."""
        return True

    def yields(self, expr: ex.Expr, scope: Scope, wanted: Any, found: Solution, *, strict: bool = False) -> bool:
        """Return whether `expr` has the value `wanted` once a solution is applied, which is then undone.

        Unless `strict`, a solution that sets values not read yet counts as well.
        """
        # Previous values: holder, key or attribute, value.
        undo: list[tuple[Any, str, Any]] = []
        unseen = False
        self.forget()
        for (what, path), value in found.items():
            if what == "size" and (stream := self.streams.get(path)) is not None:
                undo.append((stream, "size", stream.size))
                stream.size = value
            elif what == "value" and (known := self.known.get(path)) is not None:
                node, id = known
                undo.append((node.values, id, node.values.get(id)))
                node.values[id] = value
            elif what != "size":
                unseen = True  # the effect on `expr` cannot be known before the value is read
        try:
            return (unseen and not strict) or bool(self.plain(self.value(expr, scope)) == wanted)
        except UnknownError:
            return unseen and not strict
        finally:
            for holder, name, value in reversed(undo):
                if isinstance(holder, dict):
                    holder[name] = value
                else:
                    setattr(holder, name, value)
            self.forget()

    def solve(  # noqa: C901 - one case for each form of expression
        self, expr: ex.Expr, scope: Scope, wanted: Any, depth: int = 0
    ) -> Iterator[Solution]:
        """Yield solutions with which an expression may have the value `wanted`, the simplest first."""
        if depth > DEEPEST_SOLVED:
            return
        match expr:
            case ex.Literal() | ex.EnumValue():
                if self.value(expr, scope) == wanted:
                    yield {}
            # Each operator is undone: its operand has to have the value that makes the whole `wanted`.
            case ex.Cast(of, _) | ex.Member(of, "to_i"):
                yield from self.solve(of, scope, wanted, depth)
            case ex.Name("_"):
                yield {("value", scope.path): wanted}
            case ex.Name(id) if not id.startswith("_"):
                yield from self._field(scope.node, id, wanted, depth)
            case ex.Member(of, name):
                yield from self._member(of, name, scope, wanted, depth)
            case ex.Index(of, at):
                yield from self._element(of, at, scope, wanted)
            case ex.Call(of, "to_s", _) if isinstance(wanted, str):
                yield from self.solve(of, scope, wanted.encode(), depth + 1)
            case ex.Unary("-", of):
                yield from self.solve(of, scope, -wanted, depth)
            case ex.Unary("~", of):
                yield from self.solve(of, scope, ~wanted, depth)
            case ex.Unary("not", of):
                yield from self.solve(of, scope, not wanted, depth)
            case ex.Binary("and" | "or" as op, left, right):
                yield from self._both(op, left, right, scope, bool(wanted), depth)
            case ex.Binary("<" | "<=" | ">" | ">=" | "==" | "!=" as op, left, right):
                yield from self._compared(op if wanted else ex.OPPOSITE[op], left, right, scope, depth)
            case ex.Binary(op, left, right) if isinstance(wanted, int):
                yield from self._computed(op, left, right, scope, wanted, depth)
            case ex.Choice(condition, then, otherwise):
                for truth, branch in self._branches(condition, then, otherwise, scope):
                    for first in self.solve(branch, scope, wanted, depth + 1):
                        yield from self._truth(condition, scope, truth, first, depth)

    def _branches(
        self, condition: ex.Expr, then: ex.Expr, otherwise: ex.Expr, scope: Scope
    ) -> list[tuple[bool, ex.Expr]]:
        """Return both branches of a choice with the truth that each requires; the one that now applies comes first."""
        branches = [(True, then), (False, otherwise)]
        try:
            return branches if self.value(condition, scope) else branches[::-1]
        except UnknownError:
            return branches

    def _truth(self, condition: ex.Expr, scope: Scope, truth: bool, first: Solution, depth: int) -> Iterator[Solution]:
        """Yield `first`, joined if needed with solutions that make the condition as true or false as `truth`."""
        decided = ex.Choice(condition, ex.Literal(True), ex.Literal(False))
        # `first` alone may suffice.  If values are missing to know that, it is also yielded, as the last attempt.
        if self.yields(decided, scope, truth, first, strict=True):
            yield first
            return
        for second in itertools.islice(self.solve(condition, scope, truth, depth + 1), SEVERAL):
            if (both := joined(first, second)) is not None:
                yield both
        if self.yields(decided, scope, truth, first):
            yield first

    def _member(self, of: ex.Expr, name: str, scope: Scope, wanted: Any, depth: int) -> Iterator[Solution]:
        """Yield solutions for `of.name`: a field of a structure, the size of a stream, the length of bytes or a
        list.
        """
        if of == ex.Name("_io"):
            if name == "size":
                yield {("size", scope.node.stream.path): wanted}
            return
        try:
            above = self.value(of, scope)
        except UnknownError:
            return
        if isinstance(above, Stream):
            yield {("size", above.path): wanted}
        elif isinstance(above, Node) and not name.startswith("_"):
            yield from self._field(above, name, wanted, depth)
        elif name in ("size", "length") and isinstance(above, Raw):
            # The length of bytes is decided by the expression of their size; below, that of a list by its count.
            if above.field.size is not None:
                yield from self.solve(above.field.size, above.scope, wanted, depth + 1)
        elif name in ("size", "length") and (place := self._place(of, scope)) is not None:
            node, one = place
            count = expression(one, "repeat-expr")
            here = Scope(node, node.stream.base, path=node.below(one.id))
            if count is not None:
                yield from self.solve(count, here, wanted, depth + 1)
            elif one.repeat:
                yield {("count", here.path): wanted}

    def _place(self, expr: ex.Expr, scope: Scope) -> tuple[Node, Field] | None:
        """Return the structure and the field that an expression names, through computed instances that only name it.

        None for any other expression.
        """
        node: Any = scope.node
        match expr:
            case ex.Cast(of, _):
                return self._place(of, scope)
            case ex.Name(id):
                pass
            case ex.Member(of, id):
                try:
                    node = self.value(of, scope)
                except UnknownError:
                    return None
            case _:
                return None
        one = next((one for one in node.type.fields() if one.id == id), None) if isinstance(node, Node) else None
        if one is not None and one.value is not None:
            return self._place(one.value, Scope(node, node.stream.base, path=node.below(id)))
        return None if one is None else (node, one)

    def _element(self, of: ex.Expr, at: ex.Expr, scope: Scope, wanted: Any) -> Iterator[Solution]:
        """Yield solutions that give element `at` of a list or byte string the value `wanted`."""
        place = self._place(of, scope)
        try:
            index = self.value(at, scope)
        except UnknownError:
            return
        if place is None or not isinstance(wanted, int):
            return
        node, one = place
        is_byte = not one.repeat and one.value_kind == BYTES and 0 <= wanted < 256
        if is_byte or (one.repeat and in_range(one.value_kind, wanted)):
            yield {("value", f"{node.below(one.id)}[{index}]"): wanted}

    def _field(self, node: Node, id: str, wanted: Any, depth: int) -> Iterator[Solution]:
        """Yield solutions for the field `id` of a structure, which make it present too; for a parameter, for its
        argument.
        """
        if varint(node.type) and id == node.type.scalar:
            if isinstance(wanted, int) and 0 <= wanted < 1 << 64:
                yield {("value", node.path): wanted}
            return
        if id in node.given:
            given, scope = node.given[id]
            yield from self.solve(given, scope, wanted, depth + 1)
            return
        one = next((one for one in node.type.fields() if one.id == id), None)
        if one is None or one.repeat:
            return
        here = Scope(node, node.stream.base, path=node.below(id))
        # An absent field has no value: its condition has to be met as well.
        if one.condition is not None and not self._holds(one.condition, here):
            for first in itertools.islice(self._stored(one, here, wanted, depth), FEW):
                for second in itertools.islice(self.solve(one.condition, here, True, depth + 1), SEVERAL):
                    if (both := joined(first, second)) is not None:
                        yield both
            return
        yield from self._stored(one, here, wanted, depth)

    def _holds(self, condition: ex.Expr, scope: Scope) -> bool:
        """Return whether a condition is true; False if its value is not known yet."""
        try:
            return bool(self.value(condition, scope))
        except UnknownError:
            return False

    def _stored(self, one: Field, here: Scope, wanted: Any, depth: int) -> Iterator[Solution]:
        """Yield solutions that give a field the value `wanted`: stored as it is, or computed from other fields."""
        if one.value is not None:
            yield from self.solve(one.value, here, wanted, depth + 1)
            return
        kind = one.value_kind
        if in_range(kind, wanted):
            yield {("value", here.path): wanted}
        elif kind in (BYTES, TEXT) and isinstance(wanted, (bytes, str)):
            stored = wanted if isinstance(wanted, bytes) else wanted.encode(encoding_of(one))
            sizes: Iterator[Solution] = iter([{}])
            if one.size is not None:
                sizes = self.solve(one.size, here, len(stored), depth + 1)
            for size in itertools.islice(sizes, FEW):
                yield {("bytes", here.path): stored, **size}

    def _both(
        self, op: str, left: ex.Expr, right: ex.Expr, scope: Scope, wanted: bool, depth: int
    ) -> Iterator[Solution]:
        """Yield solutions of `left and right` or `left or right` being `wanted`."""
        if (op == "and") is not wanted:  # a false `and`, a true `or`: one side suffices
            for side in (left, right):
                yield from self.solve(side, scope, wanted, depth + 1)
            return
        firsts: list[Solution] = [{}]
        if self._holds(left, scope) is not wanted:
            firsts = list(itertools.islice(self.solve(left, scope, wanted, depth + 1), SEVERAL))
        for first in firsts:
            yield from self._truth(right, scope, wanted, first, depth)

    def _compared(self, op: str, left: ex.Expr, right: ex.Expr, scope: Scope, depth: int) -> Iterator[Solution]:
        """Yield solutions that make the comparison `left op right` true, with one side as it is.

        For `a < b`, `a` becomes `b - 1` or 0.
        """
        # The operator with its sides exchanged; `side` is chosen, `how` is the operator as seen from it.
        back = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
        for side, other, how in ((left, right, op), (right, left, back.get(op, op))):
            try:
                bound = self.plain(self.value(other, scope))
            except UnknownError:
                continue
            if not isinstance(bound, int) or isinstance(bound, bool):
                choices = [bound] if how == "==" else []
            else:
                choices = {
                    "==": [bound],
                    "!=": [bound + 1, bound - 1, 0],
                    "<": [bound - 1, 0],
                    "<=": [bound, 0],
                    ">": [bound + 1],
                    ">=": [bound],
                }[how]
            for choice in choices:
                yield from self.solve(side, scope, choice, depth + 1)

    def _computed(
        self, op: str, left: ex.Expr, right: ex.Expr, scope: Scope, wanted: int, depth: int
    ) -> Iterator[Solution]:
        """Yield solutions of `left op right` being `wanted`: with one side as it is, then with both sides chosen."""
        first, second = (self._integer(side, scope) for side in (left, right))
        # Keep one side and choose the other, if possible near its present value (0 if that is unknown).
        if second is not None:
            for choice in backwards(op, second, wanted, first or 0):
                yield from self.solve(left, scope, choice, depth + 1)
        if first is not None and op in ("+", "-", "*", "^"):
            # `first - x` is `wanted` for `first - wanted`; the other operators may exchange their sides.
            for choice in [first - wanted] if op == "-" else backwards(op, first, wanted, second or 0):
                yield from self.solve(right, scope, choice, depth + 1)
        if op == "+" and (radix := _radix(left)) is not None:
            yield from self._digits(left, right, radix, scope, wanted, depth)
        elif op == "+" and (radix := _radix(right)) is not None:
            yield from self._digits(right, left, radix, scope, wanted, depth)

    def _digits(
        self, high: ex.Expr, low: ex.Expr, radix: int, scope: Scope, wanted: int, depth: int
    ) -> Iterator[Solution]:
        """Yield solutions of `high + low` being `wanted`, where `high` is a product such as `a * 256` (`radix`).

        `low` becomes the remainder of the division by `radix`.
        """
        for one in itertools.islice(self.solve(low, scope, wanted % radix, depth + 1), FEW):
            for other in itertools.islice(self.solve(high, scope, wanted - wanted % radix, depth + 1), FEW):
                if (both := joined(one, other)) is not None:
                    yield both

    def _integer(self, expr: ex.Expr, scope: Scope) -> int | None:
        """Return the value of an expression; None if that is not known, or not an integer."""
        try:
            value = self.value(expr, scope)
        except UnknownError:
            return None
        return value if isinstance(value, int) else None


def _radix(expr: ex.Expr) -> int | None:
    """Return the constant factor of a product, such as 256; None for any other expression."""
    if isinstance(expr, ex.Binary) and expr.op == "*":
        for side in (expr.left, expr.right):
            if isinstance(side, ex.Literal) and isinstance(side.value, int) and side.value > 1:
                return side.value
    return None


def backwards(op: str, by: int, wanted: int, now: int) -> Iterator[int]:
    """Yield the numbers with which `number op by` is `wanted`, the one nearest to `now` first; none for other
    operators.
    """
    if op == "+":
        yield wanted - by
    elif op == "-":
        yield wanted + by
    elif op == "*":
        if by and wanted % by == 0:
            yield wanted // by
    elif op == "/" and by:  # any of `by` numbers from `first` on
        first = wanted * by
        yield from (now, first, first + by - 1) if now // by == wanted else (first, first + by - 1)
    elif op == "%" and by and 0 <= wanted < by:  # the number of the same multiple of `by` as `now`, and the least ones
        yield from (now - now % by + wanted, wanted, wanted + by)
    elif op == "<<":
        if wanted >> by << by == wanted:
            yield wanted >> by
    elif op == ">>":  # the least and the greatest
        yield from (wanted << by, (wanted + 1 << by) - 1)
    elif op == "&":  # `now` with the bits of `by` replaced, or these bits alone
        yield from (now & ~by | wanted, wanted)
    elif op == "^":
        yield wanted ^ by


def in_range(kind: Kind, wanted: Any) -> bool:
    """Return whether a stored number of a kind can have a value."""
    if isinstance(kind, Bits):
        return isinstance(wanted, int) and 0 <= wanted < 1 << kind.width
    if not isinstance(kind, Integer) or not isinstance(wanted, int) or not kind.size:
        return False
    low, high = limits(kind)
    return low <= wanted <= high


def limits(kind: Integer | Bits) -> tuple[int, int]:
    """Return the least and the greatest number of a kind."""
    if isinstance(kind, Bits):
        return 0, (1 << kind.width) - 1
    half = 1 << 8 * kind.size - 1
    return (-half, half - 1) if kind.signed else (0, 2 * half - 1)
