"""Drawing numbers: by their bounds, by their rules (`valid`), and by their use in expressions (`FieldUse`).

Parameters: `one` is the field that is drawn, `node` the structure that it is in, `scope` the context of its expressions
(with its path and offset), `stream` the bytes that it is in, `low` and `high` the bounds of a number, both included.

Inherited from `draft`: `chance` draws; `uses` has how expressions use a field; `required` returns the value of an
expression, and raises `RetryError` where `value` raises `UnknownError`; `failed` counts failed corrections by path.
`small`: draw small values; `changed`: another pass is needed.  A key is a variable: a word and a path.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Any

from exhume.compiler.front.kinds import Bits, Integer, SimpleKind
from exhume.compiler.front.model import Field
from exhume.compiler.instances.draft import Draft, RetryError
from exhume.compiler.instances.roles import FieldUse, rules_of
from exhume.compiler.instances.solve import Key, limits
from exhume.compiler.instances.tree import Node, Scope, Stream, UnknownError

DRAWINGS = 8
"""Drawings of a number before those that decide something are tried in order."""

MOST_INDEX = 3
"""Greatest index that is drawn outside of lists."""

EDGES = (127, 128, 255, 256, 1 << 31, 1 << 32, 1 << 63)
"""Numbers at which their stored form or their sign changes."""

MOST_FAILED = 4
"""Most drawings after which a rule that depends on the size of a stream may still be broken."""


class Numbers(Draft):
    """Draws numbers, and checks whether drawn values meet their rules."""

    def draw_number(
        self,
        one: Field | None,
        low: int,
        high: int,
        kind: Integer | Bits | None,
        scope: Scope | None,
        stream: Stream | None,
        node: Node | None = None,
    ) -> int:
        """Return a random number of [low, high] that its field allows, chosen by its use.

        `kind` is that of the number; None for one of variable length, which the structure `node` stands for.  `one`,
        `scope` and `stream` are None if the number is not of a field.  Raises `RetryError` if no number is allowed.
        """
        test: Callable[[int], bool] = _any
        if one is not None and scope is not None and "valid" in one.raw:
            low, high, choices = self.allowed(one, scope, low, high)
            if choices is not None:
                return self.chance.choice(choices)
            if low > high:
                raise RetryError([*self.rule_variables(one, scope), ("value", scope.path)])
            if "expr" in rules_of(one):
                test = self.rule_test(one, scope, node)
        use = self.uses.get(one, FieldUse()) if one is not None else FieldUse()
        near = [number for number in _remarkable(use, one, kind) if low <= number <= high]
        # The index of the element that contains the number is the last one in its path.
        indexes = re.findall(r"\[(\d+)\]", scope.path) if scope is not None else []
        last_before = int(indexes[-1]) - 1 if indexes else MOST_INDEX
        # Draw a few times, then try the known candidates in order.
        for _ in range(DRAWINGS):
            value = self.draw_between(use, near, low, high, last_before)
            if test(value):
                return value
        fitting = [number for number in (low, *near, high) if test(number)]
        if not fitting:
            raise RetryError([] if scope is None or one is None else self.rule_variables(one, scope))
        return self.chance.choice(fitting)

    def draw_between(self, use: FieldUse, near: list[int], low: int, high: int, last_before: int) -> int:
        """Return a number of [low, high]: small if it is a count, near the constants that expressions compare it with.

        An index of another element is at most `last_before`, the number of the element before the current one.
        """
        sixteenth = 0 if self.small else self.chance.integer(0, 15)  # it weighs the alternatives
        if use.roles & {"size", "count"}:
            is_count = "count" in use.roles
            if near and sixteenth >= 14:
                return self.chance.choice(near)
            if sixteenth == 13 and low <= 127 and high >= 129 and not is_count:
                return self.chance.choice((127, 128, 129))  # from 128 on, a variable-length number has two bytes
            above = 4 if is_count else 12
            return self.chance.integer(low, min(high, low + (2 if self.small else above)))
        if "index" in use.roles:  # -1 too, if the number can have a sign
            return self.chance.integer(max(low, -1), max(low, -1, min(high, last_before)))
        if near and sixteenth < 12:
            return self.chance.choice(near)
        if "place" in use.roles:
            return self.chance.integer(low, min(high, low + 64))
        if sixteenth < 4:
            return self.chance.integer(low, min(high, low + 3))
        if sixteenth < 7:
            edges = {low, low + 1, high - 1, high, *EDGES}
            return self.chance.choice(sorted(edge for edge in edges if low <= edge <= high))
        return self.chance.integer(low, high)

    def allowed(self, one: Field, scope: Scope, low: int, high: int) -> tuple[int, int, list[int] | None]:
        """Return least and greatest number by `valid`, and the only numbers that it allows if it names them (else
        None).
        """
        rules = rules_of(one)
        for rule, rule_value in rules.items():
            if rule == "in-enum":
                kind = one.value_kind
                if isinstance(kind, (Integer, Bits)) and kind.enum is not None:
                    return low, high, sorted(number for number in kind.enum.values if low <= number <= high)
            elif rule == "any-of":
                return low, high, [int(self.required(choice, one, scope)) for choice in rule_value]
            elif rule == "eq":
                return low, high, [int(self.required(rule_value, one, scope))]
            elif rule in ("min", "max"):
                here = Scope(scope.node, scope.at, None, scope.index, scope.path)  # `_` has no value yet
                bound = self.required(rule_value, one, here)
                low, high = (max(low, bound), high) if rule == "min" else (low, min(high, bound))
        return low, high, None

    def rule_variables(self, one: Field, scope: Scope) -> list[Key]:
        """Return the variables that the rules of a field depend on."""
        # `any-of` has several expressions, which are not followed, and `in-enum` none.
        rule_value = [rule for key, rule in rules_of(one).items() if key not in ("any-of", "in-enum")]
        return [key for rule in rule_value for key in self.variables(rule, scope)]

    def rule_test(self, one: Field, scope: Scope, node: Node | None) -> Callable[[int], bool]:
        """Return a test whether a number passes the expression of `valid`."""
        expr = rules_of(one)["expr"]

        def test(number: int) -> bool:
            """Return whether `expr` is true if the field has the value `number`; False if that is unknown."""
            item: Any = number
            if node is not None:
                node.values[str(node.type.scalar)] = number
                item = node
            try:
                return bool(self.value(expr, Scope(scope.node, scope.at, item, scope.index, scope.path)))
            except UnknownError:
                return False

        return test

    def draw_float(self, kind: SimpleKind) -> float:
        """Return a random float: mostly one of a few remarkable ones."""
        nice = self.chance.choice([0.0, 1.0, -1.5, 1e-9, 1e9, float("inf"), float("nan"), None])
        if nice is None:  # any float; most of 8 bytes do not fit 4
            return float(struct.unpack("<d", self.chance.data(8))[0]) if kind.size == 8 else 0.25
        return nice

    def draw_stored(self, one: Field, kind: Integer | SimpleKind, scope: Scope, stream: Stream) -> Any:
        """Return a random value of a stored number."""
        if isinstance(kind, Integer):
            return self.draw_number(one, *limits(kind), kind, scope, stream)
        return self.draw_float(kind)

    def check(self, one: Field, value: Any, scope: Scope, at: int) -> None:
        """Check a drawn value against the rules of its field.

        Raises `RetryError`, with the variables to draw again, if it breaks one.  A rule that depends on the size of a
        stream is given some more drawings first: what is drawn later may make the stream long enough.
        """
        here = Scope(scope.node, at, value, scope.index, scope.path)
        for rule, rule_value in rules_of(one).items():
            if not self.holds(one, rule, rule_value, here):
                keys: list[Key] = [("value", scope.path), ("bytes", scope.path)]
                sizes = [key for key in self.rule_variables(one, here) if key[0] == "size" and self.can_change(key)]
                if sizes and self.failed.get(scope.path, 0) < MOST_FAILED:
                    self.failed[scope.path] = self.failed.get(scope.path, 0) + 1
                    self.changed = True
                    continue
                raise RetryError([*keys, *self.rule_variables(one, here)])


def _remarkable(use: FieldUse, one: Field | None, kind: Integer | Bits | None) -> list[int]:
    """Return the numbers that decide something: those that expressions compare a field with, and its enum's values.

    Those next to them are included, unless the number itself is of an enum.
    """
    numbers = set(use.numbers)
    if one is not None and isinstance(one.value_kind, (Integer, Bits)) and one.value_kind.enum is not None:
        numbers |= set(one.value_kind.enum.values)
    if kind is None or kind.enum is None:
        numbers |= {number + by for number in numbers for by in (-1, 1)}
    return sorted(numbers)


def _any(_: int) -> bool:
    """Accept any number: the test of a field without rules."""
    return True
