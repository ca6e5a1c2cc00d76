# Many small tables printed by one call: what would be an object of Python for each of them, its columns and its
# operations is made here, used for its rows and forgotten.  What is unusual about a table, and the problem with it, is
# left to the objects of Python: this stops before it.

cdef enum Stop:  # why `render` returns; the same numbers as in program.py
    S_DONE, S_FULL, S_ODD, S_VARIABLES, S_LOG_TYPES, S_ARRAY_TYPES, S_PATTERNS

cdef enum:
    ROOT_PARENT = -1
    MERGED_OPS = 16 << 20  # bytes of operations after which a call for merged rows ends

cdef struct Shape:  # what one table needs to be printed; nodes are marked by the number of the table that has them
    uint32_t mark
    uint32_t* marks  # by node: the table that it was met in
    uint32_t* leaves  # by node: the table that it has a value or a column in
    int32_t* first  # children of a node, in the order in which they are met
    int32_t* last
    int32_t* following
    int64_t* places  # by node: where its column begins in the table
    Op* ops
    int count
    int room
    Out literals
    Out deltas  # sums of columns of deltas

cdef enum Rule:  # what the values of a node have to be, for `check`
    RULE_INTEGERS = 1  # from one int64 to another
    RULE_REALS  # from one float64 to another
    # any other: nothing that can be checked here

cdef struct Made:  # the operations of one table
    Op* ops
    int count
    Py_ssize_t rows


cdef int shape_open(Shape* s, Py_ssize_t nodes) noexcept nogil:
    """Allocate what a shape of `nodes` nodes takes. Returns -1 without memory; the caller frees it in any case."""
    memset(s, 0, sizeof(Shape))
    s.marks = <uint32_t*>calloc(nodes + 1, sizeof(uint32_t))
    s.leaves = <uint32_t*>calloc(nodes + 1, sizeof(uint32_t))
    s.first = <int32_t*>malloc((nodes + 1) * sizeof(int32_t))
    s.last = <int32_t*>malloc((nodes + 1) * sizeof(int32_t))
    s.following = <int32_t*>malloc((nodes + 1) * sizeof(int32_t))
    s.places = <int64_t*>malloc((nodes + 1) * sizeof(int64_t))
    if (s.marks == NULL or s.leaves == NULL or s.first == NULL or s.last == NULL or s.following == NULL
            or s.places == NULL):
        return -1
    return 0


cdef void shape_close(Shape* s) noexcept nogil:
    free(s.marks)
    free(s.leaves)
    free(s.first)
    free(s.last)
    free(s.following)
    free(s.places)
    free(s.ops)
    free(s.literals.data)
    free(s.deltas.data)


cdef inline int32_t load_i32(const char* at, Py_ssize_t index) noexcept nogil:
    cdef int32_t value
    memcpy(&value, at + sizeof(int32_t) * index, sizeof(int32_t))
    return value


