"""Repeated structures as columns: for a type with `-columns: true` a class of arrays and a function that fills it.

    scan_entry(view, at, end, count=None) -> EntryColumns

Integers are in typed arrays; bytes and repeated numbers are given as their start and end in `view`; nothing is copied,
and no object is made for an element.  The column of structures that are one number each is their bytes.  The fields of
a structure within the element become columns, named after the structure and the field; structures that are repeated
`until` one is the last are given as their start and end.  A field that is absent (`if`) is 0 in its column.  Where the
data does not fit, the columns hold the elements before that place; `problem` says what is wrong, and `resume_at` where
the first element that is not held begins.
"""

from __future__ import annotations

import keyword
from array import array

from exhume.compiler.emit.c_varints import unique_name
from exhume.compiler.emit.code import Module
from exhume.compiler.emit.elements import covered
from exhume.compiler.emit.reader import Reader
from exhume.compiler.emit.text import CODES, Lines, columned, written_doc
from exhume.compiler.fixed import ends_with_a_byte, fixed_bytes, numbers_of, only_number, type_size
from exhume.compiler.front import expressions as ex
from exhume.compiler.front.kinds import BYTES, DECIDED, TEXT, Bits, Integer, Kind, Plain, Structure
from exhume.compiler.front.model import Field, Type
from exhume.compiler.needs import is_position
from exhume.compiler.refusal import UnsupportedError
from exhume.compiler.varints import scalar_of

Column = tuple[str, str, str]
"""Name, array code, and the expression that is appended."""


BYTES_OF_A_STEP = 64
"""Bytes of a row in columns that are one more step of the budget."""

MOST_LINES = 2_000
"""Lines that read one row of an external specification, structures within it included."""


