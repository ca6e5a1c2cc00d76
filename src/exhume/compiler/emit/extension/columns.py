"""How columns are filled: part of every extension module, from a constant of ours.

A column grows to twice its size, and is cut to its length once all of its numbers are there.  A number that its width
does not hold raises `Again`.
"""

from __future__ import annotations

COLUMNS = r'''

from cpython cimport array


@cython.final
cdef class Column:
    """Numbers of one width, in the typed array of a column, which has room for more until all are there."""

    cdef array.array made
    cdef char *data
    cdef size_t many, room

    cdef int grow(self) except -1:
        cdef size_t room = self.room * 2 + 256
        array.resize(self.made, room)
        self.data, self.room = self.made.data.as_chars, room
        return 0

    cdef int end(self) except -1:
        """Ends the array behind the last number."""
        if self.room:
            array.resize(self.made, self.many)
        return 0


cdef inline Column column_of(object column):
    cdef Column made = Column.__new__(Column)
    if type(column) is not array.array or len(column):
        again()
    made.made = <array.array> column
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
