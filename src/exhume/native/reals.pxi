# Doubles as the shortest text that reads back the same, equal to Python's `repr`, without the interpreter
# lock.  The method is that of R. Giulietti, "The Schubfach way to render doubles".

cdef extern from *:
    """
    static uint64_t real_upper(uint64_t one, uint64_t other) {  /* the upper half of a product */
    #ifdef __SIZEOF_INT128__
        return (uint64_t)(((unsigned __int128)one * other) >> 64);
    #else
        uint64_t low = (one & 0xFFFFFFFF) * (other & 0xFFFFFFFF);
        uint64_t middle = (one >> 32) * (other & 0xFFFFFFFF) + (low >> 32);
        uint64_t rest = (one & 0xFFFFFFFF) * (other >> 32) + (middle & 0xFFFFFFFF);
        return (one >> 32) * (other >> 32) + (middle >> 32) + (rest >> 32);
    #endif
    }
    """
    uint64_t real_upper(uint64_t, uint64_t) noexcept nogil

cdef enum:
    REAL_LOWEST = -292  # lowest and highest exponent of the powers of ten that doubles need
    REAL_HIGHEST = 324
    REAL_POWERS = REAL_HIGHEST - REAL_LOWEST + 1
    REAL_ROOM = 32  # bytes of the longest text

cdef uint64_t[2 * REAL_POWERS] real_powers  # upper and lower half of 128 bits; the top bit is set
cdef bint real_ready = False


cdef int prepare_reals() except -1:
    """Fills the table of powers, which most commands do not need."""
    global real_ready
    if real_ready:
        return 0
    for power in range(REAL_LOWEST, REAL_HIGHEST + 1):
        # 128 bits of the power, rounded up, as the method requires.
        ten = 10 ** abs(power)
        bits = ten.bit_length()
        if power < 0:
            value = -(-(1 << (127 + bits)) // ten)
        elif bits > 128:
            value = -(-ten >> (bits - 128))
        else:
            value = ten << (128 - bits)
        real_powers[2 * (power - REAL_LOWEST)] = value >> 64
        real_powers[2 * (power - REAL_LOWEST) + 1] = value & 0xFFFFFFFFFFFFFFFF
    real_ready = True
    return 0


cdef inline uint64_t real_product(const uint64_t* power, uint64_t factor) noexcept nogil:
    """The upper 64 bits of a power (128 bits) times a factor; the last bit is also set if the rest is more than 1."""
    cdef uint64_t low = power[0] * factor, rest = real_upper(power[1], factor)
    cdef uint64_t high = real_upper(power[0], factor)
    low += rest
    if low < rest:
        high += 1
    return high | (low > 1)


cdef void real_digits(uint64_t bits, uint64_t* digits, int* exponent) noexcept nogil:
    """The shortest decimal that is closest to a finite double that is not 0: `digits` times ten to `exponent`.

    `bits` are those of the double.
    """
    cdef uint64_t fraction = bits & <uint64_t>0xFFFFFFFFFFFFF, whole, lower, upper, value, tenth, middle
    cdef int biased = <int>(bits >> 52) & 0x7FF, binary, ten, shift
    cdef bint is_even, is_narrow = fraction == 0 and biased > 1, under, over
    cdef const uint64_t* power
    # The double is `whole` times 2 to `binary`; a whole number needs no more.
    if biased:
        whole, binary = fraction | <uint64_t>1 << 52, biased - 1075
        if -53 < binary <= 0 and not whole & ((<uint64_t>1 << -binary) - 1):
            digits[0], exponent[0] = whole >> -binary, 0
            return
    else:
        whole, binary = fraction, -1074
    # `is_narrow`: the double below is nearer than the one above, as the double is a power of two.
    # `lower` and `upper` bound the decimals that read back as this double, which is `value`: four times each, scaled by a
    # power of ten.  The constants are logarithms: log10(2) and log10(4/3) times 2^22, log2(10) times 2^19.
    is_even = not whole & 1
    ten = (binary * 1262611 - (524031 if is_narrow else 0)) >> 22
    shift = binary + ((-ten * 1741647) >> 19) + 1
    power = &real_powers[2 * (-ten - REAL_LOWEST)]
    lower = real_product(power, (4 * whole - 2 + is_narrow) << shift)
    value = real_product(power, (4 * whole) << shift)
    upper = real_product(power, (4 * whole + 2) << shift)
    if not is_even:
        lower += 1
        upper -= 1
    # A decimal with one digit less, if exactly one is within the bounds; else the closer of two.  `under` and `over`:
    # whether the candidate below the value, and the one above it, are within the bounds.
    whole = value >> 2
    if whole >= 10:
        tenth = whole // 10
        under = lower <= 40 * tenth
        over = 40 * tenth + 40 <= upper
        if under != over:
            digits[0], exponent[0] = tenth + over, ten + 1
            return
    under = lower <= 4 * whole
    over = 4 * whole + 4 <= upper
    if under == over:
        middle = 4 * whole + 2
        over = value > middle or (value == middle and whole & 1)
    digits[0], exponent[0] = whole + over, ten


cdef int put_real(char* at, double value) noexcept nogil:
    """Writes a finite number; returns how many bytes, at most `REAL_ROOM`.  `prepare_reals` was called before."""
    cdef uint64_t bits, digits
    cdef int exponent, size, point, written = 0
    cdef char[24] text
    memcpy(&bits, &value, sizeof(bits))
    if bits >> 63:
        at[0] = c"-"
        written = 1
        bits &= <uint64_t>0x7FFFFFFFFFFFFFFF
    if bits == 0:
        memcpy(at + written, b"0.0", 3)
        return written + 3
    real_digits(bits, &digits, &exponent)
    # Without zeros at the end; `point` is the number of digits before the decimal point.
    while digits % 10 == 0:
        digits //= 10
        exponent += 1
    size = put_unsigned(text, digits)
    point = size + exponent
    # As `repr`: positional from 0.0001 up to 16 digits, else with an exponent.
    at += written
    if -4 < point <= 0:
        memcpy(at, b"0.000", 5)
        memcpy(at + 2 - point, text, size)
        return written + 2 - point + size
    if 0 < point <= 16:
        if point < size:
            memcpy(at, text, point)
            at[point] = c"."
            memcpy(at + point + 1, text + point, size - point)
            return written + size + 1
        memcpy(at, text, size)
        memset(at + size, c"0", point - size)
        memcpy(at + point, b".0", 2)
        return written + point + 2
    at[0] = text[0]
    if size > 1:
        at[1] = c"."
        memcpy(at + 2, text + 1, size - 1)
        size += 1
    at[size] = c"e"
    point -= 1
    at[size + 1] = c"-" if point < 0 else c"+"
    point = -point if point < 0 else point
    if point < 10:
        at[size + 2] = c"0"
        at[size + 3] = <char>(c"0" + point)
        return written + size + 4
    return written + size + 2 + put_unsigned(at + size + 2, <uint64_t>point)
