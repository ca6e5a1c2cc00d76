# Many small tables printed by one call, without Python objects for each table, its columns and its operations: they are
# C structures here, reused for the next table.  A table that is damaged or unusual ("odd": structured arrays, keys
# stored twice) is left to the Python objects, which also report the damage: the call stops before it with `S_ODD`.
# `N_...` are the types of nodes of the schema tree; `Op`, `Out` and `Trouble` are those of native.pxi.

cdef enum Stop:  # result of a step, and why `render` returns; the same numbers as in program.py.  Done; the output is
    # full (in `_taken` and `gather`: no memory); an odd table; or something has to be supplied first.
    S_DONE, S_FULL, S_ODD, S_VARIABLES, S_LOG_TYPES, S_ARRAY_TYPES, S_PATTERNS

cdef enum:
    MAX_VIEWS = 12  # arrays of the caller: ten in `__init__`, two in `supply_checks`
    ROOT_PARENT = -1  # no node: the parent of a root, and the end of a list of children
    MERGED_OPS = 16 << 20  # bytes of operations after which a call for merged rows ends

cdef struct Shape:  # columns and operations of one table, reused for the next
    # The arrays below have an entry for each node of the schema tree.  They are not cleared between tables: an entry is
    # valid for the current table if the node's number in `marks` or `leaves` is `mark`.
    uint32_t mark  # the current table: its number plus 1
    uint32_t* marks  # the last table that has the node, or a node below it
    uint32_t* leaves  # the last table whose schema has the node as an entry: a column, or a value without one, as null
    int32_t* first  # first child of the node in this table, in the order of the schema
    int32_t* last  # last child
    int32_t* following  # next child of the same parent
    int64_t* places  # offset of the node's column in the table
    Op* ops
    int count  # of `ops`
    int room  # allocated `ops`
    Out literals  # text of the literals of `ops`
    Out deltas  # values of the columns that store deltas, summed up

cdef enum Rule:  # kinds of rules for the values of a node, for `check`
    RULE_INTEGERS = 1  # int64 in a range, both ends included
    RULE_REALS  # float64 in a range, both ends included
    # any other number: a rule that only Python can check

cdef enum:  # marks of tables in the mask that `gather` gets and changes; 0: a table that is not needed
    TABLE_CHOSEN = 1
    TABLE_LEFT = 2  # could not be read here

cdef struct Made:  # the operations of one table, kept beyond the next (see `shape_keep`)
    Op* ops
    int count
    Py_ssize_t rows


cdef int shape_open(Shape* s, Py_ssize_t nodes) noexcept nogil:
    """Allocate the arrays for `nodes` nodes.  Return 0, or -1 without memory; call `shape_close` in both cases."""
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
    """Free the arrays and buffers."""
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
    """Element `index` of an array of int32 that need not be aligned."""
    cdef int32_t value
    memcpy(&value, at + sizeof(int32_t) * index, sizeof(int32_t))
    return value


