"""Streams and the base class of structures: the second part of `_layout` for specifications of users, as source code.

A generated reader is a function that reads one type from a view (bytes) between two offsets: `read_entry(view, at, end,
io, parent, ...)` returns an `Entry` and the offset after it.  The class `Entry` has as `_reader` this function, and as
`_native` and `_alone` the same function, compiled: for a stream, and for bytes from their start (None without an
extension module).  `_accepts` has for each parameter the classes of its values, `_fields` the names of `seq` and
`params`; `_inside` is whether it may be in another structure of its specification.  A `Run` (`bounded`) has the budgets
of one reading.  `LayoutError`, `View` and `short` are in the first part (`LAYOUT`).
"""

from __future__ import annotations

STRUCTURES = '''

from operator import itemgetter


class EndError(LayoutError, EOFError):
    """The data end inside a field."""


FAILURES = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
"""Exceptions that an expression may raise if the data do not fit the specification."""


def failed(error: Exception, at: int, value: Any = None) -> LayoutError:
    """Return the `LayoutError` for an error that an expression raised; a `LayoutError` with a path stays as it is.

    It is a `BudgetError` where stack or memory do not suffice, since the bytes may be valid.  `value` is the structure
    that was being read at the offset `at`: the expression is that of its first missing field.
    """
    if isinstance(error, LayoutError) and error.path:
        return error
    path = next((name for name in value._fields if not hasattr(value, name)), "") if value is not None else ""
    if isinstance(error, LayoutError):  # raised by a function below, which knows neither field nor offset
        return type(error)(path, at, at, error.expected, error.found)
    if isinstance(error, RecursionError):
        return BudgetError(path, at, at, "structures that end", "more within each other than fit")
    if isinstance(error, MemoryError):  # of this process, or of a routine of the caller
        return BudgetError(path, at, at, "enough memory", "too little")
    if isinstance(error, IndexError):  # each kind of list has its own words for it
        return LayoutError(path, at, at, "an element of a list", "an index out of range")
    return LayoutError(path, at, at, "a value", f"{type(error).__name__}: {error}"[:200])


_short = short  # of all readers: its errors are no `EndError`


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
        self.left = 0  # how many bits of the byte before `at` were not read yet

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
        """Read a structure, as Kaitai's classes do: `Entry(parameters..., stream, parent, root)`.

        The stream may be a file object or bytes, parent and root are optional; `Entry()` makes an empty structure.
        """
        if not arguments:
            return cls._make()
        many = len(cls._parameters())
        if not many < len(arguments) <= many + 3:
            raise TypeError(f"{cls.__name__} takes {_counted(many)} and a stream")
        parameters, stream, around = arguments[:many], arguments[many], arguments[many + 1 :]
        return cls._from(_stream(stream), parameters, *around)


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
        """Names of the parameters of the type."""
        return (_CALLED.get(cls) or _called(cls)).names

    @classmethod
    def from_bytes(cls, data: View, *arguments: Any) -> Any:
        """Read a structure from bytes; `arguments` are its parameters.  Raises `LayoutError`."""
        if type(data) is not bytes:
            data = fixed(data)
        if cls._alone is not None and not arguments and len(data) < SMALL:
            return cls._alone(data)
        return cls._from(stream_of(data, 0, len(data)), arguments)

    @classmethod
    def from_file(cls, path: Any, *arguments: Any) -> Any:
        """Read a structure from the file at a path; a large file is mapped.  Raises `LayoutError`."""
        with open(path, "rb") as file:
            return cls.from_bytes(_mapped(file), *arguments)

    @classmethod
    def from_io(cls, io: Any, *arguments: Any) -> Any:
        """Read a structure from the position of a file object, which is moved to its end.  Raises `LayoutError`."""
        stream = _stream(io)
        found = cls._from(stream, arguments)
        if io.seekable():
            io.seek(stream.at)
        return found

    @classmethod
    def _from(cls, stream: Stream, arguments: tuple[Any, ...], parent: Any = None, root: Any = None) -> Any:
        """Read a structure with the parameters `arguments` at the position of a stream, which is moved to its end."""
        called = _CALLED.get(cls) or _called(cls)
        if called.names or arguments:
            _check(cls, called.names, arguments)
        size = stream.end - stream.at
        if cls._native is not None and size < SMALL:
            return cls._native.whole(stream, parent, root, arguments)
        read = cls._native or cls._reader
        around = called.pick((stream, parent, root, False, None))  # in the order of `AROUND`
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
        """Do nothing: no file stays open.  Kaitai's classes have such a method."""

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={_shown(getattr(self, name, None))}" for name in self._fields[:8])
        return f"{type(self).__name__}({shown}{', ...' if len(self._fields) > 8 else ''})"


MAPPED = 1 << 20
"""Size in bytes of the smallest file that is mapped."""


def _mapped(file: Any) -> Any:
    """Return the bytes of a file; a large one is mapped, so it need not fit into memory."""
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
    """The arguments that a class's reader takes after view, offset and end.

    First some of `AROUND`: `pick` selects their values from a tuple of all.  Then the parameters of the type, `names`.
    """

    __slots__ = ("names", "pick")

    def __init__(self, reader: Any) -> None:
        code = reader.__code__
        names = code.co_varnames[3 : code.co_argcount]  # after view, offset and end
        self.names = tuple(name for name in names if name not in AROUND)
        around = (AROUND.index(name) for name in names if name in AROUND)
        self.pick = itemgetter(*around)  # at least two, stream and budgets, so it returns a tuple


_CALLED: dict[Any, Called] = {}
"""The arguments of the readers by class, for the classes that were called."""


def _called(cls: Any) -> Called:
    """Return the arguments of a class's reader at its first use, and note them in `_CALLED`."""
    _CALLED[cls] = found = Called(cls._reader)
    if not found.names and cls._native is None:
        cls._alone = staticmethod(_alone(cls, cls._reader))
    return found


def _alone(cls: Any, read: Any) -> Any:
    """Return a function that reads a structure without parameters from bytes; `read` is the reader of the class.

    It is shorter than `_from`, since for small inputs the time of the calls matters.
    """

    def alone(data: View) -> Any:
        size = len(data)
        stream = stream_of(data, 0, size)
        if size >= TINY:
            return cls._from(stream, ())
        value, stream.at = read(data, 0, size, stream)
        return value

    return alone


def _counted(many: int) -> str:
    """Return `1 parameter` or `2 parameters`."""
    return f"{many} parameter{'s' * (many != 1)}"


def _check(cls: Any, names: tuple[str, ...], arguments: tuple[Any, ...]) -> None:
    """Raise `TypeError` for arguments that are not the parameters of a type, whose names are `names`."""
    if len(arguments) != len(names):
        raise TypeError(f"{cls.__name__} takes {_counted(len(names))}, not {len(arguments)}")
    for name, value, classes in zip(names, arguments, cls._accepts):
        if classes and not isinstance(value, classes):
            wanted = " or ".join(one.__name__ for one in classes)
            raise TypeError(f"{cls.__name__}: the parameter {name} is {wanted}, not {type(value).__name__}")


def _shown(value: Any) -> str:
    """Return the value of a field as `repr` shows it: large ones shortened, structures and lists without content."""
    if isinstance(value, bytes) or (isinstance(value, memoryview) and value.format == "B"):
        return repr(bytes(value)) if len(value) <= 16 else f"<{len(value)} bytes>"
    if isinstance(value, Structure):
        return f"{type(value).__name__}(...)"
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else f"{value[:40]}...")
    if isinstance(value, int) and hasattr(value, "_value2member_map_"):
        return f"{type(value).__name__}.{value.name}"
    return f"<{len(value)} element{'s' * (len(value) != 1)}>" if hasattr(value, "__len__") else str(value)
'''
