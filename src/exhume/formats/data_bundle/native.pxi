# The DataBundle part of the kernel: rows of an index.  `exhume.formats.data_bundle.pykernel` is the pure-Python form,
# with the documentation.  A key has a directory and a name, each with a marker after it: 0 is the end, and 0xff says that
# a zero byte and more of the string follow.

cdef enum:
    BUNDLE_MOST_PATH = 4096  # bytes; longer paths are left to Python
    BUNDLE_NUMBERS = 6  # field numbers below this are read here; a row with others is left to Python


cdef extern from "Python.h":
    object bundle_text "PyUnicode_DecodeUTF8"(const char*, Py_ssize_t, const char*)


cdef int bundle_numbers(const uint8_t *p, int64_t end, uint64_t *found) noexcept nogil:
    """Put the numbers of a Protobuf message into `found`, by field number.

    Returns a bit for each field that is present, or -1 if a field is not a number, or not below `BUNDLE_NUMBERS`.
    """
    cdef int64_t at = 0
    cdef uint64_t key
    cdef int seen = 0
    memset(found, 0, BUNDLE_NUMBERS * sizeof(uint64_t))
    while at < end:
        at = read_leveldb_varint(p, at, end, &key)
        if at < 0 or key & 7 != DATA_BUNDLE_FIELD_WIRE_TYPES_VARINT or key >> 3 == 0 or key >> 3 >= BUNDLE_NUMBERS:
            return -1
        at = read_leveldb_varint(p, at, end, &found[key >> 3])
        if at < 0:
            return -1
        seen |= 1 << (key >> 3)
    return seen


def bundle_file_row(
    bytes key not None, bytes value not None, type row_type not None, type key_type not None,
    type metadata_type not None,
):
    """Return the row of a file or directory as `row_type`, its key as `key_type` and its value as `metadata_type`.

    None if Python has to parse it.
    """
    cdef const uint8_t *p = key
    cdef int64_t end = len(key), start, size
    cdef DataBundleKeyChunk directory, name
    cdef uint64_t found[BUNDLE_NUMBERS]
    cdef char path[BUNDLE_MOST_PATH]
    if end < 1 or end > BUNDLE_MOST_PATH or p[0] != DATA_BUNDLE_KEY_TABLES_FILES:
        return None
    start = read_data_bundle_key_chunk(p, 1, end, &directory)
    if start < 0 or directory.marker or read_data_bundle_key_chunk(p, start, end, &name) != end or name.marker:
        return None
    if bundle_numbers(value, len(value), found) < 0 or found[DATA_BUNDLE_FILE_METADATA_NAMES_CRC32C] >> 32:
        return None
    # The path: directory, without slashes at its beginning, and name.
    start = directory.text_start
    while start < directory.text_end and p[start] == c"/":
        start += 1
    size = directory.text_end - start
    memcpy(path, p + start, size)
    memcpy(path + size, p + name.text_start, name.text_end - name.text_start)
    size += name.text_end - name.text_start
    # The tuples of these types, filled in the order of their fields: `FileKey`, `FileMetadata`, `FileRow`.
    parts = kernel_alloc(<PyTypeObject*>key_type, 2)
    fill_row(parts, 0, key[directory.text_start:directory.text_end])
    fill_row(parts, 1, key[name.text_start:name.text_end])
    meta = kernel_alloc(<PyTypeObject*>metadata_type, 7)
    fill_row(meta, 0, found[DATA_BUNDLE_FILE_METADATA_NAMES_FILE_TYPE])
    fill_row(meta, 1, found[DATA_BUNDLE_FILE_METADATA_NAMES_SHARD_INDEX])
    fill_row(meta, 2, found[DATA_BUNDLE_FILE_METADATA_NAMES_SHARD_UNCOMPRESSED_OFFSET])
    fill_row(meta, 3, found[DATA_BUNDLE_FILE_METADATA_NAMES_UNCOMPRESSED_SIZE])
    fill_row(meta, 4, found[DATA_BUNDLE_FILE_METADATA_NAMES_CRC32C])
    fill_row(meta, 5, None)  # user_data
    fill_row(meta, 6, ())    # unknown
    row = kernel_alloc(<PyTypeObject*>row_type, 3)
    fill_row(row, 0, bundle_text(path, size, "surrogateescape"))
    fill_row(row, 1, meta)
    fill_row(row, 2, parts)
    return row


def bundle_record_row(
    bytes key not None, bytes value not None, type row_type not None, type metadata_type not None,
):
    """Return the row of a record as `row_type`, its value as `metadata_type`; None if Python has to parse it."""
    cdef const uint8_t *p = key
    cdef int64_t end = len(key)
    cdef DataBundleKeyRecordKey parts
    cdef uint64_t found[BUNDLE_NUMBERS]
    cdef int seen = bundle_numbers(value, len(value), found)
    cdef bint placed = seen >> DATA_BUNDLE_RECORD_METADATA_NAMES_SHARD_BYTE_OFFSET & 1
    if seen < 0 or seen >> DATA_BUNDLE_RECORD_METADATA_NAMES_ALL_ZEROS > 1:  # a field with a higher number than all_zeros
        return None
    if placed == (seen >> DATA_BUNDLE_RECORD_METADATA_NAMES_ALL_ZEROS):
        return None  # neither, or both (then the last one counts): left to Python
    if not placed and not found[DATA_BUNDLE_RECORD_METADATA_NAMES_ALL_ZEROS]:
        return None
    if end < 1 or p[0] != DATA_BUNDLE_KEY_TABLES_RECORDS:
        return None
    if read_data_bundle_key_record_key(p, 1, end, &parts) != end:
        return None
    if (
        parts.shard_index != found[DATA_BUNDLE_RECORD_METADATA_NAMES_SHARD_INDEX]
        or parts.shard_uncompressed_offset != found[DATA_BUNDLE_RECORD_METADATA_NAMES_SHARD_UNCOMPRESSED_OFFSET]
    ):
        return None
    # The fields of `RecordMetadata` (shard_index, offset, byte_offset, all_zeros, unknown) and of `RecordRow` (offset,
    # byte_offset, meta).
    offset, place = parts.shard_uncompressed_offset, None
    if placed:
        place = found[DATA_BUNDLE_RECORD_METADATA_NAMES_SHARD_BYTE_OFFSET]
    meta = kernel_alloc(<PyTypeObject*>metadata_type, 5)
    fill_row(meta, 0, parts.shard_index)
    fill_row(meta, 1, offset)
    fill_row(meta, 2, place)
    fill_row(meta, 3, not placed)
    fill_row(meta, 4, ())
    row = kernel_alloc(<PyTypeObject*>row_type, 3)
    fill_row(row, 0, offset)
    fill_row(row, 1, place)
    fill_row(row, 2, meta)
    return row
