# JSON of text and bytes, as `exhume.io.jsonout` prints them: ASCII only, other characters as \uXXXX.  `Out` is a growing
# buffer: `reserve` makes space for a number of bytes, `put` appends within that, `add` does both.

# What `json.dumps` writes for a byte of ASCII: 0 for the byte itself, `u` for \u00XX, else the letter after a backslash.
# ESCAPE (clp_s/read/native.pxi) is such a table for the records of clp-s, which leaves 0x7F as it is; `json.dumps` does
# not.
cdef uint8_t[256] json_escape
memcpy(json_escape, ESCAPE, 256)
json_escape[0x7F] = c"u"
cdef uint8_t[256] json_plain  # whether a byte stands for itself


cdef void _init_json() noexcept:
    """Fill in `json_plain`."""
    cdef int byte
    for byte in range(256):
        json_plain[byte] = byte < 0x80 and json_escape[byte] == 0


_init_json()
cdef const char* BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


cdef inline void json_unit(Out* out, uint32_t unit) noexcept nogil:
    """Print a unit of UTF-16 as \\uXXXX; there is space for it."""
    cdef char* at = out.data + out.size
    at[0], at[1] = c"\\", c"u"
    at[2], at[3] = HEX[unit >> 12], HEX[unit >> 8 & 15]
    at[4], at[5] = HEX[unit >> 4 & 15], HEX[unit & 15]
    out.size += 6


cdef inline int utf8_broken(const uint8_t* p, int64_t size) noexcept nogil:
    """Bytes that Python's decoder replaces by one character: the longest beginning of a sequence, at least one."""
    cdef uint8_t c = p[0]
    # The second byte has a narrower range after some first bytes (Unicode standard, table 3-7).
    cdef uint8_t low = 0x80, high = 0xBF
    cdef int length = 2 if 0xC2 <= c < 0xE0 else 3 if 0xE0 <= c < 0xF0 else 4 if 0xF0 <= c < 0xF5 else 1, at = 1
    if c == 0xE0:
        low = 0xA0
    elif c == 0xED:
        high = 0x9F
    elif c == 0xF0:
        low = 0x90
    elif c == 0xF4:
        high = 0x8F
    while at < length and at < size and low <= p[at] <= high:
        low, high = 0x80, 0xBF
        at += 1
    return at


cdef inline int utf8_sequence(const uint8_t* p, int64_t size) noexcept nogil:
    """Bytes of the character of several bytes at `p`, 0 if there is none."""
    cdef uint8_t[4] last  # a copy with zeros after it, since `enc_utf8_length` (scanning.pxi) reads up to four bytes
    if size >= 4:
        return enc_utf8_length(p)
    memset(last, 0, 4)
    memcpy(last, p, size)
    return enc_utf8_length(last)


cdef int json_text(Out* out, const uint8_t* p, int64_t size, bint replaces) noexcept nogil:
    """Print text as content of a string.  Returns 1; 0 if it is not UTF-8, unless it `replaces` the invalid bytes by
    U+FFFD; -1 without memory.
    """
    cdef const uint8_t* end = p + size
    cdef uint32_t code
    cdef uint8_t how  # the byte, then its escape in `json_escape`
    cdef int step  # bytes of a character
    cdef char* to
    if not reserve(out, 6 * size + 6):  # \uXXXX for each byte at most
        return -1
    while p < end:
        to = out.data + out.size
        while p < end and json_plain[p[0]]:
            to[0] = <char>p[0]
            to, p = to + 1, p + 1
        out.size = to - out.data
        if p == end:
            break
        how = p[0]
        if how < 0x80:
            code = how
            how = json_escape[code]
            if how == c"u":
                json_unit(out, code)
            else:
                out.data[out.size] = c"\\"
                out.data[out.size + 1] = <char>how
                out.size += 2
            p += 1
            continue
        step = utf8_sequence(p, end - p)
        if step == 0:
            if not replaces:
                return 0
            json_unit(out, 0xFFFD)
            p += utf8_broken(p, end - p)
            continue
        # Decode the character; one above U+FFFF becomes two units.
        if step == 2:
            json_unit(out, <uint32_t>(p[0] & 0x1F) << 6 | (p[1] & 0x3F))
        elif step == 3:
            json_unit(out, <uint32_t>(p[0] & 0x0F) << 12 | <uint32_t>(p[1] & 0x3F) << 6 | (p[2] & 0x3F))
        else:
            code = <uint32_t>(p[0] & 7) << 18 | <uint32_t>(p[1] & 0x3F) << 12 | <uint32_t>(p[2] & 0x3F) << 6
            code = (code | (p[3] & 0x3F)) - 0x10000
            json_unit(out, 0xD800 | code >> 10)
            json_unit(out, 0xDC00 | (code & 0x3FF))
        p += step
    return 1


cdef bint json_bytes(Out* out, const uint8_t* p, int64_t size) noexcept nogil:
    """Print bytes as `jsonout.bytes_value` does: text, and base64 if that is not exact; False without memory."""
    cdef bint exact = ir_is_utf8(p, size)  # (kv_ir/native.pxi) whether they are valid UTF-8
    cdef uint32_t word
    cdef char* to
    if not reserve(out, 9):
        return False
    put(out, b'{"text":"', 9)
    if json_text(out, p, size, True) < 0:
        return False
    if not exact:
        if not reserve(out, 16 + (size + 2) // 3 * 4):
            return False
        put(out, b'","base64":"', 12)
        to = out.data + out.size
        while size >= 3:
            word = <uint32_t>p[0] << 16 | <uint32_t>p[1] << 8 | p[2]
            to[0], to[1] = BASE64[word >> 18], BASE64[word >> 12 & 63]
            to[2], to[3] = BASE64[word >> 6 & 63], BASE64[word & 63]
            p, to, size = p + 3, to + 4, size - 3
        if size:
            word = <uint32_t>p[0] << 16 | (<uint32_t>p[1] << 8 if size == 2 else 0)
            to[0], to[1] = BASE64[word >> 18], BASE64[word >> 12 & 63]
            to[2], to[3] = BASE64[word >> 6 & 63] if size == 2 else c"=", c"="
            to += 4
        out.size = to - out.data
    return add(out, b'"}', 2)
