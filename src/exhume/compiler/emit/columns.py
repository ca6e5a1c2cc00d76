"""Repeated structures as columns: for a type with `-columns: true` a class of arrays and a function that fills it.

    scan_entry(view, at, end, count=None) -> EntryColumns

A row is an element of the list, and a column has one number of each row.  Integers are in typed arrays; bytes and
repeated numbers are given as their start and end in `view`; nothing is copied, and no object is made for a row.  The
column of structures that are one number each is their bytes.  The fields of a structure within the row become
columns, named after the structure and the field; structures that are repeated `until` one is the last are given as
their start and end.  A field that is absent (`if`) is 0 in its column.  Where the data does not fit, the columns
hold the rows before that place; `problem` reports the fault, and `resume_at` where the first row that is not held
begins.

A `Scan` writes the statements that read one row; `scan`, in the functions, is one that has done so.  Own specifications
of exhume have plain rows; those of users (`foreign`) may have wide ones, with choices and lists (`WideScan`), and pay
each row from a budget, `run`.

For exhume's own specifications, compiled code reads the first rows, up to one that does not fit (see
`native_columns`); the loop that is written here starts there, and reports the problem.
"""

from __future__ import annotations

import keyword
from array import array

from exhume.compiler.emit.c_numbers import unique_name
from exhume.compiler.emit.elements import compiled_element
from exhume.compiler.emit.scan import Column, Scan
from exhume.compiler.emit.shared import Module
from exhume.compiler.emit.text import Lines, columned, written_doc
from exhume.compiler.emit.wide import WideScan
from exhume.compiler.front.kinds import DECIDED
from exhume.compiler.front.model import Type
from exhume.compiler.ir.fixed import only_number, type_size
from exhume.compiler.ir.needs import inherits_order, is_position
from exhume.compiler.refusal import UnsupportedError

BYTES_OF_A_STEP = 64
"""Bytes of a row in columns that cost one more step of the budget."""


def marks_of(module: Module, type: Type) -> dict[str, object]:
    """Return the marks of a type with columns: `-around` (arguments from outside of the rows that the reader of columns
    takes) and `-until` (lists whose last row it finds). Raises as `scan_text` does.
    """
    scan = _scan_of(module, type)
    _text(scan, module, type)
    lasts = list(scan.lasts) if isinstance(scan, WideScan) else []
    return {"-around": list(around_rows(scan)), "-until": lasts}


def scan_text(module: Module, type: Type) -> str:
    """Return the class of columns and the function that fills it.  Raises `UnsupportedError` for types without
    columns.
    """
    return _text(_scan_of(module, type), module, type)


def _text(scan: Scan, module: Module, type: Type) -> str:
    """Return the source of the class of columns, followed by the function that fills it (`scan_entry`).

    `scan` is new; one row is read into it here.  The class has a slot for each column, `__getitem__`, which reads
    one row as an object, and a method for each field of bytes or of repeated numbers.  Raises `UnsupportedError` if
    the type has no columns.
    """
    _refuse_positions(scan, type)
    foreign = type.root.model.foreign
    # `each`: the list states the size of a row; `sized`: some field does that has rows of this type.
    each = foreign and bool(type.raw.get("-sized"))
    _read_row(scan, each)
    sized = any(one.size is not None and columned(one) is type for parent in type.parents for one in parent.fields())
    upward = _upward(scan, type, needs_stream=foreign and not sized and not each)
    slots = ["view", "end", "at", "problem", "resume_at", *upward]
    slots += ["_run"] if foreign else []
    slots += ["_each"] if each else []
    slots += [column.name for column in _columns(scan)]
    _check_names(type, slots, [*scan.byte_fields, *scan.number_fields])
    is_numbers = only_number(type) is not None and not each
    constructor, function = (_raw_columns if is_numbers else _filled)(scan, type)
    # The class: constructor, length, one element, and a method for each field of bytes or numbers.
    reader = scan.module.name_of(type, type.reader_name)
    base = f"({module.helper('Table')})" if foreign else ""
    out = [f"class {type.class_name}Columns{base}:"]
    out += written_doc(f"Many `{type.where}`, one column per field; see `{reader.replace('read_', 'scan_')}`.")
    out.append(f"    __slots__ = ({', '.join(map(repr, slots))})")
    out += constructor
    out += [f"        self.{name} = None" for name in upward]
    out += ["        self._run = run"] if foreign else []
    out += ["", "    def __len__(self) -> int:", "        return len(self.at)"]
    out += ["", f"    def __getitem__(self, index: int) -> {type.class_name}:"]
    out.append('        """One element as an object."""')
    if foreign:
        out += [
            "        if not isinstance(index, int):",
            f"            return {module.helper('elements')}(self, index)",
        ]
    out += _element(scan, type, reader, upward, sized)
    out += _methods(scan)
    return "\n".join([*out, "", "", *function])


