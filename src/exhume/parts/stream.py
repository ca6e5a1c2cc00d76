"""A stream that is read from its beginning is one part, whatever its size: later events depend on those before them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from exhume.parts import Part, Selection


class Stored(Protocol):
    """The bytes of a stream: `exhume.io.source.Source` is one."""

    @property
    def size(self) -> int:
        """Number of bytes."""


class Events(Protocol):
    """An open stream: `KvIrArchive` is one, and `ClpIrArchive`."""

    @property
    def source(self) -> Stored:
        """The source that it is read from."""

    def events(self) -> Iterator[Any]:
        """Its events, in order."""

    def to_arrow(self, **options: Any) -> Any:
        """Its events as a table."""


def plan(archive: Events, size: int | None, options: dict[str, Any]) -> Iterator[Part]:
    """One part with all bytes."""
    yield Part((), archive.source.size)


def items(archive: Events, part: Selection, options: dict[str, Any]) -> Iterator[Any]:
    """The events, as the archive's `events` has them."""
    return archive.events()


def table(archive: Events, part: Selection, options: dict[str, Any]) -> Any:
    """The events as `to_arrow` returns them."""
    return archive.to_arrow(**options)
