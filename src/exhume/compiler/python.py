"""Plain Python from the model: for each type a slotted class and a function that reads it.

    read_entry(view, at, end) -> (Entry, at)

`view` holds the bytes, `at` is where the structure begins and `end` where its stream ends, both positions in `view`;
what is returned with the value is where it ends.  Instances are properties, read when they are asked for and kept.  A
type with `-scalar: value` is read as that value.  What does not fit raises `LayoutError` with the path of the field and
its position.
"""

from __future__ import annotations

import keyword
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from exhume.compiler import expressions as ex
from exhume.compiler.model import (
    BYTES,
    REST,
    TEXT,
    Bits,
    Field,
    Integer,
    Kind,
    Model,
    Plain,
    Structure,
    Switch,
    Type,
)
from exhume.compiler.model import Sequence as Many
from exhume.compiler.needs import Needs, find_needs, without_rest
from exhume.compiler.refusal import RefusedError

TAKEN = frozenset({"view", "at", "end", "base", "start", "stop", "value", "parent", "root", "one", "error", "many", "size", "on"})
"""Names that readers use for themselves; a field of such a name gets another one there."""

CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
PEELED = 3
"""Groups of a variable-length integer that are read one by one before the general loop."""


def module(schema: Type, needs: dict[Type, Needs]) -> str:
    """The text of the module of one specification."""
    return _Module(schema, needs).text()


def modules(model: Model) -> dict[str, str]:
    """The text of every module by the id of its specification."""
    needs = find_needs(model)
    return {id: module(schema, needs) for id, schema in model.schemas.items()}


class _Module:
    """One generated module: its imports and constants are found while its readers are written."""

    def __init__(self, schema: Type, needs: dict[Type, Needs]) -> None:
        self.schema = schema
        self.needs = needs
        self.imports: dict[str, set[str]] = {}
        self.formats: dict[str, str] = {}
        self.arrays = False

    def text(self) -> str:
        """The whole module."""
        parts = [part for type in self.schema.all() for part in self._parts(type)]
        head = [f'"""Compiled from ksy/{self.schema.id}.ksy by `make generated`; never edited by hand."""']
        head += ["# mypy: ignore-errors", "# ruff: noqa", "", "from __future__ import annotations", ""]
        if self.arrays:
            head.append("import sys")
        if self.formats:
            head.append("import struct")
        if self.arrays:
            head.append("from array import array")
        head += ["", "from ._layout import LayoutError, View, short"]
        for id, found in sorted(self.imports.items()):
            if id != self.schema.id:
                head.append(f"from .{id} import {', '.join(sorted(found))}")
        head.append("")
        head += [f'{name} = struct.Struct("{format}")' for format, name in self.formats.items()]
        return "\n".join(head).rstrip() + "\n\n\n" + "\n\n\n".join(parts) + "\n"

    def _parts(self, type: Type) -> Iterator[str]:
        if type.scalar is None:
            yield _Class(self, type).text()
        yield _Reader(self, type).text()

    def struct(self, format: str) -> str:
        """The name of the constant that unpacks a format."""
        return self.formats.setdefault(format, f"_STRUCT{len(self.formats)}")

    def name_of(self, type: Type, name: str) -> str:
        """A class or reader by the name it has here, imported where it belongs to another specification."""
        self.imports.setdefault(type.root.id, set()).add(name)
        return name


