"""Repeated fields of a specification as tables: Arrow batches made of columns or of objects.

A row is an element of the repeated field; a batch is some thousand rows.  Each field is a column with its name and
width.  Bytes and strings are kept as they are; a value of an enum becomes its name (or its number as text, if it has
none), a structure becomes a struct, everything repeated a list.  A field that is one of several (`switch-on`)
becomes a struct with a field for each of these; all but one are null.  Numbers of different widths share a field.
Computed instances are columns, too; a value that cannot be computed is null, and named in `Tabulator.unread`.
Fields without a column are in `Tabulator.omitted`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from exhume.compiler import refusal
from exhume.compiler.front.expressions import Literal
from exhume.compiler.front.kinds import (
    BOOL,
    BYTES,
    TEXT,
    Bits,
    Integer,
    Kind,
    SimpleKind,
    Structure,
    Switch,
    choices,
    family,
)
from exhume.compiler.front.kinds import Sequence as Many
from exhume.compiler.front.model import Field as Described
from exhume.compiler.front.model import Type
from exhume.counts import counted
from exhume.errors import LimitExceededError, SpecificationError
from exhume.io.jsonout import dumps
from exhume.layout.fast import RAISED, unread
from exhume.layout.foreign_columns import ArrowColumns, computes
from exhume.layout.tracing import slot
from exhume.tabular.arrow import import_pyarrow

OMITTED = "exhume.omitted"
"""Key of the schema's metadata for fields without a column, as JSON: the reason by path."""

UNREAD = "exhume.unread"
"""Key of the schema's metadata for columns with values that cannot be computed, in the same form."""

DEEPEST = 16
"""Most levels of nested structures, lists and choices that get columns."""

MOST_VALUES = 300_000
"""Most values of a table, in addition to a share for each byte of the file."""

VALUES_PER_BYTE = 20
"""Values that each byte of a file adds."""


@dataclass(slots=True)
class _TableBudget:
    """The remaining budget of a table of a file of `size` bytes: values, and bytes of strings and byte arrays."""

    size: int
    values: int = 0
    bytes: int = 0

    def __post_init__(self) -> None:
        """Set the budget for the size of the file."""
        self.values = MOST_VALUES + VALUES_PER_BYTE * self.size
        self.bytes = refusal.HELD + refusal.HELD_PER_BYTE * self.size

    def take(self, values: Sequence[Any], *, long: bool = False) -> None:
        """Subtract a column of values, with their lengths if they are `long` (strings and byte arrays).

        Raises `LimitExceededError` when the budget is used up.
        """
        self.values -= 1 + len(values)
        if long:
            self.bytes -= sum(len(one) for one in values if one is not None)
        if self.values < 0 or self.bytes < 0:
            raise LimitExceededError(
                "the specification describes a table of too many values",
                expected=f"at most {counted(MOST_VALUES + VALUES_PER_BYTE * self.size, 'values')}",
                actual="more",
            )


