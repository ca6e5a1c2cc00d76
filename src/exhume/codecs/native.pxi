# CRC-32C and raw Snappy blocks for other parts of the kernel, which check and decompress many small blocks in one call.
# Their fallbacks in Python are `checksums.crc32c` and `blocks.snappy`, which also report the fault of a block; see
# blocks.py for the elements of Snappy.
#
# The C code computes CRC-32C (reversed polynomial 0x82F63B78) with the instruction of the processor if it has one, else
# eight bytes at a time: `crc32c_tables[n]` has the CRC of each byte value that is followed by n zero bytes.

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>
    #include <string.h>
    static uint32_t crc32c_tables[8][256];
    static void crc32c_prepare(void) {
        for (int i = 0; i < 256; i++) {
            uint32_t state = (uint32_t)i;
            for (int bit = 0; bit < 8; bit++)
                state = state >> 1 ^ (state & 1 ? 0x82F63B78u : 0);
            crc32c_tables[0][i] = state;
        }
        for (int i = 0; i < 256; i++)
            for (int n = 1; n < 8; n++)
                crc32c_tables[n][i] = crc32c_tables[n - 1][i] >> 8 ^ crc32c_tables[0][crc32c_tables[n - 1][i] & 0xFF];
    }
    static uint32_t crc32c_by_tables(uint32_t state, const uint8_t* p, size_t size) {
        for (; size >= 8; p += 8, size -= 8) {
            state ^= p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
            state = crc32c_tables[7][state & 0xFF] ^ crc32c_tables[6][state >> 8 & 0xFF]
                ^ crc32c_tables[5][state >> 16 & 0xFF] ^ crc32c_tables[4][state >> 24]
                ^ crc32c_tables[3][p[4]] ^ crc32c_tables[2][p[5]] ^ crc32c_tables[1][p[6]] ^ crc32c_tables[0][p[7]];
        }
        for (; size; p++, size--)
            state = state >> 8 ^ crc32c_tables[0][(state ^ *p) & 0xFF];
        return state;
    }
    #if defined(__GNUC__) && defined(__x86_64__)
    #if defined(__clang__) && __clang_major__ >= 14  /* there the instruction is a feature of its own */
    #define EXHUME_CRC32 "sse4.2,crc32"
    #else
    #define EXHUME_CRC32 "sse4.2"
    #endif
    __attribute__((target(EXHUME_CRC32))) static uint32_t crc32c_by_processor(uint32_t state, const uint8_t* p, size_t size) {
        uint64_t wide = state, word;
        for (; size >= 8; p += 8, size -= 8) {
            memcpy(&word, p, 8);
            wide = __builtin_ia32_crc32di(wide, word);
        }
        state = (uint32_t)wide;
        for (; size; p++, size--)
            state = __builtin_ia32_crc32qi(state, *p);
        return state;
    }
    static uint32_t crc32c_of(const uint8_t* p, size_t size) {
        return ~(__builtin_cpu_supports("sse4.2") ? crc32c_by_processor : crc32c_by_tables)(~0u, p, size);
    }
    #else
    static uint32_t crc32c_of(const uint8_t* p, size_t size) {
        return ~crc32c_by_tables(~0u, p, size);
    }
    #endif
    """
    void crc32c_prepare()
    uint32_t crc32c_of(const uint8_t* p, size_t size) noexcept nogil

crc32c_prepare()

cdef enum:
    SNAPPY_SLACK = 64  # bytes after the output that may be written: copies are made in whole words


cdef inline uint32_t masked_crc32c_of(const uint8_t* p, size_t size) noexcept nogil:
    """The CRC-32C as LevelDB stores it: rotated by 15 bits, plus a constant; see `checksums.mask_crc32c`."""
    cdef uint32_t crc = crc32c_of(p, size)
    return ((crc >> 15) | (crc << 17)) + <uint32_t>0xA282EAD8u


cdef inline int64_t snappy_size(const uint8_t* p, int64_t* at, int64_t end) noexcept nogil:
    """The decompressed size that starts a raw Snappy block; moves `at` past it; -1 if it is invalid."""
    cdef int64_t size = 0
    cdef int shift = 0
    while at[0] < end and shift < 35:
        size |= <int64_t>(p[at[0]] & 0x7F) << shift
        at[0] += 1
        if p[at[0] - 1] < 0x80:
            return size
        shift += 7
    return -1


cdef bint snappy_raw(const uint8_t* p, int64_t at, int64_t end, char* out, int64_t size) noexcept nogil:
    """Decompress the elements of a raw Snappy block; False unless they make exactly `size` bytes."""
    cdef int64_t made = 0, length, back, step
    cdef int tag, extra
    while at < end:
        tag = p[at]
        at += 1
        if tag & 3 == 0:  # literals; a length over 60 is that number, less 60, of bytes that hold the length less 1
            length = (tag >> 2) + 1
            if length > 60:
                extra = <int>length - 60
                if end - at < extra:
                    return False
                length = 1
                for step in range(extra):
                    length += <int64_t>p[at + step] << 8 * step
                at += extra
            if length > end - at or length > size - made:
                return False
            if length <= 16 and end - at >= 16:  # a copy of fixed size is faster; its excess is in the slack
                memcpy(out + made, p + at, 16)
            else:
                memcpy(out + made, p + at, length)
            at += length
            made += length
            continue
        # A copy: `extra` bytes of its offset follow the tag.
        extra = 4 if tag & 3 == 3 else tag & 3
        if end - at < extra:
            return False
        if extra == 1:
            length = (tag >> 2 & 7) + 4
            back = (tag >> 5) << 8 | p[at]
        else:
            length = (tag >> 2) + 1
            back = p[at] | <int64_t>p[at + 1] << 8
            if extra == 4:
                back |= <int64_t>p[at + 2] << 16 | <int64_t>p[at + 3] << 24
        at += extra
        if back == 0 or back > made or length > size - made:
            return False
        # Words may be copied at once only if the source does not overlap them.
        step = 0
        if back >= 16:
            while step < length:
                memcpy(out + made + step, out + made + step - back, 16)
                step += 16
        elif back >= 8:
            while step < length:
                memcpy(out + made + step, out + made + step - back, 8)
                step += 8
        else:
            while step < length:
                out[made + step] = out[made + step - back]
                step += 1
        made += length
    return made == size
