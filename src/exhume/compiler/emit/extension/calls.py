"""Calls between Python and compiled readers, and access to fields by name: the last part of every extension module.

When compiled code abandons a reading, the call from Python that began it restores the budgets and calls the interpreted
reader. All calls within are interpreted too: otherwise, the number of attempts would double with every level.

`CALLS` is Cython.  Its classes replace generated functions: `Reader` a function that reads a type, `Getter` the
property of an instance, `Rows` the iteration over columns.  Each call from Python is between `enter` and `leave`, or
`fail` if it is abandoned (`abandon()` raises `Abandoned`).  `attach` (`emit.layout.compiled`) makes the objects of
these classes by `reader`, `getter` and `rows`, and passes the objects that the code uses to `give`.

Global variables of a thread (`depth`): `active`: compiled code runs; `interpreting`: an interpreted reader that it
called runs; `deep`: how many structures are nested; `outside`: the structure that is read will be in no other one.  A
`Seen` is the cache of one place in the code: the last class and where it has the field.  `READERS`, `GETTERS`, `MAKERS`
(of structures), `CONSTANTS` and `OFFSETS` (of slots) are tables, which the emitted code uses by number.
"""

from __future__ import annotations

CALLS = r'''

cdef inline int hold(Run run, Py_ssize_t n, Py_ssize_t at, Py_ssize_t stop) except -1:
    """Take the bytes `[at, stop)` from the budget, before they are decoded."""
    if not has_range(n, at, stop):
        abandon()
    run.held -= stop - at
    if run.held < 0:
        abandon()
    return 0


# The state at the beginning of a call, which is restored if compiled code abandons a reading.
cdef struct Call:
    int64_t steps, held, most  # budgets of the run
    Py_ssize_t at, left        # position of the stream, and its unread bits
    int deep, outside          # the global variables
    int outermost              # whether no compiled call is around it
    int collects               # whether the garbage collector was on, and has to be restarted


# A call of more steps, or that read more bytes, made many objects: the collector takes them without examining them.
cdef enum:
    MANY_STEPS = 1000
    MANY_BYTES = 65536


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
    """End a call that `enter` began."""
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
    if not call.outermost or not isinstance(error, (Exception, Abandoned)):
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
    """A compiled reader, callable from Python; if it abandons a reading, the interpreted reader (`python`) is called.

    `names` are the arguments after the bytes; `fills` is set for readers of columns, which return no position.
    """

    cdef Readable function
    cdef readonly object python
    cdef tuple names
    cdef bint fills

    def __call__(self, object view, object at, object end, *more, **named):
        cdef Call call
        cdef const uint8_t *p = NULL
        cdef Py_ssize_t n = 0, after = 0, i
        cdef object io = None, parent = None, root = None, run = None, one
        cdef bint big = False
        cdef list parameters = []
        cdef str name
        for i, name in enumerate(self.names):
            if i < len(more):
                one = more[i]
            elif name in named:
                one = named[name]
            else:
                one = None
            if name == "io":
                io = one
            elif name == "parent" or name == "count":
                parent = one
            elif name == "root":
                root = one
            elif name == "big":
                big = bool(one)
            elif name == "run":
                run = one
            elif i < len(more):
                parameters.append(one)
            else:
                return self.python(view, at, end, *more, **named)
        if len(more) > len(self.names):
            return self.python(view, at, end, *more, **named)
        if enter(&call, view, &p, &n, io, run):
            try:
                found = self.function(
                    view, p, n, place_of(at), place_of(end), None if io is None else a_stream(io), parent, root, big,
                    None if run is None else a_run(run), tuple(parameters), &after
                )
                if call.collects and after > MANY_BYTES:
                    call.collects = False
                    resume_collector(True)
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
        # What both of these do.
        cdef Call call
        cdef const uint8_t *p = NULL
        cdef Py_ssize_t n = 0, after = 0
        recheck_waiting(False)
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
                if call.collects and type(run) is Run and call.steps - (<Run> run).steps > MANY_STEPS:
                    call.collects = False
                    resume_collector(True)
                leave(&call)
                return found
            except BaseException as error:
                if self.kept >= 0:  # part of a list may have been read
                    slot_clear(value, self.kept, NULL)
                fail(&call, io, run, error)
        settle(value)
        return interpreted(self.fget, (value,), {})


cdef object read_instance(object value, Seen *seen):
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


cdef object find_field(object value, object name, Seen *seen):
    """A field of an object whose class is not in the cache `seen`, and will be if it is a class of readers."""
    cdef Py_ssize_t offset = -1
    cdef PyObject *descriptor
    cdef Getter instance
    found = getattr(value, name)
    descriptor = class_has(value, name, &offset)
    if offset >= 0:
        see(seen, value, offset, NULL)
    elif descriptor != NULL and type(<object> descriptor) is Around:
        see(seen, value, (<Around> <object> descriptor).offset, NULL)
    elif descriptor != NULL and type(<object> descriptor) is Getter:
        instance = <Getter> <object> descriptor
        if instance.function != NULL and instance.kept >= 0 and is_made(value, instance.owner):
            see(seen, value, instance.kept, instance.function)
    return found


cdef inline object field_of(object value, object name, Seen *seen):
    """A field, or an instance, of an object whose class is not known; `seen` is the cache of this place in the code."""
    if is_seen(seen, value):
        if is_kept(seen_slot(seen, value)):
            return <object> seen_slot(seen, value)
        if seen.function != NULL:
            return read_instance(value, seen)
    return find_field(value, name, seen)


@cython.final
cdef class Rows:
    """An iterator over the elements of columns, as objects.

    `at` has the start of each element in `view`; `each` is their size if all have the same, else -1, and `index` the
    next element.  The other fields are arguments of the reader of an element.
    """

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
        at = place_of(self.at[self.index])
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
    made.end, made.run = place_of(columns.end), columns._run
    made.each = place_of(getattr(columns, "_each", -1))
    made.parent, made.root = getattr(columns, "parent", None), getattr(columns, "root", None)
    made.big = bool(getattr(columns, "big", False))
    io = getattr(columns, "io", None)
    made.io = <Stream> io if type(io) is Stream else stream_of(columns.view, 0, place_of(columns.end))
    return made


def reader(int number, python, tuple names):
    """The compiled reader with a number; `python` is the interpreted one, `names` its arguments after the bytes."""
    cdef Reader made = Reader.__new__(Reader)
    made.function, made.python, made.names = READERS[number], python, names
    made.fills = "count" in names and python.__name__.startswith("scan_")
    return made


def getter(int number, python, owner, slots):
    """The descriptor of an instance, which is compiled unless its number is -1.

    `python` is the interpreted property, `owner` its class, and `slots` are the names of the fields `kept`, `io`,
    `run`.
    """
    cdef Getter made = Getter.__new__(Getter)
    made.function = GETTERS[number] if number >= 0 else NULL
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
    global budget_error, resume_collector, plain_rows, columns_of, elements_type
    if basic_size(Node) != OWNED or basic_size(Elements) != ELEMENTS:
        raise ImportError
    budget_error, resume_collector = layout.BudgetError, layout.resume
    plain_rows, columns_of = layout.Rows, layout.columns_of
    elements_type = <PyTypeObject *> Elements
    gc.callbacks.append(before_collecting)
    layout.Run, layout.Stream, layout.stream_of, layout.Rows = Run, Stream, Stream, Elements
    layout.Structure = layout.Kind("Structure", (Node,), dict(vars(layout.Structure)))
    layout.Table = type("Table", (Node,), dict(vars(layout.Table)))


def give(values, slots, makers):
    """Take the objects that the code uses, each at the index that is its number there.

    `values` are any objects, `slots` fields as (class, name), and `makers` classes of structures as (class, names of
    the fields that contain neither structures nor lists).
    """
    global constants, CONSTANTS, OFFSETS
    cdef Py_ssize_t i
    cdef Py_ssize_t *offsets = <Py_ssize_t *> malloc((len(slots) + 1) * sizeof(Py_ssize_t))
    cdef PyObject **pointers = <PyObject **> malloc((len(values) + 1) * sizeof(PyObject *))
    if offsets == NULL or pointers == NULL or not allocate_makers(len(makers) + 1):
        free(offsets)
        free(pointers)
        raise MemoryError
    for i, (owner, name) in enumerate(slots):
        offsets[i] = slot_offset(owner, name)
    constants = tuple(values)
    for i, value in enumerate(constants):
        pointers[i] = <PyObject *> value
    CONSTANTS, OFFSETS = pointers, offsets
    for i, (owner, plain) in enumerate(makers):
        set_maker(i + 1, owner, examined(owner, plain))


cdef uint64_t examined(owner, plain) except? 1:
    """The bits of the fields of a class that may contain structures or lists; bit 63 is for all from the 64th on."""
    cdef uint64_t found = 0
    cdef Py_ssize_t place
    for name in owner.__slots__:
        place = (slot_offset(owner, name) - OWNED) // <Py_ssize_t> sizeof(PyObject *)
        if name not in plain:
            found |= <uint64_t> 1 << min(place, 63)
    return found
'''
