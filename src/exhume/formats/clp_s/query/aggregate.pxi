# Extremes, counts by time span and distinct values of columns, for the aggregates of `exhume search`; `pykernel.py` is the
# pure-Python implementation.
#
# Structures and functions of other parts of the kernel:
# - `EncBuf` is a growing buffer: `p` its bytes, `n` how many are used, `cap` how many are allocated; `enc_buf_room`
#   reserves space at its end, `enc_buf_put` and `enc_buf_u64` append.
# - `EncDictionary` is a set of strings in order of insertion; `enc_dictionary_id` adds one.
# - `Strings` are the entries of an archive's dictionary, each a size (uint64) and its bytes: entry i is at
#   `data + starts[i]`, and `string_at` returns its bytes.  `ClpsStrings` is the class for Python around them.
# - `Op`s print a row of a table: `add_row` appends its text to `Out`, another growing buffer, and returns a fault kind,
#   `F_NONE` for none; `Trouble` has the details of the fault.
#
# Masks: `chosen` has one byte per row, 0 for a row that is left out; NULL stands for all rows.
# Order of numbers: signed integers and floats are stored as unsigned "keys" in the same order, so one radix sort serves
# both.  For an integer the sign bit is flipped; see `agg_number` for floats.

def clps_extreme(values, bytes mask, bint is_float, bint largest):
    """Return the smallest or largest of int64 or float64 `values` in the chosen rows; None if there is none."""
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
                    # `real - real` is 0 for finite numbers only: NaN and infinities are left out.
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


def clps_last_entry(words, variables, ClpsLogTypes log_types not None, bytes mask):
    """Return the largest id of the dictionary entries that the chosen strings have as variables; -1 without any."""
    cdef Py_buffer view, more
    cdef Py_ssize_t i, count
    cdef const char* chosen = NULL
    cdef const TextPart* part
    cdef uint64_t word, ident, at, size
    cdef uint8_t kind
    cdef int64_t value, last = -1
    PyObject_GetBuffer(words, &view, PyBUF_SIMPLE)
    try:
        PyObject_GetBuffer(variables, &more, PyBUF_SIMPLE)
        try:
            count = view.len // sizeof(uint64_t)
            chosen = agg_chosen(mask, count)
            with nogil:
                for i in range(count):
                    if chosen != NULL and not chosen[i]:
                        continue
                    word = <uint64_t>load64(<const char*>view.buf, i)
                    ident = clp_s_table_clp_word_log_type_id(word)
                    at = clp_s_table_clp_word_ofs_variable(word)
                    if ident >= <uint64_t>log_types.count:
                        continue
                    part = &log_types.parts[log_types.first[ident]]
                    size = <uint64_t>(log_types.first[ident + 1] - log_types.first[ident] - 1)
                    if at + size > <uint64_t>more.len // sizeof(value):
                        continue
                    while part_placeholder(part):
                        value = load64(<const char*>more.buf, <Py_ssize_t>at)
                        kind = part_placeholder(part)
                        if log_types.core:
                            if kind == CLP_S_DICTIONARY_ENTRIES_MARKS_DICTIONARY_ENTRY:
                                last = max(last, value)
                        elif kind == CLP_S_DICTIONARY_ENTRIES_CLASSIC_MARKS_INTEGER_OR_DICTIONARY_ENTRY:
                            if clp_s_table_classic_variable_is_id(value):
                                last = max(last, <int64_t>clp_s_table_classic_variable_dictionary_id(value))
                        at += 1
                        part += 1
            return last
        finally:
            PyBuffer_Release(&more)
    finally:
        PyBuffer_Release(&view)


