# Printing of rows by the program of their table (its operations, see `Op`); sums of columns of deltas; the variables
# that a window (a range of rows) uses.  pykernel.py has the same in Python.

cdef inline bint add_string(Out* out, const Op* op, uint64_t string) noexcept nogil:
    """Print an entry of the variable dictionary; False when there is no memory."""
    cdef Slice entry = string_at(&op.strings, string)
    if op.escape and needs_escape(entry.text, entry.size):
        return add_escaped(out, entry.text, entry.size)
    return add(out, entry.text, entry.size)


cdef inline int walk_text(Out* out, const Op* op, uint64_t word, int64_t* detail, bint prints) noexcept nogil:
    """Print encoded text if `prints`, else only check that it can be printed.  Return 0 or a fault kind.

    `word` has the id of the log type and the offset of the text's first variable in `op.more`.  Without `prints`, `out`
    serves as scratch space for one number.
    """
    cdef uint64_t ident = clp_s_table_clp_word_log_type_id(word), at = clp_s_table_clp_word_ofs_variable(word)
    cdef const TextPart* part
    cdef uint8_t kind
    cdef int64_t value
    cdef uint64_t string
    if ident >= op.num_log_types:
        detail[0] = <int64_t>ident
        return F_LOG_TYPE
    part = &op.parts[op.first_part[ident]]
    # The number of variables, for now; without variables, the offset has no meaning.
    string = <uint64_t>(op.first_part[ident + 1] - op.first_part[ident] - 1)
    if string and at + string > <uint64_t>op.num_more:
        detail[0] = <int64_t>at
        return F_OFFSET
    while True:
        # The static text before the next placeholder.
        if prints:
            if not reserve(out, part_size(part) + 24):  # the static text, and a number after it
                return F_MEMORY
            put(out, part.text, part_size(part))
        else:
            out.size = 0
        kind = part_placeholder(part)
        if kind == 0:
            return F_NONE
        # The variable: an integer, an entry of the dictionary (`string`) or a float, by placeholder and dialect.
        value = load64(op.more, <Py_ssize_t>at)
        at += 1
        if kind == CLP_S_DICTIONARY_ENTRIES_MARKS_INTEGER:
            if op.core or not clp_s_table_classic_variable_is_id(value):
                if prints:
                    put_integer(out, value)
                part += 1
                continue
            string = <uint64_t>clp_s_table_classic_variable_dictionary_id(value)
        elif kind == CLP_S_DICTIONARY_ENTRIES_MARKS_DICTIONARY_ENTRY and op.core:
            string = <uint64_t>value
        else:
            if not put_encoded_float(out, <uint64_t>value, op.core):
                detail[0] = value
                return F_FLOAT
            part += 1
            continue
        if string >= op.strings.count:
            detail[0] = value
            return F_STRING
        if prints and not add_string(out, op, string):
            return F_MEMORY
        part += 1


cdef int add_text(Out* out, const Op* op, uint64_t word, int64_t* detail) noexcept nogil:
    """Print encoded text; return 0 or a fault kind.  See `walk_text`."""
    return walk_text(out, op, word, detail, True)


cdef Py_ssize_t first_bad(Out* out, const Op* op, Py_ssize_t start, Py_ssize_t stop, Trouble* trouble) noexcept nogil:
    """The first row in `[start, stop)` with a value that cannot be printed, or `stop`.  Numbers always can be.

    `trouble` is set to the fault; `out` is scratch space.
    """
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
        else:  # numbers and booleans
            break
        if found != F_NONE:
            trouble.kind, trouble.row, trouble.detail = found, row, detail
            return row
    return stop


