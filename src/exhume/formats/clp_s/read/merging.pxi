# The rows of many tables in the order in which they were written: a k-way merge by record number with a heap.
# The heap has the next record of each table; the least is at index 0, and the children of `i` are at 2i + 1 and 2i + 2.

cdef struct Head:  # the next record of a table
    int64_t key  # its number
    uint32_t table


cdef inline bint before(const Head* a, const Head* b) noexcept nogil:
    """Whether `a` comes first: by number, then by table."""
    return a.key < b.key or (a.key == b.key and a.table < b.table)


cdef void sift(Head* heap, Py_ssize_t size, Py_ssize_t at) noexcept nogil:
    """Move the head at `at` down in a heap until none below it comes before it."""
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


# Return the table (uint32) of each record in merged order.  `keys`: by table, the numbers of its records (int64).
def clps_merge_order(keys):
    cdef Py_ssize_t count = len(keys), i, size = 0, total = 0, done = 0
    cdef Py_buffer* views = <Py_buffer*>malloc((count + 1) * sizeof(Py_buffer))
    cdef Py_ssize_t* at = <Py_ssize_t*>malloc((count + 1) * sizeof(Py_ssize_t))  # by table: records that were taken
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
        found = array("I", bytes(sizeof(uint32_t) * total))  # zeros, to be filled in
        PyObject_GetBuffer(found, &made, PyBUF_SIMPLE)
        order = <uint32_t*>made.buf
        with nogil:
            for i in range(size // 2 - 1, -1, -1):
                sift(heap, size, i)
            # Take the first record, and replace it by the next one of its table, or by the last of the heap.
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
