# Units of IR streams of text messages, included by _kernel.pyx.  `exhume.formats.clp_ir.pykernel` is the pure-Python
# implementation and has the documentation.
#
# An event is encoded as variables, a log type (the message with a mark, one byte, in place of each variable), and a
# time.  Structures and functions with the prefix `Ir`, classes of tokens (`C_...`) and statuses (`IR_...`) are those of
# KV-IR; an `IrLeaf` is an encoded message here.  A wildcard pattern consists of segments, the parts between asterisks.
# Streams are wide (variables of eight bytes, times since the epoch) or not (four bytes, times as differences).
#
# Arguments of the decoder: `p` and `end` are the bytes in memory, and their end; `base` is the offset in the stream of
# the first of them.  `how` is the form of the output (`CI_TEXT` ...; 0: events are only checked), and `target` its size
# in bytes (without output, the number of events) at which to stop.  `stop` (`IrStop`) gets the status, the unit that
# was not taken (or the end of the last one), the token with the fault, and the end of the faulty unit, -1 if unknown.

cdef enum:
    # The forms of an event, as in `EventForm` of units.py, where they are explained.
    CI_TEXT = 1
    CI_LINES = 2
    CI_OBJECTS = 4
    CI_COLUMNS = 16
    CI_LENIENT = 32
    CI_KEYED = 64
    CI_DAY = 86400000       # milliseconds
    CI_OTHER = 255          # see `ci_shift`
    # The operations of a program that prints times; the same numbers as in patterns.py.
    CI_LITERAL = 0
    CI_YEAR = 1
    CI_YEAR_2 = 2
    CI_MONTH = 3
    CI_MONTH_SHORT = 4
    CI_MONTH_LONG = 5
    CI_DAY_OF_MONTH = 6
    CI_DAY_OF_YEAR = 7
    CI_HOUR_0_23 = 8
    CI_HOUR_1_24 = 9
    CI_HOUR_0_11 = 10
    CI_HOUR_1_12 = 11
    CI_MINUTE = 12
    CI_SECOND = 13
    CI_MILLISECOND = 14
    CI_HALF = 15
    CI_WEEKDAY_SHORT = 16
    CI_WEEKDAY_LONG = 17
    CI_WEEKDAY = 18
    CI_ZONE = 19
    CI_OFFSET = 20
    CI_OFFSET_OR_Z = 21
    CI_OFFSET_COLON = 22
    CI_ERA = 23

cdef int64_t CI_FIRST = -62135596800000     # 0001-01-01 and 9999-12-31, in milliseconds
cdef int64_t CI_LAST = 253402300799999

cdef const char** CI_MONTHS = [
    b"January", b"February", b"March", b"April", b"May", b"June", b"July", b"August", b"September", b"October",
    b"November", b"December"]
cdef const char** CI_WEEKDAYS = [
    b"Monday", b"Tuesday", b"Wednesday", b"Thursday", b"Friday", b"Saturday", b"Sunday"]

cdef uint8_t[256] ci_class
"""Class of a token, by its tag."""
cdef uint8_t[256] ci_fold
"""Lower case of an ASCII letter; other bytes unchanged."""
cdef uint8_t[256] ci_shift
"""By tag: 64 minus the bits of the number or length after it.  A big-endian word of eight bytes that start with that
number, shifted right by so much, is the number.  CI_OTHER: not a tag with a number or length."""

cdef struct CiToken:
    uint8_t tag
    int64_t number          # of tokens without text
    const uint8_t* text
    Py_ssize_t size

cdef void ci_fill() noexcept:
    """Fill the tables by byte: the class of a token, lower case, and how far the value of a token is to be shifted."""
    cdef ClpIrToken token
    cdef uint8_t[16] stored
    cdef int64_t after
    cdef int i
    memset(ci_class, C_NONE, 256)
    ci_class[CLP_IR_TAGS_END_OF_STREAM] = C_END
    ci_class[CLP_IR_TAGS_UTC_OFFSET_CHANGE] = C_OFFSET
    ci_class[CLP_IR_TAGS_VARIABLE_4] = ci_class[CLP_IR_TAGS_VARIABLE_8] = C_VARIABLE
    ci_class[CLP_IR_TAGS_VARIABLE_TEXT_1] = ci_class[CLP_IR_TAGS_VARIABLE_TEXT_2] = C_VARIABLE_TEXT
    ci_class[CLP_IR_TAGS_VARIABLE_TEXT_4] = C_VARIABLE_TEXT
    ci_class[CLP_IR_TAGS_LOG_TYPE_1] = ci_class[CLP_IR_TAGS_LOG_TYPE_2] = C_LOG_TYPE
    ci_class[CLP_IR_TAGS_LOG_TYPE_4] = C_LOG_TYPE
    for i in range(256):
        ci_fold[i] = i + 32 if c"A" <= i <= c"Z" else i
    memset(stored, 0, sizeof(stored))
    for i in range(256):
        stored[0] = i
        after = read_clp_ir_token(stored, 0, sizeof(stored), &token)  # of no text, which has a length of 0
        # A token with a length of 0 ends with it: `after - 1` is the size of the number or length in bytes.
        ci_shift[i] = <uint8_t>(sizeof(uint64_t) + 1 - after << 3) if after > 1 else CI_OTHER


ci_fill()


