"""One pass over the messages of a log: merged index entries become messages, in batches of bounded size.

A split is a file of messages with an index; its entries have time, place, size and short identifier (a byte for a
channel).  A cursor goes through one split; a latched message is the last of its channel before the query's range.

Arguments: `topics` to `on_error`, as those of `ArkArchive.messages`; `reference`, a mention of a split in the manifest;
`facts`, the header of the split and the range of its times; `offset` and `size`, where a message is stored in it.
"""

from __future__ import annotations

import re
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from itertools import chain
from typing import Any, Final, Literal, Self, get_args

from exhume.choices import check_choice
from exhume.errors import ExhumeError, LimitExceededError
from exhume.findings import Finding
from exhume.formats.ark.assumptions import LATCHED_REPLAY_BEFORE_FILTERS
from exhume.formats.ark.filters import TIME_MAX, topic_matcher
from exhume.formats.ark.kernel import ark_messages, ark_total
from exhume.formats.ark.log import ArkLog, Channel, OnMissing, SplitReference
from exhume.formats.ark.merge import Batch, Cursor, LastEntry, counts_of, merge
from exhume.formats.ark.messages import (
    ArkMessage,
    Decompressor,
    LazySpan,
    column_codec,
    decode_value,
    large_message,
    message_span,
)
from exhume.formats.ark.rbuf.decoder import decoder_for
from exhume.formats.ark.splits import ANY_OBJECT, IndexBlock, Split, SplitFacts
from exhume.io.values import LargeValue

Topics = str | re.Pattern[str] | Iterable[str | re.Pattern[str]] | None  # see `filters.topic_matcher`
OnError = Literal["raise", "skip", "limit"]  # skip damaged messages, or only those above a limit

BATCH_BYTES: Final = 8 << 20
"""Bytes of stored messages after which a batch ends; a single larger message is a batch by itself."""
BATCH_MESSAGES: Final = 1 << 14
"""Most messages of a batch."""

Task = tuple[Batch, list[int], list[IndexBlock]]
"""Part of a merged batch: the batch, the number of each entry's cursor in order, and the entries by cursor."""