cdef int add_row(Out* out, const Op* ops, int count, Py_ssize_t row, Trouble* trouble) noexcept nogil:
    """Print one row.  Return 0 or a fault kind; on a fault, nothing of the row is left in `out`."""
    cdef int i, found = F_NONE
    cdef const Op* op
    cdef uint64_t string
    cdef uint16_t word
    cdef Py_ssize_t start = out.size
    cdef int64_t detail = 0
    for i in range(count):
        op = &ops[i]
        if not reserve(out, op.literal_size + 24):  # the literal, and an integer or boolean after it
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
        else:  # OP_FORMATTED: a float and its format word
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
    """Return a `bytes` object.  It is filled without the GIL, because the first use of new memory pages takes time."""
    made = PyBytes_New(NULL, size)
    cdef char* at = PyBytes_AS_STRING(<PyObject*>made)
    if size:
        with nogil:
            memcpy(at, text, size)
    return made


cdef enum:
    MOVED = 4 << 20     # bytes: more than this are copied in steps, and the memory is given back after each


cdef object moved(Out* out):
    """Return the written bytes as a `bytes` object and empty `out`.

    So that much output is not in memory twice, it is copied from the end, and the buffer shrinks after each step.
    A buffer that cannot be shrunk is freed at the end.
    """
    cdef Out rest = out[0]
    cdef char* data
    cdef char* to
    cdef Py_ssize_t part
    if rest.size < MOVED:
        made = copied(rest.data, rest.size)
        out.size = 0
        return made
    made = PyBytes_New(NULL, rest.size)
    to = PyBytes_AS_STRING(<PyObject*>made)
    memset(out, 0, sizeof(Out))
    with nogil:
        while rest.size:
            part = min(rest.size, <Py_ssize_t>MOVED)
            rest.size -= part
            memcpy(to + rest.size, rest.data + rest.size, part)
            data = <char*>realloc(rest.data, max(rest.size, <Py_ssize_t>1))
            if data != NULL:
                rest.data = data
    free(rest.data)
    return made


