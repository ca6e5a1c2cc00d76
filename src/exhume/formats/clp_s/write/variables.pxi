# Variables between plain text.  A string with spaces is stored as variables and a log type, which is the string with a
# placeholder (mark), one byte, in place of each variable, and escapes before bytes that look like one; `texts.py` has
# the rules.
#
# Most strings have a log type that an earlier one had.  Known log types are a tree of steps: a step is the text before
# a variable or after the last one, and the steps that may follow it depend on the mark of the variable.  A string is
# compared with the steps, so that only its variables are read byte by byte; where no step fits, it leaves the tree, and
# the rest is divided byte by byte.  A log type enters the tree when it is met for the second time.
#
# No two steps in one place fit the same string: each is the whole text up to the first token that is a variable.

cdef enum:                  # kinds of variables
    VARIABLE_TEXT           # an entry of the variable dictionary
    VARIABLE_INTEGER        # an integer that fits 64 bits
    VARIABLE_DECIMAL        # a decimal fraction of at most 16 digits

cdef enum:
    ENC_MARKS = 3           # different marks
    ENC_TRIES = 16          # most steps in one place; those of further log types do not enter the tree
    ENC_NEAR = 4            # a step that fits is moved to the front, unless it is among so many first ones
    ENC_MOST_STEPS = 1 << 12    # with more steps, an empty tree is begun: it only saves time
    ENC_MOST_TEXTS = 1 << 20    # as well as with more bytes of static text
    ENC_STEP_TEXT = 1 << 12     # static text of this many bytes and more does not enter the tree

cdef struct EncVariable:    # a variable of a string; `magnitude`, `digits` and `fraction` only for numbers
    const unsigned char* text
    size_t size
    uint64_t magnitude      # its digits as a number
    size_t digits           # how many there are
    size_t fraction         # how many of them follow the point
    bint negative
    int kind                # VARIABLE_...
    bint repeated           # it is that of the string before: only `text`, `size` and the following are set
    unsigned char mark
    uint64_t value

cdef struct EncStep:        # numbers of steps, log types and entries are stored plus 1; 0: none
    size_t text             # offset of its text in `texts`, without escapes
    size_t size             # bytes of the text
    size_t stop             # offset of its end in the log type `like`, where it has escapes
    uint32_t like
    uint32_t log_type       # the log type of strings that end with it
    uint32_t other          # the next step in the same place
    # The last variable that followed it, as its caller encoded it; only of up to eight bytes.
    uint32_t last_size      # 0: none
    unsigned char last_mark
    uint64_t last           # its bytes, and others after them
    uint64_t last_value
    uint32_t[ENC_MARKS] after   # by mark: the first step after it and a variable

cdef struct EncKnown:       # the tree of known log types; all zeros is an empty one
    EncBuf steps            # `EncStep`s
    EncBuf texts
    uint32_t first          # the first step at the beginning of a string

cdef struct EncWalk:        # a string that is being divided
    EncKnown* known         # NULL: it has left the tree
    const EncDictionary* types      # what the log types of the tree are entries of
    EncStep* step           # the last step; NULL at the beginning


cdef inline void enc_begin_walk(EncWalk* walk, EncKnown* known, const EncDictionary* types) noexcept nogil:
    """Begin at the start of a string."""
    walk.known, walk.types, walk.step = known, types, NULL


cdef inline void enc_known_free(EncKnown* known) noexcept nogil:
    """Free the memory; the tree is an empty one then."""
    enc_buf_free(&known.steps)
    enc_buf_free(&known.texts)
    known.first = 0


cdef inline void enc_known_clear(EncKnown* known) noexcept nogil:
    """Remove all log types from the tree."""
    known.steps.n = known.texts.n = known.first = 0


cdef inline const unsigned char* enc_dictionary_entry(const EncDictionary* d, size_t id, size_t* size) noexcept nogil:
    """An entry of a dictionary, and its size in bytes."""
    cdef const unsigned char* entry = d.data.p + (<uint64_t*>d.starts.p)[id]
    cdef uint64_t length
    memcpy(&length, entry, sizeof(length))
    size[0] = <size_t>length
    return entry + sizeof(length)


cdef inline bint enc_is_variable(unsigned char classes, bint after_equals, size_t size) noexcept nogil:
    """Whether a token is a variable, as in `is_variable` of `texts.py`; `classes` are those of all its bytes.

    It is one with a digit, with a letter after `=`, or if it is all hex letters, at least two.
    """
    return classes & BYTE_DIGIT or (after_equals and classes & BYTE_LETTER) \
        or (classes == BYTE_HEX_LETTER and size >= 2)


