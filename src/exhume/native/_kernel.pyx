# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, embedsignature=True
"""The hot loops, compiled.  `exhume.native.pykernel` is the pure-Python implementation, with the documentation of the
functions here (those of a format: in its `pykernel.py`).  A payload is a block of ZS: records, each after its length in
the ULEB128 form, without anything between them.  The readers (`read_zs_...`) are generated from the specifications and
return the offset after an element, or -1."""

from cpython.ref cimport PyObject
from libc.stdint cimport uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memchr, memcmp, memcpy, memmove, memset

from exhume.native.types import OVERLONG, Scan, malformed_records

# Equal to `compiled.VERSION` in a kernel that fits the sources.
VERSION = 57

cdef extern from *:
    """
    #ifdef Py_LIMITED_API  /* one module for every Python: functions instead of macros */
    #define PyBytes_AS_STRING PyBytes_AsString
    #define PyBytes_GET_SIZE PyBytes_Size
    #define PyFloat_AS_DOUBLE PyFloat_AsDouble
    #define PyList_GET_ITEM(list, at) PyList_GetItem((PyObject*)(list), at)
    #define PyList_SET_ITEM(list, at, value) PyList_SetItem((PyObject*)(list), at, (PyObject*)(value))
    #define PyTuple_SET_ITEM(tuple, at, value) PyTuple_SetItem((PyObject*)(tuple), at, (PyObject*)(value))
    #define PyUnicode_GET_LENGTH PyUnicode_GetLength
    #define PyUnicode_1BYTE_DATA(text) ((void*)PyUnicode_AsUTF8AndSize(text, NULL))
    static int kernel_resize(PyObject** bytes, Py_ssize_t size) {  /* to fewer, by a copy */
        PyObject* whole = *bytes;
        *bytes = PyBytes_FromStringAndSize(PyBytes_AsString(whole), size);
        Py_DECREF(whole);
        return *bytes == NULL ? -1 : 0;
    }
    #define kernel_alloc(type, items) ((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, items)
    static int PyUnicode_IS_COMPACT_ASCII(PyObject* text) {
        Py_ssize_t size;
        if (PyUnicode_AsUTF8AndSize(text, &size) == NULL) {
            PyErr_Clear();
            return 0;
        }
        return size == PyUnicode_GetLength(text);
    }
    #else
    #define kernel_resize _PyBytes_Resize
    #define kernel_alloc(type, items) (type)->tp_alloc(type, items)
    #endif
    """

cdef extern from "Python.h":
    PyObject* PyBytes_FromStringAndSize(const char*, Py_ssize_t) except NULL
    int kernel_resize(PyObject**, Py_ssize_t) except -1
    char* PyBytes_AS_STRING(PyObject*) nogil
    object PyBytes_New "PyBytes_FromStringAndSize"(const char*, Py_ssize_t)
    object PyMemoryView_FromObject(object)
    object PyMemoryView_FromMemory(char*, Py_ssize_t, int)
    int PyBUF_READ
    int PyBuffer_FillInfo(Py_buffer*, object, void*, Py_ssize_t, int, int) except -1
    void Py_DECREF(PyObject*)
    void PyTuple_SET_ITEM(object, Py_ssize_t, object)
    ctypedef struct PyTypeObject:
        pass
    object kernel_alloc(PyTypeObject*, Py_ssize_t)  # as tuple.__new__ does, without a tuple to copy from

include "../../../generated/exhume_ksy/fast/_facts.pxi"
include "../../../generated/exhume_ksy/fast/_elements.pxi"
include "calendar.pxi"
include "../formats/clp_s/read/native.pxi"
include "../formats/clp_s/read/floats.pxi"
include "../formats/clp_s/read/dictionaries.pxi"
include "../formats/clp_s/read/times.pxi"
include "../formats/clp_s/read/rows.pxi"
include "../formats/clp_s/read/merging.pxi"
include "../formats/clp_s/query/native.pxi"
include "../formats/clp_s/write/native.pxi"
include "../formats/clp_s/read/together.pxi"
include "../formats/clp_s/read/merged.pxi"
include "../formats/clp_s/write/buffers.pxi"
include "../formats/clp_s/write/scanning.pxi"
include "../formats/clp_s/write/variables.pxi"
include "../formats/clp_s/write/encoder.pxi"
include "../formats/clp_s/write/absorb.pxi"
include "../formats/clp_s/write/textlog.pxi"
include "../formats/clp_s/query/aggregate.pxi"
include "../formats/kv_ir/native.pxi"
include "../formats/kv_ir/arrays.pxi"
include "../formats/kv_ir/columns.pxi"
include "../formats/kv_ir/scan.pxi"
include "../formats/kv_ir/write.pxi"
include "files.pxi"
include "../formats/caf/native.pxi"
include "../formats/data_bundle/native.pxi"
include "../formats/ark/native.pxi"
include "../formats/clp_ir/native.pxi"
include "reals.pxi"
include "json.pxi"
include "../formats/ark/rbuf/native.pxi"
include "../formats/ark/rbuf/columns.pxi"
include "../formats/ark/rbuf/tables.pxi"
include "scan.pxi"
include "../codecs/native.pxi"

