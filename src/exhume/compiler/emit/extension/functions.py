"""Readers and instances as Cython functions: the kind of each variable, and the function that Python calls.

Variables of Cython have C types.  The kind of a variable follows from the values that the Python function assigns to
it: a machine word, a float, an object of a known class, or any object.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from exhume.compiler.emit.extension.kinds import (
    AROUND,
    BITS,
    COLUMN,
    MOST,
    OBJECT,
    PLACE,
    PLACES,
    RUN,
    STREAM,
    Kind,
    MachineWord,
    ReaderObject,
    UncoveredError,
    UnknownError,
    declared,
    joined,
    start,
)
from exhume.compiler.emit.extension.sources import ReaderClass, Source, Table
from exhume.compiler.emit.extension.statements import Statements
from exhume.compiler.emit.extension.unpacking import encoding_of
from exhume.compiler.emit.text import Lines

FIXED: dict[str, Kind] = {
    **dict.fromkeys(PLACES, MachineWord(PLACE)),
    "bit": MachineWord(BITS),
    "io": STREAM,
    "inner": STREAM,
    "run": RUN,
    "view": OBJECT,
}
"""Kinds of the variables that mean the same in all readers."""

ROUNDS = 12
"""Most passes over a function to find the kinds of its variables; a variable whose kind still changes is an object."""


class Function(Statements):
    """One function of the interpreted readers, translated to Cython.

    `lines` is the output, `arguments_` has the names of its arguments; `scanned` is the class of columns that it fills,
    None if it reads one structure; `is_instance`: it is a property; `expr` is code and kind of an expression.
    """

    def __init__(
        self,
        source: Source,
        every: dict[str, Source],
        table: Table,
        node: ast.FunctionDef,
        owner: ReaderClass | None = None,
    ) -> None:
        """Compile `node` of the module `source`; `every` has all modules by id, `table` the shared constants.

        `owner` is its class if it is a property, which reads an instance, else None.
        """
        super().__init__(source, every, table)
        self.node = node
        self.arguments_: list[str] = [one.arg for one in node.args.args]
        self.owner_class = owner
        self.is_instance: bool = owner is not None
        if owner is None:
            self.parameters: frozenset[str] = frozenset(self.arguments_) - {*AROUND, "view", "count"}
        if node.name.startswith("scan_") and owner is None:
            self._find_columns()

    def _find_columns(self) -> None:
        """Find the class of columns that a `scan_` function fills, and which variables append to which column.

        These are assigned in its code as `columns = EntryColumns(...)` and `add_key = columns.key.append`.  Raises
        `UncoveredError` (the function stays interpreted) without the first.
        """
        for one in ast.walk(self.node):
            match one:
                case ast.Assign([ast.Name("columns")], ast.Call(ast.Name(name))):
                    self.scanned: ReaderClass | None = self.source.classes[name]
        if self.scanned is None:
            raise UncoveredError("no columns")
        codes = {"at": "q", **self.scanned.codes}  # array code by column; `at` has the start of each row
        for one in ast.walk(self.node):
            match one:
                case ast.Assign([ast.Name(add)], ast.Attribute(ast.Attribute(ast.Name("columns"), column), "append")):
                    self.columns[add] = codes[column]

    # What the variables are.

    def infer(self) -> None:
        """Determine the kind of each variable, by repeated passes over the assignments until no kind changes.

        Raises `UncoveredError`.
        """
        self._begin_kinds()
        settled = frozenset(name for name, kind in self.kinds.items() if kind is not None)
        # The passes translate expressions to get their kinds; only a table of their own gets the constants of these.
        table, self.table = self.table, Table(words=self.table.words)
        before = None
        for number in range(ROUNDS):
            if before == self.kinds:
                break
            before = dict(self.kinds)
            for name, kind in self._given():
                if name in settled:
                    continue
                known = self.kinds[name]
                still_changes = number > ROUNDS // 2 and kind != known
                self.kinds[name] = OBJECT if still_changes else joined(known, kind)
        self.table: Table = table
        self.numbers: dict[str, int] = {}  # those of the passes are dropped: variables are numbered as they are written
        for name, found in self.kinds.items():
            # A stored number of 64 bits with a sign has `MOST + 1` bits, and fits a word as long as it is only copied.
            if found is None or (isinstance(found, MachineWord) and found.bits > MOST + 1):
                self.kinds[name] = OBJECT
        self.unused: frozenset[str] = frozenset(self._unused()) if self.scanned is not None else frozenset()

    def _begin_kinds(self) -> None:
        """Set the kinds that never change: of arguments, columns, errors and `FIXED` names; others are None."""
        self.kinds: dict[str, Kind | None] = {name: FIXED.get(name) for name in [*self.arguments_, *_bound(self.node)]}
        for name in self.arguments_:
            self.kinds[name] = FIXED.get(name, OBJECT)
        for name in self.columns:
            self.kinds[name] = COLUMN
        if self.owner_class is not None:
            self.kinds["self"] = ReaderObject(self.source.id, self.owner_class.name)
        for one in ast.walk(self.node):
            if isinstance(one, ast.ExceptHandler) and one.name:
                self.kinds[one.name] = OBJECT

    def _given(self) -> Iterator[tuple[str, Kind]]:
        """Yield each variable that a statement assigns with the kind of its value, unless that is unknown yet."""
        for node in ast.walk(self.node):
            match node:
                case ast.Assign(targets=targets, value=value):
                    yield from self._assigned(targets, value)
                case ast.AugAssign(target=ast.Name(name), op=op, value=value):
                    yield from self._assigned([ast.Name(name)], ast.BinOp(ast.Name(name), op, value))
                case ast.For(target=ast.Name(name), iter=ast.Call(ast.Name("range"))):
                    yield name, MachineWord(PLACE)

    def _assigned(self, targets: list[ast.expr], value: ast.expr) -> Iterator[tuple[str, Kind]]:
        """Yield the variables that one assignment sets, with their kinds; none while the kind of the value is not
        known.
        """
        names = [one.id for one in targets if isinstance(one, ast.Name)]
        try:
            match targets, value:
                # `a, b = unpack(view, at)`, a format of `struct`.
                case [ast.Tuple(into)], _ if (kinds := self.unpacked(value)) is not None:
                    yield from (
                        (one.id, kind) for one, kind in zip(into, kinds, strict=True) if isinstance(one, ast.Name)
                    )
                # `value, at = read_entry(...)`.
                case [ast.Tuple([one, after])], ast.Call() if (found := self.reader_of(value)) is not None:
                    if isinstance(one, ast.Name):
                        yield one.id, self.result(found)
                    if isinstance(after, ast.Name):
                        yield after.id, MachineWord(PLACE)
                case [ast.Tuple(into)], ast.Tuple(items):
                    for target, item in zip(into, items, strict=True):
                        if isinstance(target, ast.Name):
                            yield target.id, self.kind_of(item)
                # `x = view[i]`, a single byte.
                case _, ast.Subscript(of, index) if not isinstance(index, ast.Slice) and self.view_number(of):
                    yield from ((name, MachineWord(8)) for name in names)
                case _, _:
                    kind = self.kind_of(value) if names else OBJECT
                    yield from ((name, kind) for name in names)
        except UnknownError:
            return

    def _unused(self) -> Iterator[str]:
        """Yield the variables whose values are only checked, so that compiled code need not make the objects.

        These are strings that are only checked to be valid, and perhaps counted, and constant bytes that are only
        compared.
        """
        for node in ast.walk(self.node):
            match node:
                case ast.Try(body=[ast.Assign([ast.Name(name)], value)]) as decode if encoding_of(value) is not None:
                    length = ast.unparse(ast.Call(ast.Name("len"), [ast.Name(name)], []))
                    is_counted = any(
                        isinstance(one, ast.AugAssign) and ast.unparse(one.value) == length
                        for one in ast.walk(self.node)
                    )
                    # Uses besides decoding it: the bytes assigned to it, and perhaps their length.
                    if _uses(self.node, name) == _uses(decode, name) + 1 + is_counted:
                        yield name
                case ast.If(ast.Compare(ast.Name(name), [ast.NotEq()], [ast.Constant(bytes())]), [ast.Raise()]):
                    # The uses: assigned, compared, and in the message of the error.
                    if _uses(self.node, name) == 3:
                        yield name

    # The functions.

    def compiled(self, name: str, guarded: bool) -> list[str]:
        """Return the Cython function `name`; one that is `guarded` examines the stack.

        All functions have these variables: `reached`, where the reader of a nested structure ended; `other_view`,
        `other_bytes` and `other_size`, an object other than `view` that a reader is called with, the pointer to its
        bytes and their number; `low` and `high`, start and end of a string.
        """
        self.infer()
        given, parameters = self._arguments()
        self.lines: Lines = Lines()
        if guarded:  # the emitted `deeper` and `shallower` count how deep structures are nested, see `depth`
            self.lines.add("deeper()")
            self.shallower = True
        self.body(self.node.body)
        body = self.lines.lines
        # Declarations of variables, which Cython needs before the body; they are known only after it.
        head = Lines()
        head.add(
            "cdef Py_ssize_t reached = 0, other_size = 0, low = 0, high = 0",
            "cdef const uint8_t *other_bytes = NULL",
            "cdef object other_view",
        )
        # The variable of the view is `v<number>`; `p<number>` and `n<number>` are the pointer to its bytes and their
        # number.  They are arguments of a reader, but local variables of a property, which takes them from a stream.
        if "view" in self.kinds and "view" not in self.arguments_:
            number = self.variable("view")[1:]
            head.add(f"cdef const uint8_t *p{number} = NULL", f"cdef Py_ssize_t n{number} = 0")
        for one, kind in self.kinds.items():
            if one not in self.arguments_ and kind is not None:
                # Cython sets objects and lists to None by itself; for its own classes, the value is written.
                first = f" = {start(kind)}" if kind in (STREAM, RUN, COLUMN) or start(kind) != "None" else ""
                head.add(f"cdef {declared(kind)} {self.variable(one)}{first}")
        return [f"cdef object {name}({', '.join(given)}):", *head.lines, *parameters, *body]

    def _arguments(self) -> tuple[list[str], list[str]]:
        """Return the arguments of the compiled function, and statements that take the parameters of a type out of
        `parameters`.

        All readers have the same C arguments, so that any can be called through one pointer type; unused ones are
        `a3`, ...
        """
        if self.owner_class is not None:
            return [f"object {self.variable('self')}"], []
        number = self.variable("view")[1:]
        given = [f"object v{number}", f"const uint8_t *p{number}", f"Py_ssize_t n{number}"]
        kinds = {"at": "int64_t", "end": "int64_t", "io": "Stream", "run": "Run"}
        # Fixed arguments; the count of a scanning function takes the place of the parent, which it does not need.
        for one in AROUND:
            name = "count" if one == "parent" and self.scanned is not None else one
            known = name in self.arguments_
            given.append(f"{kinds.get(one, 'object')} {self.variable(name) if known else f'a{len(given)}'}")
        given += ["tuple parameters", "Py_ssize_t *after"]
        lines = Lines()
        # The parameters of the type come last, in one tuple; one of them may have the name `count`.
        others = {*AROUND, "view", *(("count",) if self.scanned is not None else ())}
        parameters = [one for one in self.arguments_ if one not in others]
        for number_of_parameter, one in enumerate(parameters):
            lines.add(f"cdef object {self.variable(one)} = parameters[{number_of_parameter}]")
        return given, lines.lines

    def kept(self) -> tuple[str | None, str | None, str | None]:
        """Return the slots for the value of an instance, the stream and the budgets: `("_total", "_io", "_run")`.

        None stands for those that the class lacks.
        """
        assert self.owner_class is not None
        slots, found = self.owner_class.slots, None
        for one in self.node.body:
            match one:
                case ast.Try(body=[ast.If(body=[ast.Return(ast.Attribute(ast.Name("self"), kept))])]) if kept in slots:
                    found = kept
        return found, "_io" if "_io" in slots else None, "_run" if "_run" in slots else None


def _uses(node: ast.AST, variable: str) -> int:
    """Return how often a variable is mentioned in a part of a function."""
    return sum(isinstance(one, ast.Name) and one.id == variable for one in ast.walk(node))


def _bound(node: ast.FunctionDef) -> list[str]:
    """Return every variable that a function assigns, once, by the forms of assignment that emitted readers have."""
    found: dict[str, None] = {}
    for one in ast.walk(node):
        match one:
            case ast.Assign(targets=targets):
                for target in targets:
                    for name in ast.walk(target) if isinstance(target, ast.Tuple) else (target,):
                        if isinstance(name, ast.Name):
                            found[name.id] = None
            case ast.AugAssign(target=ast.Name(name)) | ast.For(target=ast.Name(name)):
                found[name] = None
            case ast.ExceptHandler(name=str(name)):
                found[name] = None
    return list(found)
