"""What emitted code finds around it: names of fields, the stream and its position, enclosing structures.

`CodeContext` is the base of all emitters of Python.  In the emitted readers, `view` are the bytes, `at` the position
and `end` the end of the stream; in properties, the object has them.
"""

from __future__ import annotations

import abc

from exhume.compiler.emit.shared import Module
from exhume.compiler.emit.text import Lines, safe
from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import UNKNOWN, Kind, Sequence, enum_of
from exhume.compiler.front.model import Field, Type
from exhume.compiler.ir.needs import ReaderNeeds


class CodeContext(abc.ABC):
    """The names and positions that emitted code finds around it; readers and properties implement them differently.

    Attributes:
        foreign: Whether the code reads data by a specification of a user: it counts steps and checks everything.
        lines: The lines emitted so far.
        item: Code and kind of `_` in an expression; None where there is none.
        moved: Code for the current position, if it is not `at`.
        bounded: Code of the size that was just found not to pass the end, else "".
    """

    asked: int  # variables `asked0`, `asked1`, ... that were written

    loose = False
    """Whether the code reads bits at any position in a byte; `bit` then is the position, counted in bits."""

    traces = False
    """Whether structures keep the part that was read before an error."""

    def __init__(self, module: Module, type: Type) -> None:
        """Begin code for `type`; the imports and helpers that it needs are added to `module`."""
        self.module = module
        self.type = type
        self.needs: ReaderNeeds = module.needs[type]
        self.foreign: bool = module.foreign
        self.lines: Lines = Lines()
        self.item: tuple[str, Kind] | None = None
        self.index: str = ""  # code of `_index`
        self.above_path = ""  # path of the structures that are read in place, with a dot
        self.asked = 0
        self.moved = ""
        self.bounded = ""

    def path(self, field: Field) -> str:
        """Return the path of a field in errors, as Python: `"header.size"`, with the quotation marks."""
        return f'"{self.above_path}{field.id}"'

    @abc.abstractmethod
    def named(self, field: Field) -> tuple[str, int]:
        """Return a field as Python code, and the precedence of that code."""

    @abc.abstractmethod
    def above(self, name: str) -> str:
        """Return the code of `_self`, `_parent`, `_root` or `_io`."""

    def named_value(self, field: Field, code: str) -> str:
        """Return the code of a field's value as users see it: `names_kinds(kind, kind)` for a member of an enum."""
        enum = enum_of(field.kind) if self.foreign and not self.module.traced else None
        if enum is None:
            return code
        names = self.module.name_of(enum.type, enum.names)
        if isinstance(field.kind, Sequence) or not code.isidentifier():
            return f"{self.module.helper('named')}({names}, {code})"
        return f"{names}({code}, {code})"  # the `get` of a dictionary: a number without a name stays a number

    def at_end(self, at: str, end: str) -> str:
        """Return the condition that the current position is at the end, as Python."""
        return f"{at} >= {end}"

    def kept(self, field: Field) -> str:
        """Return the attribute that stores a field, as code: `value.size` in a reader."""
        return f"value.{safe(field.id)}"

    def in_place(self, id: str, name: str) -> tuple[str, int] | None:
        """Return code and precedence of the member `name` of the field `id` if that is read without an object; else
        None.
        """
        return None

    def place(self) -> tuple[str, str]:
        """Return the current position in the stream of the structure and the end of the stream, as code."""
        return self.moved or "at", "end"

    counts = False
    """Whether `bit` is kept up to date all the time, since structures may begin within a byte."""

    def align(self) -> None:
        """Emit statements for a value read in whole bytes: `bit` moves to the start of the current byte."""
        if self.counts or self.loose:
            self.lines.add("bit = at * 8")

    def begin(self) -> str:
        """Return the start of the stream of the structure, as code."""
        return "io.base" if self.foreign else "base"

    def sync(self) -> bool:
        """Emit statements that set the position of the stream object; return whether there is one."""
        self.lines.add(f"io.at = {self.moved or 'at'}", *(["io.left = -bit % 8"] if self.counts else []))
        return True

    def kind(self, expr: ex.Expr) -> Kind:
        """Return the kind of an expression's value here."""
        return self.type.kind_of(expr, self.item[1] if self.item else UNKNOWN)
