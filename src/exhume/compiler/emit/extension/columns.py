"""How columns are filled: part of every extension module, from a constant of ours.

A column grows by half of its size, and its numbers are copied to a typed array once all are there.  A number that its
width does not hold raises `Again`.
"""

from __future__ import annotations

COLUMNS = r'''

@cython.final
cdef class Column:
    """Numbers of one width, which become a typed array."""

    cdef char *data
    cdef size_t many, room, width

    def __dealloc__(self):
        free(self.data)

    cdef int grow(self) except -1:
        cdef size_t room = self.room + (self.room >> 1) + 64
        cdef char *larger = <char *> realloc(self.data, room * self.width)
        if larger == NULL:
            raise MemoryError
        self.data, self.room = larger, room
        return 0

    cdef object give(self, object column):
        """Puts all of them behind what is in an array."""
        if self.many:
            column.frombytes(PyMemoryView_FromMemory(self.data, self.many * self.width, 0x100))
        self.many = 0


cdef inline Column column_of(size_t width):
    cdef Column made = Column.__new__(Column)
    made.width = width
    return made


<words>cdef inline int push8(Column column, int64_t value) except -1:
    if column.many == column.room:
        column.grow()
    (<int64_t *> column.data)[column.many] = value
    column.many += 1
    return 0


cdef inline int pushu(Column column, uint64_t value) except -1:
    return push8(column, <int64_t> value)


cdef int pusho(Column column, object value, bint signed) except -1:
    """A number that is an object: it has its width, or the interpreted reader says what is wrong."""
    try:
        if signed:
            return push8(column, <int64_t> value)
        return pushu(column, <uint64_t> value)
    except (OverflowError, TypeError):
        return again()


<floats>'''
_WORDS = """cdef inline int push{size}(Column column, int64_t value, int64_t least, int64_t most) except -1:
    if not least <= value <= most:
        again()
    if column.many == column.room:
        column.grow()
    (<{type} *> column.data)[column.many] = <{type}> value
    column.many += 1
    return 0


"""
_FLOATS = """cdef inline int push{letter}(Column column, double value) except -1:
    if column.many == column.room:
        column.grow()
    (<{type} *> column.data)[column.many] = <{type}> value
    column.many += 1
    return 0


"""
COLUMNS = COLUMNS.replace("<words>", "".join(_WORDS.format(size=one, type=f"uint{8 * one}_t") for one in (1, 2, 4)))
COLUMNS = COLUMNS.replace(
    "<floats>", "".join(_FLOATS.format(letter=one[0], type=one) for one in ("float", "double")).rstrip("\n") + "\n"
)
