# The KV-IR part of the kernel: reads the units of a stream in sequence, and turns their events into lines of JSON,
# Python objects, records of a clp-s archive or columns.  `exhume.formats.kv_ir.pykernel` is the pure-Python
# implementation and has the documentation.
#
# A unit is an event, a declaration of a key, or another complete item of the stream; it consists of tokens.  Keys are
# the nodes of two trees, of the logger (auto) and of the user.  A leaf is a key of an event and its value.  A slot is
# shared by keys with the same parent and name, which differ in type: an event may have only one of them.  An encoded
# string is a log type (text with marks, one byte each, in place of variables) and the variables.  `EncBuf` and `Out`
# are growing buffers of bytes: `put` and `put_...` append to an `Out` that has the space, `ir_add` makes space first.
#
# Conventions of the functions that read tokens: `at` or `place` is the offset of the current token and `after` its end.
# `place` is moved to the token with the fault, if there is one.  The result is 0, a fault (`IR_...`), or -1 if the
# token does not end in the data.  The number of a token is in the field that its tag determines (`number1` has a byte,
# and so on); the others are 0, so that their sum is the number.  A key of the logger is stored as -1 minus its number.
#
# Arguments of the decoder: `p` and `end` are the bytes in memory, and their end; `base` is the offset in the stream of
# the first of them.  `how` is the form of the output (`IR_AUTO` ...; 0: events are only checked), and `target` its size
# in bytes (without output, the number of events) at which to stop.  `tree` is one of the two trees, and `leaves` has
# the `IrLeaf`s of the current event in it.

from cpython.dict cimport PyDict_SetItem
from cpython.list cimport PyList_GET_ITEM
from cpython.mem cimport PyMem_Free
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_1BYTE_DATA, PyUnicode_DecodeUTF8, PyUnicode_GET_LENGTH

cdef extern from "Python.h":
    bint PyUnicode_IS_COMPACT_ASCII(PyObject*)
    char* PyOS_double_to_string(double, char, int, int, int*) except NULL

cdef enum:
    # The status that `run` returns, as in `Status` of units.py, where each is explained.
    IR_MORE = 0
    IR_END = 1
    IR_FULL = 2
    IR_HELD = 3
    IR_UNEXPECTED = 10
    IR_PARENT = 11
    IR_TWICE_KNOWN = 12
    IR_KEY = 13
    IR_ORDER = 14
    IR_TYPE = 15
    IR_TWICE = 16
    IR_NESTED = 17
    IR_LOG_TYPE = 18
    IR_ARRAY = 19
    IR_DEPTH = 20
    IR_UTF8 = 21
    IR_RECORD = 22
    IR_NO_ROOM = 23
    IR_TIME = 24
    IR_OFFSET = 25
    # The forms of an event, as in `EventForm` of units.py, where they are explained.
    IR_AUTO = 1
    IR_USER = 2
    IR_BOTH = 3
    IR_OBJECTS = 4
    IR_ENCODE = 8
    IR_COLUMNS = 16
    IR_KEYS = 32
    IR_LOG = 64
    IR_MAX_DEPTH = 1000

cdef enum:
    # Classes of tokens: a declaration of a key (C_NODE) and its parent, a key or a value of an event, a part of encoded
    # text (C_APART marks its beginning), and others.
    C_NONE, C_END, C_OFFSET, C_NODE, C_PARENT, C_KEY, C_INTEGER, C_REAL, C_BOOLEAN, C_TEXT, C_APART, C_EMPTY, C_NULL
    C_VARIABLE, C_VARIABLE_TEXT, C_LOG_TYPE

cdef uint8_t[256] ir_class
"""Class of a token, by its tag."""
cdef uint8_t[256] ir_mark
"""Whether a byte of a log type is a placeholder."""
cdef uint8_t[256] ir_size
"""Size of a token in bytes, by its tag; 0 if it depends on more."""

cdef void ir_fill_classes() noexcept:
    """Fill the tables by byte: the placeholders of log types, and the class of each token."""
    memset(ir_mark, 0, 256)
    ir_mark[CLP_KV_IR_MARKS_ESCAPE] = ir_mark[CLP_KV_IR_MARKS_INTEGER] = 1
    ir_mark[CLP_KV_IR_MARKS_TEXT] = ir_mark[CLP_KV_IR_MARKS_DECIMAL] = 1
    memset(ir_class, C_NONE, 256)
    ir_class[CLP_KV_IR_TAGS_END_OF_STREAM] = C_END
    ir_class[CLP_KV_IR_TAGS_UTC_OFFSET_CHANGE] = C_OFFSET
    ir_class[CLP_KV_IR_TAGS_NODE_INTEGER] = ir_class[CLP_KV_IR_TAGS_NODE_REAL] = C_NODE
    ir_class[CLP_KV_IR_TAGS_NODE_BOOLEAN] = ir_class[CLP_KV_IR_TAGS_NODE_TEXT] = C_NODE
    ir_class[CLP_KV_IR_TAGS_NODE_ARRAY] = ir_class[CLP_KV_IR_TAGS_NODE_OBJECT] = C_NODE
    ir_class[CLP_KV_IR_TAGS_PARENT_1] = ir_class[CLP_KV_IR_TAGS_PARENT_2] = C_PARENT
    ir_class[CLP_KV_IR_TAGS_PARENT_4] = C_PARENT
    ir_class[CLP_KV_IR_TAGS_KEY_1] = ir_class[CLP_KV_IR_TAGS_KEY_2] = ir_class[CLP_KV_IR_TAGS_KEY_4] = C_KEY
    ir_class[CLP_KV_IR_TAGS_INTEGER_1] = ir_class[CLP_KV_IR_TAGS_INTEGER_2] = C_INTEGER
    ir_class[CLP_KV_IR_TAGS_INTEGER_4] = ir_class[CLP_KV_IR_TAGS_INTEGER_8] = C_INTEGER
    ir_class[CLP_KV_IR_TAGS_REAL] = C_REAL
    ir_class[CLP_KV_IR_TAGS_TRUE_VALUE] = ir_class[CLP_KV_IR_TAGS_FALSE_VALUE] = C_BOOLEAN
    ir_class[CLP_KV_IR_TAGS_TEXT_1] = ir_class[CLP_KV_IR_TAGS_TEXT_2] = ir_class[CLP_KV_IR_TAGS_TEXT_4] = C_TEXT
    ir_class[CLP_KV_IR_TAGS_FOUR_BYTE_ENCODING] = ir_class[CLP_KV_IR_TAGS_EIGHT_BYTE_ENCODING] = C_APART
    ir_class[CLP_KV_IR_TAGS_EMPTY_OBJECT] = C_EMPTY
    ir_class[CLP_KV_IR_TAGS_NULL_VALUE] = C_NULL
    ir_class[CLP_KV_IR_TAGS_VARIABLE_4] = ir_class[CLP_KV_IR_TAGS_VARIABLE_8] = C_VARIABLE
    ir_class[CLP_KV_IR_TAGS_VARIABLE_TEXT_1] = ir_class[CLP_KV_IR_TAGS_VARIABLE_TEXT_2] = C_VARIABLE_TEXT
    ir_class[CLP_KV_IR_TAGS_VARIABLE_TEXT_4] = C_VARIABLE_TEXT
    ir_class[CLP_KV_IR_TAGS_LOG_TYPE_1] = ir_class[CLP_KV_IR_TAGS_LOG_TYPE_2] = C_LOG_TYPE
    ir_class[CLP_KV_IR_TAGS_LOG_TYPE_4] = C_LOG_TYPE


cdef void ir_fill_sizes() noexcept:
    """Fill `ir_size`: have the generated reader read a token of zeros for each tag."""
    cdef ClpKvIrToken token
    cdef uint8_t[16] stored
    cdef int64_t size
    cdef int tag
    memset(stored, 0, sizeof(stored))
    for tag in range(256):
        stored[0] = tag
        size = read_clp_kv_ir_token(stored, 0, sizeof(stored), &token)
        ir_size[tag] = 0 if size < 0 or token.has_text1 or token.has_text2 or token.has_text4 else <uint8_t>size


ir_fill_classes()
ir_fill_sizes()

# Parts of lines in the form `IR_BOTH`, and the keys of text logs as JSON with the colon, as `IrTree.names` has them.
cdef const char* IR_BEFORE_AUTO = b'{"auto_generated_kv_pairs":'
cdef const char* IR_BEFORE_USER = b',"user_generated_kv_pairs":'
cdef const char* IR_STAMP = b'"timestamp":'
cdef const char* IR_MESSAGE = b'"message":'

