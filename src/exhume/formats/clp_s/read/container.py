"""`Container`: a file or a directory with the header, the metadata packets and the sections of a clp-s archive.

It finds and decompresses sections (structures, dictionaries, streams of tables); `ClpSArchive` knows what they mean.

Spec: clp_s.txt; what it leaves open: `docs/formats/clp_s.md`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from exhume.archive import RecordArchive
from exhume.codecs import zstd
from exhume.codecs.common import Buffer
from exhume.codecs.frames import FRAME_WINDOWS, FramedPayload, frames_at, frames_of
from exhume.codecs.layout import frames_most
from exhume.counts import counted
from exhume.errors import CodecError, ExhumeError, LimitExceededError, Span
from exhume.formats.clp_s import checks, layout
from exhume.formats.clp_s.layout import (
    DICTIONARY_HEAD,
    HEADER_FIELDS,
    HEADER_SIZE,
    Compression,
    Header,
    Packet,
    PacketType,
)
from exhume.formats.clp_s.layout_packed import ENTRY, NUM_ENTRIES
from exhume.formats.clp_s.names import DICTIONARIES, HEADER_FILE, STRUCTURES, TIMESTAMP_FILE
from exhume.formats.clp_s.read import places
from exhume.formats.clp_s.read.kernel import ClpsStrings
from exhume.formats.clp_s.read.places import StoredRange, files_of, in_directory, read_together
from exhume.io.activity import note_payload
from exhume.io.caching import cached_property
from exhume.io.files import keep_freed_memory
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from exhume.findings import Finding

STRUCTURES_TOGETHER = 8 << 20
"""Largest sum of stored bytes at which all structures of a remote archive are read in one request."""

LARGE_DICTIONARY = 4 << 20
"""Largest stored size at which a dictionary is read completely even if only its first entries are needed."""

DICTIONARY_START = 1 << 16
"""Stored bytes of a larger dictionary that are read first for its first entries."""

WORTHWHILE = 4
"""Only the beginning of a dictionary is read as long as the whole is at least this many times as large."""

FRAME_ROOM = 64
"""Bytes that the headers of a small zstd frame can add to its content, at most."""

SMALL_DICTIONARY = 64 << 10
"""Largest stored size at which a dictionary of a remote archive is read along with another one."""


def _header_file(tree: Tree) -> Source:
    """The header file of an archive that is a directory.  Raises CLPS-101, 105 or 307 if there is none."""
    names = files_of(tree)
    if HEADER_FILE in names:
        return tree.source(HEADER_FILE)
    if not names:
        raise checks.BAD_MAGIC.error("a directory", span=Span(tree.name, 0, 0))
    if TIMESTAMP_FILE in names:
        raise checks.NO_HEADER_FILE.error(span=Span(TIMESTAMP_FILE, 0, 0))
    raise checks.MISSING_SECTION.error(HEADER_FILE, span=Span(HEADER_FILE, 0, 0), expected=HEADER_FILE)


class Container(RecordArchive):
    """Header, metadata section, and the sections as stored and decompressed.  Opening it reads the header only.

    `head` is the file that begins with header and metadata section: the archive itself, or `header` in a directory.
    """

    format = "clp-s"

    def __init__(self, source: Source | Tree, *, limits: Limits = DEFAULT_LIMITS) -> None:
        """Read the header.  Raises CLPS-102 if the compression is not zstd; propagates errors from `parse_header`."""
        super().__init__(source, limits=limits)
        keep_freed_memory()  # for the buffers of streams, which are allocated and freed again
        self.head: Source = source if isinstance(source, Source) else _header_file(source)
        where = self.head.span(0, min(HEADER_SIZE, self.head.size))
        self.header: Header = layout.parse_header(self.head.read_up_to(0, HEADER_SIZE), where)
        if self.header.compression_type != Compression.ZSTD:
            raise checks.BAD_COMPRESSION.error(
                span=where.sub(*HEADER_FIELDS.compression_type),
                field_path="compression_type",
                expected=int(Compression.ZSTD),
                actual=self.header.compression_type,
            )
        self._opened = [self.head] if isinstance(source, Tree) else []  # files to close
        # Read in advance: stored bytes, and decompressed payloads.  The next use takes them out.
        self._fetched: dict[StoredRange, bytes] = {}
        self._whole: dict[StoredRange, bytes] = {}
        self._frames: dict[StoredRange, FramedPayload | None] = {}  # see `shared_frames`
        # For a remote archive: whether `_fetch_structures` ran, and stored bytes and counts of dictionaries by name.
        self._has_fetched_structures = False
        self._small_dictionaries: dict[str, bytes] = {}
        self._heads: dict[str, bytes] = {}
        self._lock = threading.Lock()
        self._locks: dict[StoredRange | int, threading.Lock] = {}  # see `lock_of`

    @property
    def end(self) -> int:
        """End of the archive in its file: the offset that the header states, or an earlier end of the file.

        For a directory, the end of the files that are listed in `header`.
        """
        stated = self.header.files_base if isinstance(self.source, Tree) else self.header.archive_size
        return min(stated, self.head.size)

    def close(self) -> None:
        super().close()
        for source in self._opened:
            source.close()

    @property
    def cut(self) -> Finding | None:
        """The finding of rule CLPS-302 when the file ends before the archive does, else None; also None for a
        directory, each of whose files has an end of its own."""
        size = self.head.size
        if self.header.archive_size <= size or isinstance(self.source, Tree):
            return None
        return checks.FILE_TOO_SHORT.finding(
            span=self.head.span(size, size),
            field_path="header.len_archive",
            expected=counted(self.header.archive_size, "bytes"),
            actual=counted(size, "bytes"),
        )

    @cached_property
    def metadata_place(self) -> StoredRange:
        """Location of the compressed metadata section."""
        return StoredRange("metadata", self.head, HEADER_SIZE, self.header.files_base)

    @property
    def metadata_span(self) -> Span:
        """The span of the compressed metadata section."""
        return self.metadata_place.span

    @cached_property
    def metadata_payload(self) -> bytes:
        """The decompressed metadata section.  Raises CLPS-304, CLPS-309; of a directory, CLPS-302."""
        place = self.metadata_place
        if place.end > self.header.archive_size or (place.is_cut and not isinstance(self.source, Tree)):
            raise checks.BAD_METADATA_SIZE.error(
                span=self.head.span(*HEADER_FIELDS.len_metadata),
                field_path="header.len_metadata",
                expected=f"at most {max(0, self.end - HEADER_SIZE)}",
                actual=self.header.metadata_size,
            )
        data = bytes(self.inflate(place, limit="structure_size"))
        note_payload(place.span, len(data))
        return data

    @cached_property
    def packets(self) -> list[Packet]:
        """Metadata packets in file order, those of unknown type included.  Raises CLPS-305."""
        data = self.metadata_payload
        return layout.parse_packets(data, self.metadata_span.in_payload(0, len(data)))[0]

    def packets_of(self, kind: PacketType) -> list[Packet]:
        """The packets of one type."""
        return [packet for packet in self.packets if packet.type == kind]

    @cached_property
    def _file_list(self) -> tuple[list[StoredRange], dict[str, ExhumeError]]:
        """Return where each section is stored, and by name the problems of those that cannot be located."""
        for packet in self.packets_of(PacketType.ARCHIVE_INFO):
            places.check_segment_count(packet)
        listing = self.packets_of(PacketType.ARCHIVE_FILE_INFO)
        listed, problems = places.section_list(listing, self.header, self.head)
        if isinstance(self.source, Tree):
            listed, problems = in_directory(self.source, listed, problems, listing[0].span)
            self._opened += [place.source for place in listed]
        return listed, problems

    @property
    def files(self) -> list[StoredRange]:
        """The sections of the files part, in stored order, with their place; of a directory, those that are there.

        Raises CLPS-306, CLPS-313.
        """
        return self._file_list[0]

    @property
    def section_problems(self) -> Mapping[str, ExhumeError]:
        """Sections whose place makes no sense or whose file is missing or too long, and why."""
        return self._file_list[1]

    # -- sections -----------------------------------------------------------------------------------------------

    def file_entry(self, name: str) -> StoredRange:
        """The section of that name.  Raises CLPS-307 (missing), CLPS-308 (impossible place), CLPS-312 (too long)."""
        problems = self.section_problems
        for known in (name, "/tables") if name == "/0" else (name,):  # the oldest archives name it `/tables`
            if known in problems:
                raise problems[known]
            for place in self.files:
                if place.name == known:
                    return place
        raise checks.MISSING_SECTION.error(span=self.metadata_span, expected=name)

    def section_span(self, name: str) -> Span:
        """Span of a section."""
        return self.file_entry(name).span

    def fetched(self, place: StoredRange) -> bytes:
        """Return the stored bytes of a place: those that were read in advance (they are not kept), or read them now."""
        return self._fetched.pop(place, None) or place.read()

    def keep(self, place: StoredRange, payload: bytes) -> None:
        """Keep the decompressed payload of a place for the next call that needs it."""
        self._whole[place] = payload

    def lock_of(self, what: StoredRange | int) -> threading.Lock:
        """Return the lock to hold while decompressing a dictionary (by its place), or the stream of that number."""
        with self._lock:
            return self._locks.setdefault(what, threading.Lock())

    def shared_frames(self, place: StoredRange) -> FramedPayload | None:
        """The `FramedPayload` of a place, shared by all threads; None if it cannot be decompressed frame by frame.

        Propagates errors from reading.
        """
        if place not in self._frames:
            with self.lock_of(place):
                if place not in self._frames:
                    self._frames[place] = self.frames(place)
        return self._frames[place]

    def frames(self, place: StoredRange, size: int | None = None) -> FramedPayload | None:
        """A new `FramedPayload` of a place.  If there is none, the bytes that were read are kept for `inflate`.

        In a large local place, each frame is read when it is decompressed: allocating memory for all frames at once
        takes longer than reading them.  If the `size` of the payload is known from elsewhere, frames are searched for
        only as far as bytes are requested, and nothing is kept if there are none.  `most` limits the bytes in memory at
        once (so each frame), `every` those of all frames together.
        """
        most, every = self.limits.payload_size, self.limits.expansion_budget(place.size)
        if place.size > FRAME_WINDOWS[0] and not (place in self._fetched or place.is_cut or place.source.cost.wait):
            found = frames_at(lambda start, end: place.part(start, end).read(), place.size, most, size, most=every)
            if found is not None or size is not None:
                return found
        stored = self.fetched(place)
        found = frames_of(stored, most, every)
        if found is None:
            self._fetched[place] = stored
        return found

    def too_large(self, place: StoredRange, limit: str = "payload_size", size: int | None = None) -> ExhumeError:
        """Return the error of rule CLPS-501 for a place that decompresses to more than a limit allows in memory."""
        return checks.TOO_LARGE.error(
            f"{place.name} (raise the limit {limit} or expansion)",
            span=place.span,
            expected=f"at most {counted(getattr(self.limits, limit), 'bytes')}",
            actual=None if size is None else counted(size, "bytes"),
        )

    def inflate(self, place: StoredRange, size: int | None = None, *, limit: str = "payload_size") -> Buffer:
        """Decompress the zstd frames at a place; bytes after the frames are left to `verify`.

        The way depends on what is known: a payload from before, separate frames, a single frame of known or estimated
        size in one call, else frame by frame.  `size` is a hint for speed: it may be wrong.  `limit` names the limit.

        Raises CLPS-302 (past the end of the file), CLPS-309 (damaged frame), CLPS-501 (too large).
        """
        span, max_size = place.span, getattr(self.limits, limit)
        if place.is_cut:
            end = place.source.size
            raise checks.FILE_TOO_SHORT.error(
                span=place.source.span(end, end), expected=counted(place.end, "bytes"), actual=counted(end, "bytes")
            )
        # It may be decompressed already, or its frames may be known.
        whole = self._whole.pop(place, None)
        if whole is not None and len(whole) <= min(max_size, self.limits.payload_budget(place.size)):
            return whole
        frames = self._frames[place] if place in self._frames else self.frames(place)
        if frames is not None:
            if frames.size > max_size:
                raise self.too_large(place, limit, frames.size)
            with suppress(CodecError):  # reported below
                return frames.take()
        if place.size > 2 * max_size + FRAME_ROOM:  # not read: content is hardly ever smaller than its compressed form
            raise self.too_large(place, limit)
        # Two fast ways, for intact frames; for damaged ones, they return None, and the last way below names the fault.
        stored = self.fetched(place)
        if size is not None and size <= max_size:
            whole = zstd.zstd_sized(stored, size)
            if whole is not None:
                return whole
        cap = min(max_size, max(self.limits.expansion_floor, len(stored) * self.limits.expansion))
        whole = zstd.zstd_whole(stored, max_size=cap) if len(stored) >= 1 << 16 else None  # it takes 16 times as much
        if whole is not None:
            return whole
        try:
            return zstd.zstd_sound(stored, cap)
        except CodecError as error:
            raise checks.BAD_FRAME.error(error.message, span=span, actual=error.actual) from error
        except LimitExceededError as error:
            raise self.too_large(place, limit) from error

    def structure(self, name: str) -> tuple[bytes, Span]:
        """The decompressed payload of a section that is parsed as a whole, and its span."""
        if self.source.cost.wait and not self._has_fetched_structures:
            self._has_fetched_structures = True
            self._fetch_structures()
        entry = self.file_entry(name)
        data = bytes(self.inflate(entry, limit="structure_size"))
        note_payload(entry.span, len(data))
        return data, entry.span.in_payload(0, len(data))

    def _fetch_structures(self) -> None:
        """Read the stored bytes of all structures in one request, if they are small."""
        with suppress(ExhumeError):  # raised again when the damaged section is read
            places = [self.file_entry(name) for name in STRUCTURES]
            if sum(place.size for place in places) <= STRUCTURES_TOGETHER:
                self._fetched |= zip(places, read_together(places), strict=True)

    def dictionary(self, name: str) -> ClpsStrings:
        """Read a dictionary section.  Raises CLPS-350; propagates errors from `inflate`."""
        entry = self.file_entry(name)
        span = entry.span
        if entry.size < DICTIONARY_HEAD:
            raise checks.BAD_DICTIONARY.error(
                f"{name} has no count", span=span, expected=f"{DICTIONARY_HEAD} bytes", actual=entry.size
            )
        if entry.is_cut:
            self.inflate(entry)  # raises CLPS-302
        (count,) = NUM_ENTRIES.unpack(self.dictionary_head(entry))
        rest = entry.part(DICTIONARY_HEAD)
        frames = self.shared_frames(rest) if rest.size and rest not in self._whole else None
        if frames is not None and frames.is_small:
            with suppress(CodecError):  # reported below
                return self._strings(name, count, frames.view, frames.steps())
        with self.lock_of(rest):
            payload, steps = self.payload_in_file_or_memory(rest)
        return self._strings(name, count, payload, steps)

    def payload_in_file_or_memory(self, rest: StoredRange) -> tuple[Buffer, Iterable[int]]:
        """Return the decompressed entries of a dictionary, and the steps for `ClpsStrings`.

        Above the limit `payload_size` they are in a mapped temporary file.  Propagates errors from `inflate`.
        """
        most, limit = self.limits.expansion_budget(rest.size), self.limits.payload_size
        try:
            if rest.size <= limit < most and rest not in self._whole and self._frames.get(rest) is None:
                stored = self.fetched(rest)
                if frames_most(stored) > limit:  # so that it is decompressed only once, into the file
                    raise self.too_large(rest, "payload_size")
                self._fetched[rest] = stored  # for `inflate`
            return (self.inflate(rest) if rest.size else b""), ()
        except LimitExceededError:
            if most <= limit:
                raise
        from exhume.formats.clp_s.read.dictionaries import spilled_entries  # of large dictionaries only

        return spilled_entries(rest, most)

    def _strings(self, name: str, count: int, payload: Buffer, steps: Iterable[int] = ()) -> ClpsStrings:
        """Parse the entries of a dictionary; `steps` are for `ClpsStrings`.  Raises CLPS-350."""
        span = self.section_span(name)
        note_payload(span, len(payload))
        where = span.sub(DICTIONARY_HEAD, span.size).in_payload(0, len(payload))
        most = len(payload) // ENTRY.size
        if count > most:
            raise checks.BAD_DICTIONARY.error(
                f"{name} ends before its last entry",
                span=span.sub(0, DICTIONARY_HEAD),
                field_path="num_entries",
                expected=f"at most {most}",
                actual=count,
            )
        self.limits.check("entries", count, span)
        try:
            return ClpsStrings(payload, count, steps)
        except CodecError:  # raised by a step, see `ClpsStrings`
            raise
        except ValueError as error:
            index, at = error.args
            _, _, problem = layout.parse_dictionary(memoryview(payload)[at:], 1)
            assert problem is not None  # the kernel read the same
            raise checks.BAD_DICTIONARY.error(
                f"{name} ends inside entry {index}",
                span=where.sub(at + problem.offset, min(at + problem.stop, len(payload))),
                field_path=problem.path.replace("entries[0]", f"entries[{index}]"),
                expected=problem.expected,
                actual=problem.found,
            ) from error

    def dictionary_start(self, name: str, count: int) -> ClpsStrings | None:
        """Return the first entries of a dictionary, at least `count`, read without the rest.

        None if that would save little, or something is wrong: the caller then reads the whole dictionary.
        """
        entry = self.file_entry(name)
        size = DICTIONARY_START
        if entry.size <= LARGE_DICTIONARY or entry.is_cut or self.source.cost.wait:
            return None
        (stated,) = NUM_ENTRIES.unpack(entry.part(0, DICTIONARY_HEAD).read())
        if count > stated:
            return None
        while size * WORTHWHILE < entry.size and size <= self.limits.payload_size:
            payload = zstd.zstd_start(entry.part(DICTIONARY_HEAD, DICTIONARY_HEAD + size).read(), size)
            try:
                return ClpsStrings(payload, stated)
            except ValueError as error:
                held = error.args[0]  # number of complete entries in the payload so far
            if held >= count:
                return ClpsStrings(payload, held)
            # By the average size so far, the entries take too large a part of the section.
            if count * size > held * (entry.size // WORTHWHILE):
                return None
            size *= WORTHWHILE
        return None

    def dictionary_head(self, entry: StoredRange) -> bytes:
        """Return the head of a dictionary section: the first bytes, which are the number of its entries.

        A remote dictionary is read completely, in one request with the small dictionaries, and kept for `fetched`.
        """
        if not self.source.cost.wait:
            return entry.part(0, DICTIONARY_HEAD).read()
        with self._lock:
            if entry.name in self._heads:
                return self._heads[entry.name]
            stored = self._small_dictionaries.get(entry.name)
            if stored is None:
                others = [
                    other
                    for other in self.files
                    if other.name in DICTIONARIES and other != entry
                    and DICTIONARY_HEAD <= other.size <= SMALL_DICTIONARY
                    and other.name not in self.section_problems and not other.is_cut
                ]  # fmt: skip
                wanted = [entry, *(other for other in others if other.name not in self._small_dictionaries)]
                stored, *more = read_together(wanted)
                self._small_dictionaries.update(zip((one.name for one in wanted[1:]), more, strict=True))
            self._fetched[entry.part(DICTIONARY_HEAD)] = stored[DICTIONARY_HEAD:]
            head = self._heads[entry.name] = stored[:DICTIONARY_HEAD]
        return head
