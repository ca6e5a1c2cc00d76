"""The content of damaged and unclosed splits: lenient headers, displaced indexes, slots past the indexed count, and
messages checked one by one.

Nothing about a message is guessed: its time, channel and bytes come from one index entry, and its bytes have to match
the column and the schema.

A split is a file of messages: a header, which maps short identifiers (one byte) to objects (channels), an index with
reserved slots, and the messages.  A writer that was stopped has filled slots without counting them in the header; such
a split is unclosed.  A reference is the mention of a split in the manifest, where its column has codec and channels.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from exhume.counts import counted
from exhume.errors import ExhumeError
from exhume.findings import Finding
from exhume.formats.ark.kernel import ark_entries, ark_portions, ark_scan, ark_statistics
from exhume.formats.ark.layout import (
    ENTRY_SIZE,
    HEADER_SIZE,
    HEADER_WINDOW,
    MAPPING_SIZE,
    SplitHeader,
    TypeMapping,
    parse_index,
    read_header_by_place,
)
from exhume.formats.ark.manifest import Statistics
from exhume.formats.ark.messages import column_codec
from exhume.formats.ark.parallel_query import CHUNK_BYTES, CHUNK_MESSAGES, is_packed, is_reopenable, map_pieces
from exhume.formats.ark.rbuf.decoder import decoder_for
from exhume.formats.ark.splits import ANY_OBJECT, TIME_MAX, Array, ObjectStatistics, Split, places_of
from exhume.formats.ark.unindexed import MAX_SLOTS, MessageCheck, num_unindexed
from exhume.formats.ark.verify import check_statistics
from exhume.io.parallel import map_ordered
from exhume.io.source import Source
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.formats.ark.log import SplitReference
    from exhume.formats.ark.reader import ArkArchive


@dataclass(slots=True)
class SplitSurvey:
    """The result of reading a split file: a usable header, usable entries in time order, and the losses."""

    split: Split
    entries: Array
    more: int = 0
    """Number of these entries that no index counted."""
    lost: list[tuple[Any, Finding]] = field(default_factory=list)
    """Entries that stand for nothing usable, with the reason."""
    uncounted_loss: int = 0
    """Messages that the header or the manifest counts but whose entries are missing."""
    notes: list[str] = field(default_factory=list)
    unchecked: frozenset[str] = frozenset()
    """Objects whose messages are bytes that nothing can check: no codec to unpack, no schema to decode with."""
    unlike_manifest: list[Finding] = field(default_factory=list)
    """Differences between the index of a split without damage and the manifest's statistics of it."""

    @property
    def num_lost(self) -> int:
        """Messages that are lost: those of unusable entries, and others that the header or the manifest counts."""
        return len(self.lost) + self.uncounted_loss

    @property
    def index_span(self) -> tuple[int, int]:
        """Where the entries start and end that the header counts; empty if they are not most of those that are usable.

        (An offset that is damaged names bytes that are no index.)
        """
        header = self.split.header
        is_index = len(self.entries) * 2 > header.item_count
        return header.index_offset, header.index_end if is_index else header.index_offset

    @property
    def index_end(self) -> int:
        """Where the header and the index with its unused slots end."""
        header = self.split.header
        first = int(self.entries["ofs_data"].min(initial=(1 << 32) - 1))  # without entries: any slot is before it
        return max(header.size, min(first, header.index_offset + header.maximum_count * ENTRY_SIZE))

    @property
    def is_whole(self) -> bool:
        """Whether the file can be used as it is (the manifest may count more messages)."""
        return not (self.more or self.lost or self.notes)


def statistics_of(header: SplitHeader, entries: Array) -> tuple[Statistics, ...]:
    """The statistics in a manifest for a split with these entries."""
    found = {short: rest for short, *rest in ark_statistics(entries.tobytes(), 0, TIME_MAX)}
    names = ((mapping.identifier, mapping.short) for mapping in header.mappings)
    return tuple(Statistics(identifier, *found[short]) for identifier, short in names if short in found)


def _unlike_manifest(reader: ArkArchive, reference: SplitReference, survey: SplitSurvey) -> list[Finding]:
    """The differences between the manifest's statistics of a split and its usable entries."""
    names = {mapping.short: mapping.identifier for mapping in survey.split.header.mappings}
    rows = ark_statistics(survey.entries.tobytes(), 0, TIME_MAX)
    return [*check_statistics(reader, reference, {names[short]: ObjectStatistics(*rest) for short, *rest in rows})]


