"""The kinds of values: built-in types and encodings by their names, families of kinds, the kind that several have in
common, and the kind of an expression within a type.

Every expression has a kind, and a kind has the members that Kaitai's language defines (`MEMBERS`, `CALLS`) or, for a
structure, those that the specification declares.  Anything else is rejected here, before code is written.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from collections.abc import Sequence as Many

from exhume.compiler.front import expressions as ex
from exhume.compiler.front.members import CALLS as CALLS
from exhume.compiler.front.members import COMPARED as COMPARED
from exhume.compiler.front.members import MEMBERS as MEMBERS
from exhume.compiler.front.members import NUMBERS, ORDERED, SHOWN, WORDS
from exhume.compiler.front.members import WHOLE as WHOLE
from exhume.compiler.front.model import ABSENT as ABSENT
from exhume.compiler.front.model import BOOL as BOOL
from exhume.compiler.front.model import BYTE as BYTE
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
from exhume.compiler.refusal import UnsupportedError, meant

# Built-in types: `u4le`, `f8`, `b3`.
_INTEGER = re.compile(r"([us])([1248])(le|be)?$")
_FLOAT = re.compile(r"f([48])(le|be)?$")
_BITS = re.compile(r"b([0-9]+)(le|be)?$")


def primitive(name: str, owner: Type, enum: Enum | None = None, *, stored: bool = True) -> Kind | None:
    """Return the kind of a built-in type; None for names of structures.

    `owner` is the type that it is used in, whose byte order it has if its name states none; `enum` names its values.
    A `stored` value has no type that no bytes have, such as `bool`: that is a name of structures there.  Raises
    `UnsupportedError` if the byte order of a stored number is not stated.
    """

    def big(stated: str | None, otherwise: str | None, size: int) -> bool:
        """Return whether a number is big-endian, by the order in its type's name or that of the type around."""
        order = stated or otherwise
        if order is None and size > 1 and stored:
            raise UnsupportedError(f"{name} has no byte order")
        return size > 1 and order == "be"

    decided = owner.endian == DECIDED
    if found := _INTEGER.match(name):
        sign, digit, order = found.groups()
        size = int(digit)
        is_decided = decided and size > 1 and not order
        return Integer(enum, size, sign == "s", big(order, owner.endian, size), is_decided)
    if found := _FLOAT.match(name):
        digit, order = found.groups()
        size = int(digit)
        return SimpleKind("float", size, big(order, owner.endian, size), decided and not order)
    if found := _BITS.match(name):
        width, order = found.groups()
        return Bits(int(width), (order or owner.bit_endian) != "le", enum)
    if name in ("str", "strz"):
        return TEXT
    return None if stored else _NEVER_STORED.get(name)


_NEVER_STORED: dict[str, Kind] = {
    "bool": BOOL,
    "bytes": BYTES,
    "io": STREAM,
    "struct": SOME_STRUCTURE,
    "any": UNKNOWN,
}
"""Built-in types of parameters and expressions only."""


def family(kind: Kind) -> str:
    """Return the family of a kind in Kaitai's language: `integer`, `enum`, `sequence`, `structure`, or a word such as
    `text`.
    """
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
    """Return the kind that all kinds of a `Switch` have in common; any other kind is returned as it is."""
    if not isinstance(kind, Switch):
        return kind
    return united(kind.kinds)


def united(kinds: Many[Kind]) -> Kind:
    """Return the common kind of several kinds; `UNKNOWN` if there is none."""
    found: Kind = ABSENT
    for kind in map(combined, kinds):
        found = _common_of_two(found, kind)
    return UNKNOWN if found == ABSENT else found


