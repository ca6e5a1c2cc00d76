"""What the compiler refuses: its error, and the budgets of third-party specifications, in one place. prose: ok

Two budgets hold for a whole reading of a file, whatever the specification makes of it, and for values that are
computed from the result later: `STEPS` and `HELD`, each with a share for every byte of the file.  The others are
limits of the specification itself.  Specifications of exhume's own have no budgets.  "The public collection" is that
of Kaitai Struct, the format gallery.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def meant(found: str, known: Iterable[str]) -> str:
    """Return a suggestion, in parentheses, for a name that is none of those `known`; empty if none is similar."""
    near = difflib.get_close_matches(found[:100], known, 1)
    return f" (did you mean {near[0]!r}?)" if near else ""


class UnsupportedError(ValueError):
    """A specification is wrong, or uses what fast readers cannot do (`why`); `where` is the path of the field."""

    def __init__(self, why: str, where: str = "") -> None:
        super().__init__(f"{where}: {why}" if where else why)
        self.why = why
        self.where = where

    def within(self, where: str) -> UnsupportedError:
        """Return this error with a place in the specification, unless it has one already."""
        return self if self.where else UnsupportedError(self.why, where)


STEPS = 50_000
"""Structures, elements and instances that reading a file may take, in addition to a share for each byte.

Slow operations (a long expression, a type of many fields) count for several, and where positions are remembered each
field is a step.
"""

STEPS_PER_BYTE = 4
"""Steps that each byte of a file adds, and each byte that decompression makes of it up to `INFLATED` times its size."""

INFLATED = 4
"""Multiple of a file's size up to which decompressed bytes add steps."""

HELD = 32 << 20
"""Bytes that reading may copy, decode, inflate, join or compare, in addition to a share for each byte of the file."""

HELD_PER_BYTE = 8
"""Bytes that each byte of a file adds to `HELD`."""

EMPTY = 1 << 14
"""Most elements of one repetition that take no bytes."""

BITS = 1 << 13
"""Most bits of a number that an expression computes; numbers of Kaitai's own runtimes have 64."""

DIGITS = 1 << 11
"""Most characters of a string that is converted to a number."""

TEXT = 1 << 24
"""Most characters or bytes that an expression joins."""

SIZE = 1 << 20
"""Most bytes of a specification and its imports; the largest of the public collection has 17 % of that."""

NODES = 50_000
"""Most keys and values in their YAML; the largest of the public collection has 17 % of that."""

FILES = 500
"""Most specifications that one may import, directly and indirectly."""

DEPTH = 100
"""Most levels of lists and mappings in their YAML."""

TYPES = 500
"""Most types; the largest of the public collection has 20 % of that."""

FIELDS = 2_000
"""Most fields, instances and parameters; the largest of the public collection has 17 % of that."""

FIELDS_OF_ONE = 1_000
"""Most fields, instances and parameters of one type; the largest of the public collection has 7 % of that."""

EXPRESSION = 20_000
"""Most characters of one expression, in the specification and as code, where computed instances that it names are
written out.
"""

EXPRESSIONS = 100_000
"""Most characters of all expressions in a specification; the largest of the public collection has 7 % of that."""

EXPRESSIONS_AS_CODE = 1 << 18
"""Most characters of them as code, where computed instances that they name are written out."""

CODE = 1 << 20
"""Most characters of code of all readers together; the largest of the public collection has half."""

NAME = 200
"""Most characters of a name."""

PATH = 2_000
"""Most characters of the names of types within each other."""

REPRESENTATION = 1_000
"""Most characters of `-webide-representation`."""

DOC = 10_000
"""Most characters of a `doc` that are shown."""