class Listing(NamedTuple):
    """The statements of a split's header and index: a usable header, entries, and which of them can be messages."""

    split: Split
    entries: Array
    fits: Array
    """For each entry, whether it can be a message; see `_usable_entries`."""
    uncounted: int
    """Messages that the header counts but whose entries are missing."""
    notes: list[str]
    """Problems of header and index, for people."""


def list_split(reference: SplitReference, source: Source) -> Listing:
    """List the entries of an opened split file.  Raises the error of the broken rule if it has no usable header."""
    notes: list[str] = []
    try:
        split = Split(source, reference.identifier)
    except ExhumeError as error:
        header = lenient_header(source, reference)
        if header is None:
            raise
        notes.append(error.message)
        split = Split(source, facts=None, header=header)
    listed, uncounted = _listed(split, reference, notes)
    if split.header.index_offset > source.size:
        notes.append("the file ends before its index")
    if any(mapping.identifier not in reference.channels for mapping in split.header.mappings):
        notes.append("the header maps an object that its column does not declare")
    return Listing(split, listed, _usable_entries(split, reference, listed), uncounted, notes)


def survey_split(
    reader: ArkArchive, reference: SplitReference, listing: Listing, damaged: Iterable[tuple[int, ExhumeError]] = ()
) -> SplitSurvey:
    """Everything usable in a split; `damaged` are positions of messages that do not decompress or decode, with why."""
    split, listed, fits, uncounted, notes = listing
    lost: list[tuple[Any, Finding]] = []
    for position in np.flatnonzero(~fits).tolist():
        _, offset, size, short, _ = listed[position].item()
        lost.append((listed[position], Finding.from_error(split.entry_error(position, offset, size, short))))
    for position, error in damaged:
        fits[position] = False
        lost.append((listed[position], Finding.from_error(error, unread=True)))  # also for a disk that cannot be read
    good = listed if fits.all() else listed[fits]
    # Slots after the counted ones may have messages, too; they are searched only if the stated count can be true.
    slots = 0 if uncounted else num_unindexed(reader, reference, split)
    count = split.header.item_count
    unindexed = split.read_index(count, count + slots) if slots else listed[:0]
    entries = np.concatenate([good, unindexed]) if slots else good
    if not _is_sorted(good):
        notes.append("the index was not in time order")
    if not _is_sorted(entries):
        entries = entries[np.argsort(entries["timestamp_ns"], kind="stable")]
    unchecked = _unchecked(MessageCheck(reader, reference, split), split, entries)
    uncounted = max(uncounted, reference.declaration.stated_count - len(entries) - len(lost))
    survey = SplitSurvey(split, entries, len(unindexed), lost, uncounted, notes, unchecked)
    if survey.is_whole:
        survey.unlike_manifest += _unlike_manifest(reader, reference, survey)
    return survey


def _unchecked(check: MessageCheck, split: Split, entries: Array) -> frozenset[str]:
    """The objects of these entries whose messages nothing can check; see `SplitSurvey.unchecked`."""
    names = {mapping.short: mapping.identifier for mapping in split.header.mappings}
    shorts = np.flatnonzero(np.bincount(entries["object_identifier"])).tolist()
    return frozenset(names[short] for short in shorts if not check.proves(short))


def _is_sorted(entries: Array) -> bool:
    """Whether the times of index entries ascend."""
    return not len(entries) or ark_scan(entries.tobytes(), 0)[0]


class SplitFile(NamedTuple):
    """A split in a salvage: its file, and what is usable in it; or the error that says why there is nothing."""

    source: Source | None
    survey: SplitSurvey | None
    error: ExhumeError | None


def survey_splits(reader: ArkArchive, references: Sequence[SplitReference], jobs: int) -> Iterator[SplitFile]:
    """Everything usable in each of several splits, in order; `jobs` decompress and decode all messages.

    They are threads where no column is compressed, otherwise processes.  The caller closes the files.
    """
    begun: deque[tuple[Source | None, Listing | ExhumeError]] = deque()  # splits whose parts were handed out
    # Decompressing messages takes turns at the interpreter; the kernel, which checks those of a type, does not.
    shared = jobs if is_reopenable(reader) else 1
    share = map_pieces if is_packed(reader) else map_ordered
    checked = share(_MessageChecker(reader, list(references)), _all_parts(reader, references, begun), shared)
    try:
        for reference in references:
            damaged: list[tuple[int, ExhumeError]] = []
            failure = None
            for part in checked:  # results of parts, in order: those of this split, up to its last
                damaged += part.damaged
                failure = failure or part.failure
                if part.is_last:
                    break
            source, listing = begun.popleft()
            if isinstance(listing, ExhumeError):
                yield SplitFile(source, None, listing)
            elif failure is not None:
                yield SplitFile(source, None, failure)
            else:
                yield _surveyed(reader, reference, source, listing, damaged)
    finally:
        for source, _ in begun:
            if source is not None and source is not reader.single_split:
                source.close()


