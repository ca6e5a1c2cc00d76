"""What lies past the indexed count of a split whose writer was stopped.

Writers that pre-allocate the index leave entries there that the header does not count yet.  Each is believed only if
everything about it fits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from exhume.errors import ExhumeError
from exhume.formats.ark.assumptions import UNUSED_INDEX_SLOTS_ARE_ZERO
from exhume.formats.ark.layout import ENTRY_SIZE, INDEX_DTYPE, MESSAGE_FOOTER_MAGIC
from exhume.formats.ark.messages import Decompressor, column_codec, decode_value
from exhume.formats.ark.splits import Array, Split

if TYPE_CHECKING:
    from exhume.formats.ark.reader import ArkReader, SplitReference

MAX_SLOTS: Final = 1 << 24
"""Slots past the count that are looked at (300 MB of index)."""


def unindexed_entries(reader: ArkReader, reference: SplitReference, split: Split) -> Array:
    """Index entries past the indexed count that stand for whole messages.

    An entry is taken while its time is not 0 (unused slots are), its object is mapped and declared, its message lies
    behind the header and inside the file, apart from the index area, and its bytes are what its column promises: a
    compression footer that decompresses, or an object that decodes.  The first slot that fails ends the search.
    """
    header, size = split.header, split.source.size
    start = header.index_offset + header.item_count * ENTRY_SIZE
    room = (size - start) // ENTRY_SIZE if start < size else 0
    count = min(max(0, header.maximum_count - header.item_count), room, MAX_SLOTS)
    if count <= 0 or header.index_offset < header.size:
        return np.zeros(0, INDEX_DTYPE)
    area_end = header.index_offset + header.maximum_count * ENTRY_SIZE
    known = np.zeros(256, np.bool_)
    for mapping in header.mappings:
        known[mapping.short] = mapping.identifier in reference.channels
    slots = split.read_index(header.item_count, header.item_count + count)
    offset, stored = slots["offset"].astype(np.int64), slots["size"].astype(np.int64)
    fits = (
        known[slots["object"]]
        & (stored > 0)
        & (offset >= header.size)
        & (offset + stored <= size)
        & ((offset >= min(area_end, size)) | (offset + stored <= header.index_offset))
    )
    if UNUSED_INDEX_SLOTS_ARE_ZERO:
        fits &= slots["time"] > 0
    wrong = np.flatnonzero(~fits)
    limit = int(wrong[0]) if len(wrong) else count
    taken = 0
    while taken < limit and _is_message(reader, reference, split, slots[taken]):
        taken += 1
    return slots[:taken]


def _is_message(reader: ArkReader, reference: SplitReference, split: Split, entry: Array) -> bool:
    offset, size = int(entry["offset"]), int(entry["size"])
    data = split.source.read_at(offset, size)
    short = int(entry["object"])
    identifier = next(each.identifier for each in split.header.mappings if each.short == short)
    channel = reference.channels[identifier]
    try:
        codec = column_codec(reference.column.compression)
        if codec != "none":
            if data[-1] != MESSAGE_FOOTER_MAGIC:
                return False
            data = Decompressor(codec, reader.limits).decode(data, lambda: split.source.span(offset, offset + size))
        registry = channel.declaration.registry
        if registry is not None:
            decode_value(registry.decoder(channel.type), data, lambda: split.source.span(offset, offset + size))
    except ExhumeError:
        return False
    return True


def usable_entries(split: Split, entries: Array, reference: SplitReference) -> Array:
    """The entries of an index that name a declared object and bytes inside the file."""
    known = np.zeros(256, np.bool_)
    for mapping in split.header.mappings:
        known[mapping.short] = mapping.identifier in reference.channels
    offset, size = entries["offset"].astype(np.int64), entries["size"].astype(np.int64)
    good: Array = entries[known[entries["object"]] & (size > 0) & (offset + size <= split.source.size)]
    return good
