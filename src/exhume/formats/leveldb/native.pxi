# The LevelDB part of the kernel: entries of blocks, blocks without an index, versions in columns, blocks of tables.  The
# pure-Python forms, with the documentation, are in `exhume.native.pykernel` (`block_entries`, `internal_entries`,
# `find_blocks`) and `exhume.formats.leveldb.pykernel` (all others).  `budget` is the most bytes of all keys of a block
# together (limit `structure_size`); `rank` is a number by which equal items sort, `place` an object that the items of a
# block share.  `packed` is sequence << 8 | type, `inverted` is 2^64 - 1 minus that.  `kinds` has a flag for each of the 256
# value types.

# Problems with the entries of a block, by the values of the constants of these names (without _) in pykernel.
cdef enum:
    BLOCK_FINE_ = 0
    BLOCK_LENGTHS_ = 1
    BLOCK_SHARED_ = 2
    BLOCK_SHORT_KEY_ = 3
    BLOCK_BOMB_ = 4


cdef struct Keys:  # of the entries of a block
    char* key       # that of the last entry; the buffer has as many bytes as all entries
    int64_t size    # its bytes
    uint64_t total  # bytes of all keys so far


cdef inline int next_entry(chars data, int64_t* at, int64_t end, uint64_t budget, Keys* keys,
                           LeveldbBlockEntry* entry) noexcept nogil:
    """Read the entry at `at`, and make its key from the one before; move `at` to the next entry.

    Returns `BLOCK_FINE_`, or the problem with the entry, and then `at` is unchanged.
    """
    cdef int64_t after = read_leveldb_block_entry(data, at[0], end, entry)
    cdef int64_t unshared
    if after < 0:
        return BLOCK_LENGTHS_
    if entry.len_shared > <uint64_t>keys.size:
        return BLOCK_SHARED_
    unshared = entry.key_suffix_end - entry.key_suffix_start
    keys.size = <int64_t>entry.len_shared + unshared
    keys.total += keys.size
    if keys.total > budget:
        return BLOCK_BOMB_
    memcpy(keys.key + entry.len_shared, data + entry.key_suffix_start, unshared)
    at[0] = after
    return BLOCK_FINE_


cdef inline bint split_key(Keys* keys, int64_t* user_size, uint64_t* inverted) noexcept nogil:
    """Size of the user's part of the last key, and 2^64 - 1 minus sequence and type; False when it is too short."""
    cdef LeveldbInternalKey parts
    if read_leveldb_internal_key(<chars>keys.key, 0, keys.size, &parts) < 0:
        return False
    user_size[0] = parts.user_key_end
    inverted[0] = ~(<uint64_t>parts.sequence << 8 | parts.value_type)
    return True


def block_entries(bytes block not None, Py_ssize_t end, uint64_t budget):
    """Return ((key, value, offset) of each entry, where reading stopped, the problem: BLOCK_...)."""
    cdef chars data = block
    cdef int64_t at = 0, start = 0
    cdef LeveldbBlockEntry entry
    cdef int problem = BLOCK_FINE_
    cdef bytearray scratch = bytearray(end if end > 0 else 1)
    cdef Keys keys
    cdef list out = []
    keys.key, keys.size, keys.total = scratch, 0, 0
    if end > len(block):
        raise ValueError("the entries end outside the block")
    while at < end:
        start = at
        problem = next_entry(data, &at, end, budget, &keys, &entry)
        if problem != BLOCK_FINE_:
            break
        out.append((
            PyBytes_New(keys.key, keys.size),
            PyBytes_New(<const char*>data + entry.value_data_start, entry.value_data_end - entry.value_data_start),
            start,
        ))
    return out, at, problem


def internal_entries(bytes block not None, Py_ssize_t end, uint64_t budget, rank, place):
    """Return (items, where reading stopped, the problem, the offset of the first entry out of order or -1).

    An item is (user key, inverted, rank, offset of the entry, value, place); `end` is where the entries end.
    """
    cdef chars data = block
    cdef int64_t at = 0, start = 0, user_size = 0, previous_size = -1, disorder = -1
    cdef uint64_t packed = 0, last = 0
    cdef LeveldbBlockEntry entry
    cdef int problem = BLOCK_FINE_, order
    cdef bytearray scratch = bytearray(end if end > 0 else 1)
    cdef Keys keys
    cdef bytes previous = b"", user
    cdef list out = []
    keys.key, keys.size, keys.total = scratch, 0, 0
    if end > len(block):
        raise ValueError("the entries end outside the block")
    while at < end:
        start = at
        problem = next_entry(data, &at, end, budget, &keys, &entry)
        if problem != BLOCK_FINE_:
            break
        if not split_key(&keys, &user_size, &packed):
            problem = BLOCK_SHORT_KEY_
            at = start
            break
        user = PyBytes_New(keys.key, user_size)
        if disorder < 0 and previous_size >= 0:
            order = compare(<chars>keys.key, user_size, <chars><char*>previous, previous_size)
            if order < 0 or (order == 0 and packed <= last):
                disorder = start
        out.append((
            user, packed, rank, start,
            PyBytes_New(<const char*>data + entry.value_data_start, entry.value_data_end - entry.value_data_start),
            place,
        ))
        previous, previous_size, last = user, user_size, packed
    return out, at, problem, disorder


cdef inline bint deletes(int kind) noexcept nogil:
    """Whether a value type is that of a deletion of one key."""
    return (kind == LEVELDB_INTERNAL_KEY_VALUE_TYPES_DELETION or kind == LEVELDB_INTERNAL_KEY_VALUE_TYPES_SINGLE_DELETION
            or kind == LEVELDB_INTERNAL_KEY_VALUE_TYPES_DELETION_WITH_TIMESTAMP)


cdef inline bint indirect(int kind) noexcept nogil:
    """Whether the value of such a version, which is not a deletion, is not its stored bytes: in a blob, or to be merged."""
    return kind != LEVELDB_INTERNAL_KEY_VALUE_TYPES_VALUE


cdef inline void fill_row(object row, Py_ssize_t at, object value):
    """Set an item of a new tuple, which nothing else refers to yet."""
    Py_INCREF(value)
    PyTuple_SET_ITEM(row, at, value)


cdef inline unsigned int unstep(unsigned int state) noexcept nogil:
    """The CRC-32C state before a zero bit that led to `state`."""
    if state >> 31:
        return ((state ^ <unsigned int>0x82F63B78u) << 1) | 1  # the polynomial, with its bits reversed
    return state << 1


