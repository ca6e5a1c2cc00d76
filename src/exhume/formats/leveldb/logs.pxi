# LevelDB logs of single writes: fragments, batches and keys read in one call.  A single write is a batch with one put or
# deletion that is one fragment (a stored part of a record).  The public methods are documented in pykernel.py, which has
# the same class in Python.  An item is an entry of the log with its sequence number; see `table.Item`.

cdef extern from "Python.h":
    void PyObject_GC_UnTrack(void* object)

cdef inline object kept_apart(object found):
    """Exempt an object from garbage collection: there may be millions, and it is in no cycle of references."""
    PyObject_GC_UnTrack(<void*>found)
    return found


cdef struct LdbItem:    # of a log, decoded
    uint64_t inverted   # 2^64 - 1 minus sequence and type
    uint64_t at         # offset in the file of the fragment of a single write, or of the operation in its batch
    uint64_t rank
    uint64_t key_size
    uint64_t value_size
    int64_t other       # index in `LogItems.others`; -1: a single write, whose place is made on request
    chars key
    chars value

cdef struct LdbSorted:  # an item while it is sorted
    uint64_t head       # eight bytes of its key, after those that all keys share, as a number of the same order
    int64_t row         # that in `LogItems.rows`

cdef enum:
    LDB_FEW = 12        # items that are sorted by insertion
    LDB_ABOUT = 48      # bytes of an item besides its key and its value, where ranges are divided


cdef inline int64_t ldb_stop(int64_t at, int64_t key_size, int64_t value_size, bint is_put) noexcept nogil:
    """The end of the fragment at `at` of a single write: fragment header, batch header, type, sizes in shortest form,
    key and value.
    """
    cdef char[16] written
    cdef int64_t stop = at + LEVELDB_LOG_FRAGMENT_AT_FRAGMENT_TYPE + 1 + LEVELDB_WRITE_BATCH_END_NUM_OPERATIONS + 1
    stop += put_length(written, key_size) + key_size
    return stop + (put_length(written, value_size) + value_size if is_put else 0)


