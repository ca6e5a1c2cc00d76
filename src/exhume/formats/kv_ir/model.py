"""Interface of an open IR stream for the modules around a reader, and the result of `info` for one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

from exhume.archive import Info

if TYPE_CHECKING:
    from exhume.errors import ExhumeError
    from exhume.findings import Finding
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


@dataclass(frozen=True, slots=True)
class StreamInfo(Info):
    """Version, sizes and metadata of a stream of any kind; `complete` is whether the stream has its end."""

    version: str
    preamble: Preamble
    wrapped: bool
    stored_size: int
    size: int
    events: int
    utc_offset: int | None
    complete: bool
    metadata: Mapping[str, Any]
    found: Sequence[Finding]

    @classmethod
    def of(
        cls, archive: OpenStream, units: Units, metadata: Mapping[str, Any], found: Sequence[Finding], **more: Any
    ) -> Self:
        """The info of a stream whose `units` were read to the end; `more` are the values that a subclass adds."""
        decoder = units.decoder
        return cls(
            version=archive.metadata["VERSION"],
            preamble=archive.preamble,
            wrapped=archive.stream.wrapped,
            stored_size=archive.source.size,
            size=units.stream.size,
            events=decoder.events,
            utc_offset=decoder.utc_offset if decoder.utc_changes else None,
            complete=units.ended,
            metadata=metadata,
            found=found,
            **more,
        )

    @property
    def findings(self) -> Sequence[Finding]:
        return self.found

    def document(self, times: Mapping[str, Any], keys: Mapping[str, Any]) -> dict[str, Any]:
        """The documented JSON of `exhume info --json`, with the members of one kind of stream in their places."""
        return {
            "version": self.version,
            "encoding": self.preamble.encoding.name.lower().replace("_", "-"),
            "codec": "zstd" if self.wrapped else None,
            "stored_size": self.stored_size,
            "size": self.size,
            "events": self.events,
            "complete": self.complete,
            **times,
            "utc_offset_ms": self.utc_offset,
            "metadata": dict(self.metadata),
            **keys,
            "problems": [str(finding) for finding in self.found],
        }
