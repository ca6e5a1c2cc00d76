"""Reading an archive in parts: what a format's `parts` module offers, and the type that it plans with.

A format that can be read in parts names a module (`Format.parts`: its own, or `members` or `stream` here) with

- `plan(archive, size, options) -> Iterator[Part]`: parts of about `size` stored bytes each (None: a single part), which
  together give every record (or member) once, in the archive's order where possible
- `items(archive, part, options) -> Iterator[Any]`: the records of one part, which reads its own bytes and little else
- `table(archive, part, options) -> pyarrow.RecordBatchReader`: the same as a table

and may have `TAKES` (the names of the options that `items` has and `table` has not), `last_key(archive) -> bytes`
(where parts have keys) and `PARTS_LACK_COLUMNS = True` (where the table of a part has fewer columns than that of the
whole).

The argument `part` is a `Part.selection`, a small picklable tuple; `()` means the whole archive.  `options` are those
of reading, by name (`partition.ReadingOptions`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

Selection = tuple[Any, ...]
"""Which part of an archive to read, in terms of its format: `()` for all of it."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of an archive: how to find it, about how many stored bytes it has, and the keys that bound it, if any.

    `first` and `stop` bound the keys of sorted formats: first <= key < stop; None for an open end.
    """

    selection: Selection = ()
    size: int = 0
    first: bytes | None = None
    stop: bytes | None = None


def ranges(sizes: Iterable[int], size: int | None) -> Iterator[tuple[int, int, int]]:
    """Divide items of the given sizes into half-open ranges of about `size` bytes, as `(first, stop, bytes)`.

    With None as `size`, there is a single range.
    """
    first = held = 0
    count = 0
    for count, one in enumerate(sizes, 1):
        held += one
        if size is not None and held >= size:
            yield first, count, held
            first, held = count, 0
    if count > first:
        yield first, count, held
