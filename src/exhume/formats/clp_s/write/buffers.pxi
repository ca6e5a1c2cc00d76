# Growing buffers, and dictionaries that contain each value once, numbered in the order of first use.  A dictionary is a
# hash table whose slots refer to its entries, which are kept as they are stored in an archive.

import os as _os

cdef uint64_t enc_hash_seed = int.from_bytes(_os.urandom(8), "little") | 1  # see `enc_hash_bytes`

cdef extern from *:
    """
    #if defined(__linux__)
    #include <stdint.h>
    #include <sys/mman.h>
    #endif
    static void enc_large_pages(void *p, size_t size) {
    #if defined(__linux__) && defined(MADV_HUGEPAGE)
        /* All pages of the mapping, with the allocator's header: a mapping with two kinds of pages cannot grow. */
        uintptr_t start = (uintptr_t)p & ~(uintptr_t)4095;
        uintptr_t end = ((uintptr_t)p + size + 4095) & ~(uintptr_t)4095;
        madvise((void *)start, end - start, MADV_HUGEPAGE);
    #else
        (void)p;
        (void)size;
    #endif
    }
    """
    void enc_large_pages(void* p, size_t size) nogil  # advise the system to use few large pages

cdef enum:
    ENC_LARGE = 4 << 20     # size in bytes from which on memory has large pages
    ENC_MIDDLE = 64 << 10   # from this size to ENC_LARGE, buffers grow fourfold
    ENC_MAPPED = 16 << 20   # from this size on, the allocator moves memory without copying it
    ENC_FIRST = 24          # first size of a buffer in bytes: the smallest allocation provides this much anyway

cdef struct EncBuf:         # a growing buffer; all zeros is an empty one
    unsigned char* p
    size_t n                # bytes in use
    size_t cap              # bytes allocated


cdef int enc_buf_grow(EncBuf* b, size_t extra) except -1 nogil:
    """Make space for `extra` more bytes, at least twice as much as before. Raises `MemoryError`."""
    cdef size_t cap = max(b.cap * 2, <size_t>64) if b.cap else ENC_FIRST
    cdef unsigned char* p
    if ENC_MIDDLE < cap < ENC_LARGE:
        cap *= 2  # every step touches new pages; those that are never used take no memory
    while cap < b.n + extra:
        cap *= 2
    if ENC_LARGE <= cap <= ENC_MAPPED:  # a copy is made in any case: have large pages before it
        p = <unsigned char*>malloc(cap)
        if p != NULL:
            enc_large_pages(p, cap)
            if b.n:
                memcpy(p, b.p, b.n)
            free(b.p)
    else:
        p = <unsigned char*>realloc(b.p, cap)
        if p != NULL and cap >= ENC_LARGE:
            enc_large_pages(p, cap)
    if p == NULL:
        with gil:
            raise MemoryError()
    b.p = p
    b.cap = cap
    return 0


cdef inline int enc_buf_room(EncBuf* b, size_t extra) except -1 nogil:
    """Reserve space for `extra` more bytes; this may move the buffer.  Raises `MemoryError`."""
    if b.n + extra > b.cap:
        enc_buf_grow(b, extra)
    return 0


cdef inline int enc_buf_put(EncBuf* b, const void* data, size_t size) except -1 nogil:
    """Append bytes.  Raises `MemoryError`."""
    enc_buf_room(b, size)
    if size:
        memcpy(b.p + b.n, data, size)
    b.n += size
    return 0


cdef inline bint same_bytes(const void* one, const void* other, size_t size) noexcept nogil:
    """Whether two strings of `size` bytes are equal.  Unlike in memcmp, either may be NULL if `size` is 0.

    Most strings are short, for which a call of memcmp would take longer than the comparison.
    """
    cdef const unsigned char* p = <const unsigned char*>one
    cdef const unsigned char* q = <const unsigned char*>other
    cdef uint64_t first, last, also_first, also_last
    cdef uint32_t low, high, also_low, also_high
    if size > 16:
        return memcmp(p, q, size) == 0
    if size >= 8:
        memcpy(&first, p, sizeof(first))
        memcpy(&also_first, q, sizeof(first))
        memcpy(&last, p + size - sizeof(last), sizeof(last))
        memcpy(&also_last, q + size - sizeof(last), sizeof(last))
        return ((first ^ also_first) | (last ^ also_last)) == 0
    if size >= 4:
        memcpy(&low, p, sizeof(low))
        memcpy(&also_low, q, sizeof(low))
        memcpy(&high, p + size - sizeof(high), sizeof(high))
        memcpy(&also_high, q + size - sizeof(high), sizeof(high))
        return ((low ^ also_low) | (high ^ also_high)) == 0
    # Up to three bytes: the first, the middle and the last one.
    return size == 0 or (p[0] == q[0] and p[size >> 1] == q[size >> 1] and p[size - 1] == q[size - 1])


cdef inline int enc_buf_u64(EncBuf* b, uint64_t value) except -1 nogil:
    """Append a number of eight bytes, in this machine's byte order.  Raises `MemoryError`."""
    enc_buf_room(b, sizeof(value))
    memcpy(b.p + b.n, &value, sizeof(value))
    b.n += sizeof(value)
    return 0


cdef inline int enc_buf_i32(EncBuf* b, int32_t value) except -1 nogil:
    """Append a number of four bytes, in this machine's byte order.  Raises `MemoryError`."""
    enc_buf_room(b, sizeof(value))
    memcpy(b.p + b.n, &value, sizeof(value))
    b.n += sizeof(value)
    return 0


cdef inline void enc_buf_free(EncBuf* b) noexcept nogil:
    """Free the memory; the buffer is an empty one then."""
    free(b.p)
    b.p = NULL
    b.n = b.cap = 0


