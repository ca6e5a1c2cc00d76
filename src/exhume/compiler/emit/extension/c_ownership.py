"""C that makes structures and frees them as whole trees; the terms are those of `ownership`.

An extension module contains this text, and that of `c_settling` after it (`support` joins them).  Compiled readers call
`slot_make` for each structure, and Python calls `tree_dealloc` (`c_settling`) when nothing refers to a structure any
more.  Example: a file has `entries`, and each entry refers to the file as `_parent`, uncounted.  When a program drops
the file, `is_alone` finds as many uncounted references in its entries (`lent_inside`) as the file has in all (`lent`).
So nothing outside refers to any part, and `free_tree` frees the file with all entries.

`self` is a structure, `of` the same as an `Owned`, `value` anything in a field or list.  `deep` counts structures and
lists within each other: no file decides how much of the stack functions take that call themselves, as they go down at
most `NESTED` levels; `c_settling` frees trees that are deeper.
"""

from __future__ import annotations

OWNERSHIP_C = r"""
/* The first words of each structure, before its fields. */
typedef struct Owned {
    PyObject_HEAD
    union {
        struct {                      /* of a loose structure */
            int32_t lent_inside;      /* how many of the uncounted references to it were found in its tree so far */
            uint16_t parent, root;    /* offsets of the fields whose references are uncounted; 0 if counted */
        };
        struct Owned *next;           /* of a settled one: the next whose fields are to be settled */
    };
    int32_t lent;                     /* how many uncounted references there are to it */
    uint16_t maker;                   /* the index of its class in `MAKERS`; 0 if it was not made here */
    uint8_t loose;                    /* whether its references to parent and root may be uncounted */
    uint8_t kept;                     /* whether it has one reference more, so that it lives as long as it is lent */
} Owned;
/* A list that can be read again as columns; `ownership` declares the same class to Cython. */
typedef struct {
    PyListObject list;
    PyObject *above[2];               /* structures around the list, uncounted; NULL if there are fewer */
    PyObject *held;                   /* a tuple of the same two once they are counted, else None */
    PyObject *kind, *view, *more, *made;
    int64_t start, end;
} Elements;
static PyTypeObject *elements_type = NULL;
static void tree_dealloc(PyObject *self);
static int is_alone(PyObject *self, int deep);
static void free_tree(PyObject *self);
/* Whether `value` is a structure. */
static inline int is_owned(PyObject *value) { return Py_TYPE(value)->tp_dealloc == tree_dealloc; }
static inline int is_list(PyObject *value) { return PyList_CheckExact(value) || Py_TYPE(value) == elements_type; }
#define FIELD_AT(self, offset) ((PyObject **)((char *)(self) + (offset)))
#define FIRST_FIELD(self) FIELD_AT(self, sizeof(Owned))
#define FIELDS_END(self, type) FIELD_AT(self, (type)->tp_basicsize)
/* Whether `field` is the field of `self` at `offset`, unless that is 0. */
#define IS_FIELD(self, field, offset) ((offset) && (field) == FIELD_AT(self, offset))
/* `of[index]`: a new reference. */
static PyObject *item_of(PyObject *of, int64_t index) {
    PyObject *number, *found = NULL;
    if (is_list(of)) {
        Py_ssize_t at = index < 0 ? index + PyList_GET_SIZE(of) : index;
        if (at >= 0 && at < PyList_GET_SIZE(of)) {
            found = PyList_GET_ITEM(of, at);
            Py_INCREF(found);
            return found;
        }
    }
    if ((number = PyLong_FromLongLong(index)) == NULL) return NULL;
    found = PyObject_GetItem(of, number);
    Py_DECREF(number);
    return found;
}
/* A class whose structures are made here.  `examined` has a bit for each of its first 63 fields that may contain */
/* structures or lists, and bit 63 for all others; `in_blocks`: its structures are in blocks (`c_blocks`). */
typedef struct { PyTypeObject *type; uint64_t examined; int in_blocks; } Maker;
static Maker *MAKERS = NULL;
/* Make `MAKERS` with `many` empty entries; returns whether that was possible. */
static int allocate_makers(Py_ssize_t many) {
    MAKERS = many <= UINT16_MAX ? (Maker *)calloc(many, sizeof(Maker)) : NULL;
    return MAKERS != NULL;
}
static void set_maker(int number, PyObject *cls, uint64_t examined) {
    MAKERS[number].type = (PyTypeObject *)cls;
    MAKERS[number].examined = examined;
    MAKERS[number].in_blocks = fits_block((PyTypeObject *)cls);
}
/* A new loose structure, whose fields are NULL. */
static PyObject *slot_make(Maker *maker) {
    PyTypeObject *type = maker->type;
    PyObject *made;
    if (type->tp_dealloc != tree_dealloc) return PyType_GenericAlloc(type, 0);
    if (maker->in_blocks) {
        if ((made = make_in_block(type)) == NULL) return NULL;
    } else {
        if ((made = PyObject_GC_New(PyObject, type)) == NULL) return NULL;
        memset((char *)made + sizeof(PyObject), 0, type->tp_basicsize - sizeof(PyObject));
    }
    ((Owned *)made)->loose = 1;
    ((Owned *)made)->maker = (uint16_t)(maker - MAKERS);
    return made;
}
static inline int is_in_block(PyObject *self) {
    uint16_t maker = ((Owned *)self)->maker;
    return maker && MAKERS[maker].in_blocks;
}
/* Free a structure whose fields are NULL. */
static void slot_free(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    int in_block = is_in_block(self);
    memset((char *)self + sizeof(PyObject), 0, sizeof(Owned) - sizeof(PyObject));
    if (in_block) free_in_block(self);
    else type->tp_free(self);
    Py_DECREF(type);
}
/* The bits `Maker.examined` of a structure's class: bit 0 is for its first field. */
static inline uint64_t fields_to_examine(Owned *of) { return of->maker ? MAKERS[of->maker].examined : ~(uint64_t)0; }
/* The same bits, with bit 0 for the next field.  Bit 63 stays as it is, since it is for all fields from there on. */
#define NEXT_FIELD(fields) ((uint64_t)((int64_t)(fields) >> 1))
#define NESTED 60
static int too_deep = 0;              /* whether the last call of `is_alone` found more than `NESTED` levels */
/* End one uncounted reference to a structure; the last one also ends the reference by which that was kept. */
static void give_back(PyObject *target) {
    Owned *of = (Owned *)target;
    if (--of->lent == 0 && of->kept) { of->kept = 0; Py_DECREF(target); }
}
/* End the uncounted references of a list to what is around it. */
static void give_back_above(PyObject *list) {
    int i;
    PyObject *target;
    for (i = 0; i < 2; i++) {
        if ((target = ((Elements *)list)->above[i]) != NULL) {
            ((Elements *)list)->above[i] = NULL;
            give_back(target);
        }
    }
}
/* Whether `value` is or contains a structure; a list that is nested too deep to examine is taken to contain one. */
static int has_structures(PyObject *value, int deep) {
    Py_ssize_t i;
    if (value == NULL) return 0;
    if (is_owned(value)) return 1;
    if (is_list(value)) {
        if (deep >= NESTED) return 1;
        for (i = 0; i < PyList_GET_SIZE(value); i++) if (has_structures(PyList_GET_ITEM(value, i), deep + 1)) return 1;
    }
    return 0;
}
/* Count the uncounted references of a structure as references from inside the trees of its parent and root. */
static inline void count_inside(PyObject *self) {
    Owned *of = (Owned *)self;
    if (of->parent) ((Owned *)SLOT(self, of->parent))->lent_inside++;
    if (of->root) ((Owned *)SLOT(self, of->root))->lent_inside++;
}
/* Whether only the field or list that the caller examines refers to `value`, and so on for all that is in `value`. */
/* Counts the uncounted references in it as `count_inside` does. */
static inline int is_value_alone(PyObject *value, int deep) {
    Py_ssize_t i;
    if (value == NULL) return 1;
    if (is_owned(value)) {
        Owned *of = (Owned *)value;
        if (!of->loose) return 1; /* it has counted references only, so it may live on */
        if (Py_REFCNT(value) != 1) return 0;
        if (of->lent || fields_to_examine(of)) return is_alone(value, deep + 1);
        count_inside(value); /* nothing is in it */
        return 1;
    }
    if (!is_list(value)) return 1;
    if (Py_REFCNT(value) != 1) return !has_structures(value, deep) && Py_TYPE(value) != elements_type;
    if (deep >= NESTED) { too_deep = 1; return 0; }
    for (i = 0; i < PyList_GET_SIZE(value); i++) {
        if (!is_value_alone(PyList_GET_ITEM(value, i), deep + 1)) return 0;
    }
    if (Py_TYPE(value) == elements_type) {
        PyObject **above = ((Elements *)value)->above;
        for (i = 0; i < 2; i++) if (above[i]) ((Owned *)above[i])->lent_inside++;
    }
    return 1;
}
/* Whether all uncounted references to a loose structure, and all references to what is in it, are from its own tree. */
static int is_alone(PyObject *self, int deep) {
    Owned *of = (Owned *)self;
    PyObject **field = FIRST_FIELD(self), **end = FIELDS_END(self, Py_TYPE(self));
    uint64_t fields = fields_to_examine(of);
    if (deep >= NESTED) { too_deep = 1; return 0; }
    of->lent_inside = 0;
    count_inside(self);
    /* What a program put into a field without a bit is not examined: then too few are counted, and it is not alone. */
    for (; fields && field < end; field++, fields = NEXT_FIELD(fields)) {
        if (!(fields & 1) || IS_FIELD(self, field, of->parent) || IS_FIELD(self, field, of->root)) continue;
        if (!is_value_alone(*field, deep)) return 0;
    }
    return of->lent_inside == of->lent;
}
/* End the reference of a field or list to `value`, and free the tree of `value` if that was the last one. */
/* The caller found the structure around it alone (`is_alone`). */
static void release_value(PyObject *value) {
    Py_ssize_t i, many;
    if (value == NULL) return;
    if (Py_REFCNT(value) == 1) {
        if (is_owned(value) && ((Owned *)value)->loose) { free_tree(value); return; }
        if (is_list(value)) {
            many = PyList_GET_SIZE(value);
            Py_SET_SIZE((PyVarObject *)value, 0);
            for (i = 0; i < many; i++) release_value(((PyListObject *)value)->ob_item[i]);
            if (Py_TYPE(value) == elements_type) give_back_above(value);
        }
    }
    Py_DECREF(value);
}
/* Free a structure that is alone, and all that is in it. */
static void free_tree(PyObject *self) {
    Owned *of = (Owned *)self;
    PyObject **field, **end = FIELDS_END(self, Py_TYPE(self)), *value, *parent = NULL, *root = NULL;
    uint64_t fields = fields_to_examine(of);
    if (of->parent) { parent = SLOT(self, of->parent); SLOT(self, of->parent) = NULL; }
    if (of->root) { root = SLOT(self, of->root); SLOT(self, of->root) = NULL; }
    for (field = FIRST_FIELD(self); field < end; field++, fields = NEXT_FIELD(fields)) {
        value = *field;
        *field = NULL;
        if (fields & 1) release_value(value);
        else Py_XDECREF(value);
    }
    if (parent) give_back(parent);
    if (root) give_back(root);
    Py_SET_REFCNT(self, 0);
    slot_free(self);
}
"""
