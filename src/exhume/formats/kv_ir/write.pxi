# Conversion of lines of JSON to units of a KV-IR stream, included by _kernel.pyx.  It stops at lines that are faulty or
# of a rare form, which `exhume.formats.kv_ir.writer` handles.  The pure-Python implementation, in
# `exhume.formats.kv_ir.pykernel`, stops at every line.
#
# The encoder of clp-s scans a line into tokens (its tape) and finds the node of every value in its schema tree.
# `numbers` maps these nodes to the numbers of keys in the stream, which has two trees of keys: of the logger ("auto")
# and of the user.
#
# A unit is an event or a declaration of a key.  An encoded string is its variables and a log type: the text with a mark
# in place of each variable.  `EncBuf` is a growing buffer of bytes (`p`, `n`: how many).

cdef extern from "Python.h":
    double PyOS_string_to_double(const char*, char**, PyObject*) except? -1.0

cdef enum:
    IR_MAX_LEVELS = 100             # deeper nesting is left to the writer
    IR_MAX_NODES = 1 << 16          # nodes, those in arrays included, from which on a new schema tree is begun

cdef uint8_t[256] ir_escapes
"""The escape letter, in the text of an array, for a byte of a string; 0: the byte is written as it is."""

cdef void ir_fill_escapes() noexcept:
    """Fill the table; `u` stands for `\\u` and four digits."""
    memset(ir_escapes, 0, 256)
    memset(ir_escapes, c"u", 0x20)
    ir_escapes[0x7F] = c"u"
    ir_escapes[c"\b"], ir_escapes[c"\f"], ir_escapes[c"\n"], ir_escapes[c"\r"] = c"b", c"f", c"n", c"r"
    ir_escapes[c"\t"], ir_escapes[c'"'], ir_escapes[c"/"], ir_escapes[c"\\"] = c"t", c'"', c"/", c"\\"


ir_fill_escapes()


cdef object moved_units(EncBuf* out):
    """Return the bytes of a buffer and empty it, as `moved` does for an `Out`, which has the same three fields."""
    cdef Out written
    if not out.n:
        return b""
    written.data, written.size, written.capacity = <char*>out.p, out.n, out.cap
    memset(out, 0, sizeof(EncBuf))
    try:
        return moved(&written)
    finally:
        out.p, out.n, out.cap = <unsigned char*>written.data, 0, written.capacity


cdef inline int ir_put(EncBuf* out, uint8_t tag, uint64_t value, int width) except -1 nogil:
    """Append a tag, and the lowest `width` bytes of a number in big-endian order."""
    enc_buf_room(out, 1 + sizeof(value))
    value = swap8(value)
    out.p[out.n] = tag
    memcpy(out.p + out.n + 1, <uint8_t*>&value + sizeof(value) - width, width)
    out.n += 1 + width
    return 0


cdef inline int ir_put_number(EncBuf* out, int64_t value, uint8_t one, uint8_t two, uint8_t four, uint8_t eight) except -1 nogil:
    """Append a number in its shortest form; `one` to `eight` are the tags of the forms by their size in bytes."""
    if -0x80 <= value < 0x80:
        return ir_put(out, one, <uint64_t>value, 1)
    if -0x8000 <= value < 0x8000:
        return ir_put(out, two, <uint64_t>value, 2)
    if -<int64_t>0x80000000 <= value < <int64_t>0x80000000:
        return ir_put(out, four, <uint64_t>value, 4)
    return ir_put(out, eight, <uint64_t>value, 8)


cdef inline int ir_put_text(EncBuf* out, const uint8_t* text, size_t size, uint8_t one, uint8_t two, uint8_t four) except -1 nogil:
    """Append the length of a string in its shortest form, and the string."""
    ir_put_size(out, size, one, two, four)
    return enc_buf_put(out, text, size)


