"""Statements of audited readers as Cython.

The forms of statements are those that exhume emits.  Where a statement raises an error, compiled code calls `abandon`,
which ends it, and the interpreted reader repeats the reading and raises the error.  In Cython, variables are `v0`,
`v1`, ...; `p0` and `n0` are the pointer to the bytes of a view and their number.
"""

from __future__ import annotations

import ast

from exhume.compiler.emit.extension.kinds import (
    AROUND,
    FLOAT,
    LIST,
    OBJECT,
    PLACE,
    PLACES,
    RUN,
    STREAM,
    UNSIGNED,
    WIDTHS,
    Kind,
    MachineWord,
    ReaderObject,
    UncoveredError,
    as_word,
    boxed,
)
from exhume.compiler.emit.extension.sources import ReaderClass, Source, Table
from exhume.compiler.emit.extension.unpacking import Unpacking


class Statements(Unpacking):
    """Python statements of one function, translated to Cython; the output is in `lines`.

    `found` is a compiled reader by module and name, `nodes` are Python statements.  `expr` is code and kind of an
    expression; `object`, `truth`, `place` and `word` are its code as an object, a condition, a position or a number.
    """

    def __init__(self, source: Source, every: dict[str, Source], table: Table) -> None:
        """Translate functions of the module `source`; `every` has all modules by id, `table` the shared constants."""
        super().__init__(source, every, table)
        self.readers: dict[tuple[str, str], str] = {}
        """The compiled readers, by module and name."""
        self.shallower = False
        """Whether the function counts how deep structures are nested: it calls `shallower` when it returns."""
        self.parameters: frozenset[str] = frozenset()
        """Names of the parameters of the structure that is read."""
        self.scanned: ReaderClass | None = None
        """The class of columns that the function fills; None if it reads one structure."""

    def body(self, nodes: list[ast.stmt]) -> None:
        """Emit the translation of consecutive statements."""
        waiting = list(nodes)
        while waiting:
            if (taken := self.text(waiting) or self._elements(waiting)) > 0:
                del waiting[:taken]
                continue
            if isinstance(waiting[-1], ast.Raise):  # the interpreted reader reports the problem
                self.lines.add("abandon()")
                return
            self.statement(waiting.pop(0))

    def _elements(self, nodes: list[ast.stmt]) -> int:
        """Emit one statement for the two that wrap a list as `Rows`; return how many were translated: 2 or 0.

        These are `rows = Rows(rows)` and `rows._where = (RowColumns, view, first, end, value)`.
        """
        match nodes:
            case [
                ast.Assign([ast.Name(name)], ast.Call(ast.Name(rows), [ast.Name(found)])),
                ast.Assign([ast.Attribute(ast.Name(same), "_where")], ast.Tuple([kind, view, start, end, *more])),
                *_,
            ] if name == found == same and self.source.shared.get(rows) == "Rows" and self.kinds[name] == OBJECT:
                rest = "".join(f"{self.object(one)}, " for one in more)
                places = f"{self.place(start)}, {self.place(end)}, ({rest})"
                into = self.variable(name)
                self.lines.add(f"{into} = elements_of({into}, {self.object(kind)}, {self.object(view)}, {places})")
                return 2
        return 0

    def _block(self, opening: str, nodes: list[ast.stmt]) -> None:
        """Emit a block with the translation of statements; `opening` is its first line, such as `else:`."""
        with self.lines.block(opening):
            self.body(nodes)

    def statement(self, node: ast.stmt) -> None:  # noqa: C901 - one case for each form
        """Emit the translation of one statement.  Raises `UncoveredError` for forms that exhume does not emit."""
        lines = self.lines
        match node:
            case ast.Assign(value=ast.Constant(value)) if value is ...:
                return  # `value._total = ...`, an instance that was not requested: its slot is empty already
            case ast.Assign(targets=targets, value=value):
                self._assign(targets, value)
            case ast.AugAssign(target=ast.Attribute(of, "held"), value=value) if self.kind_of(of) == RUN:
                lines.add(f"{self.expr(of)[0]}.held -= {self.word(value)}")
            case ast.AugAssign(target=target, op=op, value=value):
                self._assign([target], ast.BinOp(target, op, value))
            case ast.Expr(value=ast.Constant()):
                return
            case ast.Expr(value=ast.Call(func=ast.Name(add), args=[value])) if add in self.columns:
                self._push(add, value)
            case ast.Expr(value=ast.Call(func=ast.Attribute(ast.Name(id), "append"), args=[one])) if (
                self.kinds.get(id) == LIST
            ):
                lines.add(f"{self.variable(id)}.append({self.object(one)})")
            case ast.Expr(value=value):
                lines.add(self.object(value))
            case ast.If(body=[*_, ast.Expr(value=ast.Call(ast.Name(name) | ast.Attribute(attr=name))), _]) if (
                name.startswith("fill")
            ):
                return  # `fill_` reads rows at once; the loop after it reads all rows as fast in compiled code
            case ast.If(test=test, body=[*_, ast.Raise()], orelse=[]):
                lines.add(f"abandon_if({self.truth(test)})")
            case ast.If(test=test, body=body, orelse=other):
                self._block(f"if {self.truth(test)}:", body)
                if other:
                    self._block("else:", other)
            case ast.While(test=test, body=body):
                self._block(f"while {self.truth(test)}:", body)
            case ast.For(target=ast.Name(name), iter=ast.Call(ast.Name("range"), [many]), body=body):
                self._block(f"for {self.variable(name)} in range({self.place(many)}):", body)
            case ast.Break():
                lines.add("break")
            case ast.Pass():
                lines.add("pass")
            case ast.Return(value=value):
                self._return(value)
            case ast.Raise():
                lines.add("abandon()")
            case ast.Try(body=[ast.If(body=[ast.Return(ast.Attribute(ast.Name("self"), name))])]) if self.is_instance:
                kept = f"SLOT({self.variable('self')}, {self._slot(ast.Name('self'), name)})"
                with lines.block(f"if is_kept({kept}):"):
                    lines.add(f"return <object> {kept}")
            case ast.Try(body=body, orelse=other):  # errors are left to the interpreted reader
                self.body(body)
                self.body(other)
            case _:
                raise UncoveredError(type(node).__name__)

    # Values into variables.

    def _assign(self, targets: list[ast.expr], value: ast.expr) -> None:  # noqa: C901 - one case for each form
        """Emit statements for an assignment.

        It may bind the `append` of a column, call a reader (`value, at = read_entry(...)`), unpack numbers, or read one
        byte; all others are left to `_put`.  Raises `UncoveredError` for other tuples of targets.
        """
        match targets, value:
            case [ast.Name(add)], ast.Attribute(ast.Attribute(of, name), "append") if add in self.columns:
                self.lines.add(
                    f"{self.variable(add)} = column_of(getattr({self.object(of)}, {self.table.constant(name)}))"
                )
                return
            case [ast.Tuple([one, after])], ast.Call() if (found := self.reader_of(value)) is not None:
                self._read(found, value, one, after)
                return
            case [ast.Tuple(into)], ast.Call(func=unpack, args=[view, at]) if self.formats_of(unpack) is not None:
                self.unpack(into, unpack, view, at)
                return
            case [ast.Tuple(into)], ast.Tuple(items):
                if len(into) == len(items) == 2 and all(isinstance(one, ast.Name) for one in into):
                    for goal, item in zip(into, items, strict=True):
                        self._put(goal, item)
                    return
            # `x = view[i]`, a single byte.
            case [ast.Name()], ast.Subscript(of, index) if not isinstance(index, ast.Slice):
                if (every := self.view_number(of)) is not None:
                    place = self.place(index)
                    self.lines.add(f"require_bytes(n{every}, {place}, 1)")
                    self.store(targets[0], f"p{every}[{place}]", MachineWord(8))
                    return
        if any(isinstance(one, ast.Tuple) for one in targets):
            raise UncoveredError("several values")
        # `a = x.b = value`: a variable gets the value first, and the other targets get the variable.
        if len(targets) > 1:
            first = targets[-1] if not isinstance(targets[0], ast.Name) else targets[0]
            self._put(first, value)
            for one in targets:
                if one is not first:
                    self._put(one, first)
            return
        self._put(targets[0], value)

    def _put(self, target: ast.expr, value: ast.expr) -> None:
        """Emit the assignment of an expression, or of the columns that `scan_entry(...)` returns, to `target`."""
        if isinstance(value, ast.Call) and (found := self.reader_of(value)) is not None:
            if not found[1].startswith("scan_"):
                raise UncoveredError("a reader within an expression")
            self.store(target, f"{self.readers[found]}({self.arguments(found, value)}, NULL)", OBJECT)
            return
        if isinstance(target, ast.Name) and target.id in PLACES:
            self.store(target, self.place(value), MachineWord(PLACE))
            return
        name = value.id if isinstance(value, ast.Name) else ""
        # Objects that were not read for this target: parameters, or what an instance computes.
        passed = not name if self.is_instance else name in self.parameters
        self.store(target, *self.expr(value), put="slot_keep" if passed else "slot_put")

    # Readers.

    def reader_of(self, node: ast.expr) -> tuple[str, str] | None:
        """Return module and name of the compiled reader that an expression calls; None for other expressions."""
        match node:
            case ast.Call(func=ast.Name(name)) if (self.source.id, name) in self.readers:
                return self.source.id, name
            case ast.Call(func=ast.Attribute(ast.Name(of), name)) if of in self.source.modules:
                found = self.source.modules[of], name
                return found if found in self.readers else None
        return None

    def arguments(self, found: tuple[str, str], call: ast.Call) -> str:
        """Return the arguments of a call of the compiled reader `found`, as code.

        For `read_entry(view, at, end, io, value, run)`, they are `v0, p0, n0, v1, v2, v3, v4, None, False, v5, None`:
        the bytes, `AROUND` with defaults for what this reader does not take, and no parameters.
        """
        module, function = found
        names = [one.arg for one in self.every[module].functions[function].args.args]
        view, *rest = call.args
        number = self.view_number(view)
        if number is None:
            self.lines.add(f"other_view = {self.object(view)}", "get_bytes(other_view, &other_bytes, &other_size)")
            out = ["other_view", "other_bytes", "other_size"]
        else:
            out = [f"v{number}", f"p{number}", f"n{number}"]
        # What all readers take, in the order of `AROUND`; missing ones have defaults.
        given = dict(zip(names[1:], rest, strict=False)) | {str(one.arg): one.value for one in call.keywords}
        around = {name: given.pop(name) for name in AROUND if name in given}
        for name in AROUND:
            if name == "parent" and "count" in given:  # readers of columns take it in the place of the parent
                out.append(self.object(given.pop("count")))
            elif name not in around:
                out.append("False" if name == "big" else "None")
            elif name in ("at", "end"):
                out.append(self.place(around[name]))
            elif name in ("io", "run"):
                text, kind = self.expr(around[name])
                wanted = {"io": "a_stream", "run": "a_run"}[name]
                out.append(text if kind in (STREAM, RUN) or text == "None" else f"{wanted}({text})")
            else:
                out.append(self.object(around[name]))
        # Then a tuple of what only this reader takes: the values of its parameters.
        listed = [self.object(given[name]) for name in names[1:] if name in given]
        out.append(f"({', '.join(listed)},)" if listed else "None")
        return ", ".join(out)

    def _read(self, found: tuple[str, str], call: ast.expr, one: ast.expr, after: ast.expr) -> None:
        """Emit the call of a compiled reader; its value becomes `one`, and the offset after it `after`.

        `v5 = f2(..., &reached)` and `v1 = reached`.
        """
        assert isinstance(call, ast.Call)
        text = f"{self.readers[found]}({self.arguments(found, call)}, &reached)"
        self.store(one, text, self.result(found))
        if not (isinstance(after, ast.Name) and after.id == "_"):
            self.store(after, "reached", MachineWord(PLACE))

    def result(self, found: tuple[str, str]) -> Kind:
        """Return the kind of a compiled reader's result."""
        module, function = found
        makers = self.every[module].makers
        for one in ast.walk(self.every[module].functions[function]):
            match one:
                case ast.Assign([ast.Name("value")], ast.Call(ast.Name(made))) if made in makers:
                    return ReaderObject(module, makers[made])
        return OBJECT

    def _push(self, add: str, value: ast.expr) -> None:
        """Emit the statement that appends a value to a column, such as `abandon_if(push4(&v3, v4, least, most))`.

        `add` is the column's `append` in Python.  `push8` takes a word, `push_object` an object, and whether numbers
        have a sign.  Raises `UncoveredError` for a number of a kind that the array of the column does not take.
        """
        code, into = self.columns[add], self.variable(add)
        text, kind = self.expr(value)
        if code in "fd":
            if kind not in (FLOAT, OBJECT):
                raise UncoveredError("a number in a column of floats")
            self.lines.add(f"abandon_if(push_{'float' if code == 'f' else 'double'}(&{into}, {text}))")
        elif WIDTHS[code] == 8:
            if isinstance(kind, MachineWord) and (code == "q" or not isinstance(value, ast.Constant)):
                if code == "Q" and kind.bits > 62:  # a stored number of 64 bits, with a sign
                    raise UncoveredError("a number with a sign in a column of those without")
                self.lines.add(f"abandon_if(push8(&{into}, <uint64_t> ({text})))")
            elif kind == UNSIGNED and code == "Q":
                self.lines.add(f"abandon_if(push8(&{into}, {text}))")
            else:
                self.lines.add(f"abandon_if(push_object(&{into}, {boxed(text, kind)}, {code == 'q'}))")
        else:
            bits = 8 * WIDTHS[code]
            least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if code.islower() else (0, (1 << bits) - 1)
            number = as_word(text, kind)
            given = f"{number}, <int64_t> ({least}), <int64_t> {most}"
            self.lines.add(f"abandon_if(push{WIDTHS[code]}(&{into}, {given}))")

    def _return(self, value: ast.expr | None) -> None:
        """Emit statements that return from a reader (which puts into `after[0]` where it ended) or another function."""
        if self.shallower:
            self.lines.add("shallower()")
        match value:
            case ast.Tuple([one, at]) if "at" in self.kinds and self.scanned is None:
                self.lines.add(f"reached = {self.place(at)}", "after[0] = reached", f"return {self.object(one)}")
            case ast.Name("columns") if self.scanned is not None:
                for name in self.columns:
                    self.lines.add(f"cut_column(&{self.variable(name)})")
                self.lines.add(f"return {self.variable('columns')}")
            case None:
                self.lines.add("return None")
            case _:
                self.lines.add(f"return {self.object(value)}")
