"""Which number a field gets that nothing has decided: by its bounds, and by what it is used for."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Any

from exhume.compiler.front.kinds import Bits, Integer, Plain
from exhume.compiler.front.model import Field
from exhume.compiler.instances.constraints import rules_of
from exhume.compiler.instances.draft import Draft, RetryError
from exhume.compiler.instances.roles import Use
from exhume.compiler.instances.solve import Key, limits
from exhume.compiler.instances.tree import Node, Scope, Stream, UnknownError


class Numbers(Draft):
    """Draws numbers, and sees whether what was drawn meets its rules."""

    def some_number(
        self,
        one: Field | None,
        low: int,
        high: int,
        kind: Integer | Bits | None,
        scope: Scope | None,
        stream: Stream | None,
        node: Node | None = None,
    ) -> int:
        """A number that its field allows, by what it is used for. Raises `RetryError` when none is."""
        use = self.uses.get(one, Use()) if one is not None else Use()
        test: Callable[[int], bool] = _any
        if one is not None and scope is not None and "valid" in one.raw:
            low, high, choices = self.allowed(one, scope, low, high)
            if choices is not None:
                return self.chance.choice(choices)
            if low > high:
                raise RetryError([*self.rule_variables(one, scope), ("value", scope.path)])
            if "expr" in rules_of(one):
                test = self.tested(one, scope, node)
        enum = kind.enum if isinstance(kind, (Integer, Bits)) else None
        numbers = set(use.numbers)
        if one is not None and isinstance(one.one, (Integer, Bits)) and one.one.enum is not None:
            numbers |= set(one.one.enum.values)
        near = sorted({number + by for number in numbers for by in ((0,) if enum else (0, 1, -1))})
        near = [number for number in near if low <= number <= high]
        elements = re.findall(r"\[(\d+)\]", scope.path) if scope is not None else []
        for _ in range(8):
            value = self.any_number(use, near, low, high, int(elements[-1]) - 1 if elements else 3)
            if test(value):
                return value
        fitting = [number for number in (low, *near, high) if test(number)]
        if not fitting:
            raise RetryError([] if scope is None else self.rule_variables(one, scope) if one is not None else [])
        return self.chance.choice(fitting)

    def any_number(self, use: Use, near: list[int], low: int, high: int, before: int) -> int:
        """A number between bounds, small where it counts, near constants where it decides.

        What numbers an element is at most `before`, the one before that which contains it.
        """
        mode = 0 if self.small else self.chance.integer(0, 15)
        if use.roles & {"size", "count"}:
            if near and mode >= 14:
                return self.chance.choice(near)
            if mode == 13 and low <= 127 and high >= 129 and "count" not in use.roles:
                return self.chance.choice((127, 128, 129))  # where one byte of a variable length no longer does
            return self.chance.integer(low, min(high, low + (2 if self.small else 4 if "count" in use.roles else 12)))
        if "index" in use.roles:
            return self.chance.integer(max(low, -1), max(low, -1, min(high, before)))
        if near and mode < 12:
            return self.chance.choice(near)
        if "place" in use.roles:
            return self.chance.integer(low, min(high, low + 64))
        if mode < 4:
            return self.chance.integer(low, min(high, low + 3))
        if mode < 7:
            edges = {
                low,
                low + 1,
                high - 1,
                high,
                *(bound for bound in (127, 128, 255, 256, 1 << 31, 1 << 32, 1 << 63)),
            }
            return self.chance.choice(sorted(edge for edge in edges if low <= edge <= high))
        return self.chance.integer(low, high)

    def allowed(self, one: Field, scope: Scope, low: int, high: int) -> tuple[int, int, list[int] | None]:
        """The bounds that `valid` sets, or the values that it names."""
        rules = rules_of(one)
        for rule, said in rules.items():
            if rule == "in-enum":
                kind = one.one
                if isinstance(kind, (Integer, Bits)) and kind.enum is not None:
                    return low, high, sorted(number for number in kind.enum.values if low <= number <= high)
            elif rule == "any-of":
                return low, high, [int(self.ask(choice, one, scope)) for choice in said]
            elif rule == "eq":
                return low, high, [int(self.ask(said, one, scope))]
            elif rule in ("min", "max"):
                here = Scope(scope.node, scope.at, None, scope.index, scope.path)
                bound = self.ask(said, one, here)
                low, high = (max(low, bound), high) if rule == "min" else (low, min(high, bound))
        return low, high, None

    def rule_variables(self, one: Field, scope: Scope) -> list[Key]:
        """What the rules of a field depend on."""
        said = [rule for key, rule in rules_of(one).items() if key not in ("any-of", "in-enum")]
        return [key for rule in said for key in self.variables(rule, scope)]

    def tested(self, one: Field, scope: Scope, node: Node | None) -> Callable[[int], bool]:
        """Whether a number passes the expression of `valid`."""
        expr = rules_of(one)["expr"]

        def test(number: int) -> bool:
            item: Any = number
            if node is not None:
                node.values[str(node.type.scalar)] = number
                item = node
            try:
                return bool(self.value(expr, Scope(scope.node, scope.at, item, scope.index, scope.path)))
            except UnknownError:
                return False

        return test

    def some_float(self, kind: Plain) -> float:
        nice = self.chance.choice([0.0, 1.0, -1.5, 1e-9, 1e9, float("inf"), float("nan"), None])
        if nice is None:
            return float(struct.unpack("<d", self.chance.data(8))[0]) if kind.size == 8 else 0.25
        return nice

    def some_stored(self, one: Field, kind: Integer | Plain, scope: Scope, stream: Stream) -> Any:
        """Some value of a stored number."""
        if isinstance(kind, Integer):
            return self.some_number(one, *limits(kind), kind, scope, stream)
        return self.some_float(kind)

    def check(self, one: Field, value: Any, scope: Scope, at: int) -> None:
        """Draw again what does not meet its rule.

        Raises `RetryError` with what the rule depends on when nothing meets it.
        """
        here = Scope(scope.node, at, value, scope.index, scope.path)
        for rule, said in rules_of(one).items():
            if not self.holds(one, rule, said, here):
                keys: list[Key] = [("value", scope.path), ("bytes", scope.path)]
                sizes = [key for key in self.rule_variables(one, here) if key[0] == "size" and self.can_change(key)]
                if sizes and self.failed.get(scope.path, 0) < 4:  # what follows makes the stream long enough
                    self.failed[scope.path] = self.failed.get(scope.path, 0) + 1
                    self.changed = True
                    continue
                raise RetryError([*keys, *self.rule_variables(one, here)])


def _any(_: int) -> bool:
    return True
