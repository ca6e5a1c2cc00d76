"""Records that are decompressed in chunks, because they, or their content, are too large to be held.

Spec: data_bundle.txt, Shard Files; `docs/formats/data_bundle.md`, "Profile".
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

from exhume.codecs.passing import Forward, PayloadStream
from exhume.errors import CodecError, LimitExceededError, Span
from exhume.formats.data_bundle import checks
from exhume.io.source import Source

LARGE = 16 << 20
"""Content of a record, or stored bytes, above which it is decompressed in chunks."""


_ANY = 1 << 63


class RecordStream:
    """The content of a stored record in chunks.  `end` is where its stored bytes end, once it has been iterated.

    Its stored bytes start at `start` and end at `bound` at the latest; `length` is the size of its content, None if
    nothing states it.  Iterating raises DBND-202 for damage, DBND-313 for another length, and `LimitExceededError`
    beyond `most` bytes.
    """

    def __init__(
        self, source: Source, start: int, bound: int, codec: str, *, length: int | None, most: int, where: Span
    ) -> None:
        self.end = start
        self._source, self._start, self._bound, self._codec = source, start, bound, codec
        self._length, self._most, self._where = length, most, where

    def __iter__(self) -> Iterator[bytes]:
        bound, length = self._bound, self._length
        if self._codec == "none" and length is not None:
            bound = min(bound, self._start + length)
        most = self._most if length is None else _ANY
        stored = self._source.chunks(self._start, min(bound, self._source.size))
        stream = PayloadStream(self._codec, stored, max_size=most, trailing=True)
        total = 0
        try:
            for piece in stream:
                total += len(piece)
                if length is not None and total > length:
                    raise checks.RECORD_LENGTH.error(span=self._where, expected=length, actual="more")
                yield piece
        except CodecError as error:
            raise checks.RECORD_CODEC.error(
                error.message, span=self._where, expected=error.expected, actual=error.actual
            ) from error
        except LimitExceededError as error:
            error.span = error.span or self._where
            raise
        self.end = self._start + stream.consumed
        if length is not None and total != length:
            raise checks.RECORD_LENGTH.error(span=self._where, expected=length, actual=total)

    def measure(self) -> int:
        """The size of the content.  Raises what iterating raises."""
        return sum(map(len, self))


class LargeReader:
    """Ranges of the content of large records; consecutive ranges continue without a seek.  Thread-safe."""

    def __init__(self) -> None:
        self._kept: tuple[int, Forward] | None = None
        self._lock = threading.Lock()

    def read(self, index: int, record: RecordStream, start: int, stop: int, length: int | None) -> Iterator[bytes]:
        """Bytes `[start, stop)` of the content of a record; yields fewer if it ends before.

        Raises what iterating the record raises.
        """
        with self._lock:
            kept, self._kept = self._kept, None
        if kept is None or kept[0] != index or kept[1].at > start:
            kept = index, Forward(record)
        forward = kept[1]
        forward.skip(start - forward.at)
        yield from forward.pieces(stop - start)
        if stop == length:
            forward.has(1)  # no more follows
        with self._lock:
            self._kept = kept
