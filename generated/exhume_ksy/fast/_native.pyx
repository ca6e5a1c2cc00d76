"""Columns filled by compiled code; written by `make generated`, never edited by hand."""
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True

from cpython.buffer cimport PyBUF_READ, PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdlib cimport free, realloc

include "_elements.pxi"

SOURCE = '905aca9007a3b912'
"""What this was compiled from: a module built from other specifications is not used."""


cdef int64_t room_for(int64_t rows, int64_t taken, int64_t left, int64_t wanted) noexcept nogil:
    """Elements to have room for, when there are `rows` in the bytes `taken`: those that are `left`, if they are alike.

    A few more, for they may be shorter; never more than are wanted, than bytes are left for, or than eight times those
    that are there, for what follows may be no elements.
    """
    cdef int64_t room = 8 * rows + 64
    cdef double alike = 1.0625 * rows * left / taken + 64 if taken > 0 else 64
    if rows + alike < room:
        room = rows + <int64_t>alike
    if room > rows + left:
        room = rows + left
    if 0 <= wanted < room:
        room = wanted
    return room if room > rows else rows + 1


cdef bint grow(void **column, size_t size, size_t room) noexcept nogil:
    """Whether a column could be given room for so many elements."""
    cdef void *larger = realloc(column[0], size * room)
    if larger == NULL:
        return False
    column[0] = larger
    return True


def flat_ark_rbuf_group_header(view, int64_t at, int64_t end):
    """Where the element at `at` ends, and its fields; None when it does not fit."""
    cdef Py_buffer buffer
    cdef ArkRbufGroupHeader one
    cdef int64_t after = -1
    PyObject_GetBuffer(view, &buffer, PyBUF_SIMPLE)
    if 0 <= at <= end <= buffer.len:
        after = read_ark_rbuf_group_header(<const uint8_t *> buffer.buf, at, end, &one)
    PyBuffer_Release(&buffer)
    return None if after < 0 else (after, one.magic, one.reserved, one.has_more, one.reserved1, one.number, one.len_body)


def flat_ark_rbuf_guid(view, int64_t at, int64_t end):
    """Where the element at `at` ends, and its fields; None when it does not fit."""
    cdef Py_buffer buffer
    cdef ArkRbufGuid one
    cdef int64_t after = -1
    PyObject_GetBuffer(view, &buffer, PyBUF_SIMPLE)
    if 0 <= at <= end <= buffer.len:
        after = read_ark_rbuf_guid(<const uint8_t *> buffer.buf, at, end, &one)
    PyBuffer_Release(&buffer)
    return None if after < 0 else (after, one.digits1, one.digits0, one.digits3, one.digits2)


def flat_ark_rbuf_byte_buffer(view, int64_t at, int64_t end):
    """Where the element at `at` ends, and its fields; None when it does not fit."""
    cdef Py_buffer buffer
    cdef ArkRbufByteBuffer one
    cdef int64_t after = -1
    PyObject_GetBuffer(view, &buffer, PyBUF_SIMPLE)
    if 0 <= at <= end <= buffer.len:
        after = read_ark_rbuf_byte_buffer(<const uint8_t *> buffer.buf, at, end, &one)
    PyBuffer_Release(&buffer)
    return None if after < 0 else (after, one.value_start, one.value_end)


def flat_ark_rbuf_count(view, int64_t at, int64_t end):
    """Where the element at `at` ends, and its fields; None when it does not fit."""
    cdef Py_buffer buffer
    cdef ArkRbufCount one
    cdef int64_t after = -1
    PyObject_GetBuffer(view, &buffer, PyBUF_SIMPLE)
    if 0 <= at <= end <= buffer.len:
        after = read_ark_rbuf_count(<const uint8_t *> buffer.buf, at, end, &one)
    PyBuffer_Release(&buffer)
    return None if after < 0 else (after, one.value)


def flat_ark_rbuf_variant_header(view, int64_t at, int64_t end):
    """Where the element at `at` ends, and its fields; None when it does not fit."""
    cdef Py_buffer buffer
    cdef ArkRbufVariantHeader one
    cdef int64_t after = -1
    PyObject_GetBuffer(view, &buffer, PyBUF_SIMPLE)
    if 0 <= at <= end <= buffer.len:
        after = read_ark_rbuf_variant_header(<const uint8_t *> buffer.buf, at, end, &one)
    PyBuffer_Release(&buffer)
    return None if after < 0 else (after, one.index, one.len_object)


def flat_ark_split_index_entry(view, int64_t at, int64_t end):
    """Where the element at `at` ends, and its fields; None when it does not fit."""
    cdef Py_buffer buffer
    cdef ArkSplitIndexEntry one
    cdef int64_t after = -1
    PyObject_GetBuffer(view, &buffer, PyBUF_SIMPLE)
    if 0 <= at <= end <= buffer.len:
        after = read_ark_split_index_entry(<const uint8_t *> buffer.buf, at, end, &one)
    PyBuffer_Release(&buffer)
    return None if after < 0 else (after, one.timestamp_ns, one.ofs_data, one.len_data, one.object_identifier, one.flags)


def flat_ark_stored_message_message_footer(view, int64_t at, int64_t end):
    """Where the element at `at` ends, and its fields; None when it does not fit."""
    cdef Py_buffer buffer
    cdef ArkStoredMessageMessageFooter one
    cdef int64_t after = -1
    PyObject_GetBuffer(view, &buffer, PyBUF_SIMPLE)
    if 0 <= at <= end <= buffer.len:
        after = read_ark_stored_message_message_footer(<const uint8_t *> buffer.buf, at, end, &one)
    PyBuffer_Release(&buffer)
    return None if after < 0 else (after, one.len_message, one.codec, one.magic)


def flat_clp_ir_token(view, int64_t at, int64_t end):
    """Where the element at `at` ends, and its fields; None when it does not fit."""
    cdef Py_buffer buffer
    cdef ClpIrToken one
    cdef int64_t after = -1
    PyObject_GetBuffer(view, &buffer, PyBUF_SIMPLE)
    if 0 <= at <= end <= buffer.len:
        after = read_clp_ir_token(<const uint8_t *> buffer.buf, at, end, &one)
    PyBuffer_Release(&buffer)
    return None if after < 0 else (after, one.tag, one.number1, one.number2, one.number4, one.number8, one.len_text1, one.len_text2, one.len_text4, one.text_start, one.text_end)


