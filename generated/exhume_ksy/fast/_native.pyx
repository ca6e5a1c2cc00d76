"""Columns filled by compiled code; written by `make generated`, never edited by hand."""
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcmp, memcpy

cdef extern from *:
    ctypedef long long wide "__int128"
    uint16_t swap2 "__builtin_bswap16" (uint16_t) noexcept nogil
    uint32_t swap4 "__builtin_bswap32" (uint32_t) noexcept nogil
    uint64_t swap8 "__builtin_bswap64" (uint64_t) noexcept nogil

SOURCE = 'da8dd9e4d6e3650b'
"""What this was compiled from: a module built from other specifications is not used."""


cdef bint grow(void **column, size_t size, size_t room) noexcept nogil:
    """Whether a column could be given room for so many elements."""
    cdef void *larger = realloc(column[0], size * room)
    if larger == NULL:
        return False
    column[0] = larger
    return True


cdef bint read_leveldb_varint(const uint8_t *p, int64_t *at, int64_t end, uint64_t *value) noexcept nogil:
    cdef uint64_t group0, group1, group2, group3, group4, group5, group6, group7, group8, group9
    if at[0] >= end:
        return False
    group0 = p[at[0]]
    if group0 < 0x80:
        value[0] = group0
        at[0] += 1
        return True
    if at[0] + 1 >= end:
        return False
    group1 = p[at[0] + 1]
    if group1 < 0x80:
        value[0] = group0 % 0x80 + 0x80 * group1
        at[0] += 2
        return True
    if at[0] + 2 >= end:
        return False
    group2 = p[at[0] + 2]
    if group2 < 0x80:
        value[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * group2)
        at[0] += 3
        return True
    if at[0] + 3 >= end:
        return False
    group3 = p[at[0] + 3]
    if group3 < 0x80:
        value[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * group3))
        at[0] += 4
        return True
    if at[0] + 4 >= end:
        return False
    group4 = p[at[0] + 4]
    if group4 < 0x80:
        value[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * group4)))
        at[0] += 5
        return True
    if at[0] + 5 >= end:
        return False
    group5 = p[at[0] + 5]
    if group5 < 0x80:
        value[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * (group4 % 0x80 + 0x80 * group5))))
        at[0] += 6
        return True
    if at[0] + 6 >= end:
        return False
    group6 = p[at[0] + 6]
    if group6 < 0x80:
        value[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * (group4 % 0x80 + 0x80 * (group5 % 0x80 + 0x80 * group6)))))
        at[0] += 7
        return True
    if at[0] + 7 >= end:
        return False
    group7 = p[at[0] + 7]
    if group7 < 0x80:
        value[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * (group4 % 0x80 + 0x80 * (group5 % 0x80 + 0x80 * (group6 % 0x80 + 0x80 * group7))))))
        at[0] += 8
        return True
    if at[0] + 8 >= end:
        return False
    group8 = p[at[0] + 8]
    if group8 < 0x80:
        value[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * (group4 % 0x80 + 0x80 * (group5 % 0x80 + 0x80 * (group6 % 0x80 + 0x80 * (group7 % 0x80 + 0x80 * group8)))))))
        at[0] += 9
        return True
    if at[0] + 9 >= end:
        return False
    group9 = p[at[0] + 9]
    if not (group9 <= 1):
        return False
    value[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * (group4 % 0x80 + 0x80 * (group5 % 0x80 + 0x80 * (group6 % 0x80 + 0x80 * (group7 % 0x80 + 0x80 * (group8 % 0x80 + 0x80 * group9))))))))
    at[0] += 10
    return True


