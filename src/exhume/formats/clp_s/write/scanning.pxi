# The parts of a string: characters of JSON, times by their patterns, and classes of the bytes of variables.
#
# A program is a pattern of timestamps as steps of two bytes: an operation, and for a literal its byte.  They are made
# by `compile_pattern` of timestamps.py.  The operations: `l` a literal, `Y` and `y` a year of four or two digits, `m`
# month, `d` day, `e` a day with a leading space, `f` such a day or two digits, `b` and `a` the short name of a month or
# weekday, `H`, `M`, `S`; and the digits of a fraction: `3`, `6`, `9` as many, `T` 1 to 9 but none of these and no zero
# at the end, `t` 1 to 3 and no zero at the end, except for a single one.

cdef struct EncProgram:
    uint8_t steps[ENC_PROGRAM_SIZE]
    int size                # bytes of the steps
    int64_t offset          # from UTC in nanoseconds
    int64_t pattern         # id of the pattern

cdef enum:                  # classes of the bytes of a token, as bits: a token has those of all its bytes
    BYTE_DELIMITER = 0      # separates tokens
    BYTE_SIGN = 1           # + - . \ _ and, in the older dialect, a slash
    BYTE_DIGIT = 2
    BYTE_HEX_LETTER = 4     # a to f, A to F
    BYTE_OTHER_LETTER = 8
    BYTE_LETTER = BYTE_HEX_LETTER | BYTE_OTHER_LETTER

cdef uint8_t[256] enc_string_class     # 1 for quotes, escapes, control bytes and bytes above ASCII; 0 for others
cdef uint8_t[256] enc_token_class      # `BYTE_...`

cdef void enc_fill_classes() noexcept:
    """Fill the tables by byte: what ends a run within a string, and what a variable of a message is made of."""
    cdef int c
    for c in range(256):
        enc_string_class[c] = c < c' ' or c == c'"' or c == c'\\' or c >= 0x80
        enc_token_class[c] = BYTE_DELIMITER
        if c'0' <= c <= c'9':
            enc_token_class[c] = BYTE_DIGIT
        elif c'A' <= c <= c'F' or c'a' <= c <= c'f':
            enc_token_class[c] = BYTE_HEX_LETTER
        elif c'G' <= c <= c'Z' or c'g' <= c <= c'z':
            enc_token_class[c] = BYTE_OTHER_LETTER
        elif c == c'+' or c == c'-' or c == c'.' or c == c'\\' or c == c'_':
            enc_token_class[c] = BYTE_SIGN

enc_fill_classes()

cdef double[23] enc_powers_of_ten   # those that a double represents exactly
cdef int enc_power
enc_powers_of_ten[0] = 1.0
for enc_power in range(1, 23):
    enc_powers_of_ten[enc_power] = enc_powers_of_ten[enc_power - 1] * 10.0


cdef inline bint enc_is_space(unsigned char c) noexcept nogil:
    """Whether a byte is white space in JSON: a space, line feed, carriage return or tab."""
    return c == c' ' or c == c'\n' or c == c'\r' or c == c'\t'


cdef inline int enc_utf8_length(const unsigned char* p) noexcept nogil:
    """Size of the well-formed UTF-8 sequence at `p` (a lead byte above 0x7F); 0 if there is none.

    Overlong forms, surrogates and code points above U+10FFFF are not well-formed.  It does not read past a NUL byte, so
    it is safe at the end of data that has one after it.
    """
    cdef unsigned char c = p[0]
    if c < 0xC2:  # the second or a later byte of a sequence, or an overlong form
        return 0
    if c < 0xE0:
        return 2 if (p[1] & 0xC0) == 0x80 else 0
    if c < 0xF0:
        if (p[1] & 0xC0) != 0x80 or (p[2] & 0xC0) != 0x80:
            return 0
        if c == 0xE0 and p[1] < 0xA0 or c == 0xED and p[1] > 0x9F:  # an overlong form, or a surrogate
            return 0
        return 3
    if c < 0xF5:
        if (p[1] & 0xC0) != 0x80 or (p[2] & 0xC0) != 0x80 or (p[3] & 0xC0) != 0x80:
            return 0
        if c == 0xF0 and p[1] < 0x90 or c == 0xF4 and p[1] > 0x8F:  # an overlong form, or above U+10FFFF
            return 0
        return 4
    return 0


cdef inline int enc_hex4(const unsigned char* p) noexcept nogil:
    """Value of four hex digits; -1 if they are not.  It does not read past a NUL byte."""
    cdef int value = 0, i
    cdef unsigned char c
    for i in range(4):
        c = p[i]
        if c'0' <= c <= c'9':
            value = value << 4 | (c - c'0')
        elif c'A' <= c <= c'F':
            value = value << 4 | (c - c'A' + 10)
        elif c'a' <= c <= c'f':
            value = value << 4 | (c - c'a' + 10)
        else:
            return -1
    return value


