# The part of the kernel that reads clp-s: its structures, and functions that append text to a buffer.  Decoding and
# printing are in the files next to it, which `_kernel.pyx` includes next.  `exhume.formats.clp_s.read.pykernel` is the
# pure-Python implementation of all of them and has the documentation of the classes and functions for Python.
# `clp_s_...` and `CLP_S_...` are generated from the specifications: readers, parts of packed integers, constants.
# `ir_copy` and `ir_is_utf8` are those of KV-IR: a copy of few bytes, and whether bytes are UTF-8.
# Rows are printed without the GIL, so that several threads can print one table.

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
    /* Allocate memory, to release with `free`: from 8 MiB on in huge pages, which the system provides much faster. */
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
    /* As memcpy, without a call for the few bytes that most strings have: two copies that overlap make any size. */
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

cdef enum OpKind:  # operations of a program; the same numbers as in program.py, which describes them
    OP_LITERAL, OP_INTEGER, OP_FLOAT, OP_FORMATTED, OP_BOOLEAN, OP_STRING, OP_TEXT, OP_TIME

cdef enum StepKind:  # steps of a timestamp pattern: the indices in `STEP_CODES` of program.py, which describes them
    STEP_LITERAL, STEP_YEAR, STEP_YEAR2, STEP_MONTH, STEP_DAY, STEP_DAY_SPACE, STEP_MONTH_NAME, STEP_WEEKDAY_NAME,
    STEP_HOUR, STEP_HOUR_SPACE, STEP_HOUR12, STEP_HOUR12_SPACE, STEP_HOUR12_OLD, STEP_HOUR12_OLD_SPACE, STEP_AM_PM,
    STEP_MINUTE, STEP_SECOND, STEP_MILLI, STEP_MICRO, STEP_NANO, STEP_TRIM_MILLI, STEP_TRIM_NANO, STEP_EPOCH,
    STEP_EPOCH_POINT, STEP_EPOCH_S, STEP_EPOCH_MS, STEP_EPOCH_US, STEP_EPOCH_NS

cdef enum FaultKind:  # why a value cannot be printed; the first ones have the same numbers as in program.py
    F_NONE, F_LOG_TYPE, F_STRING, F_OFFSET, F_FLOAT, F_PATTERN, F_TIME, F_MEMORY

cdef struct Slice:  # bytes in memory of another object
    const char* text
    Py_ssize_t size

cdef struct Strings:  # entries of a dictionary, back to back
    const char* data
    const int64_t* starts  # offset of each entry (its length, then its bytes); one more: the end of the last entry
    uint64_t count

cdef struct Out:  # a growing buffer of bytes
    char* data
    Py_ssize_t size  # bytes written
    Py_ssize_t capacity  # bytes allocated

cdef struct TextPart:  # a part of a log type: static text and the placeholder (of a variable) after it
    const char* text  # in the payload of the dictionary; a copy if it is printed with other bytes (escapes)
    uint64_t tail  # size of the text in bytes << 8 | the placeholder; 0: none, the log type ends

cdef inline uint8_t part_placeholder(const TextPart* part) noexcept nogil:
    return <uint8_t>(part.tail & 0xFF)

cdef inline Py_ssize_t part_size(const TextPart* part) noexcept nogil:
    return <Py_ssize_t>(part.tail >> 8)

cdef struct Step:  # a part of a timestamp pattern
    int code  # a `StepKind`
    Py_ssize_t start  # of its text (a literal), in the arena of the patterns
    Py_ssize_t size
    Py_ssize_t names  # index of the first name, if it prints the name of a month or weekday

cdef struct Pattern:  # a timestamp pattern, compiled
    uint64_t ident  # the id that columns refer to
    int64_t unit  # of the stored integers, in nanoseconds
    int64_t shift  # seconds to add to UTC for the local time that is printed
    int first  # index of its first step
    int count  # of its steps
    uint64_t serial  # its number in this process; 0 if times of the same second differ in more than its fraction
    int digits  # of the fraction of a second
    bint absolute  # sub-second steps print the fraction of the absolute value