cdef bint read_uleb128(const uint8_t *p, int64_t *at, int64_t end, uint64_t *value) noexcept nogil:
    cdef uint64_t group0, group1, group2, group3, group4, group5, group6, group7, group8, group9
    if at[0] >= end:
        return False
    group0 = p[at[0]]
    if group0 < 0x80:
        value[0] = group0
        at[0] += 1
        return True
    if at[0] + 1 >= end:
        return False
    group1 = p[at[0] + 1]
    if not (group1 >= 1):
        return False
    if group1 < 0x80:
        value[0] = group0 % 0x80 + 0x80 * group1
        at[0] += 2
        return True
    if at[0] + 2 >= end:
        return False
    group2 = p[at[0] + 2]
    if not (group2 >= 1):
        return False
    if group2 < 0x80:
        value[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * group2)
        at[0] += 3
        return True
    if at[0] + 3 >= end:
        return False
    group3 = p[at[0] + 3]
    if not (group3 >= 1):
        return False
    if group3 < 0x80:
        value[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * group3))
        at[0] += 4
        return True
    if at[0] + 4 >= end:
        return False
    group4 = p[at[0] + 4]
    if not (group4 >= 1):
        return False
    if group4 < 0x80:
        value[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * group4)))
        at[0] += 5
        return True
    if at[0] + 5 >= end:
        return False
    group5 = p[at[0] + 5]
    if not (group5 >= 1):
        return False
    if group5 < 0x80:
        value[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * (group4 % 0x80 + 0x80 * group5))))
        at[0] += 6
        return True
    if at[0] + 6 >= end:
        return False
    group6 = p[at[0] + 6]
    if not (group6 >= 1):
        return False
    if group6 < 0x80:
        value[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * (group4 % 0x80 + 0x80 * (group5 % 0x80 + 0x80 * group6)))))
        at[0] += 7
        return True
    if at[0] + 7 >= end:
        return False
    group7 = p[at[0] + 7]
    if not (group7 >= 1):
        return False
    if group7 < 0x80:
        value[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * (group4 % 0x80 + 0x80 * (group5 % 0x80 + 0x80 * (group6 % 0x80 + 0x80 * group7))))))
        at[0] += 8
        return True
    if at[0] + 8 >= end:
        return False
    group8 = p[at[0] + 8]
    if not (group8 >= 1):
        return False
    if group8 < 0x80:
        value[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * (group4 % 0x80 + 0x80 * (group5 % 0x80 + 0x80 * (group6 % 0x80 + 0x80 * (group7 % 0x80 + 0x80 * group8)))))))
        at[0] += 9
        return True
    if at[0] + 9 >= end:
        return False
    group9 = p[at[0] + 9]
    if not (group9 == 1):
        return False
    value[0] = group0 % 0x80 + 0x80 * (group1 % 0x80 + 0x80 * (group2 % 0x80 + 0x80 * (group3 % 0x80 + 0x80 * (group4 % 0x80 + 0x80 * (group5 % 0x80 + 0x80 * (group6 % 0x80 + 0x80 * (group7 % 0x80 + 0x80 * (group8 % 0x80 + 0x80 * group9))))))))
    at[0] += 10
    return True


def clp_s_dictionary_entries_entry(columns, const uint8_t[::1] view, int64_t start, int64_t stop, int64_t count):
    """The elements from `start` on that fit, into `columns`; returns where the rest begins."""
    cdef const uint8_t *p
    cdef int64_t at = start, first = start, rows = 0, room = 0
    cdef wide size
    cdef bint full = True
    cdef uint64_t len_value_ = 0
    cdef int64_t at_value_ = 0
    cdef int64_t end_value_ = 0
    cdef int64_t *c_at = NULL
    cdef int64_t *c_value_start = NULL
    cdef int64_t *c_value_end = NULL
    if view.shape[0] == 0 or stop > view.shape[0] or start < 0:
        return start
    p = &view[0]
    cdef int64_t end = stop
    with nogil:
        while (at < end) if count < 0 else (rows < count):
            first = at
            if rows == room:
                room = room * 2 if room else 64
                if not grow(<void **> &c_at, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_value_start, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_value_end, sizeof(int64_t), room):
                    full = False
                    break
            if end - at < 8:
                break
            memcpy(&len_value_, p + at, 8)
            at += 8
            if not (<wide> len_value_ <= <wide> (end - at)):
                break
            at_value_ = at
            size = <wide> len_value_
            if size < 0 or size > <wide> (end - at):
                break
            at += <int64_t> size
            end_value_ = at
            c_at[rows] = first
            c_value_start[rows] = at_value_
            c_value_end[rows] = end_value_
            rows += 1
            first = at
    try:
        if not full:
            raise MemoryError
        if rows:
            columns.at.frombytes((<char *> c_at)[: rows * sizeof(int64_t)])
            columns.value_start.frombytes((<char *> c_value_start)[: rows * sizeof(int64_t)])
            columns.value_end.frombytes((<char *> c_value_end)[: rows * sizeof(int64_t)])
    finally:
        free(c_at)
        free(c_value_start)
        free(c_value_end)
    return first


def clp_s_schema_ids_entry(columns, const uint8_t[::1] view, int64_t start, int64_t stop, int64_t count):
    """The elements from `start` on that fit, into `columns`; returns where the rest begins."""
    cdef const uint8_t *p
    cdef int64_t at = start, first = start, rows = 0, room = 0
    cdef wide size
    cdef bint full = True
    cdef int32_t value_ = 0
    cdef int64_t *c_at = NULL
    cdef int32_t *c_value = NULL
    if view.shape[0] == 0 or stop > view.shape[0] or start < 0:
        return start
    p = &view[0]
    cdef int64_t end = stop
    with nogil:
        while (at < end) if count < 0 else (rows < count):
            first = at
            if rows == room:
                room = room * 2 if room else 64
                if not grow(<void **> &c_at, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_value, sizeof(int32_t), room):
                    full = False
                    break
            if end - at < 4:
                break
            memcpy(&value_, p + at, 4)
            at += 4
            c_at[rows] = first
            c_value[rows] = value_
            rows += 1
            first = at
    try:
        if not full:
            raise MemoryError
        if rows:
            columns.at.frombytes((<char *> c_at)[: rows * sizeof(int64_t)])
            columns.value.frombytes((<char *> c_value)[: rows * sizeof(int32_t)])
    finally:
        free(c_at)
        free(c_value)
    return first