class Scan(Reader):
    """The reading of one element inside the loop; nested structures are read in place, under a prefix."""

    def __init__(self, of: Scan | None, module: Module, type: Type, prefix: str = "") -> None:
        super().__init__(module, type)
        self.prefix = prefix
        self.columns: list[Column] = []
        self.inner: dict[str, Scan] = {}
        self.byte_fields: list[str] = []
        self.number_fields: dict[str, tuple[str, str]] = {}
        """The expression of the numbers of one element, and their type, by the name of the column."""
        self.base = ""
        """Where its stream begins, when that is known."""
        if of is not None:
            self.lines = of.lines

    def local(self, field: Field) -> str:
        return f"{self.prefix}{super().local(field)}"

    def fixed(self, field: Field) -> bool:
        return super().fixed(field) and not fixed_bytes(field)

    def keep(self, fields: list[Field]) -> None:
        for field in fields:
            self._column(field)

    def _column(self, field: Field) -> None:
        name, kind, into = f"{self.prefix}{field.id}", field.one, self.local(field)
        if field.size == ex.Literal(0) or field.id in self._sizes():
            return
        if "contents" in field.raw:  # always the same
            return
        if field.repeat:
            raise UnsupportedError("what is repeated inside has no column")
        if kind == TEXT and not self.module.foreign:
            raise UnsupportedError("text has no column, since it may be none: bytes have")
        if kind in (BYTES, TEXT):
            self.byte_fields.append(name)
            self._span(name, into)
            return
        code = None
        if isinstance(kind, Integer) and kind.size:
            code = CODES[kind.size].lower() if kind.signed else CODES[kind.size]
        elif isinstance(kind, Plain) and kind.size:
            code = "f" if kind.size == 4 else "d"
        elif isinstance(kind, Bits) and kind.width <= 64:
            code = "Q" if kind.width > 8 else "B"
        elif scalar_of(kind) is not None:
            code = "Q"
        elif isinstance(kind, Structure):
            return
        if code is None:
            raise UnsupportedError("this has no column")
        self.columns.append((name, code, into))

    def _span(self, name: str, into: str) -> None:
        """The columns of where something starts and ends."""
        self.columns += [(f"{name}_start", "q", f"at_{into}"), (f"{name}_end", "q", f"end_{into}")]

    def _sizes(self) -> set[str]:
        """Fields that only give the lengths of others, which follow from where those start and end."""
        if self.module.foreign:
            return set()
        sizes = [one.size for one in self.type.seq if one.size is not None and one.one == BYTES]
        found = {size.id for size in sizes if isinstance(size, ex.Name)}
        return found | {size.of.id for size in sizes if isinstance(size, ex.Member) and isinstance(size.of, ex.Name)}

    def read_bytes(self, field: Field, into: str, path: str) -> None:
        """Positions of bytes, without copying them. Raises `UnsupportedError` for most that end with a terminator."""
        lines = self.lines
        if ends_with_a_byte(field) and not self.module.foreign:
            stop, after = self.find_mark(field, path, bytes([field.raw["terminator"]]))
            lines.add(f"at_{into} = at", f"end_{into} = {stop}", after)
            return
        if not {"terminator", "pad-right", "process"}.isdisjoint(field.raw) or field.raw.get("type") == "strz":
            raise UnsupportedError("what ends with a terminator has no column")
        lines.add(f"at_{into} = at")
        stop = self.sized_end(field, path)
        if field.one == TEXT:
            lines.add(f"{into} = view[at : {stop}]")
            self.decode(field, into, path)
        lines.add(f"at = end_{into} = {stop}" if stop != "end" else f"at = end_{into} = max(at, end)")

    def read_single(self, field: Field) -> None:
        kind = field.one
        if field.repeat == "until":
            self._up_to_last(field)
            return
        if field.repeat:
            self._numbers(field)
            return
        before = len(self.columns)
        if field.condition is None:
            self._read_here(field, kind)
            return
        with self.lines.block(f"if {self.code(field.condition)}:"):
            self._read_here(field, kind)
        with self.lines.block("else:"):
            absent = [local for _, _, local in self.columns[before:]] or [self.local(field)]
            self.lines.add(f"{' = '.join(absent)} = 0")

    def _read_here(self, field: Field, kind: Kind) -> None:
        if isinstance(kind, Structure) and scalar_of(kind) is None:
            self._nested(field, kind)
            return
        self.read_field(field, self.local(field))
        self.read.add(field.id)
        self.keep([field])

    def _nested(self, field: Field, kind: Structure) -> None:
        if "valid" in field.raw:
            raise UnsupportedError("a structure with a rule has no columns")
        sized = field.size is not None
        if self.module.foreign and len(self.lines.lines) > MOST_LINES:
            raise UnsupportedError("a row of too many fields")
        inner = Scan(self, self.module, kind.type, f"{self.prefix}{field.id}_")
        inner.above_path = f"{self.above_path}{field.id}."
        lines, rest = self.lines, f"rest_{self.local(field)}"
        if sized:
            stop = self.sized_end(field, self.path(field))
            inner.base = f"base_{self.local(field)}"
            before = len(lines.lines)
            lines.add(f"{inner.base} = at", f"{rest} = end", f"end = {stop}")
        inner.sequence()
        if sized:
            if not any(inner.base in line for line in lines.lines[before + 1 :]):
                del lines.lines[before]
            lines.add("at = end", f"end = {rest}")
        self.columns += inner.columns
        self.byte_fields += inner.byte_fields
        self.number_fields |= inner.number_fields
        self.inner[field.id] = inner
        self.read.add(field.id)
        self.bounded = ""

    def _up_to_last(self, field: Field) -> None:
        """Positions of structures up to the last one."""
        kind, lines, into = field.one, self.lines, self.local(field)
        last = field.last
        if self.module.foreign or last is None or not isinstance(kind, Structure):
            raise UnsupportedError("what is repeated inside has no column")
        inner = Scan(self, self.module, kind.type, f"{self.prefix}{field.id}_")
        lines.add(f"at_{into} = at", f"many_{into} = 0")
        with lines.block("try:"), lines.block("while True:"):
            inner.sequence()
            lines.add(f"many_{into} += 1")
            with lines.block(f"if {inner.code(last)}:"):
                lines.add("break")
        with lines.block("except LayoutError as error:"):
            lines.add(f'error.within(f"{self.above_path}{field.id}[{{many_{into}}}]")', "raise")
        lines.add(f"end_{into} = at")
        self._span(f"{self.prefix}{field.id}", into)
        self.byte_fields.append(f"{self.prefix}{field.id}")
        self.read.add(field.id)
        self.bounded = ""

    def _numbers(self, field: Field) -> None:
        """Positions of numbers of one width, counted by another field, without copying them."""
        many = None if self.module.foreign or field.repeat != "expr" else numbers_of(field)
        if many is None or field.condition is not None:
            raise UnsupportedError("what is repeated inside has no column")
        self.count_numbers(field, many.size)
        into, name = self.local(field), f"{self.prefix}{many.name}"
        self.lines.add(f"at_{into} = at", f"at += {many.size} * many", f"end_{into} = at")
        self._span(name, into)
        start, end = f"self.{name}_start[index]", f"self.{name}_end[index]"
        given = f'self.view, {start}, {end} - {start}, "{many.code}", "{many.order}"'
        kind = "float" if many.code in "fd" else "int"
        self.number_fields[name] = f"{self.module.helper('numbers')}({given})", kind
        self.read.add(field.id)

    def above(self, name: str) -> str:
        """The structure around, which columns do not have. Raises `UnsupportedError`."""
        raise UnsupportedError("a structure that looks around itself has no columns")

    def named(self, field: Field) -> tuple[str, int]:
        """A field as Python. Raises `UnsupportedError` for what only an object knows."""
        moving = field.id in (self.type.root.model.moving or ())
        if field.parameter or moving or (field.instance and (field.value is None or is_position(field.value))):
            raise UnsupportedError("this is not known where there is no object")
        return super().named(field)

    def sync(self) -> bool:
        """Nothing: what would look at the stream is refused."""
        return False

    def begin(self) -> str:
        """Where the stream of a structure within begins. Raises `UnsupportedError` for that of the element itself."""
        if not self.base:
            raise UnsupportedError("a structure that looks around itself has no columns")
        return self.base

    def in_place(self, id: str, name: str) -> tuple[str, int] | None:
        inner = self.inner.get(id)
        return inner.named(inner.type.field(name)) if inner is not None else None


