# The rows of many tables in the order in which they were written, without Python objects for each table.  Tables are in
# packed streams; those that the kernel cannot read ("odd") are read and printed by programs of the caller.
#
# `Shape`, `Made` and `ClpsTables` are those of together.pxi.  A `Shape` has the columns and operations of one table:
# `_located` finds the columns, `_shaped` also makes the operations that print a row; both return `S_DONE`, or why they
# cannot.  Then `leaves[node] == mark` if the table's schema has that node, whose column is at the offset `places[node]`
# of the table.  `Head`, `sift` and the heap are those of merging.pxi.
# pytables.py has the same in Python.

cdef Py_ssize_t shape_keep(Shape* s, Made* into) noexcept nogil:
    """Copy the operations of `s`, with their literals and sums, to one allocation: `s` is used for other tables next.

    Return its size in bytes, or -1 without memory.  The caller frees `into.ops`.
    """
    cdef Py_ssize_t size = s.count * sizeof(Op) + s.deltas.size + s.literals.size
    cdef char* data = <char*>malloc(size)
    cdef char* deltas = data + s.count * sizeof(Op)
    cdef char* literals = deltas + s.deltas.size
    cdef int i
    cdef Op* op
    if data == NULL:
        return -1
    memcpy(data, s.ops, s.count * sizeof(Op))
    if s.deltas.size:
        memcpy(deltas, s.deltas.data, s.deltas.size)
    memcpy(literals, s.literals.data, s.literals.size)
    into.ops = <Op*>data
    into.count = s.count
    for i in range(s.count):  # point into the copy instead of into `s`
        op = &into.ops[i]
        op.literal = literals + (op.literal - s.literals.data)
        if s.deltas.size and s.deltas.data <= op.values < s.deltas.data + s.deltas.size:
            op.values = deltas + (op.values - s.deltas.data)
    return size


