# The part of the kernel that writes clp-s: the numbers that its functions share.  `_kernel.pyx` includes the others
# next: buffers and dictionaries that grow (buffers.pxi), the parts of a string (scanning.pxi,
# variables.pxi), and the encoder.
# `exhume.formats.clp_s.write.encoder` has the documentation of the interface, and `pykernel` is the pure-Python
# implementation.

from cpython.bytes cimport PyBytes_AS_STRING as bytes_text, PyBytes_FromStringAndSize as bytes_of, PyBytes_GET_SIZE
from cpython.float cimport PyFloat_AS_DOUBLE
from libc.stdint cimport INT64_MAX, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport calloc, free, qsort, realloc
from libc.string cimport memset

cdef enum:
    # The status that `feed` returns; the same numbers as in `Status` of status.py, where they are explained.
    E_DONE = 0
    E_MORE = 1
    E_SPLIT = 2
    E_FULL = 3
    E_BAD_JSON = 10
    E_BAD_UTF8 = 11
    E_BAD_CONTROL = 12
    E_BAD_SURROGATE = 13
    E_BAD_NUMBER = 14
    E_NOT_OBJECT = 15
    E_TOO_DEEP = 16
    E_BIG_INTEGER = 17
    E_BIG_FLOAT = 18
    E_DUPLICATE_KEY = 19
    E_BAD_TIMESTAMP = 20
    E_CUT_SHORT = 21
    E_TOO_LARGE = 22
    E_BAD_ESCAPE = 23

cdef enum:
    # Node types
    N_INTEGER = CLP_S_SCHEMA_TREE_NODE_TYPE_INTEGER
    N_FLOAT = CLP_S_SCHEMA_TREE_NODE_TYPE_FLOAT
    N_CLP_STRING = CLP_S_SCHEMA_TREE_NODE_TYPE_CLP_STRING
    N_VAR_STRING = CLP_S_SCHEMA_TREE_NODE_TYPE_VAR_STRING
    N_BOOLEAN = CLP_S_SCHEMA_TREE_NODE_TYPE_BOOLEAN
    N_OBJECT = CLP_S_SCHEMA_TREE_NODE_TYPE_OBJECT
    N_UNSTRUCTURED_ARRAY = CLP_S_SCHEMA_TREE_NODE_TYPE_UNSTRUCTURED_ARRAY
    N_NULL_VALUE = CLP_S_SCHEMA_TREE_NODE_TYPE_NULL_VALUE
    N_DATE_STRING = CLP_S_SCHEMA_TREE_NODE_TYPE_DATE_STRING
    N_STRUCTURED_ARRAY = CLP_S_SCHEMA_TREE_NODE_TYPE_STRUCTURED_ARRAY
    N_METADATA = CLP_S_SCHEMA_TREE_NODE_TYPE_METADATA
    N_DELTA_INTEGER = CLP_S_SCHEMA_TREE_NODE_TYPE_DELTA_INTEGER
    N_FORMATTED_FLOAT = CLP_S_SCHEMA_TREE_NODE_TYPE_FORMATTED_FLOAT
    N_DICTIONARY_FLOAT = CLP_S_SCHEMA_TREE_NODE_TYPE_DICTIONARY_FLOAT
    N_TIMESTAMP = CLP_S_SCHEMA_TREE_NODE_TYPE_TIMESTAMP
    N_NODE_TYPES = N_TIMESTAMP + 1

cdef enum:
    # Numbers of the dictionaries
    ENC_VARIABLES, ENC_LOG_TYPES, ENC_ARRAY_TYPES

cdef enum:
    # Placeholder bytes of log types
    M_INTEGER = CLP_S_DICTIONARY_ENTRIES_MARKS_INTEGER
    M_ENTRY = CLP_S_DICTIONARY_ENTRIES_MARKS_DICTIONARY_ENTRY
    M_DECIMAL = CLP_S_DICTIONARY_ENTRIES_MARKS_DECIMAL
    M_CLASSIC_INTEGER_OR_ENTRY = CLP_S_DICTIONARY_ENTRIES_CLASSIC_MARKS_INTEGER_OR_DICTIONARY_ENTRY
    M_CLASSIC_DECIMAL = CLP_S_DICTIONARY_ENTRIES_CLASSIC_MARKS_DECIMAL
    M_ESCAPE = CLP_S_DICTIONARY_ENTRIES_MARKS_ESCAPE

cdef enum:
    # Tokens: the values of a record, and the brackets of its objects and arrays, which `scan` makes of JSON text.
    T_STRING, T_INTEGER, T_FLOAT, T_TRUE, T_FALSE, T_NULL, T_ARRAY_TEXT, T_OPEN_OBJECT, T_CLOSE_OBJECT, T_EMPTY_OBJECT
    T_OPEN_ARRAY, T_CLOSE_ARRAY, T_EMPTY_ARRAY, T_TIMESTAMP

cdef enum:
    # Flags of a token
    F_ABOVE_I64 = 1             # an integer above the largest int64, but not above the largest uint64
    F_ABOVE_U64 = 2             # an integer that fits neither, also one that is below the smallest int64
    F_SURROGATE = 4             # a lone surrogate was replaced
    F_LOSS = 8                  # the value does not come back unchanged
    F_REPEATED = 16             # its object has the key before

cdef enum:
    ENC_MAX_DEPTH = 10000       # levels of nesting
    ENC_MAX_NODES = 1 << CLP_S_SCHEMA_IDS_ENTRY_SHIFT_CONTAINER_TYPE    # as many as an entry of a schema can name
    ENC_MAX_LOG_TYPES = 1 << CLP_S_TABLE_CLP_WORD_SHIFT_OFS_VARIABLE    # as many as a word of encoded text can name
    ENC_SPLIT_TEXT = 1 << 29  # bytes of a dictionary after which a new archive is begun: readers hold it in memory
    ENC_SPLIT_NODES = 1 << 22  # nodes of the schema tree after which one is begun
    ENC_KEPT_ROOM = 1 << 16  # bytes of a column that are kept for the next ones when it is moved out of memory
    ENC_MAX_SHAPES = 1 << 16  # shapes of records that are kept (see `EncShape`)
    ENC_MAX_SHAPE_BYTES = 1 << 26  # and bytes of their node ids
    ENC_MAX_PROGRAMS = 8  # patterns of timestamps that are tried before Python is called
    ENC_YEAR = 365 * 24 * 60 * 60  # seconds
    ENC_PROGRAM_SIZE = 160  # bytes of such a pattern; longer ones are left to Python