def rows_are_plain(type: Type) -> bool:
    """Whether every field of a type is always there and takes bytes, and nothing is read only when it is asked for."""
    return _rows_are_plain(type, 4, {})


def _rows_are_plain(type: Type, depth: int, known: dict[tuple[Type, int], bool]) -> bool:
    if (type, depth) not in known:
        known[type, depth] = _row_is_plain(type, depth, known)
    return known[type, depth]


def _row_is_plain(type: Type, depth: int, known: dict[tuple[Type, int], bool]) -> bool:
    for field in type.seq:
        inner = field.one
        if field.condition is not None or not depth:
            return False
        if isinstance(inner, Structure) and not _rows_are_plain(inner.type, depth - 1, known):
            return False
    takes = any(
        isinstance(one.one, (Integer, Bits)) or (isinstance(one.one, Plain) and one.one.size) for one in type.seq
    )
    return takes and not any(one.value is None for one in type.instances.values())


def scan_text(module: Module, type: Type) -> str:
    """The class of columns and the function that fills it. Raises `UnsupportedError` for what has no columns."""
    scan = Scan(None, module, type)
    if type.endian == DECIDED:
        raise UnsupportedError("a byte order that depends on the data has no columns", type.where)
    for one in type.instances.values():
        if one.value is not None and is_position(one.value):
            raise UnsupportedError("a position has no column", one.where)
    each = type.root.model.foreign and bool(type.raw.get("-sized"))
    _read_row(scan, each)
    sized = any(one.size is not None and columned(one) is type for parent in type.parents for one in parent.fields())
    foreign = type.root.model.foreign
    upward = [one for one, needed in (("parent", scan.needs.parent), ("root", scan.needs.root)) if needed]
    if not type.inside and "root" in upward:
        upward.remove("root")
    if foreign and not sized and not each:
        upward.insert(0, "io")
    methods = [*scan.byte_fields, *scan.number_fields]
    slots = [
        "view",
        "end",
        "at",
        "problem",
        "resume_at",
        *upward,
        *(["_run"] if type.root.model.foreign else []),
        *(["_each"] if each else []),
        *(column for column, _, _ in scan.columns),
    ]
    if len({*slots, *methods}) < len(slots) + len(methods):
        raise UnsupportedError("two columns of one name", type.where)
    if any(map(keyword.iskeyword, slots)):
        raise UnsupportedError("a column whose name is a word of Python", type.where)
    made, function = (_filled if only_number(type) is None or each else _taken)(scan, type)
    reader = scan.module.name_of(type, type.reader_name)
    out = [f"class {type.class_name}Columns:"]
    out += written_doc(f"Many `{type.where}`, one column per field; see `{reader.replace('read_', 'scan_')}`.")
    out.append(f"    __slots__ = ({', '.join(map(repr, slots))})")
    out += made
    out += [f"        self.{name} = None" for name in upward]
    out += ["        self._run = run"] if type.root.model.foreign else []
    out += ["", "    def __len__(self) -> int:", "        return len(self.at)"]
    out += ["", f"    def __getitem__(self, index: int) -> {type.class_name}:"]
    out.append('        """One element as an object."""')
    out += _element(scan, type, reader, upward, sized)
    for field in scan.byte_fields:
        text = ["", f"    def {field}(self, index: int) -> View:", '        """The bytes of one element."""']
        out += [*text, f"        return self.view[self.{field}_start[index] : self.{field}_end[index]]"]
    for field, (taken, kind) in scan.number_fields.items():
        out += ["", f"    def {field}(self, index: int) -> memoryview[{kind}]:"]
        out += ['        """The numbers of one element."""', f"        return {taken}"]
    return "\n".join([*out, "", "", *function])


