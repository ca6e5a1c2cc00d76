r"""The timestamps that begin a line of a plain-text log, as small regular expressions in one table of states.

The table is for the compiled kernel and for pure Python.  Python's `re` would not do: the kernel needs a table, and an
expression may need more bytes than there are yet.

Expressions consist of bytes, `\d`, classes `[...]` without ranges (`#` in one stands for all digits), groups, `|`, `?`
and `{m}`, `{m,n}`; a backslash takes the next character as it is.  They are parsed (`_Parser`), made a nondeterministic
automaton (`_Nfa`), which may be in several states at a time, and this a deterministic one (`compile_automaton`).

Spec: the timestamp schema of upstream's `log-converter` and the patterns of its timestamp parser, at e00317e36; the
additional patterns are in `docs/formats/clp_s.md`, "Text logs".
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from typing import Final

from exhume.tuples import NamedTuple

DIGITS: Final = frozenset(b"0123456789")

MOST_STATES: Final = 1 << 16
"""Most states of an automaton: the kernel's table has 16-bit numbers."""


@dataclass(frozen=True, slots=True)
class Automaton:
    """A deterministic automaton: which state follows which by which byte.

    Attributes:
        classes: The class of each byte, 256 items.
        num_classes: How many classes there are.
        table: The next state by `state * num_classes + class`.  State 1 is the first one; state 0: no expression can
            continue so.
        accepts: For each state the bits (LOOSE, STRICT) of the expressions that end there.
    """

    classes: bytes
    num_classes: int
    table: Sequence[int]
    accepts: bytes


class _Step(NamedTuple):
    """A step of an automaton by any one of the bytes `by` to the state `to`."""

    by: frozenset[int]
    to: int


class _Nfa:
    """A nondeterministic automaton: it may be in several states, as steps without a byte are free."""

    def __init__(self) -> None:
        self.steps: list[list[_Step]] = []  # by state
        self.free: list[list[int]] = []  # by state: the next states without a byte

    def state(self) -> int:
        """Add a state."""
        self.steps.append([])
        self.free.append([])
        return len(self.steps) - 1

    def add(self, node: Node, start: int) -> int:
        """Add the states and steps of an expression after the state `start`; return the state at its end."""
        end = self.state()
        if isinstance(node, frozenset):
            self.steps[start].append(_Step(node, end))
            return end
        for choice in node:
            at = start
            for part in choice:
                for number in range(part.most):
                    after = self.add(part.node, at)
                    if number >= part.least:
                        self.free[at].append(after)  # this repetition can be left out
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
"""A parsed expression: one of some bytes, or alternatives."""


@dataclass(frozen=True, slots=True)
class Repetition:
    """A part of a sequence that comes from `least` to `most` times."""

    node: Node
    least: int
    most: int


Choice = list[Repetition]
"""One alternative: a sequence of parts."""


