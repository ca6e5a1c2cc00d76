"""How deep compiled code goes: as far as the stack of its thread reaches, part of every extension module.

Readers of structures within structures call themselves, and a file decides how often.  So each of them that could go
deep (`guarded`) begins with `deeper`.  This ends compiled reading if less than a reserve of the stack is left: the
interpreted readers start over, as they do not need the stack.  Where the system does not report where the stack
ends, the first call of a thread is taken to have `ASSUMED` bytes left.

`DEPTH_C` is C, `DEPTH_NAMES` declares its names to Cython, and `DEPTH` is Cython that uses them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from graphlib import TopologicalSorter
from typing import TypeVar

EVERY = 4
"""In a chain of calls, each reader whose height is a multiple of this examines how much of the stack is left."""

DEPTH_C = r"""
#include <pthread.h>
#if defined(__FreeBSD__)
#include <pthread_np.h>
#endif
#define RESERVE ((size_t)64 << 10)    /* bytes of the stack that stay unused, or a quarter of a smaller stack */
#define ASSUMED ((size_t)64 << 10)    /* bytes of the stack that are taken to be left where the system does not say */
/* The state of a thread. */
static __thread struct {
    int deep;                         /* how many structures that are being read are within each other */
    int active;                       /* whether compiled code runs */
    int interpreting;                 /* how many interpreted readers it called that have not returned */
    int outside;                      /* whether the structure that is read will be in no other one */
    char *floor;                      /* the address below which the reserve of the stack begins; NULL: not known yet */
} doing;
/* The address `floor` of this thread; `here` is an address in its stack. */
static char *stack_floor(char *here) {
    void *low = NULL;
    size_t size = 0, guard = 0, reserve;
#if defined(__APPLE__)
    size = pthread_get_stacksize_np(pthread_self());
    low = (char *)pthread_get_stackaddr_np(pthread_self()) - size;
#elif defined(__linux__) || defined(__FreeBSD__)
    pthread_attr_t of;
#if defined(__linux__)
    int known = pthread_getattr_np(pthread_self(), &of) == 0;
#else
    int known = pthread_attr_init(&of) == 0 && pthread_attr_get_np(pthread_self(), &of) == 0;
#endif
    if (known) {
        if (pthread_attr_getstack(&of, &low, &size) != 0 || pthread_attr_getguardsize(&of, &guard) != 0) low = NULL;
        pthread_attr_destroy(&of);
    }
#endif
    reserve = size / 4 < RESERVE ? size / 4 : RESERVE;
    if (low == NULL || here < (char *)low || (size_t)(here - (char *)low) > size) return here - ASSUMED;
    return (char *)low + guard + reserve;
}
/* Whether little of the stack is left. */
static int is_stack_low(void) {
    char here;
    if (doing.floor == NULL) doing.floor = stack_floor(&here);
    return (char *)&here < doing.floor;
}
"""

DEPTH_NAMES = """
    int deep "doing.deep"
    int active "doing.active"
    int interpreting "doing.interpreting"
    int outside "doing.outside"
    bint is_stack_low()
"""

DEPTH = r"""

cdef enum:
    DEEPEST = 200  # structures within each other


cdef inline int deeper() except -1:
    # Begin a structure within another, unless there are too many, or little of the stack is left.
    global deep
    deep += 1
    if deep > DEEPEST or is_stack_low():
        abandon()
    return 0


cdef inline void shallower() noexcept:
    # End the structure that `deeper` began.
    global deep
    deep -= 1
"""

Reader = TypeVar("Reader", bound=Hashable)


def guarded(calls: Mapping[Reader, set[Reader]]) -> set[Reader]:
    """Return the readers that examine the stack; `calls` has the readers that each one calls.

    Those are all that may call themselves, through others, and every `EVERY`-th in a chain of calls.
    """
    found = set()
    for key, called in calls.items():
        # Follow the calls from one reader: does any path lead back to it?
        seen: set[Reader] = set()
        waiting = list(called)
        while waiting:
            here = waiting.pop()
            if here not in seen:
                seen.add(here)
                waiting += calls[here]
        if key in seen:
            found.add(key)
    others = {key: called - found for key, called in calls.items() if key not in found}
    heights: dict[Reader, int] = {}
    for key in TopologicalSorter(others).static_order():  # a reader comes after those that it calls
        heights[key] = 1 + max((heights[one] for one in others[key]), default=0)
    return found | {key for key, height in heights.items() if height % EVERY == 0}
