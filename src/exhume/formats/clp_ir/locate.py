"""Finding IR streams of text inside raw bytes: the magic number leads to a preamble, the units after it to the end."""

from __future__ import annotations

from exhume.formats.clp_ir import checks
from exhume.formats.clp_ir.layout import parse_metadata
from exhume.formats.clp_ir.stream import TextUnits
from exhume.formats.clp_ir.stream import begin as begin_stream
from exhume.formats.clp_ir.verify import walk
from exhume.formats.kv_ir.locate import locate_stream
from exhume.formats.kv_ir.passes import Units
from exhume.formats.kv_ir.stream import Stream
from exhume.io.source import Source
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import CarvedArchive


def locate(source: Source, hit: int, *, limits: Limits = DEFAULT_LIMITS, jobs: int = 1) -> CarvedArchive | None:
    """The stream whose magic number, or whose zstd frame, is at `hit`; None where no preamble follows.

    A stream without frames ends with its last unit.  Inside zstd frames, it ends with the frame that has its end, or
    else with the last frame.
    """

    def begin(stream: Stream) -> Units:
        units = TextUnits(stream, limits)
        parse_metadata(units.preamble, stream.span(0, units.preamble.size))
        return units

    return locate_stream("clp-ir", begin_stream(source.window(hit)), source, hit, begin, walk, checks.KEY_VALUE)
