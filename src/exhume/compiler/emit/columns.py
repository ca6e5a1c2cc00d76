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

Compiled code for columns and flat elements is one Cython module for all types with `-columns: true` or `-element:
true`.  Each function for columns reads rows until one does not fit, and returns where it stopped.  The interpreted
loop starts there and reports the problem, so that errors are written in one place.
"""

from __future__ import annotations

import keyword
from array import array

from exhume.compiler.emit.c_numbers import unique_name
from exhume.compiler.emit.elements import C_TYPES, Element, covered, element_types, structure_name
from exhume.compiler.emit.scan import Column, Scan
from exhume.compiler.emit.shared import Module
from exhume.compiler.emit.text import Lines, columned, written_doc
from exhume.compiler.emit.wide import WideScan
from exhume.compiler.front.kinds import DECIDED
from exhume.compiler.front.model import Type
from exhume.compiler.front.specs import Model
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
    wide = isinstance(scan, WideScan)
    # Refuse types that have no columns.
    if type.endian == DECIDED and not wide:
        raise UnsupportedError("a byte order that depends on the data has no columns", type.where)
    for one in type.instances.values():
        if one.value is not None and is_position(one.value):
            raise UnsupportedError("a position has no column", one.where)
    # `each`: the list states the size of a row; `sized`: some field does that has rows of this type.
    each = type.root.model.foreign and bool(type.raw.get("-sized"))
    _read_row(scan, each)
    # `upward` are the attributes that single elements need: stream, parent, root, byte order.
    sized = any(one.size is not None and columned(one) is type for parent in type.parents for one in parent.fields())
    foreign = type.root.model.foreign
    upward = [one for one, needed in (("parent", scan.needs.parent), ("root", scan.needs.root)) if needed]
    if not type.inside and "root" in upward:
        upward.remove("root")
    if foreign and not sized and not each:
        upward.insert(0, "io")  # rows without a size are read from the stream of the list
    if wide and inherits_order(type):
        upward.append("big")
    # Attributes and methods share one set of names.
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
        *(column for column, _, _ in _columns(scan)),
    ]
    if len({*slots, *methods}) < len(slots) + len(methods):
        raise UnsupportedError("two columns of one name", type.where)
    if any(map(keyword.iskeyword, [*slots, *methods])):
        raise UnsupportedError("a column whose name is a word of Python", type.where)
    # The class: constructor, length, one element, and a method for each field of bytes or numbers.
    made, function = (_filled if only_number(type) is None or each else _raw_columns)(scan, type)
    reader = scan.module.name_of(type, type.reader_name)
    base = f"({module.helper('Table')})" if foreign else ""
    out = [f"class {type.class_name}Columns{base}:"]
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


def _scan_of(module: Module, type: Type) -> Scan:
    """Return a new scan of a type's rows; only types of third-party specifications have `-tabled`."""
    return (WideScan if type.raw.get("-tabled") else Scan)(None, module, type)


def _columns(scan: Scan) -> list[Column]:
    """Return the columns with one value per row, and those of lists in the rows."""
    return [*scan.columns, *(scan.sets if isinstance(scan, WideScan) else ())]


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
    if foreign and type.raw.get("-sized"):
        out = ["        at, stop = self.at[index], self.at[index] + self._each"]
        out += [f"        io = {scan.module.helper('stream_of')}(self.view, at, stop)"]
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


# Lines of the constructor of a class of columns: attributes and their doc strings.
PROBLEM = ["        self.problem: LayoutError | None = None", '        """What does not fit; None when all does."""']
RESUME = '        """Where what follows the last element begins."""'
BEGINS = '        """Where each element begins."""'


