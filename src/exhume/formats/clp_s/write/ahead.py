"""Blocks of input encoded beside each other, each by an encoder of its own, to be taken over in order.

Where a block of JSON begins and ends is a guess (a line that begins with a brace begins a document), and so is, of JSON
and of KV-IR streams, that nothing stops the encoder on the way.  Where the guess is wrong, the block is encoded again
behind the one before it: the archive is that of one job, and so are the errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain

from exhume.formats.clp_s.write.encoder import Encoder
from exhume.formats.clp_s.write.jsonscan import Status
from exhume.formats.clp_s.write.options import WriterOptions
from exhume.formats.clp_s.write.series import Part, begin
from exhume.formats.clp_s.write.timestamps import TimestampPatterns
from exhume.formats.kv_ir.ingest import StreamPart, cut_stream, is_kv_ir
from exhume.native.compiled import KERNEL

_NO_TARGET = (1 << 63) - 1


@dataclass(slots=True)
class Block:
    """Bytes of an input, None for its end; what they hold, where that was encoded and nothing was wrong with it.

    Of a KV-IR stream, the `part` of it that was encoded.
    """

    data: bytes | None
    encoder: Encoder | None = None
    patterns: TimestampPatterns | None = None
    part: StreamPart | None = None


def cut(pieces: Iterable[bytes | None]) -> Iterator[bytes | None]:
    """The pieces of inputs (None ends each), cut anew where a document seems to begin."""
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


def cut_apart(pieces: Iterator[bytes | None]) -> Iterator[bytes | StreamPart | None]:
    """The same, but KV-IR streams in parts that can be encoded apart."""
    for head in pieces:
        rest = iter(partial(next, pieces), None)
        if head is None:
            yield None
        elif is_kv_ir(head):
            yield from cut_stream(chain([head], rest))
            yield None
        else:
            yield from cut(chain([head], rest, [None]))


class BlockEncoders:
    """Encoders of blocks, as many as blocks are under way: what they know of schemas serves the next block."""

    def __init__(self, options: WriterOptions) -> None:
        self._options = options
        self._idle: list[tuple[Encoder, TimestampPatterns]] = []

    def encode(self, data: bytes | StreamPart | None) -> Block:
        """A block encoded on its own.  Interpreted, it is left as it is: threads would only wait for each other."""
        if isinstance(data, StreamPart):
            into = None if KERNEL is None else data.encode(partial(begin, self._options))
            return Block(data.portion.data, *into, data) if into else Block(data.portion.data)
        if data is None or KERNEL is None:
            return Block(data)
        try:
            encoder, patterns = self._idle.pop()
        except IndexError:
            encoder, patterns = begin(self._options)
        status, *_ = encoder.feed(data, 0, False, _NO_TARGET, False)
        return Block(data, encoder, patterns) if status == Status.DONE else Block(data)

    def take_over(self, part: Part, block: Block) -> bool:
        """Adds the records of a block to an archive; False, and nothing done, where they are to be encoded there."""
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
