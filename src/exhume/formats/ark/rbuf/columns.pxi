# Messages to the buffers of Arrow's columns, without the interpreter lock.  A type's program describes its messages,
# and a tree of columns the place of each value; `exhume.formats.ark.columns` makes the tree.  A struct has a column for
# each of its fields that is not removed, in the order of the program.
#
# Spec: rbuf wire format; Arrow columnar format, Physical Memory Layout.

# `w` is the walk through a message (`RbufWalk` in native.pxi), `op` a row of the program, `c` a column.  As there,
# functions with `at` and `end` return where the value ends, or -1 if the message is not accepted or does not fit.
# After -1 the whole batch is dropped, so that nothing of `w` or the columns is restored.
#
# The walk has `ops`, the rows of the message's program; `columns`, all columns of the table (NULL: only check);
# `[next, last)`, the columns for the remaining fields of the object being read; `room`, bytes that the columns may
# still take; `lost`, times that became null; `nested`, how many values may still be within each other; `names`, the
# strings of the message's program; `texts`, those of the columns.  `RbufOp.child` and `RbufShape.child` are the index
# of the first row or column within; `flags`, RBUF_OPTIONAL and others.

cdef enum:  # kinds of columns
    COLUMN_NUMBER = 0x77        # w: of `width` bytes
    COLUMN_BOOLEAN = 0x3F       # ?
    COLUMN_GUID = 0x67          # g
    COLUMN_TIME = 0x74          # t
    COLUMN_STRING = 0x73        # s: or bytes
    COLUMN_LIST = 0x6C          # l
    COLUMN_ARRAY = 0x61         # a: a list of fixed size
    COLUMN_MAP = 0x6D           # m
    COLUMN_STRUCT = 0x6F        # o
    COLUMN_VARIANT = 0x76       # v
    COLUMN_EMPTY = 0x65         # e: a struct without fields
    COLUMN_JSON = 0x6A          # j: JSON text of a value without a type in Arrow
    COLUMN_ABSENT = 0x2D        # -: no column, because the field was not requested

cdef struct RbufShape:  # a column as it is described
    int64_t kind    # COLUMN_...
    int64_t child   # the first column within
    int64_t count   # columns within, or elements of a list of fixed size
    int64_t width   # bytes of a value
    int64_t text    # the name of an alternative's type: its offset in the strings of the columns, and its bytes
    int64_t size

cdef struct RbufColumn:
    RbufShape shape
    int64_t length  # values so far
    int64_t nulls   # absent ones among them
    Out bits        # a bit for each value: whether it is there; empty until one is absent
    Out ends        # for values of different sizes: where each ends in `data`, or in the columns within
    Out data


cdef inline bint column_room(RbufWalk* w, Out* out, int64_t size) noexcept nogil:
    """Reserve bytes for a column; False when the columns of the batch take too many, or there is no memory."""
    w.room -= size
    return w.room >= 0 and rbuf_grow(w, out, size)


cdef inline bint rbuf_grow(RbufWalk* w, Out* out, int64_t size) noexcept nogil:
    """Reserve `size` more bytes of `out`; False when there is no memory."""
    if reserve(out, size):
        return True
    w.is_full = True
    return False


cdef inline bint column_bit(RbufWalk* w, Out* out, int64_t place, bint value) noexcept nogil:
    """Add a bit as number `place` of the bits in `out`, the lowest bit of a byte first."""
    if not place & 7:
        if not column_room(w, out, 1):
            return False
        out.data[out.size] = 0
        out.size += 1
    if value:
        out.data[place >> 3] |= 1 << (place & 7)
    return True


cdef bint column_mark(RbufWalk* w, RbufColumn* c, bint valid) noexcept nogil:
    """Count a value that was added; `valid` is whether it is there."""
    cdef int64_t whole = c.length >> 3  # full bytes of bits before this value
    w.room -= 1  # so that values without bytes, such as empty structs, are limited, too
    if c.nulls or not valid:
        if not c.nulls:  # the first absent value: set the bits of all before it
            if not column_room(w, &c.bits, whole + 1):
                return False
            memset(c.bits.data, 0xFF, whole)
            c.bits.data[whole] = <char>((1 << (c.length & 7)) - 1)
            c.bits.size = whole + (1 if c.length & 7 else 0)
        if not column_bit(w, &c.bits, c.length, valid):
            return False
        c.nulls += not valid
    c.length += 1
    return w.room >= 0


