"""Blocks of input encoded in parallel, each by an encoder of its own, then adopted in order.

A block of a plain-text log contains whole events.  Where a block of JSON begins and ends is a guess (a line that begins
with a brace begins a document), and so is, of JSON and of KV-IR streams, that nothing stops the encoder on the way.
Where the guess is wrong, the block is encoded again after the one before it: the archive is identical for any number of
jobs, and so are the errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import NamedTuple

from exhume.errors import WriterError
from exhume.formats.clp_s.write.encoder import Encoder
from exhume.formats.clp_s.write.inputs import InputKind, recognized
from exhume.formats.clp_s.write.jsonscan import Status
from exhume.formats.clp_s.write.options import WriterOptions
from exhume.formats.clp_s.write.series import OpenArchive, begin
from exhume.formats.clp_s.write.textlog import text_log
from exhume.formats.clp_s.write.timestamps import TimestampPatterns
from exhume.formats.kv_ir.ingest import StreamPart, cut_stream
from exhume.native.compiled import KERNEL

_NO_TARGET = (1 << 63) - 1


@dataclass(slots=True)
class InputBlock:
    """Bytes of an input, None for its end, and their encoding if it succeeded.

    For a KV-IR stream, the `part` of it that was encoded; for a plain-text log (`text`), whole events.
    """

    data: bytes | None
    encoder: Encoder | None = None
    patterns: TimestampPatterns | None = None
    part: StreamPart | None = None
    text: bool = False


class TextPart(NamedTuple):
    """Whole events of a plain-text log."""

    data: bytes


def cut(pieces: Iterable[bytes | None]) -> Iterator[bytes | None]:
    """The chunks of inputs (None ends each), split again where a document seems to begin."""
    held = b""
    for piece in pieces:
        if piece is None:
            if held:
                yield held
            held = b""
            yield None
            continue
        at = piece.rfind(b"\n{") + 1 or piece.rfind(b"\n") + 1 or len(piece)
        yield b"".join((held, memoryview(piece)[:at]))
        held = piece[at:]


def cut_text(pieces: Iterable[bytes], longest: int) -> Iterator[bytes | TextPart]:
    """A plain-text log, cut where events begin; after an event longer than `longest`, the pieces as they are."""
    log = text_log()
    held: list[bytes] = []  # events that may continue
    line: list[bytes] = []  # one that does
    is_stamped = False
    pieces = iter(pieces)
    for piece in pieces:
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


def cut_apart(pieces: Iterator[bytes | None], options: WriterOptions) -> Iterator[bytes | TextPart | StreamPart | None]:
    """The same, but text logs and KV-IR streams in parts that can be encoded apart."""
    kind = InputKind(options.input)
    for head in pieces:
        if head is None:
            yield None
            continue
        rest = iter(partial(next, pieces), None)
        try:
            found, rest = recognized(chain([head], rest), kind)
        except WriterError:  # reported, with the name of the input, by who takes the blocks
            yield from chain([head], rest, [None])
            continue
        if found is InputKind.IR:
            yield from cut_stream(rest)
            yield None
        elif found is InputKind.TEXT:
            yield from cut_text(rest, options.max_document_size)
            yield None
        else:
            yield from cut(chain(rest, [None]))


class BlockEncoders:
    """Encoders of blocks, as many as there are blocks in progress: schemas that they have seen are reused for the next
    block."""

    def __init__(self, options: WriterOptions) -> None:
        self._options = options
        self._idle: list[tuple[Encoder, TimestampPatterns]] = []

    def encode(self, data: bytes | TextPart | StreamPart | None) -> InputBlock:
        """A block encoded on its own.  Interpreted, it is left as it is: threads would only wait for each other."""
        if isinstance(data, StreamPart):
            into = None if KERNEL is None else data.encode(partial(begin, self._options))
            return InputBlock(data.portion.data, *into, data) if into else InputBlock(data.portion.data)
        text = isinstance(data, TextPart)
        if isinstance(data, TextPart):
            data = data.data
        if data is None or KERNEL is None:
            return InputBlock(data, text=text)
        try:
            encoder, patterns = self._idle.pop()
        except IndexError:
            encoder, patterns = begin(self._options)
        if text:
            status, *_ = text_log().feed(encoder, data, 0, True, _NO_TARGET)
        else:
            status, *_ = encoder.feed(data, 0, False, _NO_TARGET, False)
        return InputBlock(data, encoder, patterns, text=text) if status == Status.DONE else InputBlock(data, text=text)

    def adopt(self, part: OpenArchive, block: InputBlock) -> bool:
        """Add the records of a block to an archive; False, and nothing done, where they are to be encoded there."""
        if block.encoder is None or block.patterns is None or part.full:
            return False
        ids = dict(part.patterns.ids)
        numbers = [ids.setdefault(pattern, len(ids)) for pattern in block.patterns.ids]
        if not KERNEL.clps_absorb(part.encoder, block.encoder, numbers, self._options.target_encoded_size):
            return False
        part.patterns.ids.update(ids)
        if block.part is None:
            self._idle.append((block.encoder, block.patterns))
        return True
