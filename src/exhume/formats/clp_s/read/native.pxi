# The clp-s part of the kernel: dictionaries and row assembly.  `exhume.formats.clp_s.read.pykernel` is the pure-Python twin
# and holds the documentation.  Rows are printed without the GIL, so tables can be printed by several threads.

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
    /* Memory that `free` gives back.  Filling large pages takes a fraction of the time. */
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
    /* As memcpy, without a call for the few bytes that most texts have. */
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

cdef struct Hole:  # a literal and the placeholder behind it (0: the log type ends)
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
cdef uint8_t[256] ESCAPE  # 0: as it is, 'u': \u00xx, else the letter behind the backslash


cdef void _init_clps() noexcept:
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
    """Room for `size` more bytes; False when there is no memory."""
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
    memcpy(at, digits + n, 20 - n)
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
    cdef int n = put_unsigned(digits, value)
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


# -- floats -----------------------------------------------------------------------------------------------------------

cdef int print_double(char* at, int room, const char* form, int precision, double value) noexcept nogil:
    """snprintf of one double with a point, whatever the locale says."""
    cdef int size = snprintf(at, room, form, precision, value)
    cdef const char* point = localeconv().decimal_point
    cdef int length, i
    if point[0] == c"." and point[1] == 0:
        return size
    length = <int>strlen(point)
    if length == 0:
        return size
    for i in range(size - length + 1):
        if memcmp(at + i, point, length) == 0:
            at[i] = c"."
            memmove(at + i + 1, at + i + length, size - i - length)
            return size - length + 1
    return size


cdef bint add_special(Out* out, double value) noexcept nogil:
    """Prints nan and infinities; False for every other number (room for four bytes must be there)."""
    if isnan(value):
        put(out, b"nan", 3)
        return True
    if isinf(value):
        if value < 0:
            put(out, b"-inf", 4)
        else:
            put(out, b"inf", 3)
        return True
    return False


