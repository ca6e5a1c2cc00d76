"""The `verify` walk: one pass over the stream that reports every broken rule; only broken framing ends it.

Framing is what separates the stream into units (events): where it is broken, the next one cannot be found.

Spec: `docs/formats/clp_ir.md`; the rules are in `checks`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from exhume.archive import Progress, no_progress
from exhume.errors import ExhumeError, SourceError, Span
from exhume.findings import CappedFindings, Finding, Severity, deduplicated
from exhume.formats.clp_ir import checks
from exhume.formats.clp_ir.layout import metadata_text, parse_metadata
from exhume.formats.clp_ir.patterns import compile_pattern, find_zone
from exhume.formats.clp_ir.stream import TextUnits, begin
from exhume.formats.clp_ir.units import EventForm
from exhume.formats.kv_ir.passes import Units
from exhume.formats.kv_ir.verify import rest
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
        yield checks.NOT_CLP_IR.finding("a directory", span=Span(source.name, 0, 0))
        return
    yield from CappedFindings(deduplicated(_findings(source, limits, quick, progress))).findings()


def _findings(source: Source, limits: Limits, quick: bool, progress: Progress) -> Iterator[Finding]:
    """Yield the findings of the preamble and, unless `quick`, of all events and of the bytes after the last one."""
    stream = begin(source)
    try:
        units = TextUnits(stream, limits)
        where = stream.span(0, units.preamble.size)
        metadata = parse_metadata(units.preamble, where)
    except SourceError:
        raise
    except ExhumeError as error:
        yield Finding.from_error(error)
        # With these faults in the metadata, the units can be read all the same.
        if error.code not in (checks.METADATA_JSON.code, checks.REFERENCE_TIME.code):
            return
    else:
        yield from _printing(metadata, where.sub(units.preamble.metadata_at, units.preamble.size))
    if quick:
        return
    yield from walk(units, progress)
    if units.ended:
        yield from rest(units)


def _printing(metadata: dict[str, Any], span: Span) -> Iterator[Finding]:
    """Yield findings about a time pattern or zone that cannot be used for printing."""
    pattern, zone = metadata_text(metadata, "TIMESTAMP_PATTERN"), metadata_text(metadata, "TZ_ID")
    if pattern is not None and compile_pattern(pattern) is None:
        yield checks.PATTERN.finding(span=span, actual=pattern)
    if zone is not None and find_zone(zone) is None:
        yield checks.ZONE.finding(span=span, actual=zone)


def walk(units: Units, progress: Progress = no_progress) -> Iterator[Finding]:
    """The findings about the units of a stream in their order; it ends where the next unit cannot be found."""
    return (_finding(trouble.error) for trouble in units.faults(EventForm.CHECK, progress))


def _finding(error: ExhumeError) -> Finding:
    """The finding that reports an error, with the severity of its rule: `from_error` makes any of them an error."""
    found = Finding.from_error(error)
    if found.severity is Severity.ERROR and any(error.code == rule.code for rule in checks.RULES):
        return found._replace(severity=checks.RULES[error.code].severity)
    return found
