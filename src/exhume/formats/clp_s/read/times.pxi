# Times, printed by the patterns of the timestamp dictionary.  A pattern is compiled into steps (`StepKind`):
# each prints a part of a time or a literal.  pytables.py has the same in Python.

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #define EXH_THREAD __declspec(thread)
    #else
    #define EXH_THREAD __thread
    #endif
    #define EXH_TIME_TEXT 64  /* bytes of the longest text that is kept */
    typedef struct {
        uint64_t serial;
        int64_t seconds;
        int64_t size, place;
        char text[EXH_TIME_TEXT];
    } ExhTime;
    static EXH_THREAD ExhTime exh_time;
    """
    struct ExhTime:  # the last time that this thread printed
        uint64_t serial  # of its pattern; 0: none was printed
        int64_t seconds
        int64_t size  # of the text
        int64_t place  # of the fraction of the second, in the text
        char* text
    ExhTime exh_time
    enum: EXH_TIME_TEXT

cdef uint64_t time_patterns = 0  # how many have a serial number


cdef class ClpsPatterns:
    """Timestamp patterns by id, compiled into steps; the class of this name in pytables.py documents them."""

    cdef Pattern* patterns  # sorted by id
    cdef Step* steps  # those of all patterns
    cdef Slice* names  # of months and weekdays
    cdef int count  # of patterns
    cdef bytes arena  # the text of all steps

    def __cinit__(self):
        self.patterns = NULL
        self.steps = NULL
        self.names = NULL
        self.count = 0

    def __init__(self, patterns):
        """Take (id, unit, shift, steps) of each pattern, with the steps as (code, text); see `Pattern`."""
        cdef Py_ssize_t at = 0
        cdef int step = 0, name = 0
        global time_patterns
        if self.patterns != NULL:
            raise TypeError("made already")
        # By id as an unsigned number; the last pattern with an id counts.
        found = sorted({(<object>item[0]) & 0xFFFFFFFFFFFFFFFF: item for item in patterns}.items())
        total = sum(len(item[3]) for _, item in found)
        self.arena = b"".join([bytes(text) for _, item in found for _, text in item[3]])
        cdef const char* base = self.arena
        self.patterns = <Pattern*>malloc((len(found) + 1) * sizeof(Pattern))
        self.steps = <Step*>malloc((total + 1) * sizeof(Step))
        self.names = <Slice*>malloc((12 * total + 1) * sizeof(Slice))  # at most twelve for each step
        if self.patterns == NULL or self.steps == NULL or self.names == NULL:
            raise MemoryError
        for ident, (_, unit, shift, steps) in found:
            self.patterns[self.count].ident = ident
            self.patterns[self.count].unit = unit
            self.patterns[self.count].shift = shift
            self.patterns[self.count].first = step
            self.patterns[self.count].count = len(steps)
            self.patterns[self.count].absolute = any(code >= STEP_EPOCH_S for code, _ in steps)
            # Only the fraction can be replaced in the text of the last time (see `add_time`) if there is at most one,
            # and no step after `STEP_NANO`: those print the whole epoch, or a fraction of variable length.
            digits = [3 * (code - STEP_MILLI + 1) for code, _ in steps if STEP_MILLI <= code <= STEP_NANO]
            self.patterns[self.count].serial = 0
            self.patterns[self.count].digits = sum(digits)
            if len(digits) <= 1 and all(code <= STEP_NANO for code, _ in steps):
                time_patterns += 1
                self.patterns[self.count].serial = time_patterns
            for code, text in steps:
                self.steps[step].code = code
                self.steps[step].start = at
                self.steps[step].size = len(text)
                self.steps[step].names = name
                if code == STEP_MONTH_NAME or code == STEP_WEEKDAY_NAME:
                    offset = at
                    parts = text.split(b"\0")
                    if len(parts) != (12 if code == STEP_MONTH_NAME else 7):
                        raise ValueError("a name table of the wrong size")
                    for part in parts:
                        self.names[name].text = base + <Py_ssize_t>offset
                        self.names[name].size = len(part)
                        offset += len(part) + 1
                        name += 1
                at += len(text)
                step += 1
            self.count += 1

    def __dealloc__(self):
        free(self.patterns)
        free(self.steps)
        free(self.names)

    def render(self, ident, epoch):
        """Return the text of an epoch, printed by the pattern with this id; a fault kind if it cannot be printed."""
        cdef Out out
        cdef Op op
        cdef int found
        out.data = NULL
        out.size = 0
        out.capacity = 0
        op.patterns, op.steps, op.names, op.num_patterns = self.patterns, self.steps, self.names, self.count
        op.arena = self.arena
        found = add_time(&out, &op, <uint64_t>(<object>ident & 0xFFFFFFFFFFFFFFFF), epoch)
        try:
            if found == F_MEMORY:
                raise MemoryError
            return found if found else PyBytes_New(out.data, out.size)
        finally:
            free(out.data)


cdef inline void put_fraction(Out* out, int64_t nanos, int digits) noexcept nogil:
    """Append the first 3, 6 or 9 digits of the fraction of a second."""
    put_padded(out, nanos // 1000000 if digits == 3 else nanos // 1000 if digits == 6 else nanos, digits, c"0")


cdef struct SplitTime:  # an epoch in the parts that steps print
    int64_t epoch  # as it is stored, in units of its pattern
    int64_t days  # since 1970-01-01, of the local time
    CivilDate date
    int hour
    int minute
    int second
    int64_t nanos  # of the second


cdef const Pattern* find_pattern(const Op* op, uint64_t ident) noexcept nogil:
    """Return the pattern with this id, NULL if there is none."""
    cdef int low = 0, high = op.num_patterns - 1, middle
    while low <= high:
        middle = (low + high) // 2
        if op.patterns[middle].ident == ident:
            return &op.patterns[middle]
        if op.patterns[middle].ident < ident:
            low = middle + 1
        else:
            high = middle - 1
    return NULL


cdef int add_time(Out* out, const Op* op, uint64_t ident, int64_t epoch) noexcept nogil:
    """Print an epoch by the pattern with this id.  Return 0 or a fault kind."""
    cdef const Pattern* pattern = find_pattern(op, ident)
    cdef const Step* step
    cdef SplitTime time
    cdef int64_t per_second, seconds, second_of_day
    cdef uint64_t size
    cdef Py_ssize_t start = out.size, place = 0
    cdef int i, found
    if pattern == NULL:
        return F_PATTERN
    per_second = 1000000000 // pattern.unit
    seconds = epoch // per_second  # rounded down, also before 1970
    time.nanos = epoch % per_second * pattern.unit
    # Times mostly come in their order: repeat the text of the last one if only the fraction can differ.  All bytes of
    # the buffer are copied, as a fixed number is copied without a call; `out.size` says how many count.
    if pattern.serial and pattern.serial == exh_time.serial and seconds == exh_time.seconds:
        if not reserve(out, EXH_TIME_TEXT):
            return F_MEMORY
        memcpy(out.data + start, exh_time.text, EXH_TIME_TEXT)
        if pattern.digits:
            out.size = start + exh_time.place
            put_fraction(out, time.nanos, pattern.digits)
        out.size = start + exh_time.size
        return F_NONE
    if pattern.absolute:  # next to a truncated epoch: -1.5 s are -1 and .5
        size = <uint64_t>epoch if epoch >= 0 else 0 - <uint64_t>epoch
        time.nanos = <int64_t>(size % <uint64_t>per_second) * pattern.unit
    time.epoch = epoch
    time.days = (seconds + pattern.shift) // 86400
    second_of_day = seconds + pattern.shift - time.days * 86400
    time.date = civil_date(time.days)
    time.hour = <int>(second_of_day // 3600)
    time.minute = <int>(second_of_day // 60 % 60)
    time.second = <int>(second_of_day % 60)
    for i in range(pattern.count):
        step = &op.steps[pattern.first + i]
        if STEP_MILLI <= step.code <= STEP_NANO:
            place = out.size - start
        found = add_step(out, op, step, &time, start)
        if found:
            return found
    if pattern.serial and out.size - start <= EXH_TIME_TEXT:
        exh_time.serial, exh_time.seconds = pattern.serial, seconds
        exh_time.size, exh_time.place = out.size - start, place
        memcpy(exh_time.text, out.data + start, out.size - start)
    return F_NONE


cdef int add_step(Out* out, const Op* op, const Step* step, const SplitTime* time, Py_ssize_t start) noexcept nogil:
    """Print a part of a time whose text begins at `start` of the output.  Return 0 or a fault kind."""
    cdef int code = step.code
    cdef const Slice* name
    cdef int64_t value
    cdef uint64_t size
    cdef char[9] digits
    if not reserve(out, step.size + 48):
        return F_MEMORY
    if code == STEP_LITERAL:
        put(out, op.arena + step.start, step.size)
    elif code == STEP_YEAR:
        if time.date.year < 0 or time.date.year > 9999:
            return F_TIME
        put_padded(out, time.date.year, 4, c"0")
    elif code == STEP_YEAR2:
        value = time.date.year - 2000 if time.date.year >= 2000 else time.date.year - 1900
        if value < 0 or value > 99:
            return F_TIME
        put_padded(out, value, 2, c"0")
    elif code == STEP_MONTH:
        put_padded(out, time.date.month, 2, c"0")
    elif code == STEP_DAY:
        put_padded(out, time.date.day, 2, c"0")
    elif code == STEP_DAY_SPACE:
        put_padded(out, time.date.day, 2, c" ")
    elif code == STEP_MONTH_NAME:
        name = &op.names[step.names + time.date.month - 1]
        put(out, name.text, name.size)
    elif code == STEP_WEEKDAY_NAME:
        name = &op.names[step.names + (time.days + 4) % 7]  # day 0 was a Thursday; names start on Sunday
        put(out, name.text, name.size)
    elif code == STEP_HOUR:
        put_padded(out, time.hour, 2, c"0")
    elif code == STEP_HOUR_SPACE:
        put_padded(out, time.hour, 2, c" ")
    elif code == STEP_HOUR12 or code == STEP_HOUR12_SPACE:
        value = time.hour % 12 if time.hour % 12 else 12
        put_padded(out, value, 2, c"0" if code == STEP_HOUR12 else c" ")
    elif code == STEP_HOUR12_OLD or code == STEP_HOUR12_OLD_SPACE:
        value = 12 if time.hour == 0 else time.hour - 12 if time.hour > 13 else time.hour  # as up to 0.4.1: 13 stays 13
        put_padded(out, value, 2, c"0" if code == STEP_HOUR12_OLD else c" ")
    elif code == STEP_AM_PM:
        put(out, b"AM" if time.hour < 12 else b"PM", 2)
    elif code == STEP_MINUTE:
        put_padded(out, time.minute, 2, c"0")
    elif code == STEP_SECOND:
        put_padded(out, time.second, 2, c"0")
    elif STEP_MILLI <= code <= STEP_NANO:
        put_fraction(out, time.nanos, 3 * (code - STEP_MILLI + 1))
    elif code == STEP_TRIM_MILLI:
        if time.nanos // 1000000 == 0:
            put(out, b"0", 1)
        else:
            put_padded(out, time.nanos // 1000000, 3, c"0")
            while out.data[out.size - 1] == c"0":
                out.size -= 1
    elif code == STEP_TRIM_NANO:
        if time.nanos == 0:
            return F_TIME
        put_padded(out, time.nanos, 9, c"0")
        while out.data[out.size - 1] == c"0":
            out.size -= 1
    elif code == STEP_EPOCH or code == STEP_EPOCH_POINT:
        out.size = start  # as upstream: the number replaces the text so far
        put_integer(out, time.epoch)
        if code == STEP_EPOCH_POINT:  # of nanoseconds: a point goes before the last nine digits
            if out.size - start < 9:
                return F_TIME
            memcpy(digits, out.data + out.size - 9, 9)
            out.data[out.size - 9] = c"."
            memcpy(out.data + out.size - 8, digits, 9)
            out.size += 1
    else:
        # An epoch in a larger unit: the stored nanoseconds divided, and rounded toward zero.
        value = 1
        if code == STEP_EPOCH_S:
            value = 1000000000
        elif code == STEP_EPOCH_MS:
            value = 1000000
        elif code == STEP_EPOCH_US:
            value = 1000
        size = <uint64_t>time.epoch if time.epoch >= 0 else 0 - <uint64_t>time.epoch
        size //= <uint64_t>value
        put_integer(out, <int64_t>(size if time.epoch >= 0 else 0 - size))
    return F_NONE