def _refuse_positions(scan: Scan, type: Type) -> None:
    """Raise `UnsupportedError` if a type has no columns because of its byte order, or of an instance."""
    if type.endian == DECIDED and not isinstance(scan, WideScan):
        raise UnsupportedError("a byte order that depends on the data has no columns", type.where)
    for one in type.instances.values():
        if one.value is not None and is_position(one.value):
            raise UnsupportedError("a position has no column", one.where)


def _upward(scan: Scan, type: Type, *, needs_stream: bool) -> list[str]:
    """Return the attributes of columns that are passed to the reader of single elements: `["io", "parent", "root"]`.

    `needs_stream`: rows have no stream of their own, so they are read from that of the list (`io`).
    """
    names = ["io"] if needs_stream else []
    if scan.needs.parent:
        names.append("parent")
    if scan.needs.root and type.inside:
        names.append("root")
    if isinstance(scan, WideScan) and inherits_order(type):
        names.append("big")
    return names


def _check_names(type: Type, slots: list[str], methods: list[str]) -> None:
    """Raise `UnsupportedError` if two attributes or methods of the columns have the same name, or one is a keyword."""
    names = [*slots, *methods]
    if len({*names}) < len(names):
        raise UnsupportedError("two columns of one name", type.where)
    if any(map(keyword.iskeyword, names)):
        raise UnsupportedError("a column whose name is a word of Python", type.where)


def _methods(scan: Scan) -> list[str]:
    """Return the lines of the methods that return the bytes, or the list of numbers, of a field in row `index`."""
    out: list[str] = []
    for field in scan.byte_fields:
        out += ["", f"    def {field}(self, index: int) -> View:", '        """The bytes of one element."""']
        out.append(f"        return self.view[self.{field}_start[index] : self.{field}_end[index]]")
    for field, (numbers, python_type) in scan.number_fields.items():
        out += ["", f"    def {field}(self, index: int) -> memoryview[{python_type}]:"]
        out += ['        """The numbers of one element."""', f"        return {numbers}"]
    return out


def _scan_of(module: Module, type: Type) -> Scan:
    """Return a new scan of a type's rows; only types of third-party specifications have `-tabled`."""
    return (WideScan if type.raw.get("-tabled") else Scan)(None, module, type)


def _columns(scan: Scan) -> list[Column]:
    """Return the columns with one value per row, and those of lists in the rows."""
    return scan.columns + scan.sets if isinstance(scan, WideScan) else scan.columns


def _read_row(scan: Scan, each: bool) -> None:
    """Emit statements that read one row; with `each`, a row has a stream of its own of `turn` bytes.

    In that stream, `end` is the end of the row and `first` its start; `resume` keeps the end of the list.
    """
    lines = scan.lines
    lines.depth = 3  # in the function, its `try` and its loop
    if each:
        scan.base = "first"
        lines.add(
            "if not 0 <= turn <= end - at:", '    raise short("", at, end, turn)', "resume = end", "end = at + turn"
        )
    scan.sequence()
    if each:
        lines.add("at = end", "end = resume")
    if isinstance(scan, WideScan):
        scan.find_lasts()


def _element(scan: Scan, type: Type, reader: str, upward: list[str], sized: bool) -> list[str]:
    """Return statements that read one row as an object, by calling the reader of its type.

    Readers of foreign specifications also take the stream and the budgets (`run`).  If the type has `-sized`, all rows
    have the size `_each` of the columns.  `sized`: the fields that are read as rows state a size.  `upward`:
    attributes of the columns that are passed to the reader, such as the parent.
    """
    foreign = type.root.model.foreign
    attributes = [f"self.{name}" for name in upward]
    if foreign and type.raw.get("-sized"):
        arguments = ", ".join(["self.view", "at", "stop", "io", *attributes, "run=self._run"])
        return [
            "        at, stop = self.at[index], self.at[index] + self._each",
            f"        io = {scan.module.helper('stream_of')}(self.view, at, stop)",
            f"        value, io.at = {reader}({arguments})",
            "        return value",
        ]
    given = ["self.view", "self.at[index]", f"self.at[index] + {type_size(type)}" if sized else "self.end"]
    if foreign and sized and scan.needs.stream:
        given.append("None")  # the reader makes a stream of the row
    elif not foreign and scan.needs.stream:
        given.append("self.at[index]")  # where the stream of the row begins
    given += attributes
    given += ["run=self._run"] if foreign else []
    call = f"{reader}({', '.join(given)})[0]"
    # A specification that uses `_io.pos` keeps the position in the stream object: reading one row must not move it.
    if foreign and not sized and type.root.model.moving is not None:
        return ["        at = self.io.at", f"        value = {call}", "        self.io.at = at", "        return value"]
    return [f"        return {call}"]


