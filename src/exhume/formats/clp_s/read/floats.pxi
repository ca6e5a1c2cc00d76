# Floats as clp-s prints them: plain ones (C's %f), formatted ones (a double with a 16-bit word that has the number of
# digits and the notation of the original text), and those encoded as variables of log types (decimal digits and the
# position of the point in 64 bits).  pykernel.py has the same in Python: `clps_format_float`, `clps_decode_float`.

cdef int print_double(char* at, int room, const char* form, int precision, double value) noexcept nogil:
    """snprintf of one double, with "." as the decimal point in every locale.  Return the size of the text."""
    cdef int size = snprintf(at, room, form, precision, value)
    cdef const char* point = localeconv().decimal_point
    cdef int length, i
    if point[0] == c"." and point[1] == 0:
        return size
    length = <int>strlen(point)
    if length == 0:
        return size
    for i in range(size - length + 1):
        if memcmp(at + i, point, length) == 0:
            at[i] = c"."
            memmove(at + i + 1, at + i + length, size - i - length)
            return size - length + 1
    return size


cdef bint add_special(Out* out, double value) noexcept nogil:
    """Print NaN or an infinity; False for every other number.  Needs space for four bytes."""
    if isnan(value):
        put(out, b"nan", 3)
        return True
    if isinf(value):
        if value < 0:
            put(out, b"-inf", 4)
        else:
            put(out, b"inf", 3)
        return True
    return False


