"""A KV-IR stream as a section map: preamble and units, or the zstd frames that contain them.

A section map states the purpose of each byte of a file, for `exhume map` and `exhume explain`.  Units are events and
declarations of keys.  Streams of CLP IR (text messages) use this module as well.

Spec: `docs/formats/kv_ir.md`, "Bytes".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from exhume.codecs.zstd import zstd_checksum
from exhume.errors import ExhumeError
from exhume.findings import Check
from exhume.formats.kv_ir.layout import Preamble
from exhume.formats.kv_ir.passes import Units
from exhume.formats.kv_ir.stream import Stream
from exhume.formats.kv_ir.units import EventForm
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.layout.sections import Section, SectionKind, SectionMap
from exhume.limits import Limits

if TYPE_CHECKING:
    from exhume.formats.kv_ir.model import OpenStream
    from exhume.layout.trees import Field


SCHEMA = "clp_kv_ir"
"""Id of the specification (`ksy/`) of a stream of key-value pairs; CLP IR has another."""


def section_map(archive: OpenStream) -> SectionMap:
    """The sections of an open stream; bytes that damage makes unreadable form one unread section."""
    return SectionMap([(archive.source, _sections(archive, walked=True))])


def outline(archive: OpenStream) -> SectionMap:
    """The same, but only the preamble is read."""
    return SectionMap([(archive.source, _sections(archive, walked=False))])


def inspect(source: Source | Tree, *, limits: Limits, schema: str = SCHEMA) -> SectionMap:
    """The sections of a stream that cannot be opened because its preamble is invalid."""
    assert isinstance(source, Source)
    stream = Stream(source)
    if stream.wrapped:
        return SectionMap([(source, [_frames(stream, source.size, limits, schema)])])
    preamble = _preamble(source, limits)
    end = min(source.size, preamble.size) if preamble is not None else source.size
    sections = [Section("preamble", source.span(0, end), schema="clp_kv_ir::preamble")]
    if end < source.size:
        note = "what these bytes are the preamble does not say"
        sections.append(Section("unread", source.span(end, source.size), SectionKind.UNREAD, note=note))
    return SectionMap([(source, sections)])


def _preamble(source: Source, limits: Limits) -> Preamble | None:
    """Read the preamble; None if it is damaged (its metadata is not examined)."""
    try:
        return Units(Stream(source), limits).preamble
    except ExhumeError:
        return None


def _sections(archive: OpenStream, *, walked: bool) -> Iterator[Section]:
    """Yield the sections of a stream.  `walked`: decode all units, to find where the intact ones end."""
    source = archive.source
    if archive.stream.wrapped:
        stored, size = _stored(archive) if walked else (source.size, None)
        yield _frames(archive.stream, stored, archive.limits, archive.schema, size)
        return
    start = archive.preamble.size
    yield Section("preamble", source.span(0, start), schema="clp_kv_ir::preamble")
    yield Section(
        "metadata",
        source.span(archive.preamble.metadata_at, start),
        SectionKind.DATA,
        note="JSON",
        parent="preamble",
    )
    # Without a walk, all bytes after the preamble count as units; `claims` states then that they were not examined.
    end, good, why = (source.size, source.size, "") if not walked else _walk(archive)
    if good > start:
        span = source.span(start, good)
        yield Section("units", span, SectionKind.DATA, schema=f"{archive.schema}::units", claims=lambda: walked)
    if end > good:
        yield Section("unread", source.span(good, end), SectionKind.UNREAD, note=why)


def _walk(archive: OpenStream) -> tuple[int, int, str]:
    """Return `(end of the stream, end of the last readable unit, why reading stopped there)`."""
    units = archive.units()
    for trouble in units.faults(EventForm.CHECK):
        if trouble.after < 0:
            return archive.source.size, trouble.at, str(trouble.error)
    return units.at, units.at, ""


def _stored(archive: OpenStream) -> tuple[int, int | None]:
    """Return `(end of the zstd frames, number of bytes in them)`; for damaged ones, `(end of the file, None)`."""
    stream = Stream(archive.source)
    try:
        size = sum(map(len, stream.pieces()))
    except ExhumeError:
        return archive.source.size, None
    return stream.stored, size


def _frames(stream: Stream, end: int, limits: Limits, schema: str, size: int | None = None) -> Section:
    """Return the one section of a compressed stream, which ends at `end`; `size`: its decompressed bytes, if known."""
    source = stream.source

    def load() -> bytes:
        """Return the decompressed stream."""
        held: list[bytes] = []
        size = 0
        for piece in Stream(source).pieces():
            size += len(piece)
            limits.check("payload_size", size, source.span(0, source.size))
            held.append(piece)
        return b"".join(held)

    def check(chain: Sequence[Field]) -> Check:
        """Compare the checksum of a zstd frame; `chain`: the checksum, last, and before it the fields around it."""
        frame = chain[-3].span  # the chain ends with: frame, its body, the checksum
        assert frame is not None
        # Spans count from the start of the file, `chunks` from that of the source, which may be a part of it.
        stored = source.chunks(frame.start - source.origin, frame.end - source.origin)
        stated, computed = zstd_checksum(stored, limits.expansion_budget(frame.size))
        return Check.compare(f"{stated:08x}", f"{computed:08x}")

    return Section(
        "stream",
        source.span(0, end),
        SectionKind.DATA,
        codec="zstd",
        schema="zstd_frame",
        payload_schema=schema,
        payload_size=size,
        load=load,
        pieces=lambda: Stream(source).pieces(),
        check=check,
    )
