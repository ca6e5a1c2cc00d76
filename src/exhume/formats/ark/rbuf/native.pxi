# The rbuf part of the kernel: messages of types that a log declares itself, checked and printed without the interpreter
# lock.  Messages that it does not accept are for the readers of `compiler`.  `exhume.formats.ark.pykernel` documents
# the functions of the same names; `program` makes the rows of a type.
#
# A message is an object: a header byte, fields, and groups (blocks of fields that were added to its type later).  `Out`
# is a buffer that grows: `reserve` enlarges it, `put` appends without a check, `add` does both.  `ir_is_utf8` is
# whether bytes are UTF-8.  The readers named `read_ark_...` are generated from the specifications.
#
# Functions that take `at` and `end` read something that starts at offset `at` of the message and must not pass `end`.
# They return the offset where it ends, or -1 if it is not accepted or memory is exhausted.  What they read is printed to
# `w.out`, unless that is NULL.
#
# Spec: rbuf wire format.

cdef struct RbufOp:  # a row of a program, as `program` writes it
    int64_t kind    # RBUF_..., or the letter of `struct` for a number or boolean; blank for a group or an alternative
    int64_t flags
    int64_t child   # the first row within
    int64_t count   # rows within, or bytes, or elements
    int64_t least   # the fewest bytes of an element or of a pair
    int64_t cost    # what an element costs; the first byte of an object; the number of a group or an alternative
    int64_t text    # the text printed before it
    int64_t size

cdef enum:
    # kinds of values; an object leads to a row of its own (b), with the fields and groups of its type
    RBUF_GUID = 0x67            # g
    RBUF_FIXED_BYTES = 0x78     # x
    RBUF_STRING = 0x73          # s
    RBUF_BYTES = 0x79           # y: with a length
    RBUF_REST = 0x7A            # z: bytes to the end
    RBUF_LIST = 0x6C            # l
    RBUF_ARRAY = 0x61           # a: a list of fixed size
    RBUF_MAP = 0x6D             # m: a dictionary with string keys
    RBUF_PAIRS = 0x70           # p: any other dictionary
    RBUF_OBJECT = 0x6F          # o
    RBUF_VARIANT = 0x76         # v

cdef enum:
    # flags of a row
    RBUF_OPTIONAL = 1   # a byte before the value states whether it is there
    RBUF_REMOVED = 2    # a removed field: it is checked, not printed
    RBUF_FINAL = 4      # an object without header byte and groups
    # forms of JSON
    RBUF_PLAIN = 1      # the value alone: integers are numbers, whatever their size, and absent fields are left out
    # limits
    RBUF_SAFE = 0x20000000000000  # 2^53: larger integers become strings, as a double does not have all of them
    RBUF_NESTED = 300   # values within values; the readers in Python allow more
    RBUF_KEYS = 32      # keys out of order that are compared with each other

cdef struct RbufColumn  # in `columns.pxi`

cdef struct RbufWalk:  # the state of reading a message
    const RbufOp* ops   # the program of its type
    const char* texts   # the strings that the program refers to
    const uint8_t* data # the message
    Out* out            # NULL: nothing is printed
    int form            # of JSON
    int64_t budget      # what the remaining elements may cost
    int objects         # how many may still be within each other
    int nested          # values that may still be within each other
    bint is_dropped     # within a removed field, whose faults are not reported
    bint is_full        # there is no memory
    RbufColumn* columns # NULL: none are filled
    int64_t next        # the column of the next field, and one past the last
    int64_t last
    int64_t room        # bytes that columns may still take
    int64_t lost        # values that do not fit
    const char* names   # the strings of the program, while `texts` are those of columns

cdef enum:
    SPARES = 1024       # buffers that are kept
    SPARED = 0x2000000  # bytes of them at most

cdef Out[SPARES] spares  # memory that the next call uses again, which costs less than to ask the system for it
cdef int spare_count = 0
cdef int64_t spared = 0


