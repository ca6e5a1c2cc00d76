"""A stream converted to clp-s archives in memory, so that their queries, projections and counts work on it too.

Records keep the order of the events, and floats keep every digit.  Each archive has about `SIZE` bytes of columns, so
that a stream of any length can be processed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from exhume.errors import ExhumeError
from exhume.formats.clp_s.read.template import Roots
from exhume.formats.clp_s.reader import ClpSArchive
from exhume.formats.clp_s.write.assemble import parts_of_archive
from exhume.formats.clp_s.write.jsonscan import REASONS
from exhume.formats.clp_s.write.jsonscan import Status as Refusal
from exhume.formats.clp_s.write.options import WriterOptions
from exhume.formats.clp_s.write.series import begin
from exhume.formats.kv_ir import checks
from exhume.formats.kv_ir.ingest import Ingest
from exhume.formats.kv_ir.stream import Stream
from exhume.formats.kv_ir.units import AUTO, USER, Status
from exhume.io.source import BytesSource

if TYPE_CHECKING:
    from exhume.formats.kv_ir.reader import KvIrArchive

SIZE = 64 << 20

ROOTS: dict[str, Roots] = {
    "user": ((b"", None),),
    "auto": ((b"@", None),),
    "both": ((b"@", AUTO.encode()), (b"", USER.encode())),
}
"""Which roots of the schema tree are printed for which pairs."""


def archives(stream: KvIrArchive, timestamp_key: str | None = None, size: int = SIZE) -> Iterator[ClpSArchive]:
    """Yields archives that together hold the events of a stream, in their order.

    `timestamp_key` names the key whose values are times, as in `@timestamp.unix_millisecs`.  Raises the error of the
    first damage once the events before it were yielded, and `WriterError` for a `timestamp_key` that is not a key path.
    """
    options = WriterOptions(timestamp_key=timestamp_key, level=1, target_encoded_size=size)
    events = Ingest(stream.name, exact=True)
    made = begin(options)
    problem: ExhumeError | None = None

    def finished() -> ClpSArchive:
        encoder, patterns = made
        ranges: list[tuple[int, int, dict[str, Any]]] = [(0, encoder.records, {"_filename": stream.name})]
        head, sections = parts_of_archive(encoder, patterns, options, ranges, 0)
        data = b"".join([head, *(piece for pieces in sections for piece in pieces)])
        return ClpSArchive(BytesSource(data, stream.name), limits=stream.limits)

    for piece in _pieces(stream):
        if isinstance(piece, ExhumeError):
            problem = piece
        else:
            events.push(piece, final=not piece)
        while problem is None and not events.ended:
            status, problem = events.run(made[0], size, final=not piece)
            if status == Status.RECORD:
                problem = checks.VALUE_TYPE.error(REASONS[Refusal(events.encoder_fault)], span=stream.stream.span(0, 0))
            if status not in (Status.FULL, Status.NO_ROOM) or problem is not None or not made[0].records:
                break
            yield finished()
            made = begin(options)
        if problem is not None or events.ended:
            break
    if made[0].records:
        yield finished()
    if problem is not None:
        raise problem


def _pieces(stream: KvIrArchive) -> Iterator[bytes | ExhumeError]:
    """The bytes of a stream in pieces; the last one is empty, or the error of the zstd frame around them."""
    try:
        yield from Stream(stream.source).pieces()
    except ExhumeError as error:
        yield error
    else:
        yield b""