def clp_s_schema_tree_node(columns, const uint8_t[::1] view, int64_t start, int64_t stop, int64_t count):
    """The elements from `start` on that fit, into `columns`; returns where the rest begins."""
    cdef const uint8_t *p
    cdef int64_t at = start, first = start, rows = 0, room = 0
    cdef wide size
    cdef bint full = True
    cdef int32_t parent_id_ = 0
    cdef uint64_t len_key_ = 0
    cdef int64_t at_key_ = 0
    cdef int64_t end_key_ = 0
    cdef uint8_t type_ = 0
    cdef int64_t *c_at = NULL
    cdef int32_t *c_parent_id = NULL
    cdef int64_t *c_key_start = NULL
    cdef int64_t *c_key_end = NULL
    cdef uint8_t *c_type = NULL
    if view.shape[0] == 0 or stop > view.shape[0] or start < 0:
        return start
    p = &view[0]
    cdef int64_t end = stop
    with nogil:
        while (at < end) if count < 0 else (rows < count):
            first = at
            if rows == room:
                room = room * 2 if room else 64
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
            if end - at < 4:
                break
            memcpy(&parent_id_, p + at, 4)
            at += 4
            if end - at < 8:
                break
            memcpy(&len_key_, p + at, 8)
            at += 8
            if not (<wide> len_key_ <= <wide> (end - at)):
                break
            at_key_ = at
            size = <wide> len_key_
            if size < 0 or size > <wide> (end - at):
                break
            at += <int64_t> size
            end_key_ = at
            if end - at < 1:
                break
            memcpy(&type_, p + at, 1)
            at += 1
            c_at[rows] = first
            c_parent_id[rows] = parent_id_
            c_key_start[rows] = at_key_
            c_key_end[rows] = end_key_
            c_type[rows] = type_
            rows += 1
            first = at
    try:
        if not full:
            raise MemoryError
        if rows:
            columns.at.frombytes((<char *> c_at)[: rows * sizeof(int64_t)])
            columns.parent_id.frombytes((<char *> c_parent_id)[: rows * sizeof(int32_t)])
            columns.key_start.frombytes((<char *> c_key_start)[: rows * sizeof(int64_t)])
            columns.key_end.frombytes((<char *> c_key_end)[: rows * sizeof(int64_t)])
            columns.type.frombytes((<char *> c_type)[: rows * sizeof(uint8_t)])
    finally:
        free(c_at)
        free(c_parent_id)
        free(c_key_start)
        free(c_key_end)
        free(c_type)
    return first


