"""Messages after the indexed count of a split whose writer was stopped, and how to tell a message from other bytes.

A split is a file of messages with an index of reserved slots; its header counts the slots in use.  A writer fills a
slot before it counts it.  An entry has time, offset, size and short identifier, which stands for an object (channel).

Spec: ark_log.txt, Split File Format.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from exhume.errors import ExhumeError, LimitExceededError
from exhume.findings import Finding
from exhume.formats.ark.assumptions import UNUSED_INDEX_SLOTS_ARE_ZERO
from exhume.formats.ark.kernel import RbufProgram, ark_check
from exhume.formats.ark.layout import ENTRY_SIZE, MESSAGE_FOOTER_MAGIC, iter_entries
from exhume.formats.ark.messages import Decompressor, column_codec, decode_value, large_message, message_span
from exhume.formats.ark.rbuf.decoder import Decoder, decoder_for
from exhume.formats.ark.rbuf.layout import HEADERS
from exhume.formats.ark.rbuf.program import program_for
from exhume.formats.ark.rbuf.streamed import check_value
from exhume.formats.ark.rbuf.wire import Note
from exhume.formats.ark.splits import Split

if TYPE_CHECKING:
    from exhume.formats.ark.log import ArkLog, SplitReference
    from exhume.formats.ark.pykernel import Numbers

MAX_SLOTS: Final = 1 << 24
"""The most slots past the count that are examined: 300 MB of index, which is read as a whole."""


class MessageCheck:
    """Checks whether stored bytes are a message of their channel, as far as that can be determined.

    Messages of an unknown codec pass, because nothing about them can be checked.
    """

    def __init__(self, reader: ArkLog, reference: SplitReference, split: Split) -> None:
        """Prepare the codec and a decoder for each channel of `split`.

        A channel whose registry is missing or damaged, or whose codec is unknown, has no decoder: its messages are not
        decoded.
        """
        self._reader, self._split, self._identifier = reader, split, reference.identifier
        self.most: int = reader.limits.payload_size
        """Bytes of a message that may be in memory."""
        self._channels = {
            mapping.short: reference.channels[mapping.identifier]
            for mapping in split.header.mappings
            if mapping.identifier in reference.channels
        }
        try:
            self._codec = column_codec(reference.column.compression)
        except ExhumeError:
            self._codec = ""  # unknown
        self._unpack = Decompressor(self._codec, reader.limits) if self._codec not in ("", "none") else None
        # By short identifier; None: the message is not decoded.  A program is a type compiled for the kernel.
        self._decoders: dict[int, Any] = {}
        self._programs: list[RbufProgram | None] = [None] * 256
        readable = self._channels if self._codec else {}  # an unknown codec hides what a schema is about
        for short, channel in readable.items():
            try:
                registry = channel.declaration.registry
                self._decoders[short] = decoder_for(registry, channel.type) if registry is not None else None
                if registry is not None:
                    self._programs[short] = program_for(registry, channel.type)
            except ExhumeError:
                self._decoders[short] = None  # a registry that is damaged says nothing about the message

    def findings(self, offsets: Numbers, sizes: Numbers, shorts: bytes) -> Iterator[Finding]:
        """Faults of messages, and notes on them, in the order of the messages."""
        stored = self._stored(offsets, sizes)
        for number in self._not_accepted(shorts, stored, noted=True):
            notes: list[Finding] = []
            error = self.error(offsets[number], sizes[number], shorts[number], stored[number], notes)
            yield from notes
            if error is not None:
                yield Finding.from_error(error)

    def errors(self, offsets: Numbers, sizes: Numbers, shorts: bytes) -> Iterator[tuple[int, ExhumeError]]:
        """Faults of messages, by their numbers; see `error`."""
        stored = self._stored(offsets, sizes)
        for number in self._not_accepted(shorts, stored):
            error = self.error(offsets[number], sizes[number], shorts[number], stored[number])
            if error is not None:
                yield number, error

    def _stored(self, offsets: Numbers, sizes: Numbers) -> Sequence[bytes | None]:
        """Stored bytes of messages; None for one alone that may not be in memory."""
        if len(sizes) == 1 and sizes[0] > self.most:
            return [None]
        return self._split.stored(offsets, sizes)

    def _not_accepted(self, shorts: bytes, stored: Sequence[bytes | None], *, noted: bool = False) -> list[int]:
        """Numbers of the messages that the kernel does not accept: only these are for `error`.

        With `noted`, messages for which there is a note are among them.
        """
        found: Sequence[bytes | None] = stored
        if self._unpack is not None:
            found = self._unpack.payloads(stored, self._split.source, noted=noted)
        return ark_check(found, shorts, self._programs)

    def error(
        self, offset: int, size: int, short: int, data: bytes | None, notes: list[Finding] | None = None
    ) -> ExhumeError | None:
        """The fault in the message at `offset`, whose stored bytes are `data`; None if it has none.

        What is tolerated is added to `notes`.  A message above the limit `payload_size` is read in windows; `data` is
        None if even its stored bytes are above it.
        """
        span = self._split.source.span(offset, offset + size)
        decoder = self._decoders.get(short)
        try:
            if data is None:
                footer: list[Finding] = []
                if self._check_large(offset, size, decoder, notes, footer):
                    if notes is not None:
                        notes[:0] = footer  # before those on the value; they count only for a message read in windows
                    return None
                data = self._split.source.read_at(offset, size)
            try:
                message = self._unpack.decode(data, lambda: span, notes) if self._unpack is not None else data
            except LimitExceededError:
                if self._check_large(offset, size, decoder, notes, None):
                    return None
                raise
            if decoder is not None and not decoder.is_plain(message):
                where = partial(message_span, self._split, offset, size, len(message), self._codec)
                decode_value(decoder, message, where, notes)
        except ExhumeError as error:
            error.__cause__ = error.__context__ = None  # their frames would keep the bytes of many messages
            return error.with_traceback(None)
        return None

    def _check_large(
        self,
        offset: int,
        size: int,
        decoder: Decoder | None,
        notes: list[Finding] | None,
        footer: list[Finding] | None,
    ) -> bool:
        """Check a message in windows; return whether it is one that is read in windows.

        Raises the errors of the broken rules.  Adds to `notes` what is tolerated in its value, to `footer` that of its
        footer.
        """
        large = large_message(self._reader, self._identifier, self._split, self._unpack, offset, size, footer)
        if large is None:
            return False
        if decoder is None:
            deque(large, 0)  # reads it, which decompresses it, and keeps nothing
            return True
        found: list[Note] = []
        check_value(decoder, large, large.span, found)
        if notes is not None:
            notes.extend(note.finding(large.span) for note in found)
        return True

    def proves(self, short: int) -> bool:
        """Whether a message of that object that is not whole would be noticed."""
        return self._unpack is not None or self._decoders.get(short) is not None

    def looks_whole(self, offset: int, size: int, short: int) -> bool:
        """Whether an entry that no index counts is a whole message: where a schema is missing, at least the framing
        must fit.
        """
        source = self._split.source
        data = source.read_at(offset, size) if size <= self.most else None
        if self.error(offset, size, short, data) is not None:
            return False
        if self._unpack is not None:
            return source.read_at(offset + size - 1, 1)[0] == MESSAGE_FOOTER_MAGIC
        return self._decoders.get(short) is not None or source.read_at(offset, 1)[0] in HEADERS


def num_unindexed(reader: ArkLog, reference: SplitReference, split: Split) -> int:
    """How many index entries past the indexed count stand for whole messages.

    An entry is counted while its time is not 0 (unused slots are), its object is mapped and declared, its message is
    after the header and inside the file, apart from the index area, and its bytes are what its column promises: a
    compression footer that decompresses, or an object that decodes.  The first slot that fails ends the search, and the
    last entry is left out when it may have been cut within, unless the manifest counts it.
    """
    header, source = split.header, split.source
    start = header.index_end
    # Slots after the counted ones: as many as are reserved, and are in the file.
    room = (source.size - start) // ENTRY_SIZE if start < source.size else 0
    count = min(max(0, header.maximum_count - header.item_count), room, MAX_SLOTS)
    if count <= 0 or header.index_offset < header.size:
        return 0
    slots = split.read_entries(header.item_count, header.item_count + count)
    declared = {mapping.short for mapping in header.mappings if mapping.identifier in reference.channels}
    check = MessageCheck(reader, reference, split)
    taken = 0
    for time, offset, size, short, _ in iter_entries(slots):
        if UNUSED_INDEX_SLOTS_ARE_ZERO and not time:
            break
        if short not in declared or not size or offset < header.size or offset + size > source.size:
            break
        if header.index_offset <= offset < start or not check.looks_whole(offset, size, short):
            break
        taken += 1
    is_counted = header.item_count + taken <= reference.declaration.stated_count
    return taken - 1 if taken and not is_counted and _may_be_torn(split, check, slots, taken) else taken


def _may_be_torn(split: Split, check: MessageCheck, slots: bytes, taken: int) -> bool:
    """Whether the last of the entries that were taken may have been cut while it was written.

    Without its last two bytes it reads as an entry of object 0, which is another message when there are other objects,
    and perhaps a shorter one when nothing can decode it.
    """
    end = taken * ENTRY_SIZE
    ((_, _, _, short, flags),) = iter_entries(slots[end - ENTRY_SIZE : end])
    if short or flags or any(slots[end : end + ENTRY_SIZE]):
        return False
    return len(split.header.mappings) > 1 or not check.proves(short)
