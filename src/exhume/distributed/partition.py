"""Planning the reading of many archives: each is opened and its index is read, but no data.

With `size=None` nothing is opened at all, and each archive is one partition.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Unpack

from exhume.io.parallel import map_ordered
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.parts import Part
from exhume.parts.partition import SIZE, Partition, ReadingOptions, parts_of, plan, with_part

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
    size: int | None = SIZE,
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
    if size is None:
        return [with_part(template, name, format, Part()) for name in names]
    planned = map_ordered(partial(_plan, template, size), names, PLANNERS if len(names) > 1 else 1)
    return [one for group in planned for one in group]


def _plan(template: Partition, size: int, target: str) -> list[Partition]:
    with with_part(template, target, template.format, Part()).open() as archive:
        return plan(archive, template, target, size)


__all__ = ["PLANNERS", "SIZE", "Partition", "partitions", "parts_of"]
