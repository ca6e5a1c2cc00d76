"""Finding IR streams of text inside raw bytes, for `exhume carve`.

The magic number is followed by a preamble, and the units after it (events) are decoded to find the end.
"""

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
    """Return the stream whose magic number or first zstd frame is at `hit`; None if no valid preamble follows.

    A stream without frames ends with its last unit.  Inside zstd frames, it ends with the frame that has its end, or
    else with the last frame.
    """

    def begin(stream: Stream) -> Units:
        """Return the pass over the units, after the metadata were checked."""
        units = TextUnits(stream, limits)
        parse_metadata(units.preamble, stream.span(0, units.preamble.size))
        return units

    return locate_stream("clp-ir", begin_stream(source.window(hit)), source, hit, begin, walk, checks.KEY_VALUE)
