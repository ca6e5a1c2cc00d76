# The search part of the kernel: patterns over dictionaries and encoded strings, comparisons over columns.  Comparisons
# return a mask, a byte per row, 1 if it matches.  An encoded string is a word with the id of a log type (text with
# placeholders) and the index of its first variable.
#
# Structures of the reading part of the kernel: `Strings` are the entries of a dictionary, `string_at` returns the bytes
# of one as a `Slice` (`text`, `size`).  `Out` is a growing buffer: `reserve` makes space, `add` appends; both return
# False without memory.  `Op` prints a column; its fields in use here are: `more` and `num_more`, the column's
# variables (int64) and their number; `parts` and `first_part`, the parts of all log types, those of log type i from
# `parts[first_part[i]]` on, the last of them without a placeholder; `core`, whether text has the encoding from 0.4.0 on.  `add_text` prints encoded text and returns `F_NONE`, or the kind of a fault.
#
# `exhume.formats.clp_s.query.pykernel` is the pure-Python implementation and has the documentation.

cdef enum WildCode:  # codes of a pattern besides bytes
    WILD_STAR = 0x100  # `*`: any bytes
    WILD_ANY = 0x101  # `?`: one byte

cdef enum CompareOp:  # operators of a query, see `compare_op`
    COMPARE_EQ, COMPARE_LT, COMPARE_LE, COMPARE_GT, COMPARE_GE

cdef struct Wild:  # a pattern
    uint16_t* codes  # bytes and `WildCode`s
    Py_ssize_t count
    bint fold  # whether upper-case ASCII letters match as lower-case ones

cdef struct Constraint:  # the value or values that an encoded variable must have
    int64_t base
    const uint8_t* table  # NULL: exactly `base`; else `base + i` for every i whose byte here is not 0
    uint64_t size  # of `table`


cdef bint wild_matches(const Wild* wild, const uint8_t* text, Py_ssize_t size) noexcept nogil:
    """Whether the whole text matches.

    What follows a star is matched at the leftmost possible place; on a mismatch, at the next place after that.  Going
    back to earlier stars is never necessary.
    """
    cdef Py_ssize_t at = 0, code = 0, star_code = -1, star_at = 0
    cdef uint16_t want
    cdef uint8_t byte
    cdef const uint8_t* found
    while True:
        if code < wild.count:
            want = wild.codes[code]
            if want == WILD_STAR:
                code += 1
                if code == wild.count:
                    return True
                star_code = code
                star_at = at
                continue
            if at < size:
                byte = text[at]
                if wild.fold and c'A' <= byte <= c'Z':
                    byte += c'a' - c'A'
                if want == WILD_ANY or want == byte:
                    at += 1
                    code += 1
                    continue
        elif at == size:
            return True
        # A mismatch: let the last star take one more byte, or as many as bring the byte that has to follow it.
        if star_code < 0 or star_at >= size:
            return False
        star_at += 1
        want = wild.codes[star_code]
        if want < WILD_STAR and not wild.fold:
            found = <const uint8_t*>memchr(text + star_at, <int>want, size - star_at)
            if found == NULL:
                return False
            star_at = found - text
        at = star_at
        code = star_code


cdef int load_wild(Wild* wild, codes, bint fold) except -1:
    """Copy the codes of a pattern; the caller frees `wild.codes`."""
    cdef Py_ssize_t index
    wild.count = len(codes)
    wild.fold = fold
    wild.codes = <uint16_t*>malloc((wild.count + 1) * sizeof(uint16_t))
    if wild.codes == NULL:
        raise MemoryError
    for index in range(wild.count):
        wild.codes[index] = codes[index]
    return 0


cdef bint shortest(const Wild* wild, Py_ssize_t* least) noexcept nogil:
    """Set `least` to the size of the shortest text that matches; return whether longer ones may match."""
    cdef Py_ssize_t code
    cdef bint longer = False
    least[0] = 0
    for code in range(wild.count):
        if wild.codes[code] == WILD_STAR:
            longer = True
        else:
            least[0] += 1
    return longer


cdef Py_ssize_t unescaped(const uint8_t* text, Py_ssize_t size, uint8_t* plain) noexcept nogil:
    """Write the text to `plain` without its escaping backslashes (each before the byte it escapes); return its size."""
    cdef Py_ssize_t i = 0, done = 0
    while i < size:
        if text[i] == c'\\':
            i += 1
            if i == size:
                break
        plain[done] = text[i]
        done += 1
        i += 1
    return done


