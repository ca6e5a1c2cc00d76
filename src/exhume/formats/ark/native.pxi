# The Ark part of the kernel: indexes as columns, and the layout of messages.  `exhume.formats.ark.pykernel` is the
# pure-Python form: its functions of the same names document what these take and return.
#
# An index is bytes: an entry of fixed size for each message of a split file, with time, offset, size and a short
# identifier (one byte), which stands for a channel.  `ArkSplitIndexEntry` and its reader are generated from the
# specification.
#
# Arguments: `index`, the entries; `known` and `wanted`, a flag for each of the 256 short identifiers; `times`,
# `offsets`, `sizes`, a number for each message; `objects`, the short identifier of each; `first`, `stop`, a range of
# messages.

from array import array

from libc.stdint cimport int64_t, uint8_t, uint64_t

cdef const uint8_t* ark_flags(const unsigned char[::1] flags) except NULL:
    """The flags of the 256 short identifiers."""
    if flags.shape[0] != 256:
        raise ValueError("not 256 flags")
    return &flags[0]


cdef inline bint ark_bad(ArkSplitIndexEntry* entry, int64_t file_size, const uint8_t* known) noexcept nogil:
    """Whether an index entry is bad: outside the file, of an unknown identifier, or empty."""
    return (
        <int64_t>entry.ofs_data + <int64_t>entry.len_data > file_size
        or not known[entry.object_identifier]
        or entry.len_data == 0
    )


cdef int64_t ark_next(const unsigned char[::1] index, int64_t at, ArkSplitIndexEntry* entry) except -1:
    """Read the entry at `at`; return where the next one is."""
    cdef int64_t after = read_ark_split_index_entry(&index[0], at, index.shape[0], entry)
    if after < 0:
        raise ValueError("the last entry is not all there")
    return after


def ark_entries(const unsigned char[::1] index not None, int64_t file_size, const unsigned char[::1] known not None,
                const unsigned char[::1] wanted not None):
    """Return the wanted entries of an index as columns, each with a flag for a bad one; see pykernel.py.

    The first column, the numbers of the entries, is None if all are wanted.
    """
    cdef int64_t at = 0, end = index.shape[0]
    cdef Py_ssize_t count = end // ARK_SPLIT_INDEX_ENTRY_SIZE, number, taken = 0
    cdef ArkSplitIndexEntry entry
    cdef const uint8_t* is_known = ark_flags(known)
    cdef const uint8_t* is_wanted = ark_flags(wanted)
    cdef const unsigned char* start = &index[0] if end else NULL
    cdef bint bad
    if end % ARK_SPLIT_INDEX_ENTRY_SIZE:
        raise ValueError("the last entry is not all there")
    cdef list columns = [array(code, [0]) * count for code in "qQqq"]  # numbers, times, offsets, sizes
    cdef bytearray objects = bytearray(count), faults = bytearray(count)
    cdef int64_t[::1] numbers = columns[0], offsets = columns[2], sizes = columns[3]
    cdef uint64_t[::1] times = columns[1]
    cdef unsigned char[::1] objects_view = objects, faults_view = faults
    with nogil:
        for number in range(count):
            at = read_ark_split_index_entry(start, at, end, &entry)
            bad = ark_bad(&entry, file_size, is_known)
            if bad or is_wanted[entry.object_identifier]:
                numbers[taken] = number
                times[taken] = entry.timestamp_ns
                offsets[taken] = entry.ofs_data
                sizes[taken] = entry.len_data
                objects_view[taken] = entry.object_identifier
                faults_view[taken] = bad
                taken += 1
    if taken == count:
        return None, *columns[1:], bytes(objects), bytes(faults)
    return *[column[:taken] for column in columns], bytes(objects[:taken]), bytes(faults[:taken])


def ark_scan(const unsigned char[::1] index not None, uint64_t last):
    """Return whether the times of an index ascend from `last` on, and the lowest, the highest and the last."""
    cdef int64_t at = 0, end = index.shape[0]
    cdef ArkSplitIndexEntry entry
    cdef uint64_t low = <uint64_t>-1, high = 0
    cdef bint is_sorted = True
    if not end:
        raise ValueError("no entries")
    while at < end:
        at = ark_next(index, at, &entry)
        is_sorted &= entry.timestamp_ns >= last
        last = entry.timestamp_ns
        low = min(low, last)
        high = max(high, last)
    return is_sorted, low, high, last