cdef bint add_float(Out* out, double value) noexcept nogil:
    """Print a double as C's `%f`: six decimals.  False when there is no memory."""
    cdef double size, scaled, fraction
    cdef uint64_t whole
    if not reserve(out, 340):  # the largest double has 309 digits before the point
        return False
    if add_special(out, value):
        return True
    size = -value if signbit(value) else value
    if size < 1e9:
        scaled = size * 1e6
        fraction = scaled - floor(scaled)
        # Far enough from one half that the rounding error of the product does not change the last digit.
        if fraction < 0.4 or fraction > 0.6:
            whole = <uint64_t>floor(scaled + 0.5)
            if signbit(value):
                out.data[out.size] = c"-"
                out.size += 1
            out.size += put_unsigned(out.data + out.size, whole // 1000000)
            out.data[out.size] = c"."
            out.size += 1
            put_padded(out, whole % 1000000, 6, c"0")
            return True
    out.size += print_double(out.data + out.size, 330, b"%.*f", 6, value)
    return True


cdef bint add_plain_fast(Out* out, double value, int significant) noexcept nogil:
    """Print a double without exponent if it is the closest one to a decimal of `significant` (at most 15) digits.

    False, and nothing is printed, if it is not, or if that cannot be determined cheaply.
    """
    cdef double size = -value if signbit(value) else value
    cdef int exponent = 0, decimals, i  # decimal exponent of the value; digits after the point
    cdef uint64_t digits
    cdef double scaled
    # Scale to an integer of `significant` digits.  Powers of ten up to 10^22 and integers up to 10^15 are exact as
    # doubles: if the integer divided by the power is the value again, its digits are the right ones.
    if size == 0.0:
        decimals = significant - 1
        digits = 0
    else:
        if size >= 1e15 or size < 1e-5:
            return False
        if size >= 1.0:
            while exponent < 14 and size >= TENS[exponent + 1]:
                exponent += 1
        else:
            exponent = -1
            while size * TENS[-exponent] < 1.0:  # at most 10^5, as `size` is at least 1e-5
                exponent -= 1
        decimals = significant - 1 - exponent
        if decimals > 22:
            return False
        if decimals >= 0:
            scaled = floor(size * TENS[decimals] + 0.5)
            if scaled >= TENS[significant] or scaled < TENS[significant - 1] or scaled / TENS[decimals] != size:
                return False
        else:
            scaled = floor(size / TENS[-decimals] + 0.5)
            if scaled >= TENS[significant] or scaled < TENS[significant - 1] or scaled * TENS[-decimals] != size:
                return False
        digits = <uint64_t>scaled
    if signbit(value):
        out.data[out.size] = c"-"
        out.size += 1
    if decimals <= 0:
        out.size += put_unsigned(out.data + out.size, digits)
        for i in range(-decimals):
            out.data[out.size] = c"0"
            out.size += 1
        return True
    if decimals >= 20:  # 10^20 does not fit `INT_TENS`; such a value starts with "0."
        put(out, b"0.", 2)
        put_padded(out, digits, decimals, c"0")
        return True
    out.size += put_unsigned(out.data + out.size, digits // INT_TENS[decimals])
    out.data[out.size] = c"."
    out.size += 1
    put_padded(out, digits % INT_TENS[decimals], decimals, c"0")
    return True


cdef bint add_formatted(Out* out, double value, uint16_t word) noexcept nogil:
    """Print a number in the notation that its format word states.  False when there is no memory."""
    # The word has the number of significant digits, the notation, and the sign and least digits of the exponent.
    cdef int significant = <int>clp_s_table_float_format_num_significant_digits(word)
    cdef int notation = <int>clp_s_table_float_format_notation(word), sign
    cdef bint with_exponent = notation in (
        CLP_S_TABLE_FLOAT_NOTATION_LOWER_EXPONENT, CLP_S_TABLE_FLOAT_NOTATION_UPPER_EXPONENT)
    cdef char[64] text
    cdef char[40] digits
    cdef int size, i, n = 0, start, mantissa, exponent = 0, point, width
    cdef bint negative
    if not reserve(out, 400):  # more than "0.", 323 zeros and the digits of the smallest number
        return False
    if add_special(out, value):
        return True
    if not with_exponent and significant <= 15 and add_plain_fast(out, value, significant):
        return True
    # Let C round to the significant digits; then split its text: mantissa, "e", sign, exponent.
    size = print_double(text, 64, b"%.*e", significant - 1, value)
    mantissa = size - 1
    while text[mantissa] != c"e":
        mantissa -= 1
    for i in range(mantissa + 2, size):
        exponent = exponent * 10 + (text[i] - c"0")
    if with_exponent:
        put(out, text, mantissa)
        out.data[out.size] = c"E" if notation == CLP_S_TABLE_FLOAT_NOTATION_UPPER_EXPONENT else c"e"
        out.size += 1
        sign = <int>clp_s_table_float_format_exponent_sign(word)
        if sign == CLP_S_TABLE_EXPONENT_SIGN_PLUS:
            out.data[out.size] = c"+"
            out.size += 1
        elif sign == CLP_S_TABLE_EXPONENT_SIGN_MINUS:
            out.data[out.size] = c"-"
            out.size += 1
        width = <int>clp_s_table_float_format_num_exponent_digits(word)
        put_padded(out, <uint64_t>exponent, width, c"0")
        return True
    # Without exponent: put the digits before and after a point, filled up with zeros.
    if text[mantissa + 1] == c"-":
        exponent = -exponent
    negative = text[0] == c"-"
    start = 1 if negative else 0
    for i in range(start, mantissa):
        if text[i] != c".":
            digits[n] = text[i]
            n += 1
    if negative:
        out.data[out.size] = c"-"
        out.size += 1
    point = exponent + 1  # number of digits before the point
    if point <= 0:
        put(out, b"0.", 2)
        for i in range(-point):
            out.data[out.size] = c"0"
            out.size += 1
        put(out, digits, n)
    elif point < n:
        put(out, digits, point)
        out.data[out.size] = c"."
        out.size += 1
        put(out, digits + point, n - point)
    else:
        put(out, digits, n)
        for i in range(point - n):
            out.data[out.size] = c"0"
            out.size += 1
    return True


cdef bint put_encoded_float(Out* out, uint64_t word, bint core) noexcept nogil:
    """Print an encoded float variable; False when its digit counts are impossible.  Needs space for 20 bytes."""
    if core:
        return put_decimal(out, <int>clp_s_table_decimal_variable_num_digits(word),
                           <int>clp_s_table_decimal_variable_num_fraction_digits(word),
                           clp_s_table_decimal_variable_digits(word), clp_s_table_decimal_variable_sign(word))
    return put_decimal(out, <int>clp_s_table_classic_decimal_variable_num_digits(word),
                       <int>clp_s_table_classic_decimal_variable_num_fraction_digits(word),
                       clp_s_table_classic_decimal_variable_digits(word),
                       clp_s_table_classic_decimal_variable_sign(word))


cdef bint put_decimal(Out* out, int digits, int point, uint64_t value, bint negative) noexcept nogil:
    """Print `digits` digits (at most 16), `point` of them after the decimal point; False if the counts do not fit."""
    cdef char* start = out.data + out.size
    cdef char* at
    cdef uint64_t rest
    cdef int i
    if point > digits or digits < 1:
        return False
    if negative:
        start[0] = c"-"
        start += 1
    at = start + digits  # from the last digit to the first
    for i in range(digits):
        if i == point:
            at[0] = c"."
            at -= 1
        rest = value // 10
        at[0] = <char>(c"0" + <int>(value - rest * 10))
        at -= 1
        value = rest
    if value:  # it has more digits than stated
        return False
    if point == digits:  # no digit before the point
        at[0] = c"."
    out.size = start - out.data + digits + 1
    return True
