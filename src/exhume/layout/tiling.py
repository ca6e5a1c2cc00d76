"""Whether a structure claims all of its bytes, according to its fast reader and without a field tree."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from exhume_ksy.facts._tiling import ROWS, SIZES, TILING

from exhume.layout.fast import FAILURES


def claimed(schema: str, size: int, most: int, read: Callable[[], bytes]) -> bool:
    """Whether fields of a schema claim every one of the `size` bytes that `read` returns.

    False is not a verdict: the schema may leave bytes out, the bytes may not fit it, or there may be too many of them.
    """
    if schema in ROWS:
        return size % ROWS[schema] == 0
    if schema in SIZES:
        return size == SIZES[schema]
    if schema not in TILING or size > most:
        return False
    module, reader, listed = TILING[schema]
    try:
        value, end = getattr(importlib.import_module(f"exhume_ksy.fast.{module}"), reader)(data := read(), 0, size)
        if listed:  # it consists of one list to the end, which is read when it is accessed
            end = len(data) if getattr(value, listed) is not None else 0
    except FAILURES:
        return False
    return bool(end == size)
