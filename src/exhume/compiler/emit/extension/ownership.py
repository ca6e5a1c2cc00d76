"""Structures that know what they are in without holding it: part of every extension module.

A structure and what it is in refer to each other.  If both references were counted, every tree of structures would be
garbage that only the collector finds, which takes longer than reading it.  So a structure that compiled code makes is
`loose`: the collector does not know it, and it refers to its parent and its root uncounted; these count such references
as `lent`.  A loose structure that nothing refers to any more frees its tree if nothing outside refers to any part of
it (`is_alone`).  Otherwise, and before anything could make a circle of counted references, the tree is settled
(`settle`): all its references are counted, and the collector knows its structures, as it knows those of interpreted
readers.  A settled structure to which a loose one outside its tree still refers is `kept`: these hold it together.
"""

from __future__ import annotations

OWNERSHIP_C = r"""
typedef struct {
    PyObject_HEAD
    Py_ssize_t lent, met;     /* uncounted references to it; those found while a tree is examined */
    int parent, root;         /* offsets of the fields whose references are uncounted; 0 if counted */
    int loose, kept;
} Owned;
typedef struct {
    PyListObject list;
    PyObject *above[2];       /* uncounted */
    PyObject *held;           /* a tuple of the same, counted */
    PyObject *others[4];
    int64_t places[2];
} Elements;
static PyTypeObject *elements_type = NULL;
static void tree_dealloc(PyObject *self);
static void settle_down(PyObject *self);
static int is_alone(PyObject *self);
static void drop(PyObject *self);
static inline int is_owned(PyObject *one) { return Py_TYPE(one)->tp_dealloc == tree_dealloc; }
#define AT(self, offset) ((PyObject **)((char *)(self) + (offset)))
#define FIELDS(self, type, p) for (p = AT(self, sizeof(Owned)); p < AT(self, (type)->tp_basicsize); p++)
#define IS_AT(self, p, offset) ((offset) && (char *)(p) == (char *)(self) + (offset))
static inline int is_list(PyObject *one) { return PyList_CheckExact(one) || Py_TYPE(one) == elements_type; }
/* Structures that were freed, by size, to be used again. */
#define SIZES 40
#define SPARES 128
static PyObject *spares[SIZES][SPARES];
static int spare_many[SIZES];
static PyObject *slot_make(PyObject *cls) {
    PyTypeObject *type = (PyTypeObject *)cls;
    size_t size = type->tp_basicsize / sizeof(PyObject *);
    PyObject *made;
    if (type->tp_dealloc != tree_dealloc) return PyType_GenericAlloc(type, 0);
    if (size < SIZES && spare_many[size]) {
        made = spares[size][--spare_many[size]];
        PyObject_Init(made, type);
    } else {
        made = PyType_GenericAlloc(type, 0);
        if (made == NULL) return NULL;
        PyObject_GC_UnTrack(made);
    }
    ((Owned *)made)->loose = 1;
    return made;
}
/* Free a structure whose fields are NULL. */
static void slot_free(PyObject *self) {
    Owned *of = (Owned *)self;
    PyTypeObject *type = Py_TYPE(self);
    size_t size = type->tp_basicsize / sizeof(PyObject *);
    of->lent = 0;
    of->parent = of->root = of->loose = of->kept = 0;
    if (is_owned(self) && size < SIZES && spare_many[size] < SPARES) spares[size][spare_many[size]++] = self;
    else type->tp_free(self);
    Py_DECREF(type);
}
/* One uncounted reference less to a structure. */
static void give_back(PyObject *target) {
    Owned *of = (Owned *)target;
    if (--of->lent == 0 && of->kept) { of->kept = 0; Py_DECREF(target); }
}
/* Whether anything in a field or list refers to structures. */
static int has_owned(PyObject *one) {
    Py_ssize_t i;
    if (one == NULL) return 0;
    if (is_owned(one)) return 1;
    if (is_list(one)) {
        for (i = 0; i < PyList_GET_SIZE(one); i++) if (has_owned(PyList_GET_ITEM(one, i))) return 1;
    }
    return 0;
}
static int is_alone_in(PyObject *one) {
    Py_ssize_t i;
    if (one == NULL) return 1;
    if (is_owned(one)) {
        if (!((Owned *)one)->loose) return 1;
        return Py_REFCNT(one) == 1 && is_alone(one);
    }
    if (!is_list(one)) return 1;
    if (Py_REFCNT(one) != 1) return !has_owned(one) && Py_TYPE(one) != elements_type;
    for (i = 0; i < PyList_GET_SIZE(one); i++) if (!is_alone_in(PyList_GET_ITEM(one, i))) return 0;
    if (Py_TYPE(one) == elements_type) {
        for (i = 0; i < 2; i++) if (((Elements *)one)->above[i]) ((Owned *)((Elements *)one)->above[i])->met++;
    }
    return 1;
}
/* Whether only a loose structure itself refers to what is in it, and what is in it alone refers to it uncounted. */
static int is_alone(PyObject *self) {
    Owned *of = (Owned *)self;
    PyObject **p;
    of->met = 0;
    if (of->parent) ((Owned *)SLOT(self, of->parent))->met++;
    if (of->root) ((Owned *)SLOT(self, of->root))->met++;
    FIELDS(self, Py_TYPE(self), p) {
        if (IS_AT(self, p, of->parent) || IS_AT(self, p, of->root)) continue;
        if (!is_alone_in(*p)) return 0;
    }
    return of->met == of->lent;
}
static void let_go(PyObject *list) {
    int i;
    PyObject *target;
    for (i = 0; i < 2; i++) {
        if ((target = ((Elements *)list)->above[i]) != NULL) {
            ((Elements *)list)->above[i] = NULL;
            give_back(target);
        }
    }
}
static void drop_in(PyObject *one) {
    Py_ssize_t i, many;
    if (one == NULL) return;
    if (Py_REFCNT(one) == 1) {
        if (is_owned(one) && ((Owned *)one)->loose) { drop(one); return; }
        if (is_list(one)) {
            many = PyList_GET_SIZE(one);
            Py_SET_SIZE((PyVarObject *)one, 0);
            for (i = 0; i < many; i++) drop_in(((PyListObject *)one)->ob_item[i]);
            if (Py_TYPE(one) == elements_type) let_go(one);
        }
    }
    Py_DECREF(one);
}
/* Free a structure that is alone, and all that is in it. */
static void drop(PyObject *self) {
    Owned *of = (Owned *)self;
    PyObject **p, *one, *parent = NULL, *root = NULL;
    if (of->parent) { parent = SLOT(self, of->parent); SLOT(self, of->parent) = NULL; }
    if (of->root) { root = SLOT(self, of->root); SLOT(self, of->root) = NULL; }
    FIELDS(self, Py_TYPE(self), p) {
        one = *p;
        *p = NULL;
        drop_in(one);
    }
    if (parent) give_back(parent);
    if (root) give_back(root);
    Py_SET_REFCNT(self, 0);
    slot_free(self);
}
static void settle_in(PyObject *one) {
    Py_ssize_t i;
    int j;
    if (one == NULL) return;
    if (is_owned(one)) settle_down(one);
    else if (is_list(one)) {
        for (i = 0; i < PyList_GET_SIZE(one); i++) settle_in(PyList_GET_ITEM(one, i));
        if (Py_TYPE(one) == elements_type && ((Elements *)one)->above[0] && ((Elements *)one)->held == Py_None) {
            PyObject *held = PyTuple_New(2);
            if (held == NULL) { PyErr_Clear(); return; } /* nothing is freed that is referred to */
            for (j = 0; j < 2; j++) {
                PyObject *target = ((Elements *)one)->above[j];
                if (target == NULL) target = Py_None;
                Py_INCREF(target);
                PyTuple_SET_ITEM(held, j, target);
            }
            Py_SETREF(((Elements *)one)->held, held);
            let_go(one);
        }
    }
}
static void settle_field(PyObject *self, int *offset) {
    PyObject *target;
    if (!*offset) return;
    target = SLOT(self, *offset);
    *offset = 0;
    Py_INCREF(target);
    give_back(target);
}
static void settle_down(PyObject *self) {
    Owned *of = (Owned *)self;
    PyObject **p;
    if (!of->loose) return;
    of->loose = 0;
    settle_field(self, &of->parent);
    settle_field(self, &of->root);
    PyObject_GC_Track(self);
    FIELDS(self, Py_TYPE(self), p) settle_in(*p);
    if (of->lent > 0 && !of->kept) { of->kept = 1; Py_INCREF(self); }
}
/* Settle the tree of each structure in a field or list. */
static void settle(PyObject *one) {
    Py_ssize_t i;
    PyObject *above;
    if (one == NULL) return;
    if (is_list(one)) {
        for (i = 0; i < PyList_GET_SIZE(one); i++) settle(PyList_GET_ITEM(one, i));
        settle_in(one);
        return;
    }
    if (!is_owned(one) || !((Owned *)one)->loose) return;
    above = ((Owned *)one)->parent ? SLOT(one, ((Owned *)one)->parent) : NULL;
    settle(above);
    settle_down(one);
}
/* Put a structure into another that it is not in, or anything else. */
static void slot_keep(PyObject *self, Py_ssize_t offset, PyObject *value) {
    if (has_owned(value) || PyTuple_Check(value)) {
        settle(value);
        settle(self);
    }
    slot_put(self, offset, value);
}
static void lend(PyObject *self, Py_ssize_t offset, PyObject *target, int *place) {
    if (((Owned *)self)->loose && target != Py_None) {
        PyObject *before = SLOT(self, offset);
        if (is_owned(target) && ((Owned *)target)->loose && (before == NULL || before == Py_None)) {
            SLOT(self, offset) = target;
            Py_XDECREF(before);
            ((Owned *)target)->lent++;
            *place = (int)offset;
            return;
        }
        settle(self); /* it may be in a circle through what is not a structure */
    }
    slot_put(self, offset, target);
}
static void lend_parent(PyObject *self, Py_ssize_t offset, PyObject *target) {
    if (is_owned(self)) lend(self, offset, target, &((Owned *)self)->parent);
    else slot_put(self, offset, target);
}
static void lend_root(PyObject *self, Py_ssize_t offset, PyObject *target) {
    if (is_owned(self)) lend(self, offset, target, &((Owned *)self)->root);
    else slot_put(self, offset, target);
}
static void tree_dealloc(PyObject *self) {
    Owned *of = (Owned *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject **p;
    if (of->loose) {
        if (is_alone(self)) { drop(self); return; }
        Py_SET_REFCNT(self, 1);
        settle_down(self);
        Py_DECREF(self);
        return;
    }
    if (type->tp_finalize != NULL && is_owned(self) && PyObject_CallFinalizerFromDealloc(self) < 0) return;
    PyObject_GC_UnTrack(self);
    while (type->tp_dealloc != tree_dealloc) type = type->tp_base;
    Py_TRASHCAN_BEGIN(self, tree_dealloc)
    FIELDS(self, type, p) Py_CLEAR(*p);
    slot_free(self);
    Py_TRASHCAN_END
}
static Py_ssize_t basic_size(PyObject *cls) { return ((PyTypeObject *)cls)->tp_basicsize; }
static void own(PyObject *cls) { ((PyTypeObject *)cls)->tp_dealloc = tree_dealloc; }
/* Make columns that only the reader refers to loose. */
static void loosen(PyObject *self) {
    Owned *of = (Owned *)self;
    if (of->loose || !is_owned(self) || of->lent || PyObject_GC_IsTracked(self) == 0 || of->kept) return;
    PyObject_GC_UnTrack(self);
    of->loose = 1;
}
/* The elements of a list, which is left empty, as a list of another type. */
static void take_elements(PyObject *into, PyObject *from) {
    PyListObject *made = (PyListObject *)into, *old = (PyListObject *)from;
    Py_ssize_t many = Py_SIZE(old), room = old->allocated;
    PyObject **items = old->ob_item;
    Py_SET_SIZE((PyVarObject *)old, 0);
    old->ob_item = NULL;
    old->allocated = 0;
    made->ob_item = items;
    made->allocated = room;
    Py_SET_SIZE((PyVarObject *)made, many);
}
static void lend_above(PyObject *list, int place, PyObject *target) {
    ((Elements *)list)->above[place] = target;
    ((Owned *)target)->lent++;
}
static inline int is_loose(PyObject *one) { return is_owned(one) && ((Owned *)one)->loose; }
"""