cdef bint column_end(RbufWalk* w, RbufColumn* c, int64_t place) noexcept nogil:
    """Add the offset where a value ends; False above 31 bits, as Arrow's offsets are 32-bit integers."""
    cdef int32_t end = <int32_t>place
    if place > 0x7FFFFFFF or not column_room(w, &c.ends, sizeof(end)):
        return False
    put(&c.ends, <const char*>&end, sizeof(end))
    return True


cdef inline bint column_put(RbufWalk* w, RbufColumn* c, const void* data, int64_t size) noexcept nogil:
    """Append bytes to the data of a column."""
    if not column_room(w, &c.data, size):
        return False
    put(&c.data, <const char*>data, size)
    return True


cdef inline bint column_text(RbufWalk* w, RbufColumn* c, const void* data, int64_t size) noexcept nogil:
    """Add a string or bytes as a value of a column."""
    return column_put(w, c, data, size) and column_end(w, c, c.data.size) and column_mark(w, c, True)


cdef bint column_blank(RbufWalk* w, int64_t number, bint valid) noexcept nogil:
    """Add an absent value to column `number`, or, if `valid`, the zeros that the columns of an absent struct have."""
    cdef RbufColumn* c = &w.columns[number]
    cdef int64_t kind = c.shape.kind, one
    if kind == COLUMN_NUMBER or kind == COLUMN_TIME:
        if not column_room(w, &c.data, c.shape.width):
            return False
        memset(c.data.data + c.data.size, 0, c.shape.width)
        c.data.size += c.shape.width
    elif kind == COLUMN_BOOLEAN or kind == COLUMN_EMPTY:
        if not column_bit(w, &c.data, c.length, False):
            return False
    elif kind == COLUMN_LIST or kind == COLUMN_MAP:
        if not column_end(w, c, w.columns[c.shape.child].length):
            return False
    elif kind == COLUMN_ARRAY:  # its elements are absent, or zeros, as it is
        for one in range(c.shape.count):
            if not column_blank(w, c.shape.child, valid):
                return False
    elif kind == COLUMN_STRUCT or kind == COLUMN_VARIANT:  # the columns within have zeros in any case
        for one in range(c.shape.count):
            if not column_blank(w, c.shape.child + one, True):
                return False
    elif not column_end(w, c, c.data.size):
        return False
    return column_mark(w, c, valid)


cdef int64_t column_outside(RbufWalk* w, const RbufOp* op, int64_t at, int64_t end) noexcept nogil:
    """Check a value that goes to no column: without columns and output, a walk only checks."""
    cdef RbufColumn* columns = w.columns
    w.columns = NULL
    at = rbuf_field(w, op, at, end)
    w.columns = columns
    return at


cdef int64_t column_fields(RbufWalk* w, const RbufOp* of, int64_t at, int64_t end) noexcept nogil:
    """Add the fields of an object or a group to the columns from `w.next` on."""
    cdef const RbufOp* op
    cdef int64_t number
    for number in range(of.count):
        op = &w.ops[of.child + number]
        if op.flags & RBUF_REMOVED:
            at = column_outside(w, op, at, end)
        elif w.next >= w.last:
            return -1
        else:
            w.next += 1
            at = column_value(w, op, w.next - 1, at, end)
        if at < 0:
            return -1
    return at


cdef int64_t column_object(RbufWalk* w, const RbufOp* op, RbufColumn* c, int64_t at, int64_t end) noexcept nogil:
    """Add an object to the columns within its column, one for each field."""
    cdef int64_t following = w.next, last = w.last  # those of the object around it, for afterwards
    w.next, w.last = c.shape.child, c.shape.child + c.shape.count
    at = rbuf_object(w, &w.ops[op.child], at, end)
    if w.next != w.last:
        at = -1
    w.next, w.last = following, last
    return at


cdef int64_t column_list(RbufWalk* w, const RbufOp* op, RbufColumn* c, int64_t at, int64_t end) noexcept nogil:
    """Add a list or array to its column, and its elements to the column of the elements. Returns where it ends, or -1.
    """
    cdef const RbufOp* element = &w.ops[op.child]
    cdef RbufColumn* within = &w.columns[c.shape.child]
    cdef int64_t number, count = 0, size
    at = rbuf_count(w, op, at, end, &count)
    if at < 0:
        return -1
    # numbers are copied at once, unless they have absent ones among them: then each has to be marked
    if within.shape.kind == COLUMN_NUMBER and element.flags == 0 and within.nulls == 0:
        size = count * within.shape.width
        if end - at < size or not column_put(w, within, w.data + at, size):
            return -1
        within.length += count
        at += size
    else:
        for number in range(count):
            at = column_value(w, element, c.shape.child, at, end)
            if at < 0:
                return -1
    if c.shape.kind == COLUMN_ARRAY:
        return at if count == c.shape.count else -1
    return at if column_end(w, c, within.length) else -1


