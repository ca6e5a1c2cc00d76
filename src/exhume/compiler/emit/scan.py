"""The reading of one element without objects, with what is within it in place: into columns, or as a plain tuple.

A `Scan` writes the statements that read an element of a list into variables, and notes the columns that these become
(see `columns`).  `foreign` specifications are those of users.  Elements that have no columns raise
`UnsupportedError` here, and are then read as objects.

Inherited: `above_path` begins the paths of errors; `bounded` is the code of a size that was found to fit; `sized_end`
checks a size, and returns the code of where its bytes end; `find_mark` finds a terminator, and returns the code of the
end of the bytes and the statement that passes it; `read_field` reads a field into a variable; `count_numbers` puts the
number of elements into `many`.

For a type with `-element: true`, `flat_text` writes a function that returns its fields:

    flat_block(view, at, end) -> (after, ...)

The first value is where the structure ends; then follow the values of its columns (see `columns`), in their order:
integers, the start and end of bytes, 0 for absent fields. It costs a fraction of an object with the same fields.
Data that does not fit raises the same error as the reader.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from exhume.compiler.emit.c_numbers import unique_name
from exhume.compiler.emit.reader import Reader
from exhume.compiler.emit.shared import Module
from exhume.compiler.emit.text import ATOM, Lines, written_doc
from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import BYTES, TEXT, Kind, Structure
from exhume.compiler.front.model import Field, Type
from exhume.compiler.ir import rows
from exhume.compiler.ir.fixed import Numbers, fixed_bytes, numbers_of, scalar_of
from exhume.compiler.ir.needs import is_position
from exhume.compiler.ir.rows import ReadMethod
from exhume.compiler.refusal import UnsupportedError


@dataclass(frozen=True, slots=True)
class Column:
    """A column that emitted code fills."""

    name: str
    code: str
    """Type code of its array, such as "q"; see the module `array`."""
    value: str
    """Code of the value that is appended for each row."""


MOST_LINES = 2_000
"""Most lines that read one row of a foreign specification, structures within it included."""


class Scan(Reader):
    """Emits code that reads one element into variables; nested structures are read in place, under a prefix."""

    joins_optional = False  # fields on the same condition stay apart, unlike in readers

    def __init__(self, of: Scan | None, module: Module, type: Type, prefix: str = "") -> None:
        """Read a row of `type`; with `of`, a structure in place within that row.

        A structure in place adds its statements to those of `of`, and `prefix` is before the names of its columns.
        """
        super().__init__(module, type)
        self.prefix = prefix
        self.numbers: Iterator[int] = itertools.count(1) if of is None else of.numbers
        # Variables of third-party structures have a number, as names joined may be those of other variables: `at` and
        # `x` the start of `x`, `a` and `b_c` the same as `a_b` and `c`.
        self.variables: str = f"in{next(self.numbers)}_" if of is not None and module.foreign else prefix
        """Beginning of the names of variables."""
        self.columns: list[Column] = []
        self.inner: dict[str, Scan] = {}
        """Scans of the structures that were read in place, by field."""
        self.byte_fields: list[str] = []
        """Names of the fields that have columns for start and end."""
        self.number_fields: dict[str, tuple[str, str]] = {}
        """Code that returns the numbers of a list in row `index`, and their Python type, by the name of the column."""
        self.base = ""
        """Variable with the start of its stream; empty if that is not known."""
        if of is not None:
            self.lines: Lines = of.lines

    def local(self, field: Field) -> str:
        """Return the variable of a field, whose name begins with that of the structure that it is in."""
        return f"{self.variables}{super().local(field)}"

    def fixed(self, field: Field) -> bool:
        """Return whether a field can be read together with others; bytes cannot, as only their position is kept."""
        return super().fixed(field) and not fixed_bytes(field)

    def keep(self, fields: list[Field]) -> None:
        """Add the columns of fields whose variables are set."""
        for field in fields:
            self._column(field)

    def _column(self, field: Field) -> None:
        """Add the columns of a field that is in its variable.  Raises `UnsupportedError` for a list or a string."""
        into = self.local(field)
        if field.repeat:
            raise UnsupportedError("a repeated field inside a row has no column")
        made = rows.columns(field, self.prefix)
        if not made:
            return
        if field.value_kind == TEXT and not self.module.foreign:
            raise UnsupportedError("text has no column, since it may be none: bytes have")
        if field.value_kind in (BYTES, TEXT):
            self._span(field, into)
        else:
            self.columns += [Column(name, code, into) for name, code in made]

    def _span(self, field: Field, into: str) -> None:
        """Add the two columns for the start and end of a field."""
        made = rows.columns(field, self.prefix)
        if not field.repeat or field.repeat == "until":
            self.byte_fields.append(f"{self.prefix}{field.id}")
        for side, (name, code) in zip(("at", "end"), made, strict=True):
            self.columns.append(Column(name, code, f"{side}_{into}"))

    def read_bytes(self, field: Field, into: str, path: str) -> None:
        """Emit statements that note the start and end of bytes, without copying them.

        Raises `UnsupportedError` for most bytes that end with a terminator.
        """
        lines = self.lines
        if rows.read_method_of_one(field) is ReadMethod.MARKED and not self.module.foreign:
            stop, after = self.find_mark(field, path, bytes([field.raw["terminator"]]))
            lines.add(f"at_{into} = at", f"end_{into} = {stop}", after)
            return
        if rows.read_method_of_one(field) is ReadMethod.CODED:
            raise UnsupportedError("a field that ends with a terminator has no column")
        lines.add(f"at_{into} = at")
        stop = self.sized_end(field, path)
        if field.value_kind == TEXT:
            lines.add(f"{into} = view[at : {stop}]")
            self.decode(field, into, path)
        # A place that the file states may be past the end: bytes up to the end are then empty.
        lines.add(f"at = end_{into} = {stop}" if stop != "end" else f"at = end_{into} = max(at, end)")

    def read_single(self, field: Field) -> None:
        """Emit statements that read one field and add its columns, which get 0 if its condition is not met."""
        kind, how = field.value_kind, rows.read_method(field)
        if how is ReadMethod.UP_TO_LAST:
            self._up_to_last(field)
            return
        if how is ReadMethod.NUMBERS:
            self._numbers(field)
            return
        before = len(self.columns)
        if field.condition is None:
            self._read_here(field, kind)
            return
        with self.lines.block(f"if {self.code(field.condition)}:"):
            self._read_here(field, kind)
        with self.lines.block("else:"):
            absent = [one.value for one in self.columns[before:]] or [self.local(field)]
            self.lines.add(f"{' = '.join(absent)} = 0")

    def _read_here(self, field: Field, kind: Kind) -> None:
        """Read a field into a local variable and keep it for the columns; structures are scanned field by field."""
        if isinstance(kind, Structure) and scalar_of(kind) is None:
            self._nested(field, kind)
            return
        self.read_field(field, self.local(field))
        self.read.add(field.id)
        self.keep([field])

    def begin_nested(self, inner: Scan, field: Field) -> None:
        """Hook for subclasses: prepare `inner`, which reads the structure of `field` in place."""

    def _nested(self, field: Field, kind: Structure) -> None:
        """Emit statements that read a structure in place, without an object; `header.size` becomes `header_size`.

        Raises `UnsupportedError` if it has a rule (`valid`), or bytes that something else than a size limits.
        """
        if "valid" in field.raw:
            raise UnsupportedError("a structure with a rule has no columns")
        sized = field.size is not None
        if self.module.foreign and len(self.lines.lines) > MOST_LINES:
            raise UnsupportedError("a row of too many fields")
        if self.module.foreign and (
            field.to_end or rows.read_method_of_one(field) is ReadMethod.CODED or kind.type.opaque
        ):
            raise UnsupportedError("a structure in bytes that are not limited by a size has no columns")
        # A reader for the inner structure, whose columns have the prefix of this field.
        inner = self.__class__(self, self.module, kind.type, f"{self.prefix}{field.id}_")
        self.begin_nested(inner, field)
        inner.above_path = f"{self.above_path}{field.id}."
        lines, rest = self.lines, f"rest_{self.local(field)}"
        # With a size, `end` is the end of the field while it is read, and is restored afterwards.
        if sized:
            stop = self.sized_end(field, self.path(field))
            inner.base = f"base_{self.local(field)}"
            before = len(lines.lines)
            lines.add(f"{inner.base} = at", f"{rest} = end", f"end = {stop}")
        inner.sequence()
        if sized:
            # The variable of the start is needed only if expressions use it.
            if not any(inner.base in line for line in lines.lines[before + 1 :]):
                del lines.lines[before]
            lines.add("at = end", f"end = {rest}")
        # Take over the columns of the inner structure.
        self.columns += inner.columns
        self.byte_fields += inner.byte_fields
        self.number_fields |= inner.number_fields
        self.inner[field.id] = inner
        self.read.add(field.id)
        self.bounded = ""

    def _up_to_last(self, field: Field) -> None:
        """Emit statements that find the start and end of a list of structures, up to the one that ends it."""
        kind, lines, into = field.value_kind, self.lines, self.local(field)
        last = field.last
        if self.module.foreign or last is None or not isinstance(kind, Structure):
            raise UnsupportedError("a repeated field inside a row has no column")
        inner = Scan(self, self.module, kind.type, f"{self.prefix}{field.id}_")
        lines.add(f"at_{into} = at", f"many_{into} = 0")
        with lines.block("try:"), lines.block("while True:"):
            inner.sequence()
            lines.add(f"many_{into} += 1")
            with lines.block(f"if {inner.code(last)}:"):
                lines.add("break")
        with lines.block("except LayoutError as error:"):
            lines.add(f'error.within(f"{self.above_path}{field.id}[{{many_{into}}}]")', "raise")
        lines.add(f"end_{into} = at")
        self._span(field, into)
        self.read.add(field.id)
        self.bounded: str = ""

    def _numbers(self, field: Field) -> None:
        """Emit statements for a list of numbers: only its start and end are kept, and no number is copied."""
        many = self._many(field)
        if many is None:
            raise UnsupportedError("a repeated field inside a row has no column")
        self.count_numbers(field, many.size)
        into, name = self.local(field), f"{self.prefix}{many.name}"
        self.lines.add(f"at_{into} = at", f"at += {many.size} * many", f"end_{into} = at")
        self._span(field, into)
        start, end = f"self.{name}_start[index]", f"self.{name}_end[index]"
        given = f'self.view, {start}, {end} - {start}, "{many.code}", "{many.order}"'
        kind = "float" if many.code in "fd" else "int"
        self.number_fields[name] = f"{self.module.helper('numbers')}({given})", kind
        self.read.add(field.id)

    def _many(self, field: Field) -> Numbers | None:
        """Return the numbers of a repeated field whose position alone is kept; None for all other fields."""
        own = not self.module.foreign and field.repeat == "expr" and field.condition is None
        return numbers_of(field) if own else None

    def above(self, name: str) -> str:
        """Raise `UnsupportedError`: columns do not have the structures around a row."""
        raise UnsupportedError("a structure that refers to its surroundings has no columns")

    def named(self, field: Field) -> tuple[str, int]:
        """Return code and precedence of a field.  Raises `UnsupportedError` for values that only objects have."""
        moving = field.id in (self.type.root.model.moving or ())
        if field.parameter or moving or (field.instance and (field.value is None or is_position(field.value))):
            raise UnsupportedError("this is known to objects only")
        if (
            field.value_kind == BYTES
            and not field.instance
            and {"contents", "terminator", "pad-right"}.isdisjoint(field.raw)
        ):
            if field.id not in self.read or field.size == ex.Literal(0):
                return super().named(field)
            return f"view[at_{self.local(field)} : end_{self.local(field)}]", ATOM
        return super().named(field)

    def sync(self) -> bool:
        """Emit nothing: expressions that use the stream are rejected in columns."""
        return False

    def begin(self) -> str:
        """Return the start of the stream of the structure, as code; raises `UnsupportedError` if it is not known."""
        if not self.base:
            raise UnsupportedError("a structure that refers to its surroundings has no columns")
        return self.base

    def in_place(self, id: str, name: str) -> tuple[str, int] | None:
        """Return code and precedence of the member `name` of the field `id` if that was read in place; else None."""
        inner = self.inner.get(id)
        return inner.named(inner.type.field(name)) if inner is not None else None


def flat_text(module: Module, type: Type) -> str:
    """Return the function that reads one type as a tuple.  Raises `UnsupportedError` if a field has no column."""
    scan = Scan(None, module, type)
    if type.parent is None:
        scan.base = "base"
    scan.sequence()
    names = ", ".join(one.name for one in scan.columns)
    values = "".join(f", {one.value}" for one in scan.columns)
    module.helpers.add("native")
    head = Lines()
    # Expressions with the size of the stream need its start.
    if any("end - base" in line for line in scan.lines.lines):
        head.add("base = at")
    with head.block(
        f"if native is not None and (found := native.flat_{unique_name(type)}(view, at, end)) is not None:"
    ):
        head.add("return found")
    name = type.reader_name.replace("read_", "flat_", 1)
    whole = f"tuple[{', '.join(['int'] * (len(scan.columns) + 1))}]"
    about = f"Where the `{type.where}` at `at` ends, and its fields: {names}. Raises `LayoutError`."
    out = [f"def {name}(view: View, at: int, end: int) -> {whole}:", *written_doc(about)]
    return "\n".join([*out, *head.lines, *scan.lines.lines, f"    return at{values}"])
