"""Expressions of audited readers as Cython: in machine numbers where they fit, as Python objects elsewhere.

Each expression becomes code and a kind (see `kinds`): `size + 1` becomes `(v3 + 1)`, a machine word, if `size` is one.
The runtime functions in the code are part of every extension module (`support`): `sliced`, `find_byte` and `bits_of`
work on the bytes of a view without objects, `slot_get` and `field_of` get fields of objects.
"""

from __future__ import annotations

import ast
from typing import Any

from exhume.compiler.emit.extension.kinds import (
    LIST,
    MOST,
    OBJECT,
    OPERATORS,
    ORDERS,
    PLACE,
    RUN,
    STREAM,
    TRUTH,
    UNSIGNED,
    Code,
    Kind,
    MachineWord,
    ReaderObject,
    UncoveredError,
    UnknownError,
    as_place,
    as_word,
    bits_after,
    boxed,
    can_be_words,
)
from exhume.compiler.emit.extension.sources import Source, Table

# Names of Python that readers use: functions and classes, and errors.
BUILTINS = frozenset(
    ("bool", "bytes", "float", "int", "isinstance", "len", "list", "max", "memoryview", "min", "range", "str", "tuple")
)
ERRORS = frozenset(("AssertionError", "AttributeError", "UnicodeDecodeError"))
PUBLIC = {"at", "base", "end", "left"}
"""Attributes of a stream that are positions."""
BUDGETS = {"held", "most", "size", "steps"}
"""Attributes of a `Run`, the budgets of a reading."""
METHODS = frozenset((
    "append", "endless", "find", "from_bytes", "hold", "is_eof", "over", "pos", "rstrip", "size", "spent",
    "with_traceback", "within",
))  # fmt: skip
"""Methods that have the same name in Cython: of the classes that readers share, and of Python."""
SMALL = 1 << 31
"""Integers below this are written as they are; larger ones with a type, as C would take them for `int`."""
LONGEST = 7
"""Most bytes of a bit field that is read into a machine word."""
ENCODINGS = {"UTF-8": 1, "UTF8": 1, "ASCII": 2, "US-ASCII": 2, "ISO-8859-1": 3, "LATIN-1": 3}
"""Encodings that compiled code decodes itself, with their numbers there; all others are 0."""