cdef inline int64_t ci_token(const uint8_t* p, int64_t at, int64_t end, CiToken* out) noexcept nogil:
    """Read a token as `read_clp_ir_token` does, in one step where enough bytes follow; return its end, or -1."""
    cdef ClpIrToken token
    cdef uint64_t word
    cdef uint8_t shift
    if end - at > 8:
        out.tag = p[at]
        shift = ci_shift[out.tag]
        at += 1
        # The number or length after the tag has `8 - (shift >> 3)` bytes.
        # Where the next token starts does not have to wait for the table if the width is guessed right.
        if shift == 56:  # a number of one byte
            out.number = <int8_t>p[at]
            word = p[at]
            at += 1
        elif shift == 32:  # of four bytes
            memcpy(&word, p + at, sizeof(word))
            out.number = <int64_t>swap8(word) >> 32
            word = <uint32_t>out.number
            at += 4
        elif shift != CI_OTHER:
            memcpy(&word, p + at, sizeof(word))
            word = swap8(word)
            out.number = <int64_t>word >> shift
            word >>= shift
            at += 8 - (shift >> 3)
        else:
            at -= 1  # read the token below
        if shift != CI_OTHER:
            if ci_class[out.tag] < C_VARIABLE_TEXT:  # `word` is not a length: the token ends here
                return at
            if word > <uint64_t>(end - at):
                return -1
            out.text, out.size = p + at, <Py_ssize_t>word
            return at + out.size
    at = read_clp_ir_token(p, at, end, &token)
    if at < 0:
        return -1
    out.tag = token.tag
    out.number = token.number1 + token.number2 + token.number4 + token.number8
    out.text, out.size = p + token.text_start, token.text_end - token.text_start
    return at


cdef struct CiSegment:      # of a wildcard pattern: the part between two asterisks
    Py_ssize_t start        # in `letters` and `questions`
    Py_ssize_t size
    Py_ssize_t probe        # of its bytes, one that is rare in logs and is searched first; -1 if all are question marks

cdef struct CiPattern:
    Py_ssize_t first        # number of its first segment
    Py_ssize_t count        # of its segments
    bint open_start         # an asterisk before the first segment
    bint open_end           # and after the last
    bint fold               # letters match in either case; the segments are in lower case then
    Py_ssize_t needle       # the segment with most letters that are not question marks; -1 if none has any


cdef Py_ssize_t ci_probe(bytes letters, bytes questions):
    """Position of the byte of a segment that is rarest in text, -1 if all are question marks.

    Rarest are the bytes other than letters, digits, spaces and frequent punctuation; then capitals, digits and that
    punctuation; then small letters; then spaces.
    """
    cdef Py_ssize_t i, found = -1
    cdef int rank, least = 4  # above all ranks
    for i in range(len(letters)):
        byte = letters[i]
        if questions[i]:
            continue
        rank = 3 if byte == 0x20 else 2 if 0x61 <= byte <= 0x7A else 1 if byte in CI_COMMON else 0
        if rank < least:
            found, least = i, rank
    return found


# Bytes that are rarer in logs than small letters, and more frequent than the rest; see `ci_probe`.
CI_COMMON = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ.:-/"

include "logtypes.pxi"


