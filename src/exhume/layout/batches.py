"""Lists of any length, read in batches by readers that stop where the list begins (`exhume.compiler.emit.modules`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from exhume.compiler import refusal
from exhume.io.local import release
from exhume.layout.fast import LayoutError

BATCH_ROWS = 65_536
"""Elements of a batch at most, unless the caller says otherwise."""

BATCH_BYTES = 16 << 20
"""A batch ends with the element that reaches this many bytes of the file."""

FIRST_ROWS = 256
"""Rows of the first batch, by which the length of a row is estimated."""


@dataclass(eq=False)
class Paused(Exception):  # noqa: N818 - nothing is wrong
    """Raised by a reader at the beginning of the list: its position, and the functions that read its elements.

    Attributes:
        at: Where the first element begins in the bytes.
        end: Where the stream of the list ends.
        many: How many elements there are; None: up to the end, or until `last`.
        run: The budgets of the reading, which hold for all batches together.
        rows: Reads this many elements from a position as columns, or returns None if this file has none; None where
        no file has any.
        element: Reads the element at a position, by its number, and says where it ends.
        last: Whether an element, by its number and where it ends, is the last.
    """

    at: int
    end: int
    many: int | None
    run: Any
    rows: Callable[[int, int | None], Any] | None
    element: Callable[[int, int, Any], tuple[Any, int]] | None
    last: Callable[[Any, int, int], bool] | None

    def batches(self, data: Any, path: str, rows: int) -> Iterator[Sequence[Any]]:
        """The elements as columns or lists, in batches; raises `LayoutError` after those before what does not fit."""
        found = self._by_columns(path, rows) if self.rows is not None else self._one_by_one(path, rows, self.at, 0)
        done = self.at
        for batch, at in found:
            yield batch
            del batch  # its memory is free before the next one is read
            release(data, done, at)
            done = at

    def columns(self, path: str) -> Any:
        """All elements as columns; None where they have none.  Raises `LayoutError` for elements that do not fit."""
        if self.rows is None:
            return None
        found = self.rows(self.at, self.many)
        if found is None:
            return None
        if found.problem is not None:
            raise _moved(found.problem, path, 0)
        return found

    def _by_columns(self, path: str, rows: int) -> Iterator[tuple[Sequence[Any], int]]:
        """Batches of columns that `rows` reads, each with where it ends; single elements if there are no columns.

        The size of each batch in bytes determines how many rows the next one has.  Raises `LayoutError` as
        `_one_by_one` does.
        """
        assert self.rows is not None
        at, index, ask = self.at, 0, min(rows, FIRST_ROWS)
        while index < self.many if self.many is not None else self.last is not None or at < self.end:
            wanted = ask if self.many is None else min(ask, self.many - index)
            found = self.rows(at, wanted)
            if found is None:
                yield from self._one_by_one(path, rows, at, index)
                return
            whole = self.many is None and self.last is None and found.resume_at >= self.end
            index += len(found)
            is_last = self.last is not None and len(found) > 0 and self.last(found[-1], index - 1, found.resume_at)
            if len(found):
                yield found, found.resume_at
            if found.problem is not None and not whole and not is_last:
                raise _moved(found.problem, path, index - len(found))
            if is_last:
                break
            if len(found):
                ask = max(1, min(rows, BATCH_BYTES * len(found) // max(1, found.resume_at - at)))
            at = found.resume_at

    def _one_by_one(self, path: str, rows: int, at: int, index: int) -> Iterator[tuple[Sequence[Any], int]]:
        """Batches of at most `rows` elements, each with where it ends, read by `element` from `at` and `index` on.

        Raises `LayoutError` with the path of an element that does not fit, after those before it were yielded.
        """
        assert self.element is not None
        held: list[Any] = []
        start = at
        while index < self.many if self.many is not None else self.last is not None or at < self.end:
            before = at
            try:
                one, at = self.element(at, index, self.run)
                if at == before and (index >= refusal.EMPTY or (self.many is None and self.last is None)):
                    raise LayoutError("", at, at, "elements that take bytes", "one that takes none")
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
    """The error of columns, whose elements are counted from the first of their batch."""
    number, _, rest = error.path.removeprefix("[").partition("]")
    error.path = f"{path}[{index + int(number)}]{rest}" if number.isdigit() else f"{path}{error.path}"
    return error
