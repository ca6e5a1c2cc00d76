"""The function that makes all structures of a list of packed rows, which one loop unpacks.

A packed row is an element of a list that consists of numbers, bytes and strings of fixed sizes (see `ir.rows`).
"""

from __future__ import annotations

from collections.abc import Iterator

from exhume.compiler.emit.reader import Reader
from exhume.compiler.emit.shared import Module
from exhume.compiler.emit.statements import fill_name
from exhume.compiler.emit.text import Lines, local_name, safe, written_doc
from exhume.compiler.front.kinds import TEXT
from exhume.compiler.ir.fixed import struct_format
from exhume.compiler.ir.needs import keeps_order
from exhume.compiler.ir.rows import Packed, PackedRows


class PackedReader:
    """Emits `fill_<type>`, which adds rows to a list; the caller checked that all bytes are there, and paid the budget.

        for x, y in _each0(memoryview(view)[at : at + many * 3]):
            value = make_point()
            value.x = x
            value.y = y
            add_row(value)

    It ends early where a string is not valid in its encoding: the caller then reads this row alone, which reports
    it.
    """

    def __init__(self, module: Module, rows: PackedRows) -> None:
        """Begin the function for `rows`, in `module`."""
        self.module = module
        self.rows = rows
        self.reader = Reader(module, rows.row.type)
        self.lines: Lines = Lines()
        self.locals: set[str] = {"value"}  # variables in use
        self.values: list[str] = []
        """The variables that a row is unpacked into, in sequence."""

    def text(self) -> str:
        """Return the source of the function."""
        rows, type = self.rows, self.rows.row.type
        self._structure(rows.row, "value", "parent", "")
        made, self.lines = self.lines.lines, Lines()  # `made`: the statements of one row; then the function is written
        fields = rows.row.fields()
        kinds = [one.value_kind for one in fields]
        # Bytes of a row that no field takes.
        padding = f"{rows.size - rows.used}x" if rows.size > rows.used else ""
        each = self.reader.unpacker(struct_format(kinds, fields) + padding, kinds, rows=True)
        into = ", ".join(self.values) if len(self.values) > 1 else f"({self.values[0]},)"
        loop = Lines()
        loop.depth += rows.texts  # with strings, the loop is in a `try`: one level deeper
        with loop.block(f"for {into} in {each}(memoryview(view)[at : at + many * {rows.size}]):"):
            if rows.own:
                loop.add(f"io = {self.module.helper('stream_of')}(view, at, at + {rows.size})")
                loop.add(f"io.at = at + {rows.used}", f"at += {rows.size}")
            # The lines of `made` are indented by one level already, which `add` does again.
            loop.add(*(line[4:] for line in made), "add_row(value)")
        self.lines.add("add_row = rows.append")
        if rows.texts:
            with self.lines.block("try:"):
                self.lines.lines += loop.lines
            with self.lines.block("except UnicodeDecodeError:"):
                self.lines.add("return")
        else:
            self.lines.lines += loop.lines
        given = (
            "rows: list[object], view: View, at: int, many: int, io: object, parent: object, root: object, big: bool"
        )
        self.module.helper("Run")
        fewer = "  It stops at one with a string that is not valid." if rows.texts else ""
        about = f"Adds `many` `{type.where}` from `at` on to a list; all of them are there.{fewer}"
        return "\n".join([f"def {fill_name(rows)}({given}, run: Run) -> None:", *written_doc(about), *self.lines.lines])

    def _structure(self, packed: Packed, value: str, parent: str, prefix: str) -> None:
        """Emit statements that make a structure in the variable `value`.

        `parent` is the variable of the structure around it; `prefix` begins the names of the variables of its
        fields.
        """
        reader = Reader(self.module, packed.type)
        reader.value = value
        self.lines.add(f"{value} = {reader.maker()}()", *reader.unasked(), *reader.enclosing(parent))
        if keeps_order(packed.type):
            self.lines.add(f"{value}._big = big")
        for part in packed.parts:
            field = part.field
            kept = f"{value}.{safe(field.id)}"
            if part.inner:
                # Structures are made before they are stored in this one.
                names = list(self._inner(part.inner, field.id, value, prefix, repeated=field.repeat is not None))
                made = ", ".join(names)
                self.lines.add(f"{kept} = {made if field.repeat is None else f'[{made}]'}")
                continue
            local = self._local(prefix + field.id)
            self.values.append(local)
            code = reader.named_value(field, local)
            if field.value_kind == TEXT:
                code = reader.decoded(field, local, is_bytes=True)
            self.lines.add(f"{kept} = {code}")

    def _inner(self, inner: tuple[Packed, ...], id: str, value: str, prefix: str, *, repeated: bool) -> Iterator[str]:
        """Emit statements that make the structures `inner` of the field `id` of the structure in the variable `value`.

        Yields the variables that they are in, whose names begin with `prefix`.
        """
        for number, one in enumerate(inner):
            name = f"{prefix}{id}_{number}" if repeated else f"{prefix}{id}"
            local = self._local(name)
            self._structure(one, local, value, f"{name}_")
            yield local

    def _local(self, name: str) -> str:
        """Return an unused variable for `name`, and note it as used."""
        local = local_name(name, foreign=True)
        while local in self.locals:
            local += "_"
        self.locals.add(local)
        return local
