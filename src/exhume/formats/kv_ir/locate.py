"""Finding KV-IR streams inside raw bytes, for `exhume carve`.

The magic number is followed by a preamble, and the units after it (events and declarations of keys) are decoded to find
the end.  The formats KV-IR and CLP IR share `locate_stream`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

from exhume.codecs.zstd import ZSTD_MAGIC
from exhume.counts import counted
from exhume.errors import ExhumeError, LimitExceededError
from exhume.findings import NOT_CHECKED, CappedFindings, Finding, Rule, deduplicated
from exhume.formats.kv_ir import checks
from exhume.formats.kv_ir.layout import MAGIC_SIZE, MAGICS, parse_metadata
from exhume.formats.kv_ir.passes import Units
from exhume.formats.kv_ir.stream import Stream
from exhume.formats.kv_ir.units import EventForm
from exhume.formats.kv_ir.verify import walk
from exhume.io.source import Source
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.recovery import CarvedArchive, CarveVerdict, VerifiedBy


def locate(source: Source, hit: int, *, limits: Limits = DEFAULT_LIMITS, jobs: int = 1) -> CarvedArchive | None:
    """Return the stream whose magic number or first zstd frame is at `hit`; None if no valid preamble follows.

    A stream outside a zstd frame ends with its last unit.  Inside zstd frames, it ends with the frame that contains its
    last unit; without one, the file extends as far as its frames.
    """

    def begin(stream: Stream) -> Units:
        """Return the pass over the units, after the metadata were checked."""
        units = Units(stream, limits)
        parse_metadata(units.preamble, stream.span(0, units.preamble.size))
        return units

    return locate_stream("kv-ir", Stream(source.window(hit)), source, hit, begin, walk, checks.UNSTRUCTURED)


def locate_stream(
    format: str,
    stream: Stream,
    source: Source,
    hit: int,
    begin: Callable[[Stream], Units],
    walk: Callable[[Units], Iterable[Finding]],
    other: Rule,
) -> CarvedArchive | None:
    """Return the stream of one kind that starts at `hit`; None if there is none.

    `stream` reads from `hit` on.  `begin` checks the preamble and raises the error in it; `walk` yields the
    findings of the units.  The rule `other` is raised for a stream of the other format with the same magic number.
    Propagates the errors in `NOT_CHECKED`, after which nothing is known about the bytes.
    """
    if stream.wrapped and stream.head(MAGIC_SIZE)[:MAGIC_SIZE] not in MAGICS:
        return None  # zstd frames of something else
    try:
        units = begin(stream)
    except NOT_CHECKED as error:
        if isinstance(error, ExhumeError) and error.code == other.code:
            return None
        raise
    except ExhumeError:
        return None
    # Verify the stream, continuing as far as units can be found.
    found = CappedFindings(deduplicated(walk(units)))
    _skip_to_the_end(units)
    end, is_cut = _end_of(stream, units, source, hit, found)
    findings = tuple(found.findings())
    verdict = CarveVerdict.PARTIAL if is_cut else CarveVerdict.of(findings, VerifiedBy.STRUCTURE)
    confidence = 0.9 if is_cut else 1.0  # that this is a stream
    return CarvedArchive(format, source.span(hit, hit + end), verdict, confidence, findings, VerifiedBy.STRUCTURE)


def _end_of(stream: Stream, units: Units, source: Source, hit: int, found: CappedFindings) -> tuple[int, bool]:
    """Return `(bytes of the file that the stream takes from hit on, whether its end is missing)`.

    Adds the fault of the end, if it has one, to `found`.
    """
    if not stream.wrapped:
        return units.at, not units.ended
    # Nothing may have been decompressed, but a result is never empty: it has at least the magic number.
    stored = max(stream.stored, len(ZSTD_MAGIC))
    if not units.ended:
        return stored, True
    # Inside zstd frames, the stream ends with the frame that contains its last unit.
    frame = units.frame_end()
    if frame is None:
        error = units.damage or stream.rules.frame_cut.error(span=source.span(hit, hit + stored))
        found.append(Finding.from_error(error))
        return stored, True
    content_end, end = frame.in_stream, frame.in_file
    if size := content_end - units.at:
        span = stream.span(units.at, content_end)
        found.append(stream.rules.trailing_bytes.finding(span=span, actual=counted(size, "bytes")))
    return end, False


def _skip_to_the_end(units: Units) -> None:
    """Move `units` to the end of the stream, over all faults, as far as units can be found.

    Verification stops earlier: at a fault after which it cannot judge the following units.
    """
    with suppress(LimitExceededError):  # the walk before has reported it
        for _ in units.faults(EventForm.CHECK):
            pass
