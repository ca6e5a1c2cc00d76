"""C that makes and frees structures, and counts who refers to whom: the lower part of `ownership`.

No file decides how much of the stack this takes: at most `NESTED` structures and lists within each other are freed by
functions that call themselves.  Those that are nested deeper, or freed where the stack is short, are settled in a loop
(`settle_down`), and left to Python, which frees what is nested without the stack.

Where a program refers to a part of a structure that it dropped, such as a list of rows, the structure waits for the
part (`wait_for_parts`).  Nothing reports that a part is dropped, so what waits is examined again (`look_again`): when
the next file is read, when another structure begins to wait, and before the garbage collector runs.  After `LOOKS`
times it is settled, and so it is before the collector examines all objects.

In the functions, `self` is a structure, `of` the same as an `Owned`, `one` anything in a field or list, `target` a
structure that another one refers to uncounted, `p` goes through the fields, and `deep` counts structures and lists
within each other.  `met` counts uncounted references that were found in a tree: if there are as many as are `lent`,
nothing outside refers to the structure.  `examined` has a bit for each field that may contain structures, as `fields`
has for those from `p` on.  `tree_dealloc` is called with a reference count of 0, which becomes 1 where the structure
has to be used again.  `WAITING` structures wait at most.
"""

from __future__ import annotations

