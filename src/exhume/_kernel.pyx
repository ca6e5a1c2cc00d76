# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, embedsignature=True
"""The hot loops, compiled.  `exhume._pykernel` is the pure-Python twin and holds the documentation."""

from cpython.ref cimport PyObject
from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcmp, memcpy, memset

from exhume.kerneltypes import OVERLONG, OVERRUN, TRUNCATED, MalformedRecordsError, Scan

VERSION = 7

cdef extern from "Python.h":
    PyObject* PyBytes_FromStringAndSize(const char*, Py_ssize_t) except NULL
    int _PyBytes_Resize(PyObject**, Py_ssize_t) except -1
    char* PyBytes_AS_STRING(PyObject*) nogil
    object PyBytes_New "PyBytes_FromStringAndSize"(const char*, Py_ssize_t)
    void Py_DECREF(PyObject*)
    void PyTuple_SET_ITEM(object, Py_ssize_t, object)
    ctypedef struct PyTypeObject:
        object (*tp_alloc)(PyTypeObject*, Py_ssize_t)

include "_kernel_clps.pxi"
include "_kernel_search.pxi"
include "_kernel_clps_writer.pxi"
include "_kernel_files.pxi"
include "_kernel_caf.pxi"
include "_kernel_scan.pxi"

ctypedef const unsigned char* chars

cdef enum Fault:
    FINE, CUT, LONG, PAST

cdef struct Record:
    Py_ssize_t start
    Py_ssize_t stop
    uint64_t length


cdef inline Fault read_long(chars data, Py_ssize_t size, Py_ssize_t offset, Record* out) noexcept nogil:
    """A length of two bytes and more: sets `length` and `start`."""
    cdef uint64_t value = data[offset] & 0x7F
    cdef int shift = 7
    cdef unsigned char byte
    cdef Py_ssize_t position = offset + 1
    while position < size:
        byte = data[position]
        position += 1
        if byte == 0 or (shift == 63 and byte != 1):
            return LONG
        value |= <uint64_t>(byte & 0x7F) << shift
        if byte < 0x80:
            out.length = value
            out.start = position
            return FINE
        shift += 7
    return CUT


cdef inline Fault read_record(chars data, Py_ssize_t size, Py_ssize_t offset, Record* out) noexcept nogil:
    """The record whose length starts at `offset`, which is below `size`."""
    cdef Fault fault
    if data[offset] < 0x80:
        out.length = data[offset]
        out.start = offset + 1
    else:
        fault = read_long(data, size, offset, out)
        if fault != FINE:
            return fault
    if out.length > <uint64_t>(size - out.start):
        return PAST
    out.stop = out.start + <Py_ssize_t>out.length
    return FINE


cdef inline Record nothing() noexcept nogil:
    cdef Record record
    record.start = record.stop = 0
    record.length = 0
    return record


cdef fail(Fault fault, Py_ssize_t offset, uint64_t length):
    if fault == PAST:
        raise MalformedRecordsError(OVERRUN, offset, length)
    raise MalformedRecordsError(OVERLONG if fault == LONG else TRUNCATED, offset)


cdef inline int compare(chars left, Py_ssize_t left_size, chars right, Py_ssize_t right_size) noexcept nogil:
    cdef int order = memcmp(left, right, left_size if left_size < right_size else right_size)
    if order != 0:
        return order
    return (left_size > right_size) - (left_size < right_size)


cdef inline void copy(char* target, chars source, Py_ssize_t length, bint roomy) noexcept nogil:
    """memcpy; a short record is copied as 32 bytes at once where both sides have room (what follows it in the
    target is written later)."""
    if roomy and length <= 32:
        memcpy(target, source, 32)
    else:
        memcpy(target, source, length)


cdef inline chars pointer(const unsigned char[::1] view) noexcept:
    return &view[0] if view.shape[0] else NULL


cdef inline Py_ssize_t put_length(char* target, Py_ssize_t length) noexcept nogil:
    """Writes a length in its shortest form; returns the bytes written."""
    cdef Py_ssize_t written = 0
    while length >= 0x80:
        target[written] = <char>((length & 0x7F) | 0x80)
        length >>= 7
        written += 1
    target[written] = <char>length
    return written + 1


cdef inline Py_ssize_t prefix_size(Py_ssize_t length) noexcept nogil:
    cdef Py_ssize_t size = 1
    while length >= 0x80:
        length >>= 7
        size += 1
    return size