def _read_row(scan: Scan, each: bool) -> None:
    """Statements that read one row: with `each` a stream of its own, of as many bytes."""
    lines = scan.lines
    lines.depth = 3
    if each:
        scan.base = "first"
        lines.add(
            "if not 0 <= turn <= end - at:", '    raise short("", at, end, turn)', "resume = end", "end = at + turn"
        )
    scan.sequence()
    if each:
        lines.add("at = end", "end = resume")


def _element(scan: Scan, type: Type, reader: str, upward: list[str], sized: bool) -> list[str]:
    """Statements that read one element as an object; `sized`: the type's size is that of the row."""
    foreign = type.root.model.foreign
    if foreign and type.raw.get("-sized"):
        out = ["        at, stop = self.at[index], self.at[index] + self._each"]
        out += [f"        io = {scan.module.helper('Stream')}(self.view, at, stop)"]
        given = ["self.view", "at", "stop", "io", *(f"self.{name}" for name in upward), "run=self._run"]
        return [*out, f"        value, io.at = {reader}({', '.join(given)})", "        return value"]
    given = ["self.view", "self.at[index]", f"self.at[index] + {type_size(type)}" if sized else "self.end"]
    if scan.needs.stream and not (foreign and not sized):
        given.append("None" if foreign else "self.at[index]")
    given += [f"self.{name}" for name in upward]
    given += ["run=self._run"] if foreign else []
    if foreign and not sized and type.root.model.moving is not None:  # the stream stays where it is
        out = ["        at = self.io.at", f"        value = {reader}({', '.join(given)})[0]"]
        return [*out, "        self.io.at = at", "        return value"]
    return [f"        return {reader}({', '.join(given)})[0]"]


PROBLEM = ["        self.problem: LayoutError | None = None", '        """What does not fit; None when all does."""']
RESUME = '        """Where what follows the last element begins."""'
BEGINS = '        """Where each element begins."""'


def _opening(type: Type) -> list[str]:
    """The start of the function that returns columns."""
    reader = type.reader_name.replace("read_", "scan_", 1)
    about = f"The `{type.where}` from `at` to `end`, or `count` of them, as columns; does not raise, see `problem`."
    given, begin = "view: View, at: int, end: int, count: int | None = None", []
    if type.root.model.foreign:
        given += ", run: Run | None = None" + (", each: int = 0" if type.raw.get("-sized") else "")
        begin = ["    if run is None:", "        run = Run(end - at)"]
    return [f"def {reader}({given}) -> {type.class_name}Columns:", *written_doc(about), *begin]


