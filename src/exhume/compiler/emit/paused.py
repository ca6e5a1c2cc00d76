"""Readers that stop where a list begins, so that its elements can be read in batches.

The reader of one type raises `Paused` at one field. That has functions that read one element, or many as columns, and
what is around the list is in it as far as it was read before.
"""

from __future__ import annotations

from exhume.compiler.emit.reader import Reader
from exhume.compiler.emit.statements import nested_in
from exhume.compiler.emit.text import tabled
from exhume.compiler.front.kinds import Structure, Switch, structures
from exhume.compiler.front.model import Field, Type
from exhume.compiler.front.specs import Model
from exhume.compiler.ir.needs import expressions, find_needs, words
from exhume.compiler.refusal import UnsupportedError


class PausedReader(Reader):
    """The function that reads one type up to a list."""

    def _read_many(self, field: Field, into: str) -> None:
        """Statements that read a repeated field; for the list at which this reader stops they raise `Paused`.

        Before it they define `rows` (reads many elements as columns), `element` (reads one) and `last` (whether an
        element is the last one, by `repeat-until`).  `Paused` has None in place of those that are not defined.
        """
        if field is not self.module.paused:
            super()._read_many(field, into)
            return
        if self.counts or self.loose or "valid" in field.raw:
            raise UnsupportedError("a list in which bits continue is read at once")
        lines, count = self.lines, field.expr("repeat-expr")
        many = "None" if count is None else self._count(count)
        lines.add(f"many = {many}")
        rows, type = self._rows(field), tabled(field)
        element = not rows or (type is not None and bool(type.raw.get("-around")))
        if element:
            with lines.block("def element(at: int, index: int, run: Run) -> tuple[object, int]:"):
                self.index = "index"
                self._read_valid_raw(field, '""', True)
                lines.add("return one, at")
        until = field.expr("repeat-until")
        if until is not None:
            with lines.block("def last(one: object, index: int, at: int) -> bool:"):
                self.item = ("one", field.one)
                lines.add(f"return {self.code(until)}")
                self.item = None
        self.index = ""
        given = ["rows" if rows else "None", "element" if element else "None", "None" if until is None else "last"]
        lines.add(f"raise {self.module.helper('Paused')}(at, end, many, run, {', '.join(given)})", f"{into} = None")

    def _rows(self, field: Field) -> bool:
        """Statements for the function that reads many elements as columns, where that can be; says whether it can."""
        type, lines = tabled(field), self.lines
        own = {"size-eos", "terminator", "pad-right", "process"}.isdisjoint(field.raw)
        if type is None or not own or (field.size is None) == bool(type.raw.get("-sized")):
            return False
        if field.repeat == "until" and field.where not in type.raw.get("-until", ()):
            return False
        size = ""
        if field.size is not None:
            lines.add(f"each = {self.code(field.size)}")
            size = ", each"
        around = "".join(f", {one}" for one in self.around_rows(field, type))
        scan, needs = self.module.name_of(type, type.reader_name.replace("read_", "scan_", 1)), self.module.needs[type]
        with lines.block("def rows(at: int, count: int) -> object:"):
            call = f"found = {scan}(view, at, end, count, run{size}{around})"
            if around:
                with lines.block("try:"):
                    lines.add(call)
                with lines.block(f"except {self.module.helper('NoColumnsError')}:"):
                    lines.add("return None")
            else:
                lines.add(call)
            lines.add(*([] if size else ["found.io = io"]))
            if needs.parent:
                lines.add(f"found.parent = {self._parent_of(field, type)}")
            if needs.root and type.inside:
                lines.add(f"found.root = {self.above('_root') if type.root is self.type.root else 'None'}")
            if "big" in type.raw.get("-around", ()):
                lines.add("found.big = big")
            lines.add("return found")
        return True


def pausing(model: Model, steps: list[str], root: Type) -> tuple[Type, Field] | None:
    """The type and the list that a path of fields leads to, if it can be read in batches; None if it is read at once.

    It can be where the path leads through fields of `seq` that are in one place only, nothing depends on how far the
    stream was read, and no expression requests the list.
    """
    find_needs(model)
    type, field = root, None
    every = [kind.type for one in model.types() for kind in _inside(one)]
    for number, step in enumerate(steps):
        field = next((one for one in type.seq if one.id == step), None)
        last = number == len(steps) - 1
        if field is None or bool(field.repeat) != last or every.count(type) != (type is not root):
            return None
        if not last:
            if not isinstance(field.one, Structure) or field.one.type.opaque:
                return None
            type = field.one.type
    if field is None or model.moving is not None or model.shares or not any(nested_in(field.one)):
        return None
    asked = set().union(*(words(expr) for one in model.types() for part in one.fields() for expr in expressions(part)))
    return None if field.id in asked or (isinstance(field.one, Switch) and field.one.default is None) else (type, field)


def _inside(type: Type) -> list[Structure]:
    return [kind for one in type.fields() if one.value is None for kind in structures(one.one)]