OWNERSHIP_NAMES = """
    Py_ssize_t OWNED "(Py_ssize_t)sizeof(Owned)"
    Py_ssize_t ELEMENTS "(Py_ssize_t)sizeof(Elements)"
    Py_ssize_t basic_size(object)
    PyTypeObject *elements_type
    object slot_make(object)
    void slot_keep(object, Py_ssize_t, object)
    void lend_parent(object, Py_ssize_t, object)
    void lend_root(object, Py_ssize_t, object)
    void settle(object)
    void own(object)
    void loosen(object)
    void take_elements(object, object)
    void lend_above(object, int, object)
    void let_go(object)
    bint is_loose(object)
"""

OWNERSHIP = r'''

@cython.auto_pickle(False)
cdef class Node:
    """What every structure begins with; see `Owned`."""

    cdef Py_ssize_t lent, met
    cdef int parent, root, loose, kept

    def __getstate__(self):
        """The fields of a structure, which a copy has as well."""
        names = [name for one in type(self).__mro__ for name in getattr(one, "__slots__", ())]
        return getattr(self, "__dict__", None), {name: getattr(self, name) for name in names if hasattr(self, name)}


@cython.final
@cython.auto_pickle(False)
cdef class Elements(list):
    """The elements of a list, and what reads them as columns; the same as the interpreted readers' class."""

    cdef PyObject *first_above
    cdef PyObject *second_above
    cdef object held
    cdef object kind, view, more, made
    cdef int64_t start, end

    def __dealloc__(self):
        let_go(self)

    @property
    def _where(self):
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
    """Lets columns that were just read refer to what they are in: to the parent first, and then to the root."""
    cdef Around around = getattr(type(columns), name)
    loosen(columns)
    if name == "root":
        lend_root(columns, around.offset, above)
    else:
        lend_parent(columns, around.offset, above)
    return 0


cdef object plain_rows = None
cdef object columns_of = None
"""The class of lists of interpreted readers, and what reads the columns of such a list."""


cdef object elements_of(object found, object kind, object view, int64_t start, int64_t end, tuple more):
    """The elements of a list, which are no longer in it, with where they are and what is around them."""
    cdef Elements made = Elements.__new__(Elements)
    cdef Py_ssize_t i
    cdef int many = 0
    cdef list rest
    if type(found) is not list:
        again()
    made.kind, made.view, made.start, made.end, made.more = kind, view, start, end, more
    take_elements(made, found)
    for i in range(len(more)):
        if is_loose(more[i]):
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
    """The parent or root of structures of one class, as Python finds it."""

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


def owns(cls, *names):
    """Structures of a class are freed together with what they are in, which has these names."""
    cdef Around made
    for name in names:
        if name in cls.__slots__ and type(vars(cls)[name]) is not Around:
            made = Around.__new__(Around)
            made.offset, made.name, made.held = slot_offset(cls, name), name, cls
            made.owner = <PyTypeObject *> cls
            setattr(cls, name, made)
    own(cls)
'''
