"""The first part of every extension module: streams, budgets and checked access to bytes, as Cython.

It does not depend on a specification.  Every access to a byte checks the end of the data, whatever the readers checked
before.  Where it abandons a reading (`abandon`), such as for a number that does not fit a machine word, `Abandoned` is
raised, and the interpreted reader starts from the beginning.

In its functions, `p` points to the bytes of a view and `n` is their number; `at`, `stop` and `end` are positions in
them.  A `Run` has the budgets of a reading (`steps`, and `held` for bytes of memory), a `Stream` the position. `except?
-9` means that -9 may be a result or stand for an error, which is then set.  `encoding_number` is 1 for UTF-8, 2 for
ASCII, 3 for Latin-1, which decodes any bytes, and 0 for any other encoding, which Python decodes by its name.
`saturated` replaces a number beyond `FARTHEST` by that, `place_of` and `checked_place` abandon the reading if a number
is too far to be a position.  `CONSTANTS`, `OFFSETS` (of slots), `READERS`, `GETTERS` (of instances) and `CACHES` are
tables, which the emitted code uses by number.

This module also joins the parts of the C code.  `<c>` becomes all C, `<names>` its declarations for Cython, and names
in capitals between `<` and `>` become limits of `refusal`; `extension` replaces the sizes of tables, such as
`<readers>`.
"""

from __future__ import annotations

import textwrap

from exhume.compiler import refusal
from exhume.compiler.emit.extension.c_blocks import BLOCKS_C
from exhume.compiler.emit.extension.c_ownership import OWNERSHIP_C
from exhume.compiler.emit.extension.c_settling import SETTLING_C
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
    uint8_t little1(const uint8_t *) nogil
    uint8_t big1(const uint8_t *) nogil
    uint16_t little2(const uint8_t *) nogil
    uint16_t big2(const uint8_t *) nogil
    uint32_t little4(const uint8_t *) nogil
    uint32_t big4(const uint8_t *) nogil
    uint64_t little8(const uint8_t *) nogil
    uint64_t big8(const uint8_t *) nogil
    double as_float(uint32_t) nogil
    double as_double(uint64_t) nogil
    bint has_bytes(Py_ssize_t, Py_ssize_t, Py_ssize_t) nogil
    bint has_range(Py_ssize_t, Py_ssize_t, Py_ssize_t) nogil
    int abandon_if(bint) except -1
    int require_bytes(Py_ssize_t, Py_ssize_t, Py_ssize_t) except -1
    int64_t checked_place(int64_t) except? -9
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


class Abandoned(BaseException):
    """Raised where compiled code abandons a reading: the call is repeated by the interpreted reader."""


cdef int abandon "abandon"() except -1:
    raise Abandoned


cdef inline int get_bytes(object view, const uint8_t **p, Py_ssize_t *n) except -1:
    """Set `p` and `n` to the bytes of a view and their number; abandons reading if they are not adjacent bytes."""
    if not bytes_of(view, p, n):
        abandon()
    return 0


cdef class Stream
cdef class Run
# A compiled reader of a type, and (`Askable`, above) one of an instance.
ctypedef object (*Readable)(
    object, const uint8_t *, Py_ssize_t, int64_t, int64_t, Stream, object, object, object, Run, tuple, Py_ssize_t *
)


cdef object constants = ()
"""Keeps the objects of `CONSTANTS` alive."""
cdef PyObject **CONSTANTS = NULL
cdef Py_ssize_t *OFFSETS = NULL
cdef Readable READERS[<readers>]
cdef Askable GETTERS[<getters>]
cdef Seen CACHES[<sites>]
cdef object budget_error = None
"""The class `BudgetError` of the interpreted readers."""
cdef object resume_collector = None
"""Their function `resume`, which restarts the garbage collector after many objects were made."""

cdef int64_t saturated(object number) except? -9:
    """A number as a machine word; one beyond `FARTHEST` becomes that."""
    cdef int over = 0
    cdef int64_t found
    if not PyLong_Check(number):
        abandon()
    found = PyLong_AsLongLongAndOverflow(number, &over)
    if over > 0 or found > FARTHEST:
        return FARTHEST
    if over < 0 or found < -FARTHEST:
        return -FARTHEST
    return found


