"""C that reads numbers and strings from bytes, gets and puts fields, and appends to columns: part of every extension.

`support` joins this text with the others.  The emitted code calls these functions, such as `little4(p0 + v1)`: 4 bytes
at `v1` as a number, the lowest byte first (`big4`: the highest first).

`p` points to the bytes of a view and `n` is their number.  Reads are not checked here, but by their callers:
`require_bytes` abandons reading if bytes are missing.  To abandon a reading is to raise `Abandoned`, after which the
interpreted reader repeats the call; functions that return -1 or -9 have raised it.  A slot is the field of an object at
an offset, which is taken from the class once.  `encoding_number` is 1 for UTF-8, 2 for ASCII, 3 for Latin-1, 0 for any
other encoding.

A column grows to twice its size, and is cut to its length once all of its numbers are there (`COLUMNS`).  The `push`
functions append a number; they return whether that is impossible, because its width is too small or memory is missing.
"""

from __future__ import annotations

C = r"""
#include <stdint.h>
#include <string.h>
#include <stdlib.h>
#include <structmember.h>
#define FARTHEST ((int64_t)1 << 62)
#define PLACE ((int64_t)1 << 56)
#define SMALL ((int64_t)1 << 31)
#define little1(p) ((uint8_t)*(p))
#define big1(p) little1(p)
static inline uint16_t little2(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline uint16_t big2(const uint8_t *p) { return (uint16_t)(p[1] | p[0] << 8); }
static inline uint32_t little4(const uint8_t *p) { return (uint32_t)little2(p) | (uint32_t)little2(p + 2) << 16; }
static inline uint32_t big4(const uint8_t *p) { return (uint32_t)big2(p + 2) | (uint32_t)big2(p) << 16; }
static inline uint64_t little8(const uint8_t *p) { return (uint64_t)little4(p) | (uint64_t)little4(p + 4) << 32; }
static inline uint64_t big8(const uint8_t *p) { return (uint64_t)big4(p + 4) | (uint64_t)big4(p) << 32; }
static inline double as_float(uint32_t word) { float value; memcpy(&value, &word, 4); return value; }
static inline double as_double(uint64_t word) { double value; memcpy(&value, &word, 8); return value; }
/* Whether the `size` bytes at `at`, or `[at, stop)`, are among the `n` bytes of a view. */
static inline int has_bytes(Py_ssize_t n, Py_ssize_t at, Py_ssize_t size) { return at >= 0 && size <= n - at; }
static inline int has_range(Py_ssize_t n, Py_ssize_t at, Py_ssize_t stop) {
    return at >= 0 && at <= stop && stop <= n;
}
/* Raise `Abandoned`, and return -1. */
static int abandon(void);
static inline int abandon_if(int wrong) { return wrong ? abandon() : 0; }
static inline int require_bytes(Py_ssize_t n, Py_ssize_t at, Py_ssize_t size) {
    return has_bytes(n, at, size) ? 0 : abandon();
}
/* `number`, if it is small enough to be a position in data, and sums of a few such numbers fit 64 bits. */
static inline int64_t checked_place(int64_t number) {
    return number >= -PLACE && number <= PLACE ? number : (abandon(), (int64_t)-9);
}
/* The field of an object at an offset: NULL if it was deleted or not read yet. */
#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))
/* Whether an instance was read before: interpreted readers put an ellipsis where it was not. */
static inline int is_kept(PyObject *found) { return found != NULL && found != Py_Ellipsis; }
/* The field `name`, which is at `offset`, as a new reference; raises `AttributeError` if it is not there. */
static PyObject *slot_get(PyObject *object, Py_ssize_t offset, PyObject *name) {
    PyObject *found = SLOT(object, offset);
    if (found == NULL) { PyErr_SetObject(PyExc_AttributeError, name); return NULL; }
    Py_INCREF(found);
    return found;
}
/* A cache of one place in the code that gets a field of objects of any class: the last class, and its field. */
typedef struct {
    PyTypeObject *type;               /* the class, NULL at first */
    unsigned int version;             /* of the class: Python changes it when the class changes */
    Py_ssize_t offset;                /* of the field, or of the slot that keeps the value of an instance */
    PyObject *(*function)(PyObject *); /* reads the instance; NULL for a field */
} Seen;
/* Whether the object is of the class in the cache. */
static inline int is_seen(Seen *seen, PyObject *object) {
    return Py_TYPE(object) == seen->type && Py_TYPE(object)->tp_version_tag == seen->version;
}
/* Whether the object is of exactly this class. */
#define is_made(object, type) (Py_TYPE(object) == (type))
static inline PyObject *seen_slot(Seen *seen, PyObject *object) { return SLOT(object, seen->offset); }
/* Put the class of an object into the cache, with its field at `offset`, or its instance that `function` reads. */
static void see(Seen *seen, PyObject *object, Py_ssize_t offset, PyObject *(*function)(PyObject *)) {
    seen->type = Py_TYPE(object);
    seen->version = Py_TYPE(object)->tp_version_tag;
    seen->offset = offset;
    seen->function = function;
    if (seen->version == 0) seen->type = NULL; /* Python does not watch this class for changes */
}
/* What the class of an object has under a name, borrowed; NULL for nothing, or a class that looks names up in its */
/* own way.  If it is a field in a slot, `*offset` becomes that of the slot, else -1. */
static PyObject *class_has(PyObject *object, PyObject *name, Py_ssize_t *offset) {
    PyTypeObject *type = Py_TYPE(object);
    PyObject *found;
    *offset = -1;
    if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || type->tp_getattro != PyObject_GenericGetAttr) return NULL;
    if (type->tp_dict == NULL) return NULL;
    found = PyDict_GetItem(type->tp_dict, name);
    if (found != NULL && Py_TYPE(found) == &PyMemberDescr_Type) {
        PyMemberDef *member = ((PyMemberDescrObject *)found)->d_member;
        if (member->type == T_OBJECT_EX) *offset = member->offset;
    }
    return found;
}
/* Store a value in a field; NULL deletes the field. */
static inline void slot_put(PyObject *object, Py_ssize_t offset, PyObject *value) {
    PyObject *before = SLOT(object, offset);
    Py_XINCREF(value);
    SLOT(object, offset) = value;
    Py_XDECREF(before);
}
/* The offset of the field `name` in the objects of a class; raises `TypeError` for anything but a field in a slot. */
static Py_ssize_t slot_offset(PyObject *type, PyObject *name) {
    PyObject *found;
    Py_ssize_t offset = -1;
    if (!PyType_Check(type)) { PyErr_SetString(PyExc_TypeError, "no class"); return -1; }
    found = PyObject_GetItem(((PyTypeObject *)type)->tp_dict, name);
    if (found == NULL) return -1;
    if (Py_TYPE(found) == &PyMemberDescr_Type) {
        PyMemberDef *member = ((PyMemberDescrObject *)found)->d_member;
        if (member->type == T_OBJECT_EX) offset = member->offset;
    }
    Py_DECREF(found);
    if (offset < 0) PyErr_SetObject(PyExc_TypeError, name);
    return offset;
}
/* Set `*p` and `*n` to the bytes of a `bytes` object or a view of adjacent bytes, and return 1; 0 for anything else. */
/* They stay valid as long as the object exists. */
static int bytes_of(PyObject *view, const uint8_t **p, Py_ssize_t *n) {
    if (PyBytes_CheckExact(view)) {
        *p = (const uint8_t *)PyBytes_AS_STRING(view);
        *n = PyBytes_GET_SIZE(view);
        return 1;
    }
    if (PyMemoryView_Check(view)) {
        Py_buffer buffer;
        int is_of_bytes;
        if (PyObject_GetBuffer(view, &buffer, PyBUF_SIMPLE) < 0) { PyErr_Clear(); return 0; }
        is_of_bytes = PyMemoryView_GET_BUFFER(view)->itemsize == 1;
        *p = (const uint8_t *)buffer.buf;
        *n = buffer.len;
        PyBuffer_Release(&buffer);
        return is_of_bytes;
    }
    return 0;
}
/* Pass bytes below 128, 32 or 8 at once; returns a position up to 7 bytes before the first other one, or the end. */
static inline const uint8_t *past_ascii(const uint8_t *p, const uint8_t *end) {
    uint64_t words[4];
    for (; end - p >= 32; p += 32) {
        memcpy(words, p, 32);
        if ((words[0] | words[1] | words[2] | words[3]) & 0x8080808080808080u) break;
    }
    for (; end - p >= 8; p += 8) {
        memcpy(words, p, 8);
        if (words[0] & 0x8080808080808080u) break;
    }
    return p;
}
/* Whether `[p, end)` is UTF-8 as Python decodes it: no surrogates, and no character in more bytes than it needs. */
static int is_utf8(const uint8_t *p, const uint8_t *end) {
    while ((p = past_ascii(p, end)) < end) {
        uint8_t one = *p;
        if (one < 0x80) { p++; continue; }
        if (one < 0xC2 || one > 0xF4) return 0;
        if (one < 0xE0) {
            if (end - p < 2 || (p[1] & 0xC0) != 0x80) return 0;
            p += 2;
        } else if (one < 0xF0) {
            if (end - p < 3 || (p[1] & 0xC0) != 0x80 || (p[2] & 0xC0) != 0x80) return 0;
            if ((one == 0xE0 && p[1] < 0xA0) || (one == 0xED && p[1] > 0x9F)) return 0;
            p += 3;
        } else {
            if (end - p < 4 || (p[1] & 0xC0) != 0x80 || (p[2] & 0xC0) != 0x80 || (p[3] & 0xC0) != 0x80) return 0;
            if ((one == 0xF0 && p[1] < 0x90) || (one == 0xF4 && p[1] > 0x8F)) return 0;
            p += 4;
        }
    }
    return 1;
}
static int is_ascii(const uint8_t *p, const uint8_t *end) {
    for (p = past_ascii(p, end); p < end; p++) if (*p > 127) return 0;
    return 1;
}
/* `n` bytes as a string; `encoding` is the name for Python where `encoding_number` is 0. */
static PyObject *decoded(const uint8_t *p, Py_ssize_t n, int encoding_number, PyObject *encoding) {
    const char *name;
    if (encoding_number == 1) return PyUnicode_DecodeUTF8((const char *)p, n, "strict");
    if (encoding_number == 2) return PyUnicode_DecodeASCII((const char *)p, n, "strict");
    if (encoding_number == 3) return PyUnicode_DecodeLatin1((const char *)p, n, "strict");
    name = PyUnicode_AsUTF8(encoding);
    return name == NULL ? NULL : PyUnicode_Decode((const char *)p, n, name, "strict");
}
/* Store a number in a field, as an object. */
static inline int put_word(PyObject *object, Py_ssize_t offset, long long value) {
    PyObject *made = PyLong_FromLongLong(value);
    if (made == NULL) return -1;
    slot_put(object, offset, made);
    Py_DECREF(made);
    return 0;
}
static inline int put_unsigned(PyObject *object, Py_ssize_t offset, unsigned long long value) {
    PyObject *made = PyLong_FromUnsignedLongLong(value);
    if (made == NULL) return -1;
    slot_put(object, offset, made);
    Py_DECREF(made);
    return 0;
}
static inline int put_float(PyObject *object, Py_ssize_t offset, double value) {
    PyObject *made = PyFloat_FromDouble(value);
    if (made == NULL) return -1;
    slot_put(object, offset, made);
    Py_DECREF(made);
    return 0;
}
/* Whether an object equals a number, -1 for an error; members of enums are integers too. */
static int equals(PyObject *one, int64_t word) {
    PyObject *other, *found;
    int equal, is_too_large;
    if (PyLong_Check(one) && Py_TYPE(one)->tp_richcompare == PyLong_Type.tp_richcompare) {
        long long value = PyLong_AsLongLongAndOverflow(one, &is_too_large);
        return !is_too_large && value == word;
    }
    if ((other = PyLong_FromLongLong(word)) == NULL) return -1;
    found = PyObject_RichCompare(one, other, Py_EQ);
    Py_DECREF(other);
    if (found == NULL) return -1;
    equal = PyObject_IsTrue(found);
    Py_DECREF(found);
    return equal;
}
/* The member of an enum with a number, from the dictionary `members`; the number itself if it is not in there. */
static PyObject *member_of(PyObject *members, PyObject *number) {
    PyObject *found = PyDict_GetItemWithError(members, number);
    if (found == NULL) {
        if (PyErr_Occurred()) return NULL;
        found = number;
    }
    Py_INCREF(found);
    return found;
}
"""

