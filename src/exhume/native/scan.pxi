# Occurrences of several short byte strings (carving): one pass, a table of first bytes, then the rest of the pattern.


def find_patterns(const unsigned char[::1] data not None, list patterns not None):
    cdef Py_ssize_t size = data.shape[0], at = 0, index, count = len(patterns)
    cdef unsigned char first[256]
    cdef const unsigned char *raw
    cdef const unsigned char *pattern
    cdef Py_ssize_t length
    cdef list found = []
    memset(first, 0, 256)
    for item in patterns:
        first[(<bytes>item)[0]] = 1
    if size == 0:
        return found
    raw = &data[0]
    while at < size:
        if first[raw[at]]:
            for index in range(count):
                length = len(<bytes>patterns[index])
                pattern = <const unsigned char *><char *><bytes>patterns[index]
                if pattern[0] == raw[at] and length <= size - at and memcmp(pattern, raw + at, length) == 0:
                    found.append((at, index))
        at += 1
    return found