def flat_clp_kv_ir_token(view, int64_t at, int64_t end):
    """Where the element at `at` ends, and its fields; None when it does not fit."""
    cdef Py_buffer buffer
    cdef ClpKvIrToken one
    cdef int64_t after = -1
    PyObject_GetBuffer(view, &buffer, PyBUF_SIMPLE)
    if 0 <= at <= end <= buffer.len:
        after = read_clp_kv_ir_token(<const uint8_t *> buffer.buf, at, end, &one)
    PyBuffer_Release(&buffer)
    return None if after < 0 else (after, one.tag, one.number1, one.number2, one.number4, one.number8, one.real, one.len_text1, one.len_text2, one.len_text4, one.text_start, one.text_end)


def clp_s_dictionary_entries_entry(columns, const uint8_t[::1] view, int64_t start, int64_t stop, int64_t count):
    """The elements from `start` on that fit, into `columns`; returns where the rest begins."""
    cdef const uint8_t *p
    cdef int64_t at = start, after, rows = 0, room = 0
    cdef bint full = True
    cdef ClpSDictionaryEntriesEntry one
    cdef int64_t *c_at = NULL
    cdef int64_t *c_value_start = NULL
    cdef int64_t *c_value_end = NULL
    if view.shape[0] == 0 or stop > view.shape[0] or not 0 <= start <= stop:
        return start
    p = &view[0]
    with nogil:
        while (at < stop) if count < 0 else (rows < count):
            after = read_clp_s_dictionary_entries_entry(p, at, stop, &one)
            if after < 0:
                break
            if rows == room:
                room = room_for(rows, at - start, stop - at, count)
                if not grow(<void **> &c_at, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_value_start, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_value_end, sizeof(int64_t), room):
                    full = False
                    break
            c_at[rows] = at
            c_value_start[rows] = one.value_start
            c_value_end[rows] = one.value_end
            rows += 1
            at = after
    try:
        if not full:
            raise MemoryError
        if rows:
            columns.at.frombytes(PyMemoryView_FromMemory(<char *> c_at, rows * sizeof(int64_t), PyBUF_READ))
            columns.value_start.frombytes(PyMemoryView_FromMemory(<char *> c_value_start, rows * sizeof(int64_t), PyBUF_READ))
            columns.value_end.frombytes(PyMemoryView_FromMemory(<char *> c_value_end, rows * sizeof(int64_t), PyBUF_READ))
    finally:
        free(c_at)
        free(c_value_start)
        free(c_value_end)
    return at


def clp_s_schema_ids_schema(columns, const uint8_t[::1] view, int64_t start, int64_t stop, int64_t count):
    """The elements from `start` on that fit, into `columns`; returns where the rest begins."""
    cdef const uint8_t *p
    cdef int64_t at = start, after, rows = 0, room = 0
    cdef bint full = True
    cdef ClpSSchemaIdsSchema one
    cdef int64_t *c_at = NULL
    cdef int32_t *c_schema_id = NULL
    cdef uint32_t *c_num_entries = NULL
    cdef uint32_t *c_num_ordered = NULL
    cdef int64_t *c_entries_value_start = NULL
    cdef int64_t *c_entries_value_end = NULL
    if view.shape[0] == 0 or stop > view.shape[0] or not 0 <= start <= stop:
        return start
    p = &view[0]
    with nogil:
        while (at < stop) if count < 0 else (rows < count):
            after = read_clp_s_schema_ids_schema(p, at, stop, &one)
            if after < 0:
                break
            if rows == room:
                room = room_for(rows, at - start, stop - at, count)
                if not grow(<void **> &c_at, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_schema_id, sizeof(int32_t), room):
                    full = False
                    break
                if not grow(<void **> &c_num_entries, sizeof(uint32_t), room):
                    full = False
                    break
                if not grow(<void **> &c_num_ordered, sizeof(uint32_t), room):
                    full = False
                    break
                if not grow(<void **> &c_entries_value_start, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_entries_value_end, sizeof(int64_t), room):
                    full = False
                    break
            c_at[rows] = at
            c_schema_id[rows] = one.schema_id
            c_num_entries[rows] = one.num_entries
            c_num_ordered[rows] = one.num_ordered
            c_entries_value_start[rows] = one.entries_value_start
            c_entries_value_end[rows] = one.entries_value_end
            rows += 1
            at = after
    try:
        if not full:
            raise MemoryError
        if rows:
            columns.at.frombytes(PyMemoryView_FromMemory(<char *> c_at, rows * sizeof(int64_t), PyBUF_READ))
            columns.schema_id.frombytes(PyMemoryView_FromMemory(<char *> c_schema_id, rows * sizeof(int32_t), PyBUF_READ))
            columns.num_entries.frombytes(PyMemoryView_FromMemory(<char *> c_num_entries, rows * sizeof(uint32_t), PyBUF_READ))
            columns.num_ordered.frombytes(PyMemoryView_FromMemory(<char *> c_num_ordered, rows * sizeof(uint32_t), PyBUF_READ))
            columns.entries_value_start.frombytes(PyMemoryView_FromMemory(<char *> c_entries_value_start, rows * sizeof(int64_t), PyBUF_READ))
            columns.entries_value_end.frombytes(PyMemoryView_FromMemory(<char *> c_entries_value_end, rows * sizeof(int64_t), PyBUF_READ))
    finally:
        free(c_at)
        free(c_schema_id)
        free(c_num_entries)
        free(c_num_ordered)
        free(c_entries_value_start)
        free(c_entries_value_end)
    return at


