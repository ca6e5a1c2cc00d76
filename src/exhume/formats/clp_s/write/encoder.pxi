# The clp-s encoder: JSON text in, dictionaries, schema tree and columns out.
#
# One record at a time: `scan` turns it into a tape of tokens (nothing is changed yet), `resolve` finds its nodes in the
# schema tree (undone if the record turns out to be bad), `commit` appends its values to the columns of its schema.
#
# A node of the schema tree is a key below a parent node, and a type of its values; a name is the key and the parent,
# and has a node for each type.  A schema is the list of nodes of a record: ordered ones (sorted by number), then
# unordered ones, which are inside arrays, with a marker before those of each container.  A table has the columns of all
# records with one schema; a column is stored as one or two arrays, `a` and `b`.  A string with spaces is stored
# as a log type (with a placeholder, or mark, for each variable) and variables.  Upstream is `clp-s`, whose archives
# these are byte for byte.
#
# The options: `core`: strings are in the dialect of format 0.4.0 on; `structurize`: arrays are opened up into columns,
# else each is stored as its text; `retain_floats`: floats keep their spelling; `time_nodes`: values of the timestamp
# key are stored as from 0.5.0 on, numbers included; `lossy`: values that do not come back the same are accepted;
# `max_document`: most bytes of a record.  Functions that return "the fault" return 0 without one, else an `E_...`.
# The input ends with a NUL byte (as every `bytes` object does), so that scanning can read the byte at `end`.  The
# `n` of an `EncBuf` is in bytes: `n >> 2` and `n >> 3` are the number of its items of four or eight bytes.

cdef enum:
    # Place of a name in the path of keys that leads to the timestamp, such as `meta.time`: `meta` is inner, `time` last.
    TIME_KEY_NONE, TIME_KEY_INNER, TIME_KEY_LAST

cdef enum:
    # What becomes of a value of the timestamp key; a larger number is the fault (`E_...`) that rejects the record.
    ENC_NOT_TIME, ENC_IS_TIME

cdef struct EncName:
    # One key below one parent node.  It has a node for each type of its values.
    int32_t parent
    int32_t next            # the name that followed it last time: a guess that often saves a search in the hash table
    int32_t nodes[N_NODE_TYPES]     # by type: the node, or -1
    uint32_t time_key       # TIME_KEY_...: whether it is a key on the path of the timestamp key
    int64_t stamp           # serial number of the last object that used it
    size_t key              # offset in `keys`
    size_t key_size
    uint64_t hash

cdef struct EncNode:
    int32_t parent
    int32_t name
    int32_t first           # the name that came first below this node last time: a guess
    int16_t path            # number of keys of the timestamp path that lead here; -1: not on it
    uint8_t type
    uint8_t has_time        # whether a value of the timestamp key was stored here
    int64_t stamp           # serial number of the last record that used it as an ordered leaf

cdef struct EncMoved:
    # The beginning of a column that was moved to a temporary file, the spill.
    size_t a_size           # bytes of its array `a` there
    size_t b_size           # and of `b`
    EncBuf a_parts          # u64 pairs: offset in the spill and size of each part of `a`
    EncBuf b_parts

cdef struct EncColumn:      # small, because there may be as many tables as records
    uint8_t type
    int64_t last            # the last value of a column that stores deltas
    EncBuf a                # words or numbers
    EncBuf b                # variables of encoded text, formats of floats, or pattern ids
    EncMoved* moved         # NULL if nothing was moved

cdef struct EncTable:       # the table of the schema with the same number in `schemas`
    int32_t num_columns
    int64_t rows
    EncColumn* columns

cdef struct EncShape:
    # The node ids of a record in document order, with its table: it saves sorting and searching for records like it.
    uint64_t hash
    size_t ids              # offset in `shape_ids`
    int32_t num_ordered
    int32_t num_unordered
    int32_t table
    size_t sources          # by column of an ordered entry: index of the ordered value that is stored there

cdef struct EncToken:       # a value of a record, or the beginning or end of an object or array
    uint8_t kind            # T_...
    uint8_t flags           # F_...
    uint8_t type            # node type, set by `resolve`
    uint16_t word           # format word of a float
    int32_t node            # set by `resolve`
    const unsigned char* key
    size_t key_size
    const unsigned char* text
    size_t size
    int64_t number          # integer, boolean, epoch; for floats the bits of the double
    int64_t pattern         # id of the timestamp pattern

cdef enum:
    # The variable dictionary may outgrow the near caches.  Then variables wait (`EncPending`), and are looked up
    # together, so that the memory accesses overlap.
    ENC_FAR = 1 << 15       # slots of the dictionary from which on variables wait
    ENC_PENDING = 32        # most variables that wait
    ENC_FIRST_SHAPE_SLOTS = 1024    # slots of the hash table of shapes at first
    ENC_SHORT = 256         # largest variable, in bytes, that waits; longer ones are looked up at once

cdef enum:                  # what `ClpsEncoder.scan` expects next
    SCAN_VALUE, SCAN_KEY, SCAN_AFTER    # `SCAN_AFTER`: a comma, or the end of the object, array or document

cdef struct EncPending:     # a variable to be looked up in the dictionary, and where to store its number
    EncBuf* to              # the array of the column
    size_t place            # offset in `to`
    int64_t first           # added to the number
    uint64_t hash
    size_t text             # offset in `pending_texts`
    size_t size

cdef struct EncMaps:
    # Numbers of an encoder of blocks -> those of the encoder that takes over its records; see absorb.pxi.
    EncBuf nodes            # i32 by node
    EncBuf entries[3]       # u32 by entry of the variable, log type and array dictionary
    EncBuf marks[3]         # the placeholders of all log types, back to back (not for variables)
    EncBuf ends[3]          # u64 by log type: end of its placeholders in `marks`

cdef struct EncFrame:       # an open object or array, for `resolve`
    int32_t node
    int32_t previous        # the last name in this object; -1: none yet
    int64_t stamp           # serial number of the object
    int64_t marker          # index of its marker in `unordered`, or -1
    uint8_t is_array
    uint8_t in_array        # whether it is an array, or anywhere inside one


cdef inline uint8_t enc_string_type(const unsigned char* text, size_t size) noexcept nogil:
    """The node type of a string: only one with a space (0x20) is divided into variables and text."""
    return N_CLP_STRING if memchr(text, 0x20, size) != NULL else N_VAR_STRING


cdef inline bint enc_has_count(const EncColumn* column) noexcept nogil:
    """Whether the number of its variables is between the two parts of a column."""
    return column.type == N_CLP_STRING or column.type == N_UNSTRUCTURED_ARRAY


cdef inline size_t enc_a_moved(const EncColumn* column) noexcept nogil:
    """Bytes of `a` in the spill."""
    return column.moved.a_size if column.moved != NULL else 0


cdef inline size_t enc_b_moved(const EncColumn* column) noexcept nogil:
    """Bytes of `b` in the spill."""
    return column.moved.b_size if column.moved != NULL else 0


cdef inline size_t enc_column_size(const EncColumn* column) noexcept nogil:
    """Bytes of a column as it is stored: `a`, the number of variables if it has any, and `b`."""
    return enc_a_moved(column) + column.a.n + enc_b_moved(column) + column.b.n \
        + (sizeof(uint64_t) if enc_has_count(column) else 0)


cdef unsigned char* enc_copy_part(unsigned char* out, const unsigned char* p, size_t size, size_t at, size_t start,
                                  size_t stop) noexcept nogil:
    """Copy the part of a range that is needed: the bytes at offset `at`, as far as they are in `[start, stop)`.

    Return the end of the copy in `out`.
    """
    cdef size_t first = start - at if start > at else 0
    cdef size_t last = min(size, stop - at) if stop > at else 0
    if first >= last:
        return out
    memcpy(out, p + first, last - first)
    return out + (last - first)


cdef int enc_compare_ids(const void* a, const void* b) noexcept nogil:
    """The order of two node numbers, for `qsort`."""
    cdef int32_t x = (<int32_t*>a)[0]
    cdef int32_t y = (<int32_t*>b)[0]
    return (x > y) - (x < y)


cdef inline uint64_t enc_decimal_variable(const EncVariable* found, bint core) noexcept nogil:
    """The 64 bits that store a decimal such as -12.50: its digits, how many there are and follow the point, its sign."""
    if core:
        return (found.magnitude << CLP_S_TABLE_DECIMAL_VARIABLE_SHIFT_DIGITS
                | <uint64_t>(found.digits - 1) << CLP_S_TABLE_DECIMAL_VARIABLE_SHIFT_NUM_DIGITS
                | <uint64_t>(found.fraction - 1) << CLP_S_TABLE_DECIMAL_VARIABLE_SHIFT_NUM_FRACTION_DIGITS
                | <uint64_t>found.negative << CLP_S_TABLE_DECIMAL_VARIABLE_SHIFT_SIGN)
    return (found.magnitude << CLP_S_TABLE_CLASSIC_DECIMAL_VARIABLE_SHIFT_DIGITS
            | <uint64_t>(found.digits - 1) << CLP_S_TABLE_CLASSIC_DECIMAL_VARIABLE_SHIFT_NUM_DIGITS
            | <uint64_t>(found.fraction - 1) << CLP_S_TABLE_CLASSIC_DECIMAL_VARIABLE_SHIFT_NUM_FRACTION_DIGITS
            | <uint64_t>found.negative << CLP_S_TABLE_CLASSIC_DECIMAL_VARIABLE_SHIFT_SIGN)


