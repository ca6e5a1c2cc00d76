# Text logs: finds the events (see `textlog.py`, which has the pure-Python implementation and the documentation), and
# encodes them or writes them as JSON lines.  An event is a timestamp (absent in some) and a message; the message may
# consist of several lines.

cdef enum:
    TXT_REPLACED_SIZE = 3   # bytes of U+FFFD
    TXT_MORE = -1           # size of a timestamp that cannot be determined without more bytes
    TXT_KEPT = 40           # bytes of the last timestamp that are kept, to compare the next one with them

cdef struct TxtStamp:       # the beginning of the last timestamp, and the run of the automaton over it
    Py_ssize_t size         # number of bytes kept
    uint8_t[TXT_KEPT] text
    uint16_t[TXT_KEPT + 1] states   # by byte: state of the automaton before it; one more: after the last byte
    uint8_t[TXT_KEPT + 1] best      # by byte: size of the longest timestamp that was found before it

cdef struct TxtNodes:       # where an encoder stores events; negative: not looked up yet
    int32_t root            # the node of the object
    int32_t[3] names        # the names of its keys: timestamp, message and invalid bytes

cdef const char* TXT_HEX = b"0123456789abcdef"
cdef const char* TXT_REPLACED = b"\xef\xbf\xbd"    # U+FFFD, which stands for a byte that is not UTF-8
# The keys of a record.
cdef const char* TXT_STAMP = b"timestamp"
cdef const char* TXT_MESSAGE = b"message"
cdef const char* TXT_INVALID = b"invalid_utf8"


cdef inline bint txt_is_utf8(const unsigned char* p, const unsigned char* end) noexcept nogil:
    """Whether bytes are UTF-8.  A line end or NUL follows them, so that a cut character is noticed."""
    cdef uint64_t word
    cdef int n
    while end - p >= <Py_ssize_t>sizeof(word):
        memcpy(&word, p, sizeof(word))
        if word & <uint64_t>0x8080808080808080:
            break
        p += sizeof(word)
    while p < end:
        if p[0] < 0x80:
            p += 1
            if end - p >= <Py_ssize_t>sizeof(word):
                memcpy(&word, p, sizeof(word))
                while not word & <uint64_t>0x8080808080808080:
                    p += sizeof(word)
                    if end - p < <Py_ssize_t>sizeof(word):
                        break
                    memcpy(&word, p, sizeof(word))
            continue
        n = enc_utf8_length(p)
        if n == 0 or n > end - p:
            return False
        p += n
    return True


cdef int txt_replace(EncBuf* out, const unsigned char* p, const unsigned char* end, size_t* middle) except -1 nogil:
    """Write the text to `out` with U+FFFD for each byte that is not UTF-8, and the original bytes after that.

    These start at `middle`: for each U+FFFD the bytes as hexadecimal digits, with dots between them; one that was in
    the text has its own three bytes there.
    """
    cdef const unsigned char* start = p
    cdef int n                  # bytes of the character at `p`; 0: not UTF-8
    cdef bint first = True
    out.n = 0
    enc_buf_room(out, 10 * (end - p) + 16)  # an invalid byte takes 6: U+FFFD, two digits and a dot; other ones fewer
    while p < end:
        n = 1 if p[0] < 0x80 else enc_utf8_length(p)
        if n == 0 or n > end - p:
            enc_buf_put(out, TXT_REPLACED, TXT_REPLACED_SIZE)
            p += 1
        else:
            memcpy(out.p + out.n, p, n)
            out.n += n
            p += n
    middle[0] = out.n
    p = start
    while p < end:
        n = 1 if p[0] < 0x80 else enc_utf8_length(p)
        if n > end - p:
            n = 0
        if n == 0 or (n == TXT_REPLACED_SIZE and memcmp(p, TXT_REPLACED, n) == 0):
            if not first:
                out.p[out.n] = c"."
                out.n += 1
            first = False
            if n:
                enc_buf_put(out, b"efbfbd", 2 * TXT_REPLACED_SIZE)
            else:
                out.p[out.n] = TXT_HEX[p[0] >> 4]
                out.p[out.n + 1] = TXT_HEX[p[0] & 15]
                out.n += 2
        p += n if n else 1
    return 0


cdef inline bint txt_has_special(uint64_t word) noexcept nogil:
    """Whether one of eight bytes is a control byte, a quote (0x22) or a backslash (0x5C).

    Each subtraction sets the high bit of a byte that was less than 0x20, or equal to 0x22 or 0x5C.  It may borrow from
    the byte above, which is then found, too; the caller compares one by one the bytes after a hit.
    """
    cdef uint64_t ones = <uint64_t>0x0101010101010101, high = <uint64_t>0x8080808080808080
    cdef uint64_t found = word - ones * 0x20 | (word ^ ones * 0x22) - ones | (word ^ ones * 0x5C) - ones
    return found & ~word & high != 0