def _common_of_two(one: Kind, other: Kind) -> Kind:
    """Return the common kind of two values, such as float for an integer and a float; `UNKNOWN` if there is none."""
    if other in (one, ABSENT):
        return one
    if one == ABSENT:
        return other
    if isinstance(one, Sequence) and isinstance(other, Sequence):
        return Sequence(_common_of_two(one.of, other.of))
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
    """Return the kinds of values that a switch may yield, by a name for each: a structure's type, or a family.

    Booleans and enums count as integers if there are integers, too.  The names are those of columns.
    """
    found: dict[str, list[Kind]] = {}
    plain: dict[str, list[Kind]] = {}
    known: list[Type] = []
    for one in kind.kinds:
        if not isinstance(one, Structure):
            plain.setdefault(family(one), []).append(one)
        elif all(one.type is not other for other in known):
            known.append(one.type)
            name = one.type.where.replace("::", ".") if one.type.id in found else one.type.id
            while name in found:
                name += "_2"
            found[name] = [one]
    for word, kinds in plain.items():
        word = "integer" if word in ("enum", "bool") and "integer" in plain else word
        while any(isinstance(one, Structure) for one in found.get(word, ())):
            word += "_2"
        found[word] = [*found.get(word, []), *kinds]
    return found


def enum_of(kind: Kind) -> Enum | None:
    """Return the enum that the values of a kind have names in; None if there is none."""
    if isinstance(kind, (Integer, Bits)):
        return kind.enum
    if isinstance(kind, Sequence):
        return enum_of(kind.of)
    if isinstance(kind, Switch):
        return next((found for one in kind.kinds if (found := enum_of(one)) is not None), None)
    return None


def structures(kind: Kind) -> Iterator[Structure]:
    """Yield the structures that a kind may be."""
    if isinstance(kind, Structure):
        yield kind
    elif isinstance(kind, Sequence):
        yield from structures(kind.of)
    elif isinstance(kind, Switch):
        for one in kind.kinds:
            yield from structures(one)


