"""Reading an archive in parts: what a format's `parts` module offers, and the type that it plans with.

A format that can be read in parts has a module (`Format.parts`) with

- `plan(archive, size, options) -> Iterator[Part]`: parts of about `size` stored bytes each (None: one part), that
  together give every record (or member) once, in the archive's order where that can be kept
- `items(archive, part, options) -> Iterator[Any]`: the records of one part, which reads its own bytes and little else
- `table(archive, part, options) -> pyarrow.RecordBatchReader`: the same as a table

and may have `last_key(archive) -> bytes` (where parts have keys) and `PARTS_LACK_COLUMNS = True` (where the table of a
part has fewer columns than that of the whole).

`part` is `Part.selection` there, a small picklable tuple; `()` means the whole archive.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

Selection = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of an archive: how to find it, about how many stored bytes it reads, the key it starts at if it has one.

    `first` and `stop` bound the keys of sorted formats: first <= key < stop; None for an open end.
    """

    selection: Selection = ()
    size: int = 0
    first: bytes | None = None
    stop: bytes | None = None


def ranges(sizes: Iterable[int], size: int | None) -> Iterator[tuple[int, int, int]]:
    """Cuts a row of things into half-open ranges of about `size` bytes, as `(first, stop, bytes)`; None: one range."""
    first = held = 0
    count = 0
    for count, one in enumerate(sizes, 1):
        held += one
        if size is not None and held >= size:
            yield first, count, held
            first, held = count, 0
    if count > first:
        yield first, count, held
