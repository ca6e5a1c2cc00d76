"""A stream converted to clp-s archives in memory, so that their queries, projections and counts work on it too.

Records keep the order of the events, and floats keep every digit.  Each archive has about `SIZE` bytes of columns, so
that a stream of any length can be processed.  With several jobs, blocks of the stream are encoded in other threads; the
archive then adopts (takes over) their columns.  A growing stream is one that its logger is still writing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from exhume.counts import counted
from exhume.errors import ExhumeError, Span
from exhume.formats.clp_s.layout import SchemaTree, TimestampRange
from exhume.formats.clp_s.layout_schemas import ROOT
from exhume.formats.clp_s.read.template import Roots
from exhume.formats.clp_s.reader import ClpSArchive
from exhume.formats.clp_s.write.assemble import parts_of_archive
from exhume.formats.clp_s.write.build import UnitRange
from exhume.formats.clp_s.write.options import WriterOptions
from exhume.formats.clp_s.write.series import BlockEncoders, InputBlock, OpenArchive, begin
from exhume.formats.clp_s.write.status import REASONS
from exhume.formats.clp_s.write.status import Status as Refusal
from exhume.formats.kv_ir import checks
from exhume.formats.kv_ir.ingest import Ingest, cut_stream
from exhume.formats.kv_ir.stream import Stream
from exhume.formats.kv_ir.units import AUTO, USER, Status
from exhume.io.parallel import map_ordered
from exhume.io.source import BytesSource
from exhume.limits import DEFAULT_LIMITS, Limits, cpu_count

if TYPE_CHECKING:
    from exhume.formats.kv_ir.model import OpenStream

SIZE = 64 << 20  # bytes of columns per archive

ROOTS: dict[str, Roots] = {
    "user": ((b"", None),),
    "auto": ((b"@", None),),
    "both": ((b"@", AUTO.encode()), (b"", USER.encode())),
}
"""For each choice of pairs, the roots of the schema tree that are printed: `(key of the root, member)`.