def ark_statistics(const unsigned char[::1] index not None, uint64_t low, uint64_t high):
    """Return (short identifier, messages, bytes, first time, last time) of each, for times in [low, high]."""
    cdef int64_t at = 0, end = index.shape[0]
    cdef ArkSplitIndexEntry entry
    cdef uint64_t[256] counts, totals, lows, highs
    cdef int short
    memset(counts, 0, sizeof(counts))
    memset(totals, 0, sizeof(totals))
    memset(lows, 0xff, sizeof(lows))  # the highest number
    memset(highs, 0, sizeof(highs))
    while at < end:
        at = ark_next(index, at, &entry)
        if low <= entry.timestamp_ns <= high:
            short = entry.object_identifier
            counts[short] += 1
            totals[short] += entry.len_data
            lows[short] = min(lows[short], entry.timestamp_ns)
            highs[short] = max(highs[short], entry.timestamp_ns)
    return [(short, counts[short], totals[short], lows[short], highs[short]) for short in range(256) if counts[short]]


def ark_faults(const unsigned char[::1] index not None, int64_t file_size, const unsigned char[::1] known not None,
               int64_t header_size, int64_t index_start, int64_t index_stop):
    """Return the positions of faulty entries, a list for each kind of fault; see pykernel.py.

    The first `header_size` bytes of the file and `[index_start, index_stop)` are those that no message may use.
    """
    # `before` and `reach` are the offset of the previous message and the end of the messages so far; the overlaps are
    # None once an offset is lower than `before`.
    cdef int64_t at = 0, end = index.shape[0], number = -1, offset, stop, before = 0, reach = 0
    cdef uint64_t last = 0
    cdef ArkSplitIndexEntry entry
    cdef const uint8_t* is_known = ark_flags(known)
    cdef list bad = [], late = [], flagged = [], over_header = [], over_index = [], overlapping = []
    while at < end:
        at = ark_next(index, at, &entry)
        number += 1
        if entry.timestamp_ns < last:
            late.append(number)
        last = entry.timestamp_ns
        if entry.flags:
            flagged.append(number)
        if ark_bad(&entry, file_size, is_known):
            bad.append(number)
            continue
        offset = entry.ofs_data
        stop = offset + entry.len_data
        if offset < header_size:
            over_header.append(number)
        if index_start < index_stop and offset < index_stop and stop > index_start:
            over_index.append(number)
        if offset < before:
            overlapping = None
        if overlapping is not None and offset < reach:
            overlapping.append(number)
        before, reach = offset, max(reach, stop)
    return bad, late, flagged, over_header, over_index, overlapping


def ark_runs(const int64_t[:] offsets not None, const int64_t[:] sizes not None, int64_t gap, int window):
    """Join messages at most `gap` bytes apart, within one window of 2^`window` bytes, to runs to be read at once.

    Each run is (start, end, first message, one past the last).  None if the offsets are not in ascending order.
    `before` is the offset of the previous message, `reach` the end of all messages so far, `end` that of the run.
    """
    cdef Py_ssize_t number, count = offsets.shape[0], first = 0
    cdef int64_t offset, size, start = 0, end = 0, reach = 0, before = 0
    cdef list runs = []
    if sizes.shape[0] != count:
        raise ValueError("not as many sizes as offsets")
    for number in range(count):
        offset, size = offsets[number], sizes[number]
        if offset < before:
            return None
        if number == 0:
            start = offset
        elif offset - reach > gap or offset >> window != before >> window:
            runs.append((start, end, first, number))
            first, start, end = number, offset, 0
        before, end = offset, max(end, offset + size)
        reach = max(reach, end)
    if count:
        runs.append((start, end, first, count))
    return runs