cdef struct IrNode:
    int32_t parent
    int32_t slot            # shared by the nodes of one name below one parent, which differ by type
    int32_t depth           # number of nodes above it
    uint8_t type            # the tag of its declaration
    int64_t opened          # the last event (see `stamp`) in which it was opened as an object
    int32_t name            # number of its name in the archive that is being written; -1: not yet looked up
    int32_t encoded[2]      # its nodes in that archive: of the usual type of its values, and of the other type
    size_t key              # offset in `names` of its name as JSON, with the colon
    size_t key_size
    int64_t offset          # of its declaration in the stream

cdef struct IrSlot:
    int64_t stamp           # the last event that used it
    int32_t node            # the node that was used then
    bint leaf               # whether it had a value then, else it was an object with members

cdef struct IrLeaf:         # a key and its value in the current event
    int32_t node
    uint8_t kind            # class of the value's token
    uint8_t wide            # encoded text: whether variables have eight bytes, else four
    int64_t number          # an integer or a boolean
    double real
    const uint8_t* text     # a string, or the log type of encoded text
    Py_ssize_t size
    Py_ssize_t variable     # index of its first variable
    Py_ssize_t num_variables

cdef struct IrStop:         # the result of `run`; the offsets are those in the data
    int status              # why it stopped: IR_MORE ...
    int64_t unit            # the unit that was not taken, or the end of the last one
    int64_t place           # the token with the fault
    int64_t after           # end of the faulty unit, -1 if unknown

cdef struct IrVariable:     # of encoded text
    const uint8_t* text     # NULL if it is a number
    int64_t number          # the number, or the size of the text


cdef int ir_stop(IrStop* stop, int status, int64_t unit, int64_t place, int64_t after) noexcept nogil:
    """Set the result, whose fields `IrStop` explains; return 0, for functions that end with it."""
    stop.status, stop.unit, stop.place, stop.after = status, unit, place, after
    return 0


cdef bint ir_is_utf8(const uint8_t* p, Py_ssize_t size) noexcept nogil:
    """Whether some bytes are UTF-8; eight ASCII characters at a time."""
    cdef const uint8_t* end = p + size
    cdef uint8_t[4] last
    cdef uint64_t word
    cdef Py_ssize_t left
    cdef int step
    while p < end:
        if end - p >= 8:
            memcpy(&word, p, sizeof(word))
            if not word & <uint64_t>0x8080808080808080:
                p += 8
                continue
        if p[0] < 0x80:
            p += 1
            continue
        left = end - p
        if left < 4:  # the bytes after the end must not be examined
            memset(last, 0, 4)
            memcpy(last, p, left)
            step = enc_utf8_length(last)
        else:
            step = enc_utf8_length(p)
        if step == 0:
            return False
        p += step
    return True


cdef inline bint ir_fits(uint8_t type, uint8_t kind) noexcept nogil:
    """Whether a value, of class `kind` (`C_...`), is of its key's type (the tag of its declaration).

    Arrays are stored as their JSON in encoded text (C_APART).  A key for an object only has a value if that is null or
    has no members: otherwise the members have keys of their own.
    """
    if type == CLP_KV_IR_TAGS_NODE_TEXT:
        return kind == C_TEXT or kind == C_APART
    if type == CLP_KV_IR_TAGS_NODE_INTEGER:
        return kind == C_INTEGER
    if type == CLP_KV_IR_TAGS_NODE_REAL:
        return kind == C_REAL
    if type == CLP_KV_IR_TAGS_NODE_BOOLEAN:
        return kind == C_BOOLEAN
    if type == CLP_KV_IR_TAGS_NODE_ARRAY:
        return kind == C_APART
    return kind == C_EMPTY or kind == C_NULL


cdef int ir_add(Out* out, const char* text, Py_ssize_t size) except -2 nogil:
    """Append bytes, or raise `MemoryError`."""
    if not add(out, text, size):
        with gil:
            raise MemoryError
    return 0


cdef int ir_reserve(Out* out, Py_ssize_t size) except -2 nogil:
    """Make space for `size` more bytes, or raise `MemoryError`."""
    if not reserve(out, size):
        with gil:
            raise MemoryError
    return 0


cdef int ir_put_escaped(Out* out, const uint8_t* text, Py_ssize_t size) except -2 nogil:
    """Append a string as JSON."""
    ir_add(out, b'"', 1)
    ir_add_escaped(out, text, size)
    return ir_add(out, b'"', 1)


cdef inline int ir_add_escaped(Out* out, const uint8_t* text, Py_ssize_t size) except -2 nogil:
    """Append bytes as content of a JSON string."""
    if not add_escaped(out, <const char*>text, size):
        with gil:
            raise MemoryError
    return 0


cdef int ir_put_real(Out* out, double value) except -2 nogil:
    """Append a float as JSON, in the shortest form that reads back the same; infinities and NaN by name."""
    if isnan(value):
        return ir_add(out, b"NaN", 3)
    if isinf(value):
        return ir_add(out, b"-Infinity", 9) if value < 0 else ir_add(out, b"Infinity", 8)
    if not real_ready:
        with gil:
            prepare_reals()
    ir_reserve(out, REAL_ROOM)
    out.size += put_real(out.data + out.size, value)
    return 0


# IR_FIRST: the index of the first of eight bytes at `p` that is a mark, given the bits of `ir_equal` for them.
cdef extern from *:
    """
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && defined(__GNUC__)
    #define IR_FIRST(found, p, mark) (__builtin_ctzll(found) >> 3)
    #else
    #define IR_FIRST(found, p, mark) ir_first(p, mark)
    static Py_ssize_t ir_first(const unsigned char *p, const unsigned char *mark) {
        Py_ssize_t i = 0;
        while (!mark[p[i]]) i++;
        return i;
    }
    #endif
    """
    Py_ssize_t IR_FIRST(uint64_t found, const uint8_t* p, const uint8_t* mark) nogil


cdef inline uint64_t ir_equal(uint64_t word, uint64_t byte) noexcept nogil:
    """The upper bit of each byte of a word that equals `byte`; those above the first one may be set as well."""
    cdef uint64_t rest = word ^ byte * <uint64_t>0x0101010101010101
    return (rest - <uint64_t>0x0101010101010101) & ~rest & <uint64_t>0x8080808080808080


cdef inline void ir_copy(char* to, const char* text, Py_ssize_t size) noexcept nogil:
    """Copy as memcpy does; most strings are short, and a call would take longer than the copy.

    Up to 16 bytes are two words, the first and the last, which may overlap.
    """
    cdef uint64_t first, last
    cdef uint32_t low, high
    if size > 16:
        memcpy(to, text, size)
    elif size >= 8:
        memcpy(&first, text, sizeof(first))
        memcpy(&last, text + size - sizeof(last), sizeof(last))
        memcpy(to, &first, sizeof(first))
        memcpy(to + size - sizeof(last), &last, sizeof(last))
    elif size >= 4:
        memcpy(&low, text, sizeof(low))
        memcpy(&high, text + size - sizeof(high), sizeof(high))
        memcpy(to, &low, sizeof(low))
        memcpy(to + size - sizeof(high), &high, sizeof(high))
    elif size > 0:
        to[0] = text[0]  # up to three bytes: the first, the middle and the last one
        to[size >> 1] = text[size >> 1]
        to[size - 1] = text[size - 1]


cdef enum:
    IR_NUMBER_ROOM = 24     # most bytes of a printed number


cdef inline bint ir_put_variable(Out* out, IrVariable* variable, uint8_t mark, bint wide) noexcept nogil:
    """Add a variable, for which there is space; False when it does not fit its placeholder, `mark`.

    `wide`: decimal fractions are packed into eight bytes, not four.
    """
    cdef uint64_t word
    if (variable.text != NULL) != (mark == CLP_KV_IR_MARKS_TEXT):
        return False
    if mark == CLP_KV_IR_MARKS_TEXT:
        ir_copy(out.data + out.size, <const char*>variable.text, variable.number)
        out.size += variable.number
        return True
    if mark == CLP_KV_IR_MARKS_INTEGER:
        put_integer(out, variable.number)
        return True
    if wide:
        word = <uint64_t>variable.number
        return put_decimal(out, <int>clp_kv_ir_decimal_8_num_digits(word),
                           <int>clp_kv_ir_decimal_8_num_fraction_digits(word),
                           clp_kv_ir_decimal_8_digits(word), clp_kv_ir_decimal_8_sign(word))
    word = <uint32_t>variable.number
    return put_decimal(out, <int>clp_kv_ir_decimal_4_num_digits(word),
                       <int>clp_kv_ir_decimal_4_num_fraction_digits(word),
                       clp_kv_ir_decimal_4_digits(word), clp_kv_ir_decimal_4_sign(word))


