"""The archives that a writer fills in sequence, from blocks of input that are encoded in parallel and adopted in order.

An archive grows to the target size, then the next begins.  A unit (ingestion unit) is the records of one input.

A block is a part of an input that a thread encodes on its own, with an encoder for blocks.  To adopt a block is to move
its columns and dictionaries into the archive.  A block of a plain-text log contains whole events.  The limits of a
block of JSON are a guess: a line with a brace first is taken to begin a document.  For JSON and KV-IR streams, it is
also a guess that nothing stops the encoder within the block.  If a guess is wrong, the block is encoded again, after
the one before it: the archives and the errors are identical for any number of jobs.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exhume.errors import WriterError
from exhume.formats.clp_s.write.assemble import write_archive
from exhume.formats.clp_s.write.build import UnitRange, reserve
from exhume.formats.clp_s.write.encoder import Encoder, SpillFile
from exhume.formats.clp_s.write.inputs import Input, InputKind, read_ahead, read_pieces, recognized
from exhume.formats.clp_s.write.kernel import ClpsEncoder
from exhume.formats.clp_s.write.options import WriterOptions
from exhume.formats.clp_s.write.status import Status
from exhume.formats.clp_s.write.texts import Dialect, encode_formatted_float
from exhume.formats.clp_s.write.timestamps import TimeDialect, TimestampPatterns
from exhume.io.output.atomic import AtomicDirectory, AtomicFile
from exhume.io.parallel import map_ordered
from exhume.limits import Limits
from exhume.native import KERNEL
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.formats.kv_ir.ingest import StreamPart

_PENDING: Final = 100
"""Finished archives that wait under temporary names until all are finished; more are put in place one by one."""


@dataclass(slots=True)
class Unit:
    """An ingestion unit (the records of one input) within the archive in progress.

    Attributes:
        name: Name of the input.
        properties: What else the range index states about it.
        split: Number of archives that have earlier records of the input.
        start: Its first record in the archive.
        end: One past its last record in the archive.
    """

    name: str
    properties: Mapping[str, Any]
    split: int = 0
    start: int = 0
    end: int = 0


@dataclass(slots=True)
class OpenArchive:
    """The archive in progress."""

    encoder: Encoder
    patterns: TimestampPatterns  # of its times
    units: list[Unit] = field(default_factory=list)
    consumed: int = 0  # bytes of input, for the header
    spill: SpillFile = field(default_factory=lambda: SpillFile(None))
    full: bool = False
    """Whether the target size is reached: the next record goes into another archive."""


class Series:
    """The archives of one writer: `X.clps`, then `X.1.clps` and so on, under temporary names until `finish`.

    Attributes:
        part: The archive in progress; None if there is none.
        unit: The ingestion unit that records belong to now.
        paths: The archives that are complete.
        records: Records in those.
        has_times: Whether a value of the timestamp key was stored as a time in one of them.
    """

    def __init__(self, target: Path, options: WriterOptions) -> None:
        """Start the first part at `target`; later parts have a number in their names."""
        self._target = target
        self._options = options
        self._creator = options.new_creator_id()
        self._finished: list[AtomicFile | AtomicDirectory] = []  # those of all archives, also the one in progress
        self._losses = 0  # in complete archives
        self.part: OpenArchive | None = None
        self.unit: Unit | None = None
        self.paths: list[Path] = []
        self.records: int = 0
        self.has_times: bool = False
        self._reserve(0)

    @property
    def losses(self) -> int:
        """Number of values that reading the archives does not return unchanged."""
        return self._losses + (self.part.encoder.losses if self.part else 0)

    def begin_unit(self, name: str, properties: Mapping[str, Any]) -> None:
        """Begin an ingestion unit; the one before it ends here."""
        self.unit = Unit(name, properties)
        self._join(self.current())

    def current(self) -> OpenArchive:
        """The archive in progress, begun if there is none."""
        if self.part is None:
            self.part = OpenArchive(*begin(self._options), spill=SpillFile(self._target.parent))
            self._join(self.part)
        return self.part

    def room(self) -> OpenArchive:
        """The archive that the next record goes into."""
        if self.part is not None and self.part.full:
            self._close()
        return self.current()

    def relieve(self) -> None:
        """Move columns to a temporary file if they take much memory.  Raises `SourceError`."""
        if self.part is not None:
            self.part.spill.relieve(self.part.encoder)

    def _join(self, part: OpenArchive) -> None:
        """Add the current unit to an archive; the unit before it ends there."""
        if self.unit is None or any(unit is self.unit for unit in part.units):
            return
        if part.units:
            part.units[-1].end = part.encoder.records
        self.unit.start = self.unit.end = part.encoder.records
        part.units.append(self.unit)

    def _close(self) -> None:
        """Write the archive in progress under its temporary name; the current unit continues in the next one."""
        part = self.part
        if part is None:
            return
        if part.units:
            part.units[-1].end = part.encoder.records
        if part.full and part.units and part.units[-1] is self.unit and self.unit.start == self.unit.end:
            part.units.pop()  # no record of it is here: it begins in the next archive
            self.unit.split -= 1  # to be as before when it is counted below
        self._losses += part.encoder.losses
        self.has_times = self.has_times or bool(part.encoder.time_nodes_list())
        self.records += part.encoder.records
        ranges = [UnitRange(unit.start, unit.end, self._properties(unit)) for unit in part.units]
        file = self._reserve(len(self.paths))
        self.paths.append(file.path)
        write_archive(file, part.encoder, part.patterns, self._options, ranges, part.consumed)
        self.part = None
        part.spill.close()
        if self.unit is not None:
            self.unit = Unit(self.unit.name, self.unit.properties, self.unit.split + 1)

    def _properties(self, unit: Unit) -> dict[str, Any]:
        """Return what the range index states about a unit."""
        return {
            **unit.properties,
            "_archive_creator_id": self._creator,
            "_file_split_number": unit.split,
            "_filename": unit.name,
        }

    def _reserve(self, number: int) -> AtomicFile | AtomicDirectory:
        """The temporary file or directory of archive `number`; the first is made at once, so that errors show early."""
        if number == len(self._finished):
            path = self._target
            if number:
                path = path.with_name(f"{path.stem}.{number}{path.suffix}")
            self._finished.append(reserve(path, self._options.directory, overwrite=self._options.overwrite))
            if number > _PENDING:  # the first one always waits: once it exists, so do the others
                self._finished[number - _PENDING].commit()
        return self._finished[number]

    def finish(self) -> None:
        """Complete the last archive and move all archives to their final names.

        The first archive has the requested name and comes last: once it exists, so do the others.
        """
        if self.part is None and not self.paths:
            self.current()  # without input, one empty archive
        if self.part is not None and (self.part.encoder.records or not self.paths):
            self._close()
        for file in reversed(self._finished):
            file.commit()

    def roll_back(self) -> None:
        """Remove everything that was written, including archives that have their final names already."""
        if self.part is not None:
            self.part.spill.close()
        self.part = None
        for file in self._finished:
            file.roll_back()


def begin(options: WriterOptions) -> tuple[Encoder, TimestampPatterns]:
    """Return the encoder and the timestamp patterns of a new, empty archive."""
    version = options.version_tuple
    dialect = TimeDialect.of_version(version)
    patterns = TimestampPatterns(dialect, lossy=options.allow_loss, zone_names=version != (0, 5, 0))
    encoder: Encoder = ClpsEncoder(
        core=Dialect.of_version(version) is Dialect.CORE,
        structurize=options.structurize_arrays,
        retain_floats=options.keeps_floats,
        time_nodes=version >= (0, 5, 0),
        lossy=options.allow_loss,
        max_document=options.max_document_size,
        log_order_type=options.log_order_type,
        path=options.key_path,
        root=options.key_root,
        resolve_timestamp=patterns.resolve,
        encode_float=encode_formatted_float,
    )
    return encoder, patterns


_NO_TARGET = (1 << 63) - 1
"""Target size of a block that is encoded on its own: it never ends the archive."""

ENCODES_AHEAD: Final = KERNEL is not None
"""Whether blocks are encoded on their own: only the compiled encoder takes over what another has encoded, and only it
works while other threads do."""


@dataclass(slots=True)
class InputBlock:
    """A part of an input, and its encoding if that succeeded."""

    data: bytes | None  # None ends an input
    encoder: Encoder | None = None  # with the records of the block
    patterns: TimestampPatterns | None = None  # of this encoder
    part: StreamPart | None = None  # of a KV-IR stream, if it was encoded
    text: bool = False  # whether it is whole events of a plain-text log


class TextPart(NamedTuple):
    """Whole events of a plain-text log."""

    data: bytes


def cut_json(pieces: Iterable[bytes | None]) -> Iterator[bytes | None]:
    """Yield chunks of JSON (None ends an input), divided again so that each begins where a document seems to begin."""
    held = b""
    for piece in pieces:
        if piece is None:
            if held:
                yield held
            held = b""
            yield None
            continue
        # At the last line that begins with a brace, or else at the last line, or else not at all.
        at = piece.rfind(b"\n{") + 1 or piece.rfind(b"\n") + 1 or len(piece)
        yield b"".join((held, memoryview(piece)[:at]))
        held = piece[at:]


def cut_text(pieces: Iterable[bytes], longest: int) -> Iterator[bytes | TextPart]:
    """Yield a plain-text log in parts of whole events.

    After an event longer than `longest` bytes, the chunks are passed on as they are: that event will be rejected.
    """
    from exhume.formats.clp_s.write.textlog import text_log  # JSON does without

    log = text_log()
    held: list[bytes] = []  # complete lines from the start of an event on, which the next line may continue
    line: list[bytes] = []  # the parts of a line that is not complete
    is_stamped = False  # whether a timestamp was seen: without any, each line is an event
    pieces = iter(pieces)
    for piece in pieces:
        # Add the piece to the line that is not complete; if a line ends in it, cut before the last timestamp.
        end = piece.rfind(b"\n") + 1
        line.append(piece[:end] if end else piece)
        if end:
            lines = b"".join(line)
            at = log.last(lines)
            is_stamped = is_stamped or at >= 0
            if at > 0 or not is_stamped:
                at = at if is_stamped else len(lines)
                yield TextPart(b"".join((*held, memoryview(lines)[:at])))
                held, lines = [], lines[at:]
            elif at == 0 and held:
                yield TextPart(b"".join(held))
                held = []
            held.append(lines)
            line = [piece[end:]]
        if sum(map(len, held)) + sum(map(len, line)) > longest:
            yield from (*held, *line)
            yield from pieces
            return
    yield TextPart(b"".join((*held, *line)))


def cut_apart(
    pieces: Iterator[bytes | None], options: WriterOptions, limits: Limits
) -> Iterator[bytes | TextPart | StreamPart | None]:
    """Yield chunks of inputs by their kind (None ends an input): JSON as `cut_json` does, text logs and KV-IR streams
    in parts that can be encoded in parallel.
    """
    kind = InputKind(options.input)
    for head in pieces:
        if head is None:
            yield None
            continue
        rest = iter(partial(next, pieces), None)  # the other chunks of the input, up to its None
        try:
            found, rest = recognized(chain([head], rest), kind)
        except WriterError:  # the consumer of the blocks recognizes it again, and raises with the name of the input
            yield from chain([head], rest, [None])
            continue
        if found is InputKind.IR:
            # Imported only for streams: most inputs are logs.
            from exhume.formats.kv_ir.chunks import LEAST_LIMIT
            from exhume.formats.kv_ir.ingest import cut_stream

            # Under a lower limit, events may exceed it: they are read in sequence, which examines their sizes.
            yield from cut_stream(rest) if limits.payload_size >= LEAST_LIMIT else rest
            yield None
        elif found is InputKind.TEXT:
            yield from cut_text(rest, options.max_document_size)
            yield None
        else:
            yield from cut_json(chain(rest, [None]))


class BlockEncoders:
    """Encoders of blocks, as many as there are blocks in progress at a time.

    They are used again, because the schemas that an encoder knows make the next block faster.
    """

    def __init__(self, options: WriterOptions) -> None:
        self._options = options
        self._idle: list[tuple[Encoder, TimestampPatterns]] = []

    def blocks(self, sources: Iterable[Input], limits: Limits) -> Iterator[InputBlock]:
        """Yield the blocks of the inputs, and one without data after each input; with several jobs, encoded already."""
        jobs = self._options.jobs
        with closing(self._pieces(sources, limits)) as pieces:
            if jobs == 1:
                yield from map(InputBlock, pieces)
            else:
                yield from map_ordered(self.encode, cut_apart(pieces, self._options, limits), jobs)

    def _pieces(self, sources: Iterable[Input], limits: Limits) -> Generator[bytes | None]:
        """The content of the inputs in chunks, with None after each input.

        `as_is`: an input that the caller declares to be text or JSON is not searched for a stream of text to convert.
        """
        jobs, as_is = self._options.jobs, self._options.input in ("text", "json")
        if jobs == 1:
            for source in sources:
                yield from read_pieces(source, as_is=as_is, limits=limits)
                yield None
        else:
            yield from read_ahead(sources, jobs, as_is=as_is, limits=limits)

    def encode(self, data: bytes | TextPart | StreamPart | None) -> InputBlock:
        """Encode a block on its own, in a thread of the caller.  Without `ENCODES_AHEAD` it is returned as it is."""
        text = isinstance(data, TextPart)
        if isinstance(data, TextPart):
            data = data.data
        if not isinstance(data, bytes | None):  # a part of a KV-IR stream has its own decoder, which keeps the encoder
            # `(encoder, patterns)`; None if something in the part stops the encoder.
            into = data.encode(partial(begin, self._options)) if ENCODES_AHEAD else None
            return InputBlock(data.chunk.data, *into, data) if into else InputBlock(data.chunk.data)
        if data is None or not ENCODES_AHEAD:
            return InputBlock(data, text=text)
        try:
            encoder, patterns = self._idle.pop()
        except IndexError:
            encoder, patterns = begin(self._options)
        if text:
            from exhume.formats.clp_s.write.textlog import text_log

            status, *_ = text_log().feed(encoder, data, 0, True, _NO_TARGET)
        else:
            status, *_ = encoder.feed(data, 0, False, _NO_TARGET, False)
        return InputBlock(data, encoder, patterns, text=text) if status == Status.DONE else InputBlock(data, text=text)

    def adopt(self, part: OpenArchive, block: InputBlock) -> bool:
        """Add the records of an encoded block to an archive.

        Returns False if they have to be encoded again there, because the archive is full or nothing was encoded.
        """
        if block.encoder is None or block.patterns is None or part.full:
            return False
        # Patterns are numbered again: `numbers` has the archive's id of each pattern of the block.
        ids = dict(part.patterns.ids)
        numbers = [ids.setdefault(pattern, len(ids)) for pattern in block.patterns.ids]
        if not KERNEL.clps_absorb(part.encoder, block.encoder, numbers, self._options.target_encoded_size):
            return False
        part.patterns.ids.update(ids)
        if block.part is None:  # the encoder of a part of a stream stays with its decoder
            self._idle.append((block.encoder, block.patterns))
        return True