cdef void take_out(Out* out) noexcept:
    """Empty memory: that which was released last, or none yet."""
    global spare_count, spared
    memset(out, 0, sizeof(Out))
    if spare_count:
        spare_count -= 1
        out[0] = spares[spare_count]
        out.size = 0
        spared -= out.capacity


cdef void give_out(Out* out) noexcept:
    """Release memory; the last released is reused first."""
    global spare_count, spared
    if out.data != NULL and spare_count < SPARES and out.capacity <= SPARED - spared:
        spared += out.capacity
        spares[spare_count] = out[0]
        spare_count += 1
    else:
        free(out.data)
    memset(out, 0, sizeof(Out))


cdef class Held:
    """Written memory, to be read through the buffer protocol."""

    cdef Out out

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self.out.data, self.out.size, 1, flags)

    def __dealloc__(self):
        give_out(&self.out)


cdef object hold(Out* out):
    """A view of the written bytes, without a copy; `out` is empty then."""
    cdef Held held = Held()
    cdef char* data = <char*>realloc(out.data, max(1, out.size))  # for 0 bytes, it could return NULL
    if data == NULL:
        raise MemoryError
    out.data, out.capacity = data, max(1, out.size)
    held.out = out[0]
    memset(out, 0, sizeof(Out))
    return PyMemoryView_FromObject(held)


cdef inline bint rbuf_room(RbufWalk* w, int64_t size) noexcept nogil:
    """Reserve `size` more bytes of output; False when there is no memory."""
    if reserve(w.out, size):
        return True
    w.is_full = True
    return False


cdef bint rbuf_text(RbufWalk* w, const uint8_t* p, int64_t size) noexcept nogil:
    """Print text as content of a JSON string; False when it is not UTF-8, or there is no memory."""
    cdef int done = json_text(w.out, p, size, False)  # 1; 0 if it is not UTF-8; -1 without memory
    w.is_full = w.is_full or done < 0
    return done > 0


cdef bint rbuf_bytes(RbufWalk* w, const uint8_t* p, int64_t size) noexcept nogil:
    """Print bytes as JSON; False when there is no memory."""
    if json_bytes(w.out, p, size):
        return True
    w.is_full = True
    return False


# `put_unsigned` and `put_real` write at an address and return how many bytes they wrote.

cdef inline void rbuf_unsigned(Out* out, uint64_t value, bint plain) noexcept nogil:
    """Print a number, for which the output has space; unless `plain`, a large one is a string (see RBUF_SAFE)."""
    if plain or value <= <uint64_t>RBUF_SAFE:
        out.size += put_unsigned(out.data + out.size, value)
        return
    put(out, b'"', 1)
    out.size += put_unsigned(out.data + out.size, value)
    put(out, b'"', 1)


cdef inline void rbuf_signed(Out* out, int64_t value, bint plain) noexcept nogil:
    """Print a number that may be negative, as `rbuf_unsigned` does."""
    if plain or -<int64_t>RBUF_SAFE <= value <= <int64_t>RBUF_SAFE:
        put_integer(out, value)
        return
    put(out, b'"', 1)
    put_integer(out, value)
    put(out, b'"', 1)


cdef inline void rbuf_real(Out* out, double value) noexcept nogil:
    """Print a float, for which the output has space; NaN and infinities are strings, as JSON has no such numbers."""
    if isnan(value):
        put(out, b'"nan"', 5)
    elif isinf(value):
        if value < 0:
            put(out, b'"-inf"', 6)
        else:
            put(out, b'"inf"', 5)
    else:
        out.size += put_real(out.data + out.size, value)


cdef void rbuf_guid(Out* out, ArkRbufGuid* guid) noexcept nogil:
    """Print a GUID in quotes: 38 bytes, for which the output has space."""
    cdef uint32_t[4] parts
    cdef char* at = out.data + out.size
    cdef int i
    parts[0], parts[1], parts[2], parts[3] = guid.digits0, guid.digits1, guid.digits2, guid.digits3
    at[0] = at[37] = c'"'
    at += 1
    # The digits are four numbers of 32 bits, the highest first; hyphens follow digits 8, 12, 16 and 20.
    for i in range(32):
        at[0] = HEX[parts[i >> 3] >> (28 - 4 * (i & 7)) & 15]
        at += 1
        if i in (7, 11, 15, 19):
            at[0] = c"-"
            at += 1
    out.size += 38


