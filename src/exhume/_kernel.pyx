# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, embedsignature=True
"""The hot loops, compiled.  `exhume._pykernel` is the pure-Python twin and holds the documentation."""

from cpython.ref cimport PyObject
from libc.stdint cimport uint64_t
from libc.string cimport memchr, memcmp, memcpy

from exhume._pykernel import OVERLONG, OVERRUN, TRUNCATED, MalformedRecordsError, Scan

cdef extern from "Python.h":
    PyObject* PyBytes_FromStringAndSize(const char*, Py_ssize_t) except NULL
    int _PyBytes_Resize(PyObject**, Py_ssize_t) except -1
    char* PyBytes_AS_STRING(PyObject*) nogil
    object PyBytes_New "PyBytes_FromStringAndSize"(const char*, Py_ssize_t)
    void Py_DECREF(PyObject*)

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


def terminate_records(const unsigned char[::1] payload not None, bytes terminator not None):
    cdef chars data = pointer(payload)
    cdef const unsigned char* end = terminator
    cdef Py_ssize_t size = payload.shape[0], offset = 0, total = 0, written = 0, end_size = len(terminator), length
    cdef Record record = nothing()
    cdef Fault fault = FINE
    cdef char* target
    cdef PyObject* out
    with nogil:
        while offset < size:
            fault = read_record(data, size, offset, &record)
            if fault != FINE:
                break
            total += record.stop - record.start + end_size
            offset = record.stop
    if fault != FINE:
        fail(fault, offset, record.length)
    out = PyBytes_FromStringAndSize(NULL, total)
    with nogil:
        target = PyBytes_AS_STRING(out)
        offset = 0
        while offset < size:
            read_record(data, size, offset, &record)
            length = record.stop - record.start
            copy(target + written, data + record.start, length, written + 32 <= total and record.start + 32 <= size)
            written += length
            if end_size == 1:
                target[written] = <char>end[0]
            else:
                memcpy(target + written, end, end_size)
            written += end_size
            offset = record.stop
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
    if offset < size:
        Py_DECREF(out)
        raise ValueError("the text does not end with the terminator")
    _PyBytes_Resize(&out, written)
    result = <object>out
    Py_DECREF(out)
    return result


def take_records(const unsigned char[::1] data not None, Py_ssize_t budget):
    cdef chars source = pointer(data)
    cdef Py_ssize_t size = data.shape[0], offset = 0, total = 0
    cdef Record record = nothing()
    cdef Fault fault
    while offset < size:
        fault = read_record(source, size, offset, &record)
        if fault == LONG:
            fail(fault, offset, 0)
        if fault != FINE:
            break
        total += record.stop - record.start
        offset = record.stop
        if total >= budget:
            break
    return offset