The logger's pairs have the root `@`, those of the user the one without a name.  A member None stands for the record
itself.
"""


class Known:
    """The keys of a stream, whichever of its archives has them.

    They matter to `NOT a: *`, which no record matches if no record has an `a`, and to columns and times that a command
    names.
    """

    def __init__(self, again: Callable[..., Iterator[ClpSArchive]], growing_key: str | None) -> None:
        """Know none yet.

        `again(known=self)` makes all archives of the stream once more.  `growing_key`: of a stream that grows, which is
        read only once, the key of times, "" without one; None for any other stream.
        """
        self._again = again if growing_key is None else None
        self.growing_key = growing_key
        self._nodes: dict[tuple[int, bytes, int], int] = {}  # number of a node by its parent, key and type
        self.ranges: Sequence[TimestampRange] = ()

    def add(self, archive: ClpSArchive) -> None:
        """Add what an archive has."""
        tree, places = archive.schema_tree, {ROOT: ROOT}  # by node of the archive: the number here
        for node, (parent, key, kind) in enumerate(zip(tree.parents, tree.keys, tree.types, strict=True)):
            places[node] = self._nodes.setdefault((places[parent], key, kind), len(self._nodes))
        self.ranges = self.ranges or archive.timestamp_ranges

    def complete(self) -> None:
        """Add what the rest of the stream has, for which all of it is read again, once."""
        again, self._again = self._again, None
        if again is not None:
            with suppress(ExhumeError):  # the first pass raises it in its place
                for _ in again(known=self):  # each adds its keys
                    pass

    def note_complete(self) -> None:
        """Note that there is nothing more to add."""
        self._again = None

    def added_to(self, tree: SchemaTree) -> SchemaTree:
        """A tree with its own nodes first, then all others that are known."""
        nodes = {triple: node for node, triple in enumerate(zip(tree.parents, tree.keys, tree.types, strict=True))}
        places = {ROOT: ROOT}
        for number, (parent, key, kind) in enumerate(self._nodes):
            places[number] = nodes.setdefault((places[parent], key, kind), len(nodes))
        return SchemaTree(*map(list, zip(*nodes, strict=True)))


class StreamArchive(ClpSArchive):
    """An archive of a part of a stream; `known` is what all parts have."""

    def __init__(self, source: BytesSource, limits: Limits, known: Known) -> None:
        super().__init__(source, limits=limits)
        self._known, self.growing = known, known.growing_key is not None
        known.add(self)

    @property
    def known(self) -> Known:
        return self._known

    @property
    def known_tree(self) -> SchemaTree:
        """Schema tree with the keys of the other parts of the stream as well: a query may name any of them."""
        self._known.complete()
        return self._known.added_to(self.schema_tree)

    @property
    def known_ranges(self) -> Sequence[TimestampRange]:
        """Timestamp ranges of the whole stream, by which a query finds the timestamp key."""
        if self.timestamp_ranges:
            return self.timestamp_ranges
        if self._known.growing_key:  # the first time may be yet to come
            return (TimestampRange(self._known.growing_key.encode(), (), 0, None, None),)
        self._known.complete()
        return self._known.ranges


def archives(
    stream: OpenStream,
    timestamp_key: str | None = None,
    size: int | None = None,
    *,
    jobs: int = 1,
    pieces: Iterator[bytes] | None = None,
    known: Known | None = None,
) -> Iterator[StreamArchive]:
    """Yield archives that together contain the events of a stream, in their order, each of about `size` bytes
    (`SIZE` unless given), which know the keys of all of them.

    `timestamp_key` names the key whose values are times, as in `@timestamp.unix_millisecs`.  `jobs` threads encode
    parts of the stream and compress the archives (0: one per core); the archives are identical for any number.  Raises
    the error of the first event that cannot be read once all others were yielded, the error of other damage once the
    events before it were, and `WriterError` for a `timestamp_key` that is not a key path.

    `pieces` are the bytes of a growing stream; an empty chunk means that more is waited for, and yields what came
    before it as an archive.  Such a stream, whose end may be far away, is read up to the first damage of any kind.
    Without `pieces`, the stream's file is read.

    `known` collects the keys of a further pass, which reports nothing after the end of the stream.
    """
    size = size or SIZE
    # What these archives contain was in memory: a lower limit would only keep an intact event from being searched.
    limits = stream.limits._replace(payload_size=max(stream.limits.payload_size, DEFAULT_LIMITS.payload_size))
    options = WriterOptions(timestamp_key=timestamp_key, level=1, target_encoded_size=size, jobs=jobs)
    events = Ingest(stream.name, exact=True, limits=limits)
    encoders = BlockEncoders(options)
    made = OpenArchive(*begin(options))
    problem: ExhumeError | None = None  # the first error, raised after all events
    final = False  # whether no bytes follow
    again = partial(archives, stream, timestamp_key, size, jobs=jobs)
    together = known or Known(again, None if pieces is None else timestamp_key or "")

    stops_at_damage = pieces is not None
    pauses = False  # whether the block is the empty chunk before a wait
    source = Stream(stream.source) if pieces is None else None
    blocks = _blocks(source, encoders, jobs) if source else _growing(pieces or iter(()))
    # Take the next block: already encoded, or as bytes, or the error after them.
    for block in blocks:
        failure: ExhumeError | None = None  # of reading the bytes, while events before it may be in memory
        if isinstance(block, ExhumeError):
            failure = block
            events.push(b"", final=False, wait=False)  # encode these events now
        elif block.part is not None and events.expects(block.part) and encoders.adopt(made, block):
            events.pass_over(block.part)
            continue
        else:
            final, pauses = block.data is None, pieces is not None and block.data == b""
            events.push(block.data or b"", final=final, wait=not pauses)
        # Encode the bytes that were pushed.  When the archive is full, or at a pause, finish it and begin a new one.
        while not events.ended and not (problem and stops_at_damage):
            status, fault = _encoded(events, made, size, final=final)
            if fault is not None:  # the event is left out, or reading ends
                problem = fault if events.ended else problem or fault
                continue
            is_pause = pauses and status == Status.MORE
            if not is_pause and status not in (Status.FULL, Status.NO_ROOM):  # it needs the next block, or has ended
                break
            if not made.encoder.records:
                break
            yield from _once(_archive(made, options, stream, limits, together))
            made = OpenArchive(*begin(options))
        problem = problem or failure
        if failure is not None or events.ended or (problem and stops_at_damage):
            break
    if made.encoder.records:
        together.note_complete()
        yield from _once(_archive(made, options, stream, limits, together))
    if problem is not None:
        raise problem
    if known is None:
        _expect_end(stream, events, blocks, source)


def _encoded(events: Ingest, made: OpenArchive, size: int, *, final: bool) -> tuple[Status, ExhumeError | None]:
    """Encode events that were pushed, as `Ingest.run` does; an event that the archive cannot store is an error, too."""
    status, fault = events.run(made.encoder, size, final=final)
    if status == Status.RECORD:
        fault = checks.VALUE_TYPE.error(REASONS[Refusal(events.encoder_fault)], span=Span(events.name, 0, 0))
    return status, fault


def _archive(
    made: OpenArchive, options: WriterOptions, stream: OpenStream, limits: Limits, known: Known
) -> StreamArchive:
    """Write an archive of a part of a stream into memory, and open it."""
    ranges = [UnitRange(0, made.encoder.records, {"_filename": stream.name})]
    head, sections = parts_of_archive(made.encoder, made.patterns, options, ranges, original_size=0)
    data = b"".join([head, *(piece for pieces in sections for piece in pieces)])
    return StreamArchive(BytesSource(data, stream.name), limits, known)


def _once(archive: StreamArchive) -> Iterator[StreamArchive]:
    """Yield an archive, and release it when the caller takes the next one.

    Its objects refer to each other: only the garbage collector would free them, perhaps after dozens of archives.
    """
    yield archive
    archive.close()
    vars(archive).clear()


def _expect_end(
    stream: OpenStream, events: Ingest, blocks: Iterator[InputBlock | ExhumeError], source: Stream | None
) -> None:
    """Report bytes after the end of a stream, once the end was read.

    The remaining blocks are taken from `blocks`; `source` is None for a growing stream, for which only bytes that are
    there count. Raises the error of a zstd frame.
    """
    if not events.ended:
        return
    start, size = events.at, events.left
    for block in blocks:
        if isinstance(block, ExhumeError):
            raise block
        if source is None and not block.data:
            break
        size += len(block.data or b"")
    error = source.after_frames() if source is not None else None
    if size:
        span = stream.stream.span(start, start + size)
        error = checks.TRAILING_BYTES.error(span=span, actual=counted(size, "bytes"))
    if error is not None:
        if stream.on_omitted is None:
            raise error
        stream.on_omitted(error)


def _growing(pieces: Iterator[bytes]) -> Iterator[InputBlock | ExhumeError]:
    """The bytes of a stream that grows; the last block is the error of the zstd frame around them, if there is one."""
    try:
        yield from map(InputBlock, pieces)
    except ExhumeError as error:
        yield error


def _blocks(stream: Stream, encoders: BlockEncoders, jobs: int) -> Iterator[InputBlock | ExhumeError]:
    """Yield the bytes of a stream in blocks, with several jobs already encoded.

    The last one is empty, or is the error of the zstd frame.
    """
    pieces = stream.pieces()
    try:
        if (jobs or cpu_count()) == 1:
            yield from map(InputBlock, pieces)
        else:
            yield from map_ordered(encoders.encode, cut_stream(pieces, exact=True), jobs)
    except ExhumeError as error:
        yield error
    else:
        yield InputBlock(None)
