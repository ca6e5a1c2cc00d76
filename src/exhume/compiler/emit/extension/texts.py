"""Strings that audited readers cut out and decode, translated to Cython that makes no object for the bytes.

A reader does this in several statements: slice the view, end the slice at a terminator, charge the memory, decode.
These become one call.  In Cython, `p0` and `n0` are the pointer to the bytes of a view and their number, `low` and
`high` the positions of the slice.
"""

from __future__ import annotations

import ast

from exhume.compiler.emit.extension.expressions import ENCODINGS, Expressions
from exhume.compiler.emit.extension.kinds import LOADS, OBJECT, Source, Table, UncoveredError
from exhume.compiler.emit.text import Lines


def parts(format: str) -> list[tuple[str, int]]:
    """Return the letters of a `struct` format, each with its size in bytes.  Raises `UncoveredError` for other
    letters.
    """
    found, many = [], ""  # `many`: digits before a letter; only strings (`s`) may have a number
    for letter in format[1:]:
        if letter.isdigit():
            many += letter
        elif letter in LOADS and (letter == "s" or not many):
            size, _ = LOADS[letter]
            found.append((letter, int(many or 1) * size))
            many = ""
        else:
            raise UncoveredError("a format")
    return found


def encoding_of(node: ast.expr) -> str | None:
    """Return the encoding by which an expression decodes a variable; None for other expressions."""
    match node:
        case ast.IfExp(ast.Call(ast.Name("isinstance")), ast.Call(ast.Attribute(ast.Name(), "decode")), other):
            return encoding_of(other)
        case ast.Call(ast.Name("str"), [ast.Name(), ast.Constant(str(encoding_name))]):
            return encoding_name
    return None


def _byte(node: ast.expr) -> int | None:
    """Return the value of a constant of one byte; None for other expressions."""
    match node:
        case ast.Constant(bytes(mark)) if len(mark) == 1:
            return mark[0]
    return None


class TextStatements(Expressions):
    """Statements that cut out and decode text, translated to Cython without an object for the bytes."""

    def __init__(self, source: Source, every: dict[str, Source], table: Table) -> None:
        """Translate a function of `source`; `every` has all modules by id, `table` the objects that it uses."""
        super().__init__(source, every, table)
        self.lines: Lines = Lines()
        self.unused: frozenset[str] = frozenset()
        """Variables whose value is only checked to be valid, so that no object is made for it."""

    def text(self, nodes: list[ast.stmt]) -> int:
        """Emit one statement for several that cut out bytes, check and decode them; return how many statements it
        replaces. Returns 0 if `nodes` do not begin with such statements. Raises `UncoveredError`.
        """
        # Constant bytes: `x = view[low:high]; if x != b"...": raise` becomes one comparison in place.
        match nodes:
            case [
                ast.Assign([ast.Name(name)], ast.Subscript(of, ast.Slice(low, high, None))),
                ast.If(ast.Compare(ast.Name(again), [ast.NotEq()], [ast.Constant(bytes(_)) as wanted]), [ast.Raise()]),
                *_,
            ] if name == again and name in self.unused and low is not None and high is not None:
                if (view := self.view_number(of)) is not None:
                    places = f"{self.place(low)}, {self.place(high)}"
                    self.lines.add(f"is_there(p{view}, n{view}, {places}, {self.object(wanted)})")
                    return 2
        # Text: cut out, end at a terminator, charge, decode.
        shorter, ends = self._ended(nodes)
        shorter, is_charged = self._without_charge(shorter)
        match shorter:
            case [
                ast.Assign([ast.Name(name)], ast.Subscript(of, ast.Slice(low, high, None))),
                ast.Try(body=[ast.Assign([ast.Name(again)], value)]),
                *_,
            ] if (
                name == again
                and low is not None
                and high is not None
                and (view := self.view_number(of)) is not None
                and (encoding_name := encoding_of(value)) is not None
            ):
                text, into = self.variable(name), self.kinds[name]
                if into != OBJECT:
                    raise UncoveredError("a string that is not an object")
                # `how`: the number by which compiled code knows the encoding, 0 for those that Python decodes.
                how, encoding = ENCODINGS.get(encoding_name.upper(), 0), self.table.constant(encoding_name)
                given = f"p{view}, n{view}, low, high, {how}, {encoding}"
                self.lines.add(f"low = {self.place(low)}", f"high = {self.place(high)}")
                for mark, include in ends:
                    run = self.variable("run")
                    self.lines.add(f"high = ends_at({run}, p{view}, n{view}, low, high, {mark}, {include})")
                if is_charged:
                    self.lines.add(f"hold({self.variable('run')}, n{view}, low, high)")
                if name in self.unused:
                    self.lines.add(f"look_at_text({given})")
                else:
                    self.lines.add(f"{text} = text_of({given})")
                return len(nodes) - len(shorter) + 2
        return 0

    def _without_charge(self, nodes: list[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        """Remove the statements that charge the length of a string to the budget; return the remaining ones, and
        whether there were such statements.
        """
        match nodes:
            case [
                ast.Assign() as cut,
                ast.AugAssign(target=ast.Attribute(ast.Name("run"), "held"), value=ast.Call(ast.Name("len"))),
                ast.If(),
                *rest,
            ]:
                return [cut, *rest], True
        return nodes, False

    def _ended(self, nodes: list[ast.stmt]) -> tuple[list[ast.stmt], list[tuple[int, bool]]]:
        """Remove the statement that cuts bytes at a terminator; return the remaining ones, and a list with the
        terminator and whether it is included, if there was one.
        """
        match nodes:
            case [
                ast.Assign([ast.Name(name)], ast.Subscript()) as cut,
                ast.Assign(
                    [ast.Name(again)],
                    ast.Call(ast.Name("ended"), [_, ast.Name(of), end], keywords=more)
                    | ast.IfExp(orelse=ast.Call(ast.Name("ended"), [_, ast.Name(of), end], keywords=more)),
                ),
                *rest,
            ] if name == again == of and (mark := _byte(end)) is not None:
                return [cut, *rest], [(mark, bool(more))]
        return nodes, []
