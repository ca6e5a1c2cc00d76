"""Small regular expressions as one table of states, for the compiled kernel and for pure Python.

Known are bytes, `\\d`, classes `[...]` without ranges, groups, `|`, `?` and `{m}`, `{m,n}`; a backslash takes the next
character as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

DIGITS: Final = frozenset(b"0123456789")

MOST_STATES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Automaton:
    """States and what leads from one to the next.

    Attributes:
        classes: The class of each byte, 256 items.
        num_classes: How many classes there are.
        table: For each state and class the next state; state 0 is the end, state 1 the beginning.
        accepts: For each state the bits of the expressions that end there.
    """

    classes: bytes
    num_classes: int
    table: Sequence[int]
    accepts: bytes


class _Nfa:
    """Steps between states by bytes, and without any."""

    def __init__(self) -> None:
        self.steps: list[list[tuple[frozenset[int], int]]] = []
        self.free: list[list[int]] = []

    def state(self) -> int:
        self.steps.append([])
        self.free.append([])
        return len(self.steps) - 1

    def add(self, node: Node, start: int) -> int:
        """Add an expression from a state on; return the state after it."""
        end = self.state()
        if isinstance(node, frozenset):
            self.steps[start].append((node, end))
            return end
        for choice in node:
            at = start
            for part in choice:
                for number in range(part.most):
                    after = self.add(part.node, at)
                    if number >= part.least:
                        self.free[at].append(after)
                    at = after
            self.free[at].append(end)
        return end

    def closure(self, states: Iterable[int]) -> frozenset[int]:
        """The states, and those that are reached from them without a byte."""
        found = set(states)
        waiting = list(found)
        while waiting:
            for state in self.free[waiting.pop()]:
                if state not in found:
                    found.add(state)
                    waiting.append(state)
        return frozenset(found)


Node = frozenset[int] | tuple["Choice", ...]
"""An expression: one of some bytes, or choices."""


@dataclass(frozen=True, slots=True)
class Repetition:
    """A part of a sequence that comes from `least` to `most` times."""

    node: Node
    least: int
    most: int


Choice = list[Repetition]


class _Parser:
    """Takes an expression apart."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def whole(self) -> Node:
        """The expression.  Raises `ValueError` for a malformed expression."""
        node = self._choices()
        if self._at < len(self._text):
            raise ValueError(f"unexpected {self._text[self._at]!r} in {self._text!r}")
        return node

    def _next(self) -> str:
        self._at += 1
        return self._text[self._at - 1 : self._at]

    def _choices(self) -> Node:
        found: list[Choice] = [[]]
        while (char := self._next()) not in ("", ")"):
            if char == "|":
                found.append([])
            else:
                found[-1].extend(self._parts(char))
        self._at -= 1
        return tuple(found)

    def _parts(self, char: str) -> Iterator[Repetition]:
        nodes: list[Node]
        if char == "(":
            nodes = [self._choices()]
            if self._next() != ")":
                raise ValueError(f"a group without an end in {self._text!r}")
        elif char == "[":
            close = self._text.index("]", self._at)
            members = self._text[self._at : close].encode()
            self._at = close + 1
            nodes = [frozenset(members.replace(b"#", b"")) | (DIGITS if b"#" in members else frozenset())]
        elif char == "\\" and (char := self._next()) == "d":
            nodes = [DIGITS]
        else:
            nodes = [frozenset((byte,)) for byte in char.encode()]
        times = self._times()
        for node in nodes[:-1]:
            yield Repetition(node, 1, 1)
        yield Repetition(nodes[-1], *times)

    def _times(self) -> tuple[int, int]:
        if self._text[self._at : self._at + 1] == "?":
            self._at += 1
            return 0, 1
        if self._text[self._at : self._at + 1] != "{":
            return 1, 1
        close = self._text.index("}", self._at)
        least, _, most = self._text[self._at + 1 : close].partition(",")
        self._at = close + 1
        return int(least), int(most or least)


def compile_automaton(expressions: Iterable[tuple[str, int]]) -> Automaton:
    """One automaton for several expressions, each with the bit that its end sets.

    In a class, `#` stands for all digits.  Raises `ValueError` for what is not an expression, and for too many states.
    """
    nfa = _Nfa()
    root = nfa.state()
    ends: dict[int, int] = {}
    for text, bit in expressions:
        start = nfa.state()
        nfa.free[root].append(start)
        ends[nfa.add(_Parser(text).whole(), start)] = bit
    classes, members = _classes(by for steps in nfa.steps for by, _ in steps)
    useful = {state for state, steps in enumerate(nfa.steps) if steps} | ends.keys()
    reached = [nfa.closure((state,)) & useful for state in range(len(nfa.steps))]
    sets = dict.fromkeys(by for steps in nfa.steps for by, _ in steps)
    places = {by: [number for number, byte in enumerate(members) if byte in by] for by in sets}
    numbers: dict[frozenset[int], int] = {frozenset(): 0, reached[root]: 1}
    order = [frozenset(), reached[root]]
    table: list[int] = []
    for states in order:
        row: list[set[int]] = [set() for _ in members]
        for state in states:
            for by, to in nfa.steps[state]:
                for place in places[by]:
                    row[place] |= reached[to]
        for targets in row:
            if not targets:
                table.append(0)
                continue
            found = frozenset(targets)
            number = numbers.setdefault(found, len(order))
            if number == len(order):
                order.append(found)
            table.append(number)
    if len(order) > MOST_STATES:
        raise ValueError(f"{len(order)} states")
    accepts = bytearray(len(order))
    for number, states in enumerate(order):
        for state in states & ends.keys():
            accepts[number] |= ends[state]
    return Automaton(classes, len(members), table, bytes(accepts))


def _classes(sets: Iterable[frozenset[int]]) -> tuple[bytes, list[int]]:
    """Bytes that all sets treat alike have one class: the class of each byte, and a byte of each class."""
    distinct = list(dict.fromkeys(sets))
    numbers: dict[int, int] = {}
    members: list[int] = []
    classes = bytearray(256)
    for byte in range(256):
        key = sum(1 << place for place, one in enumerate(distinct) if byte in one)
        number = numbers.setdefault(key, len(members))
        if number == len(members):
            members.append(byte)
        classes[byte] = number
    return bytes(classes), members
