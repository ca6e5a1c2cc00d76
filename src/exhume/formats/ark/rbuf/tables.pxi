# Messages to the columns of several tables.  One call fills the tables with all messages that are read together, because
# between two calls a thread has to wait for the interpreter lock.
#
# First the messages are sorted by tables, then each table's columns are filled, each in buffers of their own; at last
# the small buffers of a table are copied to one bytes object, and the caller gets views of it.
#
# `order`, `pieces`: the messages, as `rbuf_gather` (native.pxi) takes them: pieces are chunks of messages and their
# times, `order` is the number of the piece of each message in turn.  `found` are these messages, in order.
# `is_named`: the head of a message, one byte, is the number of its table; otherwise there is one table.  `held` is the
# copy of a table's buffers.  `shapes` and `texts` describe the columns of a table (`RbufShape`, and the strings that
# these refer to).
#
# Spec: none; the columns are those of `columns.pxi`.

cdef enum:
    ALIGNED = 16  # bytes; the offset of each buffer of Arrow is a multiple
    LARGE_OUT = 0x100000  # bytes; a larger buffer is passed on without a copy, which would double its memory

cdef struct RbufTable:
    RbufColumn* columns
    Py_ssize_t count    # of columns
    Py_ssize_t first    # `[first, last)`: its messages, among those that are sorted by tables
    Py_ssize_t last
    const char* texts
    int64_t lost        # times that did not fit and became null
    bint is_whole       # every message was accepted; otherwise the caller reads them in Python


cdef inline bint has_ends(RbufColumn* c) noexcept nogil:
    """Whether values of a column have different sizes, so that it has a buffer of their ends."""
    return c.shape.kind in (COLUMN_STRING, COLUMN_GUID, COLUMN_JSON, COLUMN_LIST, COLUMN_MAP)


cdef inline int64_t aligned(int64_t size) noexcept nogil:
    """The size, rounded up to a multiple of ALIGNED."""
    return (size + ALIGNED - 1) & -ALIGNED


cdef int take_columns(RbufTable* table, bytes shapes, bytes texts) except -1:
    """Make empty columns of these shapes, after checks that protect memory.  Raises `ValueError` for invalid shapes."""
    cdef Py_ssize_t number, within, columns = len(shapes) // sizeof(RbufShape)
    cdef const RbufShape* shape = <const RbufShape*>PyBytes_AS_STRING(<PyObject*>shapes)
    cdef RbufColumn* c
    if columns == 0 or len(shapes) % sizeof(RbufShape):
        raise ValueError("not whole columns")
    table.texts = PyBytes_AS_STRING(<PyObject*>texts)
    table.columns = <RbufColumn*>calloc(columns, sizeof(RbufColumn))
    if table.columns == NULL:
        raise MemoryError
    table.count = columns
    for number in range(columns):
        c = &table.columns[number]
        c.shape = shape[number]
        take_out(&c.data)
        if has_ends(c):
            take_out(&c.ends)
        within = c.shape.count  # the number of columns within: a list has one, a map those of keys and values
        if c.shape.kind in (COLUMN_LIST, COLUMN_ARRAY, COLUMN_MAP):
            within = 2 if c.shape.kind == COLUMN_MAP else 1
        elif c.shape.kind not in (COLUMN_STRUCT, COLUMN_VARIANT):
            within = 0
        # the inner ones come later, so that columns end somewhere
        if within and not number < c.shape.child <= columns - within or within < 0:
            raise ValueError("a column that cannot be")
        if not 0 <= c.shape.width <= 16 or not 0 <= c.shape.count or not 0 <= c.shape.text <= len(texts):
            raise ValueError("a column that cannot be")
        if not 0 <= c.shape.size <= len(texts) - c.shape.text:
            raise ValueError("a column that cannot be")
    return 0


cdef void give_columns(RbufTable* table) noexcept:
    """Release the columns of a table, the last first, so that the next call gets each buffer for the same use."""
    cdef Py_ssize_t number
    for number in range(table.count - 1, -1, -1):
        give_out(&table.columns[number].bits)
        give_out(&table.columns[number].ends)
        give_out(&table.columns[number].data)
    free(table.columns)