cdef inline int64_t saturated_unsigned(uint64_t number) noexcept:
    """The same for a C number."""
    return FARTHEST if number > <uint64_t> FARTHEST else <int64_t> number


cdef int64_t place_of(object number) except? -9:
    """A number as a position; abandons reading if it is not an integer, or too far."""
    return checked_place(saturated(number))


cdef inline int64_t word_in(object value, int64_t least, int64_t most) except? -9:
    """A number that must be an integer from `least` to `most`, as the code for rows assumes."""
    cdef int64_t found
    if not PyLong_Check(value):
        abandon()
    found = saturated(value)
    if not least <= found <= most:
        abandon()
    return found


cdef inline int64_t slot_word(object value, Py_ssize_t offset, int bits) except? -9:
    """The number in the field at `offset` of a structure; readers only store numbers of up to `bits` bits there."""
    cdef int over = 0
    cdef int64_t found
    if SLOT(value, offset) == NULL or not PyLong_CheckExact(<object> SLOT(value, offset)):
        abandon()
    found = PyLong_AsLongLongAndOverflow(<object> SLOT(value, offset), &over)
    if over or not -(<int64_t> 1 << bits) < found < <int64_t> 1 << bits:
        abandon()
    return found


cdef object product_of(object multiplied, object one, object other):
    """The product of two small integers; anything else is left to `multiplied` of the interpreted readers."""
    cdef int over = 0, beyond = 0
    cdef int64_t first, second
    if PyLong_CheckExact(one) and PyLong_CheckExact(other):
        first = PyLong_AsLongLongAndOverflow(one, &over)
        second = PyLong_AsLongLongAndOverflow(other, &beyond)
        if not over and not beyond and -SMALL < first < SMALL and -SMALL < second < SMALL:
            return first * second
    return multiplied(one, other)


cdef object sum_of(object joined, Run run, object one, object other):
    """The sum of two integers; anything else, or a large sum, is left to `joined` of the interpreted readers."""
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
    require_bytes(n, at, size)
    for i in range(size):
        found = found << 8 | p[at + (i if big else size - 1 - i)]
    return <int64_t> found


cdef inline int check_contents(const uint8_t *p, Py_ssize_t n, Py_ssize_t at, Py_ssize_t stop, object wanted) except -1:
    """Check that the bytes `[at, stop)` are `wanted`, the `contents` of a field; abandons reading if they are not."""
    cdef const uint8_t *other = NULL
    cdef Py_ssize_t many = 0
    get_bytes(wanted, &other, &many)
    if not has_range(n, at, stop) or stop - at != many or memcmp(p + at, other, many):
        abandon()
    return 0


cdef inline bytes bytes_between(const uint8_t *p, Py_ssize_t at, Py_ssize_t stop):
    return PyBytes_FromStringAndSize(<const char *> p + at, stop - at)


cdef object sliced(object view, const uint8_t *p, Py_ssize_t n, Py_ssize_t at, Py_ssize_t stop):
    """`view[at:stop]`."""
    if type(view) is bytes and has_range(n, at, stop):
        return bytes_between(p, at, stop)
    return view[at:stop]


cdef object text_of(
    const uint8_t *p, Py_ssize_t n, Py_ssize_t at, Py_ssize_t stop, int encoding_number, object encoding
):
    """The bytes `[at, stop)` as a string."""
    if not has_range(n, at, stop):
        abandon()
    return decoded(p + at, stop - at, encoding_number, encoding)


cdef int check_text(
    const uint8_t *p, Py_ssize_t n, Py_ssize_t at, Py_ssize_t stop, int encoding_number, object encoding
) except -1:
    """Check that the bytes `[at, stop)` can be decoded, without making a string; abandons reading if they cannot."""
    if not has_range(n, at, stop):
        abandon()
    if encoding_number == 1 or encoding_number == 2:
        if not (is_utf8(p + at, p + stop) if encoding_number == 1 else is_ascii(p + at, p + stop)):
            abandon()
    elif encoding_number != 3:
        decoded(p + at, stop - at, encoding_number, encoding)
    return 0


cdef int64_t find_byte(Run run, const uint8_t *p, Py_ssize_t n, int mark, Py_ssize_t at, Py_ssize_t end) except? -9:
    """The position of the first byte `mark` in `[at, end)`; -1 if there is none.  Bytes passed count as held."""
    cdef const uint8_t *found
    if at < 0 or end > n:
        abandon()
    if at >= end:
        return -1
    found = <const uint8_t *> memchr(p + at, mark, end - at)
    run.held -= (end if found == NULL else found - p) - at
    if run.held < 0:
        abandon()
    return -1 if found == NULL else found - p