def ark_total(const int64_t[:] sizes not None):
    """Return the sum of sizes."""
    cdef Py_ssize_t number
    cdef uint64_t total = 0
    for number in range(sizes.shape[0]):
        total += <uint64_t>sizes[number]
    return total


def ark_portions(const int64_t[:] sizes not None, int64_t most):
    """Return ranges of messages of at most `most` bytes together, or of a single larger message."""
    cdef Py_ssize_t number, first = 0, count = sizes.shape[0]
    cdef int64_t total = 0
    cdef list out = []
    for number in range(count):
        if number > first and sizes[number] > most - total:
            out.append((first, number))
            first, total = number, 0
        total += sizes[number]
    if first < count:
        out.append((first, count))
    return out


def ark_cut(bytes data not None, int64_t start, const int64_t[:] offsets not None, const int64_t[:] sizes not None,
            Py_ssize_t first, Py_ssize_t stop):
    """Return messages `[first, stop)`, cut out of the bytes of their run, which starts at `start` in the file."""
    cdef Py_ssize_t number
    cdef int64_t offset, size, length = len(data)
    cdef const char* text = PyBytes_AS_STRING(<PyObject*>data)
    cdef list out = []
    if not 0 <= first <= stop <= min(offsets.shape[0], sizes.shape[0]):
        raise ValueError("no such messages")
    for number in range(first, stop):
        offset, size = offsets[number], sizes[number]
        offset -= start
        if offset < 0 or size < 0 or offset > length - size:
            raise ValueError("a message outside its run")
        out.append(PyBytes_New(text + offset, size))
    return out


# Where a message is in memory, and its bytes.
cdef struct ArkPlace:
    const char* data
    int64_t size

cdef class ArkStored:
    """A sequence of messages in blobs, which makes an object of a message when it is requested."""

    cdef list blobs  # the bytes of the runs, which the places point into
    cdef ArkPlace* places
    cdef Py_ssize_t count

    def __dealloc__(self):
        free(self.places)

    def __len__(self):
        return self.count

    def __getitem__(self, Py_ssize_t number):
        if not 0 <= number < self.count:
            raise IndexError("no such message")
        return PyBytes_New(self.places[number].data, self.places[number].size)


def ark_stored(list blobs not None, list runs not None, const int64_t[:] offsets not None,
               const int64_t[:] sizes not None):
    """Return the messages of runs, whose bytes are `blobs`, without an object for each."""
    cdef ArkStored found = ArkStored()
    cdef Py_ssize_t number = 0, first, stop, which, count = offsets.shape[0]
    cdef int64_t start, end, offset, size, length
    cdef const char* text
    cdef bytes blob
    if len(blobs) != len(runs) or sizes.shape[0] != count:
        raise ValueError("not as many as there are runs and messages")
    found.blobs, found.count = blobs, count
    found.places = <ArkPlace*>malloc((count + 1) * sizeof(ArkPlace))
    if found.places == NULL:
        raise MemoryError
    for which in range(len(runs)):
        blob = blobs[which]
        start, end, first, stop = runs[which]
        text, length = PyBytes_AS_STRING(<PyObject*>blob), len(blob)
        if first != number or not first <= stop <= count:
            raise ValueError("no such messages")
        for number in range(first, stop):
            offset, size = offsets[number], sizes[number]
            offset -= start
            if offset < 0 or size < 0 or offset > length - size:
                raise ValueError("a message outside its run")
            found.places[number].data, found.places[number].size = text + offset, size
        number = stop
    if number != count:
        raise ValueError("no such messages")
    return found


# The next key of a list that is merged, and the number of the list.
cdef struct ArkHead:
    uint64_t key
    Py_ssize_t source


cdef inline bint ark_before(ArkHead* one, ArkHead* other) noexcept nogil:
    """Whether a head is before another in the merged order."""
    return one.key < other.key or (one.key == other.key and one.source < other.source)


cdef void ark_sink(ArkHead* heap, Py_ssize_t at, Py_ssize_t count) noexcept nogil:
    """Move the head at `at` down in a heap of `count` heads until none below it comes before it."""
    cdef ArkHead moved = heap[at]
    cdef Py_ssize_t child = 2 * at + 1
    while child < count:
        if child + 1 < count and ark_before(&heap[child + 1], &heap[child]):
            child += 1
        if not ark_before(&heap[child], &moved):
            break
        heap[at] = heap[child]
        at, child = child, 2 * child + 1
    heap[at] = moved