cdef inline Py_ssize_t table_of(RbufMessage* one, Py_ssize_t tables, bint is_named) noexcept nogil:
    """The number of a message's table, which is its head if `is_named`; one past the last for a message of none."""
    cdef Py_ssize_t number = 0
    if is_named:
        number = <uint8_t>one.head[0] if one.head_size == 1 else tables
    return min(number, tables)


cdef void sort_messages(RbufMessage* found, Py_ssize_t count, RbufTable* tables, Py_ssize_t number, bint is_named,
                        Py_ssize_t* sorted) noexcept nogil:
    """Fill `sorted` with the numbers of the messages, table by table; there is one table more, for those of none.

    A counting sort: `last` of a table is first its number of messages, then where its next one goes.
    """
    cdef Py_ssize_t at, first = 0
    cdef RbufTable* table
    for at in range(count):
        tables[table_of(&found[at], number, is_named)].last += 1
    for at in range(number + 1):
        table = &tables[at]
        first += table.last
        table.first = table.last = first - table.last
    for at in range(count):
        table = &tables[table_of(&found[at], number, is_named)]
        sorted[table.last] = at
        table.last += 1


cdef bint fill_columns(RbufTable* table, RbufMessage* found, Py_ssize_t* sorted, int64_t* room) noexcept nogil:
    """Add a table's messages to its columns, up to the first that is not accepted; `is_whole` is whether all were.

    `room` is the number of bytes that the columns of all tables may still take; only a table that is whole uses them up.
    Returns False if memory is exhausted.
    """
    cdef Py_ssize_t at
    cdef RbufWalk w
    memset(&w, 0, sizeof(w))
    w.columns, w.room, w.texts = table.columns, room[0], table.texts
    table.is_whole = True
    for at in range(table.count):
        if has_ends(&table.columns[at]):
            table.is_whole = table.is_whole and column_end(&w, &table.columns[at], 0)  # where the first value starts
    for at in range(table.first, table.last):
        if not table.is_whole:
            break
        table.is_whole = rbuf_add(&found[sorted[at]], &w)
    if table.is_whole:
        room[0], table.lost = w.room, w.lost
    return not w.is_full


cdef inline int64_t in_copy(Out* out) noexcept nogil:
    """The bytes of a buffer in the copy; 0 for a large one."""
    return aligned(out.size) if out.size < LARGE_OUT else 0


cdef int64_t table_size(RbufTable* table) noexcept nogil:
    """The bytes of its messages' times and sizes and of its columns, without large buffers."""
    cdef int64_t size = 2 * aligned((table.last - table.first) * sizeof(uint64_t))
    cdef Py_ssize_t at
    for at in range(table.count):
        size += in_copy(&table.columns[at].bits) + in_copy(&table.columns[at].ends) + in_copy(&table.columns[at].data)
    return size


cdef void copy_table(RbufTable* table, RbufMessage* found, Py_ssize_t* sorted, char* to) noexcept nogil:
    """Copy the rows of a table to `to`: times, sizes, then the buffers of each column that are not large, each aligned."""
    cdef uint64_t* times = <uint64_t*>to
    cdef Py_ssize_t at, rows = table.last - table.first
    cdef int64_t* sizes = <int64_t*>(to + aligned(rows * sizeof(uint64_t)))
    cdef RbufColumn* c
    for at in range(rows):
        times[at], sizes[at] = found[sorted[table.first + at]].time, found[sorted[table.first + at]].size
    to += 2 * aligned(rows * sizeof(uint64_t))
    for at in range(table.count):
        c = &table.columns[at]
        to = copy_out(to, &c.bits)
        to = copy_out(to, &c.ends)
        to = copy_out(to, &c.data)


cdef inline char* copy_out(char* to, Out* out) noexcept nogil:
    """Copy a buffer that is not large; return where the next one goes."""
    if 0 < out.size < LARGE_OUT:
        memcpy(to, out.data, out.size)
    return to + in_copy(out)