cdef struct Op:  # an operation: prints a literal and then the value of a column, see program.py
    int kind  # an `OpKind`: of the value
    const char* literal  # printed before the value
    Py_ssize_t literal_size
    const char* values  # by row, 8 bytes each: numbers, ids, words of encoded text or epochs; booleans have 1 byte
    const char* more  # by row: format words (2 bytes) or pattern ids (8 bytes); or all variables (8 bytes each)
    Py_ssize_t num_more  # number of variables, if it prints encoded text
    Strings strings  # the variable dictionary
    bint escape  # whether the strings are printed as content of JSON strings
    const TextPart* parts  # of all log types
    const Py_ssize_t* first_part  # by log type: index of its first part; one more: the end
    const char* arena  # static text of the patterns
    uint64_t num_log_types
    bint core  # whether encoded text has the core dialect, else the classic one
    const Pattern* patterns  # sorted by id
    const Step* steps
    const Slice* names
    int num_patterns

cdef struct Trouble:  # a value that cannot be printed
    int kind  # a `FaultKind`
    int operation  # index of its operation in the program
    Py_ssize_t row
    int64_t detail  # the bad id, offset or word

cdef const char* EMPTY = b""
cdef char[200] DIGITS2  # the two digits of 0 to 99
cdef const char* HEX = b"0123456789abcdef"
cdef double[23] TENS  # powers of ten that are exact as doubles
cdef uint64_t[20] INT_TENS  # powers of ten
cdef uint8_t[256] ESCAPE  # by byte, 0: printed as it is, 'u': as \u00xx, else the letter after the backslash


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
    """Append bytes; the caller has reserved the space (as for all `put_...`, while `add_...` reserve it)."""
    exh_copy(out.data + out.size, text, size)
    out.size += size


cdef inline bint add(Out* out, const char* text, Py_ssize_t size) noexcept nogil:
    """Reserve space and append bytes; False when there is no memory."""
    if not reserve(out, size):
        return False
    exh_copy(out.data + out.size, text, size)
    out.size += size
    return True


cdef bint add_escaped(Out* out, const char* text, Py_ssize_t size) noexcept nogil:
    """Append a string with the escapes of JSON; False when there is no memory."""
    cdef Py_ssize_t at = 0, i, end
    cdef uint64_t word
    cdef uint8_t byte, how
    cdef char* data
    if not reserve(out, 6 * size):  # the longest escape is \u00xx
        return False
    data = out.data + out.size
    while at < size:
        end = min(at + <Py_ssize_t>sizeof(word), size)
        if end - at == sizeof(word):
            memcpy(&word, text + at, sizeof(word))
            if not word_needs_escape(word):
                memcpy(data, &word, sizeof(word))
                data += sizeof(word)
                at = end
                continue
        for i in range(at, end):
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
        at = end
    out.size = data - out.data
    return True


cdef inline int put_unsigned(char* at, uint64_t value) noexcept nogil:
    """Write decimal digits at `at`, two at a time from the end; return how many.  Needs space for 20."""
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
    """Append a signed decimal; needs space for 20 bytes."""
    cdef uint64_t size = <uint64_t>value
    if value < 0:
        out.data[out.size] = c"-"
        out.size += 1
        size = 0 - size
    out.size += put_unsigned(out.data + out.size, size)


cdef inline void put_padded(Out* out, uint64_t value, int width, char pad) noexcept nogil:
    """Append `value`, padded on the left with `pad` to `width` characters or more; needs space for 20 bytes."""
    cdef char[20] digits
    cdef uint64_t left = value
    cdef int n = width
    if pad == c"0":
        while n:
            n -= 1
            out.data[out.size + n] = <char>(48 + left % 10)  # 48: the digit 0
            left = left // 10
        if left == 0:  # else it has more digits than `width`: print it without padding
            out.size += width
            return
    n = put_unsigned(digits, value)
    while width > n:
        out.data[out.size] = pad
        out.size += 1
        width -= 1
    put(out, digits, n)


cdef inline int64_t load64(const char* at, Py_ssize_t index) noexcept nogil:
    """Element `index` of an array of int64 that need not be aligned."""
    cdef int64_t value
    memcpy(&value, at + sizeof(int64_t) * index, sizeof(int64_t))
    return value


cdef inline double load_double(const char* at, Py_ssize_t index) noexcept nogil:
    """Element `index` of an array of doubles that need not be aligned."""
    cdef double value
    memcpy(&value, at + sizeof(double) * index, sizeof(double))
    return value
