"""Numbers and expressions in compiled code: of variable length, validated, and packed several into one.

"Compiled code" is Cython that becomes C.  A reader there is `read_x(p, at, end, out)`: it reads from the bytes `p`
between the offsets `at` and `end`, fills `out`, and returns the offset after it, or -1 if the data does not fit.

Some types are one stored number, a word, into which several values are packed.  Their computed instances need
nothing else, so they become functions of the word: methods of the class of facts, and C functions.

`field.value_kind` is the kind of one value of a field (of an element, if it is repeated), `field.raw` has its keys as
in the specification.  `level` is how strongly the code around an expression binds (`BINDS`): what binds less is put in
parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from exhume.compiler.emit.text import ATOM, BINDS, Lines, annotation, bound, literal, safe, written_doc
from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import REST, Bits, Integer, SimpleKind
from exhume.compiler.front.model import Field, Type
from exhume.compiler.ir.fixed import scalar_of, varint
from exhume.compiler.ir.needs import STREAM_SIZE, without_rest
from exhume.compiler.refusal import UnsupportedError


def unique_name(type: Type) -> str:
    """Return a name for a type that is unique among those of exhume's own specifications: `a::b` becomes `a_b`.

    Should two ever become one, the C compiler refuses the second function.
    """
    return type.where.replace("::", "_")


def varint_text(type: Type) -> str:
    """Return the source of the function that reads a variable-length integer."""
    lines = Lines()
    lines.add(f"cdef uint64_t {', '.join(group.field.id for group in varint(type))}")
    for number, group in enumerate(varint(type)):
        # Each byte is read, checked by `valid`, and may be the last.
        place = f"at + {number}" if number else "at"
        name = ex.Name(group.field.id)
        with lines.block(f"if {place} >= end:"):
            lines.add("return -1")
        lines.add(f"{group.field.id} = p[{place}]")
        for condition in conditions(group.field, name):
            with lines.block(f"if not ({code_in_64_bits(condition)}):"):
                lines.add("return -1")
        done = [f"out[0] = {code_in_64_bits(group.value)}", f"return at + {number + 1}"]
        if group.last is None:
            lines.add(*done)
        else:
            with lines.block(f"if {code_in_64_bits(group.last)}:"):
                lines.add(*done)
    return "\n".join([opening(type, "uint64_t", ""), *lines.lines]) + "\n"


INLINE = 2
"""Longest form of a variable-length integer, in bytes, that is read without a call."""


def short_forms(type: Type) -> Iterator[tuple[str, str]]:
    """Yield C code for the lengths of 1 to `INLINE` bytes of a variable-length integer: the condition, and the value.

    The longest form of a type, whose last byte has no condition, is left to the function that reads any length.
    """
    known: dict[ex.Expr, ex.Expr] = {}  # the name of each field so far -> the C expression of its byte
    rules: list[ex.Expr] = []  # conditions of `valid` on the bytes so far
    for number, group in enumerate(varint(type)[:INLINE]):
        place = f"at + {number}" if number else "at"
        byte = ex.Name(f"(<uint64_t> p[{place}])")
        known[ex.Name(group.field.id)] = byte
        rules += conditions(group.field, byte)
        if group.last is not None:
            last = ex.fold(group.last, known)
            tests = " and ".join(code_in_64_bits(one, BINDS["and"]) for one in (*rules, last))
            yield f"{place} < end and {tests}", code_in_64_bits(ex.fold(group.value, known))


def opening(type: Type, out: str, how: str = "inline ") -> str:
    """Return the first line of a reader; `out` is the C type that it fills, `how` comes before its result."""
    given = f"const uint8_t *p, int64_t at, int64_t end, {out} *out"
    return f"cdef {how}int64_t read_{unique_name(type)}({given}) noexcept nogil:"


def conditions(field: Field, value: ex.Expr) -> list[ex.Expr]:
    """Return the rules of the field's `valid` as conditions on `value`.

    Raises `UnsupportedError` for a form that is not supported.
    """
    valid = field.raw.get("valid")
    if valid is None:
        return []
    found: list[ex.Expr] = []
    for key, stated in (valid if isinstance(valid, dict) else {"eq": valid}).items():
        if key in ("eq", "min", "max"):
            # A rule on a number is a comparison with it; rules with several values are comparisons joined by `or`.
            found.append(ex.Binary({"eq": "==", "min": ">=", "max": "<="}[key], value, ex.parse(stated)))
        elif key == "any-of":
            found.append(_any([ex.Binary("==", value, ex.parse(one)) for one in stated]))
        elif key == "in-enum":
            # Each value becomes a comparison; an enum of more than 64 values is left to the interpreted readers.
            enum = field.value_kind.enum if isinstance(field.value_kind, (Integer, Bits)) else None
            if enum is None or len(enum.values) > 64:
                raise UnsupportedError("this enum is not supported by compiled code")
            found.append(_any([ex.Binary("==", value, ex.Literal(number)) for number in sorted(enum.values)]))
        elif key == "expr":
            found.append(ex.fold(ex.parse(stated), {ex.Name("_"): value}))
        else:
            raise UnsupportedError(f"`valid: {key}` is not supported by compiled code")
    return found


def _any(choices: Sequence[ex.Expr]) -> ex.Expr:
    """Return the condition that one of `choices` holds."""
    found = choices[0]
    for one in choices[1:]:
        found = ex.Binary("or", found, one)
    return found


def code_in_64_bits(expr: ex.Expr, level: int = 0) -> str:
    """Return an expression over bytes as C code with 64-bit integers. Raises `UnsupportedError` for other forms."""
    match expr:
        case ex.Name(id):
            return id
        case ex.Literal(value) if isinstance(value, int):
            return hex(value) if value > 99 else str(value)
        case ex.Binary(op, left, right):
            binds = BINDS[op]
            text = f"{code_in_64_bits(left, binds + 1)} {'//' if op == '/' else op} {code_in_64_bits(right, binds + 1)}"
            return bound(text, binds, level)
    raise UnsupportedError("this is not supported by compiled code")


def _word(type: Type) -> Field | None:
    """Return the only field of a type that is one stored number, without condition, size or parameters; else None."""
    only = type.seq[0] if len(type.seq) == 1 else None
    if only is None or type.scalar not in (None, only.id) or type.params:
        return None
    bare = only.repeat is None and only.condition is None and only.size is None
    # A number that is computed has the size 0.
    return only if bare and isinstance(only.value_kind, Integer) and only.value_kind.size else None


def _parts(type: Type) -> list[tuple[Field, ex.Expr]]:
    """Return the instances that are computed from the word alone, each with its expression over the word."""
    word = _word(type)
    found = []
    for one in type.instances.values() if word is not None else ():
        if one.value is not None:
            expr = ex.fold(_over_the_word(type, one.value))
            if word is not None and ex.names(expr) == {word.id}:
                found.append((one, expr))
    return found


def _over_the_word(type: Type, expr: ex.Expr) -> ex.Expr:
    """Return the expression with the instances of a type replaced by their own expressions, down to the word."""

    def inner(one: ex.Expr) -> ex.Expr:
        """Return the expression of an instance in place of its name; any other part unchanged."""
        field = type.instances.get(one.id) if isinstance(one, ex.Name) else None
        if field is None:
            return one
        if field.value is not None:
            return _over_the_word(type, field.value)
        # An instance at position 0 reads the bytes of the word a second time.
        again = field.expr("pos") == ex.Literal(0) and field.expr("io") is None and field.value_kind
        stored = type.seq[0].value_kind
        if (
            isinstance(again, Integer)
            and isinstance(stored, Integer)
            and again.size == stored.size
            and not again.signed
        ):
            return ex.Binary("%", ex.Name(type.seq[0].id), ex.Literal(1 << 8 * again.size))  # the same without its sign
        return one

    return ex.replaced(expr, inner)


def _code(expr: ex.Expr, level: int = 0) -> str:
    """Return the code of an expression over one word, which Python and Cython read alike."""
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
    raise UnsupportedError("not supported in an expression over one packed number")


def _power(value: object) -> int | None:
    """Return the exponent of a number that is a power of two; None for any other."""
    found = value.bit_length() - 1 if isinstance(value, int) else -1
    return found if found >= 0 and 1 << found == value else None


def shifts(type: Type) -> list[tuple[Field, int]]:
    """Return how many bits each instance is shifted in the word, such as 3 for `word / 8 % 4 + 1`.

    Operators are taken off from the outside: an addition, a remainder, and divisions by powers of two, which are added
    up in `far`.  Instances of other forms are left out.
    """
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
        if isinstance(expr, ex.Binary) and expr.op == "%":  # read again without its sign
            expr = expr.left
        if isinstance(expr, ex.Name):
            found.append((field, far))
    return found


def methods(type: Type) -> list[str]:
    """Return the lines of the instances as static methods, which take the word."""
    lines: list[str] = []
    for field, expr in _parts(type):
        lines += ["", "    @staticmethod", f"    def {safe(field.id)}({_code(ex.Name(type.seq[0].id))}: int)"]
        lines[-1] += f" -> {annotation(field.kind)}:"
        lines += ["    " + line for line in written_doc(field.doc)] if field.doc else []
        lines.append(f"        return {_code(expr)}")
    return lines


def functions(type: Type) -> list[str]:
    """Return the instances as functions for Cython, such as `clp_s_table_clp_word_log_type_id(word)`."""
    found = []
    # Instances that are constants are functions, too, though they do not use the word.
    constants = [(one, ex.fold(one.value)) for one in type.instances.values() if one.value is not None]
    fixed = [(one, value) for one, value in constants if isinstance(value, ex.Literal)]
    for field, expr in [*_parts(type), *(fixed if _word(type) is not None else ())]:
        signed = isinstance(type.seq[0].value_kind, Integer) and type.seq[0].value_kind.signed
        kind = "int64_t" if signed else "uint64_t"
        name = f"{type.where.replace('::', '_')}_{field.id}"
        word = safe(type.seq[0].id)
        # Without a cast, Cython takes large constants as Python objects.
        code = re.sub("0x[0-9a-f]{8,}", rf"<{kind}> \g<0>", _code(expr))
        found.append(f"cdef inline {kind} {name}({kind} {word}) noexcept nogil:\n    return {code}\n")
    return found


class ElementExpressions:
    """Expressions over the fields of an element of a list, as Cython.

    It is the half of `Element` that writes no statements.
    """

    type: Type
    """Type of the element."""
    prefix: str
    """What the names of its C variables begin with."""
    base: str
    """Variable with the start of its stream; empty if that is not known."""
    inner: Mapping[str, ElementExpressions]
    """Structures within it, which are read in place."""
    read: set[str]
    """Fields that were read."""
    within_rest: set[ex.Expr]
    """Expressions that a check has found to be at most the bytes that are left, and so to fit 63 bits."""

    def local(self, field: Field) -> str:
        """Return the C variable of a field; the underscore at its end keeps it apart from Cython's words and ours."""
        return f"{self.prefix}{field.id}_"

    def code(self, expr: ex.Expr) -> str:
        """Return the Cython code of an expression."""
        return self._code(without_rest(ex.fold(expr)))

    def _unsigned(self, expr: ex.Expr) -> bool:
        """Return whether an expression is sure to be in [0, 2^64), and is a C variable or constant of that type.

        A field that may be absent does not count.
        """
        match expr:
            case ex.Literal(value):
                return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63
            case ex.Name(id) if id == REST.id:
                return True
            case ex.Member(ex.Name(id), name) if id in self.read:
                scalar = scalar_of(self.type.field(id).value_kind)
                return scalar is not None and name == scalar.scalar and self.type.field(id).condition is None
            case ex.Name(id) if id in self.read:
                field = self.type.field(id)
                kind = field.value_kind
                whole = isinstance(kind, Integer) and kind.size > 0 and not kind.signed and field.value is None
                return (whole or scalar_of(kind) is not None) and field.condition is None
        return False

    def _bytes_left(self, expr: ex.Expr) -> str | None:
        """Return the code of the bytes left after another value, in 64 bits; None if that might overflow."""
        match expr:
            case ex.Binary("-", left, right) if left == REST and right in self.within_rest:
                return f"end - at - <int64_t> {self._narrow(right)}"
        return None

    def _narrow(self, expr: ex.Expr) -> str:
        """Return an expression as C code of the type `uint64_t`: a constant, a field, or the bytes that are left."""
        match expr:
            case ex.Name(id) if id == REST.id:
                return "<uint64_t> (end - at)"
            case ex.Literal(value):
                return f"<uint64_t> {value}"
            case ex.Member(ex.Name(id), _) | ex.Name(id):
                return f"<uint64_t> {self.local(self.type.field(id))}"
        raise UnsupportedError("this is not supported by compiled code")

    def _code(self, expr: ex.Expr, level: int = 0) -> str:  # noqa: C901 - one case for each form of expression
        """Return the code of an expression in C numbers of 128 bits (`wide`), in parentheses if it binds less than
        `level`.

        128 bits, because sums of 64-bit numbers fit.  Comparisons of unsigned numbers are made in 64 bits, as that
        is faster. Raises `UnsupportedError` for other forms.
        """
        match expr:
            case ex.Literal(value) if isinstance(value, bool):
                return str(int(value))
            case ex.Literal(value) if isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
                return f"<wide> {value}"
            case ex.EnumValue(path, value):
                return f"<wide> {self.type.enum('::'.join(path)).number(value)}"
            # Names: the number of bytes that are left, the size of the stream where its start is known, other fields.
            case ex.Name(id) if id == REST.id:
                return "<wide> (end - at)"
            case ex.Member() if expr == STREAM_SIZE and self.base:
                return f"<wide> (end - {self.base})"
            case ex.Name(id):
                return self._named(self.type.field(id))
            case ex.Member(of, name):
                return self._member(of, name)
            case ex.Unary(op, of) if op in ("not", "-"):
                binds = BINDS["~" if op == "-" else op]
                return bound(f"{op} {self._code(of, binds + 1)}", binds, level)
            case ex.Binary(op, left, right):
                binds = BINDS[op]
                if op in ex.OPPOSITE and self._unsigned(left) and self._unsigned(right):
                    return bound(f"{self._narrow(left)} {op} {self._narrow(right)}", binds, level)
                # `room` has a sign: if it is negative, no number of bytes fits.
                if op in ("<", "<=") and self._unsigned(left) and (room := self._bytes_left(right)) is not None:
                    return bound(f"{room} >= 0 and {self._narrow(left)} {op} <uint64_t> ({room})", BINDS["and"], level)
                text = f"{self._code(left, binds + 1)} {'//' if op == '/' else op} {self._code(right, binds + 1)}"
                return bound(text, binds, level)
            case ex.Choice(condition, then, otherwise):
                return f"({self._code(then, 2)} if {self._code(condition, 2)} else {self._code(otherwise, 2)})"
        raise UnsupportedError("this is not supported by compiled code")

    def _named(self, field: Field) -> str:
        """Return the code of a field that was read, or of an instance.  Raises `UnsupportedError` for any other
        field.
        """
        if field.value is not None and field.condition is None:
            return self._code(without_rest(ex.fold(field.value)), ATOM)
        if field.id not in self.read:
            raise UnsupportedError(f"{field.id} is not available")
        if isinstance(field.value_kind, SimpleKind):
            raise UnsupportedError("this is not supported by compiled code")
        return f"<wide> {self.local(field)}"

    def _member(self, of: ex.Expr, name: str) -> str:
        """Return the code of `of.name`: the number of a scalar type, a field of a structure read in place, or `to_i`.

        Raises `UnsupportedError` for any other.
        """
        kind = self.type.kind_of(of)
        scalar = scalar_of(kind)
        if isinstance(of, ex.Name):
            if scalar is not None and name == scalar.scalar:
                return self._code(of)
            if of.id in self.inner:
                inner = self.inner[of.id]
                return inner._named(inner.type.field(name))  # noqa: SLF001 - its own kind
        if name == "to_i":
            return self._code(of)
        raise UnsupportedError("this is not supported by compiled code")