def find_blocks(bytes data not None):
    """Return (start, end) of each range whose checksum, in the trailer after it, is right: blocks without an index."""
    # Step the CRC of all bytes so far back to the start of the data, where each start of a block has a state that does
    # not depend on what follows.  A block ends at `at` if a table of these states has the one that its stored checksum
    # demands, so that each end takes one look-up, however long the block is.  `carried` is the state of the bytes so far
    # for an initial state of 0.  The table is `keys` (states) and `starts` (offsets, -1: free), with open addressing.
    cdef chars raw = data
    cdef Py_ssize_t size = len(data), at, end = len(data) - LEVELDB_TABLE_BLOCK_TRAILER_SIZE + 1
    cdef LeveldbTableBlockTrailer trailer
    cdef unsigned int carried = 0, ones = ~(<unsigned int>0), unit = 1, wanted, demand, power, byte, state
    cdef size_t slots = 16, mask, slot
    cdef unsigned int* keys
    cdef int* starts
    cdef int bit
    cdef list out = []
    if size > 1 << 30:
        raise ValueError("more than 1 GiB at once")
    while slots < <size_t>size * 2:
        slots *= 2
    mask = slots - 1
    keys = <unsigned int*>malloc(slots * sizeof(unsigned int))
    starts = <int*>malloc(slots * sizeof(int))
    if keys == NULL or starts == NULL:
        free(keys)
        free(starts)
        raise MemoryError()
    memset(starts, 0xFF, slots * sizeof(int))
    for at in range(end):
        # Add the state of a block that starts here (the multiplier spreads states over the slots of the table).
        state = carried ^ ones
        slot = (state * <size_t>2654435761u) & mask
        while starts[slot] >= 0 and keys[slot] != state:
            slot = (slot + 1) & mask
        keys[slot] = state
        starts[slot] = <int>at
        # Add the byte: `unit` is what a bit contributes, `ones` the initial state.
        byte = raw[at]
        for bit in range(8):
            if (byte >> bit) & 1:
                carried ^= unit
            unit = unstep(unit)
            ones = unstep(ones)
        read_leveldb_table_block_trailer(raw, at, size, &trailer)
        # Search for the start of a block that would end here: unmask the stored CRC, and step it back likewise.
        if trailer.compression <= LEVELDB_TABLE_COMPRESSIONS_ZSTD:
            wanted = trailer.checksum - <unsigned int>0xA282EAD8u  # LevelDB's mask: a rotation, and this constant
            wanted = ~((wanted >> 17) | (wanted << 15))
            demand = carried
            power = unit
            while wanted:
                if wanted & 1:
                    demand ^= power
                wanted >>= 1
                power = unstep(power)
            slot = (demand * <size_t>2654435761u) & mask
            while starts[slot] >= 0 and keys[slot] != demand:
                slot = (slot + 1) & mask
            if starts[slot] >= 0:
                out.append((starts[slot], at))
    free(keys)
    free(starts)
    return out


from bisect import bisect_right
from operator import itemgetter

from libc.stdlib cimport qsort

# Versions of keys as columns.  The pure-Python one, with the documentation, is `exhume.formats.leveldb.pykernel`.

# Statuses, by their order in `model.Status`, and other constants.
cdef enum:
    LDB_LIVE = 0
    LDB_REPLACED = 1
    LDB_DELETED = 2
    LDB_TOMBSTONE = 3
    LDB_BEYOND = 4
    LDB_UNRESOLVED = 6
    LDB_OPERAND = 7
    LDB_STATUSES = 10
    LDB_CHAINED = 256   # added to the type of a merge operand that contributes to the value of its key
    LDB_ESCAPED = 4     # characters of an escaped byte

cdef enum:  # columns of `LeveldbRows.numbers`, by the numbers that its callers in Python use
    LDB_SEQUENCES, LDB_KINDS, LDB_STATUS, LDB_NEWER, LDB_OFFSETS, LDB_PLACES

cdef struct LdbRow:  # a version of a key
    int64_t key         # offset of the internal key in `LeveldbRows.keys`
    int64_t key_size    # bytes of the user key, which it starts with
    int64_t value       # offset of the value in `LeveldbRows.values`
    int64_t value_size
    int64_t at          # offset of the entry in its block, or of the operation in its batch
    uint64_t inverted   # 2^64 - 1 minus sequence and type, so that newer versions sort first
    int64_t newer       # the sequence number of the next newer version, -1 without one
    int32_t place       # number of the block or record among `places`
    int32_t status      # LDB_...

cdef struct LdbBlock:
    int64_t offset      # in the bytes that were read
    int64_t size        # stored bytes, without the trailer
    chars data          # its contents, if the caller decompressed them; else NULL
    chars separator     # its key in the index: no key of the block is above it, and no later key below
    int64_t separator_size
    int64_t length      # bytes of its contents
    int codec           # compression byte

cdef struct LdbRange:   # a range deletion: keys in `[first, stop)` below the sequence number are gone
    chars first
    int64_t first_size
    chars stop
    int64_t stop_size
    int64_t sequence

cdef struct LdbWalk:    # over consecutive blocks
    # user keys `[start, stop)` are added; NULL: no bound
    chars start
    int64_t start_size
    chars stop
    int64_t stop_size
    chars kinds         # a flag for each value type that is known
    # limits
    int64_t payload     # most bytes of a block's contents
    int64_t floor       # contents up to this size may have any stored size
    int64_t expansion   # most bytes of larger contents for each stored byte
    uint64_t structure  # most bytes of all keys of a block
    int64_t most        # most bytes of `keys`, and of `values`
    int64_t sequence    # of all entries; -1: each has its own
    # the entry before, and the block before
    LdbRow last
    int64_t last_length # bytes of the internal key of that entry
    bint any            # whether there was an entry
    chars separator     # NULL: there was no block
    int64_t separator_size


cdef inline uint64_t sequence_of(const LdbRow* row) noexcept nogil:
    """The sequence number of a version."""
    return ~row.inverted >> 8


cdef inline int kind_of(const LdbRow* row) noexcept nogil:
    """The value type of a version."""
    return <int>(~row.inverted & 0xFF)


cdef inline int64_t ldb_number(chars p) noexcept nogil:
    """A restart point, or how many there are: no schema element reaches the end of a block."""
    return p[0] | <int64_t>p[1] << 8 | <int64_t>p[2] << 16 | <int64_t>p[3] << 24


cdef inline bint ldb_inside(chars data, int64_t size, chars part, int64_t part_size) noexcept nogil:
    """Whether a value contains a part, for `LeveldbRows.choose` (`exhume search`)."""
    cdef chars hit = data
    cdef chars end = data + size
    if part_size == 0:
        return True
    while end - hit >= part_size:
        hit = <chars>memchr(hit, part[0], end - hit - part_size + 1)
        if hit == NULL:
            return False
        if memcmp(hit, part, part_size) == 0:
            return True
        hit += 1
    return False


