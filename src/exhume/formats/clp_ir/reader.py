"""`ClpIrArchive`: an IR stream of text messages, opened for reading.

Opening reads the preamble (magic number and metadata).  Everything else is a pass over the units (events, and changes
of the offset from UTC) from front to back.  A choice is a set of events: by time, and by wildcard patterns.

Spec: `docs/formats/clp_ir.md`, "Bytes".
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Unpack, cast

from exhume.archive import Entry, Progress, no_progress
from exhume.choices import check_choice, check_keywords
from exhume.errors import QueryError, Span
from exhume.findings import Finding
from exhume.formats.clp_ir import checks
from exhume.formats.clp_ir.layout import metadata_text, parse_metadata
from exhume.formats.clp_ir.patterns import ISO, Zone, compile_pattern, find_zone
from exhume.formats.clp_ir.stream import TextUnits, begin
from exhume.formats.clp_ir.units import MAX_MS, MIN_MS, EventForm, Wildcard, parse_wildcard
from exhume.formats.kv_ir.layout import Preamble
from exhume.formats.kv_ir.model import StreamInfo
from exhume.formats.kv_ir.reader import StreamArchive, read_preamble
from exhume.formats.kv_ir.stream import Stream
from exhume.io.source import Source
from exhume.io.tree import Tree
from exhume.limits import DEFAULT_LIMITS, Limits
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from exhume.formats.clp_ir.stream import TextStream
    from exhume.layout.sections import SectionMap
    from exhume.tabular.arrow import TableOptions


SCHEMA = "clp_ir"
"""Id of the specification (`ksy/`) of a stream."""

EVENTS = 1 << 20
"""Events to decode in one call; any large number, since there is no output."""


@dataclass(frozen=True, slots=True)
class ClpIrInfo(StreamInfo):
    """Result of `info` for a stream of text, with its earliest and latest time in milliseconds; None without events."""

    first_ms: int | None
    last_ms: int | None

    def to_dict(self) -> dict[str, Any]:
        """The documented JSON of `exhume info --json`."""
        return self.document({"begin_ms": self.first_ms, "end_ms": self.last_ms}, {})


def collect(archive: TextStream) -> ClpIrInfo:
    """The info of a stream; damaged events are left out and listed as findings."""
    units = archive.units()
    found = [Finding.from_error(trouble.error) for trouble in units.faults(EventForm.LENIENT)]
    decoder = units.decoder
    first, last = (decoder.first_time, decoder.last_time) if decoder.matched else (None, None)
    return ClpIrInfo.of(archive, units, archive.metadata, found, first_ms=first, last_ms=last)


def event_entries(archive: TextStream) -> Iterator[Entry]:
    """Yield an entry for each event; raises the fault in the stream after those before it."""
    for span, number, event in archive.events_with_place():
        details: dict[str, Any] = {"timestamp": event.time_ms}
        if span.payload is not None:  # inside zstd frames: no offset in the file
            details["payload_offset"] = span.payload[0]
        offset, stored = (span.start, span.size) if span.payload is None else (None, None)
        size = len(event.message)
        yield Entry("event", None, number, offset, size, stored_size=stored, source=None, details=details)


AT_ONCE = 1 << 16
"""Approximate bytes of messages per list of events: more would use memory, fewer take time."""

TIMES = ("pattern", "iso", "none")
"""Ways to print times: in the stream's pattern, in ISO 8601 as CLP's readers for Python do, or not at all."""


class TextEvent(NamedTuple):
    """A log event.

    Attributes:
        time_ms: When, in milliseconds since the epoch.
        message: The bytes of the message, mostly with a line end.
    """

    time_ms: int
    message: bytes

    @property
    def text(self) -> str:
        """The message; bytes that are not UTF-8 become lone surrogates (`surrogateescape`)."""
        return self.message.decode("utf-8", "surrogateescape")


class Choice(NamedTuple):
    """Which events are wanted: those between two times, both included, with a message that any pattern matches."""

    begin_ms: int = MIN_MS
    end_ms: int = MAX_MS
    patterns: tuple[Wildcard, ...] = ()  # without any, all messages match


EVERY = Choice()
"""All events."""


def choose(
    queries: Iterable[str],
    *,
    begin_ms: int | None = None,
    end_ms: int | None = None,
    ignore_case: bool = False,
    whole: bool = False,
) -> Choice:
    """Make a choice from wildcard queries (see `ClpIrArchive.search`) and bounds of the time.

    Raises `QueryError` for times in the wrong order, and outside 64 bits.
    """
    first, last = MIN_MS if begin_ms is None else begin_ms, MAX_MS if end_ms is None else end_ms
    for time in (first, last):
        if not MIN_MS <= time <= MAX_MS:
            raise QueryError("a time does not fit 64 bits", actual=time)
    if first > last:
        raise QueryError("begin_ms is after end_ms", expected=f"at most {last}", actual=first)
    return Choice(first, last, tuple(parse_wildcard(query, whole=whole, fold=ignore_case) for query in queries))


def open_archive(source: Source | Tree, *, limits: Limits = DEFAULT_LIMITS) -> ClpIrArchive:
    """Open a stream.  Raises CLPIR-101..103, CLPIR-301, CLPIR-302, CLPIR-307, CLPIR-308, CLPIR-401 and CLPIR-402."""
    if isinstance(source, Tree):
        raise checks.NOT_CLP_IR.error("a directory", span=Span(source.name, 0, 0))
    return ClpIrArchive(source, limits=limits)


def inspect(source: Source | Tree, *, limits: Limits) -> SectionMap:
    """The sections of a stream that cannot be opened because its preamble is invalid."""
    from exhume.formats.kv_ir import sections

    return sections.inspect(source, limits=limits, schema=SCHEMA)


def tally(archive: ClpIrArchive, jobs: int) -> int:
    """Count the events by decoding them; `jobs` has no effect."""
    return archive.count()


def begin_units(stream: Stream, limits: Limits) -> tuple[TextUnits, dict[str, Any]]:
    """A pass over a stream, and its metadata.  Raises as `open_archive`."""
    units = TextUnits(stream, limits)
    return units, parse_metadata(units.preamble, stream.span(0, units.preamble.size))


def pattern_and_zone(metadata: dict[str, Any]) -> tuple[str, str]:
    """The pattern of times and the time zone that metadata state, empty strings without."""
    return metadata_text(metadata, "TIMESTAMP_PATTERN") or "", metadata_text(metadata, "TZ_ID") or ""


def printing(metadata: dict[str, Any], times: str) -> tuple[bytes, Zone | None]:
    """Return the arguments of the decoder's `print_times`: `(program that prints times, offsets from UTC)`.

    `metadata` is that of the stream, `times` is one of `TIMES`.  A program is a compiled pattern (`patterns`); an
    empty one prints nothing.  An unsupported pattern results in ISO 8601, an unknown time zone in UTC (None).
    """
    check_choice("times", times, TIMES)
    pattern, zone = pattern_and_zone(metadata)
    form = b"" if times == "none" else ISO
    if times == "pattern" and pattern:
        compiled = compile_pattern(pattern)
        form = ISO if compiled is None else compiled
    return form, find_zone(zone) if form else None


class ClpIrArchive(StreamArchive):
    """An IR stream of text: its metadata, and its events in their order.

    Attributes:
        stream: The `Stream` that the bytes come from.
        preamble: The bytes before the units.
        metadata: All metadata of the stream.
        pattern: The pattern in which the logger printed times (Java's `SimpleDateFormat`); empty if it is not stated.
        zone: The name of the logger's time zone; empty if it is not stated.
    """

    format = "clp-ir"
    _offered = "count events follow json_lines search text_chunks"  # in completion
    schema = SCHEMA

    def __init__(self, source: Source, *, limits: Limits = DEFAULT_LIMITS) -> None:
        """Read the preamble and its metadata."""
        super().__init__(source, limits=limits)
        self.stream: Stream = begin(source)
        self.preamble: Preamble = read_preamble(self.stream, limits)
        self.metadata: dict[str, Any] = parse_metadata(self.preamble, self.stream.span(0, self.preamble.size))
        self.pattern, self.zone = pattern_and_zone(self.metadata)

    def units(self) -> TextUnits:
        """A new pass over the units."""
        return self.reporting(TextUnits(begin(self.source), self.limits))

    def chosen(self, choice: Choice, *, times: str = "none") -> TextUnits:
        """A pass over the events of a choice; `times` is one of `TIMES`."""
        units = self.units()
        units.decoder.choose(*choice)
        units.decoder.print_times(*self.printing(times))
        return units

    def printing(self, times: str) -> tuple[bytes, Zone | None]:
        """Return the arguments of the decoder's `print_times`, see the function `printing`."""
        return printing(self.metadata, times)

    def info(self) -> ClpIrInfo:
        """Version, metadata, number of events, first and last time.  Reads the whole stream."""

        return collect(self)

    def entries(self) -> Iterator[Entry]:
        """The events: where each is, its size and its time."""

        return event_entries(self)

    def verify(self, *, quick: bool = False, jobs: int = 1, progress: Progress = no_progress) -> Iterator[Finding]:
        """Every broken rule; see `exhume.formats.clp_ir.verify`."""
        from exhume.formats.clp_ir.verify import verify_source

        return verify_source(self.source, limits=self.limits, quick=quick, jobs=jobs, progress=progress)

    def to_arrow(self, **options: Unpack[TableOptions]) -> Any:
        """A streaming `pyarrow.RecordBatchReader` over the events; see `formats.clp_ir.arrow.to_arrow`.

        Options: `columns`, `batch_rows`, `losses`.
        """
        from exhume.formats.clp_ir.arrow import to_arrow

        check_keywords("to_arrow()", options, to_arrow)
        return to_arrow(self, **options)

    # -- events --------------------------------------------------------------------------------------------------

    def text_chunks(self, *, times: str = "pattern", choice: Choice = EVERY) -> Iterator[bytes]:
        """The log as text, in chunks: each event's time and message, with nothing between them that is not in the
        message.

        `times`: as the stream's `pattern` has them, as `iso` 8601, or `none`.  Raises `QueryError` for another word,
        the fault in the stream after the events before it, and the fault in an event after all others.
        """
        return self.chosen(choice, times=times).printed(EventForm.TEXT)

    def json_chunks(self, *, choice: Choice = EVERY) -> Iterator[bytes]:
        """The events as lines of JSON with `timestamp` (milliseconds) and `message`, in chunks of whole lines.

        Raises the same errors as `text_chunks`.
        """
        return self.chosen(choice).printed(EventForm.LINES)

    def json_lines(self, *, choice: Choice = EVERY) -> Iterator[bytes]:
        """The events as lines of JSON, one at a time; see `json_chunks`."""
        return (line for chunk in self.json_chunks(choice=choice) for line in chunk.splitlines(keepends=True))

    def events(self, *, choice: Choice = EVERY) -> Iterator[TextEvent]:
        """The events.  Raises the same errors as `text_chunks`."""
        # a chain of lists: a generator would be resumed for each event
        return chain.from_iterable(self._batches(choice))

    def _batches(self, choice: Choice) -> Iterator[list[TextEvent]]:
        """Yield the events in lists of about `AT_ONCE` bytes."""
        units = self.chosen(choice)
        for _ in units.steps(EventForm.COLUMNS, AT_ONCE):
            yield units.decoder.take_events(TextEvent)

    def events_with_place(self, *, choice: Choice = EVERY) -> Iterator[tuple[Span, int, TextEvent]]:
        """Yield each event with its span and its number among all events. Raises the same errors as `text_chunks`."""
        units = self.chosen(choice)
        decoder = units.decoder
        for event in cast("Iterator[tuple[int, bytes]]", units.readable()):
            number = decoder.events - 1 + units.passed
            yield units.stream.span(decoder.start, decoder.end), number, TextEvent(*event)

    def follow(self, *, choice: Choice = EVERY, quiet_s: float | None = None) -> Iterator[TextEvent]:
        """The events, each as soon as its logger has written it; ends with the stream.

        With `quiet_s`, ends after that many seconds without new bytes.  A file that is replaced or truncated is
        followed from its new beginning.  Raises `SourceError` for anything but a whole local file, and as `events`.
        """
        from exhume.formats.kv_ir.follow import followed

        def start(stream: Stream) -> TextUnits:
            """A pass over the stream, which is begun again when the file is replaced."""
            units, _ = begin_units(stream, self.limits)
            units.decoder.choose(*choice)
            return units

        return map(TextEvent._make, followed(self, checks.STREAM, start, quiet_s))

    def search(
        self,
        query: str,
        *,
        begin_ms: int | None = None,
        end_ms: int | None = None,
        ignore_case: bool = False,
        whole: bool = False,
    ) -> Iterator[TextEvent]:
        """The events whose message a wildcard query matches, in their order.

        `*` matches any text and `?` any one byte; a backslash takes the special meaning from the next character.
        The query matches part of a message, or with `whole` all of it; `ignore_case` is about ASCII letters.  Times
        from `begin_ms` to `end_ms`, both included.  Raises `QueryError`, and as `text_chunks`.
        """
        choice = choose((query,), begin_ms=begin_ms, end_ms=end_ms, ignore_case=ignore_case, whole=whole)
        return self.events(choice=choice)

    def count(self, choice: Choice = EVERY) -> int:
        """Number of events that match a choice.  Raises the same errors as `text_chunks`."""
        units = self.chosen(choice)
        for _ in units.printed(EventForm.LENIENT, 1 << 62):  # no output, whatever the target
            pass
        return int(units.decoder.matched)

    def count_by_time(self, width_ms: int, choice: Choice = EVERY) -> Counter[int]:
        """Number of events that match a choice, per span of `width_ms` milliseconds, by the start of the span.

        Raises the same errors as `text_chunks`.
        """
        units = self.chosen(choice)
        found: Counter[int] = Counter()
        for _ in units.steps(EventForm.COLUMNS, 1 << 20):  # bytes of columns at a time
            times, *_ = units.decoder.take_columns()  # and the messages
            found.update(time - time % width_ms for time in array("q", times))
        return found

    def __iter__(self) -> Iterator[TextEvent]:
        return self.events()