cdef inline void json_escaped(unsigned char* out, unsigned char c) noexcept nogil:
    """Write a control character as an escape of six bytes."""
    out[0], out[1], out[2], out[3] = c"\\", c"u", c"0", c"0"
    out[4], out[5] = TXT_HEX[c >> 4], TXT_HEX[c & 15]


cdef int txt_put_json(EncBuf* out, const unsigned char* p, const unsigned char* end) except -1 nogil:
    """Append text as the content of a JSON string, eight bytes at a time where nothing needs an escape."""
    cdef const unsigned char* start     # of the bytes that are copied as they are
    cdef unsigned char* to
    cdef unsigned char c
    cdef uint64_t word
    enc_buf_room(out, 6 * (end - p) + 1)  # an escape has at most six bytes
    to = out.p + out.n
    while p < end:
        start = p
        while end - p >= <Py_ssize_t>sizeof(word):
            memcpy(&word, p, sizeof(word))
            if txt_has_special(word):
                break
            memcpy(to, &word, sizeof(word))
            p += sizeof(word)
            to += sizeof(word)
        # Fewer than eight bytes are left, but at least eight since `start`: copy the last eight, some of them again.
        if end - p < <Py_ssize_t>sizeof(word) <= end - start:
            memcpy(&word, end - sizeof(word), sizeof(word))
            if not txt_has_special(word):
                to += end - p
                memcpy(to - sizeof(word), &word, sizeof(word))
                break
        # `enc_string_class` is 0 for bytes that need no escape; those above ASCII do not need one, either.
        while p < end and (not enc_string_class[p[0]] or p[0] >= 0x80):
            to[0] = p[0]
            p += 1
            to += 1
        if p == end:
            break
        c = p[0]
        to[0] = c"\\"
        to += 2
        if c == c'"' or c == c'\\':
            to[-1] = c
        elif c == c'\n':
            to[-1] = c'n'
        elif c == c'\r':
            to[-1] = c'r'
        elif c == c'\t':
            to[-1] = c't'
        elif c == c'\b':
            to[-1] = c'b'
        elif c == c'\f':
            to[-1] = c'f'
        else:
            to -= 2
            json_escaped(to, c)
            to += 6
        p += 1
    out.n = to - out.p
    return 0


