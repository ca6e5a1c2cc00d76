# Dictionaries (numbered strings that records refer to): the offsets of their entries, the entries that need escapes and
# those that occur twice.  And log types: text with placeholders, split into its static parts.
# pykernel.py has the same classes in Python.
# An entry is its length in CLP_S_DICTIONARY_ENTRIES_ENTRY_END_LEN_VALUE (8) bytes, and its bytes.  The generated
# function `read_clp_s_dictionary_entries_entry` returns where it ends; a negative number if that is after the limit.

cdef inline bint word_needs_escape(uint64_t word) noexcept nogil:
    """Whether one of eight bytes is a quote, a backslash or below 0x20."""
    cdef uint64_t quote = word ^ <uint64_t>0x2222222222222222, slash = word ^ <uint64_t>0x5C5C5C5C5C5C5C5C, high
    # The top bit of a byte stays set where it is below 0x20, or zero after the exclusive or.
    high = (word - <uint64_t>0x2020202020202020) & ~word
    high |= (quote - <uint64_t>0x0101010101010101) & ~quote
    high |= (slash - <uint64_t>0x0101010101010101) & ~slash
    return high & <uint64_t>0x8080808080808080 != 0


cdef inline bint needs_escape(const char* text, Py_ssize_t size) noexcept nogil:
    """Whether some byte must be escaped in JSON.  Tests eight at a time; the last eight overlap those before."""
    cdef uint64_t word
    cdef uint32_t low, high
    cdef Py_ssize_t at = 8
    while at < size:
        memcpy(&word, text + at - 8, sizeof(word))
        if word_needs_escape(word):
            return 1
        at += 8
    if size >= 8:
        memcpy(&word, text + size - 8, sizeof(word))
        return word_needs_escape(word)
    if size >= 4:  # the first four bytes and the last four, which may overlap
        memcpy(&low, text, sizeof(low))
        memcpy(&high, text + size - 4, sizeof(high))
        return word_needs_escape(<uint64_t>high << 32 | low)
    for at in range(size):
        if ESCAPE[<uint8_t>text[at]]:
            return 1
    return 0


cdef inline uint64_t clps_hash(const uint8_t* text, Py_ssize_t size) noexcept nogil:
    """A fast hash that is not seeded.  It takes eight bytes at a time; the last eight overlap those before."""
    cdef uint64_t value = <uint64_t>size * <uint64_t>0x9E3779B97F4A7C15, word = 0
    cdef uint32_t low, high
    cdef Py_ssize_t at = 8
    while at < size:
        memcpy(&word, text + at - 8, sizeof(word))
        value = (value ^ word) * <uint64_t>0xFF51AFD7ED558CCD
        value ^= value >> 32
        at += 8
    if size >= 8:
        memcpy(&word, text + size - 8, sizeof(word))
    elif size >= 4:
        memcpy(&low, text, sizeof(low))
        memcpy(&high, text + size - 4, sizeof(high))
        word = <uint64_t>high << 32 | low
    elif size:
        word = <uint64_t>text[0] << 16 | <uint64_t>text[size >> 1] << 8 | text[size - 1]
    value = (value ^ word) * <uint64_t>0xFF51AFD7ED558CCD
    return value ^ value >> 32


cdef enum:
    REPEATED_PART = 1 << 14  # most entries in a part of `ClpsRepeated.first`, on average: its table stays in the cache
    NUMBERED_AHEAD = 24  # how many rows in advance to prefetch an entry


cdef inline uint64_t id_place(uint64_t id) noexcept nogil:
    """A seeded hash of an id: crafted ids must not all fall into one slot of a table."""
    id = (id ^ enc_hash_seed) * <uint64_t>0xFF51AFD7ED558CCD
    id = (id ^ id >> 32) * <uint64_t>0x9E3779B97F4A7C15
    return id ^ id >> 32


cdef inline Slice string_at(const Strings* strings, uint64_t index) noexcept nogil:
    """The bytes of an entry."""
    cdef Slice found
    cdef int64_t start = strings.starts[index] + CLP_S_DICTIONARY_ENTRIES_ENTRY_END_LEN_VALUE
    found.text = strings.data + start
    found.size = <Py_ssize_t>(strings.starts[index + 1] - start)
    return found


