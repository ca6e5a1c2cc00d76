# Extremes and different values of columns.  The pure-Python implementation, in `pykernel.py`, has the documentation.

def clps_extreme(values, bytes mask, bint is_float, bint largest):
    cdef Py_buffer view
    cdef Py_ssize_t i, count
    cdef const char* chosen = NULL
    cdef int64_t number, best = 0
    cdef double real, best_real = 0
    cdef bint found = False
    PyObject_GetBuffer(values, &view, PyBUF_SIMPLE)
    try:
        count = view.len // sizeof(int64_t)
        if mask is not None:
            if len(mask) < count:
                raise IndexError(count)
            chosen = mask
        with nogil:
            for i in range(count):
                if chosen != NULL and not chosen[i]:
                    continue
                if is_float:
                    memcpy(&real, <const char*>view.buf + sizeof(real) * i, sizeof(real))
                    if real - real == 0 and (not found or (real > best_real if largest else real < best_real)):
                        best_real, found = real, True
                else:
                    memcpy(&number, <const char*>view.buf + sizeof(number) * i, sizeof(number))
                    if not found or (number > best if largest else number < best):
                        best, found = number, True
        if not found:
            return None
        return best_real if is_float else best
    finally:
        PyBuffer_Release(&view)


def clps_distinct(values, bytes mask):
    cdef Py_buffer view
    cdef Py_ssize_t i, count
    cdef const char* chosen = NULL
    cdef EncBuf rows, slots, more
    cdef uint64_t value, other, place, row, size = 64, used = 0, slot
    memset(&rows, 0, sizeof(rows))
    memset(&slots, 0, sizeof(slots))
    memset(&more, 0, sizeof(more))
    PyObject_GetBuffer(values, &view, PyBUF_SIMPLE)
    try:
        count = view.len // sizeof(value)
        if mask is not None:
            if len(mask) < count:
                raise IndexError(count)
            chosen = mask
        with nogil:
            enc_buf_room(&slots, size * sizeof(slot))
            memset(slots.p, 0, size * sizeof(slot))
            for i in range(count):
                if chosen != NULL and not chosen[i]:
                    continue
                memcpy(&value, <const char*>view.buf + sizeof(value) * i, sizeof(value))
                if used * 3 >= size * 2:
                    enc_buf_room(&more, 2 * size * sizeof(slot))
                    memset(more.p, 0, 2 * size * sizeof(slot))
                    size *= 2
                    for slot in range(used):
                        row = (<uint64_t*>rows.p)[slot]
                        memcpy(&other, <const char*>view.buf + sizeof(other) * row, sizeof(other))
                        place = agg_place(other, size)
                        while (<uint64_t*>more.p)[place]:
                            place = (place + 1) & (size - 1)
                        (<uint64_t*>more.p)[place] = row + 1
                    enc_buf_free(&slots)
                    slots = more
                    memset(&more, 0, sizeof(more))
                place = agg_place(value, size)
                while True:
                    slot = (<uint64_t*>slots.p)[place]
                    if slot == 0:
                        (<uint64_t*>slots.p)[place] = <uint64_t>i + 1
                        enc_buf_u64(&rows, i)
                        used += 1
                        break
                    memcpy(&other, <const char*>view.buf + sizeof(other) * (slot - 1), sizeof(other))
                    if other == value:
                        break
                    place = (place + 1) & (size - 1)
        return enc_buf_bytes(&rows)
    finally:
        enc_buf_free(&rows)
        enc_buf_free(&slots)
        enc_buf_free(&more)
        PyBuffer_Release(&view)


cdef inline uint64_t agg_place(uint64_t value, uint64_t size) noexcept nogil:
    """Where the search for a value begins; values that differ in few bits get distant slots."""
    value = (value ^ enc_hash_seed) * <uint64_t>0xFF51AFD7ED558CCD
    return (value ^ value >> 32) & (size - 1)


cdef class ClpsDistinct:
    """Different items and strings of columns."""

    cdef EncDictionary found

    def __cinit__(self):
        memset(&self.found, 0, sizeof(self.found))

    def __dealloc__(self):
        enc_dictionary_free(&self.found)

    def add(self, ClpsProgram program not None, bytes mask):
        cdef Out out
        cdef Trouble trouble
        cdef Py_ssize_t row
        cdef const char* chosen = NULL
        if mask is not None:
            if len(mask) < program.rows:
                raise IndexError(program.rows)
            chosen = mask
        trouble.kind = F_NONE
        out.data = NULL
        out.size = out.capacity = 0
        try:
            with nogil:
                for row in range(program.rows):
                    if chosen != NULL and not chosen[row]:
                        continue
                    out.size = 0
                    if add_row(&out, program.ops, program.count, row, &trouble) != F_NONE:
                        break
                    enc_dictionary_id(&self.found, <unsigned char*>out.data if out.size else <const unsigned char*>b"",
                                      out.size)
            return program._fault(&trouble)
        finally:
            free(out.data)

    def add_items(self, values, bytes mask):
        cdef Py_buffer view
        cdef Py_ssize_t i, count
        cdef const char* chosen = NULL
        PyObject_GetBuffer(values, &view, PyBUF_SIMPLE)
        try:
            count = view.len // sizeof(uint64_t)
            if mask is not None:
                if len(mask) < count:
                    raise IndexError(count)
                chosen = mask
            with nogil:
                for i in range(count):
                    if chosen == NULL or chosen[i]:
                        enc_dictionary_id(&self.found, <const unsigned char*>view.buf + sizeof(uint64_t) * i,
                                          sizeof(uint64_t))
        finally:
            PyBuffer_Release(&view)

    def put(self, bytes text not None):
        enc_dictionary_id(&self.found, <const unsigned char*>bytes_text(text), PyBytes_GET_SIZE(text))

    def values(self):
        cdef uint64_t size
        cdef size_t i
        cdef const unsigned char* p
        out = []
        for i in range(self.found.count):
            p = self.found.data.p + (<uint64_t*>self.found.starts.p)[i]
            memcpy(&size, p, sizeof(size))
            out.append(bytes_of(<const char*>p + sizeof(size), size))
        return out
