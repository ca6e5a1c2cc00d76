# Prints arrays of KV-IR as Python's `json.dumps(json.loads(text), ensure_ascii=False)` does, without the interpreter
# lock.  The functions read from `w.p` on, print to `w.out`, and return whether they could; they return False for text
# that is rare or not valid, and the caller then uses Python for the whole array.

cdef enum:
    # The most that is printed here:
    IR_PRINT_LEVELS = 64    # arrays and objects within each other
    IR_PRINT_MEMBERS = 32   # members of an object
    IR_PRINT_DIGITS = 18    # digits of an integer
    IR_PRINT_EXACT = 15     # digits that a double can store, so that one division is exact

cdef struct IrPrint:
    const uint8_t* p
    const uint8_t* end
    Out* out                # with space for the whole output


cdef inline int ir_print_next(IrPrint* w) noexcept nogil:
    """Skip blanks and return the next byte, -1 at the end.  Line breaks are not blanks: arrays must not have them."""
    while w.p < w.end and (w.p[0] == c" " or w.p[0] == c"\t"):
        w.p += 1
    return w.p[0] if w.p < w.end else -1


cdef bint ir_print_string(IrPrint* w) noexcept nogil:
    """Print a string as it is written, quotes and escapes included."""
    cdef const uint8_t* start = w.p
    cdef uint8_t byte
    cdef int step
    w.p += 1
    while w.p < w.end:
        byte = w.p[0]
        step = 1
        if byte == c'"':
            w.p += 1
            put(w.out, <const char*>start, w.p - start)
            return True
        if byte == c"\\":
            step = 2
            if w.end - w.p < 2 or w.p[1] not in (c'"', c"\\", c"b", c"f", c"n", c"r", c"t"):
                return False
        elif byte >= 0x80:
            step = utf8_sequence(w.p, w.end - w.p)
        if step == 0 or byte < 0x20:
            return False
        w.p += step
    return False


cdef inline int ir_print_digits(IrPrint* w, uint64_t* value) noexcept nogil:
    """Read digits into `value` and return their number; stops after one more than IR_PRINT_DIGITS."""
    cdef const uint8_t* start = w.p
    while w.p < w.end and c"0" <= w.p[0] <= c"9" and w.p - start <= IR_PRINT_DIGITS:
        value[0] = value[0] * 10 + (w.p[0] - c"0")
        w.p += 1
    return <int>(w.p - start)


cdef bint ir_print_number(IrPrint* w) noexcept nogil:
    """Print a number as Python does."""
    cdef const uint8_t* start = w.p
    cdef bint is_negative = w.p[0] == c"-"
    cdef uint64_t value = 0
    cdef int digits, fraction
    cdef double real
    if is_negative:
        w.p += 1
    digits = ir_print_digits(w, &value)
    if not 0 < digits <= IR_PRINT_DIGITS or digits > 1 and start[is_negative] == c"0":
        return False  # leading zeros are not JSON
    if w.p < w.end and w.p[0] == c"." and digits < IR_PRINT_EXACT:
        w.p += 1
        fraction = ir_print_digits(w, &value)
        if not 0 < fraction <= IR_PRINT_EXACT - digits:
            return False
        real = <double>value / enc_powers_of_ten[fraction]
        w.out.size += put_real(w.out.data + w.out.size, -real if is_negative else real)
    elif is_negative and value == 0:
        return False  # Python prints -0 as 0
    else:
        put(w.out, <const char*>start, w.p - start)
    return w.p == w.end or w.p[0] not in (c".", c"e", c"E")


cdef bint ir_print_word(IrPrint* w, const char* word, Py_ssize_t size) noexcept nogil:
    """Print `word` (true, false or null) if it follows."""
    if w.end - w.p < size or memcmp(w.p, word, size) != 0:
        return False
    put(w.out, word, size)
    w.p += size
    return True


cdef bint ir_print_members(IrPrint* w, int levels) noexcept nogil:
    """Print the members of an object, after its opening brace; also False if it has a name twice."""
    cdef Py_ssize_t[IR_PRINT_MEMBERS] starts
    cdef Py_ssize_t[IR_PRINT_MEMBERS] sizes
    cdef int count = 0, i, byte = ir_print_next(w)
    if byte == c"}":
        w.p += 1
        put(w.out, b"}", 1)
        return True
    while byte == c'"' and count < IR_PRINT_MEMBERS:
        # A name, unlike those before; its value; then a comma or the end.
        starts[count] = w.out.size
        if not ir_print_string(w):
            return False
        sizes[count] = w.out.size - starts[count]
        for i in range(count):
            if sizes[i] == sizes[count] and memcmp(w.out.data + starts[i], w.out.data + starts[count], sizes[i]) == 0:
                return False
        count += 1
        if ir_print_next(w) != c":":
            return False
        w.p += 1
        put(w.out, b": ", 2)
        if not ir_print_value(w, levels):
            return False
        byte = ir_print_next(w)
        if byte != c"}" and byte != c",":
            return False
        w.p += 1
        if byte == c"}":
            put(w.out, b"}", 1)
            return True
        put(w.out, b", ", 2)
        byte = ir_print_next(w)
    return False


cdef bint ir_print_elements(IrPrint* w, int levels) noexcept nogil:
    """Print the elements of an array, after its opening bracket."""
    cdef int byte = ir_print_next(w)
    if byte == c"]":
        w.p += 1
        put(w.out, b"]", 1)
        return True
    while ir_print_value(w, levels):
        byte = ir_print_next(w)
        if byte != c"]" and byte != c",":
            return False
        w.p += 1
        if byte == c"]":
            put(w.out, b"]", 1)
            return True
        put(w.out, b", ", 2)
    return False


cdef bint ir_print_value(IrPrint* w, int levels) noexcept nogil:
    """Print a value, with at most `levels` levels of arrays and objects."""
    cdef int byte = ir_print_next(w)
    if byte == c'"':
        return ir_print_string(w)
    if byte == c"[" or byte == c"{":
        if levels == 0:
            return False
        w.p += 1
        put(w.out, b"[" if byte == c"[" else b"{", 1)
        return ir_print_elements(w, levels - 1) if byte == c"[" else ir_print_members(w, levels - 1)
    if byte == c"-" or c"0" <= byte <= c"9":
        return ir_print_number(w)
    if byte == c"t":
        return ir_print_word(w, b"true", 4)
    if byte == c"f":
        return ir_print_word(w, b"false", 5)
    return byte == c"n" and ir_print_word(w, b"null", 4)


cdef bint ir_print_array(Out* text, Out* out) except -2 nogil:
    """Print the array in `text` to `out`; False if `text` is not one, or is left to Python."""
    cdef IrPrint w
    if text.size == 0 or text.data[0] != c"[":
        return False
    w.p, w.end, w.out = <const uint8_t*>text.data, <const uint8_t*>text.data + text.size, out
    out.size = 0
    # A blank follows a comma or a colon; numbers do not get longer, but their printer needs space.
    ir_reserve(out, 2 * text.size + REAL_ROOM)
    if not real_ready:
        with gil:
            prepare_reals()
    return ir_print_value(&w, IR_PRINT_LEVELS) and ir_print_next(&w) == -1