COLUMNS_C = r"""
/* A column that is being filled. */
typedef struct {
    PyObject *made;                   /* its `array.array`; NULL if the reader has not made it yet */
    char *data;                       /* the numbers in that */
    size_t many, room;                /* how many there are, and how many fit before it has to grow */
} Column;
/* Make space for more numbers; returns whether that was possible. */
static int grow(Column *column);
/* `push<bytes>`: append an integer of 1, 2, 4 or 8 bytes, or return 1. */
<pushes>"""
# The C function that appends a number to a column, one for each width: `check` tests that the number fits, where the
# parameters have limits.  Other numbers have the width of the array.
_PUSH = """static inline int push{name}(Column *column, {given}) {{
    if ({check}(column->many == column->room && !grow(column))) return 1;
    (({type} *)column->data)[column->many++] = ({type})value;
    return 0;
}}
"""
_KINDS = [  # name of the function, type in the array, and parameters
    *((size, f"uint{8 * size}_t", "int64_t value, int64_t least, int64_t most") for size in (1, 2, 4)),
    (8, "uint64_t", "uint64_t value"),
    ("_float", "float", "double value"),
    ("_double", "double", "double value"),
]
_PUSHES = "".join(
    _PUSH.format(name=name, type=type, given=given, check="value < least || value > most || " * ("least" in given))
    for name, type, given in _KINDS
)
COLUMNS_C = COLUMNS_C.replace("<pushes>", _PUSHES)
COLUMNS_NAMES = """
    ctypedef struct Column:
        PyObject *made
        char *data
        size_t many, room
    bint push1(Column *, int64_t, int64_t, int64_t)
    bint push2(Column *, int64_t, int64_t, int64_t)
    bint push4(Column *, int64_t, int64_t, int64_t)
    bint push8(Column *, uint64_t)
    bint push_float(Column *, double)
    bint push_double(Column *, double)
"""
COLUMNS = r'''

from cpython cimport array


cdef Column column_of(object column) except *:
    """Return an empty array as a column to be filled; abandons reading for anything else."""
    cdef Column made = Column(NULL, NULL, 0, 0)
    if type(column) is not array.array or len(column):
        abandon()
    made.made = <PyObject *> column
    return made


cdef bint grow "grow"(Column *column) noexcept:
    """Make space for more numbers in a column; returns whether that was possible."""
    cdef size_t room = column.room * 2 + 256
    if column.made == NULL:
        return False
    try:
        array.resize(<array.array> column.made, room)
    except MemoryError:
        return False
    column.data, column.room = (<array.array> column.made).data.as_chars, room
    return True


cdef int cut_column(Column *column) except -1:
    """End the array of a column after its last number."""
    if column.room:
        array.resize(<array.array> column.made, column.many)
    return 0


cdef bint push_object(Column *column, object value, bint signed) except? True:
    """Append an object as a number of 8 bytes; returns whether that is impossible: it is too large, or not a number."""
    try:
        return push8(column, <uint64_t> <int64_t> value if signed else <uint64_t> value)
    except (OverflowError, TypeError):
        return True
'''
