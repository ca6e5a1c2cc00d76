"""What the modules around a reader of IR streams need from an open stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from exhume.errors import ExhumeError
    from exhume.formats.kv_ir.layout import Preamble
    from exhume.formats.kv_ir.passes import Units
    from exhume.formats.kv_ir.stream import Stream
    from exhume.io.source import Source
    from exhume.limits import Limits


class OpenStream(Protocol):
    """An open stream of any kind of units; see `reader.StreamArchive`."""

    source: Source
    limits: Limits
    stream: Stream
    preamble: Preamble
    metadata: dict[str, Any]
    left_out: Callable[[ExhumeError], object] | None

    @property
    def name(self) -> str:
        """The path or URL that was opened."""

    @property
    def schema(self) -> str:
        """Id of the specification."""

    def units(self) -> Units:
        """A new pass over the units."""


class KeyedStream(OpenStream, Protocol):
    """An open stream of key-value pairs; see `reader.KvIrArchive`."""

    user_metadata: dict[str, Any]

    def events(self) -> Iterator[tuple[Any, Any]]:
        """The events: pairs of the logger, pairs of the user."""

    def events_of(self, units: Units) -> Iterator[tuple[Any, Any]]:
        """The events of a pass over the units."""
