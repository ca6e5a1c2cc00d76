"""Encoders that other threads use for blocks of lines; their results become part of one KV-IR stream.

Adopting a block means to write its units (events and declarations of keys) and to add its keys to the stream's.  A key
is numbered by how many were declared before it.  So a block that declares keys is adopted only if none was declared
since it was read; otherwise it is encoded again: the stream is identical for any number of jobs.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from exhume.formats.kv_ir.kernel import KvIrEncoder
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.formats.kv_ir.pykernel import Known


class KeyCounts(NamedTuple):
    """Number of declared keys: those that the logger adds itself (auto-generated), and those of its user."""

    auto: int
    user: int


MOST_KEYS = 1 << 14
"""Number of keys above which only the stream's own encoder is used: every other one would have to learn them all."""


@dataclass(slots=True)
class _Worker:
    """An encoder for blocks of lines, with its own copy of the declared keys.

    Attributes:
        names: A line is a JSON object; the names of its two members with the pairs of the logger and of the user.
            None: all of its pairs are the user's.
        trees: The number of each key, for the keys of the logger and for those of the user.
    """

    names: tuple[bytes, bytes] | None
    trees: tuple[dict[Known, int], dict[Known, int]] = field(default_factory=lambda: ({}, {}))  # the encoder adds keys
    encoder: KvIrEncoder = field(init=False)

    def __post_init__(self) -> None:
        self.encoder = KvIrEncoder(*self.trees, self.names)

    @property
    def counts(self) -> KeyCounts:
        """The number of keys that the encoder knows."""
        return KeyCounts(*map(len, self.trees))

    def may_encode(self, declared: KeyCounts) -> bool:
        """Whether it knows no key besides those that were declared before a block: it can learn keys, not forget."""
        return self.counts.auto <= declared.auto and self.counts.user <= declared.user


@dataclass(slots=True)
class Encoded:
    """A block of lines as units of a stream.

    Attributes:
        units: The encoded units.
        events: Number of events in them.
        end: Offset in the block of the first line that was not encoded.
        declared: How many keys were declared in the stream before the block.
        worker: The encoder; None if the block was not encoded at all.
    """

    units: bytes
    events: int
    end: int
    declared: KeyCounts
    worker: _Worker | None = None


class LineEncoders:
    """The encoders of a stream's blocks of lines, as many as there are blocks in progress at a time.

    Keys of the stream are only added by `adopt` and by the stream's own encoder, on the thread that writes; `encode`
    runs on any thread.
    """

    def __init__(self, auto: dict[Known, int], user: dict[Known, int], names: tuple[bytes, bytes] | None) -> None:
        """`auto`, `user`: the keys of the stream by their numbers, to which newly declared ones are added."""
        self._trees = auto, user
        self._names = names
        self._order: tuple[list[Known], list[Known]] = ([], [])  # the keys of the trees as lists, by number
        self._idle: list[_Worker] = []  # workers that no thread uses
        self._lock = threading.Lock()  # for `_idle`

    def declared(self) -> KeyCounts:
        """The number of keys of the stream; not to be called while another thread adds keys.

        Also copies new keys to lists in their order, from which other threads can read them.
        """
        for tree, order in zip(self._trees, self._order, strict=True):
            order.extend(islice(tree, len(order), None))
        return KeyCounts(*map(len, self._order))

    def encode(self, data: bytes, declared: KeyCounts) -> Encoded:
        """Encode lines, up to the first that the encoder does not take, in a thread of the caller.

        `declared` is the result of the method `declared` before the block.  An encoder that knows no keys declared
        later is used, and learns those that it misses.
        """
        if sum(declared) > MOST_KEYS:
            return Encoded(b"", 0, 0, declared)  # nothing encoded: the stream's own encoder takes the block
        with self._lock:
            worker = next((one for one in self._idle if one.may_encode(declared)), None)
            if worker is not None:
                self._idle.remove(worker)
        if worker is None:
            worker = _Worker(self._names)
        for tree, order, count in zip(worker.trees, self._order, declared, strict=True):
            for number in range(len(tree), count):
                tree[order[number]] = number + 1  # the root is 0
        before = worker.encoder.events
        end = worker.encoder.feed(data, 0)
        return Encoded(worker.encoder.take(), worker.encoder.events - before, end, declared, worker)

    def adopt(self, encoded: Encoded) -> bool:
        """Return whether the units can be written next; if so, add the keys that they declare to the stream's.

        They cannot if the block declares keys, and other keys were declared since `encode`: the numbers would differ.
        """
        worker, declared = encoded.worker, encoded.declared
        if worker is None:
            return True
        if worker.counts != declared:  # the block declares keys
            if self.declared() != declared:
                return False  # the worker is not used again: it knows keys by wrong numbers
            for tree, theirs, count in zip(self._trees, worker.trees, declared, strict=True):
                tree.update(islice(theirs.items(), count, None))
        with self._lock:
            self._idle.append(worker)
        return True
