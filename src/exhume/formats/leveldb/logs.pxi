# LevelDB logs of single writes: fragments, batches and keys read in one call.  A single write is a batch with one put or
# deletion that is one fragment (a stored part of a record).  The public methods are documented in pykernel.py, which has
# the same class in Python.  An item is an entry of the log with its sequence number; see `table.Item`.

cdef extern from "Python.h":
    void PyObject_GC_UnTrack(void* object)

cdef inline object kept_apart(object found):
    """Exempt an object from garbage collection: there may be millions, and it is in no cycle of references."""
    PyObject_GC_UnTrack(<void*>found)
    return found


cdef struct LdbItem:    # of a log
    int64_t data        # offset of the key in `LogItems.data`; its value follows
    uint64_t inverted   # 2^64 - 1 minus sequence and type
    int64_t at          # offset in the file of the fragment of a single write, or of the operation in its batch
    int64_t rank
    uint32_t key_size
    uint32_t value_size
    int32_t other       # index in `LogItems.others`; -1: a single write, whose place is made on request

cdef struct LdbSorted:  # an item while it is sorted
    uint64_t head       # eight bytes of its key, after those that all keys share, as a number of the same order
    int64_t number      # of the item in `LogItems.rows`

cdef enum:
    LDB_FEW = 12        # items that are sorted by insertion


cdef inline int64_t ldb_stop(int64_t at, int64_t key_size, int64_t value_size, bint is_put) noexcept nogil:
    """The end of the fragment at `at` of a single write: fragment header, batch header, type, sizes in shortest form,
    key and value.
    """
    cdef char[16] written
    cdef int64_t stop = at + LEVELDB_LOG_FRAGMENT_AT_FRAGMENT_TYPE + 1 + LEVELDB_WRITE_BATCH_END_NUM_OPERATIONS + 1
    stop += put_length(written, key_size) + key_size
    return stop + (put_length(written, value_size) + value_size if is_put else 0)