cdef inline bytes enc_buf_bytes(EncBuf* b):
    """A copy of the bytes in use."""
    return bytes_of(<char*>b.p, b.n) if b.n else b""


cdef struct EncDictionary:
    uint64_t* slots     # hash table: upper half of the hash << 32 | index + 1; 0 is free
    size_t mask         # number of slots - 1; the number is a power of 2
    int shift           # the hash shifted right by this is its slot: a larger table is filled in the order of this one
    size_t count        # entries
    EncBuf data            # as stored: u64 length, bytes, ...
    EncBuf starts          # u64 per entry: position of its length in data


cdef inline uint64_t enc_hash_bytes(const unsigned char* p, size_t size) noexcept nogil:
    """A hash of some bytes with a seed that differs in each process, so that no input can be made to collide.

    The multipliers are the golden ratio and those of MurmurHash3, which mix the bits of words well.
    """
    cdef uint64_t hash = enc_hash_seed ^ (<uint64_t>size * <uint64_t>0x9E3779B97F4A7C15)
    cdef uint64_t word
    cdef uint32_t low, high
    if size >= 8:
        while size > 8:
            memcpy(&word, p, sizeof(word))
            hash = (hash ^ word) * <uint64_t>0xFF51AFD7ED558CCD
            hash ^= hash >> 32
            p += 8
            size -= 8
        memcpy(&word, p + size - 8, sizeof(word))  # the last eight bytes overlap those before
    elif size >= 4:
        memcpy(&low, p, sizeof(low))
        memcpy(&high, p + size - sizeof(high), sizeof(high))
        word = <uint64_t>high << 32 | low
    elif size:
        word = <uint64_t>p[0] << 16 | <uint64_t>p[size >> 1] << 8 | p[size - 1]
    else:
        word = 0
    hash = (hash ^ word) * <uint64_t>0xC4CEB9FE1A85EC53
    hash ^= hash >> 29
    hash *= <uint64_t>0xFF51AFD7ED558CCD
    return hash ^ (hash >> 32)


cdef inline size_t enc_dictionary_place(const EncDictionary* d, uint64_t hash) noexcept nogil:
    """The slot at which the search for a hash begins; only its upper half counts, which slots store."""
    return <size_t>((hash & <uint64_t>0xFFFFFFFF00000000) >> d.shift)


cdef int enc_dictionary_grow(EncDictionary* d) except -1 nogil:
    """Double the slots of a dictionary, and put its entries into the new ones. Raises `MemoryError`."""
    cdef size_t size = (d.mask + 1) * 2 if d.slots != NULL else 64
    cdef uint64_t* slots = <uint64_t*>calloc(size, 8)
    if slots == NULL:
        with gil:
            raise MemoryError()
    if size * sizeof(uint64_t) >= ENC_LARGE:
        enc_large_pages(slots, size * sizeof(uint64_t))
    cdef size_t i, at, before = d.mask + 1 if d.slots != NULL else 0
    d.shift = d.shift - 1 if d.slots != NULL else 64 - 6  # the first table has 2^6 slots
    d.mask = size - 1
    for i in range(before):
        if d.slots[i]:
            at = enc_dictionary_place(d, d.slots[i])
            while slots[at]:
                at = (at + 1) & d.mask
            slots[at] = d.slots[i]
    free(d.slots)
    d.slots = slots
    return 0


cdef inline int64_t enc_dictionary_id(EncDictionary* d, const unsigned char* p, size_t size) except -1 nogil:
    """The id of a value, its index among the entries; a new value is added."""
    return enc_dictionary_hashed_id(d, p, size, enc_hash_bytes(p, size))


cdef int64_t enc_dictionary_hashed_id(EncDictionary* d, const unsigned char* p, size_t size, uint64_t hash) except -1 nogil:
    """As `enc_dictionary_id`, for a value whose hash is known."""
    if d.slots == NULL or d.count * 3 >= d.mask * 2:  # so at most 67% of the slots are used
        enc_dictionary_grow(d)
    cdef uint64_t tag = hash & <uint64_t>0xFFFFFFFF00000000  # the part of the hash that slots store
    cdef size_t at = enc_dictionary_place(d, hash)
    cdef uint64_t slot, start, length
    while True:
        slot = d.slots[at]
        if slot == 0:
            break
        if (slot & <uint64_t>0xFFFFFFFF00000000) == tag:
            start = (<uint64_t*>d.starts.p)[(slot & <uint64_t>0xFFFFFFFF) - 1]
            memcpy(&length, d.data.p + start, sizeof(length))
            if length == size and same_bytes(d.data.p + start + sizeof(length), p, size):
                return <int64_t>((slot & <uint64_t>0xFFFFFFFF) - 1)
        at = (at + 1) & d.mask
    if d.count >= <size_t>0xFFFFFFFE:
        with gil:
            raise OverflowError("more than 2^32 dictionary entries")
    enc_buf_u64(&d.starts, d.data.n)
    enc_buf_u64(&d.data, size)
    enc_buf_put(&d.data, p, size)
    d.count += 1
    d.slots[at] = tag | d.count
    return <int64_t>(d.count - 1)


cdef void enc_dictionary_clear(EncDictionary* d) noexcept nogil:
    """Remove all entries, but keep the memory for others."""
    if d.slots != NULL:
        memset(d.slots, 0, (d.mask + 1) * sizeof(uint64_t))
    d.count = d.data.n = d.starts.n = 0


cdef void enc_dictionary_free(EncDictionary* d) noexcept nogil:
    """Free the memory; the dictionary is an empty one then."""
    free(d.slots)
    d.slots = NULL
    d.count = d.mask = 0
    enc_buf_free(&d.data)
    enc_buf_free(&d.starts)