cdef inline int ir_put_size(EncBuf* out, size_t size, uint8_t one, uint8_t two, uint8_t four) except -1 nogil:
    """Append an unsigned number in its shortest form."""
    if size < 1 << 8:
        return ir_put(out, one, size, 1)
    if size < 1 << 16:
        return ir_put(out, two, size, 2)
    return ir_put(out, four, size, 4)


cdef inline uint8_t ir_number_of(const EncVariable* found, bint wide, uint64_t* word) noexcept nogil:
    """The mark of a variable in a log type; for an integer or a decimal fraction, `word` is set to its encoded form.

    `wide`: variables have eight bytes; otherwise four, which fewer numbers fit.  The parts of a fraction are packed,
    both counts of digits minus 1.
    """
    if found.kind == VARIABLE_INTEGER and (wide or found.magnitude < <uint64_t>0x80000000 + found.negative):
        word[0] = 0 - found.magnitude if found.negative else found.magnitude
        return CLP_KV_IR_MARKS_INTEGER
    if found.kind == VARIABLE_DECIMAL and wide:
        word[0] = found.magnitude << CLP_KV_IR_DECIMAL_8_SHIFT_DIGITS
        word[0] |= found.digits - 1 << CLP_KV_IR_DECIMAL_8_SHIFT_NUM_DIGITS
        word[0] |= found.fraction - 1 << CLP_KV_IR_DECIMAL_8_SHIFT_NUM_FRACTION_DIGITS
        word[0] |= <uint64_t>found.negative << CLP_KV_IR_DECIMAL_8_SHIFT_SIGN
        return CLP_KV_IR_MARKS_DECIMAL
    # Of four bytes: digits and their number must not need more bits than their fields have.
    if found.kind == VARIABLE_DECIMAL \
            and found.magnitude >> CLP_KV_IR_DECIMAL_4_SHIFT_SIGN - CLP_KV_IR_DECIMAL_4_SHIFT_DIGITS == 0 \
            and found.digits <= 1 << CLP_KV_IR_DECIMAL_4_SHIFT_DIGITS - CLP_KV_IR_DECIMAL_4_SHIFT_NUM_DIGITS:
        word[0] = found.magnitude << CLP_KV_IR_DECIMAL_4_SHIFT_DIGITS
        word[0] |= found.digits - 1 << CLP_KV_IR_DECIMAL_4_SHIFT_NUM_DIGITS
        word[0] |= found.fraction - 1 << CLP_KV_IR_DECIMAL_4_SHIFT_NUM_FRACTION_DIGITS
        word[0] |= <uint64_t>found.negative << CLP_KV_IR_DECIMAL_4_SHIFT_SIGN
        return CLP_KV_IR_MARKS_DECIMAL
    return CLP_KV_IR_MARKS_TEXT


cdef inline int ir_put_found(EncBuf* out, const EncVariable* found, uint8_t mark, uint64_t word, bint wide) except -1 nogil:
    """Append a variable of a string, as text or as an encoded number; `mark` and `word` are from `ir_number_of`."""
    if mark == CLP_KV_IR_MARKS_TEXT:
        return ir_put_text(out, found.text, found.size, CLP_KV_IR_TAGS_VARIABLE_TEXT_1, CLP_KV_IR_TAGS_VARIABLE_TEXT_2,
                           CLP_KV_IR_TAGS_VARIABLE_TEXT_4)
    return ir_put(out, CLP_KV_IR_TAGS_VARIABLE_8, word, 8) if wide else ir_put(out, CLP_KV_IR_TAGS_VARIABLE_4, word, 4)


cdef int ir_know(EncDictionary* types, EncKnown* known, const uint8_t* log_type, size_t size) except -1 nogil:
    """Note a log type; when it is met again, it enters the tree."""
    cdef size_t before = types.count
    cdef int64_t id
    if types.data.n > ENC_KEPT:  # they only save time
        enc_dictionary_clear(types)
        enc_known_clear(known)
        before = 0
    id = enc_dictionary_id(types, log_type, size)
    return enc_learn(known, types, <size_t>id, CLP_KV_IR_MARKS_DECIMAL) if types.count == before else 0


