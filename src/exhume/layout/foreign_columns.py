"""Arrow arrays from the columns that compiled readers fill, without an object for each row.

A row is an element of a list.  The readers return one array for each field of the rows; see
`exhume.compiler.emit.columns` and `exhume.compiler.emit.wide` for the columns and their names.  Each becomes an
Arrow array here.  In the methods, `name` is the name of a column, `path` that of the field in messages, `many` a
sequence with one element per row, and `absent` a mask of the rows without a value (None: all have one); `prefix` begins
the names of the columns of a structure, `depth` is the number of further levels.  `np` and `pa` are NumPy and pyarrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from exhume.compiler.front.kinds import BYTES, TEXT, Bits, Integer, Kind, Structure, Switch, choices
from exhume.compiler.front.model import Field, Type
from exhume.compiler.ir.fixed import Numbers
from exhume.compiler.ir.rows import numbers_in_place


class TableBudget(Protocol):
    """The remaining budget of a table, so that a small file cannot make a huge one."""

    def take(self, values: Sequence[Any], *, long: bool = False) -> None:
        """Charge a column to the budget: the number of its values and, if `long`, also their lengths."""


class Tabulator(Protocol):
    """Names, types and budget of the columns of a table; see `exhume.layout.foreign_table`."""

    pa: Any

    @property
    def room(self) -> TableBudget:
        """The remaining budget."""

    def varied(self, type: Type, path: str) -> list[Field]:
        """Return the fields of a type that are columns: those whose value is not constant."""

    def array(self, kind: Kind, values: list[Any], path: str, depth: int) -> Any:
        """Return one column; None for a kind of value that has no column."""

    def struct(self, inner: dict[str, Any], values: list[Any], path: str) -> Any:
        """Return columns as one struct column; null for each value that is None."""

    def numeric(self, kind: Kind) -> Any:
        """Return the type of a column of numbers; None if it depends on their values."""

    def choice(self, kinds: Sequence[Kind]) -> Kind:
        """Return the kind of the one column that has the values of several cases of a switch with the same name."""

    def empty(self, kind: Kind, path: str, around: Sequence[Type]) -> Any:
        """Return a column without values, for a case that no row has; `around` are the types of the enclosing
        structures.
        """


class ArrowColumns:
    """The Arrow arrays of the columns `rows` of one batch; `tabulator` has names, types and the budget."""

    pa: Any
    tabulator: Tabulator
    rows: Any

    def __init__(self, tabulator: Tabulator, rows: Any) -> None:
        """Make columns of `rows`, which a generated reader returned; `tabulator` has the schema."""
        import numpy as np

        self.np: Any = np
        self.pa = tabulator.pa
        self.tabulator = tabulator
        self.rows = rows
        self.around: list[Type] = []  # types of the structures around the current field, from the outermost

    def _whole(self, name: str, many: Sequence[int]) -> Any:
        """Return the values of the column `name` as an array, cut to the number of rows of `many`."""
        return self.np.asarray(getattr(self.rows, name))[: len(many)]

    def column(self, field: Field, prefix: str, path: str, many: Sequence[int]) -> Any:
        """Return a field as an array, null in rows without it; None for a kind that has no column."""
        name, path = f"{prefix}{field.id}", f"{path}{field.id}"
        self.tabulator.room.take(many)
        absent = None if field.condition is None else self._whole(f"{name}_valid", many) == 0
        if field.repeat:
            return self._list(field, name, path, many, absent)
        return self._one(field, field.value_kind, name, path, many, absent)

    def _one(self, field: Field, kind: Kind, name: str, path: str, many: Sequence[int], absent: Any) -> Any:
        """Return the Arrow array of values of one kind.

        `many` are the rows, `absent` the mask of those without a value.
        """
        if isinstance(kind, Structure):
            return self._structure(kind.type, f"{name}_", path, many, absent)
        if isinstance(kind, Switch):
            return self._choice(field, kind, name, path, many)
        if kind in (BYTES, TEXT):
            return self._bytes(field, kind, name, many, absent)
        return self._numbers(kind, self._whole(name, many), path, absent)

    def _structure(self, type: Type, prefix: str, path: str, many: Sequence[int], absent: Any) -> Any:
        """Return a struct array, with the fields' columns named by `prefix`."""
        found = {}
        self.around.append(type)
        for field in self.tabulator.varied(type, f"{path}."):
            if (one := self.column(field, prefix, f"{path}.", many)) is not None:
                found[field.id] = one
        self.around.pop()
        return self.tabulator.struct(found, self._missing(absent, many), path)

    def _missing(self, absent: Any, many: Sequence[int]) -> list[Any]:
        """Return a list with None for each row in `absent`, and 0 for every other row: a mask as `struct` takes it."""
        return [0] * len(many) if absent is None else [None if one else 0 for one in absent.tolist()]

    def _numbers(self, kind: Kind, numbers: Any, path: str, absent: Any) -> Any:
        """Return an array of numbers or enumeration names."""
        # Computed integers have no width, and enums become names: both depend on the values.
        plain = isinstance(kind, Integer) and kind.enum is None and kind.size == 0
        if plain or (isinstance(kind, (Integer, Bits)) and kind.enum is not None):
            values = numbers.tolist()
            if absent is not None:
                values = [None if gone else one for one, gone in zip(values, absent.tolist(), strict=True)]
            return self.tabulator.array(kind, values, path, 1)
        return self.pa.array(numbers, mask=absent).cast(self.tabulator.numeric(kind))

    def _bytes(self, field: Field, kind: Kind, name: str, many: Sequence[int], absent: Any) -> Any:
        """Return an array of strings or byte strings, cut out by their start and end columns."""
        pa, view = self.pa, self.rows.view
        starts, ends = (getattr(self.rows, f"{name}_{which}")[: len(many)] for which in ("start", "end"))
        held: list[Any] = [bytes(view[start:end]) for start, end in zip(starts, ends, strict=True)]
        self.tabulator.room.take(held, long=True)
        if absent is not None:
            held = [None if gone else one for one, gone in zip(held, absent.tolist(), strict=True)]
        if kind == TEXT:
            encoding = str(field.raw.get("encoding") or field.owner.encoding)
            return pa.array([None if one is None else str(one, encoding) for one in held], pa.string())
        return pa.array(held, pa.binary())

    def _choice(self, field: Field, kind: Switch, name: str, path: str, many: Sequence[int]) -> Any:
        """Return a field with `switch-on` as a struct array: a field for each case, null in rows of other cases."""
        np, pa, case = self.np, self.pa, self._whole(f"{name}_case", many)
        found = {}
        for number, (word, kinds) in enumerate(choices(kind).items(), 1):
            chosen = case == number
            rows, first = range(int(chosen.sum())), kinds[0]
            one = self.tabulator.choice(kinds)
            self.tabulator.room.take(many)
            case_kind = first if isinstance(first, Structure) else one
            if rows:
                part = self._one(field, case_kind, f"{name}_{word}", f"{path}.{word}", rows, None)
            else:  # it may be one that has no columns
                part = self.tabulator.empty(case_kind, f"{path}.{word}", self.around)
            # The column of a case has only the rows of this case: `take` moves each to its row.  Its index there is the
            # number of rows of this case before it.
            if part is not None:
                found[word] = part.take(pa.array(np.cumsum(chosen) - 1, mask=~chosen))
        return self.tabulator.struct(found, self._missing(case == 0, many), path)

    def _list(self, field: Field, name: str, path: str, many: Sequence[int], absent: Any) -> Any:
        """Return a repeated field as a list array of `len(many)` rows; None if its elements have no Arrow type.

        `until` is the number of elements up to the end of each row.
        """
        np, pa = self.np, self.pa
        placed = numbers_in_place(field)
        if placed is not None:
            items, until = self._numbers_in_place(field, placed, name, path, many)
        else:
            until = self._whole(f"{name}_until", many)
            rows = range(int(until[-1]) if len(until) else 0)
            self.tabulator.room.take(rows)
            items = self._one(field, field.value_kind, name, path, rows, None)
        if items is None:
            return None
        offsets = pa.array(np.concatenate([np.zeros(1, np.int64), until]), pa.int32())
        mask = pa.array(np.zeros(len(many), bool) if absent is None else absent)
        return pa.ListArray.from_arrays(offsets, items, mask=mask)

    def _numbers_in_place(
        self, field: Field, placed: Numbers, name: str, path: str, many: Sequence[int]
    ) -> tuple[Any, Any]:
        """Return the numbers of all rows, whose columns only have their places, and how many there are up to each."""
        np = self.np
        starts, ends = self._whole(f"{name}_start", many), self._whole(f"{name}_end", many)
        view = memoryview(self.rows.view)
        data = b"".join(view[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True))
        order = ">" if placed.order == "big" else "<"
        numbers = np.frombuffer(data, np.dtype(placed.code).newbyteorder(order)).astype(placed.code)
        self.tabulator.room.take(range(len(numbers)))
        until = np.cumsum(ends - starts) // placed.size
        return self._numbers(field.value_kind, numbers, path, None), until


def computes(kind: Kind) -> bool:
    """Return whether a structure that a kind may be, or one within it, has computed instances."""
    return _computes(kind, set())


def _computes(kind: Kind, seen: set[Type]) -> bool:
    """Return whether a kind, or anything in it, has computed instances; types in `seen` were examined."""
    if isinstance(kind, Switch):
        return any(_computes(one, seen) for one in kind.kinds)
    if not isinstance(kind, Structure) or kind.type in seen:
        return False
    seen.add(kind.type)
    if any(one.value is not None for one in kind.type.instances.values()):
        return True
    return any(_computes(one.value_kind, seen) for one in kind.type.seq)