cdef class ClpsProgram:
    """Prints the rows of one table; the class of this name in pykernel.py documents arguments and errors."""

    cdef readonly Py_ssize_t rows
    cdef Op* ops  # one for each value, with the literals before it, and one for the literals at the end
    cdef int* indices  # by operation in `ops`: its index among the operations of the caller, for faults
    cdef int count
    cdef Py_buffer* views  # the buffers of the columns, released at the end
    cdef int num_views
    cdef list keep  # objects whose memory `ops` refers to

    def __cinit__(self):
        self.ops = NULL
        self.indices = NULL
        self.views = NULL
        self.count = 0
        self.num_views = 0

    def __init__(self, operations, Py_ssize_t rows):
        """Take the operations that print a row, in their order, and the number of rows."""
        cdef int total, place = 0
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
        # An operation is (kind, values), with more by kind (see program.py): (OP_FORMATTED, values, formats),
        # (OP_STRING, ids, strings), (OP_TEXT, words, variables, log types, strings), (OP_TIME, times, ids, patterns).
        for operation in self.keep:
            kind = operation[0]
            if kind == OP_LITERAL:
                continue
            op = &self.ops[place]
            place += 1
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
                op.parts, op.first_part = log_types.parts, log_types.first
                op.num_log_types, op.core = log_types.count, log_types.core
                op.strings, op.escape = strings.strings, strings.escape
            elif kind == OP_TIME:
                op.more = self._view(operation[2], sizeof(int64_t) * rows, NULL)
                patterns = operation[3]
                op.patterns, op.steps, op.names = patterns.patterns, patterns.steps, patterns.names
                op.num_patterns, op.arena = patterns.count, patterns.arena
            elif not OP_INTEGER <= kind <= OP_BOOLEAN:
                raise ValueError(f"unknown operation {kind!r}")

    cdef int _joined_literals(self, int total) except -1:
        """Set the literals and the indices of `ops`: consecutive literals are joined and go with the next value."""
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
        self.keep = self.keep + [(OP_LITERAL, text) for text in joined]  # `ops` points into these
        return 0

    cdef const char* _view(self, buffer, Py_ssize_t need, Py_ssize_t* size) except? NULL:
        """The memory of a buffer of at least `need` bytes, kept until the program is freed.  Raises `ValueError`."""
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
        """The fault for Python (see program.py), or None.  Raises `MemoryError` if memory is the problem."""
        if trouble.kind == F_MEMORY:
            raise MemoryError
        if not trouble.kind:
            return None
        # The bad value is kept as int64.  Ids are unsigned numbers, but variables of encoded text are signed ones.
        detail = trouble.detail & 0xFFFFFFFFFFFFFFFF if trouble.detail < 0 and trouble.kind in (
            F_STRING, F_PATTERN) and self.ops[trouble.operation].kind != OP_TEXT else trouble.detail
        return (trouble.kind, self.indices[trouble.operation], trouble.row, detail)

    def render(self, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t max_size, bytes mask=None):
        """Print rows until `max_size` is passed or a row cannot be printed: return text, next row, fault or None.

        `mask`: a byte for each row from `start` on, 0 to leave it out.
        """
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
        # Space also for the row that passes `max_size`; a buffer for much text starts smaller, and grows.
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
            return moved(&out), row, fault
        finally:
            free(out.data)

    def check(self, Py_ssize_t start, Py_ssize_t stop):
        """Return the fault of the first row that cannot be printed, or None, without printing."""
        cdef Out out
        cdef Trouble trouble
        cdef Py_ssize_t last = stop, row
        cdef int i
        if start < 0 or stop > self.rows:
            raise IndexError(stop)
        trouble.kind = F_NONE
        memset(&out, 0, sizeof(Out))
        if not reserve(&out, 64):  # scratch space for one number or time
            raise MemoryError
        try:
            with nogil:
                # Column by column, each only as far as those before it are good: the first bad row is found.
                for i in range(self.count):
                    row = first_bad(&out, &self.ops[i], start, last, &trouble)
                    if row < last:
                        last, trouble.operation = row, i
            return self._fault(&trouble)
        finally:
            free(out.data)

    def lines(self, rows):
        """Print these rows, each as a `bytes` object: return the list, up to one that cannot be printed, and its fault."""
        cdef Py_ssize_t total = len(rows), i, done = 0, start = 0
        cdef Py_ssize_t* wanted = <Py_ssize_t*>malloc((2 * total + 1) * sizeof(Py_ssize_t))  # row numbers
        cdef Py_ssize_t* ends = wanted + total  # where the text of each ends, in the same allocation
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
        """Print rows into one `bytes` object: return it, the end of each row in it (int64, a 0 first), fault or None."""
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
        made = PyBytes_New(NULL, sizeof(int64_t) * (stop - start + 1))  # a 0, then the end of each row
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
            return moved(&out), made, fault
        finally:
            free(out.data)


def clps_undelta(values, total=0):
    """Return the running sums (modulo 2^64) of int64 differences, from `total` on, as bytes."""
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
            for i in range(count):  # the buffer need not be aligned
                memcpy(&step, <const char*>view.buf + sizeof(uint64_t) * i, sizeof(uint64_t))
                sum += step
                memcpy(data + sizeof(uint64_t) * i, &sum, sizeof(uint64_t))
        return made
    finally:
        PyBuffer_Release(&view)


def clps_variables_of(words, ClpsLogTypes log_types not None):
    """Return the range of the variables that words of encoded text use, and the words counted from its start.

    So a window (a range of rows) reads only its own variables.  None if a log type does not exist.
    """
    cdef Py_buffer view
    cdef Py_ssize_t i, count
    cdef uint64_t word, ident, at, holes
    cdef uint64_t low = <uint64_t>-1, high = 0  # the range of the variables in use
    cdef bint known = True  # whether all log types exist
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
            low = min(low, high)  # empty if there are no variables
            # The same words, with offsets from the start of the range; those without variables are set to 0.
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
    """Return the index of the first int64 that is not above the one before it; -1 if there is none."""
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