class _Parser:
    """Parses an expression, from left to right."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def whole(self) -> Node:
        """Parse the whole expression.  Raises `ValueError` for a malformed one."""
        node = self._choices()
        if self._at < len(self._text):
            raise ValueError(f"unexpected {self._text[self._at]!r} in {self._text!r}")
        return node

    def _next(self) -> str:
        """Take the next character; empty at the end."""
        self._at += 1
        return self._text[self._at - 1 : self._at]

    def _choices(self) -> Node:
        """Parse alternatives separated by `|` up to the closing parenthesis."""
        found: list[Choice] = [[]]
        while (char := self._next()) not in ("", ")"):
            if char == "|":
                found.append([])
            else:
                found[-1].extend(self._parts(char))
        self._at -= 1  # leave the parenthesis to the caller
        return tuple(found)

    def _parts(self, char: str) -> Iterator[Repetition]:
        """Yield the repetitions of one element that starts with `char`.  Raises `ValueError` if it does not end."""
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
        # Only a character outside ASCII has several nodes.  The count applies to its last byte.
        times = self._times()
        for node in nodes[:-1]:
            yield Repetition(node, 1, 1)
        yield Repetition(nodes[-1], *times)

    def _times(self) -> tuple[int, int]:
        """Parse `?` or `{least,most}`, and return how often a part may occur: `(least, most)`; once without either."""
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
    """Make one automaton for several expressions, each given with its bit for `Automaton.accepts`.

    Raises `ValueError` for a malformed expression, and for too many states.
    """
    # One nondeterministic automaton for all expressions, with a common start.
    nfa = _Nfa()
    root = nfa.state()
    ends: dict[int, int] = {}  # by state in which an expression ends: the bit of the expression
    for text, bit in expressions:
        start = nfa.state()
        nfa.free[root].append(start)
        ends[nfa.add(_Parser(text).whole(), start)] = bit
    # Bytes that all transitions treat alike share a class, so rows of the table are short.
    classes, members = _classes(step.by for steps in nfa.steps for step in steps)
    sets, table = _make_deterministic(nfa, root, ends.keys(), members)
    # The expressions that each state accepts, as bits.
    accepts = bytearray(len(sets))
    for number, states in enumerate(sets):
        for state in states & ends.keys():
            accepts[number] |= ends[state]
    return Automaton(classes, len(members), table, bytes(accepts))


def _make_deterministic(
    nfa: _Nfa, root: int, ends: AbstractSet[int], members: Sequence[int]
) -> tuple[list[frozenset[int]], list[int]]:
    """Return `(sets, table)`: the states of the deterministic automaton, and its table (see `Automaton`).

    Each state stands for a set of states that `nfa` can be in at the same time: number 0 for none, number 1 for those
    at the start, before any byte.

    Args:
        nfa: The nondeterministic automaton.
        root: Its first state.
        ends: Its states in which an expression ends.
        members: One byte of each class of bytes.

    Raises `ValueError` for too many states.
    """
    # A state that is reached without a byte matters only if it has steps or ends an expression.
    useful = {state for state, steps in enumerate(nfa.steps) if steps} | ends
    reached = [nfa.closure((state,)) & useful for state in range(len(nfa.steps))]
    byte_sets = {step.by for steps in nfa.steps for step in steps}  # few: most steps have the bytes of many others
    classes_of = {by: [number for number, byte in enumerate(members) if byte in by] for by in byte_sets}
    sets = [frozenset(), reached[root]]  # grows in the loop
    numbers = {found: number for number, found in enumerate(sets)}
    table: list[int] = []
    for states in sets:
        row: list[set[int]] = [set() for _ in members]  # by class of the next byte: the states that follow
        for state in states:
            for step in nfa.steps[state]:
                for number in classes_of[step.by]:
                    row[number] |= reached[step.to]
        for following in row:
            if not following:  # state 0, as for most classes: no need to make and look up a set
                table.append(0)
                continue
            found = frozenset(following)
            number = numbers.setdefault(found, len(sets))
            if number == len(sets):
                sets.append(found)
            table.append(number)
    if len(sets) > MOST_STATES:
        raise ValueError(f"{len(sets)} states")
    return sets, table


def _classes(sets: Iterable[frozenset[int]]) -> tuple[bytes, list[int]]:
    """Return `(class of each byte, one byte of each class)`; bytes that are in the same sets share a class."""
    distinct = list(dict.fromkeys(sets))
    numbers: dict[int, int] = {}
    members: list[int] = []
    classes = bytearray(256)
    for byte in range(256):
        key = sum(1 << place for place, one in enumerate(distinct) if byte in one)  # the sets that have it, as bits
        number = numbers.setdefault(key, len(members))
        if number == len(members):
            members.append(byte)
        classes[byte] = number
    return bytes(classes), members


LOOSE: Final = 1
"""A timestamp that any byte but a letter, a digit or an underscore may follow."""

STRICT: Final = 2
"""A timestamp that looks like other numbers: a space, a line end, or one of `[`, `(` and `:` has to follow."""

# Parts of the expressions below.
_MONTH: Final = "(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_LONG_MONTH: Final = (
    "(Jan(uary)?|Feb(ruary)?|Mar(ch)?|Apr(il)?|May|June?|July?|Aug(ust)?"
    "|Sep(tember)?|Oct(ober)?|Nov(ember)?|Dec(ember)?)"
)
_WEEKDAY: Final = "(Sun|Mon|Tue|Wed|Thu|Fri|Sat)"
_TWO: Final = "[ #]{2}"
_DAY: Final = "[ #]\\d"
_DATE: Final = "\\d{4}[/-]\\d\\d[/-]\\d\\d"
_CLOCK: Final = "\\d\\d:\\d\\d:\\d\\d"
_FRACTION: Final = "([,.:]\\d{1,9})?"
_OFFSET: Final = "(\\+|-|\u2212)\\d\\d(:?\\d\\d)?"
_NAME: Final = "(UTC|UT|GMT|EST|EDT|CST|CDT|MST|MDT|PST|PDT)"
_ZONE: Final = f"( ?({_NAME}({_OFFSET})?|{_OFFSET})Z?| ?Z)"


@dataclass(frozen=True, slots=True)
class Form:
    """One form of timestamp."""

    name: str  # in the docs
    example: str
    upstream: str  # the pattern of upstream's timestamp parser that it stems from
    expression: str
    follows: int = LOOSE  # what may follow it: LOOSE or STRICT


FORMS: Final = (
    Form(
        "date and time, with any of the usual signs between them",
        "2015-02-01T01:02:03.004+02:00",
        r"\Y\O{-/}\m\O{-/}\d\O{T }\H:\M:\s\O{,.}\?\Z",
        f"\\d{{2,4}}[ /-]?{_TWO}[ /-]{_TWO}[ T:]{_TWO}:{_TWO}:{_TWO}{_FRACTION}{_ZONE}?",
    ),
    Form(
        "the same with a month by its name",
        "01 Feb 2015 01:02:03,004",
        r"\d \B{Jan,...} \Y \H:\M:\s\O{,.}\?",
        f"{_TWO}[ /-]{_LONG_MONTH}[ /-]\\d{{2,4}}[ T:]{_TWO}:{_TWO}:{_TWO}{_FRACTION}{_ZONE}?",
    ),
    Form(
        "date and time in brackets, or after a bracket",
        "[2015-02-01 01:02:03,004]",
        r"[\Y\O{-/}\m\O{-/}\d\O{T }\H:\M:\s\O{,.}\?]",
        f"\\[{_DATE}[ T]{_CLOCK}{_FRACTION}{_ZONE}?\\]?",
    ),
    Form(
        "after three angle brackets",
        "<<<2015-02-01 01:02:03:004",
        r"<<<\Y\O{-/}\m\O{-/}\d\O{T }\H:\M:\s:\?",
        f"<<<{_DATE}[ T]{_CLOCK}{_FRACTION}",
    ),
    Form(
        "digits of the date together",
        "[20150201-01:02:03]",
        r"[\Y\m\d-\H:\M:\s]",
        f"\\[?\\d{{8}}[ T-]{_CLOCK}{_FRACTION}{_ZONE}?\\]?",
    ),
    Form("short digits together", "150201  1:02:03", r"\y\m\d\O{T }\k:\M:\s", "\\d{6}[ T][ #]\\d:\\d\\d:\\d\\d"),
    Form(
        "twelve hours",
        "Feb 01, 2015  1:02:03 AM",
        r"\B{Jan,...} \d, \Y \l:\M:\s \p",
        f"{_MONTH} \\d\\d, \\d{{4}} [ #]\\d:\\d\\d:\\d\\d [AP]M",
    ),
    Form(
        "a month's full name, without seconds",
        "February 01, 2015 01:02",
        r"\B{January,...} \d, \Y \H:\M",
        f"{_LONG_MONTH} \\d\\d, \\d{{4}} \\d\\d:\\d\\d",
    ),
    Form(
        "web servers",
        "[01/Feb/2015:01:02:03 +0000]",
        r"[\d\O{-/}\B{Jan,...}\O{-/}\Y:\H:\M:\s",
        f"\\[\\d\\d[/-]({_MONTH}|\\d\\d)[/-]\\d{{4}}:{_CLOCK}{_ZONE}?\\]?",
    ),
    Form(
        "asctime",
        "Sun Feb  1 01:02:03 2015",
        r"\A{Sun,...} \B{Jan,...} \e \H:\M:\s \Y",
        f"\\[?{_WEEKDAY} {_MONTH} {_DAY} {_CLOCK}([,.]\\d{{1,9}})? \\d{{4}}\\]?",
    ),
    Form(
        "syslog, without a year",
        "Jan 21 11:56:42",
        r"\B{Jan,...} \d \H:\M:\s",
        f"{_MONTH} {_DAY} {_CLOCK}{_FRACTION}{_ZONE}?",
    ),
    Form(
        "Android, without a year",
        "01-21 11:56:42.392",
        r"\m\O{- }\d \H:\M:\s\O{,.}\?",
        f"\\d\\d[ -]\\d\\d {_CLOCK}{_FRACTION}",
    ),
    Form(
        "RFC 2822",
        "Thu, 21 Dec 2000 16:01:07 +0200",
        r"\A{Sun,...}, \d \B{Jan,...} \Y \H:\M:\s\Z",
        f"({_WEEKDAY}, )?{_DAY} {_MONTH} \\d\\d(\\d\\d)? {_CLOCK}{_FRACTION}{_ZONE}?",
    ),
    Form(
        "RFC 2822 without seconds",
        "21 Dec 00 16:01 EST",
        r"\d \B{Jan,...} \y \H:\M\Z",
        f"({_WEEKDAY}, )?{_DAY} {_MONTH} \\d\\d(\\d\\d)? \\d\\d:\\d\\d{_ZONE}",
    ),
    Form("seconds since 1970, with a fraction", "1762445893.001", r"\E.\?", "-?\\d{10}\\.\\d{1,9}", STRICT),
    Form("seconds, milli-, micro- or nanoseconds since 1970", "1762445893001", r"\P", "-?\\d{10}(\\d{3}){0,3}", STRICT),
)

_WORD: Final = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
FOLLOWS: Final = bytes(
    (0 if byte in _WORD else LOOSE) | (STRICT if byte in b" \t\r\n[(:" else 0) for byte in range(256)
)
"""For each byte, after which timestamps it may be: the bits LOOSE and STRICT."""


@cache
def automaton() -> Automaton:
    """The automaton of all forms."""
    return compile_automaton((form.expression, form.follows) for form in FORMS)


@cache
def kernel_table() -> bytes:
    """The table of `automaton` as 16-bit integers in this machine's byte order, as the kernel takes it."""
    found = array("H", automaton().table)
    assert found.itemsize == 2, sys.platform
    return found.tobytes()