def clp_s_table_metadata_stream(columns, const uint8_t[::1] view, int64_t start, int64_t stop, int64_t count):
    """The elements from `start` on that fit, into `columns`; returns where the rest begins."""
    cdef const uint8_t *p
    cdef int64_t at = start, first = start, rows = 0, room = 0
    cdef wide size
    cdef bint full = True
    cdef uint64_t ofs_stream_ = 0
    cdef uint64_t len_uncompressed_ = 0
    cdef int64_t *c_at = NULL
    cdef uint64_t *c_ofs_stream = NULL
    cdef uint64_t *c_len_uncompressed = NULL
    if view.shape[0] == 0 or stop > view.shape[0] or start < 0:
        return start
    p = &view[0]
    cdef int64_t end = stop
    with nogil:
        while (at < end) if count < 0 else (rows < count):
            first = at
            if rows == room:
                room = room * 2 if room else 64
                if not grow(<void **> &c_at, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_ofs_stream, sizeof(uint64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_len_uncompressed, sizeof(uint64_t), room):
                    full = False
                    break
            if end - at < 8:
                break
            memcpy(&ofs_stream_, p + at, 8)
            at += 8
            if end - at < 8:
                break
            memcpy(&len_uncompressed_, p + at, 8)
            at += 8
            c_at[rows] = first
            c_ofs_stream[rows] = ofs_stream_
            c_len_uncompressed[rows] = len_uncompressed_
            rows += 1
            first = at
    try:
        if not full:
            raise MemoryError
        if rows:
            columns.at.frombytes((<char *> c_at)[: rows * sizeof(int64_t)])
            columns.ofs_stream.frombytes((<char *> c_ofs_stream)[: rows * sizeof(uint64_t)])
            columns.len_uncompressed.frombytes((<char *> c_len_uncompressed)[: rows * sizeof(uint64_t)])
    finally:
        free(c_at)
        free(c_ofs_stream)
        free(c_len_uncompressed)
    return first


def clp_s_table_metadata_table(columns, const uint8_t[::1] view, int64_t start, int64_t stop, int64_t count):
    """The elements from `start` on that fit, into `columns`; returns where the rest begins."""
    cdef const uint8_t *p
    cdef int64_t at = start, first = start, rows = 0, room = 0
    cdef wide size
    cdef bint full = True
    cdef uint64_t stream_id_ = 0
    cdef uint64_t ofs_table_ = 0
    cdef int32_t schema_id_ = 0
    cdef uint64_t num_messages_ = 0
    cdef int64_t *c_at = NULL
    cdef uint64_t *c_stream_id = NULL
    cdef uint64_t *c_ofs_table = NULL
    cdef int32_t *c_schema_id = NULL
    cdef uint64_t *c_num_messages = NULL
    if view.shape[0] == 0 or stop > view.shape[0] or start < 0:
        return start
    p = &view[0]
    cdef int64_t end = stop
    with nogil:
        while (at < end) if count < 0 else (rows < count):
            first = at
            if rows == room:
                room = room * 2 if room else 64
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
            if end - at < 8:
                break
            memcpy(&stream_id_, p + at, 8)
            at += 8
            if end - at < 8:
                break
            memcpy(&ofs_table_, p + at, 8)
            at += 8
            if end - at < 4:
                break
            memcpy(&schema_id_, p + at, 4)
            at += 4
            if end - at < 8:
                break
            memcpy(&num_messages_, p + at, 8)
            at += 8
            c_at[rows] = first
            c_stream_id[rows] = stream_id_
            c_ofs_table[rows] = ofs_table_
            c_schema_id[rows] = schema_id_
            c_num_messages[rows] = num_messages_
            rows += 1
            first = at
    try:
        if not full:
            raise MemoryError
        if rows:
            columns.at.frombytes((<char *> c_at)[: rows * sizeof(int64_t)])
            columns.stream_id.frombytes((<char *> c_stream_id)[: rows * sizeof(uint64_t)])
            columns.ofs_table.frombytes((<char *> c_ofs_table)[: rows * sizeof(uint64_t)])
            columns.schema_id.frombytes((<char *> c_schema_id)[: rows * sizeof(int32_t)])
            columns.num_messages.frombytes((<char *> c_num_messages)[: rows * sizeof(uint64_t)])
    finally:
        free(c_at)
        free(c_stream_id)
        free(c_ofs_table)
        free(c_schema_id)
        free(c_num_messages)
    return first


def leveldb_block_entry(columns, const uint8_t[::1] view, int64_t start, int64_t stop, int64_t count):
    """The elements from `start` on that fit, into `columns`; returns where the rest begins."""
    cdef const uint8_t *p
    cdef int64_t at = start, first = start, rows = 0, room = 0
    cdef wide size
    cdef bint full = True
    cdef uint64_t len_shared_ = 0
    cdef uint64_t len_key_suffix_ = 0
    cdef uint64_t len_value_ = 0
    cdef int64_t at_key_suffix_ = 0
    cdef int64_t end_key_suffix_ = 0
    cdef int64_t value_rest_ = 0
    cdef int64_t value_at_data_ = 0
    cdef int64_t value_end_data_ = 0
    cdef int64_t *c_at = NULL
    cdef uint64_t *c_len_shared = NULL
    cdef uint64_t *c_len_value = NULL
    cdef int64_t *c_key_suffix_start = NULL
    cdef int64_t *c_key_suffix_end = NULL
    cdef int64_t *c_value_data_start = NULL
    cdef int64_t *c_value_data_end = NULL
    if view.shape[0] == 0 or stop > view.shape[0] or start < 0:
        return start
    p = &view[0]
    cdef int64_t end = stop
    with nogil:
        while (at < end) if count < 0 else (rows < count):
            first = at
            if rows == room:
                room = room * 2 if room else 64
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
            if at < end and p[at] < 0x80:
                len_shared_ = p[at]
                at += 1
            elif not read_leveldb_varint(p, &at, end, &len_shared_):
                break
            if at < end and p[at] < 0x80:
                len_key_suffix_ = p[at]
                at += 1
            elif not read_leveldb_varint(p, &at, end, &len_key_suffix_):
                break
            if not (<wide> len_key_suffix_ <= <wide> (end - at)):
                break
            if at < end and p[at] < 0x80:
                len_value_ = p[at]
                at += 1
            elif not read_leveldb_varint(p, &at, end, &len_value_):
                break
            if not (<wide> len_value_ <= <wide> (end - at) - <wide> len_key_suffix_):
                break
            at_key_suffix_ = at
            size = <wide> len_key_suffix_
            if size < 0 or size > <wide> (end - at):
                break
            at += <int64_t> size
            end_key_suffix_ = at
            size = <wide> len_value_
            if size < 0 or size > <wide> (end - at):
                break
            value_rest_ = end
            end = at + <int64_t> size
            value_at_data_ = at
            at = max(at, end)
            value_end_data_ = at
            at = end
            end = value_rest_
            c_at[rows] = first
            c_len_shared[rows] = len_shared_
            c_len_value[rows] = len_value_
            c_key_suffix_start[rows] = at_key_suffix_
            c_key_suffix_end[rows] = end_key_suffix_
            c_value_data_start[rows] = value_at_data_
            c_value_data_end[rows] = value_end_data_
            rows += 1
            first = at
    try:
        if not full:
            raise MemoryError
        if rows:
            columns.at.frombytes((<char *> c_at)[: rows * sizeof(int64_t)])
            columns.len_shared.frombytes((<char *> c_len_shared)[: rows * sizeof(uint64_t)])
            columns.len_value.frombytes((<char *> c_len_value)[: rows * sizeof(uint64_t)])
            columns.key_suffix_start.frombytes((<char *> c_key_suffix_start)[: rows * sizeof(int64_t)])
            columns.key_suffix_end.frombytes((<char *> c_key_suffix_end)[: rows * sizeof(int64_t)])
            columns.value_data_start.frombytes((<char *> c_value_data_start)[: rows * sizeof(int64_t)])
            columns.value_data_end.frombytes((<char *> c_value_data_end)[: rows * sizeof(int64_t)])
    finally:
        free(c_at)
        free(c_len_shared)
        free(c_len_value)
        free(c_key_suffix_start)
        free(c_key_suffix_end)
        free(c_value_data_start)
        free(c_value_data_end)
    return first


def leveldb_index_delta_entry(columns, const uint8_t[::1] view, int64_t start, int64_t stop, int64_t count):
    """The elements from `start` on that fit, into `columns`; returns where the rest begins."""
    cdef const uint8_t *p
    cdef int64_t at = start, first = start, rows = 0, room = 0
    cdef wide size
    cdef bint full = True
    cdef uint64_t len_shared_ = 0
    cdef uint64_t len_key_suffix_ = 0
    cdef int64_t at_key_suffix_ = 0
    cdef int64_t end_key_suffix_ = 0
    cdef int64_t handle_rest_ = 0
    cdef uint64_t handle_ofs_block_ = 0
    cdef uint64_t handle_len_block_ = 0
    cdef uint64_t raw_delta_ = 0
    cdef int64_t *c_at = NULL
    cdef uint64_t *c_len_shared = NULL
    cdef int64_t *c_key_suffix_start = NULL
    cdef int64_t *c_key_suffix_end = NULL
    cdef uint64_t *c_handle_ofs_block = NULL
    cdef uint64_t *c_handle_len_block = NULL
    cdef uint64_t *c_raw_delta = NULL
    if view.shape[0] == 0 or stop > view.shape[0] or start < 0:
        return start
    p = &view[0]
    cdef int64_t end = stop
    with nogil:
        while (at < end) if count < 0 else (rows < count):
            first = at
            if rows == room:
                room = room * 2 if room else 64
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
            if at < end and p[at] < 0x80:
                len_shared_ = p[at]
                at += 1
            elif not read_leveldb_varint(p, &at, end, &len_shared_):
                break
            if at < end and p[at] < 0x80:
                len_key_suffix_ = p[at]
                at += 1
            elif not read_leveldb_varint(p, &at, end, &len_key_suffix_):
                break
            if not (<wide> len_key_suffix_ <= <wide> (end - at)):
                break
            at_key_suffix_ = at
            size = <wide> len_key_suffix_
            if size < 0 or size > <wide> (end - at):
                break
            at += <int64_t> size
            end_key_suffix_ = at
            if <wide> len_shared_ == <wide> 0:
                if at < end and p[at] < 0x80:
                    handle_ofs_block_ = p[at]
                    at += 1
                elif not read_leveldb_varint(p, &at, end, &handle_ofs_block_):
                    break
                if at < end and p[at] < 0x80:
                    handle_len_block_ = p[at]
                    at += 1
                elif not read_leveldb_varint(p, &at, end, &handle_len_block_):
                    break
            else:
                handle_ofs_block_ = 0
                handle_len_block_ = 0
            if <wide> len_shared_ != <wide> 0:
                if at < end and p[at] < 0x80:
                    raw_delta_ = p[at]
                    at += 1
                elif not read_leveldb_varint(p, &at, end, &raw_delta_):
                    break
            else:
                raw_delta_ = 0
            c_at[rows] = first
            c_len_shared[rows] = len_shared_
            c_key_suffix_start[rows] = at_key_suffix_
            c_key_suffix_end[rows] = end_key_suffix_
            c_handle_ofs_block[rows] = handle_ofs_block_
            c_handle_len_block[rows] = handle_len_block_
            c_raw_delta[rows] = raw_delta_
            rows += 1
            first = at
    try:
        if not full:
            raise MemoryError
        if rows:
            columns.at.frombytes((<char *> c_at)[: rows * sizeof(int64_t)])
            columns.len_shared.frombytes((<char *> c_len_shared)[: rows * sizeof(uint64_t)])
            columns.key_suffix_start.frombytes((<char *> c_key_suffix_start)[: rows * sizeof(int64_t)])
            columns.key_suffix_end.frombytes((<char *> c_key_suffix_end)[: rows * sizeof(int64_t)])
            columns.handle_ofs_block.frombytes((<char *> c_handle_ofs_block)[: rows * sizeof(uint64_t)])
            columns.handle_len_block.frombytes((<char *> c_handle_len_block)[: rows * sizeof(uint64_t)])
            columns.raw_delta.frombytes((<char *> c_raw_delta)[: rows * sizeof(uint64_t)])
    finally:
        free(c_at)
        free(c_len_shared)
        free(c_key_suffix_start)
        free(c_key_suffix_end)
        free(c_handle_ofs_block)
        free(c_handle_len_block)
        free(c_raw_delta)
    return first


def leveldb_write_batch_operation(columns, const uint8_t[::1] view, int64_t start, int64_t stop, int64_t count):
    """The elements from `start` on that fit, into `columns`; returns where the rest begins."""
    cdef const uint8_t *p
    cdef int64_t at = start, first = start, rows = 0, room = 0
    cdef wide size
    cdef bint full = True
    cdef uint8_t operation_type_ = 0
    cdef uint64_t column_family_ = 0
    cdef int64_t key_rest_ = 0
    cdef uint64_t key_len_data_ = 0
    cdef int64_t key_at_data_ = 0
    cdef int64_t key_end_data_ = 0
    cdef int64_t value_rest_ = 0
    cdef uint64_t value_len_data_ = 0
    cdef int64_t value_at_data_ = 0
    cdef int64_t value_end_data_ = 0
    cdef int64_t commit_timestamp_rest_ = 0
    cdef uint64_t commit_timestamp_len_data_ = 0
    cdef int64_t commit_timestamp_at_data_ = 0
    cdef int64_t commit_timestamp_end_data_ = 0
    cdef int64_t transaction_name_rest_ = 0
    cdef uint64_t transaction_name_len_data_ = 0
    cdef int64_t transaction_name_at_data_ = 0
    cdef int64_t transaction_name_end_data_ = 0
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
    if view.shape[0] == 0 or stop > view.shape[0] or start < 0:
        return start
    p = &view[0]
    cdef int64_t end = stop
    with nogil:
        while (at < end) if count < 0 else (rows < count):
            first = at
            if rows == room:
                room = room * 2 if room else 64
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
            if end - at < 1:
                break
            memcpy(&operation_type_, p + at, 1)
            at += 1
            if not ((((((((((((((((((((((((<wide> operation_type_ == <wide> 0 or <wide> operation_type_ == <wide> 1) or <wide> operation_type_ == <wide> 2) or <wide> operation_type_ == <wide> 3) or <wide> operation_type_ == <wide> 4) or <wide> operation_type_ == <wide> 5) or <wide> operation_type_ == <wide> 6) or <wide> operation_type_ == <wide> 7) or <wide> operation_type_ == <wide> 8) or <wide> operation_type_ == <wide> 9) or <wide> operation_type_ == <wide> 10) or <wide> operation_type_ == <wide> 11) or <wide> operation_type_ == <wide> 12) or <wide> operation_type_ == <wide> 13) or <wide> operation_type_ == <wide> 14) or <wide> operation_type_ == <wide> 15) or <wide> operation_type_ == <wide> 16) or <wide> operation_type_ == <wide> 17) or <wide> operation_type_ == <wide> 18) or <wide> operation_type_ == <wide> 19) or <wide> operation_type_ == <wide> 21) or <wide> operation_type_ == <wide> 22) or <wide> operation_type_ == <wide> 23) or <wide> operation_type_ == <wide> 24) or <wide> operation_type_ == <wide> 25):
                break
            if (((((((<wide> operation_type_ == <wide> 4 or <wide> operation_type_ == <wide> 5) or <wide> operation_type_ == <wide> 6) or <wide> operation_type_ == <wide> 8) or <wide> operation_type_ == <wide> 14) or <wide> operation_type_ == <wide> 16) or <wide> operation_type_ == <wide> 23) or <wide> operation_type_ == <wide> 25):
                if at < end and p[at] < 0x80:
                    column_family_ = p[at]
                    at += 1
                elif not read_leveldb_varint(p, &at, end, &column_family_):
                    break
            else:
                column_family_ = 0
            if ((((<wide> operation_type_ != <wide> 9 and <wide> operation_type_ != <wide> 13) and <wide> operation_type_ != <wide> 18) and <wide> operation_type_ != <wide> 19) and not (((<wide> operation_type_ == <wide> 10 or <wide> operation_type_ == <wide> 11) or <wide> operation_type_ == <wide> 12) or <wide> operation_type_ == <wide> 21)):
                if at < end and p[at] < 0x80:
                    key_len_data_ = p[at]
                    at += 1
                elif not read_leveldb_varint(p, &at, end, &key_len_data_):
                    break
                if not (<wide> key_len_data_ <= <wide> (end - at)):
                    break
                key_at_data_ = at
                size = <wide> key_len_data_
                if size < 0 or size > <wide> (end - at):
                    break
                at += <int64_t> size
                key_end_data_ = at
            else:
                key_at_data_ = 0
                key_end_data_ = 0
            if (((((((((((<wide> operation_type_ == <wide> 1 or <wide> operation_type_ == <wide> 2) or <wide> operation_type_ == <wide> 15) or <wide> operation_type_ == <wide> 17) or <wide> operation_type_ == <wide> 22) or <wide> operation_type_ == <wide> 24) or <wide> operation_type_ == <wide> 5) or <wide> operation_type_ == <wide> 6) or <wide> operation_type_ == <wide> 14) or <wide> operation_type_ == <wide> 16) or <wide> operation_type_ == <wide> 23) or <wide> operation_type_ == <wide> 25):
                if at < end and p[at] < 0x80:
                    value_len_data_ = p[at]
                    at += 1
                elif not read_leveldb_varint(p, &at, end, &value_len_data_):
                    break
                if not (<wide> value_len_data_ <= <wide> (end - at)):
                    break
                value_at_data_ = at
                size = <wide> value_len_data_
                if size < 0 or size > <wide> (end - at):
                    break
                at += <int64_t> size
                value_end_data_ = at
            else:
                value_at_data_ = 0
                value_end_data_ = 0
            if <wide> operation_type_ == <wide> 21:
                if at < end and p[at] < 0x80:
                    commit_timestamp_len_data_ = p[at]
                    at += 1
                elif not read_leveldb_varint(p, &at, end, &commit_timestamp_len_data_):
                    break
                if not (<wide> commit_timestamp_len_data_ <= <wide> (end - at)):
                    break
                commit_timestamp_at_data_ = at
                size = <wide> commit_timestamp_len_data_
                if size < 0 or size > <wide> (end - at):
                    break
                at += <int64_t> size
                commit_timestamp_end_data_ = at
            else:
                commit_timestamp_at_data_ = 0
                commit_timestamp_end_data_ = 0
            if (((<wide> operation_type_ == <wide> 10 or <wide> operation_type_ == <wide> 11) or <wide> operation_type_ == <wide> 12) or <wide> operation_type_ == <wide> 21):
                if at < end and p[at] < 0x80:
                    transaction_name_len_data_ = p[at]
                    at += 1
                elif not read_leveldb_varint(p, &at, end, &transaction_name_len_data_):
                    break
                if not (<wide> transaction_name_len_data_ <= <wide> (end - at)):
                    break
                transaction_name_at_data_ = at
                size = <wide> transaction_name_len_data_
                if size < 0 or size > <wide> (end - at):
                    break
                at += <int64_t> size
                transaction_name_end_data_ = at
            else:
                transaction_name_at_data_ = 0
                transaction_name_end_data_ = 0
            c_at[rows] = first
            c_operation_type[rows] = operation_type_
            c_column_family[rows] = column_family_
            c_key_data_start[rows] = key_at_data_
            c_key_data_end[rows] = key_end_data_
            c_value_data_start[rows] = value_at_data_
            c_value_data_end[rows] = value_end_data_
            c_commit_timestamp_data_start[rows] = commit_timestamp_at_data_
            c_commit_timestamp_data_end[rows] = commit_timestamp_end_data_
            c_transaction_name_data_start[rows] = transaction_name_at_data_
            c_transaction_name_data_end[rows] = transaction_name_end_data_
            rows += 1
            first = at
    try:
        if not full:
            raise MemoryError
        if rows:
            columns.at.frombytes((<char *> c_at)[: rows * sizeof(int64_t)])
            columns.operation_type.frombytes((<char *> c_operation_type)[: rows * sizeof(uint8_t)])
            columns.column_family.frombytes((<char *> c_column_family)[: rows * sizeof(uint64_t)])
            columns.key_data_start.frombytes((<char *> c_key_data_start)[: rows * sizeof(int64_t)])
            columns.key_data_end.frombytes((<char *> c_key_data_end)[: rows * sizeof(int64_t)])
            columns.value_data_start.frombytes((<char *> c_value_data_start)[: rows * sizeof(int64_t)])
            columns.value_data_end.frombytes((<char *> c_value_data_end)[: rows * sizeof(int64_t)])
            columns.commit_timestamp_data_start.frombytes((<char *> c_commit_timestamp_data_start)[: rows * sizeof(int64_t)])
            columns.commit_timestamp_data_end.frombytes((<char *> c_commit_timestamp_data_end)[: rows * sizeof(int64_t)])
            columns.transaction_name_data_start.frombytes((<char *> c_transaction_name_data_start)[: rows * sizeof(int64_t)])
            columns.transaction_name_data_end.frombytes((<char *> c_transaction_name_data_end)[: rows * sizeof(int64_t)])
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
    return first


def zs_data_block_record(columns, const uint8_t[::1] view, int64_t start, int64_t stop, int64_t count):
    """The elements from `start` on that fit, into `columns`; returns where the rest begins."""
    cdef const uint8_t *p
    cdef int64_t at = start, first = start, rows = 0, room = 0
    cdef wide size
    cdef bint full = True
    cdef uint64_t len_data_ = 0
    cdef int64_t at_data_ = 0
    cdef int64_t end_data_ = 0
    cdef int64_t *c_at = NULL
    cdef int64_t *c_data_start = NULL
    cdef int64_t *c_data_end = NULL
    if view.shape[0] == 0 or stop > view.shape[0] or start < 0:
        return start
    p = &view[0]
    cdef int64_t end = stop
    with nogil:
        while (at < end) if count < 0 else (rows < count):
            first = at
            if rows == room:
                room = room * 2 if room else 64
                if not grow(<void **> &c_at, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_data_start, sizeof(int64_t), room):
                    full = False
                    break
                if not grow(<void **> &c_data_end, sizeof(int64_t), room):
                    full = False
                    break
            if at < end and p[at] < 0x80:
                len_data_ = p[at]
                at += 1
            elif not read_uleb128(p, &at, end, &len_data_):
                break
            if not (<wide> len_data_ <= <wide> (end - at)):
                break
            at_data_ = at
            size = <wide> len_data_
            if size < 0 or size > <wide> (end - at):
                break
            at += <int64_t> size
            end_data_ = at
            c_at[rows] = first
            c_data_start[rows] = at_data_
            c_data_end[rows] = end_data_
            rows += 1
            first = at
    try:
        if not full:
            raise MemoryError
        if rows:
            columns.at.frombytes((<char *> c_at)[: rows * sizeof(int64_t)])
            columns.data_start.frombytes((<char *> c_data_start)[: rows * sizeof(int64_t)])
            columns.data_end.frombytes((<char *> c_data_end)[: rows * sizeof(int64_t)])
    finally:
        free(c_at)
        free(c_data_start)
        free(c_data_end)
    return first


def zs_index_block_entry(columns, const uint8_t[::1] view, int64_t start, int64_t stop, int64_t count):
    """The elements from `start` on that fit, into `columns`; returns where the rest begins."""
    cdef const uint8_t *p
    cdef int64_t at = start, first = start, rows = 0, room = 0
    cdef wide size
    cdef bint full = True
    cdef uint64_t len_key_ = 0
    cdef int64_t at_key_ = 0
    cdef int64_t end_key_ = 0
    cdef uint64_t ofs_block_ = 0
    cdef uint64_t len_block_ = 0
    cdef int64_t *c_at = NULL
    cdef int64_t *c_key_start = NULL
    cdef int64_t *c_key_end = NULL
    cdef uint64_t *c_ofs_block = NULL
    cdef uint64_t *c_len_block = NULL
    if view.shape[0] == 0 or stop > view.shape[0] or start < 0:
        return start
    p = &view[0]
    cdef int64_t end = stop
    with nogil:
        while (at < end) if count < 0 else (rows < count):
            first = at
            if rows == room:
                room = room * 2 if room else 64
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
            if at < end and p[at] < 0x80:
                len_key_ = p[at]
                at += 1
            elif not read_uleb128(p, &at, end, &len_key_):
                break
            if not (<wide> len_key_ <= <wide> (end - at)):
                break
            at_key_ = at
            size = <wide> len_key_
            if size < 0 or size > <wide> (end - at):
                break
            at += <int64_t> size
            end_key_ = at
            if at < end and p[at] < 0x80:
                ofs_block_ = p[at]
                at += 1
            elif not read_uleb128(p, &at, end, &ofs_block_):
                break
            if at < end and p[at] < 0x80:
                len_block_ = p[at]
                at += 1
            elif not read_uleb128(p, &at, end, &len_block_):
                break
            c_at[rows] = first
            c_key_start[rows] = at_key_
            c_key_end[rows] = end_key_
            c_ofs_block[rows] = ofs_block_
            c_len_block[rows] = len_block_
            rows += 1
            first = at
    try:
        if not full:
            raise MemoryError
        if rows:
            columns.at.frombytes((<char *> c_at)[: rows * sizeof(int64_t)])
            columns.key_start.frombytes((<char *> c_key_start)[: rows * sizeof(int64_t)])
            columns.key_end.frombytes((<char *> c_key_end)[: rows * sizeof(int64_t)])
            columns.ofs_block.frombytes((<char *> c_ofs_block)[: rows * sizeof(uint64_t)])
            columns.len_block.frombytes((<char *> c_len_block)[: rows * sizeof(uint64_t)])
    finally:
        free(c_at)
        free(c_key_start)
        free(c_key_end)
        free(c_ofs_block)
        free(c_len_block)
    return first