cdef bint ir_join(Out* out, IrLeaf* leaf, IrVariable* variable) except -2 nogil:
    """Append an encoded string, decoded; False when its variables do not fit its log type.

    `variable`: all variables of the event; the leaf has some of them.
    """
    cdef IrVariable* last       # one past those of the leaf
    cdef const uint8_t* p = leaf.text
    cdef const uint8_t* end = p + leaf.size
    cdef char* to
    cdef uint8_t byte
    cdef uint64_t word, found
    cdef Py_ssize_t size = leaf.size + 8    # most bytes of the result, and space to copy eight bytes at its end
    variable += leaf.variable
    last = variable + leaf.num_variables
    while variable < last:
        size += IR_NUMBER_ROOM if variable.text == NULL else variable.number
        variable += 1
    ir_reserve(out, size)
    variable = last - leaf.num_variables
    to = out.data + out.size
    while p < end:
        # Copy static text, eight bytes at a time; stop at a placeholder or escape.
        if end - p >= 8:
            memcpy(&word, p, sizeof(word))
            memcpy(to, &word, sizeof(word))
            found = ir_equal(word, CLP_KV_IR_MARKS_INTEGER) | ir_equal(word, CLP_KV_IR_MARKS_TEXT) \
                | ir_equal(word, CLP_KV_IR_MARKS_DECIMAL) | ir_equal(word, CLP_KV_IR_MARKS_ESCAPE)
            if not found:
                p += 8
                to += 8
                continue
            size = IR_FIRST(found, p, ir_mark)
            p += size
            to += size
        elif not ir_mark[p[0]]:
            to[0] = <char>p[0]
            p += 1
            to += 1
            continue
        byte = p[0]
        if byte == CLP_KV_IR_MARKS_ESCAPE:
            if p + 1 == end:
                return False
            to[0] = <char>p[1]
            to += 1
            p += 2
            continue
        out.size = to - out.data
        if variable == last or not ir_put_variable(out, variable, byte, leaf.wide):
            return False
        to = out.data + out.size
        variable += 1
        p += 1
    out.size = to - out.data
    return variable == last


cdef enum:
    IR_LARGE = 1 << 20      # size from which on a string is printed and encoded without a copy of it


cdef bint ir_is_large(IrLeaf* leaf, IrVariable* variable) noexcept nogil:
    """Whether an encoded string is large when decoded (`IR_LARGE`)."""
    cdef int64_t size = leaf.size
    cdef Py_ssize_t i
    variable += leaf.variable
    for i in range(leaf.num_variables):
        if variable[i].text != NULL:
            size += variable[i].number
    return size >= IR_LARGE


cdef bint ir_join_escaped(Out* out, IrLeaf* leaf, IrVariable* variable) except -2 nogil:
    """Append an encoded string as JSON, without decoding all of it first; False as `ir_join`."""
    cdef IrVariable* last
    cdef const uint8_t* p = leaf.text
    cdef const uint8_t* end = p + leaf.size
    cdef const uint8_t* start
    variable += leaf.variable
    last = variable + leaf.num_variables
    ir_add(out, b'"', 1)
    while True:
        # Text up to the next mark, then an escaped byte or a variable.
        start = p
        while p < end and not ir_mark[p[0]]:
            p += 1
        ir_add_escaped(out, start, p - start)
        if p == end:
            break
        if p[0] == CLP_KV_IR_MARKS_ESCAPE:
            if p + 1 == end:
                return False
            ir_add_escaped(out, p + 1, 1)
            p += 2
            continue
        if variable == last:
            return False
        if variable.text != NULL and p[0] == CLP_KV_IR_MARKS_TEXT:
            ir_add_escaped(out, variable.text, variable.number)
        else:
            ir_reserve(out, IR_NUMBER_ROOM)
            if not ir_put_variable(out, variable, p[0], leaf.wide):
                return False
        variable += 1
        p += 1
    ir_add(out, b'"', 1)
    return variable == last


cdef class IrTree:
    """One of the two trees of keys."""
    cdef EncBuf nodes       # an `IrNode` for each key; the first is the root
    cdef EncBuf slots       # `IrSlot`s
    cdef EncBuf names       # the names of all keys as JSON
    cdef EncBuf sound       # i32 by leaf: the nodes of the last event that was checked; most events have the same
    cdef size_t count       # of nodes
    # The lists: values of Python for `IR_OBJECTS`, kept because the same ones are needed in most events.
    cdef dict known         # (parent, type, name) -> number of the node
    cdef dict slot_of       # (parent, name) -> number of the slot
    cdef list keys          # by node: the name as `str`
    cdef list held          # by node: its object in the current event
    cdef list texts         # by node: its last value, if that was a string
    cdef list raw           # by node: the name as `bytes`

    def __cinit__(self, bytes root):
        """`root`: the name of the root in an archive."""
        self.known, self.slot_of, self.keys, self.raw = {}, {}, [""], [root]
        self.held, self.texts = [None], [None]
        cdef IrNode node
        memset(&node, 0, sizeof(IrNode))
        node.parent = node.slot = -1
        node.type = CLP_KV_IR_TAGS_NODE_OBJECT
        node.name = node.encoded[0] = node.encoded[1] = -1
        enc_buf_put(&self.nodes, &node, sizeof(IrNode))
        self.count = 1

    def __dealloc__(self):
        enc_buf_free(&self.nodes)
        enc_buf_free(&self.slots)
        enc_buf_free(&self.names)
        enc_buf_free(&self.sound)

    cdef int insert(self, int64_t parent, uint8_t type, bytes name, int64_t offset) except -1:
        """Declare a key: the number of its parent, its type (the tag), and its name.  Return 0 or the fault.

        `offset`: that of the declaration in the stream.
        """
        cdef IrNode node
        cdef IrSlot slot
        cdef Out text
        if not 0 <= parent < <int64_t>self.count or (<IrNode*>self.nodes.p)[parent].type != CLP_KV_IR_TAGS_NODE_OBJECT:
            return IR_PARENT
        if (parent, type, name) in self.known:
            return IR_TWICE_KNOWN
        memset(&node, 0, sizeof(IrNode))
        node.depth = (<IrNode*>self.nodes.p)[parent].depth + 1
        if node.depth > IR_MAX_DEPTH:
            return IR_DEPTH
        # The slot of its name, and the name as JSON.
        found = self.slot_of.get((parent, name))
        if found is None:
            found = self.slot_of[parent, name] = len(self.slot_of)
            memset(&slot, 0, sizeof(IrSlot))
            enc_buf_put(&self.slots, &slot, sizeof(IrSlot))
        node.parent, node.slot, node.type, node.offset = <int32_t>parent, found, type, offset
        node.name = node.encoded[0] = node.encoded[1] = -1
        memset(&text, 0, sizeof(Out))
        try:
            ir_put_escaped(&text, <const uint8_t*><const char*>name, len(name))
            ir_add(&text, b":", 1)
            node.key, node.key_size = self.names.n, text.size
            enc_buf_put(&self.names, text.data, text.size)
            enc_buf_put(&self.nodes, &node, sizeof(IrNode))
        finally:
            free(text.data)
        self.known[parent, type, name] = self.count
        self.keys.append(name.decode("utf-8", "surrogateescape"))
        self.raw.append(name)
        self.held.append(None)
        self.texts.append(None)
        self.count += 1
        return 0


cdef class IrColumns  # in `columns.pxi`


