"""The same columns, filled by compiled code: one Cython module for all types with `-columns: true`.

Each function fills the columns with the elements that fit, as far as they do, and returns where it stopped.  What does
not fit it leaves to the interpreted loop, which begins there and says what is wrong: errors are written in one place.
Values are compared as integers of 128 bits, so that no width of C changes what a specification says.
"""

from __future__ import annotations

from collections.abc import Sequence

from exhume.compiler import expressions as ex
from exhume.compiler.fixed import contents
from exhume.compiler.model import BYTES, REST, Bits, Field, Integer, Kind, Model, Plain, Structure, Type
from exhume.compiler.needs import without_rest
from exhume.compiler.refusal import RefusedError
from exhume.compiler.text import ATOM, BINDS, CODES, Lines, bound
from exhume.compiler.varints import one_byte, scalar_of, varint

C_TYPES = {
    "B": "uint8_t",
    "H": "uint16_t",
    "I": "uint32_t",
    "Q": "uint64_t",
    "q": "int64_t",
    "f": "float",
    "d": "double",
}
C_TYPES |= {"b": "int8_t", "h": "int16_t", "i": "int32_t"}

HEAD = '''"""Columns filled by compiled code; written by `make generated`, never edited by hand."""
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcmp, memcpy

cdef extern from *:
    ctypedef long long wide "__int128"
    uint16_t swap2 "__builtin_bswap16" (uint16_t) noexcept nogil
    uint32_t swap4 "__builtin_bswap32" (uint32_t) noexcept nogil
    uint64_t swap8 "__builtin_bswap64" (uint64_t) noexcept nogil

SOURCE = {source!r}
"""What this was compiled from: a module built from other specifications is not used."""


cdef bint grow(void **column, size_t size, size_t room) noexcept nogil:
    """Whether a column could be given room for so many elements."""
    cdef void *larger = realloc(column[0], size * room)
    if larger == NULL:
        return False
    column[0] = larger
    return True
'''


def function_name(type: Type) -> str:
    """The name of the function that fills the columns of a type."""
    return type.where.replace("::", "_")


def column_types(model: Model) -> list[Type]:
    """The types that have columns."""
    return [type for type in model.types() if type.raw.get("-columns")]


def native_text(model: Model, source: str) -> str:
    """The whole module; `source` tells what it was made from.  Types that compiled code does not cover are left out."""
    scalars: dict[str, str] = {}
    parts = []
    for type in column_types(model):
        try:
            scan = _Scan(type, "", Lines(), scalars)
            parts.append(scan.text())
        except RefusedError:
            continue
    return "\n\n".join([HEAD.replace("{source!r}", repr(source)), *scalars.values(), *parts]) + "\n"


def covered(type: Type) -> bool:
    """Whether compiled code fills the columns of a type."""
    try:
        _Scan(type, "", Lines(), {}).text()
    except RefusedError:
        return False
    return True


def _varint(type: Type) -> str:
    """The function that reads a variable-length integer."""
    lines = Lines()
    lines.add(f"cdef uint64_t {', '.join(group.field.id for group in varint(type))}")
    for number, group in enumerate(varint(type)):
        place = f"at[0] + {number}" if number else "at[0]"
        name = ex.Name(group.field.id)
        with lines.block(f"if {place} >= end:"):
            lines.add("return False")
        lines.add(f"{group.field.id} = p[{place}]")
        for condition in _rules(group.field, name):
            with lines.block(f"if not ({_small(condition)}):"):
                lines.add("return False")
        done = [f"value[0] = {_small(group.value)}", f"at[0] += {number + 1}", "return True"]
        if group.last is None:
            lines.add(*done)
        else:
            with lines.block(f"if {_small(group.last)}:"):
                lines.add(*done)
    head = f"cdef bint {type.reader_name}(const uint8_t *p, int64_t *at, int64_t end, uint64_t *value) noexcept nogil:"
    return "\n".join([head, *lines.lines]) + "\n"


def _rules(field: Field, value: ex.Expr) -> list[ex.Expr]:
    """What `valid` demands of a value, as conditions."""
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
                raise RefusedError("this enum is not covered by compiled code")
            found.append(_any([ex.Binary("==", value, ex.Literal(number)) for number in sorted(enum.values)]))
        elif key == "expr":
            found.append(ex.fold(ex.parse(said), {ex.Name("_"): value}))
        else:
            raise RefusedError(f"`valid: {key}` is not covered by compiled code")
    return found


