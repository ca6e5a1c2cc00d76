"""One element at a time in compiled code: a C structure and a function that fills it, for Cython to include.

    read_zs_data_block_record(p, at, end, &out) -> int64_t

`p` holds the bytes, `at` (at most `end`) is where the element begins and `end` where its stream ends; the function
returns where the element ends, or -1 when it does not fit. The interpreted reader then starts at that element and
reports the fault in it, so that errors are written in one place.  A variable-length integer is put into a `uint64_t`
instead of a structure.

The structure has a field for each column (see `columns`) and for each value instance (one that is computed).  There
are readers for types with `-columns: true` or `-element: true` and for the variable-length integers in them.  Values
are compared as integers of 128 bits (`wide`) where 64 might change what a specification means.  Types that compiled
code does not support raise `UnsupportedError` here, and are then read by Python alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from exhume.compiler.emit import c_numbers
from exhume.compiler.emit.c_numbers import (
    ElementExpressions,
    conditions,
    opening,
    short_forms,
    unique_name,
    varint_text,
)
from exhume.compiler.emit.scan import Column
from exhume.compiler.emit.text import Lines
from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import REST, Bits, Integer, SimpleKind, Structure
from exhume.compiler.front.model import Field, Type
from exhume.compiler.front.specs import Model
from exhume.compiler.ir import rows
from exhume.compiler.ir.fixed import contents, numbers_of, scalar_of, shifted, varint
from exhume.compiler.ir.needs import without_rest
from exhume.compiler.ir.rows import ReadMethod
from exhume.compiler.refusal import UnsupportedError

C_TYPES = {
    "B": "uint8_t",
    "H": "uint16_t",
    "I": "uint32_t",
    "Q": "uint64_t",
    "b": "int8_t",
    "h": "int16_t",
    "i": "int32_t",
    "q": "int64_t",
    "f": "float",
    "d": "double",
}
"""The C type of a number, by its type code in the modules `array` and `struct`."""

HEAD = """# Readers of single elements for compiled code; written by `make generated`, never edited by hand.

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy

cdef extern from *:
    ctypedef long long wide "__int128"
    uint16_t swap2 "__builtin_bswap16" (uint16_t) noexcept nogil
    uint32_t swap4 "__builtin_bswap32" (uint32_t) noexcept nogil
    uint64_t swap8 "__builtin_bswap64" (uint64_t) noexcept nogil
