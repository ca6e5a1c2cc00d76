# Extremes and different values of columns.  The pure-Python implementation, in `pykernel.py`, has the documentation.

def clps_extreme(values, bytes mask, bint is_float, bint largest):
    cdef Py_buffer view
    cdef Py_ssize_t i, count
    cdef const char* chosen = NULL
    cdef int64_t number, best = 0
    cdef double real, best_real = 0
    cdef bint found = False
    PyObject_GetBuffer(values, &view, PyBUF_SIMPLE)
    try:
        count = view.len // sizeof(int64_t)
        chosen = agg_chosen(mask, count)
        with nogil:
            for i in range(count):
                if chosen != NULL and not chosen[i]:
                    continue
                if is_float:
                    memcpy(&real, <const char*>view.buf + sizeof(real) * i, sizeof(real))
                    if real - real == 0 and (not found or (real > best_real if largest else real < best_real)):
                        best_real, found = real, True
                else:
                    memcpy(&number, <const char*>view.buf + sizeof(number) * i, sizeof(number))
                    if not found or (number > best if largest else number < best):
                        best, found = number, True
        if not found:
            return None
        return best_real if is_float else best
    finally:
        PyBuffer_Release(&view)


def clps_spans(values, bytes mask, int64_t width):
    cdef Py_buffer view
    cdef Py_ssize_t i, count
    cdef const char* chosen = NULL
    cdef int64_t value, span
    cdef uint64_t same
    cdef EncBuf spans, out
    if width <= 0:
        raise ValueError(width)
    memset(&spans, 0, sizeof(spans))
    memset(&out, 0, sizeof(out))
    PyObject_GetBuffer(values, &view, PyBUF_SIMPLE)
    try:
        count = view.len // sizeof(int64_t)
        chosen = agg_chosen(mask, count)
        with nogil:
            enc_buf_room(&spans, count * sizeof(value))
            for i in range(count):
                if chosen != NULL and not chosen[i]:
                    continue
                memcpy(&value, <const char*>view.buf + sizeof(value) * i, sizeof(value))
                span = value // width
                (<uint64_t*>spans.p)[spans.n // sizeof(value)] = <uint64_t>span ^ <uint64_t>1 << 63
                spans.n += sizeof(value)
            agg_sort(&spans, 1)
            same = 0
            for i in range(<Py_ssize_t>(spans.n // sizeof(value))):
                same += 1
                if i + 1 == <Py_ssize_t>(spans.n // sizeof(value)) \
                        or (<uint64_t*>spans.p)[i + 1] != (<uint64_t*>spans.p)[i]:
                    enc_buf_u64(&out, (<uint64_t*>spans.p)[i] ^ <uint64_t>1 << 63)
                    enc_buf_u64(&out, same)
                    same = 0
        return enc_buf_bytes(&out)
    finally:
        enc_buf_free(&spans)
        enc_buf_free(&out)
        PyBuffer_Release(&view)


cdef const char* agg_chosen(bytes mask, Py_ssize_t count) except? NULL:
    """The bytes of a mask of this many rows; NULL: there is none."""
    if mask is None:
        return NULL
    if len(mask) < count:
        raise IndexError(count)
    return mask


cdef int agg_sort(EncBuf* items, int width) except -1 nogil:
    """Sorts items of `width` words (1 or 2) by their first, a byte at a time."""
    cdef size_t count = items.n // (sizeof(uint64_t) * width), i, at, sum
    cdef size_t[2048] starts
    cdef EncBuf other, swap
    cdef uint64_t* source
    cdef uint64_t* target
    cdef uint64_t key
    cdef int byte
    if count < 2:
        return 0
    memset(starts, 0, sizeof(starts))
    for i in range(count):
        key = (<uint64_t*>items.p)[i * width]
        for byte in range(8):
            starts[256 * byte + (key >> 8 * byte & 0xFF)] += 1
    memset(&other, 0, sizeof(other))
    enc_buf_room(&other, items.n)
    for byte in range(8):
        source, target = <uint64_t*>items.p, <uint64_t*>other.p
        if starts[256 * byte + (source[0] >> 8 * byte & 0xFF)] == count:
            continue
        sum = 0
        for i in range(256 * byte, 256 * byte + 256):
            at = starts[i]
            starts[i] = sum
            sum += at
        for i in range(count):
            key = source[i * width]
            at = starts[256 * byte + (key >> 8 * byte & 0xFF)]
            starts[256 * byte + (key >> 8 * byte & 0xFF)] = at + 1
            target[at * width] = key
            if width == 2:
                target[2 * at + 1] = source[2 * i + 1]
        other.n = items.n
        swap = items[0]
        items[0] = other
        other = swap
    enc_buf_free(&other)
    return 0


cdef struct AggText:  # of a dictionary: its size and its bytes are at `text`
    uint64_t key
    const unsigned char* text


cdef inline size_t agg_size(const unsigned char* text) noexcept nogil:
    cdef uint64_t size
    memcpy(&size, text, sizeof(size))
    return <size_t>size


cdef int agg_compare(const void* one, const void* other) noexcept nogil:
    cdef const unsigned char* a = (<const AggText*>one).text
    cdef const unsigned char* b = (<const AggText*>other).text
    cdef size_t first = agg_size(a), second = agg_size(b)
    cdef int order = memcmp(a + sizeof(uint64_t), b + sizeof(uint64_t), min(first, second))
    return order if order else (first > second) - (first < second)


cdef inline uint64_t agg_key(const unsigned char* text, size_t depth) noexcept nogil:
    """Eight bytes of a string from `depth` on as a number that has the same order, with zeros after its end."""
    cdef size_t left = agg_size(text) - depth, i
    cdef uint64_t key = 0
    text += sizeof(uint64_t) + depth
    for i in range(8):
        key = key << 8 | (text[i] if i < left else 0)
    return key


cdef int agg_sort_texts(EncBuf* items, size_t depth, int level) except -1 nogil:
    """Sorts different strings that are equal up to `depth`: by the next eight bytes that differ, then runs of equal ones."""
    cdef AggText* texts = <AggText*>items.p
    cdef size_t count = items.n // sizeof(AggText), i, start, stop, size, most
    cdef EncBuf part
    cdef bint has_short
    if count < 32 or level > 16:
        qsort(items.p, count, sizeof(AggText), agg_compare)
        return 0
    size = agg_size(texts[0].text)
    for i in range(1, count):  # bytes that all of them begin with
        most = min(size, agg_size(texts[i].text))
        size = depth
        while size < most and texts[i].text[sizeof(uint64_t) + size] == texts[0].text[sizeof(uint64_t) + size]:
            size += 1
    depth = size
    for i in range(count):
        texts[i].key = agg_key(texts[i].text, depth)
    agg_sort(items, 2)
    texts = <AggText*>items.p
    memset(&part, 0, sizeof(part))
    start = 0
    while start < count:
        stop = start + 1
        has_short = agg_size(texts[start].text) < depth + 8
        while stop < count and texts[stop].key == texts[start].key:
            has_short = has_short or agg_size(texts[stop].text) < depth + 8
            stop += 1
        if stop - start > 1:
            if has_short or stop - start < 32:  # zeros in the key may be bytes, or no bytes
                qsort(&texts[start], stop - start, sizeof(AggText), agg_compare)
            else:
                part.n = 0
                enc_buf_put(&part, &texts[start], (stop - start) * sizeof(AggText))
                agg_sort_texts(&part, depth + 8, level + 1)
                memcpy(&texts[start], part.p, part.n)
        start = stop
    enc_buf_free(&part)
    return 0


cdef enum:
    AGG_RECENT = 4096       # numbers that are remembered, so that those that repeat are not collected
    AGG_MOST = 1 << 20      # numbers that are collected before those that repeat are removed

cdef struct AggNumbers:     # as unsigned numbers in the same order
    EncBuf items
    size_t limit
    bint has_zero
    uint64_t[AGG_RECENT] recent


cdef inline size_t agg_place(uint64_t key) noexcept nogil:
    key = (key ^ enc_hash_seed) * <uint64_t>0xFF51AFD7ED558CCD
    return <size_t>(key ^ key >> 32) & (AGG_RECENT - 1)


cdef void agg_begin(AggNumbers* numbers) noexcept nogil:
    """Fills the slots with a number whose slot is another."""
    cdef size_t i
    cdef uint64_t other = 1
    memset(numbers, 0, sizeof(AggNumbers))
    numbers.limit = AGG_MOST * sizeof(uint64_t)
    while agg_place(other) == agg_place(0):
        other += 1
    numbers.recent[agg_place(0)] = other


cdef int agg_reduce(AggNumbers* numbers) except -1 nogil:
    """Sorts the numbers, and keeps one of those that are equal."""
    cdef uint64_t* items
    cdef size_t i, kept = 0
    agg_sort(&numbers.items, 1)
    items = <uint64_t*>numbers.items.p
    for i in range(numbers.items.n // sizeof(uint64_t)):
        if kept == 0 or items[i] != items[kept - 1]:
            items[kept] = items[i]
            kept += 1
    numbers.items.n = kept * sizeof(uint64_t)
    numbers.limit = max(<size_t>AGG_MOST * sizeof(uint64_t), 2 * numbers.items.n)
    return 0


cdef inline int agg_number(AggNumbers* numbers, uint64_t bits, bint is_float) except -1 nogil:
    """Adds an integer, or a float that is finite."""
    cdef size_t place
    if is_float:
        if bits << 1 == 0:  # 0.0 and -0.0 are equal: the first stays
            if numbers.has_zero:
                return 0
            numbers.has_zero = True
        elif bits >> 52 & 0x7FF == 0x7FF:
            return 0
        bits = ~bits if bits >> 63 else bits ^ <uint64_t>1 << 63
    else:
        bits ^= <uint64_t>1 << 63
    place = agg_place(bits)
    if numbers.recent[place] == bits:
        return 0
    numbers.recent[place] = bits
    if numbers.items.n >= numbers.limit:
        agg_reduce(numbers)
    return enc_buf_u64(&numbers.items, bits)


cdef inline uint64_t agg_bits(uint64_t key, bint is_float) noexcept nogil:
    """The number that `agg_number` turned into a key."""
    if is_float and not key >> 63:
        return ~key
    return key ^ <uint64_t>1 << 63


cdef enum:
    AGG_OTHER = 0
    AGG_INTEGER = 1
    AGG_FLOAT = 2
    AGG_STRING = 3


cdef int agg_kind(const unsigned char* p, size_t size, uint64_t* bits) noexcept nogil:
    """What a JSON text is, if that is seen at a glance, and a number that is exact: else AGG_OTHER."""
    cdef const unsigned char* end = p + size
    cdef uint64_t mantissa = 0
    cdef int digits = 0, point = -1
    cdef bint negative
    cdef double real
    if size >= 2 and p[0] == 0x22 and end[-1] == 0x22:
        return AGG_STRING if memchr(p, 0x5C, size) == NULL and memchr(p + 1, 0x22, size - 2) == NULL else AGG_OTHER
    negative = size > 0 and p[0] == 0x2D
    p += negative
    if p == end or not 0x30 <= p[0] <= 0x39 or (p[0] == 0x30 and (p[1] != 0x2E if end - p > 1 else negative)):
        return AGG_OTHER
    while p < end:
        if p[0] == 0x2E and point < 0:
            point = digits
        elif 0x30 <= p[0] <= 0x39 and digits < 18:
            mantissa = 10 * mantissa + (p[0] - 0x30)
            digits += 1
        else:
            return AGG_OTHER
        p += 1
    if point < 0:
        bits[0] = 0 - mantissa if negative else mantissa
        return AGG_INTEGER
    if point == digits or mantissa > <uint64_t>1 << 53:
        return AGG_OTHER
    real = <double>mantissa / enc_powers_of_ten[digits - point]
    if negative:
        real = -real
    memcpy(bits, &real, sizeof(real))
    return AGG_FLOAT


cdef class ClpsDistinct:
    """Different integers, floats and strings of columns."""

    cdef EncDictionary found, rest
    cdef AggNumbers[2] numbers
    cdef EncBuf order       # the strings, sorted, unless some were added since
    cdef EncBuf seen        # a bit for each entry of the dictionary that was met last
    cdef ClpsStrings entries

    def __cinit__(self):
        memset(&self.found, 0, sizeof(self.found))
        memset(&self.rest, 0, sizeof(self.rest))
        memset(&self.order, 0, sizeof(self.order))
        memset(&self.seen, 0, sizeof(self.seen))
        agg_begin(&self.numbers[0])
        agg_begin(&self.numbers[1])

    def __dealloc__(self):
        enc_dictionary_free(&self.found)
        enc_dictionary_free(&self.rest)
        enc_buf_free(&self.numbers[0].items)
        enc_buf_free(&self.numbers[1].items)
        enc_buf_free(&self.order)
        enc_buf_free(&self.seen)

    def add(self, ClpsProgram program not None, bytes mask, bint is_json=False, bint has_strings=True):
        cdef Out out
        cdef Trouble trouble
        cdef Py_ssize_t row
        cdef const char* chosen = agg_chosen(mask, program.rows)
        cdef const unsigned char* text
        cdef uint64_t bits
        cdef int kind
        trouble.kind = F_NONE
        out.data = NULL
        out.size = out.capacity = 0
        try:
            with nogil:
                for row in range(program.rows):
                    if chosen != NULL and not chosen[row]:
                        continue
                    out.size = 0
                    if add_row(&out, program.ops, program.count, row, &trouble) != F_NONE:
                        break
                    text = <unsigned char*>out.data if out.size else <const unsigned char*>b""
                    kind = agg_kind(text, out.size, &bits) if is_json else -1
                    if kind == AGG_INTEGER or kind == AGG_FLOAT:
                        agg_number(&self.numbers[kind == AGG_FLOAT], bits, kind == AGG_FLOAT)
                    elif kind == AGG_OTHER:
                        enc_dictionary_id(&self.rest, text, out.size)
                    elif kind == AGG_STRING:
                        if has_strings:
                            enc_dictionary_id(&self.found, text + 1, out.size - 2)
                    else:
                        enc_dictionary_id(&self.found, text, out.size)
            return program._fault(&trouble)
        finally:
            free(out.data)

    def add_numbers(self, values, bytes mask, bint is_float):
        cdef Py_buffer view
        cdef Py_ssize_t i, count
        cdef const char* chosen = NULL
        cdef uint64_t bits
        PyObject_GetBuffer(values, &view, PyBUF_SIMPLE)
        try:
            count = view.len // sizeof(bits)
            chosen = agg_chosen(mask, count)
            with nogil:
                for i in range(count):
                    if chosen == NULL or chosen[i]:
                        memcpy(&bits, <const char*>view.buf + sizeof(bits) * i, sizeof(bits))
                        agg_number(&self.numbers[is_float], bits, is_float)
        finally:
            PyBuffer_Release(&view)

    def add_entries(self, ClpsStrings strings not None, ids, bytes mask):
        cdef Py_buffer view
        cdef Py_ssize_t i, count, bad = -1
        cdef const char* chosen = NULL
        cdef uint64_t id
        cdef Slice text
        cdef bint is_other = strings is not self.entries
        if strings.escape:
            raise ValueError("escaped strings")
        PyObject_GetBuffer(ids, &view, PyBUF_SIMPLE)
        try:
            count = view.len // sizeof(id)
            chosen = agg_chosen(mask, count)
            with nogil:
                if is_other:
                    self.seen.n = 0
                    enc_buf_room(&self.seen, (<size_t>strings.count >> 3) + 1)
                    memset(self.seen.p, 0, (<size_t>strings.count >> 3) + 1)
                for i in range(count):
                    if chosen != NULL and not chosen[i]:
                        continue
                    memcpy(&id, <const char*>view.buf + sizeof(id) * i, sizeof(id))
                    if id >= <uint64_t>strings.count:
                        bad = i
                        break
                    if self.seen.p[id >> 3] >> (id & 7) & 1:
                        continue
                    self.seen.p[id >> 3] |= <unsigned char>(1 << (id & 7))
                    text = string_at(&strings.strings, id)
                    enc_dictionary_id(&self.found, <const unsigned char*>text.text, text.size)
            self.entries = strings
            return bad
        finally:
            PyBuffer_Release(&view)

    def put(self, bytes text not None):
        enc_dictionary_id(&self.found, <const unsigned char*>bytes_text(text), PyBytes_GET_SIZE(text))

    def rest_of(self):
        out = agg_texts(&self.rest)
        enc_dictionary_clear(&self.rest)
        return out

    def numbers_of(self, bint is_float):
        cdef EncBuf out
        cdef AggNumbers* numbers = &self.numbers[is_float]
        cdef size_t i
        memset(&out, 0, sizeof(out))
        try:
            with nogil:
                agg_reduce(numbers)
                for i in range(numbers.items.n // sizeof(uint64_t)):
                    enc_buf_u64(&out, agg_bits((<uint64_t*>numbers.items.p)[i], is_float))
            return enc_buf_bytes(&out)
        finally:
            enc_buf_free(&out)

    cdef int sort(self) except -1 nogil:
        cdef size_t i
        cdef AggText text
        if self.order.n == self.found.count * sizeof(text):
            return 0
        self.order.n = 0
        for i in range(self.found.count):
            text.key, text.text = 0, self.found.data.p + (<uint64_t*>self.found.starts.p)[i]
            enc_buf_put(&self.order, &text, sizeof(text))
        return agg_sort_texts(&self.order, 0, 0)

    def texts_of(self):
        cdef size_t i
        cdef const unsigned char* text
        with nogil:
            self.sort()
        out = []
        for i in range(self.found.count):
            text = (<AggText*>self.order.p)[i].text
            out.append(bytes_of(<const char*>text + sizeof(uint64_t), agg_size(text)))
        return out

    def lines(self, int kind, size_t start, size_t target):
        cdef EncBuf out
        cdef AggNumbers* numbers = &self.numbers[kind == AGG_FLOAT]
        cdef const unsigned char* text
        cdef uint64_t bits
        cdef int64_t number
        cdef double real
        cdef size_t i = start, count
        memset(&out, 0, sizeof(out))
        if kind == AGG_FLOAT:
            prepare_reals()
        try:
            with nogil:
                if kind == AGG_STRING:
                    self.sort()
                    count = self.found.count
                else:
                    if start == 0:
                        agg_reduce(numbers)
                    count = numbers.items.n // sizeof(uint64_t)
                while i < count and out.n < target:
                    if kind == AGG_STRING:
                        text = (<AggText*>self.order.p)[i].text
                        enc_buf_put(&out, b'"', 1)
                        txt_put_json(&out, text + sizeof(uint64_t), text + sizeof(uint64_t) + agg_size(text))
                        enc_buf_put(&out, b'"\n', 2)
                    else:
                        enc_buf_room(&out, REAL_ROOM + 2)
                        bits = agg_bits((<uint64_t*>numbers.items.p)[i], kind == AGG_FLOAT)
                        if kind == AGG_FLOAT:
                            memcpy(&real, &bits, sizeof(real))
                            out.n += put_real(<char*>out.p + out.n, real)
                        else:
                            number = <int64_t>bits
                            if number < 0:
                                out.p[out.n] = c"-"
                                out.n += 1
                                bits = 0 - bits
                            out.n += put_unsigned(<char*>out.p + out.n, bits)
                        out.p[out.n] = c"\n"
                        out.n += 1
                    i += 1
            return enc_buf_bytes(&out), i
        finally:
            enc_buf_free(&out)


cdef list agg_texts(EncDictionary* found):
    cdef uint64_t size
    cdef size_t i
    cdef const unsigned char* p
    out = []
    for i in range(found.count):
        p = found.data.p + (<uint64_t*>found.starts.p)[i]
        memcpy(&size, p, sizeof(size))
        out.append(bytes_of(<const char*>p + sizeof(size), size))
    return out