OWNERSHIP_C = r"""
typedef struct Owned {
    PyObject_HEAD
    union {
        struct {
            int32_t met;              /* references found while a tree is examined */
            uint16_t parent, root;    /* offsets of the fields whose references are uncounted; 0 if counted */
        };
        struct Owned *next;           /* the next structure to be settled, once its references are counted */
    };
    int32_t lent;                     /* uncounted references to it */
    uint16_t maker;                   /* the number of its class, or 0 */
    uint8_t loose, kept;
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
static int is_alone(PyObject *self, int deep);
static void drop(PyObject *self);
static inline int is_owned(PyObject *one) { return Py_TYPE(one)->tp_dealloc == tree_dealloc; }
#define AT(self, offset) ((PyObject **)((char *)(self) + (offset)))
#define FIELDS(self, type, p) for (p = AT(self, sizeof(Owned)); p < AT(self, (type)->tp_basicsize); p++)
#define IS_AT(self, p, offset) ((offset) && (char *)(p) == (char *)(self) + (offset))
static inline int is_list(PyObject *one) { return PyList_CheckExact(one) || Py_TYPE(one) == elements_type; }
/* An element of a list, or of anything else with elements. */
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
/* A class whose structures are made here, whether they are in blocks, and which of its first 64 fields hold */
/* structures or lists: a bit for each. */
typedef struct { PyTypeObject *type; uint64_t examined; int in_blocks; } Maker;
static Maker *M = NULL;
#define NESTED 60
static int too_deep = 0;              /* whether something is nested deeper, as the last examination found */
static PyObject *slot_make(Maker *maker) {
    PyTypeObject *type = maker->type;
    PyObject *made;
    if (type->tp_dealloc != tree_dealloc) return PyType_GenericAlloc(type, 0);
    if (maker->in_blocks) {
        if ((made = block_make(type)) == NULL) return NULL;
    } else {
        if ((made = PyObject_GC_New(PyObject, type)) == NULL) return NULL;
        memset((char *)made + sizeof(PyObject), 0, type->tp_basicsize - sizeof(PyObject));
    }
    ((Owned *)made)->loose = 1;
    ((Owned *)made)->maker = (uint16_t)(maker - M);
    return made;
}
static inline uint64_t examined_in(Owned *of) { return of->maker ? M[of->maker].examined : ~(uint64_t)0; }
/* The fields after the first of some: where bit 63 is set, all after it are examined. */
#define AFTER(fields) ((uint64_t)((int64_t)(fields) >> 1))
static int make_room(Py_ssize_t many) {
    M = many <= UINT16_MAX ? (Maker *)calloc(many, sizeof(Maker)) : NULL;
    return M != NULL;
}
static void make_of(int number, PyObject *cls, uint64_t examined) {
    M[number].type = (PyTypeObject *)cls;
    M[number].examined = examined;
    M[number].in_blocks = fits_block((PyTypeObject *)cls);
}
static inline int is_in_block(PyObject *self) {
    uint16_t maker = ((Owned *)self)->maker;
    return maker && M[maker].in_blocks;
}
/* Free a structure whose fields are NULL. */
static void slot_free(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    int in_block = is_in_block(self);
    memset((char *)self + sizeof(PyObject), 0, sizeof(Owned) - sizeof(PyObject));
    if (in_block) block_free(self);
    else type->tp_free(self);
    Py_DECREF(type);
}
/* One uncounted reference less to a structure. */
static void give_back(PyObject *target) {
    Owned *of = (Owned *)target;
    if (--of->lent == 0 && of->kept) { of->kept = 0; Py_DECREF(target); }
}
/* Whether anything in a field or list refers to structures, as lists that are nested deeply are taken to do. */
static int has_owned(PyObject *one, int deep) {
    Py_ssize_t i;
    if (one == NULL) return 0;
    if (is_owned(one)) return 1;
    if (is_list(one)) {
        if (deep >= NESTED) return 1;
        for (i = 0; i < PyList_GET_SIZE(one); i++) if (has_owned(PyList_GET_ITEM(one, i), deep + 1)) return 1;
    }
    return 0;
}
/* Count the references of a loose structure to what it is in. */
static inline void meet_above(PyObject *self) {
    Owned *of = (Owned *)self;
    if (of->parent) ((Owned *)SLOT(self, of->parent))->met++;
    if (of->root) ((Owned *)SLOT(self, of->root))->met++;
}
static inline int is_alone_in(PyObject *one, int deep) {
    Py_ssize_t i;
    if (one == NULL) return 1;
    if (is_owned(one)) {
        Owned *of = (Owned *)one;
        if (!of->loose) return 1;
        if (Py_REFCNT(one) != 1) return 0;
        if (of->lent || examined_in(of)) return is_alone(one, deep + 1);
        meet_above(one); /* nothing is in it */
        return 1;
    }
    if (!is_list(one)) return 1;
    if (Py_REFCNT(one) != 1) return !has_owned(one, deep) && Py_TYPE(one) != elements_type;
    if (deep >= NESTED) { too_deep = 1; return 0; }
    for (i = 0; i < PyList_GET_SIZE(one); i++) if (!is_alone_in(PyList_GET_ITEM(one, i), deep + 1)) return 0;
    if (Py_TYPE(one) == elements_type) {
        for (i = 0; i < 2; i++) if (((Elements *)one)->above[i]) ((Owned *)((Elements *)one)->above[i])->met++;
    }
    return 1;
}
/* Whether only a loose structure itself refers to what is in it, and what is in it alone refers to it uncounted. */
static int is_alone(PyObject *self, int deep) {
    Owned *of = (Owned *)self;
    PyObject **p = AT(self, sizeof(Owned)), **end = AT(self, Py_TYPE(self)->tp_basicsize);
    uint64_t fields = examined_in(of);
    if (deep >= NESTED) { too_deep = 1; return 0; }
    of->met = 0;
    meet_above(self);
    /* What a program put into another field is not examined: if it is in this tree, it is met too rarely. */
    for (; fields && p < end; p++) {
        if (fields & 1 && !IS_AT(self, p, of->parent) && !IS_AT(self, p, of->root) && !is_alone_in(*p, deep)) return 0;
        fields = AFTER(fields);
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
    uint64_t fields = examined_in(of);
    if (of->parent) { parent = SLOT(self, of->parent); SLOT(self, of->parent) = NULL; }
    if (of->root) { root = SLOT(self, of->root); SLOT(self, of->root) = NULL; }
    FIELDS(self, Py_TYPE(self), p) {
        one = *p;
        *p = NULL;
        if (fields & 1) drop_in(one);
        else Py_XDECREF(one);
        fields = AFTER(fields);
    }
    if (parent) give_back(parent);
    if (root) give_back(root);
    Py_SET_REFCNT(self, 0);
    slot_free(self);
}
static void settle_field(PyObject *self, uint16_t *offset) {
    PyObject *target;
    if (!*offset) return;
    target = SLOT(self, *offset);
    *offset = 0;
    Py_INCREF(target);
    give_back(target);
}
static void settle_later(PyObject *one, Owned **waiting) {
    Owned *of = (Owned *)one;
    if (!of->loose) return;
    of->loose = 0;
    settle_field(one, &of->parent);
    settle_field(one, &of->root);
    of->next = *waiting;
    *waiting = of;
}
static void settle_in(PyObject *one, Owned **waiting, int deep) {
    Py_ssize_t i;
    int j;
    if (one == NULL) return;
    if (is_owned(one)) settle_later(one, waiting);
    else if (is_list(one) && deep < NESTED) {
        for (i = 0; i < PyList_GET_SIZE(one); i++) settle_in(PyList_GET_ITEM(one, i), waiting, deep + 1);
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
/* Settle all structures that wait, and what is in them. */
static void settle_waiting(Owned *waiting) {
    while (waiting != NULL) {
        Owned *of = waiting;
        PyObject *self = (PyObject *)of, **p;
        waiting = of->next;
        of->next = NULL;
        PyObject_GC_Track(self);
        if (is_in_block(self)) count_one(M[of->maker].type);
        FIELDS(self, Py_TYPE(self), p) settle_in(*p, &waiting, 0);
        if (of->lent > 0 && !of->kept) { of->kept = 1; Py_INCREF(self); }
    }
}
static void settle_down(PyObject *self) {
    Owned *waiting = NULL;
    int collects = PyGC_Disable(); /* what it calls could change what is being settled */
    settle_later(self, &waiting);
    settle_waiting(waiting);
    if (collects) PyGC_Enable();
}
static void settle_tree(PyObject *one, int deep) {
    Py_ssize_t i;
    PyObject *above;
    Owned *waiting = NULL;
    if (one != NULL && is_list(one) && deep < NESTED) {
        for (i = 0; i < PyList_GET_SIZE(one); i++) settle_tree(PyList_GET_ITEM(one, i), deep + 1);
        settle_in(one, &waiting, deep);
        settle_waiting(waiting);
    }
    while (one != NULL && is_owned(one) && ((Owned *)one)->loose) {
        above = ((Owned *)one)->parent ? SLOT(one, ((Owned *)one)->parent) : NULL;
        settle_down(one);
        one = above;
    }
}
/* Settle the tree of each structure in a field or list. */
static void settle(PyObject *one) {
    int collects = PyGC_Disable();
    settle_tree(one, 0);
    if (collects) PyGC_Enable();
}
/* Put a structure into another that it is not in, or anything else. */
static void slot_keep(PyObject *self, Py_ssize_t offset, PyObject *value) {
    if (PyType_IS_GC(Py_TYPE(value)) && (has_owned(value, 0) || PyTuple_Check(value))) {
        settle(value);
        settle(self);
    }
    slot_put(self, offset, value);
}
static inline int can_lend(PyObject *one) {
    return is_owned(one) && ((Owned *)one)->loose && ((Owned *)one)->lent < INT32_MAX;
}
/* Whether a structure that is settled can be lent to one that nothing in it will refer to, and is kept from then on. */
static int can_keep(PyObject *one) {
    Owned *of = (Owned *)one;
    if (!doing.outside || !is_owned(one) || of->loose || of->lent == INT32_MAX) return 0;
    if (!of->kept) { of->kept = 1; Py_INCREF(one); }
    return 1;
}
static void lend(PyObject *self, Py_ssize_t offset, PyObject *target, uint16_t *place) {
    if (((Owned *)self)->loose && target != Py_None) {
        PyObject *before = SLOT(self, offset);
        if (offset <= UINT16_MAX && (before == NULL || before == Py_None) && (can_lend(target) || can_keep(target))) {
            SLOT(self, offset) = target;
            Py_XDECREF(before);
            ((Owned *)target)->lent++;
            *place = (uint16_t)offset;
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
#define WAITING 8
#define LOOKS 4
static struct Waiting { PyObject *one; int looks; } waiting_for_parts[WAITING];
static int many_waiting = 0;
/* Whether a structure can wait for its parts; it has one reference from then on. */
static int wait_again(PyObject *one, int looks) {
    if (many_waiting == WAITING || looks >= LOOKS || is_stack_low()) return 0;
    waiting_for_parts[many_waiting].one = one;
    waiting_for_parts[many_waiting++].looks = looks;
    return 1;
}
/* Free what waits and whose parts were dropped; the others wait on, or are settled. */
static void look_again(int settles) {
    struct Waiting waiting[WAITING];
    int i, many = many_waiting;
    if (many == 0 || is_stack_low()) return;
    memcpy(waiting, waiting_for_parts, sizeof(waiting));
    many_waiting = 0; /* what is freed may call this */
    for (i = 0; i < many; i++) {
        PyObject *one = waiting[i].one;
        if (Py_REFCNT(one) == 1 && ((Owned *)one)->loose) {
            if (is_alone(one, 0)) { drop(one); continue; }
            if (!settles && wait_again(one, waiting[i].looks + 1)) continue;
            settle_down(one);
        }
        Py_DECREF(one);
    }
}
static int wait_for_parts(PyObject *one) {
    look_again(0);
    return wait_again(one, 0);
}
static void tree_dealloc(PyObject *self) {
    Owned *of = (Owned *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject **p;
    if (of->loose) {
        too_deep = is_stack_low();
        if (!too_deep && is_alone(self, 0)) { drop(self); return; }
        Py_SET_REFCNT(self, 1);
        if (!too_deep && wait_for_parts(self)) return;
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
"""