# Lines of the constructor of a class of columns: attributes and their doc strings.
PROBLEM = ["        self.problem: LayoutError | None = None", '        """What does not fit; None when all does."""']
RESUME = '        """Where what follows the last element begins."""'
BEGINS = '        """Where each element begins."""'


def _problem_statements() -> list[str]:
    """Return the `except` branch that stores the error of a row, with its number, in `columns.problem`."""
    return [
        "    except LayoutError as error:",
        '        error.within(f"[{len(columns.at)}]")',
        "        columns.problem = error.with_traceback(None)  # a traceback holds this call, and so the columns",
    ]


def _asked_problem(scan: Scan, type: Type, each: bool) -> list[str]:
    """Return the `except` branch of a row that does not fit: the reader of single elements, called there, raises the
    error.

    A row that it can read has no error but the first one, which the loop over the rows raised.
    """
    around = [one for one in around_rows(scan) if one != "until"]
    given = "".join(f", {'parent' if one == 'above' else one}={one}" for one in around)
    failures, failed = scan.module.helper("FAILURES"), scan.module.helper("failed")
    stop = "first + turn" if each else "end"
    out = [f"    except {failures} as error:"]
    out += [f"        columns.problem = error if isinstance(error, LayoutError) else {failed}(error, first)"]
    lead = "        "
    if each:
        out.append(f"{lead}if 0 <= turn <= columns.end - first:")
        lead += "    "
    out += [f"{lead}try:", f"{lead}    {type.reader_name}(view, first, {stop}, run=run{given})"]
    out += [f"{lead}except LayoutError as error:", f"{lead}    columns.problem = error"]
    out.append('        columns.problem.within(f"[{len(columns.at)}]")')
    return [*out, "        columns.problem = columns.problem.with_traceback(None)"]


def around_rows(scan: Scan) -> dict[str, str]:
    """Return the arguments that the function for columns takes for the structures around the rows, with annotations."""
    return dict(scan.arguments_around()) if isinstance(scan, WideScan) else {}


def _opening(scan: Scan, type: Type) -> list[str]:
    """Return the first lines of the function that returns columns."""
    reader = type.reader_name.replace("read_", "scan_", 1)
    about = f"The `{type.where}` from `at` to `end`, or `count` of them, as columns; does not raise, see `problem`."
    given, begin = "view: View, at: int, end: int, count: int | None = None", []
    if type.root.model.foreign:
        given += ", run: Run | None = None" + (", each: int = 0" if type.raw.get("-sized") else "")
        given += "".join(f", {name}: {annotation}" for name, annotation in around_rows(scan).items())
        begin = ["    if run is None:", "        run = Run(end - at)"]
    return [f"def {reader}({given}) -> {type.class_name}Columns:", *written_doc(about), *begin]


def _number(code: str) -> str:
    """Return the Python type of the numbers in an array of this code."""
    return "float" if code in "fd" else "int"


def _raw_columns(scan: Scan, type: Type) -> tuple[list[str], list[str]]:
    """Return the class body for columns of single numbers, which are views of the bytes, and the function for them.

    In the emitted code, `whole` is the number of rows that the data has, `many` that of the rows requested.
    """
    alone = only_number(type)
    assert alone is not None
    size, name = alone.size, alone.name
    numbers = f'{scan.module.helper("numbers")}(view, at, {size} * many, "{alone.code}", "{alone.order}")'
    foreign = type.root.model.foreign
    parameters = f"self, view: View, at: int, end: int, many: int{', run: Run' if foreign else ''}"
    made = ["", f"    def __init__({parameters}) -> None:"]
    made += ["        self.view: View = view", "        self.end: int = end"]
    made += [f"        self.at: range = range(at, at + {size} * many, {size})", BEGINS, *PROBLEM]
    made += [f"        self.resume_at: int = at + {size} * many", RESUME]
    made += [f"        self.{name}: memoryview[{_number(alone.code)}] = {numbers}"]
    out = _opening(scan, type)
    # In the emitted function, a last number that is incomplete counts as requested: it is then reported as missing.
    out += ["    room = end - at if end > at else 0", f"    whole = room // {size}"]
    out += [f"    many = -(-room // {size}) if count is None else count if count > 0 else 0"]
    if foreign:
        out.append(f"    run.held -= {size} * (many if many < whole else whole)")
        out += ["    if run.held < 0:", "        raise run.spent()"]
    arguments = f"view, at, end, many if many < whole else whole{', run' if foreign else ''}"
    out += [f"    columns = {type.class_name}Columns({arguments})"]
    out += ["    if many > whole:"]
    out += [f'        columns.problem = short(f"[{{whole}}].{name}", columns.resume_at, end, {size})']
    return made, [*out, "    return columns"]