cdef int64_t rbuf_fixed(RbufWalk* w, const RbufOp* op, int64_t at, int64_t end) noexcept nogil:
    """Read and print a value of a fixed number of bytes; kinds are as in `RbufOp`."""
    cdef const uint8_t* p = w.data + at
    cdef bint plain = w.form & RBUF_PLAIN
    cdef int64_t kind = op.kind
    cdef uint16_t u2
    cdef uint32_t u4
    cdef uint64_t u8
    cdef float f4
    cdef double f8
    cdef ArkRbufGuid guid
    if end - at < op.count:
        return -1
    if w.out == NULL:
        return at + op.count
    if kind == RBUF_FIXED_BYTES:
        return at + op.count if rbuf_bytes(w, p, op.count) else -1
    if not rbuf_room(w, 64):  # for any of the values below
        return -1
    if kind == c"d":
        memcpy(&f8, p, sizeof(f8))
        rbuf_real(w.out, f8)
    elif kind == c"f":
        memcpy(&f4, p, sizeof(f4))
        rbuf_real(w.out, <double>f4)
    elif kind == c"Q":
        memcpy(&u8, p, sizeof(u8))
        rbuf_unsigned(w.out, u8, plain)
    elif kind == c"q":
        memcpy(&u8, p, sizeof(u8))
        rbuf_signed(w.out, <int64_t>u8, plain)
    elif kind == c"I":
        memcpy(&u4, p, sizeof(u4))
        rbuf_unsigned(w.out, u4, plain)
    elif kind == c"i":
        memcpy(&u4, p, sizeof(u4))
        rbuf_signed(w.out, <int32_t>u4, plain)
    elif kind == c"H":
        memcpy(&u2, p, sizeof(u2))
        rbuf_unsigned(w.out, u2, plain)
    elif kind == c"h":
        memcpy(&u2, p, sizeof(u2))
        rbuf_signed(w.out, <int16_t>u2, plain)
    elif kind == c"B":
        rbuf_unsigned(w.out, p[0], plain)
    elif kind == c"b":
        rbuf_signed(w.out, <int8_t>p[0], plain)
    elif kind == c"?":
        if p[0]:
            put(w.out, b"true", 4)
        else:
            put(w.out, b"false", 5)
    elif kind == RBUF_GUID:
        read_ark_rbuf_guid(w.data, at, end, &guid)
        rbuf_guid(w.out, &guid)
    else:
        return -1
    return at + op.count


cdef inline int64_t rbuf_field(RbufWalk* w, const RbufOp* op, int64_t at, int64_t end) noexcept nogil:
    """Read and print a field, preceded by its name and, unless it is the first, a comma."""
    cdef Out* out = w.out
    cdef bint is_dropped = w.is_dropped
    if op.flags & RBUF_REMOVED:
        w.out, w.is_dropped = NULL, True
        at = rbuf_value(w, op, at, end)
        w.out, w.is_dropped = out, is_dropped
        return at
    if out != NULL:
        if w.form & RBUF_PLAIN and op.flags & RBUF_OPTIONAL and at < end and not w.data[at]:
            return at + 1  # an absent field
        if not rbuf_room(w, op.size + 1):
            return -1
        if out.data[out.size - 1] != c"{":
            put(out, b",", 1)
        put(out, w.texts + op.text, op.size)
    return rbuf_value(w, op, at, end)


cdef inline int64_t rbuf_fields(RbufWalk* w, const RbufOp* of, int64_t at, int64_t end) noexcept nogil:
    """Read the fields of an object or a group, to be printed or added to columns."""
    cdef int64_t number
    if w.columns != NULL:
        return column_fields(w, of, at, end)
    for number in range(of.count):
        at = rbuf_field(w, &w.ops[of.child + number], at, end)
        if at < 0:
            return -1
    return at


