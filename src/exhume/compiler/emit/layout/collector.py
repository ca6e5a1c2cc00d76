"""The garbage collector of Python during a reading: a part of `_layout` for specifications of users, as source code.

A reading makes many objects, none of which is garbage.  So readers stop the collector (`pause`) and restart it
(`resume`).  Python has three generations of objects: new ones are examined often, old ones rarely.  `resume` moves what
a large input became to the oldest generation at once, since examining it takes longer than reading it.  The next
`pause` examines all objects if there are many that the collector has not seen.
"""

from __future__ import annotations

COLLECTOR = '''

import gc
from sys import version_info

CALLS = 8
"""Calls after which Python 3.11 adapts the code of a function to the values in it, and runs it up to twice as fast."""


def warm(*functions: Any) -> None:
    """Call readers so often that Python 3.11 adapts their code, since one call of a reader may read a long list.

    Each argument is 0, which is neither bytes nor a budget, so the readers fail before they read or change anything.
    Later versions of Python adapt code while it loops.
    """
    for function in functions if version_info[:2] == (3, 11) else ():
        zeros = (0,) * function.__code__.co_argcount
        for _ in range(CALLS):
            try:
                function(*zeros)
            except (*FAILURES, NoColumnsError):
                pass


TINY = 1 << 10
"""For inputs with fewer bytes, stopping the collector takes longer than it saves."""
SMALL = 1 << 18
"""Objects of inputs with fewer bytes stay in the youngest generation, so that those dropped early are freed early."""
MANY = 1_000
"""Objects of readings that make fewer stay there too."""
SPARED = 500_000
"""If there are more unexamined objects, the next reading starts with a full run of the collector."""


class _Spared:
    """Objects that `resume` spared the collector: how many in this process."""

    since = 0
    """How many objects became part of the oldest generation unexamined since the last full run."""
    alive = 0
    """How many of these and earlier ones were alive after that run."""
    others = False
    """Whether another library froze objects: these must stay frozen."""


def pause() -> bool:
    """Stop the garbage collector, and return whether it was on.

    First, it examines all objects if there are many spared ones, also in relation to those that a full run keeps.
    """
    if not gc.isenabled():
        return False
    if _Spared.since > SPARED and _Spared.since > _Spared.alive // 4:
        _Spared.alive = max(0, _Spared.alive + _Spared.since - gc.collect())
        _Spared.since = 0
    gc.disable()
    return True


def resume(was_on: bool, size: int = SMALL) -> None:
    """Restart the garbage collector after a reading of `size` bytes, if it was on before (`pause` returned this).

    The new objects of a large input are moved to the oldest generation, unexamined.
    """
    if not was_on:
        return
    made = gc.get_count()[0]  # objects since the last run of the collector: those of this reading
    if size >= SMALL and made > MANY and not _Spared.others:
        # `freeze` takes all objects out of the generations, `unfreeze` puts all frozen ones into the oldest: also those
        # of another library.  Where that froze many, counting them takes long, so they are counted once.
        _Spared.others = gc.get_freeze_count() > 0
        if not _Spared.others:
            gc.freeze()
            gc.unfreeze()
            _Spared.since += made
    gc.enable()
'''