class Lines:
    """Lines of code at their depth."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 1

    def add(self, *lines: str) -> None:
        """Adds lines at the current depth."""
        self.lines += ["    " * self.depth + line if line else "" for line in lines]

    @contextmanager
    def block(self, opening: str) -> Iterator[None]:
        """Lines below an opening one."""
        self.add(opening)
        self.depth += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.add("pass")
        self.depth -= 1


def scalar_of(kind: Kind) -> Type | None:
    """The type behind a kind that is read as one of its instances."""
    return kind.type if isinstance(kind, Structure) and kind.type.scalar is not None else None


class _Code:
    """Expressions of one type as Python, and the statements that read its fields."""

    def __init__(self, module: _Module, type: Type) -> None:
        self.module = module
        self.type = type
        self.needs = module.needs[type]
        self.lines = Lines()
        self.item: tuple[str, Kind] | None = None  # what `_` is
        self.index = ""

    # Where names lead to; readers and properties differ.

    def named(self, field: Field) -> tuple[str, int]:
        """A field as Python, and how strongly that binds."""
        raise NotImplementedError

    def above(self, name: str) -> str:
        raise NotImplementedError

    def kept(self, field: Field) -> str:
        """Where the value keeps a field."""
        return f"value.{safe(field.id)}"

    def room(self) -> str:
        """How many bytes are left."""
        return "end - at"

    def position(self) -> str:
        return "at"

    # Expressions.

    def kind(self, expr: ex.Expr) -> Kind:
        """What an expression gives here."""
        return self.type.kind_of(expr, self.item[1] if self.item else Plain("unknown"))

    def code(self, expr: ex.Expr) -> str:
        """An expression as Python."""
        return self._code(without_rest(expr))

    def _code(self, expr: ex.Expr, level: int = 0) -> str:
        """An expression as Python, in parentheses when it binds less than `level`."""
        match expr:
            case ex.Literal(value):
                return literal(value)
            case ex.Array(items):
                return f"[{', '.join(map(self._code, items))}]"
            case ex.EnumValue(path, value):
                return str(self.type.enum("::".join(path)).number(value))
            case ex.Name(id):
                return self._name(id, level)
            case ex.Cast(of, _):
                return self._code(of, level)
            case ex.Index(of, at):
                return f"{self._code(of, ATOM)}[{self._code(at)}]"
            case ex.Member(of, name):
                return self._member(of, name, level)
            case ex.Call(of, name, arguments):
                return self._call(of, name, arguments)
            case ex.Unary(op, of):
                return bound(f"{op}{' ' if op == 'not' else ''}{self._code(of, BINDS[op])}", BINDS[op], level)
            case ex.Binary(op, left, right):
                binds = BINDS[op]
                python = "//" if op == "/" and self.kind(expr) != Plain("float") else op
                after = binds if op in ("and", "or", "+", "*") else binds + 1
                before = binds + 1 if binds == BINDS["<"] else binds
                return bound(f"{self._code(left, before)} {python} {self._code(right, after)}", binds, level)
            case ex.Choice(condition, then, otherwise):
                text = f"{self._code(then, 2)} if {self._code(condition, 2)} else {self._code(otherwise, 1)}"
                return bound(text, 1, level)

    def _name(self, id: str, level: int) -> str:
        if id == "_":
            if self.item is None:
                raise RefusedError("`_` has no meaning here")
            return self.item[0]
        if id == "_index":
            return self.index
        if id == REST.id:
            return bound(f"end - {self.position()}", BINDS["-"], level)
        if id in ("_parent", "_root", "_io"):
            return self.above(id)
        text, binds = self.named(self.type.field(id))
        return bound(text, binds, level)

    def _member(self, of: ex.Expr, name: str, level: int) -> str:
        kind = self.kind(of)
        if of == ex.Name("_io"):
            whole = {"size": "end - base", "pos": f"{self.position()} - base", "eof": f"{self.position()} >= end"}
            if name not in whole:
                raise RefusedError(f"`_io.{name}` is not covered")
            return bound(whole[name], BINDS["<"] if name == "eof" else BINDS["-"], level)
        code = self._code(of, ATOM)
        if kind == Plain("stream"):
            if name != "size":
                raise RefusedError(f"`{name}` of another stream is not covered")
            return bound(f"{code}[2] - {code}[1]", BINDS["-"], level)
        if scalar := scalar_of(kind):
            if name != scalar.scalar:
                raise RefusedError(f"{scalar.where} is read as its {scalar.scalar}: `{name}` is not there")
            return code
        if isinstance(kind, Many) or kind in (BYTES, TEXT):
            short = {"size": f"len({code})", "length": f"len({code})", "first": f"{code}[0]", "last": f"{code}[-1]"}
            short |= {"to_i": f"int({code})", "min": f"min({code})", "max": f"max({code})", "reverse": f"{code}[::-1]"}
            if name not in short:
                raise RefusedError(f"`{name}` is not covered")
            return short[name]
        if name in ("to_i", "to_s") and not isinstance(kind, Structure):
            if isinstance(kind, Bits) or kind == Plain("bool"):
                return f"int({code})"
            return code if name == "to_i" else f"str({code})"
        return f"{code}.{safe(name)}"

    def _call(self, of: ex.Expr, name: str, arguments: tuple[ex.Expr, ...]) -> str:
        given = [self._code(one) for one in arguments]
        if name == "substring" and len(given) == 2:
            return f"{self._code(of, ATOM)}[{given[0]}:{given[1]}]"
        if name == "to_i" and len(given) <= 1:
            return f"int({', '.join([self._code(of), *given])})"
        raise RefusedError(f"`{name}()` is not covered")

    # Reading.

    def local(self, field: Field) -> str:
        """The name that a field has inside a reader."""
        return f"{field.id}_" if field.id in TAKEN or keyword.iskeyword(field.id) else field.id

    def read_field(self, field: Field, into: str) -> None:
        """Statements that read a whole field into a variable."""
        if field.repeat:
            self._read_many(field, into)
        else:
            self._read_valid(field, into, f'"{field.id}"')

    def _read_valid(self, field: Field, into: str, path: str) -> None:
        valid = "valid" in field.raw
        if valid and not self._keeps_start(field):
            self.lines.add("start = at")
        self._read_one(field, field.one, into, path)
        if valid:
            self.check(field, into, path, "at" if self._keeps_start(field) else "start")

    def _keeps_start(self, field: Field) -> bool:
        return field.size is not None and field.size == ex.Literal(0)

    def _many_code(self, kind: Kind, field: Field) -> str | None:
        """The array code of numbers that are read all at once."""
        if "valid" in field.raw or field.condition is not None and False:
            return None
        if isinstance(kind, Integer) and kind.size and field.size is None:
            code = CODES[kind.size]
            return code.lower() if kind.signed else code
        if isinstance(kind, Plain) and kind.kind == "float" and kind.size:
            return "f" if kind.size == 4 else "d"
        return None

    def _read_many(self, field: Field, into: str) -> None:
        code = self._many_code(field.one, field)
        if code is not None and field.repeat in ("expr", "eos"):
            self._read_numbers(field, into, code)
            return
        lines = self.lines
        upward = any(self.module.needs[one.type].parent for one in _nested(field.one))  # they look at those before them
        shared = self.kept(field) if upward else ""
        lines.add(f"{into} = {shared} = []" if shared else f"{into} = []")
        nested = any(True for _ in _nested(field.one))
        path = f'f"{field.id}[{{len({into})}}]"'
        index = f"len({into})"
        outer = self.index
        self.index = index

        def one() -> None:
            self._read_valid_raw(field, path, nested)
            lines.add(f"{into}.append(one)")

        def loop() -> None:
            if field.repeat == "eos":
                with lines.block("while at < end:"):
                    one()
            elif field.repeat == "expr":
                count = field.expr("repeat-expr")
                assert count is not None
                with lines.block(f"for _ in range({self.code(count)}):"):
                    one()
            else:
                until = field.expr("repeat-until")
                if until is None:
                    raise RefusedError("repeat-until is missing")
                with lines.block("while True:"):
                    one()
                    self.item = ("one", field.one)
                    self.index = f"len({into}) - 1"
                    with lines.block(f"if {self.code(until)}:"):
                        lines.add("break")
                    self.item = None

        if nested:
            with lines.block("try:"):
                loop()
            with lines.block("except LayoutError as error:"):
                lines.add(*([f"del {shared}"] if shared else []), f"error.within({path})", "raise")
        else:
            loop()
        self.index = outer

    def _read_valid_raw(self, field: Field, path: str, nested: bool) -> None:
        valid = "valid" in field.raw
        if valid:
            self.lines.add("start = at")
        self._read_one(field, field.one, "one", '""' if nested else path, bare=nested)
        if valid:
            self.check(field, "one", '""' if nested else path, "start")

    def _read_numbers(self, field: Field, into: str, code: str) -> None:
        """Numbers of one width, all at once."""
        kind = field.one
        assert isinstance(kind, (Integer, Plain))
        size, lines = kind.size, self.lines
        count = field.expr("repeat-expr")
        if field.repeat == "expr":
            assert count is not None
            lines.add(f"many = max(0, {self.code(count)})")
        else:
            lines.add(f"many = -(-(end - at) // {size}) if end > at else 0")
        with lines.block(f"if many > (end - at) // {size}:" if size > 1 else "if many > end - at:"):
            whole = f"max(0, end - at) // {size}"
            lines.add(f"many = {whole}")
            lines.add(f'raise short(f"{field.id}[{{many}}]", at + many * {size}, end, {size})')
        if code == "B":
            lines.add(f"{into} = view[at : at + many]", "at += many")
            return
        self.module.arrays = True
        lines.add(f'{into} = array("{code}", bytes(view[at : at + many * {size}]))')
        order = "little" if kind.big else "big"
        if size > 1:
            with lines.block(f'if sys.byteorder == "{order}":'):
                lines.add(f"{into}.byteswap()")
        lines.add(f"at += many * {size}")

    def _read_one(self, field: Field, kind: Kind, into: str, path: str, *, bare: bool = False) -> None:
        """Statements that read one value; `bare` when what encloses them names the field in errors."""
        sized = field.size is not None or field.to_end
        if isinstance(kind, (Structure, Switch)) and sized:
            self._read_sized(field, kind, into, path, bare)
        elif isinstance(kind, Structure):
            self._read_structure(kind, into, path, bare, "end", None)
        elif isinstance(kind, Switch):
            self._read_switch(field, kind, into, path, bare, "end", None)
        elif isinstance(kind, Integer) and kind.size or isinstance(kind, Plain) and kind.size:
            self._read_number(kind, into, path)
        elif "contents" in field.raw:
            self._read_contents(field, into, path)
        elif kind in (BYTES, TEXT):
            self._read_bytes(field, kind, into, path)
        elif isinstance(kind, Bits):
            self._read_bits([(field, into)])
        else:
            raise RefusedError(f"{field.raw.get('type')} is not covered")

    def _read_number(self, kind: Integer | Plain, into: str, path: str) -> None:
        size, lines = kind.size, self.lines
        with lines.block("if at >= end:" if size == 1 else f"if end - at < {size}:"):
            lines.add(f"raise short({path}, at, end, {size})")
        if size == 1 and isinstance(kind, Integer) and not kind.signed:
            lines.add(f"{into} = view[at]", "at += 1")
        else:
            lines.add(f"({into},) = {self.module.struct(_format([kind]))}.unpack_from(view, at)", f"at += {size}")

    def _read_contents(self, field: Field, into: str, path: str) -> None:
        wanted = contents(field)
        lines = self.lines
        with lines.block(f"if end - at < {len(wanted)}:"):
            lines.add(f"raise short({path}, at, end, {len(wanted)})")
        lines.add(f"{into} = view[at : at + {len(wanted)}]")
        with lines.block(f"if {into} != {wanted!r}:"):
            lines.add(f"raise LayoutError({path}, at, {wanted!r}, {into})")
        lines.add(f"at += {len(wanted)}")

    def _sized_end(self, field: Field, path: str) -> str:
        """Statements that find where a field of a size ends; returns the expression for it."""
        if field.size is None:
            return "end"
        lines = self.lines
        size = self.code(field.size)
        if not size.isidentifier() and not size.isdigit():
            lines.add(f"size = {size}")
            size = "size"
        room = self.room()
        with lines.block(f"if not 0 <= {size} <= {room}:" if not size.isdigit() else f"if {room} < {size}:"):
            lines.add(f"raise short({path}, at, end, {size})")
        return f"at + {size}"

    def _read_bytes(self, field: Field, kind: Kind, into: str, path: str) -> None:
        lines = self.lines
        if "terminator" in field.raw or field.raw.get("type") == "strz":
            if field.size is not None or field.to_end:
                raise RefusedError("a size and a terminator together are not covered")
            mark = int(field.raw.get("terminator", 0))
            lines.add(f"stop = bytes(view[at:end]).find({bytes([mark])!r})")
            with lines.block("if stop < 0:"):
                if field.raw.get("eos-error", True):
                    lines.add(f"raise short({path}, at, end, end - at + 1)")
                else:
                    lines.add("stop = end - at")
            add = 1 if field.raw.get("include") else 0
            lines.add(f"{into} = view[at : at + stop{f' + {add}' if add else ''}]")
            consumed = 0 if field.raw.get("consume") is False else 1
            lines.add(f"at = min(end, at + stop + {consumed})")
        elif field.size is None and not field.to_end:
            raise RefusedError("bytes without a size are not covered")
        elif field.size is None:
            lines.add(f"{into} = view[at:end]")
            if kind == TEXT:
                self._decode(field, into, path)
            lines.add("at = max(at, end)")
            return
        else:
            stop = self._sized_end(field, path)
            lines.add(f"{into} = view[at : {stop}]")
            if kind == TEXT:
                self._decode(field, into, path)
            lines.add(f"at += {stop.removeprefix('at + ')}")
            return
        if kind == TEXT:
            self._decode(field, into, path)

    def _decode(self, field: Field, into: str, path: str) -> None:
        encoding = field.raw.get("encoding") or field.owner.encoding
        if encoding is None:
            raise RefusedError("text has no encoding")
        lines = self.lines
        with lines.block("try:"):
            lines.add(f'{into} = str({into}, "{encoding}")')
        with lines.block("except UnicodeDecodeError as error:"):
            lines.add(f'raise LayoutError({path}, at, "text in {encoding}", {into}) from error')

    def _read_sized(self, field: Field, kind: Structure | Switch, into: str, path: str, bare: bool) -> None:
        stop = self._sized_end(field, path)
        if stop != "end":
            self.lines.add(f"stop = {stop}")
            stop = "stop"
        if isinstance(kind, Structure):
            self._read_structure(kind, into, path, bare, stop, "at")
        else:
            self._read_switch(field, kind, into, path, bare, stop, "at")
        self.lines.add(f"at = {stop}" if stop == "stop" else "at = max(at, end)")

    def _read_structure(
        self, kind: Structure, into: str, path: str, bare: bool, stop: str, base: str | None
    ) -> None:
        """A structure in this stream (`base` None), or in one of its own from here to `stop`."""
        lines = self.lines
        call = self._call_reader(kind, stop, base)
        after = "at" if base is None else "_"
        first = one_byte(kind.type)
        if first is not None and base is None:
            condition, value = first
            with lines.block(f"if at < end and ({into} := view[at]) {condition}:"):
                if value is not None:
                    lines.add(f"{into} = {value.replace('_', into)}")
                lines.add("at += 1")
            with lines.block("else:"):
                self._guarded(f"{into}, {after} = {call}", path, bare)
        else:
            self._guarded(f"{into}, {after} = {call}", path, bare)

    def _guarded(self, statement: str, path: str, bare: bool) -> None:
        if bare:
            self.lines.add(statement)
            return
        with self.lines.block("try:"):
            self.lines.add(statement)
        with self.lines.block("except LayoutError as error:"):
            self.lines.add(f"error.within({path})", "raise")

    def _call_reader(self, kind: Structure, stop: str, base: str | None) -> str:
        type, needs = kind.type, self.module.needs[kind.type]
        given = ["view", "at", stop]
        if needs.stream:
            given.append(base or "base")
        if needs.parent:
            given.append(self.above("_self"))
        if needs.root and type.parent is not None:
            given.append(self.above("_root") if type.root is self.type.root else "None")
        for one in kind.arguments:
            given.append(self.code(one))
        return f"{self.module.name_of(type, type.reader_name)}({', '.join(given)})"

    def _read_switch(
        self, field: Field, kind: Switch, into: str, path: str, bare: bool, stop: str, base: str | None
    ) -> None:
        lines = self.lines
        on = self.code(kind.on)
        if not on.isidentifier():
            lines.add(f"on = {on}")
            on = "on"
        word = "if"
        for case, inner in kind.cases:
            with lines.block(f"{word} {on} == {self.code(case)}:"):
                self._read_case(field, inner, into, path, bare, stop, base)
            word = "elif"
        with lines.block("else:"):
            if kind.default is None:
                lines.add(f"{into} = None")
            else:
                self._read_case(field, kind.default, into, path, bare, stop, base)

    def _read_case(
        self, field: Field, kind: Kind, into: str, path: str, bare: bool, stop: str, base: str | None
    ) -> None:
        if isinstance(kind, Structure):
            self._read_structure(kind, into, path, bare, stop, base)
        elif kind == BYTES:
            self.lines.add(f"{into} = view[at:{stop}]")
        elif isinstance(kind, (Integer, Plain)) and kind.size:
            self._read_number(kind, into, path)
        else:
            raise RefusedError("this kind of case is not covered")

    def _read_bits(self, fields: Sequence[tuple[Field, str]]) -> None:
        """Fields of some bits each, whole bytes together."""
        lines = self.lines
        kinds = [field.one for field, _ in fields]
        widths = [kind.width for kind in kinds if isinstance(kind, Bits)]
        big = isinstance(kinds[0], Bits) and kinds[0].big
        size = (sum(widths) + 7) // 8
        ends = [(sum(widths[: i + 1]) + 7) // 8 for i in range(len(widths))]
        table = ", ".join(f'("{field.id}", {stop})' for (field, _), stop in zip(fields, ends, strict=True))
        with lines.block(f"if end - at < {size}:" if size > 1 else "if at >= end:"):
            lines.add(f"raise short(({table},), at, end, {size})")
        if size == 1:
            lines.add("many = view[at]")
        else:
            lines.add(f'many = int.from_bytes(view[at : at + {size}], "{"big" if big else "little"}")')
        used = 0
        for (field, into), width in zip(fields, widths, strict=True):
            shift = size * 8 - used - width if big else used
            code = f"many >> {shift}" if shift else "many"
            whole = used == 0 if big else used + width == size * 8
            if width == 1:
                code = f"({code}) & 1 == 1" if shift else "many & 1 == 1"
            elif not whole:
                code = f"({code}) & {hex((1 << width) - 1)}" if shift else f"many & {hex((1 << width) - 1)}"
            lines.add(f"{into} = {code}")
            used += width
        lines.add(f"at += {size}")
        for field, into in fields:
            if "valid" in field.raw:
                self.check(field, into, f'"{field.id}"', f"at - {size}")

    # Checks.

    def check(self, field: Field, into: str, path: str, start: str) -> None:
        """Statements that refuse a value that `valid` does not allow."""
        valid = field.raw["valid"]
        rules = valid if isinstance(valid, dict) else {"eq": valid}
        for key, said in rules.items():
            self._rule(field, key, said, into, path, start)

    def _rule(self, field: Field, key: str, said: object, into: str, path: str, start: str) -> None:
        lines = self.lines
        self.item = (into, field.one)
        wanted = ""
        if key in ("eq", "min", "max"):
            code = self.code(ex.parse(said))
            compare = {"eq": "==", "min": ">=", "max": "<="}[key]
            condition = f"{into} {compare} {code}"
            words = {"eq": "{}", "min": "at least {}", "max": "at most {}"}[key]
            wanted = f'f"{words.format("{" + code + "}")}"' if key != "eq" else code
        elif key == "any-of" and isinstance(said, list):
            codes = ", ".join(self.code(ex.parse(one)) for one in said)
            condition = f"{into} in ({codes},)"
            wanted = f"({codes},)"
        elif key == "in-enum":
            enum = field.one.enum if isinstance(field.one, (Integer, Bits)) else None
            if enum is None:
                raise RefusedError("in-enum needs an enum")
            condition = f"{into} in {_ranges(sorted(enum.values))}"
            wanted = f'"a value of {enum.id}"'
        elif key == "expr":
            condition = self.code(ex.parse(said))
            wanted = repr(" ".join(str(said).split()))
        else:
            raise RefusedError(f"`valid: {key}` is not covered")
        self.item = None
        with lines.block(f"if not ({condition}):"):
            lines.add(f"raise LayoutError({path}, {start}, {wanted}, {into})")


class _Reader(_Code):
    """The function that reads one type."""

    def __init__(self, module: _Module, type: Type) -> None:
        super().__init__(module, type)
        self.read: set[str] = set()
        self.frozen: set[str] = set()
        self.running: list[str] = []

    def text(self) -> str:
        """The whole function."""
        type, needs, lines = self.type, self.needs, self.lines
        scalar = type.scalar is not None
        cls = "int" if scalar else type.class_name
        given = ["view: View", "at: int", "end: int"]
        if needs.stream:
            given.append("base: int | None = None")
        if needs.parent:
            given.append(f"parent: {' | '.join(_classes(type.parents)) or 'object'} | None = None")
        if needs.root and type.parent is not None:
            given.append(f"root: {type.root.class_name} | None = None")
        given += [f"{self.local(one)}: {annotation(one.kind)}" for one in type.params]
        if type.params:  # parameters have no default
            given = [one.replace(" | None = None", " | None") if "=" in one else one for one in given]
        opening = f"def {type.reader_name}({', '.join(given)}) -> tuple[{cls}, int]:"
        if not scalar:
            lines.add(f"value = {type.class_name}()")
            if needs.stream:
                with lines.block("if base is None:"):
                    lines.add("base = at")
            if needs.keeps_stream:
                lines.add("value._io = (view, base, end)")
            if needs.keeps_parent:
                lines.add("value._parent = parent")
            if needs.keeps_root and type.parent is not None:
                lines.add("value._root = root")
            lines.add(*(f"value.{safe(one.id)} = {self.local(one)}" for one in type.params))
        if scalar and self._peel():
            pass
        else:
            self._sequence()
        if scalar:
            found = type.field(str(type.scalar)).value
            if found is None:
                raise RefusedError("`-scalar` names no value instance", type.where)
            lines.add(f"return {self.code(found)}, at")
        else:
            for one in type.instances.values():  # positions that nothing asked for while reading
                if one.value is not None and _is_position(one.value) and one.id not in self.frozen:
                    raise RefusedError("its position is known only while reading, and nothing reads it then", one.where)
            lines.add("return value, at")
        return "\n".join([opening, *_doc(self._about()), *lines.lines])

    def _about(self) -> str:
        first = f"`{self.type.where}` at `at`: its {self.type.scalar}" if self.type.scalar else f"`{self.type.where}` at `at`"
        return f"{first}, and where it ends.  Raises `LayoutError`."

    def above(self, name: str) -> str:
        if name == "_self":
            return "value"
        if name == "_root":
            return "value" if self.type.parent is None else "root"
        return {"_parent": "parent", "_io": "(view, base, end)"}[name]

    def named(self, field: Field) -> tuple[str, int]:
        if not field.instance:
            if not field.parameter and field.id not in self.read:
                raise RefusedError(f"{field.id} is used before it is read", self.type.where)
            return self.local(field), ATOM
        if field.value is None or field.id in self.running:
            return f"value.{safe(field.id)}", ATOM
        if _is_position(field.value):
            if field.id not in self.frozen:
                self.frozen.add(field.id)
                self.lines.add(f"{self.local(field)} = value.{safe(field.id)} = at - base")
            return self.local(field), ATOM
        self.running.append(field.id)
        value = field.value if field.condition is None else ex.Choice(field.condition, field.value, ex.Literal(None))
        code = self.code(value)
        self.running.pop()
        return code, strength(value)

    def _peel(self) -> bool:
        """Reads the first groups of a variable-length integer without a loop, if this type is one; else False."""
        found = varint(self.type)
        if found is None:
            return False
        field, until, value = found
        lines = self.lines
        groups: list[str] = []
        name = ex.Name(field.id)
        for count in range(1, PEELED + 1):
            group = f"{field.id}{count - 1}"
            place = "at" if count == 1 else f"at + {count - 1}"
            with lines.block(f"if {place} >= end:"):
                lines.add(f'raise short("{field.id}[{count - 1}]", {place}, end, 1)')
            lines.add(f"{group} = view[{place}]")
            known: dict[ex.Expr, ex.Expr] = {ex.Name("_index"): ex.Literal(count - 1), ex.Name("_"): ex.Name(group)}
            self._peeled_check(field, group, known, f'"{field.id}[{count - 1}]"', place)
            groups.append(group)
            parts = {ex.Index(name, ex.Literal(i)): ex.Name(one) for i, one in enumerate(groups)}
            sizes = {ex.Member(name, key): ex.Literal(count) for key in ("size", "length")}
            lens = {ex.Name(one.id): ex.Literal(count) for one in self.type.instances.values() if one.value in sizes}
            limit = {ex.Name(group): _limit(until)} if _limit(until) else {}
            done = ex.fold(value, {**parts, **sizes, **lens}, limit)
            with lines.block(f"if {_plain(ex.fold(until, known))}:"):
                lines.add(f"return {_plain(done)}, at + {count}")
        return self._sequence()

    def _peeled_check(
        self, field: Field, group: str, known: dict[ex.Expr, ex.Expr], path: str, place: str
    ) -> None:
        valid = field.raw.get("valid")
        if valid is None:
            return
        expr = ex.fold(ex.parse(valid["expr"]), known) if isinstance(valid, dict) and "expr" in valid else None
        if expr is None:
            raise RefusedError("only `valid: expr` is covered in variable-length integers")
        if expr != ex.Literal(True):
            with self.lines.block(f"if not ({_plain(expr)}):"):
                self.lines.add(f"raise LayoutError({path}, {place}, {' '.join(str(valid['expr']).split())!r}, {group})")

    def _sequence(self) -> bool:
        """Reads the fields one after the other, fixed runs at once."""
        waiting: list[Field] = []
        for field in self.type.seq:
            try:
                if self._joins(waiting, field):
                    waiting.append(field)
                    if "valid" in field.raw and not isinstance(field.one, Bits):
                        self._run(waiting)
                        waiting = []
                    continue
                self._run(waiting)
                waiting = [field] if self._fixed(field) else []
                if waiting and "valid" in field.raw and not isinstance(field.one, Bits):
                    self._run(waiting)
                    waiting = []
                elif not waiting:
                    self._single(field)
            except RefusedError as error:
                raise error.within(field.where) from None
        self._run(waiting)
        return True

    def _fixed(self, field: Field) -> bool:
        """Whether a field has one size and no condition."""
        if field.repeat or field.condition is not None or "terminator" in field.raw or "contents" in field.raw:
            return False
        kind = field.one
        if isinstance(kind, (Integer, Plain)) and kind.size and field.size is None:
            return True
        return isinstance(kind, Bits) or fixed_bytes(field)

    def _joins(self, waiting: list[Field], field: Field) -> bool:
        if not waiting or not self._fixed(field):
            return False
        last, kind = waiting[-1].one, field.one
        if isinstance(last, Bits) or isinstance(kind, Bits):
            return isinstance(last, Bits) and isinstance(kind, Bits) and last.big == kind.big
        orders = {_big(one.one) for one in [*waiting, field]} - {None}
        return len(orders) <= 1

    def _run(self, fields: list[Field]) -> None:
        if not fields:
            return
        lines = self.lines
        into = [self.local(one) for one in fields]
        if isinstance(fields[0].one, Bits):
            self.read |= {one.id for one in fields}
            self._read_bits(list(zip(fields, into, strict=True)))
            self._keep(fields)
            return
        if len(fields) == 1 and not fixed_bytes(fields[0]):
            self._single(fields[0])
            return
        sizes = [_size(one) for one in fields]
        total, ends = sum(sizes), [sum(sizes[: i + 1]) for i in range(len(sizes))]
        with lines.block(f"if end - at < {total}:"):
            table = ", ".join(f'("{one.id}", {stop})' for one, stop in zip(fields, ends, strict=True))
            lines.add(f"raise short(({table},), at, end, {total})")
        if len(fields) == 1:
            lines.add(f"{into[0]} = view[at : at + {total}]")
        else:
            constant = self.module.struct(_format([one.one for one in fields], fields))
            lines.add(f"{', '.join(into)} = {constant}.unpack_from(view, at)")
        lines.add(f"at += {total}")
        last = fields[-1]
        self.read |= {one.id for one in fields}
        self._keep(fields)
        if "valid" in last.raw:
            self.check(last, into[-1], f'"{last.id}"', f"at - {sizes[-1]}")

    def _keep(self, fields: list[Field]) -> None:
        if self.type.scalar is None:
            self.lines.add(*(f"value.{safe(one.id)} = {self.local(one)}" for one in fields))

    def _single(self, field: Field) -> None:
        into, lines = self.local(field), self.lines
        if field.condition is None:
            self.read_field(field, into)
        else:
            with lines.block(f"if {self.code(field.condition)}:"):
                self.read_field(field, into)
            with lines.block("else:"):
                lines.add(f"{into} = None")
        self.read.add(field.id)
        self._keep([field])


class _Class(_Code):
    """The class of one type: slots for fields, properties for instances."""

    def named(self, field: Field) -> tuple[str, int]:
        return f"self.{safe(field.id)}", ATOM

    def kept(self, field: Field) -> str:
        return f"self.{_kept(field)}"

    def room(self) -> str:  # a position may lie past the end
        return "max(0, end - at)"

    def above(self, name: str) -> str:
        if name == "_self":
            return "self"
        if name == "_root":
            return "self" if self.type.parent is None else "self._root"
        if name == "_parent":
            return "self._parent"
        return "self._io"

    def text(self) -> str:
        """The whole class."""
        type, needs = self.type, self.needs
        fields = [*type.params, *type.seq]
        positions = [one for one in type.instances.values() if one.value is not None and _is_position(one.value)]
        slots = [safe(one.id) for one in (*fields, *positions)]
        slots += [_kept(one) for one in type.instances.values() if one not in positions]
        slots += [name for name, kept in (("_io", needs.keeps_stream), ("_parent", needs.keeps_parent)) if kept]
        if needs.keeps_root and type.parent is not None:
            slots.append("_root")
        out = [f"class {type.class_name}:", *_doc(type.doc or type.where)]
        out.append(f"    __slots__ = ({', '.join(map(repr, slots))}{',' if len(slots) == 1 else ''})")
        for one in (*fields, *positions):
            optional = " | None" if one.condition is not None else ""
            out.append(f"    {safe(one.id)}: {annotation(one.kind)}{optional}")
            out += _doc(one.doc) if one.doc else []
        for one in type.instances.values():
            if one not in positions:
                out += ["", *self._property(one)]
        return "\n".join(out)

    def _property(self, field: Field) -> list[str]:
        self.lines = lines = Lines()
        lines.depth = 2
        optional = " | None" if field.condition is not None else ""
        out = ["    @property", f"    def {safe(field.id)}(self) -> {annotation(field.kind)}{optional}:"]
        out += ["    " + line for line in _doc(field.doc)] if field.doc else []
        kept = f"self.{_kept(field)}"
        try:
            with lines.block("try:"):
                lines.add(f"return {kept}")
            with lines.block("except AttributeError:"):
                lines.add("pass")
            asked = [one for one in (field.condition, field.value) if one is not None]
            if field.value is None or any("_io" in ex.names(one) for one in asked):
                lines.add("view, base, end = self._io")
            if field.condition is not None:
                with lines.block(f"if not ({self.code(field.condition)}):"):
                    lines.add(f"{kept} = None", "return None")
            if field.value is not None:
                lines.add(f"{kept} = {self.code(field.value)}")
            else:
                self._read_instance(field)
                lines.add(f"{kept} = {self.local(field)}")
            lines.add(f"return {kept}")
        except RefusedError as error:
            raise error.within(field.where) from None
        return out + lines.lines

    def _read_instance(self, field: Field) -> None:
        lines = self.lines
        stream = field.expr("io")
        position = field.expr("pos")
        if position is None:
            raise RefusedError("an instance without `pos` is not covered")
        if stream is not None:
            if "_io" in ex.names(position):
                raise RefusedError("`_io` in `pos` beside `io` is not covered")
            lines.add(f"view, base, end = {self.code(stream)}")
        into = self.local(field)
        lines.add(f"at = base + {self._code(without_rest(position), BINDS['+'])}")
        if not isinstance(position, ex.Literal):
            with lines.block("if at < base:"):
                lines.add(f'raise LayoutError("{field.id}", base, "a position in the stream", at - base)')
        self.read_field(field, into)


def _kept(field: Field) -> str:
    """The slot that keeps what an instance gave."""
    return f"_{field.id}_" if field.id in ("io", "parent", "root") else f"_{field.id}"


def _is_position(expr: ex.Expr) -> bool:
    return any(one == ex.Member(ex.Name("_io"), "pos") for one in _walk(without_rest(expr)))


def _walk(expr: ex.Expr) -> list[ex.Expr]:
    found: list[ex.Expr] = []

    def keep(one: ex.Expr) -> ex.Expr:
        found.append(one)
        return one

    ex.replaced(expr, keep)
    return found


def _nested(kind: Kind) -> Iterator[Structure]:
    if isinstance(kind, Structure):
        yield kind
    elif isinstance(kind, Switch):
        for _, one in kind.cases:
            yield from _nested(one)
        if kind.default is not None:
            yield from _nested(kind.default)


def safe(id: str) -> str:
    """A name that Python takes as an attribute."""
    return f"{id}_" if keyword.iskeyword(id) else id


def _classes(types: list[Type]) -> list[str]:
    return sorted({one.class_name for one in types})


def annotation(kind: Kind) -> str:
    """A kind as a type annotation."""
    if isinstance(kind, Integer):
        return "int"
    if isinstance(kind, Bits):
        return "bool" if kind.width == 1 and kind.enum is None else "int"
    if isinstance(kind, Plain):
        names = {"float": "float", "bool": "bool", "text": "str", "bytes": "View", "stream": "object"}
        return names.get(kind.kind, "object")
    if isinstance(kind, Structure):
        return "int" if kind.type.scalar else kind.type.class_name
    if isinstance(kind, Many):
        if isinstance(kind.of, (Integer, Plain)) and kind.of.size:
            return "View" if kind.of == Integer(size=1) else f"array[{annotation(kind.of)}]"
        return f"list[{annotation(kind.of)}]"
    kinds = [one for _, one in kind.cases] + ([] if kind.default is None else [kind.default])
    names = sorted({annotation(one) for one in kinds} | ({"None"} if kind.default is None else set()))
    return " | ".join(names)


def varint(type: Type) -> tuple[Field, ex.Expr, ex.Expr] | None:
    """Its groups, when the last has come, and its value, if a type is a variable-length integer; else None."""
    if type.scalar is None or len(type.seq) != 1:
        return None
    field = type.seq[0]
    until, value = field.expr("repeat-until"), type.field(type.scalar).value
    if field.repeat != "until" or field.one != Integer(size=1) or until is None or value is None:
        return None
    return field, until, value


def _limit(until: ex.Expr) -> int | None:
    """What the last group is below."""
    if isinstance(until, ex.Binary) and until.op == "<" and until.left == ex.Name("_"):
        return until.right.value if isinstance(until.right, ex.Literal) else None
    return None


def one_byte(type: Type) -> tuple[str, str | None] | None:
    """For a variable-length integer: what tells that one byte is all of it, and its value (None: the byte itself)."""
    found = varint(type)
    if found is None:
        return None
    field, until, value = found
    limit = _limit(until)
    if limit is None:
        return None
    name, byte = ex.Name(field.id), ex.Name("_")
    sizes: dict[ex.Expr, ex.Expr] = {ex.Member(name, "size"): ex.Literal(1)}
    lens: dict[ex.Expr, ex.Expr] = {
        ex.Name(one.id): ex.Literal(1) for one in type.instances.values() if one.value in sizes
    }
    done = ex.fold(value, {ex.Index(name, ex.Literal(0)): byte, **sizes, **lens}, {byte: limit})
    valid = field.raw.get("valid")
    if valid is not None:
        rule = ex.fold(ex.parse(valid["expr"]), {ex.Name("_index"): ex.Literal(0)}) if isinstance(valid, dict) else None
        if rule != ex.Literal(True):
            return None
    return f"< {hex(limit)}", None if done == byte else _plain(done)


def _plain(expr: ex.Expr, level: int = 0) -> str:
    """An expression over plain variables."""
    match expr:
        case ex.Name(id):
            return id
        case ex.Literal(value):
            return literal(value)
        case ex.Binary(op, left, right):
            binds = BINDS[op]
            text = f"{_plain(left, binds)} {'//' if op == '/' else op} {_plain(right, binds + (op not in '+*andor'))}"
            return bound(text, binds, level)
        case ex.Unary(op, of):
            return f"{op} {_plain(of, ATOM)}"
    raise RefusedError("this is not covered in variable-length integers")


def literal(value: object) -> str:
    """A constant as Python."""
    return hex(value) if isinstance(value, int) and not isinstance(value, bool) and value > 99 else repr(value)


ATOM = 20
BINDS = {"or": 2, "and": 3, "not": 4, **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), 5)}
BINDS |= {"|": 6, "^": 7, "&": 8, "<<": 9, ">>": 9, "+": 10, "-": 10, "*": 11, "/": 11, "%": 11, "~": 12}
"""How strongly operators bind in Python."""


def bound(text: str, binds: int, level: int) -> str:
    """Code in parentheses when it binds less than it has to."""
    return f"({text})" if binds < level else text


def strength(expr: ex.Expr) -> int:
    """How strongly the code of an expression binds, at least."""
    if isinstance(expr, ex.Choice):
        return 1
    if isinstance(expr, (ex.Literal, ex.EnumValue, ex.Index, ex.Array)):
        return ATOM
    return BINDS[expr.op] if isinstance(expr, (ex.Binary, ex.Unary)) and expr.op != "-" else 2


def contents(field: Field) -> bytes:
    """The fixed bytes of a field."""
    said = field.raw["contents"]
    if isinstance(said, str):
        return said.encode()
    return b"".join(one.encode() if isinstance(one, str) and not one[:2] == "0x" else bytes([int(str(one), 0)]) for one in said)


def fixed_bytes(field: Field) -> bool:
    """Whether a field is a fixed number of bytes, at least one."""
    size = field.size
    literal = isinstance(size, ex.Literal) and isinstance(size.value, int) and size.value > 0
    return literal and field.one == BYTES and "terminator" not in field.raw and "contents" not in field.raw


def _size(field: Field) -> int:
    if fixed_bytes(field):
        assert isinstance(field.size, ex.Literal)
        return int(field.size.value)
    assert isinstance(field.one, (Integer, Plain))
    return field.one.size


def _big(kind: Kind) -> bool | None:
    return kind.big if isinstance(kind, (Integer, Plain)) and kind.size > 1 else None


def _format(kinds: Sequence[Kind], fields: Sequence[Field] = ()) -> str:
    """The `struct` format of a run."""
    out, order = "", "<"
    for number, kind in enumerate(kinds):
        if isinstance(kind, Integer):
            code = CODES[kind.size]
            out += code.lower() if kind.signed else code
        elif isinstance(kind, Plain) and kind.kind == "float":
            out += "f" if kind.size == 4 else "d"
        else:
            out += f"{_size(fields[number])}s"
        if _big(kind):
            order = ">"
    return order + out


def _ranges(values: Sequence[int]) -> str:
    """The members of an enum, for `in`."""
    if values and list(values) == list(range(values[0], values[-1] + 1)) and len(values) > 2:
        return f"range({values[0]}, {values[-1] + 1})"
    return f"({', '.join(map(str, values))},)"


def _doc(text: str) -> list[str]:
    lines = []
    for number, part in enumerate(text.replace("\\", "\\\\").replace('"""', "'''").strip().split("\n\n")):
        width = 112
        lines += ([""] if number else []) + textwrap.wrap(" ".join(part.split()), width)
    if not lines:
        return []
    if lines[-1].endswith('"'):
        lines[-1] += " "
    if len(lines) == 1:
        return [f'    """{lines[0]}"""']
    return [f'    """{lines[0]}', *(f"    {line}" if line else "" for line in lines[1:]), '    """']