def split_records(const unsigned char[::1] payload not None):
    cdef chars data = pointer(payload)
    cdef Py_ssize_t size = payload.shape[0], offset = 0
    cdef Record record = nothing()
    cdef Fault fault
    cdef list out = []
    while offset < size:
        fault = read_record(data, size, offset, &record)
        if fault != FINE:
            fail(fault, offset, record.length)
        out.append(PyBytes_New(<const char*>data + record.start, record.stop - record.start))
        offset = record.stop
    return out


def scan_records(const unsigned char[::1] payload not None):
    cdef chars data = pointer(payload)
    cdef Py_ssize_t size = payload.shape[0], offset = 0, count = 0, unsorted = -1
    cdef Record record = nothing(), previous = nothing(), before = nothing(), here = nothing(), first = nothing()
    cdef Fault fault = FINE
    with nogil:
        while offset < size:
            fault = read_record(data, size, offset, &record)
            if fault != FINE:
                break
            if count == 0:
                first = record
            elif unsorted < 0 and compare(data + record.start, record.stop - record.start, data + previous.start,
                                          previous.stop - previous.start) < 0:
                unsorted, before, here = count, previous, record
            previous = record
            count += 1
            offset = record.stop
    if fault != FINE:
        fail(fault, offset, record.length)
    return Scan(count, (first.start, first.stop), (previous.start, previous.stop), unsorted,
                (before.start, before.stop), (here.start, here.stop))


def find_range(const unsigned char[::1] payload not None, bytes start, bytes stop):
    cdef chars data = pointer(payload)
    cdef Py_ssize_t size = payload.shape[0], offset = 0, low
    cdef const unsigned char* bound
    cdef Py_ssize_t bound_size
    cdef Record record = nothing()
    cdef Fault fault = FINE
    if start:
        bound = start
        bound_size = len(start)
        with nogil:
            while offset < size:
                fault = read_record(data, size, offset, &record)
                if fault != FINE or compare(data + record.start, record.stop - record.start, bound, bound_size) >= 0:
                    break
                offset = record.stop
        if fault != FINE:
            fail(fault, offset, record.length)
    low = offset
    if stop is None:
        return low, size
    bound = stop
    bound_size = len(stop)
    with nogil:
        while offset < size:
            fault = read_record(data, size, offset, &record)
            if fault != FINE or compare(data + record.start, record.stop - record.start, bound, bound_size) >= 0:
                break
            offset = record.stop
    if fault != FINE:
        fail(fault, offset, record.length)
    return low, offset


cdef inline Py_ssize_t put_terminated(char* target, Py_ssize_t written, Py_ssize_t room, chars data, Py_ssize_t size,
                                      Record* record, const unsigned char* end, Py_ssize_t end_size) noexcept nogil:
    """Writes a record and its terminator at `written`; returns the offset after them."""
    cdef Py_ssize_t length = record.stop - record.start
    copy(target + written, data + record.start, length, written + 32 <= room and record.start + 32 <= size)
    written += length
    if end_size == 1:
        target[written] = <char>end[0]
    else:
        memcpy(target + written, end, end_size)
    return written + end_size


def terminate_records(const unsigned char[::1] payload not None, bytes terminator not None):
    cdef chars data = pointer(payload)
    cdef const unsigned char* end = terminator
    cdef Py_ssize_t size = payload.shape[0], offset = 0, room = 0, written = 0, end_size = len(terminator)
    cdef Record record = nothing()
    cdef Fault fault = FINE
    cdef char* target
    cdef PyObject* out
    if end_size <= 1:
        room = size  # a length takes a byte at least, so one pass does
    else:
        with nogil:
            while offset < size:
                fault = read_record(data, size, offset, &record)
                if fault != FINE:
                    break
                room += record.stop - record.start + end_size
                offset = record.stop
        if fault != FINE:
            fail(fault, offset, record.length)
        offset = 0
    out = PyBytes_FromStringAndSize(NULL, room)
    with nogil:
        target = PyBytes_AS_STRING(out)
        while offset < size:
            fault = read_record(data, size, offset, &record)
            if fault != FINE:
                break
            written = put_terminated(target, written, room, data, size, &record, end, end_size)
            offset = record.stop
    if fault != FINE:
        Py_DECREF(out)
        fail(fault, offset, record.length)
    if written < room:
        _PyBytes_Resize(&out, written)
    result = <object>out
    Py_DECREF(out)
    return result


