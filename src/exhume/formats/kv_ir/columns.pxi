# Events of a KV-IR stream in the buffers of Arrow's columns, without the interpreter lock: the part of `run` that is
# used to fill columns.  `exhume.formats.kv_ir.pytokens` is the pure-Python implementation and has the documentation.
#
# A leaf is a key of an event (a node of one of two trees) and its value; `decoder` has those of the current event.  `c`
# is the column that gets a value.  Columns grow only when they get a value: rows without one become nulls before the
# next value (`begin`), or when the columns are taken (`pad`).  Results of functions: 0, or a fault (`IR_...`).
#
# Spec: Arrow columnar format, Physical Memory Layout.

cdef struct IrColumn:
    uint8_t kind            # as in Arrow's formats: l int64, g double, b bool, U string; m: mixed values as strings
    int64_t length          # values, nulls included; fewer than rows if the last events have none
    int64_t nulls
    Out bits                # a bit for each value, 1 if it is not null; empty as long as there are no nulls
    Out ends                # a zero, then the end of each string
    Out data

cdef struct IrLost:
    int64_t bad_texts       # strings that are not UTF-8
    int64_t rounded         # integers that a double cannot represent
    int64_t mixed           # values other than strings in a column of mixed types, which were printed


cdef int ir_zeros(Out* out, Py_ssize_t size) except -2 nogil:
    """Add zeros up to `size` bytes."""
    if size > out.size:
        ir_reserve(out, size - out.size)
        memset(out.data + out.size, 0, size - out.size)
        out.size = size
    return 0


cdef inline void ir_set_bit(Out* out, int64_t place) noexcept nogil:
    """Set a bit, counted from the lowest of the first byte."""
    out.data[place >> 3] |= 1 << (place & 7)


cdef inline void ir_cut_bits(Out* out, int64_t count) noexcept nogil:
    """Keep `count` bits, followed by zeros."""
    if out.size > count >> 3:
        out.size = (count + 7) >> 3
        if count & 7:
            out.data[count >> 3] &= (1 << (count & 7)) - 1


cdef object ir_hold(Out* out):
    """Return the output as an object with the buffer protocol, and leave `out` empty, with other memory."""
    made = hold(out)
    take_out(out)
    return made