cdef class ClpsMerged:
    """All records in the order in which they were written; pytables.py documents arguments and errors."""

    cdef ClpsTables tables
    cdef Py_buffer* views  # the payloads of the streams, released at the end
    cdef int num_views
    cdef const char** data  # by table: its bytes; NULL if its stream was not given
    cdef int32_t idx  # the node that numbers the records (log_event_idx); negative: there is none

    def __cinit__(self, ClpsTables tables not None, stream_ids, payloads, int32_t idx):
        """`stream_ids`: the stream of each table (uint64); `payloads`: by stream, None if the caller reads its tables."""
        cdef Py_ssize_t i, count = len(payloads)
        cdef Py_buffer view
        cdef uint64_t stream
        self.tables = tables
        self.idx = idx
        self.num_views = 0
        self.views = <Py_buffer*>calloc(count + 1, sizeof(Py_buffer))
        self.data = <const char**>calloc(tables.num_tables + 1, sizeof(char*))
        if self.views == NULL or self.data == NULL:
            raise MemoryError
        for payload in payloads:
            PyObject_GetBuffer(b"" if payload is None else payload, &self.views[self.num_views], PyBUF_SIMPLE)
            self.num_views += 1
        PyObject_GetBuffer(stream_ids, &view, PyBUF_SIMPLE)
        try:
            if view.len != <Py_ssize_t>sizeof(uint64_t) * tables.num_tables:
                raise ValueError("tables that do not fit")
            for i in range(tables.num_tables):
                stream = (<const uint64_t*>view.buf)[i]
                # A table that its stream is too short for is left to the caller, as one without a stream is.
                if stream < <uint64_t>count and tables.ends[i] <= <uint64_t>self.views[stream].len:
                    self.data[i] = <const char*>self.views[stream].buf + tables.starts[i]
        finally:
            PyBuffer_Release(&view)

    def __dealloc__(self):
        cdef int i
        for i in range(self.num_views):
            PyBuffer_Release(&self.views[i])
        free(self.views)
        free(self.data)

    def odd(self):
        """Return the tables with rows that have to be read in Python."""
        cdef Shape shape
        cdef ClpsTables tables = self.tables
        cdef Py_ssize_t table
        if shape_open(&shape, tables.num_nodes) < 0:
            shape_close(&shape)
            raise MemoryError
        try:
            return [
                table for table in range(tables.num_tables) if tables.rows[table] and (
                    self.data[table] == NULL or tables._located(
                        &shape, table, self.data[table], <int64_t>(tables.ends[table] - tables.starts[table])
                    ) != S_DONE
                )
            ]
        finally:
            shape_close(&shape)

    def order(self, dict others):
        """The table of each record, in the order of the records' numbers: a k-way merge with a heap.

        `others` has, by table, the record numbers of tables that have to be read in Python; None stands for zeros only.
        """
        cdef ClpsTables tables = self.tables
        cdef Py_ssize_t count = tables.num_tables, i, size = 0, total = 0, done = 0
        cdef Py_buffer* views = <Py_buffer*>calloc(len(others) + 1, sizeof(Py_buffer))
        cdef const char** keys = <const char**>calloc(count + 1, sizeof(char*))  # by table: the next record number
        cdef uint64_t* left = <uint64_t*>calloc(count + 1, sizeof(uint64_t))  # by table: records to come
        cdef uint8_t* deltas = <uint8_t*>calloc(count + 1, 1)  # by table: whether the numbers are deltas
        cdef Head* heap = <Head*>malloc((count + 1) * sizeof(Head))
        cdef Shape shape
        cdef int opened = 0
        cdef uint32_t table
        cdef Py_buffer made
        cdef uint32_t* order
        cdef int64_t step
        memset(&shape, 0, sizeof(Shape))
        try:
            if (views == NULL or keys == NULL or left == NULL or deltas == NULL or heap == NULL
                    or shape_open(&shape, tables.num_nodes) < 0):
                raise MemoryError
            for number, found in others.items():
                table = number
                if table >= count:
                    raise IndexError(number)
                left[table] = tables.rows[table]
                if found is not None:
                    PyObject_GetBuffer(found, &views[opened], PyBUF_SIMPLE)
                    opened += 1
                    if <uint64_t>views[opened - 1].len != sizeof(int64_t) * left[table]:
                        raise ValueError("a buffer whose size does not match the table")
                    keys[table] = <const char*>views[opened - 1].buf
            # The tables of the kernel: find the column of the record numbers.
            for i in range(count):
                if not left[i] and tables.rows[i] and self.data[i] != NULL:
                    if tables._located(&shape, i, self.data[i], <int64_t>(tables.ends[i] - tables.starts[i])) != S_DONE:
                        raise ValueError("a table that is not here")
                    left[i] = tables.rows[i]
                    if self.idx >= 0 and shape.leaves[self.idx] == shape.mark:
                        keys[i] = self.data[i] + shape.places[self.idx]
                        deltas[i] = tables.types[self.idx] == N_DELTA_INTEGER
                if left[i]:
                    if left[i] > <uint64_t>1 << 40:  # an untrusted number: the sum must not overflow
                        raise ValueError("too many rows")
                    total += left[i]
                    heap[size].key = load64(keys[i], 0) if keys[i] != NULL else 0
                    heap[size].table = <uint32_t>i
                    size += 1
            found = array("I", [0]) * total
            PyObject_GetBuffer(found, &made, PyBUF_SIMPLE)
            order = <uint32_t*>made.buf
            with nogil:
                for i in range(size // 2 - 1, -1, -1):
                    sift(heap, size, i)
                # As in `clps_merge_order`; numbers stored as deltas are added to the number before.
                while size:
                    table = heap[0].table
                    order[done] = table
                    done += 1
                    left[table] -= 1
                    if left[table]:
                        if keys[table] != NULL:
                            keys[table] += sizeof(int64_t)
                            step = load64(keys[table], 0)
                            if deltas[table]:
                                step = <int64_t>(<uint64_t>heap[0].key + <uint64_t>step)
                            heap[0].key = step
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
            free(keys)
            free(left)
            free(deltas)
            free(heap)
            shape_close(&shape)

    def advance(self, order, Py_ssize_t start, Py_ssize_t stop, int64_t[::1] cursors not None):
        """Add the rows `[start, stop)` of the order to the cursors (the next row of each table), without printing them."""
        cdef Py_buffer view
        cdef Py_ssize_t i
        cdef uint32_t table
        PyObject_GetBuffer(order, &view, PyBUF_SIMPLE)
        try:
            # (`order` has four bytes for each row: the number of its table.)
            if start < 0 or stop > view.len // 4 or cursors.shape[0] != self.tables.num_tables:
                raise IndexError(stop)
            for i in range(start, stop):
                table = (<uint32_t*>view.buf)[i]
                if table >= <uint64_t>self.tables.num_tables:
                    raise IndexError(table)
                cursors[table] += 1
        finally:
            PyBuffer_Release(&view)

    def render(self, dict programs, order, Py_ssize_t start, Py_ssize_t stop, int64_t[::1] cursors not None,
               Py_ssize_t max_size):
        """Print rows `[start, stop)` of the order: return text, next position, the table there, and a `Stop`.

        `programs` has the programs of the tables that `odd` returned; the operations of the others are made when a row
        needs them, and freed at the end.
        """
        cdef ClpsTables tables = self.tables
        cdef Py_ssize_t count = tables.num_tables, position = start, i, size
        cdef Py_ssize_t held = 0  # bytes of the operations that were made
        cdef Made* known = <Made*>calloc(count + 1, sizeof(Made))  # by table: its operations; NULL: not made yet
        cdef Py_ssize_t* made = NULL  # the tables whose operations were made here
        cdef Py_ssize_t num_made = 0
        cdef Py_buffer view
        cdef Shape shape
        cdef Out out
        cdef Trouble trouble
        cdef ClpsProgram program
        cdef uint32_t table = 0
        cdef int why = S_DONE
        cdef bint past = False  # whether `order` names a table or row that does not exist
        cdef Made* one
        trouble.kind = F_NONE
        out.size = 0
        out.capacity = 1 << 16
        out.data = <char*>malloc(out.capacity)
        memset(&shape, 0, sizeof(Shape))
        try:
            if known == NULL or out.data == NULL or shape_open(&shape, tables.num_nodes) < 0 or start < 0:
                raise MemoryError
            made = <Py_ssize_t*>malloc((max(stop - start, 0) + 1) * sizeof(Py_ssize_t))
            if made == NULL:
                raise MemoryError
            if cursors.shape[0] != count:
                raise IndexError(count)
            for i in range(count):
                if cursors[i] < 0:
                    raise IndexError(cursors[i])
            for number, program in programs.items():
                table = number
                if table >= count:
                    raise IndexError(number)
                known[table].ops, known[table].count, known[table].rows = program.ops, program.count, program.rows
            PyObject_GetBuffer(order, &view, PyBUF_SIMPLE)
            try:
                if stop > view.len // 4:
                    raise IndexError(stop)
                with nogil:
                    while position < stop and out.size < max_size and held < MERGED_OPS:
                        table = (<uint32_t*>view.buf)[position]
                        if table >= <uint64_t>count:
                            past = True
                            break
                        one = &known[table]
                        if one.ops == NULL:
                            if self.data[table] == NULL:
                                past = True
                                break
                            why = tables._shaped(&shape, table, self.data[table],
                                                 <int64_t>(tables.ends[table] - tables.starts[table]))
                            if why != S_DONE:
                                break
                            size = shape_keep(&shape, one)
                            if size < 0:
                                trouble.kind = F_MEMORY
                                break
                            one.rows = <Py_ssize_t>tables.rows[table]
                            made[num_made] = table
                            num_made += 1
                            held += size
                        if cursors[table] >= one.rows:
                            past = True
                            break
                        if add_row(&out, one.ops, one.count, cursors[table], &trouble) != F_NONE:
                            break
                        cursors[table] += 1
                        position += 1
            finally:
                PyBuffer_Release(&view)
            if trouble.kind == F_MEMORY:
                raise MemoryError
            if past:
                raise IndexError(position)
            # A row that cannot be printed makes its table odd: the caller prints it, which reports the fault.
            return moved(&out), position, table, S_ODD if trouble.kind else why
        finally:
            for i in range(num_made):
                free(known[made[i]].ops)
            free(made)
            free(known)
            shape_close(&shape)
            free(out.data)
