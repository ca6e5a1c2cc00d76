"""Structures with uncounted references to their parent and root: part of every extension module.

A structure and the one around it refer to each other.  If both references were counted, every tree of structures would
be garbage that only the collector finds, which takes longer than reading it.  So a structure that compiled code makes
is `loose`: the collector does not know it, and its references to parent and root are uncounted; these count them as
`lent`.  A loose structure that nothing refers to any more frees its tree if nothing outside refers to any part of
it (`is_alone`).  Otherwise, and before anything could make a circle of counted references, the tree is settled
(`settle`): all its references are counted, and the collector knows its structures, as it knows those of interpreted
readers.  A settled structure to which a loose one outside its tree still refers is `kept`: these hold it together.

`lend_...` store uncounted references, `slot_keep` counted ones.  A list of rows has uncounted ones to at most two of
the objects around it, `first_above` and `second_above`: their places in `more` have an ellipsis, and `held` has the
same two once they are counted.  `SLOT(value, offset)` is a field.

`Around` is the descriptor of a parent or root, which settles the structure if one is assigned or deleted.  Its `held`
keeps the class alive, since `owner`, the same class for type checks in C, is an uncounted pointer.  `abandon` ends
compiled code (it raises `Abandoned` of `support`): the interpreted reader repeats the call.
"""

from __future__ import annotations

OWNERSHIP_NAMES = """
    Py_ssize_t OWNED "(Py_ssize_t)sizeof(Owned)"
    Py_ssize_t ELEMENTS "(Py_ssize_t)sizeof(Elements)"
    Py_ssize_t basic_size(object)
    PyTypeObject *elements_type
    ctypedef struct Maker:
        pass
    Maker *MAKERS
    object slot_make(Maker *)
    object item_of(object, int64_t)
    bint allocate_makers(Py_ssize_t)
    void set_maker(int, object, uint64_t)
    void slot_keep(object, Py_ssize_t, object)
    void lend_parent(object, Py_ssize_t, object)
    void lend_root(object, Py_ssize_t, object)
    void settle(object)
    void use_tree_dealloc(object)
    void loosen(object)
    void take_elements(object, object)
    void lend_above(object, int, object)
    void give_back_above(object)
    bint can_lend(object)
    void recheck_waiting(bint)
"""

OWNERSHIP = r'''

@cython.auto_pickle(False)
cdef class Node:
    """The base class of all structures: `Owned` of `c_ownership`, whose two words here have no names of their own."""

    cdef int64_t first, second

    def __getstate__(self):
        """The fields of a structure, which a copy has as well."""
        names = [name for one in type(self).__mro__ for name in getattr(one, "__slots__", ())]
        return getattr(self, "__dict__", None), {name: getattr(self, name) for name in names if hasattr(self, name)}


@cython.final
@cython.auto_pickle(False)
cdef class Elements(list):
    """The elements of a list, with the facts to read them as columns; it behaves as the interpreted readers' class."""

    cdef PyObject *first_above
    cdef PyObject *second_above
    cdef object held
    cdef object kind, view, more  # the class of the columns, the bytes, and further arguments of their reader
    cdef object made              # the columns; None if they were not requested yet
    cdef int64_t start, end       # the range of the bytes

    def __dealloc__(self):
        """The objects above count this list as lent: tell them that it is gone."""
        give_back_above(self)

    @property
    def _where(self):
        """What `columns_of` needs to read the elements as columns, as in the interpreted readers' class."""
        cdef list above = [None, None]
        if self.held is not None:
            above = list(self.held)
        elif self.first_above != NULL:
            above = [<object> self.first_above, None]
            if self.second_above != NULL:
                above[1] = <object> self.second_above
        more = [above.pop(0) if one is Ellipsis else one for one in self.more]
        return (self.kind, self.view, self.start, self.end, *more)

    @property
    def _is_compiled(self):
        return plain_rows._is_compiled.fget(self)

    def _if_any(self):
        return plain_rows._if_any(self)

    @property
    def columns(self):
        """All columns; see the interpreted readers' class."""
        if self.made is None:
            settle(self)
            self.made = columns_of(self)
        return self.made

    def __getattr__(self, name):
        return plain_rows.__getattr__(self, name)

    def __reduce_ex__(self, protocol):
        """A copy is a list without columns."""
        return list, (list(self),)


cdef int lend_to_columns(object columns, object name, object above) except -1:
    """Let columns that were just read refer to their parent or root (`name`), uncounted; the parent comes first."""
    cdef Around around = getattr(type(columns), name)
    loosen(columns)
    if name == "root":
        lend_root(columns, around.offset, above)
    else:
        lend_parent(columns, around.offset, above)
    return 0


cdef object plain_rows = None
cdef object columns_of = None
"""The class of lists of interpreted readers, and its function that reads the columns of a list."""


cdef object elements_of(object found, object kind, object view, int64_t start, int64_t end, tuple more):
    """Move the elements of the list `found` to an `Elements`; `kind`, ..., `more` are its facts of the same names.

    References to up to two loose structures in `more` become uncounted.
    """
    cdef Elements made = Elements.__new__(Elements)
    cdef Py_ssize_t i
    cdef int many = 0
    cdef list rest
    if type(found) is not list:
        abandon()
    made.kind, made.view, made.start, made.end, made.more = kind, view, start, end, more
    take_elements(made, found)
    for i in range(len(more)):
        if can_lend(more[i]):
            if many == 0:
                rest = list(more)
            if many < 2:
                lend_above(made, many, more[i])
                rest[i] = Ellipsis
                many += 1
            else:
                settle(more[i])
    if many:
        made.more = tuple(rest)
    return made


@cython.final
@cython.auto_pickle(False)
cdef class Around:
    """The descriptor of the parent or root of structures of one class, which is the field `name` at `offset`."""

    cdef Py_ssize_t offset
    cdef readonly object name, __doc__
    cdef object held
    cdef PyTypeObject *owner

    def __get__(self, object value, object owner):
        if value is None:
            return self
        if not PyObject_TypeCheck(value, self.owner):
            raise TypeError
        return slot_get(value, self.offset, self.name)

    def __set__(self, object value, object new):
        if not PyObject_TypeCheck(value, self.owner):
            raise TypeError
        slot_keep(value, self.offset, new)
        settle(value)

    def __delete__(self, object value):
        if not PyObject_TypeCheck(value, self.owner):
            raise TypeError
        settle(value)
        slot_clear(value, self.offset, NULL)


def before_collecting(str phase, dict info):
    """Callback of the garbage collector; does nothing before a collection of the youngest objects only."""
    if phase == "start" and info["generation"]:
        recheck_waiting(info["generation"] == 2)


def owns(cls, *names):
    """Let structures of a class refer uncounted to the objects in the fields `names`, and free them together."""
    cdef Around made
    for name in names:
        if name in cls.__slots__ and type(vars(cls)[name]) is not Around:
            made = Around.__new__(Around)
            made.offset, made.name, made.held = slot_offset(cls, name), name, cls
            made.owner = <PyTypeObject *> cls
            setattr(cls, name, made)
    use_tree_dealloc(cls)
'''
