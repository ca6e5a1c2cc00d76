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


cdef int add_time(Out* out, const Op* op, uint64_t ident, int64_t epoch) noexcept nogil:
    """Print an epoch by the pattern with this id.  Return 0 or a fault kind."""
    cdef int low = 0, high = op.num_patterns - 1, middle, i, code
    cdef const Pattern* pattern = NULL
    cdef const Step* step
    cdef const Slice* name
    cdef int64_t per_second, seconds, fraction, nanos, days, era, year, day, month, part, value
    cdef int64_t hour, minute, second, hour12, second_of_day
    cdef uint64_t size
    cdef Py_ssize_t start = out.size, place = 0
    cdef char[24] digits
    # Find the pattern.
    while low <= high:
        middle = (low + high) // 2
        if op.patterns[middle].ident == ident:
            pattern = &op.patterns[middle]
            break
        if op.patterns[middle].ident < ident:
            low = middle + 1
        else:
            high = middle - 1
    if pattern == NULL:
        return F_PATTERN
    # Split the epoch into seconds, rounded down, and nanoseconds.
    per_second = 1000000000 // pattern.unit
    seconds = epoch // per_second if epoch >= 0 else -((-(epoch + 1)) // per_second) - 1
    fraction = epoch - seconds * per_second if epoch >= 0 else (epoch - (seconds + 1) * per_second) + per_second
    nanos = fraction * pattern.unit
    # Times mostly come in their order: repeat the text of the last one if only the fraction can differ.  All bytes of
    # the buffer are copied, as a fixed number is copied without a call; `out.size` says how many count.
    if pattern.serial and pattern.serial == exh_time.serial and seconds == exh_time.seconds:
        if not reserve(out, EXH_TIME_TEXT):
            return F_MEMORY
        memcpy(out.data + start, exh_time.text, EXH_TIME_TEXT)
        if pattern.digits:
            out.size = start + exh_time.place
            put_fraction(out, nanos, pattern.digits)
        out.size = start + exh_time.size
        return F_NONE
    if pattern.absolute:  # next to a truncated epoch: -1.5 s are -1 and .5
        size = <uint64_t>epoch if epoch >= 0 else 0 - <uint64_t>epoch
        nanos = <int64_t>(size % <uint64_t>per_second) * pattern.unit
    seconds += pattern.shift
    days = seconds // 86400 if seconds >= 0 else -((-(seconds + 1)) // 86400) - 1
    second_of_day = seconds - days * 86400
    # Civil date from days since 1970-01-01, proleptic Gregorian.  Eras of 400 years (146,097 days) start on 1 March, so
    # that the leap day is the last day of a year.  719,468: days from 0000-03-01 to 1970-01-01.  Month 0 is March; five
    # months from it on have 153 days.
    part = days + 719468
    era = part // 146097 if part >= 0 else -((-(part + 1)) // 146097) - 1
    day = part - era * 146097
    year = (day - day // 1460 + day // 36524 - day // 146096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day = day - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    year += era * 400 + (1 if month <= 2 else 0)
    hour = second_of_day // 3600
    minute = second_of_day // 60 % 60
    second = second_of_day % 60
    hour12 = hour % 12
    if hour12 == 0:
        hour12 = 12
    # Print the parts.
    for i in range(pattern.count):
        step = &op.steps[pattern.first + i]
        code = step.code
        if not reserve(out, step.size + 48):
            return F_MEMORY
        if code == STEP_LITERAL:
            put(out, op.arena + step.start, step.size)
        elif code == STEP_YEAR:
            if year < 0 or year > 9999:
                return F_TIME
            put_padded(out, year, 4, c"0")
        elif code == STEP_YEAR2:
            value = year - 2000 if year >= 2000 else year - 1900
            if value < 0 or value > 99:
                return F_TIME
            put_padded(out, value, 2, c"0")
        elif code == STEP_MONTH:
            put_padded(out, month, 2, c"0")
        elif code == STEP_DAY:
            put_padded(out, day, 2, c"0")
        elif code == STEP_DAY_SPACE:
            put_padded(out, day, 2, c" ")
        elif code == STEP_MONTH_NAME:
            name = &op.names[step.names + month - 1]
            put(out, name.text, name.size)
        elif code == STEP_WEEKDAY_NAME:
            value = (days + 4) % 7  # day 0 was a Thursday; names start on Sunday; negative before 1970
            name = &op.names[step.names + (value if value >= 0 else value + 7)]
            put(out, name.text, name.size)
        elif code == STEP_HOUR:
            put_padded(out, hour, 2, c"0")
        elif code == STEP_HOUR_SPACE:
            put_padded(out, hour, 2, c" ")
        elif code == STEP_HOUR12:
            put_padded(out, hour12, 2, c"0")
        elif code == STEP_HOUR12_SPACE:
            put_padded(out, hour12, 2, c" ")
        elif code == STEP_HOUR12_OLD or code == STEP_HOUR12_OLD_SPACE:
            value = 12 if hour == 0 else hour - 12 if hour > 13 else hour  # as up to 0.4.1: 13 stays 13
            put_padded(out, value, 2, c"0" if code == STEP_HOUR12_OLD else c" ")
        elif code == STEP_AM_PM:
            put(out, b"AM" if hour < 12 else b"PM", 2)
        elif code == STEP_MINUTE:
            put_padded(out, minute, 2, c"0")
        elif code == STEP_SECOND:
            put_padded(out, second, 2, c"0")
        elif STEP_MILLI <= code <= STEP_NANO:
            place = out.size - start
            put_fraction(out, nanos, 3 * (code - STEP_MILLI + 1))
        elif code == STEP_TRIM_MILLI:
            if nanos // 1000000 == 0:
                out.data[out.size] = c"0"
                out.size += 1
            else:
                put_padded(out, nanos // 1000000, 3, c"0")
                while out.data[out.size - 1] == c"0":
                    out.size -= 1
        elif code == STEP_TRIM_NANO:
            if nanos == 0:
                return F_TIME
            put_padded(out, nanos, 9, c"0")
            while out.data[out.size - 1] == c"0":
                out.size -= 1
        elif code == STEP_EPOCH or code == STEP_EPOCH_POINT:
            out.size = start  # as upstream: the number replaces the text so far
            put_integer(out, epoch)
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
            if epoch >= 0:
                put_integer(out, epoch // value)
            else:
                size = (0 - <uint64_t>epoch) // <uint64_t>value
                put_integer(out, <int64_t>(0 - size))
    if pattern.serial and out.size - start <= EXH_TIME_TEXT:
        exh_time.serial, exh_time.seconds = pattern.serial, seconds - pattern.shift
        exh_time.size, exh_time.place = out.size - start, place
        memcpy(exh_time.text, out.data + start, out.size - start)
    return F_NONE
