"""JSON text in, clp-s columns out: the interface of an encoder, compiled or interpreted, and what it moves to files.

A record is scanned as a whole first (`jsonscan`), then its nodes are looked up in the schema tree, then its values are
appended to the columns of its schema; a record that is rejected leaves no trace.  A schema is the list of nodes of a
record, and a table has the columns of all records with one schema.

Parts of columns, and compressed frames that wait for the header, are moved out of memory into temporary files (spilled)
when there are many; the bytes of the archive do not depend on it.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final, Protocol

from exhume.codecs.common import Buffer
from exhume.io.output.scratch import scratch_file
from exhume.io.source import STREAM_CHUNK

GROWTH: Final = 64 << 20
"""Bytes by which an encoder grows between two moves of its columns to a file."""

LEAST: Final = 4 << 10
"""Size in bytes from which on a column is moved; smaller ones stay in memory."""

HELD: Final = 16 << 20
"""Most bytes of frames that are kept in memory."""


class GrowingEncoder(Protocol):
    """An encoder as `SpillFile` uses it; see `encoder.Encoder`."""

    @property
    def size(self) -> int:
        """Size of its columns in bytes."""

    def spill(self, spill: SpillFile, least: int) -> None:
        """Move columns of at least `least` bytes to `spill`.  Raises `SourceError`."""


class SpillFile:
    """A temporary file for the columns of one archive; `folder` is where it is made when it is first needed."""

    def __init__(self, folder: Path | None) -> None:
        """Spill into a temporary file in `folder`, made when first needed; None for the system's."""
        self._folder = folder
        self._file: BinaryIO | None = None
        self._end = 0  # size of the file
        self._last = 0  # size of the encoder when its columns were moved last
        self._lock = threading.Lock()

    def relieve(self, encoder: GrowingEncoder) -> None:
        """Move columns of an encoder here if it has grown enough since the last time.  Raises `SourceError`."""
        if encoder.size - self._last >= GROWTH:
            self._last = encoder.size
            encoder.spill(self, LEAST)

    def write(self, data: Buffer) -> int:
        """Append bytes and return their offset.  Raises `SourceError`."""
        with self._lock:
            if self._file is None:
                self._file = scratch_file(self._folder)
            at = self._end
            self._file.seek(at)
            self._file.write(data)
            self._end += len(data)
        return at

    def read_at(self, offset: int, size: int) -> bytes:
        """Return bytes that were written, none after `close`.  Any number of threads may call it."""
        with self._lock:
            if self._file is None:
                return b""
            self._file.seek(offset)
            return self._file.read(size)

    def close(self) -> None:
        """Remove the file; harmless to repeat."""
        with self._lock:
            if self._file is not None:
                self._file.close()
            self._file = None


class Frames:
    """The frames of a section, in memory up to `HELD` bytes, then in a temporary file."""

    def __init__(self, folder: Path | None) -> None:
        """Keep compressed frames in memory, then in a temporary file in `folder`."""
        self._folder = folder
        self._held: list[bytes] = []
        self._file: BinaryIO | None = None
        self.size: int = 0
        """Bytes of all frames."""

    def add(self, frames: Iterable[bytes]) -> None:
        """Append frames.  Raises `SourceError`."""
        for frame in frames:
            self.size += len(frame)
            if self._file is None:
                self._held.append(frame)
                if self.size > HELD:
                    self._file = scratch_file(self._folder)
                    self._file.writelines(self._held)
                    self._held = []
            else:
                self._file.write(frame)

    def __iter__(self) -> Iterator[bytes]:
        """Yield the compressed bytes, from memory or from the temporary file."""
        if self._file is None:
            yield from self._held
            return
        self._file.seek(0)
        yield from iter(partial(self._file.read, STREAM_CHUNK), b"")


ResolvedTime = tuple[int, int, tuple[bytes, int] | None, bool]
"""`(epoch, pattern, program, is_lost)`: a value of the timestamp key as a time.

`epoch`: the time since 1970, in the archive's unit; `pattern`: id of the pattern that prints it, negative: store the
value as an ordinary one; `program`: the pattern for the compiled encoder, which then parses such times itself; None if
it cannot; `is_lost`: whether the text is not printed the same.
"""

