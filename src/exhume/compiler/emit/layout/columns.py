"""Columns of lists: a part of `_layout` for specifications of users, as source code.

The columns of a list of structures `Entry` are one object of the class `EntryColumns`, with an array for each field.
Its class has as `_scan` the generated function that fills them, such as `scan_entry`.
"""

from __future__ import annotations

COLUMNS = '''

from operator import index as whole


class Table:
    """Base class of the classes of columns."""

    __slots__ = ()
    _scan: Any = None


class NoColumnsError(Exception):
    """The rows of this file have no columns, only objects; those of other files may have columns."""

    def __str__(self) -> str:
        return "these rows have no columns, only objects"


def word(value: Any, least: int, most: int) -> int:
    """Return a number that the reading of all rows depends on; raises `NoColumnsError` if it is out of range."""
    if isinstance(value, int) and least <= value <= most:
        return int(value)
    raise NoColumnsError


def columns_of(rows: Any) -> Any:
    """Read the elements of a `Rows` again, as columns; raises the error of the first that cannot be read."""
    cls, view, at, end, *more = rows._where
    made = cls._scan(view, at, end, len(rows), Run(end - at), *more)
    if made.problem is not None:
        raise made.problem
    # What an element that is made of the columns needs, as far as the class of columns keeps it.
    for name in ("parent", "root", "io") if rows else ():
        if hasattr(made, name):
            setattr(made, name, getattr(rows[0], f"_{name}"))
    if hasattr(made, "big") and rows:
        made.big = more[-1]
    return made


class Rows(list):
    """The elements of a list, which are read as columns when the first column is used.

    `_where` is what `columns_of` needs: the class of the columns, the bytes, where the elements begin, where their
    stream ends, and further arguments of the reader of columns: the size of an element, if all have the same, and those
    of `AROUND` that it takes (the last is `big`).
    """

    __slots__ = ("_columns", "_where")

    @property
    def _is_compiled(self) -> bool:
        """Whether reading the rows again, as columns, takes less time than getting the values from the objects."""
        return hasattr(self._where[0]._scan, "python")

    def _if_any(self) -> Any:
        """Return all columns; None if the rows of this file have none."""
        try:
            return self.columns
        except NoColumnsError:
            return None

    @property
    def columns(self) -> Any:
        """All columns; those whose names are not names of methods of lists are attributes of the list as well.

        Raises `NoColumnsError` if the rows of this file have none.
        """
        if not hasattr(self, "_columns"):
            self._columns = columns_of(self)
        return self._columns

    def __getattr__(self, name: str) -> Any:
        if name[:1] == "_" or (made := self._if_any()) is None:
            raise AttributeError(name)
        return getattr(made, name)


def elements(columns: Any, index: Any) -> Any:
    """Return `columns[index]` for an index that is no `int`: a list for a slice, one row for anything like a number."""
    if isinstance(index, slice):
        return [columns[one] for one in range(*index.indices(len(columns)))]
    return columns[whole(index)]


def _over(rows: Any, reader: Any) -> Any:
    """Return an `__iter__` for a class of columns, by `rows` of the extension module and the reader of one element."""
    return lambda columns: rows(reader, columns)
'''
