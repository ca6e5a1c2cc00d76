"""xarray: a channel of an Ark log as a dataset over time (entry point `xarray.backends`, engine `exhume`).

    xarray.open_dataset("robot", engine="exhume", channel="/robot/pose")

Every field of numbers, booleans or times is a variable over the dimension `time_ns` (nanoseconds of the log's steady
clock), fields of objects called `left.rpm`; arrays of a fixed size, also of arrays, have a dimension each.  Fields
without such a form, such as strings and lists, are left out and named in the attribute `omitted`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import xarray
from xarray.backends import BackendEntrypoint

import exhume
from exhume.engines.identify import identify
from exhume.errors import ExhumeError, QueryError
from exhume.formats.ark.collection import ArkLogSet
from exhume.formats.ark.reader import ArkArchive
from exhume.tabular.arrow import import_pyarrow

TIME = "time_ns"
"""The column of the time, which is the dimension of the dataset."""


class ExhumeBackend(BackendEntrypoint):
    """Opens a channel of an Ark log."""

    description = "Channels of Ark logs, with exhume"
    open_dataset_parameters: ClassVar[tuple[str, ...]] = (
        "filename_or_obj",
        "drop_variables",
        "channel",
        "start_ns",
        "stop_ns",
    )

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Whether it is the path of an Ark log."""
        if not isinstance(filename_or_obj, (str, os.PathLike)):
            return False
        try:
            found = identify(filename_or_obj)
        except (ExhumeError, OSError):
            return False
        return bool(found) and found[0].format == "ark"

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        channel: str | None = None,
        start_ns: int | None = None,
        stop_ns: int | None = None,
    ) -> xarray.Dataset:
        """The messages of a channel with `start_ns <= time < stop_ns`, all of them in memory.

        `channel` (name or GUID) may be left out when the log has only one.  Raises `QueryError` for an archive that is
        not an Ark log, and whatever `ArkArchive.to_arrow` raises.
        """
        dropped = {drop_variables} if isinstance(drop_variables, str) else set(drop_variables or ())
        with exhume.open(filename_or_obj) as log:
            if isinstance(log, ArkLogSet):
                raise log.several()  # the error that names the logs
            if not isinstance(log, ArkArchive):
                raise QueryError(f"{log.format} archives have no arrays over time", expected="an Ark log")
            # (A latched message is one that a late reader gets first: without those from before `start_ns`.)
            table = log.to_arrow(topic=channel, start_ns=start_ns, stop_ns=stop_ns, latched=False).read_all()
        variables: dict[str, Any] = {}  # name: (dimensions, values)
        omitted = []
        for name, column in _leaves(table):
            values = None if name in dropped else _array(column)
            if values is not None and name != TIME:
                sizes = [f"{name}_{number}" for number in range(1, values.ndim)]
                variables[name] = ((TIME, *sizes), values)
            elif name not in dropped and name != TIME:
                omitted.append(name)
        metadata = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
        attributes = {**metadata, "omitted": omitted}
        return xarray.Dataset(variables, {TIME: _array(table[TIME].combine_chunks())}, attributes)


def _leaves(table: Any) -> Iterator[tuple[str, Any]]:
    """The columns of a table, those inside structs by their path."""
    waiting = [(name, table[name].combine_chunks()) for name in reversed(table.column_names)]
    pa = import_pyarrow()
    while waiting:
        name, column = waiting.pop()
        if pa.types.is_struct(column.type):
            fields = [field.name for field in column.type]
            waiting += [(f"{name}.{field}", column.field(field)) for field in reversed(fields)]
        else:
            yield name, column


def _array(column: Any) -> Any:
    """The values as an array whose first dimension is the rows; None for what has no such form, or has gaps."""
    types, shape = import_pyarrow().types, [len(column)]
    while types.is_fixed_size_list(column.type):
        shape.append(column.type.list_size)
        if column.null_count:
            return None
        column = column.flatten()
    kind = column.type
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind) or types.is_duration(kind):
        return None if column.null_count else column.to_numpy(zero_copy_only=False).reshape(shape)
    if types.is_timestamp(kind):
        return column.to_numpy(zero_copy_only=False).astype("datetime64[ns]").reshape(shape)
    return None