class Tabulator:
    """Makes the batches of a table from the elements of one repeated field of a file of a size.

    `pa` is the module pyarrow, `room` the rest of the budget of a batch, `schema` that of the first batch.  In the
    methods, `kind` is that of one value of a column, `values` has one for each row (None: it has none), `path`
    is that of the field, and `depth` the number of levels that may still be nested.

    `omitted` has the reason for each field without a column, by path.  `unread` has the columns with values that are
    null because they cannot be computed, with the error of the first; `unread_values` is their number.  All batches
    have the schema of the first.
    """

    def __init__(self, field: Described, size: int) -> None:
        """Prepare to make columns of the list `field`, within a budget for `size` bytes of input."""
        self.pa: Any = import_pyarrow()
        self.field = field
        self.size = size
        self.omitted: dict[str, str] = {}
        self.unread: dict[str, str] = {}
        self.unread_values: int = 0
        self.schema: Any = None
        self.room: _TableBudget = _TableBudget(size)
        self._around: list[Type] = []
        """The types of the structures that a column is in."""

    def batch(self, rows: Any) -> Any:
        """Return elements, which are columns or a list of objects, as a `pyarrow.RecordBatch`.

        Raises `SpecificationError` if no field of the elements has a column or a column changes its type,
        `LimitExceededError` for a batch that is too large for the file, and `BudgetError` of the readers.
        """
        pa, kind = self.pa, self.field.value_kind
        self.room = _TableBudget(self.size)
        self._around = [kind.type] if isinstance(kind, Structure) else []
        # A list of the readers knows how to read its elements as columns, which is faster if they are compiled.
        if hasattr(type(rows), "_is_compiled"):
            found = rows._if_any() if rows._is_compiled else None  # noqa: SLF001 - of readers that we made
            rows = list(rows) if found is None else found
        if not isinstance(kind, Structure):
            made = self.array(kind, list(rows), self.field.id, DEEPEST)
            columns = {} if made is None else {self.field.id: made}
        elif hasattr(rows, "resume_at"):  # only columns have this attribute
            columns = self._of_columns(rows, kind.type)
        else:
            columns = self._of_objects(list(rows), kind.type, "", DEEPEST)
        if not columns:
            raise SpecificationError("nothing of its elements has a column", field_path=self.field.where)
        batch = pa.RecordBatch.from_arrays(list(columns.values()), list(columns))
        if self.schema is None:
            stated = {OMITTED: self.omitted, UNREAD: self.unread}
            self.schema = batch.schema.with_metadata({key: dumps(one) for key, one in stated.items() if one} or None)
        try:
            return batch.cast(self.schema)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
            raise SpecificationError(f"a column changes its type: {error}", field_path=self.field.where) from None

    def _of_columns(self, rows: Any, type: Type) -> dict[str, Any]:
        """Return the Arrow arrays of rows that were read as columns; fields with computed instances are read as
        objects.
        """
        found: dict[str, Any] = {}
        objects: list[Any] | None = None
        made = ArrowColumns(self, rows)
        for field in [*self.varied(type, ""), *_computed(type)]:
            # Readers compute instances for objects only.
            if field.value is not None or computes(field.value_kind):
                objects = list(rows) if objects is None else objects
                found |= self._of_fields(objects, [field], "", DEEPEST)
            elif (one := made.column(field, "", "", range(len(rows)))) is not None:
                found[field.id] = one
        return found

    def varied(self, type: Type, path: str) -> list[Described]:
        """Return the fields that get columns.

        Those with `contents` or of no bytes, and instances read elsewhere, become `omitted`.
        """
        found = []
        for one in type.seq:
            is_empty = one.size == Literal(0) and one.kind in (BYTES, TEXT) and "process" not in one.raw
            if "contents" in one.raw or is_empty:
                self.omitted[f"{path}{one.id}"] = "always the same"
            else:
                found.append(one)
        for one in type.instances.values():
            if one.value is None:
                self.omitted[f"{path}{one.id}"] = "read from elsewhere on request"
        return found

    def _of_objects(self, rows: Sequence[Any], type: Type, path: str, depth: int) -> dict[str, Any]:
        """Return the Arrow arrays of all fields of structures, by name."""
        return self._of_fields(rows, [*self.varied(type, path), *_computed(type)], path, depth)

    def _of_fields(self, rows: Sequence[Any], fields: Sequence[Described], path: str, depth: int) -> dict[str, Any]:
        """Return the Arrow arrays of the fields of structures, by name; omitted ones are absent."""
        found: dict[str, Any] = {}
        for field in fields:
            self.room.take(rows)
            if field.instance:
                values = self._computed(rows, field, f"{path}{field.id}")
            else:
                values = [None if row is None else getattr(row, slot(field.id)) for row in rows]
            made = self.array(field.kind, values, f"{path}{field.id}", depth)
            if made is not None:
                found[field.id] = made
        return found

    def _computed(self, rows: Sequence[Any], field: Described, path: str) -> list[Any]:
        """Return the values of an instance, None where it cannot be computed.

        Raises `BudgetError` if the budget is used up.
        """
        name, found = slot(field.id), []
        for row in rows:
            try:
                found.append(None if row is None else getattr(row, name))
            except RAISED as error:
                if getattr(error, "budget", False):
                    raise
                self.unread.setdefault(path, unread(error))
                self.unread_values += 1
                found.append(None)
        return found

    def array(self, kind: Kind, values: list[Any], path: str, depth: int) -> Any:
        """Return the values of a field as an Arrow array; None if its kind has no column.

        `depth` is the number of further levels that may be nested in it.
        """
        pa = self.pa
        # Enumerations, numbers, bytes and strings.
        if isinstance(kind, (Integer, Bits)) and kind.enum is not None:
            return _names(pa, kind.enum.values, values)
        if isinstance(kind, (Integer, Bits)) or (isinstance(kind, SimpleKind) and kind.kind in ("float", "bool")):
            return _numbers(pa, kind, values)
        if kind in (BYTES, TEXT):
            self.room.take(values, long=True)
            held = [bytes(one) if isinstance(one, memoryview) else one for one in values]
            return pa.array(held, pa.string() if kind == TEXT else pa.binary())
        # Structures, switches and lists have columns inside.
        if not depth:
            return self._none(path, f"more than {DEEPEST} levels deep")
        if isinstance(kind, Structure) and not kind.type.opaque:
            if kind.type in self._around:
                return self._none(path, "a structure within one of its own type")
            self._around.append(kind.type)
            inner = self._of_objects(values, kind.type, f"{path}.", depth - 1)
            self._around.pop()
            return self.struct(inner, values, path)
        if isinstance(kind, Switch):
            return self._one_of(kind, values, path, depth)
        if isinstance(kind, Many):
            return self._lists(kind, values, path, depth)
        return self._none(path, "of no type that is known before it is read")

    def _lists(self, kind: Many, values: list[Any], path: str, depth: int) -> Any:
        """Return lists as a list array: all elements in one array, and where each list begins in it."""
        pa = self.pa
        offsets = [0, *itertools.accumulate(0 if one is None else len(one) for one in values)]
        self.room.take(range(offsets[-1]))
        items = self.array(kind.of, [item for one in values if one is not None for item in one], path, depth - 1)
        if items is None:
            return None
        mask = pa.array([one is None for one in values], pa.bool_())
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items, mask=mask)

    def _one_of(self, kind: Switch, values: list[Any], path: str, depth: int) -> Any:
        """Return a struct array with a field for each kind of value of a switch."""
        self.room.take(values)
        found: dict[str, Any] = {}
        for name, (one, fits) in _choices(kind).items():
            chosen = [value if value is not None and fits(value) else None for value in values]
            made = self.array(one, chosen, f"{path}.{name}", depth - 1)
            if made is not None:
                found[name] = made
        return self.struct(found, values, path)

    def struct(self, inner: dict[str, Any], values: list[Any], path: str) -> Any:
        """Return a struct array with the fields `inner`, null where `values` is None; None if there are no fields."""
        if not inner:
            return self._none(path, "nothing in it has a column")
        missing = self.pa.array([one is None for one in values], self.pa.bool_())
        return self.pa.StructArray.from_arrays(list(inner.values()), list(inner), mask=missing)

    def empty(self, kind: Kind, path: str, around: Sequence[Type]) -> Any:
        """Return an empty column of a kind that no row has; `around` are the types of the structures that it is in."""
        # Its depth is that of its path; the structures around it are not being made, so they are stated.
        before, self._around = self._around, [*self._around, *around]
        made = self.array(kind, [], path, DEEPEST - path.count(".") - 1)
        self._around = before
        return made

    def numeric(self, kind: Kind) -> Any:
        """Return the type of a column of numbers; None if it depends on their values."""
        return _numeric(self.pa, kind)

    def choice(self, kinds: Sequence[Kind]) -> Kind:
        """Return the kind of one field of a choice, from the kinds of the cases that share it."""
        return _choice_kind(kinds)

    def _none(self, path: str, why: str) -> None:
        """Note why a field has no column."""
        self.omitted[path] = why