cdef int64_t column_pairs(RbufWalk* w, const RbufOp* op, RbufColumn* c, int64_t at, int64_t end) noexcept nogil:
    """Add the pairs of a map to the columns of its keys and values. Returns where it ends, or -1, as for a null key."""
    cdef RbufColumn* column = &w.columns[c.shape.child]
    cdef RbufKeys keys
    cdef int64_t number, count = 0
    keys.count, keys.ordered = 0, True
    at = rbuf_count(w, op, at, end, &count)
    if at < 0:
        return -1
    for number in range(count):
        if op.kind == RBUF_MAP and not rbuf_key(w, &keys, at, end):
            return -1
        at = column_value(w, &w.ops[op.child], c.shape.child, at, end)
        if at < 0 or column.nulls:  # a key cannot be null
            return -1
        at = column_value(w, &w.ops[op.child + 1], c.shape.child + 1, at, end)
        if at < 0:
            return -1
    return at if column_end(w, c, column.length) else -1


cdef int64_t column_variant(RbufWalk* w, const RbufOp* op, RbufColumn* c, int64_t at, int64_t end) noexcept nogil:
    """Add a variant to its columns: index, type name, each alternative (null, except one), and bytes (always null:
    a variant of an unknown type is not accepted).
    """
    cdef ArkRbufVariantHeader header
    cdef RbufColumn* one
    cdef RbufOp value
    cdef int64_t number, first = c.shape.child + 2, found = -1
    cdef uint8_t index
    at = read_ark_rbuf_variant_header(w.data, at, end, &header)
    if at < 0 or c.shape.count != op.count + 3:
        return -1
    end = at + header.len_object
    for number in range(op.count):
        one = &w.columns[first + number]
        if w.ops[op.child + number].cost == header.index:  # `cost` of an alternative is its number
            # column `first - 2` holds the index, `first - 1` the type name
            index = <uint8_t>header.index
            if not column_put(w, &w.columns[first - 2], &index, 1) or not column_mark(w, &w.columns[first - 2], True):
                return -1
            if not column_text(w, &w.columns[first - 1], w.texts + one.shape.text, one.shape.size):
                return -1
            memset(&value, 0, sizeof(value))
            value.kind, value.child = RBUF_OBJECT, w.ops[op.child + number].child
            found = column_value(w, &value, first + number, at, end)
        elif not column_blank(w, first + number, False):
            return -1
    return end if found == end and column_blank(w, first + op.count, False) else -1


cdef int64_t column_json(RbufWalk* w, const RbufOp* op, RbufColumn* c, int64_t at, int64_t end) noexcept nogil:
    """Add a value to its column as JSON text, for what has no column type. Returns where it ends, or -1."""
    cdef RbufColumn* columns = w.columns
    cdef const char* texts = w.texts
    cdef RbufOp value = op[0]
    cdef int64_t before = c.data.size
    value.flags = 0  # `column_value` has read the byte that says that it is there
    w.columns, w.out, w.texts = NULL, &c.data, w.names  # print to the column, with the strings of the program
    at = rbuf_value(w, &value, at, end)
    w.columns, w.out, w.texts = columns, NULL, texts
    w.room -= c.data.size - before
    return at if column_end(w, c, c.data.size) else -1


