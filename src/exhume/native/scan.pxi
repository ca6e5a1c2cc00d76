# Occurrences of several short byte strings (carving).  For each string, the two adjacent bytes that are rarest in most
# data are chosen: its pair.  A simple loop, which compilers turn into vector instructions, marks the places of all
# pairs in a block, and only at marked places whole strings are compared.

cdef extern from *:
    """
    #include <stddef.h>
    #define SCAN_BLOCK 512  /* bytes that are marked at a time */
    #if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) \\
        && !defined(__SANITIZE_ADDRESS__)
    #define SCAN_CLONES __attribute__((noinline, target_clones("avx2", "default")))  /* chosen at load time */
    #elif defined(__GNUC__)
    #define SCAN_CLONES __attribute__((noinline))  /* if inlined, the compiler swaps loops, which then are slow */
    #else
    #define SCAN_CLONES
    #endif
    /* Two adjacent bytes; needs_two is 0xff, or 0 if the second does not matter (strings of one byte). */
    typedef struct { unsigned char one, two, needs_two; } ScanPair;
    /* Set the mark of each place in a block where the pair is; reads one byte after the block. */
    SCAN_CLONES static void scan_mark(unsigned char* marks, const unsigned char* data, const ScanPair* pair) {
        const unsigned char one = pair->one, two = pair->two, needs_two = pair->needs_two;
        size_t at;
        for (at = 0; at < SCAN_BLOCK; at++)
            marks[at] |= ((data[at] ^ one) | ((data[at + 1] ^ two) & needs_two)) == 0;
    }
    /* Whether any place of a block is marked. */
    SCAN_CLONES static int scan_marked(const unsigned char* marks) {
        unsigned char any = 0;
        size_t at;
        for (at = 0; at < SCAN_BLOCK; at++)
            any |= marks[at];
        return any;
    }
    """
    const Py_ssize_t SCAN_BLOCK
    ctypedef struct ScanPair:
        unsigned char one
        unsigned char two
        unsigned char needs_two
    void scan_mark(unsigned char* marks, const unsigned char* data, const ScanPair* pair) noexcept nogil
    int scan_marked(const unsigned char* marks) noexcept nogil


cdef struct ScanPattern:
    const unsigned char* text
    Py_ssize_t size
    Py_ssize_t pair  # offset of its pair in the string


cdef struct ScanHit:
    Py_ssize_t offset  # in the data
    Py_ssize_t index  # of the pattern


cdef class ScanHits:
    """A list of hits that grows without the interpreter."""

    cdef ScanHit* hits
    cdef Py_ssize_t count
    cdef Py_ssize_t room

    def __dealloc__(self):
        free(self.hits)

    cdef int add(self, Py_ssize_t offset, Py_ssize_t index) except -1 nogil:
        """Add a hit. Raises `MemoryError`."""
        cdef ScanHit* more
        if self.count == self.room:
            more = <ScanHit*>realloc(self.hits, (2 * self.room + 64) * sizeof(ScanHit))
            if more == NULL:
                with gil:
                    raise MemoryError
            self.hits, self.room = more, 2 * self.room + 64
        self.hits[self.count].offset = offset
        self.hits[self.count].index = index
        self.count += 1
        return 0


cdef int scan_commonness(unsigned char byte) noexcept nogil:
    """How common a byte is in text, machine code and unused space; only the time of a search depends on it."""
    if byte == 0:
        return 4
    if byte == 0xff or c"a" <= byte <= c"z" or byte == c" ":
        return 3
    if c"0" <= byte <= c"9" or c"A" <= byte <= c"Z" or byte == c'"':
        return 2
    return byte < 0x80


cdef Py_ssize_t scan_pair(const unsigned char* text, Py_ssize_t size) noexcept nogil:
    """Offset of the rarest two adjacent bytes of a pattern."""
    cdef Py_ssize_t at, best = 0
    cdef int least = 9, here  # more than two bytes can have
    for at in range(size - 1):
        here = scan_commonness(text[at]) + scan_commonness(text[at + 1])
        if here < least:
            best, least = at, here
    return best


def find_patterns(const unsigned char[::1] data not None, list patterns not None):
    """Return (offset, index of the pattern) of every occurrence of byte strings, which are not empty, in order."""
    cdef Py_ssize_t size = data.shape[0], at = 0, number, other, count = len(patterns), num_pairs = 0, end
    cdef unsigned char[513] tail  # copy of the last block, filled up with zeros, and the byte after it
    cdef unsigned char[512] marks  # by place in the block
    cdef const unsigned char* raw
    cdef const unsigned char* block
    cdef ScanHits found = ScanHits()
    cdef ScanPattern* wanted = <ScanPattern*>malloc((count + 1) * sizeof(ScanPattern))
    cdef ScanPair* pairs = <ScanPair*>malloc((count + 1) * sizeof(ScanPair))
    cdef ScanPair* pair
    try:
        if wanted == NULL or pairs == NULL:
            raise MemoryError
        for number in range(count):
            wanted[number].text = <const unsigned char*>PyBytes_AS_STRING(<PyObject*><bytes>patterns[number])
            wanted[number].size = len(<bytes>patterns[number])
            wanted[number].pair = scan_pair(wanted[number].text, wanted[number].size)
            pair = pairs + num_pairs
            pair.one = wanted[number].text[wanted[number].pair]
            pair.two = wanted[number].text[wanted[number].pair + 1] if wanted[number].size > 1 else 0
            pair.needs_two = 0xff if wanted[number].size > 1 else 0
            # Each pair is kept once, though strings may share it.
            other = 0
            while other < num_pairs and memcmp(pairs + other, pair, sizeof(ScanPair)):
                other += 1
            num_pairs += other == num_pairs
        raw = pointer(data)
        with nogil:
            while at < size:
                end = min(size - at, SCAN_BLOCK)
                block = raw + at
                if size - at <= SCAN_BLOCK:  # no byte follows it in the data
                    memset(tail, 0, sizeof(tail))
                    memcpy(tail, block, end)
                    block = tail
                memset(marks, 0, sizeof(marks))
                for number in range(num_pairs):
                    scan_mark(marks, block, pairs + number)
                if scan_marked(marks):
                    for other in range(end):
                        if marks[other]:
                            scan_compare(raw, size, at + other, wanted, count, found)
                at += SCAN_BLOCK
        hits = [(found.hits[number].offset, found.hits[number].index) for number in range(found.count)]
    finally:
        free(wanted)
        free(pairs)
    hits.sort()  # they came in the order of the pairs, whose offset differs from string to string
    return hits


cdef int scan_compare(const unsigned char* raw, Py_ssize_t size, Py_ssize_t marked, const ScanPattern* wanted,
                      Py_ssize_t count, ScanHits found) except -1 nogil:
    """Add a hit to `found` for each of the `count` patterns `wanted` that occurs with its pair at `marked`."""
    cdef Py_ssize_t number, start
    for number in range(count):
        start = marked - wanted[number].pair
        if start >= 0 and wanted[number].size <= size - start and raw[start] == wanted[number].text[0]:
            if memcmp(raw + start, wanted[number].text, wanted[number].size) == 0:
                found.add(start, number)
    return 0