cdef bint add_float(Out* out, double value) noexcept nogil:
    """C's %f."""
    cdef double size, scaled, fraction
    cdef uint64_t whole
    if not reserve(out, 340):
        return False
    if add_special(out, value):
        return True
    size = -value if signbit(value) else value
    if size < 1e9:
        scaled = size * 1e6
        fraction = scaled - floor(scaled)
        if fraction < 0.4 or fraction > 0.6:  # rounding is clear, in spite of the error of the product
            whole = <uint64_t>floor(scaled + 0.5)
            if signbit(value):
                out.data[out.size] = c"-"
                out.size += 1
            out.size += put_unsigned(out.data + out.size, whole // 1000000)
            out.data[out.size] = c"."
            out.size += 1
            put_padded(out, whole % 1000000, 6, c"0")
            return True
    out.size += print_double(out.data + out.size, 330, b"%.*f", 6, value)
    return True


cdef bint add_plain_fast(Out* out, double value, int significant) noexcept nogil:
    """Plain notation of a number that is the closest double to a decimal of `significant` (at most 15) digits.

    False when it is not, or when that cannot be told cheaply.
    """
    cdef double size = -value if signbit(value) else value
    cdef int exponent = 0, decimals, i
    cdef uint64_t digits
    cdef double scaled
    if size == 0.0:
        decimals = significant - 1
        digits = 0
    else:
        if size >= 1e15 or size < 1e-5:
            return False
        if size >= 1.0:
            while exponent < 14 and size >= TENS[exponent + 1]:
                exponent += 1
        else:
            exponent = -1
            while size * TENS[-exponent] < 1.0:
                exponent -= 1
        decimals = significant - 1 - exponent
        if decimals > 22:
            return False
        if decimals >= 0:
            scaled = floor(size * TENS[decimals] + 0.5)
            if scaled >= TENS[significant] or scaled < TENS[significant - 1] or scaled / TENS[decimals] != size:
                return False
        else:
            scaled = floor(size / TENS[-decimals] + 0.5)
            if scaled >= TENS[significant] or scaled < TENS[significant - 1] or scaled * TENS[-decimals] != size:
                return False
        digits = <uint64_t>scaled
    if signbit(value):
        out.data[out.size] = c"-"
        out.size += 1
    if decimals <= 0:
        out.size += put_unsigned(out.data + out.size, digits)
        for i in range(-decimals):
            out.data[out.size] = c"0"
            out.size += 1
        return True
    if decimals >= 20:
        scaled = 0
        put(out, b"0.", 2)
        put_padded(out, digits, decimals, c"0")
        return True
    out.size += put_unsigned(out.data + out.size, digits // INT_TENS[decimals])
    out.data[out.size] = c"."
    out.size += 1
    put_padded(out, digits % INT_TENS[decimals], decimals, c"0")
    return True


cdef bint add_formatted(Out* out, double value, uint16_t word) noexcept nogil:
    """A number under its format word."""
    cdef int significant = <int>clp_s_table_float_format_num_significant_digits(word)
    cdef int notation = <int>clp_s_table_float_format_notation(word), sign
    cdef bint with_exponent = notation in (
        CLP_S_TABLE_FLOAT_NOTATION_LOWER_EXPONENT, CLP_S_TABLE_FLOAT_NOTATION_UPPER_EXPONENT)
    cdef char[64] text
    cdef char[40] digits
    cdef int size, i, n = 0, start, mantissa, exponent = 0, point, width
    cdef bint negative
    if not reserve(out, 400):
        return False
    if add_special(out, value):
        return True
    if not with_exponent and significant <= 15 and add_plain_fast(out, value, significant):
        return True
    size = print_double(text, 64, b"%.*e", significant - 1, value)
    mantissa = size - 1
    while text[mantissa] != c"e":
        mantissa -= 1
    for i in range(mantissa + 2, size):
        exponent = exponent * 10 + (text[i] - c"0")
    if with_exponent:
        put(out, text, mantissa)
        out.data[out.size] = c"E" if notation == CLP_S_TABLE_FLOAT_NOTATION_UPPER_EXPONENT else c"e"
        out.size += 1
        sign = <int>clp_s_table_float_format_exponent_sign(word)
        if sign == CLP_S_TABLE_EXPONENT_SIGN_PLUS:
            out.data[out.size] = c"+"
            out.size += 1
        elif sign == CLP_S_TABLE_EXPONENT_SIGN_MINUS:
            out.data[out.size] = c"-"
            out.size += 1
        width = <int>clp_s_table_float_format_num_exponent_digits(word)
        put_padded(out, <uint64_t>exponent, width, c"0")
        return True
    if text[mantissa + 1] == c"-":
        exponent = -exponent
    negative = text[0] == c"-"
    start = 1 if negative else 0
    for i in range(start, mantissa):
        if text[i] != c".":
            digits[n] = text[i]
            n += 1
    if negative:
        out.data[out.size] = c"-"
        out.size += 1
    point = exponent + 1
    if point <= 0:
        put(out, b"0.", 2)
        for i in range(-point):
            out.data[out.size] = c"0"
            out.size += 1
        put(out, digits, n)
    elif point < n:
        put(out, digits, point)
        out.data[out.size] = c"."
        out.size += 1
        put(out, digits + point, n - point)
    else:
        put(out, digits, n)
        for i in range(point - n):
            out.data[out.size] = c"0"
            out.size += 1
    return True


cdef bint put_encoded_float(Out* out, uint64_t word, bint core) noexcept nogil:
    """An encoded float variable; False when its digit counts are impossible.  Needs room for 20 bytes."""
    if core:
        return put_decimal(out, <int>clp_s_table_decimal_variable_num_digits(word),
                           <int>clp_s_table_decimal_variable_num_fraction_digits(word),
                           clp_s_table_decimal_variable_digits(word), clp_s_table_decimal_variable_sign(word))
    return put_decimal(out, <int>clp_s_table_classic_decimal_variable_num_digits(word),
                       <int>clp_s_table_classic_decimal_variable_num_fraction_digits(word),
                       clp_s_table_classic_decimal_variable_digits(word),
                       clp_s_table_classic_decimal_variable_sign(word))


cdef bint put_decimal(Out* out, int digits, int point, uint64_t value, bint negative) noexcept nogil:
    """`digits` digits (at most 16), `point` of them behind the point; False when that cannot be."""
    cdef char[20] text
    cdef int n = put_unsigned(text, value)
    if point > digits or n > digits:
        return False
    if negative:
        out.data[out.size] = c"-"
        out.size += 1
    memset(out.data + out.size, c"0", digits - n)
    memcpy(out.data + out.size + digits - n, text, n)
    memmove(out.data + out.size + digits - point + 1, out.data + out.size + digits - point, point)
    out.data[out.size + digits - point] = c"."
    out.size += digits + 1
    return True


# -- dictionaries -----------------------------------------------------------------------------------------------------

cdef inline bint word_needs_escape(uint64_t word) noexcept nogil:
    cdef uint64_t quote = word ^ <uint64_t>0x2222222222222222, slash = word ^ <uint64_t>0x5C5C5C5C5C5C5C5C, high
    # The top bit of a byte stays set where it is below 0x20, or zero after the exclusive or.
    high = (word - <uint64_t>0x2020202020202020) & ~word
    high |= (quote - <uint64_t>0x0101010101010101) & ~quote
    high |= (slash - <uint64_t>0x0101010101010101) & ~slash
    return high & <uint64_t>0x8080808080808080 != 0


cdef inline bint needs_escape(const char* text, Py_ssize_t size) noexcept nogil:
    """Whether a JSON string holds an escape for some byte: eight at a time, the last of which overlap those before."""
    cdef uint64_t word
    cdef uint32_t low, high
    cdef Py_ssize_t at = 8
    while at < size:
        memcpy(&word, text + at - 8, sizeof(word))
        if word_needs_escape(word):
            return 1
        at += 8
    if size >= 8:
        memcpy(&word, text + size - 8, sizeof(word))
        return word_needs_escape(word)
    if size >= 4:
        memcpy(&low, text, sizeof(low))
        memcpy(&high, text + size - 4, sizeof(high))
        return word_needs_escape(<uint64_t>high << 32 | low)
    for at in range(size):
        if ESCAPE[<uint8_t>text[at]]:
            return 1
    return 0


cdef inline uint64_t clps_hash(const uint8_t* text, Py_ssize_t size) noexcept nogil:
    """Eight bytes at a time, each multiplied in; the last of them overlap those before."""
    cdef uint64_t value = <uint64_t>size * <uint64_t>0x9E3779B97F4A7C15, word = 0
    cdef uint32_t low, high
    cdef Py_ssize_t at = 8
    while at < size:
        memcpy(&word, text + at - 8, sizeof(word))
        value = (value ^ word) * <uint64_t>0xFF51AFD7ED558CCD
        value ^= value >> 32
        at += 8
    if size >= 8:
        memcpy(&word, text + size - 8, sizeof(word))
    elif size >= 4:
        memcpy(&low, text, sizeof(low))
        memcpy(&high, text + size - 4, sizeof(high))
        word = <uint64_t>high << 32 | low
    elif size:
        word = <uint64_t>text[0] << 16 | <uint64_t>text[size >> 1] << 8 | text[size - 1]
    value = (value ^ word) * <uint64_t>0xFF51AFD7ED558CCD
    return value ^ value >> 32


cdef enum:
    REPEATED_PART = 1 << 14  # entries of which a table is made at a time
    NUMBERED_AHEAD = 24


cdef inline Slice string_at(const Strings* strings, uint64_t index) noexcept nogil:
    cdef Slice found
    cdef int64_t start = strings.starts[index] + CLP_S_DICTIONARY_ENTRIES_ENTRY_END_LEN_VALUE
    found.text = strings.data + start
    found.size = <Py_ssize_t>(strings.starts[index + 1] - start)
    return found


cdef int64_t entries_until(
    const uint8_t* data, int64_t at, int64_t limit, Py_ssize_t count, int64_t* starts, Py_ssize_t* done
) noexcept nogil:
    """Where the entries of a dictionary end that end before the limit; puts it into `starts` for each."""
    cdef ClpSDictionaryEntriesEntry entry
    cdef int64_t end
    cdef Py_ssize_t number = done[0]
    while number < count:
        end = read_clp_s_dictionary_entries_entry(data, at, limit, &entry)
        if end < 0:
            break
        at = end
        number += 1
        starts[number] = at
    done[0] = number
    return at


cdef class ClpsStrings:
    cdef Strings strings
    cdef int64_t* starts
    cdef Py_ssize_t count
    cdef object owner  # of the bytes, and with `escape` of where the entries start too
    cdef bint escape
    cdef readonly Py_ssize_t end
    cdef readonly Py_ssize_t size

    def __cinit__(self):
        self.starts = NULL
        self.count = 0
        self.escape = 0
        self.end = 0
        self.size = 0
        self.strings.data = NULL
        self.strings.starts = NULL
        self.strings.count = 0

    def __init__(self, const uint8_t[::1] payload not None, Py_ssize_t count, steps=()):
        cdef int64_t size = payload.shape[0], at = 0, limit
        cdef const uint8_t* data = &payload[0] if size else <const uint8_t*>EMPTY
        cdef Py_ssize_t done = 0
        if self.starts != NULL:
            raise TypeError("made already")
        # No more than the payload has room for, and one that does not fit.
        count = min(count, size // CLP_S_DICTIONARY_ENTRIES_ENTRY_END_LEN_VALUE + 1)
        self.starts = <int64_t*>exh_large((count + 1) * sizeof(int64_t))
        if self.starts == NULL:
            raise MemoryError
        self.starts[0] = 0
        for limit in steps:
            if not at <= limit <= size:
                raise ValueError("a step outside the payload")
            with nogil:
                at = entries_until(data, at, limit, count, self.starts, &done)
        with nogil:
            at = entries_until(data, at, size, count, self.starts, &done)
        if done < count:
            raise ValueError(done, at)
        self.owner = payload
        self.count = count
        self.end = at
        self.size = size
        self.strings.data, self.strings.starts, self.strings.count = <const char*>data, self.starts, count

    def __dealloc__(self):
        if not self.escape:
            free(self.starts)

    def __len__(self):
        return self.count

    def __getitem__(self, Py_ssize_t index):
        if index < 0 or index >= self.count:
            raise IndexError(index)
        cdef Slice one = string_at(&self.strings, index)
        if not self.escape:
            return PyBytes_New(one.text, one.size)
        cdef Out out
        memset(&out, 0, sizeof(Out))
        if not add_escaped(&out, one.text, one.size):
            raise MemoryError
        try:
            return PyBytes_New(out.data, out.size)
        finally:
            free(out.data)

    def numbered(self, ids, int32_t[::1] slots not None):
        cdef Py_buffer view
        cdef Slice* used = NULL  # the different entries
        cdef Py_ssize_t rows, row, number = 0
        cdef int64_t size = 0
        cdef uint64_t id = 0
        cdef int32_t slot, end = 0
        cdef int32_t* known = &slots[0] if slots.shape[0] else NULL
        cdef char* codes
        cdef char* ends
        cdef char* text
        cdef bint outside = 0
        PyObject_GetBuffer(ids, &view, PyBUF_SIMPLE)
        try:
            rows = view.len // sizeof(uint64_t)
            if self.escape or slots.shape[0] < self.count or rows >= <Py_ssize_t>1 << 31:
                raise ValueError("too few slots or too many ids")
            made = PyBytes_New(NULL, sizeof(int32_t) * rows)
            codes = PyBytes_AS_STRING(<PyObject*>made)
            used = <Slice*>malloc((rows + 1) * sizeof(Slice))
            if used == NULL:
                raise MemoryError
            with nogil:
                # Slots and entries lie anywhere in large tables: they are asked for some rows ahead.
                for row in range(rows):
                    if row + NUMBERED_AHEAD < rows:
                        id = <uint64_t>load64(<const char*>view.buf, row + NUMBERED_AHEAD)
                        if id < <uint64_t>self.count:
                            EXH_PREFETCH(&known[id])
                            EXH_PREFETCH(&self.starts[id])
                    id = <uint64_t>load64(<const char*>view.buf, row)
                    if id >= <uint64_t>self.count:
                        outside = 1
                        break
                    slot = known[id]  # whatever was there, it is right if it leads to this entry
                    if slot < 0 or slot >= number or used[slot].text != string_at(&self.strings, id).text:
                        slot = known[id] = <int32_t>number
                        used[number] = string_at(&self.strings, id)
                        size += used[number].size
                        number += 1
                    memcpy(codes + sizeof(int32_t) * row, &slot, sizeof(int32_t))
            if outside:
                raise IndexError(id)
            if size >= <int64_t>1 << 31:
                raise OverflowError(size)
            offsets = PyBytes_New(NULL, sizeof(int32_t) * (number + 1))
            ends = PyBytes_AS_STRING(<PyObject*>offsets)
            joined = PyBytes_New(NULL, size)
            text = PyBytes_AS_STRING(<PyObject*>joined)
            with nogil:
                memcpy(ends, &end, sizeof(int32_t))
                for row in range(number):
                    if row + NUMBERED_AHEAD < number:
                        EXH_PREFETCH(used[row + NUMBERED_AHEAD].text)
                    memcpy(text + end, used[row].text, used[row].size)
                    end += <int32_t>used[row].size
                    memcpy(ends + sizeof(int32_t) * (row + 1), &end, sizeof(int32_t))
            return made, offsets, joined
        finally:
            free(used)
            PyBuffer_Release(&view)

    def first_not_utf8(self, Py_ssize_t start, Py_ssize_t stop):
        cdef Py_ssize_t index, found = -1
        cdef Slice one
        if not 0 <= start <= stop <= self.count:
            raise IndexError(stop)
        with nogil:
            for index in range(start, stop):
                one = string_at(&self.strings, index)
                if not ir_is_utf8(<const uint8_t*>one.text, one.size):
                    found = index
                    break
        return found

    def escaped(self):
        # Whether one has to be is seen when it is printed: a copy of a large dictionary, or a look at all of it, would
        # cost a search of a few records more than all that it prints.
        cdef ClpsStrings made
        if self.escape:
            return self
        made = ClpsStrings.__new__(ClpsStrings)
        made.starts, made.count, made.end, made.size = self.starts, self.count, self.end, self.size
        made.strings = self.strings
        made.escape = 1
        made.owner = self
        return made


cdef class ClpsRepeated:
    cdef ClpsStrings strings
    cdef uint64_t* hashes

    def __cinit__(self, ClpsStrings strings not None):
        self.strings = strings
        self.hashes = <uint64_t*>exh_large((strings.count + 1) * sizeof(uint64_t))
        if self.hashes == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.hashes)

    def add(self, Py_ssize_t start, Py_ssize_t stop):
        cdef Py_ssize_t index
        cdef Slice text
        if not 0 <= start <= stop <= self.strings.count:
            raise IndexError(stop)
        with nogil:
            for index in range(start, stop):
                text = string_at(&self.strings.strings, index)
                self.hashes[index] = clps_hash(<const uint8_t*>text.text, text.size)

    def first(self, Py_ssize_t share, Py_ssize_t shares):
        # The entries in parts by their hash, so that a table of those of a part, with open addressing, stays in the
        # processor: half of the hash, and the number of the entry that has it from 1 on.  Whoever chooses the entries
        # could choose them to collide: then a set decides, whose hashes nobody can know.
        cdef Py_ssize_t parts = 1, part, index, count = self.strings.count, found = count, steps = 0
        cdef Py_ssize_t most = 64 * count + 1024, start = 0, largest = 0
        cdef uint64_t slots = 16, mask, at, one, slot, low, width
        cdef Slice text, other
        cdef uint64_t* entries = NULL
        cdef uint64_t* table = NULL
        cdef Py_ssize_t* ends = NULL
        if not 0 <= share < shares:
            raise ValueError(share)
        while parts < shares or count // parts > REPEATED_PART:
            parts *= 2
        mask = <uint64_t>parts - 1
        low = <uint64_t>(parts * share // shares)
        width = <uint64_t>(parts * (share + 1) // shares) - low
        if count >= 1 << 31:
            return self._first(mask, low, width)
        ends = <Py_ssize_t*>calloc(width + 2, sizeof(Py_ssize_t))
        try:
            if ends == NULL:
                raise MemoryError
            with nogil:  # without branches: entries of other shares count as those of a part behind the last
                for index in range(count):
                    ends[min((self.hashes[index] & mask) - low, width) + 1] += 1
                for part in range(<Py_ssize_t>width):
                    largest = max(largest, ends[part + 1])
                    ends[part + 1] += ends[part]
            entries = <uint64_t*>exh_large((ends[width] + 1) * sizeof(uint64_t))
            while slots < <uint64_t>(largest + largest // 3):
                slots *= 2
            table = <uint64_t*>malloc(slots * sizeof(uint64_t))
            if entries == NULL or table == NULL:
                raise MemoryError
            with nogil:
                for index in range(count):  # `ends` of a part moves from its start to its end
                    one = self.hashes[index]
                    at = min((one & mask) - low, width)
                    entries[ends[at]] = one >> 32 << 32 | <uint64_t>(index + 1)
                    ends[at] += at < width
                for part in range(<Py_ssize_t>width):
                    memset(table, 0, slots * sizeof(uint64_t))
                    for index in range(start, ends[part]):
                        one = entries[index]
                        if <Py_ssize_t>(one & <uint64_t>0xFFFFFFFF) > found or steps > most:
                            break  # one that comes earlier is repeated already
                        at = one >> 32 & (slots - 1)
                        while (slot := table[at]) != 0:
                            steps += 1
                            if slot >> 32 == one >> 32:
                                text = string_at(&self.strings.strings, (one & <uint64_t>0xFFFFFFFF) - 1)
                                other = string_at(&self.strings.strings, (slot & <uint64_t>0xFFFFFFFF) - 1)
                                if other.size == text.size and memcmp(other.text, text.text, text.size) == 0:
                                    found = <Py_ssize_t>(one & <uint64_t>0xFFFFFFFF) - 1
                                    break
                            at = (at + 1) & (slots - 1)
                        table[at] = one
                    start = ends[part]
        finally:
            free(entries)
            free(ends)
            free(table)
        if steps > most:
            return self._first(mask, low, width)
        return found if found < count else -1

    cdef Py_ssize_t _first(self, uint64_t mask, uint64_t low, uint64_t width) except -2:
        cdef Py_ssize_t index
        seen = set()
        for index in range(self.strings.count):
            if (self.hashes[index] & mask) - low < width:
                text = self.strings[index]
                if text in seen:
                    return index
                seen.add(text)
        return -1


cdef class ClpsLogTypes:
    cdef Hole* pieces
    cdef Py_ssize_t* first
    cdef Py_ssize_t count
    cdef Out arena
    cdef readonly bint core

    def __cinit__(self):
        self.pieces = NULL
        self.first = NULL
        self.count = 0
        memset(&self.arena, 0, sizeof(Out))

    def __init__(self, ClpsStrings entries, bint core, bint escape):
        cdef Py_ssize_t index, i, holes = 0, used = 0, start, total = 0
        cdef const char* text
        cdef Slice one
        cdef uint8_t byte, first = CLP_S_DICTIONARY_ENTRIES_MARKS_INTEGER
        cdef uint8_t last = (
            CLP_S_DICTIONARY_ENTRIES_MARKS_DECIMAL if core else CLP_S_DICTIONARY_ENTRIES_CLASSIC_MARKS_DECIMAL)
        cdef char literal
        if self.first != NULL:
            raise TypeError("made already")
        self.core = core
        for index in range(entries.count):
            one = string_at(&entries.strings, index)
            total += one.size
            for i in range(one.size):
                byte = <uint8_t>one.text[i]
                if first <= byte <= last:
                    holes += 1
        self.first = <Py_ssize_t*>malloc((entries.count + 1) * sizeof(Py_ssize_t))
        self.pieces = <Hole*>malloc((holes + entries.count + 1) * sizeof(Hole))
        if self.first == NULL or self.pieces == NULL or not reserve(&self.arena, total * (6 if escape else 1) + 6):
            raise MemoryError
        for index in range(entries.count):
            one = string_at(&entries.strings, index)
            text = one.text
            self.first[index] = used
            start = self.arena.size
            i = 0
            while i < one.size:
                byte = <uint8_t>text[i]
                if byte == CLP_S_DICTIONARY_ENTRIES_MARKS_ESCAPE:
                    i += 1
                    if i == one.size:
                        break
                    byte = <uint8_t>text[i]
                elif first <= byte <= last:
                    self.pieces[used].start = start
                    self.pieces[used].size = self.arena.size - start
                    self.pieces[used].kind = byte
                    used += 1
                    start = self.arena.size
                    i += 1
                    continue
                literal = <char>byte
                if escape:
                    add_escaped(&self.arena, &literal, 1)
                else:
                    put(&self.arena, &literal, 1)
                i += 1
            self.pieces[used].start = start
            self.pieces[used].size = self.arena.size - start
            self.pieces[used].kind = 0
            used += 1
        self.first[entries.count] = used
        self.count = entries.count

    def __dealloc__(self):
        free(self.pieces)
        free(self.first)
        free(self.arena.data)

    def __len__(self):
        return self.count

    def holes(self, Py_ssize_t index):
        if index < 0 or index >= self.count:
            raise IndexError(index)
        cdef Hole* piece = &self.pieces[self.first[index]]
        found = bytearray()
        while piece.kind:
            found.append(piece.kind)
            piece += 1
        return bytes(found)

    def literals(self, Py_ssize_t index):
        if index < 0 or index >= self.count:
            raise IndexError(index)
        cdef Hole* piece = &self.pieces[self.first[index]]
        found = []
        while True:
            found.append(PyBytes_New(self.arena.data + piece.start, piece.size))
            if not piece.kind:
                return found
            piece += 1


# -- timestamps -------------------------------------------------------------------------------------------------------

cdef class ClpsPatterns:
    cdef Pattern* patterns
    cdef Step* steps
    cdef Slice* names
    cdef int count
    cdef bytes arena

    def __cinit__(self):
        self.patterns = NULL
        self.steps = NULL
        self.names = NULL
        self.count = 0

    def __init__(self, patterns):
        cdef Py_ssize_t at = 0
        cdef int step = 0, name = 0
        if self.patterns != NULL:
            raise TypeError("made already")
        found = sorted({(<object>item[0]) & 0xFFFFFFFFFFFFFFFF: item for item in patterns}.items())
        total = sum(len(item[3]) for _, item in found)
        self.arena = b"".join([bytes(text) for _, item in found for _, text in item[3]])
        cdef const char* base = self.arena
        self.patterns = <Pattern*>malloc((len(found) + 1) * sizeof(Pattern))
        self.steps = <Step*>malloc((total + 1) * sizeof(Step))
        self.names = <Slice*>malloc((12 * total + 1) * sizeof(Slice))
        if self.patterns == NULL or self.steps == NULL or self.names == NULL:
            raise MemoryError
        for ident, (_, unit, shift, steps) in found:
            self.patterns[self.count].ident = ident
            self.patterns[self.count].unit = unit
            self.patterns[self.count].shift = shift
            self.patterns[self.count].first = step
            self.patterns[self.count].count = len(steps)
            self.patterns[self.count].absolute = any(code >= 24 for code, _ in steps)
            for code, text in steps:
                self.steps[step].code = code
                self.steps[step].start = at
                self.steps[step].size = len(text)
                self.steps[step].names = name
                if code == 6 or code == 7:
                    offset = at
                    parts = text.split(b"\0")
                    if len(parts) != (12 if code == 6 else 7):
                        raise ValueError("a name table of the wrong size")
                    for part in parts:
                        self.names[name].text = base + <Py_ssize_t>offset
                        self.names[name].size = len(part)
                        offset += len(part) + 1
                        name += 1
                at += len(text)
                step += 1
            self.count += 1

    def __dealloc__(self):
        free(self.patterns)
        free(self.steps)
        free(self.names)

    def render(self, ident, epoch):
        cdef Out out
        cdef Op op
        cdef int found
        out.data = NULL
        out.size = 0
        out.capacity = 0
        op.patterns, op.steps, op.names, op.num_patterns = self.patterns, self.steps, self.names, self.count
        op.arena = self.arena
        found = add_time(&out, &op, <uint64_t>(<object>ident & 0xFFFFFFFFFFFFFFFF), epoch)
        try:
            if found == F_MEMORY:
                raise MemoryError
            return found if found else PyBytes_New(out.data, out.size)
        finally:
            free(out.data)


cdef int add_time(Out* out, const Op* op, uint64_t ident, int64_t epoch) noexcept nogil:
    """Prints a timestamp; a fault kind or 0."""
    cdef int low = 0, high = op.num_patterns - 1, middle, i, code
    cdef const Pattern* pattern = NULL
    cdef const Step* step
    cdef const Slice* name
    cdef int64_t per_second, seconds, fraction, nanos, days, era, year, day, month, part, value
    cdef int64_t hour, minute, second, hour12, second_of_day
    cdef uint64_t size
    cdef Py_ssize_t start = out.size
    cdef char[24] digits
    while low <= high:
        middle = (low + high) // 2
        if op.patterns[middle].ident == ident:
            pattern = &op.patterns[middle]
            break
        if op.patterns[middle].ident < ident:
            low = middle + 1
        else:
            high = middle - 1
    if pattern == NULL:
        return F_PATTERN
    per_second = 1000000000 // pattern.unit
    seconds = epoch // per_second if epoch >= 0 else -((-(epoch + 1)) // per_second) - 1
    fraction = epoch - seconds * per_second if epoch >= 0 else (epoch - (seconds + 1) * per_second) + per_second
    nanos = fraction * pattern.unit
    if pattern.absolute:
        size = <uint64_t>epoch if epoch >= 0 else 0 - <uint64_t>epoch
        nanos = <int64_t>(size % <uint64_t>per_second) * pattern.unit
    seconds += pattern.shift
    days = seconds // 86400 if seconds >= 0 else -((-(seconds + 1)) // 86400) - 1
    second_of_day = seconds - days * 86400
    # Civil date from days since 1970-01-01, proleptic Gregorian; eras of 400 years that start on 1 March.
    part = days + 719468
    era = part // 146097 if part >= 0 else -((-(part + 1)) // 146097) - 1
    day = part - era * 146097
    year = (day - day // 1460 + day // 36524 - day // 146096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day = day - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    year += era * 400 + (1 if month <= 2 else 0)
    hour = second_of_day // 3600
    minute = second_of_day // 60 % 60
    second = second_of_day % 60
    hour12 = hour % 12
    if hour12 == 0:
        hour12 = 12
    for i in range(pattern.count):
        step = &op.steps[pattern.first + i]
        code = step.code
        if not reserve(out, step.size + 48):
            return F_MEMORY
        if code == 0:
            put(out, op.arena + step.start, step.size)
        elif code == 1:
            if year < 0 or year > 9999:
                return F_TIME
            put_padded(out, year, 4, c"0")
        elif code == 2:
            value = year - 2000 if year >= 2000 else year - 1900
            if value < 0 or value > 99:
                return F_TIME
            put_padded(out, value, 2, c"0")
        elif code == 3:
            put_padded(out, month, 2, c"0")
        elif code == 4:
            put_padded(out, day, 2, c"0")
        elif code == 5:
            put_padded(out, day, 2, c" ")
        elif code == 6:
            name = &op.names[step.names + month - 1]
            put(out, name.text, name.size)
        elif code == 7:
            value = (days + 4) % 7
            name = &op.names[step.names + (value if value >= 0 else value + 7)]
            put(out, name.text, name.size)
        elif code == 8:
            put_padded(out, hour, 2, c"0")
        elif code == 9:
            put_padded(out, hour, 2, c" ")
        elif code == 10:
            put_padded(out, hour12, 2, c"0")
        elif code == 11:
            put_padded(out, hour12, 2, c" ")
        elif code == 12 or code == 13:
            value = 12 if hour == 0 else hour - 12 if hour > 13 else hour
            put_padded(out, value, 2, c"0" if code == 12 else c" ")
        elif code == 14:
            put(out, b"AM" if hour < 12 else b"PM", 2)
        elif code == 15:
            put_padded(out, minute, 2, c"0")
        elif code == 16:
            put_padded(out, second, 2, c"0")
        elif code == 17:
            put_padded(out, nanos // 1000000, 3, c"0")
        elif code == 18:
            put_padded(out, nanos // 1000, 6, c"0")
        elif code == 19:
            put_padded(out, nanos, 9, c"0")
        elif code == 20:
            if nanos // 1000000 == 0:
                out.data[out.size] = c"0"
                out.size += 1
            else:
                put_padded(out, nanos // 1000000, 3, c"0")
                while out.data[out.size - 1] == c"0":
                    out.size -= 1
        elif code == 21:
            if nanos == 0:
                return F_TIME
            put_padded(out, nanos, 9, c"0")
            while out.data[out.size - 1] == c"0":
                out.size -= 1
        elif code == 22 or code == 23:
            out.size = start
            put_integer(out, epoch)
            if code == 23:
                if out.size - start < 9:
                    return F_TIME
                memcpy(digits, out.data + out.size - 9, 9)
                out.data[out.size - 9] = c"."
                memcpy(out.data + out.size - 8, digits, 9)
                out.size += 1
        else:
            value = 1000000000 if code == 24 else 1000000 if code == 25 else 1000 if code == 26 else 1
            if epoch >= 0:
                put_integer(out, epoch // value)
            else:
                size = (0 - <uint64_t>epoch) // <uint64_t>value
                put_integer(out, <int64_t>(0 - size))
    return F_NONE


# -- rows -------------------------------------------------------------------------------------------------------------

cdef inline bint add_string(Out* out, const Op* op, uint64_t string) noexcept nogil:
    """Prints an entry of the variable dictionary; False when there is no memory."""
    cdef Slice entry = string_at(&op.strings, string)
    if op.escape and needs_escape(entry.text, entry.size):
        return add_escaped(out, entry.text, entry.size)
    return add(out, entry.text, entry.size)


cdef inline int walk_text(Out* out, const Op* op, uint64_t word, int64_t* detail, bint prints) noexcept nogil:
    """What `add_text` does, and the same without printing anything, for which `out` has to have room for a number."""
    cdef uint64_t ident = clp_s_table_clp_word_log_type_id(word), at = clp_s_table_clp_word_ofs_variable(word)
    cdef const Hole* hole
    cdef int64_t value
    cdef uint64_t string
    if ident >= op.num_log_types:
        detail[0] = <int64_t>ident
        return F_LOG_TYPE
    hole = &op.holes[op.first_hole[ident]]
    string = <uint64_t>(op.first_hole[ident + 1] - op.first_hole[ident] - 1)  # how many variables
    if string and at + string > <uint64_t>op.num_more:
        detail[0] = <int64_t>at
        return F_OFFSET
    while True:
        if prints:
            if not reserve(out, hole.size + 24):
                return F_MEMORY
            put(out, op.arena + hole.start, hole.size)
        else:
            out.size = 0
        if hole.kind == 0:
            return F_NONE
        value = load64(op.more, <Py_ssize_t>at)
        at += 1
        if hole.kind == CLP_S_DICTIONARY_ENTRIES_MARKS_INTEGER:
            if op.core or not clp_s_table_classic_variable_is_id(value):
                if prints:
                    put_integer(out, value)
                hole += 1
                continue
            string = <uint64_t>clp_s_table_classic_variable_dictionary_id(value)
        elif hole.kind == CLP_S_DICTIONARY_ENTRIES_MARKS_DICTIONARY_ENTRY and op.core:
            string = <uint64_t>value
        else:
            if not put_encoded_float(out, <uint64_t>value, op.core):
                detail[0] = value
                return F_FLOAT
            hole += 1
            continue
        if string >= op.strings.count:
            detail[0] = value
            return F_STRING
        if prints and not add_string(out, op, string):
            return F_MEMORY
        hole += 1


cdef int add_text(Out* out, const Op* op, uint64_t word, int64_t* detail) noexcept nogil:
    """Prints encoded text; a fault kind or 0."""
    return walk_text(out, op, word, detail, True)


cdef Py_ssize_t first_bad(Out* out, const Op* op, Py_ssize_t start, Py_ssize_t stop, Trouble* trouble) noexcept nogil:
    """The first row with a value that cannot be printed, or `stop`; any number can be."""
    cdef Py_ssize_t row
    cdef int64_t detail = 0
    cdef int found = F_NONE
    for row in range(start, stop):
        if op.kind == OP_STRING:
            detail = load64(op.values, row)
            if <uint64_t>detail >= op.strings.count:
                found = F_STRING
        elif op.kind == OP_TEXT:
            found = walk_text(out, op, <uint64_t>load64(op.values, row), &detail, False)
        elif op.kind == OP_TIME:
            out.size = 0
            detail = load64(op.more, row)
            found = add_time(out, op, <uint64_t>detail, load64(op.values, row))
        else:
            break
        if found != F_NONE:
            trouble.kind, trouble.row, trouble.detail = found, row, detail
            return row
    return stop


cdef int add_row(Out* out, const Op* ops, int count, Py_ssize_t row, Trouble* trouble) noexcept nogil:
    """Prints one row; on a fault nothing of it stays.  0 or a fault kind."""
    cdef int i, found = F_NONE
    cdef const Op* op
    cdef uint64_t string
    cdef uint16_t word
    cdef Py_ssize_t start = out.size
    cdef int64_t detail = 0
    for i in range(count):
        op = &ops[i]
        if not reserve(out, op.literal_size + 24):
            found = F_MEMORY
            break
        put(out, op.literal, op.literal_size)
        if op.kind == OP_LITERAL:
            pass
        elif op.kind == OP_INTEGER:
            put_integer(out, load64(op.values, row))
        elif op.kind == OP_STRING:
            string = <uint64_t>load64(op.values, row)
            if string >= op.strings.count:
                detail = <int64_t>string
                found = F_STRING
                break
            if not add_string(out, op, string):
                found = F_MEMORY
                break
        elif op.kind == OP_TEXT:
            found = add_text(out, op, <uint64_t>load64(op.values, row), &detail)
            if found != F_NONE:
                break
        elif op.kind == OP_TIME:
            found = add_time(out, op, <uint64_t>load64(op.more, row), load64(op.values, row))
            if found != F_NONE:
                detail = load64(op.more, row)
                break
        elif op.kind == OP_BOOLEAN:
            if op.values[row]:
                put(out, b"true", 4)
            else:
                put(out, b"false", 5)
        elif op.kind == OP_FLOAT:
            if not add_float(out, load_double(op.values, row)):
                found = F_MEMORY
                break
        else:
            memcpy(&word, op.more + sizeof(uint16_t) * row, sizeof(uint16_t))
            if not add_formatted(out, load_double(op.values, row), word):
                found = F_MEMORY
                break
    if found != F_NONE:
        out.size = start
        trouble.kind = found
        trouble.operation = i
        trouble.row = row
        trouble.detail = detail
    return found


cdef object copied(const char* text, Py_ssize_t size):
    # The pages of a large object are new to the process: other threads run while they are filled.
    made = PyBytes_New(NULL, size)
    cdef char* at = PyBytes_AS_STRING(<PyObject*>made)
    if size:
        with nogil:
            memcpy(at, text, size)
    return made


cdef class ClpsProgram:
    cdef readonly Py_ssize_t rows
    cdef Op* ops
    cdef int* indices  # of the operations as they were given
    cdef int count
    cdef Py_buffer* views
    cdef int num_views
    cdef list keep

    def __cinit__(self):
        self.ops = NULL
        self.indices = NULL
        self.views = NULL
        self.count = 0
        self.num_views = 0

    def __init__(self, operations, Py_ssize_t rows):
        cdef int index, total
        cdef Op* op
        cdef ClpsStrings strings
        cdef ClpsLogTypes log_types
        cdef ClpsPatterns patterns
        if self.ops != NULL:
            raise TypeError("made already")
        if rows < 0:
            raise ValueError("negative row count")
        self.rows = rows
        self.keep = list(operations)
        total = len(self.keep)
        self.ops = <Op*>malloc((total + 1) * sizeof(Op))
        self.indices = <int*>malloc((total + 1) * sizeof(int))
        self.views = <Py_buffer*>malloc((2 * total + 1) * sizeof(Py_buffer))
        if self.ops == NULL or self.indices == NULL or self.views == NULL:
            raise MemoryError
        memset(self.ops, 0, (total + 1) * sizeof(Op))
        self._joined_literals(total)
        index = 0
        for operation in self.keep:
            kind = operation[0]
            if kind == OP_LITERAL:
                index += 1
                continue
            op = self._op_of(index)
            op.kind = kind
            op.values = self._view(operation[1], rows if kind == OP_BOOLEAN else sizeof(int64_t) * rows, NULL)
            if kind == OP_FORMATTED:
                op.more = self._view(operation[2], sizeof(uint16_t) * rows, NULL)
            elif kind == OP_STRING:
                strings = operation[2]
                op.strings, op.escape = strings.strings, strings.escape
            elif kind == OP_TEXT:
                op.more = self._view(operation[2], 0, &op.num_more)
                op.num_more = op.num_more // sizeof(int64_t)
                log_types, strings = operation[3], operation[4]
                op.holes, op.first_hole, op.arena = log_types.pieces, log_types.first, log_types.arena.data
                op.num_log_types, op.core = log_types.count, log_types.core
                op.strings, op.escape = strings.strings, strings.escape
            elif kind == OP_TIME:
                op.more = self._view(operation[2], sizeof(int64_t) * rows, NULL)
                patterns = operation[3]
                op.patterns, op.steps, op.names = patterns.patterns, patterns.steps, patterns.names
                op.num_patterns, op.arena = patterns.count, patterns.arena
            elif not OP_INTEGER <= kind <= OP_BOOLEAN:
                raise ValueError(f"unknown operation {kind!r}")
            index += 1

    cdef int _joined_literals(self, int total) except -1:
        """One entry per value with the literals before it joined, and one for the literals at the end."""
        cdef bytes text = b""
        cdef int index
        joined = []
        for index in range(total):
            operation = self.keep[index]
            if operation[0] == OP_LITERAL:
                text += operation[1]
                continue
            joined.append(text)
            self.ops[self.count].literal = text
            self.ops[self.count].literal_size = len(text)
            self.indices[self.count] = index
            self.count += 1
            text = b""
        joined.append(text)
        self.ops[self.count].kind = OP_LITERAL
        self.ops[self.count].literal = text
        self.ops[self.count].literal_size = len(text)
        self.indices[self.count] = total
        self.count += 1
        self.keep = self.keep + [(OP_LITERAL, text) for text in joined]
        return 0

    cdef Op* _op_of(self, int index) noexcept:
        cdef int i = 0
        while self.indices[i] != index:
            i += 1
        return &self.ops[i]

    cdef const char* _view(self, buffer, Py_ssize_t need, Py_ssize_t* size) except? NULL:
        cdef Py_buffer* view = &self.views[self.num_views]
        PyObject_GetBuffer(buffer, view, PyBUF_SIMPLE)
        self.num_views += 1
        if view.len < need:
            raise ValueError("a buffer is shorter than the table")
        if size != NULL:
            size[0] = view.len
        if view.buf == NULL:
            return EMPTY
        return <const char*>view.buf

    def __dealloc__(self):
        cdef int i
        for i in range(self.num_views):
            PyBuffer_Release(&self.views[i])
        free(self.views)
        free(self.ops)
        free(self.indices)

    cdef tuple _fault(self, Trouble* trouble):
        if trouble.kind == F_MEMORY:
            raise MemoryError
        if not trouble.kind:
            return None
        detail = trouble.detail & 0xFFFFFFFFFFFFFFFF if trouble.detail < 0 and trouble.kind in (
            F_STRING, F_PATTERN) and self.ops[trouble.operation].kind != OP_TEXT else trouble.detail
        return (trouble.kind, self.indices[trouble.operation], trouble.row, detail)

    def render(self, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t max_size, bytes mask=None):
        cdef Out out
        cdef Trouble trouble
        cdef Py_ssize_t row = start
        cdef const char* chosen = NULL
        if start < 0 or stop > self.rows or (mask is not None and stop - start > len(mask)):
            raise IndexError(stop)
        if mask is not None:
            chosen = mask
        trouble.kind = F_NONE
        out.size = 0
        out.capacity = (max_size + max_size // 8 if max_size < 1 << 22 else 1 << 22) + 4096
        out.data = <char*>malloc(out.capacity)
        if out.data == NULL:
            raise MemoryError
        try:
            with nogil:
                while row < stop and out.size < max_size:
                    if chosen == NULL or chosen[row - start]:
                        if add_row(&out, self.ops, self.count, row, &trouble) != F_NONE:
                            break
                    row += 1
            fault = self._fault(&trouble)
            return copied(out.data, out.size), row, fault
        finally:
            free(out.data)

    def check(self, Py_ssize_t start, Py_ssize_t stop):
        cdef Out out
        cdef Trouble trouble
        cdef Py_ssize_t last = stop, row
        cdef int i
        if start < 0 or stop > self.rows:
            raise IndexError(stop)
        trouble.kind = F_NONE
        memset(&out, 0, sizeof(Out))
        if not reserve(&out, 64):
            raise MemoryError
        try:
            with nogil:
                for i in range(self.count):
                    row = first_bad(&out, &self.ops[i], start, last, &trouble)
                    if row < last:
                        last, trouble.operation = row, i
            return self._fault(&trouble)
        finally:
            free(out.data)

    def lines(self, rows):
        cdef Py_ssize_t total = len(rows), i, done = 0, start = 0
        cdef Py_ssize_t* wanted = <Py_ssize_t*>malloc((2 * total + 1) * sizeof(Py_ssize_t))
        cdef Py_ssize_t* ends = wanted + total
        cdef Out out
        cdef Trouble trouble
        trouble.kind = F_NONE
        out.data = NULL
        out.size = 0
        out.capacity = 0
        if wanted == NULL:
            raise MemoryError
        try:
            i = 0
            for row in rows:
                wanted[i] = row
                if wanted[i] < 0 or wanted[i] >= self.rows:
                    raise IndexError(row)
                i += 1
            with nogil:
                for i in range(total):
                    if add_row(&out, self.ops, self.count, wanted[i], &trouble) != F_NONE:
                        break
                    ends[i] = out.size
                    done += 1
            fault = self._fault(&trouble)
            found = PyList_New(done)
            for i in range(done):
                line = PyBytes_New(out.data + start, ends[i] - start)
                Py_INCREF(line)
                PyList_SET_ITEM(found, i, line)
                start = ends[i]
            return found, fault
        finally:
            free(wanted)
            free(out.data)


    def spans(self, Py_ssize_t start, Py_ssize_t stop):
        cdef Out out
        cdef Trouble trouble
        cdef Py_ssize_t row = start
        cdef int64_t end = 0
        cdef char* ends
        if start < 0 or stop > self.rows or start > stop:
            raise IndexError(stop)
        trouble.kind = F_NONE
        out.data = NULL
        out.size = 0
        out.capacity = 0
        made = PyBytes_New(NULL, sizeof(int64_t) * (stop - start + 1))
        ends = PyBytes_AS_STRING(<PyObject*>made)
        try:
            with nogil:
                memcpy(ends, &end, sizeof(int64_t))
                while row < stop:
                    if add_row(&out, self.ops, self.count, row, &trouble) != F_NONE:
                        break
                    row += 1
                    end = out.size
                    memcpy(ends + sizeof(int64_t) * (row - start), &end, sizeof(int64_t))
            fault = self._fault(&trouble)
            return copied(out.data, out.size), made, fault
        finally:
            free(out.data)


def clps_undelta(values, total=0):
    cdef Py_buffer view
    cdef Py_ssize_t i, count
    cdef uint64_t sum = total & <uint64_t>-1, step
    cdef char* data
    PyObject_GetBuffer(values, &view, PyBUF_SIMPLE)
    try:
        count = view.len // sizeof(uint64_t)
        made = PyBytes_New(NULL, sizeof(uint64_t) * count)
        data = PyBytes_AS_STRING(<PyObject*>made)
        with nogil:
            for i in range(count):
                memcpy(&step, <const char*>view.buf + sizeof(uint64_t) * i, sizeof(uint64_t))
                sum += step
                memcpy(data + sizeof(uint64_t) * i, &sum, sizeof(uint64_t))
        return made
    finally:
        PyBuffer_Release(&view)


def clps_variables_of(words, ClpsLogTypes log_types not None):
    cdef Py_buffer view
    cdef Py_ssize_t i, count
    cdef uint64_t word, ident, at, holes, low = <uint64_t>-1, high = 0
    cdef bint known = True
    cdef char* data
    PyObject_GetBuffer(words, &view, PyBUF_SIMPLE)
    try:
        count = view.len // sizeof(uint64_t)
        made = PyBytes_New(NULL, sizeof(uint64_t) * count)
        data = PyBytes_AS_STRING(<PyObject*>made)
        with nogil:
            for i in range(count):
                word = <uint64_t>load64(<const char*>view.buf, i)
                ident = clp_s_table_clp_word_log_type_id(word)
                if ident >= log_types.count:
                    known = False
                    break
                holes = <uint64_t>(log_types.first[ident + 1] - log_types.first[ident] - 1)
                if holes:
                    at = clp_s_table_clp_word_ofs_variable(word)
                    low = min(low, at)
                    high = max(high, at + holes)
            low = min(low, high)
            for i in range(count if known else 0):
                word = <uint64_t>load64(<const char*>view.buf, i)
                ident = clp_s_table_clp_word_log_type_id(word)
                if log_types.first[ident + 1] - log_types.first[ident] > 1:
                    word -= low << CLP_S_TABLE_CLP_WORD_SHIFT_OFS_VARIABLE
                else:
                    word = ident
                memcpy(data + sizeof(uint64_t) * i, &word, sizeof(uint64_t))
        return (low, high, made) if known else None
    finally:
        PyBuffer_Release(&view)


def clps_disorder(values):
    cdef Py_buffer view
    cdef Py_ssize_t i, count, found = -1
    PyObject_GetBuffer(values, &view, PyBUF_SIMPLE)
    try:
        count = view.len // sizeof(int64_t)
        with nogil:
            for i in range(1, count):
                if load64(<const char*>view.buf, i) <= load64(<const char*>view.buf, i - 1):
                    found = i
                    break
        return found
    finally:
        PyBuffer_Release(&view)


# -- merging ----------------------------------------------------------------------------------------------------------

cdef struct Head:
    int64_t key
    uint32_t table


cdef inline bint before(const Head* a, const Head* b) noexcept nogil:
    return a.key < b.key or (a.key == b.key and a.table < b.table)


cdef void sift(Head* heap, Py_ssize_t size, Py_ssize_t at) noexcept nogil:
    cdef Head moving = heap[at]
    cdef Py_ssize_t child
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and before(&heap[child + 1], &heap[child]):
            child += 1
        if not before(&heap[child], &moving):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = moving


def clps_merge_order(keys):
    cdef Py_ssize_t count = len(keys), i, size = 0, total = 0, done = 0
    cdef Py_buffer* views = <Py_buffer*>malloc((count + 1) * sizeof(Py_buffer))
    cdef Py_ssize_t* at = <Py_ssize_t*>malloc((count + 1) * sizeof(Py_ssize_t))
    cdef Head* heap = <Head*>malloc((count + 1) * sizeof(Head))
    cdef int opened = 0
    cdef uint32_t* order
    cdef uint32_t table
    cdef Py_buffer made
    try:
        if views == NULL or at == NULL or heap == NULL:
            raise MemoryError
        for i in range(count):
            PyObject_GetBuffer(keys[i], &views[i], PyBUF_SIMPLE)
            opened += 1
            at[i] = 0
            total += views[i].len // 8
            if views[i].len >= 8:
                heap[size].key = load64(<const char*>views[i].buf, 0)
                heap[size].table = <uint32_t>i
                size += 1
        found = array("I", bytes(sizeof(uint32_t) * total))
        PyObject_GetBuffer(found, &made, PyBUF_SIMPLE)
        order = <uint32_t*>made.buf
        with nogil:
            for i in range(size // 2 - 1, -1, -1):
                sift(heap, size, i)
            while size:
                table = heap[0].table
                order[done] = table
                done += 1
                at[table] += 1
                if at[table] < views[table].len // 8:
                    heap[0].key = load64(<const char*>views[table].buf, at[table])
                else:
                    size -= 1
                    heap[0] = heap[size]
                if size:
                    sift(heap, size, 0)
        PyBuffer_Release(&made)
        return found
    finally:
        for i in range(opened):
            PyBuffer_Release(&views[i])
        free(views)
        free(at)
        free(heap)


def clps_count(order, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t tables):
    cdef Py_buffer view
    cdef Py_ssize_t i
    cdef uint32_t table
    cdef Py_ssize_t* counts = <Py_ssize_t*>malloc((tables + 1) * sizeof(Py_ssize_t))
    if counts == NULL:
        raise MemoryError
    memset(counts, 0, (tables + 1) * sizeof(Py_ssize_t))
    try:
        PyObject_GetBuffer(order, &view, PyBUF_SIMPLE)
        try:
            if start < 0 or stop > view.len // 4:
                raise IndexError(stop)
            for i in range(start, stop):
                table = (<uint32_t*>view.buf)[i]
                if table >= <uint64_t>tables:
                    raise IndexError(table)
                counts[table] += 1
        finally:
            PyBuffer_Release(&view)
        return [counts[i] for i in range(tables)]
    finally:
        free(counts)


def clps_render_merged(programs, order, Py_ssize_t start, Py_ssize_t stop, list cursors, Py_ssize_t max_size):
    cdef Py_ssize_t count = len(programs), i, position = start
    cdef const Op** ops = <const Op**>malloc((count + 1) * sizeof(Op*))
    cdef int* sizes = <int*>malloc((count + 1) * sizeof(int))
    cdef Py_ssize_t* at = <Py_ssize_t*>malloc((2 * count + 2) * sizeof(Py_ssize_t))
    cdef Py_ssize_t* rows = at + count + 1
    cdef Py_buffer view
    cdef Out out
    cdef Trouble trouble
    cdef ClpsProgram program
    cdef uint32_t table = 0
    cdef bint past = False
    trouble.kind = F_NONE
    out.size = 0
    out.capacity = 1 << 16
    out.data = <char*>malloc(out.capacity)
    try:
        if ops == NULL or sizes == NULL or at == NULL or out.data == NULL:
            raise MemoryError
        for i in range(count):
            program = programs[i]
            ops[i], sizes[i] = program.ops, program.count
            at[i], rows[i] = cursors[i], program.rows
            if at[i] < 0:
                raise IndexError(at[i])
        PyObject_GetBuffer(order, &view, PyBUF_SIMPLE)
        try:
            if start < 0 or stop > view.len // 4:
                raise IndexError(stop)
            with nogil:
                while position < stop and out.size < max_size:
                    table = (<uint32_t*>view.buf)[position]
                    if table >= <uint64_t>count or at[table] >= rows[table]:
                        past = True
                        break
                    if add_row(&out, ops[table], sizes[table], at[table], &trouble) != F_NONE:
                        break
                    at[table] += 1
                    position += 1
        finally:
            PyBuffer_Release(&view)
        if past:
            raise IndexError(position)
        for i in range(count):
            cursors[i] = at[i]
        if trouble.kind:
            program = programs[table]
            return copied(out.data, out.size), position, table, program._fault(&trouble)
        return copied(out.data, out.size), position, -1, None
    finally:
        free(ops)
        free(sizes)
        free(at)
        free(out.data)
