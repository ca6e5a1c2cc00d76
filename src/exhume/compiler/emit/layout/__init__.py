"""The module that all generated readers share (`_layout`): classes and functions that their code calls, as source code.

It is kept as strings, because it is written next to the readers, which must not need exhume; `exhume.compiler.whole`
writes it, and `exhume.layout.foreign_modules` runs it in memory:

    LAYOUT      errors and numbers, for all readers
    NATIVE      loads compiled code, for exhume's own specifications
    FOREIGN     streams, the base class of structures, budgets and checked operations, for specifications of users
"""

from __future__ import annotations

from exhume.compiler import refusal
from exhume.compiler.emit.layout.bounded import BOUNDED
from exhume.compiler.emit.layout.collector import COLLECTOR
from exhume.compiler.emit.layout.columns import COLUMNS
from exhume.compiler.emit.layout.compiled import COMPILED
from exhume.compiler.emit.layout.errors import LAYOUT, NATIVE
from exhume.compiler.emit.layout.structures import STRUCTURES

__all__ = ["FOREIGN", "LAYOUT", "NATIVE"]

FOREIGN: str = STRUCTURES + COLLECTOR + COMPILED + COLUMNS + BOUNDED

# Insert the limits, such as `<STEPS>`.
for _name, _value in vars(refusal).items():
    FOREIGN = FOREIGN.replace(f"<{_name}>", str(_value))