cdef class ClpsTables:
    """The tables of an archive; pytables.py has the same class in Python, and documents arguments and errors."""

    cdef Py_buffer* views  # the arrays of the caller, released at the end
    cdef int num_views
    # The schema tree: an entry for each node.
    cdef const int32_t* parents
    cdef const uint8_t* types
    cdef Py_ssize_t num_nodes
    cdef Out keys  # as they are printed: in quotes, escaped and with a colon
    cdef int64_t* key_ends  # a 0, then the end of each node's key in `keys`
    cdef int32_t root  # the node of the records' object, or a negative number
    # The schemas.
    cdef const char* schemas  # the section, decompressed
    cdef Py_ssize_t schemas_size
    cdef Py_ssize_t num_schemas
    cdef const int64_t* entries  # by schema: offset of its node ids (int32) in the section
    cdef const uint32_t* num_entries  # by schema: number of its node ids
    cdef const uint32_t* num_ordered  # by schema: how many of them come before those of structured arrays
    # The tables.
    cdef const int32_t* schema_of  # by table: index of its schema; negative: there is none
    cdef const uint64_t* starts  # by table: half-open range of its bytes in its stream
    cdef const uint64_t* ends
    cdef const uint64_t* rows  # by table: number of records
    cdef Py_ssize_t num_tables
    cdef uint8_t[256] widths  # by node type: bytes per row; 0: the type has no column
    # Operations without values, to copy for each column, and whether their dictionaries have been supplied.
    cdef Op raw, escaped, text, array_text, time
    cdef bint has_variables, has_log_types, has_array_types, has_patterns
    cdef bint has_keys  # False if the tables are not to be printed
    # For `check`.
    cdef int32_t numbered  # the node that numbers the records (log_event_idx), or a negative number
    cdef const uint8_t* rule_of  # by node: 0 (no rule), or 1 plus the index of the rule for its values
    cdef const int64_t* rules  # three numbers each: kind (see `Rule`), the least value and the greatest
    cdef Py_ssize_t num_rules
    cdef list keep  # objects whose memory is in use

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
        self.views = <Py_buffer*>malloc(MAX_VIEWS * sizeof(Py_buffer))
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
        """Raise `ValueError` unless an array of uint64 with `size` bytes has an entry for each table."""
        if size != <Py_ssize_t>sizeof(uint64_t) * self.num_tables:
            raise ValueError("tables that do not fit")
        return 0

    cdef const char* _view(self, buffer, Py_ssize_t* size) except? NULL:
        """The memory of a buffer, kept until the object is freed, and its size in bytes."""
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

    # Each `supply_...` takes the entries of a dictionary, and completes with them the operations that `_value` copies
    # for columns of some types.  `render` and `check` return `S_VARIABLES` and so on when they need it.
    def supply_variables(self, ClpsStrings raw not None, ClpsStrings escaped not None):
        """Take the variable dictionary, as it is stored and as it is printed in JSON strings."""
        self.keep += [raw, escaped]
        memset(&self.raw, 0, sizeof(Op))
        self.raw.kind, self.raw.strings, self.raw.escape = OP_STRING, raw.strings, raw.escape
        self.escaped = self.raw
        self.escaped.strings, self.escaped.escape = escaped.strings, escaped.escape
        self.has_variables = True

    def supply_log_types(self, ClpsLogTypes types not None):
        """Take the dictionary of log types."""
        self.keep.append(types)
        self.text = self.escaped
        self._text(&self.text, types)
        self.has_log_types = self.has_variables  # the operation just copied has the variables only if they came first

    def supply_array_types(self, ClpsLogTypes types not None):
        """Take the dictionary of array types."""
        self.keep.append(types)
        self.array_text = self.raw  # the text of an array is JSON already: nothing is escaped
        self._text(&self.array_text, types)
        self.has_array_types = self.has_variables

    cdef void _text(self, Op* op, ClpsLogTypes types):
        """Turn an operation for strings into one for encoded text with these log types."""
        op.kind = OP_TEXT
        op.parts, op.first_part = types.parts, types.first
        op.num_log_types, op.core = types.count, types.core

    def supply_patterns(self, ClpsPatterns patterns not None):
        """Take the timestamp patterns."""
        self.keep.append(patterns)
        memset(&self.time, 0, sizeof(Op))
        self.time.kind = OP_TIME
        self.time.patterns, self.time.steps, self.time.names = patterns.patterns, patterns.steps, patterns.names
        self.time.num_patterns, self.time.arena = patterns.count, patterns.arena
        self.has_patterns = True

    def supply_checks(self, int32_t numbered, rule_of, rules):
        """Take the rules for `check`; the attributes of these names say what they are."""
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
        """Return the next schema, from `first` on, that `_located` does not take: with unordered or invalid nodes."""
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
        """Fill the arrays of `s` for a table: the places of its columns, and its nodes as a tree in schema order.

        Return `S_DONE`, or `S_ODD` for a damaged or unusual table.  `data` and `size` are the bytes of the table.
        """
        cdef int32_t schema = self.schema_of[table], node, child, parent
        cdef Py_ssize_t i, count
        cdef const char* entries
        cdef int64_t at = 0, rows, more  # `at`: offset of the next column; `more`: number of its variables
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
            # The column of the node: skip its values, and the variables that may follow them.
            node = load_i32(entries, i)
            if not 0 <= node < self.num_nodes or s.leaves[node] == s.mark:  # a key stored twice
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
            # Link the node to its parent, that to its own and so on, up to a node that the table is known to have.
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
            if node != ROOT_PARENT and child != ROOT_PARENT:  # `node` is linked already: append a child to it
                if s.first[node] == ROOT_PARENT:
                    s.first[node] = child
                else:
                    s.following[s.last[node]] = child
                s.last[node] = child
        return S_DONE if at == size else S_ODD

    cdef int _value(self, Shape* s, Op* op, int32_t node, const char* data, int64_t rows) noexcept nogil:
        """Set `op` to the operation that prints a column.  Return `S_DONE`, or why that is not possible.

        The sums of deltas are in `s.deltas`, which may still move: for now, `op.literal_size` has their offset in it,
        or -1 if the values are in the table itself.
        """
        cdef int kind = self.types[node]
        cdef uint64_t sum = 0
        cdef int64_t i, start
        cdef const char* literal = op.literal  # kept, as `op[0] = ...` below replaces all of the operation
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
        op.more = op.values + sizeof(int64_t) * rows  # used only by kinds whose values are followed by a second array
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
            op.literal_size = start
        else:
            op.literal_size = -1
        return S_DONE

    cdef int _shaped(self, Shape* s, Py_ssize_t table, const char* data, int64_t size) noexcept nogil:
        """Set the operations of `s` to those that print a row of a table.  Return `S_DONE`, or why that fails.

        They are made in a walk over the nodes, depth first, without recursion.
        """
        cdef int found = self._located(s, table, data, size)
        cdef int32_t level = self.root, node  # the object that is open, and its member
        cdef int64_t start = 0  # offset in the literals: end of the text before the last operation's value
        cdef bint first = True, quoted  # whether a member is the first of its object (no comma)
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
                if node == ROOT_PARENT:  # no more members: close the object
                    if level == self.root:
                        break
                    if not add(&s.literals, b"}", 1):
                        return S_ODD
                    node = s.following[level]
                    level = self.parents[level]
                    first = False
                    continue
                kind = self.types[node]
                # Skip a node that is not printed: none of these three types, and without a column.
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
                elif kind == N_STRUCTURED_ARRAY:  # an empty one: a table with elements in one is odd
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
                    start = s.literals.size  # the closing quote belongs to the literal of the next operation
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
        # The buffers no longer move: turn the offsets in them into pointers.
        for i in range(s.count):
            op = &s.ops[i]
            if op.literal_size >= 0:
                op.values = s.deltas.data + op.literal_size
            start = <int64_t>(<size_t>op.literal)
            op.literal = s.literals.data + start
            op.literal_size = (<int64_t>(<size_t>s.ops[i + 1].literal) if i + 1 < s.count else s.literals.size) - start
        return S_DONE

    cdef Op* _next_op(self, Shape* s, int64_t literal) noexcept nogil:
        """Append an operation whose literal starts at this offset in `s.literals` (kept in its pointer for now)."""
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

    cdef bint _complies(self, const Op* op, int32_t node, int64_t rows) noexcept nogil:
        """Whether a column's values ascend, if it numbers the records, and comply with the rule of its node."""
        cdef int64_t i, value
        cdef double real, low, high
        cdef const int64_t* rule
        if node == self.numbered:
            for i in range(1, rows):
                if load64(op.values, i) <= load64(op.values, i - 1):
                    return False
        if self.rule_of == NULL or not self.rule_of[node]:
            return True
        # A rule is its kind, the least value and the greatest; as bits of doubles for `RULE_REALS`.
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
        else:  # only Python can check this rule
            return False
        return True

    cdef int _sound(self, Shape* s, Out* out, Py_ssize_t table, const char* data, int64_t size) noexcept nogil:
        """Check a table.  Return `S_DONE`, `S_ODD` for a damaged or unusual table, or what has to be supplied first."""
        cdef int found = self._located(s, table, data, size), kind
        cdef const char* entries
        cdef int64_t i, rows
        cdef int32_t node
        cdef bint any_bytes, has_rule
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
            # Any bytes are a number or a boolean: skip them if no rule applies.
            any_bytes = (kind == N_INTEGER or kind == N_FLOAT or kind == N_FORMATTED_FLOAT or kind == N_BOOLEAN
                         or kind == N_DELTA_INTEGER)
            has_rule = node == self.numbered or (self.rule_of != NULL and self.rule_of[node] != 0)
            if any_bytes and not has_rule:
                continue
            memset(&op, 0, sizeof(Op))
            s.deltas.size = 0
            found = self._value(s, &op, node, data, rows)
            if found != S_DONE:
                return found
            if op.literal_size >= 0:
                op.values = s.deltas.data + op.literal_size
            if first_bad(out, &op, 0, rows, &trouble) < rows or not self._complies(&op, node, rows):
                return S_ODD
        return S_DONE

    def check(self, payload, Py_ssize_t table, Py_ssize_t stop):
        """Check the tables `[table, stop)` of one stream, its bytes in `payload`, for `verify`.

        Return the numbers of the odd ones (uint32), the next table, and `S_DONE` or what has to be supplied.
        """
        cdef Py_buffer view
        cdef Shape shape
        cdef Out out, odd  # scratch space; the numbers of the odd tables
        cdef int why = S_DONE
        cdef uint32_t number
        cdef bint full = False  # no memory
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
            # An odd last table does not end the call: only what has to be supplied does.
            return copied(odd.data, odd.size), table, S_DONE if table == stop else why
        finally:
            PyBuffer_Release(&view)
            shape_close(&shape)
            free(out.data)
            free(odd.data)

    cdef int _taken(self, Shape* s, Out* scratch, Py_ssize_t table, int32_t node, const char* data, Out* values,
                    Out* more) noexcept nogil:
        """Append a column of a table to those of other tables, for `gather`: its values and, if it has any, its `more`.

        Deltas become sums, and words of encoded text refer to the joined variables.  Return `S_DONE`, `S_FULL` without
        memory, `S_ODD` for a value that cannot be printed, or what has to be supplied first.
        """
        cdef int kind = self.types[node], found
        cdef int64_t rows = <int64_t>self.rows[table], i
        cdef uint64_t word, shift  # sum of the deltas, or the number to add to each word of encoded text
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
        # Encoded text: add the number of variables that were gathered before to the offset in each word.
        shift = <uint64_t>(more.size // <Py_ssize_t>sizeof(int64_t)) << CLP_S_TABLE_CLP_WORD_SHIFT_OFS_VARIABLE
        for i in range(rows):
            word = <uint64_t>load64(op.values, i)
            if op.first_part[clp_s_table_clp_word_log_type_id(word) + 1] - op.first_part[
                    clp_s_table_clp_word_log_type_id(word)] > 1:
                word += shift
            else:
                word = clp_s_table_clp_word_log_type_id(word)
            if not add(values, <const char*>&word, sizeof(word)):
                return S_FULL
        return S_DONE if add(more, op.more, op.num_more * sizeof(int64_t)) else S_FULL

    def gather(self, payload, Py_ssize_t first, Py_ssize_t stop, unsigned char[::1] chosen not None,
               const unsigned char[::1] wanted not None):
        """Join the values of nodes (all of one type) of many tables, for a search: return values, `more` and owners.

        `payload`: the stream of the tables `[first, stop)`; `chosen`: by table, `TABLE_CHOSEN` or 0; `wanted`: by node,
        1 or 0.  A table that cannot be read here is marked `TABLE_LEFT` in `chosen`.
        """
        cdef Py_buffer view
        cdef Shape shape
        cdef Out scratch, values, more, owners  # `owners`: by value, the number of its row among those of all tables
        cdef Py_ssize_t table, i, kept_values, kept_more, kept_owners
        cdef int64_t base = 0, row  # number of the table's first row, and a row of the table
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
                    if chosen[table - first] == TABLE_CHOSEN and self.rows[table]:
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
                        if why != S_DONE:  # report the table to the caller, and take nothing of it
                            chosen[table - first] = TABLE_LEFT
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
        """Print from `row` of `table` on up to the table `stop`: return text, next table, next row, and a `Stop`.

        `payload`: the stream that these tables are in; `mask`: a byte for each of these rows, 1 to print it.
        """
        cdef Py_buffer view
        cdef const unsigned char[::1] flags
        cdef const unsigned char* chosen = NULL  # a byte per row, from `row` of `table` on; NULL: all rows
        cdef uint64_t left = 0  # rows of all the tables
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
                    if chosen != NULL and memchr(chosen, 1, self.rows[table] - row) == NULL:  # no row is chosen
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