ResolveTimestamp = Callable[[bytes, bool], ResolvedTime | None]
"""Called with `(text of a value of the timestamp key, whether it is a string)`; None rejects the record."""


class Encoder(Protocol):
    """Interface of an encoder for a writer.

    The constructor takes `core` (text dialect), `structurize` (open arrays up), `retain_floats`, `time_nodes`
    (timestamps as from 0.5.0), `lossy` (accept, as upstream does, what does not come back the same),
    `max_document` (bytes), `log_order_type` (node type of log_event_idx, or None for none), `path`
    (unescaped keys of the timestamp key), `root` (the key of the root that it is below), `resolve_timestamp` and
    `encode_float` (see `texts.encode_formatted_float`).
    """

    records: int
    """Records accepted."""
    losses: int
    """Values of accepted records that do not come back the same."""
    size: int
    """Bytes of columns and dictionaries, uncompressed, as upstream counts them for its target size."""
    # Values of the timestamp key: whether any was an integer, or a float, and the least and greatest of each kind.
    saw_integer_time: bool
    saw_float_time: bool
    time_min: int
    time_max: int
    float_time_min: float
    float_time_max: float

    def feed(self, data: bytes, start: int, final: bool, target: int, single: bool) -> tuple[int, int, int, bool]:
        """Encode documents from `start` on until something stops it.

        Args:
            data: The text; the caller keeps what was not consumed and passes it again with more.
            start: Offset of the first document.
            final: Whether nothing follows `data`.
            target: Stop with SPLIT once `size` has reached this.
            single: Whether `data` must be exactly one document (and is rejected as a whole if it is not).

        Returns:
            `(status, start, stop, is_complete)`: a `status.Status`; the start of the first document not encoded (or
            the end of the data); the offset at which scanning stopped; and whether that is the document's end.  Then
            it was rejected for its content, not its syntax.
        """

    def nodes_list(self) -> list[tuple[int, bytes, int]]:
        """`(parent id, key, type)` of every node of the schema tree, by id."""

    def time_nodes_list(self) -> list[int]:
        """The ids of the nodes with values of the timestamp key."""

    def dictionary(self, which: int) -> tuple[int, int]:
        """`(number of entries, bytes)` of the variable (0), log type (1) or array dictionary (2)."""

    def entries(self, which: int, start: int, stop: int) -> bytes:
        """Bytes of a dictionary (`which` as for `dictionary`) from one offset to another."""

    def num_schemas(self) -> int:
        """Number of schemas, which is also the number of tables."""

    def schema(self, index: int) -> tuple[list[int], int, int, list[int]]:
        """`(entries, number of ordered entries, records, sizes of the table's columns in bytes)` of one schema."""

    def sizes(self) -> tuple[bytes, bytes]:
        """The sizes in bytes (an array of uint64) and the numbers of records (of int64) of all tables."""

    def spill(self, spill: SpillFile, least: int) -> None:
        """Move columns of `least` bytes or more into a temporary file, which serves as long as the encoder is used.

        A pure-Python encoder keeps them.
        """

    def columns(self, indices: list[int], start: int, stop: int) -> bytes:
        """Bytes of the tables `indices`, taken to be back to back, from one offset to another."""


@dataclass(frozen=True, slots=True)
class LeafValue:
    """A value of a record that is not JSON.

    Attributes:
        keys: The keys that lead to it, the key of its root first.
        type: Its node type.
        text: The value as text, also of numbers.
        number: Integers, booleans (0 or 1), and the `double_bits` of floats.
        exact: For a float: whether the archive, if it retains floats, is to keep this text.
    """

    keys: tuple[bytes, ...]
    type: int
    text: bytes = b""
    number: int = 0
    exact: bool = False


def double_bits(number: float) -> int:
    """The eight bytes of a double as an integer."""
    return array("Q", array("d", [number]).tobytes())[0]