cdef int64_t rbuf_object(RbufWalk* w, const RbufOp* body, int64_t at, int64_t end) noexcept nogil:
    """Read an object with all groups of its type, in their order; `body` is the row of the type.

    In that row, `cost` is the byte that opens the object, `text` the first row of its groups and `size` their number.
    """
    cdef const RbufOp* group
    cdef ArkRbufGroupHeader header
    cdef int64_t number, stop
    if w.objects <= 0:
        return -1
    if not body.flags & RBUF_FINAL:
        if at >= end or w.data[at] != body.cost:
            return -1
        at += 1
    if w.out != NULL and not add(w.out, b"{", 1):
        w.is_full = True
        return -1
    w.objects -= 1
    at = rbuf_fields(w, body, at, end)
    for number in range(body.size):
        if at < 0:
            return -1
        group = &w.ops[body.text + number]
        at = read_ark_rbuf_group_header(w.data, at, end, &header)
        if at < 0 or header.reserved or header.reserved1 or header.number != group.cost:
            return -1
        if header.has_more != (number + 1 < body.size):
            return -1
        stop = at + header.len_body
        if rbuf_fields(w, group, at, stop) != stop:
            return -1
        at = stop
    w.objects += 1
    if at >= 0 and w.out != NULL and not add(w.out, b"}", 1):
        w.is_full = True
        return -1
    return at


cdef int64_t rbuf_count(RbufWalk* w, const RbufOp* op, int64_t at, int64_t end, int64_t* number) noexcept nogil:
    """Read the number of elements or pairs into `number`, and take their cost from the budget.

    A number for which the bytes or the budget do not suffice is not accepted.
    """
    cdef ArkRbufCount count
    if op.kind == RBUF_ARRAY:
        number[0] = op.count
    else:
        at = read_ark_rbuf_count(w.data, at, end, &count)
        if at < 0:
            return -1
        number[0] = count.value
    if op.least and number[0] > (end - at) // op.least:
        return -1
    if number[0] > w.budget // op.cost:
        return -1
    w.budget -= number[0] * op.cost
    return at


cdef int64_t rbuf_list(RbufWalk* w, const RbufOp* op, int64_t at, int64_t end) noexcept nogil:
    """Check the elements of a list, and print them if there is an output. Returns where it ends, or -1."""
    cdef const RbufOp* element = &w.ops[op.child]
    cdef int64_t number, count = 0
    at = rbuf_count(w, op, at, end, &count)
    if at < 0:
        return -1
    if w.out == NULL:
        if element.flags == 0 and rbuf_is_number(element):  # `rbuf_count` has checked that the bytes are there
            return at + count * element.count
        for number in range(count):
            at = rbuf_value(w, element, at, end)
            if at < 0:
                return -1
        return at
    if not add(w.out, b"[", 1):
        w.is_full = True
        return -1
    for number in range(count):
        if number and not add(w.out, b",", 1):
            w.is_full = True
            return -1
        at = rbuf_value(w, element, at, end)
        if at < 0:
            return -1
    if not add(w.out, b"]", 1):
        w.is_full = True
        return -1
    return at


cdef inline bint rbuf_is_number(const RbufOp* op) noexcept nogil:
    """Whether any bytes of the right number are a value: numbers, booleans, GUIDs."""
    return op.kind not in (RBUF_FIXED_BYTES, RBUF_STRING, RBUF_BYTES, RBUF_REST, RBUF_LIST, RBUF_ARRAY, RBUF_MAP, RBUF_PAIRS, RBUF_OBJECT, RBUF_VARIANT)


cdef struct RbufKeys:  # the keys of a dictionary that were read so far
    ArkRbufByteBuffer[RBUF_KEYS] first  # the first of them, to compare with keys out of order
    ArkRbufByteBuffer last
    int64_t count
    bint ordered    # whether they ascend, so that each has to be compared only with the last


