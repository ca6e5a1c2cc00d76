"""Rows whose expressions use the structures around their list.

A row is an element of a list that is read as columns, without an object.  Fields of the structures around the list are
the same for all rows, so they are read once before them.  Within a row, `_parent` and `_root` may lead to fields of the
row itself, which are variables; from there on outward they lead to objects, the arguments `above` and `root`.
"""

from __future__ import annotations

from exhume.compiler.emit.scan import Scan
from exhume.compiler.emit.shared import Module
from exhume.compiler.emit.text import ATOM, Lines, bound, safe
from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import Bits, Integer, Structure, combined, family, structures
from exhume.compiler.front.model import Field, Type
from exhume.compiler.ir.needs import inherits_order
from exhume.compiler.refusal import UnsupportedError


class OutwardScan(Scan):
    """Emits code that reads a row, or a structure in it, whose expressions may use outer fields."""

    lines: Lines

    def __init__(self, of: Scan | None, module: Module, type: Type, prefix: str = "") -> None:
        """Scan rows as `Scan` does.

        `of` is the scan of the structure around this one, if there is one; it becomes `outer` if it is within the row.
        """
        super().__init__(of, module, type, prefix)
        self.outer: OutwardScan | None = of if isinstance(of, OutwardScan) else None
        self.within: Field | None = None
        """The field of the outer structure that this one is."""
        self.row: OutwardScan = self if self.outer is None else self.outer.row
        self.constants: dict[ex.Expr, str] = {}
        """Variables with the fields of structures around the rows, by the expressions that lead to these fields."""
        self.failures = 0
        """Number of cases of choices in the row that turned out to have no columns (`wide` counts and limits them)."""
        self.lasts: dict[str, str] = {}
        """By list, the code that tests whether the row just read is its last."""

    def begin_nested(self, inner: Scan, field: Field) -> None:
        """Note the field that the structure of `inner` is."""
        assert isinstance(inner, OutwardScan)
        inner.within = field

    def arguments_around(self) -> list[tuple[str, str]]:
        """Return names and annotations of the arguments with which the reader of rows gets what is around them.

        These are the structure around the list (`above`), the root, whether the structures around decide for big-endian
        numbers (`big`), and which condition ends the list (`until`, see `row_ends`).
        """
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
            # The condition with members of the row in place of `_`; it may use nothing else but the end of the stream.
            until = field.expr("repeat-until")
            if until is None or not any(one.type is self.type for one in structures(field.value_kind)):
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
        """Return the statements after each row that end a list with the last of its rows.

        The argument `until` of the reader is the number of the list in `lasts`, from 1 on; 0: a list without condition.
        """
        out = Lines()
        for number, code in enumerate(self.lasts.values(), 1):
            with out.block(f"if until == {number} and ({code}):"):
                out.add("break")
        return out.lines

    def outward(self) -> list[str]:
        """Return statements before the loop over the rows: they read the values that all rows share, and find the byte
        order.
        """
        lines, self.lines = self.lines, Lines()  # `_decide_order` emits to `self.lines`
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
        """Return a field outside of the rows as Python; an integer is checked to fit the width of its field.

        Compiled code relies on this width.  It has wider numbers as objects, and a single bit is a truth value.
        """
        steps = _steps(expr)
        assert steps is not None
        code = ".".join(["root" if steps[0] == "_root" else "above", *map(safe, steps[1:])])
        match combined(self.type.kind_of(expr)):
            case Integer(size=size, signed=signed):
                bits = 8 * size
            case Bits(width=bits):
                signed = False
            case _:
                return code
        if not 1 < bits < 63:
            return code
        least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        return f"{self.module.helper('word')}({code}, {least}, {most})"

    def _member(self, of: ex.Expr, name: str, level: int) -> str:
        """Return the code of `of.name`; a field outside of the structure may be another variable."""
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
        # Follow `_parent` and `_root` outward as long as they stay in the row.
        while steps and steps[0] in ("_parent", "_root"):
            if steps[0] == "_parent" and here.outer is not None and here.within is not None:
                # `_parent` is the structure around this one, unless the field has a key `parent`, or the structure is
                # of another specification.
                if "parent" in here.within.raw or here.type.root is not here.outer.type.root:
                    raise UnsupportedError("a structure with a parent of a different type has no columns")
                here = here.outer
            elif steps[0] == "_root" and (found := here.own_root()) is not None:
                here = found
            else:  # the path leaves the row here: the value is read once, before the rows
                return here.known_before(steps), ATOM
            steps = steps[1:]
        if not steps:
            raise UnsupportedError("a structure is known to objects only")
        return here._code(_path(steps), ATOM), ATOM  # noqa: SLF001 - its own kind

    def own_root(self) -> OutwardScan | None:
        """Return the root of the structure if that is the row or inside it; None if it is outside of the row.

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
        """Return the variable for a field outside of the rows, read once; `steps` are the names that lead to it.

        Raises `UnsupportedError` if rows may change it.
        """
        if self.outer is not None and steps[0] == "_parent":
            raise UnsupportedError("a structure with a parent of a different type has no columns")
        row = self.row
        # Each step but the last leads to a structure of a known type.
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
"""The stream of the element."""


def _in_row(expr: ex.Expr, field: Field) -> ex.Expr:
    """Return an expression about the element `_` of a list as one within that element."""
    if isinstance(expr, ex.EnumValue):
        return ex.Literal(field.owner.enum("::".join(expr.path)).number(expr.value))
    return ex.Name(expr.name) if isinstance(expr, ex.Member) and expr.of == ex.Name("_") else expr


def _steps(expr: ex.Expr) -> list[str] | None:
    """Return the names of a path of members, `a.b.c`; None for any other expression."""
    steps = []
    while isinstance(expr, ex.Member):
        steps.append(expr.name)
        expr = expr.of
    return [expr.id, *reversed(steps)] if isinstance(expr, ex.Name) else None


def _path(steps: list[str]) -> ex.Expr:
    """Return the expression for a path of members."""
    expr: ex.Expr = ex.Name(steps[0])
    for one in steps[1:]:
        expr = ex.Member(expr, one)
    return expr
