# The part of the kernel that reads clp-s: its structures, and text that is put into a buffer.  What decodes and prints
# is in the files next to it, which `_kernel.pyx` includes next; `exhume.formats.clp_s.read.pykernel` is the pure-Python
# implementation of all of them and has the documentation.  Rows are printed without the GIL, so that several threads
# print one table.

from array import array

from cpython.buffer cimport PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_INCREF
from libc.math cimport floor, isinf, isnan, signbit
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t
from libc.stdio cimport snprintf
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memmove, memset, strlen

cdef extern from *:
    """
    #if defined(__linux__)
    #include <stdlib.h>
    #include <sys/mman.h>
    #endif
    /* Memory to release with `free`.  Filling large pages takes a fraction of the time. */
    static void* exh_large(size_t size) {
    #if defined(__linux__) && defined(MADV_HUGEPAGE)
        void* p;
        if (size >= (size_t)8 << 20) {
            if (posix_memalign(&p, (size_t)2 << 20, size)) return NULL;
            madvise(p, size, MADV_HUGEPAGE);
            return p;
        }
    #endif
        return malloc(size);
    }
    /* As memcpy, without a call for the few bytes that most strings have. */
    static inline void exh_copy(char* to, const char* from, size_t size) {
        if (size > 32) {
            memcpy(to, from, size);
        } else if (size >= 16) {
            memcpy(to, from, 16);
            memcpy(to + size - 16, from + size - 16, 16);
        } else if (size >= 8) {
            memcpy(to, from, 8);
            memcpy(to + size - 8, from + size - 8, 8);
        } else if (size >= 4) {
            memcpy(to, from, 4);
            memcpy(to + size - 4, from + size - 4, 4);
        } else if (size) {
            to[0] = from[0];
            to[size >> 1] = from[size >> 1];
            to[size - 1] = from[size - 1];
        }
    }
    """
    void* exh_large(size_t size) noexcept nogil
    void exh_copy(char* to, const char* start, size_t size) noexcept nogil

cdef extern from "<locale.h>" nogil:
    struct lconv:
        char* decimal_point
    lconv* localeconv()

cdef enum OpKind:
    OP_LITERAL, OP_INTEGER, OP_FLOAT, OP_FORMATTED, OP_BOOLEAN, OP_STRING, OP_TEXT, OP_TIME

cdef enum FaultKind:
    F_NONE, F_LOG_TYPE, F_STRING, F_OFFSET, F_FLOAT, F_PATTERN, F_TIME, F_MEMORY

cdef struct Slice:
    const char* text
    Py_ssize_t size

cdef struct Strings:  # entries of a dictionary; `starts` has one more, where the last one ends
    const char* data
    const int64_t* starts
    uint64_t count

cdef struct Out:
    char* data
    Py_ssize_t size
    Py_ssize_t capacity

cdef struct Hole:  # a literal and the placeholder after it (0: the log type ends)
    Py_ssize_t start
    Py_ssize_t size
    int kind

cdef struct Step:
    int code
    Py_ssize_t start  # text in the arena of the patterns
    Py_ssize_t size
    Py_ssize_t names  # first of the names, for name tables

cdef struct Pattern:
    uint64_t ident
    int64_t unit
    int64_t shift
    int first
    int count
    bint absolute  # sub-second steps print the fraction of the absolute value

cdef struct Op:
    int kind
    const char* literal  # printed before the value
    Py_ssize_t literal_size
    const char* values
    const char* more  # formats, variables, pattern ids
    Py_ssize_t num_more
    Strings strings
    bint escape  # whether the strings are printed as content of JSON strings
    const Hole* holes
    const Py_ssize_t* first_hole
    const char* arena
    uint64_t num_log_types
    bint core
    const Pattern* patterns
    const Step* steps
    const Slice* names
    int num_patterns

cdef struct Trouble:
    int kind
    int operation
    Py_ssize_t row
    int64_t detail

cdef const char* EMPTY = b""
cdef char[200] DIGITS2  # the two digits of 0 to 99
cdef const char* HEX = b"0123456789abcdef"
cdef double[23] TENS
cdef uint64_t[20] INT_TENS
cdef uint8_t[256] ESCAPE  # 0: as it is, 'u': \u00xx, else the letter after the backslash