def _choices(kind: Switch) -> dict[str, tuple[Kind, Callable[[Any], bool]]]:
    """Return, for each column of a switch, the kind of its values and a test whether a value is of it."""
    found: dict[str, tuple[Kind, Callable[[Any], bool]]] = {}
    for name, kinds in choices(kind).items():
        first = kinds[0]
        if isinstance(first, Structure):
            found[name] = first, _is_of(first.type)
        else:
            found[name] = _choice_kind(kinds), _FITS.get(family(_choice_kind(kinds)), lambda value: False)
    return found


def _choice_kind(kinds: Sequence[Kind]) -> Kind:
    """Return the kind of one field of a choice, from the kinds of the cases that share it."""
    if all(one == kinds[0] for one in kinds):
        return kinds[0]
    # Integers of different widths share a column of plain integers, and floats one of the widest.
    if family(kinds[0]) in ("integer", "enum", "bool"):
        return Integer(None)
    return max(kinds, key=lambda one: one.size if isinstance(one, SimpleKind) else 0)


def _is_of(type: Type) -> Callable[[Any], bool]:
    """Return a test whether a value is a structure of a type; by names, as each reader has classes of its own."""
    wanted = type.root.id, type.class_name
    return lambda value: (value.__class__.__module__.rpartition(".")[2], value.__class__.__name__) == wanted


