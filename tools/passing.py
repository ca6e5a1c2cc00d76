"""Loops of the parsers with positions that may be passed over: the elements are then parsed when they are examined.

    if not self._io.passes(self, 'tokens', lambda i, io: ClpKvIr.Token(io, self, self._root)):
        while True:

The loop stays as the compiler wrote it, and runs unless `exhume.layout.elements` takes over. Elements of arrays of
switched types, and elements that refer to others of their list by number, are always parsed by the loop.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_LIST = re.compile(r"( +)self\._debug\['(\w+)'\]\['arr'\] = \[\]")
"""The line before a loop over elements: indentation, name of the list."""
_NUMBER = re.compile(r"self\._io\.read_[suf](\d)(?:le|be)?\(\)")
"""The reading of a number: its width in bytes."""
_MADE = re.compile(r"[\w.]+\((?:(.*), )?(self\._io|_io__raw_\w+)(, self, self\._root)?\)")
"""The making of an element of a type: arguments, stream, and the parents that types of the same file get."""


def passed(text: str) -> str:
    """The text of a parser with the calls of `passes` before its loops over elements."""
    return "\n".join(_lines(text.split("\n")))


def _lines(lines: list[str]) -> Iterator[str]:
    """The lines of a parser, with each loop over elements that has a call of `passes` below an `if not`."""
    at = 0
    while at < len(lines):
        found = _LIST.fullmatch(lines[at])
        if found is None:
            yield lines[at]
            at += 1
            continue
        depth, name = len(found[1]), found[2]
        while lines[at].strip() != "i = 0" and not lines[at].lstrip().startswith(("for i in ", "while ")):
            yield lines[at]
            at += 1
        end = at + (lines[at].strip() == "i = 0") + 1
        while not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > depth:
            end += 1
        loop = lines[at:end]
        call = _call(name, [line.strip() for line in loop])
        if call is None:
            yield from loop
        else:
            yield f"{' ' * depth}if not {call}:"
            yield from (f"    {line}" if line else line for line in loop)
        at = end


def _call(name: str, loop: list[str]) -> str | None:
    """The call that decides whether a loop is passed over; None for a loop that never is."""
    made = [line.partition(" = ")[2] for line in loop if line.startswith(f"_t_{name} = ")]
    numbers = [_NUMBER.search(line) for line in loop if line.startswith(f"self.{name}.append(self._io")]
    words = [f"self, '{name}'"]
    if len(made) == 1 and (found := _MADE.fullmatch(made[0])):
        if re.search(r"\bi\b", found[1] or ""):
            words.append(f"lambda i, io: {made[0].replace(found[2], 'io', 1)}, indexed=True")
        else:
            given = f", given=({found[1]},)" if found[1] else ""
            words.append(f"lambda i, io: {made[0].replace(found[2], 'io', 1)}{given}")
    elif len(numbers) == 1 and numbers[0] is not None:
        words.append(f"lambda i, io: {numbers[0][0].replace('self._io', 'io')}, width={numbers[0][1]}")
    else:
        return None
    if times := [line[len("for i in range(") : -len("):")] for line in loop if line.startswith("for i in range(")]:
        words.append(f"times={times[0]}")
    if until := [line[len("if ") : -len(":")].strip() for line in loop if line.startswith("if ")]:
        words.append(f"until=lambda _, io: {until[0].replace('self._io', 'io')}")
    if raw := [line for line in loop if line.startswith(f"self._raw_{name}.append(")]:
        words.append(f"size=lambda: {raw[0].partition('read_bytes(')[2][:-2]}")
    return f"self._io.passes({', '.join(words)})"
