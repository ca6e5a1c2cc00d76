"""What `info()` and `entries()` state about an IR stream of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exhume.archive import Entry, Info
from exhume.findings import Finding
from exhume.formats.clp_ir.layout import Preamble
from exhume.formats.clp_ir.units import EventForm
from exhume.formats.kv_ir.passes import UnitError

if TYPE_CHECKING:
    from exhume.formats.clp_ir.stream import TextStream

EVENTS = 1 << 20
"""Events that are counted at once."""


@dataclass(frozen=True, slots=True)
class ClpIrInfo(Info):
    """Version, sizes, metadata and times; `complete` states whether the stream has its end."""

    version: str
    preamble: Preamble
    wrapped: bool
    stored_size: int
    size: int
    events: int
    first_ms: int | None
    last_ms: int | None
    utc_offset: int | None
    complete: bool
    metadata: Mapping[str, Any]
    found: Sequence[Finding]

    @property
    def findings(self) -> Sequence[Finding]:
        return self.found

    def to_dict(self) -> dict[str, Any]:
        """The documented JSON of `exhume info --json`."""
        return {
            "version": self.version,
            "encoding": self.preamble.encoding.name.lower().replace("_", "-"),
            "codec": "zstd" if self.wrapped else None,
            "stored_size": self.stored_size,
            "size": self.size,
            "events": self.events,
            "complete": self.complete,
            "begin_ms": self.first_ms,
            "end_ms": self.last_ms,
            "utc_offset_ms": self.utc_offset,
            "metadata": dict(self.metadata),
            "problems": [str(finding) for finding in self.found],
        }


def collect(archive: TextStream) -> ClpIrInfo:
    """The info of a stream; what is damaged is listed and left out."""
    units = archive.units()
    found: list[Finding] = []
    while True:
        try:
            while units.step(EventForm.LENIENT, units.decoder.events + EVENTS):
                pass
            break
        except UnitError as trouble:
            found.append(Finding.from_error(trouble.error))
            if trouble.after < 0:
                break
            units.skip(trouble.after)
    decoder = units.decoder
    return ClpIrInfo(
        version=archive.metadata["VERSION"],
        preamble=archive.preamble,
        wrapped=archive.stream.wrapped,
        stored_size=archive.source.size,
        size=units.stream.size,
        events=decoder.events,
        first_ms=decoder.first_time if decoder.matched else None,
        last_ms=decoder.last_time if decoder.matched else None,
        utc_offset=decoder.utc_offset if decoder.utc_changes else None,
        complete=units.ended,
        metadata=archive.metadata,
        found=found,
    )


def event_entries(archive: TextStream) -> Iterator[Entry]:
    """One entry for each event; raises what is wrong with the stream after those before it."""
    for span, number, event in archive.events_with_place():
        details: dict[str, Any] = {"timestamp": event.time_ms}
        if span.payload is not None:
            details["payload_offset"] = span.payload[0]
        offset, stored = (span.start, span.size) if span.payload is None else (None, None)
        yield Entry("event", None, number, offset, len(event.message), stored, None, details)