def ark_merge(list keys not None):
    """Merge sorted lists of times: return, for each key in the merged order, the number of its list."""
    cdef Py_ssize_t number, count = 0, source, at = 0
    cdef list out = []
    cdef const uint64_t[:] times
    cdef object joined = array("Q")
    cdef ArkHead* heap = <ArkHead*>malloc((len(keys) + 1) * sizeof(ArkHead))
    cdef Py_ssize_t* places = <Py_ssize_t*>malloc((len(keys) + 1) * 2 * sizeof(Py_ssize_t))
    cdef Py_ssize_t* ends = places + len(keys) + 1
    try:
        if heap == NULL or places == NULL:
            raise MemoryError
        # All lists in one array: list n is at [places[n], ends[n]), and its place moves on.
        for number in range(len(keys)):
            places[number] = len(joined)
            joined.extend(keys[number])
            ends[number] = len(joined)
        times = joined
        for number in range(len(keys)):
            if places[number] < ends[number]:
                heap[count].key, heap[count].source = times[places[number]], number
                count += 1
        # A heap of the lists' heads: the first is always the next; its list's next key takes its place.
        for at in range(count // 2 - 1, -1, -1):
            ark_sink(heap, at, count)
        while count:
            source = heap[0].source
            out.append(source)
            places[source] += 1
            if places[source] < ends[source]:
                heap[0].key = times[places[source]]
            else:
                count -= 1
                heap[0] = heap[count]
            ark_sink(heap, 0, count)
        return out
    finally:
        free(heap)
        free(places)


cdef class ArkMessages:
    """The iterator that `ark_messages` returns.

    It makes the tuples one at a time: a list of them all would keep the garbage collector busy.
    """

    cdef type made  # `messages.ArkMessage`, whose nine fields are filled in here
    cdef list names, stored, identifiers
    cdef const uint64_t[:] times
    cdef const int64_t[:] offsets, sizes
    cdef bytes objects
    cdef str split
    cdef Py_ssize_t at

    def __iter__(self):
        return self

    def __next__(self):
        cdef Py_ssize_t at = self.at
        cdef int short
        if at >= self.times.shape[0]:
            raise StopIteration
        self.at = at + 1
        short = <unsigned char>PyBytes_AS_STRING(<PyObject*>self.objects)[at]
        row = kernel_alloc(<PyTypeObject*>self.made, 9)  # a new tuple of that type, without its items
        fill_row(row, 0, self.times[at])            # time_ns
        fill_row(row, 1, self.names[short])         # channel
        fill_row(row, 2, self.stored[at])           # data
        fill_row(row, 3, None)                      # value
        fill_row(row, 4, False)                     # latched
        fill_row(row, 5, self.identifiers[short])   # identifier
        fill_row(row, 6, self.split)                # split
        fill_row(row, 7, self.offsets[at])          # offset
        fill_row(row, 8, self.sizes[at])            # stored_size
        return row


def ark_messages(type made not None, const uint64_t[:] times not None, bytes objects not None, list stored not None,
                 const int64_t[:] offsets not None, const int64_t[:] sizes not None, list names not None,
                 list identifiers not None, str split not None):
    """Return an iterator of messages that are neither decompressed nor decoded, as tuples of the type `made`."""
    cdef ArkMessages found = ArkMessages()
    if not issubclass(made, tuple):
        raise TypeError("not a type of tuples")
    if not times.shape[0] == len(objects) == len(stored) == offsets.shape[0] == sizes.shape[0]:
        raise ValueError("columns of different lengths")
    if len(names) != 256 or len(identifiers) != 256:
        raise ValueError("not 256 names")
    found.made, found.times, found.objects, found.stored = made, times, objects, stored
    found.offsets, found.sizes, found.names, found.identifiers = offsets, sizes, names, identifiers
    found.split = split
    return found
