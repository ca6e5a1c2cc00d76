"""Messages: from stored bytes to the bytes that were logged, and from those to values.

A message of a compressed column (a group of channels with one codec) is stored as a compressed stream and a footer of a
few bytes, which states size and codec.  A split is a file of messages.  The value of a message is decoded rbuf.

Spec: compression footer; rbuf wire format.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from exhume import codecs
from exhume.codecs.blocks import LZ4_FRAME_MAGIC
from exhume.codecs.zstd import ZSTD_MAGIC
from exhume.errors import CodecError, ExhumeError, LimitExceededError, Span, UnsupportedFeatureError
from exhume.findings import Finding, Severity
from exhume.formats.ark import assumptions
from exhume.formats.ark.checks import (
    BARE_FRAME,
    COLUMN_CODEC,
    FOOTER_CODEC,
    FOOTER_OTHER,
    MESSAGE_TRAILER,
    MESSAGE_TRAILING,
    NO_DECODE,
)
from exhume.formats.ark.layout import (
    CODEC_NAMES,
    CODEC_NUMBERS,
    MESSAGE_FOOTER_FIELDS,
    MESSAGE_FOOTER_SIZE,
    TRAILER_MAGIC_BYTES,
    LayoutError,
    flat_message_footer,
    parse_message_footer,
    parse_serializable_file,
)
from exhume.formats.ark.rbuf.decoder import Decoder
from exhume.formats.ark.rbuf.wire import Note
from exhume.io.values import LargeValue
from exhume.limits import Limits
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.formats.ark.log import ArkLog
    from exhume.formats.ark.splits import Split
    from exhume.io.source import Source

_PAYLOAD_CODECS: Final = {number: "zstd-frame" if name == "zstd" else name for number, name in CODEC_NAMES.items()}
"""Names in `codecs.CODECS` of the codecs in footers; a message is one zstd frame."""


LARGE: Final = 1 << 20
"""Stored bytes above which a message is not copied without need."""

MOST_PAYLOADS: Final = 1 << 27
"""Bytes of decompressed messages that `Decompressor.payloads` returns at most."""


class ArkMessage(NamedTuple):
    """One message: indexed time (ns of the log's steady clock), channel name, bytes, decoded value.

    `value` is None when decoding was not requested or the channel has no registry.  `latched` marks a replayed message
    from before the start of the query.  `identifier` is the channel's GUID; `split`, `offset` and `stored_size` say
    where the message came from.
    """

    time_ns: int
    channel: str
    data: bytes
    value: dict[str, Any] | None
    latched: bool
    identifier: str
    split: str
    offset: int
    stored_size: int


def large_data(message: ArkMessage) -> LargeValue | None:
    """The data of a message that is above the limit `payload_size`, of a query that requests such messages."""
    data: object = message.data
    return data if isinstance(data, LargeValue) else None


def message_json(message: ArkMessage) -> dict[str, Any]:
    """The JSON object of one message; without a schema for the channel, it has `data` instead of `value`."""
    out: dict[str, Any] = {"time_ns": message.time_ns, "channel": message.channel}
    if message.latched:
        out["latched"] = True
    if message.value is not None:
        out["value"] = message.value
    else:
        out["data"] = message.data
    return out


def column_codec(compression: str) -> str:
    """The codec name of a column's compression type; raises the error of rule ARK-406 for an unknown one."""
    name = compression.strip().lower()
    if name in ("none", "null") or (name == "" and assumptions.EMPTY_COMPRESSION_IS_NONE):
        return "none"
    if name not in CODEC_NUMBERS:
        raise COLUMN_CODEC.error(expected=f"one of {', '.join(CODEC_NUMBERS)}", actual=compression)
    return name


class Decompressor:
    """Decompresses the stored messages of one column.

    Each message is decoded according to its own footer.  The fast path handles the usual codecs without building spans;
    a message that fails there is decoded again with full checks.
    """

    def __init__(self, codec: str, limits: Limits) -> None:
        self.codec = codec
        self._limits = limits
        self._least = limits.payload_budget(0)  # the budget of every message, whatever its stored size
        self._number = CODEC_NUMBERS[codec]

    def decode(self, stored: bytes, span: Callable[[], Span], findings: list[Finding] | None = None) -> bytes:
        """The message held in `stored`; `span` makes its place, and is called only for errors and findings.

        Raises the errors of rules ARK-401, ARK-402, ARK-404 and `LimitExceededError`; appends ARK-403 and ARK-405 to
        `findings`.
        """
        size = len(stored)
        # With `findings`, a codec that differs from the column's is noted, which `_careful` does.
        if size >= MESSAGE_FOOTER_SIZE:
            try:
                _, unpacked, number, _ = flat_message_footer(stored, size - MESSAGE_FOOTER_SIZE, size)
                if number == self._number or findings is None:
                    return self._payload(stored, unpacked, number)
            except (LayoutError, CodecError, LimitExceededError, KeyError):
                pass
        return self._careful(stored, span(), findings)

    def pieces(self, source: Source, start: int, stop: int) -> Iterator[bytes]:
        """The message stored in `[start, stop)` of a file in chunks, whatever its size.

        Raises the errors of rules ARK-401, ARK-402 and ARK-404, and `LimitExceededError` above the limit `expansion`.
        """
        from exhume.codecs.passing import PayloadStream

        span = source.span(start, stop)
        codec, end, size = self._stream(source, start, stop)
        stored, budget = source.chunks(start, end), self._limits.expansion_budget(stop - start)
        try:
            yield from PayloadStream(codec, stored, max_size=budget, size=size)
        except (LimitExceededError, UnsupportedFeatureError) as error:
            error.span = span
            raise
        except CodecError as error:
            raise NO_DECODE.error(error.message, span=span, expected=error.expected, actual=error.actual) from error

    def stated_size(self, source: Source, start: int, stop: int, findings: list[Finding] | None = None) -> int | None:
        """The size of the message stored in `[start, stop)` of a file, as its footer states it; None without a footer.

        Appends ARK-403 to `findings`.  Raises the errors of rules ARK-402 and ARK-404.
        """
        codec, end, size = self._stream(source, start, stop)
        if findings is not None and size is not None and codec != _PAYLOAD_CODECS[self._number]:
            at, until = (end + place for place in MESSAGE_FOOTER_FIELDS.codec)
            span, name = source.span(at, until), "zstd" if codec == "zstd-frame" else codec
            findings.append(FOOTER_OTHER.finding(span=span, expected=self.codec, actual=name))
        return size

    @staticmethod
    def _stream(source: Source, start: int, stop: int) -> tuple[str, int, int | None]:
        """The codec of a stored message, where its stream ends, and the size that its footer states, if it has one."""
        end = max(start, stop - MESSAGE_FOOTER_SIZE)
        try:
            footer = parse_message_footer(source.read_at(end, stop - end), source.span(end, stop))
        except ExhumeError:
            head = source.read_at(start, min(stop - start, len(ZSTD_MAGIC)))
            if not assumptions.ACCEPT_BARE_FRAMES or head not in (ZSTD_MAGIC, LZ4_FRAME_MAGIC):
                raise
            return "zstd-frame" if head == ZSTD_MAGIC else "lz4-frame", stop, None
        if footer.codec not in CODEC_NAMES:
            span = source.span(end, stop)
            raise FOOTER_CODEC.error(span=span, expected=f"0 to {max(CODEC_NAMES)}", actual=footer.codec) from None
        return _PAYLOAD_CODECS[footer.codec], end, footer.len_message

    def payloads(self, stored: Iterable[bytes | None], source: Source, *, noted: bool = False) -> list[bytes | None]:
        """Return the decompressed messages of `stored`, which are from one file, for code that decodes many at once.

        Some messages are None, and the caller reads them one at a time: those that do not decompress, those with a
        finding (only if `noted`), and all after `MOST_PAYLOADS` bytes.
        """
        out: list[bytes | None] = []
        room = min(MOST_PAYLOADS, self._limits.payload_size)
        for data in stored:
            findings: list[Finding] | None = [] if noted else None
            found = None
            if room > 0 and data is not None:
                with suppress(ExhumeError):
                    found = self.decode(data, lambda: source.span(0, source.size), findings)
                    room -= len(found)
            out.append(None if findings else found)
        return out

    def _payload(self, stored: bytes, size: int, number: int) -> bytes:
        """Decompress a message with a footer, which states `size` and the `number` of the codec."""
        data = memoryview(stored)[:-MESSAGE_FOOTER_SIZE] if len(stored) > LARGE else stored[:-MESSAGE_FOOTER_SIZE]
        budget = self._least if size <= self._least else self._limits.payload_budget(len(stored))
        return codecs.decompress(_PAYLOAD_CODECS[number], data, max_size=budget, size=size)

    def _careful(self, stored: bytes, span: Span, findings: list[Finding] | None) -> bytes:
        """Decode one stored message with all checks, after the fast path failed.

        Without a valid footer, a bare zstd or LZ4 frame is tried. Raises the error of the broken rule; a footer whose
        codec differs from that of the column is appended to `findings`.
        """
        try:
            footer = parse_message_footer(stored, span)
        except ExhumeError:
            bare = self._bare_frame(stored, span, findings)
            if bare is None:
                raise
            return bare
        # A footer is there: its codec must be known, and should be that of the column.
        at = len(stored) - MESSAGE_FOOTER_SIZE
        start, end = (at + place for place in MESSAGE_FOOTER_FIELDS.codec)
        if footer.codec not in CODEC_NAMES:
            raise FOOTER_CODEC.error(
                span=span.sub(start, end), expected=f"0 to {max(CODEC_NAMES)}", actual=footer.codec
            )
        if footer.codec != self._number and findings is not None:
            findings.append(
                FOOTER_OTHER.finding(span=span.sub(start, end), expected=self.codec, actual=CODEC_NAMES[footer.codec])
            )
        try:
            return self._payload(stored, footer.len_message, footer.codec)
        except (LimitExceededError, UnsupportedFeatureError) as error:
            error.span = span
            raise
        except CodecError as error:
            raise NO_DECODE.error(error.message, span=span, expected=error.expected, actual=error.actual) from error

    def _bare_frame(self, stored: bytes, span: Span, findings: list[Finding] | None) -> bytes | None:
        """A message that is a zstd or lz4 frame without footer, as the published text alone describes it."""
        if not assumptions.ACCEPT_BARE_FRAMES:
            return None
        budget = self._limits.payload_budget(len(stored))
        try:
            if stored.startswith(ZSTD_MAGIC):
                data = codecs.decompress("zstd-frame", stored, max_size=budget)
            elif stored.startswith(LZ4_FRAME_MAGIC):
                data = codecs.decompress("lz4-frame", stored, max_size=budget)
            else:
                return None
        except CodecError:
            return None
        if findings is not None:
            findings.append(BARE_FRAME.finding(span=span))
        return data


def decode_value(
    decoder: Decoder, data: bytes, span: Callable[[], Span], findings: list[Finding] | None = None
) -> dict[str, Any]:
    """The value of a message; raises the error of the broken rule with absolute offsets.

    A message that carries a serializable-file trailer is read without it (rule ARK-414, a note).
    """
    # First without a span and notes, which is faster; a failure is found again below.
    if findings is None:
        try:
            return decoder.decode(data)
        except ExhumeError:
            pass
    where = span()
    notes: list[Note] = []
    try:
        value = decoder.decode(data, span=where, notes=notes)
    except ExhumeError as error:
        if error.code != MESSAGE_TRAILING.code or not data.endswith(TRAILER_MAGIC_BYTES):
            raise
        # Decode the object alone; the notes of the first attempt are dropped.
        file = parse_serializable_file(data, where)
        notes.clear()
        value = decoder.decode(file.content, span=where.sub(0, len(file.content)), notes=notes)
        if findings is not None:
            findings.append(MESSAGE_TRAILER.finding(span=where.sub(len(file.content), len(data))))
    if findings is not None:
        findings.extend(note.finding(where) for note in notes)
    return value


def message_span(split: Split, offset: int, size: int, length: int, codec: str) -> Span:
    """The span of a message of `length` bytes: in the file, or in the decompressed payload of its bytes."""
    span = split.source.span(offset, offset + size)
    return span if codec == "none" else span.in_payload(0, length)


def large_message(
    log: ArkLog,
    identifier: str,
    split: Split,
    unpack: Decompressor | None,
    offset: int,
    size: int,
    findings: list[Finding] | None = None,
) -> LargeValue | None:
    """A message that is read in chunks, if it states to have more bytes than may be in memory.

    `identifier` is the GUID of the split; `unpack` is None if its column is not compressed.  Raises the errors of rules
    ARK-402 and ARK-404; appends ARK-403 to `findings`.
    """
    length: int | None = size
    if unpack is not None:
        length = unpack.stated_size(split.source, offset, offset + size, findings)
    if length is None or length <= log.limits.payload_size:
        return None
    span = message_span(split, offset, size, length, "none" if unpack is None else unpack.codec)
    codec = None if unpack is None else unpack.codec
    chunks = MessageChunks(log, identifier, codec, offset, offset + size)
    return LargeValue(length, chunks.read, log.limits, span)


class LazySpan:
    """A span that is built only when something is wrong."""

    offset: int
    size: int
    split: Split

    __slots__ = ("offset", "size", "split")

    def __init__(self, split: Split, offset: int, size: int) -> None:
        self.split, self.offset, self.size = split, offset, size

    def __call__(self) -> Span:
        return self.split.source.span(self.offset, self.offset + self.size)


class MessageChunks(NamedTuple):
    """The bytes of a message in chunks, each time from a file that is opened for them; picklable."""

    log: ArkLog
    split: str
    """GUID."""
    codec: str | None
    """None for a column that is not compressed."""
    start: int
    stop: int

    def read(self) -> Iterator[bytes]:
        """The chunks.  Propagates errors from `Decompressor.pieces`."""
        source = self.log.split_source(self.split)
        try:
            if self.codec is None:
                yield from map(bytes, source.chunks(self.start, self.stop))
            else:
                yield from Decompressor(self.codec, self.log.limits).pieces(source, self.start, self.stop)
        finally:
            if source is not self.log.single_split:
                source.close()


def lost_messages(findings: Iterable[Finding]) -> Counter[str]:
    """Count skipped messages by the kind of loss, from their findings."""
    return Counter(
        "damaged messages" if one.severity is Severity.ERROR else f"messages: {one.message} [{one.code}]"
        for one in findings
    )