cdef inline void enc_read_variable(const unsigned char* start, size_t size, unsigned char classes,
                                   EncVariable* found) noexcept nogil:
    """Describe a variable; `classes` are those of all its bytes."""
    cdef size_t i, digits = 0, point = 0    # `point`: offset after the point; 0 without one
    cdef uint64_t magnitude = 0
    cdef bint negative = start[0] == c'-'
    cdef unsigned char c
    found.text, found.size, found.repeated = start, size, False
    found.kind = VARIABLE_TEXT  # until it is found to be a number
    if classes & BYTE_LETTER or (start[negative] == c'0' and classes == BYTE_DIGIT and size > 1):
        return
    i = negative
    while i < size:
        c = start[i]
        if c'0' <= c <= c'9' and digits < 19:  # 19 digits always fit 64 bits without a sign
            digits += 1
            magnitude = magnitude * 10 + (c - c'0')
        elif c == c'.' and point == 0:  # the first point
            point = i + 1
        else:
            return
        i += 1
    found.negative, found.magnitude, found.digits = negative, magnitude, digits
    if point:
        found.fraction = size - point
        if digits <= 16 and found.fraction:
            found.kind = VARIABLE_DECIMAL
    # An integer, but none with a leading zero, no -0, nothing that does not fit.
    elif not (start[negative] == c'0' and size > 1) and magnitude <= <uint64_t>INT64_MAX + negative:
        found.kind = VARIABLE_INTEGER


cdef inline bint enc_next_step(EncWalk* walk, const unsigned char** at, const unsigned char* end,
                               const uint8_t* token_class, unsigned char mark, EncVariable* found) noexcept nogil:
    """Go on to the step that fits the string from `at` on; return whether there is one.

    `at` is moved after the variable that follows the step, and `found` describes that; at the end of the string its
    size is 0.  `mark` is that of the variable before.
    """
    cdef EncStep* steps = <EncStep*>walk.known.steps.p
    cdef uint32_t* first = &walk.known.first if walk.step == NULL else &walk.step.after[mark - M_INTEGER]
    cdef uint32_t number = first[0], before = 0
    cdef EncStep* step
    cdef const unsigned char* p
    cdef const unsigned char* start
    cdef unsigned char classes
    cdef uint64_t word
    cdef int tries = 0
    while number:
        step = &steps[number - 1]
        start = at[0] + step.size
        if step.size <= <size_t>(end - at[0]) and same_bytes(walk.known.texts.p + step.text, at[0], step.size):
            # The variable is the last one, if that has all bytes up to a delimiter.
            if step.last_size and end - start > <Py_ssize_t>sizeof(word):
                memcpy(&word, start, sizeof(word))
                p = start + step.last_size
                if (word ^ step.last) & enc_first_bytes[step.last_size] == 0 and token_class[p[0]] == BYTE_DELIMITER:
                    found.text, found.size, found.repeated = start, step.last_size, True
                    found.mark, found.value = step.last_mark, step.last_value
                    break
            classes = BYTE_DELIMITER
            p = start
            if step.size == 0 or token_class[start[-1]] == BYTE_DELIMITER:  # a token may begin here
                while p < end and token_class[p[0]]:
                    classes |= token_class[p[0]]
                    p += 1
            if enc_is_variable(classes, step.size and start[-1] == c'=', p - start):
                enc_read_variable(start, p - start, classes, found)
                break
            if start == end and step.log_type:
                found.size = 0
                break
        before, number = number, step.other
        tries += 1
    else:
        return False
    if tries > ENC_NEAR:
        steps[before - 1].other = step.other
        step.other = first[0]
        first[0] = number
    walk.step = step
    at[0] = p
    return True


cdef uint64_t[9] enc_first_bytes    # by number: a word with all bits of so many first bytes
cdef int enc_size
for enc_size in range(9):
    enc_first_bytes[enc_size] = 0
    memset(&enc_first_bytes[enc_size], 0xFF, enc_size)


cdef inline void enc_remember(EncWalk* walk, const EncVariable* found, const unsigned char* end, unsigned char mark,
                              uint64_t value) noexcept nogil:
    """Keep a variable as it was encoded, for the next string that has the same one in its place.

    Only a short one that is not near the `end` of the string is kept.
    """
    cdef EncStep* step = walk.step
    if walk.known != NULL and found.size <= sizeof(step.last) and end - found.text > <Py_ssize_t>sizeof(step.last):
        memcpy(&step.last, found.text, sizeof(step.last))
        step.last_size, step.last_mark, step.last_value = <uint32_t>found.size, mark, value


cdef inline void enc_leave(EncWalk* walk, EncBuf* log_type) noexcept nogil:
    """Leave the tree: write the log type so far to `log_type`, which has the mark of the last variable as last byte."""
    cdef unsigned char mark
    cdef size_t size
    if walk.step != NULL:
        mark = log_type.p[log_type.n - 1]
        log_type.n = walk.step.stop
        memcpy(log_type.p, enc_dictionary_entry(walk.types, walk.step.like - 1, &size), log_type.n)
        log_type.p[log_type.n] = mark
        log_type.n += 1
    walk.known = NULL