def frame_records(list records not None):
    cdef Py_ssize_t total = 0, written = 0, length
    cdef bytes record
    cdef PyObject* out
    cdef char* target
    for record in records:
        length = len(record)
        total += prefix_size(length) + length
    out = PyBytes_FromStringAndSize(NULL, total)
    target = PyBytes_AS_STRING(out)
    for record in records:
        length = len(record)
        written += put_length(target + written, length)
        memcpy(target + written, <const char*>record, length)
        written += length
    result = <object>out
    Py_DECREF(out)
    return result


def frame_terminated(const unsigned char[::1] text not None, bytes terminator not None):
    cdef chars data = pointer(text)
    cdef const unsigned char* end = terminator
    cdef Py_ssize_t size = text.shape[0], end_size = len(terminator), offset = 0, written = 0, length, room
    cdef chars hit
    cdef PyObject* out
    cdef char* target
    if end_size == 0:
        raise ValueError("the terminator is empty")
    # A record of 128 bytes is the worst case: its length takes one byte more than the shortest terminator.
    room = size + size // 128 + 16
    out = PyBytes_FromStringAndSize(NULL, room)
    with nogil:
        target = PyBytes_AS_STRING(out)
        while offset < size:
            hit = data + offset
            while True:
                hit = <chars>memchr(hit, end[0], size - (hit - data))
                if hit == NULL or end_size == 1:
                    break
                if size - (hit - data) < end_size:
                    hit = NULL
                    break
                if memcmp(hit, end, end_size) == 0:
                    break
                hit += 1
            if hit == NULL:
                break
            length = hit - data - offset
            written += put_length(target + written, length)
            copy(target + written, data + offset, length, offset + 32 <= size and written + 32 <= room)
            written += length
            offset += length + end_size
    _PyBytes_Resize(&out, written)
    result = <object>out
    Py_DECREF(out)
    return result, offset


def take_records(const unsigned char[::1] data not None, Py_ssize_t budget):
    cdef chars source = pointer(data)
    cdef Py_ssize_t size = data.shape[0], offset = 0
    cdef Record record = nothing()
    cdef Fault fault
    while offset < size:
        fault = read_record(source, size, offset, &record)
        if fault == LONG:
            fail(fault, offset, 0)
        if fault != FINE:
            break
        offset = record.stop
        if offset >= budget:
            break
    return offset


# LevelDB blocks

cdef inline Py_ssize_t lenient_varint(chars data, Py_ssize_t end, Py_ssize_t at, uint64_t* out) noexcept nogil:
    """A varint of at most 64 bits in any length; returns the offset after it, -1 when there is none."""
    cdef uint64_t value = 0
    cdef int shift = 0
    cdef unsigned char byte
    while at < end and shift <= 63:
        byte = data[at]
        at += 1
        if shift == 63 and byte > 1:
            return -1
        value |= <uint64_t>(byte & 0x7F) << shift
        if byte < 0x80:
            out[0] = value
            return at
        shift += 7
    return -1


cdef struct BlockEntry:
    uint64_t shared
    uint64_t unshared
    uint64_t size
    Py_ssize_t suffix


cdef inline int next_entry(chars data, Py_ssize_t end, Py_ssize_t at, Py_ssize_t key_size, BlockEntry* entry) noexcept nogil:
    """Reads an entry's three lengths and checks them."""
    cdef Py_ssize_t p
    if end - at >= 3 and data[at] < 0x80 and data[at + 1] < 0x80 and data[at + 2] < 0x80:
        entry.shared, entry.unshared, entry.size = data[at], data[at + 1], data[at + 2]
        p = at + 3
    else:
        p = lenient_varint(data, end, at, &entry.shared)
        if p >= 0:
            p = lenient_varint(data, end, p, &entry.unshared)
        if p >= 0:
            p = lenient_varint(data, end, p, &entry.size)
        if p < 0:
            return BLOCK_LENGTHS_
    if entry.unshared > <uint64_t>(end - p) or entry.size > <uint64_t>(end - p) - entry.unshared:
        return BLOCK_LENGTHS_
    if entry.shared > <uint64_t>key_size:
        return BLOCK_SHARED_
    entry.suffix = p
    return BLOCK_FINE_


