"""What the compiler refuses: its error, and the budgets of third-party specifications, in one place. prose: ok

Two budgets hold for a whole reading of a file, whatever the specification makes of it, and for what is asked of the
result later: `STEPS` and `HELD`, each with a share for every byte of the file.  The others bound the specification
itself.  Specifications of exhume's own have no budgets.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def meant(found: str, known: Iterable[str]) -> str:
    """A suggestion, in parentheses, for a name that is none of those that are known."""
    near = difflib.get_close_matches(found[:100], known, 1)
    return f" (did you mean {near[0]!r}?)" if near else ""


class UnsupportedError(ValueError):
    """A specification is wrong, or uses what fast readers cannot do; `where` is the path of the field."""

    def __init__(self, why: str, where: str = "") -> None:
        super().__init__(f"{where}: {why}" if where else why)
        self.why = why
        self.where = where

    def within(self, where: str) -> UnsupportedError:
        """Return this error with a place in the specification, unless it has one already."""
        return self if self.where else UnsupportedError(self.why, where)


STEPS = 50_000
"""Structures, elements and instances that reading a file may take, in addition to a share for each byte; slow
operations (a long expression, a type of many fields) count for several, and where positions are remembered each field
is a step."""

STEPS_PER_BYTE = 4
"""Steps that each byte of a file adds, and each byte that decompression makes of it up to `INFLATED` times its size."""

INFLATED = 4

HELD = 32 << 20
"""Bytes that reading may copy, decode, inflate, join or compare, in addition to a share for each byte of the file."""

HELD_PER_BYTE = 8
"""Bytes that each byte of a file adds."""

EMPTY = 1 << 14
"""Elements of one repetition that take no bytes."""

BITS = 1 << 13
"""Bits of a number that an expression makes; Kaitai's own have 64."""

DIGITS = 1 << 11
"""Characters of a string that is taken for a number."""

TEXT = 1 << 24
"""Characters or bytes that an expression puts together."""

SIZE = 1 << 20
"""Bytes of a specification and of what it imports; the largest of the public collection has 17 % of that."""

NODES = 50_000
"""Keys and values in their YAML; the largest of the public collection has 17 % of that."""

FILES = 500
"""Specifications that one may import, directly and indirectly."""

DEPTH = 100
"""Levels of lists and mappings in their YAML."""

TYPES = 500
"""Types; the largest of the public collection has 20 % of that."""

FIELDS = 2_000
"""Fields, instances and parameters; the largest of the public collection has 17 % of that."""

FIELDS_OF_ONE = 1_000
"""Fields, instances and parameters of one type; the largest of the public collection has a fourteenth."""

EXPRESSION = 20_000
"""Characters of one expression, in the specification and as code, where those that it names are written out."""

EXPRESSIONS = 100_000
"""Characters of all expressions in a specification; the largest of the public collection has a fifteenth."""

EXPRESSIONS_AS_CODE = 1 << 18
"""Characters of them as code, where those that they name are written out."""

CODE = 1 << 20
"""Characters of code of all readers together; the largest of the public collection has half."""

NAME = 200
"""Characters of a name."""

PATH = 2_000
"""Characters of the names of types within each other."""

REPRESENTATION = 1_000
"""Characters of `-webide-representation`."""

DOC = 10_000
"""Characters of a `doc` that are shown."""
