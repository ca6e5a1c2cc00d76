"""The content of damaged and unclosed splits: lenient headers, displaced indexes, slots past the indexed count, and
messages checked one by one.

Nothing about a message is guessed: its time, channel and bytes come from one index entry, and its bytes have to match
the column and the schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from exhume.counts import counted
from exhume.errors import ExhumeError
from exhume.findings import Finding
from exhume.formats.ark.assumptions import UNUSED_INDEX_SLOTS_ARE_ZERO
from exhume.formats.ark.layout import (
    ENTRY_SIZE,
    HEADER_SIZE,
    HEADER_WINDOW,
    MAPPING_SIZE,
    MESSAGE_FOOTER_MAGIC,
    SplitHeader,
    TypeMapping,
    parse_index,
    read_header_by_place,
)
from exhume.formats.ark.manifest import Statistics
from exhume.formats.ark.messages import Decompressor, column_codec, decode_value
from exhume.formats.ark.query import message_span
from exhume.formats.ark.rbuf.decoder import decoder_for
from exhume.formats.ark.rbuf.layout import HEADERS
from exhume.formats.ark.splits import Array, Split
from exhume.io.source import Source

if TYPE_CHECKING:
    from exhume.formats.ark.reader import ArkReader, SplitReference

MAX_SLOTS: Final = 1 << 24
"""The most slots past the count that are examined (300 MB of index)."""

BATCH: Final = 4096


@dataclass(slots=True)
class Survey:
    """What was found in a split file: a header to go by, usable entries in time order, and what is lost."""

    split: Split
    entries: Array
    more: int = 0
    """How many of them no index counted."""
    lost: list[tuple[Any, Finding]] = field(default_factory=list)
    """Entries that stand for nothing usable, and why."""
    uncounted_loss: int = 0
    """Messages that the header counts and whose entries are not there."""
    notes: list[str] = field(default_factory=list)
    unchecked: frozenset[str] = frozenset()
    """Objects whose messages are bytes that nothing can check: no codec to unpack, no schema to decode with."""

    @property
    def index_end(self) -> int:
        """Where the header and the index with its unused slots end."""
        header = self.split.header
        first = int(self.entries["ofs_data"].min(initial=(1 << 32) - 1))
        return max(header.size, min(first, header.index_offset + header.maximum_count * ENTRY_SIZE))

    @property
    def is_whole(self) -> bool:
        """Whether the file can be used as it is."""
        return not (self.more or self.lost or self.uncounted_loss or self.notes)


def statistics_of(header: SplitHeader, entries: Array) -> tuple[Statistics, ...]:
    """What a manifest says about a split with these entries, which are in time order."""
    found = []
    for mapping in header.mappings:
        mine = entries[entries["object_identifier"] == mapping.short]
        if len(mine):
            time, total = mine["timestamp_ns"], int(mine["len_data"].sum(dtype=np.int64))
            found.append(Statistics(mapping.identifier, len(mine), total, int(time[0]), int(time[-1])))
    return tuple(found)


def survey_split(reader: ArkReader, reference: SplitReference, source: Source, *, deep: bool) -> Survey:
    """Everything usable in a split file; `deep` also decompresses and decodes every message.

    Raises the error of the broken rule when the file has no usable header at all.
    """
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
    good, lost = _sift(reader, reference, split, listed, deep=deep)
    # Only behind a count that can be true do uncounted slots follow.
    more = unindexed_entries(reader, reference, split) if not uncounted else listed[:0]
    entries = np.concatenate([good, more])
    if bool(np.any(good["timestamp_ns"][1:] < good["timestamp_ns"][:-1])):
        notes.append("the index was not in time order")
    entries = entries[np.argsort(entries["timestamp_ns"], kind="stable")]
    check = MessageCheck(reader, reference, split)
    names = {mapping.short: mapping.identifier for mapping in split.header.mappings}
    unchecked = frozenset(
        names[short] for short in np.unique(entries["object_identifier"]).tolist() if not check.proves(short)
    )
    return Survey(split, entries, len(more), lost, uncounted, notes, unchecked)


def lenient_header(source: Source, reference: SplitReference) -> SplitHeader | None:
    """A header read by position alone: marks and versions are not looked at.

    Mappings are taken while they name objects that the column declares (a damaged count does not matter).  None when no
    mapping fits: then this is not a split of that column.
    """
    head = source.read_up_to(0, HEADER_WINDOW)
    if len(head) < HEADER_SIZE + MAPPING_SIZE:
        return None
    said = read_header_by_place(head)
    mappings: list[TypeMapping] = []
    shorts: set[int] = set()
    for mapping in said.mappings:
        if mapping.identifier not in reference.channels or mapping.short in shorts:
            break
        shorts.add(mapping.short)
        mappings.append(mapping)
    if not mappings:
        return None
    return said._replace(mappings=tuple(mappings), size=HEADER_SIZE + MAPPING_SIZE * len(mappings))


def _listed(split: Split, reference: SplitReference, notes: list[str]) -> tuple[Array, int]:
    """The entries that the header counts, wherever they are, and how many of them are not in the file."""
    header, size = split.header, split.source.size
    found = _index_at(split, header.index_offset, header.item_count)
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
    # Entries are those that fit, up to the first that does not.  A count that reaches over messages, or outside the
    # file, is wrong where the index has no room for it: then it does not say how many are lost.
    fits = _fits(split, reference, found)
    wrong = np.flatnonzero(~fits)
    kept = found[: int(wrong[0])] if len(wrong) else found
    notes.append(
        f"the header counts {counted(header.item_count, 'messages')}, the index has {counted(len(kept), 'entries')}"
    )
    split.header = split.header._replace(item_count=len(kept))
    lies = len(kept) < len(found) and header.item_count > header.maximum_count
    return kept, 0 if lies else header.item_count - len(kept)


def _index_at(split: Split, offset: int, count: int) -> Array:
    """Up to `count` entries at an offset, as many as the file has."""
    header, size = split.header, split.source.size
    if offset < header.size or offset >= size:
        return parse_index(b"")
    count = min(count, (size - offset) // ENTRY_SIZE)
    return parse_index(split.source.read_at(offset, count * ENTRY_SIZE))


def _plausible(split: Split, reference: SplitReference, entries: Array) -> bool:
    """Whether entries look like an index: nearly all of them fit."""
    return bool(len(entries)) and int(_fits(split, reference, entries).sum()) * 2 > len(entries)


def _fits(split: Split, reference: SplitReference, entries: Array) -> Array:
    """Entries that name a declared object and bytes behind the header and inside the file."""
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


def _sift(
    reader: ArkReader, reference: SplitReference, split: Split, entries: Array, *, deep: bool
) -> tuple[Array, list[tuple[Any, Finding]]]:
    """Entries that stand for messages, and the others with the reason."""
    fits = _fits(split, reference, entries)
    lost: list[tuple[Any, Finding]] = []
    for position in np.flatnonzero(~fits).tolist():
        _, offset, size, short, _ = entries[position].item()
        lost.append((entries[position], Finding.from_error(split.entry_error(position, offset, size, short))))
    if deep:
        for position, error in _damaged(reader, reference, split, entries, np.flatnonzero(fits)):
            fits[position] = False
            lost.append((entries[position], Finding.from_error(error, unread=True)))
    return entries[fits], lost


def _damaged(
    reader: ArkReader, reference: SplitReference, split: Split, entries: Array, positions: Array
) -> Iterator[tuple[int, ExhumeError]]:
    """Positions of messages that do not decompress or decode."""
    check = MessageCheck(reader, reference, split)
    for start in range(0, len(positions), BATCH):
        chosen = positions[start : start + BATCH]
        while len(chosen):
            sizes = entries["len_data"][chosen].astype(np.int64)
            count = max(1, int(np.searchsorted(np.cumsum(sizes), 32 << 20, side="right")))
            part, chosen = chosen[:count], chosen[count:]
            stored = split.read_messages(entries["ofs_data"][part].astype(np.int64), sizes[:count])
            for position, data in zip(part.tolist(), stored, strict=True):
                error = check.error(entries[position], data)
                if error is not None:
                    yield position, error


class MessageCheck:
    """Whether stored bytes are a message of their channel, as far as that can be told."""

    def __init__(self, reader: ArkReader, reference: SplitReference, split: Split) -> None:
        self._split = split
        self._channels = {
            mapping.short: reference.channels[mapping.identifier]
            for mapping in split.header.mappings
            if mapping.identifier in reference.channels
        }
        try:
            self._codec = column_codec(reference.column.compression)
        except ExhumeError:
            self._codec = ""
        self._unpack = Decompressor(self._codec, reader.limits) if self._codec not in ("", "none") else None
        self._decoders: dict[int, Any] = {}
        for short, channel in self._channels.items():
            try:
                registry = channel.declaration.registry
                self._decoders[short] = decoder_for(registry, channel.type) if registry is not None else None
            except ExhumeError:
                self._decoders[short] = None  # a registry that is damaged says nothing about the message

    def error(self, entry: Any, data: bytes) -> ExhumeError | None:
        """What is wrong with the stored bytes of an entry; None when nothing is."""
        offset, size, short = int(entry["ofs_data"]), int(entry["len_data"]), int(entry["object_identifier"])
        span = self._split.source.span(offset, offset + size)
        try:
            message = self._unpack.decode(data, lambda: span) if self._unpack is not None else data
            decoder = self._decoders.get(short)
            if decoder is not None:
                decode_value(decoder, message, lambda: message_span(self._split, offset, size, message, self._codec))
        except ExhumeError as error:
            return error
        return None

    def proves(self, short: int) -> bool:
        """Whether a message of that object that is not whole would be noticed."""
        return self._unpack is not None or self._decoders.get(short) is not None

    def looks_whole(self, entry: Any, data: bytes) -> bool:
        """The same for entries that no index counts: where a schema is missing, at least the framing must fit."""
        if self.error(entry, data) is not None:
            return False
        short = int(entry["object_identifier"])
        if self._unpack is not None:
            return data[-1] == MESSAGE_FOOTER_MAGIC
        return self._decoders.get(short) is not None or data[0] in HEADERS


def unindexed_entries(reader: ArkReader, reference: SplitReference, split: Split) -> Array:
    """Index entries past the indexed count that stand for whole messages.

    An entry is taken while its time is not 0 (unused slots are), its object is mapped and declared, its message lies
    behind the header and inside the file, apart from the index area, and its bytes are what its column promises: a
    compression footer that decompresses, or an object that decodes.  The first slot that fails ends the search, and the
    last entry is left out when it may have been cut within.
    """
    header, size = split.header, split.source.size
    start = header.index_offset + header.item_count * ENTRY_SIZE
    room = (size - start) // ENTRY_SIZE if start < size else 0
    count = min(max(0, header.maximum_count - header.item_count), room, MAX_SLOTS)
    if count <= 0 or header.index_offset < header.size:
        return parse_index(b"")
    slots = split.read_index(header.item_count, header.item_count + count)
    fits = _fits(split, reference, slots)
    if UNUSED_INDEX_SLOTS_ARE_ZERO:
        fits &= slots["timestamp_ns"] > 0
    wrong = np.flatnonzero(~fits)
    limit = int(wrong[0]) if len(wrong) else count
    check = MessageCheck(reader, reference, split)
    taken = 0
    while taken < limit:
        entry = slots[taken]
        offset, stored = int(entry["ofs_data"]), int(entry["len_data"])
        if start > offset >= header.index_offset or not check.looks_whole(entry, split.source.read_at(offset, stored)):
            break
        taken += 1
    return slots[: taken - 1] if taken and _may_be_torn(split, check, slots, taken) else slots[:taken]


def _may_be_torn(split: Split, check: MessageCheck, slots: Array, taken: int) -> bool:
    """Whether the last of the entries that were taken may have been cut while it was written.

    Without its last two bytes it reads as an entry of object 0, which is another message when there are other objects,
    and perhaps a shorter one when nothing can decode it.
    """
    last = slots[taken - 1]
    if last["object_identifier"] or last["flags"] or (taken < len(slots) and any(slots[taken].tobytes())):
        return False
    return len(split.header.mappings) > 1 or not check.proves(int(last["object_identifier"]))


def untimed_messages(
    reader: ArkReader, reference: SplitReference, source: Source, start: int
) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Messages of an uncompressed split without a usable index: `(offset, end, value)`, one after another.

    Only where the column has one type: objects delimit themselves, but nothing says when they were logged or which of
    several types they are.  Ends at the first bytes that do not decode.
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
        if end == at:
            return
        yield start + at, start + end, value
        at = end