ctypedef const unsigned char* chars
ctypedef ZsDataBlockRecord Record  # the range [data_start, data_end) of its content in the payload


cdef inline Record nothing() noexcept nogil:
    """An empty record, before there is one."""
    cdef Record record
    record.data_start = record.data_end = 0
    return record


cdef inline int compare(chars left, Py_ssize_t left_size, chars right, Py_ssize_t right_size) noexcept nogil:
    """Compare byte strings as Python does: below 0, 0 or above 0."""
    cdef int order = memcmp(left, right, left_size if left_size < right_size else right_size)
    if order != 0:
        return order
    return (left_size > right_size) - (left_size < right_size)


cdef inline void copy(char* target, chars source, Py_ssize_t length, bint roomy) noexcept nogil:
    """memcpy; if `roomy` (both buffers are long enough), a short record is copied as 32 bytes at once: the bytes after
    it in the target are written later."""
    if roomy and length <= 32:
        memcpy(target, source, 32)
    else:
        memcpy(target, source, length)


cdef inline chars pointer(const unsigned char[::1] view) noexcept:
    """The address of a buffer; NULL for an empty one, which has no first byte."""
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
    """Bytes that `put_length` writes."""
    cdef Py_ssize_t size = 1
    while length >= 0x80:
        length >>= 7
        size += 1
    return size


cdef inline int compare_records(chars data, Record* left, Record* right) noexcept nogil:
    """Compare the contents of two records as `compare` does."""
    return compare(data + left.data_start, left.data_end - left.data_start,
                   data + right.data_start, right.data_end - right.data_start)


def split_records(const unsigned char[::1] payload not None):
    """Return the content of every record."""
    cdef chars data = pointer(payload)
    cdef int64_t size = payload.shape[0], offset = 0, after
    cdef Record record
    cdef list out = []
    while offset < size:
        after = read_zs_data_block_record(data, offset, size, &record)
        if after < 0:
            raise malformed_records(payload, offset)
        out.append(PyBytes_New(<const char*>data + record.data_start, record.data_end - record.data_start))
        offset = after
    return out


def scan_records(const unsigned char[::1] payload not None):
    """Count the records and check their order; see `Scan`."""
    cdef chars data = pointer(payload)
    cdef int64_t size = payload.shape[0], offset = 0, after = 0, count = 0, unsorted = -1
    cdef Record record = nothing(), previous = nothing(), before = nothing(), here = nothing(), first = nothing()
    with nogil:
        while offset < size:
            after = read_zs_data_block_record(data, offset, size, &record)
            if after < 0:
                break
            if count == 0:
                first = record
            elif unsorted < 0 and compare_records(data, &record, &previous) < 0:
                unsorted, before, here = count, previous, record
            previous = record
            count += 1
            offset = after
    if after < 0:
        raise malformed_records(payload, offset)
    return Scan(count, (first.data_start, first.data_end), (previous.data_start, previous.data_end), unsorted,
                (before.data_start, before.data_end), (here.data_start, here.data_end))


cdef inline int64_t skip_below(chars data, int64_t offset, int64_t size, chars bound, Py_ssize_t bound_size,
                               int64_t* bad) noexcept nogil:
    """Offset of the first record not below the bound, `size` without one; `bad` is that of a malformed record."""
    cdef int64_t after
    cdef Record record
    while offset < size:
        after = read_zs_data_block_record(data, offset, size, &record)
        if after < 0:
            bad[0] = offset
            return offset
        if compare(data + record.data_start, record.data_end - record.data_start, bound, bound_size) >= 0:
            return offset
        offset = after
    return offset


def find_range(const unsigned char[::1] payload not None, bytes start, bytes stop):
    """Return the range of the payload with the records `start <= record < stop`."""
    cdef chars data = pointer(payload)
    cdef chars bound
    cdef int64_t size = payload.shape[0], low = 0, high = size, bad = -1
    cdef Py_ssize_t bound_size
    if start:
        bound, bound_size = start, len(start)
        with nogil:
            low = skip_below(data, 0, size, bound, bound_size, &bad)
    if bad < 0 and stop is not None:
        bound, bound_size = stop, len(stop)
        with nogil:
            high = skip_below(data, low, size, bound, bound_size, &bad)
    if bad >= 0:
        raise malformed_records(payload, bad)
    return low, high


cdef inline Py_ssize_t put_terminated(char* target, Py_ssize_t written, Py_ssize_t room, chars data, Py_ssize_t size,
                                      Record* record, const unsigned char* end, Py_ssize_t end_size) noexcept nogil:
    """Writes a record and its terminator (`end`) at `written`; returns the offset after them.

    `room` and `size` are the bytes of `target` and `data`.
    """
    cdef Py_ssize_t length = record.data_end - record.data_start
    copy(target + written, data + record.data_start, length,
         written + 32 <= room and record.data_start + 32 <= size)
    written += length
    if end_size == 1:
        target[written] = <char>end[0]
    else:
        memcpy(target + written, end, end_size)
    return written + end_size


