"""Whether bits of both orders may be within one byte, where Kaitai's languages do not agree.

A state is the order of the bits that were read last and how many of the bits of their byte were read (1 to 7), or None
where reading is at the start of a byte.  Where a type ends depends on the state in which it begins.  Both are found by
passing states on until there are no new ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from exhume.compiler.front.kinds import Bits, Kind, Structure, Switch
from exhume.compiler.front.model import Field, Type
from exhume.compiler.ir.fixed import is_inline
from exhume.compiler.ir.stated import constant
from exhume.compiler.refusal import UnsupportedError

State = tuple[bool, int] | None


def check_bit_orders(types: Iterable[Type]) -> None:
    """Raise `UnsupportedError`, naming the field, if bits of both orders may be within one byte."""
    types = list(types)
    if len({order for type in types for one in type.fields() for order in _orders(one.one)}) < 2:
        return
    found = _States(types)
    while found.changed:
        found.changed = False
        for type, begin in list(found.ends):
            found.sequence(type, begin)


def _orders(kind: Kind) -> Iterator[bool]:
    """The orders of the bits that a kind may be."""
    if isinstance(kind, Bits):
        yield kind.big
    elif isinstance(kind, Switch):
        for _, one in kind.cases:
            yield from _orders(one)
        yield from () if kind.default is None else _orders(kind.default)


class _States:
    """The states in which types end, by type and the state in which it begins; `changed` while there are new ones."""

    def __init__(self, types: Iterable[Type]) -> None:
        self.ends: dict[tuple[Type, State], set[State]] = {(type, None): set() for type in types}
        self.changed = True

    def sequence(self, type: Type, begin: State) -> None:
        """Find the states after all fields of a type; instances may be read after any of these."""
        states: set[State] = {begin}
        seen = {begin}
        for field in type.seq:
            states = self.field(field, states)
            seen |= states
        for field in type.instances.values():
            if field.value is None and "pos" not in field.raw:
                self.field(field, seen)
        self.changed |= not states <= self.ends[type, begin]
        self.ends[type, begin] |= states

    def field(self, field: Field, states: set[State]) -> set[State]:
        """The states after a field that is read in one of `states`."""
        count = field.expr("repeat-expr")
        many = 1 if not field.repeat else None if count is None else constant(count)
        if many is None:
            after, before = self.one(field, field.one, states), set[State]()
            while not after <= before:
                before |= after
                after = after | self.one(field, field.one, after)
            return after if field.repeat == "until" and field.condition is None else after | states
        after = states
        for _ in range(many if many < 16 else many % 8 + 8):  # the same after 8 more
            after = self.one(field, field.one, after)
        return after if field.condition is None else after | states

    def one(self, field: Field, kind: Kind, states: set[State]) -> set[State]:
        """The states after one value of a kind."""
        if isinstance(kind, Bits):
            if any(state is not None and state[0] != kind.big for state in states):
                raise UnsupportedError("bits of both orders within a byte are not supported", field.where)
            used = {((0 if state is None else state[1]) + kind.width) % 8 for state in states}
            return {(kind.big, many) if many else None for many in used}
        if isinstance(kind, Switch):
            kinds = [one for _, one in kind.cases] + ([] if kind.default is None else [kind.default])
            after = set[State]().union(*(self.one(field, one, states) for one in kinds))
            return after if kind.default is not None else after | states
        if not isinstance(kind, Structure) or kind.type.opaque or not is_inline(field):
            return {None}
        new = [(kind.type, state) for state in states if (kind.type, state) not in self.ends]
        self.ends.update((one, set()) for one in new)
        self.changed |= bool(new)
        return set[State]().union(*(self.ends[kind.type, state] for state in states))
