"""Variable-length integers, and the validation of numbers, in compiled code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from exhume.compiler.emit.text import BINDS, Lines, bound
from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import Bits, Integer
from exhume.compiler.front.model import Field, Type
from exhume.compiler.ir.varints import varint
from exhume.compiler.refusal import UnsupportedError


def unique_name(type: Type) -> str:
    """A name for a type among those of all specifications."""
    return type.where.replace("::", "_")


def varint_text(type: Type) -> str:
    """The function that reads a variable-length integer."""
    lines = Lines()
    lines.add(f"cdef uint64_t {', '.join(group.field.id for group in varint(type))}")
    for number, group in enumerate(varint(type)):
        place = f"at + {number}" if number else "at"
        name = ex.Name(group.field.id)
        with lines.block(f"if {place} >= end:"):
            lines.add("return -1")
        lines.add(f"{group.field.id} = p[{place}]")
        for condition in conditions(group.field, name):
            with lines.block(f"if not ({small(condition)}):"):
                lines.add("return -1")
        done = [f"out[0] = {small(group.value)}", f"return at + {number + 1}"]
        if group.last is None:
            lines.add(*done)
        else:
            with lines.block(f"if {small(group.last)}:"):
                lines.add(*done)
    return "\n".join([opening(type, "uint64_t", ""), *lines.lines]) + "\n"


INLINE = 2
"""Bytes of a variable-length integer that are read in place; longer ones take a call."""


def short_forms(type: Type) -> Iterator[tuple[str, str]]:
    """For each number of bytes, the condition under which a variable-length integer ends there, and its value then."""
    known: dict[ex.Expr, ex.Expr] = {}
    rules: list[ex.Expr] = []
    for number, group in enumerate(varint(type)[:INLINE]):
        place = f"at + {number}" if number else "at"
        byte = ex.Name(f"(<uint64_t> p[{place}])")
        known[ex.Name(group.field.id)] = byte
        rules += conditions(group.field, byte)
        if group.last is not None:
            last = ex.fold(group.last, known)
            holds = " and ".join(small(one, BINDS["and"]) for one in (*rules, last))
            yield f"{place} < end and {holds}", small(ex.fold(group.value, known))


def opening(type: Type, out: str, how: str = "inline ") -> str:
    """The first line of a reader; `out` is what it fills."""
    given = f"const uint8_t *p, int64_t at, int64_t end, {out} *out"
    return f"cdef {how}int64_t read_{unique_name(type)}({given}) noexcept nogil:"


def conditions(field: Field, value: ex.Expr) -> list[ex.Expr]:
    """What `valid` demands of a value, as conditions. Raises `UnsupportedError` for a form that is not supported."""
    valid = field.raw.get("valid")
    if valid is None:
        return []
    found: list[ex.Expr] = []
    for key, said in (valid if isinstance(valid, dict) else {"eq": valid}).items():
        if key in ("eq", "min", "max"):
            found.append(ex.Binary({"eq": "==", "min": ">=", "max": "<="}[key], value, ex.parse(said)))
        elif key == "any-of":
            found.append(_any([ex.Binary("==", value, ex.parse(one)) for one in said]))
        elif key == "in-enum":
            enum = field.one.enum if isinstance(field.one, (Integer, Bits)) else None
            if enum is None or len(enum.values) > 64:
                raise UnsupportedError("this enum is not supported by compiled code")
            found.append(_any([ex.Binary("==", value, ex.Literal(number)) for number in sorted(enum.values)]))
        elif key == "expr":
            found.append(ex.fold(ex.parse(said), {ex.Name("_"): value}))
        else:
            raise UnsupportedError(f"`valid: {key}` is not supported by compiled code")
    return found


def _any(choices: Sequence[ex.Expr]) -> ex.Expr:
    found = choices[0]
    for one in choices[1:]:
        found = ex.Binary("or", found, one)
    return found


def small(expr: ex.Expr, level: int = 0) -> str:
    """An expression over bytes, in C's integers of 64 bits. Raises `UnsupportedError` for what is not supported."""
    match expr:
        case ex.Name(id):
            return id
        case ex.Literal(value) if isinstance(value, int):
            return hex(value) if value > 99 else str(value)
        case ex.Binary(op, left, right):
            binds = BINDS[op]
            text = f"{small(left, binds + 1)} {'//' if op == '/' else op} {small(right, binds + 1)}"
            return bound(text, binds, level)
    raise UnsupportedError("this is not supported by compiled code")