cdef class ClpsTables:
    cdef Py_buffer* views
    cdef int num_views
    cdef const int32_t* parents
    cdef const uint8_t* types
    cdef Py_ssize_t num_nodes
    cdef Out keys  # each in quotes and with a colon, as it is printed
    cdef int64_t* key_ends  # where the key of each node ends, and a 0 first
    cdef int32_t root  # of the records
    cdef const char* schemas  # the section
    cdef Py_ssize_t schemas_size
    cdef Py_ssize_t num_schemas
    cdef const int64_t* entries
    cdef const uint32_t* num_entries
    cdef const uint32_t* num_ordered
    cdef const int32_t* schema_of  # by table: which of the schemas, or a negative number
    cdef const uint64_t* starts
    cdef const uint64_t* ends
    cdef const uint64_t* rows
    cdef Py_ssize_t num_tables
    cdef uint8_t[256] widths  # by node type: bytes per row; 0: no column
    cdef Op raw, escaped, text, array_text, time  # templates, without values, for the operations of columns
    cdef bint has_keys  # or nothing is printed
    cdef bint has_variables, has_log_types, has_array_types, has_patterns
    cdef int32_t numbered  # the node that numbers the records, or a negative number
    cdef const uint8_t* rule_of  # by node: 0, or 1 more than the place of the rule for its values
    cdef const int64_t* rules  # see `Rule`: what, the least value and the greatest
    cdef Py_ssize_t num_rules
    cdef list keep

    def __cinit__(self):
        self.views = NULL
        self.num_views = 0
        self.key_ends = NULL
        self.has_variables = self.has_log_types = self.has_array_types = self.has_patterns = False
        self.rule_of = NULL
        self.rules = NULL
        self.num_rules = 0
        self.numbered = ROOT_PARENT
        self.keep = []
        memset(&self.keys, 0, sizeof(Out))

    def __init__(self, parents, keys, types, int32_t root, bytes widths not None, schemas, entries, num_entries,
                 num_ordered, schema_of, starts, ends, rows):
        cdef Py_ssize_t size, i
        cdef bytes key
        if self.views != NULL:
            raise TypeError("made already")
        self.views = <Py_buffer*>malloc(12 * sizeof(Py_buffer))
        if self.views == NULL:
            raise MemoryError
        self.parents = <const int32_t*>self._view(parents, &size)
        self.num_nodes = size // sizeof(int32_t)
        self.types = <const uint8_t*>self._view(types, &size)
        if size != self.num_nodes or (keys is not None and len(keys) != size) or len(widths) != 256 or root >= size:
            raise ValueError("a schema tree that does not fit")
        for i in range(self.num_nodes):
            if not ROOT_PARENT <= self.parents[i] < i:
                raise ValueError("a parent after its child")
        for i in range(256):
            self.widths[i] = widths[i]
        self.root = root
        self.key_ends = <int64_t*>malloc((self.num_nodes + 1) * sizeof(int64_t))
        if self.key_ends == NULL:
            raise MemoryError
        self.key_ends[0] = 0
        self.has_keys = keys is not None
        i = 0
        for key in () if keys is None else keys:
            if not (add(&self.keys, b'"', 1) and add_escaped(&self.keys, key, len(key)) and add(&self.keys, b'":', 2)):
                raise MemoryError
            i += 1
            self.key_ends[i] = self.keys.size
        self.schemas = self._view(schemas, &self.schemas_size)
        self.entries = <const int64_t*>self._view(entries, &size)
        self.num_schemas = size // sizeof(int64_t)
        self.num_entries = <const uint32_t*>self._view(num_entries, &size)
        if size != <Py_ssize_t>sizeof(uint32_t) * self.num_schemas:
            raise ValueError("schemas that do not fit")
        self.num_ordered = <const uint32_t*>self._view(num_ordered, &size)
        if size != <Py_ssize_t>sizeof(uint32_t) * self.num_schemas:
            raise ValueError("schemas that do not fit")
        for i in range(self.num_schemas):
            if (self.entries[i] < 0 or self.entries[i] > self.schemas_size
                    or self.num_entries[i] > (self.schemas_size - self.entries[i]) // sizeof(int32_t)):
                raise ValueError("schemas that do not fit")
        self.schema_of = <const int32_t*>self._view(schema_of, &size)
        self.num_tables = size // sizeof(int32_t)
        self.starts = <const uint64_t*>self._view(starts, &size)
        self._fits(size)
        self.ends = <const uint64_t*>self._view(ends, &size)
        self._fits(size)
        self.rows = <const uint64_t*>self._view(rows, &size)
        self._fits(size)
        for i in range(self.num_tables):
            if self.schema_of[i] >= self.num_schemas or self.starts[i] > self.ends[i]:
                raise ValueError("tables that do not fit")

    cdef int _fits(self, Py_ssize_t size) except -1:
        if size != <Py_ssize_t>sizeof(uint64_t) * self.num_tables:
            raise ValueError("tables that do not fit")
        return 0

    cdef const char* _view(self, buffer, Py_ssize_t* size) except? NULL:
        cdef Py_buffer* view = &self.views[self.num_views]
        PyObject_GetBuffer(buffer, view, PyBUF_SIMPLE)
        self.num_views += 1
        size[0] = view.len
        return EMPTY if view.buf == NULL else <const char*>view.buf

    def __dealloc__(self):
        cdef int i
        for i in range(self.num_views):
            PyBuffer_Release(&self.views[i])
        free(self.views)
        free(self.key_ends)
        free(self.keys.data)

    def supply_variables(self, ClpsStrings raw not None, ClpsStrings escaped not None):
        self.keep += [raw, escaped]
        memset(&self.raw, 0, sizeof(Op))
        self.raw.kind, self.raw.strings, self.raw.escape = OP_STRING, raw.strings, raw.escape
        self.escaped = self.raw
        self.escaped.strings, self.escaped.escape = escaped.strings, escaped.escape
        self.has_variables = True

    def supply_log_types(self, ClpsLogTypes types not None):
        self.keep.append(types)
        self.text = self.escaped
        self._text(&self.text, types)
        self.has_log_types = self.has_variables

    def supply_array_types(self, ClpsLogTypes types not None):
        self.keep.append(types)
        self.array_text = self.raw
        self._text(&self.array_text, types)
        self.has_array_types = self.has_variables

    cdef void _text(self, Op* op, ClpsLogTypes types):
        op.kind = OP_TEXT
        op.holes, op.first_hole, op.arena = types.pieces, types.first, types.arena.data
        op.num_log_types, op.core = types.count, types.core

    def supply_patterns(self, ClpsPatterns patterns not None):
        self.keep.append(patterns)
        memset(&self.time, 0, sizeof(Op))
        self.time.kind = OP_TIME
        self.time.patterns, self.time.steps, self.time.names = patterns.patterns, patterns.steps, patterns.names
        self.time.num_patterns, self.time.arena = patterns.count, patterns.arena
        self.has_patterns = True

    def supply_checks(self, int32_t numbered, rule_of, rules):
        cdef Py_ssize_t size, i
        if self.rule_of != NULL:
            raise TypeError("supplied already")
        if numbered >= self.num_nodes:
            raise ValueError("a node that does not exist")
        self.rules = <const int64_t*>self._view(rules, &size)
        self.num_rules = size // (3 * sizeof(int64_t))
        rule = <const uint8_t*>self._view(rule_of, &size)
        if size != self.num_nodes:
            raise ValueError("rules that do not fit")
        for i in range(size):
            if rule[i] > self.num_rules:
                raise ValueError("a rule that does not exist")
        self.numbered, self.rule_of = numbered, rule

    def odd_schema(self, Py_ssize_t first):
        cdef Py_ssize_t i, j
        cdef const char* entries
        if first < 0:
            raise IndexError(first)
        for i in range(first, self.num_schemas):
            if self.num_ordered[i] != self.num_entries[i]:
                return i
            entries = self.schemas + self.entries[i]
            for j in range(self.num_entries[i]):
                if not 0 <= load_i32(entries, j) < self.num_nodes:
                    return i
        return self.num_schemas

    cdef int _located(self, Shape* s, Py_ssize_t table, const char* data, int64_t size) noexcept nogil:
        """Where each column begins, and which nodes are above it; `S_ODD` where anything is not as usual."""
        cdef int32_t schema = self.schema_of[table], node, child, parent
        cdef Py_ssize_t i, count
        cdef const char* entries
        cdef int64_t at = 0, rows, more
        cdef int kind
        if schema < 0 or self.rows[table] > <uint64_t>1 << 32 or size == 0:
            return S_ODD
        count = self.num_entries[schema]
        if self.num_ordered[schema] != <uint32_t>count:
            return S_ODD
        rows = <int64_t>self.rows[table]
        entries = self.schemas + self.entries[schema]
        s.mark = <uint32_t>(table + 1)
        for i in range(count):
            node = load_i32(entries, i)
            if not 0 <= node < self.num_nodes or s.leaves[node] == s.mark:
                return S_ODD
            s.leaves[node] = s.mark
            s.places[node] = at
            kind = self.types[node]
            if self.widths[kind]:
                if rows > (size - at) // self.widths[kind]:
                    return S_ODD
                at += rows * self.widths[kind]
                if kind == N_CLP_STRING or kind == N_UNSTRUCTURED_ARRAY:
                    if size - at < <int64_t>sizeof(int64_t):
                        return S_ODD
                    more = load64(data + at, 0)
                    at += sizeof(int64_t)
                    if not 0 <= more <= (size - at) // <int64_t>sizeof(int64_t):
                        return S_ODD
                    at += more * sizeof(int64_t)
            child = ROOT_PARENT
            while True:
                if s.marks[node] == s.mark:
                    break
                s.marks[node] = s.mark
                s.first[node] = s.last[node] = s.following[node] = ROOT_PARENT
                if child != ROOT_PARENT:
                    s.first[node] = s.last[node] = child
                parent = self.parents[node]
                child = node
                node = parent
                if node == ROOT_PARENT:
                    break
            if node != ROOT_PARENT and child != ROOT_PARENT:
                if s.first[node] == ROOT_PARENT:
                    s.first[node] = child
                else:
                    s.following[s.last[node]] = child
                s.last[node] = child
        return S_DONE if at == size else S_ODD

    cdef int _value(self, Shape* s, Op* op, int32_t node, const char* data, int64_t rows) noexcept nogil:
        """The operation that prints a column; why it cannot be made, or `S_DONE`."""
        cdef int kind = self.types[node]
        cdef uint64_t sum = 0
        cdef int64_t i, start
        cdef const char* literal = op.literal
        if kind == N_VAR_STRING or kind == N_DICTIONARY_FLOAT:
            if not self.has_variables:
                return S_VARIABLES
            op[0] = self.escaped if kind == N_VAR_STRING else self.raw
        elif kind == N_CLP_STRING or kind == N_UNSTRUCTURED_ARRAY:
            if not self.has_variables:
                return S_VARIABLES
            if kind == N_CLP_STRING:
                if not self.has_log_types:
                    return S_LOG_TYPES
                op[0] = self.text
            else:
                if not self.has_array_types:
                    return S_ARRAY_TYPES
                op[0] = self.array_text
        elif kind == N_DATE_STRING or kind == N_TIMESTAMP:
            if not self.has_patterns:
                return S_PATTERNS
            op[0] = self.time
        elif kind == N_INTEGER or kind == N_DELTA_INTEGER:
            op.kind = OP_INTEGER
        elif kind == N_FLOAT:
            op.kind = OP_FLOAT
        elif kind == N_FORMATTED_FLOAT:
            op.kind = OP_FORMATTED
        elif kind == N_BOOLEAN:
            op.kind = OP_BOOLEAN
        else:
            return S_ODD
        op.literal = literal
        op.values = data + s.places[node]
        op.more = op.values + sizeof(int64_t) * rows
        if op.kind == OP_TEXT:
            op.num_more = load64(op.more, 0)
            op.more += sizeof(int64_t)
        if (kind == N_DELTA_INTEGER or kind == N_TIMESTAMP) and rows > 1:
            start = s.deltas.size
            if not reserve(&s.deltas, rows * sizeof(int64_t)):
                return S_ODD
            for i in range(rows):
                sum += <uint64_t>load64(op.values, i)
                memcpy(s.deltas.data + s.deltas.size, &sum, sizeof(sum))
                s.deltas.size += sizeof(sum)
            op.literal_size = start  # until the buffer no longer moves
        else:
            op.literal_size = -1
        return S_DONE

    cdef int _shaped(self, Shape* s, Py_ssize_t table, const char* data, int64_t size) noexcept nogil:
        """The operations that print a row of a table; why they cannot be made, or `S_DONE`."""
        cdef int found = self._located(s, table, data, size)
        cdef int32_t level = self.root, node
        cdef int64_t start = 0
        cdef bint first = True, quoted
        cdef int kind, i
        cdef Op* op
        if found != S_DONE:
            return found
        s.count = 0
        s.literals.size = s.deltas.size = 0
        if not add(&s.literals, b"{", 1):
            return S_ODD
        if level >= 0 and s.marks[level] == s.mark:
            node = s.first[level]
            while True:
                if node == ROOT_PARENT:
                    if level == self.root:
                        break
                    if not add(&s.literals, b"}", 1):
                        return S_ODD
                    node = s.following[level]
                    level = self.parents[level]
                    first = False
                    continue
                kind = self.types[node]
                if kind != N_OBJECT and kind != N_STRUCTURED_ARRAY and kind != N_NULL_VALUE and not (
                    s.leaves[node] == s.mark and self.widths[kind]
                ):
                    node = s.following[node]
                    continue
                if not reserve(&s.literals, self.key_ends[node + 1] - self.key_ends[node] + 16):
                    return S_ODD
                if not first:
                    put(&s.literals, b",", 1)
                put(&s.literals, self.keys.data + self.key_ends[node], self.key_ends[node + 1] - self.key_ends[node])
                first = False
                if kind == N_OBJECT and s.first[node] != ROOT_PARENT:
                    put(&s.literals, b"{", 1)
                    level = node
                    node = s.first[node]
                    first = True
                    continue
                if kind == N_OBJECT:
                    put(&s.literals, b"{}", 2)
                elif kind == N_STRUCTURED_ARRAY:
                    put(&s.literals, b"[]", 2)
                elif kind == N_NULL_VALUE:
                    put(&s.literals, b"null", 4)
                else:
                    quoted = kind == N_VAR_STRING or kind == N_CLP_STRING or kind == N_DATE_STRING
                    if quoted:
                        put(&s.literals, b'"', 1)
                    op = self._next_op(s, start)
                    if op == NULL:
                        return S_ODD
                    found = self._value(s, op, node, data, <int64_t>self.rows[table])
                    if found != S_DONE:
                        return found
                    start = s.literals.size
                    if quoted:
                        put(&s.literals, b'"', 1)
                node = s.following[node]
        if not add(&s.literals, b"}\n", 2):
            return S_ODD
        op = self._next_op(s, start)
        if op == NULL:
            return S_ODD
        op.kind = OP_LITERAL
        op.literal_size = -1
        for i in range(s.count):  # the buffers do not move any more
            op = &s.ops[i]
            if op.literal_size >= 0:
                op.values = s.deltas.data + op.literal_size
            start = <int64_t>(<size_t>op.literal)
            op.literal = s.literals.data + start
            op.literal_size = (<int64_t>(<size_t>s.ops[i + 1].literal) if i + 1 < s.count else s.literals.size) - start
        return S_DONE

    cdef Op* _next_op(self, Shape* s, int64_t literal) noexcept nogil:
        """One more operation, which prints what comes before it first: the literal that begins there."""
        cdef Op* moved
        if s.count == s.room:
            moved = <Op*>realloc(s.ops, (2 * s.room + 16) * sizeof(Op))
            if moved == NULL:
                return NULL
            s.ops = moved
            s.room = 2 * s.room + 16
        memset(&s.ops[s.count], 0, sizeof(Op))
        s.ops[s.count].literal = <const char*>(<size_t>literal)
        s.count += 1
        return &s.ops[s.count - 1]

    cdef bint _keeps(self, const Op* op, int32_t node, int64_t rows) noexcept nogil:
        """Whether the values of a column are in order, if it numbers the records, and keep to the rule of its node."""
        cdef int64_t i, value
        cdef double real, low, high
        cdef const int64_t* rule
        if node == self.numbered:
            for i in range(1, rows):
                if load64(op.values, i) <= load64(op.values, i - 1):
                    return False
        if self.rule_of == NULL or not self.rule_of[node]:
            return True
        rule = self.rules + 3 * (self.rule_of[node] - 1)
        if rule[0] == RULE_INTEGERS:
            for i in range(rows):
                value = load64(op.values, i)
                if value < rule[1] or value > rule[2]:
                    return False
        elif rule[0] == RULE_REALS:
            memcpy(&low, rule + 1, sizeof(double))
            memcpy(&high, rule + 2, sizeof(double))
            for i in range(rows):
                real = load_double(op.values, i)
                if not low <= real <= high:
                    return False
        else:
            return False
        return True

    cdef int _sound(self, Shape* s, Out* out, Py_ssize_t table, const char* data, int64_t size) noexcept nogil:
        """`S_DONE` where all is well in a table; `S_ODD` where anything is not as usual, or what has to be supplied."""
        cdef int found = self._located(s, table, data, size), kind
        cdef const char* entries
        cdef int64_t i, rows
        cdef int32_t node
        cdef Op op
        cdef Trouble trouble
        if found != S_DONE:
            return found
        rows = <int64_t>self.rows[table]
        entries = self.schemas + self.entries[self.schema_of[table]]
        for i in range(self.num_entries[self.schema_of[table]]):
            node = load_i32(entries, i)
            kind = self.types[node]
            if not self.widths[kind]:
                continue
            if (kind == N_INTEGER or kind == N_FLOAT or kind == N_FORMATTED_FLOAT or kind == N_BOOLEAN
                    or kind == N_DELTA_INTEGER) and node != self.numbered and (
                    self.rule_of == NULL or not self.rule_of[node]):
                continue
            memset(&op, 0, sizeof(Op))
            s.deltas.size = 0
            found = self._value(s, &op, node, data, rows)
            if found != S_DONE:
                return found
            if op.literal_size >= 0:
                op.values = s.deltas.data + op.literal_size
            if first_bad(out, &op, 0, rows, &trouble) < rows or not self._keeps(&op, node, rows):
                return S_ODD
        return S_DONE

    def check(self, payload, Py_ssize_t table, Py_ssize_t stop):
        cdef Py_buffer view
        cdef Shape shape
        cdef Out out, odd
        cdef int why = S_DONE
        cdef uint32_t number
        cdef bint full = False
        if not 0 <= table <= stop <= self.num_tables:
            raise IndexError(table)
        memset(&out, 0, sizeof(Out))
        memset(&odd, 0, sizeof(Out))
        memset(&shape, 0, sizeof(Shape))
        PyObject_GetBuffer(payload, &view, PyBUF_SIMPLE)
        try:
            if not reserve(&out, 64) or shape_open(&shape, self.num_nodes) < 0:
                raise MemoryError
            with nogil:
                while table < stop:
                    if self.ends[table] > <uint64_t>view.len:
                        why = S_ODD
                    else:
                        why = self._sound(&shape, &out, table, <const char*>view.buf + self.starts[table],
                                          <int64_t>(self.ends[table] - self.starts[table]))
                    if why == S_ODD:
                        number = <uint32_t>table
                        if not add(&odd, <const char*>&number, sizeof(number)):
                            full = True
                            break
                    elif why != S_DONE:
                        break
                    table += 1
            if full:
                raise MemoryError
            return copied(odd.data, odd.size), table, S_DONE if table == stop else why
        finally:
            PyBuffer_Release(&view)
            shape_close(&shape)
            free(out.data)
            free(odd.data)

    cdef int _taken(self, Shape* s, Out* scratch, Py_ssize_t table, int32_t node, const char* data, Out* values,
                    Out* more) noexcept nogil:
        """Adds the values of a column to those of others; `S_FULL` where there is no memory."""
        cdef int kind = self.types[node], found
        cdef int64_t rows = <int64_t>self.rows[table], i
        cdef uint64_t word, shift
        cdef Op op
        cdef Trouble trouble
        if kind == N_BOOLEAN:
            return S_DONE if add(values, data + s.places[node], rows) else S_FULL
        memset(&op, 0, sizeof(Op))
        s.deltas.size = 0
        if kind == N_DATE_STRING or kind == N_TIMESTAMP:  # needs no patterns
            op.values = data + s.places[node]
            op.more = op.values + sizeof(int64_t) * rows
            if not add(more, op.more, rows * sizeof(int64_t)):
                return S_FULL
            if kind == N_TIMESTAMP:
                shift = 0
                for i in range(rows):
                    shift += <uint64_t>load64(op.values, i)
                    if not add(values, <const char*>&shift, sizeof(shift)):
                        return S_FULL
                return S_DONE
            return S_DONE if add(values, op.values, rows * sizeof(int64_t)) else S_FULL
        found = self._value(s, &op, node, data, rows)
        if found != S_DONE:
            return found
        if op.literal_size >= 0:
            op.values = s.deltas.data + op.literal_size
        if op.kind != OP_TEXT:
            if op.kind == OP_FORMATTED and not add(more, op.more, rows * sizeof(uint16_t)):
                return S_FULL
            return S_DONE if add(values, op.values, rows * sizeof(int64_t)) else S_FULL
        if first_bad(scratch, &op, 0, rows, &trouble) < rows:
            return S_ODD
        shift = <uint64_t>(more.size // <Py_ssize_t>sizeof(int64_t)) << CLP_S_TABLE_CLP_WORD_SHIFT_OFS_VARIABLE
        for i in range(rows):
            word = <uint64_t>load64(op.values, i)
            if op.first_hole[clp_s_table_clp_word_log_type_id(word) + 1] - op.first_hole[
                    clp_s_table_clp_word_log_type_id(word)] > 1:
                word += shift
            else:
                word = clp_s_table_clp_word_log_type_id(word)
            if not add(values, <const char*>&word, sizeof(word)):
                return S_FULL
        return S_DONE if add(more, op.more, op.num_more * sizeof(int64_t)) else S_FULL

    def gather(self, payload, Py_ssize_t first, Py_ssize_t stop, unsigned char[::1] chosen not None,
               const unsigned char[::1] wanted not None):
        cdef Py_buffer view
        cdef Shape shape
        cdef Out scratch, values, more, owners
        cdef Py_ssize_t table, i, kept_values, kept_more, kept_owners
        cdef int64_t base = 0, row
        cdef int32_t node
        cdef uint32_t number
        cdef int why = S_DONE
        cdef const char* data
        cdef const char* entries
        if not 0 <= first <= stop <= self.num_tables or chosen.shape[0] != stop - first:
            raise IndexError(first)
        if wanted.shape[0] != self.num_nodes:
            raise ValueError("nodes that do not fit")
        memset(&scratch, 0, sizeof(Out))
        memset(&values, 0, sizeof(Out))
        memset(&more, 0, sizeof(Out))
        memset(&owners, 0, sizeof(Out))
        memset(&shape, 0, sizeof(Shape))
        PyObject_GetBuffer(payload, &view, PyBUF_SIMPLE)
        try:
            if not reserve(&scratch, 64) or shape_open(&shape, self.num_nodes) < 0:
                raise MemoryError
            with nogil:
                for table in range(first, stop):
                    if chosen[table - first] == 1 and self.rows[table]:
                        why = S_ODD
                        if self.ends[table] <= <uint64_t>view.len:
                            data = <const char*>view.buf + self.starts[table]
                            why = self._located(&shape, table, data,
                                                <int64_t>(self.ends[table] - self.starts[table]))
                        kept_values, kept_more, kept_owners = values.size, more.size, owners.size
                        i = 0
                        while why == S_DONE and i < self.num_entries[self.schema_of[table]]:
                            node = load_i32(self.schemas + self.entries[self.schema_of[table]], i)
                            i += 1
                            if not wanted[node] or not self.widths[self.types[node]]:
                                continue
                            why = self._taken(&shape, &scratch, table, node, data, &values, &more)
                            for row in range(<int64_t>self.rows[table] if why == S_DONE else 0):
                                number = <uint32_t>(base + row)
                                if not add(&owners, <const char*>&number, sizeof(number)):
                                    why = S_FULL
                                    break
                        if why == S_FULL:
                            break
                        if why != S_DONE:
                            chosen[table - first] = 2
                            values.size, more.size, owners.size = kept_values, kept_more, kept_owners
                    base += <int64_t>self.rows[table]
            if why == S_FULL:
                raise MemoryError
            return copied(values.data, values.size), copied(more.data, more.size), copied(owners.data, owners.size)
        finally:
            PyBuffer_Release(&view)
            shape_close(&shape)
            free(scratch.data)
            free(values.data)
            free(more.data)
            free(owners.data)

    def render(self, payload, Py_ssize_t table, Py_ssize_t row, Py_ssize_t stop, Py_ssize_t max_size, mask=None):
        cdef Py_buffer view
        cdef const unsigned char[::1] flags
        cdef const unsigned char* chosen = NULL
        cdef uint64_t left = 0
        cdef Py_ssize_t i
        cdef Shape shape
        cdef Out out
        cdef Trouble trouble
        cdef int why = S_DONE
        if not 0 <= table <= stop <= self.num_tables or row < 0:
            raise IndexError(table)
        if not self.has_keys:
            raise ValueError("no keys to print")
        if mask is not None:
            if table < stop and <uint64_t>row > self.rows[table]:
                raise IndexError(row)
            flags = mask
            for i in range(table, stop):
                left += self.rows[i]
            if left - <uint64_t>row > <uint64_t>flags.shape[0]:
                raise IndexError(stop)
            if left > <uint64_t>row:
                chosen = &flags[0]
        trouble.kind = F_NONE
        out.size = 0
        out.capacity = 1 << 16
        out.data = NULL
        memset(&shape, 0, sizeof(Shape))
        PyObject_GetBuffer(payload, &view, PyBUF_SIMPLE)
        try:
            out.data = <char*>malloc(out.capacity)
            if out.data == NULL or shape_open(&shape, self.num_nodes) < 0:
                raise MemoryError
            with nogil:
                while table < stop and why == S_DONE:
                    if out.size >= max_size:
                        why = S_FULL
                        break
                    if not self.rows[table]:
                        table += 1
                        row = 0
                        continue
                    if chosen != NULL and memchr(chosen, 1, self.rows[table] - row) == NULL:
                        chosen += self.rows[table] - row
                        table += 1
                        row = 0
                        continue
                    if self.ends[table] > <uint64_t>view.len:
                        why = S_ODD
                        break
                    why = self._shaped(&shape, table, <const char*>view.buf + self.starts[table],
                                       <int64_t>(self.ends[table] - self.starts[table]))
                    if why != S_DONE:
                        break
                    while <uint64_t>row < self.rows[table]:
                        if out.size >= max_size:
                            why = S_FULL
                            break
                        if (chosen == NULL or chosen[0]) and add_row(
                                &out, shape.ops, shape.count, row, &trouble) != F_NONE:
                            why = S_ODD
                            break
                        if chosen != NULL:
                            chosen += 1
                        row += 1
                    if why == S_DONE:
                        table += 1
                        row = 0
            if trouble.kind == F_MEMORY:
                raise MemoryError
            return moved(&out), table, row, why
        finally:
            PyBuffer_Release(&view)
            shape_close(&shape)
            free(out.data)
