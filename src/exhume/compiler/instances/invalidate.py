"""Breaks one rule of an instance, and says which and where."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from exhume.compiler.front.kinds import Bits, Integer
from exhume.compiler.front.model import Type
from exhume.compiler.instances.draft import RandomChoices
from exhume.compiler.instances.draw import DrawnInstance, NoneDrawnError, uses_for
from exhume.compiler.instances.roles import packed, rules_of, varint
from exhume.compiler.instances.solve import limits
from exhume.compiler.instances.tree import BrokenError, Node, Rule, UnknownError
from exhume.compiler.instances.walk import Walk

TRIED = 60
"""Ways to break a rule that are examined."""


@dataclass(frozen=True, slots=True)
class Invalid:
    """Data in which one rule is broken, and nothing before it: `rule` of the field at `path`, which begins at `at`.

    `rule` is a key of `valid`, `contents`, `terminator`, `encoding`, `short` (the data end within the field), `size`
    (it would have less than no bytes), or `checksum` (all can be read, and it is not that of the bytes it is over).
    """

    data: bytes
    arguments: tuple[Any, ...]
    path: str
    at: int
    rule: str


def spoil(type: Type, drawn: DrawnInstance, chance: RandomChoices) -> Invalid:
    """An instance with one rule broken.  Raises `NoneDrawnError` when every attempt breaks another one first."""
    kinds = sorted({rule.rule for rule in drawn.rules} | ({"checksum"} if drawn.sums else set()))
    for number in range(TRIED if kinds else 0):
        kind = chance.choice(kinds)
        if kind == "checksum":
            found = _unsealed(type, drawn, chance)
            if found is not None:
                return found
            continue
        rule = chance.choice([rule for rule in drawn.rules if rule.rule == kind])
        data = _broken(type, drawn, rule, chance, rough=number % 2 == 1)
        if data is None:
            continue
        try:
            Walk(data).whole(type, list(drawn.arguments))
        except BrokenError as error:
            if (error.path, error.at, error.rule) == (rule.path, rule.start, kind):
                return Invalid(data, drawn.arguments, error.path, error.at, kind)
    for _ in range(8 if drawn.data else 0):  # where positions count from the end, a cut breaks what it breaks
        data = drawn.data[: chance.integer(0, len(drawn.data) - 1)]
        try:
            Walk(data).whole(type, list(drawn.arguments))
        except BrokenError as error:
            if error.rule != "expression":
                return Invalid(data, drawn.arguments, error.path, error.at, error.rule)
    raise NoneDrawnError(type.where)


def _unsealed(type: Type, drawn: DrawnInstance, chance: RandomChoices) -> Invalid | None:
    """The instance with one wrong checksum, unless that breaks something else."""
    one = chance.choice(drawn.sums)
    at = chance.integer(one.start, one.stop - 1)
    data = drawn.data[:at] + bytes([drawn.data[at] ^ chance.integer(1, 255)]) + drawn.data[at + 1 :]
    check = Walk(data)
    try:
        check.whole(type, list(drawn.arguments))
    except BrokenError:
        return None
    same = [(sum.path, sum.covered(data)) for sum in check.sums] == [
        (sum.path, sum.covered(drawn.data)) for sum in drawn.sums
    ]
    return Invalid(data, drawn.arguments, one.path, one.start, "checksum") if same else None


def _broken(type: Type, drawn: DrawnInstance, rule: Rule, chance: RandomChoices, *, rough: bool) -> bytes | None:
    """Data in which a rule may be broken."""
    data, stored = drawn.data, drawn.data[rule.start : rule.stop]
    if rule.rule == "short":
        if rule.stop == rule.start:
            return None
        return data[: chance.integer(rule.start, rule.stop - 1)]
    if not stored:
        return None
    if rule.rule == "encoding":
        at = chance.integer(0, len(stored) - 1)
        return data[: rule.start + at] + b"\xff" + data[rule.start + at + 1 :]
    kind = rule.field.one
    if not rough and rule.rule not in ("contents", "terminator") and rule.value is not None:
        value = rule.value
        if isinstance(value, Node) and varint(value.type):
            now = value.values.get(str(value.type.scalar))
            choices = [number for number in _near(type, rule, now) if 0 <= number < 1 << 64]
            return data[: rule.start] + _groups(chance.choice(choices)) + data[rule.stop :] if choices else None
        if isinstance(kind, Integer) and isinstance(value, int):
            low, high = limits(kind)
            choices = [number for number in _near(type, rule, value) if low <= number <= high]
            if choices:
                return data[: rule.start] + packed(kind, chance.choice(choices)) + data[rule.stop :]
        if isinstance(kind, Bits):
            rough = True
    at = chance.integer(0, len(stored) - 1)
    byte = stored[at] ^ 1 << chance.integer(0, 7)
    return data[: rule.start + at] + bytes([byte]) + data[rule.start + at + 1 :]


def _near(type: Type, rule: Rule, now: Any) -> Iterator[int]:
    """Numbers about the bounds of a rule."""
    found: set[int] = set()
    if isinstance(now, int):
        found |= {now + 1, now - 1}
    for key, said in rules_of(rule.field).items():
        if key in ("eq", "min", "max"):
            try:
                bound = Walk(b"").value(said, rule.scope)
            except (UnknownError, AttributeError):  # what it requests was not kept
                continue
            if isinstance(bound, int):
                found |= {bound + 1, bound - 1}
    for number in uses_for(type)[rule.field].numbers:
        found |= {number - 1, number, number + 1}
    kind = rule.field.one
    if isinstance(kind, Integer):
        found |= set(limits(kind))
    else:
        found |= {0, (1 << 32) - 1, (1 << 64) - 1}
    yield from sorted(found)


def _groups(value: int) -> bytes:
    """Return a number as a varint: seven bits in each byte, the lowest first."""
    out = []
    while value >= 0x80:
        out.append(0x80 | value & 0x7F)
        value >>= 7
    return bytes([*out, value])
