# The CAF part of the kernel: a walk over an index in the reference writers' form.  `exhume.formats.caf.pykernel` is the
# pure-Python form, with the documentation.

from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t

cdef struct CafEntry:
    Py_ssize_t name  # first byte after the opening quote
    Py_ssize_t size  # of the name as it is spelled
    int64_t start
    int64_t end
    Py_ssize_t after  # one past the closing brace
    bint escaped
    bint ascii

cdef const char* CAF_START = b'":{"start_byte":'
cdef const char* CAF_END = b',"end_byte":'


cdef inline bint caf_hex(unsigned char byte) noexcept nogil:
    return 48 <= byte <= 57 or 65 <= byte <= 70 or 97 <= byte <= 102


cdef inline Py_ssize_t caf_offset(const unsigned char* text, Py_ssize_t at, Py_ssize_t size, int64_t* out) noexcept nogil:
    """A plain decimal of at most 18 digits; returns the position after it, or -1."""
    cdef int64_t value = 0
    cdef Py_ssize_t first = at
    while at < size and 48 <= text[at] <= 57:
        value = value * 10 + (text[at] - 48)
        at += 1
        if at - first > 18:
            return -1
    if at == first or (text[first] == 48 and at - first > 1):
        return -1
    out[0] = value
    return at


cdef bint caf_entry(const unsigned char* text, Py_ssize_t at, Py_ssize_t size, CafEntry* out) noexcept nogil:
    """The entry whose opening quote is at `at`; False when it is in another form or not all there."""
    cdef Py_ssize_t i, stop
    cdef unsigned char byte, seen = 0, odd = 0
    cdef const unsigned char* quote
    if at >= size or text[at] != 34:
        return False
    i = at + 1
    out.name = i
    out.escaped = False
    quote = <const unsigned char*>memchr(text + i, 34, size - i)
    if quote == NULL:
        return False
    stop = quote - text
    for i in range(out.name, stop):  # without a branch, so that it becomes vector code
        byte = text[i]
        seen |= byte
        odd |= (byte < 0x20) | (byte == 92)
    i = stop if not odd else out.name
    while odd:
        if i >= size:
            return False
        byte = text[i]
        if byte == 34:
            break
        if byte < 0x20:
            return False
        if byte == 92:
            out.escaped = True
            if i + 1 >= size:
                return False
            byte = text[i + 1]
            if byte == 117:
                if i + 5 >= size or not (
                    caf_hex(text[i + 2]) and caf_hex(text[i + 3]) and caf_hex(text[i + 4]) and caf_hex(text[i + 5])
                ):
                    return False
                i += 6
            elif byte == 34 or byte == 92 or byte == 47 or byte == 98 or byte == 102 or byte == 110 or byte == 114 or byte == 116:
                i += 2
            else:
                return False
            continue
        seen |= byte
        i += 1
    out.ascii = seen < 0x80
    out.size = i - out.name
    if size - i < 16 or memcmp(text + i, CAF_START, 16) != 0:
        return False
    i = caf_offset(text, i + 16, size, &out.start)
    if i < 0 or size - i < 12 or memcmp(text + i, CAF_END, 12) != 0:
        return False
    i = caf_offset(text, i + 12, size, &out.end)
    if i < 0 or i >= size or text[i] != 125:
        return False
    out.after = i + 1
    return True


def caf_walk(const unsigned char[::1] text not None, Py_ssize_t at, bytes name not None):
    cdef Py_ssize_t size = text.shape[0], want = len(name), stop = at
    cdef const unsigned char* base = &text[0] if size else NULL
    cdef const char* needle = name
    cdef CafEntry entry
    cdef bint ascii = True, ended = False, hit = False, below = False
    cdef int64_t start = 0, end = 0
    cdef list escaped = []
    while at < size and caf_entry(base, at, size, &entry):
        if entry.after >= size:
            break  # what follows is not there yet
        if base[entry.after] != 44:
            if size - entry.after == 2 and base[entry.after] == 125 and base[entry.after + 1] == 125:
                ended = True
            else:
                break
        ascii = ascii and entry.ascii
        if entry.escaped:
            escaped.append((entry.name, entry.name + entry.size, entry.start, entry.end))
        elif entry.size >= want and memcmp(base + entry.name, needle, want) == 0:
            if entry.size == want:
                hit = True
                start, end = entry.start, entry.end
                if escaped:
                    escaped.append((entry.name, entry.name + entry.size, entry.start, entry.end))
            elif base[entry.name + want] == 47:
                below = True
        at = entry.after + 1
        stop = at
        if ended:
            stop = size
            break
    return stop, ended, ascii, (start, end) if hit else None, below, escaped


def caf_entries(bytes text not None, Py_ssize_t at):
    cdef Py_ssize_t size = len(text), count = 0, room
    cdef const unsigned char* base = <const unsigned char*><const char*>text
    cdef CafEntry entry
    cdef CafEntry* table
    cdef CafEntry* grown
    cdef bint done = False
    cdef Py_ssize_t i
    room = (size - at) // 64 + 16
    table = <CafEntry*>malloc(room * sizeof(CafEntry))
    if table == NULL:
        raise MemoryError
    try:
        with nogil:
            while caf_entry(base, at, size, &entry):
                if count == room:
                    room *= 2
                    grown = <CafEntry*>realloc(table, room * sizeof(CafEntry))
                    if grown == NULL:
                        break
                    table = grown
                table[count] = entry
                count += 1
                at = entry.after + 1
                if entry.after < size and base[entry.after] == 44:
                    continue
                done = size - entry.after == 2 and base[entry.after] == 125 and base[entry.after + 1] == 125
                break
        if not done:
            return None
        names = PyList_New(count)
        starts = array("q", bytes(sizeof(long long) * count))
        ends = array("q", bytes(sizeof(long long) * count))
        keys = array("q", bytes(sizeof(long long) * count))
        sizes = array("q", bytes(sizeof(long long) * count))
        caf_fill(table, count, base, names, starts, ends, keys, sizes)
        return names, starts, ends, keys, sizes, [i for i in range(count) if table[i].escaped]
    finally:
        free(table)


cdef caf_fill(
    CafEntry* table, Py_ssize_t count, const unsigned char* base, list names,
    long long[::1] starts, long long[::1] ends, long long[::1] keys, long long[::1] sizes,
):
    cdef Py_ssize_t i
    cdef CafEntry* entry
    for i in range(count):
        entry = &table[i]
        name = PyUnicode_DecodeUTF8(<const char*>base + entry.name, entry.size, NULL)
        Py_INCREF(name)
        PyList_SET_ITEM(names, i, name)
        starts[i] = entry.start
        ends[i] = entry.end
        keys[i] = entry.name - 1
        sizes[i] = entry.size + 2
