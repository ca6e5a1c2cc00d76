"""Values stored in variables, fields of structures and columns, as Cython; `Statements` says which value goes where.

In Cython, the variables of a reader are `v0`, `v1`, ...; the variable that has the bytes, such as `v0`, has a pointer
to them (`p0`) and their number (`n0`) as well.
"""

from __future__ import annotations

import ast

from exhume.compiler.emit.extension.expressions import Expressions
from exhume.compiler.emit.extension.kinds import (
    FLOAT,
    OBJECT,
    PLACES,
    RUN,
    STREAM,
    UNSIGNED,
    Kind,
    MachineWord,
    ReaderObject,
    UncoveredError,
    as_place,
    as_word,
    boxed,
)
from exhume.compiler.emit.extension.sources import Source, Table
from exhume.compiler.emit.text import Lines


class Stores(Expressions):
    """Statements that store values, appended to `lines`."""

    def __init__(self, source: Source, every: dict[str, Source], table: Table) -> None:
        """Translate a function of `source`; `every` has all modules by id, `table` the objects that it uses."""
        super().__init__(source, every, table)
        self.lines: Lines = Lines()

    def _slot(self, of: ast.expr, name: str) -> str:
        """Return code for the slot of a field.  Raises `UncoveredError` if the class of the object is not known."""
        owner = self.owner(of)
        if owner is None or name not in self.every[owner.module].classes[owner.name].slots:
            raise UncoveredError("a field of what is not known")
        return self.table.slot(owner, name)

    def store(self, target: ast.expr, text: str, kind: Kind, put: str = "slot_put") -> None:
        """Emit statements that store a value, given as code and kind, in a variable or an attribute.

        `v3 = little4(...)`, or `put_word(v1, OFFSETS[2], v3)` for a number in a field of the structure `v1`.  `put` is
        the function that stores an object in a field: `slot_put`, or `slot_keep` if the object was not read for this
        field.  Raises `UncoveredError` for other targets, and for kinds that the variable cannot have.
        """
        lines = self.lines
        match target:
            case ast.Name(name):
                lines.add(f"{self.variable(name)} = {self.converted(text, kind, self.kinds[name], name)}")
                if name == "view":
                    number = self.variable(name)[1:]
                    lines.add(f"get_bytes(v{number}, &p{number}, &n{number})")
            case ast.Attribute(of, name):
                owner, into = self.expr(of)
                if into == STREAM and name in ("at", "base", "end", "left"):  # fields that are C numbers
                    lines.add(f"{owner}.{name} = {as_place(text, kind)}")
                elif into == RUN:
                    lines.add(f"{owner}.{name} = {as_word(text, kind)}")
                # Fields of structures are objects: numbers are boxed by the function that puts them.
                elif isinstance(into, ReaderObject) and (isinstance(kind, MachineWord) or kind in (UNSIGNED, FLOAT)):
                    self._note(into, name, kind)
                    put = {UNSIGNED: "put_unsigned", FLOAT: "put_float"}.get(str(kind), "put_word")
                    lines.add(f"{put}({owner}, {self._slot(of, name)}, {text})")
                elif isinstance(into, ReaderObject):
                    self._note(into, name, kind)
                    put = {"_parent": "lend_parent", "_root": "lend_root"}.get(name, put)
                    lines.add(f"{put}({owner}, {self._slot(of, name)}, {boxed(text, kind)})")
                else:  # columns: references to what is around them are uncounted at first
                    called = "lend_to_columns" if name in ("parent", "root") else "setattr"
                    lines.add(f"{called}({boxed(owner, into)}, {self.table.constant(name)}, {boxed(text, kind)})")
            case _:
                raise UncoveredError("a target")

    def _note(self, owner: ReaderObject, name: str, kind: Kind) -> None:
        """Note the kind of a value that a reader puts into a field."""
        if not self.is_instance:
            self.table.put(owner, name, kind)

    def converted(self, text: str, kind: Kind, into: Kind | None, name: str) -> str:
        """Return code that converts a value to the kind of the variable `name`. Raises `UncoveredError`."""
        if name in PLACES:
            return as_place(text, kind)
        if into == kind:
            return text
        if isinstance(into, MachineWord):
            # `bit` is a position in bits, which always fits.
            if name == "bit" or (isinstance(kind, MachineWord) and kind.bits <= into.bits):
                return text if isinstance(kind, MachineWord) else f"place_of({boxed(text, kind)})"
        elif into == OBJECT:
            return boxed(text, kind)
        elif into == STREAM and kind == OBJECT:
            return f"a_stream({text})"
        elif into == RUN and kind == OBJECT:
            return f"a_run({text})"
        raise UncoveredError(f"{kind} as {into}")