LAYOUT = '''"""What all readers share: what they raise, and how they say which field is cut short.  Written by `make generated`."""

from __future__ import annotations

from typing import Any

View = bytes | memoryview
"""What readers read from."""


class LayoutError(ValueError):
    """Bytes that do not fit a specification.

    `path` leads to the field (`entries[3].len_key`), `at` is its position in the view that was read; `expected` and
    `actual` say why.  `short` tells that the data ended inside the field.
    """

    def __init__(self, path: str, at: int, expected: Any, actual: Any, *, short: bool = False) -> None:
        super().__init__(path, at, expected, actual)
        self.path = path
        self.at = at
        self.expected = expected
        self.actual = actual
        self.short = short

    def within(self, path: str) -> None:
        """Puts the path of what encloses the field before its own."""
        self.path = f"{path}.{self.path}" if self.path and not self.path.startswith("[") else path + self.path

    def __str__(self) -> str:
        return f"{self.path} at {self.at}: expected {self.expected}, found {self.actual}"


def short(path: Any, at: int, end: int, size: int) -> LayoutError:
    """The error for a field, or the first of a run of `(field, end)` that the data do not hold."""
    start = at
    if isinstance(path, tuple):
        for path, stop in path:
            if at + stop > end:
                size = at + stop - start
                break
            start = at + stop
    if size < 0:
        return LayoutError(path, start, "a size of at least 0", size)
    return LayoutError(path, start, f"{size} bytes", f"{max(0, end - start)} bytes", short=True)
'''

Emit = Callable[[Model], dict[str, str]]