cdef enum:
    BLOCK_FINE_ = 0
    BLOCK_LENGTHS_ = 1
    BLOCK_SHARED_ = 2
    BLOCK_SHORT_KEY_ = 3
    BLOCK_BOMB_ = 4


def block_entries(bytes block not None, Py_ssize_t end, uint64_t budget):
    cdef chars data = block
    cdef Py_ssize_t at = 0, key_size = 0
    cdef uint64_t total = 0
    cdef BlockEntry entry
    cdef int problem = BLOCK_FINE_
    cdef bytearray scratch = bytearray(end if end > 0 else 1)
    cdef char* key = scratch
    cdef list out = []
    if end > len(block):
        raise ValueError("the entries end outside the block")
    while at < end:
        problem = next_entry(data, end, at, key_size, &entry)
        if problem != BLOCK_FINE_:
            break
        total += entry.shared + entry.unshared
        if total > budget:
            problem = BLOCK_BOMB_
            break
        key_size = <Py_ssize_t>(entry.shared + entry.unshared)
        memcpy(key + entry.shared, data + entry.suffix, entry.unshared)
        out.append((
            PyBytes_New(key, key_size),
            PyBytes_New(<const char*>data + entry.suffix + entry.unshared, <Py_ssize_t>entry.size),
            at,
        ))
        at = entry.suffix + <Py_ssize_t>(entry.unshared + entry.size)
    return out, at, problem


def internal_entries(bytes block not None, Py_ssize_t end, uint64_t budget, rank, place):
    cdef chars data = block
    cdef Py_ssize_t at = 0, key_size = 0, user_size, previous_size = -1, disorder = -1
    cdef uint64_t total = 0, packed, last = 0
    cdef BlockEntry entry
    cdef int problem = BLOCK_FINE_, order
    cdef bytearray scratch = bytearray(end if end > 0 else 1)
    cdef char* key = scratch
    cdef chars here
    cdef bytes previous = b"", user
    cdef list out = []
    if end > len(block):
        raise ValueError("the entries end outside the block")
    while at < end:
        problem = next_entry(data, end, at, key_size, &entry)
        if problem != BLOCK_FINE_:
            break
        total += entry.shared + entry.unshared
        if total > budget:
            problem = BLOCK_BOMB_
            break
        key_size = <Py_ssize_t>(entry.shared + entry.unshared)
        memcpy(key + entry.shared, data + entry.suffix, entry.unshared)
        if key_size < 8:
            problem = BLOCK_SHORT_KEY_
            break
        user_size = key_size - 8
        here = <chars>key + user_size
        packed = (
            <uint64_t>here[0] | <uint64_t>here[1] << 8 | <uint64_t>here[2] << 16 | <uint64_t>here[3] << 24
            | <uint64_t>here[4] << 32 | <uint64_t>here[5] << 40 | <uint64_t>here[6] << 48 | <uint64_t>here[7] << 56
        )
        packed = ~packed
        user = PyBytes_New(key, user_size)
        if disorder < 0 and previous_size >= 0:
            order = compare(<chars>key, user_size, <chars><char*>previous, previous_size)
            if order < 0 or (order == 0 and packed <= last):
                disorder = at
        out.append((
            user, packed, rank, at,
            PyBytes_New(<const char*>data + entry.suffix + entry.unshared, <Py_ssize_t>entry.size), place,
        ))
        previous, previous_size, last = user, user_size, packed
        at = entry.suffix + <Py_ssize_t>(entry.unshared + entry.size)
    return out, at, problem, disorder