cdef class IrColumns:
    """Columns, the nodes whose values they get, and the rows added to them since they were last taken.

    Made from a letter per column (`kinds`, see `IrColumn`), and for each tree an int32 per node: the number of its
    column, or -1.
    """
    cdef IrColumn* columns
    cdef Py_ssize_t count   # of columns
    cdef EncBuf places[2]   # the column of each node of the two trees, -1 for none
    cdef int64_t rows
    cdef int64_t used       # columns that have any value
    cdef int64_t texts      # bytes of strings
    cdef IrLost lost
    cdef Out sizes          # bytes of strings of each row
    cdef Out printed        # scratch space: an array as text

    def __cinit__(self, bytes kinds, bytes auto, bytes user):
        cdef Py_ssize_t i
        cdef const int32_t* place
        self.columns = <IrColumn*>calloc(len(kinds) + 1, sizeof(IrColumn))
        if self.columns == NULL:
            raise MemoryError
        self.count = len(kinds)
        for i in range(self.count):
            self.columns[i].kind = kinds[i]
            if self.columns[i].kind not in (c"l", c"g", c"b", c"U", c"m"):
                raise ValueError("no such kind of column")
        for which, places in enumerate((auto, user)):
            enc_buf_put(&self.places[<int>which], <const char*><bytes>places, len(places))
            place = <const int32_t*>self.places[<int>which].p
            if len(places) % sizeof(int32_t):
                raise ValueError("not whole numbers")
            for i in range(<Py_ssize_t>(len(places) // sizeof(int32_t))):
                if not -1 <= place[i] < self.count:
                    raise ValueError("no such column")

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.count):
            free(self.columns[i].bits.data)
            free(self.columns[i].ends.data)
            free(self.columns[i].data.data)
        free(self.columns)
        free(self.sizes.data)
        free(self.printed.data)
        enc_buf_free(&self.places[0])
        enc_buf_free(&self.places[1])

    cdef int64_t size(self) noexcept nogil:
        """About how many bytes the columns take when they are taken now."""
        return self.texts + <int64_t>sizeof(int64_t) * self.rows * (1 + self.used)

    cdef int row(self, KvIrDecoder decoder) except -2 nogil:
        """Add the current event; 0, or the fault, in which case nothing is added."""
        cdef int64_t texts = self.texts, used = self.used
        cdef IrLost lost = self.lost
        cdef int fault
        ir_reserve(&self.sizes, sizeof(int64_t))
        fault = self.tree(decoder, decoder.auto, &decoder.leaves[0], &self.places[0])
        if not fault:
            fault = self.tree(decoder, decoder.user, &decoder.leaves[1], &self.places[1])
        if fault:
            self.undo()
            self.texts, self.used = texts, used
            self.lost = lost
            return fault
        texts = self.texts - texts
        put(&self.sizes, <const char*>&texts, sizeof(int64_t))
        self.rows += 1
        return 0

    cdef int tree(self, KvIrDecoder decoder, IrTree tree, EncBuf* leaves, EncBuf* places) except -2 nogil:
        """Add the pairs (`leaves`) of one tree; pairs without a column are only checked. Returns 0 or the fault.

        `places`: the column of each node of this tree.
        """
        cdef IrLeaf* leaf = <IrLeaf*>leaves.p
        cdef IrColumn* c
        cdef Py_ssize_t i
        cdef int32_t place
        cdef int fault
        cdef bint is_array
        for i in range(<Py_ssize_t>(leaves.n // sizeof(IrLeaf))):
            # A column that has a value in this row already gets no second one.
            place = -1
            if leaf[i].node < <int64_t>(places.n // sizeof(int32_t)):
                place = (<int32_t*>places.p)[leaf[i].node]
            c = NULL if place < 0 or self.columns[place].length > self.rows else &self.columns[place]
            if leaf[i].kind == C_APART:
                if not decoder.join(&leaf[i]):
                    return IR_LOG_TYPE
                is_array = (<IrNode*>tree.nodes.p)[leaf[i].node].type == CLP_KV_IR_TAGS_NODE_ARRAY
                if is_array:
                    fault = self.array(decoder, c)
                    if fault:
                        return fault
                elif c != NULL:
                    if c.kind != c"U" and c.kind != c"m":
                        return IR_TYPE
                    self.text(c, <const uint8_t*>decoder.text.data, decoder.text.size)
            elif c != NULL and leaf[i].kind != C_NULL and leaf[i].kind != C_EMPTY:
                fault = self.value(decoder, c, &leaf[i])
                if fault:
                    return fault
        return 0

    cdef int value(self, KvIrDecoder decoder, IrColumn* c, IrLeaf* leaf) except -2 nogil:
        """Add a value that is stored in one token. Returns 0, or IR_TYPE if it does not fit the column."""
        cdef double real
        if leaf.kind == C_TEXT:
            if c.kind != c"U" and c.kind != c"m":
                return IR_TYPE
            self.text(c, leaf.text, leaf.size)
        elif c.kind == c"m":
            self.lost.mixed += 1
            decoder.text.size = 0
            ir_reserve(&decoder.text, 24)
            if leaf.kind == C_INTEGER:
                put_integer(&decoder.text, leaf.number)
            elif leaf.kind == C_REAL:
                ir_put_real(&decoder.text, leaf.real)
            else:
                put(&decoder.text, b"true" if leaf.number else b"false", 4 if leaf.number else 5)
            self.text(c, <const uint8_t*>decoder.text.data, decoder.text.size)
        elif c.kind == c"l" and leaf.kind == C_INTEGER:
            self.number(c, &leaf.number)
        elif c.kind == c"g" and leaf.kind == C_REAL:
            self.number(c, &leaf.real)
        elif c.kind == c"g" and leaf.kind == C_INTEGER:
            real = <double>leaf.number
            # 2^63 itself is no int64, so that it must not be turned back into one.
            if real >= 9223372036854775808.0 or <int64_t>real != leaf.number:
                self.lost.rounded += 1
            self.number(c, &real)
        elif c.kind == c"b" and leaf.kind == C_BOOLEAN:
            self.begin(c)
            ir_zeros(&c.data, (c.length + 8) >> 3)  # bytes for one more bit
            if leaf.number:
                ir_set_bit(&c.data, c.length)
            self.end(c)
        else:
            return IR_TYPE
        return 0

    cdef int array(self, KvIrDecoder decoder, IrColumn* c) except -2 nogil:
        """Add the array in the decoder's `text`; without a column (NULL), only check that it is one."""
        cdef bint is_printed = ir_print_array(&decoder.text, &self.printed)
        if c == NULL or c.kind != c"U" and c.kind != c"m":
            if not is_printed and not decoder.is_array():
                return IR_ARRAY
            return 0 if c == NULL else IR_TYPE
        if is_printed:
            self.text(c, <const uint8_t*>self.printed.data, self.printed.size)
        else:
            with gil:  # a rare form, which Python prints
                found = decoder.array_text()
                if found is None:
                    return IR_ARRAY
                text = <bytes?>found[0]
                self.text(c, <const uint8_t*><const char*>text, len(text))
                self.lost.bad_texts += <bint>found[1]
        if c.kind == c"m":
            self.lost.mixed += 1
        return 0

    cdef int begin(self, IrColumn* c) except -2 nogil:
        """Prepare a column for the value of the current row: add nulls for rows without one, and its bit."""
        if c.length < self.rows:
            self.pad(c, self.rows)
        if c.nulls:
            ir_zeros(&c.bits, (c.length + 8) >> 3)  # bytes for one more bit
        return 0

    cdef void end(self, IrColumn* c) noexcept nogil:
        """Count the value that was added."""
        if c.nulls:
            ir_set_bit(&c.bits, c.length)
        self.used += c.length == c.nulls  # its first value
        c.length += 1

    cdef int pad(self, IrColumn* c, int64_t length) except -2 nogil:
        """Add nulls, until there are `length` values."""
        cdef int64_t count = length - c.length, end = c.data.size, at
        cdef int64_t whole = c.length >> 3
        if count <= 0:
            return 0
        if not c.nulls:  # the first nulls: the values before them get bits
            c.bits.size = 0
            ir_reserve(&c.bits, whole + 1)
            memset(c.bits.data, 0xFF, whole)
            c.bits.data[whole] = <char>((1 << (c.length & 7)) - 1)
            c.bits.size = whole + (1 if c.length & 7 else 0)
        ir_zeros(&c.bits, (length + 7) >> 3)
        if c.kind == c"l" or c.kind == c"g":
            ir_zeros(&c.data, sizeof(int64_t) * length)
        elif c.kind == c"b":
            ir_zeros(&c.data, (length + 7) >> 3)
        else:
            ir_zeros(&c.ends, sizeof(int64_t))
            ir_reserve(&c.ends, sizeof(int64_t) * count)
            for at in range(count):  # a null is an empty string
                put(&c.ends, <const char*>&end, sizeof(int64_t))
        c.nulls += count
        c.length = length
        return 0

    cdef int number(self, IrColumn* c, const void* value) except -2 nogil:
        """Add a number of eight bytes."""
        self.begin(c)
        ir_add(&c.data, <const char*>value, sizeof(int64_t))
        self.end(c)
        return 0

    cdef int text(self, IrColumn* c, const uint8_t* text, Py_ssize_t size) except -2 nogil:
        """Add a string; each byte that belongs to no character of UTF-8 becomes U+FFFD."""
        cdef Py_ssize_t before = c.data.size, at = 0, step
        cdef int64_t end
        self.begin(c)
        ir_zeros(&c.ends, sizeof(int64_t))
        ir_reserve(&c.ends, sizeof(int64_t))
        if ir_is_utf8(text, size):
            ir_add(&c.data, <const char*>text, size)
        else:
            ir_reserve(&c.data, 3 * size)
            while at < size:
                step = 1 if text[at] < 0x80 else utf8_sequence(text + at, size - at)
                if step:
                    put(&c.data, <const char*>text + at, step)
                else:
                    put(&c.data, b"\xef\xbf\xbd", 3)
                at += max(step, 1)
            self.lost.bad_texts += 1
        end = c.data.size
        put(&c.ends, <const char*>&end, sizeof(int64_t))
        self.texts += end - before
        self.end(c)
        return 0

    cdef int undo(self) except -2 nogil:
        """Remove the values of a row that was only partly added.

        Nulls that `pad` added for earlier rows stay; they are of rows that exist.
        """
        cdef IrColumn* c
        cdef Py_ssize_t i
        for i in range(self.count):
            c = &self.columns[i]
            c.length = min(c.length, self.rows)
            ir_cut_bits(&c.bits, c.length)
            if c.kind == c"b":
                ir_cut_bits(&c.data, c.length)
            elif c.kind == c"l" or c.kind == c"g":
                c.data.size = sizeof(int64_t) * c.length
            elif c.ends.size:
                c.ends.size = sizeof(int64_t) * (c.length + 1)
                c.data.size = (<int64_t*>c.ends.data)[c.length]
        return 0

    cdef tuple take(self):
        """Return `(sizes, columns, losses)` of the rows since the last call (`pytokens.Taken`); empty the columns."""
        cdef IrColumn* c
        cdef Py_ssize_t i
        cdef list found = [None] * self.count
        cdef IrLost lost = self.lost
        self.undo()  # memory may have run out within a row
        for i in range(self.count):
            c = &self.columns[i]
            if c.length == c.nulls:
                c.bits.size = c.ends.size = c.data.size = 0
            else:
                self.pad(c, self.rows)
                found[i] = (c.nulls, ir_hold(&c.bits) if c.nulls else None, ir_hold(&c.ends) if c.ends.size else None,
                            ir_hold(&c.data))
            c.length = c.nulls = 0
        sizes = ir_hold(&self.sizes)
        self.rows = self.used = self.texts = 0
        memset(&self.lost, 0, sizeof(IrLost))
        return sizes, found, (lost.bad_texts, lost.rounded, lost.mixed)
