"""A stream is read from its beginning: it is one part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from exhume.formats.clp_ir.reader import ClpIrArchive
from exhume.parts import Part, Selection


def plan(archive: ClpIrArchive, size: int | None, options: dict[str, Any]) -> Iterator[Part]:
    """One part, whatever its size: times count from those before them."""
    yield Part((), archive.source.size)


def items(archive: ClpIrArchive, part: Selection, options: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Events as `(time_ms, message)`."""
    return archive.events()


def table(archive: ClpIrArchive, part: Selection, options: dict[str, Any]) -> Any:
    """The events as `to_arrow` sets them."""
    return archive.to_arrow(**options)


def tally(archive: ClpIrArchive, jobs: int) -> int:
    """The number of events, decoded and counted."""
    return archive.count()