cdef int64_t entries_until(
    const uint8_t* data, int64_t at, int64_t limit, Py_ssize_t count, int64_t* starts, Py_ssize_t* done
) noexcept nogil:
    """Walk over the entries from `at` as far as they end by `limit`, at most up to entry `count`.

    `done` is the number of entries before `at` and is updated; `starts` gets the end of each.  Return the last end.
    """
    cdef ClpSDictionaryEntriesEntry entry
    cdef int64_t end
    cdef Py_ssize_t number = done[0]
    while number < count:
        end = read_clp_s_dictionary_entries_entry(data, at, limit, &entry)
        if end < 0:
            break
        at = end
        number += 1
        starts[number] = at
    done[0] = number
    return at


cdef class ClpsStrings:
    """The entries of a dictionary, by their ids; the class of this name in pykernel.py documents arguments and errors."""

    cdef Strings strings
    cdef int64_t* starts  # see `Strings`
    cdef Py_ssize_t count
    cdef object owner  # the object that has the bytes; with `escape` the `ClpsStrings` that has `starts` as well
    cdef bint escape  # whether the entries are returned and printed with the escapes of JSON
    cdef readonly Py_ssize_t end  # of the last entry
    cdef readonly Py_ssize_t size  # of the payload

    def __cinit__(self):
        self.starts = NULL
        self.count = 0
        self.escape = 0
        self.end = 0
        self.size = 0
        self.strings.data = NULL
        self.strings.starts = NULL
        self.strings.count = 0

    def __init__(self, const uint8_t[::1] payload not None, Py_ssize_t count, steps=()):
        """Locate `count` entries of a payload, each a uint64 length and its bytes.

        `steps`: ascending offsets; taking one makes the payload available up to it, and may release what is before.
        """
        cdef int64_t size = payload.shape[0], at = 0, limit
        cdef const uint8_t* data = &payload[0] if size else <const uint8_t*>EMPTY
        cdef Py_ssize_t done = 0  # entries located so far
        if self.starts != NULL:
            raise TypeError("made already")
        # An untrusted count: no more than the payload can contain, plus one, which then does not fit.
        count = min(count, size // CLP_S_DICTIONARY_ENTRIES_ENTRY_END_LEN_VALUE + 1)
        self.starts = <int64_t*>exh_large((count + 1) * sizeof(int64_t))
        if self.starts == NULL:
            raise MemoryError
        self.starts[0] = 0
        for limit in steps:
            if not at <= limit <= size:
                raise ValueError("a step outside the payload")
            with nogil:
                at = entries_until(data, at, limit, count, self.starts, &done)
        with nogil:
            at = entries_until(data, at, size, count, self.starts, &done)
        if done < count:  # the number of the entry that does not fit, and where it starts
            raise ValueError(done, at)
        self.owner = payload
        self.count = count
        self.end = at
        self.size = size
        self.strings.data, self.strings.starts, self.strings.count = <const char*>data, self.starts, count

    def __dealloc__(self):
        if not self.escape:
            free(self.starts)

    def __len__(self):
        return self.count

    def __getitem__(self, Py_ssize_t index):
        if index < 0 or index >= self.count:
            raise IndexError(index)
        cdef Slice one = string_at(&self.strings, index)
        if not self.escape:
            return PyBytes_New(one.text, one.size)
        cdef Out out
        memset(&out, 0, sizeof(Out))
        if not add_escaped(&out, one.text, one.size):
            raise MemoryError
        try:
            return PyBytes_New(out.data, out.size)
        finally:
            free(out.data)

    def numbered(self, ids):
        """The entries of `ids` as an Arrow dictionary: the number of each id's entry, ends and bytes of the entries."""
        cdef Py_buffer view
        cdef Slice* used = NULL  # the different entries
        cdef uint64_t* known = NULL  # and their ids
        cdef int32_t* table = NULL  # by a hash of the id: the number of its entry, counted from 1
        cdef Py_ssize_t rows, row, number = 0, at
        cdef int64_t size = 0
        cdef uint64_t id = 0, mask = 1
        cdef int32_t slot, end = 0
        cdef char* codes
        cdef char* ends
        cdef char* text
        cdef bint outside = 0
        PyObject_GetBuffer(ids, &view, PyBUF_SIMPLE)
        try:
            rows = view.len // sizeof(uint64_t)
            if self.escape or rows >= <Py_ssize_t>1 << 31:
                raise ValueError("too many ids")
            while mask < <uint64_t>(2 * rows):  # a power of 2, so that at most half of the slots are used
                mask *= 2
            mask -= 1
            made = PyBytes_New(NULL, sizeof(int32_t) * rows)
            codes = PyBytes_AS_STRING(<PyObject*>made)
            used = <Slice*>malloc((rows + 1) * sizeof(Slice))
            known = <uint64_t*>malloc((rows + 1) * sizeof(uint64_t))
            table = <int32_t*>calloc(mask + 1, sizeof(int32_t))
            if used == NULL or known == NULL or table == NULL:
                raise MemoryError
            with nogil:
                # Entries are anywhere in a large dictionary: they are prefetched some rows early.
                for row in range(rows):
                    if row + NUMBERED_AHEAD < rows:
                        id = <uint64_t>load64(<const char*>view.buf, row + NUMBERED_AHEAD)
                        if id < <uint64_t>self.count:
                            EXH_PREFETCH(&self.starts[id])
                    id = <uint64_t>load64(<const char*>view.buf, row)
                    if id >= <uint64_t>self.count:
                        outside = 1
                        break
                    # Look the id up in the hash table (open addressing); a new one gets the next number.
                    at = id_place(id) & mask
                    while table[at] and known[table[at] - 1] != id:
                        at = (at + 1) & mask
                    if table[at] == 0:
                        used[number] = string_at(&self.strings, id)
                        known[number] = id
                        size += used[number].size
                        number += 1
                        table[at] = <int32_t>number
                    slot = table[at] - 1
                    memcpy(codes + sizeof(int32_t) * row, &slot, sizeof(int32_t))
            if outside:
                raise IndexError(id)
            if size >= <int64_t>1 << 31:
                raise OverflowError(size)
            offsets = PyBytes_New(NULL, sizeof(int32_t) * (number + 1))
            ends = PyBytes_AS_STRING(<PyObject*>offsets)
            joined = PyBytes_New(NULL, size)
            text = PyBytes_AS_STRING(<PyObject*>joined)
            with nogil:
                memcpy(ends, &end, sizeof(int32_t))
                for row in range(number):
                    if row + NUMBERED_AHEAD < number:
                        EXH_PREFETCH(used[row + NUMBERED_AHEAD].text)
                    memcpy(text + end, used[row].text, used[row].size)
                    end += <int32_t>used[row].size
                    memcpy(ends + sizeof(int32_t) * (row + 1), &end, sizeof(int32_t))
            return made, offsets, joined
        finally:
            free(used)
            free(known)
            free(table)
            PyBuffer_Release(&view)

    def first_not_utf8(self, Py_ssize_t start, Py_ssize_t stop):
        """Return the index of the first entry in `[start, stop)` that is not UTF-8; -1 if all are."""
        cdef Py_ssize_t index, found = -1
        cdef Slice one
        if not 0 <= start <= stop <= self.count:
            raise IndexError(stop)
        with nogil:
            for index in range(start, stop):
                one = string_at(&self.strings, index)
                if not ir_is_utf8(<const uint8_t*>one.text, one.size):
                    found = index
                    break
        return found

    def escaped(self):
        """Return the same entries with the escapes of JSON.

        They are escaped when they are printed: escaping all of a large dictionary would take longer than a search that
        prints a few records.
        """
        cdef ClpsStrings made
        if self.escape:
            return self
        made = ClpsStrings.__new__(ClpsStrings)
        made.starts, made.count, made.end, made.size = self.starts, self.count, self.end, self.size
        made.strings = self.strings
        made.escape = 1
        made.owner = self
        return made


cdef class ClpsRepeated:
    """Finds repeated entries of a dictionary, for `verify`; each entry is to occur once.  See pykernel.py."""

    cdef ClpsStrings strings
    cdef uint64_t* hashes  # by entry

    def __cinit__(self, ClpsStrings strings not None):
        self.strings = strings
        self.hashes = <uint64_t*>exh_large((strings.count + 1) * sizeof(uint64_t))
        if self.hashes == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.hashes)

    def add(self, Py_ssize_t start, Py_ssize_t stop):
        """Hash the entries `[start, stop)`; `first` needs the hashes of all."""
        cdef Py_ssize_t index
        cdef Slice text
        if not 0 <= start <= stop <= self.strings.count:
            raise IndexError(stop)
        with nogil:
            for index in range(start, stop):
                text = string_at(&self.strings.strings, index)
                self.hashes[index] = clps_hash(<const uint8_t*>text.text, text.size)

    def first(self, Py_ssize_t share, Py_ssize_t shares):
        """Return the first entry of a share (`share` of `shares`, one for each thread) that repeats another; -1 if none."""
        # The entries are divided into parts by the low bits of their hash; each share has the parts [low, low + width).
        # Equal entries are in the same part.  Each part is searched with a small hash table (open addressing) that
        # stays in the processor's cache.  Its slots, and `entries`, have the upper half of the hash in the upper 32
        # bits, and 1 plus the number of the entry in the lower ones.  Crafted entries may all collide: after too many
        # steps, a Python set, whose hashes are seeded, does the work.
        cdef Py_ssize_t parts = 1, part, index, count = self.strings.count, found = count, steps = 0
        cdef Py_ssize_t most = 64 * count + 1024  # steps; without collisions about one per entry
        cdef Py_ssize_t start = 0, largest = 0  # first of the part's entries; size of the largest part
        cdef uint64_t slots = 16, mask, at, one, slot, low, width
        cdef Slice text, other
        cdef uint64_t* entries = NULL  # those of the share, part by part
        cdef uint64_t* table = NULL
        cdef Py_ssize_t* ends = NULL  # by part: its size, then the index in `entries` of its next entry, then its end
        if not 0 <= share < shares:
            raise ValueError(share)
        while parts < shares or count // parts > REPEATED_PART:
            parts *= 2
        mask = <uint64_t>parts - 1  # of the bits of a hash that are the number of its part
        low = <uint64_t>(parts * share // shares)
        width = <uint64_t>(parts * (share + 1) // shares) - low
        if count >= 1 << 31:  # the numbers would not fit in the 32 bits of a slot
            return self._first(mask, low, width)
        ends = <Py_ssize_t*>calloc(width + 2, sizeof(Py_ssize_t))
        try:
            if ends == NULL:
                raise MemoryError
            with nogil:
                # Count the entries of each part.  Without branches: those of other shares count as part `width`.
                for index in range(count):
                    ends[min((self.hashes[index] & mask) - low, width) + 1] += 1
                for part in range(<Py_ssize_t>width):
                    largest = max(largest, ends[part + 1])
                    ends[part + 1] += ends[part]
            entries = <uint64_t*>exh_large((ends[width] + 1) * sizeof(uint64_t))
            while slots < <uint64_t>(largest + largest // 3):  # so that at most three quarters of them are used
                slots *= 2
            table = <uint64_t*>malloc(slots * sizeof(uint64_t))
            if entries == NULL or table == NULL:
                raise MemoryError
            with nogil:
                # Put the entries into their parts.
                for index in range(count):
                    one = self.hashes[index]
                    at = min((one & mask) - low, width)
                    entries[ends[at]] = one >> 32 << 32 | <uint64_t>(index + 1)
                    ends[at] += at < width  # those of other shares overwrite each other in one extra place
                for part in range(<Py_ssize_t>width):
                    memset(table, 0, slots * sizeof(uint64_t))
                    for index in range(start, ends[part]):
                        one = entries[index]
                        if <Py_ssize_t>(one & <uint64_t>0xFFFFFFFF) > found or steps > most:
                            break  # a repeated entry with a smaller number is known already
                        at = one >> 32 & (slots - 1)  # the upper half: the lower bits are the same in a part
                        while (slot := table[at]) != 0:
                            steps += 1
                            if slot >> 32 == one >> 32:
                                text = string_at(&self.strings.strings, (one & <uint64_t>0xFFFFFFFF) - 1)
                                other = string_at(&self.strings.strings, (slot & <uint64_t>0xFFFFFFFF) - 1)
                                if other.size == text.size and memcmp(other.text, text.text, text.size) == 0:
                                    found = <Py_ssize_t>(one & <uint64_t>0xFFFFFFFF) - 1
                                    break
                            at = (at + 1) & (slots - 1)
                        table[at] = one
                    start = ends[part]
        finally:
            free(entries)
            free(ends)
            free(table)
        if steps > most:
            return self._first(mask, low, width)
        return found if found < count else -1

    cdef Py_ssize_t _first(self, uint64_t mask, uint64_t low, uint64_t width) except -2:
        """Do the work of `first` with a Python set; -1 if no entry of the share is repeated.

        The share has the entries whose hash, cut to the bits of `mask`, is in `[low, low + width)`.
        """
        cdef Py_ssize_t index
        seen = set()
        for index in range(self.strings.count):
            if (self.hashes[index] & mask) - low < width:
                text = self.strings[index]
                if text in seen:
                    return index
                seen.add(text)
        return -1


cdef class ClpsLogTypes:
    """The log types of a dictionary, split at their placeholders; pykernel.py documents arguments and errors."""

    cdef ClpsStrings entries  # whose payload has the static text
    cdef TextPart* parts
    cdef Py_ssize_t* first  # by log type: index of its first part; one more: the end
    cdef Py_ssize_t count  # of log types
    cdef Out arena  # static text that differs from that in the payload
    cdef object room  # a buffer of the caller (such as a mapped file) that has `parts` and `arena`; None: malloc
    cdef bint in_memory  # not derived from `room`: the collector may clear that before `__dealloc__`
    cdef readonly bint core

    def __cinit__(self):
        self.entries = self.room = None
        self.in_memory = True
        self.parts = NULL
        self.first = NULL
        self.count = 0
        memset(&self.arena, 0, sizeof(Out))

    def __init__(self, ClpsStrings entries not None, bint core, bint escape, room=None):
        """Split log types at their placeholders.

        `core`: the dialect from 0.4.0 on; `escape`: static text as JSON content; `room`: a function that returns a
        buffer of a size, for large ones.
        """
        cdef Py_ssize_t index, i, placeholders = 0, size, copied = 0
        cdef bint differs
        cdef uint8_t[::1] given
        cdef Slice one
        # `first` to `last` are the placeholder bytes of the dialect.
        cdef uint8_t byte, first = CLP_S_DICTIONARY_ENTRIES_MARKS_INTEGER
        cdef uint8_t last = (
            CLP_S_DICTIONARY_ENTRIES_MARKS_DECIMAL if core else CLP_S_DICTIONARY_ENTRIES_CLASSIC_MARKS_DECIMAL)
        if self.first != NULL:
            raise TypeError("made already")
        self.core = core
        self.entries = entries
        # Measure: the number of placeholders, and the size of the text that may be copied.  Placeholders and the escape
        # of the dictionary are among the bytes that JSON escapes: eight bytes without one are plain text.
        for index in range(entries.count):
            one = string_at(&entries.strings, index)
            i = 0
            differs = False
            while i < one.size:
                if i + 8 <= one.size and not needs_escape(one.text + i, 8):
                    i += 8
                    continue
                byte = <uint8_t>one.text[i]
                if first <= byte <= last:
                    placeholders += 1
                elif ESCAPE[byte] and (escape or byte == CLP_S_DICTIONARY_ENTRIES_MARKS_ESCAPE):
                    differs = True
                    copied += 5  # an escape (\u00xx) adds at most 5 bytes
                i += 1
            if differs:
                copied += one.size
        copied += 6  # which `add_escaped` reserves even for the last byte
        self.first = <Py_ssize_t*>malloc((entries.count + 1) * sizeof(Py_ssize_t))
        size = (placeholders + entries.count) * sizeof(TextPart)  # each log type has one part more than placeholders
        if room is not None:
            self.in_memory = False
            given = self.room = room(size + copied)  # the parts, and then the arena
            if given.shape[0] < size + copied:
                raise ValueError("too little room")
            self.parts = <TextPart*>&given[0]
            self.arena.data = <char*>&given[0] + size
        else:
            self.parts = <TextPart*>malloc(size + 1)
            self.arena.data = <char*>malloc(copied)
        self.arena.capacity = copied  # it never grows: parts point into it
        if self.first == NULL or self.parts == NULL or self.arena.data == NULL:
            raise MemoryError
        self._split(first, last, escape)

    cdef void _split(self, uint8_t first, uint8_t last, bint escape) noexcept:
        """Set `parts` and `first`: split each log type at the placeholders `first` to `last`."""
        cdef Py_ssize_t index, i, used = 0
        cdef Py_ssize_t start  # of the static text that is neither part of a `TextPart` nor copied
        cdef Py_ssize_t copy  # where the copy of the current part starts in the arena; -1: none yet
        cdef Slice one
        cdef uint8_t byte
        for index in range(self.entries.count):
            one = string_at(&self.entries.strings, index)
            self.first[index] = used
            start = i = 0
            copy = -1
            while i < one.size:
                if i + 8 <= one.size and not needs_escape(one.text + i, 8):
                    i += 8
                    continue
                byte = <uint8_t>one.text[i]
                if first <= byte <= last:
                    self.parts[used] = self._part(one.text + start, i - start, copy, byte)
                    used += 1
                    start = i + 1
                    copy = -1
                elif byte == CLP_S_DICTIONARY_ENTRIES_MARKS_ESCAPE or (escape and ESCAPE[byte]):
                    if copy < 0:
                        copy = self.arena.size
                    put(&self.arena, one.text + start, i - start)
                    i += byte == CLP_S_DICTIONARY_ENTRIES_MARKS_ESCAPE  # the byte after it is text, whatever it is
                    if i < one.size:
                        if escape:
                            add_escaped(&self.arena, one.text + i, 1)
                        else:
                            put(&self.arena, one.text + i, 1)
                    start = min(i + 1, one.size)
                i += 1
            self.parts[used] = self._part(one.text + start, one.size - start, copy, 0)
            used += 1
        self.first[self.entries.count] = used
        self.count = self.entries.count

    cdef TextPart _part(self, const char* text, Py_ssize_t size, Py_ssize_t copy, uint8_t placeholder) noexcept:
        """The part that ends with this static text; all before it was copied to the arena, from `copy` on (-1: none)."""
        cdef TextPart part
        if copy >= 0:
            put(&self.arena, text, size)
            text, size = self.arena.data + copy, self.arena.size - copy
        part.text, part.tail = text, <uint64_t>size << 8 | placeholder
        return part

    def __dealloc__(self):
        free(self.first)
        if self.in_memory:
            free(self.parts)
            free(self.arena.data)

    def __len__(self):
        return self.count

    def holes(self, Py_ssize_t index):
        """Return the placeholder bytes of a log type."""
        if index < 0 or index >= self.count:
            raise IndexError(index)
        cdef TextPart* part = &self.parts[self.first[index]]
        found = bytearray()
        while part_placeholder(part):
            found.append(part_placeholder(part))
            part += 1
        return bytes(found)

    def literals(self, Py_ssize_t index):
        """Return the static text around the placeholders: one string more than placeholders."""
        if index < 0 or index >= self.count:
            raise IndexError(index)
        cdef TextPart* part = &self.parts[self.first[index]]
        found = []
        while True:
            found.append(PyBytes_New(part.text, part_size(part)))
            if not part_placeholder(part):
                return found
            part += 1