cdef bint rbuf_key(RbufWalk* w, RbufKeys* keys, int64_t at, int64_t end) noexcept nogil:
    """Whether a string key differs from those before it; false if too many are out of order to check."""
    cdef ArkRbufByteBuffer this
    cdef int64_t size, before, number
    cdef int order
    if read_ark_rbuf_byte_buffer(w.data, at, end, &this) < 0:
        return False
    size = this.value_end - this.value_start
    if keys.count and keys.ordered:
        before = keys.last.value_end - keys.last.value_start
        order = memcmp(w.data + keys.last.value_start, w.data + this.value_start, min(size, before))
        keys.ordered = order < 0 or order == 0 and size > before
    if not keys.ordered:
        if keys.count >= RBUF_KEYS:
            return False
        for number in range(keys.count):
            if keys.first[number].value_end - keys.first[number].value_start == size:
                if memcmp(w.data + keys.first[number].value_start, w.data + this.value_start, size) == 0:
                    return False
    if keys.count < RBUF_KEYS:
        keys.first[keys.count] = this
    keys.last = this
    keys.count += 1
    return True


cdef int64_t rbuf_pairs(RbufWalk* w, const RbufOp* op, int64_t at, int64_t end) noexcept nogil:
    """Read a dictionary; print it as a JSON object if its keys are strings (`m`), else as a list of pairs."""
    cdef const RbufOp* key = &w.ops[op.child]
    cdef const RbufOp* value = &w.ops[op.child + 1]
    cdef RbufKeys keys
    cdef bint as_map = op.kind == RBUF_MAP
    cdef int64_t number, count = 0, shown
    keys.count, keys.ordered = 0, True
    at = rbuf_count(w, op, at, end, &count)
    if at < 0:
        return -1
    if w.out != NULL and not add(w.out, b"{" if as_map else b"[", 1):
        w.is_full = True
        return -1
    for number in range(count):
        shown = w.out.size if w.out != NULL else 0
        if w.out != NULL:
            if not rbuf_room(w, 2):
                return -1
            if number and w.out.data[w.out.size - 1] != c"{":
                put(w.out, b",", 1)
            if not as_map:
                put(w.out, b"[", 1)
        if as_map and not rbuf_key(w, &keys, at, end):
            return -1
        at = rbuf_value(w, key, at, end)
        if at < 0:
            return -1
        if w.out != NULL:
            if as_map and w.form & RBUF_PLAIN and value.flags & RBUF_OPTIONAL and at < end and not w.data[at]:
                w.out.size = shown  # an absent value: take back its key
                at += 1
                continue
            if not add(w.out, b":" if as_map else b",", 1):
                w.is_full = True
                return -1
        at = rbuf_value(w, value, at, end)
        if at < 0:
            return -1
        if w.out != NULL and not as_map and not add(w.out, b"]", 1):
            w.is_full = True
            return -1
    if w.out != NULL and not add(w.out, b"}" if as_map else b"]", 1):
        w.is_full = True
        return -1
    return at


cdef int64_t rbuf_variant(RbufWalk* w, const RbufOp* op, int64_t at, int64_t end) noexcept nogil:
    """Read a variant; print it as an object with the name of its type. An unknown type is not accepted, except in a
    removed field (`is_dropped`), which is passed over.
    """
    cdef ArkRbufVariantHeader header
    cdef const RbufOp* one
    cdef int64_t number
    at = read_ark_rbuf_variant_header(w.data, at, end, &header)
    if at < 0:
        return -1
    end = at + header.len_object
    for number in range(op.count):
        one = &w.ops[op.child + number]
        if one.cost == header.index:
            if w.out != NULL and not add(w.out, w.texts + one.text, one.size):
                w.is_full = True
                return -1
            if rbuf_object(w, &w.ops[one.child], at, end) != end:
                return -1
            if w.out != NULL and not add(w.out, b"}", 1):
                w.is_full = True
                return -1
            return end
    return end if w.is_dropped else -1