class Query:
    """One pass over the messages: the index entries of all splits are merged, and read in tasks of bounded size."""

    large = False
    """Whether messages above the limit `payload_size` have a `LargeValue` as data; otherwise they are errors."""

    def __init__(
        self,
        reader: ArkLog,
        topics: Topics,
        start_ns: int | None,
        stop_ns: int | None,
        decode: bool,
        reverse: bool,
        on_error: OnError,
        findings: list[Finding] | None,
    ) -> None:
        self.reader = reader
        self.wanted: Callable[[str], bool] = topic_matcher(topics)
        self.all_topics: bool = topics is None
        self.low: int = 0 if start_ns is None else max(0, start_ns)  # the first time that is wanted
        self.high: int = TIME_MAX if stop_ns is None else stop_ns - 1  # the last
        self.decode = decode
        self.reverse = reverse
        self.skip: bool = on_error == "skip"
        self._past_limits = on_error == "limit"  # skip messages above a limit only
        self.findings = findings
        self.most: int = reader.limits.payload_size  # bytes of a message in memory

    def batches(self, on_missing: OnMissing | None, *, replays: bool) -> Iterator[Iterable[Any]]:
        """Yield all results in batches, one at a time in memory; with `replays`, also those of `latched`."""
        references = self.reader.readable(on_missing)
        if replays and not self.reverse:
            yield self.latched(references)
        yield from self.run(references)
        if replays and self.reverse:
            yield self.latched(references)

    def run(self, references: Sequence[SplitReference]) -> Iterator[Iterable[Any]]:
        """Yield the messages of the time window, in order, in batches."""
        for task in self.tasks(references):
            if isinstance(task, ExhumeError):
                self.note(task)
            else:
                yield self.batch_messages(*task)

    def tasks(self, references: Sequence[SplitReference]) -> Iterator[Task | ExhumeError]:
        """Yield the index entries of the time window as tasks for `batch_messages`, and the errors of bad entries."""
        cursors: list[Cursor] = []
        used = [each.identifier for each in references if any(self.accepts(each, one) for one in self.candidates(each))]
        self.reader.will_read(used)
        for each in references:
            low, high = max(self.low, each.acceptance.minimum_ns), min(self.high, each.acceptance.maximum_ns)
            if (cursor := self._cursor(each, low, high)) is not None:
                cursors.append(cursor)
        for batch in merge(cursors, reverse=self.reverse):
            yield from self._deliver(batch)

    def candidates(self, reference: SplitReference) -> Iterable[Channel]:
        """The channels of a split that may be accepted."""
        return reference.channels.values()

    def accepts(self, reference: SplitReference, channel: Channel) -> bool:
        """Whether the query selects a channel of a split, and the filters of the log show it."""
        return self.wanted(channel.name) and reference.acceptance.accepts_name(channel.name)

    def _cursor(self, reference: SplitReference, low: int, high: int) -> Cursor | None:
        """Return a cursor over the entries of a split with times in `[low, high]`; None: it has none, or is skipped."""
        if low > high or not any(self.accepts(reference, each) for each in self.candidates(reference)):
            return None
        facts = self._facts(reference)
        if facts is None or not facts.item_count or facts.minimum_ns > high or facts.maximum_ns < low:
            return None
        bound = TIME_MAX - min(facts.maximum_ns, high) if self.reverse else max(facts.minimum_ns, low)
        return SplitCursor.make(self, reference, facts, low, high, bound)

    def _facts(self, reference: SplitReference) -> SplitFacts | None:
        """Return the facts of a split; None if they cannot be read, and damaged splits are skipped."""
        try:
            return self.reader.facts(reference.identifier)
        except ExhumeError as error:
            if not self.skip:
                raise
            self.note(error)
            return None

    def skips(self, error: ExhumeError) -> bool:
        """Return whether a message with this error is skipped; if so, add the error to the findings."""
        if skipped := self.skip or (self._past_limits and isinstance(error, LimitExceededError)):
            self.note(error)
        return skipped

    def note(self, error: ExhumeError) -> None:
        """Add the error of a skipped message to the findings, if the caller wants them."""
        if self.findings is not None:
            self.findings.append(Finding.from_error(error))

    def _deliver(self, batch: Batch) -> Iterator[Task | ExhumeError]:
        """Divide a merged batch into tasks of bounded size, each without bad entries; yield the errors of these."""
        at, start = [0] * len(batch.blocks), 0  # where the next task begins: in each block, in the merged order
        numbers, most = batch.sources, min(BATCH_BYTES, self.most)

        def cut(stop: int) -> tuple[list[int], list[IndexBlock]]:
            """Return where `[start, stop)` ends in each block, and that part of each block."""
            ends = [first + count for first, count in zip(at, counts_of(numbers, start, stop, len(at)), strict=True)]
            return ends, [block.part(start, end) for block, start, end in zip(batch.blocks, at, ends, strict=True)]

        while start < len(numbers):
            stop = min(len(numbers), start + BATCH_MESSAGES)
            ends, pieces = cut(stop)
            if sum(ark_total(piece.size) for piece in pieces) > most or any(1 in piece.bad for piece in pieces):
                stop = self._stop(batch, at, start, stop, most)
                if stop == start:
                    yield self._damaged(batch, numbers[start], at[numbers[start]])
                    at[numbers[start]] += 1
                    start += 1
                    continue
                ends, pieces = cut(stop)
            yield batch, numbers[start:stop], pieces
            start, at = stop, ends

    @staticmethod
    def _stop(batch: Batch, at: list[int], start: int, stop: int, most: int) -> int:
        """Return where a batch from `start` has to end: before a bad entry, or before it passes `most` bytes."""
        at, size = list(at), 0
        for place in range(start, stop):
            number = batch.sources[place]
            block, here = batch.blocks[number], at[number]
            at[number] += 1
            size += block.size[here]
            if block.bad[here] or (size > most and place > start):  # one message may be larger
                return place
        return stop

    def _damaged(self, batch: Batch, number: int, within: int) -> ExhumeError:
        """Return the error of the bad entry `within` the block of cursor `number`, if it is skipped, else raise it."""
        cursor = batch.cursors[number]
        assert isinstance(cursor, SplitCursor)
        block = batch.blocks[number]
        error = cursor.split.entry_error(
            block.place(within), block.offset[within], block.size[within], block.object[within]
        )
        if not self.skip:
            raise error
        return error

    def batch_messages(self, batch: Batch, numbers: list[int], pieces: list[IndexBlock]) -> Iterable[Any]:
        """Return the messages of a batch: `pieces` has each cursor's entries, `numbers` the cursor of each message."""
        streams: dict[int, Iterator[ArkMessage | None]] = {}  # the messages of each cursor, by its number
        for number, piece in enumerate(pieces):
            if piece.time:
                cursor = batch.cursors[number]
                assert isinstance(cursor, SplitCursor)
                if len(piece.time) == len(numbers):  # all of them are from this split
                    return cursor.messages(piece)
                streams[number] = iter(cursor.messages(piece, holes=True))
        # For each entry the next message of its cursor; None is a hole, where a message was skipped.
        return filter(None, map(next, map(streams.__getitem__, numbers)))

    def latched(self, references: Sequence[SplitReference]) -> Iterator[ArkMessage]:
        """Yield the last message before the window of every selected latched channel, in time order."""
        if self.low == 0:
            return
        latest: dict[str, LastEntry] = {}  # of all splits, by channel identifier
        for each in references:
            for identifier, entry in self._last_entries(each):
                if identifier not in latest or entry.order >= latest[identifier].order:
                    latest[identifier] = entry
        for entry in sorted(latest.values(), key=lambda entry: entry.order, reverse=self.reverse):
            cursor = SplitCursor.make(
                self, entry.reference, self.reader.facts(entry.reference.identifier), 0, TIME_MAX, 0
            )
            cursor.open_split()
            try:
                for message in cursor.messages(entry.block):
                    yield message._replace(latched=True)
            finally:
                cursor.close_split()

    def _last_entries(self, reference: SplitReference) -> Iterator[tuple[str, LastEntry]]:
        """Yield the last entry before the window in a split of each selected latched channel, by its identifier."""
        wanted = {
            channel.identifier
            for channel in self.candidates(reference)
            if channel.latched and self.accepts(reference, channel)
        }
        low = 0 if LATCHED_REPLAY_BEFORE_FILTERS else reference.acceptance.minimum_ns
        high = min(self.low - 1, reference.acceptance.maximum_ns)
        facts = self._facts(reference) if wanted and low <= high else None
        if facts is None:
            return
        channels = {
            mapping.short: mapping.identifier for mapping in facts.header.mappings if mapping.identifier in wanted
        }
        if not channels or facts.minimum_ns > high:
            return
        split = self.reader.open_split(reference.identifier)
        try:
            for short, block in split.last_entries(facts, low, high, channels):
                yield channels[short], LastEntry((block.time[0], reference.rank, block.place(0)), reference, block)
        finally:
            self.reader.release(split)


