"""Calls between Python and compiled readers, and access to fields by name: part of every extension module.

When compiled code cannot continue, the call from Python that began it restores the budgets and calls the interpreted
reader.  All calls within are interpreted too: otherwise, the number of attempts would double with every level.

`CALLS` is Cython.  Its classes replace generated functions: `Reader` a function that reads a type, `Getter` the
property of an instance, `Rows` the iteration over columns.  `enter`, `leave` and `fail` are around each call from
Python.  Global variables of a thread: `active` (compiled code runs), `interpreting` (an interpreted reader that it
called runs), `deep` (nesting of structures), `outside` (the structure being read will be in no other one). `again()`
raises `Again`.  A `Seen` is the cache of one place in the code: the last class and where it has the field. `F`, `G`,
`M`, `K`, `O` are tables by number: readers, getters, makers of structures, constants, offsets of slots.
"""

from __future__ import annotations

CALLS = r'''

cdef inline int step(Run run, int64_t many) except -1:
    run.steps -= many
    if run.steps < 0:
        again()
    return 0


cdef inline int hold(Run run, Py_ssize_t n, Py_ssize_t at, Py_ssize_t stop) except -1:
    """Take the bytes `[at, stop)` from the budget, before they are decoded."""
    if not spans(n, at, stop):
        again()
    run.held -= stop - at
    if run.held < 0:
        again()
    return 0


# The state at the beginning of a call, restored if compiled code gives up: the budgets of the run, position and unread
# bits of the stream, whether no compiled call is around it, and the values of `deep` and `outside`.  `collects` says
# whether the garbage collector was on and has to be restarted.
cdef struct Call:
    int64_t steps
    int64_t held
    int64_t most
    Py_ssize_t at
    Py_ssize_t left
    int outermost
    int deep
    int outside
    int collects


# From so many steps or bytes on, a call made many objects: the collector takes them without examining them.
cdef enum:
    MANY = 1000
    LONG = 65536


cdef bint enter(Call *call, object view, const uint8_t **p, Py_ssize_t *n, object io, object run):
    """Begin a call from Python: note its state in `call`.  Returns whether compiled code may run.

    It may not within an interpreted call, when calls are nested too deeply, or if `view` is not in memory as bytes.
    """
    global active, deep, outside
    if interpreting or deep >= DEEPEST or is_stack_low() or (view is not None and not bytes_of(view, p, n)):
        return False
    if type(run) is Run:
        call.steps, call.held, call.most = (<Run> run).steps, (<Run> run).held, (<Run> run).most
    if type(io) is Stream:
        call.at, call.left = (<Stream> io).at, (<Stream> io).left
    call.outermost = not active
    call.deep, call.outside = deep, outside
    outside = False
    deep += 1
    call.collects = False
    if call.outermost:
        active = True
        call.collects = PyGC_Disable()  # what is being read is not garbage
    return True


cdef inline void leave(Call *call) noexcept:
    global active, deep, outside
    deep, outside = call.deep, call.outside
    if call.outermost:
        active = False
    if call.collects:
        PyGC_Enable()


cdef int fail(Call *call, object io, object run, object error) except -1:
    """End a call that failed: restore its state, so that the interpreted reader may repeat it.

    Raises the error again if the call is within another one, which then fails as well, or is an interrupt.
    """
    leave(call)
    if type(run) is Run:
        (<Run> run).steps, (<Run> run).held, (<Run> run).most = call.steps, call.held, call.most
    if type(io) is Stream:
        (<Stream> io).at, (<Stream> io).left = call.at, call.left
    if not call.outermost or not isinstance(error, (Exception, Again)):
        raise error
    return 0


cdef object interpreted(object function, tuple given, dict named):
    """Call an interpreted reader.  All calls within are interpreted too, so that none of them is tried twice."""
    global interpreting
    if is_stack_low():
        raise RecursionError
    interpreting += 1
    try:
        return function(*given, **named)
    finally:
        interpreting -= 1


@cython.final
cdef class Reader:
    """A compiled reader, callable from Python; if it gives up, the interpreted reader (`python`) is called.

    `names` are the arguments after the bytes; `fills` is set for readers of columns, which return no position.
    """

    cdef Readable function
    cdef readonly object python
    cdef tuple names
    cdef bint fills

    def __call__(self, object view, object at, object end, *more, **named):
        cdef Call call
        cdef const uint8_t *p = NULL
        cdef Py_ssize_t n = 0, after = 0, i, last = -1
        cdef list around = [None, None, None, False, None]
        cdef list rest = []
        cdef str name
        for i, name in enumerate(self.names):
            if i < len(more):
                one = more[i]
            elif name in named:
                one = named[name]
            else:
                one = None
            if name == "io":
                around[0] = one
            elif name == "parent" or name == "count":
                around[1] = one
            elif name == "root":
                around[2] = one
            elif name == "big":
                around[3] = bool(one)
            elif name == "run":
                around[4] = one
            elif i < len(more):
                rest.append(one)
            else:
                return self.python(view, at, end, *more, **named)
        if len(more) > len(self.names):
            return self.python(view, at, end, *more, **named)
        io, run = around[0], around[4]
        if enter(&call, view, &p, &n, io, run):
            try:
                found = self.function(
                    view, p, n, place(at), place(end), None if io is None else a_stream(io), around[1], around[2],
                    around[3], None if run is None else a_run(run), tuple(rest), &after
                )
                if call.collects and after > LONG:
                    call.collects = False
                    spare(True)
                leave(&call)
                return found if self.fills else (found, after)
            except BaseException as error:
                fail(&call, io, run, error)
        return interpreted(self.python, (view, at, end, *more), named)

    def whole(self, Stream io, object parent, object root, tuple given):
        """Read a structure at the position of a stream, and move that; `given` are the parameters in their order."""
        return self.read(io, parent, root, given)

    def alone(self, object data):
        """Read a structure of a type without parameters from the start of bytes."""
        return self.read(stream_of(data, 0, len(data)), None, None, ())

    cdef object read(self, Stream io, object parent, object root, tuple given):
        cdef Call call
        cdef const uint8_t *p = NULL
        cdef Py_ssize_t n = 0, after = 0
        look_again(False)
        if enter(&call, io.view, &p, &n, io, None):
            try:
                found = self.function(io.view, p, n, io.at, io.end, io, parent, root, False, None, given, &after)
                io.at = after
                leave(&call)
                return found
            except BaseException as error:
                fail(&call, io, None, error)
        around = [
            {"io": io, "parent": parent, "root": root, "big": False}.get(name)
            for name in self.names[: len(self.names) - len(given)]
        ]
        found, io.at = interpreted(self.python, (io.view, io.at, io.end, *around, *given), {})
        return found


@cython.final
cdef class Getter:
    """The descriptor of an instance, which is read at its first use.

    `owner` is its class, and `kept`, `io` and `run` are the offsets of the slots for its value, stream and budgets.
    """

    cdef Askable function
    cdef readonly object fget, __doc__
    cdef PyTypeObject *owner
    cdef object held
    cdef Py_ssize_t kept, io, run

    def __get__(self, object value, object owner):
        cdef Call call
        if value is None:
            return self
        if not PyObject_TypeCheck(value, self.owner):
            raise TypeError
        if self.kept >= 0 and is_kept(SLOT(value, self.kept)):
            return <object> SLOT(value, self.kept)
        io = <object> SLOT(value, self.io) if self.io >= 0 and SLOT(value, self.io) != NULL else None
        run = <object> SLOT(value, self.run) if self.run >= 0 and SLOT(value, self.run) != NULL else None
        if self.function != NULL and enter(&call, None, NULL, NULL, io, run):
            try:
                found = self.function(value)
                if call.collects and type(run) is Run and call.steps - (<Run> run).steps > MANY:
                    call.collects = False
                    spare(True)
                leave(&call)
                return found
            except BaseException as error:
                if self.kept >= 0:  # part of a list may have been read
                    slot_clear(value, self.kept, NULL)
                fail(&call, io, run, error)
        settle(value)
        return interpreted(self.fget, (value,), {})


cdef object asked(object value, Seen *seen):
    """Read an instance that was not read before, by the function that `seen` remembers."""
    global outside
    cdef Askable function = seen.function
    cdef Py_ssize_t kept = seen.offset
    cdef int before = outside
    deeper()
    outside = False
    try:
        found = function(value)
    except BaseException:
        slot_clear(value, kept, NULL)  # part of a list may have been read
        raise
    finally:
        outside = before
    shallower()
    return found


cdef object field_found(object value, object name, Seen *seen):
    """Get a field of an object whose class differs from that of the last one; a class of readers is remembered."""
    cdef Py_ssize_t offset = -1
    cdef PyObject *has
    found = getattr(value, name)
    has = class_has(value, name, &offset)
    if offset >= 0:
        see(seen, value, offset, NULL)
    elif has != NULL and type(<object> has) is Around:
        see(seen, value, (<Around> <object> has).offset, NULL)
    elif has != NULL and type(<object> has) is Getter and (<Getter> <object> has).function != NULL:
        if (<Getter> <object> has).kept >= 0 and is_made(value, (<Getter> <object> has).owner):
            see(seen, value, (<Getter> <object> has).kept, (<Getter> <object> has).function)
    return found


cdef inline object field_of(object value, object name, Seen *seen):
    """A field, or an instance, of an object whose class is not known."""
    if is_seen(seen, value):
        if is_kept(seen_slot(seen, value)):
            return <object> seen_slot(seen, value)
        if seen.function != NULL:
            return asked(value, seen)
    return field_found(value, name, seen)


@cython.final
cdef class Rows:
    """An iterator over the elements of columns, as objects."""

    cdef Reader reader
    cdef object columns, at, view, parent, root, run, big
    cdef Stream io
    cdef int64_t end, each
    cdef Py_ssize_t index

    def __iter__(self):
        return self

    def __next__(self):
        global outside
        cdef Call call
        cdef const uint8_t *p = NULL
        cdef Py_ssize_t n = 0, after = 0
        cdef int64_t at, end = self.end
        cdef Stream io = self.io
        if self.index >= len(self.at):
            raise StopIteration
        at = place(self.at[self.index])
        self.index += 1
        if self.each >= 0:
            end = at + self.each
            io = stream_of(self.view, at, end)
        if type(self.run) is Run and enter(&call, self.view, &p, &n, io, self.run):
            outside = True
            try:
                found = self.reader.function(
                    self.view, p, n, at, end, io, self.parent, self.root, self.big, <Run> self.run, None, &after
                )
                if self.each >= 0:
                    io.at = after
                leave(&call)
                return found
            except BaseException as error:
                fail(&call, io, self.run, error)
        return self.columns[self.index - 1]


def rows(Reader reader, columns):
    """Return an iterator over columns whose elements a compiled reader reads."""
    cdef Rows made = Rows.__new__(Rows)
    made.reader, made.columns, made.at, made.view = reader, columns, columns.at, columns.view
    made.end, made.run = place(columns.end), columns._run
    made.each = place(getattr(columns, "_each", -1))
    made.parent, made.root = getattr(columns, "parent", None), getattr(columns, "root", None)
    made.big = bool(getattr(columns, "big", False))
    io = getattr(columns, "io", None)
    made.io = <Stream> io if type(io) is Stream else stream_of(columns.view, 0, place(columns.end))
    return made


def reader(int number, python, tuple names):
    """A compiled reader by its number, with the interpreted one and its arguments."""
    cdef Reader made = Reader.__new__(Reader)
    made.function, made.python, made.names = F[number], python, names
    made.fills = "count" in names and python.__name__.startswith("scan_")
    return made


def getter(int number, python, owner, slots):
    """An instance, compiled unless its number is -1, with the interpreted one, its class, and the slots of that."""
    cdef Getter made = Getter.__new__(Getter)
    made.function = G[number] if number >= 0 else NULL
    made.fget, made.__doc__ = python.fget, python.__doc__
    made.held = owner
    made.owner = <PyTypeObject *> owner
    kept, io, run = slots
    made.kept = slot_offset(owner, kept) if kept is not None else -1
    made.io = slot_offset(owner, io) if io is not None else -1
    made.run = slot_offset(owner, run) if run is not None else -1
    return made


def begin(layout):
    """Replace classes and functions of the shared module `layout` by those of this module, before readers load."""
    global cut_short, broken_budget, spare, plain_rows, columns_of, elements_type
    if basic_size(Node) != OWNED or basic_size(Elements) != ELEMENTS:
        raise ImportError
    cut_short, broken_budget, spare = layout.LayoutError, layout.BudgetError, layout.resume
    plain_rows, columns_of = layout.Rows, layout.columns_of
    elements_type = <PyTypeObject *> Elements
    gc.callbacks.append(before_collecting)
    layout.Run, layout.Stream, layout.stream_of, layout.Rows = Run, Stream, Stream, Elements
    layout.Structure = layout.Kind("Structure", (Node,), dict(vars(layout.Structure)))
    layout.Table = type("Table", (Node,), dict(vars(layout.Table)))


def give(values, slots, makers):
    """Takes the values, the offsets and the classes that the readers use, by their numbers.

    Of each class, `makers` has the names of the fields which hold neither structures nor lists.
    """
    global table, K, O
    cdef Py_ssize_t i
    cdef Py_ssize_t *offsets = <Py_ssize_t *> malloc((len(slots) + 1) * sizeof(Py_ssize_t))
    cdef PyObject **pointers = <PyObject **> malloc((len(values) + 1) * sizeof(PyObject *))
    if offsets == NULL or pointers == NULL or not make_room(len(makers) + 1):
        free(offsets)
        free(pointers)
        raise MemoryError
    for i, (owner, name) in enumerate(slots):
        offsets[i] = slot_offset(owner, name)
    table = tuple(values)
    for i, value in enumerate(table):
        pointers[i] = <PyObject *> value
    K, O = pointers, offsets
    for i, (owner, plain) in enumerate(makers):
        make_of(i + 1, owner, examined(owner, plain))


cdef uint64_t examined(owner, plain) except? 1:
    """The fields of a class that may hold structures, or lists of them: a bit for each, and the last for all others."""
    cdef uint64_t found = 0
    cdef Py_ssize_t place
    for name in owner.__slots__:
        place = (slot_offset(owner, name) - OWNED) // <Py_ssize_t> sizeof(PyObject *)
        if name not in plain:
            found |= <uint64_t> 1 << min(place, 63)
    return found
'''
