# The rows of many tables in the order in which they went in.

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
