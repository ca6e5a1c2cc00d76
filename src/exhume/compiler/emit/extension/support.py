"""The first part of every extension module: streams, budgets and checked access to bytes, as Cython.

It does not depend on a specification.  Every access to a byte checks the end of the data, whatever the readers
checked before.  A number that does not fit a machine word raises `Again`, and the interpreted reader starts from the
beginning.

In its functions, `p` points to the bytes of a view and `n` is their number; `at`, `stop` and `end` are positions in
them.  A `Run` has the budgets of a reading (`steps`, and `held` for bytes of memory), a `Stream` the position.
`except? -9` means that -9 may be a result or stand for an error, which is then set.  `how` is the number of an
encoding: 1 UTF-8, 2 ASCII, 3 Latin-1, which decodes any bytes, 0 any other.  `sat` and `satu` cut a number to
`FARTHEST`, `place` and `near` also give up if it is too far to be a position.  `K`, `O`, `F`, `G`, `S` are tables by
number: constants, offsets of slots, readers, getters of instances, and caches of places in the code (`Seen`).
`<c>`, `<names>` and names in capitals between `<` and `>` are replaced below: by the C parts, their declarations for
Cython, and the limits of `refusal`.
"""

from __future__ import annotations

import textwrap

from exhume.compiler import refusal
from exhume.compiler.emit.extension.c_blocks import BLOCKS_C
from exhume.compiler.emit.extension.c_ownership import OWNERSHIP_C
from exhume.compiler.emit.extension.c_support import COLUMNS_C, COLUMNS_NAMES, C
from exhume.compiler.emit.extension.depth import DEPTH, DEPTH_C, DEPTH_NAMES
from exhume.compiler.emit.extension.ownership import OWNERSHIP_NAMES