cdef bytes ldb_bytes(const char* data, size_t size):
    """Bytes, copied without the interpreter's lock."""
    cdef bytes made = PyBytes_New(NULL, size)
    cdef char* to = made
    if size:  # an empty buffer is NULL
        with nogil:
            memcpy(to, data, size)
    return made


cdef class LeveldbRows:
    """Versions of keys from many blocks, as rows; the class of this name in pykernel.py documents the methods."""

    cdef LdbRow* rows
    cdef Py_ssize_t count   # rows
    cdef Py_ssize_t room    # rows for which there is memory
    cdef Out keys           # bytes of the keys of all rows
    cdef Out values         # bytes of their values
    cdef list runs          # numbers of the rows at which sorted runs begin
    cdef readonly list origins      # (BlockIndex, table, codecs) of blocks added together; (None, place, None) of an item
    cdef Py_ssize_t place_count     # blocks and places in `origins`, which `LdbRow.place` numbers
    cdef readonly int family        # number of the column family
    cdef readonly object lengths    # array of decompressed bytes of each block
    cdef public dict extras         # further facts on some rows, by key and sequence number

    def __init__(self, int family=0):
        self.extras = {}
        self.runs = []
        self.origins = []
        self.lengths = array("q")
        self.family = family
        if not (reserve(&self.keys, 1) and reserve(&self.values, 1)):  # nowhere is a key at NULL
            raise MemoryError

    def __dealloc__(self):
        free(self.rows)
        free(self.keys.data)
        free(self.values.data)

    def __len__(self):
        return self.count

    @property
    def places(self):
        """The place of each number in the rows: an object, or (table, handle, compression) of a block."""
        cdef list out = []
        for blocks, origin, codecs in self.origins:
            if blocks is None:
                out.append(origin)
            else:
                out += [(origin, handle, codec) for handle, codec in zip(blocks.handles, codecs)]
        return out

    cdef LdbRow* more(self) noexcept nogil:
        """Append a row, to be filled in; NULL when there is no memory."""
        cdef LdbRow* rows
        cdef Py_ssize_t room
        if self.count == self.room:
            room = 2 * self.room + 256
            rows = <LdbRow*>realloc(self.rows, room * sizeof(LdbRow))
            if rows == NULL:
                return NULL
            self.rows, self.room = rows, room
        self.count += 1
        return self.rows + self.count - 1

    cdef inline chars key(self, const LdbRow* row) noexcept nogil:
        """Where the user key of a row starts."""
        return <chars>self.keys.data + row.key

    cdef inline chars value(self, const LdbRow* row) noexcept nogil:
        """Where the value of a row starts."""
        return <chars>self.values.data + row.value

    cdef inline int order(self, const LdbRow* left, const LdbRow* right) noexcept nogil:
        """Compare as LevelDB orders versions: by user key, newest first."""
        cdef int found = compare(self.key(left), left.key_size, self.key(right), right.key_size)
        return found if found else (left.inverted > right.inverted) - (left.inverted < right.inverted)

    def add_blocks(self, const unsigned char[::1] stored not None, int64_t base, blocks, list contents, table,
                   bytes start, bytes stop, bytes kinds not None, tuple limits not None):
        """Add the entries of consecutive blocks with user keys in `[start, stop)`, as a sorted run.

        `stored` are the bytes of `table` from offset `base` on; or `contents` are (decompressed bytes, compression) of each
        block.  `limits` are those of `LdbWalk`, from `payload` to `sequence`.  Returns True; False if a block may have a
        finding, None if `contents` are needed.
        """
        cdef chars data = pointer(stored)
        cdef bytes separators = blocks.keys.data, content
        cdef const int64_t[::1] bounds = blocks.keys.bounds
        cdef const uint64_t[::1] offsets = blocks.handles.offsets, sizes = blocks.handles.sizes
        cdef Py_ssize_t total = sizes.shape[0], number, before = self.count
        cdef int64_t size = stored.shape[0], keys = self.keys.size, values = self.values.size, next_offset = 0
        cdef LdbWalk walk
        cdef LdbBlock* chosen
        cdef bytearray codecs = bytearray(total), lengths = bytearray(total * sizeof(int64_t))
        memset(&walk, 0, sizeof(LdbWalk))
        if len(kinds) != 256:
            raise ValueError("not a flag for each type")
        walk.kinds = kinds
        if start is not None:
            walk.start, walk.start_size = start, len(start)
        if stop is not None:
            walk.stop, walk.stop_size = stop, len(stop)
        walk.payload, walk.floor, walk.expansion, walk.structure, walk.most, walk.sequence = limits
        chosen = <LdbBlock*>malloc((total + 1) * sizeof(LdbBlock))
        if chosen == NULL:
            raise MemoryError
        try:
            # The place of each block, which must be where the one before it ends.
            for number in range(total):
                chosen[number].separator = <chars>separators + bounds[number]
                chosen[number].separator_size = bounds[number + 1] - bounds[number]
                if offsets[number] != <uint64_t>(base + next_offset) or sizes[number] > <uint64_t>(size - next_offset):
                    return False
                chosen[number].offset, chosen[number].size, chosen[number].data = next_offset, sizes[number], NULL
                next_offset += chosen[number].size + LEVELDB_TABLE_BLOCK_TRAILER_SIZE
                if contents is not None:
                    content, chosen[number].codec = contents[number]
                    chosen[number].data, chosen[number].offset, chosen[number].size = content, 0, len(content)
            with nogil:
                for number in range(total):
                    if not self.decode(data, size, chosen + number, &walk, <int32_t>(self.place_count + number)):
                        break
                else:
                    number = total
            # If one may have a finding, take back what was added.  None instead of False: a codec that is not known here,
            # so the caller has to decompress the blocks first.
            if number < total:
                self.count, self.keys.size, self.values.size = before, keys, values
                return None if contents is None and chosen[number].codec > LEVELDB_TABLE_COMPRESSIONS_SNAPPY else False
            for number in range(total):
                codecs[number] = <uint8_t>chosen[number].codec
                (<int64_t*><char*>lengths)[number] = chosen[number].length
        finally:
            free(chosen)
        self.lengths.frombytes(lengths)
        self.origins.append((blocks, table, codecs))
        self.place_count += total
        if self.count > before:
            self.runs.append(before)
        return True

    cdef bint decode(self, chars data, int64_t size, LdbBlock* block, LdbWalk* walk, int32_t place) noexcept nogil:
        """Check a block and add its entries within `[walk.start, walk.stop)`; False if there may be a finding on it.

        Then the caller takes back what was added, and reads the block in Python.
        """
        cdef LeveldbTableBlockTrailer trailer
        cdef LeveldbBlockEntry entry
        cdef LeveldbInternalKey parts
        cdef LdbRow row
        cdef LdbRow* kept
        cdef chars body
        cdef char* key
        cdef int64_t length, at = block.offset, end = block.offset + block.size, point = 0, points, tail, origin, before
        cdef uint64_t total = 0
        # Checksum, compression, and size of the contents; `block.data` are contents that the caller decompressed.
        origin = self.values.size
        if block.data != NULL:
            length = block.size
        else:
            block.codec = 0
            if read_leveldb_table_block_trailer(data, end, size, &trailer) < 0:
                return False
            if masked_crc32c_of(data + at, block.size + LEVELDB_TABLE_BLOCK_TRAILER_END_COMPRESSION) != trailer.checksum:
                return False
            block.codec = trailer.compression
            if block.codec > LEVELDB_TABLE_COMPRESSIONS_SNAPPY:
                return False
            length = snappy_size(data, &at, end) if block.codec == LEVELDB_TABLE_COMPRESSIONS_SNAPPY else block.size
            if length < 0 or length > walk.payload or length > max(walk.floor, block.size * walk.expansion):
                return False
        # The contents, which stay in memory as the values of the rows.
        if origin + length > walk.most or not reserve(&self.values, length + SNAPPY_SLACK):
            return False
        block.length = length
        body = <chars>self.values.data + origin
        if block.data != NULL:
            memcpy(self.values.data + origin, block.data, length)
        elif block.codec == LEVELDB_TABLE_COMPRESSIONS_NONE:
            memcpy(self.values.data + origin, data + at, length)
        elif not snappy_raw(data, at, end, self.values.data + origin, length):
            return False
        self.values.size += length
        # What follows the entries: restart points of four bytes, and how many they are.
        tail = length - <int64_t>sizeof(uint32_t)
        if tail < 0:
            return False
        points = ldb_number(body + tail)
        if points == 0 or points > tail // <int64_t>sizeof(uint32_t):
            return False
        tail -= points * <int64_t>sizeof(uint32_t)
        at = 0
        while at < tail:
            row.at = at
            row.place, row.status, row.newer = place, LDB_LIVE, -1
            at = read_leveldb_block_entry(body, at, tail, &entry)
            if at < 0:
                return False
            # The key: the first bytes of the entry before, of this block, and its own.  `before` and `length` are bytes of
            # these two keys.
            before = walk.last_length if row.at else 0
            if entry.len_shared > <uint64_t>before:
                return False
            length = <int64_t>entry.len_shared + entry.key_suffix_end - entry.key_suffix_start
            total += length
            if total > walk.structure or self.keys.size + length > walk.most or not reserve(&self.keys, length):
                return False
            key = self.keys.data + self.keys.size
            memcpy(key, self.keys.data + walk.last.key, entry.len_shared)
            memcpy(key + entry.len_shared, body + entry.key_suffix_start, entry.key_suffix_end - entry.key_suffix_start)
            if read_leveldb_internal_key(<chars>key, 0, length, &parts) < 0 or not walk.kinds[parts.value_type]:
                return False
            row.key, row.key_size = self.keys.size, parts.user_key_end
            row.inverted = ~(<uint64_t>(parts.sequence if walk.sequence < 0 else walk.sequence) << 8 | parts.value_type)
            row.value, row.value_size = origin + entry.value_data_start, entry.value_data_end - entry.value_data_start
            self.keys.size += length
            # The order of entries, also after the block before; the separator of that block must not be above the key.
            if walk.any and self.order(&walk.last, &row) >= 0:
                return False
            walk.last, walk.last_length, walk.any = row, length, True
            if (row.at == 0 and walk.separator != NULL
                    and compare(self.key(&row), row.key_size, walk.separator, walk.separator_size) < 0):
                return False
            # Restart points, which ascend: each must be where an entry starts.
            if point < points and ldb_number(body + tail + point * <int64_t>sizeof(uint32_t)) <= row.at:
                if ldb_number(body + tail + point * <int64_t>sizeof(uint32_t)) != row.at:
                    return False
                point += 1
            if walk.start != NULL and compare(self.key(&row), row.key_size, walk.start, walk.start_size) < 0:
                continue
            if walk.stop != NULL and compare(self.key(&row), row.key_size, walk.stop, walk.stop_size) >= 0:
                continue
            kept = self.more()
            if kept == NULL:
                return False
            kept[0] = row
        walk.separator, walk.separator_size = block.separator, block.separator_size
        # All restart points were met; an empty block (`at` is 0) has no last key to compare with the separator.
        return (point == points and at > 0
                and compare(self.key(&walk.last), walk.last.key_size, block.separator, block.separator_size) <= 0)

    def add_items(self, list items not None):
        """Add items (`table.Item`) as a sorted run."""
        cdef LdbRow* row
        cdef tuple item
        cdef bytes key, value
        last = self  # no item has this as its place
        if self.origins and self.origins[len(self.origins) - 1][0] is None:
            last = self.origins[len(self.origins) - 1][1]
        if items:
            self.runs.append(self.count)
        for item in items:
            key, inverted, _, offset, value, place = item  # `_`: its rank, which the order of runs replaces
            if place is not last:
                self.origins.append((None, place, None))
                self.place_count += 1
                last = place
            row = self.more()
            if row == NULL:
                raise MemoryError
            row.key, row.key_size, row.inverted, row.at = self.keys.size, len(key), inverted, offset
            row.value, row.value_size = self.values.size, len(value)
            row.place, row.status, row.newer = <int32_t>(self.place_count - 1), LDB_LIVE, -1
            if not (add(&self.keys, key, row.key_size) and add(&self.values, value, row.value_size)):
                self.count -= 1
                raise MemoryError

    cdef void merge(self, const Py_ssize_t* starts, Py_ssize_t first, Py_ssize_t stop, LdbRow* spare) noexcept nogil:
        """Merge the sorted runs `[first, stop)`, by halves; among equals, those of earlier runs come first.

        `starts` are the rows at which runs begin and the last one ends; `spare` has space for all rows.
        """
        cdef Py_ssize_t middle = (first + stop) // 2, left, right, end, at
        if stop - first < 2:
            return
        self.merge(starts, first, middle, spare)
        self.merge(starts, middle, stop, spare)
        # Take the smaller of the next rows of both halves into `spare`, then copy all back.
        left, right, end, at = starts[first], starts[middle], starts[stop], starts[first]
        while left < starts[middle] or right < end:
            if right == end or (left < starts[middle] and self.order(self.rows + left, self.rows + right) <= 0):
                spare[at] = self.rows[left]
                left += 1
            else:
                spare[at] = self.rows[right]
                right += 1
            at += 1
        memcpy(self.rows + starts[first], spare + starts[first], (end - starts[first]) * sizeof(LdbRow))

    def resolve(self, tuple state, uint64_t last_sequence, list ranges not None):
        """Merge the runs and set the status of each row; return the state for the rows that follow.

        `state` is (key, sequence number, type) of the newest visible version of the last key; `ranges` are range deletions
        as (first key, key they end before, sequence number), in order and without overlap.  Versions above
        `last_sequence` are beyond the state.
        """
        cdef Py_ssize_t total = len(self.runs), number, low, high, range_count = 0, at = 0
        cdef Py_ssize_t* starts = <Py_ssize_t*>malloc((total + 1) * sizeof(Py_ssize_t))
        cdef LdbRow* spare = <LdbRow*>malloc((self.count if total > 1 else 0) * sizeof(LdbRow) + 1)
        cdef LdbRange* wiping = NULL
        cdef LdbRow* last
        cdef bytes key, first, stop
        cdef chars newest = NULL
        cdef int64_t newest_size = 0, newer = -1
        cdef int newer_kind = -1
        try:
            if starts == NULL or spare == NULL:
                raise MemoryError
            for number in range(total):
                starts[number] = self.runs[number]
            starts[total] = self.count
            if total > 1:
                with nogil:
                    self.merge(starts, 0, total, spare)
            # Only range deletions that reach over these rows are needed: `[low, high)`.
            low, high = 0, len(ranges)
            if high and self.count:
                first = PyBytes_New(<const char*>self.key(self.rows), self.rows.key_size)
                last = self.rows + self.count - 1
                stop = PyBytes_New(<const char*>self.key(last), last.key_size)
                low, high = bisect_right(ranges, first, key=itemgetter(1)), bisect_right(ranges, stop, key=itemgetter(0))
            range_count = max(high - low, 0)
            wiping = <LdbRange*>malloc((range_count + 1) * sizeof(LdbRange))
            if wiping == NULL:
                raise MemoryError
            for number in range(range_count):
                first, stop = ranges[low + number][0], ranges[low + number][1]
                wiping[number].first, wiping[number].first_size = first, len(first)
                wiping[number].stop, wiping[number].stop_size = stop, len(stop)
                wiping[number].sequence = ranges[low + number][2]
            key, newer, newer_kind = state
            if key is not None:
                newest, newest_size = key, len(key)
            with nogil:
                for number in range(self.count):
                    self.judge(self.rows + number, &newest, &newest_size, &newer, &newer_kind, last_sequence,
                               wiping, range_count, &at)
            self.runs = [0] if self.count else []
            return None if newest == NULL else PyBytes_New(<const char*>newest, newest_size), newer, newer_kind
        finally:
            free(starts)
            free(spare)
            free(wiping)

    cdef inline void judge(self, LdbRow* row, chars* newest, int64_t* newest_size, int64_t* newer, int* newer_kind,
                           uint64_t last_sequence, const LdbRange* wiping, Py_ssize_t ranges, Py_ssize_t* at) noexcept nogil:
        """Set the status of a row; `newest`, `newer` and `newer_kind` are key, sequence number and type of the next newer
        visible version, and are those of the row afterwards.  `wiping` are the range deletions; those before `at` end before
        the row's key, as rows come in order.  `pykernel.judge` does the same.
        """
        cdef uint64_t sequence = sequence_of(row)
        cdef int kind = kind_of(row)
        cdef int64_t wiped = -1
        cdef chars key = self.key(row)
        if newest[0] == NULL or compare(key, row.key_size, newest[0], newest_size[0]) != 0:
            newest[0], newest_size[0], newer[0], newer_kind[0] = key, row.key_size, -1, -1
        row.newer = -1
        if sequence > last_sequence:
            row.status = LDB_BEYOND
            return
        if kind == LEVELDB_INTERNAL_KEY_VALUE_TYPES_RANGE_DELETION:
            row.status = LDB_TOMBSTONE
            return
        # `wiped`: the number of the newest range deletion that hides the row, -1 without one.
        while at[0] < ranges and compare(wiping[at[0]].stop, wiping[at[0]].stop_size, key, row.key_size) <= 0:
            at[0] += 1
        if (
            at[0] < ranges and wiping[at[0]].sequence > <int64_t>sequence
            and compare(wiping[at[0]].first, wiping[at[0]].first_size, key, row.key_size) <= 0
        ):
            wiped = wiping[at[0]].sequence
        row.newer = newer[0]
        if deletes(kind):
            row.status = LDB_TOMBSTONE
        # Replaced or deleted by the newer version, unless a range deletion came before that one, or with its number
        # (tables for ingestion).
        elif row.newer >= 0 and not (wiped >= 0 and wiped <= row.newer):
            row.status = LDB_REPLACED
            if newer_kind[0] & LDB_CHAINED:
                row.status = LDB_OPERAND
            elif deletes(newer_kind[0]):
                row.status = LDB_DELETED
        elif wiped >= 0:
            row.status, row.newer = LDB_DELETED, wiped
        else:
            row.status = LDB_UNRESOLVED if indirect(kind) else LDB_LIVE
        if kind == LEVELDB_INTERNAL_KEY_VALUE_TYPES_MERGE and row.status in (LDB_UNRESOLVED, LDB_OPERAND):
            kind |= LDB_CHAINED
        newer[0], newer_kind[0] = <int64_t>sequence, kind

    def chains(self):
        """Return (row, key, [(type, value)]) of each unresolved row, for the merge operator to compute its value.

        The pairs are its own value, then those of the older rows that contribute, which have the status of an operand
        (the base value too).
        """
        cdef Py_ssize_t number, last
        cdef LdbRow* row
        cdef int kind
        cdef list out = [], versions
        for number in range(self.count):
            if self.rows[number].status != LDB_UNRESOLVED:
                continue
            versions = []
            for last in range(number, self.count):
                row = self.rows + last
                kind = kind_of(row)
                if row.status == LDB_OPERAND or last == number:
                    versions.append((kind, PyBytes_New(<const char*>self.value(row), row.value_size)))
                # A range deletion between them has no value, and does not end the chain.
                elif kind != LEVELDB_INTERNAL_KEY_VALUE_TYPES_RANGE_DELETION:
                    break
            row = self.rows + number
            out.append((number, PyBytes_New(<const char*>self.key(row), row.key_size), versions))
        return out

    def settle(self, list values not None, bint keep):
        """Set the values of unresolved rows, given as ascending (row, value), None for one that stays unknown.

        `keep`: a merge operand stays as a row of its own.
        """
        cdef LdbRow* made
        cdef LdbRow* row
        cdef Py_ssize_t number = 0, to = 0, at, kept = 0  # next row to copy, rows made, row of a value, further rows
        cdef int64_t size
        if keep:
            for at, _ in values:
                if not 0 <= at < self.count:
                    raise ValueError("no such row")
                kept += kind_of(self.rows + at) == LEVELDB_INTERNAL_KEY_VALUE_TYPES_MERGE
        made = <LdbRow*>malloc((self.count + kept) * sizeof(LdbRow) + 1)
        if made == NULL:
            raise MemoryError
        try:
            for at, value in values:
                if not number <= at < self.count:
                    raise ValueError("the rows are not in order")
                memcpy(made + to, self.rows + number, (at - number) * sizeof(LdbRow))
                to, number = to + at - number, at + 1
                row = made + to
                row[0] = self.rows[at]
                if keep and kind_of(row) == LEVELDB_INTERNAL_KEY_VALUE_TYPES_MERGE:
                    row[1] = row[0]  # the operand stays, after the row with the value
                    row[1].status = LDB_OPERAND
                    to += 1
                row.value, row.value_size = self.values.size, 0
                if value is not None:
                    size = len(<bytes?>value)
                    if not add(&self.values, <bytes>value, size):
                        raise MemoryError
                    row.value_size, row.status = size, LDB_LIVE
                to += 1
            memcpy(made + to, self.rows + number, (self.count - number) * sizeof(LdbRow))
            to += self.count - number
            free(self.rows)
            self.rows, self.count, self.room = made, to, to
            made = NULL
        finally:
            free(made)
        self.runs = [0] if self.count else []

    def mark(self, list statuses not None):
        """Set (status, sequence number of the next newer version) of each row, as the caller determined them."""
        cdef Py_ssize_t number
        if len(statuses) != self.count:
            raise ValueError("not a status for each row")
        for number in range(self.count):
            status, newer = statuses[number]
            if not 0 <= status < LDB_STATUSES:
                raise ValueError("no such status")
            self.rows[number].status, self.rows[number].newer = status, newer

    def choose(self, bint live, bytes start, bytes stop, bytes part):
        """Leave only rows with keys in `[start, stop)` whose values contain `part`; `live`: only live ones."""
        cdef Py_ssize_t number, kept = 0
        cdef chars low = NULL
        cdef chars high = NULL
        cdef chars within = NULL
        cdef int64_t low_size = 0, high_size = 0, within_size = 0
        cdef LdbRow* row
        if start is not None:
            low, low_size = start, len(start)
        if stop is not None:
            high, high_size = stop, len(stop)
        if part is not None:
            within, within_size = part, len(part)
        with nogil:
            for number in range(self.count):
                row = self.rows + number
                if live and row.status != LDB_LIVE and row.status != LDB_UNRESOLVED:
                    continue
                if low != NULL and compare(self.key(row), row.key_size, low, low_size) < 0:
                    continue
                if high != NULL and compare(self.key(row), row.key_size, high, high_size) >= 0:
                    continue
                if within != NULL and not ldb_inside(self.value(row), row.value_size, within, within_size):
                    continue
                self.rows[kept] = row[0]
                kept += 1
            self.count = kept
        self.runs = [0] if kept else []

    def cut(self, bytes kinds not None):
        """Leave only the rows before the first whose type has no flag; return the place and type of that one."""
        cdef chars known = kinds
        cdef Py_ssize_t number
        if len(kinds) != 256:
            raise ValueError("not a flag for each type")
        for number in range(self.count):
            if not known[kind_of(self.rows + number)]:
                self.count = number
                return self.rows[number].place, kind_of(self.rows + number)
        return None

    def facts(self):
        """Return (first key, last key, highest sequence number), keys as (user key, inverted); None without rows."""
        cdef Py_ssize_t number
        cdef uint64_t highest = 0
        cdef LdbRow* last
        if self.count == 0:
            return None
        last = self.rows + self.count - 1
        with nogil:
            for number in range(self.count):
                highest = max(highest, sequence_of(self.rows + number))
        return (
            (PyBytes_New(<const char*>self.key(self.rows), self.rows.key_size), self.rows.inverted),
            (PyBytes_New(<const char*>self.key(last), last.key_size), last.inverted),
            highest,
        )

    def tally(self):
        """Return the number of rows for each status and type of value, and for each place."""
        cdef Py_ssize_t number, places = self.place_count
        cdef int64_t[10][256] kinds  # by status (LDB_STATUSES of them) and type
        cdef int64_t* at = <int64_t*>malloc((places + 1) * sizeof(int64_t))
        cdef LdbRow* row
        if at == NULL:
            raise MemoryError
        memset(kinds, 0, sizeof(kinds))
        memset(at, 0, (places + 1) * sizeof(int64_t))
        for number in range(self.count):
            row = self.rows + number
            kinds[row.status][kind_of(row)] += 1
            at[row.place] += 1
        try:
            return (
                {(status, kind): kinds[status][kind] for status in range(LDB_STATUSES) for kind in range(256)
                 if kinds[status][kind]},
                [at[number] for number in range(places)],
            )
        finally:
            free(at)

    def json(self):
        """Return a line of JSON for each row; the value of an unresolved one is null."""
        cdef Out out
        cdef Py_ssize_t number
        cdef LdbRow* row
        cdef bint fine = True
        memset(&out, 0, sizeof(Out))
        try:
            with nogil:
                for number in range(self.count):
                    row = self.rows + number
                    fine = (
                        add(&out, b'{"key":', 7) and json_bytes(&out, self.key(row), row.key_size)
                        and add(&out, b',"value":', 9) and (
                            add(&out, b"null", 4) if row.status == LDB_UNRESOLVED
                            else json_bytes(&out, self.value(row), row.value_size)
                        )
                        and add(&out, b"}\n", 2)
                    )
                    if not fine:
                        break
            if not fine:
                raise MemoryError
            return ldb_bytes(out.data, out.size)
        finally:
            free(out.data)

    def text(self, bint values, key_text):
        """Return a line of text for each row: key and, with `values`, a tab and the value, each as `key_text` returns it."""
        cdef Out out
        cdef Py_ssize_t number
        cdef LdbRow* row
        cdef bint fine = True
        memset(&out, 0, sizeof(Out))
        try:
            with nogil:
                for number in range(self.count):
                    row = self.rows + number
                    # ASCII here, other text by the Python function `key_text`.
                    if not ldb_text(&out, self.key(row), row.key_size):
                        with gil:
                            ldb_foreign(&out, self.key(row), row.key_size, key_text)
                    if values and row.status != LDB_UNRESOLVED:
                        fine = fine and add(&out, b"\t", 1)
                        if not ldb_text(&out, self.value(row), row.value_size):
                            with gil:
                                ldb_foreign(&out, self.value(row), row.value_size, key_text)
                    fine = fine and add(&out, b"\n", 1)
            if not fine:
                raise MemoryError
            return PyBytes_New(out.data, out.size)
        finally:
            free(out.data)

    def column(self, bint values):
        """Return (bytes of all keys or values, n + 1 bounds as int64), as Arrow keeps byte strings."""
        cdef Py_ssize_t number
        cdef int64_t total = 0, size
        cdef bytes ends = PyBytes_New(NULL, (self.count + 1) * sizeof(int64_t)), data
        cdef int64_t* end = <int64_t*><char*>ends
        cdef char* to
        cdef LdbRow* row
        with nogil:
            end[0] = 0
            for number in range(self.count):
                total += self.rows[number].value_size if values else self.rows[number].key_size
                end[number + 1] = total
        data = PyBytes_New(NULL, total)
        to = data
        with nogil:
            for number in range(self.count):
                row = self.rows + number
                size = end[number + 1] - end[number]
                memcpy(to + end[number], self.value(row) if values else self.key(row), size)
        return data, ends

    def pairs(self):
        """Return (key, value) of each row."""
        cdef Py_ssize_t number
        cdef LdbRow* row
        cdef list out = []
        for number in range(self.count):
            row = self.rows + number
            out.append((PyBytes_New(<const char*>self.key(row), row.key_size),
                        PyBytes_New(<const char*>self.value(row), row.value_size)))
        return out

    def numbers(self, int which):
        """Return a column of numbers of all rows, as int64; `which` is an `LDB_...` number of a column."""
        cdef Py_ssize_t number
        cdef bytes made = PyBytes_New(NULL, self.count * sizeof(int64_t))
        cdef int64_t* to = <int64_t*><char*>made
        cdef LdbRow* row
        if not 0 <= which <= LDB_PLACES:
            raise ValueError("no such column")
        with nogil:
            for number in range(self.count):
                row = self.rows + number
                to[number] = (
                    <int64_t>sequence_of(row) if which == LDB_SEQUENCES else kind_of(row) if which == LDB_KINDS
                    else row.status if which == LDB_STATUS else row.newer if which == LDB_NEWER
                    else row.at if which == LDB_OFFSETS else row.place
                )
        return made

    def versions(self, type row_type not None, tuple statuses not None, list places not None, operation):
        """Return a tuple of `row_type` (`model.Version`) for each row, with the objects for its status and place.

        `operation(place, offset)` returns the number of an operation in its batch.
        """
        cdef PyTypeObject* made = <PyTypeObject*>row_type
        cdef Py_ssize_t number
        cdef LdbRow* row
        cdef list out = []
        cdef bint in_log = False  # whether `last` is a place in a log, whose rows have a number of an operation
        if not issubclass(row_type, tuple):
            raise TypeError("not a type of tuples")
        last = self  # the place of the row before: no row has this one
        if len(places) != self.place_count or len(statuses) != LDB_STATUSES:
            raise ValueError("not a value for each place or status")
        for number in range(self.count):
            row = self.rows + number
            place = places[row.place]
            if place is not last:
                last, in_log = place, place.operations is not None
            version = kernel_alloc(made, 11)  # the fields of a `Version`, in its order
            fill_row(version, 0, PyBytes_New(<const char*>self.key(row), row.key_size))
            fill_row(version, 1, PyBytes_New(<const char*>self.value(row), row.value_size))
            fill_row(version, 2, sequence_of(row))
            fill_row(version, 3, kind_of(row))
            fill_row(version, 4, statuses[row.status])
            fill_row(version, 5, row.newer if row.newer >= 0 else None)
            fill_row(version, 6, row.at)
            fill_row(version, 7, operation(place, row.at) if in_log else None)
            fill_row(version, 8, place)
            fill_row(version, 9, self.family)
            fill_row(version, 10, None)
            out.append(version)
        return out