def _problem_statements() -> list[str]:
    """Return the `except` branch that stores the error of a row, with its number, in `columns.problem`."""
    out = ["    except LayoutError as error:", '        error.within(f"[{len(columns.at)}]")']
    return [
        *out,
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
    taken = f'{scan.module.helper("numbers")}(view, at, {size} * many, "{alone.code}", "{alone.order}")'
    run = ", run" if type.root.model.foreign else ""
    made = ["", f"    def __init__(self, view: View, at: int, end: int, many: int{run and ', run: Run'}) -> None:"]
    made += ["        self.view: View = view", "        self.end: int = end"]
    made += [f"        self.at: range = range(at, at + {size} * many, {size})", BEGINS, *PROBLEM]
    made += [f"        self.resume_at: int = at + {size} * many", RESUME]
    made += [f"        self.{name}: memoryview[{_number(alone.code)}] = {taken}"]
    out = _opening(scan, type)
    # In the emitted function, a last number that is incomplete counts as requested: it is then reported as missing.
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
    """Return the lines of `__init__` of the class of columns, and the lines of the function that fills it."""
    columns = _columns(scan)
    outward = scan.outward() if isinstance(scan, WideScan) else []
    scan.module.arrays = True
    run = ", run" if type.root.model.foreign else ""
    # Only readers of users' specifications take budgets, and the size of each row (`-sized`).
    more = (run and ", run: Run") + (", each: int" if run and type.raw.get("-sized") else "")
    made = ["", f"    def __init__(self, view: View, end: int{more}) -> None:"]
    made += ["        self.view: View = view", "        self.end: int = end"]
    made += ['        self.at: array[int] = array("q")', BEGINS, *PROBLEM, "        self.resume_at: int = end", RESUME]
    made += [f'        self.{column}: array[{_number(code)}] = array("{code}")' for column, code, _ in columns]
    each = bool(run and type.raw.get("-sized"))
    made += ["        self._each = each"] if each else []
    # The function: `head` is before the loop over the rows, `tail` after the statements that read one row.
    head = Lines()
    head.add(f"columns = {type.class_name}Columns(view, end{run}{', each' if each else ''})")
    if each:
        head.add("turn = each")
    # Local names for the `append` of each column, as attributes would take longer.
    bind = Lines()
    bind.add("add_at = columns.at.append", *(f"add_{column} = columns.{column}.append" for column, _, _ in columns))
    if not type.root.model.foreign and covered(type) is not None:
        scan.module.helpers.add("native")
        with head.block("if native is not None:"):
            many = "-1 if count is None else min(count, end)"  # `end` limits a count that does not fit 64 bits
            head.add(f"at = native.{unique_name(type)}(columns, view, at, end, {many})")
    head.add("first = at")
    head.lines += bind.lines
    tail = Lines()
    tail.depth = 3  # as the statements that read a row
    if run:  # a row is a step, and more for long rows
        held = sum(array(code).itemsize for _, code, _ in scan.columns)
        tail.add(f"run.steps -= {1 + held // BYTES_OF_A_STEP}", "if run.steps < 0:", "    raise run.over(first)")
    tail.add("add_at(first)", *(f"add_{column}({value})" for column, _, value in scan.columns))
    out = [*_opening(scan, type), *head.lines, *outward, "    try:"]
    more = scan.more_to_come() if isinstance(scan, WideScan) else "at < end"
    out.append(f"        while {more} if count is None else len(columns.at) < count:")
    out.append("            first = at")
    out += scan.lines.lines + tail.lines
    out += ["        " + line for line in scan.row_ends()] if isinstance(scan, WideScan) else []
    out += _asked_problem(scan, type, each) if type.raw.get("-tabled") else _problem_statements()
    # After an error, the next row to read is the one that failed.
    out += ["        columns.resume_at = first", "    else:"]
    return made, [*out, "        columns.resume_at = at", "    return columns"]


# `room_for`: `rows` elements took `taken` bytes, and `left` bytes follow.  As many more fit if they have the same
# average size; 1/16 and 64 are added because they may be smaller.  The bounds are `wanted` (unless negative), one
# element per byte, and 8 * rows + 64, since the rest may not contain elements.
HEAD = '''"""Columns filled by compiled code; written by `make generated`, never edited by hand."""
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True

from cpython.buffer cimport PyBUF_READ, PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdlib cimport free, realloc

include "_elements.pxi"

SOURCE = {source!r}
"""What this was compiled from: a module built from other specifications is not used."""


cdef int64_t room_for(int64_t rows, int64_t taken, int64_t left, int64_t wanted) noexcept nogil:
    """Elements to have room for, when there are `rows` in the bytes `taken`: those that are `left`, if they are alike.

    A few more, for they may be shorter; never more than are wanted, than bytes are left for, or than eight times those
    that are there, for what follows may be no elements.
    """
    cdef int64_t room = 8 * rows + 64
    cdef double alike = 1.0625 * rows * left / taken + 64 if taken > 0 else 64
    if rows + alike < room:
        room = rows + <int64_t>alike
    if room > rows + left:
        room = rows + left
    if 0 <= wanted < room:
        room = wanted
    return room if room > rows else rows + 1


cdef bint grow(void **column, size_t size, size_t room) noexcept nogil:
    """Whether a column could be given room for so many elements."""
    cdef void *larger = realloc(column[0], size * room)
    if larger == NULL:
        return False
    column[0] = larger
    return True
'''


def native_text(model: Model, source: str) -> str:
    """Return the source of the Cython module; `source` names its input.  Types that it does not support are left
    out.
    """
    parts = []
    for type in element_types(model):
        if (element := covered(type)) is not None:
            parts += [_scan(element)] if type.raw.get("-columns") and only_number(type) is None else []
            parts += [_flat(element)] if type.raw.get("-element") else []
    return "\n\n".join([HEAD.replace("{source!r}", repr(source)), *parts]) + "\n"


def _scan(element: Element) -> str:
    """Return the function that fills the columns of one type."""
    name = unique_name(element.type)
    columns = [("at", "q"), *((name, code) for name, code, _ in element.columns)]
    lines = Lines()
    lines.add('"""The elements from `start` on that fit, into `columns`; returns where the rest begins."""')
    lines.add("cdef const uint8_t *p", "cdef int64_t at = start, after, rows = 0, room = 0", "cdef bint full = True")
    lines.add(f"cdef {structure_name(element.type)} one")
    lines.add(*(f"cdef {C_TYPES[code]} *c_{name} = NULL" for name, code in columns))
    with lines.block("if view.shape[0] == 0 or stop > view.shape[0] or not 0 <= start <= stop:"):
        lines.add("return start")
    # Without the GIL: read elements into growing C arrays, one for each column.
    lines.add("p = &view[0]")
    with lines.block("with nogil:"), lines.block("while (at < stop) if count < 0 else (rows < count):"):
        lines.add(f"after = read_{name}(p, at, stop, &one)")
        with lines.block("if after < 0:"):
            lines.add("break")
        with lines.block("if rows == room:"):
            lines.add("room = room_for(rows, at - start, stop - at, count)")
            for column, code in columns:
                with lines.block(f"if not grow(<void **> &c_{column}, sizeof({C_TYPES[code]}), room):"):
                    lines.add("full = False", "break")
        lines.add("c_at[rows] = at")
        lines.add(*(f"c_{column}[rows] = one.{column}" for column, _ in columns[1:]), "rows += 1", "at = after")
    # With the GIL: append the arrays to the columns, and free them in any case.
    with lines.block("try:"):
        with lines.block("if not full:"):
            lines.add("raise MemoryError")
        with lines.block("if rows:"):
            for column, code in columns:
                size = f"rows * sizeof({C_TYPES[code]})"
                lines.add(
                    f"columns.{column}.frombytes(PyMemoryView_FromMemory(<char *> c_{column}, {size}, PyBUF_READ))"
                )
    with lines.block("finally:"):
        lines.add(*(f"free(c_{column})" for column, _ in columns))
    lines.add("return at")
    opening = f"def {name}(columns, const uint8_t[::1] view, int64_t start, int64_t stop, int64_t count):"
    return "\n".join([opening, *lines.lines]) + "\n"


def _flat(element: Element) -> str:
    """Return the function that returns one element as a tuple."""
    name = unique_name(element.type)
    lines = Lines()
    lines.add('"""Where the element at `at` ends, and its fields; None when it does not fit."""')
    lines.add("cdef Py_buffer buffer", f"cdef {structure_name(element.type)} one", "cdef int64_t after = -1")
    lines.add("PyObject_GetBuffer(view, &buffer, PyBUF_SIMPLE)")
    with lines.block("if 0 <= at <= end <= buffer.len:"):
        lines.add(f"after = read_{name}(<const uint8_t *> buffer.buf, at, end, &one)")
    lines.add("PyBuffer_Release(&buffer)")
    fields = "".join(f", one.{column}" for column, _, _ in element.columns)
    lines.add(f"return None if after < 0 else (after{fields})")
    return "\n".join([f"def flat_{name}(view, int64_t at, int64_t end):", *lines.lines]) + "\n"
