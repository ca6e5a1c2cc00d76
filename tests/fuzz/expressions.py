"""Expressions from a grammar of Kaitai's language, compiled and executed, and a canary that none of them may examine.

    python -m tests.fuzz.expressions 1000000

executes as many expressions, and writes their number into docs/testing.md.
"""

from __future__ import annotations

import itertools
import random
import re
import sys
from array import array
from collections.abc import Callable, Iterator
from typing import Any

from exhume.compiler.front.expressions import parse
from exhume.compiler.front.specs import Model, kind
from exhume.compiler.refusal import UnsupportedError
from exhume.compiler.whole import compile_foreign
from exhume.errors import ExhumeError
from exhume.layout.fast import RAISED
from exhume.layout.foreign import Specification
from tools.blocks import write_block

BASE: dict[str, Any] = {
    "meta": {"id": "one", "endian": "le", "encoding": "ASCII"},
    "params": [{"id": "some", "type": "any"}, {"id": "node", "type": "struct"}],
    "seq": [
        {"id": "a", "type": "u1"},
        {"id": "b", "type": {"switch-on": "a % 4", "cases": {"1": "t1", "2": "t2"}}},
        {"id": "c", "type": "t1"},
        {"id": "m", "type": {"switch-on": "a % 3", "cases": {"1": "t1", "2": "u1"}}},
        {"id": "n", "type": "u2", "repeat": "expr", "repeat-expr": "2"},
        {"id": "r", "type": "t1", "repeat": "expr", "repeat-expr": "2"},
        {"id": "w", "size": "3"},
        {"id": "t", "type": "str", "size": "2"},
        {"id": "f", "type": "f4"},
        {"id": "e", "type": "u1", "enum": "k"},
        {"id": "g", "type": "b1"},
    ],
    "enums": {"k": {"1": "x", "2": "y"}},
    "types": {
        "t1": {"seq": [{"id": "q", "type": "u1"}, {"id": "hex", "type": "u1"}]},
        "t2": {"seq": [{"id": "q", "type": "u1"}], "instances": {"up": {"value": "_parent"}}},
        "t3": {"seq": [{"id": "close", "type": "u1"}, {"id": "from_file", "type": "u1"}]},
    },
}
FIELDS = ("a", "b", "c", "m", "n", "r", "w", "t", "f", "e", "g", "some", "node", "_io", "_root", "_parent")
MEMBERS = (
    "q", "hex", "up", "close", "from_file", "length", "size", "first", "last", "min", "max", "to_i", "to_s", "reverse",
    "pos", "eof", "_io", "_parent", "_root", "a", "c", "r", "_sizeof",
)  # fmt: skip
STRANGE = (
    "__class__", "__dict__", "__init__", "__globals__", "__builtins__", "__subclasses__()", "format", "encode", "obj",
    "real", "numerator", "tobytes", "cast", "append", "PLACES", "_fields", "_reader", "_run", "steps", "close",
    "from_file", "from_bytes", "view", "to_byte_array", "extent", "mro", "at", "base", "read", "hex()", "values",
    "within",
)  # fmt: skip
"""Members of Python's objects, and of readers' own."""
TYPES = (
    "t1",
    "t2",
    "t3",
    "one",
    "u1",
    "u8",
    "f4",
    "str",
    "bytes",
    "bool",
    "io",
    "any",
    "struct",
    "t1[]",
    "u1[]",
    "t9",
    "k",
)
OPERATORS = ("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "and", "or")
LITERALS = (
    "0",
    "1",
    "7",
    "255",
    "65536",
    "0xffffffffffffffff",
    "1.5",
    '"ab"',
    "'c'",
    "true",
    "false",
    "[1, 2]",
    "k::x",
)

Choose = Callable[[int], int]


class Grammar:
    """Expressions, whose choices are made by a function that returns a number below another."""

    def __init__(self, choose: Choose) -> None:
        self.choose = choose

    def one(self, options: tuple[str, ...]) -> str:
        return options[self.choose(len(options))]

    def expression(self, depth: int = 4) -> str:
        """One expression; most have a type."""
        way = self.choose(12) if depth else self.choose(3)
        if way == 0:
            return self.one(LITERALS)
        if way <= 3:
            return self.one(FIELDS)
        inner = self.expression(depth - 1)
        match way:
            case 4:
                return f"({inner} {self.one(OPERATORS)} {self.expression(depth - 1)})"
            case 5:
                return f"{inner}.as<{self.one(TYPES)}>"
            case 6:
                return f"{inner}[{self.expression(0)}]"
            case 7:
                return f"({inner} ? {self.expression(depth - 1)} : {self.expression(depth - 1)})"
            case 8:
                call = self.one(("substring(0, 1)", "to_i(16)", 'to_s("ASCII")', 'to_s("zlib_codec")', "to_s(t)"))
                return f"{inner}.{call}"
            case 9:
                return f"{self.one(('-', '~', 'not '))}{inner}"
            case 10 if '"' not in inner and "{" not in inner:
                return f'f"x{{{inner}}}"'
            case 11 if not self.choose(4):
                return f"{inner}.{self.one(STRANGE)}"
        return f"{inner}.{self.one(MEMBERS)}"


class Canary:
    """What is outside the file: examining anything of it is a failure."""

    def __getattribute__(self, name: str) -> Any:
        if name != "__class__":  # which is asked of everything that is taken for something
            raise AssertionError(f"an expression reached {name} of the canary")
        return object.__getattribute__(self, name)


CANARY = Canary()
PLAIN = (int, float, str, bytes, memoryview, type(None), array)


def is_value(found: Any, depth: int = 3) -> bool:
    """Whether something is a value of the file: a number, a string, bytes, a structure, a stream, a list of those."""
    if found is CANARY or isinstance(found, PLAIN) or hasattr(found, "_fields") or hasattr(found, "resume_at"):
        return True
    if isinstance(found, list):
        return depth > 0 and all(is_value(one, depth - 1) for one in found)
    return type(found).__name__ == "Stream"


def batch(grammar: Grammar, many: int) -> tuple[list[str], int]:
    """Expressions that have a type, and how many others were refused."""
    here = Model({"one": BASE}, foreign=True).schemas["one"]
    found: list[str] = []
    refused = 0
    while len(found) < many and refused < 20 * many:
        text = grammar.expression()
        try:
            kind(parse(text), here)
        except UnsupportedError:
            refused += 1
        else:
            found.append(text)
    return found, refused


def compiled(texts: list[str]) -> Specification:
    """A specification with an instance for each expression; those that are refused are taken from the list."""
    while True:
        spec = {**BASE, "instances": {f"v{number}": {"value": text} for number, text in enumerate(texts)}}
        try:
            return Specification("one", {"one": spec}, compile_foreign({"one": spec}))
        except UnsupportedError as error:
            place = re.match(r"one\.v(\d+)", error.where)
            assert place is not None, error
            del texts[int(place[1])]


def execute(texts: list[str], files: Iterator[bytes]) -> int:
    """Execute each expression on each file and return the count. Raises `AssertionError` for a forbidden object."""
    specification, count = compiled(texts), 0
    for data in files:
        try:
            value = specification.read(data, CANARY, CANARY)
        except (ExhumeError, *RAISED):
            continue
        for number, text in enumerate(texts):
            count += 1
            try:
                found = getattr(value, f"v{number}")
            except RAISED:
                continue
            assert is_value(found), f"{text} gave {type(found)}"
    return count


def inputs(draw: random.Random, many: int) -> Iterator[bytes]:
    """Files that begin with small numbers, of letters otherwise."""
    return (bytes([draw.randrange(8), *(draw.randrange(128) for _ in range(60))]) for _ in range(many))


def run(many: int, seed: int = 0, *, size: int = 40, files: int = 100) -> tuple[int, int, int]:
    """Execute at least this many expressions: how often, how many different ones, and how many were refused."""
    draw = random.Random(seed)
    done = different = refused = 0
    while done < many:
        texts, others = batch(Grammar(draw.randrange), size)
        different, refused = different + len(set(texts)), refused + others
        done += execute(texts, inputs(draw, files))
    return done, different, refused


def from_bytes(data: bytes) -> Choose:
    """Choices as bytes make them; the first where there are no more."""
    rest = itertools.chain(data, itertools.repeat(0))
    return lambda below: next(rest) % below


def main() -> None:
    """Run, and write the page's block."""
    done, different, refused = run(int(sys.argv[1]))
    stated = f"{done:,} executions of {different:,} expressions reached nothing else; {refused:,} others were refused."
    write_block("testing.md", "fuzz-expressions", stated)


if __name__ == "__main__":
    main()