def clp_s_schema_tree_node(columns, const uint8_t[::1] view, int64_t start, int64_t stop, int64_t count):
    """The elements from `start` on that fit, into `columns`; returns where the rest begins."""
    cdef const uint8_t *p
    cdef int64_t at = start, after, rows = 0, room = 0
    cdef bint full = True
    cdef ClpSSchemaTreeNode one
    cdef int64_t *c_at = NULL
    cdef int32_t *c_parent_id = NULL
    cdef int64_t *c_key_start = NULL
    cdef int64_t *c_key_end = NULL
    cdef uint8_t *c_type = NULL
    if view.shape[0] == 0 or stop > view.shape[0] or not 0 <= start <= stop:
        return start
    p = &view[0]
    with nogil:
        while (at < stop) if count < 0 else (rows < count):
            after = read_clp_s_schema_tree_node(p, at, stop, &one)
            if after < 0:
                break
            if rows == room:
                room = room_for(rows, at - start, stop - at, count)
                if not grow(<void **> &c_at, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_parent_id, sizeof(int32_t), room):
                    full = False
                    break
                if not grow(<void **> &c_key_start, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_key_end, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_type, sizeof(uint8_t), room):
                    full = False
                    break
            c_at[rows] = at
            c_parent_id[rows] = one.parent_id
            c_key_start[rows] = one.key_start
            c_key_end[rows] = one.key_end
            c_type[rows] = one.type
            rows += 1
            at = after
    try:
        if not full:
            raise MemoryError
        if rows:
            columns.at.frombytes(PyMemoryView_FromMemory(<char *> c_at, rows * sizeof(int64_t), PyBUF_READ))
            columns.parent_id.frombytes(PyMemoryView_FromMemory(<char *> c_parent_id, rows * sizeof(int32_t), PyBUF_READ))
            columns.key_start.frombytes(PyMemoryView_FromMemory(<char *> c_key_start, rows * sizeof(int64_t), PyBUF_READ))
            columns.key_end.frombytes(PyMemoryView_FromMemory(<char *> c_key_end, rows * sizeof(int64_t), PyBUF_READ))
            columns.type.frombytes(PyMemoryView_FromMemory(<char *> c_type, rows * sizeof(uint8_t), PyBUF_READ))
    finally:
        free(c_at)
        free(c_parent_id)
        free(c_key_start)
        free(c_key_end)
        free(c_type)
    return at