def clps_spans(values, bytes mask, int64_t width):
    """Count int64 `values` by span of `width`: return pairs (number of the span, count) as int64, ascending.

    With a width of 60, the values 5, 59 and 61 are in the spans 0, 0 and 1.
    """
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
                # Flip the sign bit: the unsigned order is then the signed one.
                (<uint64_t*>spans.p)[spans.n // sizeof(value)] = <uint64_t>span ^ <uint64_t>1 << 63
                spans.n += sizeof(value)
            agg_sort(&spans)
            # Output: each span once, with the number of values in it.
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
    """The bytes of a mask, which has at least `count`; NULL if there is no mask."""
    if mask is None:
        return NULL
    if len(mask) < count:
        raise IndexError(count)
    return mask


cdef int agg_sort(EncBuf* items) except -1 nogil:
    """Sort numbers in ascending order: radix sort from the lowest byte, between `items` and a second buffer."""
    cdef size_t count = items.n // sizeof(uint64_t), i, at, sum
    cdef size_t[8 * 256] starts  # for each byte of the key and each value of it: first how often it occurs
    cdef EncBuf other, swap
    cdef uint64_t* source
    cdef uint64_t* target
    cdef uint64_t key
    cdef int byte
    if count < 2:
        return 0
    memset(starts, 0, sizeof(starts))
    for i in range(count):
        key = (<uint64_t*>items.p)[i]
        for byte in range(8):
            starts[256 * byte + (key >> 8 * byte & 0xFF)] += 1
    memset(&other, 0, sizeof(other))
    enc_buf_room(&other, items.n)
    for byte in range(8):
        source, target = <uint64_t*>items.p, <uint64_t*>other.p
        if starts[256 * byte + (source[0] >> 8 * byte & 0xFF)] == count:
            continue  # all keys have the same value in this byte
        # Turn the counts into the place of the first key with each value.
        sum = 0
        for i in range(256 * byte, 256 * byte + 256):
            at = starts[i]
            starts[i] = sum
            sum += at
        for i in range(count):
            key = source[i]
            at = starts[256 * byte + (key >> 8 * byte & 0xFF)]
            starts[256 * byte + (key >> 8 * byte & 0xFF)] = at + 1
            target[at] = key
        other.n = items.n
        swap = items[0]
        items[0] = other
        other = swap
    enc_buf_free(&other)
    return 0


cdef enum:
    AGG_RECENT = 4096           # slots of the table of recent values, which filters most repeated ones (a power of 2)
    AGG_MOST = 1 << 20          # values that are collected before duplicates are removed
    AGG_MOST_BYTES = 128 << 20  # bytes of strings that are collected before duplicates are removed
    AGG_FEW = 40                # at most this many values are sorted by insertion
    AGG_DEEP = 16               # levels of the radix sort after which whole strings are compared instead
    AGG_AHEAD = 16              # how many strings in advance to prefetch the bytes
    AGG_TRIES = 16384           # so many strings are searched for among the recent ones in any case; further ones only
    AGG_REPEATED = 8            # while at least one of this many was found there
    AGG_ROOM = 4096             # bytes reserved for a row that is printed directly into the buffer of strings


cdef struct AggText:  # a string to sort: `text` is its size (uint64) and then its bytes; `key` is eight of the bytes
    uint64_t key
    const unsigned char* text


cdef inline size_t agg_size(const unsigned char* text) noexcept nogil:
    """The size of a stored string, which precedes its bytes."""
    cdef uint64_t size
    memcpy(&size, text, sizeof(size))
    return <size_t>size


cdef int agg_compare(const void* one, const void* other) noexcept nogil:
    """Order of two `AggText`s by all of their bytes, for `qsort`."""
    return agg_compare_texts((<const AggText*>one).text, (<const AggText*>other).text)


cdef inline int agg_compare_texts(const unsigned char* a, const unsigned char* b) noexcept nogil:
    """Order of two stored strings by their bytes: negative, 0 or positive."""
    cdef size_t first = agg_size(a), second = agg_size(b)
    cdef int order = memcmp(a + sizeof(uint64_t), b + sizeof(uint64_t), min(first, second))
    return order if order else (first > second) - (first < second)


cdef inline uint64_t agg_key(const unsigned char* text, size_t depth) noexcept nogil:
    """Eight bytes of a string from `depth` on as a number that has the same order, with zeros after its end."""
    cdef size_t left = agg_size(text) - depth, i
    cdef uint64_t key = 0
    text += sizeof(uint64_t) + depth
    if left >= 8:  # the usual case, with a fixed number of steps
        for i in range(8):
            key = key << 8 | text[i]
        return key
    for i in range(left):
        key = key << 8 | text[i]
    for i in range(8 - left):
        key <<= 8
    return key


cdef void agg_insert(AggText* texts, size_t count, bint by_key) noexcept nogil:
    """Sort a few strings by insertion, either by their keys or by all of their bytes."""
    cdef size_t i, at
    cdef AggText text
    for i in range(1, count):
        text = texts[i]
        at = i
        while at and (text.key < texts[at - 1].key if by_key else agg_compare(&text, &texts[at - 1]) < 0):
            texts[at] = texts[at - 1]
            at -= 1
        texts[at] = text


cdef void agg_sort_keys(AggText* texts, size_t count, int shift) noexcept nogil:
    """Sort by the lowest `shift + 8` bits of the keys: radix sort in place, from the highest byte (American flag sort).

    The keys are equal in all higher bits.
    """
    cdef size_t[256] nexts, ends  # by value of the byte: the next free place of its range, and where the range ends
    cdef size_t i, start, sum, place
    cdef AggText text, swap
    while count > AGG_FEW:
        memset(ends, 0, sizeof(ends))
        for i in range(count):
            ends[texts[i].key >> shift & 0xFF] += 1
        if ends[texts[0].key >> shift & 0xFF] == count:
            if shift == 0:
                return
            shift -= 8  # all have the same value in this byte: sort by the next one
            continue
        # The range of places for each value of the byte.
        sum = 0
        for i in range(256):
            nexts[i] = sum
            sum += ends[i]
            ends[i] = sum
        # Move each string into its range; the one that was at that place is moved next, until the cycle closes.
        for i in range(256):
            while nexts[i] < ends[i]:
                text = texts[nexts[i]]
                place = text.key >> shift & 0xFF
                while place != i:
                    swap = texts[nexts[place]]
                    texts[nexts[place]] = text
                    nexts[place] += 1
                    text = swap
                    place = text.key >> shift & 0xFF
                texts[nexts[i]] = text
                nexts[i] += 1
        # Sort each range by the lower bytes.
        start = 0
        if shift:
            for i in range(256):
                if ends[i] > start + 1:
                    agg_sort_keys(texts + start, ends[i] - start, shift - 8)
                start = ends[i]
        return
    agg_insert(texts, count, True)


cdef void agg_sort_texts(AggText* texts, size_t count, size_t depth, int level) noexcept nogil:
    """Sort strings whose first `depth` bytes are equal.

    They are sorted by the eight bytes after their longest common prefix; then each run with equal keys is sorted in the
    same way, one `level` deeper.
    """
    cdef size_t i, start, stop, size, most
    cdef bint has_short  # whether a string of the run ends within its key
    cdef bint differs = False  # whether the sizes of the strings differ
    if count < AGG_FEW:
        agg_insert(texts, count, False)
        return
    if level > AGG_DEEP:
        qsort(texts, count, sizeof(AggText), agg_compare)
        return
    size = most = agg_size(texts[0].text)
    for i in range(1, count):  # shorten `size` to the longest common prefix
        stop = agg_size(texts[i].text)
        differs = differs or stop != most
        stop = min(size, stop)
        if stop == size and memcmp(&texts[i].text[sizeof(uint64_t) + depth], &texts[0].text[sizeof(uint64_t) + depth],
                                   size - depth) == 0:
            continue
        size = depth
        while size < stop and texts[i].text[sizeof(uint64_t) + size] == texts[0].text[sizeof(uint64_t) + size]:
            size += 1
    if size == most and not differs:
        return  # all are equal
    depth = size
    for i in range(count):
        if i + AGG_AHEAD < count:
            EXH_PREFETCH(texts[i + AGG_AHEAD].text)
        texts[i].key = agg_key(texts[i].text, depth)
    agg_sort_keys(texts, count, 56)
    start = 0
    while start < count:
        stop = start + 1
        has_short = agg_size(texts[start].text) < depth + 8
        while stop < count and texts[stop].key == texts[start].key:
            has_short = has_short or agg_size(texts[stop].text) < depth + 8
            stop += 1
        if stop - start > 1:
            # A zero in the key may be a byte or the padding after the end: with short strings, equal keys do not mean
            # equal bytes, and the next level would make the same keys.  Few strings are compared by all bytes there.
            if has_short and stop - start >= AGG_FEW:
                qsort(&texts[start], stop - start, sizeof(AggText), agg_compare)
            else:
                agg_sort_texts(&texts[start], stop - start, depth if has_short else depth + 8, level + 1)
        start = stop


cdef struct AggTexts:       # a collection of strings, most of them distinct
    EncBuf data             # the size of each string (uint64) and its bytes, back to back
    size_t count            # number of strings in `data`
    size_t limit, most      # sizes of `data` in bytes and in strings at which duplicates are removed
    EncBuf order            # the distinct strings sorted, as `AggText`; empty if strings were added since
    size_t last             # offset in `data` of the last string
    bint unordered          # whether the strings did not come in ascending order; if they did, `order` is not needed
    size_t tried, repeated  # number of strings that were searched for in `recent`, and that were found
    uint64_t[2 * AGG_RECENT] recent     # by slot: a hash, and 1 + the offset of its string in `data` (0: empty slot)


cdef int agg_text_room(AggTexts* texts, size_t size) except -1 nogil:
    """Reserve space for a string of `size` bytes at the end; duplicates are removed first if there are too many."""
    if texts.data.n >= texts.limit or texts.count >= texts.most:
        agg_reduce_texts(texts)
    texts.order.n = 0  # its pointers are invalid when `data` moves
    return enc_buf_room(&texts.data, sizeof(uint64_t) + size)


cdef void agg_keep_text(AggTexts* texts, uint64_t size) noexcept nogil:
    """Add the string of `size` bytes that the caller wrote after the end of `data`, after space for its size.

    It is left out if it is among the recent ones, or equal to the last one.
    """
    cdef size_t at = texts.data.n
    cdef uint64_t hash, start
    cdef uint64_t* recent
    cdef int order
    # Search among the recent strings, as long as enough are found there; then this one takes the slot.
    if texts.tried < AGG_TRIES or texts.repeated * AGG_REPEATED >= texts.tried:
        texts.tried += 1
        hash = enc_hash_bytes(texts.data.p + at + sizeof(size), size)
        recent = &texts.recent[2 * (hash & (AGG_RECENT - 1))]
        if recent[1] and recent[0] == hash:
            start = recent[1] - 1
            if agg_size(texts.data.p + start) == size and same_bytes(
                    texts.data.p + start + sizeof(size), texts.data.p + at + sizeof(size), size):
                texts.repeated += 1
                return
        recent[0], recent[1] = hash, at + 1
    memcpy(texts.data.p + at, &size, sizeof(size))
    # Compare with the last one, while all strings came in ascending order.
    if texts.count and not texts.unordered:
        order = agg_compare_texts(texts.data.p + texts.last, texts.data.p + at)
        if order == 0:
            return
        texts.unordered = order > 0
    texts.last = at
    texts.count += 1
    texts.data.n += sizeof(size) + size


cdef int agg_text(AggTexts* texts, const unsigned char* p, size_t size) except -1 nogil:
    """Add a string (a copy of it)."""
    agg_text_room(texts, size)
    if size:
        memcpy(texts.data.p + texts.data.n + sizeof(uint64_t), p, size)
    agg_keep_text(texts, size)
    return 0


cdef int agg_row(AggTexts* texts, const Op* ops, int count, Py_ssize_t row, Trouble* trouble) except -1 nogil:
    """Add the printed form of a row, printed directly into `texts.data`.  Return 0 or a fault kind."""
    cdef Out out
    cdef int found
    agg_text_room(texts, AGG_ROOM)
    # Let `out` borrow the buffer: printing may move it, so it is taken back afterwards.
    out.data = <char*>texts.data.p
    out.size = texts.data.n + sizeof(uint64_t)
    out.capacity = texts.data.cap
    found = add_row(&out, ops, count, row, trouble)
    texts.data.p, texts.data.cap = <unsigned char*>out.data, out.capacity
    if found == F_NONE:
        agg_keep_text(texts, out.size - texts.data.n - sizeof(uint64_t))
    return found


cdef int agg_order_texts(AggTexts* texts, const Strings* entries, const unsigned char* seen) except -1 nogil:
    """Fill `texts.order` with the distinct strings, sorted.

    If `seen` is not NULL, the entries of a dictionary whose bits are set in it belong to them.
    """
    cdef AggText text
    cdef AggText* found
    cdef size_t at = 0, i, kept = 0
    cdef bint is_sorted = True
    texts.order.n = 0
    text.key = 0
    # Collect pointers to all strings of `data`, and then to the entries that `seen` has.
    while at < texts.data.n:
        text.text = texts.data.p + at
        at += sizeof(uint64_t) + agg_size(text.text)
        enc_buf_put(&texts.order, &text, sizeof(text))
    if seen != NULL:
        for i in range(<size_t>entries.count):
            if seen[i >> 3] >> (i & 7) & 1:
                text.text = <const unsigned char*>entries.data + entries.starts[i]
                enc_buf_put(&texts.order, &text, sizeof(text))
    found = <AggText*>texts.order.p
    at = texts.order.n // sizeof(text)
    for i in range(1, at):
        if agg_compare(&found[i - 1], &found[i]) >= 0:
            is_sorted = False
            break
    if is_sorted:
        return 0
    agg_sort_texts(found, at, 0, 0)
    for i in range(at):  # equal strings have equal keys: they were sorted by the same bytes
        if i == 0 or found[kept - 1].key != found[i].key or agg_compare(&found[kept - 1], &found[i]):
            found[kept] = found[i]
            kept += 1
    texts.order.n = kept * sizeof(text)
    return 0


cdef int agg_reduce_texts(AggTexts* texts) except -1 nogil:
    """Remove duplicates if more than half of the strings are; set the limits at which to try again."""
    cdef EncBuf data
    cdef size_t i, count
    cdef const unsigned char* text
    if texts.unordered:
        agg_order_texts(texts, NULL, NULL)
    # Strings that came in ascending order have no duplicates: `agg_keep_text` leaves out one that equals the last.
    count = texts.order.n // sizeof(AggText) if texts.unordered else texts.count
    if count < texts.count // 2:
        memset(&data, 0, sizeof(data))
        for i in range(count):
            text = (<AggText*>texts.order.p)[i].text
            texts.last = data.n
            enc_buf_put(&data, text, sizeof(uint64_t) + agg_size(text))
        enc_buf_free(&texts.data)
        texts.data, texts.count, texts.unordered = data, count, False
        texts.tried = texts.repeated = 0
        memset(texts.recent, 0, sizeof(texts.recent))
    texts.order.n = 0
    texts.limit = max(<size_t>AGG_MOST_BYTES, 2 * texts.data.n)
    texts.most = max(<size_t>AGG_MOST, 2 * texts.count)
    return 0


cdef struct AggNumbers:     # a collection of numbers as keys (unsigned, in the same order), most of them distinct
    EncBuf items            # the keys (uint64)
    size_t limit            # size of `items` in bytes at which duplicates are removed
    bint has_zero           # whether 0.0 or -0.0 was added
    uint64_t[AGG_RECENT] recent     # by slot (see `agg_place`): the key that was added last


cdef inline size_t agg_place(uint64_t key) noexcept nogil:
    """The slot of a key in `recent`: a hash with a seed."""
    key = (key ^ enc_hash_seed) * <uint64_t>0xFF51AFD7ED558CCD
    return <size_t>(key ^ key >> 32) & (AGG_RECENT - 1)


cdef void agg_begin(AggNumbers* numbers) noexcept nogil:
    """Initialize a collection.  A slot is empty if it contains a key that belongs into another slot.

    That is 0, except in the slot of 0 itself.
    """
    cdef size_t i
    cdef uint64_t other = 1
    memset(numbers, 0, sizeof(AggNumbers))
    numbers.limit = AGG_MOST * sizeof(uint64_t)
    while agg_place(other) == agg_place(0):
        other += 1
    numbers.recent[agg_place(0)] = other


cdef int agg_reduce(AggNumbers* numbers) except -1 nogil:
    """Sort the keys and remove duplicates."""
    cdef uint64_t* items
    cdef size_t i, kept = 0
    agg_sort(&numbers.items)
    items = <uint64_t*>numbers.items.p
    for i in range(numbers.items.n // sizeof(uint64_t)):
        if kept == 0 or items[i] != items[kept - 1]:
            items[kept] = items[i]
            kept += 1
    numbers.items.n = kept * sizeof(uint64_t)
    numbers.limit = max(<size_t>AGG_MOST * sizeof(uint64_t), 2 * numbers.items.n)
    return 0


cdef inline int agg_number(AggNumbers* numbers, uint64_t bits, bint is_float) except -1 nogil:
    """Add a number, given by its 64 bits; a float that is not finite is left out."""
    cdef size_t place
    if is_float:
        if bits << 1 == 0:  # 0.0 and -0.0 are equal: the first stays
            if numbers.has_zero:
                return 0
            numbers.has_zero = True
        elif bits >> 52 & 0x7FF == 0x7FF:  # the exponent of infinities and NaN
            return 0
        # The order of floats: negative ones have all bits inverted, the others only the sign bit.
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
    """The bits of the number that `agg_number` turned into a key."""
    if is_float and not key >> 63:
        return ~key
    return key ^ <uint64_t>1 << 63


cdef enum:              # kinds of JSON text, for `agg_kind` and `ClpsDistinct.lines`
    AGG_OTHER = 0       # anything else, and numbers and strings that need a full parser
    AGG_INTEGER = 1
    AGG_FLOAT = 2
    AGG_STRING = 3      # without escapes


cdef int agg_kind(const unsigned char* p, size_t size, uint64_t* bits) noexcept nogil:
    """The kind of a JSON text; for a number, also the bits of its value (int64 or double).

    Only numbers of at most 18 digits without exponent whose value is exact are parsed; others are `AGG_OTHER`.
    """
    cdef const unsigned char* end = p + size
    cdef uint64_t mantissa = 0
    cdef int digits = 0, point = -1     # `point`: how many digits are before the point; -1: it has none
    cdef bint negative
    cdef double real
    # A string: in quotes, without a backslash and without another quote.
    if size >= 2 and p[0] == c'"' and end[-1] == c'"':
        return AGG_STRING if memchr(p, c'\\', size) == NULL and memchr(p + 1, c'"', size - 2) == NULL else AGG_OTHER
    negative = size > 0 and p[0] == c'-'
    p += negative
    # A digit comes first; a 0 is followed by a point, or is the whole number (but not -0, which is a float).
    if p == end or not c'0' <= p[0] <= c'9' or (p[0] == c'0' and (p[1] != c'.' if end - p > 1 else negative)):
        return AGG_OTHER
    while p < end:
        if p[0] == c'.' and point < 0:
            point = digits
        elif c'0' <= p[0] <= c'9' and digits < 18:
            mantissa = 10 * mantissa + (p[0] - c'0')
            digits += 1
        else:
            return AGG_OTHER
        p += 1
    if point < 0:
        bits[0] = 0 - mantissa if negative else mantissa
        return AGG_INTEGER
    if point == digits or mantissa > <uint64_t>1 << 53:  # no digit after the point, or more than a double can store
        return AGG_OTHER
    # Both are exact doubles (at most 2^53 and 10^17), so that the quotient is the double closest to the number.
    real = <double>mantissa / enc_powers_of_ten[digits - point]
    if negative:
        real = -real
    memcpy(bits, &real, sizeof(real))
    return AGG_FLOAT


cdef class ClpsDistinct:
    """Distinct integers, floats and strings of columns."""

    cdef EncDictionary rest     # JSON values of kind `AGG_OTHER`, for Python to parse
    cdef AggTexts texts         # distinct strings
    cdef AggNumbers[2] numbers  # integers, floats
    cdef ClpsStrings entries    # the dictionary of the last `add_entries`: its strings are copied to `texts` only when
                                # the dictionary changes
    cdef EncBuf seen            # a bit for each entry of `entries`: whether it occurs

    def __cinit__(self):
        memset(&self.rest, 0, sizeof(self.rest))
        memset(&self.texts, 0, sizeof(self.texts))
        self.texts.limit, self.texts.most = AGG_MOST_BYTES, AGG_MOST
        memset(&self.seen, 0, sizeof(self.seen))
        agg_begin(&self.numbers[0])
        agg_begin(&self.numbers[1])

    def __dealloc__(self):
        enc_dictionary_free(&self.rest)
        enc_buf_free(&self.texts.data)
        enc_buf_free(&self.texts.order)
        enc_buf_free(&self.numbers[0].items)
        enc_buf_free(&self.numbers[1].items)
        enc_buf_free(&self.seen)

    def add(self, ClpsProgram program not None, bytes mask, bint is_json=False, bint has_strings=True):
        """Add what the program prints of each chosen row: strings, or, with `is_json`, JSON values.  Return a fault or None.

        `has_strings`: whether JSON strings are added, too.  Values of kind `AGG_OTHER` are kept in `rest`.
        """
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
                    if not is_json:
                        if agg_row(&self.texts, program.ops, program.count, row, &trouble) != F_NONE:
                            break
                        continue
                    out.size = 0
                    if add_row(&out, program.ops, program.count, row, &trouble) != F_NONE:
                        break
                    text = <unsigned char*>out.data if out.size else <const unsigned char*>b""
                    kind = agg_kind(text, out.size, &bits)
                    if kind == AGG_INTEGER or kind == AGG_FLOAT:
                        agg_number(&self.numbers[kind == AGG_FLOAT], bits, kind == AGG_FLOAT)
                    elif kind == AGG_OTHER:
                        enc_dictionary_id(&self.rest, text, out.size)
                    elif has_strings:
                        agg_text(&self.texts, text + 1, out.size - 2)
            return program._fault(&trouble)
        finally:
            free(out.data)

    def add_numbers(self, values, bytes mask, bint is_float):
        """Add the chosen ones of a buffer of int64 or float64."""
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
        """Add the entries that the chosen ids (uint64) name; return the first row whose id does not exist, or -1."""
        cdef Py_buffer view
        cdef Py_ssize_t i, count, bad = -1
        cdef const char* chosen = NULL
        cdef uint64_t id
        cdef bint is_other = strings is not self.entries  # whether the dictionary changes
        if strings.escape:  # these entries would come out with the escapes of JSON
            raise ValueError("escaped strings")
        PyObject_GetBuffer(ids, &view, PyBUF_SIMPLE)
        try:
            count = view.len // sizeof(id)
            chosen = agg_chosen(mask, count)
            if is_other:
                with nogil:
                    enc_buf_room(&self.seen, (<size_t>strings.count >> 3) + 1)
                    if self.entries is not None:
                        self.keep_entries()
                    memset(self.seen.p, 0, (<size_t>strings.count >> 3) + 1)
                self.entries = strings
            with nogil:
                self.texts.order.n = 0  # no longer complete
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
            return bad
        finally:
            PyBuffer_Release(&view)

    def put(self, bytes text not None):
        """Add one string."""
        agg_text(&self.texts, <const unsigned char*>bytes_text(text), PyBytes_GET_SIZE(text))

    def rest_of(self):
        """Return the JSON values that have to be parsed in Python, and forget them."""
        out = agg_texts(&self.rest)
        enc_dictionary_clear(&self.rest)
        return out

    def numbers_of(self, bint is_float):
        """Return the distinct numbers, sorted, as bytes of int64 or float64."""
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

    cdef int keep_entries(self) except -1 nogil:
        """Copy the strings of `entries` that occur to `texts`, because another dictionary comes next."""
        cdef size_t i
        cdef Slice text
        for i in range(<size_t>self.entries.strings.count):
            if self.seen.p[i >> 3] >> (i & 7) & 1:
                text = string_at(&self.entries.strings, i)
                agg_text(&self.texts, <const unsigned char*>text.text, text.size)
        return 0

    cdef int sort(self) except -1 nogil:
        """Fill `texts.order`, if `next_text` needs it and it is empty."""
        if self.texts.order.n == 0 and not self.in_order():
            if self.entries is None:
                agg_order_texts(&self.texts, NULL, NULL)
            else:
                agg_order_texts(&self.texts, &self.entries.strings, self.seen.p)
        return 0

    cdef inline bint in_order(self) noexcept nogil:
        """Whether the strings came in ascending order: `next_text` then reads `texts.data` instead of `texts.order`."""
        return self.entries is None and not self.texts.unordered

    cdef inline const unsigned char* next_text(self, size_t* at) noexcept nogil:
        """The string at `at`, which is moved to the next one; NULL after the last.  The caller starts with 0.

        `at` is an offset in `texts.data` if the strings are in order, else an index in `texts.order`.
        """
        cdef const unsigned char* text
        if self.in_order():
            if at[0] >= self.texts.data.n:
                return NULL
            text = self.texts.data.p + at[0]
            at[0] += sizeof(uint64_t) + agg_size(text)
            return text
        if at[0] >= self.texts.order.n // sizeof(AggText):
            return NULL
        if at[0] + AGG_AHEAD < self.texts.order.n // sizeof(AggText):
            EXH_PREFETCH((<AggText*>self.texts.order.p)[at[0] + AGG_AHEAD].text)
        text = (<AggText*>self.texts.order.p)[at[0]].text
        at[0] += 1
        return text

    def texts_of(self):
        """Return the distinct strings, sorted by their bytes."""
        cdef size_t at = 0
        cdef const unsigned char* text
        out = []
        with nogil:
            self.sort()
        while True:
            text = self.next_text(&at)
            if text == NULL:
                return out
            out.append(bytes_of(<const char*>text + sizeof(uint64_t), agg_size(text)))

    def lines(self, int kind, size_t start, size_t target):
        """Return distinct values of one kind as lines of JSON, up to `target` bytes, and the position of the next one.

        `start` is 0 or the position that the last call returned.
        """
        cdef EncBuf out
        cdef AggNumbers* numbers = &self.numbers[kind == AGG_FLOAT]
        cdef const unsigned char* text
        cdef uint64_t bits
        cdef int64_t number
        cdef double real
        cdef size_t i = start, count
        memset(&out, 0, sizeof(out))
        if kind == AGG_FLOAT:
            prepare_reals()  # fills the tables that `put_real` uses
        try:
            with nogil:
                if kind == AGG_STRING:
                    self.sort()
                elif start == 0:  # later calls find the numbers sorted
                    agg_reduce(numbers)
                # Only one of the two loops runs: strings, or numbers.
                while kind == AGG_STRING and out.n < target:
                    text = self.next_text(&i)
                    if text == NULL:
                        break
                    enc_buf_put(&out, b'"', 1)
                    txt_put_json(&out, text + sizeof(uint64_t), text + sizeof(uint64_t) + agg_size(text))
                    enc_buf_put(&out, b'"\n', 2)
                count = 0 if kind == AGG_STRING else numbers.items.n // sizeof(uint64_t)
                while i < count and out.n < target:
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
    """The entries of a dictionary, in order of insertion."""
    cdef uint64_t size
    cdef size_t i
    cdef const unsigned char* p
    out = []
    for i in range(found.count):
        p = found.data.p + (<uint64_t*>found.starts.p)[i]
        memcpy(&size, p, sizeof(size))
        out.append(bytes_of(<const char*>p + sizeof(size), size))
    return out
