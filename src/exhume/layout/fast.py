"""From a window of bytes to a value, by a fast reader; its failures become our exceptions, with absolute offsets.

A fast reader is a function of `exhume_ksy.fast`, generated from a specification: it takes bytes, start and end, and
returns a structure and its end.  `where` is the span of the bytes in the file, or in a decompressed payload.
"""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any

from exhume_ksy.fast._layout import LayoutError, View, numbers, short

from exhume.errors import ExhumeError, LimitExceededError, Span, StructureError, TruncatedError, shorten

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    import numpy as np

    from exhume.findings import Rule

    T = TypeVar("T")

__all__ = ["FAILURES", "RAISED", "LayoutError", "View", "numbers", "read", "reading", "refused", "short", "unread"]

FAILURES = (LayoutError, IndexError, TypeError, AttributeError, OverflowError, RecursionError, UnicodeDecodeError)
"""Exceptions of generated readers on hostile input.

Mostly the first; the others come from expressions over absent fields, and from structures that nest too deeply."""

RAISED = (*FAILURES, ValueError, ArithmeticError, LookupError, NameError, MemoryError)
"""Exceptions of readers compiled from third-party specifications, whose expressions may fail in more ways."""


def read(
    reader: Callable[[View, int, int], tuple[T, int]], data: View, where: Span, rule: Rule | None = None
) -> tuple[T, int]:
    """Return the structure at the start of `data`, which is at `where`, and the offset in `data` at which it ends.

    Raises the error of `rule`; without one, `TruncatedError` if the bytes end too early and `StructureError` if they
    break the layout in any other way.  The error has the absolute offset and the path of the field.
    """
    try:
        return reader(data, 0, len(data))
    except FAILURES as error:
        raise refused(error, where, rule) from error


@functools.cache
def _dtype(kind: Any) -> np.dtype[Any]:
    """Return the NumPy type of a row of fixed size, made once for each class of facts."""
    import numpy as np  # recognizing an archive needs no NumPy, which takes longer to import than everything else

    found: np.dtype[Any] = np.dtype(kind.dtype)
    return found


def rows(kind: Any, data: View) -> np.ndarray[Any, Any]:
    """Return all of `data` as rows of fixed size: a structured array with a column for each field.

    `kind` is the class of facts of the row's type.  The array is read-only and shares the memory of `data`.  Raises
    `ValueError` unless the rows fill `data`.
    """
    import numpy as np

    return np.frombuffer(data, _dtype(kind))


class reading:  # noqa: N801 - used like a function: `with reading(where, rule):`
    """A context that translates failures like `read`, for lazy fields of a value and for readers called inside it."""

    __slots__ = ("rule", "where")

    def __init__(self, where: Span, rule: Rule | None = None) -> None:
        self.where: Span = where
        self.rule: Rule | None = rule

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Turn an error of the reader into one with the field's path and absolute offset."""
        if isinstance(error, FAILURES):
            raise refused(error, self.where, self.rule) from error


def refused(error: Exception, where: Span, rule: Rule | None = None) -> ExhumeError:
    """Return our exception for bytes at `where` that do not fit the layout: that of `rule`, else one for the
    failure.
    """
    if not isinstance(error, LayoutError):
        why = "structures nest too deeply" if isinstance(error, RecursionError) else "the layout does not fit"
        how: dict[str, Any] = {"span": where, "actual": shorten(error)}
        return StructureError(why, **how) if rule is None else rule.error(why, **how)
    # Offsets of the error are relative to the window, and may be past its end.
    begin, end = where.local
    room = end - begin
    start = min(max(0, error.offset), room)
    span = where.sub(start, max(start, min(error.stop, room)))
    facts: dict[str, Any] = {"field_path": error.path, "expected": error.expected, "actual": error.found}
    if getattr(error, "budget", False):
        return LimitExceededError("the specification requests more than one reading may cost", span=span, **facts)
    if rule is not None:
        return rule.error("the data ends inside a field" if error.short else "", span=span, **facts)
    if error.short:
        return TruncatedError("the data ends in the middle of a structure", span=span, **facts)
    return StructureError("a value breaks the layout", span=span, **facts)


def unread(error: Exception) -> str:
    """Return why a value that is read on request is null."""
    return f"cannot be read: {shorten(error, 200)}"


def claimed(schema: str, size: int, most: int, read: Callable[[], bytes]) -> bool:
    """Return whether fields of a schema claim every one of the `size` bytes that `read` returns.

    False is not a verdict: the schema may leave bytes out, the bytes may not fit it, or there may be more than
    `most`.
    """
    # Only `explain` needs these tables.
    from exhume_ksy.facts._tiling import ROWS, SIZES, TILING

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