cdef inline int64_t ldb_log_rank(int64_t number, int64_t at) noexcept nogil:
    """The rank of an item, by the number of its file and its offset there; `log_rank` in wire.py has the reasons."""
    return (min(number, (<int64_t>1 << 30) - 1) << 33) + 2 * min(at // 4, (<int64_t>1 << 32) - 1) + 1


cdef class LogItems:
    """The items of a log in little memory; the class of this name in pykernel.py documents the methods."""

    # An item in `data` is `inverted`, the key and the value, each after its size, and twice the offset of a single write;
    # or twice the index in `others` plus 1, offset and rank.  All but the first are numbers as `put_length` writes them.
    cdef int64_t* rows      # offset in `data` of each item
    cdef Py_ssize_t count   # items
    cdef Py_ssize_t room    # items for which there is memory
    cdef Out data
    cdef object made        # the type of places
    cdef tuple place        # constant fields of places of single writes: file, number, checksum, referenced, operations
    cdef int64_t number     # of the file, as far as ranks have it
    cdef list others        # (place, value) of other items; the value is None if it is in `data`

    def __init__(self, type made, tuple place not None):  # `made` is `model.Place`
        if len(place) != 5:
            raise ValueError("not the five constant fields of a place")
        self.made, self.place, self.others, self.number = made, place, [], min(place[1], 1 << 30)

    def __dealloc__(self):
        free(self.rows)
        free(self.data.data)

    def __len__(self):
        return self.count

    cdef int reserve(self, Py_ssize_t rows, int64_t size) except -1:
        """Get memory for more rows and bytes, at least half as much again, as there may be many small ones."""
        cdef Py_ssize_t room
        cdef void* larger
        if self.count + rows > self.room:
            room = max(self.count + rows, self.room + self.room // 2)
            larger = realloc(self.rows, room * sizeof(int64_t))
            if larger == NULL:
                raise MemoryError
            self.rows, self.room = <int64_t*>larger, room
        if self.data.size + size > self.data.capacity:
            room = max(self.data.size + size, self.data.capacity + self.data.capacity // 2)
            larger = realloc(self.data.data, room)
            if larger == NULL:
                raise MemoryError
            self.data.data, self.data.capacity = <char*>larger, room
        return 0

    cdef int add(self, const LdbItem* item) except -1:
        """Add an item, with a copy of its key and its value."""
        cdef char* to
        self.reserve(1, sizeof(uint64_t) + 5 * 10 + item.key_size + item.value_size)  # a number has up to 10 bytes
        self.rows[self.count] = self.data.size
        self.count += 1
        to = self.data.data + self.data.size
        memcpy(to, &item.inverted, sizeof(uint64_t))
        to += sizeof(uint64_t)
        to += put_length(to, item.key_size)
        memcpy(to, item.key, item.key_size)
        to += item.key_size
        to += put_length(to, item.value_size)
        memcpy(to, item.value, item.value_size)
        to += item.value_size
        if item.other < 0:
            to += put_length(to, item.at << 1)
        else:
            to += put_length(to, item.other << 1 | 1)
            to += put_length(to, item.at)
            to += put_length(to, item.rank)
        self.data.size = to - self.data.data
        return 0

    cdef inline chars key(self, int64_t row, uint64_t* size) noexcept nogil:
        """The key of an item, and its size."""
        cdef chars data = <chars>self.data.data
        return data + read_leveldb_varint(data, row + sizeof(uint64_t), self.data.size, size)

    cdef inline uint64_t inverted(self, int64_t row) noexcept nogil:
        """The sequence and type of an item, as in `LdbItem`."""
        cdef uint64_t found
        memcpy(&found, self.data.data + row, sizeof(uint64_t))
        return found

    cdef LdbItem read(self, int64_t row) noexcept nogil:
        """Decode an item."""
        cdef LdbItem item
        cdef chars data = <chars>self.data.data
        cdef int64_t at, end = self.data.size
        cdef uint64_t which = 0
        item.inverted, item.key = self.inverted(row), self.key(row, &item.key_size)
        at = read_leveldb_varint(data, item.key - data + item.key_size, end, &item.value_size)
        item.value = data + at
        at = read_leveldb_varint(data, at + item.value_size, end, &which)
        if which & 1:
            item.other = which >> 1
            at = read_leveldb_varint(data, at, end, &item.at)
            read_leveldb_varint(data, at, end, &item.rank)
        else:
            item.other, item.at = -1, which >> 1
            item.rank = ldb_log_rank(self.number, item.at)
        return item

    cdef object item(self, int64_t row):
        """Make the `table.Item` of a row."""
        cdef LdbItem found = self.read(row)
        cdef object where, value = None, at = found.at
        if found.other >= 0:
            where, value = self.others[found.other]
        else:
            where, at = self.where(&found), <int>LEVELDB_WRITE_BATCH_END_NUM_OPERATIONS
        if value is None:
            value = PyBytes_New(<const char*>found.value, found.value_size)
        return kept_apart(
            (PyBytes_New(<const char*>found.key, found.key_size), found.inverted, found.rank, at, value, where)
        )

    cdef object where(self, const LdbItem* item):
        """Make the `Place` of a single write: its 12 fields, in their order."""
        cdef object where = kernel_alloc(<PyTypeObject*>self.made, 12)
        cdef uint64_t packed = ~item.inverted
        cdef bint is_put = (packed & 0xFF) == LEVELDB_WRITE_BATCH_OPERATION_TYPES_VALUE
        file, number, checksum, referenced, operations = self.place
        fill_row(where, 0, file)
        fill_row(where, 1, number)
        fill_row(where, 2, None)            # level
        fill_row(where, 3, item.at)         # offset
        fill_row(where, 4, ldb_stop(item.at, item.key_size, item.value_size, is_put))  # end
        fill_row(where, 5, checksum)
        fill_row(where, 6, referenced)
        fill_row(where, 7, None)            # codec
        fill_row(where, 8, packed >> 8)     # batch_sequence
        fill_row(where, 9, 1)               # batch_count
        fill_row(where, 10, 0)              # column_family
        fill_row(where, 11, operations)
        return kept_apart(where)

    def __getitem__(self, chosen):
        cdef Py_ssize_t at
        if isinstance(chosen, slice):
            return [self.item(self.rows[at]) for at in range(*chosen.indices(self.count))]
        at = chosen
        if at < 0:
            at += self.count
        if not 0 <= at < self.count:
            raise IndexError("no such item")
        return self.item(self.rows[at])

    def add_writes(self, bytes block not None, Py_ssize_t at, int64_t base):
        """Add the single writes of a block from the fragment at `at` on, up to the first other fragment.

        `base` is the offset of the block in the file.  Returns (how many, where they end, first and highest sequence
        number, a bit for each type).
        """
        cdef chars data = block
        cdef int64_t end = len(block), stop, begin, first = -1, highest = 0, checked
        cdef uint64_t sequence
        cdef uint32_t count
        cdef int kinds = 0, kind
        cdef Py_ssize_t before = self.count
        cdef LeveldbLogFragment fragment
        cdef LeveldbWriteBatchOperation operation
        cdef LdbItem item
        if at < 0 or base < 0:
            raise ValueError("an offset outside the block")
        item.other = -1
        while at < end:
            # A fragment that is a complete record,
            stop = read_leveldb_log_fragment(data, at, end, &fragment)
            if stop < 0 or fragment.fragment_type != LEVELDB_LOG_FRAGMENT_TYPES_FULL:
                break
            # with a batch of one put or deletion in the column family 0,
            begin = fragment.data_bytes_start
            if stop - begin <= LEVELDB_WRITE_BATCH_END_NUM_OPERATIONS:
                break
            memcpy(&sequence, data + begin + LEVELDB_WRITE_BATCH_AT_SEQUENCE, sizeof(sequence))
            memcpy(&count, data + begin + LEVELDB_WRITE_BATCH_AT_NUM_OPERATIONS, sizeof(count))
            if count != 1 or sequence >> 56:
                break
            begin += LEVELDB_WRITE_BATCH_END_NUM_OPERATIONS
            if read_leveldb_write_batch_operation(data, begin, stop, &operation) != stop:
                break
            kind = operation.operation_type
            if kind != LEVELDB_WRITE_BATCH_OPERATION_TYPES_VALUE and kind != LEVELDB_WRITE_BATCH_OPERATION_TYPES_DELETION:
                break
            item.key_size = operation.key_data_end - operation.key_data_start
            item.value_size = operation.value_data_end - operation.value_data_start
            # in the shortest form, from which its place can be made again, and intact.
            if ldb_stop(at, item.key_size, item.value_size, kind == LEVELDB_WRITE_BATCH_OPERATION_TYPES_VALUE) != stop:
                break
            checked = at + LEVELDB_LOG_FRAGMENT_AT_FRAGMENT_TYPE
            if masked_crc32c_of(data + checked, stop - checked) != fragment.checksum:
                break
            item.key, item.value = data + operation.key_data_start, data + operation.value_data_start
            item.inverted, item.at = ~(sequence << 8 | <uint64_t>kind), base + at
            self.add(&item)
            if first < 0:
                first = sequence
            highest = max(highest, <int64_t>sequence)
            kinds |= 1 << kind
            at = stop
        return self.count - before, at, first, highest, kinds

    def cuts(self, Py_ssize_t low, Py_ssize_t high, int64_t size):
        """Return where the items `[low, high)` can be divided into ranges that are read separately: (position, bytes
        since the position before), at least `size` bytes of memory apart.
        """
        cdef list out = []
        cdef int64_t held = 0
        cdef LdbItem item
        cdef Py_ssize_t at
        for at in range(max(low, 0), min(high, self.count)):
            if held >= size:
                out.append((at, held))
                held = 0
            item = self.read(self.rows[at])
            held += LDB_ABOUT + item.key_size + item.value_size
        return out

    def append(self, tuple item not None):
        """Add an item, with a place of its own."""
        cdef LdbItem added
        key_object, inverted, rank, offset, value_object, place = item
        cdef bytes key = key_object
        cdef bytes value = value_object if type(value_object) is bytes else b""
        cdef tuple other = (place, None if type(value_object) is bytes else value_object)
        cdef Py_ssize_t last = len(self.others) - 1
        if last < 0 or self.others[last] != other:  # operations of a batch share its place
            self.others.append(other)
            last += 1
        added.inverted, added.rank, added.at, added.other = inverted, rank, offset, last
        added.key, added.key_size, added.value, added.value_size = key, len(key), value, len(value)
        self.add(&added)

    def extend(self, LogItems other not None):
        """Add the items of another object, with their bytes."""
        cdef Py_ssize_t number
        cdef int64_t listed = len(self.others)
        cdef LdbItem item
        if other is self:
            raise ValueError("items are not added to themselves")
        self.reserve(other.count, other.data.size)
        for number in range(other.count):
            item = other.read(other.rows[number])
            if item.other >= 0:
                item.other += listed
            self.add(&item)
        self.others += other.others

    cdef int order(self, int64_t left, int64_t right) noexcept nogil:
        """Compare two rows as LevelDB orders versions (by key, newest first), then by rank and offset: below 0, 0, or
        above.
        """
        cdef uint64_t left_size = 0, right_size = 0
        cdef chars left_key = self.key(left, &left_size)
        cdef chars right_key = self.key(right, &right_size)
        cdef int found = compare(left_key, left_size, right_key, right_size)
        cdef LdbItem first, second
        if found:
            return found
        if self.inverted(left) != self.inverted(right):
            return -1 if self.inverted(left) < self.inverted(right) else 1
        first, second = self.read(left), self.read(right)
        if first.rank != second.rank:
            return -1 if first.rank < second.rank else 1
        return (first.at > second.at) - (first.at < second.at)

    cdef bint precedes(self, const LdbSorted* left, const LdbSorted* right) noexcept nogil:
        """Whether an item sorts before another; mostly the heads decide."""
        cdef int found
        if left.head != right.head:
            return left.head < right.head
        found = self.order(left.row, right.row)
        return found < 0 or (found == 0 and left.row < right.row)

    cdef void sift(self, LdbSorted* found, Py_ssize_t at, Py_ssize_t count) noexcept nogil:
        """Move the item at `at` of a heap down to where it belongs."""
        cdef Py_ssize_t child
        cdef LdbSorted moved = found[at]
        while 2 * at + 1 < count:
            child = 2 * at + 1
            if child + 1 < count and self.precedes(found + child, found + child + 1):
                child += 1
            if not self.precedes(&moved, found + child):
                break
            found[at] = found[child]
            at = child
        found[at] = moved

    cdef void arrange(self, LdbSorted* found, Py_ssize_t count, int depth) noexcept nogil:
        """Sort `count` items in place: quicksort, with heapsort for parts that are still large after `depth` divisions."""
        cdef Py_ssize_t low, high, middle
        cdef LdbSorted pivot, swap
        while count > LDB_FEW:
            if depth == 0:  # heapsort
                for low in range(count // 2 - 1, -1, -1):
                    self.sift(found, low, count)
                for high in range(count - 1, 0, -1):
                    swap, found[high] = found[high], found[0]
                    found[0] = swap
                    self.sift(found, 0, high)
                return
            # The pivot is the median of the first, the middle and the last item.
            depth -= 1
            low, middle, high = 0, count // 2, count - 1
            if self.precedes(found + middle, found + low):
                low, middle = middle, low
            if self.precedes(found + high, found + middle):
                middle = low if self.precedes(found + high, found + low) else high
            pivot = found[middle]
            # Swap pairs on the wrong sides, from both ends, until all up to `high` are not above the pivot.
            low, high = -1, count
            while True:
                low += 1
                while self.precedes(found + low, &pivot):
                    low += 1
                high -= 1
                while self.precedes(&pivot, found + high):
                    high -= 1
                if low >= high:
                    break
                swap, found[low] = found[low], found[high]
                found[high] = swap
            # Sort the smaller part by recursion, the larger one in this loop.
            high += 1  # less than `count`, for the pivot was not the largest
            if high < count - high:
                self.arrange(found, high, depth)
                found, count = found + high, count - high
            else:
                self.arrange(found + high, count - high, depth)
                count = high
        # Insertion sort of a small part: `swap` is the item to insert, `high` its place so far.
        for low in range(1, count):
            swap, high = found[low], low
            while high > 0 and self.precedes(&swap, found + high - 1):
                found[high] = found[high - 1]
                high -= 1
            found[high] = swap

    def sort(self):
        """Sort by key, newest first, rank and offset: by heads of eight bytes, so that few whole keys are compared."""
        cdef Py_ssize_t number = 1
        cdef int depth = 2
        cdef uint64_t shared = 0, size = 0, at, head
        cdef chars first
        cdef chars key
        cdef LdbSorted* found
        while number < self.count and self.order(self.rows[number - 1], self.rows[number]) <= 0:
            number += 1
        if number >= self.count:  # they are sorted already
            return
        # The items to be sorted take the place of the rows, so that both are never in memory.
        found = <LdbSorted*>realloc(self.rows, self.count * sizeof(LdbSorted))
        if found == NULL:
            raise MemoryError
        self.rows, self.room = <int64_t*>found, self.count
        with nogil:
            # How many bytes at their beginning all keys share; then the head of each, with zeros after the end of a key.
            first = self.key(self.rows[0], &shared)
            for number in range(self.count):
                key, at = self.key(self.rows[number], &size), 0
                shared = min(shared, size)
                while at < shared and key[at] == first[at]:
                    at += 1
                shared = at
            for number in range(self.count - 1, -1, -1):  # from the end, as these are larger than rows
                found[number].row = self.rows[number]
                key, head = self.key(found[number].row, &size), 0
                for at in range(shared, shared + 8):
                    head = head << 8
                    if at < size:
                        head |= key[at]
                found[number].head = head
            number = self.count
            while number:  # depth of twice the logarithm: quicksort that divides well stays below it
                number >>= 1
                depth += 2
            self.arrange(found, self.count, depth)
            for number in range(self.count):
                self.rows[number] = found[number].row
        found = <LdbSorted*>realloc(self.rows, self.count * sizeof(int64_t))
        if found != NULL:
            self.rows = <int64_t*>found