def _surveyed(
    reader: ArkArchive,
    reference: SplitReference,
    source: Source | None,
    listing: Listing,
    damaged: list[tuple[int, ExhumeError]],
) -> SplitFile:
    """Return the survey of a split whose messages were checked, or its error; see `survey_split`."""
    try:
        return SplitFile(source, survey_split(reader, reference, listing, damaged), None)
    except ExhumeError as error:
        return SplitFile(source, None, error)


def _all_parts(
    reader: ArkArchive, references: Sequence[SplitReference], begun: deque[tuple[Source | None, Listing | ExhumeError]]
) -> Iterator[_Part]:
    """Open each split, add it to `begun`, and yield its parts; one that cannot be opened has one without a header."""
    for number, reference in enumerate(references):
        source = None
        try:
            source = reader.split_source(reference.identifier)
            listing = list_split(reference, source)
        except ExhumeError as error:
            begun.append((source, error))
            yield _Part(number, True, None, b"", ())
            continue
        begun.append((source, listing))
        yield from _parts(number, listing, min(CHUNK_BYTES, reader.limits.payload_size))


class _Part(NamedTuple):
    """Messages of split `number` that are checked at a time: their entries and positions.  The last part has none."""

    number: int
    is_last: bool
    header: SplitHeader | None
    entries: bytes
    positions: Sequence[int]


class _MessageFaults(NamedTuple):
    """The faults of the messages of a part, by position in the index; or the error that prevents reading them."""

    is_last: bool
    damaged: list[tuple[int, ExhumeError]]
    failure: ExhumeError | None


def _parts(number: int, listing: Listing, most: int) -> Iterator[_Part]:
    """Divide the fitting entries of a split into parts of bounded count, of `most` bytes; an empty part ends it."""
    for start in range(0, len(listing.entries), CHUNK_MESSAGES):
        entries, fits = (rows[start : start + CHUNK_MESSAGES] for rows in (listing.entries, listing.fits))
        positions: Sequence[int] = range(start, start + len(entries))
        if not fits.all():
            entries, positions = entries[fits], (np.flatnonzero(fits) + start).tolist()
        _, sizes = places_of(entries)
        for first, stop in ark_portions(sizes, most):
            yield _Part(number, False, listing.split.header, entries[first:stop].tobytes(), positions[first:stop])
    yield _Part(number, True, None, b"", ())


class _MessageChecker:
    """Decompresses and decodes the messages of parts; picklable."""

    def __init__(self, reader: ArkArchive, references: list[SplitReference]) -> None:
        self._reader, self._references = reader, references

    def __call__(self, part: _Part) -> _MessageFaults:
        """Return the messages of `part` that are damaged: (position in the index, error) each."""
        if part.header is None:  # the end of a split, or one that cannot be opened
            return _MessageFaults(part.is_last, [], None)
        reference = self._references[part.number]
        source = self._reader.split_source(reference.identifier)
        damaged: list[tuple[int, ExhumeError]] = []
        try:
            split = Split(source, header=part.header)
            check = MessageCheck(self._reader, reference, split)
            _, _, offsets, sizes, shorts, _ = ark_entries(part.entries, source.size, ANY_OBJECT, ANY_OBJECT)
            damaged += [(part.positions[number], error) for number, error in check.errors(offsets, sizes, shorts)]
        except ExhumeError as error:
            return _MessageFaults(part.is_last, damaged, error)
        finally:
            if source is not self._reader.single_split:
                source.close()
        return _MessageFaults(part.is_last, damaged, None)


def lenient_header(source: Source, reference: SplitReference) -> SplitHeader | None:
    """A header read by position alone: marks and versions are not examined.

    Mappings are taken as long as they name objects that the column declares (a damaged count does not matter).  None
    when no mapping fits, because then this is not a split of that column.
    """
    head = source.read_up_to(0, HEADER_WINDOW)
    if len(head) < HEADER_SIZE + MAPPING_SIZE:
        return None
    stated = read_header_by_place(head)
    mappings: list[TypeMapping] = []
    shorts: set[int] = set()
    for mapping in stated.mappings:
        if mapping.identifier not in reference.channels or mapping.short in shorts:
            break
        shorts.add(mapping.short)
        mappings.append(mapping)
    if not mappings:
        return None
    return stated._replace(mappings=tuple(mappings), size=HEADER_SIZE + MAPPING_SIZE * len(mappings))


