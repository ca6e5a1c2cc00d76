"""C that turns loose structures into settled ones, lends them, and lets them wait; the terms are those of `ownership`.

An extension module contains this text after that of `c_ownership`, whose functions it calls.  Compiled readers call
`lend_parent`, `lend_root` and `slot_keep`; Python calls `tree_dealloc` when nothing refers to a structure any more.

To settle a structure is to count its references to parent and root, to show it to the garbage collector, and to do the
same to all that is in it.  This may be nested without bound, so it is a loop over a linked list, `pending`: structures
whose own references are counted, but whose fields are not settled yet.

Where a program still refers to a part of a structure that it dropped, such as a list of rows, the structure waits for
the part (`wait_for_parts`) instead of being settled.  Nothing reports that a part is dropped, so what waits is examined
again (`recheck_waiting`): when the next file is read, when another structure begins to wait, and before the garbage
collector runs.  After `MOST_RECHECKS` times it is settled, and so it is before the collector examines all objects.
"""

from __future__ import annotations

SETTLING_C = r"""
/* Make the uncounted reference in the field at `*offset` (parent or root) a counted one; 0: it is counted already. */
static void count_reference(PyObject *self, uint16_t *offset) {
    PyObject *target;
    if (!*offset) return;
    target = SLOT(self, *offset);
    *offset = 0;
    Py_INCREF(target);
    give_back(target);
}
/* Count the references of a loose structure, and put it before the others whose fields are to be settled. */
static void begin_settling(PyObject *self, Owned **pending) {
    Owned *of = (Owned *)self;
    if (!of->loose) return;
    of->loose = 0;
    count_reference(self, &of->parent);
    count_reference(self, &of->root);
    of->next = *pending;
    *pending = of;
}
/* Count the references of a list to what is around it: `held` has them from then on. */
static void count_above(Elements *list) {
    int i;
    PyObject *held = PyTuple_New(2);
    if (held == NULL) { PyErr_Clear(); return; } /* they stay uncounted, and what they refer to is never freed */
    for (i = 0; i < 2; i++) {
        PyObject *target = list->above[i] != NULL ? list->above[i] : Py_None;
        Py_INCREF(target);
        PyTuple_SET_ITEM(held, i, target);
    }
    Py_SETREF(list->held, held);
    give_back_above((PyObject *)list);
}
/* Begin to settle each structure that `value` is or contains. */
static void settle_value(PyObject *value, Owned **pending, int deep) {
    Py_ssize_t i;
    if (value == NULL) return;
    if (is_owned(value)) begin_settling(value, pending);
    else if (is_list(value) && deep < NESTED) {
        for (i = 0; i < PyList_GET_SIZE(value); i++) settle_value(PyList_GET_ITEM(value, i), pending, deep + 1);
        if (Py_TYPE(value) == elements_type && ((Elements *)value)->above[0] && ((Elements *)value)->held == Py_None) {
            count_above((Elements *)value);
        }
    }
}
/* Finish the structures that `begin_settling` began: show each to the garbage collector, and settle what is in it, */
/* which puts further ones into the list. */
static void settle_pending(Owned *pending) {
    while (pending != NULL) {
        Owned *of = pending;
        PyObject *self = (PyObject *)of, **field, **end = FIELDS_END(self, Py_TYPE(self));
        pending = of->next;
        of->next = NULL;
        PyObject_GC_Track(self);
        if (is_in_block(self)) count_allocation(MAKERS[of->maker].type);
        for (field = FIRST_FIELD(self); field < end; field++) settle_value(*field, &pending, 0);
        if (of->lent > 0 && !of->kept) { of->kept = 1; Py_INCREF(self); } /* others still refer to it uncounted */
    }
}
/* Settle a structure, and all that is in it. */
static void settle_downward(PyObject *self) {
    Owned *pending = NULL;
    int collects = PyGC_Disable(); /* finalizers that the collector calls could change what is being settled */
    begin_settling(self, &pending);
    settle_pending(pending);
    if (collects) PyGC_Enable();
}
/* Settle each structure that `value` is or contains, with what is in it, then its parent, the parent of that, ... */
static void settle_upward(PyObject *value, int deep) {
    Py_ssize_t i;
    PyObject *parent;
    Owned *pending = NULL;
    if (value != NULL && is_list(value) && deep < NESTED) {
        for (i = 0; i < PyList_GET_SIZE(value); i++) settle_upward(PyList_GET_ITEM(value, i), deep + 1);
        settle_value(value, &pending, deep);
        settle_pending(pending);
    }
    while (value != NULL && is_owned(value) && ((Owned *)value)->loose) {
        parent = ((Owned *)value)->parent ? SLOT(value, ((Owned *)value)->parent) : NULL;
        settle_downward(value);
        value = parent;
    }
}
/* Settle the whole tree around each structure that `value` is or contains. */
static void settle(PyObject *value) {
    int collects = PyGC_Disable();
    settle_upward(value, 0);
    if (collects) PyGC_Enable();
}
/* Store a value that was not read for this field: a structure in it has its place in another tree. */
static void slot_keep(PyObject *self, Py_ssize_t offset, PyObject *value) {
    if (PyType_IS_GC(Py_TYPE(value)) && (has_structures(value, 0) || PyTuple_Check(value))) {
        settle(value);
        settle(self);
    }
    slot_put(self, offset, value);
}
/* Whether there may be one more uncounted reference to `value`: it is a loose structure. */
static inline int can_lend(PyObject *value) {
    return is_owned(value) && ((Owned *)value)->loose && ((Owned *)value)->lent < INT32_MAX;
}
/* Keep a settled structure, so that there may be an uncounted reference to it; returns whether that is possible. */
/* Only if what is being read will be in no structure (`outside`): otherwise the two could keep each other forever. */
static int keep_settled(PyObject *target) {
    Owned *of = (Owned *)target;
    if (!doing.outside || !is_owned(target) || of->loose || of->lent == INT32_MAX) return 0;
    if (!of->kept) { of->kept = 1; Py_INCREF(target); }
    return 1;
}
/* Store an uncounted reference to `target` in the field at `offset`, and that offset in `*lent_field`: `parent` or */
/* `root` of `self`.  Where `target` cannot be lent, settle `self`, and store a counted reference. */
static void lend(PyObject *self, Py_ssize_t offset, PyObject *target, uint16_t *lent_field) {
    if (((Owned *)self)->loose && target != Py_None) {
        PyObject *before = SLOT(self, offset);
        int is_empty = before == NULL || before == Py_None;
        if (offset <= UINT16_MAX && is_empty && (can_lend(target) || keep_settled(target))) {
            SLOT(self, offset) = target;
            Py_XDECREF(before);
            ((Owned *)target)->lent++;
            *lent_field = (uint16_t)offset;
            return;
        }
        settle(self); /* it may be in a circle through an object that is not a structure */
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
#define MOST_WAITING 8                /* structures */
#define MOST_RECHECKS 4               /* of each */
static struct Waiting { PyObject *structure; int rechecks; } waiting_for_parts[MOST_WAITING];
static int many_waiting = 0;
/* Let a structure wait, with one reference that is ours; returns whether it may: there is space and stack. */
static int add_waiting(PyObject *structure, int rechecks) {
    if (many_waiting == MOST_WAITING || rechecks >= MOST_RECHECKS || is_stack_low()) return 0;
    waiting_for_parts[many_waiting].structure = structure;
    waiting_for_parts[many_waiting++].rechecks = rechecks;
    return 1;
}
/* Free each waiting structure whose parts were dropped; the others wait on, or are settled: all, if `settles`. */
static void recheck_waiting(int settles) {
    struct Waiting waiting[MOST_WAITING];
    int i, many = many_waiting;
    if (many == 0 || is_stack_low()) return;
    memcpy(waiting, waiting_for_parts, sizeof(waiting));
    many_waiting = 0; /* what is freed may call this */
    for (i = 0; i < many; i++) {
        PyObject *one = waiting[i].structure;
        if (Py_REFCNT(one) == 1 && ((Owned *)one)->loose) {
            if (is_alone(one, 0)) { free_tree(one); continue; }
            if (!settles && add_waiting(one, waiting[i].rechecks + 1)) continue;
            settle_downward(one);
        }
        Py_DECREF(one); /* it is settled, or something refers to it again */
    }
}
/* Let a structure that nothing refers to wait for its parts, to which something does; returns whether it may. */
static int wait_for_parts(PyObject *structure) {
    recheck_waiting(0);
    return add_waiting(structure, 0);
}
/* What Python calls when the last counted reference to a structure is gone: free a settled one as Python does, and a */
/* loose one with its tree; or let it live on with the reference count 1. */
static void tree_dealloc(PyObject *self) {
    Owned *of = (Owned *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject **field;
    if (of->loose) {
        too_deep = is_stack_low();
        if (!too_deep && is_alone(self, 0)) { free_tree(self); return; }
        Py_SET_REFCNT(self, 1);
        if (!too_deep && wait_for_parts(self)) return;
        settle_downward(self);
        Py_DECREF(self); /* settled, it comes here again, now or when the references to it are gone */
        return;
    }
    if (type->tp_finalize != NULL && is_owned(self) && PyObject_CallFinalizerFromDealloc(self) < 0) return;
    PyObject_GC_UnTrack(self);
    while (type->tp_dealloc != tree_dealloc) type = type->tp_base; /* a program's subclass frees its own fields */
    Py_TRASHCAN_BEGIN(self, tree_dealloc) /* frees what is nested without the stack */
    for (field = FIRST_FIELD(self); field < FIELDS_END(self, type); field++) Py_CLEAR(*field);
    slot_free(self);
    Py_TRASHCAN_END
}
/* Let `tree_dealloc` free the structures of a class. */
static void use_tree_dealloc(PyObject *cls) { ((PyTypeObject *)cls)->tp_dealloc = tree_dealloc; }
static Py_ssize_t basic_size(PyObject *cls) { return ((PyTypeObject *)cls)->tp_basicsize; }
/* Make columns loose that only the reader refers to, so that their parent and root can be lent to them. */
static void loosen(PyObject *columns) {
    Owned *of = (Owned *)columns;
    if (of->loose || !is_owned(columns) || of->lent || PyObject_GC_IsTracked(columns) == 0 || of->kept) return;
    PyObject_GC_UnTrack(columns);
    of->loose = 1;
}
/* Move the elements of the list `from`, which is empty afterwards, into the empty `Elements` `into`. */
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
/* Let an `Elements` refer uncounted to a loose structure around it: the first (`index` 0) or the second. */
static void lend_above(PyObject *list, int index, PyObject *target) {
    ((Elements *)list)->above[index] = target;
    ((Owned *)target)->lent++;
}
"""
