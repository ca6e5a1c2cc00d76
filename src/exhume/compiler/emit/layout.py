"""The module that all generated readers share (`_layout`): classes and functions that their code calls.

It is kept as source code in strings, because it is written next to the readers, which must not need exhume:

    LAYOUT      errors and numbers, for all readers
    NATIVE      loads compiled code, for exhume's own specifications
    FOREIGN     streams, the base class of structures, budgets and checked operations, for specifications of users

A reader is a generated function that reads one type from a view (bytes) between two offsets.  `Run` has the budgets
of a reading: `steps`, so that no data keeps it busy forever, and `held`, bytes of memory.  `attach` replaces readers
by those of an extension module, which are compiled C (see `extension`); the Python ones stay for data that these
give up. Names in capitals between `<` and `>` are replaced by the limits of `refusal` at the end.

A generated class has `_reader` (the function that reads it), `_native` and `_alone` (the same, compiled: for a stream,
and for bytes from their start; None without an extension), `_accepts` (for each parameter, the classes of its values),
`_fields` (names of `seq` and `params`), and `_inside` (whether it may be in another structure of its specification).
`Table` is the base class of `XColumns`, the columns of a list of structures X: an array for each field.  Its `_scan` is
the generated function that reads them, such as `scan_entry`.  `_where` of a list of rows is what `columns_of` needs to
read it as columns.  `collects`: whether the garbage collector was on before.  `again` is a second budget of a reading,
for lists that are read again.
"""

from __future__ import annotations

from exhume.compiler import refusal

# For all readers.
LAYOUT = '''"""What all readers raise, and how they say which field is truncated.  Written by `make generated`."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # `typing` is for type checkers; it takes longer to import than all of this
if TYPE_CHECKING:
    from typing import Any

View = bytes | memoryview
"""What readers read from."""


class LayoutError(ValueError):
    """Bytes that do not fit a specification.

    `path` leads to the field (`entries[3].len_key`), `offset` and `stop` are where it starts and ends in the view that
    was read; `expected` and `found` say why.  `short` means that the data ended inside the field.
    """

    def __init__(self, path: str, offset: int, stop: int, expected: Any, found: Any, *, short: bool = False) -> None:
        super().__init__(path, offset, stop, expected, found)
        self.path: str = path
        self.offset: int = offset
        self.stop: int = stop
        self.expected: Any = expected
        self.found: Any = found
        self.short: bool = short

    def within(self, path: str) -> None:
        """Puts the path of what encloses the field before its own."""
        self.path = f"{path}.{self.path}" if self.path and not self.path.startswith("[") else path + self.path

    def __str__(self) -> str:
        return f"{self.path} at {self.offset}: expected {self.expected}, found {self.found}"


ORDER = sys.byteorder
"""Which byte of a number this machine has first."""


def numbers(view: View, at: int, size: int, code: str, order: str) -> memoryview[Any]:
    """The numbers in `size` bytes from `at` on, each of the kind that `code` names for `array`.

    They are not copied unless their byte order is not that of the machine.
    """
    found = (view if isinstance(view, memoryview) else memoryview(view))[at : at + size]
    if order == ORDER:
        return found.cast(code)
    from array import array

    turned = array(code, bytes(found))
    turned.byteswap()
    return memoryview(turned)


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
        return LayoutError(path, start, end, "a size of at least 0", size)
    return LayoutError(path, start, end, _bytes(size), _bytes(max(0, end - start)), short=True)


def _bytes(count: int) -> str:
    return "1 byte" if count == 1 else f"{count} bytes"
'''

# Appended to `LAYOUT` for exhume's own specifications.
NATIVE = '''

SOURCE = "{source}"
"""What these readers were compiled from; compiled code that was built from anything else is not used."""


def _load() -> Any:
    """The compiled code; None without it, or when `EXHUME_PURE=1` forbids it."""
    if os.environ.get("EXHUME_PURE", "") not in ("", "0"):
        return None
    try:
        from . import _native
    except ImportError:
        return None
    return _native if _native.SOURCE == SOURCE else None


native: Any = _load()
"""The functions that fill columns in compiled code; None where there are none."""
'''