"""


def structure_name(type: Type) -> str:
    """Return the name of the C structure of an element."""
    return "".join(part[:1].upper() + part[1:] for part in unique_name(type).split("_"))


def element_types(model: Model) -> list[Type]:
    """Return the types whose elements compiled code reads."""
    return [type for type in model.types() if type.raw.get("-columns") or type.raw.get("-element")]


def elements_text(model: Model) -> str:
    """Return the readers of all elements.  Raises `UnsupportedError` for a type with `-element` that is not
    supported.
    """
    scalars: dict[str, str] = {}
    parts = []
    for type in element_types(model):
        if (element := compiled_element(type)) is not None:
            scalars |= element.scalars
            parts.append(element.text())
        elif type.raw.get("-element"):
            Element(type).sequence()  # raises the error that `compiled_element` has caught
    parts += [text for type in model.types() for text in c_numbers.functions(type)]
    return "\n\n".join([HEAD, *scalars.values(), *parts])


def compiled_element(type: Type) -> Element | None:
    """Return the reader of a type; None if compiled code does not support it."""
    element = Element(type)
    try:
        element.sequence()
    except UnsupportedError:
        return None
    return element


class Element(ElementExpressions):
    """Emits the Cython reader of one type; structures within it are read in place."""

    def __init__(self, type: Type, of: Element | None = None, prefix: str = "", base: str = "") -> None:
        """Write the reader of `type`; with `of`, a structure in place within that reader, to whose lines it adds.

        `prefix` starts the names of its columns, and `base` is the variable of where its own stream begins, if any.
        """
        self.type = type
        self.prefix = prefix
        # A structure of the root type begins where its stream does, which the function keeps in `first`.
        self.base: str = base or ("first" if of is None and type.parent is None else "")
        """Variable with the start of its stream; empty if that is not known."""
        self.lines: Lines = Lines() if of is None else of.lines
        self.scalars: dict[str, str] = {} if of is None else of.scalars  # readers of variable-length integers
        self.columns: list[Column] = []
        """The columns that are stored: the value of each is a C variable."""
        self.variables: dict[str, str] = {}  # declarations of C variables by name
        self.inner: dict[str, Element] = {}  # structures read in place, by field
        self.read: set[str] = set()  # fields that were read
        self.bounded: ex.Expr | None = None
        """The field just read, if its `valid` limits it to the remaining bytes: as a size, it needs no check."""
        self.within_rest: set[ex.Expr] = set()
        """Expressions that a check has found to be at most the bytes that are left, and so to fit 63 bits."""

    def text(self) -> str:
        """Return the structure and the function; `sequence` was called before."""
        name = structure_name(self.type)
        values = list(self._values())
        fields = [(one.name, C_TYPES[one.code], one.value) for one in self.columns]
        fields += [(name, "wide", code) for name, code in values]
        out = [f"cdef struct {name}:", *(f"    {kind} {name}" for name, kind, _ in fields), "", ""]
        out.append(opening(self.type, name))
        head = Lines()
        body = "\n".join(self.lines.lines)
        # Variables that the body may not use, which Cython would warn of.
        head.add(*(["cdef int64_t first = at"] if re.search(r"\bfirst\b", body) else []))
        head.add(*(["cdef wide size"] if re.search(r"\bsize\b", body) else []))
        head.add(*(f"cdef {declared}" for declared in self.variables.values()))
        tail = Lines()
        tail.add(*(f"out.{name} = {value}" for name, _, value in fields), "return at")
        return "\n".join([*out, *head.lines, body, *tail.lines]) + "\n"

    def _values(self) -> Iterator[tuple[str, str]]:
        """Yield name and code of each value instance that an element of a list can compute for itself."""
        for one in self.type.instances.values():
            if one.value is not None and one.condition is None:
                try:
                    yield one.id, self.code(one.value)
                except UnsupportedError:  # not a number, or computed from more than the element
                    continue

    def variable(self, name: str, kind: str, start: str = " = 0") -> str:
        """Declare a C variable of the type `kind` at the beginning of the function; return its name, with the prefix.

        `start` is the code of its first value.
        """
        self.variables[f"{self.prefix}{name}"] = f"{kind} {self.prefix}{name}{start}"
        return f"{self.prefix}{name}"

    def fail(self, condition: str) -> None:
        """Emit a return of -1 (the element does not fit) if a C condition holds."""
        with self.lines.block(f"if {condition}:"):
            self.lines.add("return -1")

    def sequence(self) -> None:
        """Emit statements that read the fields in their order."""
        waiting: list[Field] = []  # fields of bits that are read together
        for field in self.type.seq:
            if rows.read_method(field) is ReadMethod.BITS and field.condition is None:
                if waiting and not rows.shares_word(waiting[-1], field):
                    self._bits(waiting)
                    waiting = []
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
                    # A field that has no column (the length of another) may still be used by expressions.
                    absent = [one.value for one in self.columns[before:]]
                    self.lines.add(*(f"{local} = 0" for local in absent or [self.local(field)]))
            self.read.add(field.id)
        self._bits(waiting)

    def _add(self, field: Field) -> None:
        """Add the column of a number."""
        self.columns += [Column(name, code, self.local(field)) for name, code in rows.columns(field, self.prefix)]

    def _span(self, field: Field, at: str, end: str) -> None:
        """Add the columns for the start and end of a field, if it has any; `at` and `end` are their variables."""
        found = zip(rows.columns(field, self.prefix), (at, end), strict=False)
        self.columns += [Column(name, code, variable) for (name, code), variable in found]

    def _field(self, field: Field) -> None:
        """Emit statements that read one field, without its condition.  Raises `UnsupportedError` for other methods."""
        kind, lines = field.value_kind, self.lines
        # A check of the field before may have shown that this size fits.
        bounded, self.bounded = self.bounded, None
        match rows.read_method(field):
            case ReadMethod.UP_TO_LAST:
                self._up_to_last(field)
            case ReadMethod.NUMBERS:
                self._numbers(field)
            case ReadMethod.MARKED:
                self._marked(field)
            case ReadMethod.CONTENTS:
                wanted = contents(field)
                self.fail(f"end - at < {len(wanted)} or memcmp(p + at, {_bytes(wanted)}, {len(wanted)}) != 0")
                lines.add(f"at += {len(wanted)}")
            case ReadMethod.BYTES:
                self._bytes_field(field, bounded)
            case ReadMethod.NUMBER if field.size is None:
                assert isinstance(kind, (Integer, SimpleKind))
                self._number(field, kind)
            # A structure that is one number is read as that, unless the field has a size of its own.
            case ReadMethod.SCALAR if field.size is None and (scalar := scalar_of(kind)) is not None:
                if varint(scalar):
                    self._varint(field, scalar)
                else:
                    self._packed(field, scalar)
            case ReadMethod.SCALAR | ReadMethod.STRUCTURE:
                assert isinstance(kind, Structure)
                self._nested(field, kind, bounded)
            case _:
                raise UnsupportedError("this is not supported by compiled code")

    def _check(self, field: Field) -> None:
        """Emit the checks of `valid`.  A number that they limit to the remaining bytes becomes `bounded`."""
        value: ex.Expr = ex.Name(field.id)
        self.read.add(field.id)
        for condition in conditions(field, value):
            self.fail(f"not ({self.code(condition)})")
            match ex.fold(without_rest(condition)):
                case ex.Binary("<=", left, right) if right == REST and self._unsigned(left):
                    self.bounded = left
                    self.within_rest.add(left)

    def _number(self, field: Field, kind: Integer | SimpleKind) -> None:
        """Emit statements that copy a number of whole bytes into a C variable, swap its bytes and check it."""
        code = str(rows.array_code(kind))
        into = self.variable(f"{field.id}_", C_TYPES[code])
        self.fail(f"end - at < {kind.size}")
        self.lines.add(f"memcpy(&{into}, p + at, {kind.size})", f"at += {kind.size}")
        if kind.big and isinstance(kind, SimpleKind):  # the bytes of a float are swapped as an integer
            word = self.variable(f"{field.id}_word_", f"uint{8 * kind.size}_t")
            self.lines.add(f"memcpy(&{word}, &{into}, {kind.size})", f"{word} = swap{kind.size}({word})")
            self.lines.add(f"memcpy(&{into}, &{word}, {kind.size})")
        elif kind.big and kind.size > 1:
            self.lines.add(f"{into} = <{C_TYPES[code]}> swap{kind.size}(<uint{8 * kind.size}_t> {into})")
        self._add(field)
        self._check(field)

    def _packed(self, field: Field, type: Type) -> None:
        """Emit statements that read a number which is computed from a structure of fixed fields."""
        inner = Element(type, self, f"{self.prefix}{field.id}_")
        inner.sequence()
        self.variables |= inner.variables
        into = self.variable(f"{field.id}_", "uint64_t")
        self.lines.add(f"{into} = <uint64_t> ({inner.code(ex.Name(str(type.scalar)))})")
        self._add(field)
        self._check(field)

    def _varint(self, field: Field, type: Type) -> None:
        """Emit statements that read a number of variable length: short forms in place, longer ones by a function."""
        self.scalars.setdefault(unique_name(type), varint_text(type))
        into = self.variable(f"{field.id}_", "uint64_t")
        # A variable of its own: one whose address is taken stays out of the registers, and would be stored each time.
        long = self.variable(f"{field.id}_long_", "uint64_t", "")
        lines, word = self.lines, "if"
        for size, (condition, value) in enumerate(short_forms(type), 1):
            with lines.block(f"{word} {condition}:"):
                lines.add(f"{into} = {value}", f"at += {size}")
            word = "elif"
        with lines.block("else:"):
            lines.add(f"at = read_{unique_name(type)}(p, at, end, &{long})")
            self.fail("at < 0")
            lines.add(f"{into} = {long}")
        self._add(field)
        self._check(field)

    def _sized(self, size: ex.Expr, bounded: ex.Expr | None) -> None:
        """Emit statements that put a size into `size` and check that this many bytes are left.

        There is no check if it equals `bounded`, a size that is known to fit.
        """
        folded = without_rest(ex.fold(size))
        self.lines.add(f"size = {self.code(size)}")
        if folded == bounded:
            return
        if self._unsigned(folded):
            self.fail(f"{self._narrow(folded)} > <uint64_t> (end - at)")
        else:
            self.fail("size < 0 or size > <wide> (end - at)")

    def _bytes_field(self, field: Field, bounded: ex.Expr | None) -> None:
        """Emit statements that keep the start and end of bytes; `bounded` is a size known to fit the data, or None."""
        lines = self.lines
        if field.size == ex.Literal(0):
            self._check(field)
            return
        if "valid" in field.raw:
            raise UnsupportedError("rules for bytes are not supported by compiled code")
        at, end = (self.variable(f"{side}_{field.id}_", "int64_t") for side in ("at", "end"))
        if field.size is None:
            lines.add(f"{at} = at", "at = max(at, end)")
        else:
            self._sized(field.size, bounded)
            lines.add(f"{at} = at", "at += <int64_t> size")
        lines.add(f"{end} = at")
        self._span(field, at, end)

    def _marked(self, field: Field) -> None:
        """Emit statements that find the bytes up to a terminator."""
        at, end = (self.variable(f"{side}_{field.id}_", "int64_t") for side in ("at", "end"))
        found = self.variable(f"found_{field.id}_", "const void *", "")
        self.fail("at >= end")
        self.lines.add(f"{found} = memchr(p + at, {field.raw['terminator']}, end - at)")
        self.fail(f"{found} == NULL")
        self.lines.add(f"{at} = at", f"{end} = <const uint8_t *> {found} - p", f"at = {end} + 1")
        self._span(field, at, end)

    def _numbers(self, field: Field) -> None:
        """Emit statements that pass a list of numbers of one width whose count another field states; keep start and
        end.

        Raises `UnsupportedError` for all other lists.
        """
        many, count = numbers_of(field), field.expr("repeat-expr")
        if many is None or field.repeat != "expr" or field.condition is not None or count is None:
            raise UnsupportedError("a repeated field is not supported by compiled code")
        if not self._unsigned(count):
            raise UnsupportedError("a count with a sign is not supported by compiled code")
        at, end = (self.variable(f"{side}_{field.id}_", "int64_t") for side in ("at", "end"))
        self._sized(ex.Binary("*", count, ex.Literal(many.size)), None)
        self.lines.add(f"{at} = at", "at += <int64_t> size", f"{end} = at")
        self._span(field, at, end)

    def _up_to_last(self, field: Field) -> None:
        """Emit statements that pass structures up to the last one; keep start and end.  Raises `UnsupportedError`."""
        kind, last = field.value_kind, field.last
        if last is None or not isinstance(kind, Structure):
            raise UnsupportedError("a repeated field is not supported by compiled code")
        at, end = (self.variable(f"{side}_{field.id}_", "int64_t") for side in ("at", "end"))
        inner = Element(kind.type, self, f"{self.prefix}{field.id}_")
        self.lines.add(f"{at} = at")
        with self.lines.block("while True:"):
            inner.sequence()
            with self.lines.block(f"if {inner.code(last)}:"):
                self.lines.add("break")
        self.lines.add(f"{end} = at")
        self.variables |= inner.variables
        self._span(field, at, end)

    def _nested(self, field: Field, kind: Structure, bounded: ex.Expr | None) -> None:
        """Emit statements that read a structure in place, within its size if it has one, and add its columns.

        `bounded` is a size known to fit the data, or None.
        """
        if "valid" in field.raw:
            raise UnsupportedError("this is not supported by compiled code")
        rest, base = self.variable(f"{field.id}_rest_", "int64_t"), ""
        if field.size is not None:
            base = self.variable(f"{field.id}_base_", "int64_t")
            self._sized(field.size, bounded)
            # `end` is that of the structure while it is read.
            self.lines.add(f"{base} = at", f"{rest} = end", "end = at + <int64_t> size")
        inner = Element(kind.type, self, f"{self.prefix}{field.id}_", base)
        inner.sequence()
        if field.size is not None:
            self.lines.add("at = end", f"end = {rest}")
        self.columns += inner.columns
        self.variables |= inner.variables
        self.inner[field.id] = inner

    def _bits(self, fields: list[Field]) -> None:
        """Emit statements that read consecutive fields of bits, 64 bits at most, from one number."""
        if not fields:
            return
        kinds = [one.value_kind for one in fields if isinstance(one.value_kind, Bits)]
        total = sum(kind.width for kind in kinds)
        size, big = (total + 7) // 8, kinds[0].big
        if total > 64 or any(kind.big != big for kind in kinds):
            raise UnsupportedError("these bits are not supported by compiled code")
        whole = self.variable(f"{fields[0].id}_bits_", "uint64_t")
        self.fail(f"end - at < {size}")
        parts = [f"(<uint64_t> p[at + {i}] << {8 * (size - 1 - i if big else i)})" for i in range(size)]
        self.lines.add(f"{whole} = {' | '.join(parts)}", f"at += {size}")
        for field, shift, width in shifted(fields):
            into = self.variable(f"{field.id}_", "uint64_t")
            self.lines.add(f"{into} = ({whole} >> {shift}) & {hex((1 << width) - 1)}")
            self._add(field)
            self.read.add(field.id)
        for field in fields:
            self._check(field)


def _bytes(value: bytes) -> str:
    """Return bytes as a C string for `memcmp`."""
    return 'b"' + "".join(f"\\x{one:02x}" for one in value) + '"'
