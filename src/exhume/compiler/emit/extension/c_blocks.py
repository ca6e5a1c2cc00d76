"""C that takes memory for structures: part of every extension module.

A tree of a million structures takes much memory. The system provides it page by page, and a page costs as much time as
some twenty structures.  So structures of one size are stored in blocks of 2 MiB, and for each block after the second of
a size the system is requested to provide one large page.  The first block of each size is smaller and is kept, so that
short readings take no memory from the system.  The others return to it when they contain no structure, except for
`KEPT` blocks of all sizes together, which the next reading uses.

The head that the garbage collector uses precedes each structure.  Where that head is not two words (free threads, later
versions of Python), and where a sanitizer watches the memory, Python allocates structures (`IN_BLOCKS`).  The collector
starts after a number of allocations, so a structure in a block counts as one when the collector has to know it.

A block is at a multiple of its size, so that the address of a structure leads to its block.  A place has a size in
words; `open_blocks` has, for each size, the blocks with free places, `blocks_of` the number of all blocks, and
`empty_blocks` counts those of all sizes without a structure, except the first of each size.
"""

from __future__ import annotations

BLOCKS_C = r"""
#if PY_VERSION_HEX >= 0x030F0000 || defined(Py_GIL_DISABLED) || defined(PYPY_VERSION) \
    || defined(__SANITIZE_ADDRESS__) || defined(Py_TRACE_REFS)
#define IN_BLOCKS 0
#else
#define IN_BLOCKS 1
#endif
#include <sys/mman.h>
#define HEAD (2 * sizeof(void *))     /* bytes of the head that the garbage collector uses */
#define BLOCK ((size_t)2 << 20)       /* bytes of a block */
#define FIRST ((size_t)256 << 10)     /* bytes of the first block of a size that are used */
#define SIZES 64                      /* structures of this many words or more are not in blocks */
#define KEPT 4                        /* most empty blocks that are not returned to the system */
typedef struct Block {
    struct Block *next, *previous;    /* blocks of the same size with free places */
    void **freed;                     /* the first freed place; each has the address of the next one */
    char *fresh, *end;                /* start and end of the memory that was never used */
    uint32_t many;                    /* how many structures are in it */
    uint16_t size;                    /* of a place, in words */
    uint8_t is_first;                 /* whether it is the first block of its size */
} Block;
static Block *open_blocks[SIZES];
static int blocks_of[SIZES], empty_blocks = 0;
/* Whether a block has a free place. */
static inline int has_place(Block *block) {
    return block->freed != NULL || (size_t)(block->end - block->fresh) >= block->size * sizeof(void *);
}
/* Add a block to `open_blocks`, or remove it. */
static void link_block(Block *block) {
    Block **first = &open_blocks[block->size];
    block->previous = NULL;
    block->next = *first;
    if (*first != NULL) (*first)->previous = block;
    *first = block;
}
static void unlink_block(Block *block) {
    if (block->previous != NULL) block->previous->next = block->next;
    else open_blocks[block->size] = block->next;
    if (block->next != NULL) block->next->previous = block->previous;
}
/* `BLOCK` bytes of memory from the system, at a multiple of that; NULL if there are none. */
static char *map_block(void) {
    char *found = (char *)mmap(NULL, 2 * BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *at;
    if (found == (char *)MAP_FAILED) return NULL;
    /* Of twice as many bytes, those before and after the block are returned. */
    at = (char *)(((uintptr_t)found + BLOCK - 1) & ~(uintptr_t)(BLOCK - 1));
    if (at != found) munmap(found, at - found);
    if (at != found + BLOCK) munmap(at + BLOCK, found + BLOCK - at);
    return at;
}
/* A new block for places of `size` words, in `open_blocks`; NULL if there is no memory. */
static Block *make_block(size_t size) {
    Block *block = (Block *)map_block();
    if (block == NULL) return NULL;
#ifdef MADV_HUGEPAGE
    if (blocks_of[size] >= 2) madvise(block, BLOCK, MADV_HUGEPAGE);
#endif
    block->fresh = (char *)(block + 1);
    block->size = (uint16_t)size;
    block->is_first = blocks_of[size] == 0;
    empty_blocks += !block->is_first;
    block->end = (char *)block + (block->is_first ? FIRST : BLOCK);
    blocks_of[size]++;
    link_block(block);
    return block;
}
/* Whether structures of a class may be in blocks: they are small, and only the head of the collector precedes them. */
static int fits_block(PyTypeObject *type) {
    unsigned long more = 0;           /* flags of classes whose objects have words before the head */
#ifdef Py_TPFLAGS_MANAGED_DICT
    more |= Py_TPFLAGS_MANAGED_DICT;
#endif
#ifdef Py_TPFLAGS_MANAGED_WEAKREF
    more |= Py_TPFLAGS_MANAGED_WEAKREF;
#endif
    return IN_BLOCKS && !PyType_HasFeature(type, more) && PyType_IS_GC(type) && type->tp_itemsize == 0
        && type->tp_alloc == PyType_GenericAlloc && (HEAD + type->tp_basicsize) / sizeof(void *) < SIZES;
}
/* A new structure of a class that fits, all of whose fields are NULL. */
static PyObject *make_in_block(PyTypeObject *type) {
    size_t size = (HEAD + type->tp_basicsize + sizeof(void *) - 1) / sizeof(void *);
    Block *block = open_blocks[size];
    void **place;
    if (block == NULL && (block = make_block(size)) == NULL) return PyErr_NoMemory();
    if ((place = block->freed) != NULL) {
        block->freed = (void **)*place;
        memset(place, 0, HEAD);
    } else {
        place = (void **)block->fresh;
        block->fresh += size * sizeof(void *);
    }
    if (block->many++ == 0 && !block->is_first) empty_blocks--;
    if (!has_place(block)) unlink_block(block);
    return PyObject_Init((PyObject *)((char *)place + HEAD), type);
}
/* Let the garbage collector count one more allocation, as their number decides when it runs: */
/* make an object, and free its memory without the collector. */
static void count_allocation(PyTypeObject *type) {
    PyObject *one = PyObject_GC_New(PyObject, type);
    if (one == NULL) { PyErr_Clear(); return; }
    Py_DECREF(type);
    PyObject_Free((char *)one - HEAD);
}
/* Free the place of a structure, whose fields are NULL. */
static void free_in_block(PyObject *self) {
    Block *block = (Block *)((uintptr_t)self & ~(uintptr_t)(BLOCK - 1));
    void **place = (void **)((char *)self - HEAD);
    if (!has_place(block)) link_block(block);
    *place = block->freed;
    block->freed = place;
    if (--block->many == 0 && !block->is_first && ++empty_blocks > KEPT) {
        empty_blocks--;
        unlink_block(block);
        blocks_of[block->size]--;
        munmap(block, BLOCK);
    }
}
"""