_FITS: dict[str, Callable[[Any], bool]] = {
    "integer": lambda value: isinstance(value, int),
    "enum": lambda value: isinstance(value, int),
    "bool": lambda value: isinstance(value, int),
    "float": lambda value: isinstance(value, float),
    "text": lambda value: isinstance(value, str),
    "bytes": lambda value: isinstance(value, (bytes, memoryview)),
}
"""Tests whether a value of a switch is of a family, by the family."""


def _computed(type: Type) -> list[Described]:
    """Return the computed instances of a type."""
    return [one for one in type.instances.values() if one.value is not None]


def _numeric(pa: Any, kind: Kind) -> Any:
    """Return the type of a column of numbers in pyarrow (`pa`); None if it depends on their values."""
    if kind == BOOL or (isinstance(kind, Bits) and kind.width == 1):
        return pa.bool_()
    if isinstance(kind, Bits):
        width = next(size for size in (8, 16, 32, 64) if kind.width <= size)
        return getattr(pa, f"uint{width}")()
    if isinstance(kind, Integer):
        return getattr(pa, f"{'' if kind.signed else 'u'}int{8 * kind.size}")() if kind.size else None
    return pa.float32() if isinstance(kind, SimpleKind) and kind.size == 4 else pa.float64()


def _numbers(pa: Any, kind: Kind, values: list[Any]) -> Any:
    """Return numbers as an Arrow array of their type, else of 64-bit integers or strings.

    A computed float may be an integer with more digits than a double has (`x > 0 ? 1.5 : x`), and is a string then.
    """
    type = _numeric(pa, kind)
    is_computed_float = isinstance(kind, SimpleKind) and kind.kind == "float" and not kind.size
    if type is not None and not is_computed_float:
        return pa.array(values, type)
    for one in (pa.int64(), pa.uint64()) if type is None else (type,):
        try:
            return pa.array(values, one)
        except (OverflowError, pa.ArrowInvalid, pa.ArrowTypeError):
            continue
    return pa.array([None if value is None else str(value) for value in values], pa.string())


def _names(pa: Any, names: dict[int, str], values: list[Any]) -> Any:
    """Return the names of the values of an enum as an Arrow array, or their numbers as strings."""
    labels = [None if one is None else names.get(int(one), str(int(one))) for one in values]
    return pa.array(labels, pa.string()).dictionary_encode()