cdef object table_parts(RbufTable* table, bytes held):
    """What `ark_columns` returns: views of the copy, and the large buffers, which the table loses.

    These are the times and the sizes of its messages, the number of times that became null, and for each column: the
    number of values and of absent ones, and the buffers `bits`, `ends` and `data` of `RbufColumn`.
    """
    cdef object view = PyMemoryView_FromObject(held)
    cdef Py_ssize_t number, size = (table.last - table.first) * sizeof(uint64_t), at = 2 * aligned(size)
    cdef RbufColumn* c
    cdef list out = []
    for number in range(table.count):
        c = &table.columns[number]
        bits = part_of(view, &at, &c.bits)
        ends = part_of(view, &at, &c.ends)
        out.append((c.length, c.nulls, bits, ends, part_of(view, &at, &c.data)))
    return view[:size], view[aligned(size) : aligned(size) + size], table.lost, out


cdef object part_of(object view, Py_ssize_t* at, Out* out):
    """The next buffer: from the copy, or itself."""
    cdef Py_ssize_t first = at[0]
    if out.size >= LARGE_OUT:
        return hold(out)
    at[0] += aligned(out.size)
    return view[first : first + out.size]


cdef list rbuf_tables(list order, list pieces, list described, bint is_named, int64_t room):
    """The messages of several channels as tables: what `table_parts` returns for each, or None for a table with a
    message that is not accepted or for which the columns have no space.

    `room` is that space in bytes, for all tables together.  `described` has `shapes` and `texts` of each table.  The
    lock is held only where bytes objects are made.  Raises `MemoryError` if there is no memory.
    """
    cdef Py_ssize_t count = len(order), number, tables = len(described)
    cdef RbufMessage* found = <RbufMessage*>malloc((count + 1) * sizeof(RbufMessage))
    cdef Py_ssize_t* sorted = <Py_ssize_t*>malloc((count + 1) * sizeof(Py_ssize_t))
    cdef RbufTable* made = <RbufTable*>calloc(tables + 1, sizeof(RbufTable))
    cdef char** targets = <char**>calloc(tables + 1, sizeof(char*))
    cdef bint is_enough = True
    cdef list held = [None] * tables
    cdef bytes shapes, texts, copy
    try:
        if found == NULL or sorted == NULL or made == NULL or targets == NULL:
            raise MemoryError
        for number in range(tables):
            shapes, texts = described[number]
            take_columns(&made[number], shapes, texts)
        rbuf_gather(order, pieces, found)
        with nogil:
            sort_messages(found, count, made, tables, is_named, sorted)
            for number in range(tables):
                is_enough = is_enough and fill_columns(&made[number], found, sorted, &room)
        if not is_enough:
            raise MemoryError
        for number in range(tables):
            if made[number].is_whole:
                held[number] = copy = PyBytes_New(NULL, table_size(&made[number]))
                targets[number] = PyBytes_AS_STRING(<PyObject*>copy)
        with nogil:
            for number in range(tables):
                if targets[number] != NULL:
                    copy_table(&made[number], found, sorted, targets[number])
        return [None if held[number] is None else table_parts(&made[number], held[number]) for number in range(tables)]
    finally:
        for number in range(tables - 1, -1, -1):
            if made != NULL:
                give_columns(&made[number])
        free(found)
        free(sorted)
        free(made)
        free(targets)


def ark_columns(list order not None, list pieces not None, bytes shapes not None, bytes texts not None, int64_t room):
    """Return the messages as the columns of one table; `exhume.formats.ark.pykernel` documents the result."""
    return rbuf_tables(order, pieces, [(shapes, texts)], False, room)[0]


def ark_tables(list order not None, list pieces not None, list tables not None, int64_t room):
    """Return the messages as the columns of several tables; `exhume.formats.ark.pykernel` documents the result."""
    return rbuf_tables(order, pieces, tables, True, room)