def _filled(scan: Scan, type: Type) -> tuple[list[str], list[str]]:
    """Return the lines of `__init__` of the class of columns, and the lines of the function that fills it."""
    scan.module.arrays = True
    foreign = type.root.model.foreign
    # Only readers of users' specifications take budgets, and the size of each row (`-sized`).
    each = foreign and bool(type.raw.get("-sized"))
    return _arrays(scan, foreign, each), _row_loop(scan, type, each)


def _arrays(scan: Scan, foreign: bool, each: bool) -> list[str]:
    """Return the lines of `__init__` of the class of columns, which makes an empty array for each column."""
    more = (", run: Run" if foreign else "") + (", each: int" if each else "")
    made = ["", f"    def __init__(self, view: View, end: int{more}) -> None:"]
    made += ["        self.view: View = view", "        self.end: int = end"]
    made += ['        self.at: array[int] = array("q")', BEGINS, *PROBLEM, "        self.resume_at: int = end", RESUME]
    for one in _columns(scan):
        made.append(f'        self.{one.name}: array[{_number(one.code)}] = array("{one.code}")')
    return [*made, *(["        self._each = each"] if each else [])]


def _row_loop(scan: Scan, type: Type, each: bool) -> list[str]:
    """Return the lines of the function that fills columns: a loop that reads a row and appends its values.

    In the emitted code, `first` is where the row begins.
    """
    wide = scan if isinstance(scan, WideScan) else None
    more = wide.more_to_come() if wide else "at < end"
    return [
        *_opening(scan, type),
        *_before_loop(scan, type, each),
        *(wide.outward() if wide else []),
        "    try:",
        f"        while {more} if count is None else len(columns.at) < count:",
        "            first = at",
        *scan.lines.lines,
        *_appended(scan, type.root.model.foreign),
        *("        " + line for line in (wide.row_ends() if wide else [])),
        *(_asked_problem(scan, type, each) if type.raw.get("-tabled") else _problem_statements()),
        # After an error, the next row to read is the one that failed.
        "        columns.resume_at = first",
        "    else:",
        "        columns.resume_at = at",
        "    return columns",
    ]


def _before_loop(scan: Scan, type: Type, each: bool) -> list[str]:
    """Return statements that make empty columns, and have compiled code read the first rows, if there is any."""
    foreign = type.root.model.foreign
    head = Lines()
    head.add(f"columns = {type.class_name}Columns(view, end{', run' if foreign else ''}{', each' if each else ''})")
    if each:
        head.add("turn = each")
    if not foreign and compiled_element(type) is not None:
        scan.module.helpers.add("native")
        with head.block("if native is not None:"):
            many = "-1 if count is None else min(count, end)"  # `end` limits a count that does not fit 64 bits
            head.add(f"at = native.{unique_name(type)}(columns, view, at, end, {many})")
    # Local names for the `append` of each column, as attributes would take longer.
    names = [column.name for column in _columns(scan)]
    head.add("first = at", "add_at = columns.at.append", *(f"add_{one} = columns.{one}.append" for one in names))
    return head.lines


def _appended(scan: Scan, foreign: bool) -> list[str]:
    """Return statements that append the values of a row to its columns; in `foreign` modules, they charge a step."""
    tail = Lines()
    tail.depth = 3  # as the statements that read a row
    if foreign:  # a row is a step, and more for long rows
        held = sum(array(one.code).itemsize for one in scan.columns)
        tail.add(f"run.steps -= {1 + held // BYTES_OF_A_STEP}", "if run.steps < 0:", "    raise run.over(first)")
    tail.add("add_at(first)", *(f"add_{one.name}({one.value})" for one in scan.columns))
    return tail.lines