def clps_find(ClpsStrings strings, codes, bint fold, bint unescape):
    """Return the indices of the entries that match a pattern; `unescape`: without the backslashes in the entries."""
    cdef Wild wild
    cdef Py_ssize_t index, size, least
    cdef Out plain, found
    cdef bint longer, failed = False
    cdef const uint8_t* text
    cdef Slice one
    plain.data = found.data = NULL
    plain.size = plain.capacity = found.size = found.capacity = 0
    load_wild(&wild, codes, fold)
    try:
        with nogil:  # a dictionary may have millions of entries, and another thread decompresses the next one
            longer = shortest(&wild, &least)
            for index in range(strings.count):
                one = string_at(&strings.strings, index)
                size = one.size
                # The size alone may exclude a match; without its backslashes an entry may be shorter than it is now.
                if size < least or (size > least and not (longer or unescape)):
                    continue
                text = <const uint8_t*>one.text
                if unescape and memchr(text, c'\\', size) != NULL:
                    if not reserve(&plain, size):
                        failed = True
                        break
                    size = unescaped(text, size, <uint8_t*>plain.data)
                    text = <const uint8_t*>plain.data
                if wild_matches(&wild, text, size) and not add(&found, <char*>&index, sizeof(index)):
                    failed = True
                    break
        if failed:
            raise MemoryError
        return [(<Py_ssize_t*>found.data)[index] for index in range(found.size // <Py_ssize_t>sizeof(index))]
    finally:
        free(wild.codes)
        free(plain.data)
        free(found.data)


cdef int compare_op(str op) except -1:
    """The number of an operator of a query.  Raises `KeyError` for any other string."""
    if op == ":":
        return COMPARE_EQ
    if op == "<":
        return COMPARE_LT
    if op == "<=":
        return COMPARE_LE
    if op == ">":
        return COMPARE_GT
    if op == ">=":
        return COMPARE_GE
    raise KeyError(op)


def clps_compare_int(const uint8_t[::1] values, str op, int64_t operand):
    """Return the mask of `value op operand` for a buffer of int64."""
    cdef Py_ssize_t rows = values.shape[0] // 8, row
    cdef int kind = compare_op(op)
    cdef bytes mask = PyBytes_New(NULL, rows)
    cdef uint8_t* out = <uint8_t*><char*>mask
    cdef const char* data
    if rows == 0:
        return mask
    data = <const char*>&values[0]
    with nogil:
        if kind == COMPARE_EQ:
            for row in range(rows):
                out[row] = load64(data, row) == operand
        elif kind == COMPARE_LT:
            for row in range(rows):
                out[row] = load64(data, row) < operand
        elif kind == COMPARE_LE:
            for row in range(rows):
                out[row] = load64(data, row) <= operand
        elif kind == COMPARE_GT:
            for row in range(rows):
                out[row] = load64(data, row) > operand
        else:
            for row in range(rows):
                out[row] = load64(data, row) >= operand
    return mask


def clps_compare_float(const uint8_t[::1] values, str op, double operand):
    """Return the mask of `value op operand` for a buffer of float64."""
    cdef Py_ssize_t rows = values.shape[0] // 8, row
    cdef int kind = compare_op(op)
    cdef bytes mask = PyBytes_New(NULL, rows)
    cdef uint8_t* out = <uint8_t*><char*>mask
    cdef const char* data
    if rows == 0:
        return mask
    data = <const char*>&values[0]
    with nogil:
        if kind == COMPARE_EQ:
            for row in range(rows):
                out[row] = load_double(data, row) == operand
        elif kind == COMPARE_LT:
            for row in range(rows):
                out[row] = load_double(data, row) < operand
        elif kind == COMPARE_LE:
            for row in range(rows):
                out[row] = load_double(data, row) <= operand
        elif kind == COMPARE_GT:
            for row in range(rows):
                out[row] = load_double(data, row) > operand
        else:
            for row in range(rows):
                out[row] = load_double(data, row) >= operand
    return mask


def clps_lookup(const uint8_t[::1] ids, bytes table, int bits):
    """Return the mask of the ids (the lowest `bits` of uint64) whose byte in `table` is set."""
    cdef Py_ssize_t rows = ids.shape[0] // 8, row
    cdef uint64_t size = len(table), low = ~<uint64_t>0, ident
    cdef const uint8_t* set_of = <const uint8_t*><const char*>table
    cdef bytes mask = PyBytes_New(NULL, rows)
    cdef uint8_t* out = <uint8_t*><char*>mask
    cdef const char* data
    if rows == 0:
        return mask
    if bits < 64:
        low = (<uint64_t>1 << bits) - 1
    data = <const char*>&ids[0]
    with nogil:
        for row in range(rows):
            ident = <uint64_t>load64(data, row) & low
            out[row] = set_of[ident] if ident < size else 0
    return mask


cdef bint fulfilled(const Op* op, uint64_t word, const Constraint* constraints, Py_ssize_t count) noexcept nogil:
    """Whether the variables of an encoded text meet all constraints in this order; others may be in between."""
    cdef uint64_t ident = clp_s_table_clp_word_log_type_id(word), at = clp_s_table_clp_word_ofs_variable(word), distance
    cdef const TextPart* part
    cdef int64_t value
    cdef Py_ssize_t met = 0
    if ident >= op.num_log_types:
        return False
    part = &op.parts[op.first_part[ident]]
    while part_placeholder(part) != 0 and met < count:
        if at >= <uint64_t>op.num_more:
            return False
        value = load64(op.more, <Py_ssize_t>at)
        at += 1
        part += 1
        if constraints[met].table == NULL:
            if value == constraints[met].base:
                met += 1
        else:
            distance = <uint64_t>value - <uint64_t>constraints[met].base  # very large for a value below `base`
            if distance < constraints[met].size and constraints[met].table[distance]:
                met += 1
    return met == count


def clps_match_texts(
    const uint8_t[::1] words,
    const uint8_t[::1] variables,
    ClpsLogTypes log_types,
    ClpsStrings strings,
    table,
    constraints,
    codes,
    bint fold,
    const uint8_t[::1] wanted,
):
    """Return the mask of the `wanted` rows (a byte per row) that match, and the first one that cannot be decoded (-1: none).

    A row matches if `table` (a byte per log type; None: all) has a 1 for its log type, its variables fulfill the
    `constraints` in this order (see `Constraint`), and its text matches the pattern `codes` (None: any text), whatever
    the case of ASCII letters if `fold`.  `words` and `variables` are those of the column.
    """
    cdef Py_ssize_t rows = wanted.shape[0], row, index, count = len(constraints)
    cdef Py_ssize_t bad = -1  # first wanted row that cannot be decoded; -1: none
    cdef bytes mask = PyBytes_New(NULL, rows)
    cdef uint8_t* out = <uint8_t*><char*>mask
    cdef const uint8_t* set_of = NULL  # by log type: whether it may match; NULL: all may
    cdef uint64_t size = 0, word, ident
    cdef bint verify = codes is not None  # whether the decoded text has to match a pattern
    cdef Wild wild
    cdef Constraint* needs = NULL
    cdef Out text
    cdef Op op
    cdef int64_t detail
    cdef const char* data
    cdef bytes flags
    if rows == 0:
        return mask, -1
    if words.shape[0] < <Py_ssize_t>sizeof(uint64_t) * rows:
        raise ValueError("a buffer is shorter than the table")
    if table is not None:
        flags = table  # the argument keeps it alive
        set_of = <const uint8_t*><const char*>flags
        size = len(flags)
    op.more = <const char*>&variables[0] if variables.shape[0] else EMPTY
    op.num_more = variables.shape[0] // sizeof(int64_t)
    op.strings = strings.strings
    op.parts = log_types.parts
    op.first_part = log_types.first
    op.num_log_types = log_types.count
    op.core = log_types.core
    text.data = NULL
    text.size = 0
    text.capacity = 0
    wild.codes = NULL
    data = <const char*>&words[0]
    needs = <Constraint*>malloc((count + 1) * sizeof(Constraint))
    try:
        if needs == NULL:
            raise MemoryError
        for index in range(count):
            needs[index].base, accepted = constraints[index]
            needs[index].table = NULL
            needs[index].size = 0
            if accepted is not None:
                flags = accepted  # the caller's sequence keeps it alive
                needs[index].table = <const uint8_t*><const char*>flags
                needs[index].size = len(flags)
        if verify:
            load_wild(&wild, codes, fold)
        with nogil:
            for row in range(rows):
                out[row] = 0
                if not wanted[row]:
                    continue
                word = <uint64_t>load64(data, row)
                ident = clp_s_table_clp_word_log_type_id(word)
                if set_of != NULL and (ident >= size or not set_of[ident]):
                    continue
                if count and not fulfilled(&op, word, needs, count):
                    continue
                if verify:
                    text.size = 0
                    if add_text(&text, &op, word, &detail) != F_NONE:
                        if bad < 0:
                            bad = row
                        continue
                    if not wild_matches(&wild, <const uint8_t*>text.data, text.size):
                        continue
                out[row] = 1
    finally:
        free(needs)
        free(wild.codes)
        free(text.data)
    return mask, bad