def entries_order(bytes block not None, Py_ssize_t end, uint64_t budget):
    cdef chars data = block
    cdef Py_ssize_t at = 0, key_size = 0, previous_size = -1, first_size = -1
    cdef uint64_t total = 0, packed = 0, last = 0, first_packed = 0
    cdef BlockEntry entry
    cdef bint fine = True
    cdef bytearray scratch = bytearray(2 * end if end > 0 else 1)
    cdef char* key = scratch
    cdef char* previous = key + (end if end > 0 else 0)
    cdef chars here
    cdef bytes first = b""
    cdef int order
    if end > len(block):
        raise ValueError("the entries end outside the block")
    while at < end:
        if next_entry(data, end, at, key_size, &entry) != BLOCK_FINE_:
            fine = False
            break
        total += entry.shared + entry.unshared
        if total > budget:
            fine = False
            break
        key_size = <Py_ssize_t>(entry.shared + entry.unshared)
        memcpy(key + entry.shared, data + entry.suffix, entry.unshared)
        if key_size < 8:
            fine = False
            break
        here = <chars>key + key_size - 8
        packed = ~(
            <uint64_t>here[0] | <uint64_t>here[1] << 8 | <uint64_t>here[2] << 16 | <uint64_t>here[3] << 24
            | <uint64_t>here[4] << 32 | <uint64_t>here[5] << 40 | <uint64_t>here[6] << 48 | <uint64_t>here[7] << 56
        )
        if previous_size < 0:
            first, first_packed = PyBytes_New(key, key_size - 8), packed
        else:
            order = compare(<chars>key, key_size - 8, <chars>previous, previous_size)
            if order < 0 or (order == 0 and packed <= last):
                fine = False
        previous_size = key_size - 8
        memcpy(previous, key, previous_size)
        last = packed
        at = entry.suffix + <Py_ssize_t>(entry.unshared + entry.size)
    if previous_size < 0:
        return None, None, fine
    return (first, first_packed), (PyBytes_New(previous, previous_size), last), fine


cdef inline void fill_row(object row, Py_ssize_t at, object value):
    """Sets an item of a tuple that nobody else has seen."""
    Py_INCREF(value)
    PyTuple_SET_ITEM(row, at, value)


def resolve_items(
    list items not None, tuple state not None, uint64_t last_sequence, family, type row_type not None,
    tuple statuses not None, operation,
):
    cdef bytes key = state[0], found
    cdef long long newer = state[1]
    cdef int newer_kind = state[2], kind
    cdef uint64_t packed, sequence
    cdef bint visible, gone, in_log = False
    cdef tuple item
    cdef list out = []
    cdef PyTypeObject* made = <PyTypeObject*>row_type
    if not issubclass(row_type, tuple):
        raise TypeError("not a type of tuples")
    last_place = None
    live, replaced, deleted, tombstone, beyond = statuses
    for item in items:
        packed = ~(<uint64_t>item[1])
        sequence = packed >> 8
        kind = <int>(packed & 0xFF)
        found = <bytes>item[0]
        if key is None or found != key:
            key, newer, newer_kind = found, -1, -1
        visible = sequence <= last_sequence
        gone = kind == 0 or kind == 7 or kind == 20
        by = newer if newer >= 0 and visible and kind != 15 else None
        if not visible:
            status = beyond
        elif gone or kind == 15:
            status = tombstone
        elif by is None:
            status = live
        else:
            status = deleted if newer_kind == 0 or newer_kind == 7 or newer_kind == 20 else replaced
        place = item[5]
        if place is not last_place:
            last_place, in_log = place, place.operations is not None
        number = operation(item) if in_log else None
        row = made.tp_alloc(made, 10)  # as tuple.__new__ does, without a tuple to copy from
        fill_row(row, 0, found)
        fill_row(row, 1, item[4])
        fill_row(row, 2, sequence)
        fill_row(row, 3, kind)
        fill_row(row, 4, status)
        fill_row(row, 5, by)
        fill_row(row, 6, item[3])
        fill_row(row, 7, number)
        fill_row(row, 8, place)
        fill_row(row, 9, family)
        out.append(row)
        if visible and kind != 15:
            newer, newer_kind = <long long>sequence, kind
    return out, (key, newer, newer_kind)


cdef inline unsigned int unstep(unsigned int state) noexcept nogil:
    """A CRC-32C state one bit earlier."""
    if state >> 31:
        return ((state ^ <unsigned int>2197175160u) << 1) | 1
    return state << 1


def find_blocks(bytes data not None):
    cdef chars raw = data
    cdef Py_ssize_t size = len(data), at, end = len(data) - 4
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
        state = carried ^ ones
        slot = (state * <size_t>2654435761u) & mask
        while starts[slot] >= 0 and keys[slot] != state:
            slot = (slot + 1) & mask
        keys[slot] = state
        starts[slot] = <int>at
        byte = raw[at]
        for bit in range(8):
            if (byte >> bit) & 1:
                carried ^= unit
            unit = unstep(unit)
            ones = unstep(ones)
        if byte <= 7:
            wanted = (
                <unsigned int>raw[at + 1] | <unsigned int>raw[at + 2] << 8
                | <unsigned int>raw[at + 3] << 16 | <unsigned int>raw[at + 4] << 24
            ) - <unsigned int>2726488792u
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