cdef int64_t rbuf_value(RbufWalk* w, const RbufOp* op, int64_t at, int64_t end) noexcept nogil:
    """Read and print a value of any kind, with the byte that states whether an optional one is there."""
    cdef int64_t kind = op.kind
    cdef ArkRbufByteBuffer held
    if op.flags & RBUF_OPTIONAL:
        if at >= end:
            return -1
        at += 1
        if not w.data[at - 1]:
            if w.out != NULL and not add(w.out, b"null", 4):
                w.is_full = True
                return -1
            return at
    if kind == RBUF_STRING or kind == RBUF_BYTES:
        at = read_ark_rbuf_byte_buffer(w.data, at, end, &held)
        if at < 0:
            return -1
        if w.out == NULL:
            if kind == RBUF_STRING and not ir_is_utf8(w.data + held.value_start, at - held.value_start):
                return -1
        elif kind == RBUF_BYTES:
            if not rbuf_bytes(w, w.data + held.value_start, at - held.value_start):
                return -1
        else:
            if not add(w.out, b'"', 1):
                w.is_full = True
                return -1
            if not rbuf_text(w, w.data + held.value_start, at - held.value_start):
                return -1
            put(w.out, b'"', 1)  # it fits
        return at
    if kind == RBUF_REST:
        if w.out != NULL and not rbuf_bytes(w, w.data + at, end - at):
            return -1
        return end
    if kind == RBUF_LIST or kind == RBUF_ARRAY or kind == RBUF_MAP or kind == RBUF_PAIRS or kind == RBUF_OBJECT or kind == RBUF_VARIANT:
        if w.nested <= 0:
            return -1
        w.nested -= 1
        if kind == RBUF_OBJECT:
            at = rbuf_object(w, &w.ops[op.child], at, end)
        elif kind == RBUF_VARIANT:
            at = rbuf_variant(w, op, at, end)
        elif kind == RBUF_MAP or kind == RBUF_PAIRS:
            at = rbuf_pairs(w, op, at, end)
        else:
            at = rbuf_list(w, op, at, end)
        w.nested += 1
        return at
    return rbuf_fixed(w, op, at, end)


cdef class RbufProgram:
    """A type as rows (`RbufOp`), which point into `rows`, and strings; see `rbuf.program` and pykernel.py."""

    cdef bytes rows, texts
    cdef readonly int64_t budget
    cdef readonly int objects
    cdef const RbufOp* ops

    def __init__(self, bytes rows not None, bytes texts not None, int64_t budget, int objects):
        if len(rows) == 0 or len(rows) % sizeof(RbufOp):
            raise ValueError("not whole rows")
        prepare_reals()
        self.rows, self.texts, self.budget, self.objects = rows, texts, budget, objects
        self.ops = <const RbufOp*>PyBytes_AS_STRING(<PyObject*>rows)
        # Only against crashes: rows come from `program`, not from a file.
        cdef Py_ssize_t count = len(rows) // sizeof(RbufOp), number
        cdef const RbufOp* op
        for number in range(count):
            op = &self.ops[number]
            if not (0 <= op.child <= count and 0 <= op.count and 0 <= op.least and 0 <= op.size and 0 <= op.text):
                raise ValueError("a row that cannot be")

    def __reduce__(self):
        return RbufProgram, (self.rows, self.texts, self.budget, self.objects)


cdef struct RbufMessage:  # a message with everything for reading and printing it without Python objects
    const uint8_t* data     # NULL: not for the kernel
    int64_t size
    const RbufOp* ops       # NULL: any bytes are a message
    const char* texts       # the strings to print between values, to which `ops` refer
    int64_t budget          # bytes that decoding may cost
    uint64_t time
    const char* head        # text printed before the message
    int64_t head_size
    int objects             # how many may be within each other