def messages(
    log: ArkLog,
    topics: Topics = None,
    *,
    start_ns: int | None = None,
    stop_ns: int | None = None,
    latched: bool = True,
    decode: bool = True,
    reverse: bool = False,
    on_missing: OnMissing | None = None,
    on_error: OnError = "raise",
    findings: list[Finding] | None = None,
    large: bool = False,
) -> Iterator[ArkMessage]:
    """The messages of a log; see `ArkArchive.messages`, and `Query` for `large`."""
    check_choice("on_error", on_error, get_args(OnError))
    check_choice("on_missing", on_missing or log.on_missing, get_args(OnMissing))
    query = Query(log, topics, start_ns, stop_ns, decode, reverse, on_error, findings)
    query.large = large
    found = query.batches(on_missing, replays=latched and start_ns is not None)
    return chain.from_iterable(found)  # no generator between a message and its reader


class SplitCursor(Cursor):
    """A split in a merge, which also reads the messages of its index entries."""

    query: Query
    reference: SplitReference
    facts: SplitFacts
    split: Split

    @classmethod
    def make(cls, query: Query, reference: SplitReference, facts: SplitFacts, low: int, high: int, bound: int) -> Self:
        """Return a cursor over the accepted entries with `low <= time <= high`; for `bound` see `Cursor`."""
        self = cls(reference.rank, bound, lambda: iter(()))
        self.query, self.reference, self.facts = query, reference, facts
        self.start = lambda: self._entries(low, high)
        self.finish = self.close_split
        self._open = False
        self._tables()
        return self

    def _tables(self) -> None:
        """Fill the tables that have an element for each short identifier (a byte) of the split: the channel's name,
        its identifier, the decoder of its type, whether it is declared, and whether the query wants it.
        """
        reader = self.query.reader
        self.codec: str = column_codec(self.reference.column.compression)
        self.unpack: Decompressor | None = Decompressor(self.codec, reader.limits) if self.codec != "none" else None
        wanted, known = bytearray(ANY_OBJECT), bytearray(256)  # unmapped ones stay wanted, so that they are reported
        self.names: list[str] = [""] * 256
        self.identifiers: list[str] = [""] * 256
        self.decoders: list[Callable[..., dict[str, Any]] | None] = [None] * 256
        for mapping in self.facts.header.mappings:
            channel = self.reference.channels.get(mapping.identifier)
            known[mapping.short] = channel is not None
            wanted[mapping.short] = channel is not None and self.query.accepts(self.reference, channel)
            if channel is None or not wanted[mapping.short]:
                continue
            self.names[mapping.short] = channel.name
            self.identifiers[mapping.short] = mapping.identifier
            if self.query.decode and (registry := channel.declaration.registry) is not None:
                self.decoders[mapping.short] = decoder_for(registry, channel.type)
        self.wanted: bytes = bytes(wanted)
        self.known: bytes = bytes(known)

    def open_split(self) -> None:
        """Open the file."""
        self.split = self.query.reader.open_split(self.reference.identifier)
        self._open = True

    def apart(self, query: Query) -> SplitCursor:
        """Return a cursor over the same split for a concurrent pass, with a file of its own."""
        other = copy(self)
        other.query = query
        other.open_split()
        return other

    def close_split(self) -> None:
        """Close the file; closing it again does no harm."""
        if self._open:
            self._open = False
            self.query.reader.release(self.split)

    def _entries(self, low: int, high: int) -> Iterator[IndexBlock]:
        """Open the split and yield its index entries in blocks."""
        self.open_split()
        yield from self.split.blocks(
            self.facts, low, high, reverse=self.query.reverse, known=self.known, wanted=self.wanted
        )

    def messages(self, block: IndexBlock, *, holes: bool = False) -> Iterable[Any]:
        """Messages of index entries, in the order of the block; with `holes`, None for those that were skipped."""
        if self.is_lone(block):
            return self._lone(block, holes)
        if self.unpack is not None or any(self.decoders):
            return self.decoded(block, self.split.read_messages(block.offset, block.size), holes=holes)
        origin = self.split.source.origin
        return ark_messages(
            ArkMessage,
            block.time,
            block.object,
            self.split.read_messages(block.offset, block.size),
            array("q", (origin + offset for offset in block.offset)) if origin else block.offset,
            block.size,
            self.names,
            self.identifiers,
            self.reference.identifier,
        )

    def is_lone(self, block: IndexBlock) -> bool:
        """Whether a block is the entry of a single message that is too large for memory; `_deliver` made it so."""
        return self.query.large and len(block.size) == 1 and block.size[0] > self.query.most

    def _lone(self, block: IndexBlock, holes: bool) -> Iterator[Any]:
        """Yield the single message of a block (see `is_lone`), with a `LargeValue` as data if possible."""
        offset, size = block.offset[0], block.size[0]
        try:
            large = self.large(offset, size)
        except ExhumeError as error:
            if not self.query.skips(error):
                raise
            if holes:
                yield None
            return
        if large is None:  # its size is not stated, or is smaller than the stored bytes
            yield from self.decoded(block, self.split.read_messages(block.offset, block.size), holes=holes)
        else:
            yield self._shown(block.time[0], block.object[0], large, offset, size)

    def large(self, offset: int, size: int) -> LargeValue | None:
        """Return a message as a value that is read in chunks; None if it fits in memory.  See `large_message`."""
        return large_message(self.query.reader, self.reference.identifier, self.split, self.unpack, offset, size)

    def _shown(self, time: int, short: int, data: Any, offset: int, size: int) -> ArkMessage:
        """A message whose data is not decoded."""
        where = self.reference.identifier, self.split.source.origin + offset, size
        return ArkMessage(time, self.names[short], data, None, False, self.identifiers[short], *where)

    def decoded(self, block: IndexBlock, stored: list[bytes], *, holes: bool = False) -> Iterator[Any]:
        """Yield the messages of index entries with these stored bytes, decompressed and decoded; see `messages`.

        Raises the error of a message that is neither skipped nor read as a `LargeValue`.
        """
        split = self.split
        shorts, origin = block.object, split.source.origin
        decoders, names, identifiers, unpack = self.decoders, self.names, self.identifiers, self.unpack
        identifier = self.reference.identifier
        for time, short, data, offset, size in zip(block.time, shorts, stored, block.offset, block.size, strict=True):
            decoder = decoders[short]
            value: dict[str, Any] | None = None
            try:
                if unpack is not None:
                    data = unpack.decode(data, LazySpan(split, offset, size))
                if decoder is not None:
                    value = self._value(decoder, data, offset, size)
            except ExhumeError as raised:
                large, error = self._after_error(raised, offset, size)
                if large is not None:
                    yield self._shown(time, short, large, offset, size)
                    continue
                if not self.query.skips(error):
                    raise error from None
                if holes:
                    yield None
                continue
            place = origin + offset
            yield ArkMessage(time, names[short], data, value, False, identifiers[short], identifier, place, size)

    def _after_error(self, error: ExhumeError, offset: int, size: int) -> tuple[LargeValue | None, ExhumeError]:
        """Return what becomes of a message after an error: its data, if only a limit forbade it and the query takes
        `large` ones, and the error to report.

        A message above the limit is read completely, as damage in it is the more important error.
        """
        if self.unpack is None or not isinstance(error, LimitExceededError):
            return None, error
        large = self.large(offset, size)
        if large is None or self.query.large:
            return large, error
        try:
            deque(large, 0)  # reads all chunks and keeps none
        except ExhumeError as damage:
            return None, damage
        return None, error

    def _value(self, decoder: Any, data: bytes, offset: int, size: int) -> dict[str, Any]:
        """Return the decoded value of a message; on an error, decode again with the span that the error needs."""
        try:
            found: dict[str, Any] = decoder.decode(data)
        except ExhumeError:
            return decode_value(decoder, data, lambda: message_span(self.split, offset, size, len(data), self.codec))
        return found
