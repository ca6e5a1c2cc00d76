"""Events as Arrow record batches, in the order of the stream.

One column per key, named by its path (`a.b`; dots in names have a backslash before them); those of keys that the logger
added begin with `@`, and come first.

| values of the key | Arrow type |
|---|---|
| integers | int64 |
| floats, or integers and floats | float64 |
| booleans | bool |
| strings | large_string |
| arrays | large_string, their JSON text |
| only nulls and empty objects | null |
| anything mixed | large_string, the text of each value |

Which keys there are is only known at the end of a stream: it is read twice.  Events that lack a key hold null there.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from exhume.formats.kv_ir.info import SPACES, paths, walk
from exhume.tabular.arrow import BATCH_ROWS, MIXED, ROUNDED, check_rows, choose, import_pyarrow, plain_text

if TYPE_CHECKING:
    from exhume.formats.kv_ir.reader import KvIrArchive

EXACT = 1 << 53
"""Integers up to this are exact as floats."""


@dataclass(slots=True)
class Column:
    """A column: which of the two trees it is of, and the names that lead to its values."""

    space: int
    names: tuple[str, ...]
    types: set[str] = field(default_factory=set)

    @property
    def mixed(self) -> bool:
        """Whether only text holds all its values."""
        return len(self.types) > 1 and not self.types <= {"integer", "float"}


def to_arrow(
    archive: KvIrArchive,
    *,
    columns: Iterable[str] | None = None,
    batch_rows: int = BATCH_ROWS,
    lost: Counter[str] | None = None,
) -> Any:
    """A streaming `pyarrow.RecordBatchReader`, one row per event; see the module for the types.

    Raises `EntryNotFoundError` for a column that no event can have, and `MissingDependencyError` without pyarrow;
    damage is raised by the batch that meets it.
    """
    pa = import_pyarrow()
    check_rows(batch_rows)
    known = columns_of(archive)
    names = choose(known, columns)
    chosen = [known[name] for name in names]
    counted: Counter[str] = Counter() if lost is None else lost
    schema = pa.schema([pa.field(plain_text(name), _type(pa, known[name])) for name in names])

    def batches() -> Iterator[Any]:
        events = archive.events()
        while part := list(islice(events, batch_rows)):
            arrays = [
                pa.array([_value(one, event, counted) for event in part], kind.type)
                for one, kind in zip(chosen, schema, strict=True)
            ]
            yield (
                pa.RecordBatch.from_arrays(arrays, schema=schema)
                if arrays
                else pa.RecordBatch.from_pylist([{}] * len(part), schema=schema)
            )

    return pa.RecordBatchReader.from_batches(schema, batches())


def columns_of(archive: KvIrArchive) -> dict[str, Column]:
    """The columns of a stream by name."""
    units, _ = walk(archive)
    found: dict[str, Column] = {}
    for space, name in enumerate(SPACES):
        trail: list[tuple[str, ...]] = [()]
        nodes = units.decoder.nodes(name == "auto")
        parents = {parent for parent, *_ in nodes}
        for number, ((parent, _, raw, _), (path, type, _)) in enumerate(zip(nodes, paths(units, name), strict=True), 1):
            trail.append((*trail[parent], raw.decode("utf-8", "surrogateescape")))
            if type == "object" and number in parents:
                continue
            one = found.setdefault(path, Column(space, trail[-1]))
            if type != "object":
                one.types.add(type)
    return found


def _type(pa: Any, column: Column) -> Any:
    if not column.types:
        return pa.null()
    if column.mixed or column.types & {"string", "array"}:
        return pa.large_string()
    if "float" in column.types:
        return pa.float64()
    return pa.bool_() if "boolean" in column.types else pa.int64()


def _value(column: Column, event: tuple[dict[str, Any], dict[str, Any]], lost: Counter[str]) -> Any:
    value: Any = event[column.space]
    for name in column.names:
        value = value.get(name) if isinstance(value, dict) else None
        if value is None:
            return None
    if isinstance(value, dict):
        return None
    if isinstance(value, str):
        return plain_text(value, lost)
    if isinstance(value, list) or column.mixed:
        if column.mixed:
            lost[MIXED] += 1
        return plain_text(json.dumps(value, ensure_ascii=False), lost)
    if isinstance(value, int) and "float" in column.types:
        lost[ROUNDED] += abs(value) > EXACT and int(float(value)) != value
        return float(value)
    return value


__all__ = ["Column", "columns_of", "to_arrow"]
