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
from exhume.compiler.emit.layout.structures import STRUCTURES

__all__ = ["FOREIGN", "LAYOUT", "NATIVE"]

LAYOUT = '''"""What all readers raise, and how they say which field is truncated.  Written by `make generated`."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # `typing` is for type checkers; it takes longer to import than all of this
if TYPE_CHECKING:
    from typing import Any

View = bytes | memoryview
"""What readers read from."""


class LayoutError(ValueError):
    """Bytes that do not fit a specification.

    `path` leads to the field (`entries[3].len_key`), `offset` and `stop` are where it starts and ends in the view that
    was read; `expected` and `found` say why.  `short` means that the data ended inside the field.
    """

    def __init__(self, path: str, offset: int, stop: int, expected: Any, found: Any, *, short: bool = False) -> None:
        super().__init__(path, offset, stop, expected, found)
        self.path: str = path
        self.offset: int = offset
        self.stop: int = stop
        self.expected: Any = expected
        self.found: Any = found
        self.short: bool = short

    def within(self, path: str) -> None:
        """Puts the path of what encloses the field before its own."""
        self.path = f"{path}.{self.path}" if self.path and not self.path.startswith("[") else path + self.path

    def __str__(self) -> str:
        return f"{self.path} at {self.offset}: expected {self.expected}, found {self.found}"


ORDER = sys.byteorder
"""Which byte of a number this machine has first."""


def numbers(view: View, at: int, size: int, code: str, order: str) -> memoryview[Any]:
    """The numbers in `size` bytes from `at` on, each of the kind that `code` names for `array`.

    They are not copied unless their byte order is not that of the machine.
    """
    found = (view if isinstance(view, memoryview) else memoryview(view))[at : at + size]
    if order == ORDER:
        return found.cast(code)
    from array import array

    turned = array(code, bytes(found))
    turned.byteswap()
    return memoryview(turned)


def short(path: Any, at: int, end: int, size: int) -> LayoutError:
    """The error for a field, or the first of a run of `(field, end)` that the data do not hold."""
    start = at
    if isinstance(path, tuple):
        for path, stop in path:
            if at + stop > end:
                size = at + stop - start
                break
            start = at + stop
    if size < 0:
        return LayoutError(path, start, end, "a size of at least 0", size)
    return LayoutError(path, start, end, _bytes(size), _bytes(max(0, end - start)), short=True)


def _bytes(count: int) -> str:
    return "1 byte" if count == 1 else f"{count} bytes"
'''

# The end of `_layout` for exhume's own specifications.
NATIVE = '''

SOURCE = "{source}"
"""What these readers were compiled from; compiled code that was built from anything else is not used."""


def _load() -> Any:
    """The compiled code; None without it, or when `EXHUME_PURE=1` forbids it."""
    if os.environ.get("EXHUME_PURE", "") not in ("", "0"):
        return None
    try:
        from . import _native
    except ImportError:
        return None
    return _native if _native.SOURCE == SOURCE else None


native: Any = _load()
"""The functions that fill columns in compiled code; None where there are none."""
'''

FOREIGN: str = STRUCTURES + COLLECTOR + COMPILED + COLUMNS + BOUNDED

# Insert the limits, such as `<STEPS>`.
for _name, _value in vars(refusal).items():
    FOREIGN = FOREIGN.replace(f"<{_name}>", str(_value))
