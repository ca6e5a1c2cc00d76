"""Numbers and strings that audited readers take from bytes, translated to Cython that makes no object for the bytes.

`(size, key) = unpack(view, at)` becomes a check of the end and two loads.  A reader takes a string in several
statements: slice the view, end the slice at a terminator, charge the memory, decode; these become one call.  In Cython,
`p0` and `n0` are the pointer to the bytes of a view and their number, `low` and `high` the positions of the slice.
"""

from __future__ import annotations

import ast

from exhume.compiler.emit.extension.expressions import ENCODINGS
from exhume.compiler.emit.extension.kinds import LOADS, OBJECT, Kind, UncoveredError
from exhume.compiler.emit.extension.sources import Source, Table
from exhume.compiler.emit.extension.stores import Stores


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


class Unpacking(Stores):
    """Statements that take numbers and strings from bytes, translated to Cython without an object for the bytes."""

    def __init__(self, source: Source, every: dict[str, Source], table: Table) -> None:
        """Translate a function of `source`; `every` has all modules by id, `table` the objects that it uses."""
        super().__init__(source, every, table)
        self.unused: frozenset[str] = frozenset()
        """Variables whose value is only checked to be valid, so that no object is made for it."""

    def formats_of(self, node: ast.expr) -> tuple[str, ...] | None:
        """Return the format of an unpacker, or both if the data decides the byte order; None for other functions."""
        match node:
            case ast.Name(id) if id in self.source.formats:
                return (self.source.formats[id],)
            case ast.IfExp(_, ast.Name(one), ast.Name(other)):
                if one in self.source.formats and other in self.source.formats:
                    return self.source.formats[one], self.source.formats[other]
        return None

    def unpacked(self, node: ast.expr) -> list[Kind] | None:
        """Return the kinds of the values that a call of an unpacker returns; None for other calls."""
        match node:
            case ast.Call(func=unpack, args=[_, _]) if (formats := self.formats_of(unpack)) is not None:
                return [LOADS[letter][1] for letter, _ in parts(formats[0])]
        return None

    def unpack(self, into: list[ast.expr], unpack: ast.expr, view: ast.expr, at: ast.expr) -> None:
        """Emit statements for `(a, b) = unpack(view, at)`: a check that the bytes exist, then `_load`.

        `unpack` is a name, or `(one if big else other)` where the data decides the byte order.  Raises `UncoveredError`
        for numbers in bytes other than the view.
        """
        formats = self.formats_of(unpack)
        number, place = self.view_number(view), self.place(at)
        assert formats is not None
        if number is None:
            raise UncoveredError("numbers of other bytes")
        every = parts(formats[0])
        total = sum(size for _, size in every)
        self.lines.add(f"require_bytes(n{number}, {place}, {total})")
        if len(formats) == 2:
            assert isinstance(unpack, ast.IfExp)
            with self.lines.block(f"if {self.truth(unpack.test)}:"):
                self._load(into, formats[0], number, place)
            with self.lines.block("else:"):
                self._load(into, formats[1], number, place)
        else:
            self._load(into, formats[0], number, place)

    def _load(self, into: list[ast.expr], format: str, number: str, place: str) -> None:
        """Emit statements that load the numbers and bytes of one format of `struct`.

        For `<HI`, they are `v3 = little2(p0 + v1)` and `v4 = little4(p0 + v1 + 2)`.  `little4` reads 4 bytes with the
        lowest first, `big4` with the highest first.
        """
        offset = 0  # of the value within the bytes of the format
        order = "big" if format[0] == ">" else "little"
        for target, (letter, size) in zip(into, parts(format), strict=True):
            where = f"p{number} + {place}" + (f" + {offset}" if offset else "")
            _, kind = LOADS[letter]
            if letter == "s":
                begin = f"{place} + {offset}"
                text = f"sliced(v{number}, p{number}, n{number}, {begin}, {begin} + {size})"
            else:
                text = f"{order}{size}({where})"
            if letter in "bhiq":
                text = f"<int{size * 8}_t> {text}"
            if letter in "fd":
                text = f"as_{'float' if letter == 'f' else 'double'}({text})"
            self.store(target, text, kind)
            offset += size

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
                    self.lines.add(f"check_contents(p{view}, n{view}, {places}, {self.object(wanted)})")
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
                number, encoding = ENCODINGS.get(encoding_name.upper(), 0), self.table.constant(encoding_name)
                given = f"p{view}, n{view}, low, high, {number}, {encoding}"
                self.lines.add(f"low = {self.place(low)}", f"high = {self.place(high)}")
                for mark, include in ends:
                    run = self.variable("run")
                    self.lines.add(f"high = end_at_byte({run}, p{view}, n{view}, low, high, {mark}, {include})")
                if is_charged:
                    self.lines.add(f"hold({self.variable('run')}, n{view}, low, high)")
                if name in self.unused:
                    self.lines.add(f"check_text({given})")
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
