"""Columns filled by compiled code: one Cython module for all types with `-columns: true` or `-element: true`.

    def zs_data_block_record(columns, view, start, stop, count) -> int

The function of a type with `-columns` appends rows to `columns`: `count` of them, or with -1 all up to `stop`.  It
reads until one does not fit, and returns where it stopped.  The
interpreted loop (see `columns`) starts there and reports the problem, so that errors are written in one place.  A type
with `-element` has a function (`flat_...`) that returns one element as a tuple.
"""

from __future__ import annotations

from exhume.compiler.emit.c_numbers import unique_name
from exhume.compiler.emit.elements import C_TYPES, Element, compiled_element, element_types, structure_name
from exhume.compiler.emit.text import Lines
from exhume.compiler.front.specs import Model
from exhume.compiler.ir.fixed import only_number

# `room_for`: `rows` elements took `taken` bytes, and `left` bytes follow.  As many more fit if they have the same
# average size; 1/16 and 64 are added because they may be smaller.  The bounds are `wanted` (unless negative), one
# element per byte, and 8 * rows + 64, since the rest may not contain elements.
HEAD = '''"""Columns filled by compiled code; written by `make generated`, never edited by hand."""
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True

from cpython.buffer cimport PyBUF_READ, PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdlib cimport free, realloc

include "_elements.pxi"

SOURCE = {source!r}
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
'''


def native_text(model: Model, source: str) -> str:
    """Return the source of the Cython module; `source` names its input.  Types that it does not support are left
    out.
    """
    parts = []
    for type in element_types(model):
        if (element := compiled_element(type)) is not None:
            parts += [_scan(element)] if type.raw.get("-columns") and only_number(type) is None else []
            parts += [_flat(element)] if type.raw.get("-element") else []
    return "\n\n".join([HEAD.replace("{source!r}", repr(source)), *parts]) + "\n"


def _scan(element: Element) -> str:
    """Return the function that fills the columns of one type."""
    name = unique_name(element.type)
    columns = [("at", "q"), *((one.name, one.code) for one in element.columns)]
    lines = Lines()
    lines.add('"""The elements from `start` on that fit, into `columns`; returns where the rest begins."""')
    lines.add("cdef const uint8_t *p", "cdef int64_t at = start, after, rows = 0, room = 0", "cdef bint full = True")
    lines.add(f"cdef {structure_name(element.type)} one")
    lines.add(*(f"cdef {C_TYPES[code]} *c_{name} = NULL" for name, code in columns))
    with lines.block("if view.shape[0] == 0 or stop > view.shape[0] or not 0 <= start <= stop:"):
        lines.add("return start")
    # Without the GIL: read elements into growing C arrays, one for each column.
    lines.add("p = &view[0]")
    with lines.block("with nogil:"), lines.block("while (at < stop) if count < 0 else (rows < count):"):
        lines.add(f"after = read_{name}(p, at, stop, &one)")
        with lines.block("if after < 0:"):
            lines.add("break")
        with lines.block("if rows == room:"):
            lines.add("room = room_for(rows, at - start, stop - at, count)")
            for column, code in columns:
                with lines.block(f"if not grow(<void **> &c_{column}, sizeof({C_TYPES[code]}), room):"):
                    lines.add("full = False", "break")
        lines.add("c_at[rows] = at")
        lines.add(*(f"c_{column}[rows] = one.{column}" for column, _ in columns[1:]), "rows += 1", "at = after")
    # With the GIL: append the arrays to the columns, and free them in any case.
    with lines.block("try:"):
        with lines.block("if not full:"):
            lines.add("raise MemoryError")
        with lines.block("if rows:"):
            for column, code in columns:
                size = f"rows * sizeof({C_TYPES[code]})"
                lines.add(
                    f"columns.{column}.frombytes(PyMemoryView_FromMemory(<char *> c_{column}, {size}, PyBUF_READ))"
                )
    with lines.block("finally:"):
        lines.add(*(f"free(c_{column})" for column, _ in columns))
    lines.add("return at")
    opening = f"def {name}(columns, const uint8_t[::1] view, int64_t start, int64_t stop, int64_t count):"
    return "\n".join([opening, *lines.lines]) + "\n"


def _flat(element: Element) -> str:
    """Return the function that returns one element as a tuple."""
    name = unique_name(element.type)
    lines = Lines()
    lines.add('"""Where the element at `at` ends, and its fields; None when it does not fit."""')
    lines.add("cdef Py_buffer buffer", f"cdef {structure_name(element.type)} one", "cdef int64_t after = -1")
    lines.add("PyObject_GetBuffer(view, &buffer, PyBUF_SIMPLE)")
    with lines.block("if 0 <= at <= end <= buffer.len:"):
        lines.add(f"after = read_{name}(<const uint8_t *> buffer.buf, at, end, &one)")
    lines.add("PyBuffer_Release(&buffer)")
    fields = "".join(f", one.{column.name}" for column in element.columns)
    lines.add(f"return None if after < 0 else (after{fields})")
    return "\n".join([f"def flat_{name}(view, int64_t at, int64_t end):", *lines.lines]) + "\n"