def clp_s_table_metadata_stream(columns, const uint8_t[::1] view, int64_t start, int64_t stop, int64_t count):
    """The elements from `start` on that fit, into `columns`; returns where the rest begins."""
    cdef const uint8_t *p
    cdef int64_t at = start, after, rows = 0, room = 0
    cdef bint full = True
    cdef ClpSTableMetadataStream one
    cdef int64_t *c_at = NULL
    cdef uint64_t *c_ofs_stream = NULL
    cdef uint64_t *c_len_uncompressed = NULL
    if view.shape[0] == 0 or stop > view.shape[0] or not 0 <= start <= stop:
        return start
    p = &view[0]
    with nogil:
        while (at < stop) if count < 0 else (rows < count):
            after = read_clp_s_table_metadata_stream(p, at, stop, &one)
            if after < 0:
                break
            if rows == room:
                room = room_for(rows, at - start, stop - at, count)
                if not grow(<void **> &c_at, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_ofs_stream, sizeof(uint64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_len_uncompressed, sizeof(uint64_t), room):
                    full = False
                    break
            c_at[rows] = at
            c_ofs_stream[rows] = one.ofs_stream
            c_len_uncompressed[rows] = one.len_uncompressed
            rows += 1
            at = after
    try:
        if not full:
            raise MemoryError
        if rows:
            columns.at.frombytes(PyMemoryView_FromMemory(<char *> c_at, rows * sizeof(int64_t), PyBUF_READ))
            columns.ofs_stream.frombytes(PyMemoryView_FromMemory(<char *> c_ofs_stream, rows * sizeof(uint64_t), PyBUF_READ))
            columns.len_uncompressed.frombytes(PyMemoryView_FromMemory(<char *> c_len_uncompressed, rows * sizeof(uint64_t), PyBUF_READ))
    finally:
        free(c_at)
        free(c_ofs_stream)
        free(c_len_uncompressed)
    return at


def clp_s_table_metadata_table(columns, const uint8_t[::1] view, int64_t start, int64_t stop, int64_t count):
    """The elements from `start` on that fit, into `columns`; returns where the rest begins."""
    cdef const uint8_t *p
    cdef int64_t at = start, after, rows = 0, room = 0
    cdef bint full = True
    cdef ClpSTableMetadataTable one
    cdef int64_t *c_at = NULL
    cdef uint64_t *c_stream_id = NULL
    cdef uint64_t *c_ofs_table = NULL
    cdef int32_t *c_schema_id = NULL
    cdef uint64_t *c_num_messages = NULL
    if view.shape[0] == 0 or stop > view.shape[0] or not 0 <= start <= stop:
        return start
    p = &view[0]
    with nogil:
        while (at < stop) if count < 0 else (rows < count):
            after = read_clp_s_table_metadata_table(p, at, stop, &one)
            if after < 0:
                break
            if rows == room:
                room = room_for(rows, at - start, stop - at, count)
                if not grow(<void **> &c_at, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_stream_id, sizeof(uint64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_ofs_table, sizeof(uint64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_schema_id, sizeof(int32_t), room):
                    full = False
                    break
                if not grow(<void **> &c_num_messages, sizeof(uint64_t), room):
                    full = False
                    break
            c_at[rows] = at
            c_stream_id[rows] = one.stream_id
            c_ofs_table[rows] = one.ofs_table
            c_schema_id[rows] = one.schema_id
            c_num_messages[rows] = one.num_messages
            rows += 1
            at = after
    try:
        if not full:
            raise MemoryError
        if rows:
            columns.at.frombytes(PyMemoryView_FromMemory(<char *> c_at, rows * sizeof(int64_t), PyBUF_READ))
            columns.stream_id.frombytes(PyMemoryView_FromMemory(<char *> c_stream_id, rows * sizeof(uint64_t), PyBUF_READ))
            columns.ofs_table.frombytes(PyMemoryView_FromMemory(<char *> c_ofs_table, rows * sizeof(uint64_t), PyBUF_READ))
            columns.schema_id.frombytes(PyMemoryView_FromMemory(<char *> c_schema_id, rows * sizeof(int32_t), PyBUF_READ))
            columns.num_messages.frombytes(PyMemoryView_FromMemory(<char *> c_num_messages, rows * sizeof(uint64_t), PyBUF_READ))
    finally:
        free(c_at)
        free(c_stream_id)
        free(c_ofs_table)
        free(c_schema_id)
        free(c_num_messages)
    return at


def flat_data_bundle_key_record_key(view, int64_t at, int64_t end):
    """Where the element at `at` ends, and its fields; None when it does not fit."""
    cdef Py_buffer buffer
    cdef DataBundleKeyRecordKey one
    cdef int64_t after = -1
    PyObject_GetBuffer(view, &buffer, PyBUF_SIMPLE)
    if 0 <= at <= end <= buffer.len:
        after = read_data_bundle_key_record_key(<const uint8_t *> buffer.buf, at, end, &one)
    PyBuffer_Release(&buffer)
    return None if after < 0 else (after, one.shard_index, one.shard_uncompressed_offset)


def flat_data_bundle_key_chunk(view, int64_t at, int64_t end):
    """Where the element at `at` ends, and its fields; None when it does not fit."""
    cdef Py_buffer buffer
    cdef DataBundleKeyChunk one
    cdef int64_t after = -1
    PyObject_GetBuffer(view, &buffer, PyBUF_SIMPLE)
    if 0 <= at <= end <= buffer.len:
        after = read_data_bundle_key_chunk(<const uint8_t *> buffer.buf, at, end, &one)
    PyBuffer_Release(&buffer)
    return None if after < 0 else (after, one.text_start, one.text_end, one.marker)


def leveldb_block_entry(columns, const uint8_t[::1] view, int64_t start, int64_t stop, int64_t count):
    """The elements from `start` on that fit, into `columns`; returns where the rest begins."""
    cdef const uint8_t *p
    cdef int64_t at = start, after, rows = 0, room = 0
    cdef bint full = True
    cdef LeveldbBlockEntry one
    cdef int64_t *c_at = NULL
    cdef uint64_t *c_len_shared = NULL
    cdef uint64_t *c_len_value = NULL
    cdef int64_t *c_key_suffix_start = NULL
    cdef int64_t *c_key_suffix_end = NULL
    cdef int64_t *c_value_data_start = NULL
    cdef int64_t *c_value_data_end = NULL
    if view.shape[0] == 0 or stop > view.shape[0] or not 0 <= start <= stop:
        return start
    p = &view[0]
    with nogil:
        while (at < stop) if count < 0 else (rows < count):
            after = read_leveldb_block_entry(p, at, stop, &one)
            if after < 0:
                break
            if rows == room:
                room = room_for(rows, at - start, stop - at, count)
                if not grow(<void **> &c_at, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_len_shared, sizeof(uint64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_len_value, sizeof(uint64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_key_suffix_start, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_key_suffix_end, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_value_data_start, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_value_data_end, sizeof(int64_t), room):
                    full = False
                    break
            c_at[rows] = at
            c_len_shared[rows] = one.len_shared
            c_len_value[rows] = one.len_value
            c_key_suffix_start[rows] = one.key_suffix_start
            c_key_suffix_end[rows] = one.key_suffix_end
            c_value_data_start[rows] = one.value_data_start
            c_value_data_end[rows] = one.value_data_end
            rows += 1
            at = after
    try:
        if not full:
            raise MemoryError
        if rows:
            columns.at.frombytes(PyMemoryView_FromMemory(<char *> c_at, rows * sizeof(int64_t), PyBUF_READ))
            columns.len_shared.frombytes(PyMemoryView_FromMemory(<char *> c_len_shared, rows * sizeof(uint64_t), PyBUF_READ))
            columns.len_value.frombytes(PyMemoryView_FromMemory(<char *> c_len_value, rows * sizeof(uint64_t), PyBUF_READ))
            columns.key_suffix_start.frombytes(PyMemoryView_FromMemory(<char *> c_key_suffix_start, rows * sizeof(int64_t), PyBUF_READ))
            columns.key_suffix_end.frombytes(PyMemoryView_FromMemory(<char *> c_key_suffix_end, rows * sizeof(int64_t), PyBUF_READ))
            columns.value_data_start.frombytes(PyMemoryView_FromMemory(<char *> c_value_data_start, rows * sizeof(int64_t), PyBUF_READ))
            columns.value_data_end.frombytes(PyMemoryView_FromMemory(<char *> c_value_data_end, rows * sizeof(int64_t), PyBUF_READ))
    finally:
        free(c_at)
        free(c_len_shared)
        free(c_len_value)
        free(c_key_suffix_start)
        free(c_key_suffix_end)
        free(c_value_data_start)
        free(c_value_data_end)
    return at


def flat_leveldb_block_handle(view, int64_t at, int64_t end):
    """Where the element at `at` ends, and its fields; None when it does not fit."""
    cdef Py_buffer buffer
    cdef LeveldbBlockHandle one
    cdef int64_t after = -1
    PyObject_GetBuffer(view, &buffer, PyBUF_SIMPLE)
    if 0 <= at <= end <= buffer.len:
        after = read_leveldb_block_handle(<const uint8_t *> buffer.buf, at, end, &one)
    PyBuffer_Release(&buffer)
    return None if after < 0 else (after, one.ofs_block, one.len_block)


def leveldb_index_delta_entry(columns, const uint8_t[::1] view, int64_t start, int64_t stop, int64_t count):
    """The elements from `start` on that fit, into `columns`; returns where the rest begins."""
    cdef const uint8_t *p
    cdef int64_t at = start, after, rows = 0, room = 0
    cdef bint full = True
    cdef LeveldbIndexDeltaEntry one
    cdef int64_t *c_at = NULL
    cdef uint64_t *c_len_shared = NULL
    cdef int64_t *c_key_suffix_start = NULL
    cdef int64_t *c_key_suffix_end = NULL
    cdef uint64_t *c_handle_ofs_block = NULL
    cdef uint64_t *c_handle_len_block = NULL
    cdef uint64_t *c_raw_delta = NULL
    if view.shape[0] == 0 or stop > view.shape[0] or not 0 <= start <= stop:
        return start
    p = &view[0]
    with nogil:
        while (at < stop) if count < 0 else (rows < count):
            after = read_leveldb_index_delta_entry(p, at, stop, &one)
            if after < 0:
                break
            if rows == room:
                room = room_for(rows, at - start, stop - at, count)
                if not grow(<void **> &c_at, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_len_shared, sizeof(uint64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_key_suffix_start, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_key_suffix_end, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_handle_ofs_block, sizeof(uint64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_handle_len_block, sizeof(uint64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_raw_delta, sizeof(uint64_t), room):
                    full = False
                    break
            c_at[rows] = at
            c_len_shared[rows] = one.len_shared
            c_key_suffix_start[rows] = one.key_suffix_start
            c_key_suffix_end[rows] = one.key_suffix_end
            c_handle_ofs_block[rows] = one.handle_ofs_block
            c_handle_len_block[rows] = one.handle_len_block
            c_raw_delta[rows] = one.raw_delta
            rows += 1
            at = after
    try:
        if not full:
            raise MemoryError
        if rows:
            columns.at.frombytes(PyMemoryView_FromMemory(<char *> c_at, rows * sizeof(int64_t), PyBUF_READ))
            columns.len_shared.frombytes(PyMemoryView_FromMemory(<char *> c_len_shared, rows * sizeof(uint64_t), PyBUF_READ))
            columns.key_suffix_start.frombytes(PyMemoryView_FromMemory(<char *> c_key_suffix_start, rows * sizeof(int64_t), PyBUF_READ))
            columns.key_suffix_end.frombytes(PyMemoryView_FromMemory(<char *> c_key_suffix_end, rows * sizeof(int64_t), PyBUF_READ))
            columns.handle_ofs_block.frombytes(PyMemoryView_FromMemory(<char *> c_handle_ofs_block, rows * sizeof(uint64_t), PyBUF_READ))
            columns.handle_len_block.frombytes(PyMemoryView_FromMemory(<char *> c_handle_len_block, rows * sizeof(uint64_t), PyBUF_READ))
            columns.raw_delta.frombytes(PyMemoryView_FromMemory(<char *> c_raw_delta, rows * sizeof(uint64_t), PyBUF_READ))
    finally:
        free(c_at)
        free(c_len_shared)
        free(c_key_suffix_start)
        free(c_key_suffix_end)
        free(c_handle_ofs_block)
        free(c_handle_len_block)
        free(c_raw_delta)
    return at


def flat_leveldb_internal_key(view, int64_t at, int64_t end):
    """Where the element at `at` ends, and its fields; None when it does not fit."""
    cdef Py_buffer buffer
    cdef LeveldbInternalKey one
    cdef int64_t after = -1
    PyObject_GetBuffer(view, &buffer, PyBUF_SIMPLE)
    if 0 <= at <= end <= buffer.len:
        after = read_leveldb_internal_key(<const uint8_t *> buffer.buf, at, end, &one)
    PyBuffer_Release(&buffer)
    return None if after < 0 else (after, one.user_key_start, one.user_key_end, one.value_type, one.sequence_lo, one.sequence_hi, one.sequence_top)


def flat_leveldb_log_fragment(view, int64_t at, int64_t end):
    """Where the element at `at` ends, and its fields; None when it does not fit."""
    cdef Py_buffer buffer
    cdef LeveldbLogFragment one
    cdef int64_t after = -1
    PyObject_GetBuffer(view, &buffer, PyBUF_SIMPLE)
    if 0 <= at <= end <= buffer.len:
        after = read_leveldb_log_fragment(<const uint8_t *> buffer.buf, at, end, &one)
    PyBuffer_Release(&buffer)
    return None if after < 0 else (after, one.checksum, one.len_data, one.fragment_type, one.log_number, one.data_bytes_start, one.data_bytes_end)


def flat_leveldb_table_block_trailer(view, int64_t at, int64_t end):
    """Where the element at `at` ends, and its fields; None when it does not fit."""
    cdef Py_buffer buffer
    cdef LeveldbTableBlockTrailer one
    cdef int64_t after = -1
    PyObject_GetBuffer(view, &buffer, PyBUF_SIMPLE)
    if 0 <= at <= end <= buffer.len:
        after = read_leveldb_table_block_trailer(<const uint8_t *> buffer.buf, at, end, &one)
    PyBuffer_Release(&buffer)
    return None if after < 0 else (after, one.compression, one.checksum)


def leveldb_write_batch_operation(columns, const uint8_t[::1] view, int64_t start, int64_t stop, int64_t count):
    """The elements from `start` on that fit, into `columns`; returns where the rest begins."""
    cdef const uint8_t *p
    cdef int64_t at = start, after, rows = 0, room = 0
    cdef bint full = True
    cdef LeveldbWriteBatchOperation one
    cdef int64_t *c_at = NULL
    cdef uint8_t *c_operation_type = NULL
    cdef uint64_t *c_column_family = NULL
    cdef int64_t *c_key_data_start = NULL
    cdef int64_t *c_key_data_end = NULL
    cdef int64_t *c_value_data_start = NULL
    cdef int64_t *c_value_data_end = NULL
    cdef int64_t *c_commit_timestamp_data_start = NULL
    cdef int64_t *c_commit_timestamp_data_end = NULL
    cdef int64_t *c_transaction_name_data_start = NULL
    cdef int64_t *c_transaction_name_data_end = NULL
    if view.shape[0] == 0 or stop > view.shape[0] or not 0 <= start <= stop:
        return start
    p = &view[0]
    with nogil:
        while (at < stop) if count < 0 else (rows < count):
            after = read_leveldb_write_batch_operation(p, at, stop, &one)
            if after < 0:
                break
            if rows == room:
                room = room_for(rows, at - start, stop - at, count)
                if not grow(<void **> &c_at, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_operation_type, sizeof(uint8_t), room):
                    full = False
                    break
                if not grow(<void **> &c_column_family, sizeof(uint64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_key_data_start, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_key_data_end, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_value_data_start, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_value_data_end, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_commit_timestamp_data_start, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_commit_timestamp_data_end, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_transaction_name_data_start, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_transaction_name_data_end, sizeof(int64_t), room):
                    full = False
                    break
            c_at[rows] = at
            c_operation_type[rows] = one.operation_type
            c_column_family[rows] = one.column_family
            c_key_data_start[rows] = one.key_data_start
            c_key_data_end[rows] = one.key_data_end
            c_value_data_start[rows] = one.value_data_start
            c_value_data_end[rows] = one.value_data_end
            c_commit_timestamp_data_start[rows] = one.commit_timestamp_data_start
            c_commit_timestamp_data_end[rows] = one.commit_timestamp_data_end
            c_transaction_name_data_start[rows] = one.transaction_name_data_start
            c_transaction_name_data_end[rows] = one.transaction_name_data_end
            rows += 1
            at = after
    try:
        if not full:
            raise MemoryError
        if rows:
            columns.at.frombytes(PyMemoryView_FromMemory(<char *> c_at, rows * sizeof(int64_t), PyBUF_READ))
            columns.operation_type.frombytes(PyMemoryView_FromMemory(<char *> c_operation_type, rows * sizeof(uint8_t), PyBUF_READ))
            columns.column_family.frombytes(PyMemoryView_FromMemory(<char *> c_column_family, rows * sizeof(uint64_t), PyBUF_READ))
            columns.key_data_start.frombytes(PyMemoryView_FromMemory(<char *> c_key_data_start, rows * sizeof(int64_t), PyBUF_READ))
            columns.key_data_end.frombytes(PyMemoryView_FromMemory(<char *> c_key_data_end, rows * sizeof(int64_t), PyBUF_READ))
            columns.value_data_start.frombytes(PyMemoryView_FromMemory(<char *> c_value_data_start, rows * sizeof(int64_t), PyBUF_READ))
            columns.value_data_end.frombytes(PyMemoryView_FromMemory(<char *> c_value_data_end, rows * sizeof(int64_t), PyBUF_READ))
            columns.commit_timestamp_data_start.frombytes(PyMemoryView_FromMemory(<char *> c_commit_timestamp_data_start, rows * sizeof(int64_t), PyBUF_READ))
            columns.commit_timestamp_data_end.frombytes(PyMemoryView_FromMemory(<char *> c_commit_timestamp_data_end, rows * sizeof(int64_t), PyBUF_READ))
            columns.transaction_name_data_start.frombytes(PyMemoryView_FromMemory(<char *> c_transaction_name_data_start, rows * sizeof(int64_t), PyBUF_READ))
            columns.transaction_name_data_end.frombytes(PyMemoryView_FromMemory(<char *> c_transaction_name_data_end, rows * sizeof(int64_t), PyBUF_READ))
    finally:
        free(c_at)
        free(c_operation_type)
        free(c_column_family)
        free(c_key_data_start)
        free(c_key_data_end)
        free(c_value_data_start)
        free(c_value_data_end)
        free(c_commit_timestamp_data_start)
        free(c_commit_timestamp_data_end)
        free(c_transaction_name_data_start)
        free(c_transaction_name_data_end)
    return at


def flat_leveldb_write_batch_operation(view, int64_t at, int64_t end):
    """Where the element at `at` ends, and its fields; None when it does not fit."""
    cdef Py_buffer buffer
    cdef LeveldbWriteBatchOperation one
    cdef int64_t after = -1
    PyObject_GetBuffer(view, &buffer, PyBUF_SIMPLE)
    if 0 <= at <= end <= buffer.len:
        after = read_leveldb_write_batch_operation(<const uint8_t *> buffer.buf, at, end, &one)
    PyBuffer_Release(&buffer)
    return None if after < 0 else (after, one.operation_type, one.column_family, one.key_data_start, one.key_data_end, one.value_data_start, one.value_data_end, one.commit_timestamp_data_start, one.commit_timestamp_data_end, one.transaction_name_data_start, one.transaction_name_data_end)


def flat_zs_block(view, int64_t at, int64_t end):
    """Where the element at `at` ends, and its fields; None when it does not fit."""
    cdef Py_buffer buffer
    cdef ZsBlock one
    cdef int64_t after = -1
    PyObject_GetBuffer(view, &buffer, PyBUF_SIMPLE)
    if 0 <= at <= end <= buffer.len:
        after = read_zs_block(<const uint8_t *> buffer.buf, at, end, &one)
    PyBuffer_Release(&buffer)
    return None if after < 0 else (after, one.len_body, one.body_level, one.body_payload_start, one.body_payload_end, one.crc)


def zs_data_block_record(columns, const uint8_t[::1] view, int64_t start, int64_t stop, int64_t count):
    """The elements from `start` on that fit, into `columns`; returns where the rest begins."""
    cdef const uint8_t *p
    cdef int64_t at = start, after, rows = 0, room = 0
    cdef bint full = True
    cdef ZsDataBlockRecord one
    cdef int64_t *c_at = NULL
    cdef int64_t *c_data_start = NULL
    cdef int64_t *c_data_end = NULL
    if view.shape[0] == 0 or stop > view.shape[0] or not 0 <= start <= stop:
        return start
    p = &view[0]
    with nogil:
        while (at < stop) if count < 0 else (rows < count):
            after = read_zs_data_block_record(p, at, stop, &one)
            if after < 0:
                break
            if rows == room:
                room = room_for(rows, at - start, stop - at, count)
                if not grow(<void **> &c_at, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_data_start, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_data_end, sizeof(int64_t), room):
                    full = False
                    break
            c_at[rows] = at
            c_data_start[rows] = one.data_start
            c_data_end[rows] = one.data_end
            rows += 1
            at = after
    try:
        if not full:
            raise MemoryError
        if rows:
            columns.at.frombytes(PyMemoryView_FromMemory(<char *> c_at, rows * sizeof(int64_t), PyBUF_READ))
            columns.data_start.frombytes(PyMemoryView_FromMemory(<char *> c_data_start, rows * sizeof(int64_t), PyBUF_READ))
            columns.data_end.frombytes(PyMemoryView_FromMemory(<char *> c_data_end, rows * sizeof(int64_t), PyBUF_READ))
    finally:
        free(c_at)
        free(c_data_start)
        free(c_data_end)
    return at


def zs_index_block_entry(columns, const uint8_t[::1] view, int64_t start, int64_t stop, int64_t count):
    """The elements from `start` on that fit, into `columns`; returns where the rest begins."""
    cdef const uint8_t *p
    cdef int64_t at = start, after, rows = 0, room = 0
    cdef bint full = True
    cdef ZsIndexBlockEntry one
    cdef int64_t *c_at = NULL
    cdef int64_t *c_key_start = NULL
    cdef int64_t *c_key_end = NULL
    cdef uint64_t *c_ofs_block = NULL
    cdef uint64_t *c_len_block = NULL
    if view.shape[0] == 0 or stop > view.shape[0] or not 0 <= start <= stop:
        return start
    p = &view[0]
    with nogil:
        while (at < stop) if count < 0 else (rows < count):
            after = read_zs_index_block_entry(p, at, stop, &one)
            if after < 0:
                break
            if rows == room:
                room = room_for(rows, at - start, stop - at, count)
                if not grow(<void **> &c_at, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_key_start, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_key_end, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_ofs_block, sizeof(uint64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_len_block, sizeof(uint64_t), room):
                    full = False
                    break
            c_at[rows] = at
            c_key_start[rows] = one.key_start
            c_key_end[rows] = one.key_end
            c_ofs_block[rows] = one.ofs_block
            c_len_block[rows] = one.len_block
            rows += 1
            at = after
    try:
        if not full:
            raise MemoryError
        if rows:
            columns.at.frombytes(PyMemoryView_FromMemory(<char *> c_at, rows * sizeof(int64_t), PyBUF_READ))
            columns.key_start.frombytes(PyMemoryView_FromMemory(<char *> c_key_start, rows * sizeof(int64_t), PyBUF_READ))
            columns.key_end.frombytes(PyMemoryView_FromMemory(<char *> c_key_end, rows * sizeof(int64_t), PyBUF_READ))
            columns.ofs_block.frombytes(PyMemoryView_FromMemory(<char *> c_ofs_block, rows * sizeof(uint64_t), PyBUF_READ))
            columns.len_block.frombytes(PyMemoryView_FromMemory(<char *> c_len_block, rows * sizeof(uint64_t), PyBUF_READ))
    finally:
        free(c_at)
        free(c_key_start)
        free(c_key_end)
        free(c_ofs_block)
        free(c_len_block)
    return at


def zstd_frame_frame(columns, const uint8_t[::1] view, int64_t start, int64_t stop, int64_t count):
    """The elements from `start` on that fit, into `columns`; returns where the rest begins."""
    cdef const uint8_t *p
    cdef int64_t at = start, after, rows = 0, room = 0
    cdef bint full = True
    cdef ZstdFrameFrame one
    cdef int64_t *c_at = NULL
    cdef uint32_t *c_magic = NULL
    cdef int64_t *c_skippable_data_start = NULL
    cdef int64_t *c_skippable_data_end = NULL
    cdef uint8_t *c_body_descriptor_content_size_flag = NULL
    cdef uint8_t *c_body_descriptor_is_single_segment = NULL
    cdef uint8_t *c_body_descriptor_unused = NULL
    cdef uint8_t *c_body_descriptor_reserved = NULL
    cdef uint8_t *c_body_descriptor_has_checksum = NULL
    cdef uint8_t *c_body_descriptor_dictionary_id_flag = NULL
    cdef uint8_t *c_body_window_exponent = NULL
    cdef uint8_t *c_body_window_mantissa = NULL
    cdef uint8_t *c_body_dictionary_id1 = NULL
    cdef uint16_t *c_body_dictionary_id2 = NULL
    cdef uint32_t *c_body_dictionary_id4 = NULL
    cdef uint8_t *c_body_content_size1 = NULL
    cdef uint16_t *c_body_content_size2 = NULL
    cdef uint32_t *c_body_content_size4 = NULL
    cdef uint64_t *c_body_content_size8 = NULL
    cdef int64_t *c_body_blocks_start = NULL
    cdef int64_t *c_body_blocks_end = NULL
    cdef uint32_t *c_body_checksum = NULL
    if view.shape[0] == 0 or stop > view.shape[0] or not 0 <= start <= stop:
        return start
    p = &view[0]
    with nogil:
        while (at < stop) if count < 0 else (rows < count):
            after = read_zstd_frame_frame(p, at, stop, &one)
            if after < 0:
                break
            if rows == room:
                room = room_for(rows, at - start, stop - at, count)
                if not grow(<void **> &c_at, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_magic, sizeof(uint32_t), room):
                    full = False
                    break
                if not grow(<void **> &c_skippable_data_start, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_skippable_data_end, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_body_descriptor_content_size_flag, sizeof(uint8_t), room):
                    full = False
                    break
                if not grow(<void **> &c_body_descriptor_is_single_segment, sizeof(uint8_t), room):
                    full = False
                    break
                if not grow(<void **> &c_body_descriptor_unused, sizeof(uint8_t), room):
                    full = False
                    break
                if not grow(<void **> &c_body_descriptor_reserved, sizeof(uint8_t), room):
                    full = False
                    break
                if not grow(<void **> &c_body_descriptor_has_checksum, sizeof(uint8_t), room):
                    full = False
                    break
                if not grow(<void **> &c_body_descriptor_dictionary_id_flag, sizeof(uint8_t), room):
                    full = False
                    break
                if not grow(<void **> &c_body_window_exponent, sizeof(uint8_t), room):
                    full = False
                    break
                if not grow(<void **> &c_body_window_mantissa, sizeof(uint8_t), room):
                    full = False
                    break
                if not grow(<void **> &c_body_dictionary_id1, sizeof(uint8_t), room):
                    full = False
                    break
                if not grow(<void **> &c_body_dictionary_id2, sizeof(uint16_t), room):
                    full = False
                    break
                if not grow(<void **> &c_body_dictionary_id4, sizeof(uint32_t), room):
                    full = False
                    break
                if not grow(<void **> &c_body_content_size1, sizeof(uint8_t), room):
                    full = False
                    break
                if not grow(<void **> &c_body_content_size2, sizeof(uint16_t), room):
                    full = False
                    break
                if not grow(<void **> &c_body_content_size4, sizeof(uint32_t), room):
                    full = False
                    break
                if not grow(<void **> &c_body_content_size8, sizeof(uint64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_body_blocks_start, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_body_blocks_end, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_body_checksum, sizeof(uint32_t), room):
                    full = False
                    break
            c_at[rows] = at
            c_magic[rows] = one.magic
            c_skippable_data_start[rows] = one.skippable_data_start
            c_skippable_data_end[rows] = one.skippable_data_end
            c_body_descriptor_content_size_flag[rows] = one.body_descriptor_content_size_flag
            c_body_descriptor_is_single_segment[rows] = one.body_descriptor_is_single_segment
            c_body_descriptor_unused[rows] = one.body_descriptor_unused
            c_body_descriptor_reserved[rows] = one.body_descriptor_reserved
            c_body_descriptor_has_checksum[rows] = one.body_descriptor_has_checksum
            c_body_descriptor_dictionary_id_flag[rows] = one.body_descriptor_dictionary_id_flag
            c_body_window_exponent[rows] = one.body_window_exponent
            c_body_window_mantissa[rows] = one.body_window_mantissa
            c_body_dictionary_id1[rows] = one.body_dictionary_id1
            c_body_dictionary_id2[rows] = one.body_dictionary_id2
            c_body_dictionary_id4[rows] = one.body_dictionary_id4
            c_body_content_size1[rows] = one.body_content_size1
            c_body_content_size2[rows] = one.body_content_size2
            c_body_content_size4[rows] = one.body_content_size4
            c_body_content_size8[rows] = one.body_content_size8
            c_body_blocks_start[rows] = one.body_blocks_start
            c_body_blocks_end[rows] = one.body_blocks_end
            c_body_checksum[rows] = one.body_checksum
            rows += 1
            at = after
    try:
        if not full:
            raise MemoryError
        if rows:
            columns.at.frombytes(PyMemoryView_FromMemory(<char *> c_at, rows * sizeof(int64_t), PyBUF_READ))
            columns.magic.frombytes(PyMemoryView_FromMemory(<char *> c_magic, rows * sizeof(uint32_t), PyBUF_READ))
            columns.skippable_data_start.frombytes(PyMemoryView_FromMemory(<char *> c_skippable_data_start, rows * sizeof(int64_t), PyBUF_READ))
            columns.skippable_data_end.frombytes(PyMemoryView_FromMemory(<char *> c_skippable_data_end, rows * sizeof(int64_t), PyBUF_READ))
            columns.body_descriptor_content_size_flag.frombytes(PyMemoryView_FromMemory(<char *> c_body_descriptor_content_size_flag, rows * sizeof(uint8_t), PyBUF_READ))
            columns.body_descriptor_is_single_segment.frombytes(PyMemoryView_FromMemory(<char *> c_body_descriptor_is_single_segment, rows * sizeof(uint8_t), PyBUF_READ))
            columns.body_descriptor_unused.frombytes(PyMemoryView_FromMemory(<char *> c_body_descriptor_unused, rows * sizeof(uint8_t), PyBUF_READ))
            columns.body_descriptor_reserved.frombytes(PyMemoryView_FromMemory(<char *> c_body_descriptor_reserved, rows * sizeof(uint8_t), PyBUF_READ))
            columns.body_descriptor_has_checksum.frombytes(PyMemoryView_FromMemory(<char *> c_body_descriptor_has_checksum, rows * sizeof(uint8_t), PyBUF_READ))
            columns.body_descriptor_dictionary_id_flag.frombytes(PyMemoryView_FromMemory(<char *> c_body_descriptor_dictionary_id_flag, rows * sizeof(uint8_t), PyBUF_READ))
            columns.body_window_exponent.frombytes(PyMemoryView_FromMemory(<char *> c_body_window_exponent, rows * sizeof(uint8_t), PyBUF_READ))
            columns.body_window_mantissa.frombytes(PyMemoryView_FromMemory(<char *> c_body_window_mantissa, rows * sizeof(uint8_t), PyBUF_READ))
            columns.body_dictionary_id1.frombytes(PyMemoryView_FromMemory(<char *> c_body_dictionary_id1, rows * sizeof(uint8_t), PyBUF_READ))
            columns.body_dictionary_id2.frombytes(PyMemoryView_FromMemory(<char *> c_body_dictionary_id2, rows * sizeof(uint16_t), PyBUF_READ))
            columns.body_dictionary_id4.frombytes(PyMemoryView_FromMemory(<char *> c_body_dictionary_id4, rows * sizeof(uint32_t), PyBUF_READ))
            columns.body_content_size1.frombytes(PyMemoryView_FromMemory(<char *> c_body_content_size1, rows * sizeof(uint8_t), PyBUF_READ))
            columns.body_content_size2.frombytes(PyMemoryView_FromMemory(<char *> c_body_content_size2, rows * sizeof(uint16_t), PyBUF_READ))
            columns.body_content_size4.frombytes(PyMemoryView_FromMemory(<char *> c_body_content_size4, rows * sizeof(uint32_t), PyBUF_READ))
            columns.body_content_size8.frombytes(PyMemoryView_FromMemory(<char *> c_body_content_size8, rows * sizeof(uint64_t), PyBUF_READ))
            columns.body_blocks_start.frombytes(PyMemoryView_FromMemory(<char *> c_body_blocks_start, rows * sizeof(int64_t), PyBUF_READ))
            columns.body_blocks_end.frombytes(PyMemoryView_FromMemory(<char *> c_body_blocks_end, rows * sizeof(int64_t), PyBUF_READ))
            columns.body_checksum.frombytes(PyMemoryView_FromMemory(<char *> c_body_checksum, rows * sizeof(uint32_t), PyBUF_READ))
    finally:
        free(c_at)
        free(c_magic)
        free(c_skippable_data_start)
        free(c_skippable_data_end)
        free(c_body_descriptor_content_size_flag)
        free(c_body_descriptor_is_single_segment)
        free(c_body_descriptor_unused)
        free(c_body_descriptor_reserved)
        free(c_body_descriptor_has_checksum)
        free(c_body_descriptor_dictionary_id_flag)
        free(c_body_window_exponent)
        free(c_body_window_mantissa)
        free(c_body_dictionary_id1)
        free(c_body_dictionary_id2)
        free(c_body_dictionary_id4)
        free(c_body_content_size1)
        free(c_body_content_size2)
        free(c_body_content_size4)
        free(c_body_content_size8)
        free(c_body_blocks_start)
        free(c_body_blocks_end)
        free(c_body_checksum)
    return at

