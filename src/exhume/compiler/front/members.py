"""Families of kinds, and the members and methods of their values in Kaitai's language.

A family is a word for kinds that the language treats alike, such as "integer" or "text"; see `kinds.family`.
"""

from __future__ import annotations

from dataclasses import dataclass

from exhume.compiler.front.model import BOOL, BYTE, INTEGER, SOME_STRUCTURE, STREAM, TEXT, Kind

NUMBERS = frozenset(("integer", "enum", "float"))
WHOLE = frozenset(("integer",))
"""Families of whole numbers."""
ORDERED = NUMBERS | {"text", "bytes"}
"""Families whose values have an order."""
COMPARED = ORDERED | {"bool"}
"""Families whose values can be compared for equality."""
SHOWN = frozenset(("integer", "text"))
"""Families of values that a format string may contain."""

MEMBERS: dict[str, dict[str, Kind | None]] = {
    "integer": {"to_s": TEXT},
    "enum": {"to_i": INTEGER},
    "float": {"to_i": INTEGER},
    "bool": {"to_i": INTEGER},
    "text": {"length": INTEGER, "reverse": TEXT, "to_i": INTEGER},
    "bytes": {"length": INTEGER, "size": INTEGER, "first": BYTE, "last": BYTE, "min": BYTE, "max": BYTE},
    "sequence": {"size": INTEGER} | dict.fromkeys(("first", "last", "min", "max")),
    "stream": {"size": INTEGER, "pos": INTEGER, "eof": BOOL},
    "structure": {"_io": STREAM, "_parent": SOME_STRUCTURE},
    "unknown": {},
    "absent": {},
}
"""Members of each family of kinds, with the kind of their values (None: that of an element).

Structures of a known type have those that their type declares, in addition.
"""


@dataclass(frozen=True, slots=True)
class Method:
    """A method of Kaitai's language: the families of each argument, the kind of the result."""

    takes: tuple[frozenset[str], ...]
    returns: Kind
    least: int
    """The smallest number of arguments."""


CALLS: dict[str, dict[str, Method]] = {
    "text": {
        "substring": Method((WHOLE, WHOLE), TEXT, least=2),
        "to_i": Method((WHOLE,), INTEGER, least=0),
    },
    "bytes": {"to_s": Method((frozenset(("text",)),), TEXT, least=1)},
}
"""Methods of each family, by name."""

WORDS = {
    "integer": "an integer",
    "enum": "a value of an enum",
    "float": "a float",
    "bool": "a truth value",
    "text": "a text",
    "bytes": "bytes",
    "sequence": "a list",
    "stream": "a stream",
    "structure": "a structure of one of several types",
    "unknown": "a value of unknown type",
    "absent": "nothing",
}
"""Families in words, for messages."""
