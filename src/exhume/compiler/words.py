"""What is packed into one number: the value instances of a type with `-scalar` that is one stored number.

They need nothing but that number, so that they are functions of it: methods of the class of facts, and functions of C.
"""

from __future__ import annotations

from exhume.compiler import expressions as ex
from exhume.compiler.model import Field, Integer, Structure, Type
from exhume.compiler.refusal import RefusedError
from exhume.compiler.text import BINDS, annotation, bound, literal, safe, written_doc
from exhume.compiler.varints import number_of


def _word(type: Type) -> Field | None:
    """The stored number that a type stands for; None when it is anything else."""
    if type.scalar is None:
        return None
    kind = number_of(Structure(type))
    return type.seq[0] if isinstance(kind, Integer) and kind.size else None


def _parts(type: Type) -> list[tuple[Field, ex.Expr]]:
    """The instances that are made of the number alone, each with its expression over the number."""
    word = _word(type)
    found = []
    for one in type.instances.values() if word is not None else ():
        if one.value is not None and one.condition is None:
            expr = ex.fold(_over_the_word(type, one.value))
            if word is not None and ex.names(expr) == {word.id}:
                found.append((one, expr))
    return found


def _over_the_word(type: Type, expr: ex.Expr) -> ex.Expr:
    def inner(one: ex.Expr) -> ex.Expr:
        field = type.instances.get(one.id) if isinstance(one, ex.Name) else None
        return one if field is None or field.value is None else _over_the_word(type, field.value)

    return ex.replaced(expr, inner)


def _code(expr: ex.Expr, level: int = 0) -> str:
    """An expression over one number, which Python and Cython read alike."""
    match expr:
        case ex.Name(id):
            return safe(id)
        case ex.Literal(value) if isinstance(value, int):
            return literal(value)
        case ex.Binary("/" | "%", left, ex.Literal(value)) if (bits := _power(value)) is not None:
            op, right = (">>", str(bits)) if expr.op == "/" else ("&", literal(value - 1))
            return bound(f"{_code(left, BINDS[op])} {op} {right}", BINDS[op], level)
        case ex.Binary(op, left, right):
            return bound(f"{_code(left, BINDS[op])} {op} {_code(right, BINDS[op] + 1)}", BINDS[op], level)
    raise RefusedError("this is not covered in what is made of one number")


def _power(value: object) -> int | None:
    """Of which power of two a number is."""
    found = value.bit_length() - 1 if isinstance(value, int) else -1
    return found if found >= 0 and 1 << found == value else None


def shifts(type: Type) -> list[tuple[Field, int]]:
    """How far to the left an instance lies in the number: 3 for `word / 8 % 4 + 1`; without those of another form."""
    found = []
    for field, expr in _parts(type):
        if isinstance(expr, ex.Binary) and expr.op == "+":
            expr = expr.left
        if isinstance(expr, ex.Binary) and expr.op == "%":
            expr = expr.left
        far = 0
        while isinstance(expr, ex.Binary) and expr.op == "/" and isinstance(expr.right, ex.Literal):
            if (bits := _power(expr.right.value)) is None:
                break
            far, expr = far + bits, expr.left
        if isinstance(expr, ex.Name):
            found.append((field, far))
    return found


def methods(type: Type) -> list[str]:
    """The functions as methods that need no object."""
    lines: list[str] = []
    for field, expr in _parts(type):
        lines += ["", "    @staticmethod", f"    def {safe(field.id)}({_code(ex.Name(type.seq[0].id))}: int)"]
        lines[-1] += f" -> {annotation(field.kind)}:"
        lines += ["    " + line for line in written_doc(field.doc)] if field.doc else []
        lines.append(f"        return {_code(expr)}")
    return lines


def functions(type: Type) -> list[str]:
    """The functions for Cython: `clp_s_table_clp_word_log_type_id(word)`."""
    found = []
    for field, expr in _parts(type):
        signed = isinstance(type.seq[0].one, Integer) and type.seq[0].one.signed
        kind = "int64_t" if signed else "uint64_t"
        name = f"{type.where.replace('::', '_')}_{field.id}"
        word = safe(type.seq[0].id)
        found.append(f"cdef inline {kind} {name}({kind} {word}) noexcept nogil:\n    return {_code(expr)}\n")
    return found
