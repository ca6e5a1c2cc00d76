"""Many archives in partitions, and as dask collections (extra `dask`): bags of records, dataframes of columns.

A partition is a picklable description of a part of an archive, such as some of its blocks; it opens the archive for
itself and reads only its own bytes.  dask makes each partition of a collection from one of ours.  In a sorted archive,
`first` and `stop` of a partition are the keys at which it starts and before which it ends.

Planning opens each archive and reads its index, but no data.  With `size=None` nothing is opened at all, and each
archive is one partition.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Unpack

from exhume.errors import MissingDependencyError
from exhume.io.parallel import map_ordered
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.parts import PARTITION_SIZE, Part, Partition, ReadingOptions, parts_of, plan, with_part

PLANNERS = 16
"""Archives that are planned at a time: planning waits for storage."""


class PartitionOptions(ReadingOptions, total=False):
    """The keyword arguments of `partitions`."""

    size: int | None
    format: str | None
    opening: Mapping[str, Any] | None
    storage_options: Mapping[str, Any] | None
    limits: Limits


def partitions(
    targets: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    size: int | None = PARTITION_SIZE,
    format: str | None = None,
    opening: Mapping[str, Any] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    limits: Limits = DEFAULT_LIMITS,
    **options: Unpack[ReadingOptions],
) -> list[Partition]:
    """Plan the reading of archives (paths or URLs) in parts of about `size` stored bytes, in their order.

    zs is cut by key ranges along its index, clp-s by tables, ark by splits, caf and databundle by ranges of members,
    leveldb by files.  `size=None` plans one partition per archive without opening any.  `options` are those for
    reading: zs `start`, `stop`, `prefix` (one partition then); clp-s `query` and its options; ark `topics`, `start_ns`,
    `stop_ns`; members `data=False`; for tables those of the format's `to_arrow`.  `opening` goes to the format's open.

    Raises the error of the first archive that cannot be opened.
    """
    listed = [targets] if isinstance(targets, (str, os.PathLike)) else targets
    names = [os.fspath(target) for target in listed]
    template = Partition(
        "",
        format,
        options=tuple(sorted(options.items())),
        opening=tuple(sorted((opening or {}).items())),
        storage=tuple(sorted((storage_options or {}).items())),
        limits=None if limits == DEFAULT_LIMITS else limits,
    )
    if size is None:  # `Part()` is the whole archive
        return [with_part(template, name, format, Part()) for name in names]
    planned = map_ordered(partial(_plan, template, size), names, PLANNERS if len(names) > 1 else 1)
    return [one for group in planned for one in group]


def _plan(template: Partition, size: int, target: str) -> list[Partition]:
    """Open one archive and divide it into partitions of about `size` bytes, with the options of the template."""
    with with_part(template, target, template.format, Part()).open() as archive:
        return plan(archive, template, target, size)


__all__ = ["PARTITION_SIZE", "PLANNERS", "Partition", "partitions", "parts_of"]


KEY = "key"
"""The name of the index in the dataframe of a sorted archive."""

Targets = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
"""Paths or URLs of archives, one or several."""


def to_bag(targets: Targets, **options: Unpack[PartitionOptions]) -> Any:
    """A `dask.bag.Bag` of the records of archives, one partition for each that `partitions` plans (its options).

    Raises `MissingDependencyError` without dask.
    """
    try:
        from dask import bag
    except ImportError as error:
        raise MissingDependencyError("bags need the extra dask: pip install 'exhume[dask]'") from error
    found = partitions(targets, **options)
    made: Any = bag
    return made.from_sequence(found, npartitions=max(1, len(found))).map_partitions(_records)


def _records(given: Iterable[Partition]) -> list[Any]:
    """Read the records of partitions, in a worker."""
    return [record for one in given for record in one.records()]


def to_dataframe(targets: Targets, *, schema: Any = None, **options: Unpack[PartitionOptions]) -> Any:
    """A `dask.dataframe.DataFrame` over archives, one partition for each that `partitions` plans (its options).

    Columns are those of the format's `to_arrow`, with pandas' Arrow types.  The frame has the columns of all archives:
    a column that an archive lacks is null there, one with different types is text (or float64 for integers and floats).
    With `schema` (a `pyarrow.Schema`), the archives need not be opened to find their columns.

    The frame of a single zs archive with whole records has known divisions: the index `key` is the record, so
    `frame.loc[b"a":b"b"]` reads only the partitions of that range.  Raises `MissingDependencyError` without dask or
    pyarrow, and `ValueError` when there is no archive.
    """
    try:
        from dask import dataframe
    except ImportError as error:
        raise MissingDependencyError("dataframes need the extra dask: pip install 'exhume[dask]'") from error
    from exhume.tabular.arrow import import_pyarrow

    pa = import_pyarrow()
    found = partitions(targets, **options)
    if not found:
        raise ValueError("no archives")
    schema = schema if schema is not None else merged_schema(pa, _schemas(found))
    key = _key_column(found, schema)
    meta = _frame(schema.empty_table(), key)  # an empty frame, from which dask learns the columns
    divisions = _divisions(found, key)
    more = {} if divisions is None else {"divisions": divisions}
    made: Any = dataframe
    return made.from_map(
        _load, found, schema=schema, key=key, meta=meta, label="exhume", enforce_metadata=False, **more
    )


def _schemas(found: Sequence[Partition]) -> list[Any]:
    """The schema of each archive, read from one of its partitions."""
    from exhume.io.parallel import map_ordered

    firsts = {one.target: one for one in found}
    return list(map_ordered(_schema, firsts.values(), PLANNERS if len(firsts) > 1 else 1))


def _schema(one: Partition) -> Any:
    """Return the Arrow schema of a partition."""
    # In most formats every part has all columns of its archive; in the others a part may have fewer.
    with one.open() as archive:
        module = parts_of(archive)  # the format's `parts`
        selection = one.selection if getattr(module, "PARTS_LACK_COLUMNS", False) else ()
        return module.table(archive, selection, dict(one.options)).schema


def merged_schema(pa: Any, schemas: Iterable[Any]) -> Any:
    """All columns of several schemas, in order of first appearance, each with a type that holds all of its types."""
    types: dict[str, Any] = {}
    for schema in schemas:
        for field in schema:
            known = types.get(field.name)
            types[field.name] = field.type if known is None else _common(pa, known, field.type)
    return pa.schema(list(types.items()))


def _common(pa: Any, one: Any, other: Any) -> Any:
    """Return an Arrow type that holds the values of both: float or integer for numbers, else a string.

    No integer type holds those of 64 bits with and without a sign: these are strings, too.
    """
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    numbers = (pa.types.is_integer, pa.types.is_floating)
    if all(any(test(kind) for test in numbers) for kind in (one, other)):
        if pa.uint64() in (one, other) and not any(map(pa.types.is_floating, (one, other))):
            unsigned = all(map(pa.types.is_unsigned_integer, (one, other)))
            return pa.uint64() if unsigned else pa.large_string()
        return pa.float64() if pa.types.is_floating(one) or pa.types.is_floating(other) else pa.int64()
    return pa.large_string()


def _key_column(found: Sequence[Partition], schema: Any) -> str | None:
    """Return the column of the partitions' keys, "record", if they are consecutive key ranges of one sorted archive.

    None otherwise: `first` and `stop` of a partition are keys only there.
    """
    sorted_one = len({one.target for one in found}) == 1 and all(
        one.stop == following.first for one, following in pairwise(found)
    )
    bounded = len(found) > 1 and all(one.first is not None for one in found[1:])
    whole = schema.names == ["record"]
    return "record" if sorted_one and bounded and whole else None


def _divisions(found: Sequence[Partition], key: str | None) -> tuple[bytes, ...] | None:
    """The divisions for dask: the first keys of the partitions, and the last record of all."""
    if key is None:
        return None
    with found[-1].open() as archive:
        last: bytes = parts_of(archive).last_key(archive)
    return (b"", *(one.first or b"" for one in found[1:]), last)


def _load(one: Partition, schema: Any, key: str | None) -> Any:
    """Read a partition as a pandas frame with the columns of `schema`, in a worker."""
    return _frame(conform(one.to_arrow(), schema), key)


def conform(table: Any, schema: Any) -> Any:
    """A table in another schema: columns that it lacks are null; others are cast, to text by their printed form."""
    import pyarrow as pa

    columns = []
    for field in schema:
        if field.name not in table.schema.names:
            columns.append(pa.nulls(table.num_rows, field.type))
            continue
        column = table.column(field.name)
        if column.type != field.type:
            column = _cast(pa, column, field.type)
        columns.append(column)
    return pa.table(columns, schema=schema)


def _cast(pa: Any, column: Any, kind: Any) -> Any:
    """Return an Arrow column as `kind`; integers may be rounded to floats.

    Values that cannot be converted become JSON text if the column is text; else the error of pyarrow is raised.
    """
    try:
        return column.cast(kind, safe=not pa.types.is_floating(kind))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        from exhume.io.jsonout import dumps

        if not pa.types.is_large_string(kind):
            raise

        values = column.to_pylist()
        texts = [value if value is None or isinstance(value, str) else dumps(value) for value in values]
        return pa.chunked_array([pa.array(texts, kind)])


def _frame(table: Any, key: str | None) -> Any:
    """Return an Arrow table as a pandas frame, indexed by its column `key`."""
    import pandas

    frame = table.to_pandas(types_mapper=pandas.ArrowDtype)
    if key is not None:
        frame.index = pandas.Index(frame[key], name=KEY)
    return frame
