"""Recoding: the same bytes inside a zstd frame, or as they are."""

from __future__ import annotations

import os

import zstandard

from exhume.archive import Progress, no_progress
from exhume.errors import WriterError
from exhume.formats.kv_ir.reader import StreamArchive
from exhume.formats.kv_ir.stream import Stream
from exhume.formats.kv_ir.writer import CODECS, Codec
from exhume.io.output.atomic import AtomicFile
from exhume.limits import DEFAULT_LIMITS, Limits


def recode(
    archive: StreamArchive,
    output: str | os.PathLike[str],
    *,
    stored: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress = no_progress,
    codec: Codec | None = None,
    level: int | None = None,
    jobs: int = 1,
) -> None:
    """Write the stream again under a `codec`: `none`, or `zstd` (one frame).

    Without a `codec`, the name of the output decides (`.zst`); `stored` means `none`.  Raises `WriterError` for another
    codec, and the error of a damaged zstd frame around the stream.

    The signature is the one that all formats share: `limits` and `jobs` have no effect here.
    """
    if codec is None:
        codec = "zstd" if os.fspath(output).endswith(".zst") and not stored else "none"
    if codec not in CODECS or (stored and codec != "none"):
        raise WriterError("no such codec", expected="none" if stored else " or ".join(CODECS), actual=codec)
    stream = Stream(archive.source, archive.stream.rules)
    level = 3 if level is None else level
    with AtomicFile(output) as target:
        out = target.file
        if codec == "zstd":
            with zstandard.ZstdCompressor(level=level).stream_writer(out, closefd=False) as packer:
                for piece in stream.pieces():
                    packer.write(piece)
                    progress(stream.stored, archive.source.size, "bytes")
            return
        for piece in stream.pieces():
            out.write(piece)
            progress(stream.stored, archive.source.size, "bytes")