cdef class ClpIrDecoder:
    """Decodes the units of a stream; the public methods and attributes are documented in pykernel.py."""
    cdef public int64_t events
    cdef public int64_t matched
    cdef public int64_t utc_offset
    cdef public int64_t utc_changes
    cdef public int64_t time
    cdef public int64_t first_time
    cdef public int64_t last_time
    cdef readonly bint wide
    cdef readonly object event
    cdef readonly int64_t start
    cdef readonly int64_t end
    cdef readonly tuple stopped
    cdef bint busy              # whether a thread is in `run`
    cdef Out out                # output that was not taken: text, lines, or messages of columns
    cdef Out text               # scratch space: a message
    cdef EncBuf variables       # `IrVariable`s of the current event
    cdef EncBuf times           # of columns: i64 by row
    cdef EncBuf ends            # of columns: i64 by row, the end of its message in `out`
    cdef EncBuf keyed           # scratch space: the tokens of an event that are not copied
    cdef int64_t lower          # the chosen times, both included
    cdef int64_t upper
    cdef EncBuf letters         # of all segments: a byte, and whether it is a question mark
    cdef EncBuf questions
    cdef EncBuf segments        # of CiSegment
    cdef EncBuf patterns        # of CiPattern
    cdef CiLogType* types       # table of split log types (logtypes.pxi); NULL until it is used
    cdef Out digits             # scratch space: a variable that is a number
    cdef bytes form             # program that prints times
    cdef const uint8_t* form_start
    cdef Py_ssize_t form_size
    cdef object zone            # `patterns.Zone`, or None for UTC
    cdef int64_t zone_start     # the times for which `zone_offset` and `zone_name` are valid, both included
    cdef int64_t zone_stop
    cdef int64_t zone_offset
    cdef bytes zone_name

    def __cinit__(self, bint wide, int64_t time):
        self.wide, self.time = wide, time
        self.lower, self.upper = -(1 << 63), (1 << 63) - 1
        self.print_times(b"", None)
        self.zone_name = b"UTC"
        self.first_time, self.last_time = (1 << 63) - 1, -(1 << 63)

    def __dealloc__(self):
        free(self.out.data)
        free(self.text.data)
        free(self.digits.data)
        ci_free_types(self.types)
        enc_buf_free(&self.variables)
        enc_buf_free(&self.times)
        enc_buf_free(&self.ends)
        enc_buf_free(&self.keyed)
        enc_buf_free(&self.letters)
        enc_buf_free(&self.questions)
        enc_buf_free(&self.segments)
        enc_buf_free(&self.patterns)

    def print_times(self, bytes form not None, zone):
        """Set the program that prints times (see `put_time`; empty: none is printed), and the zone, None for UTC."""
        self.form, self.zone = form, zone
        self.form_start, self.form_size = <const uint8_t*><const char*>self.form, len(form)
        self.zone_start, self.zone_stop = 0, -1

    def choose(self, lower, upper, patterns):
        """Select events by time, both ends included, and by wildcard patterns, which are copied into C arrays.

        `patterns` are the fields of `units.Wildcard`; of each segment, `questions` has 1 for each question mark.
        """
        cdef CiPattern pattern
        cdef CiSegment segment
        cdef Py_ssize_t most
        # The split log types have clues, which are about the former patterns; see logtypes.pxi.
        ci_free_types(self.types)
        self.types = NULL
        self.lower, self.upper = lower, upper
        self.letters.n = self.questions.n = self.segments.n = self.patterns.n = 0
        for open_start, open_end, fold, segments in patterns:
            pattern.first, pattern.count = self.segments.n // sizeof(CiSegment), len(segments)
            pattern.open_start, pattern.open_end, pattern.fold = open_start, open_end, fold
            pattern.needle, most = -1, 0
            for letters, questions in segments:
                if len(letters) != len(questions):
                    raise ValueError("letters and marks differ in number")
                segment.start, segment.size = self.letters.n, len(letters)
                text = <bytes>(letters.lower() if fold else letters)
                # `probe` is the rarest byte of a segment, `needle` the segment with most letters.
                segment.probe = ci_probe(text, questions)
                if questions.count(0) > most:
                    pattern.needle, most = self.segments.n // sizeof(CiSegment), questions.count(0)
                enc_buf_put(&self.letters, <const char*><bytes>text, segment.size)
                enc_buf_put(&self.questions, <const char*><bytes>questions, segment.size)
                enc_buf_put(&self.segments, &segment, sizeof(CiSegment))
            enc_buf_put(&self.patterns, &pattern, sizeof(CiPattern))

    def take(self):
        """The text or the lines that were made since the last call."""
        return moved(&self.out)

    def take_columns(self):
        """The columns since the last call: times and ends of messages, as int64, and all messages."""
        cdef bytes times = enc_buf_bytes(&self.times), ends = enc_buf_bytes(&self.ends)
        self.times.n = self.ends.n = 0
        return times, ends, self.take()

    def take_events(self, made not None):
        """The events since the last call as tuples of the class `made`: (time, message)."""
        cdef const uint64_t* ends = <const uint64_t*>self.ends.p
        cdef const int64_t* times = <const int64_t*>self.times.p
        cdef Py_ssize_t i, start = 0, stop
        cdef list found = []
        if not issubclass(made, tuple):
            raise TypeError("not a kind of tuple")
        if self.busy:
            raise RuntimeError("one decoder serves one thread at a time")
        self.busy = True  # allocation may start the garbage collector; finalizers may call this decoder
        try:
            for i in range(self.ends.n >> 3):
                stop = ends[i]
                event = kernel_alloc(<PyTypeObject*>made, 2)  # a tuple of two items, which are set next
                fill_row(event, 0, times[i])
                fill_row(event, 1, self.out.data[start:stop])
                found.append(event)
                start = stop
            self.times.n = self.ends.n = self.out.size = 0
        finally:
            self.busy = False
        return found

    def run(self, const unsigned char[::1] data, int64_t at, int64_t end, int64_t base, int how, int64_t target):
        """Decode the units of `data[at:end]`; return the fields of `IrStop`."""
        if not 0 <= at <= end <= data.shape[0]:
            raise ValueError("outside of the data")
        cdef const uint8_t* p = &data[0] if data.shape[0] else NULL
        cdef IrStop stop
        if self.busy:  # the lock of the interpreter is released below
            raise RuntimeError("one decoder serves one thread at a time")
        self.busy = True
        try:
            with nogil:
                self.walk(p, at, end, base, how, target, &stop)
        finally:
            self.busy = False
        return stop.status, stop.unit, stop.place, stop.after

    def each(self, const unsigned char[::1] data, int64_t at, int64_t end, int64_t base):
        """Yield the chosen events one by one; afterwards, `stopped` is what `run` would have returned.

        Unlike `run`, it keeps the interpreter's lock, and so does not set `busy`.
        """
        if not 0 <= at <= end <= data.shape[0]:
            raise ValueError("outside of the data")
        cdef const uint8_t* p = &data[0] if data.shape[0] else NULL
        cdef IrStop stop
        stop.unit, stop.status = at, IR_FULL
        while True:
            self.walk(p, stop.unit, end, base, CI_OBJECTS, 0, &stop)
            if stop.status != IR_FULL:
                break
            yield self.event
        self.stopped = (stop.status, stop.unit, stop.place, stop.after)

    cdef int walk(self, const uint8_t* p, int64_t at, int64_t end, int64_t base, int how, int64_t target,
                  IrStop* stop) except -2 nogil:
        """Decode units until something stops it: a fault, enough output, or the end; the reason is then in `stop`.

        An event is its variables, its log type and its time.  The variables are counted by `leaf.num_variables`;
        `variables.n` is set only where the buffer has to grow.
        """
        cdef CiToken token
        cdef IrLeaf leaf
        cdef IrVariable* variable   # the next one in `variables`
        cdef IrVariable* limit      # the end of its memory
        cdef int64_t after, place, size, matched
        cdef uint8_t number = CLP_IR_TAGS_VARIABLE_8 if self.wide else CLP_IR_TAGS_VARIABLE_4
        cdef int fault, what
        while at < end:
            after = ci_token(p, at, end, &token)
            if after < 0:
                return ir_stop(stop, IR_MORE, at, at, -1)
            what = ci_class[token.tag]
            if what == C_VARIABLE or what == C_VARIABLE_TEXT or what == C_LOG_TYPE:  # an event
                place = at
                leaf.variable = leaf.num_variables = 0
                leaf.wide = self.wide
                variable = <IrVariable*>self.variables.p
                limit = variable + self.variables.cap // sizeof(IrVariable)
                while what != C_LOG_TYPE:  # its variables
                    if variable == limit:
                        self.variables.n = self.variables.cap
                        enc_buf_room(&self.variables, sizeof(IrVariable))
                        limit = <IrVariable*>self.variables.p + self.variables.cap // sizeof(IrVariable)
                        variable = <IrVariable*>self.variables.p + leaf.num_variables
                    if token.tag == number:
                        variable.text = NULL
                        variable.number = token.number
                    elif what == C_VARIABLE_TEXT:
                        variable.text, variable.number = token.text, token.size
                    else:
                        return ir_stop(stop, IR_UNEXPECTED, at, place, -1)
                    variable += 1
                    leaf.num_variables += 1
                    place = after
                    after = ci_token(p, place, end, &token)
                    if after < 0:
                        return ir_stop(stop, IR_MORE, at, place, -1)
                    what = ci_class[token.tag]
                # Its log type, and its time.
                leaf.text, leaf.size = token.text, token.size
                place = after
                after = ci_token(p, place, end, &token)
                if after < 0:
                    return ir_stop(stop, IR_MORE, at, place, -1)
                if token.tag == CLP_IR_TAGS_TIMESTAMP if self.wide else \
                        CLP_IR_TAGS_DELTA_1 <= token.tag <= CLP_IR_TAGS_DELTA_8:
                    fault = self.keep_time(token.number)
                else:
                    return ir_stop(stop, IR_UNEXPECTED, at, place, -1)
                # Write it, and stop if it is an object, or if there is enough output.
                matched = self.matched
                fault = self.give(&leaf, how, fault, p + at, place - at)
                if fault:
                    return ir_stop(stop, fault, at, at, after)
                self.events += 1
                if how & CI_OBJECTS and self.matched != matched:
                    self.start, self.end = base + at, base + after
                    return ir_stop(stop, IR_FULL, after, after, after)
                if how & CI_COLUMNS:
                    size = self.out.size + self.times.n
                else:
                    size = self.out.size if how & (CI_TEXT | CI_LINES | CI_KEYED) else self.events
                if size >= target and not how & CI_OBJECTS:
                    return ir_stop(stop, IR_FULL, after, after, after)
            elif what == C_OFFSET:
                self.utc_offset = token.number
                self.utc_changes += 1
                self.zone_stop = self.zone_start - 1  # valid for no time: `put_time` finds the offset again
                if how == 0 and not -CI_DAY < token.number < CI_DAY:
                    return ir_stop(stop, IR_OFFSET, at, at, after)
            elif what == C_END:
                return ir_stop(stop, IR_END, after, after, after)
            else:
                return ir_stop(stop, IR_UNEXPECTED, at, at, -1)
            at = after
        return ir_stop(stop, IR_MORE, at, at, -1)

    cdef int keep_time(self, int64_t number) noexcept nogil:
        """Set `time`; return 0, or IR_TIME if the sum does not fit 64 bits, or is outside the years 1 to 9999."""
        cdef int64_t before = self.time
        if self.wide:
            self.time = number
        else:
            self.time = <int64_t>(<uint64_t>before + <uint64_t>number)
            if (number >= 0) != (self.time >= before):
                return IR_TIME
        return 0 if CI_FIRST <= self.time <= CI_LAST else IR_TIME

    cdef int give(self, IrLeaf* leaf, int how, int fault, const uint8_t* apart, Py_ssize_t apart_size) except -2 nogil:
        """Write the event that was read in the form `how` (`CI_TEXT` ...), if it is selected. Returns 0 or the fault.

        `apart` are the `apart_size` bytes of its variables and log type as stored, which keyed events copy.  `fault` is
        that of its time; it only counts if events are checked.
        """
        cdef Out* into = &self.out
        cdef Py_ssize_t start, size = self.out.size
        cdef CiLogType* type
        if not self.lower <= self.time <= self.upper:
            return 0
        # A large message becomes a line without being joined first; nothing is searched in it.
        if how & CI_LINES and not self.patterns.n and ir_is_large(leaf, <IrVariable*>self.variables.p):
            self.put_line_head()
            if not ir_join_escaped(&self.out, leaf, <IrVariable*>self.variables.p):
                self.out.size = size
                return IR_LOG_TYPE
            ir_add(&self.out, b"}\n", 2)
            return self.count()
        self.log_type(leaf.text, leaf.size, &type)
        if type != NULL and self.patterns.n and self.rules_out(type, leaf):
            return 0
        # The message is joined in `out` if it is printed as it is, else in `text`.
        if how & (CI_LINES | CI_OBJECTS | CI_KEYED) or not how & (CI_TEXT | CI_COLUMNS):
            into = &self.text
            into.size = 0
        elif how & CI_TEXT:
            self.put_time(into)
        start = into.size
        if not (ci_join(into, type, leaf, <IrVariable*>self.variables.p) if type != NULL else
                ir_join(into, leaf, <IrVariable*>self.variables.p)):
            self.out.size = size
            return IR_LOG_TYPE
        if self.patterns.n and not self.matches(<const uint8_t*>into.data + start, into.size - start):
            self.out.size = size
            return 0
        if how & CI_OBJECTS:
            with gil:
                self.event = self.time, self.text.data[: self.text.size]
        elif how & CI_LINES:
            self.put_line_head()
            ir_put_escaped(&self.out, <const uint8_t*>self.text.data, self.text.size)
            ir_add(&self.out, b"}\n", 2)
        elif how & CI_COLUMNS:
            enc_buf_u64(&self.times, <uint64_t>self.time)
            enc_buf_u64(&self.ends, <uint64_t>self.out.size)
        elif how & CI_KEYED:
            self.keyed.n = 0
            ir_put(&self.keyed, CLP_KV_IR_TAGS_KEY_1, <uint64_t>-2, 1)  # node 1 of the logger, stored as -1 - 1
            ir_put_number(&self.keyed, self.time, CLP_KV_IR_TAGS_INTEGER_1, CLP_KV_IR_TAGS_INTEGER_2,
                          CLP_KV_IR_TAGS_INTEGER_4, CLP_KV_IR_TAGS_INTEGER_8)
            ir_put(&self.keyed, CLP_KV_IR_TAGS_KEY_1, 1, 1)  # node 1 of the user
            ir_put(&self.keyed, CLP_KV_IR_TAGS_EIGHT_BYTE_ENCODING if self.wide else CLP_KV_IR_TAGS_FOUR_BYTE_ENCODING, 0, 0)
            ir_add(&self.out, <const char*>self.keyed.p, self.keyed.n)
            ir_add(&self.out, <const char*>apart, apart_size)
        elif not how & CI_TEXT and not how & CI_LENIENT:
            if fault:
                return fault
            if not ir_is_utf8(<const uint8_t*>into.data, into.size):
                return IR_UTF8
        return self.count()

    cdef int count(self) noexcept nogil:
        """Count an event that was selected."""
        self.matched += 1
        if self.time < self.first_time:
            self.first_time = self.time
        if self.time > self.last_time:
            self.last_time = self.time
        return 0

    cdef int put_line_head(self) except -2 nogil:
        """Write the beginning of a line of JSON, up to the message."""
        ir_add(&self.out, b'{"timestamp":', 13)
        ir_reserve(&self.out, 24)
        put_integer(&self.out, self.time)
        return ir_add(&self.out, b',"message":', 11)

    # -- log types -----------------------------------------------------------------------------------------------------

    cdef int log_type(self, const uint8_t* p, Py_ssize_t size, CiLogType** found) except -1 nogil:
        """Set `found` to the split log type of these bytes; NULL if it is too long, is faulty, or its slot is in use."""
        cdef CiLogType* type
        found[0] = NULL
        if size > CI_LONGEST:
            return 0
        if self.types == NULL:
            self.types = <CiLogType*>calloc(CI_SLOTS, sizeof(CiLogType))
            if self.types == NULL:
                with gil:
                    raise MemoryError
        type = &self.types[ci_slot(p, size)]
        if type.taken and <Py_ssize_t>type.raw.n == size and same_bytes(type.raw.p, p, size):
            type.misses = 0
        else:
            type.misses += 1
            if type.taken and type.misses < CI_PATIENCE:
                return 0
            type.taken = False  # until all of it is known
            type.misses = 0
            type.raw.n = type.text.n = type.pieces.n = type.clues.n = 0
            enc_buf_put(&type.raw, p, size)
            type.sound = ci_take_apart(type, p, size)
            if type.sound:
                self.find_clues(type)
            type.taken = True
        if type.sound:
            found[0] = type
        return 0

    cdef int find_clues(self, CiLogType* type) except -1 nogil:
        """Collect the clues of a log type: what a variable must contain if a pattern is to match; see logtypes.pxi."""
        cdef CiPattern* pattern = <CiPattern*>self.patterns.p
        cdef size_t i
        type.open = False
        for i in range(self.patterns.n // sizeof(CiPattern)):
            if pattern[i].needle < 0:  # it has no letters that could be searched for
                type.open = True
            if not type.open:
                self.find_clues_of(type, i)
        return 0

    cdef int find_clues_of(self, CiLogType* type, Py_ssize_t number) except -1 nogil:
        """Collect where the needle of pattern `number` could begin in events of a log type, and what a variable must
        contain in each case.  If its text alone contains the needle, all events have to be compared (`open`).
        """
        cdef CiPattern* pattern = &(<CiPattern*>self.patterns.p)[number]
        cdef CiSegment* needle = &(<CiSegment*>self.segments.p)[pattern.needle]
        cdef CiPiece* piece = <CiPiece*>type.pieces.p
        cdef const uint8_t* text = type.text.p
        cdef Py_ssize_t i, at, count
        for i in range(type.num_variables + 1):
            for at in range(piece[i].size):  # it begins in the text, and continues into the variable after it
                count = min(piece[i].size - at, needle.size)
                if self.part_stands(needle, 0, count, text + piece[i].start + at, pattern.fold):
                    if count == needle.size:
                        type.open = True
                        return 0
                    if piece[i].mark:
                        self.add_clue(type, i, number, CI_PREFIX, count, needle.size - count)
            if not piece[i].mark:  # the last text: no variable follows
                return 0
            self.add_clue(type, i, number, CI_INSIDE, 0, needle.size)
            for at in range(1, needle.size):  # this many letters of the needle end the variable, the others follow
                # Where the text after it is shorter, the rest may be in the next variable, which is not examined.
                count = min(piece[i + 1].size, needle.size - at)
                if (count == needle.size - at or piece[i + 1].mark) \
                        and self.part_stands(needle, at, count, text + piece[i + 1].start, pattern.fold):
                    self.add_clue(type, i, number, CI_SUFFIX, 0, at)
        return 0

    cdef int add_clue(self, CiLogType* type, Py_ssize_t variable, Py_ssize_t pattern, int where, Py_ssize_t first,
                      Py_ssize_t count) except -1 nogil:
        """Note that a pattern needs some letters in a variable; not for a number, if it cannot contain these letters.

        The fields of `CiClue` document the arguments.
        """
        cdef CiSegment* needle = &(<CiSegment*>self.segments.p)[(<CiPattern*>self.patterns.p)[pattern].needle]
        cdef CiClue clue
        cdef Py_ssize_t i
        cdef uint8_t letter
        # Only the first letter of a prefix is certain to be in the variable, which may be shorter.
        if (<CiPiece*>type.pieces.p)[variable].mark != CLP_KV_IR_MARKS_TEXT:
            for i in range(first, first + (1 if where == CI_PREFIX else count)):
                letter = self.letters.p[needle.start + i]
                if not (self.questions.p[needle.start + i] or c"0" <= letter <= c"9" or letter == c"-" or letter == c"."):
                    return 0
        clue.variable, clue.pattern, clue.where, clue.first, clue.count = variable, pattern, where, first, count
        enc_buf_put(&type.clues, &clue, sizeof(CiClue))
        if type.clues.n > CI_MOST_CLUES * sizeof(CiClue):
            type.open = True
        return 0

    cdef bint rules_out(self, CiLogType* type, IrLeaf* leaf) except -2 nogil:
        """Whether no pattern can match an event: no clue holds.  Also False if its variables do not fit its log type,
        so that joining the message reports the fault.
        """
        cdef CiPiece* piece = <CiPiece*>type.pieces.p
        cdef CiClue* clue = <CiClue*>type.clues.p
        cdef IrVariable* variable = <IrVariable*>self.variables.p
        cdef CiPattern* pattern
        cdef CiSegment* needle
        cdef const uint8_t* text
        cdef Py_ssize_t i, size
        if type.open or leaf.num_variables != type.num_variables:
            return False
        for i in range(leaf.num_variables):
            if (variable[i].text != NULL) != (piece[i].mark == CLP_KV_IR_MARKS_TEXT):
                return False
            if piece[i].mark == CLP_KV_IR_MARKS_DECIMAL and not ci_decimal_fits(<uint64_t>variable[i].number, leaf.wide):
                return False
        for i in range(type.clues.n // sizeof(CiClue)):
            text, size = variable[clue[i].variable].text, variable[clue[i].variable].number
            if text == NULL:  # a number: compare its digits
                self.digits.size = 0
                ir_reserve(&self.digits, IR_NUMBER_ROOM)
                ir_put_variable(&self.digits, &variable[clue[i].variable], piece[clue[i].variable].mark, leaf.wide)
                text, size = <const uint8_t*>self.digits.data, self.digits.size
            if size < clue[i].count and clue[i].where != CI_PREFIX:  # too short for the letters
                continue
            pattern = &(<CiPattern*>self.patterns.p)[clue[i].pattern]
            needle = &(<CiSegment*>self.segments.p)[pattern.needle]
            if clue[i].where == CI_INSIDE:
                if self.find(needle, text, 0, size, pattern.fold) >= 0:
                    return False
            elif clue[i].where == CI_SUFFIX:
                text += size - clue[i].count
                if self.part_stands(needle, 0, clue[i].count, text, pattern.fold):
                    return False
            elif self.part_stands(needle, clue[i].first, min(size, clue[i].count), text, pattern.fold):
                return False
        return True

    # -- wildcards -----------------------------------------------------------------------------------------------------

    cdef bint matches(self, const uint8_t* text, Py_ssize_t size) noexcept nogil:
        """Whether a message matches one of the patterns."""
        cdef CiPattern* pattern = <CiPattern*>self.patterns.p
        cdef size_t i
        for i in range(self.patterns.n // sizeof(CiPattern)):
            if self.fits(&pattern[i], text, size):
                return True
        return False

    cdef bint fits(self, CiPattern* pattern, const uint8_t* text, Py_ssize_t size) noexcept nogil:
        """Whether a message matches a wildcard pattern: each segment is searched for after the one before it.

        Without an asterisk there, the first segment must be at the start, and the last one at the end.
        """
        cdef CiSegment* segment = <CiSegment*>self.segments.p + pattern.first
        # The segments `[i, last)` are to be found in `text[start:stop]`.
        cdef Py_ssize_t start = 0, stop = size, i = 0, last = pattern.count
        if last == 0:
            return pattern.open_start or size == 0
        if not pattern.open_start:
            if segment.size > size or not self.stands(segment, text, pattern.fold):
                return False
            start = segment.size
            i = 1
            if last == 1:
                return pattern.open_end or start == size
        if not pattern.open_end:
            last -= 1
            stop = size - segment[last].size
            if stop < start or not self.stands(&segment[last], text + stop, pattern.fold):
                return False
        while i < last:
            start = self.find(&segment[i], text, start, stop, pattern.fold)
            if start < 0:
                return False
            start += segment[i].size
            i += 1
        return True

    cdef inline Py_ssize_t find(self, CiSegment* segment, const uint8_t* text, Py_ssize_t at, Py_ssize_t stop,
                                bint fold) noexcept nogil:
        """First position of a segment in `text[at:stop]`; -1 if there is none.  Its rarest byte is searched first."""
        cdef uint8_t letter = 0
        cdef bint folds = False  # whether the byte is a letter of either case
        cdef const uint8_t* found
        stop -= segment.size  # the last position that it can have
        if segment.probe >= 0:
            letter = self.letters.p[segment.start + segment.probe]
            folds = fold and c"a" <= letter <= c"z"
        while at <= stop:
            if segment.probe >= 0:
                if folds:
                    while at <= stop and ci_fold[text[at + segment.probe]] != letter:
                        at += 1
                    if at > stop:
                        return -1
                else:
                    found = <const uint8_t*>memchr(text + at + segment.probe, letter, stop - at + 1)
                    if found == NULL:
                        return -1
                    at = found - text - segment.probe
            if self.stands(segment, text + at, fold):
                return at
            at += 1
        return -1

    cdef inline bint stands(self, CiSegment* segment, const uint8_t* text, bint fold) noexcept nogil:
        """Whether a segment matches at `text`; the caller has checked that there are enough bytes."""
        return self.part_stands(segment, 0, segment.size, text, fold)

    cdef inline bint part_stands(self, CiSegment* segment, Py_ssize_t first, Py_ssize_t count, const uint8_t* text,
                                 bint fold) noexcept nogil:
        """Whether `count` letters of a segment from `first` on match at `text`; question marks match any byte.

        `fold`: in any case.
        """
        cdef const uint8_t* letter = self.letters.p + segment.start + first
        cdef const uint8_t* any_byte = self.questions.p + segment.start + first
        cdef Py_ssize_t i
        for i in range(count):
            if not any_byte[i] and letter[i] != (ci_fold[text[i]] if fold else text[i]):
                return False
        return True

    # -- times ---------------------------------------------------------------------------------------------------------

    cdef int find_zone(self) except -2 nogil:
        """Set the offset from UTC at the time of the event, and the times for which that is valid.

        It is that of the last change in the stream, else that of the time zone, else 0.
        """
        cdef int64_t offset
        if self.utc_changes and -CI_DAY < self.utc_offset < CI_DAY:
            self.zone_start, self.zone_stop, self.zone_offset = CI_FIRST, CI_LAST, self.utc_offset
            with gil:
                offset = abs(self.utc_offset) // 60000
                sign = b"-" if self.utc_offset < 0 else b"+"
                self.zone_name = b"GMT%s%02d:%02d" % (sign, offset // 60, offset % 60) if offset else b"UTC"
            return 0
        with gil:
            if self.zone is None:
                self.zone_start, self.zone_stop, self.zone_offset = CI_FIRST, CI_LAST, 0
            else:
                self.zone_start, self.zone_stop, self.zone_offset, self.zone_name = self.zone(self.time)
        return 0

    cdef int put_time(self, Out* out) except -2 nogil:
        """Write the time of the event in the stream's pattern; outside the years 1 to 9999 as its number.

        The pattern is a program (`form`): a kind (CI_YEAR ...) and a width for each element, and the bytes of literals.
        """
        cdef CiTime time
        cdef int64_t local
        cdef const uint8_t* form = self.form_start
        cdef const uint8_t* end = form + self.form_size
        cdef uint8_t kind, width
        if form == end:
            return 0
        if not CI_FIRST <= self.time <= CI_LAST:
            ir_reserve(out, 24)
            put_integer(out, self.time)
            return 0
        if not self.zone_start <= self.time <= self.zone_stop:
            self.find_zone()
        local = self.time + self.zone_offset
        time.days = local // CI_DAY
        time.rest = local - time.days * CI_DAY
        time.date = civil_date(time.days)
        while form < end:
            kind, width = form[0], form[1]
            form += 2
            ir_reserve(out, 280)  # more than any element needs: a width is one byte
            if kind == CI_LITERAL:
                ir_add(out, <const char*>form, width)
                form += width
            elif kind == CI_ZONE:
                with gil:
                    ir_add(out, <const char*>self.zone_name, len(self.zone_name))
            elif kind >= CI_OFFSET and kind <= CI_OFFSET_COLON:
                ci_put_offset(out, kind, width, self.zone_offset)
            else:
                ci_put_element(out, kind, width, &time)
        return 0


cdef struct CiTime:         # a time in the parts that elements of a pattern print
    int64_t days            # since 1970-01-01, of the local time
    int64_t rest            # milliseconds since midnight
    CivilDate date


cdef void ci_put_element(Out* out, uint8_t kind, uint8_t width, const CiTime* time) noexcept nogil:
    """Write the part of a time that this kind of element prints; numbers have at least `width` digits."""
    cdef const CivilDate* date = &time.date
    cdef uint64_t year = <uint64_t>(date.year if date.year > 0 else 1 - date.year)  # the year before 1 is 1 BC
    cdef int hour = <int>(time.rest // 3600000)
    cdef int weekday = <int>((time.days + 3) % 7)  # 0 is Monday: the epoch was a Thursday, 3
    if kind == CI_YEAR:
        put_padded(out, year, width, c"0")
    elif kind == CI_YEAR_2:
        put_padded(out, year % 100, 2, c"0")
    elif kind == CI_MONTH:
        put_padded(out, date.month, width, c"0")
    elif kind == CI_MONTH_SHORT:
        put(out, CI_MONTHS[date.month - 1], 3)
    elif kind == CI_MONTH_LONG:
        put(out, CI_MONTHS[date.month - 1], strlen(CI_MONTHS[date.month - 1]))
    elif kind == CI_DAY_OF_MONTH:
        put_padded(out, date.day, width, c"0")
    elif kind == CI_DAY_OF_YEAR:
        put_padded(out, time.days - civil_days(date.year, 1, 1) + 1, width, c"0")
    elif kind == CI_HOUR_0_23:
        put_padded(out, hour, width, c"0")
    elif kind == CI_HOUR_1_24:
        put_padded(out, hour if hour else 24, width, c"0")
    elif kind == CI_HOUR_0_11:
        put_padded(out, hour % 12, width, c"0")
    elif kind == CI_HOUR_1_12:
        put_padded(out, hour % 12 if hour % 12 else 12, width, c"0")
    elif kind == CI_MINUTE:
        put_padded(out, time.rest // 60000 % 60, width, c"0")
    elif kind == CI_SECOND:
        put_padded(out, time.rest // 1000 % 60, width, c"0")
    elif kind == CI_MILLISECOND:
        put_padded(out, time.rest % 1000, width, c"0")
    elif kind == CI_HALF:
        put(out, b"AM" if hour < 12 else b"PM", 2)
    elif kind == CI_WEEKDAY_SHORT:
        put(out, CI_WEEKDAYS[weekday], 3)
    elif kind == CI_WEEKDAY_LONG:
        put(out, CI_WEEKDAYS[weekday], strlen(CI_WEEKDAYS[weekday]))
    elif kind == CI_WEEKDAY:
        put_padded(out, weekday + 1, width, c"0")
    else:  # CI_ERA
        put(out, b"AD" if date.year > 0 else b"BC", 2)


cdef void ci_put_offset(Out* out, uint8_t kind, uint8_t width, int64_t offset) noexcept nogil:
    """Write an offset from UTC, given in milliseconds, as `+0130`, `+01:30` or `Z`.

    The width of CI_OFFSET_OR_Z is 1 for hours, 2 without and 3 with a colon.
    """
    cdef bint colon = kind == CI_OFFSET_COLON or (kind == CI_OFFSET_OR_Z and width == 3)
    cdef uint64_t seconds = <uint64_t>(-offset if offset < 0 else offset) // 1000
    if kind == CI_OFFSET_OR_Z and offset == 0:
        put(out, b"Z", 1)
        return
    put(out, b"-" if offset < 0 else b"+", 1)
    put_padded(out, seconds // 3600, 2, c"0")
    if colon:
        put(out, b":", 1)
    if kind != CI_OFFSET_OR_Z or width > 1:
        put_padded(out, seconds // 60 % 60, 2, c"0")
    if kind == CI_OFFSET_COLON and seconds % 60:
        put(out, b":", 1)
        put_padded(out, seconds % 60, 2, c"0")


cdef class ClpIrEncoder:
    """Encodes events; the methods and attributes are documented in pykernel.py."""
    cdef readonly bint wide
    cdef readonly int64_t time
    cdef EncBuf out             # units that were not taken
    cdef EncBuf log_type        # scratch space

    def __cinit__(self, bint wide, int64_t time):
        self.wide, self.time = wide, time

    def __dealloc__(self):
        enc_buf_free(&self.out)
        enc_buf_free(&self.log_type)

    def add(self, int64_t time, bytes message not None):
        """Encode an event: when, in milliseconds since the epoch, and the message."""
        cdef uint64_t delta = <uint64_t>time - <uint64_t>self.time
        ir_take_apart(&self.out, &self.log_type, enc_token_class, <const uint8_t*>bytes_text(message),
                      PyBytes_GET_SIZE(message), self.wide, NULL, NULL)
        if self.wide:
            ir_put(&self.out, CLP_IR_TAGS_TIMESTAMP, <uint64_t>time, 8)
        else:
            ir_put_number(&self.out, <int64_t>delta, CLP_IR_TAGS_DELTA_1, CLP_IR_TAGS_DELTA_2, CLP_IR_TAGS_DELTA_4,
                          CLP_IR_TAGS_DELTA_8)
        self.time = time

    @property
    def size(self):
        """Number of bytes to be taken."""
        return self.out.n

    def take(self):
        """The units that were made since the last call."""
        return moved_units(&self.out)