cdef void _init_clps() noexcept:
    """Fill the tables of powers of ten, of pairs of digits and of escapes."""
    cdef int i
    cdef double ten = 1.0
    cdef uint64_t whole = 1
    for i in range(23):
        TENS[i] = ten
        ten = ten * 10.0
    for i in range(20):
        INT_TENS[i] = whole
        whole = whole * 10
    for i in range(100):
        DIGITS2[2 * i] = <char>(c"0" + i // 10)
        DIGITS2[2 * i + 1] = <char>(c"0" + i % 10)
    memset(ESCAPE, 0, 256)
    for i in range(32):
        ESCAPE[i] = c"u"
    ESCAPE[8] = c"b"
    ESCAPE[9] = c"t"
    ESCAPE[10] = c"n"
    ESCAPE[12] = c"f"
    ESCAPE[13] = c"r"
    ESCAPE[0x22] = 0x22
    ESCAPE[0x5C] = 0x5C


_init_clps()


cdef inline bint reserve(Out* out, Py_ssize_t size) noexcept nogil:
    """Reserve space for `size` more bytes; False when there is no memory."""
    cdef Py_ssize_t wanted
    cdef char* data
    if out.capacity - out.size >= size:
        return True
    wanted = out.capacity * 2 if out.capacity * 2 > out.size + size else out.size + size + 4096
    data = <char*>realloc(out.data, wanted)
    if data == NULL:
        return False
    out.data = data
    out.capacity = wanted
    return True


cdef inline void put(Out* out, const char* text, Py_ssize_t size) noexcept nogil:
    exh_copy(out.data + out.size, text, size)
    out.size += size


cdef inline bint add(Out* out, const char* text, Py_ssize_t size) noexcept nogil:
    if not reserve(out, size):
        return False
    exh_copy(out.data + out.size, text, size)
    out.size += size
    return True


cdef bint add_escaped(Out* out, const char* text, Py_ssize_t size) noexcept nogil:
    """Add a string with the escapes of JSON. Returns False without memory."""
    cdef Py_ssize_t i
    cdef uint8_t byte, how
    cdef char* data
    if not reserve(out, 6 * size):
        return False
    data = out.data + out.size
    for i in range(size):
        byte = <uint8_t>text[i]
        how = ESCAPE[byte]
        if how == 0:
            data[0] = <char>byte
            data += 1
        else:
            data[0] = c"\\"
            data[1] = <char>how
            data += 2
            if how == c"u":
                data[0] = c"0"
                data[1] = c"0"
                data[2] = HEX[byte >> 4]
                data[3] = HEX[byte & 15]
                data += 4
    out.size = data - out.data
    return True


cdef inline int put_unsigned(char* at, uint64_t value) noexcept nogil:
    """Decimal digits at `at`; how many."""
    cdef char[20] digits
    cdef int n = 20
    cdef uint64_t rest
    cdef int pair
    while value >= 100:
        rest = value // 100
        pair = <int>(value - rest * 100) * 2
        value = rest
        n -= 2
        digits[n] = DIGITS2[pair]
        digits[n + 1] = DIGITS2[pair + 1]
    if value >= 10:
        n -= 2
        digits[n] = DIGITS2[value * 2]
        digits[n + 1] = DIGITS2[value * 2 + 1]
    else:
        n -= 1
        digits[n] = <char>(c"0" + <int>value)
    ir_copy(at, digits + n, 20 - n)
    return 20 - n


cdef inline void put_integer(Out* out, int64_t value) noexcept nogil:
    cdef uint64_t size = <uint64_t>value
    if value < 0:
        out.data[out.size] = c"-"
        out.size += 1
        size = 0 - size
    out.size += put_unsigned(out.data + out.size, size)


cdef inline void put_padded(Out* out, uint64_t value, int width, char pad) noexcept nogil:
    """`value`, filled up on the left to `width` characters."""
    cdef char[20] digits
    cdef uint64_t left = value
    cdef int n = width
    if pad == c"0":
        while n:
            n -= 1
            out.data[out.size + n] = <char>(48 + left % 10)
            left = left // 10
        if left == 0:
            out.size += width
            return
    n = put_unsigned(digits, value)
    while width > n:
        out.data[out.size] = pad
        out.size += 1
        width -= 1
    put(out, digits, n)


cdef inline int64_t load64(const char* at, Py_ssize_t index) noexcept nogil:
    cdef int64_t value
    memcpy(&value, at + sizeof(int64_t) * index, sizeof(int64_t))
    return value


cdef inline double load_double(const char* at, Py_ssize_t index) noexcept nogil:
    cdef double value
    memcpy(&value, at + sizeof(double) * index, sizeof(double))
    return value