cdef int enc_learn(EncKnown* known, const EncDictionary* types, size_t id, unsigned char last_mark) except -1 nogil:
    """Add a log type to the tree, as far as its limits allow.  `last_mark`: the largest placeholder of the dialect."""
    cdef size_t size = 0, i = 0
    cdef const unsigned char* entry = enc_dictionary_entry(types, id, &size)
    cdef EncStep* step
    cdef size_t text, place = 0     # `place`: number of the step before, plus 1
    cdef unsigned char mark = 0     # of the variable before
    cdef uint32_t number
    cdef uint32_t* first
    cdef int tries
    if known.steps.n >= ENC_MOST_STEPS * sizeof(EncStep) or known.texts.n >= ENC_MOST_TEXTS:
        enc_known_clear(known)
    while True:
        # The text of the next step, without its escapes.
        text = known.texts.n
        while i < size and not M_INTEGER <= entry[i] <= last_mark and known.texts.n - text <= ENC_STEP_TEXT:
            if entry[i] == M_ESCAPE:
                i += 1
            enc_buf_put(&known.texts, &entry[i], 1)
            i += 1
        if known.texts.n - text > ENC_STEP_TEXT:
            known.texts.n = text
            return 0
        first = &(<EncStep*>known.steps.p)[place - 1].after[mark - M_INTEGER] if place else &known.first
        number = first[0]
        tries = 0
        while number:
            step = &(<EncStep*>known.steps.p)[number - 1]
            if step.size == known.texts.n - text and same_bytes(known.texts.p + step.text, known.texts.p + text,
                                                                 step.size):
                break
            number = step.other
            tries += 1
        if number:
            known.texts.n = text  # it is there already
        else:
            if tries >= ENC_TRIES:
                known.texts.n = text
                return 0
            enc_buf_room(&known.steps, sizeof(EncStep))
            first = &(<EncStep*>known.steps.p)[place - 1].after[mark - M_INTEGER] if place else &known.first
            step = <EncStep*>(known.steps.p + known.steps.n)
            memset(step, 0, sizeof(EncStep))
            step.text, step.size, step.stop, step.like = text, known.texts.n - text, i, <uint32_t>(id + 1)
            step.other = first[0]
            known.steps.n += sizeof(EncStep)
            number = first[0] = <uint32_t>(known.steps.n // sizeof(EncStep))
        if i == size:
            step.log_type = <uint32_t>(id + 1)
            return 0
        place, mark = number, entry[i]
        i += 1


cdef inline bint enc_next_variable(const unsigned char** at, const unsigned char* end, const uint8_t* token_class,
                                   unsigned char last_mark, EncBuf* log_type, EncVariable* found,
                                   EncWalk* walk) noexcept nogil:
    """Find the next variable; return whether there is one.  Then `found` describes it, and `at` is moved after it.

    The text before it is copied to `log_type`, which has space for twice its size; while the string is in the tree of
    `walk`, that is left out.  The caller appends the mark of each variable to `log_type`.

    `token_class` is `enc_token_class` for the dialect.  `last_mark`: the largest placeholder of the dialect; bytes from
    M_INTEGER to it are escaped in the text.
    """
    cdef const unsigned char* p
    cdef const unsigned char* start
    cdef unsigned char* out
    cdef unsigned char c, classes
    cdef bint after_equals = False
    if walk.known != NULL:
        if enc_next_step(walk, at, end, token_class, log_type.p[log_type.n - 1] if walk.step != NULL else 0, found):
            return found.size != 0
        enc_leave(walk, log_type)
    p = at[0]
    out = log_type.p + log_type.n
    while p < end:
        c = p[0]
        if token_class[c] == BYTE_DELIMITER:
            after_equals = c == c'='
            if M_INTEGER <= c <= last_mark:
                out[0] = M_ESCAPE
                out += 1
            out[0] = c
            out += 1
            p += 1
            continue
        # A token: the classes of its bytes decide whether it is a variable.
        start = p
        classes = 0
        while p < end and token_class[p[0]]:
            classes |= token_class[p[0]]
            p += 1
        if enc_is_variable(classes, after_equals, p - start):
            log_type.n = out - log_type.p
            at[0] = p
            enc_read_variable(start, p - start, classes, found)
            return True
        after_equals = False
        if not classes & BYTE_SIGN:  # only letters, so no backslash that has to be escaped
            ir_copy(<char*>out, <const char*>start, p - start)
            out += p - start
            continue
        while start < p:
            if start[0] == M_ESCAPE:
                out[0] = M_ESCAPE
                out += 1
            out[0] = start[0]
            out += 1
            start += 1
    log_type.n = out - log_type.p
    return False
