"""Constant parts of every extension module: C that makes numbers and text of bytes and finds fields, and columns.

A column grows to twice its size, and is cut to its length once all of its numbers are there (`COLUMNS`); where its
width does not hold a number, or there is no more memory, the reader raises `Again`.

Reads are checked by their callers (`need`, `spans`); the offsets of an object's fields are taken from its class once.

Names of the C functions: `l4` and `b4` read 4 bytes with the lowest or the highest first; `need`, `fits` and `spans`
check that bytes are in the data; `again` raises `Again`, and `refuse` does so on a condition; `slot_...` access the
field of an object at an offset; `put_...` store a number there; `see`, `is_seen` and `seen_slot` use a cache (`Seen`)
of the last class that had a field; `push4` appends a number of 4 bytes to a column.

`near` returns -9 with an error set, since C functions have no other way to report one; `how` is the number of an
encoding (1 UTF-8, 2 ASCII, 3 Latin-1, 0 any other).  A `Column` has the array (`made`, NULL for a column that
the reader has not made yet), the address of its numbers (`data`), how many there are, and for how many there is space
(`room`).  `push` functions return whether a number could not be appended.
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
#define l1(p) ((uint8_t)*(p))
#define b1(p) l1(p)
static inline uint16_t l2(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline uint16_t b2(const uint8_t *p) { return (uint16_t)(p[1] | p[0] << 8); }
static inline uint32_t l4(const uint8_t *p) { return (uint32_t)l2(p) | (uint32_t)l2(p + 2) << 16; }
static inline uint32_t b4(const uint8_t *p) { return (uint32_t)b2(p + 2) | (uint32_t)b2(p) << 16; }
static inline uint64_t l8(const uint8_t *p) { return (uint64_t)l4(p) | (uint64_t)l4(p + 4) << 32; }
static inline uint64_t b8(const uint8_t *p) { return (uint64_t)b4(p + 4) | (uint64_t)b4(p) << 32; }
static inline double as_float(uint32_t word) { float value; memcpy(&value, &word, 4); return value; }
static inline double as_double(uint64_t word) { double value; memcpy(&value, &word, 8); return value; }
static inline int fits(Py_ssize_t n, Py_ssize_t at, Py_ssize_t size) { return at >= 0 && size <= n - at; }
static inline int spans(Py_ssize_t n, Py_ssize_t at, Py_ssize_t stop) {
    return at >= 0 && at <= stop && stop <= n;
}
/* Raises `Again`: -1. */
static int again(void);
static inline int refuse(int wrong) { return wrong ? again() : 0; }
/* Looks whether bytes are there. */
static inline int need(Py_ssize_t n, Py_ssize_t at, Py_ssize_t size) { return fits(n, at, size) ? 0 : again(); }
/* A number that is a place, or one not far from it. */
static inline int64_t near(int64_t number) {
    return number >= -PLACE && number <= PLACE ? number : (again(), (int64_t)-9);
}
/* The slot of a class at an offset. */
#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))
/* Whether an instance was read before: interpreted readers put an ellipsis where it was not. */
static inline int is_kept(PyObject *found) { return found != NULL && found != Py_Ellipsis; }
static PyObject *slot_get(PyObject *object, Py_ssize_t offset, PyObject *name) {
    PyObject *found = SLOT(object, offset);
    if (found == NULL) { PyErr_SetObject(PyExc_AttributeError, name); return NULL; }
    Py_INCREF(found);
    return found;
}
/* What one place in the code remembers of the class of the object whose field it read last: where that field is, */
/* and what reads it if it is an instance.  A class that changes gets another version. */
typedef struct {
    PyTypeObject *type;
    unsigned int version;
    Py_ssize_t offset;
    PyObject *(*function)(PyObject *);
} Seen;
static inline int is_seen(Seen *seen, PyObject *object) {
    return Py_TYPE(object) == seen->type && Py_TYPE(object)->tp_version_tag == seen->version;
}
#define is_made(object, type) (Py_TYPE(object) == (type))
static inline PyObject *seen_slot(Seen *seen, PyObject *object) { return SLOT(object, seen->offset); }
/* Remember a field, or an instance that a reader keeps at an offset. */
static void see(Seen *seen, PyObject *object, Py_ssize_t offset, PyObject *(*function)(PyObject *)) {
    seen->type = Py_TYPE(object);
    seen->version = Py_TYPE(object)->tp_version_tag;
    seen->offset = offset;
    seen->function = function;
    if (seen->version == 0) seen->type = NULL;
}
/* Where the fields of a class lie, or what the class has under the name instead; NULL where it has neither. */
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
static inline void slot_put(PyObject *object, Py_ssize_t offset, PyObject *value) {
    PyObject *before = SLOT(object, offset);
    Py_XINCREF(value);
    SLOT(object, offset) = value;
    Py_XDECREF(before);
}
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
/* The bytes of an object: of `bytes`, or of a view of bytes in a row.  Whoever holds the object holds them. */
static int bytes_of(PyObject *view, const uint8_t **p, Py_ssize_t *n) {
    if (PyBytes_CheckExact(view)) {
        *p = (const uint8_t *)PyBytes_AS_STRING(view);
        *n = PyBytes_GET_SIZE(view);
        return 1;
    }
    if (PyMemoryView_Check(view)) {
        Py_buffer buffer;
        int known;
        if (PyObject_GetBuffer(view, &buffer, PyBUF_SIMPLE) < 0) { PyErr_Clear(); return 0; }
        known = PyMemoryView_GET_BUFFER(view)->itemsize == 1;
        *p = (const uint8_t *)buffer.buf;
        *n = buffer.len;
        PyBuffer_Release(&buffer);
        return known;
    }
    return 0;
}
/* Past the bytes below 128, 32 at a time and then eight. */
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
/* Whether bytes are text in UTF-8, as Python decodes it: no surrogates, nothing longer than it has to be. */
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
static PyObject *decoded(const uint8_t *p, Py_ssize_t n, int how, PyObject *encoding) {
    const char *name;
    if (how == 1) return PyUnicode_DecodeUTF8((const char *)p, n, "strict");
    if (how == 2) return PyUnicode_DecodeASCII((const char *)p, n, "strict");
    if (how == 3) return PyUnicode_DecodeLatin1((const char *)p, n, "strict");
    name = PyUnicode_AsUTF8(encoding);
    return name == NULL ? NULL : PyUnicode_Decode((const char *)p, n, name, "strict");
}
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
/* Whether an object equals a number; a number, or one of an enum, is compared as a word of the machine. */
static int equals(PyObject *one, int64_t word) {
    PyObject *other, *found;
    int equal;
    if (PyLong_Check(one) && Py_TYPE(one)->tp_richcompare == PyLong_Type.tp_richcompare) {
        long long value = PyLong_AsLongLongAndOverflow(one, &equal);
        return !equal && value == word;
    }
    if ((other = PyLong_FromLongLong(word)) == NULL) return -1;
    found = PyObject_RichCompare(one, other, Py_EQ);
    Py_DECREF(other);
    if (found == NULL) return -1;
    equal = PyObject_IsTrue(found);
    Py_DECREF(found);
    return equal;
}
/* What an enum has for a number; the number itself where it has nothing. */
static PyObject *member_of(PyObject *map, PyObject *number) {
    PyObject *found = PyDict_GetItemWithError(map, number);
    if (found == NULL) {
        if (PyErr_Occurred()) return NULL;
        found = number;
    }
    Py_INCREF(found);
    return found;
}
"""

COLUMNS_C = r"""
/* The typed array of a column, which its table holds, and where its numbers are: so many, with room for more. */
typedef struct { PyObject *made; char *data; size_t many, room; } Column;
static int grow(Column *column);
/* Put a number at the end of a column: whether that is impossible. */
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
    ("f", "float", "double value"),
    ("d", "double", "double value"),
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
    bint pushf(Column *, double)
    bint pushd(Column *, double)
"""
COLUMNS = r'''

from cpython cimport array


cdef Column column_of(object column) except *:
    cdef Column made = Column(NULL, NULL, 0, 0)
    if type(column) is not array.array or len(column):
        again()
    made.made = <PyObject *> column
    return made


cdef bint grow "grow"(Column *column) noexcept:
    """Makes more room in a column; whether there is some."""
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
    """Ends the array behind the last number."""
    if column.room:
        array.resize(<array.array> column.made, column.many)
    return 0


cdef bint pusho(Column *column, object value, bint signed) except? True:
    """A number that is an object: it has its width, or the interpreted reader reports the fault."""
    try:
        return push8(column, <uint64_t> <int64_t> value if signed else <uint64_t> value)
    except (OverflowError, TypeError):
        return True
'''
