"""Messages added to columns many at a time, into the same splits as messages added one at a time.

A column is a group of channels that share split files; a split has space for a number of messages and bytes, and the
message after that starts the next one.  Here the number of a channel is chosen by the caller, and the place of a
message is its index in the batch.

Spec: ark_log.txt, Split File Format; when a split ends: `docs/formats/ark.md`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from exhume.formats.ark.splits import Array
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.formats.ark.pykernel import Numbers
    from exhume.formats.ark.writer import ChannelWriter, ColumnWriter


class MessageBatch(NamedTuple):
    """Messages as arrays: the number of the channel of each, below 65,536, its time and its size; and all bytes.

    Unlike an object for each message, this costs next to nothing to send to another process.
    """

    numbers: array[int]
    times: Numbers
    sizes: Numbers
    data: bytes

    @classmethod
    def of(cls, numbers: list[int], times: list[int], stored: list[bytes]) -> MessageBatch:
        """The batch of messages given by channel numbers, times (unsigned, 64 bits) and bytes."""
        return cls(array("H", numbers), array("Q", times), array("Q", map(len, stored)), b"".join(stored))


class Messages:
    """A batch of messages that is being added to columns, with its arrays as those of numpy."""

    def __init__(self, batch: MessageBatch) -> None:
        """View the kernel's buffers as arrays; `ends` has where each message ends in `data`."""
        self.numbers: Array = np.frombuffer(batch.numbers, np.uint16)
        self.times: Array = np.frombuffer(batch.times, np.uint64)
        self.sizes: Array = np.frombuffer(batch.sizes, np.uint64)
        self.data: memoryview = memoryview(batch.data)
        self.ends: Array = np.cumsum(self.sizes)

    def starting(self) -> list[tuple[int, int]]:
        """The number of each channel and the place of its first message, in the order of these places."""
        numbers, places = np.unique(self.numbers, return_index=True)
        found = sorted(zip(places.tolist(), numbers.tolist(), strict=True))
        return [(number, place) for place, number in found]

    def bytes_of(self, place: int, stop: int) -> memoryview:
        """The bytes of the messages `[place, stop)`."""
        return self.data[int(self.ends[place - 1]) if place else 0 : int(self.ends[stop - 1])]

    def one_by_one(self, start: int, stop: int) -> Iterator[tuple[int, int, bytes]]:
        """Channel, time and bytes of each of the messages `[start, stop)`."""
        numbers, times = self.numbers[start:stop].tolist(), self.times[start:stop].tolist()
        for place, (number, time_ns) in enumerate(zip(numbers, times, strict=True), start):
            yield number, time_ns, bytes(self.bytes_of(place, place + 1))

    def add(self, channels: Mapping[int, ChannelWriter], start: int, stop: int) -> None:
        """Add the messages `[start, stop)`, which are packed, to the columns of their channels.

        Packed messages are in the form in which the column stores them.  A message that needs another split is added by
        itself, in its turn: so new splits get their names in the order of the messages.  Raises `WriterError` for a
        message that fits into no split.
        """
        columns: dict[ColumnWriter, list[int]] = {}  # the numbers of each column's channels
        for number in np.unique(self.numbers[start:stop]).tolist():
            columns.setdefault(channels[number].column, []).append(number)
        queues = []
        for column, numbers in columns.items():
            places = np.arange(start, stop)
            if len(columns) > 1:
                places = places[np.isin(self.numbers[start:stop], numbers)]
            queues.append(_Queue(self, column, {number: channels[number] for number in numbers}, places))
        # In each queue, one message does not fit: the first of these in the batch goes into a new split, which takes
        # more messages of its queue.
        while waiting := [queue for queue in queues if queue.stop < len(queue.places)]:
            min(waiting, key=_Queue.next_place).turn()
        for queue in queues:
            queue.put()


class _Queue:
    """The messages of one column, as a list of their places in a batch: `places[_at:stop]` fit into its split."""

    def __init__(
        self, messages: Messages, column: ColumnWriter, channels: Mapping[int, ChannelWriter], places: Array
    ) -> None:
        """Queue the messages of one column: `places` has their indexes in `messages`, `channels` only theirs."""
        self._messages, self._column, self._channels = messages, column, channels
        self.places = places
        self._names = {number: channel.declaration.identifier for number, channel in channels.items()}  # GUIDs
        self._numbers, self._times = messages.numbers[places], messages.times[places]
        self._sizes = messages.sizes[places]
        self._at = 0
        self.stop = self._fitting()

    def _fitting(self) -> int:
        """Return the index after the last message that fits into the split."""
        split, at = self._column.split, self._at
        return at if split is None else at + split.num_fitting(self._names, self._numbers[at:], self._sizes[at:])

    def next_place(self) -> int:
        """The place of the message that does not fit."""
        return int(self.places[self.stop])

    def put(self) -> None:
        """Add the messages that fit."""
        at, stop, split = self._at, self.stop, self._column.split
        if at == stop or split is None:
            return
        first, last = int(self.places[at]), int(self.places[stop - 1])
        data: bytes | memoryview
        if last - first == stop - at - 1:  # they follow each other in the batch
            data = self._messages.bytes_of(first, last + 1)
        else:
            data = b"".join([self._messages.bytes_of(place, place + 1) for place in self.places[at:stop].tolist()])
        split.extend(self._names, self._numbers[at:stop], self._times[at:stop], self._sizes[at:stop], data)
        self._at = stop

    def turn(self) -> None:
        """Add the messages that fit, and the next one to another split."""
        self.put()
        place = self.next_place()
        ((number, time_ns, data),) = self._messages.one_by_one(place, place + 1)
        self._column.add(self._channels[number].declaration, time_ns, data)
        self._at += 1
        self.stop = self._fitting()
