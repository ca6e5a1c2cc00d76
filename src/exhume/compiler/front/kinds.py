"""What kinds have in common: built-in types and encodings by their names, families, and the kind that several are."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from collections.abc import Sequence as Many

from exhume.compiler.front.model import ABSENT as ABSENT
from exhume.compiler.front.model import BOOL as BOOL
from exhume.compiler.front.model import BYTES as BYTES
from exhume.compiler.front.model import DECIDED as DECIDED
from exhume.compiler.front.model import FLOAT as FLOAT
from exhume.compiler.front.model import INTEGER as INTEGER
from exhume.compiler.front.model import REST as REST
from exhume.compiler.front.model import SOME_STRUCTURE as SOME_STRUCTURE
from exhume.compiler.front.model import STREAM as STREAM
from exhume.compiler.front.model import TEXT as TEXT
from exhume.compiler.front.model import UNKNOWN as UNKNOWN
from exhume.compiler.front.model import Bits as Bits
from exhume.compiler.front.model import Enum as Enum
from exhume.compiler.front.model import Integer as Integer
from exhume.compiler.front.model import Kind as Kind
from exhume.compiler.front.model import Sequence as Sequence
from exhume.compiler.front.model import SimpleKind as SimpleKind
from exhume.compiler.front.model import Structure as Structure
from exhume.compiler.front.model import Switch as Switch
from exhume.compiler.front.model import Type
from exhume.compiler.refusal import UnsupportedError

_INTEGER = re.compile(r"([us])([1248])(le|be)?$")
_FLOAT = re.compile(r"f([48])(le|be)?$")
_BITS = re.compile(r"b([0-9]+)(le|be)?$")


def primitive(name: str, owner: Type, enum: Enum | None = None, *, stored: bool = True) -> Kind | None:
    """The kind of a built-in type; None for names of structures.

    Raises `UnsupportedError` when byte order is missing from what is `stored`.
    """

    def big(said: str | None, otherwise: str | None, size: int) -> bool:
        order = said or otherwise
        if order is None and size > 1 and stored:
            raise UnsupportedError(f"{name} has no byte order")
        return size > 1 and order == "be"

    decided = owner.endian == DECIDED
    if found := _INTEGER.match(name):
        size = int(found[2])
        ordered = big(found[3], owner.endian, size)
        return Integer(enum, size, found[1] == "s", ordered, decided and size > 1 and not found[3])
    if found := _FLOAT.match(name):
        size = int(found[1])
        return SimpleKind("float", size, big(found[2], owner.endian, size), decided and not found[2])
    if found := _BITS.match(name):
        return Bits(int(found[1]), (found[2] or owner.bit_endian) != "le", enum)
    if name in ("str", "strz"):
        return TEXT
    return {"bool": BOOL, "bytes": BYTES, "io": STREAM, "struct": SOME_STRUCTURE, "any": UNKNOWN}.get(name)


def family(kind: Kind) -> str:
    """What the language makes of a kind: `integer`, `enum`, `sequence`, `structure`, or the word of a plain one."""
    match kind:
        case Integer(enum) | Bits(_, _, enum) if enum is not None:
            return "enum"
        case Bits(1):
            return "bool"
        case Integer() | Bits():
            return "integer"
        case Sequence():
            return "sequence"
        case Structure():
            return "structure"
        case Switch():
            return family(combined(kind))
        case SimpleKind(word):
            return word


def combined(kind: Kind) -> Kind:
    """One of several kinds as the one that all of them are; every other kind as it is."""
    if not isinstance(kind, Switch):
        return kind
    return united([one for _, one in kind.cases] + ([] if kind.default is None else [kind.default]))


def united(kinds: Many[Kind]) -> Kind:
    """The kind of what is one of some: `UNKNOWN` where they have nothing in common."""
    found: Kind = ABSENT
    for kind in map(combined, kinds):
        found = _both(found, kind)
    return UNKNOWN if found == ABSENT else found


def _both(one: Kind, other: Kind) -> Kind:
    """The kind of a value that is of one kind or the other; `UNKNOWN` if they have nothing in common."""
    if other in (one, ABSENT):
        return one
    if one == ABSENT:
        return other
    if isinstance(one, Sequence) and isinstance(other, Sequence):
        return Sequence(_both(one.of, other.of))
    if isinstance(one, Structure) and isinstance(other, Structure) and one.type is other.type:
        return Structure(one.type)
    families = {family(one), family(other)}
    if families == {"enum"} and one.enum is other.enum:  # type: ignore[union-attr]  # of numbers
        return Integer(one.enum)  # type: ignore[union-attr]
    if families == {"integer"}:
        return INTEGER
    if families <= {"integer", "float"}:
        return FLOAT
    if families == {"structure"}:
        return SOME_STRUCTURE
    alike: dict[str, Kind] = {"bool": BOOL, "text": TEXT, "bytes": BYTES, "enum": INTEGER}
    return alike.get(families.pop(), UNKNOWN) if len(families) == 1 else UNKNOWN


def choices(kind: Switch) -> dict[str, list[Kind]]:
    """What a value of a switch may be, by name: a structure by its type, all others by their family.

    Truth values and enums count as integers where there are integers, too.
    """
    found: dict[str, list[Kind]] = {}
    plain: dict[str, list[Kind]] = {}
    known: list[Type] = []
    for one in [*(found for _, found in kind.cases), *([] if kind.default is None else [kind.default])]:
        if not isinstance(one, Structure):
            plain.setdefault(family(one), []).append(one)
        elif all(one.type is not other for other in known):
            known.append(one.type)
            found[one.type.where.replace("::", ".") if one.type.id in found else one.type.id] = [one]
    for word, kinds in plain.items():
        word = "integer" if word in ("enum", "bool") and "integer" in plain else word
        word = f"{word}_" if any(isinstance(one, Structure) for one in found.get(word, ())) else word
        found[word] = [*found.get(word, []), *kinds]
    return found


def enum_of(kind: Kind) -> Enum | None:
    """The enum that the values of a kind have names in."""
    if isinstance(kind, (Integer, Bits)):
        return kind.enum
    if isinstance(kind, Sequence):
        return enum_of(kind.of)
    if isinstance(kind, Switch):
        kinds = [one for _, one in kind.cases] + ([] if kind.default is None else [kind.default])
        return next((found for one in kinds if (found := enum_of(one)) is not None), None)
    return None


def structures(kind: Kind) -> Iterator[Structure]:
    """The structures that a kind may be."""
    if isinstance(kind, Structure):
        yield kind
    elif isinstance(kind, Sequence):
        yield from structures(kind.of)
    elif isinstance(kind, Switch):
        for _, one in kind.cases:
            yield from structures(one)
        if kind.default is not None:
            yield from structures(kind.default)


_STRANGE = frozenset(("idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "mbcs", "oem"))
"""Encodings of Python that are none of characters."""


def text_encoding(found: object) -> str:
    """The name of an encoding; raises `UnsupportedError` for any that is not one of characters."""
    known = None
    if isinstance(found, str) and re.fullmatch(r"[A-Za-z0-9_.:-]{1,40}", found) is not None:
        try:
            known = codecs.lookup(found)
        except LookupError:
            known = None
    if known is None or known.name.replace("-", "_") in _STRANGE or not known._is_text_encoding:  # noqa: SLF001
        raise UnsupportedError(f"encoding {found!r:.60} is not known")
    assert isinstance(found, str)
    return found
