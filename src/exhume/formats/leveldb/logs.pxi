# LevelDB logs of single writes: fragments, batches and keys read in one call.

cdef extern from "Python.h":
    void PyObject_GC_UnTrack(void* object)

cdef inline object kept_apart(object found):
    """An object that refers to none which refers back: there may be millions, so they are not searched for garbage."""
    PyObject_GC_UnTrack(<void*>found)
    return found


def single_writes(bytes block not None, Py_ssize_t at, int64_t base, int64_t rank, type made, place not None):
    cdef chars data = block
    cdef int64_t end = len(block), stop, begin, first = -1, highest = 0, checked
    cdef uint64_t sequence
    cdef uint32_t count
    cdef int kinds = 0, kind
    cdef LeveldbLogFragment fragment
    cdef LeveldbWriteBatchOperation operation
    cdef list out = []
    cdef object name, number, sound, referenced, operations, number_of, where
    name, number, sound, referenced, operations = place
    if at < 0:
        raise ValueError("an offset outside the block")
    while at < end:
        stop = read_leveldb_log_fragment(data, at, end, &fragment)
        if stop < 0 or fragment.fragment_type != LEVELDB_LOG_FRAGMENT_TYPES_FULL:
            break
        begin = fragment.data_bytes_start
        if stop - begin <= LEVELDB_WRITE_BATCH_END_NUM_OPERATIONS:
            break
        memcpy(&sequence, data + begin + LEVELDB_WRITE_BATCH_AT_SEQUENCE, sizeof(sequence))
        memcpy(&count, data + begin + LEVELDB_WRITE_BATCH_AT_NUM_OPERATIONS, sizeof(count))
        if count != 1 or sequence >> 56:
            break
        if read_leveldb_write_batch_operation(data, begin + LEVELDB_WRITE_BATCH_END_NUM_OPERATIONS, stop, &operation) != stop:
            break
        kind = operation.operation_type
        if kind != LEVELDB_WRITE_BATCH_OPERATION_TYPES_VALUE and kind != LEVELDB_WRITE_BATCH_OPERATION_TYPES_DELETION:
            break
        checked = at + LEVELDB_LOG_FRAGMENT_AT_FRAGMENT_TYPE
        if masked_crc32c_of(data + checked, stop - checked) != fragment.checksum:
            break
        number_of = sequence
        where = kernel_alloc(<PyTypeObject*>made, 12)
        fill_row(where, 0, name)
        fill_row(where, 1, number)
        fill_row(where, 2, None)
        fill_row(where, 3, base + at)
        fill_row(where, 4, base + stop)
        fill_row(where, 5, sound)
        fill_row(where, 6, referenced)
        fill_row(where, 7, None)
        fill_row(where, 8, number_of)
        fill_row(where, 9, 1)
        fill_row(where, 10, 0)
        fill_row(where, 11, operations)
        kept_apart(where)
        out.append(kept_apart((
            PyBytes_New(<const char*>data + operation.key_data_start, operation.key_data_end - operation.key_data_start),
            ~(sequence << 8 | <uint64_t>kind), rank, LEVELDB_WRITE_BATCH_END_NUM_OPERATIONS,
            PyBytes_New(<const char*>data + operation.value_data_start, operation.value_data_end - operation.value_data_start),
            where,
        )))
        if first < 0:
            first = sequence
        highest = max(highest, <int64_t>sequence)
        kinds |= 1 << kind
        rank += 2
        at = stop
    return out, at, first, highest, kinds