def _taken(scan: Scan, type: Type) -> tuple[list[str], list[str]]:
    """Statements for columns of single numbers, which are the bytes as they are, and the function that returns them."""
    alone = only_number(type)
    assert alone is not None
    size, name = alone.size, alone.name
    taken = f'{scan.module.helper("numbers")}(view, at, {size} * many, "{alone.code}", "{alone.order}")'
    run = ", run" if type.root.model.foreign else ""
    made = ["", f"    def __init__(self, view: View, at: int, end: int, many: int{run and ', run: Run'}) -> None:"]
    made += ["        self.view = view", "        self.end = end"]
    made += [f"        self.at = range(at, at + {size} * many, {size})", BEGINS, *PROBLEM]
    made += [f"        self.resume_at = at + {size} * many", RESUME, f"        self.{name} = {taken}"]
    out = _opening(type)
    out += ["    room = end - at if end > at else 0", f"    whole = room // {size}"]
    out += [f"    many = -(-room // {size}) if count is None else count if count > 0 else 0"]
    if run:
        out.append(f"    run.held -= {size} * (many if many < whole else whole)")
        out += ["    if run.held < 0:", "        raise run.spent()"]
    out += [f"    columns = {type.class_name}Columns(view, at, end, many if many < whole else whole{run})"]
    out += ["    if many > whole:"]
    out += [f'        columns.problem = short(f"[{{whole}}].{name}", columns.resume_at, end, {size})']
    return made, [*out, "    return columns"]


def _filled(scan: Scan, type: Type) -> tuple[list[str], list[str]]:
    """What makes empty columns, and the function that fills them."""
    columns = scan.columns
    scan.module.arrays = True
    run = ", run" if type.root.model.foreign else ""
    more = (run and ", run: Run") + (", each: int" if run and type.raw.get("-sized") else "")
    made = ["", f"    def __init__(self, view: View, end: int{more}) -> None:"]
    made += ["        self.view = view", "        self.end = end"]
    made += ['        self.at = array("q")', BEGINS, *PROBLEM, "        self.resume_at = end", RESUME]
    made += [f'        self.{column} = array("{code}")' for column, code, _ in columns]
    each = bool(run and type.raw.get("-sized"))
    made += ["        self._each = each"] if each else []
    head = Lines()
    head.add(f"columns = {type.class_name}Columns(view, end{run}{', each' if each else ''})")
    if each:
        head.add("turn = each")
    bind = Lines()
    bind.add("add_at = columns.at.append", *(f"add_{column} = columns.{column}.append" for column, _, _ in columns))
    if not type.root.model.foreign and covered(type) is not None:
        scan.module.helpers.add("native")
        with head.block("if native is not None:"):
            many = "-1 if count is None else min(count, end)"
            head.add(f"at = native.{unique_name(type)}(columns, view, at, end, {many})")
    head.add("first = at")
    head.lines += bind.lines
    tail = Lines()
    tail.depth = 3
    if run:  # a row is a step, and more for long rows
        held = sum(array(code).itemsize for _, code, _ in columns)
        tail.add(f"run.steps -= {1 + held // BYTES_OF_A_STEP}", "if run.steps < 0:", "    raise run.over(first)")
    tail.add("add_at(first)", *(f"add_{column}({value})" for column, _, value in columns))
    out = [*_opening(type), *head.lines, "    try:"]
    out.append("        while at < end if count is None else len(columns.at) < count:")
    out.append("            first = at")
    out += scan.lines.lines + tail.lines
    out += ["    except LayoutError as error:", '        error.within(f"[{len(columns.at)}]")']
    out += ["        columns.problem = error.with_traceback(None)  # a traceback holds this call, and so the columns"]
    out += ["        columns.resume_at = first", "    else:"]
    return made, [*out, "        columns.resume_at = at", "    return columns"]