cdef int64_t column_value(RbufWalk* w, const RbufOp* op, int64_t number, int64_t at, int64_t end) noexcept nogil:
    """Add the value at `at` to the column `number`; return where the value ends.

    Returns -1 if it is not accepted, or the columns are full.  `kind` is that of the column, `op.kind` that of the value.
    """
    cdef RbufColumn* c = &w.columns[number]
    cdef int64_t kind = c.shape.kind
    cdef ArkRbufByteBuffer held
    cdef ArkRbufGuid guid
    cdef Out text
    cdef char[40] digits
    cdef uint64_t time
    cdef int64_t size
    if kind == COLUMN_ABSENT:
        return column_outside(w, op, at, end)
    # a byte before an optional value: whether it is there
    if op.flags & RBUF_OPTIONAL:
        if at >= end:
            return -1
        at += 1
        if not w.data[at - 1]:
            return at if column_blank(w, number, False) else -1
    # values of fixed size: number, time, boolean, GUID; a time may be packed bytes in the message
    if kind == COLUMN_NUMBER or kind == COLUMN_TIME or kind == COLUMN_BOOLEAN or kind == COLUMN_GUID:
        if not rbuf_is_number(op) and op.kind != RBUF_FIXED_BYTES or end - at < op.count:
            return -1
        if kind == COLUMN_NUMBER:
            if op.count != c.shape.width or not column_put(w, c, w.data + at, op.count):
                return -1
        elif kind == COLUMN_BOOLEAN:
            if not column_bit(w, &c.data, c.length, w.data[at] != 0):
                return -1
        elif kind == COLUMN_TIME:
            if op.count != sizeof(time):
                return -1
            memcpy(&time, w.data + at, sizeof(time))
            if time > <uint64_t>INT64_MAX:  # does not fit Arrow's signed nanoseconds: absent
                w.lost += 1
                return at + op.count if column_blank(w, number, False) else -1
            if not column_put(w, c, &time, sizeof(time)):
                return -1
        else:
            if read_ark_rbuf_guid(w.data, at, end, &guid) < 0:
                return -1
            text.data, text.size, text.capacity = digits, 0, sizeof(digits)
            rbuf_guid(&text, &guid)
            return at + op.count if column_text(w, c, digits + 1, text.size - 2) else -1  # without the quotes
        at += op.count
    # strings and bytes
    elif kind == COLUMN_STRING:
        if op.kind == RBUF_REST:
            held.value_start, held.value_end, at = at, end, end
        elif op.kind == RBUF_STRING or op.kind == RBUF_BYTES:
            at = read_ark_rbuf_byte_buffer(w.data, at, end, &held)
        else:
            return -1
        if at < 0:
            return -1
        size = held.value_end - held.value_start
        if op.kind == RBUF_STRING and not ir_is_utf8(w.data + held.value_start, size):
            return -1
        return at if column_text(w, c, w.data + held.value_start, size) else -1
    elif kind == COLUMN_JSON:
        at = column_json(w, op, c, at, end)
    elif kind == COLUMN_EMPTY:
        at = rbuf_bare(w, op, at, end)
        if at < 0 or not column_bit(w, &c.data, c.length, True):
            return -1
    # values with values within: struct, variant, map, list, array
    elif w.nested <= 0:
        return -1
    else:
        w.nested -= 1
        if kind == COLUMN_STRUCT and op.kind == RBUF_OBJECT:
            at = column_object(w, op, c, at, end)
        elif kind == COLUMN_VARIANT and op.kind == RBUF_VARIANT:
            at = column_variant(w, op, c, at, end)
        elif kind == COLUMN_MAP and (op.kind == RBUF_MAP or op.kind == RBUF_PAIRS):
            at = column_pairs(w, op, c, at, end)
        elif kind == COLUMN_LIST and op.kind == RBUF_LIST or kind == COLUMN_ARRAY and op.kind == RBUF_ARRAY:
            at = column_list(w, op, c, at, end)
        else:
            return -1
        w.nested += 1
    return at if at >= 0 and column_mark(w, c, True) else -1


cdef inline int64_t rbuf_bare(RbufWalk* w, const RbufOp* op, int64_t at, int64_t end) noexcept nogil:
    """Check a value whose optional byte was read, without adding it to columns."""
    cdef RbufColumn* columns = w.columns
    cdef RbufOp value = op[0]
    value.flags = 0
    w.columns = NULL
    at = rbuf_value(w, &value, at, end)
    w.columns = columns
    return at


cdef bint rbuf_add(RbufMessage* one, RbufWalk* w) noexcept nogil:
    """Add a message to the columns of `w`; return whether it was accepted.

    One without data, or of a channel without a program (`ops`), is for Python.
    """
    if one.data == NULL or one.ops == NULL:
        return False
    w.ops, w.names, w.data, w.budget, w.objects = one.ops, one.texts, one.data, one.budget, one.objects
    w.nested, w.is_dropped = RBUF_NESTED, False
    return column_value(w, one.ops, 0, 0, one.size) == one.size
