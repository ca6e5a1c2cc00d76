"""Partitions: picklable units of reading, each of which opens its archive by itself and reads its own bytes.

A partition is a few hundred bytes: where the archive is, and which part of it.  Planning opens each archive and reads
its index, no data; with `size=None` nothing is opened at all, and each archive is one partition.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from exhume.archive import Archive
from exhume.engines.identify import open_archive
from exhume.errors import UnsupportedOperationError
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.parallel import map_ordered
from exhume.parts import Part, Selection
from exhume.registry import get_format

SIZE = 64 << 20
"""Stored bytes of a partition: seconds of work, and some hundred megabytes decompressed."""

PLANNERS = 16
"""Archives that are planned at a time: planning waits for storage."""

Options = tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Partition:
    """One part of one archive; `selection` is the format's own (`()`: all of it), `size` its stored bytes, about.

    `first` and `stop` bound its keys where the format is sorted.  Options are pairs, so that a partition is hashable.
    """

    target: str
    format: str | None = None
    selection: Selection = ()
    size: int = 0
    first: bytes | None = None
    stop: bytes | None = None
    options: Options = ()
    opening: Options = ()
    storage: Options = ()
    limits: Limits | None = None

    def open(self) -> Archive:
        """The archive; the caller closes it.  Raises what `exhume.open` raises."""
        return open_archive(
            self.target,
            format=self.format,
            limits=self.limits or DEFAULT_LIMITS,
            storage_options=dict(self.storage),
            **dict(self.opening),
        )

    def records(self) -> Iterator[Any]:
        """Its records: bytes of zs, events (dicts) of clp-s, `ArkMessage`s, rows (dicts) of members and of leveldb."""
        with self.open() as archive:
            yield from parts_of(archive).items(archive, self.selection, dict(self.options))

    def to_arrow(self) -> Any:
        """Its rows as a `pyarrow.Table` (extra `arrow`)."""
        with self.open() as archive:
            return parts_of(archive).table(archive, self.selection, dict(self.options)).read_all()


def partitions(
    targets: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    size: int | None = SIZE,
    format: str | None = None,
    opening: Mapping[str, Any] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    limits: Limits = DEFAULT_LIMITS,
    **options: Any,
) -> list[Partition]:
    """Plans the reading of archives (paths or URLs) in parts of about `size` stored bytes, in their order.

    zs is cut by key ranges along its index, clp-s by tables, ark by splits, caf and databundle by ranges of members,
    leveldb by files.  `size=None` plans one partition per archive without opening any.  `options` are those of reading:
    zs `start`, `stop`, `prefix` (one partition then); clp-s `query` and its options; ark `topics`, `start_ns`,
    `stop_ns`; members `data=False`; for tables those of the format's `to_arrow`.  `opening` goes to the format's open.

    Raises what opening raises, for the first archive that cannot be opened.
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
        return [_with(template, name, format, Part()) for name in names]
    planned = map_ordered(partial(_plan, template, size), names, PLANNERS if len(names) > 1 else 1)
    return [one for group in planned for one in group]


def _plan(template: Partition, size: int, target: str) -> list[Partition]:
    with _with(template, target, template.format, Part()).open() as archive:
        options = dict(template.options)
        return [
            _with(template, target, archive.format, part) for part in parts_of(archive).plan(archive, size, options)
        ]


def _with(template: Partition, target: str, format: str | None, part: Part) -> Partition:
    return Partition(
        target,
        format,
        part.selection,
        part.size,
        part.first,
        part.stop,
        template.options,
        template.opening,
        template.storage,
        template.limits,
    )


def parts_of(archive: Archive) -> Any:
    """The format's `parts` module.  Raises `UnsupportedOperationError` when it has none."""
    described = get_format(archive.format)
    if not described.has("parts"):
        raise UnsupportedOperationError(f"{archive.format} archives cannot be read in parts")
    return described.hook("parts")