cdef class ClpsEncoder:
    """Encodes JSON documents; `Encoder` of encoder.py documents the arguments, attributes and public methods."""

    cdef bint core, structurize, retain_floats, time_nodes, lossy
    cdef uint8_t log_type   # type of the node of record numbers, see `log_node`
    cdef object resolve_timestamp, encode_float, path
    cdef bytes root         # the key of the root that the timestamp key is below
    cdef readonly int64_t records
    cdef readonly int64_t losses
    cdef public int64_t size
    # What was built: `EncName`s, `EncNode`s, the bytes of keys, `EncTable`s; and to find it, hash tables (`..._slots`:
    # u32, the number plus 1; `..._mask`: their size minus 1) and `EncShape`s with their node ids.
    cdef EncBuf names, nodes, keys, name_slots, tables, shapes, shape_ids, shape_slots
    cdef size_t num_names, num_nodes, name_mask, num_tables, num_shapes, shape_mask, last_shape
    cdef EncDictionary variables, log_types, array_types
    cdef EncKnown known_log_types, known_array_types
    cdef EncDictionary schemas  # of each table: the number of ordered entries, then all entries, as i32
    # The current record: `EncToken`s; unescaped strings; open containers for `scan`, and for `resolve` (`EncFrame`s);
    # its schema, and the tokens with columns (see `resolve`).
    cdef EncBuf tape, scratch, stack, frames, ordered, unordered, ordered_tokens, unordered_tokens
    cdef EncBuf text, sorted_ids    # scratch space: a log type, or ranks of columns; the entries of a schema
    cdef size_t num_tokens
    cdef size_t most_tokens # of any record so far
    cdef int32_t first_root # the name that a record began with last time: a guess, as `EncNode.first`
    cdef int64_t record_serial, object_serial   # the numbers of records and objects, for `stamp` of names and nodes
    cdef EncProgram programs[ENC_MAX_PROGRAMS]  # the last patterns of times in strings
    cdef int num_programs, last_program
    cdef int64_t unit_patterns[4]   # pattern of integer times in seconds, milli-, micro-, nanoseconds; -1: not known
    cdef readonly bint saw_integer_time, saw_float_time
    cdef readonly int64_t time_min, time_max
    cdef readonly double float_time_min, float_time_max
    cdef const unsigned char* at    # what `scan` reads: the next byte, and the end
    cdef const unsigned char* end
    cdef int32_t log_node   # the node of record numbers (log_event_idx); -1: they are not stored
    cdef bint bad_token     # whether the document that stopped `feed` was scanned completely
    cdef bint busy          # whether a thread is in `feed`
    cdef int64_t max_document
    cdef uint8_t token_class[256]   # `enc_token_class` for the dialect
    cdef EncMaps maps
    cdef EncPending[ENC_PENDING] pending    # variables that wait, see `put_variable`
    cdef unsigned char[ENC_PENDING * ENC_SHORT] pending_texts
    cdef size_t num_pending, pending_size
    cdef object spilled     # the `SpillFile` with parts of columns, if any were moved
    cdef object taken_by    # the encoder that absorbed the records of this one, see absorb.pxi

    def __cinit__(self, *, bint core, bint structurize, bint retain_floats, bint time_nodes, bint lossy,
                  int64_t max_document, log_order_type, path, resolve_timestamp, encode_float, bytes root=b""):
        cdef int32_t metadata
        self.core = core
        self.structurize = structurize
        self.retain_floats = retain_floats
        self.time_nodes = time_nodes
        self.lossy = lossy
        self.max_document = max_document
        self.path = tuple(path)
        self.root = root
        self.resolve_timestamp = resolve_timestamp
        self.encode_float = encode_float
        self.first_root = -1
        self.log_node = -1
        for i in range(4):
            self.unit_patterns[i] = -1
        memcpy(self.token_class, enc_token_class, 256)
        if not core:
            self.token_class[c'/'] = BYTE_SIGN  # part of tokens in the older dialect
        if log_order_type is not None:  # the first two nodes: a root for metadata, and in it the number of the record
            metadata = self.node_of(-1, -1, b"", 0, N_METADATA, NULL)
            self.log_type = log_order_type
            self.log_node = self.node_of(metadata, -1, b"log_event_idx", 13, log_order_type, NULL)

    def __dealloc__(self):
        cdef size_t i
        cdef int j
        cdef EncTable* table
        for i in range(self.num_tables):
            table = &(<EncTable*>self.tables.p)[i]
            for j in range(table.num_columns):
                enc_buf_free(&table.columns[j].a)
                enc_buf_free(&table.columns[j].b)
                if table.columns[j].moved != NULL:
                    enc_buf_free(&table.columns[j].moved.a_parts)
                    enc_buf_free(&table.columns[j].moved.b_parts)
                    free(table.columns[j].moved)
            free(table.columns)
        enc_buf_free(&self.names)
        enc_buf_free(&self.nodes)
        enc_buf_free(&self.keys)
        enc_buf_free(&self.name_slots)
        enc_buf_free(&self.tables)
        enc_buf_free(&self.shapes)
        enc_buf_free(&self.shape_ids)
        enc_buf_free(&self.shape_slots)
        enc_buf_free(&self.tape)
        enc_buf_free(&self.scratch)
        enc_buf_free(&self.stack)
        enc_buf_free(&self.frames)
        enc_buf_free(&self.ordered)
        enc_buf_free(&self.unordered)
        enc_buf_free(&self.ordered_tokens)
        enc_buf_free(&self.unordered_tokens)
        enc_buf_free(&self.text)
        enc_buf_free(&self.sorted_ids)
        enc_dictionary_free(&self.variables)
        enc_dictionary_free(&self.log_types)
        enc_dictionary_free(&self.array_types)
        enc_dictionary_free(&self.schemas)
        enc_known_free(&self.known_log_types)
        enc_known_free(&self.known_array_types)
        enc_buf_free(&self.maps.nodes)
        for j in range(3):
            enc_buf_free(&self.maps.entries[j])
            enc_buf_free(&self.maps.marks[j])
            enc_buf_free(&self.maps.ends[j])

    # --- scanning ---

    cdef int scan_string(self, const unsigned char** text, size_t* size, uint8_t* flags, bint keep) except -1 nogil:
        """Scan the string whose opening quote is just before `at`; `at` moves past the closing one, or to the fault.

        `text` and `size` are set to the unescaped string: in the input, or, if it has escapes, in `scratch`, where it
        stays if `keep` is set.  A lone surrogate is replaced, and noted in `flags`.  Return 0, or the reason (`E_...`).

        E_MORE where the fault may be that the input ends: in a character (fewer than 4 bytes are left) or an escape.
        """
        cdef const unsigned char* p = self.at
        cdef const unsigned char* start = p
        cdef const unsigned char* copied
        cdef unsigned char* out
        cdef unsigned char c
        cdef int n, code, low
        while True:
            while not enc_string_class[p[0]]:  # a byte that stands for itself
                p += 1
            c = p[0]
            if c == c'"':
                text[0] = start
                size[0] = p - start
                self.at = p + 1
                return 0
            if c >= 0x80:
                n = enc_utf8_length(p)
                if n == 0:
                    self.at = p
                    return E_MORE if self.end - p < 4 else E_BAD_UTF8
                p += n
                continue
            if c == c'\\':
                break
            self.at = p
            return E_MORE if p >= self.end else E_BAD_CONTROL
        # With escapes: the rest goes through scratch memory, which is large enough for a whole input buffer.
        out = self.scratch.p + self.scratch.n
        text[0] = out
        copied = start
        while True:
            c = p[0]
            if not enc_string_class[c]:
                p += 1
            elif c >= 0x80:
                n = enc_utf8_length(p)
                if n == 0:
                    self.at = p
                    return E_MORE if self.end - p < 4 else E_BAD_UTF8
                p += n
            elif c == c'\\':  # copy the text before it, then what it stands for
                memcpy(out, copied, p - copied)
                out += p - copied
                c = p[1]
                p += 2
                if c == c'n':
                    out[0] = 0x0A
                elif c == c't':
                    out[0] = 0x09
                elif c == c'"' or c == c'\\' or c == c'/':
                    out[0] = c
                elif c == c'r':
                    out[0] = 0x0D
                elif c == c'b':
                    out[0] = 0x08
                elif c == c'f':
                    out[0] = 0x0C
                elif c == c'u':
                    code = enc_hex4(p)
                    if code < 0:
                        self.at = p
                        return E_MORE if self.end - p < 4 else E_BAD_ESCAPE
                    p += 4
                    # A surrogate: the other one of its pair follows, or it is replaced.
                    if 0xD800 <= code <= 0xDFFF:
                        low = -1
                        if code < 0xDC00 and p[0] == c'\\' and p[1] == c'u':
                            low = enc_hex4(p + 2)
                            if low < 0:
                                self.at = p
                                return E_MORE if self.end - p < 6 else E_BAD_ESCAPE
                        if 0xDC00 <= low <= 0xDFFF:
                            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
                            p += 6
                        elif code < 0xDC00 and self.end - p < 6 and (p >= self.end or p[0] == c'\\'):
                            # The second half of a pair may follow.
                            self.at = p
                            return E_MORE
                        else:
                            flags[0] |= F_SURROGATE
                            code = 0xFFFD
                    out += enc_put_utf8(out, code) - 1  # its last byte is counted below
                else:
                    self.at = p
                    return E_MORE if p > self.end else E_BAD_ESCAPE  # `p` is past the letter, which may be missing
                out += 1
                copied = p
            elif c == c'"':
                memcpy(out, copied, p - copied)
                out += p - copied
                size[0] = out - text[0]
                self.at = p + 1
                if keep:
                    self.scratch.n += size[0]
                return 0
            else:
                self.at = p
                return E_MORE if p >= self.end else E_BAD_CONTROL

    cdef int scan_number(self, EncToken* token) except -1 nogil:
        """Scan a number into `token`: its source text, and the value of an integer. Returns 0 or the fault."""
        cdef const unsigned char* p = self.at
        cdef const unsigned char* start = p
        cdef bint negative = p[0] == c'-'
        cdef bint is_float = False
        cdef uint64_t value = 0
        cdef int digits = 0
        if negative:
            p += 1
        if not c'0' <= p[0] <= c'9':
            self.at = p
            return E_MORE if p >= self.end else E_BAD_NUMBER
        if p[0] == c'0':
            p += 1
            if c'0' <= p[0] <= c'9':
                self.at = p
                return E_BAD_NUMBER
        else:
            while c'0' <= p[0] <= c'9':
                if digits < 19:
                    value = value * 10 + (p[0] - c'0')
                elif digits == 19:
                    # 2^64 - 1 is this number and the digit 5.
                    if value > <uint64_t>1844674407370955161 or (value == <uint64_t>1844674407370955161 and p[0] > c'5'):
                        token.flags |= F_ABOVE_U64
                    value = value * 10 + (p[0] - c'0')
                else:
                    token.flags |= F_ABOVE_U64
                digits += 1
                p += 1
        # A fraction, and an exponent.
        if p[0] == c'.':
            is_float = True
            p += 1
            if not c'0' <= p[0] <= c'9':
                self.at = p
                return E_MORE if p >= self.end else E_BAD_NUMBER
            while c'0' <= p[0] <= c'9':
                p += 1
        if p[0] == c'e' or p[0] == c'E':
            is_float = True
            p += 1
            if p[0] == c'+' or p[0] == c'-':
                p += 1
            if not c'0' <= p[0] <= c'9':
                self.at = p
                return E_MORE if p >= self.end else E_BAD_NUMBER
            while c'0' <= p[0] <= c'9':
                p += 1
        self.at = p
        token.text = start
        token.size = p - start
        if is_float:
            token.kind = T_FLOAT
            token.flags &= ~(F_ABOVE_U64 | F_ABOVE_I64)
            return 0
        token.kind = T_INTEGER
        if negative:
            if value > <uint64_t>1 << 63:  # below the smallest int64: rejected in any case
                token.flags |= F_ABOVE_U64
            token.number = <int64_t>(0 - value)
        else:
            if value > <uint64_t>INT64_MAX:
                token.flags |= F_ABOVE_I64
            token.number = <int64_t>value
        return 0

    cdef inline EncToken* new_token(self) except NULL nogil:
        """Append a token to the tape, with zeros in all fields; this may move earlier tokens in memory."""
        enc_buf_room(&self.tape, sizeof(EncToken))
        cdef EncToken* token = &(<EncToken*>self.tape.p)[self.num_tokens]
        memset(token, 0, sizeof(EncToken))
        self.num_tokens += 1
        self.tape.n = self.num_tokens * sizeof(EncToken)
        return token

    cdef inline EncToken* keyed_token(self, const unsigned char* key, size_t size, uint8_t flags) except NULL nogil:
        """Append a token with its key (of `size` bytes; none in an array) and the flags of the key."""
        cdef EncToken* token = self.new_token()
        token.key = key
        token.key_size = size
        token.flags = flags
        return token

    cdef inline int scan_word(self, const char* word, Py_ssize_t size) noexcept nogil:
        """Move `at` past a word such as `true`; return 0, E_MORE if the input ends within it, or E_BAD_JSON."""
        if self.end - self.at < size:
            return E_MORE if memcmp(self.at, word, self.end - self.at) == 0 else E_BAD_JSON
        if memcmp(self.at, word, size) != 0:
            return E_BAD_JSON
        self.at += size
        return 0

    cdef int scan(self) except -1 nogil:
        """Scan one document from `at` on into tokens; `at` moves past it, or to the fault.

        Return 0, or the reason (`E_...`); E_MORE if the document does not end in the input.  The input ends with a NUL.
        Arrays that are stored as text (`structurize` is off) become one token: while `mute` is set, their content is
        checked, but yields no tokens.
        """
        cdef size_t depth = 0       # open objects and arrays; `stack` has a 1 for each that is an array
        cdef size_t mute = 0        # depth of the content of an array that is stored as text; 0: outside
        cdef const unsigned char* array_start = NULL
        cdef const unsigned char* key = NULL
        cdef size_t key_size = 0
        cdef const unsigned char* text
        cdef size_t size
        cdef uint8_t key_flags = 0
        cdef int state = SCAN_VALUE
        cdef int fault
        cdef unsigned char c
        cdef EncToken* token
        cdef EncToken muted         # what is scanned in such an array goes here, and is not used
        cdef size_t array_key_size = 0
        cdef const unsigned char* array_key = NULL
        cdef uint8_t array_flags = 0
        self.num_tokens = 0
        self.tape.n = 0
        self.scratch.n = 0
        self.stack.n = 0
        while True:
            while enc_is_space(self.at[0]):
                self.at += 1
            c = self.at[0]
            if c == 0 and self.at >= self.end:
                return E_MORE
            if self.num_tokens >= ENC_MAX_NODES:
                return E_FULL
            if state == SCAN_AFTER:
                if depth == 0:
                    return 0
                if self.stack.p[depth - 1] == 0:  # in an object: a comma, or its end
                    if c == c',':
                        self.at += 1
                        state = SCAN_KEY
                        continue
                    if c != c'}':
                        return E_BAD_JSON
                    self.at += 1
                    depth -= 1
                    self.stack.n -= 1
                    if not mute:
                        self.new_token().kind = T_CLOSE_OBJECT
                        if depth == 0:
                            return 0
                else:  # in an array
                    if c == c',':
                        self.at += 1
                        state = SCAN_VALUE
                        continue
                    if c != c']':
                        return E_BAD_JSON
                    self.at += 1
                    depth -= 1
                    self.stack.n -= 1
                    if not mute:
                        self.new_token().kind = T_CLOSE_ARRAY
                    elif depth == mute - 1:  # the array that is stored as text ends
                        mute = 0
                        token = self.keyed_token(array_key, array_key_size, array_flags)
                        token.kind = T_ARRAY_TEXT
                        token.text = array_start
                        token.size = self.at - array_start
                    if depth == 0:
                        return 0
                continue
            if state == SCAN_KEY:
                if c != c'"':
                    return E_BAD_JSON
                self.at += 1
                key_flags = 0
                fault = self.scan_string(&key, &key_size, &key_flags, not mute)
                if fault:
                    return fault
                while enc_is_space(self.at[0]):
                    self.at += 1
                if self.at[0] != c':':
                    return E_MORE if self.at >= self.end else E_BAD_JSON
                self.at += 1
                state = SCAN_VALUE
                continue
            # A value.
            if depth == 0 and c != c'{' and not (c == c'[' and self.lossy):
                return E_NOT_OBJECT
            if c == c'"':  # a string
                self.at += 1
                if mute:
                    fault = self.scan_string(&text, &size, &muted.flags, False)
                else:
                    token = self.keyed_token(key, key_size, key_flags)
                    token.kind = T_STRING
                    fault = self.scan_string(&token.text, &token.size, &token.flags, True)
                if fault:
                    return fault
            elif c == c'{' or c == c'[':
                if depth >= ENC_MAX_DEPTH:
                    return E_TOO_DEEP
                text = self.at
                self.at += 1
                while enc_is_space(self.at[0]):
                    self.at += 1
                if self.at[0] == c + 2:  # the closing bracket, two codes above, follows: an empty object or array
                    self.at += 1
                    if not mute:
                        token = self.keyed_token(key, key_size, key_flags)
                        if c == c'{':
                            token.kind = T_EMPTY_OBJECT
                        elif self.structurize:
                            token.kind = T_EMPTY_ARRAY
                        else:
                            token.kind = T_ARRAY_TEXT
                            token.text = text
                            token.size = self.at - text
                    if depth == 0:
                        return 0
                    state = SCAN_AFTER
                    key_size = 0  # as below: the next value has no key, unless one is scanned
                    key_flags = 0
                    continue
                if self.at >= self.end:
                    return E_MORE
                if not mute:
                    if c == c'[' and not self.structurize:
                        mute = depth + 1  # its key is kept for the token, which is added at its end
                        array_start = text
                        array_key = key
                        array_key_size = key_size
                        array_flags = key_flags
                    else:
                        token = self.keyed_token(key, key_size, key_flags)
                        token.kind = T_OPEN_OBJECT if c == c'{' else T_OPEN_ARRAY
                enc_buf_room(&self.stack, 1)
                self.stack.p[depth] = c == c'['
                self.stack.n += 1
                depth += 1
                state = SCAN_KEY if c == c'{' else SCAN_VALUE
                key_size = 0
                key_flags = 0
                continue
            elif c == c'-' or c'0' <= c <= c'9':  # a number
                if mute:
                    muted.flags = 0
                    fault = self.scan_number(&muted)
                else:
                    token = self.keyed_token(key, key_size, key_flags)
                    fault = self.scan_number(token)
                if fault:
                    return fault
                if self.at >= self.end:
                    return E_MORE     # more digits may follow
            else:
                fault = self.scan_word(b"true", 4) if c == c't' else self.scan_word(b"false", 5) if c == c'f' else \
                    self.scan_word(b"null", 4)
                if fault:
                    return fault
                if not mute:
                    token = self.keyed_token(key, key_size, key_flags)
                    token.kind = T_TRUE if c == c't' else T_FALSE if c == c'f' else T_NULL
                    token.number = c == c't'
            key_size = 0  # the next value has no key, unless one is scanned
            key_flags = 0
            state = SCAN_AFTER

    # --- the schema tree ---

    cdef int names_grow(self) except -1 nogil:
        """Double the slots of the names of keys, and put the names into the new ones."""
        cdef size_t size = (self.name_mask + 1) * 2 if self.name_slots.n else 64
        cdef EncBuf slots
        cdef size_t i, at
        memset(&slots, 0, sizeof(EncBuf))
        enc_buf_room(&slots, size * sizeof(uint32_t))
        memset(slots.p, 0, size * sizeof(uint32_t))
        slots.n = size * sizeof(uint32_t)
        for i in range(self.num_names):
            at = (<EncName*>self.names.p)[i].hash & (size - 1)
            while (<uint32_t*>slots.p)[at]:
                at = (at + 1) & (size - 1)
            (<uint32_t*>slots.p)[at] = <uint32_t>(i + 1)
        enc_buf_free(&self.name_slots)
        self.name_slots = slots
        self.name_mask = size - 1
        return 0

    cdef int32_t name_of(self, int32_t parent, int32_t previous, const unsigned char* key, size_t size) except -1 nogil:
        """The number of the name for a key below the node `parent` (-1: a root), added if it is new.

        `previous`: the name of the member before it in the same object, -1 if there is none.  The name that followed
        that one last time is tried first, since most records have the same keys in the same order.
        """
        cdef EncName* names = <EncName*>self.names.p
        cdef EncName* name
        cdef int32_t guess
        if previous >= 0:
            guess = names[previous].next
        elif parent >= 0:
            guess = (<EncNode*>self.nodes.p)[parent].first
        else:
            guess = self.first_root
        if guess >= 0:
            name = &names[guess]
            if name.key_size == size and name.parent == parent and same_bytes(self.keys.p + name.key, key, size):
                return guess
        # Search the hash table, of whose slots at most 67% are used.
        if self.name_slots.n == 0 or self.num_names * 3 >= self.name_mask * 2:
            self.names_grow()
        # The parent is mixed in, multiplied by the golden ratio, because many parents have the same keys.
        cdef uint64_t hash = enc_hash_bytes(key, size) ^ (<uint64_t>(parent + 2) * <uint64_t>0x9E3779B97F4A7C15)
        cdef size_t at = hash & self.name_mask
        cdef uint32_t slot
        cdef int32_t found = -1
        cdef int i
        while True:
            slot = (<uint32_t*>self.name_slots.p)[at]
            if slot == 0:
                break
            name = &names[slot - 1]
            if name.hash == hash and name.parent == parent and name.key_size == size \
                    and same_bytes(self.keys.p + name.key, key, size):
                found = slot - 1
                break
            at = (at + 1) & self.name_mask
        # A new name, without nodes; it may be on the path of the timestamp key if its parent is.
        if found < 0:
            found = <int32_t>self.num_names
            enc_buf_room(&self.names, sizeof(EncName))
            name = &(<EncName*>self.names.p)[found]
            memset(name, 0, sizeof(EncName))
            for i in range(N_NODE_TYPES):
                name.nodes[i] = -1
            name.parent = parent
            name.next = -1
            name.hash = hash
            name.key = self.keys.n
            name.key_size = size
            enc_buf_put(&self.keys, key, size)
            self.num_names += 1
            self.names.n = self.num_names * sizeof(EncName)
            (<uint32_t*>self.name_slots.p)[at] = <uint32_t>(found + 1)
            if parent >= 0 and (<EncNode*>self.nodes.p)[parent].path >= 0:
                self.mark_time_name(found)
        # The guess for the next time.
        if previous >= 0:
            (<EncName*>self.names.p)[previous].next = found
        elif parent >= 0:
            (<EncNode*>self.nodes.p)[parent].first = found
        else:
            self.first_root = found
        return found

    cdef int mark_time_name(self, int32_t index) except -1 nogil:
        """Set `time_key` of a new name whose parent is on the path of the timestamp key."""
        with gil:
            name = &(<EncName*>self.names.p)[index]
            depth = (<EncNode*>self.nodes.p)[name.parent].path
            if depth < len(self.path) and self.path[depth] == bytes_of(<char*>self.keys.p + name.key, name.key_size):
                name.time_key = TIME_KEY_LAST if depth == len(self.path) - 1 else TIME_KEY_INNER
        return 0

    cdef int32_t typed_node(self, int32_t index, uint8_t type) except -1 nogil:
        """The node of a name and a type, added if it is new."""
        cdef EncName* name = &(<EncName*>self.names.p)[index]
        cdef int32_t found = name.nodes[type]
        cdef EncNode* node
        if found >= 0:
            return found
        found = <int32_t>self.num_nodes
        enc_buf_room(&self.nodes, sizeof(EncNode))
        node = &(<EncNode*>self.nodes.p)[found]
        memset(node, 0, sizeof(EncNode))
        node.parent = name.parent
        node.name = index
        node.first = -1
        node.type = type
        node.path = -1
        if type == N_OBJECT:
            if name.parent < 0:
                node.path = 0 if self.is_time_root(name) else -1
            elif name.time_key:
                node.path = (<EncNode*>self.nodes.p)[name.parent].path + 1
        self.num_nodes += 1
        self.nodes.n = self.num_nodes * sizeof(EncNode)
        name.nodes[type] = found
        return found

    cdef bint is_time_root(self, EncName* name) noexcept nogil:
        """Whether the name of a root is the one that the timestamp key is below."""
        cdef size_t size
        with gil:
            size = len(self.root)
            return name.key_size == size and same_bytes(self.keys.p + name.key, <char*>self.root, size)

    cdef int32_t node_of(self, int32_t parent, int32_t previous, const unsigned char* key, size_t size, uint8_t type,
                         int32_t* name) except -1 nogil:
        """The node for a key and a type, added if it is new; `name` is set to its name, unless it is NULL.

        The first four arguments are those of `name_of`.
        """
        cdef int32_t index = self.name_of(parent, previous, key, size)
        if name != NULL:
            name[0] = index
        return self.typed_node(index, type)

    cdef int undo(self, size_t num_names, size_t num_nodes) except -1 nogil:
        """Remove the names and nodes that a rejected record added: all but the first `num_names` and `num_nodes`.

        The latest name comes first, because its slot of the hash table is the last one that any search passes.
        """
        cdef EncName* name
        cdef EncNode* node
        cdef size_t i, at
        while self.num_nodes > num_nodes:
            self.num_nodes -= 1
            node = &(<EncNode*>self.nodes.p)[self.num_nodes]
            (<EncName*>self.names.p)[node.name].nodes[node.type] = -1
        self.nodes.n = num_nodes * sizeof(EncNode)
        if self.num_names == num_names:
            return 0
        while self.num_names > num_names:
            self.num_names -= 1
            name = &(<EncName*>self.names.p)[self.num_names]
            at = name.hash & self.name_mask
            while (<uint32_t*>self.name_slots.p)[at] != self.num_names + 1:
                at = (at + 1) & self.name_mask
            (<uint32_t*>self.name_slots.p)[at] = 0
            self.keys.n = name.key
        self.names.n = num_names * sizeof(EncName)
        # Guesses may name removed ones.
        for i in range(num_names):
            name = &(<EncName*>self.names.p)[i]
            if name.next >= <int32_t>num_names:
                name.next = -1
        for i in range(num_nodes):
            node = &(<EncNode*>self.nodes.p)[i]
            if node.first >= <int32_t>num_names:
                node.first = -1
        if self.first_root >= <int32_t>num_names:
            self.first_root = -1
        return 0

    # --- resolving a record: the node of each token, the type of its value, and from these the schema ---

    cdef int float_value(self, EncToken* token) except -1 nogil:
        """Set the bits of the double, the node type and the format word of a float. Returns 0 or the fault."""
        cdef const unsigned char* p = token.text
        cdef const unsigned char* end = p + token.size
        cdef uint64_t mantissa = 0
        cdef int digits = 0         # all digits
        cdef int significant = 0    # those from the first that is not 0 on
        cdef int point = 0          # those after the point
        cdef bint negative = False, after_point = False
        cdef double value
        if p[0] == c'-':
            negative = True
            p += 1
        # Plain decimals of at most 15 digits are exact in one division, and always print as written.
        while p < end:
            if p[0] == c'.':
                after_point = True
            elif c'0' <= p[0] <= c'9':
                digits += 1
                if significant or p[0] != c'0':
                    significant += 1
                if significant > 15:
                    break
                mantissa = mantissa * 10 + (p[0] - c'0')
                point += after_point
            else:
                break
            p += 1
        # Powers of ten are exact up to 10^22; a zero keeps all of its digits, and a format word states at most 17.
        if p == end and point <= 22 and digits <= 17:
            value = <double>mantissa / enc_powers_of_ten[point]
            if negative:
                value = -value
            memcpy(&token.number, &value, sizeof(value))
            if not self.retain_floats:
                token.type = N_FLOAT
            else:
                token.type = N_FORMATTED_FLOAT
                # Zero has no significant digit: all of its digits are printed.
                token.word = <uint16_t>(((significant if significant else digits) - 1)
                                         << CLP_S_TABLE_FLOAT_FORMAT_SHIFT_NUM_SIGNIFICANT_DIGITS)
            return 0
        return self.odd_float(token)

    cdef int odd_float(self, EncToken* token) except -1 nogil:
        """Do what `float_value` does, for a float with an exponent or many digits: Python finds its value and format.

        A function of its own, because one with Python objects takes the interpreter's lock whenever it returns.
        """
        cdef double value
        with gil:
            text = bytes_of(<char*>token.text, token.size)
            value = float(text)
            memcpy(&token.number, &value, sizeof(value))
            if value - value != 0:  # infinite
                return E_BIG_FLOAT
            if not self.retain_floats:
                token.type = N_FLOAT
            else:
                encoded = self.encode_float(text)  # (value, format word); None if no word brings back the text
                if encoded is None:
                    token.type = N_DICTIONARY_FLOAT
                else:
                    token.type = N_FORMATTED_FLOAT
                    token.word = encoded[1]
        return 0

    cdef int call_timestamp(self, EncToken* token, bint quoted) except -1 nogil:
        """Have Python parse a timestamp: ENC_IS_TIME if it is stored as one, ENC_NOT_TIME if as another value, or the fault.

        `quoted`: whether it is a JSON string, not a number.  For a string, Python also returns a program that parses
        strings of the same pattern here (`enc_run_program`). It is kept for the next ones; of `ENC_MAX_PROGRAMS`, it
        replaces the one after the last used.
        """
        cdef int slot
        with gil:
            answer = self.resolve_timestamp(bytes_of(<char*>token.text, token.size), quoted)
            if answer is None:
                return E_BAD_TIMESTAMP
            epoch, pattern, program, loss = answer  # see `ResolvedTime` of encoder.py
            if loss:
                token.flags |= F_LOSS
            if pattern < 0:  # it has no known form
                return ENC_NOT_TIME
            token.number = epoch
            token.pattern = pattern
            if program is not None:
                steps, offset = program
                if len(steps) <= ENC_PROGRAM_SIZE:
                    slot = self.num_programs if self.num_programs < ENC_MAX_PROGRAMS else \
                        (self.last_program + 1) % ENC_MAX_PROGRAMS
                    if self.num_programs < ENC_MAX_PROGRAMS:
                        self.num_programs += 1
                    memcpy(self.programs[slot].steps, bytes_text(steps), PyBytes_GET_SIZE(steps))
                    self.programs[slot].size = <int>PyBytes_GET_SIZE(steps)
                    self.programs[slot].offset = offset
                    self.programs[slot].pattern = pattern
                    self.last_program = slot
        return ENC_IS_TIME

    cdef int timestamp_value(self, EncToken* token) except -1 nogil:
        """Turn a value of the timestamp key into an epoch and a pattern.

        Return ENC_IS_TIME if it is stored as a time, ENC_NOT_TIME if as an ordinary value, or the fault.
        """
        cdef int i, slot, unit, outcome
        cdef int64_t scale          # nanoseconds per unit
        cdef uint64_t magnitude, thousand_years = <uint64_t>1000 * ENC_YEAR
        # A string: by the patterns that matched before, the last one first, else by the callback.
        if token.kind == T_STRING:
            for i in range(self.num_programs):
                slot = (self.last_program + i) % self.num_programs
                if enc_run_program(&self.programs[slot], token.text, token.size, not self.time_nodes, &token.number):
                    token.pattern = self.programs[slot].pattern
                    self.last_program = slot
                    return ENC_IS_TIME
            return self.call_timestamp(token, True)
        if not self.time_nodes:  # numbers are times from 0.5.0 on only
            return ENC_NOT_TIME
        if token.kind == T_FLOAT:
            return self.call_timestamp(token, False)
        if token.flags & F_ABOVE_I64:  # no time has such a number
            return E_BAD_TIMESTAMP
        magnitude = <uint64_t>token.number if token.number >= 0 else 0 - <uint64_t>token.number
        # An integer: seconds, unless that is more than 1000 years; then milliseconds, by the same bound, and so on (see
        # `epoch_unit`).  `unit` is an index of `unit_patterns`.
        if magnitude > thousand_years * 1000000:
            unit, scale = 3, 1
        elif magnitude > thousand_years * 1000:
            unit, scale = 2, 1000
        elif magnitude > thousand_years:
            unit, scale = 1, 1000000
        else:
            unit, scale = 0, 1000000000
        # Python finds the pattern of the first integer of a unit, and decides about those that are out of range or -0.
        if self.unit_patterns[unit] < 0 or magnitude > <uint64_t>INT64_MAX // <uint64_t>scale or \
                (token.number == 0 and token.text[0] == c'-'):
            outcome = self.call_timestamp(token, False)
            # The pattern of -0 is not that of others.
            if outcome == ENC_IS_TIME and not (token.number == 0 and token.size > 1):
                self.unit_patterns[unit] = token.pattern
            return outcome
        token.number *= scale
        token.pattern = self.unit_patterns[unit]
        return ENC_IS_TIME

    cdef int resolve(self) except -1 nogil:
        """Find the node of every token, and the entries of the record's schema. Returns 0, or the fault.

        Values in objects only are ordered entries: their nodes go to `ordered`, and those with a column to
        `ordered_tokens` (by the number of the token). Values in arrays go to `unordered` and `unordered_tokens`, with a
        marker before those of each container, which has its type and the number of entries in it.
        """
        cdef size_t i
        cdef EncToken* token
        cdef EncFrame* frame
        cdef EncName* name
        cdef EncNode* node
        cdef int32_t index, found, previous, parent
        cdef int64_t depth = -1     # index of the innermost frame
        cdef uint8_t type
        cdef int outcome
        cdef bint in_array, repeated = False
        cdef int32_t marker
        self.record_serial += 1
        self.ordered.n = 0
        self.unordered.n = 0
        self.ordered_tokens.n = 0
        self.unordered_tokens.n = 0
        self.frames.n = 0
        if self.log_node >= 0:
            enc_buf_i32(&self.ordered, self.log_node)
        for i in range(self.num_tokens):
            token = &(<EncToken*>self.tape.p)[i]
            if token.kind == T_CLOSE_OBJECT or token.kind == T_CLOSE_ARRAY:
                frame = &(<EncFrame*>self.frames.p)[depth]
                if frame.marker >= 0:  # the entries after it are known now: write their number and the container's type
                    marker = <int32_t>((self.unordered.n >> 2) - frame.marker - 1)
                    if marker >= ENC_MAX_NODES:
                        return E_TOO_LARGE
                    marker |= (N_STRUCTURED_ARRAY if frame.is_array else N_OBJECT) << CLP_S_SCHEMA_IDS_ENTRY_SHIFT_CONTAINER_TYPE
                    memcpy(self.unordered.p + frame.marker * sizeof(marker), &marker, sizeof(marker))
                depth -= 1
                continue
            if token.flags & F_SURROGATE:
                if not self.lossy:
                    return E_BAD_SURROGATE
            # The name of the value: of a key in an object; all elements of an array have the same.
            if depth < 0:
                frame = NULL
                parent = -1
                previous = -1
                in_array = False
            else:
                frame = &(<EncFrame*>self.frames.p)[depth]
                parent = frame.node
                previous = -1 if frame.is_array else frame.previous
                in_array = frame.in_array
            index = self.name_of(parent, previous, token.key, token.key_size)
            name = &(<EncName*>self.names.p)[index]
            if frame != NULL and not frame.is_array:
                if name.stamp == frame.stamp:
                    if not self.lossy:
                        return E_DUPLICATE_KEY
                    token.flags |= F_REPEATED
                name.stamp = frame.stamp
                frame.previous = index
            # The type of its node; `outcome`: ENC_NOT_TIME, ENC_IS_TIME or the fault.
            outcome = ENC_NOT_TIME
            if token.kind == T_STRING:
                type = enc_string_type(token.text, token.size)
                if name.time_key == TIME_KEY_LAST and not in_array:
                    outcome = self.timestamp_value(token)
                    if outcome == ENC_IS_TIME:
                        type = N_TIMESTAMP if self.time_nodes else N_DATE_STRING
            elif token.kind == T_INTEGER:
                if token.flags & F_ABOVE_U64 or (token.flags & F_ABOVE_I64 and not self.lossy):
                    return E_BIG_INTEGER
                type = N_INTEGER
                if name.time_key == TIME_KEY_LAST and not in_array:
                    outcome = self.timestamp_value(token)
                    if outcome == ENC_IS_TIME:
                        type = N_TIMESTAMP
            elif token.kind == T_FLOAT:
                if name.time_key == TIME_KEY_LAST and not in_array and self.time_nodes:
                    outcome = self.timestamp_value(token)
                    type = N_TIMESTAMP
                if outcome == ENC_NOT_TIME:
                    outcome = self.float_value(token)  # 0, which is ENC_NOT_TIME, or the fault
                    type = token.type
                name = &(<EncName*>self.names.p)[index]  # Python code may have run: do not use the old address
            elif token.kind == T_TRUE or token.kind == T_FALSE:
                type = N_BOOLEAN
            elif token.kind == T_NULL:
                type = N_NULL_VALUE
            elif token.kind == T_ARRAY_TEXT:
                type = N_UNSTRUCTURED_ARRAY
            elif token.kind == T_OPEN_OBJECT or token.kind == T_EMPTY_OBJECT:
                type = N_OBJECT
            else:
                type = N_STRUCTURED_ARRAY
            if outcome > ENC_IS_TIME:
                return outcome
            found = self.typed_node(index, type)
            token.node = found
            token.type = type
            if outcome == ENC_IS_TIME:
                token.kind = T_TIMESTAMP
            # A container with members or elements: they follow, up to its closing token.
            if token.kind == T_OPEN_OBJECT or token.kind == T_OPEN_ARRAY:
                depth += 1
                self.frames.n = depth * sizeof(EncFrame)
                enc_buf_room(&self.frames, sizeof(EncFrame))
                frame = &(<EncFrame*>self.frames.p)[depth]
                self.object_serial += 1
                frame.node = found
                frame.previous = -1
                frame.stamp = self.object_serial
                frame.is_array = token.kind == T_OPEN_ARRAY
                frame.in_array = in_array or frame.is_array
                frame.marker = -1
                # Arrays have a marker, and objects that are elements of one.
                if frame.is_array or (depth > 0 and (<EncFrame*>self.frames.p)[depth - 1].is_array):
                    frame.marker = self.unordered.n >> 2
                    enc_buf_i32(&self.unordered, 0)
                continue
            if in_array or token.kind == T_EMPTY_ARRAY:
                enc_buf_i32(&self.unordered, found)
                if type != N_OBJECT and type != N_STRUCTURED_ARRAY and type != N_NULL_VALUE:
                    enc_buf_i32(&self.unordered_tokens, <int32_t>i)
                continue
            node = &(<EncNode*>self.nodes.p)[found]
            if node.stamp == self.record_serial:
                repeated = True  # only if lossy: otherwise the name was rejected above
            node.stamp = self.record_serial
            enc_buf_i32(&self.ordered, found)
            if type != N_OBJECT and type != N_NULL_VALUE:
                enc_buf_i32(&self.ordered_tokens, <int32_t>i)
        if repeated:
            self.keep_last()
        return 0

    cdef int keep_last(self) noexcept nogil:
        """Keep only the last of each ordered node that the record has twice: a table cannot have two such columns.

        Both arrays are filled from their ends backwards, and then moved to their starts.
        """
        cdef int32_t* nodes = <int32_t*>self.ordered.p
        cdef int32_t* tokens = <int32_t*>self.ordered_tokens.p
        cdef size_t i = self.ordered.n >> 2, j = self.ordered_tokens.n >> 2
        cdef size_t to = i, token_to = j
        cdef size_t first = 1 if self.log_node >= 0 else 0  # it has a column, but no token
        cdef EncNode* node
        self.record_serial += 1
        while i > first:
            i -= 1
            node = &(<EncNode*>self.nodes.p)[nodes[i]]
            if self.has_column(nodes[i]):
                j -= 1
                if node.stamp != self.record_serial:
                    token_to -= 1
                    tokens[token_to] = tokens[j]
            if node.stamp != self.record_serial:
                to -= 1
                nodes[to] = nodes[i]
            node.stamp = self.record_serial
        if first:
            to -= 1
            nodes[to] = nodes[0]
        self.ordered.n -= to * sizeof(int32_t)
        self.ordered_tokens.n -= token_to * sizeof(int32_t)
        memmove(nodes, nodes + to, self.ordered.n)
        memmove(tokens, tokens + token_to, self.ordered_tokens.n)
        return 0

    # --- records of KV-IR streams, whose keys have been resolved already ---

    cdef int leaves_begin(self) except -1 nogil:
        """Begin a record, to which `leaf` adds the values."""
        self.record_serial += 1
        self.ordered.n = self.unordered.n = self.ordered_tokens.n = self.unordered_tokens.n = 0
        self.num_tokens = 0
        if self.log_node >= 0:
            enc_buf_i32(&self.ordered, self.log_node)
        return 0

    cdef int leaf(self, int32_t index, EncToken* token, int32_t known) except -1 nogil:
        """Add a value whose token has a type. `index` is its name, `known` its node, negative if that is not known.

        Sets the node of the token. Returns 0 or the fault.
        """
        cdef EncName* name = &(<EncName*>self.names.p)[index]
        cdef int outcome = ENC_NOT_TIME
        if name.time_key == TIME_KEY_LAST and token.kind <= T_FLOAT:  # a string, an integer or a float
            outcome = self.timestamp_value(token)
            if outcome > ENC_IS_TIME:
                return outcome
            if outcome == ENC_IS_TIME:
                token.type = N_TIMESTAMP if self.time_nodes else N_DATE_STRING
                token.kind = T_TIMESTAMP
        token.node = known if known >= 0 and outcome == ENC_NOT_TIME else self.typed_node(index, token.type)
        enc_buf_room(&self.tape, (self.num_tokens + 1) * sizeof(EncToken))
        (<EncToken*>self.tape.p)[self.num_tokens] = token[0]
        enc_buf_i32(&self.ordered, token.node)
        if token.type != N_OBJECT and token.type != N_NULL_VALUE:
            enc_buf_i32(&self.ordered_tokens, <int32_t>self.num_tokens)
        self.num_tokens += 1
        return 0

    cdef bint leaves_fit(self, size_t count) noexcept nogil:
        """Whether ids are left for a record that makes this many nodes and log types at most."""
        return self.num_nodes + count < ENC_MAX_NODES and self.log_types.count + count < ENC_MAX_LOG_TYPES \
            and self.array_types.count + count < ENC_MAX_LOG_TYPES

    # --- schemas: a shape is the list of nodes of a record in the order of its values; records of several shapes can
    # --- have the same schema, and so the same table ---

    cdef inline bint has_shape(self, EncShape* shape) noexcept nogil:
        """Whether the record just resolved has this shape."""
        return <size_t>shape.num_ordered * sizeof(int32_t) == self.ordered.n \
            and <size_t>shape.num_unordered * sizeof(int32_t) == self.unordered.n \
            and same_bytes(self.shape_ids.p + shape.ids, self.ordered.p, self.ordered.n) \
            and same_bytes(self.shape_ids.p + shape.ids + self.ordered.n, self.unordered.p, self.unordered.n)

    cdef int64_t shape_of(self) except -1 nogil:
        """The shape of the record just resolved, added if it is new."""
        cdef uint64_t hash
        cdef size_t at
        cdef uint32_t slot
        cdef EncShape* shape
        if self.last_shape < self.num_shapes and self.has_shape(&(<EncShape*>self.shapes.p)[self.last_shape]):
            return <int64_t>self.last_shape
        hash = enc_hash_bytes(self.ordered.p, self.ordered.n) * 31 + enc_hash_bytes(self.unordered.p, self.unordered.n)
        # A full table is emptied: its shapes only save time.
        if self.num_shapes >= ENC_MAX_SHAPES or self.shape_ids.n > ENC_MAX_SHAPE_BYTES:
            self.num_shapes = 0
            self.shapes.n = 0
            self.shape_ids.n = 0
            self.shape_slots.n = 0
        # The hash table starts small and grows once to its full size; one that was emptied begins with that.
        if self.shape_slots.n == 0:
            self.make_shape_slots(ENC_MAX_SHAPES * 2 if self.shape_slots.cap > ENC_FIRST_SHAPE_SLOTS * sizeof(uint32_t)
                                  else ENC_FIRST_SHAPE_SLOTS)
        elif self.num_shapes * 2 > self.shape_mask:
            self.make_shape_slots(ENC_MAX_SHAPES * 2)
        # Look up the shape; a slot has its number plus 1.
        at = hash & self.shape_mask
        while True:
            slot = (<uint32_t*>self.shape_slots.p)[at]
            if slot == 0:
                break
            shape = &(<EncShape*>self.shapes.p)[slot - 1]
            if shape.hash == hash and self.has_shape(shape):
                self.last_shape = slot - 1
                return slot - 1
            at = (at + 1) & self.shape_mask
        (<uint32_t*>self.shape_slots.p)[at] = <uint32_t>(self.num_shapes + 1)
        enc_buf_room(&self.shapes, sizeof(EncShape))
        shape = &(<EncShape*>self.shapes.p)[self.num_shapes]
        shape.hash = hash
        shape.num_ordered = <int32_t>(self.ordered.n >> 2)
        shape.num_unordered = <int32_t>(self.unordered.n >> 2)
        shape.ids = self.shape_ids.n
        enc_buf_put(&self.shape_ids, self.ordered.p, self.ordered.n)
        enc_buf_put(&self.shape_ids, self.unordered.p, self.unordered.n)
        self.last_shape = self.num_shapes
        self.num_shapes += 1
        self.shapes.n = self.num_shapes * sizeof(EncShape)
        self.fill_shape(self.num_shapes - 1)
        return <int64_t>(self.num_shapes - 1)

    cdef int make_shape_slots(self, size_t count) except -1 nogil:
        """Make the hash table of shapes, with `count` slots (a power of two), of the shapes that there are."""
        cdef size_t at, i
        self.shape_mask = count - 1
        enc_buf_room(&self.shape_slots, count * sizeof(uint32_t))
        memset(self.shape_slots.p, 0, count * sizeof(uint32_t))
        self.shape_slots.n = count * sizeof(uint32_t)
        for i in range(self.num_shapes):
            at = (<EncShape*>self.shapes.p)[i].hash & self.shape_mask
            while (<uint32_t*>self.shape_slots.p)[at]:
                at = (at + 1) & self.shape_mask
            (<uint32_t*>self.shape_slots.p)[at] = <uint32_t>(i + 1)
        return 0

    cdef bint has_column(self, int32_t node) noexcept nogil:
        """Whether values of a node are stored in a column; objects, nulls and arrays are only in the schema."""
        cdef uint8_t type = (<EncNode*>self.nodes.p)[node].type
        return type != N_OBJECT and type != N_NULL_VALUE and type != N_STRUCTURED_ARRAY and type != N_METADATA

    cdef int fill_shape(self, size_t index) except -1 nogil:
        """Find or add the table of a new shape, and note which of its ordered values goes into each column."""
        cdef EncShape* shape = &(<EncShape*>self.shapes.p)[index]
        cdef int32_t num_ordered = shape.num_ordered
        cdef int32_t* ids
        cdef int32_t* ranks
        cdef int32_t* sources
        cdef int32_t i, node, low, high, column = 0, value = 0
        # Sorted entries, prefixed by how many there are: the identity of a schema.
        self.sorted_ids.n = 0
        enc_buf_i32(&self.sorted_ids, num_ordered)
        enc_buf_put(&self.sorted_ids, self.ordered.p, self.ordered.n)
        qsort(self.sorted_ids.p + sizeof(int32_t), num_ordered, sizeof(int32_t), enc_compare_ids)
        enc_buf_put(&self.sorted_ids, self.unordered.p, self.unordered.n)
        shape.table = self.table_of()
        ids = <int32_t*>(self.sorted_ids.p + sizeof(int32_t))
        # The column of each sorted entry: its rank among those that have one.
        enc_buf_room(&self.text, (num_ordered + 1) * sizeof(int32_t))
        ranks = <int32_t*>self.text.p
        for i in range(num_ordered):
            ranks[i] = column
            column += self.has_column(ids[i])
        shape.sources = self.shape_ids.n
        enc_buf_room(&self.shape_ids, (column + 1) * sizeof(int32_t))
        sources = <int32_t*>(self.shape_ids.p + self.shape_ids.n)
        self.shape_ids.n += column * sizeof(int32_t)
        # The place of each value in the sorted entries, by binary search.
        for i in range(num_ordered):
            node = (<int32_t*>self.ordered.p)[i]
            if not self.has_column(node):
                continue
            low, high = 0, num_ordered
            while low < high:
                if ids[(low + high) >> 1] < node:
                    low = ((low + high) >> 1) + 1
                else:
                    high = (low + high) >> 1
            sources[ranks[low]] = value
            value += 1
        return 0

    cdef inline const int32_t* entries_of(self, size_t index, int32_t* count) noexcept nogil:
        """The entries of a table's schema; `count` is set to their number, and item -1 is how many are ordered."""
        cdef const unsigned char* at = self.schemas.data.p + (<uint64_t*>self.schemas.starts.p)[index]
        cdef uint64_t size
        memcpy(&size, at, sizeof(size))
        count[0] = <int32_t>(size >> 2) - 1
        return <const int32_t*>(at + sizeof(size)) + 1

    cdef int32_t table_of(self) except -1 nogil:
        """The table for the entries in `sorted_ids`, added if it is new."""
        cdef int64_t id = enc_dictionary_id(&self.schemas, self.sorted_ids.p, self.sorted_ids.n)
        cdef EncTable* table
        cdef int32_t* ids = <int32_t*>self.sorted_ids.p
        cdef int32_t count = <int32_t>(self.sorted_ids.n >> 2) - 1
        cdef int32_t i, columns = 0
        if <size_t>id < self.num_tables:
            return <int32_t>id
        enc_buf_room(&self.tables, sizeof(EncTable))
        table = &(<EncTable*>self.tables.p)[id]
        memset(table, 0, sizeof(EncTable))
        for i in range(count):
            if not clp_s_schema_ids_entry_is_marker(ids[i + 1]) and self.has_column(ids[i + 1]):
                columns += 1
        table.columns = <EncColumn*>calloc(max(columns, 1), sizeof(EncColumn))
        self.num_tables += 1
        self.tables.n = self.num_tables * sizeof(EncTable)
        if table.columns == NULL:
            with gil:
                raise MemoryError()
        for i in range(count):
            if not clp_s_schema_ids_entry_is_marker(ids[i + 1]) and self.has_column(ids[i + 1]):
                table.columns[table.num_columns].type = (<EncNode*>self.nodes.p)[ids[i + 1]].type
                table.num_columns += 1
        return <int32_t>id

    # --- values ---

    cdef bint put_variable(self, EncBuf* to, const unsigned char* p, size_t size, int64_t first) except -1 nogil:
        """Append the number of a variable in the dictionary, plus `first`, to `to`; the bytes of a new one are added to
        the size of the archive.  `first` is not 0 in the older dialect, where smaller numbers are integers.
        Returns whether the number is there already.

        A look-up in a large dictionary waits for memory.  Therefore up to ENC_PENDING variables are collected, while
        their slots are prefetched, and looked up together in `settle`, which writes the numbers.
        """
        cdef EncDictionary* d = &self.variables
        cdef EncPending* pending
        cdef size_t before
        if d.mask < ENC_FAR or size > ENC_SHORT:
            self.settle()  # variables are numbered in order
            before = d.data.n
            enc_buf_u64(to, <uint64_t>(enc_dictionary_id(d, p, size) + first))
            self.size += <int64_t>(d.data.n - before)
            return True
        if self.num_pending == ENC_PENDING:
            self.settle()
        pending = &self.pending[self.num_pending]
        pending.to, pending.place, pending.first = to, to.n, first
        pending.text, pending.size = self.pending_size, size
        pending.hash = enc_hash_bytes(p, size)
        EXH_PREFETCH(&d.slots[enc_dictionary_place(d, pending.hash)])
        ir_copy(<char*>self.pending_texts + self.pending_size, <const char*>p, size)
        self.pending_size += size
        self.num_pending += 1
        enc_buf_u64(to, 0)
        return False

    cdef int settle(self) except -1 nogil:
        """Look up the variables that wait, and store their numbers."""
        cdef EncDictionary* d = &self.variables
        cdef EncPending* pending
        cdef size_t i, before = d.data.n
        cdef uint64_t slot, value
        if not self.num_pending:
            return 0
        for i in range(self.num_pending):
            slot = d.slots[enc_dictionary_place(d, self.pending[i].hash)]
            if slot >> 32 == self.pending[i].hash >> 32 and slot:  # probably its entry; `settle` looks it up below
                EXH_PREFETCH(d.data.p + (<uint64_t*>d.starts.p)[(slot & <uint64_t>0xFFFFFFFF) - 1])
        for i in range(self.num_pending):
            pending = &self.pending[i]
            value = <uint64_t>(enc_dictionary_hashed_id(d, self.pending_texts + pending.text, pending.size, pending.hash)
                               + pending.first)
            memcpy(pending.to.p + pending.place, &value, sizeof(value))
        self.size += <int64_t>(d.data.n - before)
        self.num_pending = self.pending_size = 0
        return 0

    cdef int64_t encode_text(self, EncColumn* column, EncDictionary* types, EncKnown* known, const unsigned char* p,
                             size_t size) except -1 nogil:
        """Split a string into log type and variables, and append both to a column.

        `types`: the dictionary of log types, or of array types; `known`: the tree of those that are known.
        Returns the bytes that they take, except for those of new dictionary variables (see `put_variable`).
        """
        cdef const unsigned char* end = p + size
        cdef unsigned char mark, decimal_mark = M_DECIMAL if self.core else M_CLASSIC_DECIMAL
        cdef EncBuf* out = &self.text   # the log type
        cdef int64_t first = (enc_b_moved(column) + column.b.n) >> 3    # index of the string's first variable
        cdef int64_t value, id, added
        cdef size_t num_types
        cdef size_t before = types.data.n + column.b.n
        cdef EncVariable found
        cdef EncWalk walk
        enc_begin_walk(&walk, known, types)
        out.n = 0
        enc_buf_room(out, size * 2 + 1)
        while enc_next_variable(&p, end, self.token_class, decimal_mark, out, &found, &walk):
            if found.repeated:
                value, mark = <int64_t>found.value, found.mark
            # Integers that are too large go to the dictionary, like text.
            elif found.kind == VARIABLE_INTEGER and (
                    self.core or found.negative or found.magnitude < <uint64_t>clp_s_table_classic_variable_first_id(0)):
                value = <int64_t>(0 - found.magnitude if found.negative else found.magnitude)
                mark = M_INTEGER
                enc_remember(&walk, &found, end, mark, <uint64_t>value)
            elif found.kind == VARIABLE_DECIMAL:
                value = <int64_t>enc_decimal_variable(&found, self.core)
                mark = decimal_mark
                enc_remember(&walk, &found, end, mark, <uint64_t>value)
            else:
                mark = M_ENTRY if self.core else M_CLASSIC_INTEGER_OR_ENTRY
                out.p[out.n] = mark
                out.n += 1
                if self.put_variable(&column.b, found.text, found.size,
                                     0 if self.core else clp_s_table_classic_variable_first_id(0)):
                    enc_remember(&walk, &found, end, mark, (<uint64_t*>(column.b.p + column.b.n))[-1])
                continue
            out.p[out.n] = mark
            out.n += 1
            enc_buf_u64(&column.b, <uint64_t>value)
        num_types = types.count
        if walk.known != NULL:
            id = walk.step.log_type - 1
        else:
            id = enc_dictionary_id(types, out.p, out.n)
            if types.count == num_types:
                enc_learn(known, types, <size_t>id, decimal_mark)
        enc_buf_u64(&column.a, <uint64_t>id | <uint64_t>first << CLP_S_TABLE_CLP_WORD_SHIFT_OFS_VARIABLE)
        added = 8 + <int64_t>(types.data.n + column.b.n - before)  # the word, a new log type, and the variables
        # Upstream counts the positions of placeholders into the size of a new log type.
        if types.count > num_types:
            added += enc_b_moved(column) + column.b.n - (<size_t>first << 3)
        return added

    cdef int put_value(self, EncColumn* column, EncToken* token) except -1 nogil:
        """Append a value to a column by the type of its node; `size` counts its bytes."""
        cdef uint8_t flag
        if column.type == N_INTEGER:
            enc_buf_u64(&column.a, <uint64_t>token.number)
            self.size += 8
        elif column.type == N_VAR_STRING or column.type == N_DICTIONARY_FLOAT:
            self.put_variable(&column.a, token.text, token.size, 0)
            self.size += 8
        elif column.type == N_CLP_STRING:
            self.size += self.encode_text(column, &self.log_types, &self.known_log_types, token.text, token.size)
        elif column.type == N_UNSTRUCTURED_ARRAY:
            self.size += self.encode_text(column, &self.array_types, &self.known_array_types, token.text,
                                          token.size)
        elif column.type == N_FORMATTED_FLOAT:
            enc_buf_u64(&column.a, <uint64_t>token.number)
            enc_buf_put(&column.b, &token.word, 2)
            self.size += 10
        elif column.type == N_FLOAT:
            enc_buf_u64(&column.a, <uint64_t>token.number)
            self.size += 8
        elif column.type == N_BOOLEAN:
            flag = token.number != 0
            enc_buf_put(&column.a, &flag, 1)
            self.size += 1
        elif column.type == N_TIMESTAMP:
            enc_buf_u64(&column.a, <uint64_t>token.number - <uint64_t>column.last)
            column.last = token.number
            enc_buf_u64(&column.b, <uint64_t>token.pattern)
            self.size += 16
        else:  # N_DATE_STRING
            enc_buf_u64(&column.a, <uint64_t>token.number)
            enc_buf_u64(&column.b, <uint64_t>token.pattern)
            self.size += 16
        # The range of the timestamp key.  Before 0.5.0 (not `time_nodes`) its numbers count, too, stored as they are.
        cdef EncNode* node = &(<EncNode*>self.nodes.p)[token.node]
        cdef bint is_number = token.kind == T_INTEGER or token.kind == T_FLOAT
        if token.kind == T_TIMESTAMP or (is_number and not self.time_nodes
                                         and (<EncName*>self.names.p)[node.name].time_key == TIME_KEY_LAST):
            node.has_time = 1
            self.widen_time_range(token)
        return 0

    cdef void widen_time_range(self, EncToken* token) noexcept nogil:
        """Include a value of the timestamp key in the range of times that the archive's footer states."""
        cdef double value
        if token.kind == T_FLOAT:
            memcpy(&value, &token.number, sizeof(value))
            if not self.saw_float_time:
                self.saw_float_time = True
                self.float_time_min = self.float_time_max = value
            elif value < self.float_time_min:
                self.float_time_min = value
            elif value > self.float_time_max:
                self.float_time_max = value
        elif not self.saw_integer_time:
            self.saw_integer_time = True
            self.time_min = self.time_max = token.number
        elif token.number < self.time_min:
            self.time_min = token.number
        elif token.number > self.time_max:
            self.time_max = token.number

    cdef int commit(self) except -1 nogil:
        """Append the record that was scanned and resolved to the table of its schema."""
        cdef int64_t index = self.shape_of()
        cdef EncShape* shape = &(<EncShape*>self.shapes.p)[index]
        cdef EncTable* table = &(<EncTable*>self.tables.p)[shape.table]
        cdef int32_t* sources = <int32_t*>(self.shape_ids.p + shape.sources)
        cdef EncColumn* column
        cdef EncToken* tape = <EncToken*>self.tape.p
        cdef int32_t i, first = 0  # 1 if the first column has the number of the record, which has no token
        cdef int32_t ordered = <int32_t>(self.ordered_tokens.n >> 2)
        cdef int32_t unordered = <int32_t>(self.unordered_tokens.n >> 2)
        if self.log_node >= 0:
            column = &table.columns[0]    # its node has the lowest id
            first = 1
            if column.type == N_DELTA_INTEGER:
                enc_buf_u64(&column.a, <uint64_t>(self.records - column.last))
                column.last = self.records
            else:
                enc_buf_u64(&column.a, <uint64_t>self.records)
            self.size += 8
        # The ordered columns, by `sources`, which count the record's number as a value; then the unordered ones, in the
        # order of their tokens.
        ordered += first
        for i in range(first, ordered):
            self.put_value(&table.columns[i], &tape[(<int32_t*>self.ordered_tokens.p)[sources[i] - first]])
        for i in range(unordered):
            self.put_value(&table.columns[ordered + i], &tape[(<int32_t*>self.unordered_tokens.p)[i]])
        table.rows += 1
        self.records += 1
        return 0

    cdef int count_losses(self) noexcept nogil:
        """Count the values of an accepted record that do not come back unchanged (only if lossy)."""
        cdef size_t i
        cdef EncToken* token
        for i in range(self.num_tokens):
            token = &(<EncToken*>self.tape.p)[i]
            if i == 0 and token.kind != T_OPEN_OBJECT and token.kind != T_EMPTY_OBJECT:
                self.losses += 1  # a record that is an array comes back as {}
            if token.flags & (F_SURROGATE | F_REPEATED):
                self.losses += 1
            if token.flags & F_LOSS or (token.kind == T_INTEGER and token.flags & F_ABOVE_I64):
                self.losses += 1
        return 0

    cdef int run(self, const unsigned char** document, bint final, int64_t target, bint single) except -1 nogil:
        """Encode documents until the input ends, a record is rejected or the archive has its `target` size.

        `final`: nothing follows the input, so that a document without an end is a fault.  `single`: anything but white
        space after the first document is a fault.

        Returns the status; `document` is set to the start of the document that was not encoded.
        """
        cdef int fault
        cdef size_t num_names, num_nodes
        while True:
            while enc_is_space(self.at[0]):
                self.at += 1
            document[0] = self.at
            if self.at >= self.end:
                return E_DONE
            fault = self.scan()
            if fault == E_FULL:
                return E_TOO_LARGE
            if fault == E_MORE:
                if self.at > self.end or (self.at < self.end and self.at[0] < 0x80):
                    self.at = self.end  # within an escape or a word: the input so far is valid
                if not final:
                    return E_MORE
                return E_CUT_SHORT if self.at == self.end else E_BAD_UTF8
            if fault:
                return fault
            if self.at - document[0] > self.max_document:
                self.bad_token = True
                return E_TOO_LARGE
            if single:  # nothing else may follow
                while enc_is_space(self.at[0]):
                    self.at += 1
                if self.at < self.end:
                    return E_BAD_JSON
            num_names, num_nodes = self.num_names, self.num_nodes
            if self.num_tokens > self.most_tokens:
                self.most_tokens = self.num_tokens
            # Each token may need a new node and a new log type: are there ids?
            if self.num_nodes + self.num_tokens >= ENC_MAX_NODES \
                    or self.log_types.count + self.num_tokens >= ENC_MAX_LOG_TYPES \
                    or self.array_types.count + self.num_tokens >= ENC_MAX_LOG_TYPES:
                return E_FULL
            fault = self.resolve()
            if fault:
                self.undo(num_names, num_nodes)
                self.bad_token = True
                return fault
            if self.lossy:
                self.count_losses()
            self.commit()
            document[0] = self.at
            if self.is_full(target):
                return E_SPLIT

    cdef bint is_full(self, int64_t target) except -1 nogil:
        """Whether the archive is complete: it has the target size, or a section grows too large for readers."""
        cdef size_t most = self.pending_size + self.num_pending * sizeof(uint64_t)  # by which the variables may grow
        # Variables that wait are not counted yet: look them up if they might decide.
        if self.num_pending and (self.size + <int64_t>most >= target
                                 or self.variables.data.n + most >= ENC_SPLIT_TEXT):
            self.settle()
        return self.size >= target or self.exceeds(self.variables.data.n, self.log_types.data.n,
                                                   self.array_types.data.n, self.num_nodes)

    cdef bint exceeds(self, size_t variables, size_t log_types, size_t array_types, size_t nodes) noexcept nogil:
        """Whether a section would be too large for readers with these sizes of dictionaries and number of nodes."""
        return variables >= ENC_SPLIT_TEXT or log_types >= ENC_SPLIT_TEXT or array_types >= ENC_SPLIT_TEXT \
            or nodes >= ENC_SPLIT_NODES

    def feed(self, bytes data not None, Py_ssize_t start, bint final, int64_t target, bint single):
        """Encode documents from offset `start` on; see `run` for the arguments, and `Encoder.feed` for the result."""
        cdef const unsigned char* base = <const unsigned char*>bytes_text(data)
        cdef const unsigned char* document = base + start
        cdef int status
        # The GIL is released below: a second thread must not get in.
        if self.busy:
            raise RuntimeError("one encoder serves one thread at a time")
        self.busy = True
        self.at = base + start
        self.end = base + PyBytes_GET_SIZE(data)
        self.scratch.n = 0
        enc_buf_room(&self.scratch, (self.end - self.at) + 16)
        self.bad_token = False
        try:
            with nogil:
                status = self.run(&document, final, target, single)
        finally:
            self.settle()
            self.busy = False
        # A document that was rejected only after all of it had been scanned can be skipped exactly: `bad_token` is set.
        return status, document - base, self.at - base, self.bad_token

    # --- what was built ---

    def nodes_list(self):
        """The nodes of the schema tree, each as (parent, key, type)."""
        cdef size_t i
        cdef EncNode* node
        cdef EncName* name
        out = []
        for i in range(self.num_nodes):
            node = &(<EncNode*>self.nodes.p)[i]
            name = &(<EncName*>self.names.p)[node.name]
            out.append((node.parent, bytes_of(<char*>self.keys.p + name.key, name.key_size), node.type))
        return out

    def time_nodes_list(self):
        """The numbers of the nodes with values of the timestamp key."""
        cdef size_t i
        return [i for i in range(self.num_nodes) if (<EncNode*>self.nodes.p)[i].has_time]

    cdef EncDictionary* dictionary_of(self, int which) noexcept:
        """The dictionary with a number (ENC_VARIABLES ...)."""
        return &self.variables if which == ENC_VARIABLES else &self.log_types if which == ENC_LOG_TYPES else &self.array_types

    def dictionary(self, int which):
        """The number of entries and the bytes of a dictionary, given by its number (ENC_VARIABLES ...)."""
        cdef EncDictionary* d = self.dictionary_of(which)
        return d.count, d.data.n

    def entries(self, int which, size_t start, size_t stop):
        """The bytes `[start, stop)` of a dictionary, given by its number, as they are stored."""
        cdef EncDictionary* d = self.dictionary_of(which)
        if not start <= stop <= d.data.n:
            raise ValueError("past the end of the dictionary")
        return bytes_of(<char*>d.data.p + start, stop - start) if start < stop else b""

    def num_schemas(self):
        """The number of schemas, each of which has one table."""
        return self.num_tables

    def schema(self, size_t index):
        """The entries of a schema, the number of ordered ones, the rows of its table, and the bytes of each column."""
        cdef EncTable* table
        cdef int32_t count = 0, i
        cdef const int32_t* ids
        cdef int j
        if index >= self.num_tables:
            raise IndexError(index)
        table = &(<EncTable*>self.tables.p)[index]
        ids = self.entries_of(index, &count)
        sizes = [enc_column_size(&table.columns[j]) for j in range(table.num_columns)]
        return [ids[i] for i in range(count)], ids[-1], table.rows, sizes

    def sizes(self):
        """Return the sizes of all tables in bytes, as uint64, and their numbers of records, as int64."""
        cdef bytes sizes = bytes_of(NULL, self.num_tables * sizeof(uint64_t))
        cdef bytes rows = bytes_of(NULL, self.num_tables * sizeof(int64_t))
        cdef uint64_t* size = <uint64_t*>bytes_text(sizes)
        cdef int64_t* row = <int64_t*>bytes_text(rows)
        cdef EncTable* table
        cdef size_t i
        cdef int j
        for i in range(self.num_tables):
            table = &(<EncTable*>self.tables.p)[i]
            row[i] = table.rows
            size[i] = 0
            for j in range(table.num_columns):
                size[i] += enc_column_size(&table.columns[j])
        return sizes, rows

    def spill(self, spill, size_t least):
        """Move columns of at least `least` bytes out of memory, into `spill`, the `SpillFile` of the archive."""
        cdef size_t i
        cdef int j
        cdef EncTable* table
        cdef EncColumn* column
        if self.busy:
            raise ValueError("the encoder is at work")
        self.spilled = spill
        for i in range(self.num_tables):
            table = &(<EncTable*>self.tables.p)[i]
            for j in range(table.num_columns):
                column = &table.columns[j]
                if column.a.n < least and column.b.n < least:
                    continue
                if column.moved == NULL:
                    column.moved = <EncMoved*>calloc(1, sizeof(EncMoved))
                    if column.moved == NULL:
                        raise MemoryError
                self._spill_part(&column.a, &column.moved.a_parts, &column.moved.a_size, least)
                self._spill_part(&column.b, &column.moved.b_parts, &column.moved.b_size, least)

    cdef int _spill_part(self, EncBuf* data, EncBuf* parts, size_t* out, size_t least) except -1:
        """Move the bytes of a buffer to the temporary file, if there are `least` of them, and note where they are in
        `parts`.
        """
        cdef uint64_t offset
        if not data.n or data.n < least:
            return 0
        offset = self.spilled.write(PyMemoryView_FromMemory(<char*>data.p, data.n, PyBUF_READ))
        enc_buf_u64(parts, offset)
        enc_buf_u64(parts, data.n)
        out[0] += data.n
        data.n = 0
        if data.cap > ENC_KEPT_ROOM:
            enc_buf_free(data)
        return 0

    cdef unsigned char* _copy_spilled(self, unsigned char* out, const EncBuf* parts, size_t at, size_t start,
                                      size_t stop) except? NULL:
        """Copy like `enc_copy_part`, from the parts of an array in the temporary file; the array begins at `at`."""
        cdef const uint64_t* part = <const uint64_t*>parts.p
        cdef size_t i, first, last
        cdef bytes data
        for i in range(parts.n // (2 * sizeof(uint64_t))):  # pairs of offset and size
            if at < stop and start < at + part[2 * i + 1]:
                first = start - at if start > at else 0
                last = min(<size_t>part[2 * i + 1], stop - at)
                data = self.spilled.read_at(part[2 * i] + first, last - first)
                if <size_t>PyBytes_GET_SIZE(data) != last - first:
                    raise ValueError("the spill is shorter than what was written")
                memcpy(out, bytes_text(data), last - first)
                out += last - first
            at += part[2 * i + 1]
        return out

    def columns(self, list indices not None, size_t start, size_t stop):
        """Return the bytes `[start, stop)` of the given tables as they are stored: back to back, column by column."""
        if start > stop:
            raise ValueError("no bytes")
        cdef bytes out = bytes_of(NULL, stop - start)
        cdef unsigned char* p = <unsigned char*>bytes_text(out)
        cdef EncTable* table
        cdef EncColumn* column
        cdef uint64_t count
        cdef size_t at = 0, index, size     # `at`: offset of the current column in all of the tables
        cdef int j
        for index in indices:
            table = &(<EncTable*>self.tables.p)[index]
            for j in range(table.num_columns):
                column = &table.columns[j]
                size = enc_column_size(column)
                if at < stop and start < at + size:
                    if column.moved != NULL:
                        p = self._copy_spilled(p, &column.moved.a_parts, at, start, stop)
                    p = enc_copy_part(p, column.a.p, column.a.n, at + enc_a_moved(column), start, stop)
                    if enc_has_count(column):
                        count = (enc_b_moved(column) + column.b.n) >> 3
                        p = enc_copy_part(p, <unsigned char*>&count, sizeof(count),
                                          at + enc_a_moved(column) + column.a.n, start, stop)
                    if column.moved != NULL:
                        p = self._copy_spilled(p, &column.moved.b_parts, at + size - column.b.n - column.moved.b_size,
                                               start, stop)
                    p = enc_copy_part(p, column.b.p, column.b.n, at + size - column.b.n, start, stop)
                at += size
        if p != <unsigned char*>bytes_text(out) + (stop - start):
            raise ValueError("past the end of the tables")
        return out


def clps_count_lines(bytes data not None, Py_ssize_t start, Py_ssize_t stop):
    """The number of line feeds in `[start, stop)`, counted in words of eight bytes."""
    cdef const unsigned char* p = <const unsigned char*>bytes_text(data) + start
    cdef const unsigned char* end
    cdef uint64_t word, low = <uint64_t>0x7F7F7F7F7F7F7F7F, ones = <uint64_t>0x0101010101010101, sums
    cdef Py_ssize_t i, count = 0
    if not 0 <= start <= stop <= PyBytes_GET_SIZE(data):
        raise IndexError(stop)
    end = p + (stop - start)
    with nogil:
        while end - p >= 255 * <Py_ssize_t>sizeof(word):
            sums = 0  # eight counts of a byte each, none above 255
            for i in range(255):
                memcpy(&word, p, sizeof(word))
                word ^= ones * 0x0A
                sums += ~((word & low) + low | word | low) >> 7  # 1 in each byte that is now 0, which was a line feed
                p += sizeof(word)
            for i in range(<Py_ssize_t>sizeof(word)):
                count += sums & 0xFF
                sums >>= 8
        while p < end:
            count += p[0] == 0x0A
            p += 1
    return count