cdef inline int ldb_put_number(Out* out, uint64_t number, size_t size) except -1:
    """Append a number as `size` little-endian bytes."""
    cdef char byte
    while size:
        byte = <char>(number & 0xFF)
        ldb_put(out, &byte, 1)
        number, size = number >> 8, size - 1
    return 0


cdef bytes ldb_finish(Out* block, Out* points):
    """The bytes of a block whose entries and restart points are there; both are left empty."""
    ldb_put(block, points.data, points.size)
    ldb_put_number(block, points.size // sizeof(uint32_t), sizeof(uint32_t))
    made = PyBytes_New(block.data, block.size)
    block.size = points.size = 0
    return made


def table_blocks(list pairs not None, bytes before, uint64_t packed, Py_ssize_t size, Py_ssize_t interval, bint whole):
    """Return (blocks, used pairs, first pair that is not sorted or -1) for sorted pairs; see pykernel.py.

    `before` is the last user key before them, `packed` that of the first pair; blocks end after about `size` bytes, with
    `whole` also the last one; every `interval`-th entry of a block has its complete key.
    """
    cdef Out block, points, key, last  # entries, restart points, this internal key, the one before
    cdef bytes user, value, first = b""
    cdef Py_ssize_t number = 0, used = 0, shared, in_block = 0, most, pending = 0
    cdef char[16] length
    cdef list out = []
    memset(&block, 0, sizeof(Out))
    memset(&points, 0, sizeof(Out))
    memset(&key, 0, sizeof(Out))
    memset(&last, 0, sizeof(Out))
    if interval < 1:
        raise ValueError("no interval")
    try:
        for user, value in pairs:
            if before is not None and user <= before:  # not sorted
                return out, used, number
            before = user
            key.size = shared = 0
            ldb_put(&key, user, len(user))
            ldb_put_number(&key, packed, sizeof(uint64_t))
            if in_block % interval == 0:  # an entry with its complete key
                ldb_put_number(&points, block.size, sizeof(uint32_t))
            else:
                most = min(key.size, last.size)
                while shared < most and key.data[shared] == last.data[shared]:
                    shared += 1
            if in_block == 0:
                first = PyBytes_New(key.data, key.size)
            ldb_put(&block, length, put_length(length, shared))
            ldb_put(&block, length, put_length(length, key.size - shared))
            ldb_put(&block, length, put_length(length, len(value)))
            ldb_put(&block, key.data + shared, key.size - shared)
            ldb_put(&block, value, len(value))
            pending += key.size + len(value) + 3  # an estimate: three lengths of a byte each
            in_block, number, packed = in_block + 1, number + 1, packed + 256  # the next sequence number, the same type
            key, last = last, key  # reuse the older buffer
            if pending >= size or (whole and number == len(pairs)):
                out.append((ldb_finish(&block, &points), first, PyBytes_New(last.data, last.size)))
                used, in_block, pending = number, 0, 0
        return out, used, -1
    finally:
        free(block.data)
        free(points.data)
        free(key.data)
        free(last.data)


def block_handles(bytes block not None, Py_ssize_t end, uint64_t budget, bint internal):
    """Return the keys and handles of an index block as columns; None if it has to be read entry by entry.

    `end` is where the entries end; `internal`: their keys have sequence number and type, which are left out.
    """
    cdef chars data = block
    cdef int64_t at = 0, size
    cdef uint64_t inverted
    cdef LeveldbBlockEntry entry
    cdef LeveldbBlockHandle handle
    cdef bytearray scratch = bytearray(end if end > 0 else 1)
    cdef Keys keys
    cdef Out names, bounds, offsets, sizes
    cdef bint fine
    keys.key, keys.size, keys.total = scratch, 0, 0
    if end > len(block):
        raise ValueError("the entries end outside the block")
    memset(&names, 0, sizeof(Out))
    memset(&bounds, 0, sizeof(Out))
    memset(&offsets, 0, sizeof(Out))
    memset(&sizes, 0, sizeof(Out))
    try:
        with nogil:
            size = 0
            fine = add(&bounds, <const char*>&size, sizeof(int64_t))
            while fine and at < end:
                if next_entry(data, &at, end, budget, &keys, &entry) != BLOCK_FINE_:
                    break
                size = keys.size
                if internal and not split_key(&keys, &size, &inverted):
                    break
                if (read_leveldb_block_handle(data, entry.value_data_start, entry.value_data_end, &handle)
                        != entry.value_data_end):
                    break
                fine = add(&names, keys.key, size)
                size = names.size
                fine = (fine and add(&bounds, <const char*>&size, sizeof(int64_t))
                        and add(&offsets, <const char*>&handle.ofs_block, sizeof(uint64_t))
                        and add(&sizes, <const char*>&handle.len_block, sizeof(uint64_t)))
            else:
                end = -1  # all entries were read
        if not fine:
            raise MemoryError
        if end >= 0:
            return None
        return (PyBytes_New(names.data, names.size), PyBytes_New(bounds.data, bounds.size),
                PyBytes_New(offsets.data, offsets.size), PyBytes_New(sizes.data, sizes.size))
    finally:
        free(names.data)
        free(bounds.data)
        free(offsets.data)
        free(sizes.data)


def block_codecs(bytes window not None, int64_t begin, const uint64_t[::1] offsets not None,
                 const uint64_t[::1] sizes not None):
    """Return the compression byte of each block before the first whose trailer is outside of the window, which starts at
    offset `begin` of the table.
    """
    cdef chars data = window
    cdef int64_t size = len(window), at
    cdef Py_ssize_t number = 0, total = sizes.shape[0]
    cdef bytearray out = bytearray(total)
    cdef char* to = out
    cdef LeveldbTableBlockTrailer trailer
    with nogil:
        while number < total:
            at = <int64_t>(offsets[number] + sizes[number]) - begin
            if at < 0 or read_leveldb_table_block_trailer(data, at, size, &trailer) < 0:
                break
            to[number] = <char>trailer.compression
            number += 1
    return bytes(out[:number])


cdef bint ldb_fills(chars body, int64_t length) noexcept nogil:
    """Whether entries and restart points are the whole of a block of `length` bytes; keys and values are not examined."""
    cdef LeveldbBlockEntry entry
    cdef int64_t at = 0, tail = length - <int64_t>sizeof(uint32_t)
    if tail < 0 or ldb_number(body + tail) > tail // <int64_t>sizeof(uint32_t):
        return False
    tail -= ldb_number(body + tail) * <int64_t>sizeof(uint32_t)
    while 0 <= at < tail:
        at = read_leveldb_block_entry(body, at, tail, &entry)
    return at == tail


def filled_blocks(bytes stored not None, int64_t begin, const uint64_t[::1] offsets not None,
                  const uint64_t[::1] sizes not None):
    """Return how many blocks are completely in `stored`, the table from offset `begin` on; 0 if one has bytes that no
    entry covers.
    """
    cdef chars data = stored
    cdef int64_t size = len(stored), at, length
    cdef Py_ssize_t number = 0, total = sizes.shape[0]
    cdef LeveldbTableBlockTrailer trailer
    with nogil:
        while number < total:
            at, length = <int64_t>offsets[number] - begin, <int64_t>sizes[number]
            if at < 0 or length < 0 or at > size - length:
                break
            if read_leveldb_table_block_trailer(data, at + length, size, &trailer) < 0:
                break
            if trailer.compression == LEVELDB_TABLE_COMPRESSIONS_NONE and not ldb_fills(data + at, length):
                number = 0
                break
            number += 1
    return number


cdef int ldb_rank(const void* left, const void* right) noexcept nogil:
    """Comparison of two numbers for `qsort`."""
    cdef int64_t one = (<const int64_t*>left)[0], other = (<const int64_t*>right)[0]
    return (one > other) - (one < other)


def number_range(list columns not None):
    """Return (lowest, highest, count of different ones) of numbers in columns of int64; None without any."""
    cdef bytes column
    cdef int64_t* numbers
    cdef Py_ssize_t total = 0, at = 0, distinct = 0
    for column in columns:
        total += len(column)
    numbers = <int64_t*>malloc(total + 1)
    if numbers == NULL:
        raise MemoryError
    for column in columns:
        memcpy(<char*>numbers + at, <const char*>column, len(column))
        at += len(column)
    total //= <Py_ssize_t>sizeof(int64_t)
    with nogil:
        for at in range(1, total):
            if numbers[at - 1] > numbers[at]:
                qsort(numbers, total, sizeof(int64_t), ldb_rank)
                break
        for at in range(total):
            distinct += at == 0 or numbers[at] != numbers[at - 1]
    found = (numbers[0], numbers[total - 1], distinct) if total else None
    free(numbers)
    return found


cdef int ldb_put(Out* out, const char* text, Py_ssize_t size) except -1:
    """Append bytes.  Raises `MemoryError`."""
    if not add(out, text, size):
        raise MemoryError
    return 0


cdef int ldb_foreign(Out* out, chars data, int64_t size, key_text) except -1:
    """Append what `key_text` (see wire.py) makes of bytes."""
    text = (<str>key_text(PyBytes_New(<const char*>data, size))).encode()
    return ldb_put(out, <const char*><bytes>text, len(<bytes>text))


cdef bint ldb_text(Out* out, chars data, int64_t size) noexcept nogil:
    """Append what `key_text` makes of ASCII bytes; False, and nothing appended, for other bytes or without memory."""
    cdef int64_t at = 0, plain
    cdef uint8_t byte
    cdef char* to
    if not reserve(out, LDB_ESCAPED * size + 1):
        return False
    to = out.data + out.size
    while True:
        plain = at
        while at < size and 0x20 <= data[at] < 0x7F and data[at] != c"\\":
            at += 1
        memcpy(to, data + plain, at - plain)
        to += at - plain
        if at == size:
            break
        byte = data[at]
        if byte == c"\\":
            to[0] = to[1] = c"\\"
            to += 2
        elif byte < 0x80:
            to[0], to[1], to[2], to[3] = c"\\", c"x", HEX[byte >> 4], HEX[byte & 15]
            to += 4
        else:
            return False
        at += 1
    out.size = to - out.data
    return True