cdef int64_t end_at_byte(
    Run run, const uint8_t *p, Py_ssize_t n, Py_ssize_t at, Py_ssize_t stop, int mark, bint with_mark
) except? -9:
    """The end of bytes up to the terminator `mark`, included if `with_mark`; `stop` if there is none."""
    cdef const uint8_t *found
    if not has_range(n, at, stop):
        abandon()
    found = <const uint8_t *> memchr(p + at, mark, stop - at) if stop > at else NULL
    if found != NULL:
        stop = found - p
    run.held -= stop - at
    if run.held < 0:
        abandon()
    return stop + (with_mark and found != NULL)


cdef object ended(Run run, object data, int mark, bint with_mark):
    """The bytes of `data` up to the terminator `mark`, included if `with_mark`; all if there is none."""
    cdef const uint8_t *p = NULL
    cdef const uint8_t *found
    cdef Py_ssize_t n = 0, stop
    get_bytes(data, &p, &n)
    found = <const uint8_t *> memchr(p, mark, n) if n else NULL
    stop = n if found == NULL else found - p
    run.held -= stop
    if run.held < 0:
        abandon()
    if found == NULL:
        return data
    stop += with_mark
    return bytes_between(p, 0, stop) if type(data) is bytes else data[:stop]


@cython.final
cdef class Run:
    """The remaining budgets of one reading: `steps` (structures, elements, instances), and bytes that may be `held`.

    `most` is the budget of steps at the start, and `size` that of the input in bytes.
    """

    cdef public int64_t steps, held, most, size

    def __init__(self, size):
        self.size = place_of(size)
        self.steps = self.most = <STEPS> + <STEPS_PER_BYTE> * self.size
        self.held = <HELD> + <HELD_PER_BYTE> * self.size

    def over(self, at, path=""):
        """The error for too many steps."""
        return budget_error(path, at, at, f"at most {self.most} structures, elements and instances", "more")

    def hold(self, many, path="", at=0):
        """Charge bytes to the budget; raises `BudgetError` when it is used up."""
        self.held -= saturated(many)
        if self.held < 0:
            raise self.spent(path, at)

    def spent(self, path="", at=0):
        """The error for too many bytes."""
        most = <HELD> + <HELD_PER_BYTE> * self.size
        return budget_error(path, at, at, f"at most {most} bytes that are copied, decoded or made", "more")

    def endless(self, path="", at=0):
        """The error for a list with too many elements that take no bytes."""
        return budget_error(path, at, at, "elements that take bytes", "more than <EMPTY> that take none")


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
    """A new stream, made without a call of its class."""
    cdef Stream made = Stream.__new__(Stream)
    made.view = view
    made.base = made.at = base
    made.end = end
    return made


cdef inline Stream a_stream(object found):
    """An object as a stream; abandons reading if it is something else."""
    if type(found) is not Stream:
        abandon()
    return <Stream> found


cdef inline Run a_run(object found):
    """An object as budgets; abandons reading if it is something else."""
    if type(found) is not Run:
        abandon()
    return <Run> found


cdef inline Run run_of(int64_t size):
    """New budgets for an input of `size` bytes."""
    cdef Run made = Run.__new__(Run)
    made.size = size
    made.steps = made.most = <STEPS> + <STEPS_PER_BYTE> * size
    made.held = <HELD> + <HELD_PER_BYTE> * size
    return made
'''
# Insert the limits, such as `<STEPS>`.
for _name, _value in vars(refusal).items():
    SUPPORT = SUPPORT.replace(f"<{_name}>", str(_value))
SUPPORT = SUPPORT.replace(
    "<c>", textwrap.indent(C + COLUMNS_C + DEPTH_C + BLOCKS_C + OWNERSHIP_C + SETTLING_C, "    ").rstrip()
)
_NAMES = "".join(one.lstrip("\n") for one in (DEPTH_NAMES, COLUMNS_NAMES, OWNERSHIP_NAMES))
SUPPORT = SUPPORT.replace("<names>", _NAMES) + DEPTH
