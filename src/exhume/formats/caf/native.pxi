# The CAF part of the kernel: a walk over an index in the reference writers' form.  `exhume.formats.caf.pykernel` is the
# pure-Python form: its functions of the same names document what these take and return.
#
# An index is JSON without white space; it names the files of a chunk, each with an entry (see `CafEntry`).

from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t

cdef struct CafEntry:  # "NAME":{"start_byte":START,"end_byte":END}
    Py_ssize_t name  # first byte after the opening quote
    Py_ssize_t size  # bytes of the name as it is spelled, escapes included
    int64_t start
    int64_t end
    Py_ssize_t after  # one past the closing brace
    bint escaped  # whether the name has escapes
    bint ascii

cdef const char* CAF_START = b'":{"start_byte":'  # 16 bytes
cdef const char* CAF_END = b',"end_byte":'  # 12 bytes


cdef inline bint caf_hex(unsigned char byte) noexcept nogil:
    """Whether a byte is a hexadecimal digit."""
    return c"0" <= byte <= c"9" or c"A" <= byte <= c"F" or c"a" <= byte <= c"f"


cdef inline Py_ssize_t caf_offset(const unsigned char* text, Py_ssize_t at, Py_ssize_t size, int64_t* out) noexcept nogil:
    """A plain decimal of at most 18 digits; returns the position after it, or -1."""
    cdef int64_t value = 0
    cdef Py_ssize_t first = at
    while at < size and c"0" <= text[at] <= c"9":
        value = value * 10 + (text[at] - c"0")
        at += 1
        if at - first > 18:
            return -1
    if at == first or (text[first] == c"0" and at - first > 1):  # no digits, or a leading zero
        return -1
    out[0] = value
    return at


cdef bint caf_entry(const unsigned char* text, Py_ssize_t at, Py_ssize_t size, CafEntry* out) noexcept nogil:
    """Parse the entry whose opening quote is at `at`; False if its form differs or it is not complete."""
    cdef Py_ssize_t i, stop
    cdef unsigned char byte, seen = 0, odd = 0
    cdef const unsigned char* quote
    if at >= size or text[at] != c'"':
        return False
    # The name, at first as if it had no escapes.
    i = at + 1
    out.name = i
    out.escaped = False
    quote = <const unsigned char*>memchr(text + i, c'"', size - i)
    if quote == NULL:
        return False
    stop = quote - text
    # `seen` gathers the bits of all bytes, to recognize ASCII; `odd` is set by an escape or a control character.
    for i in range(out.name, stop):  # without a branch, so that it becomes vector code
        byte = text[i]
        seen |= byte
        odd |= (byte < 0x20) | (byte == c"\\")
    # With escapes (or control characters, which are not allowed), byte by byte to the quote that ends it.
    i = stop if not odd else out.name
    while odd:
        if i >= size:
            return False
        byte = text[i]
        if byte == c'"':
            break
        if byte < 0x20:
            return False
        if byte == c"\\":
            out.escaped = True
            if i + 1 >= size:
                return False
            byte = text[i + 1]
            if byte == c"u":  # four hexadecimal digits follow
                if i + 5 >= size or not (
                    caf_hex(text[i + 2]) and caf_hex(text[i + 3]) and caf_hex(text[i + 4]) and caf_hex(text[i + 5])
                ):
                    return False
                i += 6
            elif (byte == c'"' or byte == c"\\" or byte == c"/" or byte == c"b" or byte == c"f" or byte == c"n"
                    or byte == c"r" or byte == c"t"):
                i += 2
            else:
                return False
            continue
        seen |= byte
        i += 1
    out.ascii = seen < 0x80
    out.size = i - out.name
    # The range.
    if size - i < 16 or memcmp(text + i, CAF_START, 16) != 0:
        return False
    i = caf_offset(text, i + 16, size, &out.start)
    if i < 0 or size - i < 12 or memcmp(text + i, CAF_END, 12) != 0:
        return False
    i = caf_offset(text, i + 12, size, &out.end)
    if i < 0 or i >= size or text[i] != c"}":
        return False
    out.after = i + 1
    return True


# Looks for a name in a part of an index.  The result is `IndexWalk` in pykernel.py: where the entries end that were
# read; whether the last of the index is one of them; whether all names are ASCII; the range of the last entry with the
# name, or None; whether other names continue it with `/`; and the entries that the caller has to decode.
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
            break  # the byte that follows is not read yet
        if base[entry.after] != c",":
            if size - entry.after == 2 and base[entry.after] == c"}" and base[entry.after + 1] == c"}":
                ended = True
            else:
                break
        # Compare the name.  The caller decodes names with escapes.  It also gets the hits after the first of these, as
        # the last of equal names counts.
        ascii = ascii and entry.ascii
        if entry.escaped:
            escaped.append((entry.name, entry.name + entry.size, entry.start, entry.end))
        elif entry.size >= want and memcmp(base + entry.name, needle, want) == 0:
            if entry.size == want:
                hit = True
                start, end = entry.start, entry.end
                if escaped:
                    escaped.append((entry.name, entry.name + entry.size, entry.start, entry.end))
            elif base[entry.name + want] == c"/":
                below = True
        at = entry.after + 1
        stop = at
        if ended:
            stop = size
            break
    return stop, ended, ascii, (start, end) if hit else None, below, escaped


# All entries of an index from `at` on, as columns; None if the form of any differs.  See pykernel.py.
def caf_entries(bytes text not None, Py_ssize_t at):
    cdef Py_ssize_t size = len(text), count = 0, room
    cdef const unsigned char* base = <const unsigned char*><const char*>text
    cdef CafEntry entry
    cdef CafEntry* table
    cdef CafEntry* grown
    cdef bint done = False
    cdef Py_ssize_t i
    room = (size - at) // 64 + 16  # entries of 64 bytes and more; the table grows for shorter ones
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
                if entry.after < size and base[entry.after] == c",":
                    continue
                done = size - entry.after == 2 and base[entry.after] == c"}" and base[entry.after + 1] == c"}"
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
    """Copy the entries of a table to the columns that `caf_entries` returns."""
    cdef Py_ssize_t i
    cdef CafEntry* entry
    for i in range(count):
        entry = &table[i]
        # Offset and size of the key include its quotes.
        name = PyUnicode_DecodeUTF8(<const char*>base + entry.name, entry.size, NULL)
        Py_INCREF(name)
        PyList_SET_ITEM(names, i, name)
        starts[i] = entry.start
        ends[i] = entry.end
        keys[i] = entry.name - 1
        sizes[i] = entry.size + 2
