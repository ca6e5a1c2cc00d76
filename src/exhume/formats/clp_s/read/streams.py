"""The sections, dictionaries and packed streams of an archive, each read when it is first used.

A packed stream has several tables (records with the same set of keys), and is compressed as a whole: as one zstd frame,
or as several, which can be decompressed separately.  `stream_id` is its number; `whole`: all of it is needed.

Spec: clp_s.txt; what it leaves open: `docs/formats/clp_s.md`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from exhume.codecs.common import Buffer
from exhume.codecs.frames import FramedPayload
from exhume.codecs.serial import PayloadPrefix, Serial
from exhume.codecs.zstd import is_plausible
from exhume.counts import counted
from exhume.errors import CodecError, ExhumeError, Span
from exhume.formats.clp_s import checks, layout
from exhume.formats.clp_s.layout import (
    DICTIONARY_HEAD,
    PacketType,
    RangeEntry,
    Schema,
    SchemaTree,
    TableEntry,
    TableMetadata,
    TimestampDictionary,
    TimestampRange,
)
from exhume.formats.clp_s.layout_schemas import Schemas
from exhume.formats.clp_s.read import places
from exhume.formats.clp_s.read.columns import PrintContext
from exhume.formats.clp_s.read.container import Container
from exhume.formats.clp_s.read.kernel import ClpsStrings
from exhume.formats.clp_s.read.places import StoredRange
from exhume.formats.clp_s.read.template import SchemaLayout
from exhume.io.caching import Lru, cached_property
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from exhume.formats.clp_s.read.timestamps import PatternSet

STREAM_CACHE = 4
"""Decompressed streams kept: tables of one stream are read in sequence, `jobs` threads work on few streams."""

LAYOUTS = 1024
"""Layouts of schemas (see `template`) that are kept; the least recently used are dropped."""

PASSED = 8 << 20
"""Decompressed bytes of a stream from which on a caller that needs all of it reads it frame by frame."""

PARTS_LEAST = 1 << 20
"""Decompressed bytes of a stream below which decompressing only parts of it saves too little time."""


class Streams(Container):
    """An archive with everything but its tables, which `tables.TableArchive` adds."""

    def __init__(self, source: Source | Tree, *, limits: Limits = DEFAULT_LIMITS) -> None:
        super().__init__(source, limits=limits)
        # By stream: its whole payload, or an object that decompresses parts of it (see `_opened_stream`).
        self._streams: Lru[int, Buffer | FramedPayload | PayloadPrefix | Serial] = Lru(STREAM_CACHE)
        self._layouts: Lru[int, SchemaLayout] = Lru(LAYOUTS)
        self._is_first = threading.Lock()  # see `share_variables`; never released

    # -- metadata section ---------------------------------------------------------------------------------------

    @cached_property
    def timestamp_dictionary(self) -> TimestampDictionary:
        """Timestamp ranges and patterns; empty when the archive has no such packet.  Raises CLPS-408."""
        found = self.packets_of(PacketType.TIMESTAMP_DICTIONARY)
        if not found:
            return TimestampDictionary()
        # The last packet counts if there is more than one.
        return layout.parse_timestamp_dictionary(found[-1].body, found[-1].span)

    @property
    def timestamp_ranges(self) -> tuple[TimestampRange, ...]:
        """Ranges of the timestamp keys; the first one is the authoritative one."""
        return self.timestamp_dictionary.ranges

    @cached_property
    def patterns(self) -> PatternSet:
        """Timestamp patterns, compiled for this archive's version."""
        from exhume.formats.clp_s.read.timestamps import PatternSet

        found = self.timestamp_dictionary
        return PatternSet.build(found.patterns, self.header.has_nanosecond_timestamps, found.span)

    @cached_property
    def range_index(self) -> list[RangeEntry]:
        """Which records came from which ingestion unit, with its properties.  Raises CLPS-409."""
        return places.range_entries(self.packets_of(PacketType.RANGE_INDEX))

    # -- sections -----------------------------------------------------------------------------------------------
    # `[0]`: the parsers also return where the last item ends, which only `verify` and `salvage` need.

    @cached_property
    def schema_tree(self) -> SchemaTree:
        """The schema tree: a node for each key path and type that occurs.  Raises CLPS-320, CLPS-321."""
        return layout.parse_schema_tree(*self.structure("/schema_tree"))[0]

    @cached_property
    def schemas(self) -> Schemas:
        """Schemas by id, in stored order.  Raises CLPS-330."""
        return layout.parse_schema_map(*self.structure("/schema_ids"))[0]

    @cached_property
    def table_metadata(self) -> TableMetadata:
        """Streams and tables.  Raises CLPS-340, CLPS-341."""
        return layout.parse_table_metadata(*self.structure("/table_metadata"))[0]

    @cached_property
    def num_messages(self) -> int:
        """Number of records in all tables."""
        return sum(self.table_metadata.tables.num_messages)

    @cached_property
    def variables(self) -> ClpsStrings:
        """The variable dictionary: a sequence of byte strings, the id is the position.  Raises CLPS-350."""
        return self.dictionary("/var.dict")

    def share_variables(self) -> None:
        """Help to decompress the variable dictionary, if another thread has begun to read it.

        It can be shared if it consists of zstd frames that state their sizes.  The first thread that calls this gets
        the lock and returns: it reads the dictionary itself.  Errors are left to the use of the dictionary.
        """
        if "variables" in self.__dict__ or self._is_first.acquire(blocking=False):  # read already; the first thread
            return
        if not self.source.cost.wait:  # not remote
            with suppress(ExhumeError):
                place = self.file_entry("/var.dict")
                frames = self.shared_frames(place.part(DICTIONARY_HEAD)) if place.size > DICTIONARY_HEAD else None
                if frames is not None and frames.is_small and not place.is_cut:
                    frames.take()

    @cached_property
    def log_types(self) -> ClpsStrings:
        """Log types as stored (placeholder bytes, escapes).  Raises CLPS-350."""
        return self.dictionary("/log.dict")

    @cached_property
    def array_types(self) -> ClpsStrings:
        """Array log types as stored; empty when the archive has none.  Raises CLPS-350."""
        names = {*self.section_problems, *(entry.name for entry in self.files)}
        if "/array.dict" not in names or self.file_entry("/array.dict").size == 0:
            return ClpsStrings(b"", 0)
        return self.dictionary("/array.dict")

    @cached_property
    def texts(self) -> PrintContext:
        """Dictionaries and patterns as columns need them, each read when it is first used."""
        return PrintContext(self)

    # -- tables -------------------------------------------------------------------------------------------------

    @cached_property
    def _schemas_span(self) -> Span:
        return self.section_span("/schema_ids")

    def schema_layout(self, schema: Schema) -> SchemaLayout:
        """Columns and runs of a schema, worked out once for the tables that are used at the same time."""
        found = self._layouts.get(schema.schema_id)
        if found is None or found.schema != schema:
            found = SchemaLayout(self.schema_tree, schema, self._schemas_span)
            self._layouts.put(schema.schema_id, found)
        return found

    def stream_place(self, stream_id: int) -> StoredRange:
        """Location of a packed stream.  Raises CLPS-342, CLPS-343."""
        section = self.file_entry("/0")
        streams = self.table_metadata.streams
        if stream_id >= len(streams):
            raise checks.BAD_STREAM_ID.error(
                span=self.section_span("/table_metadata"), expected=f"below {len(streams)}", actual=stream_id
            )
        # A stream ends where the next one starts, the last one with the section.
        start = streams[stream_id].offset
        stop = streams[stream_id + 1].offset if stream_id + 1 < len(streams) else section.size
        if not 0 <= start <= stop <= section.size:
            raise checks.BAD_STREAM_OFFSET.error(
                f"stream {stream_id}",
                span=self.section_span("/table_metadata"),
                field_path=f"streams[{stream_id}].ofs_stream",
                expected=f"at most {section.size}",
                actual=streams[stream_id].offset,
            )
        return section.part(start, stop)

    def stream_span(self, stream_id: int) -> Span:
        """Return the location of a packed stream as a span.  Raises CLPS-342, CLPS-343."""
        return self.stream_place(stream_id).span

    def stream_payload(self, stream_id: int) -> Buffer:
        """A packed stream, decompressed (the last few are kept).  Raises CLPS-309, CLPS-347, CLPS-501.

        Threads that request the same one at the same time decompress it together if it consists of frames that state
        their sizes.
        """
        parts = self.stream_parts(stream_id, whole=True)
        if parts is not None and parts.is_small:  # all of it may be in memory
            with suppress(CodecError):  # reported when one thread decompresses all frames
                return parts.take()
        with self.lock_of(stream_id):
            found = self._streams.get(stream_id)
            if found is None or isinstance(found, (FramedPayload, PayloadPrefix, Serial)):  # open only for its parts
                found = self._inflate_stream(stream_id)
                self._streams.put(stream_id, found)
        return found

    def stream_parts(self, stream_id: int, *, whole: bool = False) -> FramedPayload | PayloadPrefix | Serial | None:
        """Return a packed stream that is decompressed only as far as it is read.

        None if all of it should be decompressed: it already was, little would be saved, or it has an error.  `whole`:
        all of it is needed.  For the types see `_opened_stream`.
        """
        with self.lock_of(stream_id):
            found = self._streams.get(stream_id)
            if found is None:
                found = self._opened_stream(stream_id, whole)
                if found is None:
                    return None
                self._streams.put(stream_id, found)
        # The cache also has streams that were decompressed as a whole (bytes).  If all is needed, only separate frames
        # help, which threads can share.
        if isinstance(found, (PayloadPrefix, Serial)):
            return None if whole else found
        return found if isinstance(found, FramedPayload) else None

    def _parted(self, stream_id: int) -> tuple[StoredRange, int] | None:
        """Return location and stated size of a stream; None if decompressing parts of it makes no sense.

        That is so for a stream that is cut, small, or of an implausible size.
        """
        place, size = self.stream_place(stream_id), self.table_metadata.streams[stream_id].size
        if place.is_cut or size < min(PARTS_LEAST, self.limits.payload_size):
            return None
        return (place, size) if size <= self.limits.expansion_budget(place.size) else None

    def stream_frames(self, stream_id: int, *, whole: bool = False) -> FramedPayload | None:
        """A newly opened packed stream whose frames can be decompressed separately; None if they cannot."""
        parted = self._parted(stream_id)
        if parted is None:
            return None
        place, size = parted
        # Without a size, all frames are located at once; with it, as far as bytes are requested.
        found = self.frames(place, None if whole else size)
        return found if found is not None and found.size == size else None

    def _opened_stream(self, stream_id: int, whole: bool) -> FramedPayload | PayloadPrefix | Serial | None:
        """Return an object that decompresses parts of a stream, or None if it can only be read as a whole.

        The three types differ in what the stream allows: separate frames (`FramedPayload`), one frame that fits in
        memory (`PayloadPrefix`), or one that does not (`Serial`).
        """
        found = self.stream_frames(stream_id, whole=whole)
        parted = self._parted(stream_id)
        # One frame: parts of it save nothing if all is needed, or if it is remote (`wait`) and has to be fetched first.
        if found is not None or parted is None or whole or self.source.cost.wait:
            return found
        place, size = parted
        if size > self.limits.payload_size:
            try:
                read = lambda start, end: place.part(start, end).read()  # noqa: E731
                return Serial(read, place.size, size, self.limits.payload_size)
            except OSError:  # the address space is too small for a buffer of this size
                return None
        return PayloadPrefix(self.fetched(place), size) if is_plausible(size, place.size) else None

    def keep_stream(self, stream_id: int, payload: bytes) -> None:
        """Keep a stream that was decompressed already for the tables in it."""
        self._streams.put(stream_id, payload)

    def _inflate_stream(self, stream_id: int) -> Buffer:
        """Return the decompressed stream.  Raises CLPS-347 if it is shorter than stated, CLPS-501 if too large."""
        place = self.stream_place(stream_id)
        size = self.table_metadata.streams[stream_id].size
        if size == 0:
            return b""
        if size > self.limits.payload_size:
            raise self.too_large(place._replace(name=f"stream {stream_id}"), size=size)
        data = self.inflate(place, size)
        if len(data) < size:
            raise checks.BAD_STREAM_SIZE.error(
                f"stream {stream_id}",
                span=place.span,
                expected=counted(size, "bytes"),
                actual=counted(len(data), "bytes"),
            )
        return data

    def stream_bytes(self, stream_id: int) -> tuple[int, Callable[[int, int], Buffer]]:
        """Return the size of a packed stream, and a function that returns its bytes from one offset to another.

        A large stream, where its frames allow that, and one larger than the limit `payload_size` are decompressed only
        as far as needed, quickly if in order.
        Raises the same errors as `stream_payload`; the function raises CLPS-309.
        """
        # Parts save time only for a large stream; a smaller one is decompressed as a whole, once.
        frames = self.stream_parts(stream_id)
        frame_reader = None
        if isinstance(frames, (FramedPayload, Serial)) and (not frames.is_small or frames.size >= PASSED):
            frame_reader = frames.frame_reader()
        if frames is None or frame_reader is None:
            payload = memoryview(self.stream_payload(stream_id))
            return len(payload), lambda start, stop: payload[start:stop]

        def read(start: int, stop: int) -> Buffer:
            """Return bytes `[start, stop)` of the decompressed stream."""
            data = bytearray(stop - start)
            try:
                with frame_reader.stop() as here:  # keeps the frames in memory that are in use
                    here.gather([(start, stop, 0)], memoryview(data))  # the range, and its place in `data`
            except CodecError as error:
                place = self.stream_place(stream_id)
                raise checks.BAD_FRAME.error(error.message, span=place.span, actual=error.actual) from error
            return data

        return frames.size, read

    def table_bytes(self, entry: TableEntry) -> memoryview:
        """The decompressed bytes of one table."""
        if entry.start == entry.end:
            return memoryview(b"")
        return memoryview(self.stream_payload(entry.stream_id))[entry.start : entry.end]
