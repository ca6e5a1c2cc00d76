"""Blocks of lines encoded in parallel, each with the keys declared when it was read, and adopted in order.

The number of a key is the number of keys declared before it.  So a block that declares keys is adopted only if
none was declared since it was read; else it is encoded again: the stream is identical for any number of jobs.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from exhume.formats.kv_ir.kernel import KvIrEncoder

if TYPE_CHECKING:
    from exhume.formats.kv_ir.pykernel import Known

Counts = tuple[int, int]
"""How many keys of the logger and of the user are known."""

MOST_KEYS = 1 << 14
"""Keys from which on blocks are left to one encoder: each further one would have to learn them all."""


@dataclass(slots=True)
class _Worker:
    """An encoder and the keys that it knows, of the logger and of the user."""

    names: tuple[bytes, bytes] | None
    trees: tuple[dict[Known, int], dict[Known, int]] = field(default_factory=lambda: ({}, {}))
    encoder: KvIrEncoder = field(init=False)

    def __post_init__(self) -> None:
        self.encoder = KvIrEncoder(*self.trees, self.names)

    @property
    def counts(self) -> Counts:
        return len(self.trees[0]), len(self.trees[1])


@dataclass(slots=True)
class Encoded:
    """The units of the lines of a block up to `end`, and of how many events; `known` were the keys before them."""

    units: bytes
    events: int
    end: int
    known: Counts
    worker: _Worker | None = None


class LineEncoders:
    """The encoders of a stream's blocks of lines, as many as there are blocks in progress at a time."""

    def __init__(self, auto: dict[Known, int], user: dict[Known, int], names: tuple[bytes, bytes] | None) -> None:
        """`auto`, `user`: the keys of the stream by their numbers, to which newly declared ones are added."""
        self._trees = auto, user
        self._names = names
        self._order: tuple[list[Known], list[Known]] = ([], [])
        self._idle: list[_Worker] = []
        self._lock = threading.Lock()

    def known(self) -> Counts:
        """The number of keys of the stream; not to be called while another thread adds keys."""
        for tree, order in zip(self._trees, self._order, strict=True):
            order.extend(islice(tree, len(order), None))
        return len(self._order[0]), len(self._order[1])

    def encode(self, data: bytes, known: Counts) -> Encoded:
        """Encode lines, with this many keys declared, up to the first that `KvIrEncoder` does not take."""
        if sum(known) > MOST_KEYS:
            return Encoded(b"", 0, 0, known)
        with self._lock:
            fit = (one for one in self._idle if one.counts[0] <= known[0] and one.counts[1] <= known[1])
            worker = next(fit, None)
            if worker is not None:
                self._idle.remove(worker)
        if worker is None:
            worker = _Worker(self._names)
        for tree, order, count in zip(worker.trees, self._order, known, strict=True):
            for number in range(len(tree), count):
                tree[order[number]] = number + 1
        before = worker.encoder.events
        end = worker.encoder.feed(data, 0)
        return Encoded(worker.encoder.take(), worker.encoder.events - before, end, known, worker)

    def adopt(self, encoded: Encoded) -> bool:
        """Whether the units can be written now: then their new keys are known."""
        worker, known = encoded.worker, encoded.known
        if worker is None:
            return True
        if worker.counts != known:
            if self.known() != known:
                return False
            for tree, theirs, count in zip(self._trees, worker.trees, known, strict=True):
                tree.update(islice(theirs.items(), count, None))
        with self._lock:
            self._idle.append(worker)
        return True