def _any(choices: Sequence[ex.Expr]) -> ex.Expr:
    found = choices[0]
    for one in choices[1:]:
        found = ex.Binary("or", found, one)
    return found


def _small(expr: ex.Expr, level: int = 0) -> str:
    """An expression over bytes, in C's integers of 64 bits."""
    match expr:
        case ex.Name(id):
            return id
        case ex.Literal(value) if isinstance(value, int):
            return hex(value) if value > 99 else str(value)
        case ex.Binary(op, left, right):
            binds = BINDS[op]
            text = f"{_small(left, binds + 1)} {'//' if op == '/' else op} {_small(right, binds + 1)}"
            return bound(text, binds, level)
    raise RefusedError("this is not covered by compiled code")


class _Scan:
    """The function that fills the columns of one type; structures within it are read in place."""

    def __init__(self, type: Type, prefix: str, lines: Lines, scalars: dict[str, str]) -> None:
        self.type = type
        self.prefix = prefix
        self.lines = lines
        self.scalars = scalars
        self.columns: list[tuple[str, str, str]] = []
        self.variables: dict[str, str] = {}
        self.inner: dict[str, _Scan] = {}
        self.read: set[str] = set()

    def text(self) -> str:
        """The whole function."""
        lines = self.lines
        lines.depth = 3
        self.sequence()
        body = lines.lines
        columns = [("at", "q", "first"), *self.columns]
        head = Lines()
        head.add('"""The elements from `start` on that fit, into `columns`; returns where the rest begins."""')
        head.add(
            "cdef const uint8_t *p", "cdef int64_t at = start, first = start, rows = 0, room = 0", "cdef wide size"
        )
        head.add("cdef bint full = True")
        head.add(*(f"cdef {kind} {name} = 0" for name, kind in self.variables.items()))
        head.add(*(f"cdef {C_TYPES[code]} *c_{name} = NULL" for name, code, _ in columns))
        with head.block("if view.shape[0] == 0 or stop > view.shape[0] or start < 0:"):
            head.add("return start")
        head.add("p = &view[0]")
        head.add("cdef int64_t end = stop")
        with head.block("with nogil:"), head.block("while (at < end) if count < 0 else (rows < count):"):
            head.add("first = at")
            with head.block("if rows == room:"):
                head.add("room = room * 2 if room else 64")
                for name, code, _ in columns:
                    with head.block(f"if not grow(<void **> &c_{name}, sizeof({C_TYPES[code]}), room):"):
                        head.add("full = False", "break")
        tail = Lines()
        tail.depth = 3
        tail.add(*(f"c_{name}[rows] = {value}" for name, _, value in columns), "rows += 1", "first = at")
        end = Lines()
        with end.block("try:"):
            with end.block("if not full:"):
                end.add("raise MemoryError")
            with end.block("if rows:"):
                for name, code, _ in columns:
                    end.add(f"columns.{name}.frombytes((<char *> c_{name})[: rows * sizeof({C_TYPES[code]})])")
        with end.block("finally:"):
            end.add(*(f"free(c_{name})" for name, _, _ in columns))
        end.add("return first")
        name = function_name(self.type)
        opening = f"def {name}(columns, const uint8_t[::1] view, int64_t start, int64_t stop, int64_t count):"
        return "\n".join([opening, *head.lines, *body, *tail.lines, *end.lines]) + "\n"

    def variable(self, name: str, kind: str) -> str:
        """A C variable of that name, declared at the beginning."""
        self.variables[f"{self.prefix}{name}"] = kind
        return f"{self.prefix}{name}"

    def local(self, field: Field) -> str:
        """The C variable of a field; the ending keeps it apart from Cython's words and ours."""
        return f"{self.prefix}{field.id}_"

    def fail(self, condition: str) -> None:
        """Ends the loop when something does not fit."""
        with self.lines.block(f"if {condition}:"):
            self.lines.add("break")

    def sequence(self) -> None:
        """The fields in their order."""
        waiting: list[Field] = []
        for field in self.type.seq:
            if isinstance(field.one, Bits) and field.condition is None and not field.repeat:
                waiting.append(field)
                continue
            self._bits(waiting)
            waiting = []
            before = len(self.columns)
            if field.condition is None:
                self._field(field)
            else:
                with self.lines.block(f"if {self.code(field.condition)}:"):
                    self._field(field)
                with self.lines.block("else:"):
                    absent = [local for _, _, local in self.columns[before:]]
                    self.lines.add(*(f"{local} = 0" for local in absent or [self.local(field)]))
            self.read.add(field.id)
        self._bits(waiting)

    def _sizes(self) -> set[str]:
        sizes = [one.size for one in self.type.seq if one.size is not None and one.one == BYTES]
        found = {size.id for size in sizes if isinstance(size, ex.Name)}
        return found | {size.of.id for size in sizes if isinstance(size, ex.Member) and isinstance(size.of, ex.Name)}

    def _add(self, field: Field, code: str) -> None:
        if field.id not in self._sizes():
            self.columns.append((f"{self.prefix}{field.id}", code, self.local(field)))

    def _field(self, field: Field) -> None:
        kind, lines = field.one, self.lines
        if field.repeat or "terminator" in field.raw:
            raise RefusedError("this is not covered by compiled code")
        if "contents" in field.raw:
            wanted = contents(field)
            self.fail(f"end - at < {len(wanted)} or memcmp(p + at, {_bytes(wanted)}, {len(wanted)}) != 0")
            at, end = (self.variable(f"{side}_{field.id}_", "int64_t") for side in ("at", "end"))
            lines.add(f"{at} = at", f"at += {len(wanted)}", f"{end} = at")
            self._span(field, at, end)
        elif kind == BYTES:
            self._bytes_field(field)
        elif isinstance(kind, (Integer, Plain)) and kind.size and field.size is None:
            self._number(field, kind)
        elif scalar_of(kind) is not None and field.size is None:
            self._scalar(field, kind)
        elif isinstance(kind, Structure):
            self._nested(field, kind)
        else:
            raise RefusedError("this is not covered by compiled code")

    def _check(self, field: Field) -> None:
        value: ex.Expr = ex.Name(field.id)
        self.read.add(field.id)
        for condition in _rules(field, value):
            self.fail(f"not ({self.code(condition)})")

    def _number(self, field: Field, kind: Integer | Plain) -> None:
        code = CODES[kind.size].lower() if isinstance(kind, Integer) and kind.signed else CODES[kind.size]
        if isinstance(kind, Plain):
            code = "f" if kind.size == 4 else "d"
        into = self.variable(f"{field.id}_", C_TYPES[code])
        self.fail(f"end - at < {kind.size}")
        self.lines.add(f"memcpy(&{into}, p + at, {kind.size})", f"at += {kind.size}")
        if kind.big and kind.size > 1:
            if isinstance(kind, Plain):
                raise RefusedError("floats of this byte order are not covered by compiled code")
            self.lines.add(f"{into} = <{C_TYPES[code]}> swap{kind.size}(<uint{8 * kind.size}_t> {into})")
        self._add(field, code)
        self._check(field)

    def _scalar(self, field: Field, kind: Kind) -> None:
        type = scalar_of(kind)
        if type is None or not varint(type):
            raise RefusedError("this is not covered by compiled code")
        self.scalars.setdefault(type.reader_name, _varint(type))
        into = self.variable(f"{field.id}_", "uint64_t")
        first = one_byte(type)
        lines = self.lines
        if first is not None:
            with lines.block(f"if at < end and p[at] {first[0]} {_small(first[1])}:"):
                lines.add(f"{into} = p[at]", "at += 1")
            self.lines.add(f"elif not {type.reader_name}(p, &at, end, &{into}):", "    break")
        else:
            self.fail(f"not {type.reader_name}(p, &at, end, &{into})")
        self._add(field, "Q")
        self._check(field)

    def _bytes_field(self, field: Field) -> None:
        lines = self.lines
        if field.size == ex.Literal(0):
            self._check(field)
            return
        if "valid" in field.raw:
            raise RefusedError("rules for bytes are not covered by compiled code")
        at, end = (self.variable(f"{side}_{field.id}_", "int64_t") for side in ("at", "end"))
        lines.add(f"{at} = at")
        if field.size is None:
            lines.add("at = max(at, end)")
        else:
            lines.add(f"size = {self.code(field.size)}")
            self.fail("size < 0 or size > <wide> (end - at)")
            lines.add("at += <int64_t> size")
        lines.add(f"{end} = at")
        self._span(field, at, end)

    def _span(self, field: Field, at: str, end: str) -> None:
        name = f"{self.prefix}{field.id}"
        self.columns += [(f"{name}_start", "q", at), (f"{name}_end", "q", end)]

    def _nested(self, field: Field, kind: Structure) -> None:
        if kind.arguments or "valid" in field.raw:
            raise RefusedError("this is not covered by compiled code")
        inner = _Scan(kind.type, f"{self.prefix}{field.id}_", self.lines, self.scalars)
        rest = self.variable(f"{field.id}_rest_", "int64_t")
        if field.size is not None:
            self.lines.add(f"size = {self.code(field.size)}")
            self.fail("size < 0 or size > <wide> (end - at)")
            self.lines.add(f"{rest} = end", "end = at + <int64_t> size")
        inner.sequence()
        if field.size is not None:
            self.lines.add("at = end", f"end = {rest}")
        self.columns += inner.columns
        self.variables |= inner.variables
        self.inner[field.id] = inner

    def _bits(self, fields: list[Field]) -> None:
        if not fields:
            return
        kinds = [one.one for one in fields if isinstance(one.one, Bits)]
        total = sum(kind.width for kind in kinds)
        if total > 64 or not all(kind.big for kind in kinds):
            raise RefusedError("these bits are not covered by compiled code")
        size = (total + 7) // 8
        whole = self.variable(f"{fields[0].id}_bits_", "uint64_t")
        self.fail(f"end - at < {size}")
        parts = [f"(<uint64_t> p[at + {i}] << {8 * (size - 1 - i)})" for i in range(size)]
        self.lines.add(f"{whole} = {' | '.join(parts)}", f"at += {size}")
        used = 0
        for field, kind in zip(fields, kinds, strict=True):
            into = self.variable(f"{field.id}_", "uint64_t")
            used += kind.width
            self.lines.add(f"{into} = ({whole} >> {size * 8 - used}) & {hex((1 << kind.width) - 1)}")
            self._add(field, "Q" if kind.width > 8 else "B")
            self.read.add(field.id)
        for field in fields:
            self._check(field)

    # Expressions.

    def code(self, expr: ex.Expr) -> str:
        """An expression as Cython."""
        return self._code(without_rest(ex.fold(expr)))

    def _code(self, expr: ex.Expr, level: int = 0) -> str:
        match expr:
            case ex.Literal(value) if isinstance(value, bool):
                return str(int(value))
            case ex.Literal(value) if isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
                return f"<wide> {value}"
            case ex.EnumValue(path, value):
                return f"<wide> {self.type.enum('::'.join(path)).number(value)}"
            case ex.Name(id) if id == REST.id:
                return "<wide> (end - at)"
            case ex.Name(id):
                return self._named(self.type.field(id))
            case ex.Member(of, name):
                return self._member(of, name)
            case ex.Unary(op, of) if op in ("not", "-"):
                return bound(f"{op} {self._code(of, BINDS['not'] + 1)}", BINDS["not"], level)
            case ex.Binary(op, left, right):
                binds = BINDS[op]
                text = f"{self._code(left, binds + 1)} {'//' if op == '/' else op} {self._code(right, binds + 1)}"
                return bound(text, binds, level)
            case ex.Choice(condition, then, otherwise):
                return f"({self._code(then, 2)} if {self._code(condition, 2)} else {self._code(otherwise, 2)})"
        raise RefusedError("this is not covered by compiled code")

    def _named(self, field: Field) -> str:
        if field.value is not None and field.condition is None:
            return self._code(without_rest(ex.fold(field.value)), ATOM)
        if field.id not in self.read:
            raise RefusedError(f"{field.id} is not at hand")
        if isinstance(field.one, Plain):
            raise RefusedError("this is not covered by compiled code")
        return f"<wide> {self.local(field)}"

    def _member(self, of: ex.Expr, name: str) -> str:
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
        raise RefusedError("this is not covered by compiled code")


def _bytes(value: bytes) -> str:
    """Bytes as a C string for `memcmp`."""
    return 'b"' + "".join(f"\\x{one:02x}" for one in value) + '"'