SUPPORT = r'''# cython: language_level=3, boundscheck=True, wraparound=True, cdivision=False, binding=False
# cython: always_allow_keywords=True, optimize.use_switch=True, infer_types=False, nonecheck=True
"""Readers compiled by exhume; never edited by hand."""

import gc

cimport cython

ctypedef object (*Askable)(object)

cdef extern from *:
    """
<c>
    """
    ctypedef signed char int8_t
    ctypedef short int16_t
    ctypedef int int32_t
    ctypedef long long int64_t
    ctypedef unsigned char uint8_t
    ctypedef unsigned short uint16_t
    ctypedef unsigned int uint32_t
    ctypedef unsigned long long uint64_t
    ctypedef struct PyObject:
        pass
    ctypedef struct PyTypeObject:
        pass
    void free(void *)
    void *malloc(size_t)
    const void *memchr(const void *, int, size_t)
    int memcmp(const void *, const void *, size_t) nogil
    bint PyLong_Check(object)
    bint PyLong_CheckExact(object)
    long long PyLong_AsLongLongAndOverflow(object, int *) except? -1
    int PyGC_Disable()
    int PyGC_Enable()
    int64_t FARTHEST
    int64_t SMALL
    int64_t PLACE
    uint8_t l1(const uint8_t *) nogil
    uint8_t b1(const uint8_t *) nogil
    uint16_t l2(const uint8_t *) nogil
    uint16_t b2(const uint8_t *) nogil
    uint32_t l4(const uint8_t *) nogil
    uint32_t b4(const uint8_t *) nogil
    uint64_t l8(const uint8_t *) nogil
    uint64_t b8(const uint8_t *) nogil
    double as_float(uint32_t) nogil
    double as_double(uint64_t) nogil
    bint fits(Py_ssize_t, Py_ssize_t, Py_ssize_t) nogil
    bint spans(Py_ssize_t, Py_ssize_t, Py_ssize_t) nogil
    int refuse(bint) except -1
    int need(Py_ssize_t, Py_ssize_t, Py_ssize_t) except -1
    int64_t near(int64_t) except? -9
    PyObject *SLOT(object, Py_ssize_t)
    bint is_kept(PyObject *)
    object slot_get(object, Py_ssize_t, object)
    ctypedef struct Seen:
        Py_ssize_t offset
        Askable function
    bint is_seen(Seen *, object)
    bint is_made(object, PyTypeObject *)
    PyObject *seen_slot(Seen *, object)
    void see(Seen *, object, Py_ssize_t, Askable)
    PyObject *class_has(object, object, Py_ssize_t *)
    void slot_put(object, Py_ssize_t, object)
    void slot_clear "slot_put"(object, Py_ssize_t, PyObject *)
    int put_word(object, Py_ssize_t, int64_t) except -1
    int put_unsigned(object, Py_ssize_t, uint64_t) except -1
    int put_float(object, Py_ssize_t, double) except -1
    Py_ssize_t slot_offset(object, object) except -1
<names>    bint bytes_of(object, const uint8_t **, Py_ssize_t *)
    bint is_utf8(const uint8_t *, const uint8_t *) nogil
    bint is_ascii(const uint8_t *, const uint8_t *) nogil
    object decoded(const uint8_t *, Py_ssize_t, int, object)
    int equals(object, int64_t) except -1
    object member_of(object, object)
    bint PyObject_TypeCheck(object, PyTypeObject *)
    object PyBytes_FromStringAndSize(const char *, Py_ssize_t)


class Again(BaseException):
    """Raised where compiled code gives up: the call is repeated by the interpreted reader."""


cdef int again "again"() except -1:
    raise Again


cdef inline int look(object view, const uint8_t **p, Py_ssize_t *n) except -1:
    if not bytes_of(view, p, n):
        again()
    return 0


cdef class Stream
cdef class Run
ctypedef object (*Readable)(
    object, const uint8_t *, Py_ssize_t, int64_t, int64_t, Stream, object, object, object, Run, tuple, Py_ssize_t *
)


cdef object table = ()
cdef PyObject **K = NULL
cdef Py_ssize_t *O = NULL
cdef Readable F[<readers>]
cdef Askable G[<getters>]
cdef Seen S[<sites>]
cdef object cut_short = None
cdef object broken_budget = None
cdef object spare = None
"""Starts the garbage collector after a list of many objects."""

cdef int64_t sat(object number) except? -9:
    """A number as a machine word; one beyond `FARTHEST` becomes that."""
    cdef int over = 0
    cdef int64_t found
    if not PyLong_Check(number):
        again()
    found = PyLong_AsLongLongAndOverflow(number, &over)
    if over > 0 or found > FARTHEST:
        return FARTHEST
    if over < 0 or found < -FARTHEST:
        return -FARTHEST
    return found


cdef inline int64_t satu(uint64_t number) noexcept:
    return FARTHEST if number > <uint64_t> FARTHEST else <int64_t> number


cdef int64_t place(object number) except? -9:
    return near(sat(number))


cdef inline int64_t word_in(object value, int64_t least, int64_t most) except? -9:
    """A number that must be an integer from `least` to `most`, as the code for rows assumes."""
    cdef int64_t found
    if not PyLong_Check(value):
        again()
    found = sat(value)
    if not least <= found <= most:
        again()
    return found


cdef inline int64_t slot_word(object value, Py_ssize_t offset, int bits) except? -9:
    """The number in the field at `offset` of a structure; readers only store numbers of up to `bits` bits there."""
    cdef int over = 0
    cdef int64_t found
    if SLOT(value, offset) == NULL or not PyLong_CheckExact(<object> SLOT(value, offset)):
        again()
    found = PyLong_AsLongLongAndOverflow(<object> SLOT(value, offset), &over)
    if over or not -(<int64_t> 1 << bits) < found < <int64_t> 1 << bits:
        again()
    return found


cdef object product(object multiplied, object one, object other):
    """The product of two small integers; anything else is left to `multiplied` of the interpreted readers."""
    cdef int over = 0, beyond = 0
    cdef int64_t first, second
    if PyLong_CheckExact(one) and PyLong_CheckExact(other):
        first = PyLong_AsLongLongAndOverflow(one, &over)
        second = PyLong_AsLongLongAndOverflow(other, &beyond)
        if not over and not beyond and -SMALL < first < SMALL and -SMALL < second < SMALL:
            return first * second
    return multiplied(one, other)


cdef object total(object joined, Run run, object one, object other):
    """The sum of two small integers; anything else is left to `joined` of the interpreted readers."""
    cdef int over = 0, beyond = 0
    cdef int64_t first, second
    if PyLong_CheckExact(one) and PyLong_CheckExact(other):
        first = PyLong_AsLongLongAndOverflow(one, &over)
        second = PyLong_AsLongLongAndOverflow(other, &beyond)
        if not over and not beyond and -FARTHEST < first < FARTHEST and -FARTHEST < second < FARTHEST:
            return first + second
    return joined(run, one, other)


cdef inline int64_t bits_of(const uint8_t *p, Py_ssize_t n, Py_ssize_t at, int size, bint big) except? -9:
    """The unsigned number in `size` bytes at `at`, at most 7 so that it fits the result."""
    cdef uint64_t found = 0
    cdef int i
    need(n, at, size)
    for i in range(size):
        found = found << 8 | p[at + (i if big else size - 1 - i)]
    return <int64_t> found


cdef inline int is_there(const uint8_t *p, Py_ssize_t n, Py_ssize_t at, Py_ssize_t stop, object wanted) except -1:
    """Check that the bytes `[at, stop)` are `wanted`, the `contents` of a field; gives up if they are not."""
    cdef const uint8_t *other = NULL
    cdef Py_ssize_t many = 0
    look(wanted, &other, &many)
    if not spans(n, at, stop) or stop - at != many or memcmp(p + at, other, many):
        again()
    return 0


cdef inline bytes cut(const uint8_t *p, Py_ssize_t n, Py_ssize_t at, Py_ssize_t stop):
    return PyBytes_FromStringAndSize(<const char *> p + at, stop - at)


cdef object sliced(object view, const uint8_t *p, Py_ssize_t n, Py_ssize_t at, Py_ssize_t stop):
    """A part of the bytes, as `view[at:stop]` gives it."""
    if type(view) is bytes and spans(n, at, stop):
        return cut(p, n, at, stop)
    return view[at:stop]


cdef object text_of(const uint8_t *p, Py_ssize_t n, Py_ssize_t at, Py_ssize_t stop, int how, object encoding):
    """Decode the bytes `[at, stop)`; `how` is the number of the encoding (see `ENCODINGS`), 0 for any other."""
    if not spans(n, at, stop):
        again()
    return decoded(p + at, stop - at, how, encoding)


cdef int look_at_text(
    const uint8_t *p, Py_ssize_t n, Py_ssize_t at, Py_ssize_t stop, int how, object encoding
) except -1:
    """Check that the bytes `[at, stop)` can be decoded, without making a string; gives up if they cannot."""
    if not spans(n, at, stop):
        again()
    if how == 1 or how == 2:
        if not (is_utf8(p + at, p + stop) if how == 1 else is_ascii(p + at, p + stop)):
            again()
    elif how != 3:
        decoded(p + at, stop - at, how, encoding)
    return 0


cdef int64_t seek(Run run, const uint8_t *p, Py_ssize_t n, int mark, Py_ssize_t at, Py_ssize_t end) except? -9:
    """The position of the first byte `mark` in `[at, end)`; -1 if there is none.  Bytes passed count as held."""
    cdef const uint8_t *found
    if at < 0 or end > n:
        again()
    if at >= end:
        return -1
    found = <const uint8_t *> memchr(p + at, mark, end - at)
    run.held -= (end if found == NULL else found - p) - at
    if run.held < 0:
        again()
    return -1 if found == NULL else found - p


cdef int64_t ends_at(
    Run run, const uint8_t *p, Py_ssize_t n, Py_ssize_t at, Py_ssize_t stop, int mark, bint with_mark
) except? -9:
    """The end of bytes up to the terminator `mark`, included if `with_mark`; `stop` if there is none."""
    cdef const uint8_t *found
    if not spans(n, at, stop):
        again()
    found = <const uint8_t *> memchr(p + at, mark, stop - at) if stop > at else NULL
    if found != NULL:
        stop = found - p
    run.held -= stop - at
    if run.held < 0:
        again()
    return stop + (with_mark and found != NULL)


cdef object ended(Run run, object data, int mark, bint with_mark):
    """The bytes of `data` up to the terminator `mark`, included if `with_mark`; all if there is none."""
    cdef const uint8_t *p = NULL
    cdef const uint8_t *found
    cdef Py_ssize_t n = 0, stop
    look(data, &p, &n)
    found = <const uint8_t *> memchr(p, mark, n) if n else NULL
    stop = n if found == NULL else found - p
    run.held -= stop
    if run.held < 0:
        again()
    if found == NULL:
        return data
    stop += with_mark
    return cut(p, n, 0, stop) if type(data) is bytes else data[:stop]


@cython.final
cdef class Run:
    """The remaining budgets of one reading: `steps` (structures, elements, instances), and bytes that may be `held`.

    `most` is the budget of steps at the start, and `size` that of the input in bytes.
    """

    cdef public int64_t steps, held, most, size

    def __init__(self, size):
        self.size = place(size)
        self.steps = self.most = <STEPS> + <STEPS_PER_BYTE> * self.size
        self.held = <HELD> + <HELD_PER_BYTE> * self.size

    def over(self, at, path=""):
        """The error for too many steps."""
        return broken_budget(path, at, at, f"at most {self.most} structures, elements and instances", "more")

    def hold(self, many, path="", at=0):
        """Takes bytes from the budget of those that are held; raises `BudgetError` when it is used up."""
        self.held -= sat(many)
        if self.held < 0:
            raise self.spent(path, at)

    def spent(self, path="", at=0):
        """The error for too many bytes."""
        most = <HELD> + <HELD_PER_BYTE> * self.size
        return broken_budget(path, at, at, f"at most {most} bytes that are copied, decoded or made", "more")


@cython.final
@cython.freelist(256)
@cython.no_gc
cdef class Stream:
    """The bytes `[base, end)` of `view`, from which structures are read; `at` is the current position in `view`.

    `left` is the number of bits of the byte before `at` that were not read yet.
    """

    cdef public object view
    cdef public Py_ssize_t at, base, end, left

    def __init__(self, view, base, end):
        self.view = view
        self.base = self.at = base
        self.end = end

    def size(self):
        """Size in bytes."""
        return self.end - self.base

    def pos(self):
        """The current position, counted from the start of the stream."""
        return self.at - self.base

    def is_eof(self):
        """Whether everything was read, single bits included."""
        return self.at >= self.end and not self.left

    def to_byte_array(self):
        """All of the bytes."""
        return bytes(self.view[self.base : self.end])

    def __repr__(self):
        return f"<stream of {self.size()} bytes at {self.pos()}>"


cdef inline Stream stream_of(object view, Py_ssize_t base, Py_ssize_t end):
    cdef Stream made = Stream.__new__(Stream)
    made.view = view
    made.base = made.at = base
    made.end = end
    return made


cdef inline Stream a_stream(object found):
    if type(found) is not Stream:
        again()
    return <Stream> found


cdef inline Run a_run(object found):
    if type(found) is not Run:
        again()
    return <Run> found


cdef inline Run run_of(int64_t size):
    cdef Run made = Run.__new__(Run)
    made.size = size
    made.steps = made.most = <STEPS> + <STEPS_PER_BYTE> * size
    made.held = <HELD> + <HELD_PER_BYTE> * size
    return made
'''
# Insert the limits, such as `<STEPS>`.
for _name, _value in vars(refusal).items():
    SUPPORT = SUPPORT.replace(f"<{_name}>", str(_value))
SUPPORT = SUPPORT.replace("<c>", textwrap.indent(C + COLUMNS_C + DEPTH_C + BLOCKS_C + OWNERSHIP_C, "    ").rstrip())
_NAMES = "".join(one.lstrip("\n") for one in (DEPTH_NAMES, COLUMNS_NAMES, OWNERSHIP_NAMES))
SUPPORT = SUPPORT.replace("<names>", _NAMES) + DEPTH
