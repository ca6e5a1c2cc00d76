"""One split file being written.

A split is a header, an index with a slot reserved for each message, and messages.  An entry of the index has time,
offset, size and short identifier (one byte) of a message; the header maps short identifiers to the GUIDs of objects
(channels).  A reader may open the file at any time: what is counted is complete.

Spec: ark_log.txt, Split File Format; pre-allocated index and flush order: `docs/formats/ark.md`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import numpy as np

from exhume.errors import SourceError, WriterError
from exhume.formats.ark.assumptions import MINIMUM_SPLIT_SIZE
from exhume.formats.ark.layout import (
    ENTRY_DTYPE,
    ENTRY_SIZE,
    HEADER_FIELDS,
    HEADER_SIZE,
    MAPPING_SIZE,
    SplitHeader,
    TypeMapping,
    build_split_header,
)
from exhume.formats.ark.manifest import Statistics
from exhume.formats.ark.splits import Array
from exhume.io.output.atomic import GrowingFile

WRITE_BYTES: Final = 1 << 20
"""Messages are handed to the operating system in chunks of about this size."""

HEADER_STEP: Final = 1024
"""The size of the header of a split is a multiple of this one."""

MAX_OBJECTS: Final = 256
"""Types of messages in a split: an index entry refers to one by a byte."""


def header_area(types: int) -> int:
    """Bytes reserved for a header with up to `types` mappings, rounded up to a multiple of `HEADER_STEP`.

    At least `MINIMUM_SPLIT_SIZE`, which is required of the file: a split without messages has nothing else.
    """
    steps = -(-(HEADER_SIZE + MAPPING_SIZE * types) // HEADER_STEP)  # rounded up
    return max(MINIMUM_SPLIT_SIZE, steps * HEADER_STEP)


class SplitWriter:
    """Appends messages; `flush` makes them durable, `close` sorts the index if need be."""

    def __init__(self, path: Path, identifier: str, types: int, max_items: int, max_bytes: int) -> None:
        """Create the file, with space for `types` mappings, `max_items` index entries and `max_bytes` of data."""
        self.path = path
        self.identifier = identifier
        self.max_items = max_items
        self._header_area = header_area(min(types, MAX_OBJECTS))  # bytes; the index follows
        self._max_objects = min(MAX_OBJECTS, (self._header_area - HEADER_SIZE) // MAPPING_SIZE)
        self._data_offset = self._header_area + max_items * ENTRY_SIZE
        self._limit = min(self._data_offset + max_bytes, (1 << 32) - 1)  # offsets in entries are of 32 bits
        self._end = self._data_offset  # where the next message starts
        self._written = self._data_offset  # where the data that is in the file ends
        self._shorts: dict[str, int] = {}  # short identifiers by GUID
        self._parts: list[bytes | memoryview] = []  # data from `_written` to `_end`
        self._begin_entries()
        self._pending = 0  # bytes of `_parts`
        self._free = max_items  # unused slots
        self._index: list[Array] = []  # entries of each flush
        self._flushed = 0  # entries in the file
        self._mapped = 0  # mappings in the file
        self._sorted = True  # whether the entries in the file are in time order
        self._last = 0  # the latest time among them
        self._error: BaseException | None = None  # of the write that failed
        self._file = GrowingFile(path)
        try:
            self._file.write_at(0, build_split_header(SplitHeader(identifier, self._header_area, 0, max_items, (), 0)))
        except BaseException:
            self._file.remove()
            raise

    def _begin_entries(self) -> None:
        """New columns for the entries until the next flush; numpy examines the old ones, which cannot be emptied."""
        self._times, self._sizes, self._objects = array("Q"), array("Q"), bytearray()

    @property
    def count(self) -> int:
        """The number of messages so far."""
        return self.max_items - self._free

    @property
    def room(self) -> int:
        """The largest size in bytes that one message of an empty split can have."""
        return self._limit - self._data_offset

    def add(self, identifier: str, time_ns: int, data: bytes | Iterable[bytes | memoryview], size: int) -> bool:
        """Append a message, whose bytes may come in chunks.

        False when the split is full (it always takes a first message that fits at all).
        """
        short = self._shorts.get(identifier)
        end = self._end + size
        # One test for the usual case, in which the message fits and its object is known.
        if short is None or not self._free or end > self._limit or not size:
            if not self._free or end > self._limit or not size or len(self._shorts) >= self._max_objects:
                return False
            short = self._shorts[identifier] = len(self._shorts)
        self._end = end
        self._free -= 1
        self._times.append(time_ns)
        self._sizes.append(size)
        self._objects.append(short)
        if not isinstance(data, bytes):
            for chunk in data:
                self._append(chunk)
            return True
        self._parts.append(data)
        self._pending += size
        if self._pending >= WRITE_BYTES:
            self._write_data()
        return True

    def _append(self, chunk: bytes | memoryview) -> None:
        """Add data, and write it when there is enough."""
        self._parts.append(chunk)
        self._pending += len(chunk)
        if self._pending >= WRITE_BYTES:
            self._write_data()

    def num_fitting(self, identifiers: Mapping[int, str], numbers: Array, sizes: Array) -> int:
        """Number of messages, from the first on, that `extend` can take: up to one that is empty or does not fit."""
        # As many as there are slots, and then as have space; a message may end at the limit.
        sizes = sizes[: self._free]
        count = int(np.searchsorted(np.cumsum(sizes), np.uint64(self._limit - self._end), "right"))
        empty = np.flatnonzero(sizes[:count] == 0)
        if len(empty):
            count = int(empty[0])
        # Up to the first message of an object for which there is no mapping left.
        new = self._new_objects(identifiers, numbers[:count])
        room = self._max_objects - len(self._shorts)
        return new[room][0] if len(new) > room else count

    def _new_objects(self, identifiers: Mapping[int, str], numbers: Array) -> list[tuple[int, int]]:
        """The place of the first message of each object that has no short identifier yet, and the object's number."""
        known, places = np.unique(numbers, return_index=True)
        first = zip(places.tolist(), known.tolist(), strict=True)
        return sorted((place, number) for place, number in first if identifiers[number] not in self._shorts)

    def extend(
        self, identifiers: Mapping[int, str], numbers: Array, times: Array, sizes: Array, data: bytes | memoryview
    ) -> None:
        """Append messages that fit: the numbers of their objects, which `identifiers` names; times and sizes; bytes.

        Numbers are of 16 bits, times and sizes of 64, all without a sign.  `data` must not change any more.
        """
        for _, number in self._new_objects(identifiers, numbers):
            self._shorts[identifiers[number]] = len(self._shorts)
        shorts = np.zeros(int(numbers.max(initial=0)) + 1, np.uint8)  # short identifiers by number
        for number in np.unique(numbers).tolist():
            shorts[number] = self._shorts[identifiers[number]]
        self._times.frombytes(times.tobytes())
        self._sizes.frombytes(sizes.tobytes())
        self._objects += shorts[numbers].tobytes()
        self._parts.append(data)
        self._end += len(data)
        self._free -= len(numbers)
        self._pending += len(data)
        if self._pending >= WRITE_BYTES:
            self._write_data()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Write a part of the file in the body; after an error, the file lacks some of it, and all that follows fails.

        Raises `WriterError` after an earlier error.
        """
        if self._error is not None:
            raise WriterError("the split could not be written completely", actual=str(self._error))
        try:
            yield
        except BaseException as error:
            self._error = error
            self._free = 0  # it takes no more messages
            raise

    def _write_data(self) -> None:
        """Write the data that was gathered since the last call."""
        if self._parts:
            with self._writing():
                data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
                self._file.write_at(self._written, data)
            self._written += self._pending
            self._parts.clear()
            self._pending = 0

    def flush(self) -> None:
        """Write messages, then index entries, then the count; each is on the disk before the next is written.

        The entries of one flush are in time order; if they are earlier than those of an earlier flush, only `close`
        sorts the index as a whole.  Raises `WriterError` after an error of an earlier call.
        """
        with self._writing():
            if not self._times:
                return
            self._write_data()
            self._file.sync()
            entries = self._take_entries()
            self._write_mappings()
            self._file.write_at(self._header_area + self._flushed * ENTRY_SIZE, entries.tobytes())
            self._file.sync()
            self._flushed += len(entries)
            start, end = HEADER_FIELDS.num_indexed_items
            self._file.write_at(start, self._flushed.to_bytes(end - start, "little"))
            self._file.sync()

    def _take_entries(self) -> Array:
        """The entries since the last flush, sorted by time (stable)."""
        entries = np.zeros(len(self._times), ENTRY_DTYPE)
        sizes: Array = np.frombuffer(self._sizes, np.uint64)
        # The messages are back to back, and the last one ends at `_end`.
        ends = np.cumsum(sizes) + np.uint64(self._end - int(sizes.sum()))
        entries["timestamp_ns"] = np.frombuffer(self._times, np.uint64)
        entries["ofs_data"] = ends - sizes
        entries["len_data"] = sizes
        entries["object_identifier"] = np.frombuffer(self._objects, np.uint8)
        self._begin_entries()
        time = entries["timestamp_ns"]
        if bool(np.any(time[1:] < time[:-1])):
            entries = entries[np.argsort(time, kind="stable")]
            time = entries["timestamp_ns"]
        if int(time[0]) < self._last:
            self._sorted = False
        self._last = max(self._last, int(time[-1]))
        self._index.append(entries)
        return entries

    def _write_mappings(self) -> None:
        """Write new mappings first, then their count."""
        if self._mapped == len(self._shorts):
            return
        mappings = tuple(TypeMapping(short, identifier, 0) for identifier, short in self._shorts.items())
        header = SplitHeader(self.identifier, self._header_area, self._flushed, self.max_items, mappings, 0)
        raw = build_split_header(header)
        known = HEADER_SIZE + self._mapped * MAPPING_SIZE
        self._file.write_at(known, raw[known:])
        start, end = HEADER_FIELDS.num_type_mappings
        self._file.write_at(start, raw[start:end])
        self._mapped = len(mappings)

    def close(self) -> None:
        """Flush, and if messages came out of time order over several flushes, write the sorted index at the end.

        The old index stays valid until the header names the new one.  Raises `WriterError` after an error of an
        earlier call.
        """
        with self._writing():
            self.flush()
            if not self._sorted:
                self._write_sorted_index()
            self._file.close()

    def _write_sorted_index(self) -> None:
        """Write all entries after the messages; then the header names them in one write; then clear the old index."""
        entries = np.concatenate(self._index)
        entries = entries[np.argsort(entries["timestamp_ns"], kind="stable")]
        self._file.write_at(self._end, entries.tobytes())
        self._file.sync()
        at = HEADER_FIELDS
        places = (at.ofs_index, at.num_indexed_items, at.num_maximum_items)  # (start, end) of each, back to back
        fields = zip(places, (self._end, len(entries), len(entries)), strict=True)
        numbers = b"".join(value.to_bytes(end - start, "little") for (start, end), value in fields)
        self._file.write_at(at.ofs_index[0], numbers)
        self._file.sync()
        self._file.write_at(self._header_area, bytes(self._flushed * ENTRY_SIZE))
        self._file.sync()

    def abandon(self) -> None:
        """Close the file as it is."""
        with suppress(SourceError):
            self._file.close()

    def statistics(self) -> tuple[Statistics, ...]:
        """The split's statistics per object, for the manifest."""
        if not self._index:
            return ()
        entries = np.concatenate(self._index)
        out = []
        for identifier, short in self._shorts.items():
            mine = entries[entries["object_identifier"] == short]
            time = mine["timestamp_ns"]
            out.append(
                Statistics(
                    identifier, len(mine), int(mine["len_data"].sum(dtype=np.int64)), int(time.min()), int(time.max())
                )
            )
        return tuple(out)