_STRANGE = frozenset(("idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "mbcs", "oem"))
"""Python's codecs that are not character encodings, or depend on the platform."""


def text_encoding(found: object) -> str:
    """Return the name of an encoding; raises `UnsupportedError` for any that is not one of characters."""
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


_LITERALS: dict[type, Kind] = {bool: BOOL, int: INTEGER, float: FLOAT, str: TEXT, bytes: BYTES, type(None): ABSENT}
"""Kinds of constants, by their class in Python."""


def kind_text(kind: Kind) -> str:
    """Return a kind in words."""
    kind = combined(kind)
    return f"a structure of type {kind.type.where}" if isinstance(kind, Structure) else WORDS[family(kind)]


def typed(expr: ex.Expr, here: Type, item: Kind) -> Kind:  # noqa: C901 - one case for each form of expression
    """Return the kind of an expression's value in the type `here`; `item` is the kind of `_`.

    Raises `UnsupportedError` for a member, an operand or an argument that Kaitai's language does not have.
    """
    match expr:
        case ex.Literal(value):
            return _LITERALS[type(value)]
        case ex.Array(items):
            if not items:
                raise UnsupportedError("a list without elements has no type")
            kinds = [combined(typed(one, here, item)) for one in items]
            # A list of other lists may double in size from one instance to the next.
            if any(
                isinstance(kind, Sequence) and not isinstance(one, ex.Array)
                for one, kind in zip(items, kinds, strict=True)
            ):
                raise UnsupportedError("a list of lists that are not written out is not supported")
            if all(_is_byte(one, here, item) for one in items):
                raise UnsupportedError("a list of single bytes is bytes, of constants only: `+ 0` makes integers")
            return Sequence(_common(kinds, "the elements of a list"))
        case ex.EnumValue(path, _):
            return Integer(here.enum("::".join(path)))
        case ex.Name(id):
            return _name_kind(id, here, item)
        case ex.Member(_, "_sizeof"):
            return INTEGER
        case ex.Member(of, name):
            return _member_kind(typed(of, here, item), name)
        case ex.Index(of, at):
            return _element_kind(combined(typed(of, here, item)), typed(at, here, item))
        case ex.Call(of, name, arguments):
            return _call_kind(typed(of, here, item), name, [typed(one, here, item) for one in arguments])
        case ex.Cast(_, name) if name.endswith("[]"):
            return Sequence(typed(ex.Cast(expr.of, name[:-2]), here, item))
        case ex.Cast(_, name):
            return primitive(name, here, stored=False) or Structure(here.find(name))
        case ex.SizeOf():
            return INTEGER
        case ex.Format(parts):
            for one in parts:
                demand(typed(one, here, item), SHOWN, "a format string shows an integer or a text")
            return TEXT
        case ex.Unary("not", of):
            demand(typed(of, here, item), {"bool"}, "`not` takes a truth value")
            return BOOL
        case ex.Unary(op, of):
            kind = typed(of, here, item)
            demand(
                kind,
                WHOLE | {"float"} if op == "-" else WHOLE,
                f"`{op}` takes {'a number' if op == '-' else 'an integer'}",
            )
            return FLOAT if family(kind) == "float" else INTEGER
        case ex.Binary(op, left, right):
            return operation(op, combined(typed(left, here, item)), combined(typed(right, here, item)))
        case ex.Choice(condition, then, otherwise):
            demand(typed(condition, here, item), {"bool"}, "a condition is a truth value")
            return _common([typed(then, here, item), typed(otherwise, here, item)], "both sides of a choice")


def _is_byte(expr: ex.Expr, here: Type, item: Kind) -> bool:
    """Return whether Kaitai's compiler takes an element of a list as a byte, so that the list is bytes."""
    if isinstance(expr, ex.Literal):
        return type(expr.value) is int and 0 <= expr.value < 256
    if isinstance(expr, ex.Choice):
        return _is_byte(expr.then, here, item) and _is_byte(expr.otherwise, here, item)
    kind = typed(expr, here, item)
    return isinstance(kind, Integer) and kind.size == 1 and kind.enum is None


def _common(kinds: list[Kind], what: str) -> Kind:
    """Return the common kind of `kinds`; raises `UnsupportedError`, which begins with `what`, if they have none."""
    found = united(kinds)
    enums = [enum_of(one) for one in map(combined, kinds) if family(one) not in ("unknown", "absent")]
    if any(enums) and any(one is not enums[0] for one in enums):
        raise UnsupportedError(f"{what} are values of one enum")
    if found == UNKNOWN and all(family(combined(one)) not in ("unknown", "absent") for one in kinds):
        raise UnsupportedError(f"{what} are of one type, not {' and '.join(dict.fromkeys(map(kind_text, kinds)))}")
    return found


def demand(kind: Kind, families: Iterable[str], what: str) -> None:
    """Raise `UnsupportedError` for a kind of another family; `what` states what is expected."""
    if family(combined(kind)) not in families:
        raise UnsupportedError(f"{what}, not {kind_text(kind)}")


def same_enum(left: Kind, right: Kind) -> bool:
    """Return whether two kinds are values of one enum."""
    one, other = enum_of(left), enum_of(right)
    return one is not None and one is other


def operation(op: str, left: Kind, right: Kind) -> Kind:
    """Return the kind of `left op right`; raises `UnsupportedError` for operands that the operator does not take."""
    one, other = family(left), family(right)
    if "enum" in (one, other) and (op not in ("==", "!=") or not same_enum(left, right)):
        raise UnsupportedError(
            f"`{op}` does not take {kind_text(left)} and {kind_text(right)}: `.to_i` returns the number of an enum"
        )
    numbers = one in NUMBERS and other in NUMBERS
    # Logical operators, comparisons, strings, arithmetic, bits.
    if op in ("and", "or"):
        for kind in (left, right):
            demand(kind, {"bool"}, f"`{op}` takes truth values")
        return BOOL
    if op in ("==", "!=") and (numbers or one == other) and one in COMPARED:
        return BOOL
    if op in ("<", "<=", ">", ">=") and (numbers or one == other) and one in ORDERED:
        return BOOL
    if op == "+" and one == other == "text":
        return TEXT
    if op in ("+", "-", "*", "/", "%") and numbers:
        return FLOAT if "float" in (one, other) else INTEGER
    if op in ("&", "|", "^", "<<", ">>") and one in WHOLE and other in WHOLE:
        return INTEGER
    raise UnsupportedError(f"`{op}` does not take {kind_text(left)} and {kind_text(right)}")


def _name_kind(id: str, here: Type, item: Kind) -> Kind:
    """Return the kind of the name `id` in an expression of the type `here`; `item` is the kind of `_`."""
    if id == "_":
        return item
    if id in ("_index", "_sizeof", REST.id):
        return INTEGER
    if id == "_io":
        return STREAM
    if id == "_root":
        return Structure(here.root)
    if id == "_parent":
        return _parent_kind(here)
    return here.field(id).kind


def _parent_kind(type: Type) -> Kind:
    """Return the kind of `_parent`: the type around, unknown at the root, any structure if there are several types."""
    return united([Structure(one) for one in type.parents])


def _member_kind(of: Kind, name: str) -> Kind:
    """Return the kind of `x.name` for an `x` of the kind `of`.  Raises `UnsupportedError` if it has no such member."""
    of = combined(of)
    if isinstance(of, Structure):
        if name == "_parent":
            return _parent_kind(of.type)
        if name == "_root":
            return Structure(of.type.root)
        return STREAM if name == "_io" else of.type.field(name).kind
    known, calls = MEMBERS[family(of)], CALLS.get(family(of), {})
    if name in calls and name not in known:
        raise UnsupportedError(f"`{name}` takes arguments")
    if name not in known:
        raise _no_member(of, name, list(dict.fromkeys((*known, *calls))))
    # None stands for the kind of an element.
    found = known[name]
    if found is None and isinstance(of, Sequence):
        if name in ("min", "max"):
            demand(of.of, ORDERED, f"`{name}` is that of numbers or texts")
        return of.of
    return UNKNOWN if found is None else found


def _no_member(of: Kind, name: str, known: list[str]) -> UnsupportedError:
    """Return the error for a member that a kind does not have; `known` are those that it has."""
    more = meant(name, known) or (f" (it has {', '.join(known)})" if known else " (`.as<...>` says what it is)")
    return UnsupportedError(f"{kind_text(of)} has no `{name:.60}`{more}")


def _element_kind(of: Kind, at: Kind) -> Kind:
    """Return the kind of an element; raises `UnsupportedError` if `of` has none or `at` is not an integer."""
    demand(of, {"sequence", "bytes"}, "only a list or bytes have elements")
    demand(at, WHOLE, "an index is an integer")
    return of.of if isinstance(of, Sequence) else BYTE


def _call_kind(of: Kind, name: str, given: list[Kind]) -> Kind:
    """Return the kind of the result of a method call, with arguments of the kinds `given`.

    Raises `UnsupportedError` if there is no such method, or if it takes other arguments.
    """
    of = combined(of)
    known = CALLS.get(family(of), {})
    if name not in known and name in MEMBERS[family(of)]:
        raise UnsupportedError(f"`{name}` takes no arguments")
    if name not in known:
        raise _no_member(of, f"{name}()", [f"{one}()" for one in known])
    method = known[name]
    if not method.least <= len(given) <= len(method.takes):
        most = len(method.takes)
        takes = f"{most} argument{'s' * (most != 1)}" if method.least == most else f"{method.least} to {most} arguments"
        raise UnsupportedError(f"`{name}()` takes {takes}, not {len(given)}")
    for kind, families in zip(given, method.takes, strict=False):
        word = next(WORDS[one] for one in WORDS if one in families)  # of the first family in the order of `WORDS`
        demand(kind, families, f"`{name}()` takes {word}")
    return method.returns
