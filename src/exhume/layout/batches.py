"""Lists of any length, read in batches by readers that stop where the list begins (`exhume.compiler.emit.modules`).

The reader of a specification raises `Paused` at the list.  Its elements are then read as columns (one array for each
field) or as objects, a batch at a time; the memory of a batch is free before the next one is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from exhume.compiler import refusal
from exhume.io.local import release
from exhume.layout.fast import LayoutError

BATCH_ROWS = 65_536
"""Most elements of a batch, unless the caller states another number."""

BATCH_BYTES = 16 << 20
"""A batch ends with the element that reaches this many bytes of the file."""

FIRST_ROWS = 256
"""Rows of the first batch, by which the length of a row is estimated."""


@dataclass(eq=False)
class Paused(Exception):  # noqa: N818 - nothing is wrong
    """Raised by a reader at the beginning of the list: its position, and the functions that read its elements.

    In the methods, `path` is that of the list in errors, `rows` the most elements of a batch, and `index` the number of
    the next element.

    Attributes:
        at: Position of the first element in the bytes.
        end: End of the stream of the list.
        many: Number of elements; None: up to the end, or until `last`.
        run: The budgets of the reading, which hold for all batches together.
        rows: Reads a number of elements from a position as columns, or returns None if this file has none; None if no
            file has any.
        element: Reads the element at a position, by its index, and returns it and its end.
        last: Tests whether an element, by its index and end, is the last; None without such a condition.
    """

    at: int
    end: int
    many: int | None
    run: Any
    rows: Callable[[int, int | None], Any] | None
    element: Callable[[int, int, Any], tuple[Any, int]] | None
    last: Callable[[Any, int, int], bool] | None

    def batches(self, data: Any, path: str, rows: int) -> Iterator[Sequence[Any]]:
        """Yield the elements as columns or lists, in batches; raises `LayoutError` after the batch before invalid
        data.
        """
        found = self._by_columns(path, rows) if self.rows is not None else self._one_by_one(path, rows, self.at, 0)
        done = self.at
        for batch, at in found:
            yield batch
            del batch  # its memory is free before the next one is read
            release(data, done, at)
            done = at

    def columns(self, path: str) -> Any:
        """Return all elements as columns; None if they have none.  Raises `LayoutError` for invalid elements."""
        if self.rows is None:
            return None
        found = self.rows(self.at, self.many)
        if found is None:
            return None
        if found.problem is not None:
            raise _moved(found.problem, path, 0)
        return found

    def _continues(self, at: int, index: int) -> bool:
        """Return whether another element is expected at `at`: by the number of elements, or up to the end.

        With a condition (`last`), each element that does not meet it is followed by another.
        """
        if self.many is not None:
            return index < self.many
        return self.last is not None or at < self.end

    def _by_columns(self, path: str, rows: int) -> Iterator[tuple[Sequence[Any], int]]:
        """Yield batches of columns that `rows` reads, each with its end; single elements if there are no columns.

        The size of each batch in bytes determines how many rows the next one has.  Raises `LayoutError` as
        `_one_by_one` does.
        """
        assert self.rows is not None
        at, index, estimate = self.at, 0, min(rows, FIRST_ROWS)
        while self._continues(at, index):
            wanted = estimate if self.many is None else min(estimate, self.many - index)
            found = self.rows(at, wanted)
            if found is None:
                yield from self._one_by_one(path, rows, at, index)
                return
            # An incomplete row at the end is a problem only if a further row is expected.
            whole = self.many is None and self.last is None and found.resume_at >= self.end
            index += len(found)
            is_last = self.last is not None and len(found) > 0 and self.last(found[-1], index - 1, found.resume_at)
            if len(found):
                yield found, found.resume_at
            if found.problem is not None and not whole and not is_last:
                raise _moved(found.problem, path, index - len(found))
            if is_last:
                break
            if len(found):  # as many rows as fit `BATCH_BYTES` if they are as long as these
                estimate = max(1, min(rows, BATCH_BYTES * len(found) // max(1, found.resume_at - at)))
            at = found.resume_at

    def _one_by_one(self, path: str, rows: int, at: int, index: int) -> Iterator[tuple[Sequence[Any], int]]:
        """Yield batches of at most `rows` elements, each with its end, read by `element` from `at` and `index` on.

        Raises `LayoutError` with the path of an invalid element, after those before it were yielded.
        """
        assert self.element is not None
        held: list[Any] = []
        start, empty = at, 0  # where the batch starts; number of elements without bytes, which might repeat without end
        while self._continues(at, index):
            before = at  # end of the elements in `held`
            try:
                one, at = self.element(at, index, self.run)
                empty += at == before
                if empty > refusal.EMPTY:
                    raise self.run.endless("", at)
                held.append(one)
                is_last = self.last is not None and self.last(one, index, at)
            except LayoutError as error:
                if held:
                    yield held, before
                error.within(f"{path}[{index}]")
                raise
            index += 1
            if is_last:
                break
            if len(held) >= rows or at - start >= BATCH_BYTES:
                yield held, at
                held, start = [], at
        if held:
            yield held, at


def _moved(error: LayoutError, path: str, index: int) -> LayoutError:
    """Return the error of columns, whose elements are counted from the first of their batch, with the index in the
    list.
    """
    number, _, rest = error.path.removeprefix("[").partition("]")
    error.path = f"{path}[{index + int(number)}]{rest}" if number.isdigit() else f"{path}{error.path}"
    return error
