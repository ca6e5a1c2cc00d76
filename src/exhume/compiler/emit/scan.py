"""The reading of one element without objects, with what is within it in place: into columns, or as a plain tuple.

For a type with `-element: true`, `flat_text` writes a function that returns its fields:

    flat_block(view, at, end) -> (after, ...)

The first value is where the structure ends; then follow the values of its columns (see `columns`), in their order:
integers, the start and end of bytes, 0 for absent fields. It costs a fraction of an object with the same fields. Data
that does not fit raises what the reader raises.

`OutwardScan` adds what rows use of the structures around their list: it is the same for all rows, so it is read once
before them.

Within a row, `_parent` and `_root` lead to fields of it that have no object.
"""

from __future__ import annotations

from exhume.compiler.emit.c_numbers import unique_name
from exhume.compiler.emit.reader import Reader
from exhume.compiler.emit.shared import Module
from exhume.compiler.emit.text import ATOM, Lines, bound, safe, written_doc
from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import BYTES, TEXT, Bits, Integer, Kind, Structure, combined, family, structures
from exhume.compiler.front.model import Field, Type
from exhume.compiler.ir import rows
from exhume.compiler.ir.fixed import Numbers, fixed_bytes, numbers_of, scalar_of
from exhume.compiler.ir.needs import inherits_order, is_position
from exhume.compiler.ir.rows import ReadMethod
from exhume.compiler.refusal import UnsupportedError

Column = tuple[str, str, str]
"""Name, array code, and the expression that is appended."""


MOST_LINES = 2_000
"""Lines that read one row of an external specification, structures within it included."""


class Scan(Reader):
    """Emits code that reads one element into variables; nested structures are read in place, under a prefix."""

    joins_optional = False

    def __init__(self, of: Scan | None, module: Module, type: Type, prefix: str = "") -> None:
        """Read a row of `type`; with `of`, a structure in place within that row.

        A structure in place adds its statements to those of `of`, and `prefix` is before the names of its variables.
        """
        super().__init__(module, type)
        self.prefix = prefix
        self.columns: list[Column] = []
        self.inner: dict[str, Scan] = {}
        self.byte_fields: list[str] = []
        self.number_fields: dict[str, tuple[str, str]] = {}
        """The expression of the numbers of one element, and their type, by the name of the column."""
        self.base = ""
        """Variable with the start of its stream; empty if that is not known."""
        if of is not None:
            self.lines: Lines = of.lines

    def local(self, field: Field) -> str:
        return f"{self.prefix}{super().local(field)}"

    def fixed(self, field: Field) -> bool:
        return super().fixed(field) and not fixed_bytes(field)

    def keep(self, fields: list[Field]) -> None:
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
        if field.one == TEXT and not self.module.foreign:
            raise UnsupportedError("text has no column, since it may be none: bytes have")
        if field.one in (BYTES, TEXT):
            self._span(field, into)
        else:
            self.columns += [(name, code, into) for name, code in made]

    def _span(self, field: Field, into: str) -> None:
        """Add the two columns for the start and end of a field."""
        made = rows.columns(field, self.prefix)
        if not field.repeat or field.repeat == "until":
            self.byte_fields.append(f"{self.prefix}{field.id}")
        self.columns += [(name, code, f"{side}_{into}") for side, (name, code) in zip(("at", "end"), made, strict=True)]

    def read_bytes(self, field: Field, into: str, path: str) -> None:
        """Positions of bytes, without copying them. Raises `UnsupportedError` for most that end with a terminator."""
        lines = self.lines
        if rows.read_method_of_one(field) is ReadMethod.MARKED and not self.module.foreign:
            stop, after = self.find_mark(field, path, bytes([field.raw["terminator"]]))
            lines.add(f"at_{into} = at", f"end_{into} = {stop}", after)
            return
        if rows.read_method_of_one(field) is ReadMethod.CODED:
            raise UnsupportedError("a field that ends with a terminator has no column")
        lines.add(f"at_{into} = at")
        stop = self.sized_end(field, path)
        if field.one == TEXT:
            lines.add(f"{into} = view[at : {stop}]")
            self.decode(field, into, path)
        lines.add(f"at = end_{into} = {stop}" if stop != "end" else f"at = end_{into} = max(at, end)")

    def read_single(self, field: Field) -> None:
        """Emit statements that read one field and add its columns, which get 0 if its condition is not met."""
        kind, how = field.one, rows.way(field)
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
            absent = [local for _, _, local in self.columns[before:]] or [self.local(field)]
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
        kind, lines, into = field.one, self.lines, self.local(field)
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
        """The numbers of a repeated field whose position alone is kept; None for all other fields."""
        own = not self.module.foreign and field.repeat == "expr" and field.condition is None
        return numbers_of(field) if own else None

    def above(self, name: str) -> str:
        """Raise `UnsupportedError`: columns do not have the structures around a row."""
        raise UnsupportedError("a structure that refers to its surroundings has no columns")

    def named(self, field: Field) -> tuple[str, int]:
        """A field as Python. Raises `UnsupportedError` for what only an object knows."""
        moving = field.id in (self.type.root.model.moving or ())
        if field.parameter or moving or (field.instance and (field.value is None or is_position(field.value))):
            raise UnsupportedError("this is known to objects only")
        if field.one == BYTES and not field.instance and {"contents", "terminator", "pad-right"}.isdisjoint(field.raw):
            if field.id not in self.read or field.size == ex.Literal(0):
                return super().named(field)
            return f"view[at_{self.local(field)} : end_{self.local(field)}]", ATOM
        return super().named(field)

    def sync(self) -> bool:
        """Emit nothing: expressions that use the stream are rejected in columns."""
        return False

    def begin(self) -> str:
        """Return the start of its stream, as code. Raises `UnsupportedError` for the element itself."""
        if not self.base:
            raise UnsupportedError("a structure that refers to its surroundings has no columns")
        return self.base

    def in_place(self, id: str, name: str) -> tuple[str, int] | None:
        inner = self.inner.get(id)
        return inner.named(inner.type.field(name)) if inner is not None else None


