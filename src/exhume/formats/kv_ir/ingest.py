"""Events of a stream into clp-s archives: the stream is pushed in as it comes, the archive may change in between."""

from __future__ import annotations

from typing import Any

from exhume.errors import ExhumeError, Span
from exhume.formats.kv_ir import checks
from exhume.formats.kv_ir.kernel import KvIrDecoder
from exhume.formats.kv_ir.layout import MAGIC_SIZE, MAGICS, MAX_PREAMBLE, misfit, parse_metadata, parse_preamble
from exhume.formats.kv_ir.units import How, Status


def is_kv_ir(head: bytes) -> bool | None:
    """Whether a decompressed input is a stream; None while more bytes are needed to tell."""
    if len(head) < MAGIC_SIZE and any(magic.startswith(head) for magic in MAGICS):
        return None
    return head[:MAGIC_SIZE] in MAGICS


class Ingest:
    """A stream on its way into archives.

    Attributes:
        metadata: What whoever wrote the stream said about it; None until the preamble is there.
        at: How many bytes of the stream were taken.
        events: How many events were met, those that were refused included.
        ended: Whether the end of the stream was met: what follows it is ignored.
    """

    def __init__(self, name: str, *, exact: bool = False) -> None:
        """`exact`: floats keep all digits and pairs their order; `clp-s` prints six digits, in an order of its own."""
        self.name, self._exact = name, exact
        self.metadata: dict[str, Any] | None = None
        self.at = self.refused = 0
        self.ended = False
        self._decoder = KvIrDecoder()
        self._encoder: Any = None
        self._data = b""

    @property
    def events(self) -> int:
        return int(self._decoder.events) + self.refused

    def push(self, piece: bytes, *, final: bool) -> None:
        """Adds bytes of the stream.  Raises what is wrong with its preamble."""
        self._data += piece
        if self.metadata is None and (final or len(self._data) >= MAX_PREAMBLE):
            where = Span(self.name, 0, len(self._data))
            preamble = parse_preamble(self._data, where)
            self.metadata = parse_metadata(preamble, where).get("USER_DEFINED_METADATA", {})
            self._leave(preamble.size)

    def run(self, encoder: Any, target: int, *, final: bool) -> tuple[Status, ExhumeError | None]:
        """Encodes what is there until something stops it: `MORE`, `END`, `FULL` (another archive is to be begun),
        `RECORD` (the encoder refuses an event for what `encoder_fault` says) or what an error goes with.

        An event that is refused is passed over; behind any other error nothing more is read.
        """
        if self.metadata is None:
            return Status.MORE, None
        if encoder is not self._encoder:
            self._decoder.encode_into(encoder, self._exact)
            self._encoder = encoder
        status, after, place, stop = self._decoder.run(self._data, 0, len(self._data), self.at, How.ENCODE, target)
        base = self.at
        if status in (Status.RECORD, Status.NO_ROOM):
            self._leave(after)
            if status == Status.RECORD:
                self.refused += 1
                self._leave(stop - after)
            return Status(status), None
        if status in (Status.MORE, Status.END, Status.FULL):
            wrong = misfit(self._data, place) if status == Status.MORE and place < len(self._data) else None
            bad_tag = wrong is not None and not wrong.short and wrong.path == "tag"
            cut = status == Status.MORE and final
            self._leave(after)
            if bad_tag or cut:
                rule = checks.UNKNOWN_TAG if bad_tag else checks.UNIT_CUT if self._data else checks.NO_END
                self.ended = True
                span = Span(self.name, base + place, base + place + 1)
                return Status.MORE, rule.error(span=span)
            self.ended = status == Status.END
            return Status(status), None
        span = Span(self.name, base + place, base + (stop if stop >= 0 else place + 1))
        error = checks.OF_STATUS[status].error(span=span)
        if stop < 0 or status in checks.LOSES_COUNT:
            self.ended = True
            self._leave(after)
        else:
            self.refused += 1
            self._leave(stop)
        return Status(status), error

    @property
    def encoder_fault(self) -> int:
        """Why the encoder refused an event."""
        return int(self._decoder.refused)

    def _leave(self, size: int) -> None:
        self._data = self._data[size:]
        self.at += size
