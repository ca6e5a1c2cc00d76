"""Repeated fields of a specification as a table: a `pyarrow.Table` made of columns or of objects.

Each field is a column with its name and width.  Bytes and texts are kept as they are; a value of an enum becomes its
name (or its number as text, if it has none), a structure becomes a struct, repeated numbers become a list.  Computed
instances are columns, too.  Fields that have no single type (`switch-on`), that are always the same (`contents`), or
that themselves repeat structures have no column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from exhume.compiler import budgets
from exhume.compiler.expressions import Literal
from exhume.compiler.kinds import BOOL, BYTES, TEXT, Bits, Integer, Kind, Plain, Structure
from exhume.compiler.kinds import Sequence as Many
from exhume.compiler.model import Field as Described
from exhume.compiler.model import Type
from exhume.counts import counted
from exhume.errors import LimitExceededError, SpecificationError
from exhume.layout.tracing import slot
from exhume.tabular.arrow import import_pyarrow

DEEPEST = 8
"""Levels of nested structures that get columns: a type may contain itself."""

MOST_VALUES = 500_000
"""Values of a table beside a share for each byte of the file."""

VALUES_PER_BYTE = 20
"""Values that each byte of a file adds."""


@dataclass(slots=True)
class _Room:
    """What a table may still hold: values, and bytes of texts and bytes; rows may share one, but columns do not."""

    size: int
    values: int = 0
    bytes: int = 0

    def __post_init__(self) -> None:
        self.values = MOST_VALUES + VALUES_PER_BYTE * self.size
        self.bytes = budgets.HELD + budgets.HELD_PER_BYTE * self.size

    def take(self, values: Sequence[Any], *, long: bool = False) -> None:
        """Takes a column of values, by their lengths too where they are `long`."""
        self.values -= 1 + len(values)
        if long:
            self.bytes -= sum(len(one) for one in values if one is not None)
        if self.values < 0 or self.bytes < 0:
            raise LimitExceededError(
                "the specification makes a table of more than one may hold",
                expected=f"at most {counted(MOST_VALUES + VALUES_PER_BYTE * self.size, 'values')}",
                actual="more",
            )


def table(rows: Any, field: Described, size: int) -> Any:
    """The table of a repeated field of a file of that size: `rows` is its value, columns or a list.

    Raises `SpecificationError` when no field of its elements has a column, `LimitExceededError` for a table that is
    too large for the file.
    """
    pa = import_pyarrow()
    kind, room = field.one, _Room(size)
    if not isinstance(kind, Structure):
        made = _array(pa, kind, list(rows), DEEPEST, room)
        if made is None:
            raise SpecificationError("its elements are of several types", field_path=field.where)
        return pa.table({field.id: made})
    if hasattr(rows, "resume_at"):
        columns = _of_columns(pa, rows, kind.type, "", room)
        if computed := _computed(kind.type):
            elements = list(rows)
            columns |= _of_fields(pa, elements, computed, DEEPEST, room)
    else:
        columns = _of_objects(pa, list(rows), kind.type, DEEPEST, room)
    if not columns:
        raise SpecificationError("nothing of its elements has a column", field_path=field.where)
    return pa.table(columns)


def _varied(type: Type) -> list[Described]:
    """The fields that are not always the same."""
    return [one for one in type.seq if "contents" not in one.raw and one.size != Literal(0)]


def _computed(type: Type) -> list[Described]:
    return [one for one in type.instances.values() if one.value is not None]


def _of_columns(pa: Any, rows: Any, type: Type, prefix: str, room: _Room) -> dict[str, Any]:
    import numpy as np

    found: dict[str, Any] = {}
    for field in _varied(type):
        name, kind = f"{prefix}{field.id}", field.one
        room.take(rows)
        if isinstance(kind, Structure):
            inner = _of_columns(pa, rows, kind.type, f"{name}_", room)
            found[field.id] = pa.StructArray.from_arrays(list(inner.values()), list(inner))
        elif kind in (BYTES, TEXT):
            starts, ends = getattr(rows, f"{name}_start"), getattr(rows, f"{name}_end")
            held = [bytes(rows.view[a:b]) for a, b in zip(starts, ends, strict=True)]
            encoding = field.raw.get("encoding") or field.owner.encoding if kind == TEXT else None
            if encoding is not None:
                found[field.id] = pa.array([str(one, encoding) for one in held], pa.string())
            else:
                found[field.id] = pa.array(held, pa.binary())
        else:
            numbers = np.asarray(getattr(rows, name))
            enum = kind.enum if isinstance(kind, (Integer, Bits)) else None
            if enum is not None:
                found[field.id] = _names(pa, enum.values, numbers.tolist())
            else:
                found[field.id] = pa.array(numbers).cast(_numeric(pa, kind))
    return found


def _of_objects(pa: Any, rows: Sequence[Any], type: Type, depth: int, room: _Room) -> dict[str, Any]:
    return _of_fields(pa, rows, [*_varied(type), *_computed(type)], depth, room)


def _of_fields(pa: Any, rows: Sequence[Any], fields: Sequence[Described], depth: int, room: _Room) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in fields:
        room.take(rows)
        values = [None if row is None else getattr(row, slot(field.id)) for row in rows]
        made = _array(pa, field.kind, values, depth, room)
        if made is not None:
            found[field.id] = made
    return found


def _array(pa: Any, kind: Kind, values: list[Any], depth: int, room: _Room) -> Any:
    """One column; None for a kind of value that has no column."""
    if isinstance(kind, (Integer, Bits)) and kind.enum is not None:
        return _names(pa, kind.enum.values, values)
    if isinstance(kind, (Integer, Bits)) or (isinstance(kind, Plain) and kind.kind in ("float", "bool")):
        return _numbers(pa, kind, values)
    if kind in (BYTES, TEXT):
        room.take(values, long=True)
        held = [bytes(one) if isinstance(one, memoryview) else one for one in values]
        return pa.array(held, pa.string() if kind == TEXT else pa.binary())
    if isinstance(kind, Structure) and depth:
        inner = _of_objects(pa, values, kind.type, depth - 1, room)
        missing = pa.array([one is None for one in values])
        return pa.StructArray.from_arrays(list(inner.values()), list(inner), mask=missing) if inner else None
    if isinstance(kind, Many) and not isinstance(kind.of, (Structure, Many)):
        offsets = [0]
        for one in values:
            offsets.append(offsets[-1] + (0 if one is None else len(one)))
        room.take(range(offsets[-1]))
        flat = _array(pa, kind.of, [item for one in values if one is not None for item in one], depth, room)
        if flat is None:
            return None
        lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), flat)
        if all(one is not None for one in values):
            return lists
        return pa.array(
            [None if one is None else got for one, got in zip(values, lists.to_pylist(), strict=True)], lists.type
        )
    return None


def _numeric(pa: Any, kind: Kind) -> Any:
    """The type of a column of numbers; None if it depends on their values."""
    if kind == BOOL or (isinstance(kind, Bits) and kind.width == 1):
        return pa.bool_()
    if isinstance(kind, Bits):
        width = next(size for size in (8, 16, 32, 64) if kind.width <= size)
        return getattr(pa, f"uint{width}")()
    if isinstance(kind, Integer):
        return getattr(pa, f"{'' if kind.signed else 'u'}int{8 * kind.size}")() if kind.size else None
    return pa.float32() if isinstance(kind, Plain) and kind.size == 4 else pa.float64()


def _numbers(pa: Any, kind: Kind, values: list[Any]) -> Any:
    type = _numeric(pa, kind)
    if type is not None:
        return pa.array(values, type)
    makers: tuple[Callable[[], Any], ...] = (
        lambda: pa.array(values, pa.int64()),
        lambda: pa.array(values, pa.uint64()),
        lambda: pa.array([None if one is None else str(one) for one in values], pa.string()),
    )
    for make in makers:
        try:
            return make()
        except (OverflowError, pa.ArrowInvalid, pa.ArrowTypeError):
            continue
    return None


def _names(pa: Any, names: dict[int, str], values: list[Any]) -> Any:
    told = [None if one is None else names.get(int(one), str(int(one))) for one in values]
    return pa.array(told, pa.string()).dictionary_encode()