cdef class KvIrDecoder:
    """Decodes the units of a stream; the public methods and attributes are documented in pykernel.py."""
    cdef readonly IrTree auto
    cdef readonly IrTree user
    cdef public int64_t events
    cdef public int64_t utc_offset
    cdef public int64_t utc_changes
    cdef public int64_t encodings   # bits: 1 if four-byte variables were met, 2 if eight-byte ones
    cdef public bint hold           # whether to stop at declarations of keys (IR_HELD)
    cdef public object print_event
    cdef readonly tuple event       # the last event as objects
    cdef readonly int64_t start     # and its offset in the stream
    cdef readonly tuple stopped
    cdef int64_t stamp          # number of events that were checked
    cdef EncBuf keys            # the bytes of the user's keys in the last event that has any
    cdef int64_t num_keys       # and their number
    cdef Out out                # lines that were not yet taken
    cdef Out text               # scratch space: a decoded string
    cdef Out printed            # and an array as text
    cdef EncBuf leaves[2]       # `IrLeaf`s of the current event, of the logger and of the user
    cdef EncBuf variables       # and the `IrVariable`s of its encoded text
    cdef EncBuf order           # indices of the leaves in the order of clp-s, see `put_in_order`
    cdef EncBuf buckets         # of its hash table
    cdef EncBuf arena           # decoded strings of the record that is being encoded
    cdef ClpsEncoder encoder
    cdef bint exact             # see `encode_into`
    cdef IrColumns columns
    cdef readonly int refused   # why the encoder rejected a record
    cdef int32_t open[IR_MAX_DEPTH + 1]     # nodes of the open objects
    cdef uint8_t digits[400]    # text of the current number, in case it is a time; a double takes up to 320 bytes
    cdef bint busy              # whether a thread is in `run`
    cdef dict arrays            # text -> (list, whether it has lists or dicts), see `array`
    cdef object loads           # `units.array_value`
    cdef object print_array
    cdef int fault              # the result of `object_value`, apart from the object

    def __cinit__(self):
        # The kernel is one module for all formats: without this format, its modules are not imported.
        from exhume.formats.kv_ir.units import array_value

        self.auto, self.user = IrTree(b"@"), IrTree(b"")
        self.arrays = {}
        self.loads = array_value

    def __dealloc__(self):
        free(self.out.data)
        free(self.text.data)
        free(self.printed.data)
        enc_buf_free(&self.leaves[0])
        enc_buf_free(&self.leaves[1])
        enc_buf_free(&self.variables)
        enc_buf_free(&self.order)
        enc_buf_free(&self.buckets)
        enc_buf_free(&self.arena)
        enc_buf_free(&self.keys)

    def take(self):
        """Return the lines since the last call."""
        return moved(&self.out)

    def nodes(self, bint auto):
        """Parent, type, name and offset of every node but the root, of the logger's tree (`auto`) or the user's."""
        cdef IrTree tree = self.auto if auto else self.user
        cdef IrNode* node = <IrNode*>tree.nodes.p
        return [(node[i].parent, node[i].type, tree.raw[i], node[i].offset) for i in range(1, tree.count)]

    def run(self, const unsigned char[::1] data, int64_t at, int64_t end, int64_t base, int how, int64_t target):
        """Decode the units of `data[at:end]`; return the fields of `IrStop`."""
        if not 0 <= at <= end <= data.shape[0]:
            raise ValueError("outside of the data")
        cdef const uint8_t* p = &data[0] if data.shape[0] else NULL
        cdef IrStop stop
        self.begin(how)
        try:
            with nogil:
                self.walk(p, at, end, base, how, target, &stop)
        finally:
            self.end(how)
        return stop.status, stop.unit, stop.place, stop.after

    cdef int begin(self, int how) except -1:
        """Keep other threads out, which could enter because `walk` runs without the GIL.  Raises `RuntimeError`."""
        if self.busy or (how & IR_ENCODE and self.encoder.busy):
            raise RuntimeError("one decoder serves one thread at a time")
        if how & IR_COLUMNS and self.columns is None:
            raise ValueError("no columns are chosen")
        self.busy = True
        if how & IR_ENCODE:
            self.encoder.busy = True
        return 0

    cdef int end(self, int how) except -1:
        """Let other threads in again."""
        self.busy = False
        if how & IR_ENCODE:
            self.encoder.settle()
            self.encoder.busy = False
        return 0

    def each(self, const unsigned char[::1] data, int64_t at, int64_t end, int64_t base):
        """Yield the events one by one; afterwards, `stopped` is what `run` would have returned.

        Unlike `run`, it keeps the interpreter's lock, and so does not set `busy`.
        """
        if not 0 <= at <= end <= data.shape[0]:
            raise ValueError("outside of the data")
        cdef const uint8_t* p = &data[0] if data.shape[0] else NULL
        cdef IrStop stop
        stop.unit, stop.status = at, IR_FULL
        while True:
            self.walk(p, stop.unit, end, base, IR_OBJECTS | IR_BOTH, 0, &stop)
            if stop.status != IR_FULL:
                break
            yield self.event
        self.stopped = (stop.status, stop.unit, stop.place, stop.after)

    cdef int walk(self, const uint8_t* p, int64_t at, int64_t end, int64_t base, int how, int64_t target,
                  IrStop* stop) except -2 nogil:
        """Process units until something stops it: a fault, enough output, or the end; the reason is then in `stop`."""
        cdef ClpKvIrToken token
        cdef int64_t after, place, size
        cdef int fault, what
        while at < end:
            after = read_clp_kv_ir_token(p, at, end, &token)
            if after < 0:
                return ir_stop(stop, IR_MORE, at, at, -1)
            what = ir_class[token.tag]
            if what == C_KEY or what == C_EMPTY:  # an event
                place = at
                fault = self.tokens(p, &place, end, &token, after)
                if fault:
                    return ir_stop(stop, IR_MORE if fault < 0 else fault, at, place, -1)
                after = place
                self.stamp += 1
                fault = self.check()
                if not fault:
                    fault = self.give(how)
                if fault:
                    return ir_stop(stop, fault, at, at, after)
                self.events += 1
                if how & IR_OBJECTS:
                    self.start = base + at
                    return ir_stop(stop, IR_FULL, after, after, after)
                if how & IR_ENCODE:  # an archive may also be full because a section is too large
                    size = target if self.encoder.is_full(target) else self.encoder.size
                elif how & IR_COLUMNS:
                    size = self.columns.size()
                else:
                    size = self.out.size if how else self.events
                if size >= target:
                    return ir_stop(stop, IR_FULL, after, after, after)
            elif what == C_NODE:
                if self.hold:
                    return ir_stop(stop, IR_HELD, at, at, -1)
                place = at
                fault = self.node(p, &place, end, &token, after, base + at)
                if fault == 0:
                    after = place
                elif fault < 0:
                    return ir_stop(stop, IR_MORE, at, place, -1)
                elif fault == IR_UNEXPECTED:
                    return ir_stop(stop, fault, at, place, -1)
                else:
                    return ir_stop(stop, fault, at, at, place)
            elif what == C_OFFSET:
                self.utc_offset = token.number8
                self.utc_changes += 1
            elif what == C_END:
                return ir_stop(stop, IR_END, after, after, after)
            else:
                return ir_stop(stop, IR_UNEXPECTED, at, at, -1)
            at = after
        return ir_stop(stop, IR_MORE, at, at, -1)

    cdef int node(self, const uint8_t* p, int64_t* place, int64_t end, ClpKvIrToken* first, int64_t at,
                  int64_t offset) except -2 nogil:
        """Read the declaration of a key, whose tokens are: `first` (its type), parent, name.

        `at`: the end of the first; `offset`: that of the unit in the stream.  `place` becomes the end of the unit, or
        the token with the fault.
        """
        cdef ClpKvIrToken token
        cdef int64_t after, parent
        cdef bint auto
        place[0] = at
        after = read_clp_kv_ir_token(p, at, end, &token)
        if after < 0:
            return -1
        if ir_class[token.tag] != C_PARENT:
            return IR_UNEXPECTED
        parent = <int64_t>token.number1 + token.number2 + token.number4
        auto = parent < 0  # the tree of the logger, whose root is -1
        place[0] = at = after
        after = read_clp_kv_ir_token(p, at, end, &token)
        if after < 0:
            return -1
        if ir_class[token.tag] != C_TEXT:
            return IR_UNEXPECTED
        place[0] = after
        with gil:
            name = (<const char*>p)[token.text_start : token.text_end]
            if auto:
                return self.auto.insert(-1 - parent, first.tag, name, offset)
            return self.user.insert(parent, first.tag, name, offset)

    cdef int tokens(self, const uint8_t* p, int64_t* place, int64_t end, ClpKvIrToken* token, int64_t after) except -2 nogil:
        """Read an event into `leaves`.  `place` becomes the end of the event, or the token with the fault."""
        cdef IrLeaf* leaf
        cdef int64_t at = place[0], key, size_keys  # bytes of the user's keys in the last event
        cdef Py_ssize_t i
        cdef int fault
        cdef EncBuf* auto = &self.leaves[0]
        auto.n = self.variables.n = 0
        # Pairs of the logger: each key, with a negative number, and its value.
        while ir_class[token.tag] == C_KEY:
            key = <int64_t>token.number1 + token.number2 + token.number4
            if key >= 0:
                break
            enc_buf_room(auto, sizeof(IrLeaf))
            leaf = <IrLeaf*>(auto.p + auto.n)
            leaf.node = <int32_t>(-1 - key)
            place[0] = at = after
            after = read_clp_kv_ir_token(p, at, end, token)
            if after < 0:
                return -1
            fault = self.value(p, place, end, token, &after, leaf)
            if fault:
                return fault
            auto.n += sizeof(IrLeaf)
            place[0] = at = after
            after = read_clp_kv_ir_token(p, at, end, token)
            if after < 0:
                return -1
        if ir_class[token.tag] != C_KEY:
            self.leaves[1].n = 0
            if ir_class[token.tag] != C_EMPTY:
                return IR_UNEXPECTED
            place[0] = after
            return 0
        # Pairs of the user: all keys, then all values.  Most events have the same keys as the one before: if the bytes
        # are those in `keys`, and no further key follows, the leaves still have the nodes, and only need new values.
        size_keys = self.keys.n
        if self.num_keys and end - at > size_keys and memcmp(p + at, self.keys.p, size_keys) == 0 \
                and ir_class[p[at + size_keys]] != C_KEY:
            self.leaves[1].n = self.num_keys * sizeof(IrLeaf)
            place[0] = at + size_keys
            after = read_clp_kv_ir_token(p, place[0], end, token)
            if after < 0:
                return -1
        else:
            fault = self.user_keys(p, place, end, token, &after)
            if fault:
                return fault
        leaf = <IrLeaf*>self.leaves[1].p
        for i in range(self.num_keys):
            if i:
                place[0] = after
                after = read_clp_kv_ir_token(p, place[0], end, token)
                if after < 0:
                    return -1
            fault = self.value(p, place, end, token, &after, &leaf[i])
            if fault:
                return fault
        place[0] = after
        return 0

    cdef int user_keys(self, const uint8_t* p, int64_t* place, int64_t end, ClpKvIrToken* token,
                       int64_t* after) except -2 nogil:
        """Read the keys of the user in an event.  `token` is the first of them, and becomes the first value."""
        cdef EncBuf* user = &self.leaves[1]
        cdef int64_t start = place[0], key
        cdef IrLeaf leaf
        memset(&leaf, 0, sizeof(IrLeaf))
        user.n = self.num_keys = 0
        while ir_class[token.tag] == C_KEY:
            key = <int64_t>token.number1 + token.number2 + token.number4
            if key < 0:
                return IR_ORDER
            leaf.node = <int32_t>key
            enc_buf_put(user, &leaf, sizeof(IrLeaf))
            place[0] = after[0]
            after[0] = read_clp_kv_ir_token(p, place[0], end, token)
            if after[0] < 0:
                return -1
        self.keys.n = 0
        enc_buf_put(&self.keys, p + start, place[0] - start)
        self.num_keys = user.n // sizeof(IrLeaf)
        return 0

    cdef int value(self, const uint8_t* p, int64_t* place, int64_t end, ClpKvIrToken* token, int64_t* after,
                   IrLeaf* leaf) except -2 nogil:
        """Read a value, whose first token is `token`, into `leaf`; `after` becomes its end.

        Variables of encoded text are appended to `variables`.
        """
        cdef IrVariable variable
        cdef int what = ir_class[token.tag]
        cdef uint8_t number
        leaf.kind = what
        leaf.num_variables = 0
        if what == C_INTEGER:
            leaf.number = token.number8 + token.number1 + token.number2 + token.number4
        elif what == C_TEXT:
            leaf.text = p + token.text_start
            leaf.size = token.text_end - token.text_start
        elif what == C_APART:  # an encoded string: its variables, then its log type
            leaf.wide = token.tag == CLP_KV_IR_TAGS_EIGHT_BYTE_ENCODING
            number = CLP_KV_IR_TAGS_VARIABLE_8 if leaf.wide else CLP_KV_IR_TAGS_VARIABLE_4
            self.encodings |= 2 if leaf.wide else 1
            leaf.variable = self.variables.n // sizeof(IrVariable)
            while True:
                place[0] = after[0]
                after[0] = read_clp_kv_ir_token(p, place[0], end, token)
                if after[0] < 0:
                    return -1
                if token.tag == number:
                    variable.text = NULL
                    variable.number = token.number4 + token.number8
                elif ir_class[token.tag] == C_VARIABLE_TEXT:
                    variable.text = p + token.text_start
                    variable.number = token.text_end - token.text_start
                elif ir_class[token.tag] == C_LOG_TYPE:
                    break
                else:
                    return IR_UNEXPECTED
                enc_buf_put(&self.variables, &variable, sizeof(IrVariable))
                leaf.num_variables += 1
            leaf.text = p + token.text_start
            leaf.size = token.text_end - token.text_start
        elif what == C_REAL:
            leaf.real = token.real
        elif what == C_BOOLEAN:
            leaf.number = token.tag == CLP_KV_IR_TAGS_TRUE_VALUE
        elif what != C_EMPTY and what != C_NULL:
            return IR_UNEXPECTED
        return 0

    cdef int check(self) except -2 nogil:
        """Check that the keys of an event are declared, values have their types, and no object has a name twice.

        Returns 0 or the fault.
        """
        cdef int fault = self.check_tree(self.auto, &self.leaves[0])
        return fault if fault else self.check_tree(self.user, &self.leaves[1])

    cdef int check_tree(self, IrTree tree, EncBuf* leaves) except -2 nogil:
        """Check the leaves of one tree of an event; see `check`."""
        cdef IrLeaf* leaf = <IrLeaf*>leaves.p
        cdef Py_ssize_t i, count = leaves.n // sizeof(IrLeaf)
        cdef IrNode* nodes = <IrNode*>tree.nodes.p
        cdef IrSlot* slots = <IrSlot*>tree.slots.p
        cdef IrSlot* slot
        cdef int32_t* sound = <int32_t*>tree.sound.p
        cdef int32_t above
        # With the same nodes as in the last event that was accepted, only the types have to be checked.
        if <size_t>count * sizeof(int32_t) == tree.sound.n:
            for i in range(count):
                if leaf[i].node != sound[i]:
                    break
                if not ir_fits(nodes[sound[i]].type, leaf[i].kind):
                    return IR_TYPE
            else:
                return 0
        tree.sound.n = 0
        for i in range(count):
            if not 0 < leaf[i].node < <int64_t>tree.count:
                return IR_KEY
            if not ir_fits(nodes[leaf[i].node].type, leaf[i].kind):
                return IR_TYPE
            slot = &slots[nodes[leaf[i].node].slot]
            # Used in this event already: by the same key as an object with members (then this is null or empty), or by
            # a second value.
            if slot.stamp == self.stamp:
                return IR_NESTED if slot.node == leaf[i].node and not slot.leaf else IR_TWICE
            slot.stamp, slot.node, slot.leaf = self.stamp, leaf[i].node, True
            # The objects around the value, up to one that another value has entered already.
            above = nodes[leaf[i].node].parent
            while above:
                slot = &slots[nodes[above].slot]
                if slot.stamp == self.stamp:
                    if slot.node != above:
                        return IR_TWICE
                    if slot.leaf:
                        return IR_NESTED
                    break
                slot.stamp, slot.node, slot.leaf = self.stamp, above, False
                above = nodes[above].parent
        for i in range(count):
            enc_buf_i32(&tree.sound, leaf[i].node)
        return 0

    # -- output --------------------------------------------------------------------------------------------------------

    cdef int give(self, int how) except -2 nogil:
        """Write the event that was read in the form `how` (`IR_AUTO` ...), such as a line or a row.

        Returns 0 or the fault.
        """
        cdef Py_ssize_t start = self.out.size
        cdef int fault = 0
        if how & IR_OBJECTS:
            with gil:
                return self.objects(how)
        elif how & IR_ENCODE:
            return self.encode()
        elif how & IR_COLUMNS:
            return self.columns.row(self)
        elif how & IR_KEYS:
            return 0
        elif how & IR_LOG:
            fault = self.log()
            if fault:
                self.out.size = start
            return fault
        elif how == IR_USER:
            fault = self.line(self.user, &self.leaves[1])
        elif how == IR_AUTO:
            fault = self.line(self.auto, &self.leaves[0])
        elif how == IR_BOTH:
            ir_add(&self.out, IR_BEFORE_AUTO, strlen(IR_BEFORE_AUTO))
            fault = self.line(self.auto, &self.leaves[0])
            if not fault:
                ir_add(&self.out, IR_BEFORE_USER, strlen(IR_BEFORE_USER))
                fault = self.line(self.user, &self.leaves[1])
            ir_add(&self.out, b"}", 1)
        else:  # no output
            fault = self.texts(&self.leaves[0], self.auto)
            return fault if fault else self.texts(&self.leaves[1], self.user)
        if fault:
            self.out.size = start
        else:
            ir_add(&self.out, b"\n", 1)
        return fault

    cdef int log(self) except -2 nogil:
        """Append the bytes of the log that the event was made from.  Events with other pairs than timestamp and message
        are printed in Python."""
        cdef IrLeaf* leaf = <IrLeaf*>self.leaves[1].p
        cdef Py_ssize_t i, count = self.leaves[1].n // sizeof(IrLeaf)
        if self.leaves[0].n == 0 and 1 <= count <= 2 and self.is_text(&leaf[count - 1], IR_MESSAGE) \
                and (count == 1 or self.is_text(&leaf[0], IR_STAMP)):
            for i in range(count):
                if leaf[i].kind == C_TEXT:
                    ir_add(&self.out, <const char*>leaf[i].text, leaf[i].size)
                elif not ir_join(&self.out, &leaf[i], <IrVariable*>self.variables.p):
                    return IR_LOG_TYPE
            return 0
        with gil:
            return self.print_other()

    cdef bint is_text(self, IrLeaf* leaf, const char* key) noexcept nogil:
        """Whether a pair is a string with this key, which is spelled as JSON with the colon, in no object."""
        cdef IrNode* node = &(<IrNode*>self.user.nodes.p)[leaf.node]
        return node.type == CLP_KV_IR_TAGS_NODE_TEXT and node.parent == 0 and node.key_size == strlen(key) \
            and memcmp(self.user.names.p + node.key, key, node.key_size) == 0

    cdef int print_other(self) except -2:
        """Append the result of `print_event` for the event.  Return 0 or the fault."""
        cdef int fault = self.objects(IR_BOTH)
        cdef bytes printed
        if not fault:
            printed = self.print_event(self.event)
            ir_add(&self.out, printed, len(printed))
        return fault

    cdef int texts(self, EncBuf* leaves, IrTree tree) except -2 nogil:
        """Check that every string can be decoded, and that every array is a JSON array.  Return 0 or the fault."""
        cdef IrLeaf* leaf = <IrLeaf*>leaves.p
        cdef Py_ssize_t i
        for i in range(<Py_ssize_t>(leaves.n // sizeof(IrLeaf))):
            if leaf[i].kind == C_TEXT and not ir_is_utf8(leaf[i].text, leaf[i].size):
                return IR_UTF8
            if leaf[i].kind == C_APART:
                if not self.join(&leaf[i]):
                    return IR_LOG_TYPE
                if not ir_is_utf8(<const uint8_t*>self.text.data, self.text.size):
                    return IR_UTF8
                if (<IrNode*>tree.nodes.p)[leaf[i].node].type == CLP_KV_IR_TAGS_NODE_ARRAY and not self.is_array():
                    return IR_ARRAY
        return 0

    cdef bint join(self, IrLeaf* leaf) except -2 nogil:
        """Decode a string into `text`; False when its variables do not fit its log type."""
        self.text.size = 0
        return ir_join(&self.text, leaf, <IrVariable*>self.variables.p)

    cdef bint is_array(self) except -2 nogil:
        """Whether the text in `text` is an array."""
        if self.empty_array() or ir_print_array(&self.text, &self.printed):
            return True
        with gil:
            return self.array() is not None

    cdef bint empty_array(self) noexcept nogil:
        """Whether `text` is `[]`, the most frequent array."""
        return self.text.size == 2 and self.text.data[0] == c"[" and self.text.data[1] == c"]"

    cdef list array(self):
        """The value of the array in `text`, as a new list; None if it is not an array, or has line breaks.

        Up to 4096 results are cached.  A list of lists or dicts is parsed again, since the caller may change them.
        """
        cdef list found
        if self.text.size < 2 or self.text.data[0] != c"[":
            return None
        if self.empty_array():
            return []
        cdef bytes text = self.text.data[: self.text.size]
        known = self.arrays.get(text)
        if known is None:
            try:
                found = self.loads(text.decode("utf-8", "surrogateescape"))
            except (ValueError, RecursionError):
                return None
            if b"\n" in text or b"\r" in text:
                return None
            if len(self.arrays) >= 4096:
                self.arrays.clear()
            nested = any(type(one) is list or type(one) is dict for one in found)
            self.arrays[text] = (found[:], nested)
            return found
        if known[1]:
            return self.loads(text.decode("utf-8", "surrogateescape"))
        return (<list>known[0])[:]

    cdef tuple array_text(self):
        """The array in `text` as `print_array` prints it; None if it is not an array."""
        found = self.array()
        if found is None:
            return None
        try:
            return self.print_array(found)
        except RecursionError:
            return None

    def choose_columns(self, bytes kinds not None, bytes auto not None, bytes user not None, print_array):
        """Set the columns for `IR_COLUMNS`; `IrColumns` documents the arguments.

        `print_array` prints arrays of a rare form: it returns the text, and whether any of it was replaced.
        """
        if self.busy:
            raise RuntimeError("one decoder serves one thread at a time")
        self.columns = IrColumns(kinds, auto, user)
        self.print_array = print_array

    def take_columns(self):
        """The rows since the last call; see `IrColumns.take`."""
        if self.busy:
            raise RuntimeError("one decoder serves one thread at a time")
        if self.columns is None:
            raise ValueError("no columns are chosen")
        return self.columns.take()

    cdef int line(self, IrTree tree, EncBuf* leaves) except -2 nogil:
        """Append the pairs of one tree as a JSON object.  Return 0 or the fault."""
        cdef IrLeaf* leaf = <IrLeaf*>leaves.p
        cdef IrNode* nodes = <IrNode*>tree.nodes.p
        cdef IrNode* node
        cdef Py_ssize_t i, count = leaves.n // sizeof(IrLeaf), start = self.out.size
        # `path`: the open objects by depth, up to `depth`; `level`: the depth of the innermost one to stay open.
        cdef int32_t depth = 0, level, above
        cdef int32_t* path = self.open
        cdef int64_t stamp = self.stamp
        cdef bint comma = False     # whether the next member needs a comma before it
        cdef int fault
        ir_add(&self.out, b"{", 1)
        path[0] = 0
        for i in range(count):
            node = &nodes[leaf[i].node]
            if node.depth - 1 != depth or path[depth] != node.parent:
                # The leaf is in another object: close the objects that it is not in, open those that it is in.
                above = node.parent
                level = nodes[above].depth
                while level > depth or path[level] != above:
                    above = nodes[above].parent
                    level -= 1
                while depth > level:
                    ir_add(&self.out, b"}", 1)
                    depth -= 1
                    comma = True
                depth = node.depth - 1
                above = node.parent
                while depth > level:
                    path[depth] = above
                    above = nodes[above].parent
                    depth -= 1
                for depth in range(level + 1, node.depth):
                    # Its other members were printed before, not next to this one: sort the leaves, and begin again.
                    if nodes[path[depth]].opened == stamp:
                        self.out.size = start
                        with gil:
                            self.gather(tree, leaves)
                        return self.line(tree, leaves)
                    nodes[path[depth]].opened = stamp
                    if comma:
                        ir_add(&self.out, b",", 1)
                    ir_add(&self.out, <char*>tree.names.p + nodes[path[depth]].key, nodes[path[depth]].key_size)
                    ir_add(&self.out, b"{", 1)
                    comma = False
                depth = node.depth - 1
            if comma:
                ir_add(&self.out, b",", 1)
            comma = True
            ir_add(&self.out, <char*>tree.names.p + node.key, node.key_size)
            fault = self.put_value(&leaf[i], node.type)
            if fault:
                return fault
        while depth >= 0:
            ir_add(&self.out, b"}", 1)
            depth -= 1
        return 0

    cdef int gather(self, IrTree tree, EncBuf* leaves) except -2:
        """Sort the leaves so that those of each object are together, objects in the order of their first leaf."""
        cdef IrLeaf* leaf = <IrLeaf*>leaves.p
        cdef IrNode* nodes = <IrNode*>tree.nodes.p
        cdef Py_ssize_t i, count = leaves.n // sizeof(IrLeaf)
        cdef int32_t above
        first = {}  # by node: the index of the first leaf that is in it, or is it
        order = []  # (these indices from the outermost object to the leaf, index of the leaf)
        for i in range(count):
            path = []
            above = leaf[i].node
            while above:
                path.append(first.setdefault(above, i))
                nodes[above].opened = 0
                above = nodes[above].parent
            order.append((path[::-1], i))
        order.sort()
        cdef bytes copied = (<char*>leaves.p)[: leaves.n]
        cdef IrLeaf* old = <IrLeaf*><char*>copied
        for i, (_, at) in enumerate(order):
            leaf[i] = old[<Py_ssize_t>at]
        self.num_keys = 0  # the leaves are no longer in the order of the keys
        return 0

    cdef int put_value(self, IrLeaf* leaf, uint8_t type) except -2 nogil:
        """Print a value as JSON. Returns 0 or the fault, as for variables that do not match their log type."""
        cdef Out* out = &self.out
        if leaf.kind == C_TEXT:
            ir_put_escaped(out, leaf.text, leaf.size)
        elif leaf.kind == C_APART and type != CLP_KV_IR_TAGS_NODE_ARRAY and ir_is_large(leaf, <IrVariable*>self.variables.p):
            if not ir_join_escaped(out, leaf, <IrVariable*>self.variables.p):
                return IR_LOG_TYPE
        elif leaf.kind == C_APART:
            if not self.join(leaf):
                return IR_LOG_TYPE
            if type == CLP_KV_IR_TAGS_NODE_ARRAY:
                if not self.is_array():
                    return IR_ARRAY
                ir_add(&self.out, self.text.data, self.text.size)
                return 0
            ir_put_escaped(out, <const uint8_t*>self.text.data, self.text.size)
        elif leaf.kind == C_INTEGER:
            ir_reserve(out, 24)
            put_integer(out, leaf.number)
        elif leaf.kind == C_REAL:
            ir_put_real(out, leaf.real)
        elif leaf.kind == C_BOOLEAN:
            ir_add(&self.out, b"true" if leaf.number else b"false", 4 if leaf.number else 5)
        elif leaf.kind == C_NULL:
            ir_add(&self.out, b"null", 4)
        else:
            ir_add(&self.out, b"{}", 2)
        return 0

    cdef int objects(self, int how) except -2:
        """Set `event` to the event as dicts, of the logger and of the user.  Return 0 or the fault."""
        cdef int fault = 0
        auto, user = {}, {}
        if how & IR_AUTO:
            fault = self.fill(self.auto, &self.leaves[0], auto)
        if not fault and how & IR_USER:
            fault = self.fill(self.user, &self.leaves[1], user)
        if not fault:
            self.event = (auto, user)
        return fault

    cdef int fill(self, IrTree tree, EncBuf* leaves, dict root) except -2:
        """Add the pairs of one tree to a dict.  Return 0 or the fault."""
        cdef IrLeaf* leaf = <IrLeaf*>leaves.p
        cdef IrNode* nodes = <IrNode*>tree.nodes.p
        cdef Py_ssize_t i
        cdef int32_t parent, last = 0
        cdef dict into = root
        nodes[0].opened = self.stamp
        tree.held[0] = root
        for i in range(<Py_ssize_t>(leaves.n // sizeof(IrLeaf))):
            parent = nodes[leaf[i].node].parent
            if parent != last:
                into = self.object_of(tree, parent)
                last = parent
            if leaf[i].kind == C_TEXT:
                value = ir_text(tree.texts, leaf[i].node, leaf[i].text, leaf[i].size)
            else:
                value = self.object_value(&leaf[i], nodes[leaf[i].node].type)
                if self.fault:
                    return self.fault
            PyDict_SetItem(into, <object>PyList_GET_ITEM(tree.keys, leaf[i].node), value)
        return 0

    cdef dict object_of(self, IrTree tree, int32_t number):
        """The dict of an object with members in the current event; made, with those around it, when first needed."""
        cdef IrNode* node = &(<IrNode*>tree.nodes.p)[number]
        cdef dict found
        if node.opened == self.stamp:
            return <dict>PyList_GET_ITEM(tree.held, number)
        node.opened = self.stamp
        found = tree.held[number] = {}
        PyDict_SetItem(self.object_of(tree, node.parent), <object>PyList_GET_ITEM(tree.keys, number), found)
        return found

    cdef object object_value(self, IrLeaf* leaf, uint8_t type):
        """A value as an object; sets `fault` to 0 or, for invalid encoded text, to the fault.  `type`: of its key."""
        self.fault = 0
        if leaf.kind == C_APART:
            if not self.join(leaf):
                self.fault = IR_LOG_TYPE
                return None
            if type == CLP_KV_IR_TAGS_NODE_ARRAY:
                found = self.array()
                self.fault = IR_ARRAY if found is None else 0
                return found
            return PyUnicode_DecodeUTF8(self.text.data, self.text.size, b"surrogateescape")
        if leaf.kind == C_INTEGER:
            return leaf.number
        if leaf.kind == C_REAL:
            return leaf.real
        if leaf.kind == C_BOOLEAN:
            return bool(leaf.number)
        return None if leaf.kind == C_NULL else {}

    # -- into a clp-s archive --------------------------------------------------------------------------------------

    def encode_into(self, ClpsEncoder encoder, bint exact):
        """Set the encoder for `IR_ENCODE`.

        `exact`: floats keep their digits, and pairs their order, unlike in clp-s.
        """
        self.encoder, self.exact = encoder, exact
        self.forget()

    cdef int forget(self) except -2:
        """Forget which nodes of the archive the keys have: there is another archive, or an event was undone in it."""
        cdef IrTree tree
        cdef IrNode* node
        cdef size_t i
        for tree in (self.auto, self.user):
            node = <IrNode*>tree.nodes.p
            for i in range(tree.count):
                node[i].name = node[i].encoded[0] = node[i].encoded[1] = -1
        return 0

    cdef int encode(self) except -2 nogil:
        """Add the event to a clp-s archive. Returns 0 or the fault, after which the archive is as before."""
        cdef int fault = self.join_all(self.auto, &self.leaves[0])
        cdef size_t count, names = self.encoder.num_names, nodes = self.encoder.num_nodes
        if fault == 0:
            fault = self.join_all(self.user, &self.leaves[1])
        if fault:
            return fault
        # Most ids that the event can need: a node or log type for each value, and nodes for the objects around them.
        count = (self.leaves[0].n + self.leaves[1].n) // sizeof(IrLeaf)
        count += self.auto.count + self.user.count
        if not self.encoder.leaves_fit(count):
            return IR_NO_ROOM
        self.encoder.most_tokens = max(self.encoder.most_tokens, count)
        self.encoder.leaves_begin()
        fault = self.encode_tree(self.auto, &self.leaves[0], False)
        if fault == 0:
            fault = self.encode_tree(self.user, &self.leaves[1], True)
        if fault:
            self.encoder.undo(names, nodes)
            with gil:
                self.forget()
            return fault
        self.encoder.commit()
        return 0

    cdef int join_all(self, IrTree tree, EncBuf* leaves) except -2 nogil:
        """Decode strings, and with `exact` print floats, into `arena`; their offset there becomes the leaf's `number`.

        Offsets, because the arena moves when it grows.  `leaves` are those of one tree, whose arrays have to be JSON.
        Returns 0 or the fault.
        """
        cdef IrLeaf* leaf = <IrLeaf*>leaves.p
        cdef Py_ssize_t i
        if leaves == &self.leaves[0]:  # the first tree of an event
            self.arena.n = 0
        for i in range(<Py_ssize_t>(leaves.n // sizeof(IrLeaf))):
            if leaf[i].kind == C_APART:
                if not self.join(&leaf[i]):
                    return IR_LOG_TYPE
                if (<IrNode*>tree.nodes.p)[leaf[i].node].type == CLP_KV_IR_TAGS_NODE_ARRAY and not self.is_array():
                    return IR_ARRAY
                leaf[i].number = self.arena.n
                leaf[i].size = self.text.size
                enc_buf_put(&self.arena, self.text.data, self.text.size)
            elif leaf[i].kind == C_REAL and self.exact:
                leaf[i].number = self.arena.n
                self.text.size = 0
                ir_put_real(&self.text, leaf[i].real)
                leaf[i].size = self.text.size
                enc_buf_put(&self.arena, self.text.data, self.text.size)
        return 0

    cdef int encode_tree(self, IrTree tree, EncBuf* leaves, bint reserved) except -2 nogil:
        """Add the leaves of one tree to the record in progress; for the order see `put_in_order`.  0, or the fault."""
        cdef IrLeaf* leaf = <IrLeaf*>leaves.p
        cdef IrNode* nodes = <IrNode*>tree.nodes.p
        cdef IrNode* node
        cdef EncToken token
        cdef Py_ssize_t i, count = leaves.n // sizeof(IrLeaf)
        cdef int32_t* order
        cdef int which, fault
        if count == 0:
            return 0
        self.put_in_order(leaf, count, reserved)
        order = <int32_t*>self.order.p
        for i in range(count):
            memset(&token, 0, sizeof(EncToken))
            node = &nodes[leaf[order[i]].node]
            which = self.token_of(&leaf[order[i]], node.type, &token)
            if node.name < 0:
                with gil:
                    self.name_key(tree, leaf[order[i]].node)
            fault = self.encoder.leaf(node.name, &token, node.encoded[which])
            if fault:
                self.refused = fault
                return IR_RECORD
            if token.kind != T_TIMESTAMP:  # the encoder may have made it one; its node depends on the value
                node.encoded[which] = token.node
        return 0

    cdef int name_key(self, IrTree tree, int32_t number) except -2:
        """Set a key's `name`: the number of (parent, name) in the archive, which is added if it is new."""
        cdef IrNode* node = &(<IrNode*>tree.nodes.p)[number]
        cdef bytes name = tree.raw[number]
        cdef int32_t above = self.archive_node(tree, node.parent) if number else -1
        node.name = self.encoder.name_of(above, -1, name, len(name))
        return 0

    cdef int32_t archive_node(self, IrTree tree, int32_t number) except -2:
        """The archive's node of an object with members; a new node is added."""
        cdef IrNode* node = &(<IrNode*>tree.nodes.p)[number]
        if node.encoded[1] < 0:
            if node.name < 0:
                self.name_key(tree, number)
            node.encoded[1] = self.encoder.typed_node(node.name, N_OBJECT)
        return node.encoded[1]

    cdef int token_of(self, IrLeaf* leaf, uint8_t type, EncToken* token) except -2 nogil:
        """Set `token` to a value for the encoder.  Return the index of its node in `IrNode.encoded`: 0 or 1.

        The values of a key have one of two types in an archive, such as strings with and without variables.
        """
        cdef Out digits
        cdef int which = 0
        if leaf.kind == C_TEXT or leaf.kind == C_APART:
            token.kind, token.type = T_STRING, N_VAR_STRING
            token.text, token.size = leaf.text, leaf.size
            if leaf.kind == C_APART:
                token.text = self.arena.p + leaf.number
                token.type = N_CLP_STRING
                which = 1
                if type == CLP_KV_IR_TAGS_NODE_ARRAY:
                    token.kind, token.type = T_ARRAY_TEXT, N_UNSTRUCTURED_ARRAY
        elif leaf.kind == C_INTEGER:
            token.kind, token.type, token.number = T_INTEGER, N_INTEGER, leaf.number
            digits.data, digits.size, digits.capacity = <char*>self.digits, 0, sizeof(self.digits)
            put_integer(&digits, leaf.number)
            token.text, token.size = self.digits, digits.size
        elif leaf.kind == C_REAL:
            token.kind, token.type = T_FLOAT, N_FLOAT
            memcpy(&token.number, &leaf.real, sizeof(double))
            if self.exact:
                token.text, token.size = self.arena.p + leaf.number, leaf.size
                if not isnan(leaf.real) and not isinf(leaf.real):
                    self.encoder.float_value(token)
                elif self.encoder.retain_floats:
                    token.type = N_DICTIONARY_FLOAT
                which = 1 if token.type == N_DICTIONARY_FLOAT else 0
            else:  # nine digits after the point, as clp-s prints it
                token.size = <size_t>print_double(<char*>self.digits, sizeof(self.digits), b"%.*f", 9, leaf.real)
                token.text = self.digits
        elif leaf.kind == C_BOOLEAN:
            token.kind = T_TRUE if leaf.number else T_FALSE
            token.type, token.number = N_BOOLEAN, leaf.number
        elif leaf.kind == C_NULL:
            token.kind, token.type = T_NULL, N_NULL_VALUE
        else:
            token.kind, token.type = T_EMPTY_OBJECT, N_OBJECT
            which = 1
        return which

    cdef int put_in_order(self, IrLeaf* leaf, Py_ssize_t count, bint reserved) except -2 nogil:
        """Set `order` to the indices of the leaves in the order in which clp-s encodes them; with `exact`, unchanged.

        clp-s takes them from a hash table: the newest bucket comes first, and the newest value in a bucket.  A full
        table is replaced by a larger one, which is filled in that order; for the user's leaves (`reserved`), the table
        is large enough from the start.
        """
        cdef int32_t* next      # the linked list, see `ir_insert`
        cdef int32_t* bucket
        cdef Py_ssize_t i, size, filled     # number of buckets; how many leaves the table gets
        cdef int32_t at, after
        size = ir_buckets(count) if reserved else 13  # the first number of buckets
        self.order.n = 0
        enc_buf_room(&self.order, 2 * (count + 2) * sizeof(int32_t))  # for `order`, then `next` with one more
        if self.exact:
            for i in range(count):
                (<int32_t*>self.order.p)[i] = <int32_t>i
            return 0
        next = <int32_t*>self.order.p + count + 1  # next[count] leads to the first
        while True:
            self.buckets.n = 0
            enc_buf_room(&self.buckets, size * sizeof(int32_t))
            bucket = <int32_t*>self.buckets.p
            memset(bucket, 0xFF, size * sizeof(int32_t))  # -1: no bucket has a leaf
            # Insert as many as the table takes, first those of the smaller table, in its order.
            filled = count if reserved or count <= size else size
            if self.order.n == 0:
                next[count] = -1
                for i in range(filled):
                    ir_insert(next, bucket, leaf, <int32_t>i, <int32_t>count, size)
            else:
                at = next[count]
                next[count] = -1
                while at >= 0:
                    after = next[at]
                    ir_insert(next, bucket, leaf, at, <int32_t>count, size)
                    at = after
                for i in range(<Py_ssize_t>self.order.n, filled):
                    ir_insert(next, bucket, leaf, <int32_t>i, <int32_t>count, size)
            self.order.n = filled
            if filled == count:
                break
            size = ir_buckets(2 * size)
        at = next[count]
        for i in range(count):
            (<int32_t*>self.order.p)[i] = at
            at = next[at]
        return 0


cdef object ir_text(list last, int32_t node, const uint8_t* text, Py_ssize_t size):
    """A string value of a key.  The last object is reused if it is equal: names of levels and files repeat."""
    cdef PyObject* known = PyList_GET_ITEM(last, node)
    if known != <PyObject*>None and PyUnicode_IS_COMPACT_ASCII(known) and PyUnicode_GET_LENGTH(<object>known) == size \
            and memcmp(PyUnicode_1BYTE_DATA(<object>known), text, size) == 0:
        return <object>known
    found = PyUnicode_DecodeUTF8(<const char*>text, size, b"surrogateescape")
    last[node] = found
    return found


# Bucket counts of the hash tables of clp-s, whose order the decoder reproduces: each table has one of these primes.
cdef int[160] ir_primes
cdef int ir_num_primes = 0

for _prime in (
    2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 103, 109, 113, 127,
    137, 139, 149, 157, 167, 179, 193, 199, 211, 227, 241, 257, 277, 293, 313, 337, 359, 383, 409, 439, 467, 503, 541,
    577, 619, 661, 709, 761, 823, 887, 953, 1031, 1109, 1193, 1289, 1381, 1493, 1613, 1741, 1879, 2029, 2179, 2357,
    2549, 2753, 2971, 3209, 3469, 3739, 4027, 4349, 4703, 5087, 5503, 5953, 6427, 6949, 7517, 8123, 8783, 9497, 10273,
    11113, 12011, 12983, 14033, 15173, 16411, 17749, 19183, 20753, 22447, 24281, 26267, 28411, 30727, 33223, 35933,
    38873, 42043, 45481, 49201, 53201, 57557, 62233, 67307, 72817, 78779, 85229, 92203, 99733, 107897, 116731, 126271,
):
    ir_primes[ir_num_primes] = _prime
    ir_num_primes += 1


cdef Py_ssize_t ir_buckets(Py_ssize_t wanted) noexcept nogil:
    """The number of buckets of a table for `wanted` values."""
    cdef int i
    for i in range(ir_num_primes):
        if ir_primes[i] >= wanted:
            return ir_primes[i]
    return wanted


cdef void ir_insert(int32_t* next, int32_t* bucket, IrLeaf* leaf, int32_t at, int32_t start, Py_ssize_t size) noexcept nogil:
    """Insert leaf `at` into a hash table with `size` buckets: one linked list, in which each bucket is a run.

    `next` has the links (`next[start]` leads to the first leaf), and `bucket` the entry before each run; -1: none.
    """
    cdef Py_ssize_t here = leaf[at].node % size
    if bucket[here] < 0:
        next[at] = next[start]
        next[start] = at
        if next[at] >= 0:
            bucket[leaf[next[at]].node % size] = at
        bucket[here] = start
    else:
        next[at] = next[bucket[here]]
        next[bucket[here]] = at