cdef inline int enc_put_utf8(unsigned char* out, uint32_t code) noexcept nogil:
    """Write a code point as UTF-8. Returns its bytes, at most 4."""
    if code < 0x80:
        out[0] = code
        return 1
    if code < 0x800:
        out[0] = 0xC0 | (code >> 6)
        out[1] = 0x80 | (code & 0x3F)
        return 2
    if code < 0x10000:
        out[0] = 0xE0 | (code >> 12)
        out[1] = 0x80 | ((code >> 6) & 0x3F)
        out[2] = 0x80 | (code & 0x3F)
        return 3
    out[0] = 0xF0 | (code >> 18)
    out[1] = 0x80 | ((code >> 12) & 0x3F)
    out[2] = 0x80 | ((code >> 6) & 0x3F)
    out[3] = 0x80 | (code & 0x3F)
    return 4


cdef inline int enc_digits_at(const unsigned char* p, int count) noexcept nogil:
    """Value of `count` decimal digits; -1 if they are not."""
    cdef int value = 0, i
    for i in range(count):
        if not c'0' <= p[i] <= c'9':
            return -1
        value = value * 10 + p[i] - c'0'
    return value


cdef const char* ENC_MONTHS = b"JanFebMarAprMayJunJulAugSepOctNovDec"
cdef const char* ENC_WEEKDAYS = b"SunMonTueWedThuFriSat"


cdef inline int enc_short_name(const unsigned char* p, const char* names, int count) noexcept nogil:
    """The index of the three letters at `p` among `count` names in `names`; -1 if they are none of these."""
    cdef int i
    for i in range(count):
        if p[0] == <unsigned char>names[0] and p[1] == <unsigned char>names[1] and p[2] == <unsigned char>names[2]:
            return i
        names += 3
    return -1


cdef int enc_run_program(EncProgram* program, const unsigned char* p, size_t size, bint milliseconds,
                     int64_t* epoch) noexcept nogil:
    """Parse a timestamp with one known pattern; return 1, and its time in `epoch`, in milliseconds or nanoseconds.

    Return 0 if it has another shape, or a year whose nanoseconds might not fit 64 bits: `parse_timestamp` decides then.
    With `milliseconds`, as before format 0.5.0, the zone is not applied.
    """
    cdef const unsigned char* end = p + size
    cdef int i = 0, year = 1970, month = 0, weekday = -1, day = 0, hour = 0, minute = 0, second = 0, count, value
    cdef int64_t nanoseconds = 0, seconds
    cdef uint8_t op
    while i < program.size:
        op = program.steps[i]
        if op == c'l':
            if p >= end or p[0] != program.steps[i + 1]:
                return 0
            p += 1
        elif op == c'Y':
            if end - p < 4:
                return 0
            year = enc_digits_at(p, 4)
            p += 4
        elif op == c'b' or op == c'a':
            if end - p < 3:
                return 0
            value = enc_short_name(p, ENC_MONTHS if op == c'b' else ENC_WEEKDAYS, 12 if op == c'b' else 7)
            if value < 0:
                return 0
            if op == c'b':
                month = value + 1
            else:
                weekday = value
            p += 3
        elif op == c'3' or op == c'6' or op == c'9' or op == c'T' or op == c't':  # a fraction: count its digits
            count = 0
            while p + count < end and count < 10 and c'0' <= p[count] <= c'9':
                count += 1
            if op == c'T':
                if count == 0 or count > 9 or count % 3 == 0 or p[count - 1] == c'0':
                    return 0
            elif op == c't':
                if count == 0 or count > 3 or (p[count - 1] == c'0' and count > 1):
                    return 0
            elif count != op - c'0':
                return 0
            nanoseconds = enc_digits_at(p, count)
            p += count
            while count < 9:
                nanoseconds *= 10
                count += 1
        else:  # a number of two digits; a day may have a space before one digit
            # `e` needs the space; without it, a day of `f` begins with 1 to 3, because its pattern prints no zero.
            if end - p < 2:
                return 0
            if p[0] == c' ' and (op == c'e' or op == c'f'):
                value = enc_digits_at(p + 1, 1)
            elif op == c'e' or (op == c'f' and not c'1' <= p[0] <= c'3'):
                value = -1
            else:
                value = enc_digits_at(p, 2)
            if value < 0:
                return 0
            p += 2
            if op == c'm':
                month = value
            elif op == c'd' or op == c'e' or op == c'f':
                day = value
            elif op == c'y':
                year = value + (1900 if value >= 69 else 2000)  # as POSIX does
            elif op == c'H':
                hour = value
            elif op == c'M':
                minute = value
            else:  # `S`
                second = value
        i += 2
    # The text ends here, and it is a date and a time.
    if p != end or year < 1678 or year > 2261 or hour > 23 or minute > 59 or second > 59:
        return 0
    if month < 1 or month > 12 or day < 1 or day > 31:
        return 0
    if day > 28:
        if month == 2:
            if day > 29 or year % 4 or (year % 100 == 0 and year % 400):
                return 0
        elif day == 31 and (month == 4 or month == 6 or month == 9 or month == 11):
            return 0
    seconds = civil_days(year, month, day)  # days, until they are multiplied below
    if weekday >= 0 and weekday != (seconds + 4) % 7:  # 0 is Sunday; 1970-01-01 was a Thursday
        return 0
    seconds = seconds * 86400 + hour * 3600 + minute * 60 + second
    if milliseconds:
        epoch[0] = seconds * 1000 + nanoseconds // 1000000
    else:
        epoch[0] = seconds * 1000000000 + nanoseconds - program.offset
    return 1