cdef int ir_take_apart(EncBuf* out, EncBuf* log_type, const uint8_t* token_class, const uint8_t* p, size_t size,
                       bint wide, EncDictionary* types, EncKnown* known) except -1 nogil:
    """Append a string as its variables, of four bytes or (`wide`) eight, followed by its log type.

    `log_type` is scratch space.  For a large string it is not kept: only its size is counted, and a second pass over
    the string writes it directly to `out`.  `token_class` states by byte what is part of a variable (scanning.pxi).
    `known`: the tree of log types that are known, which are entries of `types`; both NULL without one.
    """
    cdef EncVariable found
    cdef const uint8_t* start = p
    cdef const uint8_t* end = p + size
    cdef uint64_t word = 0
    cdef uint8_t mark
    cdef bint is_large = size >= IR_LARGE
    cdef size_t written = 0     # size of the log type
    cdef EncWalk walk, none
    enc_begin_walk(&walk, NULL if is_large else known, types)
    enc_begin_walk(&none, NULL, NULL)
    log_type.n = 0
    enc_buf_room(log_type, size * 2 + 1)
    while enc_next_variable(&p, end, token_class, CLP_KV_IR_MARKS_DECIMAL, log_type, &found, &walk):
        if found.repeated:
            mark, word = found.mark, found.value
        else:
            mark = ir_number_of(&found, wide, &word)
            enc_remember(&walk, &found, end, mark, word)
        ir_put_found(out, &found, mark, word, wide)
        log_type.p[log_type.n] = mark
        log_type.n += 1
        if is_large:
            written += log_type.n
            log_type.n = 0
    if walk.known != NULL:
        p = enc_dictionary_entry(types, walk.step.log_type - 1, &written)
        ir_put_size(out, written, CLP_KV_IR_TAGS_LOG_TYPE_1, CLP_KV_IR_TAGS_LOG_TYPE_2, CLP_KV_IR_TAGS_LOG_TYPE_4)
        return enc_buf_put(out, p, written)
    written += log_type.n
    ir_put_size(out, written, CLP_KV_IR_TAGS_LOG_TYPE_1, CLP_KV_IR_TAGS_LOG_TYPE_2, CLP_KV_IR_TAGS_LOG_TYPE_4)
    if not is_large:
        if known != NULL:
            ir_know(types, known, log_type.p, written)
        return enc_buf_put(out, log_type.p, written)
    enc_buf_free(log_type)
    enc_buf_room(out, written)
    while enc_next_variable(&start, end, token_class, CLP_KV_IR_MARKS_DECIMAL, out, &found, &none):
        out.p[out.n] = ir_number_of(&found, wide, &word)
        out.n += 1
    return 0