def flat_text(module: Module, type: Type) -> str:
    """The function of one type.  Raises `UnsupportedError`."""
    scan = Scan(None, module, type)
    if type.parent is None:
        scan.base = "base"
    scan.sequence()
    names = ", ".join(name for name, _, _ in scan.columns)
    values = "".join(f", {value}" for _, _, value in scan.columns)
    module.helpers.add("native")
    head = Lines()
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


class OutwardScan(Scan):
    """Emits code that reads a row, or a structure in it, whose expressions may use outer fields."""

    lines: Lines

    def __init__(self, of: Scan | None, module: Module, type: Type, prefix: str = "") -> None:
        """Scan rows as `Scan` does; `outer` is the structure around this one within the row, if any."""
        super().__init__(of, module, type, prefix)
        self.outer: OutwardScan | None = of if isinstance(of, OutwardScan) else None
        self.within: Field | None = None
        """The field of the outer structure that this one is."""
        self.row: OutwardScan = self if self.outer is None else self.outer.row
        self.constants: dict[ex.Expr, str] = {}
        """Fields of what is around the rows, by the expressions that lead to them, and their variables."""
        self.failures = 0
        """Cases of a choice that turned out to have no columns."""
        self.lasts: dict[str, str] = {}
        """Whether the row that was just read is the last of a list, as Python, by the list."""

    def begin_nested(self, inner: Scan, field: Field) -> None:
        assert isinstance(inner, OutwardScan)
        inner.within = field

    def arguments_around(self) -> list[tuple[str, str]]:
        """Return names and annotations of the arguments with which the reader of rows gets what is around them."""
        bases = {steps[0] for one in self.constants if (steps := _steps(one)) is not None}
        found = [("above", "object | None = None")] if "_parent" in bases else []
        found += [("root", f"{self.type.root.class_name} | None = None")] if "_root" in bases else []
        found += [("big", "bool = False")] if inherits_order(self.type) else []
        return found + ([("until", "int = 0")] if self.lasts else [])

    def find_lasts(self) -> None:
        """Find the lists that end with a row for which an expression is true (`repeat-until`), if columns can compute
        it after each row.
        """
        for field in (one for parent in self.type.parents for one in parent.fields() if one.repeat == "until"):
            until = field.expr("repeat-until")
            if until is None or not any(one.type is self.type for one in structures(field.one)):
                continue
            within = ex.replaced(until, lambda one, field=field: _in_row(one, field))  # type: ignore[misc]
            named = [one for one in ex.nodes(within) if isinstance(one, ex.Member) and one.of == _STREAM]
            alone = ex.names(until) <= {"_", "_io"} and "_" not in ex.names(within)
            if alone and all(one.name == "eof" for one in named):
                try:
                    self.lasts[field.where] = self.code(within)
                except UnsupportedError:
                    continue

    def row_ends(self) -> list[str]:
        """Return the statements after each row that end a list with the last of its rows."""
        out = Lines()
        for number, code in enumerate(self.lasts.values(), 1):
            with out.block(f"if until == {number} and ({code}):"):
                out.add("break")
        return out.lines

    def outward(self) -> list[str]:
        """Return statements before the loop over the rows: they read the values that all rows share, and find the byte
        order.
        """
        lines, self.lines = self.lines, Lines()
        self._decide_order()
        decided, self.lines = self.lines.lines, lines
        out = Lines()
        if not self.constants and not decided:
            return []
        with out.block(f"if {self.more_to_come()} if count is None else count > 0:"):
            with out.block("try:"):
                for expr, name in self.constants.items():
                    out.add(f"{name} = {self._constant(expr)}")
                out.lines += ["        " + line for line in decided]
            with out.block(f"except {self.module.helper('FAILURES')}:"):
                out.add(f"raise {self.module.helper('NoColumnsError')}")
        return out.lines

    def more_to_come(self) -> str:
        """Return the condition that another row follows, if no count is given, as Python."""
        return "(until or at < end)" if self.lasts else "at < end"

    def _constant(self, expr: ex.Expr) -> str:
        """Return a field outside of the rows as Python; an integer is checked to fit the width of its field."""
        kind, steps = combined(self.type.kind_of(expr)), _steps(expr)
        assert steps is not None
        code = ".".join(["root" if steps[0] == "_root" else "above", *map(safe, steps[1:])])
        bits = 8 * kind.size if isinstance(kind, Integer) else kind.width if isinstance(kind, Bits) else 0
        if not 1 < bits < 63:
            return code
        signed = isinstance(kind, Integer) and kind.signed
        least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        return f"{self.module.helper('word')}({code}, {least}, {most})"

    def _member(self, of: ex.Expr, name: str, level: int) -> str:
        found = self._outer_field(ex.Member(of, name))
        return bound(*found, level) if found is not None else super()._member(of, name, level)

    def _outer_field(self, expr: ex.Expr) -> tuple[str, int] | None:
        """Return code for a field of an enclosing structure, and how tightly the code binds; None for any other
        expression. Raises `UnsupportedError` for a value that may change from row to row.
        """
        steps = _steps(expr)
        if steps is None or (steps[0] not in ("_parent", "_root")):
            return None
        here: OutwardScan = self
        while steps and steps[0] in ("_parent", "_root"):
            if steps[0] == "_parent" and here.outer is not None and here.within is not None:
                if "parent" in here.within.raw or here.type.root is not here.outer.type.root:
                    raise UnsupportedError("a structure with a parent of a different type has no columns")
                here = here.outer
            elif steps[0] == "_root" and (found := here.own_root()) is not None:
                here = found
            else:
                return here.known_before(steps), ATOM
            steps = steps[1:]
        if not steps:
            raise UnsupportedError("a structure is known to objects only")
        return here._code(_path(steps), ATOM), ATOM  # noqa: SLF001 - its own kind

    def own_root(self) -> OutwardScan | None:
        """Return the root of the structure if that is the row or inside it; None if it is outside.

        Raises `UnsupportedError` if it may be either.
        """
        here: OutwardScan | None = self
        while here is not None:
            if here.type.parent is None and here.type.inside:
                raise UnsupportedError("a root type inside other types has no columns")
            if here.type is self.type.root:
                return here
            here = here.outer
        if self.row.type.root is not self.type.root:
            raise UnsupportedError("a structure without a root has no columns")
        return None

    def known_before(self, steps: list[str]) -> str:
        """Return the variable for a field outside of the rows, read once.

        Raises `UnsupportedError` if rows may change it.
        """
        if self.outer is not None and steps[0] == "_parent":
            raise UnsupportedError("a structure with a parent of a different type has no columns")
        row = self.row
        for number in range(1, len(steps)):
            kind = row.type.kind_of(_path(steps[:number]))
            if not isinstance(kind, Structure) or kind.type.opaque:
                raise UnsupportedError("the structures around the rows are not known")
        expr = _path(steps)
        kind = combined(row.type.kind_of(expr))
        if family(kind) not in ("integer", "enum", "bool", "float", "text", "bytes"):
            raise UnsupportedError("a list or a structure around the rows is known to objects only")
        return row.constants.setdefault(expr, f"asked{len(row.constants)}")


_STREAM = ex.Name("_io")


def _in_row(expr: ex.Expr, field: Field) -> ex.Expr:
    """An expression about the element `_` of a list as one within that element."""
    if isinstance(expr, ex.EnumValue):
        return ex.Literal(field.owner.enum("::".join(expr.path)).number(expr.value))
    return ex.Name(expr.name) if isinstance(expr, ex.Member) and expr.of == ex.Name("_") else expr


def _steps(expr: ex.Expr) -> list[str] | None:
    """The names of a path of members; None for any other expression."""
    steps = []
    while isinstance(expr, ex.Member):
        steps.append(expr.name)
        expr = expr.of
    return [expr.id, *reversed(steps)] if isinstance(expr, ex.Name) else None


def _path(steps: list[str]) -> ex.Expr:
    """The expression for a path of members."""
    expr: ex.Expr = ex.Name(steps[0])
    for one in steps[1:]:
        expr = ex.Member(expr, one)
    return expr