class Expressions:
    """Python expressions of one function, translated to Cython."""

    def __init__(self, source: Source, every: dict[str, Source], table: Table) -> None:
        """Translate a function of `source`; `every` has all modules by id, `table` the objects that it uses."""
        self.source, self.every = source, every
        self.table = table
        self.kinds: dict[str, Kind | None] = {}
        """Kinds of the variables; None: not known yet."""
        self.numbers: dict[str, int] = {}  # of the variables in the Cython code
        self.columns: dict[str, str] = {}
        """Type codes of columns, by the variable that contains the `append` of the column."""
        self.is_instance = False
        """Whether the function reads an instance: the fields of its object are there already."""

    def variable(self, name: str) -> str:
        """Return the name of a variable in Cython: `v` and its number."""
        return f"v{self.numbers.setdefault(name, len(self.numbers))}"

    # The meaning of names other than variables.

    def _global(self, name: str) -> Code:
        """Return code and kind of a name other than a variable: an import, enum, class, function, or name of Python.

        Raises `UncoveredError` for any other name.
        """
        if name in self.source.shared:
            return self.table.shared(self.source.shared[name]), OBJECT
        if name in self.source.given:
            return self.table.given(name), OBJECT
        if name in self.source.enums:
            return self.table.of(self.source.id, name), OBJECT
        if name in self.source.classes or name in self.source.functions or name in self.source.formats:
            return self.table.of(self.source.id, name), OBJECT
        if name in BUILTINS or name in ERRORS:
            return name, OBJECT
        raise UncoveredError(name)

    def expr(self, node: ast.expr) -> Code:  # noqa: C901 - one case for each form
        """Return code and kind of an expression; the code may be used in any place.

        Raises `UncoveredError` for forms without a compiled form, and `UnknownError` while a kind is not known yet.
        """
        match node:
            case ast.Constant(value):
                return self._constant(value)
            case ast.Name(id):
                if id not in self.kinds:
                    return self._global(id)
                if (kind := self.kinds[id]) is None:
                    raise UnknownError(id)
                return self.variable(id), kind
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript(value, index):
                return self._subscript(value, index)
            case ast.Call():
                return self._call(node)
            case ast.BinOp(left, op, right):
                return self._binary(left, op, right)
            case ast.UnaryOp(ast.Not(), of):
                return f"(not {self.truth(of)})", TRUTH
            # `~` of a word may have one bit more: those that then exceed `MOST`, and all other values, become objects.
            case ast.UnaryOp(op, of):
                text, kind = self.expr(of)
                if isinstance(kind, MachineWord) and kind.bits < MOST:
                    return f"({OPERATORS[type(op)]}{text})", MachineWord(kind.bits + 1)
                return f"({OPERATORS[type(op)]}{boxed(text, kind)})", OBJECT
            case ast.BoolOp(op, values):
                return self._either(" and " if isinstance(op, ast.And) else " or ", values)
            case ast.Compare(left, ops, others):
                return self._compare(left, ops, others), TRUTH
            case ast.IfExp(orelse=ast.Call(func=ast.Name("ended")) as call):
                return self.expr(call)  # the other branch only saves a call in Python
            case ast.IfExp(test, body, other):
                (one, two), kind = self._unified([body, other])
                return f"({one} if {self.truth(test)} else {two})", kind
            case ast.Tuple(items):
                return self._tuple(node, items)
            case ast.List(items):
                return f"[{', '.join(self.object(one) for one in items)}]", LIST
            case ast.JoinedStr(parts):
                texts = [self.object(one.value if isinstance(one, ast.FormattedValue) else one) for one in parts]
                return f"''.join([{', '.join(f'str({one})' for one in texts)}])", OBJECT
        raise UncoveredError(type(node).__name__)

    def kind_of(self, node: ast.expr) -> Kind:
        """Return the kind of an expression.  Raises as `expr` does."""
        return self.expr(node)[1]

    def object(self, node: ast.expr) -> str:
        """Return the code of an expression as a Python object."""
        return boxed(*self.expr(node))

    def truth(self, node: ast.expr) -> str:
        """Return the code of an expression as a condition."""
        if isinstance(node, ast.BoolOp):
            word = " and " if isinstance(node.op, ast.And) else " or "
            return f"({word.join(self.truth(one) for one in node.values)})"
        text, kind = self.expr(node)
        if isinstance(kind, MachineWord):
            return f"({text} != 0)"
        return text if kind in (TRUTH, OBJECT) else boxed(text, kind)

    def place(self, node: ast.expr) -> str:
        """Return the code of an expression as a position in the data, or a size."""
        match node:
            case ast.BinOp(left, ast.Add(), right) if OBJECT in (kinds := [self.kind_of(one) for one in (left, right)]):
                if any(isinstance(kind, MachineWord) and kind.bits <= PLACE for kind in kinds):
                    return f"checked_place({self.place(left)} + {self.place(right)})"
        return as_place(*self.expr(node))

    def word(self, node: ast.expr) -> str:
        """Return the code of a number as a machine word; numbers outside of its range become the nearest word."""
        return as_word(*self.expr(node))

    def _constant(self, value: Any) -> Code:
        """Return code and kind of a constant: integers of a word as they are, other values as shared objects."""
        if value is None:
            return "None", OBJECT
        if isinstance(value, bool):
            return str(value), TRUTH
        if isinstance(value, int) and abs(value) < SMALL:
            return (str(value) if value >= 0 else f"({value})"), MachineWord(value.bit_length())
        if isinstance(value, int) and value.bit_length() < MOST:
            return f"(<int64_t> {value})", MachineWord(value.bit_length())
        return self.table.constant(value), OBJECT

    def _tuple(self, node: ast.expr, items: list[ast.expr]) -> Code:
        """Return code and kind of a tuple; one of constants is a shared object."""
        try:
            return self.table.constant(ast.literal_eval(node)), OBJECT
        except ValueError:
            listed = "".join(f"{self.object(one)}, " for one in items)
            return f"({listed})", OBJECT

    def owner(self, node: ast.expr) -> ReaderObject | None:
        """Return the class of an object; None if it is not known."""
        match node:
            case ast.Name(id) if isinstance(kind := self.kinds.get(id), ReaderObject):
                return kind
        return None

    def _attribute(self, node: ast.Attribute) -> Code:
        """Return code and kind of `x.name`: a member of a C struct for streams and budgets, a slot for known
        structures.

        `io.at` becomes `v0.at`, and `entry.size` `slot_get(v1, ...)`, or `field_of(v1, ...)` if its class is not
        known.
        """
        name = node.attr
        if isinstance(node.value, ast.Name) and node.value.id in self.source.modules:
            return self.table.of(self.source.modules[node.value.id], name), OBJECT
        text, kind = self.expr(node.value)
        if kind == STREAM and name in PUBLIC:  # a number in a C struct
            return f"{text}.{name}", MachineWord(PLACE)
        if kind == STREAM and name == "view":
            return f"{text}.view", OBJECT
        if kind == RUN and name in BUDGETS:
            return f"{text}.{name}", MachineWord(PLACE)
        if isinstance(kind, ReaderObject) and name in self.every[kind.module].classes[kind.name].slots:
            bits = self.table.words.get((kind.module, kind.name, name)) if self.is_instance else None
            if bits is not None:
                return f"slot_word({text}, {self.table.slot(kind, name)}, {bits})", MachineWord(bits)
            found = f"slot_get({text}, {self.table.slot(kind, name)}, {self.table.constant(name)})"
            return (f"a_stream({found})", STREAM) if name == "_io" else (found, OBJECT)
        if kind == OBJECT or isinstance(kind, ReaderObject):  # the class is known only when the code runs
            return f"field_of({text}, {self.table.constant(name)}, {self.table.site()})", OBJECT
        return f"getattr({boxed(text, kind)}, {self.table.constant(name)})", OBJECT

    def view_number(self, node: ast.expr) -> str | None:
        """Return the number of the variable with all the bytes, if an expression is this variable; else None."""
        return self.variable("view")[1:] if isinstance(node, ast.Name) and node.id == "view" in self.kinds else None

    def _subscript(self, value: ast.expr, index: ast.expr) -> Code:
        """Return code and kind of `value[index]`; a slice of the data is taken by `sliced`, which makes no slice
        object.

        Raises `UncoveredError` for a single byte of the data, which only an assignment may read.
        """
        view = self.view_number(value)
        if isinstance(index, ast.Slice):
            if view is not None and index.lower is not None and index.upper is not None and index.step is None:
                low, high = self.place(index.lower), self.place(index.upper)
                return f"sliced(v{view}, p{view}, n{view}, {low}, {high})", OBJECT
            parts = [self.object(one) if one is not None else "" for one in (index.lower, index.upper)]
            step = f":{self.object(index.step)}" if index.step is not None else ""
            return f"{self.object(value)}[{parts[0]}:{parts[1]}{step}]", OBJECT
        if view is not None:
            raise UncoveredError("a byte within an expression")
        number, kind = self.expr(index)
        if isinstance(kind, MachineWord):
            return f"item_of({self.object(value)}, {number})", OBJECT
        return f"{self.object(value)}[{boxed(number, kind)}]", OBJECT

    def _call(self, node: ast.Call) -> Code:
        """Return code and kind of a call: of a C function if readers often make it, else of the Python object."""
        for made in (self._runtime_call(node), self._machine_call(node)):
            if made is not None:
                return made
        listed = [self.object(one) for one in node.args]
        if node.keywords:  # as a dictionary, since a name may be a keyword of Cython
            named = [f"{self.table.constant(one.arg)}: {self.object(one.value)}" for one in node.keywords]
            listed.append(f"**{{{', '.join(named)}}}")
        return f"{self.object(node.func)}({', '.join(listed)})", OBJECT

    def _runtime_call(self, node: ast.Call) -> Code | None:
        """Return code and kind of a call of a reader, of an enum, or of a function that readers share; None for any
        other.

        `make_entry()` becomes `slot_make(...)`, and `find(run, view, b"|", at, end)` `find_byte(v0, p1, n1, 124, v2,
        v3)`. For the variable `v1` of a view, `p1` points to its bytes and `n1` is their number.
        """
        match node:
            # Functions of the generated modules, then those of the runtime, by their names in Cython.
            case ast.Call(func=ast.Name(made)) if made in self.source.makers:
                name = self.source.makers[made]
                return f"slot_make({self.table.maker(self.source.id, name)})", ReaderObject(self.source.id, name)
            case ast.Call(func=ast.Name(name), args=[one, _]) if name in self.source.enums:
                return self._member(self.source.id, name, one)
            case ast.Call(func=ast.Attribute(ast.Name(of), name), args=[one, _]) if (
                of in self.source.modules and name in self.every[self.source.modules[of]].enums
            ):
                return self._member(self.source.modules[of], name, one)
            case ast.Call(func=ast.Name(name), args=[view, at, end]) if self.source.shared.get(name) == "stream_of":
                return f"stream_of({self.object(view)}, {self.place(at)}, {self.place(end)})", STREAM
            case ast.Call(func=ast.Name("word"), args=[of, least, most]) if self.source.shared.get("word") == "word":
                text, kind = self.expr(of)
                widest = max(self.kind_of(one).bits for one in (least, most))  # type: ignore[union-attr]
                return f"word_in({boxed(text, kind)}, {self.word(least)}, {self.word(most)})", MachineWord(widest)
            case ast.Call(func=ast.Name(name), args=[one, other]) if self.source.shared.get(name) == "multiplied":
                return f"product_of({self.object(node.func)}, {self.object(one)}, {self.object(other)})", OBJECT
            case ast.Call(func=ast.Name(name), args=[run, one, other]) if (
                self.source.shared.get(name) == "joined" and self.kind_of(run) == RUN
            ):
                given = ", ".join(map(self.object, (one, other)))
                return f"sum_of({self.object(node.func)}, {self.expr(run)[0]}, {given})", OBJECT
            case ast.Call(func=ast.Name("Run"), args=[size]):
                return f"run_of({self.place(size)})", RUN
            case ast.Call(func=ast.Name("find"), args=[run, view, ast.Constant(bytes(mark)), at, end]) if (
                len(mark) == 1 and (number := self.view_number(view)) is not None and self.kind_of(run) == RUN
            ):
                places = f"{self.place(at)}, {self.place(end)}"
                return f"find_byte({self.expr(run)[0]}, p{number}, n{number}, {mark[0]}, {places})", MachineWord(PLACE)
            case ast.Call(func=ast.Name("ended"), args=[run, data, ast.Constant(bytes(mark))], keywords=more) if (
                len(mark) == 1 and self.kind_of(run) == RUN
            ):
                return f"ended({self.expr(run)[0]}, {self.object(data)}, {mark[0]}, {bool(more)})", OBJECT
        return None

    def _machine_call(self, node: ast.Call) -> Code | None:
        """Return code and kind of a call of a built-in function or a method with a C equivalent; None for any other."""
        match node:
            # len(columns.size): also of a column that is being filled, whose `append` is in the variable `add_size`.
            case ast.Call(func=ast.Name("len"), args=[one]):
                if isinstance(one, ast.Attribute) and f"add_{one.attr}" in self.columns:
                    return f"(<int64_t> {self.variable(f'add_{one.attr}')}.many)", MachineWord(PLACE)
                return f"(<int64_t> len({self.object(one)}))", MachineWord(PLACE)
            case ast.Call(func=ast.Name("max" | "min" as name), args=[one, other]):
                (first, second), kind = self._unified([one, other])
                if isinstance(kind, MachineWord):
                    return f"({first} if {first} {'>=' if name == 'max' else '<='} {second} else {second})", kind
            # int.from_bytes(view[at : at + 3], "big")
            case ast.Call(
                func=ast.Attribute(ast.Name("int"), "from_bytes"),
                args=[ast.Subscript(of, ast.Slice(low, ast.BinOp(_, ast.Add(), ast.Constant(int(size))))), order],
            ) if low is not None and size <= LONGEST and (number := self.view_number(of)) is not None:
                big = isinstance(order, ast.Constant) and order.value == "big"
                return f"bits_of(p{number}, n{number}, {self.place(low)}, {size}, {big})", MachineWord(8 * size)
            case ast.Call(func=ast.Attribute(of, name), args=args) if name in METHODS and not node.keywords:
                text, kind = self.expr(of)
                given = ", ".join(self.object(one) for one in args)
                return f"{boxed(text, kind) if kind not in (STREAM, RUN) else text}.{name}({given})", OBJECT
        return None

    def _member(self, module: str, name: str, number: ast.expr) -> Code:
        """Return code and kind of the member of an enum with a number."""
        map = self.table.enum(module, self.every[module].enums[name])
        return f"member_of({map}, {self.object(number)})", OBJECT

    def _binary(self, left: ast.expr, op: ast.operator, right: ast.expr) -> Code:
        """Return code and kind of `left op right`: in machine words if the result fits, for objects otherwise."""
        (one, here), (two, there) = self.expr(left), self.expr(right)
        sign = OPERATORS[type(op)]
        if isinstance(here, MachineWord) and isinstance(there, MachineWord):
            bits = bits_after(op, here, there, right)
            if bits is not None and bits <= MOST:
                # A constant alone would be computed as a C `int`.
                if isinstance(left, ast.Constant):
                    one = f"<int64_t> {one}"
                return f"({one} {sign} {two})", MachineWord(bits)
        match right:
            case ast.Constant(int(value)) if here == UNSIGNED and value >= 0 and isinstance(there, MachineWord):
                if isinstance(op, ast.BitAnd):
                    return f"(<int64_t> ({one} & <uint64_t> {two}))", there
                if isinstance(op, ast.RShift) and 2 <= value < 64:  # at most 62 bits (`MOST`) are left
                    return f"(<int64_t> ({one} >> {two}))", MachineWord(64 - value)
        return f"({boxed(one, here)} {sign} {boxed(two, there)})", OBJECT

    def _unified(self, nodes: list[ast.expr]) -> tuple[list[str], Kind]:
        """Return the code of several expressions converted to one common kind, and that kind."""
        found = [self.expr(one) for one in nodes]
        kinds = [kind for _, kind in found]
        if all(isinstance(one, MachineWord) for one in kinds):
            return [f"(<int64_t> {text})" for text, _ in found], MachineWord(
                max(one.bits for one in kinds if isinstance(one, MachineWord))
            )
        if all(one == TRUTH for one in kinds):
            return [text for text, _ in found], TRUTH
        return [boxed(text, kind) for text, kind in found], OBJECT

    def _either(self, word: str, values: list[ast.expr]) -> Code:
        """Return code and kind of `and` or `or` between values, which is one of them."""
        texts, kind = self._unified(values)
        return f"({word.join(texts)})", kind

    def _compare(self, left: ast.expr, ops: list[ast.cmpop], others: list[ast.expr]) -> str:
        """Return the code of a comparison, which may be a chain (`a <= b < c`).

        Raises `UncoveredError` for operators that do not order values.
        """
        match ops:
            case [ast.Is() | ast.IsNot() as op]:
                return self._identity(left, op, others[0])
            case [ast.In() | ast.NotIn() as op]:
                return self._member_of(left, op, others[0])
        if not all(isinstance(one, ORDERS) for one in ops):
            raise UncoveredError("a comparison")
        nodes = [left, *others]
        kinds = [self.kind_of(one) for one in nodes]
        match ops, others:
            # An object and a constant integer, whose kind is a `MachineWord`: `equals` takes any object.
            case [ast.Eq() | ast.NotEq() as equality], [ast.Constant()] if kinds[0] == OBJECT and not isinstance(
                kinds[1], str
            ):
                negated = "not " if isinstance(equality, ast.NotEq) else ""
                return f"({negated}equals({self.object(left)}, {self.word(others[0])}))"
        as_words = can_be_words(kinds) and (OBJECT not in kinds or _are_integers(nodes, kinds, ops))
        texts = [self.word(one) if as_words else self.object(one) for one in nodes]
        out = texts[0]
        for order, text in zip(ops, texts[1:], strict=True):
            out += f" {OPERATORS[type(order)]} {text}"
        return f"({out})"

    def _identity(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> str:
        """Return the code of `left is right`, or `is not`; a number or truth value is never one of the objects."""
        text, kind = self.expr(left)
        if kind not in (OBJECT, STREAM, RUN, LIST) and not isinstance(kind, ReaderObject):
            return str(isinstance(op, ast.IsNot))
        return f"({text} {OPERATORS[type(op)]} {self.object(right)})"

    def _member_of(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> str:
        """Return the code of `left in right`, or `not in`: comparisons for a number in a tuple or a `range`."""
        text, kind = self.expr(left)
        negation = "not " if isinstance(op, ast.NotIn) else ""
        if isinstance(kind, MachineWord):
            match right:
                case ast.Tuple(items) if all(isinstance(self.kind_of(one), MachineWord) for one in items):
                    return f"({negation}({' or '.join(f'{text} == {self.word(one)}' for one in items) or 'False'}))"
                case ast.Call(ast.Name("range"), [low, high]):
                    return f"({negation}({self.word(low)} <= {text} < {self.word(high)}))"
        return f"({boxed(text, kind)} {OPERATORS[type(op)]} {self.object(right)})"


def _are_integers(nodes: list[ast.expr], kinds: list[Kind], ops: list[ast.cmpop]) -> bool:
    """Return whether objects in a comparison are taken for integers, as another operand is an integer variable.

    If one is not, `word` ends compiled code (`abandon`).  Objects compared for equality may be anything.
    """
    if all(isinstance(one, (ast.Eq, ast.NotEq)) for one in ops):
        return False
    return UNSIGNED in kinds or any(
        isinstance(kind, MachineWord) and not isinstance(node, ast.Constant)
        for node, kind in zip(nodes, kinds, strict=True)
    )