cdef class KvIrEncoder:
    """Encodes lines of JSON as units; the public methods are documented in pykernel.py.

    `EncToken`s and `scanner` are those of clp-s.  A leaf is a value other than an object with members.
    """
    cdef dict auto              # (parent, name, type) of a key -> its number, for the keys of the logger
    cdef dict user              # and for those of the user
    cdef tuple names            # keeps alive what `name` points to
    cdef const char* name[2]    # members with the pairs of the logger and of the user; NULL: all are the user's
    cdef size_t name_size[2]
    cdef bint busy              # whether a thread is in `feed`
    cdef readonly int64_t events
    cdef ClpsEncoder scanner    # of clp-s: only scans lines and finds nodes; it makes no archive
    cdef EncBuf numbers         # i32 per node of the schema tree: the number of its key; 0: not yet looked up
    cdef EncBuf out             # the finished units
    cdef EncBuf pairs           # of the current event, by the logger: each key, followed by its value
    cdef EncBuf keys            # of the current event, by the user: all keys
    cdef EncBuf values          # and all values
    cdef EncBuf text            # an array as JSON
    cdef int32_t log_keys[3]    # of events of text logs: the numbers of the keys; 0: not yet looked up
    cdef size_t first[2]        # first token of the members of the logger and of the user; 0: there are none
    cdef int32_t open[IR_MAX_LEVELS + 1]    # `members`: numbers of the keys of the open objects
    cdef bint in_object[IR_MAX_LEVELS + 1]  # `array`: whether each open container is an object

    def __cinit__(self, dict auto not None, dict user not None, tuple names):
        self.auto, self.user, self.names = auto, user, names
        if names is not None:
            for i in range(2):
                self.name[i], self.name_size[i] = <const char*><bytes>names[i], len(<bytes>names[i])
        self.begin()

    def __dealloc__(self):
        enc_buf_free(&self.numbers)
        enc_buf_free(&self.out)
        enc_buf_free(&self.pairs)
        enc_buf_free(&self.keys)
        enc_buf_free(&self.values)
        enc_buf_free(&self.text)

    cdef int begin(self) except -1:
        """Begin with an empty schema tree; repeated when the tree exceeds `IR_MAX_NODES`.

        Declared keys keep their numbers, which are in `auto` and `user`; `numbers` only caches them by node.
        """
        # `core`: log types as CLP core has them; `structurize`: arrays become tokens, which `array` prints.  Times and
        # formats of floats are not recognized.
        self.scanner = ClpsEncoder(
            core=True, structurize=True, retain_floats=False, time_nodes=False, lossy=False, max_document=INT64_MAX,
            log_order_type=None, path=(), resolve_timestamp=None, encode_float=None)
        self.numbers.n = 0
        return 0

    def feed(self, bytes data not None, Py_ssize_t start):
        """Encode whole lines of `data` from `start` on; return the offset of the first line that was not encoded."""
        cdef const uint8_t* base = <const uint8_t*>bytes_text(data)
        cdef const uint8_t* at = base + start
        cdef const uint8_t* line
        cdef const uint8_t* end = base + PyBytes_GET_SIZE(data)
        if not 0 <= start <= end - base:
            raise ValueError("outside of the data")
        if self.busy:  # the lock of the interpreter is released below
            raise RuntimeError("one encoder serves one thread at a time")
        self.busy = True
        try:
            with nogil:
                line = self.lines(at, end)
        finally:
            self.busy = False
        return line - base

    cdef const uint8_t* lines(self, const uint8_t* at, const uint8_t* end) except NULL nogil:
        """Encode lines up to `end`, or up to the first one that has to be left to the writer; return its start."""
        cdef const uint8_t* line
        while True:
            line = at  # skip white space; blank lines do not belong to the event
            while at < end and enc_is_space(at[0]):
                at += 1
                if at[-1] == c"\n":
                    line = at
            if at >= end:
                return end
            self.scanner.scratch.n = 0
            enc_buf_room(&self.scanner.scratch, end - at + 16)
            at = self.event(at, line, end)
            if at == NULL:
                return line

    def feed_log(self, ClpsTextLog log not None, bytes data not None, bint final):
        """Encode the complete events of a plain-text log (all, if `final`); return the offset of the first that was not."""
        cdef const uint8_t* base = <const uint8_t*>bytes_text(data)
        cdef const uint8_t* p = base
        cdef const uint8_t* stop
        cdef const uint8_t* end = base + PyBytes_GET_SIZE(data)
        cdef Py_ssize_t stamp = 0, known = TXT_MORE
        cdef TxtStamp last
        last.size = 0
        if self.busy:
            raise RuntimeError("one encoder serves one thread at a time")
        self.busy = True
        try:
            with nogil:
                while p < end:
                    stop = log.event(p, end, final, &stamp, &known, &last)
                    if stop == NULL:
                        break
                    self.log_event(p, stamp, stop)
                    p = stop
        finally:
            self.busy = False
        return p - base

    cdef int log_event(self, const uint8_t* p, Py_ssize_t stamp, const uint8_t* end) except -1 nogil:
        """Encode the event `[p, end)` of a plain-text log, with a timestamp of `stamp` bytes (0: none)."""
        cdef const uint8_t* message = p + stamp
        cdef size_t size = end - message, middle = 0
        cdef bint exact = txt_is_utf8(message, end)
        # The keys come before the values, and declarations of new keys before both.
        if stamp:
            self.log_key(0, TXT_STAMP, 9)
        self.log_key(1, TXT_MESSAGE, 7)
        if not exact:
            self.log_key(2, TXT_INVALID, 12)
        if stamp:
            self.put_key(self.log_keys[0])
        self.put_key(self.log_keys[1])
        if not exact:
            self.put_key(self.log_keys[2])
            txt_replace(&self.scanner.scratch, message, end, &middle)
            message, size = self.scanner.scratch.p, middle
        if stamp:
            self.put_string(&self.out, p, stamp)
        self.put_string(&self.out, message, size)
        if not exact:
            self.put_string(&self.out, message + middle, self.scanner.scratch.n - middle)
        self.events += 1
        return 0

    cdef inline int log_key(self, int which, const char* key, size_t size) except -1 nogil:
        """Look up a key of events of text logs, unless that was done; a new one is declared."""
        cdef EncToken token
        if self.log_keys[which] == 0:
            token.type = N_VAR_STRING
            token.key, token.key_size = <const uint8_t*>key, size
            with gil:
                self.log_keys[which] = self.number_of(&token, 0, self.user, False)
        return 0

    cdef inline int put_key(self, int32_t number) except -1 nogil:
        """Append a key of the user by its number."""
        return ir_put_number(&self.out, number, CLP_KV_IR_TAGS_KEY_1, CLP_KV_IR_TAGS_KEY_2, CLP_KV_IR_TAGS_KEY_4, 0)

    cdef inline int put_string(self, EncBuf* out, const uint8_t* text, size_t size) except -1 nogil:
        """Append a string, divided into variables and a log type if it has a space."""
        if enc_string_type(text, size) == N_CLP_STRING:
            return self.put_apart(out, text, size)
        return ir_put_text(out, text, size, CLP_KV_IR_TAGS_TEXT_1, CLP_KV_IR_TAGS_TEXT_2, CLP_KV_IR_TAGS_TEXT_4)

    def take(self):
        """The units that were made since the last call."""
        return moved_units(&self.out)

    cdef const uint8_t* event(self, const uint8_t* at, const uint8_t* line, const uint8_t* end) except? NULL nogil:
        """Encode the event at `at` of a line; return its end, or NULL if the line has to be left to the writer."""
        cdef size_t num_names = self.scanner.num_names, num_nodes = self.scanner.num_nodes, size
        self.scanner.at, self.scanner.end = at, end
        if self.scanner.scan() != 0:
            return NULL
        at = self.scanner.at
        # Only white space may follow on the line, and the event must not span lines.
        while at < end and at[0] != c"\n":
            if not enc_is_space(at[0]):
                return NULL
            at += 1
        if memchr(line, c"\n", at - line) != NULL or not self.fits():
            return NULL
        if self.scanner.resolve() != 0:
            self.scanner.undo(num_names, num_nodes)
            return NULL
        # New nodes have no numbers yet.
        size = self.scanner.num_nodes * sizeof(int32_t)  # bytes that `numbers` needs
        if size > self.numbers.n:
            enc_buf_room(&self.numbers, size - self.numbers.n)
            memset(self.numbers.p + self.numbers.n, 0, size - self.numbers.n)
            self.numbers.n = size
        self.pairs.n = self.keys.n = self.values.n = 0
        if at - line >= IR_LARGE:
            self.put_in_passes()
        else:
            self.put()
        self.events += 1
        if self.scanner.num_nodes > IR_MAX_NODES:
            with gil:
                self.begin()
        return at

    cdef int put(self) except -1 nogil:
        """Write the event in one pass over its tokens, with buffers for its keys and values."""
        if self.first[0]:
            self.members(self.first[0], True, &self.pairs, &self.pairs)
        if self.first[1]:
            self.members(self.first[1], False, &self.keys, &self.values)
        enc_buf_put(&self.out, self.pairs.p, self.pairs.n)
        if not self.keys.n:
            return ir_put(&self.out, CLP_KV_IR_TAGS_EMPTY_OBJECT, 0, 0)
        enc_buf_put(&self.out, self.keys.p, self.keys.n)
        return enc_buf_put(&self.out, self.values.p, self.values.n)

    cdef int put_in_passes(self) except -1 nogil:
        """Write a large event without buffers for its values.

        One pass declares new keys and collects the keys of the user; another writes the values.
        """
        if self.first[0]:
            self.members(self.first[0], True, NULL, NULL)
        if self.first[1]:
            self.members(self.first[1], False, &self.keys, NULL)
        if self.first[0]:
            self.members(self.first[0], True, &self.out, &self.out)
        if not self.keys.n:
            return ir_put(&self.out, CLP_KV_IR_TAGS_EMPTY_OBJECT, 0, 0)
        enc_buf_put(&self.out, self.keys.p, self.keys.n)
        return self.members(self.first[1], False, NULL, &self.out)

    cdef bint fits(self) except -1 nogil:
        """Whether the tokens are an event that can be encoded here: not nested too deeply and, if a line has two
        members for the pairs of logger and user, with no other members.  Sets `first`.
        """
        cdef EncToken* token = <EncToken*>self.scanner.tape.p
        cdef size_t i, depth = 0
        cdef int which  # 0: logger, 1: user
        self.first[0] = self.first[1] = 0
        for i in range(self.scanner.num_tokens):
            if token[i].kind == T_CLOSE_OBJECT or token[i].kind == T_CLOSE_ARRAY:
                depth -= 1
                continue
            if depth == 1 and self.name[0] != NULL:
                which = 0 if self.is_named(&token[i], 0) else 1
                if which == 1 and not self.is_named(&token[i], 1):
                    return False
                if token[i].kind == T_OPEN_OBJECT:
                    self.first[which] = i + 1
                elif token[i].kind != T_EMPTY_OBJECT:
                    return False
            if token[i].kind == T_OPEN_OBJECT or token[i].kind == T_OPEN_ARRAY:
                depth += 1
                if depth > IR_MAX_LEVELS:
                    return False
        if self.name[0] == NULL and token[0].kind == T_OPEN_OBJECT:  # all members are the user's
            self.first[1] = 1
        return True

    cdef bint is_named(self, EncToken* token, int which) noexcept nogil:
        """Whether the key of a member is that for the pairs of the logger (0) or of the user (1)."""
        return token.key_size == self.name_size[which] and same_bytes(token.key, self.name[which], token.key_size)

    cdef int members(self, size_t i, bint auto, EncBuf* keys, EncBuf* values) except -1 nogil:
        """Append keys and values of all leaves of the object whose members begin with token `i`.

        Either buffer may be NULL; that part is then not written.  Declarations of new keys go to `out` at once.
        """
        cdef EncToken* tape = <EncToken*>self.scanner.tape.p
        cdef EncToken* token
        cdef size_t depth = 0
        cdef int32_t number
        self.open[0] = 0
        while True:
            token = &tape[i]
            i += 1
            if token.kind == T_CLOSE_OBJECT:
                if depth == 0:  # the end of the outermost one
                    return 0
                depth -= 1
                continue
            number = (<int32_t*>self.numbers.p)[token.node]
            if number == 0:
                with gil:
                    number = self.number_of(token, self.open[depth], self.auto if auto else self.user, auto)
                (<int32_t*>self.numbers.p)[token.node] = number
            if token.kind == T_OPEN_OBJECT:
                depth += 1
                self.open[depth] = number
                continue
            if keys != NULL:
                ir_put_number(keys, -1 - number if auto else number,
                              CLP_KV_IR_TAGS_KEY_1, CLP_KV_IR_TAGS_KEY_2, CLP_KV_IR_TAGS_KEY_4, 0)
            if token.kind == T_OPEN_ARRAY:
                i = self.array(i)  # into `text`; also without `values`, to pass over its tokens
                if values != NULL:
                    self.put_apart(values, self.text.p, self.text.n)
            elif values != NULL:
                self.put_value(values, token)

    cdef int32_t number_of(self, EncToken* token, int32_t parent, dict tree, bint auto) except -1:
        """The number of the key of a value; a new one is declared in `out`.

        `parent`: the number of the object's key, 0 for the root; `tree`: the numbers of the keys of the same kind.
        """
        cdef int type
        if token.type == N_INTEGER:
            type = CLP_KV_IR_TAGS_NODE_INTEGER
        elif token.type == N_FLOAT:
            type = CLP_KV_IR_TAGS_NODE_REAL
        elif token.type == N_BOOLEAN:
            type = CLP_KV_IR_TAGS_NODE_BOOLEAN
        elif token.type == N_VAR_STRING or token.type == N_CLP_STRING:
            type = CLP_KV_IR_TAGS_NODE_TEXT
        elif token.type == N_STRUCTURED_ARRAY:
            type = CLP_KV_IR_TAGS_NODE_ARRAY
        else:
            type = CLP_KV_IR_TAGS_NODE_OBJECT
        key = (parent, PyUnicode_DecodeUTF8(<const char*>token.key, token.key_size, NULL), type)
        found = tree.get(key)
        if found is None:
            found = tree[key] = len(tree) + 1  # the root is 0
            ir_put(&self.out, type, 0, 0)
            ir_put_number(&self.out, -1 - parent if auto else parent,
                          CLP_KV_IR_TAGS_PARENT_1, CLP_KV_IR_TAGS_PARENT_2, CLP_KV_IR_TAGS_PARENT_4, 0)
            ir_put_text(&self.out, token.key, token.key_size,
                        CLP_KV_IR_TAGS_TEXT_1, CLP_KV_IR_TAGS_TEXT_2, CLP_KV_IR_TAGS_TEXT_4)
        return found

    cdef int put_value(self, EncBuf* out, EncToken* token) except -1 nogil:
        """Append a value other than an array with elements."""
        if token.kind == T_STRING:
            return self.put_string(out, token.text, token.size)
        if token.kind == T_INTEGER:
            return ir_put_number(out, token.number, CLP_KV_IR_TAGS_INTEGER_1, CLP_KV_IR_TAGS_INTEGER_2,
                                 CLP_KV_IR_TAGS_INTEGER_4, CLP_KV_IR_TAGS_INTEGER_8)
        if token.kind == T_FLOAT:
            return ir_put(out, CLP_KV_IR_TAGS_REAL, <uint64_t>token.number, 8)
        if token.kind == T_EMPTY_ARRAY:
            return self.put_apart(out, <const uint8_t*>b"[]", 2)
        if token.kind == T_TRUE:
            return ir_put(out, CLP_KV_IR_TAGS_TRUE_VALUE, 0, 0)
        if token.kind == T_FALSE:
            return ir_put(out, CLP_KV_IR_TAGS_FALSE_VALUE, 0, 0)
        return ir_put(out, CLP_KV_IR_TAGS_NULL_VALUE if token.kind == T_NULL else CLP_KV_IR_TAGS_EMPTY_OBJECT, 0, 0)

    cdef int put_apart(self, EncBuf* out, const uint8_t* p, size_t size) except -1 nogil:
        """Append a string as variables of four bytes and its log type."""
        ir_put(out, CLP_KV_IR_TAGS_FOUR_BYTE_ENCODING, 0, 0)
        return ir_take_apart(out, &self.scanner.text, self.scanner.token_class, p, size, False,
                             &self.scanner.log_types, &self.scanner.known_log_types)

    # -- arrays, printed as the serializer does --------------------------------------------------------------------

    cdef size_t array(self, size_t i) except 0 nogil:
        """Print the array whose elements begin with token `i` to `text`; return the index of the token after it."""
        cdef EncToken* tape = <EncToken*>self.scanner.tape.p
        cdef EncToken* token
        cdef size_t depth = 1
        cdef bint is_first = True
        self.text.n = 0
        self.add(b"[", 1)
        self.in_object[1] = False
        while depth:
            token = &tape[i]
            i += 1
            if token.kind == T_CLOSE_OBJECT or token.kind == T_CLOSE_ARRAY:
                self.add(b"}" if token.kind == T_CLOSE_OBJECT else b"]", 1)
                depth -= 1
                is_first = False
                continue
            # An element, or a member with its key.
            if not is_first:
                self.add(b",", 1)
            is_first = False
            if self.in_object[depth]:
                self.add_string(token.key, token.key_size)
                self.add(b":", 1)
            if token.kind == T_OPEN_OBJECT or token.kind == T_OPEN_ARRAY:
                self.add(b"{" if token.kind == T_OPEN_OBJECT else b"[", 1)
                depth += 1
                self.in_object[depth] = token.kind == T_OPEN_OBJECT
                is_first = True
            else:
                self.add_scalar(token)
        return i

    cdef inline int add(self, const char* text, size_t size) except -1 nogil:
        """Append to `text`."""
        return enc_buf_put(&self.text, text, size)

    cdef int add_scalar(self, EncToken* token) except -1 nogil:
        """Add a value that is within an array as JSON text."""
        cdef Out digits
        if token.kind == T_STRING:
            return self.add_string(token.text, token.size)
        if token.kind == T_INTEGER:
            enc_buf_room(&self.text, 24)
            digits.data, digits.size, digits.capacity = <char*>self.text.p + self.text.n, 0, 24
            put_integer(&digits, token.number)
            self.text.n += digits.size
            return 0
        if token.kind == T_FLOAT:
            with gil:
                return self.add_real(token.number)
        if token.kind == T_TRUE:
            return self.add(b"true", 4)
        if token.kind == T_FALSE:
            return self.add(b"false", 5)
        if token.kind == T_NULL:
            return self.add(b"null", 4)
        return self.add(b"{}" if token.kind == T_EMPTY_OBJECT else b"[]", 2)

    cdef int add_real(self, int64_t bits) except -1:
        """Append a float, given as its `bits`, to `text` with six digits; if these change it, with all it needs."""
        cdef double value
        cdef char* text
        memcpy(&value, &bits, sizeof(value))
        text = PyOS_double_to_string(value, c"g", 6, 0, NULL)
        try:
            if PyOS_string_to_double(text, NULL, NULL) == value:
                return self.add(text, strlen(text))
        finally:
            PyMem_Free(text)
        text = PyOS_double_to_string(value, c"r", 0, 2, NULL)  # 2: with ".0"
        try:
            return self.add(text, strlen(text))
        finally:
            PyMem_Free(text)

    cdef int add_string(self, const uint8_t* text, size_t size) except -1 nogil:
        """Add a string in quotes, with the escapes of JSON."""
        cdef uint8_t* out
        cdef uint8_t byte, how
        cdef size_t i
        enc_buf_room(&self.text, 6 * size + 2)
        out = self.text.p + self.text.n
        out[0] = c'"'
        out += 1
        for i in range(size):
            byte = text[i]
            how = ir_escapes[byte]
            if how == 0:
                out[0] = byte
                out += 1
                continue
            out[0], out[1] = c"\\", how
            out += 2
            if how == c"u":
                out[0] = out[1] = c"0"
                out[2], out[3] = HEX[byte >> 4], HEX[byte & 15]
                out += 4
        out[0] = c'"'
        self.text.n = out + 1 - self.text.p
        return 0