def terminate_records(const unsigned char[::1] payload not None, bytes terminator not None):
    """Return the records, each followed by the terminator instead of preceded by its length."""
    cdef chars data = pointer(payload)
    cdef const unsigned char* end = terminator
    cdef int64_t size = payload.shape[0], offset = 0, after = 0, room = 0
    cdef Py_ssize_t written = 0, end_size = len(terminator)
    cdef Record record
    cdef char* target
    cdef PyObject* out
    # Allocate the most that can be needed: exactly that, if it takes a pass to know it.
    if end_size <= 1:
        room = size  # a length takes at least a byte, which the terminator replaces
    else:
        with nogil:
            while offset < size:
                after = read_zs_data_block_record(data, offset, size, &record)
                if after < 0:
                    break
                room += record.data_end - record.data_start + end_size
                offset = after
        if after < 0:
            raise malformed_records(payload, offset)
        offset = 0
    out = PyBytes_FromStringAndSize(NULL, room)
    with nogil:
        target = PyBytes_AS_STRING(out)
        while offset < size:
            after = read_zs_data_block_record(data, offset, size, &record)
            if after < 0:
                break
            written = put_terminated(target, written, room, data, size, &record, end, end_size)
            offset = after
    if after < 0:
        Py_DECREF(out)
        raise malformed_records(payload, offset)
    if written < room:
        kernel_resize(&out, written)
    result = <object>out
    Py_DECREF(out)
    return result


def record_values(const unsigned char[::1] payload not None):
    """Return the bytes of all records, and n + 1 bounds of them as int64: Arrow's form of byte strings."""
    cdef chars data = pointer(payload)
    cdef int64_t size = payload.shape[0], offset = 0, after = 0, count = 0, written = 0
    cdef Record record
    cdef PyObject* values
    cdef bytes ends
    cdef char* target
    cdef int64_t* end
    with nogil:
        while offset < size:
            after = read_zs_data_block_record(data, offset, size, &record)
            if after < 0:
                break
            count += 1
            offset = after
    if after < 0:
        raise malformed_records(payload, offset)
    ends = PyBytes_New(NULL, (count + 1) * sizeof(int64_t))
    end = <int64_t*><char*>ends
    values = PyBytes_FromStringAndSize(NULL, size)
    with nogil:
        target = PyBytes_AS_STRING(values)
        end[0] = offset = 0
        while offset < size:
            offset = read_zs_data_block_record(data, offset, size, &record)
            written = put_terminated(target, written, size, data, size, &record, data, 0)  # no terminator
            end += 1
            end[0] = written
    if written < size:
        kernel_resize(&values, written)
    result = <object>values
    Py_DECREF(values)
    return result, ends


def frame_records(list records not None):
    """Return the payload of these records: each after its length."""
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
    """Return (the payload of the terminated records in `text`, how many bytes of it these take)."""
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
            # Find the next terminator by its first byte.
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
    kernel_resize(&out, written)
    result = <object>out
    Py_DECREF(out)
    return result, offset


def take_records(const unsigned char[::1] data not None, Py_ssize_t budget):
    """Return where to cut the data: after the first record that reaches byte `budget`, or the last complete one."""
    cdef chars source = pointer(data)
    cdef int64_t size = data.shape[0], start = 0, offset = 0, limit = min(size, max(budget, 1))
    cdef Record record
    while <uint64_t>offset < <uint64_t>limit:  # a record that does not fit returns -1, the largest of these numbers
        start = offset
        offset = read_zs_data_block_record(source, offset, size, &record)
    if offset >= 0:
        return offset
    error = malformed_records(data, start)
    if error.reason == OVERLONG:
        raise error
    return start


def copy_parts(unsigned char[::1] room not None, list parts not None):
    """Copy bytes `[start, stop)` of each buffer to offset `at` of the target; parts are (at, buffer, start, stop)."""
    cdef Py_ssize_t at, start, stop
    cdef const unsigned char[::1] data
    for at, data, start, stop in parts:
        if not 0 <= start <= stop <= data.shape[0] or not 0 <= at <= room.shape[0] - (stop - start):
            raise ValueError("a part outside its buffer")
        if start < stop:
            with nogil:
                memcpy(&room[at], &data[start], stop - start)


def next_block(const unsigned char[::1] data not None, int64_t start, int64_t stop, uint64_t largest, int highest):
    """Return the first position in `[start, stop)` where a ZS block could start; `stop` if there is none.

    `largest` is the most bytes of its body, `highest` its highest level.
    """
    cdef chars raw = pointer(data)
    cdef int64_t at = start, size = data.shape[0]
    cdef ZsBlock block
    if not 0 <= start <= size or stop > size:
        raise ValueError("positions outside the data")
    with nogil:
        while at < stop:
            if read_zs_block(raw, at, size, &block) >= 0 and 2 <= block.len_body <= largest and block.body_level <= highest:
                break
            at += 1
    return at if at < stop else stop


include "../formats/leveldb/native.pxi"
include "../formats/leveldb/logs.pxi"