def _listed(split: Split, reference: SplitReference, notes: list[str]) -> tuple[Array, int]:
    """The entries that the header counts, wherever they are, and how many of them are not in the file.

    Problems are added to `notes`, and the header of `split` is corrected.
    """
    header, size = split.header, split.source.size
    found = _index_at(split, header.index_offset, header.item_count)
    # If the index is not at its stated offset, try where writers put it: after a header of whole kilobytes, or at the
    # end of the file.
    if header.item_count and not _plausible(split, reference, found):
        tail = size - header.item_count * ENTRY_SIZE
        for candidate in [*range(1024, HEADER_WINDOW + 1, 1024), tail]:
            if candidate >= header.size and candidate != header.index_offset:
                other = _index_at(split, candidate, min(header.item_count, MAX_SLOTS))
                if _plausible(split, reference, other):
                    origin = split.source.origin
                    notes.append(f"the index is at offset {origin + candidate}, not at {origin + header.index_offset}")
                    split.header = header._replace(index_offset=candidate)
                    found = other
                    break
    missing = header.item_count - len(found)
    if not missing:
        return found, 0
    # Entries up to the first that does not fit are kept.  The header counts more; the others are lost, unless the count
    # is damaged itself: it exceeds the slots of the index (`maximum_count`), and other bytes follow the entries.  Then
    # it does not state how many are lost, and 0 is returned.  `header` is still the one that was read.
    fits = _usable_entries(split, reference, found)
    wrong = np.flatnonzero(~fits)
    kept = found[: int(wrong[0])] if len(wrong) else found
    notes.append(
        f"the header counts {counted(header.item_count, 'messages')}, the index has {counted(len(kept), 'entries')}"
    )
    split.header = split.header._replace(item_count=len(kept))
    is_wrong = len(kept) < len(found) and header.item_count > header.maximum_count
    return kept, 0 if is_wrong else header.item_count - len(kept)


def _index_at(split: Split, offset: int, count: int) -> Array:
    """Up to `count` entries at an offset, as many as the file has."""
    header, size = split.header, split.source.size
    if offset < header.size or offset >= size:
        return parse_index(b"")
    count = min(count, (size - offset) // ENTRY_SIZE)
    return parse_index(split.source.read_at(offset, count * ENTRY_SIZE))


def _plausible(split: Split, reference: SplitReference, entries: Array) -> bool:
    """Whether entries look like an index: more than half of them fit."""
    return bool(len(entries)) and int(_usable_entries(split, reference, entries).sum()) * 2 > len(entries)


def _usable_entries(split: Split, reference: SplitReference, entries: Array) -> Array:
    """Entries that name a declared object, and bytes after the header and inside the file."""
    known = np.zeros(256, np.bool_)
    for mapping in split.header.mappings:
        known[mapping.short] = mapping.identifier in reference.channels
    offset, size = entries["ofs_data"].astype(np.int64), entries["len_data"].astype(np.int64)
    fits: Array = (
        known[entries["object_identifier"]]
        & (size > 0)
        & (offset >= split.header.size)
        & (offset + size <= split.source.size)
    )
    return fits


UNTIMED = "untimed"
"""The folder with messages without times, in JSON lines, next to a log that was salvaged."""


def untimed_messages(
    reader: ArkArchive, reference: SplitReference, source: Source, start: int
) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Messages of an uncompressed split without a usable index: `(offset, end, value)`, in order.

    This works only if the column has one type: objects delimit themselves, but have neither a time nor a type of their
    own.  Ends at the first bytes that do not decode.
    """
    types = {(channel.type, channel.declaration.schema_registry) for channel in reference.channels.values()}
    try:
        if len(types) != 1 or column_codec(reference.column.compression) != "none":
            return
        channel = next(iter(reference.channels.values()))
        registry = channel.declaration.registry
        if registry is None:
            return
        decoder = decoder_for(registry, channel.type)
    except ExhumeError:
        return
    reader.limits.check("structure_size", source.size - start, source.span(start, source.size))
    data = source.read_at(start, source.size - start)
    at = 0
    while at < len(data):
        try:
            value, end = decoder.decode_prefix(data, at)
        except ExhumeError:
            return
        if end == at:  # an object of a final type without fields takes no bytes
            return
        yield start + at, start + end, value
        at = end