cdef class ClpsTextLog:
    """Finds events in text logs; see `exhume.formats.clp_s.write.textlog.PureTextLog`.

    Timestamps are recognized by an automaton.  State 1 is the start; in state 0, no timestamp continues like this.
    Its tables are made by stamps.py, and given as bytes; `classes` and `follows` have an item for each byte value.
    """

    cdef bytes classes, table, accepts, follows     # the memory of the arrays below
    cdef const uint8_t* class_of    # by byte: its class
    cdef const uint16_t* next_state     # by `state * num_classes + class`
    cdef const uint8_t* ending_in   # by state: a bit for each kind of timestamp that may end there; 0: none
    cdef const uint8_t* before      # by byte: the kinds of timestamps that may precede it, as such bits
    cdef size_t num_classes

    def __cinit__(self, bytes classes not None, bytes table not None, bytes accepts not None, bytes follows not None):
        cdef size_t states = PyBytes_GET_SIZE(accepts), i
        self.classes, self.table, self.accepts, self.follows = classes, table, accepts, follows
        self.class_of = <const uint8_t*>bytes_text(classes)
        self.next_state = <const uint16_t*>bytes_text(table)
        self.ending_in = <const uint8_t*>bytes_text(accepts)
        self.before = <const uint8_t*>bytes_text(follows)
        if PyBytes_GET_SIZE(classes) != 256 or PyBytes_GET_SIZE(follows) != 256 or states < 2:
            raise ValueError("not an automaton")
        self.num_classes = max(classes) + 1
        if <size_t>PyBytes_GET_SIZE(table) != 2 * states * self.num_classes:
            raise ValueError("not the table of these states")
        for i in range(states * self.num_classes):
            if self.next_state[i] >= states:
                raise ValueError("not a state")

    cdef inline Py_ssize_t stamp(self, const unsigned char* p, const unsigned char* end, bint final,
                                 TxtStamp* last) noexcept nogil:
        """Size of the timestamp that a line begins with, 0 if none; TXT_MORE if that takes more bytes to determine.

        `final`: no more bytes follow `end`, so that a timestamp may end there.
        The automaton starts at the first byte that differs from `last`: most timestamps differ only in the last digits.
        """
        cdef Py_ssize_t best = 0, i = 0, same = min(last.size, end - p)  # `best`: the longest timestamp so far
        cdef size_t state = 1
        # Keep the run in `last`, unless the line begins with another byte and so probably not with a timestamp.
        cdef bint keep = last.size == 0 or (same > 0 and p[0] == last.text[0])
        cdef uint64_t here, there
        if keep:
            # The number `i` of bytes that are equal.
            while same - i >= <Py_ssize_t>sizeof(here):
                memcpy(&here, p + i, sizeof(here))
                memcpy(&there, last.text + i, sizeof(there))
                if here != there:
                    break
                i += sizeof(here)
            while i < same and p[i] == last.text[i]:
                i += 1
            last.states[0], last.best[0] = 1, 0
            last.size, state, best = i, last.states[i], last.best[i]
        while True:
            if p + i == end:
                if not final:
                    return TXT_MORE
                return i if self.ending_in[state] else best
            if self.ending_in[state] & self.before[p[i]]:  # a timestamp ends here, and this byte may follow it
                best = i
            state = self.next_state[state * self.num_classes + self.class_of[p[i]]]
            if state == 0:
                if best and not keep:
                    last.size = 0  # timestamps have changed their form: keep the run over the next one
                return best
            if keep and i < TXT_KEPT:
                last.text[i] = p[i]
                i += 1
                last.size, last.states[i], last.best[i] = i, <uint16_t>state, <uint8_t>best
            else:
                i += 1

    cdef inline const unsigned char* event(self, const unsigned char* p, const unsigned char* end, bint final,
                                           Py_ssize_t* stamp, Py_ssize_t* known, TxtStamp* last) noexcept nogil:
        """The end of the event at `p`; NULL if more bytes are needed to determine it.

        `stamp` is set to the size of the event's timestamp.  `known` is that size if the last call found it, else
        TXT_MORE; it is set to the size of the timestamp of the next event, which ends this one.
        """
        cdef Py_ssize_t following   # size of the timestamp of the next line
        stamp[0] = known[0] if known[0] != TXT_MORE else self.stamp(p, end, final, last)
        known[0] = TXT_MORE
        if stamp[0] == TXT_MORE:
            return NULL
        p += stamp[0]
        while p < end:
            p = <const unsigned char*>memchr(p, c'\n', end - p)
            if p == NULL:
                break
            p += 1
            if stamp[0] == 0:  # an event without a timestamp is one line
                return p
            if p == end:
                break
            following = self.stamp(p, end, final, last)
            if following == TXT_MORE:
                return NULL
            if following:
                known[0] = following
                return p
        return end if final else NULL

    cdef int encode(self, ClpsEncoder encoder, TxtNodes* known, const unsigned char* p, Py_ssize_t stamp,
                    const unsigned char* end) except -1 nogil:
        """Encode the event `[p, end)`, with a timestamp of `stamp` bytes (0: none), as a record.

        Return 0, or the reason why it is rejected (`E_...`).
        """
        cdef size_t names = encoder.num_names, nodes = encoder.num_nodes, middle = 0
        cdef const unsigned char* message = p + stamp
        cdef size_t size = end - message
        cdef bint exact = txt_is_utf8(message, end)
        cdef size_t count = 3 + (stamp > 0) + (not exact)   # as many tokens as it would have as JSON
        cdef int fault = 0
        if count > encoder.most_tokens:
            encoder.most_tokens = count
        # Each token may need a new node and a new log type: are there ids?
        if encoder.num_nodes + count >= ENC_MAX_NODES or encoder.log_types.count + count >= ENC_MAX_LOG_TYPES:
            return E_FULL
        # An object with the timestamp, if there is one, the message, and the invalid bytes in it, if there are any.
        encoder.leaves_begin()
        if known.root < 0:
            known.root = encoder.node_of(-1, -1, <const unsigned char*>b"", 0, N_OBJECT, NULL)
        if stamp:
            fault = self.leaf(encoder, known.root, &known.names[0], TXT_STAMP, 9, p, stamp)
        if not fault:
            if not exact:
                txt_replace(&encoder.scratch, message, end, &middle)
                message, size = encoder.scratch.p, middle
            fault = self.leaf(encoder, known.root, &known.names[1], TXT_MESSAGE, 7, message, size)
        if not fault and not exact:
            fault = self.leaf(encoder, known.root, &known.names[2], TXT_INVALID, 12, message + middle,
                              encoder.scratch.n - middle)
        if fault:
            encoder.undo(names, nodes)
            return fault
        encoder.commit()
        return 0

    cdef inline int leaf(self, ClpsEncoder encoder, int32_t root, int32_t* name, const char* key, size_t key_size,
                         const unsigned char* text, size_t size) except -1 nogil:
        """Add a string below the node `root` to the record.  Return 0, or the reason why it is rejected.

        `name`: that of the key; it is set if it is negative.
        """
        cdef EncToken token
        cdef int fault
        memset(&token, 0, sizeof(token))
        token.kind = T_STRING
        token.type = enc_string_type(text, size)
        token.text, token.size = text, size
        if name[0] < 0:
            name[0] = encoder.name_of(root, -1, <const unsigned char*>key, key_size)
        fault = encoder.leaf(name[0], &token, -1)
        if encoder.lossy and token.flags & F_LOSS:
            encoder.losses += 1
        return fault

    def feed(self, ClpsEncoder encoder not None, bytes data not None, Py_ssize_t start, bint final, int64_t target):
        """Encode the events from offset `start` on, until `encoder` has `target` bytes; see `TextLog.feed`.

        `final`: nothing follows `data`; otherwise the last event may continue there, and is left for the next call.
        Returns why it stopped (`E_...`), the offsets of start and end of the event at which it did, and whether that
        end is known.
        """
        cdef const unsigned char* base = <const unsigned char*>bytes_text(data)
        cdef const unsigned char* p = base + start
        cdef const unsigned char* end = base + PyBytes_GET_SIZE(data)
        cdef const unsigned char* stop = p
        cdef Py_ssize_t stamp = 0, known = TXT_MORE
        cdef TxtStamp last
        cdef int status = E_DONE
        cdef TxtNodes nodes     # a fault removes those that are new, and ends this call
        last.size = 0
        nodes.root = nodes.names[0] = nodes.names[1] = nodes.names[2] = -1
        if not 0 <= start <= PyBytes_GET_SIZE(data):
            raise IndexError(start)
        if encoder.busy:
            raise RuntimeError("one encoder serves one thread at a time")
        encoder.busy = True
        try:
            with nogil:
                while p < end:
                    stop = self.event(p, end, final, &stamp, &known, &last)
                    if stop == NULL:
                        stop, status = end, E_MORE
                        break
                    status = E_TOO_LARGE if stop - p > encoder.max_document else self.encode(encoder, &nodes, p, stamp, stop)
                    if status:
                        break
                    p = stop
                    if encoder.is_full(target):
                        status = E_SPLIT
                        break
        finally:
            encoder.settle()
            encoder.busy = False
        return status, p - base, stop - base, status != E_MORE

    def lines(self, bytes data not None, Py_ssize_t start, bint final):
        """Return the events from offset `start` on as lines of JSON, and the offset of the first one not complete.

        `final`: nothing follows `data`, so that all are complete.
        """
        cdef const unsigned char* base = <const unsigned char*>bytes_text(data)
        cdef const unsigned char* p = base + start
        cdef const unsigned char* end = base + PyBytes_GET_SIZE(data)
        cdef const unsigned char* stop
        cdef Py_ssize_t stamp = 0, known = TXT_MORE
        cdef TxtStamp last
        cdef EncBuf out, mended
        cdef size_t middle
        if not 0 <= start <= PyBytes_GET_SIZE(data):
            raise IndexError(start)
        last.size = 0
        memset(&out, 0, sizeof(out))
        memset(&mended, 0, sizeof(mended))
        try:
            with nogil:
                enc_buf_room(&out, (end - p) + 64)
                while p < end:
                    stop = self.event(p, end, final, &stamp, &known, &last)
                    if stop == NULL:
                        break
                    # An event: `stamp` bytes of timestamp (0 without one) from `p` on, then the message up to `stop`.
                    if stamp:
                        enc_buf_put(&out, b'{"timestamp":"', 14)
                        txt_put_json(&out, p, p + stamp)
                        enc_buf_put(&out, b'","message":"', 13)
                    else:
                        enc_buf_put(&out, b'{"message":"', 12)
                    if txt_is_utf8(p + stamp, stop):
                        txt_put_json(&out, p + stamp, stop)
                    else:  # the message with replacements, and after `middle` bytes of `mended` the bytes replaced
                        txt_replace(&mended, p + stamp, stop, &middle)
                        txt_put_json(&out, mended.p, mended.p + middle)
                        enc_buf_put(&out, b'","invalid_utf8":"', 18)
                        txt_put_json(&out, mended.p + middle, mended.p + mended.n)
                    enc_buf_put(&out, b'"}\n', 3)
                    p = stop
            return enc_buf_bytes(&out), p - base
        finally:
            enc_buf_free(&out)
            enc_buf_free(&mended)

    def last(self, bytes data not None):
        """The offset of the last line that is certain to begin with a timestamp; -1 if there is none."""
        cdef const unsigned char* base = <const unsigned char*>bytes_text(data)
        cdef const unsigned char* end = base + PyBytes_GET_SIZE(data)
        cdef const unsigned char* p = end
        cdef Py_ssize_t found = -1, stamp
        cdef TxtStamp last
        last.size = 0
        with nogil:
            while p > base:
                p -= 1
                if p == base or p[-1] == c'\n':
                    stamp = self.stamp(p, end, False, &last)
                    if stamp > 0:
                        found = p - base
                        break
        return found