cdef int64_t rbuf_message(RbufMessage* one, Out* out, int form, bint* is_full) noexcept nogil:
    """Check a message, and print it as JSON of a form to `out`, unless that is NULL. Return whether it is accepted.

    If not, the readers in Python decide about it. `is_full` becomes true when memory is exhausted.
    """
    cdef RbufWalk walk
    cdef int64_t end
    if one.data == NULL:
        return False
    if one.ops == NULL:
        return True
    walk.columns = NULL
    walk.ops, walk.texts, walk.data = one.ops, one.texts, one.data
    walk.out, walk.form, walk.budget, walk.objects = out, form, one.budget, one.objects
    walk.nested, walk.is_dropped, walk.is_full = RBUF_NESTED, False, False
    end = rbuf_value(&walk, one.ops, 0, one.size)
    is_full[0] = walk.is_full
    return end == one.size


cdef int rbuf_kinds(RbufMessage* kinds, list programs, list heads) except -1:
    """Fill in the program and the head for each short identifier; the caller keeps the objects alive.

    A short identifier is one byte, which stands for a channel of the split.  `programs` and `heads` have 256 items,
    None for identifiers without one; a head is text to print before the message, and `heads` is None if nothing is
    printed.  A message of an identifier starts as a copy of its `kinds`, to which `rbuf_fill` adds the data.
    """
    cdef RbufProgram program
    cdef bytes head
    cdef int short
    if len(programs) != 256 or (heads is not None and len(heads) != 256):
        raise ValueError("not 256 programs")
    memset(kinds, 0, 256 * sizeof(RbufMessage))
    for short in range(256):
        program = programs[short]
        if program is not None:
            kinds[short].ops, kinds[short].budget, kinds[short].objects = program.ops, program.budget, program.objects
            kinds[short].texts = PyBytes_AS_STRING(<PyObject*>program.texts)
        head = heads[short] if heads is not None else None
        if head is not None:
            kinds[short].head = PyBytes_AS_STRING(<PyObject*>head)
            kinds[short].head_size = len(head)
    return 0


cdef inline int rbuf_fill(RbufMessage* one, RbufMessage* kinds, object messages, bytes objects, Py_ssize_t number) except -1:
    """Fill in the message `number`: the program of its type, and its data; the caller keeps the objects alive.

    `objects` has the short identifier of each message.  `messages` are bytes (None: not available), or stored ranges.
    """
    cdef bytes data
    cdef ArkPlace* place
    one[0] = kinds[<unsigned char>PyBytes_AS_STRING(<PyObject*>objects)[number]]
    if type(messages) is ArkStored:
        place = &(<ArkStored>messages).places[number]
        one.data, one.size = <const uint8_t*>place.data, place.size
        return 0
    data = (<list>messages)[number]
    if data is not None:
        one.data, one.size = <const uint8_t*>PyBytes_AS_STRING(<PyObject*>data), len(data)
    return 0


cdef Py_ssize_t rbuf_number(object messages) except -1:
    """The number of messages, which are a list or stored ranges."""
    if type(messages) is ArkStored:
        return (<ArkStored>messages).count
    if type(messages) is not list:
        raise TypeError("neither a list nor messages that were read")
    return len(<list>messages)


def ark_check(object messages, bytes objects not None, list programs not None):
    """Return the numbers of the messages that are not accepted, for Python to check.

    `objects` has their short identifiers, `programs` the program of each of the 256.
    """
    cdef Py_ssize_t count = rbuf_number(messages), number
    cdef list odd = []
    cdef bint is_full = False
    cdef RbufMessage[256] kinds
    if len(objects) != count:
        raise ValueError("not as many as there are messages")
    rbuf_kinds(kinds, programs, None)
    # One more than needed here and below, since `malloc` may return NULL for 0 bytes.
    cdef RbufMessage* found = <RbufMessage*>malloc((count + 1) * sizeof(RbufMessage))
    try:
        if found == NULL:
            raise MemoryError
        for number in range(count):
            rbuf_fill(&found[number], kinds, messages, objects, number)
        with nogil:
            for number in range(count):
                if rbuf_message(&found[number], NULL, 0, &is_full):
                    found[number].size = -1  # marks an accepted one
        for number in range(count):
            if found[number].size != -1:
                odd.append(number)
        return odd
    finally:
        free(found)


