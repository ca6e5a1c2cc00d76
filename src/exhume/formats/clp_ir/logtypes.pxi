# Log types of a message stream, included by _kernel.pyx.  A log type is a message with a placeholder (mark), one byte,
# in place of each variable; a byte that is not a mark is preceded by an escape.  Most events have one of a few log
# types, so each is split only once, into its text without escapes and its placeholders, and kept in a table with a slot
# for each hash value.
#
# For a search, `clues` are kept with it: what a variable must contain for a pattern to match an event of this log type.
# They are about the pattern's needle: of its parts between asterisks, the one with most letters.  An event for which no
# clue holds is skipped without joining its message.

cdef enum:
    CI_SLOTS = 256          # log types that are kept
    CI_LONGEST = 1024       # bytes of a log type that is kept
    CI_PATIENCE = 16        # events of other log types after which a slot is given to another
    CI_MOST_CLUES = 64      # above it, every event is compared
    CI_PADDING = 16         # bytes that are copied at once
    # Where in a variable the letters of a clue have to be:
    CI_INSIDE = 0           # anywhere
    CI_SUFFIX = 1           # at its end
    CI_PREFIX = 2           # a variable that is shorter than the letters has to be the beginning of them

cdef struct CiPiece:        # text, and the placeholder after it
    Py_ssize_t start        # in `text` of the log type
    Py_ssize_t size
    uint8_t mark            # 0 after the last text

cdef struct CiClue:         # a pattern can only match an event for which one of these holds
    Py_ssize_t variable     # its number in the event
    Py_ssize_t pattern      # number of the pattern
    Py_ssize_t first        # of its needle, the first letter that has to be in the variable
    Py_ssize_t count        # and how many
    int where               # in the variable: CI_INSIDE, CI_SUFFIX or CI_PREFIX

cdef struct CiLogType:
    bint taken              # whether the slot has a log type
    bint sound              # whether it could be split: its last byte is not an escape
    bint open               # every event with it has to be compared with the patterns
    int misses              # other log types for this slot since it was last used
    Py_ssize_t num_variables
    EncBuf raw              # the log type as it is stored
    EncBuf text             # without escapes and placeholders
    EncBuf pieces           # of CiPiece, one more than variables
    EncBuf clues            # of CiClue


cdef void ci_free_types(CiLogType* types) noexcept:
    """Free a table of log types; it may be NULL."""
    cdef Py_ssize_t i
    if types != NULL:
        for i in range(CI_SLOTS):
            enc_buf_free(&types[i].raw)
            enc_buf_free(&types[i].text)
            enc_buf_free(&types[i].pieces)
            enc_buf_free(&types[i].clues)
    free(types)


cdef inline size_t ci_slot(const uint8_t* p, Py_ssize_t size) noexcept nogil:
    """A slot for a log type, by a hash of its size, and of its first, middle and last eight bytes."""
    cdef uint64_t first = 0, middle = 0, last = 0
    if size >= <Py_ssize_t>sizeof(first):
        memcpy(&first, p, sizeof(first))
        memcpy(&middle, p + (size - sizeof(first)) // 2, sizeof(first))
        memcpy(&last, p + size - sizeof(first), sizeof(first))
    elif size:
        memcpy(&first, p, size)
    first = first * <uint64_t>0xFF51AFD7ED558CCD ^ middle * <uint64_t>0xC4CEB9FE1A85EC53
    first += (last ^ <uint64_t>size) * <uint64_t>0x9E3779B97F4A7C15
    return (first ^ first >> 32) * <uint64_t>0xFF51AFD7ED558CCD >> 56  # eight bits: one of CI_SLOTS


cdef bint ci_take_apart(CiLogType* type, const uint8_t* p, Py_ssize_t size) except -2 nogil:
    """Split a log type into `text` and `pieces`; False if it ends with an escape."""
    cdef const uint8_t* end = p + size
    cdef CiPiece piece
    enc_buf_room(&type.text, size + CI_PADDING)
    piece.start = type.num_variables = 0
    while p < end:
        if ir_mark[p[0]] and p[0] != CLP_KV_IR_MARKS_ESCAPE:
            piece.size, piece.mark = type.text.n - piece.start, p[0]
            enc_buf_put(&type.pieces, &piece, sizeof(CiPiece))
            piece.start = type.text.n
            type.num_variables += 1
        else:
            if p[0] == CLP_KV_IR_MARKS_ESCAPE:
                p += 1
                if p == end:
                    return False
            type.text.p[type.text.n] = p[0]
            type.text.n += 1
        p += 1
    piece.size, piece.mark = type.text.n - piece.start, 0
    enc_buf_put(&type.pieces, &piece, sizeof(CiPiece))
    return True


cdef bint ci_join(Out* out, CiLogType* type, IrLeaf* leaf, IrVariable* variable) except -2 nogil:
    """Join a message as `ir_join` does, from a log type that was split; False if the variables do not fit it.

    `variable` is the first one of the message; the others follow.
    """
    cdef CiPiece* piece = <CiPiece*>type.pieces.p
    cdef const char* text = <const char*>type.text.p
    cdef char* to
    cdef Py_ssize_t i, size = type.text.n + CI_PADDING  # most bytes of the message, and space for the last copy
    if leaf.num_variables != type.num_variables:
        return False
    for i in range(leaf.num_variables):
        size += IR_NUMBER_ROOM if variable[i].text == NULL else variable[i].number
    ir_reserve(out, size)
    while True:
        to = out.data + out.size
        i = 0
        while i < piece.size:
            memcpy(to + i, text + i, CI_PADDING)
            i += CI_PADDING
        text += piece.size
        out.size += piece.size
        if not piece.mark:
            return True
        if not ir_put_variable(out, variable, piece.mark, leaf.wide):
            return False
        variable += 1
        piece += 1


cdef inline bint ci_decimal_fits(uint64_t word, bint wide) noexcept nogil:
    """Whether a variable of eight bytes (`wide`) or four can be printed as a decimal number; see `put_decimal`.

    Its digits must not need more places than the number of digits that is stored, nor the fraction.
    """
    if wide:
        return clp_kv_ir_decimal_8_num_fraction_digits(word) <= clp_kv_ir_decimal_8_num_digits(word) \
            and clp_kv_ir_decimal_8_digits(word) < INT_TENS[clp_kv_ir_decimal_8_num_digits(word)]
    word = <uint32_t>word
    return clp_kv_ir_decimal_4_num_fraction_digits(word) <= clp_kv_ir_decimal_4_num_digits(word) \
        and clp_kv_ir_decimal_4_digits(word) < INT_TENS[clp_kv_ir_decimal_4_num_digits(word)]