# Appended to `LAYOUT` for specifications of users.
FOREIGN = '''

import gc
import zlib
from operator import index as whole
from operator import itemgetter
from sys import version_info
from types import FunctionType, ModuleType


class EndError(LayoutError, EOFError):
    """The data end inside a field."""


FAILURES = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
"""Exceptions that an expression may raise if the data do not fit the specification."""


def failed(error: Exception, at: int, value: Any = None) -> LayoutError:
    """Return the error for an expression at an offset that has no value; a `LayoutError` with a path stays as it is.

    `value` is the structure that was being read: the expression is that of its first missing field.
    """
    if isinstance(error, LayoutError) and error.path:
        return error
    path = next((name for name in value._fields if not hasattr(value, name)), "") if value is not None else ""
    if isinstance(error, LayoutError):  # of a helper, which knows neither field nor place
        return type(error)(path, at, at, error.expected, error.found)
    if isinstance(error, RecursionError):
        return LayoutError(path, at, at, "structures that end", "more within each other than fit")
    if isinstance(error, IndexError):  # each kind of list has its own words for it
        return LayoutError(path, at, at, "an element of a list", "an index out of range")
    return LayoutError(path, at, at, "a value", f"{type(error).__name__}: {error}"[:200])


_short = short


def short(path: Any, at: int, end: int, size: int) -> LayoutError:
    """The same error as an `EndError`, which is also Python's error for an end of file."""
    error = _short(path, at, end, size)
    if not error.short:
        return error
    return EndError(error.path, error.offset, error.stop, error.expected, error.found, short=True)


class Stream:
    """The bytes that structures are read from: `view` from `base` to `end`; `at` is the position of the next read."""

    __slots__ = ("at", "base", "end", "left", "view")

    def __init__(self, view: View, base: int, end: int) -> None:
        self.view = view
        self.base = self.at = base
        self.end = end
        self.left = 0  # bits of the byte before `at`

    def size(self) -> int:
        """Number of bytes."""
        return self.end - self.base

    def pos(self) -> int:
        """Position of the next read, from the start of the stream."""
        return self.at - self.base

    def is_eof(self) -> bool:
        """Whether reading is at the end."""
        return self.at >= self.end and not self.left

    def to_byte_array(self) -> bytes:
        """All of the bytes."""
        return bytes(self.view[self.base : self.end])

    def __repr__(self) -> str:
        return f"<stream of {self.size()} bytes at {self.pos()}>"


_new = object.__new__


def stream_of(view: View, base: int, end: int) -> Stream:
    """Return a new stream, in half of the time that a call of its class takes."""
    made = _new(Stream)
    made.view = view
    made.base = made.at = base
    made.end = end
    made.left = 0
    return made


class Kind(type):
    """The class of classes of structures: calling one reads a structure, and `_make` makes an empty one.

    Classes have no `__new__` and no `__init__` for it, because Python makes objects of classes with either in twice the
    time.
    """

    _make: Any

    def __init__(cls, *arguments: Any) -> None:
        super().__init__(*arguments)
        cls._make = type.__call__.__get__(cls)

    def __call__(cls, *arguments: Any) -> Any:
        """Reads it as Kaitai's classes are made: `arguments` are its parameters and a stream, file object or bytes."""
        if not arguments:
            return cls._make()
        many = len(cls._parameters())
        if not many < len(arguments) <= many + 3:
            raise TypeError(f"{cls.__name__} takes {_counted(many)} and a stream")
        return cls._from(_stream(arguments[many]), arguments[:many], *arguments[many + 1 :])


class Structure(metaclass=Kind):
    """Base class of the structures of a specification."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()
    _native: Any = None
    _alone: Any = None
    _reader: Any = None
    _accepts: tuple[Any, ...] = ()
    _inside = True

    @classmethod
    def _parameters(cls) -> tuple[str, ...]:
        return (_CALLED.get(cls) or _called(cls)).names

    @classmethod
    def from_bytes(cls, data: View, *arguments: Any) -> Any:
        """Reads it from bytes; `arguments` are its parameters.  Raises `LayoutError`."""
        if type(data) is not bytes:
            data = fixed(data)
        if cls._alone is not None and not arguments and len(data) < SMALL:
            return cls._alone(data)
        return cls._from(stream_of(data, 0, len(data)), arguments)

    @classmethod
    def from_file(cls, path: Any, *arguments: Any) -> Any:
        """Reads it from the file at a path, likewise; a large file is mapped."""
        with open(path, "rb") as file:
            return cls.from_bytes(_mapped(file), *arguments)

    @classmethod
    def from_io(cls, io: Any, *arguments: Any) -> Any:
        """Reads it from a file object, from where that is on; it is left at the end of what was read."""
        stream = _stream(io)
        found = cls._from(stream, arguments)
        if io.seekable():
            io.seek(stream.at)
        return found

    @classmethod
    def _from(cls, stream: Stream, arguments: tuple[Any, ...], parent: Any = None, root: Any = None) -> Any:
        called = _CALLED.get(cls) or _called(cls)
        if called.names or arguments:
            _check(cls, called.names, arguments)
        size = stream.end - stream.at
        if cls._native is not None and size < SMALL:
            return cls._native.whole(stream, parent, root, arguments)
        read = cls._native or cls._reader
        around = called.pick((stream, parent, root, False, None))
        collects = size >= TINY and pause()
        try:
            value, stream.at = read(stream.view, stream.at, stream.end, *around, *arguments)
        finally:
            if collects:
                resume(collects, size)
        return value

    @property
    def _root(self) -> Any:
        """The outermost structure."""
        found: Any = self
        while found._parent is not None:
            found = found._parent
        return None if found._inside else found

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Does nothing: no file stays open.  It is there because Kaitai's classes have it."""

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={_shown(getattr(self, name, None))}" for name in self._fields[:8])
        return f"{type(self).__name__}({shown}{', ...' if len(self._fields) > 8 else ''})"


MAPPED = 1 << 20
"""Size in bytes of the smallest file that is mapped."""


def _mapped(file: Any) -> Any:
    """The bytes of a file; a large one is mapped, and need not fit into memory."""
    import mmap
    import os

    size = os.fstat(file.fileno()).st_size
    if size < MAPPED:
        return file.read()
    try:
        return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
    except OSError:
        return file.read()


def fixed(data: Any) -> Any:
    """Return the caller's bytes as `bytes`, which nobody changes later, and which have an order (`<`).

    Fields and instances are read from them as long as the structure exists.  A file that is mapped stays one: slices
    of it are bytes.  Raises `TypeError` for anything but bytes.
    """
    view = memoryview(data)
    return data if view.readonly and hasattr(data, "find") else view.tobytes()


def _stream(io: Any) -> Stream:
    """Return a stream over the input: a stream of ours or of Kaitai's, bytes, or a file object."""
    if isinstance(io, Stream):
        return io
    if isinstance(io, (bytes, bytearray, memoryview)):
        data = bytes(io)
        return Stream(data, 0, len(data))
    io = getattr(io, "_io", io)
    at = 0
    if io.seekable():
        at = io.tell()
        io.seek(0)
    found = Stream(fixed(io.read()), 0, 0)
    found.end, found.at = len(found.view), at
    return found


AROUND = ("io", "parent", "root", "big", "run")
"""Arguments that readers may have besides the bytes and the parameters of the type."""


class Called:
    """The arguments of a class's reader: those that `pick` selects from `AROUND`, then the parameters in `names`."""

    __slots__ = ("names", "pick")

    def __init__(self, reader: Any) -> None:
        code = reader.__code__
        names = code.co_varnames[3 : code.co_argcount]
        self.names = tuple(name for name in names if name not in AROUND)
        around = (AROUND.index(name) for name in names if name in AROUND)
        self.pick = itemgetter(*around)  # always a stream and budgets


_CALLED: dict[Any, Called] = {}


def _called(cls: Any) -> Called:
    _CALLED[cls] = found = Called(cls._reader)
    if not found.names and cls._native is None:
        cls._alone = staticmethod(_alone(cls, cls._reader))
    return found


def _alone(cls: Any, read: Any) -> Any:
    """Return a function that reads structures without parameters from bytes, for small ones in the shortest way."""

    def alone(data: View) -> Any:
        size = len(data)
        stream = stream_of(data, 0, size)
        if size >= TINY:
            return cls._from(stream, ())
        value, stream.at = read(data, 0, size, stream)
        return value

    return alone


def _counted(many: int) -> str:
    return f"{many} parameter{'s' * (many != 1)}"


def _check(cls: Any, names: tuple[str, ...], arguments: tuple[Any, ...]) -> None:
    """Raises `TypeError` for arguments that are not the parameters of a type."""
    if len(arguments) != len(names):
        raise TypeError(f"{cls.__name__} takes {_counted(len(names))}, not {len(arguments)}")
    for name, value, classes in zip(names, arguments, cls._accepts):
        if classes and not isinstance(value, classes):
            wanted = " or ".join(one.__name__ for one in classes)
            raise TypeError(f"{cls.__name__}: the parameter {name} is {wanted}, not {type(value).__name__}")


CALLS = 8
"""Calls after which Python 3.11 adapts the code of a function to the values in it, and runs it up to twice as fast."""


def warm(*functions: Any) -> None:
    """Call functions that read often enough for Python 3.11, since a long list is read by one call.

    They are given zeros, which have no budget and hold no bytes, so they end before they read or change anything.
    Later versions of Python adapt code while it loops.
    """
    for function in functions if version_info[:2] == (3, 11) else ():
        for _ in range(CALLS):
            try:
                function(*(0,) * function.__code__.co_argcount)
            except (*FAILURES, NoColumnsError):
                pass


MANY = 1_000
"""If one reading makes more objects, they are moved to the oldest generation of the garbage collector."""
SMALL = 1 << 18
"""Inputs with fewer bytes are left to the collector, which frees values that are dropped early."""
TINY = 1 << 10
"""For inputs with fewer bytes, stopping the collector takes longer than it saves."""
SPARED = 500_000
"""With more unexamined objects, the next reading starts with a full run of the collector."""


class _Spared:
    """Objects that the collector has not examined `since` its last full run, and those `alive` after that run."""

    since = alive = 0
    others = False
    """Whether another library froze objects: these must stay frozen."""


def pause() -> bool:
    """Stop the garbage collector, which takes longer than reading, and return whether it was on.

    Nothing that is being read is garbage.  Objects of earlier readings are examined here once there may be many.
    """
    if not gc.isenabled():
        return False
    if _Spared.since > SPARED and _Spared.since > _Spared.alive // 4:
        _Spared.alive = max(0, _Spared.alive + _Spared.since - gc.collect())
        _Spared.since = 0
    gc.disable()
    return True


def resume(collects: bool, size: int = SMALL) -> None:
    """Restart the collector, if it was on.

    Many new objects, of an input of at least `SMALL` bytes, are moved to its oldest generation, unexamined.
    """
    if not collects:
        return
    made = gc.get_count()[0]
    if size >= SMALL and made > MANY and not _Spared.others:
        # Unfreezing is for all frozen objects of the process.  To count them takes long where there are many: once.
        _Spared.others = gc.get_freeze_count() > 0
        if not _Spared.others:
            gc.freeze()
            gc.unfreeze()
            _Spared.since += made
    gc.enable()


def _shown(value: Any) -> str:
    if isinstance(value, bytes) or (isinstance(value, memoryview) and value.format == "B"):
        return repr(bytes(value)) if len(value) <= 16 else f"<{len(value)} bytes>"
    if isinstance(value, Structure):
        return f"{type(value).__name__}(...)"
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else f"{value[:40]}...")
    if isinstance(value, int) and hasattr(value, "_value2member_map_"):
        return f"{type(value).__name__}.{value.name}"
    return f"<{len(value)} element{'s' * (len(value) != 1)}>" if hasattr(value, "__len__") else str(value)


def attach(native: Any, plan: Any, layout: Any, modules: Any, given: Any, left: Any = ()) -> None:
    """Replace the functions of readers by the compiled ones of the extension module `native`.

    `modules` are the readers by id, `layout` is the module that they share, `given` has the objects of the caller, and
    `left` are readers that stay interpreted, as (id, name).  `plan` has lists, whose order is that of the numbers in
    compiled code: `values` (Python objects that the code uses), `slots` (fields that it reads from objects), `makers`
    (classes that it makes objects of), and `getters`, `readers` and `rows` (functions to replace).
    """
    if plan["source"] != [(native.SOURCE,)]:
        raise ImportError("the extension module was made of something else")

    def found(kind: str, *where: Any) -> Any:
        # A value of the plan: itself, from `layout`, from `given`, of a module, or the members of a module's enum.
        if kind == "constant":
            return where[0]
        if kind in ("shared", "given"):
            return getattr(layout if kind == "shared" else given, where[0])
        value = modules[where[0]]
        for name in where[1].split("."):
            value = getattr(value, name)
        return value if kind == "of" else value._value2member_map_

    owners = [(getattr(modules[id], owner), name) for id, owner, name in plan["slots"]]
    makers = [getattr(modules[id], owner) for id, owner in plan["makers"]]
    native.give([found(*one) for one in plan["values"]], owners, [(one, _plain_fields(one)) for one in makers])
    for id, owner, name, number, slots in plan["getters"]:
        cls = getattr(modules[id], owner)
        setattr(cls, name, native.getter(number, vars(cls)[name], cls, slots))
    plain = _interpreted(modules)
    readers = {}
    for id, name, number, names in plan["readers"]:
        if (id, name) in left:
            continue
        python = getattr(modules[id], name)
        readers[python] = native.reader(number, getattr(plain[id], name), names)
        setattr(modules[id], name, readers[python])
    for id, owner, name in (one for one in plan["rows"] if (one[0], one[2]) not in left):
        getattr(modules[id], owner).__iter__ = _over(native.rows, vars(modules[id])[name])
    for module in modules.values():
        for one in vars(module).values():
            if isinstance(one, type) and issubclass(one, Structure) and one is not Structure:
                native.owns(one, "_parent", "_root")
                one._native = readers.get(one._reader)
                if one._native is not None and not Called(one._reader).names:
                    one._alone = one._native.alone
            elif isinstance(one, type) and issubclass(one, Table) and one is not Table:
                native.owns(one, "parent", "root")
                if one._scan in readers:
                    one._scan = readers[one._scan]


PLAIN = frozenset(("None", "View", "_Stream", "bool", "bytes", "float", "int", "str"))
"""Types of values that cannot contain a structure."""


def _plain_fields(cls: Any) -> set[str]:
    """The fields of a class that refer neither to structures nor to lists."""
    said = {name: str(one) for name, one in cls.__dict__.get("__annotations__", {}).items()}
    for name, one in vars(cls).items():
        if isinstance(one, property) and "return" in (one.fget.__annotations__ if one.fget else {}):
            said[f"_{name}"] = one.fget.__annotations__["return"]
    plain = {name for name, one in said.items() if PLAIN.issuperset(one.split(" | "))}
    return plain | {"_parent", "_root", "_io", "_run"}


def _interpreted(modules: Any) -> dict[str, ModuleType]:
    """Copies of the modules in which the Python functions call each other: compiled functions that give up call these.

    Such calls do not use the machine's stack, so structures may be nested as deep as in Python alone.
    """
    copies = {id: ModuleType(module.__name__) for id, module in modules.items()}
    of = {module: copies[id] for id, module in modules.items()}
    for module, copy in of.items():
        names = vars(copy)
        for name, value in vars(module).items():
            if isinstance(value, FunctionType) and value.__globals__ is vars(module):
                made = FunctionType(value.__code__, names, value.__name__, value.__defaults__, value.__closure__)
                made.__kwdefaults__ = value.__kwdefaults__
                names[name] = made
            else:
                names[name] = of.get(value, value) if isinstance(value, ModuleType) else value
    return copies


class Table:
    """Base class of the columns of a specification."""

    __slots__ = ()
    _scan: Any = None


class NoColumnsError(Exception):
    """The rows of this file have no columns, only objects; those of other files may have columns."""

    def __str__(self) -> str:
        return "these rows have no columns, only objects"


def word(value: Any, least: int, most: int) -> int:
    """Return a number that the reading of all rows depends on; raises `NoColumnsError` if it is out of range."""
    if isinstance(value, int) and least <= value <= most:
        return int(value)
    raise NoColumnsError


def columns_of(rows: Any) -> Any:
    """Read the elements of a list as columns."""
    kind, view, at, end, *more = rows._where
    made = kind._scan(view, at, end, len(rows), Run(end - at), *more)
    if made.problem is not None:
        raise made.problem
    for name in ("parent", "root", "big") if rows else ():
        if hasattr(made, name):
            setattr(made, name, getattr(rows[0], f"_{name}") if name != "big" else more[-1])
    if hasattr(made, "io") and rows:
        made.io = rows[0]._io
    return made


class Rows(list):
    """The elements of a list, which are read as columns when the first column is used.

    `_where` has the class of the columns, the bytes, where the elements begin, where their stream ends, and further
    arguments of the reader of columns: the size of an element, if all have the same, and the `AROUND` of the list.
    """

    __slots__ = ("_columns", "_where")

    @property
    def _is_compiled(self) -> bool:
        """Whether reading the rows again, as columns, takes less time than getting the values from the objects."""
        return hasattr(self._where[0]._scan, "python")

    def _if_any(self) -> Any:
        """All columns; None if the rows of this file have none."""
        try:
            return self.columns
        except NoColumnsError:
            return None

    @property
    def columns(self) -> Any:
        """All columns; those whose names are not names of methods of lists are attributes of the list as well.

        Raises `NoColumnsError` if the rows of this file have none.
        """
        if not hasattr(self, "_columns"):
            self._columns = columns_of(self)
        return self._columns

    def __getattr__(self, name: str) -> Any:
        if name[:1] == "_" or (made := self._if_any()) is None:
            raise AttributeError(name)
        return getattr(made, name)


def elements(columns: Any, index: Any) -> Any:
    """Return a list of the rows that a slice selects, or one row for a number of another class than `int`."""
    if isinstance(index, slice):
        return [columns[one] for one in range(*index.indices(len(columns)))]
    return columns[whole(index)]


def _over(rows: Any, reader: Any) -> Any:
    """Return a method of columns that iterates over their elements as objects."""
    return lambda columns: rows(reader, columns)


def read_outside(read: Any, view: View, at: int, end: int, *arguments: Any) -> tuple[Any, int]:
    """Call the caller's reader of an opaque type, which returns a value and its size; return the value and its end."""
    value, size = read(bytes(view[at:end]), *arguments)
    if not isinstance(size, int) or not 0 <= size <= max(0, end - at):
        raise LayoutError("", at, end, "a size within the stream", size)
    return value, at + size


def processed(routine: Any, data: View, *arguments: Any) -> bytes:
    """Return bytes decoded by the caller's `process` routine.  Raises `TypeError` if it returns anything else."""
    return bytes(memoryview(routine(*arguments).decode(bytes(data))))


def named(names: Any, value: Any) -> Any:
    """Return a number, or each number of a list, as the member of an enum, if it has one."""
    if value is None or isinstance(value, int):
        return names(value, value)
    return [names(one, one) for one in value]


MOST_BITS = <BITS>
"""Most bits of a computed number; Kaitai's own have 64."""
MOST_DIGITS = <DIGITS>
"""Most characters of a string that is converted to a number."""
MOST_TEXT = <TEXT>
"""Most characters of a computed string."""


class BudgetError(LayoutError):
    """A specification requests more than one reading may cost; the bytes may be valid."""

    budget = True


class Run:
    """The remaining budgets of one reading: `steps`, and the bytes that may be `held`."""

    __slots__ = ("again", "held", "most", "size", "steps")

    def __init__(self, size: int) -> None:
        self.size = size
        self.again: Any = None
        self.steps = self.most = <STEPS> + <STEPS_PER_BYTE> * size
        self.held = <HELD> + <HELD_PER_BYTE> * size

    def second(self) -> Run:
        """Budgets for reading lists again as columns; all lists of one reading share them."""
        if self.again is None:
            self.again = Run(self.size)
        return self.again

    def over(self, at: int, path: str = "") -> BudgetError:
        """The error for too many steps."""
        return BudgetError(path, at, at, f"at most {self.most} structures, elements and instances", "more")

    def hold(self, many: int, path: str = "", at: int = 0) -> None:
        """Charge bytes to the budget."""
        self.held -= many
        if self.held < 0:
            raise self.spent(path, at)

    def spent(self, path: str = "", at: int = 0) -> BudgetError:
        """The error for too many bytes."""
        most = <HELD> + <HELD_PER_BYTE> * self.size
        return BudgetError(path, at, at, f"at most {most} bytes that are copied, decoded or made", "more")


def weighed(run: Run, value: Any, times: int = 1) -> Any:
    """Charge the length of a value that is about to be examined as a whole, and return the value."""
    if value is not None:
        run.hold(len(value) * times)
    return value


def shifted(number: int, places: int) -> int:
    """A number shifted to the left, to a bound: numbers that double from value to value would fill the memory."""
    if number.bit_length() + places > MOST_BITS:
        raise BudgetError("", 0, 0, f"a number of at most {MOST_BITS} bits", "more")
    return number << places


_WORD = 1 << 64
"""Numbers below it, and sums and products of two of them, are far from any bound."""
_LEAST = -_WORD


def multiplied(one: Any, other: Any) -> Any:
    """A product, to the same bound; so are its factors."""
    made = one * other
    if _LEAST < made < _WORD:
        return made
    if isinstance(made, int) and made.bit_length() > MOST_BITS:
        raise BudgetError("", 0, 0, f"a number of at most {MOST_BITS} bits", "more")
    return made


def joined(run: Run, first: Any, second: Any, *others: Any) -> Any:
    """Concatenated strings, or a sum, to a bound."""
    if type(first) is int and _LEAST < first < _WORD and not others:
        return first + second
    for other in (second, *others):
        if isinstance(first, str):
            if len(first) + len(other) > MOST_TEXT:
                raise BudgetError("", 0, 0, f"at most {MOST_TEXT} characters put together", "more")
            run.hold(len(first) + len(other))
        elif isinstance(first, int) and first.bit_length() > MOST_BITS:
            raise BudgetError("", 0, 0, f"a number of at most {MOST_BITS} bits", "more")
        first = first + other
    return first


def number(text: str, base: int = 10) -> int:
    """A string converted to a number, to a bound: converting very long strings takes too long."""
    if len(text) > MOST_DIGITS:
        raise BudgetError("", 0, 0, f"a number of at most {MOST_DIGITS} digits", f"{len(text)} characters")
    return int(text, base)


def taken(value: Any, classes: Any, wanted: str) -> Any:
    """Return a value if it is of the class that the specification expects, or None; raises `LayoutError` for others."""
    if value is None or isinstance(value, classes):
        return value
    found = "something else"
    for kind, word in ((int, "an integer"), (float, "a float"), (str, "a text"), (list, "a list")):
        if isinstance(value, kind):
            found = word
    raise LayoutError("", 0, 0, wanted, found)


def all_taken(run: Run, values: Any, classes: Any, wanted: str) -> Any:
    """The same for every element of a list."""
    if isinstance(values, (int, float, str)):
        raise LayoutError("", 0, 0, "a list", "a single value")
    for one in weighed(run, values) if values is not None else ():
        taken(one, classes, wanted)
    return values


def find(run: Run, view: View, mark: bytes, at: int, end: int) -> int:
    """Offset of the terminator of bytes, -1 without one; one of several bytes is only at multiples of its length."""
    step = len(mark)
    for start in range(at, end, 4096 * step):
        part = bytes(view[start : min(end, start + 4096 * step)])
        found = part.find(mark)
        while found % step and found >= 0:
            found = part.find(mark, found + 1)
        if found >= 0:
            run.hold(found)
            return start + found
        run.hold(len(part))
    return -1


def ended(run: Run, data: View, mark: bytes, include: bool = False) -> View:
    """Bytes up to their terminator; all of them without one."""
    if type(data) is bytes and len(mark) == 1:
        found = data.find(mark)
        run.held -= len(data) if found < 0 else found
        if run.held < 0:
            raise run.spent()
    else:
        found = find(run, data, mark, 0, len(data))
    return data if found < 0 else data[: found + len(mark) if include else found]


def bits(view: View, bit: int, end: int, width: int, order: Any, path: str) -> int:
    """The number in `width` bits from the bit `bit` on.  If bits are missing, the error is at the next whole byte."""
    first, last = bit // 8, (bit + width + 7) // 8
    if last > end:
        begun = -(-bit // 8)
        raise short(path, begun, end, last - begun)
    whole = int.from_bytes(view[first:last], order)
    shift = bit % 8 if order == "little" else last * 8 - bit - width
    return whole >> shift & (1 << width) - 1


def inflated(run: Run, data: View, path: str, at: int) -> bytes:
    """Decompress bytes (zlib)."""
    inflate = zlib.decompressobj()
    try:
        out = inflate.decompress(data, max(0, run.held) + 1)
    except zlib.error as error:
        raise LayoutError(path, at, at + len(data), "compressed bytes (zlib)", str(error)) from error
    run.hold(len(out), path, at)
    more = <STEPS_PER_BYTE> * min(len(out), <INFLATED> * len(data))
    run.steps, run.most = run.steps + more, run.most + more
    if not inflate.eof:
        raise LayoutError(path, at, at + len(data), "a whole stream (zlib)", "one that is truncated")
    return out


def xored(run: Run, data: View, key: int | View) -> bytes:
    """Bytes combined (XOR) with a key: a number, or a list of which only the numbers that are used have to be bytes."""
    run.hold(len(data) + (0 if isinstance(key, int) else len(key)))
    used = [key] if isinstance(key, int) else key
    long = bytes(used if isinstance(used, bytes) else list(used[: len(data)])) if data else b""
    if not long:
        return b""
    repeated = long * (len(data) // len(long) + 1)
    whole = int.from_bytes(data, "little") ^ int.from_bytes(repeated[: len(data)], "little")
    return whole.to_bytes(len(data), "little")


def rotated(run: Run, data: View, amount: int) -> bytes:
    """Bytes, each rotated to the left by 0 to 8 bits; Kaitai's languages disagree about other amounts."""
    if not 0 <= amount <= 8:
        raise LayoutError("", 0, 0, "to rotate by 0 to 8 bits", amount)
    run.hold(len(data))
    amount %= 8
    return bytes(data).translate(bytes((one << amount | one >> 8 - amount) & 255 for one in range(256)))
'''
"""Further classes and functions for readers of third-party specifications."""

# Insert the limits, such as `<STEPS>`.
for _name, _value in vars(refusal).items():
    FOREIGN = FOREIGN.replace(f"<{_name}>", str(_value))
