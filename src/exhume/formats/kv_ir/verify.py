"""The `verify` walk: one pass over the stream that reports every broken rule; only broken framing ends it.

Framing is what separates the stream into units (events and declarations of keys): where it is broken, the next unit
cannot be found.

Spec: `docs/formats/kv_ir.md`; the rules are in `checks`.
"""

from __future__ import annotations

from collections.abc import Iterator

from exhume.archive import Progress, no_progress
from exhume.counts import counted
from exhume.errors import ExhumeError, SourceError, Span
from exhume.findings import CappedFindings, Finding, deduplicated
from exhume.formats.kv_ir import checks
from exhume.formats.kv_ir.chunks import decode_ahead
from exhume.formats.kv_ir.layout import parse_metadata
from exhume.formats.kv_ir.passes import Units
from exhume.formats.kv_ir.stream import Stream
from exhume.formats.kv_ir.units import EventForm
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits


def verify_source(
    source: Source | Tree,
    *,
    limits: Limits = DEFAULT_LIMITS,
    quick: bool = False,
    jobs: int = 1,
    progress: Progress = no_progress,
) -> Iterator[Finding]:
    """Every broken rule of a stream, in the order of the bytes; `quick` checks the preamble only."""
    if isinstance(source, Tree):
        yield checks.NOT_KV_IR.finding("a directory", span=Span(source.name, 0, 0))
        return
    yield from CappedFindings(deduplicated(_findings(source, limits, quick, jobs, progress))).findings()


def _findings(source: Source, limits: Limits, quick: bool, jobs: int, progress: Progress) -> Iterator[Finding]:
    """Yield the findings of the preamble and, unless `quick`, of all units and of the bytes after the last one."""
    stream = Stream(source)
    try:
        units = Units(stream, limits)
        parse_metadata(units.preamble, stream.span(0, units.preamble.size))
    except SourceError:
        raise
    except ExhumeError as error:
        yield Finding.from_error(error)
        # Wrong metadata do not matter for the units; without a preamble, or with another version, there are none.
        if not any(error.code == rule.code for rule in (checks.METADATA_JSON, checks.USER_METADATA)):
            return
    if quick:
        return
    yield from walk(units, jobs, progress)
    if units.ended:
        yield from rest(units)


def walk(units: Units, jobs: int = 1, progress: Progress = no_progress) -> Iterator[Finding]:
    """The findings about the units of a stream in their order, then those about the names of its keys.

    The walk ends before the stream does where the next unit cannot be found, or where later units could not be judged.
    """
    stream = units.stream
    # In parallel up to the first fault; from there on in sequence.
    for _ in decode_ahead(units, EventForm.CHECK, jobs):
        progress(stream.stored, stream.source.size, "bytes")
    for trouble in units.faults(EventForm.CHECK, progress):
        yield Finding.from_error(trouble.error)
        if trouble.status in checks.LOSES_COUNT:  # after a bad declaration, later keys have wrong numbers
            break
    yield from _names(units)


def _names(units: Units) -> Iterator[Finding]:
    """The findings about keys that are not UTF-8."""
    for auto in (True, False):
        for _parent, _type, name, offset in units.decoder.nodes(auto):
            try:
                name.decode("utf-8")
            except UnicodeDecodeError:
                yield checks.NOT_UTF8.finding("a key", span=units.stream.span(offset, offset + 1), actual=name)


def rest(units: Units) -> Iterator[Finding]:
    """The findings about bytes after the end of the stream, and after the zstd frames around it."""
    stream = units.stream
    try:
        size = units.left()
    except ExhumeError as error:
        yield Finding.from_error(error)
        return
    if size:
        yield stream.rules.trailing_bytes.finding(
            span=stream.span(units.at, units.at + size), actual=counted(size, "bytes")
        )
    if (trailing := stream.after_frames()) is not None:
        yield stream.rules.trailing_bytes.finding("after the zstd frames", span=trailing.span, actual=trailing.actual)