cdef int rbuf_gather(list order, list pieces, RbufMessage* found) except -1:
    """Fill `found`: message i of the result is the next one of the piece with the number `order[i]`.

    A piece has messages in sequence, and is a tuple: the messages, their times, their short identifiers, and by these
    identifiers the programs and the text printed first (`rbuf_kinds`).  It may have more messages than `order` takes.
    """
    cdef Py_ssize_t number, source, place, count = len(pieces)
    cdef Py_ssize_t* places = <Py_ssize_t*>malloc((len(order) + 1) * sizeof(Py_ssize_t))  # in the order, piece by piece
    cdef Py_ssize_t* ends = <Py_ssize_t*>calloc(count + 1, sizeof(Py_ssize_t))  # of a piece's places
    cdef object messages
    cdef const uint64_t[:] times
    cdef bytes objects
    cdef list programs, heads
    cdef RbufMessage[256] kinds
    try:
        if places == NULL or ends == NULL:
            raise MemoryError
        # A counting sort: `places` becomes the places in `order` of the first piece, then of the second, and so on.
        for number in range(len(order)):
            source = order[number]
            if not 0 <= source < count:
                raise ValueError("no such piece")
            ends[source + 1] += 1
        for source in range(count):
            ends[source + 1] += ends[source]
        for number in range(len(order)):
            source = order[number]
            places[ends[source]] = number
            ends[source] += 1
        place = 0
        for source in range(count):
            messages, times, objects, programs, heads = pieces[source]
            if not rbuf_number(messages) == times.shape[0] == len(objects) >= ends[source] - place:
                raise ValueError("not as many as there are messages")
            rbuf_kinds(kinds, programs, heads)
            for number in range(ends[source] - place):
                rbuf_fill(&found[places[place]], kinds, messages, objects, number)
                found[places[place]].time = times[number]
                place += 1
    finally:
        free(places)
        free(ends)
    return 0


def ark_json(list order not None, list pieces not None, int form, bytes tail not None):
    """Return the JSON of messages, in the order that names the piece of each (`rbuf_gather`), each followed by `tail`.

    The result is the text, the numbers of the messages that are not accepted, and where in the text theirs is missing.
    """
    cdef Py_ssize_t count = len(order), number
    cdef RbufMessage* found = <RbufMessage*>malloc((count + 1) * sizeof(RbufMessage))
    cdef RbufMessage* one
    cdef Out out
    cdef bint is_full = False
    cdef const char* end = PyBytes_AS_STRING(<PyObject*>tail)
    cdef Py_ssize_t end_size = len(tail), before
    cdef list odd = [], places = []
    take_out(&out)
    try:
        if found == NULL:
            raise MemoryError
        rbuf_gather(order, pieces, found)
        with nogil:
            for number in range(count):
                one = &found[number]
                before = out.size
                # A message that is not accepted: `size` -1 marks it, and `time` becomes its place in the text.
                if one.ops == NULL:
                    one.size = -1
                    one.time = before
                    continue
                if not reserve(&out, one.head_size + 64):
                    is_full = True
                    break
                if not form & RBUF_PLAIN:  # which prints values only, without time and head
                    put(&out, b'{"time_ns":', 11)
                    rbuf_unsigned(&out, one.time, False)
                    put(&out, one.head, one.head_size)
                if rbuf_message(one, &out, form, &is_full):
                    if not add(&out, end, end_size):
                        is_full = True
                        break
                elif is_full:
                    break
                else:
                    out.size = before
                    one.size = -1
                    one.time = before
        if is_full:
            raise MemoryError
        for number in range(count):
            if found[number].size == -1:
                odd.append(number)
                places.append(found[number].time)
        return hold(&out), odd, places
    finally:
        free(found)
        give_out(&out)
