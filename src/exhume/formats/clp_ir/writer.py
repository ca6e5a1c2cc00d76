"""Writes IR streams of text, byte for byte as CLP's own serializer does.

Spec: `docs/formats/clp_ir.md`, "Bytes".
"""

from __future__ import annotations

import os
from typing import Any, BinaryIO, Final, Literal

import zstandard

from exhume.archive import Writer
from exhume.errors import WriterError
from exhume.formats.clp_ir.kernel import ClpIrEncoder
from exhume.formats.clp_ir.layout import DEFAULT_PATTERN, DEFAULT_ZONE, Encodings, build_metadata
from exhume.formats.clp_ir.units import FIRST_MS, LAST_MS
from exhume.formats.kv_ir.build import END, build_preamble
from exhume.formats.kv_ir.writer import CODECS, Codec
from exhume.io.output.atomic import AtomicFile

Encoding = Literal["four-byte", "eight-byte"]

ENCODINGS: Final[dict[Encoding, Encodings]] = {"four-byte": Encodings.FOUR_BYTE, "eight-byte": Encodings.EIGHT_BYTE}

BLOCK: Final = 1 << 18
"""Bytes of units that are written at once."""

MAX_MESSAGE: Final = 1 << 30
"""The most bytes of a message: its log type, where bytes are escaped, must fit 31 bits."""


class ClpIrWriter(Writer):
    """Builds one stream; see `create`.

    Attributes:
        events: Events written.
    """

    def __init__(
        self,
        target: str | os.PathLike[str],
        *,
        pattern: str = DEFAULT_PATTERN,
        zone: str = DEFAULT_ZONE,
        reference_ms: int = 0,
        encoding: Encoding = "four-byte",
        codec: Codec | None = None,
        level: int | None = None,
        overwrite: bool = False,
    ) -> None:
        _check_encoding(encoding)
        if codec is None:
            codec = "zstd" if os.fspath(target).endswith(".zst") else "none"
        if codec not in CODECS:
            raise WriterError("no such codec", expected=" or ".join(CODECS), actual=codec)
        if level is not None and codec == "none":
            raise WriterError("the codec none has no compression level", actual=level)
        if level is not None and not 1 <= level <= 19:
            raise WriterError("compression level", expected="1 to 19", actual=level)
        check_time(reference_ms)
        wide = encoding == "eight-byte"
        try:
            raw = build_metadata(wide=wide, reference_ms=reference_ms, pattern=pattern, zone=zone)
        except UnicodeEncodeError:
            raise WriterError("a lone surrogate, which UTF-8 cannot hold") from None
        head = build_preamble(ENCODINGS[encoding], raw)
        self.events: int = 0
        self._encoder: Any = ClpIrEncoder(wide, reference_ms)
        self._file = AtomicFile(target, overwrite=overwrite)
        self._out: BinaryIO | Any = self._file.file
        if codec == "zstd":
            self._out = zstandard.ZstdCompressor(level=3 if level is None else level).stream_writer(
                self._file.file, closefd=False
            )
        self._out.write(head)
        self._open = True

    def write(self, time_ms: int, message: str | bytes) -> None:
        """Add an event: when, in milliseconds since the epoch, and its message, line end included.

        Raises `WriterError` for times outside the years 1 to 9999, messages over 1 GiB and lone surrogates.  Then
        nothing is written.
        """
        if not self._open:
            raise WriterError("the writer is finished")
        check_time(time_ms)
        if isinstance(message, str):
            try:
                message = message.encode("utf-8", "surrogateescape")
            except UnicodeEncodeError:
                raise WriterError("a lone surrogate, which UTF-8 cannot hold", actual=ascii(message)) from None
        if len(message) > MAX_MESSAGE:
            raise WriterError("a message is too long", expected=f"at most {MAX_MESSAGE} bytes", actual=len(message))
        self._encoder.add(time_ms, message)
        self.events += 1
        if self._encoder.size >= BLOCK:
            self._out.write(self._encoder.take())

    def finish(self) -> None:
        if not self._open:
            return
        self._open = False
        try:
            self._out.write(self._encoder.take())
            self._out.write(END)
            if self._out is not self._file.file:
                self._out.close()
            self._file.commit()
        except BaseException:
            self._file.abort()
            raise

    def abort(self) -> None:
        self._open = False
        self._file.abort()


def _check_encoding(encoding: str) -> None:
    if encoding not in ENCODINGS:
        raise WriterError("no such encoding", expected=" or ".join(ENCODINGS), actual=encoding)


def check_time(time_ms: Any) -> None:
    """Raise `WriterError` for what is not a time in the years 1 to 9999."""
    if not isinstance(time_ms, int) or isinstance(time_ms, bool):
        raise WriterError("a time is a number of milliseconds", actual=repr(time_ms)[:80])
    if not FIRST_MS <= time_ms <= LAST_MS:
        raise WriterError("time outside the years 1 to 9999", actual=time_ms)


def create(
    target: str | os.PathLike[str],
    *,
    pattern: str = DEFAULT_PATTERN,
    zone: str = DEFAULT_ZONE,
    reference_ms: int = 0,
    encoding: Encoding = "four-byte",
    codec: Codec | None = None,
    level: int | None = None,
    overwrite: bool = False,
) -> ClpIrWriter:
    """A writer for a new stream.

    Args:
        target: Path of the file to write.
        pattern: How readers print times, a pattern of Java's `SimpleDateFormat`.
        zone: The time zone of the logger, by its name in the IANA database.
        reference_ms: The time that the first event counts from, where variables have four bytes.
        encoding: `four-byte` or `eight-byte`: how wide variables are, and whether times are differences.
        codec: `none`, or `zstd` for one zstd frame around it; the latter is the default for names that end in `.zst`.
        level: zstd level, 1 to 19.
        overwrite: Whether an existing file may be replaced.

    Returns:
        A context manager; its `write` takes a time in milliseconds since the epoch, and a message.

    Raises:
        WriterError: An option makes no sense, or (later) an event does not fit.
        OutputExistsError: The name is taken, and not `overwrite`.

    Example:
        >>> with exhume.clpir.create("new.clp.zst", zone="Europe/Berlin") as stream:
        ...     stream.write(1704067200000, " INFO Task 7 done\\n")
    """
    return ClpIrWriter(
        target,
        pattern=pattern,
        zone=zone,
        reference_ms=reference_ms,
        encoding=encoding,
        codec=codec,
        level=level,
        overwrite=overwrite,
    )
