"""Interface of an open IR stream for the modules around a reader, and the result of `info` for one.

Two formats share them: KV-IR (events of key-value pairs) and CLP IR (text messages).  A unit is an event, or a
declaration or change that the following events depend on.
"""

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
    """An open stream of any kind of units; `reader.StreamArchive` documents the attributes."""

    source: Source
    limits: Limits
    stream: Stream
    preamble: Preamble
    metadata: dict[str, Any]
    on_omitted: Callable[[ExhumeError], object] | None

    @property
    def name(self) -> str:
        """The path or URL that was opened."""

    @property
    def schema(self) -> str:
        """Id of the Kaitai specification of the stream, such as `clp_kv_ir`."""

    def units(self) -> Units:
        """A new pass over the units."""


class KeyedStream(OpenStream, Protocol):
    """An open stream of key-value pairs; see `reader.KvIrArchive`."""

    user_metadata: dict[str, Any]

    def events(self) -> Iterator[tuple[Any, Any]]:
        """The events, each as two objects: the pairs that the logger added, and those of its user."""


@dataclass(frozen=True, slots=True)
class StreamInfo(Info):
    """Version, sizes and metadata of a stream of any kind."""

    version: str
    preamble: Preamble
    wrapped: bool  # inside zstd frames
    stored_size: int  # bytes of the file
    size: int  # bytes of the stream, decompressed
    events: int
    utc_offset: int | None  # the last one, in milliseconds; None if no unit states one
    complete: bool  # whether the token that ends a stream was found
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
        """The documented JSON of `exhume info --json`.

        `times` and `keys` are the members that only one of the two formats has: those about timestamps are inserted
        after `complete`, those about keys after `metadata`, because the order of members is documented.
        """
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