cdef class LogItems:  # see the class of this name in pykernel.py
    cdef LdbItem* rows
    cdef Py_ssize_t count   # items
    cdef Py_ssize_t room    # items for which there is memory
    cdef Out data           # bytes of all keys and values
    cdef object made        # the type of places
    cdef tuple place        # constant fields of places of single writes: file, number, checksum, referenced, operations
    cdef list others        # (place, value) of other items; the value is None if it is in `data`

    def __init__(self, type made, tuple place not None):  # `made` is `model.Place`
        if len(place) != 5:
            raise ValueError("not the five constant fields of a place")
        self.made, self.place, self.others = made, place, []

    def __dealloc__(self):
        free(self.rows)
        free(self.data.data)

    def __len__(self):
        return self.count

    cdef LdbItem* more(self, Py_ssize_t added) except NULL:
        """Space for more rows, which are not counted yet."""
        cdef LdbItem* rows
        cdef Py_ssize_t room
        if self.count + added > self.room:
            room = max(self.count + added, self.room + self.room // 2)
            rows = <LdbItem*>realloc(self.rows, (room + 1) * sizeof(LdbItem))  # never 0 bytes
            if rows == NULL:
                raise MemoryError
            self.rows, self.room = rows, room
        return self.rows + self.count

    cdef int hold(self, const void* bytes, int64_t size) except -1:
        """Append bytes to `data`, which grows by half, as there may be many small keys and values."""
        cdef Py_ssize_t room = self.data.capacity
        cdef char* data
        if self.data.size + size > room or room == 0:
            room = max(self.data.size + size, room + room // 2) + 16
            data = <char*>realloc(self.data.data, room)
            if data == NULL:
                raise MemoryError
            self.data.data, self.data.capacity = data, room
        memcpy(self.data.data + self.data.size, bytes, size)
        self.data.size += size
        return 0

    cdef object item(self, const LdbItem* row):
        """Make the `table.Item` of a row."""
        cdef chars key = <chars>self.data.data + row.data
        cdef object where, value = None, at = row.at
        if row.other >= 0:
            where, value = self.others[row.other]
        else:
            where, at = self.where(row), <int>LEVELDB_WRITE_BATCH_END_NUM_OPERATIONS
        if value is None:
            value = PyBytes_New(<const char*>key + row.key_size, row.value_size)
        return kept_apart((PyBytes_New(<const char*>key, row.key_size), row.inverted, row.rank, at, value, where))

    cdef object where(self, const LdbItem* row):
        """Make the `Place` of a single write: its 12 fields, in their order."""
        cdef object where = kernel_alloc(<PyTypeObject*>self.made, 12)
        cdef uint64_t packed = ~row.inverted
        cdef bint is_put = (packed & 0xFF) == LEVELDB_WRITE_BATCH_OPERATION_TYPES_VALUE
        fill_row(where, 0, self.place[0])   # file
        fill_row(where, 1, self.place[1])   # number
        fill_row(where, 2, None)            # level
        fill_row(where, 3, row.at)          # offset
        fill_row(where, 4, ldb_stop(row.at, row.key_size, row.value_size, is_put))  # end
        fill_row(where, 5, self.place[2])   # checksum
        fill_row(where, 6, self.place[3])   # referenced
        fill_row(where, 7, None)            # codec
        fill_row(where, 8, packed >> 8)     # batch_sequence
        fill_row(where, 9, 1)               # batch_count
        fill_row(where, 10, 0)              # column_family
        fill_row(where, 11, self.place[4])  # operations
        return kept_apart(where)

    def __getitem__(self, chosen):
        cdef Py_ssize_t at
        if isinstance(chosen, slice):
            return [self.item(self.rows + at) for at in range(*chosen.indices(self.count))]
        at = chosen
        if at < 0:
            at += self.count
        if not 0 <= at < self.count:
            raise IndexError("no such item")
        return self.item(self.rows + at)

    def add_writes(self, bytes block not None, Py_ssize_t at, int64_t base, int64_t rank):
        """Add the single writes of a block from the fragment at `at` on, up to the first other fragment.

        `base` is the offset of the block in the file, `rank` that of the first item.  Returns (how many, where they end,
        first and highest sequence number, a bit for each type).
        """
        cdef chars data = block
        cdef int64_t end = len(block), stop, begin, first = -1, highest = 0, checked, key_size, value_size
        cdef uint64_t sequence
        cdef uint32_t count
        cdef int kinds = 0, kind
        cdef Py_ssize_t before = self.count
        cdef LeveldbLogFragment fragment
        cdef LeveldbWriteBatchOperation operation
        cdef LdbItem* row
        if at < 0:
            raise ValueError("an offset outside the block")
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
            key_size = operation.key_data_end - operation.key_data_start
            value_size = operation.value_data_end - operation.value_data_start
            # in the shortest form, from which its place can be made again, and intact.
            if ldb_stop(at, key_size, value_size, kind == LEVELDB_WRITE_BATCH_OPERATION_TYPES_VALUE) != stop:
                break
            checked = at + LEVELDB_LOG_FRAGMENT_AT_FRAGMENT_TYPE
            if masked_crc32c_of(data + checked, stop - checked) != fragment.checksum:
                break
            row = self.more(1)
            # Key and value are kept back to back.
            row.data, row.inverted, row.at, row.rank = self.data.size, ~(sequence << 8 | <uint64_t>kind), base + at, rank
            row.key_size, row.value_size, row.other = <uint32_t>key_size, <uint32_t>value_size, -1
            self.hold(data + operation.key_data_start, key_size)
            self.hold(data + operation.value_data_start, value_size)
            self.count += 1
            if first < 0:
                first = sequence
            highest = max(highest, <int64_t>sequence)
            kinds |= 1 << kind
            rank += 2  # ranks of batches are odd, those of blocks of tables even
            at = stop
        return self.count - before, at, first, highest, kinds

    def cuts(self, Py_ssize_t low, Py_ssize_t high, int64_t size):
        """Return where the items `[low, high)` can be divided into ranges that are read separately: (position, bytes
        since the position before), at least `size` bytes of memory apart.
        """
        cdef list out = []
        cdef int64_t held = 0
        cdef Py_ssize_t at
        for at in range(max(low, 0), min(high, self.count)):
            if held >= size:
                out.append((at, held))
                held = 0
            held += sizeof(LdbItem) + self.rows[at].key_size + self.rows[at].value_size
        return out

    def append(self, tuple item not None):
        """Add an item, with a place of its own."""
        cdef LdbItem* row = self.more(1)
        cdef bytes key = item[0]
        cdef bytes value = item[4] if type(item[4]) is bytes else b""
        row.inverted, row.rank, row.at, row.data = item[1], item[2], item[3], self.data.size
        row.key_size, row.value_size, row.other = <uint32_t>len(key), <uint32_t>len(value), <int32_t>len(self.others)
        self.hold(<chars>key, len(key))
        self.hold(<chars>value, len(value))
        self.others.append((item[5], None if type(item[4]) is bytes else item[4]))
        self.count += 1

    def extend(self, LogItems other not None):
        """Add the items of another object, with their bytes."""
        cdef Py_ssize_t number
        cdef int64_t shift = self.data.size
        cdef int32_t listed = <int32_t>len(self.others)
        cdef LdbItem* row
        if other is self:
            raise ValueError("items are not added to themselves")
        if other.count == 0:
            return
        row = self.more(other.count)
        self.hold(other.data.data, other.data.size)
        for number in range(other.count):
            row[number] = other.rows[number]
            row[number].data += shift
            if row[number].other >= 0:
                row[number].other += listed
        self.others += other.others
        self.count += other.count

    cdef int order(self, const LdbItem* left, const LdbItem* right) noexcept nogil:
        """Compare as LevelDB orders versions (by key, newest first), then by rank and offset: below 0, 0, or above."""
        cdef chars data = <chars>self.data.data
        cdef int found = compare(data + left.data, left.key_size, data + right.data, right.key_size)
        if found:
            return found
        if left.inverted != right.inverted:
            return -1 if left.inverted < right.inverted else 1
        if left.rank != right.rank:
            return -1 if left.rank < right.rank else 1
        return (left.at > right.at) - (left.at < right.at)

    cdef bint precedes(self, const LdbSorted* left, const LdbSorted* right) noexcept nogil:
        """Whether an item sorts before another; mostly the heads decide."""
        cdef int found
        if left.head != right.head:
            return left.head < right.head
        found = self.order(self.rows + left.number, self.rows + right.number)
        return found < 0 or (found == 0 and left.number < right.number)

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
        cdef Py_ssize_t number = 1, at, following
        cdef int depth = 2
        cdef int64_t shared, byte
        cdef chars first
        cdef chars key
        cdef LdbSorted* found
        cdef LdbItem moved
        while number < self.count and self.order(self.rows + number - 1, self.rows + number) <= 0:
            number += 1
        if number >= self.count:  # they are sorted already
            return
        found = <LdbSorted*>malloc(self.count * sizeof(LdbSorted))
        if found == NULL:
            raise MemoryError
        with nogil:
            # How many bytes at their beginning all keys share; then the head of each, with zeros after the end of a key.
            first, shared = <chars>self.data.data + self.rows.data, self.rows.key_size
            for number in range(self.count):
                key, at = <chars>self.data.data + self.rows[number].data, 0
                shared = min(shared, <int64_t>self.rows[number].key_size)
                while at < shared and key[at] == first[at]:
                    at += 1
                shared = at
            for number in range(self.count):
                key = <chars>self.data.data + self.rows[number].data
                found[number].head, found[number].number = 0, number
                for byte in range(shared, shared + 8):
                    found[number].head = found[number].head << 8
                    if byte < <int64_t>self.rows[number].key_size:
                        found[number].head |= key[byte]
            number = self.count
            while number:  # depth of twice the logarithm: quicksort that divides well stays below it
                number >>= 1
                depth += 2
            self.arrange(found, self.count, depth)
            # Move the rows to their places, cycle by cycle of the permutation.
            for number in range(self.count):
                if found[number].number == number:
                    continue
                moved, at = self.rows[number], number
                while found[at].number != number:
                    following = found[at].number
                    self.rows[at] = self.rows[following]
                    found[at].number = at
                    at = following
                self.rows[at] = moved
                found[at].number = at
        free(found)
